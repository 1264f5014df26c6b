/* SPDX-License-Identifier: MIT */
/*
 * Steps of guests: virtual CPUs that come, run, move, are saved and restored, and write anything to their registers.
 */
#include <string.h>
#include <upmu/world.h>

#include "tests/host/real.h"
#include "tests/host/simulated.h"

#define IDLE(cpu) (HOST_PROGRAMS + (cpu))

static const struct upmu_guest_policy usual = {.level = UPMU_GUEST_IPC};

static unsigned number_of(const struct host_guest *guest)
{
    return (unsigned)(guest - host.guest);
}

/* ---- Shapes and policies ---- */

static void draw_shape(struct upmu_guest_shape *shape, struct lots *lots)
{
    if (shape->door == UPMU_GUEST_INTEL) {
        shape->version = (uint8_t)(1u + lots_below(lots, 5));
        shape->width = (uint8_t)(lots_below(lots, 2) ? 48 : 32 + lots_below(lots, 17));
        shape->full_write = (uint8_t)lots_below(lots, 2);
        if (lots_one_in(lots, 8))
            shape->general = (uint8_t)(1u + lots_below(lots, UPMU_GUEST_GENERAL));
        else if (shape->general > 1)
            shape->general = (uint8_t)(1u + lots_below(lots, shape->general));
        if (shape->version < 2)
            shape->fixed = 0;
        else if (lots_one_in(lots, 3))
            shape->fixed = (uint8_t)lots_below(lots, shape->fixed + 1u);
        if (lots_one_in(lots, 4))
            shape->arch_events &= (uint16_t)lots_draw(lots);
    } else if (shape->door == UPMU_GUEST_AMD_V2 && lots_below(lots, 2)) {
        shape->general = (uint8_t)(1u + lots_below(lots, 6));
    }
    if (lots_one_in(lots, 3))
        shape->family = shape->model = shape->stepping = 0;
}

/* Event (AMD's with bits 35:32), unit mask and, with MASKED, mask and exclusion; half are of architectural events. */
static uint64_t draw_entry(struct lots *lots, bool masked, bool intel)
{
    static const uint16_t codes[] = {0x003c, 0x00c0, 0x00c4, 0x00c5, 0x412e, 0x0076, 0x00c2, 0x00c3};
    const uint64_t bits = intel ? 0xffff : UINT64_C(0xf0000ffff);
    uint64_t entry = lots_below(lots, 2) ? codes[lots_below(lots, 8)] : lots_draw(lots) & bits;

    if (masked)
        entry |= (lots_draw(lots) & UINT64_C(0xff) << 56) | (uint64_t)lots_one_in(lots, 4) << 55;
    return entry;
}

static void draw_filter(struct host_guest *guest, struct lots *lots)
{
    unsigned count = lots_below(lots, 12);

    guest->filter = arena_take(sizeof *guest->filter, "filter");
    memset(guest->filter, 0, sizeof *guest->filter);
    guest->entries = arena_take((count + 1u) * sizeof *guest->entries, "entries");
    guest->filter->action = (uint8_t)lots_below(lots, 2);
    guest->filter->flags = (uint8_t)lots_below(lots, 2);
    guest->filter->count = (uint16_t)count;
    guest->filter->fixed_bitmap = (uint32_t)lots_draw(lots);
    guest->filter->entry = guest->entries;
    for (unsigned i = 0; i < count; i++)
        guest->entries[i] = draw_entry(lots, guest->filter->flags & UPMU_GUEST_FILTER_MASKED,
                                       guest->virtual.shape.door == UPMU_GUEST_INTEL);
    if (HOST_CALL(upmu_guest_filter_check(guest->filter)) != UPMU_OK)
        rules_fail(RULE_STATUS, "upmu_guest_filter_check: INVALID");
}

static void draw_policy(struct host_guest *guest, struct lots *lots)
{
    static const uint8_t levels[] = {UPMU_GUEST_IPC,  UPMU_GUEST_IPC, UPMU_GUEST_ARCH, UPMU_GUEST_ARCH,
                                     UPMU_GUEST_LIST, UPMU_GUEST_ALL, UPMU_GUEST_ALL,  UPMU_GUEST_OFF};
    static const uint32_t periods[] = {0, 0, 1, 200, 5000};
    struct upmu_guest_policy *policy;

    if (lots_one_in(lots, 8) && !host.setting.no_rearm)
        return;
    policy = guest->policy = arena_take(sizeof *policy, "policy");
    memset(policy, 0, sizeof *policy);
    policy->level = levels[lots_below(lots, 8)];
    policy->flags = lots_one_in(lots, 3) ? UPMU_GUEST_OWN_LAPIC : 0;
    policy->flags |= lots_one_in(lots, 4) ? UPMU_GUEST_STRICT : 0;
    policy->flags |= lots_one_in(lots, 3) ? UPMU_GUEST_PASSES : 0;
    policy->flags |= host.setting.no_rearm || lots_one_in(lots, 5) ? UPMU_GUEST_POLLED : 0;
    if (policy->level != UPMU_GUEST_IPC)
        policy->flags |= UPMU_GUEST_BESIDE_STRANGERS;
    policy->min_period = periods[lots_below(lots, 5)];
    if (policy->level == UPMU_GUEST_LIST)
        draw_filter(guest, lots);
    policy->filter = guest->filter;
    for (unsigned i = 0; i < 2; i++)
        policy->payload[i] = lots_below(lots, 2) ? lots_draw(lots) & UINT64_C(0x3fffffffff) : 0;
}

/* ---- They come and go ---- */

static void give_back(struct host_guest *guest)
{
    if (guest->thread != HOST_NONE)
        host.thread[guest->thread].guests--;
    if (guest->policy)
        arena_give(guest->policy);
    if (guest->filter) {
        arena_give(guest->filter);
        arena_give(guest->entries);
    }
    if (guest->page.pv)
        arena_give(guest->page.pv);
    arena_give(guest->sessions);
    arena_give(guest->guest);
    memset(guest, 0, sizeof *guest);
    arena_forgotten();
}

/* It leaves its CPU, this one. */
static void put(struct host_guest *guest)
{
    enum upmu_status status;

    if (guest->cpu == HOST_NONE)
        return;
    self->stay++;
    status = HOST_CALL(upmu_guest_put(guest->guest));
    self->stay--;
    rules_status("upmu_guest_put", status, "");
    host.thread[IDLE(guest->cpu)].pins--;
    guest->cpu = HOST_NONE;
}

void act_guests_leave(unsigned cpu)
{
    for (unsigned i = 0; i < HOST_GUESTS; i++)
        if (host.guest[i].guest && host.guest[i].cpu == cpu) {
            real_accept(&host.guest[i]);
            put(&host.guest[i]);
            real_offer(&host.guest[i]);
        }
}

/* May calls be made here that are local or need that it does not run? */
static bool is_reachable(const struct host_guest *guest)
{
    unsigned cpu = guest->thread == HOST_NONE ? guest->cpu : host.thread[guest->thread].cpu;

    return (cpu == HOST_NONE || cpu == self->cpu) && here()->coming == HOST_NONE &&
           (guest->thread == HOST_NONE || cpu != HOST_NONE || !host.thread[guest->thread].pins);
}

/* While calls on it are made, it neither comes to a CPU nor leaves one. */
static void hold(const struct host_guest *guest, bool holds)
{
    unsigned one = holds ? 1u : ~0u;

    self->stay += one;
    if (guest->thread != HOST_NONE)
        host.thread[guest->thread].pins += one;
}

static bool end(struct host_guest *guest)
{
    enum upmu_status status;

    if (!is_reachable(guest) && !host.alone)
        return false;
    put(guest);
    hold(guest, true);
    pages_end(guest);
    status = HOST_CALL(upmu_guest_fini(guest->guest));
    hold(guest, false);
    rules_status("upmu_guest_fini", status, "WRONG_CPU BUSY PORT");
    guest->ending = status != UPMU_OK && status != UPMU_ERR_PORT;
    if (guest->ending)
        return false;
    give_back(guest);
    return true;
}

static void check_refusals(struct host_guest *guest, const struct upmu_guest_memory *memory, struct lots *lots)
{
    struct upmu_guest_shape shape = guest->virtual.shape;
    uint8_t *bytes = (uint8_t *)&shape;
    unsigned at = lots_below(lots, sizeof shape.reserved);

    if (lots_below(lots, 8))
        return;
    bytes[offsetof(struct upmu_guest_shape, reserved) + at] = 1;
    if (HOST_CALL(upmu_guest_init(guest->guest, host.machine, &shape, guest->policy, memory)) != UPMU_ERR_INVALID)
        rules_fail(RULE_STATUS, "upmu_guest_init takes a shape with a reserved byte that is not 0");
}

static void make(struct host_guest *guest, struct lots *lots)
{
    struct lots own = {lots->state + 1u}; /* (What else is drawn is as it would be without a page.) */
    static const enum upmu_guest_door doors[] = {UPMU_GUEST_AMD_K7, UPMU_GUEST_AMD_CORE, UPMU_GUEST_AMD_V2};
    bool intel = (host.setting.family != &hardware_amd) != lots_one_in(lots, 4);
    enum upmu_guest_door door = intel ? UPMU_GUEST_INTEL : doors[lots_below(lots, 3)];
    bool has_page = lots_below(&own, 5) < 2;
    struct upmu_guest_memory memory;
    unsigned thread = lots_below(lots, HOST_PROGRAMS);
    enum upmu_status status;

    memset(guest, 0, sizeof *guest);
    guest->cpu = guest->thread = HOST_NONE;
    guest->busy = true;
    if (HOST_CALL(upmu_guest_shape_default(host.machine, door, NULL, &guest->virtual.shape)) != UPMU_OK)
        return;
    draw_policy(guest, lots);
    status = HOST_CALL(upmu_guest_shape_default(host.machine, door, guest->policy, &guest->virtual.shape));
    if (status != UPMU_OK)
        rules_fail(RULE_STATUS, "upmu_guest_shape_default: %s", upmu_status_text(status));
    draw_shape(&guest->virtual.shape, lots);
    has_page &= intel;
    if (has_page) {
        guest->virtual.shape.version = (uint8_t)(2u + lots_below(&own, 3));
        guest->virtual.shape.width = 48;
        guest->virtual.shape.full_write = 1;
        guest->virtual.shape.fixed = 0;
    }
    guest->count = guests_counters(&guest->virtual.shape);
    if (lots_one_in(lots, 8))
        guest->count = 1u + lots_below(lots, guest->count);
    if (lots_below(lots, 2) && host.thread[thread].thread && !host.thread[thread].ending &&
        !host.thread[thread].guests) {
        guest->thread = (uint8_t)thread;
        host.thread[thread].guests++;
    }
    guest->guest = arena_take(sizeof *guest->guest, "vCPU");
    guest->sessions = arena_take(guest->count * sizeof *guest->sessions, "vCPU's sessions");
    memset(guest->sessions, 0, guest->count * sizeof *guest->sessions);
    memset(&memory, 0, sizeof memory); /* (Its padding would be copied, too, and taken for a pointer.) */
    memory.sessions = guest->sessions;
    memory.count = guest->count;
    memory.thread = guest->thread == HOST_NONE ? NULL : host.thread[thread].thread;
    check_refusals(guest, &memory, lots);
    status = HOST_CALL(upmu_guest_init(guest->guest, host.machine, &guest->virtual.shape, guest->policy, &memory));
    if (status != UPMU_OK)
        rules_fail(RULE_STATUS, "upmu_guest_init: %s", upmu_status_text(status));
    guest->virtual.policy = guest->policy ? guest->policy : &usual;
    guests_reset(&guest->virtual);
    if (has_page)
        act_page_make(guest, &own);
    host.verdict->figures.guests++;
}

/* ---- What a guest does ---- */

/* A select that counts, most of the time. */
static uint64_t draw_select(const struct virtual_pmu *pmu, struct lots *lots)
{
    static const uint16_t intel[] = {0x003c, 0x00c0, 0x00c0, 0x00c4, 0x00c5, 0x4f2e, 0x412e, 0x013c};
    static const uint16_t amd[] = {0x0076, 0x00c0, 0x00c0, 0x00c2, 0x00c3, 0x0076, 0x00c0, 0x00c2};
    uint64_t select = (pmu->shape.door == UPMU_GUEST_INTEL ? intel : amd)[lots_below(lots, 8)];

    if (lots_one_in(lots, 12))
        return lots_draw(lots) >> lots_below(lots, 40);
    select |= UINT64_C(3) << 16 | UINT64_C(1) << 22;
    if (lots_below(lots, 2))
        select |= UINT64_C(1) << 20;
    if (lots_one_in(lots, 6))
        select ^= UINT64_C(1) << (16u + lots_below(lots, 7));
    if (lots_one_in(lots, 40))
        select |= lots_draw(lots) & UINT64_C(0xff840000);
    return select;
}

/* Near its end, most of the time. */
static uint64_t draw_value(const struct virtual_pmu *pmu, struct lots *lots)
{
    uint64_t left = lots_size(lots, 14);

    switch (lots_below(lots, 8)) {
    case 0:
        return lots_draw(lots);
    case 1:
        return 0;
    case 2:
        return lots_size(lots, 48);
    default:
        return (0 - left) & pmu->mask;
    }
}

/* One of the shape's registers, with what it is usually written with. */
static void draw_access(const struct virtual_pmu *pmu, struct lots *lots, uint32_t *out_msr, uint64_t *out_value)
{
    bool intel = pmu->shape.door == UPMU_GUEST_INTEL;
    unsigned i = lots_below(lots, pmu->shape.general), fixed = lots_below(lots, pmu->shape.fixed + 1u);
    bool core = pmu->shape.door >= UPMU_GUEST_AMD_CORE && (i > 3 || lots_below(lots, 2));
    uint64_t all = (UINT64_C(1) << pmu->shape.general) - 1u;

    all |= ((UINT64_C(1) << pmu->shape.fixed) - 1u) << 32;
    *out_value = lots_draw(lots);
    switch (lots_below(lots, 12)) {
    case 0:
    case 1:
    case 2:
        *out_msr = intel ? 0x186 + i : core ? 0xc0010200 + 2 * i : 0xc0010000 + (i & 3);
        *out_value = draw_select(pmu, lots);
        return;
    case 3:
    case 4:
        *out_msr = intel ? (lots_below(lots, 2) ? 0xc1 : 0x4c1) + i : core ? 0xc0010201 + 2 * i : 0xc0010004 + (i & 3);
        *out_value = draw_value(pmu, lots);
        return;
    case 5:
        *out_msr = intel ? 0x309 + fixed : 0xc0010004 + (i & 3);
        *out_value = draw_value(pmu, lots);
        return;
    case 6:
        *out_msr = intel ? 0x38d : 0xc0010000 + (i & 3);
        if (!intel)
            *out_value = draw_select(pmu, lots);
        else
            *out_value &= UINT64_C(0xbbb) & ((UINT64_C(1) << 4 * pmu->shape.fixed) - 1u);
        return;
    case 7:
    case 8:
        *out_msr = intel ? 0x38f : 0xc0000301;
        *out_value = lots_below(lots, 3) ? all : all & *out_value;
        return;
    case 9:
        *out_msr = intel ? 0x390 : 0xc0000302;
        *out_value = lots_below(lots, 2) ? all | UINT64_C(3) << 58 : all & *out_value;
        return;
    case 10:
        *out_msr = 0x1d9;
        *out_value &= UINT64_C(3) << (11u - lots_below(lots, 2));
        return;
    default:
        *out_msr = intel ? 0x391 : 0xc0000303;
        *out_value &= all;
        return;
    }
}

/* Any register with any value. */
static uint32_t draw_any(struct lots *lots)
{
    static const uint32_t first[] = {0xc1,  0x4c1, 0x186,      0x309,      0x38d,      0x345, 0x1a6, 0x1d9,
                                     0x3f1, 0x680, 0xc0010000, 0xc0010200, 0xc0000300, 0x10f, 0x600, 0xc0011030};

    return lots_one_in(lots, 4) ? (uint32_t)lots_draw(lots) >> lots_below(lots, 32)
                                : first[lots_below(lots, 16)] + lots_below(lots, 12);
}

static void write_one(struct host_guest *guest, struct lots *lots)
{
    uint32_t msr;
    uint64_t value;

    if (lots_one_in(lots, 6)) {
        msr = draw_any(lots);
        value = lots_draw(lots) >> lots_below(lots, 64);
    } else {
        draw_access(&guest->virtual, lots, &msr, &value);
    }
    guests_wrmsr(guest, msr, value);
    if (lots_below(lots, 2))
        guests_retired(guest, 1, 0, false);
}

/* All its counters, as a driver would begin. */
static void program(struct host_guest *guest, struct lots *lots)
{
    const struct upmu_guest_shape *shape = &guest->virtual.shape;
    bool intel = shape->door == UPMU_GUEST_INTEL;

    if (guest->page.pv) {
        act_page_program(guest, lots);
        return;
    }
    for (unsigned i = 0; i < shape->general; i++) {
        bool core = shape->door >= UPMU_GUEST_AMD_CORE;

        guests_wrmsr(guest, intel ? 0x186 + i : core ? 0xc0010200 + 2 * i : 0xc0010000 + i,
                     draw_select(&guest->virtual, lots));
        guests_wrmsr(guest, intel ? 0xc1 + i : core ? 0xc0010201 + 2 * i : 0xc0010004 + i,
                     draw_value(&guest->virtual, lots));
    }
    for (unsigned i = 0; i < shape->fixed; i++)
        guests_wrmsr(guest, 0x309 + i, draw_value(&guest->virtual, lots));
    guests_wrmsr(guest, intel ? 0x38d : 0xc0000302, intel ? 0xbbb & ((1u << 4 * shape->fixed) - 1u) : ~UINT64_C(0));
    guests_wrmsr(guest, intel ? 0x38f : 0xc0000301,
                 ((UINT64_C(1) << shape->general) - 1u) | ((UINT64_C(1) << shape->fixed) - 1u) << 32);
}

static void set_lvtpc(struct host_guest *guest, struct lots *lots)
{
    static const uint32_t usual_words[] = {0x400, 0x400, 0xf0, 0x10400};
    uint32_t value = lots_one_in(lots, 6) ? (uint32_t)lots_draw(lots) : usual_words[lots_below(lots, 4)];

    if (lots_one_in(lots, 8)) {
        guest->virtual.lapic_off = lots_below(lots, 2);
        HOST_DO(upmu_guest_lapic(guest->guest, !guest->virtual.lapic_off));
        guests_put_lvtpc(&guest->virtual, guest->virtual.lvtpc);
    } else if (!(guest->virtual.policy->flags & UPMU_GUEST_OWN_LAPIC) && lots_below(lots, 2)) {
        guests_wrmsr(guest, 0x834, value);
    } else {
        HOST_DO(upmu_guest_lvtpc(guest->guest, value));
        guests_put_lvtpc(&guest->virtual, value);
    }
}

/* What it does between an exit and the next entry. */
static void do_accesses(struct host_guest *guest, struct lots *lots)
{
    if (guest->page.pv) {
        act_page_calls(guest, lots);
        return;
    }
    for (unsigned i = lots_below(lots, 6); i; i--)
        switch (lots_below(lots, 10)) {
        case 0:
        case 1:
        case 2:
            write_one(guest, lots);
            break;
        case 3:
        case 4:
            guests_rdpmc(guest, lots_one_in(lots, 8)  ? (uint32_t)lots_draw(lots)
                                : lots_below(lots, 3) ? lots_below(lots, guest->virtual.shape.general)
                                                      : UINT32_C(1) << 30 | lots_below(lots, 4));
            break;
        case 5: {
            uint32_t msr;
            uint64_t value;

            draw_access(&guest->virtual, lots, &msr, &value);
            guests_rdmsr(guest, lots_one_in(lots, 4) ? draw_any(lots) : msr);
            break;
        }
        case 6:
            set_lvtpc(guest, lots);
            break;
        case 7: {
            uint32_t subleaf = lots_below(lots, 2), high = lots_below(lots, 2) ? 0x80000000u : 0;

            guests_cpuid(guest, high + lots_below(lots, 0x24), subleaf);
            break;
        }
        case 8:
            guests_look(guest);
            break;
        default:
            if (lots_one_in(lots, 3))
                program(guest, lots);
            break;
        }
}

/* ---- Entries and exits ---- */

static bool is_there(const struct host_guest *guest)
{
    const struct host_cpu *cpu = here();

    return cpu->power == CPU_LIVE && !cpu->useless && cpu->cpu && !cpu->unreachable && cpu->coming == HOST_NONE &&
           (guest->thread == HOST_NONE ? guest->cpu == self->cpu : cpu->thread == guest->thread);
}

/* It comes to this CPU, if it is nowhere else. */
static bool bring(struct host_guest *guest)
{
    struct host_cpu *cpu = here();
    enum upmu_status status;

    if (cpu->power != CPU_LIVE || cpu->useless || cpu->unreachable || cpu->coming != HOST_NONE)
        return false;
    if (guest->thread != HOST_NONE) {
        hooks_switch(guest->thread);
    } else if (guest->cpu == HOST_NONE) {
        for (unsigned i = 0; i < HOST_GUESTS; i++)
            if (host.guest[i].guest && host.guest[i].cpu == self->cpu)
                return false;
        hooks_switch(IDLE(self->cpu));
        if (here()->thread != IDLE(self->cpu))
            return false;
        host.thread[IDLE(self->cpu)].pins++;
        self->stay++;
        status = HOST_CALL(upmu_guest_load(guest->guest, here()->cpu));
        self->stay--;
        rules_status("upmu_guest_load", status, "");
        guest->cpu = self->cpu;
        host.verdict->figures.switches++;
    }
    return is_there(guest);
}

/* The CPU executes it: by the hardware's own change of gates, or by the call that has returned. */
static void begin_inside(uint8_t number)
{
    struct host_cpu *cpu = here();

    host.verdict->figures.entries++;
    cpu->guest = number;
    cpu->irq_off = true;
    if (cpu->by_hardware)
        hooks_hardware_world(cpu, true);
    cpu->world = CPU_IN_GUEST;
    cpu->irq_off = false;
}

static void end_inside(void)
{
    struct host_cpu *cpu = here();

    cpu->irq_off = true;
    if (cpu->by_hardware && cpu->world == CPU_IN_GUEST)
        hooks_hardware_world(cpu, false);
    else if (!cpu->by_hardware)
        cpu->world = CPU_TURNING;
    cpu->left_guest = false;
    cpu->irq_off = false;
}

/* Now and then a call is made in the middle of it, where software moves the gates (world.h). */
static void run_inside(struct host_guest *guest, const struct upmu_guest_entry *entry, struct lots *lots)
{
    for (unsigned pieces = 1u + lots_below(lots, 3); pieces; pieces--) {
        hooks_work_drawn(lots, 14, 24);
        if (guest)
            guests_read_itself(guest, entry);
        if (guest && guest->page.pv) {
            pages_look_inside(guest);
            pages_stir(lots);
        }
        if (!here()->by_hardware && lots_one_in(lots, 10)) {
            static const uint8_t kinds[] = {STEP_READ, STEP_START, STEP_STOP, STEP_READ};
            struct step step = {.kind = kinds[lots_below(lots, 4)], .what = (uint8_t)lots_draw(lots)};

            act_session(&step, lots);
            self->apart_times++;
        }
        if (traces_are_on() && !here()->by_hardware && lots_one_in(lots, 10)) {
            act_traces(&(struct step){.where = self->cpu}, lots);
            self->apart_times++;
        }
    }
}

/* A set that ended inside a guest is followed by the next when the host is back. */
static bool sets_may_change(void)
{
    bool may = false;

    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        may |= host.session[i].sets > 1;
    return may;
}

static void exit_guest(struct host_guest *guest)
{
    enum upmu_status status;

    end_inside();
    guests_begin_call();
    status = HOST_CALL(upmu_guest_exit(guest->guest));
    guests_end_call("upmu_guest_exit", here()->by_hardware && !sets_may_change() ? 16 : 128);
    rules_status("upmu_guest_exit", status, "PORT");
    here()->world = CPU_IN_HOST;
    here()->guest = HOST_NONE;
}

/* One entry, and what comes after its exit. */
static void turn(struct host_guest *guest, struct lots *lots)
{
    struct upmu_guest_entry entry;
    enum upmu_status status;
    bool drained = lots_below(lots, 2);

    if (drained)
        hooks_drain_interrupts();
    drained &= !host.setting.options.late || !hooks_interrupt_is_coming(self->cpu);
    if (!here()->by_hardware)
        here()->world = CPU_TURNING;
    here()->guest = (uint8_t)number_of(guest);
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++)
        if (guest->virtual.counter[i].mode == VIRTUAL_STANDS && here()->world == CPU_TURNING)
            guest->virtual.counter[i].mode = VIRTUAL_MAY_COUNT;
    guests_begin_call();
    status = guest->page.pv ? pages_enter(guest, &entry) : HOST_CALL(upmu_guest_enter(guest->guest, &entry));
    guests_end_call("upmu_guest_enter", 64u + 24u * VIRTUAL_COUNTERS);
    guests_entered(guest, &entry, status, drained);
    if (guest->page.pv)
        pages_entered(guest, &entry);
    begin_inside((uint8_t)number_of(guest));
    run_inside(guest, &entry, lots);
    exit_guest(guest);
    if (lots_one_in(lots, 4)) {
        bool user = lots_below(lots, 2), branched = lots_below(lots, 2);

        guests_retired(guest, lots_below(lots, 3), branched, user);
    }
    do_accesses(guest, lots);
}

static void run(struct host_guest *guest, struct lots *lots)
{
    for (unsigned turns = 1u + lots_below(lots, 8); turns && bring(guest); turns--) {
        hold(guest, true);
        if (lots_one_in(lots, 6))
            program(guest, lots);
        turn(guest, lots);
        hold(guest, false);
        /* (The host's own time is nothing to it.) */
        if (lots_below(lots, 2))
            hooks_work_drawn(lots, 12, 12);
    }
    if (is_there(guest)) {
        hold(guest, true);
        if (guest->page.pv)
            (void)pages_read_all(guest, ~UINT32_C(0));
        else
            guests_look(guest);
        hold(guest, false);
    }
    if (lots_below(lots, 2) && guest->cpu == self->cpu)
        put(guest);
}

/* A guest that has no PMU: only the worlds turn. */
static void run_world(struct lots *lots)
{
    struct host_cpu *cpu = here();
    enum upmu_status status;

    if (cpu->power != CPU_LIVE || cpu->useless || cpu->unreachable || cpu->coming != HOST_NONE ||
        guests_may_count(self->cpu))
        return;
    self->stay++;
    if (!cpu->by_hardware) {
        cpu->world = CPU_TURNING;
        status = HOST_CALL(upmu_cpu_enter_guest(cpu->cpu));
        rules_status("upmu_cpu_enter_guest", status, "PORT");
    }
    begin_inside(HOST_NONE);
    run_inside(NULL, NULL, lots);
    end_inside();
    if (!cpu->by_hardware)
        rules_status("upmu_cpu_leave_guest", HOST_CALL(upmu_cpu_leave_guest(cpu->cpu)), "PORT");
    cpu->world = CPU_IN_HOST;
    self->stay--;
}

/* ---- Saved and restored ---- */

static void check_damaged(struct host_guest *guest, const uint8_t *state, size_t size, struct lots *lots)
{
    uint8_t bytes[UPMU_GUEST_STATE_BYTES + 1];
    unsigned family, model;

    memcpy(bytes, state, size);
    bytes[size] = 0;
    bytes[lots_below(lots, (uint32_t)size)] ^= (uint8_t)(1u << lots_below(lots, 8));
    rules_status("upmu_guest_restore", HOST_CALL(upmu_guest_restore(guest->guest, bytes, size)), "INVALID VERSION");
    if (HOST_CALL(upmu_guest_restore(guest->guest, bytes, size)) == UPMU_OK)
        rules_fail(RULE_GUEST, "a damaged state is restored");
    if (HOST_CALL(upmu_guest_restore(guest->guest, state, size - 1u)) == UPMU_OK ||
        HOST_CALL(upmu_guest_state_needs(bytes, size, &family, &model)) == UPMU_OK)
        rules_fail(RULE_GUEST, "a damaged state is taken");
}

/* Its registers go on in another vCPU, whose host grants what it likes. */
static void carry(struct host_guest *from, struct host_guest *to, const uint8_t *state, size_t size)
{
    enum upmu_status status;
    bool fits = memcmp(&from->virtual.shape, &to->virtual.shape, sizeof from->virtual.shape) == 0;

    hold(to, true);
    status = HOST_CALL(upmu_guest_restore(to->guest, state, size));
    hold(to, false);
    rules_status("upmu_guest_restore", status, "INVALID WRONG_PMU");
    if (status != UPMU_OK)
        return;
    if (!fits)
        rules_fail(RULE_GUEST, "a state is restored in another shape");
    host.verdict->figures.carried++;
    memcpy(to->virtual.counter, from->virtual.counter, sizeof to->virtual.counter);
    to->virtual.global = from->virtual.global;
    to->virtual.status = from->virtual.status;
    to->virtual.debugctl = from->virtual.debugctl;
    memcpy(to->virtual.offcore, from->virtual.offcore, sizeof to->virtual.offcore);
    to->virtual.lvtpc = from->virtual.lvtpc;
    to->virtual.lapic_off = false;
    to->virtual.spent = from->virtual.spent;
    to->virtual.frozen_unknown = from->virtual.frozen_unknown;
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++) {
        to->virtual.counter[i].mode = VIRTUAL_STANDS;
        to->virtual.counter[i].since = 0;
    }
}

static struct host_guest *find_other(const struct host_guest *guest, unsigned first)
{
    for (unsigned i = 0; i < HOST_GUESTS; i++) {
        struct host_guest *other = &host.guest[(first + i) % HOST_GUESTS];

        if (other != guest && other->guest && !other->busy && !other->ending && !other->page.pv)
            return other;
    }
    return NULL;
}

/* A policy that counts what the shape shows. */
static void widen(struct host_guest *guest)
{
    if (!HOST_CALL(upmu_guest_shape_denied(&guest->virtual.shape, guest->policy)))
        return;
    if (!guest->policy) {
        guest->policy = arena_take(sizeof *guest->policy, "policy");
        memset(guest->policy, 0, sizeof *guest->policy);
    }
    guest->policy->level = UPMU_GUEST_ALL;
    guest->policy->flags |= UPMU_GUEST_BESIDE_STRANGERS;
}

/* Another of the same shape, as on the host that it goes to. */
static struct host_guest *make_twin(const struct host_guest *guest, struct lots *lots)
{
    struct host_guest *twin = find_other(guest, lots_below(lots, HOST_GUESTS));
    struct upmu_guest_memory memory;

    if (!twin)
        return NULL;
    twin->busy = true;
    real_accept(twin);
    if (!end(twin)) {
        twin->busy = false;
        return NULL;
    }
    memset(twin, 0, sizeof *twin);
    twin->cpu = twin->thread = HOST_NONE;
    twin->busy = true;
    twin->virtual.shape = guest->virtual.shape;
    draw_policy(twin, lots);
    widen(twin);
    if (twin->policy) /* (What it could not hold would be refused.) */
        memcpy(twin->policy->payload, guest->virtual.policy->payload, sizeof twin->policy->payload);
    twin->count = guests_counters(&twin->virtual.shape);
    twin->guest = arena_take(sizeof *twin->guest, "vCPU");
    twin->sessions = arena_take(twin->count * sizeof *twin->sessions, "vCPU's sessions");
    memset(twin->sessions, 0, twin->count * sizeof *twin->sessions);
    memset(&memory, 0, sizeof memory);
    memory.sessions = twin->sessions;
    memory.count = twin->count;
    rules_status("upmu_guest_init",
                 HOST_CALL(upmu_guest_init(twin->guest, host.machine, &twin->virtual.shape, twin->policy, &memory)),
                 "");
    twin->virtual.policy = twin->policy ? twin->policy : &usual;
    guests_reset(&twin->virtual);
    real_offer(twin);
    twin->busy = false;
    return twin;
}

static void save(struct host_guest *guest, struct lots *lots)
{
    uint8_t state[UPMU_GUEST_STATE_BYTES], again[UPMU_GUEST_STATE_BYTES];
    size_t size = 0, used = 0;
    struct host_guest *to;
    enum upmu_status status;
    unsigned family, model;

    if (!is_reachable(guest))
        return;
    put(guest);
    hold(guest, true);
    memset(state, 0x5a, sizeof state);
    memset(again, 0xa5, sizeof again);
    status = HOST_CALL(upmu_guest_save(guest->guest, state, sizeof state, &size));
    rules_status("upmu_guest_save", status, "WRONG_CPU PORT BUSY");
    if (status == UPMU_OK && !guest->spoiled) {
        status = HOST_CALL(upmu_guest_save(guest->guest, again, sizeof again, &used));
        if (!guest->spoiled && (status != UPMU_OK || used != size || memcmp(state, again, size) != 0))
            rules_fail(RULE_GUEST, "vCPU %u: saved twice it is not the same", number_of(guest));
        if (HOST_CALL(upmu_guest_save(guest->guest, again, size - 1u, &used)) != UPMU_ERR_NO_SPACE || used != size)
            rules_fail(RULE_GUEST, "a state is saved where it has no room");
        if (HOST_CALL(upmu_guest_state_needs(state, size, &family, &model)) != UPMU_OK)
            rules_fail(RULE_GUEST, "a saved state is damaged");
    }
    hold(guest, false);
    /* (Its registers alone are not what a vCPU with a page goes on with.) */
    if (status == UPMU_OK && !guest->spoiled && !guest->page.pv) {
        to = lots_below(lots, 3) ? make_twin(guest, lots) : find_other(guest, lots_below(lots, HOST_GUESTS));
        if (to && is_reachable(to)) {
            to->busy = true;
            real_accept(to);
            put(to);
            if (lots_below(lots, 2))
                check_damaged(to, state, size, lots);
            carry(guest, to, state, size);
            real_offer(to);
            to->busy = false;
        }
    }
}

/* ---- All of them ---- */

void act_guests_end(void)
{
    for (unsigned i = 0; i < HOST_GUESTS; i++)
        if (host.guest[i].guest && !end(&host.guest[i]))
            rules_fail(RULE_STATE, "vCPU %u cannot be ended", i);
    act_page_vm_end();
}

void act_guest(const struct step *step, struct lots *lots)
{
    struct host_guest *guest = &host.guest[step->what % HOST_GUESTS];

    if (here()->coming != HOST_NONE)
        return;
    if (step->kind == STEP_WORLD) {
        run_world(lots);
        return;
    }
    if (guest->busy)
        return;
    guest->busy = true;
    real_accept(guest);
    if (step->kind == STEP_GUEST_MAKE) {
        if (!guest->guest || end(guest))
            make(guest, lots);
    } else if (!guest->guest || guest->ending) {
        /* (There is none, or none to call.) */
    } else if (step->kind == STEP_GUEST_RUN) {
        run(guest, lots);
    } else if (step->kind == STEP_GUEST_SAVE) {
        save(guest, lots);
    } else if (is_reachable(guest)) {
        put(guest);
        if (step->kind == STEP_GUEST_RESET) {
            hold(guest, true);
            pages_end(guest);
            HOST_DO(upmu_guest_reset(guest->guest));
            hold(guest, false);
            guests_reset(&guest->virtual);
            if (guest->page.pv)
                guest->virtual.global = 0;
        }
    }
    real_offer(guest);
    guest->busy = false;
}
