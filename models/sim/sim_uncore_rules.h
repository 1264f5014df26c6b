/* SPDX-License-Identifier: MIT */
/*
 * The list of rules of uncore units in the silicon model, which models/sim/sim.h includes.
 */
#ifndef UPMU_SIM_UNCORE_RULES_H
#define UPMU_SIM_UNCORE_RULES_H

/*
 * Rules in the form of UPMU_SIM_RULES: identifier, default, what holds while the rule is 1 (and what the model does
 * while it is 0), source. GUIDE: Intel 327043 (E5-2600 uncore guide); GUIDE2: 329468 (v2); SDM: Intel SDM vol 3 and 4;
 * LX: Linux arch/x86/events/intel/uncore*.c; LXA: Linux arch/x86/events/amd/uncore.c; LKW: LIKWID; choice: there is no
 * public source, and the model is as strict as it can be.
 */
/* clang-format off */
#define UPMU_SIM_RULES_UNCORE(R)                                                                                      \
    R(U_DIE, 1, "a unit's MSRs are those of the executing CPU's die (of die 0)",                                      \
      "SDM: scope of uncore MSRs")                                                                                    \
    R(U_OWN, 1, "MSRs of a CPU or a core are those of the executing one (of the first of the die)",                   \
      "SDM vol 4: scopes Thread and Core of MSRs")                                                                    \
    R(U_ABSENT_MSR, 1, "MSRs of a unit that is fused off #GP (read 0, drop)",                                         \
      "choice")                                                                                                       \
    R(U_ABSENT_PCI, 1, "a function that is not there reads all ones (0)",                                             \
      "PCI Local Bus 3.0, 6.1")                                                                                       \
    R(U_ABSENT_MMIO, 1, "memory without a device reads all ones (0)",                                                 \
      "choice")                                                                                                       \
    R(U_ECAM, 1, "offsets from 100H on need ECAM (always work)",                                                      \
      "PCI Express 3.0, 7.2")                                                                                         \
    R(U_BAR, 1, "a client's BAR with bit 0 clear leads nowhere from Tiger Lake on (to the registers)",                \
      "LX uncore_snb.c")                                                                                              \
    R(U_ENABLE, 1, "counting needs the enable bit of the select (a select that is not 0)",                            \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_LIVE, 1, "self-describing units and Alder Lake's IMC: a select that is not 0 is live (needs bit 22)",         \
      "LX uncore_discovery.c, uncore_snb.c")                                                                          \
    R(U_ENABLE_FIXED, 1, "NHM, NHM-EX, KNL: bit 0 enables the fixed counter (22)",                                    \
      "SDM vol 4 395H")                                                                                               \
    R(U_ENABLE_UMC, 1, "UMC: bit 31 enables (22)",                                                                    \
      "LXA")                                                                                                          \
    R(U_FREEZE, 1, "a frozen box stands still (counts)",                                                              \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_FREEZE_ENABLE, 1, "HSX, BDX, KNL: freeze works with bit 16 only (alone)",                                     \
      "GUIDE 2.1.1; LX")                                                                                              \
    R(U_CONTROL_READS_ZERO, 1, "box control of style B reads 0 (bits 8 and 16)",                                      \
      "GUIDE: write-only; LX reads it")                                                                               \
    R(U_RESET_SELECTS, 1, "box control resets the selects (ignored)",                                                 \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_RESET_COUNTERS, 1, "box control resets the counters (ignored)",                                               \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_GLOBAL, 1, "counting needs the package's global enable (runs anyway)",                                        \
      "SDM vol 4 391H; Intel 323535; LX")                                                                             \
    R(U_GLOBAL_FREEZE, 1, "700H, C00H, 2FF0H: a freeze bit stops all units of the package (none)",                    \
      "LKW; GUIDE2; Intel 323535")                                                                                    \
    R(U_STARTS_FROZEN, 1, "where the global control says so units begin frozen (running)",                            \
      "LX uncore.c, patches for PTL and DMR")                                                                         \
    R(U_OVERFLOW_STOPS, 1, "client bit 31: an overflow clears the global enable (does not)",                          \
      "SDM vol 4 391H")                                                                                               \
    R(U_OVERFLOW_NEEDS_BIT, 1, "an overflow sets a status bit if select bit 20 is set (always)",                      \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_STATUS_CLEARS, 1, "a status bit is cleared by writing 1 (0)",                                                 \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_WIDTH, 1, "counter bits above the width read 0 (are kept)",                                                   \
      "GUIDE: reserved")                                                                                              \
    R(U_RESERVED, 1, "Intel's MSRs: reserved select bits #GP (dropped)",                                              \
      "choice")                                                                                                       \
    R(U_EVENT, 1, "a counter counts the event that its select names (any)",                                           \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_UMASK, 1, "and its unit mask, extended half included (any)",                                                  \
      "GUIDE 2.1.1; LX")                                                                                              \
    R(U_ONE_COUNTER, 1, "an event tied to some counters counts on those only (on all)",                               \
      "LX event constraints; Intel event files")                                                                      \
    R(U_FILTER, 1, "an event counts what its box's filter lets through (all)",                                        \
      "GUIDE 2.3.5")                                                                                                  \
    R(U_THRESHOLD, 1, "a threshold counts cycles that reach it (ignored)",                                            \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_INVERT, 1, "invert counts cycles below the threshold (ignored)",                                              \
      "SDM vol 3 uncore")                                                                                             \
    R(U_EDGE, 1, "edge counts how often the condition begins (ignored)",                                              \
      "GUIDE 2.1.1")                                                                                                  \
    R(U_RESET_BIT, 1, "select bit 17 clears the counter and reads 0 (is kept)",                                       \
      "GUIDE 2.1.1; SDM vol 4 3C0H")                                                                                  \
    R(U_HIGH_HALF, 1, "a select of two dwords takes effect with the low one (either)",                                \
      "choice; LX writes the high one first")                                                                         \
    R(U_FREE, 1, "a free-running counter drops writes (takes them)",                                                  \
      "LX")                                                                                                           \
    R(U_FREE_WIDTH, 1, "a free-running counter wraps at its own width (64 bits)",                                     \
      "LX free-running tables")                                                                                       \
    R(U_PAIR, 1, "a 64-bit read of a 32-bit register gives two of them (one)",                                        \
      "LX uncore_snb.c")                                                                                              \
    R(U_SBOX, 1, "HSX S-box: more than one new bit of 0, 1, 16 at once #GPs (is taken)",                              \
      "LX hswep_uncore_sbox_msr_init_box")                                                                            \
    R(U_UMC_SATURATES, 1, "UMC: stops at its end (wraps)",                                                            \
      "LXA")                                                                                                          \
    R(U_SLICES, 1, "AMD L3: counts for the slices, cores and threads asked for (for all)",                            \
      "LXA; AMD PPR 17H")                                                                                             \
    R(CHECK_U_DIE, 1, "violation: a unit's MSR from a die that the test excluded",                                    \
      "upmu/port.h: run_on_cpu")                                                                                      \
    R(CHECK_U_MANAGER, 1, "violation: a unit written by another CPU than the one before",                             \
      "one writer for each unit")                                                                                     \
    R(CHECK_U_RUNNING_SELECT, 1, "violation: another event under a running counter",                                  \
      "GUIDE 2.1.1")                                                                                                  \
    R(CHECK_U_RUNNING_FILTER, 1, "violation: filter bits changed under their running user",                           \
      "GUIDE 2.3.5")                                                                                                  \
    R(CHECK_U_RUNNING_COUNTER, 1, "violation: write of a running counter",                                            \
      "GUIDE 2.1.1")                                                                                                  \
    R(CHECK_U_RESET, 1, "violation: box control resets running counters",                                             \
      "GUIDE 2.1.1")                                                                                                  \
    R(CHECK_U_FREEZE, 1, "violation: a running counter of a stranger is stopped or written",                          \
      "firmware's and other drivers' counters")                                                                       \
    R(CHECK_U_RESERVED, 1, "violation: PCI, MMIO, AMD: reserved bits written",                                        \
      "GUIDE: reserved; LXA")                                                                                         \
    R(CHECK_U_READ_ONLY, 1, "violation: a register that cannot be written, or whose meaning is unknown",              \
      "GUIDE: reserved")                                                                                              \
    R(CHECK_U_WIDTH, 1, "violation: an access that is unaligned or of another width than its register",               \
      "PCI Local Bus 3.0, 3.2; LX uncore_snb.c")                                                                      \
    R(CHECK_U_MAPPING, 1, "violation: an access outside of what is mapped; a wrong unmap",                            \
      "upmu/port.h: mmio_map")                                                                                        \
    R(CHECK_U_ACCESSES, 1, "violation: more accesses than the test allows",                                           \
      "a find must end")                                                                                              \
    R(CHECK_U_RUN_ON_CPU, 1, "violation: run_on_cpu nested, in an NMI or on a CPU that is offline",                   \
      "upmu/port.h: run_on_cpu")
/* clang-format on */

#endif
