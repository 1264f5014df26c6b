/* SPDX-License-Identifier: MIT */
/*
 * A guest's entry, exit, settling, publication, coming and going, with an interrupt before and after each access of the
 * host's, or a fault of it.
 *
 * A burst of events at an access stands for an interrupt there: it makes whatever counter is open overflow.  What ran
 * between a return of enter and the next exit is the guest's for certain, what ran outside of all calls is the host's;
 * the burst is of one of them, or of neither.  One overflow is injected once.  After a fault, what the host executes is
 * in no guest's counter.
 */
#include "tests/guest/nest.c"

#include "abi/paravirt/pv_select.c"
#include "abi/paravirt/pv_call.c"
#include "abi/paravirt/pv_events.c"
#include "abi/paravirt/pv_page.c"

#define INJECTED 3000u
#define PAGE UINT64_C(0x10000)

#define BURST(n)                                                                                                       \
    (&(struct upmu_sim_burst){.instructions = (n), .cycles = 2 * (n), .ref_cycles = 2 * (n), .branches = (n) / 4})

enum injection { BEFORE, AFTER, FAULT, INJECTIONS };
static const char *const injections[INJECTIONS] = {"a burst before", "a burst after", "a fault at"};

static const struct way {
    const char *host;
    enum upmu_guest_door door;
    bool page, passes, by_hardware;
} ways[] = {
    {"skylake", UPMU_GUEST_INTEL, false, false, false}, {"skylake", UPMU_GUEST_INTEL, false, true, false},
    {"skylake", UPMU_GUEST_INTEL, false, false, true},  {"core2", UPMU_GUEST_INTEL, false, false, false},
    {"zen4", UPMU_GUEST_AMD_V2, false, true, false},    {"zen2", UPMU_GUEST_AMD_CORE, false, false, false},
    {"zen2", UPMU_GUEST_AMD_CORE, false, true, false},  {"k8_revf", UPMU_GUEST_AMD_K7, false, false, false},
    {"skylake", UPMU_GUEST_INTEL, true, false, false},  {"zen2", UPMU_GUEST_INTEL, true, false, false},
};
#define WAYS (sizeof ways / sizeof ways[0])

static struct nest nest;
static struct upmu_pv pv;
static struct upmu_pv_vcpu vcpu;
static uint8_t ram[4096] __attribute__((aligned(4096)));
static const struct way *way;
static enum injection injection;
static uint32_t at; /* access, from the begin of the script */
static uint32_t first;
static bool in_guest, in_handler, again, hit;
static uint64_t host_gate;
static uint64_t of_guest, of_host; /* for certain */

static bool copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    (void)context, (void)to, (void)address, (void)bytes;
    return false;
}

static void *pin(void *context, uint64_t address, size_t bytes)
{
    (void)context;
    return address == PAGE && bytes <= sizeof ram ? ram : NULL;
}

static void unpin(void *context, void *memory, size_t bytes)
{
    (void)context, (void)memory, (void)bytes;
}

static const struct upmu_pv_hooks hooks = {.copy_in = copy_in, .pin = pin, .unpin = unpin};

/* ---- Injection ---- */

static void inject(struct upmu_sim *sim, bool after)
{
    if (hit || injection == FAULT || after != (injection == AFTER) || sim->accesses - first != at)
        return;
    hit = true;
    upmu_sim_events(sim, BURST(INJECTED));
}

static void before(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    inject(sim, false);
}

static void after(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)cpu, (void)number, (void)kind, (void)address;
    inject(sim, true);
}

/* ---- The guest's life ---- */

static void enter_now(void)
{
    struct upmu_guest_entry entry;

    (void)!(way->page ? upmu_pv_enter(&vcpu, &entry) : upmu_guest_enter(&nest.vcpu, &entry));
    nest.injected += entry.inject != UPMU_GUEST_INJECT_NONE;
    if (way->by_hardware) { /* the VMCS has both before the entry */
        uintptr_t irqs = nest.host.sim.port.irq_save(nest.host.sim.port.context);

        host_gate = upmu_cpu_gate_value(&nest.host.cpu[0], UPMU_WORLD_HOST);
        nest.host.sim.port.irq_restore(nest.host.sim.port.context, irqs);
    }
    in_guest = true;
    if (way->by_hardware)
        upmu_sim_poke(&nest.host.sim, 0, 0x38f, entry.gate);
}

static void exit_now(void)
{
    if (way->by_hardware)
        upmu_sim_poke(&nest.host.sim, 0, 0x38f, host_gate);
    in_guest = false;
    (void)!upmu_guest_exit(&nest.vcpu);
}

/* An interrupt in the guest is an exit and an entry. */
static void interrupt_host(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    bool inside = in_guest;

    (void)interrupt;
    if (in_handler) {
        again = true;
        return;
    }
    in_handler = true;
    do {
        again = false;
        if (inside && way->by_hardware)
            exit_now();
        (void)upmu_pmi_handle(&nest.host.cpu[cpu], NULL);
    } while (again);
    in_handler = false;
    (void)sim;
    if (!inside)
        return;
    if (!way->by_hardware)
        exit_now();
    enter_now();
}

static void run_guest(unsigned n)
{
    enter_now();
    of_guest += n;
    upmu_sim_events(&nest.host.sim, BURST(n));
    exit_now();
}

static void run_host(unsigned n)
{
    of_host += n;
    upmu_sim_events(&nest.host.sim, BURST(n));
}

static uint32_t select_at(unsigned n)
{
    return way->door == UPMU_GUEST_INTEL      ? 0x186 + n
           : way->door == UPMU_GUEST_AMD_K7 ? 0xc0010000u + n
                                            : 0xc0010200u + 2 * n;
}

static uint32_t counter_at(unsigned n)
{
    return way->door == UPMU_GUEST_INTEL    ? 0xc1 + n
           : way->door == UPMU_GUEST_AMD_K7 ? 0xc0010004u + n
                                            : 0xc0010201u + 2 * n;
}

/* Events of slots: instructions; the same with interrupts; branches. */
static void ask(unsigned n, bool use, uint64_t value)
{
    if (way->page) {
        static const uint64_t wishes[3] = {UINT64_C(0x8600000000000001), UINT64_C(0x8e00000000000001),
                                           UINT64_C(0x8600000000000004)};
        uint64_t config = use ? wishes[n] : 0, load = UINT64_C(1) << 48 | (value & ((UINT64_C(1) << 48) - 1));

        memcpy(ram + 1600 + 32 * n, &config, 8);
        memcpy(ram + 1600 + 32 * n + 16, &load, 8);
        return;
    }
    (void)upmu_guest_wrmsr(&nest.vcpu, counter_at(n), value);
    (void)upmu_guest_wrmsr(&nest.vcpu, select_at(n),
                           !use     ? 0
                           : n == 1 ? 0x5300c0
                           : n == 0 ? 0x4300c0
                                    : (way->door == UPMU_GUEST_INTEL ? 0x4300c4 : 0x4300c2));
}

static void open_these(uint32_t counters)
{
    if (way->page)
        (void)upmu_pv_call(&vcpu, UPMU_PV_GATE, counters, 0);
    else if (way->door == UPMU_GUEST_INTEL)
        (void)upmu_guest_wrmsr(&nest.vcpu, 0x38f, counters);
    else if (way->door == UPMU_GUEST_AMD_V2)
        (void)upmu_guest_wrmsr(&nest.vcpu, 0xc0000301u, counters);
}

/* Of counter n: what it counted. */
static uint64_t counted(unsigned n)
{
    uint64_t value = 0;

    if (way->page) {
        (void)upmu_pv_call(&vcpu, UPMU_PV_READ_ALL, 7, 0);
        memcpy(&value, ram + 64 + 64 * n, 8);
        return value;
    }
    (void)upmu_guest_rdmsr(&nest.vcpu, counter_at(n), &value);
    return n == 1 ? (value + 2000) & nest.vcpu.mask : value;
}

/* Three visits, with an overflow in the last one; events change, the guest goes and comes. */
static void live(void)
{
    ask(0, true, 0);
    ask(1, true, (uint64_t)-2000);
    open_these(3);
    run_guest(800);
    run_host(700);
    (void)counted(0);
    ask(2, true, 5);
    open_these(7);
    run_guest(800);
    host_thread_switch(&nest.host, 0, 0);
    run_host(300);
    host_thread_switch(&nest.host, 0, 1);
    run_guest(800);
    run_host(10);
    open_these(3);
    ask(2, false, 0);
    run_guest(0);
    run_guest(0);
}

static bool is_exact(const struct upmu_count *count)
{
    return nest.host.session.error == UPMU_OK && count->quality == UPMU_QUALITY_EXACT;
}

static uint64_t guest_counts[2];

static void check(bool holds, const char *what)
{
    if (!holds)
        fail_msg("%s, door %u%s%s%s, %s access %u: %s: %llu, %llu; certain: %llu in the guest, %llu in the host; "
                 "%u told",
                 way->host, way->door, way->page ? ", page" : "", way->passes ? ", passes" : "",
                 way->by_hardware ? ", by hardware" : "", injections[injection], (unsigned)at, what,
                 (unsigned long long)guest_counts[0], (unsigned long long)guest_counts[1],
                 (unsigned long long)of_guest, (unsigned long long)of_host, nest.injected);
}

#define CHECK(condition) check(condition, #condition)

/* One life; true: the access was reached. */
static bool run_one(void)
{
    struct upmu_count count;
    uint64_t *const guest = guest_counts, more;

    nest_prepare(&nest, way->host, NULL);
    nest.host.sim.expect_faults = injection == FAULT;
    nest.host.sim.deliver = interrupt_host;
    nest_shape(&nest, way->door);
    if (way->page)
        nest.shape.full_write = 1;
    if (way->passes)
        nest.policy.flags |= UPMU_GUEST_PASSES;
    if (way->by_hardware)
        assert_int_equal(upmu_cpu_world_by_hardware(&nest.host.cpu[0], true), UPMU_OK);
    nest_begin(&nest);
    upmu_guest_lvtpc(&nest.vcpu, 0x400);
    if (way->page) {
        memset(ram, 0, sizeof ram);
        assert_int_equal(upmu_pv_init(&pv, &hooks, NULL, 0), UPMU_OK);
        assert_int_equal(upmu_pv_vcpu_init(&vcpu, &pv, &nest.vcpu), UPMU_OK);
        assert_int_equal(upmu_pv_call(&vcpu, UPMU_PV_MAP, (uint32_t)PAGE, 0), UPMU_PV_OK);
    }
    host_add(&nest.host, 0, "instructions", 1500);
    assert_int_equal(upmu_session_world(&nest.host.session, UPMU_WORLD_HOST), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&nest.host.session, &nest.host.cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(&nest.host.session), UPMU_OK);
    of_guest = of_host = 0;
    in_guest = in_handler = again = hit = false;
    first = nest.host.sim.accesses;
    nest.host.sim.before_access = before;
    nest.host.sim.after_access = after;
    if (injection == FAULT)
        nest.host.sim.fault_at = first + at;
    live();
    if (injection == FAULT)
        hit = nest.host.sim.accesses - first >= at;
    nest.host.sim.fault_at = 0;
    nest.host.sim.before_access = nest.host.sim.after_access = NULL;
    for (unsigned i = 0; i < 2; i++)
        guest[i] = counted(i);
    /* The guest's counters are closed. */
    run_host(10000);
    for (unsigned i = 0; i < 2; i++)
        CHECK(counted(i) == guest[i]);
    more = injection == FAULT ? 0 : hit ? INJECTED : 0;
    assert_int_equal(upmu_set_read(&nest.host.session.set, 0, 1, &count), UPMU_OK);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(guest[i] <= of_guest + more);
        CHECK(injection == FAULT || guest[i] >= of_guest);
        CHECK(guest[i] + count.value <= of_guest + of_host + more);
    }
    if (is_exact(&count))
        CHECK(count.value >= of_host && count.value <= of_host + more);
    else
        CHECK(injection == FAULT);
    if (injection != FAULT)
        CHECK(nest.injected == 1);
    host_thread_switch(&nest.host, 0, 0);
    if (way->page)
        upmu_pv_vcpu_fini(&vcpu);
    assert_int_equal(upmu_guest_fini(&nest.vcpu), UPMU_OK);
    assert_int_equal(upmu_session_close(&nest.host.session), UPMU_OK);
    nest.host.sim.test = &nest.host;
    host_end_idle(&nest.host);
    return hit;
}

static void s36_each_access_of_a_guests_life_is_interrupted_and_faults(void **state)
{
    unsigned runs = 0;

    (void)state;
    for (way = ways; way < ways + WAYS; way++)
        for (injection = BEFORE; injection < INJECTIONS; injection++)
            for (at = 1; run_one(); at++)
                runs++;
    print_message("%u injections\n", runs);
    assert_compare(runs, >, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s36_each_access_of_a_guests_life_is_interrupted_and_faults),
    };

    return cmocka_run_group_tests_name("inject_guest", tests, NULL, NULL);
}
