/* SPDX-License-Identifier: MIT */
/*
 * Packed files for tests: the generated ones of single catalogues, made into files from
 * outside.
 */
#define UPMU_EVENTS_ALL 0
#define UPMU_EVENTS_UNCORE 0
#define UPMU_EVENTS_ppro 1
#define UPMU_EVENTS_pm 1
#define UPMU_EVENTS_coreduo 1
#define UPMU_EVENTS_k7 1
#define UPMU_EVENTS_netburst 1
#define UPMU_EVENTS_zen2 1
#define UPMU_EVENTS_skl 1
#define upmu_catalog_file_at blob_file_at /* the library has its own */

#include "tests/common/blobs.h"

#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE: the tables themselves */
#include "events/catalog_models.c"

#include "core/catalog/catalog_table.h"

#define SMALL 4096u

/* The i-th by size. */
static const uint8_t *blob_at(unsigned i)
{
    for (unsigned k = 0; blob_file_at(k); k++) {
        unsigned smaller = 0;

        for (unsigned j = 0; blob_file_at(j); j++)
            smaller += upmu_word(blob_file_at(j) + 4) < upmu_word(blob_file_at(k) + 4);
        if (smaller == i)
            return blob_file_at(k);
    }
    return NULL;
}

unsigned blob_count(void)
{
    unsigned count = 0;

    while (blob_file_at(count))
        count++;
    return count;
}

unsigned blob_small_count(void)
{
    unsigned small = 0;

    for (unsigned i = 0; i < blob_count(); i++)
        small += upmu_word(blob_at(i) + 4) <= SMALL;
    return small;
}

void blob_seal(uint8_t *file, size_t size)
{
    uint32_t sum = UINT32_C(2166136261);

    for (size_t i = 0; i + 4 < size; i++)
        sum = (sum ^ file[i]) * UINT32_C(0x01000193);
    for (unsigned i = 0; i < 4; i++)
        file[size - 4 + i] = (uint8_t)(sum >> 8 * i);
}

size_t blob_make(unsigned i, uint8_t out[BLOB_ROOM])
{
    const uint8_t *file = blob_at(i);
    size_t size = file ? upmu_word(file + 4) : 0;
    uint8_t *catalog;

    if (!size || size > BLOB_ROOM)
        abort();
    memcpy(out, file, size);
    catalog = out + upmu_offset(out + UPMU_FILE_DIRECTORY);
    catalog[13] = (uint8_t)(catalog[13] + 1); /* its number + 256 */
    catalog[22] |= 128;                       /* imported */
    blob_seal(out, size);
    return size;
}
