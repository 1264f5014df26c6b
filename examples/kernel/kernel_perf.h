/* SPDX-License-Identifier: MIT */
/*
 * Between kernel_perf.c, which answers perf_event_open, and the program in ring 3 that calls it.
 */
#ifndef UPMU_KERNEL_PERF_H
#define UPMU_KERNEL_PERF_H

#include <stdint.h>

struct shell;

/*
 * System calls: AX the number, DI the address of five words, the arguments. AX is the answer, which is Linux's: a
 * negative number is an error.
 */
enum kernel_perf_number {
    KERNEL_PERF_OPEN = 16, /* attributes, pid, CPU, group, flags */
    KERNEL_PERF_READ,      /* descriptor, memory, bytes */
    KERNEL_PERF_IOCTL,     /* descriptor, command, argument */
    KERNEL_PERF_MMAP,      /* descriptor, bytes; the answer is the address */
    KERNEL_PERF_POLL,      /* descriptor */
    KERNEL_PERF_CLOSE      /* descriptor */
};
#define KERNEL_PERF_WORDS 5u

/* Results of the program; ring 3 writes them. */
struct kernel_perf_found {
    intptr_t status;   /* answer of the first call that failed, or 0 */
    intptr_t refused;  /* answer to a wish that the program has no right to */
    uint64_t self[2];  /* instructions around 100 and 300 passes of the workload */
    uint64_t group[2]; /* instructions and cycles around 100 passes */
    uint64_t counted;  /* instructions of the event that sampled */
    uint32_t period, samples, inside;
    uint32_t polled; /* what poll said when there were samples */
};

/* The program, which ends with HLT. */
void kernel_perf_program(void);
extern struct kernel_perf_found kernel_perf_found;

/* Print what it has found. */
void kernel_perf_tell(const struct shell *shell);

#endif
