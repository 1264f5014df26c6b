/* SPDX-License-Identifier: MIT */
/*
 * Declarations for both packers: the library's, and the search of the command `upmu pack`.
 */
#ifndef UPMU_CORE_PACK_CORE_H
#define UPMU_CORE_PACK_CORE_H

#include <upmu/pack.h>

/* Some requests of a list: member[i] is a request's number in the list, and `place` describes the whole list. */
struct upmu_pack_members {
    const struct upmu_place_input *place;
    const uint16_t *member;
};

/*
 * Make *set, a copy of members->place, the placement's input for the requests in members->member alone. No request has
 * to stay on its counters, and counters that are taken are left out. The caller sets set->request_count. Returns the
 * most requests that a set may have: `limit`, or UPMU_REQUESTS if `limit` is 0 or above UPMU_REQUESTS.
 */
unsigned upmu_pack_begin(const struct upmu_pack_members *members, struct upmu_place_input *set, unsigned limit);

/* Events of a PMU as a list of requests. */
struct upmu_pack_list {
    const struct upmu_pmu *pmu;
    const struct upmu_event *events;
};

/* Fill in *place: request i is event i of the list, on an idle PMU. *place refers to *list afterwards. */
void upmu_pack_describe(const struct upmu_pack_list *list, struct upmu_place_input *place);

#endif
