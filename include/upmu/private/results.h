/* SPDX-License-Identifier: MIT */
/*
 * The structures of a log that is written, and of one that is read (upmu/results.h).  The host gives their memory, and
 * of struct upmu_log may read `samples`, `lost` and `cut`.
 */
#ifndef UPMU_PRIVATE_RESULTS_H
#define UPMU_PRIVATE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/status.h>

/* The state of writing bytes to a struct upmu_output: up to 64 bytes are collected in `stage`, then passed on. */
struct upmu_emit {
    /* private */
    struct upmu_output *output; /* where the bytes go; NULL: they are only counted, in `length` */
    size_t length;
    /* CRC, begun with upmu_log_check_start(), of the present record's bytes that were passed on from `stage` */
    uint32_t crc;
    bool sums; /* bytes are added to `crc`: they belong to a record of a log, and are not its checksum */
    bool failed;
    uint8_t staged;
    uint8_t stage[64];
};

/* A log that is being written (upmu_log_begin() to upmu_log_end()). */
struct upmu_log {
    uint64_t samples; /* samples written */
    /* number of samples that found no room in a session's ring, as the written samples and the end say */
    uint64_t lost;
    uint64_t cut;     /* number of samples that found no room in the log's buffer */
    /* private */
    struct upmu_emit emit;
    uint64_t records; /* records written */
    uint32_t events;  /* events written */
    uint32_t first_check; /* checksum of the log's first record */
    /* the failure after which calls add nothing: UPMU_ERR_WRITE; UPMU_ERR_STATE after the end; else UPMU_OK */
    enum upmu_status status;
};

/* A log that is being read, and how far. */
struct upmu_log_reader {
    /* private */
    const uint8_t *bytes;
    size_t length;
    size_t at;
    size_t item; /* offset of the record that upmu_log_next() gave last */
    uint64_t number; /* number of the record at offset `at` */
    uint32_t first_check[2]; /* checksum of the log's first record: [0] as it stands there, [1] as it was computed */
    bool salvages; /* upmu_log_salvage(): damaged records are left out; false: reading ends at the first */
};

#endif
