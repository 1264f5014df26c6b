/* SPDX-License-Identifier: MIT */
/*
 * Filling in struct upmu_why.
 */
#ifndef UPMU_CORE_WHY_H
#define UPMU_CORE_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <upmu/pmu.h>
#include <upmu/status.h>

/* Clear the reason: there was no refusal.  `why` may be NULL. */
void upmu_why_clear(struct upmu_why *why);

/*
 * Store what was refused: `length` bytes of `text` from `position` on (text NULL: the refusal
 * concerns no text).  `why` and `pmu` may be NULL.  Returns `status`, so that a refusal is one
 * line.
 */
enum upmu_status upmu_why_refuse(struct upmu_why *why, enum upmu_status status, const struct upmu_pmu *pmu,
                                 const char *text, size_t position, size_t length);

/* Is the refused word after the name of an event too short for a unit mask? */
static inline bool upmu_why_asks_attribute(const struct upmu_why *why)
{
    return (why->status == UPMU_ERR_NO_SUCH_ATTRIBUTE || why->status == UPMU_ERR_NO_SUCH_MASK) && why->length < 3;
}

/* A hook is missing: its name is stored as the refused word.  Returns UPMU_ERR_HOOK_MISSING. */
enum upmu_status upmu_why_hook(struct upmu_why *why, const char *name);

/* As upmu_why_hook(), for a machine; builds without texts leave it out to save bytes. */
static inline enum upmu_status upmu_why_hook_of(struct upmu_machine *machine, const char *name)
{
    return UPMU_WHY_TEXT ? upmu_why_hook(&machine->why, name) : UPMU_ERR_HOOK_MISSING;
}

#endif
