/* SPDX-License-Identifier: MIT */
/*
 * QEMU's "virt" with a RISC-V CPU, in S-mode under OpenSBI and under examples/sbi_firmware, of 32 and of 64 bits.
 *
 * QEMU 7.2 has faults that are repaired here, each if a try finds it: a counter that gets a value in the lower half of
 * its range makes the counters of cycles and instructions that run then overflow at once; where registers have 32 bits,
 * the halves of a counter know nothing of each other, and the first that is read after a stop makes it forget what it
 * counted.  So values are kept above half, and are read before a stop.
 */
#include <stdio.h>
#include <stdlib.h>
#include "port/riscv_sbi/riscv_sbi.h"

#define MODE "s"
#define MODE_NAME "supervisor"
#define MODE_BEFORE(status) ((status) >> 8 & 1u)
#define CYCLE "cycle"
#include "tests/common/garbage.h"
#include "tests/foreign/machine_riscv.h"

#define MCOUNTINHIBIT 0x320u
#define MHPMEVENT(n) (0x320u + (n))
#define SCOUNTOVF 0xda0u
#define CYCLES 1u
#define INSTRUCTIONS 2u
#define NOT_IN_S_MODE (UINT64_C(1) << 61)
#define HALF (UINT64_C(1) << 63)
#define BIAS (UINT64_C(3) << 62)
#define UPPER UINT64_C(0xffffffff00000000)
#define SBI_PMU 0x504d55u
#define SBI_CONFIGURE 2u
#define SBI_STOP 4u
#define SBI_RESET 1u
#define L1D_READ 0x10000u /* no event of QEMU's, the next three are */
#define DTLB_READ_MISS 0x10019u
#define DTLB_WRITE_MISS 0x1001bu
#define ITLB_READ_MISS 0x10021u

/* (QEMU 7.2 counts in each mode, whatever an event says: a call of the firmware lies between two counters' begins.) */
struct machine_does machine_does = {.refuse = "cycles,L1D_READ_ACCESS", .skew = 1500};

static struct upmu_port native;
static struct upmu_riscv_sbi sbi;
static uint32_t biased;
static bool is_low_wrong, is_upper_wrong, is_stop_wrong;

/* ---- The C library's start, which is for M-mode ---- */

extern char __data_source[], __data_start[], __data_size[], __bss_start[], __bss_size[], __tls_base[];
void _set_tls(void *tls);
void machine_start(void);
int main(void);

__asm__(".section .text.init.enter, \"ax\"\n.global _start\n_start:\n"
        ".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\nla sp, __stack\ncall "
        "machine_start\n.text\n");

void machine_start(void)
{
    volatile char *to = __data_start;

    for (uintptr_t i = 0; i < (uintptr_t)__data_size; i++)
        to[i] = __data_source[i];
    to = __bss_start;
    for (uintptr_t i = 0; i < (uintptr_t)__bss_size; i++)
        to[i] = 0;
    _set_tls(__tls_base);
    exit(main());
}

/* ---- Repairs ---- */

static bool is_counter(uint32_t number)
{
    return number >= MHPMCOUNTER(FIRST) && number < MHPMCOUNTER(32);
}

static bool is_event(uint32_t number)
{
    return number >= MHPMEVENT(FIRST) && number < MHPMEVENT(32);
}

static uint64_t counter(unsigned n)
{
    uint64_t value = 0;

    (void)native.rdmsr(native.context, MHPMCOUNTER(n), &value);
    if (is_upper_wrong)
        return value & ~UPPER;
    return biased >> n & 1u ? value - BIAS : value;
}

static bool load(unsigned n, uint64_t value)
{
    bool low = is_low_wrong && !is_upper_wrong && !(value & HALF);

    biased = (biased & ~(UINT32_C(1) << n)) | (uint32_t)low << n;
    return native.wrmsr(native.context, MHPMCOUNTER(n), is_upper_wrong ? UPPER | value : low ? value + BIAS : value);
}

static uint32_t inhibited(void)
{
    uint64_t value = 0;

    (void)native.rdmsr(native.context, MCOUNTINHIBIT, &value);
    return (uint32_t)value;
}

static bool write_gates(uint32_t value)
{
    uint32_t before = inhibited(), stops = value & ~before, starts = before & ~value;
    uint64_t held[32];
    bool fine = true;

    for (unsigned n = FIRST; n < 32; n++)
        if (starts >> n & 1u)
            fine &= load(n, counter(n));
        else if (stops >> n & 1u)
            held[n] = counter(n);
    fine &= native.wrmsr(native.context, MCOUNTINHIBIT, value);
    for (unsigned n = FIRST; n < 32; n++)
        if (is_stop_wrong && stops >> n & 1u)
            fine &= load(n, held[n]);
    return fine;
}

static bool read_register(void *context, uint32_t number, uint64_t *out_value)
{
    unsigned before = faults;

    if (is_counter(number))
        *out_value = counter(number & 31u);
    else if (!native.rdmsr(context, number, out_value))
        return garbage(out_value);
    return garbage_unless(faults == before, out_value);
}

static bool write_register(void *context, uint32_t number, uint64_t value)
{
    unsigned before = faults;

    machine_writes++;
    /* (A running counter is started anew with its event.) */
    if (is_event(number) && !(inhibited() >> (number & 31u) & 1u) && !load(number & 31u, counter(number & 31u)))
        return false;
    if (number == MCOUNTINHIBIT ? !write_gates((uint32_t)value)
        : is_counter(number)    ? !load(number & 31u, value)
                                : !native.wrmsr(context, number, value))
        return false;
    return faults == before;
}

/* ---- Tries, by the port alone ---- */

/* One call of the firmware by hand. */
static unsigned long tell_firmware(unsigned long function, unsigned n, unsigned long flags, unsigned long event)
{
    register unsigned long a0 __asm__("a0") = n;
    register unsigned long a1 __asm__("a1") = 1;
    register unsigned long a2 __asm__("a2") = flags;
    register unsigned long a3 __asm__("a3") = event;
    register unsigned long a4 __asm__("a4") = 0;
    register unsigned long a5 __asm__("a5") = 0;
    register unsigned long a6 __asm__("a6") = function;
    register unsigned long a7 __asm__("a7") = SBI_PMU;

    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a6), "r"(a7) : "memory");
    return a0;
}

static uint64_t register_of(uint32_t number)
{
    uint64_t value = 0;

    (void)native.rdmsr(native.context, number, &value);
    return value;
}

static bool put_register(uint32_t number, uint64_t value)
{
    return native.wrmsr(native.context, number, value);
}

/* These counters run, and no other. */
static bool run(uint32_t counters)
{
    return put_register(MCOUNTINHIBIT, ~counters);
}

static void begin(uint64_t value)
{
    put_register(MHPMCOUNTER(FIRST), value);
    run(1u << FIRST);
}

static bool flag(unsigned n)
{
    return register_of(SCOUNTOVF) >> n & 1u;
}

/*
 * Does a counter overflow when a low value is written? The firmware may write a value before it opens the counter: then
 * another counter, which runs, overflows instead.
 */
static bool has_low_values_wrong(void)
{
    const unsigned other = FIRST + 2;
    bool wrong;

    begin(1);
    machine_loop(1000);
    wrong = flag(FIRST);
    run(0);
    put_register(MHPMEVENT(FIRST), CYCLES);
    put_register(MHPMEVENT(other), INSTRUCTIONS);
    put_register(MHPMCOUNTER(other), 1);
    begin(BIAS);
    run(1u << FIRST | 1u << other);
    machine_loop(1000);
    wrong |= flag(FIRST) || flag(other);
    run(0);
    put_register(MHPMCOUNTER(other), 0);
    put_register(MHPMEVENT(other), 0);
    return wrong;
}

static void find_faults(void)
{
    uint64_t first, second;

    put_register(MHPMEVENT(FIRST), INSTRUCTIONS | NOT_IN_S_MODE);
    begin(BIAS);
    first = register_of(MHPMCOUNTER(FIRST));
    machine_loop(1000);
    second = register_of(MHPMCOUNTER(FIRST));
    run(0);
    machine_does.tell_modes = second - first < 1000u;
    put_register(MHPMEVENT(FIRST), INSTRUCTIONS);
    begin(BIAS);
    machine_loop(1000);
    run(0);
    is_stop_wrong = register_of(MHPMCOUNTER(FIRST)) - BIAS < 2000;
#if __riscv_xlen == 32
    begin(UINT64_C(1) << 40 | 0xfffffc00);
    machine_loop(4000);
    is_upper_wrong = register_of(MHPMCOUNTER(FIRST)) >> 40 == 1 && !(register_of(MHPMCOUNTER(FIRST)) >> 32 & 1u);
    run(0);
#endif
    is_low_wrong = has_low_values_wrong();
    put_register(MHPMCOUNTER(FIRST), 0);
    put_register(MHPMEVENT(FIRST), 0);
    UPMU_RV_CLEAR("sip", 1ul << OVERFLOW_INTERRUPT);
}

const char *machine_repairs(void)
{
    static char text[120];

    (void)snprintf(text, sizeof text, "%s%s%s", is_low_wrong ? "low values overflow; " : "",
                   is_upper_wrong ? "halves do not carry; " : "", is_stop_wrong ? "a stop forgets; " : "");
    return text;
}

/* QEMU has one counter for an event. OpenSBI counts instructions by instret without overflows, so all share it. */
static bool shares_instret(void)
{
    bool shared = put_register(MHPMEVENT(FIRST), INSTRUCTIONS) && sbi.first.at[FIRST] <= FIRST;

    put_register(MHPMEVENT(FIRST), 0);
    return shared;
}

/* ---- The port by itself ---- */

static void tell(const char *test, bool good)
{
    printf("[%s] %s\n", good ? "       OK " : "  FAILED  ", test);
}

/* (Values are above half, as QEMU wants them.) */
static bool counts(unsigned n)
{
    uint64_t before = register_of(MHPMCOUNTER(n));

    machine_loop(1000);
    return register_of(MHPMCOUNTER(n)) - before >= 2000;
}

static bool is_pending(void)
{
    return UPMU_RV_GET("sip") >> OVERFLOW_INTERRUPT & 1u;
}

/* The firmware leaves the flag where an interrupt is pending, and another counter's interrupt must not be lost. */
static void a_start_clears_its_flag_and_no_interrupt(void)
{
    const unsigned n = FIRST + 2;
    bool good = put_register(MHPMEVENT(n), INSTRUCTIONS) && sbi.first.at[n] == n + 1;

    /* (Where a value is written in halves, QEMU takes the new lower one with the upper one before.) */
    good &= put_register(MHPMCOUNTER(n), BIAS) && run(1u << n) && run(0);
    UPMU_RV_CLEAR("sip", 1ul << OVERFLOW_INTERRUPT);
    good &= put_register(MHPMCOUNTER(n), 0 - UINT64_C(1000)) && run(1u << n) && !flag(n);
    good &= counts(n) && flag(n) && is_pending();
    good &= run(0) && flag(n);
    good &= put_register(MHPMEVENT(n), INSTRUCTIONS) && !flag(n);
    good &= put_register(MHPMCOUNTER(n), 0 - UINT64_C(5000)) && run(1u << n) && !flag(n) && is_pending();
    UPMU_RV_CLEAR("sip", 1ul << OVERFLOW_INTERRUPT);
    machine_loop(5000);
    good &= flag(n) && is_pending() && run(0) && put_register(MHPMEVENT(n), 0) && !flag(n);
    UPMU_RV_CLEAR("sip", 1ul << OVERFLOW_INTERRUPT);
    tell("a_start_clears_its_flag_and_no_interrupt", good);
}

/* (QEMU has one for each.) */
static void a_stopped_counter_gives_its_event_up(void)
{
    const unsigned a = FIRST, b = FIRST + 2;
    bool good = put_register(MHPMEVENT(a), INSTRUCTIONS) && put_register(MHPMEVENT(b), INSTRUCTIONS);

    good &= put_register(MHPMCOUNTER(a), BIAS) && put_register(MHPMCOUNTER(b), BIAS);
    good &= run(1u << b) && counts(b) && register_of(MHPMCOUNTER(a)) == BIAS;
    good &= run(0) && put_register(MHPMEVENT(b), 0) && run(1u << a) && counts(a);
    good &= run(0) && put_register(MHPMEVENT(a), 0);
    tell("a_stopped_counter_gives_its_event_up", good);
}

static void what_the_firmware_refuses_fails(void)
{
    const unsigned a = FIRST, b = FIRST + 2;
    bool good = put_register(MHPMEVENT(b), INSTRUCTIONS) && put_register(MHPMCOUNTER(b), BIAS);

    good &= !put_register(MHPMEVENT(a), L1D_READ) && put_register(MHPMEVENT(a), 0);
    good &= run(1u << b) && counts(b) && run(0);
    (void)tell_firmware(SBI_STOP, sbi.first.at[b] - 1u, SBI_RESET, 0);
    good &= !run(1u << b) && run(0) && put_register(MHPMEVENT(b), 0);
    tell("what_the_firmware_refuses_fails", good);
}

/* Of four counters one is another program's. */
static void three_of_four_counters_can_run(void)
{
    bool good = put_register(MHPMEVENT(3), CYCLES) && put_register(MHPMEVENT(4), DTLB_WRITE_MISS) &&
                put_register(MHPMEVENT(5), ITLB_READ_MISS) && sbi.first.at[3] == 3 + 1 &&
                put_register(MHPMEVENT(6), INSTRUCTIONS) && !sbi.first.at[3];

    for (unsigned n = 3; n < 7; n++)
        good &= put_register(MHPMCOUNTER(n), BIAS);
    good &= run(1u << 3 | 1u << 6) && counts(3) && counts(6);
    good &= run(1u << 3 | 1u << 4 | 1u << 6) && counts(3) && counts(6);
    /* (The firmware's offer is minstret, which has no interrupt.) */
    good &= !put_register(MHPMEVENT(5), INSTRUCTIONS) && counts(3) && counts(6);
    good &= run(0);
    for (unsigned n = 3; n < 7; n++)
        good &= put_register(MHPMEVENT(n), 0);
    tell("three_of_four_counters_can_run", good);
}

/* ---- The machine ---- */

void machine_begin(struct upmu_port *port)
{
    unsigned before = faults;

    UPMU_RV_PUT("stvec", (uintptr_t)trap);
    UPMU_RV_PUT("sie", 0);
    UPMU_RV_CLEAR("sip", 1ul << OVERFLOW_INTERRUPT);
    (void)UPMU_RV_GET("0xda0");
    sbi.identity.sscofpmf = faults == before;
    sbi.identity.sbi_events = true;
    /* Another program's: a counter with an event that does not run. */
    (void)tell_firmware(SBI_CONFIGURE, FIRST + 1, 0, DTLB_READ_MISS);
    if (!upmu_riscv_sbi_port(&sbi, port))
        printf("    no PMU extension of the SBI\n");
    native = *port;
    machine_does.interrupt = sbi.identity.sscofpmf;
    machine_does.count_twice = shares_instret();
    if (sbi.identity.sscofpmf) {
        find_faults();
        a_start_clears_its_flag_and_no_interrupt();
        a_stopped_counter_gives_its_event_up();
        what_the_firmware_refuses_fails();
        if (sbi.identity.counters == 0x78)
            three_of_four_counters_can_run();
    }
    if (is_upper_wrong)
        sbi.identity.width = 32;
    port->rdmsr = read_register;
    port->wrmsr = write_register;
    port->clock_ns = slow_clock;
    guest_tests(port, sbi.identity.width, sbi.identity.sscofpmf);
    before = faults;
    (void)UPMU_RV_GET("0x600"); /* hstatus: S-mode is HS-mode */
    if (faults == before)
        hypervisor_tests(port, sbi.identity.width, sbi.identity.sscofpmf);
    else
        printf("    no hypervisor extension: no guest in VS-mode\n");
    UPMU_RV_CLEAR("sip", 1ul << OVERFLOW_INTERRUPT);
}

void machine_go(struct upmu_cpu *cpu)
{
    the_cpu = cpu;
    UPMU_RV_SET("sie", 1ul << OVERFLOW_INTERRUPT);
    UPMU_RV_SET("sstatus", 2);
}

/*
 * S-mode reads no event: the firmware is asked to stop each counter, and answers for one without an event that there is
 * none.
 */
unsigned machine_registers(uint64_t out[MACHINE_REGISTERS])
{
    unsigned count = 0;

    for (unsigned n = FIRST; n < 32; n++)
        out[count++] = tell_firmware(SBI_STOP, n, 0, 0);
    return count;
}

/* (By the port: what another program tells the firmware is not seen.) */
void machine_disturb(unsigned counter)
{
    put_register(MHPMEVENT(FIRST + counter), register_of(MHPMEVENT(FIRST + counter)) ^ 0x10);
}
