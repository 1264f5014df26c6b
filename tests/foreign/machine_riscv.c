/* SPDX-License-Identifier: MIT */
/*
 * QEMU's "virt" with a RISC-V CPU, in M-mode, of 32 and of 64 bits.
 *
 * QEMU 7.2 has faults that are repaired here: an inhibited counter goes on; one that is let run again is not looked at;
 * one that begins in the lower half of its range overflows at once; an earlier overflow that still is to come makes it
 * forget a later one; the halves of a counter know nothing of each other where registers have 32 bits; scountovf shows
 * M-mode only what mcounteren shows the others.  So counters are stopped, started and kept above half by the hooks.
 * An event is counted where it was first, until that counter has none: a counter that starts with a new event gets it
 * anew, and others that stand still with the same one lend theirs to a table.
 */
#include "port/riscv_native/riscv_native.h"
#include "port/riscv_native/riscv_csr.h"
#include "tests/foreign/foreign_machine.h"

#define MCOUNTINHIBIT 0x320u
#define MHPMEVENT(n) (0x320u + (n))
#define MHPMCOUNTER(n) (0xb00u + (n))
#define FIRST 3u
#define OVERFLOW_INTERRUPT 13u
#define EVENT (~UINT64_C(0) >> 8)
#define HALF (UINT64_C(1) << 63)
#define BIAS (UINT64_C(3) << 62)
#define NEAR 1000000u

#define GET(csr)                                                                                                       \
    __extension__({                                                                                                    \
        unsigned long value_;                                                                                          \
        __asm__ volatile("csrr %0, " csr : "=r"(value_) : : "memory");                                                 \
        value_;                                                                                                        \
    })
#define PUT(csr, value) __asm__ volatile("csrw " csr ", %0" : : "r"((unsigned long)(value)) : "memory")
#define SET(csr, value) __asm__ volatile("csrs " csr ", %0" : : "r"((unsigned long)(value)) : "memory")
#define CLEAR(csr, value) __asm__ volatile("csrc " csr ", %0" : : "r"((unsigned long)(value)) : "memory")

volatile struct machine_seen machine_seen;
unsigned machine_writes;
/* (QEMU 7.2 counts in each mode, whatever an event says; the hooks start counters one after the other.) */
struct machine_does machine_does = {.skew = 32};

static struct upmu_cpu *the_cpu;
static struct upmu_port native;
static struct upmu_riscv_identity identity;
static volatile unsigned faults;
static uint64_t held[32];   /* what stopped counters hold */
static uint64_t lent[32];   /* their events, if QEMU has not got them */
static uint32_t lenders, anew;

static bool is_stopped(unsigned n)
{
    return GET("mcountinhibit") >> n & 1u;
}

static uint64_t event_of(unsigned n)
{
    uint64_t value = 0;

    if (lenders >> n & 1u)
        return lent[n];
    (void)upmu_riscv_csr_read(MHPMEVENT(n), &value);
    return value;
}

static void set_event(unsigned n, uint64_t value)
{
    uint32_t bit = UINT32_C(1) << n;

    if ((event_of(n) ^ value) & EVENT)
        anew |= bit;
    if (lenders & bit)
        lent[n] = value;
    else
        (void)upmu_riscv_csr_write(MHPMEVENT(n), value);
}

/* QEMU learns that this counter counts its event. */
static void tell_event(unsigned n)
{
    uint64_t value = event_of(n);

    for (unsigned m = FIRST; m < 32; m++)
        if (m != n && (identity.counters & ~lenders) >> m & 1u && is_stopped(m) && !((event_of(m) ^ value) & EVENT)) {
            lent[m] = event_of(m);
            lenders |= UINT32_C(1) << m;
            (void)upmu_riscv_csr_write(MHPMEVENT(m), 0);
        }
    lenders &= ~(UINT32_C(1) << n);
    anew &= ~(UINT32_C(1) << n);
    (void)upmu_riscv_csr_write(MHPMEVENT(n), 0);
    (void)upmu_riscv_csr_write(MHPMEVENT(n), value);
}

#if __riscv_xlen == 32
#define WIDTH 32u
#define UPPER UINT64_C(0xffffffff00000000)

static void start(unsigned n)
{
    (void)upmu_riscv_csr_write(MHPMCOUNTER(n), UPPER | held[n]);
}

static uint64_t now(unsigned n)
{
    uint64_t value = 0;

    (void)upmu_riscv_csr_read(MHPMCOUNTER(n), &value);
    return value & ~UPPER;
}
#else
#define WIDTH 64u
#define UPPER UINT64_C(0)
static uint32_t biased;

static void start(unsigned n)
{
    bool low = !(held[n] & HALF);

    biased = (biased & ~(UINT32_C(1) << n)) | (uint32_t)low << n;
    (void)upmu_riscv_csr_write(MHPMCOUNTER(n), low ? held[n] + BIAS : held[n]);
}

static uint64_t now(unsigned n)
{
    uint64_t value = 0;

    (void)upmu_riscv_csr_read(MHPMCOUNTER(n), &value);
    return biased >> n & 1u ? value - BIAS : value;
}
#endif

/* The overflow that a stopped counter still had before it, if it is near. */
static void let_pass(unsigned n)
{
    uint64_t left = 0 - (UPPER | held[n]);
    unsigned long begin = GET("mcycle");

    while (left < NEAR && GET("mcycle") - begin < left + 100u)
        ;
}

static bool is_event(uint32_t number)
{
    return number >= MHPMEVENT(FIRST) && number < MHPMEVENT(32);
}

static bool is_counter(uint32_t number)
{
    return number >= MHPMCOUNTER(FIRST) && number < MHPMCOUNTER(32);
}

static bool read_register(void *context, uint32_t number, uint64_t *out_value)
{
    unsigned before = faults;

    if (is_counter(number))
        *out_value = is_stopped(number & 31u) ? held[number & 31u] : now(number & 31u);
    else if (is_event(number))
        *out_value = event_of(number - MHPMEVENT(0));
    else if (!native.rdmsr(context, number, out_value))
        return false;
    return faults == before;
}

static void write_gates(uint32_t value)
{
    uint32_t before = (uint32_t)GET("mcountinhibit");
    uint32_t stops = value & ~before & identity.counters, starts = before & ~value & identity.counters;

    for (unsigned n = FIRST; n < 32; n++)
        if (starts & (anew | lenders) & UINT32_C(1) << n)
            tell_event(n);
    for (unsigned n = FIRST; n < 32; n++)
        if (stops >> n & 1u)
            held[n] = now(n);
    PUT("mcountinhibit", value);
    for (unsigned n = FIRST; n < 32; n++)
        if (stops >> n & 1u)
            let_pass(n);
    for (unsigned n = FIRST; n < 32; n++)
        if (starts >> n & 1u)
            start(n);
}

static bool write_register(void *context, uint32_t number, uint64_t value)
{
    unsigned before = faults;

    machine_writes++;
    if (number == MCOUNTINHIBIT) {
        write_gates((uint32_t)value);
    } else if (is_counter(number)) {
        held[number & 31u] = value & ~UPPER;
        if (!is_stopped(number & 31u))
            start(number & 31u);
    } else if (is_event(number)) {
        set_event(number - MHPMEVENT(0), value);
    } else if (!native.wrmsr(context, number, value)) {
        return false;
    }
    return faults == before;
}

static uint64_t slow_clock(void *context)
{
    (void)context;
#if __riscv_xlen == 32
    unsigned long high, low;

    do {
        high = GET("mcycleh");
        low = GET("mcycle");
    } while (high != GET("mcycleh"));
    return ((uint64_t)high << 32 | low) * SLOWER;
#else
    return GET("mcycle") * SLOWER;
#endif
}

static void cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    upmu_riscv_cpuid(&identity, leaf, subleaf, out);
}

__attribute__((interrupt("machine"), aligned(4))) static void trap(void)
{
    unsigned long cause = GET("mcause");

    if (cause == ((unsigned long)-1 ^ (unsigned long)-1 >> 1) + OVERFLOW_INTERRUPT) {
        struct upmu_frame frame = {.ip = GET("mepc"), .user = !(GET("mstatus") >> 11 & 3u)};
        enum upmu_pmi answer;

        machine_seen.interrupts++;
        answer = upmu_handle_pmi(the_cpu, &frame);
        machine_seen.handled += answer == UPMU_PMI_HANDLED;
        machine_seen.stale += answer == UPMU_PMI_STALE;
    } else if ((long)cause >= 0) {
        unsigned long at = GET("mepc");

        /* A register that is not there: the instruction is skipped. */
        faults++;
        PUT("mepc", at + ((*(const uint16_t *)at & 3u) == 3u ? 4u : 2u));
    } else {
        machine_seen.strange++;
        PUT("mie", 0);
    }
}

extern const char loop_begin[], loop_end[];
__asm__(".text\n.balign 8\n.option push\n.option norvc\n.global machine_loop\nmachine_loop:\nloop_begin:\n"
        "addi a0, a0, -1\nbnez a0, loop_begin\nloop_end:\nret\n.option pop\n");

bool machine_in_loop(uint64_t ip)
{
    return ip >= (uintptr_t)loop_begin && ip <= (uintptr_t)loop_end;
}

void machine_work(uint64_t turns)
{
    machine_loop(turns);
}

/* Counters that keep what is written. */
static uint32_t find_counters(void)
{
    uint32_t found = 0;

    for (uint32_t n = FIRST; n < 32; n++) {
        unsigned before = faults;
        uint64_t value = 0;

        (void)upmu_riscv_csr_write(MHPMCOUNTER(n), 0x5a5a);
        (void)upmu_riscv_csr_read(MHPMCOUNTER(n), &value);
        if (faults == before && value >= 0x5a5a && value < 0x10000)
            found |= UINT32_C(1) << n;
        (void)upmu_riscv_csr_write(MHPMCOUNTER(n), 0);
    }
    return found;
}

static bool has_overflows(void)
{
    unsigned before = faults;

    (void)GET("0xda0");
    return faults == before;
}

void machine_begin(struct upmu_port *port)
{
    PUT("mtvec", (uintptr_t)trap);
    PUT("mie", 0);
    CLEAR("mip", 1ul << OVERFLOW_INTERRUPT);
    identity.counters = find_counters();
    identity.width = WIDTH;
    identity.sscofpmf = has_overflows();
    identity.sbi_events = true;
    PUT("mcountinhibit", 0xfffffff8u);
    PUT("mcounteren", 0xffffffffu);
    upmu_riscv_port(port);
    native = *port;
    port->cpuid = cpuid;
    port->rdmsr = read_register;
    port->wrmsr = write_register;
    port->clock_ns = slow_clock;
    port->msr_faults_are_safe = true;
    machine_does.interrupt = identity.sscofpmf;
    if (!identity.sscofpmf)
        port->pmi_rearm = NULL;
}

const char *machine_repairs(void)
{
    return "";
}

void machine_go(struct upmu_cpu *cpu)
{
    the_cpu = cpu;
    SET("mie", 1ul << OVERFLOW_INTERRUPT);
    SET("mstatus", 8);
}

unsigned machine_registers(uint64_t out[MACHINE_REGISTERS])
{
    unsigned count = 0;

    out[count++] = GET("mcountinhibit");
    for (uint32_t n = FIRST; n < 32; n++)
        if (identity.counters >> n & 1u) {
            out[count++] = event_of(n);
        }
    return count;
}

void machine_disturb(unsigned counter)
{
    set_event(FIRST + counter, event_of(FIRST + counter) ^ 0x10);
}
