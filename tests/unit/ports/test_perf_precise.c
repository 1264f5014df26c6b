/* SPDX-License-Identifier: MIT */
/*
 * precise_ip of perf_event_open: levels are refused as Linux refuses them, and a program finds in its ring the
 * instruction, the data's address, latency and source, and the registers that the hardware has stored.
 */
#include "tests/common/perf_sources.h"


#include <upmu/precise.h>
#include "tests/perf/perf_rings.h"

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)
#define CODE UINT64_C(0x400000)
#define DATA UINT64_C(0x7fff12340000)
#define LEVEL(level) ((uint64_t)(level) << 15)
#define LOAD_LATENCY 0x01cdu
#define LOADS 0x81d0u
#define RAW_TYPE UPMU_PERF_TYPE_RAW

static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[UPMU_RECORD_LEAST_BYTES];

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

static void begin(const char *profile, bool with_memory)
{
    const struct upmu_record_memory given = {area, AREA, buffer, BUFFER, sizeof buffer, 0};

    perf_host_set_up(profile);
    perf_host.host.sim.memory = memory;
    perf_host.perf.registers = 0xff0fff;
    upmu_sim_switch_cpu(&perf_host.host.sim, 0);
    if (with_memory)
        assert_int_equal(upmu_cpu_use_records(&perf_host.host.cpu[0], &given, NULL), UPMU_OK);
}

static struct upmu_perf_attr raw_of(uint64_t config, uint64_t period, uint64_t parts, uint64_t flags)
{
    struct upmu_perf_attr attr = attr_of(config, period, parts, flags);

    attr.type = RAW_TYPE;
    attr.config1 = config == LOAD_LATENCY ? 3 : 0;
    return attr;
}

static uint64_t noise(unsigned i)
{
    return UINT64_C(0x0123456789abcdef) * (2u * i + 1u);
}

/* A program's loads: instruction k, from 0 on, is at CODE + 4 * k and accesses DATA + 8 * k. */
static void run_loads(uint64_t instructions)
{
    static uint64_t registers[UPMU_RECORD_REGISTERS];

    for (unsigned i = 0; i < UPMU_RECORD_REGISTERS; i++)
        registers[i] = noise(i);
    perf_switch(0, 0);
    upmu_sim_events(&perf_host.host.sim,
                    &(struct upmu_sim_burst){.instructions = instructions,
                                             .cycles = instructions,
                                             .other = {{instructions, .event = 0xd0, .umask = 0x81},
                                                       {instructions, .event = 0xcd, .umask = 1}},
                                             .user = true,
                                             .ip = CODE,
                                             .ip_step = 4,
                                             .sp = 0x7ffe0000,
                                             .data = DATA,
                                             .data_step = 8,
                                             .data_source = 0x1a,
                                             .latency = UINT64_C(0xdc00000023),
                                             .registers = registers});
    perf_switch(0, 2);
}

/* ---- Refusals ---- */

/* Source of the order: Linux 6.12 arch/x86/events/core.c x86_pmu_hw_config, x86_pmu_max_precise. */
static void levels_are_refused_as_linux_refuses_them(void **state)
{
    static const struct {
        const char *profile;
        bool memory;
        unsigned config, level, period;
        int error;
    } rows[] = {
        {"skylake", false, LOADS, 1, 100, -95},    /* no memory: as without PEBS */
        {"zen4", false, 0xc0, 1, 100, -95},        /* no PEBS */
        {"skylake", true, LOADS, 1, 100, 0},
        {"skylake", true, LOADS, 2, 100, 0},
        {"skylake", true, LOADS, 3, 100, 0},       /* as level 2 */
        {"skylake", true, LOADS, 2, 0, -22},       /* no sense without samples */
        {"nehalem", true, 0x0151, 1, 100, -22},    /* L1D.REPL has no records */
        {"nehalem", true, 0x00c0, 1, 100, 0},
        {"nehalem", true, 0x00c0, 2, 100, -95},    /* records have the instruction after */
        {"haswell_smt", true, 0x01c0, 3, 1000, 0}, /* INST_RETIRED.PREC_DIST */
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        int file;

        begin(rows[i].profile, rows[i].memory);
        file = open_task(raw_of(rows[i].config, rows[i].period, UPMU_PERF_SAMPLE_IP, USER_ONLY | LEVEL(rows[i].level)));
        if (rows[i].error ? file != rows[i].error : file < 0)
            fail_msg("row %u: %d", i, file);
        if (file >= 0)
            perf_close(file);
        perf_host_end();
    }
}

static char told[8];

static void note_level(void *context, const char *path, const char *text)
{
    (void)context;
    if (strstr(path, "caps/max_precise"))
        snprintf(told, sizeof told, "%s", text);
}

static void the_highest_level_is_told(void **state)
{
    static const struct {
        const char *profile;
        bool memory;
        const char *text;
    } rows[] = {{"skylake", false, "0\n"}, {"skylake", true, "3\n"}, {"nehalem", true, "1\n"},
                {"zen4", false, "0\n"},    {"icelake", true, "3\n"}};

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(rows[i].profile, rows[i].memory);
        upmu_perf_files(&perf_host.perf, note_level);
        assert_string_equal(told, rows[i].text);
        perf_host_end();
    }
}

/* ---- Samples ---- */

static void a_precise_sample_has_what_the_hardware_stored(void **state)
{
    const uint64_t parts = UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_ADDR | UPMU_PERF_SAMPLE_WEIGHT |
                           UPMU_PERF_SAMPLE_DATA_SRC | UPMU_PERF_SAMPLE_REGS_INTR;
    struct upmu_perf_attr attr = raw_of(LOAD_LATENCY, 100, parts, USER_ONLY | LEVEL(2));
    /* ax, bx, si, sp, ip, flags, cs, r8, r15: their numbers in records */
    static const uint8_t number_of[] = {2, 5, 8, 6, 1, 0, 99, 10, 17};
    int file;

    (void)state;
    begin("skylake", true);
    attr.sample_regs_intr = 1u << 0 | 1u << 1 | 1u << 4 | 1u << 7 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 16 | 1u << 23;
    file = open_task(attr);
    map(file, 0);
    run_loads(350);
    for (unsigned i = 1; i <= 3; i++) {
        uint64_t number = 100 * i;

        take_sample_of(0, 1 + 4 + 1 + 9);
        assert_int_equal(record.misc, UPMU_PERF_MISC_USER | UPMU_PERF_MISC_EXACT_IP);
        assert_int_equal(record.word[0], CODE + 4 * number, i);
        assert_int_equal(record.word[1], DATA + 8 * number, i);
        assert_int_equal(record.word[2], 0x23, i);
        assert_int_equal(record.word[3], UINT64_C(0x11a50201042), i); /* a load that memory has answered */
        assert_int_equal(record.word[4], sizeof(void *) == 8 ? 2 : 1);
        for (unsigned k = 0; k < 9; k++)
            assert_int_equal(record.word[5 + k],
                             number_of[k] == 99  ? 0
                             : number_of[k] == 1 ? CODE + 4 * number
                             : number_of[k] == 6 ? 0x7ffe0000
                                                 : noise(number_of[k]),
                             i, k);
    }
    assert_false(take(0));
    assert_int_equal(count_of(file), 350);
    perf_close(file);
    perf_host_end();
}

/* Golden Cove has two latencies in a weight. */
static void a_weight_has_its_latencies_apart(void **state)
{
    int file;

    (void)state;
    begin("sapphirerapids", true);
    file = open_task(raw_of(LOAD_LATENCY, 100, UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_WEIGHT_STRUCT,
                            USER_ONLY | LEVEL(2)));
    map(file, 0);
    run_loads(150);
    take_sample_of(0, 3);
    assert_int_equal(record.word[1], UINT64_C(0x23000000dc)); /* of the cache, of the instruction */
    perf_close(file);
    perf_host_end();
}

/* Golden Cove's counter 0 needs 128 events.  Catches: a short period that is refused, which Linux raises. */
static void a_short_period_is_raised(void **state)
{
    static const uint64_t config[] = {LOADS, LOAD_LATENCY}; /* the latter counts on counters 1 to 7 */
    int file;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        begin("sapphirerapids", true);
        file = open_task(raw_of(config[i], 100, UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_PERIOD, USER_ONLY | LEVEL(2)));
        map(file, 0);
        run_loads(150);
        take_sample_of(0, 3);
        assert_int_equal(record.word[1], i ? 100 : 128, i);
        perf_close(file);
        perf_host_end();
    }
}

/*
 * A frequency takes the period of a rare event below 128.  Catches: an event that fails when it is stopped and started.
 */
static void a_frequency_survives_a_stop(void **state)
{
    (void)state;
    for (unsigned bursts = 980; bursts < 1100; bursts++) {
        int file;

        begin("sapphirerapids", true);
        file = open_task(raw_of(LOADS, 1000, UPMU_PERF_SAMPLE_IP, USER_ONLY | UPMU_PERF_FREQ | LEVEL(2)));
        assert_compare(file, >=, 0);
        for (unsigned i = 0; i < bursts; i++) {
            perf_switch(0, 0);
            perf_host.host.sim.now_ns += 1000000; /* a hundred loads in a ms */
            run_loads(100);
        }
        assert_int_equal(count_of(file), 100 * bursts);
        assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
        assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
        run_loads(1000);
        assert_int_equal(count_of(file), 100 * bursts + 1000, bursts);
        perf_close(file);
        perf_host_end();
    }
}

/* The same without records: Zen 4 loads two events at least.  Catches: an event that fails at a stop. */
static void a_rare_event_survives_a_stop(void **state)
{
    (void)state;
    for (unsigned stops = 0; stops < 4; stops++) {
        struct upmu_perf_attr attr = attr_of(INSTRUCTIONS, 1000, UPMU_PERF_SAMPLE_IP, USER_ONLY | UPMU_PERF_FREQ);
        int file;

        begin("zen4", false);
        file = open_task(attr);
        assert_compare(file, >=, 0);
        for (unsigned i = 0; i < 16000; i++) {
            perf_switch(0, 0);
            perf_host.host.sim.now_ns += 1000000000; /* a thousand events in 100 seconds */
            run_loads(i < 770 ? 100 : 1);
        }
        run_loads(stops + 1);
        assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
        assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_ENABLE, 0), 0);
        perf_close(file);
        perf_host_end();
    }
}

static void ordinary_samples_know_of_no_access(void **state)
{
    const uint64_t parts = UPMU_PERF_SAMPLE_IP | UPMU_PERF_SAMPLE_ADDR | UPMU_PERF_SAMPLE_WEIGHT |
                           UPMU_PERF_SAMPLE_DATA_SRC;
    int file;

    (void)state;
    set_up();
    file = open_task(attr_of(INSTRUCTIONS, 100, parts, USER_ONLY));
    map(file, 0);
    run_task(150, 0);
    assert_int_equal(perf_ioctl(file, UPMU_PERF_IOC_DISABLE, 0), 0);
    take_sample_of(0, 5);
    assert_int_equal(record.misc, UPMU_PERF_MISC_USER);
    assert_true(!record.word[1] && !record.word[2]);
    assert_int_equal(record.word[3], NO_DATA_SRC);
    perf_close(file);
    perf_host_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_refused_as_linux_refuses_them),
        cmocka_unit_test(the_highest_level_is_told),
        cmocka_unit_test(a_precise_sample_has_what_the_hardware_stored),
        cmocka_unit_test(a_weight_has_its_latencies_apart),
        cmocka_unit_test(a_short_period_is_raised),
        cmocka_unit_test(a_frequency_survives_a_stop),
        cmocka_unit_test(a_rare_event_survives_a_stop),
        cmocka_unit_test(ordinary_samples_know_of_no_access),
    };

    return cmocka_run_group_tests_name("precise_ip of perf_event_open", tests, NULL, NULL);
}
