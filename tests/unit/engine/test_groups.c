/* SPDX-License-Identifier: MIT */
/*
 * Groups of threads: a process with all its threads, its children, and threads that the host names.
 *
 * What a sum is compared with is counted beside the library: the instructions that followed threads were given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <upmu/event.h>
#include <upmu/group.h>

#include "tests/common/host.h"
#include "tests/common/share.h"

#define TASKS 24
#define CPUS 4
#define GROUPS 2
#define EVENTS 2

/* A thread of the host, with a member for each group that it can be in. */
struct task {
    struct upmu_thread thread;
    struct upmu_member member[GROUPS];
    bool lives;
    int cpu; /* where it runs, or -1 */
};

static struct {
    struct upmu_sim sim;
    struct upmu_machine machine;
    struct upmu_cpu cpu[CPUS];
    struct upmu_thread idle[CPUS];
    struct task *running[CPUS];
    struct task task[TASKS];
    struct upmu_group group[GROUPS];
    struct upmu_event event[EVENTS];
    uint64_t truth[GROUPS]; /* instructions */
    unsigned locks, unlocks;
    uint32_t next_pid;
} w;

static void lock_world(void *context)
{
    assert_ptr_equal(context, &w);
    assert_int_equal(w.locks, w.unlocks);
    w.locks++;
}

static void unlock_world(void *context)
{
    (void)context;
    w.unlocks++;
}

static void begin_group(unsigned i, unsigned flags, unsigned events)
{
    assert_int_equal(upmu_group_init(&w.group[i], &w.machine, w.event, events, flags), UPMU_OK, i);
    w.group[i].lock = lock_world;
    w.group[i].unlock = unlock_world;
    w.group[i].context = &w;
}

static bool by_registers; /* counters are read by their registers, not by RDPMC */

static void prepare(const char *profile, unsigned flags)
{
    memset(&w, 0, sizeof w);
    upmu_sim_init(&w.sim, upmu_sim_profile(profile), CPUS);
    if (by_registers)
        w.sim.port.rdpmc = NULL;
    assert_int_equal(upmu_machine_init(&w.machine, upmu_sim_port(&w.sim)), UPMU_OK);
    for (unsigned i = 0; i < CPUS; i++) {
        upmu_sim_bind_cpu(&w.sim, i, &w.cpu[i]);
        upmu_sim_switch_cpu(&w.sim, i);
        assert_int_equal(upmu_cpu_init(&w.cpu[i], &w.machine, NULL), UPMU_OK, i);
        upmu_thread_init(&w.idle[i], 0, i, NULL);
    }
    upmu_sim_switch_cpu(&w.sim, 0);
    assert_int_equal(upmu_event_parse(w.cpu[0].meter.pmu, "instructions", &w.event[0], NULL), UPMU_OK);
    assert_int_equal(upmu_event_parse(w.cpu[0].meter.pmu, "branches", &w.event[1], NULL), UPMU_OK);
    w.next_pid = 1;
    for (unsigned i = 0; i < GROUPS; i++)
        begin_group(i, flags, EVENTS);
}

static struct task *new_task(uint32_t pid)
{
    for (unsigned i = 0; i < TASKS; i++)
        if (!w.task[i].lives) {
            memset(&w.task[i], 0, sizeof w.task[i]);
            w.task[i].lives = true;
            w.task[i].cpu = -1;
            upmu_thread_init(&w.task[i].thread, pid, 100 + i, NULL);
            return &w.task[i];
        }
    return NULL;
}

/* Switch a CPU to a task, or to its idle thread (NULL). */
static void put(unsigned cpu, struct task *next)
{
    struct task *prev = w.running[cpu];

    if (prev == next)
        return;
    assert_true(!next || next->cpu < 0);
    upmu_sim_switch_cpu(&w.sim, cpu);
    assert_int_equal(upmu_thread_switch(&w.cpu[cpu], prev ? &prev->thread : &w.idle[cpu],
                                        next ? &next->thread : &w.idle[cpu]),
                     UPMU_OK, cpu);
    if (prev)
        prev->cpu = -1;
    if (next)
        next->cpu = (int)cpu;
    w.running[cpu] = next;
}

/* Let what runs on a CPU execute. */
static void work(unsigned cpu, uint64_t instructions)
{
    struct task *task = w.running[cpu];

    upmu_sim_switch_cpu(&w.sim, cpu);
    upmu_sim_events(&w.sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                     .cycles = 2 * instructions,
                                                     .branches = instructions / 2,
                                                     .llc_references = instructions / 4,
                                                     .llc_misses = instructions / 5,
                                                     .ip = 0x1000,
                                                     .ip_step = 1});
    for (unsigned i = 0; task && i < GROUPS; i++)
        if (task->member[i].group)
            w.truth[i] += instructions;
}

static enum upmu_status join(unsigned group, struct task *task)
{
    if (task->cpu >= 0)
        upmu_sim_switch_cpu(&w.sim, (unsigned)task->cpu);
    return upmu_group_join(&w.group[group], &task->member[group], &task->thread,
                           task->cpu < 0 ? NULL : &w.cpu[task->cpu]);
}

static struct task *fork_task(struct task *parent, bool process)
{
    struct task *child = new_task(process ? ++w.next_pid : parent->thread.pid);

    if (parent->cpu >= 0)
        upmu_sim_switch_cpu(&w.sim, (unsigned)parent->cpu);
    for (unsigned i = 0; child && i < GROUPS; i++)
        assert_int_equal(upmu_group_fork(&parent->member[i], &child->member[i], &child->thread), UPMU_OK, i);
    return child;
}

/* A task ends where it runs, or is ended while it does not run.  `order`: which of the two notes comes first. */
static void end_task(struct task *task, bool order)
{
    int cpu = task->cpu;

    if (cpu >= 0)
        upmu_sim_switch_cpu(&w.sim, (unsigned)cpu);
    if (order)
        assert_int_equal(upmu_thread_exit(&task->thread), UPMU_OK);
    for (unsigned i = 0; i < GROUPS; i++)
        for (unsigned twice = 0; twice < 2; twice++)
            assert_int_equal(upmu_group_leave(&task->member[i]), UPMU_OK, i);
    if (!order)
        assert_int_equal(upmu_thread_exit(&task->thread), UPMU_OK);
    if (cpu >= 0)
        put((unsigned)cpu, NULL);
    memset(task, 0xa5, sizeof *task); /* its memory is the host's again */
    task->lives = false;
}

static struct upmu_count read_sum(unsigned group, unsigned event)
{
    struct upmu_count count;

    assert_int_equal(upmu_group_read(&w.group[group], event, 1, &count), UPMU_OK, group);
    return count;
}

static void assert_sum(unsigned group)
{
    struct upmu_count count[EVENTS];

    assert_int_equal(upmu_group_read(&w.group[group], 0, EVENTS, count), UPMU_OK, group);
    assert_int_equal(count[0].raw, w.truth[group], group);
    assert_int_equal(count[0].value, w.truth[group], group);
    assert_int_equal(count[1].value, w.truth[group] / 2, group);
    if (w.truth[group]) {
        assert_int_equal(count[0].quality, UPMU_QUALITY_EXACT);
        assert_int_equal(count[1].quality, UPMU_QUALITY_EXACT);
        assert_int_equal(count[0].enabled_ns, count[0].running_ns);
    }
}

static void finish(void)
{
    for (unsigned i = 0; i < GROUPS; i++) {
        assert_int_equal(upmu_group_close(&w.group[i]), UPMU_OK, i);
        assert_int_equal(w.group[i].members, 0, i);
        assert_sum(i);
    }
    assert_int_equal(w.locks, w.unlocks);
    for (unsigned i = 0; i < CPUS; i++) {
        put(i, NULL);
        upmu_sim_switch_cpu(&w.sim, i);
        assert_int_equal(upmu_cpu_fini(&w.cpu[i]), UPMU_OK, i);
    }
    for (unsigned i = 0; i < CPUS; i++)
        for (unsigned counter = 0; counter < UPMU_SIM_COUNTERS; counter++)
            assert_false(upmu_sim_runs(&w.sim, i, counter), i);
    if (w.sim.violation)
        fail_msg("%s", w.sim.violation);
}

static void a_process_is_counted_with_all_its_threads(void **state)
{
    struct task *first, *second, *other;

    (void)state;
    prepare("skylake", 0);
    first = new_task(1);
    put(0, first);
    work(0, 500); /* before */
    assert_int_equal(join(0, first), UPMU_OK);
    work(0, 1000);
    second = fork_task(first, false);
    assert_int_equal(second->thread.pid, 1);
    put(1, second);
    work(1, 100); /* from its first instruction on */
    assert_int_equal(read_sum(0, 0).value, 1100);
    other = fork_task(first, true); /* another process */
    assert_null(other->member[0].group);
    put(2, other);
    work(2, 10000);
    work(0, 1000);
    assert_sum(0);
    end_task(first, true); /* the first thread may end before others */
    work(1, 100);
    assert_int_equal(read_sum(0, 0).value, 2200);
    assert_int_equal(w.group[0].members, 1);
    assert_int_equal(w.group[0].left, 1);
    finish();
    assert_int_equal(read_sum(0, 0).value, 2200);
    assert_int_equal(read_sum(0, 1).value, 1100);
}

static void children_are_followed_from_their_first_instruction(void **state)
{
    struct task *task;
    uint64_t before = 0;

    (void)state;
    prepare("zen4", UPMU_GROUP_CHILDREN);
    task = new_task(1);
    put(0, task);
    assert_int_equal(join(0, task), UPMU_OK);
    for (unsigned i = 0; i < 20; i++) {
        struct task *child = fork_task(task, i & 1u);

        assert_ptr_equal(child->member[0].group, &w.group[0]);
        assert_null(child->member[1].group);
        end_task(task, i & 2u);
        assert_int_equal(read_sum(0, 0).value, before);
        put(i % CPUS, child);
        work(i % CPUS, 2);
        before += 2;
        task = child;
        assert_sum(0);
    }
    finish();
}

/* Threads, CPUs, forks, moves between two groups and ends in random orders: no event is lost, none counted twice. */
static void sums_are_kept_whatever_threads_do(void **state)
{
    static const char *const profiles[] = {"skylake", "zen4", "k8_revf", "sandybridge", "icelake"};
    unsigned runs = share_few(400, 40), reads = 0, forks = 0, ends = 0;

    (void)state;
    for (unsigned run = 0; run < runs; run++) {
        srand(run);
        prepare(profiles[run % 5], run & 1u ? UPMU_GROUP_CHILDREN : 0);
        put(0, new_task(1));
        assert_int_equal(join(0, w.running[0]), UPMU_OK);
        for (unsigned step = 0; step < 300; step++) {
            struct task *task = &w.task[(unsigned)rand() % TASKS];
            unsigned cpu = (unsigned)rand() % CPUS, group = (unsigned)rand() % GROUPS;

            if (!task->lives) {
                if (!(rand() % 8))
                    (void)new_task(++w.next_pid);
                continue;
            }
            switch (rand() % 8) {
            case 0:
                forks += fork_task(task, rand() & 1) != NULL;
                break;
            case 1:
                if (rand() & 1)
                    break;
                end_task(task, rand() & 1);
                ends++;
                break;
            case 2: /* the host moves it into a group, or out of it */
                if (task->cpu >= 0)
                    upmu_sim_switch_cpu(&w.sim, (unsigned)task->cpu);
                if (task->member[group].group)
                    assert_int_equal(upmu_group_leave(&task->member[group]), UPMU_OK, group);
                else
                    assert_int_equal(join(group, task), UPMU_OK);
                break;
            case 3:
                upmu_sim_switch_cpu(&w.sim, cpu); /* wherever the reader runs */
                assert_sum(group);
                reads++;
                break;
            case 4:
                put(cpu, NULL);
                break;
            default:
                if (task->cpu < 0)
                    put(cpu, task);
                work(cpu, 2u * ((unsigned)rand() % 500));
            }
        }
        finish();
    }
    print_message("%u runs, %u forks, %u ends, %u sums\n", runs, forks, ends, reads);
    assert_true(forks > runs && ends > runs && reads > runs);
}

static void a_child_that_is_not_followed_makes_sums_partial(void **state)
{
    struct task *parent;
    struct upmu_thread child;

    (void)state;
    prepare("skylake", UPMU_GROUP_CHILDREN);
    parent = new_task(1);
    put(0, parent);
    assert_int_equal(join(0, parent), UPMU_OK);
    work(0, 1000);
    upmu_thread_init(&child, 2, 2, NULL);
    assert_int_equal(upmu_group_fork(&parent->member[0], NULL, &child), UPMU_ERR_NO_SPACE);
    assert_int_equal(w.group[0].missed, 1);
    assert_int_equal(read_sum(0, 0).quality, UPMU_QUALITY_PARTIAL);
    assert_int_equal(read_sum(0, 0).value, 1000);
    assert_int_equal(upmu_group_fork(&parent->member[1], NULL, &child), UPMU_OK); /* in no group */
    assert_int_equal(w.group[1].missed, 0);
}

static void refusals_leave_a_member_in_no_group(void **state)
{
    struct task *task;
    struct upmu_count count[EVENTS + 1];

    (void)state;
    prepare("skylake", 0);
    assert_int_equal(upmu_group_init(&w.group[0], &w.machine, w.event, 0, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_group_init(&w.group[0], &w.machine, w.event, UPMU_SET_EVENTS + 1, 0), UPMU_ERR_INVALID);
    assert_int_equal(upmu_group_init(&w.group[0], &w.machine, w.event, 1, 4), UPMU_ERR_INVALID);
    assert_int_equal(upmu_group_read(&w.group[1], 0, EVENTS + 1, count), UPMU_ERR_INVALID);
    assert_int_equal(upmu_group_read(&w.group[1], EVENTS, 0, count), UPMU_ERR_INVALID);
    begin_group(0, 0, EVENTS);
    task = new_task(1);
    assert_int_equal(join(0, task), UPMU_OK);
    assert_int_equal(upmu_group_join(&w.group[1], &task->member[0], &task->thread, NULL), UPMU_ERR_STATE);
    assert_int_equal(w.group[0].members, 1);
    assert_int_equal(w.group[1].members, 0);
    w.event[0].counters = 1; /* two events that want one counter */
    w.event[1].counters = 1;
    assert_int_equal(join(1, task), UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(task->member[1].session.why.status, UPMU_ERR_DOES_NOT_FIT);
    assert_null(task->member[1].group);
    assert_int_equal(w.group[1].members, 0);
    assert_int_equal(w.group[1].missed, 0);
    finish();
}

/* A member that never runs adds nothing, and says nothing about the quality. */
static void what_never_ran_is_no_count(void **state)
{
    struct task *task, *other;

    (void)state;
    prepare("skylake", 0);
    assert_int_equal(read_sum(0, 0).quality, UPMU_QUALITY_NEVER_RAN);
    task = new_task(1);
    other = new_task(1);
    assert_int_equal(join(0, task), UPMU_OK);
    assert_int_equal(join(0, other), UPMU_OK);
    assert_int_equal(read_sum(0, 0).quality, UPMU_QUALITY_NEVER_RAN);
    put(1, task);
    assert_int_equal(read_sum(0, 0).quality, UPMU_QUALITY_UNPROVEN);
    put(0, other); /* it counts, so the first one was idle */
    work(0, 10);
    assert_int_equal(read_sum(0, 0).quality, UPMU_QUALITY_EXACT);
    work(1, 10);
    assert_int_equal(read_sum(0, 0).quality, UPMU_QUALITY_EXACT);
    end_task(other, false);
    assert_sum(0);
    finish();
}

/* Two groups want all general counters in turn: their sums are estimates, and the times those of all threads. */
static void shared_counters_make_estimates_of_sums(void **state)
{
    static const char *const names[] = {"r00c4", "r4f2e"};
    struct upmu_event events[2];
    struct task *task[2];

    (void)state;
    prepare("core2", 0); /* two general counters */
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(upmu_event_parse(w.cpu[0].meter.pmu, names[i], &events[i], NULL), UPMU_OK, i);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(upmu_group_init(&w.group[i], &w.machine, events, 2, UPMU_GROUP_SHARE), UPMU_OK, i);
        task[i] = new_task(1 + i);
    }
    for (unsigned i = 0; i < 2; i++)
        for (unsigned group = 0; group < 2; group++)
            assert_int_equal(join(group, task[i]), UPMU_OK, i);
    for (unsigned turn = 0; turn < 400; turn++) {
        put(0, task[turn & 1u]);
        put(1, turn & 2u ? NULL : task[!(turn & 1u)]);
        upmu_sim_switch_cpu(&w.sim, 0);
        for (unsigned tick = 0; tick < 5; tick++) {
            upmu_sim_advance_ns(&w.sim, 1000000);
            work(0, 100);
            assert_int_equal(upmu_cpu_tick(&w.cpu[0]), UPMU_OK);
        }
        put(0, NULL);
        put(1, NULL);
    }
    for (unsigned group = 0; group < 2; group++) {
        struct upmu_count sum = read_sum(group, 0), part[2];

        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(upmu_set_read(&task[i]->member[group].session.set, 0, 1, &part[i]), UPMU_OK, i, group);
        assert_int_equal(sum.quality, UPMU_QUALITY_SCALED);
        assert_compare(sum.running_ns, <, sum.enabled_ns);
        assert_int_equal(sum.enabled_ns, part[0].enabled_ns + part[1].enabled_ns);
        assert_int_equal(sum.running_ns, part[0].running_ns + part[1].running_ns);
        assert_int_equal(sum.raw, part[0].raw + part[1].raw);
        assert_int_equal(sum.value, part[0].value + part[1].value);
        assert_int_equal(sum.error, part[0].error + part[1].error);
        assert_int_equal(upmu_group_close(&w.group[group]), UPMU_OK, group);
        assert_int_equal(read_sum(group, 0).raw, sum.raw);
        assert_int_equal(read_sum(group, 0).enabled_ns, sum.enabled_ns);
    }
}

/* A CPU that does not answer: what cannot be done is told, and is done later. */
static void a_cpu_that_does_not_answer_is_told(void **state)
{
    struct task *task;
    struct upmu_count count;

    (void)state;
    prepare("skylake", 0);
    task = new_task(1);
    put(1, task);
    assert_int_equal(join(0, task), UPMU_OK);
    work(1, 1000);
    upmu_sim_switch_cpu(&w.sim, 0);
    w.sim.cpu[1].offline = true;
    assert_int_equal(upmu_group_read(&w.group[0], 0, 1, &count), UPMU_ERR_WRONG_CPU);
    assert_int_equal(upmu_group_leave(&task->member[0]), UPMU_ERR_WRONG_CPU);
    assert_int_equal(upmu_group_close(&w.group[0]), UPMU_ERR_WRONG_CPU);
    assert_int_equal(w.group[0].members, 1);
    w.sim.cpu[1].offline = false;
    assert_sum(0);
    assert_int_equal(upmu_group_leave(&task->member[0]), UPMU_OK);
    assert_sum(0);
    finish();
}

/* A register that faults: the group says that its sum lacks something, and keeps the rest. */
static void a_fault_makes_the_sum_partial(void **state)
{
    struct task *task[2];
    struct upmu_count count;

    (void)state;
    by_registers = true;
    prepare("skylake", 0);
    by_registers = false;
    for (unsigned i = 0; i < 2; i++) {
        task[i] = new_task(1);
        put(i, task[i]);
        assert_int_equal(join(0, task[i]), UPMU_OK, i);
        work(i, 1000);
    }
    upmu_sim_switch_cpu(&w.sim, 0);
    w.sim.expect_faults = true;
    w.sim.fault_address = 0x309;
    assert_int_equal(upmu_group_read(&w.group[0], 0, 1, &count), UPMU_ERR_PORT);
    assert_int_equal(count.quality, UPMU_QUALITY_PARTIAL);
    w.sim.fault_at = w.sim.accesses + 1;
    w.sim.fault_until = w.sim.accesses + 20;
    assert_int_equal(upmu_group_leave(&task[0]->member[0]), UPMU_ERR_PORT);
    assert_null(task[0]->member[0].group);
    w.sim.fault_at = w.sim.fault_until = w.sim.fault_address = 0;
    assert_int_equal(w.group[0].members, 1);
    assert_int_equal(read_sum(0, 0).quality, UPMU_QUALITY_PARTIAL);
    assert_in_range(read_sum(0, 0).value, 1000, 2000);
    work(1, 10);
    assert_in_range(read_sum(0, 0).value, 1010, 2010);
    assert_int_equal(join(0, new_task(1)), UPMU_OK);
    assert_int_equal(join(0, new_task(1)), UPMU_OK);
    upmu_sim_switch_cpu(&w.sim, 0);
    put(2, &w.task[2]);
    put(3, &w.task[3]);
    upmu_sim_switch_cpu(&w.sim, 0);
    w.sim.fault_at = w.sim.accesses + 1;
    w.sim.fault_until = w.sim.accesses + 20;
    assert_int_equal(upmu_group_close(&w.group[0]), UPMU_ERR_PORT); /* all leave, though each faults */
    assert_int_equal(w.group[0].members, 0);
}

/* A member that stays is told, also if a register of an earlier one faulted. */
static void a_close_tells_a_member_that_stays_after_a_fault(void **state)
{
    struct task *task[2];

    (void)state;
    by_registers = true;
    prepare("skylake", 0);
    by_registers = false;
    for (unsigned i = 0; i < 2; i++) { /* the group closes the last one first */
        task[i] = new_task(1);
        put(1 - i, task[i]);
        assert_int_equal(join(0, task[i]), UPMU_OK, i);
        work(1 - i, 1000);
    }
    upmu_sim_switch_cpu(&w.sim, 0);
    w.sim.cpu[1].offline = true;
    w.sim.expect_faults = true;
    w.sim.fault_address = 0x309;
    w.sim.fault_at = w.sim.accesses + 1;
    w.sim.fault_until = w.sim.accesses + 20;
    assert_int_equal(upmu_group_close(&w.group[0]), UPMU_ERR_WRONG_CPU);
    assert_int_equal(w.group[0].members, 1);
    assert_int_equal(w.group[0].left, 1);
    assert_ptr_equal(w.group[0].state.first, &task[0]->member[0]);
    w.sim.fault_at = w.sim.fault_until = w.sim.fault_address = 0;
    w.sim.cpu[1].offline = false;
    assert_int_equal(upmu_group_close(&w.group[0]), UPMU_OK);
    assert_int_equal(w.group[0].members, 0);
}

static void a_sum_does_not_go_round(void **state)
{
    (void)state;
    prepare("skylake", 0);
    for (unsigned i = 0; i < 3; i++) {
        struct task *task = new_task(1);

        put(0, task);
        assert_int_equal(join(0, task), UPMU_OK);
        work(0, 10);
        put(0, NULL);
        assert_int_equal(upmu_set_write(&task->member[0].session.set, 0, INT64_MAX), UPMU_OK);
        task->member[0].session.enabled_ns = task->member[0].session.set.duration_ns = INT64_MAX;
        task->member[0].session.set.tally[0].lost = INT32_MAX;
    }
    for (unsigned closed = 0; closed < 2; closed++) {
        struct upmu_count sum = read_sum(0, 0);

        assert_int_equal(sum.value, UINT64_MAX, closed);
        assert_int_equal(sum.raw, UINT64_MAX, closed);
        assert_int_equal(sum.enabled_ns, UINT64_MAX, closed);
        assert_int_equal(sum.running_ns, UINT64_MAX, closed);
        assert_int_equal(sum.lost, UINT32_MAX, closed);
        assert_int_equal(upmu_group_close(&w.group[0]), UPMU_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_counted_with_all_its_threads),
        cmocka_unit_test(children_are_followed_from_their_first_instruction),
        cmocka_unit_test(sums_are_kept_whatever_threads_do),
        cmocka_unit_test(a_child_that_is_not_followed_makes_sums_partial),
        cmocka_unit_test(refusals_leave_a_member_in_no_group),
        cmocka_unit_test(what_never_ran_is_no_count),
        cmocka_unit_test(shared_counters_make_estimates_of_sums),
        cmocka_unit_test(a_cpu_that_does_not_answer_is_told),
        cmocka_unit_test(a_fault_makes_the_sum_partial),
        cmocka_unit_test(a_close_tells_a_member_that_stays_after_a_fault),
        cmocka_unit_test(a_sum_does_not_go_round),
    };

    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
