/* SPDX-License-Identifier: MIT */
/*
 * Interrupts that take batches of precise records, in each shape that has a cost of its own in core/sample/batch.c, on
 * the silicon model, whose hooks are not counted: run under callgrind by tools/bench.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/precise.h>
#include <upmu/session.h>
#include <upmu/upmu.h>
#include "models/sim/sim.h"
#include "tests/bench/callgrind_count.h"
#include "tests/bench/uncounted.h"

#define AREA UINT64_C(0xffffc90000010000)
#define BUFFER UINT64_C(0xffffc90000020000)

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static _Alignas(4096) uint8_t area[UPMU_RECORD_AREA_BYTES], buffer[UPMU_RECORD_LEAST_BYTES];
static uint64_t ring[1u << 14];
static const char *figure;
static unsigned interrupts;
static enum upmu_pmi answer;

static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", figure, what);
        exit(1);
    }
}

static bool memory(struct upmu_sim *of, unsigned number, enum upmu_sim_memory_kind kind, uint64_t address,
                   uint8_t *bytes, uint32_t length)
{
    bool of_area = address - AREA <= sizeof area - length;
    uint8_t *at = of_area ? area + (address - AREA) : buffer + (address - BUFFER);

    (void)of, (void)number;
    must(of_area || address - BUFFER <= sizeof buffer - length, "a record outside of the memory");
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return true;
}

/* ---- Interrupts ---- */

static void do_interrupt(void *argument)
{
    const struct upmu_frame frame = {.ip = 0x1000, .sp = 0x2000};

    counting = true;
    answer = upmu_pmi_handle(argument, &frame);
    counting = false;
}

static void deliver(struct upmu_sim *of, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    (void)of, (void)number, (void)interrupt;
    bench_count_run(do_interrupt, &cpu);
    bench_count_name(figure);
    must(answer == UPMU_PMI_HANDLED, "the interrupt is not handled");
    interrupts++;
}

static void set_up(const char *profile)
{
    const struct upmu_record_memory of = {area, AREA, buffer, BUFFER, sizeof buffer, 0};

    upmu_sim_init(&sim, upmu_sim_profile(profile), 1);
    memset(&cpu, 0, sizeof cpu);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    sim.memory = memory;
    sim.deliver = deliver;
    uncounted_use(&sim.port);
    must(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK, "machine");
    must(upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK, "cpu");
    must(upmu_cpu_use_records(&cpu, &of, NULL) == UPMU_OK, "memory");
}

static void measure(const char *profile, const char *event, const char *shape, uint32_t parts)
{
    const uint64_t period = 128;
    const struct upmu_sampling sampling = {.period = period, .flags = UPMU_SAMPLING_BATCH | UPMU_SAMPLING_PARTS(parts)};
    char name[64];

    snprintf(name, sizeof name, "batch-%s-%s", profile, shape);
    figure = name;
    interrupts = 0;
    set_up(profile);
    must(upmu_session_init(&session, &machine) == UPMU_OK &&
             upmu_session_ring(&session, ring, sizeof ring) == UPMU_OK &&
             upmu_set_add(&session.set, event, &sampling) == UPMU_OK &&
             upmu_session_attach_cpu(&session, &cpu) == UPMU_OK && upmu_session_start(&session) == UPMU_OK,
         "session");
    for (unsigned i = 0; i < 1000 && !interrupts; i++) {
        sim.now_ns += 20000000; /* no throttle */
        upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = period,
                                                       .cycles = 2 * period,
                                                       .branches = period / 4,
                                                       .other = {{.count = period, .event = 0xc0, .umask = 1},
                                                                 {.count = period, .event = 0xd0, .umask = 0x81}},
                                                       .ip = UINT64_C(0xffffffff81000000),
                                                       .ip_step = 4,
                                                       .sp = UINT64_C(0xffffffff81800000)});
    }
    must(interrupts, "no interrupt comes");
    must(upmu_cpu_records(&cpu).taken > 1, "an interrupt is no batch");
    must(upmu_session_stop(&session) == UPMU_OK && upmu_session_detach(&session) == UPMU_OK &&
             upmu_cpu_fini(&cpu) == UPMU_OK,
         "end");
}

int main(void)
{
    static const struct {
        const char *profile, *event; /* formats 1, 3 and 4: without parts of a later format's, with them */
    } of[] = {{"nehalem", "INST_RETIRED.ANY_P:p"},
              {"skylake", "MEM_INST_RETIRED.ALL_LOADS:pp"},
              {"icelake", "MEM_INST_RETIRED.ALL_LOADS:pp"}};

    for (unsigned i = 0; i < sizeof of / sizeof of[0]; i++) {
        measure(of[i].profile, of[i].event, "plain", 0);
        measure(of[i].profile, of[i].event, "parts", UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT);
        measure(of[i].profile, of[i].event, "registers", UPMU_PART_REGISTERS);
    }
    return 0;
}
