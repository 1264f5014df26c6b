/* SPDX-License-Identifier: MIT */
/*
 * A hart with abi/sbi, and its model, which get the same random calls and events. An answer or a counter that differs
 * is told in sbi_pair.wrong.
 */
#ifndef UPMU_TESTS_GUEST_SBI_PAIR_H
#define UPMU_TESTS_GUEST_SBI_PAIR_H

#include <stdio.h>

#include "abi/sbi/sbi_pmu.c"
#include "tests/guest/sbi_model.h"

#define SBI_ARGUMENTS 6u
#define SBI_PAIR_COUNT(array) (unsigned)(sizeof(array) / sizeof(array)[0])

static const struct upmu_sbi_event sbi_pair_rows[] = {
    {.first = 1, .last = 4, .counters = 0xffffffff, .select = HART_CYCLES},
    {.first = 0x10000, .last = 0x10005, .counters = 0x00ffff30, .select = 0x3000},
    {.first = 0x20000, .last = 0x30000, .counters = 0xff, .select = 0, .select_mask = 0xff00},
};

static const uint32_t sbi_pair_numbers[] = {1,       2,       3,       5,       0x10000, 0x10003, 0x10006,
                                            0x20000, 0x30000, 0xf0000, 0xf0005, 0xf0015, 0xf0016, 0xfffff};

struct sbi_pair {
    struct upmu_sbi_pmu pmu;
    const struct upmu_sbi_config *config;
    struct sbi_model model;
    uint64_t seed;
    bool memory_changes; /* by others: what S-mode has in it is not known */
    char wrong[200];
};

static uint64_t sbi_pair_draw(struct sbi_pair *pair)
{
    pair->seed ^= pair->seed << 13, pair->seed ^= pair->seed >> 7, pair->seed ^= pair->seed << 17;
    return pair->seed;
}

static unsigned sbi_pair_below(struct sbi_pair *pair, unsigned limit)
{
    return (unsigned)(sbi_pair_draw(pair) >> 20) % limit;
}

/* A value of few bits, near the end of a counter, or anything. */
static uint64_t sbi_pair_value(struct sbi_pair *pair)
{
    switch (sbi_pair_below(pair, 4)) {
    case 0:
        return sbi_pair_below(pair, 64);
    case 1:
        return hart_ones(3) - sbi_pair_below(pair, 300);
    case 2:
        return sbi_pair_draw(pair) & sbi_pair_draw(pair) & sbi_pair_draw(pair);
    default:
        return sbi_pair_draw(pair);
    }
}

/* What a hart has: all but the hooks. */
static void sbi_pair_config(struct sbi_pair *pair, struct upmu_sbi_config *config)
{
    memset(config, 0, sizeof *config);
    config->counters = (sbi_pair_below(pair, 3) ? 0xffffffffu : (uint32_t)sbi_pair_draw(pair)) & ~2u;
    config->firmware_counters = (uint8_t)sbi_pair_below(pair, UPMU_SBI_FIRMWARE + 1u);
    config->width = (uint8_t)(16 + sbi_pair_below(pair, 49));
    config->sscofpmf = sbi_pair_below(pair, 4) != 0;
    config->hypervisor = config->sscofpmf && sbi_pair_below(pair, 2);
    config->events = sbi_pair_rows;
    config->event_count = sbi_pair_below(pair, 8) ? SBI_PAIR_COUNT(sbi_pair_rows) : sbi_pair_below(pair, 3);
}

/* The hart is reset. */
static bool sbi_pair_begin(struct sbi_pair *pair, const struct upmu_sbi_config *config)
{
    pair->config = config;
    hart_reset(config->counters | (uint32_t)sbi_pair_draw(pair), config->counters, config->width, config->sscofpmf,
               config->hypervisor);
    sbi_model_init(&pair->model, config);
    for (unsigned n = 0; n < 3; n += 2) /* mcycle and minstret keep their values */
        pair->model.counter[n].value = hart.counter[n];
    return upmu_sbi_pmu_init(&pair->pmu, config) == UPMU_OK;
}

static unsigned long sbi_pair_draw_call(struct sbi_pair *pair, unsigned long a[SBI_ARGUMENTS])
{
    unsigned long function = sbi_pair_below(pair, 9);

    if (sbi_pair_below(pair, 4))
        function = 2 + sbi_pair_below(pair, 3);
    memset(a, 0, SBI_ARGUMENTS * sizeof a[0]);
    if (sbi_pair_below(pair, 50) == 0) {
        for (unsigned i = 0; i < SBI_ARGUMENTS; i++)
            a[i] = (unsigned long)sbi_pair_value(pair);
        return sbi_pair_below(pair, 4) ? function : (unsigned long)sbi_pair_draw(pair);
    }
    a[0] = sbi_pair_below(pair, 5) ? sbi_pair_below(pair, 36) : 0;
    a[1] = 1ul << sbi_pair_below(pair, 4);
    if (sbi_pair_below(pair, 3) == 0)
        a[1] = (unsigned long)(sbi_pair_draw(pair) & (sbi_pair_below(pair, 8) ? 0xff : UINT64_MAX));
    a[2] = (unsigned long)(sbi_pair_below(pair, 30) ? sbi_pair_draw(pair) & (function == 2 ? 0xff : 3)
                                                    : sbi_pair_value(pair));
    if (function == 2) {
        a[3] = sbi_pair_numbers[sbi_pair_below(pair, SBI_PAIR_COUNT(sbi_pair_numbers))];
        a[4] = a[3] >= 0x20000 && a[3] <= 0x30000 ? sbi_pair_below(pair, 0x100) : 0;
        if (sbi_pair_below(pair, 4) == 0)
            a[4] = (unsigned long)sbi_pair_value(pair);
        a[4] &= (unsigned long)~(UINT64_C(3) << 56); /* (No event of this hart has these bits.) */
    } else if (function == 3) {
        a[3] = (unsigned long)sbi_pair_value(pair);
    } else if (function >= 7) {
        a[0] = (unsigned long)HART_RAM + sbi_pair_below(pair, 22) * (function == 7 ? 4096u : 16u);
        a[0] += sbi_pair_below(pair, 20) ? 0 : 8;
        a[1] = sbi_pair_below(pair, 20) ? 0 : ~0ul;
        a[0] = sbi_pair_below(pair, 15) ? a[0] : ~0ul;
        if (function == 7)
            a[2] = sbi_pair_below(pair, 20) == 0;
    }
    return function;
}

/* Events of the hart and of its firmware. */
static void sbi_pair_pass_time(struct sbi_pair *pair)
{
    enum hart_mode mode = (enum hart_mode)sbi_pair_below(pair, pair->config->hypervisor ? 5 : 3);
    uint64_t event = sbi_pair_below(pair, 2)   ? HART_CYCLES + sbi_pair_below(pair, 4)
                     : sbi_pair_below(pair, 2) ? 0x3000 + sbi_pair_below(pair, 6)
                                               : sbi_pair_below(pair, 0x100);
    uint64_t count = sbi_pair_below(pair, 3) ? sbi_pair_below(pair, 1000) : sbi_pair_value(pair);
    unsigned code = sbi_pair_below(pair, 24);

    hart_run(mode, event, count);
    sbi_model_run(&pair->model, mode, event, count);
    upmu_sbi_pmu_firmware(&pair->pmu, code);
    sbi_model_firmware(&pair->model, code);
}

/* Where memory says what a counter begins with, and others change it, the counter itself tells what that was. */
static void sbi_pair_take_values(struct sbi_pair *pair, const unsigned long a[SBI_ARGUMENTS])
{
    uint8_t list[SBI_MODEL_COUNTERS];
    unsigned count = sbi_model_list(&pair->model, a[0], a[1], list);

    for (unsigned i = 0; i < count; i++) {
        unsigned n = list[i];

        pair->model.counter[n].value =
            pair->model.counter[n].firmware ? pair->pmu.value[n - pair->pmu.hardware] : hart.counter[n];
    }
}

/* One call; returns its error. */
static long sbi_pair_call(struct sbi_pair *pair)
{
    unsigned long a[SBI_ARGUMENTS], function = sbi_pair_draw_call(pair, a);
    struct upmu_sbi_answer answer = upmu_sbi_pmu_call(&pair->pmu, function, a);
    struct upmu_sbi_answer expected = sbi_model_call(&pair->model, function, a);

    if (pair->memory_changes && function == 8)
        return answer.error;
    if (pair->memory_changes && function == 3 && a[2] == 2)
        sbi_pair_take_values(pair, a);
    if (answer.error != expected.error || answer.value != expected.value)
        (void)snprintf(pair->wrong, sizeof pair->wrong,
                       "function %lu of %lx %lx %lx %lx %lx: %ld %lx, the model says %ld %lx", function, a[0], a[1],
                       a[2], a[3], a[4], answer.error, answer.value, expected.error, expected.value);
    return answer.error;
}

/* What S-mode sees of the hart. */
static void sbi_pair_compare(struct sbi_pair *pair)
{
    uint32_t flags = 0;
    uint64_t value = 0, seen = 0;

    for (unsigned n = 0; n < 32; n++) {
        const struct sbi_model_counter *counter = &pair->model.counter[n];
        bool readable = counter->exists && !counter->firmware && counter->configured;

        if (n == 1)
            continue;
        if (hart_read_in_s_mode(0xc00 + n, &value) != readable || (readable && value != counter->value))
            (void)snprintf(pair->wrong, sizeof pair->wrong, "counter %u is %llx, the model's is %llx", n,
                           (unsigned long long)value, (unsigned long long)counter->value);
        flags |= (uint32_t)(readable && counter->overflowed) << n;
    }
    if (pair->config->sscofpmf && (!hart_read_in_s_mode(0xda0, &seen) || seen != flags))
        (void)snprintf(pair->wrong, sizeof pair->wrong, "overflow flags are %llx, the model's %x",
                       (unsigned long long)seen, (unsigned)flags);
    if (hart.wrong)
        (void)snprintf(pair->wrong, sizeof pair->wrong, "%s", hart.wrong);
}

#endif
