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
 * Append a message about an overflow to the session's queue, and call the functions of queue->notify. A session without
 * a queue gets no message. Returns false if the queue had no room: the message is counted as dropped. Context: nmi.
 */
bool upmu_message_put(const struct upmu_overflow *overflow);

#endif
