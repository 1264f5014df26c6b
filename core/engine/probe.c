/* SPDX-License-Identifier: MIT */
/*
 * Grade a PMU by one free counter.  The probe uses a session of its own, so that it takes no counter in use, and tests
 * the path that every count takes.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/engine/bracket.h"
#include "core/engine/session_core.h"
#include <upmu/probe.h>

const char *upmu_verdict_text(enum upmu_verdict verdict)
{
    static const char *const names[] = { "unknown",        "absent", "ignores writes",
                                         "counts nothing", "counts", "interrupts" };

    return names[(unsigned)verdict < sizeof names / sizeof names[0] ? (unsigned)verdict : 0];
}

#if UPMU_PROBE

/* The loop of a probe if the caller has given none: at least 1,000 instructions, which no compiler removes. */
static void built_in_loop(void *context)
{
    (void)context;
    for (volatile unsigned i = 0; i < 1000; i++)
        ;
}

/*
 * Make the probe's session, with one event that happens in each round of any loop (upmu_pmu.loop_config).  The event
 * gets a general counter if one is free.  `period`: its period; 0: it only counts.
 */
static UPMU_APART enum upmu_status add_loop_event(struct upmu_meter *meter, struct upmu_session *session,
                                                  uint64_t period)
{
    struct upmu_sampling sampling = { .period = period };
    struct upmu_event event;
    enum upmu_status status = upmu_event_raw(meter->pmu, meter->pmu->loop_config, 0, 0, &event);

    (void)!upmu_session_init(session, meter->machine); /* it cannot fail */
    if (status != UPMU_OK)
        return status;
    if (event.counters & meter->pmu->general & ~(meter->firmware | meter->watchdog | meter->foreign | meter->running))
        event.counters &= meter->pmu->general;
    return upmu_set_add_event(&session->set, &event, &sampling);
}

static enum upmu_status open_session(struct upmu_meter *meter, struct upmu_session *session, uint64_t period)
{
    enum upmu_status status = add_loop_event(meter, session, period);

    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(session, meter->cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(session);
    if (status != UPMU_OK && upmu_session_detach(session) != UPMU_OK)
        status = UPMU_ERR_PORT;
    return status;
}

static enum upmu_status run_loop(struct upmu_meter *meter, struct upmu_probe *probe, uint64_t period,
                                 uint64_t *out_counted)
{
    struct upmu_session *session = &probe->work.session;
    enum upmu_status status = open_session(meter, session, period);

    if (status != UPMU_OK)
        return status;
    if (probe->loop)
        probe->loop(probe->loop_context);
    else
        built_in_loop(NULL);
    status = upmu_session_stop(session);
    if (status == UPMU_OK)
        status = upmu_set_read(&session->set, 0, 1, &probe->work.count);
    if (status == UPMU_OK)
        *out_counted = probe->work.count.raw;
    probe->counter = session->set.tally[0].counter;
    if (upmu_session_detach(session) != UPMU_OK)
        return UPMU_ERR_PORT;
    return status;
}

/*
 * Do nothing in a bracket.  That the bracket can be entered shows that the caller runs on the CPU of the probe, and
 * inside no other local call.  The session could be sent to that CPU, but not the loop.
 */
static enum upmu_status check_here(struct upmu_meter *meter, void *unused)
{
    (void)meter;
    (void)unused;
    return UPMU_OK;
}

enum upmu_status upmu_cpu_probe(struct upmu_cpu *cpu, struct upmu_probe *probe)
{
    uint64_t counted = 0;
    uint32_t interrupts;
    enum upmu_status status;

    probe->verdict = cpu->meter.pmu ? UPMU_VERDICT_UNKNOWN : UPMU_VERDICT_ABSENT;
    probe->counter = UPMU_NO_COUNTER;
    probe->counted = 0;
    if (!cpu->meter.pmu)
        return UPMU_OK;
    if ((cpu->meter.pmu->capabilities & UPMU_PMU_HYPERVISOR) && !cpu->meter.machine->port->msr_faults_are_safe &&
        !probe->force)
        return UPMU_ERR_UNSUPPORTED;
    if (!cpu->meter.live) {
        probe->verdict = cpu->meter.ignores_writes ? UPMU_VERDICT_IGNORES_WRITES : UPMU_VERDICT_ABSENT;
        return UPMU_OK;
    }
    status = upmu_bracket_run(&cpu->meter, check_here, NULL);
    if (status == UPMU_OK)
        status = run_loop(&cpu->meter, probe, 0, &counted);
    if (status != UPMU_OK)
        return status;
    probe->counted = counted;
    probe->verdict = counted ? UPMU_VERDICT_COUNTS : UPMU_VERDICT_COUNTS_NOTHING;
    if (counted < 64 || !port_has_pmi(cpu->meter.machine->port))
        return UPMU_OK;
    interrupts = cpu->interrupts;
    status = run_loop(&cpu->meter, probe, counted >> 1, &counted);
    if (status == UPMU_OK && cpu->interrupts != interrupts)
        probe->verdict = UPMU_VERDICT_INTERRUPTS;
    return status;
}

#else

enum upmu_status upmu_cpu_probe(struct upmu_cpu *cpu, struct upmu_probe *probe)
{
    (void)cpu;
    (void)probe;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
