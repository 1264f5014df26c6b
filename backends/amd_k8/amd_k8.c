/* SPDX-License-Identifier: MIT */
/*
 * The AMD backend: status words to counters, idle values, the writes of take-over, events of the northbridge, and the
 * table of the backend's functions.
 */
#include "backends/amd_k8/amd_k8.h"
#include "backends/amd_k8/amd_registers.h"
#include "core/util/bits.h"

#if UPMU_BACKEND_AMD

/*
 * Return a mask of the PMU's counters whose bit is set in `status`, the value of PerfCntrGlobalStatus: they have
 * overflowed. Bit n is counter n, in the acknowledgement register, too. Other bits of the status may be set (Linux
 * amd/core.c) and are ignored.
 */
static uint32_t amd_overflowed(const struct upmu_pmu *pmu, uint64_t status)
{
    return pmu->counters & (uint32_t)status;
}

static uint64_t amd_acknowledge(const struct upmu_pmu *pmu, uint32_t counters)
{
    (void)pmu;
    return counters;
}

/* Add to the image a write of 0 to the whole select of each counter in the mask: the counter then counts nothing. */
static void amd_release(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    (void)pmu;
    for (; counters; counters &= counters - 1u)
        upmu_image_add(image, UPMU_AMD_ROW_SELECT + upmu_bits_lowest(counters), ~UINT64_C(0), 0,
                       counters & (0u - counters));
}

/*
 * Add the writes of take-over: clear the freeze bits of DebugCtl, and release frozen counters and branch records. upmu
 * never lets an interrupt freeze counters, because that would stop counters of other sessions, too.
 */
static void amd_take_over(const struct upmu_pmu *pmu, struct upmu_image *image)
{
    if (!(pmu->capabilities & UPMU_PMU_DEBUGCTL))
        return;
    upmu_image_add(image, UPMU_AMD_ROW_DEBUGCTL, UPMU_AMD_DEBUGCTL_FREEZE, 0, 0);
    upmu_image_add(image, UPMU_AMD_ROW_ACK, UPMU_AMD_STATUS_FROZEN, UPMU_AMD_STATUS_FROZEN, 0);
}

static const char *amd_resource_name(const struct upmu_pmu *pmu, unsigned resource)
{
    (void)pmu, (void)resource;
    return "the node's northbridge";
}

static const char *amd_counter_prefix(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index)
{
    (void)pmu;
    *out_index = counter;
    return "PMC";
}

/*
 * Return UPMU_NO_ROW for the only resource, the northbridge: core counters count its events, and no register has its
 * value.
 */
static unsigned amd_resource_row(const struct upmu_pmu *pmu, unsigned resource)
{
    (void)pmu, (void)resource;
    return UPMU_NO_ROW;
}

static const struct upmu_beyond *amd_beyond(const struct upmu_pmu *pmu)
{
    static const struct upmu_beyond northbridge[] = {
        {UPMU_AMD_ROW_SELECT, UPMU_AMD_COUNTERS, UPMU_AMD_NB_CODES, UPMU_AMD_NB_CODES}, {0}};

    return pmu->quirks & UPMU_AMD_NB_SHARED ? northbridge : NULL;
}

const struct upmu_backend upmu_amd_k8_backend = {
    .name = "amd_k8",
    .vendor = UPMU_VENDOR_AMD,
    .detect = upmu_amd_detect,
#if UPMU_NAMES
    .describe = upmu_amd_describe,
    .names = upmu_amd_names,
    .catalog = upmu_amd_catalog,
    .prefixes = UPMU_AMD_PREFIXES,
    .attribute = upmu_amd_attribute,
    .from_row = upmu_amd_from_row,
    .qualifier = upmu_amd_qualifier,
    .format = upmu_amd_format,
#endif
    .finish = upmu_amd_finish,
    .thread = upmu_amd_thread,
    .alternative = upmu_amd_alternative,
    .render = upmu_amd_render,
    .release = amd_release,
    .overflowed = amd_overflowed,
    .acknowledge = amd_acknowledge,
    .take_over = amd_take_over,
    .resource_name = amd_resource_name,
    .counter_prefix = amd_counter_prefix,
#if UPMU_IBS
    .ibs = upmu_amd_ibs,
    .ibs_sample = upmu_amd_ibs_sample,
#endif
    .resource_row = amd_resource_row,
    .beyond = amd_beyond,
};

#endif
