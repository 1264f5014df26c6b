/* SPDX-License-Identifier: MIT */
/*
 * The four memory functions as a small kernel has them: one instruction a step, no
 * REP, no vector registers.  They stand in for the C library's in these programs.
 */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    return memmove(to, from, bytes);
}

void *memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *target = to;
    const unsigned char *source = from;

    if (target < source)
        for (size_t i = 0; i < bytes; i++)
            target[i] = source[i];
    else
        while (bytes-- != 0)
            target[bytes] = source[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    unsigned char *target = to;

    for (size_t i = 0; i < bytes; i++)
        target[i] = (unsigned char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *left = a, *right = b;

    for (size_t i = 0; i < bytes; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}
