    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,58h
    mov ecx,esi
    mov r14,rdi
    mov r12,8000000000000001h
    mov rsi,[rdi]
    test ecx,ecx
    je
    cmp byte ptr [rsi+41h],0
    jne
    mov r13,[r14+8]
    mov [rsp+18h],rsi
    mov ebx,[rsi+70h]
    mov [rsp+0Ch],ecx
    mov r15d,ecx
    movzx eax,r15b
    lea rax,[rax+rax*2]
    shl eax,4
    mov rcx,[r13]
    mov [rsp+10h],rcx
    mov rbp,[r13+rax+50h]
    test ebx,ebx
    je
    mov esi,81h
    mov edx,7FFFFFFFh
    jmp
    test rbp,rbp
    je
    mov rax,[rbp]
    cmp rax,r15
    jne
    lock inc qword ptr [rbp-3F0h]
    lea rdi,[rbp-3F0h]
    mov rax,[rbp]
    cmp rax,r15
    je
    add rbp,0FFFFFFFFFFFFE2B8h
    mov ebx,[rbp+18F0h]
    mov rax,0FFFFFFFFFFFFFFFFh
    lock xadd [rdi],rax
    mov ebp,1
    cmp rax,r12
    je
    mov [rsp+20h],ebp
    mov [rsp+24h],ebx
    lea rax,[rsp+20h]
    add rsp,58h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
