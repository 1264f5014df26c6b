/* SPDX-License-Identifier: MIT */
/*
 * Calls of the silicon model, whose structures Rust does not know.  build.rs compiles this file with the feature `sim`.
 */
#include <models/sim/sim.h>

/* The interrupt entry of Rust's side. */
typedef void upmu_rust_entry(struct upmu_sim *sim, unsigned cpu, const struct upmu_frame *frame);

void upmu_rust_sim_deliver_to(struct upmu_sim *sim, upmu_rust_entry *entry);
void upmu_rust_sim_work(struct upmu_sim *sim, uint64_t instructions, uint64_t cycles, uint64_t branches,
                        uint64_t mispredicts, uint64_t ip, uint64_t ip_step);

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    upmu_rust_entry *entry;

    __builtin_memcpy(&entry, &sim->test, sizeof entry);
    entry(sim, cpu, &frame);
}

void upmu_rust_sim_deliver_to(struct upmu_sim *sim, upmu_rust_entry *entry)
{
    __builtin_memcpy(&sim->test, &entry, sizeof entry);
    sim->deliver = deliver;
}

void upmu_rust_sim_work(struct upmu_sim *sim, uint64_t instructions, uint64_t cycles, uint64_t branches,
                        uint64_t mispredicts, uint64_t ip, uint64_t ip_step)
{
    const struct upmu_sim_burst burst = {.instructions = instructions,
                                         .cycles = cycles,
                                         .branches = branches,
                                         .mispredicts = mispredicts,
                                         .ip = ip,
                                         .ip_step = ip_step};

    upmu_sim_events(sim, &burst);
}
