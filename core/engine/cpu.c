/* SPDX-License-Identifier: MIT */
/* CPUs: initialisation and end, sleep, clearing, ticks, polls, verification. */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/domain.h"
#include "core/hw/shared_page.h"
#include "core/hw/port_call.h"
#include "core/event/why.h"
#include "core/engine/claims.h"
#include "core/engine/features.h"
#include "core/engine/life.h"
#include "core/engine/bracket.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/owners.h"
#include "core/engine/interrupt.h"
#include "core/engine/placed.h"
#include "core/engine/plan.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/unit_core.h"
#include "core/engine/waiting.h"

/*
 * Join the domain of `domains` (NULL-terminated, or NULL) where this PMU's shared parts are claimed.  Returns UPMU_OK
 * also if there is none; UPMU_ERR_NO_SPACE where the domain has no number left.
 */
static enum upmu_status join_domain(struct upmu_meter *meter, struct upmu_domain *const *domains)
{
    if (!UPMU_DOMAINS || !domains || !(meter->pmu->shared || meter->pmu->shared_counters))
        return UPMU_OK;
    for (; *domains; domains++) {
        if ((uint8_t)(*domains)->scope != meter->pmu->shared_scope)
            continue;
        if (!upmu_domain_join(*domains, &meter->domain_number))
            return UPMU_ERR_NO_SPACE;
        meter->domain = *domains;
        upmu_claims_share(meter);
        break;
    }
    return UPMU_OK;
}

static void leave_domain(struct upmu_meter *meter)
{
    if (upmu_meter_domain(meter)) {
        if (upmu_domain_end(meter->domain, meter->domain_number))
            upmu_domain_forget(meter->domain);
        upmu_domain_leave(meter->domain, meter->domain_number);
    }
    meter->domain = NULL;
    meter->bank.domain = NULL;
}

/*
 * Begin a CPU: detect its PMU, and make its bank, of which no register is known.  Returns UPMU_OK, or what
 * upmu_machine_detect() or join_domain() has refused with.
 */
static enum upmu_status begin_cpu(struct upmu_cpu *cpu, struct upmu_machine *machine,
                                  struct upmu_domain *const *domains)
{
    const struct upmu_port *port = machine->port;
    enum upmu_status status;

    /*
     * A call on another CPU may be reading `machine` of this CPU, to find the port: this field, the first one, is never
     * set to NULL again.
     */
    UPMU_STORE(cpu->meter.machine, machine);
    upmu_shared_clear((char *)cpu + sizeof cpu->meter.machine, sizeof *cpu - sizeof cpu->meter.machine);
    UPMU_STORE(cpu->meter.cpu, cpu);
    status = upmu_machine_detect(machine, &cpu->meter);
    if (status != UPMU_OK)
        return status;
    upmu_bank_init(&cpu->meter.bank, cpu->meter.pmu, port, port->msr_faults_are_safe, cpu->registers);
    return join_domain(&cpu->meter, domains);
}

/*
 * Has the last end of a CPU left the hardware the address of memory for records?  A CPU that was never initialised may
 * be in memory of any contents.
 */
static bool owes_memory(const struct upmu_cpu *cpu, const struct upmu_machine *machine)
{
    return cpu->meter.machine == machine && cpu->meter.cpu == cpu && upmu_features_owe(cpu);
}

/* On a CPU whose last end has failed, once more: take the address of its memory for records back from the hardware. */
static UPMU_APART enum upmu_status end_again(struct upmu_cpu *cpu, const struct upmu_port *port)
{
    uintptr_t irq = port_irq_save(port);
    enum upmu_status status = UPMU_ERR_WRONG_CPU;

    if (!port_has_this_cpu(port) || port_this_cpu(port) == cpu)
        status = upmu_features_return(cpu) ? UPMU_OK : UPMU_ERR_PORT;
    port_irq_restore(port, irq);
    return status;
}

enum upmu_status upmu_cpu_init(struct upmu_cpu *cpu, struct upmu_machine *machine, struct upmu_domain *const *domains)
{
    const struct upmu_port *port = machine->port;
    uintptr_t state;
    enum upmu_status status;

    upmu_why_clear(&machine->why);
    if (machine->only_cpu && machine->only_cpu != cpu && !port_has_this_cpu(port))
        return upmu_why_hook_of(machine, "this_cpu");
    status = upmu_units_check(machine, cpu);
    if (status == UPMU_OK && owes_memory(cpu, machine)) {
        status = upmu_why_refuse(&machine->why, end_again(cpu, port), NULL, NULL, 0, 0);
        machine->why.address = status == UPMU_OK ? 0 : cpu->meter.bank.faulted;
    }
    if (status != UPMU_OK)
        return status;
    upmu_units_unlink(machine, cpu);
    state = port_irq_save(port);
    status = begin_cpu(cpu, machine, domains);
    upmu_features_begin(cpu);
    if (status == UPMU_OK) {
        status = upmu_life_take_over(&cpu->meter);
        if (status == UPMU_OK || status == UPMU_ERR_NO_PMU)
            upmu_machine_publish(machine, cpu->meter.pmu);
    }
    if (status == UPMU_OK) {
        cpu->meter.kind = upmu_placed_class(&cpu->meter);
        machine->only_cpu = cpu;
        cpu->meter.number = machine->cpu_count++;
        if (!++machine->lives)
            machine->lives = 1;
        cpu->meter.life = machine->lives;
        upmu_bank_begin_life(&cpu->meter.bank, machine->lives);
        UPMU_BARRIER();
        UPMU_STORE(cpu->meter.live, 1);
        upmu_units_link(cpu);
    } else if (cpu->meter.pmu) {
        if (status != UPMU_ERR_NO_PMU) {
            (void)upmu_claims_restore(&cpu->meter);
            (void)upmu_shared_page_unmap(&cpu->meter.bank);
            UPMU_STORE(cpu->meter.pmu, NULL);
        }
        leave_domain(&cpu->meter);
    }
    port_irq_restore(port, state);
    if (UPMU_WHY_TEXT && cpu->meter.ignores_writes)
        memcpy(machine->why.word, "it ignores writes", sizeof "it ignores writes");
    machine->why.status = status;
    machine->why.pmu = cpu->meter.pmu;
    machine->why.address = cpu->meter.bank.faulted;
    if (status == UPMU_OK)
        (void)upmu_units_come(cpu);
    return status;
}

#if UPMU_CLEAR

/* Clear the registers of a CPU that is not initialised.  A bank is made for this call alone. */
static enum upmu_status clear_without_init(struct upmu_cpu *cpu, struct upmu_machine *machine,
                                       struct upmu_domain *const *domains)
{
    struct upmu_meter *meter = &cpu->meter;
    enum upmu_status status = begin_cpu(cpu, machine, domains);

    if (status == UPMU_OK) {
        if (!upmu_shared_page_map(&meter->bank) || !upmu_bank_clear(&meter->bank, !upmu_claims_others(meter)))
            status = UPMU_ERR_PORT;
        if (!upmu_shared_page_unmap(&meter->bank))
            status = UPMU_ERR_PORT;
    }
    if (meter->pmu)
        leave_domain(meter);
    UPMU_STORE(meter->pmu, NULL);
    return status;
}

enum upmu_status upmu_cpu_clear(struct upmu_cpu *cpu, struct upmu_machine *machine, struct upmu_domain *const *domains)
{
    enum upmu_status status;
    uintptr_t irq;

    upmu_why_clear(&machine->why);
    if (cpu->meter.pmu) {
        status = upmu_bracket_run(&cpu->meter, upmu_life_clear, NULL);
    } else {
        status = owes_memory(cpu, machine) ? end_again(cpu, machine->port) : UPMU_OK;
        irq = port_irq_save(machine->port);
        if (status == UPMU_OK)
            status = clear_without_init(cpu, machine, domains);
        port_irq_restore(machine->port, irq);
    }
    machine->why.status = status;
    machine->why.pmu = cpu->meter.pmu;
    machine->why.address = status == UPMU_ERR_PORT ? cpu->meter.bank.faulted : 0;
    return status;
}

#else

enum upmu_status upmu_cpu_clear(struct upmu_cpu *cpu, struct upmu_machine *machine, struct upmu_domain *const *domains)
{
    (void)cpu;
    (void)machine;
    (void)domains;
    return UPMU_ERR_COMPILED_OUT;
}

#endif

#if UPMU_SUSPEND

enum upmu_status upmu_cpu_suspend(struct upmu_cpu *cpu)
{
    enum upmu_status left, status;

    if (!cpu->meter.live)
        return UPMU_OK;
    left = upmu_units_go(cpu);
    status = left == UPMU_ERR_BUSY ? left : upmu_bracket_run(&cpu->meter, upmu_life_suspend, NULL);
    return status == UPMU_OK ? left : status;
}

enum upmu_status upmu_cpu_resume(struct upmu_cpu *cpu)
{
    enum upmu_status status, come;

    if (!cpu->meter.pmu)
        return UPMU_ERR_NO_PMU;
    /* A take-over while `live` would find counters of upmu's own sessions in use, and take them for the firmware's. */
    if (cpu->meter.live)
        return UPMU_OK;
    status = upmu_bracket_run(&cpu->meter, upmu_life_resume, NULL);
    come = cpu->meter.live ? upmu_units_come(cpu) : UPMU_OK;
    return status == UPMU_OK ? come : status;
}

#else

enum upmu_status upmu_cpu_suspend(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_cpu_resume(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

#endif

/*
 * Run `own` on the CPU's own PMU, then `unit` on each unit that the CPU drives; not on the units if the CPU's bracket
 * could not be entered.  Returns the status of `own`, or if that is UPMU_OK the first other status of a unit.
 */
static UPMU_APART enum upmu_status on_all(struct upmu_cpu *cpu, upmu_bracket_work *own, upmu_bracket_work *unit)
{
    enum upmu_status status = upmu_bracket_run(&cpu->meter, own, NULL), units = UPMU_OK;
    const struct upmu_meter *meter;

    if (status != UPMU_ERR_WRONG_CPU && status != UPMU_ERR_BUSY)
        units = upmu_units_each(cpu, unit, &meter);
    return status == UPMU_OK ? units : status;
}

#if UPMU_SUSPEND

enum upmu_status upmu_cpu_changed(struct upmu_cpu *cpu)
{
    return cpu->meter.live ? on_all(cpu, upmu_life_start_over, upmu_unit_start_over) : UPMU_ERR_NO_PMU;
}

#else

enum upmu_status upmu_cpu_changed(struct upmu_cpu *cpu)
{
    (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

#endif

static enum upmu_status leave_cpu(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = UPMU_OK;

    (void)unused;
    while (meter->sessions)
        if ((UPMU_THREADS && meter->sessions->thread ? upmu_thread_put(meter, meter->sessions)
                                                   : upmu_session_leave(meter, meter->sessions, false)) != UPMU_OK)
            status = UPMU_ERR_PORT;
    upmu_thread_leave_cpu(meter->cpu);
    if (!upmu_features_stop(meter->cpu))
        status = UPMU_ERR_PORT;
    upmu_life_end(meter);
    if (!upmu_claims_restore(meter) || !upmu_shared_page_unmap(&meter->bank))
        status = UPMU_ERR_PORT;
    leave_domain(meter);
    upmu_units_unlink(meter->machine, meter->cpu);
    if (meter->machine->only_cpu == meter->cpu)
        meter->machine->only_cpu = NULL;
    upmu_features_end(meter->cpu);
    /* The PMU is given back: a second upmu_cpu_fini() finds no PMU, and at most takes memory for records back. */
    UPMU_STORE(meter->pmu, NULL);
    meter->work = NULL;
    return status;
}

enum upmu_status upmu_cpu_fini(struct upmu_cpu *cpu)
{
    enum upmu_status status, left = UPMU_OK;

    if (!cpu->meter.pmu)
        return upmu_features_owe(cpu) ? end_again(cpu, cpu->meter.machine->port) : UPMU_OK;
    left = upmu_units_go(cpu);
    status = left == UPMU_ERR_BUSY ? left : upmu_bracket_run(&cpu->meter, leave_cpu, NULL);
    return status == UPMU_OK ? left : status;
}

static enum upmu_status use_work(struct upmu_meter *meter, void *work)
{
    meter->work = work;
    upmu_units_use_work(meter->cpu);
    return UPMU_OK;
}

enum upmu_status upmu_cpu_use_work(struct upmu_cpu *cpu, struct upmu_place_work *work)
{
    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, use_work, work) : UPMU_ERR_NO_PMU;
}

static enum upmu_status tick_meter(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = UPMU_OK;

    (void)unused;
    if (!(++meter->ticks & 15u))
        status = upmu_interrupt_poll(meter);
    upmu_features_tick(meter);
    upmu_waiting_tick(meter);
    return status;
}

enum upmu_status upmu_cpu_tick(struct upmu_cpu *cpu)
{
    return cpu->meter.live ? on_all(cpu, tick_meter, upmu_unit_tick) : UPMU_OK;
}

static enum upmu_status poll_meter(struct upmu_meter *meter, void *unused)
{
    (void)unused;
    upmu_features_tick(meter);
    return upmu_interrupt_poll(meter);
}

enum upmu_status upmu_cpu_poll(struct upmu_cpu *cpu)
{
    return cpu->meter.live ? on_all(cpu, poll_meter, upmu_unit_fold) : UPMU_OK;
}

enum upmu_status upmu_cpu_verify(struct upmu_cpu *cpu, struct upmu_why *why)
{
    const struct upmu_port *port = cpu->meter.live ? cpu->meter.machine->port : NULL;
    const struct upmu_meter *meter = &cpu->meter;
    enum upmu_status status = UPMU_OK;
    uintptr_t irq = 0;

    if (port) { /* interrupts are off, so that no other CPU closes a unit before `why` has its address */
        irq = port_irq_save(port);
        status = upmu_bracket_run(&cpu->meter, upmu_life_verify, NULL);
        if (status == UPMU_OK)
            status = upmu_units_each(cpu, upmu_life_verify, &meter);
    }
    (void)upmu_why_refuse(why, status, meter->pmu, NULL, 0, 0);
    if (why && (status == UPMU_ERR_PORT || status == UPMU_ERR_CHANGED))
        why->address = meter->bank.faulted;
    if (port)
        port_irq_restore(port, irq);
    return status;
}
