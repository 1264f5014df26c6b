/* SPDX-License-Identifier: MIT */
/*
 * Precise records: Intel's hardware stores samples into memory (PEBS).  The functions here read one record of any
 * format.  They are pure: no register is accessed, and nothing outside of the record's bytes is read, whatever the
 * bytes are, because software or a device may have written over them.
 */
#ifndef UPMU_CORE_PRECISE_CORE_H
#define UPMU_CORE_PRECISE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/sample/branches_core.h"
#include <upmu/format.h>

#if UPMU_PRECISE

/* Registers of a record, in the order in which records of format 4 have them. */
enum upmu_precise_name {
    UPMU_PRECISE_FLAGS,
    UPMU_PRECISE_IP, /* the instruction after the sampled one */
    UPMU_PRECISE_AX,
    UPMU_PRECISE_CX,
    UPMU_PRECISE_DX,
    UPMU_PRECISE_BX,
    UPMU_PRECISE_SP,
    UPMU_PRECISE_BP,
    UPMU_PRECISE_SI,
    UPMU_PRECISE_DI,
    UPMU_PRECISE_R8, /* r9 to r15 have the numbers after r8 */
    UPMU_PRECISE_REGISTERS = UPMU_PRECISE_R8 + 8
};

/*
 * Positions of upmu_precise_counter() for PERF_METRICS and the slots that belong to it, after those of counters.  The
 * first is the bit of PERF_METRICS in GLOBAL_CTRL.
 */
#define UPMU_PRECISE_METRICS 48u
#define UPMU_PRECISE_SLOTS 49u

/* Why a record cannot be read. */
enum upmu_precise_error {
    UPMU_PRECISE_FINE,       /* it was read */
    UPMU_PRECISE_NO_FORMAT,  /* the CPU has a format that the library does not know */
    UPMU_PRECISE_CUT,        /* the bytes end before the record's first words, or before its next fragment */
    UPMU_PRECISE_BAD_SIZE,   /* the size that the record states is below its first words, or above the bytes */
    UPMU_PRECISE_BAD_LENGTH, /* the groups named need more bytes than the record has, or (formats 4 to 6) fewer */
    UPMU_PRECISE_BAD_GROUP,  /* the record names a group of unknown length, or one twice; or a group is malformed */
    UPMU_PRECISE_BAD_COUNT,  /* more branches than any CPU has, or a counter whose position no counter has */
    UPMU_PRECISE_NO_BASIC    /* the first fragment lacks the group with the instruction's address */
};

/* A record, as upmu_precise_decode() finds it.  Pointers point into the bytes that were decoded. */
struct upmu_precise {
    uint64_t ip;       /* if `exact` the sampled instruction, otherwise the instruction after it */
    uint64_t counters; /* bits as in GLOBAL_STATUS.  From format 3 on: the counters whose record it is.  Formats 1 and
                          2: those that had overflowed, and perhaps none.  Format 0: counter 0 */
    uint64_t tsc;      /* the time-stamp counter; 0 before format 3 */
    uint64_t address, source, weight, transaction; /* raw words; 0 without the part */
    uint64_t counted;                              /* positions that upmu_precise_counter() has */
    const uint8_t *registers;                      /* NULL: no such part */
    const uint8_t *branches;                       /* branch_count times 3 words: from, to, info; the newest first */
    const uint8_t *values;                         /* of the counters in `counted`, then slots and PERF_METRICS */
    uint32_t bytes;                                /* of the record with all its fragments: the next one begins there */
    uint16_t parts;                                /* UPMU_PART_… */
    uint16_t retire;
    uint8_t branch_count; /* entries of the stack; those from the first with a source of 0 on are empty */
    bool exact;
    bool old_order; /* `registers` are in the order of formats 0 to 3 */
};

/*
 * Read the record at `bytes`, of which `left` bytes exist.  `capabilities` is PERF_CAPABILITIES of the CPU that stored
 * it (bits 11:8 are the format), or 0 if the CPU has no such register.  `bytes` needs no alignment.
 *
 * *out is valid only if UPMU_PRECISE_FINE is returned; out->bytes is then above 0 and at most `left`.  After another
 * result the length of the record is not known, so none after it can be read.
 */
enum upmu_precise_error upmu_precise_decode(uint64_t capabilities, const uint8_t *bytes, size_t left,
                                            struct upmu_precise *out);

/*
 * Return a register of a record that has UPMU_PART_REGISTERS, by its name (enum upmu_precise_name); 0 if the record
 * lacks them.
 */
uint64_t upmu_precise_register(const struct upmu_precise *precise, unsigned name);

/*
 * Read the value of a counter at the moment of the sample.  `position` is the counter's bit in GLOBAL_STATUS,
 * UPMU_PRECISE_METRICS or UPMU_PRECISE_SLOTS; bits above the counter's width are 0.  Returns false if the record does
 * not have it.
 */
bool upmu_precise_counter(const struct upmu_precise *precise, unsigned position, uint64_t *out_value);

#if UPMU_BRANCHES

/*
 * Decode entry `index` (0: the newest) of a record's branches into *out_branch.  `format` is that of the CPU's branch
 * stack.  Returns UPMU_BRANCH_END, too, if the record has no such entry.
 */
enum upmu_branch_entry upmu_precise_branch(const struct upmu_precise *precise, enum upmu_branch_format format,
                                           unsigned index, struct upmu_branch *out_branch);

#endif

#endif

#endif
