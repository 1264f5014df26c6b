/* SPDX-License-Identifier: MIT */
/*
 * What a machine knows of its PMUs, for other core files.
 */
#ifndef UPMU_CORE_MACHINE_H
#define UPMU_CORE_MACHINE_H

#include <upmu/pmu.h>

/* Detect the PMU of the executing CPU: meter->pmu, meter->thread; UPMU_ERR_NO_PMU, _NO_SPACE. */
enum upmu_status upmu_machine_detect(struct upmu_machine *machine, struct upmu_meter *meter);

#endif
