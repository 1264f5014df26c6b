/* SPDX-License-Identifier: MIT */
/*
 * What must hold of pages of guests, and of events that they open: written from docs/PARAVIRT.md.
 *
 * The guests' memory is given to the host while it is pinned, and taken away with the last pin: what is stored later is
 * noticed.  What the host may store is compared with the events that were made, the rest with what guests stored there.
 */
#include <string.h>

#include "tests/host/virtual.h"

#define PAGE_BYTES 4096u
#define VALUE_BITS ((UINT64_C(1) << 48) - 1u)
#define GENERIC_EVENTS 7u

/* Offsets in a page, and in an area. */
#define AT_GATE 8u
#define AT_OVERFLOWED 12u
#define AT_SLOT(n) (64u + 64u * (n))
#define AT_WISH(n) (1600u + 32u * (n))
#define IN_SLOT_COUNT 0u
#define IN_SLOT_OVERFLOWS 8u
#define IN_SLOT_SEQUENCE 12u
#define IN_SLOT_VALUE 16u
#define IN_SLOT_STATUS 60u

#define WISH_RAW BIT(56)
#define WISH_USER BIT(57)
#define WISH_KERNEL BIT(58)
#define WISH_INTERRUPT BIT(59)
#define WISH_USED BIT(63)
#define WISH_EVENT (BIT(56) - 1u)
#define RAW_BITS UINT64_C(0xff84ffff)

enum { OPEN = 1, CLOSE, ENABLE, DISABLE, READ, MAP = 16, UNMAP, GATE, READ_ALL };
enum { OK, BAD_OP, BAD_ADDRESS, BAD_ATTR, BAD_EVENT, BAD_ID, DUPLICATE, LIMIT, BAD_VCPU, BUSY, BAD_STATE, NO_PMU,
       BAD_PERIOD };

static unsigned number_of(const struct host_guest *guest)
{
    return (unsigned)(guest - host.guest);
}

/* ---- Memory of guests ---- */

void *pages_at(uint64_t address, size_t bytes)
{
    uint64_t offset = address - PAGES_RAM;
    unsigned page = (unsigned)(offset / PAGE_BYTES);

    if (address < PAGES_RAM || offset >= sizeof host.vm.ram || offset % PAGE_BYTES + bytes > PAGE_BYTES)
        return NULL;
    return (host.vm.pinned[page] ? host.vm.pinned[page] : host.vm.ram[page]) + offset % PAGE_BYTES;
}

static uint32_t get32(uint64_t address)
{
    uint32_t value;

    memcpy(&value, pages_at(address, sizeof value), sizeof value);
    return value;
}

static uint64_t get64(uint64_t address)
{
    uint64_t value;

    memcpy(&value, pages_at(address, sizeof value), sizeof value);
    return value;
}

void pages_write(uint64_t address, const void *from, size_t bytes)
{
    uint64_t offset = address - PAGES_RAM;

    memcpy(pages_at(address, bytes), from, bytes);
    memcpy(&host.vm.ram[offset / PAGE_BYTES][offset % PAGE_BYTES], from, bytes);
}

/* So much of it the host may have stored: of what was found in a page. */
static void take_over(unsigned page, const uint8_t *found, uint64_t address, unsigned bytes)
{
    unsigned offset = (unsigned)((address - PAGES_RAM) % PAGE_BYTES);

    if ((address - PAGES_RAM) / PAGE_BYTES == page)
        memcpy(&host.vm.ram[page][offset], found + offset, bytes);
}

/* All else is as guests left it.  (Each page is looked at once: CPUs that are threads store to it meanwhile.) */
static void check_memory(void)
{
    struct host_vm *vm = &host.vm;
    uint8_t found[PAGE_BYTES];

    for (unsigned page = 0; page < HOST_RAM_PAGES; page++) {
        if (!vm->pinned[page])
            continue;
        memcpy(found, vm->pinned[page], sizeof found);
        for (unsigned i = 0; i < sizeof vm->pin / sizeof vm->pin[0]; i++) {
            uint64_t address = vm->pin[i].address;

            if (vm->pin[i].bytes == PAGE_BYTES) {
                take_over(page, found, address, 16);
                for (unsigned n = 0; n < VIRTUAL_GENERAL; n++) {
                    take_over(page, found, address + AT_SLOT(n), 48);
                    take_over(page, found, address + AT_SLOT(n) + IN_SLOT_STATUS, 4);
                }
            } else if (vm->pin[i].bytes) {
                take_over(page, found, address, 12);
            }
        }
        if (memcmp(found, vm->ram[page], PAGE_BYTES) != 0)
            rules_fail(RULE_DAMAGE, "page %u of the guests' memory is stored to where the host may not", page);
    }
}

/* ---- Hooks ---- */

static bool refuse(void)
{
    bool refused = lots_one_in(&self->noise, 60);

    self->refused |= refused;
    return refused;
}

static bool hook_copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    uint64_t at;
    size_t copied = 0;

    (void)context;
    hooks_begin();
    for (at = address; copied < bytes && at >= address && pages_at(at, 1); at++)
        memcpy((uint8_t *)to + copied++, pages_at(at, 1), 1);
    if (refuse())
        copied = 0;
    pages_stir(&self->noise);
    hooks_end();
    return copied == bytes;
}

static void *hook_pin(void *context, uint64_t address, size_t bytes)
{
    struct host_vm *vm = &host.vm;
    unsigned page = (unsigned)((address - PAGES_RAM) / PAGE_BYTES), i = 0;
    void *memory;

    (void)context;
    hooks_begin();
    memory = refuse() ? NULL : pages_at(address, bytes);
    if (memory) {
        while (vm->pin[i].bytes)
            i++;
        vm->pin[i].address = address;
        vm->pin[i].bytes = bytes;
        if (!vm->pinned[page]) {
            vm->pinned[page] = arena_take(PAGE_BYTES, "samples"); /* (It has no pointers.) */
            memcpy(vm->pinned[page], vm->ram[page], PAGE_BYTES);
        }
        memory = pages_at(address, bytes);
    }
    TRACE("pin %llx, %u bytes%s", (unsigned long long)address, (unsigned)bytes, memory ? "" : ": refused");
    hooks_end();
    return memory;
}

static void hook_unpin(void *context, void *memory, size_t bytes)
{
    struct host_vm *vm = &host.vm;
    unsigned i = 0, page, left = 0;

    (void)context;
    hooks_begin();
    check_memory();
    while (i < sizeof vm->pin / sizeof vm->pin[0] &&
           (vm->pin[i].bytes != bytes || pages_at(vm->pin[i].address, bytes) != memory))
        i++;
    if (i == sizeof vm->pin / sizeof vm->pin[0])
        rules_fail(RULE_FREED, "memory of a guest is unpinned that is not pinned");
    page = (unsigned)((vm->pin[i].address - PAGES_RAM) / PAGE_BYTES);
    TRACE("unpin %llx, %u bytes", (unsigned long long)vm->pin[i].address, (unsigned)bytes);
    vm->pin[i].bytes = 0;
    for (i = 0; i < sizeof vm->pin / sizeof vm->pin[0]; i++)
        left += vm->pin[i].bytes && (vm->pin[i].address - PAGES_RAM) / PAGE_BYTES == page;
    if (!left) {
        arena_give(vm->pinned[page]);
        vm->pinned[page] = NULL;
    }
    hooks_end();
}

const struct upmu_pv_hooks pages_hooks = {.copy_in = hook_copy_in, .pin = hook_pin, .unpin = hook_unpin};

/* ---- What other CPUs of the guest, and devices, do meanwhile ---- */

/* Some bits of a word that the host may store to, by one access, as guests do.  Returns the word of before. */
static uint32_t take_bits(uint64_t address, uint32_t bits)
{
    uint32_t before = __atomic_fetch_and((uint32_t *)pages_at(address, sizeof bits), ~bits, __ATOMIC_ACQ_REL);
    uint32_t left = before & ~bits;
    uint64_t offset = address - PAGES_RAM;

    /* (Of an event that is being closed the host may not store to it any more.) */
    memcpy(&host.vm.ram[offset / PAGE_BYTES][offset % PAGE_BYTES], &left, sizeof left);
    return before;
}

static void clear_overflows(uint64_t address, struct virtual_shown *shown)
{
    shown->taken += take_bits(address, ~0u);
}

void pages_stir(struct lots *lots)
{
    struct host_guest *guest = &host.guest[lots_below(lots, HOST_GUESTS)];
    struct virtual_page *page = &guest->page;
    struct virtual_event *event = &host.vm.event[lots_below(lots, HOST_PV_EVENTS)];
    unsigned n = lots_below(lots, VIRTUAL_GENERAL);

    if (!host.vm.pv || !guest->guest || !page->pv)
        return;
    host.verdict->figures.stirs++;
    if (event->open)
        clear_overflows(event->area + IN_SLOT_OVERFLOWS, &event->shown);
    if (page->hostile) {
        uint64_t any = lots_draw(lots);
        uint64_t at = PAGES_RAM + PAGE_BYTES * (uint64_t)(number_of(guest) + HOST_GUESTS * lots_below(lots, 2)) +
                      8u * lots_below(lots, PAGE_BYTES / 8u);

        pages_write(at, &any, 1u + lots_below(lots, 8));
    } else if (page->mapped && lots_below(lots, 2)) {
        clear_overflows(page->address + AT_SLOT(n) + IN_SLOT_OVERFLOWS, &page->slot[n]);
    } else if (page->mapped) {
        uint32_t bits = (uint32_t)lots_draw(lots);

        page->cleared |= bits & take_bits(page->address + AT_OVERFLOWED, bits);
    }
}

/* ---- What is shown ---- */

/* Which overflows must be there: none for sure, those of values that were shown, all. */
enum demand { DEMAND_NONE, DEMAND_SHOWN, DEMAND_ALL };

/* One overflow at most is new, and the counter has made it.  Returns whether there is one. */
static bool check_overflows(struct host_guest *guest, unsigned i, struct virtual_shown *shown, uint64_t address,
                            enum demand demand)
{
    struct virtual_counter *counter = &guest->virtual.counter[i];
    uint32_t now = shown->taken + get32(address), more = now - shown->told;
    bool certain = !guest->spoiled && !counter->lost && rules_on(RULE_GUEST);

    shown->told = now;
    guests_take_rounds(&guest->virtual, counter);
    if (more > 1)
        rules_fail(RULE_GUEST, "vCPU %u: %u overflows of counter %u at once", number_of(guest), (unsigned)more, i);
    if (more && certain && !counter->round_may)
        rules_fail(RULE_GUEST, "vCPU %u: counter %u shows an overflow, and did not go round", number_of(guest), i);
    if (!more && certain && ((demand == DEMAND_ALL && counter->round_must) || (demand && shown->round)))
        rules_fail(RULE_GUEST, "vCPU %u: counter %u has gone round, and no overflow is shown", number_of(guest), i);
    if (more) {
        counter->round_must = counter->round_may = counter->doubt = false;
        host.verdict->figures.page_overflows++;
        guest->page.told = true;
    }
    shown->round &= !more;
    return more;
}

/* The value and the count that were stored; events that came after it, at most, are not in it. */
static void check_shown(struct host_guest *guest, unsigned i, struct virtual_shown *shown, uint64_t value,
                        uint64_t count, uint64_t later)
{
    struct virtual_counter *counter = &guest->virtual.counter[i];

    host.verdict->figures.page_values++;
    guests_check_value(guest, i, value, "its memory");
    counter->high += later;
    if (!guest->spoiled && count != shown->count + ((value - shown->value) & VALUE_BITS))
        rules_fail(RULE_GUEST, "vCPU %u: slot %u shows %llu events after %llu, and its value is %llx after %llx",
                   number_of(guest), i, (unsigned long long)count, (unsigned long long)shown->count,
                   (unsigned long long)value, (unsigned long long)shown->value);
    shown->count = count;
    shown->value = value;
}

/* Slots of a page: those that were stored show what they must.  Returns those with a new overflow. */
static uint32_t check_slots(struct host_guest *guest, const uint32_t *before, uint32_t must, enum demand demand,
                            const uint64_t *high)
{
    struct virtual_page *page = &guest->page;
    uint32_t new_bits = 0, bits;

    for (unsigned n = 0; n < guest->virtual.shape.general; n++) {
        uint64_t slot = page->address + AT_SLOT(n);
        uint32_t sequence = get32(slot + IN_SLOT_SEQUENCE), status = get32(slot + IN_SLOT_STATUS);
        bool stored = sequence != before[n];

        if (sequence & 1u || (!stored && must >> n & 1u))
            rules_fail(RULE_GUEST, "vCPU %u: slot %u has the sequence %u, odd or as before", number_of(guest), n,
                       (unsigned)sequence);
        if (stored)
            check_shown(guest, n, &page->slot[n], get64(slot + IN_SLOT_VALUE), get64(slot + IN_SLOT_COUNT),
                        high ? guest->virtual.counter[n].high - high[n] : 0);
        if (check_overflows(guest, n, &page->slot[n], slot + IN_SLOT_OVERFLOWS, demand)) {
            new_bits |= 1u << n;
            if (!stored)
                rules_fail(RULE_GUEST, "vCPU %u: slot %u gets an overflow without its value", number_of(guest), n);
        }
        page->slot[n].round |= stored && guest->virtual.counter[n].round_must;
        if (stored && ((status & 0xffffu) != page->load[n] ||
                       (status >> 17 & 1u) != (page->refused >> n & 1u) || status >> 18))
            rules_fail(RULE_GUEST, "vCPU %u: slot %u has the status %x; its load is %x, %srefused", number_of(guest), n,
                       (unsigned)status, page->load[n], page->refused >> n & 1u ? "" : "not ");
    }
    bits = get32(page->address + AT_OVERFLOWED);
    if (((bits | page->cleared) & new_bits) != new_bits)
        rules_fail(RULE_GUEST, "vCPU %u: slots %x have new overflows, and those marked are %x", number_of(guest),
                   (unsigned)new_bits, (unsigned)bits);
    return new_bits;
}

static void look_at_sequences(const struct host_guest *guest, uint32_t *sequence)
{
    for (unsigned n = 0; n < VIRTUAL_GENERAL; n++)
        sequence[n] = guest->page.mapped ? get32(guest->page.address + AT_SLOT(n) + IN_SLOT_SEQUENCE) : 0;
}

/* ---- Calls ---- */

/* No host access but to read: of each counter twice, as its overflow is looked for before its value. */
uint32_t pages_call(struct host_guest *guest, uint32_t operation, uint32_t first, uint32_t second)
{
    uint32_t answer;

    self->refused = false;
    guest->page.cleared = 0;
    host.vm.calls++;
    host.vm.begun++;
    host.verdict->figures.page_calls++;
    guests_begin_call();
    answer = HOST_CALL(upmu_pv_call(guest->page.pv, operation, first, second));
    guests_end_call("upmu_pv_call", 2u * VIRTUAL_COUNTERS);
    host.vm.calls--;
    guests_put_off_all(&guest->virtual);
    TRACE("vCPU %u: call %u (%x, %x): %u", number_of(guest), (unsigned)operation, (unsigned)first, (unsigned)second,
          (unsigned)answer);
    check_memory();
    return answer;
}

static void check_answer(const struct host_guest *guest, const char *call, uint32_t answer, uint32_t may)
{
    if (!(may >> answer & 1u) && !guest->page.hostile && rules_on(RULE_GUEST))
        rules_fail(RULE_GUEST, "vCPU %u: %s is answered %u, not one of %x", number_of(guest), call, (unsigned)answer,
                   (unsigned)may);
}

/* Events of a vCPU that are open; of these: enabled. */
static bool has_events(const struct host_guest *guest, bool enabled)
{
    bool has = false;

    for (unsigned i = 0; i < HOST_PV_RECORDS; i++)
        has |= host.vm.event[i].open && host.vm.event[i].guest == number_of(guest) &&
               (!enabled || host.vm.event[i].counter != HOST_NONE);
    return has;
}

static uint32_t all_slots(const struct host_guest *guest)
{
    return (1u << guest->virtual.shape.general) - 1u;
}

uint32_t pages_map(struct host_guest *guest, uint64_t address)
{
    struct virtual_page *page = &guest->page;
    bool fine = address % PAGE_BYTES == 0 && pages_at(address, PAGE_BYTES), mapped = page->mapped;
    uint32_t answer = pages_call(guest, MAP, (uint32_t)address, (uint32_t)(address >> 32));

    if (mapped || has_events(guest, true))
        check_answer(guest, "MAP", answer, 1u << BAD_STATE);
    else if (!has_events(guest, false))
        check_answer(guest, "MAP", answer, 1u << (fine && !self->refused ? OK : BAD_ADDRESS));
    if (answer != OK)
        return answer;
    page->mapped = true;
    page->address = address;
    page->refused = 0;
    guest->virtual.global = 0;
    memset(page->load, 0, sizeof page->load);
    for (unsigned n = 0; n < VIRTUAL_GENERAL; n++) /* (An event that was disabled may still interrupt.) */
        guest->virtual.counter[n] = (struct virtual_counter){.may_owe = guest->virtual.counter[n].may_owe};
    if (page->hostile)
        return answer;
    for (unsigned n = 0; n < VIRTUAL_GENERAL; n++)
        page->slot[n] = (struct virtual_shown){.told = get32(address + AT_SLOT(n) + IN_SLOT_OVERFLOWS)};
    for (unsigned n = 0; n < guest->virtual.shape.general; n++)
        if (get64(address + AT_SLOT(n) + IN_SLOT_COUNT) || get64(address + AT_SLOT(n) + IN_SLOT_VALUE) ||
            get32(address + AT_SLOT(n) + IN_SLOT_STATUS) || page->slot[n].told)
            rules_fail(RULE_GUEST, "vCPU %u: slot %u of a new page is not empty", number_of(guest), n);
    if (get32(address) != 0x75767075 || get32(address + AT_GATE) ||
        get32(address + 4) != (1u | (uint32_t)guest->virtual.shape.general << 16))
        rules_fail(RULE_GUEST, "vCPU %u: a new page begins with %x %x %x", number_of(guest), (unsigned)get32(address),
                   (unsigned)get32(address + 4), (unsigned)get32(address + AT_GATE));
    return answer;
}

/* (No interrupt of before comes any more.) */
static void forget_page(struct host_guest *guest)
{
    guest->page.mapped = guest->page.told = false;
    guest->virtual.global = guest->virtual.spent = 0;
    memset(guest->virtual.counter, 0, sizeof guest->virtual.counter);
}

uint32_t pages_unmap(struct host_guest *guest)
{
    bool mapped = guest->page.mapped;
    uint32_t answer = pages_call(guest, UNMAP, 0, 0);

    check_answer(guest, "UNMAP", answer, 1u << (mapped ? OK : BAD_STATE));
    if (mapped)
        forget_page(guest);
    return answer;
}

uint32_t pages_read_all(struct host_guest *guest, uint32_t slots)
{
    uint32_t before[VIRTUAL_GENERAL], answer;

    look_at_sequences(guest, before);
    answer = pages_call(guest, READ_ALL, slots, 0);
    check_answer(guest, "READ_ALL", answer, 1u << (guest->page.mapped ? OK : BAD_STATE));
    if (guest->page.mapped && !guest->page.hostile)
        (void)check_slots(guest, before, slots & (uint32_t)guest->virtual.global, DEMAND_NONE, NULL);
    return answer;
}

/* What a wish asks for, as a select of Intel's; its event may not be one that can be counted. */
static enum guests_permission understand(struct host_guest *guest, uint64_t config, uint64_t config1,
                                         uint64_t *out_select)
{
    static const uint16_t codes[GENERIC_EVENTS] = {0x003c, 0x00c0, 0x4f2e, 0x412e, 0x00c4, 0x00c5, 0x013c};
    static const uint8_t available[GENERIC_EVENTS] = {0, 1, 3, 4, 5, 6, 2};
    uint64_t event = config & WISH_EVENT;
    enum guests_permission permission;

    *out_select = 0;
    if (!(config & WISH_USED))
        return GUESTS_MAY;
    if (config & ~(WISH_EVENT | WISH_RAW | WISH_USER | WISH_KERNEL | WISH_INTERRUPT | WISH_USED) || config1)
        return GUESTS_MAY_NOT;
    if (config & WISH_RAW ? event & ~RAW_BITS
                          : event >= GENERIC_EVENTS || !(guest->virtual.shape.arch_events >> available[event] & 1))
        return GUESTS_MAY_NOT;
    *out_select = config & WISH_RAW ? event : codes[event];
    *out_select |= (config & WISH_USER ? BIT(16) : 0) | (config & WISH_KERNEL ? BIT(17) : 0) | BIT(22) |
                   (config & WISH_INTERRUPT ? BIT(20) : 0);
    permission = guests_permit(&guest->virtual, *out_select);
    return permission == GUESTS_MAY && (config & WISH_RAW) ? GUESTS_UNKNOWN : permission;
}

/* (What an honest guest asks for stands still meanwhile.) */
static void begin_slot(struct host_guest *guest, unsigned n)
{
    struct virtual_page *page = &guest->page;
    uint64_t wish = page->address + AT_WISH(n), load = get64(wish + 16), select;
    enum guests_permission permission = understand(guest, get64(wish), get64(wish + 8), &select);
    bool refused = get32(page->address + AT_SLOT(n) + IN_SLOT_STATUS) >> 17 & 1u;

    if (permission != GUESTS_UNKNOWN && refused != (permission == GUESTS_MAY_NOT) && rules_on(RULE_GUEST))
        rules_fail(RULE_GUEST, "vCPU %u: slot %u with the wish %llx (%llx) is %srefused", number_of(guest), n,
                   (unsigned long long)get64(wish), (unsigned long long)get64(wish + 8), refused ? "" : "not ");
    page->refused = (page->refused & ~(1u << n)) | (uint32_t)refused << n;
    if ((uint16_t)(load >> 48) != page->load[n]) {
        page->load[n] = (uint16_t)(load >> 48);
        guests_put_value(&guest->virtual, n, load & VALUE_BITS);
        page->slot[n].value = load & VALUE_BITS;
    }
    guests_take_rounds(&guest->virtual, &guest->virtual.counter[n]);
    guest->virtual.counter[n].select = refused ? 0 : select;
}

uint32_t pages_gate(struct host_guest *guest, uint32_t slots)
{
    struct virtual_page *page = &guest->page;
    uint32_t before[VIRTUAL_GENERAL], gate = (uint32_t)guest->virtual.global, answer;

    look_at_sequences(guest, before);
    answer = pages_call(guest, GATE, slots, 0);
    if (!page->mapped || slots & ~all_slots(guest)) {
        check_answer(guest, "GATE", answer, ~(1u << OK));
        return answer;
    }
    check_answer(guest, "GATE", answer, 1u << OK | 1u << BAD_EVENT);
    if (page->hostile)
        return answer;
    for (unsigned n = 0; n < guest->virtual.shape.general; n++)
        if (slots & ~gate & 1u << n)
            begin_slot(guest, n);
    guest->virtual.global = slots;
    (void)check_slots(guest, before, slots ^ gate, DEMAND_ALL, NULL);
    if ((answer == OK) != !(page->refused & slots & ~gate) || get32(page->address + AT_GATE) != slots)
        rules_fail(RULE_GUEST, "vCPU %u: GATE is answered %u, slots %x are refused, the page says that %x count",
                   number_of(guest), (unsigned)answer, (unsigned)page->refused,
                   (unsigned)get32(page->address + AT_GATE));
    return answer;
}

/* ---- Events ---- */

/* The event with a number.  (One that is being closed may have left it to another already.) */
static struct virtual_event *find_event(uint32_t id)
{
    for (unsigned i = 0; i < HOST_PV_RECORDS; i++)
        if (host.vm.event[i].open && !host.vm.event[i].closing && host.vm.event[i].id == id)
            return &host.vm.event[i];
    return NULL;
}

/* The count in its area, and overflows: events since the last look. */
static void check_area(struct host_guest *guest, struct virtual_event *event, enum demand demand, uint64_t later)
{
    struct virtual_counter *counter = &guest->virtual.counter[event->counter % VIRTUAL_COUNTERS];
    uint64_t count = get64(event->area);

    if (event->counter == HOST_NONE)
        return;
    check_shown(guest, event->counter, &event->shown, (event->shown.value + count - event->shown.count) & VALUE_BITS,
                count, later);
    if (check_overflows(guest, event->counter, &event->shown, event->area + IN_SLOT_OVERFLOWS, demand) &&
        demand != DEMAND_ALL && event->period) {
        event->shown.value = (count % event->period - event->period) & VALUE_BITS;
        guests_put_value(&guest->virtual, event->counter, event->shown.value);
        counter->high = later;
        counter->may_owe += (event->shown.value + later) >> 48 != 0;
    }
}

/* The lowest counter that none of its events has. */
static uint8_t free_counter(const struct host_guest *guest)
{
    uint32_t rest = all_slots(guest);

    for (unsigned i = 0; i < HOST_PV_RECORDS; i++)
        if (host.vm.event[i].open && host.vm.event[i].guest == number_of(guest) &&
            host.vm.event[i].counter != HOST_NONE)
            rest &= ~(1u << host.vm.event[i].counter);
    return rest ? (uint8_t)__builtin_ctz(rest) : HOST_NONE;
}

static void enable(struct host_guest *guest, struct virtual_event *event)
{
    struct virtual_pmu *pmu = &guest->virtual;

    if (event->counter != HOST_NONE)
        return;
    event->counter = free_counter(guest);
    pmu->counter[event->counter] =
        (struct virtual_counter){.select = event->select, .may_owe = pmu->counter[event->counter].may_owe};
    event->shown.value = event->period ? (event->shown.count % event->period - event->period) & VALUE_BITS : 0;
    guests_put_value(pmu, event->counter, event->shown.value);
    pmu->global |= BIT(event->counter);
}

static void disable(struct host_guest *guest, struct virtual_event *event)
{
    check_area(guest, event, DEMAND_ALL, 0);
    if (event->counter == HOST_NONE)
        return;
    guest->virtual.global &= ~BIT(event->counter);
    guest->virtual.counter[event->counter].owes = false;
    event->counter = HOST_NONE;
}

uint32_t pages_event(struct host_guest *guest, uint32_t operation, uint32_t id)
{
    struct virtual_event *event = find_event(id);
    bool own = event && event->guest == number_of(guest), full = free_counter(guest) == HOST_NONE;
    uint32_t answer, may;

    if (own)
        event->closing = operation == CLOSE && !guest->page.mapped;
    answer = pages_call(guest, operation, id, 0);
    if (!host.vm.count)
        may = 1u << BAD_OP;
    else if (guest->page.mapped)
        may = 1u << BAD_STATE;
    else if (!own) /* (Another CPU may open or close it meanwhile.) */
        may = 1u << BAD_VCPU | 1u << BAD_ID;
    else
        may = 1u << (operation == ENABLE && event->counter == HOST_NONE && full ? LIMIT : OK);
    check_answer(guest, "a call for an event", answer, may);
    if (own && answer != OK)
        event->closing = false;
    if (!own || answer != OK || guest->page.hostile)
        return answer;
    if (operation == ENABLE)
        enable(guest, event);
    else if (operation == READ)
        check_area(guest, event, DEMAND_NONE, 0);
    else
        disable(guest, event);
    if (operation == READ && event->counter != HOST_NONE)
        event->shown.round = guest->virtual.counter[event->counter].round_must;
    event->open &= operation != CLOSE;
    return answer;
}

static bool crosses(uint64_t address, unsigned bytes)
{
    return address % 8 || address % PAGE_BYTES + bytes > PAGE_BYTES || !pages_at(address, bytes);
}

static bool is_there(uint64_t address, unsigned bytes)
{
    return address % 8 == 0 && pages_at(address, 1) && pages_at(address + bytes - 1u, 1);
}

/* What the structures at an address say may be answered so: any of what is wrong but its number. */
static uint32_t reasons(struct host_guest *guest, uint64_t address, struct virtual_event *event)
{
    struct {
        uint64_t attr, area;
        uint32_t id, reserved;
    } param;
    struct {
        uint32_t type, reserved;
        uint64_t config, period, sample_type, format, flags;
        uint32_t bp_type, reserved2;
        uint64_t bp_addr, bp_len;
    } attr;
    enum guests_permission permission;
    uint64_t rings;
    uint32_t may = 0, leaf[4];

    if (!is_there(address, sizeof param))
        return 1u << BAD_ADDRESS;
    for (unsigned i = 0; i < sizeof param; i++)
        memcpy((uint8_t *)&param + i, pages_at(address + i, 1), 1);
    if (!is_there(param.attr, sizeof attr) || crosses(param.area, 16))
        may |= 1u << BAD_ADDRESS;
    if (param.reserved)
        may |= 1u << BAD_ATTR;
    if (!is_there(param.attr, sizeof attr))
        return may;
    for (unsigned i = 0; i < sizeof attr; i++)
        memcpy((uint8_t *)&attr + i, pages_at(param.attr + i, 1), 1);
    if (attr.reserved || attr.reserved2 || attr.bp_type || attr.bp_addr || attr.bp_len ||
        attr.flags & ~UINT64_C(0x180071))
        may |= 1u << BAD_ATTR;
    (void)upmu_pv_cpuid(guest->page.pv, 0x40000000, 0, 0x40000002, leaf);
    if (attr.period && (attr.period < leaf[2] || attr.period >> 47))
        may |= 1u << BAD_PERIOD;
    rings = (attr.flags & 0x10 ? 0 : WISH_USER) | (attr.flags & 0x20 ? 0 : WISH_KERNEL);
    permission = attr.config >> 56 || (attr.type != 0 && attr.type != 4)
                     ? GUESTS_MAY_NOT
                     : understand(guest, attr.config | rings | WISH_USED | (attr.type ? WISH_RAW : 0) |
                                             (attr.period ? WISH_INTERRUPT : 0),
                                  0, &event->select);
    if (permission == GUESTS_MAY_NOT)
        may |= 1u << BAD_EVENT;
    *event = (struct virtual_event){.open = true, .guest = (uint8_t)number_of(guest), .counter = HOST_NONE,
                                    .id = param.id, .area = param.area, .select = event->select,
                                    .period = attr.period};
    if (!may)
        may = 1u << OK;
    return may | (permission == GUESTS_UNKNOWN ? 1u << BAD_EVENT : 0);
}

/*
 * An event that another vCPU closes meanwhile has its number and its place until some moment of that call, which only
 * the library knows: with it the new one may be refused, and need not be.  With one that stays open it must be.
 */
uint32_t pages_open(struct host_guest *guest, uint64_t address)
{
    struct virtual_event event = {0};
    uint32_t may = reasons(guest, address, &event), answer, open = 0;
    unsigned others = host.vm.calls, begun = host.vm.begun, i = 0;

    answer = pages_call(guest, OPEN, (uint32_t)address, (uint32_t)(address >> 32));
    for (unsigned n = 0; n < HOST_PV_RECORDS; n++)
        open += host.vm.event[n].open && !host.vm.event[n].closing;
    if (self->refused)
        may = (may & ~(1u << OK)) | 1u << BAD_ADDRESS | 1u << LIMIT | 1u << DUPLICATE | 1u << BUSY;
    if (open >= host.vm.count) /* (whatever else is wrong) */
        may = (may & ~(1u << OK)) | 1u << LIMIT;
    if (event.open && find_event(event.id))
        may = (may & ~(1u << OK)) | 1u << DUPLICATE;
    if (others || host.vm.begun != begun + 1u || self->apart_times)
        may |= 1u << BUSY | 1u << LIMIT | 1u << DUPLICATE;
    may |= host.vm.unknown ? 1u << LIMIT | 1u << DUPLICATE : 0;
    if (!host.vm.count)
        may = 1u << BAD_OP;
    else if (guest->page.mapped)
        may = 1u << BAD_STATE;
    check_answer(guest, "OPEN", answer, may);
    host.vm.unknown |= guest->page.hostile && answer == OK;
    if (answer != OK || guest->page.hostile)
        return answer;
    if (find_event(event.id))
        rules_fail(RULE_GUEST, "two events have the number %u", (unsigned)event.id);
    while (host.vm.event[i].open)
        i++;
    event.shown.taken = 0u - get32(event.area + IN_SLOT_OVERFLOWS);
    host.vm.event[i] = event;
    return answer;
}

/* ---- Leaves, entries, the end ---- */

void pages_cpuid(const struct host_guest *guest)
{
    static const uint8_t available[GENERIC_EVENTS] = {0, 1, 3, 4, 5, 6, 2};
    uint32_t leaf[3][4], events = 0;

    for (unsigned i = 0; i < GENERIC_EVENTS; i++)
        events |= (uint32_t)(guest->virtual.shape.arch_events >> available[i] & 1) << i;
    for (unsigned i = 0; i < 3; i++)
        if (!upmu_pv_cpuid(guest->page.pv, 0x40000100, 77, 0x40000100 + i, leaf[i]))
            rules_fail(RULE_GUEST, "leaf 40000100h + %u is none", i);
    if (leaf[0][0] < 0x40000102 || memcmp(&leaf[0][1], "upmuPMUupmu", 12) != 0 ||
        leaf[1][0] & ~11u || (leaf[1][0] & 3u) != (host.vm.count ? 3u : 2u) || leaf[1][1] != 77 || leaf[1][2] != 1 ||
        leaf[1][3] != guest->virtual.shape.general || leaf[2][1] != events || leaf[2][3] ||
        !(leaf[1][0] & 8u) != !leaf[2][0])
        rules_fail(RULE_GUEST, "vCPU %u: its leaves show %x %x, %x %x %x %x, %x %x %x %x", number_of(guest),
                   (unsigned)leaf[0][0], (unsigned)leaf[0][1], (unsigned)leaf[1][0], (unsigned)leaf[1][1],
                   (unsigned)leaf[1][2], (unsigned)leaf[1][3], (unsigned)leaf[2][0], (unsigned)leaf[2][1],
                   (unsigned)leaf[2][2], (unsigned)leaf[2][3]);
}

enum upmu_status pages_enter(struct host_guest *guest, struct upmu_guest_entry *entry)
{
    uint32_t before[VIRTUAL_GENERAL];
    uint64_t high[VIRTUAL_GENERAL];
    enum upmu_status status;

    guest->virtual.lvtpc = 0x400; /* an NMI */
    guest->page.cleared = 0;
    look_at_sequences(guest, before);
    for (unsigned n = 0; n < VIRTUAL_GENERAL; n++)
        high[n] = guest->virtual.counter[n].high;
    status = HOST_CALL(upmu_pv_enter(guest->page.pv, entry));
    memcpy(guest->page.before, before, sizeof before);
    memcpy(guest->page.high, high, sizeof high);
    return status;
}

void pages_entered(struct host_guest *guest, const struct upmu_guest_entry *entry)
{
    struct virtual_page *page = &guest->page;
    uint32_t shown;

    check_memory();
    if (page->hostile)
        return;
    shown = page->mapped ? check_slots(guest, page->before, 0, DEMAND_SHOWN, page->high) : 0;
    for (unsigned n = 0; n < guest->virtual.shape.general; n++)
        if (shown >> n & 1u && guest->virtual.counter[n].select & INT_GENERAL && !entry->inject && !guest->spoiled &&
            rules_on(RULE_INJECT))
            rules_fail(RULE_INJECT, "vCPU %u: an entry shows an overflow of slot %u, and its interrupt does not come",
                       number_of(guest), n);
    for (unsigned i = 0; i < HOST_PV_RECORDS; i++) {
        struct virtual_event *event = &host.vm.event[i];

        if (event->open && event->guest == number_of(guest) && event->counter != HOST_NONE &&
            (get64(event->area) != event->shown.count ||
             event->shown.taken + get32(event->area + IN_SLOT_OVERFLOWS) != event->shown.told))
            check_area(guest, event, DEMAND_SHOWN,
                       guest->virtual.counter[event->counter].high - page->high[event->counter]);
    }
    if (entry->inject && !page->told && !guest->spoiled && rules_on(RULE_INJECT))
        rules_fail(RULE_INJECT, "vCPU %u: an interrupt is injected, and no overflow is shown", number_of(guest));
    page->told &= !entry->inject;
}

/* Its own code reads its page: nothing is being stored. */
void pages_look_inside(struct host_guest *guest)
{
    for (unsigned n = 0; n < guest->virtual.shape.general && guest->page.mapped && !guest->page.hostile; n++)
        if (get32(guest->page.address + AT_SLOT(n) + IN_SLOT_SEQUENCE) & 1u)
            rules_fail(RULE_GUEST, "vCPU %u: slot %u is stored to while it runs", number_of(guest), n);
}

void pages_end(struct host_guest *guest)
{
    if (!guest->page.pv)
        return;
    /* (It closes the vCPU's events, for calls of others at any moment.) */
    host.vm.calls++;
    host.vm.begun++;
    for (unsigned i = 0; i < HOST_PV_RECORDS; i++)
        if (host.vm.event[i].guest == number_of(guest))
            host.vm.event[i].closing = true;
    HOST_DO(upmu_pv_vcpu_fini(guest->page.pv));
    check_memory();
    for (unsigned i = 0; i < HOST_PV_RECORDS; i++)
        if (host.vm.event[i].guest == number_of(guest))
            host.vm.event[i].open = false;
    host.vm.calls--;
    if (guest->page.mapped)
        forget_page(guest);
}
