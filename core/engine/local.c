/* SPDX-License-Identifier: MIT */
/*
 * The bracket around every local call.
 */
#include "core/engine/local.h"
#include "core/util/apart.h"
#include "core/hw/shared_page.h"
#include "core/engine/deferred.h"
#include "core/engine/run.h"

enum upmu_status upmu_local_enter(struct upmu_meter *meter, uintptr_t *out_state)
{
    const struct upmu_port *port = UPMU_LOAD(meter->machine)->port;
    enum upmu_status status = UPMU_OK;
    struct upmu_cpu *cpu;

    *out_state = port_irq_save(port);
    cpu = __atomic_load_n(&meter->cpu, __ATOMIC_ACQUIRE); /* that of a unit changes */
    if (UPMU_UNCORE && !cpu) /* (what is on its way to another one is alive) */
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
    if (meter->mask_due)
        upmu_deferred_run(meter);
    return UPMU_OK;
}

/* Where overflows come faster than they are replayed, the rest waits for the next local call. */
#define ROUNDS 4u

void upmu_local_leave(struct upmu_meter *meter, uintptr_t state)
{
    unsigned rounds = 0;

    /*
     * Work left by a handler that comes between the last look and the clearing of
     * `busy` is found by the second look; a later handler does it itself.
     */
    do {
        if (meter->deferred | meter->mask_due)
            upmu_deferred_run(meter);
        /* (The flag of a wrap that this call has counted is no later round's.) */
        if (meter->flagged & meter->running & ~meter->sampling)
            (void)upmu_run_acknowledge(meter, meter->running & ~meter->sampling);
        /* (In the bracket of a unit handlers work on the CPU's own counters, sessions and pages.) */
        if (!UPMU_UNCORE || (meter->cpu && meter == &meter->cpu->meter))
            upmu_features_leave(meter->cpu);
        UPMU_BARRIER();
        UPMU_STORE(meter->busy, 0);
        UPMU_BARRIER();
        if ((!meter->deferred && !meter->mask_due) || ++rounds == ROUNDS)
            break;
        UPMU_STORE(meter->busy, 1);
        UPMU_BARRIER();
    } while (true);
    port_irq_restore(meter->machine->port, state);
}

enum upmu_status upmu_local_run(struct upmu_meter *meter, upmu_local_work *work, void *argument)
{
    uintptr_t irq;
    enum upmu_status status = upmu_local_enter(meter, &irq);

    if (status == UPMU_OK) {
        status = work(meter, argument);
        upmu_local_leave(meter, irq);
    }
    return status;
}

static UPMU_APART enum upmu_status place_on_own_stack(upmu_placing_work *placing, void *argument)
{
    struct upmu_place_work work;

    return placing(&work, argument);
}

/* (A machine without a port is one on paper.) */
enum upmu_status upmu_local_place(const struct upmu_machine *machine, upmu_placing_work *placing, void *argument)
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
    status = upmu_local_enter(&cpu->meter, &irq);
    if (status == UPMU_OK) {
        status = placing(cpu->meter.work, argument);
        upmu_local_leave(&cpu->meter, irq);
    }
    port_irq_restore(port, outer);
    return status;
}
