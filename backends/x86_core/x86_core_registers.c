/* SPDX-License-Identifier: MIT */
/*
 * Registers of the Intel core PMUs: Intel SDM vol 3 (325384-059) chapters 18 and
 * 35; which of them a CPU has is decided by detection.  Two tables: with global
 * control (version 2 and later) the gate of a counter is a bit of GLOBAL_CTRL,
 * before it is the enable bit of its own select register.
 */
#include "backends/x86_core/x86_core_registers.h"
#include "core/bits.h"

#if UPMU_BACKEND_X86_CORE

#define ALL (~UINT64_C(0))

/* Select bits that any session may set: event, unit mask, USR, OS, edge, any, inv,
   cmask, in_tx, in_txcp.  Privileged: the interrupt.  Pin control (19) never. */
#define SELECT_SESSION UINT64_C(0x3ffe7ffff)
#define SELECT_PRIVILEGED UPMU_X86_SELECT_INT

/* Fixed control: OS, USR and ANY of each counter; privileged: its interrupt. */
#define FIXED_SESSION UINT64_C(0x77777777)
#define FIXED_PRIVILEGED UINT64_C(0x88888888)

static const char register_text[] =
    "SDM 18.2\0"
    "IA32_PMC0\0IA32_PMC1\0IA32_PMC2\0IA32_PMC3\0IA32_PMC4\0IA32_PMC5\0IA32_PMC6\0IA32_PMC7\0"
    "IA32_PERFEVTSEL0\0IA32_PERFEVTSEL1\0IA32_PERFEVTSEL2\0IA32_PERFEVTSEL3\0"
    "IA32_PERFEVTSEL4\0IA32_PERFEVTSEL5\0IA32_PERFEVTSEL6\0IA32_PERFEVTSEL7\0"
    "IA32_A_PMC0\0IA32_A_PMC1\0IA32_A_PMC2\0IA32_A_PMC3\0IA32_A_PMC4\0IA32_A_PMC5\0IA32_A_PMC6\0IA32_A_PMC7\0"
    "IA32_FIXED_CTR0\0IA32_FIXED_CTR1\0IA32_FIXED_CTR2\0IA32_FIXED_CTR3\0"
    "IA32_FIXED_CTR_CTRL\0IA32_PERF_GLOBAL_CTRL\0IA32_PERF_GLOBAL_STATUS\0IA32_PERF_GLOBAL_OVF_CTRL\0"
    "IA32_PERF_GLOBAL_INUSE\0IA32_DEBUGCTL\0MSR_OFFCORE_RSP_0\0MSR_OFFCORE_RSP_1\0MSR_PEBS_LD_LAT_THRESHOLD\0"
    "MSR_PEBS_FRONTEND\0";

/* Offsets into register_text. */
enum {
    TEXT_SOURCE = 0,
    TEXT_PMC = 9,
    TEXT_SELECT = TEXT_PMC + 8 * 10,
    TEXT_FULL = TEXT_SELECT + 8 * 17,
    TEXT_FIXED = TEXT_FULL + 8 * 12,
    TEXT_FIXED_CTRL = TEXT_FIXED + 4 * 16,
    TEXT_GLOBAL_CTRL = TEXT_FIXED_CTRL + 20,
    TEXT_STATUS = TEXT_GLOBAL_CTRL + 22,
    TEXT_ACK = TEXT_STATUS + 24,
    TEXT_INUSE = TEXT_ACK + 26,
    TEXT_DEBUGCTL = TEXT_INUSE + 23,
    TEXT_OFFCORE0 = TEXT_DEBUGCTL + 14,
    TEXT_OFFCORE1 = TEXT_OFFCORE0 + 18,
    TEXT_LDLAT = TEXT_OFFCORE1 + 18,
    TEXT_FRONTEND = TEXT_LDLAT + 26,
    TEXT_END = TEXT_FRONTEND + 18
};
_Static_assert(TEXT_END + 1 == sizeof register_text, "a name changed its length");

#define COUNTER_CLASS(alias)                                                                                   \
    {                                                                                                          \
        .kind = UPMU_KIND_COUNTER, .access = UPMU_ACCESS_RW, .load_rank = 5, .release_rank = 5,                \
        .found = !(alias), .promised = 1, .owned = ALL, .hardware = ALL, .session = ALL, .privileged = ALL     \
    }

/* load_rank: auxiliary 0, payload 2, select 3, fixed control 4, counter 5, global 7. */
#define CLASSES(select_gates)                                                                                  \
    {                                                                                                          \
        [UPMU_X86_CLASS_PMC] = COUNTER_CLASS(0),                                                               \
        [UPMU_X86_CLASS_SELECT] = { .kind = UPMU_KIND_SELECT, .load_rank = 3, .release_rank = 2, .found = 1,   \
                                    .promised = 1, .owned = ALL, .gates = (select_gates),                      \
                                    .session = SELECT_SESSION, .privileged = SELECT_PRIVILEGED,                \
                                    .idle_keep = ~UPMU_X86_SELECT_EN },                                        \
        [UPMU_X86_CLASS_FULL] = COUNTER_CLASS(1),                                                              \
        [UPMU_X86_CLASS_FIXED] = COUNTER_CLASS(0),                                                             \
        [UPMU_X86_CLASS_FIXED_CTRL] = { .kind = UPMU_KIND_CONTROL, .load_rank = 4, .release_rank = 2,          \
                                        .found = 1, .promised = 1, .owned = ALL, .session = FIXED_SESSION,     \
                                        .privileged = FIXED_PRIVILEGED },                                      \
        [UPMU_X86_CLASS_GLOBAL_CTRL] = { .kind = UPMU_KIND_CONTROL, .load_rank = 7, .release_rank = 0,         \
                                         .found = 1, .promised = 1, .owned = ALL, .gates = ALL },              \
        [UPMU_X86_CLASS_STATUS] = { .kind = UPMU_KIND_STATUS, .access = UPMU_ACCESS_RO, .promised = 1,         \
                                    .hardware = ALL },                                                         \
        [UPMU_X86_CLASS_ACK] = { .kind = UPMU_KIND_ACK, .access = UPMU_ACCESS_W1C, .load_rank = 6,             \
                                 .promised = 1, .hardware = ALL },                                             \
        [UPMU_X86_CLASS_INUSE] = { .kind = UPMU_KIND_STATUS, .access = UPMU_ACCESS_RO, .promised = 1,          \
                                   .hardware = ALL },                                                          \
        [UPMU_X86_CLASS_DEBUGCTL] = { .kind = UPMU_KIND_AUX, .load_rank = 0, .release_rank = 4, .found = 1,    \
                                      .promised = 1, .owned = UPMU_X86_DEBUGCTL_FREEZE },                      \
        [UPMU_X86_CLASS_OFFCORE] = { .kind = UPMU_KIND_PAYLOAD, .load_rank = 2, .release_rank = 3,             \
                                     .owned = ALL, .privileged = ALL },                                        \
        [UPMU_X86_CLASS_LDLAT] = { .kind = UPMU_KIND_PAYLOAD, .load_rank = 2, .release_rank = 3,               \
                                   .owned = ALL, .privileged = ALL },                                          \
        [UPMU_X86_CLASS_FRONTEND] = { .kind = UPMU_KIND_PAYLOAD, .load_rank = 2, .release_rank = 3,            \
                                      .owned = ALL, .privileged = ALL },                                       \
    }

static const struct upmu_register_class global_classes[UPMU_X86_CLASSES] = CLASSES(0);
static const struct upmu_register_class single_classes[UPMU_X86_CLASSES] = CLASSES(UPMU_X86_SELECT_EN);

#define PMC(n) [UPMU_X86_ROW_PMC + (n)] = { 0xC1 + (n), UPMU_X86_CLASS_PMC, (n), TEXT_PMC + (n) * 10 }
#define SELECT(n) [UPMU_X86_ROW_SELECT + (n)] = { 0x186 + (n), UPMU_X86_CLASS_SELECT, (n), TEXT_SELECT + (n) * 17 }
#define FULL(n) [UPMU_X86_ROW_FULL + (n)] = { 0x4C1 + (n), UPMU_X86_CLASS_FULL, (n), TEXT_FULL + (n) * 12 }
#define FIXED(n) \
    [UPMU_X86_ROW_FIXED + (n)] = { 0x309 + (n), UPMU_X86_CLASS_FIXED, UPMU_FIXED_COUNTER(n), TEXT_FIXED + (n) * 16 }
#define EIGHT(row) row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)

static const struct upmu_register register_rows[UPMU_X86_ROWS] = {
    EIGHT(PMC),
    EIGHT(SELECT),
    EIGHT(FULL),
    FIXED(0),
    FIXED(1),
    FIXED(2),
    FIXED(3),
    [UPMU_X86_ROW_FIXED_CTRL] = { 0x38D, UPMU_X86_CLASS_FIXED_CTRL, UPMU_NO_COUNTER, TEXT_FIXED_CTRL },
    [UPMU_X86_ROW_GLOBAL_CTRL] = { 0x38F, UPMU_X86_CLASS_GLOBAL_CTRL, UPMU_NO_COUNTER, TEXT_GLOBAL_CTRL },
    [UPMU_X86_ROW_STATUS] = { 0x38E, UPMU_X86_CLASS_STATUS, UPMU_NO_COUNTER, TEXT_STATUS },
    [UPMU_X86_ROW_ACK] = { 0x390, UPMU_X86_CLASS_ACK, UPMU_NO_COUNTER, TEXT_ACK },
    [UPMU_X86_ROW_INUSE] = { 0x392, UPMU_X86_CLASS_INUSE, UPMU_NO_COUNTER, TEXT_INUSE },
    [UPMU_X86_ROW_DEBUGCTL] = { 0x1D9, UPMU_X86_CLASS_DEBUGCTL, UPMU_NO_COUNTER, TEXT_DEBUGCTL },
    [UPMU_X86_ROW_OFFCORE] = { 0x1A6, UPMU_X86_CLASS_OFFCORE, UPMU_NO_COUNTER, TEXT_OFFCORE0 },
    [UPMU_X86_ROW_OFFCORE + 1] = { 0x1A7, UPMU_X86_CLASS_OFFCORE, UPMU_NO_COUNTER, TEXT_OFFCORE1 },
    [UPMU_X86_ROW_LDLAT] = { 0x3F6, UPMU_X86_CLASS_LDLAT, UPMU_NO_COUNTER, TEXT_LDLAT },
    [UPMU_X86_ROW_FRONTEND] = { 0x3F7, UPMU_X86_CLASS_FRONTEND, UPMU_NO_COUNTER, TEXT_FRONTEND },
};

const struct upmu_register_table upmu_x86_core_global_table = {
    register_rows, global_classes, register_text, UPMU_X86_ROWS, UPMU_X86_CLASSES, 0
};

const struct upmu_register_table upmu_x86_core_single_table = {
    register_rows, single_classes, register_text, UPMU_X86_ROWS, UPMU_X86_CLASSES, 0
};

#endif
