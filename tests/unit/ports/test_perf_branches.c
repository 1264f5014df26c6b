/* SPDX-License-Identifier: MIT */
/*
 * PERF_SAMPLE_BRANCH_STACK of perf_event_open: refused where the hardware cannot, as Linux refuses it, and a program
 * finds in its ring the branches before each sample, with their flags, and none of another task.
 */
#include "tests/common/perf_sources.h"

#include <upmu/branches.h>
#include <upmu/precise.h>
#include "tests/perf/perf_rings.h"

#define CODE UINT64_C(0x400000)
#define STEP 5u
#define STACK UPMU_PERF_SAMPLE_BRANCH_STACK
#define ANY_KIND UPMU_PERF_BRANCH_ANY
#define OF_USER UPMU_PERF_BRANCH_USER

static void begin(const char *profile, bool lends)
{
    const struct upmu_branch_filter all = {.record = 0};

    perf_host_set_up(profile);
    for (unsigned cpu = 0; cpu < 2 && lends; cpu++) {
        upmu_sim_switch_cpu(&perf_host.host.sim, cpu);
        if (perf_host.host.cpu[cpu].meter.live)
            assert_int_equal(upmu_cpu_use_branches(&perf_host.host.cpu[cpu], &all, NULL), UPMU_OK, cpu);
    }
    upmu_sim_switch_cpu(&perf_host.host.sim, 0);
}

static struct upmu_perf_attr branches_attr(uint64_t period, uint64_t types, uint64_t flags)
{
    struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, period, UPMU_PERF_SAMPLE_IP | STACK, flags);

    attr.branch_sample_type = types;
    return attr;
}

/* Branch n of a task's code. */
static struct upmu_sim_branch branch_of(uint64_t code, unsigned n)
{
    return (struct upmu_sim_branch){.from = code + 32u * n,
                                    .to = code + 32u * n + 96u,
                                    .kind = UPMU_SIM_BRANCH_COND,
                                    .mispredicted = n % 3u == 1,
                                    .cycles = (uint16_t)(n % 40u + 1u)};
}

static void run_code(unsigned task, uint64_t code, uint64_t instructions)
{
    static struct upmu_sim_branch branches[512];

    for (unsigned i = 0; i < 512; i++)
        branches[i] = branch_of(code, i);
    perf_switch(0, task);
    upmu_sim_events(&perf_host.host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                                  .cycles = instructions,
                                                                  .user = true,
                                                                  .ip = code,
                                                                  .ip_step = 1,
                                                                  .branch = branches,
                                                                  .branch_count = 512,
                                                                  .branch_step = STEP});
    perf_switch(0, 2);
}

/* ---- Refusals ---- */

/* Sources: Linux 6.12 arch/x86/events/core.c x86_pmu_hw_config, intel/lbr.c, amd/lbr.c, kernel/events/core.c. */
static void branches_are_refused_as_linux_refuses_them(void **state)
{
    static const struct {
        const char *profile;
        bool lends;
        uint64_t types;
        int error;
    } rows[] = {
        {"skylake", false, ANY_KIND | OF_USER, -95},      /* no CPU lends its stack: as without LBR */
        {"zen3", false, ANY_KIND | OF_USER, -95},         /* no stack */
        {"skylake", true, ANY_KIND | OF_USER, 0},
        {"skylake", true, ANY_KIND, 0},                /* the levels of the event */
        {"skylake", true, UPMU_PERF_BRANCH_ANY_CALL | OF_USER, 0},
        {"skylake", true, UPMU_PERF_BRANCH_ANY_RETURN | UPMU_PERF_BRANCH_IND_JUMP | OF_USER, 0},
        {"skylake", true, ANY_KIND | OF_USER | UPMU_PERF_BRANCH_NO_FLAGS | UPMU_PERF_BRANCH_NO_CYCLES, 0},
        {"skylake", true, OF_USER, -22},             /* no kind */
        {"skylake", true, 1u << 11 | OF_USER, -95},  /* CALL_STACK */
        {"skylake", true, ANY_KIND | 1u << 7 | OF_USER, -95}, /* ABORT_TX */
        {"skylake", true, UINT64_C(1) << 20 | ANY_KIND, -22},
        {"nehalem", true, UPMU_PERF_BRANCH_ANY_CALL | OF_USER, -95}, /* hyper-threads share the filter */
        {"zen4", true, UPMU_PERF_BRANCH_COND | OF_USER, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        int file;

        begin(rows[i].profile, rows[i].lends);
        file = open_task(branches_attr(100, rows[i].types, USER_ONLY));
        if (rows[i].error ? file != rows[i].error : file < 0)
            fail_msg("row %u: %d", i, file);
        if (file >= 0)
            perf_close(file);
        perf_host_end();
    }
}

/* Two filters in one group cannot be; an event that wants none is no hindrance. */
static void a_group_has_one_filter(void **state)
{
    struct upmu_perf_attr attr = branches_attr(100, UPMU_PERF_BRANCH_COND | OF_USER, USER_ONLY);
    int leader, same, none;

    (void)state;
    begin("skylake", true);
    leader = perf_open(&attr, 0, -1, -1, 0);
    assert_compare(leader, >=, 0);
    attr.config = CYCLES;
    same = perf_open(&attr, 0, -1, leader, 0);
    assert_compare(same, >=, 0);
    attr.branch_sample_type = ANY_KIND | OF_USER;
    assert_int_equal(perf_open(&attr, 0, -1, leader, 0), -22);
    attr.sample_type = UPMU_PERF_SAMPLE_IP;
    none = perf_open(&attr, 0, -1, leader, 0);
    assert_compare(none, >=, 0);
    perf_close(none);
    perf_close(same);
    perf_close(leader);
    perf_host_end();
}

/* ---- Samples ---- */

/* The words of a sample: IP, the number of branches, and three for each; Linux uapi perf_event.h perf_branch_entry. */
static void a_sample_has_the_branches_before_it(void **state)
{
    static const struct {
        const char *profile;
        unsigned depth;
        bool cycles;
    } rows[] = {{"haswell_smt", 16, false}, {"skylake", 32, true}, {"sapphirerapids", 32, true}, {"zen4", 16, false}};

    (void)state;
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
        int file;

        begin(rows[r].profile, true);
        file = open_task(branches_attr(500, ANY_KIND | OF_USER, USER_ONLY));
        map(file, 0);
        run_code(0, CODE, 1200);
        for (unsigned sample = 1; sample <= 2; sample++) {
            take_sample_of(0, 1 + 2 + 3 * rows[r].depth);
            assert_int_equal(record.word[0], CODE + 500 * sample, r);
            assert_int_equal(record.word[1], rows[r].depth, r);
            for (unsigned i = 0; i < rows[r].depth; i++) {
                const struct upmu_sim_branch branch = branch_of(CODE, 500 * sample / STEP - 1 - i);
                uint64_t flags = (branch.mispredicted ? 1u : 2u) | (rows[r].cycles ? branch.cycles << 4 : 0);

                assert_int_equal(record.word[2 + 3 * i], branch.from, r, i);
                assert_int_equal(record.word[3 + 3 * i], branch.to, r, i);
                assert_int_equal(record.word[4 + 3 * i] & 0xffffff, flags, r, i);
            }
        }
        assert_false(take(0));
        assert_int_equal(count_of(file), 1200);
        perf_close(file);
        perf_host_end();
    }
}

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)

static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[16384];

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    bool of_area = address - AREA <= sizeof area - length;
    uint8_t *at = of_area ? area + (address - AREA) : buffer + (address - BUFFER);

    (void)sim, (void)cpu;
    if (!of_area && address - BUFFER > sizeof buffer - length)
        return false;
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

/* With precise_ip: those before the instruction itself, though the interrupt comes 40 instructions later. */
static void a_precise_sample_has_the_branches_of_its_record(void **state)
{
    static const char *const profiles[] = {"icelake", "sapphirerapids"};
    const struct upmu_record_memory given = {area, AREA, buffer, BUFFER, sizeof buffer, 0};

    (void)state;
    for (unsigned r = 0; r < sizeof profiles / sizeof *profiles; r++) {
        struct upmu_perf_attr attr = branches_attr(500, ANY_KIND | OF_USER, USER_ONLY | UINT64_C(2) << 15);
        int file;

        begin(profiles[r], true);
        perf_host.host.sim.memory = memory;
        assert_int_equal(upmu_cpu_use_records(&perf_host.host.cpu[0], &given, NULL), UPMU_OK);
        perf_host.host.sim.skid = 40;
        file = open_task(attr);
        map(file, 0);
        run_code(0, CODE, 1200);
        for (unsigned sample = 1; sample <= 2; sample++) {
            unsigned taken;

            take_sample_of(0, 1 + 2 + 3 * 32);
            assert_compare(record.word[0] - (CODE + 500 * sample - 1), <=, 1, r); /* the instruction, or its shadow */
            taken = (unsigned)(record.word[0] - CODE + 1) / STEP;
            assert_int_equal(record.word[1], 32, r);
            for (unsigned i = 0; i < 32; i++) {
                assert_int_equal(record.word[2 + 3 * i], branch_of(CODE, taken - 1 - i).from, r, i);
                assert_int_equal(record.word[3 + 3 * i], branch_of(CODE, taken - 1 - i).to, r, i);
            }
        }
        perf_close(file);
        perf_host_end();
    }
}

/* Another task's code ran before: its branches are in no sample of this one, which had time for few of its own. */
static void a_sample_has_no_branch_of_another_task(void **state)
{
    int file;

    (void)state;
    begin("skylake", true);
    file = open_task(branches_attr(500, ANY_KIND | OF_USER, USER_ONLY));
    map(file, 0);
    run_code(0, CODE, 480);
    run_code(1, 8 * CODE, 1000);
    run_code(0, 2 * CODE, 25);
    take_sample_of(0, 1 + 2 + 3 * 4);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(record.word[2 + 3 * i], branch_of(2 * CODE, 3 - i).from, i);
    perf_close(file);
    perf_host_end();
}

/* Where the host lends no stack, all is as it was without one. */
static void samples_without_branches_are_as_before(void **state)
{
    int file;

    (void)state;
    set_up();
    file = open_task(attr_of(INSTRUCTIONS, 100, UPMU_PERF_SAMPLE_IP, USER_ONLY));
    map(file, 0);
    run_task(150, 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
    take_sample_of(0, 2);
    perf_close(file);
    perf_host_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branches_are_refused_as_linux_refuses_them),
        cmocka_unit_test(a_group_has_one_filter),
        cmocka_unit_test(a_sample_has_the_branches_before_it),
        cmocka_unit_test(a_precise_sample_has_the_branches_of_its_record),
        cmocka_unit_test(a_sample_has_no_branch_of_another_task),
        cmocka_unit_test(samples_without_branches_are_as_before),
    };

    return cmocka_run_group_tests_name("BRANCH_STACK of perf_event_open", tests, NULL, NULL);
}
