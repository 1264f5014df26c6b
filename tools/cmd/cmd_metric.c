/* SPDX-License-Identifier: MIT */
/*
 * stat -M: derived metrics of a workload.  What one word of -M names is counted in one pass, if it fits; otherwise each
 * metric has a pass of its own.  Nothing is estimated from a part of a pass.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/metric.h>

#define METRICS_OF_WORD 16u
#define NANOSECONDS 1000000000u

/* The events of a pass, as they stand in formulas. */
struct metric_pass {
    const struct cmd_stat_work *work;
    unsigned events;
    bool units;     /* they are of units outside the cores */
    bool mixed;     /* some only */
    bool overflows; /* more events than a set has */
    const char *event[UPMU_SET_EVENTS];
    size_t length[UPMU_SET_EVENTS];
};

struct metric_words {
    struct cmd *cmd;
    struct metric_pass *pass;
    bool counted;
};

static bool same_bytes(const char *a, const char *b, size_t length)
{
    while (length != 0 && *a++ == *b++)
        length--;
    return length == 0;
}

/* Do two hyper-threads share this core?  CPUID 0BH says how many threads a core has, 0: it is not known. */
static bool has_siblings(struct cmd *cmd)
{
    uint32_t out[4] = {0};

    if (cmd->port->cpuid == NULL)
        return false;
    cmd->port->cpuid(cmd->port->context, 0, 0, out);
    if (out[0] < 0xb)
        return false;
    cmd->port->cpuid(cmd->port->context, 0xb, 0, out);
    return (out[1] & 0xffffu) > 1;
}

static unsigned place_of(const struct metric_pass *pass, const struct upmu_formula_word *word)
{
    unsigned i = 0;

    while (i < pass->events &&
           (pass->length[i] != word->length || !same_bytes(pass->event[i], word->text, word->length)))
        i++;
    return i;
}

static enum upmu_status event_value(struct metric_words *words, const struct upmu_formula_word *word,
                                    struct upmu_formula_value *out_value)
{
    struct metric_pass *pass = words->pass;
    unsigned i = place_of(pass, word), run;
    size_t at = 0;

    if (words->counted) {
        for (run = 0; run < pass->work->runs; run++)
            out_value->value += words->cmd->runs[i][run];
        out_value->quality = words->cmd->counts[i].quality;
        return UPMU_OK;
    }
    out_value->unknown = true;
    if (i < pass->events)
        return UPMU_OK;
    pass->overflows |= i == UPMU_SET_EVENTS;
    if (pass->overflows)
        return UPMU_OK;
    while (at < word->length && word->text[at] != '/')
        at++;
    pass->mixed |= pass->events != 0 && pass->units != (at < word->length);
    pass->units |= at < word->length;
    pass->event[i] = word->text;
    pass->length[i] = word->length;
    pass->events++;
    return UPMU_OK;
}

static enum upmu_status word_value(void *context, const struct upmu_formula_word *word,
                                   struct upmu_formula_value *out_value)
{
    struct metric_words *words = context;
    struct cmd *cmd = words->cmd;
    unsigned run;

    if (word->event)
        return event_value(words, word, out_value);
    if (word->length == 3 && same_bytes(word->text, "smt", 3)) {
        out_value->value = has_siblings(cmd);
        return UPMU_OK;
    }
    if (word->length != 7 || !same_bytes(word->text, "seconds", 7))
        return UPMU_ERR_NO_SUCH_NAME;
    out_value->unknown = !words->counted;
    out_value->divisor = NANOSECONDS;
    for (run = 0; words->counted && run < words->pass->work->runs; run++)
        out_value->value += cmd->runs[UPMU_SET_EVENTS][run];
    return UPMU_OK;
}

/* Put the events of some metrics together; false: they cannot be in one pass. */
static bool collect(struct cmd *cmd, struct metric_pass *pass, const struct upmu_metric *metrics, unsigned count)
{
    struct metric_words words = {.cmd = cmd, .pass = pass};
    const struct upmu_formula_values values = {.value = word_value, .context = &words};
    struct upmu_formula_result result;
    size_t length = 0;
    unsigned i;

    pass->events = 0;
    pass->units = pass->mixed = pass->overflows = false;
    for (i = 0; i < count; i++)
        if (upmu_formula(metrics[i].formula, &values, &result, NULL) != UPMU_OK)
            return false;
    for (i = 0; i < pass->events && length + pass->length[i] + 2 <= sizeof cmd->list; i++) {
        size_t at;

        if (i != 0)
            cmd->list[length++] = ',';
        for (at = 0; at < pass->length[i]; at++)
            cmd->list[length++] = pass->event[i][at];
    }
    cmd->list[length] = '\0';
    return i == pass->events && !pass->mixed && !pass->overflows;
}

/* Negative ones, too; `decimals` digits behind the point. */
static void print_value(struct cmd *cmd, int64_t millionths)
{
    uint64_t size = millionths < 0 ? (uint64_t)-millionths : (uint64_t)millionths;
    uint64_t thousandths = cmd_divide(size + 500, 1000), whole;
    unsigned width = 1;

    for (whole = cmd_divide(thousandths, 1000); whole >= 10; whole = cmd_divide(whole, 10))
        width++;
    cmd_column(cmd, width < 13 ? 13 - width : 0);
    cmd_print(cmd, millionths < 0 ? "-" : " ");
    cmd_milli(cmd, thousandths, 3);
}

/* Ends the line of a metric that has no value. */
static void print_refusal(struct cmd *cmd, const struct upmu_metric *metric, const char *text)
{
    if (cmd->args->json) {
        cmd_print(cmd, ",\"error\":");
        cmd_json_text(cmd, text);
        cmd_print(cmd, "}");
    } else {
        cmd_print(cmd, "%17s  %-18s %s\n", "-", metric->name, text);
    }
}

static void print_result(struct cmd *cmd, const struct upmu_metric *metric, const struct upmu_formula_result *result)
{
    bool estimate = result->quality != UPMU_QUALITY_EXACT;

    if (cmd->args->json) {
        cmd_print(cmd,
                  result->millionths < 0 ? ",\"millionths\":-%U,\"quality\":\"%s\"}"
                                         : ",\"millionths\":%U,\"quality\":\"%s\"}",
                  result->millionths < 0 ? (uint64_t)-result->millionths : (uint64_t)result->millionths,
                  estimate ? "scaled" : "exact");
        return;
    }
    print_value(cmd, result->millionths);
    cmd_print(cmd, metric->unit[0] != '\0' ? "  %-18s " : "  %s", metric->name);
    cmd_print(cmd, "%s%s\n", metric->unit, estimate ? "  (estimated)" : "");
}

static void print_head(struct cmd *cmd, const struct upmu_metric *metric, bool first)
{
    if (!cmd->args->json)
        return;
    cmd_print(cmd, first ? "\n{\"metric\":" : ",\n{\"metric\":");
    cmd_json_text(cmd, metric->name);
    cmd_print(cmd, ",\"group\":");
    cmd_json_text(cmd, metric->group);
    cmd_print(cmd, ",\"unit\":");
    cmd_json_text(cmd, metric->unit);
    cmd_print(cmd, ",\"formula\":");
    cmd_json_text(cmd, metric->formula);
}

/* Count a pass and print its metrics.  False: some metric has no value. */
static bool run_pass(struct cmd *cmd, struct metric_pass *pass, const struct upmu_metric *metrics, unsigned count,
                     bool first)
{
    struct metric_words words = {.cmd = cmd, .pass = pass, .counted = true};
    const struct upmu_formula_values values = {.value = word_value, .context = &words};
    struct upmu_formula_result result;
    char text[300] = "its events cannot be counted together";
    struct upmu_why why = {.status = UPMU_ERR_DOES_NOT_FIT};
    bool whole = collect(cmd, pass, metrics, count), all = true;
    unsigned i;

    if (whole)
        whole = cmd_stat_count(cmd, pass->work, cmd->list, pass->units, &why) == UPMU_OK;
    if (why.status != UPMU_OK && why.status != UPMU_ERR_DOES_NOT_FIT)
        (void)upmu_why_text(&why, text, sizeof text);
    else if (why.culprits != 0)
        (void)upmu_why_text(&why, text, sizeof text);
    for (i = 0; i < count; i++) {
        print_head(cmd, &metrics[i], first && i == 0);
        if (whole && upmu_formula(metrics[i].formula, &values, &result, &why) == UPMU_OK) {
            print_result(cmd, &metrics[i], &result);
            continue;
        }
        if (whole)
            (void)upmu_why_text(&why, text, sizeof text);
        print_refusal(cmd, &metrics[i], text);
        all = false;
    }
    return all;
}

/* The metrics of a word; 0: there are none. */
static unsigned metrics_of(const struct cmd *cmd, const char *word, size_t length, struct upmu_metric *out_metrics)
{
    unsigned cursor = 0, count = 0;

    while (length != 0 && count < METRICS_OF_WORD &&
           upmu_metric_next(cmd->pmu, word, length, &cursor, &out_metrics[count]) == UPMU_OK)
        count++;
    return count;
}

static size_t word_length(const char *word)
{
    size_t length = 0;

    while (word[length] != '\0' && word[length] != ',')
        length++;
    return length;
}

/* Say which words there are. */
static void explain_words(struct cmd *cmd, const char *word, size_t length)
{
    struct upmu_metric metric;
    unsigned cursor = 0;
    char name[32];
    size_t i;

    for (i = 0; i < length && i + 1 < sizeof name; i++)
        name[i] = word[i];
    name[i] = '\0';
    cmd_error(cmd, "no metric or group of metrics '%s' of %s; these are:", name, cmd->pmu->name);
    while (upmu_metric_next(cmd->pmu, "", 0, &cursor, &metric) == UPMU_OK)
        cmd_error(cmd, "    %-16s  of %-10s  %s", metric.name, metric.group, metric.unit);
}

/* Every word names something. */
static bool words_known(struct cmd *cmd, const char *list)
{
    struct upmu_metric metrics[METRICS_OF_WORD];

    for (;;) {
        size_t length = word_length(list);

        if (metrics_of(cmd, list, length, metrics) == 0) {
            explain_words(cmd, list, length);
            return false;
        }
        if (list[length] == '\0')
            return true;
        list += length + 1;
    }
}

static bool run_word(struct cmd *cmd, struct metric_pass *pass, const char *word, size_t length, bool first)
{
    struct upmu_metric metrics[METRICS_OF_WORD];
    unsigned count = metrics_of(cmd, word, length, metrics), i;
    bool all = true;

    if (count == 1 || (collect(cmd, pass, metrics, count) && (pass->units || cmd_stat_fits(cmd, cmd->list))))
        return run_pass(cmd, pass, metrics, count, first);
    for (i = 0; i < count; i++)
        all &= run_pass(cmd, pass, &metrics[i], 1, first && i == 0);
    return all;
}

int cmd_metrics(struct cmd *cmd, const struct cmd_stat_work *work)
{
    struct metric_pass pass = {.work = work};
    const char *word = cmd->args->metrics;
    bool all = true, first = true;

    if (!words_known(cmd, word))
        return CMD_USAGE;
    if (cmd->args->json)
        cmd_print(
            cmd, "{\"pmu\":\"%s\",\"simulated\":%s,\"workload\":\"%s\",\"iterations\":%U,\"runs\":%u,\n\"metrics\":[",
            cmd->pmu->name, cmd->simulated ? "true" : "false", work->workload->name, work->iterations, work->runs);
    else
        cmd_print(cmd, "\n Metrics of '%s' on %s, %G iterations, %u run%s:\n\n", work->workload->name, cmd->pmu->name,
                  work->iterations, work->runs, work->runs == 1 ? "" : "s");
    for (;; first = false) {
        size_t length = word_length(word);

        all &= run_word(cmd, &pass, word, length, first);
        if (word[length] == '\0')
            break;
        word += length + 1;
    }
    cmd_print(cmd, cmd->args->json ? "\n]}\n" : "\n");
    return all ? CMD_OK : CMD_REFUSED;
}
