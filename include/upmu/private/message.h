/* SPDX-License-Identifier: MIT */
/*
 * The structure of a queue of messages (upmu/message.h).  `dropped` may be read.
 */
#ifndef UPMU_PRIVATE_MESSAGE_H
#define UPMU_PRIVATE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Messages of one session: one writer (the handler), one reader.  Caller's memory. */
struct upmu_queue {
    uint32_t dropped; /* messages that found no room, in all */
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
