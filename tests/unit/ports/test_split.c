/* SPDX-License-Identifier: MIT */
/*
 * A driver in user mode and a privileged server (examples/split): the driver's port has messages for RDMSR and WRMSR,
 * the server executes them on the model if the allow-list lets them pass.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/common/host.h"
#include "tests/common/table.h"

#include "abi/pmc/pmc_calls.c"
#include "abi/pmc/pmc_client.c"
#include "abi/pmc/pmc_find.c"
#include "abi/pmc/pmc_info.c"
#include "abi/pmc/pmc_log.c"
#include <examples/split/split_driver.c>
#include <examples/split/split_server.c>

#define DRIVER 0   /* the client's number */
#define WATCHDOG 1 /* another, with a counter of its own */

static struct upmu_sim sim;
static struct upmu_permit rows[UPMU_PERMITS];
static struct split_server server;
static struct split_driver driver;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_pmc pmc_memory[4];
static struct upmu_pmcs pmcs;
static uint32_t written[64]; /* addresses of the last writes */
static unsigned writes, refused_writes;
static bool pce, gone;

static bool server_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    const struct upmu_port *port = upmu_sim_port(context);

    return port->rdmsr(port->context, msr, out_value);
}

static bool server_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    const struct upmu_port *port = upmu_sim_port(context);

    written[writes++ % 64] = msr;
    return port->wrmsr(port->context, msr, value);
}

static void server_set_pce(void *context, bool on)
{
    struct upmu_sim *model = context;

    pce = model->cpu[0].cr4_pce = on;
}

static bool exchange(void *context, struct split_message *message)
{
    (void)context;
    if (gone)
        return false;
    split_serve(&server, DRIVER, message);
    refused_writes += message->operation != SPLIT_RDMSR && message->answer == SPLIT_REFUSED;
    return true;
}

static void driver_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct upmu_port *port = upmu_sim_port(&sim);

    (void)context;
    port->cpuid(port->context, leaf, subleaf, out);
}

/* The instruction, in ring 3. */
static bool driver_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    const struct upmu_port *port = upmu_sim_port(&sim);
    bool done;

    (void)context;
    sim.cpu[0].user = true;
    done = port->rdpmc(port->context, index, out_value);
    sim.cpu[0].user = false;
    return done;
}

static struct upmu_cpu *find_cpu(void *context, unsigned number)
{
    (void)context;
    return number == 0 ? &cpu : NULL;
}

static bool copy(void *context, void *to, const void *from, size_t bytes)
{
    (void)context;
    memcpy(to, from, bytes);
    return true;
}

int pmc_syscall(unsigned operation, void *argument, uint32_t bytes)
{
    return upmu_pmc_syscall(&pmcs, 1, operation, argument, bytes);
}

static void run(uint64_t instructions)
{
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = instructions, .cycles = 2 * instructions});
}

/* The server of a kernel for one PMU: no detection. */
static void start_server(const char *profile, const char *name, uint32_t mine)
{
    struct upmu_pmu pmu;

    upmu_sim_init(&sim, upmu_sim_profile(profile), 1);
    upmu_sim_irqs(&sim, false); /* as it is in a server */
    assert_int_equal(upmu_pmu_by_name(&pmu, name), UPMU_OK);
    memset(&server, 0, sizeof server);
    server.rows = rows;
    server.count = upmu_permit_list(&pmu, rows, UPMU_PERMITS);
    server.mine[DRIVER] = pmu.counters & mine;
    server.mine[WATCHDOG] = pmu.counters & ~mine;
    server.rdmsr = server_rdmsr;
    server.wrmsr = server_wrmsr;
    server.set_pce = server_set_pce;
    server.context = &sim;
    pce = true;
    split_begin(&server);
    writes = refused_writes = 0;
    gone = false;
}

static enum upmu_status start_driver(bool with_rdpmc)
{
    enum upmu_status status;

    memset(&machine, 0, sizeof machine);
    memset(&cpu, 0, sizeof cpu);
    split_driver_init(&driver, exchange, NULL, driver_cpuid, with_rdpmc ? driver_rdpmc : NULL);
    if (with_rdpmc)
        driver.port.allow_rdpmc(&driver, true);
    status = upmu_machine_init(&machine, &driver.port);
    if (status == UPMU_OK)
        status = upmu_cpu_init(&cpu, &machine, NULL);
    memset(pmc_memory, 0, sizeof pmc_memory);
    pmcs = (struct upmu_pmcs){.machine = &machine,
                              .pmcs = pmc_memory,
                              .capacity = 4,
                              .find_cpu = find_cpu,
                              .copy_in = copy,
                              .copy_out = copy};
    return status;
}

static const struct {
    const char *profile, *pmu;
} cases[] = {{"core2", "core"},   {"skylake", "skl"},        {"icelake", "icl"},
             {"pentium_m", "pm"}, {"northwood", "netburst"}, {"k8_revf", "amd64_k8_revf"}};
#define CASES (sizeof cases / sizeof cases[0])

/* The program knows libpmc, the driver the library, the server rows; none has more than it needs. */
static void a_program_counts_through_driver_and_server(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        pmc_value_t first, second;
        pmc_id_t id;

        start_server(cases[i].profile, cases[i].pmu, ~UINT32_C(0));
        assert_int_equal(start_driver(true), UPMU_OK);
        assert_true(pce);
        assert_int_equal(pmc_init(), 0);
        assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &id, 0), 0);
        run(77);
        assert_int_equal(pmc_start(id), 0);
        run(12345);
        assert_int_equal(pmc_read(id, &first), 0);
        run(100);
        assert_int_equal(pmc_stop(id), 0);
        run(1000);
        assert_int_equal(pmc_read(id, &second), 0);
        assert_true(first == 12345 && second == 12445);
        assert_int_equal(pmc_release(id), 0);
        assert_int_equal(pmc_allocate("instructions", PMC_MODE_SS, 0, 0, &id, 1000), -1); /* no interrupts */
        assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
        /* (Detection looks for PEBS, 3F1h, and takes a refusal for an answer.) */
        assert_int_equal(refused_writes, 0);
        if (sim.violation_count)
            fail_msg("%s: %s", cases[i].profile, sim.first_violation.text);
    }
}

/* Without the server, or when it refuses, the driver says so; it does not go on with zeros. */
static void a_driver_without_its_server_counts_nothing(void **state)
{
    pmc_value_t value;
    pmc_id_t id;

    (void)state;
    start_server("core2", "core", 0);
    assert_int_equal(start_driver(true), UPMU_ERR_PORT);
    start_server("core2", "core", ~UINT32_C(0));
    assert_int_equal(start_driver(false), UPMU_OK);
    assert_int_equal(pmc_init(), 0);
    assert_int_equal(pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &id, 0), 0);
    assert_int_equal(pmc_start(id), 0);
    gone = true;
    assert_int_equal(pmc_read(id, &value), -1);
    assert_int_equal(pmc_errno, 5);
    gone = false;
}

/* A counter of another client: it runs on, whatever the driver does, and the library leaves it alone. */
static void a_counter_of_another_client_runs_on(void **state)
{
    struct split_message message = {.operation = SPLIT_WRMSR, .number = 0x186, .value = 0x4300c0};
    pmc_value_t value;
    pmc_id_t id;

    (void)state;
    start_server("core2", "core", ~UINT32_C(1));
    upmu_sim_poke(&sim, 0, 0x38f, 0);
    split_serve(&server, WATCHDOG, &message);
    assert_int_equal(message.answer, SPLIT_OK);
    message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x38f, .value = ~UINT64_C(0)};
    split_serve(&server, WATCHDOG, &message);
    assert_true(message.answer == SPLIT_OK && (message.value & 3) == 1);
    assert_int_equal(start_driver(true), UPMU_OK);
    assert_int_equal(upmu_cpu_owner(&cpu, 0), UPMU_OWNER_FIRMWARE);
    assert_int_equal(pmc_init(), 0);
    assert_int_equal(pmc_allocate("0 llc-misses", PMC_MODE_SC, 0, 0, &id, 0), -1);
    assert_int_equal(pmc_allocate("1 instructions", PMC_MODE_SC, 0, 0, &id, 0), 0);
    assert_int_equal(pmc_start(id), 0);
    run(500);
    assert_int_equal(pmc_read(id, &value), 0);
    assert_int_equal(value, 500);
    assert_int_equal(pmc_release(id), 0);
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
    assert_int_equal(upmu_sim_peek(&sim, 0, 0x186), 0x4300c0);
    assert_int_equal(upmu_sim_peek(&sim, 0, 0x38f) & 1, 1);
    assert_int_equal(upmu_sim_peek(&sim, 0, 0xc1), 500);
}

static void messages_have_24_bytes_and_unknown_ones_are_refused(void **state)
{
    struct split_message message = {.operation = 99};

    (void)state;
    assert_int_equal(sizeof message, 24);
    assert_int_equal(offsetof(struct split_message, answer), 16);
    start_server("core2", "core", ~UINT32_C(0));
    split_serve(&server, DRIVER, &message);
    assert_int_equal(message.answer, SPLIT_REFUSED);
    message = (struct split_message){.operation = SPLIT_RDMSR, .number = 0x186};
    split_serve(&server, 2, &message); /* a client that owns nothing */
    assert_int_equal(message.answer, SPLIT_REFUSED);
    split_serve(&server, SPLIT_CLIENTS, &message);
    assert_int_equal(message.answer, SPLIT_REFUSED);
    assert_int_equal(server.refused, 3);
    /* What is permitted and faults is no refusal. */
    upmu_sim_init(&sim, upmu_sim_profile("no_pmu"), 1);
    split_serve(&server, DRIVER, &message);
    assert_int_equal(message.answer, SPLIT_FAULT);
}

/* Ring 0 executes what it has a number for, with an argument that is a value. */
static void level_0_runs_numbers_only(void **state)
{
    struct split_message message = {.operation = SPLIT_WRMSR, .number = 0x187, .value = 0x4300c0};
    uint64_t value = 0;

    (void)state;
    start_server("core2", "core", ~UINT32_C(2));
    split_serve(&server, WATCHDOG, &message);
    message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x186, .value = 0x43003c};
    split_serve(&server, DRIVER, &message);
    message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x38f, .value = 1};
    split_serve(&server, DRIVER, &message);
    message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x38f, .value = 2};
    split_serve(&server, WATCHDOG, &message);
    split_driver_init(&driver, exchange, NULL, driver_cpuid, NULL);
    for (unsigned number = 2; number < 40; number++)
        assert_false(split_level0(&driver, number, &value));
    assert_false(split_level0(&driver, (enum split_function)0x80001234u, &value));
    assert_true(split_level0(&driver, SPLIT_REFUSALS, &value));
    assert_int_equal(value, 39);
    assert_int_equal(upmu_sim_peek(&sim, 0, 0x38f) & 3, 3);
    assert_true(split_level0(&driver, SPLIT_FORGET, &value));
    assert_int_equal(upmu_sim_peek(&sim, 0, 0x186), 0);
    assert_int_equal(upmu_sim_peek(&sim, 0, 0x187), 0x4300c0);
    assert_int_equal(upmu_sim_peek(&sim, 0, 0x38f), 2);
}

/* Interrupts are the kernel's to serve, and it may not know of them; what off-core events need is granted. */
static void a_driver_raises_no_interrupts(void **state)
{
    static const struct {
        const char *profile, *pmu;
        uint32_t msr;
        uint64_t value, interrupt;
    } writes_of[] = {
        {"skylake", "skl", 0x187, 0x4300c0, 0x100000},
        {"skylake", "skl", 0x38d, 0x33, 0x8},
        {"skylake", "skl", 0x1a6, 0x10001, 0},
        {"k8_revf", "amd64_k8_revf", 0xc0010001, 0x4300c0, 0x100000},
        {"northwood", "netburst", 0x36c, 0x3d000, UINT64_C(1) << 26},
    };

    (void)state;
    for (size_t i = 0; i < sizeof writes_of / sizeof writes_of[0]; i++) {
        struct split_message message = {
            .operation = SPLIT_WRMSR, .number = writes_of[i].msr, .value = writes_of[i].value};

        start_server(writes_of[i].profile, writes_of[i].pmu, ~UINT32_C(0));
        server.payload = UINT32_C(1) << DRIVER;
        split_serve(&server, DRIVER, &message);
        assert_int_equal(message.answer, SPLIT_OK);
        assert_int_equal(upmu_sim_peek(&sim, 0, writes_of[i].msr), writes_of[i].value, i);
        message.value |= writes_of[i].interrupt;
        split_serve(&server, DRIVER, &message);
        assert_int_equal(message.answer, writes_of[i].interrupt ? SPLIT_REFUSED : SPLIT_OK, i);
        assert_int_equal(upmu_sim_peek(&sim, 0, writes_of[i].msr), writes_of[i].value, i);
    }
}

/*
 * What one client may see and do beside another.  Catches a server whose reads are checked by no owner, one right to
 * RDPMC for all, AnyThread as a bit of any session, and off-core registers as a right of every client.
 */
static void a_client_sees_and_opens_what_is_its_own(void **state)
{
    static const uint32_t others[] = {0x186, 0xc1, 0x4c1};
    struct split_message message;

    (void)state;
    start_server("skylake", "skl", ~UINT32_C(1));
    assert_false(pce);
    upmu_sim_poke(&sim, 0, 0xc1, 4711);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        message = (struct split_message){.operation = SPLIT_RDMSR, .number = others[i], .value = 77};
        split_serve(&server, DRIVER, &message);
        assert_true(message.answer == SPLIT_OTHERS && message.value == 0);
        split_serve(&server, WATCHDOG, &message);
        assert_int_equal(message.answer, SPLIT_OK);
    }
    for (uint64_t bit = 0x200000; bit; bit = bit == 0x200000 ? 0x100000 : 0) { /* AnyThread, interrupt */
        message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x187, .value = 0x4100c0 | bit};
        split_serve(&server, DRIVER, &message);
        assert_int_equal(message.answer, SPLIT_REFUSED);
    }
    message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x38d, .value = 4};
    split_serve(&server, DRIVER, &message);
    assert_int_equal(message.answer, SPLIT_REFUSED);
    server.mine[DRIVER] |= server.mine[WATCHDOG];
    message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x1a6, .value = 0x10001};
    split_serve(&server, DRIVER, &message);
    assert_int_equal(message.answer, SPLIT_REFUSED);
    server.mine[DRIVER] &= ~server.mine[WATCHDOG];
    assert_true(upmu_sim_peek(&sim, 0, 0x187) == 0 && upmu_sim_peek(&sim, 0, 0x1a6) == 0);
    /* RDPMC: closed while a count of the other is there, and open for the client that asked alone. */
    message = (struct split_message){.operation = SPLIT_SETPCE, .value = 1};
    split_serve(&server, DRIVER, &message);
    assert_true(message.answer == SPLIT_OK && message.value == 0 && !pce);
    upmu_sim_poke(&sim, 0, 0xc1, 0);
    split_run(&server, DRIVER);
    assert_true(pce);
    message = (struct split_message){.operation = SPLIT_SETPCE, .value = 0};
    split_serve(&server, WATCHDOG, &message);
    assert_false(pce);
    split_run(&server, DRIVER);
    assert_true(pce);
    split_run(&server, SPLIT_CLIENTS);
    assert_false(pce);
    message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x186, .value = 0x4100c0};
    split_serve(&server, WATCHDOG, &message);
    split_run(&server, DRIVER);
    assert_false(pce);
}

/*
 * RDPMC reads more than counters: of Ice Lake the metrics, too, which outlive the fixed counter that made them.
 * Catches a server that looks only at registers of one counter, and at values only: a fixed counter that another
 * client has just opened holds 0, and counts as soon as a program runs.
 */
static void rdpmc_is_closed_by_metrics_and_by_others_fixed_counters(void **state)
{
    struct split_message message = {.operation = SPLIT_SETPCE, .value = 1};

    (void)state;
    start_server("icelake", "icl", 3);
    split_serve(&server, DRIVER, &message);
    assert_true(pce);
    upmu_sim_poke(&sim, 0, 0x329, 0x10203040);
    split_run(&server, DRIVER);
    assert_false(pce);
    upmu_sim_poke(&sim, 0, 0x329, 0);
    split_run(&server, DRIVER);
    assert_true(pce);
    message = (struct split_message){.operation = SPLIT_WRMSR, .number = 0x38d, .value = 2};
    split_serve(&server, DRIVER, &message); /* fixed counter 0 is the other's */
    assert_int_equal(message.answer, SPLIT_REFUSED);
    split_serve(&server, WATCHDOG, &message);
    assert_int_equal(message.answer, SPLIT_OK);
    split_run(&server, DRIVER);
    assert_false(pce);
    split_run(&server, WATCHDOG);
    message = (struct split_message){.operation = SPLIT_SETPCE, .value = 1};
    split_serve(&server, WATCHDOG, &message);
    assert_true(pce); /* the bits are its own */
}

/* Any messages: registers of no PMU are never written, those of the other client never change. */
static void a_hostile_driver_reaches_its_own_counters_only(void **state)
{
    unsigned rounds = getenv("FUZZ_RUNS") ? 1000000 : 20000, answers[4] = {0};
    uint64_t seed = 88172645463325252u;

    (void)state;
    start_server("core2", "core", ~UINT32_C(0x10001));
    upmu_sim_poke(&sim, 0, 0x186, 0x4300c0);
    upmu_sim_poke(&sim, 0, 0xc1, 4711);
    upmu_sim_poke(&sim, 0, 0x38f, 0x100000001);
    upmu_sim_poke(&sim, 0, 0x38d, 3);
    upmu_sim_poke(&sim, 0, 0x309, 1234);
    for (unsigned i = 0; i < rounds; i++) {
        struct split_message message;
        unsigned before = writes;

        for (size_t k = 0; k < sizeof message / 8; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            ((uint64_t *)(void *)&message)[k] = seed;
        }
        message.operation = message.operation % 6;
        if (message.value & 1)
            message.number = rows[message.number % server.count].address;
        else if (message.value & 2)
            message.number &= 0x1fff;
        if (message.value & 4)
            message.value &= UINT64_C(0x3000fffff);
        split_serve(&server, DRIVER, &message);
        assert_compare(message.answer, <=, SPLIT_OTHERS);
        answers[message.answer]++;
        for (; before != writes; before++) {
            uint32_t msr = written[before % 64];

            assert_true(msr == 0xc2 || msr == 0x187 || msr == 0x30a || msr == 0x30b || msr == 0x38d || msr == 0x38f ||
                        msr == 0x390);
        }
        assert_int_equal(upmu_sim_peek(&sim, 0, 0x186), 0x4300c0);
        assert_int_equal(upmu_sim_peek(&sim, 0, 0xc1), 4711);
        assert_int_equal(upmu_sim_peek(&sim, 0, 0x309), 1234);
        assert_int_equal(upmu_sim_peek(&sim, 0, 0x38f) & 0x100000001, 0x100000001);
        assert_int_equal(upmu_sim_peek(&sim, 0, 0x38d) & 0xf, 3);
    }
    assert_true(answers[SPLIT_OK] > rounds / 10 && answers[SPLIT_REFUSED] > rounds / 10);
}

/* docs/PMC.md has the messages of each operation; here they are counted. */
static void the_split_costs_what_its_page_says(void **state)
{
    struct upmu_session session;
    struct upmu_count counts[4];
    unsigned cost[3];
    char line[200];
    unsigned found = 0;
    FILE *page = source_open("docs/PMC.md");

    (void)state;
    start_server("skylake", "skl", ~UINT32_C(0));
    assert_int_equal(start_driver(true), UPMU_OK);
    assert_int_equal(upmu_session_init(&session, &machine), UPMU_OK);
    assert_int_equal(upmu_set_add(&session.set, "instructions,cycles,branches,branch-misses", NULL), UPMU_OK);
    assert_int_equal(upmu_session_attach_cpu(&session, &cpu), UPMU_OK);
    driver.messages = 0;
    assert_int_equal(upmu_session_start(&session), UPMU_OK);
    cost[0] = driver.messages;
    driver.messages = 0;
    assert_int_equal(upmu_set_read(&session.set, 0, 4, counts), UPMU_OK);
    cost[1] = driver.messages;
    driver.messages = 0;
    assert_int_equal(upmu_session_stop(&session), UPMU_OK);
    cost[2] = driver.messages;
    while (fgets(line, sizeof line, page)) {
        static const char *const names[] = {"| start of 4 events | %u |", "| read of 4 events | %u |",
                                            "| stop of 4 events | %u |"};
        unsigned said;

        for (unsigned i = 0; i < 3; i++)
            if (sscanf(line, names[i], &said) == 1) {
                assert_int_equal(said, cost[i], i);
                found |= 1u << i;
            }
    }
    fclose(page);
    if (found != 7)
        fail_msg("docs/PMC.md lacks rows; start %u, read %u, stop %u", cost[0], cost[1], cost[2]);
    assert_int_equal(upmu_session_detach(&session), UPMU_OK);
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_counts_through_driver_and_server),
        cmocka_unit_test(a_driver_without_its_server_counts_nothing),
        cmocka_unit_test(a_counter_of_another_client_runs_on),
        cmocka_unit_test(messages_have_24_bytes_and_unknown_ones_are_refused),
        cmocka_unit_test(level_0_runs_numbers_only),
        cmocka_unit_test(a_driver_raises_no_interrupts),
        cmocka_unit_test(a_client_sees_and_opens_what_is_its_own),
        cmocka_unit_test(rdpmc_is_closed_by_metrics_and_by_others_fixed_counters),
        cmocka_unit_test(a_hostile_driver_reaches_its_own_counters_only),
        cmocka_unit_test(the_split_costs_what_its_page_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
