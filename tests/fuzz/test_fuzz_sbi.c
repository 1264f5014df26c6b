/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: S-mode calls the SBI's PMU with any arguments, while its memory holds anything, goes away, and changes with
 * each byte that was read. Counters of others are not touched; a counter runs exactly from a start to a stop, can be
 * read exactly while it has an event, and counts no M-mode; only the words that a call names are stored to memory; an
 * error is one of the function's own. A virtual CPU's counters run exactly between an entry and an exit, count the
 * guest's modes alone, and keep their values while another vCPU has the hart.
 */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

#include "abi/sbi/sbi_guest.c"
#include "abi/sbi/sbi_pmu.c"
#include "tests/common/fake_hart.h"

#define COUNT(array) (unsigned)(sizeof(array) / sizeof(array)[0])
#define STEPS 300u
#define ARGUMENTS 6u
#define SNAPSHOT (8u + 64u * 8u)

static const struct upmu_sbi_event rows[] = {
    {.first = 1, .last = 4, .counters = 0xffffffff, .select = HART_CYCLES},
    {.first = 0x10000, .last = 0x10005, .counters = 0x00ffff30, .select = 0x3000},
    {.first = 0x20000, .last = 0x30000, .counters = 0xff, .select = 0, .select_mask = 0xff00},
};

/* The errors that each function may answer, as bits: bit n stands for -n. */
#define ERROR(n) (1u << -(n))
static const uint32_t errors[] = {
    1,
    1 | ERROR(UPMU_SBI_INVALID_PARAM),
    1 | ERROR(UPMU_SBI_INVALID_PARAM) | ERROR(UPMU_SBI_NOT_SUPPORTED) | ERROR(UPMU_SBI_FAILED),
    1 | ERROR(UPMU_SBI_INVALID_PARAM) | ERROR(UPMU_SBI_ALREADY_STARTED) | ERROR(UPMU_SBI_NO_SHMEM) |
        ERROR(UPMU_SBI_FAILED),
    1 | ERROR(UPMU_SBI_INVALID_PARAM) | ERROR(UPMU_SBI_ALREADY_STOPPED) | ERROR(UPMU_SBI_NO_SHMEM) |
        ERROR(UPMU_SBI_FAILED),
    1 | ERROR(UPMU_SBI_INVALID_PARAM),
    1 | ERROR(UPMU_SBI_INVALID_PARAM),
    1 | ERROR(UPMU_SBI_INVALID_PARAM) | ERROR(UPMU_SBI_INVALID_ADDRESS) | ERROR(UPMU_SBI_NOT_SUPPORTED),
    1 | ERROR(UPMU_SBI_INVALID_PARAM) | ERROR(UPMU_SBI_INVALID_ADDRESS) | ERROR(UPMU_SBI_NOT_SUPPORTED) |
        ERROR(UPMU_SBI_FAILED),
};

static struct upmu_sbi_pmu pmu;
static struct upmu_sbi_config config;
static uint8_t before[HART_RAM_SIZE];

/* What S-mode knows by the answers: its counters, those with an event, those that run, and where its snapshots go. */
static struct {
    uint64_t exist, configured, running, page;
    bool has_page, failed;
} books;

static void begin(struct fuzz_bytes *in)
{
    uint32_t counters = fuzz_u32(in) & ~UINT32_C(2), exist = counters | fuzz_u32(in);
    unsigned firmware = fuzz_u8(in) % (UPMU_SBI_FIRMWARE + 1u), kind = fuzz_u8(in), first = 0;
    bool sscofpmf = kind & 3, guest = kind & 0x40;

    memset(&config, 0, sizeof config);
    config.port = &hart_port;
    config.context = &hart;
    config.copy = kind & 0x1c ? hart_copy : NULL;
    config.events = rows;
    config.event_count = fuzz_u8(in) % (COUNT(rows) + 1u);
    counters &= guest ? ~UINT32_C(7) : ~UINT32_C(2);
    config.counters = counters;
    config.guest = guest;
    config.width = (uint8_t)(16 + fuzz_u8(in) % 49);
    config.firmware_counters = (uint8_t)firmware;
    config.sscofpmf = sscofpmf;
    config.hypervisor = sscofpmf && (guest || kind & 0x20);
    hart_reset(exist, counters, config.width, sscofpmf, config.hypervisor);
    hart.inhibit |= guest ? counters : 0;
    FUZZ_CHECK(upmu_sbi_pmu_init(&pmu, &config) == UPMU_OK, "init");
    FUZZ_CHECK(!guest || upmu_sbi_pmu_load(&pmu) == UPMU_OK, "load");
    memset(&books, 0, sizeof books);
    for (unsigned n = 0; n < 32; n++)
        if (counters >> n & 1u)
            first = n + 1;
    books.exist = counters | ((UINT64_C(1) << firmware) - 1) << first;
    books.configured = books.running = counters & 5;
    books.failed = false;
}

/* ---- What has to hold ---- */

/* Can the software that has the PMU read a counter? */
static bool can_read(unsigned n)
{
    unsigned long word;
    uint64_t value;

    return config.guest ? upmu_sbi_pmu_csr(&pmu, 0xc00 + n, &word) : hart_read_in_s_mode(0xc00 + n, &value);
}

static void check_hart(void)
{

    FUZZ_CHECK(hart.wrong == NULL, "%s", hart.wrong);
    for (unsigned n = 0; n < 32 && !books.failed; n++) {
        bool lent = config.counters >> n & 1u, configured = books.configured >> n & 1u, runs = books.running >> n & 1u;

        if (!lent)
            continue;
        FUZZ_CHECK((hart.inhibit >> n & 1u) == (config.guest || !runs), "counter %u runs: %u", n, !runs);
        FUZZ_CHECK(can_read(n) == configured, "counter %u can be read: %u", n, !configured);
        if (n >= 3)
            FUZZ_CHECK((hart.event[n] != 0) == configured || hart.event[n] == 0, "counter %u has an event", n);
        if (n >= 3 && configured && hart.sscofpmf)
            FUZZ_CHECK(hart.event[n] & hart_excludes(HART_M), "counter %u counts M-mode", n);
        if (n >= 3 && configured && hart.sscofpmf && config.guest)
            FUZZ_CHECK(hart.event[n] & hart_excludes(HART_S) && hart.event[n] & hart_excludes(HART_U),
                       "counter %u counts the hypervisor", n);
    }
}

/* Memory is as it was, but for the words that the call stores. */
static void check_memory(unsigned long function, uint64_t at, uint64_t entries)
{
    if (memcmp(hart.ram, before, sizeof before) == 0)
        return;
    for (uint64_t i = 0; i < HART_RAM_SIZE; i++) {
        bool may = false;

        if (hart.ram[i] == before[i])
            continue;
        if (function == UPMU_SBI_PMU_STOP)
            may = books.has_page && i >= books.page - HART_RAM && i < books.page - HART_RAM + SNAPSHOT;
        else if (function == UPMU_SBI_PMU_EVENT_INFO)
            may = i + HART_RAM >= at && (i + HART_RAM - at) / 16 < entries && (i & 15) >= 4 && (i & 15) < 8;
        FUZZ_CHECK(may, "function %lu stored at %llu", function, (unsigned long long)i);
    }
}

static uint64_t set_named(unsigned long base, unsigned long mask)
{
    uint64_t set = 0;

    for (unsigned n = 0; n < sizeof mask * 8; n++)
        if (mask >> n & 1u) {
            if (base > 63 || base + n > 63 || !(books.exist >> (base + n) & 1u))
                return 0;
            set |= UINT64_C(1) << (base + n);
        }
    return set;
}

static void note_answer(unsigned long function, const unsigned long a[ARGUMENTS], struct upmu_sbi_answer answer)
{
    uint64_t set = function >= 2 && function <= 4 ? set_named(a[0], a[1]) : 0, one;

    if (answer.error == UPMU_SBI_FAILED && function != UPMU_SBI_PMU_EVENT_INFO)
        books.failed = true; /* memory, or a register: part of it may have been done */
    if (function >= 2 && function <= 4 && !set)
        FUZZ_CHECK(answer.error == UPMU_SBI_INVALID_PARAM, "a set without counters: %ld", answer.error);
    if (function == UPMU_SBI_PMU_CONFIG_MATCHING && !answer.error) {
        FUZZ_CHECK(answer.value < 64 && set >> answer.value & 1u, "counter %lu is not in the set", answer.value);
        one = UINT64_C(1) << answer.value;
        FUZZ_CHECK(!(books.running & one), "counter %lu ran", answer.value);
        FUZZ_CHECK(a[2] & 1 || answer.value < 3 || !(books.configured & one), "counter %lu had an event", answer.value);
        books.configured |= one;
        books.running |= a[2] & 4 ? one : 0;
    } else if (function == UPMU_SBI_PMU_START && answer.error != UPMU_SBI_NO_SHMEM && set && !(a[2] & ~3ul) &&
               (a[2] & 3) != 3) {
        FUZZ_CHECK(answer.error != 0 || !(set & (books.running | ~books.configured)), "a start that was none");
        books.running |= set & books.configured;
    } else if (function == UPMU_SBI_PMU_STOP && answer.error != UPMU_SBI_NO_SHMEM && set && !(a[2] & ~3ul)) {
        if (answer.error != UPMU_SBI_FAILED)
            FUZZ_CHECK((answer.error == 0) == !(set & ~books.running), "a stop: %ld", answer.error);
        books.running &= ~set;
        if (a[2] & 1)
            books.configured &= ~(set & ~(config.counters & UINT64_C(5)));
    } else if (function == UPMU_SBI_PMU_SNAPSHOT && !answer.error) {
        books.has_page = ~a[0] || ~a[1];
        books.page = a[0];
    }
}

/* ---- Steps ---- */

static void make_call(struct fuzz_bytes *in)
{
    unsigned long function = fuzz_u8(in) % 10, a[ARGUMENTS] = {0};
    unsigned shape = fuzz_u8(in);
    struct upmu_sbi_answer answer;
    bool may_change = hart.flips;

    for (unsigned i = 0; i < ARGUMENTS; i++)
        a[i] = (unsigned long)(shape >> i & 1u ? fuzz_u64(in) : fuzz_u8(in));
    if (function >= 7 && shape & 0x40) {
        a[0] = (unsigned long)(HART_RAM + (a[0] & 0x1f) * (function == 7 ? 4096 : 16));
        a[1] = 0;
        a[function == 7 ? 2 : 3] = 0;
    }
    memcpy(before, hart.ram, sizeof before);
    hart.reads = hart.writes = 0;
    fuzz_calls++;
    answer = upmu_sbi_pmu_call(&pmu, function, a);
    if (function < COUNT(errors))
        FUZZ_CHECK(answer.error <= 0 && answer.error > -32 && errors[function] >> -answer.error & 1u,
                   "function %lu: %ld", function, answer.error);
    else
        FUZZ_CHECK(answer.error == UPMU_SBI_NOT_SUPPORTED, "function %lu: %ld", function, answer.error);
    FUZZ_CHECK(!answer.error || !answer.value, "an error has a value");
    FUZZ_CHECK(hart.reads + hart.writes <= 5u + 3u * 32u, "%u accesses", hart.reads + hart.writes);
    if (!may_change)
        check_memory(function, a[0], a[2]);
    note_answer(function, a, answer);
}

static void run_events(struct fuzz_bytes *in)
{
    enum hart_mode mode = (enum hart_mode)(fuzz_u8(in) % 3);
    uint64_t kept[32];

    memcpy(kept, hart.counter, sizeof kept);
    hart_run(mode, HART_CYCLES + fuzz_u8(in) % 4, fuzz_u32(in));
    for (unsigned n = 3; (config.guest || (mode == HART_M && hart.sscofpmf)) && n < 32; n++)
        FUZZ_CHECK(hart.counter[n] == kept[n] || !(config.counters >> n & 1u), "counter %u counts M-mode", n);
}

/* The guest runs, or another mode has events meanwhile. */
static void visit_guest(struct fuzz_bytes *in)
{
    unsigned draw = fuzz_u8(in) % 8;
    enum hart_mode mode = draw > HART_VS ? HART_VS : (enum hart_mode)draw;
    uint32_t running = (uint32_t)pmu.counting & config.counters;
    unsigned long old = 0, now = 0;
    uint64_t kept[32];
    bool overflow;

    memcpy(kept, hart.counter, sizeof kept);
    (void)upmu_sbi_pmu_csr(&pmu, 0xda0, &old);
    fuzz_calls += 2;
    FUZZ_CHECK(upmu_sbi_pmu_enter(&pmu) == UPMU_OK, "enter");
    FUZZ_CHECK((hart.inhibit & config.counters) == (config.counters & ~running), "other counters run in the guest");
    FUZZ_CHECK(books.failed || running == ((uint32_t)books.running & config.counters), "counters were started");
    for (uint64_t event = 0, count = fuzz_u8(in) & 1 ? fuzz_u64(in) : fuzz_u8(in); event < 4; event++)
        hart_run(mode, HART_CYCLES + event, count);
    FUZZ_CHECK(upmu_sbi_pmu_exit(&pmu, &overflow) == UPMU_OK, "exit");
    (void)upmu_sbi_pmu_csr(&pmu, 0xda0, &now);
    FUZZ_CHECK(overflow == ((now & ~old) != 0) && !(old & ~now), "flags %lx to %lx", old, now);
    FUZZ_CHECK(!(now & ~(unsigned long)running & ~old), "a stopped counter overflowed");
    for (unsigned n = 3; n < 32; n++)
        FUZZ_CHECK(hart.counter[n] == kept[n] || !(config.counters >> n & 1u) ||
                       (running >> n & 1u && (mode > HART_M || !hart.sscofpmf)),
                   "counter %u counts mode %u", n, mode);
}

/* Another vCPU has the hart for a while. */
static void move_guest(struct fuzz_bytes *in)
{
    uint64_t kept[32], garbage = fuzz_u64(in);

    memcpy(kept, hart.counter, sizeof kept);
    fuzz_calls += 2;
    FUZZ_CHECK(upmu_sbi_pmu_put(&pmu) == UPMU_OK, "put");
    for (unsigned n = 3; n < 32; n++)
        if (config.counters >> n & 1u) {
            FUZZ_CHECK(hart.event[n] == 0, "counter %u keeps an event", n);
            hart.counter[n] = garbage & hart_ones(n);
        }
    FUZZ_CHECK(upmu_sbi_pmu_load(&pmu) == UPMU_OK, "load");
    for (unsigned n = 3; n < 32; n++)
        FUZZ_CHECK(hart.counter[n] == kept[n] || !(config.counters & books.configured & UINT64_C(1) << n) ||
                       books.failed,
                   "counter %u lost its value", n);
}

static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes in = {bytes, bytes + length};

    begin(&in);
    for (unsigned i = 0; i < STEPS && fuzz_more(&in); i++) {
        unsigned what = fuzz_u8(&in);

        switch (what % 16) {
        case 0:
            hart.denied = fuzz_u8(&in) & 1;
            break;
        case 1:
            hart.flips = fuzz_u8(&in) & 1;
            break;
        case 2:
            for (unsigned at = fuzz_u8(&in) * 16u, n = 0; n < 16; n++)
                hart.ram[at + n] = fuzz_u8(&in);
            break;
        case 3:
        case 4:
            run_events(&in);
            break;
        case 5:
            upmu_sbi_pmu_firmware(&pmu, fuzz_u32(&in) & 0x1f);
            break;
        case 6:
        case 7:
            if (config.guest && what & 16)
                move_guest(&in);
            else if (config.guest)
                visit_guest(&in);
            break;
        default:
            make_call(&in);
            break;
        }
        check_hart();
    }
    FUZZ_CHECK(!config.guest || upmu_sbi_pmu_put(&pmu) == UPMU_OK, "put");
    FUZZ_CHECK(upmu_sbi_pmu_init(&pmu, &config) == UPMU_OK, "init");
    memset(&books, 0, sizeof books);
    books.configured = books.running = config.counters & 5;
    check_hart();
}

/* A mask of few counters, more often than any: a set with one counter that is none is refused whole. */
static void put_arguments(uint64_t *random, struct fuzz_draft *draft, unsigned function)
{
    static const uint32_t numbers[] = {1, 2, 3, 0x10000, 0x10003, 0x20000, 0x30000, 0xf0000, 0xf0005, 0xf0015};
    bool sets = function >= 2 && function <= 4;

    fuzz_put(draft, function, 1);
    if (!sets) {
        fuzz_put(draft, 0x40 | fuzz_below(random, 64), 1);
        for (unsigned i = 0; i < ARGUMENTS; i++)
            fuzz_put(draft, fuzz_word(random), 8);
        return;
    }
    fuzz_put(draft, 1u << 1 | 1u << 3, 1);
    fuzz_put(draft, fuzz_below(random, 4) ? fuzz_below(random, 40) : 0, 1);
    fuzz_put(draft, fuzz_below(random, 3) ? UINT64_C(1) << fuzz_below(random, 8) : fuzz_word(random), 8);
    fuzz_put(draft, fuzz_below(random, 8), 1);
    fuzz_put(draft, function == 2 ? numbers[fuzz_below(random, COUNT(numbers))] : fuzz_word(random), 8);
    fuzz_put(draft, 0, 2);
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned steps = 10 + fuzz_below(random, 50);

    fuzz_put(draft, fuzz_below(random, 2) ? 0xffffffff : fuzz_random(random), 4);
    fuzz_put(draft, fuzz_random(random), 4 + 1 + 1 + 1 + 1);
    while (steps--) {
        unsigned what = fuzz_below(random, 32);

        fuzz_put(draft, what, 1);
        if (what % 16 >= 8)
            put_arguments(random, draft, fuzz_below(random, 3) ? 2 + fuzz_below(random, 3) : fuzz_below(random, 10));
        else if (what % 16 >= 6)
            fuzz_put(draft, fuzz_word(random), 3), fuzz_put(draft, fuzz_word(random), 8);
        else
            fuzz_put(draft, fuzz_word(random), what % 16 == 2 ? 8 : what % 16 < 2 ? 1 : 6);
    }
}

const struct fuzz_target fuzz_target = {
    "sbi", "calls_and_memory_of_s_mode_leave_the_hart_whole", 6000, 6000000, run, make, 100000000};
