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

/* Join a domain.  *out_number is the CPU's number there.  Returns false where the domain is full. */
bool upmu_domain_join(struct upmu_domain *domain, uint8_t *out_number);
void upmu_domain_leave(struct upmu_domain *domain, uint8_t number);

/*
 * Note that a CPU has taken over.  upmu_domain_end() notes that it leaves or sleeps, and returns whether it was the
 * last.
 */
void upmu_domain_begin(struct upmu_domain *domain, uint8_t number);
bool upmu_domain_end(struct upmu_domain *domain, uint8_t number);

/* Has another CPU of the domain taken over? */
bool upmu_domain_others(const struct upmu_domain *domain, uint8_t number);

/* Get the value that a shared register had before the first CPU took over.  Returns false: it was not read yet. */
bool upmu_domain_recall(const struct upmu_domain *domain, unsigned row, uint64_t *out_value);
void upmu_domain_remember(struct upmu_domain *domain, unsigned row, uint64_t value);

/* Forget the found value of a register, which is the host's own and not to be restored. */
void upmu_domain_disown(struct upmu_domain *domain, unsigned row);

/* The last CPU has restored all registers: forget their found values, so that the next CPU reads them anew. */
void upmu_domain_forget(struct upmu_domain *domain);

/* The outcome of upmu_domain_claim(). */
enum upmu_claim {
    UPMU_CLAIM_LOST = 0, /* another CPU holds it, or was faster */
    UPMU_CLAIM_NEW,      /* others may have changed the register since this CPU had it, if it ever had */
    UPMU_CLAIM_KEPT      /* no other CPU has had the register since */
};

/* Bit of a claim word: its only holder no longer needs it, and any CPU can take it. */
#define UPMU_CLAIM_PARKED (UINT32_C(1) << 17)

/* Indices of claim words: a resource's number, or UPMU_DOMAIN_COUNTER() of a counter. */
#define UPMU_DOMAIN_COUNTER(counter) (UPMU_RESOURCES + (counter))
#define UPMU_DOMAIN_CLAIMS UPMU_DOMAIN_COUNTER(UPMU_COUNTERS)

/*
 * Claim a counter for this CPU alone, or a resource with a value; several CPUs may hold an equal value.  If this CPU
 * holds another value already, running sessions may use that: then no other CPU can join from now on, and the value
 * stays the former one until upmu_domain_settle() or upmu_domain_park().
 */
enum upmu_claim upmu_domain_claim(struct upmu_domain *domain, uint8_t number, unsigned what, uint64_t value);

/*
 * Store the new value of a resource, if this CPU has claimed it in place of the value that it holds.  Otherwise do
 * nothing.
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

/* Park a claim: other CPUs can take it; if none does, a later claim reports that it was kept. */
void upmu_domain_park(struct upmu_domain *domain, uint8_t number, unsigned what);

/* Release a claim: a later claim is a new one. */
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
bool upmu_domain_filter_leave(struct upmu_domain *domain, uint8_t number, uint32_t word);

/*
 * Does a CPU that stops to record have to write the filter register?  *out_value: the value that was found; 0 while
 * another CPU records.  Returns false if 0 was found, so that no CPU has written the register.
 */
bool upmu_domain_filter_after(uint32_t word, uint8_t number, uint64_t *out_value);

/* Returns the counters that other CPUs hold. */
uint32_t upmu_domain_taken(const struct upmu_domain *domain, uint8_t number);

/* List the resource values that other CPUs hold, at most `capacity`.  Returns their number. */
unsigned upmu_domain_held(const struct upmu_domain *domain, uint8_t number, struct upmu_held *held, unsigned capacity);

#endif
