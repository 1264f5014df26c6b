/* SPDX-License-Identifier: MIT */
/*
 * The common part of the UEFI demo and of the example kernel: a shell around upmu's
 * commands, and bringing up the executing CPU.
 */
#ifndef UPMU_EXAMPLES_COMMON_H
#define UPMU_EXAMPLES_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tools/cmd/cmd.h>

#define SHELL_LINE 256

struct shell;

/* A command that only this program has. */
struct shell_command {
    const char *name;
    int (*run)(struct shell *shell, const char *rest); /* as cmd_run(); `rest`: behind the name */
};

struct shell {
    struct cmd *cmd;
    bool (*read_line)(char *line, size_t size); /* a line with echo; false: there is no console */
    const struct shell_command *own;            /* ends with a NULL name; or NULL */
    const char *hint;                           /* a line under the menu; or NULL */
};

/* ---- common_shell.c ---- */

/* Text, a number, a hexadecimal number to the console. */
void shell_text(const struct shell *shell, const char *text);
void shell_number(const struct shell *shell, uint64_t value);
void shell_hex(const struct shell *shell, uint64_t value);

/* Text in a colour, where the console has colours. */
void shell_coloured(const struct shell *shell, enum cmd_colour colour, const char *text);

/*
 * Run a script's lines; a line that begins with '!' is expected to be refused.
 * Returns how many did not do as expected.
 */
unsigned shell_script(struct shell *shell, char *text);

/* Read commands from the console.  True: switch the machine off. */
bool shell_converse(struct shell *shell);

/*
 * Where a line's commands begin: behind the name of the program, if that is its first
 * word (some loaders put it there, others do not).  NULL: no command.
 */
char *shell_find_command(const struct shell *shell, char *line);

/* Run commands with ';' between them; `line` is used up.  True: one was "off". */
bool shell_line(struct shell *shell, char *line);

/* ---- common_x86.c ---- */

struct upmu_apic;

/* Counts that the program's handlers keep. */
struct common_traps {
    const volatile uint32_t *nmis;
    const volatile uint32_t *faults;
    bool *swallow_foreign; /* set while an NMI of our own is on its way; or NULL */
};

/*
 * Keep this core awake while a word has this value, at most so many rounds (0: no limit): the counters of a core stand
 * still while it halts, those of events outside the core too.  A thread of the lowest priority can do this.
 */
void common_stay_awake(const volatile uint32_t *word, uint32_t value, uint32_t rounds);

/* Say how the port does: APIC, an NMI of our own, an RDPMC that faults, the clock. */
void common_check_port(const struct shell *shell, const struct upmu_port *port, const struct upmu_apic *apic,
                       const struct common_traps *traps, uint32_t tsc_khz);

/* ---- common_cpu.c ---- */

/*
 * Bring up the executing CPU on `port` and print the result; fills in live's port, machine, cpu and
 * why_not.  live->cpu->meter.pmu stays NULL if there is no PMU; which CPU commands simulate then
 * (cmd.default_sim) depends on the one that is there.
 */
void common_bring_up(const struct shell *shell, struct cmd_live *live, struct upmu_machine *machine,
                     struct upmu_cpu *cpu, const struct upmu_port *port);

#endif
