/* SPDX-License-Identifier: MIT */
/*
 * QEMU's "virt" with a RISC-V CPU, in M-mode, of 32 and of 64 bits.
 *
 * Faults of QEMU 7.2 are repaired by examples/virt/virt_qemu.c, and here one more: scountovf shows M-mode only what
 * mcounteren shows the others.
 */
#include "examples/virt/virt_qemu.h"
#include "port/riscv_native/riscv_native.h"
#include "port/riscv_native/riscv_csr.h"
#include "tests/foreign/foreign_machine.h"

#define MHPMCOUNTER(n) (0xb00u + (n))
#define FIRST 3u
#define OVERFLOW_INTERRUPT 13u

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
static struct upmu_port repaired;
static struct upmu_riscv_identity identity;
static volatile unsigned faults;

static bool read_register(void *context, uint32_t number, uint64_t *out_value)
{
    unsigned before = faults;

    return repaired.rdmsr(context, number, out_value) && faults == before;
}

static bool write_register(void *context, uint32_t number, uint64_t value)
{
    unsigned before = faults;

    machine_writes++;
    return repaired.wrmsr(context, number, value) && faults == before;
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
    PUT("mcounteren", 0xffffffffu);
    firmware_tests(has_overflows());
    CLEAR("mip", 1ul << OVERFLOW_INTERRUPT);
    identity.counters = find_counters();
    identity.width = VIRT_QEMU_WIDTH;
    identity.sscofpmf = has_overflows();
    identity.sbi_events = true;
    if (identity.sscofpmf)
        upmu_riscv_port(port);
    else
        upmu_riscv_port_without_sscofpmf(port);
    /* What firmware left behind: a counter with an event that does not run. */
    (void)port->wrmsr(port->context, 0x320u + FIRST + 1, 0x10019);
    virt_qemu_repair(port, identity.counters);
    repaired = *port;
    port->cpuid = cpuid;
    port->rdmsr = read_register;
    port->wrmsr = write_register;
    port->clock_ns = slow_clock;
    port->msr_faults_are_safe = true;
    machine_does.interrupt = identity.sscofpmf;
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
        if (identity.counters >> n & 1u)
            out[count++] = virt_qemu_event(n);
    return count;
}

void machine_disturb(unsigned counter)
{
    virt_qemu_set_event(FIRST + counter, virt_qemu_event(FIRST + counter) ^ 0x10);
}
