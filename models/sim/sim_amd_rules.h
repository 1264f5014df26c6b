/* SPDX-License-Identifier: MIT */
/*
 * The rules of AMD's PMUs in the silicon model, and the structures of its AMD profiles; part of models/sim/sim.h.
 */
#ifndef UPMU_SIM_AMD_RULES_H
#define UPMU_SIM_AMD_RULES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Rules in the form of UPMU_SIM_RULES; rules of that list that mention no Intel register hold for AMD, too. APM: AMD
 * APM vol 2 (24593) chapter 13; BKDG, PPR: AMD's manuals of a family; LX: Linux arch/x86/events/amd; KVM:
 * arch/x86/kvm/svm/pmu.c, kvm/pmu.c, kvm/lapic.c; KST: Linux selftests kvm/x86 svm_pmu_host_guest_test.c; PERFCTR:
 * perfctr 2.6.42.
 */
/* clang-format off */
#define UPMU_SIM_RULES_AMD(R)                                                                                         \
    R(AMD_EXTENDED, 1, "C001_0200H up with PERFCTR_CORE only (always)",                                               \
      "APM 13.2.1; LX core.c")                                                                                        \
    R(AMD_ALIAS, 1, "legacy registers are the first four extended ones (of their own)",                               \
      "APM 13.2.1; KVM; Xen vpmu_amd.c")                                                                              \
    R(AMD_SHARED, 1, "L2I/L3, NB/DF and UMC registers as CPUID counts them (none)",                                   \
      "LX uncore.c")                                                                                                  \
    R(AMD_GLOBAL, 1, "C000_0300H up with PerfMonV2 only (always)",                                                    \
      "KVM is_valid_msr")                                                                                             \
    R(AMD_IBS_REGISTERS, 1, "IBS registers by flag and capability (all)",                                             \
      "LX ibs.c")                                                                                                     \
    R(AMD_USER_STANDS_STILL, 1, "what counts ring 3 alone may be written in ring 0 (may not)",                        \
      "Linux x86_pmu_handle_irq, perfctr k7_write_control")                                                           \
    R(AMD_SELECT_DROPS, 1, "reserved select bits read 0 (#GP)",                                                       \
      "Linux commit 9b026073db2f; KVM")                                                                               \
    R(AMD_SELECT_PIN, 1, "K7, K8 and Zen 3 keep select bit 19 (reads 0)",                                             \
      "hwpmc_amd.h; Linux commit 9b026073db2f")                                                                       \
    R(AMD_SELECT_42, 1, "Zen 3 keeps select bit 42 (reads 0)",                                                        \
      "Linux commit 9b026073db2f")                                                                                    \
    R(AMD_SELECT_HIGH, 1, "event bits 11:8 from family 10H on (always)",                                              \
      "BKDG; LX core.c")                                                                                              \
    R(AMD_SELECT_VIRT, 1, "bits 41:40 from family 10H on, not on 11H, nor in guests without SVM (always)",            \
      "APM 13.2.1; libpfm4; KVM")                                                                                     \
    R(AMD_SELECT_PRECISE, 1, "bit 43 in select 2 of CPUs that have it (in all)",                                      \
      "APM 13.2.1")                                                                                                   \
    R(AMD_COUNTER_HIGH, 1, "counter bits 63:48 are dropped (#GP)",                                                    \
      "APM 13.2.2; LX core.c; hwpmc_amd.c")                                                                           \
    R(AMD_RESET_CONTROL, 1, "global control resets to all counters (0)",                                              \
      "KVM kvm_pmu_refresh")                                                                                          \
    R(AMD_STATUS_IGNORES, 1, "a write of the global status is ignored (#GP)",                                         \
      "PPR, quoted in KVM")                                                                                           \
    R(AMD_CONTROL_DROPS, 1, "global control bits of missing counters are dropped (#GP)",                              \
      "KVM")                                                                                                          \
    R(AMD_CLEAR_ANY, 1, "StatusClr accepts any value (reserved bits #GP)",                                            \
      "LX core.c; KVM")                                                                                               \
    R(AMD_CLEAR, 1, "StatusClr clears what is 1 (everything)",                                                        \
      "APM 13.2; KVM")                                                                                                \
    R(AMD_SET_SILENT, 1, "StatusSet raises no PMI (does)",                                                            \
      "APM 13.2")                                                                                                     \
    R(AMD_ACK_ZERO, 1, "StatusClr, StatusSet read 0 (the status)",                                                    \
      "KVM; APM 13.2")                                                                                                \
    R(AMD_COUNT_CONTROL, 1, "PerfMonV2: counting needs the global control bit (only EN)",                             \
      "APM 13.2; LX core.c")                                                                                          \
    R(AMD_COUNT_CLAMP, 1, "a cycle adds at most 32, on family 11H 3 (any number)",                                    \
      "APM 13.2.1; BKDG 41256")                                                                                       \
    R(AMD_COUNT_VIRT, 1, "HostOnly and GuestOnly count in their mode, and with SVME only (ignored)",                  \
      "APM table 13-4; KST")                                                                                          \
    R(AMD_FREEZE, 1, "DebugCtl[12]: a PMI freezes counters until status bit 59 is cleared (never)",                   \
      "APM 13.2")                                                                                                     \
    R(AMD_F15H, 1, "family 15H: events count on their counters only (on all)",                                        \
      "LX core.c; oprofile family15h")                                                                                \
    R(AMD_NB_DEDICATED, 1, "15H, 16H: NB events count on NB counters only (on all)",                                  \
      "LX core.c, uncore.c")                                                                                          \
    R(AMD_MERGE, 1, "17H up: event 003H is wide with the merge event beside it (always)",                             \
      "LX core.c; LKML 20191114183720")                                                                               \
    R(AMD_MERGE_EVEN, 1, "17H up: event 003H counts on even counters (on all)",                                       \
      "LX core.c; LKML 20191114183720")                                                                               \
    R(AMD_MERGE_CARRY, 1, "a merged pair overflows out of the odd counter's 16 bits (out of 48)",                     \
      "LX core.c")                                                                                                    \
    R(AMD_NB_NODE, 1, "NB events happen to all cores of the node (the core)",                                         \
      "BKDG; LX core.c amd_nb")                                                                                       \
    R(AMD_NB_SHARED, 1, "counter n of two cores with NB events is one (two)",                                         \
      "LX core.c amd_nb; PERFCTR")                                                                                    \
    R(AMD_REV_E, 1, "K8 rev E, several cores: a select write zeroes NB counts (does not)",                            \
      "PERFCTR x86.c")                                                                                                \
    R(AMD_LVTPC_KEEPS, 1, "delivery leaves LVTPC unmasked (masks it)",                                                \
      "KVM lapic.c; LX core.c")                                                                                       \
    R(AMD_NO_APIC, 1, "K7 model 1 never interrupts (does)",                                                           \
      "PERFCTR x86.c")                                                                                                \
    R(AMD_RDPMC_MAP, 1, "RDPMC: 6 up NB/DF, 10 up L2I/L3, 16 up DF (core counters only)",                             \
      "LX uncore.c")                                                                                                  \
    R(AMD_UMC_ENABLE, 1, "a UMC counter runs with bit 31 (22)",                                                       \
      "LX uncore.c")                                                                                                  \
    R(AMD_UMC_SATURATES, 1, "a UMC counter stops at its end and sets bit 48 (wraps)",                                 \
      "LX uncore.c")                                                                                                  \
    R(AMD_SHARED_ONE, 1, "NB/DF, L2I/L3 and UMC registers are the node's (each CPU's)",                               \
      "LX uncore.c")                                                                                                  \
    R(AMD_IRPERF, 1, "IRPERF counts with HWCR[30] only (always)",                                                     \
      "Linux msr-index.h; kernel/cpu/amd.c")                                                                          \
    R(AMD_IBS_VALID, 1, "IBS waits with a sample until its VAL is cleared (goes on)",                                 \
      "APM 13.3")                                                                                                     \
    R(AMD_IBS_EDGE, 1, "16H to 18H: fetch starts over with a rising EN only (any write)",                             \
      "LX ibs.c")                                                                                                     \
    R(AMD_IBS_DIS, 1, "capability 13: CTL2 bit 0 stops (ignored)",                                                    \
      "LX ibs.c")                                                                                                     \
    R(AMD_IBS_420, 1, "10H: EN cleared under a max count leaves an interrupt asserted (not)",                         \
      "erratum 420; LX ibs.c")                                                                                        \
    R(AMD_IBS_RANDOM, 1, "the low 7 bits of an op count with VAL are random (0)",                                     \
      "LX ibs.c")                                                                                                     \
    R(HAZARD_AMD_1292, 0, "Zen 3: retire events count too much but on counter 2, bit 43, no INT (right)",             \
      "erratum 1292; LKML 20220203095841")                                                                            \
    R(HAZARD_AMD_STATUS, 0, "the global status shows reserved bits (does not)",                                       \
      "LX core.c amd_pmu_v2_handle_irq")                                                                              \
    R(HAZARD_AMD_IBS_LATE, 0, "a stopped IBS unit interrupts once more, without VAL (does not)",                      \
      "LX ibs.c")                                                                                                     \
    R(CHECK_AMD_RESERVED, 1, "violation: reserved bits written as 1",                                                 \
      "Xen vpmu_amd.c; KVM reserved_bits")                                                                            \
    R(CHECK_AMD_MIXED, 1, "violation: legacy and extended registers of one CPU written",                              \
      "APM 13.2.1")                                                                                                   \
    R(CHECK_AMD_COUNTER, 1, "violation: an event runs where it cannot count",                                         \
      "LX core.c")                                                                                                    \
    R(CHECK_AMD_MERGE, 1, "violation: 003H without its merge event, or that stops first or has more bits",            \
      "LX core.c")                                                                                                    \
    R(CHECK_AMD_NB, 1, "violation: NB events on one counter number of two cores",                                     \
      "LX core.c amd_nb")                                                                                             \
    R(CHECK_AMD_IBS, 1, "violation: IBS control bits that are reserved or need a capability; ops below 90H",          \
      "APM 13.3; LX ibs.c")                                                                                           \
    R(CHECK_AMD_BRS, 1, "violation: C000_010FH bits 4:3 not 11B (Zen 3)", "LX brs.c")
/* clang-format on */

/* The most counters of each unit of a node; branch records, and IBS registers, of a CPU. */
#define UPMU_SIM_AMD_NB 16
#define UPMU_SIM_AMD_LLC 6
#define UPMU_SIM_AMD_UMC 16
#define UPMU_SIM_AMD_LBR 16
#define UPMU_SIM_AMD_IBS_REGISTERS 16

/* Values of upmu_sim_other.unit: the unit where an event happens, and whose counters can count it. */
#define UPMU_SIM_UNIT_CORE 0
#define UPMU_SIM_UNIT_NB 1 /* data fabric, or northbridge; families 0FH to 14H count it by core counters */
#define UPMU_SIM_UNIT_LLC 2
#define UPMU_SIM_UNIT_UMC 3

/* Indices of the IBS units among the counters of a CPU (upmu_sim_cpu.counter): fetch, op. */
#define UPMU_SIM_AMD_FETCH 16u
#define UPMU_SIM_AMD_OP 17u

/* CPUID 8000_0001H ECX. */
#define UPMU_SIM_AMD_SVM (1u << 2)
#define UPMU_SIM_AMD_IBS (1u << 10)
#define UPMU_SIM_AMD_TOPOEXT (1u << 22)
#define UPMU_SIM_AMD_CORE (1u << 23)
#define UPMU_SIM_AMD_HAS_NB (1u << 24)
#define UPMU_SIM_AMD_PTSC (1u << 27)
#define UPMU_SIM_AMD_HAS_LLC (1u << 28)

/* Bits of upmu_sim_amd_facts.quirks: what is so on a CPU though CPUID does not report it. */
#define UPMU_SIM_AMD_REV_E (1u << 0)   /* K8 revision E with several cores: a select write zeroes NB counts */
#define UPMU_SIM_AMD_BIT_19 (1u << 1)  /* select bit 19, reserved from family 10H on, keeps its value there, too */
#define UPMU_SIM_AMD_BIT_42 (1u << 2)  /* select bit 42, which is reserved, keeps its value */
#define UPMU_SIM_AMD_PRECISE (1u << 3) /* PREC_RET in select 2 */
#define UPMU_SIM_AMD_1292 (1u << 4)
#define UPMU_SIM_AMD_HYGON (1u << 5)

/* The part of a profile that only AMD's CPUs have (upmu_sim_profile.amd): CPUID words, and quirks. */
struct upmu_sim_amd_facts {
    uint32_t highest;    /* highest extended leaf */
    uint32_t features;   /* CPUID 8000_0001H ECX */
    uint32_t features_8; /* CPUID 8000_0008H EBX: bit 1 IRPERF, bit 31 BRS */
    uint32_t ibs;        /* CPUID 8000_001BH EAX */
    uint32_t perfmon[3]; /* CPUID 8000_0022H EAX, EBX, ECX; all 0 without PerfMonV2 */
    uint32_t quirks;
};

/* AMD's registers on one CPU; `nb`, `llc` and `umc`, which a node shares, are used in its first CPU only. */
struct upmu_sim_amd {
    uint64_t legacy_select[4]; /* used with rule AMD_ALIAS off */
    uint64_t legacy_counter[4];
    uint64_t efer; /* bit 12: SVME */
    uint64_t hwcr; /* bit 30: IRPERF counts */
    uint64_t irperf;
    uint64_t ibs[UPMU_SIM_AMD_IBS_REGISTERS]; /* from C001_1030H on */
    uint64_t nb[UPMU_SIM_AMD_NB][2];          /* control, counter */
    uint64_t llc[UPMU_SIM_AMD_LLC][2];
    uint64_t umc[UPMU_SIM_AMD_UMC][2];
    uint64_t lbr[UPMU_SIM_AMD_LBR][2];
    uint64_t lbr_select;
    uint64_t debug_extension;
    uint32_t random;
    uint32_t ibs_left;  /* steps until IBS interrupts; 0: no interrupt is under way */
    bool fetch_waiting; /* the fetch unit does not count until EN changes from 0 to 1 (rule AMD_IBS_EDGE) */
    bool stuck;         /* erratum 420: the interrupt repeats until the maximum of the stopped unit is 0 */
    uint8_t sampled;    /* samples to be completed by upmu_sim_amd_ibs_fill(): bit 0 fetch, bit 1 op */
    bool legacy_used, extended_used;
};

#endif
