/* SPDX-License-Identifier: MIT */
/*
 * Rows, classes and numbers of Arm's PMUv3 registers, and PMUv2's.
 *
 * Sources: Arm ARM (DDI 0487 M.c) D13 "The Performance Monitors Extension", D24.5 (registers; D19.5 in issues J and
 * K) and G8.4 (those of AArch32); Cortex-A15 TRM (DDI 0438), 11 (PMUv2).
 *
 * The number of a system register is bits 20:5 of the MRS or MSR that names it:
 * op0 << 14 | op1 << 11 | CRn << 7 | CRm << 3 | op2.  Ports of AArch32 take the same numbers.
 */
#ifndef UPMU_ARM_REGISTERS_H
#define UPMU_ARM_REGISTERS_H

#include <upmu/pmu.h>

#define UPMU_ARM_SYSREG(op0, op1, crn, crm, op2)                                                                       \
    ((uint32_t)(op0) << 14 | (uint32_t)(op1) << 11 | (uint32_t)(crn) << 7 | (uint32_t)(crm) << 3 | (uint32_t)(op2))

#define UPMU_ARM_MIDR UPMU_ARM_SYSREG(3, 0, 0, 0, 0)
#define UPMU_ARM_DFR0 UPMU_ARM_SYSREG(3, 0, 0, 5, 0)
#define UPMU_ARM_DFR0_AARCH32 UPMU_ARM_SYSREG(3, 0, 0, 1, 2) /* ID_DFR0 */
#define UPMU_ARM_CURRENT_EL UPMU_ARM_SYSREG(3, 0, 4, 2, 2)
#define UPMU_ARM_PMCR UPMU_ARM_SYSREG(3, 3, 9, 12, 0)
#define UPMU_ARM_CNTENSET UPMU_ARM_SYSREG(3, 3, 9, 12, 1) /* PMCNTENCLR is the next */
#define UPMU_ARM_OVSCLR UPMU_ARM_SYSREG(3, 3, 9, 12, 3)
#define UPMU_ARM_CEID0 UPMU_ARM_SYSREG(3, 3, 9, 12, 6)
#define UPMU_ARM_CEID1 UPMU_ARM_SYSREG(3, 3, 9, 12, 7)
#define UPMU_ARM_CCNTR UPMU_ARM_SYSREG(3, 3, 9, 13, 0)
#define UPMU_ARM_INTENSET UPMU_ARM_SYSREG(3, 0, 9, 14, 1) /* PMINTENCLR is the next */
#define UPMU_ARM_EVCNTR(n) UPMU_ARM_SYSREG(3, 3, 14, 8 + (n) / 8, (n) % 8)
#define UPMU_ARM_EVTYPER(n) UPMU_ARM_SYSREG(3, 3, 14, 12 + (n) / 8, (n) % 8)
#define UPMU_ARM_CCFILTR UPMU_ARM_SYSREG(3, 3, 14, 15, 7)

/*
 * Counters of the library: event counters are 0 to 30, the cycle counter is 31. Their bits in PMCNTEN, PMINTEN and
 * PMOVS have the same numbers.
 */
#define UPMU_ARM_EVENT_COUNTERS 31u
#define UPMU_ARM_CYCLE 31u

enum {
    UPMU_ARM_ROW_CNTR = 0,
    UPMU_ARM_ROW_CCNTR = UPMU_ARM_ROW_CNTR + UPMU_ARM_CYCLE,
    UPMU_ARM_ROW_TYPER,
    UPMU_ARM_ROW_CCFILTR = UPMU_ARM_ROW_TYPER + UPMU_ARM_CYCLE,
    UPMU_ARM_ROW_CNTEN,
    UPMU_ARM_ROW_INTEN,
    UPMU_ARM_ROW_STATUS,
    UPMU_ARM_ROW_ACK,
    UPMU_ARM_ROW_PMCR,
    UPMU_ARM_ROWS
};

enum {
    UPMU_ARM_CLASS_CNTR,
    UPMU_ARM_CLASS_CCNTR,
    UPMU_ARM_CLASS_TYPER,
    UPMU_ARM_CLASS_CCFILTR,
    UPMU_ARM_CLASS_CNTEN,
    UPMU_ARM_CLASS_INTEN,
    UPMU_ARM_CLASS_STATUS,
    UPMU_ARM_CLASS_ACK,
    UPMU_ARM_CLASS_PMCR,
    UPMU_ARM_CLASSES,
    /* Further indices of upmu_pmu.limit, of no class. Bit n of the first is set if common event n exists (n < 64). */
    UPMU_ARM_COMMON = UPMU_ARM_CLASSES,
    UPMU_ARM_COMMON_LATER /* bit n is set if event 4000h + n exists; on AArch32 detection sets all bits */
};

/* PMEVTYPERn, PMCCFILTR. */
#define UPMU_ARM_TYPER_EVENT UINT64_C(0xffff)
#define UPMU_ARM_TYPER_EVENT_V3 UINT64_C(0x3ff) /* the event number before PMUv3p1, which added bits 15:10 */
#define UPMU_ARM_TYPER_EVENT_V2 UINT64_C(0xff)
#define UPMU_ARM_TYPER_NSH (UINT64_C(1) << 27) /* count at EL2 */
#define UPMU_ARM_TYPER_U (UINT64_C(1) << 30)   /* do not count at EL0 */
#define UPMU_ARM_TYPER_P (UINT64_C(1) << 31)   /* do not count at EL1 */
#define UPMU_ARM_TYPER_WHO (UPMU_ARM_TYPER_P | UPMU_ARM_TYPER_U | UPMU_ARM_TYPER_NSH)

/* PMCR. */
#define UPMU_ARM_PMCR_E (UINT64_C(1) << 0)  /* counters run */
#define UPMU_ARM_PMCR_D (UINT64_C(1) << 3)  /* the cycle counter counts only each 64th cycle */
#define UPMU_ARM_PMCR_DP (UINT64_C(1) << 5) /* the cycle counter stops where counting of events is prohibited */
#define UPMU_ARM_PMCR_LC (UINT64_C(1) << 6) /* the cycle counter overflows at 64 bits */
#define UPMU_ARM_PMCR_LP (UINT64_C(1) << 7) /* event counters overflow at 64 bits */
#define UPMU_ARM_PMCR_OWNED                                                                                            \
    (UPMU_ARM_PMCR_E | UPMU_ARM_PMCR_D | UPMU_ARM_PMCR_DP | UPMU_ARM_PMCR_LC | UPMU_ARM_PMCR_LP)

extern const struct upmu_register_table upmu_arm_table;

#endif
