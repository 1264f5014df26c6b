/* SPDX-License-Identifier: MIT */
/*
 * Logs of record, and convert: files that other programs open.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/precise.h>
#include <upmu/catalogs.h>

static const struct {
    const char *name;
    enum upmu_status (*make)(const struct upmu_results *results, struct upmu_output *output);
} forms[CMD_FORMS] = {
    [CMD_FOLDED] = {"folded stacks", upmu_results_folded},
    [CMD_PPROF] = {"pprof", upmu_results_pprof},
    [CMD_PERF] = {"perf.data", upmu_results_perf},
    [CMD_KALLSYMS] = {"symbols", upmu_results_kallsyms},
};

bool cmd_results_wanted(const struct cmd_args *args)
{
    unsigned form;

    for (form = 0; form < CMD_FORMS; form++)
        if (args->form[form] != NULL)
            return true;
    return args->log != NULL;
}

int cmd_results_store(struct cmd *cmd, const char *name, const void *bytes, size_t length)
{
    if (cmd->sink->write_file == NULL || !cmd->sink->write_file(cmd->sink->context, name, bytes, length)) {
        cmd_error(cmd, "cannot write %s", name);
        return CMD_REFUSED;
    }
    cmd_print(cmd, "\n wrote %s, %U bytes\n", name, (uint64_t)length);
    return CMD_OK;
}

static int log_refusal(struct cmd *cmd, const char *what, enum upmu_status status)
{
    cmd_error(cmd, "%s: %s", what, upmu_status_text(status));
    return CMD_REFUSED;
}

/* Each form that was asked for: work area and output are halves of `memory`. */
static int forms_write(struct cmd *cmd, const struct cmd_args *args, struct upmu_results *results, void *memory,
                       size_t bytes)
{
    size_t half = bytes / 16 * 8;
    enum upmu_status status;
    unsigned form;
    int result = CMD_OK;

    results->work = memory;
    results->work_bytes = half;
    for (form = 0; form < CMD_FORMS && result == CMD_OK; form++) {
        struct upmu_output output = {.buffer = (char *)memory + half, .size = half};

        if (args->form[form] == NULL)
            continue;
        status = forms[form].make(results, &output);
        result = status == UPMU_OK ? cmd_results_store(cmd, args->form[form], output.buffer, output.length)
                                   : log_refusal(cmd, forms[form].name, status);
    }
    return result;
}

/* ---- Of a recording: the first half of the memory is the log's ---- */

int cmd_results_begin(struct cmd *cmd, const struct cmd_workload *workload)
{
    enum upmu_status status;

    if (cmd->memory == NULL) {
        cmd_error(cmd, "no memory for a log here");
        return CMD_REFUSED;
    }
    cmd->log_output = (struct upmu_output){.buffer = cmd->memory, .size = cmd->memory_bytes / 16 * 8};
    status = upmu_log_begin(&cmd->log, &cmd->log_output, cmd->simulated ? "a simulated CPU" : cmd->pmu->title,
                            cmd_target_time(cmd));
    if (status == UPMU_OK)
        status = upmu_log_session(&cmd->log, &cmd->session, 0);
    if (status == UPMU_OK)
        status = upmu_log_task(&cmd->log, 0, 0, workload->name);
    return status == UPMU_OK ? CMD_OK : log_refusal(cmd, "log", status);
}

int cmd_results_symbols(struct cmd *cmd)
{
    enum upmu_status status = UPMU_OK;
    struct cmd_mapping file;
    struct cmd_symbol code;

    for (unsigned i = 0; status == UPMU_OK && cmd_symbol(cmd, i, &code); i++)
        status = upmu_log_symbol(&cmd->log, code.start, code.end, code.name);
    for (unsigned i = 0; status == UPMU_OK && cmd_child(cmd) != NULL && cmd_child(cmd)->mapping(i, &file); i++)
        status = upmu_log_mapping(&cmd->log, 0, file.start, file.end, file.offset, file.name);
    return status == UPMU_OK ? CMD_OK : log_refusal(cmd, "log", status);
}

int cmd_results_end(struct cmd *cmd, const struct cmd_args *args)
{
    struct upmu_session *session = &cmd->session;
    size_t half = cmd->memory_bytes / 16 * 8;
    struct upmu_results results = {.log = cmd->memory};
    enum upmu_status status = upmu_log_counts(&cmd->log, 0, 0, cmd->counts, session->set.count);
    int result = CMD_OK;

    if (status == UPMU_OK)
        status = upmu_log_end(&cmd->log, &session, 1, cmd_target_time(cmd));
    if (status != UPMU_OK)
        return log_refusal(cmd, "log", status);
    if (cmd->log.cut != 0)
        cmd_error(cmd, "the log holds the first %U samples only", cmd->log.samples);
    results.log_bytes = cmd->log_output.length;
    if (args->log != NULL)
        result = cmd_results_store(cmd, args->log, results.log, results.log_bytes);
    return result == CMD_OK ? forms_write(cmd, args, &results, (char *)cmd->memory + half, half) : result;
}

/* ---- A map of symbols: lines "ADDRESS t NAME" ---- */

struct map_row {
    uint64_t start, end;
    const char *name;
    size_t length;
};

struct map {
    struct map_row *row;
    size_t rows, capacity;
};

static unsigned hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10u : 16u;
}

/* Read a line of a map; true: it names something at an address. */
static bool map_line(const char *at, const char *end, struct map_row *out_row, char *out_kind)
{
    const char *first = at;

    out_row->start = 0;
    for (; at < end && hex_of(*at) < 16; at++)
        out_row->start = out_row->start << 4 | hex_of(*at);
    if (at == first || at - first > 16 || end - at < 4 || at[0] != ' ' || at[2] != ' ')
        return false;
    *out_kind = at[1];
    out_row->name = at += 3;
    while (at < end && *at != ' ' && *at != '\t' && *at != '\r')
        at++;
    out_row->length = (size_t)(at - out_row->name);
    return out_row->length != 0;
}

static void map_sift(struct map_row *row, size_t at, size_t count)
{
    size_t below;

    while ((below = 2 * at + 1) < count) {
        struct map_row moved = row[at];

        below += below + 1 < count && row[below + 1].start > row[below].start;
        if (moved.start >= row[below].start)
            return;
        row[at] = row[below];
        row[below] = moved;
        at = below;
    }
}

static void map_sort(struct map *map)
{
    size_t i;

    for (i = map->rows / 2; i-- > 0;)
        map_sift(map->row, i, map->rows);
    for (i = map->rows; i-- > 1;) {
        struct map_row last = map->row[i];

        map->row[i] = map->row[0];
        map->row[0] = last;
        map_sift(map->row, 0, i);
    }
}

static bool map_add(struct map *map, const struct map_row *row)
{
    if (map->rows == map->capacity)
        return false;
    map->row[map->rows++] = *row;
    return true;
}

/* The functions of a program or a kernel. */
static bool map_read_elf(struct map *map, const struct cmd_elf *elf)
{
    struct cmd_symbol symbol;

    for (uint64_t i = 0; i < elf->symbol_count; i++) {
        if (!cmd_elf_function(elf, i, &symbol))
            continue;
        if (!map_add(map, &(struct map_row){symbol.start, 0, symbol.name, cmd_length(symbol.name)}))
            return false;
    }
    return true;
}

static bool map_read_lines(struct map *map, const char *text, size_t length)
{
    const char *at = text, *end = text + length, *line;
    struct map_row row;
    char kind;

    for (; at < end; at = line + 1) {
        for (line = at; line < end && *line != '\n'; line++)
            ;
        if (map_line(at, line, &row, &kind) && (kind | 0x20) != 'u' && !map_add(map, &row))
            return false;
    }
    return true;
}

/* A symbol reaches to the next one; the last, to the end of its page. */
static bool map_read(struct map *map, const char *text, size_t length)
{
    struct cmd_elf elf;
    bool fits;
    size_t i;

    if (__STDC_HOSTED__ && cmd_elf_open(&elf, text, length))
        fits = map_read_elf(map, &elf);
    else
        fits = map_read_lines(map, text, length);
    if (!fits)
        return false;
    map_sort(map);
    for (i = 0; i < map->rows; i++)
        map->row[i].end = i + 1 < map->rows ? map->row[i + 1].start : (map->row[i].start | 4095) + 1;
    return true;
}

static bool map_search(const struct map *map, uint64_t ip, struct upmu_symbol *out_symbol)
{
    size_t low = 0, high = map->rows;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (map->row[middle].start <= ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || ip >= map->row[low - 1].end)
        return false;
    out_symbol->start = map->row[low - 1].start;
    out_symbol->end = map->row[low - 1].end;
    out_symbol->name = map->row[low - 1].name;
    out_symbol->length = map->row[low - 1].length;
    return true;
}

static bool map_find(void *context, uint64_t ip, struct upmu_symbol *out_symbol)
{
    return map_search(context, ip, out_symbol);
}

/* ---- convert ---- */

static void print_text(struct cmd *cmd, struct upmu_log_text text)
{
    size_t i;

    for (i = 0; i < text.length; i++)
        cmd_print(cmd, "%c", text.at[i] >= 32 && text.at[i] < 127 ? text.at[i] : '?');
}

static void print_log_event(struct cmd *cmd, const struct upmu_log_event *event)
{
    cmd_print(cmd, " source %u, set %u, event %u: ", (unsigned)event->source, (unsigned)event->set,
              (unsigned)event->event);
    print_text(cmd, event->name);
    cmd_print(cmd, " (");
    print_text(cmd, event->pmu);
    cmd_print(cmd, event->origin == UPMU_SOURCE_IMPORTED ? ", imported" : "");
    if (event->frequency != 0)
        cmd_print(cmd, "), %u samples a second\n", (unsigned)event->frequency);
    else if (event->period != 0)
        cmd_print(cmd, "), a sample every %G\n", event->period);
    else
        cmd_print(cmd, ")\n");
}

static void print_log(struct cmd *cmd, struct upmu_log_reader *reader)
{
    struct upmu_log_item item;

    while (upmu_log_next(reader, &item)) {
        switch (item.kind) {
        case UPMU_LOG_MACHINE:
            cmd_print(cmd, " log of ");
            print_text(cmd, item.of.machine.name);
            cmd_print(cmd, "\n");
            break;
        case UPMU_LOG_EVENT:
            print_log_event(cmd, &item.of.event);
            break;
        case UPMU_LOG_COUNT:
            cmd_print(cmd, " source %u, set %u, event %u: counted %G", (unsigned)item.of.count.source,
                      (unsigned)item.of.count.set, (unsigned)item.of.count.event, item.of.count.value);
            if (item.of.count.lost != 0)
                cmd_print(cmd, ", %u periods without a sample", (unsigned)item.of.count.lost);
            cmd_print(cmd, "\n");
            break;
        case UPMU_LOG_END:
            cmd_print(cmd, " %G samples; lost %G, no room in the log for %G\n", item.of.total.samples,
                      item.of.total.lost, item.of.total.cut);
            break;
        default:
            break;
        }
    }
}

static void print_mapped(struct cmd *cmd, uint64_t ip, const void *context)
{
    struct upmu_symbol symbol;

    if (!map_search(context, ip, &symbol))
        return;
    cmd_colour(cmd, CMD_NAME);
    cmd_print(cmd, "  ");
    print_text(cmd, (struct upmu_log_text){symbol.name, symbol.length});
    cmd_print(cmd, "+0x%X", ip - symbol.start);
    cmd_colour(cmd, CMD_PLAIN);
}

/* The hottest addresses of a log. */
static void print_hottest(struct cmd *cmd, struct upmu_log_reader reader, const struct map *map)
{
    struct upmu_log_item item;
    uint64_t samples = 0, elsewhere = 0;

    cmd->hot_count = 0;
    while (upmu_log_next(&reader, &item)) {
        if (item.kind != UPMU_LOG_SAMPLE ||
            ((item.of.sample.flags & UPMU_SAMPLE_NO_FRAME) && !(item.of.sample.flags & UPMU_SAMPLE_PRECISE)))
            continue;
        samples++;
        elsewhere += !cmd_hot_add(cmd, item.of.sample.ip, (item.of.sample.flags & UPMU_SAMPLE_USER) != 0);
    }
    cmd_hot_print(cmd, samples, print_mapped, map);
    if (elsewhere != 0)
        cmd_print(cmd, " not listed %G\n", elsewhere);
}

static int read_file(struct cmd *cmd, const char *name, const void **out_bytes, size_t *out_length)
{
    *out_bytes = cmd->sink->read_file != NULL ? cmd->sink->read_file(cmd->sink->context, name, out_length) : NULL;
    if (*out_bytes != NULL)
        return CMD_OK;
    cmd_error(cmd, "cannot read %s", name);
    return CMD_REFUSED;
}

/* Open the log, or what is sound of it: what that is, is said. */
static int log_open(struct cmd *cmd, const struct cmd_args *args, const struct upmu_results *results,
                    struct upmu_log_reader *reader)
{
    struct upmu_log_salvaged salvaged;
    enum upmu_status status;

    if (!args->salvage) {
        status = upmu_log_open(reader, results->log, results->log_bytes);
        if (status != UPMU_ERR_DAMAGED)
            return status == UPMU_OK ? CMD_OK : log_refusal(cmd, args->operand[0], status);
        cmd_error(cmd, "%s: %s; --salvage reads what is sound of a log", args->operand[0], upmu_status_text(status));
        return CMD_REFUSED;
    }
    status = upmu_log_salvage(reader, results->log, results->log_bytes, &salvaged);
    if (status != UPMU_OK)
        return log_refusal(cmd, args->operand[0], status);
    cmd_print(cmd, " salvaged: %G records, %G damaged ones dropped", salvaged.records, salvaged.dropped);
    if (salvaged.left != 0)
        cmd_print(cmd, ", %G bytes behind them", salvaged.left);
    cmd_print(cmd, salvaged.ended ? "\n" : "; the end is missing\n");
    return CMD_OK;
}

int cmd_convert(struct cmd *cmd, const struct cmd_args *args)
{
    struct upmu_results results = {.log = NULL};
    struct upmu_log_reader reader, begin;
    struct map map = {.row = cmd->memory, .rows = 0, .capacity = cmd->memory_bytes / sizeof(struct map_row) / 2};
    const void *text;
    size_t length, used;
    int result = read_file(cmd, args->operand[0], &results.log, &results.log_bytes);

    if (result != CMD_OK)
        return result;
    result = log_open(cmd, args, &results, &reader);
    if (result != CMD_OK)
        return result;
    results.salvage = args->salvage;
    begin = reader;
    print_log(cmd, &reader);
    if (args->symbols != NULL) {
        result = read_file(cmd, args->symbols, &text, &length);
        if (result != CMD_OK)
            return result;
        if (!map_read(&map, text, length))
            return log_refusal(cmd, args->symbols, UPMU_ERR_NO_SPACE);
        results.symbol = map_find;
        results.context = &map;
        if (__STDC_HOSTED__)
            print_hottest(cmd, begin, &map);
    }
    used = (map.rows * sizeof(struct map_row) + 7) / 8 * 8;
    return forms_write(cmd, args, &results, (char *)cmd->memory + used, cmd->memory_bytes - used);
}
