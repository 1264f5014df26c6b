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

#define MODE "m"
#define MODE_NAME "machine"
#define MODE_BEFORE(status) ((status) >> 11 & 3u)
#define CYCLE "mcycle"
#include "tests/common/garbage.h"
#include "tests/foreign/machine_riscv.h"

/* (QEMU 7.2 counts in each mode, whatever an event says; the hooks start counters one after the other.) */
struct machine_does machine_does = {.skew = 32};

static struct upmu_port repaired;
static struct upmu_riscv_identity identity;

static bool read_register(void *context, uint32_t number, uint64_t *out_value)
{
    unsigned before = faults;

    return garbage_unless(repaired.rdmsr(context, number, out_value) && faults == before, out_value);
}

static bool write_register(void *context, uint32_t number, uint64_t value)
{
    unsigned before = faults;

    machine_writes++;
    return repaired.wrmsr(context, number, value) && faults == before;
}

static void cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    upmu_riscv_cpuid(&identity, leaf, subleaf, out);
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

    (void)UPMU_RV_GET("0xda0");
    return faults == before;
}

void machine_begin(struct upmu_port *port)
{
    UPMU_RV_PUT("mtvec", (uintptr_t)trap);
    UPMU_RV_PUT("mie", 0);
    UPMU_RV_PUT("mcounteren", 0xffffffffu);
    firmware_tests(has_overflows());
    UPMU_RV_CLEAR("mip", 1ul << OVERFLOW_INTERRUPT);
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
    UPMU_RV_SET("mie", 1ul << OVERFLOW_INTERRUPT);
    UPMU_RV_SET("mstatus", 8);
}

unsigned machine_registers(uint64_t out[MACHINE_REGISTERS])
{
    unsigned count = 0;

    out[count++] = UPMU_RV_GET("mcountinhibit");
    for (uint32_t n = FIRST; n < 32; n++)
        if (identity.counters >> n & 1u)
            out[count++] = virt_qemu_event(n);
    return count;
}

void machine_disturb(unsigned counter)
{
    virt_qemu_set_event(FIRST + counter, virt_qemu_event(FIRST + counter) ^ 0x10);
}
