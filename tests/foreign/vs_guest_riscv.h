/* SPDX-License-Identifier: MIT */
/*
 * A supervisor program in VS-mode, and what the hypervisor that runs it (hypervisor_riscv.c) tells it and reads of it.
 * The program shares an image with the hypervisor, and has a stack of its own.
 */
#ifndef VS_GUEST_RISCV_H
#define VS_GUEST_RISCV_H

#include <stdint.h>

#define VS_COUNTER 6u    /* hpmcounter6 */
#define VS_NO_COUNTER 7u /* hpmcounter7, which has no event */

enum vs_task {
    VS_COUNT,    /* count a loop, and read the counter by its CSR */
    VS_OVERFLOW, /* count a loop from a value that overflows in it, with an interrupt */
    VS_ABSENT    /* read a counter without an event */
};

struct vs_guest {
    /* Given by the hypervisor. */
    enum vs_task task;
    unsigned long turns; /* of the loop: two instructions each */
    unsigned long start; /* where the counter begins; on RV32 the lower half, below an upper one of ones */
    /* Told by the guest. */
    unsigned long counted;
    unsigned long errors;     /* calls that did not succeed */
    unsigned long interrupts; /* of overflows */
    unsigned long flags;      /* overflow flags at the last interrupt, from the snapshot memory */
    unsigned long illegal;    /* instructions that were illegal */
    unsigned long strange;    /* other traps */
};

extern volatile struct vs_guest vs_guest;

/* Snapshot memory of the guest: the flags, and a value for each counter. */
extern volatile uint64_t vs_page[512];

/* Assembly: where the guest begins to execute. */
void vs_guest_start(void);

#endif
