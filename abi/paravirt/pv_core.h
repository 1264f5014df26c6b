/* SPDX-License-Identifier: MIT */
/* Functions that the files of abi/paravirt call from each other: access to the guest's memory, events, page. */
#ifndef UPMU_ABI_PARAVIRT_PV_CORE_H
#define UPMU_ABI_PARAVIRT_PV_CORE_H

#include <abi/guest/x86/guest_x86.h>
#include <abi/paravirt/pv_host.h>

#define PV_VALUE_MASK ((UINT64_C(1) << UPMU_PV_WIDTH) - 1u)
#define PV_ALIGNMENT 8u

/*
 * Read a field in the guest's memory once; the guest may change it at any time, so use the value, and do not read
 * again.
 */
static inline uint64_t pv_load64(const uint64_t *field)
{
    return *(const volatile uint64_t *)field;
}

static inline uint32_t pv_load32(const uint32_t *field)
{
    return *(const volatile uint32_t *)field;
}

static inline void pv_store32(uint32_t *field, uint32_t value)
{
    *(volatile uint32_t *)field = value;
}

static inline void pv_store64(uint64_t *field, uint64_t value)
{
    *(volatile uint64_t *)field = value;
}

/* Is `address` a multiple of `alignment`, and is address + bytes below 2^64? */
static inline bool pv_is_range(uint64_t address, size_t bytes, size_t alignment)
{
    return address % alignment == 0 && address + bytes > address;
}

/* ---- pv_select.c ---- */

/*
 * Add overflows to a word in the guest's memory. The word stops at its largest value. Another CPU of the guest may set
 * it to 0 meanwhile.
 */
void upmu_pv_add(uint32_t *field, uint32_t overflows);

/* Return the generic events that the shape has: bit n is UPMU_PV_ event n. */
uint32_t upmu_pv_generic_events(const struct upmu_guest *guest);

/*
 * Return the select for the event in `config`: a generic event that the shape has (`raw` false), or a raw word with no
 * other bits than a guest may set (`raw` true). 0: there is no such event. The caller adds privileges, enable and
 * interrupt.
 */
uint64_t upmu_pv_select(const struct upmu_guest *guest, uint64_t config, bool raw);

/* Does the policy permit the event of the counter's present select, and has the host that event? */
bool upmu_pv_permits(const struct upmu_pv_vcpu *vcpu, unsigned counter);

/*
 * ---- pv_page.c: operations on the page of a vCPU; store slots to the mapped page, and add an overflow to each slot in
 * `overflowed`; end the use of the page ----
 */

uint32_t upmu_pv_page_call(struct upmu_pv_vcpu *vcpu, uint32_t operation, uint32_t first, uint32_t second);
void upmu_pv_page_publish(struct upmu_pv_vcpu *vcpu, uint32_t slots, uint32_t overflowed);
void upmu_pv_page_end(struct upmu_pv_vcpu *vcpu);

/* ---- pv_events.c: operations on single events; store overflows of a vCPU's events; close them all ---- */

uint32_t upmu_pv_events_call(struct upmu_pv_vcpu *vcpu, uint32_t operation, uint32_t first, uint32_t second);
void upmu_pv_events_publish(struct upmu_pv_vcpu *vcpu, uint32_t overflowed);
void upmu_pv_events_end(struct upmu_pv_vcpu *vcpu);

#endif
