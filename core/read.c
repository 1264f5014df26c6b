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
#include "core/muldiv.h"
#include "core/session_core.h"

/* Handlers do not come faster than this many in one read. */
#define READ_ATTEMPTS 64u

/* The total of one event at this moment. */
static bool total_now(struct upmu_session *session, unsigned i, uint64_t *out_total)
{
    struct upmu_tally *tally = &session->set.tally[i];
    struct upmu_cpu *cpu = session->cpu;
    uint64_t total, base, value;
    uint32_t sequence;
    uint8_t counter;

    for (unsigned attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        sequence = tally->sequence;
        UPMU_BARRIER();
        total = tally->total;
        base = tally->base;
        counter = tally->counter;
        if (!cpu || !upmu_session_holds(session)) {
            *out_total = total;
            return true;
        }
        if (!upmu_bank_read(&cpu->bank, counter, &value))
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

static uint64_t enabled_now(const struct upmu_session *session)
{
    uint64_t enabled_ns = session->enabled_ns;

    if (session->state == UPMU_SESSION_RUNNING)
        enabled_ns += port_clock_ns(session->machine->port) - session->started_ns;
    return enabled_ns;
}

static void grade(const struct upmu_session *session, unsigned i, struct upmu_count *count)
{
    const struct upmu_tally *tally = &session->set.tally[i];

    count->value = count->raw;
    count->enabled_ns = enabled_now(session);
    count->running_ns = count->enabled_ns > tally->gap_ns ? count->enabled_ns - tally->gap_ns : 0;
    if (!tally->ran) {
        count->quality = UPMU_QUALITY_NEVER_RAN;
    } else if (tally->hole) {
        count->quality = UPMU_QUALITY_PARTIAL;
    } else if (UPMU_MOVES && tally->gap_ns) {
        count->quality = UPMU_QUALITY_SCALED;
        count->value = upmu_muldiv(count->raw, count->enabled_ns, count->running_ns);
        count->error = count->value - count->raw;
    } else if (!count->raw && session->cpu && !session->cpu->seen_counting) {
        count->quality = UPMU_QUALITY_UNPROVEN;
    }
}

static enum upmu_status read_counts(struct upmu_session *session, unsigned first, unsigned count,
                                    struct upmu_count *out_counts)
{
    for (unsigned i = 0; i < count; i++) {
        memset(&out_counts[i], 0, sizeof out_counts[i]);
        if (!total_now(session, first + i, &out_counts[i].raw))
            return upmu_session_refuse(session, UPMU_ERR_PORT);
        grade(session, first + i, &out_counts[i]);
    }
    return UPMU_OK;
}

struct remote_read {
    struct upmu_session *session;
    unsigned first, count;
    struct upmu_count *counts;
    enum upmu_status status;
};

static void read_here(void *argument)
{
    struct remote_read *remote = argument;

    remote->status = read_counts(remote->session, remote->first, remote->count, remote->counts);
}

enum upmu_status upmu_session_read(struct upmu_session *session, unsigned first, unsigned count,
                                   struct upmu_count *out_counts)
{
    struct remote_read remote = { session, first, count, out_counts, UPMU_OK };
    const struct upmu_port *port = session->machine->port;
    uintptr_t state;

    if (first >= session->set.count || count > session->set.count - first)
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    if (!upmu_session_holds(session)) {
        read_here(&remote);
        return remote.status;
    }
    state = port_irq_save(port);
    if (!port_has_this_cpu(port) || port_this_cpu(port) == session->cpu) {
        read_here(&remote);
        port_irq_restore(port, state);
        return remote.status;
    }
    port_irq_restore(port, state);
    if (port_run_on_cpu(port, session->cpu, read_here, &remote))
        return remote.status;
    return upmu_session_refuse(session, UPMU_ERR_WRONG_CPU);
}
