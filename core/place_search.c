/* SPDX-License-Identifier: MIT */
/*
 * The search of a placement: takes the options that a matching of counters to slots
 * suggests, decides where they contradict each other, and prunes by values and by
 * the matching, which it mends after each step instead of copying it.
 */
#include "core/mem.h"
#include "core/placement.h"

/* ---- Matching counters to units ---- */

static uint32_t unit_request(unsigned unit)
{
    return UPMU_BIT32(unit & (UPMU_REQUESTS - 1u));
}

/* Which of some counters is tried first. */
static unsigned preferred_counter(const struct placement *p, uint32_t counters)
{
    const uint8_t *preference = p->input->preference;

    if (!single_bit(counters))
        for (unsigned left = p->input->preference_count; left != 0; left--, preference++)
            if (counters >> *preference & 1u)
                return *preference;
    return upmu_bits_lowest(counters);
}

/* Which of some counters a unit tries first: of its best option, the preferred one. */
static unsigned best_counter(const struct placement *p, unsigned unit, uint32_t counters)
{
    unsigned request = unit & (UPMU_REQUESTS - 1u), slot = unit >> 5;
    const struct place_option *options = &p->option[p->first[request]];
    uint32_t best = 0;

    for (uint32_t left = p->u.search.viable[request]; best == 0; left &= left - 1u)
        best = options[upmu_bits_lowest(left)].counters[slot] & counters;
    return preferred_counter(p, best);
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

static void take_counter(struct placement *p, unsigned unit, unsigned counter)
{
    p->used |= UPMU_BIT32(counter);
    p->u.search.counter[unit] = (uint8_t)counter;
    p->u.search.owner[counter] = (uint8_t)unit;
}

/* Move `unit` to `counter` and, back along the parents, each unit to the place of the one before. */
static void shift_units(struct placement *p, unsigned unit, unsigned counter)
{
    struct place_search *search = &p->u.search;

    for (;;) {
        unsigned left = search->counter[unit];

        take_counter(p, unit, counter);
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

    for (uint32_t left = p->unmatched; left != 0; left &= left - 1u) {
        unsigned unit = upmu_bits_lowest(left);

        for (unsigned k = p->slots; k != 0; k--, unit += UPMU_REQUESTS) {
            uint32_t allowed = search->allowed[unit], unused = allowed & ~p->used;

            if (allowed == 0 || search->counter[unit] != UPMU_NO_COUNTER)
                continue;
            if (unused != 0)
                take_counter(p, unit, best_counter(p, unit, unused));
            else if (!find_counter(p, unit))
                return false;
            if (!keep_limit(p))
                return false;
        }
    }
    p->unmatched = 0;
    return keep_limit(p);
}

/* ---- Options ---- */

/* Counters that a slot of a request may have, if all options left have that slot; else 0. */
static uint32_t allowed_counters(const struct placement *p, unsigned request, unsigned slot)
{
    const struct place_option *options = &p->option[p->first[request]];
    uint32_t left = p->u.search.viable[request], counters = 0;

    if (p->pinned >> request & 1u)
        return (options[upmu_bits_lowest(left)].shape & OPTION_SLOTS) > slot ? UPMU_BIT32(p->input->stay[request][slot])
                                                                             : 0;
    for (; left != 0; left &= left - 1u) {
        const struct place_option *option = &options[upmu_bits_lowest(left)];

        if ((option->shape & OPTION_SLOTS) <= slot)
            return 0;
        counters |= option->counters[slot];
    }
    return counters & p->available;
}

static void refresh_request(struct placement *p, unsigned request)
{
    struct place_search *search = &p->u.search;
    unsigned unit = request;

    for (unsigned k = 0; k < p->slots; k++, unit += UPMU_REQUESTS) {
        unsigned counter = search->counter[unit];
        uint32_t counters = allowed_counters(p, request, k);

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
    unsigned request = p->option[index].request;

    p->u.search.viable[request] ^= UPMU_BIT32(index - p->first[request]);
    p->changed |= UPMU_BIT32(request);
}

static void exclude_option(struct placement *p, unsigned index)
{
    p->u.search.trail[p->trail_count++] = (uint8_t)index;
    flip_option(p, index);
}

/* Do the claims of an option agree with those that were made? */
static bool claims_agree(const struct placement *p, const uint8_t *list, const uint8_t *made)
{
    for (unsigned left = *list; left != 0; left--) {
        unsigned claim = *++list, by = made[p->resource[claim]];

        if (by != NO_CLAIM && by != claim)
            return false;
    }
    return true;
}

/* Make the claims of an option, by resource, until one contradicts others or its own. */
static bool make_claims(const struct placement *p, unsigned index, uint8_t *made)
{
    const uint8_t *list = &p->list[p->option[index].claims];

    for (unsigned left = p->lifted & PLACE_LIFT_RESOURCES ? 0 : *list; left != 0; left--) {
        unsigned claim = *++list;
        uint8_t *by = &made[p->resource[claim]];

        if (*by == NO_CLAIM)
            *by = (uint8_t)claim;
        else if (*by != claim)
            return false;
    }
    return true;
}

/* Exclude what contradicts the only option of a request; the option itself, if it contradicts itself. */
static void spread_option(struct placement *p, unsigned request)
{
    uint64_t resources = p->lifted & PLACE_LIFT_RESOURCES ? 0 : p->resources[request] & p->contested;
    uint8_t made[UPMU_RESOURCES];

    memset(made, NO_CLAIM, sizeof made);
    (void)make_claims(p, p->first[request] + upmu_bits_lowest(p->u.search.viable[request]), made);
    for (uint32_t others = p->members & ~p->settled; others != 0 && resources != 0; others &= others - 1u) {
        unsigned other = upmu_bits_lowest(others);

        if ((p->resources[other] & resources) == 0)
            continue;
        for (uint32_t left = p->u.search.viable[other]; left != 0; left &= left - 1u) {
            unsigned index = p->first[other] + upmu_bits_lowest(left);

            if (!claims_agree(p, &p->list[p->option[index].claims], made))
                exclude_option(p, index);
        }
    }
    p->settled |= UPMU_BIT32(request);
}

/* Draw all conclusions from what changed.  False: a contradiction. */
static bool draw_conclusions(struct placement *p)
{
    for (;;) {
        p->unmatched |= p->changed;
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

/* ---- Decisions ---- */

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

        p->u.search.viable[request] =
            p->pinned >> request & 1u ? UPMU_BIT32(p->keep[request] - p->first[request]) : p->usable[request];
        for (unsigned k = 0; k < UPMU_SLOTS; k++)
            p->u.search.counter[k * UPMU_REQUESTS + request] = UPMU_NO_COUNTER;
    }
}

/* Try an option of a request. */
static void decide_option(struct placement *p, unsigned index)
{
    unsigned request = p->option[index].request, first = p->first[request];
    uint32_t others = p->u.search.viable[request] & ~UPMU_BIT32(index - first);
    struct place_decision *decision = &p->u.search.decision[p->decision_count++];

    decision->option = (uint8_t)index;
    decision->trail = p->trail_count;
    for (; others != 0; others &= others - 1u)
        exclude_option(p, first + upmu_bits_lowest(others));
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

/* ---- Suggestions ---- */

/* Do the counters that a request has allow an option? */
static bool option_is_matched(const struct placement *p, const struct place_option *option, unsigned unit)
{
    const uint32_t *counters = option->counters;

    for (unsigned slots = option->shape & OPTION_SLOTS; slots != 0; slots--, unit += UPMU_REQUESTS) {
        unsigned counter = p->u.search.counter[unit];

        if (counter == UPMU_NO_COUNTER || (*counters++ >> counter & 1u) == 0)
            return false;
    }
    return true;
}

/* The first option of a request that its counters allow, or NO_OPTION. */
static unsigned suggested_option(const struct placement *p, unsigned request)
{
    for (uint32_t left = p->u.search.viable[request]; left != 0; left &= left - 1u) {
        unsigned index = p->first[request] + upmu_bits_lowest(left);

        if (option_is_matched(p, &p->option[index], request))
            return index;
    }
    return NO_OPTION;
}

/*
 * Note what the matching suggests.  The option to decide on if that does not hold:
 * of two requests that contradict each other, the first one's.
 */
static unsigned find_contradiction(struct placement *p)
{
    uint8_t made[UPMU_RESOURCES];

    memset(made, NO_CLAIM, sizeof made);
    for (uint32_t left = p->members; left != 0;) {
        unsigned request = upmu_bits_highest(left), index = suggested_option(p, request);

        left ^= UPMU_BIT32(request);
        if (index == NO_OPTION)
            return p->first[request] + upmu_bits_lowest(p->u.search.viable[request]);
        p->u.search.choice[request] = (uint8_t)index;
        if (!make_claims(p, index, made))
            return index;
    }
    return NO_OPTION;
}

/* Give a request of one slot the first of its options that agrees with the claims made and has a counter left. */
static bool take_option(struct placement *p, unsigned request, uint8_t *made)
{
    uint32_t unused = p->available & ~p->used;

    if (p->pinned >> request & 1u)
        unused &= UPMU_BIT32(p->input->stay[request][0]);
    for (uint32_t left = p->u.search.viable[request]; left != 0; left &= left - 1u) {
        unsigned index = p->first[request] + upmu_bits_lowest(left);
        uint32_t counters = p->option[index].counters[0] & unused;

        if (counters == 0 || !make_claims(p, index, made))
            continue;
        take_counter(p, request, preferred_counter(p, counters));
        p->u.search.choice[request] = (uint8_t)index;
        return true;
    }
    return false;
}

/*
 * Requests of one slot, one after the other without looking back; whoever finds
 * nothing is the first next time.  Enough for nearly all sets that fit, and else a
 * start for the matching.
 */
static bool take_options(struct placement *p)
{
    uint8_t made[UPMU_RESOURCES];
    uint32_t first = 0, left = 0, next;

    if (p->slots != 1 || p->limited != 0)
        return false;
    for (unsigned tries = p->tries; tries != 0; tries--) {
        memset(made, NO_CLAIM, sizeof made);
        p->used = 0;
        for (left = p->members; left != 0; left ^= next) {
            next = left & first ? left & first : left;
            next &= 0u - next;
            if (!take_option(p, upmu_bits_lowest(next), made))
                break;
        }
        if (left == 0)
            return true;
        first |= next;
    }
    for (; left != 0; left &= left - 1u)
        p->u.search.counter[upmu_bits_lowest(left)] = UPMU_NO_COUNTER;
    return false;
}

/* ---- Helpers ---- */

/* The pair of resources on one of which a served helper wants a counter. */
static unsigned helper_pair(const struct placement *p, const struct place_option *option)
{
    const uint8_t *list = &p->list[option->claims];

    return p->resource[list[*list]] >> 1;
}

static bool option_serves(const struct placement *p, const struct place_option *option, unsigned pair)
{
    const uint8_t *list = &p->list[option->claims];
    unsigned end = *list + (option->shape & OPTION_SERVED ? 0 : 1u);

    for (unsigned i = 1u + (option->shape >> OPTION_DORMANT); i < end; i++)
        if ((unsigned)p->resource[list[i]] >> 1 == pair)
            return true;
    return false;
}

/*
 * An option by which somebody of the request's set serves a helper: a suggested one
 * if there is any, another that is left, or NO_OPTION.
 */
static unsigned find_server(const struct placement *p, unsigned request, unsigned pair)
{
    const uint8_t *set_of = p->input->set_of;
    unsigned found = NO_OPTION;

    for (uint32_t others = p->members; others != 0; others &= others - 1u) {
        unsigned other = upmu_bits_lowest(others);

        if (set_of != NULL && set_of[other] != set_of[request])
            continue;
        for (uint32_t left = p->u.search.viable[other]; left != 0; left &= left - 1u) {
            unsigned index = p->first[other] + upmu_bits_lowest(left);

            if (!option_serves(p, &p->option[index], pair))
                continue;
            found = index;
            if (index == p->u.search.choice[other])
                return found;
        }
    }
    return found;
}

/* Is every helper served that has no counter?  If not, make a step towards it. */
static bool helpers_are_served(struct placement *p)
{
    for (uint32_t left = p->members; left != 0; left &= left - 1u) {
        unsigned request = upmu_bits_lowest(left), pair, server;
        const struct place_option *chosen = &p->option[p->u.search.choice[request]];

        if ((chosen->shape & OPTION_SERVED) == 0)
            continue;
        pair = helper_pair(p, chosen);
        server = find_server(p, request, pair);
        if (server == NO_OPTION)
            exclude_option(p, p->u.search.choice[request]);
        else if (server != p->u.search.choice[p->option[server].request])
            decide_option(p, server);
        else
            continue;
        return false;
    }
    return true;
}

/* ---- The search ---- */

enum upmu_status upmu_placement_solve(struct placement *p, uint32_t members, uint32_t pinned)
{
    begin_search(p, members, pinned);
    if (take_options(p))
        return UPMU_OK;
    for (; p->rounds != 0; p->rounds--) {
        if (draw_conclusions(p)) {
            unsigned index = find_contradiction(p);

            if (index != NO_OPTION)
                decide_option(p, index);
            else if (p->helped == 0 || helpers_are_served(p))
                return UPMU_OK;
        } else {
            if (p->decision_count == 0)
                return UPMU_ERR_DOES_NOT_FIT;
            reverse_decision(p);
        }
    }
    return UPMU_ERR_TOO_HARD;
}
