/* SPDX-License-Identifier: MIT */
/*
 * Two trips through the library, for tests/build/check_trips.py: one overflow interrupt, and one switch between two
 * threads that are both monitored.  The library is compiled with -finstrument-functions, the silicon model is not.
 * Prints a line `TRIP ADDRESS` for each function of the library that is called inside a trip.
 */
#include <stdio.h>
#include <stdlib.h>
#include <models/sim/sim.h>
#include <upmu/upmu.h>

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session, second;
static struct upmu_thread idle, one, other;
static uint64_t ring[1024];
static const char *trip; /* the name of the present one, or NULL */

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (trip)
        printf("%s %p\n", trip, function);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller, (void)function;
}

static void must(enum upmu_status status)
{
    if (status != UPMU_OK) {
        fprintf(stderr, "%s\n", upmu_status_text(status));
        exit(1);
    }
}

static void entry(struct upmu_sim *model, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    enum upmu_pmi answer;

    (void)model, (void)number;
    trip = "interrupt";
    answer = upmu_pmi_handle(&cpu, &frame);
    trip = NULL;
    if (answer != UPMU_PMI_HANDLED)
        exit(1);
}

static void begin(struct upmu_session *which, const char *events, const struct upmu_sampling *sampling)
{
    must(upmu_session_init(which, &machine));
    must(upmu_set_add(&which->set, events, sampling));
}

static void interrupt_once(void)
{
    const struct upmu_sampling every = {.period = 1000};

    begin(&session, "instructions", &every);
    must(upmu_session_ring(&session, ring, sizeof ring));
    must(upmu_session_attach_cpu(&session, &cpu));
    must(upmu_session_start(&session));
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 1500, .cycles = 9000});
    must(upmu_session_stop(&session));
    must(upmu_session_close(&session));
}

static void follow(struct upmu_session *which, const char *events, struct upmu_thread *thread)
{
    begin(which, events, NULL);
    must(upmu_session_attach_thread(which, thread, NULL));
    must(upmu_session_start(which));
}

static void switch_once(void)
{
    upmu_thread_init(&idle, 1, 0, NULL);
    upmu_thread_init(&one, 1, 1, NULL);
    upmu_thread_init(&other, 1, 2, NULL);
    follow(&session, "MEM_LOAD_RETIRED.L1_MISS", &one);
    follow(&second, "BR_MISP_RETIRED.ALL_BRANCHES", &other);
    /* Each has run once: places are found, programs compiled. */
    must(upmu_thread_switch(&cpu, &idle, &one));
    must(upmu_thread_switch(&cpu, &one, &other));
    must(upmu_thread_switch(&cpu, &other, &one));
    trip = "switch";
    must(upmu_thread_switch(&cpu, &one, &other));
    trip = NULL;
}

int main(void)
{
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    sim.deliver = entry;
    must(upmu_machine_init(&machine, upmu_sim_port(&sim)));
    must(upmu_cpu_init(&cpu, &machine, NULL));
    interrupt_once();
    switch_once();
    return 0;
}
