/* SPDX-License-Identifier: MIT */
/*
 * Samples in pages that a program maps: the program here is honest, slow, at work at the same moment, or hostile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <upmu/mapped.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/host.h"
#include "tests/common/share.h"

#define DATA_MOST 4
#define PER_PAGE 64
#define CANARY 0x5a

/* Pages as the program maps them, one after the other; the library gets those of `memory`, which lie apart. */
static struct {
    struct host host;
    uint8_t memory[2 * DATA_MOST + 3][UPMU_MAPPED_PAGE] __attribute__((aligned(4096)));
    void *page[1 + DATA_MOST];
    struct upmu_mapped_ring ring;
} m;

static struct upmu_mapped_page *words(void)
{
    return m.page[0];
}

/* Pages in a falling order, with a page of canaries between any two. */
static void prepare(unsigned data, bool mask)
{
    memset(&m, 0, sizeof m);
    memset(m.memory, CANARY, sizeof m.memory);
    for (unsigned i = 0; i <= data; i++)
        m.page[i] = m.memory[2 * (data - i) + 1];
    m.ring = (struct upmu_mapped_ring){.page = m.page, .pages = data + 1, .mask_on_full = mask};
    host_set_up(&m.host, "skylake");
}

static void begin(uint64_t period)
{
    const struct upmu_sampling sampling = {.period = period, .event_id = 0x1234567890};

    assert_int_equal(upmu_set_add(&m.host.session.set, "instructions", &sampling), UPMU_OK);
    assert_int_equal(upmu_session_format(&m.host.session, &upmu_mapped_format, &m.ring, sizeof m.ring), UPMU_OK);
    host_begin(&m.host, &m.host.session);
}

/* The program's loop, on pages that are not side by side here. */
static bool take(struct upmu_mapped_sample *out_sample)
{
    struct upmu_mapped_page *page = words();
    uint32_t at = page->tail & (page->records - 1u);
    /* A mapping in order: the sample is where `data` says, for one data page at a time. */
    const uint8_t *data = (const uint8_t *)m.page[1 + at / PER_PAGE] - (size_t)(at / PER_PAGE) * UPMU_MAPPED_PAGE;

    return upmu_mapped_next(page, (const void *)data, out_sample);
}

/* Kernel work, slow enough that nothing is throttled. */
static void go_on(uint64_t instructions)
{
    host_run(&m.host, instructions);
    upmu_sim_advance_ns(&m.host.sim, 10000000);
    assert_int_equal(upmu_cpu_poll(&m.host.cpu[0]), UPMU_OK);
}

static void assert_canaries(unsigned data)
{
    for (unsigned i = 0; i < 2 * DATA_MOST + 3; i++)
        if (!(i & 1u) || i > 2 * data + 1)
            for (unsigned at = 0; at < UPMU_MAPPED_PAGE; at++)
                assert_int_equal(m.memory[i][at], CANARY, i, at);
}

static void end(unsigned data)
{
    host_no_violation(&m.host);
    assert_int_equal(upmu_session_close(&m.host.session), UPMU_OK);
    assert_canaries(data);
    host_end(&m.host);
}

static void each_period_is_a_sample_in_the_programs_pages(void **state)
{
    (void)state;
    for (unsigned data = 1; data <= DATA_MOST; data *= 2) {
        struct upmu_mapped_sample sample;
        uint64_t seen = 0;

        prepare(data, false);
        begin(100);
        assert_int_equal(words()->version, UPMU_MAPPED_VERSION);
        assert_int_equal(words()->records, data * PER_PAGE);
        for (unsigned run = 0; run < 50; run++) {
            m.host.process = 7;
            m.host.thread = run;
            host_run(&m.host, 2000);
            while (take(&sample)) {
                assert_int_equal(sample.value, ++seen * 100);
                assert_int_equal(sample.event_id, 0x1234567890);
                assert_int_equal(sample.ip, 0x1000 + (seen * 100 - 1) % 2000 + 1);
                assert_int_equal(sample.process, 7);
                assert_int_equal(sample.thread, run);
                assert_int_equal(sample.events, 1);
                assert_int_equal(sample.lost, 0);
                assert_int_equal(sample.flags, 0);
                assert_int_equal(sample.event, 0);
            }
        }
        assert_int_equal(seen, 1000);
        assert_int_equal(m.ring.lost, 0);
        end(data);
    }
}

static void a_sample_names_the_cpu_that_took_it(void **state)
{
    const struct upmu_sampling sampling = {.period = 100};
    struct upmu_mapped_sample sample;
    struct host *host = &m.host;

    (void)state;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        prepare(1, false);
        upmu_sim_switch_cpu(&host->sim, cpu);
        if (cpu)
            assert_int_equal(upmu_cpu_init(&host->cpu[1], &host->machine, NULL), UPMU_OK);
        assert_int_equal(upmu_set_add(&host->session.set, "instructions", &sampling), UPMU_OK);
        assert_int_equal(upmu_session_format(&host->session, &upmu_mapped_format, &m.ring, sizeof m.ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&host->session, &host->cpu[cpu]), UPMU_OK);
        assert_int_equal(upmu_session_start(&host->session), UPMU_OK);
        host_run(host, 100);
        assert_true(take(&sample));
        assert_int_equal(sample.cpu, cpu);
        assert_int_equal(upmu_session_close(&host->session), UPMU_OK);
        if (cpu)
            assert_int_equal(upmu_cpu_fini(&host->cpu[1]), UPMU_OK);
        upmu_sim_switch_cpu(&host->sim, 0);
        host_end(host);
    }
}

static void what_finds_no_room_is_counted(void **state)
{
    struct upmu_mapped_sample sample;
    unsigned seen = 0;

    (void)state;
    prepare(1, false);
    begin(100);
    host_run(&m.host, 100 * (PER_PAGE + 10));
    assert_int_equal(m.ring.lost, 10);
    assert_int_equal(words()->lost, 10);
    while (take(&sample))
        assert_int_equal(sample.value, ++seen * 100); /* the oldest stay */
    assert_int_equal(seen, PER_PAGE);
    host_run(&m.host, 200);
    assert_true(take(&sample));
    assert_int_equal(sample.lost, 10);
    assert_int_equal(sample.flags, UPMU_SAMPLE_LOST);
    assert_true(take(&sample));
    assert_int_equal(sample.lost, 0);
    end(1);
}

static void a_full_ring_may_mask_its_session(void **state)
{
    struct upmu_mapped_sample sample;

    (void)state;
    prepare(1, true);
    begin(100);
    host_run(&m.host, 100 * (PER_PAGE + 10));
    assert_int_equal(m.host.session.state, UPMU_SESSION_MASKED);
    assert_int_equal(m.ring.lost, 1);
    assert_int_equal(upmu_session_restart(&m.host.session), UPMU_OK);
    assert_int_equal(m.host.session.state, UPMU_SESSION_MASKED); /* there is still no room */
    assert_true(take(&sample));
    assert_int_equal(upmu_session_restart(&m.host.session), UPMU_OK);
    assert_int_equal(m.host.session.state, UPMU_SESSION_RUNNING);
    host_run(&m.host, 100);
    assert_int_equal(words()->head, PER_PAGE + 1);
    end(1);
}

static void the_kernels_addresses_are_hidden(void **state)
{
    struct upmu_mapped_sample sample;

    (void)state;
    prepare(1, false);
    upmu_session_hide_kernel(&m.host.session, true);
    begin(100);
    host_run(&m.host, 100);
    assert_true(take(&sample));
    assert_int_equal(sample.ip, 0);
    assert_int_equal(sample.sp, 0);
    assert_int_equal(sample.flags, UPMU_SAMPLE_HIDDEN);
    end(1);
}

/* The place of sample number `head` in a ring of so many data pages. */
static const struct upmu_mapped_sample *stored_at(uint32_t head, unsigned data)
{
    uint32_t at = head % (data * PER_PAGE);

    return (const struct upmu_mapped_sample *)m.page[1u + at / PER_PAGE] + at % PER_PAGE;
}

/* Any byte of the pages may change at any time: memory beside them stays, the library does not stop. */
static void a_hostile_program_loses_its_own_samples_at_most(void **state)
{
    unsigned runs = share_few(20000, 2000), stored = 0;

    (void)state;
    srand(1);
    for (unsigned data = 1; data <= DATA_MOST; data *= 2) {
        struct upmu_mapped_sample sample;
        uint32_t head;

        prepare(data, false);
        begin(100);
        for (unsigned run = 0; run < runs; run++) {
            uint8_t *bytes = m.page[(unsigned)rand() % (data + 1)];

            switch (rand() % 4) {
            case 0:
                words()->tail = (uint32_t)rand() << 16 ^ (uint32_t)rand();
                break;
            case 1: /* near what it may be */
                words()->tail = m.ring.state.head + (uint32_t)(rand() % 400 - 200);
                break;
            case 2:
                for (unsigned i = 0; i < 64; i++)
                    bytes[(unsigned)rand() % UPMU_MAPPED_PAGE] = (uint8_t)rand();
                break;
            default:
                memset(m.page[0], rand(), sizeof(struct upmu_mapped_page));
            }
            head = m.ring.state.head;
            go_on(300);
            stored += m.ring.state.head - head;
        }
        assert_canaries(data);
        assert_int_equal(host_value(&m.host.session, 0), 300u * runs); /* the counts are not the program's */
        /* What the library wrote into the first page it does not read there. */
        head = m.ring.state.head;
        words()->tail = head;
        words()->head = head + 5;
        words()->records = 1;
        go_on(300);
        assert_int_equal(m.ring.state.head, head + 3);
        assert_int_equal(stored_at(head, data)->value, 300u * runs + 100);
        /* The program behaves again. */
        words()->tail = m.ring.state.head;
        words()->records = data * PER_PAGE;
        go_on(300);
        assert_true(take(&sample));
        assert_int_equal(sample.value, 300u * (runs + 1u) + 100);
        end(data);
    }
    print_message("%u samples stored\n", stored);
    assert_compare(stored, >, runs / 10);
}

static void other_arguments_are_refused(void **state)
{
    static void *many[0x20001];
    struct upmu_session *session = &m.host.session;

    (void)state;
    prepare(4, false);
    assert_int_equal(upmu_session_format(session, &upmu_mapped_format, &m.ring, sizeof m.ring - 1), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_format(session, &upmu_mapped_format, NULL, 0), UPMU_ERR_INVALID);
    for (uint32_t pages = 0; pages < 8; pages++) {
        m.ring.pages = pages;
        if (pages != 2 && pages != 3 && pages != 5)
            assert_int_equal(upmu_session_format(session, &upmu_mapped_format, &m.ring, sizeof m.ring),
                             UPMU_ERR_INVALID);
    }
    for (unsigned i = 0; i < 0x20001; i++)
        many[i] = m.memory[1];
    m.ring.page = many;
    m.ring.pages = 0x20001;
    assert_int_equal(upmu_session_format(session, &upmu_mapped_format, &m.ring, sizeof m.ring), UPMU_ERR_INVALID);
    m.ring.page = m.page;
    m.ring.pages = 5;
    m.page[4] = NULL;
    assert_int_equal(upmu_session_format(session, &upmu_mapped_format, &m.ring, sizeof m.ring), UPMU_ERR_INVALID);
    m.page[4] = m.memory[1] + 4;
    assert_int_equal(upmu_session_format(session, &upmu_mapped_format, &m.ring, sizeof m.ring), UPMU_ERR_INVALID);
    m.ring.page = NULL;
    assert_int_equal(upmu_session_format(session, &upmu_mapped_format, &m.ring, sizeof m.ring), UPMU_ERR_INVALID);
    assert_canaries(4);
    host_end(&m.host);
}

/* The program takes samples on another CPU while the handler stores them: each is whole, and none comes twice. */
static int stop;

static void *read_samples(void *argument)
{
    uint64_t *out_seen = argument, last = 0;
    struct upmu_mapped_sample sample;

    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE) ||
           words()->tail != __atomic_load_n(&words()->head, __ATOMIC_ACQUIRE))
        if (take(&sample)) {
            if (sample.value <= last || sample.value % 100 || sample.event_id != 0x1234567890)
                return NULL;
            last = sample.value;
            ++*out_seen;
        } else {
            sched_yield();
        }
    return out_seen;
}

static void a_program_reads_while_samples_are_stored(void **state)
{
    uint64_t seen = 0;
    pthread_t reader;
    void *fine;

    (void)state;
    prepare(2, false);
    begin(100);
    stop = 0;
    assert_int_equal(pthread_create(&reader, NULL, read_samples, &seen), 0);
    for (unsigned run = 0; run < 2000; run++)
        go_on(1000);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(reader, &fine);
    assert_non_null(fine);
    assert_int_equal(seen + m.ring.lost, 20000);
    end(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_period_is_a_sample_in_the_programs_pages),
        cmocka_unit_test(a_sample_names_the_cpu_that_took_it),
        cmocka_unit_test(what_finds_no_room_is_counted),
        cmocka_unit_test(a_full_ring_may_mask_its_session),
        cmocka_unit_test(the_kernels_addresses_are_hidden),
        cmocka_unit_test(a_hostile_program_loses_its_own_samples_at_most),
        cmocka_unit_test(other_arguments_are_refused),
        cmocka_unit_test(a_program_reads_while_samples_are_stored),
    };

    return cmocka_run_group_tests_name("mapped", tests, NULL, NULL);
}
