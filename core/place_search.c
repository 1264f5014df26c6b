/* SPDX-License-Identifier: MIT */
/*
 * The search of a placement: decides options, prunes by values and by a matching
 * of counters to slots, which it mends after each step instead of copying it.
 */
#include "core/placement.h"

/* ---- Matching counters to units ---- */

static unsigned unit_request(unsigned unit)
{
    return unit & (UPMU_REQUESTS - 1u);
}

/* The best of `counters` for a unit: that of its earliest option. */
static unsigned best_counter(const struct placement *p, unsigned unit, uint32_t counters)
{
    unsigned request = unit_request(unit);

    if (unit < UPMU_REQUESTS)
        for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
            const struct place_option *option = &p->option[i];
            uint32_t own;

            if ((option->shape & OPTION_SLOTS) != 1)
                break;
            own = p->mask[option->mask[1]] & counters;
            if (own != 0 && (p->u.search.viable[request] >> (option->lead - p->first[request]) & 1u))
                return upmu_bits_lowest(own);
        }
    return upmu_bits_lowest(counters);
}

/* Remember who blocks whom, if nothing but the requests themselves is the reason. */
static void note_witness(struct placement *p, uint32_t counters, unsigned unit)
{
    uint32_t witness = unit == NO_PARENT ? 0 : UPMU_BIT32(unit_request(unit));

    if (p->trail_count != 0)
        return;
    for (; counters != 0; counters &= counters - 1u)
        witness |= UPMU_BIT32(unit_request(p->u.search.owner[upmu_bits_lowest(counters)]));
    p->witness = witness;
}

/* Note that `unit` reached `counters`. */
static void mark_parents(struct placement *p, uint32_t counters, unsigned unit)
{
    for (; counters != 0; counters &= counters - 1u)
        p->u.search.parent[upmu_bits_lowest(counters)] = (uint8_t)unit;
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
        if (unit == NO_PARENT) { /* nobody follows */
            p->used &= ~UPMU_BIT32(left);
            return;
        }
        counter = left;
    }
}

/* Find a counter for a unit without one, moving others if need be. */
static bool match_unit(struct placement *p, unsigned unit)
{
    const struct place_search *search = &p->u.search;
    uint32_t seen = 0, waiting = 0;
    unsigned at = unit;

    for (;;) {
        uint32_t spare = search->allowed[at] & ~p->used;
        uint32_t fresh = search->allowed[at] & ~seen;

        if (spare != 0) {
            shift_units(p, at, best_counter(p, at, spare));
            return true;
        }
        mark_parents(p, fresh, at);
        seen |= fresh;
        waiting |= fresh;
        if (waiting == 0)
            break;
        at = search->owner[upmu_bits_lowest(waiting)];
        waiting &= waiting - 1u;
    }
    note_witness(p, seen, unit);
    return false;
}

/*
 * Take limited counters back until the limit is kept: a path leads from a unit on
 * such a counter to a spare one outside.  If there is none, no matching of these
 * units uses fewer.
 */
static bool keep_limit(struct placement *p)
{
    const struct place_search *search = &p->u.search;

    while (upmu_bits_count(p->used & p->limited) > p->input->limit) {
        uint32_t seen = p->used & p->limited, waiting = seen;

        mark_parents(p, seen, NO_PARENT);
        for (;;) {
            unsigned at = search->owner[upmu_bits_lowest(waiting)];
            uint32_t outside = search->allowed[at] & ~p->limited;
            uint32_t fresh = outside & ~seen;

            if (outside & ~p->used) {
                shift_units(p, at, best_counter(p, at, outside & ~p->used));
                break;
            }
            mark_parents(p, fresh, at);
            seen |= fresh;
            waiting = (waiting & (waiting - 1u)) | fresh;
            if (waiting == 0) {
                note_witness(p, seen, NO_PARENT);
                return false;
            }
        }
    }
    return true;
}

/* Slots that a request may have. */
static unsigned slots_of(const struct placement *p, unsigned request)
{
    return p->wide >> request & 1u ? UPMU_SLOTS : 1;
}

/* Give every unit a counter, within the limit. */
static bool match_all(struct placement *p)
{
    for (; p->unmatched != 0; p->unmatched &= p->unmatched - 1u) {
        unsigned request = upmu_bits_lowest(p->unmatched);

        for (unsigned unit = request; unit < slots_of(p, request) * UPMU_REQUESTS; unit += UPMU_REQUESTS) {
            if (p->u.search.allowed[unit] == 0 || p->u.search.counter[unit] != UPMU_NO_COUNTER)
                continue;
            if (!match_unit(p, unit) || (p->limited != 0 && !keep_limit(p)))
                return false;
        }
    }
    return p->limited == 0 || keep_limit(p);
}

/* ---- Options ---- */

/* Let a unit use these counters; takes it off its own if that is not one of them. */
static void allow_counters(struct placement *p, unsigned unit, uint32_t counters)
{
    struct place_search *search = &p->u.search;
    unsigned counter = search->counter[unit];

    search->allowed[unit] = counters;
    if (counter != UPMU_NO_COUNTER && (counters >> counter & 1u) == 0) {
        p->used &= ~UPMU_BIT32(counter);
        search->counter[unit] = UPMU_NO_COUNTER;
    }
}

/* What the options left to a request allow its units: slots that all of them have. */
static void refresh_request(struct placement *p, unsigned request)
{
    const struct place_option *options = &p->option[p->first[request]];
    unsigned slots = slots_of(p, request);

    p->unmatched |= UPMU_BIT32(request);
    for (unsigned k = 0; k < slots; k++) {
        uint32_t counters = 0;

        for (uint32_t left = p->u.search.viable[request]; left != 0; left &= left - 1u) {
            const struct place_option *option = &options[upmu_bits_lowest(left)];

            if ((option->shape & OPTION_SLOTS) <= k) {
                counters = 0;
                break;
            }
            counters |= p->mask[option->mask[k]];
        }
        if (counters != 0 && (p->pinned >> request & 1u))
            counters = UPMU_BIT32(p->rank[p->input->stay[request][k]]);
        allow_counters(p, k * UPMU_REQUESTS + request, counters & p->available);
    }
}

static void exclude_option(struct placement *p, unsigned index)
{
    unsigned request = p->option[index].shape >> OPTION_REQUEST;

    p->u.search.viable[request] &= ~UPMU_BIT32(index - p->first[request]);
    p->u.search.trail[p->trail_count++] = (uint8_t)index;
    p->changed |= UPMU_BIT32(request);
}

/* Take back all exclusions after the first `count`. */
static void restore_options(struct placement *p, unsigned count)
{
    p->changed = 0;
    p->decided = 0;
    while (p->trail_count > count) {
        unsigned index = p->u.search.trail[--p->trail_count];
        unsigned request = p->option[index].shape >> OPTION_REQUEST;

        p->u.search.viable[request] |= UPMU_BIT32(index - p->first[request]);
        p->changed |= UPMU_BIT32(request);
    }
    p->settled &= ~p->changed;
}

/* Does the option want another value of the claim's resource? */
static bool option_contradicts(const struct placement *p, const struct place_option *option, unsigned claim)
{
    const uint8_t *list = &p->list[option->claims];

    for (unsigned i = 1; i <= list[0]; i++)
        if (p->resource[list[i]] == p->resource[claim] && list[i] != claim)
            return true;
    return false;
}

/* Exclude what contradicts a claim of a settled request. */
static void spread_claim(struct placement *p, unsigned claim)
{
    uint64_t resource = UPMU_BIT64(p->resource[claim]);

    if (p->ignored & resource)
        return;
    for (uint32_t others = p->members & ~p->settled; others != 0; others &= others - 1u) {
        unsigned request = upmu_bits_lowest(others);

        if ((p->resources[request] & resource) == 0)
            continue;
        for (uint32_t left = p->u.search.viable[request]; left != 0; left &= left - 1u) {
            unsigned index = p->first[request] + upmu_bits_lowest(left);

            if (option_contradicts(p, &p->option[index], claim))
                exclude_option(p, index);
        }
    }
}

/* Draw all conclusions from what changed.  False: a contradiction. */
static bool draw_conclusions(struct placement *p)
{
    for (;;) {
        while (p->changed != 0) {
            unsigned request = upmu_bits_lowest(p->changed);
            uint32_t viable = p->u.search.viable[request];

            p->changed &= p->changed - 1u;
            if (viable == 0)
                return false;
            refresh_request(p, request);
            if (single_bit(viable))
                p->decided |= UPMU_BIT32(request) & ~p->settled;
        }
        if (p->decided == 0)
            return true;
        while (p->decided != 0) {
            unsigned request = upmu_bits_lowest(p->decided);
            const uint8_t *list;

            p->decided &= p->decided - 1u;
            p->settled |= UPMU_BIT32(request);
            if (p->u.search.viable[request] == 0)
                continue;
            list = &p->list[p->option[p->first[request] + upmu_bits_lowest(p->u.search.viable[request])].claims];
            for (unsigned i = 1; i <= list[0]; i++)
                spread_claim(p, list[i]);
        }
    }
}

/* ---- The search ---- */

/* Options of a request that could be used if it were alone. */
static uint32_t usable_options(const struct placement *p, unsigned request)
{
    uint32_t usable = 0;

    if (p->pinned >> request & 1u)
        return UPMU_BIT32(p->option[p->keep[request]].lead - p->first[request]);
    for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
        const struct place_option *option = &p->option[i];
        bool good = option->lead == i && ((option->shape & OPTION_BLOCKED) == 0 || p->lift_held);

        for (unsigned k = 0; good && k < (option->shape & OPTION_SLOTS); k++)
            good = (p->mask[option->mask[k]] & p->available) != 0;
        if (good)
            usable |= UPMU_BIT32(i - p->first[request]);
    }
    return usable;
}

/*
 * Set up the units of `members`.  False: one of them has no option at all.
 */
static bool begin_search(struct placement *p, uint32_t members, uint32_t pinned)
{
    p->members = members;
    p->pinned = pinned & members;
    p->used = 0;
    p->unmatched = 0;
    p->changed = 0;
    p->decided = 0;
    p->settled = 0;
    p->trail_count = 0;
    p->decision_count = 0;
    p->witness = 0;
    for (uint32_t left = members; left != 0; left &= left - 1u) {
        unsigned request = upmu_bits_lowest(left);
        uint32_t usable = usable_options(p, request);

        p->u.search.viable[request] = usable;
        for (unsigned k = 0; k < slots_of(p, request); k++)
            p->u.search.counter[k * UPMU_REQUESTS + request] = UPMU_NO_COUNTER;
        if (usable == 0) {
            p->witness = UPMU_BIT32(request);
            return false;
        }
        refresh_request(p, request);
        if (single_bit(usable))
            p->decided |= UPMU_BIT32(request);
    }
    return true;
}

/* An undecided request with the fewest options, or UPMU_REQUESTS. */
static unsigned hardest_request(const struct placement *p)
{
    unsigned hardest = UPMU_REQUESTS, fewest = PLACE_OPTIONS_EACH + 1u;

    for (uint32_t left = p->members & ~p->settled; left != 0; left &= left - 1u) {
        unsigned request = upmu_bits_lowest(left);
        unsigned options = upmu_bits_count(p->u.search.viable[request]);

        if (options < fewest) {
            fewest = options;
            hardest = request;
        }
    }
    return hardest;
}

/* The first option that leaves the request on the counters it is matched to; else the first. */
static unsigned promising_option(const struct placement *p, unsigned request)
{
    const struct place_search *search = &p->u.search;

    for (uint32_t left = search->viable[request]; left != 0; left &= left - 1u) {
        unsigned index = p->first[request] + upmu_bits_lowest(left), k;
        const struct place_option *option = &p->option[index];

        for (k = 0; k < (option->shape & OPTION_SLOTS); k++) {
            unsigned counter = search->counter[k * UPMU_REQUESTS + request];

            if (counter != UPMU_NO_COUNTER && (p->mask[option->mask[k]] >> counter & 1u) == 0)
                break;
        }
        if (k == (option->shape & OPTION_SLOTS))
            return index;
    }
    return p->first[request] + upmu_bits_lowest(search->viable[request]);
}

static void decide_option(struct placement *p, unsigned request)
{
    unsigned chosen = promising_option(p, request);
    struct place_decision *decision = &p->u.search.decision[p->decision_count++];

    decision->option = (uint8_t)chosen;
    decision->trail = p->trail_count;
    for (uint32_t left = p->u.search.viable[request]; left != 0; left &= left - 1u) {
        unsigned index = p->first[request] + upmu_bits_lowest(left);

        if (index != chosen)
            exclude_option(p, index);
    }
}

enum upmu_status upmu_placement_solve(struct placement *p, uint32_t members, uint32_t pinned)
{
    /* The matching comes first once: its failure names requests, that of a value does not. */
    if (!begin_search(p, members, pinned) || !match_all(p))
        return UPMU_ERR_DOES_NOT_FIT;
    for (;;) {
        if (p->rounds == 0)
            return UPMU_ERR_TOO_HARD;
        p->rounds--;
        if (draw_conclusions(p) && match_all(p)) {
            unsigned request = hardest_request(p);

            if (request == UPMU_REQUESTS)
                return UPMU_OK;
            decide_option(p, request);
        } else {
            const struct place_decision *decision;

            if (p->decision_count == 0)
                return UPMU_ERR_DOES_NOT_FIT;
            decision = &p->u.search.decision[--p->decision_count];
            restore_options(p, decision->trail);
            exclude_option(p, decision->option);
        }
    }
}
