/* SPDX-License-Identifier: MIT */
/*
 * An overflow at every instruction of the library's calls: between two stores there
 * are races that no register access shows.
 *
 * The process steps itself through start, stop, read, poll, …; at each instruction
 * (`every`; without arguments at a part of them, spread evenly) it keeps a copy of
 * everything, takes the overflow there, plays the scenario to its end, and goes on from
 * the copy.  Stepping takes time, too: of the stretches between two hooks, only every
 * SKIP-th is stepped through, and there every STRIDE-th instruction is tried; but some
 * thread switches, set switches and ticks of each protocol are tried at each instruction (in
 * `make test` at every PART-th, another in each sweep).
 * With `scenario=… profile=… variant=… step=STRETCH.INSTRUCTION` that one is played and
 * told.  x86 with Linux only.
 */
#define _GNU_SOURCE /* REG_EFL */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/common/assertions.h"

#include "tests/common/share.h"
#include "tests/common/trap_flag.h"
#include "tests/inject/rig.h"

static struct rig rig;
static struct upmu_port hooks; /* the model's own */
static unsigned hook_depth;
/* A place: the stretch between two hooks, and the instruction in it. */
struct place {
    uint32_t stretch, instruction;
};

static struct place here, failed_at, only;
static uint32_t steps, injected, in_switches, stride, skip, phase;
static unsigned switches; /* thread switches, set switches and ticks entered */
static unsigned whole;    /* so many of them are gone through instruction by instruction, */
static unsigned part;     /* and there one instruction of so many is tried: 1 in a soak */
static bool stepping, every, brief;
static volatile bool branched; /* after an overflow, until the copy is gone back to */

/* ---- Nothing is injected inside the model, nor is it stepped through ---- */

static bool in_whole_switch(void)
{
    return rig.switching && switches <= whole;
}

static void begin_stretch(void)
{
    here.stretch++;
    here.instruction = 0;
    if (only.stretch ? here.stretch == only.stretch : (here.stretch + phase) % skip == 0 || in_whole_switch())
        raise(SIGTRAP);
}

static void leave_hook(void)
{
    hook_depth--;
    if (stepping && rig.inside && !hook_depth)
        begin_stretch();
}

static bool step_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    bool result;

    hook_depth++;
    result = hooks.rdmsr(context, msr, out_value);
    leave_hook();
    return result;
}

static bool step_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    bool result;

    hook_depth++;
    result = hooks.wrmsr(context, msr, value);
    leave_hook();
    return result;
}

static bool step_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    bool result;

    hook_depth++;
    result = hooks.rdpmc(context, index, out_value);
    leave_hook();
    return result;
}

static struct upmu_cpu *step_this_cpu(void *context)
{
    struct upmu_cpu *result;

    hook_depth++;
    result = hooks.this_cpu(context);
    leave_hook();
    return result;
}

static uintptr_t step_irq_save(void *context)
{
    uintptr_t result;

    hook_depth++;
    result = hooks.irq_save(context);
    leave_hook();
    return result;
}

static void step_irq_restore(void *context, uintptr_t state)
{
    hook_depth++;
    hooks.irq_restore(context, state);
    leave_hook();
}

static void step_pmi_rearm(void *context)
{
    hook_depth++;
    hooks.pmi_rearm(context);
    leave_hook();
}

static uint64_t step_clock_ns(void *context)
{
    uint64_t result;

    hook_depth++;
    result = hooks.clock_ns(context);
    leave_hook();
    return result;
}

static void step_log(void *context, const char *line)
{
    hook_depth++;
    hooks.log(context, line);
    leave_hook();
}

static void wrap_hooks(struct upmu_port *port)
{
    hooks = *port;
    port->rdmsr = step_rdmsr;
    port->wrmsr = step_wrmsr;
    port->rdpmc = port->rdpmc ? step_rdpmc : NULL;
    port->this_cpu = step_this_cpu;
    port->irq_save = step_irq_save;
    port->irq_restore = step_irq_restore;
    port->pmi_rearm = port->pmi_rearm ? step_pmi_rearm : NULL;
    port->clock_ns = port->clock_ns ? step_clock_ns : NULL;
    port->log = step_log;
}

/* ---- Copies ---- */

#define STACK_COPY 0x10000u

static struct rig rig_copy;
static uint64_t stack_copy[STACK_COPY / sizeof(uint64_t)];
static unsigned char other_stack[0x8000];
static char *stack_low, *stack_high; /* what is copied */
static ucontext_t resume, restorer;

/* Not memcpy: what checks addresses knows what is between variables. */
__attribute__((no_sanitize("address"))) static void copy_stack(volatile uint64_t *to, const volatile uint64_t *from)
{
    for (size_t i = 0; i < (size_t)(stack_high - stack_low) / sizeof *to; i++)
        to[i] = from[i];
}

/*
 * Everything is `rig` and the stack between the handler and play(), for neither library,
 * model nor scenarios have anything else.  True: the copy was just made; false: it was
 * gone back to.
 */
static bool keep_copy(void)
{
    stack_low = (char *)(((uintptr_t)__builtin_frame_address(0) - 2048u) & ~(uintptr_t)15);
    if ((size_t)(stack_high - stack_low) > STACK_COPY)
        abort();
    rig_copy = rig;
    branched = true;
    if (getcontext(&resume) != 0)
        abort();
    if (!branched)
        return false;
    copy_stack(stack_copy, (uint64_t *)(void *)stack_low);
    return true;
}

static void restore(void)
{
    copy_stack((uint64_t *)(void *)stack_low, stack_copy);
    rig = rig_copy;
    branched = false;
    setcontext(&resume);
}

/* The stack is overwritten from another one. */
static void go_back(void)
{
    getcontext(&restorer);
    restorer.uc_stack.ss_sp = other_stack;
    restorer.uc_stack.ss_size = sizeof other_stack;
    restorer.uc_link = NULL;
    makecontext(&restorer, restore, 0);
    setcontext(&restorer);
}

/* ---- Stepping ---- */

/* Is the overflow due at this instruction? */
static bool due(void)
{
    if (only.stretch)
        return here.instruction == only.instruction;
    return !failed_at.stretch && ((steps + phase) % stride == 0 || (in_whole_switch() && (steps + phase) % part == 0));
}

static void on_trap(int number, siginfo_t *info, void *where)
{
    ucontext_t *context = where;

    (void)number;
    (void)info;
    if (!stepping || !rig.inside || hook_depth) {
        FLAGS_OF(context) &= ~TRAP_FLAG;
        return;
    }
    FLAGS_OF(context) |= TRAP_FLAG;
    if (rig.in_handler)
        return;
    steps++;
    here.instruction++;
    if (!due())
        return;
    if (!only.stretch && !keep_copy()) {
        stepping = true;
        return;
    }
    injected++;
    in_switches += rig.switching;
    stepping = false;
    FLAGS_OF(context) &= ~TRAP_FLAG;
    rig_inject(&rig);
}

/* A run that does not end. */
static void on_crash(int number)
{
    printf("    crashed (signal %d) after an overflow at step %u.%u\n", number, (unsigned)here.stretch,
           (unsigned)here.instruction);
    fflush(stdout);
    signal(number, SIG_DFL);
    raise(number);
}

static void on_inside(bool inside)
{
    if (!inside || !stepping)
        return;
    switches += rig.switching;
    begin_stretch();
}

static const struct scenario *scenario_of(const char *name)
{
    for (unsigned i = 0; scenarios[i].name; i++)
        if (!strcmp(scenarios[i].name, name))
            return &scenarios[i];
    return NULL;
}

/* One scenario, stepped through; what comes after scenario_play() is reached once for each overflow. */
static void play(const char *name, const char *profile, const struct rig_variant *variant, bool trace)
{
    struct rig_order order = {
        .scenario = name, .profile = profile, .variant = variant, .injection = RIG_OVERFLOW, .trace = trace};
    const struct scenario *scenario = scenario_of(name);
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGTRAP, &action, NULL);
    signal(SIGSEGV, on_crash);
    signal(SIGABRT, on_crash);
    steps = 0;
    switches = 0;
    here = failed_at = (struct place){0, 0};
    hook_depth = 0;
    rig_begin(&rig, &order);
    wrap_hooks(&rig.sim.port);
    rig.on_inside = on_inside;
    stepping = true;
    stack_high = __builtin_frame_address(0);
    scenario_play(scenario, &rig);
    stepping = false;
    if (branched) {
        if (rig.failed) {
            printf("%s\n", rig.failure);
            failed_at = here;
        }
        go_back();
    }
}

static const struct rig_variant variants[] = {
    {.name = "plain"}, {.name = "vector", .vector = true}, {.name = "no_clock", .no_clock = true}};
static const char *const profiles[] = {"core2", "skylake", "version1", "k8_revc", "zen4", "prescott"};
#define K8 3u
#define P4 5u

/* Stepping is slow where it is instrumented. */
#if defined(__SANITIZE_ADDRESS__)
#define SKIP 64
#define FEW_SKIP SKIP
#define STRIDE 101
#define WHOLE 0
#elif !defined(__x86_64__)
#define SKIP 12
#define FEW_SKIP SKIP
#define STRIDE 11
#define WHOLE 0
#else
#define SKIP 20
#define FEW_SKIP 30
#define STRIDE 29
#define WHOLE 1
#endif
#define PART 4
#define FEW_PART 8
/* The profiles from here on are swept thinner by this. */
#define THINNER 3

/*
 * Everything on Skylake; 64 bits: the other profiles plainly, too; the Pentium 4 always.
 * With STEP_BRIEF in the environment: Skylake and the first that there is, plainly.
 */
static bool left_out(unsigned first, unsigned profile, unsigned variant)
{
    if (brief)
        return (profile != 1 && profile != first) || variant;
    if (!WHOLE)
        return (profile != 1 && profile != P4) || variant;
    return profile != 1 && variant;
}

/* How many of its switches (or ticks) are swept at each instruction?  Plainly, on each protocol. */
static unsigned swept_whole(const char *name, unsigned variant)
{
    if (!WHOLE || variant || brief)
        return 0;
    return !strcmp(name, "switches_threads") ? 2 : !strcmp(name, "switches_sets") || !strcmp(name, "takes_turns");
}

static void sweep_from(unsigned first, const char *name)
{
    unsigned bad = 0;

    for (unsigned p = first; p < sizeof profiles / sizeof profiles[0]; p++)
        for (unsigned v = 0; v < sizeof variants / sizeof variants[0]; v++) {
            if (!every && left_out(first, p, v))
                continue;
            skip = every ? 1 : share_everything() ? SKIP / 2 : share_few(SKIP, FEW_SKIP);
            stride = every ? 1 : p >= K8 && (!WHOLE || p < P4) ? THINNER * STRIDE : STRIDE;
            phase++;
            whole = swept_whole(name, v);
            part = every ? 1 : share_step(share_few(PART, FEW_PART), PART);
            fflush(stdout);
            play(name, profiles[p], &variants[v], false);
            assert_compare(steps, >, 500 / SKIP);
            if (failed_at.stretch) {
                printf("    build/gcc-64/tests/inject/test_step scenario=%s profile=%s variant=%s step=%u.%u\n", name,
                       profiles[p], variants[v].name, (unsigned)failed_at.stretch, (unsigned)failed_at.instruction);
                bad++;
            }
            if (rig.failed)
                fail_msg("not even undisturbed: %s", rig.failure);
        }
    if (bad)
        fail_msg("%u runs failed", bad);
}

static void sweep(const char *name)
{
    sweep_from(0, name);
}

static void counting_beside_sampling_survives_overflows_everywhere(void **state)
{
    (void)state;
    sweep("counts_beside_sampling");
}

static void restarts_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep("samples_and_restarts");
}

static void two_sampling_counters_survive_overflows_everywhere(void **state)
{
    (void)state;
    sweep("samples_two_counters");
}

static void two_sampling_sessions_survive_overflows_everywhere(void **state)
{
    (void)state;
    sweep("samples_in_two_sessions");
}

static void moves_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep("moves_a_sampling_counter");
}

static void full_rings_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep("masks_a_full_ring");
}

static void a_ring_that_fills_at_any_instruction_masks_its_session(void **state)
{
    (void)state;
    sweep("masks_inside_a_call");
}

static void polls_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep("polls_while_sampling");
}

static void thread_switches_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep("switches_threads");
}

static void set_switches_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep("switches_sets");
}

static void sets_that_give_way_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep("gives_way_on_overflows");
}

static void ticks_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep("takes_turns");
}

static void entries_and_exits_of_guests_survive_overflows_everywhere(void **state)
{
    (void)state;
    sweep("switches_guests");
}

static void two_threads_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep_from(P4, "two_threads");
}

static void cascades_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep_from(P4, "cascades");
}

static void tags_survive_an_overflow_at_every_instruction(void **state)
{
    (void)state;
    sweep_from(P4, "tags_of_two_threads");
}

static struct place place_of(const char *text)
{
    char *end;
    struct place place = {(uint32_t)strtoul(text, &end, 10), 0};

    if (*end == '.')
        place.instruction = (uint32_t)strtoul(end + 1, NULL, 10);
    return place;
}

static int tell_one(int count, char **arguments)
{
    const char *scenario = NULL, *profile = "skylake";
    const struct rig_variant *variant = &variants[0];

    for (int i = 1; i < count; i++) {
        if (!strncmp(arguments[i], "scenario=", 9))
            scenario = arguments[i] + 9;
        else if (!strncmp(arguments[i], "profile=", 8))
            profile = arguments[i] + 8;
        else if (!strncmp(arguments[i], "step=", 5))
            only = place_of(arguments[i] + 5);
        for (unsigned v = 0; v < sizeof variants / sizeof variants[0]; v++)
            if (!strncmp(arguments[i], "variant=", 8) && !strcmp(arguments[i] + 8, variants[v].name))
                variant = &variants[v];
    }
    if (!scenario || !scenario_of(scenario) || !only.instruction)
        return 2;
    play(scenario, profile, variant, true);
    return rig.failed ? 1 : 0;
}

int main(int count, char **arguments)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_beside_sampling_survives_overflows_everywhere),
        cmocka_unit_test(restarts_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(two_sampling_counters_survive_overflows_everywhere),
        cmocka_unit_test(two_sampling_sessions_survive_overflows_everywhere),
        cmocka_unit_test(moves_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(full_rings_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(a_ring_that_fills_at_any_instruction_masks_its_session),
        cmocka_unit_test(polls_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(thread_switches_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(set_switches_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(sets_that_give_way_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(ticks_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(entries_and_exits_of_guests_survive_overflows_everywhere),
        cmocka_unit_test(two_threads_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(cascades_survive_an_overflow_at_every_instruction),
        cmocka_unit_test(tags_survive_an_overflow_at_every_instruction),
    };
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    brief = getenv("STEP_BRIEF");
    every = count == 2 && !strcmp(arguments[1], "every");
    if (count > 1 && !every)
        return tell_one(count, arguments);
    failed = cmocka_run_group_tests_name("step", tests, NULL, NULL);
    printf("%u overflows injected between instructions, %u of them in switches and ticks\n", (unsigned)injected,
           (unsigned)in_switches);
    if (!every && !share_everything())
        printf("one stretch in %u is stepped through: three times as many in make soak (FUZZ_RUNS=soak)\n",
               share_few(SKIP, FEW_SKIP));
    if (WHOLE && !every && !brief && !share_everything())
        printf("of those switches one instruction in %u: all of them in make soak (FUZZ_RUNS=soak)\n",
               share_few(PART, FEW_PART));
    return failed;
}
