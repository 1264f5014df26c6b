/* SPDX-License-Identifier: MIT */
/*
 * How units outside the cores are spelled: declarations for other core files.
 */
#ifndef UPMU_CORE_UNIT_NAMES_H
#define UPMU_CORE_UNIT_NAMES_H

#include <upmu/event.h>
#include <upmu/unit.h>

struct upmu_text;

/* The text has no number: all boxes of a type are meant. */
#define UPMU_UNIT_ALL UINT32_MAX

#if UPMU_UNCORE

/*
 * Return how many bytes at the end of `text`, in whole components, name boxes of a type: imc3, imc_3, imc/3,
 * uncore_imc_3, skx_unc_imc3, or a form without a number. 0: the text names no box of the type.
 */
size_t upmu_unit_spelled(const struct upmu_unit_type *type, const char *text, size_t length, uint32_t *out_number);

/*
 * Does the text before an event name boxes of this PMU's type? The answer is stored in `event`. If the text has a
 * number alone, `unit` is that number + 1. If the text has a path, `unit` is 1 + the index of the first unit with that
 * path, and `flags1` is twice the bytes of the path that are compared, + 1 if the text has no number.
 */
bool upmu_unit_meant(const struct upmu_pmu *pmu, const char *text, size_t length, struct upmu_event *event);

/* Is a unit one of the boxes that the text of an event named by number or path? */
bool upmu_unit_is_meant(const struct upmu_unit_list *list, const struct upmu_unit_info *unit,
                        const struct upmu_event *event);

/* Append the boxes that the text of an event named: "imc3/", "package1/die0/imc/". */
void upmu_unit_write(struct upmu_text *out, const struct upmu_pmu *pmu, const struct upmu_event *event);

/* Append a type's name and a number: "imc3", or "l3_0" if the name itself ends in a digit. */
void upmu_unit_spell(struct upmu_text *out, const struct upmu_unit_type *type, unsigned number);

/*
 * Find the next unit, from index `*cursor` on, that a path names; false after the last. Begin with 0. A path without a
 * number finds all boxes of one type on one die as one.
 */
bool upmu_unit_next(const struct upmu_unit_list *list, const char *path, size_t length, unsigned *cursor,
                    struct upmu_unit_found *out_found);

#else

static inline bool upmu_unit_meant(const struct upmu_pmu *pmu, const char *text, size_t length,
                                   struct upmu_event *event)
{
    (void)pmu;
    (void)text;
    (void)length;
    (void)event;
    return false;
}

static inline void upmu_unit_write(struct upmu_text *out, const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    (void)out;
    (void)pmu;
    (void)event;
}

#endif

#endif
