/* SPDX-License-Identifier: MIT */
/*
 * Pack a list of requests into few sets (include/upmu/pack.h): the call, the
 * components, and first-fit-decreasing.  Pure.
 */
#include "core/backend.h"
#include "core/mem.h"
#include "core/packing.h"

#if UPMU_PACK

#define NO_SET 0xffffu

struct list {
    const struct upmu_pack_input *input;
    struct upmu_pack_work *work;
    uint16_t *set_of;
    struct upmu_pack_result *out;
    struct upmu_place_input place; /* of the requests in work->member */
    unsigned limit;
};

static bool member_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    const struct list *list = context;
    const struct upmu_place_input *place = list->input->place;

    return place->alternative(place->context, list->work->member[request], i, out);
}

/* ---- Components ---- */

static void summarize(struct list *list, unsigned request)
{
    const struct upmu_place_input *place = list->input->place;
    struct upmu_pack_request *summary = &list->work->request[request];
    struct upmu_alternative alternative;

    memset(summary, 0, sizeof *summary);
    for (unsigned i = 0; place->alternative(place->context, request, i, &alternative); i++)
        for (unsigned k = 0; k < alternative.slot_count && k < UPMU_SLOTS; k++) {
            const struct upmu_slot *slot = &alternative.slot[k];

            summary->counters |= slot->counters & place->counters & ~place->taken;
            for (unsigned j = 0; j < slot->resource_count && j < UPMU_SLOT_RESOURCES; j++)
                summary->resources |= UPMU_BIT64(slot->resource[j] & 63u);
            /* A helper is served by the twin of its resource, too. */
            if (alternative.helper && k == alternative.slot_count - 1u)
                summary->resources |= UINT64_C(3) << (slot->resource[0] & 62u);
        }
    if (summary->counters & place->limited)
        summary->counters |= place->limited;
}

/* Mark what hangs together with the first request that has no component. */
static unsigned mark_component(struct list *list, unsigned first, uint16_t component)
{
    struct upmu_pack_request *request = list->work->request;
    uint64_t resources = request[first].resources;
    uint32_t counters = request[first].counters;
    unsigned count = list->input->request_count, members = 1, before;

    request[first].component = component;
    do {
        before = members;
        for (unsigned i = first + 1; i < count; i++)
            if (!request[i].component && ((request[i].counters & counters) || (request[i].resources & resources) ||
                                          list->limit < upmu_bits_count(list->place.counters))) {
                request[i].component = component;
                counters |= request[i].counters;
                resources |= request[i].resources;
                members++;
            }
    } while (members != before);
    return members;
}

/* The harder to place, the smaller: few counters first, of equals those with resources. */
static unsigned ease(const struct upmu_pack_request *request)
{
    return 2u * upmu_bits_count(request->counters) + !request->resources;
}

/* Requests of a component in work->request[].order, hardest first, ties in the list's order. */
static void sort_component(struct list *list, uint16_t component)
{
    struct upmu_pack_request *request = list->work->request;
    unsigned sorted = 0;

    for (unsigned level = 0; level <= 2u * UPMU_COUNTERS + 1u; level++)
        for (unsigned i = 0; i < list->input->request_count; i++)
            if (request[i].component == component && ease(&request[i]) == level)
                request[sorted++].order = (uint16_t)i;
}

/* ---- First-fit-decreasing ---- */

static void take_members(struct list *list, unsigned count)
{
    list->place.request_count = count;
    list->out->steps++;
}

/* Any number of requests: each set is placed anew. */
static enum upmu_status fits_in_set(struct list *list, uint16_t component, unsigned request, unsigned set)
{
    const struct upmu_pack_request *summary = list->work->request;
    unsigned count = 0;

    for (unsigned i = 0; i < list->input->request_count; i++) {
        if (summary[i].component != component || list->set_of[i] != set)
            continue;
        if (count + 1u >= list->limit)
            return UPMU_ERR_DOES_NOT_FIT;
        list->work->member[count++] = (uint16_t)i;
    }
    list->work->member[count++] = (uint16_t)request;
    take_members(list, count);
    return upmu_place(&list->place, &list->work->place, list->work->result, NULL);
}

static enum upmu_status first_fit(struct list *list, uint16_t component, unsigned members, unsigned *out_sets)
{
    enum upmu_status status;

    *out_sets = 0;
    for (unsigned i = 0; i < members; i++) {
        unsigned request = list->work->request[i].order, set = 0;

        do {
            status = fits_in_set(list, component, request, set);
            if (status != UPMU_OK && set == *out_sets) {
                list->out->culprit = request;
                return status;
            }
        } while (status != UPMU_OK && set++ < *out_sets);
        list->set_of[request] = (uint16_t)set;
        if (set == *out_sets)
            ++*out_sets;
    }
    return UPMU_OK;
}

/* ---- A component that one placement can hold ---- */

/* As first_fit(), by masks. */
static enum upmu_status first_fit_masks(struct list *list, struct packing *packing)
{
    for (unsigned i = 0; i < packing->count; i++) {
        unsigned set = 0;

        while (!upmu_packing_fits(packing, packing->set[set] | UPMU_BIT32(i)))
            if (set++ == packing->sets) {
                list->out->culprit = list->work->member[i];
                return packing->unsure ? UPMU_ERR_TOO_HARD : UPMU_ERR_DOES_NOT_FIT;
            }
        packing->set[set] |= UPMU_BIT32(i);
        if (set == packing->sets)
            packing->sets++;
    }
    return UPMU_OK;
}

/* UPMU_ERR_NO_SPACE: too many alternatives for one placement. */
static enum upmu_status pack_small(struct list *list, unsigned members, uint32_t *steps, unsigned *out_sets,
                                   unsigned *out_bound)
{
    struct placement *p = (struct placement *)(void *)&list->work->place;
    struct packing packing;
    enum upmu_status status;

    for (unsigned i = 0; i < members; i++)
        list->work->member[i] = list->work->request[i].order;
    list->place.request_count = members;
    upmu_placement_begin(p, &list->place);
    if (p->fault != UPMU_OK)
        return p->fault;
    memset(&packing, 0, sizeof packing);
    packing.p = p;
    packing.lesson = list->work->lesson;
    packing.count = (uint8_t)members;
    packing.limit = (uint8_t)list->limit;
    packing.steps = *steps;
    status = first_fit_masks(list, &packing);
    /* The first packing is free. */
    packing.steps = *steps;
    if (status == UPMU_OK)
        upmu_packing_better(&packing);
    *steps = packing.steps;
    list->out->steps += packing.tried;
    *out_sets = packing.sets;
    *out_bound = packing.bound;
    for (unsigned set = 0; set < packing.sets; set++)
        for (uint32_t rest = packing.set[set]; rest; rest &= rest - 1u)
            list->set_of[list->work->member[upmu_bits_lowest(rest)]] = (uint16_t)set;
    return status;
}

/* ---- The call ---- */

/* Counters alone bound a component of any size: its events by the counters that they may have. */
static unsigned simple_bound(const struct list *list, uint16_t component, unsigned members)
{
    uint32_t counters = 0;
    unsigned room;

    for (unsigned i = 0; i < list->input->request_count; i++)
        if (list->work->request[i].component == component)
            counters |= list->work->request[i].counters & list->place.counters;
    room = upmu_bits_count(counters);
    if (room > list->limit)
        room = list->limit;
    return room ? (members + room - 1u) / room : 1u;
}

static enum upmu_status pack_component(struct list *list, uint16_t component, unsigned members, uint32_t *steps)
{
    enum upmu_status status = UPMU_ERR_NO_SPACE;
    unsigned sets = 0, bound = 0;

    sort_component(list, component);
    if (members <= UPMU_REQUESTS)
        status = pack_small(list, members, steps, &sets, &bound);
    if (status == UPMU_ERR_NO_SPACE) {
        status = first_fit(list, component, members, &sets);
        bound = simple_bound(list, component, members);
    }
    if (list->out->sets < sets)
        list->out->sets = sets;
    if (list->out->bound < bound)
        list->out->bound = bound;
    return status;
}

enum upmu_status upmu_pack(const struct upmu_pack_input *input, struct upmu_pack_work *work, size_t bytes,
                           uint16_t *set_of, struct upmu_pack_result *out)
{
    unsigned count = input->request_count;
    uint32_t steps = input->steps;
    uint16_t component = 0;
    enum upmu_status status = UPMU_OK;
    struct list list = {input, work, set_of, out, *input->place, input->limit};

    memset(out, 0, sizeof *out);
    if (count - 1u >= UPMU_PACK_REQUESTS)
        return UPMU_ERR_INVALID;
    if (bytes < UPMU_PACK_BYTES(count))
        return UPMU_ERR_NO_SPACE;
    if (list.limit - 1u >= UPMU_REQUESTS)
        list.limit = UPMU_REQUESTS;
    list.place.alternative = member_alternative;
    list.place.context = &list;
    list.place.stay = NULL;
    list.place.set_of = NULL;
    list.place.counters &= ~list.place.taken;
    for (unsigned i = 0; i < count; i++) {
        summarize(&list, i);
        set_of[i] = NO_SET;
    }
    for (unsigned i = 0; i < count && status == UPMU_OK; i++)
        if (!work->request[i].component) {
            unsigned members = mark_component(&list, i, ++component);

            status = pack_component(&list, component, members, &steps);
        }
    out->optimal = status == UPMU_OK && out->sets == out->bound;
    return status;
}

struct event_list {
    const struct upmu_pmu *pmu;
    const struct upmu_event *events;
};

static bool event_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    const struct event_list *list = context;

    return list->pmu->backend->alternative(list->pmu, &list->events[request], 0, i, out);
}

enum upmu_status upmu_pack_events(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count,
                                  unsigned limit, uint32_t steps, struct upmu_pack_work *work, size_t bytes,
                                  uint16_t *set_of, struct upmu_pack_result *out)
{
    struct event_list list = {pmu, events};
    struct upmu_place_input place;
    struct upmu_pack_input input = {&place, count, limit, steps};

    memset(&place, 0, sizeof place);
    place.alternative = event_alternative;
    place.context = &list;
    place.counters = pmu->counters;
    place.preference = pmu->preference;
    place.preference_count = pmu->preference_count;
    return upmu_pack(&input, work, bytes, set_of, out);
}

#else

enum upmu_status upmu_pack(const struct upmu_pack_input *input, struct upmu_pack_work *work, size_t bytes,
                           uint16_t *set_of, struct upmu_pack_result *out)
{
    (void)input;
    (void)work;
    (void)bytes;
    (void)set_of;
    memset(out, 0, sizeof *out);
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_pack_events(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count,
                                  unsigned limit, uint32_t steps, struct upmu_pack_work *work, size_t bytes,
                                  uint16_t *set_of, struct upmu_pack_result *out)
{
    (void)pmu;
    (void)events;
    (void)count;
    (void)limit;
    (void)steps;
    (void)work;
    (void)bytes;
    (void)set_of;
    memset(out, 0, sizeof *out);
    return UPMU_ERR_COMPILED_OUT;
}

#endif
