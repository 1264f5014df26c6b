/* SPDX-License-Identifier: MIT */
/*
 * Functions behind the macro upmu_machine_init() and the inline function upmu_thread_switch(), and that function;
 * upmu/upmu.h includes this header.
 */
#ifndef UPMU_PRIVATE_INLINE_H
#define UPMU_PRIVATE_INLINE_H

#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Do as upmu_machine_init(), and compare: `version`, `machine_bytes` and `cpu_bytes` are those that the caller was
 * compiled with.  UPMU_ERR_VERSION: the library was compiled with others.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_machine_init_checked(struct upmu_machine *machine, const struct upmu_port *port, uint32_t version,
                                           size_t machine_bytes, size_t cpu_bytes);

/*
 * The part of upmu_thread_switch() for a switch where one of the two threads may be monitored.  Returns and context: as
 * upmu_thread_switch().
 */
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
#if UPMU_PRECISE
    monitored |= cpu->meter.precise; /* no thread's record gets the frame of another */
#endif
#if UPMU_BRANCH_SAMPLES
    monitored |= cpu->meter.branches; /* no thread's branches get into another's samples */
#endif
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
