/* SPDX-License-Identifier: MIT */
/*
 * Functions of the guest engine for its own files and for doors: virtual counters, and the host's sessions that count
 * for them. The engine names no register of a guest; the table of a door (guest_door.h) says what registers mean.
 */
#ifndef UPMU_ABI_GUEST_CORE_H
#define UPMU_ABI_GUEST_CORE_H

#include <abi/guest/guest_door.h>
#include <upmu/abi.h>

/* Bits of upmu_guest_counter.flags, the state of a virtual counter. */
/* the counter's session has the event for the select of which `applied` is the word */
#define GUEST_COUNTER_EVENT (1u << 0)
#define GUEST_COUNTER_INT (1u << 1)     /* the event was given for a counter whose overflows interrupt the guest */
/* the guest wrote while the session ran: `before`, not `value`, belongs to `origin` */
#define GUEST_COUNTER_WRITTEN (1u << 2)
/* load_counter() has to set when the session's counter overflows, or its value */
#define GUEST_COUNTER_LOAD (1u << 3)
/* the host's interrupt is set to come after the overflow, because of min_period */
#define GUEST_COUNTER_LATE (1u << 4)
/* the session may only use the host's counter with the same number (UPMU_GUEST_PASSES) */
#define GUEST_COUNTER_OWN (UPMU_LOANS << 5)
/* the host uses that counter: any other may serve until another select is written */
#define GUEST_COUNTER_AWAY (UPMU_LOANS << 6)

/* the event of the present select is refused, and `denied` has been increased for it */
#define GUEST_COUNTER_DENIED (1u << 7)

/* Add 1 to a field of the vCPU's struct upmu_guest_statistics, if the host has set one. */
#define GUEST_ADD_ONE(guest, sum)                                                                                      \
    do {                                                                                                               \
        if ((guest)->statistics)                                                                                       \
            (guest)->statistics->sum++;                                                                                \
    } while (0)

/*
 * Return the virtual counter with a number that the guest gave. The mask keeps the index within the array even when a
 * CPU executes speculatively.
 */
static inline struct upmu_guest_counter *upmu_guest_counter(struct upmu_guest *guest, unsigned counter)
{
    return &guest->counter[counter & (UPMU_GUEST_COUNTERS - 1u)];
}

static inline const struct upmu_pmu *upmu_guest_pmu(const struct upmu_guest *guest)
{
    return &guest->machine->pmu[0];
}

/*
 * Read the sessions of those counters of a mask that are started. Afterwards their values, `raised` and `pending` are
 * up to date.
 */
void upmu_guest_fold(struct upmu_guest *guest, uint32_t counters);
/*
 * Read the session of one counter that is started. Returns UPMU_OK, or the failure of upmu_set_read(): then the counter
 * is unchanged.
 */
enum upmu_status upmu_guest_fold_one(struct upmu_guest *guest, unsigned counter);

/*
 * The two halves of upmu_guest_enter(). The first one finds overflows, brings the sessions to what the registers say,
 * and stores the interrupt to inject. It returns the CPU that the vCPU is on, or NULL: the vCPU is on none. The second
 * one opens the counters. An overflow that is noted between the two is reported at the next entry.
 */
struct upmu_cpu *upmu_guest_prepare(struct upmu_guest *guest, struct upmu_guest_entry *out_entry);
enum upmu_status upmu_guest_enter_prepared(struct upmu_guest *guest, struct upmu_cpu *cpu,
                                           struct upmu_guest_entry *out_entry);

/*
 * Read all counters that count. Then return those counters of a mask that are in guest->raised (overflowed, and not yet
 * cleared by the guest), and clear them there.
 */
uint32_t upmu_guest_lower(struct upmu_guest *guest, uint32_t counters);

/* Return the guest's value of a counter as of now. */
uint64_t upmu_guest_value(struct upmu_guest *guest, unsigned counter);

/* Return upmu_guest_counter.total of a counter as of now: all events that it has ever counted. */
static inline uint64_t upmu_guest_total(struct upmu_guest *guest, unsigned counter)
{
    upmu_guest_fold(guest, UPMU_BIT32(counter));
    return guest->counter[counter].total;
}

/*
 * Store what the guest wrote: set_value() the value of a counter; set_select() its select, with the event, the rings
 * and the interrupt bit. Sessions change at the next entry.
 */
void upmu_guest_set_value(struct upmu_guest *guest, unsigned counter, uint64_t value);
void upmu_guest_set_select(struct upmu_guest *guest, unsigned counter, uint64_t select);

/*
 * Set guest->counters to the counters of guest->shape, and mark all counters as dirty, so that the next entry stops the
 * sessions of counters that no longer exist.
 */
void upmu_guest_count_shape(struct upmu_guest *guest);
/* Set all registers of the guest to their values after a reset. The shape does not change. */
void upmu_guest_reset_registers(struct upmu_guest *guest);

/* Let a counter count `more` events now: overflows are found as in upmu_guest_fold_one(). */
void upmu_guest_add(struct upmu_guest *guest, unsigned counter, uint64_t more);

/*
 * Return how many events a counter is before its overflow when it has this value. A session waits 2^63 - 1 events at
 * most, which no counter reaches.
 */
uint64_t upmu_guest_left(const struct upmu_guest *guest, unsigned counter, uint64_t value);

/* Add a trapped access to the vCPU's statistics, unless the answer is NOT_OURS. Returns `access`. */
static inline enum upmu_guest_access upmu_guest_note_trap(const struct upmu_guest *guest,
                                                          enum upmu_guest_access access, bool write)
{
    struct upmu_guest_statistics *statistics = guest->statistics;

    if (!statistics || access == UPMU_GUEST_NOT_OURS)
        return access;
    statistics->traps_read += !write;
    statistics->traps_write += write;
    statistics->faults += access == UPMU_GUEST_FAULT || access == UPMU_GUEST_TRAP_EL1;
    return access;
}

/* The policy of a guest for which the host gave NULL: level IPC, without flags. */
extern const struct upmu_guest_policy upmu_guest_default_policy;

static inline const struct upmu_guest_policy *upmu_guest_policy(const struct upmu_guest_policy *policy)
{
    return policy ? policy : &upmu_guest_default_policy;
}

/* Are level, flags and min_period of a policy within the limits of guest.h? */
bool upmu_guest_policy_is_valid(const struct upmu_guest_policy *policy);

#endif
