/* SPDX-License-Identifier: MIT */
/*
 * Ten small programs on libpfm4: each encodes events by their names and uses perf_event_open as a profiler would.
 *
 *     pfm_programs PROGRAM INSTRUCTIONS BRANCHES
 *
 * The last two words are libpfm4's names of these events on the CPU. The loop of pfm_work.S executes a known number of
 * both, and the supervisor single-steps it: counts are compared exactly. Exit code 0, or 1 after a line for each
 * difference.
 */
#include <errno.h>
#include <inttypes.h>
#include <perfmon/pfmlib_perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PASSES UINT64_C(500)
#define EXTRA 3u /* instructions of pfm_count() that are counted beside the loop */
#define COUNTED (2 * PASSES + EXTRA)
#define PAGE 4096u
#define RING_PAGES 8u
#define CAPABLE_OF_RDPMC (UINT64_C(1) << 2) /* in the page of an event (perf_event_open(2), cap_user_rdpmc) */

void pfm_count(int file, uint64_t passes);
void pfm_family(int file, uint64_t passes);
extern const char pfm_loop[], pfm_jump[], pfm_after[];

static const char *instructions, *branches;
static unsigned differences;

static void expect(const char *what, int64_t found, int64_t wanted)
{
    if (found == wanted)
        return;
    printf("%s: %" PRId64 ", not %" PRId64 "\n", what, found, wanted);
    differences++;
}

static void expect_range(const char *what, uint64_t found, uint64_t least, uint64_t most)
{
    if (found >= least && found <= most)
        return;
    printf("%s: %" PRIu64 ", not %" PRIu64 " to %" PRIu64 "\n", what, found, least, most);
    differences++;
}

/* libpfm4's attributes of an event in user mode. */
static int encode(const char *name, struct perf_event_attr *attr)
{
    pfm_perf_encode_arg_t argument = {.attr = attr, .size = sizeof argument};

    memset(attr, 0, sizeof *attr);
    attr->size = sizeof *attr;
    return pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
}

static int open_attr(struct perf_event_attr *attr, int group)
{
    return (int)syscall(SYS_perf_event_open, attr, 0, -1, group, 0);
}

/* An event of this process; a negative result was told. */
static int open_event(const char *name, int group, struct perf_event_attr *attr)
{
    struct perf_event_attr own, *of = attr ? attr : &own;
    int file;

    if (!attr)
        expect(name, encode(name, of), PFM_SUCCESS);
    of->disabled = group < 0;
    file = open_attr(of, group);
    expect_range(name, (uint64_t)file, 3, 1000);
    return file;
}

static void read_words(int file, uint64_t *words, size_t count)
{
    expect("bytes of a read", read(file, words, count * sizeof *words), (int64_t)(count * sizeof *words));
}

/* ---- The programs ---- */

/* Names become words, and these count, in the mode that the name says. */
static void program_encode(void)
{
    const char *const names[] = {instructions, branches}, *const modes[] = {"", ":u", ":k"};

    for (unsigned i = 0; i < 6; i++) {
        char name[128];
        uint64_t value = 1;
        int file;

        snprintf(name, sizeof name, "%s%s", names[i % 2], modes[i / 2]);
        file = open_event(name, -1, NULL);
        pfm_count(file, PASSES);
        read_words(file, &value, 1);
        expect(name, (int64_t)value, i / 2 == 2 ? 0 : i % 2 ? PASSES : COUNTED);
        close(file);
    }
}

/* A count grows from run to run, is reset, and its times are equal where it has a counter of its own. */
static void program_self(void)
{
    struct perf_event_attr attr;
    uint64_t words[3];
    int file;

    expect("encoding", encode(instructions, &attr), PFM_SUCCESS);
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    file = open_event(instructions, -1, &attr);
    for (unsigned run = 1; run <= 3; run++) {
        pfm_count(file, PASSES);
        read_words(file, words, 3);
        expect("count", (int64_t)words[0], run * COUNTED);
        expect("time running", (int64_t)words[2], (int64_t)words[1]);
        expect_range("time enabled", words[1], 1, UINT64_MAX);
    }
    expect("reset", ioctl(file, PERF_EVENT_IOC_RESET, 0), 0);
    read_words(file, words, 3);
    expect("count after reset", (int64_t)words[0], 0);
    expect_range("time after reset", words[1], 1, UINT64_MAX);
}

/* A group is read at once. */
static void program_group(void)
{
    struct perf_event_attr attr,
        dummy = {.type = PERF_TYPE_SOFTWARE, .size = sizeof dummy, .config = PERF_COUNT_SW_DUMMY};
    uint64_t words[8], id[3];
    int file[3];

    expect("encoding", encode(instructions, &attr), PFM_SUCCESS);
    attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
    file[0] = open_event(instructions, -1, &attr);
    file[1] = open_event(branches, file[0], NULL);
    file[2] = open_event("dummy", file[0], &dummy);
    for (unsigned i = 0; i < 3; i++)
        expect("id", ioctl(file[i], PERF_EVENT_IOC_ID, &id[i]), 0);
    pfm_count(file[0], PASSES);
    read_words(file[0], words, 7);
    expect("members", (int64_t)words[0], 3);
    expect("instructions of the group", (int64_t)words[1], COUNTED);
    expect("branches of the group", (int64_t)words[3], PASSES);
    expect("dummy of the group", (int64_t)words[5], 0);
    for (unsigned i = 0; i < 3; i++)
        expect("id in the group", (int64_t)words[2 + 2 * i], (int64_t)id[i]);
}

/* More events than counters: each is raw, and its times scale it. */
static void program_multiplex(void)
{
    enum { EVENTS = 10, LONG = 4000 };
    struct perf_event_attr attr;
    uint64_t words[3];
    unsigned waited = 0;
    int file[EVENTS];

    expect("encoding", encode(branches, &attr), PFM_SUCCESS);
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    for (unsigned i = 0; i < EVENTS; i++)
        file[i] = open_event(branches, -1, &attr);
    for (unsigned i = 0; i < EVENTS; i++)
        expect("enable", i ? ioctl(file[i], PERF_EVENT_IOC_ENABLE, 0) : 0, 0);
    pfm_count(file[0], LONG);
    for (unsigned i = 0; i < EVENTS; i++) {
        double scaled;

        read_words(file[i], words, 3);
        waited += words[2] < words[1];
        expect_range("time running", words[2], 1, words[1]);
        expect_range("raw count", words[0], 1, LONG + 200);
        scaled = words[2] ? (double)words[0] * (double)words[1] / (double)words[2] : 0;
        expect_range("scaled count", (uint64_t)scaled, LONG * 85 / 100, LONG * 115 / 100 + 200);
    }
    expect_range("events that waited", waited, 2, EVENTS);
}

/* A child is counted, if it is to be, from its first instruction. */
static void program_inherit(void)
{
    struct perf_event_attr attr;
    uint64_t value[2][2], before;

    expect("encoding", encode(instructions, &attr), PFM_SUCCESS);
    for (unsigned inherit = 0; inherit < 2; inherit++) {
        int file;

        attr.inherit = inherit;
        file = open_event(instructions, -1, &attr);
        before = 0;
        for (unsigned run = 0; run < 2; run++) {
            pfm_family(file, PASSES * (run + 1));
            read_words(file, &value[inherit][run], 1);
            value[inherit][run] -= before;
            before += value[inherit][run];
        }
        close(file);
    }
    expect("without children", (int64_t)value[0][1], (int64_t)value[0][0]);
    expect("passes of the child", (int64_t)(value[1][1] - value[1][0]), 2 * PASSES);
    expect_range("the child's", value[1][0] - value[0][0], 2 * PASSES, 2 * PASSES + 10);
}

/* ---- Rings ---- */

struct ring {
    struct perf_event_mmap_page *page;
    uint64_t at;
};

static struct ring map_ring(int file)
{
    struct ring ring = {mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), 0};

    expect("mmap", ring.page == MAP_FAILED ? errno : 0, 0);
    return ring;
}

/* The next sample's words behind its header; false: there is none. */
static bool take_sample(struct ring *ring, uint64_t *words, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)ring->page + PAGE;
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);

    while (ring->at < head) {
        struct perf_event_header header;
        uint64_t at = ring->at;

        memcpy(&header, bytes + at % (RING_PAGES * PAGE), sizeof header);
        ring->at += header.size;
        for (size_t i = 0; i < count; i++)
            memcpy(&words[i], bytes + (at + 8 + 8 * i) % (RING_PAGES * PAGE), 8);
        __atomic_store_n(&ring->page->data_tail, ring->at, __ATOMIC_RELEASE);
        expect("type of the record", header.type, PERF_RECORD_SAMPLE);
        expect("bytes of the record", header.size, (int64_t)(8 + 8 * count));
        return true;
    }
    return false;
}

/* Where the program is after so many of the instructions that pfm_count() counts. */
static uint64_t place_after(uint64_t instruction)
{
    if (instruction == 1 || (instruction % 2 && instruction <= 2 * PASSES))
        return (uint64_t)(uintptr_t)pfm_loop;
    return (uint64_t)(uintptr_t)(instruction % 2 ? pfm_after : pfm_jump);
}

/* Each 7th instruction is sampled, and poll tells that there is something to read. */
static void program_samples(void)
{
    enum { PERIOD = 7 };
    struct perf_event_attr attr;
    struct pollfd wait;
    struct ring ring;
    uint64_t words[2], samples = 0;

    expect("encoding", encode(instructions, &attr), PFM_SUCCESS);
    attr.sample_period = PERIOD;
    attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
    attr.wakeup_events = 1;
    wait = (struct pollfd){.fd = open_event(instructions, -1, &attr), .events = POLLIN};
    ring = map_ring(wait.fd);
    expect("poll before", poll(&wait, 1, 0), 0);
    pfm_count(wait.fd, PASSES);
    expect("poll", poll(&wait, 1, 0), 1);
    expect("what polled", wait.revents, POLLIN);
    expect("poll again", poll(&wait, 1, 0), 0);
    while (take_sample(&ring, words, 2)) {
        samples++;
        if (samples * PERIOD <= 2 * PASSES + 1)
            expect("address of a sample", (int64_t)words[0], (int64_t)place_after(samples * PERIOD));
        expect("period of a sample", (int64_t)words[1], PERIOD);
    }
    expect("samples", (int64_t)samples, COUNTED / PERIOD);
}

/* Two events have one ring. */
static void program_outputs(void)
{
    struct perf_event_attr attr[2];
    uint64_t id[2], words[1], samples[2] = {0, 0};
    const char *const names[2] = {instructions, branches};
    struct ring ring;
    int file[2];

    for (unsigned i = 0; i < 2; i++) {
        expect("encoding", encode(names[i], &attr[i]), PFM_SUCCESS);
        attr[i].sample_period = i ? 25 : 40;
        attr[i].sample_type = PERF_SAMPLE_ID;
        file[i] = open_event(names[i], -1, &attr[i]);
        expect("id", ioctl(file[i], PERF_EVENT_IOC_ID, &id[i]), 0);
    }
    ring = map_ring(file[0]);
    expect("output", ioctl(file[1], PERF_EVENT_IOC_SET_OUTPUT, file[0]), 0);
    expect("output to itself", ioctl(file[0], PERF_EVENT_IOC_SET_OUTPUT, file[0]) < 0 ? errno : 0, EINVAL);
    pfm_count(file[0], PASSES);
    pfm_count(file[1], PASSES);
    while (take_sample(&ring, words, 1))
        for (unsigned i = 0; i < 2; i++)
            samples[i] += words[0] == id[i];
    expect("samples of the first", (int64_t)samples[0], COUNTED / 40);
    expect("samples of the second", (int64_t)samples[1], PASSES / 25);
}

/* A period changes between two runs: a new one begins at once. */
static void program_period(void)
{
    struct perf_event_attr attr;
    struct ring ring;
    uint64_t words[1], samples[2] = {0, 0}, period = 40;
    int file;

    expect("encoding", encode(instructions, &attr), PFM_SUCCESS);
    attr.sample_period = 100;
    attr.sample_type = PERF_SAMPLE_PERIOD;
    file = open_event(instructions, -1, &attr);
    ring = map_ring(file);
    pfm_count(file, PASSES);
    expect("period", ioctl(file, PERF_EVENT_IOC_PERIOD, &period), 0);
    pfm_count(file, PASSES);
    while (take_sample(&ring, words, 1)) {
        samples[0] += words[0] == 100;
        samples[1] += words[0] == 40;
    }
    expect("samples of the first period", (int64_t)samples[0], COUNTED / 100);
    expect("samples of the second period", (int64_t)samples[1], COUNTED / 40);
    period = 0;
    expect("period 0", ioctl(file, PERF_EVENT_IOC_PERIOD, &period) < 0 ? errno : 0, EINVAL);
}

static uint64_t rdpmc(uint32_t counter)
{
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
    return (uint64_t)high << 32 | low;
}

/* The count by the mapped page, as perf_event_open(2) says; *out_index: that of the counter. */
static uint64_t count_of_page(volatile struct perf_event_mmap_page *page, uint32_t *out_index)
{
    uint64_t count;
    uint32_t lock;

    do {
        lock = page->lock;
        __asm__ volatile("" : : : "memory");
        *out_index = page->index;
        count = (uint64_t)page->offset;
        if (*out_index) {
            unsigned shift = 64u - page->pmc_width;

            count += (uint64_t)((int64_t)(rdpmc(*out_index - 1) << shift) >> shift);
        }
        __asm__ volatile("" : : : "memory");
    } while (page->lock != lock);
    return count;
}

/* The mapped page offers RDPMC, and gives the count, of an event that is disabled and while it counts. */
static void program_rdpmc(void)
{
    volatile struct perf_event_mmap_page *page;
    uint64_t first, second, passes = PASSES, word;
    struct perf_event_attr attr;
    uint32_t index;
    int file;

    expect("encoding", encode(instructions, &attr), PFM_SUCCESS);
    file = open_event(instructions, -1, &attr);
    page = map_ring(file).page;
    expect("the page offers RDPMC", !!(page->capabilities & CAPABLE_OF_RDPMC), 1);
    pfm_count(file, PASSES);
    read_words(file, &word, 1);
    expect("count by read", (int64_t)word, COUNTED);
    expect("count by the page", (int64_t)count_of_page(page, &index), COUNTED);
    expect("counter of a disabled event", index, 0);
    expect("enable", ioctl(file, PERF_EVENT_IOC_ENABLE, 0), 0);
    first = count_of_page(page, &index);
    expect_range("counter of an enabled event", index, 1, UINT32_MAX);
    __asm__ volatile("1: dec %0; jnz 1b" : "+r"(passes) : : "cc");
    second = count_of_page(page, &index);
    read_words(file, &word, 1);
    expect_range("the loop by the page", second - first, 2 * PASSES, 2 * PASSES + 100);
    expect_range("from the page to the call", word - second, 1, 400);
    second = count_of_page(page, &index);
    expect_range("from the call to the page", second - word, 1, 400);
}

static void expect_refusal(const char *what, struct perf_event_attr *attr, int pid, int group, unsigned long flags,
                           int error)
{
    long file = syscall(SYS_perf_event_open, attr, pid, -1, group, flags);

    expect(what, file < 0 ? errno : 0, error);
    if (file >= 0)
        close((int)file);
}

/* What a program must be told: libpfm4 about names, the kernel about attributes and calls. */
static void program_errors(void)
{
    struct perf_event_attr attr, good;
    uint64_t word = 0;
    int file, null;

    expect("unknown event", encode("NO_SUCH_EVENT", &attr), PFM_ERR_NOTFOUND);
    expect("encoding", encode(instructions, &good), PFM_SUCCESS);
    file = open_event(instructions, -1, NULL);
    null = dup(1);
    attr = good;
    attr.type = 99;
    expect_refusal("unknown type", &attr, 0, -1, 0, ENOENT);
    attr = good;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = 10;
    expect_refusal("unknown generic event", &attr, 0, -1, 0, EINVAL);
    attr = good;
    attr.read_format = 1u << 20;
    expect_refusal("unknown format", &attr, 0, -1, 0, EINVAL);
    attr = good;
    attr.size = 8;
    expect_refusal("small attributes", &attr, 0, -1, 0, E2BIG);
    expect_range("size that is told", attr.size, 64, PAGE);
    expect_refusal("unknown flags", &good, 0, -1, 1u << 20, EINVAL);
    expect_refusal("unknown process", &good, 0x3ffffff, -1, 0, ESRCH);
    expect_refusal("no process and no CPU", &good, -1, -1, 0, EINVAL);
    expect_refusal("a group of something else", &good, 0, null, 0, EBADF);
    expect_refusal("a closed group", &good, 0, 999, 0, EBADF);
    expect("short read", read(file, &word, 4) < 0 ? errno : 0, ENOSPC);
    expect("unknown command", ioctl(file, _IO('$', 99), 0) < 0 ? errno : 0, ENOTTY);
    expect("period of a counting event", ioctl(file, PERF_EVENT_IOC_PERIOD, &word) < 0 ? errno : 0, EINVAL);
    expect("ring of three pages",
           mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) == MAP_FAILED ? errno : 0, EINVAL);
    pfm_count(file, PASSES);
    read_words(file, &word, 1);
    expect("count after all of these", (int64_t)word, COUNTED);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } programs[] = {{"encode", program_encode},       {"self", program_self},       {"group", program_group},
                    {"multiplex", program_multiplex}, {"inherit", program_inherit}, {"samples", program_samples},
                    {"outputs", program_outputs},     {"period", program_period},   {"rdpmc", program_rdpmc},
                    {"errors", program_errors}};

    if (count != 4 || pfm_initialize() != PFM_SUCCESS)
        return 2;
    instructions = words[2];
    branches = words[3];
    for (unsigned i = 0; i < sizeof programs / sizeof programs[0]; i++)
        if (strcmp(programs[i].name, words[1]) == 0) {
            programs[i].run();
            return differences != 0;
        }
    return 2;
}
