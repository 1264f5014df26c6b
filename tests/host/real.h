/* SPDX-License-Identifier: MIT */
/*
 * The second mode: workers are threads.  One lock guards the fake and the host's own
 * notes; it is not held inside the library, and a race detector does not see it, only
 * the hand-overs that a host makes.
 */
#ifndef UPMU_TESTS_HOST_REAL_H
#define UPMU_TESTS_HOST_REAL_H

void real_lock(void);
void real_unlock(void);
/* What was offered before is seen by what accepts it. */
void real_offer(void *what);
void real_accept(void *what);
void real_yield(void);

struct step;

/* Each worker as a thread of its own; returns when all steps are done. */
void real_run(const struct step *steps, unsigned count);

#endif
