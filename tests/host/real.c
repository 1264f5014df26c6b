/* SPDX-License-Identifier: MIT */
/*
 * The second mode: tests/host/real.h.  None of this is instrumented: a race detector must
 * not take the host's lock, which every hook takes, for something that orders the library.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "tests/host/real.h"
#include "tests/host/simulated.h"

/* Of ThreadSanitizer; not there in other builds. */
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));
void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreWritesEnd(const char *file, int line) __attribute__((weak));

/* The host's own copies under its lock, which the detector sees though nothing of the host is instrumented. */
static void ignore(bool begin)
{
    if (!AnnotateIgnoreReadsBegin)
        return;
    (begin ? AnnotateIgnoreReadsBegin : AnnotateIgnoreReadsEnd)(__FILE__, __LINE__);
    (begin ? AnnotateIgnoreWritesBegin : AnnotateIgnoreWritesEnd)(__FILE__, __LINE__);
}

static struct {
    int locked;
    const struct step *steps;
    unsigned count, round;      /* steps; of these, handed out at a time */
    unsigned arrived, generation;
} real;

#define ROUND 48u

void real_lock(void)
{
    if (!host.real || host.alone)
        return;
    while (__atomic_exchange_n(&real.locked, 1, __ATOMIC_ACQUIRE))
        (void)sched_yield();
    ignore(true);
}

void real_unlock(void)
{
    if (!host.real || host.alone)
        return;
    ignore(false);
    __atomic_store_n(&real.locked, 0, __ATOMIC_RELEASE);
}

void real_offer(void *what)
{
    if (host.real && __tsan_release)
        __tsan_release(what);
}

void real_accept(void *what)
{
    if (host.real && __tsan_acquire)
        __tsan_acquire(what);
}

void real_yield(void)
{
    real_unlock();
    (void)sched_yield();
    real_lock();
}

/* All have done their part of a round: what must hold with nothing under way is looked at. */
static void meet(void)
{
    unsigned generation = real.generation;

    real_offer(&real);
    if (++real.arrived == host.setting.cpus) {
        struct lots lots = {generation};

        real_accept(&real);
        real.arrived = 0;
        real.generation++;
        rules_quiet(&lots);
        real_offer(&real);
    }
    while (real.generation == generation) {
        hooks_serve();
        real_yield();
    }
    real_accept(&real);
}

static void *work_as_thread(void *argument)
{
    struct worker *worker = argument;

    self = worker;
    real_lock();
    for (unsigned first = 0; first < real.count; first += ROUND) {
        for (unsigned i = first; i < real.count && i < first + ROUND; i++) {
            if (real.steps[i].cpu != worker->cpu)
                continue;
            hooks_serve();
            worker->step = &real.steps[i];
            worker->busy = true;
            act_step(worker->step);
            worker->step = NULL;
            worker->busy = false;
        }
        meet();
    }
    real_unlock();
    return NULL;
}

void real_run(const struct step *steps, unsigned count)
{
    pthread_t thread[HOST_CPUS];

    real.steps = steps;
    real.count = count;
    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (pthread_create(&thread[i], NULL, work_as_thread, &host.worker[i]))
            abort();
    for (unsigned i = 0; i < host.setting.cpus; i++)
        (void)pthread_join(thread[i], NULL);
}
