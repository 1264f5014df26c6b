/* SPDX-License-Identifier: MIT */
/*
 * The supervisor program in VS-mode: it counts by calls of the SBI and reads of CSRs, as a kernel in S-mode does, and
 * ends by the call for a shutdown. No function of the image's C library is called here.
 *
 * Numbers are those of the RISC-V SBI specification 3.0, chapters 10 and 11.
 */
#include "tests/foreign/vs_guest_riscv.h"
#include "port/riscv_native/riscv_csr.h"
#include "tests/foreign/foreign_machine.h"

#define PMU 0x504d55ul
#define PMU_MATCH 2ul
#define PMU_START 3ul
#define PMU_STOP 4ul
#define PMU_SNAPSHOT 7ul
#define RESET 0x53525354ul
#define INSTRUCTIONS 2ul
#define START_AT_VALUE 1ul
#define STOP_AND_RESET 1ul
#define STOP_WITH_SNAPSHOT 2ul
#define TOP (1ul << (__riscv_xlen - 1))
#define OVERFLOW_INTERRUPT (TOP | 13ul)
#define ILLEGAL 2ul
#define SSTATUS_SIE 2ul

volatile struct vs_guest vs_guest;
volatile uint64_t vs_page[512] __attribute__((aligned(4096)));

void vs_guest_main(void);

__asm__(".bss\n.balign 16\n.zero 4096\nvs_guest_stack:\n.text\n.balign 4\n.global vs_guest_start\nvs_guest_start:\n"
        ".option push\n.option norelax\nla gp, __global_pointer$\n.option pop\nla sp, vs_guest_stack\n"
        "call vs_guest_main\n1: j 1b\n");

static long call(unsigned long extension, unsigned long function, unsigned long first, unsigned long second,
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
    return (long)a0;
}

/* A call of the PMU for the counter, which succeeds. */
static void tell(unsigned long function, unsigned long flags, unsigned long fourth, unsigned long fifth)
{
    vs_guest.errors += call(PMU, function, VS_COUNTER, 1, flags, fourth, fifth) != 0;
}

static void start_at(unsigned long value)
{
    tell(PMU_START, START_AT_VALUE, value, __riscv_xlen == 32 ? ~0ul : 0);
}

/* The counter stops, and its value is that of the snapshot memory, where on RV32 the lower half is looked at. */
static unsigned long stop(unsigned long flags)
{
    tell(PMU_STOP, STOP_WITH_SNAPSHOT | flags, 0, 0);
    return (unsigned long)vs_page[1];
}

/* The counter goes on from where it overflowed, and its flag is clear then. */
__attribute__((interrupt("supervisor"), aligned(4))) static void handle_trap(void)
{
    unsigned long cause = UPMU_RV_GET("scause"), at = UPMU_RV_GET("sepc");

    if (cause == OVERFLOW_INTERRUPT) {
        unsigned long value = stop(0);

        vs_guest.interrupts++;
        vs_guest.flags = (unsigned long)vs_page[0];
        tell(PMU_START, START_AT_VALUE, value, (unsigned long)(vs_page[1] >> 16 >> 16));
        return;
    }
    if (cause == ILLEGAL)
        vs_guest.illegal++;
    else
        vs_guest.strange++;
    UPMU_RV_PUT("sepc", at + 4);
}

static void count_loop(void)
{
    unsigned long before;

    tell(PMU_MATCH, 0, INSTRUCTIONS, 0);
    start_at(vs_guest.start);
    before = UPMU_RV_GET("hpmcounter6");
    machine_loop(vs_guest.turns);
    vs_guest.counted = UPMU_RV_GET("hpmcounter6") - before;
    tell(PMU_STOP, STOP_AND_RESET, 0, 0);
}

static void count_with_overflow(void)
{
    vs_guest.errors += call(PMU, PMU_SNAPSHOT, (unsigned long)vs_page, 0, 0, 0, 0) != 0;
    tell(PMU_MATCH, 0, INSTRUCTIONS, 0);
    UPMU_RV_SET("sstatus", SSTATUS_SIE);
    start_at(vs_guest.start);
    machine_loop(vs_guest.turns);
    vs_guest.counted = stop(0) - vs_guest.start;
    UPMU_RV_CLEAR("sstatus", SSTATUS_SIE);
    (void)call(PMU, PMU_STOP, VS_COUNTER, 1, STOP_AND_RESET, 0, 0); /* the answer is that the counter has stopped */
}

void vs_guest_main(void)
{
    UPMU_RV_PUT("stvec", (unsigned long)handle_trap);
    switch (vs_guest.task) {
    case VS_COUNT:
        count_loop();
        break;
    case VS_OVERFLOW:
        count_with_overflow();
        break;
    case VS_ABSENT:
        vs_guest.counted = UPMU_RV_GET("hpmcounter7");
        break;
    }
    (void)call(RESET, 0, 0, 0, 0, 0, 0);
}
