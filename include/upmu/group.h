/* SPDX-License-Identifier: MIT */
/*
 * Groups: the same events are counted in many threads and added up.  A group is a process with all its threads, a
 * process with its children, or any threads that the host names: a container, a virtual machine.
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
 * A member (struct upmu_member) is one thread in one group: a thread that is in n groups has n members.  The host gives
 * the memory of a member.  Each member has a session of its own, which counts as all sessions of threads do; a thread
 * switch costs nothing more than for such a session.
 *
 * The calls on one group and its members change the group's list of members, so only one of them may run at a time.
 * The host gives `lock` and `unlock`, which these calls use, or serialises the calls itself.  A call that holds the
 * lock may have to act on a session of a thread that runs on another CPU, and wait for that CPU (upmu_port.run_on_cpu).
 * So a CPU that waits for the lock must still answer: do not use a lock that spins with interrupts off.  The handler,
 * switches and ticks never take the lock.
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

/* Flags of upmu_group_init(), which may be combined; a group can have none. */
#define UPMU_GROUP_CHILDREN (1u << 0) /* upmu_group_fork() follows child processes, too, not only new threads */
#define UPMU_GROUP_SHARE (1u << 1)    /* upmu_session_share() is called for the session of each member */

/* A group.  The host may fill in `lock`, `unlock` and `context` after upmu_group_init().  The counts of members may be
   read under the lock. */
struct upmu_group {
    /* take the lock of the group's members; NULL: the host serialises the calls on the group */
    void (*lock)(void *context);
    void (*unlock)(void *context); /* given with `lock` */
    void *context;                 /* argument of `lock` and `unlock` */
    uint32_t members;              /* number of threads that are followed now */
    uint32_t left;                 /* number of threads that have left; their counts are in each sum */
    uint32_t missed;               /* number of children that could not be followed, and of members that could not be
                                      read when they left; not 0: all sums are UPMU_QUALITY_PARTIAL */
    struct upmu_group_state state; /* the library's */
};

/* A thread in a group: one thread in n groups has n members.  Zero it before its first use. */
struct upmu_member {
    struct upmu_group *group;   /* the group that the member is in; NULL: none */
    struct upmu_thread *thread; /* the thread that is followed, while `group` is not NULL */
    struct upmu_session session; /* counts the group's events in the thread; session.why explains its refusals */
    struct upmu_member_state state; /* the library's */
};

/*
 * Make an empty group; the former contents of *group do not matter.  `events` are `count` events, at most
 * UPMU_SET_EVENTS, encoded for a PMU of the machine; they are counted and not sampled.  The array, the group and the
 * machine must stay until upmu_group_close(), the array as it is.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no events, too many, an unknown flag); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_group_init(struct upmu_group *group, struct upmu_machine *machine,
                                 const struct upmu_event *events, unsigned count, unsigned flags);

/*
 * Follow a thread from now on.  `cpu`: the CPU on which the thread runs; NULL: the thread does not run, nor begins to
 * run during the call.  `member`, which is in no group, and `thread` must stay until upmu_group_leave().
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (the member is in a group); those of upmu_set_add_event(),
 * upmu_session_attach_thread() and upmu_session_start(): member->session.why has the reason, and the member is in no
 * group.  Only if the member's session could not be detached again, because its CPU cannot be reached or another call
 * works there, is member->group set: then call upmu_group_leave().
 * Context: as upmu_session_attach_thread(); the call takes the lock.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_group_join(struct upmu_group *group, struct upmu_member *member, struct upmu_thread *thread,
                                 struct upmu_cpu *cpu);

/*
 * To be called by the host's fork: the thread of `parent` has made a new thread, `thread`, which is initialised
 * (upmu_thread_init()) and has not run.  The new thread becomes the member `child` of the parent's group, and is
 * followed from its first instruction.  Nothing is done, and child->group stays NULL, where the parent is in no group
 * (any more), or where the child has another pid and the group does not follow children (UPMU_GROUP_CHILDREN).  `child`
 * NULL: the host has no memory for the member.
 *
 * Returns UPMU_OK; UPMU_ERR_NO_SPACE (`child` is NULL); those of upmu_group_join().  After an error the child, which
 * should be followed, runs uncounted: group->missed counts it, and all sums are UPMU_QUALITY_PARTIAL from then on.  The
 * host's fork need not fail.
 * Context: as upmu_session_attach_thread() without a CPU; the call takes the lock.
 */
enum upmu_status upmu_group_fork(struct upmu_member *parent, struct upmu_member *child, struct upmu_thread *thread);

/*
 * Take a thread out of its group: the thread ends (before or after upmu_thread_exit()), or the host puts it elsewhere.
 * The member's counts are added to the group's sums, and its session is closed; its memory may be freed afterwards.  A
 * member that is in no group is left as it is, so that counts are added once only.
 *
 * Returns UPMU_OK; UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (the member is still in the group: call again); UPMU_ERR_PORT (the
 * member has left; sums of an event whose counter faulted are UPMU_QUALITY_PARTIAL).
 * Context: as upmu_session_detach(); the call takes the lock.
 */
enum upmu_status upmu_group_leave(struct upmu_member *member);

/*
 * Read the sums of `count` events of the group, from event `first` on: the counts of all members, those that have left
 * and those that are in the group.  `value`, `raw`, `error`, `enabled_ns`, `running_ns` and `lost` are sums, which stop
 * at their largest values.  Times are added, too, so they may be longer than the time that has passed.  `left` and
 * `reset` are 0.  The quality is the worst of the members' (UPMU_QUALITY_EXACT, _SCALED, _PARTIAL); while group->missed
 * is not 0 each sum is partial.  A member that has never run adds nothing and changes no quality, nor, without
 * clock_ns, does one that had no counter; with clock_ns a member that has run and had no counter makes the sum partial.
 * UPMU_QUALITY_NEVER_RAN: no member has run.  UPMU_QUALITY_UNPROVEN: the sum is 0, and a member's 0 is unproven.
 *
 * A sum never falls below an earlier one while all counts are exact.  A sum is no snapshot: members that run on other
 * CPUs are read one after the other.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such event); those of upmu_set_read().  UPMU_ERR_PORT is returned after all
 * members were read: the sums lack the counts that faulted, and are partial.  After other errors `out_counts` has no
 * meaning.
 * Context: as upmu_set_read() of the members; the call takes the lock.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_group_read(struct upmu_group *group, unsigned first, unsigned count,
                                 struct upmu_count *out_counts);

/*
 * Take all members out of the group, as upmu_group_leave() does.  The sums stay readable.  Afterwards the array of
 * events is not needed any more; let no thread join.
 *
 * Returns UPMU_OK; UPMU_ERR_BUSY, UPMU_ERR_WRONG_CPU (some members are still in the group: call again), also where a
 * register faulted before; UPMU_ERR_PORT (a register faulted; all members are out of the group).
 * Context: as upmu_group_leave() for each member.
 */
enum upmu_status upmu_group_close(struct upmu_group *group);

#ifdef __cplusplus
}
#endif

#endif
