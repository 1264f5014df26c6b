/* SPDX-License-Identifier: MIT */
/*
 * The list of the backends of CPUs in this build, and finding the PMU and the catalogue of a name. No other file of the
 * core names one of them.
 */
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
 * Return backend number i of this build; NULL after the last. Not a table: addresses in a table would need relocation
 * in a position-independent kernel.
 */
const struct upmu_backend *upmu_backend(unsigned i)
{
#if UPMU_BACKEND_PARAVIRT /* first: the registers that the CPU's own backend would find are in use by the hypervisor */
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

#if UPMU_NAMES

static bool describe_pmu(struct upmu_pmu *pmu, const char *name)
{
    const struct upmu_backend *backend;

    for (unsigned i = 0; (backend = upmu_backend(i)) != NULL; i++)
        if (backend->describe(name, pmu)) {
            pmu->backend = backend;
            return true;
        }
    return false;
}

/*
 * Fill in *pmu as the PMU that has this name. The name is that of a PMU model, or of a catalogue for some CPUs of a
 * model: then *pmu is that model's PMU with this catalogue, and the CPU is the first that the catalogue names.
 */
enum upmu_status upmu_pmu_by_name(struct upmu_pmu *pmu, const char *name)
{
    const struct upmu_catalog *catalog = upmu_catalog_find(name);

    if (describe_pmu(pmu, name)) {
        pmu->catalog = upmu_catalog_find(pmu->name);
        if (!pmu->catalog)
            upmu_pmu_find_catalog(pmu);
        return UPMU_OK;
    }
    if (!catalog || !describe_pmu(pmu, upmu_catalog_pmu(catalog)))
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
 * Set pmu->catalog to the built-in catalogue that names the PMU's CPU (upmu_catalog_serves()); else to the one with the
 * PMU's name; else to the one that the backend names; else, on x86, to "ix86arch", which has the architectural events;
 * else to NULL.
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
