/* SPDX-License-Identifier: MIT */
/*
 * Write bytes to an output. emit->length counts all bytes, also those that a failure keeps from the output. Bytes are
 * collected in emit->stage, up to 64, before they go to the output; while emit->sums is true, emit->crc becomes the CRC
 * of the bytes that went there.
 */
#ifndef UPMU_CORE_EMIT_H
#define UPMU_CORE_EMIT_H

#include <upmu/results.h>

/* Begin to write to an output. If `output` is NULL, bytes are only counted, in emit->length. */
void upmu_emit_begin(struct upmu_emit *emit, struct upmu_output *output);

/*
 * Append bytes to the output. After a write that failed nothing more is written: upmu_emit_flush() reports the failure.
 */
void upmu_emit_bytes(struct upmu_emit *emit, const void *bytes, size_t length);
void upmu_emit_byte(struct upmu_emit *emit, unsigned byte);
void upmu_emit_number(struct upmu_emit *emit, uint64_t value, unsigned bytes); /* lowest byte first */
void upmu_emit_string(struct upmu_emit *emit, const char *string);
void upmu_emit_decimal(struct upmu_emit *emit, uint64_t value);
void upmu_emit_hex(struct upmu_emit *emit, uint64_t value, unsigned least_digits);
void upmu_emit_zeros(struct upmu_emit *emit, size_t count);

/* Write the bytes that are in emit->stage to the output; false: a write has failed since upmu_emit_begin(). */
bool upmu_emit_flush(struct upmu_emit *emit);

/*
 * Return the CRC-32 (polynomial 0xedb88320, as in zlib) of a sequence of bytes that ends with these bytes. `crc` is the
 * CRC of the bytes before them; 0: these are the first.
 */
uint32_t upmu_emit_crc(uint32_t crc, const void *bytes, size_t length);

#endif
