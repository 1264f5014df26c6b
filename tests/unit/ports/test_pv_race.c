/* SPDX-License-Identifier: MIT */
/*
 * Words of the guest's memory that the hypervisor's half and another CPU of the guest change at the same time: each
 * order of their accesses, and both at full speed.
 *
 * The hypervisor's half stands still before each access of shared memory; there the guest goes as many steps as the
 * order says that is tried.  One access is one step.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tests/common/assertions.h"

#include <abi/paravirt/pv_core.h>

#include "tests/guest/guest_sources.h"

static void step(void);

static uint64_t counted; /* by the counter of the slot, or of the event */
static unsigned flagged; /* how often the slot's bit was set */

#define upmu_guest_value(guest, n) ((guest)->counter[n].total = counted)
#define upmu_guest_total(guest, n) counted
#define pv_load32(field) (step(), pv_load32(field))
#define pv_load64(field) (step(), pv_load64(field))
#define pv_store32(field, value) (step(), pv_store32(field, value))
#define pv_store64(field, value) (step(), pv_store64(field, value))
#define __atomic_compare_exchange_n(...) (step(), __atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_fetch_add(...) (step(), __atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_or(...) (step(), flagged++, __atomic_fetch_or(__VA_ARGS__))
/* (What no guest can reach stands still only where another vCPU opens an event.) */
static bool opening;
#define __atomic_load_n(...) ((void)(opening && (step(), true)), __atomic_load_n(__VA_ARGS__))
#define __atomic_store_n(...) ((void)(opening && (step(), true)), __atomic_store_n(__VA_ARGS__))
#include "abi/paravirt/pv_select.c"
#include "abi/paravirt/pv_call.c"
#define upmu_pv_permits(vcpu, counter) ((void)(vcpu), (void)(counter), true)
#include "abi/paravirt/pv_events.c"
#include "abi/paravirt/pv_page.c"
#undef __atomic_compare_exchange_n
#undef __atomic_load_n
#undef __atomic_store_n

#define PERIOD 1000u

static struct upmu_pv_page page;
static struct upmu_pv_area area;
static struct upmu_pv_event event;
static struct upmu_pv pv;
static struct upmu_guest guest;
static struct upmu_pv_vcpu vcpu;

/* Slot 1 counts, and an event on counter 1; nothing is published yet. */
static void reset(void)
{
    page.overflowed = 0;
    memset(&page.slot[1], 0, sizeof page.slot[1]);
    memset(&area, 0, sizeof area);
    guest.shape.general = 2;
    guest.shape.arch_events = 0x7f;
    event = (struct upmu_pv_event){.vcpu = &vcpu, .area = &area, .period = PERIOD, .counter = 1};
    pv = (struct upmu_pv){.events = &event, .event_count = 1};
    vcpu = (struct upmu_pv_vcpu){.pv = &pv, .guest = &guest, .page = &page, .used = 2};
    counted = flagged = 0;
}

/* The counter passes its period; the slot, or the event, gets it. */
static void publish_slot(void)
{
    counted += PERIOD;
    upmu_pv_page_publish(&vcpu, 2, 2);
}

static void publish_event(void)
{
    counted += PERIOD;
    upmu_pv_events_publish(&vcpu, 2);
}

/* ---- Orders ---- */

static void (*guest_goes)(void); /* its next step */
static unsigned rounds;          /* that it has left */
static uint8_t order[64];        /* at each place: does the guest go? */
static unsigned places, known;
static bool tries; /* orders are tried */

/* The first order has the guest last; a later one goes as said as far as that, then the host first again. */
static void step(void)
{
    while (tries && rounds) {
        bool goes = places < known && order[places];

        assert_compare(places, <, sizeof order);
        order[places++] = goes;
        if (!goes)
            return;
        guest_goes();
    }
}

/* False: all were tried. */
static bool next_order(void)
{
    while (places && order[places - 1])
        places--;
    if (!places)
        return false;
    order[places - 1] = 1;
    known = places;
    places = 0;
    return true;
}

/* ---- The guest that takes overflows ---- */

static uint32_t *word; /* overflows */
static uint32_t taken, before, flags;
static unsigned at, due;
static bool racing; /* at full speed: what was flagged cannot be known */

/* A scan: the bits of the slots, then the overflows of one, by compare-and-exchange until that succeeds. */
static void take(void)
{
    if (at == 0) {
        flags = __atomic_exchange_n(&page.overflowed, 0, __ATOMIC_ACQ_REL);
        if (flags & 2 && !racing)
            due = flagged;
        at++;
    } else if (at == 1) {
        before = __atomic_load_n(word, __ATOMIC_RELAXED);
        at++;
    } else if (__atomic_compare_exchange_n(word, &before, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        taken += before;
        if (taken < due) /* a bit is set when its overflow is there to be taken, and its count */
            fail_msg("%u overflows were there when %u were flagged", (unsigned)taken, due);
        if (due && page.slot[1].count < (uint64_t)PERIOD * due)
            fail_msg("the count of %u overflows is %u", due, (unsigned)page.slot[1].count);
        at = 0;
        rounds--;
    } else {
        at = 1;
    }
}

static void take_all(unsigned scans)
{
    for (rounds = scans; rounds;)
        take();
}

/* All orders of so many publications with so many scans; the interrupt, which comes last, has its own scan. */
static unsigned all_orders(void (*overflow)(void), unsigned publications, unsigned scans)
{
    unsigned tried = 0;

    known = 0;
    guest_goes = take;
    do {
        reset();
        word = overflow == publish_event ? &area.overflows : &page.slot[1].overflows;
        places = taken = at = due = 0;
        rounds = scans;
        tries = true;
        for (unsigned i = 0; i < publications; i++)
            overflow();
        tries = false;
        take_all(rounds + 1);
        tried++;
        if (taken != publications)
            fail_msg("order %u: %u of %u overflows were taken", tried, (unsigned)taken, publications);
        assert_int_equal(*word, 0);
        assert_int_equal(page.overflowed, 0);
    } while (next_order());
    return tried;
}

/* PV-043: whichever comes first, no overflow is lost, and none is seen twice. */
static void host_adds_and_guest_clears_in_any_order(void **state)
{
    (void)state;
    /* Of n accesses of the host's and k of the guest's there are n + k over k orders, and more where it tries again. */
    assert_compare(all_orders(publish_slot, 2, 2), >, 20000);
    assert_compare(all_orders(publish_event, 3, 3), >, 2000);
}

/* ---- The guest that reads ---- */

static uint32_t sequence;
static struct upmu_pv_slot seen;
static unsigned whole;

/* A read as the document says it: the sequence, what is wanted, the sequence again. */
static void look(void)
{
    const volatile struct upmu_pv_slot *slot = &page.slot[1];

    if (at == 0)
        sequence = slot->sequence;
    else if (at == 1)
        seen.status = slot->status;
    else if (at == 2)
        seen.count = slot->count;
    else if (at == 3)
        seen.value = slot->value;
    else if (!(sequence & 1u) && slot->sequence == sequence) {
        whole++;
        if (seen.count != seen.value || (seen.status != 0) != (seen.count > PERIOD))
            fail_msg("count %u with value %u and status %u", (unsigned)seen.count, (unsigned)seen.value,
                     (unsigned)seen.status);
    }
    rounds = ++at < 5;
}

static void what_an_even_sequence_frames_is_of_one_publication(void **state)
{
    unsigned tried = 0;

    (void)state;
    known = whole = 0;
    guest_goes = look;
    do {
        reset();
        places = at = 0;
        rounds = 1;
        tries = true;
        publish_slot();
        vcpu.taken[1] = 7;
        publish_slot();
        tries = false;
        while (rounds)
            look();
        tried++;
    } while (next_order());
    assert_true(tried > 10000 && whole > 10 && whole < tried);
}

/* ---- Two CPUs of the guest that open the same number ---- */

#define NUMBER 7u

static struct upmu_pv_event table[3];
static struct upmu_pv_vcpu others;
static uint32_t answers[2];

static bool copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    (void)context;
    memset(to, 0, bytes);
    if (bytes == sizeof(struct upmu_pv_param))
        *(struct upmu_pv_param *)to = (struct upmu_pv_param){.id = NUMBER, .attr_addr = 4096, .area_addr = address};
    return true;
}

static void *pin(void *context, uint64_t address, size_t bytes)
{
    (void)context, (void)address, (void)bytes;
    return &area;
}

static void unpin(void *context, void *memory, size_t bytes)
{
    (void)context, (void)memory, (void)bytes;
}

static const struct upmu_pv_hooks hooks = {.copy_in = copy_in, .pin = pin, .unpin = unpin};

/* Between two accesses of the first, all of the second. */
static void opens_too(void)
{
    rounds = 0;
    tries = opening = false;
    answers[1] = upmu_pv_events_call(&others, UPMU_PV_OPEN, 8192, 0);
    tries = opening = true;
}

/* PV-040: one of them has it or is told to call again; a place of the table that had another number is none of it. */
static void one_number_is_opened_once(void **state)
{
    unsigned opened[3] = {0};

    (void)state;
    for (unsigned first = 0; first < 2; first++) { /* which place is in use: the second's stands before or behind */
        known = 0;
        guest_goes = opens_too;
        do {
            unsigned open;

            reset();
            memset(table, 0, sizeof table);
            table[2 * first].vcpu = &vcpu;
            table[1].id = NUMBER; /* of an event that was closed */
            pv = (struct upmu_pv){.hooks = &hooks, .events = table, .event_count = 3};
            vcpu.used = 0;
            others = vcpu;
            places = 0;
            rounds = 1;
            tries = opening = true;
            answers[0] = upmu_pv_events_call(&vcpu, UPMU_PV_OPEN, 8192, 0);
            if (rounds)
                opens_too();
            tries = opening = false;
            open = (answers[0] == UPMU_PV_OK) + (answers[1] == UPMU_PV_OK);
            assert_compare(open, <=, 1);
            for (unsigned i = 0; i < 2; i++)
                assert_true(answers[i] == UPMU_PV_OK || answers[i] == UPMU_PV_BUSY || answers[i] == UPMU_PV_DUPLICATE,
                            i);
            assert_true(open == 1 || answers[0] == UPMU_PV_BUSY || answers[1] == UPMU_PV_BUSY);
            opened[answers[0] == UPMU_PV_OK ? 0 : answers[1] == UPMU_PV_OK ? 1 : 2]++;
        } while (next_order());
    }
    assert_true(opened[0] && opened[1]);
}

/* ---- Both at full speed ---- */

#define ROUNDS 50000u

static bool ended;

static void *takes_all(void *unused)
{
    bool last;

    do {
        last = __atomic_load_n(&ended, __ATOMIC_ACQUIRE);
        take_all(1);
    } while (!last);
    return unused;
}

static void host_adds_while_a_cpu_of_the_guest_clears(void **state)
{
    pthread_t thread;

    (void)state;
    racing = true;
    for (unsigned i = 0; i < 2; i++) {
        reset();
        word = i ? &area.overflows : &page.slot[1].overflows;
        taken = at = due = 0;
        __atomic_store_n(&ended, false, __ATOMIC_RELAXED);
        assert_int_equal(pthread_create(&thread, NULL, takes_all, NULL), 0);
        for (unsigned n = 0; n < ROUNDS; n++)
            (i ? publish_event : publish_slot)();
        __atomic_store_n(&ended, true, __ATOMIC_RELEASE);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(taken, ROUNDS);
    }
}

static void overflows_end_at_the_largest_value(void **state)
{
    (void)state;
    reset();
    page.slot[1].overflows = UINT32_MAX - 1;
    for (unsigned i = 0; i < 3; i++) {
        publish_slot();
        assert_int_equal(page.slot[1].overflows, UINT32_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_adds_and_guest_clears_in_any_order),
        cmocka_unit_test(what_an_even_sequence_frames_is_of_one_publication),
        cmocka_unit_test(one_number_is_opened_once),
        cmocka_unit_test(host_adds_while_a_cpu_of_the_guest_clears),
        cmocka_unit_test(overflows_end_at_the_largest_value),
    };

    return cmocka_run_group_tests_name("pv_race", tests, NULL, NULL);
}
