/* SPDX-License-Identifier: MIT */
/*
 * Registers of a paravirtual PMU: a page of memory that the hypervisor reads and writes, and its calls
 * (upmu/paravirt.h).
 *
 * What a guest wishes and loads are stores to the page.  The enable register is the one that is no memory: writing it
 * is a call, after which what the slots counted is in the page.
 */
#ifndef UPMU_CORE_SHARED_PAGE_H
#define UPMU_CORE_SHARED_PAGE_H

#include "core/util/shared.h"
#include "core/hw/bank.h"
#include <upmu/paravirt.h>

#if UPMU_BACKEND_PARAVIRT

/* Give the host this CPU's page, and take it back; true without an access where registers are MSRs. */
bool upmu_shared_page_map(struct upmu_bank *bank);
bool upmu_shared_page_unmap(struct upmu_bank *bank);

static inline bool upmu_shared_page_is(const struct upmu_bank *bank)
{
    return bank->pmu->capabilities & UPMU_PMU_PAGE;
}

/*
 * A value that was read is as old as the first read of a counter since the last of these calls, and each is given
 * once.
 */
static inline void upmu_shared_page_stale(struct upmu_bank *bank)
{
    /* A read on another CPU, which follows a session, may do this, too: that costs a call. */
    UPMU_STORE(bank->fresh, 0);
}

bool upmu_shared_page_read(struct upmu_bank *bank, unsigned row, uint64_t *out_value);
bool upmu_shared_page_write(struct upmu_bank *bank, unsigned row, uint64_t value);

#else

static inline bool upmu_shared_page_map(struct upmu_bank *bank)
{
    (void)bank;
    return true;
}

static inline bool upmu_shared_page_unmap(struct upmu_bank *bank)
{
    (void)bank;
    return true;
}

static inline void upmu_shared_page_stale(struct upmu_bank *bank)
{
    (void)bank;
}

#endif

#endif
