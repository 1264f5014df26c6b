/* SPDX-License-Identifier: MIT */
/*
 * Report an overflow: a sample in the ring, a call of a format, or a message.  A report is made in a bracket, or in a
 * handler that interrupted none, so ring, queue and cpu->overflow are never written by two at a time.
 */
#include "core/engine/report.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/sample/format_core.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/program.h"
#include "core/engine/special.h"

#if UPMU_SAMPLING

/* Does the tally's counter run for the tally, so that its value can be read and added now? */
static bool may_add(const struct upmu_cpu *cpu, const struct upmu_tally *tally)
{
    unsigned counter = tally->counter;

    return counter < UPMU_COUNTERS && cpu->meter.slot[counter].tally == tally &&
           (cpu->meter.running & ~UPMU_METRIC_COUNTERS(cpu->meter.pmu) & UPMU_BIT32(counter));
}

/*
 * Returns a mask of other events of a set (bit: index): those that an overflow of `events` reads or, if `reset`, sets
 * to 0.
 */
static UPMU_APART uint32_t others_of(const struct upmu_set *set, uint32_t events, bool reset)
{
    uint32_t wanted = 0;

    for (uint32_t rest = events; rest; rest &= rest - 1u) {
        const struct upmu_kept *sampling = &set->sampling[upmu_bits_lowest(rest)];

        wanted |= reset ? sampling->resets : sampling->values;
    }
    return wanted & (uint32_t)upmu_bits_ones(set->count) & ~events;
}

/*
 * For an overflow of `events`: fold those other events of the set whose counts go into its records.  Or, if `reset`,
 * fold those that it resets, and set their counts to 0.  If such an event samples, its counter keeps its load: where
 * that ends before the new period does, the overflow has no sample, and the counter is loaded with the rest then.  The
 * count of a wide event is not reset.
 */
static UPMU_INSIDE void touch_others(struct upmu_session *session, uint32_t events, bool reset, uint64_t now_ns)
{
    struct upmu_cpu *cpu = session->meter->cpu;
    struct upmu_set *set = upmu_active(session);

    for (uint32_t wanted = others_of(set, events, reset); wanted; wanted &= wanted - 1u) {
        struct upmu_tally *tally = &set->tally[upmu_bits_lowest(wanted)];

        if (!(reset && upmu_tally_is_wide(tally)) && may_add(cpu, tally) &&
            upmu_count_add(&cpu->meter, tally, now_ns) && reset)
            upmu_count_begin(set, tally, 0);
    }
}

/*
 * If an event has now overflowed as often as its set waits for (UPMU_SET_OVERFLOW_SWITCH), note that the session's next
 * set is due.
 */
static void want_switch(struct upmu_cpu *cpu, struct upmu_session *session, uint32_t events)
{
    if (!(upmu_active(session)->flags & UPMU_SET_OVERFLOW_SWITCH))
        return;
    for (uint32_t rest = events; rest; rest &= rest - 1u) {
        struct upmu_tally *tally = &upmu_active(session)->tally[upmu_bits_lowest(rest)];

        if (tally->to_switch != UPMU_SWITCH_NOW)
            continue;
        tally->to_switch = 0;
        session->switch_due = 1;
        cpu->meter.work_due |= UPMU_DUE_SESSIONS;
    }
}

/*
 * Let an overflow of a precise event have what the hardware's record says.  Returns false if there is no such record.
 * True for other events.
 */
static inline bool find_record(struct upmu_overflow *overflow)
{
    return !UPMU_PRECISE || !(overflow->set->program.flags & UPMU_PROGRAM_PRECISE) ||
           !upmu_tally_is_precise(&overflow->set->tally[upmu_bits_lowest(overflow->events)]) ||
           upmu_records_sample(overflow, &overflow->cpu->meter);
}

/*
 * Give an overflow what its hardware knows besides: of a precise event the record, and branches if the session wants
 * them.  Returns false if a precise event has no record.  `framed`: the overflow is that of an interrupt with a frame.
 */
static inline bool complete_overflow(struct upmu_overflow *overflow, bool framed)
{
    if (!find_record(overflow))
        return false;
#if UPMU_BRANCH_SAMPLES
    if (overflow->set->program.flags & UPMU_PROGRAM_BRANCHES)
        upmu_branch_samples_take(overflow, framed);
    else
        overflow->branches = 0;
#else
    (void)framed;
#endif
    return true;
}

static void record_overflow(struct upmu_session *session, uint32_t events, const struct upmu_frame *frame,
                            uint64_t now_ns)
{
    struct upmu_cpu *cpu = session->meter->cpu;
    struct upmu_overflow *overflow = &cpu->overflow;

    if (upmu_session_dropped(session))
        return;
    /* A full session samples no more: an overflow of a counter that was still open counts as a lost period. */
    if (session->full) {
        for (uint32_t rest = events; rest; rest &= rest - 1u)
            upmu_active(session)->tally[upmu_bits_lowest(rest)].lost++;
        return;
    }
    overflow->session = session;
    overflow->cpu = cpu;
    overflow->event = 0;
    overflow->set = upmu_active(session);
    overflow->set_number = upmu_active(session)->number;
    overflow->time_ns = now_ns;
    overflow->events = events;
    overflow->frame = frame;
    if (frame) {
        overflow->ip = frame->ip;
        overflow->sp = frame->sp;
        overflow->process = frame->process;
        overflow->thread = frame->thread;
        overflow->flags = frame->user ? UPMU_SAMPLE_USER : 0;
        if (!frame->user && session->hides_kernel) {
            overflow->frame = NULL;
            overflow->ip = overflow->sp = 0;
            overflow->flags = UPMU_SAMPLE_HIDDEN;
        }
    } else {
        overflow->ip = overflow->sp = 0;
        overflow->process = overflow->thread = 0;
        overflow->flags = UPMU_SAMPLE_NO_FRAME;
    }
    if (UPMU_SETS)
        want_switch(cpu, session, events);
    if (!complete_overflow(overflow, frame != NULL)) {
        upmu_active(session)->tally[upmu_bits_lowest(events)].lost++;
    } else if (upmu_format_report(overflow) & UPMU_OVERFLOW_MASK) {
        session->long_due |= events;
        UPMU_STORE(session->full, 1);
        cpu->meter.work_due |= UPMU_DUE_SESSIONS;
    }
    /* Leave no pointers: the frame is on the handler's stack, and the session may be closed, or its set removed. */
    overflow->frame = NULL;
    overflow->session = NULL;
    overflow->set = NULL;
}

/*
 * Take from *rest the events of an overflow that have the next report: a precise event alone, as it has an instruction
 * of its own; else all that are not precise.
 */
static inline uint32_t next_report(const struct upmu_set *set, uint32_t *rest)
{
    uint32_t events = *rest, others = 0;

    for (; UPMU_PRECISE && (set->program.flags & UPMU_PROGRAM_PRECISE) && events; events &= events - 1u) {
        if (upmu_tally_is_precise(&set->tally[upmu_bits_lowest(events)])) {
            *rest &= ~(events & ~(events - 1u));
            return events & ~(events - 1u);
        }
        others |= events & ~(events - 1u);
    }
    events |= others;
    *rest = 0;
    return events;
}

/* Return how many records the hardware has stored for a report of a batch; 0: the events of the report are none. */
static inline unsigned batch_records(const struct upmu_session *session, uint32_t events)
{
    const struct upmu_set *set = upmu_active(session);

    if (!UPMU_PRECISE || !(set->program.flags & UPMU_PROGRAM_PRECISE))
        return 0;
    return upmu_batch_left(session->meter->cpu, &set->tally[upmu_bits_lowest(events)]);
}

void upmu_report(struct upmu_session *session, uint32_t events, const struct upmu_frame *frame, const uint64_t *now_ns)
{
    bool others = upmu_active(session)->program.flags & UPMU_PROGRAM_OTHERS;
    uint32_t rest = events;

    if (UPMU_FORMATS && others)
        touch_others(session, events, false, *now_ns);
    do {
        uint32_t next = next_report(upmu_active(session), &rest);
        unsigned records = batch_records(session, next);

        for (unsigned i = 1; i < records; i++)
            record_overflow(session, next, NULL, *now_ns);
        record_overflow(session, next, records ? NULL : frame, *now_ns);
    } while (rest);
    if (others)
        touch_others(session, events, true, *now_ns);
}

void upmu_report_store(struct upmu_meter *meter, struct upmu_session *session, uint32_t events, uint64_t now_ns)
{
    struct upmu_mailbox *mail = &meter->cpu->mail;
    const struct upmu_frame *frame = NULL;
    uint32_t counters = 0;

    for (uint32_t rest = events; rest; rest &= rest - 1u)
        counters |= UPMU_BIT32(upmu_tally_runs_on(&upmu_active(session)->tally[upmu_bits_lowest(rest)]));
    /* No copy of the frame is needed: no handler writes mail->frame while `has_frame` is set. */
    if (mail->has_frame && (mail->framed & counters)) {
        frame = &mail->frame;
        mail->framed &= ~counters;
    } else if (upmu_features_missed(meter)) {
        mail->pending = 1;
    }
    upmu_report(session, events, frame, &now_ns);
}

#else

void upmu_report_store(struct upmu_meter *meter, struct upmu_session *session, uint32_t events, uint64_t now_ns)
{
    (void)meter;
    (void)session;
    (void)events;
    (void)now_ns;
}

#endif
