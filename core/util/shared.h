/* SPDX-License-Identifier: MIT */
/*
 * Fields that another CPU may read or write at the same time without a lock (docs/ENGINE.md, "Fields that CPUs share").
 * Each such field is stored through UPMU_STORE() (or by an atomic function that orders more), and loaded through
 * UPMU_LOAD() if another CPU may be storing it.
 *
 * Fields of up to 32 bits, and pointers, are relaxed atomics. Fields of 64 bits are plain accesses, because compilers
 * for 32 bits have no short code for atomic ones; a sequence number tells the reader that a value may be half old, half
 * new. In the build for ThreadSanitizer they are atomic.
 */
#ifndef UPMU_CORE_SHARED_H
#define UPMU_CORE_SHARED_H

#include "core/util/mem.h"
#include <stdint.h>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define UPMU_DETECTS_RACES 1
#else
#define UPMU_DETECTS_RACES 0
#endif
#elif defined(__SANITIZE_THREAD__)
#define UPMU_DETECTS_RACES 1
#else
#define UPMU_DETECTS_RACES 0
#endif

#if UPMU_DETECTS_RACES

#define UPMU_LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define UPMU_STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)

/* Clear memory, or copy to memory, that another CPU may read or write meanwhile: each byte is stored as a field. */
static inline void upmu_shared_clear(void *memory, size_t bytes)
{
    for (uint8_t *byte = memory; bytes--; byte++)
        UPMU_STORE(*byte, 0);
}

static inline void upmu_shared_copy(void *to, const void *from, size_t bytes)
{
    const uint8_t *source = from;

    for (uint8_t *byte = to; bytes--; byte++, source++)
        UPMU_STORE(*byte, UPMU_LOAD(*source));
}

#else

/* Access a field of 64 bits plainly, any other as a relaxed atomic. Of _Generic only the chosen branch makes code. */
#define UPMU_LOAD(field) _Generic((field), uint64_t: (field), default: __atomic_load_n(&(field), __ATOMIC_RELAXED))
#define UPMU_STORE(field, value)                                                                                      \
    _Generic((field), uint64_t: (void)((field) = (value)),                                                            \
             default: __atomic_store_n(&(field), (value), __ATOMIC_RELAXED))

#define upmu_shared_clear(memory, bytes) ((void)memset((memory), 0, (bytes)))
#define upmu_shared_copy(to, from, bytes) ((void)memcpy((to), (from), (bytes)))

#endif

#endif
