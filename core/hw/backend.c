/* SPDX-License-Identifier: MIT */
/*
 * Functions that several backends call, or offer as their own: reading leaves of CPUID, attributes that several PMUs
 * have, events that can have any counter.  Pure.  core/event/backends.c, which lists all backends, may call functions
 * of this file, and none of them calls that file.
 */
#include "core/hw/backend.h"
#include "core/util/mem.h"
#include "core/util/text.h"

#if UPMU_FOREIGN || UPMU_BACKEND_PARAVIRT

bool upmu_pmu_any_counter(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                          struct upmu_alternative *out)
{
    (void)pmu, (void)thread;
    if (i)
        return false;
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    out->last = true;
    out->slot[0].counters = event->counters;
    return true;
}

const char *upmu_pmu_no_resource(const struct upmu_pmu *pmu, unsigned resource)
{
    (void)pmu, (void)resource;
    return "?";
}

#endif

#if UPMU_FOREIGN && UPMU_NAMES

enum upmu_status upmu_pmu_mode_attribute(struct upmu_event *event, const char *name, size_t length,
                                         const uint64_t *value)
{
    unsigned bit;

    if (upmu_text_is(name, length, "u") || upmu_text_is(name, length, "usr"))
        bit = UPMU_ATTR_USR;
    else if (upmu_text_is(name, length, "k") || upmu_text_is(name, length, "os"))
        bit = UPMU_ATTR_OS;
    else
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (value && *value > 1)
        return UPMU_ERR_BAD_VALUE;
    if (!value || *value)
        event->attributes |= bit;
    return UPMU_OK;
}

#endif

#if UPMU_NAMES && (UPMU_BACKEND_X86_CORE || UPMU_BACKEND_X86_P4)

enum upmu_status upmu_pmu_level_attribute(struct upmu_event *event, size_t length, const uint64_t *value)
{
    uint64_t given = UPMU_PRECISE_LEVEL(event->attributes), level = given;

    if (value)
        level = *value;
    else if (!given || length == 1)
        level++;
    if (level > UPMU_PRECISE_LEVEL(UPMU_ATTR_PRECISE))
        return UPMU_ERR_BAD_VALUE;
    if (value && given && given != level)
        return UPMU_ERR_CONTRADICTION;
    event->attributes = (event->attributes & ~UPMU_ATTR_PRECISE) | (uint32_t)level << UPMU_ATTR_PRECISE_SHIFT;
    return UPMU_OK;
}

#endif

void upmu_detection_read(const struct upmu_detection *detection, uint32_t highest, const struct upmu_leaf *leaf,
                         unsigned count, uint32_t *out_words)
{
    uint32_t *words = out_words;

    for (; count; count--, leaf++, words += 4) {
        memset(words, 0, 4 * sizeof *words);
        if (leaf->leaf <= highest && (!leaf->bits || (out_words[leaf->gate] & leaf->bits)))
            detection->cpuid(detection->context, leaf->leaf, leaf->subleaf, words);
    }
}

bool upmu_detection_identify(const struct upmu_detection *detection, struct upmu_pmu *pmu)
{
    pmu->family = detection->family;
    pmu->model = detection->model;
    pmu->stepping = detection->stepping;
    if (detection->hypervisor)
        pmu->capabilities |= UPMU_PMU_HYPERVISOR;
    return true;
}
