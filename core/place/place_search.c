/* SPDX-License-Identifier: MIT */
/*
 * Placing requests, in two ways. A pass gives the requests options and counters one after the other, and undoes
 * nothing. The search takes the option that a matching of counters to slots suggests for each request, decides for one
 * where two contradict each other, and excludes options by values and by the matching, which is repaired after each
 * step instead of copied. Builds without UPMU_PLACE_SEARCH have the pass alone.
 */
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/place/placement.h"

/* ---- Functions for the pass and for the search ---- */

/* Return the counter of the mask `counters` that is tried first: of those with the lowest rank the lowest number. */
static UPMU_APART_IF_SMALL unsigned preferred_counter(const struct placement *p, uint32_t counters)
{
    unsigned best = upmu_bits_lowest(counters);

    while ((counters &= counters - 1u) != 0)
        if (p->rank[upmu_bits_lowest(counters)] < p->rank[best])
            best = upmu_bits_lowest(counters);
    return best;
}

static UPMU_APART_IF_SMALL void take_counter(struct placement *p, unsigned unit, unsigned counter)
{
    p->used |= UPMU_BIT32(counter);
    p->u.search.counter[unit] = (uint8_t)counter;
    p->u.search.owner[counter] = (uint8_t)unit;
}

/*
 * Return the counter that a slot of a pinned request runs on now, as a mask; 0: the slot is a helper without a counter.
 */
static uint32_t stays_on(const struct placement *p, unsigned request, unsigned slot)
{
    unsigned counter = p->input->stay[request][slot];

    return counter < UPMU_COUNTERS ? UPMU_BIT32(counter) : 0;
}

/* Has an option a claim (by number) in its list of claims? */
static bool has_claim(const struct placement *p, const struct place_option *option, unsigned claim)
{
    const uint8_t *list = &p->list[option->claims];

    for (unsigned left = *list; left != 0; left--)
        if (*++list == claim)
            return true;
    return false;
}

/*
 * Return the number of the pair of resources of an option's helper: a counter at either of the two serves the helper.
 */
static UPMU_APART_IF_SMALL unsigned helper_pair(const struct placement *p, const struct place_option *option)
{
    const uint8_t *list = &p->list[option->claims];

    return p->resource[list[*list]] >> 1;
}

/* Return the pairs of resources (bit: number of the pair) whose helpers an option serves by counters of its own. */
static uint32_t pairs_served(const struct placement *p, const struct place_option *option)
{
    const uint8_t *list = &p->list[option->claims];
    unsigned end = *list + (option->shape & OPTION_SERVED ? 0 : 1u);
    uint32_t pairs = 0;

    for (unsigned i = 1u + (option->shape >> OPTION_DORMANT & 3u); i < end; i++)
        pairs |= UPMU_BIT32(p->resource[list[i]] >> 1);
    return pairs;
}

/*
 * Do all options of a request that are not excluded make a claim, which the first of them is known to make? False also
 * if the claim's resource is not contested.
 */
static bool makes_always(const struct placement *p, unsigned request, unsigned claim)
{
    uint32_t left = p->u.search.viable[request];

    if ((p->contested >> p->resource[claim] & 1u) == 0)
        return false;
    while ((left &= left - 1u) != 0)
        if (!has_claim(p, &p->option[p->first[request] + upmu_bits_lowest(left)], claim))
            return false;
    return true;
}

static void begin_search(struct placement *p, uint32_t members, uint32_t pinned)
{
    p->members = members;
    p->pinned = pinned;
    p->used = 0;
    p->unmatched = 0;
    p->changed = members;
    p->trail_count = 0;
    p->decision_count = 0;
    p->witness = 0;
    for (; members != 0; members &= members - 1u) {
        unsigned request = upmu_bits_lowest(members);

        p->u.search.viable[request] =
            p->pinned >> request & 1u ? UPMU_BIT32(p->keep[request] - p->first[request]) : p->usable[request];
    }
}

/*
 * Add the claims of an option to `made`, which has by resource the number of the claim that was made, or NO_CLAIM.
 * False: a claim of the option contradicts one that was made, and none is added.
 */
static bool make_claims(const struct placement *p, unsigned index, uint8_t *made)
{
    const uint8_t *list = &p->list[p->option[index].claims];
    unsigned claims = p->lifted & PLACE_LIFT_RESOURCES ? 0 : *list;

    for (unsigned i = 1; i <= claims; i++)
        if (made[p->resource[list[i]]] != NO_CLAIM && made[p->resource[list[i]]] != list[i])
            return false;
    for (; claims != 0; claims--)
        made[p->resource[list[claims]]] = list[claims];
    return true;
}

#if UPMU_PLACE_SEARCH
static void spread_claim(struct placement *p, unsigned request, unsigned claim);
#endif

/*
 * Store in `spread` the claims on contested resources that all options of a request make which are not excluded. If
 * `exclude` is set, exclude the options of other requests that contradict these claims.
 */
static void spread_request(struct placement *p, unsigned request, bool exclude)
{
    unsigned index = p->first[request] + upmu_bits_lowest(p->u.search.viable[request]);
    const uint8_t *list = &p->list[p->option[index].claims];

    (void)exclude;
    if ((p->resources[request] & p->contested) == 0)
        return;
    for (unsigned left = p->lifted & PLACE_LIFT_RESOURCES ? 0 : *list; left != 0; left--) {
        unsigned claim = *++list;
        uint8_t *by = &p->u.search.spread[p->resource[claim]];

        if (*by == claim || !makes_always(p, request, claim))
            continue;
        *by = (uint8_t)claim;
#if UPMU_PLACE_SEARCH
        if (exclude)
            spread_claim(p, request, claim);
#endif
    }
}

/* ---- The pass: options and counters for one request after the other ---- */

/* Give each slot of an option an unused counter that it allows; false: a slot found none, and p->used is as before. */
static bool take_counters(struct placement *p, const struct place_option *option)
{
    unsigned unit = option->request, slots = option->shape & OPTION_SLOTS;
    uint32_t before = p->used;

    for (unsigned k = 0; k < slots; k++, unit += UPMU_REQUESTS) {
        uint32_t counters = option->counters[k] & p->available & ~p->used;

        if (p->pinned >> option->request & 1u)
            counters &= stays_on(p, option->request, k);
        if (counters == 0) {
            p->used = before;
            return false;
        }
        take_counter(p, unit, preferred_counter(p, counters));
    }
    for (; slots < p->slots; slots++, unit += UPMU_REQUESTS)
        p->u.search.counter[unit] = UPMU_NO_COUNTER;
    return true;
}

/*
 * Give a request the first of its viable (not excluded) options that contradicts no claim in `made`, whose slots find
 * unused counters, and whose helper, if it needs another request's counter, is served (*serving: the pairs of resources
 * that serve helpers). The option's counters are added to p->used, its claims to `made`, and the pairs that it serves
 * to *serving if input->set_of is NULL; p->u.search.choice has its index. Returns false if there is no such option.
 */
static bool take_option(struct placement *p, unsigned request, uint8_t *made, uint32_t *serving)
{
    for (uint32_t left = p->u.search.viable[request]; left != 0; left &= left - 1u) {
        unsigned index = p->first[request] + upmu_bits_lowest(left);
        const struct place_option *option = &p->option[index];
        uint32_t before = p->used;

        if ((option->counters[0] & p->available & ~before) == 0 ||
            (HELPED(p) && (option->shape & OPTION_SERVED) != 0 && (*serving >> helper_pair(p, option) & 1u) == 0) ||
            !take_counters(p, option))
            continue;
        if (!make_claims(p, index, made)) {
            p->used = before;
            continue;
        }
        if (HELPED(p) && p->input->set_of == NULL)
            *serving |= pairs_served(p, option);
        p->u.search.choice[request] = (uint8_t)index;
        return true;
    }
    return false;
}

/* Return the request of the mask `left` that can have the fewest counters, as a bit. */
static uint32_t neediest_request(const struct placement *p, uint32_t left)
{
    uint32_t best = left & (0u - left);

    while ((left &= left - 1u) != 0)
        if (upmu_bits_count(p->counters[upmu_bits_lowest(left)]) < upmu_bits_count(p->counters[upmu_bits_lowest(best)]))
            best = left & (0u - left);
    return best;
}

/*
 * Place the members one after the other, without undoing. First are requests that found no place in the last pass, that
 * have one option, or that need two counters or more. Such a pass is enough for nearly all sets that fit; for others
 * its counters are the start of the matching. Returns the mask of the requests without a place.
 */
static uint32_t take_options(struct placement *p)
{
    uint32_t first = p->failed, second = p->failed != 0 ? ~p->helpers : 0, serving = p->served, skipped = 0, left, next;
    uint8_t *made = p->u.search.spread;

    memset(made, NO_CLAIM, sizeof p->u.search.spread);
    for (left = p->members; left != 0; left &= left - 1u) {
        unsigned request = upmu_bits_lowest(left);

        if (single_bit(p->u.search.viable[request]))
            first |= UPMU_BIT32(request);
        if ((p->resources[request] & p->contested) != 0 && (p->helpers >> request & 1u) == 0)
            second |= UPMU_BIT32(request);
        if (UPMU_SLOTS == 1 || p->slots == 1 || p->u.search.viable[request] == 0)
            continue;
        if (p->option[p->first[request]].shape & 2u)
            first |= UPMU_BIT32(request);
        if (p->list[p->option[p->first[request]].claims] > 1u)
            spread_request(p, request, false);
    }
    p->failed = 0;
    for (left = p->members; left != 0; left &= ~next) {
        unsigned request;

        next = left & first ? left & first : left & second ? left & second : left;
        next = UPMU_PLACE_SEARCH ? next & (0u - next) : neediest_request(p, next);
        request = upmu_bits_lowest(next);
        if (take_option(p, request, made, &serving))
            continue;
        /*
         * No place.  Requests not tried yet (`left`) that could have a counter of this one are not tried in this pass:
         * they are returned, too.
         */
        p->failed |= next;
        for (uint32_t others = left; others != 0; others &= others - 1u)
            if (p->counters[upmu_bits_lowest(others)] & p->counters[request])
                next |= others & (0u - others);
        skipped |= next;
    }
    return skipped;
}

uint32_t upmu_placement_try(struct placement *p, uint32_t members, uint32_t pinned)
{
    uint32_t left;

    begin_search(p, members, pinned);
    left = !PLACE_TRIES || !p->tries || (UPMU_PLACE_SEARCH && p->limited != 0) ? members : take_options(p);
    if (!UPMU_PLACE_SEARCH && p->limited != 0 && upmu_bits_count(p->used & p->limited) > p->input->limit)
        left = members;
    for (members = left; members != 0; members &= members - 1u)
        for (unsigned k = 0; k < p->slots; k++)
            p->u.search.counter[k * UPMU_REQUESTS + upmu_bits_lowest(members)] = UPMU_NO_COUNTER;
    return left;
}

#if UPMU_PLACE_SEARCH

/* ---- Matching counters to units (slots of requests) ---- */

static uint32_t unit_request(unsigned unit)
{
    return UPMU_BIT32(unit & (UPMU_REQUESTS - 1u));
}

/*
 * Return the counter of the mask `counters` that is tried first for a unit (here: one slot of a request). The first
 * option of the request that is not excluded and can use any of `counters` in that slot decides; of its counters the
 * one with the lowest rank is taken.
 */
static unsigned best_counter(const struct placement *p, unsigned unit, uint32_t counters)
{
    unsigned request = unit & (UPMU_REQUESTS - 1u), slot = unit >> 5;
    const struct place_option *options = &p->option[p->first[request]];
    uint32_t best = 0;

    for (uint32_t left = p->u.search.viable[request]; best == 0; left &= left - 1u)
        best = options[upmu_bits_lowest(left)].counters[slot] & counters;
    return preferred_counter(p, best);
}

/*
 * Store in p->witness the requests that cannot all be placed: the owners of `counters`, and the requests in `witness`.
 */
static void note_witness(struct placement *p, uint32_t counters, uint32_t witness)
{
    for (; counters != 0; counters &= counters - 1u)
        witness |= unit_request(p->u.search.owner[upmu_bits_lowest(counters)]);
    p->witness = witness;
}

/*
 * Give `counter` to a unit (a slot of a request), the counter that it had to the unit that reached that counter in the
 * search (`parent`, by counter), the counter of this one to the next, and so on up to a unit without a counter.
 */
static void shift_units(struct placement *p, const uint8_t *parent, unsigned unit, unsigned counter)
{
    for (;;) {
        unsigned left = p->u.search.counter[unit];

        take_counter(p, unit, counter);
        if (left == UPMU_NO_COUNTER)
            return;
        unit = parent[left];
        if (unit == NO_UNIT) { /* the chain began at this limited counter: it becomes free, and no unit takes it */
            p->used &= ~UPMU_BIT32(left);
            return;
        }
        counter = left;
    }
}

/*
 * Find a counter for a unit (a slot of a request), and give other units other counters if necessary. With NO_UNIT, take
 * a limited counter from some unit, which gets a counter outside of the limit. False: no chain of such changes exists,
 * so no matching has one unit more, or uses fewer limited counters.
 */
static bool find_counter(struct placement *p, unsigned unit)
{
    struct place_search *search = &p->u.search;
    uint32_t barred = unit == NO_UNIT ? p->limited : 0;
    uint32_t seen = 0, waiting = 0, fresh = barred & p->used;
    unsigned by = NO_UNIT, at = unit;
    uint8_t parent[UPMU_COUNTERS]; /* by counter reached: the unit that would take it; NO_UNIT: a chain begins there */

    for (;;) {
        uint32_t allowed;

        seen |= fresh;
        waiting |= fresh;
        for (; fresh != 0; fresh &= fresh - 1u)
            parent[upmu_bits_lowest(fresh)] = (uint8_t)by;
        if (by != NO_UNIT || at == NO_UNIT) {
            if (waiting == 0)
                break;
            at = search->owner[upmu_bits_lowest(waiting)];
            waiting &= waiting - 1u;
        }
        allowed = search->allowed[at] & ~barred;
        if (allowed & ~p->used) {
            shift_units(p, parent, at, best_counter(p, at, allowed & ~p->used));
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
    while (upmu_bits_count(p->used & p->limited) > p->input->limit)
        if (!find_counter(p, NO_UNIT))
            return false;
    return true;
}

/* Give each slot of the `unmatched` requests that has no counter one, within the limit; false: not all can have one. */
static UPMU_APART_IF_SMALL bool match_all(struct placement *p)
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
            if (p->limited != 0 && !keep_limit(p))
                return false;
        }
    }
    p->unmatched = 0;
    return p->limited == 0 || keep_limit(p);
}

/* ---- Options ---- */

/*
 * Return the counters that a slot of a request may have by any viable (not excluded) option; 0 if one of these options
 * does without the slot.
 */
static uint32_t allowed_counters(const struct placement *p, unsigned request, unsigned slot)
{
    const struct place_option *options = &p->option[p->first[request]];
    uint32_t left = p->u.search.viable[request], counters = 0;

    for (; left != 0; left &= left - 1u) {
        const struct place_option *option = &options[upmu_bits_lowest(left)];

        if ((option->shape & OPTION_SLOTS) <= slot)
            return 0;
        counters |= option->counters[slot];
    }
    if (p->pinned >> request & 1u)
        counters &= stays_on(p, request, slot);
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

/*
 * Exclude an option if it is viable (not excluded), or make it viable again if it is excluded; mark its request as
 * changed.
 */
static UPMU_APART_IF_SMALL void flip_option(struct placement *p, unsigned index)
{
    unsigned request = p->option[index].request;

    p->u.search.viable[request] ^= UPMU_BIT32(index - p->first[request]);
    p->changed |= UPMU_BIT32(request);
}

/*
 * Exclude an option, and add the requests `because`, which were the reason, to the mask u.search.because of its
 * request.
 */
static void exclude_option(struct placement *p, unsigned index, uint32_t because)
{
    p->u.search.trail[p->trail_count++] = (uint8_t)index;
    p->u.search.because[p->option[index].request] |= because;
    flip_option(p, index);
}

/*
 * Return the viable (not excluded) options of a request that make a claim or, if `claim` is SERVES(pair), that serve
 * the helpers of a pair. Bit n: the request's n-th option.
 */
static uint32_t options_with(const struct placement *p, unsigned request, unsigned claim)
{
    uint32_t with = 0;

    for (uint32_t left = p->u.search.viable[request]; left != 0; left &= left - 1u) {
        const struct place_option *option = &p->option[p->first[request] + upmu_bits_lowest(left)];

        if (PLACE_HELPERS && claim >= SERVES(0) ? pairs_served(p, option) >> (claim - SERVES(0)) & 1u
                                                : has_claim(p, option, claim))
            with |= left & (0u - left);
    }
    return with;
}

/* Exclude options of a request (`options`, bit n: its n-th option), and note the requests that were the reason. */
static UPMU_APART_IF_SMALL void exclude_options(struct placement *p, unsigned request, uint32_t options,
                                                uint32_t because)
{
    for (; options != 0; options &= options - 1u)
        exclude_option(p, p->first[request] + upmu_bits_lowest(options), because);
}

/*
 * All options of a request that are not excluded make a claim: exclude the options of other requests that contradict
 * this claim.
 */
static void spread_claim(struct placement *p, unsigned request, unsigned claim)
{
    unsigned resource = p->resource[claim];

    for (uint32_t others = p->members & ~UPMU_BIT32(request); others != 0; others &= others - 1u) {
        unsigned other = upmu_bits_lowest(others);

        if ((p->resources[other] >> resource & 1u) == 0)
            continue;
        for (uint32_t left = p->u.search.viable[other]; left != 0; left &= left - 1u) {
            unsigned index = p->first[other] + upmu_bits_lowest(left);
            const uint8_t *list = &p->list[p->option[index].claims];

            for (unsigned claims = *list; claims != 0; claims--)
                if (p->resource[*++list] == resource && *list != claim) {
                    exclude_option(p, index, UPMU_BIT32(request));
                    break;
                }
        }
    }
}

/* If a slot of a request has one possible counter, exclude options of two slots with that counter of other requests. */
static void spread_counters(struct placement *p, unsigned request)
{
    uint32_t holder = UPMU_BIT32(request);
    const uint32_t *counters = &p->u.search.allowed[request];

    for (unsigned slots = p->slots; slots != 0; slots--, counters += UPMU_REQUESTS) {
        uint32_t counter = *counters;

        if (counter == 0 || !single_bit(counter))
            continue;
        for (uint32_t others = p->members & ~holder; others != 0; others &= others - 1u) {
            unsigned other = upmu_bits_lowest(others);

            if ((p->counters[other] & counter) == 0 || (p->option[p->first[other]].shape & 2u) == 0)
                continue;
            for (uint32_t left = p->u.search.viable[other]; left != 0; left &= left - 1u) {
                unsigned index = p->first[other] + upmu_bits_lowest(left);
                const struct place_option *option = &p->option[index];

                if ((option->shape & 2u) != 0 &&
                    (option->counters[0] == counter || option->counters[UPMU_SECOND_SLOT] == counter))
                    exclude_option(p, index, holder);
            }
        }
    }
}

/* ---- Helpers ---- */

/*
 * Return the index of a viable (not excluded) option that serves the helpers of a pair of resources, of a request in
 * the same set as `request`; with `suggested` only of options that the matching suggests (`choice`). NO_OPTION: there
 * is none.
 */
static unsigned find_server(struct placement *p, unsigned request, unsigned pair, bool suggested)
{
    const uint8_t *set_of = p->input->set_of;
    uint32_t asked = 0;

    for (uint32_t others = p->members; others != 0; others &= others - 1u) {
        unsigned other = upmu_bits_lowest(others);

        if ((p->resources[other] >> (pair << 1) & 3u) == 0 || (set_of != NULL && set_of[other] != set_of[request]))
            continue;
        asked |= UPMU_BIT32(other);
        for (uint32_t left = p->u.search.viable[other]; left != 0; left &= left - 1u) {
            unsigned index = p->first[other] + upmu_bits_lowest(left);

            if ((!suggested || index == p->u.search.choice[other]) &&
                (other != request || (p->option[index].shape & OPTION_SERVED) != 0) &&
                (pairs_served(p, &p->option[index]) >> pair & 1u) != 0)
                return index;
        }
    }
    p->u.search.because[request] |= asked;
    return NO_OPTION;
}

/*
 * Exclude options whose helper has no counter of its own, where no option that is left could serve the helper: its
 * request has to use an option with a counter for the helper.
 */
static void give_up_serving(struct placement *p)
{
    uint32_t lasting = p->served; /* pairs that are served for each request of the loop, from here on */

    for (uint32_t left = p->members & p->helpers; left != 0; left &= left - 1u) {
        unsigned request = upmu_bits_lowest(left);
        uint32_t served = lasting;

        for (uint32_t options = p->u.search.viable[request]; options != 0; options &= options - 1u) {
            unsigned index = p->first[request] + upmu_bits_lowest(options), pair, server;

            if ((p->option[index].shape & OPTION_SERVED) == 0)
                continue;
            pair = helper_pair(p, &p->option[index]);
            if (served >> pair & 1u)
                continue;
            server = find_server(p, request, pair, false);
            if (server == NO_OPTION) {
                exclude_option(p, index, 0);
                continue;
            }
            served |= UPMU_BIT32(pair);
            if (p->option[server].request <= request && p->input->set_of == NULL)
                lasting |= UPMU_BIT32(pair);
        }
    }
}

/*
 * Draw all conclusions from the requests whose options changed: exclude options by values of resources first, then by
 * counters, then options whose helper no option can serve. False: all options of a request are excluded, or not all
 * slots can have a counter; p->witness has the requests.
 */
static UPMU_APART_IF_SMALL bool draw_conclusions(struct placement *p)
{
    do {
        uint32_t stale = 0, spread = 0;

        for (;; spread &= spread - 1u) {
            stale |= p->changed;
            spread |= p->changed;
            for (; p->changed != 0; p->changed &= p->changed - 1u) {
                unsigned request = upmu_bits_lowest(p->changed);

                if (p->u.search.viable[request] == 0) {
                    note_witness(p, 0, UPMU_BIT32(request));
                    return false;
                }
            }
            if (spread == 0)
                break;
            spread_request(p, upmu_bits_lowest(spread), true);
        }
        p->unmatched |= stale;
        for (; stale != 0; stale &= stale - 1u) {
            unsigned request = upmu_bits_lowest(stale);

            refresh_request(p, request);
            if (UPMU_SLOTS > 1 && p->slots > 1u)
                spread_counters(p, request);
        }
        if (UPMU_SLOTS > 1 && p->changed != 0)
            continue;
        if (!match_all(p))
            return false;
        if (HELPED(p))
            give_up_serving(p);
    } while (p->changed != 0);
    return true;
}

/* ---- Decisions ---- */

/* Return the options that a decision tries (bit n: the n-th option of the decision's request). */
static uint32_t options_decided(const struct placement *p, const struct place_decision *decision)
{
    unsigned request = p->option[decision->option].request;

    if (decision->claim == NO_CLAIM)
        return UPMU_BIT32(decision->option - p->first[request]);
    return options_with(p, request, decision->claim);
}

/*
 * Make a decision for the request of the option `index`: exclude its options without a certain claim. The claim is the
 * first one of `list` (the claims of the option) that not all its viable options make. If there is none, try the option
 * `index` alone.
 */
static void make_decision(struct placement *p, unsigned index, const uint8_t *list)
{
    unsigned request = p->option[index].request;
    uint32_t viable = p->u.search.viable[request], tried = UPMU_BIT32(index - p->first[request]);
    struct place_decision *decision = &p->u.search.decision[p->decision_count++];

    decision->option = (uint8_t)index;
    decision->claim = NO_CLAIM;
    decision->trail = p->trail_count;
    for (unsigned left = p->decision_count > PLACE_DECISIONS ? 0 : *list; left != 0; left--) {
        uint32_t with = options_with(p, request, *++list);

        if (with != viable) {
            decision->claim = *list;
            tried = with;
            break;
        }
    }
    exclude_options(p, request, viable & ~tried, 0);
}

/*
 * Add to p->witness all requests because of which options of its requests were excluded, and the requests because of
 * which options of those were excluded, until nothing is added.
 */
static void complete_witness(struct placement *p)
{
    uint32_t left = p->witness, whole = 0;

    for (; left != 0; left = p->witness & ~whole) {
        unsigned request = upmu_bits_lowest(left);

        whole |= UPMU_BIT32(request);
        p->witness |= p->u.search.because[request];
    }
}

/*
 * Undo decisions, the last one first, until one whose request is in p->witness is undone, and exclude the options that
 * this decision tried. False: no request of the witness has a decision, so the search is at its end.
 */
static bool reverse_decision(struct placement *p)
{
    complete_witness(p);
    memset(p->u.search.spread, NO_CLAIM, sizeof p->u.search.spread);
    p->changed = 0;
    while (p->decision_count != 0) {
        const struct place_decision *decision = &p->u.search.decision[--p->decision_count];
        unsigned request = p->option[decision->option].request;

        while (p->trail_count > decision->trail)
            flip_option(p, p->u.search.trail[--p->trail_count]);
        if (p->witness >> request & 1u) {
            exclude_options(p, request, options_decided(p, decision), p->witness);
            return true;
        }
    }
    return false;
}

/* ---- Suggestions ---- */

/* Has the matching, for each slot of an option, a counter that the option allows? `unit`: number of the request. */
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

/*
 * Return the index of a request's first option that is not excluded and has its counters in the matching; or NO_OPTION.
 */
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
 * Store the option that the matching of counters to slots suggests for each request. If a request has none, or
 * contradicts an earlier request, make a decision about this request. True: all suggestions agree.
 */
static bool suggestions_agree(struct placement *p)
{
    uint8_t made[UPMU_RESOURCES];

    memset(made, NO_CLAIM, sizeof made);
    for (uint32_t left = p->members; left != 0;) {
        unsigned request = upmu_bits_lowest(left), index = suggested_option(p, request);

        left ^= UPMU_BIT32(request);
        if (index == NO_OPTION) {
            index = p->first[request] + upmu_bits_lowest(p->u.search.viable[request]);
            make_decision(p, index, &p->list[p->option[index].claims]);
            return false;
        }
        p->u.search.choice[request] = (uint8_t)index;
        if (!make_claims(p, index, made)) {
            make_decision(p, index, &p->list[p->option[index].claims]);
            return false;
        }
    }
    return true;
}

/* ---- The search ---- */

/*
 * Is the helper of each chosen option that leaves its helper without a counter served by another chosen option? If one
 * is not, make a decision that some option serves it or, if none can, that the request takes another option, and return
 * false.
 */
static bool helpers_are_served(struct placement *p)
{
    for (uint32_t left = p->members & p->helpers; left != 0; left ^= UPMU_BIT32(upmu_bits_highest(left))) {
        unsigned request = upmu_bits_highest(left), pair;
        const struct place_option *chosen = &p->option[p->u.search.choice[request]];

        if ((chosen->shape & OPTION_SERVED) == 0)
            continue;
        pair = helper_pair(p, chosen);
        if ((p->served >> pair & 1u) || find_server(p, request, pair, true) != NO_OPTION)
            continue;
        make_decision(p, find_server(p, request, pair, false), (const uint8_t[]){1, (uint8_t)SERVES(pair)});
        return false;
    }
    return true;
}

enum upmu_status upmu_placement_solve(struct placement *p, uint32_t members, uint32_t pinned)
{
    if (upmu_placement_try(p, members, pinned) == 0)
        return UPMU_OK;
    memset(p->u.search.because, 0, sizeof p->u.search.because);
    memset(p->u.search.spread, NO_CLAIM, sizeof p->u.search.spread);
    for (; p->rounds != 0; p->rounds--) {
        if (draw_conclusions(p)) {
            if (suggestions_agree(p) && (!HELPED(p) || helpers_are_served(p)))
                return UPMU_OK;
        } else if (!reverse_decision(p)) {
            return UPMU_ERR_DOES_NOT_FIT;
        }
    }
    return UPMU_ERR_TOO_HARD;
}

#else

/*
 * Make one more pass, in which the requests that have failed before come first. UPMU_ERR_DOES_NOT_FIT proves nothing in
 * this build: the requests may have places in an order that was not tried. p->witness is `members` then.
 */
enum upmu_status upmu_placement_solve(struct placement *p, uint32_t members, uint32_t pinned)
{
    if (p->fault == UPMU_OK && upmu_placement_try(p, members, pinned) == 0)
        return UPMU_OK;
    p->witness = members;
    return p->fault == UPMU_OK ? UPMU_ERR_DOES_NOT_FIT : p->fault;
}

#endif
