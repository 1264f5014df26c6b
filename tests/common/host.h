/* SPDX-License-Identifier: MIT */
/*
 * The host of the tests: a machine of the silicon model with its CPUs, sessions, threads and rings, which remembers
 * what its interrupt handler was answered and what that cost.
 *
 * host_set_up() makes what most tests need: a machine and CPU 0.  Others go step by step: host_prepare(), hooks changed
 * in host->sim.port, host_machine(), host_take_over(), host_threads().
 */
#ifndef UPMU_TESTS_COMMON_HOST_H
#define UPMU_TESTS_COMMON_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "models/sim/sim.h"
#include <upmu/cpu.h>
#include <upmu/upmu.h>

#define HOST_ANSWERS 32
#define HOST_SESSIONS 8
#define HOST_THREADS 6
#define HOST_SETS 10

/* Register accesses. */
struct host_cost {
    unsigned writes, reads, rdpmcs, rearms;
};

struct host {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_domain domain[UPMU_SIM_CPUS / 2];
    struct upmu_domain *domains[UPMU_SIM_CPUS / 2][2];
    struct upmu_cpu cpu[UPMU_SIM_CPUS];
    union {
        struct {
            struct upmu_session session, other;
        };
        struct upmu_session sessions[HOST_SESSIONS]; /* the same, by number */
    };
    struct upmu_set sets[HOST_SETS];
    struct upmu_thread threads[HOST_THREADS];
    unsigned running[UPMU_SIM_CPUS]; /* threads */
    union {
        uint64_t ring[HOST_SESSIONS * 512];
        uint64_t rings[HOST_SESSIONS][512];
    };
    enum upmu_pmi answer[HOST_ANSWERS];
    bool was_foreign[HOST_ANSWERS];
    unsigned answers;         /* all of them, remembered or not */
    unsigned answered[3];     /* by enum upmu_pmi */
    struct host_cost handler; /* of the last interrupt, as the library says */
    unsigned ticks_asked;     /* if host_ask_tick() is the hook */
    bool no_frame;            /* the host's entry knows nothing of what it interrupted */
    uint32_t process, thread; /* what it says that it interrupted */
    uint64_t fp;
    const uint64_t *registers; /* of the frame */
    uint64_t register_mask;
};

/* What stands between the machine and the model: `open` changes the hooks of the model's port.  Mostly nothing. */
struct host_between {
    void (*open)(struct host *host);
    void (*close)(struct host *host);
};

extern const struct host_between *host_between;

/* The model only, with two CPUs or more: hooks can still be changed, registers poked. */
void host_prepare(struct host *host, const char *profile);
void host_prepare_cpus(struct host *host, const char *profile, unsigned cpus);
void host_deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt);
void host_ask_tick(void *context);

/* Machine and sessions; no CPU yet. */
void host_machine(struct host *host);
/* CPUs 0 to n - 1 are taken over; with cores, 2n and 2n + 1 are threads of one.  CPU 0 executes. */
void host_take_over(struct host *host, unsigned n, bool cores);
void host_take_over_one(struct host *host, unsigned cpu, bool cores);
/* Threads 0 to n - 1 with the ids 100 and 200 on; the last ones are what the CPUs that were taken over run. */
void host_threads(struct host *host, unsigned n);

/* Machine and CPU 0; machine and two CPUs. */
void host_start(struct host *host);
void host_set_up(struct host *host, const char *profile);
void host_set_up_two(struct host *host, const char *profile);

/* Kernel work: so many instructions, twice the cycles, half the branches. */
void host_run(struct host *host, uint64_t instructions);
/* On this CPU: a fifth branches, a tenth references of the last cache, a hundredth misses, and so on. */
void host_work(struct host *host, unsigned cpu, uint64_t instructions);
void host_thread_switch(struct host *host, unsigned cpu, unsigned next);

/* The count of an event, as the counter has it and without what was there before. */
struct upmu_count host_count(struct upmu_session *session, unsigned i);
uint64_t host_value(struct upmu_session *session, unsigned i);

/* Session i: events, and if there is a period sampled into its ring; attached to a CPU, which executes from then on. */
void host_add(struct host *host, unsigned i, const char *list, uint64_t period);
void host_attach(struct host *host, unsigned i, unsigned cpu);
/* Session i counts a list on a CPU, shares, and is started. */
void host_share(struct host *host, unsigned i, unsigned cpu, const char *list);
/* Attach to CPU 0 and start. */
void host_begin(struct host *host, struct upmu_session *session);
/* The host's session samples a list at one period, into the host's ring, and runs. */
void host_sample(struct host *host, const char *list, uint64_t period);
/* Samples in the ring; the last one in *out_last (may be NULL). */
unsigned host_drain(struct host *host, struct upmu_sample *out_last);

/* What the model saw since host_forget_cost(), then that again. */
void host_forget_cost(struct host *host);
void host_costs(struct host *host, const char *what, unsigned writes, unsigned reads);

void host_no_violation(const struct host *host);
/* Give everything back; then no counter runs. */
void host_end(struct host *host);
void host_end_idle(struct host *host);

#endif
