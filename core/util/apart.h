/* SPDX-License-Identifier: MIT */
/*
 * UPMU_APART: a function that compilers would put into its callers, where gcc -Os is
 * measured to need more bytes for it (make size).  UPMU_INSIDE: the other way round.
 */
#ifndef UPMU_CORE_APART_H
#define UPMU_CORE_APART_H

#define UPMU_APART __attribute__((noinline))
#define UPMU_INSIDE __attribute__((always_inline)) inline

/* Where it is called so often that the call would be felt: only for the sake of bytes. */
#ifdef __OPTIMIZE_SIZE__
#define UPMU_APART_IF_SMALL UPMU_APART
#else
#define UPMU_APART_IF_SMALL
#endif

#endif
