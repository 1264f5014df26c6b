/* SPDX-License-Identifier: MIT */
/*
 * Claims on what several CPUs share.  A claim word is taken and given back with a
 * 32-bit compare-and-swap; only holders write the register.
 */
#ifndef UPMU_CORE_DOMAIN_H
#define UPMU_CORE_DOMAIN_H

#include <upmu/place.h>
#include <upmu/pmu.h>

/* CPUs of one domain, at most. */
#define UPMU_DOMAIN_CPUS 16

/* Join a domain; false: it is full.  *out_slot is the CPU's number there. */
bool upmu_domain_join(struct upmu_domain *domain, uint8_t *out_slot);
void upmu_domain_leave(struct upmu_domain *domain, uint8_t slot);

/* Note that a CPU has taken over.  upmu_domain_end(): it leaves or sleeps; true: it was the last. */
void upmu_domain_begin(struct upmu_domain *domain, uint8_t slot);
bool upmu_domain_end(struct upmu_domain *domain, uint8_t slot);

/* Has another CPU taken over? */
bool upmu_domain_others(const struct upmu_domain *domain, uint8_t slot);

/* What a shared register held before the first CPU; false: nobody has looked yet. */
bool upmu_domain_recall(const struct upmu_domain *domain, unsigned row, uint64_t *out_value);
void upmu_domain_remember(struct upmu_domain *domain, unsigned row, uint64_t value);

/* The last CPU has restored it all: the next one looks anew. */
void upmu_domain_forget(struct upmu_domain *domain);

/* Claim a counter for this CPU alone; true also if it holds it already. */
bool upmu_domain_claim_counter(struct upmu_domain *domain, uint8_t slot, unsigned counter);

/* Does this CPU hold it? */
static inline bool upmu_domain_holds(const struct upmu_domain *domain, uint8_t slot, unsigned counter)
{
    return __atomic_load_n(&domain->counter[counter], __ATOMIC_RELAXED) >> slot & 1u;
}

void upmu_domain_release_counter(struct upmu_domain *domain, uint8_t slot, unsigned counter);

/* Claim a resource with a value; several CPUs may hold an equal value. */
bool upmu_domain_claim_resource(struct upmu_domain *domain, uint8_t slot, unsigned resource, uint64_t value);
void upmu_domain_release_resource(struct upmu_domain *domain, uint8_t slot, unsigned resource);

/* Counters that other CPUs hold. */
uint32_t upmu_domain_taken(const struct upmu_domain *domain, uint8_t slot);

/* Resource values that other CPUs hold: fills at most `capacity`, returns how many. */
unsigned upmu_domain_held(const struct upmu_domain *domain, uint8_t slot, struct upmu_held *held, unsigned capacity);

#endif
