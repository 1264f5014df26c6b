/* SPDX-License-Identifier: MIT */
/* How units outside the cores are named in texts: declarations for other core files. */
#ifndef UPMU_CORE_UNIT_NAMES_H
#define UPMU_CORE_UNIT_NAMES_H

#include <upmu/event.h>
#include <upmu/unit.h>

struct upmu_text;

/* In place of the number of a box: the text has no number and means all boxes of a type. */
#define UPMU_UNIT_ALL UINT32_MAX

#if UPMU_UNCORE

/*
 * Return how many bytes at the end of `text`, in whole components of the path, name boxes of a type: imc3, imc_3,
 * imc/3, uncore_imc_3, skx_unc_imc3, or a form without a number. 0: the text names no box of the type. *out_number: the
 * number, or UPMU_UNIT_ALL.
 */
size_t upmu_unit_spelled(const struct upmu_unit_type *type, const char *text, size_t length, uint32_t *out_number);

/*
 * Does the text before an event's name ("package1/die0/imc3") name boxes of this PMU's type? Which ones is stored in
 * event->unit and event->flags1. Type alone: nothing is stored. Type and number: `unit` is 1 + the number, and `flags1`
 * is 0. With a path before the type: `unit` is 1 + the index in the PMU's list of the first unit with that path, and
 * `flags1` is twice the bytes of the path that upmu_unit_is_meant() compares, + 1 if the text has no number.
 */
bool upmu_unit_meant(const struct upmu_pmu *pmu, const char *text, size_t length, struct upmu_event *event);

/* Is a unit of the list one of the boxes that the text of an event named by number or path? */
bool upmu_unit_is_meant(const struct upmu_unit_list *list, const struct upmu_unit_info *unit,
                        const struct upmu_event *event);

/* Append the path or number of the boxes that the text of an event named: "imc3/", "package1/die0/imc/". */
void upmu_unit_write(struct upmu_text *out, const struct upmu_pmu *pmu, const struct upmu_event *event);

/* Append a type's name and the number of a box: "imc3", or "l3_0" if the type's name ends in a digit. */
void upmu_unit_spell(struct upmu_text *out, const struct upmu_unit_type *type, unsigned number);

/*
 * Find the next unit in the list, from index `*cursor` on, that a path names, and move the cursor behind it; false: no
 * unit is left. Begin with 0. With a path that has no number, boxes of one type that stand side by side, and that a CPU
 * can drive as one (on one die and last-level cache), are one result: out_found->unit is the first of them,
 * out_found->boxes their number.
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
