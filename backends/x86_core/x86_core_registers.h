/* SPDX-License-Identifier: MIT */
/*
 * Rows, classes and bit layouts of the Intel core PMUs' registers.
 * Layouts: Intel SDM vol 3 (325384-059) 18.2.1 (selects), 18.2.2 (fixed counters,
 * global registers), 17.4.1 (DEBUGCTL).
 */
#ifndef UPMU_X86_CORE_REGISTERS_H
#define UPMU_X86_CORE_REGISTERS_H

#include <upmu/pmu.h>

enum {
    UPMU_X86_CLASS_PMC,
    UPMU_X86_CLASS_SELECT,
    UPMU_X86_CLASS_FULL,
    UPMU_X86_CLASS_FIXED,
    UPMU_X86_CLASS_FIXED_CTRL,
    UPMU_X86_CLASS_GLOBAL_CTRL,
    UPMU_X86_CLASS_STATUS,
    UPMU_X86_CLASS_ACK,
    UPMU_X86_CLASS_INUSE,
    UPMU_X86_CLASS_DEBUGCTL,
    UPMU_X86_CLASS_OFFCORE,
    UPMU_X86_CLASS_LDLAT,
    UPMU_X86_CLASS_FRONTEND,
    UPMU_X86_CLASSES
};

/* General counters 0…7, fixed counters 0…3. */
#define UPMU_X86_GENERAL 8u
#define UPMU_X86_FIXED 4u

enum {
    UPMU_X86_ROW_PMC = 0,
    UPMU_X86_ROW_SELECT = 8,
    UPMU_X86_ROW_FULL = 16,
    UPMU_X86_ROW_FIXED = 24,
    UPMU_X86_ROW_FIXED_CTRL = 28,
    UPMU_X86_ROW_GLOBAL_CTRL,
    UPMU_X86_ROW_STATUS,
    UPMU_X86_ROW_ACK,
    UPMU_X86_ROW_INUSE,
    UPMU_X86_ROW_DEBUGCTL,
    UPMU_X86_ROW_OFFCORE,
    UPMU_X86_ROW_LDLAT = UPMU_X86_ROW_OFFCORE + 2,
    UPMU_X86_ROW_FRONTEND,
    UPMU_X86_ROWS
};

/* IA32_PERFEVTSELn. */
#define UPMU_X86_SELECT_EVENT UINT64_C(0xff)
#define UPMU_X86_SELECT_UMASK UINT64_C(0xff00)
#define UPMU_X86_SELECT_USR (UINT64_C(1) << 16)
#define UPMU_X86_SELECT_OS (UINT64_C(1) << 17)
#define UPMU_X86_SELECT_EDGE (UINT64_C(1) << 18)
#define UPMU_X86_SELECT_INT (UINT64_C(1) << 20)
#define UPMU_X86_SELECT_ANY (UINT64_C(1) << 21)
#define UPMU_X86_SELECT_EN (UINT64_C(1) << 22)
#define UPMU_X86_SELECT_INV (UINT64_C(1) << 23)
#define UPMU_X86_SELECT_CMASK (UINT64_C(0xff) << 24)
#define UPMU_X86_SELECT_IN_TX (UINT64_C(1) << 32)
#define UPMU_X86_SELECT_IN_TXCP (UINT64_C(1) << 33)

/* Nibble of a fixed counter in IA32_FIXED_CTR_CTRL. */
#define UPMU_X86_FIXED_OS UINT64_C(1)
#define UPMU_X86_FIXED_USR UINT64_C(2)
#define UPMU_X86_FIXED_ANY UINT64_C(4)
#define UPMU_X86_FIXED_PMI UINT64_C(8)

/* IA32_DEBUGCTL: freeze branch records, counters on PMI. */
#define UPMU_X86_DEBUGCTL_FREEZE (UINT64_C(3) << 11)

/* With and without global control. */
extern const struct upmu_register_table upmu_x86_core_global_table;
extern const struct upmu_register_table upmu_x86_core_single_table;

#endif
