/* SPDX-License-Identifier: MIT */
/*
 * The stand-in's first instructions, by Xen's PVH: 32-bit protected mode without paging.  For 64 bits the lowest 8 MiB
 * are mapped one to one and at BASE, where the kernel is linked.  And the switch of its processes.
 */
        .section .note.pvh, "a", @note
        .balign 4
        .long   4, 4, 18                /* XEN_ELFNOTE_PHYS32_ENTRY */
        .asciz  "Xen"
        .long   start - BASE

        .text
        .code32
        .globl  start
start:
        cli
#if defined(__x86_64__)
        movl    $(map4 - BASE), %eax
        movl    %eax, %cr3
        movl    %cr4, %eax
        orl     $0x20, %eax             /* PAE */
        movl    %eax, %cr4
        movl    $0xc0000080, %ecx       /* IA32_EFER */
        rdmsr
        orl     $0x100, %eax            /* long mode */
        wrmsr
        movl    %cr0, %eax
        orl     $0x80000000, %eax
        movl    %eax, %cr0
        lgdt    table - BASE
        ljmp    $8, $(long_mode - BASE)
        .code64
long_mode:
        movq    $stack_end, %rsp
        movq    $stand_in, %rax
        call    *%rax
#else
        movl    $stack_end, %esp
        call    stand_in
#endif
1:      hlt
        jmp     1b

/* void stand_in_switch(void **from, void *to): keep this stack in `*from`, go on with the other. */
        .globl  stand_in_switch
stand_in_switch:
#if defined(__x86_64__)
        .irp    r, rbp, rbx, r12, r13, r14, r15
        pushq   %\r
        .endr
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        .irp    r, r15, r14, r13, r12, rbx, rbp
        popq    %\r
        .endr
#else
        movl    4(%esp), %eax
        movl    8(%esp), %edx
        .irp    r, ebp, ebx, esi, edi
        pushl   %\r
        .endr
        movl    %esp, (%eax)
        movl    %edx, %esp
        .irp    r, edi, esi, ebx, ebp
        popl    %\r
        .endr
#endif
        ret

        .data
        .balign 4096
#if defined(__x86_64__)
map4:   .quad   map3 - BASE + 3
        .fill   510, 8, 0
        .quad   map3 - BASE + 3
map3:   .quad   map2 - BASE + 3
        .fill   509, 8, 0
        .quad   map2 - BASE + 3, 0
map2:   .quad   0x83, 0x200083, 0x400083, 0x600083
        .fill   508, 8, 0
segments: .quad 0, 0x00af9a000000ffff, 0x00cf92000000ffff
table:  .word   23
        .long   segments - BASE
#endif
        .bss
        .balign 16
        .skip   4096                    /* as small as some kernels have it */
stack_end:
        .section .note.GNU-stack, "", @progbits
