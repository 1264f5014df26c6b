/* SPDX-License-Identifier: MIT */
/*
 * Just enough of the x86 instruction format: which instruction faulted, was this
 * one a branch.
 */
#ifndef UPMU_TESTS_TRAP_TRAP_DECODE_H
#define UPMU_TESTS_TRAP_TRAP_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum trap_operation {
    TRAP_OTHER,
    TRAP_RDMSR,
    TRAP_WRMSR,
    TRAP_RDPMC,
    TRAP_CPUID,
    TRAP_RDTSC,
    TRAP_CLI,
    TRAP_STI,
    TRAP_HLT,
    TRAP_STORE, /* 32 bits of a register, or an immediate, to memory */
    TRAP_LOAD
};

struct trap_instruction {
    enum trap_operation operation;
    unsigned length;
    unsigned reg;   /* number of the register stored or loaded */
    bool immediate; /* store: `value` */
    uint32_t value;
};

/* Intel SDM vol 2 (325383-059) 2.1, 2.2 and the opcode map of appendix A. */
struct trap_instruction trap_decode(const uint8_t *code, bool long_mode);

/* Retired branch instructions: jumps, calls, returns, loops, taken or not. */
bool trap_is_branch(const uint8_t *code, bool long_mode);

bool trap_is_pushf(const uint8_t *code);

#endif
