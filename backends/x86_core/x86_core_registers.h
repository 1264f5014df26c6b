/* SPDX-License-Identifier: MIT */
/*
 * Rows, classes and bit layouts of the Intel core PMUs' registers.
 * Layouts: Intel SDM vol 3 (325384-059) 18.2.1 (selects), 18.2.2 (fixed counters,
 * global registers), 17.4.1 (DEBUGCTL); select bits 36 and 40 to 47, general counters
 * 8 and 9, fixed counters 4 to 6 and the register block of version 6: Linux
 * arch/x86/include/asm/perf_event.h and msr-index.h.
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
    UPMU_X86_CLASS_METRICS,
    UPMU_X86_CLASS_OFFCORE0,
    UPMU_X86_CLASS_OFFCORE1,
    UPMU_X86_CLASS_LDLAT,
    UPMU_X86_CLASS_FRONTEND,
    UPMU_X86_CLASS_SNOOP,
    UPMU_X86_CLASS_OMR,
    UPMU_X86_CLASS_PEBS,
    UPMU_X86_CLASS_CFG,
    UPMU_X86_CLASSES
};

/*
 * How many of each kind there can be: general counters, fixed counters, bytes of PERF_METRICS.  UPMU_X86_METRIC: the
 * counter number of a byte.
 */
#define UPMU_X86_GENERAL 10u
#define UPMU_X86_FIXED 7u
#define UPMU_X86_METRICS 8u
#define UPMU_X86_METRIC(byte) (24u + (byte))

/* The fixed counter that counts slots of the pipeline. Metrics (PERF_METRICS) are fractions of its count. */
#define UPMU_X86_SLOTS UPMU_FIXED_COUNTER(3)

enum {
    UPMU_X86_ROW_PMC = 0,
    UPMU_X86_ROW_SELECT = UPMU_X86_ROW_PMC + UPMU_X86_GENERAL,
    UPMU_X86_ROW_FULL = UPMU_X86_ROW_SELECT + UPMU_X86_GENERAL,
    UPMU_X86_ROW_FIXED = UPMU_X86_ROW_FULL + UPMU_X86_GENERAL,
    UPMU_X86_ROW_FIXED_CTRL = UPMU_X86_ROW_FIXED + UPMU_X86_FIXED,
    UPMU_X86_ROW_GLOBAL_CTRL,
    UPMU_X86_ROW_STATUS,
    UPMU_X86_ROW_ACK,
    UPMU_X86_ROW_INUSE,
    UPMU_X86_ROW_DEBUGCTL,
    UPMU_X86_ROW_METRICS,
    UPMU_X86_ROW_OFFCORE, /* payload registers, in the order of UPMU_X86_RESOURCE_… */
    UPMU_X86_ROW_LDLAT = UPMU_X86_ROW_OFFCORE + 2,
    UPMU_X86_ROW_FRONTEND,
    UPMU_X86_ROW_SNOOP,
    UPMU_X86_ROW_OMR = UPMU_X86_ROW_SNOOP + 2,
    UPMU_X86_ROW_PEBS = UPMU_X86_ROW_OMR + 4,
    UPMU_X86_ROW_CFG_B, /* rows of 10 general, then 7 fixed counters: which counters reload this one */
    /* the same order; bit 63: the counter writes records */
    UPMU_X86_ROW_CFG_C = UPMU_X86_ROW_CFG_B + UPMU_X86_GENERAL + UPMU_X86_FIXED,
    UPMU_X86_ROWS = UPMU_X86_ROW_CFG_C + UPMU_X86_GENERAL + UPMU_X86_FIXED
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
#define UPMU_X86_SELECT_ADAPTIVE (UINT64_C(1) << 34)
#define UPMU_X86_SELECT_EQ (UINT64_C(1) << 36)
#define UPMU_X86_SELECT_UMASK2 (UINT64_C(0xff) << 40)

/* Bits of a fixed counter's nibble in IA32_FIXED_CTR_CTRL. */
#define UPMU_X86_FIXED_OS UINT64_C(1)
#define UPMU_X86_FIXED_USR UINT64_C(2)
#define UPMU_X86_FIXED_ANY UINT64_C(4)
#define UPMU_X86_FIXED_PMI UINT64_C(8)

/* Bits 11 and 12 of IA32_DEBUGCTL: an interrupt freezes the branch records, and the counters. */
#define UPMU_X86_DEBUGCTL_FREEZE (UINT64_C(3) << 11)
/*
 * Bits 6 to 8 of IA32_DEBUGCTL: TR makes a message of each branch; BTS stores the messages in the area of IA32_DS_AREA;
 * BTINT requests an interrupt when the area is full.
 */
#define UPMU_X86_DEBUGCTL_TRACE (UINT64_C(7) << 6)

/* Bits 58 and 59 of GLOBAL_STATUS: branch records, and counters, are frozen. Their acknowledgement releases them. */
#define UPMU_X86_STATUS_FROZEN (UINT64_C(3) << 58)

/*
 * P6, Core Duo: the enable bit of select 0 lets both counters count. upmu leaves it set while it uses the PMU. The gate
 * of a counter is a bit of its select's shadow that the register does not have: while it is closed, the register has
 * the idle select, which counts nothing.
 */
#define UPMU_X86_P6_GATE 32u
#define UPMU_X86_P6_IDLE (UPMU_X86_SELECT_EN | 0x2E)

/*
 * Tables of registers, by version of the PMU: 2 to 5 (global control); 6 on (global control, other addresses); 1 (no
 * global control). The fourth table is that of P6 and Core Duo together.
 */
extern const struct upmu_register_table upmu_x86_core_global_table;
extern const struct upmu_register_table upmu_x86_core_block_table;
extern const struct upmu_register_table upmu_x86_core_single_table;
extern const struct upmu_register_table upmu_x86_core_p6_table;

/*
 * Return the bits of counters in GLOBAL_STATUS, its acknowledgement and GLOBAL_CTRL: general counters from bit 0, fixed
 * ones from bit 32, all metrics bit 48.
 */
static inline uint64_t upmu_x86_core_bits(uint32_t counters)
{
    return (counters & 0xffffu) | (uint64_t)(counters >> 16 & 0xffu) << 32 |
           (uint64_t)(counters >> UPMU_X86_METRIC(0) != 0) << 48;
}

#endif
