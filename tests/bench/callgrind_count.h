/* SPDX-License-Identifier: MIT */
/*
 * Count the instructions of single calls: the program runs under callgrind, or is built
 * so that it counts itself (tests/bench/worst/count_blocks.py) and puts what it counted into the file BENCH_COUNTS;
 * tools/bench.py reads what was found for each name.  Else the calls are made and nothing is counted.
 */
#ifndef UPMU_CALLGRIND_COUNT_H
#define UPMU_CALLGRIND_COUNT_H

/* Call function(argument) and count its instructions, callees included. */
void bench_count_run(void (*function)(void *argument), void *argument);

/* Name what was counted; several counts of one name make a worst and a mean. */
void bench_count_name(const char *name);

/* Count one of so many calls: BENCH_EVERY of the environment, or every one. */
unsigned bench_every(void);

#endif
