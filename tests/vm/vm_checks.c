/* SPDX-License-Identifier: MIT */
/*
 * The checks: what the kernel prints against what is known of its workload, and
 * against the steps that the monitor counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/common/workload.h"
#include "tests/vm/vm.h"
#include "tests/vm/vm_checks.h"
#include "tests/vm/vm_hypervisor.h"

static struct vm vm;
static struct vm model; /* what the guest did and said on the model */

/* Ring 3 runs more than the workload: a call, and in 32 bits a push before it. */
static unsigned around_user(const struct vm_guest *guest)
{
    return WORKLOAD_AROUND_INSTRUCTIONS + (guest->bits == 64 ? 1 : 2);
}

static void run_on(const struct vm_guest *guest, const struct vm_host *host, const char *commands)
{
    vm_run_kernel(&vm, guest, host, "upmu", commands);
    if (vm.exit_code != 0x10)
        fail_msg("it ended with %d, and said at last: %s", vm.exit_code,
                 vm.serial + (vm.serial_length > 800 ? vm.serial_length - 800 : 0));
    vm_expect_no_violation(&vm);
    assert_int_equal(strstr(guest->options, "vector=") != NULL, strstr(vm.serial, "\nVector arrives") != NULL);
    vm_expect(&vm, "vmtest.pmu", guest->pmu);
    vm_expect(&vm, "vmtest.end", "ok");
    assert_int_equal(vm_said(&vm, "vmtest.bits"), guest->bits);
    assert_int_equal(vm.sim.cpu[0].pmi_dropped, 0);
}

static void run(const struct vm_guest *guest, const char *commands)
{
    run_on(guest, NULL, commands);
}

/* ---- Counts ---- */

struct event {
    const char *name;
    bool branches, kernel, user;
};

static const struct event events[] = {
    {".instructions", false, true, true},    {".instructions:u", false, false, true},
    {".instructions:k", false, true, false}, {".branches", true, true, true},
    {".branches:u", true, false, true},      {".branches:k", true, true, false},
};

/* The steps of that line's run that the event counts. */
static uint64_t stepped(const struct vm_guest *guest, const char *key, const struct event *event)
{
    unsigned first, behind;
    uint64_t sum = 0;
    const struct vm_span *span;

    assert_true(vm_spans_of(&vm, key, &first, &behind));
    assert_compare(behind, >, first);
    span = &vm.span[behind - 1];
    for (unsigned ring = 0; ring < 2; ring++)
        if (ring ? event->user : event->kernel)
            sum += event->branches ? span->branches[ring] : span->steps[ring];
    if (event->kernel && !event->branches)
        sum += guest->enabling_counts;
    return sum;
}

/* Counts minus what the passes are known to have: one constant for 10, 100, 1000. */
static uint64_t constant_of(const struct vm_guest *guest, const struct event *event, bool user, unsigned lengths)
{
    static const unsigned passes[] = {10, 100, 1000};
    bool counted = user ? event->user : event->kernel;
    unsigned per_pass = !counted ? 0 : event->branches ? WORKLOAD_BRANCHES : WORKLOAD_INSTRUCTIONS;
    uint64_t constant = 0;

    for (unsigned i = 0; i < lengths; i++) {
        char key[64];
        uint64_t value;

        snprintf(key, sizeof key, "ring%u%s.%u", user ? 3 : 0, event->name, passes[i]);
        value = vm_said(&vm, "%s", key);
        if (value != stepped(guest, key, event))
            fail_msg("%s: %u counted, %u stepped", key, (unsigned)value, (unsigned)stepped(guest, key, event));
        if (i == 0)
            constant = value - passes[i] * per_pass;
        if (value - passes[i] * per_pass != constant)
            fail_msg("%s: %u, but the constant was %u", key, (unsigned)value, (unsigned)constant);
    }
    return constant;
}

static void check_counts(const struct vm_guest *guest, unsigned lengths)
{
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++) {
        const struct event *event = &events[i];
        uint64_t inside = constant_of(guest, event, false, lengths), outside = constant_of(guest, event, true, lengths);

        if (!event->kernel) {
            assert_int_equal(inside, 0);
            assert_int_equal(outside, event->branches ? WORKLOAD_AROUND_BRANCHES + 1 : around_user(guest));
        } else {
            assert_true(inside > 10 && inside < 3000);
            assert_true(outside > 10 && outside < 3000);
        }
        printf("%s %u-bit%s: 10 passes and more: in ring 0 %u, in ring 3 %u more than the workload's\n",
               guest->profile, guest->bits, event->name, (unsigned)inside, (unsigned)outside);
    }
}

/* ---- Samples ---- */

/* `late`: the last one may have come after the stop, which took its sample. */
static void check_interrupts(const char *name, uint64_t samples, unsigned late)
{
    assert_int_equal(vm_said(&vm, "%s.lost", name), 0);
    assert_in_range(vm_said(&vm, "%s.handled", name), samples - late, samples);
    assert_in_range(vm_said(&vm, "%s.stale", name), 0, late);
    assert_int_equal(vm_said(&vm, "%s.not-ours", name), 0);
}

/* "ips A B C …" lines in order. */
static unsigned next_address(const char **at, uint64_t *out_ip)
{
    for (;;) {
        if (strncmp(*at, "ips ", 4) == 0)
            *at += 4;
        if (**at >= '0' && **at <= '9') {
            char *end;

            *out_ip = strtoull(*at, &end, 0);
            *at = end + (*end == ' ' || *end == '\n');
            return 1;
        }
        if (**at == '\r' || **at == '\n' || **at == ' ')
            ++*at;
        else
            return 0;
    }
}

/*
 * Every address is where ring 3 stood after 100 more of its instructions; on a Pentium 4
 * the interrupt comes with the event after the overflow (Intel SDM vol 3 18.15).
 */
static void check_addresses(unsigned expected)
{
    const char *at = strstr(vm.serial, "ips ");
    unsigned late = vm.sim.profile->flags & UPMU_SIM_P4 && vm.sim.rule[UPMU_SIM_RULE_P4_PMI_NEXT];
    unsigned first, behind, samples = 0;
    uint64_t ip;

    assert_non_null(at);
    assert_true(vm_spans_of(&vm, "sample3.status", &first, &behind));
    while (next_address(&at, &ip)) {
        uint32_t index = vm.span[first].user_at + ++samples * 100 - 1 + late;

        assert_compare(index, <, vm.seen_count);
        assert_int_equal((uint32_t)ip, vm.seen[index], index);
    }
    assert_int_equal(samples, expected);
}

static void check_user_samples(const struct vm_guest *guest, unsigned samples)
{
    assert_int_equal(vm_said(&vm, "sample3.samples"), samples);
    assert_int_equal(vm_said(&vm, "sample3.outside"), 0);
    assert_int_equal(vm_said(&vm, "sample3.from-user"), samples);
    assert_int_equal(vm_said(&vm, "sample3.period"), 100);
    assert_int_equal(vm_said(&vm, "sample3.count"),
                     vm_said(&vm, "sample3.passes") * WORKLOAD_INSTRUCTIONS + around_user(guest));
    check_interrupts("sample3", samples, 0);
    check_addresses(samples);
}

/*
 * Samples of ring 0: one each period.  A vector waits for the end of what runs with interrupts off, which is less than
 * a period.
 */
static void check_number(const struct vm_guest *guest, const char *name)
{
    uint64_t most = vm_said(&vm, "%s.count", name) / vm_said(&vm, "%s.period", name);

    assert_in_range(vm_said(&vm, "%s.samples", name), strstr(guest->options, "vector=") ? most / 2 : most, most);
}

/* The handler is counted, too, while its gates are open: what is reported is what was stepped. */
static void check_kernel_samples(const struct vm_guest *guest)
{
    uint64_t count = vm_said(&vm, "sample0.count"), sum = 0;
    unsigned first, behind;

    assert_true(vm_spans_of(&vm, "sample0.status", &first, &behind));
    for (unsigned i = first; i < behind; i++)
        sum += vm.span[i].steps[0] + vm.span[i].steps[1] + guest->enabling_counts;
    assert_int_equal(count, sum);
    check_number(guest, "sample0");
    check_interrupts("sample0", vm_said(&vm, "sample0.samples"), strstr(guest->options, "vector=") != NULL);
}

/* Interrupts inside start, read, stop of a session that counts ring 3's branches. */
static void check_calls(const struct vm_guest *guest)
{
    uint64_t samples = vm_said(&vm, "calls.samples"), periods;

    assert_int_equal(vm_said(&vm, "calls.branches:u"),
                     vm_said(&vm, "calls.rounds") *
                         (vm_said(&vm, "calls.passes") * WORKLOAD_BRANCHES + WORKLOAD_AROUND_BRANCHES + 1));
    /* (A call that is longer than a period may end several: one has a sample, and the others are said to be late.) */
    periods = vm_said(&vm, "calls.count") / vm_said(&vm, "calls.period");
    assert_in_range(samples + vm_said(&vm, "calls.late"), strstr(guest->options, "vector=") ? periods / 2 : periods,
                    periods);
    assert_in_range(vm_said(&vm, "calls.late"), 0, 2 * vm_said(&vm, "calls.rounds"));
    assert_compare(vm_said(&vm, "calls.outside"), >=, vm_said(&vm, "calls.rounds") * 2 / 3);
    assert_int_equal(vm_said(&vm, "calls.lost"), 0);
    assert_int_equal(vm_said(&vm, "calls.not-ours"), 0);
    printf("%u interrupts inside and beside %u starts, reads and stops\n", (unsigned)samples,
           (unsigned)vm_said(&vm, "calls.rounds"));
}

void vm_check_all(const struct vm_guest *guest)
{
    run(guest, "vmtest");
    check_counts(guest, 3);
    check_user_samples(guest, 1000);
    check_kernel_samples(guest);
    check_calls(guest);
    vm_close(&vm);
}

void vm_check_briefly(const struct vm_guest *guest)
{
    if (vm_soaks()) {
        vm_check_all(guest);
        return;
    }
    printf("%s, %u bits: without 1000 passes, 200 samples; all with VM_RUNS=soak\n", guest->profile, guest->bits);
    run(guest, "vmtest brief");
    check_counts(guest, 2);
    check_user_samples(guest, 200);
    check_kernel_samples(guest);
    check_calls(guest);
    vm_close(&vm);
}

/* ---- The guest engine ---- */

/* The first line that is not the same. */
static void compare_lines(const struct vm_guest *guest, const char *host)
{
    const char *one = strstr(model.serial, "vmtest.bits "), *other = strstr(vm.serial, "vmtest.bits ");

    assert_true(one && other);
    while (*one || *other) {
        size_t length = strcspn(one, "\n"), length_other = strcspn(other, "\n");

        if (length != length_other || memcmp(one, other, length) != 0)
            fail_msg("%s on %s: \"%.*s\" on the model, \"%.*s\" in the guest", guest->profile, host,
                     (int)length, one, (int)length_other, other);
        one += length + (one[length] == '\n');
        other += length_other + (other[length_other] == '\n');
    }
}

/* Register accesses between two POST codes. */
static void compare_accesses(void)
{
    assert_int_equal(vm.marks, model.marks);
    for (unsigned i = 0; i + 1 < vm.marks; i++) {
        const struct vm_accesses *at = &vm.accesses_at[i], *was = &model.accesses_at[i];

        assert_int_equal(vm.mark[i], model.mark[i], i);
        if (!vm.mark[i])
            continue;
        assert_int_equal(at[1].reads - at->reads, was[1].reads - was->reads);
        assert_int_equal(at[1].writes - at->writes, was[1].writes - was->writes);
        assert_int_equal(at[1].rearms - at->rearms, was[1].rearms - was->rearms);
    }
}

static void compare_beside(const struct vm_guest *guest, const char *host, const struct vm_beside *beside)
{
    printf("%s on %s: the host counted %llu of its own %llu instructions, %llu of the guest's %llu, %llu of both\n",
           guest->profile, host, (unsigned long long)beside->host, (unsigned long long)beside->host_executed,
           (unsigned long long)beside->guest, (unsigned long long)beside->guest_executed,
           (unsigned long long)beside->both);
    assert_true(beside->host_executed > 0 && beside->guest_executed > 0);
    assert_int_equal(beside->host, beside->host_executed);
    assert_int_equal(beside->guest, beside->guest_executed);
    assert_int_equal(beside->both, beside->host_executed + beside->guest_executed);
}

void vm_check_same(const struct vm_guest *guest, const char *host, const char *names, bool beside)
{
    unsigned runs = vm_soaks() ? 20 : 1;
    char commands[128];

    snprintf(commands, sizeof commands, "vmtest %s; switches %s", vm_soaks() ? "brief" : "quick", names);
    run(guest, commands);
    vm_close(&vm);
    memcpy(&model, &vm, sizeof model);
    for (unsigned i = 0; i < runs; i++) {
        struct vm_beside counted;

        run_on(guest, &(struct vm_host){host, beside, false}, commands);
        compare_lines(guest, host);
        compare_accesses();
        vm_expect(&vm, "switches.status", "no error");
        if (i == 0)
            check_counts(guest, vm_soaks() ? 2 : 1);
        check_user_samples(guest, vm_soaks() ? 200 : 20);
        check_kernel_samples(guest);
        vm_hypervisor_close(&vm, beside ? &counted : NULL);
        if (beside)
            compare_beside(guest, host, &counted);
    }
    printf("%s on %s, %u bits: %u of %u runs (20 with VM_RUNS=soak) said what the model says\n", guest->profile, host,
           guest->bits, runs, runs);
}

/* Ring 0 counts other instructions than with registers: what it counts is what was stepped. */
void vm_check_page(const struct vm_guest *guest, const char *host)
{
    unsigned runs = vm_soaks() ? 20 : 1;

    for (unsigned i = 0; i < runs; i++) {
        struct vm_beside counted;

        run_on(guest, &(struct vm_host){host, true, true}, vm_soaks() ? "vmtest brief" : "vmtest quick");
        check_counts(guest, vm_soaks() ? 2 : 1);
        check_user_samples(guest, vm_soaks() ? 200 : 20);
        check_kernel_samples(guest);
        vm_hypervisor_close(&vm, &counted);
        compare_beside(guest, host, &counted);
    }
    printf("the page on %s, %u bits: %u of %u runs (20 with VM_RUNS=soak) counted what was stepped\n", host,
           guest->bits, runs, runs);
}

void vm_check_little(const struct vm_guest *guest)
{
    if (vm_soaks()) {
        vm_check_all(guest);
        return;
    }
    printf("%s, %u bits: samples of ring 3 alone; all with VM_RUNS=soak\n", guest->profile, guest->bits);
    vm_check_samples(guest);
}

void vm_check_samples(const struct vm_guest *guest)
{
    run(guest, vm_soaks() ? "vmtest samples" : "vmtest samples brief");
    check_user_samples(guest, vm_soaks() ? 1000 : 200);
    vm_close(&vm);
}

void vm_check_runs(unsigned bits, unsigned alone)
{
    static const char *const options[] = {"", "vector=0xe0", "nordpmc", "noclock"};
    unsigned runs = vm_soaks() ? 10 - alone : 1;

    for (unsigned i = 0; i < runs; i++) {
        bool skylake = i & 1;

        vm_check_samples(&(struct vm_guest){skylake ? "skylake" : "core2", skylake ? "skl" : "core", bits,
                                            options[i / 2 % 4], true});
    }
    printf("%u of 10 runs (all with VM_RUNS=soak): every sample at the right instruction\n", runs + alone);
}
