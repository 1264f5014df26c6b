/* SPDX-License-Identifier: MIT */
/*
 * The search of a placement: decides options, prunes by values and by a matching
 * of counters to slots, which it mends after each step instead of copying it.
 */
#include "core/placement.h"

/* ---- Matching counters to units ---- */

static uint32_t unit_request(unsigned unit)
{
    return UPMU_BIT32(unit & (UPMU_REQUESTS - 1u));
}

/* Which of some counters a unit tries first: of its best option, the preferred one. */
static unsigned best_counter(const struct placement *p, unsigned unit, uint32_t counters)
{
    const struct upmu_place_input *input = p->input;

    for (unsigned i = p->first[unit & (UPMU_REQUESTS - 1u)]; p->slots == 1; i++)
        if (p->option[i].counters[1] & counters) {
            counters &= p->option[i].counters[1];
            break;
        }
    for (unsigned i = 0; i < input->preference_count; i++)
        if (counters >> input->preference[i] & 1u)
            return input->preference[i];
    return upmu_bits_lowest(counters);
}

/* Remember who blocks whom, if nothing but the requests themselves is the reason. */
static void note_witness(struct placement *p, uint32_t counters, uint32_t witness)
{
    if (p->trail_count != 0)
        return;
    for (; counters != 0; counters &= counters - 1u)
        witness |= unit_request(p->u.search.owner[upmu_bits_lowest(counters)]);
    p->witness = witness;
}

/* Move `unit` to `counter` and, back along the parents, each unit to the place of the one before. */
static void shift_units(struct placement *p, unsigned unit, unsigned counter)
{
    struct place_search *search = &p->u.search;

    p->used |= UPMU_BIT32(counter);
    for (;;) {
        unsigned left = search->counter[unit];

        search->counter[unit] = (uint8_t)counter;
        search->owner[counter] = (uint8_t)unit;
        if (left == UPMU_NO_COUNTER)
            return;
        unit = search->parent[left];
        if (unit == NO_UNIT) { /* nobody follows */
            p->used &= ~UPMU_BIT32(left);
            return;
        }
        counter = left;
    }
}

/*
 * Find a counter for a unit, moving others if need be; with NO_UNIT, a counter
 * outside the limit for some unit that is under it.  If there is no path, no
 * matching of these units is larger, or uses fewer limited counters.
 */
static bool find_counter(struct placement *p, unsigned unit)
{
    struct place_search *search = &p->u.search;
    uint32_t barred = unit == NO_UNIT ? p->limited : 0;
    uint32_t seen = 0, waiting = 0, fresh = barred & p->used;
    unsigned by = NO_UNIT, at = unit;

    for (;;) {
        uint32_t allowed;

        seen |= fresh;
        waiting |= fresh;
        for (; fresh != 0; fresh &= fresh - 1u)
            search->parent[upmu_bits_lowest(fresh)] = (uint8_t)by;
        if (by != NO_UNIT || at == NO_UNIT) {
            if (waiting == 0)
                break;
            at = search->owner[upmu_bits_lowest(waiting)];
            waiting &= waiting - 1u;
        }
        allowed = search->allowed[at] & ~barred;
        if (allowed & ~p->used) {
            shift_units(p, at, best_counter(p, at, allowed & ~p->used));
            return true;
        }
        fresh = allowed & ~seen;
        by = at;
    }
    note_witness(p, seen, unit == NO_UNIT ? 0 : unit_request(unit));
    return false;
}

static bool keep_limit(struct placement *p)
{
    while (p->limited != 0 && upmu_bits_count(p->used & p->limited) > p->input->limit)
        if (!find_counter(p, NO_UNIT))
            return false;
    return true;
}

/* Give every unit a counter, within the limit. */
static bool match_all(struct placement *p)
{
    const struct place_search *search = &p->u.search;

    for (; p->unmatched != 0; p->unmatched &= p->unmatched - 1u) {
        unsigned unit = upmu_bits_lowest(p->unmatched);

        for (unsigned k = 0; k < p->slots; k++, unit += UPMU_REQUESTS)
            if (search->allowed[unit] != 0 && search->counter[unit] == UPMU_NO_COUNTER &&
                (!find_counter(p, unit) || !keep_limit(p)))
                return false;
    }
    return keep_limit(p);
}

/* ---- Options ---- */

/* What the options left to a request allow its units: slots that all of them have. */
static void refresh_request(struct placement *p, unsigned request)
{
    struct place_search *search = &p->u.search;
    const struct place_option *options = &p->option[p->first[request]];

    p->unmatched |= UPMU_BIT32(request);
    for (unsigned k = 0; k < p->slots; k++) {
        unsigned unit = k * UPMU_REQUESTS + request, counter = search->counter[unit];
        uint32_t counters = 0;

        for (uint32_t left = search->viable[request]; left != 0; left &= left - 1u) {
            const struct place_option *option = &options[upmu_bits_lowest(left)];

            if ((option->shape & OPTION_SLOTS) <= k) {
                counters = 0;
                break;
            }
            counters |= option->counters[k] & p->available;
        }
        if (counters != 0 && (p->pinned >> request & 1u))
            counters = UPMU_BIT32(p->input->stay[request][k]);
        search->allowed[unit] = counters;
        if (counter != UPMU_NO_COUNTER && (counters >> counter & 1u) == 0) {
            p->used &= ~UPMU_BIT32(counter);
            search->counter[unit] = UPMU_NO_COUNTER;
        }
    }
}

/* Make an option viable that is not, or the other way round. */
static void flip_option(struct placement *p, unsigned index)
{
    unsigned request = p->option[index].shape >> OPTION_REQUEST;

    p->u.search.viable[request] ^= UPMU_BIT32(index - p->first[request]);
    p->changed |= UPMU_BIT32(request);
}

static void exclude_option(struct placement *p, unsigned index)
{
    p->u.search.trail[p->trail_count++] = (uint8_t)index;
    flip_option(p, index);
}

static bool options_contradict(const struct placement *p, const struct place_option *a, const struct place_option *b)
{
    const uint8_t *x = &p->list[a->claims], *y = &p->list[b->claims];

    for (unsigned i = x[0]; i != 0; i--)
        for (unsigned j = y[0]; j != 0; j--)
            if (x[i] != y[j] && p->resource[x[i]] == p->resource[y[j]])
                return true;
    return false;
}

/* Exclude what contradicts the only option of a request; the option itself, if it contradicts itself. */
static void spread_option(struct placement *p, unsigned request)
{
    unsigned only = p->first[request] + upmu_bits_lowest(p->u.search.viable[request]);
    uint64_t resources = p->lifted & PLACE_LIFT_RESOURCES ? 0 : p->resources[request] & p->contested;

    for (uint32_t others = p->members & ~p->settled; others != 0 && resources != 0; others &= others - 1u) {
        unsigned other = upmu_bits_lowest(others);

        if ((p->resources[other] & resources) == 0)
            continue;
        for (uint32_t left = p->u.search.viable[other]; left != 0; left &= left - 1u) {
            unsigned index = p->first[other] + upmu_bits_lowest(left);

            if (options_contradict(p, &p->option[only], &p->option[index]))
                exclude_option(p, index);
        }
    }
    p->settled |= UPMU_BIT32(request);
}

/* Draw all conclusions from what changed.  False: a contradiction. */
static bool draw_conclusions(struct placement *p)
{
    for (;;) {
        for (; p->changed != 0; p->changed &= p->changed - 1u) {
            unsigned request = upmu_bits_lowest(p->changed);
            uint32_t viable = p->u.search.viable[request];

            if (viable == 0) {
                note_witness(p, 0, UPMU_BIT32(request));
                return false;
            }
            refresh_request(p, request);
            if (single_bit(viable))
                p->decided |= UPMU_BIT32(request) & ~p->settled;
        }
        /* The matching comes before the values: its failure can name requests. */
        if (!match_all(p))
            return false;
        if (p->decided == 0)
            return true;
        spread_option(p, upmu_bits_lowest(p->decided));
        p->decided &= p->decided - 1u;
    }
}

/* ---- The search ---- */

/* Options of a request that could be used if it were alone. */
static uint32_t usable_options(const struct placement *p, unsigned request)
{
    unsigned first = p->first[request];
    uint32_t usable = 0;

    if (p->pinned >> request & 1u)
        return UPMU_BIT32(p->option[p->keep[request]].lead - first);
    for (unsigned i = first; i < p->first[request + 1]; i++) {
        const struct place_option *option = &p->option[i];
        bool good = option->lead == i && ((option->shape & OPTION_BLOCKED) == 0 || (p->lifted & PLACE_LIFT_HELD));

        for (unsigned k = 0; k < (option->shape & OPTION_SLOTS); k++)
            good = good && (option->counters[k] & p->available) != 0;
        if (good)
            usable |= UPMU_BIT32(i - first);
    }
    return usable;
}

static void begin_search(struct placement *p, uint32_t members, uint32_t pinned)
{
    p->members = members;
    p->pinned = pinned;
    p->used = 0;
    p->unmatched = 0;
    p->changed = members;
    p->decided = 0;
    p->settled = 0;
    p->trail_count = 0;
    p->decision_count = 0;
    p->witness = 0;
    for (; members != 0; members &= members - 1u) {
        unsigned request = upmu_bits_lowest(members);

        p->u.search.viable[request] = usable_options(p, request);
        for (unsigned k = 0; k < UPMU_SLOTS; k++)
            p->u.search.counter[k * UPMU_REQUESTS + request] = UPMU_NO_COUNTER;
    }
}

/* Try the first option that a request has left. */
static void decide_option(struct placement *p, unsigned request)
{
    uint32_t viable = p->u.search.viable[request];
    struct place_decision *decision = &p->u.search.decision[p->decision_count++];

    decision->option = (uint8_t)(p->first[request] + upmu_bits_lowest(viable));
    decision->trail = p->trail_count;
    while ((viable &= viable - 1u) != 0)
        exclude_option(p, p->first[request] + upmu_bits_lowest(viable));
}

/* Take the last decision back and exclude what it tried. */
static void reverse_decision(struct placement *p)
{
    const struct place_decision *decision = &p->u.search.decision[--p->decision_count];

    p->changed = 0;
    p->decided = 0;
    while (p->trail_count > decision->trail)
        flip_option(p, p->u.search.trail[--p->trail_count]);
    p->settled &= ~p->changed;
    exclude_option(p, decision->option);
}

enum upmu_status upmu_placement_solve(struct placement *p, uint32_t members, uint32_t pinned)
{
    begin_search(p, members, pinned);
    for (; p->rounds != 0; p->rounds--) {
        if (draw_conclusions(p)) {
            uint32_t open = p->members & ~p->settled;

            if (open == 0)
                return UPMU_OK;
            decide_option(p, upmu_bits_lowest(open));
        } else {
            if (p->decision_count == 0)
                return UPMU_ERR_DOES_NOT_FIT;
            reverse_decision(p);
        }
    }
    return UPMU_ERR_TOO_HARD;
}
