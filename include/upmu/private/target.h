/* SPDX-License-Identifier: MIT */
/* The compiler and the CPUs for which the library is compiled.  Options of upmu/config.h depend on them. */
#ifndef UPMU_PRIVATE_TARGET_H
#define UPMU_PRIVATE_TARGET_H

/* The sources need gcc's __atomic and __builtin functions and attributes, which Microsoft's compiler does not have. */
#if defined _MSC_VER && !defined __clang__
#error "upmu needs gcc or clang: Microsoft's compiler cannot build it"
#endif

/* Attribute of functions whose status must be used: the compiler warns of a call that ignores the result. */
#if defined(__GNUC__)
#define UPMU_MUST_CHECK __attribute__((warn_unused_result))
#else
#define UPMU_MUST_CHECK
#endif

/* A function of a header that C callers may have inline; the library also has its code, for other languages.  With
   -fgnu89-inline the compiler needs the other of the two keywords for that. */
#ifdef __GNUC_GNU_INLINE__
#define UPMU_INLINE extern inline
#else
#define UPMU_INLINE inline
#endif

/*
 * 1: the build is for x86 CPUs, so backends and parts that only x86 has are compiled in.  The compiler's target
 * decides. No option for embedders: tests that drive simulated x86 CPUs on other machines set it.
 */
#ifndef UPMU_FOR_X86
#if defined __aarch64__ || defined __arm__ || defined __riscv
#define UPMU_FOR_X86 0
#else
#define UPMU_FOR_X86 1
#endif
#endif

/* Is the build for CPUs of Arm, or of RISC-V? The compiler's target decides; do not set these values. */
#if defined __aarch64__ || defined __arm__
#define UPMU_FOR_ARM 1
#else
#define UPMU_FOR_ARM 0
#endif
#ifdef __riscv
#define UPMU_FOR_RISCV 1
#else
#define UPMU_FOR_RISCV 0
#endif

#endif
