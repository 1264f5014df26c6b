/* SPDX-License-Identifier: MIT */
/*
 * Parts of precise samples as perf.data has them: where the data was found, and how long that took.  A log has the
 * CPU's own words; their meaning depends on the model, of which the log has the name.
 *
 * Sources: Linux 6.12 arch/x86/events/intel/ds.c (codes of the source, bits of the word), intel/core.c (which model has
 * which), include/uapi/linux/perf_event.h.
 */
#include "core/results/results_core.h"
#include "core/results/perf_precise.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/util/text.h"

#if UPMU_PRECISE

/* Fields of perf_mem_data_src, PERF_MEM_…. */
#define OP_LOAD UINT64_C(2)
#define LEVEL(bits) ((uint64_t)(bits) << 5)
#define SNOOP(bits) ((uint64_t)(bits) << 19)
#define LOCK(bits) ((uint64_t)(bits) << 24)
#define TLB(bits) ((uint64_t)(bits) << 26)
#define NUMBER(number) ((uint64_t)(number) << 33)
#define REMOTE (UINT64_C(1) << 37)
#define FORWARDED (UINT64_C(1) << 38)
#define BLOCK(bits) ((uint64_t)(bits) << 40)
enum { NOT_KNOWN = 1, HIT = 2, MISS = 4, LOCKED = 2, TLB_L1 = 8, TLB_L2 = 0x10, BLOCK_DATA = 2, BLOCK_ADDRESS = 4 };
enum { SNOOP_NONE = 2, SNOOP_HIT = 4, SNOOP_MISS = 8, SNOOP_MODIFIED = 0x10 };
enum { IN_L1 = 8, IN_BUFFER = 0x10, IN_L2 = 0x20, IN_L3 = 0x40, IN_RAM = 0x80, IN_FAR_RAM = 0x100 };
enum { IN_FAR_CACHE = 0x400, IN_IO = 0x1000, IN_UNCACHED = 0x2000 };
enum { N_L1 = 1, N_L2, N_L3, N_L4, N_ANY_CACHE = 0xb, N_BUFFER, N_RAM, N_PERSISTENT, N_NONE };

/* A source of which nothing is known. */
#define NO_SOURCE                                                                                                      \
    (UINT64_C(1) | LEVEL(NOT_KNOWN) | SNOOP(NOT_KNOWN) | LOCK(NOT_KNOWN) | TLB(NOT_KNOWN) | NUMBER(N_NONE) |           \
     BLOCK(NOT_KNOWN))

/* Codes of sources, bits 3:0 of a word: Sandy Bridge to Broadwell.  Other models differ in some. */
static const uint64_t latency_sources[16] = {LEVEL(MISS) | NUMBER(N_L3) | SNOOP(NOT_KNOWN),
                                             LEVEL(HIT | IN_L1) | NUMBER(N_L1) | SNOOP(SNOOP_NONE),
                                             LEVEL(HIT | IN_BUFFER) | NUMBER(N_BUFFER) | SNOOP(SNOOP_NONE),
                                             LEVEL(HIT | IN_L2) | NUMBER(N_L2) | SNOOP(SNOOP_NONE),
                                             LEVEL(HIT | IN_L3) | NUMBER(N_L3) | SNOOP(SNOOP_NONE),
                                             LEVEL(HIT | IN_L3) | NUMBER(N_L3) | SNOOP(SNOOP_MISS),
                                             LEVEL(HIT | IN_L3) | NUMBER(N_L3) | SNOOP(SNOOP_HIT),
                                             LEVEL(HIT | IN_L3) | NUMBER(N_L3) | SNOOP(SNOOP_MODIFIED),
                                             LEVEL(HIT | IN_FAR_CACHE) | REMOTE | NUMBER(N_L3) | SNOOP(SNOOP_HIT),
                                             LEVEL(HIT | IN_FAR_CACHE) | REMOTE | NUMBER(N_L3) | SNOOP(SNOOP_MODIFIED),
                                             LEVEL(HIT | IN_RAM) | NUMBER(N_RAM) | SNOOP(SNOOP_HIT),
                                             LEVEL(HIT | IN_FAR_RAM) | REMOTE | NUMBER(N_L3) | SNOOP(SNOOP_HIT),
                                             LEVEL(HIT | IN_RAM) | NUMBER(N_RAM) | SNOOP(SNOOP_NONE | SNOOP_MISS),
                                             LEVEL(HIT | IN_FAR_RAM) | REMOTE | NUMBER(N_RAM) |
                                                 SNOOP(SNOOP_NONE | SNOOP_MISS),
                                             LEVEL(HIT | IN_IO) | NUMBER(N_NONE) | SNOOP(SNOOP_NONE),
                                             LEVEL(HIT | IN_UNCACHED) | NUMBER(N_NONE) | SNOOP(SNOOP_NONE)};

/* Nehalem and Westmere: codes 5 to 7. */
static const uint64_t latency_sources_nhm[] = {LEVEL(HIT | IN_L3) | NUMBER(N_L3) | SNOOP(SNOOP_HIT),
                                               LEVEL(HIT | IN_L3) | NUMBER(N_L3) | SNOOP(SNOOP_MODIFIED),
                                               LEVEL(HIT | IN_L3) | NUMBER(N_L3) | SNOOP(SNOOP_MODIFIED)};

/* Big cores from Skylake on: codes 8 to 13, without the level's number of 8 and 9.  Code 10 is as before. */
static const uint64_t latency_sources_skl[] = {LEVEL(HIT) | SNOOP(SNOOP_HIT),
                                               LEVEL(HIT) | REMOTE | SNOOP(SNOOP_HIT),
                                               LEVEL(HIT | IN_RAM) | NUMBER(N_RAM) | SNOOP(SNOOP_HIT),
                                               LEVEL(HIT) | REMOTE | NUMBER(N_RAM) | SNOOP(SNOOP_NONE),
                                               LEVEL(HIT) | REMOTE | NUMBER(N_ANY_CACHE) | FORWARDED,
                                               LEVEL(HIT) | REMOTE | NUMBER(N_ANY_CACHE) | SNOOP(SNOOP_MODIFIED)};

/* Traits of a model's words. */
#define CODES_NHM 1u      /* codes 5 to 7 are those of latency_sources_nhm, all others those of latency_sources */
#define CODES_SKL 2u      /* codes 8 to 13 are those of latency_sources_skl, all others those of latency_sources */
#define NO_TLB 4u         /* bits 4 and 5 (TLB, lock) have no meaning */
#define PERSISTENT 8u     /* codes 8 and 9 are persistent memory, otherwise a cache of level 4 */
#define TWO_LATENCIES 16u /* a weight has two latencies, and bits 6 and 7 of a source say what blocked the load */
#define GOLDEN (CODES_SKL | TWO_LATENCIES)

/* Names of the PMUs that have load latency with these words, with 7 characters at most. */
static const struct {
    char pmu[8];
    uint8_t traits;
} latency_models[] = {{"nhm", CODES_NHM | NO_TLB},
                      {"nhm_ex", CODES_NHM | NO_TLB},
                      {"wsm", CODES_NHM},
                      {"wsm_dp", CODES_NHM},
                      {"snb", 0},
                      {"snb_ep", 0},
                      {"ivb", 0},
                      {"ivb_ep", 0},
                      {"hsw", 0},
                      {"hsw_ep", 0},
                      {"bdw", 0},
                      {"bdw_ep", 0},
                      {"skl", CODES_SKL},
                      {"skx", CODES_SKL | PERSISTENT},
                      {"clx", CODES_SKL | PERSISTENT},
                      {"icl", CODES_SKL},
                      {"icx", CODES_SKL | PERSISTENT},
                      {"spr", GOLDEN | PERSISTENT},
                      {"emr", GOLDEN | PERSISTENT},
                      {"gnr", GOLDEN | PERSISTENT},
                      {"adl_glc", GOLDEN}};

/* The event whose samples have a source and a latency: MEM_TRANS_RETIRED.LOAD_LATENCY; that of Nehalem and Westmere. */
#define EVENT_BITS UINT64_C(0xffff)
#define LOAD_LATENCY 0x01cdu
#define LOAD_LATENCY_NHM 0x100bu

#define TRAITS_KNOWN 0x80u

/* Return the traits of an event's model with TRAITS_KNOWN; 0: samples of the event have no source that is known. */
static unsigned source_traits(struct upmu_log_text pmu, uint64_t config)
{
    for (unsigned i = 0; i < sizeof latency_models / sizeof latency_models[0]; i++) {
        unsigned code = latency_models[i].traits & CODES_NHM ? LOAD_LATENCY_NHM : LOAD_LATENCY, length = 0;

        while (latency_models[i].pmu[length])
            length++;
        if (pmu.length == length && !memcmp(pmu.at, latency_models[i].pmu, length))
            return (config & EVENT_BITS) == code ? latency_models[i].traits | TRAITS_KNOWN : 0;
    }
    return 0;
}

static uint64_t find_source(struct upmu_log_text pmu, uint64_t config, uint64_t word)
{
    unsigned traits = source_traits(pmu, config), code = (unsigned)word & 0xfu;
    uint64_t source = OP_LOAD | latency_sources[code];

    if (!(traits & TRAITS_KNOWN))
        return NO_SOURCE;
    if (traits & CODES_NHM && code >= 5 && code <= 7)
        source = OP_LOAD | latency_sources_nhm[code - 5];
    if (traits & CODES_SKL && code >= 8 && code <= 13)
        source = OP_LOAD | latency_sources_skl[code - 8];
    if (traits & CODES_SKL && code >= 8 && code <= 9)
        source |= NUMBER(traits & PERSISTENT ? N_PERSISTENT : N_L4);
    if (traits & NO_TLB)
        return source | TLB(NOT_KNOWN) | LOCK(NOT_KNOWN) | BLOCK(NOT_KNOWN);
    source |= word >> 4 & 1u ? TLB(MISS | TLB_L2) : TLB(HIT | TLB_L1 | TLB_L2);
    source |= word >> 5 & 1u ? LOCK(LOCKED) : 0;
    if (!(traits & TWO_LATENCIES) || !(word & 0xc0u))
        return source | BLOCK(NOT_KNOWN);
    return source | BLOCK(word >> 6 & 1u ? BLOCK_DATA : 0) | BLOCK(word >> 7 & 1u ? BLOCK_ADDRESS : 0);
}

uint64_t upmu_perf_source(const struct upmu_log_event *event, uint64_t word)
{
    return find_source(event->pmu, event->config, word);
}

uint64_t upmu_perf_weight(const struct upmu_log_event *event, uint64_t word)
{
    return source_traits(event->pmu, event->config) & TWO_LATENCIES ? word >> 32 & 0xffffu : (uint32_t)word;
}

/* ---- For a format of the host ---- */

static struct upmu_log_text pmu_name_of(const struct upmu_overflow *overflow)
{
    const char *name = overflow->cpu->meter.pmu->name;

    return (struct upmu_log_text){name, upmu_text_length(name)};
}

static bool has_overflow_part(const struct upmu_overflow *overflow, unsigned part)
{
    return (overflow->flags & UPMU_SAMPLE_PRECISE) && (overflow->parts & part);
}

uint64_t upmu_overflow_data_src(const struct upmu_overflow *overflow)
{
    if (!has_overflow_part(overflow, UPMU_PART_SOURCE))
        return NO_SOURCE;
    return find_source(pmu_name_of(overflow), overflow->set->event[overflow->event].config, overflow->source);
}

uint64_t upmu_overflow_latencies(const struct upmu_overflow *overflow)
{
    uint64_t config = overflow->set ? overflow->set->event[overflow->event].config : 0, word = overflow->weight;
    uint64_t latencies = 0;

    if (has_overflow_part(overflow, UPMU_PART_WEIGHT))
        latencies = source_traits(pmu_name_of(overflow), config) & TWO_LATENCIES
                        ? (word >> 32 & 0xffffu) | (word & 0xffffu) << 32
                        : (uint32_t)word;
    return latencies | (has_overflow_part(overflow, UPMU_PART_RETIRE) ? (uint64_t)overflow->retire << 48 : 0);
}

#endif
