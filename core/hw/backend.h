/* SPDX-License-Identifier: MIT */
/*
 * The interface of a CPU family: pure functions and tables.  A backend renders values and names
 * registers; it never calls a hook and never writes a register.
 */
#ifndef UPMU_CORE_BACKEND_H
#define UPMU_CORE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/hw/image.h"
#include <upmu/branches.h>
#include <upmu/event.h>
#include <upmu/ibs.h>
#include <upmu/place.h>
#include <upmu/pmu.h>

/*
 * A constant sequence that an erratum needs before a new event (UPMU_PMU_PRELUDE), run with all
 * gates closed.  Steps for counters and selects of other owners are left out, and their gates keep
 * their state.
 */
struct upmu_prelude_step {
    uint8_t row;
    uint64_t value;
};

struct upmu_prelude {
    const struct upmu_prelude_step *steps;
    uint8_t step_count;
    uint32_t counters; /* counters that it overwrites */
};

/* Detection's view of the machine: reads go through the core. */
struct upmu_detection {
    void *context;
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
    /* False: it faults, or must not be read (see upmu_port.msr_faults_are_safe). */
    bool (*rdmsr)(void *context, uint32_t msr, bool promised, uint64_t *out_value);
    uint32_t leaf0[4];
    uint32_t leaf1[4];
    uint16_t family, model;
    uint8_t stepping;
    bool hypervisor;
#if UPMU_BACKEND_PARAVIRT
    bool page; /* the port has the hooks of a paravirtual PMU */
#endif
};

/* A CPUID leaf; detection reads it if `bits` is 0 or word `gate` of the words before has one of `bits`. */
struct upmu_leaf {
    uint32_t leaf;
    uint32_t bits;
    uint8_t subleaf;
    uint8_t gate;
};

#define UPMU_LEAF_WORD(place, word) (4u * (place) + (word)) /* EAX to EDX are 0 to 3 */

/* Read leaves up to the highest existing one, four words each; others are zero. */
void upmu_detection_read(const struct upmu_detection *detection, uint32_t highest, const struct upmu_leaf *leaf,
                         unsigned count, uint32_t *out_words);

/* Copy family, model and so on from the detection to the PMU; returns true. */
bool upmu_detection_identify(const struct upmu_detection *detection, struct upmu_pmu *pmu);

/*
 * An event that counts what other cores or agents of the bus do: a value of one of these registers has it if
 * (value & mask) == event.
 */
struct upmu_beyond {
    uint8_t row, rows; /* the first, and how many; 0: the end of a list */
    uint64_t mask, event;
};

#if UPMU_BRANCHES

/* The form of an entry of a branch stack.  The first eight are Intel's numbers (PERF_CAPABILITIES[5:0]). */
enum upmu_branch_format {
    UPMU_BRANCH_FORMAT_32 = 0,
    UPMU_BRANCH_FORMAT_LINEAR = 1,
    UPMU_BRANCH_FORMAT_EFFECTIVE = 2,
    UPMU_BRANCH_FORMAT_FLAGS = 3, /* from[63]: mispredicted */
    UPMU_BRANCH_FORMAT_TSX = 4,   /* from[62], [61], too: in a transaction, abort */
    UPMU_BRANCH_FORMAT_INFO = 5,  /* a third register has these, and cycles */
    UPMU_BRANCH_FORMAT_TIME = 6,  /* from[63]: mispredicted; to[63:48]: cycles */
    UPMU_BRANCH_FORMAT_INFO2 = 7, /* as 5, without transactions */
    UPMU_BRANCH_FORMAT_ARCHITECTURAL,
    UPMU_BRANCH_FORMAT_AMD
};

/* Bits of upmu_branch_stack.traits. */
#define UPMU_BRANCH_OWN_CONTROL 0x01u   /* nothing else uses the controlling register, which has the filters, too */
#define UPMU_BRANCH_SHARED_SELECT 0x02u /* hyper-threads see one register of filters: upmu never filters by it */
#define UPMU_BRANCH_ABORTS_TWICE 0x04u  /* an abort has two entries */

/*
 * The registers of one kind of branch stack.  An entry is at from + i * step and so on.  `filter` has the bits of the
 * register of filters for each of UPMU_BRANCH_USER, _KERNEL, _ANY, ...: they let a branch in if UPMU_BRANCH_OWN_CONTROL
 * is set; else they keep it out, and the value is what is left of `all`.
 */
struct upmu_branch_stack {
    uint32_t from, to, info; /* of entry 0; info: 0: none */
    uint32_t top;            /* its register has the number of the newest entry; 0: the newest is entry 0 */
    uint32_t control;        /* the register that has ... */
    uint32_t enable;         /* ... these bits, which let the stack record */
    uint32_t kept;           /* bits of `control` that an emergency stop leaves as they were found */
    uint32_t select;         /* register of filters, 0: none of its own */
    uint32_t size;           /* register of the depth, whose write clears all entries; 0: none */
    uint32_t all;
    uint32_t filter[8];
    uint8_t step;
    uint8_t traits;          /* UPMU_BRANCH_OWN_CONTROL and so on */
};

#endif

struct upmu_text;

/* Flags for rendering an event. */
#define UPMU_RENDER_INTERRUPT (1u << 0) /* overflow raises the PMI */
#define UPMU_RENDER_THREAD1 (1u << 1)   /* for the second hyper-thread of the core (see `thread`) */

/* struct upmu_row.flags, only in the encoder: see struct upmu_backend.from_row. */
#define UPMU_ROW_OWN_NAME 0x8000u

/* Two vendors may have families of one number: 18 exists for both.  The bit stands beside the family in a catalogue. */
#define UPMU_VENDOR_AMD 0x80u
#define UPMU_VENDOR_OTHER 0x40u /* no x86: catalogues are found by their names */

struct upmu_backend {
    const char *name;
    uint8_t vendor; /* of its CPUs, as catalogues have it: 0 Intel, UPMU_VENDOR_… */

    /* Fill in *out_pmu for the executing CPU, all but `backend`; false: the CPU is not of this family. */
    bool (*detect)(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);

#if UPMU_NAMES
    /* Fill in *out_pmu for a model by name, all but `backend`; names(i) lists them, NULL after the last. */
    bool (*describe)(const char *name, struct upmu_pmu *out_pmu);
    const char *(*names)(unsigned i);

    /* The catalogue of a PMU, where its name is not the PMU's; NULL: there is none, or it has the PMU's name. */
    const char *(*catalog)(const struct upmu_pmu *pmu);

    /* FreeBSD's prefixes of the names of the catalogue ("p4-"), the last with two NULs; NULL: none. */
    const char *prefixes;
    /*
     * Apply one attribute to an event under construction.  `name` is in the caller's text, where
     * '=' and the text of the value follow; `value` is NULL if none was given, UINT64_MAX if it is
     * no number.
     * UPMU_ERR_NO_SUCH_ATTRIBUTE, _BAD_VALUE, _CONTRADICTION.
     */
    enum upmu_status (*attribute)(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                  size_t length, const uint64_t *value);
    /*
     * Start an event from a catalogue row that contains its masks.  The catalogue is
     * upmu_catalog_of() event->id.  UPMU_ERR_UNSUPPORTED: the PMU has no such event.  If the name
     * is not that of an architectural event, the core then calls once more, with UPMU_ROW_OWN_NAME.
     */
    enum upmu_status (*from_row)(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
    /*
     * The unit mask bits of a word of a FreeBSD qualifier ("core=all"), and the field that they
     * belong to; false: no such qualifier, or (with *out_field set) no such word.  May be NULL.
     */
    bool (*qualifier)(const char *name, size_t name_length, const char *word, size_t length, uint16_t *out_field,
                      uint16_t *out_bits);
    /* A backend of units: the name of a kind of box ("imc") by its number in rows of catalogues, or NULL. */
    const char *(*unit_name)(unsigned number);
    /* Append the attributes that the row does not contain: ":u:c=2".  A raw event has no row. */
    void (*format)(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                   struct upmu_text *out);
#endif
    /*
     * Finish an event: constraints, defaults, validation.  Fills in `counters`,
     * `payload`.  UPMU_ERR_DOES_NOT_FIT, _NOT_PERMITTED, _NOT_PRECISE, _UNSUPPORTED.
     */
    enum upmu_status (*finish)(const struct upmu_pmu *pmu, struct upmu_event *event);

    /*
     * The number of the executing hyper-thread in its core, 0 or 1, where the hardware needs it.
     * NULL: always 0.  May read CPUID only.
     */
    unsigned (*thread)(const struct upmu_detection *detection);

    /*
     * The i-th way to run an event for hyper-thread `thread`, best first.  For UPMU_ATTR_CASCADE
     * slot 0 is the target, slot 1 the initiator.
     */
    bool (*alternative)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                        struct upmu_alternative *out);

    /* Add the registers of a placed event to an image; the core sets the gates. */
    void (*render)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                   const uint8_t *counters, unsigned flags, struct upmu_image *image);

    /* Writes that events of its PMUs may need first (upmu_image.prelude); NULL: none. */
    const struct upmu_prelude *prelude;

    /* Add the idle values of counters that are released. */
    void (*release)(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image);

    /*
     * Status word to counters, and counters to the acknowledgement.  NULL: no PMU has such registers.  A PMU with the
     * first alone has its flags in the selects.
     */
    uint32_t (*overflowed)(const struct upmu_pmu *pmu, uint64_t status);
    uint64_t (*acknowledge)(const struct upmu_pmu *pmu, uint32_t counters);

    /*
     * Bits of a register of several counters (upmu_register_class.by_counter) that say what one of them does.  NULL:
     * there is no such register.
     */
    uint64_t (*bits_of)(const struct upmu_pmu *pmu, unsigned row, unsigned counter);

    /*
     * Counters for which the hardware would write records to memory when they overflow, or that an
     * overflow loads anew, from the values found at take-over, by row.  If `image` is not NULL, it gets the registers
     * that end this and traces of branches to memory, where possible.  NULL: none.
     */
    uint32_t (*records)(const struct upmu_pmu *pmu, const uint64_t *found, struct upmu_image *image);

    /*
     * The resource that a foreign counter uses, by the value of its select register;
     * UPMU_NO_RESOURCE: none.  NULL: counters use no resources.
     */
    unsigned (*seen_by)(const struct upmu_pmu *pmu, unsigned counter, uint64_t select);

#if UPMU_UNCORE
    /* The value that a resource of a unit has by the registers found at take-over, by row; false: no such resource. */
    bool (*filter)(const struct upmu_pmu *pmu, unsigned resource, const uint64_t *found, uint64_t *out_value);
#endif

#if UPMU_FOREIGN
    /* Counters in use by the values found at take-over, by row.  NULL: as upmu_register_class.in_use says. */
    uint32_t (*claims)(const struct upmu_pmu *pmu, const uint64_t *found);
#endif

    /* Registers to set once at take-over (freeze bits off), as image entries.  NULL: none. */
    void (*take_over)(const struct upmu_pmu *pmu, struct upmu_image *image);

    /* The register of a resource, as text for explanations. */
    const char *(*resource_name)(const struct upmu_pmu *pmu, unsigned resource);

    /* The name of a counter: prefix and index. */
    const char *(*counter_prefix)(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index);

    /*
     * `ibs`: how a sampling unit is driven; false: not with this period.  `ibs_sample`: correct a
     * sample; false: discard it.  Needed if pmu->ibs is not 0.
     */
    bool (*ibs)(const struct upmu_pmu *pmu, const struct upmu_ibs *ibs, struct upmu_ibs_plan *plan);
    bool (*ibs_sample)(const struct upmu_pmu *pmu, struct upmu_ibs_sample *sample);

    /*
     * The row of a resource; UPMU_NO_ROW: it has no register, but still one value at a time.  NULL: CPUs share no
     * resource.
     */
    unsigned (*resource_row)(const struct upmu_pmu *pmu, unsigned resource);

    /* The events that count what other cores or agents do (upmu_register_class.beyond: bits that do).  NULL: none. */
    const struct upmu_beyond *(*beyond)(const struct upmu_pmu *pmu);
};

/* core/event/backends.c: the backends of this build, NULL after the last. */
const struct upmu_backend *upmu_backend(unsigned i);

#if UPMU_FOREIGN || UPMU_BACKEND_PARAVIRT
/* For backends whose events run on any of event->counters, and need nothing else: `alternative` and `resource_name`. */
bool upmu_pmu_any_counter(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                          struct upmu_alternative *out);
const char *upmu_pmu_no_resource(const struct upmu_pmu *pmu, unsigned resource);
#endif

#if UPMU_FOREIGN && UPMU_NAMES
/* `attribute` of backends that know but two, user and kernel: u, usr, k, os. */
enum upmu_status upmu_pmu_mode_attribute(struct upmu_event *event, const char *name, size_t length,
                                         const uint64_t *value);
#endif

#if UPMU_NAMES && (UPMU_BACKEND_X86_CORE || UPMU_BACKEND_X86_P4)
/* `precise` and `p` of `attribute`: `value` is the level; without it, level 1, and each further `p` adds 1. */
enum upmu_status upmu_pmu_level_attribute(struct upmu_event *event, size_t length, const uint64_t *value);
#endif

/* core/event/backends.c: give a PMU its catalogue, or the architectural one. */
void upmu_pmu_find_catalog(struct upmu_pmu *pmu);

#endif
