/* SPDX-License-Identifier: MIT */
/*
 * Units outside the cores: memory controllers, cache slices, links, power units, and devices of the host's own.
 *
 * A unit is one box, or several alike on one die that are driven as one.  One CPU drives it, and its
 * events belong to no thread.
 */
#ifndef UPMU_UNIT_H
#define UPMU_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/config.h>
#include <upmu/pmu.h>
#include <upmu/status.h>
#include <upmu/unit_addr.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Events of uncore PMU number i of a machine have upmu_event.pmu = UPMU_UNIT_PMU + i. */
#define UPMU_UNIT_PMU 4u

/* How a type's counters are started and stopped. */
enum upmu_unit_style {
    UPMU_UNIT_GLOBAL = 0,     /* one register has a bit for each counter */
    UPMU_UNIT_SELECT = 1,     /* each select enables its own counter */
    UPMU_UNIT_BOX = 2,        /* one bit freezes all counters of a box, selects have enable bits, too */
    UPMU_UNIT_DISCOVERED = 3, /* the same without enable bits: a select that is not 0 counts */
    UPMU_UNIT_CLIENT_IMC = 4, /* as DISCOVERED; of clients' memory controllers */
    UPMU_UNIT_FREE = 5        /* never stopped, never written */
};

/* Events whose code & code_mask is `code` have these counters only. */
struct upmu_unit_constraint {
    uint16_t code;
    uint16_t code_mask;
    uint32_t counters;
};

/*
 * One kind of box: constant data, the library's or (hook own_unit) the host's.  Counter n is general counter n; the
 * fixed one is UPMU_FIXED_COUNTER(0).
 */
struct upmu_unit_type {
    const char *name;    /* of its units: "imc" */
    const char *pmu;     /* of its PMU, libpfm4's where it has one: "skx_unc_imc" */
    const char *title;   /* for display: "Skylake-X memory controller" */
    const char *prefix;  /* of its events' names: "UNC_M_" */
    const char *catalog; /* of its generation: "skx_uncore"; NULL: raw events only */
    uint8_t style;         /* enum upmu_unit_style */
    uint8_t space;         /* enum upmu_register_space */
    uint8_t number;        /* of the type in the catalogue's rows */
    uint8_t counters;      /* general ones */
    uint8_t width;         /* of these, bits */
    uint8_t fixed_width;   /* of the fixed counter; 0: there is none */
    uint8_t select_step;   /* from one select to the next */
    uint8_t counter_step;
    uint8_t register_bits; /* 32 or 64: of one access; in configuration space each is 32, and 64 bits are two */
    uint8_t enable_bit;    /* of a select; 0xff: none */
    uint8_t filters;       /* entries of filter[] in use */
    uint8_t scope;         /* enum upmu_scope: the CPUs that reach it by MSRs */
    uint16_t quirks;       /* the backend's bits; 0 for a host's own */
    uint16_t rdpmc;        /* RDPMC index of counter 0, or 0xffff: none */
    /* Offsets from the box's base. */
    uint32_t control;      /* box control; of UPMU_UNIT_GLOBAL: the enable register */
    uint32_t select;       /* of counter 0 */
    uint32_t counter;      /* counter 0 */
    uint32_t fixed_select;
    uint32_t fixed_counter;
    uint32_t filter[4];
    uint32_t freeze;       /* bits of box control that freeze the counters */
    uint32_t control_idle; /* its value to begin with, without reset bits */
    uint32_t reset;        /* its reset bits, sent once where the box is not in use */
    uint64_t select_mask;  /* bits of a select that an event may set, without the enable bit */
    uint64_t filter_mask[4];
    uint32_t rate_mhz;     /* the most that one counter counts, in millions per second */
    const struct upmu_unit_constraint *constraints; /* ends with mask 0; or NULL */
};

/* One box. */
struct upmu_unit_info {
    uint64_t base;    /* number of an MSR; `where` of a PCI function (upmu/port.h); physical address */
    void *mapped;     /* memory, while open; or NULL */
    const char *name; /* the host's path, or NULL */
    uint32_t second;  /* second MSR or function, where the type has one */
    uint32_t address; /* packed (upmu/unit_addr.h), or UPMU_UNIT_NO_ADDRESS */
    uint16_t number;  /* among the boxes of its type on its die */
    uint16_t llc;     /* which last-level cache it belongs to */
    uint8_t type;     /* index in upmu_unit_list.pmu */
    uint8_t package;
    uint8_t die;      /* within its package */
    uint8_t flags;
};

/* The PMU of a type, made from it. */
struct upmu_uncore_pmu {
    struct upmu_pmu pmu;
    const struct upmu_unit_type *type;
    struct upmu_register_table table;
    struct upmu_register row[UPMU_UNIT_REGISTERS];
    uint16_t packed;            /* 1 + its row in the library's table; 0: the host's own type */
    struct upmu_unit_type made; /* a type of the library, unpacked */
    char text[96];              /* its names */
};

/* The units of a machine and their types, in the caller's memory.  Boxes of one type and die stand side by side. */
struct upmu_unit_list {
    struct upmu_unit_info *unit;
    struct upmu_uncore_pmu *pmu;
    uint16_t unit_capacity;
    uint16_t unit_count;
    uint8_t pmu_capacity;
    uint8_t pmu_count;
    struct upmu_machine *machine;
    /* private: zero it first */
    uint8_t scanned;        /* configuration space was searched */
    uint16_t counts_at[8];  /* by die: 1 + the function that says how many boxes there are */
};

/* For upmu_units_find(): look under a hypervisor, too. */
#define UPMU_UNITS_FORCE (1u << 0)

/*
 * The path of a unit: the one that the host gave it, or "package0/die0/imc3", "package0/die0/l3_1".  `unit` is one
 * of the list.
 *
 * Returns the whole length; at most `size` bytes including the NUL are written.
 * Context: any.
 */
size_t upmu_unit_path(const struct upmu_unit_list *list, const struct upmu_unit_info *unit, char *buffer, size_t size);

/* What was found: `boxes` boxes side by side from `unit` on. */
struct upmu_unit_found {
    const struct upmu_unit_info *unit;  /* in the list, or NULL: nothing was found */
    const struct upmu_unit_info *other; /* a second one to which the text or the address applies, or NULL */
    uint16_t boxes;
};

/* For upmu_unit_find(): the text is a path. */
#define UPMU_UNIT_PATH (1u << 0)

/*
 * Find one unit.  With UPMU_UNIT_PATH `text` is a path or the last components of one, in any case of letters; after a
 * leading '/' it is the whole path.  A number that is left out stands for every number; left out of the last component
 * it means all boxes of that type on that die.  The last component may also be written imc_3, imc/3, uncore_imc_3 (or
 * amd_df_0) and as the PMU with a number, skx_unc_imc3.
 * Without the flag `address` is a packed address (upmu/unit_addr.h), and `text` a type's name, or NULL if it is the
 * only one there.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SUCH_PMU (no such unit); UPMU_ERR_INVALID (more than one, and `unit` and `other` are
 * the first two; or, both NULL, `address` is invalid or a path is missing).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_unit_find(const struct upmu_unit_list *list, unsigned flags, uint32_t address, const char *text,
                                struct upmu_unit_found *out_found);

#ifdef __cplusplus
}
#endif

#endif
