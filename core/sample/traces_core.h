/* SPDX-License-Identifier: MIT */
/* Traces of branches in memory (upmu/bts.h): what the engine calls when a CPU leaves, sleeps, or enters a guest. */
#ifndef UPMU_CORE_TRACES_CORE_H
#define UPMU_CORE_TRACES_CORE_H

#include <upmu/bts.h>
#include <upmu/session.h>

#if UPMU_BTS

/* Does a CPU trace its branches, or may it, after a fault? */
static inline bool upmu_traces_run(const struct upmu_cpu *cpu)
{
    return cpu->bts;
}

/*
 * End the trace of a CPU that leaves, sleeps, or whose registers other software may have changed.  Returns false where
 * a register faulted: then the trace counts as running.  Context: a bracket on this CPU.
 */
bool upmu_traces_end(struct upmu_meter *meter);

/*
 * A guest is about to run (meter->in_guest), in which the hardware would store by an address of the guest; or the host
 * runs again.  Returns false where a register faulted: then a guest must not be entered.  Context: as above.
 */
bool upmu_traces_cross(struct upmu_meter *meter);

/* In any context: end a trace by one write (upmu_records_emergency()). */
void upmu_traces_off(struct upmu_cpu *cpu);

#else

static inline bool upmu_traces_run(const struct upmu_cpu *cpu)
{
    (void)cpu;
    return false;
}

static inline bool upmu_traces_end(struct upmu_meter *meter)
{
    (void)meter;
    return true;
}

static inline bool upmu_traces_cross(struct upmu_meter *meter)
{
    (void)meter;
    return true;
}

static inline void upmu_traces_off(struct upmu_cpu *cpu)
{
    (void)cpu;
}

#endif

#endif
