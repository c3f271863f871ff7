    jmp
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
    mov eax,[rdi+8]
    mov ecx,[rdi+0Ch]
    cmp eax,[rbx+578h]
    setae dl
    test cl,1
    sete sil
    or sil,dl
    jne
    mov rsi,[rbx+568h]
    shl rax,8
    mov edx,[rsi+rax+0B4h]
    cmp edx,ecx
    jne
    add rsi,rax
    lea rdi,[rbx+478h]
    mov rax,[rsi+80h]
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
    mov [rsp+8],rsi
    je
    mov bl,1
    mov dword ptr [rsp+4],0
    jmp
    mov r13d,[rsp+38h]
    mov ebp,[rsp+3Ch]
    lea rcx,[r13*8]
    add rcx,rbp
    mov r15,rcx
    shl r15,7
    mov rdx,[rdi+0B0h]
    shl rcx,9
    lea rax,[rdx+rcx]
    mov [rsp+20h],rax
    lea r9,[rdx+rcx]
    add r9,10h
    lea r12,[rdi+1CCh]
    add r15,[rdi+0B8h]
    mov byte ptr [rsp+40h],1
    mov r8d,1
    xor eax,eax
    lock cmpxchg [rdx+rcx+10h],r8d
    mov [rsp+10h],r9
    jne
    mov [rsp+68h],r9
    mov [rsp+58h],r12
    mov [rsp+70h],r12
    mov r12,rsi
    sub r12,[rdi+0F0h]
    mov qword ptr [rsi+80h],0
    lea rax,[rsp+28h]
    mov r14,rdi
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
    movups xmm0,[rdx+44h]
    movups xmm1,[rdx+53h]
    movups [rdi+0Fh],xmm1
    movups [rdi],xmm0
    mov byte ptr [rbp+37h],0
    mov esi,[rsp+4]
    mov r8,[rsp+8]
    jmp
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
    shr r12,8
    mov rcx,[rsp+8]
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
    mov rsi,[r14+0F0h]
    mov eax,r12d
    shl rax,8
    mov edi,[rsi+rax+0B4h]
    or edi,1
    inc edi
    mov [rsi+rax+0B4h],edi
    dec dword ptr [r15+8]
    test bl,bl
    je
    shl r13,0Ah
    add r13,[r14+0B8h]
    shl rbp,7
    mov esi,[rbp+r13+4]
    cmp esi,3Fh
    jbe
    add r13,rbp
    mov rdi,[r14+0F0h]
    mov r8d,[r13]
    mov [rdi+rax+0B0h],r8d
    inc r12d
    mov [r13],r12d
    inc esi
    mov [r13+4],esi
    movzx eax,byte ptr [r14+1D5h]
    cmp al,1
    jne
    movzx eax,al
    cmp eax,2
    jne
    mov rax,[rsp+20h]
    mov dword ptr [rax+10h],0
    mov eax,[rax+1Ch]
    test eax,eax
    mov ebx,[rsp+4]
    mov rdi,[rsp+10h]
    je
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
