/* SPDX-License-Identifier: MIT */
/*
 * The writer of a session's ring of samples (struct upmu_ring).
 */
#ifndef UPMU_CORE_RING_H
#define UPMU_CORE_RING_H

#include <upmu/format.h>

/* Make an empty ring that keeps its records in the caller's memory: `bytes`, rounded down to a multiple of 8. */
void upmu_ring_init(struct upmu_ring *ring, void *buffer, uint32_t bytes);

/*
 * Append a record with the sample of an overflow; `events` (bit n: event n of the set) are the events that it is for.
 * If `sampling` is not NULL, the record has an extension with the counts that it asks for. Returns false if the ring
 * had no room: then the sample is counted as lost, and the next sample that finds room says so. Context: nmi.
 */
bool upmu_ring_put(const struct upmu_overflow *overflow, uint32_t events, const struct upmu_kept *sampling);

#if UPMU_PRECISE
/*
 * As upmu_ring_put(), for a precise sample of the event overflow->event that asks for parts of its record: the record
 * also has the parts in overflow->parts.
 */
bool upmu_ring_put_parts(const struct upmu_overflow *overflow, const struct upmu_kept *sampling);
#endif

/*
 * In a session whose records have callers' addresses, upmu_ring_put() leaves a record with an extension open: the
 * reader does not see it before upmu_ring_end(). Return the address, in the open record, of the room for callers; there
 * is room for session->callers->depth of them. Context: nmi.
 */
uint64_t *upmu_ring_callers(const struct upmu_ring *ring);

/* End the open record, in which the caller has stored the addresses of `callers` callers. Context: nmi. */
void upmu_ring_end(struct upmu_ring *ring, unsigned callers);

#endif
