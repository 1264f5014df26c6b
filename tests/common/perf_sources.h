/* SPDX-License-Identifier: MIT */
/* All sources of abi/perf, for a test that is compiled with them: one list for all such tests. */
#ifndef UPMU_TESTS_PERF_SOURCES_H
#define UPMU_TESTS_PERF_SOURCES_H

#include "abi/perf/perf_attr.c"
#include "abi/perf/perf_control.c"
#include "abi/perf/perf_count.c"
#include "abi/perf/perf_files.c"
#include "abi/perf/perf_folder.c"
#include "abi/perf/perf_group.c"
#include "abi/perf/perf_inherit.c"
#include "abi/perf/perf_names.c"
#include "abi/perf/perf_open.c"
#include "abi/perf/perf_output.c"
#include "abi/perf/perf_page.c"
#include "abi/perf/perf_record.c"
#include "abi/perf/perf_ring.c"
#include "abi/perf/perf_sample.c"
#include "abi/perf/perf_soft.c"
#include "abi/perf/perf_state.c"
#include "abi/perf/perf_task.c"
#include "abi/perf/perf_tell.c"
#include "abi/perf/perf_throttle.c"
#include "abi/perf/perf_tick.c"
#include "abi/perf/perf_unit.c"
#include "abi/perf/perf_unit_files.c"

#endif
