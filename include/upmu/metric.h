/* SPDX-License-Identifier: MIT */
/*
 * Derived metrics: values that are computed from counts.  Examples: instructions per cycle, miss rates, the first level
 * of top-down analysis, memory bandwidth.
 *
 * A metric is a formula over events (docs/METRICS.md).  The library has two kinds of formulas: those of Intel's
 * published files, for the models that these files are for, and formulas of generic events, for all models.  The caller
 * decides how the events are counted, and counts them:
 *
 *     while (upmu_metric_next(pmu, "tma", 3, &cursor, &metric) == UPMU_OK)
 *         upmu_formula(metric.formula, &collect, &result, &why);    each event is `unknown`: `collect` lists it
 *     ... count them ...
 *     upmu_formula(metric.formula, &counts, &result, &why);         result.millionths
 *
 * No floating point is used.  UPMU_FORMULAS=0: no function of this header is compiled in.  Without UPMU_NAMES there is
 * no upmu_metric_next(), but upmu_formula().
 */
#ifndef UPMU_METRIC_H
#define UPMU_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Formulas ---- */

/*
 * The most bytes of a formula; and how deeply a formula may be nested: at most 32 values, and at most 32 operators and
 * open brackets, may wait at the same time for the text that follows.
 */
#define UPMU_FORMULA_BYTES 2048u
#define UPMU_FORMULA_DEPTH 32u

/* A word of a formula that stands for a value: an event or a name. */
struct upmu_formula_word {
    const char *text; /* the word's first byte in the formula; not NUL-terminated */
    size_t length;    /* bytes of the word */
    bool event;       /* true: an event's specification, which stood in braces; false: a name: `seconds`, `smt` */
};

/* The value of a word: `value`, or `value` / `divisor` if `divisor` is not 0. */
struct upmu_formula_value {
    uint64_t value;
    uint32_t divisor;          /* 0: none.  For `seconds` give a time in ns and the divisor 1,000,000,000 */
    enum upmu_quality quality; /* upmu_count.quality of an event's count; 0: exact */
    bool unknown;              /* true: there is no value yet; the formula is read only to learn its words */
};

/* The caller's function that gives the values of a formula's words. */
struct upmu_formula_values {
    /*
     * Give the value of a word: fill in `*out_value`, which is all zero before.  The function is not called for words
     * in the part of an `if` that its condition excludes; for a word that occurs twice it is called twice.
     * Returns UPMU_OK, or why there is no value: UPMU_ERR_NO_SUCH_NAME, UPMU_ERR_NO_SUCH_EVENT, ...; upmu_formula()
     * then returns this status, with the word in its `why`.
     * Context: that of upmu_formula().
     */
    enum upmu_status (*value)(void *context, const struct upmu_formula_word *word,
                              struct upmu_formula_value *out_value);
    void *context; /* for `value` */
};

/* The value of a formula. */
struct upmu_formula_result {
    int64_t millionths;        /* the formula's value in millionths, rounded to the nearest integer */
    enum upmu_quality quality; /* UPMU_QUALITY_SCALED if some count was an estimate, else UPMU_QUALITY_EXACT */
    bool unknown;              /* true: some word was unknown; there is no value, but the formula is well-formed */
};

/*
 * Compute a formula.  Numbers have 64 binary digits and a scale: integers below 2^63 are exact, and each operation is
 * wrong by 2^-61 of its result or of its greater operand at most.
 *
 * Returns UPMU_OK, or with the place in why->position and why->word:
 *     UPMU_ERR_FORMULA      the text is not a formula: this word does not fit
 *     UPMU_ERR_NO_SPACE     longer than UPMU_FORMULA_BYTES, or nested deeper than UPMU_FORMULA_DEPTH
 *     UPMU_ERR_DIVISION     the word is a divisor, and its value is 0
 *     UPMU_ERR_NOT_COUNTED  the count of this event is neither exact nor scaled (enum upmu_quality)
 *     UPMU_ERR_BAD_VALUE    the result has 2^63 millionths or more; or a number of the text is, without its point,
 *                           2^64 or more, or has more than 19 digits behind the point
 * and what `values->value` returned.  A refusal leaves `*out_result` all zero.  `why` may be NULL.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_formula(const char *text, const struct upmu_formula_values *values,
                              struct upmu_formula_result *out_result, struct upmu_why *why);

/* ---- Metrics: the formulas of a PMU that the library has, with their names ---- */

/* A metric: a value that is computed by a formula over events, and what it is called.  All texts are constant. */
struct upmu_metric {
    const char *name;    /* "frontend_bound" */
    const char *group;   /* "tma" */
    const char *unit;    /* unit of the value: "%", "MB/s", "" */
    const char *formula; /* over the PMU's events, events of units outside the cores (`imc/NAME`), `seconds`, `smt` */
    bool published;      /* true: from a published file for this model; false: of generic events, for every PMU */
};

/*
 * Find the next metric of a PMU whose name, or whose group's name, is `word` (`length` bytes, in any case of letters);
 * with length 0 each metric of the PMU.  A metric of generic events belongs to each PMU for which no published metric
 * has the same name; it is not checked whether the PMU can count the events.
 *
 * `*cursor` is where to continue; set it to 0 before the first call.
 * Returns UPMU_OK; UPMU_ERR_END after the last metric; UPMU_ERR_NO_SUCH_NAME (the first call finds no metric).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_metric_next(const struct upmu_pmu *pmu, const char *word, size_t length, unsigned *cursor,
                                  struct upmu_metric *out_metric);

#ifdef __cplusplus
}
#endif

#endif
