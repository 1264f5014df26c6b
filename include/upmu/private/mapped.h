/* SPDX-License-Identifier: MIT */
/*
 * The library's state of a ring whose pages a program maps (upmu/mapped.h).  The program does not map this state.
 */
#ifndef UPMU_PRIVATE_MAPPED_H
#define UPMU_PRIVATE_MAPPED_H

#include <stdint.h>

struct upmu_mapped_state {
    uint32_t head;    /* number of samples stored so far, modulo 2^32 */
    uint32_t records; /* number of samples that the pages have room for, a power of two */
    uint32_t told;    /* how many of upmu_mapped_ring.lost samples have reported */
};

#endif
