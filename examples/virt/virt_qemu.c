/* SPDX-License-Identifier: MIT */
/*
 * Hooks that repair what QEMU 7.2 does otherwise than a RISC-V CPU.
 *
 * In QEMU an inhibited counter goes on.  A counter that is started again is not looked at.  A counter that begins in
 * the lower half of its range overflows at once.  While an overflow is due, QEMU forgets a later one.  Where registers
 * have 32 bits, the halves of a counter know nothing of each other.  So the hooks stop and start counters, and keep
 * them in the upper half.  QEMU counts an event in the first counter that has it, until that counter has none: the
 * hooks write the event of a counter again when it starts with a new one, and move equal events of stopped counters
 * into a table.
 */
#include <examples/virt/virt_qemu.h>

#if defined(__riscv)

#include <port/riscv_native/riscv_csr.h>

#define MCOUNTINHIBIT 0x320u
#define MHPMEVENT(n) (0x320u + (n))
#define MHPMCOUNTER(n) (0xb00u + (n))
#define FIRST 3u
#define EVENT (~UINT64_C(0) >> 8)
#define HALF (UINT64_C(1) << 63)
#define BIAS (UINT64_C(3) << 62)
#define NEAR 1000000u

static struct upmu_port native;
static uint32_t present;    /* counters */
static uint64_t held[32];   /* what stopped counters hold */
static uint64_t lent[32];   /* their events, if QEMU has not got them */
static uint32_t lenders, anew;

static bool is_stopped(unsigned n)
{
    return UPMU_RV_GET("mcountinhibit") >> n & 1u;
}

uint64_t virt_qemu_event(unsigned n)
{
    uint64_t value = 0;

    if (lenders >> n & 1u)
        return lent[n];
    (void)native.rdmsr(native.context, MHPMEVENT(n), &value);
    return value;
}

void virt_qemu_set_event(unsigned n, uint64_t value)
{
    uint32_t bit = UINT32_C(1) << n;

    if ((virt_qemu_event(n) ^ value) & EVENT)
        anew |= bit;
    if (lenders & bit)
        lent[n] = value;
    else
        (void)native.wrmsr(native.context, MHPMEVENT(n), value);
}

/* QEMU learns that this counter counts its event. */
static void tell_event(unsigned n)
{
    uint64_t value = virt_qemu_event(n);

    for (unsigned m = FIRST; m < 32; m++)
        if (m != n && (present & ~lenders) >> m & 1u && is_stopped(m) && !((virt_qemu_event(m) ^ value) & EVENT)) {
            lent[m] = virt_qemu_event(m);
            lenders |= UINT32_C(1) << m;
            (void)native.wrmsr(native.context, MHPMEVENT(m), 0);
        }
    lenders &= ~(UINT32_C(1) << n);
    anew &= ~(UINT32_C(1) << n);
    (void)native.wrmsr(native.context, MHPMEVENT(n), 0);
    (void)native.wrmsr(native.context, MHPMEVENT(n), value);
}

#if __riscv_xlen == 32
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
    unsigned long begin = UPMU_RV_GET("mcycle");

    while (left < NEAR && UPMU_RV_GET("mcycle") - begin < left + 100u)
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
    if (is_counter(number))
        *out_value = is_stopped(number & 31u) ? held[number & 31u] : now(number & 31u);
    else if (is_event(number))
        *out_value = virt_qemu_event(number - MHPMEVENT(0));
    else
        return native.rdmsr(context, number, out_value);
    return true;
}

static void write_gates(uint32_t value)
{
    uint32_t before = (uint32_t)UPMU_RV_GET("mcountinhibit");
    uint32_t stops = value & ~before & present, starts = before & ~value & present;

    for (unsigned n = FIRST; n < 32; n++)
        if (starts & (anew | lenders) & UINT32_C(1) << n)
            tell_event(n);
    for (unsigned n = FIRST; n < 32; n++)
        if (stops >> n & 1u)
            held[n] = now(n);
    UPMU_RV_PUT("mcountinhibit", value);
    for (unsigned n = FIRST; n < 32; n++)
        if (stops >> n & 1u)
            let_pass(n);
    for (unsigned n = FIRST; n < 32; n++)
        if (starts >> n & 1u)
            start(n);
}

static bool write_register(void *context, uint32_t number, uint64_t value)
{
    if (number == MCOUNTINHIBIT) {
        write_gates((uint32_t)value);
    } else if (is_counter(number)) {
        held[number & 31u] = value & ~UPPER;
        if (!is_stopped(number & 31u))
            start(number & 31u);
    } else if (is_event(number)) {
        virt_qemu_set_event(number - MHPMEVENT(0), value);
    } else {
        return native.wrmsr(context, number, value);
    }
    return true;
}

void virt_qemu_repair(struct upmu_port *port, uint32_t counters)
{
    native = *port;
    present = counters;
    UPMU_RV_PUT("mcountinhibit", ~UINT32_C(7));
    port->rdmsr = read_register;
    port->wrmsr = write_register;
}

#endif
