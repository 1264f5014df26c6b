/* SPDX-License-Identifier: MIT */
/*
 * The first program of Linux on RISC-V, for test_sbi_linux.py: it counts a loop of 10,000,000 instructions by
 * perf_event_open, event by event, samples it, prints a line for each, and switches the machine off.
 * Structures and numbers are those of Linux's user interface (include/uapi).
 */
#include <stdint.h>

#define SYS_IOCTL 29
#define SYS_WRITE 64
#define SYS_MOUNT 40
#define SYS_OPENAT 56
#define SYS_READ 63
#define SYS_NANOSLEEP 101
#define SYS_REBOOT 142
#define SYS_MKDIRAT 34
#define SYS_MMAP 222
#define SYS_PERF_EVENT_OPEN 241
#define PERF_ENABLE 0x2400
#define PERF_DISABLE 0x2401
#define TYPE_HARDWARE 0
#define TYPE_CACHE 3
#define TYPE_RAW 4
#define DISABLED 1u
#define EXCLUDE_KERNEL_AND_HYPERVISOR 0x60u
#define SAMPLE_IP 1u
#define RECORD_SAMPLE 9u
#define PAGES 8
#define PAGE 4096
#define TURNS 2500000 /* of 4 instructions */
#define PERIOD 100000
#define FIRMWARE (UINT64_C(1) << 63)
#define SET_TIMER 5

void init_main(void);
void *memset(void *to, int value, unsigned long bytes);

static long syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
    return a0;
}

__asm__(".global _start\n_start:\n.option push\n.option norelax\nla gp, __global_pointer$\n.option pop\n"
        "andi sp, sp, -16\nj init_main\n");

static void loop(long turns)
{
    __asm__ volatile(".option push\n.option norvc\n1: addi %0, %0, -1\nnop\nnop\nbnez %0, 1b\n.option pop"
                     : "+r"(turns));
}

void *memset(void *to, int value, unsigned long bytes)
{
    for (unsigned long i = 0; i < bytes; i++)
        ((volatile unsigned char *)to)[i] = (unsigned char)value;
    return to;
}

static void put(const char *text)
{
    long length = 0;

    while (text[length])
        length++;
    (void)syscall(SYS_WRITE, 1, (long)text, length, 0, 0, 0);
}

static void put_number(long value)
{
    char text[24], *at = text + 23;
    unsigned long rest = value < 0 ? 0ul - (unsigned long)value : (unsigned long)value;

    *at = '\0';
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        *--at = '-';
    put(at);
}

/* struct perf_event_attr, as long as the first version. */
struct attribute {
    uint32_t type, size;
    uint64_t config, period, sample_type, read_format, flags;
    uint32_t wakeup, breakpoint;
    uint64_t address;
};

static long open_event(uint32_t type, uint64_t config, uint64_t period, uint64_t flags)
{
    struct attribute attribute;

    memset(&attribute, 0, sizeof attribute);
    attribute.type = type;
    attribute.size = sizeof attribute;
    attribute.config = config;
    attribute.period = period;
    attribute.sample_type = period ? SAMPLE_IP : 0;
    attribute.flags = flags | DISABLED;
    return syscall(SYS_PERF_EVENT_OPEN, (long)&attribute, 0, -1, -1, 0, 0);
}

static void count(const char *name, uint32_t type, uint64_t config, uint64_t flags)
{
    static const long second[2] = {0, 50000000};
    long event = open_event(type, config, 0, flags);
    uint64_t value = 0;

    put("EV ");
    put(name);
    if (event < 0) {
        put(" refused ");
        put_number(event);
    } else {
        (void)syscall(SYS_IOCTL, event, PERF_ENABLE, 0, 0, 0, 0);
        if (config & FIRMWARE)
            (void)syscall(SYS_NANOSLEEP, (long)second, 0, 0, 0, 0, 0);
        else
            loop(TURNS);
        (void)syscall(SYS_IOCTL, event, PERF_DISABLE, 0, 0, 0, 0);
        (void)syscall(SYS_READ, event, (long)&value, sizeof value, 0, 0, 0);
        put(" = ");
        put_number((long)value);
    }
    put("\n");
}

/* The loop, sampled: the records of the ring are counted. */
static void sample(void)
{
    long event = open_event(TYPE_HARDWARE, 1, PERIOD, EXCLUDE_KERNEL_AND_HYPERVISOR), samples = 0;
    const char *ring;
    uint64_t head, value = 0;

    put("SAMPLES ");
    if (event < 0) {
        put("refused ");
        put_number(event);
        put("\n");
        return;
    }
    ring = (const char *)syscall(SYS_MMAP, 0, PAGE * (PAGES + 1), 3, 1, event, 0);
    (void)syscall(SYS_IOCTL, event, PERF_ENABLE, 0, 0, 0, 0);
    loop(TURNS);
    (void)syscall(SYS_IOCTL, event, PERF_DISABLE, 0, 0, 0, 0);
    (void)syscall(SYS_READ, event, (long)&value, sizeof value, 0, 0, 0);
    head = *(const volatile uint64_t *)(const void *)(ring + 1024);
    for (uint64_t at = 0; at < head && at < PAGES * PAGE;) {
        const char *record = ring + PAGE + at;
        uint16_t size = *(const volatile uint16_t *)(const void *)(record + 6);

        samples += *(const volatile uint32_t *)(const void *)record == RECORD_SAMPLE;
        if (!size)
            break;
        at += size;
    }
    put_number(samples);
    put(" of ");
    put_number((long)value);
    put("\n");
}

static void copy_file(const char *path)
{
    static char text[PAGE];
    long file = syscall(SYS_OPENAT, -100, (long)path, 0, 0, 0, 0), bytes;

    while (file >= 0 && (bytes = syscall(SYS_READ, file, (long)text, PAGE, 0, 0, 0)) > 0)
        (void)syscall(SYS_WRITE, 1, (long)text, bytes, 0, 0, 0);
}

void init_main(void)
{
    (void)syscall(SYS_MKDIRAT, -100, (long)"/proc", 0755, 0, 0, 0);
    (void)syscall(SYS_MOUNT, (long)"proc", (long)"/proc", (long)"proc", 0, 0, 0);
    put("INIT\n");
    count("cycles", TYPE_HARDWARE, 0, 0);
    count("instructions", TYPE_HARDWARE, 1, 0);
    count("instructions:u", TYPE_HARDWARE, 1, EXCLUDE_KERNEL_AND_HYPERVISOR);
    count("cache-references", TYPE_HARDWARE, 2, 0);
    count("branches", TYPE_HARDWARE, 4, 0);
    count("dTLB-load-misses", TYPE_CACHE, 0x10003, 0);
    count("iTLB-load-misses", TYPE_CACHE, 0x10004, 0);
    count("raw-instructions", TYPE_RAW, 2, 0);
    count("firmware-set-timer", TYPE_RAW, FIRMWARE | SET_TIMER, 0);
    count("firmware-illegal-instructions", TYPE_RAW, FIRMWARE | 4, 0);
    sample();
    copy_file("/proc/interrupts");
    put("DONE\n");
    (void)syscall(SYS_REBOOT, 0xfee1dead, 672274793, 0x4321fedc, 0, 0, 0);
    for (;;)
        ;
}
