/* SPDX-License-Identifier: MIT */
/*
 * Precise records of one CPU of Intel (PEBS), as hardware_intel.c uses them.
 */
#ifndef UPMU_TESTS_HOST_HARDWARE_PEBS_H
#define UPMU_TESTS_HOST_HARDWARE_PEBS_H

#include "tests/host/hardware_branches.h"

/* Of a record with each group: basic 32, memory 32, registers 144, XMM 256, 32 branches 768, counters 16 + 19 * 8. */
#define PEBS_BYTES 1408u

struct pebs {
    uint64_t enable, config, area;     /* IA32_PEBS_ENABLE, MSR_PEBS_DATA_CFG, IA32_DS_AREA */
    uint64_t armed;                    /* counters that have overflowed, whose next event is recorded */
    uint64_t ordinal[HARDWARE_EVENTS]; /* events of each kind on this CPU */
    uint64_t whose;                    /* the counters of the last record */
    uint64_t loaded;                   /* counters that the record in flight has loaded with more than their events */
    uint64_t instead;                  /* status bits that stand for bit 62 until they are acknowledged */
    uint8_t due;                       /* calls until the record in flight is in memory; 0: none is in flight */
    uint16_t bytes;                    /* of the record in flight */
    uint64_t flight[PEBS_BYTES / 8];
};

struct pebs_kind {
    unsigned format;
    bool full_at_maximum; /* the last record of a buffer may go beyond its maximum; else it has to fit */
    const struct hardware_memory *memory;
};

/* What a record shows of its CPU. */
struct pebs_view {
    uint64_t status; /* GLOBAL_STATUS */
    uint64_t groups; /* of MSR_PEBS_DATA_CFG, as the record has them */
    const uint64_t *general, *fixed; /* counters */
    const struct branches_kind *stack; /* NULL: noise is where branches are */
    const struct branches *branches;
};

/*
 * Make the record of an event: it is in flight, or `record->dropped` as the buffer is full.  False: the area is not
 * lent to this CPU.
 */
bool pebs_take_off(const struct pebs_kind *kind, struct pebs *pebs, struct hardware_record *record,
                   const struct pebs_view *view);

enum pebs_landing { PEBS_STORED, PEBS_THRESHOLD, PEBS_STALE };

/* Store the record in flight.  PEBS_STALE: the area or the buffer is no memory that is lent to this CPU. */
enum pebs_landing pebs_land(const struct pebs_kind *kind, struct pebs *pebs, unsigned cpu);

/* The value that a counter gets after its record; false: the area is not lent. */
bool pebs_slot(const struct pebs_kind *kind, const struct pebs *pebs, unsigned cpu, uint64_t counter_bit,
               uint64_t *out_value);

/* From the begin of the buffer to its maximum; 0: the area is not lent. */
uint64_t pebs_buffer_bytes(const struct pebs_kind *kind, const struct pebs *pebs, unsigned cpu);

#endif
