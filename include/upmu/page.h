/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of reading counts from user mode (upmu/user.h).
 */
#ifndef UPMU_PAGE_H
#define UPMU_PAGE_H

#include <upmu/session.h>
#include <upmu/user.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Publish the counts of a detached session in a page, from its next start on: at the end
 * of every local call on its CPU and of every interrupt that loads one of its counters.
 * Map it read-only into the program.  NULL, or the end of the session: no more; take the
 * mapping away before that.
 *
 * A thread that a published session was attached to may execute RDPMC (the hook
 * allow_rdpmc; without it, that is the host's business), whether a session of it runs or
 * not: its program may have read an index and go on later.  On the CPU of a published
 * session of a CPU every thread may.  This ends, with the next call on each CPU, when no
 * page of the machine is published any more, and earlier: for every thread of a CPU with
 * its upmu_cpu_fini(), which takes its sessions off; and where a CPU is initialised while
 * pages are published, for the thread there until it is switched to again.  After
 * upmu_cpu_fini() upmu_thread_switch() goes on to give and take the right of threads on
 * that CPU, but what others left in its counters is not made 0 any more.  RDPMC reads all counters.  What other
 * threads and sessions left in counters that do not run is made 0 before (one write for
 * each); what other sessions count at that moment is not hidden.  Where RDPMC proved to
 * tell something else than the counter (some emulators), a page has no counters: its reader is sent to the kernel.
 *
 * Costs a few stores for each event, and no register access but these writes.
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_publish(struct upmu_session *session, struct upmu_user_page *page);

#ifdef __cplusplus
}
#endif

#endif
