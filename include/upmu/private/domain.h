/* SPDX-License-Identifier: MIT */
/* The state of a domain (upmu/cpu.h), which the library alone writes. */
#ifndef UPMU_PRIVATE_DOMAIN_H
#define UPMU_PRIVATE_DOMAIN_H

#include <stdint.h>
#include <upmu/pmu.h>

/*
 * The state that several CPUs share: of a core with two hyper-threads, a module, a node. A claim of a resource or
 * counter is taken by compare-and-swap of its claim word; only a CPU that holds the claim writes the register, and the
 * last CPU that leaves or sleeps. Initialise the structure with upmu_domain_init(); it must stay as long as its CPUs.
 */
struct upmu_domain {
    enum upmu_scope scope; /* the CPUs that share it */
    /* how often so far a CPU has given up a claim of the domain: sessions that wait may have a place since */
    uint32_t generation;
    /* private */
    uint32_t cpus; /* mask of numbers: bit i is set if number i of the domain was given to a CPU */
    uint32_t live; /* mask of numbers: bit i is set while CPU number i has taken over its PMU */
    /* mask: shared counters that CPUs which have ended had written, or that were taken from the firmware */
    uint32_t used;
    uint32_t known[UPMU_REGISTERS / 32]; /* rows that have a value in `found`: bit n % 32 of word n / 32 */
    uint64_t found[UPMU_REGISTERS];      /* by row: value of a shared register before the first CPU took over */
    /* claim words: of resource r in claim[r], of counter n in claim[UPMU_RESOURCES + n] */
    uint32_t claim[UPMU_RESOURCES + UPMU_COUNTERS];
    /* by resource: value that its holders need: [0] the low half, [1] the high half */
    uint32_t value[UPMU_RESOURCES][2];
    /* of a filter of branch records that hyper-threads share: CPUs that record, and the value that was found */
    uint32_t filter;
};

#endif
