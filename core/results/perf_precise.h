/* SPDX-License-Identifier: MIT */
/*
 * Words of precise samples, as the CPU stored them, in the form that perf.data has for them.
 */
#ifndef UPMU_CORE_PERF_PRECISE_H
#define UPMU_CORE_PERF_PRECISE_H

#include <upmu/results.h>

/*
 * Return the source of a sample's data (upmu_log_sample.data_source) as a perf_mem_data_src.  The result says "not
 * available" unless the event is load latency on a PMU of latency_models (perf_precise.c): big cores from Nehalem on.
 */
uint64_t upmu_perf_source(const struct upmu_log_event *event, uint64_t word);

/*
 * Return the latency in upmu_log_sample.weight, in cycles.  A load from Golden Cove on has two: the result is that of
 * the access to the cache.  Any other event has one.
 */
uint64_t upmu_perf_weight(const struct upmu_log_event *event, uint64_t word);

#endif
