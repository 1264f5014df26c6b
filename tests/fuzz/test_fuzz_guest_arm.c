/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: two guests of the Arm door on one host do anything with the registers of their PMUs, under any policy and
 * filter, and come, go, are reset, saved and restored in any order.  The host's session counts what EL2 executed, to
 * the last event; a watched counter has what its guest executed alone; in the end every register is as it was found.
 */
#define UPMU_BACKEND_ARM_PMUV3 1

#include "tests/common/share.h"
#include "tests/fuzz/fuzz.h"
#include "tests/guest/arm_nest.h"

#define STEPS 400u
#define ENTRIES 4u

static struct arm_nest nest;
static struct upmu_guest_policy policy, others[ARM_NEST_GUESTS];
static struct upmu_guest_filter filter;
static uint64_t entries[ENTRIES];
static struct upmu_guest_statistics sums;
static struct {
    uint8_t bytes[UPMU_GUEST_STATE_BYTES];
    size_t used;
    bool watched;      /* counter 0 counts instructions from `expected` on, and nothing has touched it */
    uint64_t expected; /* its value */
} books[ARM_NEST_GUESTS];

static unsigned present_index(void)
{
    return (unsigned)(nest.present - nest.guests);
}

static void enter(void)
{
    enum upmu_status status = arm_nest_enter(&nest);

    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_DOES_NOT_FIT, "entry: %d", (int)status);
    if (!nest.present)
        return;
    for (unsigned i = 0; i < 32; i++) /* the host's select has the event, P and U of the guest's choice, and no more */
        FUZZ_CHECK(!(nest.hw.enabled >> i & 1u) || !(nest.hw.type[i] & ~UINT64_C(0xc000ffff)),
                   "counter %u of the guest has the select %llx", i, (unsigned long long)nest.hw.type[i]);
    FUZZ_CHECK(nest.wired == upmu_guest_irq_level(&nest.present->guest), "the level of the entry");
    FUZZ_CHECK(!nest.present->guest.policy->max_counters ||
                   upmu_bits_count(nest.present->guest.started) <= nest.present->guest.policy->max_counters,
               "counters %x count, and the policy permits %u", (unsigned)nest.present->guest.started,
               nest.present->guest.policy->max_counters);
    fuzz_calls++;
}

/* Numbers of registers, and others. */
static uint32_t number_of(struct fuzz_bytes *in, bool anything)
{
    uint8_t code = fuzz_u8(in);

    if (anything)
        return fuzz_u32(in);
    if (code < 0x40)
        return ARM_REG(3, 3, 14, 8, 0) + code;
    return ARM_REG(3, code & 1 ? 3 : 0, 9, 12, 0) + (code >> 1 & 31u);
}

/* An access by AArch64's number, or by AArch32's syndrome, which has CRn, CRm and op2 elsewhere, and no op0. */
static enum upmu_guest_access access_by(struct arm_nest_guest *of, bool aarch32, uint32_t reg, bool write,
                                        bool from_el0, uint64_t *inout)
{
    uint32_t esr = (reg >> 13 & 1u ? 4u : 3u) << 26 | (reg & 7u) << 17 | (reg >> 7 & 15u) << 10 |
                   (reg >> 3 & 15u) << 1 | !write;

    return aarch32 ? upmu_guest_cp15(&of->guest, esr ^ (reg & 0xfc000000u), from_el0, inout)
                   : upmu_guest_sysreg(&of->guest, reg, write, from_el0, inout);
}

static void access_register(struct arm_nest_guest *of, uint8_t what, struct fuzz_bytes *in)
{
    uint32_t reg = number_of(in, (what & 0x30) == 0x30);
    bool write = what & 0x40, from_el0 = what & 0x80 && what & 0x10;
    uint64_t value = write ? fuzz_u64(in) : 0;

    if (write && books[of - nest.guests].watched)
        return;
    arm_nest_exit(&nest);
    if (access_by(of, what & 1u, reg, write, from_el0, &value) == UPMU_GUEST_DONE && !books[of - nest.guests].watched)
        upmu_guest_retired(&of->guest, 1, 0, from_el0);
}

static void check_value(void)
{
    uint64_t value = 0;
    unsigned which = present_index();

    if (!nest.present || !books[which].watched)
        return;
    arm_nest_exit(&nest);
    FUZZ_CHECK(upmu_guest_sysreg(&nest.present->guest, ARM_REG(3, 3, 14, 8, 0), false, false, &value) ==
                   UPMU_GUEST_DONE,
               "counter 0 is absent");
    FUZZ_CHECK(value == books[which].expected || nest.present->guest.waiting, "counter 0 is %llx and not %llx",
               (unsigned long long)value, (unsigned long long)books[which].expected);
}

/* Counter 0 counts instructions from now on, if policy and shape permit that. */
static void watch(struct arm_nest_guest *of, uint64_t value)
{
    static const uint32_t numbers[] = {ARM_REG(3, 3, 14, 12, 0), ARM_REG(3, 3, 14, 8, 0), ARM_REG(3, 3, 9, 12, 1),
                                       ARM_REG(3, 3, 9, 12, 0)};
    uint64_t values[] = {0x08, value & 0x7fffffffu, 1, 0x41};
    unsigned which = (unsigned)(of - nest.guests);

    if (of->guest.policy->level == UPMU_GUEST_OFF || of->guest.policy->level == UPMU_GUEST_LIST ||
        !(of->guest.shown.events[0] >> 8 & 1u))
        return;
    arm_nest_exit(&nest);
    upmu_guest_reset(&of->guest);
    if (!of->guest.shape.general)
        return;
    for (unsigned i = 0; i < 4; i++)
        FUZZ_CHECK(upmu_guest_sysreg(&of->guest, numbers[i], true, false, &values[i]) == UPMU_GUEST_DONE, "write");
    books[which].watched = true;
    books[which].expected = values[1];
}

static void restore(struct arm_nest_guest *to, struct fuzz_bytes *in)
{
    static struct upmu_guest before;
    unsigned which = (unsigned)(to - nest.guests), family, model;
    uint8_t state[UPMU_GUEST_STATE_BYTES];

    arm_nest_exit(&nest);
    memcpy(state, books[which].bytes, sizeof state);
    for (unsigned i = fuzz_u8(in) & 3u; i; i--)
        state[fuzz_take(in, 2) % sizeof state] ^= fuzz_u8(in);
    if (fuzz_u8(in) & 1u && books[which].used) {
        struct guest_state saved;

        memset(&saved, 0, sizeof saved);
        memcpy(&saved, state, books[which].used);
        saved.checksum = state_checksum(&saved, books[which].used);
        memcpy(state, &saved, books[which].used);
    }
    before = to->guest;
    (void)!upmu_guest_state_needs(state, books[which].used, &family, &model);
    if (upmu_guest_restore(&to->guest, state, books[which].used) != UPMU_OK)
        FUZZ_CHECK(memcmp(&before, &to->guest, sizeof before) == 0, "a refused state changed the guest");
    else
        books[which].watched = false;
}

static void change_policy(struct arm_nest_guest *of, uint8_t level)
{
    struct upmu_guest_policy *other = &others[of - nest.guests];

    arm_nest_exit(&nest);
    books[of - nest.guests].watched = false;
    *other = policy;
    other->level = level % 5u == UPMU_GUEST_LIST && !policy.filter ? UPMU_GUEST_ALL : level % 5u;
    other->max_counters = level / 5u % 4u;
    FUZZ_CHECK(upmu_guest_policy_change(&of->guest, other) == UPMU_OK, "another policy");
}

static void step(struct fuzz_bytes *in)
{
    uint8_t what = fuzz_u8(in);
    struct arm_nest_guest *of = nest.present ? nest.present : &nest.guests[what >> 7];
    unsigned instructions;

    switch (what % 16) {
    case 0:
        FUZZ_CHECK(arm_nest_go(&nest, &nest.guests[fuzz_u8(in) & 1u]), "switch");
        break;
    case 1:
        FUZZ_CHECK(arm_nest_go(&nest, NULL), "switch");
        break;
    case 2:
        if (!nest.present)
            break;
        enter();
        instructions = (unsigned)fuzz_take(in, 1);
        books[present_index()].expected = (books[present_index()].expected + instructions) & UINT32_MAX;
        arm_nest_run(&nest, what >> 6 & 1u, instructions);
        break;
    case 3:
        arm_nest_host(&nest, fuzz_u8(in));
        break;
    case 4:
        check_value();
        break;
    case 5:
        if (nest.present)
            watch(of, fuzz_u32(in));
        break;
    case 6:
        arm_nest_exit(&nest);
        if (upmu_guest_save(&of->guest, books[of - nest.guests].bytes, UPMU_GUEST_STATE_BYTES,
                            &books[of - nest.guests].used) != UPMU_OK)
            books[of - nest.guests].used = 0;
        break;
    case 7:
        restore(of, in);
        break;
    case 8:
        arm_nest_exit(&nest);
        FUZZ_CHECK(what & 0x10 ? upmu_cpu_tick(&nest.cpu) == UPMU_OK : upmu_cpu_poll(&nest.cpu) == UPMU_OK, "tick");
        break;
    case 9:
        arm_nest_exit(&nest);
        if (!(fuzz_u8(in) & 7u)) {
            upmu_guest_reset(&of->guest);
            books[of - nest.guests].watched = false;
        } else if (what & 0x40) {
            change_policy(of, fuzz_u8(in));
        }
        break;
    default:
        access_register(of, what, in);
    }
    fuzz_calls += what % 16 > 3;
}

/* Any filter is refused or serves. */
static void choose_policy(struct fuzz_bytes *in)
{
    uint8_t what = fuzz_u8(in);

    memset(&policy, 0, sizeof policy);
    policy.level = what % 5u;
    policy.flags =
        UPMU_GUEST_BESIDE_STRANGERS | (what & 0x40 ? UPMU_GUEST_STRICT : 0) | (what & 0x20 ? UPMU_GUEST_POLLED : 0);
    policy.min_period = what & 0x80 ? 300 : 1;
    if (policy.level != UPMU_GUEST_LIST)
        return;
    memset(&filter, 0, sizeof filter);
    what = fuzz_u8(in);
    filter.action = what % 3u;
    filter.flags = what >> 4 & (what >> 7);
    filter.count = what >> 5 & (ENTRIES - 1u);
    filter.entry = entries;
    for (unsigned i = 0; i < filter.count; i++)
        entries[i] = fuzz_take(in, 2) | (what & 0x10 ? UINT64_C(0x100000) : 0);
    policy.filter = &filter;
}

static void begin(struct fuzz_bytes *in)
{
    static const unsigned versions[] = {1, 4, 5, 6};
    uint8_t host = fuzz_u8(in);
    struct upmu_guest_shape shape;

    FUZZ_CHECK(arm_nest_host_begin(&nest, versions[host & 3u], host >> 2 & 7u ? host >> 2 & 7u : 31) == UPMU_OK,
               "host");
    memset(books, 0, sizeof books);
    choose_policy(in);
    if (policy.filter && upmu_guest_filter_check(&filter) != UPMU_OK) {
        FUZZ_CHECK(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &policy, &shape) == UPMU_ERR_INVALID,
                   "shape");
        FUZZ_CHECK(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, NULL, &shape) == UPMU_OK, "shape");
        FUZZ_CHECK(arm_nest_guest_begin(&nest, 0, &shape, &policy) == UPMU_ERR_INVALID, "a bad filter");
        policy.level = UPMU_GUEST_ALL;
        policy.filter = NULL;
    }
    FUZZ_CHECK(upmu_guest_shape_default(&nest.machine, UPMU_GUEST_ARM, &policy, &shape) == UPMU_OK, "shape");
    for (unsigned i = 0; i < ARM_NEST_GUESTS; i++)
        FUZZ_CHECK(arm_nest_guest_begin(&nest, i, &shape, &policy) == UPMU_OK, "guest");
    memset(&sums, 0, sizeof sums);
    upmu_guest_set_statistics(&nest.guests[1].guest, &sums);
    FUZZ_CHECK(arm_nest_session(&nest) == UPMU_OK, "the session of the host");
}

static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes in = {bytes, bytes + length};
    struct upmu_count count;

    begin(&in);
    for (unsigned i = 0; i < STEPS && fuzz_more(&in); i++)
        step(&in);
    FUZZ_CHECK(arm_nest_go(&nest, NULL), "switch");
    FUZZ_CHECK(upmu_set_read(&nest.session.set, 0, 1, &count) == UPMU_OK && count.value == nest.executed,
               "EL2 executed %llu, its session says %llu", (unsigned long long)nest.executed,
               (unsigned long long)count.value);
    FUZZ_CHECK(sums.faults <= sums.traps_read + sums.traps_write && sums.entries_counting <= sums.entries &&
                   sums.waited <= sums.entries && !sums.injected,
               "statistics");
    for (unsigned i = 0; i < ARM_NEST_GUESTS; i++)
        FUZZ_CHECK(upmu_guest_fini(&nest.guests[i].guest) == UPMU_OK, "end of guest %u", i);
    FUZZ_CHECK(upmu_session_close(&nest.session) == UPMU_OK && upmu_cpu_fini(&nest.cpu) == UPMU_OK, "end");
    FUZZ_CHECK(!nest.failures, "an exit failed");
    FUZZ_CHECK(!nest.not_ours, "the host did not know %u interrupts", nest.not_ours);
    FUZZ_CHECK(!(nest.hw.pmcr | nest.hw.enabled | nest.hw.interrupts | nest.hw.overflowed),
               "registers are left changed");
    for (unsigned i = 0; i < 32; i++)
        FUZZ_CHECK(!nest.hw.type[i], "the select of counter %u is left changed", i);
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned steps = 10 + fuzz_below(random, 150);

    fuzz_put(draft, fuzz_random(random), 1);
    fuzz_put(draft, fuzz_below(random, 2) ? 3 : fuzz_random(random), 1);
    while (steps--) {
        unsigned what = fuzz_below(random, 256);

        fuzz_put(draft, what, 1);
        fuzz_put(draft, fuzz_random(random), 1);
        if (what % 16 >= 10 && (what & 0x30) == 0x30)
            fuzz_put(draft, ARM_REG(3, 3, 9, 12, 0) + fuzz_below(random, 32), 4);
        if (what % 16 >= 10 && what & 0x40)
            fuzz_put(draft, fuzz_word(random), 8);
    }
}

#define RUNS (SHARE_SLOW_BUILD ? 2000 : 3000)

const struct fuzz_target fuzz_target = {
    "guest_arm", "guests_of_arm_leave_the_host_and_each_other_alone", RUNS, 2200000, run, make, 100000000};
