/* SPDX-License-Identifier: MIT */
/*
 * Part of supervisor.c: SUPERVISOR_LENDS, CPUs of the model lend their branch stacks to samples, and have memory for
 * records of precise events, as far as they have such stacks and records.
 */
#ifndef UPMU_TESTS_PERF_SUPERVISOR_LENDS_H
#define UPMU_TESTS_PERF_SUPERVISOR_LENDS_H

#include <upmu/branches.h>
#include <upmu/precise.h>

#define LENDS_AREA UINT64_C(0xffffc90000000000)                 /* linear addresses: of the first CPU's area, */
#define LENDS_RECORDS (LENDS_AREA + UPMU_RECORD_AREA_BYTES)     /* and its records behind that */
#define LENDS_BYTES (UPMU_RECORD_AREA_BYTES + UPMU_RECORD_LEAST_BYTES)

static _Alignas(4096) uint8_t lends_memory[PERF_KERNEL_CPUS][LENDS_BYTES];

/* The memory of the host, for the model's records. */
static bool lends_access(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                         uint8_t *bytes, uint32_t length)
{
    uint64_t at = address - LENDS_AREA;
    uint8_t *here = &lends_memory[0][0] + at;

    (void)sim, (void)cpu;
    if (at > sizeof lends_memory - length)
        return false;
    memcpy(kind & UPMU_SIM_MEMORY_WRITE ? here : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : here, length);
    return true;
}

static void lends_begin(void)
{
    const struct upmu_branch_filter all = {.record = 0};

    if (!getenv("SUPERVISOR_LENDS"))
        return;
    perf_kernel.sim.memory = lends_access;
    for (unsigned i = 0; i < PERF_KERNEL_CPUS; i++) {
        const struct upmu_record_memory memory = {.area = lends_memory[i],
                                                  .area_linear = LENDS_AREA + i * LENDS_BYTES,
                                                  .records = lends_memory[i] + UPMU_RECORD_AREA_BYTES,
                                                  .records_linear = LENDS_RECORDS + i * LENDS_BYTES,
                                                  .record_bytes = UPMU_RECORD_LEAST_BYTES};

        upmu_sim_switch_cpu(&perf_kernel.sim, i);
        (void)!upmu_cpu_use_branches(&perf_kernel.cpu[i], &all, NULL);
        (void)!upmu_cpu_use_records(&perf_kernel.cpu[i], &memory, NULL);
    }
    upmu_sim_switch_cpu(&perf_kernel.sim, 0);
}

/*
 * Registers of the model's records, in their order: flags, ip, ax, cx, dx, bx, sp, bp, si, di, r8 to r15.  Valid until
 * the next call.
 */
static const uint64_t *lends_registers(const struct user_regs_struct *r)
{
    static uint64_t stored[UPMU_RECORD_REGISTERS];
    const uint64_t now[UPMU_RECORD_REGISTERS] = {r->eflags, r->rip, r->rax, r->rcx, r->rdx, r->rbx,
                                                 r->rsp,    r->rbp, r->rsi, r->rdi, r->r8,  r->r9,
                                                 r->r10,    r->r11, r->r12, r->r13, r->r14, r->r15};

    memcpy(stored, now, sizeof stored);
    return stored;
}

#endif
