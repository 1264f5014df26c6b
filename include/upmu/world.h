/* SPDX-License-Identifier: MIT */
/*
 * Worlds: what runs in guests is counted apart from what runs in their host.
 *
 * A hypervisor says when a CPU enters a guest and when it leaves it.  Counters of sessions of the
 * other world are closed meanwhile.  They keep their values, their places and their loads, so a
 * session misses nothing of its own world: its times continue, and its counts stay exact.
 * Without UPMU_WORLDS the calls return UPMU_ERR_COMPILED_OUT, but for upmu_session_world() with UPMU_WORLD_BOTH.
 */
#ifndef UPMU_WORLD_H
#define UPMU_WORLD_H

#include <upmu/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Choose the world of a session, for all its sets; after init it counts in both.  The attributes
 * `guest` and `host` of an event do the same where the PMU has no bits for them (docs/EVENTS.md);
 * then all events of the session have the same attribute, and this call may only repeat it.
 *
 * A thread's session of world GUEST yields: where a session of the CPU that does not share starts and has no
 * room, it leaves its counters, and waits if no others are left for it.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (no such world);
 * UPMU_ERR_CONTRADICTION (its events name another world); UPMU_ERR_UNSUPPORTED (NetBurst: an event
 * is a cascade); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_world(struct upmu_session *session, enum upmu_world world);

/*
 * A guest runs from now on: open the counters of guest sessions and close those of host sessions.
 * It is the last call before the guest's first instruction, apart from upmu_cpu_gate_value().  What
 * the host executes between this call and the guest is counted for the guest.
 *
 * One register write where one register enables all counters, one for each counter concerned
 * elsewhere; none if no session of a world runs, or the hardware changes the gate.  No read, but on
 * NetBurst of counters that are closed (one for each that samples; on models 0 and 1 two for each
 * one), and with reserved counters 1 R.  Calls in a guest (start, read, thread switch, an interrupt)
 * are allowed: sessions behave as their world says.  In a guest already: nothing is done.
 *
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_PORT (a register faulted again and
 * again: the running sessions of both worlds are stopped with `error` set; the CPU is in the guest
 * all the same); UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (nothing was done).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_enter_guest(struct upmu_cpu *cpu);

/*
 * The guest runs no more: the reverse.  It is the first call after the guest's last instruction.
 *
 * Cost, return values and context: as upmu_cpu_enter_guest().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_leave_guest(struct upmu_cpu *cpu);

/*
 * The value of the register that enables counters (IA32_PERF_GLOBAL_CTRL) in one world, for the
 * fields of a VMCS: HOST for the exit, GUEST for the entry.  Read it after the last other call
 * before the entry.  A counter that a handler has closed, because its session is masked or switches
 * its set, is closed in it.  An NMI after this call may close one, which the field then opens for one
 * entry or exit: what it counts there is in its count, if it has not been masked.  The next change of what
 * runs on such a counter reads the register, 1 R, and closes it first.
 *
 * With reserved counters (upmu_cpu_reserve()) the register is read: 1 R.  No access otherwise.
 * Returns 0 where each counter has an enable bit of its own, or the CPU has no PMU.  BOTH: the
 * present value.
 * Context: local.
 */
uint64_t upmu_cpu_gate_value(struct upmu_cpu *cpu, enum upmu_world world);

/*
 * Declare that the hardware changes the register that enables counters at each entry and exit
 * (Intel: "load IA32_PERF_GLOBAL_CTRL" in the controls of both, with the values of
 * upmu_cpu_gate_value()).  upmu_cpu_enter_guest() and upmu_cpu_leave_guest() do nothing then, and
 * need not be called; all calls of the library are made in the host.  Counts are exact to the
 * instruction.  It holds until upmu_cpu_fini().
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (a session is attached, or the CPU is in a guest);
 * UPMU_ERR_UNSUPPORTED (each counter has an enable bit of its own); UPMU_ERR_NO_PMU (not
 * initialised, or no PMU).
 * Context: local.
 */
enum upmu_status upmu_cpu_world_by_hardware(struct upmu_cpu *cpu, bool by_hardware);

#if UPMU_LOANS

/*
 * From its next load on, the counter of an event that only counts holds `value` and what is counted after this call,
 * modulo its width: a guest may read it there.  The count stays as it is.  Whenever another event has had the counter
 * meanwhile, it is written again (1 W in the place of 1 P).  An event that samples keeps its loads.  A running session
 * is stopped and started again on its counters.  upmu_set_write() and a new event end it.  Where the event moves to
 * another counter, because another session needs that one, the new one holds the same, and the count has a gap.
 *
 * A session whose first event is lent yields (upmu_session_world()).
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event, its session has no world); UPMU_ERR_UNSUPPORTED (a
 * counter that it may get takes no value of its whole width, or its count can fall); and as upmu_set_wait().
 * Context: as upmu_set_wait().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_lend(struct upmu_set *set, unsigned index, uint64_t value);

/*
 * Where an event runs, and how far its register is ahead of its raw count, modulo the counter's width.  False: it does
 * not run here now.  Both hold until the next local call or interrupt.
 * Context: local.
 */
bool upmu_set_where(const struct upmu_set *set, unsigned index, unsigned *out_counter, uint64_t *out_ahead);

#else

static inline enum upmu_status upmu_set_lend(struct upmu_set *set, unsigned index, uint64_t value)
{
    (void)set;
    (void)index;
    (void)value;
    return UPMU_ERR_COMPILED_OUT;
}

static inline bool upmu_set_where(const struct upmu_set *set, unsigned index, unsigned *out_counter,
                                  uint64_t *out_ahead)
{
    (void)set;
    (void)index;
    (void)out_counter;
    (void)out_ahead;
    return false;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
