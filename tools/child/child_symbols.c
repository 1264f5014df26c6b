/* SPDX-License-Identifier: MIT */
/*
 * What a program that has been started has in memory: functions, from its file (those of its shared libraries have no
 * names), and the files that its code is mapped from, as the kernel says.
 */
#define _GNU_SOURCE
#include <tools/child/child_run.h>

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* All bytes of a file; NULL: it cannot be read. */
static void *read_whole(const char *path, size_t *out_length)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat found;
    char *bytes = NULL;
    size_t have = 0;

    if (file < 0)
        return NULL;
    if (fstat(file, &found) == 0 && found.st_size > 0)
        bytes = malloc((size_t)found.st_size);
    while (bytes != NULL && have < (size_t)found.st_size) {
        ssize_t more = read(file, bytes + have, (size_t)found.st_size - have);

        if (more <= 0)
            break;
        have += (size_t)more;
    }
    (void)close(file);
    *out_length = have;
    return bytes;
}

/* How far from its addresses in the file a program stands: what the kernel says of its entry. */
static uint64_t moved_by(const struct child *child, const struct cmd_elf *elf)
{
    const size_t bytes = elf->wide ? 8 : 4;
    char path[40];
    uint8_t pairs[1024];
    ssize_t length = 0;
    int file;

    (void)snprintf(path, sizeof path, "/proc/%d/auxv", (int)child->id);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        length = read(file, pairs, sizeof pairs);
        (void)close(file);
    }
    for (ssize_t at = 0; at + (ssize_t)(2 * bytes) <= length; at += (ssize_t)(2 * bytes)) {
        uint64_t kind = 0, value = 0;

        memcpy(&kind, pairs + at, bytes);
        memcpy(&value, pairs + at + bytes, bytes);
        if (kind == AT_ENTRY)
            return value - elf->entry;
    }
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct cmd_symbol *first = a, *second = b;

    return first->start != second->start ? (first->start > second->start) - (first->start < second->start)
                                         : (first->end < second->end) - (first->end > second->end);
}

/*
 * Keep a single symbol at an address, and end it at the next one at most. Labels of assembler code have no size: such a
 * one ends at the next, the last one with its page.
 */
static unsigned without_overlap(struct cmd_symbol *function, unsigned count)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < count; i++) {
        if (kept != 0 && function[kept - 1].start == function[i].start)
            continue;
        if (kept != 0 &&
            (function[kept - 1].end == function[kept - 1].start || function[kept - 1].end > function[i].start))
            function[kept - 1].end = function[i].start;
        function[kept++] = function[i];
    }
    if (kept != 0 && function[kept - 1].end == function[kept - 1].start)
        function[kept - 1].end = (function[kept - 1].start | 4095) + 1;
    return kept;
}

void child_read_functions(struct child *child)
{
    struct cmd_elf elf;
    uint64_t moved;
    size_t length = 0;
    char path[40];

    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)child->id);
    child->file = read_whole(path, &length);
    if (child->file == NULL || !cmd_elf_open(&elf, child->file, length))
        return;
    moved = moved_by(child, &elf);
    child->function = malloc(elf.symbol_count * sizeof *child->function);
    for (uint64_t i = 0; child->function != NULL && i < elf.symbol_count; i++) {
        struct cmd_symbol *symbol = &child->function[child->functions];

        if (!cmd_elf_function(&elf, i, symbol))
            continue;
        symbol->start += moved;
        symbol->end += moved;
        child->functions++;
    }
    if (child->functions != 0)
        qsort(child->function, child->functions, sizeof *child->function, by_address);
    child->functions = without_overlap(child->function, child->functions);
}

/* A line of proc_pid_maps(5), whose last column is the file.  False: the memory is no code, or of no file. */
static bool mapping_of(char *line, struct cmd_mapping *out_mapping, char out_name[CHILD_NAME])
{
    int name = 0;
    char executable;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %*s %n", &out_mapping->start,
               &out_mapping->end, &executable, &out_mapping->offset, &name) != 4)
        return false;
    if (executable != 'x' || line[name] != '/' || strlen(line + name) >= CHILD_NAME)
        return false;
    strcpy(out_name, line + name);
    out_mapping->name = out_name;
    return true;
}

void child_read_mappings(struct child *child)
{
    char line[CHILD_NAME + 128];
    FILE *file;

    (void)snprintf(line, sizeof line, "/proc/%d/maps", (int)child->id);
    file = fopen(line, "re");
    while (file != NULL && child->mappings < CHILD_MAPPINGS && fgets(line, sizeof line, file) != NULL)
        child->mappings += mapping_of(line, &child->mapping[child->mappings], child->mapped[child->mappings]);
    if (file != NULL)
        (void)fclose(file);
}

void child_forget_functions(struct child *child)
{
    free(child->function);
    free(child->file);
    child->function = NULL;
    child->file = NULL;
    child->functions = 0;
    child->mappings = 0;
}

bool child_function(unsigned index, struct cmd_symbol *out_symbol)
{
    const struct child *child = &child_state;

    if (index >= child->functions)
        return false;
    *out_symbol = child->function[index];
    return true;
}

bool child_mapping(unsigned index, struct cmd_mapping *out_mapping)
{
    const struct child *child = &child_state;

    if (index >= child->mappings)
        return false;
    *out_mapping = child->mapping[index];
    return true;
}
