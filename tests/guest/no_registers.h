/* SPDX-License-Identifier: MIT */
/*
 * Hooks of a guest whose PMU is a page: it uses no register.
 */
#ifndef UPMU_TESTS_NO_REGISTERS_H
#define UPMU_TESTS_NO_REGISTERS_H

#include "tests/common/garbage.h"
#include "tests/common/host.h"

static inline bool no_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context;
    fail_msg("RDMSR %x", msr);
    return garbage(out_value);
}

static inline bool no_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context, (void)value;
    fail_msg("WRMSR %x", msr);
    return false;
}

static inline void no_rearm(void *context)
{
    (void)context;
}

#endif
