/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the packers: that of the library, and the search of `upmu pack`.
 */
#ifndef UPMU_CORE_PACK_CORE_H
#define UPMU_CORE_PACK_CORE_H

#include <upmu/pack.h>

/* Some of the requests of a list, by number; `place` is the list's. */
struct upmu_pack_members {
    const struct upmu_place_input *place;
    const uint16_t *member;
};

/*
 * Make *set, a copy of members->place, the input for a set of these requests alone: nothing stays, and what is taken is
 * not there.  Returns how many requests a set can have, if at most `limit` (0: no limit) were asked for.
 */
unsigned upmu_pack_begin(const struct upmu_pack_members *members, struct upmu_place_input *set, unsigned limit);

/* Events of a PMU as a list of requests. */
struct upmu_pack_list {
    const struct upmu_pmu *pmu;
    const struct upmu_event *events;
};

/* Describe them in *place, which refers to *list. */
void upmu_pack_describe(const struct upmu_pack_list *list, struct upmu_place_input *place);

#endif
