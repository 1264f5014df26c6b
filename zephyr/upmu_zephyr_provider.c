/* SPDX-License-Identifier: MIT */
/*
 * A provider of Zephyr's performance event subsystem for each CPU: upmu0, upmu1, ...  Every event has a session of its
 * own on that CPU, so that a thread which moves between start and stop reads the CPU's counts all the same.
 *
 * The subsystem is pull request 119863 of Zephyr as of November 2026 (subsys/profiling/perf/event).  It makes one call
 * at a time, in a thread.  It has one measurement at a time, whose events are all prepared before the first starts.  It
 * gives nothing back, neither a name that was looked up nor an event that was prepared.
 */
#include <errno.h>
#include <string.h>
#include <zephyr/kernel.h>
#include <upmu/catalogs.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "provider.h"
#include "upmu_zephyr.h"

#define NAME_BYTES 96

/* The events that were looked up: the index of each is its id. */
static struct known {
    struct upmu_event event;
    unsigned cpu;
} known[CONFIG_UPMU_PERF_LOOKUPS_MAX];
static unsigned known_count;

/*
 * Sessions for as many events as a measurement may have.  An event keeps its session until a later measurement needs
 * it: that which was prepared longest ago is taken.
 */
static struct slot {
    const struct known *of; /* NULL: free */
    uint32_t prepared;      /* number of the call */
    struct upmu_session session;
} slots[CONFIG_PROFILING_PERF_EVENTS_MAX_EVENTS];
static uint32_t prepared;

static int error_of(enum upmu_status status)
{
    switch (status) {
    case UPMU_OK:
        return 0;
    case UPMU_ERR_NO_SUCH_PMU:
    case UPMU_ERR_NO_SUCH_EVENT:
    case UPMU_ERR_NO_SUCH_MASK:
    case UPMU_ERR_NO_SUCH_ATTRIBUTE:
        return -ENOENT;
    case UPMU_ERR_DOES_NOT_FIT:
    case UPMU_ERR_TOO_HARD:
    case UPMU_ERR_NO_SPACE:
        return -ENOSPC;
    case UPMU_ERR_BUSY:
    case UPMU_ERR_WRONG_CPU:
        return -EBUSY;
    case UPMU_ERR_NO_PMU:
    case UPMU_ERR_UNSUPPORTED:
    case UPMU_ERR_COMPILED_OUT:
        return -ENOTSUP;
    case UPMU_ERR_PORT:
        return -EIO;
    default:
        return -EINVAL;
    }
}

static struct upmu_cpu *cpu_of(unsigned number)
{
    return upmu_zephyr_machine() ? upmu_zephyr_cpu(number) : NULL;
}

static unsigned number_of(const void *context)
{
    return (unsigned)(uintptr_t)context;
}

/* ---- Names ---- */

static int list(void *context, perf_event_list_cb_t callback, void *user_data)
{
    const struct upmu_cpu *cpu = cpu_of(number_of(context));
    const struct upmu_pmu *pmu = cpu ? cpu->meter.pmu : NULL;
    struct upmu_event_id id;
    uint32_t cursor = 0;
    char name[NAME_BYTES];
    int result = 0;

    if (!pmu || !pmu->catalog)
        return -ENOTSUP;
    while (result == 0 && upmu_catalog_next(pmu->catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
        struct upmu_event event;

        /* An event that needs a unit mask is none by its name alone; what is listed can be looked up. */
        if (strlen(name) < NAME_BYTES - 1 && upmu_event_parse(pmu, name, &event, NULL) == UPMU_OK)
            result = callback(name, pmu->title, user_data);
    }
    return result;
}

static int lookup(void *context, const char *name, uint64_t *out_id)
{
    const struct upmu_cpu *cpu = cpu_of(number_of(context));
    struct known found = {.cpu = number_of(context)};
    enum upmu_status status;

    if (!cpu)
        return -ENOTSUP;
    status = upmu_event_parse(cpu->meter.pmu, name, &found.event, NULL);
    if (status != UPMU_OK)
        return error_of(status);
    for (unsigned i = 0; i < known_count; i++)
        if (known[i].cpu == found.cpu && memcmp(&known[i].event, &found.event, sizeof found.event) == 0) {
            *out_id = i;
            return 0;
        }
    if (known_count == CONFIG_UPMU_PERF_LOOKUPS_MAX)
        return -ENOSPC;
    known[known_count] = found;
    *out_id = known_count++;
    return 0;
}

/* ---- Counts ---- */

static struct slot *slot_of(uint64_t id)
{
    for (unsigned i = 0; i < CONFIG_PROFILING_PERF_EVENTS_MAX_EVENTS && id < known_count; i++)
        if (slots[i].of == &known[id])
            return &slots[i];
    return NULL;
}

/* A free one, or the one that was prepared longest ago, unless it counts.  NULL: all count. */
static struct slot *slot_to_take(void)
{
    struct slot *oldest = NULL;

    for (unsigned i = 0; i < CONFIG_PROFILING_PERF_EVENTS_MAX_EVENTS; i++) {
        if (!slots[i].of)
            return &slots[i];
        if (slots[i].session.state != UPMU_SESSION_RUNNING &&
            (!oldest || prepared - slots[i].prepared > prepared - oldest->prepared))
            oldest = &slots[i];
    }
    return oldest;
}

static enum upmu_status open_session(struct upmu_session *session, const struct known *event)
{
    enum upmu_status status = upmu_session_init(session, upmu_zephyr_machine());

    if (status == UPMU_OK)
        status = upmu_set_add_event(&session->set, &event->event, NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(session, upmu_zephyr_cpu(event->cpu));
    return status;
}

static int prepare(void *context, uint64_t id)
{
    struct slot *slot = slot_of(id);
    enum upmu_status status = UPMU_OK;

    (void)context;
    if (id >= known_count)
        return -EINVAL;
    if (!slot) {
        slot = slot_to_take();
        if (!slot)
            return -ENOSPC;
        if (slot->of)
            status = upmu_session_close(&slot->session);
        if (status != UPMU_OK)
            return error_of(status);
        status = open_session(&slot->session, &known[id]);
        slot->of = status == UPMU_OK ? &known[id] : NULL;
    }
    slot->prepared = ++prepared;
    return error_of(status);
}

static int read_total(struct slot *slot, uint64_t *out_value, enum upmu_quality *out_quality)
{
    struct upmu_count count;
    enum upmu_status status = upmu_set_read(&slot->session.set, 0, 1, &count);

    *out_value = status == UPMU_OK ? count.value : 0;
    *out_quality = status == UPMU_OK ? count.quality : UPMU_QUALITY_NEVER_RAN;
    return error_of(status);
}

static int start(void *context, uint64_t id, uint64_t *out_baseline)
{
    struct slot *slot = slot_of(id);
    enum upmu_quality quality;
    int error;

    (void)context;
    if (!slot)
        return -EINVAL;
    error = read_total(slot, out_baseline, &quality);
    return error ? error : error_of(upmu_session_start(&slot->session));
}

static int stop(void *context, uint64_t id, uint64_t *out_final_count)
{
    struct slot *slot = slot_of(id);
    enum upmu_quality quality;
    int error;

    (void)context;
    if (!slot)
        return -EINVAL;
    error = error_of(upmu_session_stop(&slot->session));
    if (error == 0)
        error = read_total(slot, out_final_count, &quality);
    if (error != 0 || quality == UPMU_QUALITY_EXACT)
        return error;
    return quality == UPMU_QUALITY_PARTIAL ? -EOVERFLOW : -ENODATA;
}

static const struct perf_event_provider_api api = {
    .list = list, .lookup = lookup, .prepare = prepare, .start = start, .stop = stop};

#define PROVIDER(number, unused)                                                                                       \
    PERF_EVENT_PROVIDER_DEFINE(upmu##number, "PMU of CPU " #number, &api, (void *)(uintptr_t)number)

LISTIFY(CONFIG_MP_MAX_NUM_CPUS, PROVIDER, (;));
