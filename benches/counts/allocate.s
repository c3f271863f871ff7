    push rbx
    mov rbx,rdi
    call nrt_benches::world::allocate
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,98h
    mov rbx,[rsi]
    lea r8,[rsp+10h]
    mov eax,r8d
    shr eax,0Eh
    mov ecx,r8d
    shr ecx,12h
    xor ecx,eax
    mov eax,r8d
    shr eax,17h
    xor eax,ecx
    and eax,0Fh
    shl eax,6
    lock inc qword ptr [rbx+rax]
    lea r13,[rbx+rax]
    mov eax,[rbx+400h]
    cmp eax,1
    jne
    mov eax,2
    movd xmm0,eax
    mov r12d,13h
    cmp dword ptr [rbx+4A0h],0
    je
    mov eax,[rsi+8]
    mov rcx,[rbx+520h]
    shl rax,6
    mov ebp,[rcx+rax+10h]
    cmp rbp,1Fh
    ja
    mov eax,[rcx+rax+14h]
    mov ecx,2
    movd xmm0,ecx
    cmp eax,7
    ja
    mov rcx,[rbx+630h]
    imul rsi,rbp,900B8h
    add rcx,rsi
    add rcx,8
    cmp byte ptr [rcx],1
    jne
    cmp byte ptr [rcx+rax+4CD10h],0
    je
    mov r14,rdi
    lea r15,[rbx+478h]
    mov rsi,[rdx+8]
    cmp dword ptr [rbx+498h],2
    setne cl
    mov edi,eax
    shr edi,cl
    mov rcx,[rdx+20h]
    mov r8d,[rdx+28h]
    cmp byte ptr [rdx],0
    je
    movzx r9d,byte ptr [rdx+2Ch]
    mov [rsp+60h],rcx
    mov [rsp+74h],r8d
    mov [rsp+70h],edi
    mov [rsp+78h],r9b
    mov [rsp+48h],rsi
    movups xmm0,[rdx+10h]
    movups [rsp+50h],xmm0
    mov qword ptr [rsp+68h],0
    shl rbp,0Ch
    add rbp,[rbx+528h]
    shl rax,9
    add rax,rbp
    lea rdi,[rsp+10h]
    lea rcx,[rsp+48h]
    mov rsi,r15
    mov rdx,rax
    call nrt_core::dmem::allocate::<impl nrt_core::system::System<D,H>>::dmem_alloc
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,0B8h
    mov rax,[rdx+8]
    mov r14d,[rax]
    mov ebx,[rax+4]
    cmp r14,1Fh
    jbe
    cmp ebx,7
    jbe
    mov rax,[rsi+1B8h]
    imul r8,r14,900B8h
    add r8,rax
    add r8,8
    cmp byte ptr [r8],1
    jne
    cmp byte ptr [r8+rbx+4CD10h],0
    je
    imul rax,rbx,9998h
    add rax,r8
    add rax,50h
    mov [rsp+78h],r8
    mov [rsp+80h],rax
    mov [rsp+88h],r14d
    mov [rsp+8Ch],ebx
    movzx r12d,byte ptr [rcx+30h]
    mov ebp,[rcx+2Ch]
    cmp ebp,1
    lea rax,[0]
    lea r9,[0]
    cmove r9,rax
    cmp byte ptr [r9+r12],14h
    jne
    mov rax,[rcx+10h]
    mov [rsp+28h],rax
    test rax,rax
    je
    xor eax,eax
    cmp dword ptr [rsi+20h],2
    setne al
    lea r10d,[rax*2+2]
    mov r9d,[rcx+28h]
    cmp r9d,r10d
    jae
    mov r15,[rcx+18h]
    lea rax,[r15-1]
    test r15,rax
    je
    mov rax,[rsi+0F8h]
    mov r10,[rax]
    shl r10,28h
    mov [rsp+8],rdx
    jne
    mov eax,[rax+8]
    cmp eax,[rsi+100h]
    jae
    mov rax,[rcx+20h]
    mov [rsp+10h],rax
    test rax,rax
    je
    xor r13d,r13d
    jmp
    xorps xmm0,xmm0
    movups [rsp+58h],xmm0
    movups [rsp+48h],xmm0
    movups [rsp+38h],xmm0
    mov qword ptr [rsp+68h],0
    mov rax,[r8+4CD28h]
    mov [rsp+30h],rax
    cmp ebp,1
    mov [rsp+70h],rsi
    jne
    test r15,r15
    je
    xor eax,eax
    xor r10d,r10d
    mov r11,[rsp+28h]
    mov r8,r11
    shl r8,34h
    je
    mov r8,rcx
    mov [rsp+50h],r11
    mov rcx,fs:[0FFFFFFFFFFFFFF20h]
    test rcx,rcx
    jne
    add r11,rcx
    mov fs:[0FFFFFFFFFFFFFF20h],r11
    mov r9,rcx
    shr r9,0Ch
    mov [rsp+38h],r9
    mov [rsp+40h],rcx
    mov [rsp+48h],rcx
    mov [rsp+58h],r10d
    mov qword ptr [rsp+60h],0
    mov [rsp+68h],eax
    mov [rsp+6Ch],ebx
    lea rax,[rsp+30h]
    mov [rsp],rax
    lea rcx,[rsp+78h]
    mov rbx,rdi
    mov r9,[rsp+28h]
    call nrt_core::dmem::allocate::<impl nrt_core::system::System<D,H>>::dmem_publish
    push rbp
    push r15
    push r14
    push r13
    push r12
    push rbx
    sub rsp,58h
    mov r11,r9
    mov r9,rdx
    mov r14,rsi
    mov r12,rdi
    mov edx,[rcx+10h]
    mov [rsp+50h],rcx
    mov eax,[rcx+14h]
    lea r13,[rax+rdx*8]
    mov [rsp+30h],rdx
    mov rbx,rdx
    shl rbx,0Ah
    mov rdx,r13
    shl rdx,9
    mov ebp,1
    mov [rsp+38h],rax
    mov rsi,rax
    shl rsi,7
    mov [rsp],rax
    mov [rsp+48h],rdx
    mov [rsp+20h],rsi
    mov [rsp+28h],r9
    mov rcx,[r14+0B0h]
    lea r15,[rcx+rdx]
    add r15,10h
    xor eax,eax
    lock cmpxchg [rcx+rdx+10h],ebp
    jne
    mov rax,[r14+0B8h]
    add rax,rbx
    mov ecx,[rsi+rax]
    test ecx,ecx
    jne
    add rax,rsi
    dec ecx
    mov rdx,[r14+0F0h]
    mov rsi,rcx
    shl rsi,8
    mov edx,[rdx+rsi+0B0h]
    mov [rax],edx
    dec dword ptr [rax+4]
    jmp
    mov rax,[r14+0F0h]
    shl rcx,8
    or dword ptr [rax+rcx+0B4h],1
    mov rdx,[r14+0F0h]
    lea rbx,[rdx+rcx]
    mov r10,[rsp+90h]
    mov rax,[r10+10h]
    lea rsi,[rdx+rcx+0C0h]
    movups xmm0,[r10]
    movups [rdx+rcx+0C0h],xmm0
    mov [rdx+rcx+0D0h],rax
    mov rdi,[r10+38h]
    mov [rdx+rcx+0F8h],rdi
    movups xmm0,[r10+18h]
    movups xmm1,[r10+28h]
    movups [rdx+rcx+0E8h],xmm1
    movups [rdx+rcx+0D8h],xmm0
    mov rdi,[r9+8]
    mov [rdx+rcx],rdi
    mov [rdx+rcx+8],rsi
    mov rsi,[r8+10h]
    mov [rdx+rcx+10h],rsi
    mov [rdx+rcx+18h],rax
    mov qword ptr [rdx+rcx+20h],0
    cmp r11,rsi
    mov [rsp],r15
    jne
    xor ecx,ecx
    jmp
    mov [rbx+28h],rcx
    mov [rbx+30h],r11
    mov eax,[r8+2Ch]
    mov [rbx+38h],eax
    movzx eax,byte ptr [r8+30h]
    mov [rbx+3Ch],eax
    mov eax,[r8+28h]
    mov [rbx+40h],eax
    lea rbp,[rbx+44h]
    mov rsi,[r8]
    mov r15,[r8+8]
    cmp r15,3Ch
    jb
    mov rdi,rbp
    mov rdx,r15
    call qword ptr [0]
    (outside of the program)
    mov byte ptr [rbx+r15+44h],0
    mov [rbx+88h],rbp
    mov rdi,[rsp+38h]
    cmp edi,8
    mov rbp,[rsp+28h]
    jae
    mov rax,[rsp+30h]
    lea rax,[rax+rax*8]
    shl rax,7
    add rax,[r14+0C0h]
    imul rcx,rdi,38h
    add rax,rcx
    add rax,68h
    mov [rbx+90h],rax
    mov qword ptr [rbx+80h],1
    lea rax,[rbp+100h]
    mov rcx,[rbp+1A0h]
    mov [rbx+0A0h],rcx
    mov [rbx+98h],rax
    mov [rbx+0A8h],rbp
    mov [rcx+98h],rbx
    mov [rbp+1A0h],rbx
    mov rdi,r14
    mov rsi,[rsp+50h]
    mov rdx,rbx
    mov ecx,1
    mov r15,[rsp]
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
    mov rax,[r14+0B8h]
    shl r13,7
    inc dword ptr [rax+r13+8]
    xor eax,eax
    xchg [r15],eax
    cmp eax,2
    jne
    mov [r12+8],rbx
    mov dword ptr [r12],40h
    add rsp,58h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    mov rcx,[rsp+10h]
    test rcx,rcx
    je
    test r13,r13
    je
    add rsp,0B8h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    mov r12d,[rsp+10h]
    cmp r12d,40h
    jne
    mov rax,[rsp+18h]
    mov rcx,[rbx+568h]
    sub rax,rcx
    shr rax,8
    mov r15d,eax
    mov rax,r15
    shl rax,8
    mov r12d,[rcx+rax+0B4h]
    lock dec qword ptr [r13]
    mov eax,[rbx+400h]
    cmp eax,1
    je
    shl r12,20h
    or r15,r12
    mov [r14],rbx
    mov [r14+8],r15
    add rsp,98h
    pop rbx
    pop r12
    pop r13
    pop r14
    pop r15
    pop rbp
    ret
    mov rax,rbx
    pop rbx
    ret
