/* SPDX-License-Identifier: MIT */
/*
 * Part of supervisor.c: programs run freely, for those that execute too many instructions for single steps. The model
 * executes an instruction, two cycles, a fifth of a branch and a twentieth of a call for each ns of CPU time that a
 * thread has taken since its last stop; meanwhile CPU 1 idles in the kernel. A thread stops at each call that is
 * looked at, and a thousand times a second if it has run at all: where others keep the processors busy, a thread that
 * was stopped again before it got its turn would never get on.
 */
#ifndef UPMU_TESTS_PERF_SUPERVISOR_FAST_H
#define UPMU_TESTS_PERF_SUPERVISOR_FAST_H

#include <sys/time.h>
#include <time.h>
#include <x86intrin.h>

#define FAST_TICK_US 1000
#define FAST_TICK_NS 1000000u
#define FAST_LONGEST_NS 1000000000u /* more than that between two stops is a mistake of the clock */

static bool fast;

static void fast_alarm(int number)
{
    (void)number;
}

/* The clock of this machine's TSC. */
static uint64_t fast_clock(void *context)
{
    (void)context;
    return upmu_perf_tsc_ns(&perf_kernel.perf.tsc, __rdtsc());
}

/*
 * SUPERVISOR_TSC: the time is that of the TSC, which programs can read, and pages tell how.  The rate is that of 10 ms,
 * roughly: any rate makes a clock.
 */
static void fast_use_tsc(void)
{
    const struct timespec wait = {.tv_nsec = 10000000};
    uint64_t begin = __rdtsc();

    if (nanosleep(&wait, NULL) != 0)
        die("nanosleep");
    upmu_perf_tsc_set(&perf_kernel.perf.tsc, (uint32_t)((__rdtsc() - begin) / 10u), begin, 0);
    perf_kernel.perf.clock_ns = fast_clock;
    perf_kernel.sim.port.clock_ns = fast_clock;
}

static void fast_begin(void)
{
    const struct itimerval each = {{0, FAST_TICK_US}, {0, FAST_TICK_US}};
    struct sigaction action = {.sa_handler = fast_alarm};

    fast = getenv("SUPERVISOR_FAST") != NULL;
    if (fast && (sigaction(SIGALRM, &action, NULL) != 0 || setitimer(ITIMER_REAL, &each, NULL) != 0))
        die("alarm");
}

/* Does an event of the thread, or of its CPU, need it to stop now and then? */
static bool fast_is_counted(const struct task *task)
{
    return task->id && task->announced && is_counted(task);
}

/*
 * CPU time of a thread in ns, and how often it got a processor (Linux, Documentation/scheduler/sched-stats.rst,
 * /proc/PID/schedstat). Without that file they are as at its last stop.
 */
static void fast_read(const struct task *task, uint64_t *out_ns, unsigned long *out_turns)
{
    unsigned long long ns;
    unsigned long turns;
    char path[64];
    FILE *file;

    *out_ns = task->ran;
    *out_turns = task->turns;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)task->process, (int)task->id);
    file = fopen(path, "r");
    if (!file)
        return;
    if (fscanf(file, "%llu %*u %lu", &ns, &turns) == 2) {
        *out_ns = ns;
        *out_turns = turns;
    }
    fclose(file);
}

/* A tick of the clock: threads that are counted, and have run since their last stop, stop. */
static void fast_interrupt(void)
{
    for (unsigned i = 0; fast && i < TASKS; i++) {
        unsigned long turns;
        uint64_t ns;

        if (!fast_is_counted(&tasks[i]) || tasks[i].pending)
            continue;
        fast_read(&tasks[i], &ns, &turns);
        if (turns != tasks[i].turns)
            (void)ptrace(PTRACE_INTERRUPT, tasks[i].id, NULL, NULL);
    }
}

static void fast_idle(uint64_t ns)
{
    upmu_sim_switch_cpu(&perf_kernel.sim, 1);
    upmu_sim_events(&perf_kernel.sim,
                    &(struct upmu_sim_burst){.instructions = ns, .cycles = 2 * ns, .ref_cycles = 2 * ns});
    if (upmu_cpu_tick(&perf_kernel.cpu[1]) != UPMU_OK)
        die("tick");
}

/* A thread has stopped: the model executes what it has executed. */
static void fast_execute(struct task *task)
{
    struct user_regs_struct registers;
    unsigned long turns;
    uint64_t ran, ns;
    bool first = task->ran == 0, ticks;

    fast_read(task, &ran, &turns);
    ns = ran - task->ran;
    ticks = ran / FAST_TICK_NS != task->ran / FAST_TICK_NS;
    task->ran = ran;
    task->turns = turns;
    if (first || !ns || ns > FAST_LONGEST_NS || !fast_is_counted(task) ||
        ptrace(PTRACE_GETREGS, task->id, NULL, &registers) != 0)
        return;
    fast_idle(ns);
    run_on_model(&task->perf);
    registers_keep(&registers);
    upmu_sim_advance_ns(&perf_kernel.sim, ns);
    upmu_sim_events(&perf_kernel.sim, &(struct upmu_sim_burst){.instructions = ns,
                                                               .cycles = 2 * ns,
                                                               .ref_cycles = 2 * ns,
                                                               .branches = ns / 5,
                                                               .other = {{ns / 20, .event = 0xc4, .umask = 2}},
                                                               .user = true,
                                                               .ip = registers.rip,
                                                               .sp = registers.rsp,
                                                               .registers = lends_registers(&registers)});
    task->instructions += ns;
    /* A tick writes the pages of events: one at each emulated RDPMC would let its reader begin anew for ever. */
    if (ticks)
        tick(&registers);
}

#endif
