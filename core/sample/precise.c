/* SPDX-License-Identifier: MIT */
/*
 * Precise records (PEBS) of formats 0 to 6 and of the architectural format, 15.
 *
 * Formats 0 to 3 have one layout, each longer than the one before.  Records of formats 4 to 6 begin with a basic group
 * that names the other groups, and the size.  An architectural record consists of fragments, each with a header that
 * names its groups and its size.
 *
 * Sources: Linux 6.12 arch/x86/include/asm/perf_event.h and events/intel/ds.c; counters of format 6: Linux commit
 * "perf/x86/intel: Support PEBS counters snapshotting"; format 15: Linux patches "perf/x86/intel: Process arch-PEBS
 * records" and "Support arch-PEBS based counters snapshotting" (2025).
 */
#include "core/sample/precise_core.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#if UPMU_PRECISE

/* Fields of PERF_CAPABILITIES: the format of records, and whether they have the latency of the retirement. */
#define CAPABILITY_FORMAT(capabilities) ((unsigned)((capabilities) >> 8) & 0xfu)
#define CAPABILITY_RETIRE UPMU_BIT64(17)
#define FORMAT_ADAPTIVE 4u
#define FORMAT_SNAPSHOTS 6u
#define FORMAT_ARCHITECTURAL 15u

/*
 * How many words records of formats 0 to 3 have, and places of words in them: the address, and words after registers.
 */
static const uint8_t fixed_words[] = {18, 22, 24, 25};
enum { WORD_IP = 1, WORD_STATUS = 18, WORD_ADDRESS, WORD_SOURCE, WORD_LATENCY, WORD_EVENTING, WORD_TUNING, WORD_TSC };

/* Groups of formats 4 to 6: bits of the record's first word, which are those of PEBS_DATA_CFG. */
#define GROUP_MEMORY UPMU_BIT32(0)
#define GROUP_REGISTERS UPMU_BIT32(1)
#define GROUP_XMM UPMU_BIT32(2)
#define GROUP_BRANCHES UPMU_BIT32(3)
#define GROUP_COUNTERS (UPMU_BIT32(4) | UPMU_BIT32(5))
#define GROUPS_ADAPTIVE (GROUP_MEMORY | GROUP_REGISTERS | GROUP_XMM | GROUP_BRANCHES)
#define GROUP_BITS UINT32_C(0xffffff) /* the bits above are the number of branches - 1 */

/* Groups of architectural records: bits of a fragment's header. */
#define ARCH_SIZE UINT64_C(0xffff)
#define ARCH_MODE UPMU_BIT64(30) /* the code has 64 bits */
#define ARCH_CONTINUED UPMU_BIT64(31)
#define ARCH_COUNTERS (UINT64_C(0x1f) << 35)
#define ARCH_BRANCHES_SHIFT 40u
#define ARCH_BRANCHES (UINT64_C(3) << ARCH_BRANCHES_SHIFT) /* 1: 8 entries, 2: 16, 3: as many as the group says */
#define ARCH_REGISTERS UPMU_BIT64(61)
#define ARCH_MEMORY UPMU_BIT64(62)
#define ARCH_BASIC UPMU_BIT64(63)
#define ARCH_GROUPS (ARCH_BASIC | ARCH_MEMORY | ARCH_REGISTERS | ARCH_VECTORS | ARCH_BRANCHES | ARCH_COUNTERS)

/* Groups of vector registers: XMM, the upper halves of YMM, mask registers, the upper halves of ZMM, ZMM16 to 31. */
#define ARCH_VECTORS (UPMU_BIT64(49) | UPMU_BIT64(50) | UPMU_BIT64(53) | UPMU_BIT64(54) | UPMU_BIT64(55))
static const struct {
    uint8_t bit;
    uint16_t bytes;
} vectors[] = {{49, 256}, {50, 256}, {53, 64}, {54, 512}, {55, 1024}};

/* Bytes of groups: those of both kinds of records, then those of formats 4 to 6, then architectural ones. */
enum {
    BYTES_REGISTERS = 8 * UPMU_PRECISE_REGISTERS,
    BYTES_BRANCH = 24,
    BYTES_COUNTERS = 16, /* the masks, before the values */
    BYTES_BASIC = 32,
    BYTES_MEMORY = 32,
    BYTES_XMM = 256,
    BYTES_ARCH_HEADER = 16,
    BYTES_ARCH_BASIC = 48,
    BYTES_ARCH_MEMORY = 64,
    BYTES_ARCH_REGISTERS = BYTES_REGISTERS + 16, /* and a shadow stack pointer, and a reserved word */
    BYTES_ARCH_VECTORS = 16,                     /* the header of all groups of vectors */
    BYTES_ARCH_BRANCHES = 48
};

/* In the group of counters: the fixed counters' positions below PERF_METRICS, and the word that says "with metrics". */
#define FIXED_POSITIONS UINT32_C(0xffff)
#define METRICS_FOLLOW 3u

/* The bytes of a record, or of a fragment, that no group has been taken from yet. */
struct precise_rest {
    const uint8_t *at;
    size_t left;
};

static uint64_t record_word(const uint8_t *bytes, unsigned word)
{
    uint64_t value;

    memcpy(&value, bytes + 8u * word, sizeof value);
    return value;
}

/* Take a number of bytes from the front of the rest; NULL: there are fewer. */
static const uint8_t *take_group(struct precise_rest *rest, size_t bytes)
{
    const uint8_t *group = rest->at;

    if (bytes > rest->left)
        return NULL;
    rest->at += bytes;
    rest->left -= bytes;
    return group;
}

/* ---- Formats 0 to 3 ---- */

static enum upmu_precise_error decode_fixed(unsigned format, const uint8_t *bytes, size_t left,
                                            struct upmu_precise *out)
{
    out->bytes = 8u * fixed_words[format];
    if (out->bytes > left)
        return UPMU_PRECISE_CUT;
    out->registers = bytes;
    out->old_order = true;
    out->parts = UPMU_PART_REGISTERS;
    out->ip = record_word(bytes, WORD_IP);
    out->counters = 1;
    if (format >= 1) {
        out->counters = record_word(bytes, WORD_STATUS);
        out->address = record_word(bytes, WORD_ADDRESS);
        out->source = record_word(bytes, WORD_SOURCE);
        out->weight = record_word(bytes, WORD_LATENCY);
        out->parts |= UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT;
    }
    if (format >= 2) {
        out->ip = record_word(bytes, WORD_EVENTING);
        out->exact = true;
        out->transaction = record_word(bytes, WORD_TUNING);
        out->parts |= UPMU_PART_TRANSACTION;
    }
    if (format >= 3)
        out->tsc = record_word(bytes, WORD_TSC);
    return UPMU_PRECISE_FINE;
}

/* ---- Groups of formats 4 to 6 and 15 ---- */

static enum upmu_precise_error take_branch_group(struct precise_rest *rest, uint64_t count, struct upmu_precise *out)
{
    if (out->branches)
        return UPMU_PRECISE_BAD_GROUP;
    if (count > UPMU_BRANCHES_MOST)
        return UPMU_PRECISE_BAD_COUNT;
    out->branches = take_group(rest, (size_t)count * BYTES_BRANCH);
    out->branch_count = (uint8_t)count;
    out->parts |= UPMU_PART_BRANCHES;
    return out->branches ? UPMU_PRECISE_FINE : UPMU_PRECISE_BAD_LENGTH;
}

/*
 * The group of counters has a mask of general counters, a mask of fixed ones, a word for the metrics, and a reserved
 * word, of 32 bits each; then the values of the counters, the lowest first, then slots and PERF_METRICS.
 */
static enum upmu_precise_error take_counter_group(struct precise_rest *rest, struct upmu_precise *out)
{
    const uint8_t *group = take_group(rest, BYTES_COUNTERS);
    uint32_t general, fixed, metrics;

    if (!group)
        return UPMU_PRECISE_BAD_LENGTH;
    general = (uint32_t)record_word(group, 0);
    fixed = (uint32_t)(record_word(group, 0) >> 32);
    metrics = (uint32_t)record_word(group, 1);
    if (out->values || (metrics && metrics != METRICS_FOLLOW))
        return UPMU_PRECISE_BAD_GROUP;
    if (fixed & ~FIXED_POSITIONS)
        return UPMU_PRECISE_BAD_COUNT;
    out->counted = general | (uint64_t)fixed << 32;
    if (metrics)
        out->counted |= UPMU_BIT64(UPMU_PRECISE_METRICS) | UPMU_BIT64(UPMU_PRECISE_SLOTS);
    out->values = take_group(
        rest, 8u * (upmu_bits_count((uint32_t)out->counted) + upmu_bits_count((uint32_t)(out->counted >> 32))));
    out->parts |= UPMU_PART_COUNTERS;
    return out->values ? UPMU_PRECISE_FINE : UPMU_PRECISE_BAD_LENGTH;
}

/* ---- Formats 4 to 6 ---- */

static enum upmu_precise_error take_adaptive(struct precise_rest *rest, uint32_t groups, struct upmu_precise *out)
{
    enum upmu_precise_error error = UPMU_PRECISE_FINE;
    const uint8_t *memory = rest->at;

    if (groups & GROUP_MEMORY) {
        if (!take_group(rest, BYTES_MEMORY))
            return UPMU_PRECISE_BAD_LENGTH;
        out->address = record_word(memory, 0);
        out->source = record_word(memory, 1);
        out->weight = record_word(memory, 2);
        out->transaction = record_word(memory, 3);
        out->parts |= UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION;
    }
    if (groups & GROUP_REGISTERS) {
        out->registers = take_group(rest, BYTES_REGISTERS);
        out->parts |= UPMU_PART_REGISTERS;
        if (!out->registers)
            return UPMU_PRECISE_BAD_LENGTH;
    }
    if (groups & GROUP_XMM && !take_group(rest, BYTES_XMM))
        return UPMU_PRECISE_BAD_LENGTH;
    if (groups & GROUP_BRANCHES)
        error = take_branch_group(rest, (groups >> 24) + 1u, out);
    if (error == UPMU_PRECISE_FINE && groups & GROUP_COUNTERS)
        error = take_counter_group(rest, out);
    return error == UPMU_PRECISE_FINE && rest->left ? UPMU_PRECISE_BAD_LENGTH : error;
}

static enum upmu_precise_error decode_adaptive(uint64_t capabilities, const uint8_t *bytes, size_t left,
                                               struct upmu_precise *out)
{
    uint32_t groups, known = GROUPS_ADAPTIVE;
    struct precise_rest rest;
    uint64_t first;

    if (left < BYTES_BASIC)
        return UPMU_PRECISE_CUT;
    first = record_word(bytes, 0);
    groups = (uint32_t)first;
    out->bytes = (uint32_t)(first >> 48);
    if (out->bytes < BYTES_BASIC || out->bytes > left)
        return UPMU_PRECISE_BAD_SIZE;
    if (CAPABILITY_FORMAT(capabilities) >= FORMAT_SNAPSHOTS)
        known |= GROUP_COUNTERS;
    if (groups & GROUP_BITS & ~known)
        return UPMU_PRECISE_BAD_GROUP;
    out->ip = record_word(bytes, 1);
    out->counters = record_word(bytes, 2);
    out->tsc = record_word(bytes, 3);
    out->exact = true;
    if (capabilities & CAPABILITY_RETIRE) {
        out->retire = (uint16_t)(first >> 32);
        out->parts = UPMU_PART_RETIRE;
    }
    rest.at = bytes + BYTES_BASIC;
    rest.left = out->bytes - BYTES_BASIC;
    return take_adaptive(&rest, groups, out);
}

/* ---- Format 15 ---- */

static enum upmu_precise_error take_arch_basic(struct precise_rest *rest, struct upmu_precise *out)
{
    const uint8_t *group = take_group(rest, BYTES_ARCH_BASIC);
    uint64_t retire;

    if (!group)
        return UPMU_PRECISE_BAD_LENGTH;
    out->ip = record_word(group, 0);
    out->counters = record_word(group, 1);
    out->tsc = record_word(group, 2);
    out->exact = true;
    retire = record_word(group, 3);
    if (retire >> 16 & 1u) {
        out->retire = (uint16_t)retire;
        out->parts |= UPMU_PART_RETIRE;
    }
    return UPMU_PRECISE_FINE;
}

static enum upmu_precise_error take_arch_memory(struct precise_rest *rest, struct upmu_precise *out)
{
    const uint8_t *group = take_group(rest, BYTES_ARCH_MEMORY);

    if (!group)
        return UPMU_PRECISE_BAD_LENGTH;
    out->address = record_word(group, 0);
    out->source = record_word(group, 5);
    out->weight = record_word(group, 6);
    out->transaction = record_word(group, 7);
    out->parts |= UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION;
    return UPMU_PRECISE_FINE;
}

/* Skip the groups of vector registers that the header names, with the header that they have together. */
static enum upmu_precise_error skip_vectors(struct precise_rest *rest, uint64_t header)
{
    size_t bytes = BYTES_ARCH_VECTORS;

    for (unsigned i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        if (header >> vectors[i].bit & 1u)
            bytes += vectors[i].bytes;
    return take_group(rest, bytes) ? UPMU_PRECISE_FINE : UPMU_PRECISE_BAD_LENGTH;
}

static enum upmu_precise_error take_arch_branches(struct precise_rest *rest, uint64_t header, struct upmu_precise *out)
{
    const uint8_t *group = take_group(rest, BYTES_ARCH_BRANCHES);
    unsigned eighths = (unsigned)(header >> ARCH_BRANCHES_SHIFT) & 3u;

    if (!group)
        return UPMU_PRECISE_BAD_LENGTH;
    return take_branch_group(rest, eighths == 3 ? record_word(group, 2) : 8u * eighths, out);
}

/* Take the groups that a fragment's header names.  Bytes after the last group are skipped. */
static enum upmu_precise_error take_fragment(struct precise_rest *rest, uint64_t header, struct upmu_precise *out)
{
    enum upmu_precise_error error = UPMU_PRECISE_FINE;

    if (header & ARCH_BASIC)
        error = take_arch_basic(rest, out);
    if (error == UPMU_PRECISE_FINE && header & ARCH_MEMORY)
        error = take_arch_memory(rest, out);
    if (error == UPMU_PRECISE_FINE && header & ARCH_REGISTERS) {
        out->registers = take_group(rest, BYTES_ARCH_REGISTERS);
        out->parts |= UPMU_PART_REGISTERS;
        error = out->registers ? UPMU_PRECISE_FINE : UPMU_PRECISE_BAD_LENGTH;
    }
    if (error == UPMU_PRECISE_FINE && header & ARCH_VECTORS)
        error = skip_vectors(rest, header);
    if (error == UPMU_PRECISE_FINE && header & ARCH_BRANCHES)
        error = take_arch_branches(rest, header, out);
    if (error == UPMU_PRECISE_FINE && header & ARCH_COUNTERS)
        error = take_counter_group(rest, out);
    return error;
}

static enum upmu_precise_error decode_architectural(const uint8_t *bytes, size_t left, struct upmu_precise *out)
{
    uint64_t header, seen = 0;

    do {
        struct precise_rest rest = {bytes + out->bytes + BYTES_ARCH_HEADER, 0};
        size_t after = left - out->bytes, size;
        enum upmu_precise_error error;

        if (after < BYTES_ARCH_HEADER)
            return UPMU_PRECISE_CUT;
        header = record_word(bytes + out->bytes, 0);
        size = (size_t)(header & ARCH_SIZE);
        if (size < BYTES_ARCH_HEADER || size > after)
            return UPMU_PRECISE_BAD_SIZE;
        if (!out->bytes && !(header & ARCH_BASIC))
            return UPMU_PRECISE_NO_BASIC;
        if (header & (~(ARCH_GROUPS | ARCH_SIZE | ARCH_MODE | ARCH_CONTINUED) | seen))
            return UPMU_PRECISE_BAD_GROUP;
        seen |= header & ARCH_GROUPS & ~(ARCH_BRANCHES | ARCH_COUNTERS);
        rest.left = size - BYTES_ARCH_HEADER;
        error = take_fragment(&rest, header, out);
        if (error != UPMU_PRECISE_FINE)
            return error;
        out->bytes += (uint32_t)size;
        /* A fragment without any bit above its size is followed by another one, also if it is not marked so. */
    } while (header & ARCH_CONTINUED || !(header & ~ARCH_SIZE));
    return UPMU_PRECISE_FINE;
}

/* ---- Any format ---- */

enum upmu_precise_error upmu_precise_decode(uint64_t capabilities, const uint8_t *bytes, size_t left,
                                            struct upmu_precise *out)
{
    unsigned format = CAPABILITY_FORMAT(capabilities);

    memset(out, 0, sizeof *out);
    if (format < sizeof fixed_words / sizeof fixed_words[0])
        return decode_fixed(format, bytes, left, out);
    if (format >= FORMAT_ADAPTIVE && format <= FORMAT_SNAPSHOTS)
        return decode_adaptive(capabilities, bytes, left, out);
    return format == FORMAT_ARCHITECTURAL ? decode_architectural(bytes, left, out) : UPMU_PRECISE_NO_FORMAT;
}

uint64_t upmu_precise_register(const struct upmu_precise *precise, unsigned name)
{
    /* Formats 0 to 3: flags, ip, ax, bx, cx, dx, si, di, bp, sp, then r8 on as the others have them. */
    static const uint8_t place[] = {[UPMU_PRECISE_IP] = 1, [UPMU_PRECISE_AX] = 2, [UPMU_PRECISE_CX] = 4,
                                    [UPMU_PRECISE_DX] = 5, [UPMU_PRECISE_BX] = 3, [UPMU_PRECISE_SP] = 9,
                                    [UPMU_PRECISE_BP] = 8, [UPMU_PRECISE_SI] = 6, [UPMU_PRECISE_DI] = 7};

    if (!precise->registers || name >= UPMU_PRECISE_REGISTERS)
        return 0;
    if (precise->old_order && name < sizeof place)
        name = place[name];
    return record_word(precise->registers, name);
}

bool upmu_precise_counter(const struct upmu_precise *precise, unsigned position, uint64_t *out_value)
{
    uint64_t below;

    if (position >= 64 || !(precise->counted >> position & 1u))
        return false;
    /* The slots of the metrics stand before PERF_METRICS. */
    if (precise->counted >> UPMU_PRECISE_METRICS & 1u && position >= UPMU_PRECISE_METRICS)
        position ^= UPMU_PRECISE_METRICS ^ UPMU_PRECISE_SLOTS;
    below = precise->counted & (UPMU_BIT64(position) - 1u);
    *out_value =
        record_word(precise->values, upmu_bits_count((uint32_t)below) + upmu_bits_count((uint32_t)(below >> 32)));
    return true;
}

#if UPMU_BRANCHES

enum upmu_branch_entry upmu_precise_branch(const struct upmu_precise *precise, enum upmu_branch_format format,
                                           unsigned index, struct upmu_branch *out_branch)
{
    const uint8_t *entry;

    if (index >= precise->branch_count)
        return UPMU_BRANCH_END;
    entry = precise->branches + (size_t)index * BYTES_BRANCH;
    return upmu_branch_decode(format, record_word(entry, 0), record_word(entry, 1), record_word(entry, 2), out_branch);
}

#endif

#endif
