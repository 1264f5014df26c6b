/* SPDX-License-Identifier: MIT */
/*
 * QEMU's "virt" with a CPU of AArch64: interrupts by its GICv2, at EL1 or at EL2.
 */
#include "port/arm64_native/arm64_native.h"
#include "port/arm64_native/arm64_sysreg.h"
#include "tests/foreign/foreign_machine.h"

struct saved {
    uint64_t x[20], ip, mode;
};

#define WAS_USER(mode) (((mode)&15u) == 0)
#define READ_COUNTER(value) upmu_a64_mrs(UPMU_A64_NUMBER(3, 3, 14, 8, 0), value)
#define INTERRUPTS_ON "msr daifclr, #2"
#include "tests/foreign/machine_arm.h"


/* Two tables of vectors: of the first the interrupt returns at EL1, of the second at EL2. */
#define VECTORS(el)                                                                                                    \
    ".balign 2048\nvectors_" el ":\n"                                                                                  \
    ".rept 5\n1: b 1b\n.balign 128\n.endr\n"                                                                           \
    "b interrupt_" el "\n.balign 128\n"                                                                                \
    ".rept 10\n1: b 1b\n.balign 128\n.endr\n"                                                                          \
    "interrupt_" el ":\n"                                                                                              \
    "sub sp, sp, #176\n"                                                                                               \
    "stp x0, x1, [sp]\nstp x2, x3, [sp, #16]\nstp x4, x5, [sp, #32]\nstp x6, x7, [sp, #48]\n"                          \
    "stp x8, x9, [sp, #64]\nstp x10, x11, [sp, #80]\nstp x12, x13, [sp, #96]\nstp x14, x15, [sp, #112]\n"              \
    "stp x16, x17, [sp, #128]\nstp x18, x30, [sp, #144]\n"                                                             \
    "mrs x0, elr_" el "\nmrs x1, spsr_" el "\nstp x0, x1, [sp, #160]\n"                                                \
    "mov x0, sp\nbl machine_interrupt\n"                                                                               \
    "ldp x0, x1, [sp, #160]\nmsr elr_" el ", x0\nmsr spsr_" el ", x1\n"                                                \
    "ldp x0, x1, [sp]\nldp x2, x3, [sp, #16]\nldp x4, x5, [sp, #32]\nldp x6, x7, [sp, #48]\n"                          \
    "ldp x8, x9, [sp, #64]\nldp x10, x11, [sp, #80]\nldp x12, x13, [sp, #96]\nldp x14, x15, [sp, #112]\n"              \
    "ldp x16, x17, [sp, #128]\nldp x18, x30, [sp, #144]\n"                                                             \
    "add sp, sp, #176\neret\n"
extern const char vectors_el1[], vectors_el2[];
__asm__(".text\n" VECTORS("el1") VECTORS("el2")
        ".balign 8\n.global machine_loop\nmachine_loop:\nloop_begin:\n"
        "subs x0, x0, #1\nb.ne loop_begin\nloop_end:\nret\n");

/* A counter that is about to overflow, and has its interrupt: does its flag come? */
static bool is_missed(void)
{
    uint64_t flags;

    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 9, 12, 0), 1);  /* PMCR.E */
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 14, 12, 0), UINT64_C(1) << 27 | 0x08);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 14, 8, 0), 0 - UINT64_C(3000));
    upmu_a64_msr(UPMU_A64_NUMBER(3, 0, 9, 14, 1), 1);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 9, 12, 1), 1);
    machine_loop(2000);
    machine_loop(2000);
    flags = GICD[0x200 / 4] >> PMU_INTERRUPT & 1u; /* (A read of the PMU would make it look.) */
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 9, 12, 2), 1);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 0, 9, 14, 2), 1);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 9, 12, 3), 1);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 14, 8, 0), 0);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 14, 12, 0), 0);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 9, 12, 0), 0);
    return !flags;
}

void machine_begin(struct upmu_port *port)
{
    uint64_t level;

    __asm__ volatile("mrs %0, CurrentEL" : "=r"(level));
    if (level >> 2 == 2) {
        /* Interrupts are taken at EL2 (HCR_EL2.IMO). */
        uint64_t routing = UINT64_C(1) << 31 | 0x10;

        __asm__ volatile("msr vbar_el2, %0\n\tmsr hcr_el2, %1\n\tisb" : : "r"(vectors_el2), "r"(routing));
    } else {
        __asm__ volatile("msr vbar_el1, %0\n\tisb" : : "r"(vectors_el1));
    }
    open_gic();
    looks_early = machine_does.look_elsewhere = is_missed();
    /* What firmware left behind: a counter that is on, but all stand still (PMCR.E is 0). */
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 14, 12, 1), 0x4000001b);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 14, 8, 1), 0x1234567);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 9, 12, 1), 2);
    upmu_a64_msr(UPMU_A64_NUMBER(3, 3, 14, 15, 7), 0x40000000);
    upmu_arm64_port(port);
    native = *port;
    port->clock_ns = slow_clock;
    port->wrmsr = count_write;
}

const char *machine_repairs(void)
{
    return looks_early ? "overflows of event counters are looked for one event early" : "";
}

unsigned machine_registers(uint64_t out[MACHINE_REGISTERS])
{
    static const uint32_t controls[] = {UPMU_A64_NUMBER(3, 3, 9, 12, 0), UPMU_A64_NUMBER(3, 3, 9, 12, 1),
                                        UPMU_A64_NUMBER(3, 3, 9, 12, 3), UPMU_A64_NUMBER(3, 0, 9, 14, 1),
                                        UPMU_A64_NUMBER(3, 3, 14, 15, 7)};
    unsigned count = 0;
    uint64_t pmcr;

    for (unsigned i = 0; i < sizeof controls / sizeof controls[0]; i++)
        upmu_a64_mrs(controls[i], &out[count++]);
    upmu_a64_mrs(UPMU_A64_NUMBER(3, 3, 9, 12, 0), &pmcr);
    upmu_a64_mrs(UPMU_A64_NUMBER(3, 3, 9, 13, 0), &out[count++]);
    for (unsigned n = 0; n < (pmcr >> 11 & 31); n++) {
        upmu_a64_mrs(UPMU_A64_NUMBER(3, 3, 14, 12 + n / 8, n % 8), &out[count++]);
        upmu_a64_mrs(UPMU_A64_NUMBER(3, 3, 14, 8 + n / 8, n % 8), &out[count++]);
    }
    return count;
}

void machine_disturb(unsigned counter)
{
    uint32_t number = counter == 31 ? UPMU_A64_NUMBER(3, 3, 14, 15, 7)
                                    : UPMU_A64_NUMBER(3, 3, 14, 12 + counter / 8, counter % 8);
    uint64_t value = 0;

    upmu_a64_mrs(number, &value);
    upmu_a64_msr(number, value ^ UINT64_C(1) << 30);
}
