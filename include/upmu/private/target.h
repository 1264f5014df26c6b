/* SPDX-License-Identifier: MIT */
/*
 * The compiler and the CPUs that a build is for, which options of upmu/config.h depend on.
 */
#ifndef UPMU_PRIVATE_TARGET_H
#define UPMU_PRIVATE_TARGET_H

/* Microsoft's compiler has neither the __atomic and __builtin functions nor the attributes of the sources. */
#if defined _MSC_VER && !defined __clang__
#error "upmu needs gcc or clang: Microsoft's compiler cannot build it"
#endif

/* The compiler warns where the result of the call is not looked at. */
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

/* The CPUs that a build is for: backends, and parts that only they need, are on for the CPUs that the compiler
 * compiles for.  No option for embedders: tests set it that drive simulated x86 CPUs on other machines. */
#ifndef UPMU_FOR_X86
#if defined __aarch64__ || defined __arm__ || defined __riscv
#define UPMU_FOR_X86 0
#else
#define UPMU_FOR_X86 1
#endif
#endif

#endif
