/* SPDX-License-Identifier: MIT */
/*
 * What must hold of guests: what they count, and what is injected.  (Registers: rules_virtual.c.)
 */
#include <upmu/event.h>
#include <upmu/session.h>
#include "tests/host/virtual.h"


/* So many events after an overflow its interrupt was due: a period may be shorter than a load can be. */
#define SLACK 1024u

/* ---- What is counted ---- */

unsigned guests_counters(const struct upmu_guest_shape *shape)
{
    return (unsigned)shape->general + shape->fixed;
}

/* What a select counts: an event that is certain, any (`wild`), or none. */
static bool is_architectural(const struct virtual_pmu *pmu, unsigned i, enum hardware_event *out_kind)
{
    static const uint16_t codes[HARDWARE_EVENTS] = {0x003c, 0x00c0, 0x00c4, 0x00c5, 0x4f2e, 0x412e, 0x013c};
    static const uint8_t available[HARDWARE_EVENTS] = {0, 1, 5, 6, 3, 4, 2};
    static const uint16_t amd_codes[] = {0x0076, 0x00c0, 0x00c2, 0x00c3};
    static const enum hardware_event fixed[] = {HARDWARE_INSTRUCTIONS, HARDWARE_CYCLES, HARDWARE_REFERENCE_CYCLES};
    uint64_t select = pmu->counter[i].select;

    if (i >= VIRTUAL_GENERAL) {
        *out_kind = fixed[i - VIRTUAL_GENERAL];
        return true;
    }
    for (unsigned kind = 0; kind < (is_intel(pmu) ? HARDWARE_EVENTS : 4u) && !(select >> 32); kind++)
        if ((select & 0xffff) == (is_intel(pmu) ? codes[kind] : amd_codes[kind]) &&
            (!is_intel(pmu) || pmu->shape.arch_events >> available[kind] & 1)) {
            *out_kind = (enum hardware_event)kind;
            return true;
        }
    return false;
}

/* As KVM_SET_PMU_EVENT_FILTER; `high`: the bits of the event above 7. */
static bool filter_allows(const struct upmu_guest_filter *filter, unsigned i, uint64_t select, uint64_t high)
{
    bool included = false, excluded = false;

    if (i >= VIRTUAL_GENERAL)
        return (filter->fixed_bitmap >> (i - VIRTUAL_GENERAL) & 1) == (filter->action == UPMU_GUEST_FILTER_ALLOW);
    for (unsigned n = 0; n < filter->count; n++) {
        uint64_t entry = filter->entry[n], event = (entry & 0xff) | (entry >> 32 & 0xf) << 8;
        uint64_t mask = filter->flags & UPMU_GUEST_FILTER_MASKED ? entry >> 56 : 0xff;

        if (event == ((select & 0xff) | (select >> 32 & high) << 8) &&
            (select >> 8 & 0xff & mask) == (entry >> 8 & 0xff)) {
            bool excludes = (filter->flags & UPMU_GUEST_FILTER_MASKED) && (entry & BIT(55));

            excluded |= excludes;
            included |= !excludes;
        }
    }
    return (included && !excluded) == (filter->action == UPMU_GUEST_FILTER_ALLOW);
}

static bool is_allowed(const struct virtual_pmu *pmu, unsigned i, bool architectural, enum hardware_event kind)
{
    switch (pmu->policy->level) {
    case UPMU_GUEST_IPC:
        return architectural && (i >= VIRTUAL_GENERAL || !(pmu->counter[i].select & UINT64_C(0xff840000))) &&
               (kind == HARDWARE_CYCLES || kind == HARDWARE_INSTRUCTIONS || kind == HARDWARE_REFERENCE_CYCLES);
    case UPMU_GUEST_ARCH:
        return architectural;
    case UPMU_GUEST_LIST:
        return filter_allows(pmu->policy->filter, i, pmu->counter[i].select, is_intel(pmu) ? 0 : 0xf);
    default:
        return pmu->policy->level == UPMU_GUEST_ALL;
    }
}

enum guests_permission guests_permit(struct virtual_pmu *pmu, uint64_t select)
{
    uint64_t before = pmu->counter[0].select;
    enum hardware_event kind = HARDWARE_EVENTS;
    bool architectural, allowed;

    pmu->counter[0].select = select;
    architectural = is_architectural(pmu, 0, &kind);
    allowed = is_allowed(pmu, 0, architectural, kind);
    pmu->counter[0].select = before;
    return !allowed ? GUESTS_MAY_NOT : architectural ? GUESTS_MAY : GUESTS_UNKNOWN;
}

/*
 * Is the counter to count?  (Another kind of reference cycles runs beside that of fixed counter 2; edges and thresholds
 * count what no burst says.)
 */
static bool is_to_count(struct virtual_pmu *pmu, unsigned i)
{
    struct virtual_counter *counter = &pmu->counter[i];
    enum hardware_event kind = HARDWARE_EVENTS;
    bool architectural = is_architectural(pmu, i, &kind);
    bool enabled = i < VIRTUAL_GENERAL ? (counter->select & BIT(22)) && (counter->select >> 16 & 3)
                                       : counter->select & 3;

    if (!enabled || (has_global(pmu) && !(pmu->global & bit_of(i))) || (freezes_by_status(pmu) && pmu->status & FROZEN))
        return false;
    counter->wild = i < VIRTUAL_GENERAL && (!architectural || (counter->select & UINT64_C(0xff840000)) ||
                                            kind == HARDWARE_REFERENCE_CYCLES);
    return is_allowed(pmu, i, architectural, kind);
}

static bool counts_ring(const struct virtual_counter *counter, unsigned i, bool user)
{
    unsigned fixed = (counter->select & 1) << 1 | (counter->select >> 1 & 1);
    unsigned rings = i < VIRTUAL_GENERAL ? counter->select >> 16 & 3 : fixed;

    return rings & (user ? 1u : 2u);
}

/* So many events more, at least and at most. */
static void add(struct virtual_pmu *pmu, unsigned i, uint64_t least, uint64_t most)
{
    struct virtual_counter *counter = &pmu->counter[i];
    unsigned width = pmu->shape.width;
    uint64_t rounds = ((counter->base + counter->high + most) >> width) - ((counter->base + counter->low) >> width);

    if (interrupts(counter, i)) {
        counter->owes |= (counter->base + counter->low + least) >> width > (counter->base + counter->high) >> width;
        counter->may_owe += rounds < 1000 ? (unsigned)rounds : 1000u;
    }
    if (rounds)
        TRACE("counter %u of a guest: %llx + %llu to %llu goes round%s, may owe %u", i,
              (unsigned long long)counter->base, (unsigned long long)(counter->low + least),
              (unsigned long long)(counter->high + most), counter->owes ? ", owes" : "", counter->may_owe);
    counter->low += least;
    counter->high += most;
    counter->since += least;
}

/* ---- Worlds ---- */

bool guests_counts(const struct host_cpu *cpu, unsigned world, bool *certain)
{
    if (world == UPMU_WORLD_BOTH)
        return true;
    *certain &= cpu->world != CPU_TURNING;
    return cpu->world == CPU_TURNING || (world == UPMU_WORLD_GUEST) == (cpu->world == CPU_IN_GUEST);
}

/* The engine's number of a virtual counter. */
static unsigned number_of_counter(unsigned i)
{
    return i < VIRTUAL_GENERAL ? i : 16 + i - VIRTUAL_GENERAL;
}

/* Does the session of a virtual counter run?  (The index is private; what a session is, is not.) */
static bool session_runs(const struct host_guest *guest, unsigned i)
{
    unsigned session = guest->guest->counter[number_of_counter(i)].session;

    return session && guest->sessions[session - 1].state == UPMU_SESSION_RUNNING;
}

void guests_deliver(unsigned cpu, enum hardware_event kind, bool user, uint64_t count, bool certain)
{
    const struct host_cpu *at = &host.cpu[cpu];
    struct host_guest *guest = &host.guest[at->guest % HOST_GUESTS];
    struct virtual_pmu *pmu = &guest->virtual;

    if (at->guest == HOST_NONE || at->world == CPU_IN_HOST)
        return;
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++) {
        struct virtual_counter *counter = &pmu->counter[i];
        enum hardware_event own = HARDWARE_EVENTS;

        if (!exists(pmu, i) || counter->mode == VIRTUAL_STANDS)
            continue;
        (void)is_architectural(pmu, i, &own);
        if (!counter->wild && (own != kind || !counts_ring(counter, i, user)))
            continue;
        add(pmu, i,
            certain && counter->mode == VIRTUAL_COUNTS && !counter->wild && at->world == CPU_IN_GUEST &&
                    session_runs(guest, i)
                ? count
                : 0,
            count);
    }
}

void guests_spoil(unsigned cpu)
{
    for (unsigned i = 0; i < HOST_GUESTS; i++) {
        const struct host_guest *guest = &host.guest[i];

        host.guest[i].spoiled |= cpu == HOST_NONE || guest->cpu == cpu ||
                                 (guest->thread != HOST_NONE && host.thread[guest->thread].cpu == cpu);
    }
}

bool guests_may_count(unsigned cpu)
{
    for (unsigned i = 0; i < HOST_GUESTS; i++)
        if (host.guest[i].guest && (host.guest[i].cpu == cpu || (host.guest[i].thread != HOST_NONE &&
                                                                 host.thread[host.guest[i].thread].cpu == cpu)))
            return true;
    return false;
}

/* The access of the instruction, if it had one, has taken effect: counters that are open by the registers take it. */
void guests_retired(struct host_guest *guest, uint64_t instructions, uint64_t branches, bool user)
{
    struct virtual_pmu *pmu = &guest->virtual;

    guests_begin_call();
    HOST_DO(upmu_guest_retired(guest->guest, instructions, branches, user));
    guests_end_call("upmu_guest_retired", VIRTUAL_COUNTERS);
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++) {
        struct virtual_counter *counter = &pmu->counter[i];
        enum hardware_event kind = HARDWARE_EVENTS;
        bool was_wild = counter->wild, opened, certain;
        uint64_t more;

        if (!exists(pmu, i) || !is_architectural(pmu, i, &kind) || !counts_ring(counter, i, user))
            continue;
        opened = is_to_count(pmu, i) && !(guest->guest->waiting >> number_of_counter(i) & 1u);
        certain = opened && !counter->wild && !pmu->frozen_unknown && !guest->spoiled;
        counter->wild = was_wild;
        more = kind == HARDWARE_INSTRUCTIONS ? instructions : kind == HARDWARE_BRANCHES ? branches : 0;
        if (opened)
            add(pmu, i, certain ? more : 0, more);
        counter->since = 0;
    }
}

/* ---- Entries ---- */

/* Its interrupt cannot be put off any more. */
static bool is_due(const struct host_guest *guest, unsigned i)
{
    const struct virtual_pmu *pmu = &guest->virtual;
    const struct virtual_counter *counter = &pmu->counter[i];
    uint64_t wait = pmu->policy->min_period ? pmu->policy->min_period : 1000;

    return counter->owes && !counter->lost && counter->since >= wait + SLACK &&
           ((counter->base + counter->low) & pmu->mask) >= SLACK;
}

static void freeze(struct virtual_pmu *pmu)
{
    if (freezes_by_status(pmu)) {
        pmu->status |= pmu->debugctl & BIT(12) ? FROZEN : 0;
        pmu->status |= pmu->debugctl & BIT(11) ? FROZEN_BRANCHES : 0;
    } else if (pmu->debugctl & BIT(12)) {
        pmu->global = 0;
    }
}

/* An interrupt has come, or was dropped: that of those that were due, or of any; of the others it may still come. */
static void forget_owed(struct host_guest *guest, bool due, bool all)
{
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++) {
        struct virtual_counter *counter = &guest->virtual.counter[i];

        if (all || (due && is_due(guest, i)))
            counter->may_owe = 0;
        counter->owes = false;
        counter->since = 0;
    }
}

/* Interrupts that it may get. */
static unsigned owed(const struct virtual_pmu *pmu)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++)
        if (exists(pmu, i))
            sum += pmu->counter[i].may_owe;
    return sum > pmu->spent ? sum - pmu->spent : 0;
}

/* What the local APIC of a vCPU makes of an interrupt of the counters.  (Vectors below 16 are no interrupts.) */
static unsigned delivery_of(uint32_t lvtpc)
{
    if (lvtpc & LVTPC_MASKED)
        return UPMU_GUEST_INJECT_NONE;
    if ((lvtpc & 0x700u) == 0x400u)
        return UPMU_GUEST_INJECT_NMI;
    return (lvtpc & 0x700u) == 0 && (lvtpc & 0xffu) >= 16 ? UPMU_GUEST_INJECT_VECTOR : UPMU_GUEST_INJECT_NONE;
}

static void check_kind(const struct host_guest *guest, const struct upmu_guest_entry *entry)
{
    const struct virtual_pmu *pmu = &guest->virtual;
    unsigned wanted =
        pmu->policy->flags & UPMU_GUEST_OWN_LAPIC ? UPMU_GUEST_INJECT_PMI : delivery_of(pmu->lvtpc);

    if (entry->inject != wanted || entry->vector != (wanted == UPMU_GUEST_INJECT_VECTOR ? (uint8_t)pmu->lvtpc : 0))
        rules_fail(RULE_INJECT, "vCPU %u: %u is injected (vector %u), and its LVTPC is %x",
                   (unsigned)(guest - host.guest), entry->inject, entry->vector, (unsigned)pmu->lvtpc);
}

/* May interrupts of the host have been missed, or never come? */
static bool may_miss(void)
{
    return !host.verdict->figures.own || host.setting.options.lost_flags;
}

static void check_injection(struct host_guest *guest, const struct upmu_guest_entry *entry, bool drained)
{
    struct virtual_pmu *pmu = &guest->virtual;
    bool delivers = pmu->policy->flags & UPMU_GUEST_OWN_LAPIC || delivery_of(pmu->lvtpc) != UPMU_GUEST_INJECT_NONE;
    bool polled = pmu->policy->flags & UPMU_GUEST_POLLED, due = false;

    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++)
        due |= exists(pmu, i) && is_due(guest, i);
    due &= drained && !guest->spoiled && (polled || !may_miss());
    host.verdict->figures.due += due && delivers;
    if (entry->inject) {
        host.verdict->figures.injected++;
        check_kind(guest, entry);
        if (!owed(pmu) && !guest->spoiled && rules_on(RULE_INJECT))
            rules_fail(RULE_INJECT, "vCPU %u: %u is injected, and no counter has overflowed since the last one",
                       (unsigned)(guest - host.guest), entry->inject);
        freeze(pmu);
        if (is_intel(pmu) && !(pmu->policy->flags & UPMU_GUEST_OWN_LAPIC))
            pmu->lvtpc |= LVTPC_MASKED;
        pmu->spent = due ? 0 : pmu->spent + 1u;
        forget_owed(guest, due, owed(pmu) == 0);
        pmu->spent = owed(pmu) == 0 ? 0 : pmu->spent;
        return;
    }
    if (due && delivers && rules_on(RULE_INJECT))
        rules_fail(RULE_INJECT, "vCPU %u: nothing is injected, and a counter has overflowed",
                   (unsigned)(guest - host.guest));
    if (delivers || !owed(pmu))
        return;
    /* (What is masked is dropped; the counters freeze all the same, if it came.) */
    pmu->frozen_unknown |= (pmu->debugctl & FREEZES) != 0;
    forget_owed(guest, false, false);
}

/* Does what should count?  A counter that waits may come to count later. */
static void choose_modes(struct host_guest *guest)
{
    struct virtual_pmu *pmu = &guest->virtual;

    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++) {
        struct virtual_counter *counter = &pmu->counter[i];
        unsigned number = number_of_counter(i);

        counter->wild = false;
        counter->mode = VIRTUAL_STANDS;
        if (!exists(pmu, i))
            continue;
        if (is_to_count(pmu, i))
            counter->mode = guest->guest->waiting >> number & 1u || pmu->frozen_unknown || guest->spoiled
                                ? VIRTUAL_MAY_COUNT
                                : VIRTUAL_COUNTS;
        counter->lost |= counter->wild;
        counter->may_owe += counter->lost && counter->mode != VIRTUAL_STANDS && interrupts(counter, i) ? 2 : 0;
        /* (A call from another CPU may have taken its counter at the end.) */
        if (counter->mode == VIRTUAL_COUNTS && !counter->wild && !session_runs(guest, i) && !self->apart_times &&
            rules_on(RULE_STATE))
            rules_fail(RULE_STATE, "vCPU %u: counter %u is not among those that wait (%x), and does not run",
                       (unsigned)(guest - host.guest), i, (unsigned)guest->guest->waiting);
    }
}

void guests_entered(struct host_guest *guest, const struct upmu_guest_entry *entry, enum upmu_status status,
                    bool drained)
{
    bool waits = guest->guest->waiting != 0, strict = guest->policy && guest->policy->flags & UPMU_GUEST_STRICT;

    rules_status("upmu_guest_enter", status, "DOES_NOT_FIT PORT");
    if ((status == UPMU_ERR_DOES_NOT_FIT) != (strict && waits) && status != UPMU_ERR_PORT)
        rules_fail(RULE_GUEST, "vCPU %u: an entry is answered %s, and counters %x wait",
                   (unsigned)(guest - host.guest), upmu_status_text(status), (unsigned)guest->guest->waiting);
    TRACE("vCPU %u: entered, %u injected, LVTPC %x, DEBUGCTL %llx%s", (unsigned)(guest - host.guest), entry->inject,
          (unsigned)guest->virtual.lvtpc, (unsigned long long)guest->virtual.debugctl, drained ? ", drained" : "");
    check_injection(guest, entry, drained);
    choose_modes(guest);
}

/* Where the register of a counter of the host's is that has this number. */
static uint32_t register_of(unsigned i)
{
    if (host.setting.family == &hardware_amd)
        return (i < 4 ? 0xc0010004 : 0xc0010201 + i) + i;
    return i < VIRTUAL_GENERAL ? 0xc1 + i : 0x309 + i - VIRTUAL_GENERAL;
}

/* (An interrupt is an exit; what passes after it is said at the next entry.) */
void guests_read_itself(struct host_guest *guest, const struct upmu_guest_entry *entry)
{
    const struct virtual_pmu *pmu = &guest->virtual;

    if (entry->passes && !(pmu->policy->flags & UPMU_GUEST_PASSES))
        rules_fail(RULE_GUEST, "counters %x pass, and the policy forbids it", (unsigned)entry->passes);
    for (unsigned i = 0; i < VIRTUAL_COUNTERS && !self->apart_times && !guest->spoiled; i++) {
        const struct virtual_counter *counter = &pmu->counter[i];
        uint64_t value = 0, more;
        bool passes;

        if (!(entry->passes >> (i < VIRTUAL_GENERAL ? i : 16 + i - VIRTUAL_GENERAL) & 1u))
            continue;
        passes = upmu_guest_passes(guest->guest, register_of(i));
        if (self->apart_times) /* (One has come in this call.) */
            return;
        if (!exists(pmu, i) || counter->mode == VIRTUAL_STANDS || !passes ||
            !host.setting.family->rdmsr(host.hardware, self->cpu, register_of(i), &value))
            rules_fail(RULE_GUEST, "vCPU %u: counter %u passes, and does not count", (unsigned)(guest - host.guest),
                       i);
        host.verdict->figures.passed++;
        more = counter->low + ((value - counter->base - counter->low) & pmu->mask);
        if (!counter->lost && rules_on(RULE_GUEST) && ((value & ~pmu->mask) || more > counter->high))
            rules_fail(RULE_GUEST, "vCPU %u: counter %u reads itself as %llx; it had %llx and counted %llu to %llu",
                       (unsigned)(guest - host.guest), i, (unsigned long long)value, (unsigned long long)counter->base,
                       (unsigned long long)counter->low, (unsigned long long)counter->high);
    }
}

/* ---- Work ---- */

void guests_begin_call(void)
{
    self->accesses = self->apart_times = 0;
    host.verdict->figures.guest_calls++;
}

/* docs/GUESTS.md, "Accuracy and cost".  (NetBurst: two reads; an interrupt in a read begins it again.) */
void guests_end_call(const char *call, uint64_t most)
{
    if (host.setting.family == &hardware_netburst)
        most *= 2;
    most *= 1u + self->apart_times;
    if (self->accesses > most && !host.verdict->figures.faults && rules_on(RULE_WORK))
        rules_fail(RULE_WORK, "%s makes %llu accesses, not %llu at most", call, (unsigned long long)self->accesses,
                   (unsigned long long)most);
}
