/* SPDX-License-Identifier: MIT */
/*
 * Functions and bits for the files of the Arm door: registers, events by their numbers, shapes.
 *
 * Sources: Arm ARM (DDI 0487 M.c) D13.3 (overflow), D24.5 (registers), J1.3 (CountPMUEvents(), PMUSwIncrement(), the
 * condition of the interrupt), K1.2.6 (accesses to counters that do not exist).
 */
#ifndef UPMU_ABI_GUEST_GUEST_ARM_H
#define UPMU_ABI_GUEST_GUEST_ARM_H

#include <abi/guest/arm/arm.h>
#include <abi/guest/guest_core.h>

/*
 * Virtual counters: event counter n is n, the cycle counter is fixed counter 0. In the guest's registers event counter
 * n is bit n, and the cycle counter is bit 31.
 */
#define GUEST_ARM_CYCLE UPMU_FIXED_COUNTER(0)
#define GUEST_ARM_CYCLE_BIT 31u
#define GUEST_ARM_EVENT_COUNTERS (UPMU_BIT32(GUEST_ARM_CYCLE) - 1u) /* mask of the virtual counters 0 to 15 */

/* Values of ID_AA64DFR0_EL1.PMUVer, which a shape has as its version. */
#define GUEST_ARM_V3 1u
#define GUEST_ARM_V3P1 4u /* events have 16 bits, and events from 4000h on are among the common ones */
#define GUEST_ARM_V3P4 5u /* PMMIR_EL1 exists */
#define GUEST_ARM_V3P5 6u /* event counters have 64 bits */

/* Bits of PMCR_EL0. */
#define GUEST_ARM_E (1u << 0)
#define GUEST_ARM_P (1u << 1)
#define GUEST_ARM_C (1u << 2)
#define GUEST_ARM_DP (1u << 5)
#define GUEST_ARM_LC (1u << 6)
#define GUEST_ARM_LP (1u << 7)

/* PMEVTYPERn_EL0 and PMCCFILTR_EL0: bits that exclude EL1 and EL0. NSH, bit 27 of the host's select, includes EL2. */
#define GUEST_ARM_NOT_EL1 (1u << 31)
#define GUEST_ARM_NOT_EL0 (1u << 30)
#define GUEST_ARM_NOWHERE (GUEST_ARM_NOT_EL1 | GUEST_ARM_NOT_EL0)
#define GUEST_ARM_NSH UPMU_BIT64(27)

/* PMUSERENR_EL0: what EL0 may do. */
#define GUEST_ARM_EN 1u /* each access */
#define GUEST_ARM_SW 2u /* increment by software */
#define GUEST_ARM_CR 4u /* read the cycle counter */
#define GUEST_ARM_ER 8u /* select and read event counters */

/* Numbers of events. */
#define GUEST_ARM_SW_INCR 0x00u
#define GUEST_ARM_INST_RETIRED 0x08u
#define GUEST_ARM_CPU_CYCLES 0x11u
#define GUEST_ARM_CHAIN 0x1eu
#define GUEST_ARM_BR_RETIRED 0x21u
#define GUEST_ARM_COMMON 64u /* common events are 0 to 63, and as many from 4000h on, which PMCEID0 and 1 show */
#define GUEST_ARM_LATER 0x4000u

static inline bool upmu_guest_arm_is_common(unsigned code)
{
    return code < GUEST_ARM_COMMON || code - GUEST_ARM_LATER < GUEST_ARM_COMMON;
}

/* Return the number of the event that a counter's select has. */
unsigned upmu_guest_arm_code(const struct upmu_guest *guest, unsigned counter);
/* Return the bits that the guest can set in the select of a counter. */
uint32_t upmu_guest_arm_select_bits(const struct upmu_guest_shape *shape, unsigned counter);
/*
 * Answer an access as upmu_guest_sysreg() does. `how`: bits of GUEST_ARM_WRITE and so on, ORed; with LOW_HALF a write
 * of a counter leaves bits 63:32 of its value as they are.
 */
#define GUEST_ARM_WRITE 1u
#define GUEST_ARM_FROM_EL0 2u
#define GUEST_ARM_LOW_HALF 4u
enum upmu_guest_access upmu_guest_arm_access(struct upmu_guest *guest, uint32_t reg, unsigned how, uint64_t *inout);
/* Change PMCR_EL0 without its two bits that reset counters. */
void upmu_guest_arm_set_control(struct upmu_guest *guest, uint32_t control);
/* Return the bits of PMCR_EL0 that the guest can set. */
uint32_t upmu_guest_arm_control_bits(const struct upmu_guest_shape *shape);

/*
 * May a guest with this shape and policy count the event with this number? UPMU_ERR_NOT_PERMITTED: the policy denies
 * it; UPMU_ERR_UNSUPPORTED: it is a common event that the shape does not show.
 */
enum upmu_status upmu_guest_arm_may_count(const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy,
                                          unsigned code);
enum upmu_status upmu_guest_arm_can_show(const struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                                         const struct upmu_guest_policy *policy);
bool upmu_guest_arm_shape_is_valid(const struct upmu_guest_shape *shape);
void upmu_guest_arm_shape_limit(struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy);

#endif
