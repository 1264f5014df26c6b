/* SPDX-License-Identifier: MIT */
/*
 * The example kernel's first instructions: multiboot 0.6.96 (EAX 2BADB002h, EBX its
 * information) and Xen's PVH (EBX struct hvm_start_info) both enter here, in 32-bit
 * protected mode without paging, with .bss zeroed.
 *
 * Segments are flat.  DS and ES hold the ring-3 selector also in ring 0, so that
 * neither interrupts nor changes of ring need to touch them.  In 64-bit mode the
 * lowest 4 GiB are mapped one to one, for ring 3 too; the last one uncached (APIC).
 */
#include <examples/kernel/kernel_layout.h>

        .section .multiboot, "a"
        .balign 4
        .long   0x1badb002              /* magic */
        .long   0x00000002              /* tell the memory's size */
        .long   -(0x1badb002 + 0x00000002)

        .section .note.pvh, "a", @note
        .balign 4
        .long   4, 4, 18                /* XEN_ELFNOTE_PHYS32_ENTRY */
        .asciz  "Xen"
        .long   kernel_entry

        .text
        .code32
        .globl  kernel_entry
kernel_entry:
        cli
        cld
        movl    $kernel_stack_end, %esp
        movl    %eax, %esi              /* magic and information survive in ESI and EDI */
        movl    %ebx, %edi
        pushl   $0
        popfl

#if defined(__x86_64__)

        movl    $0x80000000, %eax
        cpuid
        cmpl    $0x80000001, %eax
        jb      no_long_mode
        movl    $0x80000001, %eax
        cpuid
        btl     $29, %edx
        jnc     no_long_mode
        movl    $(page_directory_pointers + 7), page_map
        movl    $page_directory_pointers, %eax
        movl    $(page_directories + 7), %edx
        movl    $4, %ecx
1:      movl    %edx, (%eax)
        addl    $8, %eax
        addl    $0x1000, %edx
        loop    1b
        movl    $page_directories, %edx
        movl    $0x87, %eax             /* present, writable, user, 2 MiB */
        movl    $2048, %ecx
2:      cmpl    $512, %ecx
        jne     3f
        orl     $0x18, %eax             /* the last gigabyte: uncached */
3:      movl    %eax, (%edx)
        addl    $8, %edx
        addl    $0x200000, %eax
        loop    2b
        movl    $page_map, %eax
        movl    %eax, %cr3
        movl    %cr4, %eax
        orl     $0x20, %eax             /* PAE */
        movl    %eax, %cr4
        movl    $0xc0000080, %ecx       /* IA32_EFER */
        rdmsr
        orl     $0x100, %eax            /* LME */
        wrmsr
        movl    %cr0, %eax
        orl     $0x80000001, %eax       /* PG, PE */
        movl    %eax, %cr0
        lgdt    gdt_descriptor
        ljmp    $KERNEL_CS, $long_mode

        /* Say so on COM1 and on the screen; stop (Bochs: for good). */
no_long_mode:
        movw    $0x3fb, %dx             /* 8n1 */
        movb    $3, %al
        outb    %al, %dx
        movl    $no_long_mode_text, %esi
        movl    $0xb8000, %edi
3:      movl    $100000, %ecx
        movw    $0x3fd, %dx
4:      inb     %dx, %al
        testb   $0x40, %al              /* all is sent */
        loopz   4b
        cmpb    $'S', (%esi)
        je      5f
        lodsb
        movw    $0x3f8, %dx
        outb    %al, %dx
        stosb
        movb    $7, %al
        stosb
        jmp     3b
5:      movw    $0x8900, %dx
5:      lodsb
        outb    %al, %dx
        testb   %al, %al
        jnz     5b
6:      hlt
        jmp     6b

        .code64
long_mode:
        movl    $USER_DS, %eax
        movl    %eax, %ds
        movl    %eax, %es
        movl    $KERNEL_DS, %eax
        movl    %eax, %ss
        movl    $kernel_stack_end, %esp
        movq    $kernel_tss, %rax
        movw    %ax, gdt_tss + 2
        shrq    $16, %rax
        movb    %al, gdt_tss + 4
        movb    %ah, gdt_tss + 7
        movl    $KERNEL_TSS, %eax
        ltr     %ax
        movl    %esi, %eax              /* zero-extends */
        movl    %edi, %esi
        movl    %eax, %edi
        xorl    %ebp, %ebp
        call    kernel_main
7:      hlt
        jmp     7b

#else

        lgdt    gdt_descriptor
        ljmp    $KERNEL_CS, $1f
1:      movl    $USER_DS, %eax
        movl    %eax, %ds
        movl    %eax, %es
        movl    $KERNEL_DS, %eax
        movl    %eax, %ss
        movl    $kernel_tss, %eax
        movw    %ax, gdt_tss + 2
        shrl    $16, %eax
        movb    %al, gdt_tss + 4
        movb    %ah, gdt_tss + 7
        movl    $KERNEL_TSS, %eax
        ltr     %ax
        xorl    %ebp, %ebp
        subl    $8, %esp                /* arguments end at a multiple of 16 */
        pushl   %edi
        pushl   %esi
        call    kernel_main
2:      hlt
        jmp     2b

#endif

        .section .rodata
no_long_mode_text:
        .ascii  "upmu kernel: this CPU has no 64-bit mode, boot the 32-bit one"
        .asciz  "Shutdown"

        .data
        .balign 16
gdt:    .quad   0
#if defined(__x86_64__)
        .quad   0x00af9a000000ffff      /* KERNEL_CS */
        .quad   0x00cf92000000ffff      /* KERNEL_DS */
        .quad   0x00cff2000000ffff      /* USER_DS */
        .quad   0x00affa000000ffff      /* USER_CS */
#else
        .quad   0x00cf9a000000ffff
        .quad   0x00cf92000000ffff
        .quad   0x00cff2000000ffff
        .quad   0x00cffa000000ffff
#endif
gdt_tss:
        .word   0x67, 0                 /* limit, base */
        .byte   0, 0x89, 0, 0           /* available TSS */
        .quad   0
gdt_end:
gdt_descriptor:
        .word   gdt_end - gdt - 1
        .long   gdt, 0

        .bss
        .balign 4096
#if defined(__x86_64__)
page_map:
        .skip   4096
page_directory_pointers:
        .skip   4096
page_directories:
        .skip   4 * 4096
#endif
        .globl  kernel_tss, kernel_stack, kernel_stack_end
        .balign 128
kernel_tss:
        .skip   128
        .balign 16
kernel_stack:
        .skip   65536
kernel_stack_end:

        .section .note.GNU-stack, "", @progbits
