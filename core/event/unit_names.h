/* SPDX-License-Identifier: MIT */
/*
 * How units are spelled, for other core files.
 */
#ifndef UPMU_CORE_UNIT_NAMES_H
#define UPMU_CORE_UNIT_NAMES_H

#include <upmu/event.h>
#include <upmu/unit.h>

struct upmu_text;

/* No number was given. */
#define UPMU_UNIT_ALL UINT32_MAX

#if UPMU_UNCORE

/*
 * Bytes at the end of `text`, whole components, that name boxes of a type: imc3, imc_3, imc/3, uncore_imc_3,
 * skx_unc_imc3, or without a number.  0: they do not.
 */
size_t upmu_unit_spelled(const struct upmu_unit_type *type, const char *text, size_t length, uint32_t *out_number);

/*
 * Does the text before an event name boxes of this PMU's type?  `event` has what it says: with a number, `unit` is 1 +
 * that; with a path, 1 + the first unit of the list that has it, and `flags1` twice the bytes of its path that are
 * compared, + 1 if there was no number.
 */
bool upmu_unit_meant(const struct upmu_pmu *pmu, const char *text, size_t length, struct upmu_event *event);

/* Is a box one of those that the text of an event named, with a number or a path? */
bool upmu_unit_is_meant(const struct upmu_unit_list *list, const struct upmu_unit_info *unit,
                        const struct upmu_event *event);

/* Append what the text of an event named: "imc3/", "package1/die0/imc/". */
void upmu_unit_write(struct upmu_text *out, const struct upmu_pmu *pmu, const struct upmu_event *event);

/* Append "imc3", or "l3_0" where the name itself ends in a digit. */
void upmu_unit_spell(struct upmu_text *out, const struct upmu_unit_type *type, unsigned number);

/*
 * The next unit from box `*cursor` on that a path names; false after the last.  Begin with 0.  Without a number it is
 * all boxes of one type on one die.
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
