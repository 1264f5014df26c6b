/* SPDX-License-Identifier: MIT */
/*
 * P6 and Core Duo: two counters of 40 bits, one enable bit in select 0 for both, no status
 * register.  From facts/intel: "m 3" is mock_semantics.md section 3, "c 16" intel_core.md
 * section 16; "R1" a ruling.  Events: intel_generic_map.csv, rows p6 and core_yonah.
 * Not here: LBR, bus events, the user-mode RDPMC of early Pentium Pros (Q-E5).
 */
#include "tests/host/hardware.h"

#define COUNTERS 2
#define WIDTH_MASK ((UINT64_C(1) << 40) - 1)
#define ENABLE (UINT64_C(1) << 22)
#define INTERRUPT (UINT64_C(1) << 20)
#define NOTHING 0x2Eu /* c 8: L2_RQSTS without a unit mask */

static const struct part {
    uint32_t signature, leaf_a;
    bool architectural; /* version 1: CPUID leaf 0AH, PDCM (m 1), no fast RDPMC (c 10) */
    uint16_t codes[HARDWARE_EVENTS];
} parts[] = {
    {0x683, 0, false, {0x79, 0xC0, 0xC4, 0xC5, 0x0F2E, 0x012E, 0}},
    {0x6D6, 0, false, {0x79, 0xC0, 0xC4, 0xC5, 0x0F2E, 0x012E, 0}},
    {0x6E8, 0x07280201, true, {0x3C, 0xC0, 0xC4, 0xC5, 0x4F2E, 0x412E, 0}},
};

/* One of each part. */
static const struct hardware_model models[] = {
    {"pentium iii", 2, {0, 1}, {0}},
    {"pentium m", 1, {0}, {0}},
    {"core duo", 2, {0, 1}, {0}},
};

struct cpu {
    uint64_t value[COUNTERS], select[COUNTERS], debugctl;
    uint8_t due[COUNTERS]; /* calls until a late interrupt comes */
    bool masked, asserted;
};

struct p6 {
    const struct part *part;
    const struct hardware_model *model;
    struct hardware_options options;
    uint64_t random;
    struct cpu cpu[HARDWARE_CPUS];
    struct watch {
        bool on, interrupts;
        uint64_t start, counted;
    } watch[HARDWARE_CPUS][COUNTERS];
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t mixed = (*state += UINT64_C(0x9E3779B97F4A7C15));
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ mixed >> 31;
}

/* A call of the fake for this CPU: late interrupts come nearer (m 10); a masked one is dropped (m 7). */
static struct cpu *enter(struct p6 *p6, unsigned index)
{
    struct cpu *cpu = &p6->cpu[index];
    for (unsigned counter = 0; counter < COUNTERS; counter++)
        if (cpu->due[counter] && --cpu->due[counter] == 0)
            cpu->asserted |= !cpu->masked;
    return cpu;
}

/* The register and what can be written (m 3); NULL: it faults. */
static uint64_t *find(struct cpu *cpu, uint32_t msr, uint64_t *out_mask)
{
    *out_mask = msr <= 0xC2 ? ~UINT64_C(0) : 0xFFDFFFFF; /* m 3: bit 21 and 63:32 of a select are reserved */
    if (msr == 0xC1 || msr == 0xC2)
        return &cpu->value[msr - 0xC1];
    if (msr == 0x186 || msr == 0x187)
        return &cpu->select[msr - 0x186];
    *out_mask = 0x7C3; /* m 3: bits 11 and 12 are version 2's */
    return msr == 0x1D9 ? &cpu->debugctl : NULL;
}

static bool read_register(void *hardware, unsigned index, uint32_t msr, uint64_t *out_value)
{
    struct p6 *p6 = hardware;
    uint64_t mask, *value = find(enter(p6, index), msr, &mask);
    bool capabilities = msr == 0x345 && p6->part->architectural; /* c 1.6 */
    *out_value = value ? *value : 0;
    return value || capabilities;
}

static bool write_register(void *hardware, unsigned index, uint32_t msr, uint64_t value)
{
    struct p6 *p6 = hardware;
    uint64_t mask, *place = find(enter(p6, index), msr, &mask);
    if (!place || (value & ~mask))
        return false;
    if (msr <= 0xC2) /* m 3: the low half, sign extended */
        value = (uint64_t)(int64_t)(int32_t)(uint32_t)value & WIDTH_MASK;
    *place = value;
    return true;
}

static bool read_counter(void *hardware, unsigned index, uint32_t selector, uint64_t *out_value)
{
    struct p6 *p6 = hardware;
    struct cpu *cpu = enter(p6, index);
    bool fast = selector >> 31;
    selector &= 0x7FFFFFFF;
    if (selector >= COUNTERS || (fast && p6->part->architectural))
        return false;                                                     /* m 9 */
    *out_value = cpu->value[selector] & (fast ? 0xFFFFFFFF : WIDTH_MASK); /* c 10 */
    return true;
}

/* m 4: EN of select 0 is both counters' (c 16, R1), the rings are each counter's own. */
static bool counts(const struct p6 *p6, const struct cpu *cpu, unsigned counter, enum hardware_event event, bool user)
{
    uint64_t select = cpu->select[counter], least = select >> 24 & 0xFF;
    if (!(cpu->select[0] & ENABLE) || !(select >> (user ? 16 : 17) & 1))
        return false;
    if (least > 1 || (least == 1 && (select >> 23 & 1))) /* m 4.5: one event happens a cycle */
        return false;
    return p6->part->codes[event] && (select & 0xFFFF) == p6->part->codes[event];
}

static void happen(void *hardware, unsigned index, enum hardware_event event, bool user, uint64_t count)
{
    struct p6 *p6 = hardware;
    struct cpu *cpu = enter(p6, index);
    for (unsigned counter = 0; counter < COUNTERS; counter++) {
        if (!count || !counts(p6, cpu, counter, event, user))
            continue;
        uint64_t added = cpu->select[counter] >> 18 & 1 ? 1 : count, before = cpu->value[counter]; /* m 4.5: edge */
        cpu->value[counter] = (before + added) & WIDTH_MASK;
        if (before + added <= WIDTH_MASK || !(cpu->select[counter] & INTERRUPT)) /* m 5 */
            continue;
        uint64_t calls = p6->options.late ? next_random(&p6->random) % 256 % (p6->options.late + 1u) : 0;
        if (!calls)
            cpu->asserted |= !cpu->masked;
        else if (!cpu->due[counter])
            cpu->due[counter] = (uint8_t)calls;
    }
}

static bool interrupt(void *hardware, unsigned index)
{
    struct cpu *cpu = enter(hardware, index);
    bool delivered = cpu->asserted;
    cpu->asserted = false;
    cpu->masked |= delivered; /* m 7 */
    return delivered;
}

static void rearm(void *hardware, unsigned index)
{
    ((struct p6 *)hardware)->cpu[index].masked = false;
}

static void reset(void *hardware, unsigned index, bool shared)
{
    struct p6 *p6 = hardware;
    (void)shared;
    p6->cpu[index] = (struct cpu){.masked = true}; /* m 2 */
    for (unsigned counter = 0; counter < COUNTERS; counter++) {
        if (p6->options.garbage) /* m 2 */
            p6->cpu[index].value[counter] = next_random(&p6->random) & WIDTH_MASK;
        p6->watch[index][counter].on = false;
    }
}

static void init(void *hardware, unsigned model, uint64_t seed, const struct hardware_options *options)
{
    struct p6 *p6 = hardware;
    *p6 = (struct p6){.part = &parts[model], .model = &models[model], .random = seed};
    if (options)
        p6->options = *options;
    for (unsigned cpu = 0; cpu < models[model].cpus; cpu++)
        reset(p6, cpu, true);
}

/* m 10: selects of firmware, running or not; what runs is far from its overflow. */
static void leave(void *hardware, unsigned index, uint64_t seed)
{
    struct p6 *p6 = hardware;
    struct cpu *cpu = &p6->cpu[index];
    static const uint32_t left[] = {0, 0, 0x53003C, 0x4300C0, 0x0300C4, 0x130079, 0x40002E, 0x41412E};
    for (unsigned counter = 0; counter < COUNTERS; counter++) {
        cpu->select[counter] = left[next_random(&seed) % 8];
        cpu->value[counter] = next_random(&seed) & 0xFFFFFFFF;
    }
    if (!(cpu->select[0] & ENABLE))
        cpu->value[next_random(&seed) % COUNTERS] = WIDTH_MASK - next_random(&seed) % 16;
    cpu->debugctl = next_random(&seed) & 1; /* Q-E3 */
    cpu->masked = true;
}

static void cpuid(void *hardware, unsigned index, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct p6 *p6 = hardware;
    (void)index;
    (void)subleaf;
    out[0] = out[1] = out[2] = out[3] = 0;
    if (leaf == 0) {
        out[0] = p6->part->architectural ? 0xA : 2, out[1] = 0x756E6547, out[2] = 0x6C65746E, out[3] = 0x49656E69;
    } else if (leaf == 1) {
        out[0] = p6->part->signature;
        out[2] = (p6->part->architectural ? 1u << 15 : 0) | (p6->options.hypervisor ? 1u << 31 : 0);
        out[3] = 0x220;
    } else if (leaf == 0xA) {
        out[0] = p6->part->leaf_a;
    } else if (leaf == 0x40000000 && p6->options.hypervisor) {
        out[0] = leaf;
    }
}

static uint64_t watchdog_cycles(void *hardware, unsigned index, unsigned counter)
{
    struct p6 *p6 = hardware;
    struct watch *watch = &p6->watch[index][counter];
    return watch->counted + (watch->on ? (p6->cpu[index].value[counter] - watch->start) & WIDTH_MASK : 0);
}

/* The host's own driver keeps the common enable as it finds it while the other counter needs it (R1, c 8). */
static bool watchdog(void *hardware, unsigned index, unsigned counter, bool on, bool interrupts, uint64_t period)
{
    struct p6 *p6 = hardware;
    if (counter >= COUNTERS)
        return false;
    struct cpu *cpu = &p6->cpu[index];
    struct watch *watch = &p6->watch[index][counter];
    uint64_t other = cpu->select[1 - counter] & 0xFFFF, word = 0x30000u | p6->part->codes[HARDWARE_CYCLES];
    uint64_t counted = on ? 0 : watchdog_cycles(hardware, index, counter);
    *watch = (struct watch){on, interrupts, interrupts ? (0 - period) & WIDTH_MASK : 0, counted};
    word = on ? word | (interrupts ? INTERRUPT : 0) : NOTHING;
    if (on)
        cpu->value[counter] = watch->start;
    if (counter == 0) {
        bool needed = (cpu->select[0] & ENABLE) && other && other != NOTHING;
        cpu->select[0] = on || needed ? word | ENABLE : 0;
    } else {
        cpu->select[1] = word | (cpu->select[1] & ENABLE); /* c 16: EN of select 1 does nothing */
        if (on && !(cpu->select[0] & ENABLE))
            cpu->select[0] = NOTHING | ENABLE;
    }
    cpu->masked &= !(on && interrupts);
    return true;
}

static bool watchdog_interrupt(void *hardware, unsigned index, unsigned counter)
{
    struct p6 *p6 = hardware;
    struct cpu *cpu = &p6->cpu[index];
    struct watch *watch = &p6->watch[index][counter];
    if (!watch->on || !watch->interrupts || (cpu->value[counter] >> 31 & 1)) /* c 9.1: bit 31 tells */
        return false;
    watch->counted = watchdog_cycles(hardware, index, counter);
    cpu->value[counter] = watch->start;
    cpu->masked = false;
    return true;
}

static const char *damage(void *hardware)
{
    (void)hardware;
    return NULL;
}

static unsigned registers(void *hardware, unsigned index, struct hardware_register *out, unsigned room)
{
    static const uint32_t msrs[] = {0xC1, 0xC2, 0x186, 0x187, 0x1D9, 0x345};
    const struct p6 *p6 = hardware;
    unsigned found = 0;
    (void)index;
    for (unsigned i = 0; i < (p6->part->architectural ? 6 : 5) && found < room; i++) /* LBR's register is not owned */
        out[found++] = (struct hardware_register){msrs[i], i < 2 ? ~UINT64_C(0) : i < 4 ? 0xFFDFFFFF : 0, i < 2, false};
    return found;
}

static const char *specification(void *hardware, enum hardware_event event)
{
    static const char *const p6[HARDWARE_EVENTS] = {"raw:config=0x79", "raw:config=0xc0",  "raw:config=0xc4",
                                                    "raw:config=0xc5", "raw:config=0xf2e", "raw:config=0x12e"};
    static const char *const duo[HARDWARE_EVENTS] = {"raw:config=0x3c", "raw:config=0xc0",   "raw:config=0xc4",
                                                     "raw:config=0xc5", "raw:config=0x4f2e", "raw:config=0x412e"};
    return ((struct p6 *)hardware)->part->architectural ? duo[event] : p6[event];
}

const struct hardware_family hardware_p6 = {
    "p6",
    models,
    sizeof models / sizeof models[0],
    sizeof(struct p6),
    init,
    reset,
    leave,
    cpuid,
    read_register,
    write_register,
    read_counter,
    happen,
    interrupt,
    rearm,
    watchdog,
    watchdog_cycles,
    watchdog_interrupt,
    damage,
    registers,
    specification,
    NULL,
    NULL,
    NULL,
    NULL,
};
