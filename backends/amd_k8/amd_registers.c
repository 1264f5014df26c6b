/* SPDX-License-Identifier: MIT */
/*
 * Registers of AMD's PMUs. Sources: AMD APM vol 2 (24593) chapter 13; Linux arch/x86/include/asm/msr-index.h.
 *
 * Legacy registers are two blocks of four; in the extended set selects and counters alternate. If a CPU has both sets,
 * the first four counters and selects of each are the same hardware, and upmu uses the extended ones only. Before
 * PerfMonV2 a counter runs while the enable bit of its select is set. With PerfMonV2 upmu leaves the enable bit set,
 * and the gate is a bit of PerfCntrGlobalCtl.
 */
#include "backends/amd_k8/amd_registers.h"
#include "core/util/bits.h"

#if UPMU_BACKEND_AMD

#define AMD_ALL (~UINT64_C(0))

/*
 * Select bits that raw words may set at any level: event (bits 11:8 included), unit mask, USR, OS, edge, inv, cmask,
 * guest and host, pin control; also enable, which the encoder clears. From UPMU_LEVEL_PRIVILEGED on the interrupt bit
 * is added.
 */
#define AMD_SELECT_SESSION                                                                                            \
    (UPMU_AMD_SELECT_EVENT | UPMU_AMD_SELECT_UMASK | UPMU_AMD_SELECT_USR | UPMU_AMD_SELECT_OS |                       \
     UPMU_AMD_SELECT_EDGE | UPMU_AMD_SELECT_EN | UPMU_AMD_SELECT_INV | UPMU_AMD_SELECT_CMASK |                        \
     UPMU_AMD_SELECT_GUEST | UPMU_AMD_SELECT_HOST | UPMU_AMD_SELECT_PC)
#define AMD_SELECT_PRIVILEGED UPMU_AMD_SELECT_INT
/* Bits of a select of which one is set if other software uses the counter (upmu_register_class.in_use). */
#define AMD_SELECT_USED (UPMU_AMD_SELECT_EN | UPMU_AMD_SELECT_INT)

/* clang-format off */
#define AMD_FOUR(R) R(0) R(1) R(2) R(3)
#define AMD_FIFTEEN(R) AMD_FOUR(R) R(4) R(5) R(6) R(7) R(8) R(9) R(10) R(11) R(12) R(13) R(14)

/*
 * Registers of IBS in the order of their rows: of each unit (fetch, op) the control and the data in the order of a
 * sample (upmu/ibs.h), then the second controls of both units.
 */
#define AMD_IBS(R)                                                                                                    \
    R(FETCH, 0xC0011030u, IBS_CTL, "IbsFetchCtl", ibs_fetch_ctl)                                                      \
    R(FETCH + 1, 0xC0011031u, IBS_DATA, "IbsFetchLinAd", ibs_fetch_linear)                                            \
    R(FETCH + 2, 0xC0011032u, IBS_DATA, "IbsFetchPhysAd", ibs_fetch_physical)                                         \
    R(FETCH + 3, 0xC001103Cu, IBS_DATA, "IbsFetchCtlExtd", ibs_fetch_extended)                                        \
    R(OP, 0xC0011033u, IBS_CTL, "IbsOpCtl", ibs_op_ctl)                                                               \
    R(OP + 1, 0xC0011034u, IBS_DATA, "IbsOpRip", ibs_op_rip)                                                          \
    R(OP + 2, 0xC0011035u, IBS_DATA, "IbsOpData", ibs_op_data1)                                                       \
    R(OP + 3, 0xC0011036u, IBS_DATA, "IbsOpData2", ibs_op_data2)                                                      \
    R(OP + 4, 0xC0011037u, IBS_DATA, "IbsOpData3", ibs_op_data3)                                                      \
    R(OP + 5, 0xC0011038u, IBS_DATA, "IbsDcLinAd", ibs_dc_linear)                                                     \
    R(OP + 6, 0xC0011039u, IBS_DATA, "IbsDcPhysAd", ibs_dc_physical)                                                  \
    R(OP + 7, 0xC001103Bu, IBS_DATA, "IbsBrTarget", ibs_br_target)                                                    \
    R(OP + 8, 0xC001103Du, IBS_DATA, "IbsOpData4", ibs_op_data4)                                                      \
    R(FETCH2, 0xC001103Fu, IBS_CTL, "IbsFetchCtl2", ibs_fetch_ctl2)                                                   \
    R(OP2, 0xC001103Eu, IBS_CTL, "IbsOpCtl2", ibs_op_ctl2)
#define AMD_IBS_MEMBER(row, address, class, text, member) char member[sizeof text];
#define AMD_IBS_NAME(row, address, class, text, member) text,

#define AMD_LEGACY_MEMBERS(n) char legacy_select##n[sizeof "PERFEVTSEL" #n], legacy_counter##n[sizeof "PERFCTR" #n];
#define AMD_LEGACY_NAMES(n) "PERFEVTSEL" #n, "PERFCTR" #n,
#define AMD_EXTENDED_MEMBERS(n) char select##n[sizeof "PERF_CTL" #n], counter##n[sizeof "PERF_CTR" #n];
#define AMD_EXTENDED_NAMES(n) "PERF_CTL" #n, "PERF_CTR" #n,
#if UPMU_TITLES
static const struct amd_names {
    char source[sizeof "APM 13.2"];
    AMD_FOUR(AMD_LEGACY_MEMBERS)
    AMD_FIFTEEN(AMD_EXTENDED_MEMBERS)
    AMD_IBS(AMD_IBS_MEMBER)
    char global_ctl[sizeof "PerfCntrGlobalCtl"], status[sizeof "PerfCntrGlobalStatus"];
    char ack[sizeof "PerfCntrGlobalStatusClr"], debugctl[sizeof "DebugCtl"];
} amd_names = {
    "APM 13.2", AMD_FOUR(AMD_LEGACY_NAMES) AMD_FIFTEEN(AMD_EXTENDED_NAMES)
    AMD_IBS(AMD_IBS_NAME)
    "PerfCntrGlobalCtl", "PerfCntrGlobalStatus", "PerfCntrGlobalStatusClr", "DebugCtl"
};
#define AMD_TEXT ((const char *)&amd_names)
#define AMD_NAMED(member) ((uint16_t)offsetof(struct amd_names, member))
#else
#define AMD_TEXT ""
#define AMD_NAMED(member) 0
#endif

#define AMD_LEGACY_ROWS(n)                                                                                            \
    [UPMU_AMD_ROW_CTR + (n)] = { 0xC0010004u + (n), UPMU_AMD_CLASS_CTR, (n),                                          \
                                 AMD_NAMED(legacy_counter##n) },                           \
    [UPMU_AMD_ROW_SELECT + (n)] = { 0xC0010000u + (n), UPMU_AMD_CLASS_SELECT, (n),                                    \
                                    AMD_NAMED(legacy_select##n) },
#define AMD_EXTENDED_ROWS(n)                                                                                          \
    [UPMU_AMD_ROW_CTR + (n)] = { 0xC0010201u + 2 * (n), UPMU_AMD_CLASS_CTR, (n),                                      \
                                 AMD_NAMED(counter##n) },                                  \
    [UPMU_AMD_ROW_SELECT + (n)] = { 0xC0010200u + 2 * (n), UPMU_AMD_CLASS_SELECT, (n),                                \
                                    AMD_NAMED(select##n) },
#define AMD_OTHER_ROW(row, address, name)                                                                             \
    [UPMU_AMD_ROW_##row] = { address, UPMU_AMD_CLASS_##row, UPMU_NO_COUNTER,                                          \
                             AMD_NAMED(name) },

#define AMD_IBS_ROW(row, address, class, text, member)                                                                \
    [UPMU_AMD_ROW_##row] = { address, UPMU_AMD_CLASS_##class, UPMU_NO_COUNTER,                                        \
                             AMD_NAMED(member) },

static const struct upmu_register amd_legacy_rows[UPMU_AMD_ROW_GLOBAL_CTL] = {
    AMD_FOUR(AMD_LEGACY_ROWS)
    AMD_IBS(AMD_IBS_ROW)
};
static const struct upmu_register amd_extended_rows[UPMU_AMD_ROWS] = {
    AMD_FIFTEEN(AMD_EXTENDED_ROWS)
    AMD_IBS(AMD_IBS_ROW)
    AMD_OTHER_ROW(GLOBAL_CTL, 0xC0000301u, global_ctl)
    AMD_OTHER_ROW(STATUS, 0xC0000300u, status)
    AMD_OTHER_ROW(ACK, 0xC0000302u, ack)
    AMD_OTHER_ROW(DEBUGCTL, 0x1D9u, debugctl)
};

/*
 * Order in which the registers are written when counters are loaded (load_rank, low first): DebugCtl 0, select 3,
 * counter 5, acknowledgement 6, global control 7.
 */
#define AMD_COUNTER_CLASS                                                                                             \
    {                                                                                                                 \
        .kind = UPMU_KIND_COUNTER, .load_rank = 5, .release_rank = 5, .found = 1, .promised = 1, .owned = AMD_ALL,    \
        .hardware = AMD_ALL, .session = AMD_ALL, .privileged = AMD_ALL                                                \
    }
#define AMD_SELECT_CLASS(select_gates)                                                                                \
    {                                                                                                                 \
        .kind = UPMU_KIND_SELECT, .load_rank = 3, .release_rank = 2, .found = 1, .promised = 1, .owned = AMD_ALL,     \
        .gates = (select_gates), .interrupt = UPMU_AMD_SELECT_INT, .in_use = AMD_SELECT_USED,                         \
        .session = AMD_SELECT_SESSION, .privileged = AMD_SELECT_PRIVILEGED,                                           \
        .kernel = UPMU_AMD_SELECT_OS, .beyond = UPMU_AMD_SELECT_GUEST, .idle_keep = ~UPMU_AMD_SELECT_EN               \
    }

/*
 * Every write of an IBS control has an effect, also a write of the value that the register has (UPMU_ACCESS_COMMAND).
 * Raw words may set no bit of these two classes.
 */
#define AMD_IBS_CLASSES                                                                                               \
    [UPMU_AMD_CLASS_IBS_CTL] = { .kind = UPMU_KIND_AUX, .access = UPMU_ACCESS_COMMAND, .promised = 1,                 \
                                 .owned = AMD_ALL, .hardware = AMD_ALL },                                             \
    [UPMU_AMD_CLASS_IBS_DATA] = { .kind = UPMU_KIND_STATUS, .access = UPMU_ACCESS_RO, .promised = 1,                  \
                                  .hardware = AMD_ALL }

#define AMD_SINGLE_CLASSES UPMU_AMD_CLASS_GLOBAL_CTL
static const struct upmu_register_class amd_single_classes[AMD_SINGLE_CLASSES] = {
    [UPMU_AMD_CLASS_CTR] = AMD_COUNTER_CLASS,
    [UPMU_AMD_CLASS_SELECT] = AMD_SELECT_CLASS(UPMU_AMD_SELECT_EN),
    AMD_IBS_CLASSES,
};

static const struct upmu_register_class amd_global_classes[UPMU_AMD_CLASSES] = {
    [UPMU_AMD_CLASS_CTR] = AMD_COUNTER_CLASS,
    [UPMU_AMD_CLASS_SELECT] = AMD_SELECT_CLASS(0),
    AMD_IBS_CLASSES,
    [UPMU_AMD_CLASS_GLOBAL_CTL] = { .kind = UPMU_KIND_CONTROL, .load_rank = 7, .release_rank = 0, .found = 1,
                                    .promised = 1, .owned = AMD_ALL, .gates = AMD_ALL },
    [UPMU_AMD_CLASS_STATUS] = { .kind = UPMU_KIND_STATUS, .access = UPMU_ACCESS_RO, .promised = 1,
                                .hardware = AMD_ALL },
    [UPMU_AMD_CLASS_ACK] = { .kind = UPMU_KIND_ACK, .access = UPMU_ACCESS_W1C, .load_rank = 6, .promised = 1,
                             .owned = UPMU_AMD_STATUS_FROZEN, .hardware = AMD_ALL },
    [UPMU_AMD_CLASS_DEBUGCTL] = { .kind = UPMU_KIND_AUX, .load_rank = 0, .release_rank = 4, .found = 1,
                                  .promised = 1, .owned = UPMU_AMD_DEBUGCTL_FREEZE },
};
/* clang-format on */

const struct upmu_register_table upmu_amd_legacy_table = {
    amd_legacy_rows, amd_single_classes, AMD_TEXT, UPMU_AMD_ROW_GLOBAL_CTL,
    AMD_SINGLE_CLASSES, 0
};

const struct upmu_register_table upmu_amd_extended_table = {
    amd_extended_rows, amd_single_classes, AMD_TEXT, UPMU_AMD_ROW_GLOBAL_CTL,
    AMD_SINGLE_CLASSES, 0
};

const struct upmu_register_table upmu_amd_global_table = {
    amd_extended_rows, amd_global_classes, AMD_TEXT, UPMU_AMD_ROWS, UPMU_AMD_CLASSES, 0
};

#endif
