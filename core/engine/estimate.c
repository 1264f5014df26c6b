/* SPDX-License-Identifier: MIT */
/*
 * The error of an estimate: three standard errors of the rate in the runs that were seen,
 * with the finite-population factor.  A turn is one run of a set.
 *
 * With c and d the count and the time of a turn and R = sum c / sum d, the residuals
 * c - R d have the sum of squares  V = sum c² - 2 R sum cd + R² sum d²;  the standard
 * error of the whole is  enabled / running * sqrt(n / (n - 1) * V * (1 - running / enabled)).
 * Sums are kept of values shifted right by `scale`, which grows so that none overflows.
 */
#include "core/engine/estimate.h"
#include "core/util/apart.h"
#include "core/util/muldiv.h"

#if UPMU_TURNS

#define SUM_LIMIT (UINT64_C(1) << 62)
#define PART_LIMIT (UINT64_C(1) << 30)
#define COUNTS_LIMIT (UINT64_C(1) << 31)

/*
 * Returns what a time or a count has grown by in a turn, cut to 60 bits.  Only a clock that jumps gives more, and more
 * would need a shift beyond 63.
 */
static uint64_t in_turn(uint64_t now, uint64_t before)
{
    return (now - before) << 4 >> 4;
}

/*
 * Raise `scale` until `value`, shifted right by it, is below PART_LIMIT, and `sum` below SUM_LIMIT, where each bit of
 * `scale` takes two bits off the sum, as of a sum of squares.  Then the sum has room for the square of the shifted
 * value.  Returns by how many bits `scale` was raised.
 */
static UPMU_APART unsigned scale_down(uint64_t value, uint64_t sum, uint8_t *scale)
{
    unsigned shifts = 0;

    for (; value >> *scale >= PART_LIMIT || sum >= SUM_LIMIT; sum >>= 2) {
        UPMU_STORE(*scale, (uint8_t)(*scale + 1u));
        shifts++;
    }
    return shifts;
}

void upmu_estimate_turn(struct upmu_set *set)
{
    uint64_t time = in_turn(set->duration_ns, set->turn_ns), scaled_time;
    unsigned shifts, time_shifts;

    UPMU_STORE(set->turn_ns, set->duration_ns);
    if (!time)
        return;
    time_shifts = scale_down(time, set->turn_squares, &set->scale);
    UPMU_STORE(set->turn_squares, set->turn_squares >> (2 * time_shifts));
    scaled_time = time >> set->scale;
    UPMU_STORE(set->turn_squares, set->turn_squares + scaled_time * scaled_time);
    UPMU_STORE(set->turns, set->turns + 1u);
    for (unsigned i = 0; i < set->count; i++) {
        struct upmu_estimate *sums = &set->estimate[i];
        uint64_t total = set->tally[i].total, count = in_turn(total, sums->turn_total);

        UPMU_STORE(sums->turn_total, total);
        UPMU_STORE(sums->products, sums->products >> time_shifts);
        shifts = scale_down(count, sums->squares > sums->products ? sums->squares : sums->products,
                            &set->tally[i].scale);
        count >>= set->tally[i].scale;
        UPMU_STORE(sums->squares, (sums->squares >> 2 * shifts) + count * count);
        UPMU_STORE(sums->products, (sums->products >> shifts) + count * scaled_time);
    }
}

static uint64_t square_root(uint64_t value)
{
    uint64_t root = 0;

    for (uint64_t bit = UINT64_C(1) << 31; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= value)
            root |= bit;
    return root;
}

uint64_t upmu_estimate_error(const struct upmu_set *set, const struct upmu_tally *tally,
                             const struct upmu_count *count)
{
    const struct upmu_estimate *sums = &set->estimate[tally->index];
    uint64_t counts = UPMU_LOAD(sums->turn_total) >> UPMU_LOAD(tally->scale);
    uint64_t times = UPMU_LOAD(set->turn_ns) >> UPMU_LOAD(set->scale);
    uint32_t turns = UPMU_LOAD(set->turns);
    uint64_t most, least, variance, bound;
    unsigned shift = 0;

    if (turns < 2 || !times)
        return count->value - count->raw;
    /*
     * Shift `counts` right until twice its square fits into 64 bits.  No term of V exceeds twice that square: sum c² is
     * at most (sum c)², and sum cd at most sum c * sum d.
     */
    while (counts >> shift >= COUNTS_LIMIT)
        shift++;
    counts >>= shift;
    most = upmu_muldiv(upmu_muldiv(UPMU_LOAD(set->turn_squares), counts, times), counts, times) +
           (shift < 32 ? UPMU_LOAD(sums->squares) >> 2 * shift : 0);
    least = 2 * upmu_muldiv(UPMU_LOAD(sums->products) >> shift, counts, times);
    variance = most > least ? most - least : 0;
    variance = upmu_muldiv(variance, count->enabled_ns - count->running_ns, count->enabled_ns);
    variance = upmu_muldiv(variance, turns, turns - 1u);
    bound = 3 * (square_root(variance) + 1);
    shift += UPMU_LOAD(tally->scale);
    if (shift >= 64 || bound >> (64 - shift - 1) > 1)
        return ~UINT64_C(0);
    bound <<= shift;
    /*
     * So far the bound is for the running time.  For the enabled time it is enabled / running times larger; rounded up.
     */
    bound = upmu_muldiv(bound, count->enabled_ns, count->running_ns);
    return bound + (bound != ~UINT64_C(0));
}

#endif
