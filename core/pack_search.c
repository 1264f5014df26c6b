/* SPDX-License-Identifier: MIT */
/*
 * The lower bound of a component's sets, and the search for a packing that reaches
 * it: first by exchanging requests between sets along shortest paths (exact where only
 * counters matter: that is a partition into independent sets of a matroid), then by
 * trying everything, which proves what it does not find.  Pure, never recurses.
 */
#include "core/packing.h"
#include "core/mem.h"

#if UPMU_PACK

bool upmu_packing_fits(struct packing *packing, uint32_t requests)
{
    struct placement *p = packing->p;
    enum upmu_status status;

    p->witness = requests;
    if (upmu_bits_count(requests) > packing->limit)
        return false;
    packing->tried++;
    if (packing->steps)
        packing->steps--;
    p->rounds = PLACE_ROUNDS;
    status = upmu_placement_solve(p, requests, 0);
    if (status == UPMU_ERR_TOO_HARD) {
        packing->unsure = true;
        p->witness = requests;
    }
    return status == UPMU_OK;
}

/* ---- Bounds ---- */

/* Requests that at most run at the same time on some counters. */
static unsigned room_of(const struct packing *packing, uint32_t counters)
{
    const struct placement *p = packing->p;
    unsigned limited = upmu_bits_count(counters & p->limited), room = upmu_bits_count(counters);

    if (limited > p->input->limit)
        room -= limited - p->input->limit;
    return room < packing->limit ? room : packing->limit;
}

static unsigned divide_up(unsigned dividend, unsigned divisor)
{
    return divisor ? (dividend + divisor - 1u) / divisor : 1u;
}

/* Is this one of the options that the request has if it is alone? */
static bool can_use(const struct placement *p, unsigned request, unsigned option)
{
    return p->usable[request] >> (option - p->first[request]) & 1u;
}

/* Counters of `counters` that a request takes in any case. */
static unsigned demand_of(const struct placement *p, unsigned request, uint32_t counters)
{
    unsigned least = UPMU_SLOTS;

    for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
        const struct place_option *option = &p->option[i];
        unsigned demand = 0;

        if (!can_use(p, request, i))
            continue;
        for (unsigned k = 0; k < (option->shape & OPTION_SLOTS); k++)
            demand += (option->counters[k] & p->available & ~counters) == 0;
        if (demand < least)
            least = demand;
    }
    return least;
}

static unsigned bound_of_counters(const struct packing *packing, uint32_t counters)
{
    unsigned demand = 0;

    for (unsigned i = 0; i < packing->count; i++)
        demand += demand_of(packing->p, i, counters);
    return divide_up(demand, room_of(packing, counters));
}

static void raise_bound(struct packing *packing, unsigned bound)
{
    if (packing->bound < bound)
        packing->bound = (uint8_t)bound;
}

/* The counters of any two requests, of all, and of all those who cannot have a certain counter. */
static void bound_by_counters(struct packing *packing)
{
    const struct placement *p = packing->p;
    uint32_t seen[UPMU_REQUESTS];
    unsigned count = 0;

    for (unsigned i = 0; i < packing->count; i++) {
        uint32_t counters = p->counters[i] & p->available;
        unsigned k = 0;

        while (k < count && seen[k] != counters)
            k++;
        if (k == count)
            seen[count++] = counters;
    }
    raise_bound(packing, divide_up(packing->count, packing->limit));
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k <= i; k++)
            raise_bound(packing, bound_of_counters(packing, seen[i] | seen[k]));
    raise_bound(packing, bound_of_counters(packing, p->available));
    for (uint32_t left = p->available; left != 0; left &= left - 1u) {
        uint32_t others = 0;

        for (unsigned i = 0; i < count; i++)
            others |= seen[i] & left & (0u - left) ? 0 : seen[i];
        raise_bound(packing, bound_of_counters(packing, others));
    }
}

/* Requests that want the same values of some resources. */
struct group {
    uint64_t claims[2];
    unsigned members;
};

static bool group_claims(const struct group *group, unsigned claim)
{
    return group->claims[claim >> 6] >> (claim & 63u) & 1u;
}

/* What a request claims of `resources`; false: it can run without any. */
static bool claims_of(const struct placement *p, unsigned request, uint64_t resources, struct group *out)
{
    out->claims[0] = out->claims[1] = 0;
    out->members = 1;
    for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
        const uint8_t *claims = &p->list[p->option[i].claims];
        bool some = false;

        if (!can_use(p, request, i))
            continue;
        for (unsigned k = 1; k <= claims[0]; k++)
            if (resources >> p->resource[claims[k]] & 1u) {
                some = true;
                out->claims[claims[k] >> 6] |= UPMU_BIT64(claims[k] & 63u);
            }
        if (!some)
            return false;
    }
    return true;
}

/* Counters that requests with a claim can have. */
static void find_reach(const struct packing *packing, uint32_t *reach)
{
    const struct placement *p = packing->p;

    memset(reach, 0, PLACE_CLAIMS * sizeof *reach);
    for (unsigned i = 0; i < p->option_count; i++) {
        const uint8_t *claims = &p->list[p->option[i].claims];

        for (unsigned k = 1; k <= claims[0]; k++)
            for (unsigned slot = 0; slot < (p->option[i].shape & OPTION_SLOTS); slot++)
                reach[claims[k]] |= p->option[i].counters[slot] & p->available;
    }
}

/* How many times a group needs a resource: each time it serves as many as it has counters for. */
static unsigned turns_of(const struct packing *packing, const struct group *group, const uint32_t *reach)
{
    unsigned widest = 1;

    for (unsigned claim = 0; claim < packing->p->claim_count; claim++)
        if (group_claims(group, claim) && widest < room_of(packing, reach[claim]))
            widest = room_of(packing, reach[claim]);
    return divide_up(group->members, widest);
}

/* Groups that never share a value take turns at the resources. */
static unsigned bound_of_resources(const struct packing *packing, const uint32_t *reach, uint64_t resources)
{
    struct group group[UPMU_REQUESTS];
    unsigned groups = 0, turns = 0;

    for (unsigned i = 0; i < packing->count; i++) {
        struct group *one = &group[groups];
        unsigned k = 0;
        bool apart = true;

        if (!claims_of(packing->p, i, resources, one))
            continue;
        while (k < groups && (group[k].claims[0] != one->claims[0] || group[k].claims[1] != one->claims[1])) {
            apart = apart && !(group[k].claims[0] & one->claims[0]) && !(group[k].claims[1] & one->claims[1]);
            k++;
        }
        if (k < groups)
            group[k].members++;
        else if (apart)
            groups++;
    }
    for (unsigned k = 0; k < groups; k++)
        turns += turns_of(packing, &group[k], reach);
    return divide_up(turns, upmu_bits_count((uint32_t)resources) + upmu_bits_count((uint32_t)(resources >> 32)));
}

static void bound_by_resources(struct packing *packing)
{
    const struct placement *p = packing->p;
    uint32_t reach[PLACE_CLAIMS];

    find_reach(packing, reach);
    for (unsigned i = 0; i < packing->count; i++) {
        uint64_t resources = p->resources[i];

        for (unsigned k = 0; k < i; k++)
            if (p->resources[k] == resources)
                resources = 0;
        if (resources & p->contested)
            raise_bound(packing, bound_of_resources(packing, reach, resources));
    }
    for (uint64_t rest = p->contested; rest; rest &= rest - 1u)
        raise_bound(packing, bound_of_resources(packing, reach, rest & (0u - rest)));
}

/* ---- Exchanging ---- */

/* A request that looks for a set, and whose place it would take. */
struct step {
    uint8_t request;
    uint8_t before; /* the step whose request would take its place */
    uint8_t set;    /* that it would leave */
};

/* Move the requests along a path, the last one to `set`; false: the sets do not fit any more. */
static bool follow_path(struct packing *packing, const struct step *steps, unsigned last, unsigned set, unsigned sets)
{
    uint32_t before[UPMU_REQUESTS];
    uint32_t changed = 0;

    for (unsigned i = 0; i < sets; i++)
        before[i] = packing->set[i];
    for (unsigned i = last;; i = steps[i].before) {
        packing->set[set] |= UPMU_BIT32(steps[i].request);
        changed |= UPMU_BIT32(set);
        if (i == 0)
            break;
        set = steps[i].set;
        packing->set[set] &= ~UPMU_BIT32(steps[i].request);
    }
    for (; changed; changed &= changed - 1u)
        if (!upmu_packing_fits(packing, packing->set[upmu_bits_lowest(changed)])) {
            for (unsigned i = 0; i < sets; i++)
                packing->set[i] = before[i];
            return false;
        }
    return true;
}

/* Find a place for a request in one of the first `sets`, others moving if they must. */
static bool exchange(struct packing *packing, unsigned request, unsigned sets)
{
    struct step steps[UPMU_REQUESTS] = {{(uint8_t)request, 0, 0}};
    uint32_t seen = UPMU_BIT32(request);
    unsigned count = 1;

    for (unsigned i = 0; i < count; i++) {
        uint32_t wanting = UPMU_BIT32(steps[i].request);

        for (unsigned set = 0; set < sets && packing->steps; set++) {
            if (packing->set[set] & wanting)
                continue;
            if (upmu_packing_fits(packing, packing->set[set] | wanting)) {
                if (follow_path(packing, steps, i, set, sets))
                    return true;
                continue;
            }
            for (uint32_t rest = packing->set[set] & ~seen; rest && packing->steps; rest &= rest - 1u) {
                uint32_t leaving = rest & (0u - rest);

                if (!upmu_packing_fits(packing, (packing->set[set] & ~leaving) | wanting))
                    continue;
                seen |= leaving;
                steps[count].request = (uint8_t)upmu_bits_lowest(leaving);
                steps[count].before = (uint8_t)i;
                steps[count++].set = (uint8_t)set;
            }
        }
    }
    return false;
}

/* Bring the requests of all sets from `sets` on into those before. */
static bool squeeze(struct packing *packing, unsigned sets)
{
    uint32_t before[UPMU_REQUESTS];

    memcpy(before, packing->set, sizeof before);
    while (packing->sets > sets) {
        uint32_t *last = &packing->set[packing->sets - 1u];
        uint32_t moving = *last & (0u - *last);

        *last &= ~moving;
        if (!exchange(packing, upmu_bits_lowest(moving), sets)) {
            /* (A set that lost the counter that served another one's helper may not fit.) */
            memcpy(packing->set, before, sizeof before);
            while (packing->set[packing->sets])
                packing->sets++;
            return false;
        }
        if (!*last)
            packing->sets--;
    }
    return true;
}

/* ---- Trying everything ---- */

/* Do they fit, helpers and all? */
static bool sets_fit(struct packing *packing, const uint32_t *set, unsigned sets, uint64_t helped)
{
    packing->p->helped = helped;
    for (unsigned k = 0; k < sets && helped; k++)
        if (set[k] && !upmu_packing_fits(packing, set[k])) {
            packing->p->helped = 0;
            return false;
        }
    memcpy(packing->set, set, sizeof packing->set);
    packing->sets = (uint8_t)sets;
    return true;
}

/* Requests in the order they are given sets: those of several slots, which tie others together, first. */
static void find_order(const struct packing *packing, uint8_t *order)
{
    const struct placement *p = packing->p;
    unsigned count = 0;

    for (unsigned level = 0; level < 3; level++)
        for (unsigned i = 0; i < packing->count; i++) {
            bool tied = (p->helpers >> i & 1u) || (p->option[p->first[i]].shape & OPTION_SLOTS) > 1;
            unsigned own = tied ? 0 : p->resources[i] & p->contested ? 1 : 2;

            if (own == level)
                order[count++] = (uint8_t)i;
        }
}

/* A request that looks for a set. */
struct seeker {
    uint8_t next;     /* set that it tries */
    uint8_t used;     /* sets that are not empty; of the others, the first stands for all */
    uint32_t because; /* requests that keep it out of those it tried */
};

/*
 * UPMU_ERR_DOES_NOT_FIT: it is proven that `sets` are too few; UPMU_ERR_TOO_HARD:
 * nothing is known.  Whoever finds no set goes back to the last request that kept him out.
 * With helpers a part of a set that fits need not fit, as the counter that served one may be
 * gone: they are let go until all requests have a set.
 */
static enum upmu_status search_all(struct packing *packing, unsigned sets, uint64_t helped)
{
    struct seeker seeker[UPMU_REQUESTS + 1] = {{0, 0, 0}}, *at = seeker;
    uint32_t set[UPMU_REQUESTS + 1] = {0};
    uint8_t order[UPMU_REQUESTS];

    find_order(packing, order);
    while (packing->steps) {
        bool all = at == seeker + packing->count;
        uint32_t wanting = all ? 0 : UPMU_BIT32(order[at - seeker]), because;
        unsigned k = at->next;

        if (all && sets_fit(packing, set, sets, helped))
            return UPMU_OK;
        if (!all && k <= at->used && k < sets) {
            if (set[k] && !upmu_packing_fits(packing, set[k] | wanting)) {
                at->because |= packing->p->witness & ~wanting;
                at->next++;
                continue;
            }
            set[k] |= wanting;
            at[1] = (struct seeker){0, (uint8_t)(at->used + (k == at->used)), 0};
            at++;
            continue;
        }
        because = all ? ~UINT32_C(0) : at->because;
        do {
            if (at == seeker)
                return packing->unsure ? UPMU_ERR_TOO_HARD : UPMU_ERR_DOES_NOT_FIT;
            at--;
            wanting = UPMU_BIT32(order[at - seeker]);
            set[at->next] &= ~wanting;
        } while ((because & wanting) == 0);
        at->because |= because & ~wanting;
        at->next++;
    }
    return UPMU_ERR_TOO_HARD;
}

static enum upmu_status try_all(struct packing *packing, unsigned sets)
{
    uint64_t helped = packing->p->helped;
    enum upmu_status status;

    packing->p->helped = 0;
    status = search_all(packing, sets, helped);
    packing->p->helped = helped;
    return status;
}

void upmu_packing_better(struct packing *packing)
{
    bound_by_counters(packing);
    bound_by_resources(packing);
    for (unsigned sets = packing->bound; sets < packing->sets && packing->steps; sets++) {
        uint32_t saved = packing->steps / 2u;
        enum upmu_status status;

        if (squeeze(packing, sets))
            return;
        /* Half of what is left, so that one set more gets its turn. */
        packing->steps -= saved;
        status = try_all(packing, sets);
        packing->steps += saved;
        if (status == UPMU_ERR_DOES_NOT_FIT && sets == packing->bound)
            packing->bound++;
    }
}

#endif
