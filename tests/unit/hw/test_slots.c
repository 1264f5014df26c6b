/* SPDX-License-Identifier: MIT */
/*
 * Requests of several counters, and what a stop does where each counter has its own
 * gate: NetBurst's register table, a backend that takes counters as they are asked
 * for, and registers that count, overflow, cascade and lose carries.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "backends/x86_p4/p4_registers.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/util/bits.h"
#include "core/hw/register.h"
#include <upmu/cpu.h>
#include <upmu/set.h>
#include <upmu/upmu.h>
#include "tests/common/garbage.h"
#include "tests/common/state.h"

#define LOG 64

enum step { STEP_WRITE, STEP_REARM };

struct rig {
    struct upmu_machine machine;
    struct upmu_port port;
    struct upmu_cpu cpu;
    struct upmu_session session[3];
    uint64_t value[UPMU_REGISTERS];
    bool loses_carry;
    uint32_t dead; /* counters that cannot be read */
    struct {
        enum step step;
        unsigned row;
        uint64_t value;
    } log[LOG];
    unsigned steps;
    unsigned cccr_writes[UPMU_P4_COUNTERS];
};

static struct rig rig;

static void note(enum step step, unsigned row, uint64_t value)
{
    if (rig.steps < LOG) {
        rig.log[rig.steps].step = step;
        rig.log[rig.steps].row = row;
        rig.log[rig.steps].value = value;
    }
    rig.steps++;
}

static bool rig_rdmsr(void *context, uint32_t address, uint64_t *out_value)
{
    unsigned row = upmu_register_find(&rig.machine.pmu[0], address);

    (void)context;
    assert_int_not_equal(row, UPMU_NO_ROW);
    *out_value = rig.value[row];
    return garbage_unless(row >= UPMU_P4_COUNTERS || !(rig.dead >> row & 1u), out_value);
}

static uint64_t *cccr(unsigned counter)
{
    return &rig.value[UPMU_P4_ROW_CCCR + counter];
}

static bool rig_wrmsr(void *context, uint32_t address, uint64_t value)
{
    unsigned row = upmu_register_find(&rig.machine.pmu[0], address);

    (void)context;
    assert_int_not_equal(row, UPMU_NO_ROW);
    note(STEP_WRITE, row, value);
    if (row < UPMU_P4_ROW_CCCR) {
        assert_int_equal(*cccr(row) & UPMU_P4_CCCR_ENABLE, 0);
    } else if (row < UPMU_P4_ROW_ESCR) {
        unsigned n = row - UPMU_P4_ROW_CCCR;

        rig.cccr_writes[n]++;
        /* What passed bit 31 just before the stop does not arrive in bit 32. */
        if (rig.loses_carry && (rig.value[row] & UPMU_P4_CCCR_ENABLE) && !(value & UPMU_P4_CCCR_ENABLE) &&
            (rig.value[n] & 0xffffffff) < 64)
            rig.value[n] = (rig.value[n] - (UINT64_C(1) << 32)) & upmu_bits_ones(40);
    }
    rig.value[row] = value & upmu_register_bits(&rig.machine.pmu[0], row);
    return true;
}

static bool rig_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context;
    *out_value = rig.value[index];
    return garbage_unless(index < UPMU_P4_COUNTERS && !(rig.dead >> index & 1u), out_value);
}

static void rig_rearm(void *context)
{
    (void)context;
    note(STEP_REARM, 0, 0);
}

static void rig_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)leaf, (void)subleaf;
    memset(out, 0, 4 * sizeof out[0]);
}

/* Counter n + 2 starts n (pairs of bit 30, 325384-059 18.15.2), of those that the tests use. */
static bool runs(unsigned counter)
{
    if (*cccr(counter) & UPMU_P4_CCCR_ENABLE)
        return true;
    return (*cccr(counter) & UPMU_P4_CCCR_CASCADE) && (*cccr(counter + 2) & UPMU_P4_CCCR_OVF);
}

/* Each counter of the mask that runs gets `events`, one by one as far as cascades care. */
static void happen(uint32_t counters, uint64_t events)
{
    for (unsigned n = UPMU_P4_COUNTERS; n-- > 0;) {
        uint64_t before = rig.value[n];

        if (!(counters >> n & 1u) || !runs(n))
            continue;
        rig.value[n] = (before + events) & upmu_bits_ones(40);
        if (rig.value[n] < before)
            *cccr(n) |= UPMU_P4_CCCR_OVF;
    }
}

/*
 * An event: config holds the CCCR, config1 the ESCR and config2 the counters of the
 * second slot, 0: none, all ones: a helper that others of the set serve.
 */
static bool slots_alternative(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned thread, unsigned i,
                              struct upmu_alternative *out)
{
    (void)pmu;
    (void)thread;
    if (i)
        return false;
    memset(out, 0, sizeof *out);
    out->slot_count = 1 + (event->config2 != 0);
    out->slot[0].counters = event->counters;
    out->slot[0].resource_count = 1;
    out->slot[0].resource[0] = (uint8_t)event->payload;
    out->slot[0].value[0] = event->config1;
    out->slot[1].counters = (uint32_t)event->config2;
    if (event->attributes & UPMU_ATTR_CASCADE)
        out->dormant = 1;
    return true;
}

static void slots_render(const struct upmu_pmu *pmu, const struct upmu_event *event, unsigned alternative,
                         const uint8_t *counters, unsigned flags, struct upmu_image *image)
{
    (void)pmu;
    (void)alternative;
    upmu_image_add(image, UPMU_P4_ROW_ESCR + event->payload, ~UINT64_C(0), event->config1, UPMU_BIT32(counters[0]));
    for (unsigned slot = 0; slot < UPMU_SLOTS; slot++) {
        uint64_t value = UINT64_C(0x30000);

        if (counters[slot] == UPMU_NO_COUNTER)
            continue;
        if (!slot && (flags & UPMU_RENDER_INTERRUPT))
            value |= UPMU_P4_CCCR_OVF_PMI_T0;
        if (!slot && (event->attributes & UPMU_ATTR_CASCADE))
            value |= UPMU_P4_CCCR_CASCADE;
        upmu_image_add(image, UPMU_P4_ROW_CCCR + counters[slot], ~(UPMU_P4_CCCR_OVF | UPMU_P4_CCCR_ENABLE), value,
                       UPMU_BIT32(counters[slot]));
    }
}

static void slots_release(const struct upmu_pmu *pmu, uint32_t counters, struct upmu_image *image)
{
    (void)pmu;
    for (; counters; counters &= counters - 1u)
        upmu_image_add(image, UPMU_P4_ROW_CCCR + upmu_bits_lowest(counters), ~UPMU_P4_CCCR_OVF, 0,
                       counters & (~counters + 1u));
}

static unsigned slots_resource_row(const struct upmu_pmu *pmu, unsigned resource)
{
    (void)pmu;
    return UPMU_P4_ROW_ESCR + resource;
}

static const struct upmu_backend slots_backend = {
    .name = "slots",
    .alternative = slots_alternative,
    .render = slots_render,
    .release = slots_release,
    .resource_row = slots_resource_row,
};

static void begin(uint32_t capabilities)
{
    struct upmu_pmu *pmu = &rig.machine.pmu[0];

    memset(&rig, 0, sizeof rig);
    rig.port = (struct upmu_port){.rdmsr = rig_rdmsr,
                                  .wrmsr = rig_wrmsr,
                                  .cpuid = rig_cpuid,
                                  .rdpmc = rig_rdpmc,
                                  .pmi_rearm = rig_rearm,
                                  .msr_faults_are_safe = true};
    assert_int_equal(upmu_machine_init(&rig.machine, &rig.port), UPMU_OK);
    upmu_p4_describe_table(pmu, 2);
    pmu->name = "p4";
    pmu->backend = &slots_backend;
    pmu->capabilities = capabilities;
    pmu->shared_counters = 0;
    pmu->shared = 0;
    pmu->max_period = upmu_bits_ones(39);
    for (uint8_t n = 0; n < UPMU_P4_COUNTERS; n++)
        pmu->preference[n] = n;
    pmu->preference_count = UPMU_P4_COUNTERS;
    rig.machine.pmu_count = 1;
    rig.cpu.meter.machine = &rig.machine;
    rig.cpu.meter.cpu = &rig.cpu;
    rig.cpu.meter.pmu = pmu;
    upmu_bank_init(&rig.cpu.meter.bank, pmu, &rig.port, true, rig.cpu.registers);
    rig.cpu.meter.live = 1;
    rig.cpu.meter.life = 1;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(upmu_session_init(&rig.session[i], &rig.machine), UPMU_OK, i);
}

static struct upmu_event event_on(uint32_t counters, uint32_t beside, unsigned escr)
{
    struct upmu_event event;

    memset(&event, 0, sizeof event);
    event.counters = counters;
    event.config1 = 0x0400000c;
    event.config2 = beside;
    event.payload = (uint8_t)escr;
    return event;
}

static void add(unsigned session, struct upmu_event event, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_set_add_event(&rig.session[session].set, &event, &sampling), UPMU_OK, session);
}

static void attach(unsigned session)
{
    assert_int_equal(upmu_session_attach_cpu(&rig.session[session], &rig.cpu), UPMU_OK, session);
}

static void start(unsigned session)
{
    assert_int_equal(upmu_session_start(&rig.session[session]), UPMU_OK, session);
}

static void stop(unsigned session)
{
    assert_int_equal(upmu_session_stop(&rig.session[session]), UPMU_OK, session);
}

static struct upmu_count count_of(unsigned session)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&rig.session[session].set, 0, 1, &count), UPMU_OK, session);
    return count;
}

/* ---- Counters beside the one that counts ---- */

static void a_counter_beside_opens_closes_and_leaves_with_its_event(void **state)
{
    (void)state;
    begin(0);
    add(0, event_on(1u << 4, 1u << 9, 3), 0);
    attach(0);
    start(0);
    assert_true(runs(4) && runs(9));
    assert_int_equal(upmu_cpu_owner(&rig.cpu, 9), UPMU_OWNER_OURS);
    happen(~0u, 10);
    happen(1u << 9, 1000);
    assert_int_equal(count_of(0).value, 10);
    stop(0);
    assert_false(runs(4) || runs(9));
    start(0);
    happen(~0u, 5);
    assert_int_equal(count_of(0).value, 15);
    assert_int_equal(upmu_session_detach(&rig.session[0]), UPMU_OK);
    assert_int_equal(*cccr(4) | *cccr(9), 0);
    assert_int_equal(upmu_cpu_owner(&rig.cpu, 9), UPMU_OWNER_FREE);
}

static void a_count_survives_its_counter_as_the_one_beside_anothers(void **state)
{
    (void)state;
    begin(0);
    add(0, event_on(1u << 9, 0, 5), 0);
    add(1, event_on(1u << 4, 1u << 9, 3), 0);
    attach(0);
    start(0);
    happen(~0u, 7);
    attach(1);
    assert_int_equal(upmu_session_start(&rig.session[1]), UPMU_ERR_DOES_NOT_FIT);
    stop(0);
    start(1);
    happen(~0u, 100);
    stop(1);
    start(0);
    happen(~0u, 8);
    assert_int_equal(count_of(0).value, 15);
    assert_int_equal(count_of(1).value, 100);
    /* What is the other's again is not given up with this one. */
    assert_int_equal(upmu_session_detach(&rig.session[1]), UPMU_OK);
    happen(~0u, 3);
    assert_int_equal(count_of(0).value, 18);
}

static void a_wrap_of_a_counter_beside_is_nobodys(void **state)
{
    (void)state;
    begin(0);
    add(0, event_on(1u << 4, 1u << 9, 3), 100);
    attach(0);
    start(0);
    rig.value[9] = upmu_bits_ones(40);
    happen(~0u, 60);
    assert_int_equal(upmu_pmi_handle(&rig.cpu, NULL), UPMU_PMI_NOT_OURS);
    assert_int_equal(upmu_cpu_poll(&rig.cpu), UPMU_OK);
    happen(~0u, 40);
    assert_int_equal(upmu_pmi_handle(&rig.cpu, NULL), UPMU_PMI_HANDLED);
    assert_true(runs(4) && runs(9));
    assert_int_equal(count_of(0).value, 100);
}

/* ---- Cascades ---- */

static struct upmu_event cascade(void)
{
    struct upmu_event event = event_on(1u << 12, 1u << 14, 3);

    event.attributes |= UPMU_ATTR_CASCADE;
    return event;
}

static void a_cascade_counts_when_its_initiator_has_come_often_enough(void **state)
{
    unsigned written;

    (void)state;
    begin(0);
    add(0, cascade(), 1000);
    attach(0);
    assert_int_equal(rig.steps, 0); /* neither armed nor loaded before the start */
    start(0);
    assert_int_equal(*cccr(12) & UPMU_P4_CCCR_ENABLE, 0);
    assert_int_equal((*cccr(12) | *cccr(14)) & (UPMU_P4_CCCR_OVF_PMI_T0 | UPMU_P4_CCCR_OVF_PMI_T1), 0);
    written = rig.cccr_writes[14];
    happen(~0u, 999);
    assert_int_equal(count_of(0).raw, 0);
    assert_int_equal(count_of(0).quality, UPMU_QUALITY_NEVER_RAN);
    happen(~0u, 1);
    happen(1u << 12, 30);
    /* The event that overflows counts as the first one in this model. */
    assert_int_equal(count_of(0).value, 31);
    assert_int_equal(count_of(0).quality, UPMU_QUALITY_EXACT);
    assert_int_equal(upmu_pmi_handle(&rig.cpu, NULL), UPMU_PMI_NOT_OURS);
    assert_int_equal(upmu_cpu_poll(&rig.cpu), UPMU_OK);
    assert_int_equal(rig.cccr_writes[14], written);
    happen(1u << 12, 5);
    rig.steps = 0;
    stop(0);
    assert_int_equal(rig.log[0].row, UPMU_P4_ROW_CCCR + 12);
    assert_int_equal(rig.log[1].row, UPMU_P4_ROW_CCCR + 14);
    assert_int_equal(*cccr(12) & UPMU_P4_CCCR_CASCADE, 0);
    assert_false(runs(12) || runs(14));
    assert_int_equal(count_of(0).value, 36);
}

static void a_cascade_begins_anew_with_each_start(void **state)
{
    (void)state;
    begin(0);
    add(0, cascade(), 10);
    attach(0);
    for (unsigned round = 1; round <= 3; round++) {
        start(0);
        happen(~0u, 9);
        assert_int_equal(count_of(0).value, 4 * (round - 1));
        happen(~0u, 1);
        happen(~0u, 3);
        assert_int_equal(count_of(0).value, 4 * round);
        stop(0);
        happen(~0u, 50);
        assert_int_equal(count_of(0).value, 4 * round);
    }
}

static void a_cascade_that_was_not_started_yet_is_not_armed(void **state)
{
    (void)state;
    begin(0);
    add(0, cascade(), 10);
    add(1, event_on(1u << 14, 0, 5), 0);
    attach(0);
    attach(1);
    start(1);
    rig.value[14] = upmu_bits_ones(40);
    happen(~0u, 2);
    assert_false(runs(12));
    stop(1);
    start(0);
    assert_false(runs(12));
    happen(~0u, 9);
    assert_int_equal(count_of(0).quality, UPMU_QUALITY_NEVER_RAN);
}

static void an_initiator_that_faults_is_told(void **state)
{
    struct upmu_count count;

    (void)state;
    begin(0);
    add(0, cascade(), 10);
    attach(0);
    start(0);
    happen(~0u, 13);
    rig.dead = 1u << 14;
    assert_int_equal(upmu_set_read(&rig.session[0].set, 0, 1, &count), UPMU_ERR_PORT);
    assert_int_equal(upmu_session_stop(&rig.session[0]), UPMU_ERR_PORT);
    assert_false(runs(12) || runs(14));
    rig.dead = 0;
    start(0);
    happen(~0u, 10);
    assert_int_equal(count_of(0).quality, UPMU_QUALITY_PARTIAL);
    rig.dead = 1u << 12;
    assert_int_equal(upmu_set_read(&rig.session[0].set, 0, 1, &count), UPMU_ERR_PORT);
}

static void a_cascade_needs_a_period_that_the_initiator_can_wait(void **state)
{
    struct upmu_event event = cascade();
    struct upmu_sampling sampling = {.period = 0};

    (void)state;
    begin(0);
    assert_int_equal(upmu_set_add_event(&rig.session[0].set, &event, NULL), UPMU_ERR_INVALID);
    assert_int_equal(upmu_set_add_event(&rig.session[0].set, &event, &sampling), UPMU_ERR_INVALID);
    sampling.period = UINT64_C(1) << 39;
    assert_int_equal(upmu_set_add_event(&rig.session[0].set, &event, &sampling), UPMU_ERR_INVALID);
    sampling.period--;
    assert_int_equal(upmu_set_add_event(&rig.session[0].set, &event, &sampling), UPMU_OK);
}

static void a_dry_run_shows_an_initiator_with_period_and_closed_target(void **state)
{
    struct upmu_write writes[8];
    struct upmu_dry_run dry = {.writes = writes, .capacity = 8};

    (void)state;
    begin(0);
    add(0, cascade(), 10);
    assert_int_equal(upmu_session_dry_run(&rig.session[0], &rig.machine.pmu[0], &dry), UPMU_OK);
    assert_int_equal(dry.count, 5);
    assert_int_equal(writes[1].address, 0x36c);
    assert_int_equal(writes[1].value, UINT64_C(0x30000) | UPMU_P4_CCCR_CASCADE);
    assert_int_equal(writes[3].address, 0x30e);
    assert_int_equal(writes[3].value, upmu_bits_ones(40) - 9);
    assert_int_equal(writes[4].address, 0x36e);
    assert_int_equal(writes[4].value, 0x31000);
}

/* ---- Stops ---- */

static void a_stop_replays_an_overflow_that_it_finds_by_the_sign(void **state)
{
    static uint64_t ring[128];
    struct upmu_sample sample;

    (void)state;
    begin(UPMU_PMU_REARM_LAST);
    assert_int_equal(upmu_session_ring(&rig.session[0], ring, sizeof ring), UPMU_OK);
    add(0, event_on(1u << 4, 0, 3), 100);
    attach(0);
    start(0);
    happen(~0u, 104);
    *cccr(4) &= ~UPMU_P4_CCCR_OVF; /* passed zero without the flag */
    stop(0);
    assert_true(upmu_ring_next(&rig.session[0].ring, &sample));
    assert_int_equal(sample.flags & UPMU_SAMPLE_NO_FRAME, UPMU_SAMPLE_NO_FRAME);
    assert_int_equal(count_of(0).value, 104);
    start(0);
    assert_int_equal(rig.value[4], upmu_bits_ones(40) - 95);
    /* Its interrupt comes late. */
    assert_int_equal(upmu_pmi_handle(&rig.cpu, NULL), UPMU_PMI_STALE);
    assert_int_equal(upmu_pmi_handle(&rig.cpu, NULL), UPMU_PMI_NOT_OURS);
}

static void a_stop_that_loses_a_carry_loses_no_count(void **state)
{
    (void)state;
    begin(UPMU_PMU_CARRY_LOST);
    rig.loses_carry = true;
    add(0, event_on(1u << 4, 0, 3), 0);
    attach(0);
    for (unsigned round = 0; round < 4; round++) {
        uint64_t before = round ? count_of(0).value : 0;

        rig.value[4] = (UINT64_C(7) << 32) + 0xffffff00;
        upmu_test_forget_value(&rig.cpu, 4);
        start(0);
        happen(~0u, round < 2 ? 0x120 : UINT64_C(0x500000120) - (round & 1u));
        stop(0);
        assert_int_equal(rig.value[4] >> 32, round < 2 ? 7 : 12); /* it was lost */
        assert_int_equal(count_of(0).value - before, round < 2 ? 0x120 : UINT64_C(0x500000120) - (round & 1u));
        start(0);
        happen(~0u, 9);
        stop(0);
        assert_int_equal(count_of(0).value - before, round < 2 ? 0x129 : UINT64_C(0x500000129) - (round & 1u));
    }
}

static void a_counter_that_faults_where_a_stop_loses_a_carry_is_told(void **state)
{
    (void)state;
    begin(UPMU_PMU_CARRY_LOST);
    add(0, event_on(1u << 4, 0, 3), 0);
    attach(0);
    start(0);
    happen(~0u, 10);
    rig.dead = 1u << 4;
    assert_int_equal(upmu_session_stop(&rig.session[0]), UPMU_ERR_PORT);
    assert_false(runs(4));
    rig.dead = 0;
    assert_int_equal(count_of(0).quality, UPMU_QUALITY_PARTIAL);
}

/* ---- The interrupt ---- */

static unsigned handler_rearms_at(uint32_t capabilities, unsigned *out_steps)
{
    unsigned at = 0;

    begin(capabilities);
    add(0, event_on(1u << 4, 0, 3), 100);
    add(0, event_on(1u << 9, 0, 5), 100);
    attach(0);
    start(0);
    happen(~0u, 103);
    rig.steps = 0;
    assert_int_equal(upmu_pmi_handle(&rig.cpu, NULL), UPMU_PMI_HANDLED);
    assert_int_equal((*cccr(4) | *cccr(9)) & UPMU_P4_CCCR_OVF, 0);
    for (unsigned i = 0; i < rig.steps; i++)
        if (rig.log[i].step == STEP_REARM)
            at = i;
    *out_steps = rig.steps;
    return at;
}

static void flags_cleared_one_by_one_arm_the_interrupt_after_the_last(void **state)
{
    unsigned steps;

    (void)state;
    assert_int_equal(handler_rearms_at(UPMU_PMU_REARM_LAST, &steps), 6);
    assert_int_equal(steps, 7); /* 3 W for each, and the LVT */
    assert_int_equal(handler_rearms_at(0, &steps), 0);
    assert_int_equal(steps, 7);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_beside_opens_closes_and_leaves_with_its_event),
        cmocka_unit_test(a_count_survives_its_counter_as_the_one_beside_anothers),
        cmocka_unit_test(a_wrap_of_a_counter_beside_is_nobodys),
        cmocka_unit_test(a_cascade_counts_when_its_initiator_has_come_often_enough),
        cmocka_unit_test(a_cascade_begins_anew_with_each_start),
        cmocka_unit_test(a_cascade_that_was_not_started_yet_is_not_armed),
        cmocka_unit_test(an_initiator_that_faults_is_told),
        cmocka_unit_test(a_cascade_needs_a_period_that_the_initiator_can_wait),
        cmocka_unit_test(a_dry_run_shows_an_initiator_with_period_and_closed_target),
        cmocka_unit_test(a_stop_replays_an_overflow_that_it_finds_by_the_sign),
        cmocka_unit_test(a_stop_that_loses_a_carry_loses_no_count),
        cmocka_unit_test(a_counter_that_faults_where_a_stop_loses_a_carry_is_told),
        cmocka_unit_test(flags_cleared_one_by_one_arm_the_interrupt_after_the_last),
    };

    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
