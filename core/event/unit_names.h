/* SPDX-License-Identifier: MIT */
/*
 * How units are spelled, for other core files.
 */
#ifndef UPMU_CORE_UNIT_NAMES_H
#define UPMU_CORE_UNIT_NAMES_H

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

/* Append "imc3", or "l3_0" where the name itself ends in a digit. */
void upmu_unit_spell(struct upmu_text *out, const struct upmu_unit_type *type, unsigned number);

/*
 * The next unit from box `*cursor` on that a path names; false after the last.  Begin with 0.  Without a number it is
 * all boxes of one type on one die.
 */
bool upmu_unit_next(const struct upmu_unit_list *list, const char *path, size_t length, unsigned *cursor,
                    struct upmu_unit_found *out_found);

#else

static inline size_t upmu_unit_spelled(const struct upmu_unit_type *type, const char *text, size_t length,
                                       uint32_t *out_number)
{
    (void)type;
    (void)text;
    (void)length;
    (void)out_number;
    return 0;
}

static inline void upmu_unit_spell(struct upmu_text *out, const struct upmu_unit_type *type, unsigned number)
{
    (void)out;
    (void)type;
    (void)number;
}

#endif

#endif
