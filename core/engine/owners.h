/* SPDX-License-Identifier: MIT */
/*
 * The owners of counters, each used by a session, the host, the firmware, other software, or nothing: declarations for
 * other core files.
 */
#ifndef UPMU_CORE_OWNERS_H
#define UPMU_CORE_OWNERS_H

#include <upmu/pmu.h>

#if UPMU_FIRMWARE

/*
 * At take-over: find the counters that the firmware or a former kernel uses (meter->firmware): sessions may not have
 * them.
 */
void upmu_owners_find(struct upmu_meter *meter);

/*
 * Find counters that the hardware reports as in use, though upmu left them idle, and make them foreign: other software
 * began to use them.
 */
void upmu_owners_notice(struct upmu_meter *meter);

/* Make counters foreign: other software uses them, and may change their registers from now on. */
void upmu_owners_yield(struct upmu_meter *meter, uint32_t counters);

/* Let counters be the firmware's or foreign no more: the library is clearing their registers, or has stopped them. */
void upmu_owners_free(struct upmu_meter *meter, uint32_t counters);

#else

/* No counter has another owner than the library: what is found in use is stopped at take-over. */
static inline void upmu_owners_find(struct upmu_meter *meter)
{
    (void)meter;
}

static inline void upmu_owners_notice(struct upmu_meter *meter)
{
    (void)meter;
}

static inline void upmu_owners_yield(struct upmu_meter *meter, uint32_t counters)
{
    (void)meter;
    (void)counters;
}

static inline void upmu_owners_free(struct upmu_meter *meter, uint32_t counters)
{
    (void)meter;
    (void)counters;
}

#endif

#endif
