/* SPDX-License-Identifier: MIT */
/*
 * Steps of guests whose door is a page, or single events: honest ones, and some whose memory changes at any moment.
 */
#include <string.h>

#include "tests/host/simulated.h"

#define BIT(n) (UINT64_C(1) << (n))

static const uint8_t empty[4096];

static unsigned number_of(const struct host_guest *guest)
{
    return (unsigned)(guest - host.guest);
}

/* Each vCPU has a page of the guests' memory for its slots, and one for all else. */
static uint64_t own_page(const struct host_guest *guest, unsigned which)
{
    return PAGES_RAM + UINT64_C(4096) * (number_of(guest) + which * HOST_GUESTS);
}

/* ---- They come and go ---- */

static void begin_vm(struct lots *lots)
{
    struct host_vm *vm = &host.vm;

    if (vm->pv)
        return;
    vm->count = lots_one_in(lots, 4) ? 0 : 1u + lots_below(lots, HOST_PV_EVENTS);
    vm->pv = arena_take(sizeof *vm->pv, "VM");
    vm->events = arena_take(HOST_PV_EVENTS * sizeof *vm->events, "VM's events");
    /* (The host's lock is held: it calls no hook, and another CPU may make its first vCPU at this moment.) */
    rules_status("upmu_pv_init", upmu_pv_init(vm->pv, &pages_hooks, vm->events, vm->count), "");
}

void act_page_vm_end(void)
{
    if (!host.vm.pv)
        return;
    arena_give(host.vm.pv);
    arena_give(host.vm.events);
    host.vm.pv = NULL;
}

void act_page_make(struct host_guest *guest, struct lots *lots)
{
    begin_vm(lots);
    for (unsigned i = 0; i < 2; i++)
        pages_write(own_page(guest, i), empty, sizeof empty);
    guest->page.pv = arena_take(sizeof *guest->page.pv, "vCPU's page");
    guest->page.hostile = guest->spoiled = lots_one_in(lots, 4);
    rules_status("upmu_pv_vcpu_init", HOST_CALL(upmu_pv_vcpu_init(guest->page.pv, host.vm.pv, guest->guest)), "");
    guest->virtual.global = 0;
}

/* ---- What it asks for ---- */

/* Counts, most of the time. */
static uint64_t draw_config(struct lots *lots)
{
    static const uint16_t raw[] = {0x003c, 0x00c0, 0x00c4, 0x01c2, 0x412e, 0x0080};
    uint64_t config = BIT(63) | BIT(58) | BIT(57);

    if (lots_one_in(lots, 20))
        return lots_draw(lots) & lots_draw(lots);
    config |= lots_one_in(lots, 6) ? BIT(56) | raw[lots_below(lots, 6)] : lots_below(lots, 2) ? 1 : lots_below(lots, 8);
    config |= lots_below(lots, 2) ? BIT(59) : 0;
    if (lots_one_in(lots, 6))
        config ^= BIT(lots_one_in(lots, 6) ? lots_below(lots, 64) : 57 + lots_below(lots, 2));
    return config;
}

static void wish(struct host_guest *guest, unsigned n, struct lots *lots)
{
    uint64_t address = own_page(guest, 0) + 1600 + 32 * n, config = draw_config(lots);
    uint64_t more = lots_one_in(lots, 30) ? lots_draw(lots) : 0, load;

    pages_write(address, &config, sizeof config);
    pages_write(address + 8, &more, sizeof more);
    memcpy(&load, pages_at(address + 16, sizeof load), sizeof load);
    if (lots_one_in(lots, 4))
        return;
    load = ((load >> 48) + 1u) << 48 |
           ((lots_one_in(lots, 8) ? lots_draw(lots) : 0 - lots_size(lots, 14)) & (BIT(48) - 1u));
    pages_write(address + 16, &load, sizeof load);
}

static void gate(struct host_guest *guest, bool all, struct lots *lots)
{
    uint32_t slots = (1u << guest->virtual.shape.general) - 1u;

    for (unsigned n = 0; n < guest->virtual.shape.general; n++)
        if (all || lots_below(lots, 2))
            wish(guest, n, lots);
    if (!all)
        slots = lots_one_in(lots, 30) ? (uint32_t)lots_draw(lots) : slots & (uint32_t)lots_draw(lots);
    (void)pages_gate(guest, slots);
}

/* Room for an event's area, which no other has. */
static uint64_t free_area(const struct host_guest *guest, struct lots *lots)
{
    uint64_t area = 0;
    bool used = true;

    for (unsigned k = lots_below(lots, 2 * HOST_PV_EVENTS); used; k++) {
        area = own_page(guest, 1) + 256 + 16 * (k % (2 * HOST_PV_EVENTS));
        used = false;
        for (unsigned i = 0; i < HOST_PV_RECORDS; i++)
            used |= host.vm.event[i].open && host.vm.event[i].area == area;
    }
    pages_write(area, empty, 16);
    return area;
}

/* The structures of an event, one field of them wrong now and then. */
static uint64_t write_event(struct host_guest *guest, struct lots *lots)
{
    uint64_t page = own_page(guest, 1), config = draw_config(lots), flags = config >> 57 & 1 ? 0 : BIT(4);
    uint64_t attr[9] = {config >> 56 & 1 ? 4 : 0, config & (BIT(56) - 1u), 0, lots_draw(lots), lots_draw(lots), flags};
    uint64_t area = free_area(guest, lots), param[3] = {page + 64, area, lots_below(lots, HOST_PV_EVENTS)};
    uint64_t address = page + 8 * lots_below(lots, 4);

    if (config & BIT(59))
        attr[2] = lots_size(lots, lots_below(lots, 2) ? 14 : 30);
    switch (lots_below(lots, 30)) {
    case 0:
        attr[lots_below(lots, 9)] ^= BIT(lots_below(lots, 64));
        break;
    case 1:
        param[lots_below(lots, 3)] ^= BIT(lots_one_in(lots, 2) ? lots_below(lots, 14) : lots_below(lots, 64));
        break;
    case 2:
        address = lots_draw(lots) >> lots_below(lots, 64);
        break;
    default:
        break;
    }
    /* (An honest one does not have the host store to what else it uses.) */
    if (param[1] % 8 == 0 && pages_at(param[1], 16))
        param[1] = area;
    pages_write(page + 64, attr, sizeof attr);
    if (pages_at(address, sizeof param) && address >> 12 == page >> 12)
        pages_write(address, param, sizeof param);
    return address;
}

static void call_for_event(struct host_guest *guest, struct lots *lots)
{
    static const uint8_t operations[] = {2, 3, 3, 4, 5, 5};

    if (lots_below(lots, 3) == 0)
        (void)pages_open(guest, write_event(guest, lots));
    else {
        uint32_t event = lots_one_in(lots, 30) ? (uint32_t)lots_draw(lots) : lots_below(lots, HOST_PV_EVENTS);

        (void)pages_event(guest, operations[lots_below(lots, 6)], event);
    }
}

void act_page_program(struct host_guest *guest, struct lots *lots)
{
    if (guest->page.mapped) {
        gate(guest, true, lots);
        return;
    }
    for (unsigned i = 0; i < HOST_PV_EVENTS && host.vm.count; i++)
        (void)pages_event(guest, 3, i);
}

/* A page that is zeroed, most of the time at its address. */
static void map(struct host_guest *guest, struct lots *lots)
{
    if (!guest->page.mapped)
        pages_write(own_page(guest, 0), empty, sizeof empty);
    (void)pages_map(guest, lots_one_in(lots, 10) ? lots_draw(lots) >> lots_below(lots, 64) : own_page(guest, 0));
}

/* What it does between an exit and the next entry. */
void act_page_calls(struct host_guest *guest, struct lots *lots)
{
    for (unsigned i = lots_below(lots, 6); i; i--)
        switch (lots_below(lots, guest->page.mapped ? 10 : 14)) {
        case 0:
            if (lots_one_in(lots, 4))
                (void)pages_unmap(guest);
            break;
        case 1:
            map(guest, lots);
            break;
        case 2:
        case 3:
        case 4:
            gate(guest, false, lots);
            break;
        case 5:
        case 6:
            (void)pages_read_all(guest, lots_one_in(lots, 3) ? (uint32_t)lots_draw(lots) : ~UINT32_C(0));
            break;
        case 7:
            if (lots_one_in(lots, 8))
                pages_cpuid(guest);
            break;
        case 8:
            if (lots_one_in(lots, 8) && pages_call(guest, 6u + lots_below(lots, 10), 0, 0) != 1)
                rules_fail(RULE_GUEST, "there is no such operation, and it is not answered so");
            break;
        case 9:
            act_page_program(guest, lots);
            break;
        default:
            call_for_event(guest, lots);
            break;
        }
}
