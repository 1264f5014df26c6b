/* SPDX-License-Identifier: MIT */
/*
 * void workload(uint32_t passes): see workload.h for what is promised.  x86-64 and
 * i386, by the C calling conventions of both; for kernels and programs.
 */
#ifdef __x86_64__
#define KEEP push %rax
#define BACK pop %rax
#else
#define KEEP push %eax
#define BACK pop %eax
#endif

        .text
        .globl  workload, workload_begin, workload_end
        .type   workload, @function
workload_begin:
workload:
#ifdef __x86_64__
        mov     %edi, %ecx
#else
        mov     4(%esp), %ecx
#endif
        xor     %eax, %eax
pass:
        add     $3, %eax                /* 1 */
        imul    $7, %eax, %edx          /* 2 */
        test    $1, %dl                 /* 3 */
        jz      either                  /* 4: a branch, taken in every other pass; both ways are the same */
either:
        xor     %edx, %eax              /* 5 */
        call    leaf                    /* 6: a branch; 7 and 8 are there */
        jmp     over                    /* 9: a branch */
        .byte   0x0f, 0x0b              /* never executed */
over:
        KEEP                            /* 10 */
        BACK                            /* 11 */
        dec     %ecx                    /* 12 */
        jnz     pass                    /* 13: a branch, the last time not taken */
        ret                             /* a branch */
leaf:
        rol     $5, %eax                /* 7 */
        ret                             /* 8: a branch */
workload_end:
        .size   workload, . - workload
        .section .note.GNU-stack, "", @progbits
