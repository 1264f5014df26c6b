/* SPDX-License-Identifier: MIT */
/*
 * The Intel core backend's functions, file by file; contracts are those of
 * struct upmu_backend in core/hw/backend.h.
 */
#ifndef UPMU_X86_CORE_H
#define UPMU_X86_CORE_H

#include "backends/x86_common/x86_select.h"
#include "core/hw/backend.h"

extern const struct upmu_backend upmu_x86_core_backend;

/* Resources: payload registers, which hold one value at a time, and the slots counter of metrics. */
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
#define UPMU_X86_RESOURCE_SLOTS 10u /* fixed counter 3 counts slots; the resource's value is the privileges */

/* Bits of upmu_event.flags: the resource of the payload, and flags. */
#define UPMU_X86_EVENT_RESOURCE 0x0fu
#define UPMU_X86_EVENT_PLAIN 0x40u    /* before finish(): the event's row does not say that the event can be precise */
#define UPMU_X86_EVENT_BY_UMASK 0x80u  /* the unit mask, not the code, chooses among the offcore registers */

/*
 * The models whose rows of constraints apply: upmu_pmu.variant.  SNX, IVX: the servers
 * of SNB and IVB; GEN, GN5: models without rows of their own.
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

/* Return the bit of upmu_pmu.variant, which stands for the models of a PMU. */
static inline uint64_t upmu_x86_core_rules(const struct upmu_pmu *pmu)
{
    return UINT64_C(1) << (pmu->variant & 63u);
}

/*
 * Bits of upmu_pmu.quirks: errata. If no erratum is named, the source is Linux arch/x86/events/intel/core.c, which
 * names none.
 */
#define UPMU_X86_QUIRK_PRELUDE 0x0100u   /* AAK100, AAP53, BD53: new events count wrong without a sequence */
#define UPMU_X86_QUIRK_EXCLUSIVE 0x0200u /* BJ122, BV98, HSD29: events D0h to D3h disturb the other hyper-thread */
#define UPMU_X86_QUIRK_HSW11 0x0400u     /* HSW11: INST_RETIRED miscounts at periods below 128 */
#define UPMU_X86_QUIRK_BDM55 0x0800u     /* BDM11: the same as HSW11; BDM55: bits 5:0 of a period are ignored */
#define UPMU_X86_QUIRK_LDLAT_AUX 0x1000u /* load latency needs event 03h/82h on a second counter */
#define UPMU_X86_QUIRK_NO_CAP_15 0x2000u /* RPL018: PERF_CAPABILITIES hides PERF_METRICS */
#define UPMU_X86_QUIRK_AAJ80 0x4000u     /* AAJ80: branch-misses by 89h/7Fh */
#define UPMU_X86_QUIRK_TFA 0x8000u       /* microcode takes general counter 3 for TSX_FORCE_ABORT */

/* x86_core_detect.c */
bool upmu_x86_core_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);
bool upmu_x86_core_describe(const char *name, struct upmu_pmu *out_pmu);
const char *upmu_x86_core_names(unsigned i);

/*
 * x86_core_branches.c: give the PMU its branch stack. `features`: leaf 7; `format`: that of PERF_CAPABILITIES, or
 * UPMU_X86_NO_FORMAT. `detection` NULL: the stack is the typical one of the model.
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
 * x86_core_constraints.c. upmu_x86_core_payload() returns the payload register of a select word (UPMU_NO_RESOURCE:
 * none), and the bits that may be set in it. upmu_x86_core_add_payloads() adds the payload registers of a PMU.
 * upmu_x86_core_counters() returns the counters that an event may use, among event->counters if that is not 0; a
 * precise event has no counter if the model has no records of it at its level.
 */
unsigned upmu_x86_core_payload(const struct upmu_pmu *pmu, uint64_t config, uint64_t *out_bits);
void upmu_x86_core_add_payloads(struct upmu_pmu *pmu);
uint32_t upmu_x86_core_counters(const struct upmu_pmu *pmu, const struct upmu_event *event);

/*
 * Precise events. upmu_x86_core_needs_row(): does the model have records only of events that its event file marks?
 * upmu_x86_core_recipe() replaces core cycles, which retire nothing, by the precise event that counts them on this
 * model; false: the event is unchanged.
 */
bool upmu_x86_core_needs_row(const struct upmu_pmu *pmu);
bool upmu_x86_core_recipe(const struct upmu_pmu *pmu, struct upmu_event *event);

#if UPMU_NAMES
/*
 * x86_core_generic.c: translate an event of the architectural catalogue for this PMU. event->counters becomes 0 if the
 * counters of its row do not apply any more. False: the PMU has no such event. event->id names the catalogue, built in
 * or imported. Events of other catalogues belong to their model: an event that CPUID leaves out is refused under an
 * architectural name (UPMU_ROW_OWN_NAME is not set), and under a hypervisor.
 */
bool upmu_x86_core_translate(const struct upmu_pmu *pmu, const struct upmu_row *row, struct upmu_event *event);
#endif

/* x86_core_place.c */
bool upmu_x86_core_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread,
                               unsigned i, struct upmu_alternative *out);
const char *upmu_x86_core_resource_name(const struct upmu_pmu *pmu, unsigned resource);
unsigned upmu_x86_core_resource_row(const struct upmu_pmu *pmu, unsigned resource);

/*
 * Return the select word of an event in one of its alternatives (the offcore code depends on the alternative), and the
 * resource of the alternative's payload.
 */
uint64_t upmu_x86_core_select(const struct upmu_event *event, unsigned alternative);
unsigned upmu_x86_core_resource(const struct upmu_event *event, unsigned alternative);

/* The auxiliary event of load latency (UPMU_X86_QUIRK_LDLAT_AUX), at the same privileges. */
#define UPMU_X86_LDLAT_AUX 0x8203u

/* The bits of a select by which the table of constraints names an event. */
#define UPMU_X86_CODE UINT64_C(0xffff)

#endif
