/* SPDX-License-Identifier: MIT */
/*
 * Worlds: events in guests are counted apart from events in their host.
 *
 * A hypervisor calls the library when a CPU enters a guest and when it leaves the guest.  In each world the counters of
 * sessions of the other world are closed.  A closed counter keeps its value, its event and its session, so a session
 * misses nothing of its own world: its times continue, and its counts stay exact.
 * Without UPMU_WORLDS the calls return UPMU_ERR_COMPILED_OUT (upmu_cpu_gate_value(): 0); only upmu_session_world() with
 * UPMU_WORLD_BOTH returns UPMU_OK.
 */
#ifndef UPMU_WORLD_H
#define UPMU_WORLD_H

#include <upmu/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Choose the world in which a detached session counts, for all its sets; after upmu_session_init() it counts in both.
 * The attributes `guest` and `host` of an event do the same where the PMU has no bits for them (docs/EVENTS.md).  Then
 * all events of the session must have the same attribute, and this call may only name that world.  A precise event sets
 * the world of the host, which stays when the event is removed.
 *
 * A session of a thread with world GUEST yields: if a session of the CPU that does not share is started and finds no
 * place, the thread's session leaves its counters to it, and waits if no other counters are left.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_INVALID (no such world);
 * UPMU_ERR_CONTRADICTION (its events name another world); UPMU_ERR_UNSUPPORTED (NetBurst: an event
 * is a cascade); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_world(struct upmu_session *session, enum upmu_world world);

/*
 * Enter a guest: open the counters of sessions of world GUEST and close those of sessions of world HOST.  Call it as
 * the last call before the guest's first instruction, apart from upmu_cpu_gate_value().  Instructions that the host
 * executes between this call and the guest are counted for the guest.
 *
 * Cost: one register write where one register enables all counters, elsewhere one for each counter that is opened or
 * closed; none if no session with a world runs, or if the hardware changes the gates (upmu_cpu_world_by_hardware()).
 * No register is read, but on NetBurst the counters that are closed (one read for each that samples; on models 0 and 1
 * two reads for each counter), and with reserved counters one register.  Other calls (start, read, thread switch, an
 * interrupt) are allowed in a guest: sessions behave as their world says.  If the CPU is in a guest already, nothing is
 * done.
 *
 * Returns UPMU_OK (also if the CPU is not initialised); UPMU_ERR_PORT (a register faulted again and
 * again: the running sessions that it concerns are stopped with `error` set; the CPU is in the guest
 * all the same); UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (nothing was done).
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_enter_guest(struct upmu_cpu *cpu);

/*
 * Leave a guest: open the counters of sessions of world HOST and close those of sessions of world GUEST.  Call it as
 * the first call after the guest's last instruction.
 *
 * Cost, return values and context: as upmu_cpu_enter_guest().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_leave_guest(struct upmu_cpu *cpu);

/*
 * Return the value that the register that enables counters (IA32_PERF_GLOBAL_CTRL) must have in a world, for the fields
 * of a VMCS: UPMU_WORLD_HOST for the field of the exit, UPMU_WORLD_GUEST for that of the entry.  UPMU_WORLD_BOTH: the
 * present value.  Call it before an entry, after all other calls.  A counter that a handler has closed, because its
 * session is masked or switches its set, is closed in the value.
 * An NMI after this call may close a counter that the field then opens for one entry or exit.  What this counter counts
 * there is in the session's count, if the session has not been masked.  The next change of what runs on the counter
 * first reads the enabling register (one register read) and closes the counter.
 *
 * With reserved counters (upmu_cpu_reserve()), and after a fault of the register, the call reads the register once;
 * otherwise it accesses none.
 * Returns 0 where each counter has an enable bit of its own, or the CPU has no PMU or is suspended.
 * Context: local.
 */
uint64_t upmu_cpu_gate_value(struct upmu_cpu *cpu, enum upmu_world world);

/*
 * Declare (`by_hardware` true) that the hardware changes the register that enables counters at each entry and exit of a
 * guest (Intel: "load IA32_PERF_GLOBAL_CTRL" in the VM-entry and the VM-exit controls, with the values of
 * upmu_cpu_gate_value()).  Then upmu_cpu_enter_guest() and upmu_cpu_leave_guest() do nothing and need not be called;
 * all calls of the library are made in the host.  Counts are exact to the instruction.  The declaration holds until
 * upmu_cpu_fini(), or until it is withdrawn by false.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (a session of the CPU, or of the thread there, is attached, or the CPU is in a guest,
 * or has memory for precise records or lends its branch stack); UPMU_ERR_UNSUPPORTED (each counter has an enable bit of
 * its own); UPMU_ERR_NO_PMU (not initialised, or no PMU).
 * Context: local.
 */
enum upmu_status upmu_cpu_world_by_hardware(struct upmu_cpu *cpu, bool by_hardware);

#if UPMU_LOANS

/*
 * Lend the counter of an event to a guest: from the next load on the counter's register holds `value` plus the events
 * counted after this call, modulo the counter's width, and a guest may read the register itself.  The session's count
 * is not changed.  If another event has used the counter meanwhile, the register is written again (one register write
 * in place of one RDPMC).  An event that samples keeps the values that its period needs.  A running session is stopped
 * and started again on its counters.  upmu_set_write(), and another event in its place, end the loan.  If the event
 * moves to another counter, because another session needs its own, the new counter's register holds the same value, and
 * the count has a gap.
 *
 * A session whose first event is lent yields (upmu_session_world()).
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event, or the session has no world); UPMU_ERR_UNSUPPORTED (a counter that
 * the event may get cannot be written in its whole width, or the event's count can fall); and as upmu_set_wait().
 * Context: as upmu_set_wait().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_set_lend(struct upmu_set *set, unsigned index, uint64_t value);

/*
 * Find the counter on which an event runs, and *out_ahead, the value of the counter's register less the event's raw
 * count: of *out_ahead only the low bits are valid, as many as the counter has.  Both are valid until the next local
 * call or interrupt.  False: the event does not run now, or has several counters.
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
