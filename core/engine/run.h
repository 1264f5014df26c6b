/* SPDX-License-Identifier: MIT */
/*
 * A placed session on the hardware.  All inside a local bracket.
 */
#ifndef UPMU_CORE_RUN_H
#define UPMU_CORE_RUN_H

#include "core/hw/backend.h"
#include "core/hw/register.h"
#include "core/engine/joint.h"
#include <upmu/place.h>
#include <upmu/session.h>

/* What a session's part is in a change of what runs: bits of session->change. */
#define UPMU_CHANGE_LEAVES 1u
#define UPMU_CHANGE_COMES 2u
#define UPMU_CHANGE_FRESH 4u /* its enabled time begins when it is on the hardware */
#define UPMU_CHANGE_LATER 8u /* cannot come in the change itself */
#define UPMU_CHANGE_COMES_OR_LATER (UPMU_CHANGE_COMES | UPMU_CHANGE_LATER)

/* Close gates, and once more if a register faulted. */
bool upmu_run_close(struct upmu_meter *meter, uint32_t counters);

/* An unknown part is missing in the session's counts. */
void upmu_run_mar(struct upmu_session *session);

/* Hold all tallies of a set against handlers, or release them; the ones that a session's events have now. */
void upmu_run_hold(struct upmu_set *set, bool hold);
void upmu_run_begin(struct upmu_session *session);
void upmu_run_end(struct upmu_session *session);

/* Give a closed counter its start value: a load for sampling, a base for counting. */
bool upmu_run_prime(struct upmu_meter *meter, struct upmu_tally *tally);

/* The same of one that is closed, by the handler or the local side; no wide event's. */
bool upmu_run_begin_at(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns);

/*
 * A closed counter gets what its event begins with, if that is new (the counter is among `changed`), its value is
 * another's, or it ran on meanwhile.  `opening`: counters that the caller opens next.  False: a register faulted.
 */
bool upmu_run_ready(struct upmu_meter *meter, struct upmu_tally *tally, uint32_t changed, uint32_t opening);

/*
 * Load a placed session's registers, gates closed; `opening`: counters that the caller opens next or, if this fails,
 * closes.
 */
enum upmu_status upmu_run_load(struct upmu_meter *meter, struct upmu_session *session, uint32_t opening);

/* A register faulted: this session stops, the others run on.  Returns UPMU_ERR_PORT. */
enum upmu_status upmu_run_fail(struct upmu_meter *meter, struct upmu_session *session);

/* Close these gates, of `dormant` ones first; what faulted is closed as far as it can be. */
bool upmu_run_close_all(struct upmu_meter *meter, uint32_t counters, uint32_t dormant);

/* Open gates, and those that a prelude has closed. */
bool upmu_run_open(struct upmu_meter *meter, uint32_t opening);

/*
 * Read a tally's counter; of a cascade, note whether its initiator has overflowed.  False: a
 * register faulted.
 */
bool upmu_run_value(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t *out_value);

/* Set the tag of the values on these counters; 0: they are loaded before they run again. */
void upmu_run_tag(struct upmu_meter *meter, uint32_t counters, uint32_t tag);

/* What it left on its counters is not its any more.  (Another one may have them since: that one's stays.) */
void upmu_run_untag(struct upmu_meter *meter, const struct upmu_tally *tally);

/* A tally, of a session that does not run, gets its place. */
void upmu_run_place(struct upmu_meter *meter, struct upmu_tally *tally, const struct upmu_place_result *result);

/* Make a tally the user of its counter. */
void upmu_run_take(struct upmu_meter *meter, struct upmu_session *session, struct upmu_tally *tally);

/* The tally that a counter is read for, or NULL. */
struct upmu_tally *upmu_run_on(const struct upmu_meter *meter, unsigned counter);

/* Does it run, but stand still while the library does, so that it need not be stopped to be written? */
bool upmu_run_still(const struct upmu_meter *meter, const struct upmu_tally *tally);

/* Take the value of a tally's counter, which may run, into it; false: a register faulted. */
bool upmu_run_fold(struct upmu_meter *meter, struct upmu_tally *tally);

/*
 * Clear what `flagged` has of these counters: a status bit that was set before would look like an overflow of what is
 * counted from now on.  False: a register faulted.
 */
bool upmu_run_acknowledge(struct upmu_meter *meter, uint32_t counters);

/* A counter that leaves, or is folded, has passed zero; `passed`: what it samples says so. */
void upmu_run_turned(struct upmu_meter *meter, struct upmu_tally *tally, uint64_t now_ns, bool passed);

/*
 * Counters are taken away, unread: those that run may have overflowed, also for no session, as what a static one left
 * running does.
 */
void upmu_run_expect(struct upmu_meter *meter, uint32_t counters);

/* A counter that leaves could not be read: it may have overflowed, and what it holds is in no count. */
void upmu_run_unread(struct upmu_meter *meter, struct upmu_tally *tally);

/* Does closing a counter lose a carry?  Then it is folded before that. */
static inline bool upmu_run_folds_first(const struct upmu_meter *meter)
{
    return upmu_pmu_is(meter->pmu, UPMU_PMU_CARRY_LOST);
}

/* Take the value of a closed counter into its tally; true: a sample is due. */
bool upmu_run_settle(struct upmu_meter *meter, const struct upmu_session *session, struct upmu_tally *tally,
                     unsigned counter, uint64_t value);

/* The same for all closed counters of a session, with the samples due. */
enum upmu_status upmu_run_counts(struct upmu_meter *meter, struct upmu_session *session);

/* Handlers' masks after a change of what runs. */
void upmu_run_publish(struct upmu_meter *meter);

#endif
