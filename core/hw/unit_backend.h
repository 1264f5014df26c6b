/* SPDX-License-Identifier: MIT */
/*
 * Units outside the cores: what the core needs of their backend (backends/uncore).
 */
#ifndef UPMU_CORE_UNIT_BACKEND_H
#define UPMU_CORE_UNIT_BACKEND_H

#include "core/hw/backend.h"
#include <upmu/unit.h>

#if UPMU_UNCORE

/* A backend that detects nothing: PMUs of units are made by upmu_uncore_find() and upmu_uncore_describe(). */
extern const struct upmu_backend upmu_uncore_backend;

/* The PMU of a type; `out->made` and `out->text` stay. */
void upmu_uncore_describe(const struct upmu_unit_type *type, struct upmu_uncore_pmu *out);

/*
 * Have two registers of a box bytes in common, does one not begin at a word, or end outside of its function (which has
 * 4 KiB)?  `apart` not 0: have one of a box and one of another box bytes in common, which begins so many bytes (MSRs)
 * behind it?
 */
bool upmu_uncore_clash(const struct upmu_uncore_pmu *uncore, uint64_t apart);

/*
 * Finding's view of the machine.  Reads go through the core; functions are NULL, or return false, where there is
 * nothing.
 */
struct upmu_uncore_seen {
    void *context;
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
    bool (*rdmsr)(void *context, uint32_t msr, bool promised, uint64_t *out_value);
    bool (*pci_read)(void *context, uint32_t where, uint32_t offset, uint32_t *out_value);
    void *(*map)(void *context, uint64_t physical, size_t bytes);
    void (*unmap)(void *context, void *pointer, size_t bytes);
    bool (*mmio_read)(void *context, const volatile void *pointer, unsigned bits, uint64_t *out_value);
    uint16_t family, model;
    uint8_t stepping;
    bool amd; /* or Hygon */
    bool hypervisor;
    bool force;     /* also under a hypervisor */
    uint16_t cores; /* of this package */
    uint8_t dies;   /* of each package, 0: one */
    struct upmu_cpu_place place;
    /* out */
    uint32_t accesses;
    const char *failure; /* why something was not found */
    uint64_t failed_at;
};

/* Where the executing CPU is, by CPUID; what that does not say is 0.  Needs `cpuid`. */
void upmu_uncore_where(const struct upmu_uncore_seen *seen, struct upmu_cpu_place *out_place);

/* Fill in `amd` and, where CPUID says them, `cores` and `dies`. */
void upmu_uncore_count(struct upmu_uncore_seen *seen);

/*
 * Add the units of the executing CPU's die, and at the first call those in configuration space and memory of all dies.
 * Reads only.  Added units have neither address nor name.
 * UPMU_OK; UPMU_ERR_NO_SPACE (the list is full; what fits is there); UPMU_ERR_NO_PMU (none: no such model, or a
 * hypervisor); UPMU_ERR_PORT (a table of discovery is damaged; other units are there).
 */
enum upmu_status upmu_uncore_find(struct upmu_uncore_seen *seen, struct upmu_unit_list *list);

#endif

#endif
