/* SPDX-License-Identifier: MIT */
/*
 * Reading counts: nothing is written, so it may be interrupted by a handler that
 * moves the very counter; the sequence word tells, and the read is made again.
 */
#include "core/bank.h"
#include "core/bits.h"
#include "core/count.h"
#include "core/joint.h"
#include "core/local.h"
#include "core/mem.h"
#include "core/metrics.h"
#include "core/muldiv.h"
#include "core/run.h"
#include "core/session_core.h"

/* Handlers do not come faster than this many in one read. */
#define READ_ATTEMPTS 64u

/* What a counter of a session that holds it says. */
static bool total_now(struct upmu_session *session, unsigned i, uint64_t *out_total)
{
    const struct upmu_tally *tally = &session->set.tally[i];
    struct upmu_cpu *cpu = session->cpu;

    for (unsigned attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        uint32_t sequence = tally->sequence;
        uint64_t total, base, value;
        unsigned counter;

        UPMU_BARRIER();
        total = tally->total;
        base = tally->base;
        counter = tally->counter;
        if (!upmu_run_passed(cpu, session, i) || !upmu_bank_read(&cpu->bank, counter, &value))
            return false;
        UPMU_BARRIER();
        if (tally->sequence != sequence)
            continue;
        *out_total = upmu_count_now(cpu->pmu, &session->set.event[i], total, base, counter, value);
        if (*out_total != total)
            cpu->seen_counting = 1;
        return true;
    }
    return false;
}

static void grade(const struct upmu_session *session, const struct upmu_tally *tally, struct upmu_count *count)
{
    count->value = count->raw;
    count->running_ns = count->enabled_ns > tally->gap_ns ? count->enabled_ns - tally->gap_ns : 0;
    if (!tally->ran) {
        count->quality = UPMU_QUALITY_NEVER_RAN;
    } else if (tally->hole || (count->enabled_ns && !count->running_ns)) {
        count->quality = UPMU_QUALITY_PARTIAL;
    } else if (UPMU_MOVES && tally->gap_ns) {
        count->quality = UPMU_QUALITY_SCALED;
        count->value = upmu_muldiv(count->raw, count->enabled_ns, count->running_ns);
        count->error = count->value - count->raw;
    } else if (!count->raw && session->cpu && !session->cpu->seen_counting) {
        count->quality = UPMU_QUALITY_UNPROVEN;
    }
}

#if UPMU_METRICS

/* The bytes of metrics are right to half of a 255th: what that is in slots is in the tally. */
static void grade_metric(const struct upmu_tally *tally, struct upmu_count *count)
{
    if (!upmu_tally_is_metric(tally) || count->quality == UPMU_QUALITY_NEVER_RAN)
        return;
    count->error += tally->base;
    if (count->quality == UPMU_QUALITY_EXACT && count->error)
        count->quality = UPMU_QUALITY_SCALED;
}

/* Reading metrics ends their window, which is a local call. */
static enum upmu_status read_metrics(struct upmu_session *session)
{
    struct upmu_cpu *cpu = session->cpu;
    uintptr_t irq;
    enum upmu_status status = upmu_local_enter(cpu, &irq);

    if (status != UPMU_OK)
        return status;
    if (upmu_session_holds(session))
        status = upmu_metrics_update(cpu, session);
    upmu_local_leave(cpu, irq);
    return status;
}

#endif

struct remote_read {
    struct upmu_session *session;
    unsigned first, count;
    struct upmu_count *counts;
    enum upmu_status status;
};

static void read_here(void *argument)
{
    struct remote_read *remote = argument;
    struct upmu_session *session = remote->session;
    bool holds = upmu_session_holds(session);

#if UPMU_METRICS
    if (holds && upmu_session_has_metrics(session)) {
        remote->status = read_metrics(session);
        if (remote->status != UPMU_OK) {
            (void)upmu_session_refuse(session, remote->status);
            return;
        }
        holds = upmu_session_holds(session);
    }
#endif
    for (unsigned i = 0; i < remote->count; i++) {
        const struct upmu_tally *tally = &session->set.tally[remote->first + i];
        struct upmu_count *count = &remote->counts[i];

        memset(count, 0, sizeof *count);
        count->raw = tally->total;
        count->enabled_ns = session->enabled_ns;
        if (session->state == UPMU_SESSION_RUNNING)
            count->enabled_ns += port_clock_ns(session->machine->port) - session->started_ns;
        if (holds && !upmu_tally_is_metric(tally) && !total_now(session, remote->first + i, &count->raw)) {
            remote->status = upmu_session_refuse(session, UPMU_ERR_PORT);
            return;
        }
        grade(session, tally, count);
#if UPMU_METRICS
        grade_metric(tally, count);
#endif
    }
    remote->status = UPMU_OK;
}

enum upmu_status upmu_session_read(struct upmu_session *session, unsigned first, unsigned count,
                                   struct upmu_count *out_counts)
{
    struct remote_read remote = { session, first, count, out_counts, UPMU_OK };
    const struct upmu_port *port = session->machine->port;
    uintptr_t state;
    bool here;

    if (first >= session->set.count || count > session->set.count - first)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    state = port_irq_save(port);
    here = !upmu_session_holds(session) || !port_has_this_cpu(port) || port_this_cpu(port) == session->cpu;
    if (here)
        read_here(&remote);
    port_irq_restore(port, state);
    if (!here && !port_run_on_cpu(port, session->cpu, read_here, &remote))
        return upmu_session_refuse(session, UPMU_ERR_WRONG_CPU);
    return remote.status;
}
