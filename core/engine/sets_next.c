/* SPDX-License-Identifier: MIT */
/*
 * Choose the next set of a session's chain, and tell when it is due (docs/ENGINE.md, "Threads, multiplexing and sets").
 */
#include "core/engine/sets.h"
#include "core/util/random.h"
#include "core/hw/port_call.h"
#include "core/engine/count.h"
#include "core/engine/estimate.h"

#if UPMU_SETS

/*
 * Begin a run of a set: it has its whole timeout left, and each event as many overflows until the next set as its
 * `switch_after` says (0: no overflow switches the set).
 */
static void begin_run(struct upmu_set *set)
{
    set->runs++;
    set->left_ns = set->timeout_ns;
    for (unsigned i = 0; i < set->count; i++)
        set->tally[i].to_switch = set->flags & UPMU_SET_OVERFLOW_SWITCH ? set->sampling[i].switch_after : 0;
}

/* Draw one of the sets that were not drawn in this round.  If all were, begin a new round. */
static struct upmu_set *draw_set(struct upmu_session *session)
{
    unsigned left = 0;
    uint32_t skip;
    struct upmu_set *set;

    for (set = session->sets; set; set = set->next)
        left += set->round != session->round;
    if (!left) {
        session->round++;
        for (set = session->sets; set; set = set->next)
            left++;
    }
    skip = upmu_random_below(&session->random, left);
    for (set = session->sets; set->round == session->round || skip; set = set->next)
        if (set->round != session->round)
            skip--;
    set->round = session->round;
    return set;
}

static struct upmu_set *following_set(struct upmu_session *session)
{
    struct upmu_set *next = session->active->next;

    if (!session->ordered)
        return draw_set(session);
    return next ? next : session->sets;
}

/* Without a clock it is unknown for which time a set misses events while other sets run: mark its counts (`hole`). */
static void mar_set(const struct upmu_session *session, struct upmu_set *set)
{
    for (unsigned i = 0; !port_has_clock(session->machine->port) && i < set->count; i++)
        upmu_count_mar_one(&set->tally[i]);
}

void upmu_sets_begin(struct upmu_session *session)
{
    if (session->begun)
        return;
    session->begun = 1;
    session->round = 1;
    session->active->round = 1;
    begin_run(session->active);
}

void upmu_sets_choose(struct upmu_session *session, struct upmu_set *set)
{
    session->following = set ? set : following_set(session);
    if (session->following != session->active) {
        mar_set(session, session->active);
        mar_set(session, session->following);
    }
}

void upmu_sets_switched(struct upmu_session *session)
{
    struct upmu_set *next = session->following;

    session->following = NULL;
    session->switch_due = 0;
    upmu_estimate_turn(session->active);
    begin_run(next);
    upmu_session_turn_to(session, next);
}

void upmu_sets_advance(struct upmu_session *session, struct upmu_set *set)
{
    upmu_sets_choose(session, set);
    upmu_sets_switched(session);
}

bool upmu_sets_over(const struct upmu_session *session, uint64_t now_ns)
{
    const struct upmu_set *set = session->active;

    return session->state == UPMU_SESSION_RUNNING && (set->flags & UPMU_SET_TIME_SWITCH) &&
           now_ns - session->running_ns >= set->left_ns;
}

#endif
