/* SPDX-License-Identifier: MIT */
/*
 * UPMU_APART: a function that compilers would put into its callers, where gcc -Os is
 * measured to need more bytes for it (make size).  UPMU_INSIDE: a function that is always put into its callers.
 */
#ifndef UPMU_CORE_APART_H
#define UPMU_CORE_APART_H

#define UPMU_APART __attribute__((noinline))
#define UPMU_INSIDE __attribute__((always_inline)) inline

/* For functions that are called often: apart only in builds for size; with many callers, inside them but there. */
#ifdef __OPTIMIZE_SIZE__
#define UPMU_APART_IF_SMALL UPMU_APART
#define UPMU_INSIDE_IF_LARGE UPMU_APART
#else
#define UPMU_APART_IF_SMALL
#define UPMU_INSIDE_IF_LARGE UPMU_INSIDE
#endif

#endif
