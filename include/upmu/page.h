/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of reading counts from user mode (upmu/user.h).
 */
#ifndef UPMU_PAGE_H
#define UPMU_PAGE_H

#include <upmu/upmu.h>
#include <upmu/user.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Publish the counts of a detached session in a page, from its next start on.  The page is written
 * at the end of every local call on its CPU and of every interrupt that loads one of its counters, masks it or changes
 * its set.
 * Map it read-only into the program.  NULL, or the end of the session, ends this: unmap the page
 * before that.  The page must stay until then.
 *
 * The right to execute RDPMC (the hook allow_rdpmc; without it the host gives the right):
 * - A thread that a published session was attached to has it, whether a session of it runs or not:
 * its program may have read an index and continue later.
 * - On the CPU of a published session of a CPU every thread has it.
 * - It ends with the first call on each CPU that finds no page of the machine published.  A thread that
 * does not run at this time loses it, too: a later page of another session does not give it back.
 * - upmu_cpu_fini() ends it for sessions of that CPU.  upmu_thread_switch() continues to give and
 * remove the right of threads there, but counters are no longer set to 0.
 * - If a CPU is initialised while pages are published, the thread there gets the right at its next
 * switch.
 *
 * RDPMC reads all counters.  Before user mode may execute it, counters that do not run are set to
 * 0, because they hold counts of other threads and sessions (one write for each).  While any page is
 * published, a counter that another session had begins at 0, too (a write in the place of a read).
 * Counters that run for other sessions are not hidden, nor are AMD's of units outside the cores (northbridge, data
 * fabric, L3: RDPMC indices from 6 on): publish no page for a program that must not see them.  Where RDPMC was found to
 * read other values than the counter (some emulators), a page has no counters: its reader must ask the kernel.
 *
 * It costs a few stores for each event, and no register access except these writes.  Thread switches take
 * their longer way.
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_publish(struct upmu_session *session, struct upmu_user_page *page);

#ifdef __cplusplus
}
#endif

#endif
