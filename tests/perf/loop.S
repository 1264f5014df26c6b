/* SPDX-License-Identifier: MIT */
/* A program of 2,004 instructions, 1,000 of them branches; x86-64 Linux, without a library. */
        .globl  _start
_start:
        mov     $1000, %ecx
1:      dec     %ecx
        jnz     1b
        mov     $60, %eax       /* exit */
        xor     %edi, %edi
        syscall
        .section .note.GNU-stack, "", @progbits
