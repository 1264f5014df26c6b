/* SPDX-License-Identifier: MIT */
/*
 * The allow-list: which model-specific registers a program may read and write, for kernels that execute RDMSR and WRMSR
 * for programs.  No function touches hardware.  upmu_permit_check() and upmu_permit_merge() can be used alone with the
 * rows of a PMU: they call no other part of the library.
 *
 * Every register that does not belong to the PMU is refused.  So are the registers of the PMU that concern more than
 * counting: where records are written, what freezes or debugs, the bits of counters that the caller does not own.
 */
#ifndef UPMU_PERMIT_H
#define UPMU_PERMIT_H

#include <upmu/pmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of a row of the allow-list. */
#define UPMU_PERMIT_READ (1u << 0)   /* a caller that owns the row's counters may read the register */
#define UPMU_PERMIT_PART (1u << 1)   /* the row is one counter's bits of a register with bits of several counters;
                                        with UPMU_PERMIT_READ every caller may read such a register */
#define UPMU_PERMIT_MERGED (1u << 2) /* the register may be written with values of upmu_permit_merge() only */

/*
 * A row of the allow-list: a register, or one counter's bits of a register (then several rows have the same address).
 * Constant data: `build/upmu permits` prints the rows of one PMU for a kernel's source.
 */
struct upmu_permit {
    uint32_t address;    /* number of the MSR */
    uint32_t counters;   /* mask: counters to which register or bits belong: a caller has to own all of these counters;
                            0: the register belongs to no counter, and may only be read */
    uint32_t flags;      /* UPMU_PERMIT_... */
    /*
     * Not 0: a value is refused at UPMU_LEVEL_SESSION if (value & bits 31:16 of `beyond`) == bits 15:0 of `beyond`:
     * it selects an event that counts what other cores do.  These are all events of AMD's northbridge and of P6's bus;
     * of Core 2 those with "all cores", not those with "all agents".
     */
    uint32_t beyond;
    uint64_t session;    /* mask: bits that may be set at UPMU_LEVEL_SESSION; AnyThread is not among them */
    uint64_t privileged; /* mask: bits that may be set at higher levels */
};

/* The most rows of one PMU. */
#define UPMU_PERMITS 160

/*
 * May a program of a level write this value to a register, or, if `value` is NULL, read the register?  Only what each
 * core type of the machine permits is permitted; false if no CPU was initialised.  UPMU_LEVEL_LIBRARY may no more than
 * UPMU_LEVEL_PRIVILEGED.
 *
 * Context: any.
 */
bool upmu_msr_permitted(const struct upmu_machine *machine, enum upmu_level level, uint32_t msr, const uint64_t *value);

/*
 * Do as upmu_msr_permitted(), for one PMU, and for a caller that owns the counters of the mask `mine`.  Selects, values
 * and bits of other counters are refused.  Registers that any counter may depend on (ESCRs of NetBurst, off-core
 * responses) are refused if the caller does not own all counters.
 *
 * Context: any.
 */
bool upmu_msr_permitted_on(const struct upmu_pmu *pmu, uint32_t mine, enum upmu_level level, uint32_t msr,
                           const uint64_t *value);

/* Write the allow-list of a PMU to `rows`, at most `capacity` rows.  Returns the number of its rows.  Context: any. */
size_t upmu_permit_list(const struct upmu_pmu *pmu, struct upmu_permit *rows, size_t capacity);

/* Do as upmu_msr_permitted_on(), by rows of upmu_permit_list() instead of a struct upmu_pmu.  Context: any. */
bool upmu_permit_check(const struct upmu_permit *rows, size_t count, uint32_t mine, enum upmu_level level, uint32_t msr,
                       const uint64_t *value);

/*
 * Make the value to write to a register that has bits of several counters: the control of fixed counters, the global
 * control, the acknowledgement of overflows.  `present` is the value that the register has, `*value` the value that the
 * caller asks for.  True: `*value` has become the value to write: the bits of the caller's counters as asked for, all
 * others as in `present`.  False, and `*value` is unchanged: the register is none of these, the caller owns none of its
 * bits, or it asks for a bit of its own counters that its level may not set.
 *
 * Context: any.
 */
bool upmu_permit_merge(const struct upmu_permit *rows, size_t count, uint32_t mine, enum upmu_level level, uint32_t msr,
                       uint64_t present, uint64_t *value);

#ifdef __cplusplus
}
#endif

#endif
