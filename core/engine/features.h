/* SPDX-License-Identifier: MIT */
/*
 * Where optional features hook into the engine.  A row of the table is a moment at which the engine calls a function of
 * this file, a column a group of features; the cell says what they do then, and is empty if nothing.  The engine names
 * the moment and not the feature, except where it asks one (upmu_records_ready()) and for the calls that
 * docs/ENGINE.md, "Features", lists.  A hook that no feature of the build uses is no instruction.
 *
 *                                  sampling units,    pages for user mode     formats, messages
 *                                  branch records,
 *                                  records (drain)
 * interrupt, at its begin          take a sample; stop
 *                                  the branch stack
 * interrupt, status read           (branches) frozen?
 * interrupt, counters closed       (drain) take
 * interrupt, samples stored        (branches) record
 * overflow without an interrupt    (branches) record
 * interrupt, counters loaded                          write again
 * plan, counters closed            (drain) take
 * plan, before counters open       (drain) begin;
 *                                  (branches) begin
 * counter gets an event                               its former value is hidden
 * another thread runs              (branches) clear;
 *                                  (drain) take
 * local call, at its end                              write
 * tick, poll, read, guest entered  (drain) take
 * CPU comes, or wakes up           (wakes) set up     right to read unknown
 * registers may have changed       (drain) set up
 * entry or exit of a guest         (drain) switch;
 *                                  (branches) stop
 * CPU leaves or sleeps             stop              (leaves) forget readers
 * session is about to start        (branches) filter
 * session leaves its CPU                              closed
 * masked session restarted                                                    may stay masked; unblock
 * session closed                                      withdrawn               end
 */
#ifndef UPMU_CORE_FEATURES_H
#define UPMU_CORE_FEATURES_H

#include "core/engine/interrupt.h"
#include "core/engine/meter.h"
#include "core/hw/port_call.h"
#include "core/sample/batch.h"
#include "core/sample/branch_samples.h"
#include "core/sample/branches_core.h"
#include "core/sample/drain.h"
#include "core/sample/format_core.h"
#include "core/sample/ibs_core.h"
#include "core/sample/message_core.h"
#include "core/sample/record_branches.h"
#include "core/sample/traces_core.h"
#include "core/sample/user_page.h"

/*
 * At the begin of an interrupt: stop the branch stack, and take the samples of IBS units.  Returns the number of units
 * that had a sample, stored or lost.
 */
static inline unsigned upmu_features_interrupt(struct upmu_cpu *cpu, const struct upmu_frame *frame)
{
#if UPMU_BRANCH_SAMPLES
    if (cpu->meter.branches)
        upmu_branch_samples_interrupt(&cpu->meter);
#endif
    return UPMU_IBS && (cpu->ibs[0] || cpu->ibs[1]) ? upmu_ibs_handle(&cpu->meter, frame) : 0;
}

/* A plan that is not plain is made.  Must sessions whose counters store records leave and come again by it? */
static inline bool upmu_features_regroup(const struct upmu_meter *meter)
{
#if UPMU_BRANCH_SAMPLES
    return meter->precise && upmu_record_branches_lack(meter);
#else
    (void)meter;
    return false;
#endif
}

/*
 * A plan (`of_plan`) or an interrupt has closed its counters and taken no count yet: take records from the buffer of
 * hardware that stores samples itself (core/sample/drain.h).
 */
static inline void upmu_features_closed(struct upmu_meter *meter, bool of_plan)
{
    upmu_drain(meter, of_plan);
}

/*
 * A plan that is not plain, or a repair, has published what runs, and has not opened its counters yet: let the counters
 * of precise events store records, and the branch stack record what the sessions want.
 */
static inline void upmu_features_opens(struct upmu_meter *meter)
{
    upmu_records_come(meter);
#if UPMU_BRANCH_SAMPLES
    upmu_branch_samples_come(meter);
#endif
}

/* Does the meter record branches for running sessions? */
static inline bool upmu_features_branches(const struct upmu_meter *meter)
{
#if UPMU_BRANCH_SAMPLES
    return meter->branches;
#else
    (void)meter;
    return false;
#endif
}

/* The samples of an interrupt are stored, or there are none: the branch stack records again. */
static inline void upmu_features_reported(struct upmu_meter *meter)
{
#if UPMU_BRANCH_SAMPLES
    if (upmu_features_branches(meter)) {
        upmu_branch_samples_resume(meter);
        upmu_branch_samples_switch(meter);
    }
#else
    (void)meter;
#endif
}

/*
 * A bracket has found an overflow without an interrupt, or reads mail, which may be that of a poll: the overflow may
 * have stopped the branch stack.  Returns whether mail has to be read, so that the stack records again.
 */
static inline bool upmu_features_missed(struct upmu_meter *meter)
{
#if UPMU_BRANCH_SAMPLES
    return upmu_features_branches(meter) && upmu_branch_samples_missed(meter);
#else
    (void)meter;
    return false;
#endif
}

/* A handler that interrupted a bracket has left mail, or none: then no samples come, and the stack records again. */
static inline void upmu_features_mailed(struct upmu_cpu *cpu)
{
#if UPMU_BRANCH_SAMPLES
    if (!cpu->mail.pending && upmu_features_branches(&cpu->meter))
        upmu_branch_samples_resume(&cpu->meter);
#else
    (void)cpu;
#endif
}

/*
 * Another thread is about to run (`runs` false), or runs from now on: its samples get no branches of the former one.
 * Returns whether the end of the bracket is to take records of the former one, as an interrupt would: a later interrupt
 * has the frame of the new thread.
 */
static inline bool upmu_features_switch(struct upmu_cpu *cpu, bool runs)
{
#if UPMU_BRANCH_SAMPLES
    if (!runs)
        cpu->branches.stale = 1;
    else if (upmu_features_branches(&cpu->meter))
        upmu_branch_samples_switch(&cpu->meter);
#endif
#if UPMU_PRECISE
    return runs && cpu->meter.precise && upmu_records_wait(&cpu->meter);
#else
    (void)cpu, (void)runs;
    return false;
#endif
}

/*
 * The status register of an interrupt was read.  If it shows that hardware has stored samples into our buffer, return
 * the counters whose they may be; else 0.
 */
static inline uint32_t upmu_features_status(struct upmu_meter *meter, uint64_t status)
{
#if UPMU_BRANCH_SAMPLES
    if (upmu_features_branches(meter))
        upmu_branch_samples_status(meter, status);
#endif
#if UPMU_PRECISE
    if ((status & UPMU_STATUS_RECORDS) && upmu_records_ready(meter))
        return meter->precise;
#endif
    (void)meter;
    (void)status;
    return 0;
}

/*
 * In a bracket of a tick, a poll, a read or the entry of a guest: if hardware has stored records of batches, the end of
 * the bracket takes them, as it does after an interrupt.
 */
static inline void upmu_features_tick(struct upmu_meter *meter)
{
    if (UPMU_PRECISE && upmu_batch_waits(meter))
        upmu_interrupt_raise(meter);
}

/*
 * Were precise events given memory, or sessions the branch stack, also if the CPU sleeps or has lost them?  Neither is
 * switched off for a guest without a call.
 */
static inline bool upmu_features_need_crossings(const struct upmu_meter *meter)
{
#if UPMU_BRANCH_SAMPLES
    if (meter->cpu->branches.given)
        return true;
#endif
#if UPMU_PRECISE
    if (meter->cpu->records.area)
        return true;
#endif
    return upmu_traces_run(meter->cpu);
}

/*
 * A CPU is in the other world from now on (meter->in_guest), and the counters of host sessions are closed: let those of
 * precise events store records, and the branch stack record, in the host alone.
 */
static inline void upmu_features_cross(struct upmu_meter *meter)
{
#if UPMU_PRECISE && UPMU_WORLDS
    if (meter->precise)
        upmu_records_cross(meter);
    if (meter->in_guest)
        upmu_features_tick(meter);
#else
    (void)meter;
#endif
#if UPMU_BRANCH_SAMPLES && UPMU_WORLDS
    if (meter->branches)
        upmu_branch_samples_cross(meter);
#endif
}

/* As upmu_features_cross(), of a trace of branches, also where no counter is opened or closed.  False: a fault. */
static inline bool upmu_features_cross_traces(struct upmu_meter *meter)
{
    return upmu_traces_cross(meter);
}

/* A handler, or the end of a bracket that reads mail, may have loaded counters: write the pages of user mode again. */
static inline void upmu_features_loaded(struct upmu_cpu *cpu)
{
    if (UPMU_USER_PAGES && cpu->pages)
        upmu_user_pages_loaded(cpu);
}

/* May programs read counters of this meter (a unit's never)?  Then no counter keeps the count of its former event. */
static inline bool upmu_features_hide(const struct upmu_meter *meter)
{
    return UPMU_USER_PAGES && upmu_user_pages_any(meter->machine) && !upmu_meter_is_unit(meter);
}

/* May the end of a local call have pages of user mode to write, or the right to execute RDPMC to change? */
static inline bool upmu_features_wait(const struct upmu_cpu *cpu)
{
    return UPMU_USER_PAGES && (upmu_user_pages_any(cpu->meter.machine) || cpu->pages || cpu->user_reads);
}

/*
 * At the end of a local call, in the bracket of the CPU: write the pages of user mode, and let the port allow or forbid
 * RDPMC.
 */
static inline void upmu_features_leave(struct upmu_cpu *cpu)
{
    if (upmu_features_wait(cpu))
        upmu_user_pages_write(cpu);
}

/* upmu_cpu_init() has begun a CPU, which may have no PMU; the call may still fail. */
static inline void upmu_features_begin(struct upmu_cpu *cpu)
{
    /*
     * An earlier life of this CPU may have left user mode the right to execute RDPMC: machine->user_reads is 2
     * (unknown) once any session had a page.  Without the hook allow_rdpmc the library does not change the right.
     */
    if (UPMU_USER_PAGES && port_has_allow_rdpmc(cpu->meter.machine->port))
        cpu->user_reads = __atomic_load_n(&cpu->meter.machine->user_reads, __ATOMIC_RELAXED);
}

/*
 * A CPU wakes up.  The sleep may have changed the right to execute RDPMC, so the end of the call tells it to the port
 * anew; the memory for precise records is set up again.
 */
static inline void upmu_features_wake(struct upmu_cpu *cpu)
{
    if (UPMU_USER_PAGES && cpu->user_reads)
        cpu->user_reads = 2;
    upmu_records_again(&cpu->meter);
#if UPMU_BRANCH_SAMPLES
    upmu_branches_again(&cpu->meter);
#endif
}

/*
 * Other software may have changed the registers of a CPU or a unit, and no session runs now: set up a CPU's memory for
 * precise records and its branch stack again.
 */
static inline void upmu_features_again(struct upmu_meter *meter)
{
    if (!upmu_meter_is_unit(meter) && !upmu_traces_end(meter))
        return; /* the next start, or the end of the CPU, tries again */
#if UPMU_PRECISE
    if (!upmu_meter_is_unit(meter))
        upmu_records_again(meter);
#endif
#if UPMU_BRANCH_SAMPLES
    if (!upmu_meter_is_unit(meter))
        upmu_branches_again(meter);
#endif
}

/* Does an IBS unit of the CPU run, or have sessions its branch stack?  Then upmu_cpu_clear() is refused. */
static inline bool upmu_features_run(const struct upmu_cpu *cpu)
{
#if UPMU_BRANCH_SAMPLES
    if (cpu->meter.takes_branches)
        return true;
#endif
    return upmu_traces_run(cpu) || (UPMU_IBS && (cpu->ibs[0] || cpu->ibs[1]));
}

/*
 * A CPU leaves or sleeps: end its trace of branches, stop its branch stack, its records of samples and its IBS units,
 * and restore their registers.  Returns false where a register faulted.  In a local bracket.
 */
static inline bool upmu_features_stop(struct upmu_cpu *cpu)
{
    bool ended = upmu_traces_end(&cpu->meter), fine = upmu_branches_end(&cpu->meter) && ended;

#if UPMU_PRECISE
    /* A trace that a fault lets run would go on in whatever memory the register of the area says then. */
    fine = (!ended || upmu_records_end(&cpu->meter)) && fine;
#endif
    return upmu_ibs_end(&cpu->meter) && fine;
}

/*
 * Has the last end of a CPU left the hardware the address of memory for records?  The CPU is zeroed, or was
 * initialised.
 */
static inline bool upmu_features_owe(const struct upmu_cpu *cpu)
{
#if UPMU_PRECISE
    return cpu->records.ours || upmu_traces_run(cpu);
#else
    (void)cpu;
    return false;
#endif
}

/* Take that address back.  Returns false where a register faulted again. */
static inline bool upmu_features_return(struct upmu_cpu *cpu)
{
#if UPMU_PRECISE
    return upmu_traces_end(&cpu->meter) && (!cpu->records.ours || upmu_records_return(cpu));
#else
    (void)cpu;
    return true;
#endif
}

/*
 * A CPU has left: no session of its own gives programs the right to execute RDPMC any more, and its memory for precise
 * records is forgotten.
 */
static inline void upmu_features_end(struct upmu_cpu *cpu)
{
    /* The bit for threads stays: a program that has read a counter's number in its page may execute RDPMC next. */
    cpu->readers &= UPMU_READS_THREAD;
    upmu_records_forget(cpu);
#if UPMU_BRANCH_SAMPLES
    upmu_branches_forget(cpu);
#endif
}

/* A session that is not started is about to be: what its samples have of branches is chosen. */
static inline void upmu_features_start(struct upmu_session *session)
{
#if UPMU_BRANCH_SAMPLES
    upmu_branch_samples_begin(session);
#else
    (void)session;
#endif
}

/* A session leaves its CPU: take its page out of the CPU's list, and write it.  In a local bracket. */
static inline void upmu_features_detach(struct upmu_cpu *cpu, struct upmu_session *session)
{
    if (UPMU_USER_PAGES && session->page_open)
        upmu_user_page_leave(cpu, session);
}

/*
 * A masked session is to be restarted: its program is unblocked.  Returns false, and does nothing, if its format keeps
 * it masked.
 */
static inline bool upmu_features_restart(struct upmu_session *session)
{
    if (upmu_format_stays_masked(session))
        return false;
    upmu_message_restarted(session);
    return true;
}

/* A session is closed: end its format, and write and withdraw its page. */
static inline void upmu_features_close(struct upmu_session *session)
{
    upmu_format_end(session);
    upmu_user_page_end(session);
}

#endif
