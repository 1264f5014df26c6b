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
    struct upmu_unit_scale scale; /* measure NULL: a count stands for itself */
    uint64_t mean;
    uint64_t noise_ppm; /* standard deviation, millionths of the mean */
    char name[80];
};

/* The events of a list that belong to one type of units: on units cmd->dies[die] on, and in which rows of the table. */
struct stat_part {
    unsigned die, dies, events;
    uint8_t row[UPMU_SET_EVENTS];
};

struct stat_table {
    const struct cmd_workload *workload;
    char pmu[160]; /* names of the PMUs */
    bool measures; /* some row has a scale */
    struct stat_part part[CMD_DIES];
    unsigned parts;
    bool taken[UPMU_SET_EVENTS]; /* by row: the event is in a part */
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

/* Name the events of a set, which are in these rows of the table, and add the PMU's name to those of the table. */
static void name_rows(const struct upmu_pmu *pmu, const struct upmu_set *set, const char *list,
                      struct stat_table *table, const uint8_t *rows)
{
    size_t cursor = 0, length = cmd_length(table->pmu);
    unsigned i;

    for (i = 0; i < set->count; i++) {
        struct stat_row *row = &table->row[rows != NULL ? rows[i] : i];

        cmd_event_name(pmu, set, i, list, &cursor, row->name, sizeof row->name);
    }
    for (const char *name = pmu->name; length + 3 < sizeof table->pmu && *name != '\0'; name++) {
        if (name == pmu->name && length != 0)
            table->pmu[length++] = ',';
        table->pmu[length++] = *name;
    }
    table->pmu[length] = '\0';
}

/* Does a count of this row stand for something else than itself? */
static bool is_scaled(const struct stat_row *row)
{
    return row->scale.measure != NULL && (row->scale.multiplier != 1 || row->scale.divisor != 1);
}

/* A count of a row that is_scaled(), in thousandths of its measure. */
static uint64_t measured_milli(const struct stat_row *row, uint64_t value)
{
    return cmd_scale(value, UINT64_C(1000) * row->scale.multiplier, row->scale.divisor);
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

/* Count, measure (empty: there is none), event. */
static void cells_count(struct cmd *cmd, const struct stat_row *row, enum upmu_quality quality, uint64_t value)
{
    const char *separator = cmd->args->separator;

    if (quality == UPMU_QUALITY_NEVER_RAN)
        cmd_print(cmd, "<not counted>");
    else if (is_scaled(row))
        cmd_milli(cmd, measured_milli(row, value), 3);
    else
        cmd_print(cmd, "%U", value);
    cmd_print(cmd, "%s%s%s", separator, row->scale.measure != NULL ? row->scale.measure : "", separator);
    cell_name(cmd, row->name);
}

static void stat_line(struct cmd *cmd, struct cmd_watch *watch, uint64_t microseconds)
{
    const struct stat_table *table = watch->context;

    for (unsigned i = 0; i < table->events && cmd->args->separator != NULL; i++) {
        uint64_t seconds = cmd_divide(microseconds, 1000000);

        cmd_print(cmd, "%U.%06u%s", seconds, (unsigned)(microseconds - seconds * 1000000), cmd->args->separator);
        cells_count(cmd, &table->row[i], cmd->counts[i].quality, cmd->counts[i].value - watch->last[i]);
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
    } else if (time != 0 && row->mean != 0 && is_scaled(row)) {
        *out_thousandths = cmd_scale(measured_milli(row, row->mean), 1000000000, time);
        *out_unit = "/sec";
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

static void print_measured(struct cmd *cmd, const struct stat_row *row)
{
    uint64_t milli = is_scaled(row) ? measured_milli(row, row->mean) : 0, whole = cmd_divide(milli, 1000);

    if (is_scaled(row))
        cmd_print(cmd, "%14G.%03u  ", whole, (unsigned)(milli - whole * 1000));
    else
        cmd_print(cmd, "%18G  ", row->mean);
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
            print_measured(cmd, row);
        if (table->measures)
            cmd_print(cmd, "%-14s", row->scale.measure != NULL ? row->scale.measure : "");
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

        cells_count(cmd, row, count->quality, row->mean);
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
        if (table->row[i].scale.measure != NULL)
            cmd_print(cmd, ",\"measure\":\"%s\",\"multiplier\":%u,\"divisor\":%u", table->row[i].scale.measure,
                      (unsigned)table->row[i].scale.multiplier, (unsigned)table->row[i].scale.divisor);
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
    name_rows(cmd->pmu, &cmd->session.set, list, table, NULL);
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

/* The index in cmd->types of the units that the text before an event's name names; -1: it names none. */
static int type_named(const struct cmd *cmd, const char *list, const struct upmu_spec *spec)
{
    const struct upmu_spec_part *part = spec->unit.length != 0 ? &spec->unit : &spec->pmu;
    struct upmu_unit_found found;
    char text[80];
    unsigned i;

    if (part->length == 0 || part->length >= sizeof text)
        return -1;
    for (i = 0; i < part->length; i++)
        text[i] = list[part->position + i];
    text[i] = '\0';
    (void)!upmu_unit_find(&cmd->units, UPMU_UNIT_PATH, 0, text, &found); /* a text that names several is fine, too */
    return found.unit != NULL ? found.unit->type : -1;
}

/* Append the text of an event, without the separator behind it, to the list cmd->part; false: there is no room. */
static bool append_event(struct cmd *cmd, size_t *length, const char *text, size_t bytes)
{
    while (bytes > 0 && (text[bytes - 1] == ',' || text[bytes - 1] == ' '))
        bytes--;
    if (*length + bytes + 2 > sizeof cmd->part)
        return false;
    if (*length != 0)
        cmd->part[(*length)++] = ',';
    for (size_t i = 0; i < bytes; i++)
        cmd->part[(*length)++] = text[i];
    cmd->part[*length] = '\0';
    return true;
}

/*
 * Take the first event of a list that is in no part yet, and all others of its type of units, into cmd->part.  An event
 * that names no unit is of the type of the one before it.  Returns UPMU_ERR_END: all are taken.
 */
static enum upmu_status gather_part(struct cmd *cmd, const char *list, struct stat_table *table)
{
    struct stat_part *part = &table->part[table->parts];
    struct upmu_spec spec;
    size_t cursor = 0, begin = 0, length = 0;
    enum upmu_status status = UPMU_OK;
    int type = -1, wanted = -1;

    part->events = 0;
    for (unsigned row = 0;; row++, begin = cursor) {
        int named;

        status = upmu_spec_next(list, &cursor, &spec, NULL);
        if (status != UPMU_OK)
            break;
        if (row == UPMU_SET_EVENTS)
            return UPMU_ERR_NO_SPACE;
        named = type_named(cmd, list, &spec);
        type = named >= 0 ? named : type;
        if (table->taken[row] || (part->events != 0 && type != wanted))
            continue;
        wanted = type;
        table->taken[row] = true;
        part->row[part->events++] = (uint8_t)row;
        if (!append_event(cmd, &length, list + begin, cursor - begin))
            return UPMU_ERR_NO_SPACE;
    }
    if (status == UPMU_ERR_END)
        return part->events != 0 ? UPMU_OK : UPMU_ERR_END;
    /* A mistake in the list: the call that opens units says which. */
    length = 0;
    return append_event(cmd, &length, list, cmd_length(list)) ? UPMU_OK : UPMU_ERR_NO_SPACE;
}

/* Open the units of the part in cmd->part, and start its events there. */
static enum upmu_status open_part(struct cmd *cmd, struct stat_table *table)
{
    struct stat_part *part = &table->part[table->parts];
    struct upmu_uncore_region *dies;
    enum upmu_status status;

    part->die = table->parts != 0 ? part[-1].die + part[-1].dies : 0;
    if (part->die == CMD_DIES)
        return UPMU_ERR_NO_SPACE;
    dies = &cmd->dies[part->die];
    status = upmu_uncore_region_open(dies, CMD_DIES - part->die, cmd->machine, cmd->part);
    if (status != UPMU_OK) {
        cmd->dies->region.session.why = dies->region.session.why;
        return status;
    }
    table->parts++;
    for (part->dies = 0; part->die + part->dies < CMD_DIES && dies[part->dies].open; part->dies++)
        ;
    table->events += part->events;
    name_rows(dies->unit.meter.pmu, &dies->region.session.set, cmd->part, table, part->row);
    for (unsigned i = 0; i < part->events; i++)
        table->measures |= upmu_unit_scale(&dies->unit, upmu_set_event(&dies->region.session.set, i),
                                           &table->row[part->row[i]].scale);
    return UPMU_OK;
}

/* Begin a measurement on the units of all parts, or end it. */
static enum upmu_status step_parts(struct cmd *cmd, const struct stat_table *table, bool ends)
{
    enum upmu_status status = UPMU_OK;

    for (unsigned i = 0; i < table->parts && status == UPMU_OK; i++) {
        const struct stat_part *part = &table->part[i];
        struct upmu_uncore_region *dies = &cmd->dies[part->die];

        status = ends ? upmu_uncore_region_end(dies, part->dies, cmd->part_counts, part->events)
                      : upmu_uncore_region_begin(dies, part->dies);
        for (unsigned k = 0; k < part->events && ends; k++)
            cmd->counts[part->row[k]] = cmd->part_counts[k];
    }
    return status;
}

static enum upmu_status close_parts(struct cmd *cmd, const struct stat_table *table)
{
    enum upmu_status status = UPMU_OK, closed;

    for (unsigned i = 0; i < table->parts; i++) {
        closed = upmu_uncore_region_close(&cmd->dies[table->part[i].die], table->part[i].dies);
        if (closed != UPMU_OK)
            status = closed;
    }
    return status;
}

static enum upmu_status run_parts(struct cmd *cmd, struct stat_table *table)
{
    enum upmu_status status = UPMU_OK;

    cmd_workload_prepare(cmd);
    cmd_progress_begin(cmd, table->runs);
    for (unsigned run = 0; run < table->runs && status == UPMU_OK; run++) {
        cmd_progress_part(cmd, run);
        status = step_parts(cmd, table, false);
        if (status == UPMU_OK) {
            cmd_workload_run(cmd, table->workload, table->iterations);
            status = step_parts(cmd, table, true);
        }
        for (unsigned i = 0; i < table->events; i++)
            cmd->runs[i][run] = cmd->counts[i].value;
        cmd->runs[STAT_TIME][run] = cmd->counts[0].enabled_ns;
    }
    cmd_progress_end(cmd);
    return status;
}

/*
 * The list names units: count on each die, core or CPU that has them, the events of each type of units by regions of
 * their own.  `measured` becomes false if the first event names no unit.
 */
static enum upmu_status stat_units(struct cmd *cmd, const char *list, struct stat_table *table, bool *measured)
{
    enum upmu_status status = cmd_target_units(cmd, UPMU_UNITS_EACH_CPU), closed;
    struct upmu_why why;

    *measured = status == UPMU_OK || status == UPMU_ERR_NO_SPACE;
    status = *measured ? gather_part(cmd, list, table) : UPMU_ERR_NO_SUCH_PMU;
    if (status == UPMU_OK)
        status = open_part(cmd, table);
    *measured = status != UPMU_ERR_NO_SUCH_PMU;
    if (!*measured)
        return status;
    table->units = true;
    while (status == UPMU_OK) {
        status = gather_part(cmd, list, table);
        if (status == UPMU_OK)
            status = open_part(cmd, table);
    }
    if (status == UPMU_ERR_END)
        status = run_parts(cmd, table);
    why = cmd->dies->region.session.why;
    closed = close_parts(cmd, table);
    cmd->dies->region.session.why = why;
    return status != UPMU_OK ? status : closed;
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
        cmd_error(cmd, "a list has events of cores, or of units, of boxes that there are");
    else if (status == UPMU_ERR_NO_SUCH_PMU && cmd->args->interval != 0)
        cmd_error(cmd, "-I: events of cores only");
    else if (status == UPMU_ERR_NO_SUCH_NAME)
        cmd_error(cmd, "levels and events stand in lists of their own");
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
    if (list == NULL) {
        list = cmd_stat_fits(cmd, STAT_DEFAULT) ? STAT_DEFAULT : STAT_DEFAULT_SMALL;
    } else if (args->interval == 0 && cmd_child(cmd) == NULL && reaches_units(cmd)) {
        if (cmd_levels(cmd, list, &status))
            return status == UPMU_OK ? CMD_OK : stat_refusal(cmd, status, &cmd->machine->why);
        status = stat_units(cmd, list, &table, &measured);
    }
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
