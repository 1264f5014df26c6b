/* SPDX-License-Identifier: MIT */
/*
 * A guest on a host on the silicon model, in one process: the host's instance of the library, the
 * guest engine, and a port through which a second, unmodified instance of the library sees the
 * virtual PMU.  Each access of that port is an exit and an entry.
 */
#ifndef UPMU_TESTS_GUEST_NEST_H
#define UPMU_TESTS_GUEST_NEST_H

#include <abi/guest/guest.h>
#include "tests/common/host.h"

#define NEST_SESSIONS 12

struct nest {
    struct host host;
    struct upmu_sim face; /* whose CPUID the guest sees but for the PMU */
    struct upmu_guest_shape shape;
    struct upmu_guest_policy policy;
    struct upmu_guest vcpu;
    struct upmu_session sessions[NEST_SESSIONS];
    /* The guest. */
    struct upmu_port port;
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    enum upmu_status (*enter)(struct nest *nest, struct upmu_guest_entry *entry); /* upmu_guest_enter() */
    void (*handler)(struct nest *nest, const struct upmu_frame *frame); /* its NMI handler */
    struct upmu_frame frame;                                            /* what it interrupts */
    bool inside;                                                        /* the guest runs */
    bool in_nmi;
    bool pending;      /* an NMI that came inside one */
    bool safe;         /* accesses to registers that are not the engine's fault; else they read 0 */
    bool traps_count;  /* an instruction that traps counts as the guest's; else a test's figures have bursts alone */
    uint64_t debugctl; /* the hypervisor's bits */
    unsigned exits, injected, handled, stale, faults, refused;
};

/* The host with its CPU 0, no guest yet; `face` NULL: the guest's CPU is the host's. */
void nest_prepare(struct nest *nest, const char *profile, const char *face);

/* The default shape of a door for nest->policy. */
void nest_shape(struct nest *nest, enum upmu_guest_door door);

/* The vCPU of nest->shape and nest->policy, on a thread of the host's. */
void nest_begin(struct nest *nest);

/* All of it, with the default shape of a door and level ALL, and a face that has this door. */
void nest_set_up(struct nest *nest, const char *profile, enum upmu_guest_door door);

/* The guest's own instance: nest->machine, nest->cpu. */
void nest_library(struct nest *nest);

void nest_enter(struct nest *nest);
void nest_exit(struct nest *nest);

/* Run this in the guest, which is entered if it is not; and in the host. */
void nest_run(struct nest *nest, const struct upmu_sim_burst *burst);
void nest_run_host(struct nest *nest, const struct upmu_sim_burst *burst);

/* The guest writes the performance-counter entry of its local APIC. */
void nest_lvtpc(struct nest *nest, uint32_t value);

/* Registers of the guest; a fault fails the test. */
uint64_t nest_read(struct nest *nest, uint32_t msr);
void nest_write(struct nest *nest, uint32_t msr, uint64_t value);

/* End the vCPU, then the host; no counter runs, no rule of the model was broken. */
void nest_end(struct nest *nest);

#endif
