/* SPDX-License-Identifier: MIT */
/*
 * The thread that changes a byte.
 */
#include "tests/common/flipper.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

static struct {
    pthread_t thread;
    uint8_t *at;
    uint8_t value;
    bool ends; /* atomic */
} flip;

static void *flip_it(void *unused)
{
    uint8_t before = *flip.at;

    while (!__atomic_load_n(&flip.ends, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(flip.at, flip.value, __ATOMIC_RELAXED);
        for (volatile unsigned i = 0; i < 20; i++)
            ;
        __atomic_store_n(flip.at, before, __ATOMIC_RELAXED);
        for (volatile unsigned i = 0; i < 20; i++)
            ;
    }
    return unused;
}

void flipper_begin(uint8_t *at, uint8_t value)
{
    flip.at = at;
    flip.value = value;
    flip.ends = false;
    if (pthread_create(&flip.thread, NULL, flip_it, NULL))
        abort();
}

void flipper_end(void)
{
    __atomic_store_n(&flip.ends, true, __ATOMIC_RELEASE);
    if (pthread_join(flip.thread, NULL))
        abort();
}
