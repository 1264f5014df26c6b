/* SPDX-License-Identifier: MIT */
/*
 * The allow-list, by its rows.  Pure, without other files: a small privileged server can be linked with this file and a
 * table alone.
 */
#include "core/hw/permit_core.h"

#if UPMU_PERMIT

void upmu_permit_weigh(struct permit_sum *sum, const struct upmu_permit *row, uint32_t mine, enum upmu_level level)
{
    if (!sum->found)
        sum->whole = true;
    sum->found = true;
    sum->flags |= row->flags;
    if (row->counters & ~mine) {
        sum->whole = false;
        sum->others |= row->privileged;
    } else {
        sum->owned = true;
        sum->mine |= level == UPMU_LEVEL_SESSION ? row->session : row->privileged;
        sum->beyond |= level == UPMU_LEVEL_SESSION ? row->beyond : 0;
    }
}

bool upmu_permit_allows(const struct permit_sum *sum, const uint64_t *value)
{
    if (!value)
        return sum->flags & UPMU_PERMIT_READ && (sum->owned || sum->flags & UPMU_PERMIT_PART);
    if (sum->beyond && (*value & sum->beyond >> 16) == (sum->beyond & 0xffffu))
        return false;
    return sum->whole && sum->mine && !(sum->flags & UPMU_PERMIT_MERGED) && !(*value & ~sum->mine);
}

bool upmu_permit_check(const struct upmu_permit *rows, size_t count, uint32_t mine, enum upmu_level level, uint32_t msr,
                       const uint64_t *value)
{
    struct permit_sum sum = {0};

    for (size_t i = 0; i < count; i++)
        if (rows[i].address == msr)
            upmu_permit_weigh(&sum, &rows[i], mine, level);
    return upmu_permit_allows(&sum, value);
}

bool upmu_permit_merge(const struct upmu_permit *rows, size_t count, uint32_t mine, enum upmu_level level, uint32_t msr,
                       uint64_t present, uint64_t *value)
{
    struct permit_sum sum = {0};
    uint64_t bits;

    for (size_t i = 0; i < count; i++)
        if (rows[i].address == msr)
            upmu_permit_weigh(&sum, &rows[i], mine, level);
    bits = sum.mine & ~sum.others;
    if (!(sum.flags & UPMU_PERMIT_PART) || !bits)
        return false;
    for (size_t i = 0; i < count; i++)
        if (rows[i].address == msr && !(rows[i].counters & ~mine) && *value & rows[i].privileged & ~sum.mine)
            return false;
    /* An acknowledge register reads as 0: so overflows of other counters are not acknowledged. */
    *value = (*value & bits) | (present & ~bits);
    return true;
}

#endif
