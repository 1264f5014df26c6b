/* SPDX-License-Identifier: MIT */
/*
 * The AMD backend's functions, K7 to Zen, file by file.  A function that is a member of struct upmu_backend has its
 * contract in core/hw/backend.h.  How the PMU works: docs/amd.md.
 *
 * The select word of an event (upmu_event.config) is the value of its select register, PERF_CTLn, without the enable
 * bit and the interrupt bit.
 */
#ifndef UPMU_AMD_K8_H
#define UPMU_AMD_K8_H

#include "core/hw/backend.h"

extern const struct upmu_backend upmu_amd_k8_backend;

/* Prefixes that FreeBSD puts before the names of events (upmu_backend.prefixes). */
#define UPMU_AMD_PREFIXES "k8-\0k7-\0pmc_ev_k8_\0pmc_ev_k7_\0"

/*
 * The resource that stands for the northbridge of a node. Only one core of a node may count northbridge events: the
 * event claims the resource with the initial APIC id of its core as the value, so that another core cannot claim it.
 */
#define UPMU_AMD_RESOURCE_NB 0u

/* Value of upmu_event.payload for a northbridge event that a core counter counts (UPMU_AMD_NB_SHARED). */
#define UPMU_AMD_PAYLOAD_NB 1u

/* Bits of upmu_pmu.quirks, from bit 8 on. upmu_pmu.variant is the index in amd_models (amd_models.h). */
#define UPMU_AMD_GROUPS 0x0100u    /* family 15h: some groups of events can use some counters only (amd_groups) */
#define UPMU_AMD_NB_SHARED 0x0200u /* core counters count northbridge events, of the whole node */
#define UPMU_AMD_NB_APART 0x0400u  /* only counters of the northbridge itself count its events */
#define UPMU_AMD_PAIRS 0x0800u     /* event 003h needs two counters: an even one and the odd one after it */
#define UPMU_AMD_1292 0x1000u      /* erratum 1292: retire events may overcount: see AMD_GOOD_COUNTER */
/* K8 revision E with several cores: any write of a select clears the counts of northbridge events */
#define UPMU_AMD_NB_RESET 0x2000u
#define UPMU_AMD_SVME 0x4000u      /* EFER.SVME was set at detection: a select with HostOnly counts */

/*
 * Event 003h, which needs two counters where the PMU has UPMU_AMD_PAIRS: the odd counter of the two gets the select
 * word UPMU_AMD_MERGE, the merge event.
 */
#define UPMU_AMD_WIDE_CODE 0x003u
#define UPMU_AMD_MERGE UINT64_C(0xf000000ff)

/*
 * Return the 12-bit event code of a select word, whose bits 11:8 the word has at bits 35:32; upmu_amd_word() returns
 * the bits of the select word for a code.
 */
static inline unsigned upmu_amd_code(uint64_t config)
{
    return ((unsigned)config & 0xffu) | ((unsigned)(config >> 24) & 0xf00u);
}

static inline uint64_t upmu_amd_word(unsigned code)
{
    return (code & 0xffu) | (uint64_t)(code >> 8 & 0xfu) << 32;
}

/*
 * Bits that are set in the code of each northbridge event (E0h to FFh, 1E0h to 1FFh and so on), on families that have
 * them.
 */
#define UPMU_AMD_NB_CODES 0xe0u
static inline bool upmu_amd_is_nb(unsigned code)
{
    return (code & UPMU_AMD_NB_CODES) == UPMU_AMD_NB_CODES;
}

/* ---- amd_detect.c ---- */

bool upmu_amd_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);
bool upmu_amd_describe(const char *name, struct upmu_pmu *out_pmu);
const char *upmu_amd_names(unsigned i);
unsigned upmu_amd_thread(const struct upmu_detection *detection);

/*
 * Return the name of the catalogue of a PMU's model; "": the model is unknown. The PMU then has the catalogue
 * "ix86arch", whose events upmu_amd_from_row() translates.
 */
const char *upmu_amd_catalog(const struct upmu_pmu *pmu);

/*
 * Return the number of the CPU's revision in its catalogue: 0 to 5 for revisions B to G of K8, 0 to 2 for B to D of
 * family 10h. Other catalogues have no revisions: 0.
 */
unsigned upmu_amd_revision(const struct upmu_pmu *pmu);

/* Columns of amd_generic (amd_encode.c): generations with the same codes for the architectural events. */
enum {
    UPMU_AMD_GENERIC_NONE,
    UPMU_AMD_GENERIC_K7, /* no events of an L2 */
    UPMU_AMD_GENERIC_K8, /* to family 16h */
    UPMU_AMD_GENERIC_ZEN1,
    UPMU_AMD_GENERIC_ZEN2,
    UPMU_AMD_GENERIC_ZEN4
};
unsigned upmu_amd_generic(const struct upmu_pmu *pmu);

/* ---- amd_encode.c ---- */

#if UPMU_NAMES
enum upmu_status upmu_amd_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                    size_t length, const uint64_t *value);
enum upmu_status upmu_amd_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
bool upmu_amd_qualifier(const char *name, size_t name_length, const char *word, size_t length, uint16_t *out_field,
                        uint16_t *out_bits);
void upmu_amd_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                     struct upmu_text *out);
#endif
enum upmu_status upmu_amd_finish(const struct upmu_pmu *pmu, struct upmu_event *event);

/* ---- amd_place.c ---- */

/* Return the counters that can count the event of a select word; 0: no counter can. */
uint32_t upmu_amd_counters(const struct upmu_pmu *pmu, uint64_t config);

/* Does erratum 1292 apply: the PMU has it (UPMU_AMD_1292), and it lists the event code of the select word `config`? */
bool upmu_amd_overcounts(const struct upmu_pmu *pmu, uint64_t config);

bool upmu_amd_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                          struct upmu_alternative *out);
void upmu_amd_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                     const uint8_t *counters, unsigned flags, struct upmu_image *image);

/* ---- amd_branches.c ---- */

/*
 * Set the fields of a PMU for branch records, or, where it has none, the reason (upmu_pmu.no_branches). `features_8` is
 * EBX of CPUID leaf 8000_0008h; `performance` are EAX to EDX of leaf 8000_0022h.
 */
void upmu_amd_branches(uint32_t features_8, const uint32_t performance[4], struct upmu_pmu *pmu);

/* ---- amd_ibs.c ---- */

bool upmu_amd_ibs(const struct upmu_pmu *pmu, const struct upmu_ibs *ibs, struct upmu_ibs_plan *plan);
bool upmu_amd_ibs_sample(const struct upmu_pmu *pmu, struct upmu_ibs_sample *sample);

#endif
