/* SPDX-License-Identifier: MIT */
/*
 * RDPMC in ring 3: does CR4.PCE allow it, and what does it read?
 */
#include <examples/kernel/kernel.h>

/* The index and the value that ring 3 read. */
static volatile struct {
    uint32_t index, low, high;
    bool done;
} reading;
static uint8_t stack[256] __attribute__((aligned(16)));

static void execute_rdpmc(void)
{
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(reading.index));
    reading.low = low;
    reading.high = high;
    reading.done = true;
    __asm__ volatile("hlt");
}

bool kernel_rdpmc_of_user(void *program, uint32_t index, uint64_t *out_value)
{
    (void)program;
    reading.index = index;
    reading.done = false;
    kernel_user_enter(execute_rdpmc, &stack[sizeof stack - 16], 0);
    *out_value = (uint64_t)reading.high << 32 | reading.low;
    return reading.done;
}
