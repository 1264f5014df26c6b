/* SPDX-License-Identifier: MIT */
/*
 * A program of some thousand instructions in two functions, one of which calls the other; both keep frame pointers.
 * x86-64 Linux, without a library.
 */
        .globl  _start
        .type   _start, @function
_start:
        mov     $5, %ebx
1:      call    outer
        dec     %ebx
        jnz     1b
        mov     $60, %eax       /* exit */
        xor     %edi, %edi
        syscall
        .size   _start, . - _start

        .type   outer, @function
outer:
        push    %rbp
        mov     %rsp, %rbp
        mov     $100, %ecx
1:      dec     %ecx
        jnz     1b
        call    inner
        pop     %rbp
        ret
        .size   outer, . - outer

        .type   inner, @function
inner:
        push    %rbp
        mov     %rsp, %rbp
        mov     $150, %ecx
1:      add     $3, %eax
        dec     %ecx
        jnz     1b
        pop     %rbp
        ret
        .size   inner, . - inner
        .section .note.GNU-stack, "", @progbits
