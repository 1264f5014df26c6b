/* SPDX-License-Identifier: MIT */
/*
 * Memory bandwidth: the bytes that all dies of a machine read and write during a piece of work (docs/uncore.md).
 *
 *     L=build/gcc-64 && make $L/libupmu.a $L/libsim.a
 *     cc -Iinclude -I. -no-pie -o bandwidth examples/bandwidth.c $L/libsim.a $L/libupmu.a && ./bandwidth
 *
 * Here the machine is the silicon model's Skylake-SP with two packages.  In a kernel, its port takes the model's place.
 */
#include <stdio.h>
#include <models/sim/sim_uncore.h>
#include <upmu/upmu.h>

#define DIES 2
#define BOXES 512 /* one package of Ice Lake-SP has more than 80 */
#define TYPES 32
#define LINE 64 /* bytes for each count */

static struct upmu_sim sim; /* stands for the processors */
static struct upmu_sim_uncore outside;
static struct upmu_machine machine;
static struct upmu_cpu cpus[UPMU_SIM_CPUS];

static struct upmu_unit_info boxes[BOXES];
static struct upmu_uncore_pmu types[TYPES];
static struct upmu_unit_list units = {.unit = boxes, .unit_capacity = BOXES, .pmu = types, .pmu_capacity = TYPES};
static struct upmu_uncore_region memory[DIES];

/* The model is told what each die read and wrote, in lines. */
static void work(void)
{
    upmu_sim_traffic(&outside, 0, &(struct upmu_sim_load){.reads = 3000000, .writes = 1000000});
    upmu_sim_traffic(&outside, 1, &(struct upmu_sim_load){.reads = 500000, .writes = 250000});
}

/* As the host boots. */
static enum upmu_status boot(void)
{
    enum upmu_status status;

    upmu_sim_uncore_init(&outside, &sim, upmu_sim_machine("skx2"));
    status = upmu_machine_init(&machine, upmu_sim_port(&sim));
    for (unsigned i = 0; i < sim.cpus && status == UPMU_OK; i++) {
        upmu_sim_switch_cpu(&sim, i);
        upmu_sim_bind_cpu(&sim, i, &cpus[i]);
        status = upmu_cpu_init(&cpus[i], &machine, NULL);
    }
    return status;
}

static enum upmu_status measure(struct upmu_cpu *cpu, struct upmu_count lines[2])
{
    enum upmu_status status, closed;

    if ((status = upmu_units_find(cpu, &units, 0)) != UPMU_OK ||
        (status = upmu_uncore_region_open(memory, DIES, &machine, "imc/CAS_COUNT.RD,imc/CAS_COUNT.WR")) != UPMU_OK)
        return status;
    if ((status = upmu_uncore_region_begin(memory, DIES)) == UPMU_OK) {
        work();
        status = upmu_uncore_region_end(memory, DIES, lines, 2);
    }
    closed = upmu_uncore_region_close(memory, DIES);
    return status != UPMU_OK ? status : closed;
}

int main(void)
{
    struct upmu_count lines[2];
    char why[200];

    if (boot() == UPMU_OK && measure(&cpus[sim.cpus - 1], lines) == UPMU_OK) {
        printf("read %llu bytes\n", (unsigned long long)lines[0].value * LINE);
        printf("written %llu bytes\n", (unsigned long long)lines[1].value * LINE);
        return 0;
    }
    /* The first region says why an event was refused, all else the machine. */
    upmu_why_text(machine.why.status ? &machine.why : &memory[0].region.session.why, why, sizeof why);
    printf("%s\n", why);
    return 1;
}
