/* SPDX-License-Identifier: MIT */
/*
 * Both halves of the paravirtual PMU: an instance of the library in a guest, with its backend, and the hypervisor's
 * half over the guest engine, on the silicon model.  And guests that call what they like.
 */
#include <upmu/probe.h>
#include "tests/guest/nest.c"
#include "tests/guest/no_registers.h"

#include "abi/paravirt/pv_core.h"

/* A guest that changes a word as soon as the host has read it, or between the host's read and its addition. */
static bool flips_words, is_faster;

static uint64_t load_and_flip(const uint64_t *field)
{
    uint64_t value = pv_load64(field);

    if (flips_words)
        *(uint64_t *)(uintptr_t)field = ~value;
    return value;
}

static unsigned additions;

static uint32_t *raced(uint32_t *field)
{
    additions++;
    if (is_faster)
        *field = 0;
    return field;
}

/* An interrupt of the host, between what an entry stores for the guest and what it tells it. */
static uint32_t notes;

static struct upmu_cpu *prepare_and_note(struct upmu_guest *guest, struct upmu_guest_entry *entry)
{
    struct upmu_cpu *cpu = upmu_guest_prepare(guest, entry);

    guest->overflowed |= notes;
    notes = 0;
    return cpu;
}

#define pv_load64 load_and_flip
#define upmu_guest_prepare prepare_and_note
#define __atomic_fetch_add(field, ...) __atomic_fetch_add(raced(field), __VA_ARGS__)
#include "abi/paravirt/pv_select.c"
#include "abi/paravirt/pv_call.c"
#undef __atomic_fetch_add
#include "abi/paravirt/pv_events.c"
#include "abi/paravirt/pv_page.c"

#define RAM_BASE UINT64_C(0x1230000000)
#define RAM_PAGES 8
#define CALL 0x77u
#define EVENTS 3

static struct nest nest;
static struct upmu_pv pv;
static struct upmu_pv_vcpu vcpu;
static struct upmu_pv_event events[EVENTS];
static uint8_t ram[RAM_PAGES * 4096] __attribute__((aligned(4096)));
static unsigned calls, pins, pinned, copies;
static bool flips;       /* the guest changes what was read, at once */
static unsigned fail_in; /* the hook that is called so many times from now fails; 0: none does */
static void (*visit)(void); /* while a hook is executed: another vCPU */

#define BURST(n)                                                                                                       \
    (&(struct upmu_sim_burst){.instructions = (n), .cycles = 2 * (n), .ref_cycles = 2 * (n), .branches = (n) / 4,      \
                              .ip = 0x1000, .ip_step = 1, .sp = 0x8000})

/* (A hypervisor may compare the begin and the end of an access as numbers, so the end must not wrap.) */
static bool is_ram(uint64_t address, size_t bytes)
{
    assert_compare(address + bytes, >, address);
    return address >= RAM_BASE && address - RAM_BASE <= sizeof ram - bytes;
}

static bool copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    (void)context;
    copies++;
    if (visit)
        visit();
    if ((fail_in && --fail_in == 0) || !is_ram(address, bytes))
        return false;
    memcpy(to, ram + (address - RAM_BASE), bytes);
    for (size_t i = 0; flips && i < bytes; i++)
        ram[address - RAM_BASE + i] ^= 0xff;
    return true;
}

static void *pin(void *context, uint64_t address, size_t bytes)
{
    (void)context;
    if (visit)
        visit();
    if ((fail_in && --fail_in == 0) || !is_ram(address, bytes))
        return NULL;
    assert_compare(address % 4096 + bytes, <=, 4096);
    pins++;
    pinned++;
    return ram + (address - RAM_BASE);
}

static void unpin(void *context, void *memory, size_t bytes)
{
    (void)context, (void)bytes;
    assert_true((uint8_t *)memory >= ram && (uint8_t *)memory < ram + sizeof ram);
    assert_compare(pinned, >, 0);
    pinned--;
}

static const struct upmu_pv_hooks hooks = {.copy_in = copy_in, .pin = pin, .unpin = unpin};

static enum upmu_status enter(struct nest *of, struct upmu_guest_entry *entry)
{
    (void)of;
    return upmu_pv_enter(&vcpu, entry);
}

static uint32_t call(uint32_t operation, uint32_t first, uint32_t second)
{
    bool inside = nest.inside;
    uint32_t answer;

    nest_exit(&nest);
    answer = upmu_pv_call(&vcpu, operation, first, second);
    if (nest.traps_count)
        upmu_guest_retired(&nest.vcpu, 1, 0, false);
    calls++;
    if (inside)
        nest_enter(&nest);
    return answer;
}

static bool guest_hypercall(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer)
{
    (void)context;
    assert_int_equal(number, CALL);
    *out_answer = call(argument[0], argument[1], argument[2]);
    return true;
}

static void *guest_page(void *context, uint64_t *out_guest_physical)
{
    (void)context;
    *out_guest_physical = RAM_BASE;
    return ram;
}

static void pv_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    guest_cpuid(context, leaf, subleaf, out);
    (void)upmu_pv_cpuid(&vcpu, 0x40000100u, CALL, leaf, out);
}

static void begin(const char *profile, uint64_t min_period)
{
    nest_prepare(&nest, profile, NULL);
    nest.policy.min_period = min_period;
    nest_shape(&nest, UPMU_GUEST_INTEL);
    nest.shape.full_write = 1;
    nest_begin(&nest);
    memset(ram, 0, sizeof ram);
    calls = pins = pinned = copies = 0;
    flips = flips_words = is_faster = false;
    fail_in = 0;
    visit = NULL;
    assert_int_equal(upmu_pv_init(&pv, &hooks, events, EVENTS), UPMU_OK);
    assert_int_equal(upmu_pv_vcpu_init(&vcpu, &pv, &nest.vcpu), UPMU_OK);
    nest.enter = enter;
    nest.port.rdmsr = no_rdmsr;
    nest.port.wrmsr = no_wrmsr;
    nest.port.rdpmc = NULL;
    nest.port.cpuid = pv_cpuid;
    nest.port.pmi_rearm = no_rearm;
    nest.port.hypercall = guest_hypercall;
    nest.port.shared_page = guest_page;
}

static void end(void)
{
    nest_exit(&nest);
    upmu_pv_vcpu_fini(&vcpu);
    assert_int_equal(pinned, 0);
    nest_end(&nest);
}

static void run_of_77(void *context)
{
    (void)context;
    nest_run(&nest, BURST(77));
}

static const char *const hosts[] = {"skylake", "core2", "icelake", "zen4", "zen2", "k8_revf"};
#define HOSTS (sizeof hosts / sizeof hosts[0])

static void both_halves_count_exactly(void **state)
{
    static struct upmu_session session;

    (void)state;
    for (unsigned i = 0; i < HOSTS; i++) {
        struct upmu_count count[2];

        begin(hosts[i], 1);
        nest_library(&nest);
        assert_string_equal(nest.cpu.meter.pmu->name, "pv");
        assert_int_equal(upmu_session_init(&session, &nest.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&session.set, "instructions,branches:k", NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&session, &nest.cpu), UPMU_OK);
        nest_run(&nest, BURST(77));
        calls = 0;
        assert_int_equal(upmu_session_start(&session), UPMU_OK);
        nest_run(&nest, BURST(600));
        nest_run_host(&nest, BURST(5000));
        nest_run(&nest, BURST(400));
        assert_int_equal(upmu_set_read(&session.set, 0, 2, count), UPMU_OK);
        assert_int_equal(count[0].value, 1000);
        assert_int_equal(count[1].value, 250);
        assert_int_equal(upmu_session_stop(&session), UPMU_OK);
        assert_int_equal(calls, 3);
        nest_run(&nest, BURST(300));
        assert_int_equal(upmu_session_start(&session), UPMU_OK);
        nest_run(&nest, BURST(40));
        assert_int_equal(upmu_session_stop(&session), UPMU_OK);
        assert_int_equal(upmu_set_read(&session.set, 0, 2, count), UPMU_OK);
        assert_int_equal(count[0].value, 1040);
        assert_int_equal(count[1].value, 260);
        assert_int_equal(upmu_session_close(&session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
        assert_int_equal(pinned, 0);
        end();
    }
}

/* It asks for instructions, also of a host that takes no raw events. */
static void the_probe_is_answered_by_both_levels(void **state)
{
    static struct upmu_probe probe;

    (void)state;
    for (unsigned i = 0; i < 2 * HOSTS; i++) {
        begin(hosts[i / 2], 1);
        if (i & 1u)
            nest.policy.level = UPMU_GUEST_IPC;
        nest_library(&nest);
        nest.port.msr_faults_are_safe = true;
        probe = (struct upmu_probe){.loop = run_of_77};
        assert_int_equal(upmu_cpu_probe(&nest.cpu, &probe), UPMU_OK);
        assert_int_equal(probe.counted, 77);
        assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
        end();
    }
}

static void both_halves_sample_each_period(void **state)
{
    static struct upmu_session session;
    static uint64_t ring[8192];

    (void)state;
    for (unsigned i = 0; i < HOSTS; i++) {
        struct upmu_count count;
        struct upmu_sample sample;
        unsigned samples = 0;

        begin(hosts[i], 1);
        nest_library(&nest);
        assert_int_equal(upmu_session_init(&session, &nest.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&session.set, "instructions", &(struct upmu_sampling){.period = 100}), UPMU_OK);
        assert_int_equal(upmu_session_ring(&session, ring, sizeof ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&session, &nest.cpu), UPMU_OK);
        assert_int_equal(upmu_session_start(&session), UPMU_OK);
        nest.injected = nest.handled = nest.stale = calls = 0;
        for (unsigned k = 0; k < 100; k++)
            nest_run(&nest, BURST(100));
        assert_int_equal(calls, 200);
        assert_int_equal(upmu_session_stop(&session), UPMU_OK);
        assert_int_equal(upmu_set_read(&session.set, 0, 1, &count), UPMU_OK);
        while (upmu_ring_next(&session.ring, &sample))
            samples++;
        if (count.value != 10000 || samples != 100 || nest.injected != 100 || nest.handled != 100 || nest.stale)
            fail_msg("%s: count %llu, %u samples, %u injected, %u handled, %u stale", hosts[i],
                     (unsigned long long)count.value, samples, nest.injected, nest.handled, nest.stale);
        assert_int_equal(upmu_session_close(&session), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
        end();
    }
}

/* Calls, W, R and P since the last look. */
static const unsigned *spent(void)
{
    static unsigned now[4];
    const unsigned *count = nest.host.sim.access_count;

    memcpy(now, (unsigned[4]){calls, count[UPMU_SIM_WRMSR], count[UPMU_SIM_RDMSR], count[UPMU_SIM_RDPMC]}, sizeof now);
    calls = 0;
    host_forget_cost(&nest.host);
    return now;
}

static void assert_spent(const char *what, const unsigned expected[4])
{
    const unsigned *now = spent();

    if (memcmp(now, expected, 4 * sizeof *now) != 0)
        fail_msg("%s, %s: %u calls, %u W, %u R, %u P instead of %u, %u, %u, %u", nest.host.sim.profile->name, what,
                 now[0], now[1], now[2], now[3], expected[0], expected[1], expected[2], expected[3]);
}

/* Calls, and the host's W, R and P, of a guest with both halves: five events, a switch of threads, a sample. */
static void calls_and_accesses_of_each_operation_are_these(void **state)
{
    static const struct {
        const char *host;
        unsigned start[4], read[4], stop[4], change[4], sample[4]; /* calls, W, R, P */
    } rows[] = {
        {"skylake", {1, 9, 0, 0}, {1, 2, 0, 4}, {1, 1, 0, 12}, {2, 10, 0, 12}, {2, 9, 1, 6}},
        {"zen4", {1, 9, 0, 0}, {1, 2, 0, 4}, {1, 1, 0, 12}, {2, 10, 0, 12}, {2, 9, 1, 6}},
        {"zen2", {1, 8, 0, 0}, {1, 8, 0, 4}, {1, 4, 0, 12}, {2, 12, 0, 12}, {2, 8, 0, 7}},
    };
    static const char *const lists[2] = {"instructions,cycles,branches,branch-misses",
                                         "instructions:u,cycles:u,branches:u,branch-misses:u"};
    static struct upmu_session sessions[3];
    static struct upmu_thread threads[2];
    static uint64_t ring[1024];

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct upmu_count count[4];

        begin(rows[i].host, 1);
        nest_library(&nest);
        (void)spent();
        assert_int_equal(upmu_session_init(&sessions[0], &nest.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&sessions[0].set, lists[0], NULL), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&sessions[0], &nest.cpu), UPMU_OK);
        assert_spent("attach", (const unsigned[4]){0, 0, 0, 0});
        assert_int_equal(upmu_session_start(&sessions[0]), UPMU_OK);
        assert_spent("start", rows[i].start);
        nest_run(&nest, BURST(100));
        assert_int_equal(upmu_set_read(&sessions[0].set, 0, 4, count), UPMU_OK);
        assert_spent("read", rows[i].read);
        assert_int_equal(upmu_session_stop(&sessions[0]), UPMU_OK);
        assert_spent("stop", rows[i].stop);
        assert_int_equal(upmu_session_close(&sessions[0]), UPMU_OK);
        for (unsigned n = 0; n < 2; n++) {
            upmu_thread_init(&threads[n], n, 0, NULL);
            assert_int_equal(upmu_session_init(&sessions[n], &nest.machine), UPMU_OK, n);
            assert_int_equal(upmu_set_add(&sessions[n].set, lists[n], NULL), UPMU_OK, n);
            assert_int_equal(upmu_session_attach_thread(&sessions[n], &threads[n], NULL), UPMU_OK, n);
            assert_int_equal(upmu_session_start(&sessions[n]), UPMU_OK, n);
        }
        for (unsigned k = 0; k < 6; k++) {
            (void)spent();
            assert_int_equal(upmu_thread_switch(&nest.cpu, &threads[!(k & 1u)], &threads[k & 1u]), UPMU_OK, k);
            if (k > 1)
                assert_spent("a switch of the guest's threads", rows[i].change);
            nest_run(&nest, BURST(100));
        }
        for (unsigned n = 0; n < 2; n++)
            assert_int_equal(upmu_session_close(&sessions[n]), UPMU_OK, n);
        assert_int_equal(upmu_session_init(&sessions[2], &nest.machine), UPMU_OK);
        assert_int_equal(upmu_set_add(&sessions[2].set, "instructions", &(struct upmu_sampling){.period = 100}),
                         UPMU_OK);
        assert_int_equal(upmu_session_ring(&sessions[2], ring, sizeof ring), UPMU_OK);
        assert_int_equal(upmu_session_attach_cpu(&sessions[2], &nest.cpu), UPMU_OK);
        assert_int_equal(upmu_session_start(&sessions[2]), UPMU_OK);
        for (unsigned k = 0; k < 4; k++) {
            (void)spent();
            nest_run(&nest, BURST(100));
            if (k)
                assert_spent("a sample", rows[i].sample);
        }
        assert_int_equal(upmu_session_close(&sessions[2]), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&nest.cpu), UPMU_OK);
        end();
    }
}

/* ---- Single events, by a guest without this library: the founding calls ---- */

struct attr_words {
    uint32_t type, reserved;
    uint64_t config, period, sample_type, read_format, flags;
    uint32_t bp_type, reserved2;
    uint64_t bp_addr, bp_len;
};

/* The parameter at `at` of the RAM, the attribute 256 bytes further, the area 512. */
static uint32_t open_at(unsigned at, uint32_t id, const struct attr_words *attr)
{
    const uint64_t address = RAM_BASE + at;
    const uint64_t words[3] = {address + 256, address + 512, id};

    memcpy(ram + at, words, 24);
    memcpy(ram + at + 256, attr, sizeof *attr);
    return call(1, (uint32_t)address, (uint32_t)(address >> 32));
}

static uint64_t area_count(unsigned at)
{
    uint64_t count;

    memcpy(&count, ram + at + 512, 8);
    return count;
}

static uint32_t area_overflows(unsigned at)
{
    uint32_t overflows;

    memcpy(&overflows, ram + at + 520, 4);
    return overflows;
}

static void count_calls(struct nest *of, const struct upmu_frame *frame)
{
    (void)frame;
    of->handled++;
}

/* What the areas of two events have when the guest's handler is called. */
static struct {
    uint64_t count[2];
    uint32_t overflows[2];
} at_interrupt;

static void look_at_areas(struct nest *of, const struct upmu_frame *frame)
{
    count_calls(of, frame);
    for (unsigned i = 0; i < 2; i++) {
        at_interrupt.count[i] = area_count(1024 * i);
        at_interrupt.overflows[i] = area_overflows(1024 * i);
    }
}

/*
 * PV-019 to PV-023: the operations are 1 to 5, as the text numbers them (PV-020, PV-021, PV-022).  PV-024: the
 * parameter lies above 4 GiB.  PV-045: nothing is counted before ENABLE.  PV-047, PV-049, PV-012, PV-023: from ENABLE
 * to DISABLE, whose count is exact, as READ's is meanwhile.  PV-048, PV-050, PV-052: an id is all that they take (a
 * third argument is nothing), 0 is their answer.  PV-051: after CLOSE the id is unknown and the area is left alone.
 * PV-053 (the handler is there first), PV-054 (OPEN), PV-055, PV-056, PV-057 (ENABLE and DISABLE, many times), PV-058
 * (CLOSE): in this order.
 */
static void an_event_counts_from_enable_to_disable_and_twice_is_fine(void **state)
{
    (void)state;
    begin("skylake", 1);
    nest_enter(&nest);
    assert_int_equal(open_at(0, 7, &(struct attr_words){.config = 1}), 0);
    nest_run(&nest, BURST(100)); /* a new event is disabled */
    assert_int_equal(call(5, 7, 0), 0);
    assert_int_equal(area_count(0), 0);
    for (unsigned round = 1; round <= 10; round++) { /* more than there are counters */
        assert_int_equal(call(3, 7, 0), 0);
        assert_int_equal(call(3, 7, 0x5555), 0);
        nest_run(&nest, BURST(400));
        nest_run_host(&nest, BURST(50000));
        assert_int_equal(call(5, 7, 0), 0);
        assert_int_equal(area_count(0), 1000 * round - 600);
        nest_run(&nest, BURST(600));
        assert_int_equal(call(4, 7, 0), 0);
        assert_int_equal(call(4, 7, 0x5555), 0);
        assert_int_equal(area_count(0), 1000 * round);
        nest_run(&nest, BURST(10));
    }
    assert_int_equal(call(2, 7, 0x5555), 0);
    assert_int_equal(call(3, 7, 0), UPMU_PV_BAD_ID);
    memset(ram, 0xee, sizeof ram);
    nest_run(&nest, BURST(1000));
    for (unsigned i = 0; i < sizeof ram; i++)
        assert_int_equal(ram[i], 0xee, i); /* after close the area is never written */
    end();
}

/*
 * PV-033: the modes that an attribute excludes are not counted.
 * Catches: a mode that is counted though the guest excluded it (EXCLUDE_USER or EXCLUDE_KERNEL ignored or exchanged).
 */
static void an_event_counts_in_the_modes_that_its_attribute_leaves(void **state)
{
    static const uint64_t flags[] = {0, UPMU_PV_ATTR_EXCLUDE_USER, UPMU_PV_ATTR_EXCLUDE_KERNEL};
    static const uint64_t counts[] = {140, 40, 100};
    struct upmu_sim_burst user = *BURST(100);

    (void)state;
    user.user = true;
    for (unsigned i = 0; i < 3; i++) {
        begin("skylake", 1);
        nest_enter(&nest);
        assert_int_equal(open_at(0, 7, &(struct attr_words){.config = 1, .flags = flags[i]}), 0, i);
        assert_int_equal(call(3, 7, 0), 0);
        nest_run(&nest, &user);
        nest_run(&nest, BURST(40));
        assert_int_equal(call(4, 7, 0), 0);
        assert_int_equal(area_count(0), counts[i], i);
        end();
    }
}

/*
 * PV-051: a number that was closed may be opened again: a new event, with an area of its own.
 * Catches: an event that goes on with the count, the attribute or the area of the one that had its number before.
 */
static void a_number_that_is_opened_again_is_a_new_event(void **state)
{
    (void)state;
    begin("skylake", 1);
    nest_enter(&nest);
    assert_int_equal(open_at(0, 7, &(struct attr_words){.config = 1}), 0);
    assert_int_equal(call(3, 7, 0), 0);
    nest_run(&nest, BURST(400));
    assert_int_equal(open_at(1024, 7, &(struct attr_words){.config = 4}), UPMU_PV_DUPLICATE);
    assert_int_equal(call(2, 7, 0), 0);
    memset(ram, 0xee, 1024);
    assert_int_equal(open_at(1024, 7, &(struct attr_words){.config = 4}), 0);
    nest_run(&nest, BURST(400)); /* a new event is disabled */
    assert_int_equal(call(3, 7, 0), 0);
    nest_run(&nest, BURST(400));
    assert_int_equal(call(4, 7, 0), 0);
    assert_int_equal(area_count(1024), 100); /* branches */
    for (unsigned i = 0; i < 1024; i++)
        assert_int_equal(ram[i], 0xee, i);
    end();
}

/*
 * PV-027: the period is where it belongs.  PV-004, PV-044, PV-035: count and overflows are in the areas when the
 * guest's handler is called.  PV-005, PV-006: one interrupt for both events.  PV-036: one more for each period.
 * PV-042: they are added to what the guest left there.
 */
static void overflows_reach_the_area_before_the_interrupt(void **state)
{
    unsigned seen = 0;

    (void)state;
    begin("skylake", 100);
    nest.handler = look_at_areas;
    nest_enter(&nest);
    assert_int_equal(open_at(0, 1, &(struct attr_words){.config = 1, .period = 1000}), 0);
    assert_int_equal(open_at(1024, 2, &(struct attr_words){.config = 4, .period = 250}), 0);
    assert_int_equal(call(3, 1, 0), 0);
    assert_int_equal(call(3, 2, 0), 0);
    for (unsigned i = 0; i < 10; i++) {
        nest_run(&nest, BURST(1000));
        assert_int_equal(nest.handled, seen + 1); /* of both events */
        seen = nest.handled;
        for (unsigned k = 0; k < 2; k++) {
            assert_int_equal(at_interrupt.overflows[k], i + 1, i, k);
            assert_int_equal(at_interrupt.count[k], (k ? 250 : 1000) * (i + 1), i, k);
        }
    }
    memset(ram + 520, 0, 4); /* the guest took them, and left 7 of the other event */
    memcpy(ram + 1024 + 520, &(uint32_t){7}, 4);
    nest_run(&nest, BURST(1000));
    assert_int_equal(area_overflows(0), 1);
    assert_int_equal(area_overflows(1024), 8);
    assert_int_equal(call(4, 1, 0), 0);
    assert_int_equal(area_count(0), 11000);
    end();
}

/*
 * PV-025, PV-026, PV-028, PV-029, PV-030, PV-031, PV-032, PV-033: words and bits of an attribute, at their places.
 * PV-038: addresses of the area.  PV-003, PV-010: an event for each that is open, and no more than there is room for.
 * PV-040: a number twice.  PV-008, PV-041: an event is its number, not its place.  PV-046: answers other than 0.
 */
static void what_a_guest_asks_wrongly_is_refused(void **state)
{
    const struct attr_words good = {.config = 1};
    struct attr_words attr;

    (void)state;
    begin("skylake", 100);
    nest_enter(&nest);
    for (uint32_t op = 0; op < 40; op++)
        if (op == 0 || (op > 5 && op < 16) || op > 19)
            assert_int_equal(call(op, 0, 0), UPMU_PV_BAD_OP);
    /* Flags, one by one; words that must be 0. */
    for (unsigned bit = 0; bit < 64; bit++) {
        bool known = bit == 0 || bit == 4 || bit == 5 || bit == 6 || bit == 19 || bit == 20;

        attr = good;
        attr.flags = UINT64_C(1) << bit;
        assert_int_equal(open_at(0, 1, &attr), known ? 0 : UPMU_PV_BAD_ATTR);
        if (known)
            assert_int_equal(call(2, 1, 0), 0);
        attr = good;
        attr.bp_type = (uint32_t)(UINT64_C(1) << bit >> 32 | UINT64_C(1) << bit);
        assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_ATTR);
        attr = good;
        attr.reserved = (uint32_t)(UINT64_C(1) << bit >> 32 | UINT64_C(1) << bit);
        assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_ATTR);
        attr = good;
        attr.reserved2 = (uint32_t)(UINT64_C(1) << bit >> 32 | UINT64_C(1) << bit);
        assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_ATTR);
        attr = good;
        attr.bp_addr = UINT64_C(1) << bit;
        assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_ATTR);
        attr = good;
        attr.bp_len = UINT64_C(1) << bit;
        assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_ATTR);
        /* The guest makes its own records: any form of them is taken. */
        attr = good;
        attr.sample_type = attr.read_format = UINT64_C(1) << bit;
        assert_int_equal(open_at(0, 1, &attr), 0);
        assert_int_equal(call(2, 1, 0), 0);
    }
    for (unsigned bit = 0; bit < 32; bit++) { /* the word after the number, in the parameter */
        const uint64_t words[3] = {RAM_BASE + 256, RAM_BASE + 512, UINT64_C(1) << (32 + bit) | 1};

        memcpy(ram, words, 24);
        memcpy(ram + 256, &good, sizeof good);
        assert_int_equal(call(1, (uint32_t)RAM_BASE, (uint32_t)(RAM_BASE >> 32)), UPMU_PV_BAD_ATTR, bit);
    }
    for (unsigned type = 1; type < 100; type++)
        if (type != 4) {
            attr = good;
            attr.type = type;
            assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_EVENT);
        }
    for (unsigned config = 10; config < 100; config++) {
        attr = good;
        attr.config = config;
        assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_EVENT);
    }
    attr = good;
    attr.flags = 0x30; /* neither user nor kernel mode */
    assert_int_equal(open_at(0, 1, &attr), 0);
    assert_int_equal(call(2, 1, 0), 0);
    attr = good;
    attr.period = 99;
    assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_PERIOD);
    attr.period = UINT64_C(1) << 47;
    assert_int_equal(open_at(0, 1, &attr), UPMU_PV_BAD_PERIOD);
    /* Addresses: of the parameter, in it. */
    assert_int_equal(call(1, 4, (uint32_t)(RAM_BASE >> 32)), UPMU_PV_BAD_ADDRESS);
    assert_int_equal(call(1, 0, 0), UPMU_PV_BAD_ADDRESS);
    assert_int_equal(call(1, 0xfffffff8u, 0xffffffffu), UPMU_PV_BAD_ADDRESS);
    for (unsigned i = 0; i < 6; i++) {
        const uint64_t bad[6][2] = {{256, 4096 - 8}, {256, 513}, {256, 516}, {257, 512}, {256, 1u << 30},
                                    {1u << 30, 512}};
        const uint64_t words[3] = {RAM_BASE + bad[i][0], RAM_BASE + bad[i][1], 1};

        memcpy(ram, words, 24);
        memcpy(ram + 256, &good, sizeof good);
        assert_int_equal(call(1, (uint32_t)RAM_BASE, (uint32_t)(RAM_BASE >> 32)), UPMU_PV_BAD_ADDRESS);
    }
    assert_int_equal(pinned, 0);
    /* The table: one number twice, too many. */
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_int_equal(open_at(1024 * i, i, &good), 0, i);
    assert_int_equal(open_at(4096, 0, &good), UPMU_PV_DUPLICATE);
    assert_int_equal(open_at(4096, 99, &good), UPMU_PV_LIMIT);
    assert_int_equal(pinned, EVENTS);
    assert_int_equal(call(3, 99, 0), UPMU_PV_BAD_ID);
    /* Not while single events count; and the other way round. */
    assert_int_equal(call(3, 0, 0), 0);
    assert_int_equal(call(16, (uint32_t)RAM_BASE, (uint32_t)(RAM_BASE >> 32)), UPMU_PV_BAD_STATE);
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_int_equal(call(2, i, 0), 0, i);
    assert_int_equal(call(16, (uint32_t)RAM_BASE + 8, (uint32_t)(RAM_BASE >> 32)), UPMU_PV_BAD_ADDRESS);
    assert_int_equal(call(16, (uint32_t)RAM_BASE, 0), UPMU_PV_BAD_ADDRESS);
    assert_int_equal(call(18, 1, 0), UPMU_PV_BAD_STATE);
    assert_int_equal(call(17, 0, 0), UPMU_PV_BAD_STATE);
    assert_int_equal(call(16, (uint32_t)RAM_BASE, (uint32_t)(RAM_BASE >> 32)), 0);
    assert_int_equal(call(16, (uint32_t)RAM_BASE, (uint32_t)(RAM_BASE >> 32)), UPMU_PV_BAD_STATE);
    assert_int_equal(open_at(4096, 0, &good), UPMU_PV_BAD_STATE);
    assert_int_equal(call(18, 1u << 8, 0), UPMU_PV_BAD_STATE);
    assert_int_equal(call(17, 0, 0), 0);
    end();
}

static void an_attribute_may_cross_a_page(void **state)
{
    const uint64_t words[3] = {RAM_BASE + 4096 - 16, RAM_BASE + 512, 8};
    const struct attr_words attr = {.config = 1, .flags = 0x10}; /* flags and all that follows are on the next page */

    (void)state;
    begin("skylake", 1);
    nest_enter(&nest);
    memcpy(ram, words, sizeof words);
    memcpy(ram + 4096 - 16, &attr, sizeof attr);
    assert_int_equal(call(1, (uint32_t)RAM_BASE, (uint32_t)(RAM_BASE >> 32)), 0);
    assert_int_equal(call(3, 8, 0), 0);
    nest_run(&nest, BURST(300));
    assert_int_equal(call(4, 8, 0), 0);
    assert_int_equal(area_count(0), 300);
    end();
}

/* PV-034, PV-039: parameter, attribute and area are as long as the document says: they may be the last bytes. */
static void structures_may_end_where_memory_ends(void **state)
{
    static const unsigned bytes[3] = {24, 72, 16};
    const struct attr_words attr = {.config = 1};

    (void)state;
    begin("skylake", 1);
    nest_enter(&nest);
    for (unsigned last = 0; last < 3; last++) {
        uint64_t at[3] = {0, 256, 512};
        uint64_t words[3];

        at[last] = sizeof ram - bytes[last];
        words[0] = RAM_BASE + at[1];
        words[1] = RAM_BASE + at[2];
        words[2] = 8;
        memcpy(ram + at[1], &attr, sizeof attr);
        memcpy(ram + at[0], words, sizeof words);
        assert_int_equal(call(1, (uint32_t)(RAM_BASE + at[0]), (uint32_t)(RAM_BASE >> 32)), 0);
        assert_int_equal(call(2, 8, 0), 0);
    }
    end();
}

static void a_level_refuses_slots_and_events_by_name(void **state)
{
    uint32_t out[4];

    (void)state;
    begin("skylake", 1);
    nest_exit(&nest);
    nest.policy.level = UPMU_GUEST_IPC;
    assert_true(upmu_pv_cpuid(&vcpu, 0x40000000u, CALL, 0x40000001u, out));
    assert_int_equal(out[0], 3); /* no raw events */
    assert_int_equal(open_at(0, 1, &(struct attr_words){.config = 1}), 0);
    assert_int_equal(open_at(1024, 2, &(struct attr_words){.config = 4}), UPMU_PV_BAD_EVENT);
    assert_int_equal(open_at(1024, 2, &(struct attr_words){.type = 4, .config = 0x1c2}), UPMU_PV_BAD_EVENT);
    assert_int_equal(call(2, 1, 0), 0);
    assert_int_equal(call(16, (uint32_t)RAM_BASE, (uint32_t)(RAM_BASE >> 32)), 0);
    /* Slot 0: instructions; slot 1: branches, which this level lacks. */
    {
        const uint64_t wishes[2] = {UINT64_C(0x8600000000000001), UINT64_C(0x8600000000000004)};

        memcpy(ram + 1600, &wishes[0], 8);
        memcpy(ram + 1632, &wishes[1], 8);
    }
    assert_int_equal(call(18, 3, 0), UPMU_PV_BAD_EVENT);
    nest_run(&nest, BURST(100));
    assert_int_equal(call(19, 3, 0), 0);
    {
        uint64_t value[2];
        uint32_t status;

        memcpy(&value[0], ram + 64 + 16, 8);
        memcpy(&value[1], ram + 128 + 16, 8);
        memcpy(&status, ram + 128 + 60, 4);
        assert_int_equal(value[0], 100);
        assert_int_equal(value[1], 0);
        assert_int_equal(status >> 17, 1);
    }
    end();
}

/* ---- What a hostile guest cannot do by its calls; the numbers are those of test_guest_security.c ---- */

#define BASE_LOW ((uint32_t)RAM_BASE)
#define BASE_HIGH ((uint32_t)(RAM_BASE >> 32))

/* A second vCPU of the guest, which never runs. */
static struct upmu_guest second_guest;
static struct upmu_session second_sessions[2];
static struct upmu_pv_vcpu second;

static void begin_second(void)
{
    assert_int_equal(upmu_guest_init(&second_guest, &nest.host.machine, &nest.shape, &nest.policy,
                                     &(struct upmu_guest_memory){second_sessions, 2, NULL}),
                     UPMU_OK);
    assert_int_equal(upmu_pv_vcpu_init(&second, &pv, &second_guest), UPMU_OK);
}

static void end_second(void)
{
    upmu_pv_vcpu_fini(&second);
    assert_int_equal(upmu_guest_fini(&second_guest), UPMU_OK);
}

/* What slot `n` of the page at the base is to count. */
static void wish(unsigned n, uint64_t config, uint64_t load)
{
    memcpy(ram + 1600 + 32 * n, &config, 8);
    memcpy(ram + 1600 + 32 * n + 16, &load, 8);
}

#define WISH_INSTRUCTIONS UINT64_C(0x8600000000000001)
#define WISH_INTERRUPT UINT64_C(0x0800000000000000)

static uint64_t slot_word(unsigned n, unsigned at)
{
    uint64_t word;

    memcpy(&word, ram + 64 + 64 * n + at, 8);
    return word;
}

static void map_page(void)
{
    assert_int_equal(call(16, BASE_LOW, BASE_HIGH), 0);
}

/* (The host takes a wrap of its counter for one by the time; without flags it is to look at them.) */
static void run_for_hours(unsigned hours, uint64_t instructions)
{
    for (unsigned i = 0; i < hours; i++) {
        nest.host.sim.now_ns += UINT64_C(3600000000000);
        nest_run(&nest, BURST(instructions));
        nest_exit(&nest);
        assert_int_equal(upmu_cpu_poll(&nest.host.cpu[0]), UPMU_OK);
    }
}

/* However long there is no look: a virtual counter has 48 bits, and counts have 64. */
static void a_count_is_longer_than_a_counter(void **state)
{
    const uint64_t part = UINT64_C(1) << 45;

    (void)state;
    for (unsigned host = 0; host < HOSTS; host++) {
        begin(hosts[host], 1);
        nest_enter(&nest);
        assert_int_equal(open_at(0, 7, &(struct attr_words){.config = 1}), 0);
        assert_int_equal(call(3, 7, 0), 0);
        run_for_hours(20, part);
        assert_int_equal(call(5, 7, 0), 0);
        assert_int_equal(area_count(0), 20 * part);
        assert_int_equal(call(2, 7, 0), 0);
        map_page();
        wish(0, WISH_INSTRUCTIONS, UINT64_C(1) << 48 | 1000);
        assert_int_equal(call(18, 1, 0), 0);
        run_for_hours(20, part);
        assert_int_equal(call(19, 1, 0), 0);
        assert_int_equal(slot_word(0, 0), 20 * part);
        assert_int_equal(slot_word(0, 16), (20 * part + 1000) & 0xffffffffffffu);
        end();
    }
}

/*
 * The loop of the PMU test of kvm-unit-tests stands between the call that opens its counter and the call that closes
 * it.  The hypervisor executes both calls, and says so after each: the call that opens is counted, and the call that
 * closes is not.  A call that reads meanwhile is counted after it has stored the count.
 */
#define LOOP_LENGTH (10u * 1000u + 16u)

static void check_loop_by_page(void)
{
    map_page();
    for (unsigned n = 0; n < nest.shape.general; n++) {
        const uint64_t load = (uint64_t)(n + 1) << 48;

        wish(n, WISH_INSTRUCTIONS, load | 5);
        assert_int_equal(call(18, 1u << n, 0), 0, n);
        nest_run(&nest, BURST(LOOP_LENGTH));
        assert_int_equal(call(19, 1u << n, 0), 0, n);
        assert_int_equal(slot_word(n, 0), LOOP_LENGTH + 1, n);
        nest_run(&nest, BURST(LOOP_LENGTH));
        assert_int_equal(call(18, 0, 0), 0);
        assert_int_equal(slot_word(n, 0), 2 * LOOP_LENGTH + 2, n);
        assert_int_equal(slot_word(n, 16), 5 + 2 * LOOP_LENGTH + 2, n);
        assert_int_equal((uint32_t)slot_word(n, 8), 0, n);
    }
    /* The call that opens may be the event that overflows. */
    wish(0, WISH_INSTRUCTIONS | WISH_INTERRUPT, UINT64_C(0xabcdffffffffffff));
    assert_int_equal(call(18, 1, 0), 0);
    assert_int_equal(nest.handled, 1);
    nest_run(&nest, BURST(1));
    assert_int_equal((uint32_t)slot_word(0, 8), 1);
    assert_int_equal(call(18, 0, 0), 0);
    assert_int_equal(slot_word(0, 16), 1);
    assert_int_equal(nest.handled, 1);
    assert_int_equal(call(17, 0, 0), 0);
}

static void check_loop_by_events(void)
{
    assert_int_equal(open_at(0, 7, &(struct attr_words){.config = 1}), 0);
    assert_int_equal(call(3, 7, 0), 0);
    nest_run(&nest, BURST(LOOP_LENGTH));
    assert_int_equal(call(5, 7, 0), 0);
    assert_int_equal(area_count(0), LOOP_LENGTH + 1);
    nest_run(&nest, BURST(LOOP_LENGTH));
    assert_int_equal(call(4, 7, 0), 0);
    assert_int_equal(call(5, 7, 0), 0);
    assert_int_equal(area_count(0), 2 * LOOP_LENGTH + 2);
    assert_int_equal(call(2, 7, 0), 0);
}

static void a_call_that_opens_counts(void **state)
{
    (void)state;
    for (unsigned host = 0; host < HOSTS; host++) {
        begin(hosts[host], 1);
        nest.handler = count_calls;
        nest.traps_count = true;
        check_loop_by_page();
        check_loop_by_events();
        end();
    }
}

static void what_the_shape_lacks_is_no_event(void **state)
{
    uint32_t out[4];

    (void)state;
    begin("skylake", 1);
    nest.vcpu.shape.arch_events &= (uint16_t)~(1u << 5);
    assert_true(upmu_pv_cpuid(&vcpu, 0x40000000u, CALL, 0x40000002u, out));
    assert_int_equal(out[1] >> 4 & 1u, 0);
    assert_int_equal(open_at(0, 1, &(struct attr_words){.config = 4}), UPMU_PV_BAD_EVENT);
    map_page();
    wish(0, WISH_INSTRUCTIONS + 3, 0);
    assert_int_equal(call(18, 1, 0), UPMU_PV_BAD_EVENT);
    end();
}

/* With an overflow that was noticed, or not; and with a counter that waits. */
static void a_page_begins_with_nothing_of_the_one_before(void **state)
{
    (void)state;
    for (unsigned interrupts = 0; interrupts < 2; interrupts++) {
        begin("skylake", 1000);
        map_page();
        wish(0, WISH_INSTRUCTIONS | (interrupts ? WISH_INTERRUPT : 0), UINT64_C(0x1fffffffffff0));
        assert_int_equal(call(18, 1, 0), 0);
        nest_run(&nest, BURST(100));
        nest_exit(&nest);
        if (interrupts)
            assert_int_equal(call(19, 1, 0), 0);
        nest.vcpu.waiting |= 2;
        assert_int_equal(call(17, 0, 0), 0);
        memset(ram, 0, sizeof ram);
        map_page();
        nest_run(&nest, BURST(100));
        nest_exit(&nest);
        for (unsigned n = 0; n < nest.shape.general; n++) {
            assert_int_equal(slot_word(n, 0), 0, n);
            assert_int_equal((uint32_t)slot_word(n, 8), 0, n);
            assert_int_equal(slot_word(n, 16), 0, n);
            assert_int_equal(slot_word(n, 56), 0, n);
        }
        assert_int_equal(nest.injected, 0);
        end();
    }
}

/* The host's interrupt is late, as its period is shorter than it may be. */
static void an_overflow_is_shown_before_it_interrupts(void **state)
{
    struct upmu_guest_entry entry;

    (void)state;
    begin("skylake", 1000);
    map_page();
    wish(0, WISH_INSTRUCTIONS | WISH_INTERRUPT, UINT64_C(0x1fffffffffff0));
    assert_int_equal(call(18, 1, 0), 0);
    nest_run(&nest, BURST(100));
    nest_exit(&nest);
    notes = 1;
    assert_int_equal(upmu_pv_enter(&vcpu, &entry), UPMU_OK);
    assert_int_equal(notes, 0);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NONE);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal((uint32_t)slot_word(0, 8), 0);
    assert_int_equal(upmu_pv_enter(&vcpu, &entry), UPMU_OK);
    assert_int_equal(entry.inject, UPMU_GUEST_INJECT_NMI);
    assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
    assert_int_equal((uint32_t)slot_word(0, 8), 1);
    end();
}

/* Two slots went round and one was looked at: an interrupt for what is shown, none for what was shown before. */
static void each_interrupt_comes_with_an_overflow_that_is_new(void **state)
{
    struct upmu_guest_entry entry;
    uint32_t shown = 0, now;

    (void)state;
    begin("skylake", 1000);
    map_page();
    wish(0, WISH_INSTRUCTIONS | WISH_INTERRUPT, UINT64_C(0x1fffffffffff0));
    wish(1, WISH_INSTRUCTIONS | WISH_INTERRUPT, UINT64_C(0x1fffffffffff0));
    assert_int_equal(call(18, 3, 0), 0);
    nest_run(&nest, BURST(100));
    nest_exit(&nest);
    assert_int_equal(call(19, 1, 0), 0);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(upmu_pv_enter(&vcpu, &entry), UPMU_OK);
        now = (uint32_t)slot_word(0, 8) + (uint32_t)slot_word(1, 8);
        assert_int_equal(entry.inject, now != shown ? UPMU_GUEST_INJECT_NMI : UPMU_GUEST_INJECT_NONE);
        shown = now;
        assert_int_equal(upmu_guest_exit(&nest.vcpu), UPMU_OK);
        if (i == 1)
            assert_int_equal(call(19, 2, 0), 0);
    }
    assert_int_equal(shown, 2);
    end();
}

static void what_was_closed_points_nowhere(void **state)
{
    (void)state;
    begin("skylake", 1);
    nest_exit(&nest);
    assert_int_equal(open_at(0, 1, &(struct attr_words){.config = 1}), 0);
    assert_int_equal(call(2, 1, 0), 0);
    for (unsigned i = 0; i < EVENTS; i++)
        assert_null(events[i].area, i);
    end();
}

static void s01_operations_ids_and_masks_beyond_their_range_are_answered(void **state)
{
    static struct upmu_pv_vcpu before;
    static struct upmu_guest guest;
    static uint8_t memory[sizeof ram];

    (void)state;
    begin("skylake", 1);
    assert_int_equal(open_at(0, 7, &(struct attr_words){.config = 1}), 0);
    before = vcpu;
    guest = nest.vcpu;
    memcpy(memory, ram, sizeof ram);
    for (unsigned bit = 0; bit < 32; bit++) {
        uint32_t one = UINT32_C(1) << bit;

        for (uint32_t low = 0; low < 32; low++)
            if (one >= 32)
                assert_int_equal(call(one | low, 7, 7), UPMU_PV_BAD_OP);
        for (uint32_t op = 2; op <= 5; op++)
            assert_int_equal(call(op, 7 ^ one, 0), UPMU_PV_BAD_ID);
    }
    assert_memory_equal(&before, &vcpu, sizeof vcpu);
    assert_memory_equal(&guest, &nest.vcpu, sizeof guest);
    assert_memory_equal(memory, ram, sizeof ram);
    assert_int_equal(call(2, 7, 0), 0);
    map_page();
    before = vcpu;
    memcpy(memory, ram, sizeof ram);
    for (unsigned bit = nest.shape.general; bit < 32; bit++) {
        assert_int_equal(call(18, UINT32_C(1) << bit | 1u, UINT32_MAX), UPMU_PV_BAD_STATE);
        assert_int_equal(call(19, UINT32_C(1) << bit, UINT32_MAX), 0);
    }
    assert_memory_equal(&before, &vcpu, sizeof vcpu);
    assert_memory_equal(memory, ram, sizeof ram);
    end();
}

/* Of the page, the parameter, the attribute and the area; with any misalignment. */
static void s02_addresses_that_are_no_memory_of_the_guest_are_refused(void **state)
{
    static const uint64_t nowhere[] = {0,
                                       8,
                                       0xfff,
                                       RAM_BASE - 4096,
                                       RAM_BASE - 8,
                                       RAM_BASE + sizeof ram,
                                       RAM_BASE + sizeof ram - 8,
                                       UINT64_C(0x7ffffffffffff000),
                                       UINT64_C(0x8000000000000000),
                                       UINT64_C(0xfffffffffffff000),
                                       UINT64_C(0xfffffffffffffff0),
                                       UINT64_C(0xfffffffffffffff8),
                                       UINT64_MAX};
    const struct attr_words attr = {.config = 1};

    (void)state;
    begin("skylake", 1);
    for (unsigned i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        const uint64_t words[2][3] = {{nowhere[i], RAM_BASE + 512, 1}, {RAM_BASE + 256, nowhere[i], 1}};

        assert_int_equal(call(16, (uint32_t)nowhere[i], (uint32_t)(nowhere[i] >> 32)), UPMU_PV_BAD_ADDRESS, i);
        assert_int_equal(call(1, (uint32_t)nowhere[i], (uint32_t)(nowhere[i] >> 32)), UPMU_PV_BAD_ADDRESS, i);
        for (unsigned k = 0; k < 2; k++) {
            memcpy(ram, words[k], 24);
            memcpy(ram + 256, &attr, sizeof attr);
            assert_int_equal(call(1, BASE_LOW, BASE_HIGH), UPMU_PV_BAD_ADDRESS);
        }
    }
    for (unsigned off = 1; off < 4096; off = off < 8 ? off + 1 : off + 504) {
        const uint64_t words[2][3] = {{RAM_BASE + 256 + off % 8, RAM_BASE + 512, 1},
                                      {RAM_BASE + 256, RAM_BASE + 512 + off % 8, 1}};

        assert_int_equal(call(16, BASE_LOW + off, BASE_HIGH), UPMU_PV_BAD_ADDRESS);
        if (off % 8 == 0)
            continue;
        assert_int_equal(call(1, BASE_LOW + off, BASE_HIGH), UPMU_PV_BAD_ADDRESS);
        for (unsigned k = 0; k < 2; k++) {
            memcpy(ram, words[k], 24);
            memcpy(ram + 256, &attr, sizeof attr);
            assert_int_equal(call(1, BASE_LOW, BASE_HIGH), UPMU_PV_BAD_ADDRESS);
        }
    }
    /* An area may end where its page does, and may not lie in two. */
    {
        const uint64_t words[2][3] = {{RAM_BASE + 256, RAM_BASE + 4096 - 8, 1},
                                      {RAM_BASE + 256, RAM_BASE + 4096 - 16, 1}};

        for (unsigned k = 0; k < 2; k++) {
            memcpy(ram, words[k], 24);
            assert_int_equal(call(1, BASE_LOW, BASE_HIGH), k ? 0 : UPMU_PV_BAD_ADDRESS, k);
        }
    }
    assert_int_equal(pins, 1);
    end();
}

/* Each word is changed as soon as it was read: parameter and attribute by the hook, words of the page by the load. */
static void s03_what_a_guest_has_in_memory_is_read_once(void **state)
{
    (void)state;
    begin("skylake", 1);
    nest_enter(&nest);
    flips = true;
    assert_int_equal(open_at(0, 3, &(struct attr_words){.config = 1}), 0);
    assert_int_equal(copies, 2);
    flips = false;
    assert_int_equal(call(3, 3, 0), 0);
    nest_run(&nest, BURST(500));
    assert_int_equal(call(4, 3, 0), 0);
    assert_int_equal(area_count(0), 500);
    assert_int_equal(call(2, 3, 0), 0);
    memset(ram, 0, sizeof ram);
    map_page();
    wish(0, WISH_INSTRUCTIONS, UINT64_C(1) << 48 | 1000);
    wish(1, 0, 0);
    flips_words = true;
    assert_int_equal(call(18, 3, 0), 0);
    nest_run(&nest, BURST(500));
    assert_int_equal(call(18, 0, 0), 0);
    assert_int_equal(slot_word(0, 16), 1500);
    assert_int_equal(slot_word(1, 16), 0);
    end();
}

static void s05_an_event_is_generic_or_raw_and_nothing_else(void **state)
{
    (void)state;
    begin("skylake", 1);
    for (unsigned type = 0; type < 256 + 24; type++) {
        uint32_t word = type < 256 ? type : UINT32_C(1) << (type - 248);
        bool known = word == 0 || word == 4;

        assert_int_equal(open_at(0, 1, &(struct attr_words){.type = word, .config = 1}),
                         known ? 0 : UPMU_PV_BAD_EVENT);
        if (known)
            assert_int_equal(call(2, 1, 0), 0);
    }
    /* Of a raw word: what no guest may choose. */
    for (unsigned bit = 16; bit < 64; bit++) {
        bool chosen = bit == 18 || (bit >= 23 && bit < 32);
        uint32_t answer = open_at(0, 1, &(struct attr_words){.type = 4, .config = 0xc0 | UINT64_C(1) << bit});

        assert_int_equal(answer, chosen ? 0 : UPMU_PV_BAD_EVENT);
        if (chosen)
            assert_int_equal(call(2, 1, 0), 0);
    }
    end();
}

static void s10_memory_is_pinned_and_stored_to_from_open_to_close_alone(void **state)
{
    (void)state;
    begin("skylake", 1);
    nest.handler = count_calls;
    for (unsigned round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < EVENTS; i++) {
            assert_int_equal(open_at(1024 * i, i, &(struct attr_words){.config = 1, .period = 100}), 0, i);
            assert_int_equal(pinned, i + 1, i);
            if (round & 1u)
                assert_int_equal(call(3, i, 0), 0, i);
        }
        nest_run(&nest, BURST(150));
        for (uint32_t i = 0; i < EVENTS; i++) {
            assert_int_equal(call(2, i, 0), 0, i);
            assert_int_equal(pinned, EVENTS - 1 - i, i);
            assert_int_equal(call(2, i, 0), UPMU_PV_BAD_ID, i);
        }
        map_page();
        wish(0, WISH_INSTRUCTIONS | WISH_INTERRUPT, UINT64_C(0x1ffffffffff00) + ((uint64_t)round << 48));
        assert_int_equal(call(18, 1, 0), 0);
        nest_run(&nest, BURST(150));
        assert_int_equal(pinned, 1);
        assert_int_equal(call(17, 0, 0), 0);
        assert_int_equal(call(17, 0, 0), UPMU_PV_BAD_STATE);
        assert_int_equal(pinned, 0);
        memset(ram, 0xee, sizeof ram);
        nest_run(&nest, BURST(1000)); /* (the counter overflows now) */
        nest_exit(&nest);
        nest_run(&nest, BURST(1000));
        for (unsigned i = 0; i < sizeof ram; i++)
            assert_int_equal(ram[i], 0xee, i);
        memset(ram, 0, sizeof ram);
    }
    assert_int_equal(pins, 4 * (EVENTS + 1));
    end();
}

static void s12_a_page_that_runs_is_not_replaced(void **state)
{
    (void)state;
    begin("skylake", 1);
    map_page();
    wish(0, WISH_INSTRUCTIONS, 0);
    assert_int_equal(call(18, 1, 0), 0);
    nest_run(&nest, BURST(100));
    for (unsigned page = 0; page < RAM_PAGES; page++)
        assert_int_equal(call(16, BASE_LOW + 4096 * page, BASE_HIGH), UPMU_PV_BAD_STATE);
    assert_int_equal(pins, 1);
    nest_run(&nest, BURST(100));
    assert_int_equal(call(18, 0, 0), 0);
    assert_int_equal(slot_word(0, 0), 200);
    for (unsigned i = 4096; i < sizeof ram; i++)
        assert_int_equal(ram[i], 0, i);
    end();
}

static void s13_an_open_that_fails_leaves_everything_as_it_was(void **state)
{
    static struct upmu_pv_vcpu before;
    static struct upmu_guest guest;

    (void)state;
    begin("skylake", 1);
    for (uint32_t i = 0; i + 1 < EVENTS; i++)
        assert_int_equal(open_at(1024 * i, i, &(struct attr_words){.config = 1}), 0, i);
    assert_int_equal(call(3, 0, 0), 0);
    before = vcpu;
    guest = nest.vcpu;
    for (unsigned i = 0; i < 12; i++) { /* each of the three hooks */
        fail_in = 1 + i % 3;
        assert_int_equal(open_at(4096, 50 + i, &(struct attr_words){.config = 1}), UPMU_PV_BAD_ADDRESS, i);
        assert_int_equal(fail_in, 0);
        assert_int_equal(pinned, EVENTS - 1);
        assert_int_equal(call(2, 50 + i, 0), UPMU_PV_BAD_ID, i);
    }
    assert_memory_equal(&before, &vcpu, sizeof vcpu);
    assert_memory_equal(&guest, &nest.vcpu, sizeof guest);
    assert_int_equal(open_at(4096, 60, &(struct attr_words){.config = 1}), 0);
    assert_int_equal(open_at(4096, 61, &(struct attr_words){.config = 1}), UPMU_PV_LIMIT);
    end();
}

static void s20_an_event_is_of_the_vcpu_that_opened_it(void **state)
{
    (void)state;
    begin("skylake", 1);
    assert_int_equal(open_at(0, 3, &(struct attr_words){.config = 1}), 0);
    assert_int_equal(call(3, 3, 0), 0);
    nest_run(&nest, BURST(100));
    nest_exit(&nest);
    begin_second();
    for (uint32_t op = 2; op <= 5; op++)
        assert_int_equal(upmu_pv_call(&second, op, 3, 0), UPMU_PV_BAD_VCPU);
    assert_int_equal(area_count(0), 0);
    end_second();
    assert_int_equal(pinned, 1);
    nest_run(&nest, BURST(100));
    assert_int_equal(call(4, 3, 0), 0);
    assert_int_equal(area_count(0), 200);
    end();
}

/* While a call of one vCPU is in a hook, another one makes every call, and each of them is answered. */
static void call_from_second(void)
{
    void (*const visitor)(void) = visit;

    visit = NULL;
    for (uint32_t op = 2; op <= 5; op++) {
        assert_int_equal(upmu_pv_call(&second, op, 0, 0), UPMU_PV_BAD_VCPU);
        assert_int_equal(upmu_pv_call(&second, op, 3, 0), UPMU_PV_BAD_ID + 3 * (events[1].state == UPMU_PV_EVENT_OPEN));
    }
    assert_int_equal(upmu_pv_call(&second, 16, BASE_LOW + 4096, BASE_HIGH), 0);
    assert_int_equal(upmu_pv_call(&second, 18, 1, 0), 0);
    assert_int_equal(upmu_pv_call(&second, 19, 1, 0), 0);
    assert_int_equal(upmu_pv_call(&second, 17, 0, 0), 0);
    assert_int_equal(upmu_pv_call(&second, 1, BASE_LOW + 1024, BASE_HIGH), UPMU_PV_BAD_ADDRESS);
    visit = visitor;
}

static void s22_no_call_waits_for_another_vcpu(void **state)
{
    (void)state;
    begin("skylake", 1);
    begin_second();
    assert_int_equal(open_at(0, 0, &(struct attr_words){.config = 1}), 0);
    nest_exit(&nest);
    pins = 0;
    visit = call_from_second;
    assert_int_equal(open_at(2048, 3, &(struct attr_words){.config = 1}), 0);
    assert_int_equal(pins, 1 + 3);
    visit = NULL;
    assert_int_equal(call(3, 3, 0), 0);
    nest_run(&nest, BURST(70));
    assert_int_equal(call(4, 3, 0), 0);
    assert_int_equal(area_count(2048), 70);
    nest_exit(&nest);
    end_second();
    end();
}

/* One addition, no loop: a guest that always changes the word delays no other, and gets what came since. */
static void s23_overflows_saturate_and_are_added_by_one_attempt(void **state)
{
    const uint32_t nearly = UINT32_MAX - 1;

    (void)state;
    begin("skylake", 100);
    nest.handler = count_calls;
    assert_int_equal(open_at(0, 1, &(struct attr_words){.config = 1, .period = 1000}), 0);
    assert_int_equal(call(3, 1, 0), 0);
    is_faster = true;
    additions = 0;
    for (unsigned i = 0; i < 5; i++) {
        memset(ram + 520, 1, 4);
        nest_run(&nest, BURST(1000));
        assert_int_equal(additions, i + 1, i);
        assert_int_equal(area_overflows(0), 1);
    }
    is_faster = false;
    memcpy(ram + 520, &nearly, 4);
    for (unsigned i = 0; i < 3; i++) {
        nest_run(&nest, BURST(1000));
        assert_int_equal(area_overflows(0), UINT32_MAX);
    }
    end();
}

/* The same guest on hosts that differ in time, load and past: every byte of its memory is the same. */
static void s29_the_page_tells_nothing_of_the_host(void **state)
{
    static uint8_t first[sizeof ram];

    (void)state;
    for (unsigned other = 0; other < 2; other++) {
        begin("skylake", 1);
        nest.handler = count_calls;
        if (other) {
            nest.host.sim.now_ns += 123456789;
            assert_int_equal(upmu_set_add(&nest.host.session.set, "instructions,branches", NULL), UPMU_OK);
            assert_int_equal(upmu_session_world(&nest.host.session, UPMU_WORLD_HOST), UPMU_OK);
            assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
            assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
            nest_run_host(&nest, BURST(4321));
        }
        map_page();
        wish(0, WISH_INSTRUCTIONS | WISH_INTERRUPT, UINT64_C(0x1ffffffffff00));
        wish(1, UINT64_C(0x8600000000000000), 0);
        assert_int_equal(call(18, 3, 0), 0);
        for (unsigned i = 0; i < 10; i++) {
            nest_run(&nest, BURST(100));
            if (other)
                nest_run_host(&nest, BURST(999));
        }
        assert_int_equal(call(19, 3, 0), 0);
        for (unsigned n = 0; n < 24; n++)
            for (unsigned at = 24; at < 60; at += at == 48 ? 4 : 8) /* times, address, what is reserved */
                assert_int_equal(slot_word(n, at) & (at < 52 ? UINT64_MAX : UINT32_MAX), 0, n);
        assert_int_equal(slot_word(0, 0), 1000);
        if (!other)
            memcpy(first, ram, sizeof ram);
        assert_memory_equal(first, ram, sizeof ram);
        if (other)
            assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
        end();
    }
}

/* Overflows that are noticed when the guest runs, and when it does not. */
static void s30_no_address_of_the_host_is_in_a_slot(void **state)
{
    (void)state;
    begin("skylake", 1);
    nest.handler = count_calls;
    map_page();
    wish(0, WISH_INSTRUCTIONS | WISH_INTERRUPT, UINT64_C(0x1ffffffffff80));
    assert_int_equal(call(18, 1, 0), 0);
    for (unsigned i = 0; i < 8; i++) {
        nest_run(&nest, BURST(128));
        assert_int_equal(slot_word(0, 40), 0);
        nest_run_host(&nest, &(struct upmu_sim_burst){.instructions = 500, .ip = 0xffff800000001000u, .sp = 0x9000});
        assert_int_equal(call(18, 0, 0), 0);
        assert_int_equal(slot_word(0, 40), 0);
        wish(0, WISH_INSTRUCTIONS | WISH_INTERRUPT, UINT64_C(0xffffffffff80) | (uint64_t)(i + 2) << 48);
        assert_int_equal(call(18, 1, 0), 0);
    }
    assert_compare(nest.handled, >, 4);
    end();
}

/* ---- Anything ---- */

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(seed >> 1) * below >> 31);
}

static void a_guest_that_calls_anything_harms_nobody(void **state)
{
    struct upmu_session *session = &nest.host.session;
    uint64_t expected = 0;

    (void)state;
    begin("skylake", 1000);
    nest.handler = count_calls;
    assert_int_equal(upmu_set_add(&session->set, "instructions", NULL), UPMU_OK);
    assert_int_equal(upmu_session_world(session, UPMU_WORLD_HOST), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(session, &nest.host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
    for (unsigned step = 0; step < 20000; step++) {
        uint32_t low = draw(4) ? (uint32_t)RAM_BASE + draw(sizeof ram + 64) / 8 * 8 : draw(UINT32_MAX);
        uint32_t high = draw(8) ? (uint32_t)(RAM_BASE >> 32) : draw(4);

        for (unsigned i = draw(6); i > 0; i--) {
            uint64_t word = draw(3) ? draw(12) : draw(2) ? RAM_BASE + draw(sizeof ram) / 8 * 8
                                                         : (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);

            if (draw(4) == 0)
                word = UINT64_C(0x8000000000000000) | (uint64_t)draw(16) << 56 | draw(11);
            memcpy(ram + draw(sizeof ram / 8) * 8, &word, 8);
        }
        switch (draw(5)) {
        case 0:
            (void)call(draw(22), low, high);
            break;
        case 1:
            if (draw(2)) /* what is asked for rightly, now and then */
                (void)open_at(1024 * draw(3), draw(5),
                              &(struct attr_words){.config = draw(12), .period = draw(2) ? 2000 : 0});
            (void)call(2 + draw(4), draw(5), 0);
            break;
        case 2:
            (void)call(18 + draw(2), draw(draw(2) ? 16 : UINT32_MAX), 0);
            break;
        case 3:
            nest_run(&nest, BURST(draw(3000)));
            break;
        default:
            expected += 10;
            nest_run_host(&nest, BURST(10));
        }
        assert_compare(pinned, <=, EVENTS + 1);
    }
    nest_exit(&nest);
    assert_int_equal(host_value(session, 0), expected);
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_halves_count_exactly),
        cmocka_unit_test(the_probe_is_answered_by_both_levels),
        cmocka_unit_test(both_halves_sample_each_period),
        cmocka_unit_test(calls_and_accesses_of_each_operation_are_these),
        cmocka_unit_test(an_event_counts_from_enable_to_disable_and_twice_is_fine),
        cmocka_unit_test(overflows_reach_the_area_before_the_interrupt),
        cmocka_unit_test(an_event_counts_in_the_modes_that_its_attribute_leaves),
        cmocka_unit_test(a_number_that_is_opened_again_is_a_new_event),
        cmocka_unit_test(what_a_guest_asks_wrongly_is_refused),
        cmocka_unit_test(an_attribute_may_cross_a_page),
        cmocka_unit_test(structures_may_end_where_memory_ends),
        cmocka_unit_test(a_count_is_longer_than_a_counter),
        cmocka_unit_test(a_call_that_opens_counts),
        cmocka_unit_test(a_level_refuses_slots_and_events_by_name),
        cmocka_unit_test(what_the_shape_lacks_is_no_event),
        cmocka_unit_test(a_page_begins_with_nothing_of_the_one_before),
        cmocka_unit_test(an_overflow_is_shown_before_it_interrupts),
        cmocka_unit_test(each_interrupt_comes_with_an_overflow_that_is_new),
        cmocka_unit_test(what_was_closed_points_nowhere),
        cmocka_unit_test(a_guest_that_calls_anything_harms_nobody),
        cmocka_unit_test(s01_operations_ids_and_masks_beyond_their_range_are_answered),
        cmocka_unit_test(s02_addresses_that_are_no_memory_of_the_guest_are_refused),
        cmocka_unit_test(s03_what_a_guest_has_in_memory_is_read_once),
        cmocka_unit_test(s05_an_event_is_generic_or_raw_and_nothing_else),
        cmocka_unit_test(s10_memory_is_pinned_and_stored_to_from_open_to_close_alone),
        cmocka_unit_test(s12_a_page_that_runs_is_not_replaced),
        cmocka_unit_test(s13_an_open_that_fails_leaves_everything_as_it_was),
        cmocka_unit_test(s20_an_event_is_of_the_vcpu_that_opened_it),
        cmocka_unit_test(s22_no_call_waits_for_another_vcpu),
        cmocka_unit_test(s23_overflows_saturate_and_are_added_by_one_attempt),
        cmocka_unit_test(s29_the_page_tells_nothing_of_the_host),
        cmocka_unit_test(s30_no_address_of_the_host_is_in_a_slot),
    };

    return cmocka_run_group_tests_name("pv_host", tests, NULL, NULL);
}
