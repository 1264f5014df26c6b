/* SPDX-License-Identifier: MIT */
/*
 * The writer's side of the sample ring.
 */
#ifndef UPMU_CORE_RING_H
#define UPMU_CORE_RING_H

#include <upmu/format.h>

/* Begin an empty ring in the caller's memory. */
void upmu_ring_init(struct upmu_ring *ring, void *buffer, uint32_t bytes);

/*
 * Append a record about the events of an overflow, with the extension that `sampling` asks for
 * (NULL: the sample alone).  False: no room; it is counted as lost and reported with the next
 * sample that finds room.  Context: nmi.
 */
bool upmu_ring_put(const struct upmu_overflow *overflow, uint32_t events, const struct upmu_kept *sampling);

/*
 * Where the session's records have callers, upmu_ring_put() leaves the record with `sampling` open.  Returns the place
 * of the callers in it, with room for as many as the session's depth.  Context: nmi.
 */
uint64_t *upmu_ring_callers(const struct upmu_ring *ring);

/* End the record that is open, with so many callers.  Context: nmi. */
void upmu_ring_end(struct upmu_ring *ring, unsigned callers);

#endif
