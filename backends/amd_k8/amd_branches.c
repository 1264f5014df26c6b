/* SPDX-License-Identifier: MIT */
/*
 * Describe AMD's branch stack of version 2 (LbrExtV2) in a struct upmu_pmu, by CPUID words that the caller has read. No
 * hardware is accessed here. Zen 3's branch sampling (BRS) is not driven.
 *
 * Sources: Linux 6.12 arch/x86/events/amd/lbr.c, brs.c (Zen 3), asm/msr-index.h.
 */
#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include "core/util/bits.h"

#if UPMU_BACKEND_AMD && UPMU_BRANCHES

#define HAS_LBR_V2 UPMU_BIT32(1) /* 8000_0022h EAX */
#define HAS_BRS UPMU_BIT32(31)   /* 8000_0008h EBX */
#define DEPTH_OF(ebx) ((ebx) >> 4 & 0x3fu)

/*
 * Registers of AMD's branch stack. The newest branch is entry 0. The filter bits of `select` are bits 8:0 of Intel's
 * LBR_SELECT: a set bit excludes branches of its kind.
 */
static const struct upmu_branch_stack amd_branch_stack = {
    .from = 0xC0010300u,
    .to = 0xC0010301u,
    .step = 2,
    .control = 0xC000010Fu,
    .enable = 1u << 6,
    .kept = ~UINT32_C(0),
    .select = 0xC000010Eu,
    .all = 0x1ff,
    .filter = {2, 1, 0x1fc, 1u << 3, 1u << 4, 1u << 5, 1u << 2, 1u << 6},
};

void upmu_amd_branches(uint32_t features_8, const uint32_t performance[4], struct upmu_pmu *pmu)
{
    if (!(performance[0] & HAS_LBR_V2) || !DEPTH_OF(performance[1])) {
        pmu->no_branches =
            features_8 & HAS_BRS ? "upmu does not drive Zen 3's branch sampling" : "no branch records of version 2";
        return;
    }
    pmu->branch_stack = &amd_branch_stack;
    pmu->branch_depth = (uint8_t)DEPTH_OF(performance[1]);
    pmu->branch_format = UPMU_BRANCH_FORMAT_AMD;
    if (UPMU_BRANCH_SAMPLES && (pmu->capabilities & UPMU_PMU_DEBUGCTL)) {
        pmu->freeze_row = UPMU_AMD_ROW_DEBUGCTL;
        pmu->branch_freeze = UPMU_BRANCH_FREEZE_STATUS;
    }
    pmu->branch_filters = UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL | UPMU_BRANCH_ANY | UPMU_BRANCH_CALL |
                          UPMU_BRANCH_IND_CALL | UPMU_BRANCH_RETURN | UPMU_BRANCH_COND | UPMU_BRANCH_IND_JUMP;
}

#endif
