/* SPDX-License-Identifier: MIT */
/*
 * What a person sees of the commands: colours, a bar for a figure, the screens of top, what is said of
 * mistyped words, cells, completion.  What is counted: test_cmd.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "tests/common/commands.h"

/* A colour is a mark of two bytes in what was printed: MARK and its letter. */
#define MARK '\x01'

static char printed[1 << 16], errors[1 << 14];
static size_t printed_bytes, error_bytes;
static unsigned screens, keys;
static struct cmd cmd;

static void screen_take(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(printed_bytes + length, <, sizeof printed);
    memcpy(printed + printed_bytes, text, length);
    printed_bytes += length;
    printed[printed_bytes] = '\0';
}

static void screen_take_error(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(error_bytes + length, <, sizeof errors);
    memcpy(errors + error_bytes, text, length);
    error_bytes += length;
    errors[error_bytes] = '\0';
}

static void screen_colour(void *context, enum cmd_colour colour)
{
    const char mark[] = {MARK, "ptPnagbs#"[colour]};

    _Static_assert(CMD_COLOURS == 9, "a letter for each colour");
    screen_take(context, mark, sizeof mark);
}

static void screen_clear(void *context)
{
    (void)context;
    screens++;
    printed_bytes = 0;
    printed[0] = '\0';
}

static int screen_key(void *context, unsigned wait_ms)
{
    (void)context, (void)wait_ms;
    return keys-- > 0 ? -1 : 'q';
}

/* A stream of text; the same beside errors, in colour; one console for all. */
static const struct cmd_sink plain_sink = {.write = screen_take, .write_error = screen_take_error};
static const struct cmd_sink coloured_sink = {
    .write = screen_take, .write_error = screen_take_error, .colour = screen_colour};
static const struct cmd_sink console_sink = {
    .write = screen_take, .colour = screen_colour, .clear = screen_clear, .read_key = screen_key};

static int line(const struct cmd_sink *sink, const char *text)
{
    memset(&cmd, 0, sizeof cmd);
    cmd.sink = sink;
    cmd.program = "upmu";
    cmd.own = cmd_completion;
    printed_bytes = error_bytes = 0;
    printed[0] = errors[0] = '\0';
    screens = 0;
    return cmd_run_line(&cmd, text);
}

static void has(const char *text)
{
    if (strstr(printed, text) == NULL)
        fail_msg("no '%s' in:\n%s%s", text, printed, errors);
}

static unsigned times(const char *text)
{
    unsigned count = 0;

    for (const char *at = printed; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

/* What was printed, without its marks; the last colour is left on: -1 if it is not the plain one. */
static int unmark(void)
{
    char last = 'p', *to = printed;

    for (const char *from = printed; *from != '\0'; from++) {
        if (*from == MARK)
            last = *++from;
        else
            *to++ = *from;
    }
    *to = '\0';
    printed_bytes = (size_t)(to - printed);
    return last == 'p' ? 0 : -1;
}

static void each_kind_of_text_has_its_colour(void **state)
{
    (void)state;
    assert_int_equal(line(&coloured_sink, "stat --sim skl -n 1000 -r 2 -e instructions,cycles spin"), CMD_OK);
    has("\x01s*** SIMULATED CPU: skylake");
    has("***\x01p\n\x01t\n Counts of 'spin'");
    has("             2,000  \x01ninstructions              \x01p\x01"
        "a  # 1.9");
    assert_int_equal(line(&coloured_sink, "record --sim skl -c 1000 -n 100000 -e instructions spin"), CMD_OK);
    has("\x01nspin           \x01p\x01###############################\x01p\n");
    assert_int_equal(line(&coloured_sink, "selftest --sim skl"), CMD_OK);
    has("\x01gok  \x01p  probe: ");
    has("\x01g16 passed, 0 failed\x01p");
    assert_int_equal(line(&coloured_sink, "selftest --sim ignores_writes"), CMD_REFUSED);
    has("\x01"
        "bFAIL\x01p  probe: ");
    assert_int_equal(line(&coloured_sink, "info --sim skl"), CMD_OK);
    has("\x01tProbe        \x01pinterrupts");
    assert_int_equal(line(&coloured_sink, "help"), CMD_OK);
    has("\x01n  stat      \x01p  count events of a workload");
}

/* Catches text that is printed for one kind of console alone, and a colour that stays. */
static void the_text_is_the_same_with_colours_and_without(void **state)
{
    static const char *const lines[] = {"help",
                                        "stat --help",
                                        "pmus",
                                        "info --sim skl",
                                        "stat --sim skl -r 3",
                                        "top --sim skl -r 2",
                                        "record --sim skl mix",
                                        "selftest --sim skl",
                                        "uncore --sim skl",
                                        "stat --sim skl -M ipc",
                                        "stat --sim skl -I 1",
                                        "encode --pmu skl cycles"};
    static char kept[sizeof printed];

    (void)state;
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(line(&plain_sink, lines[i]), CMD_OK, i);
        assert_null(strchr(printed, MARK));
        memcpy(kept, printed, printed_bytes + 1);
        assert_int_equal(line(&coloured_sink, lines[i]), CMD_OK, i);
        assert_int_equal(unmark(), 0);
        assert_string_equal(printed, kept);
    }
}

static void what_programs_read_has_no_colour(void **state)
{
    static const char *const lines[] = {"stat --sim skl --json",
                                        "stat --sim skl -M ipc --json",
                                        "encode --pmu skl --json cycles",
                                        "encode --pmu skl cycles",
                                        "list --pmu skl",
                                        "wrmsr list --pmu skl cycles",
                                        "--version"};

    (void)state;
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_int_equal(line(&coloured_sink, lines[i]), CMD_OK, i);
        if (strchr(printed, MARK) != NULL)
            fail_msg("%s", lines[i]);
    }
}

/* A stream of errors may be no console. */
static void an_error_has_a_colour_where_it_has_no_stream(void **state)
{
    (void)state;
    assert_int_equal(line(&console_sink, "nonsense"), CMD_USAGE);
    assert_memory_equal(printed,
                        "\x01"
                        "bupmu: no command 'nonsense'",
                        28);
    has("\x01p\n");
    assert_int_equal(line(&coloured_sink, "nonsense"), CMD_USAGE);
    assert_string_equal(printed, "");
    assert_null(strchr(errors, MARK));
}

static void a_bar_is_as_long_as_its_part(void **state)
{
    static const struct {
        uint64_t part, whole;
        unsigned width, length;
    } bars[] = {
        {0, 100, 30, 0},
        {1, 1000000, 30, 1},
        {50, 100, 30, 15},
        {100, 100, 30, 30},
        {200, 100, 30, 30},
        {99, 100, 30, 29},
        {0, 0, 30, 0},
        {UINT64_MAX, UINT64_MAX, 22, 22},
        {UINT64_MAX / 2, UINT64_MAX, 22, 10},
        {1, 1, 1000, 50},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        memset(&cmd, 0, sizeof cmd);
        cmd.sink = &plain_sink;
        printed_bytes = 0;
        printed[0] = '\0';
        cmd_bar(&cmd, bars[i].part, bars[i].whole, bars[i].width);
        assert_int_equal(strspn(printed, "#"), bars[i].length, i);
        assert_int_equal(printed_bytes, bars[i].length, i);
    }
}

/* ---- Cells for programs ---- */

/* Of 1,000 rounds of spin, 2 instructions and a branch each; the order is that of perf's stat-display.c, printout(). */
static void stat_prints_the_cells_of_perf(void **state)
{
    unsigned long long ns;
    char tail[40];

    (void)state;
    assert_int_equal(line(&coloured_sink, "stat --sim skl -n 1000 -x , -e instructions,branches spin"), CMD_OK);
    assert_int_equal(unmark(), 0);
    assert_memory_equal(printed, "# *** SIMULATED CPU: ", 21);
    assert_int_equal(sscanf(strchr(printed, '\n'), " 2000,,instructions,%llu,100.00,%39[^\n]", &ns, tail), 2);
    assert_in_range(ns, 1, 1000000);
    assert_non_null(strstr(tail, ",M/sec"));
    has("\n1000,,branches,");
    assert_int_equal(times("\n"), 3);
    /* The spread of several runs; a TAB by its name. */
    assert_int_equal(line(&plain_sink, "stat --sim skl -n 1000 -x \\t -r 3 -e instructions,cycles spin"), CMD_OK);
    has("\n2000\t\tinstructions\t0.00%\t");
    has("\tinsn per cycle\n");
    /* A name that has the separator in it is one cell. */
    assert_int_equal(line(&plain_sink, "stat --sim skl -n 1000 -x , -e instructions,counter=2 spin"), CMD_OK);
    has("\n2000,,\"instructions,counter=2\",");
    assert_int_equal(line(&plain_sink, "stat --sim skl -n 1000 -x ;; -e instructions,counter=2 spin"), CMD_OK);
    has("\n2000;;;;instructions,counter=2;;");
    assert_int_equal(line(&plain_sink, "stat --sim skl -n 1000 -x r -e instructions,counter=2 spin"), CMD_OK);
    has("\n2000rr\"instructions,counter=2\"r");
}

/* With -I seconds stand before them; the lines are all of it: their counts make the sum. */
static void stat_prints_cells_at_intervals(void **state)
{
    unsigned long long sum = 0, count;
    double seconds, last = 0;
    unsigned lines = 0;

    (void)state;
    assert_int_equal(line(&plain_sink, "stat --sim skl -n 10000000 -I 1 -x ; -e instructions spin"), CMD_OK);
    for (const char *at = strchr(printed, '\n') + 1; *at != '\0'; at = strchr(at, '\n') + 1) {
        assert_int_equal(sscanf(at, "%lf;%llu;;instructions\n", &seconds, &count), 2);
        assert_compare(seconds, >, last);
        last = seconds;
        sum += count;
        lines++;
    }
    assert_compare(lines, >=, 3);
    assert_int_equal(sum, 20000000);
}

/* Never ran: it is not 0.  Two forms at once are none. */
static void cells_say_what_was_not_counted(void **state)
{
    struct cmd_args args = {.separator = ","};
    struct stat_table table = {.runs = 1, .events = 1};

    (void)state;
    memset(&cmd, 0, sizeof cmd);
    cmd.sink = &plain_sink;
    cmd.args = &args;
    strcpy(table.row[0].name, "a \"b\"");
    cmd.counts[0].quality = UPMU_QUALITY_NEVER_RAN;
    cmd.counts[0].enabled_ns = 5000;
    table.row[1].mean = 5000;
    printed_bytes = 0;
    print_cells(&cmd, &table);
    assert_string_equal(printed, "<not counted>,,\"a \"\"b\"\"\",0,0.00,,\n");
    cmd.counts[0] = (struct upmu_count){.value = 8, .quality = UPMU_QUALITY_EXACT};
    table.row[0].mean = 8;
    table.row[1].mean = 0;
    printed_bytes = 0;
    print_cells(&cmd, &table);
    assert_string_equal(printed, "8,,\"a \"\"b\"\"\",,,,\n"); /* no clock */
    assert_int_equal(line(&plain_sink, "stat --sim skl -x , --json"), CMD_USAGE);
    assert_int_equal(line(&plain_sink, "stat --sim skl -x , -M ipc"), CMD_USAGE);
    assert_int_equal(line(&plain_sink, "stat --sim skl -x"), CMD_USAGE);
}

/* ---- Words that were mistyped ---- */

/* A command, an option, a workload, a PMU, a simulated CPU: a letter more, less, another one, two exchanged, a part. */
static void a_wrong_word_names_the_nearest_right_one(void **state)
{
    static const struct {
        const char *line, *said;
    } wrong[] = {
        {"stst", "no command 'stst', but stat; 'upmu help' lists all"},
        {"recrod", "no command 'recrod', but record;"},
        {"convrt x", "no command 'convrt', but convert;"},
        {"seltfest", "no command 'seltfest', but selftest;"},
        {"sel", "no command 'sel', but selftest;"},
        {"hlep", "no command 'hlep', but help;"},
        {"nonsense", "no command 'nonsense'; 'upmu help' lists them"},
        {"st", "no command 'st'; "},
        {"aVeryLongWordThatNoNameOfACommandIsNear", "IsNear'; 'upmu help' lists them"},
        {"stat --jsno", "stat has no option '--jsno', but --json\n"},
        {"stat --evnet cycles", "stat has no option '--evnet', but --event\n"},
        {"record --pprofs f", "record has no option '--pprofs', but --pprof\n"},
        {"stat --placed", "stat has no option '--placed'\n"}, /* an option of others */
        {"encode -x", "encode has no option '-x'\n"},
        {"stat --sim skl memcopy", "no workload 'memcopy', but memcpy;"},
        {"stat --sim skl nowork", "no workload 'nowork'; "},
        {"stat --sim skylaek", "no simulated CPU 'skylaek', but skylake; 'upmu pmus' lists all"},
        {"encode --pmu netbrust cycles", "no PMU 'netbrust', but netburst;"},
        {"encode --pmu adl cycles", "no PMU 'adl', but adl_glc;"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_not_equal(line(&plain_sink, wrong[i].line), CMD_OK, i);
        if (strstr(errors, wrong[i].said) == NULL)
            fail_msg("%s: no '%s' in: %s", wrong[i].line, wrong[i].said, errors);
    }
}

/* The distance is the one of its definition: by recursion, for all words of two letters up to five of them. */
static unsigned defined(const char *a, unsigned i, const char *b, unsigned j)
{
    unsigned best, other;

    if (i == 0 || j == 0)
        return i + j;
    best = defined(a, i - 1, b, j) + 1;
    other = defined(a, i, b, j - 1) + 1;
    best = other < best ? other : best;
    other = defined(a, i - 1, b, j - 1) + (a[i - 1] != b[j - 1]);
    best = other < best ? other : best;
    if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        other = defined(a, i - 2, b, j - 2) + 1;
        best = other < best ? other : best;
    }
    return best;
}

/* "-x," and "--event=LIST", as perf and most tools take them; a program's words stay as they are. */
static void a_value_may_be_attached_to_its_option(void **state)
{
    static const struct cmd_option own[] = {{"--limit", 0, CMD_VALUE_NUMBER, NULL, NULL}, {"", 0, 0, NULL, NULL}};
    static const char *const words[] = {"stat", "-x,", "-e", "-r5", "--sim=", "--json=1", "--limit=9", "--", "-x,"};
    static const char *const wanted[] = {"stat", "-x",       ",",       "-e", "-r5", "--sim",
                                         "",     "--json=1", "--limit", "9",  "--",  "-x,"};
    const char *split[2 * (sizeof words / sizeof words[0])];
    static struct cmd with = {.other_options = own};
    static char apart[sizeof printed];

    (void)state;
    assert_int_equal(cmd_split_words(&with, sizeof words / sizeof words[0], words, split),
                     sizeof wanted / sizeof wanted[0]);
    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        assert_string_equal(split[i], wanted[i]);
    assert_int_equal(line(&plain_sink, "stat --sim skl -n 1000 -x , -r 3 --event instructions spin"), CMD_OK);
    memcpy(apart, printed, sizeof apart);
    assert_int_equal(line(&plain_sink, "stat --sim=skl -n1000 -x, -r3 --event=instructions spin"), CMD_OK);
    assert_string_equal(printed, apart);
    assert_int_equal(line(&plain_sink, "stat --sim skl --event= spin"), CMD_USAGE);
    assert_string_equal(errors, "upmu: '--event' needs a value\n");
    assert_int_equal(line(&plain_sink, "encode -x,"), CMD_USAGE);
    assert_string_equal(errors, "upmu: encode has no option '-x'\n");
}

static void a_word_of_bits(unsigned number, char word[6])
{
    const unsigned length = number >> 5;

    for (unsigned i = 0; i < length; i++)
        word[i] = "ab"[number >> i & 1u];
    word[length] = '\0';
}

/* The functions of a workload stand by address in the image: chase, the hottest one of mix, is the fourth. */
static void the_hottest_function_is_first(void **state)
{
    const char *row;
    unsigned rows = 0, hits, last = ~0u, sum = 0;
    char name[20];

    (void)state;
    assert_int_equal(line(&plain_sink, "record --sim skl -c 10000 mix"), CMD_OK);
    row = strstr(printed, "samples  function\n");
    assert_non_null(row);
    while (sscanf(strchr(row, '\n') + 1, " %*u.%*u%% %u %19[a-z]", &hits, name) == 2) {
        assert_compare(hits, <=, last);
        if (rows == 0)
            assert_string_equal(name, "chase");
        last = hits;
        sum += hits;
        rows++;
        row = strchr(row, '\n') + 1;
    }
    assert_int_equal(rows, 5);
    assert_compare(sum, >, 700);
}

/* As with perf; until 0.3 the last list was counted alone. */
static void each_list_of_events_is_counted(void **state)
{
    static char list[CMD_LIST_BYTES / 2 + 1];
    const char *const words[] = {"stat", "--sim", "skl", "-e", list, "-e", list};

    (void)state;
    assert_int_equal(line(&plain_sink, "stat --sim skl -n 1000 -x, -einstructions -e branches --event=cycles spin"),
                     CMD_OK);
    has("\n2000,,instructions,");
    has("\n1000,,branches,");
    has(",,cycles,");
    assert_int_equal(times("\n"), 4);
    memset(list, 'x', sizeof list - 1); /* twice so many, and a comma */
    (void)line(&plain_sink, "");
    assert_int_equal(cmd_run(&cmd, sizeof words / sizeof words[0], words), CMD_USAGE);
    assert_string_equal(errors, "upmu: the lists of -e are too long\n");
}

/* Lines for people before an object are no JSON. */
static void json_has_no_lines_at_intervals(void **state)
{
    (void)state;
    assert_int_equal(line(&plain_sink, "stat --sim skl -n 1000 --json -I 1 spin"), CMD_USAGE);
    assert_string_equal(printed, "");
    assert_non_null(strstr(errors, "without -I"));
}

static void help_of_a_command_is_what_the_command_says(void **state)
{
    static char says[sizeof printed];

    (void)state;
    assert_int_equal(line(&plain_sink, "place --help"), CMD_OK);
    memcpy(says, printed, sizeof says);
    assert_memory_equal(says, "usage: upmu place ", 18);
    assert_int_equal(line(&plain_sink, "help place"), CMD_OK);
    assert_string_equal(printed, says);
    assert_int_equal(line(&plain_sink, "help plaec"), CMD_USAGE);
    assert_string_equal(errors, "upmu: no command 'plaec', but place; 'upmu help' lists all\n");
    assert_int_equal(line(&plain_sink, "help"), CMD_OK);
    has("Commands (each explains itself with --help):\n");
}

static void distances_are_those_of_their_definition(void **state)
{
    char one[6], other[6];

    (void)state;
    for (unsigned i = 0; i < 6u << 5; i += 3)
        for (unsigned j = 0; j < 6u << 5; j += 5) {
            a_word_of_bits(i, one);
            a_word_of_bits(j, other);
            assert_int_equal(distance(one, other), defined(one, i >> 5, other, j >> 5), i, j);
        }
    assert_int_equal(distance("abcdefghijklmnopqrstuvwxyz012345", "bcdefghijklmnopqrstuvwxyz0123456"), 2);
}

/* ---- Progress ---- */

/* A clock that goes on by so much at each look; what was shown so far, and what is shown now. */
static uint64_t progress_ms, progress_pace;
static char progress_all[4096], progress_now[64];

static uint64_t screen_now_ms(void *context)
{
    (void)context;
    return progress_ms += progress_pace;
}

static void screen_progress(void *context, const char *text)
{
    (void)context;
    assert_compare(strlen(progress_all) + strlen(text) + 2, <, sizeof progress_all);
    strcat(strcat(progress_all, text), "\n");
    snprintf(progress_now, sizeof progress_now, "%s", text);
}

/* Text never comes behind a line that is shown. */
static void screen_take_alone(void *context, const char *text, size_t length)
{
    assert_string_equal(progress_now, "");
    screen_take(context, text, length);
}

static const struct cmd_sink progress_sink = {
    .write = screen_take_alone, .write_error = screen_take_error, .now_ms = screen_now_ms, .progress = screen_progress};

static int slow_line(uint64_t pace, const char *text)
{
    progress_ms = 5;
    progress_pace = pace;
    progress_all[0] = progress_now[0] = '\0';
    return line(&progress_sink, text);
}

/* A second between two looks: the line comes behind the second of five runs, then with each, and goes. */
static void progress_is_shown_after_two_seconds_and_goes(void **state)
{
    (void)state;
    assert_int_equal(slow_line(1000, "stat --sim skl -n 1000 -r 5 --json -e instructions spin"), CMD_OK);
    assert_string_equal(progress_all, "[######........................]  20%\n"
                                      "[############..................]  40%\n"
                                      "[##################............]  60%\n"
                                      "[########################......]  80%\n\n");
    has("\"counts\":[2000,2000,2000,2000,2000]");
    assert_int_equal(slow_line(1, "stat --sim skl -n 1000 -r 100 -e instructions spin"), CMD_OK);
    assert_string_equal(progress_all, "");
    /* A quick pace: twice a second, not with each of 100 runs. */
    assert_int_equal(slow_line(100, "stat --sim skl -n 1000 -r 100 -e instructions spin"), CMD_OK);
    assert_string_equal(progress_now, "");
    assert_in_range(strlen(progress_all), 8 * 38, 26 * 38);
}

/* What is sampled is not what the line costs: there are as many samples with it as without. */
static void progress_stops_what_is_sampled(void **state)
{
    static char kept[sizeof printed];

    (void)state;
    assert_int_equal(slow_line(1, "record --sim skl -e instructions -c 1000 -n 100000 spin"), CMD_OK);
    has(" 200 samples of instructions");
    memcpy(kept, printed, printed_bytes + 1);
    assert_int_equal(slow_line(700, "record --sim skl -e instructions -c 1000 -n 100000 spin"), CMD_OK);
    assert_string_equal(printed, kept);
    assert_in_range(strlen(progress_all), 10 * 38, 64 * 38);
    assert_non_null(strstr(progress_all, "]  9")); /* up to nearly all */
    assert_string_equal(progress_now, "");
    /* top has nothing of it while its rounds are short. */
    assert_int_equal(slow_line(10, "top --sim skl -r 50 spin"), CMD_OK);
    assert_string_equal(progress_all, "");
}

/* An error ends it, too; no console, no clock: none. */
static void progress_ends_with_what_it_is_of(void **state)
{
    (void)state;
    assert_int_equal(slow_line(3000, "stat --sim counts_nothing -n 1000 -r 3 -e instructions spin"), CMD_OK);
    assert_string_equal(progress_now, "");
    assert_int_equal(cmd.progress_parts, 0);
    assert_int_equal(line(&plain_sink, "stat --sim skl -r 3"), CMD_OK);
    assert_int_equal(cmd.progress_parts, 0);
    /* The last of all runs, and more than all: 100 at most. */
    memset(&cmd, 0, sizeof cmd);
    cmd.sink = &progress_sink;
    progress_all[0] = '\0';
    cmd_progress_begin(&cmd, 2);
    cmd_progress_part(&cmd, 1);
    cmd_progress(&cmd, 0, 7);
    cmd_progress(&cmd, 7, 7);
    cmd_progress(&cmd, 9, 7);
    assert_non_null(strstr(progress_all, "[###############...............]  50%\n"));
    assert_non_null(
        strstr(progress_all, "[##############################] 100%\n[##############################] 100%\n"));
    assert_string_not_equal(progress_now, "");
    cmd_print(&cmd, "text in the middle\n"); /* takes its place */
    assert_string_equal(progress_now, "");
    cmd_progress_end(&cmd);
}

/* ---- Completion: what shells make of it, tests/build/check_tool.py looks at ---- */

/* The line of a command among those of _upmu_takes(); fails if there is none. */
static const char *line_of_command(const char *name)
{
    static char found[1024];
    char begin[40];
    const char *at, *end;

    snprintf(begin, sizeof begin, "\n    %s) kind=", name);
    at = strstr(strstr(printed, "_upmu_takes()"), begin);
    assert_non_null(at);
    end = strchr(at + 1, '\n');
    snprintf(found, sizeof found, "%.*s", (int)(end - at), at);
    return found;
}

/* Each command of the table with its options, and no other option: this program adds none. */
static void completion_is_the_table(void **state)
{
    const struct cmd_command *command;
    const struct cmd_option *option;
    char word[20];

    (void)state;
    assert_int_equal(line(&coloured_sink, "completion bash"), CMD_OK);
    assert_null(strchr(printed, MARK));
    for (unsigned i = 0; (command = cmd_command_at(&cmd, i)) != NULL; i++) {
        const char *takes = strstr(line_of_command(command->name), "takes='");

        assert_non_null(takes);
        for (unsigned j = 0; (option = cmd_option_at(j)) != NULL; j++) {
            snprintf(word, sizeof word, "%s ", option->name);
            assert_int_equal(strstr(takes, word) != NULL, (option->option & command->options) != 0);
        }
    }
    assert_null(strstr(printed, "--msr"));
    assert_non_null(strstr(line_of_command("stat"), "list=' memset memcpy branches chase spin mix'"));
    assert_non_null(strstr(line_of_command("setpce"), "kind=words list=' on off'"));
    assert_non_null(strstr(line_of_command("wrmsr"), "kind=events list=' list'"));
    assert_non_null(strstr(line_of_command("convert"), "kind=files list=''"));
    assert_int_equal(line(&plain_sink, "completion tcsh"), CMD_USAGE);
    assert_non_null(strstr(errors, "bash, zsh or fish"));
}

/* ---- top ---- */

/* spin is 2 instructions and a branch: in each round, whatever the rounds before it counted. */
static void top_has_a_bar_for_each_event_of_a_round(void **state)
{
    static const char *const events[] = {"cycles",        "instructions",     "branches",
                                         "branch-misses", "cache-references", "cache-misses"};
    char text[80];

    (void)state;
    assert_int_equal(line(&plain_sink, "top --sim skl -n 1000000 -r 3 spin"), CMD_OK);
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++) {
        snprintf(text, sizeof text, "\n %-26s ", events[i]);
        assert_int_equal(times(text), 3);
    }
    assert_int_equal(times("\n instructions                    2,000,000  "), 3);
    assert_int_equal(times("\n branches                        1,000,000  "), 3);
    /* The largest count has a whole bar, half of it half a bar; what does not happen has none. */
    for (const char *at = printed; (at = strstr(at, "\n instructions ")) != NULL; at++)
        assert_int_equal(strspn(strchr(at, '#'), "#"), 22);
    for (const char *at = printed; (at = strstr(at, "\n branches ")) != NULL; at++)
        assert_int_equal(strspn(strchr(at, '#'), "#"), 11);
    for (const char *at = printed; (at = strstr(at, "\n cache-misses ")) != NULL; at++)
        assert_int_equal(strcspn(at + 1, "\n") > strcspn(at + 1, "#"), 0);
    /* What was asked for, and nothing beside it: all of it is sampled. */
    assert_int_equal(line(&plain_sink, "top --sim skl -r 1 -e instructions,branches spin"), CMD_OK);
    has("\n instructions ");
    has("\n branches ");
    assert_null(strstr(printed, "cycles  "));
}

/* A Core 2 has two general counters: beside cycles and instructions two events. */
static void top_counts_as_many_events_as_have_counters(void **state)
{
    (void)state;
    assert_int_equal(line(&plain_sink, "top --sim core2 -r 1 spin"), CMD_OK);
    has("\n branch-misses ");
    assert_null(strstr(printed, "cache-"));
    assert_int_equal(line(&plain_sink, "top --sim skl -r 1 -c 1 spin"), CMD_REFUSED);
    assert_non_null(strstr(errors, "the least period of skl is "));
    assert_int_equal(line(&plain_sink, "top --sim skl -r 1 -e no-such-event spin"), CMD_REFUSED);
}

/* Once on each screen; where none is cleared, once. */
static void top_says_once_what_is_simulated(void **state)
{
    (void)state;
    assert_int_equal(line(&plain_sink, "top --sim skl -r 3 spin"), CMD_OK);
    assert_int_equal(times("SIMULATED"), 1);
    assert_int_equal(times(" round "), 3);
    keys = 2;
    assert_int_equal(line(&console_sink, "top --sim skl spin"), CMD_OK);
    assert_int_equal(screens, 3);
    assert_int_equal(times("SIMULATED"), 1);
    has(" round 3; any key ends");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_text_has_its_colour),
        cmocka_unit_test(the_text_is_the_same_with_colours_and_without),
        cmocka_unit_test(what_programs_read_has_no_colour),
        cmocka_unit_test(an_error_has_a_colour_where_it_has_no_stream),
        cmocka_unit_test(a_bar_is_as_long_as_its_part),
        cmocka_unit_test(stat_prints_the_cells_of_perf),
        cmocka_unit_test(stat_prints_cells_at_intervals),
        cmocka_unit_test(cells_say_what_was_not_counted),
        cmocka_unit_test(a_wrong_word_names_the_nearest_right_one),
        cmocka_unit_test(a_value_may_be_attached_to_its_option),
        cmocka_unit_test(the_hottest_function_is_first),
        cmocka_unit_test(each_list_of_events_is_counted),
        cmocka_unit_test(json_has_no_lines_at_intervals),
        cmocka_unit_test(help_of_a_command_is_what_the_command_says),
        cmocka_unit_test(distances_are_those_of_their_definition),
        cmocka_unit_test(progress_is_shown_after_two_seconds_and_goes),
        cmocka_unit_test(progress_stops_what_is_sampled),
        cmocka_unit_test(progress_ends_with_what_it_is_of),
        cmocka_unit_test(completion_is_the_table),
        cmocka_unit_test(top_has_a_bar_for_each_event_of_a_round),
        cmocka_unit_test(top_counts_as_many_events_as_have_counters),
        cmocka_unit_test(top_says_once_what_is_simulated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
