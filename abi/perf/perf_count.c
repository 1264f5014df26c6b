/* SPDX-License-Identifier: MIT */
/* The count and the times of one event: what it had before, and what its session or the notes of the host have now. */
#include "abi/perf/perf_core.h"
#include <upmu/session.h>
#include <upmu/set.h>

int upmu_perf_count_add(const struct upmu_perf_event *event, struct upmu_count *out_count, struct upmu_perf_sum *sum)
{
    enum upmu_status status;

    if (event->index == UPMU_PERF_NO_INDEX)
        return 0;
    status = upmu_set_read(&event->first->session->set, event->index, 1, out_count);
    if (status != UPMU_OK)
        return upmu_perf_errno(status);
    upmu_perf_sum_add(sum, &(struct upmu_perf_sum){out_count->raw, out_count->enabled_ns, out_count->running_ns});
    return 0;
}

int upmu_perf_count_here(const struct upmu_perf_event *event, struct upmu_perf_sum *out_sum)
{
    struct upmu_count count;

    upmu_perf_soft_count(event, out_sum);
    return upmu_perf_count_add(event, &count, out_sum);
}
