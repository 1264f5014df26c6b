/* SPDX-License-Identifier: MIT */
/*
 * What M-mode and S-mode have in common: registers, a clock, the trap, the loop.  The file of a machine says before it:
 *
 *     MODE         the letter that its registers' names begin with
 *     MODE_NAME    the attribute of its traps
 *     MODE_BEFORE  the mode that was interrupted, of a status: 0 for user
 *     CYCLE        its counter of cycles
 */
#ifndef MACHINE_RISCV_H
#define MACHINE_RISCV_H

#include "port/riscv_native/riscv_csr.h"
#include "tests/foreign/foreign_machine.h"

#define FIRST 3u
#define OVERFLOW_INTERRUPT 13u
#define MHPMCOUNTER(n) (0xb00u + (n))

volatile struct machine_seen machine_seen;
unsigned machine_writes;

static struct upmu_cpu *the_cpu;
static volatile unsigned faults;

static uint64_t slow_clock(void *context)
{
    (void)context;
#if __riscv_xlen == 32
    unsigned long high, low;

    do {
        high = UPMU_RV_GET(CYCLE "h");
        low = UPMU_RV_GET(CYCLE);
    } while (high != UPMU_RV_GET(CYCLE "h"));
    return ((uint64_t)high << 32 | low) * SLOWER;
#else
    return UPMU_RV_GET(CYCLE) * SLOWER;
#endif
}

__attribute__((interrupt(MODE_NAME), aligned(4))) static void trap(void)
{
    unsigned long cause = UPMU_RV_GET(MODE "cause");

    if (cause == ((unsigned long)-1 ^ (unsigned long)-1 >> 1) + OVERFLOW_INTERRUPT) {
        struct upmu_frame frame = {.ip = UPMU_RV_GET(MODE "epc"), .user = !MODE_BEFORE(UPMU_RV_GET(MODE "status"))};
        enum upmu_pmi answer;

        machine_seen.interrupts++;
        answer = upmu_pmi_handle(the_cpu, &frame);
        machine_seen.handled += answer == UPMU_PMI_HANDLED;
        machine_seen.stale += answer == UPMU_PMI_STALE;
    } else if ((long)cause >= 0) {
        unsigned long at = UPMU_RV_GET(MODE "epc");

        /* A register that is not there: the instruction is skipped. */
        faults++;
        UPMU_RV_PUT(MODE "epc", at + ((*(const uint16_t *)at & 3u) == 3u ? 4u : 2u));
    } else {
        machine_seen.strange++;
        UPMU_RV_PUT(MODE "ie", 0);
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

#endif
