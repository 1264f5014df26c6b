/* SPDX-License-Identifier: MIT */
/*
 * selftest: does this PMU do what upmu believes of it?  Loops of known length stand
 * for the truth; what the library itself retires between a gate and the loop is
 * allowed for.
 *
 * A program of an operating system (cmd_live.least_of) counts interrupts and other tasks, too, and the system's way to
 * the registers: it counts often, and the least count is taken.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>

#define SELF_ITERATIONS 500000u
/* Instructions beside the loop: the way from the gate to it and back, an SMI. */
#define SELF_SLACK 5000u
#define SELF_PERIODS 50u
/* Instructions of an interrupt beside the handler's, whose counters stand; of a host's that is not ours alone. */
#define SELF_INTERRUPT 1000u
#define SELF_HOST_INTERRUPT 4000u
/* Of a program: about a millisecond, and 0.1 % of it; in user mode alone, the way from the gate and back. */
#define SELF_PROGRAM_ITERATIONS 4000000u
#define SELF_PROGRAM_SLACK (SELF_PROGRAM_ITERATIONS * 2u / 1000u)
#define SELF_PROGRAM_USER 2000u

struct self {
    unsigned passed, failed, skipped;
    const struct cmd_workload *spin;
    bool program; /* in user mode, among others */
    unsigned runs;
    uint64_t iterations, slack;
};

static void self_verdict(struct cmd *cmd, struct self *self, bool good, const char *what)
{
    if (good)
        self->passed++;
    else
        self->failed++;
    cmd_coloured(cmd, good ? CMD_GOOD : CMD_BAD, "%s", good ? "ok  " : "FAIL");
    cmd_print(cmd, "  %s", what);
}

static void self_skip(struct cmd *cmd, struct self *self, const char *what, const char *why)
{
    self->skipped++;
    cmd_print(cmd, "skip  %s: %s\n", what, why);
}

static bool within(uint64_t value, uint64_t expected, uint64_t more)
{
    return value >= expected && value <= expected + more;
}

/* The host's interrupts bring the overflows: they must not be held back while something is sampled. */
static bool is_hosted(const struct cmd *cmd)
{
    return !cmd->simulated && cmd->live->hold != NULL;
}

/* Keep others away from this CPU. */
static uintptr_t be_alone(const struct cmd *cmd, bool sampled)
{
    if (sampled && is_hosted(cmd))
        return cmd->live->hold();
    return cmd->port->irq_save != NULL ? cmd->port->irq_save(cmd->port->context) : 0;
}

static void let_others(const struct cmd *cmd, bool sampled, uintptr_t state)
{
    if (sampled && is_hosted(cmd))
        cmd->live->release(state);
    else if (cmd->port->irq_restore != NULL)
        cmd->port->irq_restore(cmd->port->context, state);
}

/* Start, run the loop, stop: what was counted.  UPMU_ERR_CHANGED: something disturbed it. */
static enum upmu_status count_once(struct cmd *cmd, const struct self *self, bool sampled, uint64_t *out_count)
{
    uint64_t before = cmd->counts[0].value;
    uintptr_t state = be_alone(cmd, sampled);
    enum upmu_status status = upmu_session_start(&cmd->session);

    if (status == UPMU_OK) {
        cmd_workload_run(cmd, self->spin, self->iterations);
        status = upmu_session_stop(&cmd->session);
    }
    let_others(cmd, sampled, state);
    if (status == UPMU_OK)
        status = upmu_set_read(&cmd->session.set, 0, 1, cmd->counts);
    if (status == UPMU_OK && !cmd_target_undisturbed(cmd))
        status = UPMU_ERR_CHANGED;
    *out_count = cmd->counts[0].value - before;
    return status;
}

/* Count one event over the loop; of several runs the least. */
static enum upmu_status count_event(struct cmd *cmd, const struct self *self, const struct upmu_event *event,
                                    const struct upmu_sampling *sampling, uint64_t *out_count)
{
    enum upmu_status status = upmu_session_init(&cmd->session, cmd->machine), detached;

    if (status == UPMU_OK)
        status = upmu_set_add_event(&cmd->session.set, event, sampling);
    if (status == UPMU_OK && sampling != NULL)
        status = upmu_session_ring(&cmd->session, cmd->ring, sizeof cmd->ring);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&cmd->session, cmd->cpu);
    if (status != UPMU_OK)
        return status;
    cmd->counts[0].value = 0;
    *out_count = UINT64_MAX;
    for (unsigned run = 0; run < self->runs && status == UPMU_OK; run++) {
        uint64_t count;

        status = count_once(cmd, self, sampling != NULL, &count);
        if (count < *out_count || status != UPMU_OK)
            *out_count = count;
    }
    detached = upmu_session_detach(&cmd->session);
    return status == UPMU_OK ? detached : status;
}

static void test_known(struct cmd *cmd, struct self *self, const char *text, uint64_t expected, uint64_t slack)
{
    struct upmu_event event;
    uint64_t count = 0;
    enum upmu_status status = upmu_event_parse(cmd->pmu, text, &event, NULL);

    if (status == UPMU_OK)
        status = count_event(cmd, self, &event, NULL, &count);
    if (status != UPMU_OK && status != UPMU_ERR_CHANGED) {
        self_skip(cmd, self, text, upmu_status_text(status));
        return;
    }
    self_verdict(cmd, self, status == UPMU_OK && within(count, expected, slack), text);
    cmd_print(cmd, ": %G, expected %G to %G\n", count, expected, expected + slack);
}

/* Every counter that can count instructions sees the same. */
static void test_counters(struct cmd *cmd, struct self *self)
{
    const uint64_t expected = self->iterations * self->spin->instructions;
    struct upmu_event event, pinned;
    enum upmu_status status = upmu_event_parse(cmd->pmu, "instructions", &event, NULL);
    char name[24];
    unsigned i;

    for (i = 0; status == UPMU_OK && i < UPMU_COUNTERS; i++) {
        uint64_t count = 0;

        if ((event.counters >> i & 1u) == 0)
            continue;
        (void)upmu_counter_text(cmd->pmu, i, name, sizeof name);
        if (upmu_cpu_owner(cmd->cpu, i) != UPMU_OWNER_FREE) {
            self_skip(cmd, self, name, upmu_owner_text(upmu_cpu_owner(cmd->cpu, i)));
            continue;
        }
        pinned = event;
        pinned.counters = UINT32_C(1) << i;
        pinned.pin = i & 31u;
        pinned.attributes |= UPMU_ATTR_PIN;
        status = count_event(cmd, self, &pinned, NULL, &count);
        self_verdict(cmd, self, status == UPMU_OK && within(count, expected, self->slack), "instructions on ");
        cmd_print(cmd, "%s: %G, expected %G to %G\n", name, count, expected, expected + self->slack);
    }
}

/* Stopped is stopped. */
static void test_stop(struct cmd *cmd, struct self *self)
{
    struct upmu_count before, after;
    uintptr_t state;
    enum upmu_status status = upmu_session_init(&cmd->session, cmd->machine);

    if (status == UPMU_OK)
        status = upmu_set_add(&cmd->session.set, "instructions", NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&cmd->session, cmd->cpu);
    state = be_alone(cmd, false);
    if (status == UPMU_OK)
        status = upmu_session_start(&cmd->session);
    if (status == UPMU_OK)
        status = upmu_session_stop(&cmd->session);
    if (status == UPMU_OK)
        status = upmu_set_read(&cmd->session.set, 0, 1, &before);
    cmd_workload_run(cmd, self->spin, self->iterations);
    if (status == UPMU_OK)
        status = upmu_session_start(&cmd->session);
    if (status == UPMU_OK)
        status = upmu_session_stop(&cmd->session);
    let_others(cmd, false, state);
    if (status == UPMU_OK)
        status = upmu_set_read(&cmd->session.set, 0, 1, &after);
    (void)!upmu_session_detach(&cmd->session);
    if (status != UPMU_OK) {
        self_skip(cmd, self, "a stopped counter stands", upmu_status_text(status));
        return;
    }
    self_verdict(cmd, self, after.value - before.value <= self->slack, "a stopped counter stands");
    cmd_print(cmd, ": %G instructions counted while stopped\n", after.value - before.value);
}

/* Highest bit of a counter that was loaded negative, plus 1. */
static unsigned bits_of(uint64_t value)
{
    unsigned bits = 0;

    for (; value != 0; value >>= 1)
        bits++;
    return bits;
}

/* A period's load is negative in as many bits as the counter has. */
static void test_width(struct cmd *cmd, struct self *self)
{
    const struct upmu_sampling sampling = {.period = UINT64_C(1) << 28};
    const struct upmu_counter *counter;
    uint64_t value = 0;
    unsigned number;
    uintptr_t flags;
    bool read;
    enum upmu_status status = upmu_session_init(&cmd->session, cmd->machine);

    if (cmd->port->rdpmc == NULL || cmd->port->pmi_rearm == NULL) {
        self_skip(cmd, self, "width", "needs RDPMC and interrupts");
        return;
    }
    if (status == UPMU_OK)
        status = upmu_set_add(&cmd->session.set, "cycles", &sampling);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&cmd->session, cmd->cpu);
    if (status == UPMU_OK)
        status = upmu_session_start(&cmd->session);
    number = cmd->session.set.tally[0].counter;
    if (status != UPMU_OK || number >= UPMU_COUNTERS) {
        self_skip(cmd, self, "width", upmu_status_text(status));
        return;
    }
    counter = &cmd->pmu->counter[number];
    flags = cmd->port->irq_save != NULL ? cmd->port->irq_save(cmd->port->context) : 0;
    read = cmd->port->rdpmc(cmd->port->context, counter->rdpmc, &value);
    if (cmd->port->irq_restore != NULL)
        cmd->port->irq_restore(cmd->port->context, flags);
    (void)!upmu_session_detach(&cmd->session);
    if (!read) {
        self_skip(cmd, self, "width", "RDPMC faults");
        return;
    }
    self_verdict(cmd, self, bits_of(value) == counter->width, "width");
    cmd_print(cmd, ": a counter loaded with -2^28 reads 0x%X, %u bits, CPUID says %u\n", value, bits_of(value),
              (unsigned)counter->width);
}

static void test_overflow(struct cmd *cmd, struct self *self)
{
    const uint64_t expected = self->iterations * self->spin->instructions;
    const struct upmu_sampling sampling = {.period = (uint32_t)expected / SELF_PERIODS};
    const uint64_t each = is_hosted(cmd) ? SELF_HOST_INTERRUPT : SELF_INTERRUPT;
    struct cmd_interrupts before = cmd_target_interrupts(cmd), after;
    struct upmu_sample sample;
    struct upmu_event event;
    uint64_t count = 0, samples = 0, lost = 0, inside = 0, due;
    enum upmu_status status = upmu_event_parse(cmd->pmu, "instructions", &event, NULL);

    if (status == UPMU_OK)
        status = count_event(cmd, self, &event, &sampling, &count);
    if (status != UPMU_OK) {
        self_skip(cmd, self, "overflow", upmu_status_text(status));
        return;
    }
    while (upmu_ring_next(&cmd->session.ring, &sample)) {
        struct cmd_symbol symbol = cmd_symbol_of(cmd, sample.ip);

        samples++;
        lost += sample.lost;
        inside += symbol.name != NULL ? 1 : 0;
    }
    after = cmd_target_interrupts(cmd);
    due = cmd_divide(count, sampling.period);
    self_verdict(cmd, self, samples + lost + 1 >= due && samples + lost <= due + 1, "overflow");
    cmd_print(cmd, ": %U samples of %U due, %U lost, %U of them inside the loop\n", samples, due, lost, inside);
    self_verdict(cmd, self, within(count, expected, SELF_SLACK + SELF_PERIODS * each), "count while sampling");
    cmd_print(cmd, ": %G, expected from %G\n", count, expected);
    cmd_print(cmd, "      interrupts: %u handled, %u stale, %u not ours\n", (unsigned)(after.handled - before.handled),
              (unsigned)(after.stale - before.stale), (unsigned)(after.not_ours - before.not_ours));
}

static void test_probe(struct cmd *cmd, struct self *self)
{
    enum upmu_verdict wanted = cmd->port->pmi_rearm != NULL ? UPMU_VERDICT_INTERRUPTS : UPMU_VERDICT_COUNTS;
    const struct upmu_probe nothing = {0};
    struct upmu_probe probe = nothing;
    enum upmu_status status;

    cmd_target_probe(cmd, &probe);
    status = upmu_cpu_probe(cmd->cpu, &probe);
    if (status != UPMU_OK) {
        self_skip(cmd, self, "probe", upmu_status_text(status));
        return;
    }
    self_verdict(cmd, self, probe.verdict >= wanted, "probe");
    cmd_print(cmd, ": %s\n", upmu_verdict_text(probe.verdict));
}

static void test_verify(struct cmd *cmd, struct self *self)
{
    struct upmu_why why;
    enum upmu_status status = upmu_cpu_verify(cmd->cpu, &why);

    self_verdict(cmd, self, status == UPMU_OK, "registers hold what was written");
    if (status == UPMU_OK)
        cmd_print(cmd, "\n");
    else
        cmd_print(cmd, ": %s, register 0x%x\n", upmu_status_text(status), (unsigned)why.address);
}

int cmd_selftest(struct cmd *cmd, const struct cmd_args *args)
{
    struct self self = {
        .spin = cmd_workload_find("spin"), .runs = 1, .iterations = SELF_ITERATIONS, .slack = SELF_SLACK};
    uint64_t instructions, branches;
    int result = cmd_target_open(cmd, args);

    if (result != CMD_OK)
        return result;
    if (!cmd->simulated && cmd->live->least_of != 0)
        self = (struct self){.spin = self.spin,
                             .program = true,
                             .runs = cmd->live->least_of,
                             .iterations = SELF_PROGRAM_ITERATIONS,
                             .slack = SELF_PROGRAM_SLACK};
    instructions = self.iterations * self.spin->instructions;
    branches = self.iterations * self.spin->branches;
    cmd_print(cmd, "upmu %u.%u.%u selftest%s\n", UPMU_VERSION_MAJOR, UPMU_VERSION_MINOR, UPMU_VERSION_PATCH,
              cmd->simulated ? " of a SIMULATED CPU" : "");
    cmd_identity(cmd);
    test_probe(cmd, &self);
    if (cmd->pmu != NULL) {
        test_counters(cmd, &self);
        test_known(cmd, &self, "instructions:k", self.program ? 0 : instructions, self.slack);
        test_known(cmd, &self, "instructions:u", self.program ? instructions : 0, self.program ? SELF_PROGRAM_USER : 0);
        test_known(cmd, &self, "branches", branches, self.program ? self.slack / 2 : self.slack);
        test_known(cmd, &self, "branch-misses", 0, self.slack);
        test_known(cmd, &self, "cycles", self.iterations / 4, self.iterations * 20);
        test_stop(cmd, &self);
        test_width(cmd, &self);
        test_overflow(cmd, &self);
        test_verify(cmd, &self);
    }
    cmd_target_close(cmd);
    cmd_coloured(cmd, self.failed == 0 ? CMD_GOOD : CMD_BAD, "%u passed, %u failed", self.passed, self.failed);
    if (self.skipped != 0)
        cmd_print(cmd, ", %u skipped", self.skipped);
    cmd_print(cmd, "\n");
    return self.failed == 0 && self.passed != 0 ? CMD_OK : CMD_REFUSED;
}
