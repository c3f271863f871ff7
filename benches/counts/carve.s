    push rbx
    sub rsp,60h
    mov rax,rsi
    mov rbx,rdi
    mov [rsp+40h],rdx
    xorps xmm0,xmm0
    movups [rsp+48h],xmm0
    mov word ptr [rsp+58h],9
    movaps [rsp+30h],xmm0
    movaps [rsp+20h],xmm0
    movaps [rsp+10h],xmm0
    movaps [rsp],xmm0
    lea rsi,[rsp+40h]
    mov rdx,rsp
    mov rdi,rax
    call nrt_core::reserved_hbm::driver::<impl nrt_core::driver::Driver for nrt_core::reserved_hbm::ReservedHbm<D,H>>::alloc
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,68h
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
    lea r14,[rcx+r8]
    mov r9d,1
    xor eax,eax
    lock cmpxchg [rcx+r8],r9d
    jne
    mov r8,[rsi]
    mov rax,[r14+r13*8+0D0h]
    test rax,rax
    je
    cmp r12,1001h
    mov r15d,1000h
    cmovae r15,r12
    mov rbx,r8
    and rbx,0FFFFFFFFFFFFF000h
    add rbx,1000h
    cmp rbx,r8
    setb al
    test r8d,0FFFh
    setne cl
    mov [rsp+50h],r8
    cmove rbx,r8
    test cl,al
    jne
    mov rcx,1000000000000h
    lea rax,[rbx-1]
    dec rcx
    cmp rax,rcx
    jae
    mov rax,rbx
    shr rax,0Ch
    mov rcx,r15
    shr rcx,0Ch
    add rax,rcx
    dec rax
    mov rcx,rax
    shr rcx,24h
    mov [rsp+20h],rbx
    je
    cmp rax,1Fh
    ja
    xor ecx,ecx
    jmp
    mov esi,ecx
    mov r8d,[r14+rsi*4+1198h]
    mov ecx,eax
    shr r8d,cl
    shl r8d,cl
    test r8d,r8d
    je
    mov r8d,0FFFFFFFEh
    mov ecx,esi
    shl r8d,cl
    xor eax,eax
    cmp rsi,1Fh
    cmovne eax,r8d
    and eax,[r14+1218h]
    je
    tzcnt esi,eax
    mov eax,20h
    tzcnt eax,[r14+rsi*4+1198h]
    cmp eax,1Fh
    ja
    lea rcx,[r14+198h]
    shl esi,7
    add rsi,rcx
    mov eax,eax
    mov eax,[rsi+rax*4]
    dec eax
    mov [rsp+1Ch],eax
    mov r9,[rdi+30h]
    mov r11d,[rsp+1Ch]
    shl r11,6
    mov rcx,[r9+r11+18h]
    lea rax,[r15-1]
    mov [rsp+48h],rcx
    add rax,rcx
    jb
    add r11,r9
    neg r15
    and rax,r15
    mov [rsp+8],rax
    mov rcx,[r11+20h]
    mov rsi,rax
    mov r8,[rsp+48h]
    sub rsi,r8
    sub rax,r8
    mov [rsp+30h],rcx
    mov [rsp+58h],rax
    jne
    mov eax,[rsp+1Ch]
    mov r15d,eax
    jmp
    lea rax,[rsi+rbx]
    mov [rsp+60h],rax
    cmp [rsp+30h],rax
    je
    mov r10d,[r14+121Ch]
    test r10d,r10d
    je
    dec r10d
    mov rax,r10
    shl rax,6
    mov eax,[r9+rax+3Ch]
    mov [r14+121Ch],eax
    dec dword ptr [r14+1220h]
    jmp
    mov eax,[r11+8]
    mov [rsp+3Ch],eax
    mov eax,[r14+194h]
    mov [rsp+40h],rax
    dec eax
    mov [rsp+2Ch],eax
    mov [r14+194h],eax
    mov eax,[r11+38h]
    mov esi,[r11+3Ch]
    test esi,esi
    je
    test eax,eax
    je
    mov rax,[r11+20h]
    mov r8,rax
    shr r8,0Ch
    cmp rax,1FFFFh
    ja
    bsr rbx,r8
    xor rbx,3Fh
    mov ecx,3Bh
    sub ecx,ebx
    mov [rsp+10h],rcx
    mov cl,3Ah
    sub cl,bl
    shr r8,cl
    mov rcx,1000000000000h
    cmp rax,rcx
    jae
    and r8d,1Fh
    mov rbx,[rsp+20h]
    mov rax,[rsp+10h]
    mov [rsp+10h],rax
    shl eax,7
    lea rcx,[r14+198h]
    add rax,rcx
    mov ecx,r8d
    mov [rax+rcx*4],esi
    test esi,esi
    jne
    mov esi,0FFFFFFFEh
    mov ecx,r8d
    rol esi,cl
    mov eax,0FFFFFFFEh
    mov rcx,[rsp+10h]
    and [r14+rcx*4+1198h],esi
    jne
    mov rax,[rsp+8]
    cmp rax,[rsp+48h]
    je
    mov rcx,[rsp+30h]
    mov rsi,[rsp+60h]
    cmp rcx,rsi
    jne
    sub rcx,rsi
    add rax,rbx
    mov r11d,r10d
    shl r11,6
    mov esi,[rsp+3Ch]
    mov [r9+r11+8],esi
    mov [r9+r11+18h],rax
    mov [rsp+30h],rcx
    mov [r9+r11+20h],rcx
    mov r8d,r15d
    mov rcx,r8
    shl rcx,6
    mov eax,[r9+rcx+34h]
    lea esi,[r15+1]
    mov [r9+r11+30h],esi
    mov [r9+r11+34h],eax
    inc r10d
    mov [r9+rcx+34h],r10d
    test eax,eax
    je
    dec eax
    shl rax,6
    mov [r9+rax+30h],r10d
    mov eax,[rsp+2Ch]
    inc eax
    mov [r14+194h],eax
    mov rcx,[rsp+30h]
    mov rsi,rcx
    shr rsi,0Ch
    cmp rcx,1FFFFh
    ja
    xor eax,eax
    jmp
    add r11,r9
    mov ecx,esi
    mov [rsp+10h],rax
    shl eax,7
    lea rsi,[r14+198h]
    add rsi,rax
    mov eax,[rsi+rcx*4]
    mov dword ptr [r11+38h],0
    mov [r11+3Ch],eax
    test eax,eax
    je
    mov [rsi+rcx*4],r10d
    mov eax,1
    shl eax,cl
    mov esi,1
    mov rcx,[rsp+10h]
    or [r14+rcx*4+1198h],eax
    shl esi,cl
    or [r14+1218h],esi
    mov rsi,[rsp+50h]
    mov rax,[rsp+8]
    shl r8,6
    mov [r9+r8+20h],rbx
    mov [r9+r8+28h],rsi
    or rax,1
    mov [r9+r8],rax
    mov rax,[r14+178h]
    add rax,rbx
    mov [r14+178h],rax
    mov rcx,[r14+180h]
    cmp rax,rcx
    cmovbe rax,rcx
    mov [r14+180h],rax
    add [r14+188h],rsi
    inc dword ptr [r14+190h]
    add [r14+r13*8+30h],rbx
    mov rax,[rdi+30h]
    mov [rax+r8+14h],r13d
    mov r13b,1
    xor eax,eax
    xchg [r14],eax
    cmp eax,2
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
    mov rcx,[rsp+8]
    mov [rdx+10h],rcx
    mov [rdx+18h],rax
    mov [rdx+20h],rbx
    mov [rdx+28h],r12d
    mov [rdx+2Ch],r15d
    mov qword ptr [rdx+30h],0
    mov dword ptr [rdx+38h],0
    mov eax,3Ch
    jmp
    mov [rdx+rax],ebp
    xor eax,eax
    add rsp,68h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    test eax,eax
    je
    movaps xmm0,[rsp]
    movaps xmm1,[rsp+10h]
    movaps xmm2,[rsp+20h]
    movaps xmm3,[rsp+30h]
    movups [rbx+38h],xmm3
    movups [rbx+28h],xmm2
    movups [rbx+18h],xmm1
    movups [rbx+8],xmm0
    mov eax,1
    mov [rbx],rax
    mov rax,rbx
    add rsp,60h
    pop rbx
    ret
