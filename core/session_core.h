/* SPDX-License-Identifier: MIT */
/*
 * What other core files need of sessions.
 */
#ifndef UPMU_CORE_SESSION_CORE_H
#define UPMU_CORE_SESSION_CORE_H

#include <upmu/session.h>

/* Fill session->why with a status and nothing else; returns it. */
enum upmu_status upmu_session_refuse(struct upmu_session *session, enum upmu_status status);

/* Stop, release and unlink a session.  Inside a local bracket. */
enum upmu_status upmu_session_leave(struct upmu_cpu *cpu, struct upmu_session *session);

#endif
