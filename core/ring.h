/* SPDX-License-Identifier: MIT */
/*
 * The writer's side of the sample ring.
 */
#ifndef UPMU_CORE_RING_H
#define UPMU_CORE_RING_H

#include <upmu/session.h>

/* Begin an empty ring in the caller's memory. */
void upmu_ring_init(struct upmu_ring *ring, void *buffer, uint32_t bytes);

/*
 * Append a sample; false: no room, it is counted as lost and told with the next
 * sample that finds room.  Context: nmi.
 */
bool upmu_ring_put(struct upmu_ring *ring, const struct upmu_sample *sample);

#endif
