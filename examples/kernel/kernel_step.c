/* SPDX-License-Identifier: MIT */
/*
 * A PMU for machines that have none: ring 3 is single-stepped, and each instruction is one instruction and two cycles
 * of the silicon model.
 */
#include <examples/kernel/kernel.h>
#include <models/sim/sim.h>
#include <upmu/cpu.h>

#define INSTRUCTION_NS 2000u /* so long that no event overflows too often */

static const struct kernel_steps *each;
static struct kernel_registers before; /* at the begin of the instruction that is stepped */
static struct upmu_sim sim;
static struct upmu_machine sim_machine;
static struct upmu_cpu sim_cpu;
static struct upmu_port sim_port;

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);

static void step(const struct kernel_registers *now)
{
    struct upmu_sim_burst burst = {
        .instructions = 1, .cycles = 2, .ref_cycles = 2, .user = true, .ip = before.ip, .sp = now->sp};

    if (before.ip == 0) /* of a program that is stepped from a system call on */
        burst.ip = now->ip;
    burst.ip_step = now->ip - burst.ip;
    if (each->add != NULL)
        each->add(&burst, &before);
    upmu_sim_advance_ns(&sim, INSTRUCTION_NS);
    upmu_sim_events(&sim, &burst);
    before = *now;
}

static void deliver(struct upmu_sim *of, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip,
                                     .sp = interrupt->sp,
                                     .user = interrupt->user,
                                     .process = kernel_process,
                                     .thread = kernel_process};

    (void)of, (void)cpu;
    kernel_traps.vectors++;
    (void)upmu_pmi_handle(&sim_cpu, &frame);
}

/* Where the model stores records: memory is mapped where it is. */
static bool access_memory(struct upmu_sim *of, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                          uint8_t *bytes, uint32_t length)
{
    uint8_t *at = (uint8_t *)(uintptr_t)address;

    (void)of, (void)cpu;
    if (address == 0 || address > UINT32_MAX)
        return false;
    if (kind & UPMU_SIM_MEMORY_WRITE)
        memcpy(at, bytes, length);
    else
        memcpy(bytes, at, length);
    return true;
}

enum upmu_status kernel_step_begin(const struct kernel_steps *steps, kernel_use *use)
{
    const struct upmu_sim_profile *profile = upmu_sim_profile(steps->model);
    enum upmu_status status;

    if (profile == NULL)
        return UPMU_ERR_INVALID;
    each = steps;
    before = (struct kernel_registers){.ip = (uintptr_t)steps->entry};
    upmu_sim_init(&sim, profile, 1);
    sim.deliver = deliver;
    sim.memory = access_memory;
    upmu_sim_bind_cpu(&sim, 0, &sim_cpu);
    sim_port = *upmu_sim_port(&sim);
    if (steps->without_interrupt)
        sim_port.pmi_rearm = NULL;
    status = upmu_machine_init(&sim_machine, &sim_port);
    if (status == UPMU_OK)
        status = upmu_cpu_init(&sim_cpu, &sim_machine, NULL);
    if (status != UPMU_OK)
        return status;
    use(&sim_machine, &sim_cpu, &sim_port);
    kernel_user_flags = steps->entry != NULL ? KERNEL_FLAGS_TF : 0;
    kernel_stepper = step;
    return UPMU_OK;
}

void kernel_step_end(const struct shell *shell, const char *command)
{
    kernel_stepper = NULL;
    kernel_user_flags = 0;
    if (sim_cpu.meter.pmu != NULL)
        (void)!upmu_cpu_fini(&sim_cpu);
    kernel_line_number(shell, command, "violations", sim.violation_count);
}
