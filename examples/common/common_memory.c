/* SPDX-License-Identifier: MIT */
/*
 * Two of the four memory functions that upmu needs.  (The other two, memcpy and
 * memset, are in gnu-efi's library and in examples/kernel.)
 */
#include <stddef.h>

void *memmove(void *to, const void *from, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

void *memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    size_t i;

    for (i = 0; i < bytes; i++) {
        size_t at = t < f ? i : bytes - 1 - i;

        t[at] = f[at];
        __asm__ volatile("" ::: "memory"); /* else gcc makes a call of memmove of it */
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    size_t i;

    for (i = 0; i < bytes; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
