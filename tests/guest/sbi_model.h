/* SPDX-License-Identifier: MIT */
/*
 * The PMU extension of the SBI as S-mode sees it, for tests that compare abi/sbi with it: each call, each event, each
 * register that S-mode reads. Written from the rows of tests/conformance/sbi_pmu.tsv and their sources. A counter is a
 * structure of its own here, and nothing is a mask; no register of M-mode exists.
 */
#ifndef UPMU_TESTS_GUEST_SBI_MODEL_H
#define UPMU_TESTS_GUEST_SBI_MODEL_H

#include "abi/sbi/sbi.h"
#include "tests/common/fake_hart.h"

#define SBI_MODEL_COUNTERS 64u
#define SBI_MODEL_XLEN ((unsigned)sizeof(unsigned long) * 8u)

struct sbi_model_counter {
    bool exists, firmware, configured, started, overflowed;
    bool excludes[HART_VS + 1]; /* by mode */
    uint64_t event;             /* of the hart, or the code of a firmware event */
    uint64_t value;
};

struct sbi_model {
    const struct upmu_sbi_config *config;
    struct sbi_model_counter counter[SBI_MODEL_COUNTERS];
    bool has_page;
    uint64_t page;
    bool denied, flips; /* as those of the hart */
    uint8_t ram[HART_RAM_SIZE];
};

static struct upmu_sbi_answer sbi_model_error(long error)
{
    struct upmu_sbi_answer answer = {error, 0};

    return answer;
}

/* mcycle and minstret have their event at all times, and run after a reset. */
static bool sbi_model_is_fixed(unsigned n)
{
    return n == 0 || n == 2;
}

static void sbi_model_init(struct sbi_model *model, const struct upmu_sbi_config *config)
{
    unsigned first = 0;

    memset(model, 0, sizeof *model);
    model->config = config;
    for (unsigned n = 0; n < 32; n++) {
        struct sbi_model_counter *counter = &model->counter[n];

        counter->exists = config->counters >> n & 1u;
        counter->configured = counter->started = counter->exists && sbi_model_is_fixed(n);
        counter->event = n == 0 ? HART_CYCLES : HART_INSTRUCTIONS;
        if (counter->exists)
            first = n + 1;
    }
    for (unsigned n = first; n < first + config->firmware_counters; n++)
        model->counter[n].exists = model->counter[n].firmware = true;
}

static uint64_t sbi_model_ones(const struct sbi_model *model, unsigned n)
{
    bool narrow = n < 32 && !model->counter[n].firmware && !sbi_model_is_fixed(n);

    return narrow ? ~UINT64_C(0) >> (64 - model->config->width) : ~UINT64_C(0);
}

static uint64_t sbi_model_wide(const unsigned long *a)
{
    return SBI_MODEL_XLEN == 32 ? (uint64_t)a[1] << 32 | a[0] : a[0];
}

/* ---- S-mode's memory ---- */

static bool sbi_model_memory(const struct sbi_model *model, uint64_t address, uint64_t size)
{
    return !model->denied && address >= HART_RAM && size <= HART_RAM_SIZE && address - HART_RAM <= HART_RAM_SIZE - size;
}

static bool sbi_model_load(struct sbi_model *model, uint64_t address, void *to, unsigned size)
{
    if (!sbi_model_memory(model, address, size))
        return false;
    memcpy(to, model->ram + (address - HART_RAM), size);
    for (unsigned i = 0; model->flips && i < size; i++)
        model->ram[address - HART_RAM + i] ^= 0xff;
    return true;
}

static bool sbi_model_store(struct sbi_model *model, uint64_t address, const void *from, unsigned size)
{
    if (!sbi_model_memory(model, address, size))
        return false;
    memcpy(model->ram + (address - HART_RAM), from, size);
    return true;
}

/* ---- Events ---- */

static bool sbi_model_knows(uint64_t event, uint64_t data)
{
    uint64_t type = event >> 16, code = event & 0xffff;

    if (type == 0)
        return code >= 1 && code <= 10 && !data;
    if (type == 1) /* cache 0 to 6, operation 0 to 2, result */
        return code / 8 <= 6 && code / 2 % 4 <= 2 && !data;
    if (type == 2)
        return !code && data < UINT64_C(1) << 48;
    if (type == 3)
        return !code && data < UINT64_C(1) << 58;
    return type == 15 && (code == 0xffff || (!data && (code <= 21 || code >= 256)));
}

/* Can this counter count a known event?  *out_event: what the hart's counter counts then. */
static bool sbi_model_can(const struct sbi_model *model, unsigned n, uint64_t event, uint64_t data, uint64_t *out_event)
{
    const struct sbi_model_counter *counter = &model->counter[n];
    bool raw = event == 0x20000 || event == 0x30000;

    if (!counter->exists || counter->firmware != (event >> 16 == 15))
        return false;
    if (counter->firmware) {
        *out_event = event & 0xffff;
        return *out_event <= 21;
    }
    if (sbi_model_is_fixed(n)) {
        *out_event = counter->event;
        return event == (n == 0 ? 1u : 2u);
    }
    for (uint32_t i = 0; i < model->config->event_count; i++) {
        const struct upmu_sbi_event *row = &model->config->events[i];

        if (event < row->first || event > row->last || (raw && (data & row->select_mask) != row->select))
            continue;
        *out_event = raw ? data : row->select + event - row->first;
        return row->counters >> n & 1u;
    }
    return false;
}

/* ---- Calls ---- */

/* The counters that a base and a mask name, lowest first, in list; 0: none, or one that does not exist. */
static unsigned sbi_model_list(const struct sbi_model *model, unsigned long base, unsigned long mask,
                               uint8_t list[SBI_MODEL_COUNTERS])
{
    unsigned count = 0;

    for (unsigned i = 0; i < SBI_MODEL_XLEN; i++) {
        if (!(mask >> i & 1u))
            continue;
        if (base >= SBI_MODEL_COUNTERS || base + i >= SBI_MODEL_COUNTERS || !model->counter[base + i].exists)
            return 0;
        list[count++] = (uint8_t)(base + i);
    }
    return count;
}

static struct upmu_sbi_answer sbi_model_match(struct sbi_model *model, const unsigned long *a)
{
    static const enum hart_mode modes[] = {HART_VU, HART_VS, HART_U, HART_S};
    uint8_t list[SBI_MODEL_COUNTERS];
    unsigned count = sbi_model_list(model, a[0], a[1], list), best = SBI_MODEL_COUNTERS;
    uint64_t data = sbi_model_wide(a + 4), event = 0, chosen = 0;
    struct upmu_sbi_answer answer = {0, 0};
    struct sbi_model_counter *counter;

    if (!count || a[2] > 0xff || !sbi_model_knows(a[3], data))
        return sbi_model_error(UPMU_SBI_INVALID_PARAM);
    for (unsigned i = 0; i < (a[2] & 1 ? 1 : count); i++) {
        counter = &model->counter[list[i]];
        if (counter->started || !sbi_model_can(model, list[i], a[3], data, &event) ||
            (!(a[2] & 1) && counter->configured && !sbi_model_is_fixed(list[i])))
            continue;
        /* A counter that can count other events, too, is kept back. */
        if (best == SBI_MODEL_COUNTERS || (sbi_model_is_fixed(best) && !sbi_model_is_fixed(list[i])))
            best = list[i], chosen = event;
    }
    if (best == SBI_MODEL_COUNTERS)
        return sbi_model_error(UPMU_SBI_NOT_SUPPORTED);
    counter = &model->counter[best];
    counter->configured = true;
    counter->event = chosen;
    counter->overflowed = false;
    memset(counter->excludes, 0, sizeof counter->excludes);
    for (unsigned i = model->config->hypervisor ? 0 : 2; model->config->sscofpmf && i < 4; i++)
        counter->excludes[modes[i]] = !sbi_model_is_fixed(best) && a[2] >> (3 + i) & 1;
    counter->excludes[HART_M] = model->config->sscofpmf && !sbi_model_is_fixed(best);
    if (a[2] & 2)
        counter->value = 0;
    counter->started = a[2] >> 2 & 1;
    answer.value = best;
    return answer;
}

static struct upmu_sbi_answer sbi_model_start(struct sbi_model *model, const unsigned long *a)
{
    uint8_t list[SBI_MODEL_COUNTERS];
    unsigned count = sbi_model_list(model, a[0], a[1], list);
    long first = 0;

    if (!count || a[2] > 2)
        return sbi_model_error(UPMU_SBI_INVALID_PARAM);
    if (a[2] == 2 && !model->has_page)
        return sbi_model_error(UPMU_SBI_NO_SHMEM);
    for (unsigned i = 0; i < count; i++) {
        struct sbi_model_counter *counter = &model->counter[list[i]];
        uint64_t value = sbi_model_wide(a + 3);
        long error = counter->started ? UPMU_SBI_ALREADY_STARTED : !counter->configured ? UPMU_SBI_INVALID_PARAM : 0;

        if (!error && a[2] == 2 && !sbi_model_load(model, model->page + 8 + 8 * (list[i] - a[0]), &value, 8))
            error = UPMU_SBI_FAILED;
        if (!error) {
            counter->started = true;
            counter->overflowed = false;
            counter->value = a[2] ? value & sbi_model_ones(model, list[i]) : counter->value;
        }
        first = first ? first : error;
    }
    return sbi_model_error(first);
}

static bool sbi_model_snapshot(struct sbi_model *model, unsigned long base, const uint8_t *list, unsigned count)
{
    uint64_t flags = 0;

    for (unsigned i = 0; i < count; i++)
        if (model->counter[list[i]].configured &&
            !sbi_model_store(model, model->page + 8 + 8 * (list[i] - base), &model->counter[list[i]].value, 8))
            return false;
    for (unsigned n = (unsigned)base; n < SBI_MODEL_COUNTERS; n++)
        flags |= (uint64_t)(model->counter[n].configured && model->counter[n].overflowed) << (n - base);
    return sbi_model_store(model, model->page, &flags, 8);
}

static struct upmu_sbi_answer sbi_model_stop(struct sbi_model *model, const unsigned long *a)
{
    uint8_t list[SBI_MODEL_COUNTERS];
    unsigned count = sbi_model_list(model, a[0], a[1], list);
    long error = 0;

    if (!count || a[2] > 3)
        return sbi_model_error(UPMU_SBI_INVALID_PARAM);
    if (a[2] & 2 && !model->has_page)
        return sbi_model_error(UPMU_SBI_NO_SHMEM);
    for (unsigned i = 0; i < count; i++) {
        error = model->counter[list[i]].started ? error : UPMU_SBI_ALREADY_STOPPED;
        model->counter[list[i]].started = false;
    }
    if (a[2] & 2 && !sbi_model_snapshot(model, a[0], list, count))
        error = UPMU_SBI_FAILED;
    for (unsigned i = 0; a[2] & 1 && i < count; i++)
        if (!sbi_model_is_fixed(list[i]))
            model->counter[list[i]].configured = model->counter[list[i]].overflowed = false;
    return sbi_model_error(error);
}

static struct upmu_sbi_answer sbi_model_page(struct sbi_model *model, const unsigned long *a)
{
    uint64_t address = sbi_model_wide(a);

    if (!model->config->copy)
        return sbi_model_error(UPMU_SBI_NOT_SUPPORTED);
    if (a[2])
        return sbi_model_error(UPMU_SBI_INVALID_PARAM);
    if (a[0] == ~0ul && a[1] == ~0ul) {
        model->has_page = false;
        return sbi_model_error(0);
    }
    if (a[0] % 4096)
        return sbi_model_error(UPMU_SBI_INVALID_PARAM);
    if ((SBI_MODEL_XLEN == 64 && a[1]) || !sbi_model_memory(model, address, 4096))
        return sbi_model_error(UPMU_SBI_INVALID_ADDRESS);
    model->has_page = true;
    model->page = address;
    return sbi_model_error(0);
}

static struct upmu_sbi_answer sbi_model_questions(struct sbi_model *model, const unsigned long *a)
{
    uint64_t address = sbi_model_wide(a), event;

    if (!model->config->copy)
        return sbi_model_error(UPMU_SBI_NOT_SUPPORTED);
    if (a[3] || a[0] % 16 || !a[2])
        return sbi_model_error(UPMU_SBI_INVALID_PARAM);
    if (a[2] > 4096)
        return sbi_model_error(UPMU_SBI_FAILED);
    if ((SBI_MODEL_XLEN == 64 && a[1]) || !sbi_model_memory(model, address, 16 * (uint64_t)a[2]))
        return sbi_model_error(UPMU_SBI_INVALID_ADDRESS);
    for (unsigned long i = 0; i < a[2]; i++, address += 16) {
        struct {
            uint32_t event, output;
            uint64_t data;
        } entry;
        uint32_t yes = 0;

        if (!sbi_model_load(model, address, &entry, 16))
            return sbi_model_error(UPMU_SBI_FAILED);
        if (entry.event >> 16 < 2)
            entry.data = 0;
        if (!sbi_model_knows(entry.event, entry.data))
            return sbi_model_error(UPMU_SBI_INVALID_PARAM);
        for (unsigned n = 0; n < SBI_MODEL_COUNTERS; n++)
            yes |= sbi_model_can(model, n, entry.event, entry.data, &event);
        (void)sbi_model_store(model, address + 4, &yes, 4);
    }
    return sbi_model_error(0);
}

static struct upmu_sbi_answer sbi_model_call(struct sbi_model *model, unsigned long function, const unsigned long *a)
{
    struct upmu_sbi_answer answer = {0, 0};
    bool exists = a[0] < SBI_MODEL_COUNTERS && model->counter[a[0]].exists;

    switch (function) {
    case 0:
        for (unsigned n = 0; n < SBI_MODEL_COUNTERS; n++)
            answer.value = model->counter[n].exists ? n + 1 : answer.value;
        return answer;
    case 1:
        if (!exists)
            return sbi_model_error(UPMU_SBI_INVALID_PARAM);
        answer.value = model->counter[a[0]].firmware ? 1ul << (SBI_MODEL_XLEN - 1) | 63ul << 12
                       : sbi_model_is_fixed((unsigned)a[0])
                           ? (0xc00 + a[0]) | 63ul << 12
                           : (0xc00 + a[0]) | (unsigned long)(model->config->width - 1) << 12;
        return answer;
    case 2:
        return sbi_model_match(model, a);
    case 3:
        return sbi_model_start(model, a);
    case 4:
        return sbi_model_stop(model, a);
    case 5:
    case 6:
        if (!exists || !model->counter[a[0]].firmware)
            return sbi_model_error(UPMU_SBI_INVALID_PARAM);
        answer.value = (unsigned long)(function == 5          ? model->counter[a[0]].value
                                       : SBI_MODEL_XLEN == 32 ? model->counter[a[0]].value >> 32
                                                              : 0);
        return answer;
    case 7:
        return sbi_model_page(model, a);
    case 8:
        return sbi_model_questions(model, a);
    default:
        return sbi_model_error(UPMU_SBI_NOT_SUPPORTED);
    }
}

/* ---- What happens between calls ---- */

static void sbi_model_run(struct sbi_model *model, enum hart_mode mode, uint64_t event, uint64_t count)
{
    for (unsigned n = 0; n < 32; n++) {
        struct sbi_model_counter *counter = &model->counter[n];
        uint64_t ones = sbi_model_ones(model, n);

        if (!counter->exists || counter->firmware || !counter->started || counter->event != event ||
            counter->excludes[mode])
            continue;
        if (!sbi_model_is_fixed(n) && model->config->sscofpmf && count > ones - counter->value)
            counter->overflowed = true;
        counter->value = (counter->value + count) & ones;
    }
}

static void sbi_model_firmware(struct sbi_model *model, unsigned code)
{
    for (unsigned n = 0; n < SBI_MODEL_COUNTERS; n++)
        if (model->counter[n].firmware && model->counter[n].started && model->counter[n].event == code)
            model->counter[n].value++;
}

#endif
