/* SPDX-License-Identifier: MIT */
/* Facts for libpmc: classes, rows, capabilities, names. No register is accessed. */
#include <stddef.h>
#include <upmu/catalogs.h>
#include <upmu/cpu.h>
#include <upmu/session.h>
#include "abi/pmc/upmu_pmc.h"

#if UPMU_NAMES

/* Numbers of errno, as Linux has them. FreeBSD has the same but for NOT_SUPPORTED. */
enum {
    NO_PERMISSION = 1,
    IO_FAILED = 5,
    NO_MEMORY = 12,
    BAD_ADDRESS = 14,
    IS_BUSY = 16,
    NO_DEVICE = 19,
    BAD_ARGUMENT = 22,
    NO_SPACE = 28,
    NOT_SUPPORTED = 95
};

int upmu_pmc_errno(enum upmu_status status)
{
    switch (status) {
    case UPMU_OK:
        return 0;
    case UPMU_ERR_NOT_PERMITTED:
        return NO_PERMISSION;
    case UPMU_ERR_PORT:
    case UPMU_ERR_CHANGED:
        return IO_FAILED;
    case UPMU_ERR_NO_SPACE:
        return NO_MEMORY;
    case UPMU_ERR_DOES_NOT_FIT:
    case UPMU_ERR_TOO_HARD:
    case UPMU_ERR_LOST_CLAIM:
    case UPMU_ERR_BUSY:
    case UPMU_ERR_STATE:
        return IS_BUSY;
    case UPMU_ERR_NO_PMU:
    case UPMU_ERR_WRONG_CPU:
    case UPMU_ERR_WRONG_PMU:
        return NO_DEVICE;
    case UPMU_ERR_HOOK_MISSING:
    case UPMU_ERR_COMPILED_OUT:
    case UPMU_ERR_NOT_PRECISE:
    case UPMU_ERR_UNSUPPORTED:
        return NOT_SUPPORTED;
    default:
        return BAD_ARGUMENT;
    }
}

/* Return the counter with index `row` (from 0 on) among the counters of a mask, or UPMU_NO_COUNTER. */
static unsigned nth_counter(uint32_t mask, uint32_t row)
{
    for (unsigned counter = 0; counter < UPMU_COUNTERS; counter++)
        if (mask >> counter & 1u && row-- == 0)
            return counter;
    return UPMU_NO_COUNTER;
}

unsigned upmu_pmc_row_counter(const struct upmu_pmu *pmu, const struct upmu_event *event, int32_t row)
{
    uint32_t kind = event->counters & pmu->general ? pmu->general : pmu->counters & ~pmu->general;

    return row < 0 ? UPMU_NO_COUNTER : nth_counter(kind, (uint32_t)row);
}

uint32_t upmu_pmc_caps_of(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    uint32_t caps = PMC_CAP_USER | PMC_CAP_SYSTEM | PMC_CAP_READ | PMC_CAP_WRITE;
    enum pmc_class class_of = upmu_pmc_class_of(pmu, event->counters & pmu->general ? 0 : UPMU_FIXED_COUNTER(0));

    if (!(pmu->capabilities & UPMU_PMU_NO_PMI))
        caps |= PMC_CAP_INTERRUPT;
    if (class_of != PMC_CLASS_IAF)
        caps |= PMC_CAP_EDGE | PMC_CAP_THRESHOLD | PMC_CAP_INVERT | PMC_CAP_QUALIFIER;
    return class_of == PMC_CLASS_P4 ? caps | PMC_CAP_TAGGING | PMC_CAP_CASCADE : caps;
}

static unsigned count_of(uint32_t mask)
{
    unsigned count = 0;

    for (; mask; mask &= mask - 1u)
        count++;
    return count;
}

static void copy_text(char *to, size_t size, const char *from)
{
    size_t i = 0;

    for (; from[i] && i + 1 < size; i++)
        to[i] = from[i];
    for (; i < size; i++)
        to[i] = 0;
}

void upmu_pmc_cpuinfo(const struct upmu_pmcs *pmcs, struct pmc_cpuinfo *out_info)
{
    const struct upmu_pmu *pmu = upmu_machine_pmu(pmcs->machine, 0);
    uint32_t fixed;

    *out_info = (struct pmc_cpuinfo){.pm_ncpu = 0};
    while (pmcs->find_cpu(pmcs->context, out_info->pm_ncpu))
        out_info->pm_ncpu++;
    if (!pmu)
        return;
    fixed = pmu->counters & ~pmu->general;
    out_info->pm_npmc = count_of(pmu->counters);
    out_info->pm_nclass = fixed ? 2 : 1;
    out_info->pm_class[0] = (uint32_t)upmu_pmc_class_of(pmu, 0);
    out_info->pm_class[1] = fixed ? (uint32_t)PMC_CLASS_IAF : out_info->pm_class[0];
    copy_text(out_info->pm_cputype, sizeof out_info->pm_cputype, pmu->name);
}

enum upmu_status upmu_pmc_pmcinfo(struct upmu_pmcs *pmcs, uint32_t owner, unsigned cpu_number,
                                  struct pmc_pmcinfo *info)
{
    bool all = upmu_pmc_may_system(pmcs, owner);
    struct upmu_cpu *cpu = pmcs->find_cpu(pmcs->context, cpu_number);
    const struct upmu_pmu *pmu = cpu ? cpu->meter.pmu : NULL;
    unsigned counter = pmu ? nth_counter(pmu->counters, info->pm_row) : UPMU_NO_COUNTER;
    struct upmu_event event = {.counters = UINT32_C(1) << (counter & 31u)};
    uint32_t row = info->pm_row;
    enum upmu_owner user;

    if (counter == UPMU_NO_COUNTER)
        return UPMU_ERR_INVALID;
    user = upmu_cpu_owner(cpu, counter);
    *info = (struct pmc_pmcinfo){.pm_row = row,
                                 .pm_class = (uint32_t)upmu_pmc_class_of(pmu, counter),
                                 .pm_width = pmu->counter[counter].width,
                                 .pm_caps = upmu_pmc_caps_of(pmu, &event),
                                 .pm_enabled = user == UPMU_OWNER_FREE || user == UPMU_OWNER_OURS,
                                 .pm_disp = PMC_DISP_FREE};
    (void)upmu_counter_text(pmu, counter, info->pm_name, sizeof info->pm_name);
    for (unsigned i = 0; i < pmcs->capacity; i++) {
        const struct upmu_pmc *pmc = &pmcs->pmcs[i];

        if (!pmc->owner || (pmc->owner != owner && !all) || pmc->session.state == UPMU_SESSION_DETACHED ||
            pmc->session.set.tally[0].counter != counter || (pmc->mode <= PMC_MODE_SC && pmc->cpu != cpu_number))
            continue;
        info->pm_owner = pmc->owner;
        info->pm_mode = pmc->mode;
        info->pm_disp = pmc->mode <= PMC_MODE_SC ? PMC_DISP_STANDALONE : PMC_DISP_THREAD;
    }
    return UPMU_OK;
}

enum upmu_status upmu_pmc_facts(struct upmu_pmcs *pmcs, uint32_t owner, struct pmc_op_facts *facts)
{
    const struct upmu_pmc *pmc = upmu_pmc_find(pmcs, owner, facts->pm_pmcid);
    const struct upmu_pmu *pmu = pmc ? upmu_machine_pmu(pmcs->machine, pmc->event.pmu) : NULL;
    unsigned counter;

    if (!pmu)
        return UPMU_ERR_INVALID;
    counter = pmc->session.set.tally[0].counter;
    facts->pm_caps = pmc->caps;
    facts->pm_width = pmu->counter[counter == UPMU_NO_COUNTER ? 0 : counter].width;
    facts->pm_msr = counter == UPMU_NO_COUNTER ? UPMU_NO_RDPMC : pmu->counter[counter].rdpmc;
    return UPMU_OK;
}

enum upmu_status upmu_pmc_event_name(const struct upmu_pmcs *pmcs, struct pmc_op_name *name)
{
    const struct upmu_pmu *pmu = upmu_machine_pmu(pmcs->machine, 0);

    if (!pmu || !pmu->catalog || name->pm_index > 0xffff ||
        (name->pm_class != (uint32_t)upmu_pmc_class_of(pmu, 0) && name->pm_class != PMC_CLASS_IAF) ||
        !upmu_catalog_row_name(pmu->catalog, name->pm_index, name->pm_name, sizeof name->pm_name))
        return UPMU_ERR_END;
    return UPMU_OK;
}

#endif
