/* SPDX-License-Identifier: MIT */
/*
 * Rows, classes and bit layouts of AMD's PMU registers.
 *
 * Sources: AMD APM vol 2 (24593) chapter 13; Linux arch/x86/include/asm/msr-index.h and
 * perf_event.h; Xen vpmu_amd.c (aliases).
 */
#ifndef UPMU_AMD_REGISTERS_H
#define UPMU_AMD_REGISTERS_H

#include <upmu/pmu.h>

enum {
    UPMU_AMD_CLASS_CTR,
    UPMU_AMD_CLASS_SELECT,
    UPMU_AMD_CLASS_IBS_CTL,
    UPMU_AMD_CLASS_IBS_DATA,
    UPMU_AMD_CLASS_GLOBAL_CTL,
    UPMU_AMD_CLASS_STATUS,
    UPMU_AMD_CLASS_ACK,
    UPMU_AMD_CLASS_DEBUGCTL,
    UPMU_AMD_CLASSES
};

/*
 * Numbers of core counters: the most that CPUID can announce; those with legacy registers; those that PERFCTR_CORE
 * stands for, which are also those that RDPMC can read.
 */
#define UPMU_AMD_COUNTERS 15u
#define UPMU_AMD_LEGACY 4u
#define UPMU_AMD_EXTENDED 6u

/* How many registers a sample of the fetch unit and one of the op unit consist of, the unit's control included. */
#define UPMU_AMD_FETCH_ROWS 4u
#define UPMU_AMD_OP_ROWS 9u

enum {
    UPMU_AMD_ROW_CTR = 0,
    UPMU_AMD_ROW_SELECT = UPMU_AMD_ROW_CTR + UPMU_AMD_COUNTERS,
    UPMU_AMD_ROW_FETCH = UPMU_AMD_ROW_SELECT + UPMU_AMD_COUNTERS, /* IbsFetchCtl, then data in the order of a sample */
    UPMU_AMD_ROW_OP = UPMU_AMD_ROW_FETCH + UPMU_AMD_FETCH_ROWS,
    UPMU_AMD_ROW_FETCH2 = UPMU_AMD_ROW_OP + UPMU_AMD_OP_ROWS,
    UPMU_AMD_ROW_OP2,
    UPMU_AMD_ROW_GLOBAL_CTL,
    UPMU_AMD_ROW_STATUS,
    UPMU_AMD_ROW_ACK,
    UPMU_AMD_ROW_DEBUGCTL,
    UPMU_AMD_ROWS
};

/* PERF_CTLn. */
#define UPMU_AMD_SELECT_EVENT UINT64_C(0xf000000ff)
#define UPMU_AMD_SELECT_UMASK (UINT64_C(0xff) << 8)
#define UPMU_AMD_SELECT_USR (UINT64_C(1) << 16)
#define UPMU_AMD_SELECT_OS (UINT64_C(1) << 17)
#define UPMU_AMD_SELECT_EDGE (UINT64_C(1) << 18)
#define UPMU_AMD_SELECT_PC (UINT64_C(1) << 19) /* K7, K8: pin control */
#define UPMU_AMD_SELECT_INT (UINT64_C(1) << 20)
#define UPMU_AMD_SELECT_EN_BIT 22u
#define UPMU_AMD_SELECT_EN (UINT64_C(1) << UPMU_AMD_SELECT_EN_BIT)
#define UPMU_AMD_SELECT_INV (UINT64_C(1) << 23)
#define UPMU_AMD_SELECT_CMASK (UINT64_C(0xff) << 24)
#define UPMU_AMD_SELECT_GUEST (UINT64_C(1) << 40)
#define UPMU_AMD_SELECT_HOST (UINT64_C(1) << 41)
#define UPMU_AMD_SELECT_PRECISE (UINT64_C(1) << 43) /* PERF_CTL2 only: precise retire */

/* DebugCtl and the status: bits that freeze branch records and counters, or say that they are frozen. */
#define UPMU_AMD_DEBUGCTL_FREEZE (UINT64_C(3) << 11)
#define UPMU_AMD_STATUS_FROZEN (UINT64_C(3) << 58)

/* Tables of registers: of CPUs without PERFCTR_CORE (K7 to family 14h, 16h); with it; with PerfMonV2. */
extern const struct upmu_register_table upmu_amd_legacy_table;
extern const struct upmu_register_table upmu_amd_extended_table;
extern const struct upmu_register_table upmu_amd_global_table;

#endif
