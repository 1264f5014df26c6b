/* SPDX-License-Identifier: MIT */
/*
 * Precise samples without an interrupt (docs/PRECISE.md, "Batches"): the CPU stores a record of each n-th load that
 * takes long into memory that the kernel lends it, and ticks, reads and the stop take the records.
 *
 *     precise [--sim CPU] [perf]     the samples as text, and with `perf` a perf.data in hexadecimal
 *
 * Where the machine has no PMU, and with --sim, the program is single-stepped on the silicon model (kernel_step.c).  A
 * cache of two levels, which the loads of the program fill, then says which loads miss.
 */
#include <examples/kernel/kernel.h>
#include <examples/kernel/kernel_layout.h>
#include <models/sim/sim.h>
#include <upmu/cpu.h>
#include <upmu/format.h>
#include <upmu/precise.h>
#include <upmu/results.h>

/* Loads that take longer than a hit of the first level: of CPUs from Haswell to Ice Lake. */
#define EVENT "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_8:pp:u"
#define EVENT_LATENCY 8u

#define LINE_BYTES 64u
#define TICK_INSTRUCTIONS 3240u /* in which 17 or 18 records are stored: 4 KiB have room for 18 */

void misses_main(void);
extern const uint8_t misses_walk[], misses_table[];

/* The memory that the program reads. */
extern uintptr_t misses_list[MISSES_NODES][LINE_BYTES / sizeof(uintptr_t)];
extern uint32_t misses_words[MISSES_WORDS];
uintptr_t misses_list[MISSES_NODES][LINE_BYTES / sizeof(uintptr_t)] __attribute__((aligned(4096)));
uint32_t misses_words[MISSES_WORDS] __attribute__((aligned(4096)));

static struct upmu_machine *machine;
static struct upmu_cpu *cpu;
static struct upmu_session session;
static struct upmu_log samples;
static uint64_t ring[8192];
static uint8_t area[UPMU_RECORD_AREA_BYTES] __attribute__((aligned(4096)));
static uint8_t records[UPMU_RECORD_MOST_BYTES] __attribute__((aligned(4096)));
static uint8_t program_stack[4096] __attribute__((aligned(16)));

/* ---- Memory for records ---- */

enum upmu_status kernel_records_lend(struct upmu_cpu *to, size_t bytes, struct upmu_why *why)
{
    const struct upmu_record_memory memory = {.area = area,
                                              .area_linear = (uintptr_t)area,
                                              .records = records,
                                              .records_linear = (uintptr_t)records,
                                              .record_bytes = bytes};

    return upmu_cpu_use_records(to, &memory, why);
}

void kernel_records_end(struct upmu_cpu *of)
{
    (void)!upmu_cpu_use_records(of, NULL, NULL);
}

/* ---- The caches of a program that is stepped: each line of memory has one place in each level ---- */

#define FIRST_LINES 512u   /* 32 KiB */
#define SECOND_LINES 8192u /* 512 KiB */

/* Codes of sources: Linux 6.12 arch/x86/events/intel/ds.c, pebs_data_source. */
static const struct {
    uint8_t source, latency;
} levels[] = {{0x01, 5}, {0x03, 14}, {0x0a, 220}};

static uintptr_t first[FIRST_LINES], second[SECOND_LINES];
static unsigned instructions; /* since the last tick */

/* The index in `levels` of what has the data, which then is in both caches. */
static unsigned take_line(uintptr_t address)
{
    uintptr_t line = address / LINE_BYTES;
    unsigned level = first[line % FIRST_LINES] == line ? 0 : second[line % SECOND_LINES] == line ? 1 : 2;

    first[line % FIRST_LINES] = second[line % SECOND_LINES] = line;
    return level;
}

/* The program loads by MOV from where SI points, and not otherwise (SDM vol 2, MOV 8BH, and table 2-2). */
static void add_load(struct upmu_sim_burst *burst, const struct kernel_registers *before)
{
    const uint8_t *code = (const uint8_t *)before->ip;
    unsigned level;

    if (++instructions == TICK_INSTRUCTIONS) {
        instructions = 0;
        (void)!upmu_cpu_tick(cpu);
    }
    if (code[0] == 0x48)
        code++;
    if (code[0] != 0x8b || (code[1] & 0xc7u) != 0x06)
        return;
    level = take_line(before->si);
    burst->data = before->si;
    burst->data_source = levels[level].source;
    burst->latency = levels[level].latency;
    if (levels[level].latency > EVENT_LATENCY) /* libpfm4 4.13 intel_skl_events.h, MEM_TRANS_RETIRED:LOAD_LATENCY */
        burst->other[0] = (struct upmu_sim_other){.event = 0xcd, .umask = 0x01, .count = 1};
}

/* ---- The program runs ---- */

static void begin(struct upmu_machine *new_machine, struct upmu_cpu *new_cpu, const struct upmu_port *port)
{
    (void)port;
    machine = new_machine;
    cpu = new_cpu;
}

/* The nodes follow one another in an order that has all of them once. */
static void make_list(void)
{
    for (unsigned i = 0; i < MISSES_NODES; i++)
        misses_list[i][0] = (uintptr_t)misses_list[(1029u * i + 7u) % MISSES_NODES];
}

static enum upmu_status run_program(uint64_t period, uintptr_t passes, struct upmu_count *out_count)
{
    const unsigned parts = UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT;
    const struct upmu_sampling sampling = {.period = period, .flags = UPMU_SAMPLING_BATCH | UPMU_SAMPLING_PARTS(parts)};
    enum upmu_status status = upmu_session_init(&session, machine);

    if (status == UPMU_OK)
        status = upmu_set_add(&session.set, EVENT, &sampling);
    if (status == UPMU_OK)
        status = upmu_session_ring(&session, ring, sizeof ring);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&session, cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(&session);
    if (status != UPMU_OK)
        return status;
    kernel_user_enter(misses_main, &program_stack[sizeof program_stack - 16], passes);
    status = upmu_session_stop(&session);
    return status == UPMU_OK ? upmu_set_read(&session.set, 0, 1, out_count) : status;
}

/* ---- What came out of it ---- */

static void print_sample(const struct shell *shell, const struct upmu_record *record)
{
    uint64_t ip = record->sample->ip;

    shell_text(shell, "precise.sample ");
    shell_hex(shell, ip);
    shell_text(shell, ip == (uintptr_t)misses_walk ? " walk" : ip == (uintptr_t)misses_table ? " table" : " -");
    shell_text(shell, record->exact ? " data " : " (behind) data ");
    shell_hex(shell, record->address);
    shell_text(shell, " latency ");
    shell_number(shell, record->weight);
    shell_text(shell, " source ");
    shell_hex(shell, record->source);
    shell_text(shell, "\n");
}

static enum upmu_status print_samples(const struct shell *shell, struct upmu_output *output)
{
    struct upmu_session *const sessions[] = {&session};
    enum upmu_status status = upmu_log_begin(&samples, output, "the example kernel", 0);
    struct upmu_record record;

    if (status == UPMU_OK)
        status = upmu_log_session(&samples, &session, 0);
    for (; status == UPMU_OK && upmu_ring_view(&session.ring, &record); upmu_ring_drop(&session.ring)) {
        print_sample(shell, &record);
        status = upmu_log_sample(&samples, &record, 0);
    }
    return status == UPMU_OK ? upmu_log_end(&samples, sessions, 1, 0) : status;
}

static void print_summary(const struct shell *shell, const struct upmu_count *count, uint64_t period,
                          uint32_t interrupts)
{
    kernel_line_number(shell, "precise.", "period", period);
    kernel_line_number(shell, "precise.", "misses", count->value);
    kernel_line_number(shell, "precise.", "samples", samples.samples);
    kernel_line_number(shell, "precise.", "lost", samples.lost + samples.cut + count->lost);
    kernel_line_number(shell, "precise.", "records", upmu_cpu_records(cpu).taken);
    kernel_line_number(shell, "precise.", "interrupts", interrupts);
}

/* Sample the program, and print what was found, or why nothing was. */
static enum upmu_status sample(struct shell *shell, bool steps, struct upmu_output *log)
{
    /* On real hardware no tick comes: the memory has room for the 209 records of the 100 passes. */
    const uint64_t period = steps ? 61 : 1009;
    const size_t bytes = steps ? UPMU_RECORD_LEAST_BYTES : UPMU_RECORD_MOST_BYTES;
    uint32_t interrupts = kernel_traps.nmis + kernel_traps.vectors;
    struct upmu_count count = {.value = 0};
    struct upmu_why why;
    enum upmu_status status = kernel_records_lend(cpu, bytes, &why);

    if (status != UPMU_OK) {
        kernel_line_why(shell, "precise.", &why);
        return status;
    }
    make_list();
    status = run_program(period, steps ? 2 : 100, &count);
    interrupts = kernel_traps.nmis + kernel_traps.vectors - interrupts;
    if (status == UPMU_OK)
        status = print_samples(shell, log);
    else
        kernel_line_why(shell, "precise.", &session.why);
    if (status == UPMU_OK)
        print_summary(shell, &count, period, interrupts);
    (void)!upmu_session_close(&session);
    kernel_records_end(cpu);
    return status;
}

int kernel_precise(struct shell *shell, const char *rest)
{
    const struct cmd_live *live = shell->cmd->live;
    char model[32] = "skl";
    const struct kernel_steps each = {.model = model, .entry = misses_main, .without_interrupt = true, .add = add_load};
    bool steps = live->cpu->meter.pmu == NULL;
    struct upmu_output log = kernel_results_log(live);
    enum upmu_status status = UPMU_OK;

    if (kernel_take_word(&rest, "--sim")) {
        kernel_take_argument(&rest, model, sizeof model);
        steps = true;
    }
    for (unsigned i = 0; i < SECOND_LINES; i++)
        first[i % FIRST_LINES] = second[i] = 0;
    if (steps)
        status = kernel_step_begin(&each, begin);
    else
        begin(live->machine, live->cpu, live->port);
    if (status == UPMU_OK) {
        status = sample(shell, steps, &log);
        if (steps)
            kernel_step_end(shell, "precise.");
    }
    if (status == UPMU_OK && kernel_take_word(&rest, "perf")) {
        shell_text(shell, "precise.begin\n");
        status = kernel_results_form(live, &log, "perf");
    }
    kernel_line_text(shell, "precise.", "end", upmu_status_text(status));
    return status == UPMU_OK ? CMD_OK : CMD_REFUSED;
}
