/* SPDX-License-Identifier: MIT */
/*
 * libpmc: programs that know pmc.h alone, on Pentium 4, Athlon 64 and Core 2; owners, ids, the log.
 */
#include "abi/pmc/pmc_calls.c"
#include "abi/pmc/pmc_client.c"
#include "abi/pmc/pmc_find.c"
#include "abi/pmc/pmc_info.c"
#include "abi/pmc/pmc_log.c"

#include <stdio.h>

#include "tests/common/host.h"

#define PMCS 8
#define PROCESS 1  /* may all */
#define STRANGER 7 /* may count its own thread */
#define ANOTHER 8  /* as STRANGER, the same thread */

static struct host host;
static struct upmu_pmc memory[PMCS];
static struct upmu_pmcs pmcs;
static struct upmu_thread thread, idle;
static uint8_t log_memory[2][512], file[8192];
static struct upmu_pmc_log logs[2];
static size_t file_bytes;
static uint32_t file_owner; /* of the last records */
static uint32_t caller;
static bool unmapped, full;

static struct upmu_cpu *find_cpu(void *context, unsigned cpu)
{
    (void)context;
    return cpu == 0 ? &host.cpu[0] : NULL;
}

/* The one thread belongs to STRANGER; process 1 may count it, too. */
static struct upmu_thread *find_thread(void *context, uint32_t owner, int32_t pid, struct upmu_cpu **out_cpu)
{
    (void)context;
    *out_cpu = host.running[0] == 1 ? &host.cpu[0] : NULL;
    return (pid == 0 && owner >= STRANGER) || (pid == STRANGER && (owner == STRANGER || owner == PROCESS)) ? &thread
                                                                                                           : NULL;
}

static bool copy_in(void *context, void *to, const void *argument, size_t bytes)
{
    (void)context;
    memcpy(to, argument, bytes);
    return true;
}

static bool copy_out(void *context, void *argument, const void *from, size_t bytes)
{
    (void)context;
    if (!unmapped)
        memcpy(argument, from, bytes);
    return !unmapped;
}

static bool log_write(void *context, uint32_t owner, int32_t number, const void *bytes, size_t length)
{
    (void)context;
    file_owner = owner;
    assert_int_equal(number, 3);
    if (full)
        return false;
    assert_compare(file_bytes + length, <=, sizeof file);
    memcpy(file + file_bytes, bytes, length);
    file_bytes += length;
    return true;
}

int pmc_syscall(unsigned operation, void *argument, uint32_t bytes)
{
    return upmu_pmc_syscall(&pmcs, caller, operation, argument, bytes);
}

static void set_up(const char *profile)
{
    host_set_up(&host, profile);
    memset(memory, 0, sizeof memory);
    memset(&pmcs, 0, sizeof pmcs);
    pmcs.machine = &host.machine;
    pmcs.pmcs = memory;
    pmcs.capacity = PMCS;
    memset(logs, 0, sizeof logs);
    for (unsigned i = 0; i < 2; i++) {
        logs[i].bytes = log_memory[i];
        logs[i].size = sizeof log_memory[i];
    }
    pmcs.logs = logs;
    pmcs.log_count = 1;
    pmcs.find_cpu = find_cpu;
    pmcs.find_thread = find_thread;
    pmcs.copy_in = copy_in;
    pmcs.copy_out = copy_out;
    pmcs.log_write = log_write;
    upmu_thread_init(&thread, STRANGER, STRANGER, NULL);
    upmu_thread_init(&idle, 0, 0, NULL);
    host.running[0] = 0;
    caller = PROCESS;
    unmapped = full = false;
    file_bytes = 0;
    pmc_errno = 0;
    assert_int_equal(pmc_init(), 0);
}

static void tear_down(void)
{
    assert_int_equal(upmu_pmc_exit(&pmcs, PROCESS), UPMU_OK);
    assert_int_equal(upmu_pmc_exit(&pmcs, STRANGER), UPMU_OK);
    assert_int_equal(upmu_pmc_exit(&pmcs, ANOTHER), UPMU_OK);
    for (unsigned i = 0; i < PMCS; i++)
        assert_int_equal(memory[i].owner, 0, i);
    host_end_idle(&host);
}

static void run_thread(bool on)
{
    assert_int_equal(on ? upmu_thread_switch(&host.cpu[0], &idle, &thread)
                        : upmu_thread_switch(&host.cpu[0], &thread, &idle),
                     UPMU_OK);
    host.running[0] = on;
}

static void run_user(uint64_t instructions)
{
    const struct upmu_sim_burst burst = {
        .instructions = instructions, .cycles = instructions, .user = true, .ip = 0x7000, .ip_step = 1};

    upmu_sim_events(&host.sim, &burst);
}

/* ---- Programs, which know libpmc alone ---- */

/* Count, as the example of pmc(3) does. */
static uint64_t program_counts(const char *spec, uint64_t work)
{
    pmc_value_t value = 0;
    pmc_id_t id;

    if (pmc_init() < 0 || pmc_allocate(spec, PMC_MODE_SC, 0, 0, &id, 0) < 0 || pmc_start(id) < 0)
        return 0;
    host_run(&host, work);
    if (pmc_stop(id) < 0 || pmc_read(id, &value) < 0 || pmc_release(id) < 0)
        return 0;
    return value;
}

/* pmcstat's loop: differences of reads while it runs add up. */
static uint64_t program_polls(const char *spec, unsigned rounds)
{
    pmc_value_t before = 0, now, sum = 0;
    pmc_id_t id;

    if (pmc_allocate(spec, PMC_MODE_SC, 0, 0, &id, 0) < 0 || pmc_start(id) < 0)
        return 0;
    while (rounds-- > 0) {
        host_run(&host, 1000);
        if (pmc_read(id, &now) < 0)
            return 0;
        sum += now - before;
        before = now;
    }
    return pmc_stop(id) < 0 || pmc_release(id) < 0 ? 0 : sum;
}

/* Sample into a log, and count its records. */
static unsigned program_samples(const char *spec, uint64_t period, uint64_t work)
{
    pmc_id_t id;

    if (pmc_configure_logfile(3) < 0 || pmc_allocate(spec, PMC_MODE_SS, 0, 0, &id, period) < 0 || pmc_start(id) < 0)
        return 0;
    for (uint64_t done = 0; done < work; done += period) {
        host_run(&host, period);
        if (pmc_flush_logfile() < 0)
            return 0;
    }
    if (pmc_stop(id) < 0 || pmc_release(id) < 0 || pmc_close_logfile() < 0)
        return 0;
    return 1;
}

/* The next record of a type behind `*at`. */
static const void *record(unsigned type, size_t *at)
{
    while (*at < file_bytes) {
        const struct pmclog_header *header = (const void *)(file + *at);

        assert_true(header->pl_length >= 16 && header->pl_length % 8 == 0 && *at + header->pl_length <= file_bytes);
        *at += header->pl_length;
        if (header->pl_type == type)
            return header;
    }
    return NULL;
}

static unsigned records(unsigned type)
{
    unsigned count = 0;

    for (size_t at = 0; record(type, &at);)
        count++;
    return count;
}

static void the_usual_programs_run_on_four_classes(void **state)
{
    static const struct {
        const char *profile, *spec;
        unsigned class_of;
    } cases[] = {{"northwood", "12 p4-instr-retired,mask=nbogusntag", PMC_CLASS_P4},
                 {"k8_revf", "3 k8-fr-retired-x86-instructions", PMC_CLASS_K8},
                 {"core2", "PMC_EV_IAF_INSTR_RETIRED_ANY,counter=16", PMC_CLASS_IAF},
                 {"core2", "1 instructions", PMC_CLASS_IAP}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set_up(cases[i].profile);
        assert_int_equal(program_counts(cases[i].spec, 12345), 12345, i);
        assert_int_equal(program_polls(cases[i].spec, 50), 50000, i);
        assert_int_equal(program_samples(cases[i].spec, 1000, 10000), 1, i);
        assert_in_range(records(PMCLOG_TYPE_PCSAMPLE), 9, 10);
        assert_int_equal(records(PMCLOG_TYPE_INITIALIZE) + records(PMCLOG_TYPE_CLOSELOG), 2);
        {
            pmc_id_t id;

            assert_int_equal(pmc_allocate(cases[i].spec, PMC_MODE_SC, 0, 0, &id, 0), 0, i);
            assert_int_equal(id >> 26, cases[i].class_of, i);
            assert_int_equal(id >> 22 & 15u, PMC_MODE_SC);
        }
        tear_down();
    }
}

/* ---- Allocation ---- */

static void allocate_parses_places_and_programs_whatever_memory_held(void **state)
{
    struct pmc_op_pmcallocate request;
    pmc_id_t first, second;
    pmc_value_t value;
    uint32_t caps;

    (void)state;
    set_up("northwood");
    /* The founding form: 4 parameters, an enumerator's name; capabilities are an answer. */
    memset(&request, 0xa5, sizeof request);
    request.pm_mode = PMC_MODE_SC;
    request.pm_cpu = 0;
    request.pm_flags = 0;
    request.pm_count = 0;
    assert_int_equal(upmu_pmc_allocate_row(&pmcs, PROCESS, 12, "PMC_EV_P4_BRANCH_RETIRED", "mask=mmtm+mmnm", &request),
                     UPMU_OK);
    assert_int_equal(request.pm_caps, PMC_CAP_INTERRUPT | PMC_CAP_USER | PMC_CAP_SYSTEM | PMC_CAP_EDGE |
                                          PMC_CAP_THRESHOLD | PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_INVERT |
                                          PMC_CAP_QUALIFIER | PMC_CAP_TAGGING | PMC_CAP_CASCADE);
    assert_int_equal(request.pm_flags, PMC_F_EV_PMU);
    assert_int_equal(upmu_pmc_start(&pmcs, PROCESS, request.pm_pmcid), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x3cc), 0x0c00140c);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x36c) & 0x3f000, 0x3b000);
    /* A row that is no counter's, or not the event's; the text of a row is the same. */
    assert_int_equal(upmu_pmc_allocate_row(&pmcs, PROCESS, 18, "PMC_EV_P4_BRANCH_RETIRED", "mask=mmtm+mmnm", &request),
                     UPMU_ERR_BAD_VALUE);
    assert_int_equal(request.pm_pmcid, PMC_ID_INVALID);
    assert_int_equal(upmu_pmc_allocate_row(&pmcs, PROCESS, 0, "PMC_EV_P4_BRANCH_RETIRED", "mask=mmtm+mmnm", &request),
                     UPMU_ERR_DOES_NOT_FIT);
    assert_int_equal(pmc_allocate("18 p4-branch-retired,mask=mmtm+mmnm", PMC_MODE_SC, 0, 0, &first, 0), -1);
    assert_int_equal(first, PMC_ID_INVALID);
    tear_down();

    set_up("core2");
    memset(&request, 0xff, sizeof request);
    request.pm_mode = PMC_MODE_SC;
    request.pm_cpu = 0;
    request.pm_flags = 0;
    request.pm_count = 41;
    assert_int_equal(upmu_pmc_allocate_row(&pmcs, PROCESS, 1, "instructions", "usr,os", &request), UPMU_OK);
    assert_int_equal(upmu_pmc_start(&pmcs, PROCESS, request.pm_pmcid), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&host.sim, 0, 0x187) & ~UINT64_C(0x100000), 0x4300c0);
    host_run(&host, 1000);
    assert_int_equal(pmc_read(request.pm_pmcid, &value), 0);
    assert_int_equal(value, 41 + 1000);
    assert_int_equal(memory[0].session.set.event[0].pin, 1);
    /* Peers place first fit: an event that any counter takes blocks one that only the first can count. */
    assert_int_equal(pmc_release(request.pm_pmcid), 0);
    assert_int_equal(pmc_allocate("llc-misses", PMC_MODE_SC, 0, 0, &first, 0), 0);
    assert_int_equal(pmc_start(first), 0);
    assert_int_equal(pmc_allocate("FP_COMP_OPS_EXE", PMC_MODE_SC, 0, 0, &second, 0), 0);
    assert_int_equal(pmc_start(second), 0);
    assert_int_equal(pmc_capabilities(second, &caps), 0);
    assert_int_equal(caps & (PMC_CAP_INTERRUPT | PMC_CAP_TAGGING), PMC_CAP_INTERRUPT);
    tear_down();
}

static void what_libpmc_asks_is_answered(void **state)
{
    const struct pmc_cpuinfo *info;
    struct pmc_driverstats stats;
    struct pmc_pmcinfo row;
    uint32_t word;
    char name[64];
    pmc_id_t id;

    (void)state;
    set_up("core2");
    assert_int_equal(pmc_ncpu(), 1);
    assert_int_equal(pmc_npmc(0), 5);
    assert_int_equal(pmc_npmc(1), -1);
    assert_int_equal(pmc_cpuinfo(&info), 0);
    assert_string_equal(info->pm_cputype, "core");
    assert_int_equal(info->pm_nclass, 2);
    assert_true(info->pm_class[0] == PMC_CLASS_IAP && info->pm_class[1] == PMC_CLASS_IAF);
    assert_int_equal(pmc_allocate("1 instructions", PMC_MODE_SC, 0, 0, &id, 0), 0);
    assert_int_equal(pmc_start(id), 0);
    assert_int_equal(pmc_width(id, &word), 0);
    assert_int_equal(word, 40);
    assert_int_equal(pmc_get_msr(id, &word), 0);
    assert_int_equal(word, 1);
    assert_int_equal(pmc_pmcinfo(0, 1, &row), 0);
    assert_true(row.pm_owner == PROCESS && row.pm_mode == PMC_MODE_SC && row.pm_class == PMC_CLASS_IAP);
    assert_int_equal(row.pm_disp, PMC_DISP_STANDALONE);
    assert_string_equal(row.pm_name, "PMC1");
    assert_int_equal(pmc_pmcinfo(0, 4, &row), 0);
    assert_true(row.pm_class == PMC_CLASS_IAF && row.pm_owner == 0 && row.pm_enabled);
    assert_int_equal(pmc_pmcinfo(0, 5, &row), -1);
    /* A row that is taken out of use. */
    assert_int_equal(pmc_disable(0, 1), -1);
    assert_int_equal(pmc_errno, 16);
    assert_int_equal(pmc_disable(0, 0), 0);
    assert_int_equal(pmc_pmcinfo(0, 0, &row), 0);
    assert_false(row.pm_enabled);
    assert_int_equal(pmc_allocate("0 instructions", PMC_MODE_SC, 0, 0, &id, 0), -1);
    assert_int_equal(pmc_enable(0, 0), 0);
    assert_int_equal(pmc_allocate("0 instructions", PMC_MODE_SC, 0, 0, &id, 0), 0);
    assert_int_equal(pmc_enable(0, 9), -1);
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_IAP, 0, name, sizeof name), 0);
    assert_int_not_equal(name[0], 0);
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_IAP, 60000, name, sizeof name), -1);
    assert_int_equal(pmc_event_name_of_class(PMC_CLASS_P4, 0, name, sizeof name), -1);
    assert_int_equal(pmc_get_driver_stats(&stats), 0);
    assert_true(stats.pm_allocated == 2 && stats.pm_refused == 1);
    assert_string_equal(pmc_name_of_class(PMC_CLASS_IAF), "IAF");
    assert_string_equal(pmc_name_of_mode(PMC_MODE_TS), "TS");
    assert_string_equal(pmc_name_of_state(PMC_STATE_STOPPED), "STOPPED");
    assert_string_equal(pmc_name_of_disposition(PMC_DISP_FREE), "FREE");
    assert_string_equal(pmc_name_of_capability(PMC_CAP_EDGE), "EDGE");
    assert_null(pmc_name_of_capability(0));
    tear_down();
}

/* ---- Values, threads ---- */

static void values_are_read_written_and_exchanged(void **state)
{
    pmc_value_t value;
    pmc_id_t id, sampling;

    (void)state;
    set_up("core2");
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &id, 500), 0);
    assert_int_equal(pmc_start(id), 0);
    host_run(&host, 1000);
    assert_int_equal(pmc_read(id, &value), 0);
    assert_int_equal(value, 1500);
    assert_int_equal(pmc_rw(id, 7, &value), 0);
    assert_int_equal(value, 1500);
    host_run(&host, 10);
    assert_int_equal(pmc_write(id, 0), 0);
    host_run(&host, 10);
    assert_int_equal(pmc_read(id, &value), 0);
    assert_int_equal(value, 10);
    assert_int_equal(pmc_set(id, 5), -1);
    /* A sampling mode's value is what is left of the period. */
    assert_int_equal(pmc_allocate("branches", PMC_MODE_SS, 0, 0, &sampling, 1000), 0);
    assert_int_equal(pmc_set(sampling, 2000), 0);
    assert_int_equal(pmc_start(sampling), 0);
    assert_int_equal(pmc_set(sampling, 3000), -1);
    host_run(&host, 1000); /* half of them branches */
    assert_int_equal(pmc_read(sampling, &value), 0);
    assert_int_equal(value, 1500);
    assert_int_equal(pmc_write(sampling, 100), 0);
    assert_int_equal(pmc_read(sampling, &value), 0);
    assert_int_equal(value, 100);
    tear_down();
}

/* A register that faults at a detach: the PMC has no thread any more, and is used as any other one. */
static void a_detach_whose_register_faults_has_detached(void **state)
{
    pmc_id_t id;

    (void)state;
    set_up("core2");
    caller = STRANGER;
    assert_int_equal(pmc_allocate("branches,usr", PMC_MODE_TS, 0, PMC_CPU_ANY, &id, 1000), 0);
    assert_int_equal(pmc_start(id), 0);
    run_thread(true);
    run_user(10);
    host.sim.expect_faults = true;
    host.sim.fault_at = host.sim.accesses + 1;
    host.sim.fault_until = host.sim.accesses + 50;
    assert_int_equal(upmu_pmc_detach(&pmcs, caller, id), UPMU_ERR_PORT);
    host.sim.fault_at = host.sim.fault_until = 0;
    assert_int_equal(upmu_pmc_find(&pmcs, caller, id)->pid, 0);
    assert_int_equal(upmu_pmc_find(&pmcs, caller, id)->state, PMC_STATE_ALLOCATED);
    assert_int_equal(pmc_set(id, 2000), 0);
    run_thread(false);
    tear_down();
}

static void a_program_counts_its_own_thread_and_logs_its_switches(void **state)
{
    const struct pmclog_value *switched;
    pmc_value_t value;
    size_t at = 0;
    pmc_id_t id;

    (void)state;
    set_up("core2");
    caller = STRANGER;
    assert_int_equal(pmc_configure_logfile(3), 0);
    assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, PMC_F_LOG_PROCCSW, PMC_CPU_ANY, &id, 0), 0);
    assert_int_equal(pmc_attach(id, 99), -1);
    assert_int_equal(pmc_errno, 1);
    assert_int_equal(pmc_start(id), 0); /* attaches it to the program */
    assert_int_equal(pmc_attach(id, 0), -1);
    host_run(&host, 500);
    run_thread(true);
    run_user(1000);
    run_thread(false);
    upmu_pmc_log_switch(&pmcs, STRANGER);
    host_run(&host, 500);
    assert_int_equal(pmc_read(id, &value), 0);
    assert_int_equal(value, 1000);
    assert_int_equal(pmc_writelog(1234), 0);
    assert_int_equal(pmc_detach(id, 0), 0);
    assert_int_equal(pmc_detach(id, 0), -1);
    assert_int_equal(pmc_close_logfile(), 0);
    switched = record(PMCLOG_TYPE_PROCCSW, &at);
    assert_non_null(switched);
    assert_true(switched->pl_value == 1000 && switched->pl_word == STRANGER && switched->pl_pmcid == id);
    assert_int_equal(records(PMCLOG_TYPE_PMCATTACH), 1);
    at = 0;
    assert_int_equal(((const struct pmclog_words *)record(PMCLOG_TYPE_USERDATA, &at))->pl_word[0], 1234);
    tear_down();
}

/* ---- The log ---- */

/* A reader needs no table of the kernel's: the record says the catalogue, the row and the masks. */
static void the_log_says_which_table_an_event_is_of(void **state)
{
    const struct pmclog_allocate *allocated;
    struct upmu_event_id event;
    char name[80];
    size_t at = 0;
    pmc_id_t id, raw;

    (void)state;
    set_up("northwood");
    assert_int_equal(pmc_configure_logfile(3), 0);
    assert_int_equal(pmc_allocate("p4-branch-retired,mask=mmtm+mmnm", PMC_MODE_SC, 0, 0, &id, 0), 0);
    assert_int_equal(pmc_allocate("raw:escr=0x0c001400:cccr=0x0000a000", PMC_MODE_SC, 0, 0, &raw, 0), 0);
    assert_int_equal(pmc_close_logfile(), 0);
    allocated = record(PMCLOG_TYPE_PMCALLOCATE, &at);
    assert_non_null(allocated);
    assert_true(allocated->pl_pmcid == id && allocated->pl_flags & PMC_F_EV_PMU);
    event = (struct upmu_event_id){allocated->pl_catalogue, allocated->pl_row, allocated->pl_masks};
    assert_compare(upmu_event_name(&host.machine.pmu[0], event, name, sizeof name), >, 0);
    assert_non_null(strstr(name, "branch_retired:"));
    assert_non_null(strstr(name, "MMTM"));
    allocated = record(PMCLOG_TYPE_PMCALLOCATE, &at);
    assert_non_null(allocated);
    assert_true(allocated->pl_pmcid == raw && !(allocated->pl_flags & PMC_F_EV_PMU) && !allocated->pl_catalogue);
    tear_down();
}

static void records_without_room_are_counted_and_told(void **state)
{
    const struct pmclog_words *told;
    struct pmc_driverstats stats;
    size_t at = 0;

    (void)state;
    set_up("core2");
    assert_int_equal(pmc_writelog(1), -1);
    assert_int_equal(pmc_flush_logfile(), -1);
    assert_int_equal(pmc_close_logfile(), -1);
    assert_int_equal(pmc_configure_logfile(3), 0);
    assert_int_equal(pmc_configure_logfile(3), -1);
    caller = STRANGER;
    assert_int_equal(pmc_configure_logfile(3), -1);
    assert_int_equal(pmc_writelog(2), -1);
    assert_int_equal(pmc_flush_logfile(), -1);
    caller = PROCESS;
    for (uint32_t i = 0; i < 40; i++) /* 31 find room behind the first record */
        assert_int_equal(pmc_writelog(i), 0, i);
    assert_int_equal(pmc_flush_logfile(), 0);
    assert_int_equal(pmc_writelog(100), 0);
    assert_int_equal(pmc_close_logfile(), 0);
    assert_int_equal(records(PMCLOG_TYPE_USERDATA), 32);
    told = record(PMCLOG_TYPE_DROPNOTIFY, &at);
    assert_non_null(told);
    assert_int_equal(told->pl_word[0], 9);
    assert_int_equal(pmc_get_driver_stats(&stats), 0);
    assert_true(stats.pm_log_dropped == 9 && stats.pm_log_records == 35);
    assert_int_equal(pmc_configure_logfile(3), 0);
    full = true;
    assert_int_equal(pmc_flush_logfile(), -1);
    assert_int_equal(pmc_errno, 5);
    full = false;
    tear_down();
}

/* The end of a log says what was lost before it. */
static void a_full_log_is_told_of_and_closed(void **state)
{
    const struct pmclog_words *told;
    size_t at = 0;

    (void)state;
    set_up("core2");
    assert_int_equal(pmc_configure_logfile(3), 0);
    for (uint32_t i = 0; i < 40; i++)
        assert_int_equal(pmc_writelog(i), 0, i);
    assert_int_equal(pmc_close_logfile(), 0);
    assert_int_equal(records(PMCLOG_TYPE_USERDATA), 31);
    assert_int_equal(records(PMCLOG_TYPE_CLOSELOG), 1);
    told = record(PMCLOG_TYPE_DROPNOTIFY, &at);
    assert_non_null(told);
    assert_int_equal(told->pl_word[0], 9);
    tear_down();
}

/* ---- Rights ---- */

/* Its session is on a CPU that cannot be reached from here: the next call releases it. */
static void a_pmc_that_cannot_be_released_is_told(void **state)
{
    bool (*run_on_cpu)(void *, struct upmu_cpu *, void (*)(void *), void *);
    pmc_id_t id;

    (void)state;
    set_up("core2");
    run_on_cpu = host.sim.port.run_on_cpu;
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &id, 0), 0);
    assert_int_equal(pmc_start(id), 0);
    assert_int_equal(pmc_configure_logfile(3), 0);
    host.sim.port.run_on_cpu = NULL;
    upmu_sim_bind_cpu(&host.sim, 0, NULL);
    full = true;
    assert_int_equal(upmu_pmc_exit(&pmcs, PROCESS), UPMU_ERR_WRONG_CPU);
    assert_int_equal(memory[0].owner, PROCESS);
    upmu_sim_bind_cpu(&host.sim, 0, &host.cpu[0]);
    host.sim.port.run_on_cpu = run_on_cpu;
    full = false;
    assert_int_equal(upmu_pmc_exit(&pmcs, PROCESS), UPMU_OK);
    assert_int_equal(memory[0].owner, 0);
    assert_int_equal(pmc_configure_logfile(3), 0);
    full = true;
    assert_int_equal(upmu_pmc_exit(&pmcs, PROCESS), UPMU_ERR_PORT);
    full = false;
    tear_down();
}

/* A machine whose only CPU did not come up: `cpu` knows no PMU, the machine lists none. */
static void without_a_pmu_programs_are_refused(void **state)
{
    static struct upmu_machine none;
    struct pmc_op_name name = {.pm_class = PMC_CLASS_IAP};
    struct upmu_machine *machine;
    const struct pmc_cpuinfo *cpu;
    struct pmc_driverstats stats;
    struct pmc_pmcinfo counter;
    pmc_id_t id;

    (void)state;
    set_up("core2");
    machine = pmcs.machine;
    host_end_idle(&host);
    pmcs.machine = &none;
    assert_int_equal(pmc_init(), -1);
    assert_int_equal(pmc_errno, 19);
    for (unsigned mode = PMC_MODE_SS; mode <= PMC_MODE_TC; mode++) {
        assert_int_equal(pmc_allocate("instructions", (enum pmc_mode)mode, 0, 0, &id, 100000), -1);
        assert_int_equal(pmc_errno, 19);
    }
    assert_int_equal(pmc_syscall(PMC_OP_EVENTNAME, &name, sizeof name), 22);
    assert_int_equal(pmc_pmcinfo(0, 0, &counter), -1);
    assert_int_equal(pmc_disable(0, 0) & pmc_enable(0, 0), -1);
    assert_int_equal(pmc_start(0) & pmc_release(0), -1);
    assert_int_equal(pmc_cpuinfo(&cpu), 0);
    assert_true(cpu->pm_npmc == 0 && cpu->pm_nclass == 0 && !cpu->pm_cputype[0]);
    assert_int_equal(pmc_get_driver_stats(&stats), 0);
    assert_int_equal(stats.pm_refused, 4);
    pmcs.machine = machine;
}

/* ---- Rights ---- */

static uint32_t given; /* rights */

static bool test_may_use(void *context, uint32_t owner, const struct upmu_event *event, uint32_t rights)
{
    (void)context;
    assert_int_equal(event == NULL, rights == UPMU_RIGHT_ADDRESSES);
    return owner == PROCESS || !(rights & ~given);
}

/*
 * Catches an event that is taken without the question what it counts: AnyThread, payload registers, the kernel's mode,
 * a northbridge of several cores.  A refused event leaves all as it was, and one right does not stand for another.
 */
static void an_event_beyond_its_owners_rights_is_refused(void **state)
{
    static const struct {
        const char *profile, *spec;
        uint32_t needs;
    } cases[] = {
        {"skylake", "raw:config=0x100c0", 0},
        {"skylake", "instructions,usr", 0},
        {"skylake", "raw:config=0x200c0", UPMU_RIGHT_KERNEL},
        {"skylake", "instructions,os", UPMU_RIGHT_KERNEL},
        {"skylake", "instructions", UPMU_RIGHT_KERNEL},
        {"skylake", "raw:config=0x21013c", UPMU_RIGHT_BEYOND},
        {"skylake", "raw:config=0x1003c:any", UPMU_RIGHT_BEYOND},
        {"skylake", "instructions,usr:any", UPMU_RIGHT_BEYOND},
        {"skylake", "raw:config=0x101b7:config1=0x10001", UPMU_RIGHT_PRIVILEGED},
        {"k8_revf", "raw:config=0x100c0", 0},
        {"k8_revf", "raw:config=0x200c0", UPMU_RIGHT_KERNEL},
        {"k8_revf", "raw:config=0x107e0", UPMU_RIGHT_BEYOND},
        {"skylake", "raw:config=0x101b7", UPMU_RIGHT_PRIVILEGED}, /* off-core, whose payload is 0 */
        {"skylake", "raw:config=0x101bb", UPMU_RIGHT_PRIVILEGED},
        {"skylake", "instructions,usr:G", UPMU_RIGHT_BEYOND},
        {"k8_revf", "raw:config=0x4107f0", UPMU_RIGHT_BEYOND},
        {"core2", "raw:config=0x1c070", UPMU_RIGHT_BEYOND}, /* all cores; all agents */
        {"core2", "raw:config=0x16070", UPMU_RIGHT_BEYOND},
        {"core2", "raw:config=0x1c024", UPMU_RIGHT_BEYOND},
        {"core2", "raw:config=0x17024", 0}, /* 16 and 32: prefetches */
        {"core2", "l2_lines_in,core=all,usr", UPMU_RIGHT_BEYOND},
        {"northwood", "raw:escr=0x06804204:cccr=0x0000c000", UPMU_RIGHT_BEYOND}, /* IOQ_allocation: OTHER */
        {"northwood", "p4-instr-retired,mask=nbogusntag,usr", 0},
        {"northwood", "p4-instr-retired,mask=nbogusntag", UPMU_RIGHT_KERNEL},
        {"northwood", "raw:escr=0x0c001405:cccr=0x0000a000", UPMU_RIGHT_BEYOND},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct upmu_pmc before[PMCS];
        pmc_id_t id;

        set_up(cases[i].profile);
        caller = STRANGER;
        memcpy(before, memory, sizeof memory);
        for (unsigned hook = 0; hook < 2; hook++) {
            bool may = hook ? !(cases[i].needs & ~given) : !cases[i].needs;

            pmc_errno = 0;
            if (pmc_allocate(cases[i].spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0) != (may ? 0 : -1) ||
                pmc_errno != (may ? 0 : 1))
                fail_msg("%s: %s: %d", cases[i].profile, cases[i].spec, pmc_errno);
            if (!may)
                assert_memory_equal(before, memory, sizeof memory);
            else
                assert_int_equal(pmc_release(id), 0);
            memset(memory, 0, sizeof memory);
            pmcs.may_use = test_may_use;
            given = ~cases[i].needs & (UPMU_RIGHT_KERNEL | UPMU_RIGHT_BEYOND | UPMU_RIGHT_PRIVILEGED);
        }
        given |= cases[i].needs & (UPMU_RIGHT_KERNEL | UPMU_RIGHT_BEYOND | UPMU_RIGHT_PRIVILEGED);
        if (pmc_allocate(cases[i].spec, PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0))
            fail_msg("%s: %s: %d", cases[i].profile, cases[i].spec, pmc_errno);
        tear_down();
    }
}

/* Does a name of the makers say that what other cores or agents do is counted, too? */
static bool names_others(const char *name)
{
    static const char *const words[] = {"BOTH_CORES", "ALL_AGENTS", "OTHER", "DRDY_OTHER", "DBSY_OTHER"};
    const char *last = strrchr(name, '.');

    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++)
        if (!strcmp(last ? last + 1 : name, words[i]))
            return true;
    return false;
}

/*
 * Rights of an event of other cores by each name that a catalogue has for one.  Catches an event that is taken for the
 * thread's own because no bit by itself says otherwise.
 */
static void an_event_of_other_cores_or_agents_needs_its_right(void **state)
{
    /* The masks of which events are of others, for that many events. */
    static const struct {
        const char *pmu, *any; /* prefix of the events whose mask ANY is of all agents */
        unsigned least;
    } cases[] = {{"core2", NULL, 50}, {"coreduo", NULL, 35}, {"atom", NULL, 10},
                 {"p6", "BUS_", 14},  {"pm", "BUS_", 14},    {"netburst", NULL, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct upmu_pmu pmu;
        struct upmu_event event;
        unsigned found = 0;

        assert_int_equal(upmu_pmu_by_name(&pmu, cases[i].pmu), UPMU_OK, i);
        for (unsigned row = 0; row < upmu_catalog_rows(pmu.catalog); row++) {
            char name[96], text[200], mask[64] = "";
            struct upmu_row unpacked;

            (void)upmu_catalog_row_name(pmu.catalog, row, name, sizeof name);
            assert_true(upmu_catalog_row(pmu.catalog, row, &unpacked));
            for (unsigned k = 0; k < unpacked.mask_count || !k; k++) {
                bool others;

                if (unpacked.mask_count)
                    (void)upmu_catalog_mask_name(pmu.catalog, row, k, mask, sizeof mask);
                others = names_others(unpacked.mask_count ? mask : name) && strcmp(name, "INST_RETIRED");
                others = others || (cases[i].any && !strncmp(name, cases[i].any, 4) && !strcmp(mask, "ANY"));
                (void)snprintf(text, sizeof text, "%s%s%s:u", name, *mask ? ":" : "", mask);
                if (!others || upmu_event_parse(&pmu, text, &event, NULL) != UPMU_OK)
                    continue;
                found++;
                if (!(upmu_rights_of(&pmu, &event) & UPMU_RIGHT_BEYOND))
                    fail_msg("%s: %s", cases[i].pmu, text);
            }
        }
        if (found < cases[i].least)
            fail_msg("%s: %u", cases[i].pmu, found);
    }
}

/* Catches facts of a row that tell each program which others have PMCs, and of which mode. */
static void a_row_shows_the_pmcs_that_its_asker_may_see(void **state)
{
    static const uint32_t askers[] = {PROCESS, STRANGER, ANOTHER};
    struct pmc_pmcinfo row;
    pmc_id_t id;

    (void)state;
    set_up("core2");
    caller = STRANGER;
    assert_int_equal(pmc_allocate("0 instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), 0);
    run_thread(true);
    assert_int_equal(pmc_start(id), 0);
    for (unsigned i = 0; i < 3; i++) {
        bool sees = askers[i] != ANOTHER;

        caller = askers[i];
        assert_int_equal(pmc_pmcinfo(0, 0, &row), 0);
        assert_int_equal(row.pm_owner, sees ? STRANGER : 0);
        assert_int_equal(row.pm_mode, sees ? PMC_MODE_TC : 0);
        assert_int_equal(row.pm_disp, sees ? PMC_DISP_THREAD : PMC_DISP_FREE);
    }
    caller = STRANGER;
    assert_int_equal(pmc_stop(id) | pmc_release(id), 0);
    run_thread(false);
    tear_down();
}

/* Catches a table that one owner fills: another program, or the one that may all, finds no place. */
static void no_owner_takes_the_places_of_others(void **state)
{
    pmc_id_t id, system;

    (void)state;
    set_up("core2");
    for (uint32_t owner = STRANGER; owner < STRANGER + 3; owner++) {
        caller = owner;
        for (unsigned i = 0; i < PMCS / 4; i++)
            assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), 0);
        assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &system, 0), -1);
        assert_int_equal(pmc_errno, 12);
    }
    caller = STRANGER + 3;
    assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), -1);
    caller = PROCESS;
    for (unsigned i = 0; i < PMCS / 4; i++)
        assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &system, 0), 0);
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &system, 0), -1);
    assert_int_equal(upmu_pmc_exit(&pmcs, STRANGER + 2), UPMU_OK);
    tear_down();
    /* The host's own limit. */
    set_up("core2");
    pmcs.most_pmcs = 1;
    caller = STRANGER;
    assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), 0);
    assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &system, 0), -1);
    assert_int_equal(pmc_release(id), 0);
    assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), 0);
    tear_down();
}

static uint32_t same_user(void *context, uint32_t owner)
{
    (void)context;
    return owner < STRANGER + 3 ? STRANGER : owner;
}

/* A user's three processes hold no more than one.  Catches a limit that a fork() doubles. */
static void the_processes_of_a_user_share_its_limits(void **state)
{
    pmc_id_t id;

    (void)state;
    set_up("core2");
    pmcs.log_count = 2;
    pmcs.user_of = same_user;
    for (unsigned i = 0; i < PMCS; i++) {
        caller = STRANGER + i % 3;
        assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), i < PMCS / 4 ? 0 : -1,
                         i);
        assert_int_equal(pmc_configure_logfile(3), i ? -1 : 0, i);
    }
    caller = STRANGER + 3; /* another user */
    assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), 0);
    assert_int_equal(pmc_configure_logfile(3), 0);
    assert_int_equal(upmu_pmc_exit(&pmcs, STRANGER + 3), UPMU_OK);
    tear_down();
}

/*
 * A thread ends, or executes a program with more rights, for which the host ends it as well; another one has its
 * number.  Catches a PMC that tells its owner of the new one.
 */
static void nothing_is_told_of_a_thread_that_is_attached_to_no_longer(void **state)
{
    const struct pmclog_value *switched;
    struct pmc_pmcinfo row;
    pmc_value_t value;
    size_t at = 0;
    pmc_id_t id;

    (void)state;
    set_up("core2");
    assert_int_equal(pmc_configure_logfile(3), 0);
    assert_int_equal(pmc_allocate("0 instructions,usr", PMC_MODE_TC, PMC_F_LOG_PROCCSW, PMC_CPU_ANY, &id, 0), 0);
    assert_int_equal(pmc_attach(id, STRANGER), 0);
    assert_int_equal(pmc_start(id), 0);
    run_thread(true);
    run_user(1000);
    run_thread(false);
    upmu_pmc_log_switch(&pmcs, STRANGER);
    assert_int_equal(upmu_thread_exit(&thread), UPMU_OK);
    upmu_thread_init(&thread, STRANGER, STRANGER, NULL);
    run_thread(true);
    run_user(500);
    run_thread(false);
    upmu_pmc_log_switch(&pmcs, STRANGER);
    assert_int_equal(pmc_read(id, &value), 0);
    assert_int_equal(value, 1000);
    assert_int_equal(pmc_pmcinfo(0, 0, &row), 0);
    assert_int_equal(row.pm_disp, PMC_DISP_FREE);
    assert_int_equal(pmc_flush_logfile(), 0);
    switched = record(PMCLOG_TYPE_PROCCSW, &at);
    assert_non_null(switched);
    assert_int_equal(switched->pl_value, 1000);
    assert_null(record(PMCLOG_TYPE_PROCCSW, &at));
    tear_down();
}

/* Catches a log that one owner keeps for ever, and records in the file of another. */
static void a_log_that_a_program_keeps_is_taken_by_one_that_may_all(void **state)
{
    struct pmc_driverstats stats;
    size_t at = 0;

    (void)state;
    set_up("core2");
    caller = STRANGER;
    assert_int_equal(pmc_configure_logfile(3), 0);
    assert_int_equal(pmc_writelog(1), 0);
    assert_int_equal(pmc_get_driver_stats(&stats), -1); /* sums of all owners */
    assert_int_equal(pmc_errno, 1);
    caller = ANOTHER;
    assert_int_equal(pmc_configure_logfile(3), -1);
    assert_int_equal(pmc_errno, 16);
    assert_int_equal(records(PMCLOG_TYPE_CLOSELOG), 0);
    caller = PROCESS;
    assert_int_equal(pmc_configure_logfile(3), 0);
    assert_true(file_owner == STRANGER && records(PMCLOG_TYPE_USERDATA) == 1);
    assert_non_null(record(PMCLOG_TYPE_CLOSELOG, &at));
    assert_int_equal(at, file_bytes);
    caller = STRANGER;
    assert_int_equal(pmc_writelog(2) & pmc_flush_logfile() & pmc_close_logfile() & pmc_configure_logfile(3), -1);
    /* With a log for each, no owner loses one. */
    pmcs.log_count = 2;
    assert_int_equal(pmc_configure_logfile(3), 0);
    caller = PROCESS;
    assert_int_equal(pmc_writelog(3), 0);
    tear_down();
}

/* Samples in the file from `at` on, all of which are one PMC's. */
static unsigned samples_of(pmc_id_t id, size_t at)
{
    const struct pmclog_value *sample;
    unsigned count = 0;

    for (; (sample = record(PMCLOG_TYPE_PCSAMPLE, &at)) != NULL; count++)
        assert_int_equal(sample->pl_pmcid, id);
    return count;
}

/*
 * Two owners sample one thread.  Catches samples that another owner's flush throws away, that stand in another's file,
 * and that a small log loses though they could have waited in the ring.
 */
static void a_flush_takes_the_callers_samples_and_leaves_those_of_others(void **state)
{
    pmc_id_t ids[2];
    size_t at;

    (void)state;
    set_up("core2");
    pmcs.log_count = 2;
    for (unsigned i = 0; i < 2; i++) {
        caller = STRANGER + i;
        assert_int_equal(pmc_configure_logfile(3), 0);
        assert_int_equal(pmc_allocate("instructions,usr", PMC_MODE_TS, 0, PMC_CPU_ANY, &ids[i], 100), 0, i);
        assert_int_equal(pmc_start(ids[i]), 0, i);
    }
    run_thread(true);
    for (unsigned i = 0; i < 20; i++)
        run_user(100);
    at = file_bytes;
    caller = ANOTHER;
    assert_int_equal(pmc_flush_logfile(), 0);
    assert_int_equal(file_owner, ANOTHER);
    assert_int_equal(samples_of(ids[1], at), 20);
    upmu_pmc_log_samples(&pmcs);
    at = file_bytes;
    caller = STRANGER;
    assert_int_equal(pmc_flush_logfile(), 0);
    assert_int_equal(file_owner, STRANGER);
    assert_int_equal(samples_of(ids[0], at), 20);
    assert_int_equal(records(PMCLOG_TYPE_DROPNOTIFY), 0);
    run_thread(false);
    tear_down();
}

static void owners_ids_and_arguments_are_checked(void **state)
{
    struct pmc_op_allocate long_spec;
    struct pmc_op_info version = {0x02000000, 0};
    pmc_value_t value;
    pmc_id_t id, again, ids[PMCS];

    (void)state;
    set_up("core2");
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &id, 0), 0);
    assert_int_equal(pmc_start(id), 0);
    caller = STRANGER;
    assert_int_equal(pmc_start(id) & pmc_stop(id) & pmc_release(id) & pmc_read(id, &value) & pmc_write(id, 1) &
                         pmc_set(id, 1) & pmc_attach(id, 0) & pmc_detach(id, 0),
                     -1);
    assert_int_equal(pmc_errno, 22);
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &again, 0), -1);
    assert_int_equal(pmc_errno, 1);
    assert_int_equal(pmc_disable(0, 0), -1);
    assert_int_equal(pmc_errno, 1);
    caller = 0;
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_TC, 0, PMC_CPU_ANY, &again, 0), -1);
    caller = PROCESS;
    /* An id is one PMC's: of its generation, mode and class. */
    assert_int_equal(pmc_read(id ^ 1u << 10, &value) & pmc_read(id ^ 1u << 22, &value) &
                         pmc_read(id ^ 1u << 26, &value) & pmc_read(id | 0x3ff, &value) &
                         pmc_read(PMC_ID_INVALID, &value),
                     -1);
    assert_int_equal(pmc_release(id), 0);
    assert_int_equal(pmc_read(id, &value) & pmc_release(id), -1);
    for (unsigned i = 0; i < 4095; i++) {
        assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &again, 0), 0);
        assert_int_not_equal(again, id);
        assert_int_equal(pmc_release(again), 0);
    }
    for (unsigned i = 0; i < PMCS; i++)
        assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &ids[i], 0), 0, i);
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &again, 0), -1);
    assert_int_equal(pmc_errno, 12);
    assert_int_equal(pmc_release(ids[3]), 0);
    /* Arguments: mode, flags, CPU, sizes, a text without end, another version, memory that goes away. */
    assert_int_equal(pmc_allocate("instructions", (enum pmc_mode)4, 0, 0, &again, 0), -1);
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0x80, 0, &again, 0), -1);
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 1, &again, 0), -1);
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, PMC_CPU_ANY, &again, 0), -1);
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SS, 0, 0, &again, UINT64_MAX), -1);
    assert_int_equal(pmc_allocate("nothing", PMC_MODE_SC, 0, 0, &again, 0), -1);
    memset(&long_spec, 'a', sizeof long_spec);
    long_spec.pm = (struct pmc_op_pmcallocate){.pm_mode = PMC_MODE_SC, .pm_row = PMC_ROW_ANY};
    assert_int_equal(pmc_syscall(PMC_OP_ALLOCATE, &long_spec, sizeof long_spec), 22);
    assert_int_equal(pmc_syscall(PMC_OP_ALLOCATE, &long_spec, 32), 22);
    assert_int_equal(pmc_syscall(PMC_OPS, &long_spec, 8), 22);
    assert_int_equal(pmc_syscall(PMC_OP_INIT, &version, sizeof version), 22);
    unmapped = true;
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &again, 0), -1);
    assert_int_equal(pmc_errno, 14);
    assert_int_equal(memory[3].owner, 0);
    unmapped = false;
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_programs_run_on_four_classes),
        cmocka_unit_test(allocate_parses_places_and_programs_whatever_memory_held),
        cmocka_unit_test(what_libpmc_asks_is_answered),
        cmocka_unit_test(values_are_read_written_and_exchanged),
        cmocka_unit_test(a_program_counts_its_own_thread_and_logs_its_switches),
        cmocka_unit_test(a_detach_whose_register_faults_has_detached),
        cmocka_unit_test(the_log_says_which_table_an_event_is_of),
        cmocka_unit_test(records_without_room_are_counted_and_told),
        cmocka_unit_test(a_full_log_is_told_of_and_closed),
        cmocka_unit_test(a_pmc_that_cannot_be_released_is_told),
        cmocka_unit_test(without_a_pmu_programs_are_refused),
        cmocka_unit_test(an_event_beyond_its_owners_rights_is_refused),
        cmocka_unit_test(an_event_of_other_cores_or_agents_needs_its_right),
        cmocka_unit_test(a_row_shows_the_pmcs_that_its_asker_may_see),
        cmocka_unit_test(no_owner_takes_the_places_of_others),
        cmocka_unit_test(the_processes_of_a_user_share_its_limits),
        cmocka_unit_test(nothing_is_told_of_a_thread_that_is_attached_to_no_longer),
        cmocka_unit_test(a_log_that_a_program_keeps_is_taken_by_one_that_may_all),
        cmocka_unit_test(a_flush_takes_the_callers_samples_and_leaves_those_of_others),
        cmocka_unit_test(owners_ids_and_arguments_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
