/* SPDX-License-Identifier: MIT */
/*
 * A kernel that stands for others: a table of processes, each with a stack of its own, and a scheduler that runs
 * them in turn on a stack of 4 KiB.  It has examples/processes/counts.c as any kernel has it.
 * What a process does is known, so that its counts are.
 */
#include <examples/processes/counts.h>
#include <models/sim/sim.h>
#include <string.h>

#define PROCESSES 3
#define ROUNDS 10
#define SAVED (sizeof(void *) == 8 ? 6 : 4) /* registers */

void stand_in(void);
void stand_in_switch(void **from, void *to);

static struct {
    void *stack; /* as stand_in_switch() left it; NULL: it has ended */
    unsigned turns;
    uintptr_t memory[1024];
} process[PROCESSES];
static void *scheduler;
static unsigned current;
static struct upmu_sim_burst done; /* by the process since the last switch */

static void port_write(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static void console(const char *text)
{
    for (; *text; text++)
        port_write(0x3f8, (uint8_t)*text);
}

/* Everything that the library asks a kernel for. */
void *memcpy(void *to, const void *from, size_t bytes)
{
    void *at = to;

    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    const char *source = from;
    char *at = to;

    if ((uintptr_t)to <= (uintptr_t)from)
        return memcpy(to, from, bytes);
    while (bytes--)
        ((volatile char *)at)[bytes] = source[bytes];
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    void *at = to;

    __asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    const unsigned char *a = one, *b = other;

    for (; bytes; bytes--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

static void tell(struct upmu_sim *sim)
{
    upmu_sim_events(sim, &done);
    done = (struct upmu_sim_burst){0};
}

static void body(void)
{
    for (;;) {
        unsigned n = current;

        done.instructions += 1000 * (n + 1);
        done.cycles += 2500 * (n + 1);
        process[n].turns++;
        stand_in_switch(&process[n].stack, scheduler);
    }
}

void stand_in(void)
{
    static const char *const names[PROCESSES] = {"init", "shell", "compiler"};
    bool counting;

    /* A kernel's console may ask before counts begin.  Catches a call of a console that is not there yet. */
    counts_write();
    counts_switch(1, "early");
    counts_end(1);
    counts_tell = tell;
    counting = counts_begin(console);
    for (unsigned i = 0; i < PROCESSES; i++) {
        process[i].memory[1022] = (uintptr_t)body;
        process[i].stack = &process[i].memory[1022 - SAVED]; /* what the switch takes from it, then goes to body() */
    }
    for (unsigned round = 0; counting && round < ROUNDS; round++) {
        for (current = 0; current < PROCESSES; current++) {
            if (process[current].stack == NULL)
                continue;
            counts_switch(current + 1, names[current]);
            stand_in_switch(&scheduler, process[current].stack);
            counts_switch(0, "");
        }
        if (round == 4) { /* the second one ends */
            counts_end(2);
            process[1].stack = NULL;
        }
    }
    counts_write();
    port_write(0x501, 0x10);
    for (;;)
        __asm__ volatile("hlt");
}
