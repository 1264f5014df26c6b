/* SPDX-License-Identifier: MIT */
/*
 * A run: the machine of a setting, its steps handed out to workers, and at the end all
 * of it taken down again.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/host/simulated.h"
#include "tests/host/real.h"

struct host host;

/* Ends the process: a run has one of its own. */
void rules_fail(enum rule rule, const char *format, ...)
{
    struct verdict *verdict = host.verdict;
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(verdict->text, sizeof verdict->text, format, arguments);
    va_end(arguments);
    verdict->rule = rule;
    if (host.trace)
        printf("        %s\n", verdict->text), (void)fflush(stdout);
    verdict->step = self && self->step && self->step->number != 0xffff ? self->step->number
                                                                     : (unsigned)verdict->figures.steps;
    if (getenv("HOST_ABORT"))
        abort();
    _exit(1);
}

void run_trace(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    printf("        CPU %u: ", self ? self->cpu : 99u);
    (void)vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

void act_step(const struct step *step)
{
    struct lots lots = {step->lots};

    self->noise.state = step->noise;
    hooks_set_blocks(self);
    self->hooks = 0;
    if (host.trace) {
        char line[300];

        steps_tell(&host.setting, step, line, sizeof line);
        run_trace("%s", line);
    }
    host.verdict->figures.steps++;
    host.verdict->figures.done[step->kind]++;
    switch (step->kind) {
    case STEP_CREATE:
        act_create(step, &lots);
        break;
    case STEP_ATTACH:
    case STEP_START:
    case STEP_STOP:
    case STEP_READ:
    case STEP_WRITE:
    case STEP_RESTART:
    case STEP_DETACH:
    case STEP_CLOSE:
    case STEP_DROP:
    case STEP_REPLACE:
    case STEP_NEXT_SET:
    case STEP_USER_READ:
    case STEP_DRAIN:
        act_session(step, &lots);
        break;
    case STEP_UNIT_OPEN:
    case STEP_UNIT_CLOSE:
    case STEP_UNIT_MANAGE:
    case STEP_UNIT_POLL:
    case STEP_UNIT_WORK:
    case STEP_UNIT_REGION:
        act_unit(step, &lots);
        break;
    case STEP_WORLD:
    case STEP_GUEST_MAKE:
    case STEP_GUEST_RUN:
    case STEP_GUEST_PUT:
    case STEP_GUEST_RESET:
    case STEP_GUEST_SAVE:
        act_guest(step, &lots);
        break;
    default:
        act_cpu(step, &lots);
        break;
    }
}

void run_yield(void)
{
    if (host.real)
        real_yield();
    else if (!host.alone)
        fibers_yield();
}

static void work(struct worker *worker)
{
    for (;;) {
        worker->busy = true;
        hooks_serve();
        if (worker->step) {
            act_step(worker->step);
            worker->step = NULL;
        }
        worker->busy = false;
        fibers_yield();
    }
}

/* ---- Set up and taken down ---- */

static void set_up(const struct setting *setting, struct verdict *verdict)
{
    void *hardware = malloc(setting->family->bytes);

    memset(&host, 0, sizeof host);
    host.setting = *setting;
    host.verdict = verdict;
    host.hardware = hardware;
    host.copy = malloc(setting->family->bytes);
    host.trace = getenv("HOST_TRACE") != NULL;
    host.now_ns = UINT64_C(1) << 32;
    memset(hardware, 0x5a, setting->family->bytes);
    host.setting.options.memory = setting_has(setting, THEME_PRECISE) ? &precise_hardware : NULL;
    host.setting.options.no_snapshots &= setting_has(setting, THEME_PRECISE);
    host.setting.options.trace = setting_has(setting, THEME_BRANCHES) ? &branches_trace : NULL;
    host.setting.options.no_freeze &= setting_has(setting, THEME_BRANCHES);
    host.setting.options.traces = setting_has(setting, THEME_TRACES) ? &traces_hardware : NULL;
    if (setting_has(setting, THEME_PRECISE)) /* (They need these, too.) */
        host.setting.options.trace_ways &= (uint16_t) ~(HARDWARE_TRACES_NARROW | HARDWARE_TRACES_NO_AREA);
    if (!rules_strict)
        host.setting.options.trace_ways &= (uint16_t) ~(HARDWARE_TRACES_TELLS | HARDWARE_TRACES_LEFT);
    setting->family->init(hardware, setting->model, setting->seed, &host.setting.options);
    host.units.hardware = malloc(hardware_units_bytes());
    hardware_units_init(host.units.hardware, setting->family->models[setting->model].name, setting->seed,
                        setting->options.garbage);
    host.units.boxes = hardware_units_boxes(host.units.hardware, &host.units.box);
    arena_begin();
    hooks_port(setting, &host.port);
    host.machine = arena_take(sizeof *host.machine, "machine");
    for (unsigned i = 0; i < setting->cpus; i++) {
        host.cpu[i].coming = host.cpu[i].guest = HOST_NONE;
        host.cpu[i].worker = &host.worker[i];
        host.cpu[i].thread = (uint8_t)(HOST_PROGRAMS + i);
        host.cpu[i].user_rdpmc = setting->no_allow;
        host.worker[i].number = i;
        host.worker[i].cpu = (uint8_t)i;
        host.worker[i].noise.state = setting->seed + i;
    }
    fibers_begin(host.worker, setting->cpus, work);
}

/* The first worker does what is common. */
static void begin_host(void)
{
    rules_status("upmu_machine_init", HOST_CALL(upmu_machine_init(host.machine, &host.port)), "");
    for (unsigned i = 0; i < HOST_CPUS; i++) {
        host.core[i] = arena_take(sizeof *host.core[i], "domain");
        host.node[i] = arena_take(sizeof *host.node[i], "domain");
        HOST_DO(upmu_domain_init(host.core[i], UPMU_SCOPE_CORE));
        HOST_DO(upmu_domain_init(host.node[i], UPMU_SCOPE_NODE));
    }
    for (unsigned i = 0; i < HOST_THREADS; i++)
        if (i < HOST_PROGRAMS + host.setting.cpus)
            act_thread_make(i);
    for (unsigned i = 0; i < host.setting.cpus; i++)
        host.thread[HOST_PROGRAMS + i].cpu = (uint8_t)i;
}

static struct step life[2 * HOST_CPUS];

/* Hand a step to a worker of its CPU and let nothing else happen but what it calls. */
static void one_step(unsigned cpu, unsigned kind, uint64_t lots)
{
    struct worker *worker = host.cpu[cpu].worker;

    life[cpu] =
        (struct step){.kind = (uint8_t)kind, .cpu = (uint8_t)cpu, .what = (uint8_t)lots, .number = 0xffff, .lots = lots,
                      .noise = lots};
    worker->step = &life[cpu];
    worker->busy = true;
    if (host.real) {
        self = worker;
        act_step(worker->step);
        self = NULL;
        worker->busy = false;
    }
    while (worker->busy) {
        fibers_resume(worker);
        /* It may call other CPUs, and waits for them, even if they hand over in the middle. */
        for (unsigned i = 0; i < host.setting.cpus; i++)
            if (&host.worker[i] != worker &&
                (host.cpu[host.worker[i].cpu].remotes || host.worker[i].busy || host.worker[i].serving))
                fibers_resume(&host.worker[i]);
    }
}

static void take_down(void)
{
    struct worker *worker;
    struct lots lots = {host.setting.seed};

    for (unsigned cpu = 0; cpu < host.setting.cpus; cpu++)
        if (host.cpu[cpu].power == CPU_ASLEEP)
            one_step(cpu, STEP_WAKE, lots_draw(&lots));
    /* (The others are closed when no CPU is left.) */
    for (unsigned i = 0; i < HOST_UNITS; i++)
        if (lots_below(&lots, 2))
            one_step(i % host.setting.cpus, STEP_UNIT_CLOSE, i);
    for (unsigned cpu = 0; cpu < host.setting.cpus; cpu++) {
        one_step(cpu, STEP_LEAVE, lots_draw(&lots));
        one_step(cpu, STEP_UNRESERVE, lots_draw(&lots));
        if (host.cpu[cpu].power != CPU_OFF)
            rules_fail(RULE_STATE, "CPU %u cannot be left", cpu);
        if (host.cpu[cpu].ended)
            arena_give(host.cpu[cpu].ended);
        host.cpu[cpu].ended = NULL;
    }
    worker = host.cpu[0].worker;
    self = worker;
    host.alone = true;
    act_units_end();
    act_guests_end();
    act_traces_end();
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].session && !host.session[i].zombie) {
            rules_check_session(&host.session[i]);
            host.session[i].users = 1;
            act_close(&host.session[i]);
        }
    for (unsigned i = 0; i < HOST_THREADS; i++)
        if (host.thread[i].thread) {
            rules_status("upmu_thread_exit", HOST_CALL(upmu_thread_exit(host.thread[i].thread)), "PORT");
            arena_give(host.thread[i].thread);
        }
    act_reap();
    for (unsigned i = 0; i < HOST_CPUS; i++) {
        arena_give(host.core[i]);
        arena_give(host.node[i]);
    }
    if (host.units.list) {
        arena_give(host.units.list->unit);
        arena_give(host.units.list->pmu);
        arena_give(host.units.list);
    }
    for (unsigned i = 0; i < host.kept_blocks; i++)
        arena_give(host.kept[i]);
    arena_give(host.machine);
    if (arena_blocks())
        rules_fail(RULE_STATE, "%u blocks are never given back: sessions that were dropped and not closed",
                   arena_blocks());
    self = NULL;
}

/* ---- Steps ---- */

static unsigned busy_workers(void)
{
    unsigned busy = 0;

    for (unsigned i = 0; i < host.setting.cpus; i++)
        busy += host.worker[i].busy;
    return busy;
}

/* One that is busy or called, by lot; NULL: none. */
static struct worker *draw_worker(struct lots *lots)
{
    unsigned first = lots_below(lots, host.setting.cpus);

    for (unsigned i = 0; i < host.setting.cpus; i++) {
        struct worker *worker = &host.worker[(first + i) % host.setting.cpus];

        if (worker->busy || host.cpu[worker->cpu].remotes)
            return worker;
    }
    return NULL;
}

/* Turns without an end to any step: all wait for each other. */
#define TURNS 400000u

static void fail_hanging(void)
{
    char text[300];
    int at = 0;

    for (unsigned i = 0; i < host.setting.cpus; i++) {
        const struct worker *worker = &host.worker[i];
        const struct host_cpu *cpu = &host.cpu[worker->cpu];

        at += snprintf(text + at, sizeof text - (size_t)at, " CPU %u: step %d, %u calls%s%s%s;", worker->cpu,
                       worker->step ? worker->step->number : -1, cpu->calls, cpu->remotes ? ", called" : "",
                       cpu->irq_off ? ", interrupts off" : "", worker->busy ? ", busy" : "");
    }
    rules_fail(RULE_HANG, "steps wait for each other:%s", text);
}

static void run_steps(const struct step *steps, unsigned count)
{
    struct lots lots = {0};
    unsigned next = 0, turns = 0;

    while (next < count || busy_workers()) {
        struct worker *worker;

        while (next < count) {
            worker = host.cpu[steps[next].cpu].worker;
            if (worker->busy || (!steps[next].together && busy_workers()))
                break;
            if (!busy_workers()) {
                lots.state = steps[next].noise ^ 1u;
                self = worker;
                rules_quiet(&lots);
                self = NULL;
            }
            worker->step = &steps[next++];
            worker->busy = true;
            turns = 0;
        }
        worker = draw_worker(&lots);
        if (worker)
            fibers_resume(worker);
        if (++turns > TURNS)
            fail_hanging();
    }
}

void run_list(const struct setting *setting, const struct step *steps, unsigned count, struct verdict *verdict)
{
    set_up(setting, verdict);
    self = &host.worker[0];
    host.alone = true;
    begin_host();
    host.alone = host.real = setting->threads;
    self = NULL;
    for (unsigned cpu = 0; cpu < setting->cpus; cpu++)
        one_step(cpu, STEP_COME, setting->seed + cpu);
    if (host.real) {
        host.alone = false;
        real_run(steps, count);
        host.alone = true;
    } else {
        run_steps(steps, count);
    }
    take_down();
    free(host.hardware);
    free(host.copy);
    free(host.units.hardware);
}
