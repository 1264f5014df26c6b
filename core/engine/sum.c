/* SPDX-License-Identifier: MIT */
/* Sums of counts of one event over several sessions.  Called for groups (group.c) and hybrid sessions (hybrid.c). */
#include "core/engine/sum.h"
#include "core/util/mem.h"
#include "core/util/muldiv.h"

#if UPMU_GROUPS || UPMU_HYBRIDS

void upmu_sum_begin(struct upmu_count *sum)
{
    memset(sum, 0, sizeof *sum);
    sum->quality = UPMU_QUALITY_NEVER_RAN;
}

/*
 * Return the quality of the sum of two counts, neither of which is NEVER_RAN: the worse of the two, except where one is
 * UNPROVEN and the other shows that counters move.
 */
static enum upmu_quality worse_quality(const struct upmu_count *sum, const struct upmu_count *count)
{
    const struct upmu_count *doubtful = sum->quality == UPMU_QUALITY_UNPROVEN ? sum : count;
    const struct upmu_count *other = doubtful == sum ? count : sum;

    /*
     * UNPROVEN: the count is 0, and no counter had been seen to move when it was read.  If the other count shows that
     * counters move, the quality of that count is returned.
     */
    if (doubtful->quality == UPMU_QUALITY_UNPROVEN && (other->raw || other->quality == UPMU_QUALITY_PARTIAL ||
                                                       other->quality == UPMU_QUALITY_SCALED))
        return other->quality;
    return sum->quality > count->quality ? sum->quality : count->quality;
}

void upmu_sum_add(struct upmu_count *sum, const struct upmu_count *count)
{
    struct upmu_count part = *count;

    if (part.quality == UPMU_QUALITY_NEVER_RAN) {
        if (!part.enabled_ns)
            return;
        part.quality = UPMU_QUALITY_PARTIAL; /* the session was enabled, without counters for its events */
    }
    sum->quality = sum->quality == UPMU_QUALITY_NEVER_RAN ? part.quality : worse_quality(sum, &part);
    sum->value = upmu_add_saturating(sum->value, part.value);
    sum->raw = upmu_add_saturating(sum->raw, part.raw);
    sum->error = upmu_add_saturating(sum->error, part.error);
    sum->enabled_ns = upmu_add_saturating(sum->enabled_ns, part.enabled_ns);
    sum->running_ns = upmu_add_saturating(sum->running_ns, part.running_ns);
    sum->lost = upmu_add_saturating_32(sum->lost, part.lost);
}

enum upmu_status upmu_sum_read(struct upmu_set *set, unsigned first, unsigned count, struct upmu_count *sums,
                               bool *out_fault)
{
    for (unsigned i = 0; i < count; i++) {
        struct upmu_count part;
        enum upmu_status status = upmu_set_read(set, first + i, 1, &part);

        if (status == UPMU_OK)
            upmu_sum_add(&sums[i], &part);
        else if (status == UPMU_ERR_PORT)
            *out_fault = true;
        else
            return status;
    }
    return UPMU_OK;
}

void upmu_sum_part(struct upmu_count *sums, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sums[i].quality = UPMU_QUALITY_PARTIAL;
}

#endif
