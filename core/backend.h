/* SPDX-License-Identifier: MIT */
/*
 * What a CPU family is to the core: pure functions and tables.  A backend renders
 * values and names registers; it never calls a hook and never writes.
 */
#ifndef UPMU_CORE_BACKEND_H
#define UPMU_CORE_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/event.h>
#include <upmu/ibs.h>
#include <upmu/place.h>
#include <upmu/pmu.h>

/*
 * One register value of an image.  `mask` says which bits are meant; the rest of
 * the register stays.  `guard` names the counters whose gate must be closed while
 * it changes.
 */
struct upmu_image_entry {
    uint8_t row;
    bool release; /* given up: ordered by its release rank */
    uint32_t guard;
    uint64_t mask;
    uint64_t value;
};

#define UPMU_IMAGE_ENTRIES 48

/*
 * A constant sequence that an erratum needs before a new event (UPMU_PMU_PRELUDE), run
 * with all gates closed.  Steps to counters and selects of others are left out, and
 * gates of others keep what they are.
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

/* Values for the registers of one PMU. */
struct upmu_image {
    uint8_t count;
    bool overfull; /* an entry found no room: a bug in the backend */
    const struct upmu_prelude *prelude;
    struct upmu_image_entry entry[UPMU_IMAGE_ENTRIES];
};

/* Detection's view of the machine: reads go through the core. */
struct upmu_detection {
    void *context;
    void (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
    /* False: faults, or must not be touched (see upmu_port.msr_faults_are_safe). */
    bool (*rdmsr)(void *context, uint32_t msr, bool promised, uint64_t *out_value);
    uint32_t leaf0[4];
    uint32_t leaf1[4];
    uint16_t family, model;
    uint8_t stepping;
    bool hypervisor;
};

/* A CPUID leaf that detection reads if `bits` is 0, or word `gate` of those before it has one of them. */
struct upmu_leaf {
    uint32_t leaf;
    uint32_t bits;
    uint8_t subleaf;
    uint8_t gate;
};

#define UPMU_LEAF_WORD(place, word) (4u * (place) + (word)) /* EAX to EDX are 0 to 3 */

/* Read leaves up to the highest one that there is, four words each; others are zeros. */
void upmu_detection_read(const struct upmu_detection *detection, uint32_t highest, const struct upmu_leaf *leaf,
                         unsigned count, uint32_t *out_words);

/* Give a PMU what the detection itself says of its CPU; returns true. */
bool upmu_detection_identify(const struct upmu_detection *detection, struct upmu_pmu *pmu);

struct upmu_text;

/* How the handler and the renderer want an event to run. */
#define UPMU_RENDER_INTERRUPT (1u << 0) /* overflow raises the PMI */
#define UPMU_RENDER_THREAD1 (1u << 1)   /* for the second hyper-thread of the core (see `thread`) */

/* struct upmu_row.flags, of an encoder's row alone: see struct upmu_backend.from_row. */
#define UPMU_ROW_OWN_NAME 0x8000u

struct upmu_backend {
    const char *name;

    /* Fill in *pmu for the executing CPU, or false: not mine. */
    bool (*detect)(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);

#if UPMU_NAMES
    /* Fill in *pmu for a model by name; names(i) lists them, NULL after the last. */
    bool (*describe)(const char *name, struct upmu_pmu *out_pmu);
    const char *(*names)(unsigned i);

    /* The catalogue of a PMU that is not called like it, or NULL: there is none, or it is. */
    const char *(*catalog)(const struct upmu_pmu *pmu);

    /* What FreeBSD puts before the names of the catalogue ("p4-"), the last with two NULs; NULL: nothing. */
    const char *prefixes;
    /*
     * Apply one attribute to an event under construction.  `name` is as it was
     * typed, its value's text stands behind it and '='; `value` is NULL if none was
     * given, UINT64_MAX if it is no number.
     * UPMU_ERR_NO_SUCH_ATTRIBUTE, _BAD_VALUE, _CONTRADICTION.
     */
    enum upmu_status (*attribute)(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                  size_t length, const uint64_t *value);
    /*
     * Start an event from a catalogue row with the masks already merged in.  The catalogue is
     * upmu_catalog_of() event->id.  UPMU_ERR_UNSUPPORTED: the PMU has no such event; if it was found
     * by a name that no architectural event has, it is asked for once more, with UPMU_ROW_OWN_NAME.
     */
    enum upmu_status (*from_row)(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
    /*
     * Unit mask bits that a word of a FreeBSD qualifier stands for ("core=all"), and
     * the field they belong to; false: no such qualifier, or (with *out_field set) no
     * such word.  May be NULL.
     */
    bool (*qualifier)(const char *name, size_t name_length, const char *word, size_t length, uint16_t *out_field,
                      uint16_t *out_bits);
    /* Append the attributes that the row (of a raw event: none) does not imply: ":u:c=2". */
    void (*format)(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                   struct upmu_text *out);
#endif
    /*
     * Finish an event: constraints, defaults, validation.  Fills in `counters`,
     * `payload`.  UPMU_ERR_DOES_NOT_FIT, _NOT_PERMITTED, _UNSUPPORTED.
     */
    enum upmu_status (*finish)(const struct upmu_pmu *pmu, struct upmu_event *event);

    /*
     * Which hyper-thread of its core the executing CPU is, 0 or 1, where that matters
     * to the hardware.  NULL: always 0.  May read CPUID only.
     */
    unsigned (*thread)(const struct upmu_detection *detection);

    /*
     * The i-th way to run an event for hyper-thread `thread`, best first.  Of an event
     * with UPMU_ATTR_CASCADE slot 0 is the target, slot 1 the initiator.
     */
    bool (*alternative)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                        struct upmu_alternative *out);

    /* Add the registers of a placed event to an image; the gates are the core's. */
    void (*render)(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                   const uint8_t *counters, unsigned flags, struct upmu_image *image);

    /* Registers that a counter leaves behind idle when it is given up. */
    void (*release)(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image);

    /* Status word to counters, and counters to the acknowledgement. */
    uint32_t (*overflowed)(const struct upmu_pmu *pmu, uint64_t status);
    uint64_t (*acknowledge)(const struct upmu_pmu *pmu, uint32_t counters);

    /* Counters in use by somebody, from the values found at take-over, by row. */
    uint32_t (*claims)(const struct upmu_pmu *pmu, const uint64_t *found);

    /*
     * Counters for which the hardware would write records to memory when they overflow, or
     * that an overflow loads anew, from the same values; `image` not NULL: with the registers
     * that end it, if that can be.  NULL: none.
     */
    uint32_t (*records)(const struct upmu_pmu *pmu, const uint64_t *found, struct upmu_image *image);

    /*
     * The resource that a counter in use by others looks at, by the value of its select
     * register; UPMU_NO_RESOURCE: none.  NULL: no counter looks at any.
     */
    unsigned (*seen_by)(const struct upmu_pmu *pmu, unsigned counter, uint64_t select);

    /* Registers to set once at take-over (freeze bits off), as image entries. */
    void (*take_over)(const struct upmu_pmu *pmu, struct upmu_image *image);

    /* Registers that a payload resource stands for: text for explanations. */
    const char *(*resource_name)(const struct upmu_pmu *pmu, unsigned resource);

    /* Name of a counter: prefix and index. */
    const char *(*counter_prefix)(const struct upmu_pmu *pmu, unsigned counter, unsigned *out_index);

    /*
     * How a sampling unit is driven; false: not with this period.  What a sample needs before
     * it is kept; false: it is dropped.  Where pmu->ibs is not 0.
     */
    bool (*ibs)(const struct upmu_pmu *pmu, const struct upmu_ibs *ibs, struct upmu_ibs_plan *plan);
    bool (*ibs_sample)(const struct upmu_pmu *pmu, struct upmu_ibs_sample *sample);

    /* The row of a resource; UPMU_NO_ROW: no register, but nobody shares it all the same. */
    unsigned (*resource_row)(const struct upmu_pmu *pmu, unsigned resource);
};

/* The backends of this build, NULL after the last. */
const struct upmu_backend *upmu_backend(unsigned i);

/* Give a PMU its catalogue, or the architectural one. */
void upmu_pmu_find_catalog(struct upmu_pmu *pmu);

/* An image without entries. */
static inline void upmu_image_clear(struct upmu_image *image)
{
    image->count = 0;
    image->overfull = false;
    image->prelude = NULL;
}

/* Add a value to an image, merging it with an entry for the same row and counters. */
void upmu_image_add(struct upmu_image *image, unsigned row, uint64_t mask, uint64_t value, uint32_t guard);

#endif
