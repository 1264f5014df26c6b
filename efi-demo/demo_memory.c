/* SPDX-License-Identifier: MIT */
/*
 * The two memory functions of upmu's four that gnu-efi's library does not have
 * (it has memcpy and memset).
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
