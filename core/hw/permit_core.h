/* SPDX-License-Identifier: MIT */
/*
 * The allow-list's rows of one register, summed up for a caller.
 */
#ifndef UPMU_CORE_PERMIT_CORE_H
#define UPMU_CORE_PERMIT_CORE_H

#include <upmu/permit.h>

/* All rows of one address together, as they apply to a caller. */
struct permit_sum {
    uint64_t mine;   /* bits that the caller may set */
    uint64_t others; /* bits of counters that the caller does not own */
    uint32_t flags;  /* UPMU_PERMIT_… of all rows, ORed */
    uint32_t beyond; /* events that the caller may not choose, as in struct upmu_permit */
    bool found;      /* a row was added */
    bool owned;      /* there is a row of which the caller owns all counters */
    bool whole;      /* the caller owns all counters of each row */
};

/* Add a row of the register to the sum, for a caller of that level that owns the counters of the mask `mine`. */
void upmu_permit_weigh(struct permit_sum *sum, const struct upmu_permit *row, uint32_t mine, enum upmu_level level);

/* May the caller write this value or, if `value` is NULL, read the register? */
bool upmu_permit_allows(const struct permit_sum *sum, const uint64_t *value);

#endif
