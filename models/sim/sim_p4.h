/* SPDX-License-Identifier: MIT */
/*
 * Bits of the Pentium 4's CCCRs and ESCRs, addresses of ESCRs, and event selects: Intel SDM vol 3 (325384-059) 18.15.
 */
#ifndef UPMU_SIM_P4_H
#define UPMU_SIM_P4_H

#include "models/sim/sim_intern.h"

#define P4_CCCR_EXTENDED SIM_BIT(11)
#define P4_CCCR_ENABLE SIM_BIT(12)
#define P4_CCCR_THREAD (SIM_BIT(16) | SIM_BIT(17))
#define P4_CCCR_COMPARE SIM_BIT(18)
#define P4_CCCR_COMPLEMENT SIM_BIT(19)
#define P4_CCCR_EDGE SIM_BIT(24)
#define P4_CCCR_FORCE_OVF SIM_BIT(25)
#define P4_CCCR_PMI_T0 SIM_BIT(26)
#define P4_CCCR_PMI_T1 SIM_BIT(27)
#define P4_CCCR_RESERVED (SIM_BIT(28) | SIM_BIT(29))
#define P4_CCCR_CASCADE SIM_BIT(30)
#define P4_CCCR_OVF SIM_BIT(31)
#define P4_CCCR_CASCADES (P4_CCCR_CASCADE | P4_CCCR_EXTENDED)

/*
 * Bits of a CCCR that decide what is counted and when. A write that changes one while the counter stays enabled is a
 * violation (rule CHECK_RUNNING_SELECT).
 */
#define P4_CCCR_CONFIG UINT64_C(0x43ffe800)

#define P4_ESCR_T1 UINT64_C(3)
#define P4_ESCR_TAG_ENABLE SIM_BIT(4)
#define P4_ESCR_TAG(escr) ((uint32_t)((escr) >> 5 & 0xfu))
#define P4_ESCR_MASK(escr) ((uint32_t)((escr) >> 9 & 0xffffu))
#define P4_ESCR_EVENT(escr) ((uint32_t)((escr) >> 25 & 0x3fu))

/* Units of a NetBurst core, which are parts of the core: each by the address of its even ESCR. */
#define P4_BSU 0x3a0u
#define P4_FSB 0x3a2u
#define P4_FIRM 0x3a4u
#define P4_DAC 0x3a8u
#define P4_MOB 0x3aau
#define P4_PMH 0x3acu
#define P4_SAAT 0x3aeu
#define P4_CRU0 0x3b8u
#define P4_RAT 0x3bcu
#define P4_TBPU 0x3c2u
#define P4_TC 0x3c4u
#define P4_CRU2 0x3ccu

/* ESCR event selects of the three events at CRU2 that count tagged uops. */
#define P4_FRONT_END_EVENT 0x08u
#define P4_REPLAY_EVENT 0x09u
#define P4_EXECUTION_EVENT 0x0cu

#endif
