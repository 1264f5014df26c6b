/* SPDX-License-Identifier: MIT */
/*
 * A program of some thousand instructions in two functions, one of which calls the other; both keep frame pointers.
 * x86-64 Linux, without a library.
 */
        .globl  _start
        .type   _start, @function
_start:
        .cfi_startproc
        .cfi_undefined rip
        mov     $5, %ebx
1:      call    outer
        dec     %ebx
        jnz     1b
        mov     $60, %eax       /* exit */
        xor     %edi, %edi
        syscall
        .cfi_endproc
        .size   _start, . - _start

        .type   outer, @function
outer:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register rbp
        mov     $100, %ecx
1:      dec     %ecx
        jnz     1b
        call    inner
        pop     %rbp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   outer, . - outer

        .type   inner, @function
inner:
        .cfi_startproc
        push    %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register rbp
        mov     $150, %ecx
1:      add     $3, %eax
        dec     %ecx
        jnz     1b
        pop     %rbp
        .cfi_def_cfa rsp, 8
        ret
        .cfi_endproc
        .size   inner, . - inner
        .section .note.GNU-stack, "", @progbits
