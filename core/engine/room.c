/* SPDX-License-Identifier: MIT */
/*
 * The memory of sets: how many bytes a set needs, for how many events given memory has room, and where each array lies.
 */
#include "core/engine/room.h"
#include "core/util/mem.h"
#include <upmu/session.h>

_Static_assert(sizeof(struct upmu_set) == UPMU_SET_BYTES(UPMU_SET_EVENTS), "nothing follows the room of a set");
_Static_assert(sizeof(struct upmu_session) == UPMU_SESSION_BYTES(UPMU_SET_EVENTS),
               "nothing follows the first set of a session");

size_t upmu_set_bytes(unsigned events)
{
    return events && events <= UPMU_SET_EVENTS ? UPMU_SET_BYTES(events) : 0;
}

size_t upmu_session_bytes(unsigned events)
{
    return events && events <= UPMU_SET_EVENTS ? UPMU_SESSION_BYTES(events) : 0;
}

unsigned upmu_room_events(const void *memory, size_t bytes)
{
    unsigned events = 0;

    if ((uintptr_t)memory & (_Alignof(struct upmu_set) - 1u))
        return 0;
    while (events < UPMU_SET_EVENTS && UPMU_SET_BYTES(events + 1) <= bytes)
        events++;
    return events;
}

/*
 * The arrays that a switch of threads needs come first: tallies and steps.  Tallies are cleared: `values` of an event
 * may name events that the set has not.  The other arrays begin with each event that is stored, and with a program.
 */
void upmu_room_begin(struct upmu_set *set, unsigned events)
{
    memset(set, 0, offsetof(struct upmu_set, room) + events * sizeof *set->tally);
    set->capacity = (uint8_t)events;
    set->tally = (struct upmu_tally *)(void *)set->room;
    set->program.step = (struct upmu_step *)(void *)(set->tally + events);
    set->event = (struct upmu_event *)(void *)(set->program.step + UPMU_STEPS_OF(events));
    set->estimate = (struct upmu_estimate *)(void *)(set->event + events);
    set->sampling = (struct upmu_kept *)(void *)(set->estimate + events);
}
