/* SPDX-License-Identifier: MIT */
/*
 * Generic names (cycles, branch-misses, ...) on every model, with a catalogue of its
 * own or without, against tests/golden/intel_generic.tsv.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"
#include <upmu/upmu.h>

#include "backends/x86_core/x86_core.h"
#include "backends/x86_core/x86_core_registers.h"
#include "tests/common/table.h"

#define PRIVILEGES (UPMU_X86_SELECT_USR | UPMU_X86_SELECT_OS)

static uint32_t wanted_counters(const struct upmu_pmu *pmu, const char *text)
{
    uint32_t fixed = text[0] == 'g' ? 0 : UINT32_C(0x10000) << (text[1] - '0');

    return text[0] == 'F' ? fixed : fixed | pmu->general;
}

static void check(char *const *field)
{
    struct upmu_event event, again;
    struct upmu_pmu pmu;
    char text[128];
    bool exists = field[2][0] != '-';
    enum upmu_status status;

    assert_int_equal(upmu_pmu_by_name(&pmu, field[0]), UPMU_OK);
    status = upmu_event_parse(&pmu, field[1], &event, NULL);
    if ((status == UPMU_OK) != exists)
        fail_msg("%s on %s: %s", field[1], field[0], upmu_status_text(status));
    if (!exists) {
        assert_true(status == UPMU_ERR_UNSUPPORTED || status == UPMU_ERR_NO_SUCH_EVENT);
        return;
    }
    if (event.config != (strtoull(field[2], NULL, 0) | PRIVILEGES))
        fail_msg("%s on %s: %#llx", field[1], field[0], (unsigned long long)event.config);
    if (event.counters != wanted_counters(&pmu, field[3]))
        fail_msg("%s on %s: counters %#x", field[1], field[0], event.counters);
    /* What it is called encodes to the same. */
    upmu_event_format(&pmu, &event, text, sizeof text);
    assert_int_equal(upmu_event_parse(&pmu, text, &again, NULL), UPMU_OK);
    assert_memory_equal(&again, &event, sizeof event);
    /* And it takes attributes as any other. */
    snprintf(text, sizeof text, "%s:u", field[1]);
    assert_int_equal(upmu_event_parse(&pmu, text, &again, NULL), UPMU_OK);
    assert_int_equal(again.config, event.config & ~UPMU_X86_SELECT_OS);
}

static void generic_names_are_what_linux_makes_of_them_on_every_model(void **state)
{
    FILE *file = source_open("tests/golden/intel_generic.tsv");
    char line[256], *field[4];
    const char *name;
    unsigned rows = 0, models = 0;

    (void)state;
    for (unsigned fields; (fields = table_row(file, line, sizeof line, field, 4)) != 0; rows++) {
        assert_int_equal(fields, 4);
        check(field);
    }
    fclose(file);
    for (unsigned i = 0; (name = upmu_x86_core_backend.names(i)) != NULL; i++)
        models++;
    assert_int_equal(rows, 10 * models); /* no model is forgotten */
}

/* Without a name the event has the same words and counters, on each PMU that has such words. */
static void cycles_and_instructions_need_no_name(void **state)
{
    static const char *const names[] = {[UPMU_BASIC_CYCLES] = "cycles", [UPMU_BASIC_INSTRUCTIONS] = "instructions"};
    struct upmu_event named, basic;
    struct upmu_pmu pmu;
    unsigned same = 0, refused = 0;

    (void)state;
    for (unsigned i = 0; upmu_pmu_known(i); i++)
        for (unsigned which = 0; which < 2; which++) {
            assert_int_equal(upmu_pmu_by_name(&pmu, upmu_pmu_known(i)), UPMU_OK, i);
            if (upmu_event_basic(&pmu, (enum upmu_basic_event)which, &basic) != UPMU_OK) {
                refused++;
                continue;
            }
            assert_int_equal(upmu_event_parse(&pmu, names[which], &named, NULL), UPMU_OK, which);
            if (basic.config != named.config || basic.config1 || basic.counters != named.counters)
                fail_msg("%s on %s: %#llx, counters %#x, by name %#llx, %#x", names[which], pmu.name,
                         (unsigned long long)basic.config, basic.counters, (unsigned long long)named.config,
                         named.counters);
            same++;
        }
    print_message("%u alike, %u refused\n", same, refused);
    assert_compare(same, >, 120);
    /* NetBurst has no word for cycles that is known here; Arm PMUs may have no instructions. */
    assert_int_equal(upmu_pmu_by_name(&pmu, "netburst"), UPMU_OK);
    assert_int_equal(upmu_event_basic(&pmu, UPMU_BASIC_CYCLES, &basic), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_event_basic(&pmu, UPMU_BASIC_INSTRUCTIONS, &basic), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_pmu_by_name(&pmu, "skl"), UPMU_OK);
    pmu.loop_config = pmu.cycles_config;
    assert_int_equal(upmu_event_basic(&pmu, UPMU_BASIC_INSTRUCTIONS, &basic), UPMU_ERR_UNSUPPORTED);
    assert_int_equal(upmu_event_basic(&pmu, UPMU_BASIC_CYCLES, &basic), UPMU_OK);
}

/* An event that a CPU does not announce is refused by its name, or has a substitute. */
static void what_cpuid_does_not_announce_is_refused(void **state)
{
    static const struct {
        const char *name;
        unsigned bit;
    } cases[] = {{"cycles", 0},       {"instructions", 1}, {"bus-cycles", 2},   {"cache-references", 3},
                 {"cache-misses", 4}, {"branches", 5},     {"branch-misses", 6}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_event event;
        struct upmu_pmu pmu;

        assert_int_equal(upmu_pmu_by_name(&pmu, "hsw"), UPMU_OK);
        assert_int_equal(upmu_event_parse(&pmu, cases[i].name, &event, NULL), UPMU_OK, i);
        pmu.arch_events &= ~(1u << cases[i].bit);
        assert_int_equal(upmu_event_parse(&pmu, cases[i].name, &event, NULL), UPMU_ERR_UNSUPPORTED, i);
        /* Reference cycles on fixed counter 2 are another event. */
        assert_int_equal(upmu_event_parse(&pmu, "ref-cycles", &event, NULL), UPMU_OK);
        assert_int_equal(event.config & 0xffff, 0x300);
    }
}

static void reference_cycles_fall_back_to_the_fixed_counter(void **state)
{
    struct upmu_event event;
    struct upmu_pmu pmu;

    (void)state;
    assert_int_equal(upmu_pmu_by_name(&pmu, "spr"), UPMU_OK);
    assert_int_equal(upmu_event_parse(&pmu, "ref-cycles", &event, NULL), UPMU_OK);
    assert_int_equal(event.counters, 0x400ff);
    pmu.arch_events &= ~4u;
    assert_int_equal(upmu_event_parse(&pmu, "ref-cycles", &event, NULL), UPMU_OK);
    assert_int_equal(event.config & 0xffff, 0x300);
    assert_int_equal(event.counters, 0x40000);
}

static void topdown_names_are_metrics_or_events_where_there_are_any(void **state)
{
    static const char *const names[] = {"topdown-retiring",  "topdown-bad-spec",      "topdown-fe-bound",
                                        "topdown-be-bound",  "topdown-heavy-ops",     "topdown-br-mispredict",
                                        "topdown-fetch-lat", "topdown-mem-bound"};
    static const struct {
        const char *pmu;
        unsigned count;
        uint16_t codes[4]; /* 0: the byte of PERF_METRICS */
    } cases[] = {{"icl", 4, {0}}, {"spr", 8, {0}},  {"adl_glc", 8, {0}}, {"lnc", 8, {0}},
                 {"hsw", 0, {0}}, {"tmt", 0, {0}}, {"skt", 4, {0x02c2, 0x0073, 0x019c, 0x02a4}}};

    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned k = 0; k < 8; k++) {
            struct upmu_event event;
            struct upmu_pmu pmu;

            assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].pmu), UPMU_OK, i);
            if (k >= cases[i].count) {
                assert_int_equal(upmu_event_parse(&pmu, names[k], &event, NULL), UPMU_ERR_NO_SUCH_EVENT, k);
                continue;
            }
            assert_int_equal(upmu_event_parse(&pmu, names[k], &event, NULL), UPMU_OK, k);
            if (cases[i].codes[0]) {
                assert_int_equal(event.config & 0xffff, cases[i].codes[k], i, k);
                assert_true(event.counters & pmu.general);
            } else {
                assert_int_equal(event.config & 0xffff, 0x8000 + k * 0x100, k);
                assert_int_equal(event.counters, UINT32_C(0x1000000) << k, k);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generic_names_are_what_linux_makes_of_them_on_every_model),
        cmocka_unit_test(cycles_and_instructions_need_no_name),
        cmocka_unit_test(what_cpuid_does_not_announce_is_refused),
        cmocka_unit_test(reference_cycles_fall_back_to_the_fixed_counter),
        cmocka_unit_test(topdown_names_are_metrics_or_events_where_there_are_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
