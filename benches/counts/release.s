    jmp
    push r14
    push rbx
    push rax
    mov rbx,[rdi]
    lea rax,[rsp+7]
    mov ecx,eax
    shr ecx,0Eh
    mov edx,eax
    shr edx,12h
    xor edx,ecx
    shr eax,17h
    xor eax,edx
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
    nop [rax]
    test rax,rax
    je
    mov rcx,rax
    lea rdx,[rax-1]
    lock cmpxchg [rsi+80h],rdx
    jne
    cmp rcx,1
    jne
    call nrt_core::dmem::release::<impl nrt_core::system::System<D,H>>::dmem_discard
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,0A8h
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
    mov [rsp+20h],rdx
    mov [rsp+28h],r8
    mov [rsp+30h],eax
    mov [rsp+34h],ecx
    mov rax,[rsi+20h]
    test rax,rax
    mov [rsp+8],rsi
    je
    mov bpl,1
    mov dword ptr [rsp+4],0
    jmp
    mov r13d,[rsp+30h]
    mov r14d,[rsp+34h]
    lea rcx,[r14+r13*8]
    mov rbx,rcx
    shl rbx,7
    mov rdx,[rdi+0B0h]
    shl rcx,9
    lea rax,[rdx+rcx]
    add rax,10h
    mov [rsp+10h],rax
    add rbx,[rdi+0B8h]
    mov r8d,1
    xor eax,eax
    lock cmpxchg [rdx+rcx+10h],r8d
    jne
    mov r12,rsi
    sub r12,[rdi+0F0h]
    mov qword ptr [rsi+80h],0
    lea rax,[rsp+20h]
    mov r15,rdi
    mov rdx,rsi
    mov rsi,rax
    mov ecx,2
    call nrt_core::ledger::<impl nrt_core::system::System<D,H>>::ledger_add
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,18h
    mov r8,rdi
    mov ebx,[rsi+10h]
    mov edi,[rsi+14h]
    mov r10,[r8+0B8h]
    mov r15,rbx
    shl r15,0Ah
    mov r12,rdi
    shl r12,7
    cmp dword ptr [rdx+38h],2
    jne
    cmp edi,7
    ja
    mov eax,[rdx+40h]
    cmp eax,4
    jae
    mov r9d,[rdx+3Ch]
    cmp r9d,17h
    jae
    add r10,r15
    add r10,r12
    imul r14,rdi,0B8h
    mov r13,[rdx+30h]
    mov r11,r13
    neg r11
    cmp ecx,1
    cmove r11,r13
    mov rsi,[rsi]
    add rsi,r14
    add rsi,8CD70h
    add [rsi+r9*8],r11
    add [rsi+0B0h],r11
    mov r14,[r10+rax*8+18h]
    add r11,r14
    mov [r10+rax*8+18h],r11
    mov r10,[r8+0B8h]
    jmp
    add r10,r15
    mov esi,[r8+1B0h]
    imul rsi,rbx
    mov r9,rsi
    shl r9,6
    add r9,[r8+0E0h]
    mov rax,[r8+0E8h]
    mov r15d,[r12+r10+40h]
    mov ebp,[r12+r10+44h]
    test ebp,ebp
    je
    add r10,r12
    imul rsi,38h
    add rax,rsi
    mov r12d,[r10+48h]
    add r15,r12
    imul r13,r15,38h
    add r13,rax
    movzx eax,byte ptr [r8+1D4h]
    cmp al,1
    jne
    movzx eax,al
    test eax,eax
    je
    lfence
    mov r8,rdx
    rdtsc
    mov rsi,rdx
    mov rdx,r8
    shl rsi,20h
    or rsi,rax
    mov [r13],rsi
    mov [r13+8],r14
    mov [r13+10h],r11
    lea rax,[r13+18h]
    movups xmm0,[rdx+44h]
    movups xmm1,[rdx+53h]
    movups [r13+18h],xmm0
    movups [r13+27h],xmm1
    mov byte ptr [r13+37h],0
    shl r15,6
    mov [r9+r15],ecx
    mov ecx,[rdx+38h]
    mov [r9+r15+4],ecx
    mov ecx,[rdx+3Ch]
    mov [r9+r15+8],ecx
    mov ecx,[rdx+40h]
    mov [r9+r15+0Ch],ecx
    mov [r9+r15+10h],rax
    mov [r9+r15+18h],edi
    mov rax,[rdx+10h]
    mov [r9+r15+20h],rax
    mov rax,[rdx+18h]
    mov [r9+r15+28h],rax
    mov rax,[rdx+28h]
    mov [r9+r15+30h],rax
    mov [r9+r15+38h],r11
    inc r12d
    xor eax,eax
    cmp r12d,ebp
    cmovne eax,r12d
    mov [r10+48h],eax
    inc qword ptr [r10+38h]
    add rsp,18h
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
    mov rdx,r15
    mov rax,[r15+0F0h]
    mov esi,r12d
    shl rsi,8
    mov edi,[rax+rsi+0B4h]
    or edi,1
    inc edi
    mov [rax+rsi+0B4h],edi
    dec dword ptr [rbx+8]
    test bpl,bpl
    je
    shl r13,0Ah
    add r13,[rdx+0B8h]
    shl r14,7
    mov eax,[r14+r13+4]
    cmp eax,3Fh
    jbe
    add r13,r14
    mov rdi,[rdx+0F0h]
    mov r8d,[r13]
    mov [rdi+rsi+0B0h],r8d
    inc r12d
    mov [r13],r12d
    inc eax
    mov [r13+4],eax
    xor eax,eax
    mov rdi,[rsp+10h]
    xchg [rdi],eax
    cmp eax,2
    jne
    cmp byte ptr [rsp+4],0
    je
    add rsp,0A8h
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
