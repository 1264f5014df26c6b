/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of reading counts from user mode (upmu/user.h).
 */
#ifndef UPMU_PAGE_H
#define UPMU_PAGE_H

#include <upmu/session.h>
#include <upmu/user.h>

/*
 * Publish the counts of a detached session in a page, from its next start on: at the end
 * of every local call on its CPU and of every interrupt that loads one of its counters.
 * Map it read-only into the program.  NULL: no more.
 *
 * While a session with a page runs on a CPU, that CPU lets user mode execute RDPMC
 * (the hook allow_rdpmc; without it, that is the host's business); a switch to a thread
 * without one closes it again.  RDPMC reads all counters: a session of a CPU opens them
 * to every thread there.  What earlier threads and sessions left in counters that do not
 * run is made 0 before (one write for each); what other sessions count at that moment is
 * not hidden.  Where it proved to tell something else than the counter (some
 * emulators), a page has no counters: its reader is sent to the kernel.
 *
 * Costs a few stores for each event, and no register access but these writes.
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_publish(struct upmu_session *session, struct upmu_user_page *page);

#endif
