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
#define PFM_FL_NOTIFY_BLOCK 0x01 /* a message blocks the monitored thread, as long as it masks the session */
#define PFM_FL_SYSTEM_WIDE 0x02  /* the context is of a CPU */
#define PFM_FL_SMPL_FMT 0x04     /* a sampling format is named */
#define PFM_FL_OVFL_NO_MSG 0x08  /* overflows make no messages */

/* pfm_start() */
#define PFM_STARTFL_SET 0x1     /* the call's argument `set` is the set to begin with */
#define PFM_STARTFL_RESTART 0x2 /* end the mask of a session that a message has masked */

#define PFM_PMCFL_NO_EMUL64 0x1 /* the PMD has the width of the hardware's counter */

struct pfarg_pmc {
    uint16_t reg_num;
    uint16_t reg_set;
    uint32_t reg_flags;
    uint64_t reg_value;
    uint64_t reg_reserved2[4];
};

#define PFM_PMDFL_SMPL 0x1        /* reg_reset_pmds, reg_smpl_pmds and reg_smpl_eventid are used */
#define PFM_PMDFL_SWITCH 0x2      /* reg_ovfl_switch_cnt is used */
#define PFM_PMDFL_OVFL_NOTIFY 0x4 /* an overflow makes a message */
#define PFM_PMDFL_RANDOM 0x8      /* reset values are made random by reg_random_mask */

struct pfarg_pmd {
    uint16_t reg_num;
    uint16_t reg_set;
    uint32_t reg_flags;
    uint64_t reg_value;
    uint64_t reg_long_reset;  /* value after an overflow with a message */
    uint64_t reg_short_reset; /* value after any other overflow */
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
    uint64_t set_timeout; /* the timeout in effect; active set: the time that is left */
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
 * The structures pfarg_pmc and pfarg_pmd of section 9. They are equal now, but separate types, because they may
 * diverge.
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
