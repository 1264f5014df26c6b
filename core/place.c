/* SPDX-License-Identifier: MIT */
/*
 * Place requests on counters and exclusive resources, exactly.  Pure: no
 * hardware, no backend.
 *
 * Every way to run a request is fetched once and becomes an `option` in the work
 * area; values of resources become small numbers, and counters are renumbered in
 * the order of preference, so that the lowest bit of a mask is the best counter.
 * Options of one request that differ in their counters alone are merged, and a
 * resource over which nobody can collide is forgotten, so that most sets are pure
 * matching problems.
 *
 * Requests that share neither counters nor resources are solved apart.  The search
 * decides options only.  Two prunings follow each decision: an option whose value
 * contradicts a settled one is dropped, and a matching of counters to slots (each
 * slot with the union of the counters that its options leave) must exist.  The
 * matching is kept by augmenting paths and mended after each step, so taking a
 * decision back needs no copy of it.
 */
#include "core/mem.h"
#include "core/placement.h"

/* ---- Components ---- */

/* All requests of `left` that the first of them depends on, itself included. */
static uint32_t component_of(const struct placement *p, uint32_t left)
{
    uint32_t members = 0, joined = left & (0u - left), counters = 0;
    uint64_t resources = 0;

    while (joined != 0) {
        members |= joined;
        left &= ~joined;
        for (; joined != 0; joined &= joined - 1u) {
            counters |= p->counters[upmu_bits_lowest(joined)];
            resources |= p->resources[upmu_bits_lowest(joined)];
        }
        counters &= p->available;
        if (counters & p->limited)
            counters |= p->limited;
        for (uint32_t others = left; others != 0; others &= others - 1u) {
            unsigned request = upmu_bits_lowest(others);

            if ((p->counters[request] & counters) != 0 || (p->resources[request] & resources) != 0)
                joined |= UPMU_BIT32(request);
        }
    }
    return members;
}

void upmu_placement_rules(struct placement *p, bool lift_taken, bool lift_limit)
{
    const struct upmu_place_input *input = p->input;
    uint32_t available = input->counters & (lift_taken ? ~UINT32_C(0) : ~input->taken);
    uint32_t limited = input->limited & available;

    p->available = upmu_placement_ranked(p, available);
    p->limited = lift_limit || upmu_bits_count(limited) <= input->limit ? 0 : upmu_placement_ranked(p, limited);
}

/* ---- Staying ---- */

/* The option that a running request is on, if it still has it; PLACE_OPTIONS otherwise. */
static unsigned option_in_use(const struct placement *p, unsigned request)
{
    const struct upmu_place_input *input = p->input;
    const uint8_t *counters = input->stay[request];
    unsigned alternative = input->stay_alternative ? input->stay_alternative[request] : 0xffu;

    for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
        const struct place_option *option = &p->option[i];
        unsigned slots = option->shape & OPTION_SLOTS, k;

        if ((option->shape & OPTION_BLOCKED) || (alternative != 0xff && option->alternative != alternative))
            continue;
        for (k = 0; k < slots; k++) {
            uint32_t own = p->mask[option->mask[slots == 1 ? 1 : k]] & p->available;

            if (counters[k] == UPMU_NO_COUNTER || (own >> p->rank[counters[k]] & 1u) == 0)
                break;
        }
        if (k == slots)
            return i;
    }
    return PLACE_OPTIONS;
}

/* Requests that could stay, each for itself. */
static uint32_t find_stayers(struct placement *p)
{
    uint32_t stayers = 0;

    if (p->input->stay == NULL)
        return 0;
    for (unsigned request = 0; request < p->input->request_count; request++) {
        unsigned option;

        if (p->input->stay[request][0] == UPMU_NO_COUNTER)
            continue;
        option = option_in_use(p, request);
        p->keep[request] = (uint8_t)option;
        if (option != PLACE_OPTIONS)
            stayers |= UPMU_BIT32(request);
    }
    return stayers;
}

/* Place a component with as many of `stayers` as possible where they are. */
static enum upmu_status solve_component(struct placement *p, uint32_t members, uint32_t stayers)
{
    uint32_t staying = 0;
    enum upmu_status status;

    stayers &= members;
    if (stayers != 0 && upmu_placement_solve(p, members, stayers) == UPMU_OK)
        return UPMU_OK;
    status = upmu_placement_solve(p, members, 0);
    if (status != UPMU_OK || stayers == 0)
        return status;
    for (uint32_t left = stayers; left != 0; left &= left - 1u) {
        uint32_t attempt = staying | (left & (0u - left));

        status = upmu_placement_solve(p, members, attempt);
        if (status == UPMU_OK)
            staying = attempt;
        else if (status == UPMU_ERR_TOO_HARD)
            break;
    }
    if (p->pinned != staying || status != UPMU_OK) {
        p->rounds += PLACE_ROUNDS;
        status = upmu_placement_solve(p, members, staying); /* known to fit */
    }
    return status;
}

/* ---- The call ---- */

static bool input_is_valid(const struct upmu_place_input *input)
{
    if (input->alternative == NULL || input->request_count == 0 || input->request_count > UPMU_REQUESTS)
        return false;
    if ((input->held == NULL && input->held_count != 0) || (input->preference == NULL && input->preference_count != 0))
        return false;
    for (unsigned i = 0; i < input->held_count; i++)
        if (input->held[i].resource >= UPMU_RESOURCES)
            return false;
    for (unsigned i = 0; i < input->preference_count; i++)
        if (input->preference[i] >= UPMU_COUNTERS)
            return false;
    for (unsigned request = 0; input->stay != NULL && request < input->request_count; request++)
        for (unsigned k = 0; k < UPMU_SLOTS; k++)
            if (input->stay[request][k] >= UPMU_COUNTERS && input->stay[request][k] != UPMU_NO_COUNTER)
                return false;
    return true;
}

/* Number the counters in the order of preference; those not mentioned come last. */
static void rank_counters(struct placement *p)
{
    const struct upmu_place_input *input = p->input;
    uint32_t left = ~UINT32_C(0);
    unsigned rank = 0;

    for (unsigned i = 0; left != 0; i++) {
        unsigned counter = i < input->preference_count ? input->preference[i] : upmu_bits_lowest(left);

        if ((left >> counter & 1u) == 0)
            continue;
        left &= ~UPMU_BIT32(counter);
        p->rank[counter] = (uint8_t)rank;
        p->order[rank++] = (uint8_t)counter;
    }
}

static void begin_placement(struct placement *p, const struct upmu_place_input *input)
{
    p->input = input;
    p->lift_held = false;
    p->rounds = PLACE_ROUNDS;
    rank_counters(p);
    upmu_placement_rules(p, false, false);
}

/* The alternative of a placed request: the first that allows its counter. */
static unsigned chosen_alternative(const struct placement *p, unsigned request, uint32_t stayed)
{
    const struct place_search *search = &p->u.search;
    unsigned lead = p->first[request] + upmu_bits_lowest(search->viable[request]);
    unsigned i = lead;

    if (stayed >> request & 1u)
        return p->option[p->keep[request]].alternative;
    if ((p->option[lead].shape & OPTION_SLOTS) == 1)
        while (p->option[i].lead != lead || (p->mask[p->option[i].mask[1]] >> search->counter[request] & 1u) == 0)
            i++;
    return p->option[i].alternative;
}

static void write_results(const struct placement *p, uint32_t stayed, struct upmu_place_result *out)
{
    for (unsigned request = 0; request < p->input->request_count; request++) {
        out[request].alternative = (uint8_t)chosen_alternative(p, request, stayed);
        memset(out[request].counter, UPMU_NO_COUNTER, UPMU_SLOTS);
        for (unsigned k = 0; k < (p->wide >> request & 1u ? UPMU_SLOTS : 1u); k++) {
            unsigned counter = p->u.search.counter[k * UPMU_REQUESTS + request];

            if (counter != UPMU_NO_COUNTER)
                out[request].counter[k] = p->order[counter];
        }
    }
}

static enum upmu_status place_requests(struct placement *p, struct upmu_place_result *out, struct upmu_why *why)
{
    uint32_t left = (uint32_t)upmu_bits_ones(p->input->request_count), stayers, stayed = 0;
    enum upmu_status status = upmu_placement_read(p);

    if (status != UPMU_OK)
        return status;
    p->ignored = p->idle;
    stayers = find_stayers(p);
    while (left != 0) {
        uint32_t members = component_of(p, left);

        status = solve_component(p, members, stayers);
        if (status == UPMU_ERR_DOES_NOT_FIT && why != NULL)
            upmu_placement_explain(p, members, why);
        if (status != UPMU_OK)
            return status;
        stayed |= p->pinned;
        left &= ~members;
    }
    write_results(p, stayed, out);
    return UPMU_OK;
}

enum upmu_status upmu_place(const struct upmu_place_input *input, struct upmu_place_work *work,
                            struct upmu_place_result *out, struct upmu_why *why)
{
    struct placement *p = (struct placement *)(void *)work;
    enum upmu_status status = UPMU_ERR_INVALID;

    if (why != NULL)
        memset(why, 0, sizeof *why);
    if (input != NULL && work != NULL && out != NULL && input_is_valid(input)) {
        begin_placement(p, input);
        status = place_requests(p, out, why);
    }
    if (why != NULL)
        why->status = status;
    return status;
}
