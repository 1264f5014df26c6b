/* SPDX-License-Identifier: MIT */
/*
 * The four functions that the compiler and upmu call.
 */
#include <stddef.h>
#include <stdint.h>

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
    unsigned char *out = to;
    const unsigned char *in = from;

    if ((uintptr_t)out <= (uintptr_t)in)
        for (size_t i = 0; i < bytes; i++)
            out[i] = in[i];
    else
        while (bytes-- > 0)
            out[bytes] = in[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    unsigned char *out = to;

    while (bytes-- > 0)
        out[bytes] = (unsigned char)value;
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
