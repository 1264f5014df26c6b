/* SPDX-License-Identifier: MIT */
/*
 * Attributes of functions. UPMU_APART: never inlined; for functions that compilers would inline, although the code then
 * takes more bytes (measured with gcc -Os by `make size`), or whose stack is not to be the caller's. UPMU_INSIDE:
 * always inlined.
 */
#ifndef UPMU_CORE_APART_H
#define UPMU_CORE_APART_H

#define UPMU_APART __attribute__((noinline))
#define UPMU_INSIDE __attribute__((always_inline)) inline

/*
 * For functions that are called often. UPMU_APART_IF_SMALL: not inlined in builds for size, elsewhere as the compiler
 * decides. UPMU_INSIDE_IF_LARGE: not inlined in builds for size, elsewhere always, also with many callers.
 */
#ifdef __OPTIMIZE_SIZE__
#define UPMU_APART_IF_SMALL UPMU_APART
#define UPMU_INSIDE_IF_LARGE UPMU_APART
#else
#define UPMU_APART_IF_SMALL
#define UPMU_INSIDE_IF_LARGE UPMU_INSIDE
#endif

#endif
