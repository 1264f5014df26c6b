/* SPDX-License-Identifier: MIT */
/*
 * The interface of a CPU family's backend: pure functions and tables.  A backend computes register values and names
 * registers; it never calls a hook and never writes a register.
 */
#ifndef UPMU_CORE_BACKEND_H
#define UPMU_CORE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/hw/image.h"
#include <upmu/branches.h>
#include <upmu/catalogs.h>
#include <upmu/event.h>
#include <upmu/ibs.h>
#include <upmu/place.h>
#include <upmu/pmu.h>

/*
 * A prelude: a constant sequence of register writes that an erratum needs before a new event (UPMU_PMU_PRELUDE), made
 * while all gates are closed.  Steps for counters and selects of other owners are left out, and the gates of these
 * counters keep their state.
 */
struct upmu_prelude_step {
    uint8_t row;
    uint64_t value;
};

struct upmu_prelude {
    const struct upmu_prelude_step *steps;
    uint8_t step_count;
    uint32_t counters; /* counters that the sequence overwrites */
};

/* The view that detection has of the machine: reads go through the core. */
struct upmu_detection {
    void *context;
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
    /* Read an MSR.  Returns false: the read faulted, or the MSR must not be read (upmu_port.msr_faults_are_safe). */
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

/*
 * A CPUID leaf that detection reads: always where `bits` is 0, else if word `gate` of those read before has one of
 * `bits`.
 */
struct upmu_leaf {
    uint32_t leaf;
    uint32_t bits;
    uint8_t subleaf;
    uint8_t gate;
};

#define UPMU_LEAF_WORD(place, word) (4u * (place) + (word)) /* index of a leaf's word; EAX to EDX are 0 to 3 */

/* Read CPUID leaves, four words each.  A leaf above the highest existing one, or whose gate is closed, gives zeros. */
void upmu_detection_read(const struct upmu_detection *detection, uint32_t highest, const struct upmu_leaf *leaf,
                         unsigned count, uint32_t *out_words);

/* Copy family, model and so on from the detection to the PMU; returns true. */
bool upmu_detection_identify(const struct upmu_detection *detection, struct upmu_pmu *pmu);

/*
 * An event that counts what other cores or agents of the bus do.  A value of one of these registers selects it if
 * (value & mask) == event.
 */
struct upmu_beyond {
    uint8_t row, rows; /* first row, and number of rows; 0 rows: the end of a list */
    uint64_t mask, event;
};

#if UPMU_BRANCHES

/* The form of an entry of a branch stack.  The first eight are Intel's numbers (PERF_CAPABILITIES[5:0]). */
enum upmu_branch_format {
    UPMU_BRANCH_FORMAT_32 = 0,    /* from[63:32] may be the target */
    UPMU_BRANCH_FORMAT_LINEAR = 1,
    UPMU_BRANCH_FORMAT_EFFECTIVE = 2,
    UPMU_BRANCH_FORMAT_FLAGS = 3, /* from[63]: mispredicted */
    UPMU_BRANCH_FORMAT_TSX = 4,   /* in addition from[62]: in a transaction; from[61]: abort */
    UPMU_BRANCH_FORMAT_INFO = 5,  /* all these bits, and cycles, are in a third register */
    UPMU_BRANCH_FORMAT_TIME = 6,  /* from[63]: mispredicted; to[63:48]: cycles */
    UPMU_BRANCH_FORMAT_INFO2 = 7, /* as 5, without transactions */
    UPMU_BRANCH_FORMAT_ARCHITECTURAL,
    UPMU_BRANCH_FORMAT_AMD
};

/* Bits of upmu_pmu.branch_lacks: what an entry of its format leaves out. The first three are as in CPUID 1Ch ECX. */
#define UPMU_BRANCH_LACKS_MISPREDICTED 0x01u
#define UPMU_BRANCH_LACKS_CYCLES 0x02u
#define UPMU_BRANCH_LACKS_TYPE 0x04u
#define UPMU_BRANCH_LACKS_COUNTS 0x08u

/* Bits of upmu_branch_stack.traits. */
#define UPMU_BRANCH_OWN_CONTROL 0x01u   /* nothing else uses the controlling register, which also has the filters */
#define UPMU_BRANCH_SHARED_SELECT 0x02u /* hyper-threads share the register of filters: upmu sets no filter */
#define UPMU_BRANCH_ABORTS_TWICE 0x04u  /* an abort makes two entries, of which the newer one does not say so */

/*
 * The registers of one kind of branch stack.  Entry i has its registers at `from` + i * `step`, `to` + i * `step` and
 * so on.  `filter` has the bits of the register of filters for each of UPMU_BRANCH_USER, _KERNEL, _ANY, ...  With
 * UPMU_BRANCH_OWN_CONTROL such a bit lets branches in.  Else it keeps them out, and the register gets `all` without the
 * bits of what is wanted.
 */
struct upmu_branch_stack {
    uint32_t from, to, info; /* registers of entry 0; info 0: there is none */
    uint32_t top;            /* register with the number of the newest entry; 0: the newest is entry 0 */
    uint32_t control;        /* the register that lets the stack record, by ... */
    uint32_t enable;         /* ... these bits */
    uint32_t kept;           /* bits of `control` that an emergency stop leaves as they were found */
    uint32_t select;         /* register of filters; 0: none of its own */
    uint32_t size;           /* register of the depth, whose write clears all entries; 0: none */
    uint32_t all;
    uint32_t filter[8];
    uint8_t step;
    uint8_t traits;          /* UPMU_BRANCH_OWN_CONTROL and so on */
};

#endif

struct upmu_text;

/* Flags for rendering an event. */
#define UPMU_RENDER_INTERRUPT (1u << 0) /* an overflow requests an interrupt */
#define UPMU_RENDER_THREAD1 (1u << 1)   /* for the second hyper-thread of the core (see `thread`) */

/* Flag of struct upmu_row.flags, used by the encoder alone: see struct upmu_backend.from_row. */
#define UPMU_ROW_OWN_NAME 0x8000u

/*
 * Families of two vendors may have the same number: both have a family 18.  In a catalogue this bit tells them apart.
 */
#define UPMU_VENDOR_AMD 0x80u
#define UPMU_VENDOR_OTHER 0x40u /* no x86: catalogues are found by their names */

struct upmu_backend {
    const char *name;
    uint8_t vendor; /* of the CPUs of this backend, as catalogues have it: 0 (Intel) or UPMU_VENDOR_… */

    /* Fill in *out_pmu for the executing CPU, all but `backend`; false: the CPU is not of this family. */
    bool (*detect)(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);

#if UPMU_NAMES
    /* Fill in *out_pmu for a model by name, all but `backend`; names(i) lists them, NULL after the last. */
    bool (*describe)(const char *name, struct upmu_pmu *out_pmu);
    const char *(*names)(unsigned i);

    /* The name of a PMU's catalogue, or NULL: the PMU has none, or its catalogue has the PMU's own name. */
    const char *(*catalog)(const struct upmu_pmu *pmu);

    /* FreeBSD's prefixes of the names in the catalogue ("p4-"), the last with two NULs; NULL: there are none. */
    const char *prefixes;
    /*
     * Apply one attribute to an event under construction.  `name` is in the caller's text, where '=' and the text of
     * the value follow.  `value` is NULL if no value was given, and UINT64_MAX if the text is no number.  Returns
     * UPMU_OK, UPMU_ERR_NO_SUCH_ATTRIBUTE, _BAD_VALUE or _CONTRADICTION.
     */
    enum upmu_status (*attribute)(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                  size_t length, const uint64_t *value);
    /*
     * Begin an event from a catalogue row, which contains its masks.  The row's catalogue is upmu_catalog_of()
     * event->id.  Returns UPMU_ERR_UNSUPPORTED where the PMU has no such event.  For a name that is no architectural
     * event's, the core then calls once more, with UPMU_ROW_OWN_NAME.
     */
    enum upmu_status (*from_row)(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
    /*
     * Find the unit mask bits of a word of a FreeBSD qualifier ("core=all"), and the field that they belong to.
     * Returns false: there is no such qualifier, or (*out_field is set) the qualifier has no such word.  May be NULL.
     */
    bool (*qualifier)(const char *name, size_t name_length, const char *word, size_t length, uint16_t *out_field,
                      uint16_t *out_bits);
    /* For a backend of units: the name of a kind of box ("imc") by its number in rows of catalogues, or NULL. */
    const char *(*unit_name)(unsigned number);
    /*
     * Append the attributes of an event that its row does not contain, as text: ":u:c=2".  A raw event has no row:
     * NULL.
     */
    void (*format)(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                   struct upmu_text *out);
#endif
    /*
     * Finish an event: check it, set defaults, and fill in `counters` and `payload` by the PMU's constraints.  Returns
     * UPMU_OK, UPMU_ERR_DOES_NOT_FIT, _NOT_PERMITTED, _NOT_PRECISE or _UNSUPPORTED.
     */
    enum upmu_status (*finish)(const struct upmu_pmu *pmu, struct upmu_event *event);

    /*
     * Returns the number of the executing hyper-thread in its core, 0 or 1, or of AMD's core in its node, where the
     * hardware needs it.  May read CPUID alone.  NULL: the number is always 0.
     */
    unsigned (*thread)(const struct upmu_detection *detection);

    /*
     * Describe the i-th way to run an event for hyper-thread `thread`; the best way is the first.  For
     * UPMU_ATTR_CASCADE slot 0 is the target, slot 1 the initiator.  Returns false: there is no i-th way.
     */
    bool (*alternative)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                        struct upmu_alternative *out);

    /* Add the registers of a placed event to an image.  The core sets the gates. */
    void (*render)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                   const uint8_t *counters, unsigned flags, struct upmu_image *image);

    /* The writes that an event of its PMUs may need first (upmu_image.prelude); NULL: none does. */
    const struct upmu_prelude *prelude;

    /* Add the idle values of the registers of counters that are given up. */
    void (*release)(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image);

    /*
     * Convert a status word to counters, and counters to the word that acknowledges their overflows.  NULL: no PMU has
     * such a register.  A PMU with the first one alone has its flags in the selects.
     */
    uint32_t (*overflowed)(const struct upmu_pmu *pmu, uint64_t status);
    uint64_t (*acknowledge)(const struct upmu_pmu *pmu, uint32_t counters);

    /*
     * Returns the bits that say what one counter does, in a register with bits of several counters
     * (upmu_register_class.by_counter).  NULL: there is no such register.
     */
    uint64_t (*bits_of)(const struct upmu_pmu *pmu, unsigned row, unsigned counter);

    /*
     * Returns the counters for which the hardware would write records to memory at an overflow, or which an overflow
     * loads anew, by the values found at take-over (`found`, by row).  If `image` is not NULL, it gets the registers
     * that end this, and traces of branches to memory, where possible.  The function is NULL where there are none.
     */
    uint32_t (*records)(const struct upmu_pmu *pmu, const uint64_t *found, struct upmu_image *image);

    /*
     * Returns the resource that a foreign counter uses, by the value of its select, or UPMU_NO_RESOURCE.  NULL:
     * counters use no resources.
     */
    unsigned (*seen_by)(const struct upmu_pmu *pmu, unsigned counter, uint64_t select);

#if UPMU_UNCORE
    /*
     * Get the value of a unit's resource, by the registers found at take-over (by row).  Returns false: no such
     * resource.
     */
    bool (*filter)(const struct upmu_pmu *pmu, unsigned resource, const uint64_t *found, uint64_t *out_value);
#endif

#if UPMU_FOREIGN
    /*
     * Returns the counters in use, by the values found at take-over (by row).  NULL: upmu_register_class.in_use says
     * it.
     */
    uint32_t (*claims)(const struct upmu_pmu *pmu, const uint64_t *found);
#endif

    /* Add the registers that are set once at take-over, such as freeze bits that are cleared.  NULL: there are none. */
    void (*take_over)(const struct upmu_pmu *pmu, struct upmu_image *image);

    /* Returns the register of a resource, as text for explanations. */
    const char *(*resource_name)(const struct upmu_pmu *pmu, unsigned resource);

    /* Returns the prefix of a counter's name, and in *out_index the number behind it. */
    const char *(*counter_prefix)(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index);

    /*
     * `ibs` plans how a sampling unit is driven; false: not with this period.  `ibs_sample` corrects a sample; false:
     * discard the sample.  Both are needed if pmu->ibs is not 0.
     */
    bool (*ibs)(const struct upmu_pmu *pmu, const struct upmu_ibs *ibs, struct upmu_ibs_plan *plan);
    bool (*ibs_sample)(const struct upmu_pmu *pmu, struct upmu_ibs_sample *sample);

    /*
     * Returns the row of a resource, or UPMU_NO_ROW: the resource has no register, but still one value at a time.
     * NULL: CPUs share no resource.
     */
    unsigned (*resource_row)(const struct upmu_pmu *pmu, unsigned resource);

    /*
     * The list of events that count what other cores or agents do.  Where single bits do so:
     * upmu_register_class.beyond.  NULL: there are none.
     */
    const struct upmu_beyond *(*beyond)(const struct upmu_pmu *pmu);
};

/* core/event/backends.c: the backends of this build, NULL after the last. */
const struct upmu_backend *upmu_backend(unsigned i);

#if UPMU_FOREIGN || UPMU_BACKEND_PARAVIRT
/*
 * Functions `alternative` and `resource_name` for backends whose events run on any of event->counters and need no
 * resource.
 */
bool upmu_pmu_any_counter(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                          struct upmu_alternative *out);
const char *upmu_pmu_no_resource(const struct upmu_pmu *pmu, unsigned resource);
#endif

#if UPMU_FOREIGN && UPMU_NAMES
/* Function `attribute` for backends with two attributes alone, user and kernel: u, usr, k, os. */
enum upmu_status upmu_pmu_mode_attribute(struct upmu_event *event, const char *name, size_t length,
                                         const uint64_t *value);
#endif

#if UPMU_NAMES && (UPMU_BACKEND_X86_CORE || UPMU_BACKEND_X86_P4)
/*
 * Attributes `precise` and `p`, for an `attribute` function.  `value` is the level; NULL: level 1, and each further `p`
 * adds 1.
 */
enum upmu_status upmu_pmu_level_attribute(struct upmu_event *event, size_t length, const uint64_t *value);
#endif

/* core/event/backends.c: give a PMU its catalogue, or the architectural one. */
void upmu_pmu_find_catalog(struct upmu_pmu *pmu);

#endif
