/* SPDX-License-Identifier: MIT */
/*
 * Declarations for writing the pages that user mode reads.
 */
#ifndef UPMU_CORE_USER_PAGE_H
#define UPMU_CORE_USER_PAGE_H

#include <upmu/page.h>

/* upmu_cpu.readers: may a session of the CPU, or of a thread, be read by RDPMC? */
#define UPMU_READS_CPU 1u
#define UPMU_READS_THREAD 2u

/*
 * The bits of upmu_machine.pages that count published pages. The bits above count how often the last page was
 * withdrawn.
 */
#define UPMU_PAGES 0xfffffu

/* Is any page published? A page that is just being published is seen by the next call. */
static inline bool upmu_user_pages_any(const struct upmu_machine *machine)
{
    return (__atomic_load_n(&machine->pages, __ATOMIC_RELAXED) & UPMU_PAGES) != 0;
}

/*
 * Return the value of `reads` in threads that have the right to RDPMC; 0: no page is published. Once all pages were
 * withdrawn, the next page makes another value, so that older rights have ended.
 */
static inline uintptr_t upmu_user_pages_right(const struct upmu_machine *machine)
{
    uint32_t pages = __atomic_load_n(&machine->pages, __ATOMIC_RELAXED);

    return pages & UPMU_PAGES ? pages / (UPMU_PAGES + 1u) + 1u : 0;
}

/* At the end of a local call: write the pages of sessions that run or ran on this CPU, and set the right to RDPMC. */
void upmu_user_pages_write(struct upmu_cpu *cpu);

/* In the handler, after counters were loaded and sessions were masked: write the pages of sessions that run. */
void upmu_user_pages_loaded(struct upmu_cpu *cpu);

/* Take a session that leaves its CPU off the CPU's list of pages. Context: a local bracket. */
void upmu_user_page_leave(struct upmu_cpu *cpu, struct upmu_session *session);

/* Mark the page of a session as closed, because the session ends or gets another page. */
void upmu_user_page_end(struct upmu_session *session);

#endif
