/* SPDX-License-Identifier: MIT */
/* The state of a trace of branches at work (upmu/bts.h). */
#ifndef UPMU_PRIVATE_BTS_H
#define UPMU_PRIVATE_BTS_H

#include <stdint.h>

struct upmu_bts_state {
    /* private */
    volatile uint64_t *area; /* the debug store area: the host's for the trace, or that of the CPU's precise records */
    uint64_t found;   /* value of the register with the area's address before the trace; 0: it was ours already */
    uint64_t control; /* bits of the control register while the host is to be traced */
    uint64_t kernel_from;
    uint32_t entries;    /* entries of the memory */
    uint32_t next, left; /* after the end: the oldest entry that was not taken yet, and how many are left */
    uint8_t own_area;    /* 1: the area is the trace's own */
};

#endif
