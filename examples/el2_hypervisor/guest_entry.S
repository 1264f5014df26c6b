/* SPDX-License-Identifier: MIT */
/*
 * A guest at EL1 for el2_hypervisor, without a device tree: its start, its vectors, and a loop of known length.
 */
    .text                       /* the first object: its beginning is the image's */
    .global guest_start
guest_start:
    ldr     x1, =guest_stack_end
    mov     sp, x1
    ldr     x1, =guest_vectors
    msr     vbar_el1, x1
    isb
    b       guest_main
    .ltorg

/* void guest_loop(uint64_t turns, uint64_t pmcr, uint64_t pmcntenclr): from the write of PMCR to that of PMCNTENCLR. */
    .global guest_loop
guest_loop:
    msr     pmcr_el0, x1
    isb
1:  subs    x0, x0, #1
    b.ne    1b
    isb
    msr     pmcntenclr_el0, x2
    isb
    ret

/* uint64_t guest_user(void): what EL0 reads of event counter 0; ~0: the read trapped to EL1. */
    .global guest_user
guest_user:
    stp     x29, x30, [sp, #-16]!
    adr     x0, 2f
    msr     elr_el1, x0
    msr     spsr_el1, xzr
    isb
    eret
2:  mrs     x0, pmevcntr0_el0
    svc     #0                  /* goes on behind it at EL1 */
    ldp     x29, x30, [sp], #16
    ret

    .macro  hangs
    .balign 128
    b       .
    .endm

    .balign 2048
guest_vectors:
    .rept   4
    hangs
    .endr
    .balign 128                 /* synchronous, EL1: an undefined instruction is stepped over */
    mrs     x9, elr_el1
    add     x9, x9, #4
    msr     elr_el1, x9
    adrp    x9, guest_undefined
    add     x9, x9, :lo12:guest_undefined
    ldr     x10, [x9]
    add     x10, x10, #1
    str     x10, [x9]
    eret
    .balign 128
    b       guest_interrupt_entry
    hangs
    hangs
    .balign 128                 /* synchronous, EL0 */
    mrs     x9, esr_el1
    lsr     x9, x9, #26
    cmp     x9, #0x18           /* the read trapped: go on behind it, with ~0 */
    b.ne    3f
    mov     x0, #-1
    mrs     x9, elr_el1
    add     x9, x9, #4
    msr     elr_el1, x9
    eret
3:  mrs     x9, elr_el1
    msr     elr_el1, x9
    mov     x9, #0x3c5
    msr     spsr_el1, x9
    eret
    .rept   7
    hangs
    .endr

guest_interrupt_entry:
    sub     sp, sp, #176
    stp     x0, x1, [sp]
    stp     x2, x3, [sp, #16]
    stp     x4, x5, [sp, #32]
    stp     x6, x7, [sp, #48]
    stp     x8, x9, [sp, #64]
    stp     x10, x11, [sp, #80]
    stp     x12, x13, [sp, #96]
    stp     x14, x15, [sp, #112]
    stp     x16, x17, [sp, #128]
    stp     x18, x30, [sp, #144]
    bl      guest_interrupt
    ldp     x0, x1, [sp]
    ldp     x2, x3, [sp, #16]
    ldp     x4, x5, [sp, #32]
    ldp     x6, x7, [sp, #48]
    ldp     x8, x9, [sp, #64]
    ldp     x10, x11, [sp, #80]
    ldp     x12, x13, [sp, #96]
    ldp     x14, x15, [sp, #112]
    ldp     x16, x17, [sp, #128]
    ldp     x18, x30, [sp, #144]
    add     sp, sp, #176
    eret

    .bss
    .balign 16
    .space  16384
guest_stack_end:
