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
