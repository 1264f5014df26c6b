/* SPDX-License-Identifier: MIT */
/*
 * Build options: 0 or 1, or a number; the same for every file of one build.  They can be set on the compiler's command
 * line.  docs/SIZE.md has the table of all options with their bytes, made of tools/options.tsv.
 */
#ifndef UPMU_CONFIG_H
#define UPMU_CONFIG_H

#include <upmu/private/target.h>

/* The version of the tree: 0x000200 is 0.2.0.  Layouts of structures can change with each version. */
#define UPMU_VERSION_MAJOR 0
#define UPMU_VERSION_MINOR 3
#define UPMU_VERSION_PATCH 0
#define UPMU_VERSION (UPMU_VERSION_MAJOR * 0x10000u + UPMU_VERSION_MINOR * 0x100u + UPMU_VERSION_PATCH)

/* Profiles: defaults of the options below.  An option that is set wins (docs/SIZE.md, "Profiles"). */
#define UPMU_PROFILE_TINY 1  /* no NetBurst; counts of CPUs and threads, no sampling; 4 events in a set, no names */
#define UPMU_PROFILE_COUNT 2 /* as TINY, for 12 events, with generic names; each catalogue is an option of its own */
#define UPMU_PROFILE_FULL 3  /* everything but UPMU_TRACE and UPMU_PORT_STATIC */
#ifndef UPMU_PROFILE
#define UPMU_PROFILE UPMU_PROFILE_FULL
#endif
#define UPMU_IS_FULL (UPMU_PROFILE >= UPMU_PROFILE_FULL) /* not an option */

/* The Intel core backend: P6, Core, architectural performance monitoring. */
#ifndef UPMU_BACKEND_X86_CORE
#define UPMU_BACKEND_X86_CORE UPMU_FOR_X86
#endif

/* The Pentium 4 backend: NetBurst, family 15 (docs/pentium4.md). */
#ifndef UPMU_BACKEND_X86_P4
#define UPMU_BACKEND_X86_P4 (UPMU_FOR_X86 && UPMU_IS_FULL)
#endif

/* The AMD backend: K7 to Zen, Hygon (docs/amd.md). */
#ifndef UPMU_BACKEND_AMD
#define UPMU_BACKEND_AMD UPMU_FOR_X86
#endif

/* The paravirtual backend (docs/PARAVIRT.md).  It is used if the port has the hooks hypercall and shared_page. */
#ifndef UPMU_BACKEND_PARAVIRT
#define UPMU_BACKEND_PARAVIRT (UPMU_FOR_X86 && UPMU_IS_FULL)
#endif

/* The Arm backend: PMUv3 of AArch64 and AArch32, PMUv2 of AArch32. */
#ifndef UPMU_BACKEND_ARM_PMUV3
#define UPMU_BACKEND_ARM_PMUV3 UPMU_FOR_ARM
#endif

/* The RISC-V backend: hardware performance monitors, with overflows (Sscofpmf) or without. */
#ifndef UPMU_BACKEND_RISCV_HPM
#define UPMU_BACKEND_RISCV_HPM UPMU_FOR_RISCV
#endif

/* Sampling: rings, the handler.  0: sampled events are ..._COMPILED_OUT; upmu_pmi_handle(): UPMU_PMI_NOT_OURS. */
#ifndef UPMU_SAMPLING
#define UPMU_SAMPLING UPMU_IS_FULL
#endif

/* Sampling formats; in the default format's records values of other events, ids and periods (upmu/format.h). */
#ifndef UPMU_FORMATS
#define UPMU_FORMATS UPMU_SAMPLING
#endif

/* Records of samples with the callers of the interrupted code (upmu_session_callers()); needs UPMU_FORMATS. */
#ifndef UPMU_CALLERS
#define UPMU_CALLERS UPMU_FORMATS
#endif

/* Messages about overflows (upmu/message.h).  0: upmu_session_messages() returns UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_MESSAGES
#define UPMU_MESSAGES UPMU_SAMPLING
#endif

/* Logs, and their forms for other programs: folded stacks, pprof, perf.data (upmu/results.h).  0: ..._COMPILED_OUT. */
#ifndef UPMU_RESULTS
#define UPMU_RESULTS UPMU_SAMPLING
#endif

/* Derived metrics: formulas over counts (upmu/metric.h).  0: nothing of them is compiled in. */
#ifndef UPMU_FORMULAS
#define UPMU_FORMULAS UPMU_IS_FULL
#endif

/* Pages for reading counts from user mode (upmu/page.h).  0: the call returns UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_USER_PAGES
#define UPMU_USER_PAGES UPMU_IS_FULL
#endif

/* Packing lists of events into few sets (upmu/pack.h).  0: the calls return UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_PACK
#define UPMU_PACK UPMU_IS_FULL
#endif

/* Names: parser, catalogues, PMUs by name.  0: text calls are ..._COMPILED_OUT; events are given as raw words. */
#ifndef UPMU_NAMES
#define UPMU_NAMES (UPMU_PROFILE >= UPMU_PROFILE_COUNT)
#endif

/* Catalogues from outside, upmu_catalog_load().  0: this call returns UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_IMPORT
#define UPMU_IMPORT (UPMU_NAMES && UPMU_IS_FULL)
#endif

/* Built-in catalogues of x86 models.  0: architectural events, and models with UPMU_EVENTS_name 1 (UPMU_EVENTS_skl). */
#ifndef UPMU_EVENTS_ALL
#define UPMU_EVENTS_ALL (UPMU_FOR_X86 && UPMU_IS_FULL)
#endif

/* Built-in catalogues of Arm's CPU models.  0: only the common events of PMUv3. */
#ifndef UPMU_EVENTS_ARM
#define UPMU_EVENTS_ARM UPMU_BACKEND_ARM_PMUV3
#endif

/* The exact search for a placement.  0: events get counters in two orders, and a set that fits may be refused. */
#ifndef UPMU_PLACE_SEARCH
#define UPMU_PLACE_SEARCH (UPMU_PROFILE >= UPMU_PROFILE_COUNT)
#endif

/* Moves: a running event gets another counter if a session does not fit otherwise.  0: such a session is refused. */
#ifndef UPMU_MOVES
#define UPMU_MOVES UPMU_IS_FULL
#endif

/* The sequences that errata of Nehalem and Westmere require before each new event.  0: these CPUs have no PMU. */
#ifndef UPMU_PRELUDES
#define UPMU_PRELUDES (UPMU_FOR_X86 && UPMU_IS_FULL)
#endif

/* Events of top-down metrics (PERF_METRICS of Ice Lake and later).  0: they are refused with UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_METRICS
#define UPMU_METRICS (UPMU_FOR_X86 && UPMU_IS_FULL)
#endif

/* The most counters that one event can need: 3, or 1 without NetBurst, AMD, metrics and Golden Cove's load latency. */
#ifndef UPMU_SLOTS
#define UPMU_SLOTS 3
#endif

/* Domains, in which CPUs claim parts of a PMU that they share.  0: each CPU acts as if it were alone (docs/SIZE.md). */
#ifndef UPMU_DOMAINS
#define UPMU_DOMAINS UPMU_IS_FULL
#endif

/* Sessions of threads.  0: upmu_thread_switch() does nothing, and a session that does not fit is refused. */
#ifndef UPMU_THREADS
#define UPMU_THREADS 1
#endif

/* Sharing sessions; needs UPMU_THREADS.  0: waiting sessions of threads get a new place at switches and ticks alone. */
#ifndef UPMU_SHARING
#define UPMU_SHARING UPMU_THREADS
#endif

/* Chains of event sets; needs UPMU_THREADS.  0: a session has one set; calls for more are compiled out. */
#ifndef UPMU_SETS
#define UPMU_SETS (UPMU_THREADS && UPMU_IS_FULL)
#endif

/* Sums over groups of threads (upmu/group.h); needs UPMU_THREADS.  0: the calls return UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_GROUPS
#define UPMU_GROUPS (UPMU_THREADS && UPMU_IS_FULL)
#endif

/* Worlds: host and guests are counted apart (upmu/world.h).  0: all sessions count in both; ..._COMPILED_OUT. */
#ifndef UPMU_WORLDS
#define UPMU_WORLDS UPMU_IS_FULL
#endif

/* Loans: counters whose registers hold a guest's values.  0: upmu_set_lend() returns UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_LOANS
#define UPMU_LOANS UPMU_WORLDS
#endif

/* Instruction-based sampling (upmu/ibs.h), on AMD only.  0: the calls return UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_IBS
#define UPMU_IBS (UPMU_BACKEND_AMD && UPMU_SAMPLING)
#endif

/* Branch records in registers (upmu/branches.h).  0: the calls return UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_BRANCHES
#define UPMU_BRANCHES (UPMU_IS_FULL && (UPMU_BACKEND_X86_CORE || UPMU_BACKEND_AMD))
#endif

/* Precise samples (PEBS; upmu/precise.h): records, parts in logs and perf.data.  0: the call is COMPILED_OUT. */
#ifndef UPMU_PRECISE
#define UPMU_PRECISE (UPMU_BACKEND_X86_CORE && UPMU_SAMPLING)
#endif

/* Branch records in samples (upmu_session_branches()); needs UPMU_BRANCHES, _PRECISE, _FORMATS.  0: COMPILED_OUT. */
#ifndef UPMU_BRANCH_SAMPLES
#define UPMU_BRANCH_SAMPLES (UPMU_BRANCHES && UPMU_PRECISE && UPMU_FORMATS)
#endif

/* Traces of branches in memory (upmu/bts.h); needs UPMU_BRANCHES, UPMU_PRECISE.  0: the calls are COMPILED_OUT. */
#ifndef UPMU_BTS
#define UPMU_BTS (UPMU_BRANCHES && UPMU_PRECISE)
#endif

/* Hybrid sessions (upmu/hybrid.h); needs UPMU_THREADS.  0: the calls return UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_HYBRIDS
#define UPMU_HYBRIDS (UPMU_THREADS && UPMU_IS_FULL)
#endif

/* Units outside the cores: memory controllers, links, a host's devices (upmu/unit.h).  0: nothing is compiled in. */
#ifndef UPMU_UNCORE
#define UPMU_UNCORE (UPMU_FOR_X86 && UPMU_IS_FULL)
#endif

/* Built-in catalogues of the events of units.  Without UPMU_EVENTS_ALL they are left out, unless this option is 1. */
#ifndef UPMU_EVENTS_UNCORE
#define UPMU_EVENTS_UNCORE (UPMU_UNCORE && UPMU_NAMES && UPMU_EVENTS_ALL)
#endif

/* The allow-list of registers that kernels write for programs (upmu/permit.h).  0: none of it is compiled in. */
#ifndef UPMU_PERMIT
#define UPMU_PERMIT UPMU_IS_FULL
#endif

/* Calls for sessions on other CPUs, by the port's hook run_on_cpu.  0: UPMU_ERR_WRONG_CPU, as without the hook. */
#ifndef UPMU_REMOTE
#define UPMU_REMOTE 1
#endif

/* upmu_cpu_suspend(), upmu_cpu_resume() and upmu_cpu_changed().  0: these calls return UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_SUSPEND
#define UPMU_SUSPEND 1
#endif

/* Counters of the firmware, of other software and of the host (upmu_cpu_reserve()).  0: all are the library's. */
#ifndef UPMU_FIRMWARE
#define UPMU_FIRMWARE 1
#endif

/* Dry runs, upmu_session_dry_run().  0: this call returns UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_DRY_RUN
#define UPMU_DRY_RUN 1
#endif

/* The probe, upmu_cpu_probe().  0: this call returns UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_PROBE
#define UPMU_PROBE UPMU_IS_FULL
#endif

/* Clearing the PMU of a CPU, upmu_cpu_clear().  0: this call returns UPMU_ERR_COMPILED_OUT. */
#ifndef UPMU_CLEAR
#define UPMU_CLEAR UPMU_IS_FULL
#endif

/* Explanations as text, upmu_why_text().  0: it writes the name of the status only. */
#ifndef UPMU_WHY_TEXT
#define UPMU_WHY_TEXT (UPMU_PROFILE >= UPMU_PROFILE_COUNT)
#endif

/* 1: calls of upmu_trace_write(uint32_t msr, uint64_t value), which you define, before each call of the hook wrmsr. */
#ifndef UPMU_TRACE
#define UPMU_TRACE 0
#endif

/* 1: hooks are the static inline functions of the header UPMU_PORT_HEADER (docs/PORTING.md): no indirect calls. */
#ifndef UPMU_PORT_STATIC
#define UPMU_PORT_STATIC 0
#endif

/* The most events in one set; 1 to 32.  Each of them takes about 250 to 350 bytes in every set of full size. */
#ifndef UPMU_SET_EVENTS
#if UPMU_PROFILE == UPMU_PROFILE_TINY
#define UPMU_SET_EVENTS 4
#else
#define UPMU_SET_EVENTS 12
#endif
#endif

/* The most core types of one machine, 1 to 4: hybrid processors have two or three. */
#ifndef UPMU_CORE_TYPES
#define UPMU_CORE_TYPES 4
#endif

/* The most registers of one box outside the cores, 40 to 96.  Boxes that the library knows have 40 at most. */
#ifndef UPMU_UNIT_REGISTERS
#define UPMU_UNIT_REGISTERS 40
#endif

/* The most types of units outside the cores in one machine, 1 to 251. */
#ifndef UPMU_UNIT_TYPES
#define UPMU_UNIT_TYPES 60
#endif

#include <upmu/private/options.h>

#endif
