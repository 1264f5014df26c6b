/* SPDX-License-Identifier: MIT */
/*
 * A model of Intel's core PMU, the Pentium 4's and AMD's, register by register, behind upmu's hooks: for tests, tools
 * and a demo on a machine without a PMU. The model is stricter than a real CPU and records mistakes of its caller.
 *
 * Freestanding; no heap, no static variables: all state is in `struct upmu_sim` (of units outside the cores: in
 * `struct upmu_sim_uncore`). One model is one machine. Only one real CPU may call its functions at a time: the test
 * decides when another CPU of the model runs, an interrupt arrives and time passes.
 *
 *     struct upmu_sim sim;
 *     upmu_sim_init(&sim, upmu_sim_profile("skl"), 2);
 *     upmu_sim_bind_cpu(&sim, 0, &cpu);
 *     upmu_machine_init(&machine, upmu_sim_port(&sim));
 *     upmu_cpu_init(&cpu, &machine, NULL);
 *     ...
 *     upmu_sim_events(&sim, &(struct upmu_sim_burst){ .instructions = 1000, .cycles = 2500 });
 */
#ifndef UPMU_SIM_H
#define UPMU_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/port.h>
#include <upmu/upmu.h>

#include "models/sim/sim_amd_rules.h"
#include "models/sim/sim_uncore_rules.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most CPUs that one model can have; with 0 CPUs upmu_sim_init() makes UPMU_SIM_CPUS_DEFAULT. */
#define UPMU_SIM_CPUS 4
#define UPMU_SIM_CPUS_DEFAULT 2

/*
 * Indices of the counters of one CPU, as in upmu: general counter n is n, fixed counter i is UPMU_SIM_FIXED + i. On AMD
 * fixed 0 and 1 are the IBS units. A Pentium 4 has UPMU_SIM_P4_COUNTERS, 0 to 17; the hyper-threads of a core share
 * those of the core's first CPU.
 */
#define UPMU_SIM_GENERAL 10
#define UPMU_SIM_FIXED 16u
#define UPMU_SIM_COUNTERS 23
#define UPMU_SIM_P4_COUNTERS 18
#define UPMU_SIM_P4_ESCRS 45

#define UPMU_SIM_PAYLOADS 7
#define UPMU_SIM_METRICS 8
#define UPMU_SIM_OTHERS 9

/*
 * Addresses in the model's own kernel code: instruction and stack pointer during an access (events_per_access), and the
 * first instruction of upmu_sim_work().
 */
#define UPMU_SIM_KERNEL_IP UINT64_C(0xffffffff81000000)
#define UPMU_SIM_KERNEL_SP UINT64_C(0xffffc90000004000)
#define UPMU_SIM_WORK_IP UINT64_C(0xffffffff81200000)

/* LVTPC, the local APIC's entry for performance counters: the mask bit, and delivery mode NMI. */
#define UPMU_SIM_LVTPC_MASKED 0x10000u
#define UPMU_SIM_LVTPC_NMI 0x400u

/* How many instructions and cycles one call of upmu_sim_work() executes. */
#define UPMU_SIM_WORK_INSTRUCTIONS 1000u
#define UPMU_SIM_WORK_CYCLES 2000u

struct upmu_sim;

/* ---- Profiles: descriptions of CPUs that the model can be. First the bits of upmu_sim_profile.flags ---- */

#define UPMU_SIM_PDCM (1u << 0)            /* PERF_CAPABILITIES exists */
#define UPMU_SIM_RTM (1u << 1)             /* transactional memory: select bits 32, 33 can be set */
#define UPMU_SIM_DS (1u << 2)              /* debug store, PEBS */
#define UPMU_SIM_PT (1u << 3)              /* processor trace: status bit 55 exists */
#define UPMU_SIM_SGX (1u << 4)             /* status bit 60 */
#define UPMU_SIM_SMT (1u << 5)             /* CPUs 0 and 1 (2 and 3) are hyper-threads of one core */
#define UPMU_SIM_HYPERVISOR (1u << 6)      /* CPUID.1:ECX[31] */
#define UPMU_SIM_SHARED_PAYLOAD (1u << 7)  /* CPUs 0 and 1 (2 and 3) share OFFCORE_RSP and LBR_SELECT */
#define UPMU_SIM_IGNORES_WRITES (1u << 8)  /* MSRs read 0 (except MISC_ENABLE, AMD: TSC), drop writes, never fault */
#define UPMU_SIM_COUNTS_NOTHING (1u << 9)  /* registers keep what is written, but nothing counts */
#define UPMU_SIM_FEATURES_FAULT (1u << 10) /* promised PERF_CAPABILITIES, payloads (AMD, P4: PMU registers) #GP */
#define UPMU_SIM_AAJ80 (1u << 11)          /* Nehalem: C5H/00H counts every fourth mispredicted branch, 89H/7FH each */
#define UPMU_SIM_AAK100 (1u << 12)         /* Nehalem, Westmere: a new event starts wrong without a write sequence */
#define UPMU_SIM_P6 (1u << 13)             /* no leaf 0AH; two counters; EN of select 0 enables both */
#define UPMU_SIM_TFA (1u << 14)            /* TSX_FORCE_ABORT (10FH): unless bit 0 is 1, transactions use counter 3 */
#define UPMU_SIM_BJ122 (1u << 15)          /* D0H to D3H also count into the other hyper-thread's counter n */
#define UPMU_SIM_PRECISE_STORE (1u << 16)  /* PEBS_ENABLE bit 63 */
#define UPMU_SIM_HSW11 (1u << 17)          /* C0H/01H counts right only with periods from 128 on */
#define UPMU_SIM_BDM55 (1u << 18)          /* the low 6 bits of a period of C0H/01H are dropped */
#define UPMU_SIM_STICKY_REF (1u << 19)     /* fixed 2: 2 steps after its status bit was cleared, it is set once more */
#define UPMU_SIM_ONE_REF_CLOCK (1u << 20)  /* event 3CH/01H counts the clock of fixed 2 */
#define UPMU_SIM_HYBRID (1u << 21)         /* CPUID.7:EDX[15] */
#define UPMU_SIM_METRICS_HIDDEN (1u << 22) /* PERF_METRICS exists, but PERF_CAPABILITIES[15] is 0 */
#define UPMU_SIM_ONE_ENABLE (1u << 23)     /* Core Duo, AE49: EN of select 0 enables both counters */
#define UPMU_SIM_PEBS_FIXED (1u << 24)     /* Goldmont Plus: fixed counter 0 has PEBS before the baseline */
#define UPMU_SIM_LOADS_AUX (1u << 25)      /* load latency (CDH/01H) needs 03H/82H on another counter */
#define UPMU_SIM_UNTIMED (1u << 26)        /* records of fixed 0 have no latency of the retirement */
#define UPMU_SIM_NARROW_DS (1u << 27)      /* no DTES64: the debug store area and records have words of 32 bits */
#define UPMU_SIM_NO_APIC (1u << 29)        /* no local APIC: no interrupts */
#define UPMU_SIM_AMD (1u << 30)            /* AMD's registers; upmu_sim_profile.amd is set */
#define UPMU_SIM_P4 (1u << 31)             /* NetBurst: CCCRs and ESCRs, no leaf 0AH */

/*
 * A payload register, by its address (0: no register), and an event that uses it. Several events of one register are
 * several entries with the same address.
 */
struct upmu_sim_payload {
    uint32_t address;
    uint8_t event;
    uint8_t umask;
    uint64_t valid; /* other bits #GP */
};

struct upmu_sim_profile {
    const char *name;  /* "skylake" */
    const char *alias; /* second name, that of the PMU in upmu: "skl"; NULL: the profile has none */
    const char *about;
    const char *source;
    uint32_t signature; /* CPUID.1:EAX */
    uint8_t version;    /* leaf 0AH EAX[7:0]; 0: no architectural PMU */
    uint8_t general;    /* number of general counters that exist; then their width in bits */
    uint8_t general_width;
    uint8_t fixed_reported; /* leaf 0AH EDX[4:0] */
    uint8_t fixed;          /* 1 + the last fixed counter that exists, whatever CPUID reports */
    uint8_t fixed_width;    /* their width in bits; leaf 0AH reports 0 if fixed_reported is 0 */
    uint8_t events_length;  /* leaf 0AH EAX[31:24] */
    uint16_t events_unavailable;
    uint8_t fixed_bitmap;  /* leaf 0AH ECX */
    bool any_deprecated;   /* leaf 0AH EDX[15] */
    uint32_t flags;        /* UPMU_SIM_… above */
    uint32_t capabilities; /* PERF_CAPABILITIES */
    struct upmu_sim_payload payload[UPMU_SIM_PAYLOADS];
    uint8_t general_reported;             /* number of general counters that leaf 0AH shows; 0: `general` */
    uint8_t fixed_holes;                  /* mask: bit n is set if fixed counter n, below `fixed`, does not exist */
    uint16_t fixed_odd;                   /* reserved bits that are set in leaf 0AH EDX */
    uint8_t metrics;                      /* number of metrics in PERF_METRICS, a byte each */
    uint8_t shortest;                     /* shortest period that the CPU counts right; 0: any period */
    uint8_t pebs;                         /* mask of the general counters with PEBS, before the baseline; 0: 0 to 3 */
    uint8_t reduced;                      /* mask of the general counters of rule PEBS_REDUCED, before format 15 */
    uint32_t core_type;                   /* leaf 1AH EAX; 0: the leaf has no core type */
    const uint32_t (*extended)[4];        /* EAX to EDX of leaf 23H, subleaves 0 to 5; NULL: no such leaf */
    const struct upmu_sim_amd_facts *amd; /* NULL: not AMD */
};

/*
 * Return the profile with this name or alias; NULL: no profile has it. Intel's CPUs from P6 to Panther Lake and
 * hypervisors are in models/sim/sim_profiles.c, Pentium 4s in sim_p4_profiles.c, AMD's CPUs in sim_amd_profiles.c.
 */
const struct upmu_sim_profile *upmu_sim_profile(const char *name);

/* Return profile number `index` (from 0) of all families; NULL after the last one. */
const struct upmu_sim_profile *upmu_sim_profile_at(unsigned index);

/* ---- Rules: each is one behaviour of the model, or a check; a test switches one off by sim->rule[id] = 0 ---- */

/*
 * A line for each rule: identifier, default, what holds while the rule is 1 (and what the model does instead while the
 * rule is 0), source. KVM: Linux arch/x86/kvm/pmu.c; KVMI: kvm/vmx/pmu_intel.c; KST: Linux
 * tools/testing/selftests/kvm/x86 pmu_counters_test.c; KUT: kvm-unit-tests x86/pmu.c; LX: Linux arch/x86/events/intel;
 * LXH: Linux arch/x86/include/asm; SDM: Intel SDM vol 3 (325384-059).
 */
/* clang-format off */
#define UPMU_SIM_RULES(R)                                                                                         \
    R(RESET_GLOBAL, 1, "GLOBAL_CTRL resets to all general counters (0)", "KVM kvm_pmu_refresh; KST")              \
    R(RESET_COUNTERS, 1, "counters reset to 0 (garbage)", "KVM; SDM 18.4 note")                                   \
    R(RESET_LVTPC, 1, "LVTPC resets masked (unmasked)", "SDM 10.5.1")                                             \
    R(RESET_LBR, 1, "LBR is off after firmware (left on)", "LX core.c intel_pmu_cpu_starting")                    \
    R(INIT_KEEPS, 1, "INIT keeps counters (garbage)", "SDM 9.1, 18.4")                                            \
    R(MISSING_FAULTS, 1, "a register that does not exist #GPs (reads 0, drops)", "SDM; KST")                      \
    R(MISSING_COUNTER, 1, "PMC0/1 absent #GP (dropped)", "SDM; KVM drops")                                        \
    R(GLOBAL_NEEDS_V2, 1, "version 1 has no GLOBAL_* (has)", "SDM 18.2.2")                                        \
    R(LEGACY_EXTENDS, 1, "0C1H write: low 32 bits, sign-extended (all bits)", "SDM 18.2.5; KUT")                  \
    R(FULL_WIDTH_FAULTS, 1, "4C1H write above the width #GPs (masked)", "SDM 18.2.5; KUT")                        \
    R(FULL_NEEDS_CAP, 1, "4C1H exists with PERF_CAPABILITIES[13] only (always)", "KVMI get_fw_gp_pmc; KST")       \
    R(FIXED_WIDTH_FAULTS, 1, "fixed counter write above the width #GPs (masked)", "SDM 18.2.2; Xen vpmu_intel.c") \
    R(SELECT_RESERVED, 1, "reserved select bits #GP (stored)", "KVMI")                                            \
    R(SELECT_PIN, 1, "select bit 19 is accepted before version 6 (#GP)", "KVM; Xen rejects")                      \
    R(SELECT_PIN_V6, 1, "version 6: select bit 19 #GPs (is accepted)", "public version 6 vPMU patches")           \
    R(SELECT_EXTENDED, 1, "select bits 36, 37, 47:40 as leaf 23H says (always #GP)", "LX core.c; LXH perf_event.h") \
    R(SELECT_ANY, 1, "select bit 21 by version and EDX[15] (always #GP)", "SDM 18.2.3; KVM")                      \
    R(SELECT_TXCP, 1, "IN_TXCP on counter 2 only (any)", "KVMI")                                                  \
    R(FIXED_RESERVED, 1, "reserved FIXED_CTR_CTRL bits #GP (stored)", "KVMI; KST")                                \
    R(FIXED_ANY, 1, "fixed AnyThread by version and EDX[15] (always #GP)", "SDM 18.2.3; KVM")                     \
    R(GLOBAL_RESERVED, 1, "GLOBAL_CTRL bits of missing counters #GP (dropped)", "SDM 18.9.2; KST")                \
    R(STATUS_READ_ONLY, 1, "GLOBAL_STATUS write #GPs (stored)", "KVM; Xen")                                       \
    R(ACK_RESERVED, 1, "reserved STATUS_RESET/SET bits #GP (ignored)", "KVMI; SDM 18.2.4")                        \
    R(ACK_READS_ZERO, 1, "STATUS_RESET/SET read 0 (#GP)", "KVM")                                                  \
    R(SET_BIT63, 1, "STATUS_SET bit 63 #GPs (accepted)", "SDM 18.2.4.2 table")                                    \
    R(V4_REGISTERS, 1, "STATUS_SET, INUSE from version 4 on (always)", "SDM 18.2.4")                              \
    R(V6_BLOCK, 1, "registers 1900H up from version 6 on (always)", "LX core.c; LXH msr-index.h")                 \
    R(V6_RELOAD, 1, "1902H, 1903H up as leaf 23H says (with the block)", "LX core.c intel_pmu_acr")               \
    R(V6_RELOADS, 1, "an overflow reloads what names it in 1902H up (nothing)", "LX core.c intel_pmu_acr")            \
    R(INUSE_READ_ONLY, 1, "INUSE write #GPs (dropped)", "SDM 18.2.4.3")                                           \
    R(INUSE_BIT63, 1, "INUSE shows PMI in bit 63 (32)", "SDM 18.2.4.3 figure")                                    \
    R(INUSE_PEBS, 1, "INUSE shows PMI for a bit of PEBS_ENABLE, too (for selects alone)", "SDM 18.2.4.3")            \
    R(CAP_READ_ONLY, 1, "PERF_CAPABILITIES write #GPs (dropped)", "KST vmx_pmu_caps_test.c; SDM")                 \
    R(CAP_NEEDS_PDCM, 1, "PERF_CAPABILITIES with PDCM only (always)", "SDM")                                      \
    R(PEBS_RESERVED, 1, "reserved PEBS_ENABLE/DATA_CFG bits #GP (stored)", "KVMI; LX")                            \
    R(DS_CANONICAL, 1, "DS_AREA must be canonical (anything)", "KVMI")                                            \
    R(PAYLOAD_RESERVED, 1, "payload bits outside the valid mask #GP (stored)", "LX core.c extra_regs")            \
    R(DEBUGCTL_RESERVED, 1, "reserved DEBUGCTL bits #GP (stored)", "SDM 17.4.1; KVM")                             \
    R(MISC_READ_ONLY, 1, "MISC_ENABLE bits 7, 11, 12 ignore writes (#GP)", "KVM; SDM")                            \
    R(COUNT_ENABLE, 1, "counting needs EN or a fixed enable (runs anyway)", "SDM 18.2.1.1")                       \
    R(COUNT_RING, 1, "counting needs OS/USR of the ring (any ring)", "SDM 18.2.1.1")                              \
    R(COUNT_GLOBAL, 1, "counting needs the GLOBAL_CTRL bit, v2+ (runs anyway)", "KVM; SDM 18.2.2")                \
    R(COUNT_FROZEN, 1, "CTR_FRZ stops counting, v4+ (no effect)", "SDM 18.2.4.1")                                 \
    R(COUNT_CMASK, 1, "CMASK counts cycles with enough events (ignored)", "SDM 18.2.1.1")                         \
    R(COUNT_INV, 1, "INV turns the comparison round (ignored)", "SDM 18.2.1.1")                                   \
    R(COUNT_EQ, 1, "EQ makes the comparison an equality (ignored)", "LXH perf_event.h; leaf 23H EBX[1]")          \
    R(COUNT_UMASK2, 1, "UMASK2 names another event (ignored)", "LXH perf_event.h; leaf 23H EBX[0]")               \
    R(COUNT_P6, 1, "P6, AE49: select 0's EN enables both counters (each its own)", "LX p6.c, perfctr-watchdog.c") \
    R(COUNT_EDGE, 1, "EDGE counts rising edges (ignored)", "SDM 18.2.1.1")                                        \
    R(COUNT_ANY, 1, "AnyThread counts the sibling too (ignored)", "SDM 18.2.3")                                   \
    R(COUNT_TX, 1, "IN_TX counts inside transactions only, IN_TXCP rolls back (ignored)", "LX core.c")            \
    R(REF_IS_NOT_BUS, 1, "3CH/01H and fixed 2 have different clocks (same)", "LX intel_pmu_ref_cycles_ext")       \
    R(REF_IS_BUS, 1, "Golden Cove, Gracemont and later: the same clock (different)", "LX intel_pmu_ref_cycles_ext") \
    R(SMM_FREEZE, 1, "DEBUGCTL[14] keeps SMM out (ignored)", "SDM 17.4.7")                                        \
    R(STATUS_WITHOUT_INT, 1, "overflow sets status with INT clear too (only with INT)", "KVM; KUT")               \
    R(INT_REQUESTS_PMI, 1, "overflow with INT requests a PMI (never)", "KVM; KUT")                                \
    R(INT_NEEDED, 1, "overflow without INT requests none (does)", "KUT")                                          \
    R(WRITE_KEEPS_STATUS, 1, "a counter write keeps its status bit (clears)", "KVM; KUT")                         \
    R(SELECT_KEEPS_STATUS, 1, "a select write keeps the status bit (clears)", "KVM; KUT")                         \
    R(ACK_CLEARS, 1, "STATUS_RESET clears (ignored)", "KVM; SDM 18.2.4")                                          \
    R(ACK_UNFREEZES, 1, "STATUS_RESET[59] lets counters go on (never)", "SDM 18.2.4.1")                           \
    R(SET_IS_SILENT, 1, "STATUS_SET raises no PMI (does)", "SDM 18.2.4.2")                                        \
    R(PEBS_RECORDS, 1, "an overflow of a PEBS counter stores a record (is as any other's)", "SDM 18.4.2, 18.4.4")    \
    R(PEBS_ARMS, 1, "an overflow arms PEBS, the next event is recorded (the overflow's)", "SDM 18.4.4")               \
    R(PEBS_SHOWS, 1, "an armed counter shows its status bit until the record is stored (does not)", "SDM 18.4.2") \
    R(PEBS_REDUCED, 1, "PREC_DIST, PDIST: the event that overflows is recorded (the next)", "LX ds.c; SDM 18.4.4")  \
    R(PEBS_RELOADS, 1, "a record loads the counter with its reset value (does not)", "LX ds.c; SDM 18.4.4")           \
    R(PEBS_COLLIDES, 1, "formats 0 to 2: one record for all that have overflowed (one each)", "LX ds.c")              \
    R(PEBS_FULL, 1, "a full buffer gets no more records (gets them)", "SDM 18.4.4; LX patches arch-PEBS")             \
    R(PEBS_STRAY, 1, "PEBS_ENABLE cleared under a running counter: a PMI (none)", "LX core.c intel_pmu_disable_event") \
    R(HAZARD_PEBS_HIDDEN, 0, "at the threshold the counter's status bit is set (bit 62 or 54)", "LX core.c") \
    R(HAZARD_PEBS_NO_STATUS, 0, "formats 1 and 2: records name no counter (name them)", "LX ds.c")                    \
    R(LVTPC_MASKS, 1, "delivery masks LVTPC (does not)", "SDM 10.5.1; Linux kvm/lapic.c")                         \
    R(LVTPC_DROPS, 1, "a PMI under a masked LVTPC is dropped (latched)", "KVM")                                   \
    R(NMI_PENDS, 1, "an NMI inside an NMI pends, one at most (lost)", "SDM 6.7.1")                                \
    R(FREEZE_LEGACY, 1, "DEBUGCTL[12], v2/v3: GLOBAL_CTRL := 0 (no freeze)", "SDM 17.4.7")                        \
    R(FREEZE_STREAMLINED, 1, "DEBUGCTL[12], v4+: CTR_FRZ, GLOBAL_CTRL kept (legacy)", "SDM 17.4.7")               \
    R(FREEZE_NEEDS_INT, 1, "no freeze at an overflow without INT (freezes)", "SDM 17.4.7")                        \
    R(RDPMC_RANGE, 1, "RDPMC of a missing counter #GPs (0)", "KVM; KST; KUT")                                     \
    R(RDPMC_TYPE, 1, "RDPMC of an unknown type #GPs (general)", "KVMI; SDM vol 2 RDPMC")                          \
    R(RDPMC_BIT31, 1, "RDPMC with bit 31 #GPs (fixed counter)", "KST; SDM")                                       \
    R(RDPMC_PCE, 1, "RDPMC outside ring 0 needs CR4.PCE (allowed)", "SDM vol 2 RDPMC")                            \
    R(RDPMC_HIDDEN, 1, "select bit 37 hides a counter outside ring 0 (does not)", "LX core.c; leaf 23H EBX[2]")   \
    R(RDPMC_P6_USER, 1, "Pentium Pro before stepping 9: RDPMC outside ring 0 is wrong (right)", "LX p6.c, erratum 26") \
    R(RDPMC_FAST, 1, "P6: RDPMC with bit 31 gives 32 bits (all)", "SDM vol 2 RDPMC")                              \
    R(METRICS_CLEAR, 1, "RDPMC of metrics clears them where enabled (never)", "LX core.c")                        \
    R(METRICS_GATE, 1, "metrics need GLOBAL_CTRL[48] (only fixed 3)", "LX icl_set_topdown_event_period")        \
    R(METRICS_ORDER, 1, "metrics not zeroed after fixed 3 are garbage (right)", "LX icl_set_topdown_event_period") \
    R(ERRATUM_AAJ80, 1, "Nehalem: C5H/00H is mostly wrong (right)", "LX intel_nehalem_quirk")                     \
    R(ERRATUM_BJ122, 1, "D0H-D3H count into the sibling's counter as well (do not)", "LX intel_ht_bug")           \
    R(ERRATUM_BDM55, 1, "Broadwell C0H/01H: low 6 bits of a period are dropped (kept)", "LX bdw_limit_period")    \
    R(ERRATUM_TFA, 1, "a transaction uses counter 3 unless 10FH[0] (never)", "LX intel_tfa_pmu_enable_all")       \
    R(HAZARD_FIXED2, 1, "fixed 2 sets its status again once after re-arming (not)", "Intel perfmon REF_TSC")      \
    R(HAZARD_AAK100, 0, "Nehalem: a new event starts wrong without the sequence (not)", "LX intel_pmu_nhm_workaround") \
    R(LBR_RECORDS, 1, "DEBUGCTL[0], LBR_CTL[0], C000_010FH[6] record taken branches (nothing)", "LX lbr.c") \
    R(LBR_ENABLE, 1, "DEBUGCTL[0] can be set (a hypervisor drops it)", "KVM vmx.c vmx_set_msr")                    \
    R(LBR_FILTERS, 1, "LBR_SELECT keeps out, LBR_CTL lets in (all are recorded)", "LX lbr.c")                      \
    R(LBR_RESERVED, 1, "reserved bits of LBR_SELECT, LBR_CTL, other depths #GP (ignored)", "LX lbr.c; KUT pmu_lbr.c") \
    R(LBR_SELECT_SHARED, 1, "Nehalem, Westmere: hyper-threads share LBR_SELECT (each its own)", "LX core.c")        \
    R(LBR_CALLS_NEED_JUMPS, 1, "Nehalem, Silvermont: calls pass with the jumps only (alone)", "LX lbr.c") \
    R(LBR_SIGN_EXTENDS, 1, "no transactions, format 4: FROM without sign in 62, 61 #GPs (is stored)", "LX lbr.c") \
    R(LBR_TOP_READ_ONLY, 1, "a write of LBR_TOS #GPs (is stored)", "LX lbr.c")                                     \
    R(LBR_DEPTH_CLEARS, 1, "a write of LBR_DEPTH clears all entries (keeps them)", "LX lbr.c")                     \
    R(LBR_DOUBLE_ABORT, 1, "Haswell records an abort, and again without its bit (once)", "LX lbr.c lbr_double_abort") \
    R(LBR_HOOKS, 1, "a hook's call and return are branches, too (are not)", "LX lbr.c")                            \
    R(BTS_STORES, 1, "DEBUGCTL[6] with [7] stores branches into the debug store (nothing)", "SDM 17.4.1, 17.4.9") \
    R(BTS_ENABLE, 1, "DEBUGCTL[6], [7] can be set (a hypervisor drops them)", "KVM vmx.c vmx_set_msr")                 \
    R(BTS_RINGS, 1, "no DEBUGCTL[8]: behind the last entry comes the first one (no more are stored)", "SDM 17.4.1") \
    R(BTS_INTERRUPTS, 1, "DEBUGCTL[8]: the threshold sets status 62 and interrupts (does not)", "SDM 17.4.9; LX ds.c") \
    R(BTS_BY_SOURCE, 1, "DEBUGCTL[9], [10] look at the ring of a branch's source (target)", "LX ds.c: rings leak") \
    R(CHECK_BTS_AREA, 1, "violation: entries that do not fit between base and maximum", "SDM 17.4.9.2")              \
    R(CHECK_BTS_GUEST, 1, "violation: a branch of a guest is stored by a linear address", "LX core.c")               \
    R(CHECK_LBR_READ, 1, "violation: an entry is accessed while branches are recorded", "LX lbr.c")                \
    R(CHECK_PEBS_MEMORY, 1, "violation: a record or its area in memory that is not mapped", "SDM 18.4.4") \
    R(CHECK_PEBS_AREA, 1, "violation: an area whose index is no record's, or without a threshold", "LX ds.c")         \
    R(CHECK_PEBS_SELECT, 1, "violation: a counter with PEBS has INT, ANY or EDGE", "LX core.c, ds.c")                 \
    R(CHECK_PEBS_LATENCY, 1, "violation: loads, stores without their PEBS_ENABLE bit or helper", "LX ds.c, core.c") \
    R(PEBS_NARROW, 1, "no DTES64: words of 32 bits in the debug store (64)", "LX ds.c intel_ds_init; SDM 17.4.9")      \
    R(PEBS_UNTIMED, 1, "Redwood Cove on: fixed 0 has no retire latency (has)", "LX rwc_get_event_constraints")   \
    R(CHECK_PEBS_PERIOD, 1, "violation: format 5 on, no shadow: a period below 128", "LX glc_limit_period")      \
    R(CHECK_PEBS_SIZE, 1, "violation: PEBS_DATA_CFG changes while the buffer has records", "LX ds.c")                 \
    R(CHECK_PEBS_GUEST, 1, "violation: a record by a linear address while a guest runs", "LX core.c") \
    R(CHECK_PEBS_FLIGHT, 1, "violation: formats to 3 enter a guest armed, with PEBS on", "LX isolation_ucodes")     \
    R(CHECK_PEBS_PAGE, 1, "violation: Core 2 starts with a buffer above a page", "LX ds.c")                           \
    R(CHECK_CONTEXT, 1, "violation: a hook with interrupts on, outside an NMI", "upmu/port.h")                    \
    R(CHECK_RUNNING_COUNTER, 1, "violation: write of a running counter", "SDM 18.2.1.1")                          \
    R(CHECK_RUNNING_SELECT, 1, "violation: change of a running counter's select", "SDM 18.2.1.1")                 \
    R(CHECK_RUNNING_PAYLOAD, 1, "violation: payload changed under a running user", "LX core.c order of enabling") \
    R(CHECK_PERIOD, 1, "violation: a period shorter than the model can do", "LX nhm_limit_period, hsw_limit_period") \
    R(CHECK_TFA, 1, "violation: counter 3 runs with 10FH[0] clear", "LX intel_tfa_pmu_enable_all")                \
    R(CHECK_FAULT, 1, "violation: a write that #GPs; any #GP if the port says faults are unsafe", "upmu/port.h")  \
    R(CHECK_HYPERVISOR, 1, "violation: payload registers under a hypervisor, faults unsafe, no force", "upmu/port.h")
/* clang-format on */

/*
 * Rules of the Pentium 4, in the form of UPMU_SIM_RULES.  SDM: Intel SDM vol 3 (325384-059) 18.15 to 18.18; VBOX:
 * VirtualBox's CPU database, probed on a CPU of signature 0F43H; LX: Linux arch/x86/events/intel/p4.c; PERFCTR: perfctr
 * 2.6.42; SU: Intel 249199, errata N.
 */
/* clang-format off */
#define UPMU_SIM_RULES_P4(R)                                                                                          \
    R(P4_COUNTER_HIGH, 1, "counter bits 63:40 are ignored (#GP)", "VBOX")                                             \
    R(P4_ESCR_BIT31, 1, "ESCR bit 31 #GPs (ignored)", "VBOX")                                                         \
    R(P4_UNIMPLEMENTED, 1, "unimplemented bits read 0 (stored)", "VBOX")                                              \
    R(P4_IQ_ESCR, 1, "IQ_ESCR0/1 exist on models 0 to 2 only (always)", "SDM table 35-41; VBOX")                      \
    R(P4_EXTENDED_CASCADE, 1, "CCCR bit 11 from model 2 on, counters 12, 15, 16, 17 (never)", "SDM 18.15; VBOX")      \
    R(P4_MISC_RESERVED, 1, "reserved MISC_ENABLE bits #GP (ignored)", "VBOX")                                         \
    R(P4_LEAF_LIMIT, 1, "MISC_ENABLE bit 22: no leaf above 3 on models 3, 4, 6 (all)", "SDM table 35-41; PERFCTR")     \
    R(P4_RDPMC_FAST, 1, "RDPMC bit 31: low 32 bits (all 40)", "SDM vol 2 RDPMC")                                      \
    R(P4_ENABLE, 1, "counting needs CCCR.ENABLE or a cascade (runs anyway)", "SDM 18.15")                             \
    R(P4_MATRIX, 1, "a select that is not wired sees no ESCR (one)", "SDM 18.15")                                     \
    R(P4_NULL_EVENT, 1, "event select 0 counts nothing (clocks)", "SDM 18.15")                                        \
    R(P4_NULL_UNIT, 1, "an ESCR tags only if an enabled counter can reach it or its pair (always)", "SDM 18.15")      \
    R(P4_RING, 1, "counting needs the OS/USR bit (any ring)", "SDM 18.15")                                            \
    R(P4_THREAD, 1, "T0/T1 bits tell threads apart (either counts both)", "SDM 18.16, table 19-34")                   \
    R(P4_THREAD_INDEPENDENT, 1, "thread-independent events count both threads (as told)", "SDM 18.16, table 19-34")   \
    R(P4_ACTIVE_THREAD, 1, "ACTIVE_THREAD: none, one, both, any (always any)", "SDM 18.16")                           \
    R(P4_COMPARE, 1, "COMPARE counts clocks above the threshold (ignored)", "SDM 18.15")                              \
    R(P4_COMPLEMENT, 1, "COMPLEMENT: at or below the threshold (ignored)", "SDM 18.15")                               \
    R(P4_EDGE, 1, "EDGE counts rising edges of the comparison (ignored)", "SDM 18.15")                                \
    R(P4_EDGE_COMPARE, 1, "EDGE without COMPARE does nothing (counts edges)", "SDM 18.15")                            \
    R(P4_IOQ_AND, 1, "IOQ masks are all required from model 2 on (never)", "SDM table 19-28")                         \
    R(P4_IOQ_CPL, 1, "IOQ_allocation before 0F27H: FSB_ESCR0 only, any ring (as later)", "SDM table 19-28")           \
    R(P4_BSQ_FIELDS, 1, "BSQ_allocation: type, length and memory are codes (flags)", "SDM table 19-28")               \
    R(P4_OCCUPANCY, 1, "active entries count with the allocation of their mask on ESCR 0 (always)", "SDM table 19-28") \
    R(P4_BSQ_HALF, 1, "bsq_active_entries: every second clock on models 3 and 4 (every)", "SDM table 19-28")          \
    R(P4_TC_MISC_TWICE, 1, "TC_misc counts twice (once)", "SDM table 19-28")                                          \
    R(P4_TAGGED_INSTRUCTIONS, 1, "instr_retired tells front-end tagged ones apart (not)", "SDM table 19-29")          \
    R(P4_TAG_ENABLE, 1, "an execution tag needs TAG_ENABLE and TAG_VALUE (always bit 0)", "SDM 18.15, table 19-32")   \
    R(P4_UOP_TAG, 1, "a replay tag needs 3F1H bit 24 (not)", "SDM table 19-33; LX")                                   \
    R(P4_REPLAY_UPSTREAM, 1, "MOB and split replay tags need their upstream event (not)", "SDM table 19-33")          \
    R(P4_OVF, 1, "an overflow sets OVF (never)", "SDM 18.15")                                                         \
    R(P4_OVF_WRITE_CLEARS, 1, "OVF is cleared by a write of 0 (of 1)", "SDM 18.15")                                   \
    R(P4_FORCE_OVF, 1, "FORCE_OVF overflows at every increment (ignored)", "SDM 18.15")                               \
    R(P4_PMI, 1, "OVF_PMI_T0/T1 interrupt that thread (the other)", "SDM 18.16")                                      \
    R(P4_PMI_NEXT, 1, "the interrupt comes with the event after the overflow (at once)", "SDM 18.15")                 \
    R(P4_OVF_ASSERTS, 1, "OVF keeps the request asserted until cleared (edge)", "LX p4_pmu_handle_irq")               \
    R(P4_CASCADE, 1, "CASCADE runs a counter while its initiator's OVF is set (never)", "SDM 18.15")                  \
    R(P4_CASCADE_PMI, 1, "a cascade raises no PMI on model 2, late 0, 1 (does)", "PERFCTR; SU")                       \
    R(P4_WRITE_LOST, 1, "N15: a write of an enabled counter is lost (is not)", "SU N15")                              \
    R(HAZARD_P4_CARRY, 0, "N17: a stop loses a carry that has just gone into bits 39:32 (not)", "SU N17")             \
    R(HAZARD_P4_UNFLAGGED, 0, "an overflow interrupts without setting OVF (sets it)", "LX p4_pmu_clear_cccr_ovf")     \
    R(CHECK_P4_RESERVED, 1, "violation: reserved or unimplemented bits written as 1", "SDM 18.15")                    \
    R(CHECK_P4_ONE_THREAD, 1, "violation: a missing thread's bits, ACTIVE_THREAD not 11B", "SDM 18.15; PERFCTR")      \
    R(CHECK_P4_SELECT, 1, "violation: a counter enabled on a select that is not wired", "SDM 18.15")                  \
    R(CHECK_P4_OVF, 1, "violation: OVF written as 1 where it is 0", "SDM 18.15")                                      \
    R(CHECK_P4_SIBLING, 1, "violation: a counter that the other thread enabled is written", "SDM 18.16")              \
    R(CHECK_P4_RUNNING_ESCR, 1, "violation: ESCR, 3F1H, 3F2H changed under a counter", "SDM 18.15")                   \
    R(CHECK_P4_UNTOUCHABLE, 1, "violation: IQ_ESCR, 3F0H, 3F5H to 3F8H, PEBS bits", "PERFCTR; VBOX")
/* clang-format on */

#define UPMU_SIM_RULE_ENUM(id, on, text, source) UPMU_SIM_RULE_##id,
enum upmu_sim_rule_id {
    UPMU_SIM_RULES(UPMU_SIM_RULE_ENUM) UPMU_SIM_RULES_P4(UPMU_SIM_RULE_ENUM) UPMU_SIM_RULES_AMD(UPMU_SIM_RULE_ENUM)
        UPMU_SIM_RULES_UNCORE(UPMU_SIM_RULE_ENUM) UPMU_SIM_RULE_COUNT
};
#undef UPMU_SIM_RULE_ENUM

struct upmu_sim_rule {
    const char *name; /* "RESET_GLOBAL" */
    const char *text;
    const char *source;
    bool on; /* the default: true if the rule is on after upmu_sim_init() */
};

/* Return name, text, source and default of a rule by its number (enum upmu_sim_rule_id); NULL after the last rule. */
const struct upmu_sim_rule *upmu_sim_rule(unsigned index);

/* ---- Events ---- */

/*
 * How many events of each kind have happened. A field's comment has the event code/unit mask that counts them on
 * Intel's CPUs, and the fixed counter that does.
 */
struct upmu_sim_totals {
    uint64_t instructions;   /* C0H/00H, fixed 0 */
    uint64_t cycles;         /* 3CH/00H, fixed 1 */
    uint64_t ref_cycles;     /* fixed 2; with UPMU_SIM_ONE_REF_CLOCK 3CH/01H, too */
    uint64_t bus_cycles;     /* 3CH/01H without UPMU_SIM_ONE_REF_CLOCK; P6: 62H/00H */
    uint64_t branches;       /* C4H/00H */
    uint64_t mispredicts;    /* C5H/00H; with UPMU_SIM_AAJ80: 89H/7FH */
    uint64_t llc_references; /* 2EH/4FH */
    uint64_t llc_misses;     /* 2EH/41H */
    uint64_t slots;          /* A4H/01H, fixed 3, as far as the CPU has them */
    uint64_t bad_slots;      /* 73H/00H, fixed 4, as far as the CPU has them */
    uint64_t frontend_slots; /* 9CH/01H, fixed 5 */
    uint64_t retiring_slots; /* C2H/02H, fixed 6 */
    uint64_t uops;           /* retired uops: Pentium 4, AMD */
    uint64_t loads;          /* how many of the uops are loads: Pentium 4 */
    uint64_t stores;         /* how many of the uops are stores: Pentium 4 */
};

/*
 * An event without a field of its own in struct upmu_sim_burst. A counter counts the event if its select has `event`,
 * `umask`, `umask2` (AMD: `event`, `high`, `umask`; UMC: `umask` is 1 for a read, 2 for a write). Pentium 4: an
 * occurrence at the unit whose even ESCR has the address `escr`; `event` is the event number in ESCR[30:25], `mask` has
 * the bits of the event mask (ESCR[24:9]) that select the occurrence. For allocations of IOQ and BSQ, whose event masks
 * contain codes, `mask` is the whole event mask. A replay (3CCH, 09H) needs the bit `payload` of MSR 3F1H, and the bit
 * `matrix` of 3F2H.
 */
struct upmu_sim_other {
    uint64_t count;
    uint64_t payload;  /* value that the event's payload register must have to be counted; 0: any */
    uint32_t counters; /* mask of the general counters that can count it (not on P4); 0: all */
    uint8_t event;
    uint8_t umask;
    uint8_t umask2; /* AMD, data fabric of PerfMonV2: bits 11:8 of the unit mask */
    uint16_t escr;
    uint16_t mask;
    uint16_t matrix;
    uint8_t high; /* AMD: bits 11:8 of the event code (data fabric: bits 13:8) */
    uint8_t unit; /* AMD: UPMU_SIM_UNIT_… */
};

/*
 * A piece of execution on one CPU. Events of each kind are spread evenly over it. A core counter that overflows does so
 * at the exact event; its interrupt comes there, or upmu_sim.skid steps later. Then the rest of the burst continues,
 * with the register values that the handler left. A step is one of the equal parts of a burst, which has as many steps
 * as events of its most frequent kind. An interrupt shows the instruction that comes next: after k instructions `ip + k
 * * ip_step`.
 */
struct upmu_sim_burst {
    uint64_t instructions;
    uint64_t cycles;
    uint64_t ref_cycles;
    uint64_t bus_cycles;
    uint64_t branches;
    uint64_t mispredicts;
    uint64_t llc_references;
    uint64_t llc_misses;
    uint64_t slots;
    uint64_t bad_slots;
    uint64_t frontend_slots;
    uint64_t retiring_slots;
    uint64_t uops;
    uint64_t loads;
    uint64_t stores;
    struct upmu_sim_other other[UPMU_SIM_OTHERS]; /* more events, up to the first entry with count 0 */
    uint32_t per_cycle;                           /* for CMASK: events in each cycle that has any; 0 means 1 */
    uint32_t runs;                                /* for EDGE: number of unbroken runs of such cycles; 0 means 1 */
    bool user;                                    /* ring 3 */
    bool smm;                                     /* the burst runs in system-management mode: see rule SMM_FREEZE */
    bool in_tx;                                   /* the burst is inside one transaction */
    bool tx_abort;                                /* with in_tx: the transaction aborts at the end of the burst */
    uint64_t metrics;                             /* a byte for each metric: share of slots in 255ths; 0: unset */
    uint64_t ip;                                  /* address of the first instruction of the burst */
    uint64_t ip_step;                             /* bytes from the address of an instruction to the next one's */
    uint32_t ip_loop;                             /* each so many instructions begin at `ip` again; 0: never */
    uint64_t sp;
    /* Contents of PEBS records, besides `ip` and `sp`. Instruction k, from 0 on, accesses `data + k * data_step`. */
    uint64_t data, data_step;
    uint64_t data_source, latency, transaction; /* raw words */
    uint64_t retire;                            /* latency of the retirement, where records have it */
    const uint64_t *registers;                  /* 18: flags, ip, ax, cx, dx, bx, sp, bp, si, di, r8 to r15; NULL: 0 */
    /*
     * For branch records: each `branch_step` instructions end with a taken branch, in turn one of the branch_count
     * branches at `branch`.  0: the burst has no branches that are recorded.
     */
    const struct upmu_sim_branch *branch;
    uint64_t branch_count, branch_step;
};

/* Kinds of branches. */
enum upmu_sim_branch_kind {
    UPMU_SIM_BRANCH_COND,
    UPMU_SIM_BRANCH_CALL,
    UPMU_SIM_BRANCH_IND_CALL,
    UPMU_SIM_BRANCH_RETURN,
    UPMU_SIM_BRANCH_IND_JUMP,
    UPMU_SIM_BRANCH_JUMP,
    UPMU_SIM_BRANCH_FAR
};

/* A taken branch.  The branch is filtered as one of the kernel if bit 63 of `to` is set, else as the user's. */
struct upmu_sim_branch {
    uint64_t from, to;
    enum upmu_sim_branch_kind kind;
    uint16_t cycles; /* cycles since the previous branch, where a record has them */
    bool mispredicted, in_tx, abort;
    bool speculative, wrong_path; /* AMD */
    bool reserved;                /* AMD, erratum 1452: bit 61 is set in the record of the target */
};

/*
 * Let the current CPU take a branch: only its branch records change. Branches are counted by upmu_sim_events() alone.
 */
void upmu_sim_branch(struct upmu_sim *sim, const struct upmu_sim_branch *branch);

/*
 * Execute a burst on the current CPU: time passes, counters count and overflow, interrupts that become due are
 * delivered at their places in it. Counters of other CPUs count, too, where they share the core or the node, and so do
 * units.
 */
void upmu_sim_events(struct upmu_sim *sim, const struct upmu_sim_burst *burst);

/*
 * Execute one burst of kernel code on the current CPU: UPMU_SIM_WORK_INSTRUCTIONS instructions in UPMU_SIM_WORK_CYCLES
 * cycles, with a fifth as many branches, and some other events. `sim` is the struct upmu_sim: the function fits
 * upmu_probe.loop.
 */
void upmu_sim_work(void *sim);

/* ---- Interrupts ---- */

struct upmu_sim_interrupt {
    uint64_t ip;
    uint64_t sp;
    bool user;
    bool nmi;     /* the interrupt is an NMI; false: a vector, delivered with interrupts off */
    bool foreign; /* upmu_sim_foreign_nmi() raised the NMI, alone or with a counter */
};

/*
 * The host's interrupt entry. The test sets sim->deliver to a function that calls upmu_pmi_handle(). The CPU is the
 * current one (sim->current). If sim->deliver is NULL, the interrupt is lost (and counted).
 */
typedef void upmu_sim_deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt);

/*
 * Raise an NMI that no counter raised, on the current CPU. In an NMI the new one pends until the end (one at most; with
 * rule NMI_PENDS off it is lost). An NMI of a counter that pends already merges with it.
 */
void upmu_sim_foreign_nmi(struct upmu_sim *sim);

/* ---- Accesses ---- */

enum upmu_sim_kind {
    UPMU_SIM_RDMSR = 0,
    UPMU_SIM_WRMSR = 1,
    UPMU_SIM_RDPMC = 2,
    UPMU_SIM_REARM = 3,
    UPMU_SIM_CPUID = 4, /* in access_count, but not numbered: no callback, fault or trace */
    UPMU_SIM_PCI_READ = 5,
    UPMU_SIM_PCI_WRITE = 6,
    UPMU_SIM_MMIO_READ = 7,
    UPMU_SIM_MMIO_WRITE = 8
};
#define UPMU_SIM_KINDS 9

struct upmu_sim_access {
    uint32_t kind;
    uint32_t cpu;
    uint32_t address; /* MSR; RDPMC index; PCI: `where` << 12 | offset; memory: low half of the physical address */
    bool faulted;
    uint64_t value; /* read or written */
};

/*
 * A test's function that the model calls before or after each numbered access (sim->before_access, after_access).
 * `number`: of the access, from 1 on. Accesses that the function makes itself are numbered, but do not call it.
 */
typedef void upmu_sim_on_access(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                                uint32_t address);

/* Kinds of accesses of PEBS to memory, added up. */
enum upmu_sim_memory_kind {
    UPMU_SIM_MEMORY_READ = 0,
    UPMU_SIM_MEMORY_WRITE = 1,
    UPMU_SIM_MEMORY_PHYSICAL = 2 /* `address` is physical (architectural PEBS); otherwise linear */
};

/*
 * The memory of the host, where PEBS finds the debug store area and stores records (sim->memory). Copies `bytes`, which
 * has `length` bytes, to or from `address`. Returns false if no memory is there, which is a violation.
 */
typedef bool upmu_sim_memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                             uint8_t *bytes, uint32_t length);

/* A mistake of a caller of the hooks, which is the library or a test: of the check `text`, at which access. */
struct upmu_sim_violation {
    const char *text; /* static */
    uint32_t address;
    uint32_t access; /* number of the access */
    uint32_t cpu;
    uint64_t value;
};

/* ---- The model ---- */

struct upmu_sim_counter {
    uint64_t value;       /* what a read returns */
    uint64_t counted;     /* for tests: all events that the counter ever counted; writes and wraps do not change it */
    uint64_t wraps;       /* how often the counter has overflowed so far */
    uint64_t abort_value; /* IN_TXCP: the value at the start of the transaction, to which an abort returns */
    uint64_t loaded;      /* the value that was last written, or was loaded after a record */
    uint32_t late;        /* steps until the counter's status bit shows; 0: no bit is late */
    uint8_t pebs;         /* PEBS: 1: an overflow has armed the counter; 2: its record is due */
    bool selected_new;    /* AAK100: event or unit mask has changed since the counter last ran */
    bool written;         /* the counter has not run since its value was written */
};

/* Registers of a NetBurst core. Hyper-threads use the structure of their core's first CPU. */
struct upmu_sim_p4 {
    uint64_t cccr[UPMU_SIM_P4_COUNTERS];
    uint64_t escr[UPMU_SIM_P4_ESCRS];      /* by number of the ESCR, in the order of the addresses */
    uint64_t tc_precise;                   /* 3F0H */
    uint64_t replay;                       /* 3F1H */
    uint64_t matrix;                       /* 3F2H */
    uint32_t pmi_due;                      /* bit n: counter n interrupts with its next event */
    uint32_t carried;                      /* N17: bit n: a carry has changed bits 39:32 of counter n */
    uint8_t enabler[UPMU_SIM_P4_COUNTERS]; /* the CPU that last wrote ENABLE or a cascade bit as 1 */
};

/* Registers of Intel's branch records, and the most entries of a stack. */
#define UPMU_SIM_LBR 32
struct upmu_sim_lbr {
    uint64_t from[UPMU_SIM_LBR], to[UPMU_SIM_LBR], info[UPMU_SIM_LBR];
    uint64_t top, select; /* 1C9H, 1C8H */
    uint64_t ctl, depth;  /* 14CEH, 14CFH */
    uint64_t trace;       /* RTIT_CTL, 570H */
};

struct upmu_sim_cpu {
    const struct upmu_sim_profile *profile; /* by upmu_sim_set_profile(); NULL: the CPU has upmu_sim.profile */
    struct upmu_cpu *bound;
    bool halted;  /* Pentium 4: the hyper-thread is inactive (ACTIVE_THREAD); AMD: no core counter counts */
    bool offline; /* set by a test: the run_on_cpu hook returns false for this CPU */
    bool irqs_on; /* maskable interrupts */
    bool in_nmi;
    bool in_irq;
    bool user;       /* set by a test: RDPMC is executed in ring 3 */
    bool guest;      /* a guest executes */
    bool loads_gate; /* entry into a guest and exit load GLOBAL_CTRL with the two values below */
    uint64_t gate_in_guest, gate_in_host;
    bool cr4_pce;
    bool nmi_pending;
    bool nmi_foreign; /* upmu_sim_foreign_nmi() raised the pending NMI, alone or with a counter */
    bool irq_pending;
    bool latched; /* with rule LVTPC_DROPS off: a PMI found LVTPC masked and waits */
    uint32_t lvtpc;
    uint32_t irq_depth; /* how many calls of irq_save have had no irq_restore yet */
    /* Registers */
    struct upmu_sim_counter counter[UPMU_SIM_COUNTERS];
    uint64_t select[UPMU_SIM_GENERAL];
    uint64_t fixed_ctrl;
    uint64_t global_ctrl;
    uint64_t status;
    uint64_t debugctl;
    uint64_t misc_enable;
    uint64_t pebs_enable;
    uint64_t pebs_data_cfg;
    uint64_t ds_area;
    uint64_t metrics;
    uint64_t payload[UPMU_SIM_PAYLOADS];
    uint64_t reload[UPMU_SIM_COUNTERS][2]; /* version 6: CFG_B, CFG_C */
    uint64_t pebs_base[2];                 /* registers of architectural PEBS: 3F4H, 3F5H */
    uint64_t force_abort;
    uint64_t tsc_offset;
    uint64_t metric_sum[UPMU_SIM_METRICS]; /* by metric: sum of slots times its share in 255ths since the write */
    uint64_t metric_slots;
    bool metrics_wrong; /* fixed 3 was written and PERF_METRICS not after it */
    bool pebs_due;      /* a counter's PEBS record is due */
    uint8_t magic;      /* AAK100: 1: the 4 special selects run; 2: they ran, and were stopped */
    struct upmu_sim_p4 p4;
    struct upmu_sim_amd amd;
    struct upmu_sim_lbr lbr;
    /* Interrupts on their way */
    uint32_t skid_left;
    uint32_t sticky_left;
    bool sticky_armed;
    struct upmu_sim_interrupt where; /* next instruction, stack pointer and ring */
    /* For tests: what has really happened on this CPU, whether registers show it or not */
    struct upmu_sim_totals truth[2];         /* [0] kernel, [1] user */
    uint64_t metric_truth[UPMU_SIM_METRICS]; /* slots times 255ths */
    uint32_t pmi_requests;                   /* interrupts requested for overflows */
    uint32_t pmi_dropped;                    /* interrupts that found LVTPC masked */
    uint32_t interrupts;                     /* NMIs and vectors delivered, or lost without sim->deliver */
    uint32_t foreign;                        /* how many of `interrupts` were, also, foreign NMIs */
    uint32_t merged;                         /* how often a counter's and a foreign NMI became one NMI */
    uint32_t ibs_requests;                   /* interrupts requested by IBS */
    uint32_t pebs_records;                   /* records stored */
};

struct upmu_sim {
    const struct upmu_sim_profile *profile;
    struct upmu_port port; /* a test may set optional hooks to NULL before upmu_machine_init() */
    unsigned cpus;
    unsigned current;
    struct upmu_sim_cpu cpu[UPMU_SIM_CPUS];
    uint8_t rule[UPMU_SIM_RULE_COUNT];

    /* Settings that a test may change at any time; 0, false or NULL after upmu_sim_init() */
    void *test; /* for the test's own use */
    upmu_sim_deliver *deliver;
    upmu_sim_on_access *before_access;
    upmu_sim_on_access *after_access;
    upmu_sim_memory *memory;    /* NULL: there is no memory for PEBS */
    uint32_t fault_at;          /* number of the first access that faults and has no effect; 0: none */
    uint32_t fault_until;       /* number of the last one; below fault_at: only fault_at itself */
    uint32_t fault_address;     /* each access to this address faults, except RDPMC */
    bool expect_faults;         /* #GP is no violation */
    bool forced;                /* the test passed `force` to upmu: no violation of CHECK_HYPERVISOR */
    uint32_t unmoved;           /* bit n: counter n of each CPU runs, but counts nothing of a burst */
    uint32_t skid;              /* steps from an overflow to its interrupt; an access is a step, too */
    uint32_t status_lag;        /* steps from an overflow to its status bit */
    uint32_t events_per_access; /* so many kernel instructions and cycles happen before each access */
    uint32_t ns_per_access;
    uint32_t cpus_per_node;        /* AMD: how many CPUs share a northbridge; 0: all */
    struct upmu_sim_access *trace; /* the test's array of trace_size entries; accesses are recorded until it is full */
    uint32_t trace_size;
    uint32_t trace_count;

    /* Results for tests */
    uint64_t now_ns;   /* model time; a burst takes 1 ns for each ref_cycle (or cycle, or instruction) */
    uint32_t accesses; /* how many numbered accesses there were: all kinds but CPUID */
    uint32_t access_count[UPMU_SIM_KINDS];
    uint32_t faults; /* how many accesses met #GP or an injected fault */
    uint32_t violation_count;
    const char *violation; /* text of the last violation; NULL: none since the start or upmu_sim_forget() */
    struct upmu_sim_violation first_violation;
    struct upmu_sim_violation last_violation;
    uint32_t log_lines;
    char log_last[120];

    struct upmu_sim_uncore *uncore; /* state of the units outside the cores (sim_uncore.h); NULL: no units */

    /* Private */
    bool in_callback;
};

/*
 * Make a machine after reset with this number of CPUs (0: UPMU_SIM_CPUS_DEFAULT; at most UPMU_SIM_CPUS), with LVTPC set
 * up for NMI but masked.
 */
void upmu_sim_init(struct upmu_sim *sim, const struct upmu_sim_profile *profile, unsigned cpus);

/*
 * Give a CPU another profile than that of upmu_sim_init(), of the same family, and reset the CPU with LVTPC set up for
 * NMI. Call it right after upmu_sim_init(). A CPU that the model does not have is ignored.
 */
void upmu_sim_set_profile(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_profile *profile);

/* Return the profile of a CPU: its own (upmu_sim_set_profile()) or that of the model. */
const struct upmu_sim_profile *upmu_sim_cpu_profile(const struct upmu_sim *sim, unsigned cpu);

/*
 * Return &sim->port. upmu_sim_init() has set its hooks for MSRs, RDPMC, CPUID, interrupts, time, other CPUs and the
 * log; upmu_sim_uncore_init() adds those for PCI and memory. msr_faults_are_safe is true; a test may change it there.
 */
const struct upmu_port *upmu_sim_port(struct upmu_sim *sim);

/* Make a CPU the current one, on which hooks, bursts and interrupts run from now on (0 if there is no such CPU). */
void upmu_sim_switch_cpu(struct upmu_sim *sim, unsigned cpu);

/* Let the this_cpu hook return `bound` on this CPU, and run_on_cpu find the CPU by it. */
void upmu_sim_bind_cpu(struct upmu_sim *sim, unsigned cpu, struct upmu_cpu *bound);

/*
 * Set a CPU's registers as after power-on or sleep, with LVTPC masked and without delivery mode, and drop pending
 * interrupts. Binding, counts for tests and settings for tests stay.
 */
void upmu_sim_reset_cpu(struct upmu_sim *sim, unsigned cpu);

/* Send INIT to a CPU: registers stay, but with rule INIT_KEEPS off counters get garbage. */
void upmu_sim_init_signal(struct upmu_sim *sim, unsigned cpu);

/* Enable or disable maskable interrupts of the current CPU, and deliver a pending PMI that can now be delivered. */
void upmu_sim_irqs(struct upmu_sim *sim, bool on);

/* Choose how PMIs are delivered, in a CPU's LVTPC: UPMU_SIM_LVTPC_NMI or a vector 16…255. The mask bit stays. */
void upmu_sim_set_delivery(struct upmu_sim *sim, unsigned cpu, uint32_t mode);

/*
 * Leave a CPU as firmware may: counter 0 counts cycles and requests interrupts, LVTPC is masked. Intel core PMU: fixed
 * counters 0 to 2 are set to user mode as well, but GLOBAL_CTRL stops them.
 */
void upmu_sim_firmware(struct upmu_sim *sim, unsigned cpu);

/*
 * Read or write a register without any rule or check. If the model has no such register, the value read is 0, and a
 * write is dropped.
 */
uint64_t upmu_sim_peek(struct upmu_sim *sim, unsigned cpu, uint32_t msr);
void upmu_sim_poke(struct upmu_sim *sim, unsigned cpu, uint32_t msr, uint64_t value);

/* Is a counter enabled, with all its gates open, for at least one ring? */
bool upmu_sim_runs(const struct upmu_sim *sim, unsigned cpu, unsigned counter);

/*
 * Let the hardware enter a guest on the current CPU, or leave it: sets cpu->guest and, if loads_gate is set, loads
 * GLOBAL_CTRL. Around the delivery of an interrupt in a guest the model leaves the guest and enters it again.
 */
void upmu_sim_enter_guest(struct upmu_sim *sim);
void upmu_sim_leave_guest(struct upmu_sim *sim);

/* Let model time pass without any event, late status bit or interrupt. */
void upmu_sim_advance_ns(struct upmu_sim *sim, uint64_t ns);

/* Clear what was recorded so far: numbers of accesses and faults, the trace, the violations. The log stays. */
void upmu_sim_forget(struct upmu_sim *sim);

#ifdef __cplusplus
}
#endif

#endif
