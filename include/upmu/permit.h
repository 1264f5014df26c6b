/* SPDX-License-Identifier: MIT */
/*
 * The allow-list: which model-specific registers a program may read and write, for kernels that execute RDMSR and WRMSR
 * for others.  It can be used alone: nothing of it calls other parts of the library or touches hardware.
 *
 * Refused is every register that is not the PMU's, and of the PMU's every register that concerns more than counting:
 * where records are written, what freezes or debugs, other counters' bits.
 */
#ifndef UPMU_PERMIT_H
#define UPMU_PERMIT_H

#include <upmu/pmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a row. */
#define UPMU_PERMIT_READ (1u << 0)   /* the register may be read by those whose it is */
#define UPMU_PERMIT_PART (1u << 1)   /* bits of one counter in a register of several, which may be read by all */
#define UPMU_PERMIT_MERGED (1u << 2) /* written by upmu_permit_merge() alone */

/*
 * A register, or one counter's bits of a register (then several rows have its address).  Constant data: `build/upmu
 * permits` prints the table of one PMU for a kernel's source.
 */
struct upmu_permit {
    uint32_t address;    /* number of the MSR */
    uint32_t counters;   /* whose it is: a caller has to own all of them; 0: only read */
    uint32_t flags;      /* UPMU_PERMIT_... */
    /*
     * Not 0: events above UPMU_LEVEL_SESSION, which count what other cores do: values with (value & bits 31:16 of this)
     * == bits 15:0 of this.  All that AMD's northbridge and P6's bus have; of Core 2 "all cores", not "all agents".
     */
    uint32_t beyond;
    uint64_t session;    /* bits that may be set at UPMU_LEVEL_SESSION: no AnyThread */
    uint64_t privileged; /* bits that may be set at higher levels */
};

/* Rows of one PMU, at most. */
#define UPMU_PERMITS 160

/*
 * May a program of that level write this value, or read the register if `value` is NULL?  The answer holds for each
 * core type of the machine.  UPMU_LEVEL_LIBRARY may no more than UPMU_LEVEL_PRIVILEGED.
 *
 * Context: any.
 */
bool upmu_msr_permitted(const struct upmu_machine *machine, enum upmu_level level, uint32_t msr, const uint64_t *value);

/*
 * As upmu_msr_permitted(), for one PMU, and for a caller that owns the counters of the mask `mine`: the select, the
 * value and the bits of other counters are refused, and so are registers that any counter may depend on (ESCRs of
 * NetBurst, off-core responses), if it does not own all.
 *
 * Context: any.
 */
bool upmu_msr_permitted_on(const struct upmu_pmu *pmu, uint32_t mine, enum upmu_level level, uint32_t msr,
                           const uint64_t *value);

/* The rows of a PMU: writes at most `capacity`, returns how many there are.  Context: any. */
size_t upmu_permit_list(const struct upmu_pmu *pmu, struct upmu_permit *rows, size_t capacity);

/* upmu_msr_permitted_on() with the rows of a PMU instead of its description.  Context: any. */
bool upmu_permit_check(const struct upmu_permit *rows, size_t count, uint32_t mine, enum upmu_level level, uint32_t msr,
                       const uint64_t *value);

/*
 * A register with bits of several counters: the control of fixed counters, the global control, the acknowledgement of
 * overflows.  `present` is what it holds, `*value` what the caller asks for; afterwards `*value` is what to write:
 * the caller's bits as asked, all others as they are.  False: not such a register, the caller owns none of its bits, or
 * it asks for a bit of its own counters that its level may not set.
 *
 * Context: any.
 */
bool upmu_permit_merge(const struct upmu_permit *rows, size_t count, uint32_t mine, enum upmu_level level, uint32_t msr,
                       uint64_t present, uint64_t *value);

#ifdef __cplusplus
}
#endif

#endif
