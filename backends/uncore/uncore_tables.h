/* SPDX-License-Identifier: MIT */
/*
 * The packed rows of uncore_tables.c: data of tools/uncore_tables.py, expanded by uncore_describe.c.
 */
#ifndef UPMU_UNCORE_TABLES_H
#define UPMU_UNCORE_TABLES_H

#include "backends/uncore/uncore.h"

#if UPMU_UNCORE

#define UPMU_UNCORE_NONE (-0x8000) /* offset of a register that does not exist */
#define UPMU_UNCORE_ANYWHERE 0xffffu

/* How the boxes of a type are found: see uncore_find.c. */
enum {
    UPMU_UNCORE_RULE_ONE,        /* there is always one box */
    UPMU_UNCORE_RULE_ALL,        /* of `most` boxes those whose register can be read */
    UPMU_UNCORE_RULE_CORES,      /* as many boxes as cores, up to `most` */
    UPMU_UNCORE_RULE_CBO,        /* bits 3:0 of MSR 396h say how many boxes */
    UPMU_UNCORE_RULE_CAPID,      /* bits of PCI registers say how many boxes */
    UPMU_UNCORE_RULE_SBOX,       /* a PCI register says whether there are all boxes or fewer */
    UPMU_UNCORE_RULE_PCI,        /* boxes are PCI functions */
    UPMU_UNCORE_RULE_SERVER_IMC, /* memory channels, by registers of a PCI function */
    UPMU_UNCORE_RULE_SERVER_MEM, /* memory controllers, by registers of a PCI function */
    UPMU_UNCORE_RULE_TABLE,      /* boxes are in a table of discovery */
    UPMU_UNCORE_RULE_BROKEN,     /* boxes in a table of discovery that is wrong about them: ignored */
    UPMU_UNCORE_RULE_OTHER,      /* a type that only a table of discovery knows */
    UPMU_UNCORE_RULE_CLIENT_IMC, /* memory controllers, by a register of the host bridge */
    UPMU_UNCORE_RULE_CLIENT_MCS, /* memory controllers as CLIENT_IMC, but each can be off */
    UPMU_UNCORE_RULE_SAFBAR,     /* memory controllers as CLIENT_IMC, but by another register */
    UPMU_UNCORE_RULE_AMD_NB,     /* CPUID 80000001h, 80000022h */
    UPMU_UNCORE_RULE_AMD_L2,
    UPMU_UNCORE_RULE_AMD_L3,
    UPMU_UNCORE_RULE_AMD_UMC,
    UPMU_UNCORE_RULE_RAPL,
    UPMU_UNCORE_RULE_RAPL_AMD
};

/*
 * The registers of a box. Fields from `style` to `rdpmc` are as in struct upmu_unit_type, but `rate` is an index in
 * upmu_uncore_rates.
 */
struct upmu_uncore_layout {
    uint8_t style, space, rate;
    uint8_t counters, width, fixed_width;
    uint8_t select_step, counter_step, register_bits;
    uint8_t enable_bit, filters, scope;
    uint16_t quirks, rdpmc;
    int16_t control, select, counter, fixed_select, fixed_counter;
    uint16_t counter_list; /* index in upmu_uncore_words: offsets of counters; 0: equal steps */
    uint16_t filter_list;  /* index in upmu_uncore_words: of each filter its offset, and the index of its mask */
};

struct upmu_uncore_row {
    uint8_t box, layout, rule, most;
    uint8_t mask;   /* index in upmu_uncore_masks: bits of a select that events may set */
    uint8_t fields; /* index of the first field in upmu_uncore_fields; 0: no fields */
    /*
     * Index of the first rule in upmu_uncore_rules: rules of counters, then, if there are fields, rules of resources.
     * For style FREE, index in upmu_uncore_words: the code of each counter.
     */
    uint16_t rules;
    uint16_t words; /* index in upmu_uncore_words: offsets or devices of boxes, then second bases */
    int16_t step;
    uint16_t base;
};

/*
 * A rule: if the bits `mask` of a select are `code`, then `what` is a mask of the event's counters, or of its
 * resources. A list of rules ends with mask 0; the first matching rule of counters is used, and all matching rules of
 * resources.
 */
struct upmu_uncore_rule {
    uint16_t code, mask, what;
};

/* A field of filters. `bit` 0 to 63 is in config1, from 64 on in config2. A list of fields ends with width 0. */
struct upmu_uncore_field {
    uint16_t name; /* 0: bits that are 1 whenever the event has the resource */
    uint8_t bit, width, resource;
};

struct upmu_uncore_box {
    uint8_t number;
    uint8_t cut; /* letters at the end of `name` that are not in the PMU's name */
    uint16_t name, prefix;
};

struct upmu_uncore_generation {
    uint8_t first, rows;
    uint16_t catalog, libpfm, title;
};

/*
 * Rows of a generation's catalogue, which another processor shares, whose events this processor does not have: `rows`
 * of them, from row `first` on.
 */
struct upmu_uncore_absent {
    uint8_t generation, rows;
    uint16_t first;
};

struct upmu_uncore_cpu {
    uint8_t family, first, last;
    uint8_t stepping; /* bits 6:0: from this stepping on; bit 7: an AMD CPU */
    uint8_t generation;
};

extern const char upmu_uncore_text[];
extern const uint16_t upmu_uncore_words[];
extern const uint64_t upmu_uncore_masks[];
extern const uint16_t upmu_uncore_rates[];
extern const struct upmu_uncore_rule upmu_uncore_rules[];
extern const struct upmu_uncore_field upmu_uncore_fields[];
extern const struct upmu_uncore_layout upmu_uncore_layouts[];
extern const struct upmu_uncore_row upmu_uncore_rows[];
extern const struct upmu_uncore_box upmu_uncore_boxes[];
extern const struct upmu_uncore_generation upmu_uncore_generations[];
extern const struct upmu_uncore_cpu upmu_uncore_cpus[];
extern const struct upmu_uncore_absent upmu_uncore_absent[];
extern const uint8_t upmu_uncore_box_count;
extern const uint8_t upmu_uncore_generation_count;
extern const uint8_t upmu_uncore_cpu_count;
extern const uint8_t upmu_uncore_absent_count;
extern const uint8_t upmu_uncore_other; /* the row of rule OTHER */

/* Return the words of a row that follow those of its boxes: the second bases, or values that the row's rule reads. */
const uint16_t *upmu_uncore_second(const struct upmu_uncore_row *row);

/* Return the base of the n-th box: an MSR, or an offset in memory. */
uint64_t upmu_uncore_base(const struct upmu_uncore_row *row, unsigned n);

/* Return the second base of the n-th box of a type of MSRs; 0: the box has none. */
uint32_t upmu_uncore_second_base(const struct upmu_uncore_row *row, unsigned n);

#endif

#endif
