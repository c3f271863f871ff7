    sub rsp,38h
    mov edx,esi
    mov rsi,rdi
    mov rdi,rsp
    call nrt_core::bare::Database<D,H>::take_read_release
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,58h
    mov r14,rsi
    mov r13,8000000000000001h
    mov r15,[rsi]
    test edx,edx
    je
    cmp byte ptr [r15+40h],0
    jne
    mov [rsp+8],rdi
    mov eax,[r14+18h]
    mov ecx,[r14+1Ch]
    imul rax,18200h
    add rax,[r15+0C8h]
    imul rcx,3040h
    lea rsi,[rax+rcx]
    mov ebx,[r15+70h]
    mov [rsp+4],edx
    mov ebp,edx
    movzx edx,bpl
    lea rdx,[rdx+rdx*2]
    shl edx,4
    mov rax,[rcx+rax]
    mov [rsp+18h],rax
    mov [rsp+10h],rsi
    mov r12,[rdx+rsi+50h]
    test ebx,ebx
    je
    mov esi,81h
    mov edx,7FFFFFFFh
    jmp
    test r12,r12
    je
    mov rax,[r12]
    cmp rax,rbp
    jne
    lock inc qword ptr [r12-3F0h]
    mov rax,[r12]
    cmp rax,rbp
    je
    add r12,0FFFFFFFFFFFFE2B8h
    mov rcx,[rsp+8]
    jmp
    mov ebx,[r12+18F0h]
    mov rax,0FFFFFFFFFFFFFFFFh
    lock xadd [r12+1958h],rax
    cmp rax,r13
    je
    mov [rcx+4],ebx
    mov dword ptr [rcx],40h
    add rsp,58h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    mov eax,[rsp+4]
    xor ecx,ecx
    cmp dword ptr [rsp],40h
    sete cl
    mov [rsp],ecx
    mov [rsp+4],eax
    mov rax,rsp
    add rsp,38h
    ret
