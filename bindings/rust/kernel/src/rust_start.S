/* SPDX-License-Identifier: MIT */
/*
 * The first instructions of the example kernel in Rust, by multiboot 0.6.96: 32-bit protected mode without paging.  The
 * lowest 8 MiB are mapped one to one, in 64-bit mode.  main.rs includes this file; its syntax is AT&T's.
 */
        .set    MAGIC, 0x1badb002
        .set    ADDRESSES, 0x10000      /* load by the addresses below: 64-bit ELF files are refused without */
        .section .multiboot, "a"
        .balign 4
multiboot:
        .long   MAGIC, ADDRESSES, -(MAGIC + ADDRESSES)
        .long   multiboot, image_begin, image_end, bss_end, start

        .text
        .code32
        .globl  start
start:
        cli
        movl    $map4, %eax
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
        lgdt    table
        ljmp    $8, $long_mode
        .code64
long_mode:
        movl    $stack_end, %esp
        call    kernel_main
1:      hlt
        jmp     1b

/* Stack of several pages is touched page by page by compilers; all of this one is there. */
        .globl  __rust_probestack
__rust_probestack:
        ret

        .data
        .balign 4096
map4:   .quad   map3 + 3
        .fill   511, 8, 0
map3:   .quad   map2 + 3
        .fill   511, 8, 0
map2:   .quad   0x83, 0x200083, 0x400083, 0x600083
        .fill   508, 8, 0
segments: .quad 0, 0x00af9a000000ffff
table:  .word   15
        .long   segments
        .bss
        .balign 16
        .skip   65536
stack_end:
        .text
