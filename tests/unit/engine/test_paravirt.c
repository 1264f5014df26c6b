/* SPDX-License-Identifier: MIT */
/*
 * The library as a guest of a hypervisor with a paravirtual PMU: counts, samples, threads, and how many calls each
 * takes.
 */
#include <upmu/cpu.h>
#include <upmu/event.h>
#include "tests/unit/engine/pv_double.h"

static struct upmu_session session, other;
static struct upmu_thread threads[3];
static uint64_t ring[4096];

static void begin(struct upmu_session *of, const char *list, uint64_t period)
{
    const struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_session_init(of, &pv.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&of->set, list, period ? &sampling : NULL), UPMU_OK);
}

static uint64_t count_of(struct upmu_session *of, unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&of->set, i, 1, &count), UPMU_OK, i);
    assert_int_equal(count.quality, UPMU_QUALITY_EXACT);
    return count.value;
}

static void end(void)
{
    assert_int_equal(upmu_cpu_fini(&pv.cpu[0]), UPMU_OK);
    assert_true(!pv.vcpu[0].mapped);
}

static void it_is_found_by_its_leaf_and_used_only_with_its_hooks(void **state)
{
    static const uint32_t leaves[] = {0x40000000u, 0x40000100u, 0x4000ff00u};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        pv_prepare();
        pv.leaf = leaves[i];
        assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
        assert_string_equal(pv.cpu[0].meter.pmu->name, "pv");
        assert_int_equal(pv.cpu[0].meter.pmu->counters, 0xffffff);
        assert_true(pv.vcpu[0].mapped);
        end();
    }
    for (unsigned i = 0; i < 6; i++) {
        pv_prepare();
        if (i == 0)
            pv.hypervisor = false;
        else if (i == 1)
            pv.port.hypercall = NULL;
        else if (i == 2)
            pv.port.shared_page = NULL;
        else if (i == 3)
            pv.has[0] = 1; /* the founding calls alone */
        else if (i == 4)
            pv.has[2] = 2;
        else
            pv.has[3] = 0;
        assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_ERR_NO_PMU);
        assert_int_equal(pv.calls, 0);
    }
}

/* AMD APM vol 3 E.4.16: 8000_001EH ECX[7:0] is the node, [10:8] how many a processor has, less 1. */
static void cpuid_of_amd(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    pv_cpuid(context, leaf, subleaf, out);
    if (leaf == 0)
        memcpy(out, (const uint32_t[4]){1, 0x68747541, 0x444d4163, 0x69746e65}, 4 * sizeof *out);
    else if (leaf == 0x80000000)
        out[0] = 0x8000001e;
    else if (leaf == 0x8000001e)
        out[2] = 0x305; /* four nodes each: the second one of the second processor */
}

/* The vendor is the processor's, not the PMU's: where a CPU stands say other leaves. */
static void a_cpu_of_any_vendor_knows_where_it_is(void **state)
{
    (void)state;
    pv_prepare();
    pv.port.cpuid = cpuid_of_amd;
    assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
    assert_string_equal(pv.cpu[0].meter.pmu->name, "pv");
    assert_int_equal(pv.cpu[0].place.node, 5);
    assert_int_equal(pv.cpu[0].place.die, 1);
    end();
}

static void it_has_as_many_slots_as_the_host_says(void **state)
{
    (void)state;
    pv_prepare();
    pv.has[3] = 3;
    assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
    assert_int_equal(pv.cpu[0].meter.pmu->counters, 7);
    begin(&session, "cycles,instructions,branches,branch-misses", 0);
    assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    end();
    pv_prepare();
    pv.has[3] = 1000; /* more than the page has */
    assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
    assert_int_equal(pv.cpu[0].meter.pmu->counters, 0xffffff);
    pv.has[3] = PV_COUNTERS;
    end();
}

static void generic_events_count_by_privilege(void **state)
{
    static const char *const names[] = {"cycles", "instructions", "cache-references", "cache-misses", "branches",
                                        "branch-misses", "bus-cycles", "stalled-cycles-frontend",
                                        "stalled-cycles-backend", "ref-cycles"};

    (void)state;
    pv_set_up();
    for (unsigned i = 0; i < 10; i++) {
        char list[100] = "";

        for (unsigned k = 0; k < 3; k++) {
            strcat(list, names[i]);
            strcat(list, k == 0 ? " " : k == 1 ? ":u " : ":k");
        }
        begin(&session, list, 0);
        assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_OK);
        assert_int_equal(upmu_session_start(&session), UPMU_OK);
        pv.user = true;
        pv_run(100);
        pv.user = false;
        pv_run(7);
        assert_int_equal(count_of(&session, 0), 107 * (i + 1), i);
        assert_int_equal(count_of(&session, 1), 100 * (i + 1), i);
        assert_int_equal(count_of(&session, 2), 7 * (i + 1), i);
        assert_int_equal(upmu_session_close(&session), UPMU_OK);
    }
    end();
}

static void events_that_the_host_lacks_are_refused_by_name(void **state)
{
    struct upmu_event event;
    const struct upmu_pmu *pmu;

    (void)state;
    pv_prepare();
    pv.events[1] = 0x3; /* cycles, instructions */
    assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
    pmu = pv.cpu[0].meter.pmu;
    assert_int_equal(upmu_event_parse(pmu, "instructions:u", &event, NULL), UPMU_OK);
    assert_int_equal(upmu_event_parse(pmu, "branches", &event, NULL), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_event_parse(pmu, "instructions:c=1", &event, NULL), UPMU_ERR_NO_SUCH_ATTRIBUTE);
    assert_int_equal(upmu_event_parse(pmu, "raw:config=0xc4", &event, NULL), UPMU_ERR_BAD_VALUE);
    assert_int_equal(upmu_event_raw(pmu, 0xc4, 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
    /* The word of a generic event that it has is no other event; enable and interrupt bits are ignored. */
    assert_int_equal(upmu_event_raw(pmu, 0xc0, 0, 0, &event), UPMU_OK);
    for (unsigned bits = 0; bits < 4; bits++) {
        uint64_t word = 0x3003c | (bits & 1u) << 20 | (bits >> 1) << 22;

        assert_int_equal(upmu_event_raw(pmu, word, 0, 0, &event), UPMU_OK, bits);
        assert_int_equal(event.config, 0x3003c, bits);
    }
    assert_int_equal(upmu_event_raw(pmu, 0x5300c4, 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
    end();
}

static void raw_events_are_the_hosts_to_judge(void **state)
{
    struct upmu_event event;
    const struct upmu_pmu *pmu;

    (void)state;
    pv_prepare();
    pv.has[0] |= 8;
    assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
    pmu = pv.cpu[0].meter.pmu;
    assert_int_equal(upmu_event_raw(pmu, UINT64_C(0x1000010001c0) | 5u << 20, 0, 0, &event), UPMU_OK);
    assert_int_equal(event.config, UINT64_C(0x1000010301c0)); /* both privileges; no enable, no interrupt */
    assert_int_equal(upmu_event_raw(pmu, 1u << 21, 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(pmu, UINT64_C(1) << 56 | 0xc0, 0, 0, &event), UPMU_ERR_NOT_PERMITTED);
    assert_int_equal(upmu_event_raw(pmu, 0xc0, 1, 0, &event), UPMU_ERR_NOT_PERMITTED);
    begin(&session, "raw:config=0x1c0:u", 0);
    assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    pv_run(5);
    pv.user = true;
    pv_run(3);
    assert_int_equal(count_of(&session, 0), 300);
    assert_int_equal(pv.vcpu[0].wish[0], UINT64_C(0x8b00000000000000) | 0x1c0);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    end();
}

static void calls_of_each_operation_are_these(void **state)
{
    struct upmu_count counts[5];

    (void)state;
    pv_set_up();
    assert_int_equal(pv_calls(), 1); /* MAP */
    begin(&session, "cycles,instructions,branches,branch-misses,cache-misses", 0);
    assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_OK);
    assert_int_equal(pv_calls(), 0);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    assert_int_equal(pv_calls(), 1);
    pv_run(1000);
    assert_int_equal(upmu_set_read(&session.set, 0, 5, counts), UPMU_OK);
    assert_int_equal(pv_calls(), 1);
    assert_int_equal(counts[0].value, 1000);
    assert_int_equal(counts[3].value, 6000);
    /* Nothing that was read before is given again. */
    pv_run(1);
    assert_int_equal(count_of(&session, 1), 2002);
    pv_run(1);
    assert_int_equal(count_of(&session, 2), 5010);
    assert_int_equal(pv_calls(), 2);
    assert_int_equal(upmu_session_stop(&session), UPMU_OK);
    assert_int_equal(pv_calls(), 1);
    pv_run(1000);
    assert_int_equal(upmu_set_read(&session.set, 0, 5, counts), UPMU_OK);
    assert_int_equal(pv_calls(), 0);
    assert_int_equal(counts[1].value, 2004);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    assert_int_equal(pv_calls(), 0);
    end();
    assert_int_equal(pv_calls(), 1); /* UNMAP */
}

static void threads_are_switched_by_at_most_two_calls(void **state)
{
    (void)state;
    pv_set_up();
    for (unsigned i = 0; i < 3; i++)
        upmu_thread_init(&threads[i], i, i, 0);
    begin(&session, "cycles,instructions,branches,branch-misses,cache-misses", 0);
    begin(&other, "cache-references,bus-cycles,ref-cycles,cycles,instructions", 0);
    assert_int_equal(upmu_session_attach_thread(&session, &threads[1], NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&other, &threads[2], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    assert_int_equal(upmu_session_start(&other), UPMU_OK);
    for (unsigned round = 0; round < 3; round++) {
        assert_int_equal(upmu_thread_switch(&pv.cpu[0], &threads[0], &threads[1]), UPMU_OK);
        pv_run(10);
        pv_calls();
        assert_int_equal(upmu_thread_switch(&pv.cpu[0], &threads[1], &threads[2]), UPMU_OK);
        assert_in_range(pv_calls(), 1, 2);
        pv_run(20);
        pv_calls();
        assert_int_equal(upmu_thread_switch(&pv.cpu[0], &threads[2], &threads[0]), UPMU_OK);
        assert_int_equal(pv_calls(), 1);
        pv_run(1000);
    }
    assert_int_equal(count_of(&session, 0), 30);
    assert_int_equal(count_of(&session, 4), 120);
    assert_int_equal(count_of(&other, 0), 180);
    assert_int_equal(count_of(&other, 2), 600);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    assert_int_equal(upmu_session_close(&other), UPMU_OK);
    end();
}

/*
 * One event of two is read, which stores the values of both, and the thread leaves for one with the same events: what
 * happened between is its own.  Catches: a quick way that takes what an earlier call has read.
 */
static void what_was_read_before_a_switch_is_not_its_value(void **state)
{
    (void)state;
    pv_set_up();
    for (unsigned i = 0; i < 3; i++)
        upmu_thread_init(&threads[i], i, i, 0);
    begin(&session, "cycles,instructions", 0);
    begin(&other, "cycles,instructions", 0);
    assert_int_equal(upmu_session_attach_thread(&session, &threads[1], NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_thread(&other, &threads[2], NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    assert_int_equal(upmu_session_start(&other), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&pv.cpu[0], &threads[0], &threads[1]), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&pv.cpu[0], &threads[1], &threads[2]), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&pv.cpu[0], &threads[2], &threads[1]), UPMU_OK);
    pv_run(5);
    assert_int_equal(count_of(&session, 1), 10);
    pv_run(1000);
    assert_int_equal(upmu_thread_switch(&pv.cpu[0], &threads[1], &threads[2]), UPMU_OK);
    pv_run(10);
    assert_int_equal(upmu_thread_switch(&pv.cpu[0], &threads[2], &threads[0]), UPMU_OK);
    assert_int_equal(count_of(&session, 0), 1005);
    assert_int_equal(count_of(&session, 1), 2010);
    assert_int_equal(count_of(&other, 0), 10);
    assert_int_equal(count_of(&other, 1), 20);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    assert_int_equal(upmu_session_close(&other), UPMU_OK);
    end();
}

static void each_period_is_a_sample(void **state)
{
    struct upmu_sample sample;
    unsigned samples = 0;

    (void)state;
    pv_set_up();
    begin(&session, "cycles", 100);
    assert_int_equal(upmu_session_ring(&session, ring, sizeof ring), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    pv_calls();
    pv_run(10000);
    assert_int_equal(pv_calls(), 2 * 100);
    assert_int_equal(pv.injected, 100);
    assert_int_equal(pv.answered[UPMU_PMI_HANDLED], 100);
    assert_int_equal(count_of(&session, 0), 10000);
    while (upmu_ring_next(&session.ring, &sample)) {
        assert_int_equal(sample.ip, 0x1000);
        samples++;
    }
    assert_int_equal(samples, 100);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    end();
}

static void a_page_that_an_earlier_kernel_gave_is_taken_back(void **state)
{
    (void)state;
    pv_prepare();
    pv.vcpu[0].mapped = true;
    pv.vcpu[0].gate = 1;
    pv.vcpu[0].wish[0] = UINT64_C(0x8600000000000000);
    memset(pv.vcpu[0].page + 1600, 0xff, 32);
    assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
    assert_int_equal(pv.by_op[16], 2);
    assert_int_equal(pv.by_op[17], 1);
    assert_int_equal(pv.vcpu[0].gate, 0);
    assert_int_equal(pv.cpu[0].meter.firmware, 0);
    end();
    /* The call that gives it back fails, and the one after that. */
    for (unsigned at = 2; at <= 3; at++) {
        pv_prepare();
        pv.vcpu[0].mapped = true;
        pv.fail_at = at;
        assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_ERR_PORT);
        assert_int_equal(pv.calls, at);
        assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
        end();
    }
}

static void a_host_that_is_not_what_it_says_is_refused(void **state)
{
    (void)state;
    pv_prepare();
    pv.magic = 0;
    assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_ERR_PORT);
    assert_true(!pv.vcpu[0].mapped);
    assert_int_equal(pv.machine.pmu_count, 0);
    for (unsigned refuse = 0; refuse < 2; refuse++) {
        pv_prepare();
        pv.fail_at = 1;
        pv.refuse = refuse;
        assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_ERR_PORT);
        assert_int_equal(pv.machine.why.address, 16);
        assert_int_equal(pv.calls, 1);
        assert_int_equal(upmu_cpu_init(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
        end();
    }
}

/* Each call of a session's life fails once: an error, and a count lacks the round in which it failed at most. */
static void a_call_that_fails_loses_no_count(void **state)
{
    (void)state;
    for (unsigned refuse = 0; refuse < 2; refuse++)
        for (unsigned at = 1;; at++) {
            struct upmu_count count;
            enum upmu_status status;
            unsigned steps = 0;

            pv_set_up();
            begin(&session, "cycles", 0);
            assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_OK);
            pv.fail_at = at;
            pv.refuse = refuse;
            for (unsigned round = 0; round < 3; round++) {
                status = upmu_session_start(&session);
                if (status == UPMU_OK) {
                    pv_run(10);
                    steps += 10;
                    (void)!upmu_set_read(&session.set, 0, 1, &count);
                }
                status = upmu_session_stop(&session);
                if (status != UPMU_OK)
                    status = upmu_session_stop(&session);
            }
            assert_int_equal(upmu_set_read(&session.set, 0, 1, &count), UPMU_OK);
            assert_compare(count.value, <=, steps);
            assert_compare(count.value + 10, >=, steps, at);
            if (count.quality == UPMU_QUALITY_EXACT)
                assert_int_equal(count.value, steps);
            assert_int_equal(upmu_session_close(&session), UPMU_OK);
            status = upmu_cpu_fini(&pv.cpu[0]);
            if (pv.fail_at) {
                assert_int_equal(status, UPMU_OK);
                assert_int_equal(count.value, 30);
                break;
            }
        }
}

static void it_sleeps_and_wakes(void **state)
{
    (void)state;
    pv_set_up();
    begin(&session, "instructions", 0);
    assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    pv_run(10);
    assert_int_equal(upmu_cpu_suspend(&pv.cpu[0]), UPMU_OK);
    assert_true(!pv.vcpu[0].mapped);
    pv_run(10);
    assert_int_equal(upmu_cpu_resume(&pv.cpu[0]), UPMU_OK);
    assert_true(pv.vcpu[0].mapped);
    pv_run(10);
    assert_int_equal(upmu_cpu_verify(&pv.cpu[0], NULL), UPMU_OK);
    assert_int_equal(count_of(&session, 0), 40);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    /* The page cannot be given back: told, and it sleeps all the same. */
    pv.fail_at = 1;
    assert_int_equal(upmu_cpu_suspend(&pv.cpu[0]), UPMU_ERR_PORT);
    assert_int_equal(upmu_cpu_resume(&pv.cpu[0]), UPMU_OK);
    end();
}

/* A page that an earlier kernel left at work is stopped, and is the hypervisor's no more. */
static void a_cleared_page_counts_nothing_and_is_taken_back(void **state)
{
    (void)state;
    pv_prepare();
    pv.vcpu[0].mapped = true;
    pv.vcpu[0].gate = 5;
    assert_int_equal(upmu_cpu_clear(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
    assert_int_equal(pv.vcpu[0].gate, 0);
    assert_true(!pv.vcpu[0].mapped);
    pv_prepare();
    pv.fail_at = 1;
    assert_int_equal(upmu_cpu_clear(&pv.cpu[0], &pv.machine, NULL), UPMU_ERR_PORT);
    assert_null(pv.cpu[0].meter.pmu);

    pv_set_up();
    begin(&session, "instructions", 0);
    assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_cpu_clear(&pv.cpu[0], &pv.machine, NULL), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    pv_run(10);
    assert_int_equal(count_of(&session, 0), 20);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    end();
}

static void each_cpu_has_its_page(void **state)
{
    (void)state;
    pv_set_up();
    pv.running = 1;
    assert_int_equal(upmu_cpu_init(&pv.cpu[1], &pv.machine, NULL), UPMU_OK);
    assert_ptr_equal(pv.cpu[0].meter.pmu, pv.cpu[1].meter.pmu);
    begin(&session, "cycles", 0);
    begin(&other, "cycles", 0);
    assert_int_equal(upmu_session_attach_cpu(&other, &pv.cpu[1]), UPMU_OK);
    assert_int_equal(upmu_session_start(&other), UPMU_OK);
    pv.running = 0;
    assert_int_equal(upmu_session_attach_cpu(&session, &pv.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    pv_run(5);
    assert_int_equal(count_of(&session, 0), 5);
    assert_int_equal(upmu_session_close(&session), UPMU_OK);
    end();
    pv.running = 1;
    pv_run(7);
    assert_int_equal(count_of(&other, 0), 7);
    assert_int_equal(upmu_session_close(&other), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&pv.cpu[1]), UPMU_OK);
    assert_true(!pv.vcpu[1].mapped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_found_by_its_leaf_and_used_only_with_its_hooks),
        cmocka_unit_test(a_cpu_of_any_vendor_knows_where_it_is),
        cmocka_unit_test(it_has_as_many_slots_as_the_host_says),
        cmocka_unit_test(generic_events_count_by_privilege),
        cmocka_unit_test(events_that_the_host_lacks_are_refused_by_name),
        cmocka_unit_test(raw_events_are_the_hosts_to_judge),
        cmocka_unit_test(calls_of_each_operation_are_these),
        cmocka_unit_test(threads_are_switched_by_at_most_two_calls),
        cmocka_unit_test(what_was_read_before_a_switch_is_not_its_value),
        cmocka_unit_test(each_period_is_a_sample),
        cmocka_unit_test(a_page_that_an_earlier_kernel_gave_is_taken_back),
        cmocka_unit_test(a_host_that_is_not_what_it_says_is_refused),
        cmocka_unit_test(a_call_that_fails_loses_no_count),
        cmocka_unit_test(it_sleeps_and_wakes),
        cmocka_unit_test(a_cleared_page_counts_nothing_and_is_taken_back),
        cmocka_unit_test(each_cpu_has_its_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
