/* SPDX-License-Identifier: MIT */
/*
 * System registers by number. MRS and MSR name a register by an immediate operand, so each register has its own
 * instruction: a switch selects it. A number is bits 20:5 of the instruction.
 */
#ifndef UPMU_ARM64_SYSREG_H
#define UPMU_ARM64_SYSREG_H

#include <stdbool.h>
#include <stdint.h>

#define UPMU_A64_NUMBER(op0, op1, crn, crm, op2) ((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
#define UPMU_A64_8(R, op1, crn, crm)                                                                                   \
    R(op1, crn, crm, 0) R(op1, crn, crm, 1) R(op1, crn, crm, 2) R(op1, crn, crm, 3)                                    \
    R(op1, crn, crm, 4) R(op1, crn, crm, 5) R(op1, crn, crm, 6) R(op1, crn, crm, 7)
#define UPMU_A64_7(R, op1, crn, crm)                                                                                   \
    R(op1, crn, crm, 0) R(op1, crn, crm, 1) R(op1, crn, crm, 2) R(op1, crn, crm, 3)                                    \
    R(op1, crn, crm, 4) R(op1, crn, crm, 5) R(op1, crn, crm, 6)
/* PMEVCNTR0 to 30; PMEVTYPER0 to 30, and PMCCFILTR behind them. */
#define UPMU_A64_EVENTS(R)                                                                                             \
    UPMU_A64_8(R, 3, 14, 8) UPMU_A64_8(R, 3, 14, 9) UPMU_A64_8(R, 3, 14, 10) UPMU_A64_7(R, 3, 14, 11)                  \
    UPMU_A64_8(R, 3, 14, 12) UPMU_A64_8(R, 3, 14, 13) UPMU_A64_8(R, 3, 14, 14) UPMU_A64_8(R, 3, 14, 15)
/* PMCR, PMCNTENSET, PMCNTENCLR, PMOVSCLR, PMCCNTR, PMINTENSET, PMINTENCLR. */
#define UPMU_A64_READ_WRITE(R)                                                                                         \
    R(3, 9, 12, 0) R(3, 9, 12, 1) R(3, 9, 12, 2) R(3, 9, 12, 3) R(3, 9, 13, 0) R(0, 9, 14, 1) R(0, 9, 14, 2)           \
    UPMU_A64_EVENTS(R)
/* MIDR_EL1, ID_AA64DFR0_EL1, CurrentEL, PMCEID0, PMCEID1. */
#define UPMU_A64_READ_ONLY(R) R(0, 0, 0, 0) R(0, 0, 5, 0) R(0, 4, 2, 2) R(3, 9, 12, 6) R(3, 9, 12, 7)

/* Read a register by its number; false: this file knows no register with that number. */
static inline bool upmu_a64_mrs(uint32_t number, uint64_t *out)
{
    switch (number) {
#define UPMU_A64_READ(op1, crn, crm, op2)                                                                              \
    case UPMU_A64_NUMBER(3, op1, crn, crm, op2):                                                                       \
        __asm__ volatile("mrs %0, S3_" #op1 "_C" #crn "_C" #crm "_" #op2 : "=r"(*out) : : "memory");                   \
        return true;
        UPMU_A64_READ_WRITE(UPMU_A64_READ)
        UPMU_A64_READ_ONLY(UPMU_A64_READ)
#undef UPMU_A64_READ
    default:
        return false;
    }
}

static inline bool upmu_a64_msr(uint32_t number, uint64_t value)
{
    switch (number) {
#define UPMU_A64_WRITE(op1, crn, crm, op2)                                                                             \
    case UPMU_A64_NUMBER(3, op1, crn, crm, op2):                                                                       \
        __asm__ volatile("msr S3_" #op1 "_C" #crn "_C" #crm "_" #op2 ", %0" : : "r"(value) : "memory");                \
        return true;
        UPMU_A64_READ_WRITE(UPMU_A64_WRITE)
#undef UPMU_A64_WRITE
    default:
        return false;
    }
}

#endif
