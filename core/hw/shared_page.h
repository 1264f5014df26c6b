/* SPDX-License-Identifier: MIT */
/*
 * The registers of a paravirtual PMU: a page of memory that the hypervisor reads and writes, and calls of the
 * hypervisor (upmu/paravirt.h).
 *
 * A guest writes selects and start values by stores to the page.  The enable register alone is no memory: a write of it
 * is a call, after which the page has the values that the slots have counted.
 */
#ifndef UPMU_CORE_SHARED_PAGE_H
#define UPMU_CORE_SHARED_PAGE_H

#include "core/util/shared.h"
#include "core/hw/bank.h"
#include <upmu/paravirt.h>

#if UPMU_BACKEND_PARAVIRT

/*
 * Give this CPU's page to the hypervisor, or take it back.  Both return false where the hypervisor refuses;
 * upmu_shared_page_map() also if the host has no page, or the hypervisor another interface.  On a PMU whose registers
 * are not in a page, both return true and do nothing.
 */
bool upmu_shared_page_map(struct upmu_bank *bank);
bool upmu_shared_page_unmap(struct upmu_bank *bank);

static inline bool upmu_shared_page_is(const struct upmu_bank *bank)
{
    return bank->pmu->capabilities & UPMU_PMU_PAGE;
}

/*
 * Forget that the hypervisor has stored values for later reads, so that the next read of a counter returns a value of
 * now.  A read of one counter lets the hypervisor store the values of all; a later read of another counter returns its
 * stored value, once.
 */
static inline void upmu_shared_page_stale(struct upmu_bank *bank)
{
    /* A read on another CPU, which follows a session, may store this field, too: the price is one call more. */
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
