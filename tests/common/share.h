/* SPDX-License-Identifier: MIT */
/*
 * Shares of long runs: `make test` takes a part of the cases, `make soak` (FUZZ_RUNS=soak)
 * all of them.  What is left out is told.
 */
#ifndef UPMU_TEST_SHARE_H
#define UPMU_TEST_SHARE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A build in which a run takes several times as long: each access is checked, or 32 bits. */
#if defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define SHARE_SLOW_BUILD true
#else
#define SHARE_SLOW_BUILD false
#endif

static inline bool share_everything(void)
{
    const char *runs = getenv("FUZZ_RUNS");

    return runs && !strcmp(runs, "soak");
}

/* A larger share than `make test` has time for: with SHARE=more, as `make test-mutants` and `make coverage` set it. */
static inline unsigned share_few(unsigned more, unsigned few)
{
    const char *share = getenv("SHARE");

    return share && !strcmp(share, "more") ? more : few;
}

/* One of how many is run? */
static inline unsigned share_step(unsigned quick, unsigned slow)
{
    return share_everything() ? 1 : SHARE_SLOW_BUILD ? slow : quick;
}

/* How many of `all` are run: one of `quick`, or one of `slow` in a slow build. */
static inline unsigned share_of(const char *what, unsigned all, unsigned quick, unsigned slow)
{
    unsigned step = share_step(quick, slow);

    if (step > 1)
        printf("%u of %u %s; all of them in make soak (FUZZ_RUNS=soak)\n", all / step, all, what);
    return all / step;
}

#endif
