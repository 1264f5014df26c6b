/* SPDX-License-Identifier: MIT */
/*
 * The state of a domain (upmu/cpu.h).  The library writes it.
 */
#ifndef UPMU_PRIVATE_DOMAIN_H
#define UPMU_PRIVATE_DOMAIN_H

#include <stdint.h>
#include <upmu/pmu.h>

/*
 * State that several CPUs share: of a core with two hyper-threads, a module, a node.  Claims are taken by 32-bit
 * compare-and-swap; only the holder of a claim writes the register.  Initialise it with upmu_domain_init(); it must
 * stay as long as its CPUs.
 */
struct upmu_domain {
    enum upmu_scope scope; /* the CPUs that share it */
    uint32_t generation; /* number of claims parked or released so far: a session that waits may have a place since */
    /* private */
    uint32_t cpus; /* bit i: the number i in this domain is a CPU's */
    uint32_t live; /* bit i: CPU number i has taken over its PMU */
    uint32_t used; /* counters written by CPUs that have left, or taken from the firmware */
    uint32_t known[UPMU_REGISTERS / 32]; /* rows that have a value in `found`: bit n % 32 of word n / 32 */
    uint64_t found[UPMU_REGISTERS];      /* by row: value of a shared register before the first CPU took over */
    uint32_t claim[UPMU_RESOURCES + UPMU_COUNTERS]; /* claim words: by resource, then by counter */
    uint32_t value[UPMU_RESOURCES][2]; /* by resource: the value that its holders need; low half, high half */
};

#endif
