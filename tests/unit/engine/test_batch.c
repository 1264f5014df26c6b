/* SPDX-License-Identifier: MIT */
/*
 * Batches of precise samples (UPMU_SAMPLING_BATCH) on the silicon model, which stores records into this test's memory:
 * each record becomes a sample of the session whose event it is, counts are those of a session without samples, on
 * ports with interrupts and without, and the handler stays within its budget.
 */
#include <upmu/branches.h>
#include <upmu/page.h>
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
static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[BYTES];
static unsigned outside; /* accesses of the hardware to memory that was not given */
static bool no_interrupts; /* the port of the next host has none */

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    bool of_area = address - AREA <= sizeof area - length;
    uint8_t *at = of_area ? area + (address - AREA) : buffer + (address - BUFFER);

    (void)sim, (void)cpu;
    if (!of_area && address - BUFFER > BYTES - length) {
        outside++;
        return false;
    }
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

static void set_up(const char *profile)
{
    struct upmu_record_memory of = {area, AREA, buffer, BUFFER, BYTES, 0};

    host_prepare(&host, profile);
    host.sim.memory = memory;
    outside = 0;
    memset(area, 0xa5, sizeof area);
    memset(buffer, 0xa5, sizeof buffer);
    if (no_interrupts)
        host.sim.port.pmi_rearm = NULL;
    host_start(&host);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &of, NULL), UPMU_OK);
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
    no_interrupts = false;
}

static void add_with(unsigned i, const char *list, const struct upmu_sampling *sampling)
{
    void *ring = i ? (void *)host.rings[i] : (void *)host.ring;

    assert_int_equal(upmu_set_add(&host.sessions[i].set, list, sampling), UPMU_OK, i);
    assert_int_equal(upmu_session_ring(&host.sessions[i], ring, i ? sizeof host.rings[i] : sizeof host.ring), UPMU_OK);
}

static void add_batch(unsigned i, const char *list, uint64_t period)
{
    add_with(i, list, &(struct upmu_sampling){.period = period, .flags = UPMU_SAMPLING_BATCH});
}

static void sample_batch(const char *list, uint64_t period)
{
    add_batch(0, list, period);
    host_begin(&host, &host.session);
}

static void tick(void)
{
    host.sim.now_ns += 20000000; /* no throttle */
    assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
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
 * Profiles, an event that is precise there, and a period that errata and the lack of a shadow forbid,
 * as any shorter one.  `reduced`: the record is of the
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
    {"adl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp", 127, true},
    {"adl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", 0, false},
    {"mtl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", 127, true},
    {"mtl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=2", 0, false},
    {"lnl_e", "MEM_UOPS_RETIRED.ALL_LOADS:pp:counter=1", 127, true},
    {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS:pp", 127, true},
    {"sapphirerapids", "INST_RETIRED.PREC_DIST:ppp", 127, true},
    {"adl_p", "MEM_INST_RETIRED.ALL_LOADS:pp", 127, true},
    {"lnl_p", "MEM_INST_RETIRED.ALL_LOADS:pp", 127, true},
};
#define MODELS (sizeof models / sizeof models[0])

/* An erratum limits the loads of 01C0h on Haswell: refused. */
static bool is_limited(unsigned m)
{
    return models[m].shortest >= 128;
}

enum taker { BY_INTERRUPT, BY_TICK, BY_POLL, BY_READ, BY_STOP, TAKERS };

static void take_by(enum taker taker)
{
    if (taker == BY_TICK)
        tick();
    if (taker == BY_POLL)
        assert_int_equal(upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
    if (taker == BY_STOP) {
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    }
    if (taker == BY_READ)
        (void)host_value(&host.session, 0);
}

/* Take samples from the ring: each is of the instruction *number, and the next one a period later. */
static unsigned compare_samples(unsigned m, uint64_t period, uint64_t *number)
{
    struct upmu_sample sample;
    unsigned samples = 0;

    for (; upmu_ring_next(&host.session.ring, &sample); samples++, *number += period) {
        if (sample.ip != address_of(CODE, *number))
            fail_msg("%s, %s, period %u: %llx is not %llx", models[m].profile, models[m].event, (unsigned)period,
                     (unsigned long long)sample.ip, (unsigned long long)address_of(CODE, *number));
        assert_int_equal(sample.flags,
                         UPMU_SAMPLE_PRECISE | UPMU_SAMPLE_LATE | UPMU_SAMPLE_NO_FRAME |
                             (format_of() >= 2 ? UPMU_SAMPLE_EXACT : 0), m);
    }
    return samples;
}

/* Catches: a wrong reload, a period that is counted twice or not, a record that is lost or taken twice. */
static void batches_sample_as_single_records(enum taker taker, unsigned m, uint64_t period)
{
    uint64_t number = period + !models[m].reduced;
    unsigned samples = 0;

    no_interrupts = taker != BY_INTERRUPT;
    set_up(models[m].profile);
    sample_batch(models[m].event, period);
    for (unsigned burst = 0; burst < 100; burst++) {
        host.sim.now_ns += 20000000;
        run_at(CODE + 400 * burst, 100);
        if (taker != BY_INTERRUPT && taker != BY_READ)
            take_by(taker);
        if (taker == BY_READ || (taker == BY_INTERRUPT && burst % 10 == 9))
            assert_int_equal(host_value(&host.session, 0), 100 * (burst + 1), m, taker);
        samples += compare_samples(m, period, &number);
    }
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    samples += compare_samples(m, period, &number);
    assert_int_equal(samples, (10000 - !models[m].reduced) / period, m, taker);
    assert_int_equal(host_value(&host.session, 0), 10000, m, taker);
    assert_int_equal(host.session.set.tally[0].lost, 0, m, taker);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).taken, samples);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).strange, 0);
    if (no_interrupts)
        assert_int_equal(host.answers, 0);
    assert_int_equal(host.answered[UPMU_PMI_HANDLED], host.answers);
    finish();
}

static void each_record_of_a_batch_is_a_sample(void **state)
{
    static const unsigned periods[] = {1000, 128, 100, 33, 7};

    (void)state;
    for (enum taker taker = BY_INTERRUPT; taker < TAKERS; taker++)
        for (unsigned m = 0; m < MODELS; m++)
            for (unsigned p = 0; p < 5 && !is_limited(m); p++)
                /* after a stop just before a sample it is late by the shortest load: so not there */
                if (periods[p] > models[m].shortest &&
                    (taker != BY_STOP || (models[m].reduced && models[m].shortest < 100 && periods[p] >= 100)))
                    batches_sample_as_single_records(taker, m, periods[p]);
}

/* The first case of docs/PRECISE.md: precise misses with no interrupt at all. */
static void a_port_without_interrupts_samples_precisely(void **state)
{
    (void)state;
    no_interrupts = true;
    set_up("skylake");
    sample_batch("MEM_INST_RETIRED.ALL_LOADS:pp", 7);
    for (unsigned i = 0; i < 10; i++) {
        run_at(CODE + 400 * i, 100);
        tick();
    }
    assert_int_equal(host_drain(&host, NULL), 142);
    assert_int_equal(host_value(&host.session, 0), 1000);
    assert_int_equal(host.answers, 0);
    assert_int_equal(host.session.set.tally[0].lost, 0);
    finish();
}

static const unsigned record_bytes[] = {144, 176, 192, 200, 32, 32, 32};

/* A tick that comes too late: the hardware drops what has no room, and it is known how much. */
static void a_full_buffer_loses_samples_and_no_count(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODELS; m++)
        for (unsigned taker = BY_TICK; taker < TAKERS && !is_limited(m); taker++) {
            const struct upmu_tally *tally = &host.session.set.tally[0];
            unsigned samples, period = models[m].shortest < 50 ? 50 : 128;

            no_interrupts = true;
            set_up(models[m].profile);
            sample_batch(models[m].event, period);
            for (unsigned round = 1; round <= 3; round++) {
                run_at(CODE, 400 * period);
                take_by(taker);
                assert_int_equal(host_value(&host.session, 0), 400 * period * round, m, taker);
                samples = host_drain(&host, NULL);
                assert_compare(samples, >=, (BYTES - 176) / record_bytes[format_of()] - 1, m, taker);
                assert_compare(samples, <=, BYTES / record_bytes[format_of()], m, taker);
            }
            assert_compare(tally->lost, >, 3 * 400 - 3 * 140);
            if (tally->overflows < 3 * 400 - 3 || tally->overflows > 3 * 400)
                fail_msg("%s, %s, taker %u: %u periods", models[m].profile, models[m].event, taker, tally->overflows);
            assert_int_equal(tally->overflows - tally->lost, upmu_cpu_records(&host.cpu[0]).taken, m);
            finish();
        }
}

/*
 * The interrupt of a full buffer has not come, and another event makes the buffer larger, or moves the threshold.
 * Catches: the counter whose record had no room is not loaded, and the event samples no more.
 */
static void a_plan_that_changes_the_maximum_loads_what_had_no_room(void **state)
{
    static const char event[] = "MEM_INST_RETIRED.ALL_LOADS:pp";
    const struct upmu_tally *tally = &host.session.set.tally[0];

    (void)state;
    for (unsigned batch = 0; batch < 2; batch++) {
        unsigned samples;

        set_up("icelake");
        add_batch(0, event, 50);
        add_with(1, event, &(struct upmu_sampling){.period = 1000, .flags = batch ? UPMU_SAMPLING_BATCH : 0});
        host_attach(&host, 0, 0);
        host_attach(&host, 1, 0);
        assert_int_equal(upmu_session_start(&host.sessions[batch]), UPMU_OK);
        if (batch)
            assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
        host.sim.deliver = NULL;
        run_at(CODE, 50 * 60);
        host.sim.deliver = host_deliver;
        assert_int_equal(batch ? upmu_session_stop(&host.other) : upmu_session_start(&host.other), UPMU_OK);
        tick();
        samples = host_drain(&host, NULL);
        run_at(CODE, 50 * 15 + 10);
        tick();
        assert_int_equal(host_drain(&host, NULL), 15, batch);
        assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
        assert_int_equal(host_value(&host.session, 0), 50 * 75 + 10, batch);
        assert_int_equal(tally->overflows, 75, batch);
        assert_int_equal(tally->lost, 75 - 15 - samples, batch);
        if (!batch)
            assert_int_equal(upmu_session_stop(&host.other), UPMU_OK);
        finish();
    }
}

/*
 * The hardware may store a record whole that begins before the maximum.  From format 4 on records have 32 bytes, and
 * with memory and registers 176 more.
 */
static void a_record_that_begins_before_the_maximum_ends_in_the_buffer(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODELS; m++)
        for (unsigned batch = 0; batch < 2 && !is_limited(m); batch++) {
            uint64_t maximum, last;

            no_interrupts = batch;
            set_up(models[m].profile);
            if (batch)
                sample_batch(models[m].event, 200);
            memcpy(&maximum, area + 48, sizeof maximum);
            assert_compare(maximum - BUFFER, >=, BYTES - 32 - 176 - 200, m);
            last = format_of() < 4 ? (maximum - 1 - BUFFER) / record_bytes[format_of()] * record_bytes[format_of()] :
                                     maximum - BUFFER - 8 + 176;
            assert_compare(last + record_bytes[format_of()], <=, BYTES, m);
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
        memcpy(&counters, buffer + (next - BUFFER) - 200 + 8 * 18, sizeof counters);
        memcpy(&ip, buffer + (next - BUFFER) - 200 + 8 * 22, sizeof ip);
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

/*
 * `user`: the threads' sessions sample user mode alone, so that their counts are known.  `batches`: mask of sessions
 * that sample in batches.
 */
static void random_schedule(uint32_t first_seed, bool user, unsigned batches)
{
    const char *const both = user ? "MEM_INST_RETIRED.ALL_LOADS:pp:u" : "MEM_INST_RETIRED.ALL_LOADS:pp";
    const char *const events[] = {both, both, "instructions:u", "MEM_INST_RETIRED.ALL_LOADS:pp:k"};

    seed = first_seed;
    memset(streams, 0, sizeof streams);
    set_up("skylake");
    host.sim.memory = note_record;
    host_threads(&host, THREADS + 1);
    for (unsigned i = 0; i <= KERNEL; i++) {
        if (batches >> i & 1u)
            add_batch(i, events[i], 7 + draw(90));
        else
            host_add(&host, i, events[i], no_interrupts && i == 2 ? 0 : 7 + draw(90));
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
        if (draw(4) == 0)
            assert_int_equal(draw(2) ? upmu_cpu_tick(&host.cpu[0]) : upmu_cpu_poll(&host.cpu[0]), UPMU_OK);
        if (user && draw(4) == 0 && thread < THREADS)
            assert_int_equal(host_value(&host.sessions[thread], 0), streams[thread].done, first_seed);
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
 * Each record that the hardware stores becomes one sample, in the ring of the session whose code it is of, while
 * threads switch, calls are interrupted and other sessions store records one by one.
 */
static void each_record_is_a_sample_of_its_own_session(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= 60; i++) {
        no_interrupts = i % 3 == 0;
        random_schedule(i, i & 1, no_interrupts ? 11 : i % 3 == 1 ? 11 : (i % 11 | 1) & 11);
    }
}

/* Whenever it is read, in the middle of a batch or from a hook of the port, the count is that of the events so far. */
static uint64_t wanted;
static bool reads_inside, is_nested;

static void read_inside(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    struct upmu_count count;

    (void)sim, (void)cpu, (void)number, (void)kind, (void)address;
    if (!reads_inside)
        return;
    reads_inside = false;
    run_at(CODE + 4 * wanted, 9);
    wanted += 9;
    if (!is_nested)
        return;
    assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
    assert_int_equal(count.raw, wanted);
}

static void a_read_counts_records_that_are_not_taken(void **state)
{
    (void)state;
    for (unsigned pass = 0; pass < 3; pass++) {
        set_up("skylake");
        wanted = 0;
        is_nested = pass == 1;
        sample_batch("MEM_INST_RETIRED.ALL_LOADS:pp", 7);
        host.sim.before_access = read_inside;
        for (unsigned i = 0; i < 200; i++) {
            struct upmu_count count;

            run_at(CODE + 4 * wanted, 5);
            wanted += 5;
            reads_inside = pass;
            assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
            reads_inside = false;
            assert_int_equal(count.raw, wanted, i, pass);
            assert_compare(count.left, <=, 7, i, pass);
        }
        host.sim.before_access = NULL;
        finish();
    }
}

/* A record lowers the value of its counter by a period: a program cannot read a batch's count, but those of others. */
static void a_program_asks_the_kernel_for_the_count_of_a_batch(void **state)
{
    static struct upmu_user_page page;

    (void)state;
    set_up("skylake");
    add_batch(0, "MEM_INST_RETIRED.ALL_LOADS:pp", 7);
    assert_int_equal(upmu_set_add(&host.session.set, "BR_INST_RETIRED.ALL_BRANCHES", NULL), UPMU_OK);
    assert_int_equal(upmu_session_publish(&host.session, &page), UPMU_OK);
    host_begin(&host, &host.session);
    run_at(CODE, 40);
    assert_int_equal(page.flags, UPMU_USER_RUNNING);
    assert_int_equal(page.event[0].index, 0);
    assert_int_equal(page.event[0].total, 0);
    assert_int_not_equal(page.event[1].index, 0);
    tick();
    assert_int_equal(page.event[0].index, 0);
    assert_int_equal(page.event[0].total, 36); /* where the counter was loaded last: 5 periods, and 1 event */
    finish();
}

/* A guest gets no record; those of before the entry are samples, and an armed counter goes on after the exit. */
static void a_guest_gets_no_record_and_costs_no_sample(void **state)
{
    (void)state;
    for (unsigned before = 95; before <= 330; before++) {
        struct upmu_sample sample;
        unsigned samples = 0;

        set_up("skylake");
        sample_batch("MEM_INST_RETIRED.ALL_LOADS:pp", 100);
        run_at(CODE, before);
        assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_OK);
        assert_int_equal(peek(PEBS_ENABLE), 0);
        host.sim.cpu[0].guest = true;
        run_at(0x1000, 5000);
        host.sim.cpu[0].guest = false;
        assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
        run_at(CODE + 4 * before, 950 - before);
        assert_int_equal(host_value(&host.session, 0), 950, before);
        for (; upmu_ring_next(&host.session.ring, &sample); samples++)
            if (sample.ip < CODE + 400 * (samples + 1) || sample.ip > CODE + 400 * (samples + 1) + 8)
                fail_msg("guest after %u: sample %u is of instruction %u", before, samples,
                         (unsigned)(sample.ip - CODE) / 4);
        assert_int_equal(samples, 9, before);
        finish();
    }
}

static void in_a_sleep_the_hardware_has_no_address(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODELS; m++) {
        if (is_limited(m))
            continue;
        const unsigned period = models[m].shortest < 100 ? 100 : 128;

        set_up(models[m].profile);
        sample_batch(models[m].event, period);
        run_at(CODE, 4 * period + period / 2);
        assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        assert_int_equal(host_drain(&host, NULL), 4, m);
        assert_int_equal(peek(PEBS_ENABLE), 0);
        assert_int_equal(peek(DS_AREA), 0);
        assert_int_equal(upmu_cpu_resume(&host.cpu[0]), UPMU_OK, m);
        run_at(CODE, 4 * period);
        assert_int_equal(host_value(&host.session, 0), 8 * period + period / 2, m);
        assert_int_equal(host_drain(&host, NULL), 4, m);
        finish();
    }
}

/* A register that faults, at each access: no count jumps, and nothing stays behind. */
static void a_fault_costs_no_more_than_its_session(void **state)
{
    (void)state;
    for (unsigned at = 1; at <= 60; at++) {
        struct upmu_count count;

        set_up("skylake");
        add_batch(0, "MEM_INST_RETIRED.ALL_LOADS:pp", 30);
        host_add(&host, 1, "branches", 0);
        host_attach(&host, 0, 0);
        host_attach(&host, 1, 0);
        host.sim.expect_faults = true;
        host.sim.fault_at = host.sim.accesses + at;
        (void)!upmu_session_start(&host.session);
        (void)!upmu_session_start(&host.other);
        run_at(CODE, 400);
        (void)!upmu_cpu_tick(&host.cpu[0]);
        run_at(CODE, 1000);
        (void)!upmu_cpu_poll(&host.cpu[0]);
        (void)!upmu_set_read(&host.session.set, 0, 1, &count);
        run_at(CODE, 100);
        (void)!upmu_session_stop(&host.session);
        host.sim.fault_at = 0;
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        if (count.raw > 1500)
            fail_msg("fault at %u: %llu events", at, (unsigned long long)count.raw);
        (void)!upmu_session_stop(&host.other);
        finish();
    }
}

/*
 * The buffer cannot be emptied, in an interrupt or a plan: its records are in counts, and samples, once.  Catches: the
 * next look takes them again.
 */
static void records_of_a_buffer_that_stays_count_once(void **state)
{
    unsigned hit = 0;

    (void)state;
    for (unsigned at = 1; at <= 40; at++) {
        struct upmu_count count;
        unsigned samples;

        set_up("skylake");
        sample_batch("MEM_INST_RETIRED.ALL_LOADS:pp", 100);
        run_at(CODE, 1750);
        host.sim.expect_faults = true;
        host.sim.fault_at = host.sim.accesses + at;
        host.sim.fault_until = host.sim.fault_at + 1;
        run_at(CODE, 100);
        (void)!upmu_cpu_tick(&host.cpu[0]);
        (void)!upmu_session_stop(&host.session);
        hit += host.sim.accesses >= host.sim.fault_at;
        host.sim.fault_at = 0;
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        samples = host_drain(&host, NULL);
        if (count.raw > 1850 || samples > 18)
            fail_msg("fault at %u: %llu events, %u samples", at, (unsigned long long)count.raw, samples);
        finish();
    }
    assert_compare(hit, >=, 8);
}

/* ---- What the hardware has written is input ---- */

static bool damage;
static unsigned damaged_at; /* byte of the buffer */

static bool damage_records(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                           uint8_t *bytes, uint32_t length)
{
    static const uint64_t size = UINT64_C(8) << 48;
    bool fine = memory(sim, cpu, kind, address, bytes, length);

    if (damage && (kind & UPMU_SIM_MEMORY_WRITE) && address == AREA + 40)
        memcpy(buffer + damaged_at, &size, 8);
    return fine;
}

static void a_damaged_record_ends_its_batch(void **state)
{
    struct upmu_count count;

    (void)state;
    for (unsigned taker = BY_INTERRUPT; taker < 2 * TAKERS; taker++) {
        set_up("icelake");
        host.sim.memory = damage_records;
        damaged_at = taker < TAKERS ? 64 : 0;
        sample_batch("MEM_INST_RETIRED.ALL_LOADS:pp", 100);
        damage = true;
        run_at(CODE, taker % TAKERS == BY_INTERRUPT ? 1850 : 550);
        damage = false;
        if (taker % TAKERS != BY_INTERRUPT)
            (void)host_value(&host.session, 0);
        assert_int_equal(upmu_cpu_records(&host.cpu[0]).strange, 1, taker);
        assert_int_equal(host.session.set.tally[0].lost, 1, taker);
        (void)host_drain(&host, NULL);
        run_at(CODE, 1000);
        assert_int_equal(upmu_set_read(&host.session.set, 0, 1, &count), UPMU_OK);
        assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL, taker);
        assert_compare(count.raw, <=, 5100, taker);
        assert_int_equal(host_drain(&host, NULL), 10, taker);
        finish();
    }
}

/* Formats 1 and 2: a record of two counters is no sample, and loads both. */
static void a_shared_record_is_no_sample(void **state)
{
    (void)state;
    set_up("nehalem");
    add_batch(0, "INST_RETIRED.ANY_P:p", 100);
    add_batch(1, "INST_RETIRED.ANY_P:p", 100);
    for (unsigned i = 0; i < 2; i++) {
        host_attach(&host, i, 0);
        assert_int_equal(upmu_session_start(&host.sessions[i]), UPMU_OK);
    }
    run_at(CODE, 1050);
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_sample sample;
        unsigned samples = 0;

        assert_int_equal(upmu_session_stop(&host.sessions[i]), UPMU_OK);
        while (upmu_ring_next(&host.sessions[i].ring, &sample))
            samples++;
        assert_int_equal(host_value(&host.sessions[i], 0), 1050, i);
        assert_int_equal(samples + host.sessions[i].set.tally[0].lost, 10, i);
    }
    assert_compare(upmu_cpu_records(&host.cpu[0]).shared, >, 0);
    finish();
}

/* ---- The interrupt ---- */

static void a_storm_is_throttled(void **state)
{
    const struct upmu_tally *tally = &host.session.set.tally[0];
    unsigned samples = 0;
    uint64_t count;

    (void)state;
    set_up("skylake");
    sample_batch("MEM_INST_RETIRED.ALL_LOADS:pp", 10);
    for (unsigned i = 0; i < 2000 && !tally->throttled; i++) {
        run_at(CODE, 10);
        samples += host_drain(&host, NULL);
    }
    assert_true(tally->throttled);
    assert_compare(samples, >=, 900);
    assert_compare(samples, <=, 1100);
    run_at(CODE, 5000);
    assert_int_equal(upmu_session_stop(&host.session), UPMU_OK);
    samples += host_drain(&host, NULL);
    count = host_value(&host.session, 0);
    assert_int_equal(tally->overflows, count / 10);
    assert_int_equal(samples + tally->lost, count / 10);
    host.sim.now_ns += 20000000;
    assert_int_equal(upmu_session_start(&host.session), UPMU_OK);
    run_at(CODE, 105);
    (void)host_value(&host.session, 0);
    samples += host_drain(&host, NULL);
    assert_int_equal(samples + tally->lost, (count + 105) / 10);
    finish();
}

/* Formats, with and without parts: how many records an interrupt has. */
static void records_of_an_interrupt_follow_from_their_cost(void **state)
{
    static const struct {
        const char *profile, *event;
        unsigned records[3];
    } cases[] = {{"core2", "INST_RETIRED.ANY_P:p", {18, 14, 6}},
                 {"nehalem", "INST_RETIRED.ANY_P:p", {18, 14, 6}},
                 {"skylake", "MEM_INST_RETIRED.ALL_LOADS:pp", {18, 14, 6}},
                 {"icelake", "MEM_INST_RETIRED.ALL_LOADS:pp", {18, 13, 5}},
                 {"sapphirerapids", "MEM_INST_RETIRED.ALL_LOADS:pp", {18, 13, 5}}};
    static const uint32_t asked[] = {0, UPMU_SAMPLING_PARTS(UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT),
                                     UPMU_SAMPLING_PARTS(UPMU_PART_REGISTERS)};

    (void)state;
    for (unsigned p = 0; p < 5; p++)
        for (unsigned parts = 0; parts < 3; parts++) {
            unsigned wanted_records = cases[p].records[parts], answers = 0;
            unsigned period = p < 4 ? 100 : 128;

            set_up(cases[p].profile);
            add_with(0, cases[p].event, &(struct upmu_sampling){.period = period,
                                                                .flags = UPMU_SAMPLING_BATCH | asked[parts]});
            host_begin(&host, &host.session);
            for (unsigned i = 1; i <= 60; i++) {
                host.sim.now_ns += 20000000;
                run_at(CODE, period);
                if (host.answers != answers) {
                    answers = host.answers;
                    assert_int_equal(upmu_cpu_records(&host.cpu[0]).taken, answers * wanted_records, p, parts);
                }
            }
            assert_int_equal(answers, (p < 4 ? 59 : 60) / wanted_records, p, parts);
            finish();
        }
}

/* At this access of a call, from 1 on, the interrupt of a full batch comes that was late. */
static unsigned late_at;
static enum upmu_pmi late_answer;

static void deliver_late(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)sim, (void)cpu, (void)number, (void)kind, (void)address;
    if (late_at && !--late_at)
        late_answer = upmu_pmi_handle(&host.cpu[0], NULL);
}

/* Catches: a call takes the records and clears their status bit before it notes that their interrupt may come. */
static void an_interrupt_that_a_call_comes_before_is_ours(void **state)
{
    (void)state;
    for (unsigned taker = BY_TICK; taker < TAKERS; taker++) {
        unsigned at = 0;

        do {
            set_up("skylake");
            sample_batch("MEM_INST_RETIRED.ALL_LOADS:pp", 100);
            host.sim.now_ns += 20000000;
            host.sim.deliver = NULL;
            run_at(CODE, 1850);
            host.sim.deliver = host_deliver;
            late_at = ++at;
            late_answer = UPMU_PMI_STALE;
            host.sim.after_access = deliver_late;
            take_by((enum taker)taker);
            host.sim.after_access = NULL;
            if (late_answer == UPMU_PMI_NOT_OURS)
                fail_msg("taker %u, access %u: not ours", taker, at);
            finish();
        } while (!late_at);
        late_at = 0;
        assert_compare(at, >, taker == BY_STOP ? 6 : 3, taker);
    }
}

static void combinations_that_cannot_be_are_refused(void **state)
{
    static const char event[] = "MEM_INST_RETIRED.ALL_LOADS:pp";
    static const struct {
        struct upmu_sampling sampling;
        const char *event, *text;
    } cases[] = {
        {{.period = 100, .values = 1}, event, "no values and no resets"},
        {{.period = 100, .resets = 1}, event, "no values and no resets"},
        {{.period = 100, .random_mask = 7}, event, "its period cannot change"},
        {{.period = 100, .long_period = 7}, event, "its period cannot change"},
        {{.frequency = 100}, event, "its period cannot change"},
        {{.period = 100, .switch_after = 1}, event, "no switches of sets"},
        {{.period = 100, .flags = UPMU_SAMPLING_NOTIFY}, event, "no messages"},
        {{.period = 2}, event, "period too short"},
        {{.period = UINT64_C(1) << 31}, event, "above 2^31 - 1"},
        {{.period = 0}, event, "not a sampled precise event"},
        {{.period = 100}, "instructions", "not a sampled precise event"},
    };
    char text[200];

    (void)state;
    set_up("skylake");
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_sampling sampling = cases[i].sampling;

        sampling.flags |= UPMU_SAMPLING_BATCH;
        assert_int_equal(upmu_set_add(&host.session.set, cases[i].event, &sampling), UPMU_ERR_UNSUPPORTED, i);
        (void)upmu_why_text(&host.session.why, text, sizeof text);
        if (!strstr(text, cases[i].text))
            fail_msg("case %u: \"%s\"", i, text);
    }
    assert_int_equal(host.session.set.count, 0);
    add_batch(0, event, 100);
    assert_int_equal(upmu_set_add(&host.session.set, event, &(struct upmu_sampling){.period = 100}),
                     UPMU_ERR_UNSUPPORTED);
    assert_string_equal(host.session.why.word, "BATCH: another precise event in its set");
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &(struct upmu_sampling){.period = 100, .values = 1}),
                     UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_set_wait(&host.session.set, 0, 5, 5), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_set_add(&host.session.set, "branches", &(struct upmu_sampling){.period = 100}), UPMU_OK);
    assert_int_equal(upmu_session_branches(&host.session, UPMU_BRANCH_USER), UPMU_ERR_UNSUPPORTED);
    assert_string_equal(host.session.why.word, "BATCH: its samples have no branches");
    assert_int_equal(upmu_set_add(&host.other.set, event, &(struct upmu_sampling){.period = 100}), UPMU_OK);
    assert_int_equal(upmu_set_replace(&host.other.set, 0, event,
                                      &(struct upmu_sampling){.period = 100, .flags = UPMU_SAMPLING_BATCH}), UPMU_OK);
    finish();
    set_up("haswell_smt");
    assert_int_equal(upmu_set_add(&host.session.set, "INST_RETIRED.PREC_DIST:ppp",
                                  &(struct upmu_sampling){.period = 128, .flags = UPMU_SAMPLING_BATCH}),
                     UPMU_ERR_UNSUPPORTED);
    assert_string_equal(host.session.why.word, "BATCH: an erratum limits its loads");
    finish();
    no_interrupts = true;
    set_up("skylake");
    assert_int_equal(upmu_set_add(&host.session.set, event, &(struct upmu_sampling){.period = 100}),
                     UPMU_ERR_HOOK_MISSING);
    finish();
}

/* ---- Costs ---- */

static void costs_are_those_of_the_manual(void **state)
{
    (void)state;
    set_up("skylake");
    sample_batch("MEM_INST_RETIRED.ALL_LOADS:pp", 100);
    run_at(CODE, 90);
    host_forget_cost(&host);
    tick();
    host_costs(&host, "a tick without records", 0, 0);
    run_at(CODE, 90);
    host_forget_cost(&host);
    tick();
    host_costs(&host, "a tick with records", 3, 1);
    for (unsigned i = 0; i < 40; i++)
        run_at(CODE, 100);
    assert_int_equal(host.handler.writes, 3);
    assert_int_equal(host.handler.reads, 1);
    assert_int_equal(host.handler.rdpmcs, 0);
    finish();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_record_of_a_batch_is_a_sample),
        cmocka_unit_test(a_port_without_interrupts_samples_precisely),
        cmocka_unit_test(a_full_buffer_loses_samples_and_no_count),
        cmocka_unit_test(a_plan_that_changes_the_maximum_loads_what_had_no_room),
        cmocka_unit_test(a_record_that_begins_before_the_maximum_ends_in_the_buffer),
        cmocka_unit_test(each_record_is_a_sample_of_its_own_session),
        cmocka_unit_test(a_read_counts_records_that_are_not_taken),
        cmocka_unit_test(a_program_asks_the_kernel_for_the_count_of_a_batch),
        cmocka_unit_test(a_guest_gets_no_record_and_costs_no_sample),
        cmocka_unit_test(in_a_sleep_the_hardware_has_no_address),
        cmocka_unit_test(a_fault_costs_no_more_than_its_session),
        cmocka_unit_test(records_of_a_buffer_that_stays_count_once),
        cmocka_unit_test(a_damaged_record_ends_its_batch),
        cmocka_unit_test(a_shared_record_is_no_sample),
        cmocka_unit_test(a_storm_is_throttled),
        cmocka_unit_test(records_of_an_interrupt_follow_from_their_cost),
        cmocka_unit_test(an_interrupt_that_a_call_comes_before_is_ours),
        cmocka_unit_test(combinations_that_cannot_be_are_refused),
        cmocka_unit_test(costs_are_those_of_the_manual),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
