/* SPDX-License-Identifier: MIT */
/* Functions that the files of the perfmon2 layer call from each other: sets, registers, rights, events. */
#ifndef UPMU_ABI_PERFMON2_CORE_H
#define UPMU_ABI_PERFMON2_CORE_H

#include <abi/perfmon2/perfmon2.h>

#define PFM_NO_EVENT 0xffu

static inline const struct upmu_pmu *upmu_pfm_pmu(const struct upmu_pfm_context *context)
{
    return &context->pfm->machine->pmu[0];
}

/* Return the set of a context that has the number `number`; NULL: the context has no such set. */
struct upmu_pfm_set *upmu_pfm_find_set(struct upmu_pfm_context *context, unsigned number);

/* Return the set of the session's chain with the number of a context's set; set->own, if the chain has none. */
struct upmu_set *upmu_pfm_core_set(struct upmu_pfm_context *context, struct upmu_pfm_set *set);

/*
 * Copy a vector of `bytes` from the program into memory.vector; *out_count: how many elements of `element` bytes.
 * Returns UPMU_OK; UPMU_ERR_NO_SPACE (longer than memory.vector_bytes); UPMU_ERR_INVALID (not a whole number of
 * elements, or none); UPMU_ERR_PORT (copying failed).
 */
enum upmu_status upmu_pfm_fetch(struct upmu_pfm_context *context, const void *user, size_t bytes, size_t element,
                                size_t *out_count);

/* Return the counter whose PMD has the number `number`; UPMU_NO_COUNTER: no counter has, or it is a metric. */
unsigned upmu_pfm_counter(const struct upmu_pmu *pmu, unsigned number);

/*
 * Is `number` that of a PMC, a register that programs may write: a select, a payload register, an ESCR, or the control
 * of fixed counters, which this PMU has?
 */
bool upmu_pfm_is_pmc(const struct upmu_pmu *pmu, unsigned number);

/* Set the bit of register `number` in a bit vector (words of 64 bits, the lowest number first). */
void upmu_pfm_set_bit(uint64_t *bits, unsigned number);

/* Write PMCs, write PMDs, read PMDs: the `count` elements in memory.vector. fill_pmds() stores the values there. */
enum upmu_status upmu_pfm_take_pmcs(struct upmu_pfm_context *context, size_t count);
enum upmu_status upmu_pfm_take_pmds(struct upmu_pfm_context *context, size_t count);
enum upmu_status upmu_pfm_fill_pmds(struct upmu_pfm_context *context, size_t count);

/*
 * May the owner of a context use an event that needs the rights `rights` (UPMU_PFM_)? The hook may_use() says so;
 * without it only an event that needs no right may be used.
 */
bool upmu_pfm_may_use(const struct upmu_pfm_context *context, const struct upmu_event *event, uint32_t rights);

/* May the owner use all events that the sets of the session have now? */
bool upmu_pfm_may_use_all(struct upmu_pfm_context *context);

/*
 * Add a context and its memory to the sums of all owners and of this one; false: a limit would be passed, and nothing
 * was added. upmu_pfm_discharge() subtracts the same again.
 */
bool upmu_pfm_account(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner, const struct upmu_pfm_memory *memory);
void upmu_pfm_discharge(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner, const struct upmu_pfm_memory *memory);

/*
 * Make the events of all sets anew from the registers that the program wrote. The session must be detached.
 * UPMU_ERR_NOT_PERMITTED: the owner may not use one of them.
 */
enum upmu_status upmu_pfm_build(struct upmu_pfm_context *context);

/*
 * Store the value that a PMD has now. A PMD without an event, or of a context that is not loaded, has the value that
 * the context keeps. Returns UPMU_OK or a failure of upmu_set_read().
 */
enum upmu_status upmu_pfm_value(struct upmu_pfm_context *context, struct upmu_pfm_set *set, unsigned counter,
                                uint64_t *out_value);

/*
 * Return the value at which the present period of a PMD began; of a PMD that counts, the value that its program wrote.
 */
uint64_t upmu_pfm_last_reset(struct upmu_pfm_context *context, struct upmu_pfm_set *set, unsigned counter);

/* Return the mask of the counters that overflowed, by a message in the queue of a context's session. */
uint32_t upmu_pfm_overflowed(struct upmu_pfm_context *context, const struct upmu_message *message);

/*
 * Store the present values of all PMDs in the context, and let the messages in the queue name counters in place of
 * events. Called after the session was detached; then no counter of a set has an event until upmu_pfm_build().
 */
void upmu_pfm_keep(struct upmu_pfm_context *context);

#endif
