/* SPDX-License-Identifier: MIT */
/* The table of derived metrics. The table is defined in events/metric_data.c, which tools/catalog_metrics.py makes. */
#ifndef UPMU_CORE_METRIC_CORE_H
#define UPMU_CORE_METRIC_CORE_H

#include <stdint.h>
#include <upmu/config.h>
#include <upmu/metric.h>

/*
 * A metric. Bit i of `catalogues`: PMUs with the i-th catalogue of upmu_metric_catalogues have the metric. If no bit is
 * set, the metric needs generic events only: a PMU has it, unless its catalogue has a metric with the same name.
 */
struct upmu_metric_row {
    const char *name, *group, *unit;
    uint32_t catalogues;
    const char *formula;
};

/* The names of the catalogues that have metrics, each with its NUL; one more NUL is the end of the list. */
extern const char upmu_metric_catalogues[];
/* All metrics; those of generic events (`catalogues` is 0) are the last rows. */
extern const struct upmu_metric_row upmu_metric_row[];
extern const unsigned upmu_metric_rows;

#endif
