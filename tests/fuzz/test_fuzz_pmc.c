/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: libpmc's calls by three programs, with any arguments, in memory that changes as soon as it was copied.
 * Nothing is harmed, a program's ids are its own, and when all have ended nothing runs.
 */
#include <string.h>

#include "abi/pmc/pmc_calls.c"
#include "abi/pmc/pmc_find.c"
#include "abi/pmc/pmc_info.c"
#include "abi/pmc/pmc_log.c"

#include "models/sim/sim.h"
#include "tests/fuzz/fuzz.h"

#define PMCS 4u
#define OWNERS 3u
#define IDS 8u

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_thread threads[OWNERS + 1], *current;
static struct upmu_pmc memory[PMCS];
static struct upmu_pmcs pmcs;
static uint8_t log_memory[2][256];
static struct upmu_pmc_log logs[2];
static union argument asked;

static struct upmu_cpu *find_cpu(void *context, unsigned number)
{
    (void)context;
    return number == 0 ? &cpu : NULL;
}

static struct upmu_thread *find_thread(void *context, uint32_t owner, int32_t pid, struct upmu_cpu **out_cpu)
{
    unsigned number = pid == 0 ? owner : (uint32_t)pid & 3u;

    (void)context;
    *out_cpu = current == &threads[number] ? &cpu : NULL;
    return number == owner || owner == 1 ? &threads[number] : NULL;
}

/* The program's memory is another one's as soon as it was copied. */
static bool copy_in(void *context, void *to, const void *argument, size_t bytes)
{
    (void)context, (void)argument;
    memcpy(to, &asked, bytes);
    memset(&asked, 0xa5, sizeof asked);
    return true;
}

static bool copy_out(void *context, void *argument, const void *from, size_t bytes)
{
    (void)context, (void)argument;
    memcpy(&asked, from, bytes);
    return true;
}

static bool log_write(void *context, uint32_t owner, int32_t file, const void *bytes, size_t length)
{
    const uint8_t *at = bytes, *end = at + length;

    (void)context, (void)owner;
    for (; at < end; at += ((const struct pmclog_header *)(const void *)at)->pl_length)
        FUZZ_CHECK(((const struct pmclog_header *)(const void *)at)->pl_length >= 16, "a record without length");
    FUZZ_CHECK(at == end, "a record is cut");
    return file != 7;
}

static void set_up(void)
{
    upmu_sim_init(&sim, upmu_sim_profile("core2"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    upmu_sim_irqs(&sim, false);
    memset(memory, 0, sizeof memory);
    for (unsigned i = 0; i < 2; i++)
        logs[i] = (struct upmu_pmc_log){.bytes = log_memory[i], .size = sizeof log_memory[i]};
    pmcs = (struct upmu_pmcs){.machine = &machine,
                              .pmcs = memory,
                              .capacity = PMCS,
                              .logs = logs,
                              .log_count = 2,
                              .find_cpu = find_cpu,
                              .find_thread = find_thread,
                              .copy_in = copy_in,
                              .copy_out = copy_out,
                              .log_write = log_write};
    FUZZ_CHECK(upmu_machine_init(&machine, upmu_sim_port(&sim)) == UPMU_OK &&
                   upmu_cpu_init(&cpu, &machine, NULL) == UPMU_OK,
               "the machine does not come up");
    for (unsigned i = 0; i <= OWNERS; i++)
        upmu_thread_init(&threads[i], i, i, NULL);
    current = &threads[0];
}

/* An argument: mostly what fits the operation. */
static void fill(struct fuzz_bytes *bytes, unsigned operation, const pmc_id_t *ids)
{
    static const char *const specs[] = {"instructions",        "1 cycles",
                                        "llc-misses,usr",      "FP_COMP_OPS_EXE",
                                        "0 branches",          "PMC_EV_IAF_INSTR_RETIRED_ANY",
                                        "raw:config=0x5300c0", ""};
    static const char *const others[] = {"instructions,usr", "raw:config=0x100c0", "raw:config=0x2100c0",
                                         "cycles,usr",       "instructions,os",    "raw:config=0x100c0:config1=1",
                                         "1 branches,usr",   "instructions,usr:any"};
    uint8_t how = fuzz_u8(bytes);

    memset(&asked, 0, sizeof asked);
    if (operation == PMC_OP_ALLOCATE) {
        asked.allocate.pm.pm_mode = fuzz_u8(bytes) % 5u;
        asked.allocate.pm.pm_flags = fuzz_u8(bytes) & 3u;
        asked.allocate.pm.pm_cpu = (int8_t)(fuzz_u8(bytes) % 3u - 1u);
        asked.allocate.pm.pm_row = (int8_t)fuzz_u8(bytes) % 5;
        asked.allocate.pm.pm_count = fuzz_take(bytes, 1u + how % 3u);
        memcpy(asked.allocate.pm_spec, specs[how >> 2 & 7u], strlen(specs[how >> 2 & 7u]));
        if (how & 0x20) {
            memset(asked.allocate.pm_spec, 0, sizeof asked.allocate.pm_spec);
            memcpy(asked.allocate.pm_spec, others[how >> 2 & 7u], strlen(others[how >> 2 & 7u]));
        }
    } else if (operation != PMC_OP_INIT) {
        asked.simple.pm_pmcid = ids[how & (IDS - 1u)];
        asked.simple.pm_value = (int8_t)fuzz_u8(bytes);
    }
    if (operation == PMC_OP_RW || operation == PMC_OP_SET)
        asked.rw.pm_value = fuzz_take(bytes, 1u + how % 8u);
    if (how >= 0xf0)
        for (unsigned i = 0; i < 16; i++)
            ((uint8_t *)&asked)[i] = fuzz_u8(bytes);
}

static void step(struct fuzz_bytes *bytes, pmc_id_t *ids, uint32_t *owners)
{
    unsigned operation = fuzz_u8(bytes), owner = operation >> 5 & 3u, which = fuzz_u8(bytes) & (IDS - 1u);
    pmc_id_t id;
    int answer;

    operation &= 31u;
    if (operation == 30 && owner <= OWNERS && current != &threads[owner]) {
        FUZZ_CHECK(upmu_thread_switch(&cpu, current, &threads[owner]) == UPMU_OK, "a switch is refused");
        current = &threads[owner];
        upmu_pmc_log_switch(&pmcs, (int32_t)owner);
    }
    if (operation >= PMC_OPS + 1u) {
        upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 1000, .cycles = 2000, .branches = 100});
        return;
    }
    fill(bytes, operation, ids);
    id = asked.simple.pm_pmcid;
    answer = upmu_pmc_syscall(&pmcs, owner, operation, &asked, operation < PMC_OPS ? argument_bytes[operation] : 8u);
    fuzz_calls++;
    FUZZ_CHECK(answer >= 0 && answer < 100, "operation %u answers %d", operation, answer);
    if (answer == 0 && operation == PMC_OP_ALLOCATE) {
        FUZZ_CHECK(owner, "a PMC belongs to no program");
        ids[which] = asked.allocate.pm.pm_pmcid;
        owners[which] = owner;
    } else if (answer == 0 && operation >= PMC_OP_RELEASE && operation <= PMC_OP_SET) {
        bool known = false;

        for (unsigned i = 0; i < IDS; i++)
            known |= ids[i] == id && owners[i] == owner;
        FUZZ_CHECK(known || operation > PMC_OP_STOP, "program %u has PMC %x", owner, (unsigned)id);
    }
}

/* A program without rights: its registers have no bit of the kernel's mode, of AnyThread or of a payload. */
static void check_rights(void)
{
    bool system = false;
    unsigned places = 0;

    for (unsigned i = 0; i < PMCS; i++) {
        system |= memory[i].owner == 1;
        places += memory[i].owner > 1;
    }
    FUZZ_CHECK(places < PMCS, "programs without rights have all PMCs");
    for (unsigned i = 0; i < 2 && !system; i++)
        FUZZ_CHECK(!upmu_sim_runs(&sim, 0, i) || !(upmu_sim_peek(&sim, 0, 0x186 + i) & 0x220000),
                   "select %u is %llx", i, (unsigned long long)upmu_sim_peek(&sim, 0, 0x186 + i));
    for (unsigned i = 0; i < 3 && !system; i++)
        FUZZ_CHECK(!upmu_sim_runs(&sim, 0, 16 + i) || !(upmu_sim_peek(&sim, 0, 0x38d) >> 4 * i & 5),
                   "fixed control %llx", (unsigned long long)upmu_sim_peek(&sim, 0, 0x38d));
}

static void run_pmc(const uint8_t *input, size_t length)
{
    struct fuzz_bytes bytes = {input, input + length};
    pmc_id_t ids[IDS];
    uint32_t owners[IDS] = {0};

    memset(ids, 0xff, sizeof ids);
    set_up();
    while (fuzz_more(&bytes)) {
        step(&bytes, ids, owners);
        check_rights();
    }
    for (unsigned owner = 1; owner <= OWNERS; owner++)
        upmu_pmc_exit(&pmcs, owner);
    for (unsigned i = 0; i < PMCS; i++)
        FUZZ_CHECK(!memory[i].owner, "a PMC is left to program %u", (unsigned)memory[i].owner);
    FUZZ_CHECK(upmu_cpu_fini(&cpu) == UPMU_OK, "the machine does not end");
    for (unsigned counter = 0; counter < 20; counter++)
        FUZZ_CHECK(!upmu_sim_runs(&sim, 0, counter), "counter %u runs on", counter);
    FUZZ_CHECK(!sim.violation_count, "%s", sim.first_violation.text);
}

static void make_pmc(uint64_t *random, struct fuzz_draft *draft)
{
    unsigned steps = 5 + fuzz_below(random, 40);

    while (steps-- > 0 && draft->length + 24 < FUZZ_INPUT) {
        fuzz_put(draft,
                 fuzz_below(random, 3) ? 32u * (1 + fuzz_below(random, 3)) + fuzz_below(random, 32)
                                       : 32u + PMC_OP_ALLOCATE,
                 1);
        for (unsigned i = 0; i < 9; i++)
            fuzz_put(draft, fuzz_word(random), 1);
    }
}

const struct fuzz_target fuzz_target = {.name = "pmc",
                                        .holds = "programs_of_libpmc_reach_their_own_alone",
                                        .runs = 4000,
                                        .runs_of_soak = 1000000,
                                        .run = run_pmc,
                                        .make = make_pmc};
