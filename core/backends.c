/* SPDX-License-Identifier: MIT */
/*
 * The one place where the core names backends: a line for each CPU family.
 */
#include "core/backend.h"

#if UPMU_BACKEND_X86_CORE
extern const struct upmu_backend upmu_x86_core_backend;
#endif
#if UPMU_BACKEND_X86_P4
extern const struct upmu_backend upmu_x86_p4_backend;
#endif

static const struct upmu_backend *const backends[] = {
#if UPMU_BACKEND_X86_CORE
    &upmu_x86_core_backend,
#endif
#if UPMU_BACKEND_X86_P4
    &upmu_x86_p4_backend,
#endif
    NULL
};

const struct upmu_backend *upmu_backend(unsigned i)
{
    return i < sizeof backends / sizeof backends[0] ? backends[i] : NULL;
}

enum upmu_status upmu_pmu_by_name(struct upmu_pmu *pmu, const char *name)
{
    for (unsigned i = 0; backends[i]; i++)
        if (backends[i]->describe(name, pmu)) {
            upmu_pmu_find_catalog(pmu);
            return UPMU_OK;
        }
    return UPMU_ERR_NO_SUCH_PMU;
}

const char *upmu_pmu_known(unsigned index)
{
    for (unsigned i = 0; backends[i]; i++)
        for (unsigned k = 0; backends[i]->names(k); k++)
            if (index-- == 0)
                return backends[i]->names(k);
    return NULL;
}

void upmu_pmu_find_catalog(struct upmu_pmu *pmu)
{
#if UPMU_NAMES
    pmu->catalog = upmu_catalog_find(pmu->name);
    if (!pmu->catalog)
        pmu->catalog = upmu_catalog_find("ix86arch");
#else
    pmu->catalog = NULL;
#endif
}

void upmu_image_add(struct upmu_image *image, unsigned row, uint64_t mask, uint64_t value, uint32_t guard)
{
    for (unsigned i = 0; i < image->count; i++)
        if (image->entry[i].row == row && image->entry[i].guard == guard) {
            image->entry[i].value = (image->entry[i].value & ~mask) | (value & mask);
            image->entry[i].mask |= mask;
            return;
        }
    if (image->count == UPMU_IMAGE_ENTRIES) {
        image->overfull = true;
        return;
    }
    image->entry[image->count++] =
        (struct upmu_image_entry){ .row = (uint8_t)row, .guard = guard, .mask = mask, .value = value & mask };
}
