/* SPDX-License-Identifier: MIT */
/*
 * The Intel core backend's functions, file by file; contracts are those of
 * struct upmu_backend in core/backend.h.
 */
#ifndef UPMU_X86_CORE_H
#define UPMU_X86_CORE_H

#include "core/backend.h"

extern const struct upmu_backend upmu_x86_core_backend;

/* Resources: payload registers that hold one value at a time. */
#define UPMU_X86_RESOURCE_OFFCORE0 0u
#define UPMU_X86_RESOURCE_OFFCORE1 1u
#define UPMU_X86_RESOURCE_LDLAT 2u
#define UPMU_X86_RESOURCE_FRONTEND 3u
#define UPMU_X86_RESOURCES 4u

/* Payload kinds (upmu_event.payload): the number of the resource, but an offcore payload fits either. */
#define UPMU_X86_PAYLOAD_OFFCORE 1u
#define UPMU_X86_PAYLOAD_LDLAT 2u
#define UPMU_X86_PAYLOAD_FRONTEND 3u

/* upmu_pmu.quirks: whose rows of constraints hold; the last for models without rows of their own. */
#define UPMU_X86_RULES_YON 0x01u
#define UPMU_X86_RULES_COR 0x02u
#define UPMU_X86_RULES_NHM 0x04u
#define UPMU_X86_RULES_WSM 0x08u
#define UPMU_X86_RULES_SKL 0x10u
#define UPMU_X86_RULES_ICL 0x20u
#define UPMU_X86_RULES_ARCHITECTURE 0x40u

/* x86_core_detect.c */
bool upmu_x86_core_detect(const struct upmu_detection *detection, struct upmu_pmu *out_pmu);
bool upmu_x86_core_describe(const char *name, struct upmu_pmu *out_pmu);
const char *upmu_x86_core_names(unsigned i);

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
 * x86_core_constraints.c: the payload kind that a select word goes with (0: none);
 * the counters that an event may use, among event->counters if that is not 0;
 * whether CPUID announces an event of the architectural catalogue (codes that it
 * does not announce mean other things; other catalogues know their model).
 */
uint8_t upmu_x86_core_payload(const struct upmu_pmu *pmu, uint64_t config);
uint32_t upmu_x86_core_counters(const struct upmu_pmu *pmu, const struct upmu_event *event);
#if UPMU_NAMES
bool upmu_x86_core_announced(const struct upmu_pmu *pmu, uint64_t config);
#endif

/* x86_core_place.c */
bool upmu_x86_core_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread,
                               unsigned i, struct upmu_alternative *out);
const char *upmu_x86_core_resource_name(const struct upmu_pmu *pmu, unsigned resource);
unsigned upmu_x86_core_resource_row(const struct upmu_pmu *pmu, unsigned resource);

/* Select word of an event in its alternative (the offcore code depends on it), and its payload's resource. */
uint64_t upmu_x86_core_select(const struct upmu_event *event, unsigned alternative);
unsigned upmu_x86_core_resource(const struct upmu_event *event, unsigned alternative);

#endif
