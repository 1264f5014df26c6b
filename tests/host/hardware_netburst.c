/* SPDX-License-Identifier: MIT */
/*
 * NetBurst's counters for the simulated host: Pentium 4 with one hyper-thread, and with two that share all of them.
 * From facts/p4 alone.  Where a rule was read: P6 is section 6 of p4.md, "msrs", "events" and "masks" are the row in
 * p4_msrs.csv, p4_events.csv and p4_event_masks.csv.  Left out: tagging, last branches, the L3's counters.
 */
#include "tests/host/hardware.h"

#include <string.h>

#define BIT(n) (UINT64_C(1) << (n))
#define COUNTERS 18 /* P2 */
#define VALUE (BIT(40) - 1)
#define ESCRS 0x42               /* addresses 3A0h to 3E1h */
#define EXTENDED_CASCADE BIT(11) /* P6 */
#define ENABLE BIT(12)
#define COMPARE BIT(18)
#define COMPLEMENT BIT(19)
#define EDGE BIT(24)
#define FORCE_OVF BIT(25)
#define OVF_PMI BIT(26) /* to logical processor 0; bit 27 to 1 */
#define CASCADE BIT(30)
#define OVF BIT(31)
#define FAULTING_MISC UINT64_C(0xdc10f800) /* P1: bits 11-15, 20, 26-28, 30, 31 */

static const struct hardware_model models[] = {
    {"willamette", 1, {0}, {0}},
    {"northwood", 1, {0}, {0}},
    {"northwood-ht", 2, {0, 0}, {0, 0}},
    {"prescott", 1, {0}, {0}},
    {"prescott-ht", 2, {0, 0}, {0, 0}},
    {"smithfield", 2, {0, 1}, {0, 0}},
    {"nocona-2-ht", 4, {0, 0, 1, 1}, {0, 0, 1, 1}},
    {"presler-ht", 4, {0, 0, 1, 1}, {0, 0, 0, 0}},
};
static const uint32_t signatures[] = {0xf12, 0xf29, 0xf29, 0xf34, 0xf43, 0xf47, 0xf41, 0xf64}; /* P1 */

/* P4: the first of the two ESCRs that a select means to counters 0-3, 4-7, 8-11, 12-17; 0: not wired. */
static const uint16_t wires[4][8] = {
    {0x3b2, 0x3b4, 0x3aa, 0x3b6, 0x3ac, 0x3c8, 0x3a2, 0x3a0},
    {0x3c0, 0x3c4, 0x3c2},
    {0x3a6, 0x3a4, 0x3ae, 0x3b0, 0, 0x3a8},
    {0x3ba, 0x3ca, 0x3bc, 0x3be, 0x3b8, 0x3cc, 0x3e0},
};

/* msrs: writable bits of each pair of ESCRs from 3A0h; those of IQ (3BAh) up to model 2. */
static const uint32_t escr_bits[ESCRS / 2] = {
    0x7fffffff, 0x3fffffff, 0x7fffffff, 0x7fffffff, 0x1e01fe0f, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x0e3ffe0f,
    0x1e03ffff, 0x0e01fe0f, 0x70000e1f, 0x0e01fe0f, 0x7fffffff, 0x7fffffff, 0x7fffffff, 0x1e007e1f, 0x0e01fe0f,
    0x1e07fe0f, 0,          0x0e01fe0f, 0x0ffffe0f, 0x1e0ffe0f, 0,          0,          0,          0,
    0,          0,          0,          0,          0,          0x0e00fe0f};

/* events, masks: a branch is taken and predicted (MMTP); a reference of the cache hits E; words by P5, P6. */
static const struct encoding {
    uint16_t escr; /* the even one */
    uint8_t event, mask_bit;
    const char *word;
} encodings[] = {
    [HARDWARE_CYCLES] = {0x3a2, 0x13, 0, "raw:escr=0x2600020c:cccr=0x3d000"},
    [HARDWARE_INSTRUCTIONS] = {0x3b8, 0x02, 0, "raw:escr=0x400020c:cccr=0x39000"},
    [HARDWARE_BRANCHES] = {0x3cc, 0x06, 2, "raw:escr=0xc001e0c:cccr=0x3b000"},
    [HARDWARE_BRANCH_MISSES] = {0x3b8, 0x03, 0, "raw:escr=0x600020c:cccr=0x39000"},
    [HARDWARE_CACHE_REFERENCES] = {0x3a0, 0x0c, 1, "raw:escr=0x18000e0c:cccr=0x3f000"},
    [HARDWARE_CACHE_MISSES] = {0x3a0, 0x0c, 8, "raw:escr=0x1802000c:cccr=0x3f000"},
    [HARDWARE_REFERENCE_CYCLES] = {0, 0, 0, NULL},
    {0x3cc, 0x09, 0, NULL}, /* replay_event: cache misses, too (P13's example) */
};

struct machine {
    struct hardware_options options;
    const struct hardware_model *model;
    uint32_t signature;
    uint64_t random, calls;
    const char *damage;
    struct core {
        uint64_t counter[COUNTERS], cccr[COUNTERS], escr[ESCRS];
        uint64_t tc_precise, pebs_enable, matrix;
        bool pending[COUNTERS]; /* has overflowed: its next event raises the PMI (P2) */
        bool raised[COUNTERS], unflagged[COUNTERS];
        struct watchdog {
            uint64_t period, loaded, counted, foreign;
            unsigned cpu;
            bool on;
        } watchdog[COUNTERS];
    } core[HARDWARE_CPUS];
    struct cpu {
        uint64_t ds_area, debug, misc;
        uint64_t due; /* the call at which an overflow reaches the local APIC; 0: none under way */
        bool unflagged, masked;
    } cpu[HARDWARE_CPUS];
};

static uint64_t draw(struct machine *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    return m->random ^= m->random << 17;
}

static unsigned model_of(const struct machine *m)
{
    return m->signature >> 4 & 15;
}

static struct core *core_of(struct machine *m, unsigned cpu)
{
    return &m->core[m->model->core[cpu]];
}

/* CPUs of this CPU's core with a lower number: 0 or 1 (P1: the logical processor's number). */
static unsigned thread_of(const struct machine *m, unsigned cpu)
{
    return cpu > 0 && m->model->core[cpu - 1] == m->model->core[cpu] ? 1 : 0;
}

static bool hyper_threads(const struct machine *m)
{
    return m->model->cpus > 1 && thread_of(m, 1) == 1;
}

/* P3: 0, 1, 12, 13, 16 and so on see ESCR0 of a pair, the others ESCR1. */
static unsigned side_of(unsigned i)
{
    return i < 16 ? i >> 1 & 1 : i - 16;
}

/* The ESCR that the counter's CCCR selects; NULL: not wired (P4). */
static uint64_t *escr_of(struct core *core, unsigned i)
{
    unsigned select = (unsigned)(core->cccr[i] >> 13 & 7), base = wires[i < 12 ? i / 4 : 3][select];
    if (base == 0 || (base == 0x3be && side_of(i) == 1)) /* P3: SSU has only one */
        return NULL;
    return &core->escr[base + side_of(i) - 0x3a0];
}

/* ---- counting ---- */

/* P11: the initiator's OVF starts the target; clearing it or CASCADE halts it. */
static bool cascaded(const struct machine *m, const struct core *core, unsigned i)
{
    static const uint8_t initiators[COUNTERS] = {2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 14, 15};
    unsigned extended = i == 12 || i == 17 ? 16 : 17;
    if ((core->cccr[i] & CASCADE) && (core->cccr[initiators[i]] & OVF))
        return true;
    return model_of(m) >= 2 && (core->cccr[i] & EXTENDED_CASCADE) && (core->cccr[extended] & OVF);
}

/* P5 to P7: does the counter count this event now?  An event comes alone in its cycle here. */
static bool counts(struct machine *m, unsigned cpu, unsigned i, const struct encoding *event, bool user)
{
    struct core *core = core_of(m, cpu);
    const uint64_t cccr = core->cccr[i], *escr = escr_of(core, i);
    unsigned threshold = (unsigned)(cccr >> 20 & 15), code;
    bool hit;
    if (!(cccr & ENABLE) && !cascaded(m, core, i))
        return false;
    if (hyper_threads(m) ? !(cccr & BIT(17)) : (cccr >> 16 & 3) != 3) /* P6: both threads are active */
        return false;
    code = escr == NULL ? 0 : (unsigned)(*escr >> 25 & 63);
    if (code == 0) /* P7: null rule */
        return false;
    hit = (escr_of(core, i) - core->escr) + 0x3a0 == (ptrdiff_t)(event->escr + side_of(i)) && code == event->event &&
          (*escr >> 9 >> event->mask_bit & 1) && (*escr >> (thread_of(m, cpu) ? 0 : 2) >> (user ? 0 : 1) & 1);
    if ((cccr & COMPARE) && (cccr & COMPLEMENT)) /* P7: clocks with at most so many, whatever CPL and thread */
        return event == &encodings[HARDWARE_CYCLES] && !(hit && threshold == 0);
    return hit && (!(cccr & COMPARE) || threshold == 0);
}

static void overflow(struct machine *m, struct core *core, unsigned i)
{
    bool cascade_is_silent = model_of(m) == 2 || (model_of(m) < 2 && (m->signature & 15) > 9); /* P10.9 */
    core->unflagged[i] = m->options.lost_flags && draw(m) % 8 == 0;                            /* P10.4 */
    core->pending[i] = (core->cccr[i] & ENABLE) || !cascade_is_silent;
    if (!core->unflagged[i])
        core->cccr[i] |= OVF;
    if (i >= 16 && (core->pebs_enable & (BIT(25) | BIT(26))) && escr_of(core, i) == core->escr + 0x2c + side_of(i) &&
        (BIT(*escr_of(core, i) >> 25 & 63) & (BIT(8) | BIT(9) | BIT(12)))) /* P13: CRU_ESCR2, CRU_ESCR3 */
        m->damage = "a PEBS record was written";
}

/* P2: the interrupt comes with the first event after the overflow; P6: to the threads of the CCCR's bits. */
static void raise(struct machine *m, struct core *core, unsigned i)
{
    core->pending[i] = false;
    core->raised[i] = true;
    for (unsigned to = 0; to < m->model->cpus; to++)
        if (core_of(m, to) == core && (core->cccr[i] & OVF_PMI << thread_of(m, to))) {
            m->cpu[to].unflagged |= core->unflagged[i];
            if (m->cpu[to].due == 0)
                m->cpu[to].due = m->calls + draw(m) % (m->options.late + 1u);
        }
}

/* Up to the next overflow, which may start another counter, then the rest. */
static void count(struct machine *m, unsigned cpu, const struct encoding *event, bool user, uint64_t events)
{
    struct core *core = core_of(m, cpu);
    for (bool first = true; events > 0; first = false) {
        uint64_t part = events;
        uint32_t counting = 0;
        for (unsigned i = 0; i < COUNTERS; i++)
            if (counts(m, cpu, i, event, user)) {
                counting |= 1u << i;
                part = BIT(40) - core->counter[i] < part ? BIT(40) - core->counter[i] : part;
                part = core->cccr[i] & FORCE_OVF ? 1 : part; /* P6: each increment overflows */
            }
        for (unsigned i = 0; i < COUNTERS; i++) {
            bool rise = (core->cccr[i] & EDGE) && (core->cccr[i] & COMPARE); /* P6: EDGE needs COMPARE */
            uint64_t step = rise ? first : part;
            if (!(counting >> i & 1) || step == 0)
                continue;
            if (core->pending[i])
                raise(m, core, i);
            core->counter[i] += step;
            if ((core->counter[i] & BIT(40)) || (core->cccr[i] & FORCE_OVF))
                overflow(m, core, i);
            core->counter[i] &= VALUE;
        }
        events -= part;
    }
}

static void netburst_happen(void *hardware, unsigned cpu, enum hardware_event event, bool user, uint64_t events)
{
    struct machine *m = hardware;
    m->calls++;
    for (unsigned i = 0; event == HARDWARE_CYCLES && i < COUNTERS; i++)
        if (core_of(m, cpu)->watchdog[i].cpu != cpu)
            core_of(m, cpu)->watchdog[i].foreign += events;
    count(m, cpu, &encodings[event], user, events);
    if (event == HARDWARE_CACHE_MISSES)
        count(m, cpu, &encodings[HARDWARE_EVENTS], user, events);
}

/*
 * P10: OVF of a counter whose PMI is this thread's keeps the request asserted; delivery masks LVTPC.  What is under
 * way arrives even after OVF was cleared (P10.7).
 */
static bool netburst_interrupt(void *hardware, unsigned cpu)
{
    struct machine *m = hardware;
    struct cpu *c = &m->cpu[cpu];
    const struct core *core = core_of(m, cpu);
    bool line = false, arrives = c->due != 0 && c->due <= m->calls + 1;
    m->calls++;
    for (unsigned i = 0; i < COUNTERS; i++)
        line = line || ((core->cccr[i] & OVF) && (core->cccr[i] & OVF_PMI << thread_of(m, cpu)) && core->raised[i]);
    if (c->due == 0 ? !line : !arrives)
        return false;
    line = line || c->unflagged || (arrives && m->options.late != 0);
    if (arrives) {
        c->due = 0;
        c->unflagged = false;
    }
    if (c->masked || !line)
        return false;
    return c->masked = true; /* P10.2 */
}

static void netburst_rearm(void *hardware, unsigned cpu)
{
    struct machine *m = hardware;
    m->calls++;
    m->cpu[cpu].masked = false;
}

/* ---- registers ---- */

/* Where a register is kept, and which bits of it are; NULL: absent.  IQ_ESCR on later models: no bits (P1). */
static uint64_t *find(struct machine *m, unsigned cpu, uint32_t msr, uint64_t *out_bits)
{
    struct core *core = core_of(m, cpu);
    unsigned escr = msr - 0x3a0;
    *out_bits = VALUE;
    if (msr >= 0x300 && msr < 0x300 + COUNTERS)
        return &core->counter[msr - 0x300];
    *out_bits = UINT64_C(0xfffff000) | (msr >= 0x370 ? 0x700 : 0); /* msrs: writable bits */
    if (model_of(m) >= 2 && (msr == 0x36c || msr == 0x36f || msr >= 0x370))
        *out_bits |= EXTENDED_CASCADE;
    if (msr >= 0x360 && msr < 0x360 + COUNTERS)
        return &core->cccr[msr - 0x360];
    *out_bits = escr >= ESCRS ? 0 : escr_bits[escr / 2];
    if (*out_bits != 0 && msr != 0x3bf) { /* P9: 3BFh, 3C6h, 3C7h are holes */
        if (msr == 0x3ba || msr == 0x3bb)
            *out_bits = model_of(m) <= 2 ? *out_bits : 0;
        return &core->escr[escr];
    }
    *out_bits = msr == 0x3f0 ? 0x3ffe0 : msr == 0x3f1 ? 0x7ffffff : 0x1fff; /* msrs */
    if (msr >= 0x3f0 && msr <= 0x3f2)
        return msr == 0x3f0 ? &core->tc_precise : msr == 0x3f1 ? &core->pebs_enable : &core->matrix;
    *out_bits = msr == 0x1d9 ? 0x7f : msr == 0x1a0 ? ~BIT(7) : ~UINT64_C(0);
    return msr == 0x1d9   ? &m->cpu[cpu].debug
           : msr == 0x1a0 ? &m->cpu[cpu].misc
           : msr == 0x600 ? &m->cpu[cpu].ds_area
                          : NULL;
}

static bool netburst_rdmsr(void *hardware, unsigned cpu, uint32_t msr, uint64_t *out_value)
{
    struct machine *m = hardware;
    uint64_t bits, *where = find(m, cpu, msr, &bits);
    m->calls++;
    if (where != NULL)
        *out_value = *where;
    return where != NULL;
}

static bool netburst_wrmsr(void *hardware, unsigned cpu, uint32_t msr, uint64_t value)
{
    struct machine *m = hardware;
    struct core *core = core_of(m, cpu);
    uint64_t bits, *where = find(m, cpu, msr, &bits);
    bool escr = msr >= 0x3a0 && msr < 0x3a0 + ESCRS;
    m->calls++;
    if (where == NULL || (escr && (value & BIT(31))) || (msr == 0x1a0 && (value & FAULTING_MISC)))
        return false; /* P5: bit 31 of an ESCR; P1: of 1A0h */
    if (bits == 0)
        m->damage = "IQ_ESCR was written on a model that crashes of it"; /* P1, P15 */
    if (msr >= 0x360 && msr < 0x360 + COUNTERS && !(value & OVF))
        core->pending[msr - 0x360] = core->raised[msr - 0x360] = false;
    if (msr >= 0x300 && msr < 0x300 + COUNTERS && (core->cccr[msr - 0x300] & ENABLE)) {
        const uint64_t *selected = escr_of(core, msr - 0x300);
        if ((core->cccr[msr - 0x300] & COMPARE) || (selected != NULL && (*selected >> 25 & 63) != 0))
            return true; /* P10.5: N15 */
    }
    *where = (*where & ~bits & (msr == 0x1a0 ? ~UINT64_C(0) : 0)) | (value & bits); /* P2, P5: others are ignored */
    return true;
}

/* P2: bit 31 asks for the low 32 bits. */
static bool netburst_rdpmc(void *hardware, unsigned cpu, uint32_t index, uint64_t *out_value)
{
    struct machine *m = hardware;
    m->calls++;
    if ((index & 0x7fffffff) >= COUNTERS)
        return false;
    *out_value = core_of(m, cpu)->counter[index & 0x7fffffff] & (index >> 31 ? UINT64_C(0xffffffff) : VALUE);
    return true;
}

static void netburst_cpuid(void *hardware, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct machine *m = hardware;
    uint32_t logical = 0, cores = 1, leaves = model_of(m) < 3 ? 2 : m->cpu[cpu].misc & BIT(22) ? 3 : 5;
    memset(out, 0, 4 * sizeof *out);
    for (unsigned i = 0; i < m->model->cpus; i++) {
        logical += m->model->node[i] == m->model->node[cpu];
        cores = m->model->node[i] == m->model->node[cpu] && m->model->core[i] != m->model->core[cpu] ? 2 : cores;
    }
    if (leaf == 0) {
        out[0] = leaves;
        memcpy(&out[1], "Genu", 4);
        memcpy(&out[3], "ineI", 4);
        memcpy(&out[2], "ntel", 4);
    } else if (leaf == 1) { /* P1 */
        out[0] = m->signature;
        out[1] = (uint32_t)cpu << 24 | (logical > 1 ? logical << 16 : 0);
        out[2] = (model_of(m) >= 3 ? 0x14 : 0) | (m->options.hypervisor ? UINT32_C(1) << 31 : 0);
        out[3] = 0x200230 | (logical > 1 ? UINT32_C(1) << 28 : 0); /* DS, APIC, MSR, TSC; HTT */
    } else if (leaf == 4 && leaves >= 4 && subleaf == 0) {
        out[0] = (cores - 1) << 26 | 1;
    } else if (leaf == 0x40000000 && m->options.hypervisor) {
        out[0] = leaf;
        memcpy(&out[1], "fakefakefake", 12);
    }
}

/* ---- the machine ---- */

static void netburst_reset(void *hardware, unsigned cpu, bool shared)
{
    struct machine *m = hardware;
    memset(&m->cpu[cpu], 0, sizeof m->cpu[cpu]);
    m->cpu[cpu].masked = true; /* as Linux finds LVTPC after reset (P10.2): the host unmasks it */
    m->cpu[cpu].misc = model_of(m) >= 3 ? 0x22850089 : 0x89; /* P1: probed; bit 7: the PMU is there */
    if (shared) {
        memset(core_of(m, cpu), 0, sizeof *core_of(m, cpu)); /* P2: counters and CCCRs reset to 0 */
        core_of(m, cpu)->tc_precise = 0xfc00;                /* P12 */
    }
}

static void netburst_init(void *hardware, unsigned model, uint64_t seed, const struct hardware_options *options)
{
    struct machine *m = hardware;
    memset(m, 0, sizeof *m);
    m->options = *options;
    m->model = &models[model];
    m->signature = signatures[model];
    m->random = (seed * 2 + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned cpu = 0; cpu < m->model->cpus; cpu++)
        netburst_reset(m, cpu, true);
}

/* P9: a kernel before left counters of thread 1 running, flags; tags; PEBS with a buffer that is no more. */
static void netburst_leave(void *hardware, unsigned cpu, uint64_t seed)
{
    struct machine *m = hardware;
    struct core *core = core_of(m, cpu);
    uint64_t kept = m->random;
    m->random = (seed * 2 + 1) * UINT64_C(0xd6e8feb86659fd93);
    for (unsigned i = 0; i < COUNTERS; i++)
        if (draw(m) % 4 == 0) {
            const struct encoding *event = &encodings[draw(m) % HARDWARE_REFERENCE_CYCLES];
            core->escr[event->escr + side_of(i) - 0x3a0] =
                (uint64_t)event->event << 25 | BIT(9 + event->mask_bit) | (draw(m) & 15);
            core->cccr[i] = (draw(m) & (ENABLE | OVF_PMI | OVF_PMI << 1 | OVF)) | (draw(m) & 7) << 13 | 3 << 16;
            core->counter[i] = draw(m) & VALUE;
            core->raised[i] = true;
        }
    if (draw(m) % 4 == 0) {
        core->pebs_enable = BIT(24) | BIT(25) | 1;
        core->matrix = 1;
        core->escr[0x3cc - 0x3a0] = 0x12000204; /* P13: the example's words */
        core->cccr[16] = 0x3b000;
        m->cpu[cpu].ds_area = 0xdead0000;
    }
    m->random = kept;
}

/* P7: clocks, by a counter of any group whose ESCR has no event that sessions use (P3); counters 4 to 7 have none. */
static bool netburst_watchdog(void *hardware, unsigned cpu, unsigned counter, bool on, bool interrupts, uint64_t period)
{
    struct machine *m = hardware;
    struct core *core = core_of(m, cpu);
    uint64_t select = counter < 4 ? 5 : counter < 12 ? 3 : 6, pmi = interrupts ? OVF_PMI << thread_of(m, cpu) : 0;
    struct watchdog *w = &core->watchdog[counter % COUNTERS];
    if (counter >= COUNTERS || (counter >= 4 && counter < 8))
        return false;
    core->cccr[counter] = 0;
    *w = (struct watchdog){.period = interrupts ? period : 0, .cpu = cpu, .on = on};
    if (!on)
        return true;
    w->loaded = core->counter[counter] = (0 - w->period) & VALUE;
    core->cccr[counter] = select << 13 | 3 << 16;
    *escr_of(core, counter) = BIT(25) | 15;
    core->cccr[counter] |= ENABLE | COMPARE | COMPLEMENT | 15 << 20 | pmi;
    m->cpu[cpu].masked &= !interrupts;
    return true;
}

static uint64_t netburst_watchdog_cycles(void *hardware, unsigned cpu, unsigned counter)
{
    const struct core *core = core_of(hardware, cpu);
    const struct watchdog *w = &core->watchdog[counter];
    return w->counted + ((core->counter[counter] - w->loaded) & VALUE) - w->foreign;
}

/* P10.3, P10.4: by OVF or by bit 39; OVF is cleared, then LVTPC unmasked. */
static bool netburst_watchdog_interrupt(void *hardware, unsigned cpu, unsigned counter)
{
    struct machine *m = hardware;
    struct core *core = core_of(m, cpu);
    struct watchdog *w = &core->watchdog[counter];
    if (!w->on || w->period == 0 || (!(core->cccr[counter] & OVF) && (core->counter[counter] >> 39 & 1)))
        return false;
    w->counted += (core->counter[counter] - w->loaded) & VALUE;
    w->loaded = core->counter[counter] = (0 - w->period) & VALUE;
    core->cccr[counter] &= ~OVF;
    core->raised[counter] = false;
    m->cpu[cpu].masked = false;
    return true;
}

static const char *netburst_damage(void *hardware)
{
    return ((struct machine *)hardware)->damage;
}

static unsigned netburst_registers(void *hardware, unsigned cpu, struct hardware_register *out, unsigned room)
{
    static const uint32_t ranges[][2] = {{0x1d9, 0x1d9}, {0x300, 0x311}, {0x360, 0x371},
                                         {0x3a0, 0x3e1}, {0x3f0, 0x3f2}, {0x600, 0x600}};
    unsigned count = 0;
    uint64_t bits;
    for (unsigned range = 0; range < sizeof ranges / sizeof *ranges; range++)
        for (uint32_t msr = ranges[range][0]; msr <= ranges[range][1] && count < room; msr++)
            if (find(hardware, cpu, msr, &bits) != NULL && bits != 0)
                out[count++] = (struct hardware_register){msr, msr == 0x1d9 || msr == 0x600 || msr == 0x3f0 ? 0 : bits,
                                                          range == 1, msr != 0x1d9 && msr != 0x600};
    return count;
}

static const char *netburst_specification(void *hardware, enum hardware_event event)
{
    (void)hardware;
    return encodings[event].word;
}

/* P2: the interrupt of an overflow comes with the counter's next event. */
static bool netburst_untold(const void *hardware, unsigned cpu)
{
    const struct machine *m = hardware;
    const struct core *core = &m->core[m->model->core[cpu]];
    for (unsigned i = 0; i < COUNTERS; i++)
        if (core->pending[i] && (core->cccr[i] & OVF_PMI << thread_of(m, cpu)))
            return true;
    return false;
}

const struct hardware_family hardware_netburst = {
    .name = "netburst",
    .models = models,
    .model_count = sizeof models / sizeof *models,
    .bytes = sizeof(struct machine),
    .init = netburst_init,
    .reset = netburst_reset,
    .leave = netburst_leave,
    .cpuid = netburst_cpuid,
    .rdmsr = netburst_rdmsr,
    .wrmsr = netburst_wrmsr,
    .rdpmc = netburst_rdpmc,
    .happen = netburst_happen,
    .interrupt = netburst_interrupt,
    .rearm = netburst_rearm,
    .watchdog = netburst_watchdog,
    .watchdog_cycles = netburst_watchdog_cycles,
    .watchdog_interrupt = netburst_watchdog_interrupt,
    .damage = netburst_damage,
    .registers = netburst_registers,
    .specification = netburst_specification,
    .untold = netburst_untold,
};
