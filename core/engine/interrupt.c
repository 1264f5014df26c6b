/* SPDX-License-Identifier: MIT */
/*
 * The overflow interrupt, as NMI or vector, for all PMUs.
 *
 * A handler that interrupted no bracket stops the counters of sessions that sample (where each counter has its own
 * enable bit, only those that have overflowed), reads and counts them, stores samples, loads the next periods, and lets
 * the counters run again.  For every sampling counter the value decides: the load was negative, so a clear top bit
 * means an overflow, whatever the status says.  A handler that interrupted a bracket stops the same counters if one has
 * or may have overflowed, leaves mail and returns: the end of the bracket does the rest.  A handler takes no lock and
 * never waits.
 */
#include "core/engine/interrupt.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/domain.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/hw/shared_page.h"
#include "core/place/placement.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/reconcile.h"
#include "core/engine/report.h"
#include "core/engine/special.h"
#include "core/engine/strays.h"

#if UPMU_SAMPLING

/* ---- One pass ---- */

/*
 * An event with THROTTLE_OVERFLOWS overflows within a window of THROTTLE_WINDOW_NS is throttled: its counter is loaded
 * with the longest wait, until a poll or until the event leaves the counter.
 */
#define THROTTLE_WINDOW_NS UINT64_C(10000000)
#define THROTTLE_OVERFLOWS 1000u

/* An overflow that lost whole periods counts as this many overflows against the limit that throttles. */
#define THROTTLE_LOSS 64u

struct pass {
    struct upmu_cpu *cpu;
    const struct upmu_frame *frame;
    uint64_t now_ns;
    uint32_t framed; /* counters whose overflow is the reason of the interrupt with `frame` */
    /* counters that a handler stopped in the bracket that reads its mail; the bracket may have started them again */
    uint32_t stopped;
    uint32_t passed;   /* sampling counters that were found past zero */
    uint32_t recorded; /* counters that may have stored the precise records that the status shows */
    uint32_t due;      /* those of `passed` for which a sample is due */
    unsigned samples;  /* number of IBS units that had a sample, plus 1 if the hardware has stored precise records */
    bool is_mail;      /* the pass is at the end of a bracket: the interrupt that left the mail is answered already */
    /* some session has left its counters, and some session waits: the bracket's end, or a tick, searches a place */
    bool waits;
    /* an interrupt of this PMU may be late: if nothing has overflowed, the answer is STALE, not NOT_OURS */
    bool expected;
};

/*
 * Count an overflow of an event with a sample due, in the present window of 10 ms.  With 1,000 in a window the event is
 * throttled.  `lost`: whole periods were lost, which counts as 64.  Without a clock only overflows with lost periods
 * count, as long as they follow each other.
 */
static UPMU_APART void throttle_tally(struct pass *pass, struct upmu_tally *tally, bool lost)
{
    if (pass->now_ns - pass->cpu->window_start_ns >= THROTTLE_WINDOW_NS) {
        pass->cpu->window_start_ns = pass->now_ns;
        pass->cpu->window++;
    }
    if (tally->window != pass->cpu->window) {
        tally->window = pass->cpu->window;
        tally->storm = 0;
    }
    if (lost)
        tally->storm = (uint16_t)(tally->storm + THROTTLE_LOSS);
    else if (port_has_clock(pass->cpu->meter.machine->port))
        tally->storm++;
    else
        tally->storm = 0;
    if (tally->storm >= THROTTLE_OVERFLOWS) {
        tally->throttled = true;
        tally->storm = 0;
    }
}

/*
 * Fold a sampling counter that has overflowed, and is stopped or stands still.  If a sample is due, note that in
 * pass->due, adapt the period to a frequency, and throttle the event if it overflows too often.  Load the next period;
 * a counter that faults twice is failed.
 */
static void take_overflow(struct pass *pass, unsigned counter, struct upmu_tally *tally, uint64_t value)
{
    struct upmu_meter *meter = &pass->cpu->meter;
    struct upmu_session *session = meter->slot[counter].session;
    uint32_t lost = tally->lost;

    upmu_session_begin_change(session);
    upmu_count_fold(meter, tally, counter, value);
    if (upmu_count_due(tally)) {
        pass->due |= UPMU_BIT32(counter);
        if (tally->frequency)
            upmu_count_adapt(meter->pmu, tally, upmu_session_clock(session, pass->now_ns));
        throttle_tally(pass, tally, tally->lost != lost);
    }
    if (!upmu_count_write_at(meter, tally) && !upmu_count_write_at(meter, tally))
        upmu_meter_loses(meter, tally);
    upmu_session_end_change(session);
}

/*
 * Stop counters in hardware; the shadow keeps them open.  After a fault try once more.  Returns false where that fails,
 * too.
 */
static bool halt_counters(struct upmu_meter *meter, uint32_t counters)
{
    return upmu_bank_handler_close(&meter->bank, counters) || upmu_bank_handler_close(&meter->bank, counters);
}

/*
 * Set the enable bits of these counters as the shadow has them, which ends a stop by halt_counters().  After two faults
 * the counters are failed.
 */
static void enable_again(struct upmu_meter *meter, uint32_t counters)
{
    if (!upmu_bank_handler_open(&meter->bank, counters, 0) && !upmu_bank_handler_open(&meter->bank, counters, 0))
        upmu_meter_fails(meter, counters);
}

/*
 * Has the PMU no register with the enable bits of all counters?  Then a handler stops only the counters that have
 * overflowed, else all of sessions that sample.
 */
static inline bool stops_alone(const struct upmu_meter *meter)
{
    return !(meter->pmu->capabilities & UPMU_PMU_GLOBAL_CTRL);
}

/*
 * A batch has samples due, whose periods are counted.  Each record counts against the limit that throttles; without
 * interrupts there is no storm.
 */
static UPMU_APART void take_batch(struct pass *pass, unsigned counter, struct upmu_tally *tally)
{
    struct upmu_meter *meter = &pass->cpu->meter;
    unsigned records = upmu_batch_left(pass->cpu, tally);
    uint64_t value;

    pass->due |= UPMU_BIT32(counter);
    for (unsigned i = 0; port_has_pmi(meter->machine->port) && i < records; i++)
        throttle_tally(pass, tally, false);
    if (!tally->throttled)
        return;
    if (upmu_bank_read(&meter->bank, counter, &value))
        take_overflow(pass, counter, tally, value);
    else
        upmu_meter_fails(meter, tally->counters);
}

static void look_at_counter(struct pass *pass, unsigned counter)
{
    struct upmu_meter *meter = &pass->cpu->meter;
    struct upmu_tally *tally = upmu_meter_on(meter, counter);
    bool alone = stops_alone(meter) && tally && !upmu_meter_still(meter, tally);
    uint64_t value;

    if (!tally)
        return;
    if (upmu_count_due_records(tally)) {
        take_batch(pass, counter, tally);
        return;
    }
    if (!upmu_bank_count(&meter->bank, counter, upmu_bank_value_bits(&meter->bank, counter), &value)) {
        upmu_meter_fails(meter, tally->counters);
        return;
    }
    /*
     * Where a close loses a carry, the stop by an interrupt in the bracket may have lost the one that shows the
     * overflow: such a counter is handled as if it had overflowed.
     */
    if (!upmu_count_overflowed(meter->pmu, counter, value) &&
        !(upmu_count_adds_first(meter) && (pass->stopped >> counter & 1u)))
        return;
    /* The record of a precise event comes with the next event, and is then reported by an interrupt of its own. */
    if (upmu_tally_is_precise(tally)) {
        if (upmu_records_is_armed(meter, counter, value)) /* another counter's record may name this one, too */
            upmu_tally_record(tally, false);
        if (!upmu_tally_is_recorded(tally))
            return;
    }
    /* With a clock a time is noted: once in a pass is enough.  Without one a number is noted: count each overflow. */
    if (!pass->passed || !port_has_clock(meter->bank.port))
        upmu_meter_expect(meter, 1, pass->now_ns); /* before the load of the next period removes the overflow */
    pass->passed |= UPMU_BIT32(counter);
    /* Stop the counter and read it again, so that the events until the stop are counted, too. */
    if (alone && (!halt_counters(meter, UPMU_BIT32(counter)) || !upmu_bank_read(&meter->bank, counter, &value)))
        upmu_meter_fails(meter, tally->counters);
    else
        take_overflow(pass, counter, tally, value);
    if (alone && !pass->is_mail)
        enable_again(meter, UPMU_BIT32(counter));
}

/*
 * Load the upper half of a wide event that only counts: both halves have wrapped.  They are stopped meanwhile, unless
 * the handler has stopped them already.  After a fault the event's counters are failed.
 */
static UPMU_APART void reload_upper(struct upmu_meter *meter, const struct upmu_tally *tally)
{
    uint32_t pair = tally->counters & ~(stops_alone(meter) ? 0 : meter->halted);

    if ((pair && !halt_counters(meter, pair | (stops_alone(meter) ? 0 : meter->halted))) ||
        !upmu_bank_write(&meter->bank, tally->slot[UPMU_SECOND_SLOT], UPMU_WIDE_LOAD))
        upmu_meter_fails(meter, tally->counters);
    if (pair && !upmu_bank_handler_open(&meter->bank, pair, stops_alone(meter) ? 0 : meter->halted))
        upmu_meter_fails(meter, tally->counters);
}

/* Fold a counter that only counts and has wrapped, so that its next wrap can be seen. */
static void add_wrapped(struct pass *pass, unsigned counter)
{
    struct upmu_meter *meter = &pass->cpu->meter;
    struct upmu_tally *tally = upmu_meter_on(meter, counter);
    struct upmu_session *session = meter->slot[counter].session;
    uint64_t value;

    if (!tally || upmu_tally_is_metric(tally))
        return;
    if (!upmu_bank_read(&meter->bank, counter, &value)) {
        upmu_meter_fails(meter, tally->counters);
        return;
    }
    upmu_session_begin_change(session);
    if (upmu_tally_is_wide(tally))
        reload_upper(meter, tally);
    upmu_count_fold_flagged(meter, tally, counter, value, pass->now_ns);
    upmu_session_end_change(session);
}

/* Report each session that has events with a sample due. */
static UPMU_APART void report_due(struct pass *pass)
{
    const struct upmu_meter *meter = &pass->cpu->meter;

    for (uint32_t rest = pass->due; rest;) {
        struct upmu_session *session = meter->slot[upmu_bits_lowest(rest)].session;
        uint32_t same = rest & (session->counters | UPMU_BIT32(upmu_bits_lowest(rest))), events = 0;
        const struct upmu_frame *frame = same & pass->framed ? pass->frame : NULL;

        rest &= ~same;
        for (; same; same &= same - 1u)
            events |= UPMU_BIT32(meter->slot[upmu_bits_lowest(same)].tally->index);
        upmu_report(session, events, frame, &pass->now_ns);
    }
}

/*
 * May an interrupt of ours still come (cpu->expected)?  A time that is over becomes 0.  Without a clock `expected` is a
 * number: each call takes one off.
 */
static bool is_expected(struct upmu_cpu *cpu, uint64_t now_ns)
{
    uint32_t expected = cpu->expected;

    if (!expected)
        return false;
    if (!port_has_clock(cpu->meter.bank.port))
        cpu->expected = expected - 1u;
    else if (expected - upmu_count_stamp(now_ns) - 1u > UPMU_LATEST_STAMPS)
        cpu->expected = expected = 0;
    return expected;
}

/*
 * On a PMU with a status register: return the counters that only count and are below their base: they have wrapped,
 * though the status does not show it.  A counter that cannot be read sets pass->expected.
 */
static UPMU_APART uint32_t find_hidden(struct pass *pass)
{
    struct upmu_meter *meter = &pass->cpu->meter;
    uint32_t wrapped = 0, rest = meter->running & ~(meter->sampling | UPMU_METRIC_COUNTERS(meter->pmu));

    for (; rest && (meter->pmu->capabilities & UPMU_PMU_STATUS); rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        const struct upmu_tally *tally = upmu_meter_on(meter, counter);
        uint64_t value;

        if (!tally || tally->falls)
            continue;
        if (!upmu_bank_read(&meter->bank, counter, &value))
            pass->expected = true;
        else if (value < tally->base)
            wrapped |= UPMU_BIT32(counter);
    }
    return wrapped;
}

static void rearm_pmi(struct upmu_cpu *cpu)
{
    if (!port_has_pmi(cpu->meter.machine->port))
        return;
    cpu->meter.bank.counted->rearms++;
    port_pmi_rearm(cpu->meter.machine->port);
}

/*
 * Acknowledge every overflow, whether the status shows or hides it: else its counter may never interrupt again.  If no
 * overflow was found, but an interrupt is expected, acknowledge old flags (meter->flagged) of counters that do not run.
 */
static UPMU_APART void acknowledge_overflows(const struct pass *pass, uint32_t flagged)
{
    struct upmu_cpu *cpu = pass->cpu;

    flagged |= pass->passed;
    if (!flagged && pass->expected)
        flagged = cpu->meter.flagged & ~(cpu->meter.running | cpu->meter.watchdog);
    if (!flagged)
        return;
    if (upmu_bank_acknowledge(&cpu->meter.bank, flagged) || upmu_bank_acknowledge(&cpu->meter.bank, flagged))
        cpu->meter.flagged &= ~flagged;
    else
        cpu->meter.flagged |= flagged;
}

/*
 * Returns our counters whose overflow the status register shows; none without such a register, or where it cannot be
 * read (pass->expected): then the values alone decide.
 */
static uint32_t read_status(struct pass *pass)
{
    struct upmu_meter *meter = &pass->cpu->meter;
    uint64_t status = 0;

    if (meter->pmu->status_row == UPMU_NO_ROW)
        return 0;
    if (!upmu_bank_look(&meter->bank, meter->pmu->status_row, &status)) {
        pass->expected = true;
        return 0;
    }
    pass->recorded = upmu_features_status(meter, status);
    pass->samples += pass->recorded != 0;
    return status ? meter->pmu->backend->overflowed(meter->pmu, status) & ~upmu_meter_blocked(meter) : 0;
}

/*
 * Note that interrupts may still come: one for each of these overflows, and one for each of pass->samples, which a pass
 * that reads mail has noted before: expect_records().
 */
static void expect_found(struct pass *pass, uint32_t found)
{
    unsigned samples = pass->is_mail ? 0 : pass->samples;

    if (found || samples)
        upmu_meter_expect(&pass->cpu->meter, upmu_bits_count(found) + samples, pass->now_ns);
}

/*
 * A bracket that reads its mail takes precise records, and clears their status bit: note before that their interrupt
 * may still come.  The status may lack the bit (Linux 6.12 events/intel/core.c, handle_pmi_common()).
 */
static void expect_records(struct pass *pass)
{
    struct upmu_meter *meter = &pass->cpu->meter;

    if (pass->is_mail && (pass->samples || upmu_batch_interrupts(meter)))
        upmu_meter_expect(meter, 1, pass->now_ns);
}

static enum upmu_pmi answer_pmi(const struct pass *pass, uint32_t flagged)
{
    if (!(pass->passed | flagged | pass->samples))
        return pass->expected ? UPMU_PMI_STALE : UPMU_PMI_NOT_OURS;
    return UPMU_PMI_HANDLED;
}

void upmu_interrupt_end(struct upmu_meter *meter)
{
    uint32_t stopped = meter->bank.stopped, runs = stopped & (meter->running | meter->unowned);

    if (runs)
        enable_again(meter, runs);
    if (stopped & ~runs)
        upmu_bank_keep_closed(&meter->bank, stopped & ~runs);
}

/*
 * Stop what samples, read the counters, count overflows, load next periods.  Returns the counters whose overflow the
 * status shows; if there is nothing else to handle or to expect, those that have wrapped though the status does not
 * show it.  Not inlined: reports and plans need its stack.
 */
static UPMU_APART uint32_t count_overflows(struct pass *pass)
{
    struct upmu_cpu *cpu = pass->cpu;
    struct upmu_meter *meter = &cpu->meter;
    uint32_t halted = stops_alone(meter) ? 0 : meter->halted, flagged, look = meter->sampling;

    if (halted && !halt_counters(meter, halted)) {
        upmu_meter_fails(meter, meter->sampling);
        look = 0;
    }
    if (!pass->is_mail && !upmu_pmu_is(meter->pmu, UPMU_PMU_REARM_LAST))
        rearm_pmi(cpu);
    flagged = read_status(pass);
    expect_records(pass);
    if (look || pass->recorded) /* without a look: what faults have left of records */
        upmu_features_closed(meter, false);
    for (uint32_t rest = look; rest; rest &= rest - 1u)
        look_at_counter(pass, upmu_bits_lowest(rest));
    if (!(pass->passed | flagged | pass->samples)) {
        pass->expected = pass->expected || meter->failed || (!pass->is_mail && is_expected(cpu, pass->now_ns));
        if (!pass->expected || pass->is_mail)
            flagged = find_hidden(pass);
    }
    for (uint32_t rest = flagged & meter->running & ~meter->sampling; rest; rest &= rest - 1u)
        add_wrapped(pass, upmu_bits_lowest(rest));
    return flagged;
}

/*
 * Do a pass, in a handler that interrupted no bracket, or in a bracket that reads its mail: count overflows, report
 * samples, acknowledge, do due work, repair.  Returns the answer to the interrupt.
 */
static enum upmu_pmi handle_overflows(struct pass *pass)
{
    struct upmu_cpu *cpu = pass->cpu;
    struct upmu_meter *meter = &cpu->meter;
    uint32_t flagged = count_overflows(pass);

    if (pass->due)
        report_due(pass);
    acknowledge_overflows(pass, flagged);
    upmu_features_reported(meter);
    /* acknowledged: until now an interrupt that found the overflows of mail.taken again was answered STALE */
    if (pass->is_mail)
        cpu->mail.taken = 0;
    expect_found(pass, (flagged | meter->failed) & ~pass->passed);
    pass->waits = (meter->work_due & UPMU_DUE_SESSIONS) && upmu_reconcile_due(meter);
    if (pass->waits && !pass->is_mail)
        port_request_tick(meter->machine->port);
    if (!pass->is_mail) /* else the end of the bracket does this, as its last step: upmu_bracket_leave() */
        upmu_interrupt_end(meter);
    if (meter->failed)
        upmu_reconcile_repair(meter);
    upmu_features_loaded(cpu);
    if (upmu_pmu_is(meter->pmu, UPMU_PMU_REARM_LAST)) {
        if (!pass->passed)
            pass->expected |= upmu_strays_close(pass->cpu, pass->now_ns);
        if (!pass->is_mail)
            rearm_pmi(cpu);
    }
    return answer_pmi(pass, flagged);
}

/* Return the sampling counters whose values have passed zero; with `faults_pass` also those that cannot be read. */
static uint32_t find_passed(struct upmu_meter *meter, bool faults_pass)
{
    uint32_t passed = 0;

    for (uint32_t rest = meter->sampling; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        uint64_t value;

        if (!upmu_meter_on(meter, counter))
            continue;
        if (upmu_bank_read(&meter->bank, counter, &value) ? upmu_count_overflowed(meter->pmu, counter, value)
                                                          : faults_pass)
            passed |= UPMU_BIT32(counter);
    }
    return passed;
}

/*
 * Is there an overflow that the status does not show, or a counter that cannot be read?  Only a doubt: the call that
 * was interrupted may be writing a counter or its base.
 */
static UPMU_APART bool has_doubt(struct pass *pass)
{
    return find_passed(&pass->cpu->meter, true) || find_hidden(pass) || pass->expected;
}

/*
 * Do the work of a handler that has interrupted a bracket.  If a counter has overflowed, or there is a doubt, counters
 * are stopped in hardware.  Sessions, tallies, shadows and the plan are not changed: of the engine's data the mailbox,
 * cpu->expected and bank.stopped are, and what counts accesses and interrupts.  A later write of the bracket may start
 * a stopped counter again; the end of the bracket stops it before it reads.
 */
static UPMU_APART enum upmu_pmi leave_mail(struct pass *pass)
{
    struct upmu_cpu *cpu = pass->cpu;
    struct upmu_meter *meter = &cpu->meter;
    struct upmu_mailbox *mail = &cpu->mail;
    bool last = upmu_pmu_is(meter->pmu, UPMU_PMU_REARM_LAST), has_status = meter->pmu->status_row != UPMU_NO_ROW;
    uint32_t flagged, stopped, known = mail->answered | mail->taken;

    if (!last)
        rearm_pmi(cpu);
    flagged = read_status(pass);
    pass->passed = has_status ? flagged & meter->sampling : find_passed(meter, false);
    pass->expected = pass->expected || (!(pass->passed | flagged) && has_doubt(pass));
    stopped = stops_alone(meter) ? pass->passed : (pass->passed | flagged) || pass->expected ? meter->halted : 0;
    if (stopped)
        (void)halt_counters(meter, stopped);
    if ((pass->passed | flagged | pass->samples) || pass->expected) {
        mail->stopped |= stopped;
        UPMU_BARRIER();
        mail->pending = 1;
    }
    upmu_features_mailed(cpu);
    /*
     * If an interrupt in this bracket was answered HANDLED for the same overflow already, this one is STALE.  The
     * overflow is noted all the same: a counter whose overflow is being taken may have been loaded, and have overflowed
     * once more.
     */
    mail->answered |= pass->passed | flagged;
    pass->expected = pass->expected || ((pass->passed | flagged) & known);
    pass->passed &= ~known;
    flagged &= ~known;
    if (!(pass->passed | flagged | pass->samples))
        pass->expected = pass->expected || is_expected(cpu, pass->now_ns);
    if (pass->frame && (pass->passed | pass->recorded) && !mail->has_frame) {
        mail->frame = *pass->frame;
        mail->frame.fp = 0; /* the mail is read later, when what these pointers lead to has changed */
        mail->frame.registers = NULL;
        mail->frame.register_mask = 0;
        mail->framed = pass->passed | pass->recorded;
        UPMU_BARRIER();
        mail->has_frame = 1;
    }
    if (last) {
        if (!pass->passed)
            pass->expected |= upmu_strays_close(pass->cpu, pass->now_ns);
        rearm_pmi(cpu);
    }
    expect_found(pass, pass->passed | flagged);
    return answer_pmi(pass, flagged);
}

static void begin_pass(struct pass *pass, struct upmu_cpu *cpu)
{
    memset(pass, 0, sizeof *pass);
    pass->cpu = cpu;
    pass->now_ns = port_clock_ns(cpu->meter.bank.port);
}

bool upmu_interrupt_read_mail(struct upmu_meter *meter)
{
    struct upmu_cpu *cpu = meter->cpu;
    struct upmu_frame frame;
    struct pass pass;

    begin_pass(&pass, cpu);
    pass.is_mail = true;
    cpu->mail.pending = 0;
    UPMU_BARRIER();
    pass.stopped = __atomic_exchange_n(&cpu->mail.stopped, 0, __ATOMIC_RELAXED);
    cpu->mail.taken = cpu->mail.answered;
    UPMU_BARRIER();
    (void)__atomic_fetch_and(&cpu->mail.answered, ~cpu->mail.taken, __ATOMIC_RELAXED);
    if (cpu->mail.has_frame) {
        frame = cpu->mail.frame;
        pass.frame = &frame;
        pass.framed = cpu->mail.framed;
        UPMU_BARRIER();
        cpu->mail.has_frame = 0;
    }
    (void)upmu_features_missed(meter);
    if (meter->live)
        (void)handle_overflows(&pass);
    else
        cpu->mail.taken = cpu->mail.answered = 0;
    return pass.waits;
}

bool upmu_interrupt_finish(struct upmu_meter *meter)
{
    struct upmu_cpu *cpu = meter->cpu;
    bool waits;

    meter->in_handler = 1;
    UPMU_BARRIER();
    waits = upmu_interrupt_read_mail(meter);
    upmu_interrupt_end(meter);
    if (meter->failed)
        upmu_reconcile_repair(meter);
    UPMU_BARRIER();
    meter->in_handler = 0;
    UPMU_BARRIER();
    rearm_pmi(cpu); /* only now: an interrupt while in_handler is 1 is answered STALE, and does not re-arm */
    return waits;
}

void upmu_interrupt_raise(struct upmu_meter *meter)
{
    if (meter->cpu && meter == &meter->cpu->meter)
        meter->cpu->mail.pending = 1;
}

enum upmu_pmi upmu_pmi_handle(struct upmu_cpu *cpu, const struct upmu_frame *frame)
{
    struct pass pass;
    enum upmu_pmi result;
    unsigned samples;

    if (!cpu)
        return UPMU_PMI_NOT_OURS;
    /*
     * The CPU sleeps, has left or was never initialised.  Use the CPU and its port alone: the machine and the PMU that
     * it had may be gone.
     */
    if (!cpu->meter.live)
        return cpu->expected && is_expected(cpu, port_clock_ns(cpu->meter.bank.port)) ? UPMU_PMI_STALE
                                                                                      : UPMU_PMI_NOT_OURS;
    if (cpu->meter.in_handler)
        return UPMU_PMI_STALE;
    cpu->meter.in_handler = 1;
    cpu->meter.bank.counted = &cpu->meter.bank.handler_accesses;
    UPMU_BARRIER();
    upmu_shared_page_stale(&cpu->meter.bank);
    /*
     * Before begin_pass() reads the clock: an `expected` that an IBS unit sets here, at a later time than the pass has,
     * could be too far ahead for is_expected(), which would clear it.
     */
    samples = upmu_features_interrupt(cpu, frame);
    begin_pass(&pass, cpu);
    pass.frame = frame;
    pass.framed = ~0u;
    pass.samples = samples;
    result = cpu->meter.busy ? leave_mail(&pass) : handle_overflows(&pass);
    if (result == UPMU_PMI_HANDLED)
        cpu->interrupts++;
    UPMU_BARRIER();
    cpu->meter.bank.counted = &cpu->meter.bank.accesses;
    cpu->meter.in_handler = 0;
    return result;
}

#else

void upmu_interrupt_end(struct upmu_meter *meter)
{
    (void)meter;
}

bool upmu_interrupt_read_mail(struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

bool upmu_interrupt_finish(struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

void upmu_interrupt_raise(struct upmu_meter *meter)
{
    (void)meter;
}

enum upmu_pmi upmu_pmi_handle(struct upmu_cpu *cpu, const struct upmu_frame *frame)
{
    (void)cpu;
    (void)frame;
    return UPMU_PMI_NOT_OURS;
}

#endif
