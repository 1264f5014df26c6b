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
    uint32_t crc;
    bool sums; /* crc is kept: of a record of a log, up to its check */
    bool failed;
    uint8_t staged;
    uint8_t stage[64];
};

/* A log in the making. */
struct upmu_log {
    uint64_t samples; /* written */
    uint64_t lost;    /* that found no room in a ring, as its samples say */
    uint64_t cut;     /* that found no room in the log's buffer */
    /* private */
    struct upmu_emit emit;
    uint64_t records;
    uint32_t events;
    uint32_t first_check; /* of the first record */
    enum upmu_status status; /* of the first failure; UPMU_ERR_STATE after the end */
};

/* A place in a log. */
struct upmu_log_reader {
    /* private */
    const uint8_t *bytes;
    size_t length;
    size_t at;
    size_t item; /* where the last record was that upmu_log_next() gave */
    uint64_t number; /* of the record at `at` */
    uint32_t first_check[2]; /* of the first record, as stored and as computed */
    bool salvages; /* records that are not sound are passed over */
};

#endif
