/* SPDX-License-Identifier: MIT */
/*
 * The layout of a log, as its writer and its reader share it (docs/RESULTS.md).
 */
#ifndef UPMU_CORE_LOG_CORE_H
#define UPMU_CORE_LOG_CORE_H

#include <upmu/format.h>
#include <upmu/results.h>

#define UPMU_LOG_MAGIC "upmu-log"
#define UPMU_LOG_HEAD_BYTES 16u   /* magic, version in 8 bytes */
#define UPMU_LOG_RECORD_BYTES 8u  /* before a body: bytes of the record, a multiple of 8; kind */
#define UPMU_LOG_SAMPLE_BYTES 72u /* bytes of a sample's body before its values and frames */
#define UPMU_LOG_COUNT_BYTES 52u  /* bytes of the body of a count */
#define UPMU_LOG_TOTAL_BYTES 56u  /* bytes of the record of the end */
#define UPMU_LOG_CHECK_BYTES 4u   /* bytes of the check at the end of each record */

/*
 * Return the value that a record's check starts from: the number of the record, added to the check of the log's first
 * record. So records of an earlier log in the same memory, and records that were moved, do not pass their check.
 */
static inline uint32_t upmu_log_check_start(uint32_t first_check, uint64_t number)
{
    return number ? first_check + (uint32_t)number : 0;
}

/*
 * Read the record at an offset of an opened log. Returns false if its kind is unknown, or its body does not fit its
 * kind.
 */
bool upmu_log_item_at(const struct upmu_log_reader *reader, size_t at, struct upmu_log_item *out_item);

#endif
