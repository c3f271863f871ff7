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
    jne
    mov r9,[rax]
    shl r9,28h
    jne
    mov eax,[rax+0Ch]
    cmp eax,[rsi+100h]
    jae
    mov rax,[r8+20h]
    xor ebx,ebx
    mov [rsp+10h],rax
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
    mov ebp,[rdx+14h]
    cmp r15d,1
    jne
    mov r14,[r8+18h]
    test r14,r14
    je
    mov rax,[r8+10h]
    mov r13d,[r8+28h]
    xor r14d,r14d
    xor edx,edx
    xor r10d,r10d
    mov [rsp+0Ch],r13d
    mov r13d,r11d
    mov r9,rax
    shl r9,34h
    mov r11,rax
    je
    mov r9,r8
    mov [rsp+48h],r11
    mov r8,fs:[0FFFFFFFFFFFFFF20h]
    test r8,r8
    jne
    add r11,r8
    mov fs:[0FFFFFFFFFFFFFF20h],r11
    mov r11,r8
    shr r11,0Ch
    mov [rsp+30h],r11
    mov [rsp+38h],r8
    mov [rsp+40h],r8
    mov [rsp+50h],r10d
    mov r14,[rsp+10h]
    mov r11d,r13d
    mov qword ptr [rsp+58h],0
    mov [rsp+60h],edx
    mov [rsp+64h],ebp
    lea r10,[rsp+28h]
    mov r15,rdi
    mov r13,rsi
    mov rdx,rcx
    mov ecx,r11d
    mov r8d,ebp
    push r10
    push rax
    call nrt_core::dmem::allocate::<impl nrt_core::system::System<D,H>>::dmem_publish
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,78h
    mov r11,rdx
    mov r14,rsi
    mov r15,rdi
    mov r12,[rsp+0B0h]
    mov ecx,ecx
    mov edi,r8d
    mov rax,rcx
    shl rax,9
    lea rsi,[rax+rax*2]
    mov r10,[r14+0B8h]
    add r10,rsi
    lea rax,[rdi+rdi*2]
    shl rax,6
    mov [rsp+50h],rax
    add r10,rax
    shl rcx,0Ch
    lea rax,[r14+1CCh]
    mov [rsp+38h],rax
    mov dword ptr [rsp+14h],10h
    shl rdi,9
    mov r13d,1
    mov [rsp+30h],rax
    mov [rsp+28h],rdi
    mov [rsp+18h],rsi
    mov [rsp+48h],rcx
    mov rbx,[r14+0B0h]
    add rbx,rcx
    lea rbp,[rbx+rdi]
    xor eax,eax
    lock cmpxchg [rdi+rbx+10h],r13d
    jne
    lea r13,[rdi+rbx]
    add r13,10h
    mov [rsp+68h],r13
    mov rax,[rsp+38h]
    mov [rsp+70h],rax
    mov rax,[r14+0B8h]
    add rax,rsi
    mov rcx,[rsp+50h]
    mov ecx,[rcx+rax]
    test ecx,ecx
    jne
    add rax,[rsp+50h]
    dec ecx
    mov rdx,[r14+0F0h]
    mov rsi,rcx
    shl rsi,8
    mov edx,[rdx+rsi+0B0h]
    mov [rax],edx
    dec dword ptr [rax+4]
    jmp
    mov [rsp+50h],rbp
    mov rax,[r14+0F0h]
    mov ecx,ecx
    shl rcx,8
    or dword ptr [rax+rcx+0B4h],1
    mov rdx,[r14+0F0h]
    lea rbp,[rdx+rcx]
    mov r8,[rsp+0B8h]
    mov rax,[r8+10h]
    lea rsi,[rdx+rcx+0C0h]
    movups xmm0,[r8]
    movups [rdx+rcx+0C0h],xmm0
    mov [rdx+rcx+0D0h],rax
    mov rdi,[r8+38h]
    mov [rdx+rcx+0F8h],rdi
    movups xmm0,[r8+18h]
    movups xmm1,[r8+28h]
    movups [rdx+rcx+0E8h],xmm1
    movups [rdx+rcx+0D8h],xmm0
    mov rdi,[r11+8]
    mov [rdx+rcx],rdi
    mov [rdx+rcx+8],rsi
    mov rsi,[r9+10h]
    mov [rdx+rcx+10h],rsi
    mov [rdx+rcx+18h],rax
    mov qword ptr [rdx+rcx+20h],0
    cmp r12,rsi
    jne
    xor ecx,ecx
    jmp
    mov [rbp+28h],rcx
    mov [rbp+30h],r12
    mov eax,[r9+2Ch]
    mov [rbp+38h],eax
    movzx eax,byte ptr [r9+30h]
    mov [rbp+3Ch],eax
    mov eax,[r9+28h]
    mov [rbp+40h],eax
    lea rcx,[rbp+44h]
    mov r8,[r9]
    mov r9,[r9+8]
    cmp r9,3Ch
    jb
    mov r12,r9
    cmp r9,8
    jae
    cmp r12,10h
    jae
    cmp r12,21h
    jae
    movups xmm0,[r8]
    movups [rcx],xmm0
    movups xmm0,[r8+r12-10h]
    jmp
    movups [rcx+r12-10h],xmm0
    mov byte ptr [rbp+r12+44h],0
    mov [rbp+88h],rcx
    mov rax,[r10+20h]
    mov [rbp+90h],rax
    mov qword ptr [rbp+80h],1
    lea rax,[r11+100h]
    mov rcx,[r11+1A0h]
    mov [rbp+0A0h],rcx
    mov [rbp+98h],rax
    mov [rbp+0A8h],r11
    mov [rcx+98h],rbp
    mov [r11+1A0h],rbp
    mov rdi,r14
    mov rsi,r10
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
    sub rsp,18h
    mov rbx,rdx
    cmp dword ptr [rdx+38h],2
    jne
    mov eax,[rbx+40h]
    mov rdx,[rsi+18h]
    cmp rax,3
    ja
    mov r10d,[rbx+3Ch]
    cmp r10d,17h
    jae
    mov r11,[rbx+30h]
    mov r15,r11
    neg r15
    cmp ecx,1
    cmove r15,r11
    add [rdx+r10*8],r15
    add [rdx+0B0h],r15
    mov r10,[rsi+rax*8+28h]
    add r15,r10
    mov [rsi+rax*8+28h],r15
    mov r12,[rsi+60h]
    test r12,r12
    jne
    mov r13,[rsi+68h]
    movzx eax,byte ptr [rdi+1D4h]
    cmp al,2
    jne
    rdtsc
    shl rdx,20h
    or rdx,rax
    mov [r13],rdx
    mov [r13+8],r10
    mov [r13+10h],r15
    lea rdx,[r13+18h]
    test r8,r8
    je
    cmp r9,20h
    jb
    cmp r9,8
    jae
    cmp r9,10h
    jae
    movups xmm0,[r8]
    movups [rdx],xmm0
    movups xmm0,[r8+r9-10h]
    movups [rdx+r9-10h],xmm0
    mov byte ptr [rdx+r9],0
    mov [r12],ecx
    mov eax,[rbx+38h]
    mov [r12+4],eax
    mov eax,[rbx+3Ch]
    mov [r12+8],eax
    mov eax,[rbx+40h]
    mov [r12+0Ch],eax
    mov [r12+10h],rdx
    mov rax,[rbx]
    mov eax,[rax+4]
    mov [r12+18h],eax
    mov rax,[rbx+10h]
    mov [r12+20h],rax
    mov rax,[rbx+18h]
    mov [r12+28h],rax
    mov rax,[rbx+28h]
    mov [r12+30h],rax
    mov [r12+38h],r15
    mov eax,[rsi+58h]
    cmp eax,1
    je
    lea rcx,[r13+38h]
    prefetcht0 [r12+40h]
    add r12,40h
    prefetcht0 [r13+38h]
    prefetcht0 [r13+6Fh]
    mov [rsi+60h],r12
    mov [rsi+68h],rcx
    dec eax
    mov [rsi+58h],eax
    inc qword ptr [rsi+48h]
    add rsp,18h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    inc dword ptr [rbx+8]
    movzx eax,byte ptr [r14+1D5h]
    cmp al,2
    jne
    mov rax,[rsp+50h]
    mov dword ptr [rax+10h],0
    mov eax,[rax+1Ch]
    test eax,eax
    jne
    mov [r15+8],rbp
    mov dword ptr [r15],40h
    add rsp,78h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    add rsp,10h
    test r14,r14
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
