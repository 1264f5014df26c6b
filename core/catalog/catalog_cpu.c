/* SPDX-License-Identifier: MIT */
/*
 * Event catalogues: which CPUs a catalogue is for, of which PMU, and which catalogue of a PMU has an id.  Pure; called
 * when a PMU is detected, chosen by name or given an imported catalogue, and when events are encoded or named.
 */
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/catalog/catalog_table.h"

#if UPMU_NAMES

/*
 * Between a catalogue's header and its first section stand the name of the catalogue's PMU (12 bytes), then six bytes
 * for each CPU: vendor and family, model, steppings (2 bytes, bit n: stepping n), core type, native model.  A core type
 * or native model of 0 stands for all.
 */
#define PMU_NAME UPMU_OWN_HEADER
#define CPUS (PMU_NAME + 12u)
#define CPU_BYTES 6u
#define FAMILY 0x7fu /* bits of the first byte that are the family; bit 7: the vendor is AMD */

/* Return the six bytes of the i-th CPU that a catalogue is for; NULL: there are no more. */
static const uint8_t *cpu_at(const struct upmu_catalog *catalog, unsigned i)
{
    uint32_t at = CPUS + CPU_BYTES * i, end = upmu_offset(catalog->byte + (UPMU_OWN_FILTER & 255u));

    return at + CPU_BYTES <= end && end <= upmu_word(catalog->byte + 4) ? (const uint8_t *)catalog + at : NULL;
}

const char *upmu_catalog_pmu(const struct upmu_catalog *catalog)
{
    const uint8_t *name = (const uint8_t *)catalog + PMU_NAME;

    if (upmu_offset(catalog->byte + (UPMU_OWN_FILTER & 255u)) < CPUS || !name[0] || name[CPUS - PMU_NAME - 1])
        return upmu_catalog_name(catalog);
    return (const char *)name;
}

bool upmu_catalog_serves(const struct upmu_catalog *catalog, const struct upmu_pmu *pmu)
{
    const uint8_t *cpu;

    for (unsigned i = 0; (cpu = cpu_at(catalog, i)) != NULL; i++)
        if ((cpu[0] & FAMILY) == pmu->family && !((cpu[0] ^ pmu->backend->vendor) & UPMU_VENDOR_AMD) &&
            cpu[1] == (uint8_t)pmu->model && (upmu_half(cpu + 2) >> (pmu->stepping & 15u) & 1u) &&
            /* If CPUID does not report core types, every core is taken as a big core (type 40h). */
            (!cpu[4] || cpu[4] == pmu->core_type || (!pmu->core_type && cpu[4] == 0x40)) &&
            (!cpu[5] || !pmu->native || cpu[5] == pmu->native))
            return true;
    return false;
}

const struct upmu_catalog *upmu_catalog_of(const struct upmu_pmu *pmu, struct upmu_event_id id)
{
    return pmu->imported && upmu_catalog_number(pmu->imported) == id.catalogue ? pmu->imported : pmu->catalog;
}

bool upmu_catalog_is_architectural(const struct upmu_catalog *catalog)
{
    return memcmp(upmu_catalog_name(catalog), "ix86arch", sizeof "ix86arch") == 0;
}

const struct upmu_catalog *upmu_catalog_for(const struct upmu_pmu *pmu)
{
    const struct upmu_catalog *catalog;

    for (unsigned i = 0; (catalog = upmu_catalog_builtin(i)) != NULL; i++)
        if (upmu_catalog_serves(catalog, pmu))
            return catalog;
    return NULL;
}

void upmu_catalog_first_cpu(const struct upmu_catalog *catalog, struct upmu_pmu *pmu)
{
    const uint8_t *cpu = cpu_at(catalog, 0);

    if (!cpu)
        return;
    pmu->family = cpu[0] & FAMILY;
    pmu->model = cpu[1];
    for (pmu->stepping = 0; pmu->stepping < 15 && !(upmu_half(cpu + 2) >> pmu->stepping & 1u);)
        pmu->stepping++;
    pmu->core_type = cpu[4];
    pmu->native = cpu[5];
#if UPMU_BACKEND_ARM_PMUV3
    /* `model` of an Arm CPU is the part number (12 bits): byte 1 has its lower 8 bits, byte 5 the upper 4. */
    if (pmu->backend->vendor == UPMU_VENDOR_OTHER)
        pmu->model = (uint16_t)(cpu[1] | (cpu[5] & 15u) << 8);
#endif
}

#endif
