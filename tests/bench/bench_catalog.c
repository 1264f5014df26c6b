/* SPDX-License-Identifier: MIT */
/*
 * Catalogue look-ups to count instructions of: run under
 * valgrind --tool=callgrind --toggle-collect=FUNCTION.
 *
 *     bench_catalog lookup CATALOGUE NAME [TIMES]
 *     bench_catalog row|name CATALOGUE NAME [TIMES]    by the id of a name
 *     bench_catalog sweep CATALOGUE                    look-ups of every name: as it is,
 *                                                      folded, and with one letter wrong
 *
 * Prints nothing; exit status 1 if a look-up does not answer as it must.
 */
#include <stdlib.h>
#include <string.h>
#include "core/catalog.h"

static int sweep(const struct upmu_catalog *catalog)
{
    struct upmu_event_id id, found;
    char name[UPMU_CATALOG_NAME];
    uint32_t cursor = 0;
    int wrong = 0;

    while (upmu_catalog_next(catalog, NULL, &cursor, &id, name, sizeof name, NULL) == UPMU_OK) {
        size_t i, length = strlen(name);

        wrong |= upmu_catalog_lookup(catalog, name, length, &found) != UPMU_OK;
        for (i = 0; i < length; i++)
            if (strchr("_.:", name[i]))
                name[i] = '-';
            else if (name[i] >= 'A' && name[i] <= 'Z')
                name[i] = (char)(name[i] | 0x20);
        wrong |= upmu_catalog_lookup(catalog, name, length, &found) != UPMU_OK;
        name[length - 1] = '~';
        wrong |= upmu_catalog_lookup(catalog, name, length, &found) == UPMU_OK;
    }
    return wrong;
}

int main(int count, char **argument)
{
    const struct upmu_catalog *catalog = count > 2 ? upmu_catalog_find(argument[2]) : NULL;
    unsigned long times = count > 4 ? strtoul(argument[4], NULL, 10) : 1;
    struct upmu_event_id id = {0, 0, 0};
    struct upmu_row row;
    char name[UPMU_CATALOG_NAME];
    int wrong = 0;

    if (!catalog)
        return 1;
    if (!strcmp(argument[1], "sweep"))
        return sweep(catalog);
    if (count < 4)
        return 1;
    wrong = upmu_catalog_lookup(catalog, argument[3], strlen(argument[3]), &id) != UPMU_OK;
    if (!strcmp(argument[1], "lookup"))
        while (--times)
            wrong |= upmu_catalog_lookup(catalog, argument[3], strlen(argument[3]), &id) != UPMU_OK;
    else if (!strcmp(argument[1], "row"))
        while (times--)
            wrong |= !upmu_catalog_row(catalog, id.row, &row);
    else
        while (times--)
            wrong |= !upmu_catalog_id_name(catalog, id, name, sizeof name);
    return wrong;
}
