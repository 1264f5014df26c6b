/* SPDX-License-Identifier: MIT */
/*
 * Random numbers for sampling periods and the order of sets: xorshift64* (Vigna,
 * "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
 * The same state gives the same numbers on every machine.  Not for secrets.
 */
#ifndef UPMU_CORE_RANDOM_H
#define UPMU_CORE_RANDOM_H

#include <stdint.h>

/* Return the next 64 random bits. The first *state is the seed: any number, also 0. Context: nmi. */
uint64_t upmu_random_next(uint64_t *state);

/*
 * Return a random number from 0 to `below` - 1 (`below` at least 1). The probabilities of two numbers differ by at most
 * 2^-32. Context: nmi.
 */
uint32_t upmu_random_below(uint64_t *state, uint32_t below);

#endif
