/* SPDX-License-Identifier: MIT */
/*
 * Registers of the Intel core PMUs: Intel SDM vol 3 (325384-059) chapters 18 and
 * 35; 329h, 3E0h to 3E3h, 1328h, 1329h and those of version 6 at 1900h and 1980h:
 * Linux arch/x86/include/asm/msr-index.h.  Which of them a CPU has is decided by
 * detection.  Four tables: with global control (version 2 and later) the gate of a
 * counter is a bit of GLOBAL_CTRL; from version 6 on counters and selects have a
 * block of their own; before version 2 the gate is the enable bit of the counter's
 * select; on P6 and Core Duo one enable bit is for both counters.
 */
#include "backends/x86_core/x86_core_registers.h"
#include "core/util/bits.h"

#if UPMU_BACKEND_X86_CORE

#define ALL (~UINT64_C(0))

/*
 * Select bits that raw words may set at any level: event, unit mask, USR, OS, edge, any, inv, cmask, in_tx, in_txcp,
 * eq, further unit mask bits; also enable, which the encoder clears. From UPMU_LEVEL_PRIVILEGED on the interrupt bit is
 * added. Pin control (19) is never set.
 */
#define SELECT_SESSION (UINT64_C(0x3ffe7ffff) | UPMU_X86_SELECT_EQ | UPMU_X86_SELECT_UMASK2)
#define SELECT_PRIVILEGED UPMU_X86_SELECT_INT

/*
 * IA32_FIXED_CTR_CTRL: raw words may set OS, USR and ANY of each fixed counter at any level; from UPMU_LEVEL_PRIVILEGED
 * on also its interrupt bit.
 */
#define FIXED_SESSION UINT64_C(0x7777777)
#define FIXED_PRIVILEGED UINT64_C(0x8888888)
/* A fixed counter is in use if its nibble lets it count at some privilege. */
#define FIXED_USED UINT64_C(0x3333333)
#define FIXED_KERNEL UINT64_C(0x1111111)
#define FIXED_BEYOND UINT64_C(0x4444444)

#if UPMU_TITLES
static const char register_text[] =
    "SDM 18.2\0"
    "IA32_PMC0\0IA32_PMC1\0IA32_PMC2\0IA32_PMC3\0IA32_PMC4\0"
    "IA32_PMC5\0IA32_PMC6\0IA32_PMC7\0IA32_PMC8\0IA32_PMC9\0"
    "IA32_PERFEVTSEL0\0IA32_PERFEVTSEL1\0IA32_PERFEVTSEL2\0IA32_PERFEVTSEL3\0IA32_PERFEVTSEL4\0"
    "IA32_PERFEVTSEL5\0IA32_PERFEVTSEL6\0IA32_PERFEVTSEL7\0IA32_PERFEVTSEL8\0IA32_PERFEVTSEL9\0"
    "IA32_A_PMC0\0IA32_A_PMC1\0IA32_A_PMC2\0IA32_A_PMC3\0IA32_A_PMC4\0"
    "IA32_A_PMC5\0IA32_A_PMC6\0IA32_A_PMC7\0IA32_A_PMC8\0IA32_A_PMC9\0"
    "IA32_FIXED_CTR0\0IA32_FIXED_CTR1\0IA32_FIXED_CTR2\0IA32_FIXED_CTR3\0"
    "IA32_FIXED_CTR4\0IA32_FIXED_CTR5\0IA32_FIXED_CTR6\0"
    "IA32_FIXED_CTR_CTRL\0IA32_PERF_GLOBAL_CTRL\0IA32_PERF_GLOBAL_STATUS\0IA32_PERF_GLOBAL_OVF_CTRL\0"
    "IA32_PERF_GLOBAL_INUSE\0IA32_DEBUGCTL\0MSR_PERF_METRICS\0MSR_OFFCORE_RSP_0\0MSR_OFFCORE_RSP_1\0"
    "MSR_PEBS_LD_LAT_THRESHOLD\0MSR_PEBS_FRONTEND\0MSR_SNOOP_RSP_0\0MSR_SNOOP_RSP_1\0"
    "MSR_OMR_0\0MSR_OMR_1\0MSR_OMR_2\0MSR_OMR_3\0IA32_PEBS_ENABLE\0"
    "IA32_PMC_GP0_CFG_B\0IA32_PMC_GP1_CFG_B\0IA32_PMC_GP2_CFG_B\0IA32_PMC_GP3_CFG_B\0IA32_PMC_GP4_CFG_B\0"
    "IA32_PMC_GP5_CFG_B\0IA32_PMC_GP6_CFG_B\0IA32_PMC_GP7_CFG_B\0IA32_PMC_GP8_CFG_B\0IA32_PMC_GP9_CFG_B\0"
    "IA32_PMC_FX0_CFG_B\0IA32_PMC_FX1_CFG_B\0IA32_PMC_FX2_CFG_B\0IA32_PMC_FX3_CFG_B\0"
    "IA32_PMC_FX4_CFG_B\0IA32_PMC_FX5_CFG_B\0IA32_PMC_FX6_CFG_B\0"
    "IA32_PMC_GP0_CFG_C\0IA32_PMC_GP1_CFG_C\0IA32_PMC_GP2_CFG_C\0IA32_PMC_GP3_CFG_C\0IA32_PMC_GP4_CFG_C\0"
    "IA32_PMC_GP5_CFG_C\0IA32_PMC_GP6_CFG_C\0IA32_PMC_GP7_CFG_C\0IA32_PMC_GP8_CFG_C\0IA32_PMC_GP9_CFG_C\0"
    "IA32_PMC_FX0_CFG_C\0IA32_PMC_FX1_CFG_C\0IA32_PMC_FX2_CFG_C\0IA32_PMC_FX3_CFG_C\0"
    "IA32_PMC_FX4_CFG_C\0IA32_PMC_FX5_CFG_C\0IA32_PMC_FX6_CFG_C\0";

/* Offsets in register_text: of each name, or of the first one of numbered registers. */
enum {
    TEXT_SOURCE = 0,
    TEXT_PMC = 9,
    TEXT_SELECT = TEXT_PMC + 10 * 10,
    TEXT_FULL = TEXT_SELECT + 10 * 17,
    TEXT_FIXED = TEXT_FULL + 10 * 12,
    TEXT_FIXED_CTRL = TEXT_FIXED + 7 * 16,
    TEXT_GLOBAL_CTRL = TEXT_FIXED_CTRL + 20,
    TEXT_STATUS = TEXT_GLOBAL_CTRL + 22,
    TEXT_ACK = TEXT_STATUS + 24,
    TEXT_INUSE = TEXT_ACK + 26,
    TEXT_DEBUGCTL = TEXT_INUSE + 23,
    TEXT_METRICS = TEXT_DEBUGCTL + 14,
    TEXT_OFFCORE = TEXT_METRICS + 17,
    TEXT_LDLAT = TEXT_OFFCORE + 2 * 18,
    TEXT_FRONTEND = TEXT_LDLAT + 26,
    TEXT_SNOOP = TEXT_FRONTEND + 18,
    TEXT_OMR = TEXT_SNOOP + 2 * 16,
    TEXT_PEBS = TEXT_OMR + 4 * 10,
    TEXT_CFG_B = TEXT_PEBS + 17,
    TEXT_CFG_C = TEXT_CFG_B + 17 * 19,
    TEXT_END = TEXT_CFG_C + 17 * 19
};
_Static_assert(TEXT_END + 1 == sizeof register_text, "a name changed its length");
#define NAMED(offset) (offset)
#else
#define register_text ""
#define NAMED(offset) 0
#endif

#define COUNTER_CLASS(alias)                                                                                   \
    {                                                                                                          \
        .kind = UPMU_KIND_COUNTER, .access = UPMU_ACCESS_RW, .load_rank = 5, .release_rank = 5,                \
        .found = !(alias), .promised = 1, .owned = ALL, .hardware = ALL, .session = ALL, .privileged = ALL     \
    }

#define PAYLOAD_CLASS                                                                                          \
    {                                                                                                          \
        .kind = UPMU_KIND_PAYLOAD, .load_rank = 2, .release_rank = 3, .owned = ALL, .privileged = ALL          \
    }

/*
 * A select is in use if its counter or its interrupt is enabled. An event code alone may be left from earlier use;
 * Linux looks at the enable bits, Intel's sharing guide at code and interrupt bit. On P6 and Core Duo the enable bit of
 * select 0 is for both counters: there a select is in use if it counts at some privilege and this bit is set.
 */
#define SELECT_USED (UPMU_X86_SELECT_EN | UPMU_X86_SELECT_INT)
#define P6_USED (UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS)

#define SELECT_CLASS(select_gates, used, all, keep, idle)                                                              \
    {                                                                                                                  \
        .kind = UPMU_KIND_SELECT, .load_rank = 3, .release_rank = 2, .found = 1, .promised = 1, .owned = ALL,          \
        .gates = (select_gates), .interrupt = UPMU_X86_SELECT_INT, .in_use = (used), .enables_all = (all),             \
        .session = SELECT_SESSION, .privileged = SELECT_PRIVILEGED,                                                    \
        .kernel = UPMU_X86_SELECT_OS, .beyond = UPMU_X86_SELECT_ANY, .idle_keep = (keep), .idle_value = (idle)         \
    }

/*
 * Order in which registers are written when counters are loaded (load_rank, low first): DEBUGCTL 0, PEBS_ENABLE and
 * CFG_B, CFG_C 1, payload 2, select 3, fixed control 4, counter 5, PERF_METRICS and acknowledgement 6, GLOBAL_CTRL 7.
 */
static const struct upmu_register_class global_classes[UPMU_X86_CLASSES] = {
    [UPMU_X86_CLASS_PMC] = COUNTER_CLASS(0),
    [UPMU_X86_CLASS_SELECT] = SELECT_CLASS(0, SELECT_USED, 0, ~UPMU_X86_SELECT_EN, 0),
    [UPMU_X86_CLASS_FULL] = COUNTER_CLASS(1),
    [UPMU_X86_CLASS_FIXED] = COUNTER_CLASS(0),
    [UPMU_X86_CLASS_FIXED_CTRL] = {.kind = UPMU_KIND_CONTROL,
                                   .load_rank = 4,
                                   .release_rank = 2,
                                   .found = 1,
                                   .promised = 1,
                                   .by_counter = 1,
                                   .owned = ALL,
                                   .interrupt = FIXED_PRIVILEGED,
                                   .in_use = FIXED_USED,
                                   .session = FIXED_SESSION,
                                   .privileged = FIXED_PRIVILEGED,
                                   .kernel = FIXED_KERNEL,
                                   .beyond = FIXED_BEYOND},
    [UPMU_X86_CLASS_GLOBAL_CTRL] = {.kind = UPMU_KIND_CONTROL,
                                    .load_rank = 7,
                                    .release_rank = 0,
                                    .found = 1,
                                    .promised = 1,
                                    .owned = ALL,
                                    .gates = ALL},
    [UPMU_X86_CLASS_STATUS] = {.kind = UPMU_KIND_STATUS, .access = UPMU_ACCESS_RO, .promised = 1, .hardware = ALL},
    [UPMU_X86_CLASS_ACK] = {.kind = UPMU_KIND_ACK,
                            .access = UPMU_ACCESS_W1C,
                            .load_rank = 6,
                            .promised = 1,
                            .owned = UPMU_X86_STATUS_FROZEN,
                            .hardware = ALL},
    [UPMU_X86_CLASS_INUSE] = {.kind = UPMU_KIND_STATUS, .access = UPMU_ACCESS_RO, .promised = 1, .hardware = ALL},
    [UPMU_X86_CLASS_DEBUGCTL] = {.kind = UPMU_KIND_AUX,
                                 .load_rank = 0,
                                 .release_rank = 4,
                                 .found = 1,
                                 .promised = 1,
                                 .owned = UPMU_X86_DEBUGCTL_FREEZE | UPMU_X86_DEBUGCTL_TRACE,
                                 .in_use = UPMU_X86_DEBUGCTL_TRACE},
    [UPMU_X86_CLASS_METRICS] =
        {.kind = UPMU_KIND_COUNTER, .load_rank = 6, .release_rank = 6, .promised = 1, .owned = ALL, .hardware = ALL},
    [UPMU_X86_CLASS_OFFCORE0] = PAYLOAD_CLASS,
    [UPMU_X86_CLASS_OFFCORE1] = PAYLOAD_CLASS,
    [UPMU_X86_CLASS_LDLAT] = PAYLOAD_CLASS,
    [UPMU_X86_CLASS_FRONTEND] = PAYLOAD_CLASS,
    [UPMU_X86_CLASS_SNOOP] = PAYLOAD_CLASS,
    [UPMU_X86_CLASS_OMR] = PAYLOAD_CLASS,
    /*
     * Take-over clears bits of these registers (find_records()): SDM 18.4.4. Precise sampling sets bits of PEBS_ENABLE.
     */
    [UPMU_X86_CLASS_PEBS] = { .kind = UPMU_KIND_AUX, .load_rank = 1, .release_rank = 4, .found = 1, .promised = 1,
                              .by_counter = 1, .owned = ALL },
    [UPMU_X86_CLASS_CFG] = { .kind = UPMU_KIND_AUX, .load_rank = 1, .release_rank = 4, .found = 1, .promised = 1,
                             .owned = ALL },
};

/* Without global control (version 1, P6, Core Duo) a table has only the rows and classes of counters and selects. */
#define SINGLE_CLASSES (UPMU_X86_CLASS_SELECT + 1)
#define SINGLE_ROWS UPMU_X86_ROW_FULL

static const struct upmu_register_class single_classes[SINGLE_CLASSES] = {
    [UPMU_X86_CLASS_PMC] = COUNTER_CLASS(0),
    [UPMU_X86_CLASS_SELECT] = SELECT_CLASS(UPMU_X86_SELECT_EN, SELECT_USED, 0, ~UPMU_X86_SELECT_EN, 0),
};

/*
 * P6's idle select (UPMU_X86_P6_IDLE) has L2_RQSTS without unit mask and privileges, which counts nothing (Linux
 * arch/x86/events/intel/p6.c), and keeps the enable bit, which in select 0 is for both counters.
 */
static const struct upmu_register_class p6_classes[SINGLE_CLASSES] = {
    [UPMU_X86_CLASS_PMC] = COUNTER_CLASS(0),
    [UPMU_X86_CLASS_SELECT] = SELECT_CLASS(UINT64_C(1) << UPMU_X86_P6_GATE, P6_USED, UPMU_X86_SELECT_EN,
                                           UPMU_X86_SELECT_EN, UPMU_X86_P6_IDLE),
};

#define PMC(n) [UPMU_X86_ROW_PMC + (n)] = { PMC_ADDRESS(n), UPMU_X86_CLASS_PMC, (n), NAMED(TEXT_PMC + (n) * 10) }
#define SELECT(n) \
    [UPMU_X86_ROW_SELECT + (n)] = { SELECT_ADDRESS(n), UPMU_X86_CLASS_SELECT, (n), NAMED(TEXT_SELECT + (n) * 17) }
#define FULL(n) [UPMU_X86_ROW_FULL + (n)] = { 0x4C1 + (n), UPMU_X86_CLASS_FULL, (n), NAMED(TEXT_FULL + (n) * 12) }
#define FIXED(n)                                                                                               \
    [UPMU_X86_ROW_FIXED + (n)] = { FIXED_ADDRESS(n), UPMU_X86_CLASS_FIXED, UPMU_FIXED_COUNTER(n),              \
                                   NAMED(TEXT_FIXED + (n) * 16) }
#define SEVEN(row) row(0), row(1), row(2), row(3), row(4), row(5), row(6)
#define TEN(row) SEVEN(row), row(7), row(8), row(9)
#define OTHER(row, address, class, text) \
    [UPMU_X86_ROW_##row] = { address, UPMU_X86_CLASS_##class, UPMU_NO_COUNTER, NAMED(TEXT_##text) }
#define OTHER_ROWS                                                                                             \
    OTHER(FIXED_CTRL, 0x38D, FIXED_CTRL, FIXED_CTRL), OTHER(GLOBAL_CTRL, 0x38F, GLOBAL_CTRL, GLOBAL_CTRL),     \
        OTHER(STATUS, 0x38E, STATUS, STATUS), OTHER(ACK, 0x390, ACK, ACK), OTHER(INUSE, 0x392, INUSE, INUSE),  \
        OTHER(DEBUGCTL, 0x1D9, DEBUGCTL, DEBUGCTL), OTHER(METRICS, 0x329, METRICS, METRICS),                   \
        OTHER(OFFCORE, 0x1A6, OFFCORE0, OFFCORE), OTHER(OFFCORE + 1, 0x1A7, OFFCORE1, OFFCORE + 18),           \
        OTHER(LDLAT, 0x3F6, LDLAT, LDLAT), OTHER(FRONTEND, 0x3F7, FRONTEND, FRONTEND),                         \
        OTHER(SNOOP, 0x1328, SNOOP, SNOOP), OTHER(SNOOP + 1, 0x1329, SNOOP, SNOOP + 16),                       \
        OTHER(OMR, 0x3E0, OMR, OMR), OTHER(OMR + 1, 0x3E1, OMR, OMR + 10),                                     \
        OTHER(OMR + 2, 0x3E2, OMR, OMR + 20), OTHER(OMR + 3, 0x3E3, OMR, OMR + 30),                                    \
        OTHER(PEBS, 0x3F1, PEBS, PEBS)
#define CFG(b_or_c, msr, n, counter) \
    [UPMU_X86_ROW_CFG_##b_or_c + (n)] = { (msr), UPMU_X86_CLASS_CFG, counter, NAMED(TEXT_CFG_##b_or_c + (n) * 19) }
#define CFG_GENERAL(n) CFG(B, 0x1902 + 4 * (n), n, n), CFG(C, 0x1903 + 4 * (n), n, n)
#define CFG_FIXED(n)                                                        \
    CFG(B, 0x1982 + 4 * (n), UPMU_X86_GENERAL + (n), UPMU_FIXED_COUNTER(n)), \
        CFG(C, 0x1983 + 4 * (n), UPMU_X86_GENERAL + (n), UPMU_FIXED_COUNTER(n))

#define PMC_ADDRESS(n) (0xC1 + (n))
#define SELECT_ADDRESS(n) (0x186 + (n))
#define FIXED_ADDRESS(n) (0x309 + (n))
static const struct upmu_register register_rows[UPMU_X86_ROWS] = {
    TEN(PMC), TEN(SELECT), TEN(FULL), SEVEN(FIXED), OTHER_ROWS, TEN(CFG_GENERAL), SEVEN(CFG_FIXED)
};
#undef PMC_ADDRESS
#undef SELECT_ADDRESS
#undef FIXED_ADDRESS

/* Addresses of version 6: IA32_PMC_GPn_CTR, IA32_PMC_GPn_CFG_A (the select), IA32_PMC_FXn_CTR. */
#define PMC_ADDRESS(n) (0x1900 + 4 * (n))
#define SELECT_ADDRESS(n) (0x1901 + 4 * (n))
#define FIXED_ADDRESS(n) (0x1980 + 4 * (n))
static const struct upmu_register block_rows[UPMU_X86_ROWS] = {
    TEN(PMC), TEN(SELECT), TEN(FULL), SEVEN(FIXED), OTHER_ROWS, TEN(CFG_GENERAL), SEVEN(CFG_FIXED)
};
#undef PMC_ADDRESS
#undef SELECT_ADDRESS
#undef FIXED_ADDRESS

const struct upmu_register_table upmu_x86_core_global_table = {
    register_rows, global_classes, register_text, UPMU_X86_ROWS, UPMU_X86_CLASSES, 0
};

const struct upmu_register_table upmu_x86_core_block_table = {
    block_rows, global_classes, register_text, UPMU_X86_ROWS, UPMU_X86_CLASSES, 0
};

const struct upmu_register_table upmu_x86_core_single_table = {
    register_rows, single_classes, register_text, SINGLE_ROWS, SINGLE_CLASSES, 0
};

const struct upmu_register_table upmu_x86_core_p6_table = {
    register_rows, p6_classes, register_text, SINGLE_ROWS, SINGLE_CLASSES, 0
};

#endif
