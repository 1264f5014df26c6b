/* SPDX-License-Identifier: MIT */
/* The layout of a log (docs/RESULTS.md), for the writer and the reader of logs. */
#ifndef UPMU_CORE_LOG_CORE_H
#define UPMU_CORE_LOG_CORE_H

#include <upmu/format.h>
#include <upmu/results.h>

#define UPMU_LOG_MAGIC "upmu-log"
#define UPMU_LOG_HEAD_BYTES 16u   /* bytes of a log before its first record: magic (8), version (8) */
#define UPMU_LOG_RECORD_BYTES 8u  /* bytes of a record before its body: its length in bytes (4), its kind (4) */
#define UPMU_LOG_SAMPLE_BYTES 72u /* bytes of a sample's body before its values and its callers' addresses */
#define UPMU_LOG_PARTS_BYTES 8u   /* bytes of a precise sample's body before the words of the hardware's record */
#define UPMU_LOG_COUNT_BYTES 52u  /* bytes of the body of a count record */
#define UPMU_LOG_TOTAL_BYTES 56u  /* bytes of the whole record that ends a log */
#define UPMU_LOG_CHECK_BYTES 4u   /* bytes of the check at the end of each record: a CRC-32 of the record */

/* The kind of a record that is a precise sample: the body of a sample, then its parts.  Readers see UPMU_LOG_SAMPLE. */
#define UPMU_LOG_PRECISE 9u

/* Parts that logs keep. */
#define UPMU_LOG_PARTS                                                                                                 \
    (UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION | UPMU_PART_REGISTERS |           \
     UPMU_PART_BRANCHES | UPMU_PART_RETIRE)

/*
 * Return the value that the CRC of a record starts from: the number of the record in the log, added to the check of the
 * log's first record; 0 for the first record. So records of an earlier log in the same memory, and records that were
 * moved, do not pass their check.
 */
static inline uint32_t upmu_log_check_start(uint32_t first_check, uint64_t number)
{
    return number ? first_check + (uint32_t)number : 0;
}

/*
 * Read the record at offset `at`, in bytes, of an opened log. Returns false if there is none, if its kind is unknown,
 * or if its body has not the length that its kind needs.
 */
bool upmu_log_item_at(const struct upmu_log_reader *reader, size_t at, struct upmu_log_item *out_item);

#endif
