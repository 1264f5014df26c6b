/* SPDX-License-Identifier: MIT */
/*
 * Publishing counts: the kernel lets a program read the counts of a session from a page, without a call (upmu/user.h is
 * the program's side).
 */
#ifndef UPMU_PAGE_H
#define UPMU_PAGE_H

#include <upmu/upmu.h>
#include <upmu/user.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Publish the counts of a detached session in a page.  While the session runs, the page is written at the end of every
 * local call on its CPU, and of every interrupt that loads one of the session's counters, masks the session or changes
 * its set.
 * Map the page read-only into the program.  The same call with `page` NULL, and the end of the session, withdraw the
 * page: unmap the page before that.  The page must stay until then.
 *
 * The right of user mode to execute RDPMC is given by the hook allow_rdpmc; without this hook the host gives the right.
 * - A thread that a published session was attached to has the right, whether a session of the thread runs or not: its
 *   program may have read an index and continue later.
 * - Where a session of a CPU is published, every thread has the right on that CPU.
 * - The right ends with the first call on each CPU that finds no page of the machine published.  A thread that does not
 *   run at this time loses the right, too: a later page of another session does not return it.
 * - upmu_cpu_fini() ends the right that sessions of that CPU gave.  upmu_thread_switch() continues to give and remove
 *   the right of threads there, but counters are no longer set to 0.
 * - If a CPU is initialised while pages are published, the thread there gets the right at its next switch.
 *
 * RDPMC reads all counters.  Before user mode may execute RDPMC, counters that do not run are set to 0, because they
 * hold counts of other threads and sessions (one write for each).  While any page is published, a counter that another
 * session had begins at 0, too (a write in the place of a read).
 * Counters that run for other sessions are not hidden, nor are AMD's of units outside the cores (northbridge, data
 * fabric, L3: RDPMC indices from 6 on): publish no page for a program that must not see them.  Where RDPMC was found to
 * read other values than the counter (some emulators), all events of a page have index 0: the reader must ask the
 * kernel.  So has an event that is sampled in batches (upmu/precise.h): each record loads its counter anew.
 *
 * A published page costs a few stores for each event, and no register access except the writes of 0.  Thread switches
 * take a longer way.
 * Returns UPMU_OK; UPMU_ERR_STATE (not detached); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_publish(struct upmu_session *session, struct upmu_user_page *page);

/*
 * A page of the host's own, from which it fills in pages of another layout for programs.  The library calls `written`
 * each time that it has written `page`, while page.sequence is odd: a handler that interrupts this call does not write
 * the page, and the interrupted call writes it once more.
 *
 * Context of `written`: nmi, on the CPU that runs the session, or in a call on a session that runs nowhere.  The
 * function may use 128 bytes of stack.
 */
struct upmu_watched_page {
    struct upmu_user_page page;
    void (*written)(struct upmu_watched_page *watched);
};

/*
 * Do as upmu_session_publish(), with a page of the host's own, whose field `written` is set.  The function is called
 * for the first time by this call, and for the last time when the page is withdrawn.
 *
 * Returns and context: as upmu_session_publish(); UPMU_ERR_HOOK_MISSING (no allow_rdpmc: programs cannot be given the
 * right).
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_publish_watched(struct upmu_session *session, struct upmu_watched_page *watched);

#ifdef __cplusplus
}
#endif

#endif
