/* SPDX-License-Identifier: MIT */
/*
 * Write the name of an event's id. A library built without names (UPMU_NAMES is 0) writes the empty text.
 */
#include "core/util/text.h"
#include "core/catalog/catalog.h"
#include <upmu/event.h>

size_t upmu_event_name(const struct upmu_pmu *pmu, struct upmu_event_id id, char *buffer, size_t size)
{
    struct upmu_text out;

    if (UPMU_NAMES && upmu_catalog_of(pmu, id) && id.catalogue)
        return upmu_catalog_id_name(upmu_catalog_of(pmu, id), id, buffer, size);
    upmu_text_begin(&out, buffer, size);
    return upmu_text_end(&out);
}
