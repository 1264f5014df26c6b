/* SPDX-License-Identifier: MIT */
/*
 * SBI firmware for QEMU's "virt" with one RISC-V hart: what its files have of one another.
 */
#ifndef UPMU_EXAMPLES_FIRMWARE_H
#define UPMU_EXAMPLES_FIRMWARE_H

#include <abi/sbi/sbi.h>
#include <stdbool.h>
#include <stdint.h>

/* The firmware's memory, which S-mode cannot access. S-mode's memory begins behind it. */
#define FIRMWARE_BASE 0x80000000ul
#define FIRMWARE_SIZE 0x00200000ul

/* Registers of S-mode at a trap: x[10] to x[17] are a0 to a7. */
struct firmware_frame {
    unsigned long x[32];
};

/* What the firmware knows of the hart and of S-mode's memory. */
struct firmware_hart {
    unsigned long id;
    uint64_t ram_end; /* the end of S-mode's memory */
    bool has_sstc;    /* the timer is a CSR (stimecmp) */
    bool has_pmu;
    struct upmu_sbi_pmu pmu;
};

extern struct firmware_hart firmware_hart;

/* Assembly: firmware_start.S. */
__attribute__((noreturn)) void firmware_enter(unsigned long hart, unsigned long tree, unsigned long address);
void firmware_trap(void);

/* The rest is called from there, and from one file by another. */
__attribute__((noreturn)) void firmware_main(unsigned long hart, unsigned long tree, unsigned long address);
void firmware_handle(struct firmware_frame *frame);
void firmware_call(struct firmware_frame *frame);

/* Make the PMU of the hart. `skips` counts the instructions that trapped and were skipped. */
void firmware_open_pmu(const volatile unsigned *skips);

void firmware_put(char c);
int firmware_get(void);

/* Let the timer of S-mode interrupt at a value of mtime. */
void firmware_set_timer(uint64_t time);

#endif
