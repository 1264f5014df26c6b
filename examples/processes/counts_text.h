/* SPDX-License-Identifier: MIT */
/*
 * The console of counts.c.
 */
#ifndef UPMU_COUNTS_TEXT_H
#define UPMU_COUNTS_TEXT_H

#include <upmu/upmu.h>

/* Writes text: counts_begin()'s. */
extern void (*counts_out)(const char *text);

/* A decimal number, right-aligned: `width` is 1 to 20. */
void counts_number(uint64_t value, unsigned width);

/* Why something could not be done; false. */
bool counts_complain(const char *what, enum upmu_status status, const struct upmu_why *why);

#endif
