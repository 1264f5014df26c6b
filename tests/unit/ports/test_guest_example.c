/* SPDX-License-Identifier: MIT */
/*
 * examples/hypervisor, compiled and run: its machine is the silicon model, its guest a list of
 * instructions.  What it emulates counts from the next one on.  tests/vm runs a real guest with it.
 */
#include "tests/common/garbage.h"
#include "tests/guest/nest.c"

#include "examples/hypervisor/hypervisor.c"

static struct host host;
static struct vcpu vcpu;

struct step {
    enum exit_reason exit;
    uint32_t msr;
    uint64_t value; /* written, or expected */
    unsigned run;   /* instructions before it */
    bool faults;
};

static const struct step whole[] = {
    {.exit = EXIT_CPUID, .msr = 0xa},
    {.exit = EXIT_LVTPC, .value = 0x400},
    {.exit = EXIT_SPURIOUS, .value = 0xff},
    {.exit = EXIT_RDMSR, .msr = 0x834, .value = 0x10400},
    {.exit = EXIT_SPURIOUS, .value = 0x1ff},
    {.exit = EXIT_LVTPC, .value = 0x400},
    {.exit = EXIT_WRMSR, .msr = 0x186, .value = 0x5300c0},
    {.exit = EXIT_WRMSR, .msr = 0xc1, .value = (uint64_t)-5000},
    {.exit = EXIT_WRMSR, .msr = 0x600, .value = 0, .faults = true},
    {.exit = EXIT_WRMSR, .msr = 0x1d9, .value = 1},
    {.exit = EXIT_RDMSR, .msr = 0x1d9, .value = 1},
    {.exit = EXIT_RDMSR, .msr = 0xc1, .value = 0xfffffffffc7b, .run = 4096},
    {.exit = EXIT_RDPMC, .msr = 0, .value = 0xfffffffffc7c},
    {.exit = EXIT_NMI, .run = 2000},
    {.exit = EXIT_RDMSR, .msr = 0x38e, .value = 1},
    {.exit = EXIT_RDPMC, .msr = 0, .value = 1102},
    {.exit = EXIT_RDMSR, .msr = 0x10, .value = 42},
    {.exit = EXIT_HALT},
};
static const struct step *program; /* what the guest executes */
static unsigned at, injected, faults;
static uint64_t debugctl;

enum exit_reason machine_enter(struct vcpu *guest)
{
    const struct step *step = &program[at];

    upmu_sim_events(&host.sim, &(struct upmu_sim_burst){.instructions = step->run});
    guest->rcx = step->exit == EXIT_CPUID ? 0 : step->msr;
    guest->rax = step->msr;
    guest->value = step->exit == EXIT_RDMSR || step->exit == EXIT_RDPMC ? 0 : step->value;
    if (step->exit == EXIT_NMI)
        at++;
    return step->exit;
}

void machine_inject(struct vcpu *guest, unsigned what, unsigned vector)
{
    (void)guest;
    assert_int_equal(what, UPMU_GUEST_INJECT_NMI);
    assert_int_equal(vector, 0);
    injected++;
}

void machine_general_protection(struct vcpu *guest)
{
    (void)guest;
    assert_true(program[at++].faults, at);
    faults++;
}

void machine_next_instruction(struct vcpu *guest)
{
    const struct step *step = &program[at++];

    assert_false(step->faults);
    if (step->exit == EXIT_RDMSR || step->exit == EXIT_RDPMC)
        assert_int_equal(guest->value, step->value);
    if (step->exit == EXIT_CPUID)
        assert_int_equal(guest->rax & 0xffff, 0x404);
}

void machine_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    uintptr_t irqs = host.sim.port.irq_save(host.sim.port.context);

    host.sim.port.cpuid(host.sim.port.context, leaf, subleaf, out);
    host.sim.port.irq_restore(host.sim.port.context, irqs);
}

bool machine_rdmsr(struct vcpu *guest, uint32_t msr, uint64_t *out_value)
{
    (void)guest;
    *out_value = msr == 0x1d9 ? debugctl : 42;
    return garbage_unless(msr == 0x1d9 || msr == 0x10, out_value);
}

bool machine_wrmsr(struct vcpu *guest, uint32_t msr, uint64_t value)
{
    (void)guest;
    debugctl = value & 1u;
    return msr == 0x1d9;
}

/* Run a program to its end, and return general counter 0. */
static uint64_t run_guest(const struct step *steps, unsigned count)
{
    struct upmu_guest_shape shape;
    uint64_t value;

    program = steps;
    at = injected = faults = 0;
    debugctl = 0;
    host_set_up(&host, "skylake");
    host_threads(&host, 1);
    assert_int_equal(upmu_guest_shape_default(&host.machine, UPMU_GUEST_INTEL, NULL, &shape), UPMU_OK);
    assert_int_equal(vcpu_create(&vcpu, &host.machine, &shape, NULL), UPMU_OK);
    assert_int_equal(upmu_thread_switch(&host.cpu[0], &host.threads[0], &vcpu.thread), UPMU_OK);
    vcpu_run(&vcpu);
    assert_int_equal(at, count);
    assert_int_equal(upmu_guest_rdpmc(&vcpu.pmu, 0, &value), UPMU_GUEST_DONE);
    assert_int_equal(upmu_guest_fini(&vcpu.pmu), UPMU_OK);
    host_end_idle(&host);
    return value;
}

static void the_example_shows_its_guest_a_pmu(void **state)
{
    uint64_t value = run_guest(whole, sizeof whole / sizeof whole[0]);

    (void)state;
    /* Two reads and HLT came after the last RDPMC, which counted itself after its read. */
    assert_int_equal(value, 1102 + 3);
    assert_int_equal(injected, 1);
    assert_int_equal(faults, 1);
}

/* Each exit alone, between the write that opens the counter and HLT: both are instructions, and are counted. */
static void an_exit_counts_as_the_page_says(void **state)
{
    static const struct {
        struct step step;
        unsigned counts;
    } rows[] = {
        {{.exit = EXIT_RDMSR, .msr = 0x186, .value = 0x4300c0}, 1},
        {{.exit = EXIT_RDMSR, .msr = 0x10, .value = 42}, 1},
        {{.exit = EXIT_RDMSR, .msr = 0x600, .faults = true}, 0},
        {{.exit = EXIT_WRMSR, .msr = 0x187, .value = 0x43003c}, 1},
        {{.exit = EXIT_WRMSR, .msr = 0x1d9, .value = 1}, 1},
        {{.exit = EXIT_WRMSR, .msr = 0x187, .value = UINT64_MAX, .faults = true}, 0},
        {{.exit = EXIT_WRMSR, .msr = 0x11, .faults = true}, 0},
        {{.exit = EXIT_RDPMC, .msr = 0, .value = 1}, 1},
        {{.exit = EXIT_RDPMC, .msr = 9, .faults = true}, 0},
        {{.exit = EXIT_CPUID, .msr = 0xa}, 1},
        {{.exit = EXIT_NMI}, 0},
        {{.exit = EXIT_LVTPC, .value = 0x400}, 1},
        {{.exit = EXIT_SPURIOUS, .value = 0xff}, 1},
        {{.exit = EXIT_OTHER}, 1},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct step steps[] = {
            {.exit = EXIT_WRMSR, .msr = 0x186, .value = 0x4300c0}, rows[i].step, {.exit = EXIT_HALT}};
        uint64_t value = run_guest(steps, 3);

        if (value != 2u + rows[i].counts)
            fail_msg("exit %u: counter %u instead of %u", i, (unsigned)value, 2u + rows[i].counts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_shows_its_guest_a_pmu),
        cmocka_unit_test(an_exit_counts_as_the_page_says),
    };

    return cmocka_run_group_tests_name("guest_example", tests, NULL, NULL);
}
