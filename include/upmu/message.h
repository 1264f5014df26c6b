/* SPDX-License-Identifier: MIT */
/*
 * Messages: entries of a session's queue, which tell a program of overflows.
 *
 * When an event that is sampled with UPMU_SAMPLING_NOTIFY overflows, the library puts a message into the queue of its
 * session, calls the hooks of struct upmu_notify, and masks the session: the session is UPMU_SESSION_MASKED until
 * upmu_session_restart().  A format of the host (upmu/format.h) can decide otherwise.
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
    UPMU_MESSAGE_OVERFLOW = 1 /* one or more events of the session overflowed */
};

/* A message: one or more events of a session overflowed together. */
struct upmu_message {
    uint32_t type;    /* enum upmu_message_type */
    uint32_t process; /* upmu_frame.process of the interrupted code */
    uint32_t thread;  /* upmu_frame.thread of the interrupted code */
    uint32_t events;  /* mask: bit i is set if event i of the set `set` overflowed */
    uint16_t set;     /* upmu_set.number of the set that was active then */
    uint16_t cpu;     /* number of the CPU, in the order of upmu_cpu_init() */
    uint32_t dropped; /* number of messages that found the queue full, since the message before this one */
    uint64_t ip;      /* interrupted instruction */
};

/*
 * Functions by which the library tells the host of a message.  Each may be NULL.  The interrupt handler (which may be
 * an NMI), or a local call that finds the overflow itself, calls them for every overflow that notifies, also where no
 * message is stored.  They must leave the work to code that runs later.
 */
struct upmu_notify {
    void *context; /* first argument of each function */
    /*
     * Wake the programs that wait for messages of this session (poll, select).  Called for every overflow that
     * notifies, also if no message is stored (UPMU_QUEUE_NO_MESSAGES, or the queue is full).  Context: nmi.
     */
    void (*wake)(void *context, struct upmu_session *session);
    /*
     * Send the signal with number `number` (the member signal_number) to the program that wants it.  Called only if
     * signal_number is not 0.  Context: nmi.
     */
    void (*signal)(void *context, struct upmu_session *session, int number);
    /*
     * Keep the monitored thread from returning to user code until `unblock`.  Called with UPMU_QUEUE_BLOCK only, and
     * not again before `unblock`.  Context: nmi.
     */
    void (*block)(void *context, struct upmu_session *session);
    /* Let the blocked thread continue.  Only upmu_session_restart(), and upmu_message_restarted() of upmu/abi.h, call
       it: if you stop or close the session instead, unblock the thread yourself.  Context: that of these calls. */
    void (*unblock)(void *context, struct upmu_session *session);
    int signal_number; /* for `signal`; 0: no signal is sent */
};

/* Flags of upmu_session_messages(). */
#define UPMU_QUEUE_NO_MESSAGES (1u << 0) /* store no message; the hooks of upmu_notify are called all the same */
#define UPMU_QUEUE_BLOCK (1u << 1)       /* call `block` and `unblock`; for a session of a thread, not of a CPU */

/*
 * Give a detached session a queue and memory for `capacity` messages, a power of two.  `queue` NULL removes the queue;
 * the other arguments are not used then.  `queue`, `messages` and `notify` (may be NULL) must stay until the queue is
 * removed or the session is closed.  Each message masks the session until upmu_session_restart(), unless the session's
 * format decides otherwise.  A message that finds the queue full is dropped and counted, and always masks the session.
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
 * Take the oldest messages out of the queue, at most `count`; *out_count is the number taken.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (`count` is 0); UPMU_ERR_END (the queue is empty);
 * UPMU_ERR_COMPILED_OUT.
 * Context: any; one reader at a time.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_queue_read(struct upmu_queue *queue, struct upmu_message *messages, uint32_t count,
                                 uint32_t *out_count);

/* Return the number of messages that are in the queue now.  Context: any. */
uint32_t upmu_queue_waiting(const struct upmu_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
