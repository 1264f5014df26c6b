/* SPDX-License-Identifier: MIT */
/*
 * Functions and bits for the files of the x86 doors: registers of Intel and of AMD, events by their select words,
 * CPUID.
 */
#ifndef UPMU_ABI_GUEST_X86_H
#define UPMU_ABI_GUEST_X86_H

#include <abi/guest/guest_core.h>

/* Bits of a select that mean the same on Intel and AMD; bit 33, IN_TXCP, is Intel's alone. */
#define GUEST_SELECT_USR UPMU_BIT64(16)
#define GUEST_SELECT_OS UPMU_BIT64(17)
#define GUEST_SELECT_EDGE UPMU_BIT64(18)
#define GUEST_SELECT_INT UPMU_BIT64(20)
#define GUEST_SELECT_EN UPMU_BIT64(22)
#define GUEST_SELECT_INV UPMU_BIT64(23)
#define GUEST_SELECT_CMASK UINT64_C(0xff000000)
#define GUEST_SELECT_MODIFIERS (GUEST_SELECT_EDGE | GUEST_SELECT_INV | GUEST_SELECT_CMASK)
#define GUEST_SELECT_RINGS (GUEST_SELECT_USR | GUEST_SELECT_OS)
#define GUEST_SELECT_IN_TXCP UPMU_BIT64(33)
/* AMD: the bits guest-only and host-only of a select. A guest with Intel's PMU cannot set them. */
#define GUEST_SELECT_MODES (UINT64_C(3) << 40)

/*
 * Bits of a fixed counter's field in the control register (38Dh): count in kernel or user mode; interrupt at an
 * overflow.
 */
#define GUEST_FIXED_RINGS 3u
#define GUEST_FIXED_INT 8u

/* Bits of the global status (Intel: 38Eh, AMD's PerfMonV2: C0000300h): branch records frozen, counters frozen. */
#define GUEST_STATUS_LBR_FROZEN UPMU_BIT64(58)
#define GUEST_STATUS_FROZEN UPMU_BIT64(59)

/*
 * Bits of the performance-counter entry of a local APIC (LVTPC): the mask bit; and all bits that a guest can write:
 * vector, delivery mode, mask bit.
 */
#define GUEST_LVTPC_MASKED 0x10000u
#define GUEST_LVTPC_BITS (GUEST_LVTPC_MASKED | 0x7ffu)

/* First of the 12 registers of AMD's PerfCtrExtCore: select 0. */
#define GUEST_AMD_CORE 0xc0010200u

/* DEBUGCTL. */
#define GUEST_DEBUGCTL 0x1d9u
#define GUEST_DEBUGCTL_FREEZE_LBR UPMU_BIT64(11)
#define GUEST_DEBUGCTL_FREEZE UPMU_BIT64(12)

/* Architectural events: 0 to 6 are their bits in CPUID leaf 0Ah, EBX; TSC is the event of fixed counter 2. */
enum guest_arch {
    GUEST_ARCH_CYCLES = 0,
    GUEST_ARCH_INSTRUCTIONS = 1,
    GUEST_ARCH_REFERENCE = 2,
    GUEST_ARCH_LLC_REFERENCES = 3,
    GUEST_ARCH_LLC_MISSES = 4,
    GUEST_ARCH_BRANCHES = 5,
    GUEST_ARCH_MISPREDICTS = 6,
    GUEST_ARCH_TSC = 7,
    GUEST_ARCH_NONE = 8
};

/* Convert a mask of counters to the bits that these counters have in GLOBAL_CTRL and GLOBAL_STATUS, and back. */
static inline uint64_t upmu_guest_bits(uint32_t counters)
{
    return (counters & 0xffffu) | (uint64_t)(counters >> 16) << 32;
}

static inline uint32_t upmu_guest_of_bits(uint64_t bits)
{
    return ((uint32_t)bits & 0xffffu) | (uint32_t)(bits >> 32) << 16;
}

/* Has the shape a register that enables all counters: Intel from version 2 on, and AMD's PerfMonV2? */
static inline bool upmu_guest_has_global(const struct upmu_guest *guest)
{
    return guest->shape.door == UPMU_GUEST_INTEL ? guest->shape.version >= 2 : guest->shape.door == UPMU_GUEST_AMD_V2;
}

/*
 * Return the global status as of the last read of each counter's session: the overflow bits, and the bits of frozen
 * counters and branch records.
 */
uint64_t upmu_guest_status_bits(const struct upmu_guest *guest);

/* ---- guest_x86.c ---- */

/* Read and write an MSR by the rules for the guest, without adding the access to the vCPU's statistics. */
enum upmu_guest_access upmu_guest_x86_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value);
enum upmu_guest_access upmu_guest_x86_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value);

/* ---- guest_x86_registers.c: registers that belong to no single counter ---- */

/*
 * set_global() sets the register that enables all counters, and marks counters whose bit changes as dirty. set_status()
 * sets the global status with the counters' overflow flags (guest->raised), and marks all counters as dirty if FROZEN
 * changes.
 */
void upmu_guest_x86_set_global(struct upmu_guest *guest, uint64_t value);
void upmu_guest_x86_set_status(struct upmu_guest *guest, uint64_t status);
/*
 * Set (`set` true) or clear `bits` of the global status. First the sessions of started counters that have one of these
 * bits are read, so that their overflows until now are in the status.
 */
void upmu_guest_x86_change_status(struct upmu_guest *guest, uint64_t bits, bool set);
void upmu_guest_x86_set_offcore(struct upmu_guest *guest, unsigned which, uint64_t value);

/*
 * Write DEBUGCTL, of which bits 11 and 12 are kept. Returns UPMU_GUEST_SHARED; UPMU_GUEST_FAULT: one of the two bits is
 * set, and the shape has no register that enables all counters.
 */
enum upmu_guest_access upmu_guest_x86_debugctl(struct upmu_guest *guest, uint64_t value);

/* Read the sessions of all started counters, and return the global status with the overflows until now. */
uint64_t upmu_guest_x86_status(struct upmu_guest *guest);

/* ---- guest_event.c ---- */

/*
 * Functions for the event of a counter: which architectural event it is (event_arch(), GUEST_ARCH_NONE: none), and
 * which event of the host counts it (upmu_guest_event(), as upmu_guest_door_table.event).
 */
/* by enum guest_arch: Intel's event number (bits 7:0) and unit mask (15:8) */
extern const uint16_t upmu_guest_codes[8];
enum guest_arch upmu_guest_event_arch(const struct upmu_guest_shape *shape, unsigned counter, uint64_t select);
/* Is this PMU that of the shape's family and model, so that it has the events of that model? */
bool upmu_guest_event_raw_here(const struct upmu_guest_shape *shape, const struct upmu_pmu *pmu);
enum upmu_status upmu_guest_event(const struct upmu_guest *guest, unsigned counter, struct upmu_event *out_event);
/*
 * Does the guest's policy permit the event of a counter's present select? `arch`: the result of
 * upmu_guest_event_arch().
 */
bool upmu_guest_event_is_allowed(const struct upmu_guest *guest, unsigned counter, enum guest_arch arch);
/*
 * Return which of the events that Intel's CPUID can show a policy counts: bit n, 0 to 6: n of enum guest_arch; bits 16
 * to 18: fixed counters 0 to 2.
 */
uint32_t upmu_guest_event_permitted(const struct upmu_guest_policy *policy);
/* Return the events that this PMU counts in the meaning that they have for a door: bit n: n of enum guest_arch. */
uint32_t upmu_guest_event_available(const struct upmu_pmu *pmu, unsigned door);
/*
 * Return how many general counters of this PMU can always count at the same time, whichever architectural events they
 * count.
 */
unsigned upmu_guest_event_counters(const struct upmu_pmu *pmu);
/* Is this PMU Intel's for Intel's door, and AMD's (or Hygon's) for one of AMD's doors? */
bool upmu_guest_event_same_vendor(const struct upmu_pmu *pmu, unsigned door);
/* Does no entry of the filter name event bits (35:32) that a guest with this vendor's PMU cannot have? */
bool upmu_guest_event_filter_fits(const struct upmu_guest_filter *filter, unsigned door);

/* ---- guest_shape.c, guest_range.c: what CPUID shows, and the MSRs that are answered ---- */

/*
 * Functions for the shape of an x86 guest. is_valid(): is it within the limits of its door? can_show(): as
 * upmu_guest_door_table.can_show.
 */
bool upmu_guest_shape_is_valid(const struct upmu_guest_shape *shape);
/* Take from a shape what the policy does not count. */
void upmu_guest_shape_limit(struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy);
enum upmu_status upmu_guest_shape_can_show(const struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                                           const struct upmu_guest_policy *policy);

/* Is this MSR in a range of upmu_guest_msr_range()? The door answers all MSRs of these ranges, and no other ones. */
bool upmu_guest_range_has(const struct upmu_guest *guest, uint32_t msr);

/* ---- guest_intel.c, guest_amd.c: the registers and CPUID leaves of one vendor's doors ---- */

/* Return the virtual counter whose value this MSR is, or UPMU_NO_COUNTER. */
unsigned upmu_guest_intel_counter(const struct upmu_guest *guest, uint32_t msr);
unsigned upmu_guest_amd_counter(const struct upmu_guest *guest, uint32_t msr);
bool upmu_guest_intel_shape(const struct upmu_guest_shape *shape);
/* Set in an answer of CPUID what this shape has. The caller has cleared all bits that show a PMU of the host. */
void upmu_guest_intel_cpuid(const struct upmu_guest *guest, uint32_t leaf, uint32_t out[4]);
enum upmu_guest_access upmu_guest_intel_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value);
enum upmu_guest_access upmu_guest_intel_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value);
/* Return the bits that the guest can set in a select, and in the global status. */
uint64_t upmu_guest_intel_select_bits(const struct upmu_guest *guest, unsigned counter);
uint64_t upmu_guest_intel_status_bits(const struct upmu_guest *guest);
uint64_t upmu_guest_amd_select_bits(const struct upmu_guest *guest);
uint64_t upmu_guest_amd_status_bits(const struct upmu_guest *guest);
/* Can the MSR hold this value?  No if a write by the guest would drop bits of it. */
bool upmu_guest_amd_holds(const struct upmu_guest *guest, uint32_t msr, uint64_t value);
bool upmu_guest_amd_shape(const struct upmu_guest_shape *shape);
void upmu_guest_amd_cpuid(const struct upmu_guest *guest, uint32_t leaf, uint32_t out[4]);
enum upmu_guest_access upmu_guest_amd_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value);
enum upmu_guest_access upmu_guest_amd_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value);

#endif
