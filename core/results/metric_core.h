/* SPDX-License-Identifier: MIT */
/*
 * The table of derived metrics, events/metric_data.c, which tools/catalog_metrics.py makes.
 */
#ifndef UPMU_CORE_METRIC_CORE_H
#define UPMU_CORE_METRIC_CORE_H

#include <stdint.h>
#include <upmu/config.h>
#include <upmu/metric.h>

/* A metric. Bit i of `catalogues` stands for the i-th name of upmu_metric_catalogues; 0: every PMU has the metric. */
struct upmu_metric_row {
    const char *name, *group, *unit;
    uint32_t catalogues;
    const char *formula;
};

/* The names of catalogues, each with its NUL; one more NUL is the end. */
extern const char upmu_metric_catalogues[];
/* All metrics; the last rows are those of generic events. */
extern const struct upmu_metric_row upmu_metric_row[];
extern const unsigned upmu_metric_rows;

#endif
