/* SPDX-License-Identifier: MIT */
/*
 * Groups: the same events in many threads, and their sum.  A group is a process with all its threads, a process with
 * its children, or any threads that the host names: a container, a virtual machine.
 *
 *     struct upmu_event events[2];          // upmu_event_parse(), upmu_event_raw()
 *     struct upmu_group group;
 *     struct upmu_count sum[2];
 *
 *     upmu_group_init(&group, &machine, events, 2, UPMU_GROUP_CHILDREN);
 *     upmu_group_join(&group, &member_of_thread, &thread->pmu, cpu);        // for each thread that there is
 *     upmu_group_fork(&parent->member, &child->member, &child->thread.pmu); // the host's fork, before the child runs
 *     upmu_group_leave(&member_of_thread);                                  // the host's exit
 *     upmu_group_read(&group, 0, 2, sum);                                   // at any moment
 *
 * Each member has a session of its own, which counts as all sessions of threads do; nothing is added to a switch.  The
 * memory of a member is the host's: a thread that is in n groups has n members.
 *
 * The calls on one group and its members change a list, so one of them runs at a time.  The host gives `lock` and
 * `unlock`, which they call, or serialises them itself.  While the lock is held, calls on sessions of threads that run
 * elsewhere wait for these CPUs (upmu_port.run_on_cpu): a CPU that waits for the lock must answer, so the lock is none
 * that spins with interrupts off.  The handler, switches and ticks never take it.
 */
#ifndef UPMU_GROUP_H
#define UPMU_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/upmu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/private/group.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of upmu_group_init(). */
#define UPMU_GROUP_CHILDREN (1u << 0) /* upmu_group_fork() follows child processes, too, and not new threads alone */
#define UPMU_GROUP_SHARE (1u << 1)    /* the sessions of members share (upmu_session_share()) */

/* A group.  `lock` to `context` are for the host to fill in after upmu_group_init(); the rest may be read under the
   lock. */
struct upmu_group {
    void (*lock)(void *context);   /* NULL: the host serialises calls */
    void (*unlock)(void *context); /* given with `lock` */
    void *context;                 /* for both */
    uint32_t members;              /* threads that are followed now */
    uint32_t left;                 /* threads that have left; their counts are in each sum */
    uint32_t missed;               /* children that could not be followed, and members that could not be read */
    struct upmu_group_state state; /* the library's */
};

/* A thread in a group.  Zero it before its first use. */
struct upmu_member {
    struct upmu_group *group;   /* NULL: it is in none */
    struct upmu_thread *thread; /* while it is in one */
    struct upmu_session session; /* session.why explains a refusal */
    struct upmu_member_state state; /* the library's */
};

/*
 * Make an empty group, whose former contents do not matter.  `events`: at most UPMU_SET_EVENTS, encoded for a PMU of
 * the machine, which are counted and not sampled.  They, the group and the machine stay until upmu_group_close().
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no events, too many, an unknown flag); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_group_init(struct upmu_group *group, struct upmu_machine *machine,
                                 const struct upmu_event *events, unsigned count, unsigned flags);

/*
 * Follow a thread from now on.  `cpu`: where it runs; NULL: it does not run, nor begin to during the call.  `member`,
 * which is in no group, and `thread` stay until upmu_group_leave().
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (the member is in a group); those of upmu_set_add_event(),
 * upmu_session_attach_thread() and upmu_session_start(): member->session.why has the reason, and the member is in no
 * group.  (If its CPU cannot be reached to detach it either, member->group is set, and upmu_group_leave() is due.)
 * Context: as upmu_session_attach_thread(), with the lock.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_group_join(struct upmu_group *group, struct upmu_member *member, struct upmu_thread *thread,
                                 struct upmu_cpu *cpu);

/*
 * A note of the host: the thread of `parent` has made another one, `thread`, which is initialised and has not run.  It
 * is followed from its first instruction, in the parent's group.  Nothing is done, and child->group is NULL, where the
 * parent is in no group (any more), or where the child has another pid and the group does not follow children
 * (UPMU_GROUP_CHILDREN).  `child` NULL: the host has no memory for it.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SPACE (`child` is NULL); those of upmu_group_join().  A child that should be followed
 * and is not runs uncounted: it is counted in group->missed, and all sums are UPMU_QUALITY_PARTIAL from then on.  The
 * host's fork need not fail.
 * Context: as upmu_session_attach_thread() without a CPU, with the lock.
 */
enum upmu_status upmu_group_fork(struct upmu_member *parent, struct upmu_member *child, struct upmu_thread *thread);

/*
 * A thread leaves its group: it ends (before or after upmu_thread_exit()), or the host moves it elsewhere.  Its counts
 * are added to the group's, once: a member that is in no group is left as it is.  Its memory may be freed afterwards.
 *
 * Returns UPMU_OK; UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (it is still in the group: call again); UPMU_ERR_PORT (it has
 * left; sums of an event whose counter faulted are UPMU_QUALITY_PARTIAL).
 * Context: as upmu_session_detach(), with the lock.
 */
enum upmu_status upmu_group_leave(struct upmu_member *member);

/*
 * Sums of `count` events from `first` on: what members have counted that left, and what those count that are there.
 * `value`, `raw`, `error`, `enabled_ns`, `running_ns` and `lost` are sums (saturating), so times are those of threads
 * and may pass the time of the clock; `left` and `reset` are 0.  The quality is the worst of the members'
 * (UPMU_QUALITY_EXACT, _SCALED, _PARTIAL).  A member that has never run adds nothing and changes no quality; one that
 * has run and had no counter makes the sum partial.  UPMU_QUALITY_NEVER_RAN: no member has run.
 * UPMU_QUALITY_UNPROVEN: the sum is 0, and a member's 0 is unproven.
 *
 * A sum never falls below an earlier one while all counts are exact.  It is no snapshot: members that run elsewhere are
 * read one after the other.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event); those of upmu_set_read(), with UPMU_ERR_PORT only after all others
 * were read: the sums lack what faulted, and are partial.  After other errors `out_counts` has no meaning.
 * Context: as upmu_set_read() of the members, with the lock.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_group_read(struct upmu_group *group, unsigned first, unsigned count,
                                 struct upmu_count *out_counts);

/*
 * All members leave.  The sums stay readable; afterwards the events are not needed any more, and no thread joins.
 *
 * Returns UPMU_OK, or the first error of upmu_group_leave(): after UPMU_ERR_BUSY and UPMU_ERR_WRONG_CPU members are
 * left, call again.
 * Context: as upmu_group_leave() for each member.
 */
enum upmu_status upmu_group_close(struct upmu_group *group);

#ifdef __cplusplus
}
#endif

#endif
