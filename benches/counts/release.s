    sub rsp,18h
    mov [rsp+8],rdi
    mov [rsp+10h],rsi
    lea rdi,[rsp+8]
    call core::ptr::drop_in_place<nrt_core::runtime::handles::Dmem<nrt_benches::driver::NullDriver,nrt_linux::hooks::LinuxHooks>>
    push r14
    push rbx
    push rax
    mov rbx,[rdi]
    lea rax,[rsp+7]
    mov ecx,eax
    shr ecx,12h
    mov edx,eax
    shr edx,15h
    add edx,ecx
    shr eax,17h
    add eax,edx
    and eax,0Fh
    shl eax,6
    lock inc qword ptr [rbx+rax]
    lea r14,[rbx+rax]
    mov eax,[rbx+400h]
    test eax,eax
    je
    mov rax,[rdi+8]
    cmp [rbx+578h],eax
    jbe
    bt rax,20h
    jae
    mov rsi,[rbx+568h]
    mov rcx,rax
    shr rcx,20h
    mov eax,eax
    shl rax,8
    mov edx,[rsi+rax+0B4h]
    cmp edx,ecx
    jne
    add rsi,rax
    lea rdi,[rbx+478h]
    mov rax,[rsi+80h]
    nop [rax+rax]
    test rax,rax
    je
    cmp rax,1
    je
    mov qword ptr [rsi+80h],0
    call nrt_core::dmem::release::<impl nrt_core::system::System<D,H>>::dmem_discard
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,0C8h
    mov rcx,[rsi]
    mov eax,[rcx]
    cmp rax,1Fh
    ja
    mov ecx,[rcx+4]
    cmp ecx,7
    ja
    mov rdx,[rdi+1B8h]
    imul r8,rax,900B8h
    add rdx,r8
    add rdx,8
    cmp byte ptr [rdx],1
    jne
    cmp byte ptr [rdx+rcx+4CD10h],0
    je
    imul r8,rcx,9998h
    add r8,rdx
    add r8,50h
    mov [rsp+38h],rdx
    mov [rsp+40h],r8
    mov [rsp+48h],eax
    mov [rsp+4Ch],ecx
    mov rax,[rsi+20h]
    test rax,rax
    mov [rsp+10h],rsi
    je
    mov al,1
    mov [rsp+0Ch],eax
    xor eax,eax
    jmp
    mov [rsp+1Ch],eax
    mov r12d,[rsp+48h]
    mov r15d,[rsp+4Ch]
    mov rax,r12
    shl rax,9
    lea r13,[rax+rax*2]
    mov r14,[rdi+0B8h]
    add r14,r13
    mov rcx,r12
    shl rcx,0Ch
    add rcx,[rdi+0B0h]
    mov rdx,r15
    shl rdx,9
    lea rax,[rcx+rdx]
    mov [rsp+30h],rax
    lea r9,[rdx+rcx]
    add r9,10h
    lea rbp,[rdi+1CCh]
    mov r8d,1
    xor eax,eax
    lock cmpxchg [rdx+rcx+10h],r8d
    mov [rsp+20h],r9
    jne
    mov [rsp+78h],r9
    mov [rsp+68h],rbp
    mov [rsp+80h],rbp
    mov rbx,rsi
    sub rbx,[rdi+0F0h]
    mov qword ptr [rsi+80h],0
    mov rbp,rdi
    mov rcx,rsi
    mov esi,r12d
    mov edx,r15d
    mov r8d,2
    xor r9d,r9d
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
    movups xmm0,[rcx+44h]
    movups xmm1,[rcx+54h]
    movups [rdx+10h],xmm1
    movups [rdx],xmm0
    mov r15d,1Fh
    cmp byte ptr [r13+37h],0BFh
    jg
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
    lea rax,[r15+r15*2]
    shl rax,6
    add r14,rax
    shr rbx,8
    mov rcx,[rsp+10h]
    mov rdx,[rcx+0A8h]
    test rdx,rdx
    je
    mov qword ptr [rcx+0A8h],0
    mov rdx,[rcx+0A0h]
    mov rsi,[rcx+98h]
    mov [rdx+98h],rsi
    mov [rsi+0A0h],rdx
    mov qword ptr [rcx+98h],0
    mov qword ptr [rcx+0A0h],0
    mov rdi,[rbp+0F0h]
    mov esi,ebx
    shl rsi,8
    mov r8d,[rdi+rsi+0B4h]
    or r8d,1
    inc r8d
    mov [rdi+rsi+0B4h],r8d
    dec dword ptr [r14+8]
    cmp byte ptr [rsp+0Ch],0
    je
    add r13,[rbp+0B8h]
    mov edi,[rax+r13+4]
    cmp edi,3Fh
    jbe
    add r13,rax
    mov rax,[rbp+0F0h]
    mov r8d,[r13]
    mov [rax+rsi+0B0h],r8d
    inc ebx
    mov [r13],ebx
    inc edi
    mov [r13+4],edi
    movzx eax,byte ptr [rbp+1D5h]
    cmp al,2
    jne
    mov rax,[rsp+30h]
    mov dword ptr [rax+10h],0
    mov eax,[rax+1Ch]
    test eax,eax
    mov ebx,[rsp+1Ch]
    jne
    test bl,bl
    je
    add rsp,0C8h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    lock dec qword ptr [r14]
    mov eax,[rbx+400h]
    cmp eax,1
    je
    add rsp,8
    pop rbx
    pop r14
    ret
    add rsp,18h
    ret
