/* SPDX-License-Identifier: MIT */
/*
 * record and top: samples of a workload, by function and by address.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/branches.h>
#include <upmu/cpu.h>
#include <upmu/precise.h>
#include <upmu/session.h>

#define RECORD_EVENT "cycles"
#define RECORD_PERIOD 10000u
#define RECORD_SLICES 64u /* the ring is emptied so often */
#define RECORD_TOP 10u
#define RECORD_BAR 30u
#define RECORD_LEAST 200u /* of a program: a function has no line if its share is smaller */
#define TOP_ROUNDS 5u
#define TOP_LINES 20u
#define TOP_BAR 22u

struct record {
    const struct cmd_workload *workload;
    uint64_t iterations;
    uint64_t period;
    const char *list;
    uint64_t samples, lost, elsewhere; /* elsewhere: found no room in the table */
    uint64_t no_frame;
    uint64_t kernel;                   /* of those with an address */
    uint64_t exact;                    /* with the address of the sampled instruction itself */
    uint64_t elapsed_ns;               /* 0: no clock */
    uint64_t cut;                      /* lines that found no room in the file */
    uint64_t due;                      /* samples that the counts imply */
    uint64_t late;                     /* periods without a sample */
    uint64_t before[UPMU_SET_EVENTS];  /* counts when this round of top began */
    const char *counted;               /* events that are counted beside those of `list`; NULL: none */
    unsigned sampled;                  /* events of `list` */
    bool to_file, to_log, callers, data, branches;
    bool lent; /* the CPU's branch stack is the session's */
};

bool cmd_hot_add(struct cmd *cmd, uint64_t ip, bool user)
{
    unsigned i;

    for (i = 0; i < cmd->hot_count; i++) {
        if (cmd->hot[i].ip == ip && cmd->hot[i].user == user) {
            cmd->hot[i].hits++;
            return true;
        }
    }
    if (cmd->hot_count == CMD_HOT)
        return false;
    cmd->hot[cmd->hot_count].ip = ip;
    cmd->hot[cmd->hot_count].user = user;
    cmd->hot[cmd->hot_count++].hits = 1;
    return true;
}

static void file_sample(struct cmd *cmd, struct record *record, const struct upmu_sample *sample)
{
    struct cmd_symbol symbol = cmd_symbol_of(cmd, sample->ip);
    bool fits;

    if (symbol.name != NULL)
        fits = cmd_file_print(cmd, "0x%X\t%s+0x%X\t%U\t0x%x\n", sample->ip, symbol.name, sample->ip - symbol.start,
                              sample->time_ns, (unsigned)sample->events);
    else
        fits = cmd_file_print(cmd, "0x%X\t?\t%U\t0x%x\n", sample->ip, sample->time_ns, (unsigned)sample->events);
    record->cut += fits ? 0 : 1;
}

/* Add a sample to the histogram. */
static void histogram_add(struct cmd *cmd, struct record *record, const struct upmu_sample *sample)
{
    bool user = (sample->flags & UPMU_SAMPLE_USER) != 0;

    record->samples++;
    record->lost += sample->lost;
    if ((sample->flags & UPMU_SAMPLE_NO_FRAME) && !(sample->flags & UPMU_SAMPLE_PRECISE)) {
        record->no_frame++;
        return;
    }
    record->kernel += !user;
    record->exact += (sample->flags & UPMU_SAMPLE_EXACT) != 0;
    record->elsewhere += !cmd_hot_add(cmd, sample->ip, user);
}

/* Into the histogram, and the file and the log that were asked for. */
static enum upmu_status drain(struct cmd *cmd, struct record *record)
{
    enum upmu_status status = UPMU_OK;
    struct upmu_record taken;

    while (status == UPMU_OK && upmu_ring_view(&cmd->session.ring, &taken)) {
        histogram_add(cmd, record, taken.sample);
        if (record->to_file)
            file_sample(cmd, record, taken.sample);
        if (record->to_log)
            status = upmu_log_sample(&cmd->log, &taken, 0);
        upmu_ring_drop(&cmd->session.ring);
    }
    return status;
}

/* A session of what is sampled, and of what is counted beside it, on the target. */
static enum upmu_status record_attach(struct cmd *cmd, struct record *record)
{
    const unsigned parts = UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT;
    const struct upmu_sampling sampling = {
        .period = record->period, .flags = record->data ? UPMU_SAMPLING_PARTS(parts) : 0};
    enum upmu_status status = upmu_session_init(&cmd->session, cmd->machine);

    if (status == UPMU_OK)
        status = upmu_set_add(&cmd->session.set, record->list, &sampling);
    record->sampled = cmd->session.set.count;
    if (status == UPMU_OK && record->counted != NULL)
        status = upmu_set_add(&cmd->session.set, record->counted, NULL);
    if (status == UPMU_OK)
        status = upmu_session_ring(&cmd->session, cmd->ring, sizeof cmd->ring);
    if (status == UPMU_OK && record->callers)
        status = upmu_session_callers(&cmd->session, &cmd_work_sim_callers);
    if (status == UPMU_OK && record->branches) /* a simulated CPU's kernel is the hooks' alone */
        status = upmu_session_branches(&cmd->session, cmd->simulated ? UPMU_BRANCH_USER : UPMU_BRANCH_ANY);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&cmd->session, cmd->cpu);
    return status;
}

/* `beside`: lists of what may be counted beside the samples, the first one that fits is taken; ends with NULL. */
static int record_open(struct cmd *cmd, struct record *record, const char *const *beside)
{
    const struct upmu_branch_filter use = {.record = 0};
    enum upmu_status status;
    struct upmu_why why;

    if (record->period < cmd->pmu->min_period) {
        cmd_error(cmd, "the least period of %s is %U", cmd->pmu->name, cmd->pmu->min_period);
        return CMD_REFUSED;
    }
    if (cmd->simulated)
        cmd_work_sim_records(cmd);
    cmd->takes_branches = record->branches;
    if (record->branches && (status = upmu_cpu_use_branches(cmd->cpu, &use, &why)) != UPMU_OK)
        return cmd_refusal(cmd, status, &why);
    record->lent = record->branches;
    do {
        record->counted = *beside++;
        status = record_attach(cmd, record);
    } while (status != UPMU_OK && record->counted != NULL);
    return status == UPMU_OK ? CMD_OK : cmd_refusal(cmd, status, &cmd->session.why);
}

static enum upmu_status count_due(struct cmd *cmd, struct record *record)
{
    unsigned events = cmd->session.set.count, i;
    enum upmu_status status = upmu_set_read(&cmd->session.set, 0, events, cmd->counts);

    record->due = record->late = 0;
    for (i = 0; status == UPMU_OK && i < record->sampled; i++) {
        record->due += cmd_divide(cmd->counts[i].value, record->period);
        record->late += cmd->counts[i].lost;
    }
    return status;
}

/* Shown while nothing is sampled. */
static enum upmu_status show_progress(struct cmd *cmd, uint64_t done, uint64_t total)
{
    enum upmu_status status = upmu_session_stop(&cmd->session);

    cmd_progress(cmd, done, total);
    return status == UPMU_OK ? upmu_session_start(&cmd->session) : status;
}

/*
 * Run the workload once, in slices so that the ring does not fill up; the poll
 * stands for a kernel's clock tick, which lets throttled counters go on.
 */
static int record_pass(struct cmd *cmd, struct record *record)
{
    uint64_t slice = cmd_divide(record->iterations, RECORD_SLICES) + 1;
    uint64_t left = record->iterations, begin_ns = cmd_target_time(cmd);
    enum upmu_status status;

    if (cmd_child(cmd) != NULL && !cmd_child(cmd)->start(cmd))
        return CMD_REFUSED;
    if (record->to_log && cmd_results_symbols(cmd) != CMD_OK)
        return CMD_REFUSED;
    status = upmu_session_start(&cmd->session);
    cmd_progress_begin(cmd, 1);
    while (left != 0 && status == UPMU_OK) {
        uint64_t now = left < slice ? left : slice;

        left = cmd_workload_piece(cmd, record->workload, now, left);
        status = drain(cmd, record);
        if (status == UPMU_OK)
            status = upmu_cpu_poll(cmd->cpu);
        if (status == UPMU_OK && cmd_child(cmd) == NULL && cmd_progress_due(cmd))
            status = show_progress(cmd, record->iterations - left, record->iterations);
    }
    cmd_progress_end(cmd);
    if (status == UPMU_OK)
        status = upmu_session_stop(&cmd->session);
    record->elapsed_ns = cmd_target_time(cmd) - begin_ns;
    if (status == UPMU_OK)
        status = drain(cmd, record);
    if (status == UPMU_OK)
        status = count_due(cmd, record);
    return status == UPMU_OK ? CMD_OK : cmd_refusal(cmd, status, &cmd->session.why);
}

static void print_share(struct cmd *cmd, uint64_t part, uint64_t whole)
{
    uint64_t share = cmd_scale(part, 100000, whole);

    cmd_print(cmd, share < 10000 ? "  " : share < 100000 ? " " : "");
    cmd_milli(cmd, share, 2);
    cmd_print(cmd, "%%");
}

static uint64_t hits_in(const struct cmd *cmd, const struct cmd_symbol *symbol)
{
    uint64_t hits = 0;
    unsigned i;

    for (i = 0; i < cmd->hot_count; i++)
        if (cmd->hot[i].ip >= symbol->start && cmd->hot[i].ip < symbol->end)
            hits += cmd->hot[i].hits;
    return hits;
}

/*
 * The function with the most hits, at least `least`, below those that were printed: *hits and *number are of the last
 * one.  Functions with as many come in their order.  False: there is none.
 */
static bool function_next(const struct cmd *cmd, uint64_t least, uint64_t *hits, unsigned *number,
                          struct cmd_symbol *out_symbol)
{
    struct cmd_symbol symbol;
    uint64_t most = 0;
    unsigned i, best = 0;

    for (i = 0; cmd_symbol(cmd, i, &symbol); i++) {
        uint64_t found = hits_in(cmd, &symbol);

        if (found >= least && found > most && (found < *hits || (found == *hits && i > *number))) {
            *out_symbol = symbol;
            most = found;
            best = i;
        }
    }
    *hits = most;
    *number = best;
    return most != 0;
}

static void print_functions(struct cmd *cmd, const struct record *record)
{
    uint64_t least = cmd_child(cmd) != NULL ? cmd_divide(record->samples, RECORD_LEAST) : 0;
    uint64_t known = 0, hits = ~UINT64_C(0);
    struct cmd_symbol symbol;
    unsigned number = 0;

    cmd_coloured(cmd, CMD_TITLE, "\n  share    samples  function\n");
    while (function_next(cmd, least, &hits, &number, &symbol)) {
        known += hits;
        print_share(cmd, hits, record->samples);
        cmd_print(cmd, " %10G  ", hits);
        cmd_coloured(cmd, CMD_NAME, "%-14s ", symbol.name);
        cmd_bar(cmd, hits, record->samples, RECORD_BAR);
        cmd_print(cmd, "\n");
    }
    if (known < record->samples) {
        print_share(cmd, record->samples - known, record->samples);
        cmd_print(cmd, " %10G  %s\n", record->samples - known, "(elsewhere)");
    }
}

/* Selection sort of the first RECORD_TOP: the table is small. */
static void sort_hot(struct cmd *cmd)
{
    unsigned i, j;

    for (i = 0; i < RECORD_TOP && i < cmd->hot_count; i++) {
        for (j = i + 1; j < cmd->hot_count; j++) {
            if (cmd->hot[j].hits > cmd->hot[i].hits) {
                struct cmd_hot swapped = cmd->hot[i];

                cmd->hot[i] = cmd->hot[j];
                cmd->hot[j] = swapped;
            }
        }
    }
}

void cmd_hot_print(struct cmd *cmd, uint64_t samples, void (*name)(struct cmd *cmd, uint64_t ip, const void *context),
                   const void *context)
{
    unsigned i;

    sort_hot(cmd);
    cmd_coloured(cmd, CMD_TITLE, "\n  share    samples  address\n");
    for (i = 0; i < RECORD_TOP && i < cmd->hot_count; i++) {
        print_share(cmd, cmd->hot[i].hits, samples);
        cmd_print(cmd, " %10u  0x%X", (unsigned)cmd->hot[i].hits, cmd->hot[i].ip);
        name(cmd, cmd->hot[i].ip, context);
        cmd_print(cmd, "\n");
    }
}

static void print_symbol(struct cmd *cmd, uint64_t ip, const void *context)
{
    struct cmd_symbol symbol = cmd_symbol_of(cmd, ip);

    (void)context;
    if (symbol.name != NULL)
        cmd_coloured(cmd, CMD_NAME, "  %s+0x%X", symbol.name, ip - symbol.start);
}

static void print_record(struct cmd *cmd, const struct record *record)
{
    cmd_coloured(cmd, CMD_TITLE, "\n %G samples of %s every %G, ", record->samples, record->list, record->period);
    if (cmd_child(cmd) != NULL)
        cmd_coloured(cmd, CMD_TITLE, "program '%s'\n", record->workload->name);
    else
        cmd_coloured(cmd, CMD_TITLE, "workload '%s' (%G iterations)\n", record->workload->name, record->iterations);
    if (record->due > record->samples + (record->samples >> 6) + 1)
        cmd_print(cmd, " %G were due: interrupts came too fast and were throttled\n", record->due);
    if (record->late != 0)
        cmd_print(cmd, " %G periods ended without a sample: too short, or throttled\n", record->late);
    if (record->samples == 0) {
        cmd_print(cmd, " no sample: fewer events than a period, or no interrupt arrived\n");
        return;
    }
    print_functions(cmd, record);
    cmd_hot_print(cmd, record->samples, print_symbol, NULL);
    if (record->lost + record->no_frame + record->elsewhere != 0)
        cmd_print(cmd, "\n lost %G, without address %G, not listed %G\n", record->lost, record->no_frame,
                  record->elsewhere);
}

static int write_samples(struct cmd *cmd, const struct record *record, const char *name)
{
    if (record->cut != 0)
        cmd_error(cmd, "%s holds the first %U samples only", name, record->samples - record->cut);
    return cmd_results_store(cmd, name, cmd->file, cmd->file_bytes);
}

static int record_prepare(struct cmd *cmd, const struct cmd_args *args, struct record *record)
{
    const struct record none = {0};

    *record = none;
    record->workload = cmd_workload_operand(cmd, args, "mix");
    if (record->workload == NULL)
        return CMD_USAGE;
    record->iterations = args->iterations != 0 ? args->iterations : record->workload->iterations;
    record->period = args->period != 0 ? args->period : RECORD_PERIOD;
    record->list = args->events != NULL ? args->events : RECORD_EVENT;
    if (args->events == NULL && cmd_child(cmd) != NULL)
        record->list = cmd_child(cmd)->events;
    record->to_file = args->out != NULL;
    record->to_log = cmd_results_wanted(args);
    record->callers = args->callers;
    record->data = args->data;
    record->branches = args->branches;
    cmd->hot_count = 0;
    cmd->file_bytes = 0;
    return CMD_OK;
}

static void file_head(struct cmd *cmd, const struct record *record)
{
    if (!record->to_file)
        return;
    (void)cmd_file_print(cmd, "# upmu record: %s every %U on %s%s, workload %s\n# ip\tsymbol\ttime_ns\tevents\n",
                         record->list, record->period, cmd->pmu->name, cmd->simulated ? " (SIMULATED)" : "",
                         record->workload->name);
}

int cmd_record(struct cmd *cmd, const struct cmd_args *args)
{
    static const char *const nothing = NULL;
    struct record record;
    int result = record_prepare(cmd, args, &record);

    if (result != CMD_OK)
        return result;
    if (record.callers && !record.to_log) {
        cmd_error(cmd, "-g: callers are written to --log, --folded, --pprof and --perf; name one");
        return CMD_USAGE;
    }
    if (record.data && args->log == NULL && args->form[CMD_PERF] == NULL) {
        cmd_error(cmd, "-d: what is known of the data is written to --log and --perf; name one");
        return CMD_USAGE;
    }
    if (record.branches && args->log == NULL && args->form[CMD_PERF] == NULL) {
        cmd_error(cmd, "-b: branches are written to --log and --perf; name one");
        return CMD_USAGE;
    }
    result = cmd_target_open(cmd, args);
    if (result == CMD_OK && record.callers && !cmd->simulated) {
        cmd_error(cmd, "-g: the loops of the workloads keep no frame pointers; callers are simulated only (--sim)");
        result = CMD_REFUSED;
    }
    if (result == CMD_OK) {
        file_head(cmd, &record);
        cmd_workload_prepare(cmd);
        result = record_open(cmd, &record, &nothing);
    }
    if (result == CMD_OK && record.to_log)
        result = cmd_results_begin(cmd, record.workload);
    if (result == CMD_OK) {
        result = record_pass(cmd, &record);
        (void)!upmu_session_detach(&cmd->session);
        if (result == CMD_OK)
            print_record(cmd, &record);
    }
    if (record.lent)
        (void)!upmu_cpu_use_branches(cmd->cpu, NULL, NULL);
    if (result == CMD_OK && record.to_file)
        result = write_samples(cmd, &record, args->out);
    if (result == CMD_OK && record.to_log)
        result = cmd_results_end(cmd, args);
    cmd_target_close(cmd);
    return result;
}

/* ---- top: the columns of perf top ---- */

/* A function, or what has no name; `user` tells which of two at one address. */
struct top_row {
    const char *name;
    uint64_t hits;
    bool user;
};

static void print_tenths(struct cmd *cmd, uint64_t part, uint64_t whole)
{
    uint64_t share = cmd_scale(part, 100000, whole);

    cmd_print(cmd, share < 10000 ? "  " : share < 100000 ? " " : "");
    cmd_milli(cmd, share, 1);
    cmd_print(cmd, "%%");
}

static void print_top_head(struct cmd *cmd, const struct record *record)
{
    uint64_t framed = record->samples - record->no_frame;

    if (record->elapsed_ns != 0)
        cmd_print(cmd, " top: %G irqs/s", cmd_scale(record->samples, UINT64_C(1000000000), record->elapsed_ns));
    else
        cmd_print(cmd, " top: %G irqs (no clock)", record->samples);
    cmd_print(cmd, "  kernel: ");
    print_tenths(cmd, record->kernel, framed);
    cmd_print(cmd, "  exact: ");
    print_tenths(cmd, record->exact, framed);
    cmd_print(cmd, "  [%s every %G], 1 CPU\n\n", record->list, record->period);
}

/* Hits of one mode in one symbol; NULL-named: outside of all. */
static struct top_row top_row_of(const struct cmd *cmd, const struct cmd_symbol *symbol, bool user)
{
    struct top_row row = {symbol->name, 0, user};
    unsigned i;

    for (i = 0; i < cmd->hot_count; i++) {
        struct cmd_symbol found = cmd_symbol_of(cmd, cmd->hot[i].ip);

        if (cmd->hot[i].user == user && (symbol->name == NULL ? found.name == NULL : found.start == symbol->start))
            row.hits += cmd->hot[i].hits;
    }
    return row;
}

/* The i-th of all rows, in no order; false: there is none. */
static bool top_row_at(const struct cmd *cmd, unsigned number, struct top_row *out_row)
{
    static const struct cmd_symbol none = {NULL, 0, 0};
    struct cmd_symbol symbol;
    unsigned i = 0;

    while (i < number / 2 && cmd_symbol(cmd, i, &symbol))
        i++;
    if (i < number / 2)
        return false;
    *out_row = top_row_of(cmd, cmd_symbol(cmd, i, &symbol) ? &symbol : &none, (number & 1u) != 0);
    return true;
}

/* The row with the most hits below those that were printed; rows with as many come in their order. */
static bool top_row_next(const struct cmd *cmd, uint64_t *hits, unsigned *number, struct top_row *out_row)
{
    struct top_row row;
    unsigned i, best = 0;

    out_row->hits = 0;
    for (i = 0; top_row_at(cmd, i, &row); i++) {
        bool later = row.hits < *hits || (row.hits == *hits && i > *number);

        if (later && row.hits > out_row->hits) {
            *out_row = row;
            best = i;
        }
    }
    *hits = out_row->hits;
    *number = best;
    return out_row->hits != 0;
}

static void print_top(struct cmd *cmd, const struct record *record)
{
    const char *program = cmd->simulated ? "[simulated]" : cmd->program;
    uint64_t hits = ~UINT64_C(0);
    unsigned number = 0, lines = 0;
    struct top_row row = {0};

    print_top_head(cmd, record);
    cmd_coloured(cmd, CMD_TITLE, "    samples    pcnt  function        DSO\n");
    while (lines++ < TOP_LINES && top_row_next(cmd, &hits, &number, &row)) {
        cmd_print(cmd, " %10G  ", row.hits);
        print_tenths(cmd, row.hits, record->samples);
        cmd_coloured(cmd, CMD_NAME, "  %-14s", row.name != NULL ? row.name : "(elsewhere)");
        cmd_print(cmd, "  %s\n", row.user ? program : "[kernel]");
    }
    if (record->lost + record->no_frame + record->elsewhere != 0)
        cmd_print(cmd, "\n lost %G, without address %G, not listed %G\n", record->lost, record->no_frame,
                  record->elsewhere);
}

/* Events that are counted beside the samples of RECORD_EVENT: as many of the usual ones as have a counter. */
static const char *const top_beside[] = {
    "instructions,branches,branch-misses,cache-references,cache-misses",
    "instructions,branches,branch-misses",
    "instructions",
    NULL,
};

/* A row of an event: its count in this round, in millions a second, and a bar beside those of the other events. */
static void print_top_event(struct cmd *cmd, const struct record *record, const char *name, uint64_t count,
                            uint64_t most)
{
    cmd_coloured(cmd, CMD_NAME, " %-26s", name);
    cmd_print(cmd, " %14G  ", count);
    if (record->elapsed_ns != 0)
        cmd_print(cmd, "%9G  ", cmd_scale(count, 1000, record->elapsed_ns));
    cmd_bar(cmd, count, most, TOP_BAR);
    cmd_print(cmd, "\n");
}

static void print_top_events(struct cmd *cmd, const struct record *record)
{
    const unsigned events = cmd->session.set.count;
    const char *list = record->list;
    size_t cursor = 0;
    uint64_t most = 0;
    char name[80];

    for (unsigned i = 0; i < events; i++)
        if (cmd->counts[i].value - record->before[i] > most)
            most = cmd->counts[i].value - record->before[i];
    cmd_coloured(cmd, CMD_TITLE, " event                               count  %s\n",
                 record->elapsed_ns != 0 ? "    M/sec" : "");
    for (unsigned i = 0; i < events; i++) {
        if (i == record->sampled) {
            list = record->counted;
            cursor = 0;
        }
        cmd_event_name(cmd->pmu, &cmd->session.set, i, list, &cursor, name, sizeof name);
        print_top_event(cmd, record, name, cmd->counts[i].value - record->before[i], most);
    }
    cmd_print(cmd, "\n");
}

static bool top_key(struct cmd *cmd)
{
    return cmd->sink->read_key != NULL && cmd->sink->read_key(cmd->sink->context, 500) >= 0;
}

/* Print a screen.  Where screens are not cleared, the label of a simulated CPU stands above the first one alone. */
static int top_round(struct cmd *cmd, struct record *record, unsigned round)
{
    int result;

    cmd->hot_count = 0;
    record->samples = record->lost = record->no_frame = record->elsewhere = record->kernel = 0;
    record->exact = 0;
    for (unsigned i = 0; i < cmd->session.set.count; i++)
        record->before[i] = round == 0 ? 0 : cmd->counts[i].value;
    result = record_pass(cmd, record);
    if (cmd->sink->clear != NULL) {
        cmd->sink->clear(cmd->sink->context);
        cmd_target_label(cmd);
    }
    cmd_coloured(cmd, CMD_TITLE, " round %u%s\n", round + 1, cmd->sink->read_key != NULL ? "; any key ends" : "");
    if (result == CMD_OK)
        print_top_events(cmd, record);
    print_top(cmd, record);
    return result;
}

int cmd_top(struct cmd *cmd, const struct cmd_args *args)
{
    struct record record;
    unsigned rounds, round;
    int result = record_prepare(cmd, args, &record);

    if (result != CMD_OK)
        return result;
    rounds = args->runs != 0 ? args->runs : cmd->sink->read_key != NULL ? ~0u : TOP_ROUNDS;
    result = cmd_target_open(cmd, args);
    if (result == CMD_OK) {
        cmd_workload_prepare(cmd);
        result = record_open(cmd, &record, args->events == NULL ? top_beside : &top_beside[3]);
    }
    if (result == CMD_OK) {
        for (round = 0; round < rounds && result == CMD_OK; round++) {
            result = top_round(cmd, &record, round);
            if (top_key(cmd))
                break;
        }
        (void)!upmu_session_detach(&cmd->session);
    }
    cmd_target_close(cmd);
    return result;
}
