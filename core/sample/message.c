/* SPDX-License-Identifier: MIT */
/*
 * A session's queue of messages: one writer (the handler, or a bracket that does its work), one reader.
 *
 * `head` and `tail` are the numbers of messages put and taken, modulo 2^32; their low bits are an index in
 * queue->messages.
 */
#include "core/util/mem.h"
#include "core/hw/port_call.h"
#include "core/engine/session_core.h"
#include "core/sample/message_core.h"

#if UPMU_MESSAGES

#define QUEUE_FLAGS (UPMU_QUEUE_NO_MESSAGES | UPMU_QUEUE_BLOCK)

enum upmu_status upmu_session_messages(struct upmu_session *session, struct upmu_queue *queue,
                                       struct upmu_message *messages, uint32_t capacity, uint32_t flags,
                                       const struct upmu_notify *notify)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    if (queue && ((flags & ~QUEUE_FLAGS) || (capacity & (capacity - 1u)) ||
                  (!capacity && !(flags & UPMU_QUEUE_NO_MESSAGES))))
        return upmu_session_refuse(session, UPMU_ERR_INVALID);
    session->queue = queue;
    if (queue) {
        memset(queue, 0, sizeof *queue);
        queue->messages = messages;
        queue->capacity = capacity;
        queue->flags = flags;
        queue->notify = notify;
    }
    return UPMU_OK;
}

static bool append_message(struct upmu_queue *queue, const struct upmu_overflow *overflow)
{
    struct upmu_message *message;

    if (queue->flags & UPMU_QUEUE_NO_MESSAGES)
        return true;
    if (queue->head - __atomic_load_n(&queue->tail, __ATOMIC_ACQUIRE) == queue->capacity) {
        queue->dropped++;
        return false;
    }
    message = &queue->messages[queue->head & (queue->capacity - 1u)];
    message->type = UPMU_MESSAGE_OVERFLOW;
    message->process = overflow->process;
    message->thread = overflow->thread;
    message->events = overflow->events;
    message->set = overflow->set_number;
    message->cpu = overflow->cpu->meter.number;
    message->dropped = queue->dropped - queue->dropped_told;
    message->ip = overflow->ip;
    queue->dropped_told = queue->dropped;
    __atomic_store_n(&queue->head, queue->head + 1u, __ATOMIC_RELEASE);
    return true;
}

bool upmu_message_put(const struct upmu_overflow *overflow)
{
    struct upmu_session *session = overflow->session;
    struct upmu_queue *queue = session->queue;
    bool kept;

    if (!queue)
        return true;
    kept = append_message(queue, overflow);
    if (queue->notify) {
        if ((queue->flags & UPMU_QUEUE_BLOCK) && !queue->blocked) {
            queue->blocked = true;
            notify_block(queue->notify, session);
        }
        notify_wake(queue->notify, session);
        notify_signal(queue->notify, session);
    }
    return kept;
}

void upmu_message_restarted(struct upmu_session *session)
{
    struct upmu_queue *queue = session->queue;

    if (queue && queue->blocked) {
        queue->blocked = false;
        notify_unblock(queue->notify, session);
    }
}

enum upmu_status upmu_queue_read(struct upmu_queue *queue, struct upmu_message *messages, uint32_t count,
                                 uint32_t *out_count)
{
    uint32_t waiting = upmu_queue_waiting(queue);

    *out_count = 0;
    if (!count)
        return UPMU_ERR_INVALID;
    if (!waiting)
        return UPMU_ERR_END;
    if (count > waiting)
        count = waiting;
    for (uint32_t i = 0; i < count; i++)
        messages[i] = queue->messages[(queue->tail + i) & (queue->capacity - 1u)];
    __atomic_store_n(&queue->tail, queue->tail + count, __ATOMIC_RELEASE);
    *out_count = count;
    return UPMU_OK;
}

void upmu_queue_rename(struct upmu_queue *queue, void (*rename)(void *context, struct upmu_message *message),
                       void *context)
{
    for (uint32_t at = queue->tail; at != queue->head; at++)
        rename(context, &queue->messages[at & (queue->capacity - 1u)]);
}

uint32_t upmu_queue_waiting(const struct upmu_queue *queue)
{
    return __atomic_load_n(&queue->head, __ATOMIC_ACQUIRE) - queue->tail;
}

#else

enum upmu_status upmu_session_messages(struct upmu_session *session, struct upmu_queue *queue,
                                       struct upmu_message *messages, uint32_t capacity, uint32_t flags,
                                       const struct upmu_notify *notify)
{
    (void)queue;
    (void)messages;
    (void)capacity;
    (void)flags;
    (void)notify;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_queue_read(struct upmu_queue *queue, struct upmu_message *messages, uint32_t count,
                                 uint32_t *out_count)
{
    (void)queue;
    (void)messages;
    (void)count;
    *out_count = 0;
    return UPMU_ERR_COMPILED_OUT;
}

void upmu_queue_rename(struct upmu_queue *queue, void (*rename)(void *context, struct upmu_message *message),
                       void *context)
{
    (void)queue;
    (void)rename;
    (void)context;
}

uint32_t upmu_queue_waiting(const struct upmu_queue *queue)
{
    (void)queue;
    return 0;
}

bool upmu_message_put(const struct upmu_overflow *overflow)
{
    (void)overflow;
    return true;
}

void upmu_message_restarted(struct upmu_session *session)
{
    (void)session;
}

#endif
