/* SPDX-License-Identifier: MIT */
/*
 * Registers of Arm's PMUv3 and PMUv2. The gate of a counter is its bit of PMCNTEN. A counter's bit of PMINTEN lets its
 * overflow request an interrupt. PMCNTEN and PMINTEN have two register numbers each: the first one is for reads and
 * sets bits, the next one clears bits.
 */
#include "backends/arm_pmuv3/arm_registers.h"

#if UPMU_BACKEND_ARM_PMUV3

#define ARM_ALL (~UINT64_C(0))

/* clang-format off */
#define ARM_31(R)                                                                                                      \
    R(0) R(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8) R(9) R(10) R(11) R(12) R(13) R(14) R(15) R(16) R(17) R(18) R(19)      \
    R(20) R(21) R(22) R(23) R(24) R(25) R(26) R(27) R(28) R(29) R(30)
#define ARM_MEMBERS(n) char counter##n[sizeof "PMEVCNTR" #n], typer##n[sizeof "PMEVTYPER" #n];
#define ARM_NAMES(n) "PMEVCNTR" #n, "PMEVTYPER" #n,
static const struct arm_names {
    char source[sizeof "Arm ARM D13"];
    ARM_31(ARM_MEMBERS)
    char ccntr[sizeof "PMCCNTR"], ccfiltr[sizeof "PMCCFILTR"], cnten[sizeof "PMCNTENSET"], inten[sizeof "PMINTENSET"];
    char status[sizeof "PMOVSCLR"], pmcr[sizeof "PMCR"];
} arm_names = {
    "Arm ARM D13", ARM_31(ARM_NAMES) "PMCCNTR", "PMCCFILTR", "PMCNTENSET", "PMINTENSET", "PMOVSCLR", "PMCR"
};
#define ARM_AT(member) (uint16_t)offsetof(struct arm_names, member)
#define ARM_COUNTER_ROWS(n)                                                                                            \
    [UPMU_ARM_ROW_CNTR + (n)] = { UPMU_ARM_EVCNTR(n), UPMU_ARM_CLASS_CNTR, (n), ARM_AT(counter##n) },                  \
    [UPMU_ARM_ROW_TYPER + (n)] = { UPMU_ARM_EVTYPER(n), UPMU_ARM_CLASS_TYPER, (n), ARM_AT(typer##n) },

static const struct upmu_register arm_rows[UPMU_ARM_ROWS] = {
    ARM_31(ARM_COUNTER_ROWS)
    [UPMU_ARM_ROW_CCNTR] = { UPMU_ARM_CCNTR, UPMU_ARM_CLASS_CCNTR, UPMU_ARM_CYCLE, ARM_AT(ccntr) },
    [UPMU_ARM_ROW_CCFILTR] = { UPMU_ARM_CCFILTR, UPMU_ARM_CLASS_CCFILTR, UPMU_ARM_CYCLE, ARM_AT(ccfiltr) },
    [UPMU_ARM_ROW_CNTEN] = { UPMU_ARM_CNTENSET, UPMU_ARM_CLASS_CNTEN, UPMU_NO_COUNTER, ARM_AT(cnten) },
    [UPMU_ARM_ROW_INTEN] = { UPMU_ARM_INTENSET, UPMU_ARM_CLASS_INTEN, UPMU_NO_COUNTER, ARM_AT(inten) },
    [UPMU_ARM_ROW_STATUS] = { UPMU_ARM_OVSCLR, UPMU_ARM_CLASS_STATUS, UPMU_NO_COUNTER, ARM_AT(status) },
    [UPMU_ARM_ROW_ACK] = { UPMU_ARM_OVSCLR, UPMU_ARM_CLASS_ACK, UPMU_NO_COUNTER, ARM_AT(status) },
    [UPMU_ARM_ROW_PMCR] = { UPMU_ARM_PMCR, UPMU_ARM_CLASS_PMCR, UPMU_NO_COUNTER, ARM_AT(pmcr) },
};

#define ARM_COUNTER_CLASS                                                                                              \
    { .kind = UPMU_KIND_COUNTER, .load_rank = 5, .release_rank = 5, .found = 1, .promised = 1, .owned = ARM_ALL,       \
      .hardware = ARM_ALL, .session = ARM_ALL, .privileged = ARM_ALL }
#define ARM_SELECT_CLASS                                                                                               \
    { .kind = UPMU_KIND_SELECT, .load_rank = 3, .release_rank = 2, .found = 1, .promised = 1, .owned = ARM_ALL,        \
      .in_use = ARM_ALL, .session = UPMU_ARM_TYPER_EVENT | UPMU_ARM_TYPER_WHO, .idle_keep = ARM_ALL,                  \
      .kernel = UPMU_ARM_TYPER_NSH, .kernel_off = UPMU_ARM_TYPER_P }

/*
 * Order of writes when counters are loaded (load_rank, low first): PMCR 0, select 3, interrupt enables (PMINTEN) 4,
 * counter 5, acknowledgement 6, gates (PMCNTEN) 7.
 */
static const struct upmu_register_class arm_classes[UPMU_ARM_CLASSES] = {
    [UPMU_ARM_CLASS_CNTR] = ARM_COUNTER_CLASS,
    [UPMU_ARM_CLASS_CCNTR] = ARM_COUNTER_CLASS,
    [UPMU_ARM_CLASS_TYPER] = ARM_SELECT_CLASS,
    [UPMU_ARM_CLASS_CCFILTR] = ARM_SELECT_CLASS,
    [UPMU_ARM_CLASS_CNTEN] = { .kind = UPMU_KIND_CONTROL, .access = UPMU_ACCESS_SET_CLEAR, .load_rank = 7,
                               .release_rank = 0, .found = 1, .promised = 1, .owned = ARM_ALL, .gates = ARM_ALL },
    [UPMU_ARM_CLASS_INTEN] = { .kind = UPMU_KIND_CONTROL, .access = UPMU_ACCESS_SET_CLEAR, .load_rank = 4,
                               .release_rank = 1, .found = 1, .promised = 1, .owned = ARM_ALL },
    [UPMU_ARM_CLASS_STATUS] = { .kind = UPMU_KIND_STATUS, .access = UPMU_ACCESS_RO, .promised = 1,
                                .hardware = ARM_ALL },
    [UPMU_ARM_CLASS_ACK] = { .kind = UPMU_KIND_ACK, .access = UPMU_ACCESS_W1C, .load_rank = 6, .promised = 1,
                             .hardware = ARM_ALL },
    [UPMU_ARM_CLASS_PMCR] = { .kind = UPMU_KIND_AUX, .load_rank = 0, .release_rank = 6, .found = 1, .promised = 1,
                              .owned = UPMU_ARM_PMCR_OWNED },
};
/* clang-format on */

const struct upmu_register_table upmu_arm_table = {
    arm_rows, arm_classes, (const char *)&arm_names, UPMU_ARM_ROWS, UPMU_ARM_CLASSES, 0
};

#endif
