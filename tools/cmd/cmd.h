/* SPDX-License-Identifier: MIT */
/*
 * upmu's commands, for programs with a console: the UEFI demo, the example kernel and the host
 * tool.
 * Freestanding; all memory is in `struct cmd`, all output goes through a sink.
 */
#ifndef UPMU_CMD_H
#define UPMU_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <models/sim/sim.h>
#include <models/sim/sim_uncore.h>
#include <upmu/branches.h>
#include <upmu/permit.h>
#include <upmu/results.h>
#include <upmu/unit.h>
#include <upmu/upmu.h>

/* Results of cmd_run(): exit statuses of a program. */
#define CMD_OK 0
#define CMD_REFUSED 1 /* the command is correct and cannot be done; the text says why */
#define CMD_USAGE 2

/* Kinds of text, for consoles with colours.  A bar is '#' in text, and one colour on a screen. */
enum cmd_colour {
    CMD_PLAIN,
    CMD_TITLE,     /* heads of tables */
    CMD_PROMPT,
    CMD_NAME,      /* events and functions */
    CMD_ASIDE,     /* what follows from a count */
    CMD_GOOD,
    CMD_BAD,
    CMD_SIMULATED, /* the label of figures that no CPU counted */
    CMD_BAR,
    CMD_COLOURS
};

/* Output and keys. */
struct cmd_sink {
    void *context;
    void (*write)(void *context, const char *text, size_t length);
    /* Messages about errors; NULL: `write`. */
    void (*write_error)(void *context, const char *text, size_t length);
    /* Store a file; false: it did not work.  NULL: nowhere to. */
    bool (*write_file)(void *context, const char *name, const void *bytes, size_t length);
    /* The bytes of a file, which stay; NULL: it cannot be read.  NULL itself: no files. */
    const void *(*read_file)(void *context, const char *name, size_t *out_length);
    /* Wait for a key; -1: there was none.  NULL: no keys. */
    int (*read_key)(void *context, unsigned wait_ms);
    /* Clear the screen.  NULL: output continues without that. */
    void (*clear)(void *context);
    /* Text that follows is of this kind.  NULL: there are no colours. */
    void (*colour)(void *context, enum cmd_colour colour);
    /* Milliseconds of a clock; NULL: no progress is shown. */
    uint64_t (*now_ms)(void *context);
    /* Show this on the last line in place of what was shown so; "" removes it.  NULL: no progress is shown. */
    void (*progress)(void *context, const char *text);
};

struct cmd;
struct cmd_workload;

/* Interrupts that reached the handlers, by the handler's answer. */
struct cmd_interrupts {
    uint32_t handled, stale, not_ours;
};

/* The machine that executes this, brought up by the caller. */
struct cmd_live {
    const struct upmu_port *port;
    struct upmu_machine *machine;
    struct upmu_cpu *cpu; /* initialised; its pmu may be NULL: then `why_not` says why */
    const char *why_not;
    void *buffer;         /* for the workloads; a power of two, at least 64 KiB;
                             a multiple of the last-level cache makes `chase` miss */
    size_t buffer_bytes;
    struct cmd_interrupts (*interrupts)(void *context); /* or NULL */
    void *interrupts_context;
    /* If the host's interrupts bring overflows: keep the host's other work away, and let it go on.  NULL: NMIs do. */
    uintptr_t (*hold)(void);
    void (*release)(uintptr_t state);
    void (*identify)(struct cmd *cmd); /* print what this CPU is; NULL: CPUID tells */
    /* RDPMC in user mode; false: it faulted.  NULL: nothing runs there. */
    bool (*rdpmc_of_user)(void *program, uint32_t index, uint64_t *out_value);
    /* ---- Of a program among others, in user mode (tools/msr); zero elsewhere ---- */
    bool read_only;       /* registers are not written: no probe */
    unsigned least_of;    /* selftest counts so often, and the least counts; 0: once, in kernel mode and alone */
    void *program;        /* for the functions below */
    /* Run a workload; NULL: cmd_workload_loops(). */
    void (*run)(void *program, struct cmd *cmd, const struct cmd_workload *workload, uint64_t iterations);
    /* Did the registers stay as the library left them since the last call?  False: the error sink has the reason. */
    bool (*undisturbed)(void *program, struct cmd *cmd);
};

struct cmd_command;
struct cmd_option;
struct cmd_child;

/* A command that a program runs without cmd_run(), or one to which it adds options. */
struct cmd_other {
    const char *name;
    const char *about; /* NULL: cmd_run() has the command */
};

#define CMD_RUNS 100
#define CMD_HOT (__STDC_HOSTED__ ? 16384 : 512) /* programs of a host have more code than workloads */
#define CMD_FILE_BYTES (192u * 1024u)
#define CMD_RING_WORDS 16384u
#define CMD_RECORD_BYTES (6u * 4096u) /* precise records of a simulated CPU: five pages, and what aligns them */
#define CMD_LIST_BYTES 2048u

/* Units outside the cores. */
#define CMD_BOXES 192
#define CMD_TYPES 24
#define CMD_DIES 16 /* units that one list counts on: dies, cores, CPUs */

/* An address that was sampled. */
struct cmd_hot {
    uint64_t ip;
    bool user;
    uint32_t hits;
};

struct cmd_args;

/* A simulated machine with several CPUs and with units outside of them. */
struct cmd_room {
    struct upmu_sim_uncore uncore;
    struct upmu_cpu cpu[UPMU_SIM_CPUS];
};

/* Everything a command works with.  Zero it, fill in what stands above "private". */
struct cmd {
    const struct cmd_sink *sink;
    const struct cmd_live *live; /* NULL: pure commands and simulated CPUs only */
    const char *default_sim;     /* CPU to simulate if the machine has no PMU; NULL: refuse */
    const char *program;         /* for usage texts: "upmu" */
    const struct cmd_command *own; /* commands of this program alone; the last one has no name; or NULL */
    /* For completion: commands and options that cmd_run() does not see; the last ones have no name; or NULL. */
    const struct cmd_other *others;
    const struct cmd_option *other_options; /* of each of these commands */
    const struct cmd_child *child; /* counted in place of a workload; NULL: a workload is */
    struct cmd_room *room;       /* for machines with units (--sim skx2); NULL: only single CPUs are simulated */
    void *memory;                /* for logs and what is made of them, aligned as uint64_t; NULL: none are made */
    size_t memory_bytes;
    /* private */
    const struct cmd_args *args;
    bool to_errors, progress_shown;
    unsigned progress_part, progress_parts; /* parts 0: nothing lasts */
    uint64_t progress_due_ms;
    unsigned column;
    /* The target of the running command, see cmd_target.c. */
    struct upmu_machine *machine;
    struct upmu_cpu *cpu;
    const struct upmu_port *port;
    const struct upmu_pmu *pmu;
    bool simulated;
    struct upmu_machine own_machine;
    struct upmu_cpu own_cpu;
    struct upmu_sim sim;
    struct cmd_interrupts sim_interrupts;
    bool takes_branches; /* a simulated CPU takes all branches of the workloads' loops, for samples */
    uint32_t jitter;
    const char *about; /* descriptions of events, behind a file of catalogues; NULL: none */
    size_t about_bytes;
    void *chain_at; /* where `chase` continues in the live buffer; NULL: not prepared */
    /* Work areas. */
    struct upmu_session session;
    struct upmu_session second;
    struct upmu_count counts[UPMU_SET_EVENTS];
    uint64_t runs[UPMU_SET_EVENTS + 1][CMD_RUNS];
    uint64_t ring[CMD_RING_WORDS];
    uint8_t records[CMD_RECORD_BYTES];
    struct cmd_hot hot[CMD_HOT];
    unsigned hot_count;
    char list[CMD_LIST_BYTES];
    char part[CMD_LIST_BYTES]; /* the events of a list that belong to one type of units */
    char file[CMD_FILE_BYTES];
    size_t file_bytes;
    struct upmu_log log;
    struct upmu_output log_output;
    struct upmu_unit_info boxes[CMD_BOXES];
    struct upmu_uncore_pmu types[CMD_TYPES];
    struct upmu_unit_list units;
    struct upmu_uncore_region dies[CMD_DIES];
    struct upmu_count part_counts[UPMU_SET_EVENTS];
    struct upmu_permit permits[UPMU_PERMITS];
    struct upmu_thread thread[2];
    struct upmu_branch branches[UPMU_BRANCHES_MOST];
};

/*
 * Run one command; words[0] is its name.  Returns CMD_OK, CMD_REFUSED or CMD_USAGE.
 */
int cmd_run(struct cmd *cmd, unsigned word_count, const char *const *words);

/*
 * A value that stands in one word with its option becomes a word of its own: "-x," is "-x" ",", "--event=LIST" is
 * "--event" "LIST".  Words behind "--" are a program's.  "help COMMAND" becomes "COMMAND --help".  `out` has room for
 * twice as many; returns how many there are.
 */
unsigned cmd_split_words(const struct cmd *cmd, unsigned count, const char *const *words, const char **out);

/*
 * Run the command of a line of text.  Words are separated by blanks; "…" and '…' hold blanks.  A value may be attached
 * to its option, as above.  An empty line or one that begins with '#' does nothing.  Returns as cmd_run().
 */
int cmd_run_line(struct cmd *cmd, const char *line);

/* The i-th command's name; NULL after the last. */
const char *cmd_name(unsigned index);

#endif
