/* SPDX-License-Identifier: MIT */
/* The library's state of a group (struct upmu_group) and of a member (struct upmu_member) of upmu/group.h. */
#ifndef UPMU_PRIVATE_GROUP_H
#define UPMU_PRIVATE_GROUP_H

#include <stdint.h>
#include <upmu/upmu.h>

struct upmu_member;

/* Where the placement of a group's list has put an event. */
struct upmu_compiled_event {
    uint32_t counters; /* as in struct upmu_tally, as are the next two */
    uint8_t slot[UPMU_SLOTS];
    uint8_t alternative;
};

/* The placement and the program of a group's list, as one member was placed.  Other members copy it. */
struct upmu_compiled {
    uint32_t state;    /* UPMU_COMPILED_… (core/engine/program.h) */
    uint32_t counters; /* as in struct upmu_set */
    uint32_t blocked;  /* placed_blocked of struct upmu_set */
    uint32_t stamp;    /* as in struct upmu_set */
    struct upmu_program program; /* without refused, seen and step */
    struct upmu_compiled_event event[UPMU_SET_EVENTS];
    struct upmu_step step[UPMU_STEPS];
};

/* Entries that a group has: two kinds of CPU have one PMU (core/engine/placed.h). */
#define UPMU_COMPILED_KINDS 2u

struct upmu_group_state {
    uint32_t flags;  /* UPMU_GROUP_… */
    uint32_t known;  /* 1: a session with the events has been attached, so they need no check any more */
    uint32_t events; /* entries of `event` */
    const struct upmu_event *event; /* the events that each member counts: the host's array */
    struct upmu_machine *machine;
    struct upmu_member *first; /* first member of the group; they are linked by upmu_member_state.next */
    struct upmu_count sum[UPMU_SET_EVENTS]; /* by event: sum of the counts of the members that have left */
    struct upmu_compiled compiled[UPMU_COMPILED_KINDS];
};

struct upmu_member_state {
    struct upmu_member *next;  /* next member of its group */
    struct upmu_member **link; /* the pointer in the group's list that points to this member */
};

#endif
