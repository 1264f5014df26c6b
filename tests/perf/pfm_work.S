/* SPDX-License-Identifier: MIT */
/*
 * Work of a known number of instructions between the call that enables an event and the one that disables it. x86-64
 * Linux; pfm_programs.c calls it.
 */
        .globl  pfm_count, pfm_loop, pfm_jump, pfm_after, pfm_family

/*
 * void pfm_count(int file, uint64_t passes): the event and its group count 2 * passes + 3 instructions: the return from
 * the call that enables them, the loop, and two that prepare the call that disables them. Of the loop, `passes` are
 * branches.
 */
pfm_count:
        mov     %rsi, %r8
        mov     $16, %eax       /* ioctl */
        mov     $0x2400, %esi   /* ENABLE */
        mov     $1, %edx        /* of the group */
        syscall
pfm_loop:
        dec     %r8
pfm_jump:
        jnz     pfm_loop
pfm_after:
        mov     $16, %eax
        mov     $0x2401, %esi   /* DISABLE */
        syscall
        ret

/*
 * void pfm_family(int file, uint64_t passes): enable, fork, wait for the child, which executes 2 * passes instructions
 * and some more, disable.
 */
pfm_family:
        push    %rbx
        push    %r12
        mov     %edi, %ebx
        mov     %rsi, %r12
        mov     $16, %eax
        mov     $0x2400, %esi
        xor     %edx, %edx
        syscall
        mov     $57, %eax       /* fork */
        syscall
        test    %eax, %eax
        jnz     2f
1:      dec     %r12
        jnz     1b
        mov     $60, %eax       /* exit */
        xor     %edi, %edi
        syscall
2:      mov     $61, %eax       /* wait4 */
        mov     $-1, %rdi
        xor     %esi, %esi
        xor     %edx, %edx
        xor     %r10d, %r10d
        syscall
        mov     $16, %eax
        mov     %ebx, %edi
        mov     $0x2401, %esi
        xor     %edx, %edx
        syscall
        pop     %r12
        pop     %rbx
        ret
        .section .note.GNU-stack, "", @progbits
