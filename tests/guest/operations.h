/* SPDX-License-Identifier: MIT */
/*
 * How many random operations a test makes on the door of a guest: GUEST_OPERATIONS=N for each door, or else what the
 * test says for `make test` and for FUZZ_RUNS=soak.
 */
#ifndef UPMU_TESTS_GUEST_OPERATIONS_H
#define UPMU_TESTS_GUEST_OPERATIONS_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/common/share.h"

static inline unsigned long long guest_operations(unsigned long long few, unsigned long long soak)
{
    const char *asked = getenv("GUEST_OPERATIONS");

    return asked ? strtoull(asked, NULL, 10) : share_everything() ? soak : few;
}

static inline void guest_operations_made(const char *door, unsigned long long made)
{
    printf("    %llu random operations on the door %s\n", made, door);
}

#endif
