/* SPDX-License-Identifier: MIT */
/*
 * Functions for short texts: append to a buffer of limited size, read numbers, compare words. Pure. Without division,
 * so that nothing of the compiler's runtime library is called.
 */
#ifndef UPMU_CORE_TEXT_H
#define UPMU_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A text that is being written to a buffer. `length` counts all bytes that were appended, also those that did not fit.
 */
struct upmu_text {
    char *buffer; /* may be NULL if size is 0 */
    size_t size;  /* bytes of `buffer`; the text with its final NUL gets no more */
    size_t length;
};

/* Begin an empty text. */
void upmu_text_begin(struct upmu_text *text, char *buffer, size_t size);

/*
 * Append one char, some bytes, a string, or a number. Bytes that do not fit are counted in text->length, and dropped.
 */
void upmu_text_char(struct upmu_text *text, char c);
void upmu_text_bytes(struct upmu_text *text, const char *bytes, size_t length);
void upmu_text_string(struct upmu_text *text, const char *string);
void upmu_text_hex(struct upmu_text *text, uint64_t value); /* "0x3c": no leading zeros */
void upmu_text_decimal(struct upmu_text *text, uint64_t value);

/* Write the final NUL, unless `size` is 0. Returns the length of all that was appended, without the NUL. */
size_t upmu_text_end(struct upmu_text *text);

/* Return the number of bytes in a string before its NUL. */
size_t upmu_text_length(const char *string);

/* Return an ASCII letter in lower case, and any other byte as it is. */
static inline char upmu_text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Are the `length` bytes equal to `string`, if letters of either case count as equal? */
bool upmu_text_is(const char *bytes, size_t length, const char *string);

/*
 * Read a whole number: decimal digits, or "0x" and hexadecimal ones. Returns false if the bytes are anything else, or
 * if the number needs more than 64 bits; *out_value is unchanged then.
 */
bool upmu_text_number(const char *bytes, size_t length, uint64_t *out_value);

/* Read a number as upmu_text_number() does, but from bare digits of a base from 2 to 16. */
bool upmu_text_digits(const char *bytes, size_t length, unsigned base, uint64_t *out_value);

#endif
