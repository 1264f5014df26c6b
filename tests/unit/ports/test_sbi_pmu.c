/* SPDX-License-Identifier: MIT */
/*
 * The PMU extension of the SBI on a hart of a few hundred lines, of firmware and of virtual CPUs: each row of
 * tests/conformance/sbi_pmu.tsv, each access that fails, and each configuration that is refused.
 */
#include <stdlib.h>

#include "abi/sbi/sbi_guest.c"
#include "abi/sbi/sbi_pmu.c"
#include "tests/common/fake_hart.h"
#include "tests/common/table.h"

#define COUNT(array) (unsigned)(sizeof(array) / sizeof(array)[0])
#define ARGUMENTS 6u
#define XLEN (sizeof(unsigned long) * 8)

enum { FIELD_CASE, FIELD_CONFIG, FIELD_STEP, FIELD_ARGUMENTS, FIELD_EXPECT, FIELD_SOURCE, FIELDS };

static const struct upmu_sbi_event events[] = {
    {.first = 1, .last = 2, .counters = 0xffffffff, .select = HART_CYCLES},
    {.first = 3, .last = 4, .counters = 0x1f, .select = 0x2000},
    {.first = 0x10000, .last = 0x10001, .counters = 0x20, .select = 0x3000},
    {.first = 0x20000, .last = 0x30000, .counters = 0x40, .select = 0xab0000, .select_mask = 0xff0000},
};

static const struct {
    const char *name;
    struct upmu_sbi_config config;
} configs[] = {
    {"full", {.counters = 0xfffffffd, .width = 64, .firmware_counters = 16, .sscofpmf = true, .hypervisor = true}},
    {"few", {.counters = 0x5d, .width = 48, .firmware_counters = 4, .sscofpmf = true}},
    {"plain", {.counters = 0x1d, .width = 32, .firmware_counters = 1}},
    {"alone", {.counters = 0x8, .width = 40, .sscofpmf = true}},
    {"bare", {.counters = 0x8, .width = 40, .sscofpmf = true}},
    {"fixed", {.counters = 0x5, .width = 40}},
    {"none", {.width = 40, .sscofpmf = true}},
    {"guest",
     {.counters = 0x78, .width = 48, .firmware_counters = 4, .sscofpmf = true, .hypervisor = true, .guest = true}},
    {"guest_plain", {.counters = 0x18, .width = 32, .guest = true}},
};

static struct upmu_sbi_pmu pmu, other; /* `other`: a second virtual CPU */
static struct upmu_sbi_config config;
static unsigned line_number; /* of the table's row */

/* The hart has counter 5, too, where it is not handed out. A hypervisor hands out counters that are closed. */
static enum upmu_status open_hart(const char *name)
{
    unsigned i = 0;

    while (strcmp(configs[i].name, name) != 0)
        assert_compare(++i, <, COUNT(configs));
    config = configs[i].config;
    config.port = &hart_port;
    config.context = &hart;
    config.copy = strcmp(name, "bare") == 0 ? NULL : hart_copy;
    config.events = events;
    config.event_count = COUNT(events);
    hart_reset(config.counters | 0x20, config.counters, config.width, config.sscofpmf, config.hypervisor);
    if (config.guest) {
        hart.inhibit |= config.counters;
        memset(&other, 0xa5, sizeof other);
        assert_int_equal(upmu_sbi_pmu_init(&other, &config), UPMU_OK);
    }
    memset(&pmu, 0xa5, sizeof pmu);
    return upmu_sbi_pmu_init(&pmu, &config);
}

/* ---- Steps of the table ---- */

static unsigned numbers(const char *text, uint64_t out[ARGUMENTS])
{
    unsigned count = 0;
    char *end = NULL;

    memset(out, 0, ARGUMENTS * sizeof out[0]);
    for (; *text; text = end + strspn(end, " ")) {
        assert_compare(count, <, ARGUMENTS);
        out[count++] = strncmp(text, "all", 3) == 0 ? ~UINT64_C(0) : strtoull(text, &end, 16);
        if (strncmp(text, "all", 3) == 0)
            end = (char *)(uintptr_t)text + 3;
        assert_true(*end == '\0' || *end == ' ');
    }
    return count;
}

/* S-mode's call; the argument with the index `wide` has 64 bits, and is the last one. */
static struct upmu_sbi_answer call_with(unsigned long function, const uint64_t argument[ARGUMENTS], unsigned wide)
{
    unsigned long a[ARGUMENTS];

    for (unsigned i = 0; i < ARGUMENTS; i++)
        a[i] = (unsigned long)argument[i];
    if (XLEN == 32 && wide + 1 < ARGUMENTS)
        a[wide + 1] = (unsigned long)(argument[wide] >> 16 >> 16);
    return upmu_sbi_pmu_call(&pmu, function, a);
}

static void check_call(const char *step, const uint64_t argument[ARGUMENTS], const char *expect)
{
    static const struct {
        const char *name;
        unsigned function, wide;
    } functions[] = {{"count", 0, 9}, {"info", 1, 9}, {"match", 2, 4}, {"start", 3, 3}, {"stop", 4, 9},
                     {"read", 5, 9},  {"high", 6, 9}, {"shmem", 7, 9}, {"events", 8, 9}};
    struct upmu_sbi_answer answer = {0, 0};
    char *rest;
    long error = strtol(expect, &rest, 10);
    uint64_t value;

    if (strcmp(step, "call") == 0) {
        answer = call_with((unsigned long)argument[0], argument, 9);
    } else {
        unsigned i = 0;

        while (strcmp(functions[i].name, step) != 0)
            assert_compare(++i, <, COUNT(functions));
        answer = call_with(functions[i].function, argument, functions[i].wide);
    }
    assert_int_equal(answer.error, error, line_number);
    rest += strspn(rest, " ");
    if (error || strcmp(step, "shmem") == 0) {
        assert_int_equal(answer.value, 0, line_number);
    } else if (strcmp(rest, "firmware") == 0) {
        assert_int_equal(answer.value, 1ul << (XLEN - 1) | 63ul << 12, line_number);
    } else if (strcmp(step, "info") == 0) {
        value = strtoull(rest, &rest, 16);
        assert_int_equal(answer.value, value | strtoull(rest, NULL, 10) << 12, line_number);
    } else {
        value = strtoull(rest, NULL, strcmp(step, "count") == 0 ? 10 : 16);
        if (strcmp(step, "high") == 0)
            value = XLEN == 32 ? value >> 32 : 0;
        assert_int_equal(answer.value, (unsigned long)value, line_number);
    }
}

static void run_in_mode(const char *arguments)
{
    static const char modes[] = "usmwv"; /* w: VU, v: VS */
    uint64_t argument[ARGUMENTS];

    assert_int_equal(numbers(arguments + 2, argument), 2, line_number);
    hart_run((enum hart_mode)(strchr(modes, arguments[0]) - modes), argument[0], argument[1]);
}

static uint64_t *word(uint64_t address)
{
    assert_true(address >= HART_RAM && address < HART_RAM + HART_RAM_SIZE && !(address & 7));
    return (uint64_t *)(void *)(hart.ram + (address - HART_RAM));
}

/* A step of the hypervisor, or of its guest. False: the step is another one. */
static bool run_guest_step(const char *step, const uint64_t argument[ARGUMENTS], const char *expect)
{
    bool overflow = false;
    unsigned long value = 0;

    if (strcmp(step, "load") == 0) {
        assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_OK, line_number);
    } else if (strcmp(step, "put") == 0) {
        assert_int_equal(upmu_sbi_pmu_put(&pmu), UPMU_OK, line_number);
    } else if (strcmp(step, "enter") == 0) {
        assert_int_equal(upmu_sbi_pmu_enter(&pmu), UPMU_OK, line_number);
    } else if (strcmp(step, "exit") == 0) {
        assert_int_equal(upmu_sbi_pmu_exit(&pmu, &overflow), UPMU_OK, line_number);
        assert_int_equal(overflow, strtoul(expect, NULL, 16), line_number);
    } else if (strcmp(step, "vcpu") == 0) {
        struct upmu_sbi_pmu swapped = pmu;

        pmu = other;
        other = swapped;
    } else if (strcmp(step, "g") == 0) {
        bool upper = XLEN == 32 && argument[0] < 0xc80;

        assert_int_equal(upmu_sbi_pmu_csr(&pmu, (unsigned)argument[0], &value), strcmp(expect, "trap") != 0,
                         line_number);
        if (strcmp(expect, "trap") == 0)
            return true;
        assert_int_equal(value, (unsigned long)strtoull(expect, NULL, 16), line_number);
        assert_int_equal(upmu_sbi_pmu_csr(&pmu, (unsigned)argument[0] + 0x80, &value), upper, line_number);
        assert_true(!upper || value == (unsigned long)(strtoull(expect, NULL, 16) >> 16 >> 16));
    } else {
        return false;
    }
    return true;
}

static void run_step(char *const field[FIELDS])
{
    const char *step = field[FIELD_STEP], *expect = field[FIELD_EXPECT];
    uint64_t argument[ARGUMENTS], value = 0;

    if (strcmp(step, "run") == 0) {
        run_in_mode(field[FIELD_ARGUMENTS]);
        return;
    }
    (void)numbers(field[FIELD_ARGUMENTS], argument);
    if (run_guest_step(step, argument, expect))
        return;
    if (strcmp(step, "fw") == 0) {
        for (uint64_t i = 0; i < argument[1]; i++)
            upmu_sbi_pmu_firmware(&pmu, (unsigned)argument[0]);
    } else if (strcmp(step, "csr") == 0) {
        assert_int_equal(hart_read(NULL, (uint32_t)argument[0], &value), true, line_number);
        assert_int_equal(value, strtoull(expect, NULL, 16), line_number);
    } else if (strcmp(step, "s") == 0) {
        assert_int_equal(hart_read_in_s_mode((uint32_t)argument[0], &value), strcmp(expect, "trap") != 0, line_number);
        if (strcmp(expect, "any") != 0 && strcmp(expect, "trap") != 0)
            assert_int_equal(value, strtoull(expect, NULL, 16), line_number);
    } else if (strcmp(step, "mem") == 0) {
        assert_int_equal(*word(argument[0]), strtoull(expect, NULL, 16), line_number);
    } else if (strcmp(step, "poke") == 0) {
        *word(argument[0]) = argument[1];
    } else if (strcmp(step, "lcofi") == 0) {
        assert_int_equal(hart.lcofi, strtoull(expect, NULL, 16), line_number);
        hart.lcofi = false;
    } else if (strcmp(step, "deny") == 0) {
        hart.denied = argument[0] != 0;
    } else if (strcmp(step, "accesses") == 0) {
        if (*expect != '\0') {
            (void)numbers(expect, argument);
            assert_int_equal(hart.reads, argument[0], line_number);
            assert_int_equal(hart.writes, argument[1], line_number);
        }
        hart.reads = hart.writes = 0;
    } else {
        check_call(step, argument, expect);
    }
}

static void each_row_of_the_conformance_table_holds(void **state)
{
    char line[1000], *field[FIELDS];
    FILE *file = source_open("tests/conformance/sbi_pmu.tsv");
    unsigned rows = 0, cases = 0;

    (void)state;
    for (line_number = 0; fgets(line, sizeof line, file) != NULL && line[0] == '#';)
        line_number++;
    rewind(file);
    while (table_row(file, line, sizeof line, field, FIELDS)) {
        if (*field[FIELD_CASE] != '\0') {
            assert_int_equal(open_hart(field[FIELD_CONFIG]), UPMU_OK, line_number);
            assert_true(*field[FIELD_SOURCE] != '\0');
            cases++;
        }
        line_number++;
        run_step(field);
        rows++;
        if (hart.wrong != NULL)
            fail_msg("line %u: %s", line_number, hart.wrong);
    }
    fclose(file);
    assert_compare(rows, >, 700);
    assert_compare(cases, >, 85);
}

/* ---- What no table says ---- */

static struct upmu_sbi_answer call_six(unsigned long function, unsigned long a0, unsigned long a1, unsigned long a2,
                                       unsigned long a3, unsigned long a4)
{
    const unsigned long a[ARGUMENTS] = {a0, a1, a2, a3, a4, 0};

    return upmu_sbi_pmu_call(&pmu, function, a);
}

static void the_hart_is_closed_before_s_mode_begins(void **state)
{
    uint64_t value;

    (void)state;
    assert_int_equal(open_hart("few"), UPMU_OK);
    assert_null(hart.wrong);
    assert_int_equal(hart.inhibit & 0x5d, 0x58);
    assert_int_equal(hart.counteren, 2 | 5);
    for (unsigned n = 3; n < 7; n++) {
        assert_int_equal(hart.event[n], 0, n);
        assert_true(n == 5 || hart.counter[n] == 0);
        assert_false(hart_read_in_s_mode(0xc00 + n, &value));
    }
    assert_int_not_equal(hart.counter[0], 0);
    /* Again, as S-mode starts anew: what it had is gone. */
    assert_int_equal(call_six(7, 0x80001000, 0, 0, 0, 0).error, 0);
    assert_int_equal(call_six(2, 0, 8, 6, 1, 0).error, 0);
    assert_int_equal(call_six(4, 0, 1, 0, 0, 0).error, 0);
    hart_run(HART_S, HART_CYCLES, 5);
    assert_int_equal(upmu_sbi_pmu_init(&pmu, &config), UPMU_OK);
    assert_int_equal(hart.inhibit & 0x5d, 0x58);
    assert_int_equal(hart.counter[3], 0);
    assert_int_equal(hart.event[3], 0);
    assert_int_equal(call_six(4, 3, 1, 2, 0, 0).error, UPMU_SBI_NO_SHMEM);
    assert_int_equal(call_six(3, 3, 1, 0, 0, 0).error, UPMU_SBI_INVALID_PARAM);
    assert_null(hart.wrong);
}

/* Each access of each of these calls fails once; afterwards the counter can be used as ever. */
static void an_access_that_fails_is_told(void **state)
{
    static const unsigned long calls[][ARGUMENTS] = {{2, 0, 8, 6, 1},    {4, 3, 1, 0}, {3, 3, 1, 1, 77}, {4, 3, 1, 3},
                                                     {2, 0, 0x10, 0, 2}, {3, 4, 1, 2}, {4, 4, 1, 1},     {4, 0, 1, 0}};

    (void)state;
    for (unsigned i = 0; i < COUNT(calls); i++)
        for (unsigned fails = 1;; fails++) {
            struct upmu_sbi_answer answer;
            unsigned before;

            assert_int_equal(open_hart("few"), UPMU_OK);
            assert_int_equal(call_six(7, 0x80001000, 0, 0, 0, 0).error, 0);
            for (unsigned j = 0; j < i; j++)
                assert_int_equal(call_six(calls[j][0], calls[j][1], calls[j][2], calls[j][3], calls[j][4], 0).error, 0,
                                 i, j);
            before = hart.reads + hart.writes;
            hart.fails = fails;
            answer = call_six(calls[i][0], calls[i][1], calls[i][2], calls[i][3], calls[i][4], 0);
            if (hart.fails) {
                assert_int_equal(answer.error, 0, i, fails);
                assert_int_equal(hart.reads + hart.writes - before, fails - 1, i);
                assert_compare(fails, >, 1);
                break;
            }
            assert_int_equal(answer.error, UPMU_SBI_FAILED, i, fails);
            (void)call_six(4, 3, 3, 1, 0, 0);
            assert_int_equal(call_six(2, 3, 1, 6, 1, 0).error, 0, i, fails);
            hart_run(HART_U, HART_CYCLES, 3);
            assert_int_equal(hart.counter[3], 3, i, fails);
            assert_null(hart.wrong);
        }
}

static void a_hart_whose_registers_fail_has_no_counters(void **state)
{
    unsigned accesses;

    (void)state;
    assert_int_equal(open_hart("few"), UPMU_OK);
    accesses = hart.reads + hart.writes;
    for (unsigned fails = 1; fails <= accesses; fails++) {
        hart_reset(config.counters, config.counters, config.width, true, false);
        hart.fails = fails;
        assert_int_equal(upmu_sbi_pmu_init(&pmu, &config), UPMU_ERR_PORT, fails);
        assert_int_equal(call_six(0, 0, 0, 0, 0, 0).value, 0);
        assert_int_equal(call_six(1, 3, 0, 0, 0, 0).error, UPMU_SBI_INVALID_PARAM);
        assert_int_equal(call_six(2, 0, 8, 6, 1, 0).error, UPMU_SBI_INVALID_PARAM);
        assert_int_equal(call_six(4, 0, 1, 0, 0, 0).error, UPMU_SBI_INVALID_PARAM);
        upmu_sbi_pmu_firmware(&pmu, 5);
    }
}

static void a_configuration_beyond_its_limits_is_refused(void **state)
{
    static const struct upmu_port none = {.rdmsr = hart_read}, neither = {.wrmsr = hart_write};
    static const struct upmu_sbi_event wrong[] = {
        {.first = 2, .last = 1},             /* upside down */
        {.first = 1, .last = 0x10000},       /* of two types */
        {.first = 0x20000, .last = 0x20001}, /* not a raw event */
        {.first = 0x10000, .last = 0x20000},
        {.first = 0xf0000, .last = 0xf0001},                        /* the firmware's own */
        {.first = 1, .last = 1, .select = UINT64_C(1) << 58},       /* bits of modes */
        {.first = 1, .last = 2, .select = (UINT64_C(1) << 58) - 1}, /* the second one has them */
        {.first = 0x20000, .last = 0x20000, .select = UINT64_C(1) << 63},
    };
    struct upmu_sbi_config good;

    (void)state;
#define REFUSED(change)                                                                                                \
    do {                                                                                                               \
        config = good;                                                                                                 \
        change;                                                                                                        \
        hart.reads = hart.writes = 0;                                                                                  \
        assert_int_equal(upmu_sbi_pmu_init(&pmu, &config), UPMU_ERR_INVALID);                                          \
        assert_int_equal(hart.reads + hart.writes, 0);                                                                 \
    } while (0)
    assert_int_equal(open_hart("few"), UPMU_OK);
    good = config;
    REFUSED(config.port = NULL);
    REFUSED(config.port = &none);
    REFUSED(config.port = &neither);
    REFUSED(config.counters |= 2);
    REFUSED(config.width = 0);
    REFUSED(config.width = 65);
    REFUSED(config.firmware_counters = UPMU_SBI_FIRMWARE + 1);
    REFUSED((config.sscofpmf = false, config.hypervisor = true));
    REFUSED((config.guest = true, config.hypervisor = true));
    REFUSED((config.guest = true, config.counters = 8));
    REFUSED(config.events = NULL);
    for (unsigned i = 0; i < COUNT(wrong); i++)
        REFUSED((config.events = &wrong[i], config.event_count = 1));
    config = good;
    config.events = NULL;
    config.event_count = 0;
    assert_int_equal(upmu_sbi_pmu_init(&pmu, &config), UPMU_OK);
    assert_int_equal(call_six(2, 0, 0x5d, 0, 3, 0).error, UPMU_SBI_NOT_SUPPORTED);
}

/* S-mode changes each byte as soon as it was read: what was judged is what was read. */
static void what_s_mode_has_in_memory_is_read_once(void **state)
{
    (void)state;
    assert_int_equal(open_hart("full"), UPMU_OK);
    assert_int_equal(call_six(7, 0x80001000, 0, 0, 0, 0).error, 0);
    assert_int_equal(call_six(2, 0, 8, 0, 1, 0).error, 0);
    hart.flips = true;
    *word(0x80001008) = 5;
    hart.copies = 0;
    assert_int_equal(call_six(3, 3, 1, 2, 0, 0).error, 0);
    assert_int_equal(hart.counter[3], 5);
    assert_int_equal(hart.copies, 1);
    for (unsigned i = 0; i < 2; i++)
        *word(0x80002000 + 16 * i) = 1 + 4 * i;
    hart.copies = 0;
    assert_int_equal(call_six(8, 0x80002000, 0, 2, 0, 0).error, 0);
    assert_int_equal(hart.copies, 1 + 2 * 2);
    assert_int_equal(*word(0x80002000), UINT64_C(1) << 32 | (0xffffffff ^ 1));
    assert_int_equal(*word(0x80002010), 0xffffffff ^ 5);
}

/* ---- Virtual CPUs ---- */

/* Two counters of the vCPU count cycles; the second one is full. */
static void open_guest(void)
{
    assert_int_equal(open_hart("guest"), UPMU_OK);
    assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_OK);
    assert_int_equal(call_six(2, 0, 8, 6, 1, 0).error, 0);
    assert_int_equal(call_six(2, 0, 0x10, 0, 1, 0).error, 0);
    assert_int_equal(call_six(3, 4, 1, 1, (unsigned long)-1, (unsigned long)-1).error, 0);
}

static void a_virtual_cpu_begins_without_an_access(void **state)
{
    (void)state;
    assert_int_equal(open_hart("guest"), UPMU_OK);
    assert_int_equal(hart.reads + hart.writes, 0);
    assert_int_equal(call_six(0, 0, 0, 0, 0, 0).error, UPMU_SBI_FAILED);
    assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_OK);
    assert_int_equal(hart.reads + hart.writes, 0);
    assert_int_equal(call_six(0, 0, 0, 0, 0, 0).value, 11);
}

static void calls_of_a_hypervisor_out_of_order_are_refused(void **state)
{
    unsigned long value = 77;
    bool overflow = true;

    (void)state;
    assert_int_equal(open_hart("guest"), UPMU_OK);
    assert_int_equal(upmu_sbi_pmu_put(&pmu), UPMU_ERR_STATE);
    assert_int_equal(upmu_sbi_pmu_enter(&pmu), UPMU_ERR_STATE);
    assert_int_equal(upmu_sbi_pmu_exit(&pmu, &overflow), UPMU_ERR_STATE);
    assert_false(overflow);
    assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_OK);
    assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_ERR_STATE);
    assert_int_equal(upmu_sbi_pmu_exit(&pmu, &overflow), UPMU_ERR_STATE);
    assert_int_equal(upmu_sbi_pmu_enter(&pmu), UPMU_OK);
    assert_int_equal(upmu_sbi_pmu_enter(&pmu), UPMU_ERR_STATE);
    assert_int_equal(upmu_sbi_pmu_put(&pmu), UPMU_ERR_STATE);
    assert_int_equal(call_six(4, 3, 1, 0, 0, 0).error, UPMU_SBI_FAILED);
    assert_int_equal(upmu_sbi_pmu_exit(&pmu, &overflow), UPMU_OK);
    assert_int_equal(upmu_sbi_pmu_put(&pmu), UPMU_OK);
    /* A firmware's PMU is no virtual CPU's. */
    assert_int_equal(open_hart("full"), UPMU_OK);
    assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_ERR_STATE);
    assert_int_equal(upmu_sbi_pmu_put(&pmu), UPMU_ERR_STATE);
    assert_int_equal(upmu_sbi_pmu_enter(&pmu), UPMU_ERR_STATE);
    assert_false(upmu_sbi_pmu_csr(&pmu, 0xc00, &value));
    assert_int_equal(value, 77);
}

/* Each access of a load, an entry, an exit and a put fails once. The hypervisor is told; the next round is whole. */
static void an_access_of_a_hypervisor_that_fails_is_told(void **state)
{
    unsigned fails = 0, told;
    bool overflow;

    (void)state;
    do {
        open_guest();
        assert_int_equal(upmu_sbi_pmu_put(&pmu), UPMU_OK);
        hart.fails = ++fails;
        told = upmu_sbi_pmu_load(&pmu) == UPMU_ERR_PORT;
        if (told) {
            assert_int_equal(hart.event[3] | hart.event[4], 0, fails);
            assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_OK, fails);
        }
        told += upmu_sbi_pmu_enter(&pmu) == UPMU_ERR_PORT;
        hart_run(HART_VS, HART_CYCLES, 1);
        told += upmu_sbi_pmu_exit(&pmu, &overflow) == UPMU_ERR_PORT;
        told += upmu_sbi_pmu_put(&pmu) == UPMU_ERR_PORT;
        assert_int_equal(told, hart.fails == 0, fails);
        told = hart.fails == 0;
        hart.fails = 0;
        hart.inhibit |= config.counters; /* an exit whose access failed left them open for the put */
        hart.wrong = NULL;
        assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_OK, fails);
        assert_int_equal(call_six(4, 3, 3, 0, 0, 0).error, 0, fails);
        assert_int_equal(call_six(3, 3, 3, 1, 5, 0).error, 0, fails);
        assert_int_equal(upmu_sbi_pmu_enter(&pmu), UPMU_OK, fails);
        hart_run(HART_VU, HART_CYCLES, 3);
        assert_int_equal(upmu_sbi_pmu_exit(&pmu, &overflow), UPMU_OK, fails);
        assert_false(overflow);
        assert_int_equal(hart.counter[3], 8, fails);
        assert_int_equal(hart.counter[4], 8, fails);
        assert_null(hart.wrong);
    } while (told);
    assert_int_equal(fails, 4 + 2 + 3 + 4 + 1);
}

/* Hardware without an event: the write of mhpmevent fails, which a guest must not take for a counter that counts. */
static void an_event_that_the_hart_refuses_is_not_supported(void **state)
{
    unsigned long value;

    (void)state;
    assert_int_equal(open_hart("guest"), UPMU_OK);
    assert_int_equal(upmu_sbi_pmu_load(&pmu), UPMU_OK);
    hart.fails = 1;
    assert_int_equal(call_six(2, 0, 8, 6, 1, 0).error, UPMU_SBI_NOT_SUPPORTED);
    assert_int_equal(hart.event[3], 0);
    assert_int_equal(hart.writes, 2);
    assert_false(upmu_sbi_pmu_csr(&pmu, 0xc03, &value));
    assert_int_equal(call_six(3, 3, 1, 0, 0, 0).error, UPMU_SBI_INVALID_PARAM);
    hart.fails = 2; /* the write of the value 0: the guest gets no counter with another guest's count */
    assert_int_equal(call_six(2, 0, 8, 6, 1, 0).error, UPMU_SBI_NOT_SUPPORTED);
    assert_int_equal(hart.event[3], 0);
    assert_false(upmu_sbi_pmu_csr(&pmu, 0xc03, &value));
    assert_int_equal(call_six(2, 0, 8, 6, 1, 0).error, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_of_the_conformance_table_holds),
        cmocka_unit_test(the_hart_is_closed_before_s_mode_begins),
        cmocka_unit_test(an_access_that_fails_is_told),
        cmocka_unit_test(a_hart_whose_registers_fail_has_no_counters),
        cmocka_unit_test(a_configuration_beyond_its_limits_is_refused),
        cmocka_unit_test(what_s_mode_has_in_memory_is_read_once),
        cmocka_unit_test(a_virtual_cpu_begins_without_an_access),
        cmocka_unit_test(calls_of_a_hypervisor_out_of_order_are_refused),
        cmocka_unit_test(an_access_of_a_hypervisor_that_fails_is_told),
        cmocka_unit_test(an_event_that_the_hart_refuses_is_not_supported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
