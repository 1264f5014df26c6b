/* SPDX-License-Identifier: 0BSD */
/*
 * The four memory functions that upmu calls, for a kernel that has none. Permission to use this file for any purpose is
 * granted without any condition; no notice is needed.
 *
 * All four are weak: if the kernel has a function with one of these names, the linker takes that one. They move one
 * byte at a time. Each loop contains an empty assembly statement: compilers turn loops that fill and copy into calls of
 * memset() and memcpy(), and in these functions that would be a call of the function itself.
 */
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

__attribute__((weak)) void *memmove(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    /*
     * Begin at the end that overwrites no byte that is still to be moved: the first byte if `to` is below `from`, else
     * the last.
     */
    for (size_t i = 0; i < bytes; i++) {
        size_t at = t < f ? i : bytes - 1 - i;

        t[at] = f[at];
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

__attribute__((weak)) void *memcpy(void *to, const void *from, size_t bytes)
{
    unsigned char *t = to;
    const unsigned char *f = from;

    for (size_t i = 0; i < bytes; i++) {
        t[i] = f[i];
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

__attribute__((weak)) void *memset(void *to, int value, size_t bytes)
{
    unsigned char *t = to;

    for (size_t i = 0; i < bytes; i++) {
        t[i] = (unsigned char)value;
        __asm__ volatile("" ::: "memory");
    }
    return to;
}

__attribute__((weak)) int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;

    for (size_t i = 0; i < bytes; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
        __asm__ volatile("" ::: "memory");
    }
    return 0;
}
