/* SPDX-License-Identifier: MIT */
/*
 * Precise records of Intel (PEBS): the debug store area and the records of formats 0 to 6, from facts/precise: "r 1" is
 * rules.md, section "A counter with PEBS", item 1; "records" and "area" are records.tsv and ds_area.tsv.
 * Not here: format 15, NetBurst, BTS, output to PT, load latency and stores (their records have an address of their own
 * event), retire latency, transactions that abort.
 */
#include "tests/host/hardware_pebs.h"

#include <string.h>

#define BIT(n) (UINT64_C(1) << (n))

/* ---- The truth: each event of a CPU has an instruction of its own ---- */

#define KERNEL UINT64_C(0xFFFF800000000000)
#define ORDINALS BIT(37) /* 16 bytes for an instruction, 8 kinds of events, 4 CPUs; below bit 46 */

static uint64_t mix(uint64_t value, uint64_t what)
{
    value = (value + what * UINT64_C(0xA24BAED4963EE407)) ^ value >> 29;
    value = (value ^ value >> 32) * UINT64_C(0x9FB21C651E98DF25);
    return value ^ value >> 28;
}

void hardware_record_fill(struct hardware_record *record)
{
    uint64_t ring = record->user ? 0 : KERNEL;
    record->instruction = ring | BIT(46) | (uint64_t)record->cpu << 44 | (uint64_t)record->event << 41 |
                          (record->ordinal % ORDINALS) << 4;
    record->next = record->instruction + 1 + mix(record->instruction, 1) % 15;
    record->address = ring | (mix(record->instruction, 2) >> 20);
    record->source = mix(record->instruction, 3) & 0xFFFF;
    record->weight = mix(record->instruction, 4) & 0xFFFF;
    record->transaction = mix(record->instruction, 5);
    for (unsigned i = 0; i < 18; i++)
        record->gpr[i] = mix(record->instruction, 16 + i);
    record->gpr[1] = record->next; /* records: the address after the instruction */
    record->gpr[6] = ring | (record->gpr[6] >> 20);
}

bool hardware_record_find(uint64_t address, bool is_next, struct hardware_record *out_record)
{
    *out_record = (struct hardware_record){.cpu = address >> 44 & 3,
                                           .user = !(address >> 63),
                                           .event = (enum hardware_event)(address >> 41 & 7),
                                           .ordinal = address >> 4 & (ORDINALS - 1)};
    hardware_record_fill(out_record);
    return out_record->event < HARDWARE_EVENTS &&
           address == (is_next ? out_record->next : out_record->instruction);
}

/* ---- The debug store area ---- */

/* area: 64-bit offsets */
enum { BASE = 32, INDEX = 40, MAXIMUM = 48, THRESHOLD = 56, RESETS = 64 };

static bool get(const struct pebs_kind *kind, const struct pebs *pebs, unsigned cpu, unsigned offset,
                uint64_t *out_word)
{
    return kind->memory && kind->memory->access(cpu, pebs->area + offset, out_word, sizeof *out_word, false);
}

bool pebs_slot(const struct pebs_kind *kind, const struct pebs *pebs, unsigned cpu, uint64_t counter_bit,
               uint64_t *out_value)
{
    unsigned number = (unsigned)__builtin_ctzll(counter_bit), general = kind->format < 5 ? 8 : 32;
    return get(kind, pebs, cpu, RESETS + 8 * (number < 32 ? number : number - 32 + general), out_value);
}

uint64_t pebs_buffer_bytes(const struct pebs_kind *kind, const struct pebs *pebs, unsigned cpu)
{
    uint64_t base, maximum;
    return get(kind, pebs, cpu, BASE, &base) && get(kind, pebs, cpu, MAXIMUM, &maximum) ? maximum - base : 0;
}

/* ---- Records ---- */

static void add(struct pebs *pebs, uint64_t word)
{
    pebs->flight[pebs->bytes / 8] = word;
    pebs->bytes = (uint16_t)(pebs->bytes + 8);
}

/* records: formats 0 to 3, each with what the one before has. */
static void make_plain(unsigned format, struct pebs *pebs, const struct hardware_record *record,
                       const struct pebs_view *view, uint64_t time)
{
    static const uint8_t order[18] = {0, 1, 2, 5, 3, 4, 8, 9, 7, 6, 10, 11, 12, 13, 14, 15, 16, 17};
    for (unsigned i = 0; i < 18; i++)
        add(pebs, record->gpr[order[i]]);
    if (format < 1)
        return;
    add(pebs, format < 3 ? view->status : record->named);
    add(pebs, record->address);
    add(pebs, record->source);
    add(pebs, record->weight);
    if (format < 2)
        return;
    add(pebs, record->instruction);
    add(pebs, record->transaction);
    if (format >= 3)
        add(pebs, time);
}

/* records: counters of format 6, general and fixed ones that the configuration names, then metrics. */
static void add_counters(struct pebs *pebs, const struct pebs_view *view)
{
    uint32_t general = (view->groups & BIT(4)) ? (uint32_t)(pebs->config >> 32 & 0xFFFF) : 0;
    uint32_t fixed = (view->groups & BIT(4)) ? (uint32_t)(pebs->config >> 48 & 0xFF) : 0;
    add(pebs, general | (uint64_t)fixed << 32);
    add(pebs, (view->groups & BIT(5)) ? 3 : 0);
    for (unsigned i = 0; i < 16; i++)
        if (general >> i & 1)
            add(pebs, view->general[i]);
    for (unsigned i = 0; i < 8; i++)
        if (fixed >> i & 1)
            add(pebs, view->fixed[i]);
    for (unsigned i = 0; (view->groups & BIT(5)) && i < 2; i++)
        add(pebs, 0);
}

/* records: branches, the newest first, as LBR_INFO has them. */
static void add_branch(struct pebs *pebs, const struct hardware_record *record, const struct pebs_view *view,
                       unsigned n)
{
    uint64_t entry[3] = {0, 0, 0};
    if (view->stack && n < view->stack->depth)
        branches_entry(view->stack, view->branches, n, entry);
    for (unsigned i = 0; i < 3; i++)
        add(pebs, view->stack ? entry[i] : mix(record->instruction, 128 + 3 * n + i));
}

/* records: adaptive, formats 4 to 6. */
static void make_adaptive(struct pebs *pebs, const struct hardware_record *record, const struct pebs_view *view,
                          uint64_t time)
{
    add(pebs, 0);
    add(pebs, record->instruction);
    add(pebs, record->named);
    add(pebs, time);
    if (view->groups & BIT(0)) {
        add(pebs, record->address);
        add(pebs, record->source);
        add(pebs, record->weight);
        add(pebs, record->transaction);
    }
    for (unsigned i = 0; (view->groups & BIT(1)) && i < 18; i++)
        add(pebs, record->gpr[i]);
    for (unsigned i = 0; (view->groups & BIT(2)) && i < 32; i++)
        add(pebs, mix(record->instruction, 64 + i));
    for (unsigned i = 0; (view->groups & BIT(3)) && i <= (view->groups >> 24 & 31); i++)
        add_branch(pebs, record, view, i);
    if (view->groups & (BIT(4) | BIT(5)))
        add_counters(pebs, view);
    pebs->flight[0] = (uint32_t)view->groups | (uint64_t)pebs->bytes << 48;
}

/* r 5: at the maximum nothing is stored.  Whether a record that begins before it may end behind it no fact says. */
static bool is_full(const struct pebs_kind *kind, uint64_t index, uint64_t maximum, unsigned bytes)
{
    return kind->full_at_maximum ? index >= maximum : index + bytes > maximum;
}

bool pebs_take_off(const struct pebs_kind *kind, struct pebs *pebs, struct hardware_record *record,
                   const struct pebs_view *view)
{
    uint64_t index, maximum, time = mix(record->ordinal, 7) >> 16;
    hardware_record_fill(record);
    pebs->bytes = 0;
    if (kind->format < 4)
        make_plain(kind->format, pebs, record, view, time);
    else
        make_adaptive(pebs, record, view, time);
    if (!get(kind, pebs, record->cpu, INDEX, &index) || !get(kind, pebs, record->cpu, MAXIMUM, &maximum))
        return false;
    record->registers = kind->format < 4 || (view->groups & BIT(1));
    record->branches = kind->format >= 4 && (view->groups & BIT(3)) && view->stack;
    record->dropped = is_full(kind, index, maximum, pebs->bytes);
    if (record->dropped)
        pebs->bytes = 0;
    return true;
}

enum pebs_landing pebs_land(const struct pebs_kind *kind, struct pebs *pebs, unsigned cpu)
{
    uint64_t base, index, threshold;
    unsigned bytes = pebs->bytes;
    pebs->due = 0;
    pebs->bytes = 0;
    if (!bytes)
        return PEBS_STORED;
    if (!get(kind, pebs, cpu, BASE, &base) || !get(kind, pebs, cpu, INDEX, &index) ||
        !get(kind, pebs, cpu, THRESHOLD, &threshold) || index < base ||
        !kind->memory->access(cpu, index, pebs->flight, bytes, true))
        return PEBS_STALE;
    index += bytes;
    if (!kind->memory->access(cpu, pebs->area + INDEX, &index, sizeof index, true))
        return PEBS_STALE;
    return index >= threshold ? PEBS_THRESHOLD : PEBS_STORED; /* r 5 */
}
