/* SPDX-License-Identifier: MIT */
/*
 * Pack a list of requests into as few sets as a search finds (tools/cmd/cmd_packing.h): the
 * components, and the first packing of each.  Pure.
 */
#include "core/place/pack_core.h"
#include "core/util/mem.h"
#include <tools/cmd/cmd_packing.h>

struct exact {
    const struct upmu_pack_input *input;
    struct cmd_pack_work *work;
    uint16_t *set_of;
    struct upmu_pack_result *out;
    struct upmu_pack_members members; /* work->member */
    struct upmu_place_input place;    /* of these alone */
    unsigned limit;
    uint32_t steps; /* left */
};

/* ---- Components ---- */

static void note_request(struct exact *exact, unsigned request)
{
    const struct upmu_place_input *place = exact->input->place;
    struct cmd_pack_request *note = &exact->work->request[request];
    struct upmu_alternative alternative;

    memset(note, 0, sizeof *note);
    memset(&alternative, 0, sizeof alternative);
    for (unsigned i = 0; place->alternative(place->context, request, i, &alternative); i++)
        for (unsigned k = 0; k < alternative.slot_count && k < UPMU_SLOTS; k++) {
            const struct upmu_slot *slot = &alternative.slot[k];

            note->counters |= slot->counters & exact->place.counters;
            for (unsigned j = 0; j < slot->resource_count && j < UPMU_SLOT_RESOURCES; j++)
                note->resources |= UPMU_BIT64(slot->resource[j] & 63u);
            /* A helper is served by the twin of its resource, too. */
            if (alternative.helper && k == alternative.slot_count - 1u)
                note->resources |= UINT64_C(3) << (slot->resource[0] & 62u);
        }
    if (note->counters & place->limited)
        note->counters |= place->limited & exact->place.counters;
}

/* Mark the component of the first request that has none; returns the number of its requests. */
static unsigned mark_component(struct exact *exact, unsigned first, uint16_t component)
{
    struct cmd_pack_request *request = exact->work->request;
    bool all = exact->limit < upmu_bits_count(exact->place.counters);
    uint64_t resources = request[first].resources;
    uint32_t counters = request[first].counters;
    unsigned members = 1, before;

    request[first].component = component;
    do {
        before = members;
        for (unsigned i = first + 1; i < exact->input->request_count; i++)
            if (!request[i].component &&
                (all || (request[i].counters & counters) || (request[i].resources & resources))) {
                request[i].component = component;
                counters |= request[i].counters;
                resources |= request[i].resources;
                members++;
            }
    } while (members != before);
    return members;
}

/* Smaller is harder to place: few counters first, then requests with resources. */
static unsigned ease_of(const struct cmd_pack_request *request)
{
    return 2u * upmu_bits_count(request->counters) + !request->resources;
}

/* The requests of a component in work->member, hardest first, ties in the list's order. */
static void sort_component(struct exact *exact, uint16_t component)
{
    const struct cmd_pack_request *request = exact->work->request;
    unsigned sorted = 0;

    for (unsigned level = 0; level <= 2u * UPMU_COUNTERS + 1u; level++)
        for (unsigned i = 0; i < exact->input->request_count; i++)
            if (request[i].component == component && ease_of(&request[i]) == level)
                exact->work->member[sorted++] = (uint16_t)i;
}

/* ---- A component that one placement can hold ---- */

static enum upmu_status first_fit_masks(struct exact *exact, struct packing *packing)
{
    for (unsigned i = 0; i < packing->count; i++) {
        unsigned set = 0;

        while (!cmd_packing_fits(packing, packing->set[set] | UPMU_BIT32(i)))
            if (set++ == packing->sets) {
                exact->out->culprit = exact->work->member[i];
                return packing->unsure ? UPMU_ERR_TOO_HARD : UPMU_ERR_DOES_NOT_FIT;
            }
        packing->set[set] |= UPMU_BIT32(i);
        if (set == packing->sets)
            packing->sets++;
    }
    return UPMU_OK;
}

/* UPMU_ERR_NO_SPACE: too many alternatives for one placement. */
static enum upmu_status pack_short(struct exact *exact, unsigned members, struct upmu_pack_result *out)
{
    struct placement *p = (struct placement *)(void *)&exact->work->place;
    struct packing packing;
    enum upmu_status status;

    exact->place.request_count = members;
    upmu_placement_begin(p, &exact->place);
    if (p->fault != UPMU_OK)
        return p->fault;
    memset(&packing, 0, sizeof packing);
    packing.p = p;
    packing.lesson = exact->work->lesson;
    packing.count = (uint8_t)members;
    packing.limit = (uint8_t)exact->limit;
    status = first_fit_masks(exact, &packing);
    /* The first packing costs no steps. */
    packing.steps = exact->steps;
    if (status == UPMU_OK)
        cmd_packing_better(&packing);
    exact->steps = packing.steps;
    out->steps = packing.tried;
    out->sets = packing.sets;
    out->bound = packing.bound;
    for (unsigned set = 0; set < packing.sets; set++)
        for (uint32_t rest = packing.set[set]; rest; rest &= rest - 1u)
            exact->work->set_of[upmu_bits_lowest(rest)] = (uint16_t)set;
    return status;
}

/* ---- A longer one ---- */

static enum upmu_status pack_long(struct exact *exact, unsigned members, struct upmu_pack_result *out)
{
    struct upmu_pack_input input = {&exact->place, members, exact->limit};
    struct upmu_pack_work *work = (struct upmu_pack_work *)(void *)exact->work->library;
    enum upmu_status status = upmu_requests_pack(&input, work, sizeof exact->work->library, exact->work->set_of, out);

    exact->out->culprit = exact->work->member[out->culprit];
    return status;
}

/* ---- The call ---- */

static enum upmu_status pack_component(struct exact *exact, uint16_t component, unsigned members)
{
    enum upmu_status status = UPMU_ERR_NO_SPACE;
    struct upmu_pack_result *out = exact->out, own;

    memset(&own, 0, sizeof own);
    sort_component(exact, component);
    if (members <= UPMU_REQUESTS)
        status = pack_short(exact, members, &own);
    if (status == UPMU_ERR_NO_SPACE)
        status = pack_long(exact, members, &own);
    for (unsigned i = 0; i < members && status == UPMU_OK; i++)
        exact->set_of[exact->work->member[i]] = exact->work->set_of[i];
    out->steps += own.steps;
    if (out->sets < own.sets)
        out->sets = own.sets;
    if (out->bound < own.bound)
        out->bound = own.bound;
    return status;
}

enum upmu_status cmd_pack_exact(const struct upmu_pack_input *input, uint32_t steps, struct cmd_pack_work *work,
                                uint16_t *set_of, struct upmu_pack_result *out)
{
    struct exact exact = {input, work, set_of, out, {input->place, work->member}, *input->place, 0, steps};
    unsigned count = input->request_count;
    enum upmu_status status = UPMU_OK;
    uint16_t component = 0;

    memset(out, 0, sizeof *out);
    if (count - 1u >= CMD_PACK_REQUESTS)
        return UPMU_ERR_INVALID;
    exact.limit = upmu_pack_begin(&exact.members, &exact.place, input->limit);
    for (unsigned i = 0; i < count; i++)
        note_request(&exact, i);
    for (unsigned i = 0; i < count && status == UPMU_OK; i++)
        if (!work->request[i].component) {
            unsigned members = mark_component(&exact, i, ++component);

            status = pack_component(&exact, component, members);
        }
    out->optimal = status == UPMU_OK && out->sets == out->bound;
    return status;
}

enum upmu_status cmd_pack_exact_events(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count,
                                       uint32_t steps, struct cmd_pack_work *work, uint16_t *set_of,
                                       struct upmu_pack_result *out)
{
    struct upmu_pack_list list = {pmu, events};
    struct upmu_place_input place;
    struct upmu_pack_input input = {&place, count, 0};

    upmu_pack_describe(&list, &place);
    return cmd_pack_exact(&input, steps, work, set_of, out);
}
