    push rax
    call nrt_core::reserved_hbm::driver::<impl nrt_core::driver::Driver for nrt_core::reserved_hbm::ReservedHbm<D,H>>::free
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,28h
    mov r15d,[rsi+2Ch]
    test r15d,r15d
    je
    lea edx,[r15-1]
    mov eax,1
    cmp edx,[rdi+48h]
    jae
    mov rcx,[rsi+10h]
    mov r8,[rdi+30h]
    mov r12d,edx
    shl r12,6
    mov r13,[r8+r12]
    mov rdx,[rdi+30h]
    mov edx,[rdx+r12+8]
    cmp [rdi+18h],rdx
    jbe
    or rcx,1
    cmp r13,rcx
    jne
    lea rbp,[rdx+rdx*2]
    shl rbp,6
    add rbp,[rdi+10h]
    mov ecx,[rbp]
    cmp ecx,1
    jne
    mov ecx,[rbp+4]
    test ecx,ecx
    jne
    mov eax,[rbp+8]
    mov rcx,[rdi+8]
    cmp rcx,rax
    jbe
    mov rcx,[rdi]
    imul rdx,rax,1240h
    lea rbx,[rcx+rdx]
    lea r14,[rdi+54h]
    mov r8d,1
    xor eax,eax
    lock cmpxchg [rcx+rdx],r8d
    jne
    mov [rsp+8],rbx
    mov [rsp+10h],r14
    mov rdx,[rdi+30h]
    mov eax,[rdx+r12+8]
    mov rcx,[rdi+18h]
    cmp rcx,rax
    jbe
    lea rcx,[rax+rax*2]
    shl rcx,6
    add rcx,[rdi+10h]
    mov eax,1
    cmp rcx,rbp
    jne
    add rdx,r12
    mov rcx,[rsi+20h]
    mov rsi,[rdx]
    cmp rsi,r13
    jne
    cmp [rdx+20h],rcx
    jne
    mov eax,[rdx+14h]
    cmp rax,13h
    ja
    sub [rbx+rax*8+30h],rcx
    mov r8,[rdi+30h]
    mov qword ptr [r8+r12],0
    mov r11,[r8+r12+20h]
    sub [rbx+178h],r11
    mov rax,[r8+r12+28h]
    sub [rbx+188h],rax
    dec dword ptr [rbx+190h]
    lea r9,[r8+r12]
    mov esi,[r8+r12+34h]
    test esi,esi
    je
    lea r10d,[rsi-1]
    shl r10,6
    mov rax,[r8+r10]
    test rax,rax
    jne
    mov r10d,[r9+30h]
    test r10d,r10d
    je
    lea r11d,[r10-1]
    shl r11,6
    mov rax,[r8+r11]
    test rax,rax
    je
    dec dword ptr [rbx+194h]
    add r11,r8
    mov eax,[r11+38h]
    mov r12d,[r11+3Ch]
    test r12d,r12d
    je
    lea r14,[rbx+198h]
    test eax,eax
    je
    mov rsi,[r11+20h]
    mov rdx,rsi
    shr rdx,0Ch
    cmp rsi,1FFFFh
    ja
    xor eax,eax
    jmp
    mov ecx,eax
    shl ecx,7
    add rcx,r14
    mov r13d,edx
    mov [rcx+r13*4],r12d
    test r12d,r12d
    jne
    mov ebp,0FFFFFFFEh
    mov ecx,edx
    rol ebp,cl
    mov edx,0FFFFFFFEh
    and [rbx+rax*4+1198h],ebp
    jne
    mov rcx,[rdi+38h]
    add rsi,[r9+20h]
    mov [r11+20h],rsi
    mov eax,[r9+34h]
    mov [r11+34h],eax
    test eax,eax
    je
    dec eax
    shl rax,6
    mov [r8+rax+30h],r10d
    mov eax,[rbx+1220h]
    cmp eax,40h
    jne
    mov ecx,[rbx+121Ch]
    mov [r9+3Ch],ecx
    mov [rbx+121Ch],r15d
    inc eax
    mov [rbx+1220h],eax
    inc dword ptr [rbx+194h]
    mov rsi,[r11+20h]
    mov rdx,rsi
    shr rdx,0Ch
    cmp rsi,1FFFFh
    ja
    bsr r9,rdx
    xor r9,3Fh
    mov eax,3Bh
    sub eax,r9d
    mov cl,3Ah
    sub cl,r9b
    shr rdx,cl
    shr rsi,30h
    jne
    and edx,1Fh
    mov esi,eax
    mov ecx,edx
    mov r9d,eax
    shl r9d,7
    add r14,r9
    mov r9d,[r14+rcx*4]
    mov dword ptr [r11+38h],0
    mov [r11+3Ch],r9d
    test r9d,r9d
    je
    mov [r14+rcx*4],r10d
    mov r8d,1
    mov ecx,edx
    shl r8d,cl
    mov edx,1
    or [rbx+rax*4+1198h],r8d
    mov ecx,esi
    shl edx,cl
    or [rbx+1218h],edx
    xor eax,eax
    movzx ecx,byte ptr [rdi+5Dh]
    cmp cl,2
    jne
    mov dword ptr [rbx],0
    mov ecx,[rbx+0Ch]
    test ecx,ecx
    je
    add rsp,28h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    test eax,eax
    jne
    pop rax
    ret
