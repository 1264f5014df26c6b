/* SPDX-License-Identifier: MIT */
/*
 * build/upmu: the commands on a Linux host: names, encodings and placements, simulated CPUs; with --msr the machine's
 * own PMU.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <tools/child/child.h>
#include <tools/cmd/cmd_args.h>
#include <tools/msr/msr.h>

#define MEMORY_BYTES (64u << 20) /* of logs and their forms */
#define OTHER_OPTIONS 16u

static FILE *host_output; /* a program that is counted has the other one for itself, as with perf stat */

static void host_write(void *context, const char *text, size_t length)
{
    (void)context;
    (void)!fwrite(text, 1, length, host_output);
}

static void host_write_error(void *context, const char *text, size_t length)
{
    (void)context;
    (void)!fwrite(text, 1, length, stderr);
}

/* Colours of a terminal (ECMA-48, SGR). */
static void host_colour(void *context, enum cmd_colour colour)
{
    static const char *const sequences[CMD_COLOURS] = {
        [CMD_PLAIN] = "0", [CMD_TITLE] = "1", [CMD_PROMPT] = "32",    [CMD_NAME] = "36",   [CMD_ASIDE] = "2",
        [CMD_GOOD] = "32", [CMD_BAD] = "31",  [CMD_SIMULATED] = "33", [CMD_BAR] = "32;42",
    };

    (void)context;
    (void)fprintf(host_output, "\033[%sm", sequences[colour]);
}

/* Is the file a terminal that takes sequences for colours? */
static bool is_terminal(int file)
{
    const char *terminal = getenv("TERM");

    return isatty(file) && terminal != NULL && !cmd_equal(terminal, "dumb");
}

/* The output is a terminal that knows colours, and NO_COLOR does not forbid them (no-color.org). */
static bool has_colours(void)
{
    const char *none = getenv("NO_COLOR");

    return is_terminal(fileno(host_output)) && (none == NULL || none[0] == '\0');
}

static uint64_t host_now_ms(void *context)
{
    struct timespec now;

    (void)context;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* On the stream of errors, whether or not the output is a terminal (ECMA-48: EL). */
static void host_progress(void *context, const char *text)
{
    (void)context;
    (void)fflush(host_output);
    (void)fprintf(stderr, "\r%s\033[K", text);
}

/*
 * Open a file for writing; every file that the tool writes is opened here.  The user may be root and the folder
 * open to all users: a file of bytes is always a new one (`fresh`), which no symbolic or hard link of another user has
 * led elsewhere.  Without `fresh`: pipes and devices, also by a link such as /dev/stdout, but no link of another
 * user.
 */
static int open_for_writing(const char *name, bool fresh)
{
    struct stat found;
    int file;

    if (fresh) {
        /* A file that an earlier run left behind.  (unlink() follows no link.) */
        if (lstat(name, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid())
            (void)unlink(name);
        return open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    if (lstat(name, &found) != 0 || (S_ISLNK(found.st_mode) && found.st_uid != 0 && found.st_uid != geteuid()))
        return -1;
    file = open(name, O_WRONLY | O_CLOEXEC);
    if (file < 0 || (fstat(file, &found) == 0 && !S_ISREG(found.st_mode)))
        return file;
    (void)close(file);
    return -1;
}

static bool write_whole(int file, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t done = write(file, bytes, length);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            break;
        bytes += done;
        length -= (size_t)done;
    }
    return close(file) == 0 && length == 0;
}

/* A file appears under its name when all of it is stored; pipes and devices are written as they are. */
static bool host_write_file(void *context, const char *name, const void *bytes, size_t length)
{
    char part[FILENAME_MAX];
    struct stat found;
    int file;

    (void)context;
    if (lstat(name, &found) == 0 && !S_ISREG(found.st_mode)) {
        file = open_for_writing(name, false);
        return file >= 0 && write_whole(file, bytes, length);
    }
    if (snprintf(part, sizeof part, "%s.part", name) >= (int)sizeof part)
        return false;
    file = open_for_writing(part, true);
    if (file < 0)
        return false;
    if (write_whole(file, bytes, length) && rename(part, name) == 0)
        return true;
    (void)unlink(part);
    return false;
}

/* Kept until the end. */
static const void *host_read_file(void *context, const char *name, size_t *out_length)
{
    FILE *file = fopen(name, "rb");
    char *bytes = NULL;
    long length;

    (void)context;
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0)
        bytes = malloc((size_t)length);
    if (bytes != NULL && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
        free(bytes);
        bytes = NULL;
    }
    *out_length = bytes != NULL ? (size_t)length : 0;
    (void)fclose(file);
    return bytes;
}

/* Options of the machine's own PMU and of programs, for completion. */
static const struct cmd_option *all_options(void)
{
    static struct cmd_option options[OTHER_OPTIONS];
    const struct cmd_option *const lists[] = {msr_options, child_options};
    unsigned count = 0;

    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct cmd_option *option = lists[i]; option->name[0] != '\0' && count < OTHER_OPTIONS - 1; option++)
            options[count++] = *option;
    return options;
}

static bool asks_for_help(unsigned count, const char *const *words)
{
    for (unsigned i = 0; i < count; i++)
        if (cmd_equal(words[i], "--help") || cmd_equal(words[i], "-h"))
            return true;
    return false;
}

/* Help of what cmd_run() does not see. */
static void help_others(struct cmd *cmd, unsigned count, const char *const *words)
{
    if (count == 0 || cmd_equal(words[0], "help") || cmd_equal(words[0], "--help") || cmd_equal(words[0], "-h"))
        msr_help(cmd);
    else if (child_known(words[0]) && asks_for_help(count, words) && !msr_asked(count, words))
        child_help(cmd);
}

/* The command, with the program that it counts. */
static int run(struct cmd *cmd, unsigned count, const char *const *words)
{
    const char *kept[CHILD_WORDS];
    int result = CMD_OK;

    if (child_asked(count, words)) {
        result = child_take(cmd, count, words, kept, &count);
        words = kept;
    }
    if (result == CMD_OK)
        result = msr_asked(count, words) ? msr_run(cmd, &upmu_linux_system_itself, count, words, cmd_workload_loops)
                                         : cmd_run(cmd, count, words);
    if (cmd->child != NULL)
        result = child_end(cmd, result);
    help_others(cmd, count, words);
    return result;
}

int main(int argc, char **argv)
{
    static struct cmd_sink sink = {
        .write = host_write,
        .write_error = host_write_error,
        .write_file = host_write_file,
        .read_file = host_read_file,
        .now_ms = host_now_ms,
    };
    static struct cmd_room room;
    static uint64_t memory[MEMORY_BYTES / 8];
    static struct cmd cmd = {.sink = &sink,
                             .program = "upmu",
                             .room = &room,
                             .memory = memory,
                             .memory_bytes = sizeof memory,
                             .own = cmd_completion,
                             .others = msr_commands};
    const char *class = cmd_pmc_class(argv[0]);
    const char *called[CMD_OPERANDS + 3] = {"pmcstat", "--class", class};
    const char **split = calloc(2 * (size_t)argc + 1, sizeof *split); /* NULL behind the last, for exec */
    const char *const *words = split;
    unsigned count;
    int result;

    if (split == NULL)
        return EXIT_FAILURE;
    cmd.other_options = all_options();
    count = cmd_split_words(&cmd, (unsigned)(argc - 1), (const char *const *)(argv + 1), split);
    host_output = child_asked(count, words) ? stderr : stdout;
    sink.colour = has_colours() ? host_colour : NULL;
    sink.progress = is_terminal(STDERR_FILENO) ? host_progress : NULL;
    if (class != NULL) { /* pmcstat, pmcstat_p4, ... */
        unsigned first = class[0] != '\0' ? 3 : 1;

        for (unsigned i = 0; i < count && first + i < CMD_OPERANDS + 3; i++)
            called[first + i] = words[i];
        count = first + count < CMD_OPERANDS + 3 ? first + count : CMD_OPERANDS + 3;
        words = called;
    }
    result = run(&cmd, count, words);
    free(split);
    if (fflush(host_output) != 0 || ferror(host_output)) {
        (void)fputs("upmu: cannot write the output\n", stderr);
        return EXIT_FAILURE;
    }
    return result;
}
