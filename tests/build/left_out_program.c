/* SPDX-License-Identifier: MIT */
/*
 * A build without one of the options SHARING, REMOTE, SUSPEND, FIRMWARE and DRY_RUN at work, or one with all of them:
 * what the public functions of these parts return, what the build does in their place, and counts of a CPU and of a
 * thread, on silicon models.  tests/build/check_left_out.py compiles it, and knows the lines.
 */
#include <stdio.h>
#include <string.h>
#include <models/sim/sim.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/unit.h>
#include <upmu/upmu.h>

#define MUST(condition) must(condition, #condition)

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu[2];
static struct upmu_session session, waiting;
static struct upmu_thread worker, other;
static struct upmu_unit unit;
static unsigned remote_calls, failures;
static bool (*model_run_on_cpu)(void *context, struct upmu_cpu *bound, void (*function)(void *argument),
                                void *argument);

static void must(bool holds, const char *condition)
{
    if (holds)
        return;
    failures++;
    printf("failed: %s\n", condition);
}

static bool run_on_cpu(void *context, struct upmu_cpu *bound, void (*function)(void *argument), void *argument)
{
    remote_calls++;
    return model_run_on_cpu(context, bound, function, argument);
}

static void answer(const char *call, enum upmu_status status)
{
    printf("%s %s\n", call, status == UPMU_ERR_COMPILED_OUT ? "compiled out" : status == UPMU_OK ? "ok" : "other");
}

static void set_up(const char *model, unsigned cpus)
{
    upmu_sim_init(&sim, upmu_sim_profile(model), cpus);
    model_run_on_cpu = sim.port.run_on_cpu;
    sim.port.run_on_cpu = run_on_cpu;
    memset(&machine, 0, sizeof machine);
    memset(cpu, 0, sizeof cpu);
    MUST(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK);
    for (unsigned i = 0; i < cpus; i++)
        upmu_sim_bind_cpu(&sim, i, &cpu[i]);
}

/* The CPU is given back, and the model has no complaint of an access. */
static void tear_down(unsigned which)
{
    MUST(upmu_cpu_fini(&cpu[which]) == UPMU_OK);
    if (sim.violation_count) {
        failures++;
        printf("failed: violation: %s\n", sim.violation);
    }
}

static void take_over(unsigned which)
{
    upmu_sim_switch_cpu(&sim, which);
    MUST(upmu_cpu_init(&cpu[which], &machine, NULL) == UPMU_OK);
}

static void add(struct upmu_session *to, enum upmu_basic_event which)
{
    struct upmu_event event;

    MUST(upmu_event_basic(cpu[0].meter.pmu, which, &event) == UPMU_OK);
    MUST(upmu_set_add_event(&to->set, &event, NULL) == UPMU_OK);
}

static void begin(struct upmu_session *which)
{
    MUST(upmu_session_init(which, &machine) == UPMU_OK);
    add(which, UPMU_BASIC_INSTRUCTIONS);
    add(which, UPMU_BASIC_CYCLES);
}

static void burst(uint64_t instructions)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = instructions, .cycles = 2 * instructions});
}

static void print_counts(const char *name, struct upmu_session *which)
{
    struct upmu_count counts[2];

    MUST(upmu_set_read(&which->set, 0, 2, counts) == UPMU_OK);
    printf("%s %llu %llu\n", name, (unsigned long long)counts[0].value, (unsigned long long)counts[1].value);
}

/* All calls that one of the options leaves out, while a session counts. */
static void ask_all(void)
{
    static struct upmu_write writes[64];
    struct upmu_dry_run dry_run = {.writes = writes, .capacity = 64};
    struct upmu_session detached;

    set_up("skl", 2);
    take_over(0);
    begin(&session);
    MUST(upmu_session_attach_cpu(&session, &cpu[0]) == UPMU_OK && upmu_session_start(&session) == UPMU_OK);
    burst(7000);
    begin(&detached);
    answer("upmu_session_share", upmu_session_share(&detached, true));
    MUST(upmu_session_share(&detached, false) == UPMU_OK);
    answer("upmu_session_dry_run", upmu_session_dry_run(&detached, cpu[0].meter.pmu, &dry_run));
    MUST(UPMU_DRY_RUN == (dry_run.count != 0));
    answer("upmu_cpu_suspend", upmu_cpu_suspend(&cpu[0]));
    answer("upmu_cpu_resume", upmu_cpu_resume(&cpu[0]));
    answer("upmu_cpu_changed", upmu_cpu_changed(&cpu[0]));
    answer("upmu_cpu_reserve", upmu_cpu_reserve(&cpu[0], 1));
    upmu_cpu_unreserve(&cpu[0], 1);
    answer("upmu_unit_take_firmware", upmu_unit_take_firmware(&unit));
    burst(5000);
    MUST(upmu_session_stop(&session) == UPMU_OK);
    burst(100);
    print_counts("counts of a CPU", &session);
    MUST(upmu_session_close(&session) == UPMU_OK);
    tear_down(0);
}

/* A session of a CPU runs alone, so that of a thread waits, until a tick. */
static void wait_for_a_tick(void)
{
    struct upmu_count count;

    set_up("skl", 1);
    take_over(0);
    begin(&session);
    begin(&waiting);
    upmu_thread_init(&worker, 1, 1, NULL);
    upmu_thread_init(&other, 1, 2, NULL);
    MUST(upmu_session_alone(&session, true) == UPMU_OK);
    MUST(upmu_session_attach_cpu(&session, &cpu[0]) == UPMU_OK && upmu_session_start(&session) == UPMU_OK);
    MUST(upmu_session_attach_thread(&waiting, &worker, NULL) == UPMU_OK && upmu_session_start(&waiting) == UPMU_OK);
    MUST(upmu_thread_switch(&cpu[0], &other, &worker) == UPMU_OK);
    burst(3000);
    MUST(waiting.state == UPMU_SESSION_WAITING);
    MUST(upmu_session_stop(&session) == UPMU_OK);
    MUST(upmu_cpu_tick(&cpu[0]) == UPMU_OK);
    MUST(waiting.state == UPMU_SESSION_RUNNING);
    burst(6000);
    MUST(upmu_thread_switch(&cpu[0], &worker, &other) == UPMU_OK);
    burst(1);
    MUST(upmu_set_read(&waiting.set, 0, 1, &count) == UPMU_OK);
    MUST(count.quality == UPMU_QUALITY_SCALED && count.raw == 6000 && count.value > 6000);
    MUST(UPMU_SHARING || count.error == count.value - count.raw);
    printf("counts of a thread %llu\n", (unsigned long long)count.raw);
    MUST(upmu_thread_exit(&worker) == UPMU_OK);
    tear_down(0);
}

/* A call for a session of another CPU. */
static void call_another_cpu(void)
{
    struct upmu_count count;

    set_up("skl", 2);
    take_over(0);
    take_over(1);
    begin(&session);
    MUST(upmu_session_attach_cpu(&session, &cpu[1]) == UPMU_OK && upmu_session_start(&session) == UPMU_OK);
    burst(4000);
    upmu_sim_switch_cpu(&sim, 0);
    remote_calls = 0;
    printf("stop on another CPU %s, ", upmu_session_stop(&session) == UPMU_ERR_WRONG_CPU ? "wrong CPU" : "done");
    printf("read %s, ", upmu_set_read(&session.set, 0, 1, &count) == UPMU_ERR_WRONG_CPU ? "wrong CPU" : "done");
    printf("%u calls there\n", remote_calls);
    upmu_sim_switch_cpu(&sim, 1);
    MUST(upmu_session_stop(&session) == UPMU_OK);
    MUST(upmu_set_read(&session.set, 0, 1, &count) == UPMU_OK && count.value == 4000);
    tear_down(1);
}

/* A CPU where the firmware counts, and a former kernel left records of samples on: registers as they are taken over. */
static void take_from_the_firmware(const char *model, uint64_t records)
{
    uint64_t found;

    set_up(model, 1);
    upmu_sim_firmware(&sim, 0);
    upmu_sim_poke(&sim, 0, 0x3f1, records);
    found = upmu_sim_peek(&sim, 0, 0x3f1);
    take_over(0);
    if (!UPMU_FIRMWARE)
        upmu_cpu_take_firmware(&cpu[0]); /* nothing is left to take */
    printf("%s: counter 0 %s, %s, records %s\n", model, upmu_owner_text(upmu_cpu_owner(&cpu[0], 0)),
           upmu_sim_runs(&sim, 0, 0) ? "runs" : "stopped", upmu_sim_peek(&sim, 0, 0x3f1) == found ? "on" : "off");
    sim.rule[UPMU_SIM_RULE_CHECK_P4_UNTOUCHABLE] = 0; /* the registers are restored, records included */
    tear_down(0);
    MUST(upmu_sim_peek(&sim, 0, 0x3f1) == found);
    MUST(upmu_sim_runs(&sim, 0, 0));
}

int main(void)
{
    ask_all();
    wait_for_a_tick();
    call_another_cpu();
    take_from_the_firmware("skl", 2);
    take_from_the_firmware("willamette", UINT64_C(3) << 25);
    return failures != 0;
}
