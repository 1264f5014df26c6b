/* SPDX-License-Identifier: MIT */
/*
 * The state of Intel's architectural performance monitoring: registers are in hardware_intel.c, what happens to
 * counters is in hardware_intel_events.c.  Sources are cited as there.
 */
#ifndef UPMU_TESTS_HOST_HARDWARE_INTEL_H
#define UPMU_TESTS_HOST_HARDWARE_INTEL_H

#include "tests/host/hardware_branches.h"
#include "tests/host/hardware_pebs.h"
#include "tests/host/hardware_traces.h"

#define GENERAL 10
#define FIXED 7
#define COUNTERS (GENERAL + FIXED)
#define BIT(n) (UINT64_C(1) << (n))
#define STATUS_FROZEN BIT(59)

enum { PEBS = 1, LATENCY = 2, STORE = 4, SHARED = 8, TRANSACTIONS = 16, TFA = 32, STICKY = 64, SNOOP = 128 };

struct part {
    uint8_t version, model, stepping, width;
    uint32_t general, fixed, leaf_a[4], capabilities, flags;
    uint64_t response[2], frontend;
    uint32_t core_type, leaf_23[4]; /* EAX, EBX, ECX of subleaf 0, EAX of subleaf 3 */
    uint64_t reload;                /* leaf 23H.2 as bits of GLOBAL_CTRL */
};

/* Counters 0 to 9 are general, 10 to 16 fixed. */
struct cpu {
    uint64_t value[COUNTERS], select[GENERAL], cause[COUNTERS], refill[COUNTERS];
    uint64_t enable, control, status, hidden, debugctl, capabilities, metrics;
    uint64_t load_latency, frontend, force_abort, response[2], snoop[2], misc_enable;
    uint32_t late; /* counters whose interrupt is under way, and that of records */
    uint8_t due[COUNTERS + 1];
    bool masked, asserted, repeated;
    struct pebs pebs;
    struct branches branches;
    struct traces traces;
};

struct intel {
    const struct part *part;
    const struct hardware_model *model;
    struct hardware_options options;
    uint32_t fixed;
    uint64_t random;
    bool full_at_maximum; /* of a buffer of records */
    const struct branches_kind *stack; /* NULL: none is looked at */
    uint32_t capabilities;
    const char *damage;
    struct cpu cpu[HARDWARE_CPUS];
    struct watch {
        bool on, interrupts;
        uint64_t start, counted;
    } watch[HARDWARE_CPUS][COUNTERS];
};

static inline uint64_t next_random(uint64_t *state)
{
    uint64_t mixed = (*state += UINT64_C(0x9E3779B97F4A7C15));
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

static inline uint64_t width_mask(const struct intel *intel)
{
    return BIT(intel->part->width) - 1;
}

static inline bool exists(const struct intel *intel, unsigned counter)
{
    return (counter < GENERAL ? intel->part->general >> counter : intel->fixed >> (counter - GENERAL)) & 1;
}

/* A counter's bit in GLOBAL_CTRL, GLOBAL_STATUS and PEBS_ENABLE (c 5, c 14). */
static inline uint64_t counter_bit(unsigned counter)
{
    return BIT(counter < GENERAL ? counter : counter - GENERAL + 32);
}

/* As fixed control has it: OS 1, USR 2, ANY 4, PMI 8; a select without EN counts in neither ring (c 3, c 4). */
static inline unsigned mode(const struct cpu *cpu, unsigned counter)
{
    if (counter >= GENERAL)
        return cpu->control >> 4 * (counter - GENERAL) & 15;
    uint64_t select = cpu->select[counter];
    uint64_t rings = (select >> 22 & 1) ? (select >> 17 & 1) | (select >> 15 & 2) : 0;
    return (unsigned)(rings | (select >> 19 & 4) | (select >> 17 & 8));
}

/* A call of the fake for this CPU: late interrupts and records come nearer. */
struct cpu *intel_enter(struct intel *intel, unsigned index);
void intel_raise_interrupt(struct intel *intel, struct cpu *cpu, unsigned counter);
struct pebs_kind intel_records(const struct intel *intel, const struct cpu *cpu);
/* The record in flight is in memory. */
void intel_land(struct intel *intel, unsigned index);
/* Branch traces of this machine are in memory (there are such, and the CPU has what they need). */
bool intel_can_trace(const struct intel *intel);
/* What is in flight of a branch trace is in memory. */
void intel_land_trace(struct intel *intel, unsigned index);
/* A counter is read. */
void intel_see(struct intel *intel, unsigned index, unsigned counter);
/* Does the branch stack record? */
uint64_t *intel_select_of(struct intel *intel, unsigned index);
bool intel_stack_is_on(const struct intel *intel, const struct cpu *cpu);
void intel_branch(void *hardware, unsigned index, bool user, uint64_t count);
void intel_happen(void *hardware, unsigned index, enum hardware_event event, bool user, uint64_t count);

#endif
