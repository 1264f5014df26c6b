/* SPDX-License-Identifier: MIT */
/*
 * build/upmu: the commands on a Linux host: names, encodings and placements, simulated CPUs; with --msr the machine's
 * own PMU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <tools/cmd/cmd_args.h>
#include <tools/msr/msr.h>

#define MEMORY_BYTES (64u << 20) /* of logs and their forms */

static void host_write(void *context, const char *text, size_t length)
{
    (void)context;
    (void)!fwrite(text, 1, length, stdout);
}

static void host_write_error(void *context, const char *text, size_t length)
{
    (void)context;
    (void)!fwrite(text, 1, length, stderr);
}

static bool write_whole(const char *name, const void *bytes, size_t length)
{
    FILE *file = fopen(name, "wb");
    bool written;

    if (file == NULL)
        return false;
    written = fwrite(bytes, 1, length, file) == length;
    return fclose(file) == 0 && written;
}

/* A file appears under its name when all of it is stored.  (Pipes and devices are written as they are.) */
static bool host_write_file(void *context, const char *name, const void *bytes, size_t length)
{
    char part[FILENAME_MAX];
    struct stat found;

    (void)context;
    if (lstat(name, &found) == 0 && !S_ISREG(found.st_mode))
        return write_whole(name, bytes, length);
    if (snprintf(part, sizeof part, "%s.part", name) >= (int)sizeof part)
        return false;
    if (write_whole(part, bytes, length) && rename(part, name) == 0)
        return true;
    (void)remove(part);
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

int main(int argc, char **argv)
{
    static const struct cmd_sink sink = {
        .write = host_write,
        .write_error = host_write_error,
        .write_file = host_write_file,
        .read_file = host_read_file,
    };
    static struct cmd_room room;
    static uint64_t memory[MEMORY_BYTES / 8];
    static struct cmd cmd = {
        .sink = &sink, .program = "upmu", .room = &room, .memory = memory, .memory_bytes = sizeof memory};
    const char *class = cmd_pmc_class(argv[0]);
    const char *called[CMD_OPERANDS + 3] = {"pmcstat", "--class", class};
    const char *const *words = (const char *const *)(argv + 1);
    unsigned count = (unsigned)(argc - 1);
    int result;

    if (class != NULL) { /* pmcstat, pmcstat_p4, ... */
        unsigned first = class[0] != '\0' ? 3 : 1;

        for (unsigned i = 0; i < count && first + i < CMD_OPERANDS + 3; i++)
            called[first + i] = words[i];
        count = first + count < CMD_OPERANDS + 3 ? first + count : CMD_OPERANDS + 3;
        words = called;
    }
    result = msr_asked(count, words) ? msr_run(&cmd, &upmu_linux_system_itself, count, words, cmd_workload_loops)
                                     : cmd_run(&cmd, count, words);

    if (count == 0 || cmd_equal(words[0], "help") || cmd_equal(words[0], "--help") || cmd_equal(words[0], "-h"))
        msr_help(&cmd);

    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)fputs("upmu: cannot write the output\n", stderr);
        return EXIT_FAILURE;
    }
    return result;
}
