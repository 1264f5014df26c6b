/* SPDX-License-Identifier: MIT */
/*
 * The life of a CPU and the owners of its counters, for other core files.
 */
#ifndef UPMU_CORE_CPU_H
#define UPMU_CORE_CPU_H

#include <upmu/pmu.h>

/* Detect the PMU of the executing CPU: cpu->pmu, cpu->thread; UPMU_ERR_NO_PMU, _NO_SPACE. */
enum upmu_status upmu_machine_detect(struct upmu_machine *machine, struct upmu_cpu *cpu);

/* Counters that no session may have are sorted out by their owner: at take-over, and later. */
void upmu_cpu_find_owners(struct upmu_cpu *cpu);
void upmu_cpu_notice_foreign(struct upmu_cpu *cpu);

/* These counters belong to another owner from now on, which may change their registers. */
void upmu_cpu_yield(struct upmu_cpu *cpu, uint32_t counters);

/* One line for the host's log, where the port has one. */
void upmu_cpu_log(const struct upmu_cpu *cpu, const char *line);

/*
 * So many overflows were found at this time, or could have been and are thrown away: interrupts for them may come from
 * now on.  To be called before a handler could see that an overflow is settled.
 */
void upmu_cpu_expect(struct upmu_cpu *cpu, unsigned overflows, uint64_t now_ns);

/* Unmask the interrupt, where the port has one. */
void upmu_cpu_rearm(struct upmu_cpu *cpu);

#endif
