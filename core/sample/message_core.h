/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the writer of a message queue.
 */
#ifndef UPMU_CORE_MESSAGE_CORE_H
#define UPMU_CORE_MESSAGE_CORE_H

#include <upmu/abi.h>
#include <upmu/format.h>
#include <upmu/message.h>

/*
 * Queue a message about an overflow that notifies, and call the hooks; for a session without a queue do nothing.
 * Returns false if there was no room. Context: nmi.
 */
bool upmu_message_put(const struct upmu_overflow *overflow);

#endif
