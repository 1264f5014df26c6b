/* SPDX-License-Identifier: MIT */
/*
 * What an x86 guest with five counters costs: its first entry after they were programmed and one after an event has
 * changed, on the silicon model, whose hooks are not counted; an exit and an entry where nothing has changed, with
 * hooks that do nothing, which are counted. Run under callgrind by tools/bench.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/cpu.h>
#include <upmu/upmu.h>
#include <abi/guest/guest.h>
#include "models/sim/sim.h"
#include "tests/bench/callgrind_count.h"
#include "tests/bench/uncounted.h"
#include "tests/guest/guest_sources.h"

#define COUNTERS 5u

/* A register of the guest's and what is written to it. */
struct guest_write {
    uint32_t msr;
    uint64_t value;
};

/* A host and a door: the writes that make five counters count, the one that opens them first last. */
static const struct guest_case {
    const char *name, *profile;
    enum upmu_guest_door door;
    struct guest_write program[7];
    struct guest_write event; /* another event for a counter that counts */
} cases[] = {{"intel",
              "skylake",
              UPMU_GUEST_INTEL,
              {{0x186, 0x5300c4}, {0x187, 0x53003c}, {0x38d, 0xbbb}, {0x38f, 0x700000003}},
              {0x186, 0x5300c5}},
             {"amd",
              "zen4",
              UPMU_GUEST_AMD_V2,
              {{0xc0010200, 0x5300c0},
               {0xc0010202, 0x530076},
               {0xc0010204, 0x5300c2},
               {0xc0010206, 0x5300c3},
               {0xc0010208, 0x5300c0},
               {0xc0000301, 0x1f}},
              {0xc0010200, 0x5300c2}}};

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_guest guest;
static struct upmu_session sessions[COUNTERS + 1];
static struct upmu_guest_entry entry;
static const struct guest_case *measured;

#define EMPTY_CPU (&cpu)
#define EMPTY_READ 0
#define EMPTY_CLOCK 0
#include "tests/bench/empty_hooks.h"

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", measured->name, what);
        exit(1);
    }
}

/* ---- The guest ---- */

static void deliver(struct upmu_sim *of, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    (void)of, (void)number, (void)interrupt;
    (void)upmu_pmi_handle(&cpu, NULL);
}

static void do_enter(void *argument)
{
    (void)argument;
    counting = true;
    must(upmu_guest_enter(&guest, &entry) == UPMU_OK, "entry");
    counting = false;
}

static void do_exit(void *argument)
{
    (void)argument;
    counting = true;
    must(upmu_guest_exit(&guest) == UPMU_OK, "exit");
    counting = false;
}

static void do_write(void *argument)
{
    const struct guest_write *write = argument;

    counting = true;
    must(upmu_guest_wrmsr(&guest, write->msr, write->value) == UPMU_GUEST_DONE, "write");
    counting = false;
}

/* ---- Figures ---- */

static void measure(const char *what, void (*function)(void *argument), const void *argument)
{
    char name[64];
    struct guest_write write = argument ? *(const struct guest_write *)argument : (struct guest_write){0};

    bench_count_run(function, &write);
    (void)snprintf(name, sizeof name, "guest-%s-%s", measured->name, what);
    bench_count_name(name);
}

static void run_guest(void)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 1000, .cycles = 1000, .ip = 0x1000});
}

static void set_up(void)
{
    static struct upmu_guest_policy policy = {
        .level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1};
    struct upmu_guest_shape shape;

    upmu_sim_init(&sim, upmu_sim_profile(measured->profile), 1);
    memset(&cpu, 0, sizeof cpu);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    sim.deliver = deliver;
    uncounted_use(&sim.port);
    must(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine");
    must(upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK, "cpu");
    must(upmu_guest_shape_default(&machine, measured->door, &policy, &shape) == UPMU_OK, "shape");
    must(upmu_guest_init(&guest, &machine, &shape, &policy,
                         &(struct upmu_guest_memory){sessions, sizeof sessions / sizeof sessions[0], NULL}) == UPMU_OK,
         "guest");
    must(upmu_guest_load(&guest, &cpu) == UPMU_OK, "load");
}

static void measure_case(void)
{
    struct upmu_port with_hooks;

    set_up();
    for (const struct guest_write *write = measured->program; write->msr; write++)
        must(upmu_guest_wrmsr(&guest, write->msr, write->value) == UPMU_GUEST_DONE, "programming");
    measure("first-enter", do_enter, NULL);
    must(upmu_bits_count(guest.started) == COUNTERS && !guest.waiting, "five counters count");
    run_guest();
    with_hooks = sim.port;
    empty_hooks(&sim.port);
    sim.port.rdpmc = empty_read;
    measure("exit", do_exit, NULL);
    measure("enter", do_enter, NULL);
    sim.port = with_hooks;
    must(upmu_guest_exit(&guest) == UPMU_OK, "exit");
    measure("event-write", do_write, &measured->event);
    measure("event-enter", do_enter, NULL);
    must(upmu_guest_exit(&guest) == UPMU_OK && upmu_guest_put(&guest) == UPMU_OK &&
             upmu_guest_fini(&guest) == UPMU_OK && upmu_cpu_fini(&cpu) == UPMU_OK,
         "end");
}

int main(void)
{
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        measured = &cases[i];
        measure_case();
    }
    return 0;
}
