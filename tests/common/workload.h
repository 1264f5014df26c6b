/* SPDX-License-Identifier: MIT */
/*
 * A piece of code that is known to the last instruction: workload.S.
 *
 * A pass is WORKLOAD_INSTRUCTIONS instructions, of which WORKLOAD_BRANCHES are
 * branches, whatever the data.  No REP prefix, no load of SS, no system call, no
 * input or output, no CPUID; only pushes and pops touch memory.
 */
#ifndef UPMU_TESTS_COMMON_WORKLOAD_H
#define UPMU_TESTS_COMMON_WORKLOAD_H

#include <stdint.h>

#define WORKLOAD_INSTRUCTIONS 13u
#define WORKLOAD_BRANCHES 5u

/* Before the first pass and behind the last one. */
#define WORKLOAD_AROUND_INSTRUCTIONS 3u
#define WORKLOAD_AROUND_BRANCHES 1u

/* So many passes, at least 1. */
void workload(uint32_t passes);

/* Its first byte and the first one behind it: nothing else is in between. */
extern const unsigned char workload_begin[], workload_end[];

#endif
