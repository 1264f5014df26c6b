/* SPDX-License-Identifier: MIT */
/*
 * A host for tests: a machine of the silicon model with two CPUs and two sessions,
 * which remembers what its interrupt handler was answered.
 */
#ifndef UPMU_TESTS_COMMON_HOST_H
#define UPMU_TESTS_COMMON_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "port/sim/sim.h"
#include <upmu/upmu.h>

#define HOST_ANSWERS 32

struct host {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_cpu cpu[2];
    struct upmu_session session, other;
    uint64_t ring[2048];
    enum upmu_pmi answer[HOST_ANSWERS];
    bool was_foreign[HOST_ANSWERS];
    unsigned answers; /* all of them, remembered or not */
    bool no_frame;    /* the host's entry knows nothing of what it interrupted */
    uint32_t process, thread; /* what it says that it interrupted */
};

static inline void host_deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct host *host = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip,
                               .sp = interrupt->sp,
                               .user = interrupt->user,
                               .process = host->process,
                               .thread = host->thread};
    enum upmu_pmi answer = upmu_handle_pmi(&host->cpu[cpu], host->no_frame ? NULL : &frame);

    if (host->answers < HOST_ANSWERS) {
        host->answer[host->answers] = answer;
        host->was_foreign[host->answers] = interrupt->foreign;
    }
    host->answers++;
}

/* The model only: hooks can still be changed, registers poked. */
static inline void host_prepare(struct host *host, const char *profile)
{
    memset(host, 0, sizeof *host);
    upmu_sim_init(&host->sim, upmu_sim_profile(profile), 2);
    host->sim.test = host;
    host->sim.deliver = host_deliver;
    upmu_sim_bind_cpu(&host->sim, 0, &host->cpu[0]);
    upmu_sim_bind_cpu(&host->sim, 1, &host->cpu[1]);
}

/* Machine and sessions; no CPU yet. */
static inline void host_machine(struct host *host)
{
    assert_int_equal(upmu_machine_init(&host->machine, upmu_sim_port(&host->sim)), UPMU_OK);
    assert_int_equal(upmu_session_init(&host->session, &host->machine), UPMU_OK);
    assert_int_equal(upmu_session_init(&host->other, &host->machine), UPMU_OK);
}

static inline void host_start(struct host *host)
{
    host_machine(host);
    assert_int_equal(upmu_cpu_init(&host->cpu[0], &host->machine, NULL), UPMU_OK);
}

static inline void host_set_up(struct host *host, const char *profile)
{
    host_prepare(host, profile);
    host_start(host);
}

/* Kernel work: so many instructions, twice the cycles, half the branches. */
static inline void host_run(struct host *host, uint64_t instructions)
{
    upmu_sim_events(&host->sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                         .cycles = 2 * instructions,
                                                         .branches = instructions / 2,
                                                         .ip = 0x1000,
                                                         .ip_step = 1,
                                                         .sp = 0x8000});
}

static inline uint64_t host_value(struct upmu_session *session, unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_session_read(session, i, 1, &count), UPMU_OK);
    return count.raw;
}

/* Attach to CPU 0 and start. */
static inline void host_begin(struct host *host, struct upmu_session *session)
{
    assert_int_equal(upmu_session_attach_cpu(session, &host->cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
}

/* The host's session samples a list at one period, into the host's ring, and runs. */
static inline void host_sample(struct host *host, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_session_add(&host->session, list, &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host->session, host->ring, sizeof host->ring), UPMU_OK);
    host_begin(host, &host->session);
}

/* Samples in the ring; the last one in *out_last (may be NULL). */
static inline unsigned host_drain(struct host *host, struct upmu_sample *out_last)
{
    struct upmu_sample sample;
    unsigned samples = 0;

    while (upmu_ring_next(&host->session.ring, &sample)) {
        if (out_last)
            *out_last = sample;
        samples++;
    }
    return samples;
}

static inline void host_no_violation(const struct host *host)
{
    if (host->sim.violation_count)
        fail_msg("%s (register %x)", host->sim.first_violation.text, (unsigned)host->sim.first_violation.address);
}

/* Give everything back. */
static inline void host_end(struct host *host)
{
    assert_int_equal(upmu_cpu_fini(&host->cpu[0]), UPMU_OK);
    host_no_violation(host);
}

#endif
