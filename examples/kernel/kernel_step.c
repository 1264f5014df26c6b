/* SPDX-License-Identifier: MIT */
/*
 * A PMU for machines that have none: ring 3 is single-stepped from its first system call on, and each instruction is
 * one instruction and two cycles of the silicon model.
 */
#include <examples/kernel/kernel.h>
#include <models/sim/sim.h>
#include <upmu/cpu.h>

#define INSTRUCTION_NS 2000u /* so long that no event overflows too often */

static struct upmu_sim sim;
static struct upmu_machine sim_machine;
static struct upmu_cpu sim_cpu;

static void step(uintptr_t ip, uintptr_t sp)
{
    upmu_sim_advance_ns(&sim, INSTRUCTION_NS);
    upmu_sim_events(&sim, &(struct upmu_sim_burst){
                              .instructions = 1, .cycles = 2, .ref_cycles = 2, .user = true, .ip = ip, .sp = sp});
}

static void deliver(struct upmu_sim *of, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    (void)of, (void)cpu;
    (void)upmu_pmi_handle(&sim_cpu, &frame);
}

enum upmu_status kernel_step_begin(void (*use)(struct upmu_machine *, struct upmu_cpu *, const struct upmu_port *))
{
    enum upmu_status status;

    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    sim.deliver = deliver;
    upmu_sim_bind_cpu(&sim, 0, &sim_cpu);
    status = upmu_machine_init(&sim_machine, upmu_sim_port(&sim));
    if (status == UPMU_OK)
        status = upmu_cpu_init(&sim_cpu, &sim_machine, NULL);
    if (status != UPMU_OK)
        return status;
    use(&sim_machine, &sim_cpu, upmu_sim_port(&sim));
    kernel_stepper = step;
    return UPMU_OK;
}

void kernel_step_end(void)
{
    kernel_stepper = NULL;
    if (sim_cpu.meter.pmu != NULL)
        (void)!upmu_cpu_fini(&sim_cpu);
}
