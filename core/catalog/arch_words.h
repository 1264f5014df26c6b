/* SPDX-License-Identifier: MIT */
/*
 * Select words by which the architectural catalogue names its events: event, unit mask and modifiers as Intel has them
 * (SDM vol 3, 20.2.1.2).  Backends translate them to what their CPUs have; guests and their hosts number events by them.
 */
#ifndef UPMU_CORE_CATALOG_ARCH_WORDS_H
#define UPMU_CORE_CATALOG_ARCH_WORDS_H

#define UPMU_WORD_CYCLES 0x003cu
#define UPMU_WORD_INSTRUCTIONS 0x00c0u
#define UPMU_WORD_BUS_CYCLES 0x013cu
#define UPMU_WORD_CACHE_REFERENCES 0x4f2eu
#define UPMU_WORD_CACHE_MISSES 0x412eu
#define UPMU_WORD_BRANCHES 0x00c4u
#define UPMU_WORD_BRANCH_MISSES 0x00c5u
#define UPMU_WORD_REF_CYCLES 0x0300u
#define UPMU_WORD_FRONTEND 0x0180010eu
#define UPMU_WORD_BACKEND 0x018001b1u

#endif
