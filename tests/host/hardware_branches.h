/* SPDX-License-Identifier: MIT */
/*
 * The branch stack of one CPU, as hardware_intel.c and hardware_amd.c use it: LBR of Intel in registers that face each
 * other, architectural LBR, LBR of version 2 of AMD.
 */
#ifndef UPMU_TESTS_HOST_HARDWARE_BRANCHES_H
#define UPMU_TESTS_HOST_HARDWARE_BRANCHES_H

#include "tests/host/hardware.h"

#define BRANCHES_DEPTH 32u

/* Where the bits of an entry are: PERF_CAPABILITIES 5:0, or a stack that this field does not name. */
enum { BRANCHES_PLAIN = 2, BRANCHES_MISSED = 3, BRANCHES_TSX = 4, BRANCHES_INFO = 5, BRANCHES_ARCH = 64, BRANCHES_AMD };

struct branches_kind {
    unsigned depth, format;
    uint32_t from, to, info; /* the first registers; info 0: there are none */
    uint32_t select;         /* 0: nothing sorts out */
};

struct branches {
    uint64_t from[BRANCHES_DEPTH], to[BRANCHES_DEPTH], info[BRANCHES_DEPTH]; /* registers, in a ring */
    uint64_t newest;                                                         /* the place of the newest */
    uint64_t select, control, depth;
    uint64_t taken; /* branches of this CPU so far */
    bool user;      /* where the last one went */
};

/* Of a trace: what the hardware may do to the stack now. */
struct branches_state {
    unsigned cpu;
    bool on;         /* it is enabled, and not frozen */
    uint64_t select; /* bits of kinds and rings that are sorted out; 1: not recorded */
    void (*also)(void *context, const struct hardware_branch *branch); /* of each branch; NULL: nothing */
    void *context;
};

/* The filter of the stack: bits 8:0 as those of LBR_SELECT. */
uint64_t branches_sorted_out(const struct branches_kind *kind, const struct branches *branches);

/* So many branches are taken: the last of them, in the order in which they are taken.  `trace` NULL: no stack. */
void branches_take(const struct branches_kind *kind, struct branches *branches, const struct branches_state *state,
                   bool user, uint64_t count, const struct hardware_trace *trace);

enum branches_access { BRANCHES_NO_REGISTER, BRANCHES_REFUSED, BRANCHES_DONE, BRANCHES_CLEARED };

/* An access to a register of the stack, but LBR_SELECT, which CPUs may share. */
enum branches_access branches_access(const struct branches_kind *kind, struct branches *branches, uint32_t msr,
                                     bool is_write, uint64_t *value);
/* The n-th newest entry as a record of format 4 or later has it. */
void branches_entry(const struct branches_kind *kind, const struct branches *branches, unsigned n, uint64_t out[3]);

/* All registers of the stack, of which `room` fit. */
unsigned branches_registers(const struct branches_kind *kind, struct hardware_register *out, unsigned room,
                            bool shares_select);
/* What an earlier kernel left in its entries. */
void branches_leave(const struct branches_kind *kind, struct branches *branches, uint64_t seed);

#endif
