/* SPDX-License-Identifier: MIT */
/*
 * The packed tables of built-in types of units in uncore_tables.c, which tools/uncore_tables.py writes. A type's row in
 * upmu_uncore_rows has indices in the other tables. uncore_describe.c makes PMUs of them.
 */
#ifndef UPMU_UNCORE_TABLES_H
#define UPMU_UNCORE_TABLES_H

#include "backends/uncore/uncore.h"

#if UPMU_UNCORE

#define UPMU_UNCORE_NONE (-0x8000) /* as an offset in a layout: the type has no such register */
#define UPMU_UNCORE_ANYWHERE 0xffffu

/* Values of upmu_uncore_row.rule: how uncore_find.c finds the boxes of the type. */
enum {
    UPMU_UNCORE_RULE_ONE,        /* one box, if its register can be read */
    UPMU_UNCORE_RULE_ALL,        /* of `most` boxes those whose register can be read */
    UPMU_UNCORE_RULE_CORES,      /* as many boxes as the package has cores, up to `most` */
    UPMU_UNCORE_RULE_CBO,        /* bits 3:0 of MSR 396h say how many boxes */
    UPMU_UNCORE_RULE_CAPID,      /* as many boxes as bits are set in registers of a PCI function, up to `most` */
    /*
     * S-boxes: upmu_uncore_row.most of them if any bit of a mask is set in a register of a PCI function, else fewer.
     * The row's words are the device id of that function, the register's offset, the mask, and the smaller number.
     */
    UPMU_UNCORE_RULE_SBOX,
    UPMU_UNCORE_RULE_PCI,        /* boxes are PCI functions */
    UPMU_UNCORE_RULE_SERVER_IMC, /* memory channels of servers: a PCI function has the controllers' addresses */
    UPMU_UNCORE_RULE_SERVER_MEM, /* one box for each of the controllers of SERVER_IMC */
    UPMU_UNCORE_RULE_TABLE,      /* boxes are listed in a table of discovery; `base` is the type's number there */
    UPMU_UNCORE_RULE_BROKEN,     /* as TABLE, but the table is wrong about these boxes: they are ignored */
    UPMU_UNCORE_RULE_OTHER,      /* the type of all boxes in tables of discovery that have no row of TABLE */
    UPMU_UNCORE_RULE_CLIENT_IMC, /* memory controllers of clients: register 48h of the host bridge has the address */
    UPMU_UNCORE_RULE_CLIENT_MCS, /* as CLIENT_IMC, but only if bit 0 of that register is set */
    UPMU_UNCORE_RULE_SAFBAR,     /* as CLIENT_MCS, but by register 68h */
    UPMU_UNCORE_RULE_AMD_NB,     /* AMD's northbridge, if CPUID 80000001h has it; 80000022h may say how many counters */
    UPMU_UNCORE_RULE_AMD_L2,
    UPMU_UNCORE_RULE_AMD_L3,
    UPMU_UNCORE_RULE_AMD_UMC,
    UPMU_UNCORE_RULE_READING,        /* one box, whose counters are registers of upmu_uncore_readings */
    UPMU_UNCORE_RULE_READING_PACKAGE /* as READING; the nodes of a package share the box */
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
    /*
     * Index in upmu_uncore_words of the row's words. The first ones list the boxes, where the row needs a list: their
     * offsets; with rule PCI pairs of device id and place (device << 3 | function, or UPMU_UNCORE_ANYWHERE); with rule
     * TABLE the number of boxes, then their places. Words after these, if any, say where further registers of the boxes
     * are (upmu_unit_info.second), or are what the rule reads to find boxes: device ids, offsets, masks. With the rules
     * READING and READING_PACKAGE: index in upmu_uncore_readings of the type's first register.
     */
    uint16_t words;
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

/*
 * A register that counts or measures without any control, as a counter of a unit (tools write the table from
 * uncore_readings.tsv). Which CPUs have the register says a word of upmu_uncore_masks: its low half is a mask of kinds
 * of which the CPU must be one, its high half a mask of kinds all of which the CPU must be. Kind k is bit k of either
 * mask.
 */
struct upmu_uncore_reading {
    uint32_t msr;
    uint16_t text; /* index in upmu_uncore_text: the unit of measurement, "ticks" */
    uint8_t mask;  /* index in upmu_uncore_masks */
    uint8_t counter;
    uint8_t width; /* of the counter in bits; 0 ends the registers of a type */
    uint8_t scale; /* UPMU_UNCORE_SCALE_... */
};

/* A count is 1/2^n of the unit of measurement, or, with UPMU_UNCORE_SCALE_MICRO, 2^n/1000000 of it. */
#define UPMU_UNCORE_SCALE_SHIFT 0x1fu /* n, if no other bit is set */
#define UPMU_UNCORE_SCALE_INTEL 0x20u /* MSR 606h has n */
#define UPMU_UNCORE_SCALE_AMD 0x40u   /* MSR C0010299h has n */
#define UPMU_UNCORE_SCALE_MICRO 0x80u /* MSR 606h has n */

/* A register that shows a value of the moment, of the units with box number `box`, on CPUs of all kinds of a mask. */
struct upmu_uncore_level {
    uint32_t msr;
    uint32_t all;
    uint16_t name, text; /* indices in upmu_uncore_text: of the level, of the unit of measurement */
    uint8_t box;
    uint8_t low, bits; /* where the value stands */
    uint8_t valid;     /* number of the bit that is 1 while the value is valid */
};

/* A kind of CPUs that has a bit in CPUID: entry k of upmu_uncore_features is kind k. */
struct upmu_uncore_feature {
    uint32_t leaf;
    uint32_t msr;   /* the register that switches the feature on; 0: the feature is always on */
    uint8_t bit;    /* 32 times the number of the leaf's register (EAX 0 to EDX 3), plus the number of the bit */
    uint8_t enable; /* number of the bit of `msr` that is 1 while the feature is on */
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
extern const struct upmu_uncore_reading upmu_uncore_readings[];
extern const struct upmu_uncore_level upmu_uncore_levels[];
extern const struct upmu_uncore_feature upmu_uncore_features[];
extern const struct upmu_uncore_cpu upmu_uncore_models[]; /* kinds that models tell: `generation` is the kind */
extern const uint8_t upmu_uncore_box_count;
extern const uint8_t upmu_uncore_generation_count;
extern const uint8_t upmu_uncore_cpu_count;
extern const uint8_t upmu_uncore_absent_count;
extern const uint8_t upmu_uncore_level_count;
extern const uint8_t upmu_uncore_feature_count;
extern const uint8_t upmu_uncore_model_count;
extern const uint8_t upmu_uncore_other; /* the row of rule OTHER */

static inline bool upmu_uncore_has_readings(const struct upmu_uncore_row *row)
{
    return row->rule == UPMU_UNCORE_RULE_READING || row->rule == UPMU_UNCORE_RULE_READING_PACKAGE;
}

/*
 * Make a register the counter of a unit that the reading says. upmu_uncore_make(), which knows no CPU, uses the last
 * register that the type has for a counter; the registers before it are those of single models.
 */
void upmu_uncore_use_reading(struct upmu_uncore_pmu *pmu, const struct upmu_uncore_reading *reading);

/* Return the words of a row that follow those of its boxes: the second bases, or values that the row's rule reads. */
const uint16_t *upmu_uncore_second(const struct upmu_uncore_row *row);

/*
 * Return the base of the n-th box of a row (n from 0): an MSR, or, of a memory controller, an offset from the address
 * that a PCI register has.
 */
uint64_t upmu_uncore_base(const struct upmu_uncore_row *row, unsigned n);

/*
 * Return the second base (upmu_unit_info.second) of the n-th box of a type whose units are MSRs; 0: the boxes have
 * none, because the type lacks UPMU_UNCORE_SECOND_FIXED.
 */
uint32_t upmu_uncore_second_base(const struct upmu_uncore_row *row, unsigned n);

#endif

#endif
