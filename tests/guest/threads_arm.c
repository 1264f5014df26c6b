/* SPDX-License-Identifier: MIT */
/*
 * Two vCPUs of the Arm door on two CPUs that are threads: a program for ThreadSanitizer, without suppressions. The CPUs
 * share the machine, the shape and the policy; the vCPUs change CPUs. Each register of a guest is that of a CPU that
 * gets the same accesses, and the host's sessions count EL2. GUEST_OPERATIONS=N: so many accesses of each vCPU.
 */
#define UPMU_BACKEND_ARM_PMUV3 1

#include <pthread.h>

struct arm_nest;
static _Thread_local struct arm_nest *nest_here; /* the CPU of the thread that executes */
#define ARM_NEST_OF(context) ((void)(context), nest_here)

#include "tests/guest/arm_twin.h"
#include "tests/guest/operations.h"

#define NESTS 2u
#define COUNTERS 6u /* of the guests; CPUs have one more, for the session of the host */
#define VERSION 6u
#define ROUND 500u /* accesses of a vCPU on one CPU */

static struct arm_nest nests[NESTS];
static struct arm_twin twins[NESTS];
static struct upmu_guest_policy policy = {
    .level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1};
static unsigned long long rounds;
static pthread_barrier_t all;
static pthread_mutex_t last = PTHREAD_MUTEX_INITIALIZER; /* CPUs leave the machine one after the other */

/* Call by thread `cpu`; false: something does not hold, which is told. */
static bool holds(unsigned cpu, bool is_so, const char *what)
{
    if (!is_so)
        printf("CPU %u: %s\n", cpu, what);
    return is_so;
}

static bool end(unsigned cpu)
{
    struct arm_nest *nest = &nests[cpu];
    struct upmu_count count;

    return holds(cpu, upmu_set_read(&nest->session.set, 0, 1, &count) == UPMU_OK, "a read fails") &&
           holds(cpu, count.value == nest->executed, "the host's session has not what EL2 executed") &&
           holds(cpu, upmu_session_close(&nest->session) == UPMU_OK, "a close fails") &&
           holds(cpu, upmu_cpu_fini(&nest->cpu) == UPMU_OK, "upmu_cpu_fini() fails") &&
           holds(cpu, !(nest->hw.enabled | nest->hw.interrupts | nest->hw.pmcr), "registers are left changed") &&
           holds(cpu, !(nest->not_ours | nest->failures), "an interrupt or an exit failed");
}

static void *run_cpu(void *argument)
{
    struct arm_nest *nest = argument;
    unsigned cpu = (unsigned)(nest - nests);
    bool fine;

    nest_here = nest;
    /* The first one has told what the machine is. */
    fine = holds(cpu, !cpu || arm_nest_cpu_begin(nest, VERSION, COUNTERS + 1) == UPMU_OK, "upmu_cpu_init() fails") &&
           holds(cpu, arm_nest_session(nest) == UPMU_OK, "a session does not start");
    for (unsigned long long round = 0; round < rounds; round++) {
        unsigned which = (unsigned)(cpu + round) % NESTS;

        fine = fine && holds(cpu, arm_nest_go(nest, &nests[0].guests[which]), "a switch fails");
        for (unsigned i = 0; fine && i < ROUND; i++)
            fine = holds(cpu, arm_twin_step(&twins[which], nest), twins[which].wrong);
        fine = fine && holds(cpu, arm_nest_go(nest, NULL), "a switch fails");
        (void)pthread_barrier_wait(&all); /* the vCPU goes on at the other CPU */
    }
    (void)pthread_barrier_wait(&all);
    (void)pthread_mutex_lock(&last);
    fine = fine && end(cpu);
    (void)pthread_mutex_unlock(&last);
    return fine ? nest : NULL;
}

int main(void)
{
    struct upmu_guest_shape shape;
    pthread_t thread[NESTS];
    bool fine = true;

    rounds = (guest_operations(10000, 1000000) + ROUND - 1) / ROUND;
    nest_here = &nests[0];
    (void)pthread_barrier_init(&all, NULL, NESTS);
    if (arm_nest_machine_begin(&nests[0], VERSION, COUNTERS + 1) != UPMU_OK)
        return 2;
    nests[0].port.this_cpu = arm_nest_this_cpu;
    if (arm_nest_cpu_begin(&nests[0], VERSION, COUNTERS + 1) != UPMU_OK ||
        upmu_guest_shape_default(&nests[0].machine, UPMU_GUEST_ARM, &policy, &shape) != UPMU_OK)
        return 2;
    shape.general = COUNTERS;
    nests[1].shared = &nests[0].machine;
    for (unsigned i = 0; i < NESTS; i++) {
        arm_twin_begin(&twins[i], VERSION, COUNTERS, 1 + i);
        if (arm_nest_guest_begin(&nests[0], i, &shape, &policy) != UPMU_OK)
            return 2;
    }
    for (unsigned i = 0; i < NESTS; i++)
        if (pthread_create(&thread[i], NULL, run_cpu, &nests[i]))
            return 2;
    for (unsigned i = 0; i < NESTS; i++) {
        void *result;

        (void)pthread_join(thread[i], &result);
        fine &= result != NULL;
        fine &= holds(i, upmu_guest_fini(&nests[0].guests[i].guest) == UPMU_OK, "upmu_guest_fini() fails");
    }
    guest_operations_made("of Arm, by two threads", NESTS * rounds * ROUND);
    printf("[  %s ] vcpus_of_arm_that_are_threads_share_nothing\n", fine ? "     OK" : "FAILED");
    return !fine;
}
