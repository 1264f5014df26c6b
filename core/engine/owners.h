/* SPDX-License-Identifier: MIT */
/*
 * The owners of counters, for other core files.
 */
#ifndef UPMU_CORE_OWNERS_H
#define UPMU_CORE_OWNERS_H

#include <upmu/pmu.h>

/* At take-over, counters that no session may have are sorted out by their owner. */
void upmu_owners_find(struct upmu_meter *meter);

/* The hardware reports counters in use that upmu left idle: other software began to use them. */
void upmu_owners_notice(struct upmu_meter *meter);

/* Yield counters to another owner, which may change their registers from now on. */
void upmu_owners_yield(struct upmu_meter *meter, uint32_t counters);

#endif
