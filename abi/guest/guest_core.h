/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the parts of the guest engine: virtual counters and the host's sessions for them. The engine names
 * no register of a guest; the table of a door (guest_door.h) says what registers mean.
 */
#ifndef UPMU_ABI_GUEST_CORE_H
#define UPMU_ABI_GUEST_CORE_H

#include <abi/guest/guest_door.h>
#include <upmu/abi.h>

/* Bits of upmu_guest_counter.flags. */
#define GUEST_COUNTER_EVENT (1u << 0)   /* the counter's session has the event of `applied` */
#define GUEST_COUNTER_INT (1u << 1)     /* the counter's session samples: overflows interrupt */
#define GUEST_COUNTER_WRITTEN (1u << 2) /* written while the session ran: `before`, not `value`, belongs to `origin` */
#define GUEST_COUNTER_LOAD (1u << 3)    /* the session is still to learn when the counter overflows */
#define GUEST_COUNTER_LATE (1u << 4)    /* the interrupt comes later than the overflow, because of min_period */
#define GUEST_COUNTER_OWN (UPMU_LOANS << 5)  /* the session is to use the host's counter with the same number */
#define GUEST_COUNTER_AWAY (UPMU_LOANS << 6) /* the host uses that counter itself: any will do until the next select */

#define GUEST_COUNTER_DENIED (1u << 7)  /* the select was refused, and counted in `denied` */

/* Add 1 to a sum of the host's statistics, if the host has any. */
#define GUEST_ADD_ONE(guest, sum)                                                                                      \
    do {                                                                                                               \
        if ((guest)->statistics)                                                                                       \
            (guest)->statistics->sum++;                                                                                \
    } while (0)

/* Return the counter for a number that the guest gave: within the array, even if a CPU speculates. */
static inline struct upmu_guest_counter *upmu_guest_counter(struct upmu_guest *guest, unsigned counter)
{
    return &guest->counter[counter & (UPMU_GUEST_COUNTERS - 1u)];
}

static inline const struct upmu_pmu *upmu_guest_pmu(const struct upmu_guest *guest)
{
    return &guest->machine->pmu[0];
}

/* Read the sessions of these counters: values, status and pending interrupts are up to date then. */
void upmu_guest_fold(struct upmu_guest *guest, uint32_t counters);
/*
 * Do as upmu_guest_fold() for one counter that is started. Returns UPMU_OK, or the failure of upmu_set_read(): then
 * the counter is unchanged.
 */
enum upmu_status upmu_guest_fold_one(struct upmu_guest *guest, unsigned counter);

/*
 * The two halves of upmu_guest_enter(). The first one does all that may find an overflow, stores what the guest is told
 * about overflows, and returns the CPU (NULL: the vCPU is on none). The second one opens gates. An overflow that is
 * noted between them is told at the next entry.
 */
struct upmu_cpu *upmu_guest_prepare(struct upmu_guest *guest, struct upmu_guest_entry *out_entry);
enum upmu_status upmu_guest_enter_prepared(struct upmu_guest *guest, struct upmu_cpu *cpu,
                                           struct upmu_guest_entry *out_entry);

/*
 * Return which of these counters have an overflow that the guest is to see, as of now, and note that the guest has seen
 * them.
 */
uint32_t upmu_guest_lower(struct upmu_guest *guest, uint32_t counters);

/* Return the value of a counter as of now. */
uint64_t upmu_guest_value(struct upmu_guest *guest, unsigned counter);

/* Return how many events a counter has counted in all until now. */
static inline uint64_t upmu_guest_total(struct upmu_guest *guest, unsigned counter)
{
    upmu_guest_fold(guest, UPMU_BIT32(counter));
    return guest->counter[counter].total;
}

/*
 * Take what the guest wrote: the value of a counter; its select, which has the event, the rings and whether it
 * interrupts.
 */
void upmu_guest_set_value(struct upmu_guest *guest, unsigned counter, uint64_t value);
void upmu_guest_set_select(struct upmu_guest *guest, unsigned counter, uint64_t select);

/* Use the counters of guest->shape: those that are new or gone are settled at the next entry. */
void upmu_guest_count_shape(struct upmu_guest *guest);
/* Set all registers as after a reset. The shape does not change. */
void upmu_guest_reset_registers(struct upmu_guest *guest);

/* The policy of a guest for which the host chose none. */
extern const struct upmu_guest_policy upmu_guest_default_policy;

static inline const struct upmu_guest_policy *upmu_guest_policy(const struct upmu_guest_policy *policy)
{
    return policy ? policy : &upmu_guest_default_policy;
}

/* Is a policy within the limits of guest.h? */
bool upmu_guest_policy_is_valid(const struct upmu_guest_policy *policy);

#endif
