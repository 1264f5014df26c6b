/* SPDX-License-Identifier: MIT */
/*
 * The memory of sets: for how many events a set has room, and where each of its arrays lies (docs/ENGINE.md, "The
 * memory of a session").
 */
#ifndef UPMU_CORE_ROOM_H
#define UPMU_CORE_ROOM_H

#include <upmu/set.h>

/*
 * Return for how many events a set in this memory of `bytes` bytes has room, at most UPMU_SET_EVENTS.  0: there is not
 * even room for one, or the memory is not aligned as struct upmu_set.
 */
unsigned upmu_room_events(const void *memory, size_t bytes);

/*
 * Make an empty set, which is in no session, with room for `events` events: clear its memory and place its arrays.
 * Memory behind that room is not touched.
 */
void upmu_room_begin(struct upmu_set *set, unsigned events);

#endif
