/* SPDX-License-Identifier: MIT */
/*
 * Declarations for writing the pages in which user mode reads a session's counts (struct upmu_user_page).
 */
#ifndef UPMU_CORE_USER_PAGE_H
#define UPMU_CORE_USER_PAGE_H

#include <upmu/page.h>

/*
 * Bits of upmu_cpu.readers: user mode may execute RDPMC on the CPU, because a session of the CPU, or of the thread that
 * runs there, has a page, or had one: while any session of the machine has a page, the end of a page does not end the
 * right.
 */
#define UPMU_READS_CPU 1u
#define UPMU_READS_THREAD 2u

/*
 * The bits of upmu_machine.pages that are the number of published pages. The bits above count how often this number
 * has become 0.
 */
#define UPMU_PAGES 0xfffffu

/* Does any session of the machine have a page? A page that another CPU is publishing may not be seen yet. */
static inline bool upmu_user_pages_any(const struct upmu_machine *machine)
{
    return (__atomic_load_n(&machine->pages, __ATOMIC_RELAXED) & UPMU_PAGES) != 0;
}

/*
 * Return the value that upmu_thread.reads has in a thread that may execute RDPMC; 0: no page is published. After the
 * last page was withdrawn the value is another one, so that threads with the old value have lost the right.
 */
static inline uint32_t upmu_user_pages_right(const struct upmu_machine *machine)
{
    uint32_t pages = __atomic_load_n(&machine->pages, __ATOMIC_RELAXED);

    return pages & UPMU_PAGES ? pages / (UPMU_PAGES + 1u) + 1u : 0;
}

/*
 * At the end of a local call: write the pages of all sessions that run on this CPU, or have run since the last such
 * call, and let user mode execute RDPMC there or not.
 */
void upmu_user_pages_write(struct upmu_cpu *cpu);

/*
 * In the handler, after counters were loaded and sessions were masked: write the pages in the CPU's list, except one
 * that the interrupted call is writing.
 */
void upmu_user_pages_loaded(struct upmu_cpu *cpu);

/*
 * When a session is detached from its CPU: if its page is in the CPU's list, remove it from there and write it as that
 * of a session without counters. Context: a bracket on this CPU.
 */
void upmu_user_page_leave(struct upmu_cpu *cpu, struct upmu_session *session);

/*
 * Write the page of a session a last time, mark it as closed, remove it from the session, and count one published page
 * less in the machine. Nothing is done without a page.
 */
void upmu_user_page_end(struct upmu_session *session);

#endif
