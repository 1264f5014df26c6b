/* SPDX-License-Identifier: MIT */
/*
 * Packed files of single catalogues as upmu_catalog_load() takes them, for tests.
 */
#ifndef UPMU_TESTS_COMMON_BLOBS_H
#define UPMU_TESTS_COMMON_BLOBS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the largest. */
#define BLOB_ROOM 16384u

/* How many there are, and how many of them, which come first, have at most 4 KiB. */
unsigned blob_count(void);
unsigned blob_small_count(void);

/* Write the i-th into `out`; its bytes.  Its catalogue has the number of the built-in one + 256. */
size_t blob_make(unsigned i, uint8_t out[BLOB_ROOM]);

/* Put the checksum of the bytes before behind them. */
void blob_seal(uint8_t *file, size_t size);

#endif
