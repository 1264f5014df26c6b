/* SPDX-License-Identifier: MIT */
/*
 * Checks of the options of upmu/config.h: contradictions are compile errors.  Two values follow from options.  Included
 * at the end of upmu/config.h.
 */
#ifndef UPMU_PRIVATE_OPTIONS_H
#define UPMU_PRIVATE_OPTIONS_H

#include <upmu/config.h>

/* Has the build a backend for PMUs of Arm or RISC-V? The value follows from other options; do not set it. */
#define UPMU_FOREIGN (UPMU_BACKEND_ARM_PMUV3 || UPMU_BACKEND_RISCV_HPM)

/* Has the build names of registers and titles of models? The value follows from other options; do not set it. */
#define UPMU_TITLES (UPMU_NAMES || UPMU_WHY_TEXT)

#if UPMU_PROFILE < 1 || UPMU_PROFILE > 3
#error "UPMU_PROFILE is UPMU_PROFILE_TINY, UPMU_PROFILE_COUNT or UPMU_PROFILE_FULL"
#endif
#if UPMU_CALLERS && !UPMU_FORMATS
#error "UPMU_CALLERS needs UPMU_FORMATS"
#endif
#if UPMU_SLOTS != 3 && (UPMU_SLOTS != 1 || UPMU_BACKEND_X86_P4 || UPMU_BACKEND_AMD || UPMU_METRICS)
#error "UPMU_SLOTS is 3, or 1 without UPMU_BACKEND_X86_P4, UPMU_BACKEND_AMD and UPMU_METRICS"
#endif
#if UPMU_SHARING && !UPMU_THREADS
#error "UPMU_SHARING needs UPMU_THREADS"
#endif
#if UPMU_SETS && !UPMU_THREADS
#error "UPMU_SETS needs UPMU_THREADS"
#endif
#if UPMU_GROUPS && !UPMU_THREADS
#error "UPMU_GROUPS needs UPMU_THREADS"
#endif
#if UPMU_HYBRIDS && !UPMU_THREADS
#error "UPMU_HYBRIDS needs UPMU_THREADS"
#endif
#if UPMU_LOANS && !UPMU_WORLDS
#error "UPMU_LOANS needs UPMU_WORLDS"
#endif
#if UPMU_BRANCH_SAMPLES && !UPMU_BRANCHES
#error "UPMU_BRANCH_SAMPLES needs UPMU_BRANCHES"
#endif
#if UPMU_BRANCH_SAMPLES && !(UPMU_PRECISE && UPMU_FORMATS)
#error "UPMU_BRANCH_SAMPLES needs UPMU_PRECISE and UPMU_FORMATS, too"
#endif
#if UPMU_BTS && !UPMU_BRANCHES
#error "UPMU_BTS needs UPMU_BRANCHES"
#endif
#if UPMU_BTS && !UPMU_PRECISE
#error "UPMU_BTS needs UPMU_PRECISE, too"
#endif
#if UPMU_SET_EVENTS < 1 || UPMU_SET_EVENTS > 32
#error "UPMU_SET_EVENTS is 1 to 32"
#endif
#if UPMU_CORE_TYPES < 1 || UPMU_CORE_TYPES > 4
#error "UPMU_CORE_TYPES is 1 to 4"
#endif
#if UPMU_UNIT_REGISTERS < 40 || UPMU_UNIT_REGISTERS > 96
#error "UPMU_UNIT_REGISTERS is 40 to 96"
#endif
#if UPMU_UNIT_TYPES < 1 || UPMU_UNIT_TYPES > 251
#error "UPMU_UNIT_TYPES is 1 to 251"
#endif

#endif
