/* SPDX-License-Identifier: MIT */
/* The structure of a session's queue of messages (upmu/message.h).  The host may read `dropped`. */
#ifndef UPMU_PRIVATE_MESSAGE_H
#define UPMU_PRIVATE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The queue of one session, in memory of the caller.  Handlers and brackets write messages; one reader takes them. */
struct upmu_queue {
    uint32_t dropped; /* number of messages that found the queue full, since it was given to the session */
    /* private */
    struct upmu_message *messages;
    const struct upmu_notify *notify;
    uint32_t capacity;
    uint32_t flags;
    volatile uint32_t head; /* number of messages put so far; written by the handler */
    volatile uint32_t tail; /* number of messages taken so far; written by the reader */
    uint32_t dropped_told;  /* how many of `dropped` messages have reported */
    volatile bool blocked;  /* upmu_notify.block was called, and the session is not restarted yet */
};

#endif
