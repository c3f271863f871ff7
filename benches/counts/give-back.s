    push rax
    call nrt_core::reserved_hbm::driver::<impl nrt_core::driver::Driver for nrt_core::reserved_hbm::ReservedHbm<D,H>>::free
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    push rax
    mov r14d,[rsi+2Ch]
    test r14,r14
    je
    lea edx,[r14-1]
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
    mov r15,rdi
    mov rcx,[rdi]
    imul rdx,rax,1240h
    lea rdi,[rcx+rdx]
    mov r8d,1
    xor eax,eax
    lock cmpxchg [rcx+rdx],r8d
    jne
    mov rdx,[r15+30h]
    mov eax,[rdx+r12+8]
    mov rcx,[r15+18h]
    cmp rcx,rax
    jbe
    lea rcx,[rax+rax*2]
    shl rcx,6
    add rcx,[r15+10h]
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
    sub [rdi+rax*8+30h],rcx
    mov r8,[r15+30h]
    mov qword ptr [r8+r12],0
    mov r11,[r8+r12+20h]
    sub [rdi+178h],r11
    mov rax,[r8+r12+28h]
    sub [rdi+188h],rax
    dec dword ptr [rdi+190h]
    lea r9,[r8+r12]
    mov esi,[r8+r12+34h]
    test rsi,rsi
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
    add r11,r8
    mov esi,[rdi+194h]
    lea eax,[rsi-1]
    mov [rdi+194h],eax
    mov eax,[r11+38h]
    mov ebp,[r11+3Ch]
    test ebp,ebp
    je
    lea r12,[rdi+198h]
    test eax,eax
    je
    mov rbx,rdi
    mov r13,[r11+20h]
    mov rdx,r13
    shr rdx,0Ch
    cmp r13,1FFFFh
    ja
    xor eax,eax
    jmp
    mov ecx,eax
    shl ecx,7
    add rcx,r12
    mov edi,edx
    mov [rcx+rdi*4],ebp
    test ebp,ebp
    jne
    mov edi,0FFFFFFFEh
    mov ecx,edx
    rol edi,cl
    mov edx,0FFFFFFFEh
    and [rbx+rax*4+1198h],edi
    je
    mov rdi,rbx
    mov rcx,[r15+38h]
    add r13,[r9+20h]
    mov [r11+20h],r13
    mov eax,[r9+34h]
    mov [r11+34h],eax
    test eax,eax
    je
    dec eax
    shl rax,6
    mov [r8+rax+30h],r10d
    mov eax,[rdi+1220h]
    cmp eax,40h
    jne
    mov ecx,[rdi+121Ch]
    mov [r9+3Ch],ecx
    mov [rdi+121Ch],r14d
    inc eax
    mov [rdi+1220h],eax
    mov [rdi+194h],esi
    mov rdx,r13
    shr rdx,0Ch
    cmp r13,1FFFFh
    ja
    bsr rsi,rdx
    xor rsi,3Fh
    mov eax,3Bh
    sub eax,esi
    mov cl,3Ah
    sub cl,sil
    shr rdx,cl
    shr r13,30h
    jne
    and edx,1Fh
    mov esi,eax
    mov ecx,edx
    mov r9d,eax
    shl r9d,7
    add r12,r9
    mov r9d,[r12+rcx*4]
    mov dword ptr [r11+38h],0
    mov [r11+3Ch],r9d
    test r9d,r9d
    je
    mov [r12+rcx*4],r10d
    mov r8d,1
    mov ecx,edx
    shl r8d,cl
    mov edx,1
    or [rdi+rax*4+1198h],r8d
    mov ecx,esi
    shl edx,cl
    or [rdi+1218h],edx
    xor eax,eax
    xor ecx,ecx
    xchg [rdi],ecx
    cmp ecx,2
    jne
    add rsp,8
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
