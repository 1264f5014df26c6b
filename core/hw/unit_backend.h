/* SPDX-License-Identifier: MIT */
/*
 * Units outside the cores: what the core needs of their backend (backends/uncore).
 */
#ifndef UPMU_CORE_UNIT_BACKEND_H
#define UPMU_CORE_UNIT_BACKEND_H

#include "core/hw/backend.h"
#include <upmu/unit.h>

#if UPMU_UNCORE

/* A backend that detects nothing: upmu_uncore_find() and upmu_uncore_describe() make the PMUs of units. */
extern const struct upmu_backend upmu_uncore_backend;

/* Fill in *out, the PMU of a type of units, but for `out->made` and `out->text`, which stay as they are. */
void upmu_uncore_describe(const struct upmu_unit_type *type, struct upmu_uncore_pmu *out);

/*
 * With `apart` 0: is something wrong with the registers of a box?  Two have bytes in common, or one does not begin at a
 * word, or ends outside of its function (4 KiB).  Else: has a register of a box bytes in common with a register of
 * another box, which begins `apart` bytes (MSRs) behind it?
 */
bool upmu_uncore_clash(const struct upmu_uncore_pmu *uncore, uint64_t apart);

/*
 * The machine, as the search for units sees it: the search reads registers by these functions, which call the host's
 * hooks.  A function is NULL, or returns false, where the machine has no such registers.
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
    bool force;     /* search also under a hypervisor */
    uint16_t cores; /* number of cores of this package */
    uint8_t dies;   /* number of dies of each package; 0: one */
    struct upmu_cpu_place place;
    /* out */
    uint32_t accesses;
    const char *failure; /* text: why something was not found */
    uint64_t failed_at;
};

/* Find out by CPUID in which package, die and L3 the executing CPU is; what CPUID does not say is 0.  Needs `cpuid`. */
void upmu_uncore_where(const struct upmu_uncore_seen *seen, struct upmu_cpu_place *out_place);

/* Fill in seen->amd and, where CPUID says them, seen->cores and seen->dies. */
void upmu_uncore_count(struct upmu_uncore_seen *seen);

/*
 * Add the units of the executing CPU's die, and at the first call those in configuration space and memory of all dies.
 * Registers are only read.  Added units have neither address nor name.  Returns UPMU_OK; UPMU_ERR_NO_SPACE (the list is
 * full; what fits is there); UPMU_ERR_NO_PMU (no unit: the model is unknown, or there is a hypervisor); UPMU_ERR_PORT
 * (a table of discovery is damaged; other units are there).
 */
enum upmu_status upmu_uncore_find(struct upmu_uncore_seen *seen, struct upmu_unit_list *list);

#endif

#endif
