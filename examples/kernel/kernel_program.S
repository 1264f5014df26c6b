/* SPDX-License-Identifier: MIT */
/*
 * A program for ring 3 that keeps frame pointers: program_main calls program_render, that program_shade and
 * program_blend, and program_shade calls program_blend, too.  The argument (DI) is how often; it ends by HLT.
 */
#if defined(__x86_64__)
#define BASE %rbp
#define STACK %rsp
#else
#define BASE %ebp
#define STACK %esp
#endif

        .text
        .globl  program_main, program_begin, program_render, program_shade, program_blend, program_end
program_begin:
program_main:
        push    BASE
        mov     STACK, BASE
        mov     %edi, %ebx
1:      call    program_render
        dec     %ebx
        jnz     1b
        hlt
program_render:
        push    BASE
        mov     STACK, BASE
        call    program_shade
        call    program_blend
        pop     BASE
        ret
program_shade:
        push    BASE
        mov     STACK, BASE
        mov     $3, %edx
1:      call    program_blend
        dec     %edx
        jnz     1b
        pop     BASE
        ret
program_blend:
        push    BASE
        mov     STACK, BASE
        mov     $9, %ecx
1:      imul    $1664525, %eax, %eax
        add     $1013904223, %eax
        dec     %ecx
        jnz     1b
        pop     BASE
        ret
program_end:

        .section .note.GNU-stack, "", @progbits
