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
    sub rsp,88h
    mov r9,r8
    movzx r15d,byte ptr [r8+30h]
    mov r14d,[r8+2Ch]
    cmp r14d,1
    lea rax,[0]
    lea r8,[0]
    cmove r8,rax
    cmp byte ptr [r8+r15],14h
    jne
    cmp qword ptr [r9+10h],0
    je
    xor eax,eax
    cmp dword ptr [rsi+20h],2
    setne al
    lea r8d,[rax*2+2]
    mov r10d,[r9+28h]
    cmp r10d,r8d
    jae
    mov r8,[r9+18h]
    lea rax,[r8-1]
    test r8,rax
    je
    mov rax,[rsi+0F8h]
    mov r8d,[rax+8]
    test r8d,r8d
    jne
    mov r8,[rax]
    shl r8,28h
    jne
    mov eax,[rax+0Ch]
    cmp eax,[rsi+100h]
    jae
    mov r13,[r9+20h]
    xor ebx,ebx
    test r13,r13
    je
    mov [rsp+8],r13
    xorps xmm0,xmm0
    movups [rsp+40h],xmm0
    movups [rsp+30h],xmm0
    movups [rsp+20h],xmm0
    mov qword ptr [rsp+50h],0
    mov rax,[rdx]
    mov rax,[rax+4CD28h]
    mov [rsp+18h],rax
    mov r12d,[rdx+10h]
    mov r8d,[rdx+14h]
    cmp r14d,1
    jne
    mov r13,[r9+18h]
    test r13,r13
    je
    mov rax,[r9+10h]
    mov edx,[r9+28h]
    mov [rsp+4],edx
    xor r13d,r13d
    xor edx,edx
    xor r10d,r10d
    mov r11,rax
    shl r11,34h
    mov r11,rax
    je
    mov [rsp+38h],r11
    mov r14,fs:[0FFFFFFFFFFFFFF20h]
    test r14,r14
    mov ebp,r12d
    jne
    add r11,r14
    mov fs:[0FFFFFFFFFFFFFF20h],r11
    mov r11,r14
    shr r11,0Ch
    mov [rsp+20h],r11
    mov [rsp+28h],r14
    mov [rsp+30h],r14
    mov [rsp+40h],r10d
    mov r15,[rsp+8]
    mov qword ptr [rsp+48h],0
    mov [rsp+50h],edx
    mov [rsp+54h],r8d
    lea r10,[rsp+18h]
    mov r14,rdi
    mov r12,rsi
    mov rdx,rcx
    mov ecx,ebp
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
    mov [rsp+60h],rdx
    mov r14,rsi
    mov r12,rdi
    mov edx,ecx
    mov esi,r8d
    mov r13,rdx
    shl r13,0Ch
    lea r10,[r14+1CCh]
    mov rax,rdx
    mov [rsp+80h],rdx
    shl rax,9
    lea rdx,[rax+rax*2]
    mov rdi,rsi
    shl rdi,9
    mov [rsp+78h],rsi
    lea rsi,[rsi+rsi*2]
    shl rsi,6
    mov r11d,1
    mov [rsp+18h],rax
    mov [rsp+38h],r10
    mov [rsp+58h],rdx
    mov [rsp+50h],rdi
    mov [rsp+48h],rsi
    mov rbx,[r14+0B0h]
    add rbx,r13
    lea rbp,[rbx+rdi]
    xor eax,eax
    lock cmpxchg [rdi+rbx+10h],r11d
    jne
    lea r15,[rdi+rbx]
    add r15,10h
    mov [rsp+88h],r15
    mov [rsp+90h],r10
    mov rax,[r14+0B8h]
    add rax,rdx
    mov edx,[rsi+rax]
    test edx,edx
    jne
    add rax,rsi
    dec edx
    mov rsi,[r14+0F0h]
    mov rdi,rdx
    shl rdi,8
    mov esi,[rsi+rdi+0B0h]
    mov [rax],esi
    dec dword ptr [rax+4]
    jmp
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
    mov r10,[rsp+60h]
    mov r10,[r10+8]
    mov [rsi+rdx],r10
    mov [rsi+rdx+8],rdi
    mov rdi,[r9+10h]
    mov [rsi+rdx+10h],rdi
    mov [rsi+rdx+18h],rax
    mov qword ptr [rsi+rdx+20h],0
    mov rdx,[rsp+0D0h]
    cmp rdx,rdi
    mov rdi,rdx
    jne
    xor edx,edx
    jmp
    mov [r13+28h],rdx
    mov [r13+30h],rdi
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
    mov rsi,[rsp+60h]
    lea rax,[rsi+100h]
    mov rdx,[rsi+1A0h]
    mov [r13+0A0h],rdx
    mov [r13+98h],rax
    mov [r13+0A8h],rsi
    mov [rdx+98h],r13
    mov [rsi+1A0h],r13
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
    sub rsp,28h
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
    mov r14,[rcx+30h]
    mov rbp,r14
    neg rbp
    cmp r8d,1
    cmove rbp,r14
    add [rsi+r10*8],rbp
    add [rsi+0B0h],rbp
    mov rsi,[r12+rax*8+28h]
    add rbp,rsi
    mov [r12+rax*8+28h],rbp
    mov r12,[rdi+0B8h]
    add r12,r11
    mov r13,[rdx+r12+60h]
    test r13,r13
    jne
    add r12,rdx
    mov r14,[r12+68h]
    movzx eax,byte ptr [rdi+1D4h]
    cmp al,2
    jne
    rdtsc
    shl rdx,20h
    or rdx,rax
    mov [r14],rdx
    mov [r14+8],rsi
    mov [r14+10h],rbp
    lea rdx,[r14+18h]
    test r9,r9
    je
    mov [rsp+20h],r15
    mov r15,[rsp+60h]
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
    mov r15,[rsp+20h]
    mov [r13],r8d
    mov eax,[rcx+38h]
    mov [r13+4],eax
    mov eax,[rcx+3Ch]
    mov [r13+8],eax
    mov eax,[rcx+40h]
    mov [r13+0Ch],eax
    mov [r13+10h],rdx
    mov [r13+18h],ebx
    mov rax,[rcx+10h]
    mov [r13+20h],rax
    mov rax,[rcx+18h]
    mov [r13+28h],rax
    mov rax,[rcx+28h]
    mov [r13+30h],rax
    mov [r13+38h],rbp
    mov eax,[r12+58h]
    cmp eax,1
    je
    lea rcx,[r14+38h]
    prefetcht0 [r13+40h]
    add r13,40h
    prefetcht0 [r14+38h]
    prefetcht0 [r14+6Fh]
    mov [r12+60h],r13
    mov [r12+68h],rcx
    dec eax
    mov [r12+58h],eax
    inc qword ptr [r12+48h]
    add rsp,28h
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
    mov dword ptr [rbp+10h],0
    mov eax,[rbp+1Ch]
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
    test r15,r15
    je
    test rbx,rbx
    je
    add rsp,88h
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
