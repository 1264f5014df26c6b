/* SPDX-License-Identifier: MIT */
/*
 * Registers of AArch32's PMU, accessed by the numbers that the backend has for them, which are those of AArch64. Both
 * states name a register by CRn, CRm and op2; op1 is 0 on AArch32. MRC and MCR have these as immediate operands: a
 * switch selects the instruction.
 */
#ifndef UPMU_ARM32_CP15_H
#define UPMU_ARM32_CP15_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UPMU_A32_NUMBER(op1, crn, crm, op2) (3u << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))
#define UPMU_A32_MRC(out, crn, crm, op2)                                                                               \
    __asm__ volatile("mrc p15, 0, %0, c" #crn ", c" #crm ", " #op2 : "=r"(out) : : "memory")
#define UPMU_A32_MCR(value, crn, crm, op2)                                                                             \
    __asm__ volatile("mcr p15, 0, %0, c" #crn ", c" #crm ", " #op2 : : "r"(value) : "memory")

/*
 * Numbers of the registers that are read and written: PMCR, PMCNTENSET, PMCNTENCLR, PMOVSR, PMCCNTR, PMINTENSET,
 * PMINTENCLR.
 */
#define UPMU_A32_READ_WRITE(R)                                                                                         \
    R(3, 9, 12, 0) R(3, 9, 12, 1) R(3, 9, 12, 2) R(3, 9, 12, 3) R(3, 9, 13, 0) R(0, 9, 14, 1) R(0, 9, 14, 2)
/* Numbers of the registers that are only read: MIDR, ID_DFR0, PMCEID0, PMCEID1. */
#define UPMU_A32_READ_ONLY(R) R(0, 0, 0, 0) R(0, 0, 1, 2) R(3, 9, 12, 6) R(3, 9, 12, 7)

/*
 * First numbers of two ranges of 32, whose registers are reached through PMSELR: PMEVCNTR0 to 30, and a number without
 * a register; PMEVTYPER0 to 30, and after them PMCCFILTR.
 */
#define UPMU_A32_COUNTERS UPMU_A32_NUMBER(3, 14, 8, 0)
#define UPMU_A32_TYPERS UPMU_A32_NUMBER(3, 14, 12, 0)
#define UPMU_A32_LEVEL UPMU_A32_NUMBER(0, 4, 2, 2) /* AArch64's CurrentEL; on AArch32 its value is made of the CPSR */

#define UPMU_A32_MODE 0x1fu /* bits of the CPSR that tell the processor's mode */
#define UPMU_A32_MODE_HYP 0x1au

static inline uint32_t upmu_a32_mode(void)
{
    uint32_t state;

    __asm__ volatile("mrs %0, cpsr" : "=r"(state));
    return state & UPMU_A32_MODE;
}

/*
 * Select the counter that PMXEVCNTR and PMXEVTYPER access: write its number to PMSELR, if it is not there. Returns the
 * number that was selected before.
 */
static inline uint32_t upmu_a32_select(uint32_t which)
{
    uint32_t before;

    UPMU_A32_MRC(before, 9, 12, 5);
    if (before != which)
        __asm__ volatile("mcr p15, 0, %0, c9, c12, 5\n\tisb" : : "r"(which) : "memory");
    return before;
}

/* Has the number a register that is reached through PMSELR?  No event counter is selected by 31. */
static inline bool upmu_a32_is_indirect(uint32_t number)
{
    return number - UPMU_A32_COUNTERS < 31u || number - UPMU_A32_TYPERS < 32u;
}

/*
 * Access a counter or event type through PMSELR, the only way that PMUv2 has: write *value, or with `value` NULL read
 * into *out. PMSELR is restored: so upmu's handler may interrupt upmu or other software between a selection and its
 * use. False: the number is no such register.
 */
static inline bool upmu_a32_indirect(uint32_t number, const uint32_t *value, uint64_t *out)
{
    uint32_t which = number & 31u, first = number & ~31u, before, read = 0;

    if (!upmu_a32_is_indirect(number))
        return false;
    before = upmu_a32_select(which);
    if (first == UPMU_A32_TYPERS && value)
        UPMU_A32_MCR(*value, 9, 13, 1);
    else if (first == UPMU_A32_TYPERS)
        UPMU_A32_MRC(read, 9, 13, 1);
    else if (value)
        UPMU_A32_MCR(*value, 9, 13, 2);
    else
        UPMU_A32_MRC(read, 9, 13, 2);
    (void)upmu_a32_select(before);
    if (out)
        *out = read;
    return true;
}

/* Read a register by its number; false: this file knows no register with that number. */
static inline bool upmu_a32_read(uint32_t number, uint64_t *out)
{
    uint32_t value;

    switch (number) {
#define UPMU_A32_READ(op1, crn, crm, op2)                                                                              \
    case UPMU_A32_NUMBER(op1, crn, crm, op2):                                                                          \
        UPMU_A32_MRC(value, crn, crm, op2);                                                                            \
        break;
        UPMU_A32_READ_WRITE(UPMU_A32_READ)
        UPMU_A32_READ_ONLY(UPMU_A32_READ)
#undef UPMU_A32_READ
    case UPMU_A32_LEVEL:
        value = (upmu_a32_mode() == UPMU_A32_MODE_HYP ? 2u : 1u) << 2;
        break;
    default:
        return upmu_a32_indirect(number, NULL, out);
    }
    *out = value;
    return true;
}

static inline bool upmu_a32_write(uint32_t number, uint32_t value)
{
    switch (number) {
#define UPMU_A32_WRITE(op1, crn, crm, op2)                                                                             \
    case UPMU_A32_NUMBER(op1, crn, crm, op2):                                                                          \
        UPMU_A32_MCR(value, crn, crm, op2);                                                                            \
        return true;
        UPMU_A32_READ_WRITE(UPMU_A32_WRITE)
#undef UPMU_A32_WRITE
    default:
        return upmu_a32_indirect(number, &value, NULL);
    }
}

#endif
