/* SPDX-License-Identifier: MIT */
/*
 * Single-stepping: each instruction of the program, of its threads and of the programs that it starts is told to the
 * model when it has been executed, as one of one simulated CPU.
 *
 * A step with a REP prefix executes one iteration; the instruction is counted when the next one comes.  A step that
 * delivers a signal executes nothing.  A system call is an instruction of its caller; what the kernel does is not seen.
 */
#define _GNU_SOURCE
#include <tools/child/child_run.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <tools/child/x86_branch.h>

#define STEPS 4096u     /* between two looks at the clock */
#define CODE_BYTES 24u  /* behind those that are read: noughts, which end prefixes */
#define CODE_OF_32 0x23 /* CS in Linux's 64-bit kernel */

#ifdef __x86_64__
#define REGISTER_IP(registers) ((registers).rip)
#define REGISTER_SP(registers) ((registers).rsp)
#define REGISTER_AX(registers) ((registers).rax)
#define REGISTER_BX(registers) ((registers).rbx)
#define REGISTER_DI(registers) ((registers).rdi)
#define IN_LONG_MODE(registers) ((registers).cs != CODE_OF_32)
#else
#define REGISTER_IP(registers) ((uint32_t)(registers).eip)
#define REGISTER_SP(registers) ((uint32_t)(registers).esp)
#define REGISTER_AX(registers) ((uint32_t)(registers).eax)
#define REGISTER_BX(registers) ((uint32_t)(registers).ebx)
#define REGISTER_DI(registers) ((uint32_t)(registers).edi)
#define IN_LONG_MODE(registers) false
#endif

/* ---- Tasks ---- */

/* NULL: no memory. */
static struct child_task *task_of(struct child *child, pid_t id, bool *out_new)
{
    struct child_task *more;

    *out_new = false;
    for (unsigned i = 0; i < child->tasks; i++)
        if (child->task[i].id == id)
            return &child->task[i];
    if (child->tasks == child->task_room) {
        more = realloc(child->task, (child->task_room + 16) * sizeof *more);
        if (more == NULL)
            return NULL;
        child->task = more;
        child->task_room += 16;
    }
    *out_new = true;
    child->task[child->tasks] = (struct child_task){.id = id};
    return &child->task[child->tasks++];
}

/* The first bytes at an address; at the end of a page, those that there are.  False: none. */
static bool read_code(pid_t id, uint64_t ip, uint8_t code[CODE_BYTES])
{
    unsigned skipped = 0;
    long word;

    memset(code, 0, CODE_BYTES);
    errno = 0;
    word = ptrace(PTRACE_PEEKTEXT, id, (void *)(uintptr_t)ip, NULL);
    if (errno != 0) {
        skipped = (unsigned)(ip % sizeof word);
        errno = 0;
        word = ptrace(PTRACE_PEEKTEXT, id, (void *)(uintptr_t)(ip - skipped), NULL);
    }
    if (errno != 0)
        return false;
    memcpy(code, (const uint8_t *)&word + skipped, sizeof word - skipped);
    if (sizeof word < 8 && skipped == 0) {
        word = ptrace(PTRACE_PEEKTEXT, id, (void *)(uintptr_t)(ip + sizeof word), NULL);
        memcpy(code + sizeof word, &word, sizeof word);
    }
    return true;
}

/* Is the system call write() or writev() to the standard output or that of errors? */
static bool is_output(const struct user_regs_struct *registers, bool long_mode)
{
    const uint64_t number = REGISTER_AX(*registers);
    const uint64_t file = long_mode ? REGISTER_DI(*registers) : REGISTER_BX(*registers);

    return (long_mode ? number == 1 || number == 20 : number == 4 || number == 146) && (file == 1 || file == 2);
}

/* The instruction that comes next. */
static void look(struct child *child, struct child_task *task)
{
    struct user_regs_struct registers;
    uint8_t code[CODE_BYTES];
    bool long_mode;

    if (ptrace(PTRACE_GETREGS, task->id, NULL, &registers) != 0) /* it is being killed */
        return;
    task->ip = REGISTER_IP(registers);
    task->sp = REGISTER_SP(registers);
    long_mode = IN_LONG_MODE(registers);
    child->unread += !read_code(task->id, task->ip, code);
    task->branch = x86_branch_of(code, long_mode, &task->branch_bytes);
    task->string = x86_is_string(code, long_mode);
    task->system_call = x86_is_system_call(code, long_mode);
    task->output = task->system_call && is_output(&registers, long_mode);
}

/* ---- What a stop says ---- */

/* A branch was taken. (A conditional one to the instruction behind it looks as if it had not been.) */
static bool went_elsewhere(const struct child_task *executed, uint64_t ip)
{
    return executed->branch != X86_NO_BRANCH &&
           (executed->branch != X86_COND || ip != executed->ip + executed->branch_bytes);
}

/* An instruction was executed; the next one is at `ip`. */
static void retire(struct cmd *cmd, struct child *child, const struct child_task *executed, uint64_t ip, uint64_t sp)
{
    static const enum upmu_sim_branch_kind kinds[] = {
        [X86_COND] = UPMU_SIM_BRANCH_COND,         [X86_JUMP] = UPMU_SIM_BRANCH_JUMP,
        [X86_CALL] = UPMU_SIM_BRANCH_CALL,         [X86_RETURN] = UPMU_SIM_BRANCH_RETURN,
        [X86_IND_JUMP] = UPMU_SIM_BRANCH_IND_JUMP, [X86_IND_CALL] = UPMU_SIM_BRANCH_IND_CALL,
        [X86_FAR] = UPMU_SIM_BRANCH_FAR};
    const struct upmu_sim_burst burst = {
        .instructions = 1, .branches = executed->branch != X86_NO_BRANCH, .user = true,
        .ip = executed->ip, .ip_step = ip - executed->ip, .sp = sp};
    const struct upmu_sim_branch branch = {.from = executed->ip, .to = ip, .kind = kinds[executed->branch]};

    if (child->freed)
        return;
    if (went_elsewhere(executed, ip))
        upmu_sim_branch(&cmd->sim, &branch);
    upmu_sim_events(&cmd->sim, &burst);
    child->run_instructions++;
    child->freed = child->limit != 0 && child->run_instructions == child->limit;
    if (child->freed)
        child->end_ns = child_clock_ns(NULL);
}

/*
 * A trap: of a step, of a system call that was stepped, or of the kernel's entry into a handler.  Another one is the
 * program's own.  Returns the signal that it has to get.
 */
static int trapped(struct cmd *cmd, struct child *child, struct child_task *task)
{
    const struct child_task before = *task;
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, task->id, NULL, &info) != 0)
        return 0;
    look(child, task);
    if ((info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT || info.si_code == SI_KERNEL) &&
        !(before.string && task->ip == before.ip))
        retire(cmd, child, &before, task->ip, task->sp);
    return info.si_code == SI_KERNEL || info.si_code <= 0 ? SIGTRAP : 0;
}

/* Returns the signal that the task has to get. */
static int stopped(struct cmd *cmd, struct child *child, struct child_task *task, bool is_new, int status)
{
    siginfo_t info;

    if (status >> 16 != 0) /* it has started a task, or another program */
        return 0;
    if (WSTOPSIG(status) == SIGTRAP)
        return trapped(cmd, child, task);
    look(child, task);
    if (is_new && WSTOPSIG(status) == SIGSTOP)
        return 0;
    return ptrace(PTRACE_GETSIGINFO, task->id, NULL, &info) == 0 ? WSTOPSIG(status) : 0;
}

static void go_on(const struct child *child, pid_t id, int number)
{
    (void)ptrace(child->freed ? PTRACE_DETACH : PTRACE_SINGLESTEP, id, NULL, (void *)(intptr_t)number);
}

static void ended(struct cmd *cmd, struct child *child, struct child_task *task, int status)
{
    if (task->system_call && WIFEXITED(status)) /* that step has no end */
        retire(cmd, child, task, task->ip, task->sp);
    if (task->id == child->id)
        child->status = status;
    *task = child->task[--child->tasks];
}

/* Wait until any task stops or ends; a stopped one goes on.  False: no task is left. */
static bool step(struct cmd *cmd, struct child *child)
{
    struct child_task *task;
    int status, number;
    bool is_new;
    pid_t id = child_wait(-1, &status, __WALL);

    if (id < 0)
        return false;
    task = task_of(child, id, &is_new);
    if (task == NULL) {
        (void)ptrace(PTRACE_DETACH, id, NULL, NULL);
    } else if (WIFSTOPPED(status)) {
        number = stopped(cmd, child, task, is_new, status);
        if (task->output) /* it may come on the line of the progress */
            cmd_progress_hide(cmd);
        go_on(child, id, number);
    } else {
        ended(cmd, child, task, status);
    }
    return true;
}

/* A bar where it is known how much there is to do. */
static void progress_of_steps(struct cmd *cmd, const struct child *child)
{
    char text[80];

    if (!cmd_progress_due(cmd))
        return;
    if (child->limit != 0) {
        cmd_progress(cmd, child->run_instructions, child->limit);
        return;
    }
    (void)snprintf(text, sizeof text, "%llu instructions, single-stepped",
                   (unsigned long long)child->run_instructions);
    cmd_progress_text(cmd, text);
}

bool child_run_stepped(struct cmd *cmd)
{
    struct child *child = &child_state;
    bool is_new;

    if (child->halted) {
        struct child_task *first = task_of(child, child->id, &is_new);

        child->halted = false;
        child->run_instructions = 0;
        child->begin_ns = child_clock_ns(NULL);
        if (first == NULL)
            return false;
        look(child, first);
        go_on(child, child->id, 0);
    }
    for (unsigned i = 0; i < STEPS; i++)
        if (!step(cmd, child)) {
            child_is_over(child);
            child->instructions += child->run_instructions;
            child->stepped_ns += (child->freed ? child->end_ns : child_clock_ns(NULL)) - child->begin_ns;
            return false;
        }
    progress_of_steps(cmd, child);
    return true;
}
