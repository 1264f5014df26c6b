/* SPDX-License-Identifier: MIT */
/*
 * Messages: reports of a session to its owner, one for each overflow.
 *
 * An event that is sampled with UPMU_SAMPLING_NOTIFY puts a message into its session's
 * queue when it overflows, calls the hooks, and the session stops (UPMU_SESSION_MASKED)
 * until upmu_session_restart(), unless its format decides otherwise (upmu/format.h).
 */
#ifndef UPMU_MESSAGE_H
#define UPMU_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/private/message.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upmu_session;

/* The cause of a message. */
enum upmu_message_type {
    UPMU_MESSAGE_OVERFLOW = 1 /* events of a session overflowed */
};

/* An overflow, of one or more events. */
struct upmu_message {
    uint32_t type;    /* enum upmu_message_type */
    uint32_t process; /* of the interrupted code: upmu_frame.process */
    uint32_t thread;  /* the same: upmu_frame.thread */
    uint32_t events;  /* bit i: event i of the set overflowed */
    uint16_t set;     /* the set that was active then */
    uint16_t cpu;     /* order of initialisation */
    uint32_t dropped; /* messages lost since the message before this one: the queue was full */
    uint64_t ip;      /* interrupted instruction */
};

/*
 * Functions that report a message to the host.  Each may be NULL.  The interrupt handler (which may
 * be an NMI) calls them for every overflow that notifies, also where no message is stored.  They
 * must leave the work to code that runs later.
 */
struct upmu_notify {
    void *context; /* first argument of the function */
    /* Wake the programs that wait for messages (poll, select).  Context: nmi. */
    void (*wake)(void *context, struct upmu_session *session);
    /* Send the signal `number`, which is signal_number.  Context: nmi. */
    void (*signal)(void *context, struct upmu_session *session, int number);
    /*
     * Keep the monitored thread from returning to user code until unblock; only called with
     * UPMU_QUEUE_BLOCK.  Context: nmi.
     */
    void (*block)(void *context, struct upmu_session *session);
    /* Let the thread continue.  Only upmu_session_restart() calls it: if you stop or close the session instead, unblock
       the thread yourself.  Context: that of upmu_session_restart(). */
    void (*unblock)(void *context, struct upmu_session *session);
    int signal_number; /* 0: none */
};

/* Bits of upmu_queue.flags. */
#define UPMU_QUEUE_NO_MESSAGES (1u << 0) /* call the hooks, store no message */
#define UPMU_QUEUE_BLOCK (1u << 1)       /* block the thread; not for a CPU's session */

/*
 * Give a detached session a queue and memory for `capacity` messages, a power of two.  `queue`
 * NULL removes the queue; the other arguments are not used then.  `queue`, `messages` and `notify`
 * (may be NULL) must stay until the queue is removed or the session is closed.  A full queue drops
 * the message and the session is masked, so no further overflow is lost until the queue is read.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (capacity 0 without UPMU_QUEUE_NO_MESSAGES or not a
 * power of two, an unknown flag); UPMU_ERR_STATE (not detached); UPMU_ERR_COMPILED_OUT.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_session_messages(struct upmu_session *session, struct upmu_queue *queue,
                                       struct upmu_message *messages, uint32_t capacity, uint32_t flags,
                                       const struct upmu_notify *notify);

/*
 * Take the oldest messages, up to `count`; *out_count is the number taken.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (`count` is 0); UPMU_ERR_END (there is none);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any; one reader at a time.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_queue_read(struct upmu_queue *queue, struct upmu_message *messages, uint32_t count,
                                 uint32_t *out_count);

/* The number of messages in the queue.  Context: any. */
uint32_t upmu_queue_waiting(const struct upmu_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
