/* SPDX-License-Identifier: MIT */
/*
 * The probe, which tests a PMU: does it count, does it interrupt?
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
    UPMU_VERDICT_UNKNOWN = 0,        /* the PMU was not probed, or the probe returned an error */
    UPMU_VERDICT_ABSENT = 1,         /* no PMU by CPUID, registers fault, or the CPU is not initialised or suspended */
    UPMU_VERDICT_IGNORES_WRITES = 2, /* a register does not keep what is written to it */
    UPMU_VERDICT_COUNTS_NOTHING = 3, /* registers keep values, but the counter did not move during a known loop */
    UPMU_VERDICT_COUNTS = 4,
    UPMU_VERDICT_INTERRUPTS = 5      /* the PMU counts, and an overflow has led to upmu_pmi_handle() */
};

/*
 * A probe.  The structure is as large as a session: keep it in static memory if stacks are small.  Set the three
 * members before `verdict`, and zero the rest.  The structure may be used again.
 */
struct upmu_probe {
    /* Asked: */
    bool force; /* probe also under a hypervisor with a port whose faults are not safe; else UPMU_ERR_UNSUPPORTED */
    void (*loop)(void *context);        /* executes at least 1000 instructions; NULL: a built-in loop is used */
    void *loop_context;                 /* argument of `loop` */
    /* Found: */
    enum upmu_verdict verdict;
    unsigned counter;                   /* the free counter that was used, or UPMU_NO_COUNTER */
    /* number of events counted during the loop: instructions, or another event that every loop causes (cycles) */
    uint64_t counted;
    struct upmu_probe_work work;        /* the library's */
};

/*
 * Probe the PMU of the executing CPU with one free counter: count during a known loop; then, if at least 64 events were
 * counted, let the counter overflow in a second run of the loop.  Whether registers keep what is written was tested at
 * take-over.  No counter in use is accessed, and the probed counter is left idle.  The interrupt step needs pmi_rearm
 * and a host that calls upmu_pmi_handle(), with interrupts on if they come on a vector.
 *
 * Returns UPMU_OK with the verdict; UPMU_ERR_DOES_NOT_FIT (no counter is free);
 * UPMU_ERR_UNSUPPORTED (a hypervisor, no safe faults, no force); UPMU_ERR_PORT; UPMU_ERR_BUSY;
 * UPMU_ERR_WRONG_CPU; UPMU_ERR_LOST_CLAIM; UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_probe(struct upmu_cpu *cpu, struct upmu_probe *probe);

/* Return a verdict in words: "counts nothing".  The text is constant.  Context: any. */
const char *upmu_verdict_text(enum upmu_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif
