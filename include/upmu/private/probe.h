/* SPDX-License-Identifier: MIT */
/*
 * The memory that a probe works with (upmu/probe.h).
 */
#ifndef UPMU_PRIVATE_PROBE_H
#define UPMU_PRIVATE_PROBE_H

#include <upmu/upmu.h>

/* The session that counts during the probe, and its count; no pointer to them remains. */
struct upmu_probe_work {
    /* private */
    struct upmu_count count;
    struct upmu_session session;
};

#endif
