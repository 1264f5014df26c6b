/* SPDX-License-Identifier: MIT */
/*
 * The second mode: tests/host/real.h.  (Not instrumented: a race detector must not take
 * the host's lock for one of the library's.)
 */
#include "tests/host/real.h"
#include "tests/host/simulated.h"

void real_lock(void)
{
}

void real_unlock(void)
{
}

void real_offer(const void *what)
{
    (void)what;
}

void real_accept(const void *what)
{
    (void)what;
}

void real_yield(void)
{
}
