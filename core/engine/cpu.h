/* SPDX-License-Identifier: MIT */
/*
 * The life of a CPU and the owners of its counters, for other core files.
 */
#ifndef UPMU_CORE_CPU_H
#define UPMU_CORE_CPU_H

#include <upmu/pmu.h>

/* Detect the PMU of the executing CPU: meter->pmu, meter->thread; UPMU_ERR_NO_PMU, _NO_SPACE. */
enum upmu_status upmu_machine_detect(struct upmu_machine *machine, struct upmu_meter *meter);

/* Counters that no session may have are sorted out by their owner: at take-over, and later. */
void upmu_meter_find_owners(struct upmu_meter *meter);
void upmu_meter_notice_foreign(struct upmu_meter *meter);

/* These counters belong to another owner from now on, which may change their registers. */
void upmu_meter_yield(struct upmu_meter *meter, uint32_t counters);

/* One line for the host's log, where the port has one. */
void upmu_meter_log(const struct upmu_meter *meter, const char *line);

/*
 * So many overflows were found at this time, or could have been and are thrown away: interrupts for them may come from
 * now on.  To be called before a handler could see that an overflow is settled.
 */
void upmu_meter_expect(struct upmu_meter *meter, unsigned overflows, uint64_t now_ns);

/* Unmask the interrupt, where the port has one. */
void upmu_meter_rearm(struct upmu_meter *meter);

#endif
