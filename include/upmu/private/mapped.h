/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps of a ring that a program maps, out of the program's reach (upmu/mapped.h).
 */
#ifndef UPMU_PRIVATE_MAPPED_H
#define UPMU_PRIVATE_MAPPED_H

#include <stdint.h>

struct upmu_mapped_state {
    uint32_t head;    /* samples that were stored */
    uint32_t records; /* room, a power of two */
    uint32_t told;    /* of those lost: said in a sample */
};

#endif
