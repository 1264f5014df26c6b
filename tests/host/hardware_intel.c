/* SPDX-License-Identifier: MIT */
/*
 * Intel's architectural performance monitoring, versions 1 to 6, from facts/intel: "m 3" is
 * mock_semantics.md section 3, "c 3" intel_core.md section 3, "Q-A1" a row of intel_quirks.md.
 * CPUID is from intel_models.csv, masks of payloads from intel_constraints.csv (extra_reg).
 * Counters at work are in hardware_intel_events.c, precise records in hardware_pebs.c, branch stacks in
 * hardware_branches.c, branch traces in hardware_traces.c; "r" is facts/precise/rules.md, "models" lbr_models.tsv
 * there.
 * Not here: slots and metrics that move, transactions, inexact counts.
 */
#include "tests/host/hardware_intel.h"

#include <string.h>

/* clang-format off */
/* MSR 345h (`capabilities`) is not measured (m 1): bits as c 1.6 names them; 0 is a CPU without PDCM. */
static const struct part parts[] = {
    {1, 0x0F, 7, 40, 0x3, 0, {0x07280201}, 0, 0, {0}, 0, 0, {0}, 0},
    {2, 0x0F, 2, 40, 0x3, 7, {0x07280202}, 0x80, PEBS, {0}, 0, 0, {0}, 0}, /* EDX is 0: Q-A1 */
    {2, 0x17, 6, 40, 0x3, 7, {0x07280202, 0, 0, 0x503}, 0x80, PEBS, {0}, 0, 0, {0}, 0},
    {3, 0x1C, 2, 40, 0x3, 7, {0x07280203, 0, 0, 0x2501}, 0xC0, PEBS, {0}, 0, 0, {0}, 0}, /* Q-A2 */
    {3, 0x1A, 5, 48, 0xF, 7, {0x07300403, 0x40, 0, 0x603}, 0x11C3, PEBS | LATENCY | SHARED, {0xFFFF}, 0, 0, {0}, 0},
    {3, 0x2C, 2, 48, 0xF, 7, {0x07300403, 4, 0, 0x603}, 0x11C3, PEBS | LATENCY | SHARED,
     {0xFFFF, 0xFFFF}, 0, 0, {0}, 0},
    {3, 0x2A, 7, 48, 0xF, 7, {0x07300403, 0, 0, 0x603}, 0x31C3, PEBS | LATENCY | STORE,
     {0x3F807F8FFF, 0x3F807F8FFF}, 0, 0, {0}, 0},
    {3, 0x3C, 3, 48, 0xF, 7, {0x07300403, 0, 0, 0x603}, 0x32C4, PEBS | LATENCY | TRANSACTIONS,
     {0x3FFFFF8FFF, 0x3FFFFF8FFF}, 0, 0, {0}, 0},
    {4, 0x5E, 3, 48, 0xF, 7, {0x07300404, 0, 0, 0x603}, 0x33C5, PEBS | LATENCY | TRANSACTIONS | TFA | STICKY,
     {0x3FFFFF8FFF, 0x3FFFFF8FFF}, 0x7FFF17, 0, {0}, 0},
    {4, 0x55, 4, 48, 0xF, 7, {0x07300404, 0, 0, 0x603}, 0x33C5, PEBS | LATENCY | TRANSACTIONS | TFA | STICKY,
     {0x3FFFFF8FFF, 0x3FFFFF8FFF}, 0x7FFF17, 0, {0}, 0},
    {5, 0x7E, 5, 48, 0xFF, 0xF, {0x08300805, 0, 0xF, 0x8604}, 0xF4C5, PEBS | LATENCY | STICKY,
     {0x3FFFFFBFFF, 0x3FFFFFBFFF}, 0x7FFF17, 0, {0}, 0},
    {6, 0xBD, 1, 48, 0x3FF, 0xF, {0x0D300806, 0x280, 7, 0x8603}, 0xF6C7, PEBS | LATENCY | STICKY,
     {0xFFFFFFFFFFF, 0xFFFFFFFFFFF}, 0x7FFF1F, 0x40000003, {0xB, 3, 0, 0x1DFF}, 0},
    {6, 0xBD, 1, 48, 0xFF, 0x77, {0x0D300806, 0x280, 7, 0x8603}, 0x76C7, PEBS | LATENCY | SNOOP,
     {0x800FF3FFFFFFFFFF, 0xFF3FFFFFFFFFF}, 0, 0x20000003, {0xF, 3, 8, 0x1F7F}, 0x3000000FC},
};
/* clang-format on */

/* models: of each part; format 2 is that of most Core 2 and Bonnell. */
static const struct branches_kind stacks[] = {
    {4, BRANCHES_PLAIN, 0x40, 0x60, 0, 0},           {4, BRANCHES_PLAIN, 0x40, 0x60, 0, 0},
    {4, BRANCHES_PLAIN, 0x40, 0x60, 0, 0},           {8, BRANCHES_PLAIN, 0x40, 0x60, 0, 0},
    {16, BRANCHES_MISSED, 0x680, 0x6C0, 0, 0x1C8},   {16, BRANCHES_MISSED, 0x680, 0x6C0, 0, 0x1C8},
    {16, BRANCHES_MISSED, 0x680, 0x6C0, 0, 0x1C8},   {16, BRANCHES_TSX, 0x680, 0x6C0, 0, 0x1C8},
    {32, BRANCHES_INFO, 0x680, 0x6C0, 0xDC0, 0x1C8}, {32, BRANCHES_INFO, 0x680, 0x6C0, 0xDC0, 0x1C8},
    {32, BRANCHES_INFO, 0x680, 0x6C0, 0xDC0, 0x1C8}, {32, BRANCHES_ARCH, 0x1500, 0x1600, 0x1200, 0},
    {32, BRANCHES_ARCH, 0x1500, 0x1600, 0x1200, 0},
};

/* One of each part. */
static const struct hardware_model models[] = {
    {"version 1", 1, {0}, {0}},
    {"merom", 2, {0, 1}, {0}},
    {"penryn", 4, {0, 1, 2, 3}, {0}},
    {"bonnell", 2, {0}, {0}},
    {"nehalem", 4, {0, 0, 1, 1}, {0}},
    {"westmere", 4, {0, 0, 1, 1}, {0}},
    {"sandy bridge", 4, {0, 0, 1, 1}, {0}},
    {"haswell", 4, {0, 0, 1, 1}, {0}},
    {"skylake", 4, {0, 0, 1, 1}, {0}},
    {"skylake-x", 4, {0, 0, 1, 1}, {0}},
    {"ice lake", 4, {0, 0, 1, 1}, {0}},
    {"lunar lake p", 4, {0, 1, 2, 3}, {0}},
    {"lunar lake e", 4, {0, 1, 2, 3}, {0}},
};

/* clang-format off */
enum kind { LEGACY, FULL, COUNTER, ALIAS, SELECT, ALIAS_SELECT, CAUSE, REFILL, CAPABILITIES, CONTROL, FLAGS,
            ENABLE, CLEAR, SET, IN_USE, PEBS_ENABLE, PEBS_CONFIG, DS_AREA, LOAD_LATENCY, FRONTEND, RESPONSE, METRICS,
            ABORT, DEBUGCTL, SNOOPING, MISC, KINDS };
/* clang-format on */

#define AT(field) offsetof(struct cpu, field)

static const struct row {
    uint32_t msr, count, distance, first;
    enum kind kind;
    uint32_t version; /* from which on (c 1.3, c 2) */
    size_t at;
} rows[] = {
    {0xC1, GENERAL, 1, 0, LEGACY, 1, AT(value)},
    {0x4C1, GENERAL, 1, 0, FULL, 1, AT(value)},
    {0x309, FIXED, 1, GENERAL, COUNTER, 2, AT(value)},
    {0x186, GENERAL, 1, 0, SELECT, 1, AT(select)},
    {0x1900, GENERAL, 4, 0, ALIAS, 6, AT(value)},
    {0x1901, GENERAL, 4, 0, ALIAS_SELECT, 6, AT(select)},
    {0x1902, GENERAL, 4, 0, CAUSE, 6, AT(cause)},
    {0x1903, GENERAL, 4, 0, REFILL, 6, AT(refill)},
    {0x1980, FIXED, 4, GENERAL, ALIAS, 6, AT(value)},
    {0x1982, FIXED, 4, GENERAL, CAUSE, 6, AT(cause)},
    {0x1983, FIXED, 4, GENERAL, REFILL, 6, AT(refill)},
    {0x345, 1, 1, 0, CAPABILITIES, 1, AT(capabilities)},
    {0x38D, 1, 1, 0, CONTROL, 2, AT(control)},
    {0x38E, 1, 1, 0, FLAGS, 2, AT(status)},
    {0x38F, 1, 1, 0, ENABLE, 2, AT(enable)},
    {0x390, 1, 1, 0, CLEAR, 2, AT(status)},
    {0x391, 1, 1, 0, SET, 4, AT(status)},
    {0x392, 1, 1, 0, IN_USE, 4, AT(status)},
    {0x3F1, 1, 1, 0, PEBS_ENABLE, 1, AT(pebs.enable)},
    {0x3F2, 1, 1, 0, PEBS_CONFIG, 1, AT(pebs.config)},
    {0x600, 1, 1, 0, DS_AREA, 1, AT(pebs.area)},
    {0x3F6, 1, 1, 0, LOAD_LATENCY, 1, AT(load_latency)},
    {0x3F7, 1, 1, 0, FRONTEND, 1, AT(frontend)},
    {0x1A6, 2, 1, 0, RESPONSE, 1, AT(response)},
    {0x329, 1, 1, 0, METRICS, 1, AT(metrics)},
    {0x10F, 1, 1, 0, ABORT, 1, AT(force_abort)},
    {0x1D9, 1, 1, 0, DEBUGCTL, 1, AT(debugctl)},
    {0x1328, 2, 1, 0, SNOOPING, 1, AT(snoop)},
    {0x1A0, 1, 1, 0, MISC, 1, AT(misc_enable)},
};

/* registers, row 1D9: 9 and 10 need DS-CPL.  (Where traces are not looked at, all are there.) */
static uint64_t trace_bits(const struct intel *intel)
{
    bool plain = intel->options.trace_ways & HARDWARE_TRACES_PLAIN, none = !(intel->part->flags & PEBS);
    if (!intel->options.traces)
        return TRACES_ON | TRACES_INTERRUPT | TRACES_OFF;
    return none ? 0 : TRACES_ON | TRACES_INTERRUPT | (plain ? 0 : TRACES_OFF);
}

/* Bits that can be written; 0: there is no such register (of those that are never written: any other value). */
static uint64_t writable(const struct intel *intel, enum kind kind, unsigned n)
{
    const struct part *part = intel->part;
    uint64_t all = part->general | (uint64_t)intel->fixed << 32, counter = exists(intel, n) ? width_mask(intel) : 0;
    bool fw_write = part->capabilities & BIT(13), baseline = part->capabilities & BIT(14); /* c 1.6 */
    bool any = part->version >= 3 && !(part->leaf_a[3] & BIT(15));                         /* m 3, m 12 */
    uint64_t metrics = (part->capabilities & BIT(15)) ? BIT(48) : 0, control = 0;
    uint64_t select = 0xFFFFFFFF & ~(any ? 0 : BIT(21)) & ~(part->version >= 6 ? BIT(19) : 0); /* m 12 */
    if (part->flags & TRANSACTIONS) /* m 3: bit 33 on counter 2 alone */
        select |= BIT(32) | (n == 2 ? BIT(33) : 0);
    select |= (baseline ? BIT(34) : 0) | ((part->leaf_23[1] & 1) ? BIT(48) - BIT(40) : 0);
    select |= (uint64_t)(part->leaf_23[1] & 6) << 35; /* c 1.4: EQ and RDPMC user disable */
    for (unsigned i = 0; i < FIXED; i++)              /* m 3, row 38D */
        if (intel->fixed >> i & 1)
            control |= (uint64_t)(any ? 15 : 11) << 4 * i | (baseline ? BIT(32 + 4 * i) : 0);
    uint64_t status = all | BIT(62) | BIT(63) | metrics | (part->version >= 3 ? BIT(61) : 0) | /* m 3, row 390 */
                      (part->version >= 4 ? BIT(58) | BIT(59) : 0);
    uint64_t pebs =
        baseline ? all : part->general | ((part->flags & LATENCY) ? (uint64_t)part->general << 32 : 0); /* c 14 */
    uint64_t reload = counter && (part->reload & counter_bit(n)) ? part->reload : 0;
    const uint64_t masks[KINDS] = {
        [LEGACY] = counter ? ~UINT64_C(0) : 0, /* m 3: any value */
        [FULL] = fw_write ? counter : 0,
        [COUNTER] = counter, /* m 3: a bit above the width faults */
        [ALIAS] = counter,
        [SELECT] = counter ? select : 0,
        [ALIAS_SELECT] = counter ? select : 0,
        [CAUSE] = reload,
        [REFILL] = reload ? 0xFFFFFFFF : 0,
        [CAPABILITIES] = intel->capabilities,
        [CONTROL] = control,
        [FLAGS] = status,
        [ENABLE] = all | metrics, /* c 5 */
        [CLEAR] = status,
        [SET] = status & ~BIT(63), /* m 12 */
        [IN_USE] = status,
        [PEBS_ENABLE] = (part->flags & PEBS) ? pebs | ((part->flags & STORE) ? BIT(63) : 0) : 0,
        [PEBS_CONFIG] = baseline ? 0xFF00000F | ((part->capabilities & 0xF00) == 0x600 ? 0xFFFFFF00000030 : 0) : 0,
        [DS_AREA] = (part->flags & PEBS) ? ~UINT64_C(0) : 0,
        [LOAD_LATENCY] = (part->flags & LATENCY) ? 0xFFFF : 0,
        [FRONTEND] = part->frontend,
        [RESPONSE] = part->response[n & 1],
        [METRICS] = metrics ? ~UINT64_C(0) : 0,
        [ABORT] = (part->flags & TFA) ? 1 : 0,
        [DEBUGCTL] = (intel->stack && intel->stack->format == BRANCHES_ARCH ? 2 : 3) | trace_bits(intel) |
                     (part->version >= 2 ? 0x1800 : 0) | ((part->capabilities & BIT(12)) << 2) |
                     ((part->flags & TRANSACTIONS) ? BIT(15) : 0), /* c 6, m 3 */
        [SNOOPING] = (part->flags & SNOOP) ? ~UINT64_C(0) : 0,
        [MISC] = ~UINT64_C(0),
    };
    return masks[kind];
}

static uint64_t *place_of(struct intel *intel, unsigned index, const struct row *row, unsigned n)
{
    for (unsigned i = 0; row->kind == RESPONSE && (intel->part->flags & SHARED) && i < index; i++)
        if (intel->model->core[i] == intel->model->core[index]) /* c 17: hyper-threads share OFFCORE_RSP */
            index = i;
    return (uint64_t *)(void *)((char *)&intel->cpu[index] + row->at) + row->first + n;
}

/* The register's row, its number n among those of the row, and what can be written; NULL: it faults (m 3). */
static const struct row *find(const struct intel *intel, uint32_t msr, unsigned *out_n, uint64_t *out_mask)
{
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t far = msr - rows[i].msr;
        *out_n = far / rows[i].distance;
        if (msr < rows[i].msr || far % rows[i].distance || *out_n >= rows[i].count)
            continue;
        *out_mask = intel->part->version >= rows[i].version ? writable(intel, rows[i].kind, rows[i].first + *out_n) : 0;
        return *out_mask ? &rows[i] : NULL;
    }
    return NULL;
}

/* c 17, models: hyper-threads of Nehalem and Westmere share the filter of branches, too. */
uint64_t *intel_select_of(struct intel *intel, unsigned index)
{
    for (unsigned i = 0; (intel->part->flags & SHARED) && i < index; i++)
        if (intel->model->core[i] == intel->model->core[index])
            index = i;
    return &intel->cpu[index].branches.select;
}

static enum branches_access access_stack(struct intel *intel, unsigned index, uint32_t msr, bool is_write,
                                         uint64_t *value)
{
    struct cpu *cpu = &intel->cpu[index];
    bool was = intel_stack_is_on(intel, cpu);
    enum branches_access access;
    if (!intel->stack)
        return BRANCHES_NO_REGISTER;
    if (intel->stack->select && msr == intel->stack->select) {
        if (is_write && (*value & ~UINT64_C(0x3FF))) /* registers, row 1C8 */
            return BRANCHES_REFUSED;
        if (is_write)
            *intel_select_of(intel, index) = *value;
        else
            *value = *intel_select_of(intel, index);
        return BRANCHES_DONE;
    }
    access = branches_access(intel->stack, &cpu->branches, msr, is_write, value);
    if (access == BRANCHES_CLEARED)
        intel->options.trace->cleared(index);
    if (was && !intel_stack_is_on(intel, cpu))
        intel->options.trace->stopped(index, false);
    return access;
}

static bool read_register(void *hardware, unsigned index, uint32_t msr, uint64_t *out_value)
{
    struct intel *intel = hardware;
    struct cpu *cpu = intel_enter(intel, index);
    unsigned n;
    uint64_t mask, used = 0, interrupts = cpu->pebs.enable;
    const struct row *row = find(intel, msr, &n, &mask);
    enum branches_access access = access_stack(intel, index, msr, false, out_value);
    if (access != BRANCHES_NO_REGISTER)
        return access != BRANCHES_REFUSED;
    if (!row)
        return false;
    if (row->kind <= ALIAS)
        intel_see(intel, index, row->first + n);
    *out_value = *place_of(intel, index, row, n);
    if (row->kind == CLEAR || row->kind == SET)
        *out_value = 0; /* m 12 */
    if (row->kind == FLAGS)
        *out_value &= ~cpu->hidden;
    for (unsigned counter = 0; counter < COUNTERS; counter++) { /* m 6 */
        bool set = counter < GENERAL ? (cpu->select[counter] & 0xFF) != 0 : (mode(cpu, counter) & 3) != 0;
        used |= set ? counter_bit(counter) : 0;
        interrupts |= mode(cpu, counter) & 8;
    }
    if (row->kind == IN_USE)
        *out_value = used | (interrupts ? BIT(63) : 0);
    return true;
}

/* r "Order of writes": a counter that still runs without the bit interrupts as an ordinary one. */
static void disarm(struct intel *intel, unsigned index, uint64_t enable)
{
    struct cpu *cpu = &intel->cpu[index];
    for (unsigned counter = 0; counter < COUNTERS; counter++)
        if ((cpu->pebs.armed & ~enable & counter_bit(counter)) && (mode(cpu, counter) & 3) &&
            (cpu->enable & counter_bit(counter)))
            intel_raise_interrupt(intel, cpu, counter);
    cpu->pebs.armed &= enable;
}

/* r, errata: Core 2 hangs with records beyond one page. */
static bool is_too_long(const struct intel *intel, unsigned index)
{
    const struct cpu *cpu = &intel->cpu[index];
    struct pebs_kind kind = intel_records(intel, cpu);
    return (intel->part->model == 0x0F || intel->part->model == 0x17) && cpu->pebs.enable &&
           pebs_buffer_bytes(&kind, &cpu->pebs, index) > 4096;
}

static bool write_register(void *hardware, unsigned index, uint32_t msr, uint64_t value)
{
    struct intel *intel = hardware;
    struct cpu *cpu = intel_enter(intel, index);
    unsigned n;
    uint64_t mask;
    const struct row *row = find(intel, msr, &n, &mask);
    bool was = intel_stack_is_on(intel, cpu);
    intel_land(intel, index);
    intel_land_trace(intel, index);
    enum branches_access access = access_stack(intel, index, msr, true, &value);
    if (access != BRANCHES_NO_REGISTER)
        return access != BRANCHES_REFUSED;
    if (!row || (value & ~mask) || row->kind == CAPABILITIES || row->kind == FLAGS || row->kind == IN_USE)
        return false; /* m 3 */
    if (row->kind == DS_AREA && (uint64_t)((int64_t)(value << 16) >> 16) != value)
        return false;        /* m 3: not canonical */
    if (row->kind == LEGACY) /* m 3 */
        value = (uint64_t)(int64_t)(int32_t)(uint32_t)value & width_mask(intel);
    if (row->kind == MISC) /* m 3: what says which facilities there are stays */
        value = (value & ~UINT64_C(0x1880)) | (cpu->misc_enable & 0x1880);
    bool third = row->kind == CLEAR && (cpu->status & value & BIT(34));
    if (row->kind == CLEAR)
        cpu->hidden &= ~value, cpu->pebs.instead &= ~value;
    if (row->kind == CLEAR) /* m 6 */
        value = cpu->status & ~value;
    if (row->kind == SET)
        value |= cpu->status;
    if (row->kind == PEBS_ENABLE)
        disarm(intel, index, value);
    uint64_t dropped = row->kind == DEBUGCTL && (intel->options.trace_ways & HARDWARE_TRACES_DROPS)    ? TRACES_ON
                       : row->kind == DS_AREA && (intel->options.trace_ways & HARDWARE_TRACES_NO_AREA) ? ~UINT64_C(0)
                                                                                                       : 0;
    if (intel->options.traces)
        value = (value & ~dropped) | (*place_of(intel, index, row, n) & dropped);
    if (row->kind == ENABLE && value && is_too_long(intel, index))
        intel->damage = "GLOBAL_CTRL is written with a buffer of PEBS records beyond one page: the CPU hangs";
    *place_of(intel, index, row, n) = value;
    if (was && !intel_stack_is_on(intel, cpu))
        intel->options.trace->stopped(index, false);
    if (third && (intel->part->flags & STICKY) && intel->options.late && (mode(cpu, GENERAL + 2) & 8)) {
        cpu->repeated = !cpu->repeated && next_random(&intel->random) % 4 == 0;
        cpu->status |= cpu->repeated ? BIT(34) : 0; /* Q-B11: once more, though it was loaded again */
        if (cpu->repeated)
            intel_raise_interrupt(intel, cpu, GENERAL + 2);
    }
    return true;
}

static bool read_counter(void *hardware, unsigned index, uint32_t selector, uint64_t *out_value)
{
    struct intel *intel = hardware;
    struct cpu *cpu = intel_enter(intel, index);
    uint32_t n = selector & 0xFFFF, type = selector >> 16, counter = type ? GENERAL + n : n; /* m 9 */
    if (selector == BIT(29) && (intel->part->capabilities & BIT(15))) {
        *out_value = cpu->metrics;
        return true;
    }
    if ((type != 0 && type != 0x4000) || n >= (type ? FIXED : GENERAL) || !exists(intel, counter))
        return false;
    intel_see(intel, index, counter);
    *out_value = cpu->value[counter];
    return true;
}

static bool interrupt(void *hardware, unsigned index)
{
    struct cpu *cpu = intel_enter(hardware, index);
    bool delivered = cpu->asserted;
    cpu->asserted = false;
    cpu->masked |= delivered; /* m 7 */
    return delivered;
}

static void rearm(void *hardware, unsigned index)
{
    ((struct intel *)hardware)->cpu[index].masked = false;
}

static void reset(void *hardware, unsigned index, bool shared)
{
    struct intel *intel = hardware;
    struct cpu *cpu = &intel->cpu[index];
    uint64_t first = cpu->response[0], second = cpu->response[1];
    struct pebs before = cpu->pebs;
    struct branches stack = cpu->branches;
    uint64_t denied = intel->options.traces && (intel->options.trace_ways & HARDWARE_TRACES_DENIED) ? 0x800 : 0;
    *cpu = (struct cpu){.enable = intel->part->general,
                        .capabilities = intel->capabilities,
                        .misc_enable = 0x80 | ((intel->part->flags & PEBS) ? 0 : 0x1800) | denied,
                        .masked = true}; /* m 2, c 1.1 */
    memcpy(cpu->pebs.ordinal, before.ordinal, sizeof before.ordinal);
    cpu->branches.taken = stack.taken;
    cpu->branches.depth = intel->stack ? intel->stack->depth : 0;
    if (intel->stack)
        intel->options.trace->cleared(index);
    if (intel->options.no_snapshots && intel->part->version >= 6)
        cpu->capabilities -= 0x100;
    if ((intel->part->flags & SHARED) && !shared)
        cpu->response[0] = first, cpu->response[1] = second, cpu->branches.select = stack.select;
    for (unsigned counter = 0; counter < COUNTERS; counter++) {
        if (intel->options.garbage && exists(intel, counter)) /* m 2: undefined by the text of 2016 */
            cpu->value[counter] = next_random(&intel->random) & width_mask(intel);
        intel->watch[index][counter].on = false;
    }
}

static void init(void *hardware, unsigned model, uint64_t seed, const struct hardware_options *options)
{
    struct intel *intel = hardware;
    *intel =
        (struct intel){.part = &parts[model], .model = &models[model], .random = seed, .fixed = parts[model].fixed,
                       .full_at_maximum = seed * UINT64_C(0x9E3779B97F4A7C15) >> 40 & 1};
    intel->capabilities = parts[model].capabilities;
    if (options)
        intel->options = *options;
    if (intel->options.trace) {
        intel->stack = &stacks[model];
        intel->capabilities |= intel->stack->format == BRANCHES_PLAIN ? BRANCHES_PLAIN : 0;
    }
    if (intel->options.hypervisor && parts[model].version < 5) /* Q-A1, Q-E6: there it is what CPUID says */
        intel->fixed &= (1u << (parts[model].leaf_a[3] & 31)) - 1;
    for (unsigned cpu = 0; cpu < models[model].cpus; cpu++)
        reset(intel, cpu, true);
}

/* m 10 (what firmware leaves), R5; and PEBS_ENABLE, which a kernel that is gone left set. */
static void leave(void *hardware, unsigned index, uint64_t seed)
{
    static const uint32_t selects_left[] = {0x53003C, 0x4300C0, 0x5100C4, 0x03003C, 0x41412E, 0x430000};
    struct intel *intel = hardware;
    struct cpu *cpu = &intel->cpu[index];
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned n;
        uint64_t mask, some = next_random(&seed) & next_random(&seed) & next_random(&seed);
        const struct row *row = find(intel, rows[i].msr, &n, &mask);
        bool plain = row && (row->kind == CONTROL ||
                             (row->kind >= ENABLE && row->kind != SET && row->kind != IN_USE && row->kind != MISC));
        if (plain)
            *place_of(intel, index, row, n) = some & mask;
    }
    cpu->control &= ~(UINT64_C(0x44444444) | 0xFFFFFFFF00000000);
    cpu->debugctl &= intel->options.own_interrupts ? 0x801 : 0x1801;
    uint64_t more = TRACES_INTERRUPT | (intel->options.trace_ways & HARDWARE_TRACES_LEFT ? TRACES_OFF : 0);
    if (intel_can_trace(intel) && next_random(&seed) % 3 == 0) /* into memory of a kernel that is gone */
        cpu->debugctl |= TRACES_ON | (next_random(&seed) & more & trace_bits(intel));
    if (intel->stack)
        branches_leave(intel->stack, &cpu->branches, cpu->pebs.area);
    if (intel->stack && intel->stack->format == BRANCHES_ARCH)
        cpu->debugctl &= ~BIT(0);
    cpu->pebs.area = cpu->pebs.area >> 30 << 12; /* m 3: canonical */
    cpu->pebs.config &= 0xFF00000F;
    for (unsigned counter = 0; counter < COUNTERS; counter++) {
        bool select = counter < GENERAL && exists(intel, counter) && next_random(&seed) % 4 == 0;
        if (select)
            cpu->select[counter] = selects_left[next_random(&seed) % 6];
        bool runs = (mode(cpu, counter) & 3) != 0; /* such a counter stays far from its overflow and writes no record */
        cpu->pebs.enable &= ~(runs ? counter_bit(counter) : 0);
        cpu->value[counter] = exists(intel, counter) ? next_random(&seed) & (runs ? 0xFFFFFFFF : width_mask(intel)) : 0;
        bool reloads = !runs && (intel->part->reload & counter_bit(counter)) && next_random(&seed) % 8 == 0;
        cpu->cause[counter] = reloads ? intel->part->reload : 0;
        cpu->refill[counter] = reloads ? 0xFFFFFF00 : 0;
    }
}

static void cpuid(void *hardware, unsigned index, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct intel *intel = hardware;
    const struct part *part = intel->part;
    (void)index;
    bool v6 = part->version >= 6;
    uint32_t reload = (uint32_t)part->reload, reload_fixed = (uint32_t)(part->reload >> 32);
    bool arch = intel->stack && intel->stack->format == BRANCHES_ARCH;
    unsigned stepping = intel->stack && part->model == 0x1C ? 8 : 0; /* r, errata: Bonnell from stepping 10 on */
    unsigned ways = intel->options.traces ? intel->options.trace_ways : HARDWARE_TRACES_PLAIN;
    uint64_t store = ways & HARDWARE_TRACES_NARROW ? 0 : BIT(2); /* registers, row 600: DTES64; row 1D9: DS-CPL */
    store |= ways & HARDWARE_TRACES_PLAIN ? 0 : BIT(4);
    uint32_t lines[][6] = {
        /* c 1.1, c 1.4, c 1.5 */
        {0, 0, v6 ? 0x23 : 0xD, 0x756E6547, 0x6C65746E, 0x49656E69},
        {1, 0, (part->model & 0xF0u) << 12 | 0x600 | (part->model & 0xFu) << 4 | (part->stepping | stepping), 0,
         (intel->capabilities ? BIT(15) : 0) | (intel->options.hypervisor ? BIT(31) : 0) |
             ((part->flags & PEBS) ? store : 0),
         0x220 | ((part->flags & PEBS) ? BIT(21) : 0)},
        {7, 0, v6, (part->flags & TRANSACTIONS) ? 0x810 : 0, 0,
         ((part->flags & TFA) ? BIT(13) : 0) | (v6 ? BIT(15) : 0) | (arch ? BIT(19) : 0)},
        {7, 1, v6 ? BIT(8) : 0, 0, 0, 0},
        {0xA, 0, part->leaf_a[0], part->leaf_a[1], part->leaf_a[2], part->leaf_a[3]},
        {0x1A, 0, part->core_type, 0, 0, 0},
        /* models: depth 32; filters of rings and kinds; mispredictions, cycles, types (two: knowledge). */
        {0x1C, 0, arch ? 0x8 : 0, arch ? 3 : 0, arch ? 7 : 0, 0},
        {0x23, 0, part->leaf_23[0], part->leaf_23[1], part->leaf_23[2], 0},
        {0x23, 1, v6 ? part->general : 0, v6 ? part->fixed : 0, 0, 0},
        {0x23, 2, reload, reload_fixed, reload, reload_fixed},
        {0x23, 3, part->leaf_23[3], 0, 0, 0},
        {0x40000000, 0, intel->options.hypervisor ? 0x40000000 : 0, 0, 0, 0},
    };
    for (unsigned i = 0; i < 4; i++) {
        out[i] = 0;
        for (unsigned line = 0; line < sizeof lines / sizeof lines[0]; line++)
            if (lines[line][0] == leaf && (lines[line][1] == subleaf || (leaf != 7 && leaf != 0x23)))
                out[i] = lines[line][2 + i];
    }
}

static struct watch *watch_of(struct intel *intel, unsigned index, unsigned number, unsigned *out_counter)
{
    *out_counter = number < 16 ? number : number - 16 + GENERAL;
    return &intel->watch[index][*out_counter];
}

static uint64_t watchdog_cycles(void *hardware, unsigned index, unsigned number)
{
    struct intel *intel = hardware;
    unsigned counter;
    struct watch *watch = watch_of(intel, index, number, &counter);
    return watch->counted + (watch->on ? (intel->cpu[index].value[counter] - watch->start) & width_mask(intel) : 0);
}

/* The host's own driver: select, GLOBAL_CTRL and the value, as any driver has to write them (c 8). */
static bool watchdog(void *hardware, unsigned index, unsigned number, bool on, bool interrupts, uint64_t period)
{
    struct intel *intel = hardware;
    struct cpu *cpu = &intel->cpu[index];
    unsigned counter = number < 16 ? number : number - 16 + GENERAL, shift = 4 * (counter - GENERAL);
    if (counter >= COUNTERS || (number < 16 && number >= GENERAL) || !exists(intel, counter))
        return false;
    if ((counter > GENERAL + 1 || counter == GENERAL) || (counter == 3 && (intel->part->flags & TFA)))
        return false; /* it counts something else */
    struct watch *watch = &intel->watch[index][counter];
    uint64_t bit = counter_bit(counter);
    cpu->enable &= ~bit;
    if (!on && intel->part->version > 1 && period)
        ; /* its gate is enough (c 5); the select goes with the next driver's */
    else if (counter < GENERAL)
        cpu->select[counter] = on ? 0x43003C | (interrupts ? BIT(20) : 0) : 0;
    else
        cpu->control = (cpu->control & ~(UINT64_C(15) << shift)) | (uint64_t)(on ? interrupts ? 11 : 3 : 0) << shift;
    uint64_t counted = on ? 0 : watchdog_cycles(hardware, index, number);
    *watch = (struct watch){on, interrupts, (0 - period) & width_mask(intel), counted};
    if (!on)
        return true;
    cpu->pebs.enable &= ~bit; /* c 9.5 item 1; it may be what a kernel that is gone left */
    cpu->pebs.armed &= ~bit;
    cpu->cause[counter] = 0;
    cpu->value[counter] = watch->start;
    cpu->status &= ~bit;
    cpu->enable |= bit;
    cpu->masked &= !interrupts;
    return true;
}

static bool watchdog_interrupt(void *hardware, unsigned index, unsigned number)
{
    struct intel *intel = hardware;
    struct cpu *cpu = &intel->cpu[index];
    unsigned counter;
    struct watch *watch = watch_of(intel, index, number, &counter);
    if (!watch->on || !watch->interrupts || (cpu->value[counter] >> (intel->part->width - 1) & 1))
        return false;
    watch->counted = watchdog_cycles(hardware, index, number);
    cpu->value[counter] = watch->start;
    cpu->status &= ~counter_bit(counter);
    cpu->hidden &= ~counter_bit(counter);
    cpu->masked = false;
    return true;
}

static const char *damage(void *hardware)
{
    return ((struct intel *)hardware)->damage;
}

/* What a driver of counters leaves alone is not owned (R5, R25). */
static unsigned registers(void *hardware, unsigned index, struct hardware_register *out, unsigned room)
{
    struct intel *intel = hardware;
    unsigned found = 0, n;
    uint64_t traced = intel->options.traces ? TRACES_ON | TRACES_INTERRUPT | TRACES_OFF : 0;
    (void)index;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned k = 0; k < rows[i].count && found < room; k++) {
            enum kind kind = rows[i].kind;
            struct hardware_register it = {.msr = rows[i].msr + k * rows[i].distance, .owned = 0};
            if (!find(intel, it.msr, &n, &it.owned))
                continue;
            it.counter = kind <= ALIAS || kind == FLAGS || kind == IN_USE || kind == METRICS;
            it.shared = kind == RESPONSE && (intel->part->flags & SHARED);
            it.owned &= kind == DEBUGCTL ? (intel->stack ? 0x1801 : 0x1800) | traced : ~UINT64_C(0);
            bool records =
                (kind == DS_AREA || kind == PEBS_CONFIG) && !intel->options.memory && !(kind == DS_AREA && traced);
            if (kind == CAPABILITIES || kind == FLAGS || kind == IN_USE || records || kind == MISC)
                it.owned = 0;
            out[found++] = it;
        }
    if (intel->stack)
        found += branches_registers(intel->stack, out + found, room - found, (intel->part->flags & SHARED) != 0);
    return found;
}

static void branch(void *hardware, unsigned index, bool user, unsigned count)
{
    intel_branch(hardware, index, user, count);
}

static unsigned depth(const void *hardware)
{
    const struct intel *intel = hardware;
    return intel->stack ? intel->stack->depth : 0;
}

static const char *specification(void *hardware, enum hardware_event event)
{
    const struct part *part = ((struct intel *)hardware)->part;
    static const char *const words[] = {"raw:config=0x3c",   "raw:config=0xc0",   "raw:config=0xc4", "raw:config=0xc5",
                                        "raw:config=0x4f2e", "raw:config=0x412e", "raw:config=0x13c"};
    if (event == HARDWARE_BRANCH_MISSES && part->model == 0x1A)
        return "raw:config=0x7f89"; /* Q-B1 */
    if (event == HARDWARE_REFERENCE_CYCLES &&
        part->version < 6) /* README.md of facts/intel: 00/03 is fixed counter 2 */
        return ((struct intel *)hardware)->fixed & 4 ? "raw:config=0x300" : NULL;
    return words[event];
}

/* foreign.md 6.1: while its flag is there a counter interrupts no more.  r 2: nor does one before its record. */
static bool untold(const void *hardware, unsigned index)
{
    const struct cpu *cpu = &((const struct intel *)hardware)->cpu[index];
    return cpu->hidden != 0 || cpu->pebs.armed || cpu->pebs.bytes;
}

const struct hardware_family hardware_intel = {
    "intel",
    models,
    sizeof models / sizeof models[0],
    sizeof(struct intel),
    init,
    reset,
    leave,
    cpuid,
    read_register,
    write_register,
    read_counter,
    intel_happen,
    interrupt,
    rearm,
    watchdog,
    watchdog_cycles,
    watchdog_interrupt,
    damage,
    registers,
    specification,
    untold,
    NULL,
    branch,
    depth,
};
