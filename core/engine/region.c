/* SPDX-License-Identifier: MIT */
/* Regions: the counts of a piece of a program, as the differences of two reads of a session that keeps running. */
#include "core/util/apart.h"
#include "core/util/mem.h"
#include "core/engine/session_core.h"

enum upmu_status upmu_region_open_n(struct upmu_region *region, struct upmu_cpu *cpu, const char *list, size_t bytes)
{
    struct upmu_session *session = &region->session;
    enum upmu_status status;

    memset(region, 0, sizeof *region);
    if (!cpu->meter.pmu)
        return upmu_session_refuse(session, UPMU_ERR_NO_PMU);
    (void)!upmu_session_init(session, cpu->meter.machine); /* it cannot fail */
    session->pmu = cpu->meter.pmu->index;
    status = upmu_set_add_n(&session->set, list, bytes, NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(session, cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(session);
    region->events = session->set.count;
    if (status != UPMU_OK && upmu_session_detach(session) != UPMU_OK)
        status = UPMU_ERR_PORT;
    return status;
}

enum upmu_status upmu_region_open(struct upmu_region *region, struct upmu_cpu *cpu, const char *list)
{
    return upmu_region_open_n(region, cpu, list, UPMU_TO_NUL);
}

static UPMU_APART enum upmu_status read_all(struct upmu_region *region)
{
    enum upmu_status status = upmu_set_read(&region->session.set, 0, region->events, region->count);

    /* Look at the state after the read: a fault, or the CPU that drives the session's unit, may have stopped it. */
    return UPMU_LOAD(region->session.state) == UPMU_SESSION_RUNNING ? status : UPMU_ERR_STATE;
}

enum upmu_status upmu_region_begin(struct upmu_region *region)
{
    enum upmu_status status = read_all(region);

    for (unsigned i = 0; status == UPMU_OK && i < region->events; i++)
        region->begun.count[i] = region->count[i].raw;
    region->begun.ns = region->count[0].enabled_ns;
    return status;
}

enum upmu_status upmu_region_end(struct upmu_region *region)
{
    enum upmu_status status = read_all(region);

    for (unsigned i = 0; status == UPMU_OK && i < region->events; i++) {
        struct upmu_count *count = &region->count[i];
        bool missed = count->running_ns != count->enabled_ns;

        count->raw -= region->begun.count[i];
        count->value = count->raw;
        count->enabled_ns -= region->begun.ns;
        count->running_ns = count->enabled_ns;
        /*
         * The session has missed some time since its start, perhaps outside of the region: the count is partial, not
         * scaled.  If it has missed none, count->error is the error of a metric since the start: the region's error is
         * not larger.
         */
        if (missed) {
            count->error = 0;
            if (count->quality == UPMU_QUALITY_SCALED)
                count->quality = UPMU_QUALITY_PARTIAL;
        }
    }
    return status;
}

enum upmu_status upmu_region_close(struct upmu_region *region)
{
    return upmu_session_close(&region->session);
}
