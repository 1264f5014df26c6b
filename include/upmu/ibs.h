/* SPDX-License-Identifier: MIT */
/*
 * Instruction-based sampling, IBS (AMD, family 10h and later).  Each CPU has two IBS units: one tags an instruction
 * fetch in each period, the other one an op, and stores facts about it in registers.  IBS units are independent of
 * sessions.  upmu_pmi_handle() handles their interrupt, and answers as for an overflow.
 *
 * The interrupt goes through an entry of the local APIC's extended LVT (500h + 10h * n, n in bits 3:0 of MSR
 * C001103Ah).  The host sets this entry to an NMI or a vector; on family 10h the firmware leaves the choice of n to the
 * host, too.
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
    UPMU_IBS_FETCH = 0, /* each sample is about one instruction fetch */
    UPMU_IBS_OP = 1     /* each sample is about one op, from its dispatch to its retirement */
};
#define UPMU_IBS_KINDS 2u /* number of IBS units of a CPU */

/* Indices of upmu_ibs_sample.registers, by AMD's names of the registers. */
enum {
    UPMU_IBS_FETCH_CTL = 0,
    UPMU_IBS_FETCH_LINEAR = 1,
    UPMU_IBS_FETCH_PHYSICAL = 2, /* valid if bit 52 of FETCH_CTL is set */
    UPMU_IBS_FETCH_EXTENDED = 3, /* 0 on CPUs without this register */
    UPMU_IBS_OP_CTL = 0,
    UPMU_IBS_OP_RIP = 1,
    UPMU_IBS_OP_DATA1 = 2,
    UPMU_IBS_OP_DATA2 = 3,
    UPMU_IBS_OP_DATA3 = 4,
    UPMU_IBS_DC_LINEAR = 5,   /* valid if bit 17 of OP_DATA3 is set */
    UPMU_IBS_DC_PHYSICAL = 6, /* valid if bit 18 of OP_DATA3 is set */
    UPMU_IBS_BR_TARGET = 7,   /* 0 on CPUs without this register */
    UPMU_IBS_OP_DATA4 = 8     /* 0 on CPUs without this register */
};

/* Bits of upmu_ibs_sample.flags, which say what a sample lacks. */
#define UPMU_IBS_NO_FRAME (1u << 0) /* the host gave no frame: `ip` is 0 */
#define UPMU_IBS_NO_RIP (1u << 1)   /* UPMU_IBS_OP_RIP, the op's address, is not valid */
#define UPMU_IBS_NO_DATA2 (1u << 2) /* erratum 1293: UPMU_IBS_OP_DATA2 has no meaning, and is 0 */

/* A sample. */
struct upmu_ibs_sample {
    uint64_t time_ns; /* clock_ns, or 0 */
    uint64_t ip;      /* interrupted instruction; the address of the sampled one is in `registers` */
    /* values of the unit's registers, by the indices above; entries that the unit does not have are 0 */
    uint64_t registers[UPMU_IBS_REGISTERS];
    uint32_t lost;    /* samples that were lost since the one stored before: no room, or a register faulted */
    uint16_t cpu;     /* number of the CPU, in the order of upmu_cpu_init() */
    uint8_t kind;     /* enum upmu_ibs_kind */
    uint8_t flags;    /* UPMU_IBS_NO_... */
};

/*
 * An IBS unit of one CPU at work, with its queue of samples.  Zero the structure, and fill in the members before
 * `state`.  The structure and the array `samples` must stay until the unit is stopped.
 */
struct upmu_ibs {
    enum upmu_ibs_kind kind;         /* which of the CPU's two units */
    /* distance of samples, in fetches, cycles or ops (see `ops`): a multiple of 16, limits at upmu_ibs_start() */
    uint32_t period;
    bool ops;                        /* op unit: the period is in dispatched ops; false: in cycles */
    bool random; /* fetch unit: the hardware makes the start of each period random, by 0 to 15; op unit: ignored */
    struct upmu_ibs_sample *samples; /* array of `capacity` entries */
    uint32_t capacity;               /* a power of two */
    struct upmu_ibs_state state;     /* the library's; state.lost may be read: number of samples that were lost */
};

/* Return the IBS capabilities of a PMU: EAX of CPUID leaf 8000_001Bh (bits 2:0 alone where there is no such leaf); 0:
   the PMU has no IBS units.  Context: any. */
uint32_t upmu_ibs_capabilities(const struct upmu_pmu *pmu);

/*
 * Start an IBS unit of the executing CPU.  Periods: fetches 16 to FFFF0h; cycles or ops 90h to FFFF0h, with capability
 * bit 6 up to 7FFFFF0h.
 *
 * Returns UPMU_OK; UPMU_ERR_UNSUPPORTED (the CPU has no such unit; `ops` without capability bit 4); UPMU_ERR_INVALID
 * (period, samples, capacity); UPMU_ERR_STATE (the unit runs already, or other software has enabled it);
 * UPMU_ERR_NO_PMU (CPU not initialised, or suspended); UPMU_ERR_PORT; UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU;
 * UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_ibs_start(struct upmu_cpu *cpu, struct upmu_ibs *ibs);

/*
 * Stop an IBS unit; a sample that is complete is still stored.  Without the alternate disable bit (capability bit 13) a
 * sample can complete at the write that stops the unit: it is counted in state.lost if its address differs from that of
 * the sample before.  upmu_cpu_suspend() and upmu_cpu_fini() stop IBS units and do not start them again;
 * upmu_cpu_changed() does not touch them.
 *
 * Returns UPMU_OK, also if the unit does not run; UPMU_ERR_NO_PMU (the CPU has no PMU); UPMU_ERR_PORT (the unit counts
 * as stopped); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_ibs_stop(struct upmu_cpu *cpu, struct upmu_ibs *ibs);

/* Take the oldest sample out of a unit's queue; false: the queue is empty.  Context: any; one reader at a time. */
bool upmu_ibs_next(struct upmu_ibs *ibs, struct upmu_ibs_sample *out_sample);

#ifdef __cplusplus
}
#endif

#endif
