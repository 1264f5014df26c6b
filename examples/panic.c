/* SPDX-License-Identifier: MIT */
/*
 * Panic: the CPU keeps its last branches in registers, and the panic handler prints them.
 *
 *     L=build/gcc-64 && make $L/libupmu.a $L/libsim.a
 *     cc -Iinclude -I. -no-pie -o panic examples/panic.c $L/libsim.a $L/libupmu.a && ./panic
 *
 * Here the CPU is the silicon model's Skylake.  In a kernel, its port takes the model's place.
 */
#include <stdio.h>
#include <models/sim/sim.h>
#include <upmu/branches.h>

static struct upmu_sim sim; /* stands for the CPU */
static struct upmu_machine machine;
static struct upmu_cpu cpu;

/* The model is told how the kernel came to its fault: a call, a loop that was left, a jump through a pointer. */
static void work(void)
{
    static const struct upmu_sim_branch way[] = {
        {.from = 0xffffffff81000010, .to = 0xffffffff81002000, .kind = UPMU_SIM_BRANCH_CALL, .cycles = 40},
        {.from = 0xffffffff81002044, .to = 0xffffffff81002060, .mispredicted = true, .cycles = 310},
        {.from = 0xffffffff81002068, .to = 0x1000, .kind = UPMU_SIM_BRANCH_IND_JUMP, .cycles = 9}};

    for (unsigned i = 0; i < sizeof way / sizeof way[0]; i++)
        upmu_sim_branch(&sim, &way[i]);
}

/* Freeze first: all that follows takes branches, too.  Neither call waits, allocates, or needs interrupts. */
static void panic(const char *text)
{
    static struct upmu_branch last[UPMU_BRANCHES_MOST];
    unsigned count = 0;

    (void)!upmu_branches_freeze(&cpu);
    (void)!upmu_branches_read(&cpu, last, UPMU_BRANCHES_MOST, &count);
    printf("%s\n", text);
    for (unsigned i = 0; i < count; i++)
        printf("%#llx -> %#llx %llu cycles%s\n", (unsigned long long)last[i].from, (unsigned long long)last[i].to,
               (unsigned long long)(last[i].info & UPMU_BRANCH_INFO_CYCLES),
               last[i].info & UPMU_BRANCH_INFO_MISPREDICTED ? ", mispredicted" : "");
}

int main(void)
{
    const struct upmu_branch_filter all = {.record = 0}; /* each kind, in user and kernel mode */
    enum upmu_status status;

    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    if ((status = upmu_machine_init(&machine, upmu_sim_port(&sim))) == UPMU_OK &&
        (status = upmu_cpu_init(&cpu, &machine, NULL)) == UPMU_OK &&
        (status = upmu_branches_start(&cpu, &all, NULL)) == UPMU_OK) {
        work();
        panic("no code at 0x1000");
    }
    printf("%s\n", upmu_status_text(status));
    return status != UPMU_OK;
}
