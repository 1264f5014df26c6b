/* SPDX-License-Identifier: MIT */
/*
 * Instruction-based sampling (AMD, family 10h and later): a unit that tags one fetch or op each
 * period and reports all about it.  It is independent of sessions.  Its interrupt is handled by
 * upmu_pmi_handle() and counts as an overflow there.
 *
 * The interrupt goes through an entry of the local APIC's extended LVT (500h + 10h * n, n in
 * bits 3:0 of MSR C001103Ah), which the host sets to an NMI or a vector; family 10h's firmware
 * leaves n to it, too.
 */
#ifndef UPMU_IBS_H
#define UPMU_IBS_H

#include <stdbool.h>
#include <stdint.h>
#include <upmu/private/ibs.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The two units of a CPU. */
enum upmu_ibs_kind {
    UPMU_IBS_FETCH = 0, /* samples instruction fetches */
    UPMU_IBS_OP = 1     /* samples ops, from dispatch to retirement */
};
#define UPMU_IBS_KINDS 2u /* units of a CPU */

/* Indices of upmu_ibs_sample.registers, by AMD's names. */
enum {
    UPMU_IBS_FETCH_CTL = 0,
    UPMU_IBS_FETCH_LINEAR = 1,
    UPMU_IBS_FETCH_PHYSICAL = 2, /* if bit 52 of the control is set */
    UPMU_IBS_FETCH_EXTENDED = 3, /* 0 where it does not exist */
    UPMU_IBS_OP_CTL = 0,
    UPMU_IBS_OP_RIP = 1,
    UPMU_IBS_OP_DATA1 = 2,
    UPMU_IBS_OP_DATA2 = 3,
    UPMU_IBS_OP_DATA3 = 4,
    UPMU_IBS_DC_LINEAR = 5,   /* if bit 17 of DATA3 is set */
    UPMU_IBS_DC_PHYSICAL = 6, /* if bit 18 of DATA3 is set */
    UPMU_IBS_BR_TARGET = 7,   /* 0 where it does not exist */
    UPMU_IBS_OP_DATA4 = 8     /* the same */
};

/* Bits of upmu_ibs_sample.flags. */
#define UPMU_IBS_NO_FRAME (1u << 0) /* no frame was given: `ip` is 0 */
#define UPMU_IBS_NO_RIP (1u << 1)   /* the op's address is not valid */
#define UPMU_IBS_NO_DATA2 (1u << 2) /* erratum 1293: DATA2 has no meaning, and is 0 */

/* A sample, as the ring has it. */
struct upmu_ibs_sample {
    uint64_t time_ns; /* clock_ns, or 0 */
    uint64_t ip;      /* interrupted instruction; the sampled one is in the registers */
    uint64_t registers[UPMU_IBS_REGISTERS]; /* by the indices above */
    uint32_t lost;    /* samples before this one that found no room or could not be read */
    uint16_t cpu;     /* order of initialisation */
    uint8_t kind;     /* enum upmu_ibs_kind */
    uint8_t flags;    /* UPMU_IBS_NO_... */
};

/*
 * A unit of one CPU at work.  Zero it, fill in the members before `state`; the structure and its samples must stay
 * until the unit is stopped.
 */
struct upmu_ibs {
    enum upmu_ibs_kind kind;         /* which of the CPU's units */
    uint32_t period;                 /* fetches, cycles or ops: a multiple of 16 (see upmu_ibs_start()) */
    bool ops;                        /* op unit: count dispatched ops, not cycles */
    bool random;                     /* fetch unit: hardware adds up to 15 to the period's start */
    struct upmu_ibs_sample *samples; /* memory for samples */
    uint32_t capacity;               /* number of samples, a power of two */
    struct upmu_ibs_state state;     /* the library's; state.lost may be read: samples that were not stored */
};

/* CPUID 8000_001Bh EAX of a PMU (bits 2:0 where there is no such leaf); 0: it has no units.  Context: any. */
uint32_t upmu_ibs_capabilities(const struct upmu_pmu *pmu);

/*
 * Begin to sample.  Periods: fetches 16 to FFFF0h; ops 90h to FFFF0h, with capability
 * bit 6 up to 7FFFFF0h.
 *
 * Returns UPMU_OK; UPMU_ERR_UNSUPPORTED (no such unit; ops without capability bit 4);
 * UPMU_ERR_INVALID (period, capacity); UPMU_ERR_STATE (it runs already, or other software has
 * enabled it); UPMU_ERR_NO_PMU (not initialised, or suspended); UPMU_ERR_PORT; UPMU_ERR_BUSY;
 * UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_ibs_start(struct upmu_cpu *cpu, struct upmu_ibs *ibs);

/*
 * Stop; a sample that is complete is still taken.  Without the alternate disable bit (capability
 * bit 13) a sample can complete at the write that stops the unit: it is counted in `lost` if its
 * address differs from that of the sample before.  upmu_cpu_suspend() and upmu_cpu_fini() stop
 * running units and do not start them again; upmu_cpu_changed() ignores them.
 *
 * Returns UPMU_OK, also if it does not run; else as upmu_ibs_start().
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_ibs_stop(struct upmu_cpu *cpu, struct upmu_ibs *ibs);

/* Take the oldest sample; false: there is none.  One reader.  Context: any. */
bool upmu_ibs_next(struct upmu_ibs *ibs, struct upmu_ibs_sample *out_sample);

#ifdef __cplusplus
}
#endif

#endif
