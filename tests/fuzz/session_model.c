/* SPDX-License-Identifier: MIT */
/*
 * What must hold of sessions (session_model.h).
 */
#include <string.h>

#include "tests/fuzz/session_model.h"

uint64_t model_amount(enum model_kind kind, uint64_t work)
{
    static const uint8_t parts[MODEL_KINDS] = {8, 16, 4, 2, 1};

    return work * parts[kind];
}

void model_begin(struct model *model)
{
    memset(model, 0, sizeof *model);
    for (unsigned cpu = 0; cpu < MODEL_CPUS; cpu++)
        model->thread_on[cpu] = MODEL_THREADS + cpu;
}

int model_thread_cpu(const struct model *model, unsigned thread)
{
    for (unsigned cpu = 0; cpu < MODEL_CPUS; cpu++)
        if (model->thread_on[cpu] == thread)
            return (int)cpu;
    return -1;
}

int model_cpu_of(const struct model *model, const struct model_session *session)
{
    switch (session->target) {
    case MODEL_CPU:
        return (int)session->where;
    case MODEL_THREAD:
        return model_thread_cpu(model, session->where);
    default:
        return -1;
    }
}

void model_work(struct model_set *set, uint64_t work, bool user, bool whole)
{
    for (unsigned i = 0; i < set->events; i++)
        if (set->rings[i] >> user & 1u)
            set->expected[i] += model_amount(set->kind[i], work);
    if (!whole)
        set->loose = true;
}

bool model_agrees(struct model_set *set, unsigned event, uint64_t counted)
{
    if (set->loose ? counted > set->expected[event] || counted < set->floor[event] : counted != set->expected[event])
        return false;
    set->expected[event] = set->floor[event] = counted;
    return true;
}
