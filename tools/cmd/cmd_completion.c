/* SPDX-License-Identifier: MIT */
/*
 * completion: a script for a shell that completes this program's words, made of its tables of commands and options.
 *
 * What stands behind an option is its kind in the table.  What stands behind a command is read from its line of usage:
 * WORKLOAD, SPEC and GLOB (events), LOG (a file), and words in small letters, which stand for themselves.  Names of
 * events are asked for when they are completed, by "upmu list" with the PMU that the line names.
 */
#include <tools/cmd/cmd_args.h>

/* Groups of metrics; the name of a single metric depends on the PMU. */
static const char metric_words[] = " ipc tma misses bandwidth";

/* ---- Commands and options: those of cmd_run(), then those that it does not see ---- */

/* A command as it is completed. */
struct completed {
    const char *name, *about, *usage;
    unsigned options;
    bool others; /* takes the other options, too */
};

static bool has_others(const struct cmd *cmd, const char *name)
{
    for (const struct cmd_other *other = cmd->others; other != NULL && other->name != NULL; other++)
        if (cmd_equal(other->name, name))
            return true;
    return false;
}

static bool completed_at(const struct cmd *cmd, unsigned index, struct completed *out)
{
    const struct cmd_command *command;
    unsigned known = 0;

    while ((command = cmd_command_at(cmd, known)) != NULL && known < index)
        known++;
    if (command != NULL) {
        *out = (struct completed){command->name, command->about, command->usage, command->options,
                                  has_others(cmd, command->name)};
        return true;
    }
    for (const struct cmd_other *other = cmd->others; other != NULL && other->name != NULL; other++)
        if (other->about != NULL && known++ == index) {
            *out = (struct completed){other->name, other->about, "", 0, true};
            return true;
        }
    return false;
}

/* NULL after the last; the other options have no bit. */
static const struct cmd_option *completed_option(const struct cmd *cmd, unsigned index)
{
    const struct cmd_option *other = cmd->other_options;
    unsigned known = 0;

    while (cmd_option_at(known) != NULL && known < index)
        known++;
    if (cmd_option_at(known) != NULL || other == NULL)
        return cmd_option_at(known);
    while (other->name[0] != '\0' && known < index)
        other++, known++;
    return other->name[0] != '\0' ? other : NULL;
}

static bool is_taken(const struct completed *command, const struct cmd_option *option)
{
    return option->option != 0 ? (option->option & command->options) != 0 : command->others;
}

/* ---- Words ---- */

/* Words of the usage that stand for themselves: small letters outside of brackets ("on|off"). */
static void print_choices(struct cmd *cmd, const char *usage)
{
    unsigned depth = 0;
    bool inside = false;

    for (; *usage != '\0'; usage++) {
        bool small = *usage >= 'a' && *usage <= 'z' && depth == 0;

        depth += *usage == '[';
        depth -= *usage == ']';
        if (small && !inside)
            cmd_print(cmd, " ");
        if (small)
            cmd_print(cmd, "%c", *usage);
        inside = small;
    }
}

static void print_operands(struct cmd *cmd, const struct completed *command)
{
    const struct cmd_workload *workload;

    for (unsigned i = 0; cmd_contains(command->usage, "WORKLOAD") && (workload = cmd_workload(i)) != NULL; i++)
        cmd_print(cmd, " %s", workload->name);
    print_choices(cmd, command->usage);
}

static const char *operand_kind(const struct completed *command)
{
    return cmd_contains(command->usage, "SPEC") || cmd_contains(command->usage, "GLOB") ? "events"
           : cmd_contains(command->usage, " LOG")                                       ? "files"
                                                                                        : "words";
}

static const char *value_kind(enum cmd_value value)
{
    return value == CMD_VALUE_EVENTS ? "events" : value == CMD_VALUE_FILE ? "files" : "words";
}

/* The words that can stand behind such an option; none if they have no list. */
static void print_values(struct cmd *cmd, enum cmd_value value)
{
    const char *name;

    for (unsigned i = 0; value == CMD_VALUE_PMU && (name = upmu_pmu_known(i)) != NULL; i++)
        cmd_print(cmd, " %s", name);
    for (unsigned i = 0; value == CMD_VALUE_SIM && (name = cmd_model_at(NULL, i)) != NULL; i++)
        cmd_print(cmd, " %s", name);
    for (unsigned i = 0; value == CMD_VALUE_CLASS && (name = cmd_pmc_class_at(i)) != NULL; i++)
        cmd_print(cmd, " %s", name);
    if (value == CMD_VALUE_METRICS)
        cmd_print(cmd, "%s", metric_words);
}

/* Text between '...'. */
static void print_quoted(struct cmd *cmd, const char *text, const char *apostrophe)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            cmd_print(cmd, "%s", apostrophe);
        else
            cmd_print(cmd, "%c", *text);
    }
}

/* ---- bash and zsh: two functions with tables, and one that looks at the line ---- */

static void print_behind(struct cmd *cmd)
{
    const struct cmd_option *option;

    cmd_print(cmd, "# What stands behind an option: kind and list; an option without a value has no kind.\n"
                   "_upmu_behind()\n{\n    kind= list=\n    case $1 in\n");
    for (unsigned i = 0; (option = completed_option(cmd, i)) != NULL; i++)
        if (option->value != CMD_VALUE_NONE) {
            cmd_print(cmd, "    %s) kind=%s list='", option->name, value_kind(option->value));
            print_values(cmd, option->value);
            cmd_print(cmd, "' ;;\n");
        }
    cmd_print(cmd, "    esac\n}\n\n");
}

static void print_takes(struct cmd *cmd)
{
    const struct cmd_option *option;
    struct completed command;

    cmd_print(cmd, "# What a command takes: its options, and kind and list of its other words.\n"
                   "_upmu_takes()\n{\n    takes=--help kind=words list=\n    case $1 in\n");
    for (unsigned i = 0; completed_at(cmd, i, &command); i++) {
        cmd_print(cmd, "    %s) kind=%s list='", command.name, operand_kind(&command));
        print_operands(cmd, &command);
        cmd_print(cmd, "' takes='");
        for (unsigned j = 0; (option = completed_option(cmd, j)) != NULL; j++)
            if (is_taken(&command, option))
                cmd_print(cmd, "%s ", option->name);
        cmd_print(cmd, "--help' ;;\n");
    }
    cmd_print(cmd, "    esac\n}\n\n");
}

static void print_names(struct cmd *cmd)
{
    struct completed command;

    for (unsigned i = 0; completed_at(cmd, i, &command); i++)
        cmd_print(cmd, "%s ", command.name);
    cmd_print(cmd, "help --version");
}

static const char bash_events[] =
    "# Names of events behind the last comma, of the PMU that the line names.\n"
    "_upmu_events()\n"
    "{\n"
    "    local i target=() before= last=$1\n"
    "    for ((i = 2; i + 1 < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in --pmu | --sim) target=(\"${COMP_WORDS[@]:i:2}\") ;; esac\n"
    "    done\n"
    "    [[ $1 != *,* ]] || before=${1%,*}, last=${1##*,}\n"
    "    compgen -P \"$before\" -W \"$(\"${COMP_WORDS[0]}\" list \"${target[@]}\" -- \"$last*\" 2> /dev/null |\n"
    "        cut -d ' ' -f 1)\" -- \"$last\"\n"
    "}\n\n";

static const char bash_line[] = "_upmu()\n"
                                "{\n"
                                "    local cur=${COMP_WORDS[COMP_CWORD]} takes= kind= list=\n"
                                "    if ((COMP_CWORD == 1)); then\n"
                                "        mapfile -t COMPREPLY < <(compgen -W \"$_upmu_names\" -- \"$cur\")\n"
                                "        return\n"
                                "    fi\n"
                                "    if [[ ${COMP_WORDS[1]} == @(stat|record|branches) &&\n"
                                "        ' '${COMP_WORDS[*]:2:COMP_CWORD - 2}' ' == *' -- '* ]]; then\n"
                                "        kind=files list=$(compgen -c -- \"$cur\")\n"
                                "    else\n"
                                "        _upmu_behind \"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
                                "        [[ $kind ]] || _upmu_takes \"${COMP_WORDS[1]}\"\n"
                                "    fi\n"
                                "    if [[ $cur == -* && $takes ]]; then\n"
                                "        kind=words list=$takes\n"
                                "    fi\n"
                                "    mapfile -t COMPREPLY < <(compgen -W \"$list\" -- \"$cur\")\n"
                                "    case $kind in\n"
                                "    events) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(_upmu_events \"$cur\") ;;\n"
                                "    files)\n"
                                "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$cur\")\n"
                                "        compopt -o filenames 2> /dev/null\n"
                                "        ;;\n"
                                "    esac\n"
                                "}\n"
                                "complete -F _upmu upmu\n";

static void complete_bash(struct cmd *cmd)
{
    cmd_print(cmd, "# Completion of upmu's words for bash; made by 'upmu completion bash'.\n\n");
    print_behind(cmd);
    print_takes(cmd);
    cmd_print(cmd, "_upmu_names='");
    print_names(cmd);
    cmd_print(cmd, "'\n\n%s%s", bash_events, bash_line);
}

static const char zsh_line[] =
    "# Names of events behind the last comma, of the PMU that the line names.\n"
    "_upmu_events()\n"
    "{\n"
    "    local i\n"
    "    local -a target found\n"
    "    for ((i = 3; i + 1 < CURRENT; i++)); do\n"
    "        [[ $words[i] == --(pmu|sim) ]] && target=($words[i] $words[i+1])\n"
    "    done\n"
    "    compset -P '*,'\n"
    "    found=(${(f)\"$($words[1] list $target -- \"$PREFIX*\" 2> /dev/null | cut -d ' ' -f 1)\"})\n"
    "    compadd -- $found\n"
    "}\n\n"
    "_upmu()\n"
    "{\n"
    "    local takes= kind= list= at=${words[(i)--]}\n"
    "    if ((CURRENT == 2)); then\n"
    "        _describe command _upmu_names\n"
    "        return\n"
    "    fi\n"
    "    if [[ $words[2] == (stat|record|branches) ]] && ((at < CURRENT)); then\n"
    "        shift $at words\n"
    "        ((CURRENT -= at))\n"
    "        _normal\n"
    "        return\n"
    "    fi\n"
    "    _upmu_behind $words[CURRENT-1]\n"
    "    [[ -n $kind ]] || _upmu_takes $words[2]\n"
    "    if [[ $PREFIX == -* && -n $takes ]]; then\n"
    "        kind=words list=$takes\n"
    "    fi\n"
    "    compadd -- ${=list}\n"
    "    case $kind in\n"
    "    events) _upmu_events ;;\n"
    "    files) _files ;;\n"
    "    esac\n"
    "}\n\n"
    "# (a file of a folder in fpath is the function itself)\n"
    "if [[ $funcstack[1] == _upmu ]]; then _upmu; else compdef _upmu upmu; fi\n";

static void complete_zsh(struct cmd *cmd)
{
    struct completed command;

    cmd_print(cmd, "#compdef upmu\n# Completion of upmu's words for zsh; made by 'upmu completion zsh'.\n\n");
    print_behind(cmd);
    print_takes(cmd);
    cmd_print(cmd, "typeset -ga _upmu_names=(\n");
    for (unsigned i = 0; completed_at(cmd, i, &command); i++) {
        cmd_print(cmd, "    '%s:", command.name);
        print_quoted(cmd, command.about, "'\\''");
        cmd_print(cmd, "'\n");
    }
    cmd_print(cmd, "    'help:all commands' '--version:of upmu'\n)\n\n%s", zsh_line);
}

/* ---- fish: a line for each command, and for each option of each command ---- */

static const char fish_events[] =
    "# Names of events behind the last comma, of the PMU that the line names.\n"
    "function __upmu_events\n"
    "    set -l line (commandline -opc)\n"
    "    set -l word (commandline -ct)\n"
    "    set -l target\n"
    "    for i in (seq 2 (count $line))\n"
    "        contains -- $line[$i] --pmu --sim; and set target $line[$i] $line[(math $i + 1)]\n"
    "    end\n"
    "    set -l before (string match -r '.*,' -- $word)\n"
    "    set -l last (string replace -r '.*,' '' -- $word)\n"
    "    $line[1] list $target -- \"$last*\" 2>/dev/null | string replace -r ' .*' '' | string replace -r '^' "
    "\"$before\"\n"
    "end\n\n";

static void fish_option(struct cmd *cmd, const struct completed *command, const struct cmd_option *option)
{
    const struct cmd_option *first = option;
    const bool is_long = option->name[1] == '-';

    for (unsigned i = 0; first->about == NULL; i++) /* of the same option, under its first name */
        if (cmd_option_at(i)->option == option->option)
            first = cmd_option_at(i);
    cmd_print(cmd, "complete -c upmu -n '__fish_seen_subcommand_from %s' -%s %s", command->name, is_long ? "l" : "s",
              option->name + (is_long ? 2 : 1));
    if (option->value == CMD_VALUE_FILE)
        cmd_print(cmd, " -rF");
    else if (option->value == CMD_VALUE_EVENTS)
        cmd_print(cmd, " -xa '(__upmu_events)'");
    else if (option->value != CMD_VALUE_NONE) {
        cmd_print(cmd, " -xa '");
        print_values(cmd, option->value);
        cmd_print(cmd, "'");
    }
    cmd_print(cmd, " -d '");
    print_quoted(cmd, first->about, "\\'");
    cmd_print(cmd, "'\n");
}

static void fish_command(struct cmd *cmd, const struct completed *command)
{
    const struct cmd_option *option;

    cmd_print(cmd, "complete -c upmu -n __fish_use_subcommand -a %s -d '", command->name);
    print_quoted(cmd, command->about, "\\'");
    cmd_print(cmd, "'\ncomplete -c upmu -n '__fish_seen_subcommand_from %s'", command->name);
    if (cmd_equal(operand_kind(command), "files"))
        cmd_print(cmd, " -F\n");
    else {
        cmd_print(cmd, " -a '%s", cmd_equal(operand_kind(command), "events") ? "(__upmu_events)" : "");
        print_operands(cmd, command);
        cmd_print(cmd, "'\n");
    }
    for (unsigned i = 0; (option = completed_option(cmd, i)) != NULL; i++)
        if (is_taken(command, option))
            fish_option(cmd, command, option);
}

static void complete_fish(struct cmd *cmd)
{
    struct completed command;

    cmd_print(cmd, "# Completion of upmu's words for fish; made by 'upmu completion fish'.\n\n%scomplete -c upmu -f\n",
              fish_events);
    for (unsigned i = 0; completed_at(cmd, i, &command); i++)
        fish_command(cmd, &command);
    cmd_print(cmd, "complete -c upmu -n '__fish_seen_subcommand_from stat record branches; and contains -- -- "
                   "(commandline -opc)' -F\ncomplete -c upmu -n __fish_use_subcommand -a 'help --version'\n");
}

static int complete(struct cmd *cmd, const struct cmd_args *args)
{
    static const struct {
        const char *name;
        void (*print)(struct cmd *cmd);
    } shells[] = {{"bash", complete_bash}, {"zsh", complete_zsh}, {"fish", complete_fish}};

    for (unsigned i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (cmd_equal(args->operand[0], shells[i].name)) {
            shells[i].print(cmd);
            return CMD_OK;
        }
    cmd_error(cmd, "no completion for '%s': bash, zsh or fish", args->operand[0]);
    return CMD_USAGE;
}

const struct cmd_command cmd_completion[] = {
    {"completion", "bash|zsh|fish", "a script with which this shell completes upmu's words",
     "For this session: source <(upmu completion bash).  make install installs all three.\n", 0, 1, 1, complete},
    {NULL, NULL, NULL, NULL, 0, 0, 0, NULL},
};
