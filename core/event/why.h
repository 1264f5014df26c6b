/* SPDX-License-Identifier: MIT */
/* Functions that fill in struct upmu_why, the details of a refusal. */
#ifndef UPMU_CORE_WHY_H
#define UPMU_CORE_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <upmu/pmu.h>
#include <upmu/status.h>

/* Set *why to all zeros, which means that nothing was refused. `why` may be NULL. */
void upmu_why_clear(struct upmu_why *why);

/*
 * Store a refusal in *why: its status, the PMU that refuses, and the refused word, which is `length` bytes of `text`
 * from `position` on. If `text` is NULL, the refusal has no word. `why` and `pmu` may be NULL. Returns `status`, so
 * that a caller can return the result of this call.
 */
enum upmu_status upmu_why_refuse(struct upmu_why *why, enum upmu_status status, const struct upmu_pmu *pmu,
                                 const char *text, size_t position, size_t length);

/* Is the refused word, which follows the name of an event, so short (1 or 2 letters) that an attribute was meant? */
static inline bool upmu_why_asks_attribute(const struct upmu_why *why)
{
    return (why->status == UPMU_ERR_NO_SUCH_ATTRIBUTE || why->status == UPMU_ERR_NO_SUCH_MASK) && why->length < 3;
}

/*
 * Store in *why that the host has not set a hook, or has not made a call (upmu_cpu_use_records()): the refused word is
 * its name. Returns UPMU_ERR_HOOK_MISSING.
 */
enum upmu_status upmu_why_hook(struct upmu_why *why, const char *name);

/* Do as upmu_why_hook() for machine->why; where UPMU_WHY_TEXT is 0, only return UPMU_ERR_HOOK_MISSING. */
static inline enum upmu_status upmu_why_hook_of(struct upmu_machine *machine, const char *name)
{
    return UPMU_WHY_TEXT ? upmu_why_hook(&machine->why, name) : UPMU_ERR_HOOK_MISSING;
}

#endif
