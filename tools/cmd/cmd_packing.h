/* SPDX-License-Identifier: MIT */
/*
 * Exact packing, which the library leaves to tools: cmd_pack_exact.c splits a list into components
 * and packs each first-fit-decreasing; cmd_pack_search.c computes the bound and improves a
 * component of up to UPMU_REQUESTS requests.  Uses the library's solver from within.
 */
#ifndef UPMU_CMD_PACKING_H
#define UPMU_CMD_PACKING_H

#include <upmu/pack.h>
#include "core/place/placement.h"

#define CMD_PACK_REQUESTS 256u
#define CMD_PACK_LESSONS 64

/* Requests `together` can only run in one set if one of `others` runs there, too, and serves their helpers. */
struct cmd_pack_lesson {
    uint32_t together;
    uint32_t others;
};

/* What a request may use. */
struct cmd_pack_request {
    uint64_t resources;
    uint32_t counters;
    uint16_t component; /* from 1 on */
};

/* Working memory of cmd_pack_exact(). */
struct cmd_pack_work {
    struct upmu_place_work place;
    struct cmd_pack_lesson lesson[CMD_PACK_LESSONS];
    struct cmd_pack_request request[CMD_PACK_REQUESTS];
    uint16_t member[CMD_PACK_REQUESTS]; /* of the present component, hardest first */
    uint16_t set_of[CMD_PACK_REQUESTS]; /* of these */
    uint64_t library[UPMU_PACK_BYTES(CMD_PACK_REQUESTS) / 8u + 1u]; /* for upmu_requests_pack() */
};

/*
 * A component that was read as one placement: its sets are masks of requests, most
 * constrained request first.
 */
struct packing {
    struct placement *p;
    uint32_t steps; /* placements left */
    uint32_t tried;
    bool unsure;   /* some placement was too hard: nothing is proven by search */
    uint8_t limit; /* requests in one set */
    uint8_t count;
    uint8_t sets;
    uint8_t bound;
    uint32_t set[UPMU_REQUESTS + 1]; /* 0 after the last */

    /* Pairs of resources on which a request might serve helpers, and on which it might be served. */
    uint32_t serves[UPMU_REQUESTS];
    uint32_t wants[UPMU_REQUESTS];

    /* The search for a better packing. */
    uint32_t trial[UPMU_REQUESTS + 1];
    uint32_t left;                  /* requests without a set */
    uint32_t weight[UPMU_REQUESTS]; /* of the remaining requests, the heaviest gets a set first */
    uint32_t lessons;
    struct cmd_pack_lesson *lesson; /* the latest ones: CMD_PACK_LESSONS */
};

/* Can these requests run together?  Takes a step. */
bool cmd_packing_fits(struct packing *packing, uint32_t requests);

/* Find the lower bound, and search for a packing that reaches it. */
void cmd_packing_better(struct packing *packing);

/*
 * Pack requests into as few sets as `steps` placements find.
 *
 * Requests that share no counters and no resources are packed separately.  The first packing is
 * first-fit-decreasing, as upmu_requests_pack() has it; if it misses the lower bound, requests are exchanged
 * between sets, and groups of up to UPMU_REQUESTS searched through, until `steps` are used up:
 * never more sets than first-fit-decreasing.  Returns as upmu_requests_pack(); UPMU_ERR_INVALID for more
 * than CMD_PACK_REQUESTS requests, too.
 */
enum upmu_status cmd_pack_exact(const struct upmu_pack_input *input, uint32_t steps, struct cmd_pack_work *work,
                                uint16_t *set_of, struct upmu_pack_result *out);

/* Pack, as cmd_pack_exact() does, encoded events of one PMU on which nothing else runs. */
enum upmu_status cmd_pack_exact_events(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count,
                                       uint32_t steps, struct cmd_pack_work *work, uint16_t *set_of,
                                       struct upmu_pack_result *out);

#endif
