/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps in groups and their members (upmu/group.h).
 */
#ifndef UPMU_PRIVATE_GROUP_H
#define UPMU_PRIVATE_GROUP_H

#include <stdint.h>
#include <upmu/upmu.h>

struct upmu_member;

struct upmu_group_state {
    uint32_t flags;  /* UPMU_GROUP_… */
    uint32_t events; /* in `event` */
    const struct upmu_event *event;
    struct upmu_machine *machine;
    struct upmu_member *first; /* list of the members */
    struct upmu_count sum[UPMU_SET_EVENTS]; /* of the members that have left */
};

struct upmu_member_state {
    struct upmu_member *next;  /* in its group */
    struct upmu_member **link; /* what points to it */
};

#endif
