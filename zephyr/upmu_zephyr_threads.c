/* SPDX-License-Identifier: MIT */
/*
 * Sessions of Zephyr's threads.  Zephyr calls the hooks of CONFIG_TRACING_USER in each switch, and thread_abort_hook()
 * where a thread ends: on the CPU that it runs on, or while it does not run (kernel/sched.c, 2026).
 *
 * A thread that is not followed is no thread to upmu: `rest` of its CPU stands for it.
 */
#include <zephyr/kernel.h>
#include "upmu_zephyr.h"

#ifndef CONFIG_ARCH_POSIX
_Static_assert(CONFIG_IDLE_STACK_SIZE >= 4096, "upmu: set CONFIG_IDLE_STACK_SIZE=4096: switches are made on it");
#endif

void sys_trace_thread_switched_in_user(void);
void sys_trace_thread_switched_out_user(void);
void thread_abort_hook(struct k_thread *thread);

static struct follower {
    struct k_thread *of; /* NULL: free, or its thread has ended */
    bool ends;           /* it has, and upmu_thread_exit() was refused: another CPU was at work on a session */
    struct upmu_thread thread;
} followers[CONFIG_UPMU_THREADS_MAX];
static unsigned used; /* followers that are not free */

static struct upmu_thread rest[CONFIG_MP_MAX_NUM_CPUS];
static struct upmu_thread *runs[CONFIG_MP_MAX_NUM_CPUS]; /* as upmu was told; NULL: rest[] */

/* Held over switches, too: no thread begins to run while a session is attached to it.  No call elsewhere is made. */
static struct k_spinlock lock;

static struct follower *find(const struct k_thread *thread)
{
    for (unsigned i = 0; i < CONFIG_UPMU_THREADS_MAX; i++)
        if (thread && followers[i].of == thread)
            return &followers[i];
    return NULL;
}

/* ---- Switches ---- */

static void switch_to(const struct k_thread *thread)
{
    k_spinlock_key_t key;
    struct follower *follower;
    struct upmu_cpu *cpu;
    unsigned number;

    if (__atomic_load_n(&used, __ATOMIC_RELAXED) == 0)
        return;
    key = k_spin_lock(&lock);
    number = upmu_zephyr_number();
    cpu = upmu_zephyr_cpu(number);
    follower = find(thread);
    if (cpu && runs[number] != (follower ? &follower->thread : NULL)) {
        struct upmu_thread *prev = runs[number] ? runs[number] : &rest[number];

        if (upmu_thread_switch(cpu, prev, follower ? &follower->thread : &rest[number]) == UPMU_OK)
            runs[number] = follower ? &follower->thread : NULL;
    }
    k_spin_unlock(&lock, key);
}

void sys_trace_thread_switched_in_user(void)
{
    switch_to(k_sched_current_thread_query());
}

#ifdef CONFIG_SMP
/* Another CPU may take the thread up before this one calls the other hook. */
void sys_trace_thread_switched_out_user(void)
{
    switch_to(NULL);
}
#endif

/* ---- Begin and end ---- */

static enum upmu_status end(struct follower *follower)
{
    enum upmu_status status = upmu_thread_exit(&follower->thread);

    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return status;
    for (unsigned i = 0; i < CONFIG_MP_MAX_NUM_CPUS; i++)
        if (runs[i] == &follower->thread)
            runs[i] = NULL;
    follower->of = NULL;
    follower->ends = false;
    __atomic_store_n(&used, used - 1, __ATOMIC_RELAXED);
    return status;
}

static struct follower *follow(struct k_thread *thread)
{
    for (unsigned i = 0; i < CONFIG_UPMU_THREADS_MAX; i++) {
        if (followers[i].ends)
            (void)end(&followers[i]);
        if (!followers[i].of && !followers[i].ends) {
            followers[i].of = thread;
            upmu_thread_init(&followers[i].thread, 0, i, thread);
            __atomic_store_n(&used, used + 1, __ATOMIC_RELAXED);
            return &followers[i];
        }
    }
    return NULL;
}

static bool runs_elsewhere(const struct upmu_thread *thread)
{
    for (unsigned i = 0; i < CONFIG_MP_MAX_NUM_CPUS; i++)
        if (runs[i] == thread && i != upmu_zephyr_number())
            return true;
    return false;
}

static enum upmu_status attach(struct upmu_session *session, struct k_thread *thread)
{
    unsigned number = upmu_zephyr_number();
    bool here = thread == k_sched_current_thread_query();
    struct follower *follower = find(thread);
    bool anew = !follower;
    enum upmu_status status;

    /* Without a CPU the thread would be taken for one that does not run, and its events would count nowhere. */
    if (here && !upmu_zephyr_cpu(number))
        return UPMU_ERR_NO_PMU;
    if (anew && !(follower = follow(thread)))
        return UPMU_ERR_NO_SPACE;
    if (runs_elsewhere(&follower->thread))
        return UPMU_ERR_WRONG_CPU;
    if (here)
        runs[number] = &follower->thread;
    status = upmu_session_attach_thread(session, &follower->thread, here ? upmu_zephyr_cpu(number) : NULL);
    if (anew && status != UPMU_OK)
        (void)end(follower);
    return status;
}

enum upmu_status upmu_zephyr_attach(struct upmu_session *session, struct k_thread *thread)
{
    enum upmu_status status;
    k_spinlock_key_t key;

    if (!upmu_zephyr_machine())
        return UPMU_ERR_NO_PMU;
    key = k_spin_lock(&lock);
    status = attach(session, thread);
    k_spin_unlock(&lock, key);
    return status;
}

enum upmu_status upmu_zephyr_leave(struct k_thread *thread)
{
    k_spinlock_key_t key = k_spin_lock(&lock);
    struct follower *follower = find(thread);
    enum upmu_status status = follower ? end(follower) : UPMU_OK;

    k_spin_unlock(&lock, key);
    return status;
}

/* Another thread may have its memory next, so that the follower is no longer its. */
void thread_abort_hook(struct k_thread *thread)
{
    k_spinlock_key_t key = k_spin_lock(&lock);
    struct follower *follower = find(thread);

    if (follower) {
        (void)end(follower);
        follower->ends = follower->of != NULL;
        follower->of = NULL;
    }
    k_spin_unlock(&lock, key);
}
