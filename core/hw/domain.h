/* SPDX-License-Identifier: MIT */
/*
 * Domains: claims on what several CPUs share.  A claim word is taken and released with a 32-bit compare-and-swap; only
 * holders write the register.
 */
#ifndef UPMU_CORE_DOMAIN_H
#define UPMU_CORE_DOMAIN_H

#include <upmu/cpu.h>
#include <upmu/place.h>
#include <upmu/pmu.h>

/* The most CPUs that one domain can have. */
#define UPMU_DOMAIN_CPUS 16

/*
 * Join a domain, or leave it: a CPU has a number there meanwhile (*out_number).  upmu_domain_join() returns false where
 * the domain is full.
 */
bool upmu_domain_join(struct upmu_domain *domain, uint8_t *out_number);
void upmu_domain_leave(struct upmu_domain *domain, uint8_t number);

/*
 * Note that a CPU has taken over the PMU.  upmu_domain_end() notes that the CPU leaves or sleeps; it returns true if no
 * CPU of the domain is left that has taken over.
 */
void upmu_domain_begin(struct upmu_domain *domain, uint8_t number);
bool upmu_domain_end(struct upmu_domain *domain, uint8_t number);

/* Has another CPU of the domain taken over? */
bool upmu_domain_others(const struct upmu_domain *domain, uint8_t number);

/*
 * Get the found value of a shared register, which a CPU of the domain has stored by upmu_domain_remember(): the value
 * before the first CPU took over.  Returns false: there is none yet.
 */
bool upmu_domain_recall(const struct upmu_domain *domain, unsigned row, uint64_t *out_value);
void upmu_domain_remember(struct upmu_domain *domain, unsigned row, uint64_t value);

/* Forget the found value of the register of a counter that the host has reserved: it is not to be restored. */
void upmu_domain_disown(struct upmu_domain *domain, unsigned row);

/*
 * The last CPU has restored the registers: forget all found values, so that the next CPU reads them anew, and which
 * counters were written (`used`).
 */
void upmu_domain_forget(struct upmu_domain *domain);

/* The outcome of upmu_domain_claim(). */
enum upmu_claim {
    UPMU_CLAIM_LOST = 0, /* not claimed: another CPU holds it, or was faster */
    UPMU_CLAIM_NEW,      /* claimed, perhaps for the first time; other CPUs may have changed the register before */
    UPMU_CLAIM_KEPT      /* claimed; no other CPU has changed the register since this CPU claimed it before */
};

/* Bit of a claim word: its only holder no longer needs it, and any CPU can take it. */
#define UPMU_CLAIM_PARKED (UINT32_C(1) << 17)

/* Indices of claim words: a resource's number, or UPMU_DOMAIN_COUNTER() of a counter. */
#define UPMU_DOMAIN_COUNTER(counter) (UPMU_RESOURCES + (counter))
#define UPMU_DOMAIN_CLAIMS UPMU_DOMAIN_COUNTER(UPMU_COUNTERS)

/*
 * Claim a counter for this CPU alone, or a resource with a value; several CPUs may hold a resource with an equal value.
 * `what`: index of the claim word.  If this CPU alone holds the resource with another value already, running sessions
 * may use that value: then no other CPU can claim the resource from now on, and the value stays the former one until
 * upmu_domain_settle() or upmu_domain_park().
 */
enum upmu_claim upmu_domain_claim(struct upmu_domain *domain, uint8_t number, unsigned what, uint64_t value);

/*
 * Store a new value of a resource that this CPU holds with another value, if this CPU has claimed the new one.
 * Otherwise do nothing.
 */
void upmu_domain_settle(struct upmu_domain *domain, uint8_t number, unsigned what, uint64_t value);

/* Does this CPU hold this claim, and is it not parked? */
static inline bool upmu_domain_holds(const uint32_t *word, uint8_t number)
{
    return (__atomic_load_n(word, __ATOMIC_RELAXED) & (UINT32_C(1) << number | UPMU_CLAIM_PARKED)) ==
           UINT32_C(1) << number;
}

/* Does this CPU hold this claim, or has it parked the claim, and no other CPU has taken it since? */
static inline bool upmu_domain_keeps(const uint32_t *word, uint8_t number)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED) >> number & 1u;
}

/* Park a claim: other CPUs can take it.  If none does, this CPU's next claim returns UPMU_CLAIM_KEPT. */
void upmu_domain_park(struct upmu_domain *domain, uint8_t number, unsigned what);

/* Release a claim.  If this CPU's next claim is not lost, it returns UPMU_CLAIM_NEW. */
void upmu_domain_release(struct upmu_domain *domain, uint8_t number, unsigned what);

/* Returns the counters that other CPUs of the domain hold, and have not parked. */
uint32_t upmu_domain_taken(const struct upmu_domain *domain, uint8_t number);

/*
 * Store in held[] the resources that other CPUs hold and have not parked, with their values, at most `capacity`.
 * Returns their number.
 */
unsigned upmu_domain_held(const struct upmu_domain *domain, uint8_t number, struct upmu_held *held, unsigned capacity);

#endif
