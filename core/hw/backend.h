/* SPDX-License-Identifier: MIT */
/*
 * The interface of a backend, which knows the PMUs of one family of CPUs: pure functions and tables.  A backend
 * computes the values of registers and names registers; it never calls a hook and never accesses a register itself.
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
 * A prelude: a constant sequence of register writes that an erratum requires before an event is loaded
 * (UPMU_PMU_PRELUDE), made while the counters that it overwrites are closed.  Steps for the value or select register
 * of a counter that other software uses are left out, and the enable bit of such a counter keeps its state.
 */
struct upmu_prelude_step {
    uint8_t row;
    uint64_t value;
};

struct upmu_prelude {
    const struct upmu_prelude_step *steps;
    uint8_t step_count;
    uint32_t counters; /* mask of the counters that the sequence overwrites */
};

/*
 * The executing CPU, as a backend's detect() sees it: what was read of CPUID already, and functions for further reads.
 * The functions call the host's hooks, which a backend never does itself.
 */
struct upmu_detection {
    void *context;
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
    /*
     * Read an MSR.  `promised`: CPUID or the family says that the MSR exists.  If upmu_port.msr_faults_are_safe is
     * false, only promised MSRs are read, and under a hypervisor none.  Returns false: no read was made, or it faulted.
     */
    bool (*rdmsr)(void *context, uint32_t msr, bool promised, uint64_t *out_value);
    uint32_t leaf0[4];
    uint32_t leaf1[4];
    uint16_t family, model;
    uint8_t stepping;
    bool hypervisor;
#if UPMU_BACKEND_PARAVIRT
    bool page; /* the port has the hooks that a paravirtual PMU needs: hypercall and shared_page */
#endif
};

/*
 * A CPUID leaf in a list for upmu_detection_read().  The leaf is read if `bits` is 0, or if an earlier leaf has shown
 * one of `bits` in word number `gate` (a UPMU_LEAF_WORD(), no enable bit).
 */
struct upmu_leaf {
    uint32_t leaf;
    uint32_t bits;
    uint8_t subleaf;
    uint8_t gate;
};

/* The index in out_words of a word of the list's leaf number `place`; `word` is 0 to 3 for EAX to EDX. */
#define UPMU_LEAF_WORD(place, word) (4u * (place) + (word))

/*
 * Read the `count` CPUID leaves of a list into out_words, four words for each leaf.  A leaf above `highest` (the
 * highest leaf of the CPU), or whose condition does not hold, gives zeros.
 */
void upmu_detection_read(const struct upmu_detection *detection, uint32_t highest, const struct upmu_leaf *leaf,
                         unsigned count, uint32_t *out_words);

/* Copy family, model, stepping and "a hypervisor is present" from the detection to the PMU; always returns true. */
bool upmu_detection_identify(const struct upmu_detection *detection, struct upmu_pmu *pmu);

/*
 * An event that counts what other cores or agents of the bus do.  A value of a register in the rows `row` to
 * `row` + `rows` - 1 selects the event if (value & mask) == event.
 */
struct upmu_beyond {
    uint8_t row, rows; /* first row, and number of rows; 0 rows: the entry is the end of the list */
    uint64_t mask, event;
};

#if UPMU_BRANCHES

/*
 * The form of an entry of a branch stack.  The numbers 0 to 7 are Intel's (PERF_CAPABILITIES[5:0]).  `from` and `to`
 * are the entry's registers for the two ends of the branch; some forms have a third register.
 */
enum upmu_branch_format {
    UPMU_BRANCH_FORMAT_32 = 0,    /* from[31:0]: source; target in from[63:32] or, if that is 0, in to[31:0] */
    UPMU_BRANCH_FORMAT_LINEAR = 1,
    UPMU_BRANCH_FORMAT_EFFECTIVE = 2,
    UPMU_BRANCH_FORMAT_FLAGS = 3, /* from[63]: mispredicted */
    UPMU_BRANCH_FORMAT_TSX = 4,   /* bits 63 and 62 of `from`: mispredicted, in a transaction; bit 61: abort of one */
    UPMU_BRANCH_FORMAT_INFO = 5,  /* the bits of format 4, and cycles, are in a third register */
    UPMU_BRANCH_FORMAT_TIME = 6,  /* from[63]: mispredicted; to[63:48]: cycles */
    UPMU_BRANCH_FORMAT_INFO2 = 7, /* as format 5, without transactions */
    UPMU_BRANCH_FORMAT_ARCHITECTURAL,
    UPMU_BRANCH_FORMAT_AMD
};

/*
 * Bits of upmu_pmu.branch_lacks: facts that the format has, and that entries of this CPU leave out.  The first three
 * have the places of the bits of CPUID 1Ch ECX that say, where set, that entries have these facts.
 */
#define UPMU_BRANCH_LACKS_MISPREDICTED 0x01u
#define UPMU_BRANCH_LACKS_CYCLES 0x02u
#define UPMU_BRANCH_LACKS_TYPE 0x04u
#define UPMU_BRANCH_LACKS_COUNTS 0x08u

/* What a performance interrupt does to a branch stack, where the bit of upmu_pmu.freeze_row is set. */
enum upmu_branch_freeze {
    UPMU_BRANCH_FREEZE_NONE,   /* nothing: there is no such bit */
    UPMU_BRANCH_FREEZE_CLEARS, /* the control register's bit that records is cleared (Intel, versions 2 and 3) */
    UPMU_BRANCH_FREEZE_STATUS  /* status bit 58 is set; the stack records again when that is acknowledged */
};

/* Bits of upmu_branch_stack.traits, by which kinds of branch stacks differ. */
#define UPMU_BRANCH_OWN_CONTROL 0x01u   /* `control` is for branch records alone, and has the filter bits, too */
#define UPMU_BRANCH_SHARED_SELECT 0x02u /* hyper-threads of a core share the register `select`: upmu sets no filter */
#define UPMU_BRANCH_ABORTS_TWICE 0x04u  /* an aborted transaction makes two entries; the newer one has no abort bit */

/*
 * The registers of one kind of branch stack, by their addresses.  Entry i has its registers at `from` + i * `step`,
 * `to` + i * `step` and `info` + i * `step`.  filter[n] has the filter bits for bit n of upmu_branch_filter.record:
 * UPMU_BRANCH_USER, _KERNEL, _ANY, ...  With UPMU_BRANCH_OWN_CONTROL the filter bits are in `control`, and a set bit
 * records branches of its kind.  Else they are in `select`, a set bit excludes branches of its kind, and `select` is
 * written with `all` but without the bits of the wanted kinds.
 */
struct upmu_branch_stack {
    uint32_t from, to, info; /* addresses of the registers of entry 0; info 0: there is no third one */
    /* register with the index of the newest entry; 0: there is none, and the newest entry is number 0 */
    uint32_t top;
    uint32_t control;        /* register with the bits that start recording: ... */
    uint32_t enable;         /* ... these bits */
    uint32_t kept;           /* bits of `control` that an emergency stop writes as the start found them; others get 0 */
    uint32_t select;         /* register that has only filter bits; 0: there is none */
    /* register of the depth of the stack, a write of which clears all entries; 0: there is none */
    uint32_t size;
    uint32_t all;            /* all filter bits of `select` */
    uint32_t filter[8];
    uint8_t step;
    uint8_t traits;          /* bits UPMU_BRANCH_OWN_CONTROL, ... */
};

#endif

struct upmu_text;

/* Flags of upmu_backend.render. */
#define UPMU_RENDER_INTERRUPT (1u << 0) /* let an overflow of the event request an interrupt */
/* upmu_backend.thread did not return 0: on NetBurst the CPU is the second hyper-thread of its core */
#define UPMU_RENDER_THREAD1 (1u << 1)
#define UPMU_RENDER_RECORDS (1u << 2)   /* the event's counter is to store precise records */
#define UPMU_RENDER_PARTS (1u << 3)     /* with UPMU_RENDER_RECORDS: with the parts that the CPU can leave out */

/* Bit of upmu_pmu.record_capabilities: records have the parts that are asked for (PERF_CAPABILITIES, "baseline"). */
#define UPMU_RECORDS_ADAPTIVE (UINT32_C(1) << 14)

/* upmu_pmu.record_capabilities of a CPU that has the register, where it cannot be read: no counter stores records. */
#define UPMU_RECORDS_UNREAD (UINT32_C(1) << 31)

/* Bits of upmu_pmu.traces. */
#define UPMU_TRACES_STORED 1u  /* the CPU can store its branches into memory */
#define UPMU_TRACES_BY_RING 2u /* it can leave out those of ring 0, or those of the others (DS-CPL) */

/*
 * Flag in struct upmu_row.flags of the encoder's copy of a row, in no catalogue: the event's name is not in the
 * architectural catalogue, so it is the model's own name (upmu_backend.from_row).
 */
#define UPMU_ROW_OWN_NAME 0x8000u

/*
 * A bit of upmu_backend.vendor and of the family numbers in catalogues: AMD.  Intel and AMD have families of the same
 * number; each has a family 18.
 */
#define UPMU_VENDOR_AMD 0x80u
#define UPMU_VENDOR_OTHER 0x40u /* neither Intel nor AMD (Arm, RISC-V): catalogues are found by name alone */

struct upmu_backend {
    const char *name;
    uint8_t vendor; /* the vendor of the CPUs that this backend drives: 0 (Intel) or UPMU_VENDOR_… */

    /*
     * Fill in *out_pmu for the executing CPU, all but `backend`, `catalog`, `imported` and `index`.  Returns false: no
     * PMU that this backend knows.
     */
    bool (*detect)(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);

#if UPMU_NAMES
    /*
     * Fill in *out_pmu for a model by name, all but `backend` and `catalog`.  Returns false: the backend knows no such
     * model.  names(i): the name of model i; NULL after the last.
     */
    bool (*describe)(const char *name, struct upmu_pmu *out_pmu);
    const char *(*names)(unsigned i);

    /*
     * Return the name of the catalogue of a PMU's model; NULL: the model has none, or the catalogue is named as the
     * PMU.
     */
    const char *(*catalog)(const struct upmu_pmu *pmu);

    /*
     * Prefixes that FreeBSD puts before names of events ("p4-"): strings one behind the other, and an empty one at the
     * end.  NULL: there are none.
     */
    const char *prefixes;
    /*
     * Apply one attribute of a specification, such as "c=2", to an event that is being encoded.  `value` is NULL if no
     * value was given, and UINT64_MAX if its text is no number: then '=' and this text follow `name` in the caller's
     * text.  Returns UPMU_OK, UPMU_ERR_NO_SUCH_ATTRIBUTE, _BAD_VALUE, _CONTRADICTION, _UNSUPPORTED, or _NOT_PRECISE (no
     * counter of the PMU samples precisely at this level).
     */
    enum upmu_status (*attribute)(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                  size_t length, const uint64_t *value);
    /*
     * Begin an event from a catalogue row, into which the given unit masks are merged already.  The row's catalogue is
     * upmu_catalog_of(pmu, event->id).  Returns UPMU_ERR_UNSUPPORTED where the PMU has no such event.  If the name is
     * not in the architectural catalogue, the core then calls once more, with UPMU_ROW_OWN_NAME in row->flags.
     */
    enum upmu_status (*from_row)(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
    /*
     * Find the unit mask bits of a word of a FreeBSD qualifier ("core=all"), and the field that they belong to.
     * Returns false if there is no such qualifier (then *out_field stays as it was), or if the qualifier has no such
     * word (then *out_field is set).  May be NULL.
     */
    bool (*qualifier)(const char *name, size_t name_length, const char *word, size_t length, uint16_t *out_field,
                      uint16_t *out_bits);
    /*
     * In a backend of units: return the name of a kind of box ("imc") by its number in rows of catalogues; NULL: there
     * is no such number.
     */
    const char *(*unit_name)(unsigned number);
    /*
     * Append, as text, the attributes of an event that its catalogue row does not contain: ":u:c=2".  A raw event has
     * no row: for such an event *row must not be read.
     */
    void (*format)(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                   struct upmu_text *out);
#endif
    /*
     * Finish an event after its attributes: check it, set what was left open to defaults, and fill in `counters` and
     * `payload` by the PMU's constraints.  Returns UPMU_OK, UPMU_ERR_DOES_NOT_FIT (no counter can have the event),
     * _NOT_PERMITTED, _NOT_PRECISE or _UNSUPPORTED.
     */
    enum upmu_status (*finish)(const struct upmu_pmu *pmu, struct upmu_event *event);

    /*
     * Return a number of the executing CPU on which registers or claims depend.  NetBurst: that of the hyper-thread in
     * its core, 0 or 1.  AMD: the APIC id of CPUID leaf 1.  May read CPUID alone.  NULL: the number is always 0.
     */
    unsigned (*thread)(const struct upmu_detection *detection);

    /*
     * Describe the i-th way to run an event on a CPU for which upmu_backend.thread returns `thread`; the best way is
     * the first.  For UPMU_ATTR_CASCADE slot 0 is the target, slot 1 the initiator.  Returns false: there is no i-th
     * way.
     */
    bool (*alternative)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                        struct upmu_alternative *out);

    /*
     * Add the register values of a placed event to an image, without enable bits.  `alternative`: index of the way that
     * the placement chose; `counters`: the counter of each of its slots; `flags`: UPMU_RENDER_….
     */
    void (*render)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                   const uint8_t *counters, unsigned flags, struct upmu_image *image);

    /* The prelude of events for which render sets upmu_image.prelude; NULL: no PMU of this backend has one. */
    const struct upmu_prelude *prelude;

    /* Add to an image the idle values for the registers of `counters`, which the library gives up. */
    void (*release)(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image);

    /*
     * `overflowed` converts a value of the status register to a mask of counters.  `acknowledge` converts a mask of
     * counters to the value that acknowledges their overflows.  NULL: no PMU of this backend has that register.  A PMU
     * with a status register and without one to acknowledge has its overflow flags in the selects.
     */
    uint32_t (*overflowed)(const struct upmu_pmu *pmu, uint64_t status);
    uint64_t (*acknowledge)(const struct upmu_pmu *pmu, uint32_t counters);

    /*
     * Return the bits that one counter has in a register which has bits of several counters
     * (upmu_register_class.by_counter).  NULL: there is no such register.
     */
    uint64_t (*bits_of)(const struct upmu_pmu *pmu, unsigned row, unsigned counter);

    /*
     * Returns the counters at whose overflow the hardware would write a record to memory or load the counter anew, by
     * the values found at take-over (`found`, by row).  If `image` is not NULL, it gets the register values that end
     * this, and that end a trace of branches to memory, where possible.  NULL: no PMU of this backend does so.
     */
    uint32_t (*records)(const struct upmu_pmu *pmu, const uint64_t *found, struct upmu_image *image);

#if UPMU_PRECISE
    /*
     * Returns the value that a counter is to get from the hardware when it has stored a record of its event, so that it
     * counts on as if it had stored none.  Needed if upmu_pmu.record_counters is not 0.
     */
    uint64_t (*value_after_record)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter);

    /*
     * Returns the bits of the register in row upmu_pmu.record_row with which a counter stores records of an event;
     * `event` NULL: all bits that any event may need there.  Needed if upmu_pmu.record_counters is not 0.
     */
    uint64_t (*record_bits)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned counter);
#endif

    /*
     * Returns the resource that a counter of other software uses, by the value of its select, or UPMU_NO_RESOURCE.
     * NULL: counters use no resources.
     */
    unsigned (*seen_by)(const struct upmu_pmu *pmu, unsigned counter, uint64_t select);

#if UPMU_UNCORE
    /*
     * Get the value that a resource of a unit (a filter of its events) had in the registers found at take-over
     * (`found`, by row).  Returns false: the unit has no such resource.
     */
    bool (*filter)(const struct upmu_pmu *pmu, unsigned resource, const uint64_t *found, uint64_t *out_value);
#endif

#if UPMU_FOREIGN
    /*
     * Returns the counters that other software uses, by the values found at take-over (`found`, by row).  NULL:
     * upmu_register_class.in_use says it.
     */
    uint32_t (*claims)(const struct upmu_pmu *pmu, const uint64_t *found);
#endif

    /* Add to an image what take-over sets once, such as freeze bits that are cleared.  NULL: there is nothing. */
    void (*take_over)(const struct upmu_pmu *pmu, struct upmu_image *image);

    /* Returns the name of a resource's register, as text for explanations. */
    const char *(*resource_name)(const struct upmu_pmu *pmu, unsigned resource);

    /* Returns the letters of a counter's name ("PMC" of "PMC3"), and in *out_index the number behind them. */
    const char *(*counter_prefix)(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index);

    /*
     * `ibs` stores in *plan the register writes that drive an IBS unit (fetch or op) as *ibs asks; false: the unit
     * cannot have this period.  `ibs_sample` corrects a sample for errata; false: discard the sample.  Both functions
     * are needed if pmu->ibs is not 0.
     */
    bool (*ibs)(const struct upmu_pmu *pmu, const struct upmu_ibs *ibs, struct upmu_ibs_plan *plan);
    bool (*ibs_sample)(const struct upmu_pmu *pmu, struct upmu_ibs_sample *sample);

    /*
     * Return the row of a resource's register; UPMU_NO_ROW: the resource has none, but still one value at a time.
     * NULL: CPUs share no resource.
     */
    unsigned (*resource_row)(const struct upmu_pmu *pmu, unsigned resource);

    /*
     * Returns the PMU's list of events that count what other cores or agents do.  Where a single bit of a register
     * says so, upmu_register_class.beyond has the bit, and the list has no entry.  NULL: there is no list.
     */
    const struct upmu_beyond *(*beyond)(const struct upmu_pmu *pmu);
};

/* core/event/backends.c: returns backend number i of this build; NULL after the last. */
const struct upmu_backend *upmu_backend(unsigned i);

#if UPMU_FOREIGN || UPMU_BACKEND_PARAVIRT
/*
 * Functions for upmu_backend.alternative and upmu_backend.resource_name, if events run on any of event->counters and
 * need no resource.
 */
bool upmu_pmu_any_counter(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                          struct upmu_alternative *out);
const char *upmu_pmu_no_resource(const struct upmu_pmu *pmu, unsigned resource);
#endif

#if UPMU_FOREIGN && UPMU_NAMES
/* A function for upmu_backend.attribute, if the only attributes are user mode (u, usr) and kernel mode (k, os). */
enum upmu_status upmu_pmu_mode_attribute(struct upmu_event *event, const char *name, size_t length,
                                         const uint64_t *value);
#endif

#if UPMU_NAMES && (UPMU_BACKEND_X86_CORE || UPMU_BACKEND_X86_P4)
/*
 * Apply the attributes `precise` and `p` for a backend's `attribute` function; `length` is the length of the name.
 * `value` is the level.  NULL: each `p` adds 1 to the level, and `precise` makes level 0 level 1.
 */
enum upmu_status upmu_pmu_level_attribute(struct upmu_event *event, size_t length, const uint64_t *value);
#endif

/*
 * core/event/backends.c: store in pmu->catalog the catalogue of its model; else the architectural one of x86, unless
 * the PMU is of Arm or RISC-V; else NULL.
 */
void upmu_pmu_find_catalog(struct upmu_pmu *pmu);

#endif
