/* SPDX-License-Identifier: MIT */
/*
 * Types and configurations of perf_event_open as events of a PMU. Generic events and those of caches are names of
 * upmu's catalogues, so each PMU counts them by the words that its catalogue has for them. Raw words go through the
 * encoder of a user's text, which refuses bits that no session may set.
 */
#include <string.h>
#include "abi/perf/perf_core.h"

static const char *const hardware[UPMU_PERF_HARDWARE_EVENTS] = {
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
static const char *const cache[UPMU_PERF_CACHES] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
/* Endings of names, by operation; of each operation: all accesses, misses. */
static const char *const access_of[UPMU_PERF_CACHE_OPERATIONS][UPMU_PERF_CACHE_RESULTS] = {
    {"-loads", "-load-misses"}, {"-stores", "-store-misses"}, {"-prefetches", "-prefetch-misses"}};

void upmu_perf_text_add(struct upmu_perf_text *text, const char *more)
{
    while (*more && text->length + 1u < UPMU_PERF_TEXT)
        text->bytes[text->length++] = *more++;
    text->bytes[text->length] = 0;
}

void upmu_perf_text_add_digits(struct upmu_perf_text *text, int64_t value)
{
    char digits[24];
    unsigned at = sizeof digits - 1u;
    uint64_t rest = value < 0 ? 0u - (uint64_t)value : (uint64_t)value, digit;

    digits[at] = 0;
    do {
        rest = upmu_divide(rest, 10, &digit);
        digits[--at] = (char)('0' + digit);
    } while (rest);
    if (value < 0)
        digits[--at] = '-';
    upmu_perf_text_add(text, digits + at);
}

static void text_add_hex(struct upmu_perf_text *text, const char *before, uint64_t value)
{
    char digits[19] = "0x";

    for (unsigned i = 0; i < 16; i++)
        digits[2 + i] = "0123456789abcdef"[value >> (60u - 4u * i) & 15u];
    digits[18] = 0;
    upmu_perf_text_add(text, before);
    upmu_perf_text_add(text, digits);
}

/* Add the name of a cache event. False: there is no such cache, operation or result. */
static bool text_add_cache(struct upmu_perf_text *text, uint64_t config)
{
    uint64_t which = config & 255u, operation = config >> 8 & 255u, result = config >> 16;

    if (which >= UPMU_PERF_CACHES || operation >= UPMU_PERF_CACHE_OPERATIONS || result >= UPMU_PERF_CACHE_RESULTS)
        return false;
    upmu_perf_text_add(text, cache[which]);
    upmu_perf_text_add(text, access_of[operation][result]);
    return true;
}

/*
 * Bits of a raw word of x86 that attr.flags decide in its place: user, kernel, interrupt, enable. Linux ignores them,
 * too.
 */
#define RAW_OTHERS UINT64_C(0x530000)
#define RAW_KERNEL UINT64_C(0x20000)

/* The bit that counts the kernel's mode tells selects of Intel and AMD from NetBurst's, Arm's and RISC-V's. */
bool upmu_perf_has_fields(const struct upmu_pmu *pmu)
{
    unsigned row = pmu->counter[upmu_bits_lowest(pmu->counters)].select_row;

    return pmu->table->classes[pmu->table->rows[row].class_index].kernel == RAW_KERNEL;
}

static bool text_add_event(struct upmu_perf_text *text, const struct upmu_pmu *pmu, const struct upmu_perf_attr *attr)
{
    uint32_t number = (uint32_t)attr->config;

    switch (attr->type) {
    case UPMU_PERF_TYPE_HARDWARE:
        if (number >= UPMU_PERF_HARDWARE_EVENTS)
            return false;
        upmu_perf_text_add(text, hardware[number]);
        return true;
    case UPMU_PERF_TYPE_CACHE:
        return text_add_cache(text, number);
    default:
        text_add_hex(text, "raw:config=", upmu_perf_has_fields(pmu) ? attr->config & ~RAW_OTHERS : attr->config);
        if (attr->config1)
            text_add_hex(text, ",config1=", attr->config1);
        if (attr->config2)
            text_add_hex(text, ",config2=", attr->config2);
        return true;
    }
}

#define LARGE_CORE 0x40 /* upmu_pmu.core_type, as CPUID leaf 1Ah tells it */

bool upmu_perf_is_hybrid(const struct upmu_perf *perf)
{
    const struct upmu_pmu *first = upmu_machine_pmu(perf->machine, 0);

    return first && first->core_type && upmu_machine_pmu(perf->machine, 1);
}

uint32_t upmu_perf_pmu_type(const struct upmu_perf *perf, unsigned index)
{
    unsigned large = 0;

    for (unsigned i = UPMU_CORE_TYPES; i-- > 0;) {
        const struct upmu_pmu *pmu = upmu_machine_pmu(perf->machine, i);

        if (pmu && pmu->core_type == LARGE_CORE)
            large = i;
    }
    return index == large ? UPMU_PERF_TYPE_RAW : UPMU_PERF_TYPE_OTHER + index;
}

int upmu_perf_errno(enum upmu_status status)
{
    switch (status) {
    case UPMU_OK:
        return 0;
    case UPMU_ERR_NO_SUCH_EVENT:
    case UPMU_ERR_UNSUPPORTED:
    case UPMU_ERR_NO_PMU:
        return -UPMU_PERF_ENOENT;
    case UPMU_ERR_HOOK_MISSING: /* this host cannot sample */
        return -UPMU_PERF_EOPNOTSUPP;
    case UPMU_ERR_PORT:
        return -UPMU_PERF_EIO;
    case UPMU_ERR_BUSY:
    case UPMU_ERR_LOST_CLAIM:
    case UPMU_ERR_WRONG_CPU:
        return -UPMU_PERF_EBUSY;
    default:
        return -UPMU_PERF_EINVAL;
    }
}

#if UPMU_PRECISE

/*
 * Encode the event of a text at a level of attr.precise_ip.  Level 2 asks for the instruction itself, and is level 1
 * where records have the one after; level 3 is level 2 for events that are not measured without a shadow.
 */
static enum upmu_status encode_at(const struct upmu_pmu *pmu, struct upmu_perf_text *text, unsigned level,
                                  struct upmu_event *out_event)
{
    static const char *const levels[] = {"", ":p", ":pp", ":ppp"};
    unsigned length = text->length;
    enum upmu_status status;

    for (unsigned at = level;; at--) {
        text->length = length;
        text->bytes[length] = 0;
        upmu_perf_text_add(text, levels[at]);
        status = upmu_event_parse(pmu, text->bytes, out_event, NULL);
        if (status != UPMU_ERR_NOT_PRECISE || at <= 1 || at < level)
            return status;
    }
}

#else

static enum upmu_status encode_at(const struct upmu_pmu *pmu, struct upmu_perf_text *text, unsigned level,
                                  struct upmu_event *out_event)
{
    (void)level;
    return upmu_event_parse(pmu, text->bytes, out_event, NULL);
}

#endif

int upmu_perf_encode(const struct upmu_pmu *pmu, const struct upmu_perf_attr *attr, struct upmu_event *out_event)
{
    static const char *const modes[] = {"", ":k", ":u"};
    unsigned without =
        (attr->flags & UPMU_PERF_EXCLUDE_USER ? 1u : 0) | (attr->flags & UPMU_PERF_EXCLUDE_KERNEL ? 2u : 0);
    struct upmu_perf_text text = {.length = 0};

    if (!text_add_event(&text, pmu, attr))
        return -UPMU_PERF_EINVAL;
    if (without == 3u)
        return -UPMU_PERF_EINVAL;
    upmu_perf_text_add(&text, modes[without]);
    return upmu_perf_errno(encode_at(pmu, &text, UPMU_PERF_PRECISE_LEVEL(attr->flags), out_event));
}
