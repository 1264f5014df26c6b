/* SPDX-License-Identifier: MIT */
/*
 * How a unit of instruction-based sampling is driven (struct upmu_ibs of upmu/ibs.h).
 */
#ifndef UPMU_PRIVATE_IBS_H
#define UPMU_PRIVATE_IBS_H

#include <stdint.h>

/* Registers of one sample, at most. */
#define UPMU_IBS_REGISTERS 9u

/* A register write of an IBS unit. */
struct upmu_ibs_step {
    /* private */
    uint8_t row;
    uint64_t value;
};

/*
 * How an IBS unit is driven: `step` has the steps to start the unit, then the steps to continue it after a sample, then
 * the steps to stop it.  The first register of a sample (row[0]) is the unit's control.
 */
struct upmu_ibs_plan {
    /* private */
    uint8_t row[UPMU_IBS_REGISTERS]; /* rows of a sample's registers, in upmu/ibs.h's order; UPMU_NO_ROW: reads 0 */
    uint8_t row_count;               /* entries of `row` in use */
    uint8_t second_row;              /* row of a second control register, which the stop restores; or UPMU_NO_ROW */
    uint64_t valid;                  /* bit of the control: there is a sample */
    uint64_t enabled;                /* bit of the control: the unit runs */
    uint8_t starts, agains, stops;   /* numbers of the steps to start, to continue, to stop */
    struct upmu_ibs_step step[8];
};

/* An IBS unit at work: the positions in its ring of samples, and the value that a register had before the start. */
struct upmu_ibs_state {
    /* private */
    volatile uint32_t head, tail; /* samples stored so far by the handler; samples read so far by the host */
    /* public again */
    volatile uint32_t lost; /* samples that found no room, that the stop discarded, or that could not be read */
    /* private */
    uint32_t lost_told; /* how many of `lost` samples have reported */
    uint64_t second;    /* value of the register plan.second_row before the start */
    struct upmu_ibs_plan plan;
    volatile uint8_t closing; /* 1: the unit is being stopped, and handlers leave it alone */
};

#endif
