/* SPDX-License-Identifier: MIT */
/*
 * Programs that are counted: `upmu stat -- PROGRAM`, `upmu record -- PROGRAM` (docs/LINUX.md), `upmu branches --
 * PROGRAM` (docs/BRANCHES.md).  With --msr the program runs as it does without upmu.  With --sim it is single-stepped
 * by ptrace, and each instruction is told to the silicon model.  Not freestanding.
 */
#ifndef UPMU_CHILD_H
#define UPMU_CHILD_H

#include <tools/cmd/cmd_args.h>

/* Of the command itself, with its options. */
#define CHILD_WORDS 48u

/* Can the command of this name count a program? */
bool child_known(const char *command);

/* Do these words count a program? */
bool child_asked(unsigned count, const char *const *words);

/*
 * Set cmd->child for the program behind "--"; words[count] is NULL.  The command's other words, without the options
 * that are for programs, come into kept[CHILD_WORDS].
 *
 * Returns CMD_OK or, explained, CMD_USAGE.
 */
int child_take(struct cmd *cmd, unsigned count, const char *const *words, const char **kept, unsigned *out_kept);

/* End the program.  Returns its status, as a shell has it, if the command's result is CMD_OK; else that result. */
int child_end(struct cmd *cmd, int result);

/* Options for shells' completion, and their help, which stands below that of both commands. */
extern const struct cmd_option child_options[];
void child_help(struct cmd *cmd);

#endif
