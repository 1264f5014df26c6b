/* SPDX-License-Identifier: MIT */
/*
 * Remains of a killed program: journals, and the lock that one program of the machine has.
 */
#ifndef UPMU_MSR_LEFT_H
#define UPMU_MSR_LEFT_H

#include <port/linux/linux_msr.h>

#define MSR_CPUS 1024u /* journals are looked for below this number */

/* Lock the machine's PMUs for this program's life: the file, or -errno (-EWOULDBLOCK: another program has them). */
int msr_left_lock(const struct upmu_linux_system *system);

/* The first CPU from `cpu` on with a journal; MSR_CPUS: there is none. */
unsigned msr_left_find(const struct upmu_linux_system *system, unsigned cpu);

/* Is it known whether there are journals?  (The folder is root's.) */
bool msr_left_may_look(const struct upmu_linux_system *system);

/*
 * Restore the registers of a CPU with a journal, through `file`, and remove the journal.  With UPMU_LINUX_DRY_RUN only
 * tell host->on_write.  `host` is zero but for these.
 *
 * True: done.  False: `why` has a line; the journal stays.
 */
bool msr_left_restore(struct upmu_linux *host, const struct upmu_linux_system *system, unsigned cpu, int file,
                      enum upmu_linux_mode mode, char *why, size_t why_size);

#endif
