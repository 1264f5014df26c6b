/* SPDX-License-Identifier: MIT */
/*
 * Counts for each process of a kernel with one CPU: a session for each, which follows it by upmu_thread_switch().
 * The CPU's own PMU if it has one, otherwise a silicon model; both ports are linked.
 */
#include <examples/processes/counts.h>
#include <examples/processes/counts_text.h>
#include <models/sim/sim.h>
#include <port/x86_native/x86_native.h>
#include <upmu/cpu.h>
#include <upmu/place.h>

#define EVENTS "instructions,cycles"

struct process {
    unsigned number; /* the kernel's; 0: the place is free */
    char name[16];
    struct upmu_thread thread;
    struct upmu_session session;
};

static struct process process[COUNTS_PROCESSES];
static struct upmu_thread nobody;
static struct upmu_thread *running = &nobody;
static struct upmu_x86_native native;
static struct upmu_sim sim;
static bool simulated, begun;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_place_work work; /* so that calls need 3 KiB of stack, not 7 */

static void tell_time(struct upmu_sim *model)
{
    static uint64_t last;
    uint64_t now = upmu_x86_rdtsc();

    upmu_sim_events(model, &(struct upmu_sim_burst){.cycles = last ? now - last : 0});
    last = now;
}

void (*counts_tell)(struct upmu_sim *sim) = tell_time;

static enum upmu_status begin_on(const struct upmu_port *port)
{
    enum upmu_status status = upmu_machine_init(&machine, port);

    return status == UPMU_OK ? upmu_cpu_init(&cpu, &machine, NULL) : status;
}

bool counts_begin(void (*write)(const char *text))
{
    enum upmu_status status;

    counts_out = write;
    upmu_x86_native_port(&native, NULL, 0, 0);
    status = begin_on(&native.port);
    if (status == UPMU_ERR_NO_PMU) {
        simulated = true;
        upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
        upmu_sim_bind_cpu(&sim, 0, &cpu);
        upmu_sim_irqs(&sim, false);
        status = begin_on(upmu_sim_port(&sim));
    }
    if (status != UPMU_OK || (status = upmu_cpu_use_work(&cpu, &work)) != UPMU_OK)
        return counts_complain("no counts", status, &machine.why);
    upmu_thread_init(&nobody, 0, 0, NULL);
    counts_out(simulated ? "upmu: this CPU has no PMU; a silicon model counts\n" : "upmu: counting\n");
    return begun = true;
}

static struct process *find(unsigned number)
{
    for (unsigned i = 0; i < COUNTS_PROCESSES; i++)
        if (process[i].number == number)
            return &process[i];
    return NULL;
}

/* A process that was not seen before; NULL: there is no place, or its events cannot be counted. */
static struct process *begin_process(unsigned number, const char *name)
{
    struct process *new = find(0);
    enum upmu_status status;

    if (new == NULL)
        return NULL;
    upmu_thread_init(&new->thread, number, number, NULL);
    if ((status = upmu_session_init(&new->session, &machine)) != UPMU_OK ||
        (status = upmu_set_add(&new->session.set, EVENTS, NULL)) != UPMU_OK ||
        (status = upmu_session_attach_thread(&new->session, &new->thread, NULL)) != UPMU_OK ||
        (status = upmu_session_start(&new->session)) != UPMU_OK) {
        (void)counts_complain(name, status, &new->session.why);
        return NULL;
    }
    new->number = number;
    return new;
}

void counts_switch(unsigned number, const char *name)
{
    struct process *next = begun && number ? find(number) : NULL;

    if (!begun)
        return;
    if (simulated)
        counts_tell(&sim);
    if (next == NULL && number)
        next = begin_process(number, name);
    for (unsigned i = 0; next != NULL && i + 1 < sizeof next->name && (next->name[i] = name[i]) != '\0'; i++) {
    }
    if (running != (next ? &next->thread : &nobody))
        (void)upmu_thread_switch(&cpu, running, next ? &next->thread : &nobody); /* an error is in the session */
    running = next ? &next->thread : &nobody;
}

static void write_process(struct process *of)
{
    struct upmu_count count[2];
    enum upmu_status status = upmu_set_read(&of->session.set, 0, 2, count);

    if (status != UPMU_OK) {
        (void)counts_complain(of->name, status, &of->session.why);
        return;
    }
    counts_number(of->number, 6);
    counts_number(count[0].value, 16);
    counts_number(count[1].value, 16);
    counts_out("  ");
    counts_out(of->name);
    counts_out("\n");
}

void counts_end(unsigned number)
{
    struct process *of = begun && number ? find(number) : NULL;

    if (of == NULL)
        return;
    if (running == &of->thread)
        counts_switch(0, "");
    write_process(of);
    if (upmu_thread_exit(&of->thread) == UPMU_OK && upmu_session_close(&of->session) == UPMU_OK)
        of->number = 0;
}

void counts_write(void)
{
    counts_out("number    instructions          cycles  process\n");
    for (unsigned i = 0; begun && i < COUNTS_PROCESSES; i++)
        if (process[i].number)
            write_process(&process[i]);
}
