/* SPDX-License-Identifier: MIT */
/*
 * Traces of branches in memory (upmu/bts.h) on the silicon model, which stores branches into this test's memory: the
 * host gets the last ones in their order, the hardware stores nowhere else, and nothing after the end of the trace,
 * whatever ended it, nor while a guest runs.
 */
#include <upmu/abi.h>
#include <upmu/branches.h>
#include <upmu/bts.h>
#include <upmu/cpu.h>
#include <upmu/precise.h>
#include <upmu/session.h>
#include <upmu/world.h>
#include "tests/common/host.h"

#define AREA UINT64_C(0xffffc90000010000)
#define ENTRIES UINT64_C(0xffffc90000020000)
#define RECORDS UINT64_C(0xffffc90000030000)
#define USER UINT64_C(0x400000)
#define KERNEL UINT64_C(0xffffffff81000000)
#define ROOM (4096u / UPMU_BTS_ENTRY_BYTES)
#define DEBUGCTL 0x1d9
#define DS_AREA 0x600
#define STORES 0xc0u /* TR, BTS */
#define NO_KERNEL 0x200u
#define NO_USER 0x400u

static struct host host;
static _Alignas(4096) uint8_t area[4096], entries[4096], records[UPMU_RECORD_LEAST_BYTES];
static struct upmu_bts bts;
static struct upmu_why why;
static bool is_mapped;
static unsigned outside, stores;

static const char *const profiles[] = {"core2",   "nehalem",  "sandybridge", "haswell_smt", "skylake",
                                       "icelake", "goldmont", "adl_e",       "ptl_p"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    uint8_t *at = NULL;

    (void)sim, (void)cpu;
    if (address - AREA <= sizeof area - length)
        at = area + (address - AREA);
    else if (address - ENTRIES <= sizeof entries - length)
        at = entries + (address - ENTRIES);
    else if (address - RECORDS <= sizeof records - length)
        at = records + (address - RECORDS);
    stores += kind & UPMU_SIM_MEMORY_WRITE;
    if (!is_mapped || !at) {
        outside++;
        return false;
    }
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

/* Branches of the port's hooks, which upmu makes itself, are left out: the test knows all that are taken. */
static void prepare(const char *profile)
{
    host_prepare(&host, profile);
    host.sim.memory = memory;
    host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
    is_mapped = true;
    outside = stores = 0;
    memset(area, 0xa5, sizeof area);
    memset(entries, 0xa5, sizeof entries);
    bts = (struct upmu_bts){.entries = entries,
                            .entries_linear = ENTRIES,
                            .entry_bytes = sizeof entries,
                            .area = area,
                            .area_linear = AREA};
    host_start(&host);
}

static uint64_t peek(uint32_t msr)
{
    return upmu_sim_peek(&host.sim, 0, msr);
}

static enum upmu_status start(void)
{
    return upmu_bts_start(&host.cpu[0], &bts, &why);
}

static void set_up(const char *profile)
{
    prepare(profile);
    assert_int_equal(start(), UPMU_OK);
}

static void finish(void)
{
    host_end_idle(&host);
    assert_int_equal(outside, 0);
    assert_int_equal(peek(DEBUGCTL) & (STORES | NO_KERNEL | NO_USER), 0);
    assert_int_equal(peek(DS_AREA), 0);
}

static struct upmu_sim_branch branch_of(unsigned number)
{
    return (struct upmu_sim_branch){
        .from = KERNEL + 16u * number, .to = KERNEL + 0x100000u + number, .mispredicted = number % 3u == 0};
}

static void take_branches(unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        struct upmu_sim_branch branch = branch_of(i);

        upmu_sim_branch(&host.sim, &branch);
    }
}

/* The branches that are left are those from number `first` on, `count` of them. */
static void expect_branches(unsigned first, unsigned count)
{
    struct upmu_branch branch;

    for (unsigned i = first; i < first + count; i++) {
        struct upmu_sim_branch taken = branch_of(i);

        assert_true(upmu_bts_next(&bts, &branch), i);
        assert_int_equal(branch.from, taken.from, i);
        assert_int_equal(branch.to, taken.to, i);
        assert_int_equal(branch.info, taken.mispredicted ? 0 : UPMU_BRANCH_INFO_PREDICTED, i);
    }
    assert_false(upmu_bts_next(&bts, &branch));
}

/* ---- Entries ---- */

static void the_last_branches_come_out_the_oldest_first(void **state)
{
    static const unsigned counts[] = {0, 1, ROOM - 1, ROOM, ROOM + 1, 2 * ROOM, 5 * ROOM + 7};

    (void)state;
    for (unsigned i = 0; i < PROFILES; i++)
        for (unsigned n = 0; n < sizeof counts / sizeof counts[0]; n++) {
            unsigned kept = counts[n] < ROOM ? counts[n] : ROOM;

            set_up(profiles[i]);
            take_branches(0, counts[n]);
            assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
            expect_branches(counts[n] - kept, kept);
            take_branches(0, 10);
            assert_int_equal(outside, 0);
            finish();
        }
}

static void a_second_trace_has_no_branch_of_the_first(void **state)
{
    (void)state;
    set_up("skylake");
    take_branches(0, 3 * ROOM);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    assert_int_equal(start(), UPMU_OK);
    assert_false(upmu_bts_next(&bts, &(struct upmu_branch){0}));
    take_branches(7, 5);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    expect_branches(7, 5);
    finish();
}

static void calls_of_hooks_are_branches_too(void **state)
{
    struct upmu_branch branch;
    unsigned count = 0;

    (void)state;
    prepare("skylake");
    host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 1;
    assert_int_equal(start(), UPMU_OK);
    take_branches(0, 1);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    while (upmu_bts_next(&bts, &branch))
        count++;
    assert_compare(count, >, 1);
    finish();
}

static void branches_of_an_unwanted_mode_are_left_out(void **state)
{
    static const struct {
        const char *profile;
        uint32_t record;
        uint64_t control;
        unsigned user, kernel; /* wanted branches: within user mode, with an end in the kernel */
    } rows[] = {
        {"skylake", 0, STORES, 1, 3},
        {"skylake", UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL, STORES, 1, 3},
        {"skylake", UPMU_BRANCH_USER, STORES | NO_KERNEL, 1, 0},
        /* the ring of the source decides in the hardware: a call of the kernel is not stored */
        {"skylake", UPMU_BRANCH_KERNEL, STORES | NO_USER, 0, 2},
        {"core2", UPMU_BRANCH_USER, STORES | NO_KERNEL, 1, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned user = 0, kernel = 0;
        struct upmu_branch branch;

        prepare(rows[i].profile);
        bts.record = rows[i].record;
        assert_int_equal(start(), UPMU_OK);
        assert_int_equal(peek(DEBUGCTL) & (STORES | NO_KERNEL | NO_USER | 0x100u), rows[i].control, i);
        upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = USER, .to = USER + 8});
        upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = USER, .to = KERNEL});
        upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = KERNEL, .to = KERNEL + 8});
        upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = KERNEL, .to = USER});
        assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
        while (upmu_bts_next(&bts, &branch))
            *(branch.from >> 63 || branch.to >> 63 ? &kernel : &user) += 1;
        assert_int_equal(user, rows[i].user, i);
        assert_int_equal(kernel, rows[i].kernel, i);
        finish();
    }
}

static void the_host_says_where_its_kernel_begins(void **state)
{
    struct upmu_branch branch;

    (void)state;
    prepare("skylake");
    bts.record = UPMU_BRANCH_USER;
    bts.kernel_from = USER + 4;
    assert_int_equal(start(), UPMU_OK);
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = USER, .to = USER + 3});
    upmu_sim_branch(&host.sim, &(struct upmu_sim_branch){.from = USER, .to = USER + 4});
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    assert_true(upmu_bts_next(&bts, &branch));
    assert_int_equal(branch.to, USER + 3);
    assert_false(upmu_bts_next(&bts, &branch));
    finish();
}

/* What the hardware has written is input. */
static void an_index_that_is_nowhere_leaves_no_entry(void **state)
{
    static const uint64_t wrong[] = {0, ENTRIES - 24, ENTRIES + 1, ENTRIES + 24 * (ROOM + 1), ~UINT64_C(0)};

    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        set_up("skylake");
        take_branches(0, 2 * ROOM);
        memcpy(area + 8, &wrong[i], sizeof wrong[i]);
        assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
        assert_false(upmu_bts_next(&bts, &(struct upmu_branch){0}), i);
        finish();
    }
    set_up("skylake"); /* a maximum that is not reset to the base: the index behind the last entry */
    take_branches(0, ROOM);
    memcpy(area + 8, &(uint64_t){ENTRIES + 24 * ROOM}, 8);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    expect_branches(0, ROOM);
    finish();
}

/* ---- Ends ---- */

static void no_branch_is_stored_after_the_end(void **state)
{
    enum { STOP, FINI, SUSPEND, CHANGED, EMERGENCY, ENDS };

    (void)state;
    for (unsigned i = 0; i < PROFILES; i++)
        for (unsigned end = 0; end < ENDS; end++)
            for (unsigned shared = 0; shared < 2; shared++) {
                struct upmu_record_memory of = {area, AREA, records, RECORDS, sizeof records, 0};

                if (shared && (i == 0 || i == PROFILES - 1)) /* Merom, Panther Lake: no precise records */
                    continue;
                prepare(profiles[i]);
                if (shared) {
                    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &of, &why), UPMU_OK, i);
                    bts.area = NULL;
                }
                assert_int_equal(start(), UPMU_OK, i);
                take_branches(0, 9);
                if (end == STOP)
                    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
                else if (end == FINI)
                    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
                else if (end == SUSPEND)
                    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
                else if (end == CHANGED)
                    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
                else
                    upmu_records_emergency(&host.cpu[0]);
                is_mapped = false;
                take_branches(0, 100);
                assert_int_equal(outside, 0, i, end, shared);
                expect_branches(0, 9);
                is_mapped = true;
                if (end == SUSPEND)
                    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
                if (end != FINI && end != EMERGENCY) {
                    assert_int_equal(start(), UPMU_OK, i, end); /* it can begin again */
                    take_branches(3, 4);
                    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
                    expect_branches(3, 4);
                    finish();
                }
            }
}

/* A debugger's single step by branches (BTF) stays, whatever the trace writes. */
static void bits_of_others_stay(void **state)
{
    (void)state;
    prepare("skylake");
    upmu_sim_poke(&host.sim, 0, DEBUGCTL, 2);
    assert_int_equal(start(), UPMU_OK);
    assert_int_equal(peek(DEBUGCTL), STORES | 2u);
    assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_OK);
    assert_int_equal(peek(DEBUGCTL), 2);
    assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
    assert_int_equal(peek(DEBUGCTL), STORES | 2u);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    assert_int_equal(peek(DEBUGCTL), 2);
    finish();
}

static void a_found_area_is_restored(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, DS_AREA, 0xdead000);
    host.sim.memory = memory;
    host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
    is_mapped = true;
    outside = 0;
    host_start(&host);
    assert_int_equal(start(), UPMU_OK);
    assert_int_equal(peek(DS_AREA), AREA);
    take_branches(0, 2);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    assert_int_equal(peek(DS_AREA), 0xdead000);
    host_end_idle(&host);
    assert_int_equal(outside, 0);
}

/* ---- Guests ---- */

static void a_guest_is_not_traced(void **state)
{
    (void)state;
    for (unsigned counts = 0; counts < 2; counts++) {
        set_up("skylake");
        if (counts) {
            assert_int_equal(upmu_session_world(&host.session, UPMU_WORLD_HOST), UPMU_OK);
            assert_int_equal(upmu_set_add(&host.session.set, "branches", NULL), UPMU_OK);
            host_begin(&host, &host.session);
        }
        take_branches(0, 3);
        assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_OK);
        assert_int_equal(
            upmu_bts_start(&host.cpu[0],
                           &(struct upmu_bts){.entries = entries, .entries_linear = ENTRIES, .entry_bytes = 4096},
                           &why),
            UPMU_ERR_STATE);
        upmu_sim_enter_guest(&host.sim);
        is_mapped = false;
        take_branches(50, 20);
        is_mapped = true;
        upmu_sim_leave_guest(&host.sim);
        assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
        take_branches(3, 3);
        assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
        expect_branches(0, 6);
        assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_OK);
        assert_int_equal(start(), UPMU_ERR_STATE);
        assert_string_equal(why.word, "a guest runs");
        assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
        if (counts)
            host_end(&host);
        else
            finish();
        assert_int_equal(outside, 0);
    }
}

/* ---- Refusals ---- */

static void refuse(enum upmu_status status, const char *word)
{
    uint64_t control = peek(DEBUGCTL), found = peek(DS_AREA);

    assert_int_equal(start(), status);
    assert_int_equal(why.status, status);
    if (word)
        assert_string_equal(why.word, word);
    assert_int_equal(peek(DEBUGCTL), control);
    assert_int_equal(peek(DS_AREA), found);
}

static void memory_that_cannot_be_is_refused(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 13; kind++) {
        prepare("skylake");
        if (kind == 0)
            bts.entries = NULL;
        else if (kind == 1)
            bts.entries = entries + 8;
        else if (kind == 2)
            bts.entries_linear += 24;
        else if (kind == 3)
            bts.entries_linear = UINT64_C(0x8000000000000000);
        else if (kind == 4)
            bts.entry_bytes = 0;
        else if (kind == 5)
            bts.entry_bytes = 4096 + 24;
        else if (kind == 6)
            bts.entry_bytes = UPMU_BTS_MOST_BYTES + 4096;
        else if (kind == 7)
            bts.entries_linear = 0 - UINT64_C(4096), bts.entry_bytes = 8192;
        else if (kind == 8)
            bts.record = UPMU_BRANCH_CALL;
        else if (kind == 9)
            bts.area = NULL;
        else if (kind == 10)
            bts.area = area + 8;
        else if (kind == 11)
            bts.area_linear = ENTRIES;
        else
            bts.area_linear += 64;
        refuse(UPMU_ERR_INVALID, NULL);
        finish();
    }
}

static void what_others_have_is_refused(void **state)
{
    struct upmu_branch_filter all = {0};
    struct upmu_record_memory of = {area, AREA, records, RECORDS, sizeof records, 0};

    (void)state;
    prepare("skylake");
    host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 0;
    upmu_sim_poke(&host.sim, 0, DEBUGCTL, STORES);
    refuse(UPMU_ERR_STATE, "other software traces branches");
    upmu_sim_poke(&host.sim, 0, DEBUGCTL, 0);
    host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 1;
    host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 1; /* the branches by which a start of the stack proves it */
    assert_int_equal(upmu_branches_start(&host.cpu[0], &all, NULL), UPMU_OK);
    refuse(UPMU_ERR_STATE, "the branch stack is in use");
    assert_int_equal(upmu_branches_stop(&host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &all, NULL), UPMU_OK);
    refuse(UPMU_ERR_STATE, "the branch stack is in use");
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], NULL, NULL), UPMU_OK);
    host.sim.rule[UPMU_SIM_RULE_LBR_HOOKS] = 0;
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], true), UPMU_OK);
    refuse(UPMU_ERR_STATE, "the hardware changes worlds");
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], false), UPMU_OK);
    assert_int_equal(start(), UPMU_OK);
    refuse(UPMU_ERR_STATE, "a trace runs");
    assert_int_equal(upmu_branches_start(&host.cpu[0], &all, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "a trace of branches runs");
    assert_int_equal(upmu_cpu_use_branches(&host.cpu[0], &all, &why), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &of, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "a trace of branches runs");
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, &why), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], true), UPMU_ERR_STATE);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &(struct upmu_bts){0}), UPMU_OK); /* another one, which does not run */
    take_branches(0, 2);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    expect_branches(0, 2);
    finish();
}

static void a_cpu_without_traces_refuses_them(void **state)
{
    static const char *const without[] = {"yonah", "hypervisor_v2_nofixed", "zen4"};

    (void)state;
    for (unsigned i = 0; i < sizeof without / sizeof without[0]; i++) {
        prepare(without[i]);
        host_forget_cost(&host);
        assert_int_equal(start(), UPMU_ERR_UNSUPPORTED, i);
        assert_string_equal(why.word, "no traces of branches that upmu drives");
        host_costs(&host, "a refusal", 0, 0);
        host_end_idle(&host);
    }
    host_prepare(&host, "skylake");
    upmu_sim_poke(&host.sim, 0, 0x1a0, 1u << 11); /* IA32_MISC_ENABLE: traces are unavailable */
    host_start(&host);
    assert_int_equal(start(), UPMU_ERR_UNSUPPORTED);
    host_end_idle(&host);
    prepare("skylake");
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
    assert_int_equal(start(), UPMU_ERR_NO_PMU);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    finish();
}

/* A trace beside precise records of the same area: each has its own words of it. */
static void a_trace_beside_precise_records(void **state)
{
    struct upmu_record_memory of = {area, AREA, records, RECORDS, sizeof records, 0};

    (void)state;
    prepare("skylake");
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &of, NULL), UPMU_OK);
    refuse(UPMU_ERR_INVALID, NULL);
    bts.area = NULL;
    assert_int_equal(start(), UPMU_OK);
    host_sample(&host, "MEM_INST_RETIRED.ALL_LOADS:pp", 100);
    for (unsigned i = 0; i < 20; i++) {
        upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = 1000,
                                                            .cycles = 1000,
                                                            .other = {{.count = 1000, .event = 0xd0, .umask = 0x81}},
                                                            .ip = KERNEL,
                                                            .ip_step = 4});
        take_branches(10 * i, 10);
    }
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).taken, 199);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).strange, 0);
    assert_int_equal(upmu_bts_stop(&host.cpu[0], &bts), UPMU_OK);
    assert_int_equal(peek(DS_AREA), AREA);
    expect_branches(200 - ROOM, ROOM);
    host_end(&host);
    assert_int_equal(outside, 0);
    assert_int_equal(peek(DS_AREA), 0);
}

/* ---- Faults ---- */

enum act { START, STOP, LEAVE };

static enum upmu_status do_act(enum act act)
{
    if (act == LEAVE)
        return upmu_cpu_fini(&host.cpu[0]);
    return act == STOP ? upmu_bts_stop(&host.cpu[0], &bts) : start();
}

/*
 * A register faults `length` times from access `at` on, in a start, a stop, or as the CPU leaves. Where that says so,
 * once more without faults ends the trace. Returns whether there was a fault.
 */
static bool trace_with_faults(enum act act, unsigned at, unsigned length)
{
    enum upmu_status status;
    uint32_t faults;

    prepare("skylake");
    host.sim.expect_faults = true;
    if (act != START) {
        assert_int_equal(start(), UPMU_OK);
        take_branches(0, 5);
    }
    faults = host.sim.faults;
    host.sim.fault_at = host.sim.accesses + at;
    host.sim.fault_until = host.sim.fault_at + length - 1u;
    status = do_act(act);
    host.sim.fault_at = host.sim.fault_until = 0;
    faults = host.sim.faults - faults;
    assert_true(status == UPMU_OK || (status == UPMU_ERR_PORT && faults), act, at, length, status);
    assert_true(act != START || !faults || status == UPMU_ERR_PORT, at, length);
    assert_true(act != STOP || length > 1 || status == UPMU_OK, at); /* one fault does not keep it from its end */
    if (status != UPMU_OK || act == START)
        assert_int_equal(do_act(act == START ? STOP : act), UPMU_OK, act, at);
    is_mapped = false; /* the memory is freed: from here on each access to it would be a mistake */
    take_branches(10, 5);
    assert_int_equal(outside, 0, act, at, length);
    if (act != START)
        expect_branches(0, 5);
    is_mapped = true;
    if (act != LEAVE)
        finish();
    return faults;
}

static void after_faults_a_stop_ends_the_trace(void **state)
{
    (void)state;
    for (unsigned act = START; act <= LEAVE; act++)
        for (unsigned length = 1; length <= 4; length++) {
            unsigned at = 1;

            while (trace_with_faults((enum act)act, at, length))
                at++;
            assert_compare(at, >, 1, act, length);
        }
}

/* The register of the area loses what is written to it. */
static void drop_area(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)number;
    if (kind == UPMU_SIM_WRMSR && address == DS_AREA)
        upmu_sim_poke(sim, cpu, DS_AREA, 0);
}

/* A hypervisor that shows the debug store, and drops the bits, or the address. */
static void registers_that_drop_their_values_are_refused(void **state)
{
    (void)state;
    prepare("skylake");
    host.sim.after_access = drop_area;
    assert_int_equal(start(), UPMU_ERR_UNSUPPORTED);
    assert_string_equal(why.word, "a register of traces drops what is written");
    assert_int_equal(peek(DEBUGCTL), 0);
    assert_int_equal(stores, 0);
    host.sim.after_access = NULL;
    finish();
    prepare("skylake");
    host.sim.rule[UPMU_SIM_RULE_BTS_ENABLE] = 0;
    assert_int_equal(start(), UPMU_ERR_UNSUPPORTED);
    assert_string_equal(why.word, "a register of traces drops what is written");
    assert_int_equal(peek(DEBUGCTL), 0);
    assert_int_equal(peek(DS_AREA), 0);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_branches_come_out_the_oldest_first),
        cmocka_unit_test(a_second_trace_has_no_branch_of_the_first),
        cmocka_unit_test(calls_of_hooks_are_branches_too),
        cmocka_unit_test(branches_of_an_unwanted_mode_are_left_out),
        cmocka_unit_test(the_host_says_where_its_kernel_begins),
        cmocka_unit_test(an_index_that_is_nowhere_leaves_no_entry),
        cmocka_unit_test(no_branch_is_stored_after_the_end),
        cmocka_unit_test(bits_of_others_stay),
        cmocka_unit_test(a_found_area_is_restored),
        cmocka_unit_test(a_guest_is_not_traced),
        cmocka_unit_test(memory_that_cannot_be_is_refused),
        cmocka_unit_test(what_others_have_is_refused),
        cmocka_unit_test(a_cpu_without_traces_refuses_them),
        cmocka_unit_test(a_trace_beside_precise_records),
        cmocka_unit_test(after_faults_a_stop_ends_the_trace),
        cmocka_unit_test(registers_that_drop_their_values_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
