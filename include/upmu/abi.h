/* SPDX-License-Identifier: MIT */
/*
 * Functions for layers that give programs or guests an interface to the library: the layers of the folder abi/, or one
 * of your own.  A kernel that only counts for itself needs none of them, and <upmu/upmu.h> does not include this
 * header.
 */
#ifndef UPMU_ABI_H
#define UPMU_ABI_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upmu_cpu;
struct upmu_event;
struct upmu_machine;
struct upmu_message;
struct upmu_overflow;
struct upmu_pmu;
struct upmu_queue;
struct upmu_session;
struct upmu_set;
struct upmu_thread;

/* ---- Bits of masks: count, find, make and keep bits, without calls of the compiler's runtime library ---- */

/* The 32-bit mask, and the 64-bit mask, in which bit n alone is set. */
#define UPMU_BIT32(n) (UINT32_C(1) << (n))
#define UPMU_BIT64(n) (UINT64_C(1) << (n))

/*
 * Return the number of bits that are set in a mask.  Masks have few, so a loop is the shortest code; gcc's
 * __builtin_popcount calls libgcc.
 *
 * Context: any.
 */
static inline unsigned upmu_bits_count(uint32_t mask)
{
    unsigned count = 0;

    for (; mask; mask &= mask - 1u)
        count++;
    return count;
}

/* Without Zbb, RISC-V has no instruction that counts zeros: a compiler's builtin would call its runtime library. */
#if defined __riscv && !defined __riscv_zbb
#define UPMU_BITS_BY_HAND 1
#else
#define UPMU_BITS_BY_HAND 0
#endif

#if UPMU_BITS_BY_HAND

/* Return the index of the bit in a mask of exactly one bit.  Context: any. */
static inline unsigned upmu_bits_index(uint32_t one)
{
    return (unsigned)((one & 0xffff0000u) != 0) << 4 | (unsigned)((one & 0xff00ff00u) != 0) << 3 |
           (unsigned)((one & 0xf0f0f0f0u) != 0) << 2 | (unsigned)((one & 0xccccccccu) != 0) << 1 |
           (unsigned)((one & 0xaaaaaaaau) != 0);
}

#endif

/* Return the index of the lowest set bit of a mask that is not 0.  Context: any. */
static inline unsigned upmu_bits_lowest(uint32_t mask)
{
#if UPMU_BITS_BY_HAND
    return upmu_bits_index(mask & (0u - mask));
#else
    return (unsigned)__builtin_ctz(mask);
#endif
}

/* Do as upmu_bits_lowest(), for a mask of 64 bits.  Context: any. */
static inline unsigned upmu_bits_lowest64(uint64_t mask)
{
    return (uint32_t)mask ? upmu_bits_lowest((uint32_t)mask) : 32u + upmu_bits_lowest((uint32_t)(mask >> 32));
}

/* Return the index of the highest set bit of a mask that is not 0.  Context: any. */
static inline unsigned upmu_bits_highest(uint32_t mask)
{
#if UPMU_BITS_BY_HAND
    for (unsigned shift = 1; shift < 32; shift <<= 1)
        mask |= mask >> shift;
    return upmu_bits_index(mask ^ mask >> 1);
#else
    return 31u - (unsigned)__builtin_clz(mask);
#endif
}

/* Return a mask with the low `width` bits set, width 1 to 64.  Context: any. */
static inline uint64_t upmu_bits_ones(unsigned width)
{
    return ~UINT64_C(0) >> ((64u - width) & 63u);
}

/* Return the low `width` bits of a value, width 1 to 64; the others become 0.  Context: any. */
static inline uint64_t upmu_bits_low(uint64_t value, unsigned width)
{
    unsigned above = (64u - width) & 63u;

    return value << above >> above;
}

/* Is a row of a register table in a mask of rows, which has a bit for each row (upmu_pmu.present)?  Context: any. */
static inline bool upmu_rows_has(const uint32_t *rows, unsigned row)
{
    return (rows[row >> 5] >> (row & 31u)) & 1u;
}

/* Add a row to a mask of rows.  Context: any. */
static inline void upmu_rows_set(uint32_t *rows, unsigned row)
{
    rows[row >> 5] |= UPMU_BIT32(row & 31u);
}

/* Remove a row from a mask of rows.  Context: any. */
static inline void upmu_rows_clear(uint32_t *rows, unsigned row)
{
    rows[row >> 5] &= ~UPMU_BIT32(row & 31u);
}

/*
 * Return dividend / divisor; *out_rest becomes the remainder.  With a divisor of 0 all bits of the result are 1, and
 * *out_rest becomes 0.
 *
 * Context: any.
 */
uint64_t upmu_divide(uint64_t dividend, uint64_t divisor, uint64_t *out_rest);

/* ---- The machine ---- */

/*
 * Return the CPU that executes this call, as the hook this_cpu says; NULL: the host has given it none.  Without that
 * hook return the only initialised CPU; NULL: no CPU is initialised.
 *
 * Context: any.  With interrupts on, the caller may be moved to another CPU before it uses the result.
 */
struct upmu_cpu *upmu_machine_this_cpu(const struct upmu_machine *machine);

/*
 * Does `cpu` execute this call?  True also if the port has no hook this_cpu.
 *
 * Context: as upmu_machine_this_cpu().
 */
bool upmu_machine_runs_on(const struct upmu_machine *machine, const struct upmu_cpu *cpu);

/* Has the machine's port a clock (hook clock_ns)?  Context: any. */
bool upmu_machine_has_clock(const struct upmu_machine *machine);

/* Has the machine's port interrupts at overflows (hook pmi_rearm)?  Context: any. */
bool upmu_machine_has_pmi(const struct upmu_machine *machine);

#if UPMU_BRANCH_SAMPLES
/*
 * Return the bits (UPMU_BRANCH_… of upmu/branches.h) that upmu_session_branches() accepts for events of a PMU.  0: the
 * PMU records no branches, or no CPU lends its stack to sessions.  Context: any.
 */
uint32_t upmu_machine_branches(const struct upmu_machine *machine, const struct upmu_pmu *pmu);
#endif

#if UPMU_PRECISE
/* Return upmu_branch.info as Linux's perf_branch_entry has it, without the kind of branch.  Context: any. */
uint64_t upmu_branch_flags(uint64_t info);
#endif

/*
 * Return upmu_cpu_gate_value() of UPMU_WORLD_GUEST, the value of the enabling register for the entry of a guest; the
 * call disables interrupts meanwhile.  0: the hardware does not change this register at entry and exit
 * (upmu_cpu_world_by_hardware()).
 *
 * Context: any, on this CPU.
 */
uint64_t upmu_cpu_guest_gate(struct upmu_cpu *cpu);

/* Does a session run on a counter of this CPU now?  False also if there is no such counter.  Context: local. */
bool upmu_counter_runs(const struct upmu_cpu *cpu, unsigned counter);

/* ---- PMUs and events: the registers that an event uses, and the rights that a program needs for it ---- */

/* Is a PMU driven by the AMD backend, whose CPUs are AMD's and Hygon's?  Context: any. */
bool upmu_pmu_is_amd(const struct upmu_pmu *pmu);

/*
 * Does an event that runs on a counter use the register of a row, in addition to the counter's own registers?  Such
 * registers are payload registers, and on NetBurst ESCRs.
 *
 * Context: any.
 */
bool upmu_event_uses_row(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter, unsigned row);

#if UPMU_UNCORE && UPMU_NAMES

/* A field of the words of a unit's events, as texts of events and Linux's files name it: "thresh", "filter_opc". */
struct upmu_unit_field {
    const char *name; /* as texts of events have it; of the library's tables */
    uint64_t bits; /* of the word; in one piece or several, of which the lowest has the lowest bits of the value */
    unsigned word; /* 0: upmu_event.config, 1: config1, 2: config2 */
};

/*
 * Get a field of the words that events of a unit's PMU can have: fields have indices from 0 on, the first is "event".
 * No two fields have a name or a bit in common.  Returns false: there is none with this index.  Context: any.
 */
bool upmu_uncore_field(const struct upmu_pmu *pmu, unsigned index, struct upmu_unit_field *out_field);

#endif

/*
 * Rights that a program needs for an event that counts more than the user mode of the program's own thread.  Each layer
 * of abi/ asks its host by a hook `may_use` whether a program has them.
 */
#define UPMU_RIGHT_KERNEL (1u << 0)     /* to count the kernel's mode */
#define UPMU_RIGHT_BEYOND (1u << 1)     /* to count other threads, CPUs or guests: AnyThread, a northbridge, a bus */
#define UPMU_RIGHT_PRIVILEGED (1u << 2) /* to set bits of UPMU_LEVEL_PRIVILEGED: payload registers */
#define UPMU_RIGHT_ADDRESSES (1u << 3)  /* to get addresses of the kernel in samples and messages; of no event */

/*
 * Return the rights that an event needs (UPMU_RIGHT_KERNEL to _PRIVILEGED), by the registers that it uses on any of the
 * counters on which it may run.  For an event that no counter of the PMU can count, all three.
 *
 * Context: any.
 */
uint32_t upmu_rights_of(const struct upmu_pmu *pmu, const struct upmu_event *event);

/* ---- The events of a set, and their counting state: no call of this part accesses a register ---- */

/*
 * Return the encoded event with an index in a set; NULL: the set has no such event.  The pointer is valid until the set
 * gets other events.
 *
 * Context: any.
 */
const struct upmu_event *upmu_set_event(const struct upmu_set *set, unsigned index);

/* The counting state of an event at the last fold of its counter. */
struct upmu_progress {
    uint64_t count;     /* number of events counted */
    uint64_t due;       /* of an event that samples: the count at which the next sample is due; else 0 */
    uint64_t reset;     /* of an event that samples: the present period, with its random part; else 0 */
    uint32_t to_switch; /* of an event that samples: overflows until the next set, once its set has run; 0: no switch */
    uint32_t overflows; /* of an event that samples: number of periods completed */
    uint32_t lost;      /* of these, the number that gave no sample: throttled, too short, or the session masked */
    bool lent;          /* true: upmu_set_lend() was called for the event, and still holds */
};

/*
 * Get the counting state of the event with an index in a set.  All 0: the set has no such event.
 *
 * Context: any; exact while the session does not run.
 */
void upmu_set_progress(const struct upmu_set *set, unsigned index, struct upmu_progress *out_progress);

/*
 * Set the counting state of an event of a detached session: `count` of `from`, and if the event samples also `due`,
 * `reset` and `to_switch` (overflows until the next set).  Other fields of `from` are ignored.  So an event that
 * replaces another one can continue with the state of the former.  The period after the present one is that of the
 * event's own sampling attributes.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached, or a set of no session); UPMU_ERR_INVALID (no such event; of an event
 * that samples `reset` is 0 or above 2^63 - 1, or `due` is not 1 to 2^63 - 1 above `count`).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_continue(struct upmu_set *set, unsigned index, const struct upmu_progress *from);

/*
 * Remove all events of a set.  The set stays in the chain, with its number, flags and times.  If the events named a
 * world (upmu/world.h), or sampled precisely (then it is that of the host), the session keeps that world;
 * upmu_session_world() changes it.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (not detached, or a set of no session).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_clear(struct upmu_set *set);

/*
 * For upmu_format.overflow: return upmu_sampling.event_id of the event that overflowed; 0 without UPMU_FORMATS.
 *
 * Context: nmi.
 */
uint64_t upmu_overflow_event_id(const struct upmu_overflow *overflow);

/* ---- Sessions ---- */

/* Facts about a session: its CPU, its thread, its active set, and the events that masked it (upmu_session_ask()). */
struct upmu_session_info {
    struct upmu_cpu *cpu;       /* CPU to which the session is attached, or where it has joined with its thread; of a
                                   unit's session the CPU that drives the unit; NULL: no CPU */
    struct upmu_thread *thread; /* thread to which the session is attached, or NULL */
    struct upmu_set *active;    /* set that runs, or runs first at the next start; NULL: the session has no set */
    uint32_t stopped_by;        /* mask: events of `active` that masked the session; their long periods are next */
};

/* Fill in *out_info, the facts about a session.  Context: any; exact while the session does not run. */
void upmu_session_ask(const struct upmu_session *session, struct upmu_session_info *out_info);

/*
 * Treat a stopped session as if events of its active set had masked it.  `stopped_by` is a mask of these events: they
 * begin their long periods at the next start.  `masked` true: the session becomes UPMU_SESSION_MASKED, and
 * upmu_session_restart() starts it.  False: it stays UPMU_SESSION_STOPPED.
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not stopped).
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_continue(struct upmu_session *session, uint32_t stopped_by, bool masked);

/*
 * Let the thread continue that a message of this session has blocked (upmu_notify.block).  Call it if a masked session
 * is started or ended by another call than upmu_session_restart().  Nothing is done if no thread is blocked.
 *
 * Context: any.
 */
void upmu_message_restarted(struct upmu_session *session);

/*
 * Call `rename` for each message in the queue of a detached session, the oldest first; `rename` may change all fields
 * of the message.  So a layer can correct the events that waiting messages name, before the session gets other events.
 * Without UPMU_MESSAGES nothing is done.
 *
 * Context: any; by the queue's one reader.  `rename` has the same context, and makes no call on the queue.
 */
void upmu_queue_rename(struct upmu_queue *queue, void (*rename)(void *context, struct upmu_message *message),
                       void *context);

#ifdef __cplusplus
}
#endif

#endif
