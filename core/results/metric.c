/* SPDX-License-Identifier: MIT */
/* Find the derived metrics that a PMU has: upmu_metric_next(). */
#include "core/results/metric_core.h"

#include <upmu/catalogs.h>
#include <upmu/event.h>

#include "core/util/text.h"

#if UPMU_FORMULAS && UPMU_NAMES

/*
 * Return the bit of upmu_metric_row.catalogues that stands for the PMU's catalogue; 0: no metric names the catalogue.
 */
static uint32_t metric_bit(const struct upmu_pmu *pmu)
{
    const char *own = pmu->catalog ? upmu_catalog_name(pmu->catalog) : "";
    const char *at = upmu_metric_catalogues;

    for (uint32_t bit = 1; *at; bit <<= 1, at += upmu_text_length(at) + 1)
        if (upmu_text_is(own, upmu_text_length(own), at))
            return bit;
    return 0;
}

/*
 * Is a row for PMUs whose catalogue has this bit (metric_bit())? A row of generic events is for every PMU, unless an
 * earlier row has the same name and is for the catalogue.
 */
static bool metric_serves(const struct upmu_metric_row *row, uint32_t bit)
{
    if (row->catalogues)
        return (row->catalogues & bit) != 0;
    for (const struct upmu_metric_row *before = upmu_metric_row; before < row; before++)
        if ((before->catalogues & bit) && upmu_text_is(before->name, upmu_text_length(before->name), row->name))
            return false;
    return true;
}

static bool metric_matches(const struct upmu_metric_row *row, const char *word, size_t length)
{
    return !length || upmu_text_is(word, length, row->name) || upmu_text_is(word, length, row->group);
}

enum upmu_status upmu_metric_next(const struct upmu_pmu *pmu, const char *word, size_t length, unsigned *cursor,
                                  struct upmu_metric *out_metric)
{
    uint32_t bit = metric_bit(pmu);
    bool found = *cursor != 0;

    for (unsigned i = *cursor; i < upmu_metric_rows; i++) {
        const struct upmu_metric_row *row = &upmu_metric_row[i];

        if (!metric_serves(row, bit) || !metric_matches(row, word, length))
            continue;
        *cursor = i + 1;
        *out_metric = (struct upmu_metric){.name = row->name,
                                           .group = row->group,
                                           .unit = row->unit,
                                           .formula = row->formula,
                                           .published = row->catalogues != 0};
        return UPMU_OK;
    }
    return found ? UPMU_ERR_END : UPMU_ERR_NO_SUCH_NAME;
}

#endif
