/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the rows of one register, as they apply to a caller.
 */
#ifndef UPMU_CORE_PERMIT_CORE_H
#define UPMU_CORE_PERMIT_CORE_H

#include <upmu/permit.h>

/* The rows of one address together, as they apply to a caller. */
struct permit_sum {
    uint64_t mine;   /* bits that it may set */
    uint64_t others; /* bits of counters that it does not own */
    uint32_t flags;  /* of the rows */
    uint32_t beyond; /* events that it may not choose, as in struct upmu_permit */
    bool found;
    bool owned; /* it owns the counters of a row */
    bool whole; /* of all rows */
};

/* Add a row of the register to what is known. */
void upmu_permit_weigh(struct permit_sum *sum, const struct upmu_permit *row, uint32_t mine, enum upmu_level level);

/* May the value be written, or with NULL the register be read? */
bool upmu_permit_allows(const struct permit_sum *sum, const uint64_t *value);

#endif
