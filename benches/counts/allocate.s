    push rbx
    mov rbx,rdi
    call nrt_benches::world::allocate
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,0A8h
    mov rbx,[rsi]
    lea r8,[rsp+8]
    mov eax,r8d
    shr eax,12h
    mov ecx,r8d
    shr ecx,15h
    add ecx,eax
    mov eax,r8d
    shr eax,17h
    add eax,ecx
    and eax,0Fh
    shl eax,6
    lock inc qword ptr [rbx+rax]
    mov r14,rdi
    lea rdi,[rbx+rax]
    mov eax,[rbx+400h]
    cmp eax,1
    jne
    mov eax,2
    movd xmm0,eax
    mov r13d,13h
    cmp dword ptr [rbx+4A0h],0
    je
    mov eax,[rsi+8]
    mov rcx,[rbx+520h]
    shl rax,6
    mov r12d,[rcx+rax+10h]
    cmp r12,1Fh
    jbe
    mov r15d,[rcx+rax+14h]
    mov eax,2
    movd xmm0,eax
    cmp r15d,7
    jbe
    mov rax,[rbx+630h]
    imul rcx,r12,900B8h
    add rax,rcx
    add rax,8
    cmp byte ptr [rax],1
    jne
    cmp byte ptr [rax+r15+4CD10h],0
    je
    mov [rsp],rdi
    imul rcx,r15,9998h
    add rcx,rax
    add rcx,50h
    mov [rsp+40h],rax
    mov [rsp+48h],rcx
    mov [rsp+50h],r12d
    mov [rsp+54h],r15d
    lea rbp,[rbx+478h]
    mov rax,[rdx+8]
    cmp dword ptr [rbx+498h],2
    setne cl
    mov esi,r15d
    shr esi,cl
    mov rcx,[rdx+20h]
    mov edi,[rdx+28h]
    cmp byte ptr [rdx],0
    je
    movzx r8d,byte ptr [rdx+2Ch]
    mov [rsp+70h],rcx
    mov [rsp+84h],edi
    mov [rsp+80h],esi
    mov [rsp+88h],r8b
    mov [rsp+58h],rax
    movups xmm0,[rdx+10h]
    movups [rsp+60h],xmm0
    mov qword ptr [rsp+78h],0
    shl r12,0Ch
    add r12,[rbx+528h]
    shl r15,9
    add r15,r12
    lea rdi,[rsp+8]
    lea rdx,[rsp+40h]
    lea r8,[rsp+58h]
    mov rsi,rbp
    mov rcx,r15
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
    mov [rsp+30h],r9
    mov [rsp+38h],r8
    mov r11,rdx
    mov r10,rsi
    mov r14,rdi
    mov r15d,[rcx+10h]
    mov r12d,[rcx+14h]
    lea r13,[r12+r15*8]
    lea r8,[rsi+1CCh]
    mov rdx,r15
    shl rdx,0Ah
    mov rsi,r13
    shl rsi,9
    mov r9d,1
    mov rdi,r12
    shl rdi,7
    mov [rsp+20h],rax
    mov [rsp+58h],r8
    mov [rsp+70h],rdx
    mov [rsp+68h],rsi
    mov [rsp+60h],rdi
    mov rbx,[r10+0B0h]
    lea rbp,[rbx+rsi]
    mov byte ptr [rsp+0Fh],1
    xor eax,eax
    lock cmpxchg [rbx+rsi+10h],r9d
    jne
    lea rax,[rbx+rsi]
    add rax,10h
    mov [rsp+10h],rax
    mov [rsp+78h],rax
    mov [rsp+80h],r8
    mov rax,[r10+0B8h]
    add rax,rdx
    mov edx,[rdi+rax]
    test edx,edx
    jne
    add rax,rdi
    dec edx
    mov rsi,[r10+0F0h]
    mov rdi,rdx
    shl rdi,8
    mov esi,[rsi+rdi+0B0h]
    mov [rax],esi
    dec dword ptr [rax+4]
    jmp
    mov [rsp+20h],rbp
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
    mov r8,[rsp+38h]
    mov rdi,[r8+10h]
    mov [rsi+rdx+10h],rdi
    mov [rsi+rdx+18h],rax
    mov qword ptr [rsi+rdx+20h],0
    mov rdx,[rsp+30h]
    cmp rdx,rdi
    mov rdi,rdx
    jne
    xor edx,edx
    jmp
    mov [rbp+28h],rdx
    mov [rbp+30h],rdi
    mov eax,[r8+2Ch]
    mov [rbp+38h],eax
    movzx eax,byte ptr [r8+30h]
    mov [rbp+3Ch],eax
    mov eax,[r8+28h]
    mov [rbp+40h],eax
    lea rdx,[rbp+44h]
    mov rax,r8
    mov r8,[r8]
    mov r9,[rax+8]
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
    cmp r12d,8
    jae
    lea rax,[r15+r15*8]
    shl rax,7
    add rax,[r10+0C0h]
    imul rdx,r12,38h
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
    sub rsp,38h
    mov r11d,[rsi+10h]
    mov r12d,[rsi+14h]
    mov r15,[rdi+0B8h]
    mov rbx,r11
    shl rbx,0Ah
    mov r14,r12
    shl r14,7
    cmp dword ptr [rdx+38h],2
    mov [rsp+30h],r12
    jne
    cmp r12d,7
    ja
    mov eax,[rdx+40h]
    cmp eax,4
    jae
    mov r10d,[rdx+3Ch]
    cmp r10d,17h
    jae
    add r15,rbx
    add r15,r14
    imul r13,r12,0B8h
    mov rbp,[rdx+30h]
    mov r12,rbp
    neg r12
    cmp ecx,1
    cmove r12,rbp
    mov rsi,[rsi]
    add rsi,r13
    add rsi,8CD70h
    add [rsi+r10*8],r12
    add [rsi+0B0h],r12
    mov r10,[r15+rax*8+18h]
    add r12,r10
    mov [r15+rax*8+18h],r12
    mov r15,[rdi+0B8h]
    jmp
    mov r13d,[rdi+1B0h]
    imul r13,r11
    imul rax,r13,38h
    shl r13,6
    add r13,[rdi+0E0h]
    add rax,[rdi+0E8h]
    add r15,rbx
    mov ebx,[r14+r15+40h]
    mov esi,[r14+r15+44h]
    test esi,esi
    je
    mov [rsp+4],esi
    add r15,r14
    mov esi,[r15+48h]
    mov [rsp+8],rsi
    lea r14,[rsi+rbx]
    imul rbp,r14,38h
    mov [rsp+28h],rax
    add rbp,rax
    movzx eax,byte ptr [rdi+1D4h]
    cmp al,1
    jne
    movzx eax,al
    test eax,eax
    je
    mov rdi,rdx
    rdtsc
    mov rsi,rdx
    mov rdx,rdi
    shl rsi,20h
    or rsi,rax
    mov [rbp],rsi
    mov [rbp+8],r10
    mov [rbp+10h],r12
    lea rdi,[rbp+18h]
    test r8,r8
    je
    cmp r9,20h
    jb
    cmp r9,8
    mov esi,[rsp+4]
    jae
    cmp r9,10h
    jae
    movups xmm0,[r8]
    movups [rdi],xmm0
    movups xmm0,[r8+r9-10h]
    movups [rdi+r9-10h],xmm0
    jmp
    mov r8,[rsp+8]
    mov byte ptr [rdi+r9],0
    shl r14,6
    mov [r13+r14],ecx
    mov eax,[rdx+38h]
    mov [r13+r14+4],eax
    mov eax,[rdx+3Ch]
    mov [r13+r14+8],eax
    mov eax,[rdx+40h]
    mov [r13+r14+0Ch],eax
    mov [r13+r14+10h],rdi
    mov rax,[rsp+30h]
    mov [r13+r14+18h],eax
    mov rax,[rdx+10h]
    mov [r13+r14+20h],rax
    mov rax,[rdx+18h]
    mov [r13+r14+28h],rax
    mov rax,[rdx+28h]
    mov [r13+r14+30h],rax
    mov [r13+r14+38h],r12
    inc r8d
    xor eax,eax
    cmp r8d,esi
    cmovne eax,r8d
    add ebx,eax
    imul rcx,rbx,38h
    shl rbx,6
    prefetcht0 [r13+rbx]
    mov rdx,[rsp+28h]
    prefetcht0 [rdx+rcx]
    prefetcht0 [rdx+rcx+37h]
    mov [r15+48h],eax
    inc qword ptr [r15+38h]
    add rsp,38h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    mov rax,[rbx+0B8h]
    shl r13,7
    inc dword ptr [rax+r13+8]
    movzx eax,byte ptr [rbx+1D5h]
    cmp al,1
    je
    movzx eax,al
    cmp eax,2
    jne
    mov rax,[rsp+20h]
    mov dword ptr [rax+10h],0
    mov eax,[rax+1Ch]
    test eax,eax
    je
    mov [r14+8],rbp
    mov dword ptr [r14],40h
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
    mov r13d,[rsp+8]
    cmp r13d,40h
    jne
    mov rax,[rsp+10h]
    mov rcx,[rbx+568h]
    sub rax,rcx
    shr rax,8
    mov eax,eax
    mov rdx,rax
    shl rdx,8
    mov ebp,[rcx+rdx+0B4h]
    shl rbp,20h
    or rbp,rax
    mov r13d,40h
    mov r15,rbx
    jmp
    mov rdi,[rsp]
    lock dec qword ptr [rdi]
    mov eax,[rbx+400h]
    cmp eax,1
    je
    cmp r13d,40h
    jne
    mov [r14],r15
    mov [r14+8],rbp
    add rsp,0A8h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    mov rax,rbx
    pop rbx
    ret
