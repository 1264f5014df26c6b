/* SPDX-License-Identifier: MIT */
/* Entering and leaving the bracket of a meter, and the work that is done at its end. */
#include "core/engine/bracket.h"
#include "core/util/apart.h"
#include "core/hw/shared_page.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/reconcile.h"
#include "core/engine/waiting.h"

enum upmu_status upmu_bracket_enter(struct upmu_meter *meter, uintptr_t *out_state)
{
    const struct upmu_port *port = UPMU_LOAD(meter->machine)->port;
    enum upmu_status status = UPMU_OK;
    struct upmu_cpu *cpu;

    *out_state = port_irq_save(port);
    cpu = __atomic_load_n(&meter->cpu, __ATOMIC_ACQUIRE); /* a unit's CPU can change */
    if (UPMU_UNCORE && !cpu) /* a unit that is `live` without a CPU is on its way from one CPU to another */
        status = UPMU_LOAD(meter->live) ? UPMU_ERR_BUSY : UPMU_ERR_NO_CPU;
    else if (port_has_this_cpu(port) && port_this_cpu(port) != cpu)
        status = UPMU_ERR_WRONG_CPU;
    else if (UPMU_LOAD(meter->busy))
        status = UPMU_ERR_BUSY;
    if (status != UPMU_OK) {
        port_irq_restore(port, *out_state);
        return status;
    }
    UPMU_STORE(meter->busy, 1);
    UPMU_BARRIER();
    upmu_shared_page_stale(&meter->bank);
    return UPMU_OK;
}

/*
 * Is there work for the end of a bracket: mail, sessions or a log line due, counters that have failed, claims to look
 * at, or an overflow flag to be cleared of a running counter that only counts?
 */
static inline bool has_work(const struct upmu_meter *meter)
{
    return upmu_interrupt_mail(meter) || meter->work_due || meter->failed || meter->claims_due ||
           (meter->flagged & meter->running & ~meter->sampling);
}

void upmu_bracket_settle(struct upmu_meter *meter)
{
    if ((UPMU_SAMPLING || UPMU_SETS) && (meter->work_due & UPMU_DUE_SESSIONS) && upmu_reconcile_due(meter))
        upmu_waiting_admit(meter, true);
    if (meter->failed)
        upmu_reconcile_repair(meter);
}

static UPMU_APART void settle_work(struct upmu_meter *meter)
{
    if (upmu_interrupt_mail(meter) && upmu_interrupt_read_mail(meter))
        upmu_waiting_admit(meter, true);
    upmu_bracket_settle(meter);
    /* A register has faulted, and a repair, in a handler or in this call, has been made: write a line to the log. */
    if (meter->work_due & UPMU_DUE_LOG)
        upmu_reconcile_log(meter);
    /*
     * Running counters that only count and are in `flagged` have wrapped, and the wraps are counted: clear their status
     * bits, which would look like other wraps later.
     */
    if (meter->flagged & meter->running & ~meter->sampling)
        (void)upmu_count_acknowledge(meter, meter->running & ~meter->sampling);
    if (meter->claims_due) {
        meter->claims_due = 0;
        upmu_claims_trim(meter, false);
    }
}

/*
 * How often in a row the end of a bracket looks for work and does it, and how often it begins such a row anew because a
 * handler has left mail, or a counter has failed, meanwhile.  If overflows come faster, the rest waits for the next
 * local call, tick or interrupt.
 */
#define ROUNDS 4u

void upmu_bracket_leave(struct upmu_meter *meter, uintptr_t state)
{
    /*
     * A handler that comes after has_work() was last false and before `busy` is cleared leaves mail: the check after
     * the clearing finds it.  A handler that comes later finds `busy` cleared, and does its work itself.
     */
    for (unsigned rounds = 0;; rounds++) {
        for (unsigned looks = 0; __builtin_expect(has_work(meter), 0) && looks < ROUNDS; looks++)
            settle_work(meter);
        /*
         * The end of a unit's bracket writes no pages: during that bracket handlers use the CPU's counters, sessions
         * and pages.
         */
        if (!UPMU_UNCORE || (meter->cpu && meter == &meter->cpu->meter))
            upmu_features_leave(meter->cpu);
        /*
         * Let the counters that handlers stopped run again as the last step, after the mail is read.  If they counted
         * the rest of the bracket, too, they could overflow in it again and again.
         */
        if (__builtin_expect(meter->bank.stopped != 0, 0) && !upmu_interrupt_mail(meter))
            upmu_interrupt_end(meter);
        UPMU_BARRIER();
        UPMU_STORE(meter->busy, 0);
        UPMU_BARRIER();
        if (__builtin_expect(!(upmu_interrupt_mail(meter) || meter->failed), 1))
            break;
        if (rounds == ROUNDS) {
            (void)upmu_interrupt_finish(meter);
            port_request_tick(meter->machine->port);
            break;
        }
        UPMU_STORE(meter->busy, 1);
        UPMU_BARRIER();
    }
    port_irq_restore(meter->machine->port, state);
}

enum upmu_status upmu_bracket_run(struct upmu_meter *meter, upmu_bracket_work *work, void *argument)
{
    uintptr_t irq;
    enum upmu_status status = upmu_bracket_enter(meter, &irq);

    if (status == UPMU_OK) {
        status = work(meter, argument);
        upmu_bracket_leave(meter, irq);
    }
    return status;
}

bool upmu_bracket_run_briefly(struct upmu_meter *meter, void (*work)(struct upmu_meter *meter))
{
    if (meter->busy || meter->in_handler)
        return false;
    UPMU_STORE(meter->busy, 1);
    UPMU_BARRIER();
    work(meter);
    UPMU_BARRIER();
    UPMU_STORE(meter->busy, 0);
    UPMU_BARRIER();
    if (upmu_interrupt_mail(meter) || meter->failed) {
        bool waits = upmu_interrupt_finish(meter);

        if (waits || has_work(meter)) /* work for the end of a bracket, which this one has not */
            port_request_tick(meter->machine->port);
    }
    return true;
}

static UPMU_APART enum upmu_status place_on_own_stack(upmu_placing_work *placing, void *argument)
{
    struct upmu_place_work work;

    return placing(&work, argument);
}

/* A machine without a port is for encoding and placement alone: it has no CPU. */
enum upmu_status upmu_bracket_place(const struct upmu_machine *machine, upmu_placing_work *placing, void *argument)
{
    const struct upmu_port *port = machine->port;
    uintptr_t outer, irq;
    struct upmu_cpu *cpu;
    enum upmu_status status;

    if (!port)
        return place_on_own_stack(placing, argument);
    outer = port_irq_save(port);
    cpu = port_has_this_cpu(port) ? port_this_cpu(port) : machine->only_cpu;
    if (!cpu || !cpu->meter.work) {
        port_irq_restore(port, outer);
        return place_on_own_stack(placing, argument);
    }
    status = upmu_bracket_enter(&cpu->meter, &irq);
    if (status == UPMU_OK) {
        status = placing(cpu->meter.work, argument);
        upmu_bracket_leave(&cpu->meter, irq);
    }
    port_irq_restore(port, outer);
    return status;
}
