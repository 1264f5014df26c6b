/* SPDX-License-Identifier: MIT */
/*
 * Records of precise samples: each field of each format is found where tests/golden/precise_records.tsv has it, with
 * any groups beside it; a record that is cut, damaged or made up is refused with its reason, and nothing outside of its
 * bytes is read.
 */
#include "core/sample/precise_core.h"
#include "tests/common/precise_layouts.h"

#define RETIRE_CAPABILITY (UINT64_C(1) << 17)
#define ROOM 8192u
#define FORMAT(n) ((uint64_t)(n) << 8)

/* Groups of an adaptive record, then those of an architectural one, by their bits. */
enum { MEMORY = 1, REGISTERS = 2, XMM = 4, BRANCHES = 8, COUNTERS = 16, METRICS = 32 };
#define ARCH_BASIC (UINT64_C(1) << 63)
#define ARCH_MEMORY (UINT64_C(1) << 62)
#define ARCH_REGISTERS (UINT64_C(1) << 61)
#define ARCH_COUNTERS (UINT64_C(2) << 35)
#define ARCH_8_BRANCHES (UINT64_C(1) << 40)
#define ARCH_16_BRANCHES (UINT64_C(2) << 40)
#define ARCH_ANY_BRANCHES (UINT64_C(3) << 40)
#define ARCH_CONTINUED (UINT64_C(1) << 31)

static const char *const register_names[UPMU_PRECISE_REGISTERS] = {"flags", "ip",  "ax",  "cx",  "dx",  "bx",
                                                                   "sp",    "bp",  "si",  "di",  "r8",  "r9",
                                                                   "r10",   "r11", "r12", "r13", "r14", "r15"};

static struct layouts layouts;

/* A record under construction; bytes that no field has are noise. */
struct draft {
    uint8_t bytes[ROOM];
    unsigned length;
    uint64_t state;
};

static uint64_t noise(struct draft *draft)
{
    draft->state = draft->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return draft->state ^ draft->state >> 29;
}

static void begin(struct draft *draft)
{
    draft->length = 0;
    draft->state = 88172645463325252u;
    for (unsigned i = 0; i < ROOM; i++)
        draft->bytes[i] = (uint8_t)(noise(draft) >> 40);
}

static uint8_t *end_of(struct draft *draft)
{
    return draft->bytes + draft->length;
}

static uint64_t word_at(const uint8_t *bytes)
{
    uint64_t word = 0;

    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)bytes[i] << 8u * i;
    return word;
}

static void put_word(uint8_t *at, uint64_t word)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(word >> 8u * i);
}

/*
 * Decode from memory that ends behind `left` bytes and begins at an odd address: a sanitizer sees a byte outside.
 * Pointers of the result point into draft->bytes.
 */
static enum upmu_precise_error decode(const struct draft *draft, uint64_t capabilities, size_t left,
                                      struct upmu_precise *out)
{
    uint8_t *memory = malloc(left + 1u);
    enum upmu_precise_error error;

    assert_non_null(memory);
    memcpy(memory + 1, draft->bytes, left);
    error = upmu_precise_decode(capabilities, memory + 1, left, out);
    out->registers = out->registers ? draft->bytes + (out->registers - memory - 1) : NULL;
    out->branches = out->branches ? draft->bytes + (out->branches - memory - 1) : NULL;
    out->values = out->values ? draft->bytes + (out->values - memory - 1) : NULL;
    free(memory);
    return error;
}

/* Each shorter piece of the record is refused; so is none. */
static void check_cuts(const struct draft *draft, uint64_t capabilities)
{
    struct upmu_precise out;

    for (size_t left = 0; left < draft->length; left++)
        assert_int_not_equal(decode(draft, capabilities, left, &out), UPMU_PRECISE_FINE, left);
}

static void check_memory(const struct upmu_precise *out, const uint8_t *group, const char *layout)
{
    assert_int_equal(out->address, layout_get(&layouts, group, layout, "data_address"));
    assert_int_equal(out->source, layout_get(&layouts, group, layout, "data_source"));
    assert_int_equal(out->weight, layout_get(&layouts, group, layout, "latency"));
    assert_int_equal(out->transaction, layout_get(&layouts, group, layout, "transaction"));
}

static void check_registers(const struct upmu_precise *out, const uint8_t *group, const char *layout)
{
    for (unsigned i = 0; i < UPMU_PRECISE_REGISTERS; i++)
        assert_int_equal(upmu_precise_register(out, i), layout_get(&layouts, group, layout, register_names[i]), i);
    assert_int_equal(upmu_precise_register(out, UPMU_PRECISE_REGISTERS), 0);
}

/* The counters of a group at `group`: each value where the lowest first comes to, and no other. */
static void check_counters(const struct upmu_precise *out, const uint8_t *group)
{
    uint64_t mask =
        layout_get(&layouts, group, "counters", "general") | layout_get(&layouts, group, "counters", "fixed") << 32;
    const uint8_t *value = group + layout_find(&layouts, "counters", "values")->offset;
    uint64_t got;

    for (unsigned i = 0; i < 48; i++) {
        assert_int_equal(upmu_precise_counter(out, i, &got), mask >> i & 1, i);
        if (mask >> i & 1) {
            assert_int_equal(got, word_at(value), i);
            value += 8;
        }
    }
    assert_int_equal(upmu_precise_counter(out, UPMU_PRECISE_SLOTS, &got),
                     layout_get(&layouts, group, "counters", "metrics") == 3);
    if (layout_get(&layouts, group, "counters", "metrics") == 3) {
        assert_int_equal(got, word_at(value));
        assert_true(upmu_precise_counter(out, UPMU_PRECISE_METRICS, &got));
        assert_int_equal(got, word_at(value + 8));
    }
    assert_false(upmu_precise_counter(out, 50, &got));
    assert_false(upmu_precise_counter(out, 64, &got));
    assert_false(upmu_precise_counter(out, ~0u, &got));
}

static void check_branches(const struct upmu_precise *out, const uint8_t *entries, unsigned count)
{
    struct upmu_branch branch;

    assert_int_equal(out->branch_count, count);
    for (unsigned i = 0; i < count; i++) {
        const uint8_t *entry = entries + i * layout_size(&layouts, "branch");

        assert_int_equal(upmu_precise_branch(out, UPMU_BRANCH_FORMAT_INFO, i, &branch), UPMU_BRANCH_TAKEN, i);
        assert_int_equal(branch.from, layout_get(&layouts, entry, "branch", "from"), i);
        assert_int_equal(branch.to, layout_get(&layouts, entry, "branch", "to"), i);
        assert_int_equal(branch.info & UPMU_BRANCH_INFO_CYCLES,
                         layout_get(&layouts, entry, "branch", "info") & UPMU_BRANCH_INFO_CYCLES, i);
    }
    assert_int_equal(upmu_precise_branch(out, UPMU_BRANCH_FORMAT_INFO, count, &branch), UPMU_BRANCH_END);
}

/* ---- Formats 0 to 3 ---- */

static void formats_0_to_3_have_their_fields(void **state)
{
    static const unsigned parts[] = {
        UPMU_PART_REGISTERS, UPMU_PART_REGISTERS | UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT,
        UPMU_PART_REGISTERS | UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION,
        UPMU_PART_REGISTERS | UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION};
    static struct draft draft;
    struct upmu_precise out;
    uint64_t value;

    (void)state;
    for (unsigned format = 0; format < 4; format++) {
        const char layout[] = {(char)('0' + format), '\0'};

        begin(&draft);
        draft.length = layout_size(&layouts, layout);
        assert_int_equal(decode(&draft, FORMAT(format), draft.length, &out), UPMU_PRECISE_FINE);
        assert_int_equal(out.bytes, draft.length, format);
        assert_int_equal(out.parts, parts[format], format);
        assert_int_equal(out.exact, format >= 2, format);
        assert_int_equal(out.ip, layout_get(&layouts, draft.bytes, layout, format >= 2 ? "eventing_ip" : "ip"));
        assert_int_equal(out.counters, format ? layout_get(&layouts, draft.bytes, layout, "counters") : 1);
        assert_int_equal(out.tsc, layout_get(&layouts, draft.bytes, layout, "tsc"));
        assert_int_equal(out.tsc != 0, format == 3);
        check_memory(&out, draft.bytes, layout);
        check_registers(&out, draft.bytes, layout);
        assert_false(upmu_precise_counter(&out, 0, &value));
        check_branches(&out, NULL, 0);
        assert_int_equal(decode(&draft, FORMAT(format), draft.length - 1u, &out), UPMU_PRECISE_CUT);
        check_cuts(&draft, FORMAT(format));
    }
}

static void unknown_formats_are_refused(void **state)
{
    static struct draft draft;
    struct upmu_precise out;

    (void)state;
    begin(&draft);
    for (unsigned format = 7; format < 15; format++)
        assert_int_equal(decode(&draft, FORMAT(format), ROOM, &out), UPMU_PRECISE_NO_FORMAT);
}

/* ---- Formats 4 to 6 ---- */

/* The place of each group in a record under construction; 0: the record has none. */
struct places {
    unsigned memory, registers, branches, counters;
};

static unsigned take_layout(struct draft *draft, const char *layout)
{
    unsigned at = draft->length;

    draft->length += layout_size(&layouts, layout);
    return at;
}

static unsigned put_branches(struct draft *draft, unsigned count)
{
    unsigned at = draft->length;

    draft->length += count * layout_size(&layouts, "branch");
    return at;
}

static unsigned put_counters(struct draft *draft, uint32_t general, uint32_t fixed, bool metrics)
{
    unsigned at = draft->length, values = metrics ? 2 : 0;

    layout_put(&layouts, end_of(draft), "counters", "general", general);
    layout_put(&layouts, end_of(draft), "counters", "fixed", fixed);
    layout_put(&layouts, end_of(draft), "counters", "metrics", metrics ? 3 : 0);
    for (unsigned i = 0; i < 32; i++)
        values += (general >> i & 1u) + (fixed >> i & 1u);
    draft->length += layout_find(&layouts, "counters", "values")->offset + 8u * values;
    return at;
}

static struct places make_adaptive(struct draft *draft, uint32_t groups, unsigned branches, uint32_t general,
                                   uint32_t fixed)
{
    struct places at = {0, 0, 0, 0};

    begin(draft);
    take_layout(draft, "basic");
    if (groups & MEMORY)
        at.memory = take_layout(draft, "memory");
    if (groups & REGISTERS)
        at.registers = take_layout(draft, "registers");
    if (groups & XMM)
        draft->length += 256;
    if (groups & BRANCHES)
        at.branches = put_branches(draft, branches);
    if (groups & (COUNTERS | METRICS))
        at.counters = put_counters(draft, general, fixed, groups & METRICS);
    layout_put(&layouts, draft->bytes, "basic", "groups", groups | (branches - 1u) << 24);
    layout_put(&layouts, draft->bytes, "basic", "size", draft->length);
    return at;
}

static void any_groups_of_an_adaptive_record_are_found(void **state)
{
    static struct draft draft;
    struct upmu_precise out;

    (void)state;
    for (unsigned turn = 0; turn < 64 * 3; turn++) {
        unsigned groups = turn & 63u, format = 4 + turn / 64, branches = 1 + turn % 64;
        struct places at;

        if (format < 6 && groups & (COUNTERS | METRICS))
            continue;
        at = make_adaptive(&draft, groups, branches, turn * 0x0101u, turn & 0xffu);
        assert_int_equal(decode(&draft, FORMAT(format), draft.length, &out), UPMU_PRECISE_FINE, turn);
        assert_int_equal(out.bytes, draft.length, turn);
        assert_int_equal(
            out.parts,
            (groups & MEMORY ? UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION : 0) |
                (groups & REGISTERS ? UPMU_PART_REGISTERS : 0) | (groups & BRANCHES ? UPMU_PART_BRANCHES : 0) |
                (groups & (COUNTERS | METRICS) ? UPMU_PART_COUNTERS : 0),
            turn);
        assert_true(out.exact);
        assert_int_equal(out.ip, layout_get(&layouts, draft.bytes, "basic", "eventing_ip"));
        assert_int_equal(out.counters, layout_get(&layouts, draft.bytes, "basic", "counters"));
        assert_int_equal(out.tsc, layout_get(&layouts, draft.bytes, "basic", "tsc"));
        if (at.memory)
            check_memory(&out, draft.bytes + at.memory, "memory");
        if (at.registers)
            check_registers(&out, draft.bytes + at.registers, "registers");
        else
            assert_int_equal(upmu_precise_register(&out, UPMU_PRECISE_SP), 0);
        if (at.branches)
            check_branches(&out, draft.bytes + at.branches, branches);
        if (at.counters)
            check_counters(&out, draft.bytes + at.counters);
        if (turn % 7 == 0)
            check_cuts(&draft, FORMAT(format));
        assert_int_equal(decode(&draft, FORMAT(format), draft.length + 8u, &out), UPMU_PRECISE_FINE, turn);
        assert_int_equal(out.bytes, draft.length, turn);
    }
}

static void the_latency_of_a_retirement_needs_its_capability(void **state)
{
    static struct draft draft;
    struct upmu_precise out;

    (void)state;
    make_adaptive(&draft, 0, 1, 0, 0);
    layout_put(&layouts, draft.bytes, "basic", "retire", 0xfedc);
    assert_int_equal(decode(&draft, FORMAT(5), draft.length, &out), UPMU_PRECISE_FINE);
    assert_int_equal(out.parts, 0);
    assert_int_equal(out.retire, 0);
    assert_int_equal(decode(&draft, FORMAT(5) | RETIRE_CAPABILITY, draft.length, &out), UPMU_PRECISE_FINE);
    assert_int_equal(out.parts, UPMU_PART_RETIRE);
    assert_int_equal(out.retire, 0xfedc);
}

static void the_size_of_an_adaptive_record_is_not_trusted(void **state)
{
    static struct draft draft;
    struct upmu_precise out;
    unsigned basic = layout_size(&layouts, "basic");

    (void)state;
    for (unsigned size = 0; size < ROOM; size += size < 64 ? 1 : 61) {
        enum upmu_precise_error error;
        unsigned length;

        make_adaptive(&draft, MEMORY | REGISTERS | BRANCHES, 32, 0, 0);
        length = draft.length;
        layout_put(&layouts, draft.bytes, "basic", "size", size);
        error = decode(&draft, FORMAT(4), 2048, &out);
        assert_int_equal(error,
                         size < basic || size > 2048 ? UPMU_PRECISE_BAD_SIZE
                         : size == length            ? UPMU_PRECISE_FINE
                                                     : UPMU_PRECISE_BAD_LENGTH,
                         size);
    }
}

static void unknown_groups_and_counts_are_refused(void **state)
{
    static struct draft draft;
    struct upmu_precise out;

    (void)state;
    for (unsigned format = 4; format <= 6; format++)
        for (unsigned bit = format < 6 ? 4 : 6; bit < 24; bit++) {
            make_adaptive(&draft, 1u << bit, 1, 0, 0);
            assert_int_equal(decode(&draft, FORMAT(format), ROOM, &out), UPMU_PRECISE_BAD_GROUP, bit);
        }
    /* The number of branches is only of a record that has them. */
    make_adaptive(&draft, 0, 256, 0, 0);
    assert_int_equal(decode(&draft, FORMAT(4), ROOM, &out), UPMU_PRECISE_FINE);
    make_adaptive(&draft, BRANCHES, 64, 0, 0);
    assert_int_equal(decode(&draft, FORMAT(4), ROOM, &out), UPMU_PRECISE_FINE);
    make_adaptive(&draft, BRANCHES, 65, 0, 0);
    assert_int_equal(decode(&draft, FORMAT(4), ROOM, &out), UPMU_PRECISE_BAD_COUNT);
    make_adaptive(&draft, COUNTERS, 1, UINT32_MAX, 0xffff);
    assert_int_equal(decode(&draft, FORMAT(6), ROOM, &out), UPMU_PRECISE_FINE);
    make_adaptive(&draft, COUNTERS, 1, 0, 0x10000);
    assert_int_equal(decode(&draft, FORMAT(6), ROOM, &out), UPMU_PRECISE_BAD_COUNT);
    for (unsigned metrics = 1; metrics < 8; metrics++) {
        struct places at = make_adaptive(&draft, METRICS, 1, 0, 0);

        layout_put(&layouts, draft.bytes + at.counters, "counters", "metrics", metrics);
        assert_int_equal(decode(&draft, FORMAT(6), ROOM, &out),
                         metrics == 3 ? UPMU_PRECISE_FINE : UPMU_PRECISE_BAD_GROUP, metrics);
    }
}

static void entries_behind_an_empty_one_are_no_branches(void **state)
{
    static struct draft draft;
    struct upmu_precise out;
    struct upmu_branch branch;
    struct places at = make_adaptive(&draft, BRANCHES, 8, 0, 0);
    uint8_t *third = draft.bytes + at.branches + 2u * layout_size(&layouts, "branch");

    (void)state;
    layout_put(&layouts, third, "branch", "from", 0);
    assert_int_equal(decode(&draft, FORMAT(4), draft.length, &out), UPMU_PRECISE_FINE);
    assert_int_equal(upmu_precise_branch(&out, UPMU_BRANCH_FORMAT_INFO, 1, &branch), UPMU_BRANCH_TAKEN);
    assert_int_equal(upmu_precise_branch(&out, UPMU_BRANCH_FORMAT_INFO, 2, &branch), UPMU_BRANCH_END);
}

/* ---- Format 15 ---- */

/* Groups of a fragment, in their order, with their bits and (but for those with a layout) their bytes. */
static const struct arch_group {
    uint64_t bits;
    const char *layout;
    unsigned bytes;
} arch_groups[] = {{ARCH_BASIC, "arch_basic", 0},         {ARCH_MEMORY, "arch_memory", 0},
                   {ARCH_REGISTERS, "arch_registers", 0}, {UINT64_C(1) << 49, NULL, 256},
                   {UINT64_C(1) << 50, NULL, 256},        {UINT64_C(1) << 53, NULL, 64},
                   {UINT64_C(1) << 54, NULL, 512},        {UINT64_C(1) << 55, NULL, 1024}};
#define ARCH_VECTORS (UINT64_C(0xe6) << 48)
#define ARCH_GROUPS (sizeof arch_groups / sizeof arch_groups[0])

struct arch_places {
    unsigned basic, memory, registers, branches, counters;
};

/* Put a fragment with the groups of `header`, and fill in its size. */
static void put_fragment(struct draft *draft, uint64_t header, unsigned depth, struct arch_places *at)
{
    unsigned first = draft->length, code = (unsigned)(header >> 40) & 3u;

    draft->length += 16;
    for (unsigned i = 0; i < ARCH_GROUPS; i++) {
        if (i == 3 && header & ARCH_VECTORS)
            draft->length += 16;
        if (!(header & arch_groups[i].bits))
            continue;
        if (i == 0)
            at->basic = draft->length;
        if (i == 1)
            at->memory = draft->length;
        if (i == 2)
            at->registers = draft->length;
        draft->length += arch_groups[i].layout ? layout_size(&layouts, arch_groups[i].layout) : arch_groups[i].bytes;
    }
    if (code) {
        layout_put(&layouts, end_of(draft), "arch_branches", "depth", depth);
        take_layout(draft, "arch_branches");
        at->branches = put_branches(draft, code == 3 ? depth : 8u * code);
    }
    if (header >> 35 & 0x1fu)
        at->counters = put_counters(draft, 0x3ff, 0x7f, header >> 38 & 1u);
    draft->length = (draft->length + 15u) & ~15u;
    put_word(draft->bytes + first, header | (draft->length - first));
}

static void check_arch(const struct draft *draft, const struct arch_places *at, uint64_t header, unsigned depth)
{
    unsigned code = (unsigned)(header >> 40) & 3u;
    struct upmu_precise out;

    assert_int_equal(decode(draft, FORMAT(15), draft->length, &out), UPMU_PRECISE_FINE, header);
    assert_int_equal(out.bytes, draft->length, header);
    assert_int_equal(out.ip, layout_get(&layouts, draft->bytes + at->basic, "arch_basic", "eventing_ip"), header);
    assert_int_equal(out.counters, layout_get(&layouts, draft->bytes + at->basic, "arch_basic", "counters"));
    assert_int_equal(out.tsc, layout_get(&layouts, draft->bytes + at->basic, "arch_basic", "tsc"));
    assert_true(out.exact);
    assert_int_equal(!(out.parts & UPMU_PART_ADDRESS), !at->memory);
    assert_int_equal(!(out.parts & UPMU_PART_REGISTERS), !at->registers);
    assert_int_equal(!(out.parts & UPMU_PART_BRANCHES), !at->branches);
    assert_int_equal(!(out.parts & UPMU_PART_COUNTERS), !at->counters);
    if (at->memory)
        check_memory(&out, draft->bytes + at->memory, "arch_memory");
    if (at->registers)
        check_registers(&out, draft->bytes + at->registers, "arch_registers");
    if (at->branches)
        check_branches(&out, draft->bytes + at->branches, code == 3 ? depth : 8u * code);
    if (at->counters)
        check_counters(&out, draft->bytes + at->counters);
}

/* Header number n of 2,048: each group or none, each number of branches, counters with metrics or without. */
static uint64_t header_of(unsigned n)
{
    uint64_t header = ARCH_BASIC;

    for (unsigned i = 1; i < ARCH_GROUPS; i++)
        header |= n >> (i - 1u) & 1u ? arch_groups[i].bits : 0;
    header |= (uint64_t)(n >> 7 & 3u) << 40;
    return header | (n >> 9 & 3u ? (uint64_t)(n >> 9 & 3u) << 37 : 0);
}

static void any_groups_of_an_architectural_record_are_found(void **state)
{
    static struct draft draft;

    (void)state;
    for (unsigned n = 0; n < 2048; n++) {
        struct arch_places at = {0, 0, 0, 0, 0};

        begin(&draft);
        put_fragment(&draft, header_of(n), n % 65, &at);
        check_arch(&draft, &at, header_of(n), n % 65);
        if (n % 97 == 0)
            check_cuts(&draft, FORMAT(15));
    }
}

/* A record of several fragments: basic first, then each group in one of its own, then one without a group. */
static void fragments_are_one_record(void **state)
{
    static const uint64_t later[] = {
        ARCH_MEMORY, ARCH_REGISTERS, UINT64_C(1) << 49, UINT64_C(1) << 54, ARCH_8_BRANCHES, UINT64_C(1) << 35, 0};
    static struct draft draft;
    struct arch_places at = {0, 0, 0, 0, 0};

    (void)state;
    begin(&draft);
    put_fragment(&draft, ARCH_BASIC | ARCH_CONTINUED, 0, &at);
    for (unsigned i = 0; i < sizeof later / sizeof later[0]; i++)
        put_fragment(&draft, later[i] ? later[i] | ARCH_CONTINUED : 0, 0, &at);
    assert_int_equal(word_at(end_of(&draft) - 16), 16); /* no bit but its size: another one follows */
    put_fragment(&draft, UINT64_C(1) << 53, 0, &at);
    check_arch(&draft, &at, ARCH_8_BRANCHES, 0);
    check_cuts(&draft, FORMAT(15));
}

static void a_fragment_cannot_lie(void **state)
{
    static struct draft draft;
    struct upmu_precise out;
    struct arch_places at;

    (void)state;
    begin(&draft);
    put_fragment(&draft, ARCH_MEMORY, 0, &at);
    assert_int_equal(decode(&draft, FORMAT(15), ROOM, &out), UPMU_PRECISE_NO_BASIC);
    begin(&draft);
    put_fragment(&draft, ARCH_BASIC | ARCH_CONTINUED, 0, &at);
    assert_int_equal(decode(&draft, FORMAT(15), draft.length, &out), UPMU_PRECISE_CUT);
    put_fragment(&draft, ARCH_BASIC, 0, &at);
    assert_int_equal(decode(&draft, FORMAT(15), draft.length, &out), UPMU_PRECISE_BAD_GROUP); /* basic twice */
    begin(&draft);
    put_fragment(&draft, ARCH_BASIC | ARCH_CONTINUED | ARCH_8_BRANCHES, 0, &at);
    put_fragment(&draft, ARCH_16_BRANCHES, 0, &at);
    assert_int_equal(decode(&draft, FORMAT(15), draft.length, &out), UPMU_PRECISE_BAD_GROUP);
    begin(&draft);
    put_fragment(&draft, ARCH_BASIC | ARCH_CONTINUED | UINT64_C(1) << 36, 0, &at);
    put_fragment(&draft, UINT64_C(1) << 37, 0, &at);
    assert_int_equal(decode(&draft, FORMAT(15), draft.length, &out), UPMU_PRECISE_BAD_GROUP);
    for (unsigned size = 0; size < 16; size++) {
        put_word(draft.bytes, ARCH_BASIC | size);
        assert_int_equal(decode(&draft, FORMAT(15), ROOM, &out), UPMU_PRECISE_BAD_SIZE, size);
    }
    put_word(draft.bytes, ARCH_BASIC | 80u);
    assert_int_equal(decode(&draft, FORMAT(15), 79, &out), UPMU_PRECISE_BAD_SIZE);
    for (unsigned bit = 16; bit < 63; bit++) {
        bool known = bit == 30 || bit == 31 || (bit >= 35 && bit < 42) || bit == 49 || bit == 50 ||
                     (bit >= 53 && bit < 56) || bit >= 61;

        put_word(draft.bytes, ARCH_BASIC | UINT64_C(1) << bit | 64u);
        assert_int_equal(decode(&draft, FORMAT(15), 64, &out) == UPMU_PRECISE_BAD_GROUP, !known, bit);
    }
}

static void each_group_of_a_fragment_has_to_fit(void **state)
{
    static struct draft draft;
    struct upmu_precise out;

    (void)state;
    for (unsigned n = 0; n < 2048; n += 31) {
        struct arch_places at;
        unsigned whole;

        begin(&draft);
        put_fragment(&draft, header_of(n), 13, &at);
        whole = draft.length;
        for (unsigned size = 16; size + 16 < whole; size += 8) {
            put_word(draft.bytes, (word_at(draft.bytes) & ~UINT64_C(0xffff)) | size);
            assert_int_equal(decode(&draft, FORMAT(15), ROOM, &out), UPMU_PRECISE_BAD_LENGTH, size);
        }
    }
}

static void the_depth_of_branches_is_limited(void **state)
{
    static struct draft draft;
    struct upmu_precise out;

    (void)state;
    for (unsigned depth = 0; depth < 70; depth++) {
        struct arch_places at = {0, 0, 0, 0, 0};

        begin(&draft);
        put_fragment(&draft, ARCH_BASIC | ARCH_ANY_BRANCHES, depth, &at);
        assert_int_equal(decode(&draft, FORMAT(15), ROOM, &out),
                         depth <= UPMU_BRANCHES_MOST ? UPMU_PRECISE_FINE : UPMU_PRECISE_BAD_COUNT, depth);
        layout_put(&layouts, draft.bytes + 16 + layout_size(&layouts, "arch_basic"), "arch_branches", "depth",
                   depth | UINT64_C(1) << 32 << depth % 32);
        assert_int_equal(decode(&draft, FORMAT(15), ROOM, &out), UPMU_PRECISE_BAD_COUNT, depth);
    }
}

static void an_architectural_latency_may_be_invalid(void **state)
{
    static struct draft draft;
    struct upmu_precise out;

    (void)state;
    for (unsigned valid = 0; valid < 2; valid++) {
        struct arch_places at = {0, 0, 0, 0, 0};

        begin(&draft);
        put_fragment(&draft, ARCH_BASIC, 0, &at);
        layout_put(&layouts, draft.bytes + at.basic, "arch_basic", "retire", 0x1234u | valid << 16);
        assert_int_equal(decode(&draft, FORMAT(15), draft.length, &out), UPMU_PRECISE_FINE);
        assert_int_equal(out.parts, valid ? UPMU_PART_RETIRE : 0);
        assert_int_equal(out.retire, valid ? 0x1234 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_0_to_3_have_their_fields),
        cmocka_unit_test(unknown_formats_are_refused),
        cmocka_unit_test(any_groups_of_an_adaptive_record_are_found),
        cmocka_unit_test(the_latency_of_a_retirement_needs_its_capability),
        cmocka_unit_test(the_size_of_an_adaptive_record_is_not_trusted),
        cmocka_unit_test(unknown_groups_and_counts_are_refused),
        cmocka_unit_test(entries_behind_an_empty_one_are_no_branches),
        cmocka_unit_test(any_groups_of_an_architectural_record_are_found),
        cmocka_unit_test(fragments_are_one_record),
        cmocka_unit_test(a_fragment_cannot_lie),
        cmocka_unit_test(each_group_of_a_fragment_has_to_fit),
        cmocka_unit_test(the_depth_of_branches_is_limited),
        cmocka_unit_test(an_architectural_latency_may_be_invalid),
    };

    layouts_load(&layouts);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
