/* SPDX-License-Identifier: MIT */
/*
 * The program whose branches are judged: loops, calls, calls by pointer, calls of itself, and nothing of a library. No
 * function is named by a file alone, because perf2bolt gives such names a number.
 */
#include <stdint.h>

#define FUNCTION __attribute__((noinline, used))

uint64_t leaf(uint64_t x);
uint64_t halve(uint64_t x);
uint64_t deep(uint64_t n);
uint64_t walk(uint64_t n, uint64_t (*call)(uint64_t));
void _start(void);

volatile uint64_t sink;

FUNCTION uint64_t leaf(uint64_t x)
{
    return x * 2654435761u ^ (x >> 7);
}

FUNCTION uint64_t halve(uint64_t x)
{
    while (x > 3)
        x /= 2;
    return x;
}

FUNCTION uint64_t deep(uint64_t n)
{
    if (n == 0)
        return 1;
    return deep(n - 1) + leaf(n);
}

FUNCTION uint64_t walk(uint64_t n, uint64_t (*call)(uint64_t))
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        if (i % 3 == 0)
            sum += leaf(i);
        else if (i & 1)
            sum += call(i);
        else
            sum ^= i;
    }
    return sum;
}

void _start(void)
{
    for (uint64_t i = 0; i < 20; i++) {
        sink += walk(60, i & 1 ? leaf : halve);
        sink += deep(10);
    }
    __asm__ volatile("syscall" : : "a"(60), "D"(0) : "rcx", "r11", "memory");
    __builtin_unreachable();
}
