/* SPDX-License-Identifier: MIT */
/*
 * The first and only program of a Linux on AArch64: counts and samples loops by perf_event_open, shows the interrupts
 * of the PMU, and switches the machine off.  It has no library.
 */
#include <stdint.h>

enum {
    SYS_IOCTL = 29,
    SYS_MKDIRAT = 34,
    SYS_MOUNT = 40,
    SYS_OPENAT = 56,
    SYS_READ = 63,
    SYS_WRITE = 64,
    SYS_REBOOT = 142,
    SYS_MMAP = 222,
    SYS_PERF_EVENT_OPEN = 241
};
enum { ENABLE = 0x2400, DISABLE = 0x2401 }; /* PERF_EVENT_IOC_... */
#define AT_FDCWD (-100)
#define EXCLUDE_KERNEL_HV 0x60u
#define RECORD_SAMPLE 9u

/* Of struct perf_event_attr the first version: 64 bytes. */
struct event_attr {
    uint32_t type, size;
    uint64_t config, period, sample_type, read_format, flags;
    uint32_t wakeup, breakpoint;
    uint64_t config1;
};

void start(void);
void *memset(void *to, int value, unsigned long bytes);

void *memset(void *to, int value, unsigned long bytes)
{
    for (unsigned char *at = to; bytes; bytes--)
        *at++ = (unsigned char)value;
    return to;
}

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

static void say(const char *text)
{
    long length = 0;

    while (text[length])
        length++;
    (void)call(SYS_WRITE, 1, (long)text, length, 0, 0, 0);
}

static void say_number(long number)
{
    char digits[24];
    unsigned at = sizeof digits - 1;
    unsigned long rest = number < 0 ? 0 - (unsigned long)number : (unsigned long)number;

    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        digits[--at] = '-';
    say(digits + at);
}

/* Four instructions a turn. */
static void loop(unsigned long turns)
{
    __asm__ volatile("1: subs %0, %0, #1\n\tnop\n\tnop\n\tb.ne 1b" : "+r"(turns) : : "cc");
}

static long open_event(uint64_t config, uint64_t period, uint64_t flags)
{
    struct event_attr attr = {
        .size = sizeof attr, .config = config, .period = period, .sample_type = period ? 1 : 0, .flags = 1u | flags};

    return call(SYS_PERF_EVENT_OPEN, (long)&attr, 0, -1, -1, 0, 0);
}

/* One line: the count of 1,000,000 instructions, or the error. */
static void count(const char *name, uint64_t config, uint64_t flags)
{
    long event = open_event(config, 0, flags), value = event;

    if (event >= 0) {
        (void)call(SYS_IOCTL, event, ENABLE, 0, 0, 0, 0);
        loop(250000);
        (void)call(SYS_IOCTL, event, DISABLE, 0, 0, 0, 0);
        (void)call(SYS_READ, event, (long)&value, sizeof value, 0, 0, 0);
    }
    say("count ");
    say(name);
    say(" ");
    say_number(value);
    say("\n");
}

/* Samples of 10,000,000 instructions in user mode, each 100,000, in the ring's eight pages. */
static void sample(void)
{
    const uint64_t bytes = 8 * 4096;
    long event = open_event(1, 100000, EXCLUDE_KERNEL_HV), samples = 0, value = event;
    volatile uint64_t *page;

    if (event >= 0) {
        page = (volatile uint64_t *)call(SYS_MMAP, 0, (long)(bytes + 4096), 3, 1, event, 0);
        (void)call(SYS_IOCTL, event, ENABLE, 0, 0, 0, 0);
        loop(2500000);
        (void)call(SYS_IOCTL, event, DISABLE, 0, 0, 0, 0);
        (void)call(SYS_READ, event, (long)&value, sizeof value, 0, 0, 0);
        for (uint64_t at = 0; at < page[128];) { /* data_head, at byte 1024 */
            const volatile uint32_t *record =
                (const volatile uint32_t *)((const volatile char *)page + 4096 + at % bytes);

            samples += record[0] == RECORD_SAMPLE;
            at += record[1] >> 16;
        }
    }
    say("samples ");
    say_number(samples);
    say(" of ");
    say_number(value);
    say("\n");
}

static void show(const char *path)
{
    static char bytes[4096];
    long file = call(SYS_OPENAT, AT_FDCWD, (long)path, 0, 0, 0, 0), got;

    while ((got = call(SYS_READ, file, (long)bytes, sizeof bytes, 0, 0, 0)) > 0)
        (void)call(SYS_WRITE, 1, (long)bytes, got, 0, 0, 0);
}

__asm__(".global _start\n_start:\n\tmov x29, #0\n\tb start\n");

void start(void)
{
    (void)call(SYS_MKDIRAT, AT_FDCWD, (long)"/proc", 0755, 0, 0, 0);
    (void)call(SYS_MOUNT, (long)"p", (long)"/proc", (long)"proc", 0, 0, 0);
    say("init: begin\n");
    count("cycles", 0, 0);
    count("instructions", 1, 0);
    count("instructions:u", 1, EXCLUDE_KERNEL_HV);
    count("branches", 4, 0);
    count("cache-references", 2, 0);
    sample();
    show("/proc/interrupts");
    say("init: end\n");
    (void)call(SYS_REBOOT, (long)0xfee1dead, 672274793, 0x4321fedc, 0, 0, 0);
    for (;;)
        ;
}
