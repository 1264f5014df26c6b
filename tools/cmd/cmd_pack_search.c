/* SPDX-License-Identifier: MIT */
/*
 * The lower bound of a component's sets, and the search for a packing that reaches
 * it: first by exchanging requests between sets along shortest paths (exact where only
 * counters matter: that is a partition into independent sets of a matroid), then by
 * trying everything, which proves what it does not find: it learns which requests never
 * run together, and tries those first that it learned most about.  Pure, never recurses.
 */
#include "core/util/mem.h"
#include <tools/cmd/cmd_packing.h>

bool cmd_packing_fits(struct packing *packing, uint32_t requests)
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

/* The most requests that can run at the same time on some counters. */
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

/* Is this an option of the request when it is placed alone? */
static bool can_use(const struct placement *p, unsigned request, unsigned option)
{
    return p->usable[request] >> (option - p->first[request]) & 1u;
}

/* The number of `counters` that a request takes in all its options without certain flags. */
static unsigned demand_of(const struct placement *p, unsigned request, uint32_t counters, unsigned without)
{
    unsigned least = UPMU_SLOTS;

    for (unsigned i = p->first[request]; i < p->first[request + 1]; i++) {
        const struct place_option *option = &p->option[i];
        unsigned demand = 0;

        if (!can_use(p, request, i) || (option->shape & without))
            continue;
        for (unsigned k = 0; k < (option->shape & OPTION_SLOTS); k++)
            demand += (option->counters[k] & p->available & ~counters) == 0;
        if (demand < least)
            least = demand;
    }
    return least;
}

/* Note on which pairs of resources each request can serve helpers, and on which it needs to be served. */
static void find_helpers(struct packing *packing)
{
    const struct placement *p = packing->p;

    for (unsigned i = 0; i < packing->count; i++)
        for (unsigned k = p->first[i]; k < p->first[i + 1]; k++) {
            const uint8_t *list = &p->list[p->option[k].claims];
            uint32_t pairs = 0, last = 0;

            for (unsigned left = *list; left != 0; left--) {
                pairs |= last;
                last = UPMU_BIT32(p->resource[*++list] >> 1);
            }
            packing->serves[i] |= pairs | last;
            /* An option that serves its own helper counts as one that needs a server on every pair. */
            if (p->option[k].shape & OPTION_SERVED)
                packing->wants[i] |= pairs & last ? ~UINT32_C(0) : last;
        }
}

/* Does every request that can serve helpers on a pair need to be served there itself, which takes one counter more? */
static bool pair_takes_one(const struct packing *packing, uint32_t counters, uint32_t pair)
{
    bool some = false;

    for (unsigned i = 0; i < packing->count; i++)
        if (packing->serves[i] & pair) {
            some = true;
            if (packing->wants[i] != pair ||
                demand_of(packing->p, i, counters, OPTION_SERVED) <= demand_of(packing->p, i, counters, 0))
                return false;
        }
    return some;
}

static unsigned bound_of_counters(const struct packing *packing, uint32_t counters)
{
    const struct placement *p = packing->p;
    unsigned demand = 0;

    for (unsigned i = 0; i < packing->count; i++)
        demand += demand_of(p, i, counters, 0);
    for (uint32_t pair = HELPED(p); pair; pair <<= 1)
        demand += pair_takes_one(packing, counters, pair);
    return divide_up(demand, room_of(packing, counters));
}

static void raise_bound(struct packing *packing, unsigned bound)
{
    if (packing->bound < bound)
        packing->bound = (uint8_t)bound;
}

/* The counters of any two requests, of all, and of all requests that cannot have a certain counter. */
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

/* Requests that need the same values of some resources. */
struct group {
    uint64_t claims[2];
    unsigned members;
};

static bool group_claims(const struct group *group, unsigned claim)
{
    return group->claims[claim >> 6] >> (claim & 63u) & 1u;
}

/* The claims that a request makes on `resources`; false: the request can run without any. */
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

/* Groups that can never have equal values need the resources one after the other. */
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
}

/* ---- Exchanging ---- */

/* A request that needs a set, and the request whose place it would take. */
struct step {
    uint8_t request;
    uint8_t before; /* the step whose request would take its place */
    uint8_t set;    /* that it would leave */
};

/* Move the requests along a path, the last one to `set`; false: the sets no longer fit. */
static bool follow_path(struct packing *packing, const struct step *steps, unsigned last,
                                            unsigned set)
{
    uint32_t before[UPMU_REQUESTS];
    uint32_t changed = 0;

    memcpy(before, packing->trial, sizeof before);
    for (unsigned i = last;; i = steps[i].before) {
        packing->trial[set] |= UPMU_BIT32(steps[i].request);
        changed |= UPMU_BIT32(set);
        if (i == 0)
            break;
        set = steps[i].set;
        packing->trial[set] &= ~UPMU_BIT32(steps[i].request);
    }
    for (; changed; changed &= changed - 1u)
        if (!cmd_packing_fits(packing, packing->trial[upmu_bits_lowest(changed)])) {
            memcpy(packing->trial, before, sizeof before);
            return false;
        }
    return true;
}

/* Find a place for a request in one of the first `sets`; other requests may move. */
static bool exchange(struct packing *packing, unsigned request, unsigned sets)
{
    struct step steps[UPMU_REQUESTS] = {{(uint8_t)request, 0, 0}};
    uint32_t seen = UPMU_BIT32(request);
    unsigned count = 1;

    for (unsigned i = 0; i < count; i++) {
        uint32_t wanting = UPMU_BIT32(steps[i].request);

        for (unsigned set = 0; set < sets && packing->steps; set++) {
            if (packing->trial[set] & wanting)
                continue;
            if (cmd_packing_fits(packing, packing->trial[set] | wanting)) {
                if (follow_path(packing, steps, i, set))
                    return true;
                continue;
            }
            for (uint32_t rest = packing->trial[set] & ~seen; rest && packing->steps; rest &= rest - 1u) {
                uint32_t leaving = rest & (0u - rest);

                if (!cmd_packing_fits(packing, (packing->trial[set] & ~leaving) | wanting))
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

/* Move the requests of all sets from `sets` on into the sets before. */
static bool squeeze(struct packing *packing, unsigned sets)
{
    memcpy(packing->trial, packing->set, sizeof packing->trial);
    for (unsigned from = sets; from < packing->sets; from++)
        for (; packing->trial[from]; packing->trial[from] &= packing->trial[from] - 1u)
            if (!exchange(packing, upmu_bits_lowest(packing->trial[from]), sets))
                return false;
    return true;
}

/* ---- Trying everything ---- */

/* Weights before any lesson. */
#define WEIGHT_OF_TIES 16u
#define WEIGHT_OF_RESOURCES 4u

/* A request without a set. */
struct seeker {
    uint8_t request;
    uint8_t next;     /* set that it tries */
    uint8_t used;     /* sets that are not empty; of the others, the first stands for all */
    uint32_t because; /* requests that excluded it from the sets tried */
};

static uint32_t pairs_of(const uint32_t *pairs, uint32_t requests)
{
    uint32_t all = 0;

    for (; requests; requests &= requests - 1u)
        all |= pairs[upmu_bits_lowest(requests)];
    return all;
}

/* Requests of several slots connect others: they are first, then those with resources. */
static void begin_sets(struct packing *packing)
{
    const struct placement *p = packing->p;

    memset(packing->trial, 0, sizeof packing->trial);
    packing->left = (uint32_t)(UPMU_BIT64(packing->count) - 1u);
    for (unsigned i = 0; i < packing->count; i++)
        if (p->option[p->first[i + 1] - 1u].shape & 2u)
            packing->weight[i] += WEIGHT_OF_TIES;
        else if (p->resources[i] & p->contested)
            packing->weight[i] += WEIGHT_OF_RESOURCES;
}

/* Learn from a set that does not fit: which of its requests, and which others could have served their helpers. */
static uint32_t learn_lesson(struct packing *packing)
{
    struct placement *p = packing->p;
    struct cmd_pack_lesson *lesson = &packing->lesson[packing->lessons++ % CMD_PACK_LESSONS];
    uint32_t wanted;

    lesson->together = p->witness;
    lesson->others = 0;
    wanted = pairs_of(packing->wants, lesson->together) & ~p->served;
    for (unsigned i = 0; i < packing->count; i++)
        if (lesson->together >> i & 1u)
            packing->weight[i]++;
        else if (packing->serves[i] & wanted)
            lesson->others |= UPMU_BIT32(i);
    return lesson->together | lesson->others;
}

/*
 * A request was given a set: which requests conflict with it?  A request without a set can still become
 * the server of a helper.  Where this request was the last that could serve another set, that set is asked, too.
 */
static uint32_t find_clash(struct packing *packing, const struct seeker *seeker, unsigned sets)
{
    struct placement *p = packing->p;
    unsigned request = seeker->request;
    uint32_t lost;

    for (unsigned i = 0; i < CMD_PACK_LESSONS; i++) {
        const struct cmd_pack_lesson *lesson = &packing->lesson[i];
        uint32_t concerned = lesson->together | lesson->others;

        if (!(concerned >> request & 1u) || (concerned & packing->left))
            continue;
        for (unsigned k = 0; k < sets; k++)
            if (!(lesson->together & ~packing->trial[k]) && !(lesson->others & packing->trial[k]))
                return concerned;
    }
    p->served = pairs_of(packing->serves, packing->left);
    lost = packing->serves[request] & ~p->served;
    for (unsigned k = 0; k < sets; k++)
        if ((k == seeker->next || (pairs_of(packing->wants, packing->trial[k]) & lost)) &&
            !cmd_packing_fits(packing, packing->trial[k]))
            return learn_lesson(packing);
    return 0;
}

/* Of the requests left, the one that was part of most lessons. */
static unsigned heaviest_left(const struct packing *packing)
{
    unsigned heaviest = upmu_bits_lowest(packing->left);

    for (uint32_t rest = packing->left; rest; rest &= rest - 1u)
        if (packing->weight[heaviest] < packing->weight[upmu_bits_lowest(rest)])
            heaviest = upmu_bits_lowest(rest);
    return heaviest;
}

/*
 * UPMU_ERR_DOES_NOT_FIT: it is proven that the sets are too few; UPMU_ERR_TOO_HARD: nothing is
 * known.  A request that finds no set returns the search to the last request that excluded it.
 */
static enum upmu_status search_all(struct packing *packing, unsigned sets)
{
    struct seeker seeker[UPMU_REQUESTS + 1] = {{0, 0, 0, 0}}, *at = seeker;

    while (packing->steps) {
        uint32_t because = at->because;

        if (!packing->left)
            return UPMU_OK;
        if (at->next == 0)
            at->request = (uint8_t)heaviest_left(packing);
        if (at->next <= at->used && at->next < sets) {
            packing->trial[at->next] |= UPMU_BIT32(at->request);
            packing->left &= ~UPMU_BIT32(at->request);
            at[1] = (struct seeker){0, 0, (uint8_t)(at->used + (at->next == at->used)), 0};
            because = find_clash(packing, at++, sets);
            if (!because)
                continue;
        }
        do {
            if (at == seeker)
                return packing->unsure ? UPMU_ERR_TOO_HARD : UPMU_ERR_DOES_NOT_FIT;
            at--;
            packing->trial[at->next] &= ~UPMU_BIT32(at->request);
            packing->left |= UPMU_BIT32(at->request);
        } while (!(because >> at->request & 1u));
        at->because |= because & ~UPMU_BIT32(at->request);
        at->next++;
    }
    return UPMU_ERR_TOO_HARD;
}

void cmd_packing_better(struct packing *packing)
{
    find_helpers(packing);
    bound_by_counters(packing);
    bound_by_resources(packing);
    for (unsigned sets = packing->bound; sets < packing->sets && packing->steps; sets++) {
        enum upmu_status status = UPMU_OK;

        if (!squeeze(packing, sets)) {
            /* Half of the rest, so that steps are left for one set more. */
            uint32_t saved = packing->steps / 2u;

            packing->steps -= saved;
            begin_sets(packing);
            status = search_all(packing, sets);
            packing->p->served = 0;
            packing->steps += saved;
        }
        if (status == UPMU_OK) {
            memcpy(packing->set, packing->trial, sizeof packing->set);
            packing->sets = (uint8_t)sets;
            while (!packing->set[packing->sets - 1u])
                packing->sets--;
        }
        if (status == UPMU_ERR_DOES_NOT_FIT && sets == packing->bound)
            packing->bound++;
    }
}
