/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the parts of the guest engine: virtual counters and the host's sessions for them.  No register of a
 * guest has a name here; the table of a door (guest_door.h) says what registers mean.
 */
#ifndef UPMU_ABI_GUEST_CORE_H
#define UPMU_ABI_GUEST_CORE_H

#include <abi/guest/guest_door.h>
#include <upmu/abi.h>

/* Bits of upmu_guest_counter.flags. */
#define GUEST_COUNTER_EVENT (1u << 0)   /* its session has the event of `applied` */
#define GUEST_COUNTER_INT (1u << 1)     /* its session samples: overflows interrupt */
#define GUEST_COUNTER_WRITTEN (1u << 2) /* while its session ran: `before` and `origin` belong together */
#define GUEST_COUNTER_LOAD (1u << 3)    /* its session does not know when it overflows */
#define GUEST_COUNTER_LATE (1u << 4)    /* its interrupt comes after its overflow: min_period */
#define GUEST_COUNTER_OWN (UPMU_LOANS << 5)  /* its session is to have the host's counter of its number */
#define GUEST_COUNTER_AWAY (UPMU_LOANS << 6) /* the host has that one: any will do, until the guest selects anew */

#define GUEST_COUNTER_DENIED (1u << 7)  /* its select was refused, and `denied` says so */

/* A counter number that came from the guest, within the array whatever a CPU speculates. */
static inline struct upmu_guest_counter *upmu_guest_counter(struct upmu_guest *guest, unsigned counter)
{
    return &guest->counter[counter & (UPMU_GUEST_COUNTERS - 1u)];
}

static inline const struct upmu_pmu *upmu_guest_pmu(const struct upmu_guest *guest)
{
    return &guest->machine->pmu[0];
}

/* Read these counters of the host: values, status and pending interrupts are up to date then. */
void upmu_guest_fold(struct upmu_guest *guest, uint32_t counters);
/* As upmu_guest_fold(), for a counter that is started.  UPMU_OK, or as upmu_session_read(): the counter is as it
 * was. */
enum upmu_status upmu_guest_fold_one(struct upmu_guest *guest, unsigned counter);

/*
 * The halves of upmu_guest_enter(): all that may find an overflow, and what the guest is told of these; then gates.
 * What is noted between them is told at the next entry.  The first returns the CPU, or NULL: the vCPU is on none.
 */
struct upmu_cpu *upmu_guest_prepare(struct upmu_guest *guest, struct upmu_guest_entry *out_entry);
enum upmu_status upmu_guest_enter_prepared(struct upmu_guest *guest, struct upmu_cpu *cpu,
                                           struct upmu_guest_entry *out_entry);

/* Counters of these whose overflow the guest is to see, as of now: they are not raised any more. */
uint32_t upmu_guest_lower(struct upmu_guest *guest, uint32_t counters);

/* The value of a counter now. */
uint64_t upmu_guest_value(struct upmu_guest *guest, unsigned counter);

/* The number of events that a counter counted in all until now. */
static inline uint64_t upmu_guest_total(struct upmu_guest *guest, unsigned counter)
{
    upmu_guest_fold(guest, UPMU_BIT32(counter));
    return guest->counter[counter].total;
}

/* The guest gave a counter a value; another select, which says its event, rings and wish for interrupts. */
void upmu_guest_set_value(struct upmu_guest *guest, unsigned counter, uint64_t value);
void upmu_guest_set_select(struct upmu_guest *guest, unsigned counter, uint64_t select);

/* The counters of guest->shape: those that are new or gone settle at the next entry. */
void upmu_guest_count_shape(struct upmu_guest *guest);
/* Registers as after a reset; the shape is as it was. */
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
