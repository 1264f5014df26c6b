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

/* Claim a counter for this CPU alone; true also if it holds it already. */
bool upmu_domain_claim_counter(struct upmu_domain *domain, uint8_t slot, unsigned counter);
void upmu_domain_release_counter(struct upmu_domain *domain, uint8_t slot, unsigned counter);

/* Claim a resource with a value; several CPUs may hold an equal value. */
bool upmu_domain_claim_resource(struct upmu_domain *domain, uint8_t slot, unsigned resource, uint64_t value);
void upmu_domain_release_resource(struct upmu_domain *domain, uint8_t slot, unsigned resource);

/* Counters that other CPUs hold. */
uint32_t upmu_domain_taken(const struct upmu_domain *domain, uint8_t slot);

/* Resource values that other CPUs hold: fills at most `capacity`, returns how many. */
unsigned upmu_domain_held(const struct upmu_domain *domain, uint8_t slot, struct upmu_held *held, unsigned capacity);

#endif
