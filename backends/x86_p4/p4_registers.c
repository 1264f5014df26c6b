/* SPDX-License-Identifier: MIT */
/*
 * Registers of the NetBurst PMU: Intel SDM vol 3 (325384-059) 18.15, 18.16 and tables 35-41, 35-42; order of
 * programming: there and Linux arch/x86/events/intel/p4.c. There is no global control: a counter runs while bit 12 of
 * its CCCR is set, and the CCCR is also the counter's select. All registers belong to a core, whose hyper-threads share
 * them.
 */
#include "backends/x86_p4/p4_registers.h"
#include "core/util/bits.h"
#include "core/hw/register.h"

#if UPMU_BACKEND_X86_P4

#define ALL (~UINT64_C(0))

/*
 * Names of registers with the number of the counter, CCCR or ESCR; of ESCRs the address; last, of CCCRs and ESCRs, a
 * mask of the bits that can be written. The masks are those that a Pentium 4 of signature 0F43h implements
 * (VirtualBox's CPU database, probed on hardware): registers lack select, mask and tag bits that none of their events
 * uses; these bits read 0. That CPU has no IQ_ESCR0/1, which therefore have the general layout.
 */
/* clang-format off */
#define P4_COUNTERS(R)                                      \
    R(BPU_COUNTER0, 0)                                      \
    R(BPU_COUNTER1, 1)                                      \
    R(BPU_COUNTER2, 2)                                      \
    R(BPU_COUNTER3, 3)                                      \
    R(MS_COUNTER0, 4)                                       \
    R(MS_COUNTER1, 5)                                       \
    R(MS_COUNTER2, 6)                                       \
    R(MS_COUNTER3, 7)                                       \
    R(FLAME_COUNTER0, 8)                                    \
    R(FLAME_COUNTER1, 9)                                    \
    R(FLAME_COUNTER2, 10)                                   \
    R(FLAME_COUNTER3, 11)                                   \
    R(IQ_COUNTER0, 12)                                      \
    R(IQ_COUNTER1, 13)                                      \
    R(IQ_COUNTER2, 14)                                      \
    R(IQ_COUNTER3, 15)                                      \
    R(IQ_COUNTER4, 16)                                      \
    R(IQ_COUNTER5, 17)

#define P4_CCCRS(R)                                         \
    R(BPU_CCCR0, 0, 0xfffff000)                             \
    R(BPU_CCCR1, 1, 0xfffff000)                             \
    R(BPU_CCCR2, 2, 0xfffff000)                             \
    R(BPU_CCCR3, 3, 0xfffff000)                             \
    R(MS_CCCR0, 4, 0xfffff000)                              \
    R(MS_CCCR1, 5, 0xfffff000)                              \
    R(MS_CCCR2, 6, 0xfffff000)                              \
    R(MS_CCCR3, 7, 0xfffff000)                              \
    R(FLAME_CCCR0, 8, 0xfffff000)                           \
    R(FLAME_CCCR1, 9, 0xfffff000)                           \
    R(FLAME_CCCR2, 10, 0xfffff000)                          \
    R(FLAME_CCCR3, 11, 0xfffff000)                          \
    R(IQ_CCCR0, 12, 0xfffff800)                             \
    R(IQ_CCCR1, 13, 0xfffff000)                             \
    R(IQ_CCCR2, 14, 0xfffff000)                             \
    R(IQ_CCCR3, 15, 0xfffff800)                             \
    R(IQ_CCCR4, 16, 0xffffff00)                             \
    R(IQ_CCCR5, 17, 0xffffff00)

#define P4_ESCRS(R)                                         \
    R(BSU_ESCR0, 0, 0x3a0, 0x7fffffff)                      \
    R(BSU_ESCR1, 1, 0x3a1, 0x7fffffff)                      \
    R(FSB_ESCR0, 2, 0x3a2, 0x3fffffff)                      \
    R(FSB_ESCR1, 3, 0x3a3, 0x3fffffff)                      \
    R(FIRM_ESCR0, 4, 0x3a4, 0x7fffffff)                     \
    R(FIRM_ESCR1, 5, 0x3a5, 0x7fffffff)                     \
    R(FLAME_ESCR0, 6, 0x3a6, 0x7fffffff)                    \
    R(FLAME_ESCR1, 7, 0x3a7, 0x7fffffff)                    \
    R(DAC_ESCR0, 8, 0x3a8, 0x1e01fe0f)                      \
    R(DAC_ESCR1, 9, 0x3a9, 0x1e01fe0f)                      \
    R(MOB_ESCR0, 10, 0x3aa, 0x7fffffff)                     \
    R(MOB_ESCR1, 11, 0x3ab, 0x7fffffff)                     \
    R(PMH_ESCR0, 12, 0x3ac, 0x7fffffff)                     \
    R(PMH_ESCR1, 13, 0x3ad, 0x7fffffff)                     \
    R(SAAT_ESCR0, 14, 0x3ae, 0x7fffffff)                    \
    R(SAAT_ESCR1, 15, 0x3af, 0x7fffffff)                    \
    R(U2L_ESCR0, 16, 0x3b0, 0x0e3ffe0f)                     \
    R(U2L_ESCR1, 17, 0x3b1, 0x0e3ffe0f)                     \
    R(BPU_ESCR0, 18, 0x3b2, 0x1e03ffff)                     \
    R(BPU_ESCR1, 19, 0x3b3, 0x1e03ffff)                     \
    R(IS_ESCR0, 20, 0x3b4, 0x0e01fe0f)                      \
    R(IS_ESCR1, 21, 0x3b5, 0x0e01fe0f)                      \
    R(ITLB_ESCR0, 22, 0x3b6, 0x70000e1f)                    \
    R(ITLB_ESCR1, 23, 0x3b7, 0x70000e1f)                    \
    R(CRU_ESCR0, 24, 0x3b8, 0x0e01fe0f)                     \
    R(CRU_ESCR1, 25, 0x3b9, 0x0e01fe0f)                     \
    R(IQ_ESCR0, 26, 0x3ba, 0x7fffffff)                      \
    R(IQ_ESCR1, 27, 0x3bb, 0x7fffffff)                      \
    R(RAT_ESCR0, 28, 0x3bc, 0x7fffffff)                     \
    R(RAT_ESCR1, 29, 0x3bd, 0x7fffffff)                     \
    R(SSU_ESCR0, 30, 0x3be, 0x7fffffff)                     \
    R(MS_ESCR0, 31, 0x3c0, 0x1e007e1f)                      \
    R(MS_ESCR1, 32, 0x3c1, 0x1e007e1f)                      \
    R(TBPU_ESCR0, 33, 0x3c2, 0x0e01fe0f)                    \
    R(TBPU_ESCR1, 34, 0x3c3, 0x0e01fe0f)                    \
    R(TC_ESCR0, 35, 0x3c4, 0x1e07fe0f)                      \
    R(TC_ESCR1, 36, 0x3c5, 0x1e07fe0f)                      \
    R(IX_ESCR0, 37, 0x3c8, 0x0e01fe0f)                      \
    R(IX_ESCR1, 38, 0x3c9, 0x0e01fe0f)                      \
    R(ALF_ESCR0, 39, 0x3ca, 0x0ffffe0f)                     \
    R(ALF_ESCR1, 40, 0x3cb, 0x0ffffe0f)                     \
    R(CRU_ESCR2, 41, 0x3cc, 0x1e0ffe0f)                     \
    R(CRU_ESCR3, 42, 0x3cd, 0x1e0ffe0f)                     \
    R(CRU_ESCR4, 43, 0x3e0, 0x0e00fe0f)                     \
    R(CRU_ESCR5, 44, 0x3e1, 0x0e00fe0f)

/* The names, one after the other. A row has the offset of its name. */
#define NAME_FIELD(name, ...) char name[sizeof "MSR_" #name];
#define NAME_VALUE(name, ...) "MSR_" #name,

static const struct p4_names {
    char source[sizeof "SDM 18.15"];
    P4_COUNTERS(NAME_FIELD)
    P4_CCCRS(NAME_FIELD)
    P4_ESCRS(NAME_FIELD)
    char pebs_enable[sizeof "IA32_PEBS_ENABLE"];
    char matrix_vert[sizeof "MSR_PEBS_MATRIX_VERT"];
} p4_names = {
    "SDM 18.15", P4_COUNTERS(NAME_VALUE) P4_CCCRS(NAME_VALUE) P4_ESCRS(NAME_VALUE) "IA32_PEBS_ENABLE",
    "MSR_PEBS_MATRIX_VERT",
};

#define NAME_AT(name) (uint16_t)offsetof(struct p4_names, name)
#define COUNTER_ROW(name, n) [UPMU_P4_ROW_COUNTER + (n)] = { 0x300 + (n), UPMU_P4_CLASS_COUNTER, (n), NAME_AT(name) },
#define CCCR_ROW(name, n, bits) [UPMU_P4_ROW_CCCR + (n)] = { 0x360 + (n), UPMU_P4_CLASS_CCCR, (n), NAME_AT(name) },
#define ESCR_ROW(name, n, address, bits) \
    [UPMU_P4_ROW_ESCR + (n)] = { (address), UPMU_P4_CLASS_ESCR, UPMU_NO_COUNTER, NAME_AT(name) },

static const struct upmu_register p4_rows[UPMU_P4_ROWS] = {
    P4_COUNTERS(COUNTER_ROW)
    P4_CCCRS(CCCR_ROW)
    P4_ESCRS(ESCR_ROW)
    [UPMU_P4_ROW_PEBS_ENABLE] = { 0x3F1, UPMU_P4_CLASS_PEBS_ENABLE, UPMU_NO_COUNTER, NAME_AT(pebs_enable) },
    [UPMU_P4_ROW_MATRIX_VERT] = { 0x3F2, UPMU_P4_CLASS_MATRIX_VERT, UPMU_NO_COUNTER, NAME_AT(matrix_vert) },
};

#define COUNTER_BITS(name, n) [UPMU_P4_ROW_COUNTER + (n)] = 0xffffffff,
#define CCCR_BITS(name, n, bits) [UPMU_P4_ROW_CCCR + (n)] = (bits),
#define ESCR_BITS(name, n, address, bits) [UPMU_P4_ROW_ESCR + (n)] = (bits),

static const uint32_t p4_row_bits[UPMU_P4_ROWS] = {
    P4_COUNTERS(COUNTER_BITS)
    P4_CCCRS(CCCR_BITS)
    P4_ESCRS(ESCR_BITS)
    [UPMU_P4_ROW_PEBS_ENABLE] = 0x07ffffff,
    [UPMU_P4_ROW_MATRIX_VERT] = 0x00001fff,
};

/*
 * CCCR bits that raw words may set at any level. From UPMU_LEVEL_PRIVILEGED on also those that request interrupts or
 * force overflows.
 */
#define CCCR_SESSION                                                                                           \
    (UPMU_P4_CCCR_EXTENDED_CASCADE | UPMU_P4_CCCR_ENABLE | UPMU_P4_CCCR_SELECT | UPMU_P4_CCCR_THREAD |         \
     UPMU_P4_CCCR_COMPARE | UPMU_P4_CCCR_COMPLEMENT | UPMU_P4_CCCR_THRESHOLD | UPMU_P4_CCCR_EDGE |             \
     UPMU_P4_CCCR_CASCADE)
#define CCCR_PRIVILEGED (UPMU_P4_CCCR_FORCE_OVF | UPMU_P4_CCCR_OVF_PMI_T0 | UPMU_P4_CCCR_OVF_PMI_T1)

/*
 * Order in which registers are written when counters are loaded (load_rank, low first): ESCR 2, matrix 3, replay tags
 * 4, counter 5, CCCR 6, which also opens the counter. Registers are released in the order CCCR, ESCR, tags, matrix,
 * counter. A CCCR is idle when ENABLE and the cascade bits are clear; every write of a CCCR clears its OVF, which keeps
 * the interrupt asserted.
 */
static const struct upmu_register_class p4_classes[UPMU_P4_CLASSES] = {
    [UPMU_P4_CLASS_COUNTER] = { .kind = UPMU_KIND_COUNTER, .scope = UPMU_SCOPE_CORE, .load_rank = 5,
                                .release_rank = 5, .found = 1, .promised = 1, .owned = ALL, .hardware = ALL,
                                .session = ALL, .privileged = ALL },
    [UPMU_P4_CLASS_CCCR] = { .kind = UPMU_KIND_SELECT, .scope = UPMU_SCOPE_CORE, .load_rank = 6,
                             .release_rank = 1, .found = 1, .promised = 1, .owned = ALL,
                             .gates = UPMU_P4_CCCR_ENABLE, .hardware = UPMU_P4_CCCR_OVF,
                             .interrupt = UPMU_P4_CCCR_OVF_PMI_T0 | UPMU_P4_CCCR_OVF_PMI_T1,
                             .in_use = UPMU_P4_CCCR_IN_USE,
                             .session = CCCR_SESSION, .privileged = CCCR_PRIVILEGED,
                             .idle_keep = ~(UPMU_P4_CCCR_ENABLE | UPMU_P4_CCCR_OVF | UPMU_P4_CCCR_CASCADE |
                                            UPMU_P4_CCCR_EXTENDED_CASCADE) },
    [UPMU_P4_CLASS_ESCR] = { .kind = UPMU_KIND_CONTROL, .scope = UPMU_SCOPE_CORE, .load_rank = 2,
                             .release_rank = 2, .found = 1, .promised = 1, .owned = ALL,
                             .session = UINT64_C(0x7fffffff),
                             .kernel = UPMU_P4_ESCR_T0_OS | UPMU_P4_ESCR_T1_OS,
                             .beyond = UPMU_P4_ESCR_T1_OS | UPMU_P4_ESCR_T1_USR },
    [UPMU_P4_CLASS_PEBS_ENABLE] = { .kind = UPMU_KIND_PAYLOAD, .scope = UPMU_SCOPE_CORE, .load_rank = 4,
                                    .release_rank = 3, .found = 1, .promised = 1, .owned = UPMU_P4_PEBS_OWNED,
                                    .privileged = UPMU_P4_PEBS_TAGS },
    [UPMU_P4_CLASS_MATRIX_VERT] = { .kind = UPMU_KIND_PAYLOAD, .scope = UPMU_SCOPE_CORE, .load_rank = 3,
                                    .release_rank = 4, .found = 1, .promised = 1, .owned = ALL,
                                    .privileged = ALL },
};

/* clang-format on */

const struct upmu_register_table upmu_p4_table = {p4_rows,      p4_classes,      (const char *)&p4_names,
                                                  UPMU_P4_ROWS, UPMU_P4_CLASSES, p4_row_bits};

static void set_p4_limits(struct upmu_pmu *pmu, unsigned model)
{
    pmu->limit[UPMU_P4_CLASS_COUNTER] = upmu_bits_ones(40);
    pmu->limit[UPMU_P4_CLASS_CCCR] = UINT64_C(0xffffffff);
    if (model < 2)
        pmu->limit[UPMU_P4_CLASS_CCCR] &= ~UPMU_P4_CCCR_EXTENDED_CASCADE;
    pmu->limit[UPMU_P4_CLASS_ESCR] = UINT64_C(0x7fffffff);
    pmu->limit[UPMU_P4_CLASS_PEBS_ENABLE] = UINT64_C(0x07ffffff);
    pmu->limit[UPMU_P4_CLASS_MATRIX_VERT] = UINT64_C(0x1fff);
}

void upmu_p4_describe_table(struct upmu_pmu *pmu, unsigned model)
{
    pmu->table = &upmu_p4_table;
    pmu->status_row = UPMU_NO_ROW;
    pmu->ack_row = UPMU_NO_ROW;
    pmu->inuse_row = UPMU_NO_ROW;
    set_p4_limits(pmu, model);
    for (unsigned n = 0; n < UPMU_P4_COUNTERS; n++) {
        struct upmu_counter counter = {.value_row = (uint8_t)(UPMU_P4_ROW_COUNTER + n),
                                       .write_row = (uint8_t)(UPMU_P4_ROW_COUNTER + n),
                                       .select_row = (uint8_t)(UPMU_P4_ROW_CCCR + n),
                                       .gate_row = (uint8_t)(UPMU_P4_ROW_CCCR + n),
                                       .gate_bit = UPMU_P4_CCCR_ENABLE_BIT,
                                       .width = 40,
                                       .write_bits = 40,
                                       .rdpmc = n};

        upmu_register_add_counter(pmu, n, &counter);
    }
    pmu->general = pmu->counters;
    pmu->shared_counters = pmu->counters;
    pmu->shared_scope = UPMU_SCOPE_CORE;
    for (unsigned n = 0; n < UPMU_P4_RESOURCES; n++) {
        /* From model 3 on upmu leaves out IQ_ESCR0/1: their writes crashed a CPU (linux-kernel; perfctr 2.6.42). */
        if ((n == UPMU_P4_IQ_ESCR0 || n == UPMU_P4_IQ_ESCR1) && model >= 3)
            continue;
        upmu_rows_set(pmu->present, UPMU_P4_ROW_ESCR + n);
        pmu->shared |= UPMU_BIT64(n);
    }
}

#endif
