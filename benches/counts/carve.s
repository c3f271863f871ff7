    sub rsp,28h
    mov [rsp+8],rsi
    xorps xmm0,xmm0
    movups [rsp+10h],xmm0
    mov word ptr [rsp+20h],9
    lea rsi,[rsp+8]
    call nrt_core::reserved_hbm::driver::<impl nrt_core::driver::Driver for nrt_core::reserved_hbm::ReservedHbm<D,H>>::alloc
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,78h
    movzx eax,byte ptr [rsi+19h]
    test eax,eax
    je
    movzx r13d,byte ptr [rsi+18h]
    mov r8d,[rsi+10h]
    mov ebp,[rsi+14h]
    cmp ebp,8
    mov ecx,8
    cmovb ecx,ebp
    cmp r8d,4
    mov r9d,4
    cmovb r9d,r8d
    cmp r13,13h
    je
    cmp ebp,7
    ja
    cmp r8d,3
    ja
    lea ecx,[r9+rcx*4]
    cmp [rdi+8],rcx
    jbe
    mov r9,[rdi]
    imul r8,rcx,1240h
    mov r9d,[r9+r8+28h]
    test r9d,r9d
    je
    mov r12,[rsi+8]
    cmp r12,1
    mov r9,r12
    adc r9,0
    lea r10,[r9-1]
    mov eax,1
    test r9,r10
    jne
    cmp r12,7FFFFFFFh
    seta r9b
    cmp r13b,14h
    setae r10b
    or r10b,r9b
    jne
    mov rax,[rdi+8]
    cmp rax,rcx
    jbe
    mov rcx,[rdi]
    lea rbx,[rcx+r8]
    lea r14,[rdi+54h]
    mov r9d,1
    xor eax,eax
    lock cmpxchg [rcx+r8],r9d
    jne
    mov [rsp+68h],rbx
    mov [rsp+70h],r14
    mov r8,[rsi]
    mov rax,[rbx+r13*8+0D0h]
    test rax,rax
    je
    cmp r12,1001h
    mov r15d,1000h
    cmovae r15,r12
    mov r10,r8
    and r10,0FFFFFFFFFFFFF000h
    add r10,1000h
    cmp r10,r8
    setb al
    test r8d,0FFFh
    setne cl
    mov [rsp+58h],r8
    cmove r10,r8
    test cl,al
    jne
    mov rcx,1000000000000h
    lea rax,[r10-1]
    dec rcx
    cmp rax,rcx
    jae
    mov rax,r10
    shr rax,0Ch
    mov rcx,r15
    shr rcx,0Ch
    add rax,rcx
    dec rax
    mov rcx,rax
    shr rcx,24h
    mov [rsp+10h],r10
    je
    cmp rax,1Fh
    ja
    xor r9d,r9d
    jmp
    mov esi,r9d
    mov r8d,[rbx+rsi*4+1198h]
    mov ecx,eax
    shr r8d,cl
    shl r8d,cl
    test r8d,r8d
    je
    mov esi,0FFFFFFFEh
    mov ecx,r9d
    shl esi,cl
    xor eax,eax
    cmp r9d,1Fh
    cmovne eax,esi
    and eax,[rbx+1218h]
    je
    tzcnt esi,eax
    mov ecx,20h
    tzcnt ecx,[rbx+rsi*4+1198h]
    mov r9d,esi
    cmp ecx,1Fh
    ja
    mov [rsp+1Ch],r9d
    lea rax,[rbx+198h]
    shl esi,7
    add rsi,rax
    mov [rsp],ecx
    mov eax,ecx
    mov eax,[rsi+rax*4]
    dec eax
    mov r9,[rdi+30h]
    mov [rsp+20h],eax
    mov esi,eax
    shl rsi,6
    mov r11,[r9+rsi+18h]
    lea rax,[r15-1]
    add rax,r11
    jb
    add rsi,r9
    neg r15
    and rax,r15
    mov rcx,[rsi+20h]
    mov [rsp+30h],rcx
    mov rcx,rax
    sub rcx,r11
    mov [rsp+8],rax
    mov r8,rax
    mov eax,[rsp+20h]
    mov r15d,eax
    sub r8,r11
    mov [rsp+60h],r8
    je
    mov rax,[rsp+10h]
    add rax,rcx
    mov [rsp+50h],rax
    cmp [rsp+30h],rax
    je
    mov r10d,[rbx+121Ch]
    test r10d,r10d
    je
    dec r10d
    mov rax,r10
    shl rax,6
    mov eax,[r9+rax+3Ch]
    mov [rbx+121Ch],eax
    dec dword ptr [rbx+1220h]
    jmp
    mov eax,[rsi+8]
    mov [rsp+24h],eax
    mov eax,[rsi+38h]
    mov ecx,[rsi+3Ch]
    test ecx,ecx
    je
    test eax,eax
    mov r14,[rsp+8]
    je
    mov eax,[rsp+1Ch]
    mov r8d,eax
    lea r14,[0]
    mov [rsp+28h],r14
    cmp eax,20h
    jae
    mov eax,[rsp]
    mov r14d,eax
    mov [rsp+48h],r14
    cmp eax,1Fh
    ja
    mov r14,r8
    shl r14,7
    lea rax,[rbx+198h]
    add r14,rax
    mov rax,[rsp+48h]
    mov [r14+rax*4],ecx
    test ecx,ecx
    mov r14,[rsp+8]
    jne
    mov r14d,0FFFFFFFEh
    mov ecx,[rsp]
    rol r14d,cl
    mov eax,0FFFFFFFEh
    and [rbx+r8*4+1198h],r14d
    mov r14,[rsp+8]
    jne
    mov ecx,[rsp+1Ch]
    rol eax,cl
    and [rbx+1218h],eax
    xor eax,eax
    cmp r14,r11
    sete al
    xor ecx,ecx
    mov r8,[rsp+30h]
    cmp r8,[rsp+50h]
    setne cl
    sub ecx,eax
    add [rbx+194h],ecx
    cmp r14,r11
    je
    mov rax,[rsp+50h]
    cmp r8,rax
    jne
    sub r8,rax
    mov rax,[rsp+10h]
    add rax,r14
    mov r11d,r10d
    shl r11,6
    mov ecx,[rsp+24h]
    mov [r9+r11+8],ecx
    mov [r9+r11+18h],rax
    mov r14,r8
    mov [r9+r11+20h],r8
    mov esi,r15d
    mov rcx,rsi
    shl rcx,6
    mov eax,[r9+rcx+34h]
    lea r8d,[r15+1]
    mov [r9+r11+30h],r8d
    mov [r9+r11+34h],eax
    inc r10d
    mov [r9+rcx+34h],r10d
    test eax,eax
    je
    dec eax
    shl rax,6
    mov [r9+rax+30h],r10d
    mov r8,r14
    shr r8,0Ch
    cmp r14,1FFFFh
    ja
    xor r14d,r14d
    lea rax,[rbx+198h]
    jmp
    add r11,r9
    mov ecx,r8d
    mov [rsp],r14
    shl r14d,7
    add rax,r14
    mov r8d,[rax+rcx*4]
    mov dword ptr [r11+38h],0
    mov [r11+3Ch],r8d
    test r8d,r8d
    je
    mov [rax+rcx*4],r10d
    mov r8d,1
    shl r8d,cl
    mov r10d,1
    mov rcx,[rsp]
    or [rbx+rcx*4+1198h],r8d
    shl r10d,cl
    or [rbx+1218h],r10d
    mov r8,[rsp+58h]
    mov r14,[rsp+8]
    shl rsi,6
    mov r10,[rsp+10h]
    mov [r9+rsi+20h],r10
    mov [r9+rsi+28h],r8
    mov rax,r14
    or rax,1
    mov [r9+rsi],rax
    mov rax,[rbx+178h]
    add rax,r10
    mov [rbx+178h],rax
    mov rcx,[rbx+180h]
    cmp rax,rcx
    cmovbe rax,rcx
    mov [rbx+180h],rax
    add [rbx+188h],r8
    inc dword ptr [rbx+190h]
    add [rbx+r13*8+30h],r10
    mov rax,[rdi+30h]
    mov [rax+rsi+14h],r13d
    mov r13b,1
    movzx eax,byte ptr [rdi+5Dh]
    cmp al,2
    jne
    mov dword ptr [rbx],0
    mov eax,[rbx+0Ch]
    test eax,eax
    jne
    mov eax,1
    test r13b,r13b
    je
    mov rax,[rdi+30h]
    mov ecx,r15d
    shl rcx,6
    mov eax,[rax+rcx+8]
    mov rsi,[rdi+18h]
    cmp rsi,rax
    jbe
    mov rcx,[rdi+10h]
    lea rax,[rax+rax*2]
    shl rax,6
    mov rsi,[rcx+rax+18h]
    mov rax,[rcx+rax+28h]
    inc r15d
    mov [rdx+8],rsi
    mov [rdx+10h],r14
    mov [rdx+18h],rax
    mov [rdx+20h],r10
    mov [rdx+28h],r12d
    mov [rdx+2Ch],r15d
    mov qword ptr [rdx+30h],0
    mov dword ptr [rdx+38h],0
    mov eax,3Ch
    jmp
    mov [rdx+rax],ebp
    xor eax,eax
    add rsp,78h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    test eax,eax
    sete al
    add rsp,28h
    ret
