/* SPDX-License-Identifier: MIT */
/* Sums over those rows of an allow-list that are for one register, as they apply to one caller. */
#ifndef UPMU_CORE_PERMIT_CORE_H
#define UPMU_CORE_PERMIT_CORE_H

#include <upmu/permit.h>

/* All rows with one address taken together, as they apply to a caller with certain counters and a level. */
struct permit_sum {
    uint64_t mine;   /* bits that the caller may set, of rows all of whose counters it owns */
    uint64_t others; /* bits that rows with other counters have */
    uint32_t flags;  /* UPMU_PERMIT_… of all rows, ORed */
    uint32_t beyond; /* events that the caller may not choose, as in upmu_permit.beyond; 0: none */
    bool found;      /* a row was added */
    bool owned;      /* there is a row of which the caller owns all counters */
    bool whole;      /* the caller owns all counters of each row */
};

/* Add a row of the register to the sum, for a caller of that level that owns the counters of the mask `mine`. */
void upmu_permit_weigh(struct permit_sum *sum, const struct upmu_permit *row, uint32_t mine, enum upmu_level level);

/* May the caller write *value?  If `value` is NULL: may it read the register?  False if no row was added. */
bool upmu_permit_allows(const struct permit_sum *sum, const uint64_t *value);

#endif
