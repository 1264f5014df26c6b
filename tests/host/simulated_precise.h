/* SPDX-License-Identifier: MIT */
/*
 * Precise samples in the simulated host: memory that is lent to CPUs, and the truth of each record.
 */
#ifndef UPMU_TESTS_HOST_SIMULATED_PRECISE_H
#define UPMU_TESTS_HOST_SIMULATED_PRECISE_H

#include <upmu/format.h>
#include <upmu/precise.h>

#include "tests/host/hardware.h"

#define PRECISE_TRUTHS 512u
#define PRECISE_SESSIONS 12 /* HOST_SESSIONS */
#define PRECISE_SETS 3      /* HOST_SETS; one event of a set has batches */

/* A record that the hardware made.  Events are bits: 4 for each set of a session. */
struct precise_truth {
    struct hardware_record record;
    uint64_t number;                   /* of all records of the machine, in their order, from 1 on */
    uint64_t branches;                 /* the moment of its branch stack; 0: it has none */
    uint32_t serial[PRECISE_SESSIONS]; /* the sessions that were there */
    uint16_t may[PRECISE_SESSIONS];    /* events whose record it may be */
    uint16_t fits[PRECISE_SESSIONS];   /* of these, those whose period ended there */
    uint16_t given[PRECISE_SESSIONS];  /* samples that were found of it */
    uint64_t low[PRECISE_SESSIONS][PRECISE_SETS], high[PRECISE_SESSIONS][PRECISE_SETS]; /* what the event had counted */
};

/* Memory of a CPU for records. */
struct precise_memory {
    void *area, *records; /* NULL: the library has none */
    size_t bytes;
    uint64_t linear;      /* where the hardware sees it */
    bool giving;          /* a call lends it */
    bool lent;            /* the hardware may store there now */
    bool unsafe;          /* a register faulted: it may still have an address of before */
    bool doubtful;        /* ... since it was lent: counts of records need not match */
    uint64_t owed;        /* records since it was lent, each as often as it names a counter */
    uint64_t made;        /* records, in all */
    struct precise_truth truth[PRECISE_TRUTHS]; /* of record n at n modulo their number */
};

struct host_session;
struct host_set;
struct host_event;
struct lots;
struct step;

extern const struct hardware_memory precise_hardware;

/*
 * What the hardware does with memory of the host, as traces have it, too (NULL: memory that is kept, and reads as 0). A
 * look of the rules writes nothing.
 */
void precise_copy(void *memory, void *bytes, size_t size, bool is_write);

/* Does this run have precise events? */
bool precise_is_on(void);

/* ---- Steps (act_precise.c) ---- */

void act_precise(struct lots *lots);
/* A CPU has come; the library may be given memory at once. */
void act_precise_come(struct lots *lots);
/* A CPU has ended, sleeps or wakes up; `faulted`: it may still have the address. */
void act_precise_over(unsigned cpu, bool faulted);
void act_precise_sleeps(unsigned cpu, bool faulted);
void act_precise_wakes(unsigned cpu);
/* A session is made: will it have batches?  Drawn by itself. */
void act_precise_begin(struct host_session *session);
/* Without pmi_rearm batches alone sample: may this session? */
bool act_precise_samples_alone(const struct host_session *session);
/* Make a precise event of one that is about to be added, or leave it as it is. */
void act_precise_draw(struct host_session *session, struct host_event *event, struct lots *lots, char *text,
                      size_t size);

/* ---- Rules (rules_precise.c) ---- */

/*
 * An event that is loaded with less to go than its shortest load, or between an overflow and its record, has its sample
 * later by so many events at most.  (The longest of these loads is 128, of instructions on some CPUs.)
 */
#define PRECISE_LATE 130u

/* The format of records of the CPU that executes. */
unsigned precise_format(void);
void precise_recorded(const struct hardware_record *record);
/* Returns the moment of the branch stack that its record has; 0: none. */
uint64_t precise_sample(struct host_session *session, unsigned set, unsigned event, const struct upmu_record *record);
/* The library's numbers of the CPU's records; `all`: none is still to be read. */
void precise_check_counts(unsigned cpu, struct upmu_record_counts counts, bool all);
/* A write to a register of records. */
void precise_write(unsigned cpu, uint32_t msr, uint64_t value);

#endif
