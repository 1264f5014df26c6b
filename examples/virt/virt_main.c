/* SPDX-License-Identifier: MIT */
/*
 * The program: bring up upmu, count two loops of known length, sample them, give everything back.
 */
#include <examples/virt/virt.h>
#include <upmu/abi.h>
#include <upmu/cpu.h>
#include <upmu/probe.h>
#include <upmu/session.h>

#define PERIOD 20000u
#define SHORT_TURNS 1000u
#define LONG_TURNS 101000u
#define FIRST_TURNS 1500000u /* three times as many as of the second: three of four samples */
#define SECOND_TURNS 500000u

static struct upmu_port port;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static unsigned wrong;

static void say(const char *text)
{
    for (; *text != '\0'; text++)
        virt_put(*text);
}

static void say_number(uint64_t value)
{
    if (value >= 10)
        say_number(value / 10);
    virt_put((char)('0' + value % 10));
}

/* Print the reason if a call failed, and count it as wrong. */
static bool fine(const char *what, enum upmu_status status)
{
    if (status == UPMU_OK)
        return true;
    wrong++;
    say(what);
    say(": ");
    say(upmu_status_text(status));
    say("\n");
    return false;
}

static void verdict(bool good)
{
    wrong += good ? 0 : 1;
    say(good ? ", as it should be\n" : ", WRONG\n");
}

/* Count the instructions and the cycles of a loop. */
static void measure(uint64_t turns, uint64_t out[2])
{
    static struct upmu_region region;

    out[0] = out[1] = 0;
    if (!fine("open", upmu_region_open(&region, &cpu, "instructions,cycles")))
        return;
    fine("begin", upmu_region_begin(&region));
    virt_loop_first(turns);
    fine("end", upmu_region_end(&region));
    for (unsigned i = 0; i < 2; i++)
        out[i] = region.count[i].value;
    fine("close", upmu_region_close(&region));
}

static void count(void)
{
    static const char *const names[] = {" instructions", " cycles"};
    uint64_t few[2], many[2];

    measure(SHORT_TURNS, few);
    measure(LONG_TURNS, many);
    for (unsigned i = 0; i < 2; i++) {
        say("count: ");
        say_number(few[i]);
        say(" and ");
        say_number(many[i]);
        say(names[i]);
        say(", difference ");
        say_number(many[i] - few[i]);
        verdict(many[i] - few[i] == 2u * (LONG_TURNS - SHORT_TURNS));
    }
}

static unsigned counters_of(const struct upmu_pmu *pmu)
{
    unsigned number = 0;

    for (uint32_t rest = pmu->counters; rest != 0; rest &= rest - 1)
        number++;
    return number;
}

static void probe(void)
{
    static struct upmu_probe found;

    if (!fine("probe", upmu_cpu_probe(&cpu, &found)))
        return;
    say("probe: ");
    say(upmu_verdict_text(found.verdict));
    verdict(found.verdict == UPMU_VERDICT_INTERRUPTS);
}

static void show_samples(void)
{
    struct upmu_progress progress;
    struct upmu_sample sample;
    unsigned first = 0, second = 0, other = 0;

    upmu_set_progress(&session.set, 0, &progress);
    while (upmu_ring_next(&session.ring, &sample)) {
        if (sample.ip >= (uintptr_t)virt_loop_first && sample.ip < (uintptr_t)virt_loop_second)
            first++;
        else if (sample.ip >= (uintptr_t)virt_loop_second && sample.ip < (uintptr_t)virt_loop_end)
            second++;
        else
            other++;
    }
    say("samples: ");
    say_number(first);
    say(" in the first loop, ");
    say_number(second);
    say(" in the second, ");
    say_number(other);
    say(" elsewhere, ");
    say_number(progress.lost + upmu_ring_lost(&session.ring));
    say(" lost");
    verdict(first + second + other + progress.lost + upmu_ring_lost(&session.ring) == progress.overflows);
    say("shares: the first loop is three times as long");
    verdict(first >= 2 * FIRST_TURNS / PERIOD * 9 / 10 && second >= 2 * SECOND_TURNS / PERIOD * 9 / 10 &&
            first * 2 > second * 5 && first * 2 < second * 7);
}

static void sample(void)
{
    static uint64_t ring[4096];
    const struct upmu_sampling every = {.period = PERIOD};

    if (!fine("session", upmu_session_init(&session, &machine)) ||
        !fine("ring", upmu_session_ring(&session, ring, sizeof ring)) ||
        !fine("add", upmu_set_add(&session.set, "cycles", &every)) ||
        !fine("attach", upmu_session_attach_cpu(&session, &cpu)))
        return;
    if (fine("start", upmu_session_start(&session))) {
        virt_loop_first(FIRST_TURNS);
        virt_loop_second(SECOND_TURNS);
        fine("stop", upmu_session_stop(&session));
        show_samples();
    }
    fine("close", upmu_session_close(&session));
}

void virt_main(void)
{
    say("\nupmu kernel, ");
    say(virt_machine);
    say("\n");
    virt_open(&port);
    if (fine("machine", upmu_machine_init(&machine, &port)) && fine("CPU", upmu_cpu_init(&cpu, &machine, NULL))) {
        say("PMU: ");
        say(cpu.meter.pmu->title);
        say(", ");
        say_number(counters_of(cpu.meter.pmu));
        say(" counters\n");
        virt_go(&cpu);
        /*
         * Loops are counted before a counter has sampled. On RISC-V each overflow interrupts, also that of a counter
         * which only counts and begins with the value that the probe left. The handler runs in the counted mode.
         */
        count();
        probe();
        sample();
        fine("fini", upmu_cpu_fini(&cpu));
    }
    say("end: ");
    say_number(wrong);
    say(" wrong\n");
    virt_off(wrong != 0);
}
