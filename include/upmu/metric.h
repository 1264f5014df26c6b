/* SPDX-License-Identifier: MIT */
/*
 * Derived metrics: what follows from counts.  Instructions per cycle, miss rates, the first level of top-down analysis,
 * memory bandwidth.
 *
 * A metric is a formula over events (docs/METRICS.md).  The library has formulas, from Intel's published files for the
 * models that these are for, and of generic events for all.  Which events are counted, and how, is the caller's part:
 *
 *     while (upmu_metric_next(pmu, "tma", 3, &cursor, &metric) == UPMU_OK)
 *         upmu_formula(metric.formula, &collect, &result, &why);    each event is `unknown`: `collect` lists it
 *     ... count them ...
 *     upmu_formula(metric.formula, &counts, &result, &why);         result.millionths
 *
 * No floating point is used.  UPMU_FORMULAS=0: nothing of it is compiled in.  Without UPMU_NAMES there
 * are no metrics, but formulas.
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

/* Bytes of a formula, at most; and the values, or the signs and open brackets, that may wait for what follows. */
#define UPMU_FORMULA_BYTES 2048u
#define UPMU_FORMULA_DEPTH 32u

/* A word of a formula that stands for a value: a position in the caller's text. */
struct upmu_formula_word {
    const char *text; /* not NUL-terminated */
    size_t length;    /* its bytes */
    bool event;       /* a specification, which stood in braces; else a name: `seconds`, `smt` */
};

/* The value of a word: `value`, or `value` / `divisor`. */
struct upmu_formula_value {
    uint64_t value;
    uint32_t divisor;          /* 0: none.  `seconds` is a time in ns with 1,000,000,000 */
    enum upmu_quality quality; /* of a count, as upmu_set_read() has it; 0: exact */
    bool unknown;              /* there is no value yet: the formula is only looked through for its words */
};

/* Where a formula's values come from: the caller's function. */
struct upmu_formula_values {
    /*
     * Give the value of a word: fill in `*out_value`, which is all zero.  Words in the part of a condition that does
     * not matter are not asked for; a word that occurs twice is asked for twice.
     * Returns UPMU_OK, or why there is none: UPMU_ERR_NO_SUCH_NAME, UPMU_ERR_NO_SUCH_EVENT, ...; the formula is
     * refused with this status, and with the word.
     * Context: that of upmu_formula().
     */
    enum upmu_status (*value)(void *context, const struct upmu_formula_word *word,
                              struct upmu_formula_value *out_value);
    void *context; /* for `value` */
};

/* The value of a formula. */
struct upmu_formula_result {
    int64_t millionths;        /* the value times 1,000,000, rounded to the nearest */
    enum upmu_quality quality; /* UPMU_QUALITY_SCALED: some count was an estimate, and so is this; else exact */
    bool unknown;              /* some word was unknown: there is no value, but the formula is well-formed */
};

/*
 * Compute a formula.  Numbers have 64 binary digits and a scale: integers below 2^63 are exact, and each operation is
 * wrong by 2^-61 of its result or of its greater operand at most.
 *
 * Returns UPMU_OK, or with the place in why->position and why->word:
 *     UPMU_ERR_FORMULA      not a formula: at this word
 *     UPMU_ERR_NO_SPACE     too long, or nested too deeply
 *     UPMU_ERR_DIVISION     the word, a divisor, is 0
 *     UPMU_ERR_NOT_COUNTED  a count that has no value, or only of part of the time
 *     UPMU_ERR_BAD_VALUE    the result has 2^63 millionths or more; or a number of the text is, without its point,
 *                           2^64 or more, or has more than 19 digits behind the point
 * and what `values->value` returned.  A refusal leaves `*out_result` all zero.  `why` may be NULL.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_formula(const char *text, const struct upmu_formula_values *values,
                              struct upmu_formula_result *out_result, struct upmu_why *why);

/* ---- Metrics of a PMU ---- */

/* All texts are constant. */
struct upmu_metric {
    const char *name;    /* "frontend_bound" */
    const char *group;   /* "tma" */
    const char *unit;    /* "%", "MB/s", "" */
    const char *formula; /* of the PMU's events, or of units outside the cores (`imc/NAME`), `seconds` and `smt` */
    bool published;      /* from a published file for this model; else of generic events, for every PMU */
};

/*
 * The next metric of a PMU that a word names: it is the metric's name or its group's, whatever the case; length 0: all.
 * A metric of generic events is there for each PMU that has no other of its name; whether it can be counted is not
 * looked at.
 *
 * `*cursor` is where to continue; begin with 0.
 * Returns UPMU_OK; UPMU_ERR_END after the last one; UPMU_ERR_NO_SUCH_NAME (none).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_metric_next(const struct upmu_pmu *pmu, const char *word, size_t length, unsigned *cursor,
                                  struct upmu_metric *out_metric);

#ifdef __cplusplus
}
#endif

#endif
