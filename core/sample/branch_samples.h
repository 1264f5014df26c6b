/* SPDX-License-Identifier: MIT */
/*
 * Branch records in samples: when the stack of a CPU records for sessions, and the branches of a sample.  Called by the
 * engine; upmu/branches.h has the public calls.  Context: a bracket, or a handler that interrupted none; a handler for
 * upmu_branch_samples_interrupt(), upmu_branch_samples_status() and upmu_branch_samples_resume().
 */
#ifndef UPMU_CORE_BRANCH_SAMPLES_H
#define UPMU_CORE_BRANCH_SAMPLES_H

#include "core/engine/count.h"
#include "core/engine/session_core.h"
#include <upmu/branches.h>

#if UPMU_BRANCH_SAMPLES

/* Do the samples of the session have branches? */
static inline bool upmu_session_wants_branches(const struct upmu_session *session)
{
    return session->branches;
}

/* Does a set need the branch stack: does any of its events sample, and do samples of its session have branches? */
static inline bool upmu_set_wants_branches(const struct upmu_set *set)
{
    if (set->session->branches)
        for UPMU_TALLIES(tally, set)
            if (upmu_tally_samples(tally))
                return true;
    return false;
}

/*
 * Return the branches that the stack records while the set runs; 0: it needs no stack.  Of a session that hid the
 * kernel at its start, only those of user mode.
 */
static inline uint32_t upmu_branch_samples_wanted(const struct upmu_set *set)
{
    uint32_t record = upmu_set_wants_branches(set) ? set->session->branches : 0;

    if (!set->session->began_hidden)
        return record;
    return record & UPMU_BRANCH_USER ? record & ~(uint32_t)UPMU_BRANCH_KERNEL : 0;
}

/* Has the session hidden the kernel after its start, so that the stack may have branches that it is not to see? */
static inline bool upmu_branch_samples_hidden(const struct upmu_session *session)
{
    return session->hides_kernel && !session->began_hidden && (session->branches & UPMU_BRANCH_KERNEL);
}

/* Does this CPU lend its stack to sessions?  Without, no set runs there that needs the stack. */
static inline bool upmu_branch_samples_ready(const struct upmu_meter *meter)
{
    return meter->takes_branches;
}

/*
 * Can the session run on this CPU, as far as branches are concerned?  Returns UPMU_OK; UPMU_ERR_HOOK_MISSING: the CPU
 * does not lend its stack; UPMU_ERR_UNSUPPORTED: the stack cannot record this.  Except for UPMU_OK session->why has the
 * reason.
 */
enum upmu_status upmu_branch_samples_check(const struct upmu_meter *meter, struct upmu_session *session);

/* Can the samples of two sets have branches at the same time?  Yes if they want the same, or one of them none. */
bool upmu_branch_samples_agree(const struct upmu_set *one, const struct upmu_set *other);

/*
 * Can a set that needs the stack come by the meter's plan, as far as it is made: does the CPU lend its stack, and does
 * no set that will run beside it want other branches?
 */
bool upmu_branch_samples_join(const struct upmu_meter *meter, const struct upmu_set *set);

/*
 * A session that is not started is about to be: note whether it hides the kernel.  If that has changed, its placements
 * are forgotten, as other sessions may have been refused beside them.
 */
void upmu_branch_samples_begin(struct upmu_session *session);

/* A plan or a repair has published what runs: record what the running sessions want, or nothing. */
void upmu_branch_samples_come(struct upmu_meter *meter);

/* Another thread runs from now on, and the stack records: clear it, unless this thread's plan has. */
void upmu_branch_samples_switch(struct upmu_meter *meter);

/* The world has changed (meter->in_guest) while the stack records: a guest's branches are not recorded. */
void upmu_branch_samples_cross(struct upmu_meter *meter);

/* An interrupt has come while the stack records: stop recording, unless the hardware has. */
void upmu_branch_samples_interrupt(struct upmu_meter *meter);

/* The status register of this interrupt, while the stack records: note whether the hardware has stopped recording. */
void upmu_branch_samples_status(struct upmu_meter *meter, uint64_t status);

/*
 * A bracket has found an overflow, or looks for one, whose interrupt may have been dropped, while the stack records:
 * the hardware may have stopped recording.  Returns whether that was not known yet.
 */
bool upmu_branch_samples_missed(struct upmu_meter *meter);

/*
 * Give the overflow its branches.  `of_interrupt`: the overflow is reported for the interrupt that it caused.  It gets
 * none where they would be of another moment, or the session may not see them.
 */
void upmu_branch_samples_take(struct upmu_overflow *overflow, bool of_interrupt);

/* The entries of unit->newest are replaced by others: the next sample of the interrupt reads the stack again. */
void upmu_branch_samples_forget(struct upmu_branch_unit *unit);

/* The samples of an interrupt are stored: record again. */
void upmu_branch_samples_resume(struct upmu_meter *meter);

#else

static inline bool upmu_session_wants_branches(const struct upmu_session *session)
{
    (void)session;
    return false;
}

static inline bool upmu_set_wants_branches(const struct upmu_set *set)
{
    (void)set;
    return false;
}

static inline uint32_t upmu_branch_samples_wanted(const struct upmu_set *set)
{
    (void)set;
    return 0;
}

static inline bool upmu_branch_samples_ready(const struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

#endif

#endif
