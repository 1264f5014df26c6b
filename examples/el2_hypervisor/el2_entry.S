/* SPDX-License-Identifier: MIT */
/*
 * The head of an arm64 Image, by which QEMU loads the hypervisor and hands it the device tree; entry to the guest and
 * exit from it; vectors of EL2.
 */
    .section .text.el2_start, "ax"
    .global el2_start
el2_start:
    b       1f
    .long   0
    .quad   el2_offset          /* from the start of RAM */
    .quad   el2_image_size
    .quad   0xa                 /* little-endian, 4 KB pages, anywhere */
    .quad   0, 0, 0
    .ascii  "ARM\x64"
    .long   0
1:  ldr     x1, =el2_stack
    mov     sp, x1
    ldr     x1, =el2_bss
    ldr     x2, =el2_bss_end
2:  str     xzr, [x1], #8
    cmp     x1, x2
    b.lo    2b
    ldr     x1, =el2_vectors
    msr     vbar_el2, x1
    b       el2_main
    .ltorg

/* unsigned el2_run(struct el2_vcpu *vcpu) */
    .text
    .global el2_run
el2_run:
    stp     x29, x30, [sp, #-96]!
    stp     x19, x20, [sp, #16]
    stp     x21, x22, [sp, #32]
    stp     x23, x24, [sp, #48]
    stp     x25, x26, [sp, #64]
    stp     x27, x28, [sp, #80]
    mov     x1, sp
    str     x1, [x0, #33 * 8]
    msr     tpidr_el2, x0
    ldp     x1, x2, [x0, #31 * 8]
    msr     elr_el2, x1
    msr     spsr_el2, x2
    ldp     x2, x3, [x0, #2 * 8]
    ldp     x4, x5, [x0, #4 * 8]
    ldp     x6, x7, [x0, #6 * 8]
    ldp     x8, x9, [x0, #8 * 8]
    ldp     x10, x11, [x0, #10 * 8]
    ldp     x12, x13, [x0, #12 * 8]
    ldp     x14, x15, [x0, #14 * 8]
    ldp     x16, x17, [x0, #16 * 8]
    ldp     x18, x19, [x0, #18 * 8]
    ldp     x20, x21, [x0, #20 * 8]
    ldp     x22, x23, [x0, #22 * 8]
    ldp     x24, x25, [x0, #24 * 8]
    ldp     x26, x27, [x0, #26 * 8]
    ldp     x28, x29, [x0, #28 * 8]
    ldr     x30, [x0, #30 * 8]
    ldp     x0, x1, [x0]
    eret

/* The guest has left for the reason that stands on the stack, over its x0 and x1. */
el2_left:
    mrs     x0, tpidr_el2
    stp     x2, x3, [x0, #2 * 8]
    stp     x4, x5, [x0, #4 * 8]
    stp     x6, x7, [x0, #6 * 8]
    stp     x8, x9, [x0, #8 * 8]
    stp     x10, x11, [x0, #10 * 8]
    stp     x12, x13, [x0, #12 * 8]
    stp     x14, x15, [x0, #14 * 8]
    stp     x16, x17, [x0, #16 * 8]
    stp     x18, x19, [x0, #18 * 8]
    stp     x20, x21, [x0, #20 * 8]
    stp     x22, x23, [x0, #22 * 8]
    stp     x24, x25, [x0, #24 * 8]
    stp     x26, x27, [x0, #26 * 8]
    stp     x28, x29, [x0, #28 * 8]
    str     x30, [x0, #30 * 8]
    ldp     x3, x4, [sp]        /* x0, x1 of the guest */
    stp     x3, x4, [x0]
    mrs     x3, elr_el2
    mrs     x4, spsr_el2
    stp     x3, x4, [x0, #31 * 8]
    ldr     x3, [x0, #33 * 8]
    mov     sp, x3
    mov     x0, x1
    ldp     x19, x20, [sp, #16]
    ldp     x21, x22, [sp, #32]
    ldp     x23, x24, [sp, #48]
    ldp     x25, x26, [sp, #64]
    ldp     x27, x28, [sp, #80]
    ldp     x29, x30, [sp], #96
    ret

    .macro  dies
    .balign 128
    mrs     x0, elr_el2
    mrs     x1, esr_el2
    mrs     x2, far_el2
    b       el2_dies
    .endm
    .macro  leaves reason
    .balign 128
    stp     x0, x1, [sp, #-16]!
    mov     x1, #\reason
    b       el2_left
    .endm

    .balign 2048
el2_vectors:
    .rept   8                   /* EL2 itself: its interrupts are masked */
    dies
    .endr
    .rept   2                   /* a guest that executes AArch64, and AArch32 */
    leaves  0
    leaves  1
    dies
    dies
    .endr
