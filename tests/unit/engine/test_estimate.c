/* SPDX-License-Identifier: MIT */
/*
 * The error of an estimate against its formula in floating point, for slots of all sizes.
 * The class of mistake: an integer sum that overflows, where small numbers hide it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "core/engine/estimate.h"
#include <upmu/upmu.h>

struct slots {
    unsigned times; /* so many of them alike */
    uint64_t ns, counts;
};

#define KINDS 3

/* The square root, by Newton: the test needs no mathematical library. */
static double root(double value)
{
    double guess = value > 1 ? value : 1;

    for (unsigned i = 0; i < 200; i++)
        guess = (guess + value / guess) / 2;
    return guess;
}

/* Three standard errors of the whole, as core/engine/estimate.c explains it. */
static double formula(const struct slots *kinds, double enabled, double *out_running)
{
    double n = 0, c = 0, d = 0, cc = 0, cd = 0, dd = 0, rate, variance;

    for (const struct slots *kind = kinds; kind < kinds + KINDS; kind++) {
        double times = kind->times, ns = (double)kind->ns, counts = (double)kind->counts;

        n += times;
        c += times * counts;
        d += times * ns;
        cc += times * counts * counts;
        cd += times * counts * ns;
        dd += times * ns * ns;
    }
    *out_running = d;
    rate = c / d;
    variance = cc - 2 * rate * cd + rate * rate * dd;
    return 3 * enabled / d * root(n / (n - 1) * variance * (1 - d / enabled));
}

static uint64_t error_of(const struct slots *kinds, uint64_t enabled_ns)
{
    static struct upmu_set set;
    static struct upmu_tally tally;
    static struct upmu_estimate sums;
    struct upmu_count count;

    memset(&set, 0, sizeof set);
    memset(&tally, 0, sizeof tally);
    memset(&sums, 0, sizeof sums);
    set.tally = &tally;
    set.estimate = &sums;
    memset(&count, 0, sizeof count);
    set.count = 1;
    for (const struct slots *kind = kinds; kind < kinds + KINDS; kind++)
        for (unsigned i = 0; i < kind->times; i++) {
            set.duration_ns += kind->ns;
            set.tally[0].total += kind->counts;
            upmu_estimate_turn(&set);
        }
    count.enabled_ns = enabled_ns;
    count.running_ns = set.duration_ns;
    return upmu_estimate_error(&set, &set.tally[0], &count);
}

static void the_error_is_what_its_formula_says(void **state)
{
    static const struct slots cases[][KINDS] = {
        {{100, 1000000, 5000}, {100, 1000000, 7000}, {0, 0, 0}},
        /* One long quiet slot and some busy ones. */
        {{1, UINT64_C(1) << 40, 0}, {4, 1000000, UINT64_C(1) << 31}, {0, 0, 0}},
        {{1, UINT64_C(1) << 34, 1}, {4, 1000, UINT64_C(1) << 29}, {4, 1000, 0}},
        {{1, UINT64_C(1) << 40, 0}, {4, 1000000, (1u << 30) - 1}, {0, 0, 0}},
        /* Many busy ones. */
        {{1, UINT64_C(1) << 50, 0}, {4096, 1000000, (1u << 30) - 1}, {0, 0, 0}},
        {{2048, 1000000, UINT64_C(1) << 30}, {2048, 1000000, UINT64_C(3) << 29}, {0, 0, 0}},
        {{4096, 1000000, UINT64_C(1) << 40}, {4096, 3000000, UINT64_C(1) << 40}, {0, 0, 0}},
        {{2048, 1000000, UINT64_C(1) << 45}, {2048, 1000000, UINT64_C(1) << 46}, {1, UINT64_C(1) << 50, 1}},
        {{3, UINT64_C(1) << 44, 1}, {3, UINT64_C(1) << 20, UINT64_C(1) << 44}, {3, UINT64_C(1) << 30, 1u << 30}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint64_t more = 2; more <= 64; more *= 4) {
            double running, wanted, got;
            uint64_t enabled_ns = 0;

            for (unsigned k = 0; k < KINDS; k++)
                enabled_ns += more * cases[i][k].times * cases[i][k].ns;
            wanted = formula(cases[i], (double)enabled_ns, &running);
            got = (double)error_of(cases[i], enabled_ns);
            if (wanted > 1.8e19)
                wanted = 1.8e19;
            if (got < 0.97 * wanted || got > 1.2 * wanted + 100 * (double)more)
                fail_msg("case %u, enabled %u times: %g instead of %g", i, (unsigned)more, got, wanted);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_is_what_its_formula_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
