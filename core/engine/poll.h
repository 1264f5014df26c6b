/* SPDX-License-Identifier: MIT */
/*
 * Polls.  Inside a local bracket.
 */
#ifndef UPMU_CORE_POLL_H
#define UPMU_CORE_POLL_H

#include <upmu/pmu.h>

/* Fold the counts of everything that runs. */
enum upmu_status upmu_poll_fold(struct upmu_meter *meter);

#endif
