/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the writer of the sample ring.
 */
#ifndef UPMU_CORE_RING_H
#define UPMU_CORE_RING_H

#include <upmu/format.h>

/* Make an empty ring of the caller's memory. */
void upmu_ring_init(struct upmu_ring *ring, void *buffer, uint32_t bytes);

/*
 * Append a record about the events of an overflow, with the extension that `sampling` asks for (NULL: no extension).
 * Returns false if there was no room: the record counts as lost, which the next sample that finds room reports.
 * Context: nmi.
 */
bool upmu_ring_put(const struct upmu_overflow *overflow, uint32_t events, const struct upmu_kept *sampling);

/*
 * In a session whose records have callers, upmu_ring_put() leaves a record with an extension open. Return the place in
 * that record for callers: as many as the session's depth. Context: nmi.
 */
uint64_t *upmu_ring_callers(const struct upmu_ring *ring);

/* End the open record, which has this number of callers. Context: nmi. */
void upmu_ring_end(struct upmu_ring *ring, unsigned callers);

#endif
