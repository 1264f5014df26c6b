/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: any bytes as records of precise samples, one behind the other, of any format.  A record is read if, and only
 * if, its sizes agree as the published layouts say, worked out here without the library; the books of a buffer agree:
 * records, bytes and parts.  Nothing outside of the buffer is read: it is memory of its exact size, for sanitizers.
 * A sample that is made of a record has those of its branches that the session wants, up to the first empty one.
 */
#include <stdlib.h>
#include <string.h>

#include "core/sample/precise_core.h"
#include "core/sample/record_branches.h"
#include "tests/fuzz/fuzz.h"

#define RETIRE (UINT64_C(1) << 17)
#define FINE_SIZE_NONE 0u

/* The books of a buffer. */
struct books {
    unsigned records, bytes, branches, counters, registers;
};

static uint64_t word_of(const uint8_t *bytes, size_t at)
{
    uint64_t word = 0;

    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)bytes[at + i] << 8u * i;
    return word;
}

static unsigned ones(uint64_t word)
{
    unsigned count = 0;

    for (; word; word >>= 1)
        count += word & 1u;
    return count;
}

/* Bytes of a group of counters at `at`, of `size` bytes; 0: it is none. */
static size_t counters_size(const uint8_t *bytes, size_t at, size_t size, struct books *books)
{
    uint64_t masks, metrics;

    if (at + 16 > size)
        return 0;
    masks = word_of(bytes, at);
    metrics = word_of(bytes, at + 8) & UINT32_MAX;
    if (masks >> 48 || (metrics && metrics != 3))
        return 0;
    books->counters += ones(masks) + (metrics ? 2u : 0u);
    return 16 + 8u * (ones(masks) + (metrics ? 2u : 0u));
}

/* Bytes of the record of format 4 to 6; FINE_SIZE_NONE: it is none. */
static size_t adaptive_size(unsigned format, const uint8_t *bytes, size_t left, struct books *books)
{
    uint64_t first = left >= 32 ? word_of(bytes, 0) : 0;
    size_t size = (size_t)(first >> 48), used = 32, more;
    uint32_t groups = (uint32_t)first;

    if (size < 32 || size > left || groups & 0xffffffu & ~(format == 6 ? 0x3fu : 0xfu))
        return FINE_SIZE_NONE;
    used += (groups & 1u ? 32u : 0u) + (groups & 2u ? 144u : 0u) + (groups & 4u ? 256u : 0u);
    books->registers += groups >> 1 & 1u;
    if (groups & 8u) {
        used += 24u * ((groups >> 24) + 1u);
        books->branches += (groups >> 24) + 1u;
        if (groups >> 24 > 63)
            return FINE_SIZE_NONE;
    }
    if (groups & 0x30u) {
        more = counters_size(bytes, used, size, books);
        if (!more)
            return FINE_SIZE_NONE;
        used += more;
    }
    return used == size ? size : FINE_SIZE_NONE;
}

/* Bytes of the groups of one fragment, of `size` bytes, with its header; 0: they do not fit. */
static size_t fragment_used(const uint8_t *bytes, size_t size, uint64_t header, struct books *books)
{
    static const unsigned vectors[] = {256, 256, 0, 0, 64, 512, 1024};
    size_t used = 16;

    used += (header >> 63 ? 48u : 0u) + (header >> 62 & 1u ? 64u : 0u) + (header >> 61 & 1u ? 160u : 0u);
    books->registers += header >> 61 & 1u;
    used += header >> 49 & 0x7fu ? 16u : 0u;
    for (unsigned i = 0; i < 7; i++)
        used += header >> (49u + i) & 1u ? vectors[i] : 0u;
    if (header >> 40 & 3u) {
        uint64_t depth = 8u * (header >> 40 & 3u);

        if (used + 48 > size)
            return 0;
        if (depth == 24)
            depth = word_of(bytes, used + 16);
        if (depth > 64)
            return 0;
        used += 48u + 24u * (size_t)depth;
        books->branches += (unsigned)depth;
    }
    if (header >> 35 & 0x1fu) {
        size_t more = counters_size(bytes, used, size, books);

        used = more ? used + more : 0;
    }
    return used <= size ? used : 0;
}

static size_t architectural_size(const uint8_t *bytes, size_t left, struct books *books)
{
    const uint64_t unknown = ~(UINT64_C(0xe0e603f8) << 32 | 0xc000ffff);
    uint64_t header, seen = 0;
    size_t whole = 0;

    do {
        uint64_t groups;
        size_t size;

        if (left - whole < 16)
            return FINE_SIZE_NONE;
        header = word_of(bytes, whole);
        size = header & 0xffffu;
        groups = (header >> 49) | (header >> 40 & 3u ? 1u << 16 : 0) | (header >> 35 & 0x1fu ? 1u << 17 : 0);
        if (size < 16 || size > left - whole || header & unknown || groups & seen || (!whole && !(header >> 63)))
            return FINE_SIZE_NONE;
        seen |= groups;
        if (!fragment_used(bytes + whole, size, header, books))
            return FINE_SIZE_NONE;
        whole += size;
    } while (header >> 31 & 1u || !(header >> 16));
    return whole;
}

static size_t fine_size(unsigned format, const uint8_t *bytes, size_t left, struct books *books)
{
    static const size_t sizes[] = {144, 176, 192, 200};
    size_t size = FINE_SIZE_NONE;

    if (format < 4) {
        size = left >= sizes[format] ? sizes[format] : FINE_SIZE_NONE;
        books->registers++;
    } else if (format <= 6) {
        size = adaptive_size(format, bytes, left, books);
    } else if (format == 15) {
        size = architectural_size(bytes, left, books);
    }
    books->records++;
    books->bytes += (unsigned)size;
    return size;
}

/* Read all that a record has, and write it into the library's books. */
static void read_all(const struct upmu_precise *record, struct books *books)
{
    struct upmu_branch branch;
    uint64_t value, sum = 0;
    unsigned entries = 0;

    FUZZ_CHECK(!record->registers == !(record->parts & UPMU_PART_REGISTERS), "registers without the part");
    FUZZ_CHECK(!record->branches == !(record->parts & UPMU_PART_BRANCHES), "branches without the part");
    FUZZ_CHECK(!record->values == !(record->parts & UPMU_PART_COUNTERS), "counters without the part");
    for (unsigned i = 0; i < UPMU_PRECISE_REGISTERS + 2u; i++)
        sum += upmu_precise_register(record, i);
    FUZZ_CHECK(record->registers || !sum, "registers that the record does not have");
    for (unsigned i = 0; i < 66; i++)
        if (upmu_precise_counter(record, i, &value))
            books->counters++;
    while (upmu_precise_branch(record, UPMU_BRANCH_FORMAT_ARCHITECTURAL, entries, &branch) == UPMU_BRANCH_TAKEN)
        entries++;
    FUZZ_CHECK(entries <= record->branch_count, "%u branches of %u", entries, record->branch_count);
    FUZZ_CHECK(entries == record->branch_count || !word_of(record->branches, entries * 24u), "an entry is missing");
    books->branches += record->branch_count;
    books->registers += record->registers != NULL;
    books->bytes += record->bytes;
    books->records++;
}

#define KERNEL_FROM (UINT64_C(1) << 63)

/* Make a sample of a record, for a session that wants the branches in `wanted` and hides the kernel, or does not. */
static void sample_branches(const struct upmu_precise *record, uint32_t wanted, bool hides)
{
    static struct upmu_cpu cpu;
    static struct upmu_session session;
    static struct upmu_tally tally = {.period = 1000};
    static const struct upmu_pmu pmu = {.branch_format = UPMU_BRANCH_FORMAT_INFO, .branch_depth = 32};
    struct upmu_overflow overflow = {.session = &session, .set = &session.set, .cpu = &cpu, .branches = 99};
    uint32_t shown = hides ? wanted & ~(uint32_t)UPMU_BRANCH_KERNEL : wanted;
    unsigned count = 0;

    cpu.meter.cpu = &cpu;
    cpu.meter.pmu = &pmu;
    cpu.meter.branches = (uint16_t)shown;
    cpu.records.grown = UPMU_RECORD_GROWN;
    cpu.branches.kernel_from = KERNEL_FROM;
    session.branches = (uint16_t)wanted;
    session.hides_kernel = session.began_hidden = hides;
    session.set.session = &session;
    session.set.count = 1;
    session.set.tally = &tally;
    upmu_record_branches_take(&overflow, record, 0);
    for (unsigned i = 0; i < record->branch_count && word_of(record->branches, i * 24u); i++) {
        uint64_t from = word_of(record->branches, i * 24u), to = word_of(record->branches, i * 24u + 8u);
        bool kernel = from >= KERNEL_FROM || to >= KERNEL_FROM;

        if (!(shown & (kernel ? UPMU_BRANCH_KERNEL : UPMU_BRANCH_USER)))
            continue;
        FUZZ_CHECK(count < overflow.branches && overflow.branch[count].from == from && overflow.branch[count].to == to,
                   "branch %u of a sample of %u is not entry %u", count, overflow.branches, i);
        count++;
    }
    FUZZ_CHECK(overflow.branches == (shown & (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL) ? count : 0),
               "%u branches in a sample, not %u", overflow.branches, count);
    FUZZ_CHECK(!(overflow.parts & UPMU_PART_BRANCHES) == !(record->branches && shown), "the part without its branches");
}

static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};
    unsigned format = fuzz_u8(&input) & 15u, choice = fuzz_u8(&input);
    uint64_t capabilities = (uint64_t)format << 8 | (choice & 1u ? RETIRE : 0);
    size_t left = (size_t)(input.end - input.at), at = 0;
    uint8_t *memory = malloc(left + 1u);
    struct books ours = {0, 0, 0, 0, 0}, theirs = ours;

    if (!memory)
        return;
    /* The records end where the memory does. */
    memcpy(memory + 1, input.at, left);
    for (;;) {
        struct books before = ours;
        struct upmu_precise record;
        size_t size = fine_size(format, memory + 1 + at, left - at, &ours);
        enum upmu_precise_error error = upmu_precise_decode(capabilities, memory + 1 + at, left - at, &record);

        fuzz_calls++;
        FUZZ_CHECK((error == UPMU_PRECISE_FINE) == (size != FINE_SIZE_NONE), "format %u, at %u: %d, and the size is %u",
                   format, (unsigned)at, (int)error, (unsigned)size);
        FUZZ_CHECK((error == UPMU_PRECISE_NO_FORMAT) == (format > 6 && format < 15), "format %u: %d", format,
                   (int)error);
        if (error != UPMU_PRECISE_FINE) {
            ours = before;
            break;
        }
        FUZZ_CHECK(record.bytes == size, "format %u: %u bytes, not %u", format, record.bytes, (unsigned)size);
        FUZZ_CHECK(record.parts & UPMU_PART_RETIRE || !record.retire, "a latency without the part");
        read_all(&record, &theirs);
        sample_branches(&record, choice >> 1 & (UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL), choice & 0x80u);
        at += size;
    }
    FUZZ_CHECK(!memcmp(&ours, &theirs, sizeof ours), "books: %u %u %u %u %u and %u %u %u %u %u", ours.records,
               ours.bytes, ours.branches, ours.counters, ours.registers, theirs.records, theirs.bytes, theirs.branches,
               theirs.counters, theirs.registers);
    free(memory);
}

/* ---- Made inputs: records that agree, of which some are damaged ---- */

static void put_noise(uint64_t *random, struct fuzz_draft *draft, size_t bytes)
{
    while (bytes--)
        fuzz_put(draft, fuzz_random(random), 1);
}

/* Counters of a group: their masks, and the word for the metrics. */
struct drawn {
    uint64_t masks;
    unsigned metrics, bytes;
};

static struct drawn draw_counters(uint64_t *random)
{
    struct drawn drawn;

    drawn.masks = fuzz_random(random) & fuzz_random(random) & UINT64_C(0x000f000000ff);
    drawn.metrics = fuzz_below(random, 2) ? 3 : 0;
    drawn.bytes = 16u + 8u * (ones(drawn.masks) + (drawn.metrics ? 2u : 0u));
    return drawn;
}

static void put_counters(uint64_t *random, struct fuzz_draft *draft, const struct drawn *drawn)
{
    fuzz_put(draft, drawn->masks, 8);
    fuzz_put(draft, drawn->metrics, 8);
    put_noise(random, draft, drawn->bytes - 16u);
}

static void make_adaptive(uint64_t *random, struct fuzz_draft *draft, unsigned format)
{
    unsigned groups = fuzz_below(random, format == 6 ? 64 : 16), branches = 1u + fuzz_below(random, 6), size = 32;
    struct drawn drawn = draw_counters(random);

    size += (groups & 1u ? 32u : 0u) + (groups & 2u ? 144u : 0u) + (groups & 4u ? 256u : 0u);
    size += groups & 8u ? 24u * branches : 0u;
    fuzz_put(draft, groups | (branches - 1u) << 24, 4);
    fuzz_put(draft, fuzz_random(random), 2);
    fuzz_put(draft, size + (groups & 0x30u ? drawn.bytes : 0u), 2);
    put_noise(random, draft, size - 8u);
    if (groups & 0x30u)
        put_counters(random, draft, &drawn);
}

static void make_architectural(uint64_t *random, struct fuzz_draft *draft)
{
    uint64_t header = UINT64_C(1) << 63 | (fuzz_random(random) & UINT64_C(0x6002032000000000));
    unsigned depth = fuzz_below(random, 6);

    for (unsigned fragments = 1u + fuzz_below(random, 3); fragments; fragments--) {
        unsigned code = (unsigned)(header >> 40) & 3u, entries = code == 3 ? depth : 8u * code,
                 padding = 8u * (depth & 1u);
        struct drawn drawn = draw_counters(random);
        unsigned size = 16;

        size += (header >> 63 ? 48u : 0u) + (header >> 62 & 1u ? 64u : 0u) + (header >> 61 & 1u ? 160u : 0u);
        size += header >> 49 & 1u ? 272u : 0u;
        header |= fragments > 1 ? UINT64_C(1) << 31 : 0;
        fuzz_put(draft,
                 header | (size + (code ? 48u + 24u * entries : 0u) + (header >> 37 & 1u ? drawn.bytes : 0u) + padding),
                 8);
        put_noise(random, draft, size - 8u);
        if (code) {
            put_noise(random, draft, 16);
            fuzz_put(draft, depth, 8);
            put_noise(random, draft, 24u + 24u * entries);
        }
        if (header >> 37 & 1u)
            put_counters(random, draft, &drawn);
        put_noise(random, draft, padding);
        /* A group comes once in a record.  The last fragment needs a bit, or another one follows. */
        header = (fragments == 3 ? UINT64_C(1) << 62 & ~header : 0) | (fragments == 2 ? UINT64_C(1) << 30 : 0);
    }
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    static const uint8_t formats[] = {0, 1, 2, 3, 4, 5, 6, 6, 15, 15, 15, 4, 9};
    unsigned format = formats[fuzz_below(random, sizeof formats)];

    fuzz_put(draft, format, 1);
    fuzz_put(draft, fuzz_random(random), 1);
    for (unsigned records = 1u + fuzz_below(random, 5); records; records--)
        if (format == 15)
            make_architectural(random, draft);
        else if (format >= 4)
            make_adaptive(random, draft, format);
        else
            put_noise(random, draft, 144u + fuzz_below(random, 60));
    for (unsigned damages = fuzz_below(random, 3); damages && draft->length > 2; damages--)
        draft->bytes[2 + fuzz_random(random) % (draft->length - 2u)] = (uint8_t)fuzz_word(random);
}

const struct fuzz_target fuzz_target = {
    "precise", "any_bytes_are_records_as_the_layouts_say", 60000, 6000000, run, make, 0};
