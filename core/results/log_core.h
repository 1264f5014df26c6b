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
#define UPMU_LOG_SAMPLE_BYTES 72u /* of a body, before its values and frames */
#define UPMU_LOG_COUNT_BYTES 52u  /* of a body */
#define UPMU_LOG_TOTAL_BYTES 56u  /* the record of the end */
#define UPMU_LOG_CHECK_BYTES 4u   /* at the end of each record: its check */

/* The value that a record's check starts from: its number, and the check of the first record, make a log's records its
   own.  Records of an earlier log in the same memory, and records that were moved, fail. */
static inline uint32_t upmu_log_check_start(uint32_t first_check, uint64_t number)
{
    return number ? first_check + (uint32_t)number : 0;
}

/* The record at an offset of an opened log.  false: it is not in its shape, or of an unknown kind. */
bool upmu_log_item_at(const struct upmu_log_reader *reader, size_t at, struct upmu_log_item *out_item);

#endif
