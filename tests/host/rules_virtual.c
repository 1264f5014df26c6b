/* SPDX-License-Identifier: MIT */
/*
 * Registers of guests: which ones a shape has, what they answer and what they read.
 */
#include <string.h>

#include "tests/host/virtual.h"

/* Answers that a register may give, one bit each. */
#define DONE (1u << UPMU_GUEST_DONE)
#define FAULT (1u << UPMU_GUEST_FAULT)
#define NOT_OURS (1u << UPMU_GUEST_NOT_OURS)
#define SHARED (1u << UPMU_GUEST_SHARED)

enum place {
    PLACE_NONE,   /* none of a PMU, or not known */
    PLACE_ABSENT, /* of a PMU, and this shape lacks it */
    PLACE_VALUE,
    PLACE_LOW_VALUE, /* takes 32 bits and their sign */
    PLACE_SELECT,
    PLACE_FIXED_CONTROL,
    PLACE_STATUS,
    PLACE_GLOBAL,
    PLACE_CLEAR,
    PLACE_SET,
    PLACE_IN_USE,
    PLACE_CAPABILITIES,
    PLACE_OFFCORE,
    PLACE_DEBUGCTL,
    PLACE_LVTPC
};

/* ---- Addresses ---- */

/* Debug store, branch records, processor trace, metrics, reloads; of AMD sampling of instructions. */
static bool is_absent(bool intel, uint32_t msr)
{
    if (!intel)
        return msr >= 0xc0011030 && msr <= 0xc001103d;
    if ((msr >= 0x40 && msr < 0x48) || (msr >= 0x60 && msr < 0x68) || (msr >= 0x1db && msr < 0x1df))
        return true;
    return msr == 0x3f1 || msr == 0x3f2 || msr == 0x3f6 || msr == 0x3f7 || msr == 0x329 || msr == 0x600 ||
           msr == 0x10f || msr == 0x1c9 || msr == 0x560 || msr == 0x561 || (msr >= 0x570 && msr <= 0x587) ||
           (msr >= 0x680 && msr < 0x6a0) || (msr >= 0x1900 && msr < 0x1990);
}

static enum place find_intel(const struct virtual_pmu *pmu, uint32_t msr, unsigned *out_number)
{
    unsigned version = pmu->shape.version;

    *out_number = msr & 7u;
    if (msr >= 0xc1 && msr < 0xc9) {
        *out_number = msr - 0xc1;
        return msr - 0xc1 < pmu->shape.general ? PLACE_LOW_VALUE : PLACE_ABSENT;
    }
    if (msr >= 0x4c1 && msr < 0x4c9) {
        *out_number = msr - 0x4c1;
        return msr - 0x4c1 < pmu->shape.general && pmu->shape.full_write ? PLACE_VALUE : PLACE_ABSENT;
    }
    if (msr >= 0x186 && msr < 0x18e) {
        *out_number = msr - 0x186;
        return msr - 0x186 < pmu->shape.general ? PLACE_SELECT : PLACE_ABSENT;
    }
    if (msr >= 0x309 && msr < 0x30c) {
        *out_number = VIRTUAL_GENERAL + msr - 0x309;
        return msr - 0x309 < pmu->shape.fixed ? PLACE_VALUE : PLACE_ABSENT;
    }
    *out_number = msr & 1u ? 1 : 0;
    switch (msr) {
    case 0x38d:
        return version < 2 ? PLACE_ABSENT : PLACE_FIXED_CONTROL;
    case 0x38e:
        return version < 2 ? PLACE_ABSENT : PLACE_STATUS;
    case 0x38f:
        return version < 2 ? PLACE_ABSENT : PLACE_GLOBAL;
    case 0x390:
        return version < 2 ? PLACE_ABSENT : PLACE_CLEAR;
    case 0x391:
        return version < 4 ? PLACE_ABSENT : PLACE_SET;
    case 0x392:
        return version < 4 ? PLACE_ABSENT : PLACE_IN_USE;
    case 0x345:
        return pmu->shape.full_write ? PLACE_CAPABILITIES : PLACE_ABSENT;
    case 0x1a6:
    case 0x1a7:
        return pmu->policy->payload[msr - 0x1a6] ? PLACE_OFFCORE : PLACE_ABSENT;
    case 0x1d9:
        return PLACE_DEBUGCTL;
    default:
        return is_absent(true, msr) ? PLACE_ABSENT : PLACE_NONE;
    }
}

static enum place find_amd(const struct virtual_pmu *pmu, uint32_t msr, unsigned *out_number)
{
    bool is_value = false;

    if (msr >= 0xc0010000 && msr < 0xc0010008) {
        *out_number = msr & 3u;
        is_value = msr >= 0xc0010004;
    } else if (msr >= 0xc0010200 && msr < 0xc001020c) {
        *out_number = (msr - 0xc0010200) / 2;
        is_value = msr & 1u;
        if (pmu->shape.door == UPMU_GUEST_AMD_K7)
            return PLACE_ABSENT;
    } else if (msr >= 0xc0000300 && msr < 0xc0000304) {
        static const enum place places[] = {PLACE_STATUS, PLACE_GLOBAL, PLACE_CLEAR, PLACE_SET};

        *out_number = 0;
        return has_global(pmu) ? places[msr - 0xc0000300] : PLACE_ABSENT;
    } else {
        *out_number = 0;
        if (msr == 0x1d9 && has_global(pmu))
            return PLACE_DEBUGCTL;
        return is_absent(false, msr) ? PLACE_ABSENT : PLACE_NONE;
    }
    return *out_number >= pmu->shape.general ? PLACE_ABSENT : is_value ? PLACE_VALUE : PLACE_SELECT;
}

static enum place find(const struct virtual_pmu *pmu, uint32_t msr, unsigned *out_number)
{
    if (msr == 0x834 && !(pmu->policy->flags & UPMU_GUEST_OWN_LAPIC)) {
        *out_number = 0;
        return PLACE_LVTPC;
    }
    return is_intel(pmu) ? find_intel(pmu, msr, out_number) : find_amd(pmu, msr, out_number);
}

/* ---- Registers ---- */

void guests_reset(struct virtual_pmu *pmu)
{
    memset(pmu->counter, 0, sizeof pmu->counter);
    pmu->mask = BIT(pmu->shape.width) - 1u;
    pmu->global = has_global(pmu) ? BIT(pmu->shape.general) - 1u : 0;
    pmu->status = pmu->debugctl = pmu->offcore[0] = pmu->offcore[1] = 0;
    pmu->lvtpc = LVTPC_MASKED;
    pmu->lapic_off = false;
    pmu->spent = 0;
    pmu->frozen_unknown = false;
}

/* Vector, delivery mode, mask; of a disabled APIC it is masked. */
void guests_put_lvtpc(struct virtual_pmu *pmu, uint32_t value)
{
    pmu->lvtpc = (value & 0x107ff) | (pmu->lapic_off ? LVTPC_MASKED : 0);
}

/* What has gone round until now belongs to the flag. */
void guests_take_rounds(struct virtual_pmu *pmu, struct virtual_counter *counter)
{
    counter->round_must |= (counter->base + counter->low) >> pmu->shape.width != 0 && !counter->doubt;
    counter->round_may |= (counter->base + counter->high) >> pmu->shape.width != 0;
    counter->base = (counter->base + counter->low) & pmu->mask;
    counter->high -= counter->low;
    counter->doubt &= counter->high != 0;
    counter->low = 0;
}

void guests_put_value(struct virtual_pmu *pmu, unsigned i, uint64_t value)
{
    struct virtual_counter *counter = &pmu->counter[i];

    guests_take_rounds(pmu, counter);
    counter->round_may |= counter->lost;
    counter->lost = false;
    counter->base = value & pmu->mask;
    counter->high = counter->since = 0;
    counter->doubt = false;
}

/* Of a guest whose counters may have lost events: what it reads is so. */
void guests_check_value(struct host_guest *guest, unsigned i, uint64_t value, const char *what)
{
    struct virtual_pmu *pmu = &guest->virtual;
    struct virtual_counter *counter = &pmu->counter[i];
    uint64_t more = counter->low + ((value - counter->base - counter->low) & pmu->mask);

    host.verdict->figures.guest_reads++;
    if (guest->spoiled || counter->lost || (counter->mode == VIRTUAL_MAY_COUNT && counter->high > pmu->mask)) {
        guests_put_value(pmu, i, value);
        counter->round_may |= guest->spoiled;
        return;
    }
    host.verdict->figures.guest_exact += counter->low == counter->high && counter->high;
    if ((more > counter->high && rules_on(RULE_GUEST)) || (value & ~pmu->mask))
        rules_fail(RULE_GUEST,
                   "vCPU %u: %s of counter %u reads %llx; it had %llx and counted %llu to %llu (select %llx, %s)",
                   (unsigned)(guest - host.guest), what, i, (unsigned long long)value,
                   (unsigned long long)counter->base, (unsigned long long)counter->low,
                   (unsigned long long)counter->high, (unsigned long long)counter->select,
                   counter->mode == VIRTUAL_COUNTS      ? "counted"
                   : counter->mode == VIRTUAL_MAY_COUNT ? "waited"
                                                        : "stood");
    if (counter->high - more > pmu->mask) /* (Its rounds are not known.) */
        return;
    counter->high = counter->low = more;
    guests_take_rounds(pmu, counter);
}

static void check_status(struct host_guest *guest, uint64_t value)
{
    struct virtual_pmu *pmu = &guest->virtual;
    uint64_t must = pmu->status, may = pmu->status;

    if (pmu->frozen_unknown && freezes_by_status(pmu)) {
        pmu->status = (pmu->status & ~(FROZEN | FROZEN_BRANCHES)) | (value & (FROZEN | FROZEN_BRANCHES));
        must = may = pmu->status;
        pmu->frozen_unknown = false;
    }
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++)
        if (exists(pmu, i)) {
            guests_take_rounds(pmu, &pmu->counter[i]);
            must |= pmu->counter[i].round_must ? bit_of(i) : 0;
            may |= pmu->counter[i].round_may || pmu->counter[i].lost ? bit_of(i) : 0;
        }
    if (!guest->spoiled && rules_on(RULE_GUEST) && ((must & ~value) || (value & ~may)))
        rules_fail(RULE_GUEST, "vCPU %u: its status is %llx, not %llx to %llx", (unsigned)(guest - host.guest),
                   (unsigned long long)value, (unsigned long long)must, (unsigned long long)may);
    if (guest->spoiled)
        pmu->status = value & ~all_bits(pmu);
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++)
        if (exists(pmu, i))
            pmu->counter[i].round_must = pmu->counter[i].round_may = (value & bit_of(i)) != 0;
}

static uint64_t in_use(const struct virtual_pmu *pmu)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++)
        if (exists(pmu, i)) {
            bits |= pmu->counter[i].select & (i < VIRTUAL_GENERAL ? 0xffu : 3u) ? bit_of(i) : 0;
            bits |= interrupts(&pmu->counter[i], i) ? BIT(63) : 0;
        }
    return bits;
}

/* What a register without a life of its own reads. */
static uint64_t plain_value(const struct virtual_pmu *pmu, enum place place, unsigned number)
{
    uint64_t value = 0;

    switch (place) {
    case PLACE_SELECT:
        return pmu->counter[number].select;
    case PLACE_FIXED_CONTROL:
        for (unsigned i = 0; i < pmu->shape.fixed; i++)
            value |= pmu->counter[VIRTUAL_GENERAL + i].select << 4 * i;
        return value;
    case PLACE_GLOBAL:
        return pmu->global;
    case PLACE_IN_USE:
        return in_use(pmu);
    case PLACE_CAPABILITIES:
        return BIT(13);
    case PLACE_OFFCORE:
        return pmu->offcore[number];
    case PLACE_DEBUGCTL:
        return pmu->debugctl;
    case PLACE_LVTPC:
        return pmu->lvtpc;
    default:
        return 0;
    }
}

static void check_answer(const struct host_guest *guest, const char *call, uint32_t msr, uint64_t value,
                         enum upmu_guest_access answer, unsigned may)
{
    TRACE("vCPU %u: %s %x (%llx): %u", (unsigned)(guest - host.guest), call, (unsigned)msr, (unsigned long long)value,
          (unsigned)answer);
    if (!(may >> answer & 1u) && rules_on(RULE_GUEST))
        rules_fail(RULE_GUEST, "vCPU %u: %s %x (%llx) is answered %u, not one of %x", (unsigned)(guest - host.guest),
                   call, (unsigned)msr, (unsigned long long)value, (unsigned)answer, may);
}

void guests_rdmsr(struct host_guest *guest, uint32_t msr)
{
    static const uint64_t untouched = UINT64_C(0x1234567890abcdef);
    struct virtual_pmu *pmu = &guest->virtual;
    enum upmu_guest_access answer;
    unsigned number;
    enum place place = find(pmu, msr, &number);
    uint64_t value = untouched;

    guests_begin_call();
    answer = HOST_CALL(upmu_guest_rdmsr(guest->guest, msr, &value));
    guests_end_call("upmu_guest_rdmsr", place == PLACE_STATUS                              ? VIRTUAL_COUNTERS
                                        : place == PLACE_VALUE || place == PLACE_LOW_VALUE ? 1
                                                                                           : 0);
    check_answer(guest, "RDMSR", msr, 0, answer,
                 place == PLACE_NONE       ? NOT_OURS | FAULT
                 : place == PLACE_ABSENT   ? FAULT
                 : place == PLACE_DEBUGCTL ? SHARED
                                           : DONE);
    if (answer != UPMU_GUEST_DONE && answer != UPMU_GUEST_SHARED) {
        if (value != untouched)
            rules_fail(RULE_GUEST, "RDMSR %x stores a value and is answered %u", (unsigned)msr, (unsigned)answer);
    } else if (place == PLACE_VALUE || place == PLACE_LOW_VALUE) {
        guests_check_value(guest, number, value, "RDMSR");
    } else if (place == PLACE_STATUS) {
        check_status(guest, value);
    } else {
        if (place == PLACE_GLOBAL && ((pmu->frozen_unknown && !value) || guest->spoiled))
            pmu->global = value;
        if (place == PLACE_GLOBAL && !freezes_by_status(pmu))
            pmu->frozen_unknown = false;
        if (value != plain_value(pmu, place, number) && rules_on(RULE_GUEST))
            rules_fail(RULE_GUEST, "vCPU %u: register %x reads %llx, not %llx", (unsigned)(guest - host.guest),
                       (unsigned)msr, (unsigned long long)value,
                       (unsigned long long)plain_value(pmu, place, number));
    }
}

void guests_rdpmc(struct host_guest *guest, uint32_t ecx)
{
    const struct upmu_guest_shape *shape = &guest->virtual.shape;
    bool fixed = ecx >> 30 == 1 && (ecx & 0x3fffffff) < shape->fixed;
    uint64_t value = 0;
    enum upmu_guest_access answer;

    guests_begin_call();
    answer = HOST_CALL(upmu_guest_rdpmc(guest->guest, ecx, &value));
    guests_end_call("upmu_guest_rdpmc", 1);
    check_answer(guest, "RDPMC", ecx, 0, answer, fixed || ecx < shape->general ? DONE : FAULT);
    if (answer == UPMU_GUEST_DONE)
        guests_check_value(guest, fixed ? VIRTUAL_GENERAL + (ecx & 3u) : ecx, value, "RDPMC");
}

/* Bits of the status that may be cleared, those that never may, and the rest. */
static unsigned of_status(const struct virtual_pmu *pmu, uint64_t value, bool set)
{
    uint64_t fine = all_bits(pmu) | BIT(62) | (set ? 0 : BIT(63)), either = BIT(60) | BIT(63) | BIT(61);

    if (pmu->shape.version >= 3)
        fine |= BIT(61);
    if (pmu->shape.version >= 4)
        fine |= FROZEN | FROZEN_BRANCHES;
    if (!(value & ~fine))
        return DONE;
    return value & ~fine & ~either ? FAULT : DONE | FAULT;
}

static unsigned may_write_intel(const struct virtual_pmu *pmu, enum place place, unsigned number, uint64_t value)
{
    switch (place) {
    case PLACE_LOW_VALUE:
        return DONE;
    case PLACE_VALUE:
        return value & ~pmu->mask ? FAULT : DONE;
    case PLACE_SELECT: /* (Transactions, where host and policy have them.) */
        return value & (BIT(21) | ~(BIT(34) - 1u)) ? FAULT : value >> 32 ? DONE | FAULT : DONE;
    case PLACE_FIXED_CONTROL:
        return value & (UINT64_C(0x4444444444444444) | ~(BIT(4 * pmu->shape.fixed) - 1u)) ? FAULT : DONE;
    case PLACE_GLOBAL:
        return value & ~all_bits(pmu) ? FAULT : DONE;
    case PLACE_CLEAR:
    case PLACE_SET:
        return of_status(pmu, value, place == PLACE_SET);
    case PLACE_OFFCORE:
        return value & ~pmu->policy->payload[number] ? FAULT : DONE;
    case PLACE_DEBUGCTL:
        return !has_global(pmu) && (value & FREEZES) ? FAULT : SHARED;
    case PLACE_LVTPC:
        return value >> 32 ? FAULT : DONE;
    case PLACE_NONE:
        return NOT_OURS | FAULT;
    default:
        return FAULT;
    }
}

/* Nothing faults but what is absent. */
static unsigned may_write_amd(enum place place, uint64_t value)
{
    return place == PLACE_LVTPC      ? (value >> 32 ? FAULT : DONE)
           : place == PLACE_NONE     ? NOT_OURS | FAULT
           : place == PLACE_ABSENT   ? FAULT
           : place == PLACE_DEBUGCTL ? SHARED
                                     : DONE;
}

static void write_flags(struct virtual_pmu *pmu, uint64_t value, bool set)
{
    uint64_t others = value & ~all_bits(pmu);

    if (!is_intel(pmu))
        others &= FROZEN | FROZEN_BRANCHES;
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++)
        if (exists(pmu, i) && value & bit_of(i)) {
            guests_take_rounds(pmu, &pmu->counter[i]);
            pmu->counter[i].round_must = pmu->counter[i].round_may = set;
            pmu->counter[i].doubt = !set && (pmu->counter[i].base + pmu->counter[i].high) >> pmu->shape.width;
        }
    pmu->status = set ? pmu->status | others : pmu->status & ~others;
}

void guests_put_off_all(struct virtual_pmu *pmu)
{
    for (unsigned i = 0; i < VIRTUAL_COUNTERS; i++)
        pmu->counter[i].since = 0;
}

static void store(struct virtual_pmu *pmu, enum place place, unsigned number, uint64_t value)
{
    guests_put_off_all(pmu);
    switch (place) {
    case PLACE_LOW_VALUE:
        guests_put_value(pmu, number, value & BIT(31) ? value | ~UINT64_C(0xffffffff) : value & 0xffffffff);
        return;
    case PLACE_VALUE:
        guests_put_value(pmu, number, value);
        return;
    case PLACE_SELECT: /* AMD: without bits 19 and 21 and those above 35 */
        guests_take_rounds(pmu, &pmu->counter[number]);
        pmu->counter[number].select = is_intel(pmu) ? value : value & UINT64_C(0xfffd7ffff);
        return;
    case PLACE_FIXED_CONTROL:
        for (unsigned i = 0; i < pmu->shape.fixed; i++) {
            guests_take_rounds(pmu, &pmu->counter[VIRTUAL_GENERAL + i]);
            pmu->counter[VIRTUAL_GENERAL + i].select = value >> 4 * i & 15;
        }
        return;
    case PLACE_GLOBAL:
        pmu->global = value & all_bits(pmu);
        pmu->frozen_unknown &= freezes_by_status(pmu);
        return;
    case PLACE_CLEAR:
    case PLACE_SET:
        write_flags(pmu, value, place == PLACE_SET);
        return;
    case PLACE_OFFCORE:
        pmu->offcore[number] = value;
        return;
    case PLACE_DEBUGCTL:
        if (has_global(pmu))
            pmu->debugctl = value & FREEZES;
        return;
    case PLACE_LVTPC:
        guests_put_lvtpc(pmu, (uint32_t)value);
        return;
    default:
        return;
    }
}

void guests_wrmsr(struct host_guest *guest, uint32_t msr, uint64_t value)
{
    struct virtual_pmu *pmu = &guest->virtual;
    unsigned number;
    enum place place = find(pmu, msr, &number);
    unsigned may = is_intel(pmu) ? may_write_intel(pmu, place, number, value) : may_write_amd(place, value);
    enum upmu_guest_access answer;

    guests_begin_call();
    answer = HOST_CALL(upmu_guest_wrmsr(guest->guest, msr, value));
    guests_end_call("upmu_guest_wrmsr", place == PLACE_CLEAR || place == PLACE_SET ? VIRTUAL_COUNTERS : 0);
    check_answer(guest, "WRMSR", msr, value, answer, may);
    if (answer == UPMU_GUEST_DONE || answer == UPMU_GUEST_SHARED)
        store(pmu, place, number, value);
}

/* ---- All that it can see ---- */

void guests_look(struct host_guest *guest)
{
    const struct upmu_guest_shape *shape = &guest->virtual.shape;

    for (unsigned i = 0; i < shape->general; i++)
        guests_rdpmc(guest, i);
    for (unsigned i = 0; i < shape->fixed; i++)
        guests_rdpmc(guest, UINT32_C(1) << 30 | i);
    if (has_global(&guest->virtual)) {
        guests_rdmsr(guest, is_intel(&guest->virtual) ? 0x38e : 0xc0000300);
        guests_rdmsr(guest, is_intel(&guest->virtual) ? 0x38f : 0xc0000301);
    }
}

/* What CPUID shows of PMUs is the shape, and nothing else changes. */
void guests_cpuid(struct host_guest *guest, uint32_t leaf, uint32_t subleaf)
{
    const struct upmu_guest_shape *shape = &guest->virtual.shape;
    uint32_t found[4], shown[4], wanted[4];
    bool intel = is_intel(&guest->virtual), known = true;

    host.setting.family->cpuid(host.hardware, self->cpu, leaf, subleaf, found);
    memcpy(shown, found, sizeof shown);
    memcpy(wanted, found, sizeof wanted);
    (void)HOST_CALL(upmu_guest_cpuid(guest->guest, leaf, subleaf, shown));
    if (intel && leaf == 0xa) {
        wanted[0] = shape->version | (uint32_t)shape->general << 8 | (uint32_t)shape->width << 16 | 7u << 24;
        wanted[1] = ~(uint32_t)shape->arch_events & 0x7f;
        wanted[2] = shape->version < 5 ? 0 : (1u << shape->fixed) - 1u;
        wanted[3] = shape->version < 2 ? 0 : 1u << 15 | shape->fixed | (shape->fixed ? (uint32_t)shape->width << 5 : 0);
    } else if (leaf == 0xa || leaf == 0x14 || leaf == 0x80000022) {
        memset(wanted, 0, sizeof wanted);
        if (shape->door == UPMU_GUEST_AMD_V2 && leaf == 0x80000022)
            wanted[0] = 1 | 4, wanted[1] = shape->general;
    } else {
        known = leaf >= 2 && leaf != 7 && leaf != 0x1c && leaf != 0x23 && leaf < 0x40000000;
    }
    if (known && memcmp(shown, wanted, sizeof shown) != 0 && rules_on(RULE_GUEST))
        rules_fail(RULE_GUEST, "vCPU %u: leaf %x shows %x %x %x %x, not %x %x %x %x", (unsigned)(guest - host.guest),
                   (unsigned)leaf, (unsigned)shown[0], (unsigned)shown[1], (unsigned)shown[2], (unsigned)shown[3],
                   (unsigned)wanted[0], (unsigned)wanted[1], (unsigned)wanted[2], (unsigned)wanted[3]);
    if (intel && leaf == 1 && ((shown[3] & 1u << 21) || (shown[2] >> 15 & 1) != shape->full_write))
        rules_fail(RULE_GUEST, "leaf 1 shows debug store, or PERF_CAPABILITIES wrongly");
    if (!intel && leaf == 0x80000001 && (shown[2] >> 23 & 1) != (shape->door != UPMU_GUEST_AMD_K7))
        rules_fail(RULE_GUEST, "leaf 80000001h shows PerfCtrExtCore wrongly");
}
