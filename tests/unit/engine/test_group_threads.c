/* SPDX-License-Identifier: MIT */
/*
 * A group whose threads run on CPUs that are threads of the machine: they fork, end and move between CPUs while sums
 * are read, at the same moment.  Each CPU has a silicon model of its own, so that only the library's memory is shared.
 *
 * With ThreadSanitizer each access of the library that two CPUs make without an order is reported.  By hand:
 * make build/tsan/library.o && clang -no-pie -fsanitize=thread -I. -Iinclude tests/unit/engine/test_group_threads.c \
 *     models/sim/sim*.c build/tsan/library.o -lcmocka -lpthread -o build/test_group_threads && build/test_group_threads
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <upmu/event.h>
#include <upmu/group.h>

#include "tests/common/host.h"
#include "tests/common/share.h"

#define CPUS 4
#define QUEUE 64
#define RUNS 5

struct task {
    struct upmu_thread thread;
    struct upmu_member member;
};

/* A request of another CPU. */
struct request {
    void (*function)(void *argument);
    void *argument;
    bool done; /* under the `mail` of the CPU that does it, as ThreadSanitizer sees no atomics of this file */
};

struct own_cpu {
    struct upmu_cpu cpu;
    struct upmu_thread idle;
    struct upmu_sim sim;
    pthread_mutex_t mail;
    struct request *request; /* under `mail` */
    unsigned number;
    uint64_t random;
};

static struct {
    struct upmu_machine machine;
    struct upmu_port port;
    struct own_cpu cpu[CPUS];
    struct upmu_group group;
    struct upmu_event event;
    pthread_mutex_t lock, queue_lock;
    struct task *queue[QUEUE]; /* tasks that do not run */
    unsigned queued, tasks, forks, ends, reads, steps;
    int started, stopping;
    uint32_t begun, done; /* instructions of members */
} w;

static __thread struct own_cpu *here;

/* ---- Hooks: the model of the CPU that executes ---- */

#define MODEL here->sim.port
static bool own_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    (void)context;
    return MODEL.rdmsr(MODEL.context, msr, out_value);
}

static bool own_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    (void)context;
    return MODEL.wrmsr(MODEL.context, msr, value);
}

static bool own_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context;
    return MODEL.rdpmc(MODEL.context, index, out_value);
}

static void own_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    MODEL.cpuid(MODEL.context, leaf, subleaf, out);
}

static struct upmu_cpu *own_this_cpu(void *context)
{
    (void)context;
    return &here->cpu;
}

static uintptr_t own_irq_save(void *context)
{
    (void)context;
    return MODEL.irq_save(MODEL.context);
}

static void own_irq_restore(void *context, uintptr_t state)
{
    (void)context;
    MODEL.irq_restore(MODEL.context, state);
}

static uint64_t own_clock_ns(void *context)
{
    struct timespec now;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Do what another CPU asks for, as an interrupt would. */
static void answer_requests(void)
{
    struct request *request;

    pthread_mutex_lock(&here->mail);
    request = here->request;
    here->request = NULL;
    pthread_mutex_unlock(&here->mail);
    if (request) {
        uintptr_t state = own_irq_save(NULL);

        request->function(request->argument);
        own_irq_restore(NULL, state);
        pthread_mutex_lock(&here->mail);
        request->done = true;
        pthread_mutex_unlock(&here->mail);
    } else {
        sched_yield();
    }
}

static bool own_run_on_cpu(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    struct own_cpu *there = (struct own_cpu *)(void *)cpu; /* its first member */
    struct request request = {function, argument, false};
    bool sent = there == here, done = false;

    (void)context;
    if (sent) {
        uintptr_t state = own_irq_save(NULL);

        function(argument);
        own_irq_restore(NULL, state);
        return true;
    }
    while (!sent) {
        pthread_mutex_lock(&there->mail);
        sent = !there->request;
        if (sent)
            there->request = &request;
        pthread_mutex_unlock(&there->mail);
        answer_requests();
    }
    while (!done) {
        answer_requests();
        pthread_mutex_lock(&there->mail);
        done = request.done;
        pthread_mutex_unlock(&there->mail);
    }
    return true;
}

/* The lock of the group: a CPU that waits for it answers. */
static void lock_own(void *context)
{
    (void)context;
    while (pthread_mutex_trylock(&w.lock))
        answer_requests();
}

static void unlock_own(void *context)
{
    (void)context;
    pthread_mutex_unlock(&w.lock);
}

/* ---- Tasks ---- */

static unsigned draw(unsigned below)
{
    here->random = here->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(here->random >> 33) % below;
}

static void add_to_queue(struct task *task)
{
    pthread_mutex_lock(&w.queue_lock);
    w.queue[w.queued++] = task;
    pthread_mutex_unlock(&w.queue_lock);
}

static struct task *take_from_queue(void)
{
    struct task *task = NULL;

    pthread_mutex_lock(&w.queue_lock);
    if (w.queued) {
        unsigned i = draw(w.queued);

        task = w.queue[i];
        w.queue[i] = w.queue[--w.queued];
    }
    pthread_mutex_unlock(&w.queue_lock);
    return task;
}

static void work(uint32_t instructions)
{
    __atomic_fetch_add(&w.begun, instructions, __ATOMIC_SEQ_CST);
    upmu_sim_events(&here->sim, &(struct upmu_sim_burst){.instructions = instructions, .cycles = instructions});
    __atomic_fetch_add(&w.done, instructions, __ATOMIC_SEQ_CST);
}

/*
 * A sum lies between what members had executed before the call and what they had begun behind it.  It may lack some
 * where it says so: the machine took the processor from a CPU that held a session, and another one could not wait.
 */
static void check_sum(uint64_t *last)
{
    uint32_t least = __atomic_load_n(&w.done, __ATOMIC_SEQ_CST), most;
    struct upmu_count sum;
    enum upmu_status status = upmu_group_read(&w.group, 0, 1, &sum);

    most = __atomic_load_n(&w.begun, __ATOMIC_SEQ_CST);
    if (status == UPMU_ERR_BUSY || status == UPMU_ERR_WRONG_CPU) /* a member moved on again and again */
        return;
    assert_int_equal(status, UPMU_OK);
    if ((sum.raw < least && sum.quality == UPMU_QUALITY_EXACT) || sum.raw > most || sum.raw < *last)
        fail_msg("a sum of %llu (quality %u), not %u to %u, after %llu", (unsigned long long)sum.raw,
                 (unsigned)sum.quality, (unsigned)least, (unsigned)most, (unsigned long long)*last);
    *last = sum.raw;
    __atomic_fetch_add(&w.reads, 1, __ATOMIC_RELAXED);
}

static void fork_here(struct task *task)
{
    struct task *child;

    if (__atomic_add_fetch(&w.tasks, 1, __ATOMIC_RELAXED) > QUEUE / 2) {
        __atomic_sub_fetch(&w.tasks, 1, __ATOMIC_RELAXED);
        return;
    }
    child = calloc(1, sizeof *child);
    assert_non_null(child);
    upmu_thread_init(&child->thread, 1, __atomic_add_fetch(&w.forks, 1, __ATOMIC_RELAXED), NULL);
    assert_int_equal(upmu_group_fork(&task->member, &child->member, &child->thread), UPMU_OK);
    add_to_queue(child);
}

static void end_here(struct task *task)
{
    enum upmu_status status;

    do
        status = upmu_thread_exit(&task->thread);
    while (status == UPMU_ERR_BUSY);
    assert_int_equal(status, UPMU_OK);
    assert_int_equal(upmu_thread_switch(&here->cpu, &task->thread, &here->idle), UPMU_OK);
    do
        status = upmu_group_leave(&task->member);
    while (status == UPMU_ERR_BUSY);
    assert_int_equal(status, UPMU_OK);
    free(task);
    __atomic_sub_fetch(&w.tasks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&w.ends, 1, __ATOMIC_RELAXED);
}

static void run_task(struct task *task)
{
    assert_int_equal(upmu_thread_switch(&here->cpu, &here->idle, &task->thread), UPMU_OK);
    for (unsigned i = draw(4); i; i--) {
        work(draw(200));
        answer_requests();
    }
    if (!draw(3))
        fork_here(task);
    if (!draw(4) && __atomic_load_n(&w.tasks, __ATOMIC_RELAXED) > CPUS) {
        end_here(task);
        return;
    }
    assert_int_equal(upmu_thread_switch(&here->cpu, &task->thread, &here->idle), UPMU_OK);
    add_to_queue(task);
}

static void *run_cpu(void *argument)
{
    uint64_t last = 0;

    here = argument;
    for (unsigned step = 0; step < w.steps; step++) {
        struct task *task = take_from_queue();

        answer_requests();
        if (task)
            run_task(task);
        if (!draw(4))
            check_sum(&last);
        if (!draw(8))
            assert_int_equal(upmu_cpu_tick(&here->cpu), UPMU_OK);
    }
    __atomic_fetch_add(&w.stopping, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&w.stopping, __ATOMIC_SEQ_CST) < CPUS)
        answer_requests();
    answer_requests();
    return NULL;
}

static void set_up_cpu(unsigned i)
{
    struct own_cpu *own = &w.cpu[i];

    here = own;
    own->number = i;
    own->random = i + 1;
    pthread_mutex_init(&own->mail, NULL);
    upmu_sim_init(&own->sim, upmu_sim_profile("skylake"), 1);
    assert_int_equal(upmu_cpu_init(&own->cpu, &w.machine, NULL), UPMU_OK);
    upmu_thread_init(&own->idle, 0, i, NULL);
}

/* Returns the last sum's quality. */
static enum upmu_quality run_group(void)
{
    pthread_t thread[CPUS];
    struct task *task;
    struct upmu_count sum;

    memset(&w, 0, sizeof w);
    w.steps = share_few(20000, 2000);
    w.port = (struct upmu_port){.rdmsr = own_rdmsr, .wrmsr = own_wrmsr, .rdpmc = own_rdpmc, .cpuid = own_cpuid,
                                .this_cpu = own_this_cpu, .irq_save = own_irq_save, .irq_restore = own_irq_restore,
                                .clock_ns = own_clock_ns, .run_on_cpu = own_run_on_cpu, .msr_faults_are_safe = true};
    pthread_mutex_init(&w.lock, NULL);
    pthread_mutex_init(&w.queue_lock, NULL);
    assert_int_equal(upmu_machine_init(&w.machine, &w.port), UPMU_OK);
    for (unsigned i = 0; i < CPUS; i++)
        set_up_cpu(i);
    here = &w.cpu[0];
    assert_int_equal(upmu_event_parse(here->cpu.meter.pmu, "instructions", &w.event, NULL), UPMU_OK);
    assert_int_equal(upmu_group_init(&w.group, &w.machine, &w.event, 1, UPMU_GROUP_CHILDREN), UPMU_OK);
    w.group.lock = lock_own;
    w.group.unlock = unlock_own;
    task = calloc(1, sizeof *task);
    assert_non_null(task);
    upmu_thread_init(&task->thread, 1, 1, NULL);
    assert_int_equal(upmu_group_join(&w.group, &task->member, &task->thread, NULL), UPMU_OK);
    w.tasks = 1;
    add_to_queue(task);
    for (unsigned i = 0; i < CPUS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_cpu, &w.cpu[i]), 0, i);
    for (unsigned i = 0; i < CPUS; i++)
        pthread_join(thread[i], NULL);
    while ((task = take_from_queue()) != NULL) {
        assert_int_equal(upmu_thread_exit(&task->thread), UPMU_OK);
        assert_int_equal(upmu_group_leave(&task->member), UPMU_OK);
        free(task);
    }
    assert_int_equal(upmu_group_read(&w.group, 0, 1, &sum), UPMU_OK);
    if (sum.quality == UPMU_QUALITY_SCALED)
        assert_compare(sum.raw, <, w.done);
    else
        assert_int_equal(sum.raw, w.done);
    assert_int_equal(w.group.members, 0);
    assert_int_equal(w.group.missed, 0);
    print_message("%u forks, %u ends, %u sums, %u instructions\n", w.forks, w.ends, w.reads, (unsigned)w.done);
    for (unsigned i = 0; i < CPUS; i++) {
        here = &w.cpu[i];
        assert_int_equal(upmu_cpu_fini(&here->cpu), UPMU_OK);
        if (here->sim.violation)
            fail_msg("%s", here->sim.violation);
    }
    return sum.quality;
}

/* A run whose last sum lacks something, and says so, is made again. */
static void sums_hold_while_cpus_run_at_the_same_moment(void **state)
{
    enum upmu_quality quality = UPMU_QUALITY_SCALED;

    (void)state;
    for (unsigned run = 0; run < RUNS && quality == UPMU_QUALITY_SCALED; run++)
        if ((quality = run_group()) == UPMU_QUALITY_SCALED)
            print_message("the last sum lacks something, and says so: once more\n");
    assert_int_equal(quality, UPMU_QUALITY_EXACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_hold_while_cpus_run_at_the_same_moment),
    };

    return cmocka_run_group_tests_name("group_threads", tests, NULL, NULL);
}
