/* SPDX-License-Identifier: MIT */
/*
 * The tools of PMCTools on simulated CPUs: pmcstat under its names, setevent, setpce, keepawake, counts at intervals.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/common/assertions.h"
#include "tests/common/garbage.h"
#include "tests/common/commands.h"

static char printed[1 << 16], errors[1 << 14], stored[1 << 16];
static size_t printed_bytes, error_bytes;
static struct cmd cmd;

static void take(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(printed_bytes + length, <, sizeof printed);
    memcpy(printed + printed_bytes, text, length);
    printed_bytes += length;
    printed[printed_bytes] = '\0';
}

static void take_error(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(error_bytes + length, <, sizeof errors);
    memcpy(errors + error_bytes, text, length);
    error_bytes += length;
    errors[error_bytes] = '\0';
}

static bool store(void *context, const char *name, const void *bytes, size_t length)
{
    (void)context;
    if (strcmp(name, "full/disk") == 0)
        return false;
    memcpy(stored, bytes, length);
    stored[length] = '\0';
    return true;
}

static const struct cmd_sink sink = {.write = take, .write_error = take_error, .write_file = store};

static int line(const char *text)
{
    memset(&cmd, 0, sizeof cmd);
    cmd.sink = &sink;
    cmd.program = "upmu";
    printed_bytes = error_bytes = 0;
    printed[0] = errors[0] = stored[0] = '\0';
    return cmd_run_line(&cmd, text);
}

static void has(const char *all, const char *text)
{
    if (!strstr(all, text))
        fail_msg("no '%s' in:\n%s%s", text, printed, errors);
}

static unsigned lines_with(const char *all, const char *text)
{
    unsigned count = 0;

    for (const char *at = all; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

/* ---- pmcstat ---- */

/* One program, one build; the class by the program's name, or by an option, or none. */
static void one_pmcstat_is_all_of_them_by_name_and_option(void **state)
{
    (void)state;
    assert_string_equal(cmd_pmc_class("pmcstat_p4"), "p4");
    assert_string_equal(cmd_pmc_class("/usr/bin/pmcstat_iaf"), "iaf");
    assert_string_equal(cmd_pmc_class("./pmcstat_k8"), "k8");
    assert_string_equal(cmd_pmc_class("build/pmcstat"), "");
    assert_null(cmd_pmc_class("pmcstat_vax"));
    assert_null(cmd_pmc_class("upmu"));
    assert_null(cmd_pmc_class("pmcstat_p4/upmu"));
    /* The PMU is chosen at run time: spin retires 2 instructions a round on each. */
    assert_int_equal(line("pmcstat --class p4 -n 1000 12 p4-instr-retired,mask=nbogusntag spin"), CMD_OK);
    has(printed, "northwood");
    has(printed, "\n2000 12 p4-instr-retired");
    assert_int_equal(line("pmcstat --class k8 -n 1000 3 k8-fr-retired-x86-instructions spin"), CMD_OK);
    has(printed, "\n2000 3 k8-fr-");
    assert_int_equal(line("pmcstat --class iaf -n 1000 0 PMC_EV_IAF_INSTR_RETIRED_ANY spin"), CMD_OK);
    has(printed, "\n2000 0 PMC_EV_IAF");
    assert_int_equal(line("pmcstat --class iap -n 1000 1 instructions spin"), CMD_OK);
    has(printed, "\n2000 1 instructions");
    assert_int_equal(line("pmcstat --class k7 -n 1000 instructions spin"), CMD_OK);
    has(printed, "\n2000 instructions");
    /* Without an index and a class. */
    assert_int_equal(line("pmcstat --sim skylake -n 1000 instructions spin"), CMD_OK);
    has(printed, "\n2000 instructions");
    /* A class is held to its CPUs, and to its counters. */
    assert_int_equal(line("pmcstat --class p4 --sim core2 instructions"), CMD_REFUSED);
    has(errors, "class p4 is a Pentium 4; this is Intel Core 2");
    assert_int_equal(line("pmcstat --class iap --sim k8_revf instructions"), CMD_REFUSED);
    has(errors, "class iap is Intel Core and later");
    assert_int_equal(line("pmcstat --class iaf 0 llc-misses"), CMD_REFUSED);
    has(errors, "'llc-misses' has no fixed counter");
    assert_int_equal(line("pmcstat --class vax instructions"), CMD_USAGE);
    assert_int_equal(line("pmcstat --sim core2 instructions nowork"), CMD_USAGE);
    assert_int_equal(line("pmcstat --sim core2 nosuchevent"), CMD_REFUSED);
    assert_int_equal(line("pmcstat instructions"), CMD_REFUSED);
}

/* 18 counters have the rows 0 to 17, whatever the text of old says. */
static void row_18_is_refused_with_a_message(void **state)
{
    (void)state;
    assert_int_equal(line("pmcstat --class p4 18 p4-branch-retired,mask=mmtm+mmnm"), CMD_REFUSED);
    has(errors, "row 18: Intel Pentium 4 (Northwood) has 0 to 17");
    assert_int_equal(line("pmcstat --class p4 17 p4-branch-retired,mask=mmtm+mmnm spin"), CMD_OK);
    assert_int_equal(line("pmcstat --class k8 4 instructions"), CMD_REFUSED);
    has(errors, "has 0 to 3");
    assert_int_equal(line("pmcstat --class iap 2 llc-misses"), CMD_REFUSED);
    has(errors, "row 2: Intel Core 2 has 0 to 1");
    assert_int_equal(line("pmcstat --class iaf 3 PMC_EV_IAF_INSTR_RETIRED_ANY"), CMD_REFUSED);
    has(errors, "row 3: Intel Core 2 has 0 to 2");
    /* A row that exists and cannot count the event. */
    assert_int_equal(line("pmcstat --class iaf 1 PMC_EV_IAF_INSTR_RETIRED_ANY"), CMD_REFUSED);
    has(errors, "row 1 cannot count 'PMC_EV_IAF_INSTR_RETIRED_ANY'");
    assert_int_equal(line("pmcstat --class p4 0 p4-branch-retired,mask=mmtm+mmnm"), CMD_REFUSED);
    has(errors, "row 0 cannot count");
    /* Fixed counters 0 to 2 and 4 to 6: the number is the hardware's. */
    assert_int_equal(line("pmcstat --sim lnl_e --class iaf 6 TOPDOWN_RETIRING.ALL spin"), CMD_OK);
    assert_int_equal(line("pmcstat --sim lnl_e --class iaf 3 TOPDOWN_RETIRING.ALL spin"), CMD_REFUSED);
    has(errors, "row 3 cannot count");
    assert_int_equal(line("pmcstat --sim lnl_e --class iaf 7 TOPDOWN_RETIRING.ALL spin"), CMD_REFUSED);
    has(errors, "has 0 to 6");
}

static void lines_come_at_intervals_and_add_up(void **state)
{
    uint64_t microseconds, events, all, sum = 0, before = 0;
    unsigned lines = 0;

    (void)state;
    assert_int_equal(line("pmcstat --sim core2 -w 1 -n 10000000 -o file instructions spin"), CMD_OK);
    for (const char *at = strchr(stored, '\n'); at && at[1]; at = strchr(at + 1, '\n'), lines++) {
        assert_int_equal(sscanf(at, "%" SCNu64 " %" SCNu64 " %" SCNu64, &microseconds, &events, &all), 3);
        sum += events;
        assert_int_equal(all, sum);
        assert_true(at[1] && (!strchr(at + 1, '\n')[1] || microseconds - before >= 1000));
        before = microseconds;
    }
    assert_compare(lines, >=, 5);
    assert_int_equal(sum, 20000000);
    has(printed, "\n20000000 instructions");
    assert_int_equal(line("pmcstat --sim core2 -o full/disk instructions spin"), CMD_REFUSED);
    has(errors, "cannot write full/disk");
    assert_int_equal(line("pmcstat --sim core2 -w 0 instructions spin"), CMD_USAGE);
    /* Longer than the work: one line. */
    assert_int_equal(line("pmcstat --sim core2 -n 1000 instructions spin"), CMD_OK);
    assert_int_equal(lines_with(printed, " us "), 1);
}

/* What runs while the workload's thread is preempted is in the CPU's count, and not in the thread's. */
static void a_process_is_counted_while_it_runs(void **state)
{
    (void)state;
    assert_int_equal(line("pmcstat --sim core2 -p -n 1000000 instructions spin"), CMD_OK);
    has(printed, "\n2000000 instructions");
    assert_compare(cmd.own_cpu.meter.bank.accesses.writes, >, 100);
}

static void stat_prints_counts_at_intervals(void **state)
{
    (void)state;
    assert_int_equal(line("stat --sim skylake -I 1 -n 5000000 -e instructions,cycles spin"), CMD_OK);
    assert_compare(lines_with(printed, " us "), >=, 6);
    assert_int_equal(lines_with(printed, " us ") % 2, 0);
    has(printed, "        10,000,000  instructions");
    assert_int_equal(line("stat --sim skylake -n 1000 -e instructions spin"), CMD_OK);
    assert_int_equal(lines_with(printed, " us "), 0);
}

/* A line reads counters and writes nothing. */
static struct upmu_accesses at_line[64];
static unsigned lines_seen;

static void note_line(struct cmd *seen, struct cmd_watch *watch, uint64_t microseconds)
{
    (void)watch, (void)microseconds;
    if (lines_seen < 64)
        at_line[lines_seen++] = seen->cpu->meter.bank.accesses;
}

static void an_interval_costs_one_rdpmc_for_each_event(void **state)
{
    struct cmd_args args = {.name = "stat", .sim = "core2"};
    struct cmd_watch watch = {.ms = 1, .line = note_line};

    (void)state;
    (void)line("");
    cmd.args = &args;
    lines_seen = 0;
    assert_int_equal(cmd_target_open(&cmd, &args), CMD_OK);
    assert_int_equal(upmu_session_init(&cmd.session, cmd.machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&cmd.session.set, "instructions,cycles,llc-misses", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&cmd.session, cmd.cpu), UPMU_OK);
    assert_int_equal(upmu_session_start(&cmd.session), UPMU_OK);
    assert_int_equal(cmd_watch_run(&cmd, &watch, cmd_workload_find("spin"), 10000000), UPMU_OK);
    assert_compare(lines_seen, >=, 5);
    for (unsigned i = 1; i < lines_seen; i++) {
        assert_int_equal(at_line[i].writes, at_line[0].writes, i);
        assert_int_equal(at_line[i].reads, at_line[0].reads, i);
        assert_int_equal(at_line[i].rdpmcs - at_line[i - 1].rdpmcs, 3, i);
    }
    assert_int_equal(upmu_session_stop(&cmd.session), UPMU_OK);
    assert_int_equal(upmu_session_detach(&cmd.session), UPMU_OK);
    cmd_target_close(&cmd);
}

/* ---- setevent, permits, setpce, keepawake ---- */

static void setevent_writes_the_counter_the_event_and_the_gate(void **state)
{
    (void)state;
    assert_int_equal(line("setevent --sim core2 0 instructions"), CMD_OK);
    has(printed, "wrmsr 0xc1 0x0\nwrmsr 0x186 0x4300c0\nwrmsr 0x38f 0x1\nrdpmc 0x0\n");
    assert_int_equal(upmu_sim_peek(&cmd.sim, 0, 0x186), 0x4300c0);
    assert_int_equal(upmu_sim_peek(&cmd.sim, 0, 0x38f) & 1, 1);
    assert_int_equal(line("setevent --sim core2 1 PMC_EV_IAF_CPU_CLK_UNHALTED_CORE"), CMD_OK);
    has(printed, "wrmsr 0x30a 0x0\nwrmsr 0x38d 0x30\nwrmsr 0x38f 0x200000000\nrdpmc 0x40000001\n");
    /* IQ_COUNTER0 with CRU_ESCR2: the counter, the ESCR, the CCCR. */
    assert_int_equal(line("setevent --sim northwood 12 p4-branch-retired,mask=mmtm+mmnm"), CMD_OK);
    has(printed, "wrmsr 0x30c 0x0\nwrmsr 0x3cc 0xc00140c\n");
    has(printed, "wrmsr 0x36c 0x3b000\nrdpmc 0xc\n");
    assert_int_equal(line("setevent --dry-run --pmu amd64_k8_revg 3 instructions"), CMD_OK);
    has(printed, "wrmsr 0xc0010007 0x0\n");
    has(printed, "wrmsr 0xc0010003 0x4300c0\nrdpmc 0x3\n");
    assert_int_equal(line("setevent --sim k8_revf 4 instructions"), CMD_REFUSED);
    assert_int_equal(line("setevent --sim core2 instructions cycles"), CMD_USAGE);
}

/* The table of a small server, as C. */
static void permits_are_printed_as_a_table(void **state)
{
    (void)state;
    assert_int_equal(line("permits --pmu core"), CMD_OK);
    has(printed, "#include <upmu/permit.h>");
    has(printed, "{0x186, 0x1, 1, 0x80a08020, 0xffc7ffff, 0xffd7ffff},");
    has(printed, "{0x38f, 0x20000, 7, 0x0, 0x200000000, 0x200000000},");
    assert_int_equal(lines_with(printed, "\n    {0x"), 22);
}

static bool reads_as_user(void *program, uint32_t index, uint64_t *out_value)
{
    (void)index;
    return garbage_unless(*(bool *)program, out_value);
}

static bool allowed;

static void allow(void *context, bool on)
{
    (void)context;
    allowed = on;
}

static void setpce_switches_rdpmc_of_programs_and_tries_it(void **state)
{
    struct upmu_port port;
    struct cmd_live live = {.rdpmc_of_user = reads_as_user, .program = &allowed};
    bool stuck = true;

    (void)state;
    assert_int_equal(line("setpce --sim core2 on"), CMD_OK);
    has(printed, "RDPMC in user mode reads counters");
    assert_true(cmd.sim.cpu[0].cr4_pce);
    assert_int_equal(line("setpce --sim k8_revf off"), CMD_OK);
    has(printed, "RDPMC in user mode faults");
    assert_int_equal(line("setpce --sim core2 maybe"), CMD_USAGE);
    /* Live: by the hook. */
    assert_int_equal(line("info --sim core2"), CMD_OK);
    port = *upmu_sim_port(&cmd.sim);
    assert_int_equal(upmu_machine_init(&cmd.own_machine, &port), UPMU_OK);
    assert_int_equal(upmu_cpu_init(&cmd.own_cpu, &cmd.own_machine, NULL), UPMU_OK);
    live.port = &port;
    live.machine = &cmd.own_machine;
    live.cpu = &cmd.own_cpu;
    cmd.live = &live;
    assert_int_equal(cmd_run_line(&cmd, "setpce on"), CMD_REFUSED);
    has(errors, "this port cannot write CR4");
    port.allow_rdpmc = allow;
    assert_int_equal(cmd_run_line(&cmd, "setpce on"), CMD_OK);
    assert_true(allowed);
    assert_int_equal(cmd_run_line(&cmd, "setpce off"), CMD_OK);
    assert_false(allowed);
    live.program = &stuck;
    assert_int_equal(cmd_run_line(&cmd, "setpce off"), CMD_REFUSED);
    has(errors, "CR4.PCE does not do what was asked");
    live.rdpmc_of_user = NULL;
    assert_int_equal(cmd_run_line(&cmd, "setpce on"), CMD_OK);
    has(printed, "nothing here runs in user mode");
    assert_int_equal(cmd_run_line(&cmd, "keepawake instructions"), CMD_REFUSED);
    has(errors, "never halts the CPU");
}

/* AMD BKDG (26094) 12.2: northbridge events are counted by a core's counters, which stand still while it halts. */
static void northbridge_events_of_a_sleeping_core_need_company(void **state)
{
    (void)state;
    assert_int_equal(line("keepawake --sim k8_revf k8-nb-memory-controller-page-access-event"), CMD_OK);
    has(printed, "                 0  while the core halts\n           100,000  while it is kept awake\n");
    assert_int_equal(line("keepawake --sim k8_revf nothing"), CMD_REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pmcstat_is_all_of_them_by_name_and_option),
        cmocka_unit_test(row_18_is_refused_with_a_message),
        cmocka_unit_test(lines_come_at_intervals_and_add_up),
        cmocka_unit_test(a_process_is_counted_while_it_runs),
        cmocka_unit_test(stat_prints_counts_at_intervals),
        cmocka_unit_test(an_interval_costs_one_rdpmc_for_each_event),
        cmocka_unit_test(setevent_writes_the_counter_the_event_and_the_gate),
        cmocka_unit_test(permits_are_printed_as_a_table),
        cmocka_unit_test(setpce_switches_rdpmc_of_programs_and_tries_it),
        cmocka_unit_test(northbridge_events_of_a_sleeping_core_need_company),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
