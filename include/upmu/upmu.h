/* SPDX-License-Identifier: MIT */
/*
 * upmu: performance counters for systems without Linux.
 *
 * What holds everywhere:
 * - The caller owns all memory.  If a call keeps a pointer, its comment says for how long.
 * - Calls that can refuse return enum upmu_status.  A refused call has changed nothing, unless its
 * comment says so.
 * - Pointers are not NULL unless the comment allows it.
 * - Counts are 64-bit and never negative; periods count events, times end in _ns.
 * - The last line of a comment is the context in which a call may be made (upmu/port.h).
 * - 0 is the default of every field.
 */
#ifndef UPMU_UPMU_H
#define UPMU_UPMU_H

#include <upmu/config.h>
#include <upmu/status.h>
#include <upmu/port.h>
#include <upmu/pmu.h>
#include <upmu/event.h>
#include <upmu/place.h>
#include <upmu/pack.h>
#include <upmu/session.h>
#include <upmu/probe.h>
#include <upmu/message.h>
#include <upmu/format.h>
#include <upmu/page.h>
#include <upmu/results.h>
#include <upmu/metric.h>
#include <upmu/ibs.h>
#include <upmu/branches.h>
#include <upmu/thread.h>
#include <upmu/set.h>
#include <upmu/unit.h>
#include <upmu/world.h>

#endif
