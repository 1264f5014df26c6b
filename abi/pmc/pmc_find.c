/* SPDX-License-Identifier: MIT */
/* Rights and users of owners; ids of PMCs, which contain the class of the counter. */
#include <upmu/pmu.h>
#include <stddef.h>
#include "abi/pmc/upmu_pmc.h"

#if UPMU_NAMES

static bool begins_with(const char *text, const char *begin)
{
    while (*begin && *text == *begin)
        text++, begin++;
    return !*begin;
}

enum pmc_class upmu_pmc_class_of(const struct upmu_pmu *pmu, unsigned counter)
{
    if (begins_with(pmu->name, "netburst"))
        return PMC_CLASS_P4;
    if (begins_with(pmu->name, "amd64_"))
        return begins_with(pmu->name + 6, "k7") ? PMC_CLASS_K7 : PMC_CLASS_K8;
    return pmu->general >> counter & 1u ? PMC_CLASS_IAP : PMC_CLASS_IAF;
}

bool upmu_pmc_may_system(const struct upmu_pmcs *pmcs, uint32_t owner)
{
    return pmcs->may_system ? pmcs->may_system(pmcs->context, owner) : owner == 1;
}

uint32_t upmu_pmc_user_of(const struct upmu_pmcs *pmcs, uint32_t owner)
{
    return pmcs->user_of ? pmcs->user_of(pmcs->context, owner) : owner;
}

unsigned upmu_pmc_share(unsigned count)
{
    return count / 4u ? count / 4u : 1u;
}

pmc_id_t upmu_pmc_id(const struct upmu_pmcs *pmcs, const struct upmu_pmc *pmc)
{
    const struct upmu_pmu *pmu = upmu_machine_pmu(pmcs->machine, pmc->event.pmu);
    unsigned fixed = pmc->event.counters & pmu->general ? 0 : UPMU_FIXED_COUNTER(0);

    return (uint32_t)(pmc - pmcs->pmcs) | (pmc->generation & 0xfffu) << 10 | (uint32_t)pmc->mode << 22 |
           (uint32_t)upmu_pmc_class_of(pmu, fixed) << 26;
}

struct upmu_pmc *upmu_pmc_find(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id)
{
    uint32_t index = id & 0x3ffu;
    struct upmu_pmc *pmc = &pmcs->pmcs[index < pmcs->capacity ? index : 0];

    return owner && pmcs->capacity && pmc->owner == owner && upmu_pmc_id(pmcs, pmc) == id ? pmc : NULL;
}

#endif
