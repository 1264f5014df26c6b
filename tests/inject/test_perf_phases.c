/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open: an overflow with its interrupt at each instruction of a call on a sampled event, or beside one. Each
 * n-th instruction has its record, whole and in order, the count is that of the instructions that were executed, and
 * an event that is stopped stays so. The class of mistake: two writers, the call and the handler, of one ring or one
 * count.
 *
 * The process steps itself through the call and forks at each instruction; the child lets the program execute there.
 * x86 with Linux only.
 */
#include "tests/common/perf_sources.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/common/share.h"
#include "tests/inject/fork_step.h"
#include "tests/perf/perf_rings.h"

#define PERIOD 100u

/* Forks copy shadow memory where it is instrumented. */
#if defined(__SANITIZE_ADDRESS__)
#define SLOWNESS 29u
#else
#define SLOWNESS 1u
#endif

static struct upmu_port hooks; /* the model's own */
static unsigned hidden, steps, stride;
static uint64_t executed, begun; /* all; before the call */
static int sampled, beside;

/* ---- Nothing comes between the instructions of the model ---- */

#define HIDDEN(type, hook, parameters, arguments)                                                                      \
    static type hidden_##hook parameters                                                                               \
    {                                                                                                                  \
        type result;                                                                                                   \
                                                                                                                       \
        hidden++;                                                                                                      \
        result = hooks.hook arguments;                                                                                 \
        hidden--;                                                                                                      \
        return result;                                                                                                 \
    }

HIDDEN(bool, rdmsr, (void *context, uint32_t msr, uint64_t *out_value), (context, msr, out_value))
HIDDEN(bool, wrmsr, (void *context, uint32_t msr, uint64_t value), (context, msr, value))
HIDDEN(bool, rdpmc, (void *context, uint32_t index, uint64_t *out_value), (context, index, out_value))
HIDDEN(struct upmu_cpu *, this_cpu, (void *context), (context))
HIDDEN(uintptr_t, irq_save, (void *context), (context))
HIDDEN(uint64_t, clock_ns, (void *context), (context))

static void hidden_irq_restore(void *context, uintptr_t state)
{
    hidden++;
    hooks.irq_restore(context, state);
    hidden--;
}

static void hidden_pmi_rearm(void *context)
{
    hidden++;
    hooks.pmi_rearm(context);
    hidden--;
}

static void hide_hooks(struct upmu_port *port)
{
    hooks = *port;
    port->rdmsr = hidden_rdmsr;
    port->wrmsr = hidden_wrmsr;
    port->rdpmc = hidden_rdpmc;
    port->this_cpu = hidden_this_cpu;
    port->irq_save = hidden_irq_save;
    port->irq_restore = hidden_irq_restore;
    port->pmi_rearm = hidden_pmi_rearm;
    port->clock_ns = hidden_clock_ns;
}

static bool is_wanted(uintptr_t ip)
{
    (void)ip;
    return !hidden && ++steps % stride == 0;
}

/* ---- What is executed ---- */

static void work(uint64_t instructions)
{
    perf_work(0, true, instructions);
    executed += instructions;
}

static void overflow(void)
{
    work(PERIOD);
}

/* ---- Calls ---- */

static struct upmu_perf_attr attr;

static void do_read(void)
{
    assert_in_range(count_of(sampled), begun, executed);
}

static void do_disable(void)
{
    assert_int_equal(perf_ioctl(sampled, UPMU_PERF_IOC_DISABLE, 0), 0);
}

static void do_enable(void)
{
    assert_int_equal(perf_ioctl(sampled, UPMU_PERF_IOC_ENABLE, 0), 0);
}

static void do_reset(void)
{
    assert_int_equal(perf_ioctl(sampled, UPMU_PERF_IOC_RESET, 0), 0);
}

static void do_open(void)
{
    beside = perf_open(&attr, 0, -1, -1, 0);
    assert_compare(beside, >, 0);
}

static void do_join(void)
{
    beside = perf_open(&attr, 0, -1, sampled, 0);
    assert_compare(beside, >, 0);
}

static void do_close(void)
{
    perf_close(beside);
    beside = 0;
}

static void do_leave(void)
{
    perf_switch(0, 2);
}

static const struct call {
    const char *name;
    void (*call)(void);
    bool stopped_before, stopped_after, opens_before, moves; /* moves: what the event counts begins anew */
} calls[] = {
    {"read", do_read, false, false, false, false},    {"disable", do_disable, false, true, false, false},
    {"enable", do_enable, true, false, false, false}, {"reset", do_reset, false, false, false, true},
    {"open", do_open, false, false, false, false},    {"join", do_join, false, false, false, false},
    {"close", do_close, false, false, true, false},   {"leave", do_leave, false, true, false, false},
};

/* ---- Judgement ---- */

static void complain(const struct call *call, const char *what, uint64_t got, uint64_t least, uint64_t most)
{
    printf("%s, step %u: %s: %u, not %u to %u\n", call->name, steps, what, (unsigned)got, (unsigned)least,
           (unsigned)most);
    fflush(stdout);
    _exit(1);
}

static void judge(const struct call *call, bool acted)
{
    uint64_t meanwhile = acted ? PERIOD : 0, counted, before, samples = 0, extra = 0, most;
    uint64_t least = call->call == do_read ? meanwhile : 0; /* others stop a CPU's counters for a moment */

    if (call->moves)
        begun = 0;
    before = count_of(sampled);
    if (before < begun + least || before > begun + meanwhile)
        complain(call, "count", before, begun + least, begun + meanwhile);
    if (call->stopped_after) {
        if (call->call == do_leave)
            perf_work(0, true, 3 * PERIOD + 7);
        else
            work(3 * PERIOD + 7);
    } else {
        work(3 * PERIOD + 7);
        extra = 3 * PERIOD + 7;
    }
    counted = count_of(sampled);
    if (counted != before + extra)
        complain(call, "count afterwards", counted, before + extra, before + extra);
    while (take(0)) {
        if (record.type != UPMU_PERF_RECORD_SAMPLE || record.words != 2)
            complain(call, "words of a record", record.words, 2, 2);
        samples++;
    }
    /* A count that begins anew leaves the period where it was. */
    most = (call->moves ? executed : counted) / PERIOD;
    least = call->moves ? (executed - meanwhile + before) / PERIOD : most;
    if (samples < least || samples > most)
        complain(call, "samples", samples, least, most);
}

static void sweep(const struct call *call)
{
    struct upmu_perf_attr other = attr_of(CYCLES, 0, 0, USER_ONLY);

    set_up();
    attr = other;
    executed = hidden = steps = 0;
    sampled = perf_open(&(struct upmu_perf_attr){.type = UPMU_PERF_TYPE_HARDWARE,
                                                 .size = sizeof(struct upmu_perf_attr),
                                                 .config = INSTRUCTIONS,
                                                 .sample_period = PERIOD,
                                                 .sample_type = UPMU_PERF_SAMPLE_IP,
                                                 .flags = USER_ONLY},
                        0, -1, -1, 0);
    assert_compare(sampled, >, 0);
    map(sampled, 0);
    if (call->opens_before)
        do_open();
    perf_switch(0, 0);
    work(150);
    if (call->stopped_before)
        do_disable();
    begun = count_of(sampled);
    assert_int_equal(begun, 150);
    hide_hooks(&perf_host.host.sim.port);
    fork_step_begin(is_wanted, overflow);
    call->call();
    if (fork_step_end()) {
        judge(call, true);
        _exit(0);
    }
    if (fork_step.failed)
        fail_msg("%s: at step %u of the library", call->name, steps);
    judge(call, false);
    perf_host.host.sim.port = hooks;
    if (perf_host.running[0] == 0)
        perf_switch(0, 2);
    perf_host_end();
    printf("%s: %u instructions\n", call->name, steps);
}

static void records_and_counts_are_those_of_what_was_executed(void **state)
{
    (void)state;
    stride = share_step(29, 29 * SLOWNESS);
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        sweep(&calls[i]);
    assert_compare(fork_step.forks, >, 100);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_and_counts_are_those_of_what_was_executed),
    };
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    failed = cmocka_run_group_tests_name("perf_phases", tests, NULL, NULL);
    printf("%u moments\n", fork_step.forks);
    return failed;
}
