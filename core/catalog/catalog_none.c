/* SPDX-License-Identifier: MIT */
/* Functions of catalogues for a library built without names (UPMU_NAMES is 0): there is no catalogue. */
#include "core/catalog/catalog.h"

#if !UPMU_NAMES

const struct upmu_catalog *upmu_catalog_find(const char *pmu_name)
{
    (void)pmu_name;
    return NULL;
}

const struct upmu_catalog *upmu_catalog_builtin(unsigned i)
{
    (void)i;
    return NULL;
}

uint16_t upmu_catalog_number(const struct upmu_catalog *catalog)
{
    (void)catalog;
    return 0;
}

const char *upmu_catalog_name(const struct upmu_catalog *catalog)
{
    (void)catalog;
    return "";
}

enum upmu_source upmu_catalog_source(const struct upmu_catalog *catalog)
{
    (void)catalog;
    return UPMU_SOURCE_BUILT_IN;
}

unsigned upmu_catalog_rows(const struct upmu_catalog *catalog)
{
    (void)catalog;
    return 0;
}

enum upmu_status upmu_catalog_lookup(const struct upmu_catalog *catalog, const char *name, size_t length,
                                     struct upmu_event_id *out_id)
{
    (void)catalog, (void)name, (void)length, (void)out_id;
    return UPMU_ERR_COMPILED_OUT;
}

bool upmu_catalog_row(const struct upmu_catalog *catalog, unsigned row, struct upmu_row *out_row)
{
    (void)catalog, (void)row, (void)out_row;
    return false;
}

unsigned upmu_catalog_row_unit(const struct upmu_catalog *catalog, unsigned row)
{
    (void)catalog, (void)row;
    return 0;
}

bool upmu_catalog_mask(const struct upmu_catalog *catalog, unsigned row, unsigned mask, struct upmu_mask *out_mask)
{
    (void)catalog, (void)row, (void)mask, (void)out_mask;
    return false;
}

bool upmu_catalog_mask_lookup(const struct upmu_catalog *catalog, unsigned row, const char *name, size_t length,
                              unsigned *out_mask)
{
    (void)catalog, (void)row, (void)name, (void)length, (void)out_mask;
    return false;
}

size_t upmu_catalog_row_name(const struct upmu_catalog *catalog, unsigned row, char *buffer, size_t size)
{
    (void)catalog, (void)row;
    if (size)
        buffer[0] = 0;
    return 0;
}

size_t upmu_catalog_mask_name(const struct upmu_catalog *catalog, unsigned row, unsigned mask, char *buffer,
                              size_t size)
{
    (void)mask;
    return upmu_catalog_row_name(catalog, row, buffer, size);
}

enum upmu_status upmu_catalog_next(const struct upmu_catalog *catalog, const char *glob, uint32_t *cursor,
                                   struct upmu_event_id *out_id, char *buffer, size_t size, bool *out_alias)
{
    (void)catalog, (void)glob, (void)cursor, (void)out_id, (void)buffer, (void)size, (void)out_alias;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_catalog_by_encoding(const struct upmu_catalog *catalog, const struct upmu_row *row,
                                          struct upmu_event_id *out_id)
{
    (void)catalog, (void)row, (void)out_id;
    return UPMU_ERR_COMPILED_OUT;
}

bool upmu_catalog_nearest(const struct upmu_catalog *catalog, const char *name, size_t length,
                          struct upmu_event_id *out_id)
{
    (void)catalog, (void)name, (void)length, (void)out_id;
    return false;
}

#endif
