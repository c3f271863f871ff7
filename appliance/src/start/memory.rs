//! The memory functions that compiled code calls: `memcpy`, `memmove`, `memset`, `memcmp`, `bcmp`, `strlen`.
//!
//! All of it is assembly, so that the compiler can neither recognise a loop as the very function it stands in, nor
//! leave it slow in a build without optimisation.
//!
//! * Short lengths are done by two overlapping loads and stores of the largest size that fits.
//! * Middle lengths go 64 bytes at a time through SSE registers, the last (or, backwards, the first) 64 bytes having been
//!   loaded before the first store.
//! * From 1024 bytes on `rep movsb` and `rep stosb` let the processor choose; its start costs some 30 cycles.
//! * Comparisons go 64 bytes at a time, then 16.
//!
//! The C convention: arguments in rdi, rsi, rdx, result in rax; rcx, r8 and the SSE registers are free; the direction
//! flag is clear on entry and stays so. Each function touches exactly the bytes that its C counterpart may touch.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int};

/// Copies `n` bytes between ranges that do not overlap.
///
/// # Safety
/// As in C: `src` is valid for reading and `dst` for writing `n` bytes.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(dst: *mut u8, src: *const u8, n: usize) -> *mut u8 {
    naked_asm!("jmp {memmove}", memmove = sym memmove)
}

/// Copies `n` bytes between ranges that may overlap.
///
/// Up to 64 bytes, everything is loaded before anything is stored. The loop forward (label 24) runs for `dst` below `src`
/// or ranges apart: what an iteration stores ends at or below where later ones load. The loop backward (26) runs for
/// `src <= dst < src + n` and mirrors that.
///
/// # Safety
/// As in C: `src` is valid for reading and `dst` for writing `n` bytes.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(dst: *mut u8, src: *const u8, n: usize) -> *mut u8 {
    naked_asm!(
        "mov rax, rdi",
        "cmp rdx, 16",
        "jb 30f",
        "cmp rdx, 32",
        "ja 22f",
        // 16..=32
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + rdx - 16]",
        "movups [rdi], xmm0",
        "movups [rdi + rdx - 16], xmm1",
        "ret",
        "22:",
        "cmp rdx, 64",
        "ja 23f",
        // 33..=64
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + 16]",
        "movups xmm2, [rsi + rdx - 32]",
        "movups xmm3, [rsi + rdx - 16]",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm1",
        "movups [rdi + rdx - 32], xmm2",
        "movups [rdi + rdx - 16], xmm3",
        "ret",
        "23:",
        // 65 and more: rcx = dst - src
        "mov rcx, rdi",
        "sub rcx, rsi",
        "cmp rcx, rdx",
        "jb 25f",
        "cmp rdx, 1024",
        "jb 24f",
        // Overlapping ranges are slow for the string instruction.
        "neg rcx",
        "cmp rcx, rdx",
        "jb 24f",
        "mov rcx, rdx",
        "rep movsb",
        "ret",
        // Forward: xmm4..7 hold the last 64 bytes, r8 is where they go.
        "24:",
        "movups xmm4, [rsi + rdx - 64]",
        "movups xmm5, [rsi + rdx - 48]",
        "movups xmm6, [rsi + rdx - 32]",
        "movups xmm7, [rsi + rdx - 16]",
        "lea r8, [rdi + rdx - 64]",
        "2:",
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + 16]",
        "movups xmm2, [rsi + 32]",
        "movups xmm3, [rsi + 48]",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm1",
        "movups [rdi + 32], xmm2",
        "movups [rdi + 48], xmm3",
        "add rsi, 64",
        "add rdi, 64",
        "cmp rdi, r8",
        "jb 2b",
        "movups [r8], xmm4",
        "movups [r8 + 16], xmm5",
        "movups [r8 + 32], xmm6",
        "movups [r8 + 48], xmm7",
        "ret",
        // Backward: xmm4..7 hold the first 64 bytes; rsi and rcx are the ends, r8 is where the loop may stop.
        "25:",
        "movups xmm4, [rsi]",
        "movups xmm5, [rsi + 16]",
        "movups xmm6, [rsi + 32]",
        "movups xmm7, [rsi + 48]",
        "lea r8, [rdi + 64]",
        "lea rcx, [rdi + rdx]",
        "add rsi, rdx",
        "26:",
        "movups xmm0, [rsi - 16]",
        "movups xmm1, [rsi - 32]",
        "movups xmm2, [rsi - 48]",
        "movups xmm3, [rsi - 64]",
        "movups [rcx - 16], xmm0",
        "movups [rcx - 32], xmm1",
        "movups [rcx - 48], xmm2",
        "movups [rcx - 64], xmm3",
        "sub rsi, 64",
        "sub rcx, 64",
        "cmp rcx, r8",
        "ja 26b",
        "movups [rdi], xmm4",
        "movups [rdi + 16], xmm5",
        "movups [rdi + 32], xmm6",
        "movups [rdi + 48], xmm7",
        "ret",
        // 8..=15
        "30:",
        "cmp edx, 8",
        "jb 32f",
        "mov rcx, [rsi]",
        "mov r8, [rsi + rdx - 8]",
        "mov [rdi], rcx",
        "mov [rdi + rdx - 8], r8",
        "ret",
        // 4..=7
        "32:",
        "cmp edx, 4",
        "jb 33f",
        "mov ecx, [rsi]",
        "mov r8d, [rsi + rdx - 4]",
        "mov [rdi], ecx",
        "mov [rdi + rdx - 4], r8d",
        "ret",
        // 2..=3
        "33:",
        "cmp edx, 2",
        "jb 34f",
        "movzx ecx, word ptr [rsi]",
        "movzx r8d, word ptr [rsi + rdx - 2]",
        "mov [rdi], cx",
        "mov [rdi + rdx - 2], r8w",
        "ret",
        "34:",
        "test edx, edx",
        "jz 35f",
        "movzx ecx, byte ptr [rsi]",
        "mov [rdi], cl",
        "35:",
        "ret",
    )
}

/// Sets `n` bytes.
///
/// # Safety
/// As in C: `dst` is valid for writing `n` bytes.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(dst: *mut u8, byte: c_int, n: usize) -> *mut u8 {
    naked_asm!(
        // rsi: the byte, eight times
        "mov rax, rdi",
        "movzx esi, sil",
        "movabs rcx, 0x0101010101010101",
        "imul rsi, rcx",
        "cmp rdx, 16",
        "jb 30f",
        "movq xmm0, rsi",
        "punpcklqdq xmm0, xmm0",
        "cmp rdx, 32",
        "ja 22f",
        "movups [rdi], xmm0",
        "movups [rdi + rdx - 16], xmm0",
        "ret",
        "22:",
        "cmp rdx, 64",
        "ja 23f",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm0",
        "movups [rdi + rdx - 32], xmm0",
        "movups [rdi + rdx - 16], xmm0",
        "ret",
        "23:",
        "cmp rdx, 1024",
        "jae 25f",
        "lea r8, [rdi + rdx - 64]",
        "24:",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm0",
        "movups [rdi + 32], xmm0",
        "movups [rdi + 48], xmm0",
        "add rdi, 64",
        "cmp rdi, r8",
        "jb 24b",
        "movups [r8], xmm0",
        "movups [r8 + 16], xmm0",
        "movups [r8 + 32], xmm0",
        "movups [r8 + 48], xmm0",
        "ret",
        "25:",
        "mov r8, rax",
        "mov eax, esi",
        "mov rcx, rdx",
        "rep stosb",
        "mov rax, r8",
        "ret",
        "30:",
        "cmp edx, 8",
        "jb 32f",
        "mov [rdi], rsi",
        "mov [rdi + rdx - 8], rsi",
        "ret",
        "32:",
        "cmp edx, 4",
        "jb 33f",
        "mov [rdi], esi",
        "mov [rdi + rdx - 4], esi",
        "ret",
        "33:",
        "cmp edx, 2",
        "jb 34f",
        "mov [rdi], si",
        "mov [rdi + rdx - 2], si",
        "ret",
        "34:",
        "test edx, edx",
        "jz 35f",
        "mov [rdi], sil",
        "35:",
        "ret",
    )
}

/// Compares `n` bytes: less than, equal to or greater than 0 as the first byte that differs.
///
/// # Safety
/// As in C: both are valid for reading `n` bytes.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
    naked_asm!(
        "cmp rdx, 16",
        "jb 30f",
        // 16 and more: rcx is the offset, r8 the offset of the last 16 bytes.
        "lea r8, [rdx - 16]",
        "xor ecx, ecx",
        // 64 at a time while as much lies before the last 16; a difference is left to the loop below.
        "mov r9, r8",
        "sub r9, 64",
        "jb 21f",
        "20:",
        "movdqu xmm0, [rdi + rcx]",
        "movdqu xmm1, [rdi + rcx + 16]",
        "movdqu xmm2, [rdi + rcx + 32]",
        "movdqu xmm3, [rdi + rcx + 48]",
        "movdqu xmm4, [rsi + rcx]",
        "movdqu xmm5, [rsi + rcx + 16]",
        "movdqu xmm6, [rsi + rcx + 32]",
        "movdqu xmm7, [rsi + rcx + 48]",
        "pcmpeqb xmm0, xmm4",
        "pcmpeqb xmm1, xmm5",
        "pcmpeqb xmm2, xmm6",
        "pcmpeqb xmm3, xmm7",
        "pand xmm0, xmm1",
        "pand xmm2, xmm3",
        "pand xmm0, xmm2",
        "pmovmskb eax, xmm0",
        "xor eax, 0xffff",
        "jnz 22f",
        "add rcx, 64",
        "cmp rcx, r9",
        "jbe 20b",
        "21:",
        "cmp rcx, r8",
        "je 23f",
        "22:",
        "movdqu xmm0, [rdi + rcx]",
        "movdqu xmm1, [rsi + rcx]",
        "pcmpeqb xmm0, xmm1",
        "pmovmskb eax, xmm0",
        "xor eax, 0xffff",
        "jnz 24f",
        "add rcx, 16",
        "cmp rcx, r8",
        "jb 22b",
        "mov rcx, r8",
        "23:",
        "movdqu xmm0, [rdi + rcx]",
        "movdqu xmm1, [rsi + rcx]",
        "pcmpeqb xmm0, xmm1",
        "pmovmskb eax, xmm0",
        "xor eax, 0xffff",
        "jnz 24f",
        "ret",
        // A bit is set in eax for each byte that differs.
        "24:",
        "bsf eax, eax",
        "add rcx, rax",
        "movzx eax, byte ptr [rdi + rcx]",
        "movzx ecx, byte ptr [rsi + rcx]",
        "sub eax, ecx",
        "ret",
        // 8..=15: the second pair overlaps the first, of which all bytes are equal.
        "30:",
        "cmp edx, 8",
        "jb 32f",
        "mov rax, [rdi]",
        "mov rcx, [rsi]",
        "cmp rax, rcx",
        "jne 36f",
        "mov rax, [rdi + rdx - 8]",
        "mov rcx, [rsi + rdx - 8]",
        "cmp rax, rcx",
        "jne 36f",
        "xor eax, eax",
        "ret",
        // 4..=7
        "32:",
        "cmp edx, 4",
        "jb 33f",
        "mov eax, [rdi]",
        "mov ecx, [rsi]",
        "cmp eax, ecx",
        "jne 36f",
        "mov eax, [rdi + rdx - 4]",
        "mov ecx, [rsi + rdx - 4]",
        "cmp eax, ecx",
        "jne 36f",
        "xor eax, eax",
        "ret",
        // 0..=3
        "33:",
        "xor r8d, r8d",
        "34:",
        "cmp r8, rdx",
        "je 35f",
        "movzx eax, byte ptr [rdi + r8]",
        "movzx ecx, byte ptr [rsi + r8]",
        "inc r8",
        "sub eax, ecx",
        "jz 34b",
        "ret",
        "35:",
        "xor eax, eax",
        "ret",
        // Two different words: the lowest byte that differs decides, so compare them with that byte in front.
        "36:",
        "bswap rax",
        "bswap rcx",
        "cmp rax, rcx",
        "sbb eax, eax",
        "or eax, 1",
        "ret",
    )
}

/// Compares `n` bytes: 0 when they are equal.
///
/// # Safety
/// As in C: both are valid for reading `n` bytes.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> c_int {
    naked_asm!("jmp {memcmp}", memcmp = sym memcmp)
}

/// Bytes before the NUL. Only short strings are ever measured: arguments and environment.
///
/// # Safety
/// As in C: `string` is NUL-terminated.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(string: *const c_char) -> usize {
    naked_asm!("xor eax, eax", "2:", "cmp byte ptr [rdi + rax], 0", "je 3f", "inc rax", "jmp 2b", "3:", "ret",)
}
