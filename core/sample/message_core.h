/* SPDX-License-Identifier: MIT */
/*
 * Declarations for the writer of a message queue.
 */
#ifndef UPMU_CORE_MESSAGE_CORE_H
#define UPMU_CORE_MESSAGE_CORE_H

#include <upmu/format.h>
#include <upmu/message.h>

/*
 * Queue a message about an overflow that notifies, and call the hooks; for a session without a queue do nothing.
 * Returns false if there was no room. Context: nmi.
 */
bool upmu_message_put(const struct upmu_overflow *overflow);

/* Let the thread continue that a message has blocked: its session is restarted. Context: any. */
void upmu_message_restarted(struct upmu_session *session);

#endif
