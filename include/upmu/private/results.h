/* SPDX-License-Identifier: MIT */
/*
 * The structures of a log that is written or read (upmu/results.h), whole so that a caller can place them.  Of struct
 * upmu_log may be read `samples`, `lost` and `cut`.
 */
#ifndef UPMU_PRIVATE_RESULTS_H
#define UPMU_PRIVATE_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/status.h>

/* State of an output that is being written. */
struct upmu_emit {
    /* private */
    struct upmu_output *output; /* NULL: bytes are only counted */
    size_t length;
    uint32_t crc; /* check of the bytes of the present record that have left `stage` */
    bool sums; /* `crc` is kept: a record of a log is being written, and its check is not reached */
    bool failed;
    uint8_t staged;
    uint8_t stage[64];
};

/* A log that is being written. */
struct upmu_log {
    uint64_t samples; /* samples written */
    uint64_t lost;    /* samples that found no room in a ring, as the written samples say */
    uint64_t cut;     /* samples that found no room in the log's buffer */
    /* private */
    struct upmu_emit emit;
    uint64_t records; /* records written */
    uint32_t events;  /* events written */
    uint32_t first_check; /* check of the first record */
    enum upmu_status status; /* the first failure, which ends the log; UPMU_ERR_STATE after the end */
};

/* The reader of a log, and its place there. */
struct upmu_log_reader {
    /* private */
    const uint8_t *bytes;
    size_t length;
    size_t at;
    size_t item; /* where the record was that upmu_log_next() returned last */
    uint64_t number; /* number of the record at `at` */
    uint32_t first_check[2]; /* check of the first record: as stored, as computed */
    bool salvages; /* records that are not sound are passed over */
};

#endif
