/* SPDX-License-Identifier: MIT */
/*
 * Commands for tests, in plain lines "key value":
 *
 *   msr      read a register, or write it and read it back; a fault is an answer
 *   probe    what upmu found this CPU to be, and what its PMU is worth
 *   vmtest   a workload that is known to the last instruction, counted and sampled in
 *            rings 0 and 3; the monitor compares ("vmtest samples": only
 *            the samples of ring 3)
 *
 * Ring 3 runs "call workload" and one HLT, which faults and so retires nothing; in 32
 * bits one push before them.
 */
#include <examples/kernel/kernel.h>
#include <upmu/event.h>
#include <upmu/probe.h>
#include <upmu/session.h>
#include <upmu/set.h>

#define RING_WORDS 16384u
#define USER_PERIOD 100u
#define KERNEL_PERIOD 1000u
#define API_PERIOD 997u
#define API_PASSES 3u

void workload(uint32_t passes);
void kernel_user_workload(void);
extern const uint8_t workload_begin[], workload_end[];

/* How much of it: all, "brief", "quick". */
struct amount {
    uint32_t lengths;       /* of the counts: 10, 100, 1000 passes */
    uint32_t user_passes;   /* of 13 instructions: 1000 periods, 200, 20 */
    uint32_t kernel_passes;
    uint32_t rounds; /* of calls */
};

static const struct amount all_of_it = {3, 7694, 4000, 30}, brief = {2, 1539, 800, 6}, quick = {1, 154, 300, 3};

struct vmtest {
    struct shell *shell;
    struct upmu_session session, second;
    uint64_t ring[RING_WORDS];
    uint8_t user_stack[4096] __attribute__((aligned(16)));
    const struct amount *amount;
};

static struct vmtest vmtest;
static struct upmu_machine probe_machine;
static struct upmu_cpu probe_cpu;

/* ---- msr ---- */

/* Hexadecimal; NULL: no number. */
static const char *take_hex(const char *text, uint64_t *out_value)
{
    const char *start;

    if (text[0] == '0' && text[1] == 'x')
        text += 2;
    *out_value = 0;
    for (start = text; *text != ' ' && *text != '\0'; text++) {
        unsigned digit = (unsigned char)*text - '0';

        if (digit > 9)
            digit = ((unsigned char)*text | 0x20u) - 'a' + 10;
        if (digit > 15 || text - start == 16)
            return NULL;
        *out_value = *out_value << 4 | digit;
    }
    while (*text == ' ')
        text++;
    return text[0] != '\0' || text != start ? text : NULL;
}

int kernel_msr(struct shell *shell, const char *rest)
{
    const struct upmu_port *port = shell->cmd->live->port;
    uint64_t address, value;

    rest = take_hex(rest, &address);
    if (rest == NULL || (*rest != '\0' && take_hex(rest, &value) == NULL)) {
        shell_text(shell, "usage: msr ADDRESS [VALUE], hexadecimal\n");
        return CMD_USAGE;
    }
    if (*rest != '\0' && !port->wrmsr(port->context, (uint32_t)address, value)) {
        shell_text(shell, "the write faults\n");
        return CMD_REFUSED;
    }
    if (!port->rdmsr(port->context, (uint32_t)address, &value)) {
        shell_text(shell, "the read faults\n");
        return CMD_REFUSED;
    }
    kernel_line_hex(shell, "", "msr", value);
    return CMD_OK;
}

/* ---- probe ---- */

static void print_identity(const struct shell *shell)
{
    uint32_t leaf[4], highest;
    char vendor[13];
    unsigned i;

    upmu_x86_cpuid(0, 0, leaf);
    highest = leaf[0];
    for (i = 0; i < 12; i++) /* EBX, EDX, ECX */
        vendor[i] = (char)(leaf[i / 4 == 0 ? 1 : 4 - i / 4] >> (i % 4 * 8));
    vendor[12] = '\0';
    kernel_line_text(shell, "probe.", "vendor", vendor);
    upmu_x86_cpuid(1, 0, leaf);
    kernel_line_hex(shell, "probe.", "signature", leaf[0]);
    leaf[0] = 0;
    if (highest >= 0xa)
        upmu_x86_cpuid(0xa, 0, leaf);
    kernel_line_hex(shell, "probe.", "leaf0a", leaf[0]);
}

static void print_pmu(const struct shell *shell, const struct upmu_pmu *pmu)
{
    kernel_line_text(shell, "probe.", "pmu", pmu != NULL ? pmu->name : "none");
    if (pmu == NULL)
        return;
    kernel_line_text(shell, "probe.", "title", pmu->title);
    kernel_line_number(shell, "probe.", "version", pmu->version);
    kernel_line_hex(shell, "probe.", "counters", pmu->counters);
    kernel_line_hex(shell, "probe.", "general", pmu->general);
}

/* Counts have to be flagged or refused unless the verdict says that they count. */
static void print_count(const struct shell *shell, struct upmu_cpu *cpu)
{
    static const char *const qualities[] = {"exact", "scaled", "partial", "never-ran", "unproven"};
    struct upmu_session *session = &vmtest.session;
    struct upmu_count count = {0};
    struct upmu_event event;
    enum upmu_status status = upmu_session_init(session, cpu->meter.machine);

    if (status == UPMU_OK)
        status = upmu_event_raw(cpu->meter.pmu, cpu->meter.pmu->loop_config, 0, 0, &event);
    if (status == UPMU_OK)
        status = upmu_set_add_event(&session->set, &event, NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(session, cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(session);
    if (status == UPMU_OK) {
        workload(100);
        status = upmu_session_stop(session);
    }
    if (status == UPMU_OK)
        status = upmu_set_read(&session->set, 0, 1, &count);
    (void)!upmu_session_close(session);
    kernel_line_text(shell, "probe.", "count.status", upmu_status_text(status));
    if (status != UPMU_OK)
        return;
    kernel_line_number(shell, "probe.", "count.value", count.value);
    kernel_line_text(shell, "probe.", "count.quality", qualities[count.quality]);
}

int kernel_probe(struct shell *shell, const char *rest)
{
    const struct cmd_live *live = shell->cmd->live;
    const struct upmu_machine *machine = live->machine;
    struct upmu_cpu *cpu = live->cpu;
    const struct upmu_probe nothing = {0};
    struct upmu_probe probe = nothing;
    enum upmu_status status = UPMU_OK;

    (void)rest;
    print_identity(shell);
    if (cpu->meter.pmu == NULL) { /* once more, to print what was refused */
        cpu = &probe_cpu;
        machine = &probe_machine;
        status = upmu_machine_init(&probe_machine, live->port);
        if (status == UPMU_OK)
            status = upmu_cpu_init(cpu, &probe_machine, NULL);
    }
    kernel_line_text(shell, "probe.", "init", upmu_status_text(status));
    print_pmu(shell, cpu->meter.pmu);
    kernel_line_hex(shell, "probe.", "init.faulted", machine->why.address);
    status = upmu_cpu_probe(cpu, &probe);
    kernel_line_text(shell, "probe.", "status", upmu_status_text(status));
    kernel_line_text(shell, "probe.", "verdict", upmu_verdict_text(probe.verdict));
    kernel_line_number(shell, "probe.", "counted", probe.counted);
    if (live->cpu->meter.pmu != NULL)
        print_count(shell, cpu);
    kernel_line_number(shell, "probe.", "faults", kernel_traps.faults);
    kernel_line_text(shell, "probe.", "end", "ok");
    return CMD_OK;
}

/* ---- vmtest ---- */

static void run_workload(bool user, uint32_t passes)
{
    if (user)
        kernel_user_enter(kernel_user_workload, &vmtest.user_stack[sizeof vmtest.user_stack - 16], passes);
    else
        workload(passes);
}

/* Attached with one event, its configuration loaded. */
static enum upmu_status open_event(struct upmu_session *session, const char *event,
                                   const struct upmu_sampling *sampling)
{
    const struct cmd_live *live = vmtest.shell->cmd->live;
    enum upmu_status status = upmu_session_init(session, live->machine);

    if (status == UPMU_OK)
        status = upmu_set_add(&session->set, event, sampling);
    if (status == UPMU_OK && sampling != NULL)
        status = upmu_session_ring(session, vmtest.ring, sizeof vmtest.ring);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(session, live->cpu);
    return status;
}

static enum upmu_status run_counted(struct upmu_session *session, bool user, uint32_t passes, uint64_t *out_value)
{
    struct upmu_count before, after;
    enum upmu_status status = upmu_set_read(&session->set, 0, 1, &before);

    if (status == UPMU_OK)
        status = upmu_session_start(session);
    if (status == UPMU_OK) {
        run_workload(user, passes);
        status = upmu_session_stop(session);
    }
    if (status == UPMU_OK)
        status = upmu_set_read(&session->set, 0, 1, &after);
    *out_value = status == UPMU_OK ? after.value - before.value : 0;
    return status;
}

/* Lines RING.EVENT.PASSES COUNT; the first run, whose start does more, is not printed. */
static void count_one(const char *ring, const char *event, bool user)
{
    static const uint32_t passes[] = {10, 100, 1000};
    static const char *const names[] = {".10", ".100", ".1000"};
    struct upmu_session *session = &vmtest.session;
    uint64_t value;
    unsigned i;
    enum upmu_status status = open_event(session, event, NULL);

    if (status == UPMU_OK)
        status = run_counted(session, user, 1, &value);
    for (i = 0; i < vmtest.amount->lengths && status == UPMU_OK; i++) {
        status = run_counted(session, user, passes[i], &value);
        if (status == UPMU_OK) {
            shell_text(vmtest.shell, ring);
            kernel_line_number(vmtest.shell, event, names[i], value);
        }
    }
    if (status != UPMU_OK) {
        shell_text(vmtest.shell, ring);
        kernel_line_text(vmtest.shell, event, ".refused", upmu_status_text(status));
    }
    (void)!upmu_session_close(session);
}

/* Every sample's address, eight on a line; outside: not the workload's. */
static void print_samples(const char *name, struct upmu_session *session, bool addresses)
{
    const struct shell *shell = vmtest.shell;
    struct upmu_sample sample;
    struct upmu_count count;
    uint64_t samples = 0, lost = 0, outside = 0;

    if (upmu_set_read(&session->set, 0, 1, &count) == UPMU_OK)
        kernel_line_number(shell, name, ".count", count.value);
    while (upmu_ring_next(&session->ring, &sample)) {
        if (addresses) {
            shell_text(shell, (samples & 7u) != 0 ? " " : samples != 0 ? "\nips " : "ips ");
            shell_hex(shell, sample.ip);
        }
        samples++;
        lost += sample.lost;
        if (sample.ip < (uintptr_t)workload_begin || sample.ip >= (uintptr_t)workload_end)
            outside++;
    }
    if (addresses && samples != 0)
        shell_text(shell, "\n");
    kernel_line_number(shell, name, ".samples", samples);
    kernel_line_number(shell, name, ".lost", lost + upmu_ring_lost(&session->ring));
    kernel_line_number(shell, name, ".outside", outside);
}

static void print_traps(const char *name, const struct kernel_traps *before)
{
    const struct shell *shell = vmtest.shell;

    kernel_line_number(shell, name, ".handled", kernel_traps.handled - before->handled);
    kernel_line_number(shell, name, ".stale", kernel_traps.stale - before->stale);
    kernel_line_number(shell, name, ".not-ours", kernel_traps.not_ours - before->not_ours);
    kernel_line_number(shell, name, ".from-user", kernel_traps.from_user - before->from_user);
}

/*
 * In ring 0 handlers are counted, too: a period has to be longer than what they run with
 * their counter on, which is most of a handler where no gate is common to all counters.
 */
static uint64_t period_in_ring0(unsigned period)
{
    const struct upmu_pmu *pmu = vmtest.shell->cmd->live->cpu->meter.pmu;

    return pmu->capabilities & UPMU_PMU_GLOBAL_CTRL ? period : 3 * period;
}

static void sample_one(const char *name, const char *event, bool user)
{
    const struct upmu_sampling sampling = {.period = user ? USER_PERIOD : period_in_ring0(KERNEL_PERIOD)};
    const uint32_t passes = user ? vmtest.amount->user_passes : vmtest.amount->kernel_passes;
    const struct kernel_traps before = kernel_traps;
    struct upmu_session *session = &vmtest.session;
    enum upmu_status status = open_event(session, event, &sampling);

    if (status == UPMU_OK)
        status = upmu_session_start(session);
    if (status == UPMU_OK) {
        run_workload(user, passes);
        status = upmu_session_stop(session);
    }
    kernel_line_text(vmtest.shell, name, ".status", upmu_status_text(status));
    kernel_line_text(vmtest.shell, name, ".event", event);
    kernel_line_number(vmtest.shell, name, ".period", sampling.period);
    kernel_line_number(vmtest.shell, name, ".passes", passes);
    if (status == UPMU_OK) {
        print_samples(name, session, user);
        print_traps(name, &before);
    }
    (void)!upmu_session_close(session);
}

/* Overflows inside start, read, stop of another session, which counts ring 3. */
static void sample_inside_calls(void)
{
    const struct upmu_sampling sampling = {.period = period_in_ring0(API_PERIOD)};
    const struct kernel_traps before = kernel_traps;
    struct upmu_session *sampler = &vmtest.session, *counter = &vmtest.second;
    const unsigned rounds = vmtest.amount->rounds;
    struct upmu_count sampled;
    uint64_t value, total = 0;
    unsigned i;
    enum upmu_status status = open_event(sampler, "instructions", &sampling);

    if (status == UPMU_OK)
        status = open_event(counter, "branches:u", NULL);
    if (status == UPMU_OK)
        status = upmu_session_start(sampler);
    for (i = 0; i < rounds && status == UPMU_OK; i++) {
        status = run_counted(counter, true, API_PASSES, &value);
        total += value;
    }
    if (status == UPMU_OK)
        status = upmu_session_stop(sampler);
    if (status == UPMU_OK)
        status = upmu_set_read(&sampler->set, 0, 1, &sampled);
    kernel_line_text(vmtest.shell, "calls", ".status", upmu_status_text(status));
    kernel_line_number(vmtest.shell, "calls", ".period", sampling.period);
    kernel_line_number(vmtest.shell, "calls", ".rounds", rounds);
    kernel_line_number(vmtest.shell, "calls", ".passes", API_PASSES);
    if (status == UPMU_OK) {
        kernel_line_number(vmtest.shell, "calls", ".branches:u", total);
        kernel_line_number(vmtest.shell, "calls", ".late", sampled.lost);
        print_samples("calls", sampler, false);
        print_traps("calls", &before);
    }
    (void)!upmu_session_close(counter);
    (void)!upmu_session_close(sampler);
}

/* "vmtest [samples] [brief|quick]": only the samples of ring 3; the longest counts left out and fewer samples. */
int kernel_vmtest(struct shell *shell, const char *rest)
{
    static const char *const events[] = {"instructions", "instructions:u", "instructions:k",
                                         "branches",     "branches:u",     "branches:k"};
    const bool all = *rest != 's';
    unsigned i;

    vmtest.shell = shell;
    while (*rest != '\0' && *rest != 'b' && *rest != 'q')
        rest++;
    vmtest.amount = *rest == 'b' ? &brief : *rest == 'q' ? &quick : &all_of_it;
    kernel_line_number(shell, "vmtest.", "bits", sizeof(void *) * 8);
    kernel_line_text(shell, "vmtest.", "pmu",
              shell->cmd->live->cpu->meter.pmu != NULL ? shell->cmd->live->cpu->meter.pmu->name : "none");
    kernel_line_hex(shell, "workload.", "begin", (uintptr_t)workload_begin);
    kernel_line_hex(shell, "workload.", "end", (uintptr_t)workload_end);
    run_workload(true, 1);
    kernel_line_text(shell, "vmtest.", "ring3", "returned");
    if (shell->cmd->live->cpu->meter.pmu != NULL) {
        for (i = 0; all && i < sizeof events / sizeof events[0]; i++) {
            count_one("ring0.", events[i], false);
            count_one("ring3.", events[i], true);
        }
        if (all)
            sample_one("sample0", "instructions", false);
        sample_one("sample3", "instructions:u", true);
        if (all)
            sample_inside_calls();
    }
    kernel_line_text(shell, "vmtest.", "end", "ok");
    return CMD_OK;
}
