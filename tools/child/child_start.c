/* SPDX-License-Identifier: MIT */
/*
 * Starting a program, and running it at its own speed.
 *
 * A program is traced until its first instruction, so that its start is not counted and a name that cannot be executed
 * is known before.  Meanwhile a key that interrupts is for the program alone, as with perf: counts are printed when it
 * has ended.
 */
#define _GNU_SOURCE
#include <upmu/cpu.h>
#include <tools/child/child_run.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILD_POLL_MS 500u /* below half the range of 32 bits at 4 GHz */

uint64_t child_clock_ns(void *context)
{
    struct timespec now;

    (void)context;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

pid_t child_wait(pid_t id, int *status, int flags)
{
    pid_t found;

    do
        found = waitpid(id, status, flags);
    while (found < 0 && errno == EINTR);
    return found;
}

/* ---- Signals ---- */

static void quiet_signals(struct child *child)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t ended;

    if (child->quiet)
        return;
    (void)sigemptyset(&ended);
    (void)sigaddset(&ended, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &ended, &child->mask_before);
    (void)sigaction(SIGINT, &ignore, &child->interrupt_before);
    (void)sigaction(SIGQUIT, &ignore, &child->quit_before);
    child->quiet = true;
}

/* Unless it has another handler by now: --msr has given its handlers back before a run that failed. */
static void no_longer_ignored(int number, const struct sigaction *before)
{
    struct sigaction action;

    if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
        (void)sigaction(number, before, NULL);
}

void child_is_over(struct child *child)
{
    child->id = 0;
    child->tasks = 0;
    if (!child->quiet)
        return;
    no_longer_ignored(SIGINT, &child->interrupt_before);
    no_longer_ignored(SIGQUIT, &child->quit_before);
    (void)sigprocmask(SIG_SETMASK, &child->mask_before, NULL);
    child->quiet = false;
}

/* As execve() leaves them; the handlers of the tool, which write registers, are gone before any signal comes. */
static void signals_of_a_program(const struct child *child)
{
    const struct sigaction none = {.sa_handler = SIG_DFL};
    struct sigaction action;

    (void)sigaction(SIGINT, &child->interrupt_before, NULL);
    (void)sigaction(SIGQUIT, &child->quit_before, NULL);
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            (void)sigaction(number, &none, NULL);
    (void)sigprocmask(SIG_SETMASK, &child->mask_before, NULL);
}

/* ---- The start ---- */

/* Why there is no program. */
struct refusal {
    bool untraced;
    int error;
};

static _Noreturn void become(const struct child *child, int report)
{
    struct refusal refusal = {.untraced = true};

    signals_of_a_program(child);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
        refusal.untraced = false;
        (void)execvp(child->words[0], (char *const *)child->words);
    }
    refusal.error = errno;
    (void)!write(report, &refusal, sizeof refusal);
    _exit(127);
}

/* The process, or below 0; all signals wait until it has its own handlers. */
static pid_t fork_quietly(const struct child *child, int report)
{
    sigset_t all, before;
    pid_t id;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    id = fork();
    if (id == 0)
        become(child, report);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return id;
}

/* Up to the trap behind execve(); signals that come before are the program's. */
static bool comes_to_its_begin(pid_t id, int *status)
{
    while (child_wait(id, status, 0) == id && WIFSTOPPED(*status)) {
        if (WSTOPSIG(*status) == SIGTRAP)
            return true;
        (void)ptrace(PTRACE_CONT, id, NULL, (void *)(intptr_t)WSTOPSIG(*status));
    }
    return false;
}

static bool refuse_start(struct cmd *cmd, const struct child *child, const struct refusal *refusal)
{
    if (refusal->untraced)
        cmd_error(cmd, "programs cannot be traced here (ptrace: %s)", strerror(refusal->error));
    else
        cmd_error(cmd, "%s: %s", child->words[0], strerror(refusal->error));
    return false;
}

bool child_launch(struct cmd *cmd, struct child *child, bool stepped)
{
    const long followed = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
    const long wishes = PTRACE_O_EXITKILL | (stepped ? followed : 0);
    struct refusal refusal = {0};
    int report[2], status = 0;
    bool ready;

    if (pipe2(report, O_CLOEXEC) != 0) {
        refusal.error = errno;
        return refuse_start(cmd, child, &refusal);
    }
    quiet_signals(child);
    child->id = fork_quietly(child, report[1]);
    if (child->id < 0)
        refusal.error = errno;
    (void)close(report[1]);
    ready = child->id > 0 && comes_to_its_begin(child->id, &status);
    if (!ready && child->id > 0 && read(report[0], &refusal, sizeof refusal) != sizeof refusal)
        refusal.error = ECHILD; /* a signal ended it */
    (void)close(report[0]);
    if (ready && ptrace(PTRACE_SETOPTIONS, child->id, NULL, (void *)wishes) != 0) {
        refusal = (struct refusal){.untraced = true, .error = errno};
        ready = false;
    }
    if (!ready) {
        child_kill(child);
        return refuse_start(cmd, child, &refusal);
    }
    child->halted = true;
    child->freed = false;
    return true;
}

void child_kill(struct child *child)
{
    int status;

    if (child->id > 0 && kill(child->id, SIGKILL) == 0)
        while (child_wait(child->id, &status, __WALL) == child->id && WIFSTOPPED(status))
            ;
    child_is_over(child);
}

/* ---- At its own speed ---- */

bool child_run_free(struct cmd *cmd)
{
    struct child *child = &child_state;
    uint64_t ms = cmd->args->interval != 0 && cmd->args->interval < CHILD_POLL_MS ? cmd->args->interval : CHILD_POLL_MS;
    const struct timespec wait = {.tv_nsec = (long)ms * 1000000};
    sigset_t ended;

    if (child->halted)
        (void)ptrace(PTRACE_DETACH, child->id, NULL, NULL);
    child->halted = false;
    (void)sigemptyset(&ended);
    (void)sigaddset(&ended, SIGCHLD);
    (void)sigtimedwait(&ended, NULL, &wait);
    (void)!upmu_cpu_poll(cmd->cpu);
    if (child_wait(child->id, &child->status, WNOHANG) == 0)
        return true;
    child_is_over(child);
    return false;
}
