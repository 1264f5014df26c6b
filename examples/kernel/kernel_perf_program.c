/* SPDX-License-Identifier: MIT */
/*
 * A program for ring 3 that counts and samples itself by perf_event_open and five more system calls, as perf does.
 */
#include <abi/perf/perf_event.h>
#include <examples/kernel/kernel.h>
#include <examples/kernel/kernel_perf.h>

#define PERIOD 100u
#define RING_BYTES (3 * UPMU_PERF_PAGE_BYTES)
#define DATA_BYTES (2 * UPMU_PERF_PAGE_BYTES)
#define CYCLES 0u /* generic events */
#define INSTRUCTIONS 1u

void workload(uint32_t passes);
extern const uint8_t workload_begin[], workload_end[];

struct kernel_perf_found kernel_perf_found;

static intptr_t ask(enum kernel_perf_number number, uintptr_t first, uintptr_t second, uintptr_t third,
                    uintptr_t fourth)
{
    uintptr_t words[KERNEL_PERF_WORDS] = {first, second, third, fourth, 0};
    uintptr_t answer = number;

    __asm__ volatile("int $0x80" : "+a"(answer) : "D"(words) : "memory");
    if ((intptr_t)answer < 0 && !kernel_perf_found.status)
        kernel_perf_found.status = (intptr_t)answer;
    return (intptr_t)answer;
}

/* A generic event of this thread, in user mode. */
static struct upmu_perf_attr attributes(uint64_t config)
{
    return (struct upmu_perf_attr){.type = UPMU_PERF_TYPE_HARDWARE,
                                   .size = UPMU_PERF_ATTR_BYTES_FIRST,
                                   .config = config,
                                   .flags = UPMU_PERF_DISABLED | UPMU_PERF_EXCLUDE_KERNEL};
}

static uintptr_t open_event(struct upmu_perf_attr *attr, uintptr_t group)
{
    return (uintptr_t)ask(KERNEL_PERF_OPEN, (uintptr_t)attr, 0, (uintptr_t)-1, group);
}

static uint64_t read_count(uintptr_t file)
{
    uint64_t count = 0;

    (void)ask(KERNEL_PERF_READ, file, (uintptr_t)&count, sizeof count, 0);
    return count;
}

/* Not inlined, so that each measurement has the same instructions around it. */
static __attribute__((noinline)) void measure(uintptr_t file, uint32_t passes)
{
    (void)ask(KERNEL_PERF_IOCTL, file, UPMU_PERF_IOC_ENABLE, UPMU_PERF_IOC_FLAG_GROUP, 0);
    workload(passes);
    (void)ask(KERNEL_PERF_IOCTL, file, UPMU_PERF_IOC_DISABLE, UPMU_PERF_IOC_FLAG_GROUP, 0);
}

static void count_itself(void)
{
    struct upmu_perf_attr attr = attributes(INSTRUCTIONS);
    uintptr_t file = open_event(&attr, (uintptr_t)-1);

    measure(file, 100);
    kernel_perf_found.self[0] = read_count(file);
    measure(file, 300);
    kernel_perf_found.self[1] = read_count(file) - kernel_perf_found.self[0];
    (void)ask(KERNEL_PERF_CLOSE, file, 0, 0, 0);
}

static void count_in_a_group(void)
{
    struct upmu_perf_attr attr = attributes(INSTRUCTIONS), cycles = attributes(CYCLES);
    uint64_t words[3] = {0, 0, 0};
    uintptr_t leader, sibling;

    attr.read_format = UPMU_PERF_READ_GROUP;
    cycles.flags &= ~UPMU_PERF_DISABLED;
    leader = open_event(&attr, (uintptr_t)-1);
    sibling = open_event(&cycles, leader);
    measure(leader, 100);
    (void)ask(KERNEL_PERF_READ, leader, (uintptr_t)words, sizeof words, 0);
    kernel_perf_found.group[0] = words[1];
    kernel_perf_found.group[1] = words[2];
    (void)ask(KERNEL_PERF_CLOSE, leader, 0, 0, 0);
    (void)ask(KERNEL_PERF_CLOSE, sibling, 0, 0, 0);
}

/* Records of the ring: a header of one word, with the bytes of the record in its bits 63:48, and the address. */
static void read_samples(struct upmu_perf_page *page)
{
    const uint8_t *data = (const uint8_t *)page + UPMU_PERF_PAGE_BYTES;
    uintptr_t at = page->tail.low, head = __atomic_load_n(&page->head.low, __ATOMIC_ACQUIRE);

    while (at < head) {
        const uint64_t *record = (const uint64_t *)(const void *)(data + at % DATA_BYTES);

        if ((record[0] & UINT32_MAX) == UPMU_PERF_RECORD_SAMPLE) {
            kernel_perf_found.samples++;
            kernel_perf_found.inside +=
                record[1] >= (uintptr_t)workload_begin && record[1] < (uintptr_t)workload_end ? 1 : 0;
        }
        at += (uintptr_t)(record[0] >> 48);
    }
    __atomic_store_n(&page->tail.low, at, __ATOMIC_RELEASE);
}

static void sample_itself(void)
{
    struct upmu_perf_attr attr = attributes(INSTRUCTIONS);
    uintptr_t file;
    intptr_t ring;

    kernel_perf_found.period = PERIOD;
    attr.sample_period = PERIOD;
    attr.sample_type = UPMU_PERF_SAMPLE_IP;
    attr.wakeup = 1;
    file = open_event(&attr, (uintptr_t)-1);
    ring = ask(KERNEL_PERF_MMAP, file, RING_BYTES, 0, 0);
    measure(file, 300);
    kernel_perf_found.polled = (uint32_t)ask(KERNEL_PERF_POLL, file, 0, 0, 0);
    kernel_perf_found.counted = read_count(file);
    if (!kernel_perf_found.status)
        read_samples((struct upmu_perf_page *)ring);
}

void kernel_perf_program(void)
{
    struct upmu_perf_attr attr = attributes(INSTRUCTIONS);

    count_itself();
    count_in_a_group();
    sample_itself(); /* its descriptor stays open: the end of the program closes it */
    attr.flags = 0;  /* the kernel's mode, too */
    kernel_perf_found.refused = kernel_perf_found.status;
    if (!kernel_perf_found.status) {
        kernel_perf_found.refused = (intptr_t)open_event(&attr, (uintptr_t)-1);
        kernel_perf_found.status = 0;
    }
    __asm__ volatile("hlt");
}

void kernel_perf_tell(const struct shell *shell)
{
    const struct kernel_perf_found *found = &kernel_perf_found;

    kernel_line_number(shell, "perf.", "failed", (uint64_t)-found->status);
    kernel_line_number(shell, "perf.", "refused", (uint64_t)-found->refused);
    kernel_line_number(shell, "perf.", "self.100", found->self[0]);
    kernel_line_number(shell, "perf.", "self.300", found->self[1]);
    kernel_line_number(shell, "perf.", "group.instructions", found->group[0]);
    kernel_line_number(shell, "perf.", "group.cycles", found->group[1]);
    kernel_line_number(shell, "perf.", "sampled", found->counted);
    kernel_line_number(shell, "perf.", "period", found->period);
    kernel_line_number(shell, "perf.", "samples", found->samples);
    kernel_line_number(shell, "perf.", "inside", found->inside);
    kernel_line_number(shell, "perf.", "polled", found->polled);
}
