/* SPDX-License-Identifier: MIT */
/*
 * Calls that Rust cannot make by itself: static inline functions of the headers (those of worlds are such without
 * UPMU_WORLDS), and calls of the silicon model, whose structures Rust does not know.  build.rs compiles this file with
 * the library.
 */
#include <upmu/upmu.h>
#include <upmu/world.h>

enum upmu_status upmu_rust_thread_switch(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next);
enum upmu_status upmu_rust_session_world(struct upmu_session *session, enum upmu_world world);
enum upmu_status upmu_rust_cpu_enter_guest(struct upmu_cpu *cpu);
enum upmu_status upmu_rust_cpu_leave_guest(struct upmu_cpu *cpu);

enum upmu_status upmu_rust_thread_switch(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next)
{
    return upmu_thread_switch(cpu, prev, next);
}

enum upmu_status upmu_rust_session_world(struct upmu_session *session, enum upmu_world world)
{
    return upmu_session_world(session, world);
}

enum upmu_status upmu_rust_cpu_enter_guest(struct upmu_cpu *cpu)
{
    return upmu_cpu_enter_guest(cpu);
}

enum upmu_status upmu_rust_cpu_leave_guest(struct upmu_cpu *cpu)
{
    return upmu_cpu_leave_guest(cpu);
}

#ifdef UPMU_RUST_SIM
#include <port/sim/sim.h>

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
#endif
