/* SPDX-License-Identifier: MIT */
/*
 * QEMU's "virt" with a CPU of AArch64, at EL1: a GICv2, a PL011, PSCI.  The MMU is off, so memory is accessed as a
 * device is: aligned (-mstrict-align).
 */
#include <examples/virt/virt.h>

#if defined(__aarch64__)

#include <port/arm64_native/arm64_native.h>

#define UART ((volatile uint32_t *)0x09000000)
#define GICD ((volatile uint32_t *)0x08000000)
#define GICC ((volatile uint32_t *)0x08010000)
#define PMU_INTERRUPT 23u
#define PSCI_SYSTEM_OFF 0x84000008u

const char virt_machine[] = "AArch64";

static struct upmu_cpu *the_cpu;

/* The registers that the entry saves. */
struct saved {
    uint64_t x[20], ip, mode;
};
void virt_interrupt(struct saved *saved);

/* Entry; vectors, of which only that for interrupts at EL1 returns; two loops. */
__asm__(".section .text.virt_start, \"ax\"\n.global virt_start\nvirt_start:\n"
        "ldr x0, =virt_stack\nmov sp, x0\nldr x0, =virt_bss\nldr x1, =virt_bss_end\n"
        "1: str xzr, [x0], #8\ncmp x0, x1\nb.lo 1b\nb virt_main\n.ltorg\n"
        ".text\n.balign 2048\nvirt_vectors:\n"
        ".rept 5\n1: b 1b\n.balign 128\n.endr\n"
        "b virt_entry\n.balign 128\n"
        ".rept 10\n1: b 1b\n.balign 128\n.endr\n"
        "virt_entry:\nsub sp, sp, #176\n"
        "stp x0, x1, [sp]\nstp x2, x3, [sp, #16]\nstp x4, x5, [sp, #32]\nstp x6, x7, [sp, #48]\n"
        "stp x8, x9, [sp, #64]\nstp x10, x11, [sp, #80]\nstp x12, x13, [sp, #96]\nstp x14, x15, [sp, #112]\n"
        "stp x16, x17, [sp, #128]\nstp x18, x30, [sp, #144]\n"
        "mrs x0, elr_el1\nmrs x1, spsr_el1\nstp x0, x1, [sp, #160]\n"
        "mov x0, sp\nbl virt_interrupt\n"
        "ldp x0, x1, [sp, #160]\nmsr elr_el1, x0\nmsr spsr_el1, x1\n"
        "ldp x0, x1, [sp]\nldp x2, x3, [sp, #16]\nldp x4, x5, [sp, #32]\nldp x6, x7, [sp, #48]\n"
        "ldp x8, x9, [sp, #64]\nldp x10, x11, [sp, #80]\nldp x12, x13, [sp, #96]\nldp x14, x15, [sp, #112]\n"
        "ldp x16, x17, [sp, #128]\nldp x18, x30, [sp, #144]\n"
        "add sp, sp, #176\neret\n"
        ".balign 64\n.global virt_loop_first\nvirt_loop_first:\nsubs x0, x0, #1\nb.ne virt_loop_first\nret\n"
        ".balign 64\n.global virt_loop_second\nvirt_loop_second:\nsubs x0, x0, #1\nb.ne virt_loop_second\nret\n"
        ".balign 64\n.global virt_loop_end\nvirt_loop_end:\n");
extern const char virt_vectors[];

void virt_interrupt(struct saved *saved)
{
    uint32_t which = GICC[3]; /* acknowledged */
    const struct upmu_frame frame = {.ip = saved->ip, .sp = (uintptr_t)(saved + 1), .user = (saved->mode & 15u) == 0};

    if ((which & 0x3ffu) == PMU_INTERRUPT)
        (void)upmu_pmi_handle(the_cpu, &frame);
    GICC[4] = which; /* ended */
}

void virt_open(struct upmu_port *port)
{
    __asm__ volatile("msr vbar_el1, %0\n\tisb" : : "r"(virt_vectors));
    GICD[0] = 1;
    GICD[0x100 / 4] = 1u << PMU_INTERRUPT;
    ((volatile uint8_t *)GICD)[0x400 + PMU_INTERRUPT] = 0x80; /* its priority */
    GICC[0] = 1;
    GICC[1] = 0xff;
    upmu_arm64_port(port);
}

void virt_go(struct upmu_cpu *cpu)
{
    the_cpu = cpu;
    __asm__ volatile("msr daifclr, #2" : : : "memory");
}

void virt_put(char c)
{
    UART[0] = (unsigned char)c;
}

void virt_off(bool failed)
{
    register uint64_t call __asm__("x0") = PSCI_SYSTEM_OFF;

    (void)failed; /* PSCI has no status */
    __asm__ volatile("hvc #0" : "+r"(call) : : "memory");
    for (;;)
        __asm__ volatile("wfi");
}

#endif
