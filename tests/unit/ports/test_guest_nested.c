/* SPDX-License-Identifier: MIT */
/*
 * A guest that is a hypervisor: the model, its host L0, the guest L1, and L1's guest L2.  Each has an
 * unmodified instance of the library; L0 and L1 show a PMU by the guest engine, and L1's lies on
 * nothing but the PMU that L0 shows it, by registers or by the page of upmu/paravirt.h.
 */
#include "tests/common/garbage.h"
#include "tests/guest/nest.c"
#include "tests/guest/no_registers.h"

#include "abi/paravirt/pv_select.c"
#include "abi/paravirt/pv_call.c"
#include "abi/paravirt/pv_events.c"
#include "abi/paravirt/pv_page.c"

static struct nest outer; /* L0 and L1 */

/* L1 as a host, and L2. */
static struct {
    struct upmu_sim face; /* whose CPUID L2 sees but for the PMU */
    struct upmu_guest_shape shape;
    struct upmu_guest vcpu;
    struct upmu_session sessions[NEST_SESSIONS];
    struct upmu_port port;
    struct upmu_machine machine;
    struct upmu_cpu cpu;
    struct upmu_frame frame;
    bool inside, in_nmi, pending;
    uint64_t debugctl;
    unsigned injected, handled, other;
} inner;

/* ---- The page door, of either ---- */

#define PAGE_ADDRESS UINT64_C(0x1230000000)
#define CALL 0x77u

/* Of L1, and of L2: the guest's only page of RAM. */
static struct page_door {
    struct upmu_pv pv;
    struct upmu_pv_vcpu vcpu;
    struct upmu_pv_hooks hooks;
    uint8_t ram[4096] __attribute__((aligned(4096)));
    uint64_t address; /* of this page, to the guest */
    unsigned pins;    /* asked for */
    bool used;
} doors[2];

static bool copy_in(void *context, void *to, uint64_t address, size_t bytes)
{
    struct page_door *door = context;

    if (address < door->address || address - door->address > sizeof door->ram - bytes)
        return false;
    memcpy(to, door->ram + (address - door->address), bytes);
    return true;
}

static void *pin(void *context, uint64_t address, size_t bytes)
{
    struct page_door *door = context;

    door->pins++;
    return address == door->address && bytes <= sizeof door->ram ? door->ram : NULL;
}

static void unpin(void *context, void *memory, size_t bytes)
{
    (void)context, (void)memory, (void)bytes;
}

static void open_door(struct page_door *door, struct upmu_guest *guest)
{
    memset(door, 0, sizeof *door);
    door->used = true;
    door->address = PAGE_ADDRESS + UINT64_C(0x10000) * (unsigned)(door - doors);
    door->hooks = (struct upmu_pv_hooks){.context = door, .copy_in = copy_in, .pin = pin, .unpin = unpin};
    assert_int_equal(upmu_pv_init(&door->pv, &door->hooks, NULL, 0), UPMU_OK);
    assert_int_equal(upmu_pv_vcpu_init(&door->vcpu, &door->pv, guest), UPMU_OK);
}

static void close_door(struct page_door *door)
{
    if (door->used)
        upmu_pv_vcpu_fini(&door->vcpu);
    door->used = false;
}

static enum upmu_status outer_enter(struct nest *nest, struct upmu_guest_entry *entry)
{
    (void)nest;
    return upmu_pv_enter(&doors[0].vcpu, entry);
}

static bool outer_call(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer)
{
    struct nest *nest = context;
    bool inside = nest->inside;

    assert_int_equal(number, CALL);
    nest_exit(nest);
    *out_answer = upmu_pv_call(&doors[0].vcpu, argument[0], argument[1], argument[2]);
    if (inside)
        nest_enter(nest);
    return true;
}

static void *outer_page(void *context, uint64_t *out_guest_physical)
{
    (void)context;
    *out_guest_physical = doors[0].address;
    return doors[0].ram;
}

static void outer_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    guest_cpuid(context, leaf, subleaf, out);
    (void)upmu_pv_cpuid(&doors[0].vcpu, 0x40000100u, CALL, leaf, out);
}

/* ---- Entries and exits of L2 ---- */

static void handle_in_l2(void)
{
    if (inner.in_nmi) {
        inner.pending = true;
        return;
    }
    inner.in_nmi = true;
    do {
        inner.pending = false;
        if (upmu_pmi_handle(&inner.cpu, &inner.frame) == UPMU_PMI_HANDLED)
            inner.handled++;
        else
            inner.other++;
    } while (inner.pending);
    inner.in_nmi = false;
}

static void inner_enter(void)
{
    struct upmu_guest_entry entry;

    if (inner.inside)
        return;
    assert_int_equal(doors[1].used ? upmu_pv_enter(&doors[1].vcpu, &entry) : upmu_guest_enter(&inner.vcpu, &entry),
                     UPMU_OK);
    inner.inside = true;
    if (entry.inject == UPMU_GUEST_INJECT_NONE)
        return;
    inner.injected++;
    handle_in_l2();
}

static void inner_exit(void)
{
    if (!inner.inside)
        return;
    assert_int_equal(upmu_guest_exit(&inner.vcpu), UPMU_OK);
    inner.inside = false;
}

/* L1's NMI: its handler, and if it came in L2 an exit and an entry. */
static void handle_in_l1(struct nest *nest, const struct upmu_frame *frame)
{
    bool inside = inner.inside;

    library_handler(nest, frame);
    if (!inside)
        return;
    inner.frame = *frame;
    inner_exit();
    inner_enter();
}

/* ---- L2's port ---- */

/* Registers that are not the engine's are those of L1. */
static bool inner_other(uint32_t msr, uint64_t *out_value)
{
    struct nest likeness = {.shape = inner.shape, .host.sim.now_ns = outer.host.sim.now_ns};

    return other_register(&likeness, msr, out_value);
}

static bool inner_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    enum upmu_guest_access access;
    bool inside = inner.inside;

    (void)context;
    inner_exit();
    access = upmu_guest_rdmsr(&inner.vcpu, msr, out_value);
    if (inside)
        inner_enter();
    if (access == UPMU_GUEST_SHARED)
        *out_value |= inner.debugctl;
    if (access == UPMU_GUEST_NOT_OURS)
        return inner_other(msr, out_value);
    return garbage_unless(access != UPMU_GUEST_FAULT, out_value);
}

static bool inner_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    enum upmu_guest_access access;
    bool inside = inner.inside;
    uint64_t ignored;

    (void)context;
    inner_exit();
    access = upmu_guest_wrmsr(&inner.vcpu, msr, value);
    if (inside)
        inner_enter();
    if (access == UPMU_GUEST_SHARED)
        inner.debugctl = value & ~UINT64_C(0x1800);
    if (access == UPMU_GUEST_NOT_OURS)
        return inner_other(msr, &ignored);
    return access != UPMU_GUEST_FAULT;
}

static bool inner_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    enum upmu_guest_access access;
    bool inside = inner.inside;

    (void)context;
    inner_exit();
    access = upmu_guest_rdpmc(&inner.vcpu, index, out_value);
    if (inside)
        inner_enter();
    return garbage_unless(access == UPMU_GUEST_DONE, out_value);
}

static void inner_rearm(void *context)
{
    bool inside = inner.inside;

    (void)context;
    inner_exit();
    upmu_guest_lvtpc(&inner.vcpu, LVTPC_NMI);
    if (inside)
        inner_enter();
}

static void inner_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    bool inside = inner.inside;
    uintptr_t irqs;

    (void)context;
    inner_exit();
    irqs = inner.face.port.irq_save(inner.face.port.context);
    inner.face.port.cpuid(inner.face.port.context, leaf, subleaf, out);
    inner.face.port.irq_restore(inner.face.port.context, irqs);
    (void)upmu_guest_cpuid(&inner.vcpu, leaf, subleaf, out);
    if (doors[1].used)
        (void)upmu_pv_cpuid(&doors[1].vcpu, 0x40000100u, CALL, leaf, out);
    if (inside)
        inner_enter();
}

static bool inner_call(void *context, uint32_t number, const uint32_t argument[3], uint32_t *out_answer)
{
    bool inside = inner.inside;

    (void)context;
    assert_int_equal(number, CALL);
    inner_exit();
    *out_answer = upmu_pv_call(&doors[1].vcpu, argument[0], argument[1], argument[2]);
    if (inside)
        inner_enter();
    return true;
}

static void *inner_page(void *context, uint64_t *out_guest_physical)
{
    (void)context;
    *out_guest_physical = doors[1].address;
    return doors[1].ram;
}

static uint64_t inner_clock(void *context)
{
    (void)context;
    return outer.host.sim.now_ns;
}

/* ---- Life ---- */

static const struct {
    const char *host, *l1, *l2; /* whose CPUID each sees */
    unsigned l1_door, l2_door;  /* enum upmu_guest_door, or: */
#define PAGE 0u
} stacks[] = {
    {"skylake", "skylake", "skylake", UPMU_GUEST_INTEL, UPMU_GUEST_INTEL},
    {"icelake", "icelake", "icelake", UPMU_GUEST_INTEL, UPMU_GUEST_INTEL},
    {"core2", "core2", "core2", UPMU_GUEST_INTEL, UPMU_GUEST_INTEL},
    {"zen4", "zen4", "zen4", UPMU_GUEST_AMD_V2, UPMU_GUEST_AMD_V2},
    {"zen4", "zen4", "zen2", UPMU_GUEST_AMD_V2, UPMU_GUEST_AMD_CORE},
    {"zen2", "zen2", "zen2", UPMU_GUEST_AMD_CORE, UPMU_GUEST_AMD_CORE},
    {"zen2", "zen2", "k8_revf", UPMU_GUEST_AMD_CORE, UPMU_GUEST_AMD_K7},
    {"k8_revf", "k8_revf", "k8_revf", UPMU_GUEST_AMD_K7, UPMU_GUEST_AMD_K7},
    /* The vendor changes on the way. */
    {"skylake", "skylake", "zen2", UPMU_GUEST_INTEL, UPMU_GUEST_AMD_CORE},
    {"zen4", "skylake", "skylake", UPMU_GUEST_INTEL, UPMU_GUEST_INTEL},
    {"skylake", "zen2", "skylake", UPMU_GUEST_AMD_CORE, UPMU_GUEST_INTEL},
    /* The page in registers, registers in the page, the page in the page. */
    {"skylake", "skylake", "skylake", UPMU_GUEST_INTEL, PAGE},
    {"zen4", "zen4", "zen4", UPMU_GUEST_AMD_V2, PAGE},
    {"zen2", "zen2", "zen2", UPMU_GUEST_AMD_CORE, PAGE},
    {"core2", "core2", "core2", UPMU_GUEST_INTEL, PAGE},
    {"k8_revf", "k8_revf", "k8_revf", UPMU_GUEST_AMD_K7, PAGE},
    {"skylake", "skylake", "skylake", PAGE, UPMU_GUEST_INTEL},
    {"zen4", "zen4", "zen4", PAGE, UPMU_GUEST_AMD_CORE},
    {"icelake", "icelake", "icelake", PAGE, PAGE},
    {"core2", "core2", "core2", PAGE, PAGE},
    {"zen2", "zen2", "zen2", PAGE, PAGE},
    {"zen4", "zen4", "zen4", PAGE, PAGE},
    {"zen2", "zen2", "skylake", PAGE, UPMU_GUEST_INTEL},
    {"k8_revf", "k8_revf", "k8_revf", PAGE, UPMU_GUEST_AMD_K7},
    {"k8_revf", "k8_revf", "k8_revf", PAGE, PAGE},
};
#define STACKS (sizeof stacks / sizeof stacks[0])

static const struct upmu_guest_policy all_events = {
    .level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1};

static void default_shape(const struct upmu_machine *machine, unsigned door, struct upmu_guest_shape *shape)
{
    assert_int_equal(upmu_guest_shape_default(machine, door ? (enum upmu_guest_door)door : UPMU_GUEST_INTEL,
                                              &all_events, shape),
                     UPMU_OK);
    if (door == PAGE)
        shape->full_write = 1;
}

static void stack_set_up(unsigned i)
{
    nest_prepare(&outer, stacks[i].host, stacks[i].l1);
    outer.handler = handle_in_l1;
    default_shape(&outer.host.machine, stacks[i].l1_door, &outer.shape);
    nest_begin(&outer);
    doors[0].used = doors[1].used = false;
    if (stacks[i].l1_door == PAGE) {
        open_door(&doors[0], &outer.vcpu);
        outer.enter = outer_enter;
        outer.port.rdmsr = no_rdmsr;
        outer.port.wrmsr = no_wrmsr;
        outer.port.rdpmc = NULL;
        outer.port.cpuid = outer_cpuid;
        outer.port.pmi_rearm = no_rearm;
        outer.port.hypercall = outer_call;
        outer.port.shared_page = outer_page;
    }
    nest_library(&outer);
    memset(&inner, 0, sizeof inner);
    upmu_sim_init(&inner.face, upmu_sim_profile(stacks[i].l2), 1);
    inner.port = (struct upmu_port){.rdmsr = inner_rdmsr,
                                    .wrmsr = inner_wrmsr,
                                    .rdpmc = inner_rdpmc,
                                    .cpuid = inner_cpuid,
                                    .pmi_rearm = inner_rearm,
                                    .clock_ns = inner_clock,
                                    .msr_faults_are_safe = true};
    default_shape(&outer.machine, stacks[i].l2_door, &inner.shape);
    if (stacks[i].l1_door == PAGE && inner.shape.door == UPMU_GUEST_INTEL) {
        /* The page's numbers of events are not Intel's: what every CPU has is shown. */
        assert_int_equal(inner.shape.arch_events, 0x63);
        assert_int_equal(inner.shape.fixed, 0);
    }
    assert_int_equal(upmu_guest_init(&inner.vcpu, &outer.machine, &inner.shape, &all_events,
                                     &(struct upmu_guest_memory){inner.sessions, NEST_SESSIONS, NULL}),
                     UPMU_OK);
    if (stacks[i].l2_door == PAGE) {
        open_door(&doors[1], &inner.vcpu);
        inner.port.rdmsr = no_rdmsr;
        inner.port.wrmsr = no_wrmsr;
        inner.port.rdpmc = NULL;
        inner.port.pmi_rearm = no_rearm;
        inner.port.hypercall = inner_call;
        inner.port.shared_page = inner_page;
    }
    assert_int_equal(upmu_guest_load(&inner.vcpu, &outer.cpu), UPMU_OK);
    inner_enter();
    assert_int_equal(upmu_machine_init(&inner.machine, &inner.port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&inner.cpu, &inner.machine, NULL), UPMU_OK);
}

static void stack_end(void)
{
    assert_int_equal(upmu_cpu_fini(&inner.cpu), UPMU_OK);
    inner_exit();
    close_door(&doors[1]);
    assert_int_equal(upmu_guest_put(&inner.vcpu), UPMU_OK);
    assert_int_equal(upmu_guest_fini(&inner.vcpu), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&outer.cpu), UPMU_OK);
    nest_exit(&outer);
    close_door(&doors[0]);
    nest_end(&outer);
}

static struct upmu_sim_burst work(uint64_t instructions, uint64_t ip)
{
    return (struct upmu_sim_burst){.instructions = instructions,
                                   .cycles = 2 * instructions,
                                   .ref_cycles = 2 * instructions,
                                   .branches = instructions / 4,
                                   .ip = ip,
                                   .ip_step = 1,
                                   .sp = 0x8000};
}

/* The CPU executes this level. */
static void go_to(unsigned level)
{
    /* What an interrupt at an entry interrupts; another one says it itself. */
    outer.frame.ip = 0x20000;
    inner.frame.ip = 0x30000;
    if (level == 0) {
        nest_exit(&outer);
        return;
    }
    nest_enter(&outer);
    if (level == 1)
        inner_exit();
    else
        inner_enter();
}

static void run_l0(uint64_t instructions)
{
    struct upmu_sim_burst burst = work(instructions, 0x10000);

    nest_run_host(&outer, &burst);
}

static void run_l1(uint64_t instructions)
{
    struct upmu_sim_burst burst = work(instructions, 0x20000);

    go_to(1);
    nest_run(&outer, &burst);
}

static void run_l2(uint64_t instructions)
{
    struct upmu_sim_burst burst = work(instructions, 0x30000);

    go_to(2);
    nest_run(&outer, &burst);
}

static uint64_t value(struct upmu_session *session)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&session->set, 0, 1, &count), UPMU_OK);
    return count.value;
}

/* ---- Counts and samples ---- */

static void add(struct upmu_session *session, struct upmu_machine *machine, const char *list,
                const struct upmu_sampling *sampling)
{
    assert_int_equal(upmu_session_init(session, machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&session->set, list, sampling), UPMU_OK);
}

static void begin(struct upmu_session *session, struct upmu_cpu *cpu)
{
    assert_int_equal(upmu_session_attach_cpu(session, cpu), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
}

/* The count of level n; its samples, and those of them that lie in the code of this level. */
struct seen {
    uint64_t count;
    unsigned samples, own;
};

static struct seen finish(struct upmu_session *session, bool sampled, uint64_t ip)
{
    struct upmu_sample sample;
    struct seen seen = {0};

    assert_int_equal(upmu_session_stop(session), UPMU_OK);
    seen.count = value(session);
    while (sampled && upmu_ring_next(&session->ring, &sample)) {
        seen.samples++;
        seen.own += sample.ip >= ip && sample.ip <= ip + 1000;
    }
    assert_int_equal(upmu_session_close(session), UPMU_OK);
    return seen;
}

static void each_level_counts_and_samples_its_own(void **state)
{
    static const uint64_t counts[] = {51100, 700, 10000}, periods[] = {500, 70, 100};
    static const uint64_t ip[] = {0x10000, 0x20000, 0x30000};
    static struct upmu_session sessions[3];
    static uint64_t rings[3][8192];

    (void)state;
    for (unsigned run = 0; run < 2 * STACKS; run++) {
        unsigned i = run / 2;
        bool all = run & 1u; /* all three levels sample, or L2 alone */
        struct seen seen[3];

        stack_set_up(i);
        for (unsigned level = 0; level < 3; level++) {
            struct upmu_machine *const machines[] = {&outer.host.machine, &outer.machine, &inner.machine};
            struct upmu_cpu *const cpus[] = {&outer.host.cpu[0], &outer.cpu, &inner.cpu};
            bool sampled = all || level == 2;

            go_to(level);
            add(&sessions[level], machines[level], "instructions",
                sampled ? &(struct upmu_sampling){.period = periods[level]} : NULL);
            if (sampled)
                assert_int_equal(upmu_session_ring(&sessions[level], rings[level], sizeof rings[level]), UPMU_OK,
                                 level);
            if (level < 2)
                assert_int_equal(upmu_session_world(&sessions[level], UPMU_WORLD_HOST), UPMU_OK, level);
            begin(&sessions[level], cpus[level]);
        }
        inner.injected = inner.handled = inner.other = 0;
        for (unsigned k = 0; k < 100; k++) {
            run_l2(60);
            run_l1(7);
            if (k & 1u)
                run_l0(1000);
            run_l2(40);
            run_l0(11);
        }
        for (unsigned level = 3; level-- > 0;) {
            go_to(level);
            seen[level] = finish(&sessions[level], all || level == 2, ip[level]);
        }
        go_to(2);
        for (unsigned level = 0; level < 3; level++) {
            unsigned samples = all || level == 2 ? (unsigned)(counts[level] / periods[level]) : 0;

            if (seen[level].count != counts[level] || seen[level].samples != samples || seen[level].own != samples)
                fail_msg("%s, %s, %s: L%u counts %llu, %u samples, %u of its code", stacks[i].host, stacks[i].l1,
                         stacks[i].l2, level, (unsigned long long)seen[level].count, seen[level].samples,
                         seen[level].own);
        }
        assert_int_equal(inner.injected, 100);
        assert_int_equal(inner.handled, 100);
        assert_int_equal(inner.other, 0);
        stack_end();
    }
}

/* ---- In any order ---- */

static uint64_t seed;

static unsigned below(unsigned limit)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % limit;
}

static void levels_take_turns_in_any_order(void **state)
{
    static const uint64_t periods[] = {310, 70, 100};
    static struct upmu_session sessions[3];
    static uint64_t rings[3][131072];

    (void)state;
    for (unsigned i = 0; i < STACKS; i++) {
        uint64_t executed[3] = {0, 0, 0};

        seed = i + 1;
        stack_set_up(i);
        for (unsigned level = 0; level < 3; level++) {
            struct upmu_machine *const machines[] = {&outer.host.machine, &outer.machine, &inner.machine};
            struct upmu_cpu *const cpus[] = {&outer.host.cpu[0], &outer.cpu, &inner.cpu};

            go_to(level);
            add(&sessions[level], machines[level], "instructions", &(struct upmu_sampling){.period = periods[level]});
            assert_int_equal(upmu_session_ring(&sessions[level], rings[level], sizeof rings[level]), UPMU_OK, level);
            if (level < 2)
                assert_int_equal(upmu_session_world(&sessions[level], UPMU_WORLD_HOST), UPMU_OK, level);
            begin(&sessions[level], cpus[level]);
        }
        for (unsigned k = 0; k < 2000; k++) {
            static void (*const run[])(uint64_t) = {run_l0, run_l1, run_l2};
            unsigned level = below(3), instructions = below(4) ? below(60) : below(400);

            run[level](instructions);
            executed[level] += instructions;
            if (below(5) == 0) {
                level = below(3);
                go_to(level);
                assert_int_equal(value(&sessions[level]), executed[level], level);
            }
        }
        for (unsigned level = 3; level-- > 0;) {
            struct seen seen;

            go_to(level);
            seen = finish(&sessions[level], true, UINT64_C(0x10000) * (level + 1));
            if (seen.count != executed[level] || seen.samples != executed[level] / periods[level] ||
                seen.own != seen.samples)
                fail_msg("%s, %s, %s: L%u counts %llu of %llu, %u samples of %u, %u of its code", stacks[i].host,
                         stacks[i].l1, stacks[i].l2, level, (unsigned long long)seen.count,
                         (unsigned long long)executed[level], seen.samples,
                         (unsigned)(executed[level] / periods[level]), seen.own);
        }
        assert_int_equal(inner.injected, inner.handled);
        assert_int_equal(inner.other, 0);
        go_to(2);
        stack_end();
    }
}

/* ---- Security: the number is that of test_guest_security.c ---- */

/* L1's hooks are asked for what L2 names, and L0's never: the page that L1 counts by is not L2's to have. */
static void s14_a_page_of_l1_is_never_named_by_l2(void **state)
{
    (void)state;
    for (unsigned i = 0; i < STACKS; i++) {
        uint32_t low, high, answer;
        unsigned pins[2];

        if (stacks[i].l1_door != PAGE || stacks[i].l2_door != PAGE)
            continue;
        stack_set_up(i);
        low = (uint32_t)doors[0].address;
        high = (uint32_t)(doors[0].address >> 32);
        memcpy(pins, (unsigned[]){doors[0].pins, doors[1].pins}, sizeof pins);
        assert_true(inner_call(NULL, CALL, (uint32_t[]){17, 0, 0}, &answer));
        assert_int_equal(answer, UPMU_PV_OK);
        for (unsigned k = 0; k < 4; k++) {
            assert_true(inner_call(NULL, CALL, (uint32_t[]){16, low + 4096 * k, high}, &answer), k);
            assert_int_equal(answer, UPMU_PV_BAD_ADDRESS);
        }
        assert_int_equal(doors[0].pins, pins[0]);
        assert_int_equal(doors[1].pins, pins[1] + 4);
        assert_true(inner_call(
            NULL, CALL, (uint32_t[]){16, (uint32_t)doors[1].address, (uint32_t)(doors[1].address >> 32)}, &answer));
        assert_int_equal(answer, UPMU_PV_OK);
        assert_ptr_equal(doors[0].vcpu.page, doors[0].ram);
        assert_ptr_equal(doors[1].vcpu.page, doors[1].ram);
        stack_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_level_counts_and_samples_its_own),
        cmocka_unit_test(levels_take_turns_in_any_order),
        cmocka_unit_test(s14_a_page_of_l1_is_never_named_by_l2),
    };

    return cmocka_run_group_tests_name("guest_nested", tests, NULL, NULL);
}
