/* SPDX-License-Identifier: MIT */
/*
 * The words of a command that counts a program, the events that can be counted of it, and its exit status.
 */
#include <upmu/abi.h>
#include <upmu/event.h>
#include <tools/child/child.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <tools/child/child_run.h>

struct child child_state;

/* ---- Words ---- */

const struct cmd_option child_options[] = {
    {"--limit", CMD_OPT_CHILD, CMD_VALUE_NUMBER, "--limit NUMBER",
     "with --sim: count so many instructions; the program runs on uncounted"},
    {"", 0, CMD_VALUE_NONE, NULL, NULL},
};

void child_help(struct cmd *cmd)
{
    cmd_coloured(cmd, CMD_TITLE, "Programs:\n");
    cmd_coloured(cmd, CMD_NAME, "  %-20s", "-- PROGRAM WORD...");
    cmd_print(cmd, "  this program in place of a workload; upmu has its exit status (docs/LINUX.md)\n");
    for (const struct cmd_option *option = child_options; option->name[0] != '\0'; option++) {
        cmd_coloured(cmd, CMD_NAME, "  %-20s", option->shown);
        cmd_print(cmd, "  %s\n", option->about);
    }
}

bool child_known(const char *command)
{
    return cmd_equal(command, "stat") || cmd_equal(command, "record") || cmd_equal(command, "branches");
}

bool child_asked(unsigned count, const char *const *words)
{
    for (unsigned i = 1; i < count && child_known(words[0]); i++)
        if (cmd_equal(words[i], "--") || cmd_equal(words[i], "--limit"))
            return true;
    return false;
}

static int bad_words(struct cmd *cmd, const char *what)
{
    cmd_error(cmd, "%s", what);
    return CMD_USAGE;
}

/* ---- Events of which the model is told ---- */

/* Whatever name was typed: the words of its registers are those of one of these. */
static bool is_told(const struct upmu_pmu *pmu, const struct upmu_event *event)
{
    static const char *const told[] = {"instructions", "instructions:u", "branches", "branches:u"};
    struct upmu_event known;

    for (unsigned i = 0; i < sizeof told / sizeof told[0]; i++)
        if (upmu_event_parse(pmu, told[i], &known, NULL) == UPMU_OK && known.config == event->config &&
            known.config1 == event->config1 && known.config2 == event->config2 && known.world == event->world)
            return true;
    return false;
}

static bool all_are_told(struct cmd *cmd)
{
    const struct upmu_set *set = &cmd->session.set;
    size_t cursor = 0;
    char name[160];

    for (unsigned i = 0; i < set->count && cmd->args->events != NULL; i++) {
        cmd_event_name(cmd->pmu, set, i, cmd->args->events, &cursor, name, sizeof name);
        if (is_told(cmd->pmu, upmu_set_event(set, i)))
            continue;
        cmd_error(cmd, "%s is not simulated: of a program the model is told of instructions and branches, in user mode",
                  name);
        return false;
    }
    return true;
}

/* ---- A program in place of a workload ---- */

static bool child_begin(struct cmd *cmd)
{
    struct child *child = &child_state;

    child_kill(child); /* of a run that failed */
    child->face.run = cmd->simulated ? child_run_stepped : child_run_free;
    if ((cmd->simulated && !all_are_told(cmd)) || !child_launch(cmd, child, cmd->simulated))
        return false;
    child_forget_functions(child);
    if (child->named)
        child_read_functions(child);
    if (child->named)
        child_read_mappings(child);
    return true;
}

int child_take(struct cmd *cmd, unsigned count, const char *const *words, const char **kept, unsigned *out_kept)
{
    struct child *child = &child_state;
    bool simulated = false;
    unsigned i;

    memset(child, 0, sizeof *child);
    child->named = !cmd_equal(words[0], "stat");
    *out_kept = 0;
    for (i = 0; i < count && !cmd_equal(words[i], "--"); i++) {
        if (cmd_equal(words[i], "-M") || cmd_equal(words[i], "-g") || cmd_equal(words[i], "--dry-run"))
            return bad_words(cmd, "-M, -g and --dry-run are not for programs");
        if (cmd_equal(words[i], "--limit")) {
            if (++i == count || !cmd_number(words[i], &child->limit) || child->limit == 0)
                return bad_words(cmd, "--limit needs a number above 0");
            continue;
        }
        if (*out_kept == CHILD_WORDS)
            return bad_words(cmd, "too many words");
        child->plain |= cmd_equal(words[i], "-x") || cmd_equal(words[i], "--json");
        simulated |= cmd_equal(words[i], "--sim");
        kept[(*out_kept)++] = words[i];
    }
    if (i + 1 >= count)
        return bad_words(cmd, "a program is missing: -- PROGRAM WORD...");
    if (child->limit != 0 && !simulated)
        return bad_words(cmd, "--limit is for single steps: with --sim");
    child->words = &words[i + 1];
    child->face = (struct cmd_child){.workload = {.name = child->words[0], .iterations = 1},
                                     .events = !simulated     ? NULL
                                               : child->named ? "instructions"
                                                              : "instructions,branches",
                                     .clock_ns = child_clock_ns,
                                     .start = child_begin,
                                     .symbol = child_function,
                                     .mapping = child_mapping};
    cmd->child = &child->face;
    return CMD_OK;
}

/* ---- The end ---- */

static void say_what_was_told(struct cmd *cmd, const struct child *child)
{
    cmd_print(cmd, " %G instructions were single-stepped in ", child->instructions);
    cmd_milli(cmd, cmd_divide(child->stepped_ns, 1000000), 2);
    cmd_print(cmd, " s, ");
    cmd_milli(cmd, cmd_divide(child->stepped_ns, child->instructions), 1);
    cmd_print(cmd, " us for each.  The model is told of\n instructions and branches (jumps, calls, returns, loops) "
                   "in user mode; times are of the steps.\n");
    if (child->limit != 0 && child->instructions % child->limit == 0)
        cmd_print(cmd, " --limit: what came after the first %G of a run is not counted.\n", child->limit);
    if (child->unread != 0)
        cmd_print(cmd, " Of %G the code cannot be read: whether they are branches is not known.\n", child->unread);
    cmd_print(cmd, "\n");
}

int child_end(struct cmd *cmd, int result)
{
    struct child *child = &child_state;

    child_kill(child);
    child_forget_functions(child);
    free(child->task);
    child->task = NULL;
    child->task_room = 0;
    cmd->child = NULL;
    if (result != CMD_OK)
        return result;
    if (child->instructions != 0 && !child->plain)
        say_what_was_told(cmd, child);
    if (!WIFSIGNALED(child->status))
        return WEXITSTATUS(child->status);
    cmd_error(cmd, "%s: %s", child->words[0], strsignal(WTERMSIG(child->status)));
    return 128 + WTERMSIG(child->status);
}
