/* SPDX-License-Identifier: MIT */
/*
 * Hybrid sessions: one ordinary session for each core type, limited to the CPUs of that type.  Made of public calls,
 * but for the PMU for which names are encoded (upmu_session.pmu), for events that are taken off again (upmu_set.count),
 * and for reasons of refusals.
 */
#include <upmu/hybrid.h>

#include "core/engine/session_core.h"
#include "core/engine/sum.h"
#include "core/util/mem.h"

/* Bytes of one session in the memory of a hybrid session: each begins at a multiple of 8 bytes. */
static size_t part_bytes(unsigned events)
{
    return (upmu_session_bytes(events) + 7u) & ~(size_t)7u;
}

size_t upmu_hybrid_bytes(unsigned types, unsigned events)
{
    if (!UPMU_HYBRIDS || !types || types > UPMU_CORE_TYPES || !part_bytes(events))
        return 0;
    return UPMU_HYBRID_HEAD + types * part_bytes(events);
}

#if UPMU_HYBRIDS

enum upmu_status upmu_hybrid_init(void *memory, size_t bytes, struct upmu_machine *machine, unsigned events,
                                  struct upmu_hybrid **out_hybrid)
{
    unsigned types = __atomic_load_n(&machine->pmu_count, __ATOMIC_ACQUIRE);
    struct upmu_hybrid *hybrid = memory;
    enum upmu_status status;

    if (!types)
        return UPMU_ERR_NO_PMU;
    if (!part_bytes(events))
        return UPMU_ERR_INVALID;
    if (bytes < upmu_hybrid_bytes(types, events) || ((uintptr_t)memory & (_Alignof(uint64_t) - 1u)))
        return UPMU_ERR_NO_SPACE;
    memset(hybrid, 0, sizeof *hybrid);
    hybrid->types = (uint8_t)types;
    for (unsigned i = 0; i < types; i++) {
        uint8_t *part = (uint8_t *)memory + UPMU_HYBRID_HEAD + i * part_bytes(events);

        status = upmu_session_init_sized(part, UPMU_SESSION_BYTES(events), machine, &hybrid->session[i]);
        if (status == UPMU_OK)
            status = upmu_session_limit_pmu(hybrid->session[i], &machine->pmu[i]);
        if (status != UPMU_OK)
            return status;
        hybrid->session[i]->pmu = (uint8_t)i;
    }
    *out_hybrid = hybrid;
    return UPMU_OK;
}

/* ---- Events ---- */

/* Are the events of set 0 from number `first` on of the PMU of this core type?  If not, session->why says so. */
static enum upmu_status check_type(struct upmu_hybrid *hybrid, unsigned type, unsigned first)
{
    struct upmu_session *session = hybrid->session[type];

    for (unsigned i = first; i < session->set.count; i++)
        if (session->set.event[i].pmu != type) {
            (void)upmu_session_refuse(session, UPMU_ERR_WRONG_PMU);
            session->why.nearest = session->set.event[i].id;
            return UPMU_ERR_WRONG_PMU;
        }
    return UPMU_OK;
}

/*
 * Add to the session of each core type the events of lists[type], or of the list lists[0] for all (`same`), or the
 * event events[type].  If one is refused, the sessions lose what was added.
 */
static enum upmu_status add_to_all(struct upmu_hybrid *hybrid, const char *const *lists, bool same,
                                   const struct upmu_event *const *events)
{
    uint8_t before[UPMU_CORE_TYPES];
    enum upmu_status status = UPMU_OK;

    for (unsigned type = 0; type < hybrid->types; type++)
        before[type] = hybrid->session[type]->set.count;
    for (unsigned type = 0; type < hybrid->types && status == UPMU_OK; type++) {
        struct upmu_session *session = hybrid->session[type];

        hybrid->refused = (uint8_t)type;
        status = events ? upmu_set_add_event(&session->set, events[type], NULL)
                        : upmu_set_add(&session->set, lists[same ? 0 : type], NULL);
        if (status == UPMU_OK)
            status = check_type(hybrid, type, before[type]);
        if (status == UPMU_OK && session->set.count - before[type] != hybrid->session[0]->set.count - before[0])
            status = upmu_session_refuse(session, UPMU_ERR_INVALID);
    }
    for (unsigned type = 0; type < hybrid->types && status != UPMU_OK; type++)
        hybrid->session[type]->set.count = before[type];
    return status;
}

enum upmu_status upmu_hybrid_add(struct upmu_hybrid *hybrid, const char *list)
{
    return add_to_all(hybrid, &list, true, NULL);
}

enum upmu_status upmu_hybrid_add_each(struct upmu_hybrid *hybrid, const char *const *lists)
{
    return add_to_all(hybrid, lists, false, NULL);
}

enum upmu_status upmu_hybrid_add_event(struct upmu_hybrid *hybrid, const struct upmu_event *const *events)
{
    return add_to_all(hybrid, NULL, false, events);
}

/* ---- Calls on each session ---- */

enum upmu_status upmu_hybrid_attach_thread(struct upmu_hybrid *hybrid, struct upmu_thread *thread, struct upmu_cpu *cpu)
{
    enum upmu_status status = UPMU_OK;

    for (unsigned type = 0; type < hybrid->types && status == UPMU_OK; type++) {
        struct upmu_session *session = hybrid->session[type];

        hybrid->refused = (uint8_t)type;
        status = session->set.count == hybrid->session[0]->set.count
                     ? upmu_session_attach_thread(session, thread, cpu)
                     : upmu_session_refuse(session, UPMU_ERR_INVALID);
    }
    for (unsigned type = 0; type < hybrid->refused && status != UPMU_OK; type++)
        (void)!upmu_session_detach(hybrid->session[type]); /* a session that stays attached can be detached later */
    return status;
}

enum upmu_status upmu_hybrid_start(struct upmu_hybrid *hybrid)
{
    enum upmu_status status = UPMU_OK;

    for (unsigned type = 0; type < hybrid->types && status == UPMU_OK; type++) {
        hybrid->refused = (uint8_t)type;
        status = upmu_session_start(hybrid->session[type]);
    }
    for (unsigned type = 0; type < hybrid->refused && status != UPMU_OK; type++)
        (void)!upmu_session_stop(hybrid->session[type]); /* upmu_session.state says whether it has stopped */
    return status;
}

/* Make a call for each session.  Returns UPMU_OK, or the status of the first call that fails; the others are made. */
static enum upmu_status call_each(struct upmu_hybrid *hybrid, enum upmu_status (*call)(struct upmu_session *session))
{
    enum upmu_status status, first = UPMU_OK;

    for (unsigned type = 0; type < hybrid->types; type++) {
        status = call(hybrid->session[type]);
        if (status == UPMU_OK || first != UPMU_OK)
            continue;
        first = status;
        hybrid->refused = (uint8_t)type;
    }
    return first;
}

enum upmu_status upmu_hybrid_stop(struct upmu_hybrid *hybrid)
{
    return call_each(hybrid, upmu_session_stop);
}

enum upmu_status upmu_hybrid_detach(struct upmu_hybrid *hybrid)
{
    return call_each(hybrid, upmu_session_detach);
}

enum upmu_status upmu_hybrid_close(struct upmu_hybrid *hybrid)
{
    return call_each(hybrid, upmu_session_close);
}

/* ---- Counts ---- */

enum upmu_status upmu_hybrid_read(struct upmu_hybrid *hybrid, unsigned first, unsigned count,
                                  struct upmu_count *out_counts)
{
    enum upmu_status status = UPMU_OK;
    bool fault = false;

    if (first >= hybrid->session[0]->set.count || count > hybrid->session[0]->set.count - first)
        return UPMU_ERR_INVALID;
    for (unsigned i = 0; i < count; i++)
        upmu_sum_begin(&out_counts[i]);
    for (unsigned type = 0; type < hybrid->types && status == UPMU_OK; type++) {
        hybrid->refused = (uint8_t)type;
        status = upmu_sum_read(&hybrid->session[type]->set, first, count, out_counts, &fault);
    }
    if (fault)
        upmu_sum_part(out_counts, count);
    return status == UPMU_OK && fault ? UPMU_ERR_PORT : status;
}

enum upmu_status upmu_hybrid_read_type(struct upmu_hybrid *hybrid, unsigned type, unsigned first, unsigned count,
                                       struct upmu_count *out_counts)
{
    return type < hybrid->types ? upmu_set_read(&hybrid->session[type]->set, first, count, out_counts)
                                : UPMU_ERR_INVALID;
}

#else

enum upmu_status upmu_hybrid_init(void *memory, size_t bytes, struct upmu_machine *machine, unsigned events,
                                  struct upmu_hybrid **out_hybrid)
{
    (void)memory, (void)bytes, (void)machine, (void)events, (void)out_hybrid;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_add(struct upmu_hybrid *hybrid, const char *list)
{
    (void)hybrid, (void)list;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_add_each(struct upmu_hybrid *hybrid, const char *const *lists)
{
    (void)hybrid, (void)lists;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_add_event(struct upmu_hybrid *hybrid, const struct upmu_event *const *events)
{
    (void)hybrid, (void)events;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_attach_thread(struct upmu_hybrid *hybrid, struct upmu_thread *thread, struct upmu_cpu *cpu)
{
    (void)hybrid, (void)thread, (void)cpu;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_start(struct upmu_hybrid *hybrid)
{
    (void)hybrid;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_stop(struct upmu_hybrid *hybrid)
{
    (void)hybrid;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_detach(struct upmu_hybrid *hybrid)
{
    (void)hybrid;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_close(struct upmu_hybrid *hybrid)
{
    (void)hybrid;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_read(struct upmu_hybrid *hybrid, unsigned first, unsigned count,
                                  struct upmu_count *out_counts)
{
    (void)hybrid, (void)first, (void)count, (void)out_counts;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_hybrid_read_type(struct upmu_hybrid *hybrid, unsigned type, unsigned first, unsigned count,
                                       struct upmu_count *out_counts)
{
    (void)hybrid, (void)type, (void)first, (void)count, (void)out_counts;
    return UPMU_ERR_COMPILED_OUT;
}

#endif
