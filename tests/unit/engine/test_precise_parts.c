/* SPDX-License-Identifier: MIT */
/*
 * Parts of precise samples on the silicon model: data address, source, latency, transaction, registers and latency of
 * the retirement are those of the sampled instruction, in the ring and for a format of the host; records have the
 * parts that events ask for; loads and stores are measured by the bits that their CPUs want.
 */
#include <upmu/precise.h>
#include <upmu/session.h>
#include "core/sample/precise_core.h"
#include "tests/common/host.h"

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)
#define CODE UINT64_C(0xffffffff81000000)
#define DATA UINT64_C(0xffff888012345000)
#define USER_CODE UINT64_C(0x400000)
#define USER_DATA UINT64_C(0x7fff12345000)
#define PEBS_ENABLE 0x3f1
#define DATA_CONFIG 0x3f2
#define ALL UPMU_RECORD_PARTS

static struct host host;
static struct upmu_sim_profile with_retire;
static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[UPMU_RECORD_LEAST_BYTES];
static unsigned outside, longest; /* the longest record that was stored, in bytes */

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    bool of_area = address - AREA <= sizeof area - length;
    uint8_t *at = of_area ? area + (address - AREA) : buffer + (address - BUFFER);
    uint64_t before, after;

    (void)sim, (void)cpu;
    if (!of_area && address - BUFFER > sizeof buffer - length) {
        outside++;
        return false;
    }
    if (address == AREA + 40 && (kind & UPMU_SIM_MEMORY_WRITE)) {
        memcpy(&before, at, 8);
        memcpy(&after, bytes, 8);
        longest = after - before > longest ? (unsigned)(after - before) : longest;
    }
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

static void set_up_from(const char *profile, uint64_t kernel_from)
{
    const struct upmu_record_memory given = {area, AREA, buffer, BUFFER, sizeof buffer, kernel_from};

    host_prepare(&host, profile);
    if (!strcmp(profile, "lnl_p")) { /* with the latency of the retirement: PERF_CAPABILITIES bit 17 */
        with_retire = *host.sim.profile;
        with_retire.capabilities |= UINT64_C(1) << 17;
        host.sim.profile = &with_retire;
    }
    host.sim.memory = memory;
    outside = longest = 0;
    upmu_sim_poke(&host.sim, 0, DATA_CONFIG, 8);
    host_start(&host);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &given, NULL), UPMU_OK);
}

static void set_up(const char *profile)
{
    set_up_from(profile, 0);
}

static void finish(void)
{
    host_end_idle(&host);
    assert_int_equal(outside, 0);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, PEBS_ENABLE), 0);
}

static uint64_t noise(unsigned i)
{
    return UINT64_C(0x0123456789abcdef) * (2u * i + 1u);
}

/* Instruction k of the code, from 0 on, accesses data + 8 * k. */
static void run_at(uint64_t ip, uint64_t data, uint64_t instructions)
{
    static uint64_t registers[UPMU_RECORD_REGISTERS];

    for (unsigned i = 0; i < UPMU_RECORD_REGISTERS; i++)
        registers[i] = noise(i);
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                        .cycles = 2 * instructions,
                                                        .other = {{instructions, .event = 0xd0, .umask = 0x81},
                                                                  {instructions, .event = 0xcd, .umask = 1},
                                                                  {instructions, .event = 0xcd, .umask = 2},
                                                                  {instructions, .event = 0x0b, .umask = 0x10}},
                                                        .user = !(ip >> 63),
                                                        .ip = ip,
                                                        .ip_step = 4,
                                                        .sp = ip + 0x800000,
                                                        .data = data,
                                                        .data_step = 8,
                                                        .data_source = 0x35,
                                                        .latency = UINT64_C(0x2100000154),
                                                        .transaction = UINT64_C(0x1100000022),
                                                        .retire = 0x77,
                                                        .registers = registers});
}

static unsigned format_of(void)
{
    return (unsigned)(host.sim.profile->capabilities >> 8) & 0xfu;
}

/* Parts that the CPU's records can have. */
static unsigned parts_of_records(void)
{
    const unsigned access = UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT;

    return UPMU_PART_REGISTERS | (format_of() >= 1 ? access : 0) |
           (format_of() >= 2 ? UPMU_PART_TRANSACTION : 0) |
           (host.sim.profile->capabilities >> 17 & 1u ? UPMU_PART_RETIRE : 0);
}

/* Sample an event with these parts; `values` of event 0 itself. */
static void sample_parts(const char *event, unsigned parts, uint32_t values)
{
    const struct upmu_sampling sampling = {
        .period = 1000, .values = values, .flags = UPMU_SAMPLING_PARTS(parts)};

    assert_int_equal(upmu_set_add(&host.session.set, event, &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
}

/* CPUs, and an event that is precise there. */
static const struct {
    const char *profile, *event;
} models[] = {
    {"core2", "INST_RETIRED.ANY_P:p"},
    {"nehalem", "MEM_INST_RETIRED.LATENCY_ABOVE_THRESHOLD_4:p"},
    {"sandybridge", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:p"},
    {"sandybridge", "MEM_TRANS_RETIRED.PRECISE_STORE:p"},
    {"haswell_smt", "MEM_UOPS_RETIRED.ALL_LOADS:pp"},
    {"skylake", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:pp"},
    {"skylake", "MEM_INST_RETIRED.ALL_LOADS:pp"},
    {"icelake", "MEM_INST_RETIRED.ALL_LOADS:pp"},
    {"icelake", "INST_RETIRED.PREC_DIST:ppp"},
    {"tremont", "MEM_UOPS_RETIRED.ALL_LOADS:pp"},
    {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS:pp"},
    {"lnl_p", "MEM_INST_RETIRED.ALL_LOADS:pp"},
};
#define MODELS (sizeof models / sizeof models[0])

static void check_words(const struct upmu_record *record, uint64_t number)
{
    const unsigned parts = record->parts;

    assert_int_equal(record->address, parts & UPMU_PART_ADDRESS ? DATA + 8 * number : 0);
    assert_int_equal(record->source, parts & UPMU_PART_SOURCE ? 0x35 : 0);
    assert_int_equal(record->weight, parts & UPMU_PART_WEIGHT ? UINT64_C(0x2100000154) : 0);
    assert_int_equal(record->transaction, parts & UPMU_PART_TRANSACTION ? UINT64_C(0x1100000022) : 0);
    assert_int_equal(record->retire, parts & UPMU_PART_RETIRE ? 0x77 : 0);
    assert_int_equal(record->registers != NULL, (parts & UPMU_PART_REGISTERS) != 0);
    for (unsigned i = 0; i < UPMU_RECORD_REGISTERS && record->registers; i++)
        assert_int_equal(record->registers[i],
                         i == UPMU_PRECISE_IP   ? CODE + 4 * (number + 1)
                         : i == UPMU_PRECISE_SP ? CODE + 0x800000
                                                : noise(i),
                         i);
}

/* Each choice of parts, with a count behind them, is in the ring as it was asked for. */
static void each_sample_has_the_parts_that_were_asked_for(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODELS; m++)
        for (unsigned turn = 0; turn < 64; turn++) {
            const unsigned asked = (turn & 0x1f) | (turn & 0x20) << 2;
            struct upmu_record record;
            unsigned samples = 0;

            set_up(models[m].profile);
            sample_parts(models[m].event, asked, turn & 1);
            run_at(CODE, DATA, 3500);
            while (upmu_ring_view(&host.session.ring, &record)) {
                assert_int_equal(record.parts, asked & parts_of_records(), m, turn);
                check_words(&record, (record.sample->ip - CODE) / 4 - (format_of() < 2));
                if (turn & 1)
                    assert_int_equal(record.value[0] / 1000, samples + 1, m, turn);
                assert_int_equal(record.values, turn & 1);
                samples++;
                upmu_ring_drop(&host.session.ring);
            }
            assert_int_equal(samples, 3, m, turn);
            assert_int_equal(host_value(&host.session, 0), 3500, m, turn);
            finish();
        }
}

/*
 * From Redwood Cove on a record of fixed counter 0 has other bits in the place of the retirement's latency.  Catches:
 * these bits delivered as a latency; an event that gets none though other counters would measure it.
 */
static void fixed_counter_0_has_no_latency_of_the_retirement(void **state)
{
    static const struct {
        const char *event;
        uint32_t counters;
        unsigned retire;
    } cases[] = {{"INST_RETIRED.PREC_DIST:ppp", 1u << 16, 0}, {"INST_RETIRED.ANY_P:pp", 0x3ff, 0x77}};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_record record;
        unsigned samples = 0;

        set_up("lnl_p");
        sample_parts(cases[i].event, UPMU_PART_WEIGHT | UPMU_PART_RETIRE, 0);
        assert_int_equal(host.session.counters & ~cases[i].counters, 0, i);
        run_at(CODE, DATA, 3500);
        while (upmu_ring_view(&host.session.ring, &record)) {
            assert_int_equal(record.parts, UPMU_PART_WEIGHT | (cases[i].retire ? UPMU_PART_RETIRE : 0), i);
            assert_int_equal(record.retire, cases[i].retire, i);
            samples++;
            upmu_ring_drop(&host.session.ring);
        }
        assert_int_equal(samples, 3, i);
        finish();
    }
}

/* Catches: records whose parts stay on for events that did not ask for them; a register that is not given back. */
static void records_have_no_part_that_is_not_asked_for(void **state)
{
    static const char *const events[] = {"MEM_INST_RETIRED.ALL_LOADS:pp", "cycles:pp"};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        set_up("icelake");
        assert_int_equal(upmu_sim_peek(&host.sim, 0, DATA_CONFIG), 3);
        for (unsigned turn = 0; turn < 3; turn++) {
            longest = 0;
            sample_parts(events[i & 1], turn & 1 ? ALL : 0, 0);
            run_at(CODE, DATA, 2500);
            assert_compare(host_drain(&host, NULL), >=, 2);
            assert_int_equal(longest, turn & 1 ? 32 + 32 + 144 : 32, i, turn);
            assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
            assert_int_equal(upmu_session_init(&host.session, &host.machine), UPMU_OK);
        }
        if (i < 2)
            assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, NULL), UPMU_OK);
        finish();
        assert_int_equal(upmu_sim_peek(&host.sim, 0, DATA_CONFIG), 8, i);
    }
}

/* The bits of IA32_PEBS_ENABLE with which an event is measured. */
static void loads_and_stores_have_their_bits_of_pebs_enable(void **state)
{
    static const struct {
        const char *profile, *event;
        uint64_t high;
    } cases[] = {{"nehalem", "MEM_INST_RETIRED.LATENCY_ABOVE_THRESHOLD_4:p", 1},
                 {"skylake", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:pp", 1},
                 {"sandybridge", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:p", 1},
                 {"sandybridge", "MEM_TRANS_RETIRED.PRECISE_STORE:p", UINT64_C(1) << 28},
                 {"skylake", "MEM_INST_RETIRED.ALL_LOADS:pp", 0},
                 {"icelake", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:pp", 0}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t counters;

        set_up(cases[i].profile);
        sample_parts(cases[i].event, ALL, 0);
        counters = host.session.counters;
        assert_int_equal(upmu_sim_peek(&host.sim, 0, PEBS_ENABLE), counters | cases[i].high * counters << 32, i);
        run_at(CODE, DATA, 1500);
        assert_int_equal(host_drain(&host, NULL), 1, i);
        host_no_violation(&host);
        finish();
    }
}

/* The model notices a driver that forgets the bit. */
static void the_model_notices_loads_without_their_bit(void **state)
{
    static const struct {
        const char *profile, *event;
    } cases[] = {{"skylake", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:pp"},
                 {"sandybridge", "MEM_TRANS_RETIRED.PRECISE_STORE:p"}};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        set_up(cases[i].profile);
        sample_parts(cases[i].event, 0, 0);
        upmu_sim_poke(&host.sim, 0, PEBS_ENABLE, host.session.counters);
        run_at(CODE, DATA, 1500);
        assert_int_equal(host.sim.violation_count, 1, i);
        host.sim.violation_count = 0;
        host_end_idle(&host);
    }
}

/* A dry run lists the register that lets counters store records: when all is loaded, and before GLOBAL_CTRL. */
static void a_dry_run_lists_the_enable_of_records(void **state)
{
    static const struct {
        const char *profile, *event;
        uint64_t value;
    } cases[] = {{"skylake", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:pp", UINT64_C(0x100000001)},
                 {"icelake", "INST_RETIRED.PREC_DIST:ppp", UINT64_C(0x100000000)}};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const struct upmu_sampling sampling = {.period = 1000, .flags = UPMU_SAMPLING_PARTS(ALL)};
        struct upmu_write writes[16];
        struct upmu_dry_run run = {.writes = writes, .capacity = 16};

        set_up(cases[i].profile);
        assert_int_equal(upmu_set_add(&host.session.set, cases[i].event, &sampling), UPMU_OK);
        assert_int_equal(upmu_session_dry_run(&host.session, host.cpu[0].meter.pmu, &run), UPMU_OK);
        assert_compare(run.count, >=, 3);
        assert_int_equal(writes[run.count - 2].address, PEBS_ENABLE, i);
        assert_int_equal(writes[run.count - 2].value, cases[i].value, i);
        assert_int_equal(writes[run.count - 1].address, 0x38f, i);
        finish();
    }
}

/* ---- Programs ---- */

static bool view(struct upmu_record *record)
{
    return upmu_ring_view(&host.session.ring, record);
}

/* Data of the kernel, and registers at its entry: neither an address nor a register tells where it is. */
static void a_program_gets_no_part_of_the_kernel(void **state)
{
    struct upmu_record record;

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t code = i == 0 ? CODE : i == 1 ? UINT64_C(0x7ffffffffffff05c) : USER_CODE;
        const uint64_t data = i == 2 ? DATA : USER_DATA;

        set_up("skylake");
        upmu_session_hide_kernel(&host.session, true);
        sample_parts("MEM_INST_RETIRED.ALL_LOADS:pp", ALL, 0);
        run_at(code, data, 1001);
        assert_true(view(&record));
        if (i == 0) {
            assert_int_equal(record.parts, 0);
            assert_int_equal(record.sample->ip, 0);
        } else {
            assert_int_equal(record.parts,
                             0x1f & ~(i == 1 ? UPMU_PART_REGISTERS : i == 2 ? UPMU_PART_ADDRESS : 0), i);
            assert_int_equal(record.sample->flags & UPMU_SAMPLE_USER, UPMU_SAMPLE_USER);
        }
        assert_int_equal(record.address, i == 0 || i == 2 ? 0 : USER_DATA + 8 * 1000);
        upmu_ring_drop(&host.session.ring);
        finish();
    }
}

/* A kernel in the lower half of addresses, as firmware is. */
static void a_kernel_may_begin_anywhere(void **state)
{
    struct upmu_record record;

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        set_up_from("skylake", USER_CODE + 4 * 1000 + i);
        sample_parts("MEM_INST_RETIRED.ALL_LOADS:pp", 0, 0);
        run_at(USER_CODE, USER_DATA, 1001);
        assert_true(view(&record));
        assert_int_equal(record.sample->flags & UPMU_SAMPLE_USER, i ? UPMU_SAMPLE_USER : 0);
        finish();
    }
}

/* ---- Formats of the host ---- */

static struct upmu_record seen;
static uint64_t seen_registers[UPMU_RECORD_REGISTERS + 1];
static unsigned seen_precise, seen_others;

static unsigned note_parts(void *state, const struct upmu_overflow *overflow, bool notify)
{
    (void)state, (void)notify;
    if (!(overflow->flags & UPMU_SAMPLE_PRECISE)) {
        assert_int_equal(upmu_overflow_register(overflow, 2), 0);
        seen_others++;
        return 0;
    }
    seen = (struct upmu_record){.parts = overflow->parts,
                                .retire = overflow->parts & UPMU_PART_RETIRE ? overflow->retire : 0,
                                .address = overflow->address,
                                .source = overflow->source,
                                .weight = overflow->weight,
                                .transaction = overflow->transaction,
                                .registers = overflow->parts & UPMU_PART_REGISTERS ? seen_registers : NULL};
    for (unsigned i = 0; i <= UPMU_RECORD_REGISTERS; i++)
        seen_registers[i] = upmu_overflow_register(overflow, i);
    assert_int_equal(seen_registers[UPMU_RECORD_REGISTERS], 0);
    seen_precise++;
    check_words(&seen, (overflow->ip - CODE) / 4 - (format_of() < 2));
    return 0;
}

static void a_format_of_the_host_gets_the_parts(void **state)
{
    static const struct upmu_format format = {.name = "parts", .overflow = note_parts};
    static const char *const profiles[] = {"haswell_smt", "lnl_p"};
    static const char *const events[] = {"MEM_UOPS_RETIRED.ALL_LOADS:pp", "MEM_INST_RETIRED.ALL_LOADS:pp"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const struct upmu_sampling parts = {.period = 1000, .flags = UPMU_SAMPLING_PARTS(ALL)};

        set_up(profiles[i]);
        seen_precise = seen_others = 0;
        assert_int_equal(upmu_set_add(&host.session.set, events[i], &parts), UPMU_OK);
        assert_int_equal(upmu_set_add(&host.session.set, "instructions", &parts), UPMU_OK);
        assert_int_equal(upmu_session_format(&host.session, &format, NULL, 0), UPMU_OK);
        host_begin(&host, &host.session);
        run_at(CODE, DATA, 3500);
        assert_int_equal(seen_precise, 3, i);
        assert_int_equal(seen_others, 3, i);
        assert_int_equal(seen.parts, parts_of_records());
        finish();
    }
}

/* ---- Limits ---- */

/* Branches and counters of records are not read yet, and bits beyond are none. */
static void unknown_parts_are_refused(void **state)
{
    static const unsigned unknown[] = {UPMU_PART_BRANCHES, UPMU_PART_COUNTERS, 1u << 8, 1u << 15};

    (void)state;
    set_up("skylake");
    for (unsigned i = 0; i < 4; i++) {
        const struct upmu_sampling sampling = {.period = 1000, .flags = UPMU_SAMPLING_PARTS(unknown[i])};

        assert_int_equal(upmu_set_add(&host.session.set, "MEM_INST_RETIRED.ALL_LOADS:pp", &sampling),
                         UPMU_ERR_INVALID, i);
    }
    finish();
}

/* A ring that is too small for all: whole records or none, and the next one tells of those that are missing. */
static void a_full_ring_loses_whole_records(void **state)
{
    const struct upmu_sampling sampling = {.period = 100, .flags = UPMU_SAMPLING_PARTS(ALL)};
    struct upmu_record record;
    unsigned samples = 0, lost = 0;

    (void)state;
    set_up("skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "MEM_INST_RETIRED.ALL_LOADS:pp", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, 600), UPMU_OK);
    host_begin(&host, &host.session);
    for (unsigned i = 0; i < 40; i++) {
        host.sim.now_ns += 20000000;
        run_at(CODE, DATA, 100 + 10 * (i % 30));
        while (i % 3 == 2 && view(&record)) {
            check_words(&record, (record.sample->ip - CODE) / 4);
            samples++;
            lost += record.sample->lost;
            upmu_ring_drop(&host.session.ring);
        }
    }
    /* Then there is room again, and each record that was lost has been told of by a later one. */
    for (unsigned last = 0; last < 4; last++) {
        while (view(&record)) {
            samples++;
            lost += record.sample->lost;
            upmu_ring_drop(&host.session.ring);
        }
        run_at(CODE, DATA, last < 3 ? 60 : 0);
    }
    assert_false(view(&record));
    assert_int_equal(lost, upmu_ring_lost(&host.session.ring));
    assert_int_equal(samples + lost, upmu_cpu_records(&host.cpu[0]).taken);
    assert_compare(samples, >, 10);
    assert_compare(lost, >, 10);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_has_the_parts_that_were_asked_for),
        cmocka_unit_test(fixed_counter_0_has_no_latency_of_the_retirement),
        cmocka_unit_test(records_have_no_part_that_is_not_asked_for),
        cmocka_unit_test(loads_and_stores_have_their_bits_of_pebs_enable),
        cmocka_unit_test(the_model_notices_loads_without_their_bit),
        cmocka_unit_test(a_dry_run_lists_the_enable_of_records),
        cmocka_unit_test(a_program_gets_no_part_of_the_kernel),
        cmocka_unit_test(a_kernel_may_begin_anywhere),
        cmocka_unit_test(a_format_of_the_host_gets_the_parts),
        cmocka_unit_test(unknown_parts_are_refused),
        cmocka_unit_test(a_full_ring_loses_whole_records),
    };

    return cmocka_run_group_tests_name("parts of precise samples", tests, NULL, NULL);
}
