/* SPDX-License-Identifier: MIT */
/*
 * Small text tools: appending to a bounded buffer, reading and comparing words.
 * Pure; no division, so nothing of the compiler's runtime library is called.
 */
#ifndef UPMU_CORE_TEXT_H
#define UPMU_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer being written.  `length` counts all that was appended, kept or not. */
struct upmu_text {
    char *buffer; /* may be NULL if size is 0 */
    size_t size;  /* bytes, including the final NUL */
    size_t length;
};

/* Begin an empty text. */
void upmu_text_begin(struct upmu_text *text, char *buffer, size_t size);

/* Append; bytes that do not fit are counted and dropped. */
void upmu_text_char(struct upmu_text *text, char c);
void upmu_text_bytes(struct upmu_text *text, const char *bytes, size_t length);
void upmu_text_string(struct upmu_text *text, const char *string);
void upmu_text_hex(struct upmu_text *text, uint64_t value); /* "0x3c": no leading zeros */
void upmu_text_decimal(struct upmu_text *text, uint64_t value);

/* Write the NUL; returns the whole length. */
size_t upmu_text_end(struct upmu_text *text);

/* Bytes of a string. */
size_t upmu_text_length(const char *string);

/* Lower case of an ASCII letter, any other byte as it is. */
static inline char upmu_text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* The bytes are `string` (given in lower case), whatever their case. */
bool upmu_text_is(const char *bytes, size_t length, const char *string);

/*
 * Read a whole number, decimal or 0x hexadecimal, that the bytes consist of; false
 * if they do not, or if it needs more than 64 bits.
 */
bool upmu_text_number(const char *bytes, size_t length, uint64_t *out_value);

/* As upmu_text_number(), for bare digits of a base from 2 to 16. */
bool upmu_text_digits(const char *bytes, size_t length, unsigned base, uint64_t *out_value);

#endif
