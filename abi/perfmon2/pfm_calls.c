/* SPDX-License-Identifier: MIT */
/*
 * The calls of section 10 that concern a context as a whole.
 */
#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <abi/perfmon2/pfm_core.h>

#define CONTEXT_FLAGS (PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE | PFM_FL_SMPL_FMT | PFM_FL_OVFL_NO_MSG)
#define START_FLAGS (PFM_STARTFL_SET | PFM_STARTFL_RESTART)

_Static_assert(sizeof(struct pfarg_pmc) == 48 && sizeof(struct pfarg_pmd) == 160, "section 10");
_Static_assert(sizeof(struct pfarg_setdesc) == 64 && sizeof(struct pfarg_setinfo) == 176, "section 10");
_Static_assert(sizeof(union pfarg_msg) == 56, "section 10");
_Static_assert(sizeof(struct pfarg_ctx) == 40 && sizeof(struct pfarg_pmc9) == 48 && sizeof(struct pfarg_pmd9) == 48 &&
                   sizeof(struct pfarg_load) == 40,
               "section 9");

/*
 * ---- Life ----
 *
 * A message can block a thread, and masks the session. The thread continues when the session is no longer masked: by
 * restart, start, stop, unload or close.
 */

static enum upmu_status open_session(struct upmu_pfm_context *context, const char *name, const void *argument,
                                     size_t argument_bytes)
{
    struct upmu_pfm *pfm = context->pfm;
    const struct upmu_pfm_memory *memory = &context->memory;
    const struct upmu_format *format = NULL;
    uint32_t flags = 0;
    enum upmu_status status = upmu_session_init(&context->session, pfm->machine);

    if (context->flags & PFM_FL_NOTIFY_BLOCK)
        flags |= UPMU_QUEUE_BLOCK;
    if ((context->flags & PFM_FL_OVFL_NO_MSG) || !memory->message_count)
        flags |= UPMU_QUEUE_NO_MESSAGES;
    if (context->flags & PFM_FL_SMPL_FMT) {
        format = upmu_format_by_name(pfm->formats, name);
        if (!format)
            return UPMU_ERR_INVALID;
    }
    upmu_session_hide_kernel(&context->session, !upmu_pfm_may_use(context, NULL, UPMU_PFM_ADDRESSES));
    if (status == UPMU_OK && memory->ring)
        status = upmu_session_ring(&context->session, memory->ring, memory->ring_bytes);
    if (status == UPMU_OK)
        status = upmu_session_messages(&context->session, &context->queue, memory->messages, memory->message_count,
                                       flags, pfm->notify);
    if (status == UPMU_OK && format)
        status = upmu_session_format(&context->session, format, argument, argument_bytes);
    return status;
}

enum upmu_status upmu_pfm_create_context(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner,
                                         struct upmu_pfm_context *context, const struct upmu_pfm_memory *memory,
                                         uint32_t flags, const char *name, const void *argument, size_t argument_bytes)
{
    enum upmu_status status;

    if ((flags & ~(uint32_t)CONTEXT_FLAGS) || (!(flags & PFM_FL_SMPL_FMT) != (!name && !argument && !argument_bytes)) ||
        (flags & PFM_FL_SMPL_FMT && !name) ||
        (flags & (PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE)) == (PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE))
        return UPMU_ERR_INVALID;
    if (!upmu_machine_pmu(pfm->machine, 0))
        return UPMU_ERR_NO_PMU;
    if (!memory->set_count)
        return UPMU_ERR_NO_SPACE;
    if (pfm->may_create ? !pfm->may_create(pfm->context, owner, flags) : flags & PFM_FL_SYSTEM_WIDE)
        return UPMU_ERR_NOT_PERMITTED;
    if (!upmu_pfm_account(pfm, owner, memory))
        return UPMU_ERR_NO_SPACE;
    __builtin_memset(context, 0, sizeof *context);
    context->pfm = pfm;
    context->owner = owner;
    context->memory = *memory;
    context->flags = flags;
    context->references = 1;
    for (unsigned i = 0; i < memory->set_count; i++)
        __builtin_memset(&memory->sets[i], 0, sizeof memory->sets[i]);
    memory->sets[0].used = true;
    __builtin_memset(memory->sets[0].event_of, PFM_NO_EVENT, sizeof memory->sets[0].event_of);
    status = open_session(context, name, argument, argument_bytes);
    if (status != UPMU_OK)
        upmu_pfm_discharge(pfm, owner, memory);
    return status;
}

/*
 * Add a reference by an atomic addition, because programs duplicate and close descriptors of one context on several
 * CPUs at once.
 */
void upmu_pfm_share(struct upmu_pfm_context *context)
{
    __atomic_fetch_add(&context->references, 1u, __ATOMIC_RELAXED);
}

/* Subtract a reference that is not the last one; false: it is the last one, and stays. */
static bool give_up(struct upmu_pfm_context *context)
{
    uint32_t now = __atomic_load_n(&context->references, __ATOMIC_ACQUIRE);

    do
        if (now <= 1)
            return false;
    while (!__atomic_compare_exchange_n(&context->references, &now, now - 1u, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
    return true;
}

enum upmu_status upmu_pfm_close(struct upmu_pfm_context *context, bool *out_last)
{
    enum upmu_status status;

    *out_last = false;
    if (give_up(context))
        return UPMU_OK;
    status = upmu_session_close(&context->session);
    if (context->session.state != UPMU_SESSION_CLOSED)
        return status;
    upmu_message_restarted(&context->session);
    context->references = 0;
    context->loaded = false;
    upmu_pfm_discharge(context->pfm, context->owner, &context->memory);
    *out_last = true;
    return status;
}

/* ---- Targets ---- */

static enum upmu_status attach_context(struct upmu_pfm_context *context, uint32_t target)
{
    struct upmu_pfm *pfm = context->pfm;
    struct upmu_thread *thread;
    struct upmu_cpu *cpu = NULL;

    if (context->flags & PFM_FL_SYSTEM_WIDE) {
        cpu = pfm->find_cpu ? pfm->find_cpu(pfm->context, context->owner, target) : NULL;
        if (!cpu)
            return UPMU_ERR_INVALID;
        /* The caller must run on that CPU: no remote call is made. */
        if (!upmu_machine_runs_on(pfm->machine, cpu))
            return UPMU_ERR_WRONG_CPU;
        return upmu_session_attach_cpu(&context->session, cpu);
    }
    thread = pfm->find_thread ? pfm->find_thread(pfm->context, context->owner, target, &cpu) : NULL;
    return thread ? upmu_session_attach_thread(&context->session, thread, cpu) : UPMU_ERR_INVALID;
}

enum upmu_status upmu_pfm_load_context(struct upmu_pfm_context *context, uint32_t flags, uint32_t target)
{
    enum upmu_status status;

    if (flags)
        return UPMU_ERR_INVALID;
    if (context->session.state != UPMU_SESSION_DETACHED)
        return UPMU_ERR_STATE;
    /* The library may have detached the session, because its target has ended. */
    if (context->loaded)
        upmu_pfm_keep(context);
    context->loaded = false;
    upmu_session_hide_kernel(&context->session, !upmu_pfm_may_use(context, NULL, UPMU_PFM_ADDRESSES));
    status = upmu_pfm_build(context);
    if (status == UPMU_OK)
        status = attach_context(context, target);
    context->loaded = status == UPMU_OK;
    return status;
}

enum upmu_status upmu_pfm_unload_context(struct upmu_pfm_context *context, uint32_t flags)
{
    enum upmu_status status;

    if (flags)
        return UPMU_ERR_INVALID;
    status = upmu_session_detach(&context->session);
    if (context->session.state != UPMU_SESSION_DETACHED)
        return status;
    upmu_message_restarted(&context->session);
    if (context->loaded)
        upmu_pfm_keep(context);
    context->loaded = false;
    return status;
}

/* ---- Start and stop ---- */

enum upmu_status upmu_pfm_start(struct upmu_pfm_context *context, uint32_t flags, uint16_t number)
{
    struct upmu_session *session = &context->session;
    enum upmu_status status = UPMU_OK;

    if ((flags & ~(uint32_t)START_FLAGS) || flags == START_FLAGS || (number && !(flags & PFM_STARTFL_SET)))
        return UPMU_ERR_INVALID;
    if (flags & PFM_STARTFL_SET) {
        struct upmu_pfm_set *set = upmu_pfm_find_set(context, number);

        if (!set)
            return UPMU_ERR_INVALID;
        if (!context->loaded)
            return UPMU_ERR_STATE;
        status = upmu_session_switch(session, upmu_pfm_core_set(context, set));
    }
    if (flags & PFM_STARTFL_RESTART) {
        if (session->state == UPMU_SESSION_MASKED)
            return upmu_session_restart(session);
        if (session->state != UPMU_SESSION_RUNNING && session->state != UPMU_SESSION_WAITING)
            return UPMU_ERR_STATE;
        /*
         * The session may have been masked by a message until its registers were written. Then a thread may still be
         * blocked until this restart.
         */
        upmu_message_restarted(session);
        return UPMU_OK;
    }
    if (status != UPMU_OK)
        return status;
    if (session->state == UPMU_SESSION_MASKED)
        upmu_message_restarted(session);
    return upmu_session_start(session);
}

enum upmu_status upmu_pfm_stop(struct upmu_pfm_context *context, uint32_t flags)
{
    enum upmu_status status;

    if (flags)
        return UPMU_ERR_INVALID;
    status = upmu_session_stop(&context->session);
    if (context->session.state == UPMU_SESSION_STOPPED)
        upmu_message_restarted(&context->session);
    return status;
}

/* ---- Messages ---- */

static void fill_message(struct upmu_pfm_context *context, const struct upmu_message *from, union pfarg_msg *out)
{
    const struct upmu_pmu *pmu = upmu_pfm_pmu(context);
    struct pfarg_ovfl_msg *message = &out->pfm_ovfl_msg;
    uint32_t counters = upmu_pfm_overflowed(context, from);

    __builtin_memset(out, 0, sizeof *out);
    message->msg_type = PFM_MSG_OVFL;
    message->msg_ovfl_pid = from->process;
    message->msg_ovfl_tid = from->thread;
    message->msg_active_set = from->set;
    message->msg_ovfl_cpu = from->cpu;
    message->msg_ovfl_ip = from->ip;
    for (; counters; counters &= counters - 1u)
        upmu_pfm_set_bit(message->msg_ovfl_pmds, pmu->counter[upmu_bits_lowest(counters)].value_row);
}

enum upmu_status upmu_pfm_read(struct upmu_pfm_context *context, void *user, size_t bytes, size_t *out_bytes)
{
    enum upmu_status status = UPMU_ERR_END;

    *out_bytes = 0;
    if (!bytes || bytes % sizeof(union pfarg_msg))
        return UPMU_ERR_INVALID;
    /*
     * Copy no more messages than the queue can hold: otherwise messages that come meanwhile could keep the loop from
     * ending.
     */
    for (uint32_t left = context->memory.message_count; left && *out_bytes < bytes; left--) {
        struct upmu_message message;
        union pfarg_msg out;
        uint32_t count;

        if (upmu_queue_read(&context->queue, &message, 1, &count) != UPMU_OK)
            break;
        fill_message(context, &message, &out);
        if (!context->pfm->copy_out(context->pfm->context, (char *)user + *out_bytes, &out, sizeof out))
            return UPMU_ERR_PORT;
        *out_bytes += sizeof out;
        status = UPMU_OK;
    }
    return status;
}
