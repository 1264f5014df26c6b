/* SPDX-License-Identifier: MIT */
/*
 * upmu in Zephyr: the machine and its CPUs, and sessions of Zephyr's threads.  All else is <upmu/upmu.h>.  Call these
 * functions, and those of upmu that concern another CPU, in threads with interrupts on.
 */
#ifndef UPMU_ZEPHYR_H
#define UPMU_ZEPHYR_H

#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct k_thread;

/*
 * The machine.  The first call takes over the PMU of each CPU, and starts the timer of CONFIG_UPMU_TICK_MS.
 * NULL: no CPU has a PMU that can be used; the console has the reasons.
 */
struct upmu_machine *upmu_zephyr_machine(void);

/* CPU `number`, as Zephyr numbers them, once it was taken over; NULL: it was not. */
struct upmu_cpu *upmu_zephyr_cpu(unsigned number);

/* The number of the executing CPU.  Interrupts are off, or the thread stays on its CPU for other reasons. */
unsigned upmu_zephyr_number(void);

/*
 * Bind a session to a thread, as upmu_session_attach_thread() does.  The thread is followed until it ends, or until
 * upmu_zephyr_leave().  Of a thread that runs on another CPU events count from its next turn on.
 *
 * Returns as upmu_session_attach_thread(); UPMU_ERR_NO_PMU; UPMU_ERR_NO_SPACE also if CONFIG_UPMU_THREADS_MAX threads
 * are followed; UPMU_ERR_WRONG_CPU if the thread is followed already, and runs on another CPU.
 * UPMU_ERR_COMPILED_OUT without CONFIG_UPMU_FOLLOW_THREADS.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_zephyr_attach(struct upmu_session *session, struct k_thread *thread);

/*
 * Follow a thread no longer: its sessions are detached and stay readable.  A thread that ends needs no call.
 *
 * Returns as upmu_thread_exit(), and UPMU_OK for a thread that is not followed.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_zephyr_leave(struct k_thread *thread);

#ifdef CONFIG_UPMU_SIM
/* The model in place of the PMU: upmu_sim_events() tells it what "happened" (<models/sim/sim.h>). */
extern struct upmu_sim upmu_zephyr_sim;
#endif

#ifdef __cplusplus
}
#endif

#endif
