/* SPDX-License-Identifier: MIT */
/*
 * The host of fuzzed guests: a CPU of the model, and a session of the host's own that counts instructions.  In the end
 * it has counted what the host executed, the model saw nothing forbidden, and every register is as it was found.
 */
#ifndef UPMU_TESTS_FUZZ_GUEST_HOST_H
#define UPMU_TESTS_FUZZ_GUEST_HOST_H

#include <string.h>

#include "models/sim/sim.h"
#include "tests/fuzz/fuzz.h"
#include <upmu/cpu.h>
#include <upmu/upmu.h>
#include <upmu/world.h>

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_thread idle;
static struct upmu_session session;
static uint64_t executed; /* by the host, while its session ran */
static uint64_t found[8];

static const uint32_t *registers_kept(void)
{
    static const uint32_t intel[] = {0x186, 0x187, 0x188, 0x189, 0x38d, 0x38f, 0x1d9, 0};
    static const uint32_t amd[] = {0xc0010000, 0xc0010001, 0xc0010002, 0xc0010003, 0xc0000301, 0};

    return sim.profile->amd ? amd : intel;
}

static void deliver(struct upmu_sim *from, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    (void)from;
    (void)number;
    (void)interrupt;
    (void)upmu_pmi_handle(&cpu, NULL);
}

static void host_begin(const char *profile)
{
    const uint32_t *address;

    upmu_sim_init(&sim, upmu_sim_profile(profile), 1);
    sim.deliver = deliver;
    memset(&cpu, 0, sizeof cpu);
    address = registers_kept();
    for (unsigned i = 0; address[i]; i++)
        found[i] = upmu_sim_peek(&sim, 0, address[i]);
    FUZZ_CHECK(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine");
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    FUZZ_CHECK(upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK, "CPU");
    upmu_thread_init(&idle, 0, 0, NULL);
    executed = 0;
}

/* With its guests made: its session counts from now on. */
static void host_start(void)
{
    FUZZ_CHECK(upmu_session_init(&session, &machine) == UPMU_OK &&
                   upmu_set_add(&session.set, "instructions", NULL) == UPMU_OK &&
                   upmu_session_world(&session, UPMU_WORLD_HOST) == UPMU_OK &&
                   upmu_session_attach_cpu(&session, &cpu) == UPMU_OK && upmu_session_start(&session) == UPMU_OK,
               "session");
}

/* What a burst of the host's or of a guest's has. */
static void host_events(unsigned instructions, bool user)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                   .cycles = 2u * instructions,
                                                   .ref_cycles = instructions,
                                                   .branches = instructions / 4u,
                                                   .user = user});
}

/* No guest is on the CPU. */
static void host_check_count(void)
{
    struct upmu_count count;

    FUZZ_CHECK(upmu_set_read(&session.set, 0, 1, &count) == UPMU_OK && count.value == executed,
               "%s: the host executed %llu, its session says %llu", sim.profile->name, (unsigned long long)executed,
               (unsigned long long)count.value);
}

/* Its guests have ended. */
static void host_end(void)
{
    const uint32_t *address = registers_kept();

    FUZZ_CHECK(upmu_session_close(&session) == UPMU_OK && upmu_cpu_fini(&cpu) == UPMU_OK, "end");
    FUZZ_CHECK(!sim.violation_count, "%s: %s (register %x)", sim.profile->name, sim.violation,
               (unsigned)sim.first_violation.address);
    for (unsigned i = 0; address[i]; i++)
        FUZZ_CHECK(upmu_sim_peek(&sim, 0, address[i]) == found[i], "%s: register %x is left changed",
                   sim.profile->name, (unsigned)address[i]);
}

#endif
