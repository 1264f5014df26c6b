/* SPDX-License-Identifier: MIT */
/*
 * The program that is counted: how it is started, and how it runs.
 */
#ifndef UPMU_CHILD_RUN_H
#define UPMU_CHILD_RUN_H

#include <signal.h>
#include <sys/types.h>
#include <tools/child/child.h>

#define CHILD_MAPPINGS 4u
#define CHILD_NAME 4096u /* bytes of a file's path, with its end */

/* A thread of the program, or of programs that it started; the instruction that comes next. */
struct child_task {
    pid_t id;
    uint64_t ip, sp;
    unsigned branch, branch_bytes; /* enum x86_branch; bytes up to the instruction behind a conditional one */
    bool string, system_call, output;
};

struct child {
    struct cmd_child face;
    /* Asked */
    const char *const *words; /* the program's, up to NULL */
    uint64_t limit;           /* instructions that are single-stepped; 0: all */
    bool plain;               /* nothing but the table is printed */
    /* Present run */
    pid_t id;    /* 0: there is none */
    bool halted; /* before its first instruction */
    bool freed;  /* it is not traced any more, or no more than its present stop */
    int status;  /* of waitpid(), when it has ended */
    uint64_t run_instructions, begin_ns, end_ns; /* of the steps */
    /* All runs that have ended */
    uint64_t instructions, stepped_ns;
    uint64_t unread; /* instructions whose code cannot be read */
    struct child_task *task;
    unsigned tasks, task_room;
    /* Functions of its file, by address; their names are in its bytes */
    bool named;
    void *file;
    struct cmd_symbol *function;
    unsigned functions;
    /* Code that it has before its first instruction: its own, and that of the program which loads its libraries */
    struct cmd_mapping mapping[CHILD_MAPPINGS];
    char mapped[CHILD_MAPPINGS][CHILD_NAME];
    unsigned mappings;
    /* Signals of this process before the run */
    bool quiet;
    sigset_t mask_before;
    struct sigaction interrupt_before, quit_before;
};

extern struct child child_state;

uint64_t child_clock_ns(void *context);

/* Start the program and stop it before its first instruction.  False: the error sink has the reason. */
bool child_launch(struct cmd *cmd, struct child *child, bool stepped);

/* waitpid() without interruptions. */
pid_t child_wait(pid_t id, int *status, int flags);

/* Functions of the program that has been started, where it stands in memory; without symbols there are none. */
void child_read_functions(struct child *child);
void child_forget_functions(struct child *child);
bool child_function(unsigned index, struct cmd_symbol *out_symbol);

/* Files that code of the program that has been started is mapped from. */
void child_read_mappings(struct child *child);
bool child_mapping(unsigned index, struct cmd_mapping *out_mapping);

/* A run is over: signals are this process's own again. */
void child_is_over(struct child *child);

/* End a run that may not be over. */
void child_kill(struct child *child);

/* Let it run at its own speed for a moment, and keep counters from wrapping.  False: it has ended. */
bool child_run_free(struct cmd *cmd);

/* Execute some instructions, one at a time.  False: the program and all that it has started have ended. */
bool child_run_stepped(struct cmd *cmd);

#endif
