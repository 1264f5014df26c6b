/* SPDX-License-Identifier: MIT */
/*
 * Interrupt entries, all 256 alike, and the way to ring 3 and back.
 *
 * Each entry pushes an error code, if the processor did not, and its number; the
 * common part saves what C may change.  The frame that C sees is struct kernel_trap.
 */
#include <examples/kernel/kernel_layout.h>

        .text
        .globl  kernel_entries
        .balign 16
kernel_entries:                         /* one each 16 bytes */
        .set    vector, 0
        .rept   256
        .balign 16
        .if     (vector == 8) || (vector >= 10 && vector <= 14) || (vector == 17) || (vector == 21)
        .else
        push    $0
        .endif
#if defined(__x86_64__)
        pushq   $vector
#else
        pushl   $vector
#endif
        jmp     kernel_common
        .set    vector, vector + 1
        .endr

#if defined(__x86_64__)

kernel_common:
        pushq   %rax
        pushq   %rcx
        pushq   %rdx
        pushq   %rsi
        pushq   %rdi
        pushq   %r8
        pushq   %r9
        pushq   %r10
        pushq   %r11
        pushq   %rbp
        cld
        movq    %rsp, %rdi
        movq    %rsp, %rbp
        andq    $-16, %rsp
        call    kernel_trap
        movq    %rbp, %rsp
        popq    %rbp
        popq    %r11
        popq    %r10
        popq    %r9
        popq    %r8
        popq    %rdi
        popq    %rsi
        popq    %rdx
        popq    %rcx
        popq    %rax
        addq    $16, %rsp
        iretq

/*
 * void kernel_user_enter(entry, stack, argument): registers of the kernel wait on its stack.  A fault of
 * ring 3 returns from it, with interrupts on.
 */
        .globl  kernel_user_enter
kernel_user_enter:
        pushq   %rbx
        pushq   %rbp
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        movq    %rsp, kernel_waiting
        movq    %rsp, kernel_tss + TSS_STACK
        pushq   $USER_DS
        pushq   %rsi
        pushfq
        movl    kernel_user_flags, %eax
        orq     %rax, (%rsp)
        pushq   $USER_CS
        pushq   %rdi
        movq    %rdx, %rdi
        iretq

        .globl  kernel_user_leave
kernel_user_leave:
        movq    kernel_waiting, %rsp
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbp
        popq    %rbx
        sti
        ret

/* Ring 3's program: the argument's number of passes, then back. */
        .globl  kernel_user_workload
kernel_user_workload:
        call    workload
        hlt

        .bss
        .balign 8
kernel_waiting:
        .skip   8
        .globl  kernel_user_flags
kernel_user_flags:
        .skip   8

#else

kernel_common:
        pushal
        cld
        movl    %esp, %ebp
        movl    %esp, %eax
        subl    $4, %esp
        andl    $-16, %esp
        movl    %eax, (%esp)
        call    kernel_trap
        movl    %ebp, %esp
        popal
        addl    $8, %esp
        iretl

        .globl  kernel_user_enter
kernel_user_enter:
        movl    4(%esp), %eax
        movl    8(%esp), %edx
        movl    12(%esp), %ecx
        pushl   %ebx
        pushl   %ebp
        pushl   %esi
        pushl   %edi
        movl    %esp, kernel_waiting
        movl    %esp, kernel_tss + TSS_STACK
        movl    $KERNEL_DS, kernel_tss + TSS_STACK_SEGMENT
        pushl   $USER_DS
        pushl   %edx
        pushfl
        movl    kernel_user_flags, %edx
        orl     %edx, (%esp)
        pushl   $USER_CS
        pushl   %eax
        movl    %ecx, %edi
        iretl

        .globl  kernel_user_leave
kernel_user_leave:
        movl    kernel_waiting, %esp
        popl    %edi
        popl    %esi
        popl    %ebp
        popl    %ebx
        sti
        ret

        .globl  kernel_user_workload
kernel_user_workload:
        pushl   %edi
        call    workload
        hlt

        .bss
        .balign 4
kernel_waiting:
        .skip   4
        .globl  kernel_user_flags
kernel_user_flags:
        .skip   4

#endif

        .section .note.GNU-stack, "", @progbits
