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
    mov r13b,1
    xor eax,eax
    jmp
    mov [rsp+0Ch],eax
    mov ecx,[rsp+38h]
    mov ebp,[rsp+3Ch]
    mov rbx,rcx
    shl rbx,0Ah
    mov r15,[rdi+0B8h]
    add r15,rbx
    shl rcx,0Ch
    add rcx,[rdi+0B0h]
    mov rdx,rbp
    shl rdx,9
    lea rax,[rcx+rdx]
    mov [rsp+20h],rax
    lea r9,[rdx+rcx]
    add r9,10h
    lea r12,[rdi+1CCh]
    mov r8d,1
    xor eax,eax
    lock cmpxchg [rdx+rcx+10h],r8d
    mov [rsp+10h],r9
    jne
    mov [rsp+68h],r9
    mov [rsp+58h],r12
    mov [rsp+70h],r12
    mov r14,rsi
    sub r14,[rdi+0F0h]
    mov qword ptr [rsi+80h],0
    lea rax,[rsp+28h]
    mov r12,rdi
    mov rdx,rsi
    mov rsi,rax
    mov ecx,2
    xor r8d,r8d
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
    movups xmm0,[rbx+44h]
    movups xmm1,[rbx+53h]
    movups [rdi+0Fh],xmm1
    movups [rdi],xmm0
    mov byte ptr [r10+37h],0
    mov rdx,[rsp+10h]
    jmp
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
    shl rbp,7
    add r15,rbp
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
    mov rsi,[r12+0F0h]
    mov eax,r14d
    shl rax,8
    mov edi,[rsi+rax+0B4h]
    or edi,1
    inc edi
    mov [rsi+rax+0B4h],edi
    dec dword ptr [r15+8]
    test r13b,r13b
    je
    add rbx,[r12+0B8h]
    mov esi,[rbp+rbx+4]
    cmp esi,3Fh
    jbe
    add rbx,rbp
    mov rdi,[r12+0F0h]
    mov r8d,[rbx]
    mov [rdi+rax+0B0h],r8d
    inc r14d
    mov [rbx],r14d
    inc esi
    mov [rbx+4],esi
    movzx eax,byte ptr [r12+1D5h]
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
