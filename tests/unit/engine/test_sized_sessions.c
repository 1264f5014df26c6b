/* SPDX-License-Identifier: MIT */
/*
 * Sessions and sets in memory for their events alone: how long it is, that full ones take no more, and that they work
 * as those of struct upmu_session do.  The memory of each ends where a page ends, and the next page has no access: a
 * read or a write behind it faults.
 */
#include <sys/mman.h>
#include <upmu/event.h>
#include <upmu/format.h>
#include <upmu/session.h>
#include <upmu/set.h>

#include "tests/common/host.h"

#define PAGE 4096u
#define PIECES 64u
#define FILL 0xa5

/* What host_work() makes of a thousand instructions, on skylake. */
static const struct {
    const char *name;
    uint64_t count;
} events[] = {{"instructions", 1000}, {"cycles", 2000},     {"ref-cycles", 2000},     {"branches", 200},
              {"branch-misses", 20},  {"cache-references", 100}, {"cache-misses", 10}};
#define EVENTS (sizeof events / sizeof events[0])

static struct host host;
static struct {
    char *map, *end;
} piece[PIECES];
static unsigned pieces;

/* Memory of exactly so many bytes, full of rubbish. */
static void *take(size_t bytes)
{
    size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
    char *map = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(map != (char *)MAP_FAILED && pieces < PIECES);
    assert_int_equal(mprotect(map + pages, PAGE, PROT_NONE), 0);
    memset(map, FILL, pages);
    piece[pieces].map = map;
    piece[pieces++].end = map + pages;
    return map + pages - bytes;
}

/* Nothing may be read or written there from now on. */
static void give(const void *memory)
{
    for (unsigned i = 0; i < pieces; i++)
        if ((const char *)memory >= piece[i].map && (const char *)memory < piece[i].end) {
            assert_int_equal(munmap(piece[i].map, (size_t)(piece[i].end - piece[i].map) + PAGE), 0, i);
            piece[i] = piece[--pieces];
            return;
        }
    fail_msg("no such memory");
}

static struct upmu_session *make(unsigned room)
{
    struct upmu_session *session = NULL;
    void *memory = take(UPMU_SESSION_BYTES(room));

    assert_int_equal(upmu_session_init_sized(memory, UPMU_SESSION_BYTES(room), &host.machine, &session), UPMU_OK);
    assert_ptr_equal(session, memory);
    assert_int_equal(session->set.capacity, room);
    return session;
}

static struct upmu_set *chain(struct upmu_session *session, unsigned room, uint16_t number)
{
    void *memory = take(UPMU_SET_BYTES(room));

    assert_int_equal(upmu_session_add_set_sized(session, memory, UPMU_SET_BYTES(room), number, 0, 0), UPMU_OK);
    assert_ptr_equal(upmu_session_find_set(session, number), memory);
    return memory;
}

static void add(struct upmu_set *set, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++)
        assert_int_equal(upmu_set_add(set, events[i].name, NULL), UPMU_OK, i);
}

/* Each event of a set has counted so many thousand instructions. */
static void counted(struct upmu_set *set, unsigned first, uint64_t thousands)
{
    struct upmu_count counts[UPMU_SET_EVENTS];

    assert_int_equal(upmu_set_read(set, 0, set->count, counts), UPMU_OK);
    for (unsigned i = 0; i < set->count; i++)
        if (counts[i].raw != thousands * events[first + i].count)
            fail_msg("%s in a set of %u counts %u", events[first + i].name, set->capacity, (unsigned)counts[i].raw);
}

static void close_and_give(struct upmu_session *session)
{
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    assert_int_equal(session->state, UPMU_SESSION_CLOSED);
    give(session);
}

static void set_up(void)
{
    host_set_up(&host, "skylake");
}

static void tear_down(void)
{
    host_end_idle(&host);
    assert_int_equal(pieces, 0);
}

/* ---- Bytes ---- */

static void a_session_takes_1024_bytes_and_320_for_each_event(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= UPMU_SET_EVENTS; n++) {
        assert_compare(UPMU_SESSION_BYTES(n), <=, 1024 + 320 * n, n);
        assert_int_equal(upmu_session_bytes(n), UPMU_SESSION_BYTES(n), n);
        assert_int_equal(upmu_set_bytes(n), UPMU_SET_BYTES(n), n);
    }
    assert_int_equal(UPMU_SESSION_BYTES(UPMU_SET_EVENTS), sizeof(struct upmu_session));
    assert_int_equal(UPMU_SET_BYTES(UPMU_SET_EVENTS), sizeof(struct upmu_set));
    assert_int_equal(upmu_session_bytes(0), 0);
    assert_int_equal(upmu_session_bytes(UPMU_SET_EVENTS + 1), 0);
    assert_int_equal(upmu_set_bytes(0), 0);
    assert_int_equal(upmu_set_bytes(UPMU_SET_EVENTS + 1), 0);
}

static void memory_without_room_for_an_event_is_refused(void **state)
{
    static struct upmu_session memory;
    const size_t one = UPMU_SESSION_BYTES(1), set = UPMU_SET_BYTES(1);
    char *odd = (char *)&memory + 1;
    struct upmu_session *session = NULL;

    (void)state;
    set_up();
    assert_int_equal(upmu_session_init_sized(&memory, 0, &host.machine, &session), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_session_init_sized(&memory, one - 1, &host.machine, &session), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_session_init_sized(odd, sizeof memory - 1, &host.machine, &session), UPMU_ERR_NO_SPACE);
    assert_null(session);
    session = make(1);
    assert_int_equal(upmu_session_add_set_sized(session, NULL, set, 1, 0, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_session_add_set_sized(session, &memory, 0, 1, 0, 0), UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_session_add_set_sized(session, &memory, set - 1, 1, 0, 0), UPMU_ERR_NO_SPACE);
    assert_int_equal(session->why.status, UPMU_ERR_NO_SPACE);
    assert_int_equal(upmu_session_add_set_sized(session, odd, sizeof memory - 1, 1, 0, 0), UPMU_ERR_NO_SPACE);
    assert_null(upmu_session_find_set(session, 1));
    assert_int_equal(memory.state, 0);
    /* A number that the chain has needs no memory. */
    assert_int_equal(upmu_session_add_set_sized(session, NULL, 0, 0, 0, 0), UPMU_OK);
    close_and_give(session);
    tear_down();
}

/* Memory that is longer than its events need, but too short for one more. */
static void nothing_behind_the_room_is_touched(void **state)
{
    const size_t bytes = UPMU_SESSION_BYTES(3) - 1, used = UPMU_SESSION_BYTES(2);
    const size_t set_bytes = UPMU_SET_BYTES(3) - 1, set_used = UPMU_SET_BYTES(2);
    unsigned char *memory = take(UPMU_SESSION_BYTES(3)), *set_memory = take(UPMU_SET_BYTES(3));
    struct upmu_session *session = NULL;
    struct upmu_set *set;

    (void)state;
    set_up();
    assert_int_equal(upmu_session_init_sized(memory, bytes, &host.machine, &session), UPMU_OK);
    assert_int_equal(upmu_session_add_set_sized(session, set_memory, set_bytes, 1, 0, 0), UPMU_OK);
    set = upmu_session_find_set(session, 1);
    assert_int_equal(session->set.capacity, 2);
    assert_int_equal(set->capacity, 2);
    add(&session->set, 0, 2);
    add(set, 3, 2);
    host_begin(&host, session);
    host_work(&host, 0, 1000);
    assert_int_equal(upmu_session_switch(session, set), UPMU_OK);
    host_work(&host, 0, 1000);
    counted(&session->set, 0, 1);
    counted(set, 3, 1);
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    for (size_t i = used; i < bytes; i++)
        assert_int_equal(memory[i], FILL, i);
    for (size_t i = set_used; i < set_bytes; i++)
        assert_int_equal(set_memory[i], FILL, i);
    give(memory);
    give(set_memory);
    tear_down();
}

/* ---- Events ---- */

static void a_full_set_takes_all_of_a_list_or_nothing(void **state)
{
    struct upmu_event event;

    (void)state;
    set_up();
    assert_int_equal(upmu_event_parse(host.cpu[0].meter.pmu, "branches", &event, NULL), UPMU_OK);
    for (unsigned n = 1; n <= UPMU_SET_EVENTS; n++) {
        struct upmu_session *session = make(n);
        struct upmu_set *set = chain(session, n, 1), *each[] = {&session->set, set};

        for (unsigned k = 0; k < 2; k++) {
            for (unsigned i = 1; i < n; i++)
                assert_int_equal(upmu_set_add(each[k], "branches", NULL), UPMU_OK, k);
            assert_int_equal(upmu_set_add(each[k], "branches,cycles", NULL), UPMU_ERR_NO_SPACE, k);
            assert_int_equal(session->why.status, UPMU_ERR_NO_SPACE);
            assert_int_equal(each[k]->count, n - 1, k, n);
            assert_int_equal(upmu_set_add_event(each[k], &event, NULL), UPMU_OK, k);
            assert_int_equal(upmu_set_add_event(each[k], &event, NULL), UPMU_ERR_NO_SPACE, k);
            assert_int_equal(upmu_set_add(each[k], "cycles", NULL), UPMU_ERR_NO_SPACE, k);
            assert_int_equal(upmu_set_replace(each[k], n - 1, "cycles", NULL), UPMU_OK, k, n);
            assert_int_equal(upmu_set_replace(each[k], n, "cycles", NULL), UPMU_ERR_INVALID, k, n);
            assert_int_equal(each[k]->count, n, k);
        }
        close_and_give(session);
        give(set);
    }
    tear_down();
}

static void each_size_counts_what_happened(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= EVENTS && n <= UPMU_SET_EVENTS; n++) {
        struct upmu_session *session;
        struct upmu_count count;

        set_up();
        session = make(n);
        add(&session->set, 0, n);
        host_begin(&host, session);
        host_work(&host, 0, 3000);
        counted(&session->set, 0, 3);
        assert_int_equal(upmu_set_write(&session->set, n - 1, 0), UPMU_OK, n);
        assert_int_equal(host_value(session, n - 1), 0, n);
        assert_int_equal(upmu_session_stop(session), UPMU_OK);
        host_work(&host, 0, 1000);
        assert_int_equal(upmu_session_start(session), UPMU_OK);
        host_work(&host, 0, 2000);
        assert_int_equal(host_value(session, n - 1), 2 * events[n - 1].count, n);
        assert_int_equal(upmu_set_read(&session->set, n, 1, &count), UPMU_ERR_INVALID, n);
        close_and_give(session);
        tear_down();
    }
}

/* Periods with a random part, a frequency, values of other events: each event has its own attributes. */
static void each_event_samples_by_its_own_attributes(void **state)
{
    const struct upmu_sampling fixed = {.period = 1000, .event_id = 7, .values = 7},
                               random = {.period = 100, .event_id = 8, .random_mask = 31, .random_seed = 5},
                               often = {.frequency = 100000, .period = 50, .event_id = 9};
    unsigned records[3] = {0};
    struct upmu_record record;
    struct upmu_session *session;

    (void)state;
    set_up();
    session = make(3);
    assert_int_equal(upmu_set_add(&session->set, "instructions", &fixed), UPMU_OK);
    assert_int_equal(upmu_set_add(&session->set, "branches", &random), UPMU_OK);
    assert_int_equal(upmu_set_add(&session->set, "cache-references", &often), UPMU_OK);
    assert_int_equal(upmu_session_ring(session, host.ring, sizeof host.ring), UPMU_OK);
    host_begin(&host, session);
    for (unsigned i = 0; i < 20; i++)
        host_work(&host, 0, 1000);
    for (; upmu_ring_view(&session->ring, &record); upmu_ring_drop(&session->ring)) {
        assert_true(record.extended && record.event < 3);
        assert_int_equal(record.event_id, 7 + record.event);
        if (record.event == 0) {
            assert_int_equal(record.last_reset, 1000);
            assert_in_range(record.value[0], 1000 * (records[0] + 1), 1000 * (records[0] + 1) + 99);
            records[0]++;
        } else {
            records[record.event]++;
        }
        if (record.event == 1)
            assert_in_range(record.last_reset, 100, 131);
    }
    assert_in_range(records[0], 19, 20);
    assert_in_range(records[1], 3900 / 131, 4000 / 100);
    assert_compare(records[2], >, 3);
    assert_int_not_equal(session->set.tally[2].period, 50); /* it went towards its frequency */
    close_and_give(session);
    tear_down();
}

/* Lists whose events need the most registers: each starts in a set that has just the room for it. */
static void lists_of_hard_events_have_room_for_their_steps(void **state)
{
    static const struct {
        const char *profile, *list;
        unsigned events;
    } hard[] = {
        {"prescott", "replay_event:NBOGUS:L1_LD_MISS", 1},
        {"prescott", "replay_event:NBOGUS:BR_MSP", 1},
        {"prescott", "packed_SP_retired", 1},
        {"prescott", "X87_SIMD_memory_moves_retired", 1},
        {"prescott", "packed_SP_retired,replay_event:NBOGUS:L1_LD_MISS", 2},
        {"willamette", "replay_event:NBOGUS:DTLB_ALL_MISS,replay_event:NBOGUS:DTLB_ALL_MISS", 2},
        {"northwood", "instr_retired:NBOGUSNTAG:NBOGUSTAG:counter=17,cascade=uops_retired.nbogus", 1},
        {"skylake", "r01b7:offcore_rsp=0x3fc01c0001", 1},
        {"skylake", "r01b7:offcore_rsp=0x3fc01c0001,r01bb:offcore_rsp=0x3fc01c0002", 2},
        {"zen4", "cycles", 1},
        {"prescott",
         "BPU_fetch_request,ITLB_reference,BSQ_allocation,cycles,TC_deliver_mode,tc_ms_xfer,retired_branch_type,"
         "retired_mispred_branch_type,packed_SP_uop,memory_cancel,memory_complete,load_port_replay",
         12},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof hard / sizeof hard[0]; i++) {
        const struct upmu_sampling cascade = {.period = 100};
        bool cascades = strstr(hard[i].list, "cascade=") != NULL;
        struct upmu_session *session;

        host_set_up(&host, hard[i].profile);
        session = make(hard[i].events);
        if (upmu_set_add(&session->set, hard[i].list, cascades ? &cascade : NULL) != UPMU_OK)
            fail_msg("%s on %s: %s", hard[i].list, hard[i].profile, upmu_status_text(session->why.status));
        if (upmu_session_attach_cpu(session, &host.cpu[0]) != UPMU_OK || upmu_session_start(session) != UPMU_OK)
            fail_msg("%s on %s: %s", hard[i].list, hard[i].profile, upmu_status_text(session->why.status));
        assert_int_equal(session->state, UPMU_SESSION_RUNNING);
        assert_int_equal(session->set.count, hard[i].events, i);
        assert_compare(session->set.program.steps, <=, UPMU_STEPS_OF(hard[i].events), i);
        close_and_give(session);
        tear_down();
    }
}

/* ---- Together ---- */

/* All general counters of skylake are wanted by each: one runs, the other two wait. */
static void sessions_of_different_sizes_share_counters(void **state)
{
    static const unsigned rooms[] = {4, 6, UPMU_SET_EVENTS};
    struct upmu_session *session[3];
    struct upmu_count count;

    (void)state;
    set_up();
    for (unsigned k = 0; k < 3; k++) {
        session[k] = make(rooms[k]);
        add(&session[k]->set, 3, 4);
        assert_int_equal(upmu_session_share(session[k], true), UPMU_OK, k);
        host_begin(&host, session[k]);
    }
    for (unsigned i = 0; i < 30; i++) {
        host_work(&host, 0, 10000);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    }
    for (unsigned k = 0; k < 3; k++)
        for (unsigned i = 0; i < 4; i++) {
            count = host_count(session[k], i);
            assert_int_equal(count.quality, UPMU_QUALITY_SCALED);
            assert_int_equal(count.value, 300 * events[3 + i].count, i);
            assert_int_equal(count.running_ns, 10 * 20000);
        }
    for (unsigned k = 0; k < 3; k++) {
        close_and_give(session[k]);
        host_work(&host, 0, 1000);
        assert_int_equal(upmu_cpu_tick(&host.cpu[0]), UPMU_OK);
    }
    tear_down();
}

static void sets_of_different_sizes_take_turns(void **state)
{
    static const unsigned first[] = {0, 3, 4}, count[] = {2, 1, 3};
    static struct upmu_set whole;
    struct upmu_session *session;
    struct upmu_set *set[3];

    (void)state;
    set_up();
    session = make(2);
    assert_int_equal(upmu_session_shuffle(session, false, 0), UPMU_OK);
    set[0] = &session->set;
    set[1] = chain(session, 1, 1);
    set[2] = &whole;
    assert_int_equal(upmu_session_add_set(session, &whole, 2, 0, 0), UPMU_OK);
    for (unsigned k = 0; k < 3; k++)
        add(set[k], first[k], count[k]);
    host_begin(&host, session);
    for (unsigned round = 1; round <= 4; round++)
        for (unsigned k = 0; k < 3; k++) {
            host_work(&host, 0, 1000);
            counted(set[k], first[k], round);
            assert_int_equal(upmu_session_switch(session, NULL), UPMU_OK);
        }
    assert_int_equal(upmu_session_detach(session), UPMU_OK);
    assert_int_equal(upmu_session_remove_set(session, 1), UPMU_OK);
    give(set[1]);
    host_begin(&host, session);
    assert_int_equal(upmu_session_switch(session, NULL), UPMU_OK);
    host_work(&host, 0, 1000);
    counted(&session->set, 0, 4);
    counted(set[2], first[2], 5);
    close_and_give(session);
    tear_down();
}

static void sessions_of_different_sizes_follow_their_threads(void **state)
{
    struct upmu_session *session[2];

    (void)state;
    host_set_up_two(&host, "skylake");
    host_threads(&host, 4);
    session[0] = make(1);
    session[1] = make(5);
    add(&session[0]->set, 3, 1);
    add(&session[1]->set, 2, 5);
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(upmu_session_attach_thread(session[k], &host.threads[k], NULL), UPMU_OK, k);
        assert_int_equal(upmu_session_start(session[k]), UPMU_OK, k);
    }
    for (unsigned i = 0; i < 6; i++) {
        host_thread_switch(&host, i & 1u, 0);
        host_work(&host, i & 1u, 1000);
        host_thread_switch(&host, i & 1u, 1);
        host_work(&host, i & 1u, 2000);
        host_thread_switch(&host, i & 1u, 2 + (i & 1u));
        host_work(&host, i & 1u, 500);
    }
    counted(&session[0]->set, 3, 6);
    counted(&session[1]->set, 2, 12);
    close_and_give(session[0]);
    host_thread_switch(&host, 0, 1);
    host_thread_switch(&host, 0, 2);
    close_and_give(session[1]);
    tear_down();
}

/* How a group grows after its first member: a set in longer memory takes the place of the first one. */
static void a_set_in_longer_memory_takes_the_place_of_the_first(void **state)
{
    struct upmu_set *set = NULL, *longer;
    struct upmu_session *session;

    (void)state;
    set_up();
    session = make(1);
    add(&session->set, 0, 1);
    for (unsigned n = 1; n <= EVENTS && n <= UPMU_SET_EVENTS; n++) {
        if (n > 1) {
            assert_int_equal(upmu_session_remove_set(session, 0), UPMU_OK);
            longer = chain(session, n, 0);
            if (set)
                give(set);
            set = longer;
            add(set, 0, n);
        }
        host_begin(&host, session);
        host_work(&host, 0, 1000);
        counted(upmu_session_find_set(session, 0), 0, 1);
        assert_int_equal(upmu_session_detach(session), UPMU_OK);
    }
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    give(session);
    assert_null(set->session);
    give(set);
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_takes_1024_bytes_and_320_for_each_event),
        cmocka_unit_test(memory_without_room_for_an_event_is_refused),
        cmocka_unit_test(nothing_behind_the_room_is_touched),
        cmocka_unit_test(a_full_set_takes_all_of_a_list_or_nothing),
        cmocka_unit_test(each_size_counts_what_happened),
        cmocka_unit_test(each_event_samples_by_its_own_attributes),
        cmocka_unit_test(lists_of_hard_events_have_room_for_their_steps),
        cmocka_unit_test(sessions_of_different_sizes_share_counters),
        cmocka_unit_test(sets_of_different_sizes_take_turns),
        cmocka_unit_test(sessions_of_different_sizes_follow_their_threads),
        cmocka_unit_test(a_set_in_longer_memory_takes_the_place_of_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
