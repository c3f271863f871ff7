    jmp
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,0E8h
    mov rax,rdi
    mov rdi,[rdi]
    lea r15,[rsp+40h]
    mov ecx,r15d
    shr ecx,12h
    mov edx,r15d
    shr edx,15h
    add edx,ecx
    mov ecx,r15d
    shr ecx,17h
    add ecx,edx
    and ecx,0Fh
    shl ecx,6
    lock inc qword ptr [rdi+rcx]
    lea r12,[rdi+rcx]
    mov ecx,[rdi+400h]
    cmp ecx,1
    jne
    mov ecx,2
    movd xmm0,ecx
    mov ebp,13h
    cmp dword ptr [rdi+4A0h],0
    je
    mov eax,[rax+8]
    mov rcx,[rdi+520h]
    shl rax,6
    mov r13d,[rcx+rax+10h]
    cmp r13,1Fh
    jbe
    mov ebx,[rcx+rax+14h]
    mov eax,2
    movd xmm0,eax
    cmp ebx,7
    jbe
    mov rax,[rdi+630h]
    imul rcx,r13,900B8h
    add rax,rcx
    add rax,8
    cmp byte ptr [rax],1
    jne
    cmp byte ptr [rax+rbx+4CD10h],0
    je
    imul rcx,rbx,9998h
    add rcx,rax
    add rcx,50h
    mov [rsp+78h],rax
    mov [rsp+80h],rcx
    mov [rsp+88h],r13d
    mov [rsp+8Ch],ebx
    lea r14,[rdi+478h]
    mov rax,[rsi+8]
    cmp dword ptr [rdi+498h],2
    setne cl
    mov edx,ebx
    shr edx,cl
    mov rcx,[rsi+20h]
    mov r8d,[rsi+28h]
    cmp byte ptr [rsi],0
    je
    movzx r9d,byte ptr [rsi+2Ch]
    mov [rsp+0C8h],rcx
    mov [rsp+0DCh],r8d
    mov [rsp+0D8h],edx
    mov [rsp+0E0h],r9b
    mov [rsp+0B0h],rax
    movups xmm0,[rsi+10h]
    movups [rsp+0B8h],xmm0
    mov qword ptr [rsp+0D0h],0
    shl r13,0Ch
    mov [rsp],rdi
    add r13,[rdi+528h]
    shl rbx,9
    add rbx,r13
    lea rdi,[rsp+8]
    lea rdx,[rsp+78h]
    lea r8,[rsp+0B0h]
    mov rsi,r14
    mov rcx,rbx
    call nrt_core::dmem::allocate::<impl nrt_core::system::System<D,H>>::dmem_alloc_unobserved
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,98h
    movzx r12d,byte ptr [r8+30h]
    mov r15d,[r8+2Ch]
    cmp r15d,1
    lea rax,[0]
    lea r9,[0]
    cmove r9,rax
    cmp byte ptr [r9+r12],14h
    jne
    cmp qword ptr [r8+10h],0
    je
    xor eax,eax
    cmp dword ptr [rsi+20h],2
    setne al
    lea r9d,[rax*2+2]
    mov r10d,[r8+28h]
    cmp r10d,r9d
    jae
    mov r9,[r8+18h]
    lea rax,[r9-1]
    test r9,rax
    je
    mov rax,[rsi+0F8h]
    mov r9d,[rax+8]
    test r9d,r9d
    mov r10,rdx
    jne
    mov r9,[rax]
    shl r9,28h
    jne
    mov eax,[rax+0Ch]
    cmp eax,[rsi+100h]
    jae
    mov rax,[r8+20h]
    xor ebx,ebx
    mov [rsp+18h],rax
    test rax,rax
    je
    xorps xmm0,xmm0
    movups [rsp+50h],xmm0
    movups [rsp+40h],xmm0
    movups [rsp+30h],xmm0
    mov qword ptr [rsp+60h],0
    mov rax,[rdx]
    mov rax,[rax+4CD28h]
    mov [rsp+28h],rax
    mov r11d,[rdx+10h]
    mov r13d,[rdx+14h]
    cmp r15d,1
    mov [rsp+20h],r11d
    jne
    mov r14,[r8+18h]
    test r14,r14
    je
    mov r9,[r8+10h]
    mov eax,[r8+28h]
    mov [rsp+14h],eax
    xor r14d,r14d
    xor eax,eax
    xor edx,edx
    mov r11,r9
    shl r11,34h
    mov r11,r9
    je
    mov [rsp+48h],r11
    mov r14,fs:[0FFFFFFFFFFFFFF20h]
    test r14,r14
    jne
    add r11,r14
    mov fs:[0FFFFFFFFFFFFFF20h],r11
    mov r11,r14
    shr r11,0Ch
    mov [rsp+30h],r11
    mov [rsp+38h],r14
    mov [rsp+40h],r14
    mov [rsp+50h],edx
    mov r15,[rsp+18h]
    mov qword ptr [rsp+58h],0
    mov [rsp+60h],eax
    mov [rsp+64h],r13d
    lea rax,[rsp+28h]
    mov [rsp],rax
    mov r14,rdi
    mov r13,rsi
    mov rdx,rcx
    mov rcx,r10
    call nrt_core::dmem::allocate::<impl nrt_core::system::System<D,H>>::dmem_publish
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,88h
    mov [rsp+70h],r9
    mov [rsp+50h],r8
    mov r11,rdx
    mov r10,rsi
    mov r15,rdi
    mov r13d,[rcx+10h]
    mov r14d,[rcx+14h]
    mov rdx,r13
    shl rdx,0Ch
    lea r8,[rsi+1CCh]
    mov [rsp+68h],r13
    shl r13,0Ah
    mov rsi,r14
    shl rsi,9
    mov edi,1
    mov r12,r14
    shl r12,7
    mov [rsp+10h],rax
    mov [rsp+60h],rdx
    mov [rsp+18h],r8
    mov [rsp+58h],rsi
    mov rbx,[r10+0B0h]
    add rbx,rdx
    lea rbp,[rbx+rsi]
    xor eax,eax
    lock cmpxchg [rsi+rbx+10h],edi
    jne
    add rbx,rsi
    add rbx,10h
    mov [rsp+78h],rbx
    mov [rsp+80h],r8
    mov rax,[r10+0B8h]
    add rax,r13
    mov edx,[r12+rax]
    test edx,edx
    jne
    add rax,r12
    dec edx
    mov rsi,[r10+0F0h]
    mov rdi,rdx
    shl rdi,8
    mov esi,[rsi+rdi+0B0h]
    mov [rax],esi
    dec dword ptr [rax+4]
    jmp
    mov [rsp+10h],rbp
    mov [rsp+18h],rbx
    mov rax,[r10+0F0h]
    mov edx,edx
    shl rdx,8
    or dword ptr [rax+rdx+0B4h],1
    mov rsi,[r10+0F0h]
    lea rbp,[rsi+rdx]
    mov r9,[rsp+0C0h]
    mov rax,[r9+10h]
    lea rdi,[rsi+rdx+0C0h]
    movups xmm0,[r9]
    movups [rsi+rdx+0C0h],xmm0
    mov [rsi+rdx+0D0h],rax
    mov r8,[r9+38h]
    mov [rsi+rdx+0F8h],r8
    movups xmm0,[r9+18h]
    movups xmm1,[r9+28h]
    movups [rsi+rdx+0E8h],xmm1
    movups [rsi+rdx+0D8h],xmm0
    mov r8,[r11+8]
    mov [rsi+rdx],r8
    mov [rsi+rdx+8],rdi
    mov r9,[rsp+50h]
    mov rdi,[r9+10h]
    mov [rsi+rdx+10h],rdi
    mov [rsi+rdx+18h],rax
    mov qword ptr [rsi+rdx+20h],0
    mov rdx,[rsp+70h]
    cmp rdx,rdi
    mov rdi,rdx
    jne
    xor edx,edx
    jmp
    mov [rbp+28h],rdx
    mov [rbp+30h],rdi
    mov eax,[r9+2Ch]
    mov [rbp+38h],eax
    movzx eax,byte ptr [r9+30h]
    mov [rbp+3Ch],eax
    mov eax,[r9+28h]
    mov [rbp+40h],eax
    lea rdx,[rbp+44h]
    mov r8,[r9]
    mov r9,[r9+8]
    cmp r9,3Ch
    jb
    mov rbx,r9
    cmp r9,8
    jae
    cmp rbx,10h
    jae
    cmp rbx,21h
    jb
    movups xmm0,[r8]
    movups [rdx],xmm0
    movups xmm0,[r8+rbx-10h]
    movups [rdx+rbx-10h],xmm0
    mov byte ptr [rbp+rbx+44h],0
    mov [rbp+88h],rdx
    cmp r14d,8
    jae
    mov rax,[rsp+68h]
    lea rax,[rax+rax*8]
    shl rax,7
    add rax,[r10+0C0h]
    imul rdx,r14,38h
    add rax,rdx
    add rax,68h
    mov [rbp+90h],rax
    mov qword ptr [rbp+80h],1
    lea rax,[r11+100h]
    mov rdx,[r11+1A0h]
    mov [rbp+0A0h],rdx
    mov [rbp+98h],rax
    mov [rbp+0A8h],r11
    mov [rdx+98h],rbp
    mov [r11+1A0h],rbp
    mov rdi,r10
    mov rsi,rcx
    mov rdx,rbp
    mov ecx,1
    mov rbx,r10
    call nrt_core::ledger::<impl nrt_core::system::System<D,H>>::ledger_add
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,48h
    mov r13,r8
    mov rbx,rdx
    mov r8d,[rsi+10h]
    mov r15d,[rsi+14h]
    mov r12,[rdi+0B8h]
    mov r14,r8
    shl r14,0Ah
    mov rdx,r15
    shl rdx,7
    cmp dword ptr [rbx+38h],2
    mov [rsp+20h],r9
    jne
    cmp r15d,7
    ja
    mov eax,[rbx+40h]
    cmp eax,4
    jae
    mov r10d,[rbx+3Ch]
    cmp r10d,17h
    jae
    mov r9,r13
    add r12,r14
    add r12,rdx
    imul r13,r15,0B8h
    mov r11,rbx
    mov rbx,[rbx+30h]
    mov rbp,rbx
    neg rbp
    cmp ecx,1
    cmove rbp,rbx
    mov rbx,r11
    mov rsi,[rsi]
    add rsi,r13
    add rsi,8CD70h
    add [rsi+r10*8],rbp
    add [rsi+0B0h],rbp
    mov rsi,[r12+rax*8+18h]
    add rbp,rsi
    mov [rsp+18h],rbp
    mov [r12+rax*8+18h],rbp
    mov r12,[rdi+0B8h]
    mov r13,r9
    jmp
    mov ebp,[rdi+1B0h]
    imul rbp,r8
    imul r11,rbp,38h
    shl rbp,6
    add rbp,[rdi+0E0h]
    add r11,[rdi+0E8h]
    add r12,r14
    mov eax,[rdx+r12+40h]
    mov r10d,[rdx+r12+44h]
    test r10d,r10d
    je
    mov [rsp+2Ch],r10d
    add r12,rdx
    mov edx,[r12+48h]
    mov [rsp+40h],rax
    mov [rsp+10h],rdx
    lea r14,[rdx+rax]
    imul r10,r14,38h
    add r10,r11
    movzx eax,byte ptr [rdi+1D4h]
    cmp al,2
    jne
    rdtsc
    shl rdx,20h
    or rdx,rax
    mov [r10],rdx
    mov [r10+8],rsi
    mov r8,[rsp+18h]
    mov [r10+10h],r8
    lea rdi,[r10+18h]
    test r13,r13
    je
    mov rsi,r13
    mov r9,[rsp+20h]
    cmp r9,20h
    jb
    cmp r9,8
    jae
    cmp r9,10h
    jae
    movups xmm0,[rsi]
    movups [rdi],xmm0
    movups xmm0,[rsi+r9-10h]
    movups [rdi+r9-10h],xmm0
    jmp
    mov rdx,[rsp+10h]
    mov byte ptr [rdi+r9],0
    shl r14,6
    mov [rbp+r14],ecx
    mov eax,[rbx+38h]
    mov [rbp+r14+4],eax
    mov eax,[rbx+3Ch]
    mov [rbp+r14+8],eax
    mov eax,[rbx+40h]
    mov [rbp+r14+0Ch],eax
    mov [rbp+r14+10h],rdi
    mov [rbp+r14+18h],r15d
    mov rax,[rbx+10h]
    mov [rbp+r14+20h],rax
    mov rax,[rbx+18h]
    mov [rbp+r14+28h],rax
    mov rax,[rbx+28h]
    mov [rbp+r14+30h],rax
    mov [rbp+r14+38h],r8
    inc edx
    xor eax,eax
    cmp edx,[rsp+2Ch]
    cmovne eax,edx
    mov rdx,[rsp+40h]
    add edx,eax
    imul rcx,rdx,38h
    shl rdx,6
    prefetcht0 [rbp+rdx]
    prefetcht0 [r11+rcx]
    prefetcht0 [r11+rcx+37h]
    mov [r12+48h],eax
    inc qword ptr [r12+38h]
    add rsp,48h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    add r13,[rbx+0B8h]
    inc dword ptr [r12+r13+8]
    movzx eax,byte ptr [rbx+1D5h]
    cmp al,2
    jne
    mov rax,[rsp+10h]
    mov dword ptr [rax+10h],0
    mov eax,[rax+1Ch]
    test eax,eax
    jne
    mov [r15+8],rbp
    mov dword ptr [r15],40h
    add rsp,88h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    test r15,r15
    je
    test rbx,rbx
    je
    add rsp,98h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    mov ebp,[rsp+8]
    cmp ebp,40h
    jne
    mov rax,[rsp+10h]
    mov rdi,[rsp]
    mov rcx,[rdi+568h]
    sub rax,rcx
    shr rax,8
    mov eax,eax
    mov rdx,rax
    shl rdx,8
    mov r14d,[rcx+rdx+0B4h]
    shl r14,20h
    or r14,rax
    mov ebp,40h
    mov rbx,rdi
    jmp
    lock dec qword ptr [r12]
    mov eax,[rdi+400h]
    cmp eax,1
    je
    cmp ebp,40h
    jne
    mov rax,rbx
    mov rdx,r14
    add rsp,0E8h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
