/* SPDX-License-Identifier: MIT */
/*
 * Branch stacks of Intel and AMD, from facts/precise: "models" is lbr_models.tsv, "bits" branch_bits.tsv, "amd"
 * amd_branch.tsv, "registers" registers.tsv, "lbr" the section of this name in rules.md.
 * Not here: call stacks, aborts of transactions, counters in entries, erratum 1452, states of sleep that empty a stack,
 * NetBurst, BRS.
 */
#include "tests/host/hardware_branches.h"

#include <string.h>

#define BIT(n) (UINT64_C(1) << (n))

enum { TOP = 0x1C9, ARCH_CONTROL = 0x14CE, ARCH_DEPTH = 0x14CF, AMD_CONTROL = 0xC000010F };

/* Of a burst so many branches are taken: more than a stack has, also if most are sorted out. */
#define TAKEN_MOST 96u

/* ---- The truth: each branch of a CPU has addresses of its own ---- */

#define KERNEL UINT64_C(0xFFFF800000000000)
#define NUMBERS BIT(37) /* as events have them (hardware_pebs.c), whose eighth kind these are */

static uint64_t mix(uint64_t value, uint64_t what)
{
    value = (value ^ what << 56) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 31) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 29;
}

/* A branch between the rings is a far one; all others are of any other kind. */
void hardware_branch_fill(struct hardware_branch *branch)
{
    uint64_t number = branch->number % NUMBERS, lot = mix(number << 2 | branch->cpu, 1);
    branch->from =
        (branch->from_user ? 0 : KERNEL) | BIT(46) | (uint64_t)branch->cpu << 44 | UINT64_C(7) << 41 | number << 4;
    branch->to = (branch->to_user ? 0 : KERNEL) | mix(number << 2 | branch->cpu, 2) >> 18;
    branch->kind =
        branch->from_user != branch->to_user ? HARDWARE_FAR : (enum hardware_branch_kind)(lot % HARDWARE_FAR);
    branch->mispredicted = lot >> 8 & 1;
    branch->in_transaction = (lot >> 9 & 15) == 0;
    branch->cycles = (uint16_t)(lot >> 16);
}

bool hardware_branch_find(uint64_t from, struct hardware_branch *out_branch)
{
    *out_branch = (struct hardware_branch){
        .cpu = from >> 44 & 3, .from_user = !(from >> 63), .number = from >> 4 & (NUMBERS - 1)};
    hardware_branch_fill(out_branch);
    return out_branch->from == from;
}

/* ---- Entries ---- */

/* registers: 0 CPL 0, 1 CPL > 0 (where the branch goes), 2 Jcc, 3 rel call, 4 ind call, 5 ret, 6 ind jmp, 7 rel jmp. */
static uint64_t bits_of(const struct hardware_branch *branch)
{
    static const uint8_t place[] = {
        [HARDWARE_CONDITIONAL] = 2, [HARDWARE_CALL] = 3,          [HARDWARE_INDIRECT_CALL] = 4,
        [HARDWARE_RETURN] = 5,      [HARDWARE_INDIRECT_JUMP] = 6, [HARDWARE_JUMP] = 7,
        [HARDWARE_FAR] = 8};
    return BIT(place[branch->kind]) | (branch->to_user ? 2 : 1);
}

/* registers: 1 is to record: 1 CPL 0, 2 CPL > 0, 16 Jcc, 17 rel jmp, 18 ind jmp, 19, 20 calls, 21, 22. */
uint64_t branches_sorted_out(const struct branches_kind *kind, const struct branches *branches)
{
    static const uint8_t place[9] = {1, 2, 16, 19, 20, 21, 18, 17, 22};
    uint64_t out = 0;
    if (kind->format != BRANCHES_ARCH)
        return kind->select ? branches->select & 0x1FF : 0;
    for (unsigned i = 0; i < 9; i++)
        out |= branches->control >> place[i] & 1 ? 0 : BIT(i);
    return out;
}

/* bits: LBR_INFO; the type and the bit of valid cycles are architectural ones. */
static uint64_t info_of(const struct branches_kind *kind, const struct hardware_branch *branch)
{
    static const uint8_t type[] = {
        [HARDWARE_CONDITIONAL] = 0, [HARDWARE_INDIRECT_JUMP] = 1, [HARDWARE_JUMP] = 2, [HARDWARE_INDIRECT_CALL] = 3,
        [HARDWARE_CALL] = 4,        [HARDWARE_RETURN] = 5,        [HARDWARE_FAR] = 8};
    uint64_t info = branch->cycles | (branch->mispredicted ? BIT(63) : 0) | (branch->in_transaction ? BIT(62) : 0);
    if (kind->format == BRANCHES_ARCH)
        info |= BIT(60) | (uint64_t)type[branch->kind] << 56;
    return info;
}

static void push(const struct branches_kind *kind, struct branches *branches, const struct hardware_branch *branch)
{
    uint64_t from = branch->from, to = branch->to, flags = branch->mispredicted ? BIT(63) : 0;
    uint64_t at = branches->newest = (branches->newest + 1) % kind->depth;
    if (kind->format == BRANCHES_MISSED) /* bits: FROM, format 3 */
        from = (from & ~BIT(63)) | flags;
    if (kind->format == BRANCHES_TSX) /* bits: FROM, format 4 */
        from = (from & ~(BIT(63) | BIT(62) | BIT(61))) | flags | (branch->in_transaction ? BIT(62) : 0);
    if (kind->format == BRANCHES_AMD) { /* bits: AMD; 63:62 of the target: speculative and right, or not speculative */
        from = (from & (BIT(58) - 1)) | flags;
        to = (to & (BIT(58) - 1)) | BIT(63) | (branch->cycles & 1 ? BIT(62) : 0);
    }
    branches->from[at] = from;
    branches->to[at] = to;
    branches->info[at] = info_of(kind, branch);
}

void branches_take(const struct branches_kind *kind, struct branches *branches, const struct branches_state *state,
                   bool user, uint64_t count, const struct hardware_trace *trace)
{
    if (count > TAKEN_MOST) {
        branches->taken += count - TAKEN_MOST;
        branches->user = user;
        count = TAKEN_MOST;
    }
    for (; count; count--) {
        struct hardware_branch branch = {.cpu = (uint8_t)state->cpu,
                                         .from_user = branches->user,
                                         .to_user = user,
                                         .number = ++branches->taken,
                                         .on = state->on};
        hardware_branch_fill(&branch);
        branches->user = user;
        branch.recorded = state->on && !(bits_of(&branch) & state->select);
        if (branch.recorded)
            push(kind, branches, &branch);
        if (trace)
            trace->taken(&branch);
        if (state->also)
            state->also(state->context, &branch);
    }
}

/* ---- Registers ---- */

/* models: in stacks without a register for the number of the newest, entry 0 is the newest. */
static bool has_top(const struct branches_kind *kind)
{
    return kind->format < BRANCHES_ARCH;
}

static unsigned place_of(const struct branches_kind *kind, const struct branches *branches, unsigned n)
{
    return has_top(kind) ? n : (unsigned)((branches->newest + kind->depth - n) % kind->depth);
}

static uint64_t *entry_at(const struct branches_kind *kind, struct branches *branches, uint32_t msr)
{
    bool pairs = kind->format == BRANCHES_AMD; /* amd: C0010300 + 2i, + 1 */
    uint32_t from = msr - kind->from, to = msr - kind->to;
    if (pairs && from < 2 * kind->depth)
        return (from & 1 ? branches->to : branches->from) + place_of(kind, branches, from / 2);
    if (!pairs && from < kind->depth)
        return branches->from + place_of(kind, branches, from);
    if (!pairs && to < kind->depth)
        return branches->to + place_of(kind, branches, to);
    if (kind->info && msr - kind->info < kind->depth)
        return branches->info + place_of(kind, branches, msr - kind->info);
    return NULL;
}

/* registers: a write of the depth clears all entries; it may be no other than that of leaf 1CH. */
static enum branches_access access_depth(const struct branches_kind *kind, struct branches *branches, bool is_write,
                                         uint64_t *value)
{
    if (!is_write) {
        *value = branches->depth;
        return BRANCHES_DONE;
    }
    if (*value != kind->depth)
        return BRANCHES_REFUSED;
    branches->depth = *value;
    memset(branches->from, 0, sizeof branches->from);
    memset(branches->to, 0, sizeof branches->to);
    memset(branches->info, 0, sizeof branches->info);
    return BRANCHES_CLEARED;
}

enum branches_access branches_access(const struct branches_kind *kind, struct branches *branches, uint32_t msr,
                                     bool is_write, uint64_t *value)
{
    uint64_t *entry = entry_at(kind, branches, msr);
    bool control = msr == (kind->format == BRANCHES_ARCH ? ARCH_CONTROL : AMD_CONTROL) && !has_top(kind);
    uint64_t bits = kind->format == BRANCHES_ARCH ? 0x7F000F : BIT(6); /* registers, row 14CE; amd, row C000010F */
    if (has_top(kind) && msr == TOP) {
        *value = is_write ? *value : branches->newest;
        return is_write ? BRANCHES_REFUSED : BRANCHES_DONE;
    }
    if (kind->format == BRANCHES_ARCH && msr == ARCH_DEPTH)
        return access_depth(kind, branches, is_write, value);
    if (control && is_write && (*value & ~bits))
        return BRANCHES_REFUSED;
    if (control)
        entry = &branches->control;
    if (!entry)
        return BRANCHES_NO_REGISTER;
    if (is_write)
        *entry = *value;
    else
        *value = *entry;
    return is_write && !control ? BRANCHES_CLEARED : BRANCHES_DONE;
}

void branches_entry(const struct branches_kind *kind, const struct branches *branches, unsigned n, uint64_t out[3])
{
    unsigned at = (unsigned)((branches->newest + kind->depth - n) % kind->depth);
    out[0] = branches->from[at];
    out[1] = branches->to[at];
    out[2] = branches->info[at];
}

static unsigned add_rows(struct hardware_register *out, unsigned found, unsigned room, uint32_t first, unsigned count)
{
    for (unsigned i = 0; i < count && found < room; i++)
        out[found++] = (struct hardware_register){.msr = first + i, .owned = ~UINT64_C(0), .counter = true};
    return found;
}

unsigned branches_registers(const struct branches_kind *kind, struct hardware_register *out, unsigned room,
                            bool shares_select)
{
    bool pairs = kind->format == BRANCHES_AMD;
    unsigned found = add_rows(out, 0, room, kind->from, pairs ? 2 * kind->depth : kind->depth);
    found = add_rows(out, found, room, kind->to, pairs ? 0 : kind->depth);
    found = add_rows(out, found, room, kind->info, kind->info ? kind->depth : 0);
    struct hardware_register rest[] = {
        {kind->select, 0x1FF, false, shares_select},
        {has_top(kind) ? TOP : 0, 0, true, false},
        {kind->format == BRANCHES_ARCH ? ARCH_CONTROL
         : pairs                       ? AMD_CONTROL
                                       : 0,
         pairs ? BIT(6) : 0x7F0007, false, false},
        {kind->format == BRANCHES_ARCH ? ARCH_DEPTH : 0, ~UINT64_C(0), true, false},
    };
    for (unsigned i = 0; i < sizeof rest / sizeof rest[0] && found < room; i++)
        if (rest[i].msr)
            out[found++] = rest[i];
    return found;
}

void branches_leave(const struct branches_kind *kind, struct branches *branches, uint64_t seed)
{
    for (unsigned i = 0; i < kind->depth; i++) {
        branches->from[i] = mix(seed, 10 + i) >> 17;
        branches->to[i] = mix(seed, 50 + i) >> 17;
        branches->info[i] = mix(seed, 90 + i) & 0xFFFF;
    }
    branches->newest = seed % kind->depth;
    if (mix(seed, 3) % 4 == 0 && kind->select)
        branches->select = mix(seed, 4) & 0x1FF;
    if (mix(seed, 5) % 4 == 0 && !has_top(kind))
        branches->control = kind->format == BRANCHES_ARCH ? 0x7F0007 : BIT(6);
}
