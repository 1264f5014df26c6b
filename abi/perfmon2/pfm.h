/* SPDX-License-Identifier: MIT */
/*
 * perfmon2's structures and numbers, for kernel and programs. Source: "perfmon2 syscall interface rationale v2"
 * (Stephane Eranian, linux-kernel, 2008), section 10, with bit vectors of four words; and those of section 9, padded to
 * what a 64-bit program sees. The structures contain no pointers and have the same bytes for 32 and 64 bits.
 */
#ifndef UPMU_ABI_PERFMON2_PFM_H
#define UPMU_ABI_PERFMON2_PFM_H

#include <stdint.h>

/* Words of 64 bits in the bit vectors of registers. Bit n is register n, the row n of the PMU's register table. */
#define PFM_PMC_BV 4
#define PFM_PMD_BV 4

/* pfm_create_context() */
#define PFM_FL_NOTIFY_BLOCK 0x01 /* a message blocks the monitored thread, as long as the session is masked */
#define PFM_FL_SYSTEM_WIDE 0x02  /* the context is of a CPU */
#define PFM_FL_SMPL_FMT 0x04     /* a sampling format of the host is named, and can have an argument */
#define PFM_FL_OVFL_NO_MSG 0x08  /* overflows store no messages; the hooks of upmu_pfm.notify are called */

/* pfm_start() */
#define PFM_STARTFL_SET 0x1     /* the argument `set` of the call is the number of the set to begin with */
/* restart a masked session; if it runs, only let a thread continue that a message has blocked */
#define PFM_STARTFL_RESTART 0x2

#define PFM_PMCFL_NO_EMUL64 0x1 /* the PMD of this PMC's counter is as wide as the hardware's counter, not 64 bits */

struct pfarg_pmc {
    uint16_t reg_num;
    uint16_t reg_set;
    uint32_t reg_flags;
    uint64_t reg_value;
    uint64_t reg_reserved2[4];
};

#define PFM_PMDFL_SMPL 0x1        /* reg_reset_pmds, reg_smpl_pmds and reg_smpl_eventid are used */
#define PFM_PMDFL_SWITCH 0x2 /* reg_ovfl_switch_cnt is used: overflows of this PMD until the next set becomes active */
#define PFM_PMDFL_OVFL_NOTIFY 0x4 /* an overflow of the PMD makes a message */
#define PFM_PMDFL_RANDOM 0x8      /* each period but the first is longer by a random number & reg_random_mask */

struct pfarg_pmd {
    uint16_t reg_num;
    uint16_t reg_set;
    uint32_t reg_flags;
    uint64_t reg_value;
    /* value of the PMD when a session that its overflow has masked is restarted; 0: reg_short_reset */
    uint64_t reg_long_reset;
    uint64_t reg_short_reset; /* value of the PMD after any other overflow; 0: reg_value, as it was written */
    uint64_t reg_last_reset_val;
    uint64_t reg_ovfl_switch_cnt;
    uint64_t reg_reset_pmds[PFM_PMD_BV];
    uint64_t reg_smpl_pmds[PFM_PMD_BV];
    uint64_t reg_smpl_eventid;
    uint64_t reg_random_mask;
    uint32_t reg_reserved2[8];
};

#define PFM_MSG_OVFL 1

struct pfarg_ovfl_msg {
    uint32_t msg_type;
    uint32_t msg_ovfl_pid;
    uint16_t msg_active_set;
    uint16_t msg_ovfl_cpu;
    uint32_t msg_ovfl_tid;
    uint64_t msg_ovfl_ip;
    uint64_t msg_ovfl_pmds[PFM_PMD_BV];
};

union pfarg_msg {
    uint32_t type;
    struct pfarg_ovfl_msg pfm_ovfl_msg;
};

#define PFM_SETFL_OVFL_SWITCH 0x01
#define PFM_SETFL_TIME_SWITCH 0x02

struct pfarg_setdesc {
    uint16_t set_id;
    uint16_t set_reserved1;
    uint32_t set_flags;
    uint64_t set_timeout; /* ns */
    uint64_t reserved[6];
};

struct pfarg_setinfo {
    uint16_t set_id;
    uint16_t set_reserved1;
    uint32_t set_flags;
    uint64_t set_ovfl_pmds[PFM_PMD_BV];
    uint64_t set_runs;
    uint64_t set_timeout; /* set's timeout in ns, rounded up to ticks; for the active set the part of it that is left */
    uint64_t set_act_duration;
    uint64_t set_avail_pmcs[PFM_PMC_BV];
    uint64_t set_avail_pmds[PFM_PMD_BV];
    uint64_t set_reserved3[6];
};

/* ---- Section 9 ---- */

#define PFM_CTX_SYSTEM_WIDE PFM_FL_SYSTEM_WIDE

struct pfarg_ctx {
    uint32_t flags;
    uint32_t padding;
    uint64_t reserved[4];
};

/*
 * The elements of section 9 for PMCs and for PMDs. The two structures are equal now; two types let them differ later.
 */
struct pfarg_pmc9 {
    uint16_t reg_num;
    uint16_t padding[3];
    uint64_t reg_value;
    uint64_t reserved[4];
};

struct pfarg_pmd9 {
    uint16_t reg_num;
    uint16_t padding[3];
    uint64_t reg_value;
    uint64_t reserved[4];
};

struct pfarg_load {
    uint32_t target;
    uint32_t padding;
    uint64_t reserved[4];
};

#endif
