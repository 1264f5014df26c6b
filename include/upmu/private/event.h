/* SPDX-License-Identifier: MIT */
/*
 * The structure of an encoded event, which sessions contain (upmu/event.h).
 */
#ifndef UPMU_PRIVATE_EVENT_H
#define UPMU_PRIVATE_EVENT_H

#include <stdint.h>
#include <upmu/status.h>

/*
 * An event of one PMU.  A value: copy it freely.
 */
struct upmu_event {
    struct upmu_event_id id; /* all zero for raw words */
    uint64_t config;         /* select word without gate and interrupt bits */
    uint64_t config1;        /* value for the event's payload register, if `payload` is not 0 */
    uint64_t config2;        /* NetBurst: PEBS_ENABLE and MATRIX_VERT words, or UPMU_EVENT_AFTER + N; else 0 */
    uint32_t counters;       /* counters that catalogue, constraints and pin allow it */
    uint32_t attributes;     /* UPMU_ATTR_…: as given, defaults for os and usr, and what the encoder adds */
    uint8_t pmu;             /* upmu_pmu.index of the PMU that it was encoded for */
    uint8_t payload;         /* backend's number of the payload register's kind, 0: none */
    uint8_t flags;           /* backend's */
    uint8_t flags1;          /* backend's, about config1; of a unit: not 0 where the text had a path (see `unit`) */
    uint8_t pin : 6;         /* with UPMU_ATTR_PIN: number of the only counter that it may have */
    uint8_t world : 2;       /* enum upmu_world that the text named, where the select has no bits for it */
    uint8_t least_log2 : 4;  /* shortest period programmed: 1 << least_log2 (an erratum) */
    uint8_t step_log2 : 4;   /* programmed periods are multiples of 1 << step_log2 */
    /*
     * Of a unit outside the cores: 1 + its number in the text ("imc3/..."); if the text had a path (flags1 is not 0)
     * 1 + the index in upmu_unit_list.unit of the first unit with that path; 0: the text names no unit.
     */
    uint16_t unit;
};

#endif
