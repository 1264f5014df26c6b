/* SPDX-License-Identifier: MIT */
/*
 * Commands on the machine's own PMU: `upmu selftest --msr`, `stat --msr`, `pmus --msr`, `restore --msr`
 * (docs/LINUX.md).  Not freestanding.
 */
#ifndef UPMU_MSR_H
#define UPMU_MSR_H

#include <port/linux/linux_msr.h>
#include <tools/cmd/cmd_args.h>

/* Exit status, beside those of cmd.h. */
#define MSR_REFUSED 3 /* no register was written */
#define MSR_NO_PMU 4  /* there is none that counts; registers that were tried are as found */

/* Do these words ask for the machine's own PMU? */
bool msr_asked(unsigned count, const char *const *words);

/*
 * Run the command.  `loops` runs a workload's loops (cmd_workload_loops(); a test has its own).
 *
 * Signals that end the program restore the registers first.  Returns the program's exit status.
 */
int msr_run(struct cmd *cmd, const struct upmu_linux_system *system, unsigned count, const char *const *words,
            void (*loops)(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations));

/* Commands and options that shells complete beside the commands' own words. */
extern const struct cmd_other msr_commands[];
extern const struct cmd_option msr_options[];

/* How the options are used; printed below the help of the other commands. */
void msr_help(struct cmd *cmd);

#endif
