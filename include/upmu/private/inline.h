/* SPDX-License-Identifier: MIT */
/*
 * The functions behind upmu_machine_init() and upmu_thread_switch(), at the end of upmu/upmu.h.
 */
#ifndef UPMU_PRIVATE_INLINE_H
#define UPMU_PRIVATE_INLINE_H

#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The function behind upmu_machine_init(), with the version and sizes that the caller was compiled with. */
UPMU_MUST_CHECK
enum upmu_status upmu_machine_init_checked(struct upmu_machine *machine, const struct upmu_port *port, uint32_t version,
                                           size_t machine_bytes, size_t cpu_bytes);

/* upmu_thread_switch() where a thread is monitored.  Returns and context: the same. */
enum upmu_status upmu_thread_switch_monitored(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next);

/*
 * Declared in upmu/upmu.h, with what it returns and its context.  upmu_thread_switch_monitored() is called only if one
 * of the two threads may be monitored.
 */
UPMU_INLINE
enum upmu_status upmu_thread_switch(struct upmu_cpu *cpu, struct upmu_thread *prev, struct upmu_thread *next)
{
#if UPMU_THREADS
    uintptr_t monitored = (uintptr_t)__atomic_load_n(&prev->cpu, __ATOMIC_RELAXED) |
                          (uintptr_t)__atomic_load_n(&next->sessions, __ATOMIC_RELAXED);

    if (UPMU_USER_PAGES)
        monitored |= prev->reads | next->reads;
    if (monitored)
        return upmu_thread_switch_monitored(cpu, prev, next);
#else
    (void)cpu;
    (void)prev;
    (void)next;
#endif
    return UPMU_OK;
}

#ifdef __cplusplus
}
#endif

#endif
