/* SPDX-License-Identifier: MIT */
/*
 * Counting by callgrind's client requests, or by code that counts itself; and memory functions that cost the same
 * on every CPU (the C library chooses its own by what the CPU can do).
 */
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>
#include "tests/bench/callgrind_count.h"

/* Small loads and stores that the compiler cannot turn into calls of memcpy. */
static void move_bytes(unsigned char *to, const unsigned char *from, size_t bytes)
{
    for (; bytes >= 8; bytes -= 8, to += 8, from += 8)
        __asm__ volatile("movq (%1), %%rax\n\tmovq %%rax, (%0)" : : "r"(to), "r"(from) : "rax", "memory");
    if (bytes >= 4) {
        __asm__ volatile("movl (%1), %%eax\n\tmovl %%eax, (%0)" : : "r"(to), "r"(from) : "rax", "memory");
        to += 4, from += 4, bytes -= 4;
    }
    for (; bytes; bytes--, to++, from++)
        __asm__ volatile("movb (%1), %%al\n\tmovb %%al, (%0)" : : "r"(to), "r"(from) : "rax", "memory");
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    move_bytes(to, from, bytes);
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    unsigned char *out = to;
    uint64_t filled = (unsigned char)value * UINT64_C(0x0101010101010101);
    for (; bytes >= 8; bytes -= 8, out += 8)
        __asm__ volatile("movq %1, (%0)" : : "r"(out), "r"(filled) : "memory");
    for (; bytes; bytes--, out++)
        __asm__ volatile("movb %b1, (%0)" : : "r"(out), "q"(filled) : "memory");
    return to;
}

/* What the code of the last call counted itself, if it does (tests/bench/worst/count_blocks.py). */
static uint64_t self_counted;

static uint64_t self_counter(void)
{
    uint64_t sum = 0;

#ifdef __x86_64__
    __asm__ volatile("movq %%xmm15, %0" : "=r"(sum) : : "memory");
#endif
    return sum;
}

static __attribute__((noinline)) void call_counted(void (*function)(void *argument), void *argument)
{
    uint64_t before;

    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    before = self_counter();
    function(argument);
    self_counted = self_counter() - before;
    CALLGRIND_TOGGLE_COLLECT;
}

static __attribute__((noinline)) void do_nothing(void *argument)
{
    __asm__ volatile("" : : "r"(argument) : "memory");
}

/* What the brackets themselves count, so that it can be taken off. */
static __attribute__((constructor)) void count_nothing(void)
{
    call_counted(do_nothing, NULL);
    bench_count_name("nothing");
}

void bench_count_run(void (*function)(void *argument), void *argument)
{
    call_counted(function, argument);
}

unsigned bench_every(void)
{
    const char *wanted = getenv("BENCH_EVERY");
    unsigned every = wanted ? (unsigned)atoi(wanted) : 1;

    return every ? every : 1;
}

void bench_count_name(const char *name)
{
    static FILE *file;
    const char *wanted = getenv("BENCH_COUNTS");

    CALLGRIND_DUMP_STATS_AT(name);
    if (wanted && (file || (file = fopen(wanted, "w")) != NULL))
        fprintf(file, "%s %" PRIu64 "\n", name, self_counted);
}
