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
    sub rsp,0B8h
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
    mov [rsp+28h],rdx
    mov [rsp+30h],r8
    mov [rsp+38h],eax
    mov [rsp+3Ch],ecx
    mov rax,[rsi+20h]
    test rax,rax
    mov [rsp],rsi
    je
    mov bl,1
    xor eax,eax
    jmp
    mov [rsp+0Ch],eax
    mov ecx,[rsp+38h]
    mov edx,[rsp+3Ch]
    mov rax,rcx
    shl rax,9
    lea rbp,[rax+rax*2]
    mov r15,[rdi+0B8h]
    add r15,rbp
    lea r12,[rdx+rdx*2]
    shl r12,6
    add r15,r12
    shl rcx,0Ch
    add rcx,[rdi+0B0h]
    shl rdx,9
    lea rax,[rcx+rdx]
    mov [rsp+20h],rax
    lea r9,[rdx+rcx]
    add r9,10h
    lea r13,[rdi+1CCh]
    mov r8d,1
    xor eax,eax
    lock cmpxchg [rdx+rcx+10h],r8d
    mov [rsp+10h],r9
    jne
    mov [rsp+68h],r9
    mov [rsp+58h],r13
    mov [rsp+70h],r13
    mov r14,rsi
    sub r14,[rdi+0F0h]
    mov qword ptr [rsi+80h],0
    mov r13,rdi
    mov rdx,rsi
    mov rsi,r15
    mov ecx,2
    xor r8d,r8d
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
    movups xmm0,[rbx+44h]
    movups xmm1,[rbx+54h]
    movups [rdx+10h],xmm1
    movups [rdx],xmm0
    mov r9d,1Fh
    cmp byte ptr [r13+37h],0BFh
    jg
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
    shr r14,8
    mov rcx,[rsp]
    mov rax,[rcx+0A8h]
    test rax,rax
    je
    mov qword ptr [rcx+0A8h],0
    mov rax,[rcx+0A0h]
    mov rdx,[rcx+98h]
    mov [rax+98h],rdx
    mov [rdx+0A0h],rax
    mov qword ptr [rcx+98h],0
    mov qword ptr [rcx+0A0h],0
    mov rsi,[r13+0F0h]
    mov eax,r14d
    shl rax,8
    mov edi,[rsi+rax+0B4h]
    or edi,1
    inc edi
    mov [rsi+rax+0B4h],edi
    dec dword ptr [r15+8]
    test bl,bl
    je
    add rbp,[r13+0B8h]
    mov esi,[r12+rbp+4]
    cmp esi,3Fh
    jbe
    add rbp,r12
    mov rdi,[r13+0F0h]
    mov r8d,[rbp]
    mov [rdi+rax+0B0h],r8d
    inc r14d
    mov [rbp],r14d
    inc esi
    mov [rbp+4],esi
    movzx eax,byte ptr [r13+1D5h]
    cmp al,2
    jne
    mov rax,[rsp+20h]
    mov dword ptr [rax+10h],0
    mov eax,[rax+1Ch]
    test eax,eax
    mov ebx,[rsp+0Ch]
    jne
    test bl,bl
    je
    add rsp,0B8h
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
