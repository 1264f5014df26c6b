/* SPDX-License-Identifier: MIT */
/*
 * Branch traces in memory (BTS), from facts/precise: "bts" is the section of this name in rules.md, "registers", "area"
 * and "records" are registers.tsv, ds_area.tsv and records.tsv.
 *
 * Where these are silent, public pages of Intel's manual of 2009 say more (253668-032, "manual"): 16.4.9.3 that a
 * threshold which is not beyond the maximum interrupts in a ring, too; 16.5 that Atoms clear TR where an interrupt
 * freezes branches; table 16-5 that both OFF bits leave nothing.  Nothing that was found says whether the CPL of an OFF
 * bit is that of a branch's source or of its target, whether an index that has come to the end of a ring says so or is
 * the begin's, or when a record is in memory (of precise ones: with the next write of a register).  Here each is so on
 * some machines.
 * Not here: branches of interrupts and exceptions that are none of the branches of code, SMM, messages on the bus.
 */
#include "tests/host/hardware_traces.h"

#include <string.h>

/* registers: 9 and 10; only with DS-CPL can they be set.  manual: both leave nothing. */
bool traces_want(const struct traces_kind *kind, uint64_t control, const struct hardware_branch *branch)
{
    bool user = kind->ways & HARDWARE_TRACES_AFTER ? branch->to_user : branch->from_user;
    return (control & TRACES_ON) == TRACES_ON && !(control & (user ? 0x400 : 0x200));
}

/* records: bit 4 is all that is known of the flags. */
bool traces_take_off(const struct traces_kind *kind, struct traces *traces, const struct hardware_branch *branch)
{
    uint64_t *record = traces->flight[traces->count++];
    record[0] = branch->from;
    record[1] = branch->to;
    record[2] = branch->mispredicted ? 0 : 0x10;
    if (kind->ways & HARDWARE_TRACES_NOISE)
        record[2] |= (branch->from * UINT64_C(0x9E3779B97F4A7C15)) & ~UINT64_C(0x10);
    return !(kind->ways & HARDWARE_TRACES_LATE) || traces->count == TRACES_FLIGHT;
}

/* area: a word of 8 or 4 bytes. */
enum { BASE, INDEX, MAXIMUM, THRESHOLD };

static bool word(const struct traces_kind *kind, uint64_t area, unsigned cpu, unsigned number, uint64_t *value,
                 bool is_write)
{
    unsigned bytes = kind->ways & HARDWARE_TRACES_NARROW ? 4 : 8;
    *value &= is_write ? ~UINT64_C(0) : 0;
    return kind->memory->access(cpu, area + number * bytes, value, bytes, is_write); /* (Little-endian, as x86 is.) */
}

/* records: 24 bytes, or 12. */
static bool store(const struct traces_kind *kind, unsigned cpu, uint64_t index, const uint64_t *record)
{
    uint32_t narrow[3] = {(uint32_t)record[0], (uint32_t)record[1], (uint32_t)record[2]};
    uint64_t wide[3] = {record[0], record[1], record[2]};
    if (kind->ways & HARDWARE_TRACES_NARROW)
        return kind->memory->access(cpu, index, narrow, sizeof narrow, true);
    return kind->memory->access(cpu, index, wide, sizeof wide, true);
}

static enum traces_landing land_one(const struct traces_kind *kind, uint64_t control, uint64_t area, unsigned cpu,
                                    const uint64_t *record)
{
    uint64_t at[4], bytes = kind->ways & HARDWARE_TRACES_NARROW ? 12 : 24;
    bool ring = !(control & TRACES_INTERRUPT);
    for (unsigned i = 0; i < 4; i++)
        if (!word(kind, area, cpu, i, &at[i], false))
            return TRACES_STALE;
    if (at[INDEX] + bytes > at[MAXIMUM]) { /* bts: wraps only in a ring; r 5: at the maximum nothing, silently */
        if (!ring)
            return TRACES_STORED;
        at[INDEX] = at[BASE];
    }
    if (!store(kind, cpu, at[INDEX], record))
        return TRACES_STALE;
    at[INDEX] += bytes;
    bool passed = at[INDEX] >= at[THRESHOLD] && (!ring || (kind->ways & HARDWARE_TRACES_TELLS)); /* manual */
    if (ring && !(kind->ways & HARDWARE_TRACES_LAZY) && at[INDEX] + bytes > at[MAXIMUM])
        at[INDEX] = at[BASE];
    if (!word(kind, area, cpu, INDEX, &at[INDEX], true))
        return TRACES_STALE;
    return passed ? TRACES_THRESHOLD : TRACES_STORED;
}

enum traces_landing traces_land(const struct traces_kind *kind, struct traces *traces, uint64_t control, uint64_t area,
                                unsigned cpu)
{
    enum traces_landing all = TRACES_STORED;
    struct traces flight = *traces;
    traces->count = 0;
    for (unsigned i = 0; i < flight.count; i++) {
        enum traces_landing one = land_one(kind, control, area, cpu, flight.flight[i]);
        all = one > all ? one : all;
    }
    return all;
}
