/* SPDX-License-Identifier: MIT */
/* Functions for short texts (core/util/text.h). */
#include "core/util/text.h"

#include "core/util/mem.h"

void upmu_text_begin(struct upmu_text *text, char *buffer, size_t size)
{
    text->buffer = buffer;
    text->size = size;
    text->length = 0;
}

void upmu_text_char(struct upmu_text *text, char c)
{
    if (text->length + 1u < text->size)
        text->buffer[text->length] = c;
    text->length++;
}

void upmu_text_bytes(struct upmu_text *text, const char *bytes, size_t length)
{
    size_t room = text->length + 1u < text->size ? text->size - text->length - 1u : 0;

    if (room && length) /* without a length, `bytes` may be NULL, which memcpy() does not take */
        memcpy(text->buffer + text->length, bytes, length < room ? length : room);
    text->length += length;
}

void upmu_text_string(struct upmu_text *text, const char *string)
{
    while (*string)
        upmu_text_char(text, *string++);
}

static const char digits[] = "0123456789abcdef";

#define TENS(n) UINT64_C(1##n)
static const uint64_t powers_of_ten[] = {
    TENS(0000000000000000000),
    TENS(000000000000000000),
    TENS(00000000000000000),
    TENS(0000000000000000),
    TENS(000000000000000),
    TENS(00000000000000),
    TENS(0000000000000),
    TENS(000000000000),
    TENS(00000000000),
    TENS(0000000000),
    TENS(000000000),
    TENS(00000000),
    TENS(0000000),
    TENS(000000),
    TENS(00000),
    TENS(0000),
    TENS(000),
    TENS(00),
    TENS(0),
    1,
};

static const uint64_t powers_of_sixteen[] = {
    UINT64_C(1) << 60, UINT64_C(1) << 56, UINT64_C(1) << 52, UINT64_C(1) << 48,
    UINT64_C(1) << 44, UINT64_C(1) << 40, UINT64_C(1) << 36, UINT64_C(1) << 32,
    UINT64_C(1) << 28, UINT64_C(1) << 24, UINT64_C(1) << 20, UINT64_C(1) << 16,
    UINT64_C(1) << 12, UINT64_C(1) << 8,  UINT64_C(1) << 4,  1,
};

/*
 * Append the digits of `value`, without leading zeros, found by subtraction because there is no 64-bit division.
 * `power`: the falling powers of the base, down to 1.
 */
static void write_digits(struct upmu_text *text, uint64_t value, const uint64_t *power)
{
    while (*power > 1 && value < *power)
        power++;
    for (;; power++) {
        unsigned digit = 0;

        for (; value >= *power; value -= *power)
            digit++;
        upmu_text_char(text, digits[digit]);
        if (*power == 1)
            return;
    }
}

void upmu_text_hex(struct upmu_text *text, uint64_t value)
{
    upmu_text_string(text, "0x");
    write_digits(text, value, powers_of_sixteen);
}

void upmu_text_decimal(struct upmu_text *text, uint64_t value)
{
    write_digits(text, value, powers_of_ten);
}

size_t upmu_text_end(struct upmu_text *text)
{
    if (text->size)
        text->buffer[text->length < text->size ? text->length : text->size - 1u] = '\0';
    return text->length;
}

size_t upmu_text_length(const char *string)
{
    size_t length = 0;

    while (string[length])
        length++;
    return length;
}

bool upmu_text_is(const char *bytes, size_t length, const char *string)
{
    for (size_t i = 0; i < length; i++)
        if (!string[i] || upmu_text_lower(bytes[i]) != upmu_text_lower(string[i]))
            return false;
    return !string[length];
}

/* The value is multiplied by `base` by additions: an overflow of 64 bits is seen, and libgcc is not needed. */
bool upmu_text_digits(const char *bytes, size_t length, unsigned base, uint64_t *out_value)
{
    uint64_t value = 0;

    if (!length)
        return false;
    do {
        unsigned digit = 0;
        uint64_t sum;

        while (digits[digit] != upmu_text_lower(*bytes))
            if (++digit == base)
                return false;
        sum = digit;
        for (unsigned k = 0; k < base; k++) {
            sum += value;
            if (sum < value)
                return false;
        }
        value = sum;
        bytes++;
    } while (--length);
    *out_value = value;
    return true;
}

bool upmu_text_number(const char *bytes, size_t length, uint64_t *out_value)
{
    if (length > 2 && bytes[0] == '0' && upmu_text_lower(bytes[1]) == 'x')
        return upmu_text_digits(bytes + 2, length - 2u, 16, out_value);
    return upmu_text_digits(bytes, length, 10, out_value);
}
