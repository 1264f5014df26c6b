/* SPDX-License-Identifier: MIT */
/*
 * Runs in processes of their own, and the shortest list of steps that still breaks the
 * same rule: halves, quarters ... of the list are left out as long as it does (delta
 * debugging).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/host/simulated.h"

#define RUN_SECONDS 120u

static void *program_counter(const void *context)
{
#if defined(__x86_64__)
    return (void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__i386__)
    return (void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_EIP];
#elif defined(__aarch64__)
    return (void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.pc;
#elif defined(__riscv)
    return (void *)(uintptr_t)((const ucontext_t *)context)->uc_mcontext.__gregs[REG_PC];
#else
    (void)context;
    return NULL;
#endif
}

static void died(int number, siginfo_t *info, void *context)
{
    const char *name = number == SIGSEGV ? arena_name(info->si_addr) : NULL;

    if (number == SIGALRM || number == SIGPROF)
        rules_fail(RULE_HANG, "no end after %u seconds", RUN_SECONDS);
    if (name)
        rules_fail(RULE_FREED, "code at %p touches %p: given back or never lent (%s)", program_counter(context),
                   info->si_addr, name);
    rules_fail(RULE_CRASH, "signal %d at %p, address %p", number, program_counter(context), info->si_addr);
}

static void watch_signals(bool threads)
{
    static uint8_t stack[0x10000];
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGPROF};
    const struct itimerval limit = {.it_value = {.tv_sec = RUN_SECONDS}};
    struct sigaction action;
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};

    (void)sigaltstack(&alternate, NULL);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = died;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        (void)sigaction(numbers[i], &action, NULL);
    /* (Threads may wait for one another; fibers are always at work, if the system lets them.) */
    (void)setitimer(threads ? ITIMER_REAL : ITIMER_PROF, &limit, NULL);
}

static void run_apart(const struct setting *setting, const struct step *steps, unsigned count, bool elsewhere,
                      struct verdict *verdict)
{
    int status = 0;
    pid_t child;

    memset(verdict, 0, sizeof *verdict);
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        arena_elsewhere = elsewhere;
        watch_signals(setting->threads);
        run_list(setting, steps, count, verdict);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    if (status != 0 && verdict->rule == RULE_NONE) {
        verdict->rule = RULE_CRASH;
        (void)snprintf(verdict->text, sizeof verdict->text, "the run ended with status %x", (unsigned)status);
    }
}

void shrink_run(const struct setting *setting, const struct step *steps, unsigned count, struct verdict *verdict)
{
    if (getenv("HOST_ABORT")) {
        memset(verdict, 0, sizeof *verdict);
        run_list(setting, steps, count, verdict);
        return;
    }
    run_apart(setting, steps, count, false, verdict);
    /* (In 32 bits a number may look like the address of a block that was given back: not with blocks elsewhere.) */
    if (sizeof(uintptr_t) == sizeof(uint32_t) && verdict->rule == RULE_FREED)
        run_apart(setting, steps, count, true, verdict);
}

/* Does the list without `length` steps from `first` on break the rule? */
static bool breaks_without(const struct setting *setting, const struct step *steps, unsigned count, unsigned first,
                           unsigned length, struct step *rest, enum rule rule, struct verdict *verdict)
{
    memcpy(rest, steps, first * sizeof *steps);
    memcpy(rest + first, steps + first + length, (count - first - length) * sizeof *steps);
    shrink_run(setting, rest, count - length, verdict);
    return verdict->rule == rule;
}

unsigned shrink_list(const struct setting *setting, struct step *steps, unsigned count, enum rule rule,
                     unsigned seconds)
{
    struct verdict *verdict = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct step *rest = malloc(count * sizeof *rest);
    time_t end = time(NULL) + (time_t)seconds;

    for (unsigned length = count / 2; length && time(NULL) < end; length /= 2) {
        bool shorter = false;

        for (unsigned first = 0; first + length <= count && time(NULL) < end;) {
            /* (From the end: what comes late is needed least.) */
            unsigned at = count - length - first;

            if (breaks_without(setting, steps, count, at, length, rest, rule, verdict)) {
                count -= length;
                memcpy(steps, rest, count * sizeof *steps);
                shorter = true;
            } else {
                first += length;
            }
        }
        if (shorter && length == 1)
            length = 2;
    }
    free(rest);
    (void)munmap(verdict, sizeof *verdict);
    return count;
}
