/* SPDX-License-Identifier: MIT */
/*
 * Where the published pages are written.
 */
#ifndef UPMU_CORE_USER_PAGE_H
#define UPMU_CORE_USER_PAGE_H

#include <upmu/page.h>

/* upmu_cpu.readers. */
#define UPMU_READS_CPU 1u
#define UPMU_READS_THREAD 2u

/* upmu_machine.pages: pages that are published.  The bits above count the times at which the last one was withdrawn. */
#define UPMU_PAGES 0xfffffu

/* Is any page published?  (One that is just being published is seen by the next call.) */
static inline bool upmu_user_pages_any(const struct upmu_machine *machine)
{
    return (__atomic_load_n(&machine->pages, __ATOMIC_RELAXED) & UPMU_PAGES) != 0;
}

/* `reads` of threads with the right to RDPMC: another value after a time without any page.  0: no page is published. */
static inline uintptr_t upmu_user_pages_right(const struct upmu_machine *machine)
{
    uint32_t pages = __atomic_load_n(&machine->pages, __ATOMIC_RELAXED);

    return pages & UPMU_PAGES ? pages / (UPMU_PAGES + 1u) + 1u : 0;
}

/* At the end of a local call: pages of sessions that run or ran here, and the right to execute RDPMC. */
void upmu_user_pages_write(struct upmu_cpu *cpu);

/* In the handler, after counters were loaded and sessions were masked. */
void upmu_user_pages_loaded(struct upmu_cpu *cpu);

/* The session leaves its CPU: remove its page there; inside a local bracket. */
void upmu_user_page_leave(struct upmu_cpu *cpu, struct upmu_session *session);

/* The session is closed. */
void upmu_user_page_end(struct upmu_session *session);

#endif
