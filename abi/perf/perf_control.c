/* SPDX-License-Identifier: MIT */
/* ioctl and read on descriptors of events: what the program may change and read of an event or its group. */
#include "abi/perf/perf_core.h"

/* ---- ioctl ---- */

/* A function that changes one event, while its group is stopped. */
typedef void change_event(struct upmu_perf_event *event);

static void event_enable(struct upmu_perf_event *event)
{
    event->enabled = true;
    event->failed = false;
}

static void event_disable(struct upmu_perf_event *event)
{
    event->enabled = false;
}

/* Set the count until now to 0; the times stay. Counts of inherited events that have ended stay, too. */
static void event_reset(struct upmu_perf_event *event)
{
    if (upmu_perf_is_polled(event) && !upmu_perf_is_software(event))
        event->rest.reached -= event->stopped.value;
    event->stopped.value = 0;
}

/*
 * Stop a session, change one event or (`group`) all events of its group, and start the session again. Returns 0 or a
 * negative errno.
 */
static int group_change_one(struct upmu_perf_event *event, bool group, change_event *change)
{
    int error = upmu_perf_session_stop(event);

    if (error)
        return error;
    for (struct upmu_perf_event *other = event->leader; other; other = upmu_perf_group_next(other))
        if (group || other == event)
            change(other);
    return upmu_perf_session_start(event);
}

/* Change events, and those that were inherited from them one by one: in a child's task the groups may differ by now. */
static int group_change(struct upmu_perf_event *event, bool group, change_event *change)
{
    int error = group_change_one(event, group, change);

    for (event = group ? event->leader : event; event && !error; event = group ? upmu_perf_group_next(event) : NULL)
        for (struct upmu_perf_event *child = event->children; child && !error; child = child->next_child)
            error = group_change_one(child, false, change);
    return error;
}

/* Answer SET_OUTPUT: the event's records go where those of a descriptor's event go; for -1 nowhere. */
static int set_output(struct upmu_perf_event *event, uint32_t caller, int32_t file)
{
    const struct upmu_perf *perf = event->perf;
    const struct upmu_perf_event *output = file == -1 ? NULL : perf->event_of(perf->context, caller, file);

    return file != -1 && !output ? -UPMU_PERF_EBADF : upmu_perf_output_set(event, output);
}

static int pause_output(struct upmu_perf_event *event, bool pause)
{
    struct upmu_perf_ring *ring = event->ring;

    if (!ring || !ring->bytes)
        return -UPMU_PERF_EINVAL;
    __atomic_store_n(&ring->paused, pause, __ATOMIC_RELAXED);
    return 0;
}

/*
 * Answer REFRESH: allow so many overflows more, and enable the event; the last of them disables it. Returns 0 or a
 * negative errno; -EINVAL: the event does not sample, or is inherited.
 */
static int refresh_event(struct upmu_perf_event *event, uint32_t overflows)
{
    if (!event->attr.period || event->attr.flags & UPMU_PERF_INHERIT)
        return -UPMU_PERF_EINVAL;
    (void)__atomic_fetch_add(&event->limit, overflows, __ATOMIC_RELAXED);
    return group_change(event, false, event_enable);
}

static void *user_pointer(uint64_t argument)
{
    return (void *)(uintptr_t)argument;
}

static int copy_id(const struct upmu_perf_event *event, void *user)
{
    const struct upmu_perf *perf = event->perf;

    return perf->copy_out(perf->context, user, &event->id, sizeof event->id) ? 0 : -UPMU_PERF_EFAULT;
}

/*
 * Answer PERIOD: the event begins a new period of this length (with UPMU_PERF_FREQ: a new frequency); with an error the
 * former length stays. Inherited events keep theirs. Returns 0 or a negative errno; -EINVAL: the event does not sample,
 * or cannot sample so.
 */
static int change_period(struct upmu_perf_event *event, const void *user)
{
    const struct upmu_perf *perf = event->perf;
    uint64_t period, former = event->attr.period;
    int error;

    if (!perf->copy_in(perf->context, &period, user, sizeof period))
        return -UPMU_PERF_EFAULT;
    if (!former || !period ||
        (event->attr.flags & UPMU_PERF_FREQ ? period > upmu_perf_most_rate(perf) : (bool)(period >> 63)))
        return -UPMU_PERF_EINVAL;
    error = upmu_perf_session_stop(event);
    if (error)
        return error;
    event->attr.period = upmu_perf_sample_period(event, period);
    if (upmu_perf_is_polled(event))
        upmu_perf_polled_begin(event);
    else
        event->rest.left = 0;
    error = upmu_perf_session_start(event);
    if (error) {
        event->attr.period = former;
        for (struct upmu_perf_event *other = event->first; other; other = other->next)
            other->failed = false;
        (void)upmu_perf_session_start(event);
    }
    return error;
}

/* Answer MODIFY_ATTRIBUTES with an error: only attributes of breakpoints can be changed, and no event here is one. */
static int check_attributes(const struct upmu_perf_event *event, uint32_t caller, void *user)
{
    struct upmu_perf_attr attr;
    int error = upmu_perf_attr_copy(event->perf, user, &attr);

    if (!error)
        error = upmu_perf_attr_check(event->perf, caller, &attr);
    if (error)
        return error;
    return attr.type == event->attr.type ? -UPMU_PERF_EOPNOTSUPP : -UPMU_PERF_EINVAL;
}

int64_t upmu_perf_ioctl(struct upmu_perf_event *event, uint32_t caller, uint32_t command, uint64_t argument)
{
    bool group = argument & UPMU_PERF_IOC_FLAG_GROUP;

    switch (command) {
    case UPMU_PERF_IOC_ENABLE:
        return group_change(event, group, event_enable);
    case UPMU_PERF_IOC_DISABLE:
        return group_change(event, group, event_disable);
    case UPMU_PERF_IOC_RESET:
        return group_change(event, group, event_reset);
    case UPMU_PERF_IOC_ID:
    case UPMU_PERF_IOC_ID_32:
        return copy_id(event, user_pointer(argument));
    case UPMU_PERF_IOC_PERIOD:
        return change_period(event, user_pointer(argument));
    case UPMU_PERF_IOC_SET_OUTPUT:
        return set_output(event, caller, (int32_t)argument);
    case UPMU_PERF_IOC_REFRESH:
        return refresh_event(event, (uint32_t)argument);
    case UPMU_PERF_IOC_PAUSE_OUTPUT:
        return pause_output(event, (uint32_t)argument);
    case UPMU_PERF_IOC_MODIFY_ATTRIBUTES:
    case UPMU_PERF_IOC_MODIFY_ATTRIBUTES_32:
        return check_attributes(event, caller, user_pointer(argument));
    case UPMU_PERF_IOC_SET_FILTER: /* only for tracepoints */
    case UPMU_PERF_IOC_SET_FILTER_32:
    case UPMU_PERF_IOC_SET_BPF:
    case UPMU_PERF_IOC_QUERY_BPF:
    case UPMU_PERF_IOC_QUERY_BPF_32:
        return -UPMU_PERF_EINVAL;
    default:
        return -UPMU_PERF_ENOTTY;
    }
}

/* ---- read ---- */

/* The memory of the program that a read writes, one word after the other; failed: copy_out() has failed. */
struct output {
    const struct upmu_perf *perf;
    uint8_t *user;
    bool failed;
};

static void output_word(struct output *output, bool wanted, uint64_t word)
{
    if (!wanted || output->failed)
        return;
    output->failed = !output->perf->copy_out(output->perf->context, output->user, &word, sizeof word);
    output->user += sizeof word;
}

static void output_times(struct output *output, uint64_t format, const struct upmu_perf_sum *sum)
{
    output_word(output, format & UPMU_PERF_READ_ENABLED, sum->enabled_ns);
    output_word(output, format & UPMU_PERF_READ_RUNNING, sum->running_ns);
}

/* Output the identity of an event, and how many of its records were lost. */
static void output_rest(struct output *output, uint64_t format, const struct upmu_perf_event *event)
{
    output_word(output, format & UPMU_PERF_READ_ID, event->id);
    output_word(output, format & UPMU_PERF_READ_LOST, __atomic_load_n(&event->lost, __ATOMIC_RELAXED));
}

/*
 * Return the event whose times stand before all values of a group. Programs scale by these times, so it is the first
 * hardware event, or the leader if there is none.
 */
static struct upmu_perf_event *group_timer(struct upmu_perf_event *leader)
{
    for (struct upmu_perf_event *event = leader; event; event = upmu_perf_group_next(event))
        if (!upmu_perf_is_software(event))
            return event;
    return leader;
}

static int read_group(struct output *output, uint64_t format, struct upmu_perf_event *leader)
{
    struct upmu_perf_sum sum;
    int error = upmu_perf_count_all(group_timer(leader), &sum);

    output_word(output, true, upmu_perf_group_size(leader));
    output_times(output, format, &sum);
    for (struct upmu_perf_event *event = leader; event && !error; event = upmu_perf_group_next(event)) {
        error = upmu_perf_count_all(event, &sum);
        output_word(output, true, sum.value);
        output_rest(output, format, event);
    }
    return error;
}

static int read_one(struct output *output, uint64_t format, struct upmu_perf_event *event)
{
    struct upmu_perf_sum sum;
    int error = upmu_perf_count_all(event, &sum);

    output_word(output, true, sum.value);
    output_times(output, format, &sum);
    output_rest(output, format, event);
    return error;
}

int64_t upmu_perf_read(struct upmu_perf_event *event, void *user, size_t bytes)
{
    struct output output = {.perf = event->perf, .user = user};
    uint64_t format = event->attr.read_format;
    size_t needed = upmu_perf_read_bytes(format, upmu_perf_group_size(event->leader));
    int error;

    if (event->leader->failed)
        return 0;
    if (bytes < needed)
        return -UPMU_PERF_ENOSPC;
    error =
        format & UPMU_PERF_READ_GROUP ? read_group(&output, format, event->leader) : read_one(&output, format, event);
    if (error)
        return error;
    return output.failed ? -UPMU_PERF_EFAULT : (int64_t)needed;
}
