/* SPDX-License-Identifier: MIT */
/*
 * The memory of sets: for how many events it has room, and where each array lies (docs/ENGINE.md, "The memory of a
 * session").
 */
#ifndef UPMU_CORE_ROOM_H
#define UPMU_CORE_ROOM_H

#include <upmu/set.h>

/*
 * Returns for how many events a set has room whose memory has `bytes`: 0 to UPMU_SET_EVENTS; 0 also where the memory is
 * not aligned.
 */
unsigned upmu_room_events(const void *memory, size_t bytes);

/* Make an empty set, of no session, with room for `events` events.  Nothing behind that room is touched. */
void upmu_room_begin(struct upmu_set *set, unsigned events);

#endif
