/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: two guests on one host do anything with the registers of their PMUs, under any policy and filter, and come,
 * go, are reset, saved and restored in any order.  The host's session counts what the host executed, to the last
 * event; nothing of one guest is in the other one's counters; the model saw nothing forbidden; in the
 * end every register is as it was found.
 */
#include <stdio.h>
#include <string.h>

#include "tests/common/share.h"
#include "tests/fuzz/fuzz.h"

#include "tests/guest/guest_sources.h"

#include "tests/fuzz/guest_host.h"

#define COUNT(array) (unsigned)(sizeof(array) / sizeof(array)[0])
#define STEPS 400u
#define SESSIONS 12u
#define ENTRIES 4u

struct guest_under_test {
    struct upmu_guest guest;
    struct upmu_thread thread;
    struct upmu_session sessions[SESSIONS];
    struct upmu_guest_policy other; /* a policy that it got later */
    struct upmu_guest_statistics sums; /* of the second guest */
    uint8_t state[UPMU_GUEST_STATE_BYTES];
    size_t saved;
    bool watched;      /* counter 0 counts instructions from `expected` on, and nothing has touched it */
    uint64_t expected; /* its value */
};

static struct guest_under_test guests[2];
static struct upmu_guest_policy policy;
static struct upmu_guest_filter filter;
static uint64_t entries[ENTRIES];
static struct guest_under_test *present; /* on the CPU, or NULL */
static bool inside;

static const char *const profiles[] = {"skylake", "core2", "icelake", "zen4", "zen2", "k8_revf", "yonah"};

static void leave(void)
{
    if (inside)
        FUZZ_CHECK(upmu_guest_exit(&present->guest) == UPMU_OK, "exit");
    inside = false;
}

static void enter(void)
{
    struct upmu_guest_entry entry;
    enum upmu_status status;

    if (inside || !present)
        return;
    status = upmu_guest_enter(&present->guest, &entry);
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_DOES_NOT_FIT, "entry: %d", (int)status);
    FUZZ_CHECK(!present->guest.policy->max_counters ||
                   upmu_bits_count(present->guest.started) <= present->guest.policy->max_counters,
               "counters %x count, and the policy permits %u", (unsigned)present->guest.started,
               present->guest.policy->max_counters);
    inside = true;
    fuzz_calls++;
}

static void go(struct guest_under_test *to)
{
    leave();
    if (present == to)
        return;
    FUZZ_CHECK(upmu_thread_switch(&cpu, present ? &present->thread : &idle, to ? &to->thread : &idle) == UPMU_OK,
               "switch");
    present = to;
}

/* Addresses of registers, and others. */
static uint32_t address_of(uint8_t code)
{
    static const uint32_t addresses[] = {
        0xc1,       0xc2,       0xc3,       0x4c1,      0x4c2,      0x186,      0x187,      0x188,      0x189,
        0x309,      0x30a,      0x30b,      0x38d,      0x38e,      0x38f,      0x390,      0x391,      0x392,
        0x345,      0x1a6,      0x1d9,      0x3f1,      0x600,      0xc0010000, 0xc0010001, 0xc0010004, 0xc0010005,
        0xc0010200, 0xc0010201, 0xc0010202, 0xc0010203, 0xc001020a, 0xc0000300, 0xc0000301, 0xc0000302, 0xc0000303};

    return addresses[code % COUNT(addresses)];
}

/* The burst happens to one of them alone. */
static void burst(unsigned instructions, bool user)
{
    if (inside)
        present->expected = (present->expected + instructions) & present->guest.mask;
    else
        executed += instructions;
    host_events(instructions, user);
}

static void check_value(struct guest_under_test *of)
{
    uint64_t value;

    if (!of->watched || of != present)
        return;
    leave();
    FUZZ_CHECK(upmu_guest_rdpmc(&of->guest, 0, &value) == UPMU_GUEST_DONE, "counter 0 is absent");
    FUZZ_CHECK(value == of->expected || of->guest.waiting, "counter 0 is %llx and not %llx", (unsigned long long)value,
               (unsigned long long)of->expected);
}

/* Counter 0 counts instructions from now on. */
static void watch(struct guest_under_test *of, uint64_t value)
{
    bool intel = of->guest.shape.door == UPMU_GUEST_INTEL;

    if (of->guest.policy->level == UPMU_GUEST_OFF || of->guest.policy->level == UPMU_GUEST_LIST)
        return;
    if (intel && !(of->guest.shown.arch_events & 2u)) /* (Its first policy denied it: it is never shown.) */
        return;
    leave();
    upmu_guest_reset(&of->guest);
    of->expected = value & 0x7fffffffu;
    of->watched = upmu_guest_wrmsr(&of->guest, intel ? 0x186 : 0xc0010000u, 0x4300c0) == UPMU_GUEST_DONE &&
                  upmu_guest_wrmsr(&of->guest, intel ? 0xc1 : 0xc0010004u, of->expected) == UPMU_GUEST_DONE;
}

static void restore(struct guest_under_test *to, struct fuzz_bytes *in)
{
    static struct upmu_guest before;
    uint8_t state[UPMU_GUEST_STATE_BYTES];
    size_t size = to->saved;
    unsigned family, model;

    leave();
    memcpy(state, to->state, sizeof state);
    for (unsigned i = fuzz_u8(in) & 3u; i; i--)
        state[fuzz_take(in, 2) % sizeof state] ^= fuzz_u8(in);
    if (fuzz_u8(in) & 1u && size) {
        struct guest_state saved;

        memset(&saved, 0, sizeof saved);
        memcpy(&saved, state, size);
        saved.checksum = state_checksum(&saved, size);
        memcpy(state, &saved, size);
    }
    before = to->guest;
    (void)!upmu_guest_state_needs(state, size, &family, &model);
    if (upmu_guest_restore(&to->guest, state, size) != UPMU_OK)
        FUZZ_CHECK(memcmp(&before, &to->guest, sizeof before) == 0, "a refused state changed the guest");
    else
        to->watched = false;
}

/* Of another level and number of counters, with the filter that the guest began with, if it had one. */
static void change_policy(struct guest_under_test *of, uint8_t level)
{
    leave();
    of->watched = false;
    of->other = policy;
    of->other.level = level % 5u == UPMU_GUEST_LIST && !policy.filter ? UPMU_GUEST_ALL : level % 5u;
    of->other.max_counters = level / 5u % 4u;
    of->other.flags |= UPMU_GUEST_BESIDE_STRANGERS;
    FUZZ_CHECK(upmu_guest_policy_change(&of->guest, &of->other) == UPMU_OK, "another policy");
}

static void step(struct fuzz_bytes *in)
{
    uint8_t what = fuzz_u8(in);
    struct guest_under_test *of = present ? present : &guests[what >> 7];
    uint64_t value;

    switch (what % 16) {
    case 0:
        go(&guests[fuzz_u8(in) & 1u]);
        break;
    case 1:
        go(NULL);
        break;
    case 2:
        enter();
        burst((unsigned)fuzz_take(in, 1), what & 0x40);
        break;
    case 3:
        leave();
        burst((unsigned)fuzz_take(in, 1), what & 0x40);
        break;
    case 4:
        leave();
        (void)upmu_guest_rdmsr(&of->guest, what & 0x10 ? fuzz_u32(in) : address_of(fuzz_u8(in)), &value);
        break;
    case 5:
        leave();
        (void)upmu_guest_rdpmc(&of->guest, what & 0x10 ? fuzz_u32(in) : fuzz_u8(in), &value);
        break;
    case 6:
        leave();
        upmu_guest_lvtpc(&of->guest, fuzz_u32(in));
        upmu_guest_mode(&of->guest, what & 0x10, what & 0x20);
        break;
    case 7:
        leave();
        if (!of->watched)
            upmu_guest_retired(&of->guest, fuzz_u8(in), fuzz_u8(in), what & 0x10);
        break;
    case 8:
        check_value(of);
        break;
    case 9:
        if (present)
            watch(of, fuzz_u32(in));
        break;
    case 10:
        leave();
        if (upmu_guest_save(&of->guest, of->state, sizeof of->state, &of->saved) != UPMU_OK)
            of->saved = 0;
        break;
    case 11:
        restore(of, in);
        break;
    case 12:
        leave();
        FUZZ_CHECK(what & 0x10 ? upmu_cpu_tick(&cpu) == UPMU_OK : upmu_cpu_poll(&cpu) == UPMU_OK, "tick");
        break;
    case 13:
        leave();
        if (!(fuzz_u8(in) & 7u)) {
            upmu_guest_reset(&of->guest);
            of->watched = false;
        } else if (what & 0x40) {
            change_policy(of, fuzz_u8(in));
        }
        break;
    default:
        leave();
        {
            uint32_t address = what & 0x10 && what & 0x20 ? fuzz_u32(in) : address_of(fuzz_u8(in));

            value = what & 0x40 ? fuzz_u64(in) : 0x4300c0u ^ fuzz_take(in, 2);
            if (of->watched)
                break;
            (void)upmu_guest_wrmsr(&of->guest, address, value);
        }
    }
    fuzz_calls += what % 16 > 3 && what % 16 != 12;
}

/* Any filter is refused or serves. */
static void choose_policy(struct fuzz_bytes *in)
{
    static const uint64_t payload[2] = {0x101, 0};
    uint8_t what = fuzz_u8(in);

    memset(&policy, 0, sizeof policy);
    policy.level = what % 5u;
    policy.flags = UPMU_GUEST_BESIDE_STRANGERS | (what & 0x40 ? UPMU_GUEST_OWN_LAPIC : 0) |
                   (what & 0x20 ? UPMU_GUEST_NESTED_SVM : 0);
    policy.min_period = 1;
    memcpy(policy.payload, payload, sizeof payload);
    if (policy.level != UPMU_GUEST_LIST)
        return;
    memset(&filter, 0, sizeof filter);
    what = fuzz_u8(in);
    filter.action = what % 3u;
    filter.flags = what >> 4 & 1u;
    filter.count = what >> 5 & (ENTRIES - 1u);
    filter.fixed_bitmap = fuzz_u8(in);
    filter.entry = entries;
    for (unsigned i = 0; i < filter.count; i++)
        entries[i] = fuzz_u64(in) & (filter.flags ? ~UINT64_C(0) : UINT64_C(0xf0000ffff));
    policy.filter = &filter;
}

/* No entry names bits of an event that the vendor does not have. */
static bool filter_is_of(unsigned door)
{
    bool fits = true;

    for (unsigned i = 0; i < filter.count; i++)
        fits = fits && (door != UPMU_GUEST_INTEL || !(entries[i] & UINT64_C(0xf00000000)));
    return fits;
}

static void begin(const char *profile, struct fuzz_bytes *in)
{

    host_begin(profile);
    present = NULL;
    inside = false;
    choose_policy(in);
    for (unsigned i = 0; i < 2; i++) {
        static const enum upmu_guest_door doors[] = {UPMU_GUEST_INTEL, UPMU_GUEST_AMD_K7, UPMU_GUEST_AMD_CORE,
                                                     UPMU_GUEST_AMD_V2};
        enum upmu_guest_door door = doors[fuzz_u8(in) & 3u];
        struct upmu_guest_shape shape;
        struct guest_under_test *guest = &guests[i];

        memset(guest, 0, sizeof *guest);
        upmu_thread_init(&guest->thread, 1, 1, NULL);
        if (policy.filter && (upmu_guest_filter_check(&filter) != UPMU_OK || !filter_is_of(door))) {
            FUZZ_CHECK(upmu_guest_shape_default(&machine, door, &policy, &shape) == UPMU_ERR_INVALID, "shape");
            FUZZ_CHECK(upmu_guest_shape_default(&machine, door, NULL, &shape) == UPMU_OK, "shape");
            FUZZ_CHECK(upmu_guest_init(&guest->guest, &machine, &shape, &policy,
                                       &(struct upmu_guest_memory){guest->sessions, 1, &guest->thread}) ==
                           UPMU_ERR_INVALID,
                       "a filter that is not well formed, or not of this door");
            policy.level = UPMU_GUEST_ALL;
            policy.filter = NULL;
        }
        FUZZ_CHECK(upmu_guest_shape_default(&machine, door, &policy, &shape) == UPMU_OK, "shape");
        FUZZ_CHECK(upmu_guest_init(&guest->guest, &machine, &shape, &policy,
                                   &(struct upmu_guest_memory){guest->sessions, 1u + fuzz_u8(in) % SESSIONS,
                                                               &guest->thread}) == UPMU_OK,
                   "guest");
    }
    upmu_guest_set_statistics(&guests[1].guest, &guests[1].sums);
    host_start();
}

/* A sum that is a part of another one is not larger. */
static void check_sums(const struct upmu_guest_statistics *sums)
{
    FUZZ_CHECK(sums->faults <= sums->traps_read + sums->traps_write && sums->entries_counting <= sums->entries &&
                   sums->waited <= sums->entries && sums->injected <= sums->entries,
               "statistics");
}

static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes in = {bytes, bytes + length};
    const char *profile = profiles[fuzz_u8(&in) % COUNT(profiles)];

    begin(profile, &in);
    for (unsigned i = 0; i < STEPS && fuzz_more(&in); i++)
        step(&in);
    go(NULL);
    host_check_count();
    check_sums(&guests[1].sums);
    for (unsigned i = 0; i < 2; i++)
        FUZZ_CHECK(upmu_guest_fini(&guests[i].guest) == UPMU_OK, "end of guest %u", i);
    host_end();
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned steps = 10 + fuzz_below(random, 150);

    fuzz_put(draft, fuzz_below(random, COUNT(profiles)), 1);
    fuzz_put(draft, fuzz_below(random, 2) ? 3 : fuzz_random(random), 1);
    fuzz_put(draft, fuzz_random(random), 4);
    fuzz_put(draft, 0, 2); /* the first guest */
    while (steps--) {
        unsigned what = fuzz_below(random, 256);

        fuzz_put(draft, what, 1);
        fuzz_put(draft, fuzz_random(random), 1);
        if (what % 16 >= 14 && what & 0x40)
            fuzz_put(draft, fuzz_word(random), 8);
        else if (what % 16 >= 14)
            fuzz_put(draft, fuzz_random(random), 2);
    }
}

#define RUNS (SHARE_SLOW_BUILD ? 2500 : 3000)

const struct fuzz_target fuzz_target = {"guest", "any_guests_leave_the_host_and_each_other_alone", RUNS, 1400000, run,
                                        make, 60000000};
