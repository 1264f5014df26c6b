/* SPDX-License-Identifier: MIT */
/*
 * Options of the commands, and what the commands have in common.
 */
#ifndef UPMU_CMD_ARGS_H
#define UPMU_CMD_ARGS_H

#include <tools/cmd/cmd.h>
#include <tools/cmd/cmd_print.h>
#include <upmu/probe.h>
#include <upmu/results.h>

#define CMD_OPERANDS 32

/* Options, as bits of cmd_command.options. */
#define CMD_OPT_PMU (1u << 0)     /* --pmu NAME */
#define CMD_OPT_SIM (1u << 1)     /* --sim NAME */
#define CMD_OPT_EVENTS (1u << 2)  /* -e LIST */
#define CMD_OPT_PERIOD (1u << 3)  /* -c PERIOD */
#define CMD_OPT_RUNS (1u << 4)    /* -r N */
#define CMD_OPT_WORK (1u << 5)    /* -n ITERATIONS */
#define CMD_OPT_OUT (1u << 6)     /* -o FILE */
#define CMD_OPT_JSON (1u << 7)    /* --json */
#define CMD_OPT_PLACED (1u << 8)  /* --placed */
#define CMD_OPT_BLOB (1u << 9)    /* --blob FILE */
#define CMD_OPT_UNIT (1u << 10)   /* --unit */
#define CMD_OPT_INTERVAL (1u << 11) /* -I MS, -w MS */
#define CMD_OPT_PROCESS (1u << 12)  /* -p */
#define CMD_OPT_CLASS (1u << 13)    /* --class NAME */
#define CMD_OPT_DRY (1u << 14)      /* --dry-run */
#define CMD_OPT_LOG (1u << 15)    /* --log FILE */
#define CMD_OPT_SYMBOLS (1u << 16) /* --symbols FILE */
#define CMD_OPT_FORMS (1u << 17)  /* --folded FILE, --pprof FILE, --perf FILE, --kallsyms FILE */
#define CMD_OPT_CALLERS (1u << 18) /* -g */
#define CMD_OPT_METRICS (1u << 19) /* -M LIST */
#define CMD_OPT_SALVAGE (1u << 20) /* --salvage */
#define CMD_OPT_SEPARATOR (1u << 21) /* -x SEP */
#define CMD_OPT_DATA (1u << 23) /* -d */
#define CMD_OPT_BRANCHES (1u << 24) /* -b */
#define CMD_OPT_CHILD (1u << 22) /* -- PROGRAM, and options for it, where there are programs (tools/child) */

/* Forms that a log is converted to (cmd_results.c). */
enum cmd_form { CMD_FOLDED, CMD_PPROF, CMD_PERF, CMD_KALLSYMS, CMD_FORMS };

struct cmd_args {
    const char *name; /* of the command */
    const char *pmu;
    const char *sim;
    const char *events;
    const char *metrics;
    const char *out;
    const char *blob;
    const char *log;
    const char *symbols;
    const char *separator; /* between cells; NULL: a table for people */
    const char *form[CMD_FORMS];
    uint64_t period;     /* 0: not given */
    uint64_t iterations; /* 0: not given */
    unsigned runs;       /* 0: not given */
    bool json;
    bool placed;
    bool unit;
    bool process;
    bool dry;
    bool callers;
    bool data;
    bool branches;
    bool salvage;
    const char *class;
    uint64_t interval; /* ms; 0: not given */
    unsigned count;
    const char *operand[CMD_OPERANDS];
};

/* The kind of value that stands behind an option. */
enum cmd_value {
    CMD_VALUE_NONE,
    CMD_VALUE_NUMBER,
    CMD_VALUE_TEXT,
    CMD_VALUE_FILE,
    CMD_VALUE_PMU,
    CMD_VALUE_SIM,
    CMD_VALUE_EVENTS,
    CMD_VALUE_METRICS,
    CMD_VALUE_CLASS
};

/* An option by one of its names. */
struct cmd_option {
    char name[12];
    unsigned option; /* its bit */
    enum cmd_value value;
    const char *shown, *about; /* a line of help, at the first of its names; else NULL */
};

struct cmd_command {
    const char *name;
    const char *usage; /* what stands behind the name */
    const char *about;
    const char *help; /* further lines */
    unsigned options;
    unsigned least, most; /* operands */
    int (*run)(struct cmd *cmd, const struct cmd_args *args);
};

int cmd_info(struct cmd *cmd, const struct cmd_args *args);
int cmd_pmus(struct cmd *cmd, const struct cmd_args *args);
int cmd_list(struct cmd *cmd, const struct cmd_args *args);
int cmd_encode(struct cmd *cmd, const struct cmd_args *args);
int cmd_place(struct cmd *cmd, const struct cmd_args *args);
int cmd_pack(struct cmd *cmd, const struct cmd_args *args);
int cmd_wrmsr(struct cmd *cmd, const struct cmd_args *args);
int cmd_stat(struct cmd *cmd, const struct cmd_args *args);
int cmd_record(struct cmd *cmd, const struct cmd_args *args);
int cmd_branches(struct cmd *cmd, const struct cmd_args *args);
int cmd_convert(struct cmd *cmd, const struct cmd_args *args);
int cmd_top(struct cmd *cmd, const struct cmd_args *args);
int cmd_selftest(struct cmd *cmd, const struct cmd_args *args);
int cmd_rdpmc(struct cmd *cmd, const struct cmd_args *args);
int cmd_pmcstat(struct cmd *cmd, const struct cmd_args *args);
int cmd_setevent(struct cmd *cmd, const struct cmd_args *args);
int cmd_permits(struct cmd *cmd, const struct cmd_args *args);
int cmd_setpce(struct cmd *cmd, const struct cmd_args *args);
int cmd_keepawake(struct cmd *cmd, const struct cmd_args *args);
int cmd_uncore(struct cmd *cmd, const struct cmd_args *args);

/* The command "completion", for programs that a shell starts: cmd.own (cmd_completion.c). */
extern const struct cmd_command cmd_completion[];

/* The i-th command, the program's own behind the table's; NULL after the last (cmd_main.c). */
const struct cmd_command *cmd_command_at(const struct cmd *cmd, unsigned index);

/* The i-th name of an option; NULL after the last (cmd_main.c). */
const struct cmd_option *cmd_option_at(unsigned index);

/* ---- Progress (cmd_progress.c) ---- */

/* Something begins that may last, in so many parts of the same length.  Its end, also after an error. */
void cmd_progress_begin(struct cmd *cmd, unsigned parts);
void cmd_progress_end(struct cmd *cmd);

/* Is a line to be shown?  For a caller that stops counters first. */
bool cmd_progress_due(const struct cmd *cmd);

/* Show this text now. */
void cmd_progress_text(struct cmd *cmd, const char *text);

/* So much of the present part is done: shown after two seconds, then twice a second. */
void cmd_progress(struct cmd *cmd, uint64_t done, uint64_t total);

/* Part number `part` begins; the first is 0. */
void cmd_progress_part(struct cmd *cmd, unsigned part);

/* Text comes. */
void cmd_progress_hide(struct cmd *cmd);

/* ---- Names that were mistyped (cmd_nearest.c) ---- */

/*
 * Of the names that name_at() gives, up to NULL, the one that `word` may have been meant for: it begins so, or differs
 * in a third of the letters at most; the first one of several.  NULL: there is none.
 */
const char *cmd_nearest(const char *word, const char *(*name_at)(const void *context, unsigned index),
                        const void *context);

/* Say that there is no command (or what `what` says) of this name; `nearest` is NULL or the one that may be meant. */
void cmd_unknown(struct cmd *cmd, const char *what, const char *word, const char *nearest, const char *lister);

/*
 * The class that a program's name stands for ("bin/pmcstat_p4": "p4"), "" for pmcstat itself, NULL for other names
 * (cmd_pmc.c).
 */
const char *cmd_pmc_class(const char *program);

/* The name of the i-th class; NULL after the last (cmd_pmc.c). */
const char *cmd_pmc_class_at(unsigned index);

/* The CPU by CPUID; of a simulated one, also the machine's own (cmd_info.c). */
void cmd_identity(struct cmd *cmd);

/* ---- The addresses that were sampled (cmd_record.c) ---- */

/* Add a sample to the table.  False: there is no room for its address. */
bool cmd_hot_add(struct cmd *cmd, uint64_t ip, bool user);

/* The hottest of them, with their shares of `samples`, and the text that name() adds. */
void cmd_hot_print(struct cmd *cmd, uint64_t samples, void (*name)(struct cmd *cmd, uint64_t ip, const void *context),
                   const void *context);

/* ---- Logs and their forms (cmd_results.c) ---- */

/* Some file of a log or of its forms was asked for. */
bool cmd_results_wanted(const struct cmd_args *args);

/* Begin the log of a recording in cmd->memory; log and output in cmd.  CMD_OK or, explained, CMD_REFUSED. */
int cmd_results_begin(struct cmd *cmd, const struct cmd_workload *workload);

/* The names of the workload's code, which are known once a program was started.  Returns as cmd_results_begin(). */
int cmd_results_symbols(struct cmd *cmd);

/* End it, and write the files that were asked for. */
int cmd_results_end(struct cmd *cmd, const struct cmd_args *args);

/* Store a file; explained if it does not work. */
int cmd_results_store(struct cmd *cmd, const char *name, const void *bytes, size_t length);

/* ---- The target of a command (cmd_target.c) ---- */

/*
 * Choose the CPU: --sim, else the executing one, else the default simulated one;
 * fills in cmd->machine, cpu, port, pmu, simulated.  Says on the screen if it is
 * simulated.  CMD_OK or, explained, CMD_REFUSED.
 */
int cmd_target_open(struct cmd *cmd, const struct cmd_args *args);

/* The i-th name of what can be simulated; NULL after the last.  For cmd_nearest(), too, without a context. */
const char *cmd_model_at(const void *context, unsigned index);

/*
 * Find the units outside the cores: cmd->units.  A simulated machine is looked at from each of its CPUs.  `flags`:
 * those of upmu_units_find().
 */
enum upmu_status cmd_target_units(struct cmd *cmd, unsigned flags);

/*
 * Show the levels that a list names: values of the moment, of each box that a text applies to.  Returns false if the
 * first of the list is no level: nothing was printed.  *out_status: why not all were shown.
 */
bool cmd_levels(struct cmd *cmd, const char *list, enum upmu_status *out_status);

/* End of the command: a simulated CPU is given up. */
void cmd_target_close(struct cmd *cmd);

/* Choose a PMU only, by --pmu (of a CPU, or of a unit outside the cores), --sim or as above; no CPU comes up. */
int cmd_target_pmu(struct cmd *cmd, const struct cmd_args *args);

/* The kind of unit that the chosen PMU is of; NULL: it is a CPU's. */
const struct upmu_unit_type *cmd_target_unit(const struct cmd *cmd);

/* The line that every screen of a simulated CPU carries; among cells it is a comment. */
void cmd_target_label(struct cmd *cmd);

/* Say why a session call refused; returns CMD_REFUSED. */
int cmd_refusal(struct cmd *cmd, enum upmu_status status, const struct upmu_why *why);

/* The clock of the target, and of any port, in ns; 0: there is none. */
uint64_t cmd_target_time(const struct cmd *cmd);
uint64_t cmd_port_time(const struct upmu_port *port);

/* The interrupts that have reached the target's handler so far. */
struct cmd_interrupts cmd_target_interrupts(const struct cmd *cmd);

/* ---- Workloads (cmd_work.c) ---- */

/* Code of a workload, for histograms. */
struct cmd_symbol {
    const char *name;
    uint64_t start, end;
};

/* Bytes of a file, from byte `offset` on, at addresses from `start` to `end` - 1. */
struct cmd_mapping {
    const char *name;
    uint64_t start, end, offset;
};

/* A workload, and what one iteration of it retires. */
struct cmd_workload {
    const char *name;
    const char *about;
    uint32_t iterations; /* unless said otherwise */
    uint8_t instructions; /* 0: not known exactly */
    uint8_t branches;
    uint8_t first_phase, phases; /* of the model, see cmd_work_sim.c */
};

const struct cmd_workload *cmd_workload(unsigned index);
const struct cmd_workload *cmd_workload_find(const char *name);

/* A program of the host, counted in place of a workload (tools/child). */
struct cmd_child {
    struct cmd_workload workload; /* its name; one iteration, to its end */
    const char *events;           /* the list unless -e has one; NULL: that of workloads */
    uint64_t (*clock_ns)(void *context); /* clock of a simulated CPU */
    /* Start it, stopped before its first instruction.  False: the error sink has the reason. */
    bool (*start)(struct cmd *cmd);
    /* Let it run on for a moment.  False: it has ended. */
    bool (*run)(struct cmd *cmd);
    /* The program's functions, by address; false after the last. */
    bool (*symbol)(unsigned index, struct cmd_symbol *out_symbol);
    /* Files that its code is mapped from; false after the last. */
    bool (*mapping)(unsigned index, struct cmd_mapping *out_mapping);
};

/* NULL: a workload is run.  There are no programs where there is no host, and no code for them. */
static inline const struct cmd_child *cmd_child(const struct cmd *cmd)
{
    return __STDC_HOSTED__ ? cmd->child : NULL;
}

/* Before the first run, outside of what is measured. */
void cmd_workload_prepare(struct cmd *cmd);

/* Run it on the target. */
void cmd_workload_run(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations);

/* Run a piece of it, of the iterations that are left; returns how many are left then.  A program has one. */
static inline uint64_t cmd_workload_piece(struct cmd *cmd, const struct cmd_workload *workload, uint64_t piece,
                                          uint64_t left)
{
    if (cmd_child(cmd) != NULL)
        return cmd_child(cmd)->run(cmd);
    cmd_workload_run(cmd, workload, piece);
    return left - piece;
}

/* Run its loops on the executing CPU. */
void cmd_workload_loops(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations);

/* Nothing disturbed the target's counts since the last call; false: they are void, and it has said why. */
bool cmd_target_undisturbed(struct cmd *cmd);

/* The loop of a probe of the target, and its context. */
void cmd_target_probe(struct cmd *cmd, struct upmu_probe *probe);

/* Symbols of the target; false after the last. */
bool cmd_symbol(const struct cmd *cmd, unsigned index, struct cmd_symbol *out_symbol);

/* ---- Functions in files of programs and kernels (cmd_elf.c) ---- */

struct cmd_elf {
    const uint8_t *bytes;
    size_t length;
    bool wide;                   /* 64 bits */
    uint64_t entry;              /* address of the first instruction */
    uint64_t sections, section_bytes, section_count;
    uint64_t symbols, symbol_bytes, symbol_count;
    uint64_t strings, string_bytes;
};

/* False: not such a file, or without symbols. */
bool cmd_elf_open(struct cmd_elf *elf, const void *bytes, size_t length);

/* The i-th symbol, i below symbol_count; its name is in the file.  False: it is no function. */
bool cmd_elf_function(const struct cmd_elf *elf, uint64_t i, struct cmd_symbol *out_symbol);

/* Symbol that holds `ip`, or NULL-named. */
struct cmd_symbol cmd_symbol_of(const struct cmd *cmd, uint64_t ip);

/* The operand's workload, explained if there is none. */
const struct cmd_workload *cmd_workload_operand(struct cmd *cmd, const struct cmd_args *args, const char *otherwise);

/* ---- Counts and metrics of a workload (cmd_stat.c, cmd_metric.c) ---- */

struct cmd_stat_work {
    const struct cmd_workload *workload;
    uint64_t iterations;
    unsigned runs;
};

/*
 * Name an event of a set for a table: as it stands in the list, or as the PMU names it.  *cursor is where the
 * list's text is read, 0 for the first event.
 */
void cmd_event_name(const struct upmu_pmu *pmu, const struct upmu_set *set, unsigned index, const char *list,
                    size_t *cursor, char *name, size_t size);

/* Can these events of the core be counted together? */
bool cmd_stat_fits(struct cmd *cmd, const char *list);

/*
 * Count a list of events: of run r, event i has cmd->runs[i][r], and the time in ns is behind the events' last row; how
 * they were obtained, cmd->counts says.  `units`: they are of units outside the cores.
 */
enum upmu_status cmd_stat_count(struct cmd *cmd, const struct cmd_stat_work *work, const char *list, bool units,
                                struct upmu_why *out_why);

/* Count and print the metrics of cmd->args->metrics. */
int cmd_metrics(struct cmd *cmd, const struct cmd_stat_work *work);

/* ---- Lines at intervals (cmd_watch.c) ---- */

struct cmd_watch {
    uint64_t ms;
    /* A line: cmd->counts now, watch->last at the last line, microseconds since the begin. */
    void (*line)(struct cmd *cmd, struct cmd_watch *watch, uint64_t microseconds);
    /* Called between the pieces of the workload; NULL: nothing is. */
    enum upmu_status (*between)(struct cmd *cmd, struct cmd_watch *watch);
    void *context;
    bool to_file, full;
    unsigned lines;
    uint64_t begin, next; /* ns */
    uint64_t last[UPMU_SET_EVENTS];
};

/* Has the target a clock?  Else it says so. */
bool cmd_watch_ready(struct cmd *cmd);

/* Run a workload while cmd->session counts, with a line each watch->ms, the last one at the end. */
enum upmu_status cmd_watch_run(struct cmd *cmd, struct cmd_watch *watch, const struct cmd_workload *workload,
                               uint64_t iterations);

/* In the model (cmd_work_sim.c). */
void cmd_work_simulate(struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations);
bool cmd_work_sim_symbol(unsigned index, struct cmd_symbol *out_symbol);
extern const struct upmu_callers cmd_work_sim_callers;
/* Give the simulated CPU memory for precise records, if it has any; without memory a precise sample is refused. */
void cmd_work_sim_records(struct cmd *cmd);

#endif
