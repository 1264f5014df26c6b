/* SPDX-License-Identifier: MIT */
/*
 * The one place where the core names backends: a line for each CPU family.
 */
#include "core/util/mem.h"
#include "core/util/text.h"
#include "core/hw/backend.h"
#include "core/catalog/catalog.h"

#if UPMU_BACKEND_PARAVIRT
extern const struct upmu_backend upmu_paravirt_backend;
#endif
#if UPMU_BACKEND_X86_CORE
extern const struct upmu_backend upmu_x86_core_backend;
#endif
#if UPMU_BACKEND_X86_P4
extern const struct upmu_backend upmu_x86_p4_backend;
#endif
#if UPMU_BACKEND_AMD
extern const struct upmu_backend upmu_amd_k8_backend;
#endif

#if UPMU_BACKEND_ARM_PMUV3
extern const struct upmu_backend upmu_arm_pmuv3_backend;
#endif
#if UPMU_BACKEND_RISCV_HPM
extern const struct upmu_backend upmu_riscv_hpm_backend;
#endif

/*
 * Return the i-th backend, NULL after the last. A table of the backends' addresses would need relocation in a
 * position-independent kernel.
 */
const struct upmu_backend *upmu_backend(unsigned i)
{
#if UPMU_BACKEND_PARAVIRT /* first: the hypervisor uses the registers that the CPU's own backend would find */
    if (!i--)
        return &upmu_paravirt_backend;
#endif
#if UPMU_BACKEND_X86_CORE
    if (!i--)
        return &upmu_x86_core_backend;
#endif
#if UPMU_BACKEND_X86_P4
    if (!i--)
        return &upmu_x86_p4_backend;
#endif
#if UPMU_BACKEND_AMD
    if (!i--)
        return &upmu_amd_k8_backend;
#endif
#if UPMU_BACKEND_ARM_PMUV3
    if (!i--)
        return &upmu_arm_pmuv3_backend;
#endif
#if UPMU_BACKEND_RISCV_HPM
    if (!i--)
        return &upmu_riscv_hpm_backend;
#endif
    (void)i;
    return NULL;
}

/* ---- Functions that several backends share ---- */

#if UPMU_FOREIGN || UPMU_BACKEND_PARAVIRT

bool upmu_pmu_any_counter(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                          struct upmu_alternative *out)
{
    (void)pmu, (void)thread;
    if (i)
        return false;
    memset(out, 0, sizeof *out);
    out->slot_count = 1;
    out->last = true;
    out->slot[0].counters = event->counters;
    return true;
}

const char *upmu_pmu_no_resource(const struct upmu_pmu *pmu, unsigned resource)
{
    (void)pmu, (void)resource;
    return "?";
}

#endif

#if UPMU_FOREIGN && UPMU_NAMES

enum upmu_status upmu_pmu_mode_attribute(struct upmu_event *event, const char *name, size_t length,
                                         const uint64_t *value)
{
    unsigned bit;

    if (upmu_text_is(name, length, "u") || upmu_text_is(name, length, "usr"))
        bit = UPMU_ATTR_USR;
    else if (upmu_text_is(name, length, "k") || upmu_text_is(name, length, "os"))
        bit = UPMU_ATTR_OS;
    else
        return UPMU_ERR_NO_SUCH_ATTRIBUTE;
    if (value && *value > 1)
        return UPMU_ERR_BAD_VALUE;
    if (!value || *value)
        event->attributes |= bit;
    return UPMU_OK;
}

#endif

#if UPMU_NAMES && (UPMU_BACKEND_X86_CORE || UPMU_BACKEND_X86_P4)

enum upmu_status upmu_pmu_level_attribute(struct upmu_event *event, size_t length, const uint64_t *value)
{
    uint64_t given = UPMU_PRECISE_LEVEL(event->attributes), level = given;

    if (value)
        level = *value;
    else if (!given || length == 1)
        level++;
    if (level > UPMU_PRECISE_LEVEL(UPMU_ATTR_PRECISE))
        return UPMU_ERR_BAD_VALUE;
    if (value && given && given != level)
        return UPMU_ERR_CONTRADICTION;
    event->attributes = (event->attributes & ~UPMU_ATTR_PRECISE) | (uint32_t)level << UPMU_ATTR_PRECISE_SHIFT;
    return UPMU_OK;
}

#endif

void upmu_detection_read(const struct upmu_detection *detection, uint32_t highest, const struct upmu_leaf *leaf,
                         unsigned count, uint32_t *out_words)
{
    uint32_t *words = out_words;

    for (; count; count--, leaf++, words += 4) {
        memset(words, 0, 4 * sizeof *words);
        if (leaf->leaf <= highest && (!leaf->bits || (out_words[leaf->gate] & leaf->bits)))
            detection->cpuid(detection->context, leaf->leaf, leaf->subleaf, words);
    }
}

bool upmu_detection_identify(const struct upmu_detection *detection, struct upmu_pmu *pmu)
{
    pmu->family = detection->family;
    pmu->model = detection->model;
    pmu->stepping = detection->stepping;
    if (detection->hypervisor)
        pmu->capabilities |= UPMU_PMU_HYPERVISOR;
    return true;
}

#if UPMU_NAMES

static bool describe(struct upmu_pmu *pmu, const char *name)
{
    const struct upmu_backend *backend;

    for (unsigned i = 0; (backend = upmu_backend(i)) != NULL; i++)
        if (backend->describe(name, pmu))
            return true;
    return false;
}

/* Describe the PMU of a model, or of a catalogue that serves only some CPUs of a model, by its name. */
enum upmu_status upmu_pmu_by_name(struct upmu_pmu *pmu, const char *name)
{
    const struct upmu_catalog *catalog = upmu_catalog_find(name);

    if (describe(pmu, name)) {
        pmu->catalog = upmu_catalog_find(pmu->name);
        if (!pmu->catalog)
            upmu_pmu_find_catalog(pmu);
        return UPMU_OK;
    }
    if (!catalog || !describe(pmu, upmu_catalog_pmu(catalog)))
        return UPMU_ERR_NO_SUCH_PMU;
    upmu_catalog_first_cpu(catalog, pmu);
    pmu->catalog = catalog;
    return UPMU_OK;
}

const char *upmu_pmu_known(unsigned index)
{
    const struct upmu_catalog *catalog;
    const struct upmu_backend *backend;

    for (unsigned i = 0; (backend = upmu_backend(i)) != NULL; i++)
        for (unsigned k = 0; backend->names(k); k++)
            if (index-- == 0)
                return backend->names(k);
    for (unsigned i = 0; (catalog = upmu_catalog_builtin(i)) != NULL; i++)
        if (upmu_catalog_pmu(catalog) != upmu_catalog_name(catalog) && index-- == 0)
            return upmu_catalog_name(catalog);
    return NULL;
}

/*
 * Find the catalogue of a PMU: the one for this very CPU; else the one of the model's name; else the backend's; else
 * "ix86arch", which is for all of x86.
 */
void upmu_pmu_find_catalog(struct upmu_pmu *pmu)
{
    pmu->catalog = upmu_catalog_for(pmu);
    if (!pmu->catalog)
        pmu->catalog = upmu_catalog_find(pmu->name);
    if (!pmu->catalog && pmu->backend->catalog)
        pmu->catalog = upmu_catalog_find(pmu->backend->catalog(pmu));
    if (!pmu->catalog && !(UPMU_FOREIGN && pmu->backend->vendor == UPMU_VENDOR_OTHER))
        pmu->catalog = upmu_catalog_find("ix86arch");
}

#else

enum upmu_status upmu_pmu_by_name(struct upmu_pmu *pmu, const char *name)
{
    (void)pmu;
    (void)name;
    return UPMU_ERR_COMPILED_OUT;
}

const char *upmu_pmu_known(unsigned index)
{
    (void)index;
    return NULL;
}

void upmu_pmu_find_catalog(struct upmu_pmu *pmu)
{
    pmu->catalog = NULL;
}

#endif
