/* SPDX-License-Identifier: MIT */
/*
 * Units outside the cores: the functions of their backend (backends/uncore) that the core calls, besides struct
 * upmu_backend.
 */
#ifndef UPMU_CORE_UNIT_BACKEND_H
#define UPMU_CORE_UNIT_BACKEND_H

#include "core/hw/backend.h"
#include <upmu/unit.h>

#if UPMU_UNCORE

/* The backend of units.  It has no detect(): upmu_uncore_find() and upmu_uncore_describe() make the PMUs of units. */
extern const struct upmu_backend upmu_uncore_backend;

/* Fill in *out, the PMU of a type of units, but for `out->made` and `out->text`, which stay as they are. */
void upmu_uncore_describe(const struct upmu_unit_type *type, struct upmu_uncore_pmu *out);

/*
 * Check the registers of a type of units.  With `apart` 0: is something wrong within one box, as two registers have
 * bytes in common, or one does not begin at a word, or ends outside of the box's function (4 KiB)?  Else: has a
 * register of one box bytes (MSRs) in common with a register of another box that begins `apart` bytes (MSRs) behind it?
 * True: the type cannot be used.
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
    bool force;     /* search also under a hypervisor (UPMU_UNITS_FORCE) */
    bool open;      /* units are open: boxes in the list keep their places */
    bool each_cpu;  /* search also for the units of the executing CPU and of its core (UPMU_UNITS_EACH_CPU) */
    uint16_t number, core; /* numbers of the executing CPU and of its core in their package: upmu_uncore_number() */
    uint16_t cores; /* number of cores of this package */
    uint8_t dies;   /* number of dies of each package; 0: one */
    struct upmu_cpu_place place; /* where the executing CPU is */
    /* results of the search */
    unsigned first; /* index of the first box of this search: boxes that an earlier one found may have left the list */
    uint32_t accesses;
    bool stops_full;    /* a processor has more tables with a register that stops units than UPMU_UNIT_STOPS */
    const char *failure; /* the search stores here, as text, why something was not found; NULL: nothing to say */
    uint64_t failed_at;
};

/*
 * Find out by CPUID in which package, die and L3 the executing CPU is.  Members that CPUID does not tell become 0.  Of
 * `seen` only `cpuid` and its context are needed.
 */
void upmu_uncore_where(const struct upmu_uncore_seen *seen, struct upmu_cpu_place *out_place);

/*
 * Find out by CPUID which number the executing CPU has in its package, and its core has.  CPUs of one core have the
 * same core number.  Where CPUID has no levels, both are the APIC's number.  Of `seen` only `cpuid` and its context
 * are needed.
 */
void upmu_uncore_number(const struct upmu_uncore_seen *seen, uint16_t *out_number, uint16_t *out_core);

/*
 * Does each box of a built-in type belong to one CPU (UPMU_SCOPE_THREAD) or one core?  Then no other CPU, or no other
 * core, can access it, and boxes are never driven as one.  False for a host's own type: where it says no scope, which
 * is 0, it belongs to a die.
 */
static inline bool upmu_uncore_is_narrow(const struct upmu_uncore_pmu *uncore)
{
    return uncore->packed && uncore->type->scope <= UPMU_SCOPE_CORE;
}

/* A register that shows a value of the moment: upmu_uncore_level_of(). */
struct upmu_level_place {
    uint32_t msr;
    uint8_t low, bits;   /* where the value stands */
    uint8_t valid;       /* number of the bit that is 1 while the value is valid */
    const char *measure; /* the unit of measurement; constant text */
};

/* Find the level of a unit's PMU that has a name.  Returns false: there is none on this machine. */
bool upmu_uncore_level_of(const struct upmu_pmu *pmu, const char *name, struct upmu_level_place *out);

/* Fill in seen->amd and, where CPUID says them, seen->cores and seen->dies. */
void upmu_uncore_count(struct upmu_uncore_seen *seen);

/*
 * Add to the list the units of the executing CPU's die and, at the first call for the list, those in configuration
 * space and memory of all dies.  Registers are only read.  Added units have neither address nor name.  Returns UPMU_OK;
 * UPMU_ERR_NO_SPACE (the list is full; the units that fit are in it); UPMU_ERR_NO_PMU (the list is empty afterwards, or
 * there is a hypervisor, without `force`); UPMU_ERR_PORT (seen->failure says what of the machine's own description was
 * damaged or could not be read; the units that were found are in the list).
 */
enum upmu_status upmu_uncore_find(struct upmu_uncore_seen *seen, struct upmu_unit_list *list);

#endif

#endif
