/* SPDX-License-Identifier: MIT */
/*
 * Files of the source tree in tests, and tables among them: rows cut at tabs, comments behind "#".
 */
#ifndef UPMU_TEST_TABLE_H
#define UPMU_TEST_TABLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

/* `path` begins at the top of the tree. */
static inline FILE *source_open(const char *path)
{
    char name[4096];
    FILE *file;

    snprintf(name, sizeof name, "%s/%s", UPMU_SOURCE_DIR, path);
    file = fopen(name, "r");
    if (!file)
        fail_msg("cannot open %s", name);
    return file;
}

/* The next row: how many fields it has, at most `most`; what it lacks is empty.  0: there are no more rows. */
static inline unsigned table_row(FILE *file, char *line, size_t size, char **field, unsigned most)
{
    unsigned fields = 1;

    do
        if (!fgets(line, (int)size, file))
            return 0;
    while (line[0] == '#' || line[0] == '\n');
    line[strcspn(line, "\n")] = '\0';
    field[0] = line;
    while ((line = strchr(line, '\t')) != NULL) {
        if (fields == most)
            fail_msg("more than %u fields: \"%s\"", most, field[0]);
        *line++ = '\0';
        field[fields++] = line;
    }
    for (unsigned i = fields; i < most; i++)
        field[i] = field[fields - 1] + strlen(field[fields - 1]);
    return fields;
}

#endif
