/* SPDX-License-Identifier: MIT */
/*
 * Branch traces in memory of one CPU of Intel (BTS), as hardware_intel.c uses them.
 */
#ifndef UPMU_TESTS_HOST_HARDWARE_TRACES_H
#define UPMU_TESTS_HOST_HARDWARE_TRACES_H

#include "tests/host/hardware.h"

/* IA32_DEBUGCTL */
#define TRACES_ON UINT64_C(0xC0)         /* TR and BTS */
#define TRACES_INTERRUPT UINT64_C(0x100) /* BTINT */
#define TRACES_OFF UINT64_C(0x600)       /* BTS_OFF_OS and BTS_OFF_USR */

#define TRACES_FLIGHT 3u

/* Records that are not in memory yet: until the next write of a register at the latest. */
struct traces {
    uint64_t flight[TRACES_FLIGHT][3]; /* source, target, flags */
    uint8_t count;
};

struct traces_kind {
    uint16_t ways; /* HARDWARE_TRACES_... */
    const struct hardware_traces *memory;
};

/* What of a branch is stored with these bits of IA32_DEBUGCTL. */
bool traces_want(const struct traces_kind *kind, uint64_t control, const struct hardware_branch *branch);

/* A branch that is to be stored; true: it has to land at once. */
bool traces_take_off(const struct traces_kind *kind, struct traces *traces, const struct hardware_branch *branch);

enum traces_landing { TRACES_STORED, TRACES_THRESHOLD, TRACES_STALE };

/* Store what is in flight.  TRACES_STALE: the area, or what it names, is no memory that is lent to this CPU. */
enum traces_landing traces_land(const struct traces_kind *kind, struct traces *traces, uint64_t control, uint64_t area,
                                unsigned cpu);

#endif
