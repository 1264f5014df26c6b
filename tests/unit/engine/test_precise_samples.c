/* SPDX-License-Identifier: MIT */
/*
 * Precise samples of the engine on the silicon model, which stores records into this test's memory: each sample is the
 * instruction that had its event, counts are those of a session without samples, and a record belongs to the session
 * and thread whose event it was.  The hardware never stores outside of the memory, nor after it was taken back.
 */
#include <upmu/abi.h>
#include <upmu/branches.h>
#include <upmu/precise.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>
#include "tests/common/host.h"

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)
#define BYTES UPMU_RECORD_LEAST_BYTES
#define CODE UINT64_C(0xffffffff81000000)
#define PEBS_ENABLE 0x3f1
#define DS_AREA 0x600

static struct host host;
static _Alignas(4096) uint8_t area[2][UPMU_RECORD_AREA_BYTES], buffer[2][BYTES];
static bool is_mapped;
static unsigned outside; /* accesses of the hardware to memory that was not given, or was taken back */

/* CPU n has its memory 1 MiB above that of CPU n - 1. */
static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    uint64_t shift = UINT64_C(0x100000) * cpu;
    bool of_area = address - (AREA + shift) <= sizeof area[0] - length;
    uint8_t *at = of_area ? area[cpu] + (address - (AREA + shift)) : buffer[cpu] + (address - (BUFFER + shift));

    (void)sim;
    if (!is_mapped || cpu > 1 || (!of_area && address - (BUFFER + shift) > BYTES - length)) {
        outside++;
        return false;
    }
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

static struct upmu_record_memory memory_of(unsigned cpu)
{
    uint64_t shift = UINT64_C(0x100000) * cpu;

    return (struct upmu_record_memory){area[cpu], AREA + shift, buffer[cpu], BUFFER + shift, BYTES, 0};
}

static void give(unsigned cpu)
{
    struct upmu_record_memory of = memory_of(cpu);

    assert_int_equal(upmu_cpu_use_records(&host.cpu[cpu], &of, NULL), UPMU_OK, cpu);
}

/* `left`: what a former kernel has left in PEBS_ENABLE. */
static void prepare_left(const char *profile, uint64_t left)
{
    host_prepare(&host, profile);
    upmu_sim_poke(&host.sim, 0, PEBS_ENABLE, left);
    host.sim.memory = memory;
    is_mapped = true;
    outside = 0;
    memset(area, 0xa5, sizeof area);
    memset(buffer, 0xa5, sizeof buffer);
    host_start(&host);
}

static void prepare(const char *profile)
{
    prepare_left(profile, 0);
}

static void set_up(const char *profile)
{
    prepare(profile);
    give(0);
}

static uint64_t peek(uint32_t msr)
{
    return upmu_sim_peek(&host.sim, 0, msr);
}

static void finish(void)
{
    host_end_idle(&host);
    assert_int_equal(outside, 0);
    assert_int_equal(peek(PEBS_ENABLE), 0);
    assert_int_equal(peek(DS_AREA), 0);
}

/* Code at `ip`, 4 bytes for each instruction. */
static void run_at(uint64_t ip, uint64_t instructions)
{
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                        .cycles = 2 * instructions,
                                                        .branches = instructions / 4,
                                                        .other = {{.count = instructions, .event = 0xc0, .umask = 1},
                                                                  {.count = instructions, .event = 0xd0, .umask = 0x81},
                                                                  {.count = instructions, .event = 0x0b, .umask = 1}},
                                                        .user = !(ip >> 63),
                                                        .ip = ip,
                                                        .ip_step = 4,
                                                        .sp = ip + 0x800000});
}

static unsigned format_of(void)
{
    return (unsigned)(host.sim.profile->capabilities >> 8) & 0xfu;
}

/* The address that a record has of the instruction with this number, from 1 on, of the code at `ip`. */
static uint64_t address_of(uint64_t ip, uint64_t number)
{
    return ip + 4 * (number - (format_of() >= 2));
}

/*
 * Profiles, an event that is precise there, and the shortest period that errata allow.  `reduced`: the record is of the
 * overflowing event itself, and not of the next one.
 */
static const struct {
    const char *profile, *event;
    unsigned shortest;
    bool reduced;
} models[] = {
    {"core2", "INST_RETIRED.ANY_P:p", 0, false},
    {"bonnell_odd", "INST_RETIRED.ANY_P:p", 0, false},
    {"nehalem", "INST_RETIRED.ANY_P:p", 32, false},
    {"westmere", "INST_RETIRED.ANY_P:p", 32, false},
    {"sandybridge", "INST_RETIRED.PREC_DIST:p", 0, true},
    {"haswell_smt", "INST_RETIRED.PREC_DIST:ppp", 128, true},
    {"sandybridge", "MEM_UOPS_RETIRED.ALL_LOADS:p", 0, false},
    {"skylake", "INST_RETIRED.PREC_DIST:ppp", 0, true},
    {"skylake", "MEM_INST_RETIRED.ALL_LOADS:pp", 0, false},
    {"icelake", "MEM_INST_RETIRED.ALL_LOADS:pp", 0, false},
    {"icelake", "INST_RETIRED.PREC_DIST:ppp", 0, true},
    {"goldmont_plus", "MEM_UOPS_RETIRED.ALL_LOADS:pp", 0, true},
    {"goldmont_plus", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", 0, false},
    {"tremont", "MEM_UOPS_RETIRED.ALL_LOADS:pp", 0, true},
    {"tremont", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", 0, false},
    {"adl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp", 128, true},
    {"adl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", 0, false},
    {"mtl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", 128, true},
    {"mtl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=2", 0, false},
    {"lnl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", 128, true},
    {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS:pp", 128, true},
    {"sapphirerapids", "INST_RETIRED.PREC_DIST:ppp", 128, true},
    {"adl_p", "MEM_INST_RETIRED.ALL_LOADS:pp", 128, true},
    {"lnl_p", "MEM_INST_RETIRED.ALL_LOADS:pp", 128, true},
    {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS:pp:counter=1", 0, false},
    {"silvermont", "cpu/event=0xc0,precise=2/", 0, false}, /* format 2, by its register */
};
#define MODELS (sizeof models / sizeof models[0])

/* Catches: a wrong load after a record, a record that is not taken, the frame's address in place of the record's. */
static void each_sample_is_the_instruction_of_its_event(void **state)
{
    static const unsigned periods[] = {1000, 100, 7};
    struct upmu_sample sample;

    (void)state;
    for (unsigned m = 0; m < MODELS; m++)
        for (unsigned p = 0; p < 3; p++) {
            uint64_t period = periods[p], number = period + !models[m].reduced;
            unsigned samples = 0;

            if (period < models[m].shortest)
                continue;
            set_up(models[m].profile);
            host_sample(&host, models[m].event, period);
            for (unsigned burst = 0; burst < 10; burst++) {
                host.sim.now_ns += 20000000; /* no throttle */
                run_at(CODE + 4000 * burst, 1000);
                while (upmu_ring_next(&host.session.ring, &sample)) {
                    if (sample.ip != address_of(CODE, number))
                        fail_msg("%s, %s, period %u, sample %u: %llx is not %llx", models[m].profile, models[m].event,
                                 periods[p], samples, (unsigned long long)sample.ip,
                                 (unsigned long long)address_of(CODE, number));
                    assert_int_equal(sample.flags, UPMU_SAMPLE_PRECISE | (format_of() >= 2 ? UPMU_SAMPLE_EXACT : 0), m);
                    number += period;
                    samples++;
                }
            }
            assert_int_equal(samples, (10000 - !models[m].reduced) / period, m, p);
            assert_int_equal(host_value(&host.session, 0), 10000, m, p);
            assert_int_equal(host.session.set.tally[0].lost, 0, m, p);
            assert_int_equal(upmu_cpu_records(&host.cpu[0]).taken, samples);
            assert_int_equal(host.answered[UPMU_PMI_HANDLED], samples, m, p);
            assert_int_equal(host.answers, samples, m, p);
            finish();
        }
}

/* Core 2 hangs where a buffer is above a page: of more memory one page is used.  Only counter 0 stores records. */
static void core_2_has_a_page_of_records_and_counter_0(void **state)
{
    struct upmu_record_memory of = memory_of(0);
    uint64_t ends[2];

    (void)state;
    prepare("core2");
    of.record_bytes = UPMU_RECORD_MOST_BYTES;
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &of, NULL), UPMU_OK);
    memcpy(&ends[0], area[0] + 32, 8);
    memcpy(&ends[1], area[0] + 48, 8);
    assert_int_equal(ends[1] - ends[0], 4096 / 144 * 144);
    host_sample(&host, "INST_RETIRED.ANY_P:p", 1000);
    assert_int_equal(host.session.counters, 1);
    assert_int_equal(peek(PEBS_ENABLE), 1);
    run_at(CODE, 1500);
    assert_int_equal(host_drain(&host, NULL), 1);
    finish();
}

/* Fixed counters have places of their own in the area.  Cycles: two for each instruction. */
static void fixed_counters_store_records_and_count_on(void **state)
{
    static const char *const profiles[] = {"icelake", "sapphirerapids", "lnl_p"};

    (void)state;
    for (unsigned p = 0; p < 3; p++) {
        set_up(profiles[p]);
        host_sample(&host, "cycles:pp", 1000);
        assert_int_equal(host.session.counters, 1u << 17, p);
        run_at(CODE, 5250);
        assert_int_equal(host_value(&host.session, 0), 10500, p);
        assert_int_equal(host_drain(&host, NULL), 10, p);
        finish();
    }
}

/* ---- Whose a record is ---- */

#define THREADS 3u
#define KERNEL THREADS /* the CPU's session, which samples the kernel alone */
#define LIST 4096u

/* What the hardware has stored, by the code that was executed; `done`: instructions of it so far. */
static struct {
    uint64_t ip[LIST];
    unsigned count, read;
    uint64_t done;
} streams[THREADS + 1];
static uint32_t seed;
static bool is_inside;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static uint64_t code_of(unsigned stream)
{
    return stream == KERNEL ? CODE : UINT64_C(0x400000000) * (stream + 1u);
}

/* Of code of the kernel, which several sessions sample: the session that has the counter now. */
static unsigned find_owner(uint64_t counters)
{
    for (unsigned i = 0; i <= KERNEL; i++)
        if (host.sessions[i].state == UPMU_SESSION_RUNNING && (host.sessions[i].counters & counters))
            return i;
    fail_msg("a record of no running session");
    return 0;
}

/* A record of format 3 is complete when the hardware moves the index: words 18 and 22 are counter and instruction. */
static bool note_record(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                        uint8_t *bytes, uint32_t length)
{
    uint64_t next, ip, counters;
    unsigned stream = 0;

    if (address == AREA + 40 && (kind & UPMU_SIM_MEMORY_WRITE)) {
        memcpy(&next, bytes, sizeof next);
        memcpy(&counters, buffer[0] + (next - BUFFER) - 200 + 8 * 18, sizeof counters);
        memcpy(&ip, buffer[0] + (next - BUFFER) - 200 + 8 * 22, sizeof ip);
        while (stream < KERNEL && (ip < code_of(stream) || ip >= code_of(stream) + UINT64_C(0x400000000)))
            stream++;
        if (stream == KERNEL)
            stream = find_owner(counters);
        assert_compare(streams[stream].count, <, LIST);
        streams[stream].ip[streams[stream].count++] = ip;
    }
    return memory(sim, cpu, kind, address, bytes, length);
}

static void execute(unsigned stream, uint64_t instructions)
{
    run_at(code_of(stream) + 4 * streams[stream].done, instructions);
    streams[stream].done += instructions;
}

/* The library is code of the kernel, too: its own instructions overflow counters in the middle of its calls. */
static void execute_library(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    (void)sim, (void)cpu, (void)number, (void)kind, (void)address;
    if (is_inside)
        return;
    is_inside = true;
    execute(KERNEL, draw(6));
    is_inside = false;
}

static void compare_stream(unsigned stream)
{
    struct upmu_session *session = &host.sessions[stream];
    struct upmu_sample sample;

    while (upmu_ring_next(&session->ring, &sample)) {
        assert_compare(streams[stream].read, <, streams[stream].count, stream);
        assert_int_equal(sample.ip, streams[stream].ip[streams[stream].read], stream, streams[stream].read);
        streams[stream].read++;
    }
}

/* `user`: the threads' sessions sample user mode alone, so that their counts are known. */
static void random_schedule(uint32_t first_seed, bool user)
{
    const char *const both = user ? "MEM_INST_RETIRED.ALL_LOADS:pp:u" : "MEM_INST_RETIRED.ALL_LOADS:pp";
    const char *const events[] = {both, both, "instructions:u", "MEM_INST_RETIRED.ALL_LOADS:pp:k"};

    seed = first_seed;
    memset(streams, 0, sizeof streams);
    set_up("skylake");
    host.sim.memory = note_record;
    host_threads(&host, THREADS + 1);
    for (unsigned i = 0; i <= KERNEL; i++) {
        host_add(&host, i, events[i], 7 + draw(90));
        assert_int_equal(i == KERNEL ? upmu_session_attach_cpu(&host.sessions[i], &host.cpu[0])
                                     : upmu_session_attach_thread(&host.sessions[i], &host.threads[i], NULL),
                         UPMU_OK, i);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK, i);
    }
    if (first_seed & 2)
        host.sim.before_access = execute_library;
    else
        host.sim.after_access = execute_library;
    for (unsigned step = 0; step < 150; step++) {
        unsigned thread = draw(THREADS + 1);

        host.sim.now_ns += 20000000;
        host_thread_switch(&host, 0, thread);
        if (thread < THREADS)
            execute(thread, draw(60));
        for (unsigned i = 0; i <= KERNEL; i++)
            if (i != 2)
                compare_stream(i);
    }
    host.sim.before_access = host.sim.after_access = NULL;
    host_thread_switch(&host, 0, THREADS);
    for (unsigned i = 0; i <= KERNEL; i++) {
        assert_int_equal(upmu_session_stop(&host.sessions[i]), UPMU_OK, i);
        if (i == 2)
            continue;
        compare_stream(i);
        if (streams[i].read != streams[i].count)
            fail_msg("seed %u: %u of %u records of code %u are samples", first_seed, streams[i].read, streams[i].count,
                     i);
        if (user && i < THREADS)
            assert_int_equal(host_value(&host.sessions[i], 0), streams[i].done, i, first_seed);
    }
    assert_true(streams[0].count && streams[1].count && streams[KERNEL].count);
    assert_int_equal(streams[2].count, 0);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).strange, 0, first_seed);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).taken, streams[0].count + streams[1].count + streams[KERNEL].count,
                     first_seed);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(upmu_session_close(&host.sessions[i]), UPMU_OK, i);
    finish();
}

/*
 * Each record that the hardware stores becomes one sample, in the ring of the session whose code it is of.  Catches:
 * a record that a switch leaves to the next event on the counter; one that is lost, or taken twice, because the buffer
 * begins anew while another counter stores; a counter that stays armed.
 */
static void each_record_is_a_sample_of_its_own_session(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 40; i++)
        random_schedule(i, i & 1);
}

/* A counter is stopped between its overflow and its record: the sample comes later, and the count is exact. */
static void a_switch_between_overflow_and_record_loses_no_sample(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODELS; m++) {
        struct upmu_sample sample;
        uint64_t number;

        if (models[m].reduced)
            continue;
        set_up(models[m].profile);
        host_threads(&host, 2);
        host_add(&host, 0, models[m].event, 1000);
        host_add(&host, 1, "instructions", 100);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[i], NULL), UPMU_OK);
            assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
        }
        host_thread_switch(&host, 0, 0);
        run_at(CODE, 1000);
        host_thread_switch(&host, 0, 1);
        assert_int_equal(peek(PEBS_ENABLE), 0);
        run_at(CODE + 0x100000, 500);
        host_thread_switch(&host, 0, 0);
        assert_false(upmu_ring_next(&host.session.ring, &sample));
        run_at(CODE + 4000, 100);
        assert_true(upmu_ring_next(&host.session.ring, &sample));
        number = (sample.ip - address_of(CODE, 1)) / 4 + 1;
        if (number <= 1000 || number > 1000 + 2 + host.machine.pmu[0].min_period)
            fail_msg("%s: the sample is of instruction %u", models[m].profile, (unsigned)number);
        assert_int_equal(host_value(&host.session, 0), 1100, m);
        assert_int_equal(host.session.set.tally[0].lost, 0, m);
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_session_close(&host.sessions[i]), UPMU_OK);
        finish();
    }
}

/* ---- Memory ---- */

static void unmap(void)
{
    is_mapped = false;
    assert_int_equal(peek(PEBS_ENABLE), 0);
    assert_int_equal(peek(DS_AREA), 0);
    run_at(CODE, 5000);
    assert_int_equal(outside, 0);
}

/* Catches: a register that keeps an address of memory that its owner frees. */
static void the_hardware_stores_nothing_once_the_memory_is_back(void **state)
{
    struct upmu_why why;

    (void)state;
    for (unsigned m = 0; m < MODELS; m++) {
        set_up(models[m].profile);
        host_sample(&host, models[m].event, 1000);
        run_at(CODE, 1500);
        assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, &why), UPMU_ERR_STATE, m);
        assert_string_equal(why.word, "precise events run");
        run_at(CODE, 1000);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host_drain(&host, NULL), 2, m);
        assert_int_equal(peek(PEBS_ENABLE), 0);
        assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, NULL), UPMU_OK, m);
        host_add(&host, 1, "instructions", 100);
        host_attach(&host, 1, 0);
        assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
        unmap();
        assert_int_equal(upmu_session_start(&host.session), UPMU_ERR_HOOK_MISSING, m);
        assert_string_equal(host.session.why.word, "upmu_cpu_use_records");
        is_mapped = true;
        give(0);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK, m);
        run_at(CODE, 1000);
        assert_int_equal(host_drain(&host, NULL), 1, m);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        unmap();
        host_no_violation(&host);
    }
}

static void in_a_sleep_the_hardware_has_no_address(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODELS; m++) {
        set_up(models[m].profile);
        host_sample(&host, models[m].event, 1000);
        run_at(CODE, 1500);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        unmap();
        is_mapped = true;
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK, m);
        assert_int_equal(peek(DS_AREA), AREA);
        run_at(CODE, 1000);
        assert_int_equal(host_value(&host.session, 0), 2500, m);
        assert_int_equal(host_drain(&host, NULL), 2, m);
        /* registers were lost without a call before */
        upmu_sim_poke(&host.sim, 0, DS_AREA, 0);
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK, m);
        assert_int_equal(peek(DS_AREA), AREA);
        run_at(CODE, 1500);
        assert_int_equal(host_drain(&host, NULL), 1, m);
        finish();
    }
}

/* A panic handler calls it from anywhere, also in the middle of a call. */
static void an_emergency_ends_all_records(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODELS; m++) {
        set_up(models[m].profile);
        host_sample(&host, models[m].event, 1000);
        run_at(CODE, 500);
        host_forget_cost(&host);
        upmu_records_emergency(&host.cpu[0]);
        host_costs(&host, "emergency", 3, 0);
        unmap();
        upmu_records_emergency(&host.cpu[0]);
    }
}
/* A register that faults, at each access of giving, starting, stopping and taking back: nothing stays behind. */
static void a_fault_leaves_no_address_behind(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 40; at++) {
        struct upmu_record_memory of = memory_of(0);
        struct upmu_sampling sampling = {.period = 1000};
        enum upmu_status given, started, stopped, back;

        prepare("skylake");
        host.sim.expect_faults = true;
        host.sim.fault_at = host.sim.accesses + at;
        given = upmu_cpu_use_records(&host.cpu[0], &of, NULL);
        assert_true(given == UPMU_OK || given == UPMU_ERR_PORT);
        if (given == UPMU_OK) {
            assert_int_equal(upmu_set_add(&host.session.set, "MEM_INST_RETIRED.ALL_LOADS:pp", &sampling), UPMU_OK);
            assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
            started = upmu_session_attach_cpu(&host.session, &host.cpu[0]);
            if (started == UPMU_OK)
                started = upmu_session_start(&host.session);
            assert_true(started == UPMU_OK || started == UPMU_ERR_PORT);
            run_at(CODE, 2500);
            stopped = host.session.meter ? upmu_session_stop(&host.session) : UPMU_OK;
            assert_true(stopped == UPMU_OK || stopped == UPMU_ERR_PORT);
            back = upmu_cpu_use_records(&host.cpu[0], NULL, NULL);
            assert_true(back == UPMU_OK || back == UPMU_ERR_PORT);
            host.sim.fault_at = 0;
            assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, NULL), UPMU_OK, at);
        }
        unmap();
        host.sim.fault_at = 0;
        host_end(&host);
    }
}

/* A register that stays out of order: the host learns that it must not free the memory. */
static void memory_that_cannot_be_taken_back_is_reported(void **state)
{
    (void)state;
    set_up("skylake");
    host.sim.expect_faults = true;
    host.sim.fault_address = DS_AREA;
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, NULL), UPMU_ERR_PORT);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    host_sample(&host, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    host.sim.fault_address = PEBS_ENABLE;
    assert_int_equal(upmu_session_stop(&host.session), UPMU_ERR_PORT);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_ERR_PORT);
    host_no_violation(&host);
}

/* ---- What the hardware has written is input ---- */

static unsigned damage;

static bool damage_records(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                           uint8_t *bytes, uint32_t length)
{
    static const uint64_t sizes[] = {UINT64_C(0), UINT64_C(8) << 48, UINT64_C(0xffff) << 48,
                                     UINT64_C(32) << 48 | 0x20, UINT64_C(56) << 48 | 8};
    static const uint64_t indices[] = {BUFFER - 8, BUFFER + BYTES + 8, BUFFER + 12, ~UINT64_C(0)};
    bool fine = memory(sim, cpu, kind, address, bytes, length);

    if (!damage || !(kind & UPMU_SIM_MEMORY_WRITE))
        return fine;
    if (damage <= 5 && address == BUFFER)
        memcpy(buffer[0], &sizes[damage - 1], 8);
    if (damage > 5 && address == AREA + 40)
        memcpy(area[0] + 40, &indices[damage - 6], 8);
    return fine;
}

/* Catches: a size or an index that is believed; an event that waits for ever for a record that cannot be read. */
static void a_damaged_record_costs_one_sample(void **state)
{
    (void)state;
    for (unsigned kind = 1; kind <= 9; kind++) {
        struct upmu_sample sample;

        set_up("icelake");
        host.sim.memory = damage_records;
        host_sample(&host, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
        damage = kind;
        run_at(CODE, 1500);
        damage = 0;
        assert_int_equal(upmu_cpu_records(&host.cpu[0]).strange, 1, kind);
        assert_false(upmu_ring_next(&host.session.ring, &sample));
        assert_int_equal(host.session.set.tally[0].lost, 1, kind);
        run_at(CODE + 6000, 1500);
        assert_true(upmu_ring_next(&host.session.ring, &sample));
        assert_int_equal(sample.ip, CODE + 4 * 2000, kind);
        assert_false(upmu_ring_next(&host.session.ring, &sample));
        assert_int_equal(host_value(&host.session, 0), 3000, kind);
        finish();
    }
}

/*
 * Formats 1 and 2: two counters that overflow at once share a record, and it cannot be known whose it is.  Both count
 * on, without a sample.
 */
static void a_shared_record_is_of_no_event(void **state)
{
    (void)state;
    set_up("nehalem");
    host_add(&host, 0, "INST_RETIRED.ANY_P:p", 1000);
    host_add(&host, 1, "INST_RETIRED.ANY_P:p", 1000);
    for (unsigned i = 0; i < 2; i++) {
        host_attach(&host, i, 0);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
    }
    run_at(CODE, 3500);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).shared, 3);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).taken, 0);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_sample sample;

        assert_false(upmu_ring_next(&host.sessions[i].ring, &sample));
        assert_int_equal(host.sessions[i].set.tally[0].lost, 3, i);
        assert_int_equal(host_value(&host.sessions[i], 0), 3500, i);
    }
    finish();
}

/* Records that name no counter, and a threshold that the status does not show (Skylake): one event has its samples. */
static void a_record_is_found_without_its_bits(void **state)
{
    static const struct {
        const char *profile, *event;
        unsigned rule;
    } cases[] = {{"nehalem", "INST_RETIRED.ANY_P:p", UPMU_SIM_RULE_HAZARD_PEBS_NO_STATUS},
                 {"skylake", "MEM_INST_RETIRED.ALL_LOADS:pp", UPMU_SIM_RULE_HAZARD_PEBS_HIDDEN}};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        set_up(cases[i].profile);
        host.sim.rule[cases[i].rule] = 1;
        host_sample(&host, cases[i].event, 100);
        run_at(CODE, 5050);
        assert_int_equal(host_drain(&host, NULL), 50, i);
        assert_int_equal(host.answered[UPMU_PMI_HANDLED], 50, i);
        assert_int_equal(host_value(&host.session, 0), 5050, i);
        finish();
    }
}

/* ---- Beside other sessions, guests, programs ---- */

/* Ordinary events in the same session and in others are sampled and counted as if nothing were precise. */
static void ordinary_events_beside_it_keep_their_samples(void **state)
{
    struct upmu_sampling sampling = {.period = 250};
    struct upmu_sample sample;
    unsigned precise = 0, ordinary = 0;

    (void)state;
    set_up("skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "MEM_INST_RETIRED.ALL_LOADS:pp,instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    host_add(&host, 7, "cycles", 0);
    host_attach(&host, 7, 0);
    assert_int_equal(upmu_session_start(&host.sessions[7]), UPMU_OK);
    run_at(CODE, 1001);
    while (upmu_ring_next(&host.session.ring, &sample)) {
        if (sample.events == 1) {
            assert_int_equal(sample.flags, UPMU_SAMPLE_PRECISE | UPMU_SAMPLE_EXACT);
            assert_int_equal(sample.ip, CODE + 4 * 250 * ++precise);
            assert_int_equal(sample.sp, CODE + 0x800000);
        } else {
            assert_int_equal(sample.events, 2);
            assert_int_equal(sample.flags, 0);
            assert_int_equal(sample.ip, CODE + 4 * 250 * ++ordinary);
        }
    }
    assert_int_equal(precise, 4);
    assert_int_equal(ordinary, 4);
    assert_int_equal(host_value(&host.session, 0), 1001);
    assert_int_equal(host_value(&host.session, 1), 1001);
    assert_int_equal(host_value(&host.sessions[7], 0), 2002);
    finish();
}

/* Two events have their records at one instruction: each has a sample of its own. */
static void two_precise_events_of_one_interrupt_have_two_samples(void **state)
{
    struct upmu_sampling periods[] = {{.period = 249}, {.period = 250}};
    struct upmu_sample sample;

    (void)state;
    set_up("skylake");
    assert_int_equal(upmu_set_add(&host.session.set, "MEM_INST_RETIRED.ALL_LOADS:pp", &periods[0]), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "INST_RETIRED.PREC_DIST:ppp", &periods[1]), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, &host.session);
    run_at(CODE, 250);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(upmu_ring_next(&host.session.ring, &sample));
        assert_int_equal(sample.events, 1u << i);
        assert_int_equal(sample.ip, CODE + 4 * 249, i);
    }
    assert_false(upmu_ring_next(&host.session.ring, &sample));
    finish();
}

/* A guest runs with no counter that stores; an overflow that had armed a counter before does not end its samples. */
static void a_guest_gets_no_record_and_costs_no_sample(void **state)
{
    (void)state;
    for (unsigned before = 995; before <= 1005; before++) {
        struct upmu_sample sample;

        set_up("skylake");
        host_sample(&host, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
        run_at(CODE, before);
        assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_OK);
        assert_int_equal(peek(PEBS_ENABLE), 0);
        host.sim.cpu[0].guest = true;
        run_at(0x1000, 5000);
        host.sim.cpu[0].guest = false;
        assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
        run_at(CODE + 4 * before, 2500 - before);
        assert_int_equal(host_value(&host.session, 0), 2500, before);
        for (unsigned i = 1; i <= 2; i++) {
            assert_true(upmu_ring_next(&host.session.ring, &sample));
            if (sample.ip < CODE + 4000 * i || sample.ip > CODE + 4000 * i + 8)
                fail_msg("guest after %u: sample %u is of instruction %u", before, i, (unsigned)(sample.ip - CODE) / 4);
        }
        assert_false(upmu_ring_next(&host.session.ring, &sample));
        finish();
    }
}

static void a_program_sees_no_address_of_the_kernel(void **state)
{
    struct upmu_sample sample;

    (void)state;
    set_up("skylake");
    upmu_session_hide_kernel(&host.session, true);
    host_sample(&host, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    run_at(CODE, 1500);
    assert_true(upmu_ring_next(&host.session.ring, &sample));
    assert_int_equal(sample.flags, UPMU_SAMPLE_PRECISE | UPMU_SAMPLE_EXACT | UPMU_SAMPLE_HIDDEN);
    assert_true(!sample.ip && !sample.sp);
    run_at(0x400000, 1000);
    assert_true(upmu_ring_next(&host.session.ring, &sample));
    assert_int_equal(sample.flags, UPMU_SAMPLE_PRECISE | UPMU_SAMPLE_EXACT | UPMU_SAMPLE_USER);
    assert_int_equal(sample.ip, 0x400000 + 4 * 500);
    finish();
}

/* ---- Refusals ---- */

static void memory_that_cannot_be_is_refused(void **state)
{
    static const char *const none[] = {"merom_early", "ptl_p", "zen4", "p6"};
    struct upmu_record_memory of, right = memory_of(0);
    struct upmu_why why;

    (void)state;
    prepare("skylake");
    for (unsigned kind = 0; kind < 11; kind++) {
        of = right;
        if (kind == 0)
            of.area = NULL;
        else if (kind == 1)
            of.records = NULL;
        else if (kind == 2)
            of.area_linear += 8;
        else if (kind == 3)
            of.records_linear += 64;
        else if (kind == 4)
            of.record_bytes = 0;
        else if (kind == 5)
            of.record_bytes = 5000;
        else if (kind == 6)
            of.record_bytes = UPMU_RECORD_MOST_BYTES + 4096;
        else if (kind == 7)
            of.records_linear = of.area_linear;
        else if (kind == 8)
            of.area_linear = UINT64_C(0x0200000000000000);
        else if (kind == 9)
            of.records = of.area;
        else
            of.records_linear = of.area_linear - 4096, of.record_bytes = 8192;
        host_forget_cost(&host);
        assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &of, &why), UPMU_ERR_INVALID, kind);
        host_costs(&host, "a refusal", 0, 0);
    }
    host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 0; /* other software's trace, whose memory the test has not */
    upmu_sim_poke(&host.sim, 0, 0x1d9, 0xc0);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &right, &why), UPMU_ERR_STATE);
    assert_string_equal(why.word, "other software has the debug store");
    upmu_sim_poke(&host.sim, 0, 0x1d9, 0);
    upmu_sim_poke(&host.sim, 0, PEBS_ENABLE, 4);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &right, &why), UPMU_ERR_STATE);
    upmu_sim_poke(&host.sim, 0, PEBS_ENABLE, 0);
    assert_int_equal(peek(DS_AREA), 0);
    give(0);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &right, &why), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], true), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK); /* the memory is used again at the end of the sleep */
    assert_int_equal(upmu_cpu_world_by_hardware(&host.cpu[0], true), UPMU_ERR_STATE);
    assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK);
    finish();
    for (unsigned i = 0; i < 4; i++) {
        prepare(none[i]);
        assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &right, &why), UPMU_ERR_UNSUPPORTED, i);
        assert_string_equal(why.word, "no precise records that upmu drives");
        host_end(&host);
    }
}

/* Catches: memory in a form that the hardware of a CPU without DTES64 reads as other addresses. */
static void a_debug_store_of_32_bits_is_refused(void **state)
{
    static struct upmu_sim_profile narrow;
    struct upmu_record_memory of = memory_of(0);
    struct upmu_why why;

    (void)state;
    host_prepare(&host, "core2");
    narrow = *host.sim.profile;
    narrow.flags |= UPMU_SIM_NARROW_DS;
    host.sim.profile = &narrow;
    host_start(&host);
    host_forget_cost(&host);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &of, &why), UPMU_ERR_UNSUPPORTED);
    assert_string_equal(why.word, "no precise records that upmu drives");
    host_costs(&host, "a refusal", 0, 0);
    host_end(&host);
}

/* Catches: a register that faults, which says nothing, is taken for format 0. */
static void a_format_that_cannot_be_read_is_refused(void **state)
{
    static const char *const profiles[] = {"core2", "bonnell_odd", "skylake"};
    struct upmu_record_memory of = memory_of(0);
    struct upmu_why why;

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        host_prepare(&host, profiles[i]);
        host.sim.fault_address = 0x345;
        host_start(&host);
        host.sim.fault_address = 0;
        assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &of, &why), UPMU_ERR_UNSUPPORTED, i);
        assert_string_equal(why.word, "PERF_CAPABILITIES cannot be read");
        host_end(&host);
    }
}

/* Catches: an event that is sampled as an ordinary one, or on a counter that stores no records, without a word. */
static void an_event_that_cannot_be_precise_is_refused(void **state)
{
    static const struct {
        const char *profile, *event, *text;
        enum upmu_status status;
    } cases[] = {
        {"nehalem", "INST_RETIRED.ANY_P:pp", "possible: precise=1", UPMU_ERR_NOT_PRECISE},
        {"knl", "cpu/event=0xc0,precise=2/", "possible: precise=1", UPMU_ERR_NOT_PRECISE}, /* format 1 */
        {"skylake", "LONGEST_LAT_CACHE.MISS:p", "not precise", UPMU_ERR_NOT_PRECISE},
        {"ptl_p", "MEM_INST_RETIRED.ALL_LOADS:pp", "upmu does not drive this PMU's PEBS", UPMU_ERR_NOT_PRECISE},
        {"merom_early", "INST_RETIRED.ANY_P:p", "upmu does not drive this PMU's PEBS", UPMU_ERR_NOT_PRECISE},
        {"skylake", "MEM_INST_RETIRED.ALL_LOADS:pp", "upmu_cpu_use_records", UPMU_ERR_HOOK_MISSING},
    };
    struct upmu_sampling sampling = {.period = 1000};
    char text[200];

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        prepare(cases[i].profile);
        host_forget_cost(&host);
        assert_int_equal(upmu_set_add(&host.session.set, cases[i].event, &sampling), cases[i].status, i);
        (void)upmu_why_text(&host.session.why, text, sizeof text);
        if (!strstr(text, cases[i].text))
            fail_msg("%s, %s: \"%s\"", cases[i].profile, cases[i].event, text);
        host_costs(&host, "a refusal", 0, 0);
        host_end(&host);
    }
    set_up("skylake");
    assert_int_equal(upmu_session_world(&host.session, UPMU_WORLD_GUEST), UPMU_OK);
    assert_int_equal(upmu_set_add(&host.session.set, "MEM_INST_RETIRED.ALL_LOADS:pp", &sampling), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_set_add(&host.other.set, "MEM_INST_RETIRED.ALL_LOADS:pp", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_world(&host.other, UPMU_WORLD_BOTH), UPMU_ERR_UNSUPPORTED);
    finish();
}

/*
 * From Golden Cove and Gracemont on a counter without a shadow needs periods from 128 on, at each level.  Catches: a
 * shorter period that is accepted, or raised without a word; a limit where the event cannot have such a counter.
 */
static void a_short_period_without_a_shadow_is_refused(void **state)
{
    static const struct {
        const char *profile, *event;
        bool limited;
    } cases[] = {
        {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS:p", true},
        {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS:ppp", true},
        {"sapphirerapids", "INST_RETIRED.PREC_DIST:ppp", true},
        {"sapphirerapids", "INST_RETIRED.ANY_P:pp", false}, /* counters 1 to 7 */
        {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS:pp:counter=1", false},
        {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS", false}, /* not precise */
        {"adl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp", true},
        {"adl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", false},
        {"mtl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", true},
        {"lnl_p", "MEM_INST_RETIRED.ALL_LOADS:pp:counter=1", false},
        {"icelake", "INST_RETIRED.PREC_DIST:ppp", false},
        {"tremont", "MEM_UOPS_RETIRED.ALL_LOADS:ppp", false},
    };
    struct upmu_sampling sampling = {.period = 127};
    char text[200];

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_up(cases[i].profile);
        sampling.period = 127;
        assert_int_equal(upmu_set_add(&host.session.set, cases[i].event, &sampling),
                         cases[i].limited ? UPMU_ERR_INVALID : UPMU_OK, i);
        (void)upmu_why_text(&host.session.why, text, sizeof text);
        if (cases[i].limited && !strstr(text, ": precise events here have periods from 128 on"))
            fail_msg("%s, %s: \"%s\"", cases[i].profile, cases[i].event, text);
        if (cases[i].limited) {
            sampling.period = 128;
            assert_int_equal(upmu_set_add(&host.session.set, cases[i].event, &sampling), UPMU_OK, i);
            assert_int_equal(upmu_set_wait(&host.session.set, 0, 5, 127), UPMU_ERR_INVALID, i);
            assert_int_equal(upmu_set_wait(&host.session.set, 0, 5, 128), UPMU_OK, i);
            assert_int_equal(host.session.set.tally[0].least_log2, 7, i); /* nor is the rest loaded shorter */
        }
        host_end(&host);
    }
}

/* A thread comes to a CPU that was given no memory: it waits there, and samples again where there is memory. */
static void a_cpu_without_memory_lets_precise_threads_wait(void **state)
{
    (void)state;
    host_prepare(&host, "skylake");
    host.sim.memory = memory;
    is_mapped = true;
    outside = 0;
    host_machine(&host);
    host_take_over(&host, 2, false);
    host_threads(&host, 3);
    upmu_sim_switch_cpu(&host.sim, 0);
    give(0);
    host_add(&host, 0, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    for (unsigned i = 0; i < 4; i++) {
        unsigned cpu = i & 1;

        host_thread_switch(&host, cpu, 0);
        assert_int_equal(host.session.state, cpu ? UPMU_SESSION_WAITING : UPMU_SESSION_RUNNING, i);
        run_at(CODE, 1500);
        host_thread_switch(&host, cpu, cpu + 1);
    }
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(host_drain(&host, NULL), 2);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
    assert_int_equal(outside, 0);
}

/*
 * A session waits from the moment when its thread comes to a CPU without memory.  Catches: a wait that begins at time
 * 0, which the next sleep or start over of the CPU adds to the enabled time.
 */
static void a_wait_without_memory_begins_when_the_thread_comes(void **state)
{
    uint64_t begun_ns;

    (void)state;
    prepare("skylake");
    host_end(&host);
    host_machine(&host);
    host_take_over(&host, 2, false);
    host_threads(&host, 3);
    upmu_sim_switch_cpu(&host.sim, 0);
    give(0);
    host_add(&host, 0, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[0], NULL), UPMU_OK);
    begun_ns = host.sim.now_ns;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    host.sim.now_ns += 1000000;
    host_thread_switch(&host, 1, 0);
    assert_int_equal(host.session.state, UPMU_SESSION_WAITING);
    host.sim.now_ns += 1000000;
    assert_int_equal(upmu_cpu_changed(&host.cpu[1]), UPMU_OK);
    assert_compare(host.session.enabled_ns, <=, host.sim.now_ns - begun_ns);
    host_thread_switch(&host, 1, 2);
    upmu_sim_switch_cpu(&host.sim, 0);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    host_end(&host);
}

/* Two CPUs, of which CPU 0 has memory; the thread's session, which samples four precise events, comes to CPU 1. */
static void come_without_memory(bool shares)
{
    static const char loads[] = "MEM_INST_RETIRED.ALL_LOADS:pp";

    prepare("skylake");
    host_end(&host);
    host_machine(&host);
    host_take_over(&host, 2, false);
    host_threads(&host, 3);
    give(0);
    for (unsigned i = 0; i < 4; i++)
        host_add(&host, 0, loads, 1000);
    assert_int_equal(upmu_session_share(&host.session, shares), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&host.session, &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
}

static void end_without_memory(void)
{
    host_thread_switch(&host, 1, 2);
    assert_int_equal(upmu_session_close(&host.session), UPMU_OK);
    upmu_sim_switch_cpu(&host.sim, 0);
    host_end(&host);
    assert_int_equal(outside, 0);
}

/*
 * Sharing sessions of a CPU without memory run in turn as if the thread's precise session were not there, which shares
 * and waits; with memory it has turns, too.  Catches: counters kept for a session that cannot run.
 */
static void a_wait_without_memory_takes_no_turn_of_others(void **state)
{
    (void)state;
    for (unsigned ran = 0; ran < 2; ran++) { /* without a place, or with one of CPU 0 */
        unsigned turns[4] = {0};

        come_without_memory(true);
        for (unsigned i = 1; i < 4; i++)
            host_share(&host, i, 1, "branches,branch-misses");
        if (ran) {
            host_thread_switch(&host, 0, 0);
            assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
            host_thread_switch(&host, 0, 1);
        }
        host_thread_switch(&host, 1, 0);
        assert_string_equal(host.session.why.word, "upmu_cpu_use_records");
        for (unsigned tick = 0; tick < 60; tick++) {
            if (tick == 30)
                give(1);
            host.sim.now_ns += 1000000;
            assert_int_equal(upmu_cpu_tick(&host.cpu[1]), UPMU_OK);
            for (unsigned i = 0; i < 4; i++)
                turns[i] += host.sessions[i].state == UPMU_SESSION_RUNNING;
            if (tick < 30) {
                assert_int_equal(turns[0], 0, ran, tick);
                assert_int_equal(turns[1] + turns[2] + turns[3], 2 * (tick + 1), ran, tick);
            }
        }
        assert_compare(turns[0], >=, 10, ran);
        for (unsigned i = 1; i < 4; i++)
            assert_compare(turns[i], >=, 18 + 5, ran, i);
        end_without_memory();
    }
}

/* Four sessions that cannot run come first, as many as a switch makes searches; the fifth one finds its place. */
static void a_wait_without_memory_leaves_a_switch_to_others(void **state)
{
    (void)state;
    come_without_memory(false);
    for (unsigned i = 1; i < 6; i++) {
        if (i < 5)
            host_add(&host, i, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
        else
            host_add(&host, i, "branches", 0);
        assert_int_equal(upmu_session_limit_cpu(&host.sessions[i], &host.cpu[1]), UPMU_OK);
        assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[0], NULL), UPMU_OK);
    }
    for (unsigned i = 1; i < 6; i++)
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
    host_thread_switch(&host, 1, 0);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(host.sessions[i].state, UPMU_SESSION_WAITING, i);
    assert_int_equal(host.sessions[5].state, UPMU_SESSION_RUNNING);
    host_thread_switch(&host, 1, 2);
    for (unsigned i = 1; i < 6; i++)
        assert_int_equal(upmu_session_close(&host.sessions[i]), UPMU_OK);
    end_without_memory();
}

/* Other software has the debug store when it gives the CPU back: a precise session cannot go on, and says why. */
static void a_change_that_loses_the_memory_is_an_error(void **state)
{
    (void)state;
    set_up("skylake");
    host_sample(&host, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    run_at(CODE, 1500);
    host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 0; /* other software's trace, whose memory the test has not */
    upmu_sim_poke(&host.sim, 0, 0x1d9, 0xc0);
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_ERR_PORT);
    assert_int_equal(host.session.state, UPMU_SESSION_STOPPED);
    assert_int_equal(host.session.error, UPMU_ERR_HOOK_MISSING);
    assert_string_equal(host.session.why.word, "upmu_cpu_use_records");
    upmu_sim_poke(&host.sim, 0, 0x1d9, 0);
    finish();
}

/* A thread's session waits where the memory is lost, and runs where there is some. */
static void a_change_that_loses_the_memory_lets_threads_wait(void **state)
{
    (void)state;
    come_without_memory(false);
    upmu_sim_switch_cpu(&host.sim, 1);
    give(1);
    host_thread_switch(&host, 1, 0);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    host.sim.rule[UPMU_SIM_RULE_BTS_STORES] = 0; /* other software's trace, whose memory the test has not */
    upmu_sim_poke(&host.sim, 1, 0x1d9, 0xc0);
    assert_int_equal(upmu_cpu_changed(&host.cpu[1]), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_WAITING);
    assert_string_equal(host.session.why.word, "upmu_cpu_use_records");
    upmu_sim_poke(&host.sim, 1, 0x1d9, 0);
    host_thread_switch(&host, 1, 2);
    host_thread_switch(&host, 0, 0);
    assert_int_equal(host.session.state, UPMU_SESSION_RUNNING);
    host_thread_switch(&host, 0, 1);
    end_without_memory();
}

/* Of two sessions of a thread that do not share, the precise one cannot run; the other one has each free counter. */
static void a_wait_without_memory_leaves_a_tick_to_others(void **state)
{
    (void)state;
    come_without_memory(false);
    host_add(&host, 1, "branches,branches:u,branches:k,branch-misses", 0);
    host_attach(&host, 1, 1);
    assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    host_add(&host, 2, "branches,branch-misses", 0);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[2], &host.threads[0], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[2]), UPMU_OK);
    host_thread_switch(&host, 1, 0);
    assert_int_equal(host.sessions[2].state, UPMU_SESSION_WAITING);
    assert_int_equal(upmu_session_stop(&host.sessions[1]), UPMU_OK);
    assert_int_equal(upmu_cpu_tick(&host.cpu[1]), UPMU_OK);
    assert_int_equal(host.session.state, UPMU_SESSION_WAITING);
    assert_int_equal(host.sessions[2].state, UPMU_SESSION_RUNNING);
    end_without_memory();
}

/* All counters are of sharing sessions: a start says all the same that the CPU has no memory, and displaces none. */
static void a_start_without_memory_says_so_beside_sharing_sessions(void **state)
{
    (void)state;
    come_without_memory(false);
    for (unsigned i = 1; i < 3; i++)
        host_share(&host, i, 1, "branches,branch-misses");
    host_share(&host, 3, 1, "instructions,cycles,ref-cycles");
    upmu_sim_switch_cpu(&host.sim, 1);
    give(1);
    host_add(&host, 5, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    host_attach(&host, 5, 1);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[1], NULL, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&host.sessions[5]), UPMU_ERR_HOOK_MISSING);
    assert_string_equal(host.sessions[5].why.word, "upmu_cpu_use_records");
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(host.sessions[i].state, UPMU_SESSION_RUNNING, i);
    end_without_memory();
}

/*
 * A precise event lets its session count in the host alone, and the session keeps that when the event is removed, as it
 * keeps a world that an event names (upmu/abi.h).  The host may choose again.
 */
static void a_session_keeps_the_world_of_a_precise_event(void **state)
{
    (void)state;
    set_up("skylake");
    host_add(&host, 0, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    assert_int_equal(upmu_session_world(&host.session, UPMU_WORLD_BOTH), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_set_clear(&host.session.set), UPMU_OK);
    assert_int_equal(host.session.world, UPMU_WORLD_HOST);
    assert_int_equal(upmu_session_world(&host.session, UPMU_WORLD_BOTH), UPMU_OK);
    host_add(&host, 0, "instructions", 0);
    host_attach(&host, 0, 0);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_OK);
    host.sim.cpu[0].guest = true;
    run_at(0x1000, 5000);
    host.sim.cpu[0].guest = false;
    assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
    assert_int_equal(host_value(&host.session, 0), 5000);
    finish();
}

/* ---- What the simulated host has shown ---- */

static enum upmu_pmi answer_to_another(void)
{
    enum upmu_pmi answer;

    upmu_sim_irqs(&host.sim, false);
    answer = upmu_pmi_handle(&host.cpu[0], NULL);
    upmu_sim_irqs(&host.sim, true);
    return answer;
}

/* The status bit of records of before is none of ours.  Catches: an interrupt of another source that is taken. */
static void records_of_before_take_no_interrupt(void **state)
{
    (void)state;
    prepare("skylake");
    upmu_sim_poke(&host.sim, 0, 0x38e, UINT64_C(1) << 62);
    give(0);
    host.sim.now_ns += 1000000000;
    assert_int_equal(answer_to_another(), UPMU_PMI_NOT_OURS);
    upmu_sim_poke(&host.sim, 0, 0x38e, UINT64_C(1) << 62);
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    host.sim.now_ns += 1000000000;
    assert_int_equal(answer_to_another(), UPMU_PMI_NOT_OURS);
    finish();
}

/*
 * A precise event that stops between its overflow and its record leaves the status bit of its counter, and no interrupt
 * comes.  Catches: an interrupt of another source, much later, that is taken for it.
 */
static void an_overflow_without_its_record_takes_no_interrupt(void **state)
{
    (void)state;
    set_up("icelake");
    host_sample(&host, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    run_at(CODE, 1000);
    assert_int_equal(host.answers, 0);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(peek(0x38e), 0);
    host.sim.now_ns += 1000000000;
    assert_int_equal(answer_to_another(), UPMU_PMI_NOT_OURS);
    assert_int_equal(host_value(&host.session, 0), 1000);
    finish();
}

/* A throttled event stores no record; the samples that it misses are in `lost` when it stops. */
static void a_throttled_event_says_what_it_loses(void **state)
{
    const struct upmu_tally *tally = &host.session.set.tally[0];
    uint64_t count;
    unsigned samples = 0;

    (void)state;
    set_up("skylake");
    host_sample(&host, "MEM_INST_RETIRED.ALL_LOADS:pp", 10);
    for (unsigned i = 0; i < 2000 && !tally->throttled; i++) {
        run_at(CODE, 10);
        samples += host_drain(&host, NULL);
    }
    assert_true(tally->throttled);
    run_at(CODE, 5000);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    samples += host_drain(&host, NULL);
    count = host_value(&host.session, 0);
    assert_int_equal(tally->overflows, count / 10);
    assert_int_equal(samples + tally->lost, count / 10);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK); /* and none comes twice */
    run_at(CODE, 100);
    samples += host_drain(&host, NULL);
    assert_int_equal(samples + tally->lost, (count + 99) / 10);
    finish();
}

/* So many of this event, and no other. */
static void run_event(uint8_t event, uint8_t umask, uint64_t count)
{
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.other = {{.count = count, .event = event, .umask = umask}},
                                                        .ip = CODE,
                                                        .ip_step = 4});
}

static bool names_both;

/* The next record of format 1 names both counters: word 18 is the status. */
static bool name_both(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                      uint8_t *bytes, uint32_t length)
{
    uint64_t next;

    if (address == AREA + 40 && (kind & UPMU_SIM_MEMORY_WRITE) && names_both) {
        memcpy(&next, bytes, sizeof next);
        buffer[0][next - BUFFER - 176 + 8 * 18] |= 3;
        names_both = false;
    }
    return memory(sim, cpu, kind, address, bytes, length);
}

/* Stop `sessions` in turn: the records lie in the buffer until the last one has looked at them. */
static void stop_in_turn(unsigned sessions)
{
    for (unsigned i = 0; i < sessions; i++)
        assert_int_equal(upmu_session_stop(&host.sessions[i]), UPMU_OK);
}

/* A record that several plans look at is counted by the first: shared, damaged, or of a counter that stores none. */
static void a_record_of_no_event_is_counted_once(void **state)
{
    static const struct {
        const char *profile, *event;
        unsigned shared, strange, again; /* counted at first; `shared` of the next records */
    } cases[] = {{"nehalem", "INST_RETIRED.ANY_P:p", 1, 0, 1},
                 {"nehalem", "INST_RETIRED.ANY_P:p", 0, 1, 1},
                 {"skylake", "MEM_INST_RETIRED.ALL_LOADS:pp", 0, 3, 0}};

    (void)state;
    for (unsigned c = 0; c < 3; c++) {
        const uint64_t index = BUFFER + 12, nobody = 0;
        struct upmu_record_counts counts;

        set_up(cases[c].profile);
        host.sim.cpu[0].in_nmi = true;
        for (unsigned i = 0; i < 3; i++) {
            host_add(&host, i, cases[c].event, 1000);
            host_attach(&host, i, 0);
            assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
        }
        run_at(CODE, 1500);
        if (c == 1)
            memcpy(area[0] + 40, &index, 8);
        for (unsigned i = 0; c == 2 && i < 3; i++)
            memcpy(buffer[0] + i * host.cpu[0].meter.pmu->record_bytes + 8 * 18, &nobody, 8);
        stop_in_turn(3);
        counts = upmu_cpu_records(&host.cpu[0]);
        assert_int_equal(counts.shared, cases[c].shared, c);
        assert_int_equal(counts.strange, cases[c].strange, c);
        assert_int_equal(counts.taken, 0, c);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
        run_at(CODE, 1000);
        stop_in_turn(3);
        assert_int_equal(upmu_cpu_records(&host.cpu[0]).shared, cases[c].shared + cases[c].again, c);
        host.sim.cpu[0].in_nmi = false;
        finish();
    }
}

/*
 * A record of format 1 names every counter that has overflowed, also one whose own record comes with its next event.
 * Catches: a load of that counter, which the hardware undoes with the record: its count gets a period too much.
 */
static void a_counter_that_waits_for_its_record_is_left_alone(void **state)
{
    (void)state;
    set_up("nehalem");
    host_add(&host, 0, "INST_RETIRED.ANY_P:p", 1000);
    host_add(&host, 1, "BR_INST_RETIRED.ALL_BRANCHES:p", 500);
    for (unsigned i = 0; i < 2; i++) {
        host_attach(&host, i, 0);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
    }
    host.sim.rule[UPMU_SIM_RULE_PEBS_COLLIDES] = 0;
    host.sim.memory = name_both;
    names_both = true;
    run_event(0xc4, 4, 500); /* overflows */
    run_event(0xc0, 1, 1001);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).shared, 1);
    run_event(0xc4, 4, 100); /* the first one is recorded */
    assert_int_equal(host_value(&host.sessions[0], 0), 1001);
    assert_int_equal(host_value(&host.sessions[1], 0), 600);
    assert_int_equal(host.sessions[0].set.tally[0].lost, 1);
    assert_int_equal(host.sessions[1].set.tally[0].lost, 0);
    assert_int_equal(host.sessions[1].set.tally[0].overflows, 1);
    finish();
}

/* Memory that was taken back may be freed.  Catches: an address of it that a CPU keeps. */
static void memory_that_is_back_is_not_named(void **state)
{
    const struct upmu_sampling sampling = {.period = 100, .flags = UPMU_SAMPLING_PARTS(UPMU_PART_REGISTERS)};
    const uintptr_t *word = (const uintptr_t *)(const void *)&host.cpu[0];

    (void)state;
    set_up("skylake");
    host_add(&host, 0, "instructions", 0);
    assert_int_equal(upmu_set_add(&host.session.set, "MEM_INST_RETIRED.ALL_LOADS:pp", &sampling), UPMU_OK);
    host_attach(&host, 0, 0);
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run_at(CODE, 1000);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, NULL), UPMU_OK);
    for (unsigned i = 0; i < sizeof host.cpu[0] / sizeof *word; i++) {
        assert_compare(word[i] - (uintptr_t)area[0], >=, sizeof area[0], i);
        assert_compare(word[i] - (uintptr_t)buffer[0], >=, sizeof buffer[0], i);
    }
    finish();
}

/* From Crestmont on an E-core's counters 0 and 1 record the overflow itself.  Catches: a count of one too many each. */
static void two_counters_of_e_cores_have_no_shadow(void **state)
{
    struct upmu_sample sample;

    (void)state;
    for (unsigned counter = 0; counter < 3; counter++) {
        const char *const events[] = {"INST_RETIRED.ANY_P:pp:counter=0", "INST_RETIRED.ANY_P:pp:counter=1",
                                      "INST_RETIRED.ANY_P:pp:counter=2"};

        set_up("lnl_e");
        host_sample(&host, events[counter], 200);
        run_at(CODE, 10000);
        while (upmu_ring_next(&host.session.ring, &sample))
            assert_int_equal(((sample.ip - CODE) / 4 + 1) % 200, counter == 2, counter);
        assert_int_equal(host_value(&host.session, 0), 10000, counter);
        finish();
    }
}

/*
 * Whether a counter has a shadow is a property of the model, and not of the format that its register has: a hypervisor
 * may show another one.  Catches: a count of one too many for each record; short periods that are accepted.
 */
static void the_model_says_which_counter_has_a_shadow(void **state)
{
    static struct upmu_sim_profile older;
    static const char *const profiles[] = {"adl_e", "mtl_e", "sapphirerapids"};
    static const char *const events[] = {"MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=0",
                                         "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=0",
                                         "MEM_INST_RETIRED.ALL_LOADS:pp:counter=0"};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct upmu_sampling sampling = {.period = 127};

        host_prepare(&host, profiles[i]);
        older = *host.sim.profile;
        older.capabilities = (older.capabilities & ~0xf00u) | 0x400u;
        host.sim.profile = &older;
        host.sim.memory = memory;
        is_mapped = true;
        outside = 0;
        host_start(&host);
        give(0);
        assert_int_equal(upmu_set_add(&host.session.set, events[i], &sampling), UPMU_ERR_INVALID, i);
        host_sample(&host, events[i], 200);
        run_at(CODE, 10000);
        assert_int_equal(host_drain(&host, NULL), 50, i);
        assert_int_equal(host_value(&host.session, 0), 10000, i);
        finish();
    }
}

/* ---- Costs ---- */

static void costs_are_those_of_the_manual(void **state)
{
    (void)state;
    set_up("skylake");
    host_threads(&host, 2);
    host_add(&host, 0, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    host_add(&host, 1, "instructions", 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_session_attach_thread(&host.sessions[i], &host.threads[i], NULL), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
    }
    for (unsigned i = 0; i < 4; i++)
        host_thread_switch(&host, 0, i & 1);
    host_forget_cost(&host);
    host_thread_switch(&host, 0, 0);
    host_costs(&host, "a switch to a precise event", 3, 1);
    run_at(CODE, 500);
    host_forget_cost(&host);
    host_thread_switch(&host, 0, 1);
    host_costs(&host, "a switch from a precise event", 3, 1);
    host_thread_switch(&host, 0, 0);
    run_at(CODE, 600);
    assert_int_equal(host.handler.writes, 5);
    assert_int_equal(host.handler.reads, 1);
    assert_int_equal(host.handler.rdpmcs, 1);
    assert_int_equal(host.handler.rearms, 1);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_session_close(&host.sessions[i]), UPMU_OK);
    finish();
}

/*
 * The host reserves a counter whose records a former kernel left enabled, and ends them.  Catches: bits of the host's
 * that the library's next write of the register takes for ones that never changed, so that the end restores them.
 */
static void records_that_the_host_ended_stay_ended(void **state)
{
    (void)state;
    prepare_left("skylake", 4);
    assert_int_equal(upmu_cpu_owner(&host.cpu[0], 2), UPMU_OWNER_FIRMWARE);
    assert_int_equal(upmu_cpu_reserve(&host.cpu[0], 4), UPMU_OK);
    upmu_sim_poke(&host.sim, 0, PEBS_ENABLE, 0);
    give(0);
    assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_OK);
    upmu_cpu_unreserve(&host.cpu[0], 4);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sample_is_the_instruction_of_its_event),
        cmocka_unit_test(core_2_has_a_page_of_records_and_counter_0),
        cmocka_unit_test(fixed_counters_store_records_and_count_on),
        cmocka_unit_test(each_record_is_a_sample_of_its_own_session),
        cmocka_unit_test(a_switch_between_overflow_and_record_loses_no_sample),
        cmocka_unit_test(the_hardware_stores_nothing_once_the_memory_is_back),
        cmocka_unit_test(in_a_sleep_the_hardware_has_no_address),
        cmocka_unit_test(an_emergency_ends_all_records),
        cmocka_unit_test(a_fault_leaves_no_address_behind),
        cmocka_unit_test(memory_that_cannot_be_taken_back_is_reported),
        cmocka_unit_test(a_damaged_record_costs_one_sample),
        cmocka_unit_test(a_shared_record_is_of_no_event),
        cmocka_unit_test(a_record_of_no_event_is_counted_once),
        cmocka_unit_test(a_record_is_found_without_its_bits),
        cmocka_unit_test(ordinary_events_beside_it_keep_their_samples),
        cmocka_unit_test(two_precise_events_of_one_interrupt_have_two_samples),
        cmocka_unit_test(a_guest_gets_no_record_and_costs_no_sample),
        cmocka_unit_test(a_program_sees_no_address_of_the_kernel),
        cmocka_unit_test(memory_that_cannot_be_is_refused),
        cmocka_unit_test(a_debug_store_of_32_bits_is_refused),
        cmocka_unit_test(a_format_that_cannot_be_read_is_refused),
        cmocka_unit_test(an_event_that_cannot_be_precise_is_refused),
        cmocka_unit_test(a_short_period_without_a_shadow_is_refused),
        cmocka_unit_test(a_cpu_without_memory_lets_precise_threads_wait),
        cmocka_unit_test(a_wait_without_memory_begins_when_the_thread_comes),
        cmocka_unit_test(a_wait_without_memory_takes_no_turn_of_others),
        cmocka_unit_test(a_wait_without_memory_leaves_a_tick_to_others),
        cmocka_unit_test(a_wait_without_memory_leaves_a_switch_to_others),
        cmocka_unit_test(a_change_that_loses_the_memory_is_an_error),
        cmocka_unit_test(a_change_that_loses_the_memory_lets_threads_wait),
        cmocka_unit_test(a_start_without_memory_says_so_beside_sharing_sessions),
        cmocka_unit_test(a_session_keeps_the_world_of_a_precise_event),
        cmocka_unit_test(records_of_before_take_no_interrupt),
        cmocka_unit_test(a_throttled_event_says_what_it_loses),
        cmocka_unit_test(a_counter_that_waits_for_its_record_is_left_alone),
        cmocka_unit_test(memory_that_is_back_is_not_named),
        cmocka_unit_test(two_counters_of_e_cores_have_no_shadow),
        cmocka_unit_test(the_model_says_which_counter_has_a_shadow),
        cmocka_unit_test(costs_are_those_of_the_manual),
        cmocka_unit_test(records_that_the_host_ended_stay_ended),
        cmocka_unit_test(an_overflow_without_its_record_takes_no_interrupt),
    };

    return cmocka_run_group_tests_name("precise samples", tests, NULL, NULL);
}
