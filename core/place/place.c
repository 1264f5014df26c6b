/* SPDX-License-Identifier: MIT */
/*
 * Place requests on counters and exclusive resources, exactly. Pure: no hardware, no backend.
 *
 * Each way to run a request is fetched once and becomes one or more options in the work area (struct place_option).
 * Each value of a resource that is needed becomes a small number, a claim.
 *
 * Requests that share neither counters nor resources are solved separately. A matching of counters to slots, where a
 * slot can have any counter that one of its request's options leaves, suggests an option for each request; most sets
 * are done with that. If two suggestions contradict each other, the search decides for one of them. Each decision is
 * followed by two prunings: options whose values contradict a settled one are excluded, and the matching must still
 * exist. The matching is kept by augmenting paths and repaired after each step, so that undoing a decision needs no
 * copy of it.
 */
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/util/shared.h"
#include "core/place/placement.h"

/* ---- Components ---- */

/* Resources 2n and 2n + 1 are a pair: for each bit set, set both bits of its pair. */
static uint64_t with_twins(uint64_t resources)
{
    uint64_t second = UINT64_C(0xaaaaaaaaaaaaaaaa);

    return resources | (resources & second) >> 1 | (resources << 1 & second);
}

/*
 * Return the requests in `left` that share counters or resources with `joined`, directly or through other requests;
 * `joined` is included.
 */
static uint32_t component_of(const struct placement *p, uint32_t left, uint32_t joined)
{
    uint32_t members = 0, counters = 0;
    uint64_t resources = 0;

    while (joined != 0) {
        unsigned request = upmu_bits_lowest(joined);

        joined &= joined - 1u;
        members |= UPMU_BIT32(request);
        left &= ~UPMU_BIT32(request);
        counters |= p->counters[request] & p->available;
        resources |= p->resources[request] & p->contested;
        if (HELPED(p))
            resources |= with_twins(p->resources[request] & p->helped);
        if (counters & p->limited)
            counters |= p->limited;
        if (joined != 0)
            continue;
        for (uint32_t others = left; others != 0; others &= others - 1u) {
            unsigned other = upmu_bits_lowest(others);

            if ((p->counters[other] & counters) != 0 || (p->resources[other] & resources) != 0)
                joined |= UPMU_BIT32(other);
        }
    }
    return members;
}

/* ---- Staying ---- */

/* Return the index of the option by which a request runs now, if that option is still usable; else PLACE_OPTIONS. */
static UPMU_APART_IF_SMALL unsigned option_in_use(const struct placement *p, unsigned request)
{
    const uint8_t *counters = p->input->stay[request];

    for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
        const struct place_option *option = &p->option[i];
        unsigned slots = option->shape & OPTION_SLOTS, k = 0;

        if ((p->usable[request] >> (i - p->first[request]) & 1u) == 0 ||
            option->alternative != p->input->stay_alternative[request] ||
            ((option->shape & OPTION_SERVED) && counters[slots] != UPMU_NO_COUNTER))
            continue;
        while (k < slots && counters[k] < UPMU_COUNTERS &&
               ((option->counters[k] & p->available) >> counters[k] & 1u) != 0)
            k++;
        if (k == slots)
            return i;
    }
    return PLACE_OPTIONS;
}

/* Return the mask of the requests that could stay on their present counters, each considered alone. */
static uint32_t find_stayers(struct placement *p)
{
    uint32_t stayers = 0;

    for (unsigned request = p->input->stay ? p->input->request_count : 0; request-- != 0;) {
        p->keep[request] = (uint8_t)option_in_use(p, request);
        if (p->keep[request] != PLACE_OPTIONS)
            stayers |= UPMU_BIT32(request);
    }
    return stayers;
}

/*
 * Place the requests `members`, a component, and keep as many of `stayers` as possible on their present counters. Try
 * to keep all; then none, to know whether the component fits; then one more at a time, if the component still fits.
 */
static enum upmu_status solve_component(struct placement *p, uint32_t members, uint32_t stayers)
{
    uint32_t staying = 0;
    enum upmu_status status;

    stayers &= members;
    status = upmu_placement_solve(p, members, stayers);
    if (status == UPMU_OK || stayers == 0)
        return status;
    status = upmu_placement_solve(p, members, 0);
    if (status != UPMU_OK)
        return status;
    for (; stayers != 0; stayers &= stayers - 1u) {
        uint32_t attempt = staying | (stayers & (0u - stayers));

        if (upmu_placement_solve(p, members, attempt) == UPMU_OK)
            staying = attempt;
    }
    p->rounds += PLACE_ROUNDS; /* the same search succeeded before: it must not end because no rounds are left */
    return upmu_placement_solve(p, members, staying);
}

/* ---- The call ---- */

static bool input_is_valid(const struct upmu_place_input *input)
{
    if (input->request_count - 1u >= UPMU_REQUESTS)
        return false;
    for (unsigned i = 0; i < input->held_count; i++)
        if (input->held[i].resource >= UPMU_RESOURCES)
            return false;
    for (unsigned i = 0; i < input->preference_count; i++)
        if (input->preference[i] >= UPMU_COUNTERS)
            return false;
    return true;
}

static void write_results(const struct placement *p, struct upmu_place_result *out)
{
    unsigned count = p->input->request_count;

    for (unsigned request = 0; request < count; request++, out++) {
        const uint8_t *counter = &p->u.search.counter[request];

        out->alternative = p->option[p->u.search.choice[request]].alternative;
        for (unsigned k = 0; k < UPMU_SLOTS; k++, counter += UPMU_REQUESTS)
            out->counter[k] = *counter;
    }
}

/*
 * Place all requests, one component after the other. If the work area could not hold all requests, the placement fails
 * in any case, and p->fault is returned. But the requests that it holds may already conflict, even with all their
 * helpers taken as served: then the conflict is returned.
 */
static UPMU_APART enum upmu_status place_requests(struct placement *p, struct upmu_place_result *out,
                                                  struct upmu_why *why)
{
    uint32_t all = (uint32_t)(UPMU_BIT64(p->count) - 1u), left, stayers;
    uint64_t helped = p->helped;

    if (p->fault != UPMU_OK)
        p->helped = p->tries = 0;
    memset(p->u.search.counter, UPMU_NO_COUNTER, sizeof p->u.search.counter);
    stayers = find_stayers(p);
    left = upmu_placement_try(p, all, stayers);
    while (left != 0) {
        uint32_t members = component_of(p, all, left & (0u - left));
        enum upmu_status status = solve_component(p, members, stayers);

        p->helped = status == UPMU_ERR_DOES_NOT_FIT ? helped : p->helped;
        if (status == UPMU_ERR_DOES_NOT_FIT && why != NULL)
            upmu_placement_explain(p, why);
        if (status != UPMU_OK)
            return status;
        left &= ~members;
    }
    if (p->fault == UPMU_OK)
        write_results(p, out);
    return p->fault;
}

void upmu_placement_begin(struct placement *p, const struct upmu_place_input *input)
{
    memset(p, 0, offsetof(struct placement, usable));
    memset(p->rank, UPMU_COUNTERS, sizeof p->rank);
    for (unsigned i = input->preference_count; i-- != 0;)
        p->rank[input->preference[i]] = (uint8_t)i;
    p->input = input;
    p->rounds = PLACE_ROUNDS;
    p->tries = PLACE_TRIES;
    upmu_placement_read(p);
    upmu_placement_lift(p, 0);
}

enum upmu_status upmu_requests_place(const struct upmu_place_input *input, struct upmu_place_work *work,
                            struct upmu_place_result *out, struct upmu_why *why)
{
    struct placement *p = (struct placement *)(void *)work;
    enum upmu_status status = UPMU_ERR_INVALID;

    if (why != NULL)
        upmu_shared_clear(why, sizeof *why);
    if (input_is_valid(input)) {
        upmu_placement_begin(p, input);
        status = p->fault == UPMU_ERR_INVALID ? UPMU_ERR_INVALID : place_requests(p, out, why);
    }
    if (why != NULL)
        UPMU_STORE(why->status, status);
    return status;
}
