/* SPDX-License-Identifier: MIT */
/*
 * The table of derived metrics, events/metric_data.c, which tools/catalog_metrics.py makes.
 */
#ifndef UPMU_CORE_METRIC_CORE_H
#define UPMU_CORE_METRIC_CORE_H

#include <stdint.h>
#include <upmu/config.h>
#include <upmu/metric.h>

/* `catalogues`: bit i is the i-th name of upmu_metric_catalogues, 0: every PMU. */
struct upmu_metric_row {
    const char *name, *group, *unit;
    uint32_t catalogues;
    const char *formula;
};

/* Names, each with its NUL; the last one has one NUL more. */
extern const char upmu_metric_catalogues[];
/* Rows of generic events are the last ones. */
extern const struct upmu_metric_row upmu_metric_row[];
extern const unsigned upmu_metric_rows;

#endif
