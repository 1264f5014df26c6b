/* SPDX-License-Identifier: MIT */
/* Hybrids: programs of perf_event_open name the type of core that counts, by the numbers in its files. */
#include "tests/common/perf_sources.h"

#include "tests/perf/perf_host.h"

#define BRANCHES 4u /* of the model: each fourth instruction */
#define RAW_BRANCHES 0xc4u
#define CORE UPMU_PERF_TYPE_RAW
#define TIMES (UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING)

static char files[8192];

static void set_up(const char *first, const char *second)
{
    memset(&perf_host, 0, sizeof perf_host);
    host_prepare(&perf_host.host, first);
    upmu_sim_set_profile(&perf_host.host.sim, 1, upmu_sim_profile(second));
    host_machine(&perf_host.host);
    host_take_over(&perf_host.host, 2, false);
    perf_host_begin();
}

/* A generic event (`type` in the high half of config), or a raw one. */
static int open_of(uint32_t type, bool raw, int pid, int cpu, int group)
{
    struct upmu_perf_attr attr = {.type = raw ? type : UPMU_PERF_TYPE_HARDWARE,
                                  .size = sizeof attr,
                                  .config = raw ? RAW_BRANCHES : BRANCHES | (uint64_t)type << 32,
                                  .read_format = TIMES};

    return perf_open(&attr, pid, cpu, group, 0);
}

static void expect(int file, uint64_t value, bool always)
{
    uint64_t word[3];

    assert_int_equal(upmu_perf_read(perf_event(file), word, sizeof word), sizeof word);
    assert_int_equal(word[0], value, file);
    assert_int_equal(word[1] == word[2], always, file);
}

static void each_type_counts_on_its_cpus(void **state)
{
    int core, atom, raw, any, here;

    (void)state;
    set_up("adl_p", "adl_e");
    core = open_of(CORE, false, 0, -1, -1);
    atom = open_of(9, false, 0, -1, -1);
    raw = open_of(9, true, 0, -1, -1);
    any = open_of(0, false, 0, -1, -1); /* the first CPU's type */
    perf_switch(0, 0);
    perf_work(0, true, 40);
    expect(core, 10, true);
    expect(any, 0, false); /* behind one of another type: the next tick begins it */
    assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[0]), UPMU_OK);
    perf_work(0, true, 4000);
    here = open_of(9, false, 0, -1, -1); /* while the task runs on a core of another type */
    assert_compare(here, >, 0);
    perf_work(0, true, 400);
    perf_switch(0, 2);
    perf_switch(1, 0);
    assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[1]), UPMU_OK);
    perf_work(1, true, 2000);
    expect(core, 1110, false);
    expect(any, 1100, false);
    expect(atom, 500, false);
    expect(raw, 500, false);
    expect(here, 500, false);
    assert_int_equal(perf_ioctl(raw, UPMU_PERF_IOC_DISABLE, 0), 0);
    perf_work(1, true, 120);
    expect(raw, 500, false);
    expect(atom, 530, false);
    assert_int_equal(open_of(9, false, 0, -1, core), -UPMU_PERF_EINVAL); /* a group is of one type */
    perf_switch(1, 3);
    perf_host_end();
}

static void a_cpu_has_events_of_its_type_alone(void **state)
{
    static const struct {
        uint32_t type;
        bool raw;
        int cpu, error;
    } rows[] = {
        {CORE, false, 0, 0}, {CORE, true, 0, 0}, {9, false, 1, 0},         {9, true, 1, 0},
        {0, false, 0, 0},    {0, false, 1, 0},   {CORE, false, 1, 2},      {CORE, true, 1, 2},
        {9, false, 0, 2},    {9, true, 0, 2},    {8, false, 0, 2},         {8, true, 1, 2},
        {10, false, 1, 2},   {12, true, 1, 2},   {UINT32_MAX, true, 0, 2}, {1, false, 0, 2},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        int file;

        set_up("adl_p", "adl_e");
        file = open_of(rows[i].type, rows[i].raw, -1, rows[i].cpu, -1);
        assert_int_equal(file < 0 ? -file : 0, rows[i].error, i);
        perf_work((unsigned)rows[i].cpu, true, 280);
        if (file > 0)
            expect(file, 70, true);
        perf_host_end();
    }
}

static void note_file(void *context, const char *path, const char *text)
{
    size_t length = strlen(files);

    (void)context;
    snprintf(files + length, sizeof files - length, "%s %s", path, text);
}

static void each_type_has_a_folder(void **state)
{
    static const char *const expected[] = {"/cpu_core/type 4\n",
                                           "/cpu_core/cpus 0\n",
                                           "/cpu_atom/type 9\n",
                                           "/cpu_atom/cpus 1\n",
                                           "/cpu_core/events/instructions",
                                           "/cpu_atom/events/instructions",
                                           "/cpu_core/format/umask ",
                                           "/cpu_atom/format/umask "};

    (void)state;
    set_up("adl_p", "adl_e");
    files[0] = 0;
    upmu_perf_files(&perf_host.perf, note_file);
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(files, expected[i]))
            fail_msg("%s is not in: %s", expected[i], files);
    assert_null(strstr(files, "/cpu/"));
    perf_host_end();
    set_up("adl_e", "adl_p"); /* the first CPU is a small one */
    files[0] = 0;
    upmu_perf_files(&perf_host.perf, note_file);
    assert_non_null(strstr(files, "/cpu_atom/type 8\n"));
    assert_non_null(strstr(files, "/cpu_core/type 4\n"));
    assert_non_null(strstr(files, "/cpu_core/cpus 1\n"));
    perf_host_end();
    perf_host_set_up("adl_p"); /* one type alone */
    files[0] = 0;
    upmu_perf_files(&perf_host.perf, note_file);
    assert_non_null(strstr(files, "/cpu/type 4\n"));
    assert_null(strstr(files, "cpu_"));
    perf_host_end();
}

static void cpus_are_listed_in_ranges(void **state)
{
    struct upmu_perf_cpu cpus[40], *given;

    (void)state;
    set_up("adl_p", "adl_e");
    given = perf_host.perf.cpus;
    memset(cpus, 0, sizeof cpus);
    for (unsigned i = 0; i < 40; i++)
        cpus[i].cpu = &perf_host.host.cpu[i >= 10 && i != 12];
    cpus[3].cpu = NULL;
    perf_host.perf.cpus = cpus;
    perf_host.perf.cpu_count = 40;
    files[0] = 0;
    upmu_perf_files(&perf_host.perf, note_file);
    assert_non_null(strstr(files, "/cpu_core/cpus 0-2,4-9,12\n"));
    assert_non_null(strstr(files, "/cpu_atom/cpus 10-11,13-39\n"));
    perf_host.perf.cpus = given;
    perf_host_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_counts_on_its_cpus),
        cmocka_unit_test(a_cpu_has_events_of_its_type_alone),
        cmocka_unit_test(each_type_has_a_folder),
        cmocka_unit_test(cpus_are_listed_in_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
