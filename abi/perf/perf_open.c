/* SPDX-License-Identifier: MIT */
/*
 * Open and close: the answers of perf_event_open, in the order of Linux's checks, and the group that an event belongs
 * to.
 */
#include <string.h>
#include "abi/perf/perf_core.h"
#include <upmu/precise.h>

#define MOST_READ 16384u /* Linux's limit for the bytes of a read */

/* The arguments of perf_event_open, and what the checks find out. */
struct request {
    struct upmu_perf *perf;
    uint32_t caller;
    int32_t pid, cpu;
    int group_file;
    uint64_t flags;
    struct upmu_perf_attr attr;
    struct upmu_perf_event *output; /* event to whose ring the records are to go, or NULL */
    struct upmu_perf_event *leader; /* leader of the group that the event joins; NULL: it is to lead a group itself */
    bool may;                       /* find_task() says that the caller may observe the task */
};

/* Return the type of the PMU that attributes name; 0: any PMU may count the event. */
static uint64_t type_of_pmu(const struct upmu_perf_attr *attr)
{
    return attr->type == UPMU_PERF_TYPE_HARDWARE || attr->type == UPMU_PERF_TYPE_CACHE ? attr->config >> 32
                                                                                       : attr->type;
}

/*
 * Return the PMU that counts a hardware event; NULL: there is none. Where no type of core is named, the PMU is that of
 * the request's CPU, or the machine's first one if the request names no CPU or one that is offline. A CPU of another
 * type than the named one has no such PMU (Linux 6.12 arch/x86/events/core.c, x86_pmu_event_init()).
 */
static const struct upmu_pmu *pmu_of(const struct request *request)
{
    const struct upmu_perf *perf = request->perf;
    const struct upmu_cpu *cpu = request->cpu >= 0 ? perf->cpus[request->cpu].cpu : NULL;
    const struct upmu_pmu *pmu = cpu ? cpu->meter.pmu : upmu_machine_pmu(perf->machine, 0);
    uint64_t type = type_of_pmu(&request->attr);

    if (!type || !pmu || !upmu_perf_is_hybrid(perf))
        return type && type != UPMU_PERF_TYPE_RAW ? NULL : pmu;
    for (unsigned i = 0; i < UPMU_CORE_TYPES; i++) {
        const struct upmu_pmu *named = upmu_machine_pmu(perf->machine, i);

        if (named && upmu_perf_pmu_type(perf, i) == type)
            return cpu && pmu != named ? NULL : named;
    }
    return NULL;
}

/*
 * Is the request for a group of processes (cgroup), so that `pid` is a descriptor? Hosts of this layer have none: such
 * a request is refused by check_type().
 */
static bool is_of_cgroup(const struct request *request)
{
    return request->flags & UPMU_PERF_FLAG_PID_CGROUP;
}

/* ---- Checks of an open, in the order in which Linux makes them; each returns 0 or a negative errno ---- */

static int check_files(struct request *request)
{
    const struct upmu_perf *perf = request->perf;
    struct upmu_perf_event *event;

    if (is_of_cgroup(request) && (request->pid == -1 || request->cpu == -1))
        return -UPMU_PERF_EINVAL;
    if (request->group_file == -1)
        return 0;
    event = perf->event_of(perf->context, request->caller, request->group_file);
    if (!event)
        return -UPMU_PERF_EBADF;
    if (!(request->flags & UPMU_PERF_FLAG_NO_GROUP))
        request->leader = event;
    if (request->flags & UPMU_PERF_FLAG_OUTPUT)
        request->output = event;
    return 0;
}

static int check_target(struct request *request, struct upmu_perf_event *event)
{
    const struct upmu_perf *perf = request->perf;

    request->may = true;
    if (request->pid != -1 && !is_of_cgroup(request)) {
        event->of_task = true;
        event->task = perf->find_task(perf->context, request->caller, request->pid, &request->may);
        if (!event->task)
            return -UPMU_PERF_ESRCH;
    }
    if (event->of_task && request->leader && (request->leader->attr.flags ^ event->attr.flags) & UPMU_PERF_INHERIT)
        return -UPMU_PERF_EINVAL;
    if (event->of_task && request->cpu == -1)
        return upmu_perf_attr_target(&request->attr, true);
    if (request->cpu < 0 || (unsigned)request->cpu >= perf->cpu_count)
        return -UPMU_PERF_EINVAL;
    return upmu_perf_attr_target(&request->attr, event->of_task);
}

static int check_software(const struct upmu_perf_attr *attr)
{
    if (attr->sample_type & UPMU_PERF_SAMPLE_BRANCH_STACK)
        return -UPMU_PERF_EOPNOTSUPP;
    return attr->config < UPMU_PERF_SOFTWARE_EVENTS ? 0 : -UPMU_PERF_ENOENT;
}

/* May the caller use an event that needs these UPMU_RIGHT_ rights? The host's hook says so, or else `paranoid`. */
static bool may_use(const struct request *request, const struct upmu_event *event, uint32_t rights)
{
    const struct upmu_perf *perf = request->perf;

    if (perf->may_use)
        return perf->may_use(perf->context, request->caller, event, rights);
    return !(rights & UPMU_RIGHT_KERNEL && upmu_perf_forbids(perf, request->caller, 1)) &&
           !(rights & UPMU_RIGHT_BEYOND && upmu_perf_forbids(perf, request->caller, 0)) &&
           !(rights & UPMU_RIGHT_PRIVILEGED && upmu_perf_forbids(perf, request->caller, -1));
}

static bool is_too_precise(const struct request *request, const struct upmu_pmu *pmu)
{
#if UPMU_PRECISE
    unsigned level = UPMU_PERF_PRECISE_LEVEL(request->attr.flags);

    return level && level > upmu_machine_precise(request->perf->machine, pmu);
#else
    (void)pmu;
    return request->attr.flags & UPMU_PERF_PRECISE;
#endif
}

/* Return the branches that samples of the PMU's events can have. */
static uint32_t branches_on(const struct request *request, const struct upmu_pmu *pmu)
{
#if UPMU_BRANCH_SAMPLES
    return upmu_machine_branches(request->perf->machine, pmu);
#else
    (void)request, (void)pmu;
    return 0;
#endif
}

static int check_hardware(const struct request *request, struct upmu_perf_event *event)
{
    const struct upmu_perf_attr *attr = &request->attr;
    const struct upmu_pmu *pmu = pmu_of(request);
    uint16_t branches;
    int error;

    if (!pmu)
        return -UPMU_PERF_ENOENT;
    if (attr->config3)
        return -UPMU_PERF_EINVAL;
    if (is_too_precise(request, pmu) || attr->flags & UPMU_PERF_EXCLUDE_HOST)
        return -UPMU_PERF_EOPNOTSUPP;
    error = upmu_perf_attr_branches(attr, branches_on(request, pmu), &branches);
    if (error)
        return error;
    event->attr.flags |= (uint64_t)branches << UPMU_PERF_KEPT_BRANCHES_SHIFT;
    if (UPMU_PRECISE && attr->flags & UPMU_PERF_PRECISE && !attr->sample_period)
        return -UPMU_PERF_EINVAL;
    error = upmu_perf_encode(pmu, attr, &event->event);
    if (error)
        return error;
    return may_use(request, &event->event, upmu_rights_of(pmu, &event->event)) ? 0 : -UPMU_PERF_EACCES;
}

/* An event of a unit has what all CPUs around the unit do. */
static int check_unit(const struct request *request, struct upmu_perf_event *event)
{
    int error = upmu_perf_unit_check(request->perf, &request->attr, event);

    if (error)
        return error;
    return may_use(request, &event->event, UPMU_RIGHT_BEYOND) ? 0 : -UPMU_PERF_EACCES;
}

static int check_type(const struct request *request, struct upmu_perf_event *event)
{
    int error = upmu_perf_is_software(event) ? check_software(&request->attr)
                : upmu_perf_is_unit(event)   ? check_unit(request, event)
                                             : check_hardware(request, event);

    if (!error)
        error = upmu_perf_attr_type(&request->attr);
    if (!error && is_of_cgroup(request))
        error = -UPMU_PERF_EBADF;
    return error ? error : upmu_perf_attr_callers(request->perf, &request->attr);
}

/* Check the caller's rights on the target, and whether a CPU that is the target is online. */
static int check_context(const struct request *request, const struct upmu_perf_event *event)
{
    if (event->of_task)
        return request->may ? 0 : -UPMU_PERF_EACCES;
    if (upmu_perf_forbids(request->perf, request->caller, 0))
        return -UPMU_PERF_EACCES;
    return request->perf->cpus[request->cpu].cpu ? 0 : -UPMU_PERF_ENODEV;
}

static int check_group(const struct request *request, const struct upmu_perf_event *event)
{
    const struct upmu_perf_event *leader = request->leader;

    if (!leader)
        return 0;
    if (leader->leader == leader &&
        upmu_perf_read_bytes(event->attr.read_format, upmu_perf_group_size(leader) + 1u) >= MOST_READ)
        return -UPMU_PERF_E2BIG;
    for (const struct upmu_perf_event *other = leader; other; other = upmu_perf_group_next(other))
        if (upmu_perf_unit_differs(other, event))
            return -UPMU_PERF_EINVAL;
    for (const struct upmu_perf_event *other = leader; other; other = upmu_perf_group_next(other))
        if (UPMU_PERF_KEPT_BRANCHES(other->attr.flags) && UPMU_PERF_KEPT_BRANCHES(event->attr.flags) &&
            UPMU_PERF_KEPT_BRANCHES(other->attr.flags ^ event->attr.flags))
            return -UPMU_PERF_EINVAL;
    return leader->leader != leader || leader->cpu != event->cpu || leader->task != event->task ||
                   leader->of_task != event->of_task || !upmu_perf_attr_same_clock(&leader->attr, &event->attr) ||
                   event->attr.flags & (UPMU_PERF_EXCLUSIVE | UPMU_PERF_PINNED)
               ? -UPMU_PERF_EINVAL
               : 0;
}

/* ---- Open ---- */

/*
 * Put an event into its group (`leader` is itself: a new one), and start the group. Returns 0, or why the event cannot
 * count with its group; then the event has left again.
 */
static int event_join(struct upmu_perf_event *event, struct upmu_perf_event *leader)
{
    bool had_failed = leader->failed;
    int error = upmu_perf_group_grow(leader, event);

    if (error)
        return error;
    upmu_perf_link(event, leader);
    event->id = ++event->perf->next_id;
    event->perf->events++;
    error = upmu_perf_session_start(leader);
    if (!error)
        return 0;
    leader->failed = had_failed;
    if (upmu_perf_remove(event))
        return 0; /* a CPU cannot be reached: the event stays open, and does not count */
    event->perf->events--;
    return error;
}

static int check_all(struct request *request, struct upmu_perf_event *event, void *user_attr)
{
    int error = request->flags & ~UPMU_PERF_OPEN_FLAGS ? -UPMU_PERF_EINVAL
                                                       : upmu_perf_attr_copy(request->perf, user_attr, &request->attr);

    event->attr =
        (struct upmu_perf_kept){.type = request->attr.type < UINT16_MAX ? (uint16_t)request->attr.type : UINT16_MAX,
                                .clockid = (int8_t)request->attr.clockid,
                                .config = request->attr.config,
                                .sample_type = (uint32_t)request->attr.sample_type,
                                .period = request->attr.sample_period,
                                .read_format = (uint8_t)request->attr.read_format,
                                .flags = request->attr.flags,
                                .wakeup = request->attr.wakeup,
                                .regs_user = (uint32_t)request->attr.sample_regs_user,
                                .regs_intr = (uint32_t)request->attr.sample_regs_intr,
                                .stack_user = (uint16_t)request->attr.sample_stack_user};
    if (!error)
        error = upmu_perf_attr_check(request->perf, request->caller, &request->attr);
    if (!error)
        error = upmu_perf_attr_limits(request->perf, request->caller, &request->attr);
    if (!error)
        error = check_files(request);
    if (!error)
        error = check_target(request, event);
    if (!error)
        error = check_type(request, event);
    if (!error)
        error = upmu_perf_attr_clock(&request->attr);
    if (!error)
        error = check_context(request, event);
    if (!error)
        error = check_group(request, event);
    if (!error && request->output)
        error = upmu_perf_output_set(event, request->output);
    if (!error)
        error = upmu_perf_attr_traced(&request->attr);
    if (!error)
        error = upmu_perf_sample_check(request->perf, &request->attr);
    if (!error)
        event->attr.period = upmu_perf_sample_period(event, request->attr.sample_period);
    upmu_perf_polled_begin(event);
    event->attr.callers = request->attr.sample_max_stack;
    event->hides = upmu_perf_forbids(request->perf, request->caller, 1);
    return error;
}

int64_t upmu_perf_open(struct upmu_perf *perf, uint32_t caller, struct upmu_perf_event *event, void *user_attr,
                       int32_t pid, int32_t cpu, int group_file, uint64_t flags)
{
    struct request request = {
        .perf = perf, .caller = caller, .pid = pid, .cpu = cpu, .group_file = group_file, .flags = flags};
    int error;

    memset(event, 0, sizeof *event);
    event->perf = perf;
    event->cpu = cpu;
    event->index = UPMU_PERF_NO_INDEX;
    event->leader = event->first = event;
    error = check_all(&request, event, user_attr);
    if (!error && perf->most_events && perf->events >= perf->most_events)
        error = -UPMU_PERF_EMFILE;
    event->enabled = !(event->attr.flags & UPMU_PERF_DISABLED);
    if (!error)
        error = event_join(event, request.leader ? request.leader : event);
    if (error)
        (void)upmu_perf_output_end(event); /* the event does not count: no CPU has to be reached */
    return error;
}

/* ---- Close ---- */

int64_t upmu_perf_close(struct upmu_perf_event *event)
{
    int error = upmu_perf_output_end(event);

    while (event->children && !error) {
        error = upmu_perf_remove(event->children);
        if (!error)
            upmu_perf_child_end(event->children);
    }
    if (!error)
        error = upmu_perf_remove(event);
    event->perf->events -= !error;
    return error;
}
