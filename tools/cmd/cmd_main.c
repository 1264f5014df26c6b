/* SPDX-License-Identifier: MIT */
/*
 * The table of commands, their options and help.
 */
#include <tools/cmd/cmd_args.h>

#define CMD_OPT_TARGET (CMD_OPT_PMU | CMD_OPT_SIM | CMD_OPT_BLOB)
#define CMD_WORDS 48
#define CMD_LINE_BYTES 1024

/* Kernels read none. */
#if __STDC_HOSTED__
#define CMD_OR_AN_ELF ", or is a file with symbols (ELF)"
#else
#define CMD_OR_AN_ELF
#endif

#define CMD_HELP_FORMS \
    "FORM: folded (flame graphs), pprof, perf (for perf report -i, perf script -i; with --kallsyms the names of\n" \
    "code), kallsyms (these names).\n"

static const struct cmd_command commands[] = {
    {"info", "[--sim CPU]", "CPU, PMU, counters, their owners, the result of a probe", "", CMD_OPT_SIM, 0, 0, cmd_info},
    {"pmus", "", "PMUs that upmu knows, CPUs that it can simulate", "", 0, 0, 0, cmd_pmus},
    {"list", "[--pmu PMU] [--blob FILE] [--unit] [GLOB]", "events of a PMU by name; '*' and '?' match",
     "--blob searches a file of catalogues made by tools/catalog_pack.py (encode, place, pack and\n"
     "wrmsr search it first).  --unit lists PMUs outside the cores, with --pmu (skx_unc_imc) the events of one,\n"
     "with --sim (skx2) the units of a machine.\n",
     CMD_OPT_TARGET | CMD_OPT_UNIT, 0, 1, cmd_list},
    {"encode", "[--pmu PMU] [--placed] [--json] SPEC...", "register words of events",
     "One line per register, NAME 0xADDRESS 0xVALUE: the event on the lowest general counter\n"
     "that can count it (or counter=N), enabled, without interrupt; then its payload registers.\n"
     "An event without a general form shows its fixed control.\n"
     "Of a unit outside the cores (--pmu skx_unc_imc): a line with the unit, how its counters are opened and\n"
     "the counters that the event may have, then the registers, whose addresses are offsets in its box.\n"
     "--placed shows the counters of the whole list, counted together.\n",
     CMD_OPT_TARGET | CMD_OPT_PLACED | CMD_OPT_JSON, 1, CMD_OPERANDS, cmd_encode},
    {"place", "[--pmu PMU] [--json] SPEC...", "the counter of each event, if all are counted together",
     "Exit status 1 and a minimal conflicting subset if they do not fit.\n", CMD_OPT_TARGET | CMD_OPT_JSON, 1,
     CMD_OPERANDS, cmd_place},
    {"pack", "[--pmu PMU] [--json] SPEC...", "in how few sets all of the events can be counted, one set at a time",
     "One line per set; the last says whether fewer are possible.\n", CMD_OPT_TARGET | CMD_OPT_JSON, 1, CMD_OPERANDS,
     cmd_pack},
    {"wrmsr", "list [--pmu PMU] SPEC...", "the register writes that start counting the events, in their order",
     "A dry run: nothing is written.  Lines 'wrmsr 0xADDRESS 0xVALUE # NAME' feed a wrmsr tool.\n", CMD_OPT_TARGET, 2,
     CMD_OPERANDS, cmd_wrmsr},
    {"permits", "[--pmu PMU]", "the registers that a program may write, as a table for a kernel's source", "",
     CMD_OPT_TARGET, 0, 0, cmd_permits},
    {"setevent", "[--dry-run] [--pmu PMU] [--sim CPU] INDEX SPEC", "program one counter and let it run, for rdpmc",
     "The counter is taken from upmu.  It is written through the allow-list (upmu/permit.h); each write is shown.\n",
     CMD_OPT_TARGET | CMD_OPT_DRY, 2, 2, cmd_setevent},
    {"setpce", "[--sim CPU] on|off", "allow RDPMC in user mode (CR4.PCE), or forbid it", "", CMD_OPT_SIM, 1, 1,
     cmd_setpce},
    {"rdpmc", "[--sim CPU] INDEX", "read a counter: 0, 1, ...; fixed counters from 0x40000000 on", "", CMD_OPT_SIM,
     1, 1, cmd_rdpmc},
    {"stat", "[-e LIST | -M LIST] [-r RUNS] [-n ITERATIONS] [-I MS] [-x SEP | --json] [--sim CPU] [WORKLOAD]",
     "count events of a workload",
     "-I prints each event's counts at intervals, and the sums in the end.  -M shows what follows from counts: ipc,\n"
     "tma, misses, bandwidth, or single metrics of these; another word shows which there are (docs/METRICS.md).\n"
     "-x prints the cells of perf stat -x: count, unit (none), event, with -r the spread, ns with a counter, their\n"
     "share, what follows, its unit.  With -I: seconds, count, unit, event, and no sums.\n",
     CMD_OPT_SIM | CMD_OPT_EVENTS | CMD_OPT_METRICS | CMD_OPT_RUNS | CMD_OPT_WORK | CMD_OPT_JSON | CMD_OPT_INTERVAL |
         CMD_OPT_SEPARATOR | CMD_OPT_CHILD,
     0, 1, cmd_stat},
    {"pmcstat", "[--class CLASS] [-w MS] [-p] [-o FILE] [-n ITERATIONS] [--sim CPU] [INDEX] SPEC [WORKLOAD]",
     "count one event, on the counter with this index, with a line every MS ms",
     "CLASS is p4, k7, k8, iaf or iap; the program's name may say it (pmcstat_p4).  A line has microseconds,\n"
     "events since the last line, all events.  -p counts the workload's thread alone.\n",
     CMD_OPT_SIM | CMD_OPT_WORK | CMD_OPT_OUT | CMD_OPT_INTERVAL | CMD_OPT_PROCESS | CMD_OPT_CLASS, 1, 3, cmd_pmcstat},
    {"keepawake", "[--sim CPU] [INDEX] SPEC", "count events outside the core while it halts, and while it does not",
     "Counters of a core stand still while it halts, those of northbridge events too.\n", CMD_OPT_SIM, 1, 2,
     cmd_keepawake},
    {"record",
     "[-e LIST] [-c PERIOD] [-b] [-g] [-d] [-o FILE] [--log FILE] [--FORM FILE] [-n ITERATIONS] [--sim CPU] [WORKLOAD]",
     "sample a workload: where the events happen",
     "A sample every PERIOD events; -o: one line of text for each sample; --log: all of it, for 'convert'.\n"
     "-b: with the last branches before each sample.\n"
     "-g: with the callers of each sampled address, of a simulated CPU.\n"
     "-d: precise events (EVENT:p, :pp, :ppp; of a simulated CPU) with what their records have of the data: where it\n"
     "is, where it was found, in how many cycles.\n" CMD_HELP_FORMS,
     CMD_OPT_SIM | CMD_OPT_BRANCHES | CMD_OPT_CALLERS | CMD_OPT_DATA | CMD_OPT_EVENTS | CMD_OPT_PERIOD | CMD_OPT_WORK |
         CMD_OPT_OUT | CMD_OPT_LOG | CMD_OPT_FORMS | CMD_OPT_CHILD,
     0, 1, cmd_record},
    {"branches", "[-n ITERATIONS] [--sim CPU] [WORKLOAD]", "the last branches of a workload, as in a panic",
     "CPUs keep the last 4 to 32 taken branches in registers; newest first, with what the CPU knows of each.\n",
     CMD_OPT_SIM | CMD_OPT_WORK | CMD_OPT_CHILD, 0, 1, cmd_branches},
    {"convert", "[--salvage] [--symbols MAP] [--FORM FILE] LOG",
     "a log of 'record', or of a kernel: what it holds, in other forms",
     "MAP has lines 'ADDRESS t NAME', as nm and /proc/kallsyms write them" CMD_OR_AN_ELF ".\n"
     "--salvage takes a log that was cut or damaged: the records that are as they were written.\n" CMD_HELP_FORMS,
     CMD_OPT_SALVAGE | CMD_OPT_SYMBOLS | CMD_OPT_FORMS, 1, 1, cmd_convert},
    {"top", "[-e EVENT] [-c PERIOD] [-r ROUNDS] [-n ITERATIONS] [--sim CPU] [WORKLOAD]",
     "record repeatedly until a key is pressed",
     "Without -e cycles are sampled, and as many of the usual events counted as have a counter.\n",
     CMD_OPT_SIM | CMD_OPT_EVENTS | CMD_OPT_PERIOD | CMD_OPT_RUNS | CMD_OPT_WORK, 0, 1, cmd_top},
    {"uncore", "[--sim CPU]", "units outside the cores: which there are, what memory controllers count of a copy", "",
     CMD_OPT_SIM, 0, 0, cmd_uncore},
    {"selftest", "[--sim CPU]", "check the PMU against loops of known length",
     "The page to send in from a new machine.\n", CMD_OPT_SIM, 0, 0, cmd_selftest},
};

#define COMMANDS ((unsigned)(sizeof commands / sizeof commands[0]))

const struct cmd_command *cmd_command_at(const struct cmd *cmd, unsigned index)
{
    const struct cmd_command *own = cmd->own;

    if (index < COMMANDS)
        return &commands[index];
    for (index -= COMMANDS; own != NULL && own->name != NULL && index > 0; index--)
        own++;
    return own != NULL && own->name != NULL ? own : NULL;
}

const char *cmd_name(unsigned index)
{
    return index < COMMANDS ? commands[index].name : NULL;
}

static void help_workloads(struct cmd *cmd)
{
    const struct cmd_workload *workload;
    unsigned i;

    cmd_coloured(cmd, CMD_TITLE, "Workloads:\n");
    for (i = 0; (workload = cmd_workload(i)) != NULL; i++) {
        cmd_coloured(cmd, CMD_NAME, "  %-9s", workload->name);
        cmd_print(cmd, " %s\n", workload->about);
    }
}

static void help_all(struct cmd *cmd)
{
    const struct cmd_command *command;
    unsigned i;

    cmd_print(cmd, "usage: %s COMMAND [OPTION...] [WORD...]\n"
                   "       %s help [COMMAND] | --version\n",
              cmd->program, cmd->program);
    cmd_coloured(cmd, CMD_TITLE, "Commands (each explains itself with --help):\n");
    for (i = 0; (command = cmd_command_at(cmd, i)) != NULL; i++) {
        cmd_coloured(cmd, CMD_NAME, "  %-10s", command->name);
        cmd_print(cmd, "  %s\n", command->about);
    }
    help_workloads(cmd);
}

/* The rows of one option stand together; the first says what help shows. */
static const struct cmd_option options[] = {
    {"--pmu", CMD_OPT_PMU, CMD_VALUE_PMU, "--pmu PMU", "the PMU with this name ('pmus' lists them)"},
    {"--sim", CMD_OPT_SIM, CMD_VALUE_SIM, "--sim CPU", "a simulated CPU ('pmus' lists them)"},
    {"--blob", CMD_OPT_BLOB, CMD_VALUE_FILE, "--blob FILE", "a file of catalogues, searched first"},
    {"--unit", CMD_OPT_UNIT, CMD_VALUE_NONE, "--unit", "PMUs outside the cores"},
    {"-e", CMD_OPT_EVENTS, CMD_VALUE_EVENTS, "-e, --event LIST", "events, separated by commas"},
    {"--event", CMD_OPT_EVENTS, CMD_VALUE_EVENTS, NULL, NULL},
    {"-M", CMD_OPT_METRICS, CMD_VALUE_METRICS, "-M LIST", "metrics, or groups of them, separated by commas"},
    {"-c", CMD_OPT_PERIOD, CMD_VALUE_NUMBER, "-c, --count PERIOD", "events from one sample to the next"},
    {"--count", CMD_OPT_PERIOD, CMD_VALUE_NUMBER, NULL, NULL},
    {"-r", CMD_OPT_RUNS, CMD_VALUE_NUMBER, "-r, --repeat NUMBER", "how many times"},
    {"--repeat", CMD_OPT_RUNS, CMD_VALUE_NUMBER, NULL, NULL},
    {"-n", CMD_OPT_WORK, CMD_VALUE_NUMBER, "-n ITERATIONS", "of the workload's loop"},
    {"-I", CMD_OPT_INTERVAL, CMD_VALUE_NUMBER, "-I, -w MS", "milliseconds from one line to the next"},
    {"-w", CMD_OPT_INTERVAL, CMD_VALUE_NUMBER, NULL, NULL},
    {"-g", CMD_OPT_CALLERS, CMD_VALUE_NONE, "-g", "with callers: stacks"},
    {"-b", CMD_OPT_BRANCHES, CMD_VALUE_NONE, "-b", "with the last branches before each sample"},
    {"-d", CMD_OPT_DATA, CMD_VALUE_NONE, "-d", "with the data's address, source and latency"},
    {"-p", CMD_OPT_PROCESS, CMD_VALUE_NONE, "-p", "count the workload's thread alone"},
    {"--class", CMD_OPT_CLASS, CMD_VALUE_CLASS, "--class CLASS", "p4, k7, k8, iaf or iap"},
    {"--placed", CMD_OPT_PLACED, CMD_VALUE_NONE, "--placed", "on the counters of the whole list"},
    {"--log", CMD_OPT_LOG, CMD_VALUE_FILE, "--log FILE", "everything that was recorded, for 'convert'"},
    {"--symbols", CMD_OPT_SYMBOLS, CMD_VALUE_FILE, "--symbols MAP", "the code's names, by address"},
    {"--salvage", CMD_OPT_SALVAGE, CMD_VALUE_NONE, "--salvage", "what is sound of a log that was cut or damaged"},
    {"--folded", CMD_OPT_FORMS, CMD_VALUE_FILE, "--FORM FILE", "in this form: --folded, --pprof, --perf or --kallsyms"},
    {"--pprof", CMD_OPT_FORMS, CMD_VALUE_FILE, NULL, NULL},
    {"--perf", CMD_OPT_FORMS, CMD_VALUE_FILE, NULL, NULL},
    {"--kallsyms", CMD_OPT_FORMS, CMD_VALUE_FILE, NULL, NULL},
    {"-o", CMD_OPT_OUT, CMD_VALUE_FILE, "-o, --output FILE", "write to this file"},
    {"--output", CMD_OPT_OUT, CMD_VALUE_FILE, NULL, NULL},
    {"-x", CMD_OPT_SEPARATOR, CMD_VALUE_TEXT, "-x SEP", "as cells with SEP between them, for example , or \\t"},
    {"--json", CMD_OPT_JSON, CMD_VALUE_NONE, "--json", "as JSON"},
    {"--dry-run", CMD_OPT_DRY, CMD_VALUE_NONE, "--dry-run", "show the writes, make none"},
};

#define OPTIONS (sizeof options / sizeof options[0])

const struct cmd_option *cmd_option_at(unsigned index)
{
    return index < OPTIONS ? &options[index] : NULL;
}

static void help_options(struct cmd *cmd, unsigned taken)
{
    unsigned i;

    if (taken != 0)
        cmd_coloured(cmd, CMD_TITLE, "Options:\n");
    for (i = 0; i < OPTIONS; i++)
        if ((options[i].option & taken) && options[i].shown != NULL) {
            cmd_coloured(cmd, CMD_NAME, "  %-20s", options[i].shown);
            cmd_print(cmd, "  %s\n", options[i].about);
        }
}

static void help_one(struct cmd *cmd, const struct cmd_command *command)
{
    cmd_print(cmd, "usage: %s %s %s\n%s\n%s", cmd->program, command->name, command->usage, command->about,
              command->help);
    help_options(cmd, command->options);
    if (command->options & CMD_OPT_EVENTS)
        help_workloads(cmd);
}

/* The option named `word`; NULL: there is none. */
static const struct cmd_option *option_of(const char *word)
{
    unsigned i;

    for (i = 0; i < OPTIONS; i++)
        if (cmd_equal(word, options[i].name))
            return &options[i];
    return NULL;
}

/* Is `word` this option with its value behind it, "-x," or "--event=LIST"?  The value, or NULL. */
static const char *attached_value(const struct cmd_option *option, const char *word)
{
    const size_t length = cmd_length(option->name);

    for (size_t i = 0; i < length; i++)
        if (word[i] != option->name[i])
            return NULL;
    if (option->value == CMD_VALUE_NONE)
        return NULL;
    if (option->name[1] != '-')
        return length == 2 && word[length] != '\0' ? &word[length] : NULL;
    return word[length] == '=' ? &word[length + 1] : NULL;
}

/* The next option: those of the table, then the program's own; NULL after the last. */
static const struct cmd_option *next_option(const struct cmd *cmd, const struct cmd_option *option)
{
    const struct cmd_option *next = option == NULL ? options : option + 1;

    if (next == options + OPTIONS)
        next = cmd->other_options;
    return next != NULL && next->name[0] != '\0' ? next : NULL;
}

unsigned cmd_split_words(const struct cmd *cmd, unsigned count, const char *const *words, const char **out)
{
    unsigned used = 0, i;

    if (count == 2 && cmd_equal(words[0], "help")) {
        out[0] = words[1];
        out[1] = "--help";
        return 2;
    }
    for (i = 0; i < count && !cmd_equal(words[i], "--"); i++) {
        const struct cmd_option *option = NULL;
        const char *value = NULL;

        while ((option = next_option(cmd, option)) != NULL && !cmd_equal(words[i], option->name) &&
               (value = attached_value(option, words[i])) == NULL)
            ;
        out[used++] = value != NULL ? option->name : words[i];
        if (value != NULL)
            out[used++] = value;
        else if (option != NULL && option->value != CMD_VALUE_NONE && i + 1 < count)
            out[used++] = words[++i];
    }
    for (; i < count; i++)
        out[used++] = words[i];
    return used;
}

static enum cmd_form form_of(const char *word)
{
    static const char names[CMD_FORMS][12] = {"--folded", "--pprof", "--perf", "--kallsyms"};
    unsigned form = 0;

    while (form < CMD_FORMS - 1 && !cmd_equal(word, names[form]))
        form++;
    return (enum cmd_form)form;
}

/* Events of another -e, behind those of the first ones: in cmd->list, which commands with this option leave alone. */
static bool append_events(struct cmd *cmd, struct cmd_args *args, const char *events)
{
    const char *const parts[] = {args->events, ",", events};
    size_t used = 0;

    /* From the third list on the first part is cmd->list itself: its letters stay where they are. */
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (const char *letter = parts[i]; *letter != '\0'; letter++) {
            if (used + 1 == sizeof cmd->list) {
                cmd_error(cmd, "the lists of -e are too long");
                return false;
            }
            cmd->list[used++] = *letter;
        }
    cmd->list[used] = '\0';
    args->events = cmd->list;
    return true;
}

static bool option_value(struct cmd *cmd, struct cmd_args *args, unsigned option, const char *word, const char *value)
{
    uint64_t number = 0;

    switch (option) {
    case CMD_OPT_PMU:
        args->pmu = value;
        return true;
    case CMD_OPT_SIM:
        args->sim = value;
        return true;
    case CMD_OPT_EVENTS:
        if (args->events != NULL)
            return append_events(cmd, args, value);
        args->events = value;
        return true;
    case CMD_OPT_METRICS:
        args->metrics = value;
        return true;
    case CMD_OPT_OUT:
        args->out = value;
        return true;
    case CMD_OPT_BLOB:
        args->blob = value;
        return true;
    case CMD_OPT_CLASS:
        args->class = value;
        return true;
    case CMD_OPT_LOG:
        args->log = value;
        return true;
    case CMD_OPT_SYMBOLS:
        args->symbols = value;
        return true;
    case CMD_OPT_SEPARATOR:
        args->separator = cmd_equal(value, "\\t") ? "\t" : value;
        return true;
    case CMD_OPT_FORMS:
        args->form[form_of(word)] = value;
        return true;
    default:
        break;
    }
    if (!cmd_number(value, &number) || number == 0) {
        cmd_error(cmd, "'%s' is not a number above 0, or is too large", value);
        return false;
    }
    if (option == CMD_OPT_PERIOD)
        args->period = number;
    else if (option == CMD_OPT_WORK)
        args->iterations = number;
    else if (option == CMD_OPT_INTERVAL)
        args->interval = number;
    else if (number <= CMD_RUNS)
        args->runs = (unsigned)number;
    else
        cmd_error(cmd, "at most %u runs", CMD_RUNS);
    return option != CMD_OPT_RUNS || number <= CMD_RUNS;
}

/* Where an option without a value is kept. */
static bool *flag_of(struct cmd_args *args, unsigned option)
{
    switch (option) {
    case CMD_OPT_JSON:
        return &args->json;
    case CMD_OPT_PLACED:
        return &args->placed;
    case CMD_OPT_UNIT:
        return &args->unit;
    case CMD_OPT_PROCESS:
        return &args->process;
    case CMD_OPT_CALLERS:
        return &args->callers;
    case CMD_OPT_BRANCHES:
        return &args->branches;
    case CMD_OPT_DATA:
        return &args->data;
    case CMD_OPT_DRY:
        return &args->dry;
    case CMD_OPT_SALVAGE:
    default:
        return &args->salvage;
    }
}

/* The i-th option of a command. */
static const char *option_at(const void *command, unsigned index)
{
    const unsigned taken = ((const struct cmd_command *)command)->options;
    unsigned i;

    for (i = 0; i < OPTIONS; i++)
        if ((options[i].option & taken) && index-- == 0)
            return options[i].name;
    return NULL;
}

static bool refuse_option(struct cmd *cmd, const struct cmd_command *command, const char *word)
{
    const char *nearest = cmd_nearest(word, option_at, command);

    if (nearest != NULL)
        cmd_error(cmd, "%s has no option '%s', but %s", command->name, word, nearest);
    else
        cmd_error(cmd, "%s has no option '%s'", command->name, word);
    return false;
}

static bool parse_words(struct cmd *cmd, const struct cmd_command *command, unsigned count, const char *const *words,
                        struct cmd_args *args)
{
    bool only_operands = false;
    unsigned i;

    for (i = 1; i < count; i++) {
        const struct cmd_option *option = only_operands ? NULL : option_of(words[i]);

        if (!only_operands && cmd_equal(words[i], "--")) {
            only_operands = true;
        } else if (option == NULL && (words[i][0] != '-' || only_operands)) {
            if (args->count == CMD_OPERANDS) {
                cmd_error(cmd, "too many words");
                return false;
            }
            args->operand[args->count++] = words[i];
        } else if (option == NULL || (option->option & command->options) == 0) {
            return refuse_option(cmd, command, words[i]);
        } else if (option->value == CMD_VALUE_NONE) {
            *flag_of(args, option->option) = true;
        } else if (++i == count || words[i][0] == '\0') {
            cmd_error(cmd, "'%s' needs a value", words[i - 1]);
            return false;
        } else if (!option_value(cmd, args, option->option, words[i - 1], words[i])) {
            return false;
        }
    }
    return true;
}

static bool wants_help(unsigned count, const char *const *words)
{
    unsigned i;

    for (i = 1; i < count; i++)
        if (cmd_equal(words[i], "--help") || cmd_equal(words[i], "-h"))
            return true;
    return false;
}

/* "help", then all commands. */
static const char *command_at(const void *context, unsigned index)
{
    const struct cmd_command *command = index > 0 ? cmd_command_at(context, index - 1) : NULL;

    return index == 0 ? "help" : command != NULL ? command->name : NULL;
}

int cmd_run(struct cmd *cmd, unsigned word_count, const char *const *words)
{
    const struct cmd_args none = {0};
    struct cmd_args args = none;
    const struct cmd_command *command;
    unsigned i = 0;
    int result;

    if (word_count == 0 || cmd_equal(words[0], "help") || cmd_equal(words[0], "--help") ||
        cmd_equal(words[0], "-h")) {
        help_all(cmd);
        return word_count == 0 ? CMD_USAGE : CMD_OK;
    }
    if (cmd_equal(words[0], "--version")) {
        cmd_print(cmd, "upmu %u.%u.%u\n", UPMU_VERSION_MAJOR, UPMU_VERSION_MINOR, UPMU_VERSION_PATCH);
        return CMD_OK;
    }
    while ((command = cmd_command_at(cmd, i)) != NULL && !cmd_equal(words[0], command->name))
        i++;
    if (command == NULL) {
        cmd_unknown(cmd, "command", words[0], cmd_nearest(words[0], command_at, cmd), "help");
        return CMD_USAGE;
    }
    if (wants_help(word_count, words)) {
        help_one(cmd, command);
        return CMD_OK;
    }
    args.name = command->name;
    if (!parse_words(cmd, command, word_count, words, &args))
        return CMD_USAGE;
    if (args.count < command->least || args.count > command->most) {
        cmd_error(cmd, "usage: %s %s", command->name, command->usage);
        return CMD_USAGE;
    }
    cmd->args = &args;
    result = command->run(cmd, &args);
    cmd->args = NULL;
    return result;
}

int cmd_run_line(struct cmd *cmd, const char *line)
{
    char text[CMD_LINE_BYTES];
    const char *words[CMD_WORDS], *split[CMD_WORDS * 2];
    unsigned count = 0, used = 0;

    for (;;) {
        char quote = '\0';

        while (*line == ' ' || *line == '\t' || *line == '\r' || *line == '\n')
            line++;
        if (*line == '\0' || (count == 0 && *line == '#'))
            break;
        if (count == CMD_WORDS) {
            cmd_error(cmd, "too many words");
            return CMD_USAGE;
        }
        words[count++] = &text[used];
        for (; *line != '\0' && (quote != '\0' || (*line != ' ' && *line != '\t' && *line != '\r' && *line != '\n'));
             line++) {
            if (used + 2 > sizeof text) {
                cmd_error(cmd, "line too long");
                return CMD_USAGE;
            }
            if (quote == '\0' && (*line == '"' || *line == '\''))
                quote = *line;
            else if (quote != '\0' && *line == quote)
                quote = '\0';
            else
                text[used++] = *line;
        }
        if (used + 1 > sizeof text) {
            cmd_error(cmd, "line too long");
            return CMD_USAGE;
        }
        text[used++] = '\0';
    }
    return count == 0 ? CMD_OK : cmd_run(cmd, cmd_split_words(cmd, count, words, split), split);
}
