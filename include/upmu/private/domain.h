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
 * compare-and-swap; only the holder of a claim writes.  Initialise it with upmu_domain_init(); it must stay as long as
 * its CPUs.
 */
struct upmu_domain {
    enum upmu_scope scope; /* the CPUs that share it */
    uint32_t generation; /* number of claims released, for waiting sessions */
    /* private */
    uint32_t cpus; /* bit i: CPU number i of this domain is linked */
    uint32_t live; /* bit i: it has taken over */
    uint32_t used; /* counters written by CPUs that have left, or taken from the firmware */
    uint32_t known[UPMU_REGISTERS / 32]; /* rows in `found` */
    uint64_t found[UPMU_REGISTERS];      /* values of shared registers before the first CPU took over */
    uint32_t claim[UPMU_RESOURCES + UPMU_COUNTERS]; /* resources, then counters */
    uint32_t value[UPMU_RESOURCES][2]; /* low and high half */
    uint32_t filter; /* of a shared filter of branches: CPUs that record, and the value that was found */
};

#endif
