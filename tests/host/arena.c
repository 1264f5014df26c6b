/* SPDX-License-Identifier: MIT */
/*
 * Memory for what the library is lent.  Each block ends at the end of a page, and what
 * is given back cannot be touched any more: its pages are unmapped to every access, and
 * come again as late as possible, full of noise.
 */
#include <string.h>
#include <sys/mman.h>

#include "tests/host/real.h"
#include "tests/host/simulated.h"

#define PAGE 4096u
#define PAGES 4096u

static struct {
    uint8_t *memory;
    uint8_t length[PAGES]; /* pages of the block that begins here */
    bool used[PAGES];
    const char *name[PAGES];
    unsigned next, blocks;
    struct range {
        unsigned first, pages;
        uintptr_t block;
    } given[16]; /* since the last look */
    unsigned givens;
    uint8_t noise;
} arena;

bool arena_elsewhere;

void arena_begin(void)
{
    if (!arena.memory && arena_elsewhere) /* (its place is taken) */
        (void)mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!arena.memory)
        arena.memory = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    else
        (void)mprotect(arena.memory, PAGES * PAGE, PROT_NONE);
    memset(arena.used, 0, sizeof arena.used);
    memset(arena.name, 0, sizeof arena.name);
    arena.next = arena.blocks = arena.givens = 0;
}

/* Free pages in a row; a page beside each block stays free. */
static unsigned find_pages(unsigned pages)
{
    for (unsigned tries = 0; tries < 2 * PAGES; tries++) {
        unsigned first = arena.next, i = 0;

        if (first + pages + 1u >= PAGES)
            first = 0;
        while (i <= pages && !arena.used[first + i])
            i++;
        arena.next = first + i + 1u;
        if (i > pages)
            return first;
    }
    rules_fail(RULE_CRASH, "the arena is full: blocks are not given back");
}

void *arena_take(size_t bytes, const char *name)
{
    size_t size = (bytes + 15u) & ~(size_t)15u;
    unsigned pages = (unsigned)((size + PAGE - 1u) / PAGE), first = find_pages(pages);
    uint8_t *begin = arena.memory + first * (size_t)PAGE;

    if (mprotect(begin, pages * (size_t)PAGE, PROT_READ | PROT_WRITE))
        rules_fail(RULE_CRASH, "mprotect");
    for (unsigned i = 0; i < pages; i++) {
        arena.used[first + i] = true;
        arena.name[first + i] = name;
    }
    arena.length[first] = (uint8_t)pages;
    arena.blocks++;
    real_accept(&arena);
    memset(begin, arena.noise += 0x37, pages * (size_t)PAGE);
    return begin + pages * (size_t)PAGE - size;
}

void arena_give(void *block)
{
    unsigned first = (unsigned)((size_t)((uint8_t *)block - arena.memory) / PAGE);

    real_offer(&arena);
    (void)mprotect(arena.memory + first * (size_t)PAGE, arena.length[first] * (size_t)PAGE, PROT_NONE);
    for (unsigned i = 0; i < arena.length[first]; i++)
        arena.used[first + i] = false;
    if (arena.givens < sizeof arena.given / sizeof arena.given[0])
        arena.given[arena.givens++] = (struct range){first, arena.length[first], (uintptr_t)block};
    arena.blocks--;
    host.verdict->figures.frees++;
}

void arena_rename(void *block, const char *name)
{
    unsigned first = (unsigned)((size_t)((uint8_t *)block - arena.memory) / PAGE);

    for (unsigned i = 0; i < arena.length[first]; i++)
        arena.name[first + i] = name;
}

/* (What a program or a reader of samples writes there is no pointer of the library; what has ended is the host's.) */
static bool holds_pointers(const char *name)
{
    return strcmp(name, "ring") != 0 && strcmp(name, "messages") != 0 && strcmp(name, "samples") != 0 &&
           strcmp(name, "ended CPU") != 0 && strcmp(name, "ended trace") != 0;
}

/*
 * (A word of 32 bits that lies among the blocks may be a number: a register's mask, a time.  There it has to be the
 * address of a block itself; what points into one is noticed where words have 64 bits.)
 */
static bool points_to(uintptr_t word, uintptr_t page, const struct range *given)
{
    return sizeof word > sizeof(uint32_t) ? page - given->first < given->pages : word == given->block;
}

static void look_at_word(const uintptr_t *word, const char *name)
{
    uintptr_t page = (*word - (uintptr_t)arena.memory) / PAGE;

    for (unsigned i = 0; page < PAGES && i < arena.givens; i++)
        if (points_to(*word, page, &arena.given[i]) && !arena.used[page])
            rules_fail(RULE_FREED, "a %s points to a %s that was given back: word %u", name, arena.name[page],
                       (unsigned)((uintptr_t)word % PAGE / sizeof *word));
}

void arena_forgotten(void)
{
    /* (Threads of the system may be at work on it.) */
    for (unsigned at = 0; at < PAGES && arena.givens && !host.real && rules_on(RULE_FREED); at++)
        if (arena.used[at] && holds_pointers(arena.name[at])) {
            const uintptr_t *word = (const uintptr_t *)(const void *)(arena.memory + at * (size_t)PAGE);

            for (unsigned i = 0; i < PAGE / sizeof *word; i++)
                if (word[i] - (uintptr_t)arena.memory < PAGES * PAGE)
                    look_at_word(&word[i], arena.name[at]);
        }
    arena.givens = 0;
}

const char *arena_name(const void *address)
{
    size_t offset = (size_t)((const uint8_t *)address - arena.memory);

    return arena.memory && offset < (size_t)PAGES * PAGE ? arena.name[offset / PAGE] ? arena.name[offset / PAGE] : "gap"
                                                         : NULL;
}

unsigned arena_blocks(void)
{
    return arena.blocks;
}
