/* SPDX-License-Identifier: MIT */
/*
 * Count: a session on one CPU, with an event of the model and one of the kernel alone.
 *
 *     L=build/gcc-64 && make $L/libupmu.a $L/libsim.a
 *     cc -Iinclude -I. -no-pie -o count examples/count.c $L/libsim.a $L/libupmu.a && ./count
 *
 * Here the CPU is the silicon model's Skylake.  In a kernel, its port takes the model's place.
 */
#include <stdio.h>
#include <models/sim/sim.h>
#include <upmu/upmu.h>

#define EVENTS 3

static struct upmu_sim sim; /* stands for the CPU */
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static const char *const names[] = {"instructions", "instructions:k", "BR_MISP_RETIRED.ALL_BRANCHES"};

/* The model is told what a program and the kernel did. */
static void work(void)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 70000, .cycles = 90000, .user = true});
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 5000, .cycles = 9000, .branches = 900,
                                                    .mispredicts = 12});
}

static enum upmu_status measure(struct upmu_count counts[EVENTS])
{
    enum upmu_status status;

    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    if ((status = upmu_machine_init(&machine, upmu_sim_port(&sim))) != UPMU_OK ||
        (status = upmu_cpu_init(&cpu, &machine, NULL)) != UPMU_OK ||
        (status = upmu_session_init(&session, &machine)) != UPMU_OK)
        return status;
    for (unsigned i = 0; i < EVENTS && status == UPMU_OK; i++)
        status = upmu_set_add(&session.set, names[i], NULL);
    if (status != UPMU_OK || (status = upmu_session_attach_cpu(&session, &cpu)) != UPMU_OK ||
        (status = upmu_session_start(&session)) != UPMU_OK)
        return status;
    work();
    if ((status = upmu_session_stop(&session)) == UPMU_OK)
        status = upmu_set_read(&session.set, 0, EVENTS, counts);
    return status != UPMU_OK ? status : upmu_session_close(&session);
}

int main(void)
{
    struct upmu_count counts[EVENTS];
    enum upmu_status status = measure(counts);

    for (unsigned i = 0; i < EVENTS && status == UPMU_OK; i++)
        printf("%8llu %s\n", (unsigned long long)counts[i].value, names[i]);
    printf("%s\n", upmu_status_text(status)); /* upmu_why_text() of machine.why or session.why says more */
    return status != UPMU_OK;
}
