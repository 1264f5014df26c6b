/* SPDX-License-Identifier: MIT */
/*
 * How often the engine searches places for events: calls of upmu_requests_place(), in each of which the solver asks the
 * backend first for the first alternative of the first event.
 */
#ifndef TESTS_SEARCHES_H
#define TESTS_SEARCHES_H

#include <upmu/upmu.h>

/*
 * Count the searches of a machine whose CPUs are initialised, each with a work area (upmu_cpu_use_work()).  The
 * machine's PMUs have backends of the test then, which count and do what the real ones do.  One machine at a time.
 */
void upmu_test_count_searches(struct upmu_machine *machine);

/* Searches since the program began. */
unsigned upmu_test_searches(void);

#endif
