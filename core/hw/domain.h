/* SPDX-License-Identifier: MIT */
/*
 * Domains: claims on the counters and resources that several CPUs share.  A claim word is taken and released by a
 * 32-bit compare-and-swap.  Only a CPU that holds the claim writes the register, and the last CPU that leaves or
 * sleeps, which restores it.
 */
#ifndef UPMU_CORE_DOMAIN_H
#define UPMU_CORE_DOMAIN_H

#include <upmu/cpu.h>
#include <upmu/place.h>
#include <upmu/pmu.h>

/* How many CPUs a domain can have at most: each is a bit of a claim word. */
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

/* Has any CPU of the domain but number `number` taken over, and not left or gone to sleep since? */
bool upmu_domain_others(const struct upmu_domain *domain, uint8_t number);

/*
 * upmu_domain_remember() stores the value that a shared register held before the first CPU of the domain took over;
 * upmu_domain_recall() gets it.  Returns false: none is stored.
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

/* The results of upmu_domain_claim(). */
enum upmu_claim {
    UPMU_CLAIM_LOST = 0, /* not claimed: another CPU holds it, or was faster */
    UPMU_CLAIM_NEW,      /* claimed, perhaps for the first time; other CPUs may have changed the register before */
    UPMU_CLAIM_KEPT      /* claimed; no other CPU has changed the register since this CPU claimed it before */
};

/* Bit of a claim word: the CPU that holds the claim no longer needs it, and any CPU can take it. */
#define UPMU_CLAIM_PARKED (UINT32_C(1) << 17)

/* Index of a claim word in upmu_domain.claim: of a resource its number, of a counter UPMU_DOMAIN_COUNTER(). */
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

/* Does CPU `number` hold the claim of this word, without having parked it? */
static inline bool upmu_domain_holds(const uint32_t *word, uint8_t number)
{
    return (__atomic_load_n(word, __ATOMIC_RELAXED) & (UINT32_C(1) << number | UPMU_CLAIM_PARKED)) ==
           UINT32_C(1) << number;
}

/*
 * Does CPU `number` hold the claim of this word, or has it parked the claim, without another CPU having taken it since?
 */
static inline bool upmu_domain_keeps(const uint32_t *word, uint8_t number)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED) >> number & 1u;
}

/* Park a claim: other CPUs can take it.  If none does, this CPU's next claim returns UPMU_CLAIM_KEPT. */
void upmu_domain_park(struct upmu_domain *domain, uint8_t number, unsigned what);

/*
 * Release a claim.  If this CPU's next claim is not lost, it returns UPMU_CLAIM_NEW.  Not for a resource of which this
 * CPU has claimed a new value that upmu_domain_settle() has not stored yet.
 */
void upmu_domain_release(struct upmu_domain *domain, uint8_t number, unsigned what);

/*
 * The filter register of branch records where CPUs of a domain share it (Nehalem, Westmere).  The word that
 * upmu_domain_filter() returns has the CPUs that record, and the value that the first of them found in the register.
 * The two calls that change the word return false if it is no longer `word`: then look at the register and the word
 * again.
 */
uint32_t upmu_domain_filter(const struct upmu_domain *domain);

/* Note that a CPU records, and `found` in the register.  If another CPU records already, `found` is ignored. */
bool upmu_domain_filter_join(struct upmu_domain *domain, uint8_t number, uint32_t word, uint64_t found);

/* Note that a CPU no longer records. */
bool upmu_domain_filter_leave(struct upmu_domain *domain, uint8_t number, uint32_t word);

/*
 * Does a CPU that ends its recording have to write the filter register?  *out_value: the value that was found; 0 while
 * another CPU records.  Returns false if 0 was found, so that no CPU has written the register.
 */
bool upmu_domain_filter_after(uint32_t word, uint8_t number, uint64_t *out_value);

/* Returns the counters that other CPUs of the domain hold, and have not parked. */
uint32_t upmu_domain_taken(const struct upmu_domain *domain, uint8_t number);

/*
 * Store in held[] the resources that other CPUs hold and have not parked, with their values, at most `capacity`.
 * Returns their number.
 */
unsigned upmu_domain_held(const struct upmu_domain *domain, uint8_t number, struct upmu_held *held, unsigned capacity);

#endif
