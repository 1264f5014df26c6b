/* SPDX-License-Identifier: MIT */
/*
 * The value that a read hook of the tests stores when it fails.  port.h: the value is then ignored.  A hook that left
 * the variable alone would hide a caller that uses it all the same: mostly the variable holds 0.
 *
 * Nearly all status and control bits are set in it, but it is not all ones, by which a unit that has vanished is known.
 */
#ifndef UPMU_TESTS_GARBAGE_H
#define UPMU_TESTS_GARBAGE_H

#include <stdbool.h>
#include <stdint.h>

#define GARBAGE (~UINT64_C(0x80))

/* A read that fails. */
static inline bool garbage(uint64_t *out_value)
{
    *out_value = GARBAGE;
    return false;
}

/* A read that is `fine`, or fails with whatever its hook has stored or not. */
static inline bool garbage_unless(bool fine, uint64_t *out_value)
{
    return fine || garbage(out_value);
}

#endif
