/* SPDX-License-Identifier: MIT */
/*
 * Words and questions of layers that show the library to programs or guests: those of the folder abi/, or one of your
 * own.  A kernel that counts for itself needs none of them, and <upmu/upmu.h> does not include this header.
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

/* ---- Bits: nothing here calls the compiler's runtime library ---- */

/* Bit n alone. */
#define UPMU_BIT32(n) (UINT32_C(1) << (n))
#define UPMU_BIT64(n) (UINT64_C(1) << (n))

/*
 * Ones in a mask, of which there are few: a loop is the shortest, and gcc's __builtin_popcount calls libgcc.
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

/* RISC-V counts zeros by an instruction only with Zbb: the compiler would call its library. */
#if defined __riscv && !defined __riscv_zbb
#define UPMU_BITS_BY_HAND 1
#else
#define UPMU_BITS_BY_HAND 0
#endif

#if UPMU_BITS_BY_HAND

/* Index of the one of a mask that has no other.  Context: any. */
static inline unsigned upmu_bits_index(uint32_t one)
{
    return (unsigned)((one & 0xffff0000u) != 0) << 4 | (unsigned)((one & 0xff00ff00u) != 0) << 3 |
           (unsigned)((one & 0xf0f0f0f0u) != 0) << 2 | (unsigned)((one & 0xccccccccu) != 0) << 1 |
           (unsigned)((one & 0xaaaaaaaau) != 0);
}

#endif

/* Index of the lowest one of a mask that is not 0.  Context: any. */
static inline unsigned upmu_bits_lowest(uint32_t mask)
{
#if UPMU_BITS_BY_HAND
    return upmu_bits_index(mask & (0u - mask));
#else
    return (unsigned)__builtin_ctz(mask);
#endif
}

/* As upmu_bits_lowest(), for 64 bits.  Context: any. */
static inline unsigned upmu_bits_lowest64(uint64_t mask)
{
    return (uint32_t)mask ? upmu_bits_lowest((uint32_t)mask) : 32u + upmu_bits_lowest((uint32_t)(mask >> 32));
}

/* Index of the highest one of a mask that is not 0.  Context: any. */
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

/* Low `width` bits set, width 1 to 64.  Context: any. */
static inline uint64_t upmu_bits_ones(unsigned width)
{
    return ~UINT64_C(0) >> ((64u - width) & 63u);
}

/* The low `width` bits of a value, width 1 to 64.  Context: any. */
static inline uint64_t upmu_bits_low(uint64_t value, unsigned width)
{
    unsigned above = (64u - width) & 63u;

    return value << above >> above;
}

/* A mask of rows (upmu_pmu.present): is one in it, put one in, take one out.  Context: any. */
static inline bool upmu_rows_has(const uint32_t *rows, unsigned row)
{
    return (rows[row >> 5] >> (row & 31u)) & 1u;
}

/* See upmu_rows_has(). */
static inline void upmu_rows_set(uint32_t *rows, unsigned row)
{
    rows[row >> 5] |= UPMU_BIT32(row & 31u);
}

/* See upmu_rows_has(). */
static inline void upmu_rows_clear(uint32_t *rows, unsigned row)
{
    rows[row >> 5] &= ~UPMU_BIT32(row & 31u);
}

/*
 * dividend / divisor; *out_rest what is left.  A divisor of 0 gives all ones.
 *
 * Context: any.
 */
uint64_t upmu_divide(uint64_t dividend, uint64_t divisor, uint64_t *out_rest);

/* ---- The machine ---- */

/*
 * The CPU that executes the call, as the hook this_cpu says; without that hook the only one, NULL if there is none.
 *
 * Context: any.  With interrupts on the caller may be moved to another CPU before it looks at the answer.
 */
struct upmu_cpu *upmu_machine_this_cpu(const struct upmu_machine *machine);

/*
 * Does this CPU execute the call?  True also where no hook says which one does.
 *
 * Context: as upmu_machine_this_cpu().
 */
bool upmu_machine_runs_on(const struct upmu_machine *machine, const struct upmu_cpu *cpu);

/* Has the port a clock?  Context: any. */
bool upmu_machine_has_clock(const struct upmu_machine *machine);

/* Has the port interrupts at overflows?  Context: any. */
bool upmu_machine_has_pmi(const struct upmu_machine *machine);

/*
 * The value for the entry of a guest of upmu_cpu_gate_value(), which an interrupt does not divide; 0: the hardware does
 * not change the register (upmu_cpu_world_by_hardware()).
 *
 * Context: any, on this CPU.
 */
uint64_t upmu_cpu_guest_gate(struct upmu_cpu *cpu);

/* Does a session run on a counter of this CPU now?  False: there is no such counter.  Context: local. */
bool upmu_counter_runs(const struct upmu_cpu *cpu, unsigned counter);

/* ---- PMUs and events ---- */

/* Is a PMU AMD's or Hygon's?  Context: any. */
bool upmu_pmu_is_amd(const struct upmu_pmu *pmu);

/*
 * Does an event, when it runs on a counter, need the register of a row beside those of its counter: a payload register,
 * on NetBurst an ESCR?
 *
 * Context: any.
 */
bool upmu_event_uses_row(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter, unsigned row);

/*
 * Rights that an event needs beyond counting the user mode of its own thread.  Every interface for programs asks its
 * host for them by one hook, `may_use`.
 */
#define UPMU_RIGHT_KERNEL (1u << 0)     /* the kernel's mode */
#define UPMU_RIGHT_BEYOND (1u << 1)     /* events of other threads, CPUs or guests: AnyThread, a northbridge, a bus */
#define UPMU_RIGHT_PRIVILEGED (1u << 2) /* needs bits of UPMU_LEVEL_PRIVILEGED: payload registers */
#define UPMU_RIGHT_ADDRESSES (1u << 3)  /* addresses of the kernel in samples and messages; asked without an event */

/*
 * The rights that an event needs, by the registers of each counter that it may run on.  An event that no counter of the
 * PMU can count needs all rights.
 *
 * Context: any.
 */
uint32_t upmu_rights_of(const struct upmu_pmu *pmu, const struct upmu_event *event);

/* ---- Events of sets: no call here accesses a register ---- */

/*
 * An event of a set, as it was encoded.  NULL: there is no event with this index.  The pointer is good until the set
 * gets other events.
 *
 * Context: any.
 */
const struct upmu_event *upmu_set_event(const struct upmu_set *set, unsigned index);

/* How far an event is, up to the last fold of its counter. */
struct upmu_progress {
    uint64_t count;     /* events counted */
    uint64_t due;       /* of an event that samples: the count at which the next sample is due ... */
    uint64_t reset;     /* ... and the present period, with its random part; 0: the event only counts */
    uint32_t to_switch; /* overflows until the next set (upmu_sampling.switch_after); 0: none */
    uint32_t overflows; /* periods completed */
    uint32_t lost;      /* of these, periods without a sample: throttled, or too short */
    bool lent;          /* upmu_set_lend() holds for it */
};

/*
 * How far an event of a set is.  All 0: there is no event with this index.
 *
 * Context: any; exact while the session does not run.
 */
void upmu_set_progress(const struct upmu_set *set, unsigned index, struct upmu_progress *out_progress);

/*
 * Let an event of a detached session go on from `count`, and where it samples from `due`, `reset` and `to_switch` of
 * `from`: an event that was made anew continues where the former one stood.  Other fields of `from` are ignored.  The
 * period after the present one is that of the event.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached, or a set of no session); UPMU_ERR_INVALID (no such event; of an event
 * that samples `reset` is 0 or above 2^63 - 1, or `due` is not 1 to 2^63 - 1 above `count`).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_continue(struct upmu_set *set, unsigned index, const struct upmu_progress *from);

/*
 * Forget all events of a set; the set stays in the chain, with its number, flags and times.  A world that its events
 * named stays the session's.
 *
 * Returns UPMU_OK, UPMU_ERR_STATE (not detached, or a set of no session).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_clear(struct upmu_set *set);

/*
 * For upmu_format.overflow: upmu_sampling.event_id of the event that overflowed.
 *
 * Context: nmi.
 */
uint64_t upmu_overflow_event_id(const struct upmu_overflow *overflow);

/* ---- Sessions ---- */

/* Facts about a session. */
struct upmu_session_info {
    struct upmu_cpu *cpu;       /* that it is attached to, or that runs its thread with it; NULL: on none */
    struct upmu_thread *thread; /* that it is attached to, or NULL */
    struct upmu_set *active;    /* the set that runs, or runs first at the next start; NULL: it has no set */
    uint32_t stopped_by;        /* events of this set that masked the session: their long periods are next */
};

/* Get the facts about a session.  Context: any; exact while the session does not run. */
void upmu_session_ask(const struct upmu_session *session, struct upmu_session_info *out_info);

/*
 * Let an attached session that is stopped go on as one that the events `stopped_by` of its active set had masked: they
 * begin their long periods at the next start.  `masked` true: it is UPMU_SESSION_MASKED, and upmu_session_restart()
 * starts it.  False: it stays stopped.
 *
 * Returns UPMU_OK or UPMU_ERR_STATE (not stopped).
 * Context: local; any while its thread does not run.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_continue(struct upmu_session *session, uint32_t stopped_by, bool masked);

/*
 * A masked session goes on, or ends, by another way than upmu_session_restart(): a thread that its message blocks
 * continues (upmu/message.h).
 *
 * Context: any.
 */
void upmu_message_restarted(struct upmu_session *session);

/*
 * Call `rename` for each message in the queue of a detached session, oldest first; it may change all fields.  So
 * messages that wait name events by numbers that stay true when the session gets other events.  Without UPMU_MESSAGES
 * there are none.
 *
 * Context: any; by the queue's one reader.  `rename` has the same context, and makes no call on the queue.
 */
void upmu_queue_rename(struct upmu_queue *queue, void (*rename)(void *context, struct upmu_message *message),
                       void *context);

#ifdef __cplusplus
}
#endif

#endif
