/* SPDX-License-Identifier: MIT */
/*
 * The Intel core backend's functions, file by file.  A function that is a member of struct upmu_backend has its
 * contract in core/hw/backend.h.
 */
#ifndef UPMU_X86_CORE_H
#define UPMU_X86_CORE_H

#include "backends/x86_common/x86_select.h"
#include "core/hw/backend.h"

extern const struct upmu_backend upmu_x86_core_backend;

/*
 * Exclusive resources of the placement search: payload registers, which hold one value at a time, and the counter of
 * slots. The first ones have the order of the rows from UPMU_X86_ROW_OFFCORE on.
 */
#define UPMU_X86_RESOURCE_OFFCORE0 0u
#define UPMU_X86_RESOURCE_OFFCORE1 1u
#define UPMU_X86_RESOURCE_LDLAT 2u
#define UPMU_X86_RESOURCE_FRONTEND 3u
#define UPMU_X86_RESOURCE_SNOOP0 4u
#define UPMU_X86_RESOURCE_SNOOP1 5u
#define UPMU_X86_RESOURCE_OMR0 6u
#define UPMU_X86_RESOURCE_OMR1 7u
#define UPMU_X86_RESOURCE_OMR2 8u
#define UPMU_X86_RESOURCE_OMR3 9u
#define UPMU_X86_PAYLOADS 10u
#define UPMU_X86_RESOURCE_SLOTS 10u /* fixed counter 3; the resource's value: the USR and OS bits */

/* Bits of upmu_event.flags. Bits 3:0 are the resource of the payload (UPMU_X86_RESOURCE_…). */
#define UPMU_X86_EVENT_RESOURCE 0x0fu
#define UPMU_X86_EVENT_PLAIN 0x40u    /* only before finish(): the event's catalogue row lacks UPMU_ROW_PRECISE */
#define UPMU_X86_EVENT_BY_UMASK 0x80u  /* Atoms: the unit mask (1, 2), not the code, tells the offcore register */

/*
 * Values of upmu_pmu.variant: the models that rows of x86_core_rules.h are for.  SNX, IVX: the servers of SNB and IVB;
 * GEN, GN5: unknown models, with a version below 5 and from 5 on.
 */
enum {
    UPMU_X86_RULES_P6,
    UPMU_X86_RULES_YON,
    UPMU_X86_RULES_COR,
    UPMU_X86_RULES_BNL,
    UPMU_X86_RULES_NHM,
    UPMU_X86_RULES_WSM,
    UPMU_X86_RULES_SNB,
    UPMU_X86_RULES_SNX,
    UPMU_X86_RULES_IVB,
    UPMU_X86_RULES_IVX,
    UPMU_X86_RULES_HSW,
    UPMU_X86_RULES_BDW,
    UPMU_X86_RULES_SKL,
    UPMU_X86_RULES_ICL,
    UPMU_X86_RULES_GLC,
    UPMU_X86_RULES_RWC,
    UPMU_X86_RULES_LNC,
    UPMU_X86_RULES_CGC,
    UPMU_X86_RULES_PTC,
    UPMU_X86_RULES_CYC,
    UPMU_X86_RULES_SLM,
    UPMU_X86_RULES_GLM,
    UPMU_X86_RULES_GLP,
    UPMU_X86_RULES_TNT,
    UPMU_X86_RULES_GRT,
    UPMU_X86_RULES_CMT,
    UPMU_X86_RULES_SKT,
    UPMU_X86_RULES_DKT,
    UPMU_X86_RULES_AWF,
    UPMU_X86_RULES_KNL,
    UPMU_X86_RULES_GEN,
    UPMU_X86_RULES_GN5,
    UPMU_X86_RULE_SETS
};
_Static_assert(UPMU_X86_RULE_SETS <= 64, "a rule set is a bit of 64");

/* Return the bit of a PMU's model (upmu_pmu.variant) in masks of models. */
static inline uint64_t upmu_x86_core_rules(const struct upmu_pmu *pmu)
{
    return UINT64_C(1) << (pmu->variant & 63u);
}

/*
 * Bits of upmu_pmu.quirks, from bit 8 on: errata of the CPU. Where no erratum has a name here, the source is Linux
 * arch/x86/events/intel/core.c, which gives no name either.
 */
#define UPMU_X86_QUIRK_PRELUDE 0x0100u   /* AAK100, AAP53, BD53: new events need the prelude */
#define UPMU_X86_QUIRK_EXCLUSIVE 0x0200u /* BJ122, BV98, HSD29: D0h to D3h disturb counts of the other hyper-thread */
#define UPMU_X86_QUIRK_HSW11 0x0400u     /* HSW11: INST_RETIRED (C0h/01h) miscounts at periods below 128 */
#define UPMU_X86_QUIRK_BDM55 0x0800u     /* BDM11: as HSW11; BDM55: bits 5:0 of a period of C0h/01h are ignored */
#define UPMU_X86_QUIRK_LDLAT_AUX 0x1000u /* a load latency event needs event 03h/82h on a second counter */
#define UPMU_X86_QUIRK_NO_CAP_15 0x2000u /* RPL018: bit 15 of PERF_CAPABILITIES is 0, but PERF_METRICS exists */
#define UPMU_X86_QUIRK_AAJ80 0x4000u     /* AAJ80: 89h/7Fh, not C5h/00h, counts branch-misses */
#define UPMU_X86_QUIRK_TFA 0x8000u       /* microcode uses general counter 3 (TSX_FORCE_ABORT); upmu does not */

/* x86_core_detect.c */
bool upmu_x86_core_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);
bool upmu_x86_core_describe(const char *name, struct upmu_pmu *out_pmu);
const char *upmu_x86_core_names(unsigned i);

/*
 * x86_core_branches.c: set the fields of a PMU for branch records, or, where it has none, the reason
 * (upmu_pmu.no_branches). `features`: EAX to EDX of leaf 7; `format`: PERF_CAPABILITIES[5:0], or UPMU_X86_NO_FORMAT.
 * `detection` NULL: the stack is the typical one of the model; `features` and `format` are not read.
 */
#define UPMU_X86_NO_FORMAT 0xffu
void upmu_x86_core_branches(const struct upmu_detection *detection, const uint32_t features[4], unsigned format,
                            struct upmu_pmu *pmu);

/* x86_core_encode.c */
#if UPMU_NAMES
enum upmu_status upmu_x86_core_attribute(const struct upmu_pmu *pmu, struct upmu_event *event, const char *name,
                                         size_t length, const uint64_t *value);
enum upmu_status upmu_x86_core_from_row(const struct upmu_pmu *pmu, const struct upmu_row *row,
                                        struct upmu_event *event);
bool upmu_x86_core_qualifier(const char *name, size_t name_length, const char *word, size_t length,
                             uint16_t *out_field, uint16_t *out_bits);
void upmu_x86_core_format(const struct upmu_pmu *pmu, const struct upmu_event *event, const struct upmu_row *row,
                          struct upmu_text *out);
#endif
enum upmu_status upmu_x86_core_finish(const struct upmu_pmu *pmu, struct upmu_event *event);

/*
 * x86_core_constraints.c. upmu_x86_core_payload() returns the resource of the payload register that a select word needs
 * (UPMU_NO_RESOURCE: none), and in *out_bits the bits that this register may have. upmu_x86_core_add_payloads() marks
 * the payload registers of the PMU's model as present.
 *
 * upmu_x86_core_counters() returns the counters that an event may use; 0: none. event->counters, if not 0, are the
 * counters that the catalogue's row allows: other general counters are left out, unless no counter would remain. A
 * precise event has no counter if the model has no records of it at its level.
 */
unsigned upmu_x86_core_payload(const struct upmu_pmu *pmu, uint64_t config, uint64_t *out_bits);
void upmu_x86_core_add_payloads(struct upmu_pmu *pmu);
uint32_t upmu_x86_core_counters(const struct upmu_pmu *pmu, const struct upmu_event *event);

/*
 * Precise events. upmu_x86_core_needs_row(): does the model have records only of events that its event file marks?
 * upmu_x86_core_recipe(): core cycles retire nothing, so a precise event that asks for them is changed to one that
 * retires and counts cycles on this model. Returns false: the event is unchanged.
 */
bool upmu_x86_core_needs_row(const struct upmu_pmu *pmu);
bool upmu_x86_core_recipe(const struct upmu_pmu *pmu, struct upmu_event *event);

#if UPMU_PRECISE
/*
 * upmu_x86_core_shadowless() returns the counters without a shadow for any event: their record is that of the event
 * that overflows the counter. These are fixed counter 0; general counter 0 on Goldmont Plus, Tremont, and from Golden
 * Cove and Gracemont on; general counter 1 of E-cores from Crestmont on (Linux arch/x86/events/intel/core.c glp_, tnt_,
 * cmt_, glc_ and icl_get_event_constraints). upmu_x86_core_limit_records() sets what records demand or lack, when the
 * other fields about records are set.
 */
uint32_t upmu_x86_core_shadowless(const struct upmu_pmu *pmu);
void upmu_x86_core_limit_records(struct upmu_pmu *pmu);
#endif

#if UPMU_NAMES
/*
 * x86_core_generic.c: translate event->config, made from a catalogue's row, to the select word that this PMU has for
 * the event. Returns false: the PMU has no such event. If the word changes, event->counters becomes 0, because the
 * row's counters are not those of the new word.
 *
 * Events of the architectural catalogue (event->id) have translations by model. Events of another catalogue are the
 * model's own: one that CPUID reports as absent is accepted only if its name is no architectural event's
 * (UPMU_ROW_OWN_NAME) and there is no hypervisor. An event with code 00h always needs its fixed counter, or its byte of
 * PERF_METRICS.
 */
bool upmu_x86_core_translate(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
#endif

/* x86_core_place.c */
bool upmu_x86_core_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread,
                               unsigned i, struct upmu_alternative *out);
const char *upmu_x86_core_resource_name(const struct upmu_pmu *pmu, unsigned resource);
unsigned upmu_x86_core_resource_row(const struct upmu_pmu *pmu, unsigned resource);

/*
 * Return the select word of an event in its alternative of this index: the alternatives of an offcore event have
 * different codes or unit masks. upmu_x86_core_resource() returns the resource of this alternative's payload register.
 */
uint64_t upmu_x86_core_select(const struct upmu_event *event, unsigned alternative);
unsigned upmu_x86_core_resource(const struct upmu_event *event, unsigned alternative);

/*
 * Unit mask and code of the auxiliary event of load latency (UPMU_X86_QUIRK_LDLAT_AUX), which counts at the privileges
 * of the load latency event.
 */
#define UPMU_X86_LDLAT_AUX 0x8203u

/* Unit mask and code of a select: by these bits constraints name an event. */
#define UPMU_X86_CODE UINT64_C(0xffff)

#endif
