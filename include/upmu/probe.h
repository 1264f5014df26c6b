/* SPDX-License-Identifier: MIT */
/*
 * Grading a PMU: does it count, does it interrupt?
 */
#ifndef UPMU_PROBE_H
#define UPMU_PROBE_H

#include <upmu/private/probe.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a probe. */
enum upmu_verdict {
    UPMU_VERDICT_UNKNOWN = 0,        /* not probed, or the probe was refused */
    UPMU_VERDICT_ABSENT = 1,         /* no PMU by CPUID, or its registers fault */
    UPMU_VERDICT_IGNORES_WRITES = 2, /* values written are not read back */
    UPMU_VERDICT_COUNTS_NOTHING = 3, /* registers are memory: a known loop counts 0 */
    UPMU_VERDICT_COUNTS = 4,
    UPMU_VERDICT_INTERRUPTS = 5      /* and an overflow reached upmu_pmi_handle() */
};

/*
 * As large as a session: keep it in static memory if stacks are small.  Set the members below
 * "Asked" and zero the rest; it may be used again.
 */
struct upmu_probe {
    /* Asked: */
    bool force;                         /* probe under a hypervisor although faults are not safe */
    void (*loop)(void *context);        /* retires at least 1000 instructions; NULL: built in */
    void *loop_context;
    /* Found: */
    enum upmu_verdict verdict;
    unsigned counter;                   /* the free counter used, or UPMU_NO_COUNTER */
    uint64_t counted;                   /* instructions counted for the loop */
    struct upmu_probe_work work;        /* the library's */
};

/*
 * Grade the PMU with one free counter: write it and read it, count a known loop, wait for one
 * overflow.  No counter in use is accessed, and the probed counter is left idle.  The interrupt
 * step needs pmi_rearm and a host that calls upmu_pmi_handle(), with interrupts on if they come on
 * a vector.
 *
 * Returns UPMU_OK with the verdict; UPMU_ERR_DOES_NOT_FIT (no counter is free);
 * UPMU_ERR_UNSUPPORTED (a hypervisor, no safe faults, no force); UPMU_ERR_PORT; UPMU_ERR_BUSY;
 * UPMU_ERR_WRONG_CPU; UPMU_ERR_LOST_CLAIM; UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_probe(struct upmu_cpu *cpu, struct upmu_probe *probe);

/* A verdict in words: "counts nothing"; constant text.  Context: any. */
const char *upmu_verdict_text(enum upmu_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif
