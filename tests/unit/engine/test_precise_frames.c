/* SPDX-License-Identifier: MIT */
/*
 * Precise samples and the frames of their interrupts: a record whose interrupt comes in the middle of a call, together
 * with another overflow, or late, behind a switch of threads; and records that name no counter, or have no room.
 */
#include <upmu/precise.h>
#include <upmu/session.h>
#include "tests/common/host.h"

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)
#define CODE UINT64_C(0xffffffff81000000)
#define USER_CODE UINT64_C(0x400000)
#define RECORD 200u /* bytes of a record of format 3 */

static struct host host;
static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[UPMU_RECORD_LEAST_BYTES];
static bool is_nameless; /* the next record names no counter */

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    bool of_area = address - AREA <= sizeof area - length;
    uint8_t *at = of_area ? area + (address - AREA) : buffer + (address - BUFFER);
    uint64_t next;

    (void)sim, (void)cpu;
    if (!of_area && address - BUFFER > sizeof buffer - length)
        return false;
    if (is_nameless && address == AREA + 40 && (kind & UPMU_SIM_MEMORY_WRITE)) {
        memcpy(&next, bytes, sizeof next);
        memset(buffer + (next - BUFFER) - RECORD + 8 * 18, 0, 8);
        is_nameless = false;
    }
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

static void set_up(void)
{
    const struct upmu_record_memory given = {area, AREA, buffer, BUFFER, sizeof buffer, 0};

    host_prepare(&host, "skylake");
    host.sim.memory = memory;
    host.sim.port.log = NULL; /* calls are made while an NMI is kept back */
    host_start(&host);
    host_threads(&host, 3);
    assert_int_equal(upmu_cpu_use_records(&host.cpu[0], &given, NULL), UPMU_OK);
}

static void begin(unsigned session, const char *event, uint64_t period)
{
    const struct upmu_sampling sampling = {.period = period, .event_id = 1};

    assert_int_equal(upmu_set_add(&host.sessions[session].set, event, &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host.sessions[session], host.rings[session], sizeof host.rings[session]),
                     UPMU_OK);
    host_attach(&host, session, 0);
    assert_int_equal(upmu_session_start(&host.sessions[session]), UPMU_OK);
}

/* Take the oldest record of a session's ring. */
static struct upmu_record next_record(unsigned session)
{
    struct upmu_record record;

    assert_true(upmu_ring_view(&host.sessions[session].ring, &record));
    upmu_ring_drop(&host.sessions[session].ring);
    return record;
}

static void run_at(uint64_t ip, uint64_t instructions)
{
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                        .cycles = 2 * instructions,
                                                        .other = {{instructions, .event = 0xd0, .umask = 0x81}},
                                                        .user = !(ip >> 63),
                                                        .ip = ip,
                                                        .ip_step = 4});
}

/* The library executes, once, in the middle of a call. */
static void execute_library(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    sim->before_access = NULL;
    run_at(CODE, 1001);
}

/* Catches: a sample of a record without process and thread, where that of an ordinary overflow has them. */
static void a_record_in_a_call_has_the_process_of_its_interrupt(void **state)
{
    (void)state;
    for (unsigned both = 0; both < 2; both++) {
        set_up();
        begin(0, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
        if (both)
            begin(1, "instructions", 1001); /* overflows where the record is stored */
        host_add(&host, 2, "branches", 0);
        host_attach(&host, 2, 0);
        host.process = 7;
        host.thread = 8;
        host.sim.before_access = execute_library;
        assert_int_equal(upmu_session_start(&host.sessions[2]), UPMU_OK);
        for (unsigned i = 0; i <= both; i++) {
            struct upmu_record record = next_record(i);

            assert_int_equal(record.process, 7, both, i);
            assert_int_equal(record.thread, 8, both, i);
            assert_int_equal(record.sample->flags & UPMU_SAMPLE_NO_FRAME, 0, both, i);
        }
        host_end_idle(&host);
    }
}

/*
 * The interrupt of a record is kept back until another thread runs.  Catches: the instruction of one thread with the
 * process of another.
 */
static void a_record_of_a_thread_is_no_sample_of_the_next(void **state)
{
    struct upmu_record record;

    (void)state;
    set_up();
    begin(0, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    host_thread_switch(&host, 0, 0);
    host.process = 100;
    host.sim.cpu[0].in_nmi = true;
    run_at(USER_CODE, 1100);
    host_thread_switch(&host, 0, 1);
    host.process = 101;
    host.sim.cpu[0].in_nmi = false;
    run_at(USER_CODE + 0x100000, 500);
    record = next_record(0);
    assert_int_equal(record.sample->ip, USER_CODE + 4000);
    assert_int_equal(record.process, 0);
    run_at(USER_CODE + 0x100000, 500);
    assert_int_equal(next_record(0).process, 101);
    assert_int_equal(host_value(&host.session, 0), 2100);
    host_end_idle(&host);
}

/* Catches: an event that waits for ever for its record. */
static void an_event_goes_on_after_a_record_without_a_name(void **state)
{
    (void)state;
    set_up();
    begin(0, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    is_nameless = true;
    run_at(CODE, 1500);
    assert_int_equal(upmu_cpu_records(&host.cpu[0]).strange, 1);
    assert_int_equal(host_drain(&host, NULL), 0);
    run_at(CODE, 3000);
    assert_int_equal(host_drain(&host, NULL), 3);
    assert_int_equal(host.session.set.tally[0].lost, 1);
    assert_int_equal(host_value(&host.session, 0), 4500);
    host_end_idle(&host);
}

/*
 * One session stops and starts until the buffer is full, while another one runs and no interrupt comes: the hardware
 * drops the other one's record.  Catches: an event that waits for ever for it.
 */
static void an_event_goes_on_after_a_record_without_room(void **state)
{
    (void)state;
    set_up();
    begin(0, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000000);
    host.sim.cpu[0].in_nmi = true;
    begin(1, "MEM_INST_RETIRED.ALL_LOADS:pp", 1000);
    for (unsigned i = 0; i < sizeof buffer / RECORD; i++) {
        run_at(CODE, 1001);
        assert_int_equal(upmu_session_stop(&host.sessions[1]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_OK);
    }
    run_at(CODE, 1000000);
    host.sim.cpu[0].in_nmi = false;
    run_at(CODE, 1);
    assert_int_equal(host.session.set.tally[0].lost, 1);
    run_at(CODE, 1000000);
    assert_int_equal(host_value(&host.session, 0), 1001 * (sizeof buffer / RECORD) + 2000001);
    assert_int_equal(host.session.set.tally[0].overflows, 2);
    assert_int_equal(host_drain(&host, NULL), 1);
    assert_int_equal(host.session.set.tally[0].lost, 1);
    host_end_idle(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_in_a_call_has_the_process_of_its_interrupt),
        cmocka_unit_test(a_record_of_a_thread_is_no_sample_of_the_next),
        cmocka_unit_test(an_event_goes_on_after_a_record_without_a_name),
        cmocka_unit_test(an_event_goes_on_after_a_record_without_room),
    };

    return cmocka_run_group_tests_name("frames of precise samples", tests, NULL, NULL);
}
