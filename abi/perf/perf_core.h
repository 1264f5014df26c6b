/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the parts of the layer of perf_event_open.
 */
#ifndef UPMU_ABI_PERF_CORE_H
#define UPMU_ABI_PERF_CORE_H

#include "abi/perf/perf.h"

/* ---- perf_attr.c: what a program asks for, in the order in which Linux refuses it ---- */

/* Copy attributes of a program of any size.  0, -EFAULT, -E2BIG. */
int upmu_perf_attr_copy(const struct upmu_perf *perf, void *user, struct upmu_perf_attr *out_attr);

/* The checks of attributes alone.  `attr` gets what 0 stands for. */
int upmu_perf_attr_check(const struct upmu_perf *perf, uint32_t caller, struct upmu_perf_attr *attr);

/* The checks that ask for rights and limits of the system. */
int upmu_perf_attr_limits(const struct upmu_perf *perf, uint32_t caller, const struct upmu_perf_attr *attr);

/* The checks of an event of a task or a CPU, before its type is looked at. */
int upmu_perf_attr_target(const struct upmu_perf_attr *attr, bool of_task);

/* The checks of an event whose type is known: what no PMU of this layer does. */
int upmu_perf_attr_type(const struct upmu_perf_attr *attr);

/* The limit of a sample's callers. */
int upmu_perf_attr_callers(const struct upmu_perf *perf, const struct upmu_perf_attr *attr);

/* Do two events have the same clock for their records? */
bool upmu_perf_attr_same_clock(const struct upmu_perf_attr *attr, const struct upmu_perf_attr *other);

/* What needs a leader that traces (AUX): none does. */
int upmu_perf_attr_traced(const struct upmu_perf_attr *attr);

/* The clock that a program chooses for its records. */
int upmu_perf_attr_clock(const struct upmu_perf_attr *attr);

/* What Linux grants and this layer, or this host, does not have. */
int upmu_perf_attr_stage(const struct upmu_perf *perf, const struct upmu_perf_attr *attr);

/* The limits of the system: callers of a sample, samples a second. */
uint32_t upmu_perf_most_stack(const struct upmu_perf *perf);
uint32_t upmu_perf_most_rate(const struct upmu_perf *perf);

/* Without the right of an administrator: does `paranoid` forbid what is allowed up to `level`? */
bool upmu_perf_forbids(const struct upmu_perf *perf, uint32_t caller, int level);

/* ---- perf_names.c: types and configurations to events ---- */

#define UPMU_PERF_TEXT 96 /* bytes, with its end: raw words with all that may stand behind them */

/* A text that grows. */
struct upmu_perf_text {
    char bytes[UPMU_PERF_TEXT];
    unsigned length;
};

/* Are raw words of a PMU selects of Intel's and AMD's layout? */
bool upmu_perf_has_fields(const struct upmu_pmu *pmu);

void upmu_perf_text_add(struct upmu_perf_text *text, const char *more);

/* Encode an event of hardware.  0; -ENOENT: this PMU has no such event; -EINVAL. */
int upmu_perf_encode(const struct upmu_pmu *pmu, const struct upmu_perf_attr *attr, struct upmu_event *out_event);

/* The negative errno of a status. */
int upmu_perf_errno(enum upmu_status status);

/* ---- perf_group.c: a group is one session ---- */

/* An event joins a group that is stopped, which is its own if it leads, and the list of its task. */
void upmu_perf_link(struct upmu_perf_event *event, struct upmu_perf_event *leader);

/* An event is no more in the list of its task, which may end. */
void upmu_perf_leave_task(struct upmu_perf_event *event);

/* Is an event a software event? */
bool upmu_perf_is_software(const struct upmu_perf_event *event);

/* Keep the task of an event from running, and from ending to run, until the call has ended. */
void upmu_perf_hold(const struct upmu_perf_event *event);

/*
 * Make the session of a group anew, of its enabled events, and let it count, if the leader is enabled.  What was
 * counted stays.  A sharing group waits where its counters are in use.  0, or why it does not count
 * (upmu_perf_event.failed is set then; also of a pinned group, whose counters are in use: 0).
 */
int upmu_perf_group_start(struct upmu_perf_event *leader);

/* An event leaves its group and its task.  Its siblings, if it led, become groups of their own.  0, or -EBUSY. */
int upmu_perf_remove(struct upmu_perf_event *event);

/* Stop a group: its counts go to its events.  0; -EBUSY: a CPU cannot be reached, and the group counts on. */
int upmu_perf_group_stop(struct upmu_perf_event *leader);

/*
 * Can all events of a group run together, with one more (which may be the leader itself)?  0, or a negative errno.  The
 * session of `more` is used to find out.
 */
int upmu_perf_group_fits(struct upmu_perf_event *leader, struct upmu_perf_event *more);

/* Raw count and times of an event at this moment.  0, or a negative errno. */
int upmu_perf_count(struct upmu_perf_event *event, struct upmu_count *out_count);

/* ---- perf_inherit.c: events of children ---- */

/* Raw count and times of an event and of all that were inherited from it.  0, or a negative errno. */
int upmu_perf_count_all(struct upmu_perf_event *event, struct upmu_count *out_count);

/* A child inherits a group: its events are copied in their order.  False: the host has no memory for all of them. */
bool upmu_perf_group_copy(struct upmu_perf_event *leader, struct upmu_perf_task *child);

/* An inherited event of a task that ends: what it has counted is its original's, and its memory the host's. */
void upmu_perf_child_end(struct upmu_perf_event *event);

/* ---- perf_control.c ---- */

/* Bytes of a read of an event in a group of so many events. */
size_t upmu_perf_read_bytes(const struct upmu_perf_attr *attr, unsigned events);

/* Events of a group. */
unsigned upmu_perf_group_size(const struct upmu_perf_event *leader);

/* ---- perf_soft.c: software events, by what is noted ---- */

/* A software event begins to count, if its task is on its CPU; it ends. */
void upmu_perf_soft_begin(struct upmu_perf_event *event);
void upmu_perf_soft_end(struct upmu_perf_event *event);

/* Count and times at this moment of an event that no session counts. */
void upmu_perf_soft_count(const struct upmu_perf_event *event, struct upmu_count *out_count);

#endif
