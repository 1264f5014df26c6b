/* SPDX-License-Identifier: MIT */
/*
 * AMD's counters for the simulated host: K7, K8, families 10h, 15h, 16h, Zen, PerfMonV2, IBS, Hygon.
 * From facts/amd alone.  Where a rule was read: M3 is section 3 of amd_mock_semantics.md, A8.1 section 8.1 of
 * amd.md, P4 item 4 of pitfalls.md, "msrs" the register's row in amd_msrs.csv, "branch" facts/precise/amd_branch.tsv.
 * Left out, and absent in CPUID: L2I, L3, NB, DF and UMC counters, BRS.
 */
#include "tests/host/hardware_branches.h"

#include <string.h>

#define BIT(n) (UINT64_C(1) << (n))
#define CORE 6 /* core counters at most (A1.2) */
#define IBS 2  /* units: fetch, op (A12) */
#define FETCH 0
#define OP 1
#define WIDTH 48 /* A4 */
#define VALUE (BIT(WIDTH) - 1)
#define USR BIT(16) /* A3: select register */
#define OS BIT(17)
#define EDGE BIT(18)
#define INT BIT(20)
#define EN BIT(22)
#define INV BIT(23)
#define HOST_GUEST (BIT(40) | BIT(41))
#define FROZEN BIT(59)     /* A9: status */
#define FREEZE_PMC BIT(12) /* A9: DebugCtl */
#define STACK_FROZEN BIT(58) /* branch: status */
#define DISPATCHED BIT(19) /* msrs: C0011033 */
#define OP_COUNT UINT64_C(0x7ffffff)
#define OP_MAXIMUM_HIGH UINT64_C(0x7f00000)
#define COUNTERS_V2 (BIT(CORE) - 1)                  /* A1.2: EBX[3:0] is 6 here */
#define STATUS_BITS (COUNTERS_V2 | FROZEN | BIT(58)) /* M5 */

enum {
    EXTENDED = 1,       /* PERFCTR_CORE: six counters, the extended block (A1.2) */
    V2 = 2,             /* PerfMonV2 with freeze (A9) */
    NODE = 4,           /* events E0h and up count in counters that a node's cores share (A8.1) */
    NODE_RESET = 8,     /* rev E: a select written on any core resets them (M8) */
    NO_APIC = 16,       /* K7 model 1 (M6) */
    GROUPS = 32,        /* family 15h's counter groups (A8.2) */
    WIDE = 64,          /* event[11:8], the host and guest bits (A3) */
    KEEPS_19 = 128,     /* pin control of K7 and K8; Zen 3 keeps it (A3, A16 D6) */
    ZEN3 = 256,         /* keeps bit 42 (A3), has PREC_RET (A8.4) */
    STICKY = 512,       /* erratum 420 (M9) */
    EDGE_STARTS = 1024, /* 16h to 18h: fetch needs EN 0 to 1 (M9) */
    HYGON = 2048
};

static const struct hardware_model models[] = {
    {"k7", 2, {0, 1}, {0, 1}},
    {"k7-model1", 1, {0}, {0}},
    {"k8-reve-dual", 2, {0, 1}, {0, 0}},
    {"k8-revf", 4, {0, 1, 2, 3}, {0, 0, 1, 1}},
    {"f10h", 4, {0, 1, 2, 3}, {0, 0, 0, 0}},
    {"f15h", 4, {0, 1, 2, 3}, {0, 0, 0, 0}},
    {"f16h", 4, {0, 1, 2, 3}, {0, 0, 0, 0}},
    {"zen1", 4, {0, 0, 1, 1}, {0, 0, 0, 0}},
    {"zen3", 4, {0, 0, 1, 1}, {0, 0, 0, 0}},
    {"zen4", 4, {0, 0, 1, 1}, {0, 0, 0, 0}},
    {"zen5", 4, {0, 1, 2, 3}, {0, 0, 1, 1}},
    {"zen6", 2, {0, 1}, {0, 0}},
    {"hygon", 2, {0, 0}, {0, 0}},
};

/* In the order of `models`: signature (A1.1), IBS capabilities (A12), cache events (below). */
static const struct features {
    uint32_t signature, has, ibs, cache;
} features[] = {
    {0x000681, KEEPS_19, 0, 0},
    {0x000612, KEEPS_19 | NO_APIC, 0, 0},
    {0x020f32, KEEPS_19 | NODE | NODE_RESET, 0, 1},
    {0x040f32, KEEPS_19 | NODE, 0, 1},
    {0x100f42, WIDE | NODE | STICKY, 0x1f, 1},
    {0x600f12, WIDE | EXTENDED | GROUPS, 0xff, 1},
    {0x700f01, WIDE | EDGE_STARTS, 0xff, 1},
    {0x800f11, WIDE | EXTENDED | EDGE_STARTS, 0x3ff, 2},
    {0xa00f11, WIDE | EXTENDED | KEEPS_19 | ZEN3, 0x3ff, 2},
    {0xa10f11, WIDE | EXTENDED | V2, 0xfff, 2},
    {0xb00f21, WIDE | EXTENDED | V2, 0x1fff, 2},
    {0xb50f00, WIDE | EXTENDED | V2, 0x9ffff, 2},
    {0x900f01, WIDE | EXTENDED | EDGE_STARTS | HYGON, 0x3ff, 2},
};

/* amd_generic_map.csv; K7's cache events from amd_k7_events.csv. */
static const struct encoding {
    unsigned code, umask;
    const char *word;
} common[] = {{0x76, 0, "raw:config=0x76"},
              {0xc0, 0, "raw:config=0xc0"},
              {0xc2, 0, "raw:config=0xc2"},
              {0xc3, 0, "raw:config=0xc3"}},
  cache[][2] = {{{0x40, 0, "raw:config=0x40"}, {0x41, 0, "raw:config=0x41"}},
                {{0x7d, 7, "raw:config=0x77d"}, {0x7e, 7, "raw:config=0x77e"}},
                {{0x60, 0xff, "raw:config=0xff60"}, {0x64, 9, "raw:config=0x964"}}},
  reference = {0x120, 1, "raw:config=0x100000120"}, /* Zen 4 and later */
    node_miss = {0xe9, 0x98, NULL};                 /* NODE read miss, a northbridge event */

struct machine {
    struct hardware_options options;
    const struct features *features;
    const struct hardware_model *model;
    uint64_t random, calls;
    const char *damage;
    struct cpu {
        uint64_t select[CORE], value[CORE], control, status, debug, ibs_offset;
        uint64_t due[CORE + IBS]; /* the call at which this source's interrupt is asserted; 0: none */
        struct ibs {
            uint64_t control, control2, count, completed, sample[8];
            bool waits; /* runs again only after EN goes from 0 to 1 (M9) */
            bool stuck; /* erratum 420's interrupt (M9) */
        } ibs[IBS];
        struct watchdog {
            uint64_t period, loaded, counted;
            bool on, gate;
        } watchdog[CORE];
        bool masked; /* LVTPC, until the host has set it up (A14.5) */
        struct branches branches;
    } cpu[HARDWARE_CPUS];
    uint64_t node[HARDWARE_CPUS][CORE]; /* values of counters that count northbridge events */
};

/* lbr_models.tsv: Zen 4 on, 16 entries. */
static const struct branches_kind stack = {16, BRANCHES_AMD, 0xc0010300, 0xc0010301, 0, 0xc000010e};

static uint64_t draw(struct machine *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    return m->random ^= m->random << 17;
}

static bool has(const struct machine *m, uint32_t what)
{
    return (m->features->has & what) != 0;
}

static bool can(const struct machine *m, unsigned capability)
{
    return (m->features->ibs >> capability & 1) != 0;
}

static unsigned counters_of(const struct machine *m)
{
    return has(m, EXTENDED) ? CORE : 4; /* A1.2 */
}

static const struct encoding *encoding_of(const struct machine *m, enum hardware_event event)
{
    if (event == HARDWARE_REFERENCE_CYCLES)
        return has(m, V2) ? &reference : NULL;
    return event < HARDWARE_CACHE_REFERENCES ? &common[event]
                                             : &cache[m->features->cache][event - HARDWARE_CACHE_REFERENCES];
}

/* M3, A3: bits that read back as written. */
static uint64_t select_bits(const struct machine *m, unsigned i)
{
    uint64_t bits = has(m, WIDE) ? UINT64_C(0x30fffd7ffff) : UINT64_C(0xffd7ffff);
    bits |= has(m, ZEN3) && i == 2 ? BIT(43) : 0; /* A8.4: PREC_RET */
    return bits | (has(m, KEEPS_19) ? BIT(19) : 0) | (has(m, ZEN3) ? BIT(42) : 0);
}

/* ---- counters ---- */

static bool is_node(const struct machine *m, uint64_t select)
{
    return has(m, NODE) && (select & 0xe0) == 0xe0; /* A8.1 */
}

static uint64_t *value_of(struct machine *m, unsigned cpu, unsigned i)
{
    struct cpu *c = &m->cpu[cpu];
    return is_node(m, c->select[i]) ? &m->node[m->model->node[cpu]][i] : &c->value[i];
}

/* A8.2: family 15h: the counters on which the event's group counts. */
static bool in_group(const struct machine *m, unsigned i, unsigned code)
{
    static const uint8_t groups[16] = {0x38, 0x38, 0x3f, 0x3f, 0x3f, 0x3f, 7, 7, 7, 7, 0, 0, 0x3f, 7, 0, 0};
    return !has(m, GROUPS) || (groups[code >> 4 & 15] >> i & 1);
}

/* M3: does the counter count this event now?  An event comes alone in its cycle, and cycles come alone. */
static bool counts(const struct machine *m, unsigned cpu, unsigned i, const struct encoding *event, bool user)
{
    const struct cpu *c = &m->cpu[cpu];
    uint64_t select = c->select[i];
    unsigned code = (unsigned)(select & 0xff) | (has(m, WIDE) ? (unsigned)(select >> 24 & 0xf00) : 0);
    unsigned threshold = (unsigned)(select >> 24 & 0xff);
    bool hit = code == event->code && (select >> 8 & 0xff) == event->umask;
    if (!(select & EN) || (select & HOST_GUEST)) /* A3.1: EFER.SVME is 0 */
        return false;
    if (has(m, V2) && (!(c->control >> i & 1) || (c->status & FROZEN)))
        return false; /* A9 */
    if (!(select & (is_node(m, select) ? USR | OS : user ? USR : OS)) || !in_group(m, i, code))
        return false;
    if (threshold != 0 && (select & INV)) /* cycles with fewer events, most with none */
        return event == &common[HARDWARE_CYCLES] && !(hit && threshold == 1);
    return hit && threshold <= 1;
}

static void raise(struct machine *m, unsigned cpu, unsigned source)
{
    if (!has(m, NO_APIC) && m->cpu[cpu].due[source] == 0) /* M6 */
        m->cpu[cpu].due[source] = m->calls + draw(m) % (m->options.late + 1u);
}

/* ---- branches ---- */

static bool has_stack(const struct machine *m)
{
    return m->options.trace && has(m, V2);
}

static bool stack_is_on(const struct machine *m, unsigned cpu)
{
    return has_stack(m) && (m->cpu[cpu].branches.control & BIT(6)) && !(m->cpu[cpu].status & STACK_FROZEN);
}

/* After a write that may have stopped it. */
static void tell_stop(const struct machine *m, unsigned cpu, bool was)
{
    if (was && !stack_is_on(m, cpu))
        m->options.trace->stopped(cpu, false);
}

static void amd_branches(struct machine *m, unsigned cpu, bool user, uint64_t count)
{
    struct branches *branches = &m->cpu[cpu].branches;
    struct branches_state state = {.cpu = cpu, .on = stack_is_on(m, cpu)};
    state.select = branches_sorted_out(&stack, branches);
    if (has_stack(m))
        branches_take(&stack, branches, &state, user, count, m->options.trace);
}

static void amd_branch(void *hardware, unsigned cpu, bool user, unsigned count)
{
    amd_branches(hardware, cpu, user, count);
}

static unsigned amd_depth(const void *hardware)
{
    return has_stack(hardware) ? stack.depth : 0;
}

static enum branches_access access_stack(struct machine *m, unsigned cpu, uint32_t msr, bool is_write, uint64_t *value)
{
    struct branches *branches = &m->cpu[cpu].branches;
    bool was = stack_is_on(m, cpu);
    enum branches_access access;
    if (!has_stack(m))
        return BRANCHES_NO_REGISTER;
    if (msr == stack.select) { /* branch: 8:0 */
        if (is_write && (*value & ~UINT64_C(0x1ff)))
            return BRANCHES_REFUSED;
        if (is_write)
            branches->select = *value;
        else
            *value = branches->select;
        return BRANCHES_DONE;
    }
    access = branches_access(&stack, branches, msr, is_write, value);
    if (access == BRANCHES_CLEARED)
        m->options.trace->cleared(cpu);
    tell_stop(m, cpu, was);
    return access;
}

static void add(struct machine *m, unsigned cpu, unsigned i, uint64_t count)
{
    struct cpu *c = &m->cpu[cpu];
    uint64_t sum = *value_of(m, cpu, i) + count, status = c->status;
    *value_of(m, cpu, i) = sum & VALUE; /* M4: wraps and goes on */
    if (!(sum >> WIDTH))
        return;
    if (has(m, V2))
        c->status |= BIT(i); /* M4: with INT or without */
    if (c->select[i] & INT)
        raise(m, cpu, i);
    if (has(m, V2) && (c->select[i] & INT) && (c->debug & FREEZE_PMC))
        c->status |= FROZEN; /* M5: at an overflow that raises a PMI */
    if (has_stack(m) && (c->select[i] & INT) && (c->debug & BIT(11)))
        c->status |= STACK_FROZEN;
    if (c->status & ~status & STACK_FROZEN)
        m->options.trace->stopped(cpu, true);
}

/* Up to the next overflow, which may freeze the counters, then the rest. */
static void count_core(struct machine *m, unsigned cpu, const struct encoding *event, bool user, uint64_t count)
{
    for (bool first = true; count > 0; first = false) {
        uint64_t part = count;
        unsigned counting = 0;
        for (unsigned i = 0; i < counters_of(m); i++)
            if (counts(m, cpu, i, event, user)) {
                uint64_t room = BIT(WIDTH) - *value_of(m, cpu, i);
                counting |= 1u << i;
                part = room < part ? room : part;
            }
        if (event == &common[HARDWARE_BRANCHES])
            amd_branches(m, cpu, user, part);
        for (unsigned i = 0; i < counters_of(m); i++)
            if (counting >> i & 1) /* M3: EDGE counts rises; a burst rises once */
                add(m, cpu, i, !(m->cpu[cpu].select[i] & EDGE) ? part : first ? 1 : 0);
        count -= part;
    }
}

/* ---- IBS (M9, A12) ---- */

static uint64_t ibs_enable(unsigned unit)
{
    return unit == OP ? BIT(17) : BIT(48); /* msrs; the valid bit is the next */
}

static uint64_t ibs_maximum(const struct ibs *u, unsigned unit)
{
    return (u->control & 0xffff) << 4 | (unit == OP ? u->control & OP_MAXIMUM_HIGH : 0);
}

static void ibs_count(struct machine *m, unsigned cpu, unsigned unit, uint64_t count)
{
    struct ibs *u = &m->cpu[cpu].ibs[unit];
    uint64_t enable = ibs_enable(unit), maximum = ibs_maximum(u, unit);
    if ((u->control & (enable | enable << 1)) != enable || maximum == 0 || u->waits)
        return; /* M9: while VAL is 1 no new sample */
    if (can(m, 13) && (u->control2 & 1))
        return; /* M9: the alternate disable */
    u->count += count;
    if (u->count < maximum)
        return;
    u->control |= enable << 1;
    u->completed++;
    u->count = unit == OP ? draw(m) & 0x7f : 0; /* M9: after a rollover the low 7 bits are random */
    u->waits = unit == FETCH && has(m, EDGE_STARTS);
    if (unit == FETCH) /* msrs: COMP, latency */
        u->control = (u->control & ~(UINT64_C(0xffff) << 32)) | BIT(50) | (draw(m) & 0xffff) << 32;
    for (unsigned i = 0; i < 8; i++)
        u->sample[i] = draw(m) & UINT64_C(0xfffffff);
    raise(m, cpu, CORE + unit);
}

static uint64_t ibs_read(const struct ibs *u, unsigned unit)
{
    if (unit == OP)
        return (u->control & ~(OP_COUNT << 32)) | (u->count & OP_COUNT) << 32;
    return (u->control & ~UINT64_C(0xffff0000)) | (u->count >> 4 & 0xffff) << 16;
}

/* A12: bits of capabilities that the unit lacks are dropped (M9: a choice). */
static uint64_t ibs_bits(const struct machine *m, unsigned unit)
{
    if (unit == FETCH)
        return UINT64_C(0x37ffffffffffffff) | (can(m, 11) ? BIT(59) : 0);
    return OP_COUNT << 32 | 0x6ffff | (can(m, 4) ? DISPATCHED : 0) | (can(m, 11) ? BIT(16) : 0) |
           (can(m, 6) ? OP_MAXIMUM_HIGH : 0) | (can(m, 12) ? UINT64_C(0xf800000000000000) : 0);
}

static void ibs_write(struct machine *m, unsigned cpu, unsigned unit, uint64_t value)
{
    struct ibs *u = &m->cpu[cpu].ibs[unit];
    bool was_on = (u->control & ibs_enable(unit)) != 0, on = (value & ibs_enable(unit)) != 0;
    bool stops = was_on && !on && ibs_maximum(u, unit) != 0;
    u->control = value & ibs_bits(m, unit);
    if (has(m, STICKY) && (stops || ibs_maximum(u, unit) == 0))
        u->stuck = stops; /* M9: EN cleared while the maximum count is not 0 */
    if (was_on && on && unit == FETCH && has(m, EDGE_STARTS))
        return;
    u->waits = false;
    if (unit == OP)
        u->count = can(m, 3) ? value >> 32 & OP_COUNT : 0;
    else /* A12: random enable randomises the low 4 bits */
        u->count = (value >> 16 & 0xffff) << 4 | (value >> 57 & 1 ? draw(m) & 15 : 0);
}

/* ---- registers ---- */

enum kind { ABSENT, PLAIN, READ_ONLY, SELECT, COUNTER, STATUS, CLEAR, SET, UNIT };

/* M2.  `i`: the counter or unit; `where`: what a plain register keeps, of it `bits`. */
struct place {
    enum kind kind;
    unsigned i;
    uint64_t *where, bits;
};

static struct place find_ibs(struct machine *m, unsigned cpu, uint32_t msr)
{
    struct ibs *fetch = &m->cpu[cpu].ibs[FETCH], *op = &m->cpu[cpu].ibs[OP];
    unsigned n = msr - 0xc0011030;
    uint64_t all = ~UINT64_C(0);
    if (m->features->ibs == 0 || n > 15)
        return (struct place){ABSENT, 0, NULL, 0};
    if (n == 0 || n == 3)
        return (struct place){UNIT, n == 3 ? OP : FETCH, NULL, 0};
    if (n <= 2)
        return (struct place){READ_ONLY, 0, &fetch->sample[n], 0};
    if (n <= 9 || (n == 11 && can(m, 5)))
        return (struct place){PLAIN, 0, &op->sample[n == 11 ? 6 : n - 4], all}; /* A16 D24 */
    if (n == 10 || (n == 12 && can(m, 9)) || (n == 13 && can(m, 10)))
        return (struct place){READ_ONLY, 0,
                              n == 10   ? &m->cpu[cpu].ibs_offset
                              : n == 12 ? &fetch->sample[3]
                                        : &op->sample[7],
                              0};
    if (n >= 14 && can(m, 13))
        return (struct place){PLAIN, 0, n == 14 ? &op->control2 : &fetch->control2, n == 14 ? 0xf : 0x7f};
    return (struct place){ABSENT, 0, NULL, 0};
}

static struct place find(struct machine *m, unsigned cpu, uint32_t msr)
{
    struct cpu *c = &m->cpu[cpu];
    if (msr >= 0xc0010000 && msr <= 0xc0010007) /* A2: with the extended block an alias of its first four */
        return (struct place){msr & 4 ? COUNTER : SELECT, msr & 3, NULL, 0};
    if (has(m, EXTENDED) && msr >= 0xc0010200 && msr < 0xc0010200 + 2 * CORE)
        return (struct place){msr & 1 ? COUNTER : SELECT, (msr & 15) / 2, NULL, 0};
    if (has(m, V2) && msr >= 0xc0000300 && msr <= 0xc0000303)
        return (struct place){msr == 0xc0000300   ? STATUS
                              : msr == 0xc0000301 ? PLAIN
                              : msr == 0xc0000302 ? CLEAR
                                                  : SET,
                              0, &c->control, COUNTERS_V2};
    if (msr == 0x1d9)
        return (struct place){PLAIN, 0, &c->debug,
                              has(m, V2) && !m->options.no_freeze ? FREEZE_PMC | BIT(11)
                                                                  : 0}; /* A9: only with freeze */
    return find_ibs(m, cpu, msr);
}

static bool amd_rdmsr(void *hardware, unsigned cpu, uint32_t msr, uint64_t *out_value)
{
    struct machine *m = hardware;
    struct place place = find(m, cpu, msr);
    m->calls++;
    *out_value = 0; /* M5: clear and set read 0 */
    enum branches_access access = access_stack(m, cpu, msr, false, out_value);
    if (access != BRANCHES_NO_REGISTER)
        return access != BRANCHES_REFUSED;
    if (place.kind == COUNTER)
        *out_value = *value_of(m, cpu, place.i);
    else if (place.kind == SELECT)
        *out_value = m->cpu[cpu].select[place.i];
    else if (place.kind == UNIT)
        *out_value = ibs_read(&m->cpu[cpu].ibs[place.i], place.i);
    else if (place.kind == STATUS)
        *out_value = m->cpu[cpu].status;
    else if (place.kind == PLAIN || place.kind == READ_ONLY)
        *out_value = *place.where;
    if (place.kind == STATUS && m->options.lost_flags && draw(m) % 8 == 0)
        *out_value |= BIT(20 + draw(m) % 16); /* A9: reserved bits are reported; none is hidden */
    return place.kind != ABSENT;
}

static void write_select(struct machine *m, unsigned cpu, unsigned i, uint64_t value)
{
    uint8_t node = m->model->node[cpu];
    uint64_t kept = *value_of(m, cpu, i);
    m->cpu[cpu].select[i] = value & select_bits(m, i); /* P6: never #GP */
    *value_of(m, cpu, i) = kept;
    if (has(m, NODE_RESET))
        memset(m->node[node], 0, sizeof m->node[node]); /* M8 */
    for (unsigned other = 0; is_node(m, value) && (value & EN) && other < m->model->cpus; other++)
        if (other != cpu && m->model->node[other] == node && is_node(m, m->cpu[other].select[i]) &&
            (m->cpu[other].select[i] & EN)) /* A8.1, A15 */
            m->damage = "two cores of a node count northbridge events on one counter";
}

static bool amd_wrmsr(void *hardware, unsigned cpu, uint32_t msr, uint64_t value)
{
    struct machine *m = hardware;
    struct place place = find(m, cpu, msr);
    bool was = stack_is_on(m, cpu);
    m->calls++;
    enum branches_access access = access_stack(m, cpu, msr, true, &value);
    if (access != BRANCHES_NO_REGISTER)
        return access != BRANCHES_REFUSED;
    if (place.kind == COUNTER)
        *value_of(m, cpu, place.i) = value & VALUE; /* M4 */
    else if (place.kind == SELECT)
        write_select(m, cpu, place.i, value);
    else if (place.kind == UNIT)
        ibs_write(m, cpu, place.i, value);
    else if (place.kind == CLEAR)
        m->cpu[cpu].status &= ~value; /* M5 */
    else if (place.kind == SET)
        m->cpu[cpu].status |= value & STATUS_BITS; /* M5: raises no PMI */
    else if (place.kind == PLAIN)
        *place.where = value & place.bits;
    tell_stop(m, cpu, was);
    return place.kind != ABSENT && place.kind != READ_ONLY; /* M5: a write of the status is ignored */
}

static bool amd_rdpmc(void *hardware, unsigned cpu, uint32_t index, uint64_t *out_value)
{
    struct machine *m = hardware;
    m->calls++;
    if (index >= counters_of(m)) /* A5 */
        return false;
    *out_value = *value_of(m, cpu, index);
    return true;
}

static void amd_cpuid(void *hardware, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct machine *m = hardware;
    const struct features *f = m->features;
    (void)subleaf;
    memset(out, 0, 4 * sizeof *out);
    if (leaf == 0 || leaf == 0x80000000) { /* A1.1; A1.2: the highest extended leaf */
        out[0] = leaf == 0 ? 1 : has(m, V2) ? 0x80000022 : f->ibs ? 0x8000001b : 0x80000008;
        memcpy(&out[1], has(m, HYGON) ? "Hygo" : "Auth", 4);
        memcpy(&out[3], has(m, HYGON) ? "nGen" : "enti", 4);
        memcpy(&out[2], has(m, HYGON) ? "uine" : "cAMD", 4);
    } else if (leaf == 1) {
        out[0] = f->signature;
        out[1] = (uint32_t)cpu << 24;
        out[2] = m->options.hypervisor ? UINT32_C(1) << 31 : 0;
        out[3] = 0x30 | (has(m, NO_APIC) ? 0 : 0x200); /* TSC, MSR, APIC */
    } else if (leaf == 0x40000000 && m->options.hypervisor) {
        out[0] = leaf;
        memcpy(&out[1], "fakefakefake", 12);
    } else if (leaf == 0x80000001) { /* A1.2: ExtApicSpace and IBS, PERFCTR_CORE */
        out[0] = f->signature;
        out[2] = (f->ibs ? 0x408 : 0) | (has(m, EXTENDED) ? 0x800000 : 0);
    } else if (leaf == 0x8000001b) {
        out[0] = f->ibs;
    } else if (leaf == 0x80000022 && has(m, V2)) {
        out[0] = m->options.no_freeze ? 1 : 5; /* A1.2: PerfMonV2, freeze */
        out[0] |= has_stack(m) ? 2 : 0;
        out[1] = CORE | (has_stack(m) ? stack.depth << 4 : 0);
    }
}

/* ---- what happens ---- */

static void amd_happen(void *hardware, unsigned cpu, enum hardware_event event, bool user, uint64_t count)
{
    struct machine *m = hardware;
    enum hardware_event op = m->cpu[cpu].ibs[OP].control & DISPATCHED ? HARDWARE_INSTRUCTIONS : HARDWARE_CYCLES;
    m->calls++;
    if (encoding_of(m, event) != NULL)
        count_core(m, cpu, encoding_of(m, event), user, count);
    for (unsigned other = 0; event == HARDWARE_CACHE_MISSES && has(m, NODE) && other < m->model->cpus; other++)
        if (m->model->node[other] == m->model->node[cpu]) /* A8.1: whichever core it comes from */
            count_core(m, other, &node_miss, user, count);
    if (m->features->ibs && event == HARDWARE_INSTRUCTIONS)
        ibs_count(m, cpu, FETCH, count);
    if (m->features->ibs && event == op)
        ibs_count(m, cpu, OP, count); /* A12: CNT_CTL; an instruction is one op */
}

/* M6, A7: one NMI may carry several overflows, a later one none; A6: delivery leaves LVTPC as it is. */
static bool amd_interrupt(void *hardware, unsigned cpu)
{
    struct machine *m = hardware;
    struct cpu *c = &m->cpu[cpu];
    bool any = c->ibs[FETCH].stuck || c->ibs[OP].stuck, all = m->options.late == 0 || draw(m) % 2 != 0;
    m->calls++;
    for (unsigned i = 0; i < CORE + IBS; i++)
        if (c->due[i] != 0 && c->due[i] <= m->calls && (all || !any)) {
            c->due[i] = 0; /* M6: under a masked LVTPC it is dropped */
            any = any || i >= CORE || !c->masked;
        }
    return any;
}

static void amd_rearm(void *hardware, unsigned cpu)
{
    struct machine *m = hardware;
    m->calls++;
    m->cpu[cpu].masked = false;
}

/* ---- the machine ---- */

static void amd_reset(void *hardware, unsigned cpu, bool shared)
{
    struct machine *m = hardware;
    struct cpu *c = &m->cpu[cpu];
    uint64_t taken = c->branches.taken;
    memset(c, 0, sizeof *c);
    c->branches.taken = taken;
    if (has_stack(m))
        m->options.trace->cleared(cpu);
    for (unsigned i = 0; i < CORE; i++) {
        c->value[i] = m->options.garbage ? draw(m) & VALUE : 0; /* M4: undefined */
        if (shared)
            m->node[m->model->node[cpu]][i] = c->value[i];
    }
    c->masked = true;
    c->control = COUNTERS_V2; /* M5, P5 */
    c->ibs_offset = 0x101;    /* msrs: valid, LVT 1; family 10h's host has assigned it (A6) */
}

static void amd_init(void *hardware, unsigned model, uint64_t seed, const struct hardware_options *options)
{
    struct machine *m = hardware;
    memset(m, 0, sizeof *m);
    m->options = *options;
    m->features = &features[model];
    m->model = &models[model];
    m->random = (seed * 2 + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned cpu = 0; cpu < m->model->cpus; cpu++)
        amd_reset(m, cpu, true);
}

/* A14.3: firmware leaves EN set; A14.2, A9: control, flags, freeze are not as after reset; A12: IBS may run. */
static void amd_leave(void *hardware, unsigned cpu, uint64_t seed)
{
    struct machine *m = hardware;
    struct cpu *c = &m->cpu[cpu];
    uint64_t kept = m->random;
    m->random = (seed * 2 + 1) * UINT64_C(0xd6e8feb86659fd93);
    for (unsigned i = 0; i < counters_of(m); i++)
        if (draw(m) % 2 == 0) {
            write_select(m, cpu, i, common[draw(m) % 4].code | (draw(m) & (USR | OS | INT | EN | EDGE)));
            *value_of(m, cpu, i) = draw(m) & VALUE;
        }
    if (has(m, V2)) {
        c->control = draw(m) & COUNTERS_V2;
        c->status = draw(m) & draw(m) & STATUS_BITS;
        c->debug = draw(m) & (FREEZE_PMC | BIT(11));
    }
    if (has_stack(m)) {
        branches_leave(&stack, &c->branches, seed);
        c->debug &= m->options.no_freeze ? 0 : ~UINT64_C(0);
        c->status &= m->options.no_freeze ? COUNTERS_V2 : ~UINT64_C(0);
    }
    for (unsigned unit = 0; m->features->ibs != 0 && unit < IBS; unit++)
        if (draw(m) % 2 == 0)
            ibs_write(m, cpu, unit, (draw(m) & (ibs_enable(unit) * 3)) | 0x100);
    m->random = kept;
}

static bool amd_watchdog(void *hardware, unsigned cpu, unsigned counter, bool on, bool interrupts, uint64_t period)
{
    struct machine *m = hardware;
    struct cpu *c = &m->cpu[cpu];
    struct watchdog *w = &c->watchdog[counter % CORE];
    if (counter >= counters_of(m) || !in_group(m, counter, 0x76))
        return false;
    write_select(m, cpu, counter, 0);
    if (on) {
        *w = (struct watchdog){.period = interrupts ? period : 0, .on = true, .gate = (c->control >> counter & 1) != 0};
        w->loaded = *value_of(m, cpu, counter) = (0 - w->period) & VALUE;
        c->status &= ~BIT(counter);
        c->control |= BIT(counter); /* A9: start sequence */
        write_select(m, cpu, counter, 0x76 | USR | OS | EN | (interrupts ? INT : 0));
        c->masked &= !interrupts;
    } else if (w->on && !w->gate) {
        c->control &= ~BIT(counter);
    }
    w->on = on;
    return true;
}

static uint64_t amd_watchdog_cycles(void *hardware, unsigned cpu, unsigned counter)
{
    struct machine *m = hardware;
    const struct watchdog *w = &m->cpu[cpu].watchdog[counter];
    return w->counted + ((*value_of(m, cpu, counter) - w->loaded) & VALUE);
}

/* A4: loaded with a negative value, it has overflowed when bit 47 reads 0; A6: the order of acknowledging. */
static bool amd_watchdog_interrupt(void *hardware, unsigned cpu, unsigned counter)
{
    struct machine *m = hardware;
    struct watchdog *w = &m->cpu[cpu].watchdog[counter];
    if (!w->on || w->period == 0 || (*value_of(m, cpu, counter) >> (WIDTH - 1) & 1))
        return false;
    w->counted = amd_watchdog_cycles(m, cpu, counter);
    w->loaded = *value_of(m, cpu, counter) = (0 - w->period) & VALUE;
    m->cpu[cpu].status &= ~(BIT(counter) | FROZEN);
    return true;
}

static uint64_t amd_samples(void *hardware, unsigned cpu, unsigned unit)
{
    return ((struct machine *)hardware)->cpu[cpu].ibs[unit].completed;
}

static const char *amd_damage(void *hardware)
{
    return ((struct machine *)hardware)->damage;
}

static unsigned amd_registers(void *hardware, unsigned cpu, struct hardware_register *out, unsigned room)
{
    const struct machine *m = hardware;
    struct hardware_register list[2 * CORE + 9 + 40];
    unsigned count = 0;
    (void)cpu;
    for (uint32_t i = 0; i < counters_of(m); i++) {
        uint32_t select = has(m, EXTENDED) ? 0xc0010200 + 2 * i : 0xc0010000 + i;
        uint32_t counter = has(m, EXTENDED) ? select + 1 : 0xc0010004 + i;
        list[count++] = (struct hardware_register){select, select_bits(m, i), false, false};
        list[count++] = (struct hardware_register){counter, VALUE, true, false};
    }
    if (has(m, V2)) {
        list[count++] =
            (struct hardware_register){0x1d9, m->options.no_freeze ? 0 : FREEZE_PMC | BIT(11), false, false};
        list[count++] = (struct hardware_register){0xc0000301, COUNTERS_V2, false, false};
        for (uint32_t i = 0; i < 4; i += i == 0 ? 2 : 1)
            list[count++] = (struct hardware_register){0xc0000300 + i, i == 0 ? 0 : STATUS_BITS, i == 0, false};
    }
    for (uint32_t i = 0; m->features->ibs != 0 && i < IBS; i++)
        list[count++] = (struct hardware_register){0xc0011030 + 3 * i, ibs_bits(m, i), true, false};
    for (uint32_t i = 0; can(m, 13) && i < IBS; i++)
        list[count++] = (struct hardware_register){0xc001103e + i, 1, false, false};
    if (has_stack(m))
        count += branches_registers(&stack, list + count, 40, false);
    count = count < room ? count : room;
    memcpy(out, list, count * sizeof *out);
    return count;
}

static const char *amd_specification(void *hardware, enum hardware_event event)
{
    const struct encoding *encoding = encoding_of(hardware, event);
    return encoding == NULL ? NULL : encoding->word;
}

const struct hardware_family hardware_amd = {
    .name = "amd",
    .models = models,
    .model_count = sizeof models / sizeof *models,
    .bytes = sizeof(struct machine),
    .init = amd_init,
    .reset = amd_reset,
    .leave = amd_leave,
    .cpuid = amd_cpuid,
    .rdmsr = amd_rdmsr,
    .wrmsr = amd_wrmsr,
    .rdpmc = amd_rdpmc,
    .happen = amd_happen,
    .interrupt = amd_interrupt,
    .rearm = amd_rearm,
    .watchdog = amd_watchdog,
    .watchdog_cycles = amd_watchdog_cycles,
    .watchdog_interrupt = amd_watchdog_interrupt,
    .samples = amd_samples,
    .branch = amd_branch,
    .depth = amd_depth,
    .damage = amd_damage,
    .registers = amd_registers,
    .specification = amd_specification,
};
