/* SPDX-License-Identifier: MIT */
/*
 * The message by which a driver in user mode asks the server, which may execute privileged instructions, for an access.
 * A message has 24 bytes, with 32 and with 64 bits.
 */
#ifndef UPMU_SPLIT_MESSAGE_H
#define UPMU_SPLIT_MESSAGE_H

#include <stdint.h>

enum split_operation {
    SPLIT_RDMSR,  /* value: what the register holds */
    SPLIT_WRMSR,  /* value: what was written, with the bits of others */
    SPLIT_SETPCE, /* value: 1 allows RDPMC while the caller runs, 0 forbids it; answer: is it allowed now? */
    SPLIT_LEVEL0  /* number: enum split_function; value: its argument and answer */
};

/*
 * Functions that run in ring 0 are named by number.  (A server that takes the address of a function from its caller
 * gives ring 0 to each program.)
 */
enum split_function {
    SPLIT_REFUSALS, /* how many requests were refused */
    SPLIT_FORGET    /* all that the caller may write becomes 0: its counters stand still */
};

/* SPLIT_OTHERS: a register of counters that the caller does not own. */
enum split_answer { SPLIT_OK, SPLIT_REFUSED, SPLIT_FAULT, SPLIT_OTHERS };

struct split_message {
    uint32_t operation;
    uint32_t number; /* of the register, or the function */
    uint64_t value;
    uint32_t answer;
    uint32_t unused;
};

#endif
