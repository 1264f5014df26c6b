/* SPDX-License-Identifier: MIT */
/*
 * QEMU's "virt" with a RISC-V CPU, in M-mode: a 16550, a device that ends QEMU, mtime.
 */
#include <examples/virt/virt.h>
#include <examples/virt/virt_qemu.h>

#if defined(__riscv)

#include <port/riscv_native/riscv_csr.h>
#include <port/riscv_native/riscv_native.h>

#define UART ((volatile uint8_t *)0x10000000)
#define FINISH ((volatile uint32_t *)0x00100000)
#define FINISH_PASS 0x5555u
#define FINISH_FAIL 0x13333u
#define MTIME ((volatile uint64_t *)0x0200bff8)
#define MTIME_NS 100u
#define OVERFLOW_INTERRUPT 13u
#define FIRST 3u

const char virt_machine[] = "RISC-V";

static struct upmu_cpu *the_cpu;
static struct upmu_riscv_identity identity;
static volatile unsigned faults;

/* Entry; two loops, of instructions of one length. */
__asm__(".section .text.virt_start, \"ax\"\n.global virt_start\nvirt_start:\n"
        "la sp, virt_stack\nla a0, virt_bss\nla a1, virt_bss_end\n"
        "1: sd zero, 0(a0)\naddi a0, a0, 8\nbltu a0, a1, 1b\nj virt_main\n"
        ".text\n.option push\n.option norvc\n"
        ".balign 64\n.global virt_loop_first\nvirt_loop_first:\naddi a0, a0, -1\nbnez a0, virt_loop_first\nret\n"
        ".balign 64\n.global virt_loop_second\nvirt_loop_second:\naddi a0, a0, -1\nbnez a0, virt_loop_second\nret\n"
        ".balign 64\n.global virt_loop_end\nvirt_loop_end:\n.option pop\n");

/* A register that is not there: the instruction is skipped. */
__attribute__((interrupt("machine"), aligned(4))) static void trap(void)
{
    unsigned long cause, at, status;

    __asm__ volatile("csrr %0, mcause\n\tcsrr %1, mepc\n\tcsrr %2, mstatus" : "=r"(cause), "=r"(at), "=r"(status));
    if (cause == (1ul << 63 | OVERFLOW_INTERRUPT)) {
        const struct upmu_frame frame = {.ip = at, .user = (status >> 11 & 3u) == 0};

        (void)upmu_pmi_handle(the_cpu, &frame);
        return;
    }
    faults++;
    at += (*(const uint16_t *)at & 3u) == 3u ? 4u : 2u;
    __asm__ volatile("csrw mepc, %0" : : "r"(at));
}

/* No instruction tells which counters there are: those that keep what is written. */
static void identify(void)
{
    unsigned before;
    uint64_t value;

    for (uint32_t n = FIRST; n < 32; n++) {
        before = faults;
        value = 0;
        (void)upmu_riscv_csr_write(0xb00u + n, 0x5a5a);
        (void)upmu_riscv_csr_read(0xb00u + n, &value);
        (void)upmu_riscv_csr_write(0xb00u + n, 0);
        if (faults == before && value >= 0x5a5a && value < 0x10000)
            identity.counters |= UINT32_C(1) << n;
    }
    before = faults;
    (void)upmu_riscv_csr_read(0xda0, &value); /* scountovf */
    identity.sscofpmf = faults == before;
    identity.width = 64;
    identity.sbi_events = true; /* QEMU has these */
}

static void cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    upmu_riscv_cpuid(&identity, leaf, subleaf, out);
}

static uint64_t clock_ns(void *context)
{
    (void)context;
    return *MTIME * MTIME_NS;
}

void virt_open(struct upmu_port *port)
{
    __asm__ volatile("csrw mtvec, %0\n\tcsrw mie, zero\n\tcsrw mcounteren, %1" : : "r"(trap), "r"(0xfffffffful));
    identify();
    if (identity.sscofpmf)
        upmu_riscv_port(port);
    else
        upmu_riscv_port_without_sscofpmf(port);
    port->cpuid = cpuid;
    port->clock_ns = clock_ns;
    virt_qemu_repair(port, identity.counters);
}

void virt_go(struct upmu_cpu *cpu)
{
    the_cpu = cpu;
    __asm__ volatile("csrs mie, %0\n\tcsrsi mstatus, 8" : : "r"(1ul << OVERFLOW_INTERRUPT) : "memory");
}

void virt_put(char c)
{
    *UART = (uint8_t)c;
}

void virt_off(bool failed)
{
    *FINISH = failed ? FINISH_FAIL : FINISH_PASS;
    for (;;)
        __asm__ volatile("wfi");
}

#endif
