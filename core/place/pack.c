/* SPDX-License-Identifier: MIT */
/*
 * Pack a list of requests into sets of which each can be placed on its own (include/upmu/pack.h). The hardest request
 * comes first, and each goes into the first set where it fits. A lower bound for the number of sets follows from
 * counters alone. Pure.
 */
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/place/pack_core.h"

#if UPMU_PACK

#define NO_SET 0xffffu

struct list {
    const struct upmu_pack_input *input;
    struct upmu_pack_work *work;
    uint16_t *set_of;
    struct upmu_pack_result *out;
    struct upmu_pack_members members; /* work->member */
    struct upmu_place_input set;      /* what is to be placed when a set is tried: the requests in `members` */
    unsigned limit;                   /* the most requests that one set may have */
};

static bool member_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    const struct upmu_pack_members *members = context;

    return members->place->alternative(members->place->context, members->member[request], i, out);
}

unsigned upmu_pack_begin(const struct upmu_pack_members *members, struct upmu_place_input *set, unsigned limit)
{
    set->alternative = member_alternative;
    set->context = members;
    set->stay = NULL;
    set->set_of = NULL;
    set->counters &= ~set->taken;
    return limit - 1u >= UPMU_REQUESTS ? UPMU_REQUESTS : limit;
}

/*
 * Store in work->request[request] the counters that a request can have, and its ease: 2 for each counter, and 1 more if
 * the request claims no resource. A request that can have a counter under the limit is taken to have all of these
 * counters.
 */
static void summarize_request(struct list *list, unsigned request)
{
    const struct upmu_place_input *place = list->input->place;
    struct upmu_alternative alternative;
    uint32_t counters = 0;
    bool claims = false;

    memset(&alternative, 0, sizeof alternative);
    for (unsigned i = 0; place->alternative(place->context, request, i, &alternative); i++)
        for (unsigned k = 0; k < alternative.slot_count && k < UPMU_SLOTS; k++) {
            counters |= alternative.slot[k].counters & list->set.counters;
            claims = claims || alternative.slot[k].resource_count != 0;
        }
    if (counters & place->limited)
        counters |= place->limited & list->set.counters;
    list->work->request[request].counters = counters;
    list->work->request[request].ease = (uint8_t)(2u * upmu_bits_count(counters) + !claims);
}

/* Store the order in which requests are packed: the least `ease` first; those of equal ease as in the list. */
static void sort_requests(struct list *list)
{
    struct upmu_pack_request *request = list->work->request;
    unsigned sorted = 0;

    for (unsigned level = 0; level <= 2u * UPMU_COUNTERS + 1u; level++)
        for (unsigned i = 0; i < list->input->request_count; i++)
            if (request[i].ease == level)
                request[sorted++].order = (uint16_t)i;
}

static enum upmu_status fits_in_set(struct list *list, unsigned request, unsigned set)
{
    unsigned count = 0;

    for (unsigned i = 0; i < list->input->request_count; i++)
        if (list->set_of[i] == set) {
            if (count + 1u >= list->limit)
                return UPMU_ERR_DOES_NOT_FIT;
            list->work->member[count++] = (uint16_t)i;
        }
    list->work->member[count++] = (uint16_t)request;
    list->set.request_count = count;
    list->out->steps++;
    return upmu_requests_place(&list->set, &list->work->place, list->work->result, NULL);
}

static enum upmu_status first_fit(struct list *list)
{
    struct upmu_pack_result *out = list->out;
    enum upmu_status status;

    for (unsigned i = 0; i < list->input->request_count; i++) {
        unsigned request = list->work->request[i].order, set = 0;

        while ((status = fits_in_set(list, request, set)) != UPMU_OK)
            if (set++ == out->sets) {
                out->culprit = request;
                return status;
            }
        list->set_of[request] = (uint16_t)set;
        if (set == out->sets)
            out->sets++;
    }
    return UPMU_OK;
}

/* Return how many sets are needed, at least, by the requests all of whose counters are among `counters`. */
static unsigned sets_for(const struct list *list, uint32_t counters)
{
    unsigned room = upmu_bits_count(counters), limited = upmu_bits_count(counters & list->set.limited), requests = 0;

    for (unsigned i = 0; i < list->input->request_count; i++)
        requests += (list->work->request[i].counters & ~counters) == 0;
    if (limited > list->set.limit)
        room -= limited - list->set.limit;
    if (room > list->limit)
        room = list->limit;
    return room ? (requests + room - 1u) / room : 1u;
}

/*
 * Return a lower bound for the number of sets: the greatest result of sets_for() for the counters of one request, or
 * for all counters.
 */
static unsigned bound_by_counters(const struct list *list)
{
    unsigned bound = sets_for(list, list->set.counters);

    for (unsigned i = 0; i < list->input->request_count; i++) {
        unsigned sets = sets_for(list, list->work->request[i].counters);

        if (bound < sets)
            bound = sets;
    }
    return bound;
}

enum upmu_status upmu_requests_pack(const struct upmu_pack_input *input, struct upmu_pack_work *work, size_t bytes,
                           uint16_t *set_of, struct upmu_pack_result *out)
{
    unsigned count = input->request_count;
    struct list list = {input, work, set_of, out, {input->place, work->member}, *input->place, 0};
    enum upmu_status status;

    memset(out, 0, sizeof *out);
    if (count - 1u >= UPMU_PACK_REQUESTS)
        return UPMU_ERR_INVALID;
    if (bytes < UPMU_PACK_BYTES(count))
        return UPMU_ERR_NO_SPACE;
    list.limit = upmu_pack_begin(&list.members, &list.set, input->limit);
    for (unsigned i = 0; i < count; i++) {
        summarize_request(&list, i);
        set_of[i] = NO_SET;
    }
    sort_requests(&list);
    status = first_fit(&list);
    if (status == UPMU_OK)
        out->bound = bound_by_counters(&list);
    out->optimal = status == UPMU_OK && out->sets == out->bound;
    return status;
}

static bool event_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    const struct upmu_pack_list *list = context;

    return list->pmu->backend->alternative(list->pmu, &list->events[request], 0, i, out);
}

void upmu_pack_describe(const struct upmu_pack_list *list, struct upmu_place_input *place)
{
    memset(place, 0, sizeof *place);
    place->alternative = event_alternative;
    place->context = list;
    place->counters = list->pmu->counters;
    place->preference = list->pmu->preference;
    place->preference_count = list->pmu->preference_count;
}

enum upmu_status upmu_events_pack(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count,
                                  unsigned limit, struct upmu_pack_work *work, size_t bytes, uint16_t *set_of,
                                  struct upmu_pack_result *out)
{
    struct upmu_pack_list list = {pmu, events};
    struct upmu_place_input place;
    struct upmu_pack_input input = {&place, count, limit};

    upmu_pack_describe(&list, &place);
    return upmu_requests_pack(&input, work, bytes, set_of, out);
}

#else

enum upmu_status upmu_requests_pack(const struct upmu_pack_input *input, struct upmu_pack_work *work, size_t bytes,
                           uint16_t *set_of, struct upmu_pack_result *out)
{
    (void)input;
    (void)work;
    (void)bytes;
    (void)set_of;
    memset(out, 0, sizeof *out);
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_events_pack(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count,
                                  unsigned limit, struct upmu_pack_work *work, size_t bytes, uint16_t *set_of,
                                  struct upmu_pack_result *out)
{
    (void)pmu;
    (void)events;
    (void)count;
    (void)limit;
    (void)work;
    (void)bytes;
    (void)set_of;
    memset(out, 0, sizeof *out);
    return UPMU_ERR_COMPILED_OUT;
}

#endif
