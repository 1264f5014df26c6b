/* SPDX-License-Identifier: MIT */
/*
 * The overflow interrupt (R13): one path for NMI and vector, all PMUs.
 *
 * Close the counters of sampling sessions; re-arm the interrupt while they are
 * closed; read the status; for every sampling counter the *value* decides: it was
 * loaded negative, so a clear top bit means that it overflowed, whatever the
 * status says.  Load, acknowledge, open.  Nothing here fails, locks or waits.
 */
#include "core/engine/pmi.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/domain.h"
#include "core/hw/shared_page.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/engine/chain.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/report.h"
#include "core/engine/run.h"
#include "core/engine/session_core.h"

#if UPMU_SAMPLING

/* A counter that overflows more often than this is throttled until a poll. */
#define THROTTLE_WINDOW_NS UINT64_C(10000000)
#define THROTTLE_OVERFLOWS 1000u
/* What an overflow that lost whole periods counts for. */
#define THROTTLE_LOSS 64u

/* One pass through the handler. */
struct pass {
    struct upmu_cpu *cpu;
    const struct upmu_frame *frame;
    uint64_t now_ns;
    uint32_t handled; /* counters that had overflowed */
    uint32_t passed;  /* counters that were past zero, whether answered for or not */
    bool keeps;       /* its frame is cpu->deferred_frame */
    bool expected;    /* nothing had overflowed, but an interrupt of ours may come now */
    uint32_t due;     /* of these, with a sample due */
    uint32_t closed;  /* to stay closed: the local side replays them */
    unsigned samples; /* of units beside the counters */
    uint32_t failed;  /* a register faulted: the local side loads them again */
};

/* Is `base` what its counter had?  The local side may be about to store it, or a fault kept it from that. */
static inline bool has_base(const struct upmu_cpu *cpu, const struct upmu_tally *tally)
{
    return !upmu_tally_is_held(&cpu->meter, tally) && cpu->meter.last_tag[tally->counter] == tally->tag;
}

static void defer(struct pass *pass, unsigned counter)
{
    struct upmu_cpu *cpu = pass->cpu;

    uint32_t bit = UPMU_BIT32(counter), kept = cpu->framed & cpu->meter.deferred;

    pass->closed |= UPMU_BIT32(counter);
    /* (Another interrupt made it overflow; this one only finds it once more.) */
    if (cpu->meter.deferred & bit)
        return;
    /* One frame is kept.  What another interrupt defers before it is used has none. */
    if (pass->frame && !pass->keeps && !kept) {
        cpu->deferred_frame = *pass->frame;
        cpu->deferred_frame.fp = 0; /* by then its stack holds something else */
        pass->keeps = true;
    }
    cpu->framed = pass->keeps ? kept | bit : kept;
    cpu->meter.deferred |= UPMU_BIT32(counter);
}

/* Too many overflows, or whole periods lost again and again: sample no more until a poll. */
static UPMU_APART void throttle(struct pass *pass, struct upmu_tally *tally, bool lost)
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

/* The upper half of a wide event has overflowed with the lower one. */
static UPMU_INSIDE bool load_upper(struct upmu_cpu *cpu, const struct upmu_tally *tally)
{
    return !upmu_tally_is_wide(tally) ||
           upmu_bank_write(&cpu->meter.bank, tally->slot[UPMU_SECOND_SLOT], UPMU_WIDE_LOAD);
}

/* A sampling counter that is closed and has passed zero. */
static void take_overflow(struct pass *pass, unsigned counter, struct upmu_tally *tally, uint64_t value)
{
    struct upmu_cpu *cpu = pass->cpu;
    uint32_t lost = tally->lost;

    UPMU_STORE(tally->sequence, tally->sequence + 1u);
    UPMU_BARRIER();
    upmu_count_fold(&cpu->meter, tally, counter, value);
    if (upmu_count_due(tally)) {
        pass->due |= UPMU_BIT32(counter);
        cpu->adapts |= UPMU_BIT32(counter);
        throttle(pass, tally, tally->lost != lost);
    }
    /* (What a poll had noted is served: a replay would only close it once more.) */
    cpu->meter.deferred &= ~UPMU_BIT32(counter);
    if (!load_upper(cpu, tally) || !upmu_run_begin_at(&cpu->meter, tally, pass->now_ns))
        pass->failed |= UPMU_BIT32(counter);
    UPMU_BARRIER();
    UPMU_STORE(tally->sequence, tally->sequence + 1u);
}

/* Counters that no write could open miss what happens until the local side has repaired them. */
static void open_again(struct pass *pass, uint32_t counters)
{
    struct upmu_cpu *cpu = pass->cpu;

    if (upmu_bank_handler_open(&cpu->meter.bank, counters, pass->closed) ||
        upmu_bank_handler_open(&cpu->meter.bank, counters, pass->closed))
        return;
    pass->failed |= counters;
    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        if (cpu->meter.tally[upmu_bits_lowest(rest)])
            UPMU_STORE(cpu->meter.tally[upmu_bits_lowest(rest)]->hole, true);
}

/* Without a common gate only what overflowed is closed, and read again then, unless it stands still anyway. */
static bool close_alone(struct upmu_cpu *cpu, unsigned counter, uint64_t *value)
{
    return upmu_bank_handler_close(&cpu->meter.bank, UPMU_BIT32(counter)) &&
           upmu_bank_read(&cpu->meter.bank, counter, value);
}

static void look_at_counter(struct pass *pass, unsigned counter)
{
    struct upmu_cpu *cpu = pass->cpu;
    struct upmu_tally *tally = upmu_run_on(&cpu->meter, counter);
    bool alone = !(cpu->meter.pmu->capabilities & UPMU_PMU_GLOBAL_CTRL);
    uint64_t value;

    if (!tally)
        return;
    alone = alone && !upmu_run_still(&cpu->meter, tally);
    if (!upmu_bank_read(&cpu->meter.bank, counter, &value)) {
        pass->failed |= UPMU_BIT32(counter);
        return;
    }
    /* One that the local side has settled, and loads next, has no news either. */
    if (!upmu_count_overflowed(cpu->meter.pmu, counter, value) ||
        (upmu_tally_is_held(&cpu->meter, tally) && cpu->meter.last_tag[counter] != tally->tag))
        return;
    pass->passed |= UPMU_BIT32(counter);
    /* What waits for the local side was answered for by an earlier interrupt. */
    pass->handled |= UPMU_BIT32(counter) & ~cpu->meter.deferred;
    if (alone && !close_alone(cpu, counter, &value))
        pass->failed |= UPMU_BIT32(counter);
    else if (upmu_tally_is_held(&cpu->meter, tally))
        defer(pass, counter);
    else
        take_overflow(pass, counter, tally, value);
    if (alone)
        open_again(pass, UPMU_BIT32(counter));
}

/* The same of one that only counts: it is closed for it, unless all of its session are. */
static UPMU_INSIDE bool reload_upper(const struct pass *pass, const struct upmu_tally *tally)
{
    struct upmu_cpu *cpu = pass->cpu;
    uint32_t pair = tally->counters & ~cpu->meter.quiet, kept = cpu->meter.quiet | pass->closed;
    bool fine;

    if (!upmu_tally_is_wide(tally) || !pair)
        return load_upper(cpu, tally);
    fine = upmu_bank_handler_close(&cpu->meter.bank, pair | kept) && load_upper(cpu, tally);
    return upmu_bank_handler_open(&cpu->meter.bank, pair, kept) && fine;
}

/* A counter that only counts has wrapped: fold it, so that the next wrap is told apart. */
static void fold_wrapped(struct pass *pass, unsigned counter)
{
    struct upmu_cpu *cpu = pass->cpu;
    struct upmu_tally *tally = upmu_run_on(&cpu->meter, counter);
    uint64_t value;

    if (!tally)
        return;
    /* The local side works on this tally, and may have read the counter before it wrapped: it folds once more. */
    if (!has_base(cpu, tally) || !upmu_bank_read(&cpu->meter.bank, counter, &value)) {
        cpu->framed &= cpu->meter.deferred;
        cpu->meter.deferred |= UPMU_BIT32(counter);
        return;
    }
    UPMU_STORE(tally->sequence, tally->sequence + 1u);
    UPMU_BARRIER();
    if (!reload_upper(pass, tally))
        UPMU_STORE(tally->hole, true);
    /* (A flag that could not be cleared is of before.) */
    if (!(cpu->meter.flagged >> counter & 1u) && upmu_count_turned(cpu->meter.pmu, tally, counter, value, pass->now_ns))
        UPMU_STORE(tally->total, tally->total + (UINT64_C(1) << cpu->meter.pmu->counter[counter].width));
    tally->turned = upmu_count_stamp(pass->now_ns);
    upmu_count_fold(&cpu->meter, tally, counter, value);
    UPMU_BARRIER();
    UPMU_STORE(tally->sequence, tally->sequence + 1u);
}

/* One sample for each session that has events due. */
static void emit_due(struct pass *pass)
{
    const struct upmu_cpu *cpu = pass->cpu;

    for (uint32_t rest = pass->due; rest;) {
        struct upmu_session *session = cpu->meter.of_tally[upmu_bits_lowest(rest)];
        uint32_t same = rest & (session->counters | UPMU_BIT32(upmu_bits_lowest(rest))), events = 0;

        rest &= ~same;
        for (; same; same &= same - 1u)
            events |= UPMU_BIT32(cpu->meter.tally[upmu_bits_lowest(same)]->index);
        upmu_report_overflow(session, events, pass->frame, &pass->now_ns);
    }
}

/* The next set follows: at once, or (false) with the next local call. */
static bool relieve(struct pass *pass, struct upmu_session *session, bool closed)
{
    struct upmu_cpu *cpu = pass->cpu;

    if (!UPMU_SETS || session->switch_due != UPMU_SWITCH_FRESH)
        return false;
    if (closed && !cpu->meter.busy && upmu_chain_relieve(&cpu->meter, session)) {
        upmu_chain_put_on(&cpu->meter, session);
        if (!(cpu->meter.pmu->capabilities & UPMU_PMU_GLOBAL_CTRL))
            open_again(pass, session->counters);
        return true;
    }
    session->switch_due = 1;
    port_request_tick(cpu->meter.machine->port);
    return false;
}

/* Sessions that are masked stay closed; the next local call takes their counts. */
static void keep_masked(struct pass *pass)
{
    struct upmu_cpu *cpu = pass->cpu;

    for (struct upmu_session *session = cpu->meter.mask_due ? cpu->meter.sessions : NULL; session;
         session = session->next) {
        uint32_t masked = session->counters & ~cpu->meter.staying;
        bool closed = true;

        /* (What a stop found due waits for the next start: others may have its counters.) */
        if (!session->full && !(session->switch_due && session->state == UPMU_SESSION_RUNNING))
            continue;
        if (!(cpu->meter.pmu->capabilities & UPMU_PMU_GLOBAL_CTRL))
            closed =
                upmu_bank_handler_close(&cpu->meter.bank, masked) || upmu_bank_handler_close(&cpu->meter.bank, masked);
        if (!relieve(pass, session, closed))
            pass->closed |= masked;
    }
}

/* May an interrupt of ours come now?  Where they are counted this is one of them. */
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

/* Counters that only count and have wrapped though the status does not say so. */
static UPMU_APART uint32_t find_hidden(struct pass *pass)
{
    struct upmu_cpu *cpu = pass->cpu;
    uint32_t wrapped = 0, rest = cpu->meter.running & ~(cpu->meter.sampling | UPMU_METRIC_COUNTERS(cpu->meter.pmu));

    for (; rest && (cpu->meter.pmu->capabilities & UPMU_PMU_STATUS); rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        const struct upmu_tally *tally = upmu_run_on(&cpu->meter, counter);
        uint64_t value;

        if (!tally || tally->falls)
            continue;
        if (!upmu_bank_read(&cpu->meter.bank, counter, &value))
            pass->expected = true;
        else if (value >= tally->base)
            continue;
        else if (!has_base(cpu, tally)) /* (It has perhaps wrapped.) */
            pass->expected = true;
        else
            wrapped |= UPMU_BIT32(counter);
    }
    return wrapped;
}

static void rearm(struct upmu_cpu *cpu)
{
    if (!port_has_pmi(cpu->meter.machine->port))
        return;
    cpu->meter.bank.counted->rearms++;
    port_pmi_rearm(cpu->meter.machine->port);
}

/*
 * Does it interrupt: is its overflow flag set, which keeps the interrupt asserted, or does it run though the shadow
 * does not say so?  (One that cannot be read may.)
 */
static bool is_stray(struct upmu_cpu *cpu, unsigned counter)
{
    const struct upmu_counter *where = &cpu->meter.pmu->counter[counter];
    const struct upmu_register_class *class = upmu_register_class_of(cpu->meter.pmu, where->gate_row);
    bool left_open =
        upmu_bank_knows(&cpu->meter.bank, where->gate_row) && upmu_bank_open(&cpu->meter.bank, UPMU_BIT32(counter));
    uint64_t value;

    return !upmu_bank_look(&cpu->meter.bank, where->gate_row, &value) ||
           ((value & class->interrupt) &&
            ((value & class->hardware) || (!left_open && (value >> where->gate_bit & 1u))));
}

/* Close a counter that does not run; false: another CPU has it. */
static bool close_stray(struct upmu_cpu *cpu, unsigned counter)
{
    struct upmu_domain *domain = upmu_meter_domain(&cpu->meter);
    bool claim = domain && !upmu_domain_holds(&domain->claim[UPMU_DOMAIN_COUNTER(counter)], cpu->meter.domain_number);

    if (claim &&
        upmu_domain_claim(domain, cpu->meter.domain_number, UPMU_DOMAIN_COUNTER(counter), 0) == UPMU_CLAIM_LOST)
        return false;
    /* To what the shadow says: idle if that is unknown.  The local side learns from its next claim. */
    (void)upmu_bank_handler_open(&cpu->meter.bank, UPMU_BIT32(counter), 0);
    if (claim)
        upmu_domain_release(domain, cpu->meter.domain_number, UPMU_DOMAIN_COUNTER(counter));
    return true;
}

/*
 * Nothing that runs has overflowed, but an overflow keeps its interrupt asserted: what
 * a fault left running, or what is being started over, is closed, or there would be no
 * end.  The interrupt may have been ours.
 */
static void close_strays(struct pass *pass)
{
    struct upmu_cpu *cpu = pass->cpu;
    struct upmu_domain *domain = upmu_meter_domain(&cpu->meter);
    uint32_t strays = cpu->meter.used;

    /* Another CPU may have left with a counter that it could not close. */
    if (domain)
        strays |= __atomic_load_n(&domain->used, __ATOMIC_RELAXED);
    strays &= ~(cpu->meter.running | cpu->meter.firmware | cpu->meter.watchdog | cpu->meter.foreign);
    for (uint32_t rest = strays; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        /* The local side may be about to write what it knows already. */
        if ((cpu->meter.busy || !upmu_bank_knows(&cpu->meter.bank, cpu->meter.pmu->counter[counter].select_row) ||
             (domain && !upmu_domain_keeps(&domain->claim[UPMU_DOMAIN_COUNTER(counter)], cpu->meter.domain_number))) &&
            is_stray(cpu, counter) && close_stray(cpu, counter)) {
            upmu_meter_expect(&cpu->meter, 1, pass->now_ns);
            pass->expected = true;
        }
    }
}

/*
 * What has overflowed, whether the status shows it or hides it: what is not acknowledged may never
 * interrupt again.  An interrupt without either is of a counter that was stopped meanwhile.
 */
static UPMU_APART void acknowledge(const struct pass *pass, uint32_t flagged)
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
 * A fixed period is over, and the next one fits into a load: all that a sampling counter mostly needs.  False: nothing
 * was done.
 */
static inline bool take_ordinary(struct pass *pass, struct upmu_cpu *cpu, unsigned counter,
                                 const struct upmu_counter *where, struct upmu_tally *tally, uint64_t value)
{
    uint64_t total = tally->total + ((value - tally->base) & cpu->meter.counter_mask);
    uint64_t due = tally->due + tally->period, load;

    if (!tally->ordinary || tally->throttled || tally->reset != tally->period || tally->window != cpu->window ||
        tally->storm >= THROTTLE_OVERFLOWS - 1u || pass->now_ns - cpu->window_start_ns >= THROTTLE_WINDOW_NS ||
        total < tally->due || total >= due || due - total < cpu->meter.pmu->min_period ||
        (due - total) >> (where->write_bits - 1u))
        return false;
    load = (total - due) & cpu->meter.counter_mask;
    UPMU_STORE(tally->sequence, tally->sequence + 1u);
    UPMU_BARRIER();
    UPMU_STORE(tally->total, total);
    UPMU_STORE(tally->due, due);
    tally->ended = tally->reset;
    tally->overflows++;
    tally->storm++;
    pass->due |= UPMU_BIT32(counter);
    UPMU_STORE(cpu->meter.seen_counting, 1);
    cpu->meter.deferred &= ~UPMU_BIT32(counter);
    if (upmu_bank_handler_put(&cpu->meter.bank, where, load)) {
        UPMU_STORE(tally->base, load);
        tally->turned = upmu_count_stamp(pass->now_ns);
        cpu->meter.last_tag[counter] = tally->tag;
    } else {
        UPMU_STORE(tally->base, value);
        pass->failed |= UPMU_BIT32(counter);
    }
    UPMU_BARRIER();
    UPMU_STORE(tally->sequence, tally->sequence + 1u);
    return true;
}

/*
 * Sampling counters that are stopped and alike (upmu_cpu.straight): few of them have overflowed.  Returns the first
 * that needs more than the next load of a fixed period, its value in cpu->looked_at; or UPMU_COUNTERS.  It and those
 * before it are taken off *rest.
 */
static UPMU_APART unsigned look_at_next(struct pass *pass, uint32_t *rest)
{
    struct upmu_cpu *cpu = pass->cpu;
    struct upmu_bank *bank = &cpu->meter.bank;
    uint64_t top = cpu->meter.counter_mask ^ cpu->meter.counter_mask >> 1, value;

    while (*rest) {
        unsigned counter = upmu_bits_lowest(*rest);
        const struct upmu_counter *where = &cpu->meter.pmu->counter[counter];
        struct upmu_tally *tally = cpu->meter.tally[counter];
        bool held;

        *rest &= *rest - 1u;
        bank->handler_accesses.rdpmcs++;
        if (__builtin_expect(!port_rdpmc(bank->port, where->rdpmc, &value), 0)) {
            UPMU_STORE(bank->no_rdpmc, true);
            *rest |= UPMU_BIT32(counter);
            return UPMU_COUNTERS;
        }
        if (__builtin_expect((value & top) != 0, 1) || !tally || tally->counter != counter)
            continue;
        held = upmu_tally_is_held(&cpu->meter, tally);
        if (held && cpu->meter.last_tag[counter] != tally->tag)
            continue;
        pass->passed |= UPMU_BIT32(counter);
        pass->handled |= UPMU_BIT32(counter) & ~cpu->meter.deferred;
        if (held) {
            defer(pass, counter);
        } else if (!take_ordinary(pass, cpu, counter, where, tally, value & cpu->meter.counter_mask)) {
            cpu->looked_at = value & cpu->meter.counter_mask;
            return counter;
        }
    }
    return UPMU_COUNTERS;
}

/* The same for all of them; what is left is looked at one by one. */
static inline uint32_t look_quickly(struct pass *pass, uint32_t counters)
{
    struct upmu_cpu *cpu = pass->cpu;
    unsigned counter;

    while ((counter = look_at_next(pass, &counters)) != UPMU_COUNTERS)
        take_overflow(pass, counter, cpu->meter.tally[counter], cpu->looked_at);
    return counters;
}

static bool disable(struct pass *pass, uint32_t counters)
{
    struct upmu_bank *bank = &pass->cpu->meter.bank;

    return upmu_bank_handler_close(bank, counters) || upmu_bank_handler_close(bank, counters);
}

/* Enable what runs but for some bits; a fault is answered by a second attempt. */
static inline bool write_enable(struct pass *pass, uint64_t stop)
{
    struct upmu_bank *bank = &pass->cpu->meter.bank;

    return upmu_bank_handler_enable(bank, stop) || upmu_bank_handler_enable(bank, stop);
}

static enum upmu_pmi handle(struct pass *pass)
{
    struct upmu_cpu *cpu = pass->cpu;
    const struct upmu_pmu *pmu = cpu->meter.pmu;
    uint32_t quiet = pmu->capabilities & UPMU_PMU_GLOBAL_CTRL ? cpu->meter.quiet : 0;
    uint32_t flagged = 0, look, found;
    uint64_t status = 0;
    bool quick = cpu->meter.straight && !cpu->meter.bank.others;

    if (quiet && !(quick ? write_enable(pass, cpu->meter.stop_bits) : disable(pass, quiet)))
        pass->failed = cpu->meter.sampling;
    if (!upmu_pmu_is(pmu, UPMU_PMU_REARM_LAST))
        rearm(cpu);
    if (pmu->status_row != UPMU_NO_ROW) {
        /* A status register that cannot be read says nothing: the values of the counters decide alone. */
        pass->expected = !upmu_bank_look(&cpu->meter.bank, pmu->status_row, &status);
        if (!pass->expected && status)
            flagged = pmu->backend->overflowed(pmu, status) & ~upmu_meter_blocked(&cpu->meter);
    }
    look = cpu->meter.sampling & ~pass->failed;
    if (quick && !cpu->meter.bank.no_rdpmc && port_has_rdpmc(cpu->meter.bank.port))
        look = look_quickly(pass, look);
    for (uint32_t rest = look; rest; rest &= rest - 1u)
        look_at_counter(pass, upmu_bits_lowest(rest));
    if (!(pass->handled | flagged | pass->samples)) {
        pass->expected = pass->expected || pass->passed || pass->failed || is_expected(cpu, pass->now_ns);
        if (!pass->expected)
            flagged = find_hidden(pass);
    }
    for (uint32_t rest = flagged & cpu->meter.running & ~cpu->meter.sampling; rest; rest &= rest - 1u)
        fold_wrapped(pass, upmu_bits_lowest(rest));
    for (uint32_t rest = cpu->adapts; rest; rest &= rest - 1u)
        upmu_count_adapt(cpu->meter.tally[upmu_bits_lowest(rest)],
                         upmu_session_clock(cpu->meter.of_tally[upmu_bits_lowest(rest)], pass->now_ns));
    cpu->adapts = 0;
    if (pass->due)
        emit_due(pass);
    acknowledge(pass, flagged);
    keep_masked(pass);
    upmu_features_loaded(cpu);
    if (quiet && !(quick && write_enable(pass, pass->closed ? upmu_stop_bits(pmu, pass->closed) : 0)))
        open_again(pass, quiet | cpu->meter.quiet);
    if (upmu_pmu_is(pmu, UPMU_PMU_REARM_LAST)) {
        if (!pass->handled)
            close_strays(pass);
        rearm(cpu);
    }
    cpu->meter.deferred |= pass->failed;
    found = pass->passed | pass->failed | flagged;
    if (found | pass->samples) /* (This one may have been another source's.) */
        upmu_meter_expect(&cpu->meter, upmu_bits_count(found) + pass->samples, pass->now_ns);
    if (!(pass->handled | flagged | pass->samples))
        return pass->expected ? UPMU_PMI_STALE : UPMU_PMI_NOT_OURS;
    cpu->interrupts++;
    return UPMU_PMI_HANDLED;
}

enum upmu_pmi upmu_handle_pmi(struct upmu_cpu *cpu, const struct upmu_frame *frame)
{
    struct pass pass;
    enum upmu_pmi result;

    if (!cpu)
        return UPMU_PMI_NOT_OURS;
    /* (Nothing is touched but the CPU and its port: what it belonged to may be gone.) */
    if (!cpu->meter.live)
        return cpu->expected && is_expected(cpu, port_clock_ns(cpu->meter.bank.port)) ? UPMU_PMI_STALE
                                                                                      : UPMU_PMI_NOT_OURS;
    if (cpu->meter.in_handler)
        return UPMU_PMI_STALE;
    cpu->meter.in_handler = 1;
    cpu->meter.bank.counted = &cpu->meter.bank.handler_accesses;
    UPMU_BARRIER();
    upmu_shared_page_stale(&cpu->meter.bank);
    memset(&pass, 0, sizeof pass);
    pass.cpu = cpu;
    pass.frame = frame;
    pass.now_ns = port_clock_ns(cpu->meter.bank.port);
    pass.samples = upmu_features_interrupt(cpu, frame);
    result = handle(&pass);
    UPMU_BARRIER();
    cpu->meter.bank.counted = &cpu->meter.bank.accesses;
    cpu->meter.in_handler = 0;
    return result;
}

#else

enum upmu_pmi upmu_handle_pmi(struct upmu_cpu *cpu, const struct upmu_frame *frame)
{
    (void)cpu;
    (void)frame;
    return UPMU_PMI_NOT_OURS;
}

#endif
