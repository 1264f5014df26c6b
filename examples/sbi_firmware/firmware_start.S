/* SPDX-License-Identifier: MIT */
/*
 * Entry from QEMU, the trap of M-mode, and the way into S-mode. While S-mode runs, mscratch has the end of the
 * firmware's stack; in M-mode it is 0.
 */
#if __riscv_xlen == 64
#define WORD 8
#define LOAD ld
#define STORE sd
#else
#define WORD 4
#define LOAD lw
#define STORE sw
#endif
#define FRAME (32 * WORD) /* x0 to x31 */

.macro EACH op
    .irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21
    \op x\n, WORD * \n(sp)
    .endr
    .irp n, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    \op x\n, WORD * \n(sp)
    .endr
.endm

    .section .text.firmware_start, "ax"
    .global firmware_start
/* a0: the hart; a1: the device tree; a2: what runs next, by struct fw_dynamic_info, whose third word is its address. */
firmware_start:
    la sp, firmware_stack
    la t0, firmware_bss
    la t1, firmware_bss_end
1:  STORE zero, 0(t0)
    addi t0, t0, WORD
    bltu t0, t1, 1b
    LOAD a2, 2 * WORD(a2)
    j firmware_main

    .text
    .balign 4
    .global firmware_trap
firmware_trap:
    csrrw sp, mscratch, sp
    addi sp, sp, -FRAME
    EACH STORE
    csrrw t0, mscratch, zero
    STORE t0, 2 * WORD(sp)
    mv a0, sp
    call firmware_handle
    addi t0, sp, FRAME
    csrw mscratch, t0
    EACH LOAD
    LOAD sp, 2 * WORD(sp)
    mret

/* firmware_enter(hart, tree, address): S-mode begins at an address, with the hart and the tree in a0 and a1. */
    .global firmware_enter
firmware_enter:
    la t0, firmware_stack
    csrw mscratch, t0
    csrw mepc, a2
    mret
