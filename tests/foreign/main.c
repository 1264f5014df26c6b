/* SPDX-License-Identifier: MIT */
/*
 * The library on a PMU that others made.  The truths: loops of known length, whose difference is exact; a counter that
 * only counts beside one that samples, behind the same gate; registers before and after, read by no hook.
 */
#include <stdio.h>
#include <string.h>
#include <upmu/catalogs.h>
#include <upmu/cpu.h>
#include <upmu/probe.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "tests/foreign/foreign_machine.h"

static struct upmu_port port;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static unsigned passed, failed, wrong;

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            wrong++;                                                                                                   \
            printf("    line %d: %s\n", __LINE__, #what);                                                              \
        }                                                                                                              \
    } while (0)
#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        enum upmu_status status_ = (call);                                                                             \
        if (status_ != UPMU_OK) {                                                                                      \
            wrong++;                                                                                                   \
            printf("    line %d: %s: %s\n", __LINE__, #call, upmu_status_text(status_));                               \
        }                                                                                                              \
    } while (0)
#define RUN(test)                                                                                                      \
    do {                                                                                                               \
        wrong = 0;                                                                                                     \
        test();                                                                                                        \
        printf("[%s] %s\n", wrong ? "  FAILED  " : "       OK ", #test);                                               \
        wrong ? failed++ : passed++;                                                                                   \
    } while (0)

static struct upmu_session session, other;

static void equal(const char *what, uint64_t is, uint64_t wanted)
{
    if (is == wanted)
        return;
    wrong++;
    printf("    %s: %llu, not %llu\n", what, (unsigned long long)is, (unsigned long long)wanted);
}

static uint64_t count_of(struct upmu_session *of, unsigned index)
{
    struct upmu_count count;

    memset(&count, 0, sizeof count);
    FINE(upmu_set_read(&of->set, index, 1, &count));
    return count.value;
}

/* What the events of a list counted while a loop ran. */
static void measure(const char *list, uint64_t turns, uint64_t *out)
{
    static struct upmu_region region;

    FINE(upmu_region_open(&region, &cpu, list));
    FINE(upmu_region_begin(&region));
    machine_loop(turns);
    FINE(upmu_region_end(&region));
    for (unsigned i = 0; i < region.events; i++) {
        out[i] = region.count[i].value;
        CHECK(region.count[i].quality == UPMU_QUALITY_EXACT || !out[i]);
    }
    FINE(upmu_region_close(&region));
}

/* ---- Counting ---- */

static void loops_differ_by_their_length(void)
{
    const char *lists[] = {"instructions", "cycles", "instructions,cycles", NULL, NULL};
    uint64_t small[4], large[4];

    if (machine_does.count_twice)
        lists[3] = machine_does.tell_modes ? "instructions,instructions:k" : "instructions,instructions";
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0] && lists[i]; i++) {
        memset(small, 0, sizeof small);
        memset(large, 0, sizeof large);
        measure(lists[i], 1000, small);
        measure(lists[i], 100000, large);
        equal(lists[i], large[0] - small[0], 2 * (100000 - 1000));
        if (i > 1)
            equal(lists[i], large[1] - small[1], 2 * (100000 - 1000));
    }
}

static void what_user_mode_does_is_counted_apart(void)
{
    uint64_t counts[2];

    if (!machine_does.tell_modes)
        return;
    measure("instructions:u,instructions:k", 1000, counts);
    equal(":u", counts[0], 0);
    CHECK(counts[1] > 2000);
}

static void all_counters_count_at_once(void)
{
    static char list[UPMU_SET_EVENTS * 16];
    uint64_t small[UPMU_SET_EVENTS], large[UPMU_SET_EVENTS];
    unsigned events = 0;

    if (!machine_does.count_twice)
        return;
    list[0] = 0;
    for (uint32_t rest = cpu.meter.pmu->general; rest && events < UPMU_SET_EVENTS; rest &= rest - 1, events++)
        strcat(list, events ? ",instructions" : "instructions");
    measure(list, 1000, small);
    measure(list, 11000, large);
    for (unsigned i = 0; i < events; i++)
        equal("one of all", large[i] - small[i], 20000);
}

static void the_last_counter_counts_like_the_first(void)
{
    char list[48];
    uint64_t small, large;

    for (unsigned n = 0; n < 32; n++) {
        if (!(cpu.meter.pmu->general >> n & 1u) || (n && cpu.meter.pmu->general >> n >> 1))
            continue;
        (void)snprintf(list, sizeof list, "instructions:counter=%u", n);
        measure(list, 1000, &small);
        measure(list, 11000, &large);
        equal(list, large - small, 20000);
    }
}

static void one_event_too_many_is_refused_by_name(void)
{
    char text[200];
    unsigned room = 0;
    enum upmu_status status = UPMU_OK;

    for (uint32_t rest = cpu.meter.pmu->general; rest; rest &= rest - 1)
        room++;
    if (room >= UPMU_SET_EVENTS)
        return;
    FINE(upmu_session_init(&session, &machine));
    for (unsigned i = 0; i <= room; i++)
        FINE(upmu_set_add(&session.set, "instructions", NULL));
    status = upmu_session_attach_cpu(&session, &cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(&session);
    CHECK(status == UPMU_ERR_DOES_NOT_FIT);
    upmu_why_text(&session.why, text, sizeof text);
    CHECK(strstr(text, "nstruction") || strstr(text, "INSTRUCTIONS") || strstr(text, "INST_RETIRED"));
    FINE(upmu_session_close(&session));
}

static void what_does_not_exist_is_refused(void)
{
    struct upmu_event event;

    CHECK(upmu_event_parse(cpu.meter.pmu, "instructoins", &event, NULL) == UPMU_ERR_NO_SUCH_EVENT);
    CHECK(upmu_event_parse(cpu.meter.pmu, "instructions:edge", &event, NULL) == UPMU_ERR_NO_SUCH_ATTRIBUTE);
    CHECK(upmu_event_parse(cpu.meter.pmu, "instructions:counter=30", &event, NULL) != UPMU_OK);
    if (cpu.meter.pmu->title[0] == 'A') {
        /* Arm: PMUv2 has events of 8 bits, PMUv3 of 10 and, from PMUv3p1 on, of 16. */
        bool two = !strcmp(cpu.meter.pmu->title, "Arm PMUv2"), three = !two && cpu.meter.pmu->version == 1;
        const char *last = two ? "raw:config=0xff" : three ? "raw:config=0x3ff" : "raw:config=0xffff";
        const char *next = two ? "raw:config=0x100" : three ? "raw:config=0x400" : "raw:config=0x10000";

        FINE(upmu_event_parse(cpu.meter.pmu, last, &event, NULL));
        CHECK(upmu_event_parse(cpu.meter.pmu, next, &event, NULL) == UPMU_ERR_BAD_VALUE);
#ifdef __aarch64__
        /* (QEMU has none of the common events from 4000h on.) */
        if (!three)
            CHECK(upmu_event_parse(cpu.meter.pmu, "raw:config=0x4004", &event, NULL) == UPMU_ERR_UNSUPPORTED);
        if (!three)
            FINE(upmu_event_parse(cpu.meter.pmu, "raw:config=0x4040", &event, NULL));
#endif
    }
}

/* (Nothing stays of it.) */
static void what_the_firmware_has_not_is_refused_at_once(void)
{
    static struct upmu_region region;
    uint64_t small, large;

    if (!machine_does.refuse)
        return;
    CHECK(upmu_region_open(&region, &cpu, machine_does.refuse) == UPMU_ERR_PORT);
    FINE(upmu_region_close(&region));
    measure("instructions", 1000, &small);
    measure("instructions", 11000, &large);
    equal("after a refusal", large - small, 20000);
}

/* ---- Events from outside ---- */

extern const unsigned char outside_begin[], outside_end[];
__asm__(".section .rodata\n.balign 8\noutside_begin: .incbin \"build/foreign/outside.bin\"\noutside_end: .text\n");

/* The event TURNS of a file counts, beside one of the built-in table; a PMU may be told to take none. */
static void events_from_outside_count_beside_built_in_ones(void)
{
    struct upmu_pmu *pmu = (struct upmu_pmu *)(uintptr_t)cpu.meter.pmu;
    uint64_t small[2], large[2];
    struct upmu_event event;

    FINE(upmu_catalog_load(outside_begin, (size_t)(outside_end - outside_begin)));
    CHECK(upmu_event_parse(pmu, "turns", &event, NULL) == UPMU_ERR_NO_SUCH_EVENT);
    pmu->refuses = 1u << UPMU_SOURCE_IMPORTED;
    CHECK(upmu_pmu_import(pmu, outside_begin) == UPMU_ERR_NOT_PERMITTED);
    CHECK(upmu_event_parse(pmu, "turns", &event, NULL) == UPMU_ERR_NO_SUCH_EVENT);
    FINE(upmu_event_parse(pmu, "instructions", &event, NULL));
    pmu->refuses = 0;
    FINE(upmu_pmu_import(pmu, outside_begin));
    FINE(upmu_event_parse(pmu, "turns", &event, NULL));
    CHECK(event.id.catalogue >= 256);
    measure("turns,cycles", 1000, small);
    measure("turns,cycles", 100000, large);
    equal("turns", large[0] - small[0], 2 * (100000 - 1000));
    equal("cycles beside them", large[1] - small[1], 2 * (100000 - 1000));
    FINE(upmu_pmu_import(pmu, NULL));
}

/* ---- What calls write ---- */

static void a_start_and_a_stop_are_one_write_each(void)
{
    unsigned before;

    FINE(upmu_session_init(&session, &machine));
    FINE(upmu_set_add(&session.set, "instructions,cycles", NULL));
    FINE(upmu_session_attach_cpu(&session, &cpu));
    FINE(upmu_session_start(&session));
    FINE(upmu_session_stop(&session));
    before = machine_writes;
    FINE(upmu_session_start(&session));
    equal("writes of a start", machine_writes - before, 1);
    before = machine_writes;
    FINE(upmu_session_stop(&session));
    equal("writes of a stop", machine_writes - before, 1);
    FINE(upmu_session_close(&session));
}

/* ---- Sampling ---- */

/* Until so many periods are over. */
static void sample(const char *event, uint64_t period, unsigned overflows, bool exact)
{
    static uint64_t memory[16384];
    struct upmu_sampling sampling = {.period = period};
    unsigned samples = 0, inside = 0, before = machine_seen.interrupts;
    const struct upmu_tally *tally = &session.set.tally[0];
    uint64_t count, wanted, difference, allowed;
    const char *beside = event;
    struct upmu_sample one;

    FINE(upmu_session_init(&session, &machine));
    FINE(upmu_session_ring(&session, memory, sizeof memory));
    FINE(upmu_set_add(&session.set, event, &sampling));
    /* (With -icount there is a cycle for each instruction.) */
    if (!machine_does.count_twice)
        beside = *event == 'c' ? "instructions" : "cycles";
    FINE(upmu_set_add(&session.set, beside, NULL));
    FINE(upmu_session_attach_cpu(&session, &cpu));
    FINE(upmu_session_start(&session));
    for (uint64_t limit = overflows * period; tally->overflows < overflows && limit >= 500; limit -= 500)
        machine_work(500);
    FINE(upmu_session_stop(&session));
    count = count_of(&session, 0);
    /* Each interrupt closes and opens the gates of both. */
    allowed = (uint64_t)machine_does.skew * (machine_seen.interrupts - before + 1u);
    difference = count_of(&session, 1) - count;
    CHECK((difference + allowed) <= 2 * allowed);
    while (upmu_ring_next(&session.ring, &one)) {
        samples++;
        inside += machine_in_loop(one.ip);
    }
    wanted = count / period;
    equal("samples", samples, tally->overflows);
    equal("lost", tally->lost + upmu_ring_lost(&session.ring), 0);
    CHECK(tally->overflows + 1u >= wanted && tally->overflows <= wanted + 1);
    CHECK(samples + 1u >= overflows && samples <= overflows + 1);
    CHECK(machine_seen.interrupts - before + 1 >= wanted);
    CHECK(inside * 10 >= samples * 9 || !exact);
    if (wrong)
        printf("    %s: %u samples, %u in the loop, %u interrupts, %u overflows, %u lost, %llu counted\n", event,
               samples, inside, machine_seen.interrupts - before, (unsigned)tally->overflows, (unsigned)tally->lost,
               (unsigned long long)count);
    FINE(upmu_session_close(&session));
}

static void each_period_is_sampled(void)
{
    if (!machine_does.interrupt)
        return;
    sample("instructions", 10000, 1000, !machine_does.look_elsewhere);
    /* (What begins a period takes part of it, where firmware does that.) */
    sample("instructions", 4000 + 2 * machine_does.skew, 100, !machine_does.look_elsewhere);
}

static void each_period_of_cycles_is_sampled(void)
{
    if (!machine_does.interrupt)
        return;
    sample("cycles", 10000, 1000, true);
}

static void without_interrupts_nothing_is_sampled(void)
{
    struct upmu_sampling sampling = {.period = 10000};

    if (machine_does.interrupt)
        return;
    FINE(upmu_session_init(&session, &machine));
    CHECK(upmu_set_add(&session.set, "cycles", &sampling) == UPMU_ERR_UNSUPPORTED);
    FINE(upmu_session_close(&session));
}

static void the_probe_finds_interrupts(void)
{
    static struct upmu_probe probe;

    memset(&probe, 0, sizeof probe);
    probe.loop = NULL;
    FINE(upmu_cpu_probe(&cpu, &probe));
    CHECK(probe.verdict == (machine_does.interrupt ? UPMU_VERDICT_INTERRUPTS : UPMU_VERDICT_COUNTS));
    CHECK(probe.counted >= 1000);
}

static void a_full_ring_masks_its_session(void)
{
    static uint64_t memory[64];
    struct upmu_sampling sampling = {.period = 10000};
    uint64_t stopped;

    if (!machine_does.interrupt)
        return;
    FINE(upmu_session_init(&session, &machine));
    FINE(upmu_session_ring(&session, memory, sizeof memory));
    upmu_session_mask_on_full(&session, true);
    FINE(upmu_set_add(&session.set, "cycles", &sampling));
    FINE(upmu_session_attach_cpu(&session, &cpu));
    FINE(upmu_session_start(&session));
    machine_work(500000);
    CHECK(session.state == UPMU_SESSION_MASKED || session.full);
    FINE(upmu_cpu_poll(&cpu));
    stopped = count_of(&session, 0);
    CHECK(stopped < 1000000);
    machine_work(50000);
    equal("a masked session", count_of(&session, 0), stopped);
    FINE(upmu_session_close(&session));
}

/* ---- Several sessions and sets ---- */

static void two_sessions_count_the_same_loop(void)
{
    uint64_t first;

    FINE(upmu_session_init(&session, &machine));
    FINE(upmu_session_init(&other, &machine));
    FINE(upmu_set_add(&session.set, "instructions", NULL));
    FINE(upmu_set_add(&other.set, machine_does.count_twice ? "instructions,cycles" : "cycles", NULL));
    FINE(upmu_session_attach_cpu(&session, &cpu));
    FINE(upmu_session_attach_cpu(&other, &cpu));
    FINE(upmu_session_start(&session));
    machine_loop(1000);
    FINE(upmu_session_start(&other));
    machine_loop(50000);
    FINE(upmu_session_stop(&session));
    first = count_of(&session, 0);
    machine_loop(50000);
    equal("a stopped session", count_of(&session, 0), first);
    FINE(upmu_session_stop(&other));
    CHECK(first >= 102000 && first < 140000);
    CHECK(count_of(&other, 0) >= 200000);
    if (wrong)
        printf("    %llu and %llu counted\n", (unsigned long long)first, (unsigned long long)count_of(&other, 0));
    CHECK(machine_does.skew || count_of(&other, 0) < 240000);
    FINE(upmu_session_close(&other));
    FINE(upmu_session_close(&session));
}

static void sets_take_turns(void)
{
    static struct upmu_set second;
    struct upmu_set *sets[2] = {&session.set, &second};
    uint64_t all = 0, sum = 0;

    FINE(upmu_session_init(&session, &machine));
    FINE(upmu_set_add(&session.set, "instructions", NULL));
    FINE(upmu_session_add_set(&session, &second, 1, 0, 0));
    FINE(upmu_set_add(&second, "instructions", NULL));
    FINE(upmu_session_attach_cpu(&session, &cpu));
    FINE(upmu_session_start(&session));
    for (unsigned i = 0; i < 8; i++) {
        machine_loop(10000);
        all += 20000;
        FINE(upmu_session_switch(&session, sets[(i + 1) % 2]));
    }
    FINE(upmu_session_stop(&session));
    for (unsigned i = 0; i < 2; i++) {
        struct upmu_count count;

        FINE(upmu_set_read(sets[i], 0, 1, &count));
        CHECK(count.raw >= all / 2 && count.raw < all * 3 / 4);
        sum += count.raw;
    }
    CHECK(sum >= all && sum < all + all / 4);
    FINE(upmu_session_close(&session));
}

/* ---- A CPU's life ---- */

static void a_change_behind_its_back_is_found(void)
{
    static struct upmu_region region;

    FINE(upmu_region_open(&region, &cpu, "instructions"));
    FINE(upmu_region_begin(&region));
    FINE(upmu_cpu_verify(&cpu, NULL));
    machine_disturb(region.session.set.tally[0].counter);
    CHECK(upmu_cpu_verify(&cpu, NULL) != UPMU_OK);
    machine_disturb(region.session.set.tally[0].counter);
    FINE(upmu_cpu_verify(&cpu, NULL));
    FINE(upmu_region_end(&region));
    FINE(upmu_region_close(&region));
}

static void a_sleep_leaves_no_trace(void)
{
    uint64_t small, large;

    FINE(upmu_cpu_suspend(&cpu));
    FINE(upmu_cpu_resume(&cpu));
    measure("instructions", 1000, &small);
    measure("instructions", 101000, &large);
    equal("after a sleep", large - small, 200000);
    FINE(upmu_cpu_poll(&cpu));
}

static uint64_t before[MACHINE_REGISTERS], after[MACHINE_REGISTERS];

static void the_end_gives_back_what_was_found(void)
{
    unsigned count;

    FINE(upmu_cpu_fini(&cpu));
    count = machine_registers(after);
    for (unsigned i = 0; i < count; i++)
        equal("a register at the end", after[i], before[i]);
    equal("strange interrupts", machine_seen.strange, 0);
}

int main(void)
{
    enum upmu_status status;

    machine_begin(&port);
    (void)machine_registers(before);
    FINE(upmu_machine_init(&machine, &port));
    status = upmu_cpu_init(&cpu, &machine, NULL);
    if (status != UPMU_OK) {
        printf("no PMU: %s, %s\n0 passed, 1 failed\n", upmu_status_text(status), machine.why.word);
        return 1;
    }
    printf("%s, version %u, counters %08x, of 16 width %u; events: %s; repaired: %s\n", cpu.meter.pmu->title,
           cpu.meter.pmu->version, (unsigned)cpu.meter.pmu->counters,
           cpu.meter.pmu->counter[cpu.meter.pmu->preference[0]].width,
           cpu.meter.pmu->catalog ? upmu_catalog_name(cpu.meter.pmu->catalog) : "none", machine_repairs());
    machine_go(&cpu);
    RUN(loops_differ_by_their_length);
    RUN(what_user_mode_does_is_counted_apart);
    RUN(all_counters_count_at_once);
    RUN(the_last_counter_counts_like_the_first);
    RUN(one_event_too_many_is_refused_by_name);
    RUN(what_does_not_exist_is_refused);
    RUN(what_the_firmware_has_not_is_refused_at_once);
    RUN(events_from_outside_count_beside_built_in_ones);
    RUN(a_start_and_a_stop_are_one_write_each);
    RUN(without_interrupts_nothing_is_sampled);
    RUN(the_probe_finds_interrupts);
    RUN(each_period_is_sampled);
    RUN(each_period_of_cycles_is_sampled);
    RUN(a_full_ring_masks_its_session);
    RUN(two_sessions_count_the_same_loop);
    RUN(sets_take_turns);
    RUN(a_change_behind_its_back_is_found);
    RUN(a_sleep_leaves_no_trace);
    RUN(the_end_gives_back_what_was_found);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
