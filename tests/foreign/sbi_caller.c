/* SPDX-License-Identifier: MIT */
/*
 * A program in S-mode on examples/sbi_firmware: it makes each call, counts loops of known length, and says what is not
 * as RISC-V SBI 3.0 wants it. The instructions of its traps are skipped. Nothing of upmu is in it.
 *
 * QEMU 7.2 has faults (docs/riscv.md): a stopped counter's value may have gone on, modes are not excluded, and an
 * overflow is noticed only of a counter that is started for the first time with its event. So values of stopped
 * counters are compared with bounds, and each overflow has a counter of its own. On RV32 the upper half of a counter is
 * wrong, so values are compared by their lower halves; a stopped counter whose upper half is read first has the value
 * with which it started.
 */
#include <stdbool.h>
#include <stdint.h>

#define GET(name)                                                                                                      \
    __extension__({                                                                                                    \
        unsigned long value_;                                                                                          \
        __asm__ volatile("csrr %0, " name : "=r"(value_) : : "memory");                                                \
        value_;                                                                                                        \
    })
#define PUT(name, value) __asm__ volatile("csrw " name ", %0" : : "r"((unsigned long)(value)) : "memory")

#define BASE 0x10ul
#define TIME 0x54494d45ul
#define IPI 0x735049ul
#define RFENCE 0x52464e43ul
#define HSM 0x48534dul
#define RESET 0x53525354ul
#define CONSOLE 0x4442434eul
#define PMU 0x504d55ul
#define TYPE_FIRMWARE (1ul << (__riscv_xlen - 1))
#define HALF (UINT64_C(1) << 63)
#define CYCLES 1ul
#define INSTRUCTIONS 2ul
#define NOT_SUPPORTED (-2)
#define INVALID_PARAM (-3)
#define INVALID_ADDRESS (-5)
#define ALREADY_AVAILABLE (-6)
#define ALREADY_STARTED (-7)
#define ALREADY_STOPPED (-8)
#define NO_SHMEM (-9)
#define ASKED (UINT64_C(1) << 32) /* an answered question: the event is supported */
#define SLACK 4000u               /* instructions of a few calls */
#define FIRMWARE_MEMORY 0x80000000ul
#define LCOFI (1ul << 13)
#define SSI (1ul << 1)
#define STI (1ul << 5)

void caller_main(unsigned long hart);

struct answer {
    long error;
    unsigned long value;
};

static volatile unsigned long trapped;
static unsigned passed, failed;
static volatile uint64_t page[512] __attribute__((aligned(4096)));

__asm__(".section .text.caller_start, \"ax\"\n.global caller_start\ncaller_start:\nla sp, caller_stack\n"
        "la t0, caller_bss\nla t1, caller_stack\n1: sw zero, 0(t0)\naddi t0, t0, 4\nbltu t0, t1, 1b\nj caller_main\n"
        ".text\n.balign 8\n.option push\n.option norvc\n.global caller_loop\ncaller_loop:\n"
        "addi a0, a0, -1\nbnez a0, caller_loop\nret\n.option pop\n");
void caller_loop(unsigned long turns);

__attribute__((interrupt("supervisor"), aligned(4))) static void trap(void)
{
    unsigned long at = GET("sepc");

    trapped = GET("scause") + 1;
    PUT("sepc", at + ((*(const uint16_t *)at & 3u) == 3u ? 4u : 2u));
}

static struct answer call(unsigned long extension, unsigned long function, unsigned long first, unsigned long second,
                          unsigned long third, unsigned long fourth, unsigned long fifth)
{
    register unsigned long a0 __asm__("a0") = first;
    register unsigned long a1 __asm__("a1") = second;
    register unsigned long a2 __asm__("a2") = third;
    register unsigned long a3 __asm__("a3") = fourth;
    register unsigned long a4 __asm__("a4") = fifth;
    register unsigned long a5 __asm__("a5") = 0;
    register unsigned long a6 __asm__("a6") = function;
    register unsigned long a7 __asm__("a7") = extension;

    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a6), "r"(a7) : "memory");
    return (struct answer){(long)a0, a1};
}

static void put_text(const char *text)
{
    for (; *text; text++)
        (void)call(CONSOLE, 2, (unsigned char)*text, 0, 0, 0, 0);
}

static void put_number(unsigned long value)
{
    char text[21], *at = text + 20;

    *at = '\0';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put_text(at);
}

static void tell(const char *test, bool good)
{
    put_text(good ? "[       OK ] " : "[  FAILED  ] ");
    put_text(test);
    put_text("\n");
    passed += good;
    failed += !good;
}

/* ---- The PMU ---- */

static struct answer match(unsigned long base, unsigned long mask, unsigned long flags, unsigned long event)
{
    return call(PMU, 2, base, mask, flags, event, 0);
}

static struct answer start(unsigned long base, unsigned long mask, unsigned long flags, uint64_t value)
{
    return call(PMU, 3, base, mask, flags, (unsigned long)value, __riscv_xlen == 32 ? (unsigned long)(value >> 32) : 0);
}

static struct answer stop(unsigned long base, unsigned long mask, unsigned long flags)
{
    return call(PMU, 4, base, mask, flags, 0, 0);
}

static unsigned long counters(void)
{
    return call(PMU, 0, 0, 0, 0, 0, 0).value;
}

/*
 * Masks of the counters of hardware and of the firmware, as the firmware tells them; the firmware's begin at
 * `firmware_base`.
 */
static unsigned long hardware, firmware, firmware_base;

/* What a counter that began at HALF has counted. */
static uint64_t since_half(uint64_t value)
{
    return __riscv_xlen == 32 ? (uint32_t)value : value - HALF;
}

static void each_counter_says_what_it_is(void)
{
    unsigned long count = counters();
    bool good = count > 16 && count <= 48;

    for (unsigned long n = 0; n < count; n++) {
        struct answer info = call(PMU, 1, n, 0, 0, 0, 0);

        if (n == 1) {
            good &= info.error == INVALID_PARAM;
        } else if (info.value & TYPE_FIRMWARE) {
            good &= !info.error && (info.value >> 12 & 63u) == 63;
            firmware_base = firmware ? firmware_base : n;
            firmware |= 1ul << (n - firmware_base);
        } else {
            good &= !info.error && info.value == ((0xc00 + n) | 63ul << 12);
            hardware |= 1ul << n;
        }
    }
    good &= call(PMU, 1, count, 0, 0, 0, 0).error == INVALID_PARAM && (hardware & 5) == 5 && (hardware >> 3 & 1);
    tell("each_counter_says_what_it_is", good);
}

__attribute__((noinline, noipa)) static unsigned long counted(unsigned long turns)
{
    unsigned long before = GET("hpmcounter3");

    caller_loop(turns);
    return GET("hpmcounter3") - before;
}

/* The same code around two loops: the difference of both counts is that of the loops, to the instruction. */
static void a_loop_is_counted_to_the_last_instruction(unsigned long event, const char *test)
{
    bool good = match(3, 1, 6, event).value == 3;
    unsigned long one = counted(1000), two = counted(51000);

    good &= two - one == 100000 && stop(3, 1, 1).error == 0;
    if (!good) {
        put_number(two - one);
        put_text(" instead of 100000\n");
    }
    tell(test, good);
}

static void a_stopped_counter_is_read_and_goes_on(void)
{
    bool good = match(3, 1, 2, INSTRUCTIONS).error == 0 && start(3, 1, 1, HALF).error == 0;
    uint64_t value;

    caller_loop(20000);
    good &= start(3, 1, 0, 0).error == ALREADY_STARTED && stop(3, 1, 0).error == 0 &&
            stop(3, 1, 0).error == ALREADY_STOPPED;
    value = since_half(GET("hpmcounter3"));
    good &= value >= 40000 && value < 40000 + SLACK;
    good &= stop(3, 1, 1).error == ALREADY_STOPPED && start(3, 1, 0, 0).error == INVALID_PARAM;
    tell("a_stopped_counter_is_read_and_goes_on", good);
}

static void a_counter_without_an_event_cannot_be_read(void)
{
    bool good = match(3, 1, 0, INSTRUCTIONS).error == 0;

    trapped = 0;
    (void)GET("hpmcounter3");
    good &= trapped == 0 && stop(3, 1, 1).error == ALREADY_STOPPED;
    (void)GET("hpmcounter3");
    good &= trapped == 2 + 1;
    tell("a_counter_without_an_event_cannot_be_read", good);
}

static void what_the_machine_does_not_count_is_refused_soon(void)
{
    unsigned long before = GET("instret"), most = 0;
    bool good = true;

    for (unsigned long event = 3; event < 10; event++) {
        before = GET("instret");
        good &= match(0, hardware, 0, event).error == NOT_SUPPORTED;
        if (GET("instret") - before > most)
            most = GET("instret") - before;
    }
    before = GET("instret");
    good &= match(0, hardware, 0, 0x10035).error == NOT_SUPPORTED;
    if (GET("instret") - before > most)
        most = GET("instret") - before;
    put_text("    a refused match takes ");
    put_number(most);
    put_text(" instructions, with those of the trap\n");
    good &= most > 100 && most <= 1500;
    good &= match(0, 0, 0, 1).error == INVALID_PARAM && match(0, 2, 0, 1).error == INVALID_PARAM;
    good &= match(3, 1, 256, 1).error == INVALID_PARAM && match(3, 1, 0, 0).error == INVALID_PARAM;
    tell("what_the_machine_does_not_count_is_refused_soon", good);
}

static void an_overflow_is_flagged_and_interrupts(void)
{
    bool good = match(5, 1, 2, INSTRUCTIONS).value == 5 && start(5, 1, 1, 0 - UINT64_C(10000)).error == 0;
    unsigned long flags = 0;

    good &= !(GET("sip") & LCOFI) && !(GET("0xda0") & 1ul << 5);
    for (unsigned i = 0; i < 100 && !(GET("sip") & LCOFI); i++)
        caller_loop(1000);
    good &= (GET("sip") & LCOFI) && stop(5, 1, 0).error == 0;
    flags = GET("0xda0");
    good &= flags == 1ul << 5;
    __asm__ volatile("csrc sip, %0" : : "r"(LCOFI) : "memory");
    good &= !(GET("sip") & LCOFI) && start(5, 1, 1, HALF).error == 0 && GET("0xda0") == 0;
    good &= stop(5, 1, 1).error == 0;
    tell("an_overflow_is_flagged_and_interrupts", good);
}

static void a_snapshot_has_the_values(void)
{
    bool good = match(4, 1, 0, INSTRUCTIONS).error == 0;
    unsigned long at = (unsigned long)page;

    good &= stop(4, 1, 2).error == NO_SHMEM && start(4, 1, 2, 0).error == NO_SHMEM;
    good &= call(PMU, 7, FIRMWARE_MEMORY, 0, 0, 0, 0).error == INVALID_ADDRESS;
    good &= call(PMU, 7, 0x02000000, 0, 0, 0, 0).error == INVALID_ADDRESS;
    good &= call(PMU, 7, at + 8, 0, 0, 0, 0).error == INVALID_PARAM;
    good &= call(PMU, 7, at, 0, 0, 0, 0).error == 0;
    page[1] = HALF | 12345;
    good &= start(4, 1, 2, 0).error == 0;
    caller_loop(10000);
    page[0] = ~UINT64_C(0);
    page[2] = 77;
    good &= stop(4, 1, 3).error == 0 && page[0] == 0 && page[2] == 77;
    good &= (__riscv_xlen == 32 && since_half(page[1]) == 12345) ||
            (since_half(page[1]) >= 32345 && since_half(page[1]) < 32345 + SLACK);
    good &= call(PMU, 7, ~0ul, ~0ul, 0, 0, 0).error == 0 && stop(4, 1, 2).error == NO_SHMEM;
    tell("a_snapshot_has_the_values", good);
}

static void questions_about_events_are_answered(void)
{
    unsigned long at = (unsigned long)page;
    bool good;

    page[0] = 1;
    page[2] = 5;
    page[4] = 0x10019;
    page[6] = 0xf0005;
    page[1] = page[3] = page[5] = page[7] = 0;
    good = call(PMU, 8, at, 0, 4, 0, 0).error == 0;
    good &= page[0] == (ASKED | 1) && page[2] == 5 && page[4] == (ASKED | 0x10019) && page[6] == (ASKED | 0xf0005);
    good &= call(PMU, 8, FIRMWARE_MEMORY, 0, 1, 0, 0).error == INVALID_ADDRESS;
    good &= call(PMU, 8, at, 0, 1, 1, 0).error == INVALID_PARAM && call(PMU, 9, 0, 0, 0, 0, 0).error == NOT_SUPPORTED;
    tell("questions_about_events_are_answered", good);
}

static unsigned long read_firmware(unsigned long counter)
{
    struct answer answer = call(PMU, 5, counter, 0, 0, 0, 0);

    return answer.error ? ~0ul : answer.value;
}

static struct answer set_timer(uint64_t time)
{
    return call(TIME, 0, (unsigned long)time, __riscv_xlen == 32 ? (unsigned long)(time >> 32) : 0, 0, 0, 0);
}

static void events_of_the_firmware_are_counted(void)
{
    struct answer timer = match(firmware_base, firmware, 6, 0xf0005),
                  access = match(firmware_base, firmware, 6, 0xf0002),
                  illegal = match(firmware_base, firmware, 6, 0xf0004),
                  sent = match(firmware_base, firmware, 6, 0xf0006);
    bool good = !timer.error && !access.error && !illegal.error && !sent.error;

    for (unsigned i = 0; i < 3; i++)
        good &= set_timer(~UINT64_C(0)).error == 0;
    trapped = 0;
    (void)*(volatile unsigned long *)FIRMWARE_MEMORY;
    good &= trapped == 5 + 1;
    (void)GET("mstatus");
    good &= trapped == 2 + 1 && call(IPI, 0, 1, 0, 0, 0, 0).error == 0;
    __asm__ volatile("csrc sip, %0" : : "r"(SSI) : "memory");
    good &= read_firmware(timer.value) == 3 && read_firmware(access.value) == 1 && read_firmware(illegal.value) == 1 &&
            read_firmware(sent.value) == 1;
    good &= call(PMU, 6, timer.value, 0, 0, 0, 0).error == 0 && call(PMU, 6, timer.value, 0, 0, 0, 0).value == 0;
    good &= read_firmware(3) == ~0ul;
    good &= stop(timer.value, 1, 1).error == 0 && set_timer(~UINT64_C(0)).error == 0 && read_firmware(timer.value) == 3;
    good &= stop(firmware_base, firmware, 1).error == ALREADY_STOPPED;
    tell("events_of_the_firmware_are_counted", good);
}

/* ---- The other extensions ---- */

static void extensions_are_found(void)
{
    static const unsigned long extensions[] = {1, 2, BASE, TIME, IPI, RFENCE, HSM, RESET, CONSOLE, PMU};
    bool good = call(BASE, 0, 0, 0, 0, 0, 0).value == 0x03000000ul;

    for (unsigned i = 0; i < sizeof extensions / sizeof extensions[0]; i++)
        good &= call(BASE, 3, extensions[i], 0, 0, 0, 0).value == 1;
    good &= call(BASE, 3, 0x535345, 0, 0, 0, 0).value == 0 && call(0x535345, 0, 0, 0, 0, 0, 0).error == NOT_SUPPORTED;
    good &= call(BASE, 7, 0, 0, 0, 0, 0).error == NOT_SUPPORTED && call(TIME, 1, 0, 0, 0, 0, 0).error == NOT_SUPPORTED;
    tell("extensions_are_found", good);
}

static uint64_t time(void)
{
#if __riscv_xlen == 32
    unsigned long upper, lower;

    do {
        upper = GET("timeh");
        lower = GET("time");
    } while (upper != GET("timeh"));
    return (uint64_t)upper << 32 | lower;
#else
    return GET("time");
#endif
}

static void timer_and_ipi_arrive(void)
{
    bool good = set_timer(~UINT64_C(0)).error == 0 && !(GET("sip") & (STI | SSI));

    good &= set_timer(time() + 100).error == 0;
    for (unsigned i = 0; i < 1000 && !(GET("sip") & STI); i++)
        caller_loop(1000);
    good &= (GET("sip") & STI) && set_timer(~UINT64_C(0)).error == 0;
    good &= !(GET("sip") & STI);
    good &= call(IPI, 0, 1, 1, 0, 0, 0).error == INVALID_PARAM && !(GET("sip") & SSI);
    good &= call(IPI, 0, 0, ~0ul, 0, 0, 0).error == 0 && (GET("sip") & SSI);
    __asm__ volatile("csrc sip, %0" : : "r"(SSI) : "memory");
    tell("timer_and_ipi_arrive", good);
}

static void the_rest_answers(unsigned long hart)
{
    static char text[] = "    a line by one call\n";
    bool good = call(RFENCE, 0, 1, 0, 0, 0, 0).error == 0 && call(RFENCE, 1, 1, 0, 0, 0, 0).error == 0 &&
                call(RFENCE, 2, 1, 0, 0, 0, 0).error == 0 && call(RFENCE, 3, 1, 0, 0, 0, 0).error == NOT_SUPPORTED;

    good &= call(HSM, 2, hart, 0, 0, 0, 0).error == 0 && call(HSM, 2, hart, 0, 0, 0, 0).value == 0;
    good &= call(HSM, 2, hart + 1, 0, 0, 0, 0).error == INVALID_PARAM;
    good &= call(HSM, 0, hart, 0, 0, 0, 0).error == ALREADY_AVAILABLE;
    good &= call(CONSOLE, 0, sizeof text - 1, (unsigned long)text, 0, 0, 0).value == sizeof text - 1;
    good &= call(CONSOLE, 0, 8, FIRMWARE_MEMORY, 0, 0, 0).error == INVALID_PARAM;
    good &= call(CONSOLE, 1, 8, (unsigned long)page, 0, 0, 0).error == 0;
    good &=
        call(RESET, 0, 7, 0, 0, 0, 0).error == INVALID_PARAM && call(RESET, 1, 0, 0, 0, 0, 0).error == NOT_SUPPORTED;
    tell("the_rest_answers", good);
}

void caller_main(unsigned long hart)
{
    PUT("stvec", (unsigned long)trap);
    PUT("sie", 0);
    extensions_are_found();
    each_counter_says_what_it_is();
    a_loop_is_counted_to_the_last_instruction(INSTRUCTIONS, "instructions_of_a_loop_are_exact");
    a_loop_is_counted_to_the_last_instruction(CYCLES, "cycles_of_a_loop_are_exact");
    a_stopped_counter_is_read_and_goes_on();
    a_counter_without_an_event_cannot_be_read();
    what_the_machine_does_not_count_is_refused_soon();
    trapped = 0;
    (void)GET("0xda0");
    if (!trapped) /* the hart has Sscofpmf */
        an_overflow_is_flagged_and_interrupts();
    a_snapshot_has_the_values();
    questions_about_events_are_answered();
    events_of_the_firmware_are_counted();
    timer_and_ipi_arrive();
    the_rest_answers(hart);
    put_number(passed);
    put_text(" passed, ");
    put_number(failed);
    put_text(" failed\n");
    (void)call(RESET, 0, 0, failed != 0, 0, 0, 0);
}
