/* SPDX-License-Identifier: MIT */
/*
 * Layouts of precise records, from tests/golden/precise_records.tsv: where a field of a layout is, and how to write and
 * read it.
 */
#ifndef UPMU_TESTS_COMMON_PRECISE_LAYOUTS_H
#define UPMU_TESTS_COMMON_PRECISE_LAYOUTS_H

#include <stdbool.h>
#include <stdlib.h>

#include "tests/common/table.h"

#define LAYOUT_ROWS 200u

struct layout_row {
    char layout[16], field[16];
    unsigned offset, bytes;
};

struct layouts {
    struct layout_row row[LAYOUT_ROWS];
    unsigned rows;
};

static inline void layouts_load(struct layouts *layouts)
{
    FILE *file = source_open("tests/golden/precise_records.tsv");
    char line[256], *field[4];

    layouts->rows = 0;
    while (table_row(file, line, sizeof line, field, 4)) {
        struct layout_row *row = &layouts->row[layouts->rows++];

        assert_compare(layouts->rows, <=, LAYOUT_ROWS);
        snprintf(row->layout, sizeof row->layout, "%s", field[0]);
        snprintf(row->field, sizeof row->field, "%s", field[3]);
        row->offset = (unsigned)strtoul(field[1], NULL, 10);
        row->bytes = (unsigned)strtoul(field[2], NULL, 10);
    }
    fclose(file);
}

/* The row of a field; NULL: the layout has none of this name. */
static inline const struct layout_row *layout_find(const struct layouts *layouts, const char *layout, const char *field)
{
    for (unsigned i = 0; i < layouts->rows; i++)
        if (!strcmp(layouts->row[i].layout, layout) && !strcmp(layouts->row[i].field, field))
            return &layouts->row[i];
    return NULL;
}

static inline unsigned layout_size(const struct layouts *layouts, const char *layout)
{
    const struct layout_row *row = layout_find(layouts, layout, "end");

    if (!row)
        fail_msg("no size of \"%s\"", layout);
    return row->offset;
}

/* Write a field of the layout that begins at `at`. */
static inline void layout_put(const struct layouts *layouts, uint8_t *at, const char *layout, const char *field,
                              uint64_t value)
{
    const struct layout_row *row = layout_find(layouts, layout, field);

    if (!row)
        fail_msg("no field \"%s\" in \"%s\"", field, layout);
    for (unsigned i = 0; i < row->bytes; i++)
        at[row->offset + i] = (uint8_t)(value >> 8u * i);
}

/* A field of the layout that begins at `at`; 0: the layout has no field of this name. */
static inline uint64_t layout_get(const struct layouts *layouts, const uint8_t *at, const char *layout,
                                  const char *field)
{
    const struct layout_row *row = layout_find(layouts, layout, field);
    uint64_t value = 0;

    for (unsigned i = 0; row && i < row->bytes; i++)
        value |= (uint64_t)at[row->offset + i] << 8u * i;
    return value;
}

#endif
