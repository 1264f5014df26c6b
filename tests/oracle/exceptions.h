/* SPDX-License-Identifier: MIT */
/*
 * The differences from libpfm4 that are known and explained: tests/oracle/exceptions.tsv.
 */
#ifndef UPMU_TESTS_ORACLE_EXCEPTIONS_H
#define UPMU_TESTS_ORACLE_EXCEPTIONS_H

#include <stdbool.h>

#define ORACLE_EXCEPTIONS 256
#define ORACLE_LINE 1024

struct oracle_exception {
    char bytes[ORACLE_LINE]; /* the line, cut at its tabs */
    const char *pmu, *pattern, *difference, *rows, *right, *reason, *source;
    unsigned number; /* in the file, from 1 */
    unsigned used;   /* rows that it explained */
};

struct oracle_exceptions {
    struct oracle_exception line[ORACLE_EXCEPTIONS];
    unsigned count;
};

/* Is upmu right, by the second source?  Else the row is one that upmu has to learn. */
bool oracle_exception_is_ours(const struct oracle_exception *exception);

/* Read the file; false, with a message, if it cannot be read or is misshapen. */
bool oracle_exceptions_read(struct oracle_exceptions *exceptions, const char *path);

/*
 * The first line for a PMU, a row ("EVENT:MASK:u=1:k=1") and its difference, or NULL.
 * PMU and difference are compared exactly, the row by '*' and '?'.  Counts the use.
 */
const struct oracle_exception *oracle_exceptions_explain(struct oracle_exceptions *exceptions, const char *pmu,
                                                         const char *row, const char *difference);

#endif
