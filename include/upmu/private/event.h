/* SPDX-License-Identifier: MIT */
/* The structure of an encoded event (struct upmu_event of upmu/event.h), which a host may copy, and sets contain. */
#ifndef UPMU_PRIVATE_EVENT_H
#define UPMU_PRIVATE_EVENT_H

#include <stdint.h>
#include <upmu/status.h>

/* An event, encoded for one PMU.  Nothing points into it: it may be copied by assignment. */
struct upmu_event {
    struct upmu_event_id id; /* all zero for raw words */
    uint64_t config;         /* value of the select register, without the enable bit and the interrupt bit */
    uint64_t config1;        /* value for the event's payload register, if `payload` is not 0 */
    /* NetBurst: words for PEBS_ENABLE and MATRIX_VERT; of a cascade UPMU_EVENT_AFTER + overflows before it; else 0 */
    uint64_t config2;
    uint32_t counters;       /* mask: counters on which the event may run, by catalogue, constraints and pin */
    /* bits UPMU_ATTR_…: those of the text, os and usr if the text has neither, and those that the encoder adds */
    uint32_t attributes;
    uint8_t pmu;             /* upmu_pmu.index of the PMU for which the event was encoded */
    uint8_t payload;         /* number by which the backend knows which payload register has `config1`; 0: none */
    uint8_t flags;           /* backend's */
    uint8_t flags1;          /* backend's, about config1; of a unit: not 0 where the text had a path (see `unit`) */
    uint8_t pin : 6;         /* with UPMU_ATTR_PIN: number of the only counter on which the event may run */
    /* enum upmu_world: world that an attribute of the text named, on a PMU whose select has no bits for worlds */
    uint8_t world : 2;
    /* by an erratum no period loaded into the counter may be shorter than 1 << least_log2; 0: no limit */
    uint8_t least_log2 : 4;
    uint8_t step_log2 : 4;   /* by an erratum periods loaded into the counter are multiples of 1 << step_log2 */
    /*
     * Of a unit outside the cores: 1 + its number in the text ("imc3/..."); if the text had a path (flags1 is not 0)
     * 1 + the index in upmu_unit_list.unit of the first unit with that path; 0: the text names no unit.
     */
    uint16_t unit;
};

#endif
