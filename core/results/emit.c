/* SPDX-License-Identifier: MIT */
/* Write bytes to an output, which is a buffer or a function of the caller, or only count them. */
#include "core/results/emit.h"
#include "core/util/mem.h"
#include "core/util/text.h"

#if UPMU_RESULTS

/* The CRC takes four bits at a time, so that its table has 16 entries instead of 256. */
uint32_t upmu_emit_crc(uint32_t crc, const void *bytes, size_t length)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    const uint8_t *at = bytes;

    crc = ~crc;
    for (; length; length--) {
        crc ^= *at++;
        crc = crc >> 4 ^ table[crc & 15u];
        crc = crc >> 4 ^ table[crc & 15u];
    }
    return ~crc;
}

void upmu_emit_begin(struct upmu_emit *emit, struct upmu_output *output)
{
    memset(emit, 0, sizeof *emit);
    emit->output = output;
    if (output)
        output->length = 0;
}

bool upmu_emit_flush(struct upmu_emit *emit)
{
    struct upmu_output *output = emit->output;
    unsigned staged = emit->staged;

    emit->staged = 0;
    if (!output || emit->failed || !staged)
        return !emit->failed;
    if (emit->sums)
        emit->crc = upmu_emit_crc(emit->crc, emit->stage, staged);
    if (output->write)
        emit->failed = !output->write(output->context, emit->stage, staged);
    else if (staged > output->size - output->length)
        emit->failed = true;
    else
        memcpy((uint8_t *)output->buffer + output->length, emit->stage, staged);
    output->length += emit->failed ? 0 : staged;
    return !emit->failed;
}

void upmu_emit_byte(struct upmu_emit *emit, unsigned byte)
{
    emit->length++;
    if (!emit->output || emit->failed)
        return;
    emit->stage[emit->staged++] = (uint8_t)byte;
    if (emit->staged == sizeof emit->stage)
        (void)upmu_emit_flush(emit);
}

void upmu_emit_bytes(struct upmu_emit *emit, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    if (!emit->output) {
        emit->length += length;
        return;
    }
    while (length--)
        upmu_emit_byte(emit, *at++);
}

void upmu_emit_zeros(struct upmu_emit *emit, size_t count)
{
    if (!emit->output) {
        emit->length += count;
        return;
    }
    while (count) {
        size_t room = sizeof emit->stage - emit->staged - 1u, some = count - 1u < room ? count - 1u : room;

        memset(emit->stage + emit->staged, 0, some);
        emit->staged = (uint8_t)(emit->staged + some);
        emit->length += some;
        upmu_emit_byte(emit, 0);
        count -= some + 1u;
    }
}

void upmu_emit_number(struct upmu_emit *emit, uint64_t value, unsigned bytes)
{
    for (; bytes; bytes--, value >>= 8)
        upmu_emit_byte(emit, (unsigned)(value & 0xffu));
}

void upmu_emit_string(struct upmu_emit *emit, const char *string)
{
    upmu_emit_bytes(emit, string, upmu_text_length(string));
}

void upmu_emit_decimal(struct upmu_emit *emit, uint64_t value)
{
    char digits[24];
    struct upmu_text text;

    upmu_text_begin(&text, digits, sizeof digits);
    upmu_text_decimal(&text, value);
    upmu_emit_bytes(emit, digits, upmu_text_end(&text));
}

void upmu_emit_hex(struct upmu_emit *emit, uint64_t value, unsigned least_digits)
{
    unsigned digits = 1;

    while (digits < 16 && (digits < least_digits || value >> (4 * digits)))
        digits++;
    while (digits--)
        upmu_emit_byte(emit, (unsigned char)"0123456789abcdef"[value >> (4 * digits) & 15u]);
}

#endif
