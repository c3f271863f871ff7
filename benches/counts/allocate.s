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
    sub rsp,98h
    mov rbp,rdx
    mov r14,rsi
    mov r12,rdi
    mov edx,ecx
    mov esi,r8d
    mov r15,rdx
    shl r15,0Ch
    lea rdi,[r14+1CCh]
    mov rax,rdx
    mov [rsp+80h],rdx
    shl rax,9
    lea rdx,[rax+rax*2]
    mov r10,rsi
    shl r10,9
    mov [rsp+78h],rsi
    lea rax,[rsi+rsi*2]
    shl rax,6
    mov [rsp+58h],rax
    mov dword ptr [rsp+2Ch],10h
    mov esi,1
    mov [rsp+18h],rax
    mov [rsp+20h],rdi
    mov [rsp+38h],r10
    mov [rsp+68h],r15
    mov [rsp+50h],rdx
    mov rbx,[r14+0B0h]
    add rbx,r15
    lea r13,[rbx+r10]
    xor eax,eax
    lock cmpxchg [r10+rbx+10h],esi
    jne
    lea r15,[r10+rbx]
    add r15,10h
    mov [rsp+88h],r15
    mov [rsp+90h],rdi
    mov rax,[r14+0B8h]
    add rax,rdx
    mov rdx,[rsp+58h]
    mov edx,[rdx+rax]
    test edx,edx
    jne
    add rax,[rsp+58h]
    dec edx
    mov rsi,[r14+0F0h]
    mov rdi,rdx
    shl rdi,8
    mov esi,[rsi+rdi+0B0h]
    mov [rax],esi
    dec dword ptr [rax+4]
    mov rbx,[rsp+0D0h]
    jmp
    mov [rsp+58h],r13
    mov rax,[r14+0F0h]
    mov edx,edx
    shl rdx,8
    or dword ptr [rax+rdx+0B4h],1
    mov rsi,[r14+0F0h]
    lea r13,[rsi+rdx]
    mov r11,[rsp+0D8h]
    mov rax,[r11+10h]
    lea rdi,[rsi+rdx+0C0h]
    movups xmm0,[r11]
    movups [rsi+rdx+0C0h],xmm0
    mov [rsi+rdx+0D0h],rax
    mov r10,[r11+38h]
    mov [rsi+rdx+0F8h],r10
    movups xmm0,[r11+18h]
    movups xmm1,[r11+28h]
    movups [rsi+rdx+0E8h],xmm1
    movups [rsi+rdx+0D8h],xmm0
    mov r10,[rbp+8]
    mov [rsi+rdx],r10
    mov [rsi+rdx+8],rdi
    mov rdi,[r9+10h]
    mov [rsi+rdx+10h],rdi
    mov [rsi+rdx+18h],rax
    mov qword ptr [rsi+rdx+20h],0
    cmp rbx,rdi
    jne
    xor edx,edx
    jmp
    mov [r13+28h],rdx
    mov [r13+30h],rbx
    mov eax,[r9+2Ch]
    mov [r13+38h],eax
    movzx eax,byte ptr [r9+30h]
    mov [r13+3Ch],eax
    mov eax,[r9+28h]
    mov [r13+40h],eax
    lea rdi,[r13+44h]
    mov r10,[r9]
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
    movups xmm0,[r10]
    movups [rdi],xmm0
    movups xmm0,[r10+rbx-10h]
    movups [rdi+rbx-10h],xmm0
    mov byte ptr [r13+rbx+44h],0
    mov [r13+88h],rdi
    mov rax,[r14+0B8h]
    mov rdx,[rsp+80h]
    mov rsi,[rsp+78h]
    lea rdx,[rsi+rdx*8]
    lea rbx,[rdx+rdx*2]
    shl rbx,6
    mov rax,[rax+rbx+20h]
    mov [r13+90h],rax
    mov qword ptr [r13+80h],1
    lea rax,[rbp+100h]
    mov rdx,[rbp+1A0h]
    mov [r13+0A0h],rdx
    mov [r13+98h],rax
    mov [r13+0A8h],rbp
    mov [rdx+98h],r13
    mov [rbp+1A0h],r13
    mov [rsp],r9
    mov rdi,r14
    mov esi,ecx
    mov edx,r8d
    mov rcx,r13
    mov r8d,1
    mov r9,r10
    call nrt_core::ledger::<impl nrt_core::system::System<D,H>>::ledger_add
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,18h
    mov ebx,edx
    mov r12,[rdi+0B8h]
    mov r15d,esi
    mov eax,edx
    mov rdx,r15
    shl rdx,9
    lea r11,[rdx+rdx*2]
    lea rdx,[rax+rax*2]
    shl rdx,6
    cmp dword ptr [rcx+38h],2
    jne
    add r12,r11
    add r12,rdx
    mov eax,[rcx+40h]
    mov rsi,[r12+18h]
    cmp rax,3
    ja
    mov r10d,[rcx+3Ch]
    cmp r10d,17h
    jae
    mov r14d,ebx
    mov rbx,[rcx+30h]
    mov rbp,rbx
    neg rbp
    cmp r8d,1
    cmove rbp,rbx
    add [rsi+r10*8],rbp
    add [rsi+0B0h],rbp
    mov rsi,[r12+rax*8+28h]
    add rbp,rsi
    mov [r12+rax*8+28h],rbp
    mov r12,[rdi+0B8h]
    mov ebx,r14d
    add r12,r11
    mov r14,[rdx+r12+60h]
    test r14,r14
    jne
    add r12,rdx
    mov r13,[r12+68h]
    movzx eax,byte ptr [rdi+1D4h]
    cmp al,2
    jne
    rdtsc
    shl rdx,20h
    or rdx,rax
    mov [rsp+10h],r15
    mov [r13],rdx
    mov [r13+8],rsi
    mov [r13+10h],rbp
    lea rdx,[r13+18h]
    test r9,r9
    je
    mov r15,[rsp+50h]
    cmp r15,20h
    jb
    cmp r15,8
    jae
    cmp r15,10h
    jae
    movups xmm0,[r9]
    movups [rdx],xmm0
    movups xmm0,[r9+r15-10h]
    movups [rdx+r15-10h],xmm0
    mov byte ptr [rdx+r15],0
    mov [r14],r8d
    mov eax,[rcx+38h]
    mov [r14+4],eax
    mov eax,[rcx+3Ch]
    mov [r14+8],eax
    mov eax,[rcx+40h]
    mov [r14+0Ch],eax
    mov [r14+10h],rdx
    mov [r14+18h],ebx
    mov rax,[rcx+10h]
    mov [r14+20h],rax
    mov rax,[rcx+18h]
    mov [r14+28h],rax
    mov rax,[rcx+28h]
    mov [r14+30h],rax
    mov [r14+38h],rbp
    mov eax,[r12+58h]
    cmp eax,1
    je
    lea rcx,[r13+38h]
    prefetcht0 [r14+40h]
    add r14,40h
    prefetcht0 [r13+38h]
    prefetcht0 [r13+6Fh]
    mov [r12+60h],r14
    mov [r12+68h],rcx
    dec eax
    mov [r12+58h],eax
    inc qword ptr [r12+48h]
    add rsp,18h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    mov rax,[r14+0B8h]
    inc dword ptr [rax+rbx+8]
    movzx eax,byte ptr [r14+1D5h]
    cmp al,2
    jne
    mov rax,[rsp+58h]
    mov dword ptr [rax+10h],0
    mov eax,[rax+1Ch]
    test eax,eax
    jne
    mov [r12+8],r13
    mov dword ptr [r12],40h
    add rsp,98h
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
