/* SPDX-License-Identifier: MIT */
/*
 * Memory that a test gives to the library and takes back (R46): whatever the library keeps is
 * scanned, byte by byte, for pointers into it, then it is poisoned and freed.
 */
#ifndef UPMU_TESTS_COMMON_POINTERS_H
#define UPMU_TESTS_COMMON_POINTERS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <upmu/pmu.h>

struct memory {
    const char *what;
    void *at;
    size_t bytes;
};

/* Fresh memory, full of rubbish. */
static inline struct memory memory_new(const char *what, size_t bytes)
{
    struct memory memory = {what, malloc(bytes), bytes};

    assert_non_null(memory.at);
    memset(memory.at, 0xa5, bytes);
    return memory;
}

static inline void memory_free(struct memory *memory)
{
    memset(memory->at, 0xa5, memory->bytes);
    free(memory->at);
    memory->at = NULL;
}

/* Masks of registers, of 32 bits, can look like an address of the stack: PMUs are constant once detected. */
static inline bool memory_is_mask(const struct memory *keeper, size_t at)
{
    return sizeof(uintptr_t) == 4 && strcmp(keeper->what, "machine") == 0 &&
           at - offsetof(struct upmu_machine, pmu) < sizeof(((struct upmu_machine *)0)->pmu);
}

/*
 * Offset in `keeper` of the first pointer into `memory`, at any alignment; keeper->bytes: there is none.  (Of 32 bits
 * only aligned ones: four bytes of small numbers can look like an address, too.)
 */
static inline size_t memory_pointer(const struct memory *keeper, const struct memory *memory)
{
    uintptr_t begin = (uintptr_t)memory->at, value;
    size_t at;

    for (at = 0; at + sizeof value <= keeper->bytes; at += sizeof value == 4 ? sizeof value : 1) {
        memcpy(&value, (const char *)keeper->at + at, sizeof value);
        if (value - begin < memory->bytes && !memory_is_mask(keeper, at))
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
