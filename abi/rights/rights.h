/* SPDX-License-Identifier: MIT */
/*
 * Rights that an event needs beyond counting the user mode of its own thread. Every interface for programs asks its
 * host for them by one hook, `may_use`.
 */
#ifndef UPMU_ABI_RIGHTS_H
#define UPMU_ABI_RIGHTS_H

#include <upmu/event.h>
#include <upmu/pmu.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPMU_RIGHT_KERNEL (1u << 0)     /* counting in kernel mode */
#define UPMU_RIGHT_BEYOND (1u << 1)     /* counting other threads, CPUs or guests: AnyThread, a northbridge, a bus */
#define UPMU_RIGHT_PRIVILEGED (1u << 2) /* bits of UPMU_LEVEL_PRIVILEGED: payload registers */
#define UPMU_RIGHT_ADDRESSES (1u << 3)  /* addresses of the kernel in samples and messages; asked without an event */

/*
 * Return the rights that an event needs on any of its counters. An event that no counter of the PMU can count needs all
 * rights.
 *
 * Context: any.
 */
uint32_t upmu_rights_of(const struct upmu_pmu *pmu, const struct upmu_event *event);

#ifdef __cplusplus
}
#endif

#endif
