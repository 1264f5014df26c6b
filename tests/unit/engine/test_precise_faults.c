/* SPDX-License-Identifier: MIT */
/*
 * Precise samples where registers fault: at each access of each act, alone or with the accesses after it.  Afterwards
 * an ordinary session has the counter: it gets no record, its count and samples are exact, the status bit of records is
 * clear, and an interrupt of another source is not ours.  At the end the hardware has no address of the memory.
 */
#include <stdio.h>

#include <upmu/branches.h>
#include <upmu/precise.h>
#include <upmu/session.h>
#include <upmu/world.h>
#include "tests/common/host.h"

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)
#define CODE UINT64_C(0xffffffff81000000)
#define OTHERS UINT64_C(0xffffc900000a0000)
#define PEBS_ENABLE 0x3f1
#define PEBS_GROUPS 0x3f2
#define DS_AREA 0x600
#define DEBUGCTL 0x1d9
#define STATUS 0x38e
#define STATUS_CLEAR 0x390
#define PERIOD 1000u

static struct host host;
static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[UPMU_RECORD_LEAST_BYTES];
static unsigned outside; /* accesses of the hardware to memory that it was not given */

static bool memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address, uint8_t *bytes,
                   uint32_t length)
{
    bool of_area = address - AREA <= sizeof area - length;
    uint8_t *at = of_area ? area + (address - AREA) : buffer + (address - BUFFER);

    (void)sim, (void)cpu;
    if (!of_area && address - BUFFER > sizeof buffer - length) {
        outside++;
        return false;
    }
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

static uint64_t peek(uint32_t msr)
{
    return upmu_sim_peek(&host.sim, 0, msr);
}

static void run(uint64_t instructions)
{
    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                        .cycles = 2 * instructions,
                                                        .other = {{instructions, .event = 0xc0, .umask = 1},
                                                                  {instructions, .event = 0xd0, .umask = 0x81}},
                                                        .ip = CODE,
                                                        .ip_step = 4});
}

static enum upmu_status give(void)
{
    const struct upmu_record_memory of = {area, AREA, buffer, BUFFER, sizeof buffer, 0};

    return upmu_cpu_use_records(&host.cpu[0], &of, NULL);
}

/* Profiles, and an event that is precise there, for counter 0 and for counter 1. */
static const struct {
    const char *profile, *precise[2], *ordinary[2];
} models[] = {
    {"skylake",
     {"MEM_INST_RETIRED.ALL_LOADS:pp:counter=0", "MEM_INST_RETIRED.ALL_LOADS:pp:counter=1"},
     {"MEM_INST_RETIRED.ALL_LOADS:counter=0", "MEM_INST_RETIRED.ALL_LOADS:counter=1"}},
    {"icelake",
     {"MEM_INST_RETIRED.ALL_LOADS:pp:counter=0", "MEM_INST_RETIRED.ALL_LOADS:pp:counter=1"},
     {"MEM_INST_RETIRED.ALL_LOADS:counter=0", "MEM_INST_RETIRED.ALL_LOADS:counter=1"}},
    {"nehalem",
     {"INST_RETIRED.ANY_P:p:counter=0", "INST_RETIRED.ANY_P:p:counter=1"},
     {"INST_RETIRED.ANY_P:counter=0", "INST_RETIRED.ANY_P:counter=1"}},
};
#define MODELS (sizeof models / sizeof models[0])

/*
 * Session 0 is of thread 0 and samples on counter 0, session 1 is of the CPU and samples on counter 1; thread 1 has no
 * session.  Sessions 2 and 3 are ordinary ones on these counters; session 4 is of the CPU and samples on counter 0.
 */
static void prepare(unsigned m)
{
    host_prepare(&host, models[m].profile);
    host.sim.memory = memory;
    outside = 0;
    host.sim.port.log = NULL; /* calls are made while an NMI is kept back */
    host_start(&host);
    host_threads(&host, 2);
    assert_int_equal(give(), UPMU_OK, m);
    for (unsigned i = 0; i < 5; i++)
        host_add(&host, i, i & 2 ? models[m].ordinary[i & 1] : models[m].precise[i & 1], i == 1 ? 3 * PERIOD : PERIOD);
    assert_int_equal(upmu_session_attach_thread(&host.sessions[0], &host.threads[0], NULL), UPMU_OK);
    for (unsigned i = 1; i < 5; i++)
        assert_int_equal(upmu_session_attach_cpu(&host.sessions[i], &host.cpu[0]), UPMU_OK, i);
}

static void begin(unsigned session)
{
    assert_int_equal(upmu_session_start(&host.sessions[session]), UPMU_OK, session);
}

static bool is_fine(enum upmu_status status)
{
    return status == UPMU_OK || status == UPMU_ERR_PORT || status == UPMU_ERR_HOOK_MISSING;
}

/* ---- Acts: what goes before is without faults ---- */

static void before_all(void)
{
    begin(0);
    host_thread_switch(&host, 0, 0);
    run(500);
}

static void before_both(void)
{
    begin(1);
    before_all();
}

static void before_record(void)
{
    before_all();
    host.sim.cpu[0].in_nmi = true; /* the interrupt of the record waits */
    run(600);
}

static void before_records(void)
{
    begin(1);
    before_all();
    host.sim.cpu[0].in_nmi = true;
    run(2600);
}

static void act_start(void)
{
    assert_true(is_fine(upmu_session_start(&host.sessions[1])));
    run(3500);
}

static void act_stop(void)
{
    assert_true(is_fine(upmu_session_stop(&host.sessions[0])));
}

static void act_stop_both(void)
{
    assert_true(is_fine(upmu_session_stop(&host.sessions[1])));
    host.sim.cpu[0].in_nmi = false;
    act_stop();
}

static void act_switch(void)
{
    host_thread_switch(&host, 0, 1);
    host.sim.cpu[0].in_nmi = false;
    run(1500);
    host_thread_switch(&host, 0, 0);
    run(1500);
}

static void act_interrupt(void)
{
    run(3000);
}

static void act_guest(void)
{
    (void)!upmu_cpu_enter_guest(&host.cpu[0]);
    host.sim.cpu[0].guest = true;
    run(1500);
    host.sim.cpu[0].guest = false;
    (void)!upmu_cpu_leave_guest(&host.cpu[0]);
    run(1500);
}

static void act_change(void)
{
    assert_true(is_fine(upmu_cpu_changed(&host.cpu[0])));
    run(1500);
}

static void act_sleep(void)
{
    assert_true(is_fine(upmu_cpu_suspend(&host.cpu[0])));
    assert_true(is_fine(upmu_cpu_resume(&host.cpu[0])));
    run(1500);
}

static void act_take_back(void)
{
    (void)!upmu_session_stop(&host.sessions[0]);
    assert_true(is_fine(upmu_cpu_use_records(&host.cpu[0], NULL, NULL)));
}

static void act_end(void)
{
    assert_true(is_fine(upmu_cpu_fini(&host.cpu[0])));
}

static void act_emergency(void)
{
    upmu_records_emergency(&host.cpu[0]);
}

static const struct {
    const char *name;
    void (*before)(void), (*act)(void);
} acts[] = {
    {"start", before_all, act_start},          {"stop", before_all, act_stop},
    {"stop, record", before_record, act_stop}, {"stop one of two", before_records, act_stop},
    {"stop both", before_records, act_stop_both},
    {"switch", before_both, act_switch},       {"switch, record", before_record, act_switch},
    {"interrupt", before_all, act_interrupt},  {"interrupt of two", before_both, act_interrupt},
    {"guest", before_both, act_guest},         {"change", before_both, act_change},
    {"change, record", before_records, act_change},
    {"sleep", before_both, act_sleep},         {"sleep, record", before_records, act_sleep},
    {"take back", before_record, act_take_back},
    {"end", before_both, act_end},             {"end, record", before_records, act_end},
    {"emergency", before_both, act_emergency},
};
#define ACTS (sizeof acts / sizeof acts[0])

/* The act's model, number, first access that faults, and how many fault. */
static char what[100];

static void holds(bool condition, const char *text)
{
    if (!condition)
        fail_msg("%s: not so: %s", what, text);
}

#define HOLDS(condition) holds(condition, #condition)

static enum upmu_pmi answer_to_another(void)
{
    enum upmu_pmi answer;

    host.sim.now_ns += 1000000000;
    upmu_sim_irqs(&host.sim, false);
    answer = upmu_pmi_handle(&host.cpu[0], NULL);
    upmu_sim_irqs(&host.sim, true);
    return answer;
}

static void stop_all(void)
{
    host_thread_switch(&host, 0, 1);
    for (unsigned i = 0; i < 2; i++)
        HOLDS(host.sessions[i].state != UPMU_SESSION_RUNNING || upmu_session_stop(&host.sessions[i]) == UPMU_OK);
}

/* A later precise session has its own records alone, unless the CPU has lost its memory. */
static void a_precise_session_is_exact(void)
{
    bool exact = (host.sim.profile->capabilities >> 8 & 0xfu) >= 2;
    enum upmu_status status = upmu_session_start(&host.sessions[4]);
    struct upmu_sample sample;
    unsigned samples = 0;

    HOLDS(status == UPMU_OK || status == UPMU_ERR_HOOK_MISSING);
    if (status != UPMU_OK)
        return;
    run(5 * PERIOD + 1);
    HOLDS(!(peek(STATUS) >> 62 & 1));
    HOLDS(upmu_session_stop(&host.sessions[4]) == UPMU_OK);
    while (upmu_ring_next(&host.sessions[4].ring, &sample))
        HOLDS(sample.ip == CODE + 4 * (++samples * PERIOD + !exact));
    HOLDS(samples == 5);
    HOLDS(host_value(&host.sessions[4], 0) == 5 * PERIOD + 1);
}

static void ordinary_sessions_are_exact(void)
{
    uint32_t records;

    records = host.sim.cpu[0].pebs_records;
    for (unsigned i = 2; i < 4; i++)
        HOLDS(upmu_session_start(&host.sessions[i]) == UPMU_OK);
    for (unsigned i = 0; i < 10; i++) {
        host.sim.now_ns += 20000000;
        run(PERIOD);
    }
    HOLDS(host.sim.cpu[0].pebs_records == records);
    HOLDS(!(peek(STATUS) >> 62 & 1));
    HOLDS(answer_to_another() == UPMU_PMI_NOT_OURS);
    for (unsigned i = 2; i < 4; i++) {
        struct upmu_sample sample;
        unsigned samples = 0;

        HOLDS(upmu_session_stop(&host.sessions[i]) == UPMU_OK);
        while (upmu_ring_next(&host.sessions[i].ring, &sample))
            HOLDS(++samples && !(sample.flags & UPMU_SAMPLE_PRECISE));
        HOLDS(samples == 10);
        HOLDS(host_value(&host.sessions[i], 0) == 10 * PERIOD);
    }
}

static void ends_without_records(void)
{
    HOLDS(upmu_cpu_fini(&host.cpu[0]) == UPMU_OK);
    HOLDS(peek(PEBS_ENABLE) == 0);
    HOLDS(peek(DS_AREA) == 0);
    HOLDS(!(peek(STATUS) >> 62 & 1));
    run(5000);
    HOLDS(outside == 0);
}

static bool is_inside;

/* The library's own instructions overflow counters in the middle of its calls. */
static void execute_library(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                            uint32_t address)
{
    (void)sim, (void)cpu, (void)kind, (void)address;
    if (is_inside)
        return;
    is_inside = true;
    run(number % 3 ? 50 : 450);
    is_inside = false;
}

/* `inside`: events happen inside of calls, too.  Returns whether a fault was met. */
static bool act_with_faults(unsigned m, unsigned a, unsigned at, unsigned length, bool inside)
{
    uint32_t faults;

    (void)snprintf(what, sizeof what, "%s, %s%s, %u faults from access %u", models[m].profile, acts[a].name,
                   inside ? ", events inside" : "", length, at);
    prepare(m);
    acts[a].before();
    host.sim.expect_faults = true;
    host.sim.rule[UPMU_SIM_RULE_CHECK_PEBS_GUEST] = length < 4;
    faults = host.sim.faults;
    host.sim.fault_at = host.sim.accesses + at;
    host.sim.fault_until = host.sim.fault_at + length - 1u;
    host.sim.before_access = inside ? execute_library : NULL;
    acts[a].act();
    host.sim.before_access = NULL;
    host.sim.fault_at = host.sim.fault_until = 0;
    faults = host.sim.faults - faults;
    host.sim.cpu[0].in_nmi = false;
    run(10);
    if (acts[a].act == act_emergency) {
        HOLDS(faults > 1 || !(peek(PEBS_ENABLE) && peek(DS_AREA)));
        return faults;
    }
    if (host.cpu[0].meter.pmu && !host.cpu[0].meter.live)
        HOLDS(upmu_cpu_resume(&host.cpu[0]) == UPMU_OK);
    if (host.cpu[0].meter.live) {
        stop_all();
        if (at & 1)
            a_precise_session_is_exact();
        ordinary_sessions_are_exact();
        ends_without_records();
    } else {
        HOLDS(length > 1 || (!peek(PEBS_ENABLE) && !peek(DS_AREA)));
    }
    holds(host.sim.violation_count == 0, host.sim.violation_count ? host.sim.first_violation.text : "");
    return faults;
}

static void faults_leave_no_records_behind(void **state)
{
    static const unsigned lengths[] = {1, 2, 3, 4, 6, 8, 12};

    (void)state;
    for (unsigned m = 0; m < MODELS; m++)
        for (unsigned a = 0; a < ACTS; a++)
            for (unsigned l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
                for (unsigned inside = 0; inside < 2; inside++)
                    for (unsigned at = 1; act_with_faults(m, a, at, lengths[l], inside); at++)
                        ;
}

/* Faults of counter 1, and of the write that is to end its records then. */
static void fail_counter_1(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind,
                           uint32_t address)
{
    (void)cpu, (void)number;
    sim->fault_address = kind == UPMU_SIM_WRMSR && (address == 0x4c2 || address == PEBS_ENABLE) ? address : 0;
}

/*
 * A counter that may store records still, beside another one that does, gets a precise event whose records load it with
 * another value.  Catches: a counter that is taken for one whose event has begun.
 */
static void an_event_after_a_fault_begins_its_records(void **state)
{
    (void)state;
    prepare(0);
    host_add(&host, 5, "INST_RETIRED.PREC_DIST:ppp", PERIOD);
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[5], &host.cpu[0]), UPMU_OK);
    begin(4);
    begin(5);
    host.sim.expect_faults = true;
    host.sim.before_access = fail_counter_1;
    run(1500);
    host.sim.before_access = NULL;
    host.sim.fault_address = 0;
    assert_int_equal(host.sessions[5].state, UPMU_SESSION_STOPPED);
    assert_int_equal(host.sessions[4].state, UPMU_SESSION_RUNNING);
    assert_int_equal(peek(PEBS_ENABLE), 3);
    begin(1);
    run(9500);
    assert_int_equal(host_value(&host.sessions[1], 0), 9500);
    assert_int_equal(host_value(&host.sessions[4], 0), 11000);
    (void)snprintf(what, sizeof what, "an event after a fault");
    ends_without_records();
}

/* ---- Memory ---- */

/*
 * A start writes PEBS_ENABLE twice, and the end of its session twice; all four fault.  Catches: a counter that is taken
 * for one of a precise event, so that the memory cannot be taken back.
 */
static void memory_comes_back_after_a_start_that_failed(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODELS; m++) {
        prepare(m);
        host.sim.expect_faults = true;
        host.sim.fault_address = PEBS_ENABLE;
        assert_int_equal(upmu_session_start(&host.sessions[1]), UPMU_ERR_PORT, m);
        host.sim.fault_address = 0;
        assert_int_equal(peek(PEBS_ENABLE), 0);
        assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, NULL), UPMU_OK, m);
        assert_int_equal(peek(DS_AREA), 0);
        begin(2);
        run(1500);
        assert_int_equal(host_value(&host.sessions[2], 0), 1500, m);
        assert_int_equal(upmu_session_stop(&host.sessions[2]), UPMU_OK);
        (void)snprintf(what, sizeof what, "%s", models[m].profile);
        ends_without_records();
    }
}

/*
 * Other software has the debug store when it gives the CPU back, with an address and groups of its own.  Catches: the
 * end of our memory, a sleep, an end or an emergency, that writes them.
 */
static void memory_that_is_lost_leaves_the_registers_of_others_alone(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        prepare(1);
        begin(1);
        run(1500);
        upmu_sim_poke(&host.sim, 0, DEBUGCTL, 0xc0);
        upmu_sim_poke(&host.sim, 0, DS_AREA, OTHERS);
        upmu_sim_poke(&host.sim, 0, PEBS_GROUPS, 8);
        assert_int_equal(upmu_cpu_changed(&host.cpu[0]), UPMU_ERR_PORT);
        assert_int_equal(host.sessions[1].error, UPMU_ERR_HOOK_MISSING);
        if (way == 0)
            assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, NULL), UPMU_OK);
        else if (way == 1)
            assert_int_equal(upmu_cpu_suspend(&host.cpu[0]), UPMU_OK);
        else if (way == 2)
            upmu_records_emergency(&host.cpu[0]);
        if (way != 2)
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(peek(DS_AREA), OTHERS, way);
        assert_int_equal(peek(PEBS_GROUPS), 8, way);
        assert_int_equal(peek(PEBS_ENABLE), 0, way);
    }
}

/*
 * Registers fault while memory is given.  Catches: an address that stays in the register, which the next memory takes
 * for one of other software, and gives back at its end.
 */
static void memory_that_was_given_in_vain_comes_back(void **state)
{
    (void)state;
    for (unsigned length = 1; length <= 12; length++)
        for (unsigned at = 1;; at++) {
            uint32_t faults;
            enum upmu_status status;

            host_prepare(&host, "icelake");
            host.sim.memory = memory;
            upmu_sim_poke(&host.sim, 0, PEBS_GROUPS, 8);
            host_start(&host);
            host.sim.expect_faults = true;
            faults = host.sim.faults;
            host.sim.fault_at = host.sim.accesses + at;
            host.sim.fault_until = host.sim.fault_at + length - 1u;
            status = give();
            host.sim.fault_at = host.sim.fault_until = 0;
            if (host.sim.faults == faults)
                break;
            assert_true(status == UPMU_OK || status == UPMU_ERR_PORT);
            if (peek(DS_AREA))
                assert_int_equal(give(), UPMU_ERR_STATE, length, at);
            assert_int_equal(upmu_cpu_use_records(&host.cpu[0], NULL, NULL), UPMU_OK, length, at);
            assert_int_equal(peek(DS_AREA), 0, length, at);
            assert_int_equal(give(), UPMU_OK, length, at);
            assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
            assert_int_equal(peek(DS_AREA), 0, length, at);
            assert_int_equal(peek(PEBS_GROUPS), 8, length, at);
        }
}

/* PEBS_ENABLE stays as it is: the hypervisor learns before the entry that the hardware could store into the guest. */
static void an_entry_says_that_records_are_not_off(void **state)
{
    (void)state;
    prepare(0);
    begin(1);
    run(500);
    host.sim.expect_faults = true;
    host.sim.fault_address = PEBS_ENABLE;
    assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_ERR_PORT);
    assert_int_equal(host.sessions[1].state, UPMU_SESSION_STOPPED);
    assert_int_equal(host.sessions[1].error, UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
    (void)snprintf(what, sizeof what, "a guest");
    ends_without_records();
}

/* A stop that could not clear PEBS_ENABLE, then a guest: nothing else runs that would end records before it. */
static void an_entry_tries_once_more_to_end_records(void **state)
{
    (void)state;
    prepare(0);
    begin(1);
    run(500);
    host.sim.expect_faults = true;
    host.sim.fault_address = PEBS_ENABLE;
    assert_int_equal(upmu_session_stop(&host.sessions[1]), UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(peek(PEBS_ENABLE), 2);
    assert_int_equal(upmu_cpu_enter_guest(&host.cpu[0]), UPMU_OK);
    assert_int_equal(peek(PEBS_ENABLE), 0);
    assert_int_equal(upmu_cpu_leave_guest(&host.cpu[0]), UPMU_OK);
    ends_without_records();
}

/* The end of a CPU cannot clear PEBS_ENABLE; then the kernel panics.  The address stays: others may have it by now. */
static void an_emergency_after_an_end_that_failed(void **state)
{
    (void)state;
    prepare(0);
    begin(1);
    run(500);
    host.sim.expect_faults = true;
    host.sim.fault_address = PEBS_ENABLE;
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(peek(PEBS_ENABLE), 2);
    upmu_records_emergency(&host.cpu[0]);
    assert_int_equal(peek(PEBS_ENABLE), 0);
}

/* The first end of a CPU cannot write DS_AREA, and faults go on or not: the hardware may store to our memory. */
static void end_with_an_address_left(void)
{
    prepare(0);
    begin(1);
    run(500);
    host.sim.expect_faults = true;
    host.sim.fault_address = DS_AREA;
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_ERR_PORT);
    assert_int_equal(peek(DS_AREA), AREA);
}

/*
 * Mistake: after an end that failed, a second one returned UPMU_OK, and a host that freed its memory then had records
 * written there.  A register that other software has since is left alone.
 */
static void a_second_end_gives_the_address_back(void **state)
{
    (void)state;
    for (unsigned others = 0; others < 2; others++) {
        uint32_t reads;

        end_with_an_address_left();
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_ERR_PORT);
        host.sim.fault_address = 0;
        if (others)
            upmu_sim_poke(&host.sim, 0, DS_AREA, OTHERS);
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(peek(DS_AREA), others ? OTHERS : 0);
        assert_int_equal(peek(PEBS_ENABLE), 0);
        reads = host.sim.access_count[UPMU_SIM_RDMSR];
        assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
        assert_int_equal(host.sim.access_count[UPMU_SIM_RDMSR], reads);
    }
}

/* Mistake: a CPU that was initialised again after such an end had forgotten its address, and never restored DS_AREA. */
static void a_new_life_gives_the_address_of_the_last_one_back(void **state)
{
    (void)state;
    end_with_an_address_left();
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_ERR_PORT);
    assert_int_equal(host.machine.why.address, DS_AREA);
    assert_int_equal(upmu_cpu_clear(&host.cpu[0], &host.machine, NULL), UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(upmu_cpu_init(&host.cpu[0], &host.machine, NULL), UPMU_OK);
    assert_int_equal(peek(DS_AREA), 0);
    assert_int_equal(give(), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(peek(DS_AREA), 0);
}

/*
 * Mistake: a second upmu_cpu_take_firmware() ended the records of the library's own events, as the first one ends those
 * that take-over has found: they ran on without samples.
 */
static void firmware_is_taken_once(void **state)
{
    uint32_t stored = 0;

    (void)state;
    host_prepare(&host, "skylake");
    host.sim.memory = memory;
    upmu_sim_poke(&host.sim, 0, PEBS_ENABLE, 1);
    host_start(&host);
    upmu_cpu_take_firmware(&host.cpu[0]);
    assert_int_equal(peek(PEBS_ENABLE), 0);
    assert_int_equal(give(), UPMU_OK);
    host_add(&host, 0, models[0].precise[0], PERIOD);
    assert_int_equal(upmu_session_attach_cpu(&host.sessions[0], &host.cpu[0]), UPMU_OK);
    begin(0);
    for (unsigned i = 0; i < 2; i++) {
        upmu_cpu_take_firmware(&host.cpu[0]);
        assert_int_equal(peek(PEBS_ENABLE), 1, i);
        run(3 * PERIOD);
        assert_compare(upmu_cpu_records(&host.cpu[0]).taken, >, stored, i);
        stored = upmu_cpu_records(&host.cpu[0]).taken;
    }
    assert_int_equal(upmu_session_close(&host.sessions[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&host.cpu[0]), UPMU_OK);
    assert_int_equal(peek(PEBS_ENABLE), 1);
}

static unsigned writes_of_area;

static void keep_a_part(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number;
    if (address != DS_AREA)
        return;
    if (kind == UPMU_SIM_WRMSR)
        writes_of_area++;
    else if (writes_of_area == 1)
        upmu_sim_poke(sim, 0, DS_AREA, AREA & UINT64_C(0xffffffff));
}

/* A register that keeps 32 bits of the address: the memory is refused, and the registers are as they were. */
static void a_register_that_keeps_a_part_is_restored(void **state)
{
    (void)state;
    host_prepare(&host, "icelake");
    host.sim.memory = memory;
    upmu_sim_poke(&host.sim, 0, PEBS_GROUPS, 8);
    host_start(&host);
    writes_of_area = 0;
    host.sim.before_access = keep_a_part;
    assert_int_equal(give(), UPMU_ERR_UNSUPPORTED);
    host.sim.before_access = NULL;
    assert_int_equal(peek(PEBS_GROUPS), 8);
    assert_int_equal(peek(DS_AREA), 0);
}

/* A stop that could not clear the bit of a full buffer: no plan follows, and NMIs of others are not ours for it. */
static void an_interrupt_of_others_after_a_fault(void **state)
{
    static const struct upmu_frame frame = {.ip = CODE};

    (void)state;
    prepare(0);
    begin(4);
    host.sim.cpu[0].in_nmi = true;
    run(1100);
    host.sim.expect_faults = true;
    host.sim.fault_address = STATUS_CLEAR;
    assert_int_equal(upmu_session_stop(&host.sessions[4]), UPMU_ERR_PORT);
    host.sim.fault_address = 0;
    assert_int_equal(peek(STATUS) >> 62 & 1u, 1);
    (void)upmu_pmi_handle(&host.cpu[0], &frame);
    assert_int_equal(peek(STATUS) >> 62 & 1u, 0);
    assert_int_equal(upmu_pmi_handle(&host.cpu[0], &frame) == UPMU_PMI_HANDLED, 0);
    host.sim.cpu[0].in_nmi = false;
    ends_without_records();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_leave_no_records_behind),
        cmocka_unit_test(an_interrupt_of_others_after_a_fault),
        cmocka_unit_test(an_entry_tries_once_more_to_end_records),
        cmocka_unit_test(a_register_that_keeps_a_part_is_restored),
        cmocka_unit_test(an_emergency_after_an_end_that_failed),
        cmocka_unit_test(firmware_is_taken_once),
        cmocka_unit_test(a_second_end_gives_the_address_back),
        cmocka_unit_test(a_new_life_gives_the_address_of_the_last_one_back),
        cmocka_unit_test(an_event_after_a_fault_begins_its_records),
        cmocka_unit_test(memory_comes_back_after_a_start_that_failed),
        cmocka_unit_test(memory_that_was_given_in_vain_comes_back),
        cmocka_unit_test(an_entry_says_that_records_are_not_off),
        cmocka_unit_test(memory_that_is_lost_leaves_the_registers_of_others_alone),
    };

    return cmocka_run_group_tests_name("precise samples with faults", tests, NULL, NULL);
}
