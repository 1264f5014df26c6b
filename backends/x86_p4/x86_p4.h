/* SPDX-License-Identifier: MIT */
/*
 * The NetBurst backend's functions, file by file. A function that is a member of struct upmu_backend has its contract
 * in core/hw/backend.h. How the PMU works: docs/pentium4.md.
 *
 * The words of an event: config is CCCR << 32 | ESCR of the counted event; config1 is the same for a second ESCR (of an
 * event that tags, that must be programmed as well, or that starts a cascade); config2 is MATRIX_VERT << 32 |
 * PEBS_ENABLE or, with a cascade, may be UPMU_EVENT_AFTER with the initiator's count. ESCRs have the form for
 * hyper-thread 0; an ESCR with a bit of hyper-thread 1 (bits 1:0) is used as it is.
 *
 * A part of the CPU with events (BSU, FSB, FIRM and so on) has two ESCRs: an even one, whose name ends in 0, 2 or 4,
 * and the odd one after it. A side is the set of counters that see even ESCRs, or odd ones.
 */
#ifndef UPMU_X86_P4_H
#define UPMU_X86_P4_H

#include "backends/x86_p4/p4_registers.h"
#include "core/hw/backend.h"

extern const struct upmu_backend upmu_x86_p4_backend;

/* The prefix that FreeBSD puts before the names of events; FreeBSD's enumerators have the prefix PMC_EV_P4_. */
#define UPMU_P4_PREFIX "p4-"

/* upmu_pmu.quirks */
#define UPMU_P4_HT 0x1u        /* two hyper-threads share the PMU */
#define UPMU_P4_EARLY_BUS 0x2u /* signature below F27h: IOQ_allocation counts with FSB_ESCR0 only */

/*
 * Groups of counters: 0 to 3, 4 to 7, 8 to 11, 12 to 17. In the first three the lower two counters see even ESCRs, the
 * other two odd ones; in the last 12, 13 and 16 see even ones, 14, 15 and 17 odd ones.
 */
enum { UPMU_P4_GROUP_BPU, UPMU_P4_GROUP_MS, UPMU_P4_GROUP_FLAME, UPMU_P4_GROUP_IQ, UPMU_P4_GROUPS };

#define UPMU_P4_NO_ESCR 0xffu

/*
 * Resources after those of registers: one for each thread-independent event, which counts for both hyper-threads
 * together. The value of the resource is the hyper-thread that has the event, so that only one can have it at a time.
 */
#define UPMU_P4_RESOURCE_TI 47u
#define UPMU_P4_TI_EVENTS 17u

/*
 * The code of an event in p4_events and in rows of catalogues: event select (bits 5:0), CCCR select (8:6) and counter
 * group (10:9). Group and CCCR select name the two ESCRs of a part of the CPU.
 */
#define UPMU_P4_CODE(group, cccr_select, event_select) ((group) << 9 | (cccr_select) << 6 | (event_select))
#define UPMU_P4_CODE_GROUP(code) ((code) >> 9 & 3u)

/* Fields of upmu_event.payload. Bits 2:0: 1 + the group of config; bits 5:3: 1 + the group of config1, or 0. */
#define UPMU_P4_PAYLOAD_GROUP(payload) (((payload) & 7u) - 1u)
#define UPMU_P4_PAYLOAD_SECOND(payload) (((payload) >> 3 & 7u) - 1u)

/* upmu_event.flags: 1 + the row of the event in p4_events, 0: it is not documented; flags1: the same for config1. */

/* Meanings of the second word of an event (config1). */
enum upmu_p4_second {
    UPMU_P4_ALONE,    /* there is no second word */
    UPMU_P4_PARTNER,  /* value for the other ESCR of the hardware unit that counts the event */
    UPMU_P4_UPSTREAM, /* tags the counted uops: its ESCR needs an enabled counter */
    UPMU_P4_INITIATOR /* it starts a cascade */
};

/* ---- p4_events.c: codes, counters and ESCRs of events, and the meaning of an event's second word ---- */

/*
 * Return the row in p4_events of a word's event, or -1: it is not documented. With `group` UPMU_P4_GROUPS: the first
 * row with this event in any group.
 */
int upmu_p4_find(unsigned group, uint64_t config);

/* Return the UPMU_P4_CODE() of a row of p4_events: `row` is a result of upmu_p4_find() other than -1. */
unsigned upmu_p4_code(unsigned row);

/*
 * Return the counters of a group that can count the event of a word on this PMU; 0: the model does not have the event.
 * `row`: the result of upmu_p4_find().
 */
uint32_t upmu_p4_counters(const struct upmu_pmu *pmu, unsigned group, uint64_t word, int row);

/* Return the number of the even ESCR that the CCCR select of `config` stands for in a group; UPMU_P4_NO_ESCR: none. */
extern const uint8_t upmu_p4_even_escrs[UPMU_P4_GROUPS][8];
static inline unsigned upmu_p4_even_escr(unsigned group, uint64_t config)
{
    return upmu_p4_even_escrs[group][(unsigned)(config >> 45) & 7u];
}

/* Return the counters of a group that see even ESCRs or, with `odd` 1, odd ones. */
extern const uint32_t upmu_p4_sides[2][UPMU_P4_GROUPS];
static inline uint32_t upmu_p4_side(unsigned group, unsigned odd)
{
    return upmu_p4_sides[odd][group];
}

/* Return the word (CCCR << 32 | ESCR) of an event code and a mask, without privileges and with ACTIVE_THREAD 3. */
uint64_t upmu_p4_word(unsigned code, unsigned mask);

/* Return the meaning of the second word of an event. */
enum upmu_p4_second upmu_p4_second(const struct upmu_event *event);

/* ---- p4_detect.c ---- */

bool upmu_p4_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);
bool upmu_p4_describe(const char *name, struct upmu_pmu *out_pmu);
const char *upmu_p4_names(unsigned i);
unsigned upmu_p4_thread(const struct upmu_detection *detection);

/* ---- p4_encode.c ---- */

#if UPMU_NAMES
enum upmu_status upmu_p4_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                   size_t length, const uint64_t *value);
enum upmu_status upmu_p4_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
void upmu_p4_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                    struct upmu_text *out);
#endif
enum upmu_status upmu_p4_finish(const struct upmu_pmu *pmu, struct upmu_event *event);

/* ---- p4_place.c ---- */

bool upmu_p4_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                         struct upmu_alternative *out);
void upmu_p4_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                    const uint8_t *counters, unsigned flags, struct upmu_image *image);
unsigned upmu_p4_resource_row(const struct upmu_pmu *pmu, unsigned resource);

#endif
