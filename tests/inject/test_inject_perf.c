/* SPDX-License-Identifier: MIT */
/*
 * Sweeps over perf_event_open: a fault at every register access of a program that opens, enables, samples, reads,
 * forks, executes, exits and closes; on a hybrid, and on units outside the cores, too.  Calls succeed or say EIO, reads
 * give 0 bytes or what was executed at most, and nothing is left: an event that is opened afterwards counts exactly,
 * all memory is given back, and no counter runs.
 *
 * With `machine=NAME fault=N width=N`: that one run.
 */
#include "tests/common/perf_sources.h"

#include <stdio.h>
#include <upmu/unit.h>

#include "models/sim/sim_uncore.h"
#include "tests/perf/perf_rings.h"

#define PERIOD 100u
#define TIMES (UPMU_PERF_READ_ENABLED | UPMU_PERF_READ_RUNNING)
#define UNITS 3u
#define CHA_EVENT 0x135u /* of the model's caching agents */
#define READ_EVENT 0x304u

static const struct machine {
    const char *name, *second, *units;
    unsigned least; /* accesses that the scenario has at least */
} machines[] = {
    {.name = "skl", .least = 80},  {.name = "nehalem", .least = 80},
    {.name = "zen4", .least = 80}, {.name = "adl_p", .second = "adl_e", .least = 60},
    {.name = "skx2", .units = "skx2", .least = 30},
};

static const struct machine *machine;
static struct {
    struct upmu_sim_uncore uncore;
    struct upmu_unit_list list;
    struct upmu_unit_info info[UPMU_SIM_UNITS];
    struct upmu_uncore_pmu pmu[UPMU_UNIT_TYPES];
    struct upmu_unit unit[UNITS];
    struct upmu_unit *units[UNITS];
    struct upmu_perf_cpu cpus[UPMU_SIM_CPUS];
} uncore;
static uint64_t executed;    /* by tasks 0 and 1 */
static uint64_t certain[UNITS + 1]; /* of units: what happened on each */
static uint32_t fault;       /* number of the access of the scenario; 0: none */
static unsigned refusals;    /* calls that said EIO, in all runs */

/* ---- The machine ---- */

static void open_units(void)
{
    static const char *const paths[UNITS] = {"package0/die0/imc0", "package1/die0/imc0", "package0/die0/cha0"};
    struct host *host = &perf_host.host;

    uncore.list = (struct upmu_unit_list){.unit = uncore.info,
                                          .unit_capacity = UPMU_SIM_UNITS,
                                          .pmu = uncore.pmu,
                                          .pmu_capacity = UPMU_UNIT_TYPES};
    for (unsigned i = 0; i < host->sim.cpus; i++) {
        upmu_sim_switch_cpu(&host->sim, i);
        assert_int_equal(upmu_units_find(&host->cpu[i], &uncore.list, UPMU_UNITS_EACH_CPU), UPMU_OK, i);
        uncore.cpus[i].cpu = &host->cpu[i];
    }
    for (unsigned i = 0; i < UNITS; i++) {
        uncore.units[i] = &uncore.unit[i];
        assert_int_equal(upmu_unit_open_text(&uncore.unit[i], &host->machine, paths[i]), UPMU_OK, i);
    }
    perf_host.perf.cpus = uncore.cpus;
    perf_host.perf.cpu_count = host->sim.cpus;
    perf_host.perf.units = uncore.units;
    perf_host.perf.unit_count = UNITS;
}

static void begin(void)
{
    struct host *host = &perf_host.host;

    memset(&perf_host, 0, sizeof perf_host);
    memset(&uncore, 0, sizeof uncore);
    memset(certain, 0, sizeof certain);
    executed = 0;
    if (machine->units) {
        upmu_sim_uncore_init(&uncore.uncore, &host->sim, upmu_sim_machine(machine->units));
        host->sim.test = host;
        host->sim.deliver = host_deliver;
        for (unsigned i = 0; i < host->sim.cpus; i++)
            upmu_sim_bind_cpu(&host->sim, i, &host->cpu[i]);
    } else {
        host_prepare(host, machine->name);
    }
    if (machine->second)
        upmu_sim_set_profile(&host->sim, 1, upmu_sim_profile(machine->second));
    host_machine(host);
    host_take_over(host, host->sim.cpus, false);
    perf_host_begin();
    if (machine->units)
        open_units();
    upmu_sim_switch_cpu(&host->sim, 0);
}

/* ---- Calls, each of which may meet the fault ---- */

static bool has_faulted(void)
{
    return perf_host.host.sim.faults != 0;
}

/* A call succeeds, or has met the fault and says EIO. */
static int64_t excused(int64_t result, const char *call)
{
    if (result < 0 && (result != -UPMU_PERF_EIO || !has_faulted()))
        fail_msg("%s, fault=%u: %s returns %d", machine->name, (unsigned)fault, call, (int)result);
    refusals += result < 0;
    return result;
}

static int open_event(struct upmu_perf_attr attr, int pid, int cpu, int group)
{
    attr.size = sizeof attr;
    attr.read_format |= TIMES;
    if (attr.sample_type & UPMU_PERF_SAMPLE_READ)
        attr.read_format = 0;
    return (int)excused(perf_open(&attr, pid, cpu, group, 0), "open");
}

static void command(int file, uint32_t number, uint64_t argument)
{
    if (file > 0)
        (void)excused(perf_ioctl(file, number, argument), "ioctl");
}

/* A count is what was executed (`certain`), or less where a fault was met: never more. */
static void expect(int file, uint64_t limit)
{
    uint64_t word[3] = {0};
    int64_t got;

    if (file < 0)
        return;
    got = excused(upmu_perf_read(perf_event(file), word, sizeof word), "read");
    if (got < 0)
        return;
    if (got == 0 ? !has_faulted() : word[0] > limit || (!has_faulted() && word[0] != limit) || word[2] > word[1])
        fail_msg("%s, fault=%u: event %d has %u of %u, enabled %u, running %u", machine->name, (unsigned)fault, file,
                 (unsigned)word[0], (unsigned)limit, (unsigned)word[1], (unsigned)word[2]);
}

static void work(unsigned cpu, uint64_t instructions)
{
    perf_work(cpu, true, instructions);
    executed += instructions;
}

/* The program reads its ring: whole records, and no more samples than periods that were executed. */
static void read_ring(unsigned ring)
{
    uint64_t samples = 0;

    while (take(ring)) {
        if (record.words < 1 || record.words > 64)
            fail_msg("%s, fault=%u: a record of %u words", machine->name, (unsigned)fault, record.words);
        samples += record.type == UPMU_PERF_RECORD_SAMPLE;
    }
    if (samples > executed / PERIOD || (!has_faulted() && samples != executed / PERIOD))
        fail_msg("%s, fault=%u: %u samples of %u instructions", machine->name, (unsigned)fault, (unsigned)samples,
                 (unsigned)executed);
}

/* ---- Scenarios ---- */

/* Events of task 0, of its child, and of both CPUs. */
static void play_cores(void)
{
    const uint64_t type = machine->second ? UINT64_C(9) << 32 : 0;
    int leader, member, sampled, other, of_cpu;
    uint64_t of_child, on_second = 0;

    leader = open_event(attr_of(INSTRUCTIONS, 0, 0, UPMU_PERF_INHERIT), 0, -1, -1);
    member = leader > 0 ? open_event(attr_of(CYCLES, 0, 0, UPMU_PERF_INHERIT), 0, -1, leader) : -1;
    sampled = open_event(attr_of(INSTRUCTIONS, PERIOD, UPMU_PERF_SAMPLE_IP, UPMU_PERF_TASK), 0, 0, -1);
    other = open_event(attr_of(INSTRUCTIONS | type, 0, 0, UPMU_PERF_DISABLED), 0, -1, -1);
    of_cpu = open_event(attr_of(CYCLES, 0, 0, USER_ONLY), -1, 0, -1);
    if (sampled > 0)
        map(sampled, 0);
    command(other, UPMU_PERF_IOC_ENABLE, 0);
    perf_switch(0, 0);
    work(0, 350);
    expect(leader, executed);
    if (sampled > 0)
        read_ring(0);
    assert_int_equal(upmu_perf_fork(&perf_host.task[0], &perf_host.task[1], false), 0);
    perf_switch(1, 1);
    of_child = 70;
    if (!machine->second) /* a core of another type does not count the family's events */
        work(1, of_child);
    else
        perf_work(1, true, of_child);
    expect(member, executed);
    command(leader, UPMU_PERF_IOC_DISABLE, UPMU_PERF_IOC_FLAG_GROUP);
    command(leader, UPMU_PERF_IOC_ENABLE, UPMU_PERF_IOC_FLAG_GROUP);
    perf_switch(1, 3);
    if (upmu_perf_exit(&perf_host.task[1]) != UPMU_OK)
        assert_int_equal(upmu_perf_exit(&perf_host.task[1]), UPMU_OK);
    expect(leader, executed);
    upmu_sim_switch_cpu(&perf_host.host.sim, 0);
    assert_int_equal(upmu_cpu_tick(&perf_host.host.cpu[0]), UPMU_OK);
    (void)excused(upmu_perf_exec(&perf_host.task[0], true), "exec");
    perf_switch(0, 2);
    expect(of_cpu, 350);
    if (machine->second) {
        perf_switch(1, 0);
        perf_work(1, true, 90);
        on_second = 90;
        perf_switch(1, 3);
    }
    expect(other, machine->second ? on_second : 350);
    command(member, UPMU_PERF_IOC_RESET, 0);
    expect(member, machine->second ? 0 : of_child); /* what children counted that ended stays */
    if (leader > 0)
        perf_close(leader);
    expect(member, machine->second ? 0 : of_child);
}

static void happen(unsigned unit, uint64_t count)
{
    static const struct {
        const char *type;
        unsigned die;
        struct upmu_sim_happening happening;
    } rows[UNITS] = {{"imc", 0, {.event = 4, .umask = 3}},
                     {"imc", 1, {.event = 4, .umask = 3}},
                     {"cha", 0, {.event = 0x35, .umask = 1}}};
    struct upmu_sim_happening happening = rows[unit].happening;

    happening.count = count;
    upmu_sim_happen(&uncore.uncore, upmu_sim_unit(&uncore.uncore, rows[unit].type, rows[unit].die, 0), &happening);
    certain[unit] += count;
}

static struct upmu_perf_attr unit_attr(unsigned unit)
{
    return (struct upmu_perf_attr){.type = UPMU_PERF_TYPE_UNIT + (unit == 2 ? 2u : 0u),
                                   .config = unit == 2 ? CHA_EVENT : READ_EVENT};
}

/* Events of memory controllers of both packages, and a group on a caching agent, whose registers are MSRs. */
static void play_units(void)
{
    int file[UNITS], member;

    for (unsigned i = 0; i < UNITS; i++)
        file[i] = open_event(unit_attr(i), -1, i == 1 ? 1 : 0, -1);
    member = file[2] > 0 ? open_event(unit_attr(2), -1, 0, file[2]) : -1;
    for (unsigned i = 0; i < UNITS; i++)
        happen(i, 100 + i);
    for (unsigned i = 0; i < UNITS; i++)
        expect(file[i], certain[i]);
    command(file[2], UPMU_PERF_IOC_DISABLE, UPMU_PERF_IOC_FLAG_GROUP);
    command(file[2], UPMU_PERF_IOC_ENABLE, UPMU_PERF_IOC_FLAG_GROUP);
    happen(2, 30);
    expect(member, certain[2]);
    command(file[2], UPMU_PERF_IOC_RESET, 0);
    happen(2, 5);
    expect(file[2], has_faulted() ? certain[2] : 5);
    if (file[2] > 0)
        perf_close(file[2]);
    happen(2, 7);
    expect(member, certain[2]);
}

/* With all registers well again: a new event has its counter, and counts exactly. */
static void expect_a_new_event_counts(void)
{
    uint64_t word[3];
    int file;

    for (int i = 0; i < PERF_FILES; i++)
        if (perf_host.open[i])
            perf_close(PERF_FIRST_FILE + i);
    perf_host.host.sim.fault_at = 0;
    file = machine->units ? open_event(unit_attr(2), -1, 0, -1)
                          : open_event(attr_of(INSTRUCTIONS, 0, 0, USER_ONLY), 0, -1, -1);
    assert_compare(file, >, 0, fault);
    if (machine->units)
        happen(2, 400);
    else
        run_task(400, 0);
    assert_int_equal(upmu_perf_read(perf_event(file), word, sizeof word), sizeof word, fault);
    if (word[0] != 400 || word[1] != word[2])
        fail_msg("%s, fault=%u: a new event has %u of 400, enabled %u, running %u", machine->name, (unsigned)fault,
                 (unsigned)word[0], (unsigned)word[1], (unsigned)word[2]);
    perf_close(file);
}

/* One run; returns the accesses of the scenario. */
static uint32_t play(uint32_t at, uint32_t width)
{
    struct upmu_sim *sim = &perf_host.host.sim;
    uint32_t before, accesses;

    fault = at;
    begin();
    before = sim->accesses;
    sim->expect_faults = true;
    sim->faults = 0;
    sim->fault_at = at ? before + at : 0;
    sim->fault_until = at ? before + at + width - 1u : 0;
    if (machine->units)
        play_units();
    else
        play_cores();
    accesses = sim->accesses - before;
    expect_a_new_event_counts();
    assert_int_equal(perf_host.perf.events, 0, at);
    assert_int_equal(perf_host.taken_bytes, 0, at);
    for (unsigned i = 0; machine->units && i < UNITS; i++)
        assert_int_equal(upmu_unit_close(&uncore.unit[i]), UPMU_OK, i, at);
    host_end_idle(&perf_host.host);
    return accesses;
}

static void a_fault_costs_counts_and_nothing_else(void **state)
{
    (void)state;
    for (machine = machines; machine < machines + sizeof machines / sizeof *machines; machine++) {
        uint32_t accesses = play(0, 0);

        refusals = 0;
        assert_compare(accesses, >=, machine->least);
        for (uint32_t at = 1; at <= accesses; at++)
            for (uint32_t width = 1; width <= 9; width += 4)
                (void)play(at, width);
        printf("%s: %u accesses, each with 3 faults; %u calls said EIO\n", machine->name, (unsigned)accesses, refusals);
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_costs_counts_and_nothing_else),
    };
    char name[32] = "";
    unsigned at = 0, width = 1;

    for (int i = 1; i < count; i++)
        if (sscanf(words[i], "machine=%31s", name) != 1 && sscanf(words[i], "fault=%u", &at) != 1 &&
            sscanf(words[i], "width=%u", &width) != 1)
            return 2;
    for (machine = machines; machine < machines + sizeof machines / sizeof *machines; machine++)
        if (!strcmp(machine->name, name)) {
            printf("%u accesses\n", (unsigned)play(at, width));
            return 0;
        }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
