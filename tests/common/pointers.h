/* SPDX-License-Identifier: MIT */
/*
 * Memory that a test gives to the library and takes back (R46): whatever the library keeps is
 * scanned for pointers into it.  Then it is unmapped: an access faults.
 */
#ifndef UPMU_TESTS_COMMON_POINTERS_H
#define UPMU_TESTS_COMMON_POINTERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

struct memory {
    const char *what;
    void *at;
    size_t bytes;
};

/*
 * Addresses that no count, mask or small number equals, and the same in each run: what looks like a pointer is one.
 * Their upper bytes equal no state of a row: UPMU_ROW_KNOWN without UPMU_ROW_SHADOWED (core/hw/bank.h) does not exist.
 * Each piece has pages of its own and ends where they end, and no address is used again before memory_restart().
 */
#define MEMORY_ARENA ((uintptr_t)(sizeof(uintptr_t) == 8 ? UINT64_C(0x515151000000) : 0x51510000))
#define MEMORY_BYTES 0x200000u
#define MEMORY_PAGE 0x1000u
static uintptr_t memory_next;

/* All pieces are free. */
static inline void memory_restart(void)
{
    memory_next = MEMORY_ARENA;
    (void)munmap((void *)MEMORY_ARENA, MEMORY_BYTES);
}

/* Fresh memory, full of rubbish. */
static inline struct memory memory_new(const char *what, size_t bytes)
{
    size_t pages = (bytes + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
    struct memory memory = {what, (void *)(memory_next + pages - (bytes + 15) / 16 * 16), bytes};
    void *mapped = mmap((void *)memory_next, pages, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    assert_ptr_equal(mapped, (void *)memory_next);
    memory_next += pages + MEMORY_PAGE; /* (Nothing is behind it.) */
    assert_compare(memory_next, <=, MEMORY_ARENA + MEMORY_BYTES);
    memset(memory.at, 0xa5, bytes);
    return memory;
}

static inline void memory_free(struct memory *memory)
{
    uintptr_t page = (uintptr_t)memory->at & ~(uintptr_t)(MEMORY_PAGE - 1);

    assert_int_equal(munmap((void *)page, (uintptr_t)memory->at + memory->bytes - page), 0);
    memory->at = NULL;
}

/* Offset in `keeper` of the first pointer into `memory`; keeper->bytes: there is none. */
static inline size_t memory_pointer(const struct memory *keeper, const struct memory *memory)
{
    uintptr_t begin = (uintptr_t)memory->at, value;
    size_t at;

    for (at = 0; at + sizeof value <= keeper->bytes; at += sizeof value) {
        memcpy(&value, (const char *)keeper->at + at, sizeof value);
        if (value - begin < memory->bytes)
            return at;
    }
    return keeper->bytes;
}

/* Fail if one of `keepers`, of which some may be free, still points into `memory`. */
static inline void memory_forgotten(const char *when, const struct memory *keepers, unsigned count,
                                    const struct memory *memory)
{
    for (const struct memory *end = keepers + count; keepers < end; keepers++) {
        size_t at;

        if (!keepers->at || keepers->at == memory->at)
            continue;
        at = memory_pointer(keepers, memory);
        if (at < keepers->bytes)
            fail_msg("%s: the %s points into the %s (offset %zu)", when, keepers->what, memory->what, at);
    }
}

#endif
