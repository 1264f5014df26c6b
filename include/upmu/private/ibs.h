/* SPDX-License-Identifier: MIT */
/*
 * How a unit of instruction-based sampling is driven (struct upmu_ibs of upmu/ibs.h).
 */
#ifndef UPMU_PRIVATE_IBS_H
#define UPMU_PRIVATE_IBS_H

#include <stdint.h>

/* Registers of one sample, at most. */
#define UPMU_IBS_REGISTERS 9u

/* A register write of a unit. */
struct upmu_ibs_step {
    /* private */
    uint8_t row;
    uint64_t value;
};

/*
 * How a unit is driven: `step` has the steps to start it, then to continue it after a
 * sample, then to stop it.  The first register of a sample is its control.
 */
struct upmu_ibs_plan {
    /* private */
    uint8_t row[UPMU_IBS_REGISTERS]; /* of a sample, UPMU_NO_ROW: reads 0 */
    uint8_t row_count;
    uint8_t second_row; /* register that the stop restores, or UPMU_NO_ROW */
    uint64_t valid;     /* bit of the control: there is a sample */
    uint64_t enabled;   /* ... it runs */
    uint8_t starts, agains, stops;
    struct upmu_ibs_step step[8];
};

/* A unit at work: its ring of samples, and what its registers held before. */
struct upmu_ibs_state {
    /* private */
    volatile uint32_t head, tail;
    /* public again */
    volatile uint32_t lost; /* samples that found no room, completed in the stop or faulted */
    /* private */
    uint32_t lost_told;
    uint64_t second; /* former value of the second control */
    struct upmu_ibs_plan plan;
    volatile uint8_t closing;
};

#endif
