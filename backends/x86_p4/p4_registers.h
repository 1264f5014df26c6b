/* SPDX-License-Identifier: MIT */
/*
 * Rows and classes of the table of NetBurst's registers (upmu_p4_table), numbers of ESCRs and resources, and the bit
 * layouts of registers. Layouts: Intel SDM vol 3 (325384-059) 18.15 (ESCRs, CCCRs), table 35-41
 * (PEBS_ENABLE, PEBS_MATRIX_VERT).
 */
#ifndef UPMU_P4_REGISTERS_H
#define UPMU_P4_REGISTERS_H

#include <upmu/pmu.h>

enum {
    UPMU_P4_CLASS_COUNTER,
    UPMU_P4_CLASS_CCCR,
    UPMU_P4_CLASS_ESCR,
    UPMU_P4_CLASS_PEBS_ENABLE,
    UPMU_P4_CLASS_MATRIX_VERT,
    UPMU_P4_CLASSES
};

#define UPMU_P4_COUNTERS 18u
#define UPMU_P4_ESCRS 45u

/*
 * First rows of counters, of their CCCRs and of ESCRs: counter n has row UPMU_P4_ROW_COUNTER + n, and so on. ESCRs are
 * numbered in the order of their addresses.
 */
enum {
    UPMU_P4_ROW_COUNTER = 0,
    UPMU_P4_ROW_CCCR = 18,
    UPMU_P4_ROW_ESCR = 36,
    UPMU_P4_ROW_PEBS_ENABLE = 81,
    UPMU_P4_ROW_MATRIX_VERT,
    UPMU_P4_ROWS
};

/* Numbers of the ESCRs that upmu uses on models 0 to 2 only. */
#define UPMU_P4_IQ_ESCR0 26u
#define UPMU_P4_IQ_ESCR1 27u

/* Numbers of other ESCRs that the code treats by themselves. SSU_ESCR0 has no odd ESCR after it. */
#define UPMU_P4_FSB_ESCR0 2u
#define UPMU_P4_SAAT_ESCR0 14u
#define UPMU_P4_RAT_ESCR0 28u
#define UPMU_P4_SSU_ESCR0 30u

/*
 * Exclusive resources of the placement search: resource n below UPMU_P4_ESCRS is ESCR n.  PEBS_ENABLE and
 * PEBS_MATRIX_VERT select the kind of replay that is tagged.
 */
#define UPMU_P4_RESOURCE_PEBS_ENABLE 45u
#define UPMU_P4_RESOURCE_MATRIX_VERT 46u
#define UPMU_P4_RESOURCES 47u

/* ESCR. */
#define UPMU_P4_ESCR_T1_USR (UINT64_C(1) << 0)
#define UPMU_P4_ESCR_T1_OS (UINT64_C(1) << 1)
#define UPMU_P4_ESCR_T0_USR (UINT64_C(1) << 2)
#define UPMU_P4_ESCR_T0_OS (UINT64_C(1) << 3)
#define UPMU_P4_ESCR_TAG_ENABLE (UINT64_C(1) << 4)
#define UPMU_P4_ESCR_TAG_VALUE (UINT64_C(0xf) << 5)
#define UPMU_P4_ESCR_TAG_BIT0 (UINT64_C(1) << 5)
#define UPMU_P4_ESCR_MASK (UINT64_C(0xffff) << 9)
#define UPMU_P4_ESCR_SELECT (UINT64_C(0x3f) << 25)

/* CCCR. */
#define UPMU_P4_CCCR_EXTENDED_CASCADE (UINT64_C(1) << 11) /* in CCCRs 12, 15, 16 and 17, from model 2 on */
#define UPMU_P4_CCCR_ENABLE (UINT64_C(1) << 12)
#define UPMU_P4_CCCR_SELECT (UINT64_C(7) << 13)
#define UPMU_P4_CCCR_THREAD (UINT64_C(3) << 16) /* both bits must be set without a second hyper-thread */
#define UPMU_P4_CCCR_COMPARE (UINT64_C(1) << 18)
#define UPMU_P4_CCCR_COMPLEMENT (UINT64_C(1) << 19)
#define UPMU_P4_CCCR_THRESHOLD (UINT64_C(0xf) << 20)
#define UPMU_P4_CCCR_EDGE (UINT64_C(1) << 24)
#define UPMU_P4_CCCR_FORCE_OVF (UINT64_C(1) << 25)
#define UPMU_P4_CCCR_OVF_PMI_T0 (UINT64_C(1) << 26)
#define UPMU_P4_CCCR_OVF_PMI_T1 (UINT64_C(1) << 27)
#define UPMU_P4_CCCR_CASCADE (UINT64_C(1) << 30)
#define UPMU_P4_CCCR_OVF (UINT64_C(1) << 31)
#define UPMU_P4_CCCR_ENABLE_BIT 12u
/* If one of these bits of a CCCR was found set, other software uses the counter, or a cascade of it can start it. */
#define UPMU_P4_CCCR_IN_USE \
    (UPMU_P4_CCCR_ENABLE | UPMU_P4_CCCR_CASCADE | UPMU_P4_CCCR_OVF_PMI_T0 | UPMU_P4_CCCR_OVF_PMI_T1)

/*
 * PEBS_ENABLE: upmu writes the bits of replay tags. Bits 25 and 26 make counters write records. With UPMU_FIRMWARE upmu
 * leaves them as they are. Without it no other software uses these counters, and take-over clears the bits.
 */
#define UPMU_P4_PEBS_TAGS (UINT64_C(0x19fff) | UINT64_C(1) << 24)
#define UPMU_P4_PEBS_RECORDS (UINT64_C(3) << 25)
#define UPMU_P4_PEBS_OWNED (UPMU_P4_PEBS_TAGS | (UPMU_FIRMWARE ? 0 : UPMU_P4_PEBS_RECORDS))

extern const struct upmu_register_table upmu_p4_table;

/*
 * Fill in registers and counters of *pmu for a family 15 CPU of this model (0 to 6): table, rows that exist, limits,
 * counters, and which counters and resources the hyper-threads of a core share. Other members of *pmu are not changed.
 *
 * Context: any.
 */
void upmu_p4_describe_table(struct upmu_pmu *pmu, unsigned model);

#endif
