/* SPDX-License-Identifier: MIT */
/*
 * Steps by the trap flag, and a child of its own for each instruction.
 */
#define _GNU_SOURCE /* REG_EFL */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/common/trap_flag.h"
#include "tests/inject/fork_step.h"

#if defined(__x86_64__)
#define IP REG_RIP
#else
#define IP REG_EIP
#endif

struct fork_step fork_step;

static struct {
    uintptr_t ip;
    unsigned times;
} seen[1u << 16];
static bool (*is_wanted)(uintptr_t ip);
static void (*between)(void);
static volatile bool stepping, child;

unsigned fork_step_times(uintptr_t ip)
{
    unsigned at = (unsigned)(ip * 2654435761u) % (sizeof seen / sizeof seen[0]);

    while (seen[at].ip && seen[at].ip != ip)
        at = (at + 1) % (sizeof seen / sizeof seen[0]);
    if (!seen[at].ip && ++fork_step.instructions == sizeof seen / sizeof seen[0]) {
        printf("the table of instructions is full: make `seen` larger\n");
        fflush(stdout);
        _exit(1);
    }
    seen[at].ip = ip;
    return seen[at].times++;
}

static void on_trap(int number, siginfo_t *info, void *where)
{
    ucontext_t *context = where;
    int status = 0;
    pid_t pid;

    (void)number;
    (void)info;
    if (!stepping) {
        FLAGS_OF(context) &= ~TRAP_FLAG;
        return;
    }
    FLAGS_OF(context) |= TRAP_FLAG;
    if (!is_wanted((uintptr_t)context->uc_mcontext.gregs[IP]))
        return;
    pid = fork();
    if (pid) {
        fork_step.forks++;
        if (waitpid(pid, &status, 0) != pid)
            status = -1;
        fork_step.failed = status;
        stepping = !status;
        return;
    }
    child = true;
    stepping = false;
    signal(SIGSEGV, SIG_DFL); /* cmocka's handler would go on with the next test */
    FLAGS_OF(context) &= ~TRAP_FLAG;
    between();
}

void fork_step_begin(bool (*wanted)(uintptr_t ip), void (*act)(void))
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};

    sigaction(SIGTRAP, &action, NULL);
    memset(seen, 0, sizeof seen);
    fork_step.instructions = 0;
    fork_step.failed = 0;
    is_wanted = wanted;
    between = act;
    stepping = true;
    raise(SIGTRAP);
}

bool fork_step_end(void)
{
    stepping = false;
    return child;
}
