/* SPDX-License-Identifier: MIT */
/*
 * Reading counts.  A read changes no count, except where it ends a window of metrics.  A handler, a switch or another
 * CPU may change the counts during a read: the session's sequence shows that, and the read is made again.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/muldiv.h"
#include "core/hw/bank.h"
#include "core/hw/shared_page.h"
#include "core/engine/count.h"
#include "core/engine/estimate.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/bracket.h"
#include "core/engine/meter.h"
#include "core/engine/plan.h"
#include "core/engine/program.h"
#include "core/engine/session_core.h"
#include "core/engine/special.h"
#include "core/engine/thread_core.h"

/* A read ends with UPMU_ERR_BUSY when it has met so many counts that were being changed. */
#define READ_ATTEMPTS 64u

static void grade_count(const struct upmu_session *session, const struct upmu_set *set, const struct upmu_tally *tally,
                        uint64_t gap_ns, struct upmu_count *count)
{
    count->value = count->raw;
    count->running_ns = count->enabled_ns > gap_ns ? count->enabled_ns - gap_ns : 0;
    if (!UPMU_LOAD(tally->ran)) {
        count->quality = UPMU_QUALITY_NEVER_RAN;
    } else if (UPMU_LOAD(tally->hole) || count->quality == UPMU_QUALITY_PARTIAL || (gap_ns && !count->running_ns)) {
        count->quality = UPMU_QUALITY_PARTIAL;
    } else if (UPMU_GAPS && gap_ns) {
        count->quality = UPMU_QUALITY_SCALED;
        count->value = upmu_muldiv(count->raw, count->enabled_ns, count->running_ns);
        count->error = upmu_estimate_error(set, tally, count);
    } else if (!count->raw) {
        /* Load `meter` once: another CPU may link or unlink the session meanwhile. */
        const struct upmu_meter *meter = __atomic_load_n(&session->meter, __ATOMIC_RELAXED);

        if (!(meter ? UPMU_LOAD(meter->seen_counting) : UPMU_LOAD(session->set.proven)))
            count->quality = UPMU_QUALITY_UNPROVEN;
    }
}

#if UPMU_METRICS

/*
 * Add the error of a metric: each byte is right to half of a 255th.  The tally's `base` has the sum of these errors, in
 * slots.
 */
static void grade_metric(const struct upmu_tally *tally, struct upmu_count *count)
{
    if (!upmu_tally_is_metric(tally) || count->quality == UPMU_QUALITY_NEVER_RAN)
        return;
    count->error += UPMU_LOAD(tally->base);
    if (count->quality == UPMU_QUALITY_EXACT && count->error)
        count->quality = UPMU_QUALITY_SCALED;
}

/*
 * In a bracket: end the window of a running session's metrics and begin the next, so that their counts are up to date.
 */
static enum upmu_status read_metrics(struct upmu_meter *meter, void *argument)
{
    struct upmu_session *session = argument;

    if (!upmu_session_occupies(session))
        return UPMU_OK;
    upmu_special_update_metrics(meter, session);
    upmu_bracket_settle(meter);
    return session->error;
}

#endif

struct remote_read {
    struct upmu_session *session;
    struct upmu_set *set;
    unsigned first, count;
    struct upmu_count *counts;
    enum upmu_status status;
};

/*
 * Read count number `i` of a set into *count, with its times and quality.  `meter`: where the session was seen to be
 * linked, or NULL; `occupies`: whether the session was seen to run; `apart`: the caller holds the session, which may
 * have enabled time by upmu_thread_apart().  Returns false where a register faulted.
 */
static bool read_one(struct upmu_session *session, struct upmu_meter *meter, struct upmu_set *set, bool occupies,
                     unsigned i, bool apart, struct upmu_count *count)
{
    struct upmu_tally *tally = &set->tally[i];
    uint64_t missed_ns = upmu_session_missed(session, set, upmu_machine_clock_ns(session->machine), &count->enabled_ns);
    bool passed = UPMU_THREADS && apart && upmu_thread_was_passed(session);
    uint64_t apart_ns = UPMU_THREADS && apart ? upmu_thread_apart(session) + passed : 0;
    unsigned counter = UPMU_LOAD(tally->counter);
    uint64_t due, missed = 0;

    missed_ns += apart_ns;
    if (UPMU_THREADS)
        count->enabled_ns += apart_ns - UPMU_LOAD(set->estimate[i].since_ns);
    count->raw = UPMU_LOAD(tally->total);
    count->reset = UPMU_LOAD(tally->reset);
    count->lost = UPMU_LOAD(tally->lost);
    count->error = 0;
    count->quality = passed ? UPMU_QUALITY_PARTIAL : UPMU_QUALITY_EXACT;
    /*
     * Read the counter only if the session still runs.  If it was stopped since, its sequence has changed, and the
     * caller reads the count again.
     */
    if (occupies && meter && set == upmu_active_seen(session) && upmu_session_occupies(session) &&
        counter < UPMU_COUNTERS && !upmu_tally_is_metric(tally)) {
        uint64_t value, delta;

        if (!upmu_batch_value(meter, tally, counter, &value, &missed))
            return false;
        delta = upmu_count_delta(meter->pmu, tally, counter, value - UPMU_LOAD(tally->base));
        if (delta)
            UPMU_STORE(meter->seen_counting, 1);
        if (upmu_count_is_late(meter->pmu, counter, delta))
            count->quality = UPMU_QUALITY_PARTIAL;
        count->raw += delta;
    }
    due = UPMU_LOAD(tally->due) + missed;
    count->left = upmu_tally_samples(tally) && due > count->raw ? due - count->raw : 0;
    if (upmu_count_wraps(set, i))
        count->raw = upmu_count_wrapped(session, set, i, count->raw);
    grade_count(session, set, tally, missed_ns + UPMU_LOAD(tally->gap_ns), count);
#if UPMU_METRICS
    grade_metric(tally, count);
#endif
    return true;
}

/*
 * May the session be read on the executing CPU?  Yes if it is on no CPU, if this CPU drives its meter, or if it neither
 * runs nor waits: the enabled time of a session that waits may be changed by its CPU, too.  Always yes where the port
 * has no this_cpu.  A session of a unit without a CPU may be read only while the unit sleeps, not while it is on its
 * way to another CPU.
 */
static bool is_here(const struct upmu_session *session, const struct upmu_meter *meter, bool occupies)
{
    const struct upmu_port *port = session->machine->port;
    const struct upmu_cpu *cpu;

    if (!meter || !(occupies || upmu_session_waits(session)) || !port_has_this_cpu(port))
        return true;
    cpu = __atomic_load_n(&meter->cpu, __ATOMIC_ACQUIRE);
    return !UPMU_UNCORE || cpu ? port_this_cpu(port) == cpu : !UPMU_LOAD(meter->live);
}

/*
 * Read counts one by one into remote->counts, and set remote->status if that fails.  A count is read again if the
 * session's sequence was odd or has changed meanwhile, or its meter has: the count may be half changed.  UPMU_ERR_BUSY
 * after READ_ATTEMPTS of these.
 */
static UPMU_APART void read_counts(struct remote_read *remote)
{
    struct upmu_session *session = remote->session;
    struct upmu_meter *here = __atomic_load_n(&session->meter, __ATOMIC_RELAXED); /* NULL: the session is on no CPU */

    if (UPMU_BACKEND_PARAVIRT && here)
        upmu_shared_page_stale(&here->bank);
    for (unsigned i = 0, attempt = 0; remote->status == UPMU_OK && i < remote->count;) {
        uint32_t before = UPMU_LOAD(session->sequence);
        struct upmu_meter *meter = __atomic_load_n(&session->meter, __ATOMIC_RELAXED);
        /* asked once for this count: the session's CPU may be starting it */
        bool occupies = upmu_session_occupies(session);
        /* A session that waits for counters and is linked to no CPU is held: no call changes its times meanwhile. */
        bool apart = UPMU_THREADS && !meter && upmu_session_waits(session);

        UPMU_BARRIER();
        if (apart && !upmu_session_hold_here(session)) {
            remote->status = UPMU_ERR_BUSY;
            break;
        }
        if (UPMU_THREADS && !is_here(session, meter, occupies))
            remote->status = UPMU_ERR_WRONG_CPU;
        else if (!(before & 1u) &&
                 !read_one(session, meter, remote->set, occupies, remote->first + i, apart,
                           &remote->counts[i]))
            remote->status = UPMU_ERR_PORT;
        if (apart)
            upmu_session_release(session);
        UPMU_BARRIER();
        /* `meter` first: where the session leaves a CPU, its sequence changes before that. */
        if (!(before & 1u) && __atomic_load_n(&session->meter, __ATOMIC_ACQUIRE) == meter &&
            UPMU_LOAD(session->sequence) == before)
            i++;
        else if (++attempt == READ_ATTEMPTS)
            remote->status = UPMU_ERR_BUSY;
    }
}

#if UPMU_PRECISE

static bool has_batch(struct upmu_set *set)
{
    if (UPMU_LOAD(set->program.flags) & UPMU_PROGRAM_PRECISE)
        for UPMU_TALLIES(tally, set)
            if (upmu_tally_is_batch(tally))
                return true;
    return false;
}

/* In a bracket, whose end takes the records of batches. */
static enum upmu_status take_records_now(struct upmu_meter *meter, void *unused)
{
    (void)unused;
    upmu_features_tick(meter);
    return UPMU_OK;
}

#endif

/*
 * Read on the executing CPU.  First the metrics of the session are brought up to date; that local call can need much
 * stack, so the counts are read after it, not inside.
 */
static void read_here(void *argument)
{
    struct remote_read *remote = argument;

    remote->status = UPMU_OK;
#if UPMU_METRICS || UPMU_PRECISE
    struct upmu_session *session = remote->session;
    /* Load `meter` once: another CPU may link or unlink the session meanwhile. */
    struct upmu_meter *meter = __atomic_load_n(&session->meter, __ATOMIC_RELAXED);
#endif

#if UPMU_PRECISE
    /* Where this fails, as another call is in progress, the records stay in the buffer and are in the count. */
    if (meter && upmu_session_occupies(session) && has_batch(remote->set))
        (void)(upmu_bracket_run(meter, take_records_now, NULL) == UPMU_OK);
#endif
#if UPMU_METRICS
    if (meter && upmu_session_occupies(session) && remote->set == upmu_active_seen(session) &&
        upmu_session_has_metrics(meter, session))
        remote->status = upmu_bracket_run(meter, read_metrics, session);
#endif
    read_counts(remote);
}

#if UPMU_THREADS

/*
 * May the counters of a set be read each by one access, that of RDPMC on x86?  In a build for another architecture they
 * are read by registers, and have widths of their own; a counter of which no interrupt tells that it wrapped, and one
 * that a page shows, are read in full.  An NMI meanwhile may take the session off its counters, but set->counters
 * stays: so that mask says whether RDPMC reads them.
 */
static UPMU_INSIDE bool is_one_access(const struct upmu_meter *meter, const struct upmu_set *set)
{
    if (UPMU_FOREIGN)
        return !upmu_bank_type(&meter->bank) &&
               !(meter->bank.pmu->capabilities & (UPMU_PMU_NO_PMI | UPMU_PMU_PAGE | UPMU_PMU_CARRY_LOST));
    return meter->bank.value_bits && !upmu_bank_type(&meter->bank) && !upmu_count_adds_first(meter) &&
           !(set->counters & ~UPMU_LOAD(meter->bank.by_rdpmc));
}

/* Read a counter of a set for which is_one_access() is true.  Returns false after a fault. */
static UPMU_INSIDE bool read_access(struct upmu_meter *meter, const struct upmu_port *port, unsigned counter,
                                    uint64_t *out_value)
{
#if UPMU_FOREIGN
    const struct upmu_pmu *pmu = meter->bank.pmu;

    if (!(UPMU_LOAD(meter->bank.by_rdpmc) >> counter & 1u))
        return upmu_bank_read_next(&meter->bank, port, meter->bank.rows[pmu->counter[counter].value_row].address,
                                   &meter->bank.accesses.reads, out_value);
    meter->bank.accesses.rdpmcs++;
#endif
    if (__builtin_expect(port_rdpmc(port, meter->pmu->counter[counter].rdpmc, out_value), 1))
        return true;
    UPMU_STORE(meter->bank.by_rdpmc, 0);
    return false;
}

/*
 * Read counts of a session that runs here with plain events, whose counters is_one_access() can read: clock and session
 * are looked at once for all counts.  Returns false: read them in full.  Another CPU may end the session's PMU at any
 * time: look at the PMU only when the session's CPU is known to be this one.
 */
static UPMU_INSIDE bool read_alike(struct upmu_session *session, struct upmu_set *set, unsigned first,
                                   unsigned count, struct upmu_count *out)
{
    struct upmu_meter *meter = __atomic_load_n(&session->meter, __ATOMIC_RELAXED);
    const struct upmu_port *port = session->machine->port;
    uint64_t now_ns, enabled_ns, missed_ns, bits, seen = 0;
    uint32_t before = UPMU_LOAD(session->sequence);

    UPMU_BARRIER();
    if (!meter || (before & 1u) || UPMU_LOAD(session->state) != UPMU_SESSION_RUNNING ||
        set != upmu_active_seen(session) || !UPMU_LOAD(set->program.placement) ||
        (UPMU_LOAD(set->program.flags) & (UPMU_PROGRAM_WRAPS | UPMU_PROGRAM_ODD)) ||
        (port_has_this_cpu(port) && port_this_cpu(port) != UPMU_LOAD(meter->cpu)) || !is_one_access(meter, set))
        return false;
    now_ns = upmu_machine_clock_ns(session->machine);
    enabled_ns = upmu_session_clock(session, now_ns);
    missed_ns = enabled_ns - UPMU_LOAD(set->duration_ns) - (now_ns - UPMU_LOAD(session->running_ns));
    bits = meter->bank.value_bits;
    if (!UPMU_FOREIGN)
        meter->bank.accesses.rdpmcs += count;
    for (unsigned i = first; i < first + count; i++, out++) {
        const struct upmu_tally *tally = &set->tally[i];
        unsigned counter = UPMU_LOAD(tally->counter);
        uint64_t value, total, due;

        if (__builtin_expect(!read_access(meter, port, counter, &value), 0))
            return false;
        if (UPMU_FOREIGN)
            bits = upmu_bits_ones(meter->bank.pmu->counter[counter].width);
        value = (value - UPMU_LOAD(tally->base)) & bits;
        total = UPMU_LOAD(tally->total);
        due = UPMU_LOAD(tally->due);
        seen |= value;
        total += value;
        out->raw = total;
        out->value = total;
        out->error = 0;
        out->enabled_ns = enabled_ns - UPMU_LOAD(set->estimate[i].since_ns);
        out->running_ns = out->enabled_ns;
        out->reset = UPMU_LOAD(tally->reset);
        out->lost = UPMU_LOAD(tally->lost);
        out->left = upmu_tally_samples(tally) && due > total ? due - total : 0;
        out->quality = UPMU_QUALITY_EXACT;
        if (__builtin_expect((missed_ns + UPMU_LOAD(tally->gap_ns)) || !UPMU_LOAD(tally->ran) ||
                                 UPMU_LOAD(tally->hole) || (!total && !UPMU_LOAD(meter->seen_counting)), 0)) {
            if (seen)
                UPMU_STORE(meter->seen_counting, 1);
            grade_count(session, set, tally, missed_ns + UPMU_LOAD(tally->gap_ns), out);
        }
    }
    /* If a handler has changed the session's counts meanwhile, the caller reads all of them again, in full. */
    UPMU_BARRIER();
    if (__builtin_expect(UPMU_LOAD(session->sequence) != before, 0))
        return false;
    if (seen)
        UPMU_STORE(meter->seen_counting, 1);
    return true;
}

#endif

/*
 * Read on the CPU that drives the meter.  Returns false where that CPU was not reached.  Returns true also where no CPU
 * drives it: the unit may be on its way to another CPU, and the caller looks again.
 */
static bool read_there(const struct upmu_port *port, const struct upmu_meter *meter, struct remote_read *remote)
{
    struct upmu_cpu *cpu = __atomic_load_n(&meter->cpu, __ATOMIC_RELAXED);

    return (UPMU_UNCORE && !cpu) || port_run_on_cpu(port, cpu, read_here, remote);
}

/*
 * How often a read is tried, the first time included: it is tried again if the session was not found on the CPU where
 * it was looked for, because its thread or its unit has gone to another CPU.  Without threads it is tried once.
 */
#define READ_FOLLOW (UPMU_THREADS ? 4u : 1u)

/* Read in full, where the session is.  Kept apart: a read by read_alike() needs nothing of it, nor its stack. */
static UPMU_APART enum upmu_status read_anywhere(struct upmu_set *set, unsigned first, unsigned count,
                                                 struct upmu_count *out_counts)
{
    struct upmu_session *session = set->session;
    struct remote_read remote = {session, set, first, count, out_counts, UPMU_ERR_WRONG_CPU};
    const struct upmu_port *port = session->machine->port;

    for (unsigned i = 0; remote.status == UPMU_ERR_WRONG_CPU && i < READ_FOLLOW; i++) {
        uintptr_t state = port_irq_save(port);
        struct upmu_meter *meter = __atomic_load_n(&session->meter, __ATOMIC_RELAXED);
        bool here = is_here(session, meter, upmu_session_occupies(session));

        if (here)
            read_here(&remote);
        port_irq_restore(port, state);
        if (!here && meter && !read_there(port, meter, &remote))
            break;
    }
    return remote.status == UPMU_OK ? UPMU_OK : upmu_session_refuse(session, remote.status);
}

enum upmu_status upmu_set_read(struct upmu_set *set, unsigned first, unsigned count,
                               struct upmu_count *out_counts)
{
    struct upmu_session *session = set->session;

    if (!session || first >= UPMU_LOAD(set->count) || count > UPMU_LOAD(set->count) - first)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
#if UPMU_THREADS
    const struct upmu_port *port = session->machine->port;
    uintptr_t state = port_irq_save(port);
    bool here = read_alike(session, set, first, count, out_counts);

    port_irq_restore(port, state);
    if (here)
        return UPMU_OK;
#endif
    return read_anywhere(set, first, count, out_counts);
}
