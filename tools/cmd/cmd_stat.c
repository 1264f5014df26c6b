/* SPDX-License-Identifier: MIT */
/*
 * stat: count events of a workload, several times, with what follows from them.  Events of units outside the cores are
 * those of all dies together.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/abi.h>
#include <upmu/event.h>
#include <upmu/session.h>

#define STAT_DEFAULT "instructions,cycles,branches,branch-misses,cache-references,cache-misses"
#define STAT_DEFAULT_SMALL "instructions,cycles"
#define STAT_TIME UPMU_SET_EVENTS /* row of cmd->runs that holds the time */

/* The role of an event in derived figures. */
enum stat_role {
    ROLE_NONE,
    ROLE_INSTRUCTIONS,
    ROLE_CYCLES,
    ROLE_BRANCHES,
    ROLE_MISSES,
    ROLE_REFERENCES,
    ROLE_LLC_MISSES
};

static const char *const role_names[] = {"",         "instructions",  "cycles",          "branches",
                                         "branch-misses", "cache-references", "cache-misses"};
#define STAT_ROLES (sizeof role_names / sizeof role_names[0])

struct stat_row {
    enum stat_role role;
    uint64_t mean;
    uint64_t noise_ppm; /* standard deviation, millionths of the mean */
    char name[80];
};

struct stat_table {
    const struct cmd_workload *workload;
    const char *pmu;
    uint64_t iterations;
    unsigned runs, events;
    bool units; /* of units outside the cores */
    struct stat_row row[UPMU_SET_EVENTS + 1]; /* the last one: time */
    int of_role[STAT_ROLES];                  /* row, or -1 */
};

/* Same event under the attributes given, whatever name was typed. */
static enum stat_role role_of(const struct cmd *cmd, const struct upmu_event *event)
{
    struct upmu_event known;
    unsigned role;

    for (role = 1; role < STAT_ROLES; role++) {
        if (upmu_event_parse(cmd->pmu, role_names[role], &known, NULL) == UPMU_OK &&
            known.id.catalogue == event->id.catalogue && known.id.row == event->id.row &&
            known.id.masks == event->id.masks && known.attributes == event->attributes)
            return (enum stat_role)role;
    }
    return ROLE_NONE;
}

void cmd_event_name(const struct upmu_pmu *pmu, const struct upmu_set *set, unsigned index, const char *list,
                    size_t *cursor, char *name, size_t size)
{
    struct upmu_spec spec;

    if (upmu_spec_next(list, cursor, &spec, NULL) != UPMU_OK || upmu_spec_format(&spec, name, size) == 0)
        (void)upmu_event_format(pmu, upmu_set_event(set, index), name, size);
}

static void name_rows(const struct upmu_pmu *pmu, const struct upmu_set *set, const char *list,
                      struct stat_table *table)
{
    size_t cursor = 0;
    unsigned i;

    for (i = 0; i < table->events; i++)
        cmd_event_name(pmu, set, i, list, &cursor, table->row[i].name, sizeof table->row[i].name);
}

static uint64_t mean_of(const uint64_t *values, unsigned count)
{
    uint64_t sum = 0;
    unsigned i;

    for (i = 0; i < count; i++)
        sum += values[i];
    return cmd_divide(sum + count / 2, count);
}

/* Deviations are taken in millionths of the mean, so that squares cannot overflow. */
static uint64_t noise_of(const uint64_t *values, unsigned count, uint64_t mean)
{
    uint64_t squares = 0;
    unsigned i;

    if (count < 2 || mean == 0)
        return 0;
    for (i = 0; i < count; i++) {
        uint64_t off = values[i] > mean ? values[i] - mean : mean - values[i];
        uint64_t ppm = cmd_scale(off, 1000000, mean);

        if (ppm > 100000000)
            ppm = 100000000;
        squares += ppm * ppm;
    }
    return cmd_root(cmd_divide(squares, count - 1));
}

/* ---- Cells, in the order of perf stat -x ---- */

/* The name of an event, in quotes if it could be taken for several cells (RFC 4180). */
static void cell_name(struct cmd *cmd, const char *name)
{
    const char *separator = cmd->args->separator;

    if (!cmd_contains(name, separator) && !cmd_contains(name, "\"")) {
        cmd_print(cmd, "%s", name);
        return;
    }
    cmd_print(cmd, "\"");
    for (; *name != '\0'; name++)
        cmd_print(cmd, *name == '"' ? "\"\"" : "%c", *name);
    cmd_print(cmd, "\"");
}

/* Count, unit (there is none), event. */
static void cells_count(struct cmd *cmd, const char *name, enum upmu_quality quality, uint64_t value)
{
    const char *separator = cmd->args->separator;

    if (quality == UPMU_QUALITY_NEVER_RAN)
        cmd_print(cmd, "<not counted>%s%s", separator, separator);
    else
        cmd_print(cmd, "%U%s%s", value, separator, separator);
    cell_name(cmd, name);
}

static void stat_line(struct cmd *cmd, struct cmd_watch *watch, uint64_t microseconds)
{
    const struct stat_table *table = watch->context;

    for (unsigned i = 0; i < table->events && cmd->args->separator != NULL; i++) {
        uint64_t seconds = cmd_divide(microseconds, 1000000);

        cmd_print(cmd, "%U.%06u%s", seconds, (unsigned)(microseconds - seconds * 1000000), cmd->args->separator);
        cells_count(cmd, table->row[i].name, cmd->counts[i].quality, cmd->counts[i].value - watch->last[i]);
        cmd_print(cmd, "\n");
    }
    for (unsigned i = 0; i < table->events && cmd->args->separator == NULL; i++) {
        cmd_print(cmd, "%12U us %18G  ", microseconds, cmd->counts[i].value - watch->last[i]);
        cmd_coloured(cmd, CMD_NAME, "%s", table->row[i].name);
        cmd_print(cmd, "\n");
    }
}

/* The workload with a line of each event at intervals.  (Interrupts stay on: the console may be slow.) */
static enum upmu_status stat_at_intervals(struct cmd *cmd, const struct stat_table *table)
{
    union {
        const struct stat_table *table;
        void *context;
    } lines = {table};
    struct cmd_watch watch = {.ms = cmd->args->interval, .line = stat_line, .context = lines.context};

    return cmd_watch_run(cmd, &watch, table->workload, table->iterations);
}

static enum upmu_status stat_run(struct cmd *cmd, const struct stat_table *table, unsigned run)
{
    enum upmu_status status;
    uintptr_t flags = 0;
    uint64_t time;
    unsigned i;

    for (i = 0; i < table->events; i++)
        cmd->runs[i][run] = cmd->counts[i].value;
    time = cmd->counts[0].enabled_ns;
    if (cmd_child(cmd) != NULL && !cmd_child(cmd)->start(cmd))
        return UPMU_ERR_END;
    if (cmd->args->interval == 0 && cmd->port->irq_save != NULL)
        flags = cmd->port->irq_save(cmd->port->context);
    status = upmu_session_start(&cmd->session);
    if (status == UPMU_OK && cmd->args->interval != 0) {
        status = stat_at_intervals(cmd, table);
        (void)!upmu_session_stop(&cmd->session);
    } else if (status == UPMU_OK) {
        cmd_workload_run(cmd, table->workload, table->iterations);
        status = upmu_session_stop(&cmd->session);
    }
    if (cmd->args->interval == 0 && cmd->port->irq_restore != NULL)
        cmd->port->irq_restore(cmd->port->context, flags);
    if (status == UPMU_OK)
        status = upmu_set_read(&cmd->session.set, 0, table->events, cmd->counts);
    if (status == UPMU_OK && !cmd_target_undisturbed(cmd))
        status = UPMU_ERR_CHANGED;
    if (status != UPMU_OK)
        return status;
    for (i = 0; i < table->events; i++)
        cmd->runs[i][run] = cmd->counts[i].value - cmd->runs[i][run];
    cmd->runs[STAT_TIME][run] = cmd->counts[0].enabled_ns - time;
    return UPMU_OK;
}

static void summarise(struct cmd *cmd, struct stat_table *table)
{
    unsigned i;

    for (i = 0; i < STAT_ROLES; i++)
        table->of_role[i] = -1;
    for (i = 0; i <= table->events; i++) {
        const uint64_t *values = cmd->runs[i == table->events ? STAT_TIME : i];
        struct stat_row *row = &table->row[i];

        row->mean = mean_of(values, table->runs);
        row->noise_ppm = noise_of(values, table->runs, row->mean);
        row->role = i == table->events || table->units ? ROLE_NONE : role_of(cmd, upmu_set_event(&cmd->session.set, i));
        if (row->role != ROLE_NONE && table->of_role[row->role] < 0)
            table->of_role[row->role] = (int)i;
    }
}

static bool role_mean(const struct stat_table *table, enum stat_role role, uint64_t *out_mean)
{
    if (table->of_role[role] < 0)
        return false;
    *out_mean = table->row[table->of_role[role]].mean;
    return *out_mean != 0;
}

/* The figure that follows from a count and another one, else the count's rate; false: there is none. */
static bool derived(const struct stat_table *table, const struct stat_row *row, uint64_t *out_thousandths,
                    const char **out_unit)
{
    uint64_t time = table->row[table->events].mean;
    uint64_t other;

    if (row->role == ROLE_INSTRUCTIONS && role_mean(table, ROLE_CYCLES, &other)) {
        *out_thousandths = cmd_scale(row->mean, 1000, other);
        *out_unit = "insn per cycle";
    } else if (row->role == ROLE_MISSES && role_mean(table, ROLE_BRANCHES, &other)) {
        *out_thousandths = cmd_scale(row->mean, 100000, other);
        *out_unit = "% of all branches";
    } else if (row->role == ROLE_LLC_MISSES && role_mean(table, ROLE_REFERENCES, &other)) {
        *out_thousandths = cmd_scale(row->mean, 100000, other);
        *out_unit = "% of all cache refs";
    } else if (row->role == ROLE_CYCLES && time != 0) {
        *out_thousandths = cmd_scale(row->mean, 1000, time);
        *out_unit = "GHz";
    } else if (time != 0 && row->mean != 0) {
        *out_thousandths = cmd_scale(row->mean, 1000000, time);
        *out_unit = "M/sec";
    } else {
        return false;
    }
    return true;
}

static void print_derived(struct cmd *cmd, const struct stat_table *table, const struct stat_row *row)
{
    uint64_t thousandths;
    const char *unit;

    if (!derived(table, row, &thousandths, &unit))
        return;
    cmd_colour(cmd, CMD_ASIDE);
    cmd_print(cmd, "  # ");
    cmd_milli(cmd, thousandths, 2);
    cmd_coloured(cmd, CMD_ASIDE, "%s%s", unit[0] == '%' ? "" : " ", unit);
}

static void print_noise(struct cmd *cmd, const struct stat_table *table, const struct stat_row *row)
{
    if (table->runs < 2)
        return;
    cmd_column(cmd, 75);
    cmd_print(cmd, "  ( +- ");
    cmd_milli(cmd, cmd_divide(row->noise_ppm + 5, 10), 2);
    cmd_print(cmd, "%% )");
}

static const char *quality_text(enum upmu_quality quality)
{
    switch (quality) {
    case UPMU_QUALITY_EXACT:
        return "exact";
    case UPMU_QUALITY_SCALED:
        return "scaled";
    case UPMU_QUALITY_PARTIAL:
        return "partial";
    case UPMU_QUALITY_NEVER_RAN:
        return "never ran";
    case UPMU_QUALITY_UNPROVEN:
    default:
        return "unproven";
    }
}

static void print_table(struct cmd *cmd, const struct stat_table *table)
{
    const struct stat_row *time = &table->row[table->events];
    unsigned i;

    cmd_coloured(cmd, CMD_TITLE, "\n Counts of '%s' on %s", table->workload->name, table->pmu);
    if (cmd_child(cmd) == NULL)
        cmd_coloured(cmd, CMD_TITLE, ", %G iterations", table->iterations);
    if (table->runs > 1)
        cmd_coloured(cmd, CMD_TITLE, ", mean of %u runs", table->runs);
    cmd_coloured(cmd, CMD_TITLE, ":\n\n");
    for (i = 0; i < table->events; i++) {
        const struct stat_row *row = &table->row[i];
        enum upmu_quality quality = cmd->counts[i].quality;

        if (quality == UPMU_QUALITY_NEVER_RAN)
            cmd_print(cmd, "%18s  ", "<never ran>");
        else
            cmd_print(cmd, "%18G  ", row->mean);
        cmd_coloured(cmd, CMD_NAME, "%-26s", row->name);
        if (quality == UPMU_QUALITY_EXACT) {
            print_derived(cmd, table, row);
            print_noise(cmd, table, row);
        } else {
            cmd_print(cmd, "  (%s)", quality_text(quality));
        }
        cmd_print(cmd, "\n");
    }
    if (time->mean != 0) {
        cmd_print(cmd, "\n%18G  %-26s", time->mean, "ns counted");
        print_noise(cmd, table, time);
        cmd_print(cmd, "\n");
    }
    cmd_print(cmd, "\n");
}

/* The time with a counter, and its share of the time that was counted; empty without a clock. */
static void cells_time(struct cmd *cmd, const struct stat_table *table, const struct upmu_count *count)
{
    const char *separator = cmd->args->separator;

    cmd_print(cmd, "%s", separator);
    if (count->enabled_ns != 0)
        cmd_print(cmd, "%U", cmd_scale(table->row[table->events].mean, count->running_ns, count->enabled_ns));
    cmd_print(cmd, "%s", separator);
    if (count->enabled_ns != 0)
        cmd_milli(cmd, cmd_scale(count->running_ns, 100000, count->enabled_ns), 2);
    cmd_print(cmd, "%s", separator);
}

static void print_cells(struct cmd *cmd, const struct stat_table *table)
{
    const char *separator = cmd->args->separator;
    uint64_t thousandths;
    const char *unit;

    for (unsigned i = 0; i < table->events; i++) {
        const struct stat_row *row = &table->row[i];
        const struct upmu_count *count = &cmd->counts[i];

        cells_count(cmd, row->name, count->quality, row->mean);
        if (table->runs > 1) {
            cmd_print(cmd, "%s", separator);
            cmd_milli(cmd, cmd_divide(row->noise_ppm + 5, 10), 2);
            cmd_print(cmd, "%%");
        }
        cells_time(cmd, table, count);
        if (count->quality == UPMU_QUALITY_EXACT && derived(table, row, &thousandths, &unit)) {
            cmd_milli(cmd, thousandths, 2);
            cmd_print(cmd, "%s%s\n", separator, unit);
        } else {
            cmd_print(cmd, "%s\n", separator);
        }
    }
}

static void print_json(struct cmd *cmd, const struct stat_table *table)
{
    unsigned i, run;

    cmd_print(cmd, "{\"pmu\":\"%s\",\"simulated\":%s,\"workload\":", table->pmu, cmd->simulated ? "true" : "false");
    cmd_json_text(cmd, table->workload->name);
    cmd_print(cmd, ",\"iterations\":%U,\"runs\":%u,\"ns\":%U,\n", table->iterations, table->runs,
              table->row[table->events].mean);
    cmd_print(cmd, "\"events\":[");
    for (i = 0; i < table->events; i++) {
        cmd_print(cmd, i == 0 ? "\n{\"event\":" : ",\n{\"event\":");
        cmd_json_text(cmd, table->row[i].name);
        cmd_print(cmd, ",\"mean\":%U,\"noise_ppm\":%U,\"quality\":\"%s\",\"counts\":[", table->row[i].mean,
                  table->row[i].noise_ppm, quality_text(cmd->counts[i].quality));
        for (run = 0; run < table->runs; run++)
            cmd_print(cmd, run == 0 ? "%U" : ",%U", cmd->runs[i][run]);
        cmd_print(cmd, "]}");
    }
    cmd_print(cmd, "\n]}\n");
}

bool cmd_stat_fits(struct cmd *cmd, const char *list)
{
    struct upmu_dry_run dry = {NULL, 0, 0};

    return upmu_session_init(&cmd->second, cmd->machine) == UPMU_OK &&
           upmu_set_add(&cmd->second.set, list, NULL) == UPMU_OK &&
           upmu_session_dry_run(&cmd->second, cmd->pmu, &dry) == UPMU_OK;
}

static enum upmu_status stat_measure(struct cmd *cmd, const char *list, struct stat_table *table)
{
    enum upmu_status status = upmu_session_init(&cmd->session, cmd->machine), detached;
    unsigned run;

    if (status == UPMU_OK)
        status = upmu_set_add(&cmd->session.set, list, NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&cmd->session, cmd->cpu);
    if (status != UPMU_OK)
        return status;
    table->events = cmd->session.set.count;
    table->pmu = cmd->pmu->name;
    name_rows(cmd->pmu, &cmd->session.set, list, table);
    cmd_workload_prepare(cmd);
    status = upmu_set_read(&cmd->session.set, 0, table->events, cmd->counts);
    cmd_progress_begin(cmd, table->runs);
    for (run = 0; run < table->runs && status == UPMU_OK; run++) {
        cmd_progress_part(cmd, run);
        status = stat_run(cmd, table, run);
    }
    cmd_progress_end(cmd);
    detached = upmu_session_detach(&cmd->session);
    if (status == UPMU_OK)
        status = detached;
    return status;
}

/* The list names a unit: count on each die that has it.  `measured` becomes false if it names none. */
static enum upmu_status stat_units(struct cmd *cmd, const char *list, struct stat_table *table, bool *measured)
{
    const struct upmu_region *region = &cmd->dies->region;
    enum upmu_status status, closed;

    *measured = cmd->units.machine == cmd->machine || cmd_target_units(cmd) == UPMU_OK;
    status = *measured ? upmu_uncore_region_open(cmd->dies, CMD_DIES, cmd->machine, list) : UPMU_ERR_NO_SUCH_PMU;
    *measured = status != UPMU_ERR_NO_SUCH_PMU;
    if (status != UPMU_OK)
        return status;
    table->units = true;
    table->pmu = cmd->dies->unit.meter.pmu->name;
    table->events = region->events;
    name_rows(cmd->dies->unit.meter.pmu, &region->session.set, list, table);
    cmd_workload_prepare(cmd);
    cmd_progress_begin(cmd, table->runs);
    for (unsigned run = 0; run < table->runs && status == UPMU_OK; run++) {
        cmd_progress_part(cmd, run);
        status = upmu_uncore_region_begin(cmd->dies, CMD_DIES);
        if (status == UPMU_OK) {
            cmd_workload_run(cmd, table->workload, table->iterations);
            status = upmu_uncore_region_end(cmd->dies, CMD_DIES, cmd->counts, table->events);
        }
        for (unsigned i = 0; i < table->events; i++)
            cmd->runs[i][run] = cmd->counts[i].value;
        cmd->runs[STAT_TIME][run] = cmd->counts[0].enabled_ns;
    }
    cmd_progress_end(cmd);
    closed = upmu_uncore_region_close(cmd->dies, CMD_DIES);
    if (status == UPMU_OK)
        status = closed;
    return status;
}

/* A program of an operating system reaches no units. */
static bool reaches_units(const struct cmd *cmd)
{
    return cmd->simulated || cmd->live->least_of == 0;
}

enum upmu_status cmd_stat_count(struct cmd *cmd, const struct cmd_stat_work *work, const char *list, bool units,
                                struct upmu_why *out_why)
{
    struct stat_table table = {.workload = work->workload, .iterations = work->iterations, .runs = work->runs};
    enum upmu_status status = UPMU_ERR_UNSUPPORTED;
    bool measured = false;

    if (!units)
        status = stat_measure(cmd, list, &table);
    else if (reaches_units(cmd))
        status = stat_units(cmd, list, &table, &measured);
    *out_why = units ? cmd->dies->region.session.why : cmd->session.why;
    if (out_why->status != status)
        *out_why = (struct upmu_why){.status = status};
    return status;
}

/* Say why a list of units and cores is refused, in words of the tool, too. */
static int stat_refusal(struct cmd *cmd, enum upmu_status status, const struct upmu_why *why)
{
    int result;

    if (status == UPMU_ERR_END) /* a program was not started, and the reason was printed */
        return CMD_REFUSED;
    result = cmd_refusal(cmd, status, why);
    if (status == UPMU_ERR_WRONG_PMU)
        cmd_error(cmd, "a list has events of cores, or of one type of unit, of boxes that there are");
    else if (status == UPMU_ERR_NO_SUCH_PMU && cmd->args->interval != 0)
        cmd_error(cmd, "-I: events of cores only");
    return result;
}

static int stat_events(struct cmd *cmd, const struct cmd_stat_work *work)
{
    struct stat_table table = {.workload = work->workload, .iterations = work->iterations, .runs = work->runs};
    const struct cmd_args *args = cmd->args;
    const char *list = args->events;
    enum upmu_status status = UPMU_OK;
    bool measured = false;

    if (list == NULL && cmd_child(cmd) != NULL)
        list = cmd_child(cmd)->events;
    if (list == NULL)
        list = cmd_stat_fits(cmd, STAT_DEFAULT) ? STAT_DEFAULT : STAT_DEFAULT_SMALL;
    else if (args->interval == 0 && cmd_child(cmd) == NULL && reaches_units(cmd))
        status = stat_units(cmd, list, &table, &measured);
    if (!measured)
        status = stat_measure(cmd, list, &table);
    if (status != UPMU_OK)
        return stat_refusal(cmd, status, measured ? &cmd->dies->region.session.why : &cmd->session.why);
    summarise(cmd, &table);
    if (args->json)
        print_json(cmd, &table);
    else if (args->separator == NULL)
        print_table(cmd, &table);
    else if (args->interval == 0) /* otherwise the lines have been all of it */
        print_cells(cmd, &table);
    return CMD_OK;
}

int cmd_stat(struct cmd *cmd, const struct cmd_args *args)
{
    struct cmd_stat_work work = {.workload = cmd_workload_operand(cmd, args, "mix")};
    int result;

    if (work.workload == NULL)
        return CMD_USAGE;
    if (args->metrics != NULL && (args->events != NULL || args->interval != 0)) {
        cmd_error(cmd, "-M counts the events of its metrics, in one piece: without -e and -I");
        return CMD_USAGE;
    }
    if (args->separator != NULL && (args->metrics != NULL || args->json)) {
        cmd_error(cmd, "-x is for the cells of a table: without -M and --json");
        return CMD_USAGE;
    }
    if (args->interval != 0 && args->json) {
        cmd_error(cmd, "--json is one object, in the end: without -I; -x has lines at intervals for programs");
        return CMD_USAGE;
    }
    work.iterations = args->iterations != 0 ? args->iterations : work.workload->iterations;
    work.runs = args->runs != 0 ? args->runs : 1;
    result = cmd_target_open(cmd, args);
    if (result == CMD_OK && args->interval != 0 && !cmd_watch_ready(cmd))
        result = CMD_REFUSED;
    if (result == CMD_OK)
        result = args->metrics != NULL ? cmd_metrics(cmd, &work) : stat_events(cmd, &work);
    cmd_target_close(cmd);
    return result;
}
