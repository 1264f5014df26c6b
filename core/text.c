/* SPDX-License-Identifier: MIT */
/*
 * Small text tools, see text.h.  Used by everything that reads or writes names.
 */
#include "core/text.h"

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
    for (size_t i = 0; i < length; i++)
        upmu_text_char(text, bytes[i]);
}

void upmu_text_string(struct upmu_text *text, const char *string)
{
    while (*string)
        upmu_text_char(text, *string++);
}

void upmu_text_hex(struct upmu_text *text, uint64_t value)
{
    unsigned shift = 60;

    while (shift && !(value >> shift))
        shift -= 4u;
    upmu_text_string(text, "0x");
    for (;; shift -= 4u) {
        upmu_text_char(text, "0123456789abcdef"[value >> shift & 15u]);
        if (!shift)
            return;
    }
}

/*
 * Decimal by doubling: the bits of the value are shifted, highest first, into 20
 * decimal digits.
 */
void upmu_text_decimal(struct upmu_text *text, uint64_t value)
{
    uint8_t digit[20] = { 0 };
    unsigned i = 20;

    for (unsigned bit = 64; bit-- > 0;) {
        unsigned carry = value >> bit & 1u;

        for (unsigned k = 0; k < 20; k++) {
            unsigned doubled = 2u * digit[k] + carry;

            carry = doubled > 9;
            digit[k] = (uint8_t)(carry ? doubled - 10u : doubled);
        }
    }
    while (i > 1 && !digit[i - 1])
        i--;
    while (i-- > 0)
        upmu_text_char(text, (char)('0' + digit[i]));
}

char *upmu_text_room(const struct upmu_text *text, size_t *out_left)
{
    *out_left = text->length < text->size ? text->size - text->length : 0;
    return *out_left ? text->buffer + text->length : NULL;
}

void upmu_text_skip(struct upmu_text *text, size_t length)
{
    text->length += length;
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
        if (!string[i] || upmu_text_lower(bytes[i]) != string[i])
            return false;
    return !string[length];
}

static unsigned digit_value(char c)
{
    c = upmu_text_lower(c);
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10u : 99u;
}

bool upmu_text_hex_number(const char *bytes, size_t length, uint64_t *out_value)
{
    uint64_t value = 0;

    for (size_t i = 0; i < length; i++) {
        unsigned digit = digit_value(bytes[i]);

        if (digit > 15 || value >> 60)
            return false;
        value = value << 4 | digit;
    }
    if (length)
        *out_value = value;
    return length != 0;
}

bool upmu_text_number(const char *bytes, size_t length, uint64_t *out_value)
{
    uint64_t value = 0;

    if (length > 2 && bytes[0] == '0' && upmu_text_lower(bytes[1]) == 'x')
        return upmu_text_hex_number(bytes + 2, length - 2u, out_value);
    for (size_t i = 0; i < length; i++) {
        unsigned digit = digit_value(bytes[i]);

        if (digit > 9 || value > UINT64_C(1844674407370955161) || (value << 3) + (value << 1) > UINT64_MAX - digit)
            return false;
        value = (value << 3) + (value << 1) + digit;
    }
    if (length)
        *out_value = value;
    return length != 0;
}
