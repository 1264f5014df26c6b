/* SPDX-License-Identifier: MIT */
/*
 * Two processes have descriptors of one perfmon2 context, after fork() or dup().  One closes its own, and at every
 * instruction of that the other one closes or duplicates its own on another CPU: the context ends once, with the last
 * descriptor.  x86 with Linux only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/common/assertions.h"

#include "abi/perfmon2/pfm_calls.c"
#include "abi/perfmon2/pfm_context.c"
#include "abi/perfmon2/pfm_events.c"
#include "abi/perfmon2/pfm_registers.c"
#include "abi/perfmon2/pfm_rights.c"
#include "models/sim/sim.h"
#include "tests/inject/fork_step.h"

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_pfm pfm;
static struct upmu_pfm_context context;
static struct upmu_pfm_set set;
static uint64_t vector[32];
static unsigned steps, ends;

static void close_one(void)
{
    bool last;

    if (upmu_pfm_close(&context, &last) != UPMU_OK)
        _exit(2);
    ends += last;
}

static void duplicate_one(void)
{
    upmu_pfm_share(&context);
}

/* The instructions that look at the count of descriptors stand before those that end a session. */
static bool is_of_the_first(uintptr_t ip)
{
    (void)ip;
    return ++steps <= 200;
}

/* A context with that many descriptors. */
static void set_up(unsigned descriptors)
{
    const struct upmu_pfm_memory memory = {
        .sets = &set, .set_count = 1, .vector = vector, .vector_bytes = sizeof vector};

    memset(&pfm, 0, sizeof pfm);
    upmu_sim_init(&sim, upmu_sim_profile("skylake"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    assert_int_equal(upmu_machine_init(&machine, upmu_sim_port(&sim)), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    pfm.machine = &machine;
    assert_int_equal(upmu_pfm_create_context(&pfm, NULL, &context, &memory, 0, NULL, NULL, 0), UPMU_OK);
    while (--descriptors)
        upmu_pfm_share(&context);
    steps = ends = 0;
}

/* Of `descriptors`, `left` are there afterwards; parent and child both look. */
static void look(unsigned left)
{
    if (context.references != left || pfm.contexts != (left ? 1u : 0u) || ends != (left ? 0u : 1u)) {
        printf("%u descriptors in place of %u, ended %u times\n", context.references, left, ends);
        fflush(stdout);
        _exit(1);
    }
}

static void each_instruction(unsigned descriptors, void (*call)(void), void (*act)(void), unsigned left)
{
    set_up(descriptors);
    fork_step_begin(is_of_the_first, act);
    call();
    if (fork_step_end()) {
        look(left);
        _exit(0);
    }
    if (fork_step.failed)
        fail_msg("at step %u", steps);
    assert_compare(steps, >, 5);
    while (context.references)
        close_one();
    look(0);
}

static void a_context_ends_once_whoever_closes_it_last(void **state)
{
    (void)state;
    each_instruction(2, close_one, close_one, 0);
    each_instruction(3, close_one, close_one, 1);
}

static void a_descriptor_that_comes_meanwhile_counts(void **state)
{
    (void)state;
    each_instruction(2, close_one, duplicate_one, 2);
    each_instruction(2, duplicate_one, close_one, 2);
    each_instruction(2, duplicate_one, duplicate_one, 4);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_ends_once_whoever_closes_it_last),
        cmocka_unit_test(a_descriptor_that_comes_meanwhile_counts),
    };
    int failed;

    setvbuf(stdout, NULL, _IOLBF, 0);
    failed = cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
    printf("%u moments\n", fork_step.forks);
    return failed;
}
