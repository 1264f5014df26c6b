/* SPDX-License-Identifier: MIT */
/*
 * upmu's module for Zephyr on two CPUs, as it is built for x86: the silicon model stands behind the hooks of
 * port/x86_native, whose function that fills them in is replaced by the linker (--wrap).
 */
#include <errno.h>
#include <port/x86_native/x86_native.h>
#include "zephyr_case.h"

static struct upmu_sim sim;
static const char *model = "skl";
static struct k_thread threads[3];
static struct upmu_session sessions[3];

/* The model and the kernel have a flag each for interrupts that are off. */
static uintptr_t irq_save(void *context)
{
    return upmu_sim_port(&sim)->irq_save(context) << 1 | arch_irq_lock();
}

static void irq_restore(void *context, uintptr_t state)
{
    arch_irq_unlock(state & 1);
    upmu_sim_port(&sim)->irq_restore(context, state >> 1);
}

void __wrap_upmu_x86_native_port(struct upmu_x86_native *native, volatile void *apic_page, unsigned vector,
                                 uint32_t tsc_khz);

void __wrap_upmu_x86_native_port(struct upmu_x86_native *native, volatile void *apic_page, unsigned vector,
                                 uint32_t tsc_khz)
{
    CHECK(!apic_page && !vector && !tsc_khz);
    upmu_sim_init(&sim, upmu_sim_profile(model), 2);
    native->port = *upmu_sim_port(&sim);
    native->port.irq_save = irq_save;
    native->port.irq_restore = irq_restore;
    native->port.run_on_cpu = NULL; /* the module has its own */
    native->port.this_cpu = NULL;
}

static void moved(unsigned cpu)
{
    upmu_sim_switch_cpu(&sim, cpu);
}

static void begin(void)
{
    stand_in_moved = moved;
    CHECK(upmu_zephyr_machine());
    CHECK(upmu_zephyr_cpu(0) && upmu_zephyr_cpu(1) && !upmu_zephyr_cpu(2));
}

/* On this CPU. */
static void work(unsigned cpu, uint64_t instructions)
{
    stand_in_move(cpu);
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = instructions, .cycles = instructions});
}

static void run(unsigned cpu, struct k_thread *thread, uint64_t instructions)
{
    stand_in_move(cpu);
    stand_in_switch(thread);
    work(cpu, instructions);
}

static void each_cpu_is_taken_over_by_itself(void)
{
    stand_in_moved = moved;
    stand_in_move(1);
    CHECK(upmu_zephyr_machine() && upmu_zephyr_cpu(0) && upmu_zephyr_cpu(1));
    EQUAL(stand_in_work_done, 1);
    EQUAL(sim.violation_count, 0);
    CHECK(upmu_zephyr_machine());
    EQUAL(stand_in_work_done, 1);
}

static void is_off(void *out_cpu)
{
    unsigned key = arch_irq_lock();

    CHECK(!arch_irq_unlocked(key));
    *(unsigned *)out_cpu = upmu_zephyr_number();
}

static void functions_run_elsewhere_with_interrupts_off(void)
{
    const struct upmu_port *port;
    unsigned cpu;

    begin();
    port = upmu_zephyr_machine()->port;
    for (unsigned i = 0; i < 2; i++) {
        cpu = 7;
        CHECK(port->run_on_cpu(port->context, upmu_zephyr_cpu(i), is_off, &cpu)); /* the thread may have moved there */
        EQUAL(cpu, i);
    }
}

static void a_machine_without_a_pmu_says_why(void)
{
    const struct perf_event_provider *of = provider("upmu1");
    uint64_t id;

    model = "no_pmu";
    stand_in_moved = moved;
    CHECK(!upmu_zephyr_machine() && !upmu_zephyr_cpu(0) && !upmu_zephyr_cpu(1));
    CHECK(strstr(stand_in_printed(), "upmu: CPU 1 is not counted: ") != NULL);
    EQUAL(of->api->lookup(of->context, "instructions", &id), -ENOTSUP);
    EQUAL(of->api->list(of->context, NULL, NULL), -ENOTSUP);
    EQUAL(upmu_zephyr_attach(&sessions[0], &threads[0]), UPMU_ERR_NO_PMU);
}

/* Started and stopped by a thread on the other CPU, which has been moved meanwhile. */
static void a_provider_counts_its_own_cpu_wherever_the_caller_runs(void)
{
    const struct perf_event_provider *of[2] = {provider("upmu0"), provider("upmu1")};
    uint64_t id[2], from[2], to[2];

    begin();
    for (unsigned i = 0; i < 2; i++) {
        id[i] = id_of(of[i], "instructions");
        EQUAL(of[i]->api->prepare(of[i]->context, id[i]), 0);
        EQUAL(of[i]->api->start(of[i]->context, id[i], &from[i]), 0);
    }
    CHECK(id[0] != id[1]);
    work(0, 1000);
    work(1, 300);
    for (unsigned i = 0; i < 2; i++) {
        EQUAL(of[i]->api->stop(of[i]->context, id[i], &to[i]), 0);
        EQUAL(to[i] - from[i], i ? 300 : 1000);
    }
    CHECK(stand_in_work_done >= 4); /* taken over, prepared, read, started */
    EQUAL(sim.violation_count, 0);
}

static void start_elsewhere(void *out_error)
{
    const struct perf_event_provider *of = provider("upmu1");
    uint64_t count;

    *(int *)out_error = of->api->start(of->context, 0, &count);
}

/* It could wait for a CPU that waits for it. */
static void a_call_elsewhere_is_refused_where_it_must_not_wait(void)
{
    const struct perf_event_provider *of = provider("upmu1");
    unsigned key;
    int error;

    begin();
    EQUAL(id_of(of, "instructions"), 0);
    EQUAL(of->api->prepare(of->context, 0), 0);
    key = arch_irq_lock();
    start_elsewhere(&error);
    arch_irq_unlock(key);
    EQUAL(error, -EBUSY);
    start_elsewhere(&error);
    EQUAL(error, 0);
}

static void read_in_interrupt(void *out_status)
{
    struct upmu_count count;

    *(enum upmu_status *)out_status = upmu_session_stop(&sessions[0]);
    CHECK(upmu_set_read(&sessions[0].set, 0, 1, &count) != UPMU_OK);
}

static void an_interrupt_calls_nothing_elsewhere(void)
{
    enum upmu_status status;

    begin();
    EQUAL(upmu_session_init(&sessions[0], upmu_zephyr_machine()), UPMU_OK);
    EQUAL(upmu_set_add(&sessions[0].set, "instructions", NULL), UPMU_OK);
    EQUAL(upmu_session_attach_cpu(&sessions[0], upmu_zephyr_cpu(1)), UPMU_OK);
    EQUAL(upmu_session_start(&sessions[0]), UPMU_OK);
    stand_in_interrupt(read_in_interrupt, &status);
    EQUAL(status, UPMU_ERR_WRONG_CPU);
    work(1, 70);
    stand_in_move(0);
    EQUAL(exact(&sessions[0]), 70);
}

static void a_thread_that_moves_between_cpus_is_counted_exactly(void)
{
    uint64_t wanted[2] = {0, 0};

    begin();
    follow(&sessions[0], &threads[0]);
    follow(&sessions[1], &threads[1]);
    for (unsigned i = 0; i < 40; i++) {
        unsigned cpu = i / 3 & 1, thread = i % 2;

        run(!cpu, NULL, 10000);
        run(cpu, &threads[thread], 100 + i);
        wanted[thread] += 100 + i;
        stand_in_switch(NULL);
        if (i % 8 == 7)
            stand_in_advance_ms(170);
    }
    stand_in_move(0);
    EQUAL(exact(&sessions[0]), wanted[0]);
    EQUAL(exact(&sessions[1]), wanted[1]);
    EQUAL(sim.violation_count, 0);
}

/* The other CPU has the thread before the first one calls its second hook. */
static void a_thread_that_is_taken_up_elsewhere_at_once_is_counted_once(void)
{
    begin();
    follow(&sessions[0], &threads[0]);
    for (unsigned i = 0; i < 10; i++) {
        run(0, &threads[0], 100);
        stand_in_switch_out();
        run(1, &threads[0], 30);
        stand_in_move(0);
        stand_in_switch_in(&threads[1]);
        work(0, 4000);
        run(1, NULL, 4000);
        run(0, NULL, 4000);
    }
    EQUAL(exact(&sessions[0]), 1300);
}

/* Between its two hooks a CPU has no thread, and no other thread's place. */
static void a_thread_is_followed_while_another_cpu_switches(void)
{
    begin();
    follow(&sessions[0], &threads[0]);
    run(1, &threads[0], 10);
    stand_in_switch_out();
    stand_in_move(0);
    follow(&sessions[1], &threads[1]);
    run(0, &threads[1], 20);
    stand_in_move(1);
    stand_in_switch_in(&threads[0]);
    work(1, 30);
    stand_in_move(0);
    EQUAL(exact(&sessions[0]), 40);
    EQUAL(exact(&sessions[1]), 20);
}

/* Of a thread that is known to run elsewhere nothing can be attached here, but that thread can do it. */
static void a_running_thread_is_attached_to_on_its_cpu(void)
{
    begin();
    run(1, &threads[0], 10);
    stand_in_move(0);
    follow(&sessions[0], &threads[0]);
    work(1, 10);
    run(1, NULL, 10);
    run(1, &threads[0], 5);
    stand_in_move(0);
    EQUAL(exact(&sessions[0]), 5);
    EQUAL(upmu_session_init(&sessions[1], upmu_zephyr_machine()), UPMU_OK);
    EQUAL(upmu_set_add(&sessions[1].set, "cycles", NULL), UPMU_OK);
    EQUAL(upmu_zephyr_attach(&sessions[1], &threads[0]), UPMU_ERR_WRONG_CPU);
    stand_in_move(1);
    EQUAL(upmu_zephyr_attach(&sessions[1], &threads[0]), UPMU_OK);
}

/* upmu refuses the end of a thread that another CPU has; its place is free after that CPU's next switch. */
static void an_end_that_was_refused_comes_later(void)
{
    begin();
    follow(&sessions[0], &threads[0]);
    run(1, &threads[0], 25);
    stand_in_move(0);
    EQUAL(upmu_zephyr_leave(&threads[0]), UPMU_ERR_WRONG_CPU);
    stand_in_end(&threads[0]);
    EQUAL(upmu_zephyr_leave(&threads[0]), UPMU_OK); /* it is not followed any more */
    follow(&sessions[1], &threads[1]);
    EQUAL(upmu_session_init(&sessions[2], upmu_zephyr_machine()), UPMU_OK);
    EQUAL(upmu_set_add(&sessions[2].set, "instructions", NULL), UPMU_OK);
    EQUAL(upmu_zephyr_attach(&sessions[2], &threads[2]), UPMU_ERR_NO_SPACE);
    run(1, NULL, 1000);
    stand_in_move(0);
    EQUAL(upmu_zephyr_attach(&sessions[2], &threads[2]), UPMU_OK);
    EQUAL(exact(&sessions[0]), 25);
}

/* One that is busy for so long misses some, which is no error. */
static void a_tick_reaches_every_cpu(void)
{
    unsigned before;

    begin();
    EQUAL(upmu_session_init(&sessions[0], upmu_zephyr_machine()), UPMU_OK);
    EQUAL(upmu_set_add(&sessions[0].set, "instructions", NULL), UPMU_OK);
    EQUAL(upmu_session_attach_cpu(&sessions[0], upmu_zephyr_cpu(1)), UPMU_OK);
    EQUAL(upmu_session_start(&sessions[0]), UPMU_OK);
    for (unsigned i = 0; i < 6; i++) {
        work(1, UINT64_C(1) << 46);
        stand_in_advance_ms(16 * CONFIG_UPMU_TICK_MS);
    }
    before = stand_in_work_done;
    stand_in_signals_wait = true;
    stand_in_advance_ms(50 * CONFIG_UPMU_TICK_MS);
    stand_in_signals_wait = false;
    EQUAL(stand_in_work_done, before);
    stand_in_move(0);
    EQUAL(exact(&sessions[0]), UINT64_C(6) << 46);
}

int main(int words, char **word)
{
    static const struct zephyr_case cases[] = {
        CASE(each_cpu_is_taken_over_by_itself),
        CASE(functions_run_elsewhere_with_interrupts_off),
        CASE(a_machine_without_a_pmu_says_why),
        CASE(a_provider_counts_its_own_cpu_wherever_the_caller_runs),
        CASE(a_call_elsewhere_is_refused_where_it_must_not_wait),
        CASE(an_interrupt_calls_nothing_elsewhere),
        CASE(a_thread_that_moves_between_cpus_is_counted_exactly),
        CASE(a_thread_that_is_taken_up_elsewhere_at_once_is_counted_once),
        CASE(a_thread_is_followed_while_another_cpu_switches),
        CASE(a_running_thread_is_attached_to_on_its_cpu),
        CASE(an_end_that_was_refused_comes_later),
        CASE(a_tick_reaches_every_cpu),
    };

    return run_case(cases, sizeof cases / sizeof cases[0], words, word);
}
