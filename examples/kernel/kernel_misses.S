/* SPDX-License-Identifier: MIT */
/*
 * A program for ring 3 that misses the caches: it follows a list whose nodes have a line of memory each, then reads a
 * table word by word.  The argument (DI) is how often; it ends by HLT.
 */
#include <examples/kernel/kernel_layout.h>

#if defined(__x86_64__)
#define FROM %rsi
#else
#define FROM %esi
#endif

        .text
        .globl  misses_main, misses_walk, misses_table, misses_end
misses_main:
1:      mov     $misses_list, %esi
        mov     $MISSES_NODES, %ecx
misses_walk:
        mov     (FROM), FROM
        dec     %ecx
        jnz     misses_walk
        mov     $misses_words, %esi
        mov     $MISSES_WORDS, %ecx
misses_table:
        mov     (FROM), %eax
        add     $4, FROM
        dec     %ecx
        jnz     misses_table
        dec     %edi
        jnz     1b
        hlt
misses_end:

        .section .note.GNU-stack, "", @progbits
