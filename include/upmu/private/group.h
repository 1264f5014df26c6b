/* SPDX-License-Identifier: MIT */
/*
 * The library's state of groups and of their members (upmu/group.h).
 */
#ifndef UPMU_PRIVATE_GROUP_H
#define UPMU_PRIVATE_GROUP_H

#include <stdint.h>
#include <upmu/upmu.h>

struct upmu_member;

struct upmu_group_state {
    uint32_t flags;  /* UPMU_GROUP_… */
    uint32_t events; /* entries of `event` */
    const struct upmu_event *event; /* the events that each member counts: the host's array */
    struct upmu_machine *machine;
    struct upmu_member *first; /* first member of the group; they are linked by upmu_member_state.next */
    struct upmu_count sum[UPMU_SET_EVENTS]; /* by event: sum of the counts of the members that have left */
};

struct upmu_member_state {
    struct upmu_member *next;  /* next member of its group */
    struct upmu_member **link; /* the pointer in the group's list that points to this member */
};

#endif
