/* SPDX-License-Identifier: MIT */
/*
 * The writer of a session's message queue (struct upmu_queue).
 */
#ifndef UPMU_CORE_MESSAGE_CORE_H
#define UPMU_CORE_MESSAGE_CORE_H

#include <upmu/abi.h>
#include <upmu/format.h>
#include <upmu/message.h>

/*
 * Tell a program of an overflow: append a message to the session's queue (not with UPMU_QUEUE_NO_MESSAGES), and call
 * the functions of queue->notify, if there are any: `block` only with UPMU_QUEUE_BLOCK and if the program is not
 * blocked yet. Without a queue nothing is done. Returns false if the queue had no room: the message is counted as
 * dropped, and the functions were called all the same. Context: nmi.
 */
bool upmu_message_put(const struct upmu_overflow *overflow);

#endif
