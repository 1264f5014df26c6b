/* SPDX-License-Identifier: MIT */
/*
 * Calls for layers above the library (upmu/abi.h).  A layer that works on sessions sees no hook, no backend and no
 * private field.
 */
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/port_call.h"
#include "core/engine/count.h"
#include "core/engine/session_core.h"
#include <upmu/abi.h>
#include <upmu/branches.h>
#include <upmu/world.h>

struct upmu_cpu *upmu_machine_this_cpu(const struct upmu_machine *machine)
{
    const struct upmu_port *port = machine->port;
    struct upmu_cpu *cpu;
    uintptr_t irqs;

    if (!port_has_this_cpu(port))
        return machine->only_cpu;
    irqs = port_irq_save(port);
    cpu = port_this_cpu(port);
    port_irq_restore(port, irqs);
    return cpu;
}

bool upmu_machine_runs_on(const struct upmu_machine *machine, const struct upmu_cpu *cpu)
{
    return !port_has_this_cpu(machine->port) || upmu_machine_this_cpu(machine) == cpu;
}

bool upmu_machine_has_clock(const struct upmu_machine *machine)
{
    return port_has_clock(machine->port);
}

bool upmu_machine_has_pmi(const struct upmu_machine *machine)
{
    return port_has_pmi(machine->port);
}

#if UPMU_PRECISE

uint64_t upmu_branch_flags(uint64_t info)
{
    return (info & UPMU_BRANCH_INFO_MISPREDICTED ? 1u : 0) | (info & UPMU_BRANCH_INFO_PREDICTED ? 2u : 0) |
           (info & UPMU_BRANCH_INFO_TRANSACTION ? 4u : 0) | (info & UPMU_BRANCH_INFO_ABORT ? 8u : 0) |
           (info & UPMU_BRANCH_INFO_CYCLES) << 4 | (info >> 52 & 3u) << 24;
}

#endif

#if UPMU_WORLDS

uint64_t upmu_cpu_guest_gate(struct upmu_cpu *cpu)
{
    const struct upmu_port *port;
    uint64_t value;
    uintptr_t irqs;

    if (!cpu->meter.by_hardware)
        return 0;
    port = cpu->meter.machine->port;
    irqs = port_irq_save(port);
    value = upmu_cpu_gate_value(cpu, UPMU_WORLD_GUEST);
    port_irq_restore(port, irqs);
    return value;
}

#else

uint64_t upmu_cpu_guest_gate(struct upmu_cpu *cpu)
{
    (void)cpu;
    return 0;
}

#endif

bool upmu_counter_runs(const struct upmu_cpu *cpu, unsigned counter)
{
    return counter < UPMU_COUNTERS && (cpu->meter.running & UPMU_BIT32(counter));
}

bool upmu_pmu_is_amd(const struct upmu_pmu *pmu)
{
    return pmu->backend->vendor == UPMU_VENDOR_AMD;
}

bool upmu_event_uses_row(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter, unsigned row)
{
    struct upmu_alternative alternative;

    if (!pmu->backend->resource_row)
        return false;
    for (unsigned i = 0; pmu->backend->alternative(pmu, event, 0, i, &alternative); i++)
        for (unsigned k = 0; k < alternative.slot[0].resource_count; k++)
            if ((alternative.slot[0].counters >> counter & 1u) &&
                pmu->backend->resource_row(pmu, alternative.slot[0].resource[k]) == row)
                return true;
    return false;
}

const struct upmu_event *upmu_set_event(const struct upmu_set *set, unsigned index)
{
    return index < set->count ? &set->event[index] : NULL;
}

void upmu_set_progress(const struct upmu_set *set, unsigned index, struct upmu_progress *out_progress)
{
    const struct upmu_tally *tally;

    memset(out_progress, 0, sizeof *out_progress);
    if (index >= set->count)
        return;
    tally = &set->tally[index];
    out_progress->count = UPMU_LOAD(tally->total);
    if (upmu_tally_samples(tally)) {
        out_progress->due = UPMU_LOAD(tally->due);
        out_progress->reset = UPMU_LOAD(tally->reset);
        out_progress->to_switch = tally->to_switch;
        out_progress->overflows = tally->overflows;
        out_progress->lost = UPMU_LOAD(tally->lost);
    }
    out_progress->lent = upmu_tally_is_lent(tally);
}

enum upmu_status upmu_set_continue(struct upmu_set *set, unsigned index, const struct upmu_progress *from)
{
    struct upmu_session *session = set->session;

    if (!session || session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (index >= set->count ||
        (upmu_tally_samples(&set->tally[index]) &&
         (from->reset - 1u >= UPMU_LONGEST_PERIOD || from->due - from->count - 1u >= UPMU_LONGEST_PERIOD)))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    upmu_count_continue(set, &set->tally[index], from);
    return upmu_session_refuse(session, UPMU_OK);
}

void upmu_session_ask(const struct upmu_session *session, struct upmu_session_info *out_info)
{
    /* Load `meter` once: another CPU may link or unlink the session meanwhile. */
    const struct upmu_meter *meter = __atomic_load_n(&session->meter, __ATOMIC_RELAXED);

    out_info->cpu = meter ? __atomic_load_n(&meter->cpu, __ATOMIC_RELAXED) : NULL;
    out_info->thread = UPMU_LOAD(session->thread);
    out_info->active = UPMU_LOAD(session->active);
    out_info->stopped_by = session->long_due;
}
