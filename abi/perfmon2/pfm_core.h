/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the parts of the perfmon2 layer.
 */
#ifndef UPMU_ABI_PERFMON2_CORE_H
#define UPMU_ABI_PERFMON2_CORE_H

#include <abi/perfmon2/perfmon2.h>

#define PFM_NO_EVENT 0xffu

static inline const struct upmu_pmu *upmu_pfm_pmu(const struct upmu_pfm_context *context)
{
    return &context->session.machine->pmu[0];
}

/* The set of a number, or NULL. */
struct upmu_pfm_set *upmu_pfm_find_set(struct upmu_pfm_context *context, unsigned number);

/* The set of the session's chain that stands for it. */
struct upmu_set *upmu_pfm_core_set(struct upmu_pfm_context *context, struct upmu_pfm_set *set);

/* Copy a vector of elements into memory.vector; *out_count of them. */
enum upmu_status upmu_pfm_fetch(struct upmu_pfm_context *context, const void *user, size_t bytes, size_t element,
                                size_t *out_count);

/* The counter whose PMD has this number, or UPMU_NO_COUNTER. */
unsigned upmu_pfm_counter(const struct upmu_pmu *pmu, unsigned number);

/* May a program write this PMC? */
bool upmu_pfm_is_pmc(const struct upmu_pmu *pmu, unsigned number);

/* Bits of register numbers. */
void upmu_pfm_set_bit(uint64_t *bits, unsigned number);

/* The calls for `count` elements that are in memory.vector: write PMCs, write PMDs, read PMDs. */
enum upmu_status upmu_pfm_take_pmcs(struct upmu_pfm_context *context, size_t count);
enum upmu_status upmu_pfm_take_pmds(struct upmu_pfm_context *context, size_t count);
enum upmu_status upmu_pfm_fill_pmds(struct upmu_pfm_context *context, size_t count);

/* Does a hook give its owner these rights (UPMU_PFM_)? */
bool upmu_pfm_may_use(const struct upmu_pfm_context *context, const struct upmu_event *event, uint32_t rights);

/* May the owner use all events that the session has now? */
bool upmu_pfm_may_use_all(struct upmu_pfm_context *context);

/* Count a context and its memory as its owner's; false: that is too much.  And the end of it. */
bool upmu_pfm_account(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner, const struct upmu_pfm_memory *memory);
void upmu_pfm_discharge(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner, const struct upmu_pfm_memory *memory);

/* Make events of the registers of all sets, in a detached session. */
enum upmu_status upmu_pfm_build(struct upmu_pfm_context *context);

/* The value of a PMD now; UPMU_OK or as upmu_set_read(). */
enum upmu_status upmu_pfm_value(struct upmu_pfm_context *context, struct upmu_pfm_set *set, unsigned counter,
                                uint64_t *out_value);

/* The value that a PMD was set to last, by an overflow or its program. */
uint64_t upmu_pfm_last_reset(struct upmu_pfm_context *context, struct upmu_pfm_set *set, unsigned counter);

/* Counters whose PMDs a message is about. */
uint32_t upmu_pfm_overflowed(struct upmu_pfm_context *context, const struct upmu_message *message);

/* Keep all values, and what waiting messages are about, after the session was detached. */
void upmu_pfm_keep(struct upmu_pfm_context *context);

#endif
