/* SPDX-License-Identifier: MIT */
/*
 * Groups of threads.  Each member has a session, made by public calls; the counts of members that have left are summed
 * up in the group.
 */
#include <upmu/group.h>

#include "core/engine/session_core.h"
#include "core/engine/sum.h"
#include "core/engine/thread_core.h"
#include "core/util/mem.h"
#include "core/util/shared.h"

#if UPMU_GROUPS

static void lock_group(const struct upmu_group *group)
{
    if (group->lock)
        group->lock(group->context);
}

static void unlock_group(const struct upmu_group *group)
{
    if (group->lock)
        group->unlock(group->context);
}

enum upmu_status upmu_group_init(struct upmu_group *group, struct upmu_machine *machine,
                                 const struct upmu_event *events, unsigned count, unsigned flags)
{
    if (!count || count > UPMU_SET_EVENTS || (flags & ~(UPMU_GROUP_CHILDREN | UPMU_GROUP_SHARE)))
        return UPMU_ERR_INVALID;
    memset(group, 0, sizeof *group);
    group->state.machine = machine;
    group->state.event = events;
    group->state.events = count;
    group->state.flags = flags;
    for (unsigned i = 0; i < count; i++)
        upmu_sum_begin(&group->state.sum[i]);
    return UPMU_OK;
}

/*
 * Attach the new session of a member to its thread.  The events are checked in the first session of the group that is
 * attached: the answer is that for all.  Returns the first status that is not UPMU_OK.
 */
static enum upmu_status attach_member(struct upmu_group *group, struct upmu_session *session,
                                      struct upmu_thread *thread, struct upmu_cpu *cpu)
{
    enum upmu_status status = upmu_session_share(session, group->state.flags & UPMU_GROUP_SHARE);

    if (status == UPMU_OK && group->state.known) {
        upmu_session_take_list(session, group->state.event, group->state.events);
        return upmu_thread_attach(session, thread, cpu);
    }
    for (unsigned i = 0; status == UPMU_OK && i < group->state.events; i++)
        status = upmu_set_add_event(&session->set, &group->state.event[i], NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_thread(session, thread, cpu);
    group->state.known = status == UPMU_OK;
    return status;
}

/*
 * Make the session of a member with the group's events, attach it to the thread, and start it.  Returns the first
 * status that is not UPMU_OK; the session may be attached then.
 */
static enum upmu_status start_member(struct upmu_group *group, struct upmu_member *member,
                                     struct upmu_thread *thread, struct upmu_cpu *cpu)
{
    struct upmu_session *session = &member->session;
    enum upmu_status status = upmu_session_init_sized(session, UPMU_SESSION_BYTES(group->state.events),
                                                      group->state.machine, &session);

    if (status == UPMU_OK)
        status = attach_member(group, session, thread, cpu);
    if (status != UPMU_OK)
        return status;
    upmu_session_know(session, group->state.compiled);
    return upmu_session_start(session);
}

static enum upmu_status add_member(struct upmu_group *group, struct upmu_member *member, struct upmu_thread *thread,
                                   struct upmu_cpu *cpu)
{
    enum upmu_status status;

    if (member->group)
        return UPMU_ERR_STATE;
    status = start_member(group, member, thread, cpu);
    if (status != UPMU_OK) {
        enum upmu_status detached = upmu_session_detach(&member->session);

        if (detached == UPMU_OK || detached == UPMU_ERR_PORT)
            return status;
    }
    /* A member that could be neither started nor detached is put into the list, too: it is attached until it leaves. */
    UPMU_STORE(member->group, group);
    member->thread = thread;
    member->state.next = group->state.first;
    member->state.link = &group->state.first;
    if (member->state.next)
        member->state.next->state.link = &member->state.next;
    group->state.first = member;
    group->members++;
    return status;
}

enum upmu_status upmu_group_join(struct upmu_group *group, struct upmu_member *member, struct upmu_thread *thread,
                                 struct upmu_cpu *cpu)
{
    enum upmu_status status;

    lock_group(group);
    status = add_member(group, member, thread, cpu);
    unlock_group(group);
    return status;
}

enum upmu_status upmu_group_fork(struct upmu_member *parent, struct upmu_member *child, struct upmu_thread *thread)
{
    struct upmu_group *group = UPMU_LOAD(parent->group);
    enum upmu_status status = UPMU_OK;

    if (!group || (thread->pid != parent->thread->pid && !(group->state.flags & UPMU_GROUP_CHILDREN)))
        return UPMU_OK;
    lock_group(group);
    if (UPMU_LOAD(parent->group) == group) /* else the parent has left the group meanwhile */
        status = child ? add_member(group, child, thread, NULL) : UPMU_ERR_NO_SPACE;
    group->missed += status != UPMU_OK;
    unlock_group(group);
    return status;
}

/*
 * Add to the group's sums the counts of a member that has left its thread; take the member out of the list and close
 * its session.  If a count cannot be read, the group has missed events.
 */
static void remove_member(struct upmu_group *group, struct upmu_member *member)
{
    bool missed = false;

    for (unsigned i = 0; i < group->state.events; i++) {
        struct upmu_count part;

        if (upmu_set_read(&member->session.set, i, 1, &part) == UPMU_OK)
            upmu_sum_add(&group->state.sum[i], &part);
        else
            missed = true;
    }
    group->missed += missed;
    *member->state.link = member->state.next;
    if (member->state.next)
        member->state.next->state.link = member->state.link;
    UPMU_STORE(member->group, NULL);
    group->members--;
    group->left++;
    (void)upmu_session_close(&member->session); /* the session is detached: no register is accessed */
}

/* upmu_group_leave() for a caller that has locked the group. */
static enum upmu_status leave_locked(struct upmu_group *group, struct upmu_member *member)
{
    enum upmu_status status = upmu_session_detach(&member->session);

    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return status;
    remove_member(group, member);
    return status;
}

enum upmu_status upmu_group_leave(struct upmu_member *member)
{
    struct upmu_group *group = UPMU_LOAD(member->group);
    enum upmu_status status;

    if (!group)
        return UPMU_OK;
    lock_group(group);
    status = UPMU_LOAD(member->group) == group ? leave_locked(group, member) : UPMU_OK;
    unlock_group(group);
    return status;
}

enum upmu_status upmu_group_read(struct upmu_group *group, unsigned first, unsigned count,
                                 struct upmu_count *out_counts)
{
    enum upmu_status status = UPMU_OK;
    bool fault = false;

    if (first >= group->state.events || count > group->state.events - first)
        return UPMU_ERR_INVALID;
    lock_group(group);
    memcpy(out_counts, &group->state.sum[first], count * sizeof *out_counts);
    for (struct upmu_member *member = group->state.first; member && status == UPMU_OK; member = member->state.next)
        status = upmu_sum_read(&member->session.set, first, count, out_counts, &fault);
    if (group->missed || fault)
        upmu_sum_part(out_counts, count);
    unlock_group(group);
    return status == UPMU_OK && fault ? UPMU_ERR_PORT : status;
}

enum upmu_status upmu_group_close(struct upmu_group *group)
{
    enum upmu_status status = UPMU_OK;
    bool fault = false;

    lock_group(group);
    while (group->state.first && (status == UPMU_OK || status == UPMU_ERR_PORT)) {
        status = leave_locked(group, group->state.first);
        fault |= status == UPMU_ERR_PORT;
    }
    unlock_group(group);
    return status == UPMU_OK && fault ? UPMU_ERR_PORT : status;
}

#else

enum upmu_status upmu_group_init(struct upmu_group *group, struct upmu_machine *machine,
                                 const struct upmu_event *events, unsigned count, unsigned flags)
{
    (void)group, (void)machine, (void)events, (void)count, (void)flags;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_group_join(struct upmu_group *group, struct upmu_member *member, struct upmu_thread *thread,
                                 struct upmu_cpu *cpu)
{
    (void)group, (void)member, (void)thread, (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_group_fork(struct upmu_member *parent, struct upmu_member *child, struct upmu_thread *thread)
{
    (void)parent, (void)child, (void)thread;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_group_leave(struct upmu_member *member)
{
    (void)member;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_group_read(struct upmu_group *group, unsigned first, unsigned count,
                                 struct upmu_count *out_counts)
{
    (void)group, (void)first, (void)count, (void)out_counts;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_group_close(struct upmu_group *group)
{
    (void)group;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
