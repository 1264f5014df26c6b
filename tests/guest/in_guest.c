/* SPDX-License-Identifier: MIT */
/*
 * The tests of another file, unmodified, in a guest: once on the virtual registers of abi/guest, once on the page of
 * upmu/paravirt.h.  What is included after this file has its machine in a guest on the model that it made: a host
 * with an instance of its own lies between them (host_between of tests/common/host.h), and each access is an exit and
 * an entry.
 *
 * A test that looks at registers of the model, or counts accesses, cannot run there: the file that includes it lists it
 * in `left_out`, with the reason.
 */
#include <abi/guest/guest.h>
#include <abi/paravirt/pv_host.h>
#include "tests/common/garbage.h"
#include "tests/common/host.h"
#include "tests/guest/no_registers.h"

#include "tests/guest/guest_sources.h"
#include "abi/paravirt/pv_select.c"
#include "abi/paravirt/pv_call.c"
#include "abi/paravirt/pv_events.c"
#include "abi/paravirt/pv_page.c"

#define BETWEEN_SESSIONS 16
#define BETWEEN_PAGE UINT64_C(0x1230000000)
#define BETWEEN_CALL 0x77u
#define BETWEEN_HYPERVISOR (1u << 31)
#define BETWEEN_NMI 0x400u

/* The host below, by CPU. */
static struct below {
    struct upmu_cpu cpu;
    struct upmu_thread thread[2]; /* its own, and the vCPU's */
    struct upmu_guest guest;
    struct upmu_session sessions[BETWEEN_SESSIONS];
    struct upmu_pv_vcpu vcpu;
    struct upmu_sim_interrupt interrupt;
    uint64_t debugctl;
    bool inside, in_nmi, pending;
} below[UPMU_SIM_CPUS];

static struct upmu_machine between_machine;
static struct upmu_port between_port;
static struct upmu_guest_shape between_shape;
static struct upmu_pv between_pv;
static struct upmu_sim *between_sim;
static struct upmu_sim between_face; /* whose CPUID the guest sees but for the PMU */
static upmu_sim_deliver *between_deliver; /* the guest's */
static bool between_page;
static unsigned between_entries[2];
static uint8_t between_ram[UPMU_SIM_CPUS][4096] __attribute__((aligned(4096)));

static const struct upmu_guest_policy between_policy = {
    .level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1};

/* ---- Memory of the guest ---- */

static void *between_pin(void *context, uint64_t address, size_t bytes)
{
    (void)context;
    return address < BETWEEN_PAGE || address - BETWEEN_PAGE > sizeof between_ram - bytes
               ? NULL
               : (uint8_t *)between_ram + (address - BETWEEN_PAGE);
}

static bool between_copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    const void *from = between_pin(context, address, bytes);

    if (from)
        memcpy(to, from, bytes);
    return from;
}

static void between_unpin(void *context, void *memory, size_t bytes)
{
    (void)context, (void)memory, (void)bytes;
}

static const struct upmu_pv_hooks between_hooks = {
    .copy_in = between_copy_in, .pin = between_pin, .unpin = between_unpin};

/* ---- Entries and exits ---- */

static struct below *here(void)
{
    return &below[between_sim->current];
}

static bool between_exit(void)
{
    bool inside = here()->inside;

    if (inside)
        assert_int_equal(upmu_guest_exit(&here()->guest), UPMU_OK);
    here()->inside = false;
    return inside;
}

static void between_enter(bool was_inside)
{
    struct below *of = here();
    struct upmu_guest_entry entry;

    if (!was_inside)
        return;
    assert_int_equal(between_page ? upmu_pv_enter(&of->vcpu, &entry) : upmu_guest_enter(&of->guest, &entry), UPMU_OK);
    of->inside = true;
    between_entries[between_page]++;
    if (entry.inject == UPMU_GUEST_INJECT_NONE)
        return;
    of->pending = true;
    if (of->in_nmi)
        return;
    of->in_nmi = true;
    while (of->pending) {
        of->pending = false;
        between_deliver(between_sim, between_sim->current, &of->interrupt);
    }
    of->in_nmi = false;
}

/* The NMI of the host below: if it came in the guest, it left it.  One of another source is the guest's, too. */
static void between_interrupt(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct below *of = &below[cpu];
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    bool inside = of->inside;

    (void)upmu_pmi_handle(&of->cpu, &frame);
    of->interrupt = *interrupt;
    if (inside)
        between_enter(between_exit());
    if (interrupt->foreign)
        between_deliver(sim, cpu, interrupt);
}

/* ---- The guest's port ---- */

/* Registers that are not the engine's. */
static bool between_other(uint32_t msr, uint64_t *out_value)
{
    bool intel = between_shape.door == UPMU_GUEST_INTEL;

    *out_value = msr == 0x1a0 ? 0x1881 : msr == 0x10 ? between_sim->now_ns : 0;
    return garbage_unless(msr == 0x10 || (intel ? msr == 0x1a0 : msr == 0xc0000080u || msr == 0xc0010015u), out_value);
}

static bool between_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    bool inside = between_exit();
    enum upmu_guest_access access = upmu_guest_rdmsr(&here()->guest, msr, out_value);

    (void)context;
    between_enter(inside);
    if (access == UPMU_GUEST_SHARED)
        *out_value |= here()->debugctl;
    if (access == UPMU_GUEST_NOT_OURS)
        return between_other(msr, out_value);
    return garbage_unless(access != UPMU_GUEST_FAULT, out_value);
}

static bool between_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    bool inside = between_exit();
    enum upmu_guest_access access = upmu_guest_wrmsr(&here()->guest, msr, value);
    uint64_t ignored;

    (void)context;
    between_enter(inside);
    if (access == UPMU_GUEST_SHARED)
        here()->debugctl = value & UINT64_C(0x47c3);
    return access == UPMU_GUEST_NOT_OURS ? between_other(msr, &ignored) : access != UPMU_GUEST_FAULT;
}

static bool between_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    bool inside = between_exit();
    enum upmu_guest_access access = upmu_guest_rdpmc(&here()->guest, index, out_value);

    (void)context;
    between_enter(inside);
    return garbage_unless(access == UPMU_GUEST_DONE, out_value);
}

static void between_rearm(void *context)
{
    bool inside = between_exit();

    (void)context;
    if (!between_page)
        upmu_guest_lvtpc(&here()->guest, BETWEEN_NMI);
    between_enter(inside);
}

static void between_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    bool inside = between_exit();
    uintptr_t irqs = between_face.port.irq_save(&between_face);

    (void)context;
    between_face.port.cpuid(&between_face, leaf, subleaf, out);
    between_face.port.irq_restore(&between_face, irqs);
    if (between_page)
        (void)upmu_pv_cpuid(&here()->vcpu, 0x40000100u, BETWEEN_CALL, leaf, out);
    else
        (void)upmu_guest_cpuid(&here()->guest, leaf, subleaf, out);
    if (between_page && leaf == 1)
        out[2] |= BETWEEN_HYPERVISOR;
    between_enter(inside);
}

static bool between_hypercall(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer)
{
    bool inside = between_exit();

    (void)context;
    assert_int_equal(number, BETWEEN_CALL);
    *out_answer = upmu_pv_call(&here()->vcpu, argument[0], argument[1], argument[2]);
    between_enter(inside);
    return true;
}

static void *between_shared_page(void *context, uint64_t *out_guest_physical)
{
    (void)context;
    *out_guest_physical = BETWEEN_PAGE + 4096 * between_sim->current;
    return between_ram[between_sim->current];
}

static struct upmu_cpu *below_this_cpu(void *context)
{
    (void)context;
    return &here()->cpu;
}

/* ---- Life ---- */

static void between_hooks_of(struct upmu_port *port)
{
    port->rdmsr = between_page ? no_rdmsr : between_rdmsr;
    port->wrmsr = between_page ? no_wrmsr : between_wrmsr;
    port->rdpmc = between_page ? NULL : between_rdpmc;
    port->cpuid = between_cpuid;
    port->pmi_rearm = between_rearm;
    port->hypercall = between_page ? between_hypercall : NULL;
    port->shared_page = between_page ? between_shared_page : NULL;
}

/* The door that a CPU has, whose profile may be one without architectural counters: then the guest's has them. */
static enum upmu_guest_door between_choose(const struct upmu_sim_profile *profile)
{
    uint32_t out[4];

    upmu_sim_init(&between_face, profile, 1);
    between_port = between_face.port;
    if (!profile->amd && (!profile->version || profile->flags & UPMU_SIM_P4))
        upmu_sim_init(&between_face, upmu_sim_profile("skylake"), 1);
    if (between_page || !profile->amd)
        return UPMU_GUEST_INTEL;
    between_face.port.cpuid(&between_face, 0x80000001u, 0, out);
    return out[2] >> 23 & 1u ? UPMU_GUEST_AMD_CORE : UPMU_GUEST_AMD_K7;
}

/* The host below takes each CPU, and runs a vCPU on it. */
static void between_open(struct host *host)
{
    unsigned before = host->sim.current;
    enum upmu_guest_door door = between_choose(host->sim.profile);

    memset(below, 0, sizeof below);
    memset(&between_machine, 0, sizeof between_machine);
    memset(between_ram, 0, sizeof between_ram);
    between_sim = &host->sim;
    between_port.context = host->sim.port.context;
    between_port.this_cpu = below_this_cpu;
    between_port.run_on_cpu = NULL;
    between_deliver = host->sim.deliver;
    host->sim.deliver = between_interrupt;
    assert_int_equal(upmu_machine_init(&between_machine, &between_port), UPMU_OK);
    assert_int_equal(upmu_pv_init(&between_pv, &between_hooks, NULL, 0), UPMU_OK);
    for (unsigned i = 0; i < host->sim.cpus; i++) {
        struct below *of = &below[i];

        upmu_sim_switch_cpu(&host->sim, i);
        assert_int_equal(upmu_cpu_init(&of->cpu, &between_machine, NULL), UPMU_OK);
        assert_int_equal(upmu_guest_shape_default(&between_machine, door, &between_policy, &between_shape), UPMU_OK);
        if (between_page) { /* which has one shape, whatever the host is */
            between_shape.version = 2;
            between_shape.width = UPMU_PV_WIDTH;
            between_shape.full_write = 1;
        }
        upmu_thread_init(&of->thread[0], 1, 1, NULL);
        upmu_thread_init(&of->thread[1], 2, 2, NULL);
        assert_int_equal(upmu_guest_init(&of->guest, &between_machine, &between_shape, &between_policy,
                                         &(struct upmu_guest_memory){of->sessions, BETWEEN_SESSIONS, &of->thread[1]}),
                         UPMU_OK);
        if (between_page)
            assert_int_equal(upmu_pv_vcpu_init(&of->vcpu, &between_pv, &of->guest), UPMU_OK);
        assert_int_equal(upmu_thread_switch(&of->cpu, &of->thread[0], &of->thread[1]), UPMU_OK);
        between_enter(true);
    }
    upmu_sim_switch_cpu(&host->sim, before);
    between_hooks_of(&host->sim.port);
}

static void between_close(struct host *host)
{
    if (!below[0].cpu.meter.live)
        return;
    for (unsigned i = 0; i < host->sim.cpus; i++) {
        struct below *of = &below[i];

        upmu_sim_switch_cpu(&host->sim, i);
        (void)between_exit();
        if (between_page)
            upmu_pv_vcpu_fini(&of->vcpu);
        assert_int_equal(upmu_thread_switch(&of->cpu, &of->thread[1], &of->thread[0]), UPMU_OK);
        assert_int_equal(upmu_guest_fini(&of->guest), UPMU_OK);
        assert_int_equal(upmu_cpu_fini(&of->cpu), UPMU_OK);
    }
}

static const struct host_between between = {between_open, between_close};

/* ---- The tests of the file ---- */

#define BY_REGISTERS 1u
#define BY_PAGE 2u
#define BY_BOTH 3u

/* Those that the guest of a door cannot run, and why. */
struct not_in_guests {
    const char *test;
    unsigned doors;
    const char *why;
};

static const struct not_in_guests *between_left_out;
static size_t between_rows;
static const struct CMUnitTest *between_tests;
static size_t between_count;
static int between_failed;
static unsigned between_ran[2];

static bool runs_by(const char *test, unsigned door)
{
    for (size_t i = 0; i < between_rows; i++)
        if (strcmp(between_left_out[i].test, test) == 0)
            return !(between_left_out[i].doors & door);
    return true;
}

/* The last test: all others passed, in guests, and each that was left out is there. */
static void passed_in_guests(void **state)
{
    (void)state;
    assert_int_equal(between_failed, 0);
    for (unsigned i = 0; i < 2; i++)
        assert_true(between_ran[i] > between_count / 2 && between_entries[i] > 10 * between_ran[i], i);
    for (size_t i = 0; i < between_rows; i++) {
        size_t n = 0;

        while (n < between_count && strcmp(between_left_out[i].test, between_tests[n].name) != 0)
            n++;
        if (n == between_count)
            fail_msg("%s (%s): no such test", between_left_out[i].test, between_left_out[i].why);
    }
}

static int run_in_guests(const char *name, const struct CMUnitTest *tests, size_t count,
                         const struct not_in_guests *left_out, size_t rows)
{
    struct CMUnitTest chosen[64], last[1] = {cmocka_unit_test(passed_in_guests)};

    between_tests = tests;
    between_count = count;
    between_left_out = left_out;
    between_rows = rows;
    host_between = &between;
    for (unsigned door = BY_REGISTERS; door <= BY_PAGE; door++) {
        unsigned kept = 0;

        for (size_t i = 0; i < count && kept < sizeof chosen / sizeof chosen[0]; i++)
            if (runs_by(tests[i].name, door))
                chosen[kept++] = tests[i];
        between_page = door == BY_PAGE;
        between_ran[between_page] = kept;
        between_failed += _cmocka_run_group_tests(name, chosen, kept, NULL, NULL);
    }
    last[0].name = name;
    return between_failed + _cmocka_run_group_tests(name, last, 1, NULL, NULL);
}

/* What the last test is called, and what is left out, is said by the file that includes this one. */
#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests(tests, set_up, tear_down) \
    run_in_guests(last_test, tests, sizeof(tests) / sizeof(tests)[0], left_out, sizeof left_out / sizeof left_out[0])
#define cmocka_run_group_tests_name(name, tests, set_up, tear_down) cmocka_run_group_tests(tests, set_up, tear_down)
