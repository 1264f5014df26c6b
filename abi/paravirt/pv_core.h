/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the files of the hypervisor's half.
 */
#ifndef UPMU_ABI_PARAVIRT_PV_CORE_H
#define UPMU_ABI_PARAVIRT_PV_CORE_H

#include <abi/guest/x86/guest_x86.h>
#include <abi/paravirt/pv_host.h>

#define PV_VALUE_MASK ((UINT64_C(1) << UPMU_PV_WIDTH) - 1u)
#define PV_ALIGNMENT 8u

/* Each field of the guest's memory is read once: it may change at any time. */
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

/* Aligned as a page or a structure is to be, and with an end, so that a hypervisor may add the two. */
static inline bool pv_is_range(uint64_t address, size_t bytes, size_t alignment)
{
    return address % alignment == 0 && address + bytes > address;
}

/* ---- pv_select.c ---- */

/* Add overflows to a word that another CPU of the guest may set to 0 meanwhile.  It ends at its largest value. */
void upmu_pv_add(uint32_t *field, uint32_t overflows);

/* Generic events that the shape has: bit n is event n. */
uint32_t upmu_pv_generic_events(const struct upmu_guest *guest);

/*
 * The select of a generic event (`raw` false) that the shape has, or of a raw word, which must have no other bits than
 * a wish may have; 0: there is none.  Privileges, enable and interrupt are to be added.
 */
uint64_t upmu_pv_select(const struct upmu_guest *guest, uint64_t config, bool raw);

/* May this counter's select be counted? */
bool upmu_pv_permits(const struct upmu_pv_vcpu *vcpu, unsigned counter);

/* ---- pv_page.c: the page ---- */

uint32_t upmu_pv_page_call(struct upmu_pv_vcpu *vcpu, uint32_t operation, uint32_t first, uint32_t second);
void upmu_pv_page_publish(struct upmu_pv_vcpu *vcpu, uint32_t slots, uint32_t overflowed);
void upmu_pv_page_end(struct upmu_pv_vcpu *vcpu);

/* ---- pv_events.c: single events ---- */

uint32_t upmu_pv_events_call(struct upmu_pv_vcpu *vcpu, uint32_t operation, uint32_t first, uint32_t second);
void upmu_pv_events_publish(struct upmu_pv_vcpu *vcpu, uint32_t overflowed);
void upmu_pv_events_end(struct upmu_pv_vcpu *vcpu);

#endif
