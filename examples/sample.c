/* SPDX-License-Identifier: MIT */
/*
 * Sample: every 1,000th instruction leaves its address in a ring, by an interrupt.
 *
 *     L=build/gcc-64 && make $L/libupmu.a $L/libsim.a
 *     cc -Iinclude -I. -no-pie -o sample examples/sample.c $L/libsim.a $L/libupmu.a && ./sample
 *
 * Here the CPU is the silicon model's Skylake.  In a kernel, its port and its NMI entry take the model's place.
 */
#include <stdio.h>
#include <models/sim/sim.h>
#include <upmu/upmu.h>

static struct upmu_sim sim; /* stands for the CPU */
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static uint64_t ring[1024];

/* The NMI entry. */
static void entry(struct upmu_sim *model, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    (void)model, (void)number;
    (void)upmu_pmi_handle(&cpu, &frame);
}

static enum upmu_status measure(void)
{
    const struct upmu_sampling every = {.period = 1000};
    enum upmu_status status;

    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    sim.deliver = entry;
    if ((status = upmu_machine_init(&machine, upmu_sim_port(&sim))) != UPMU_OK ||
        (status = upmu_cpu_init(&cpu, &machine, NULL)) != UPMU_OK ||
        (status = upmu_session_init(&session, &machine)) != UPMU_OK ||
        (status = upmu_set_add(&session.set, "instructions", &every)) != UPMU_OK ||
        (status = upmu_session_ring(&session, ring, sizeof ring)) != UPMU_OK ||
        (status = upmu_session_attach_cpu(&session, &cpu)) != UPMU_OK ||
        (status = upmu_session_start(&session)) != UPMU_OK)
        return status;
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 5500, .cycles = 9000, .ip = 0x400000, .ip_step = 4});
    return upmu_session_stop(&session);
}

int main(void)
{
    enum upmu_status status = measure(), closed;
    struct upmu_sample sample;

    while (status == UPMU_OK && upmu_ring_next(&session.ring, &sample))
        printf("%#llx\n", (unsigned long long)sample.ip);
    closed = upmu_session_close(&session); /* the ring is read, or nothing began */
    status = status != UPMU_OK ? status : closed;
    printf("%s\n", upmu_status_text(status));
    return status != UPMU_OK;
}
