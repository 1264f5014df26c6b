/* SPDX-License-Identifier: MIT */
/*
 * Reads and matches the explained differences.
 */
#include "tests/oracle/exceptions.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* Cut the next column off; NULL if there is none. */
static char *next_column(char **rest)
{
    char *column = *rest, *tab = column ? strchr(column, '\t') : NULL;

    *rest = tab ? tab + 1 : NULL;
    if (tab)
        *tab = '\0';
    return column;
}

bool oracle_exception_is_ours(const struct oracle_exception *exception)
{
    return strcmp(exception->right, "upmu") == 0;
}

static bool split(struct oracle_exception *exception)
{
    char *rest = exception->bytes;

    exception->pmu = next_column(&rest);
    exception->pattern = next_column(&rest);
    exception->difference = next_column(&rest);
    exception->rows = next_column(&rest);
    exception->right = next_column(&rest);
    exception->reason = next_column(&rest);
    exception->source = next_column(&rest);
    return exception->source && !rest &&
           (oracle_exception_is_ours(exception) || strcmp(exception->right, "libpfm4") == 0);
}

bool oracle_exceptions_read(struct oracle_exceptions *exceptions, const char *path)
{
    char line[ORACLE_LINE];
    unsigned number = 0;
    FILE *file = fopen(path, "r");
    bool good = file != NULL;

    memset(exceptions, 0, sizeof *exceptions);
    while (good && fgets(line, sizeof line, file)) {
        struct oracle_exception *exception = &exceptions->line[exceptions->count];

        number++;
        line[strcspn(line, "\n")] = '\0';
        if (!line[0] || line[0] == '#')
            continue;
        good = exceptions->count < ORACLE_EXCEPTIONS;
        if (good) {
            exception->number = number;
            memcpy(exception->bytes, line, sizeof line);
            good = split(exception);
            exceptions->count++;
        }
    }
    if (!good)
        printf("%s:%u: cannot be read, or not as its head says\n", path, number);
    if (file)
        (void)fclose(file);
    return good;
}

const struct oracle_exception *oracle_exceptions_explain(struct oracle_exceptions *exceptions, const char *pmu,
                                                         const char *row, const char *difference)
{
    for (unsigned i = 0; i < exceptions->count; i++) {
        struct oracle_exception *exception = &exceptions->line[i];

        if (strcmp(exception->pmu, pmu) == 0 && strcmp(exception->difference, difference) == 0 &&
            fnmatch(exception->pattern, row, 0) == 0) {
            exception->used++;
            return exception;
        }
    }
    return NULL;
}
