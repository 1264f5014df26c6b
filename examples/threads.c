/* SPDX-License-Identifier: MIT */
/*
 * Threads: a session that follows one of two threads through a scheduler.
 *
 *     L=build/gcc-64 && make $L/libupmu.a $L/libsim.a
 *     cc -Iinclude -I. -no-pie -o threads examples/threads.c $L/libsim.a $L/libupmu.a && ./threads
 *
 * Here the CPU is the silicon model's Skylake.  In a kernel, its port takes the model's place.
 */
#include <stdio.h>
#include <models/sim/sim.h>
#include <upmu/upmu.h>

static struct upmu_sim sim; /* stands for the CPU */
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_thread idle, worker, other; /* the host has one in each of its threads */
static struct upmu_session session;

/* A switch, and the work of the next thread, of which the model is told. */
static void run(struct upmu_thread *from, struct upmu_thread *to, unsigned instructions)
{
    upmu_sim_irqs(&sim, false);
    (void)upmu_thread_switch(&cpu, from, to); /* an error of a session is in the session */
    upmu_sim_irqs(&sim, true);
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = instructions, .cycles = 9000, .user = true});
}

static enum upmu_status measure(struct upmu_count *count)
{
    enum upmu_status status;

    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    upmu_thread_init(&idle, 1, 0, NULL);
    upmu_thread_init(&worker, 1, 1, NULL);
    upmu_thread_init(&other, 1, 2, NULL);
    if ((status = upmu_machine_init(&machine, upmu_sim_port(&sim))) != UPMU_OK ||
        (status = upmu_cpu_init(&cpu, &machine, NULL)) != UPMU_OK ||
        (status = upmu_session_init(&session, &machine)) != UPMU_OK ||
        (status = upmu_set_add(&session.set, "instructions:u", NULL)) != UPMU_OK ||
        (status = upmu_session_attach_thread(&session, &worker, NULL)) != UPMU_OK ||
        (status = upmu_session_start(&session)) != UPMU_OK)
        return status;
    run(&idle, &worker, 1000);
    run(&worker, &other, 500000);
    run(&other, &worker, 200);
    run(&worker, &idle, 30);
    status = upmu_set_read(&session.set, 0, 1, count); /* its thread does not run: from any CPU */
    return status != UPMU_OK ? status : upmu_session_close(&session);
}

int main(void)
{
    struct upmu_count count;
    enum upmu_status status = measure(&count);

    printf("%llu %s\n", (unsigned long long)(status == UPMU_OK ? count.value : 0), upmu_status_text(status));
    return status != UPMU_OK;
}
