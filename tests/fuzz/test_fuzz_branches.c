/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: branch stacks whose registers hold anything, and calls in any order, some of them in an NMI at any access of
 * another.  No entry is invented, none has an end that was not asked for, nothing is written behind the room or behind
 * the count; what records afterwards is what should, and the end leaves the registers as they were found.
 */
#include <string.h>
#include <upmu/cpu.h>

#include "core/sample/branches_core.h"
#include "models/sim/sim.h"
#include "tests/fuzz/fuzz.h"

#define FORMATS 12u /* ten, and two that do not exist */
#define ROOM 66u
#define FILL 0x5a

static const char *const profiles[] = {
    "core2",    "silvermont",    "nehalem", "sandybridge", "haswell_smt",    "broadwell",
    "knl",      "goldmont_plus", "skylake", "icelake",     "sapphirerapids", "adl_e",
    "zen4",     "zen3",          "p6",      "yonah",       "counts_nothing", "tremont",
    "goldmont", "haswell_notsx"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

/* First registers of the stacks, and the distance between entries. */
static const uint32_t stacks[][2] = {{0x40, 1},   {0x60, 1},   {0x680, 1},  {0x6c0, 1},  {0xdc0, 1},
                                     {0x1500, 1}, {0x1600, 1}, {0x1200, 1}, {0x1c9, 64}, {0xc0010300, 1}};
static const uint32_t controls[] = {0x1d9, 0x1c8, 0x14ce, 0x14cf, 0xc000010e, 0xc000010f};
#define CONTROLS (sizeof controls / sizeof controls[0])

static struct upmu_sim sim;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct fuzz_bytes nmi; /* what comes in between, while there is any */
static uint32_t asked;        /* of the last start */
static uint64_t kernel_from;
static bool taken; /* what others had left */

static bool is_negative(uint64_t address, unsigned bits)
{
    uint64_t top = address >> (bits - 1u);

    return top == 0 || top == ~UINT64_C(0) >> (bits - 1u);
}

/* The same decision as the decoder's, from the published layouts. */
static void check_decoder(struct fuzz_bytes *input)
{
    enum upmu_branch_format format = (enum upmu_branch_format)(fuzz_u8(input) % FORMATS);
    uint64_t from = fuzz_u64(input), to = fuzz_u64(input), info = fuzz_u64(input);
    struct upmu_branch out;
    enum upmu_branch_entry entry;

    memset(&out, FILL, sizeof out);
    entry = upmu_branch_decode(format, from, to, info, &out);
    if (format == UPMU_BRANCH_FORMAT_AMD)
        FUZZ_CHECK(entry == (to >> 62 && !(to >> 61 & 1) ? UPMU_BRANCH_TAKEN : UPMU_BRANCH_SKIP), "AMD: %d",
                   (int)entry);
    else
        FUZZ_CHECK(entry == (from ? UPMU_BRANCH_TAKEN : UPMU_BRANCH_END), "%d: %d", (int)format, (int)entry);
    if (entry != UPMU_BRANCH_TAKEN) {
        FUZZ_CHECK(out.from == UINT64_C(0x5a5a5a5a5a5a5a5a) && out.info == out.from, "written");
        return;
    }
    FUZZ_CHECK(!(out.info & ~upmu_branch_info_of(format, 0)), "%d: info %llx", (int)format,
               (unsigned long long)out.info);
    FUZZ_CHECK(is_negative(out.from, format == UPMU_BRANCH_FORMAT_AMD                                          ? 57
                                     : format == UPMU_BRANCH_FORMAT_TSX                                        ? 61
                                     : format == UPMU_BRANCH_FORMAT_FLAGS || format == UPMU_BRANCH_FORMAT_TIME ? 63
                                                                                                               : 64) &&
                   is_negative(out.to, format == UPMU_BRANCH_FORMAT_AMD    ? 57
                                       : format == UPMU_BRANCH_FORMAT_TIME ? 48
                                                                           : 64),
               "%d: an address without its sign", (int)format);
    if (format == UPMU_BRANCH_FORMAT_32)
        FUZZ_CHECK(out.from == (uint32_t)from && out.to == (from >> 32 ? from >> 32 : (uint32_t)to),
                   "0: another address");
    else
        FUZZ_CHECK(!((out.from ^ from) & ((UINT64_C(1) << 57) - 1)) && !((out.to ^ to) & ((UINT64_C(1) << 47) - 1)),
                   "%d: another address", (int)format);
}

static bool is_recording(void)
{
    const struct upmu_branch_stack *stack = cpu.meter.pmu->branch_stack;

    return stack && upmu_sim_peek(&sim, 0, stack->control) & stack->enable;
}

static void check_read(unsigned room)
{
    struct upmu_branch out[ROOM];
    struct upmu_branch filled;
    unsigned count = 99;
    enum upmu_status status;

    memset(out, FILL, sizeof out);
    memset(&filled, FILL, sizeof filled);
    status = upmu_branches_read(&cpu, out, room, &count);
    fuzz_calls++;
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_STATE, "a read: %d", (int)status);
    FUZZ_CHECK(count <= room && (status == UPMU_OK || !count), "%u of %u", count, room);
    if (status == UPMU_OK)
        FUZZ_CHECK(count <= upmu_branches_facts(cpu.meter.pmu).depth, "%u entries", count);
    for (unsigned i = 0; i < count; i++) {
        bool kernel = out[i].from >= kernel_from || out[i].to >= kernel_from;

        FUZZ_CHECK(asked & (kernel ? UPMU_BRANCH_KERNEL : UPMU_BRANCH_USER), "a branch of the other mode");
        FUZZ_CHECK(!(out[i].info & ~upmu_branches_facts(cpu.meter.pmu).info), "bits that mean nothing: %llx on %s",
                   (unsigned long long)out[i].info, cpu.meter.pmu->name);
        FUZZ_CHECK(!(asked & UPMU_BRANCH_NO_INFO) || !out[i].info, "info that was not asked for");
    }
    for (unsigned i = count; i < ROOM; i++)
        FUZZ_CHECK(!memcmp(&out[i], &filled, sizeof filled), "behind the count");
}

static void poke(struct fuzz_bytes *input)
{
    uint8_t which = fuzz_u8(input);

    upmu_sim_poke(&sim, 0, stacks[which % 10u][0] + stacks[which % 10u][1] * (fuzz_u8(input) & 31u) % 64u,
                  fuzz_u64(input));
}

static void between(struct upmu_sim *model, unsigned index, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    (void)model, (void)index, (void)number, (void)kind, (void)address;
    switch (fuzz_more(&nmi) ? fuzz_u8(&nmi) : 255) {
    case 0:
        check_read(fuzz_u8(&nmi) % ROOM);
        break;
    case 1:
        (void)!upmu_branches_freeze(&cpu);
        fuzz_calls++;
        break;
    default:
        break;
    }
}

static void start(struct fuzz_bytes *input)
{
    struct upmu_branch_filter filter = {.record = fuzz_u8(input) | (uint32_t)(fuzz_u8(input) & 3u) << 8};
    struct upmu_why why;
    enum upmu_status status;
    uint32_t before = asked;
    uint64_t from = kernel_from;

    filter.kernel_from = fuzz_u8(input) & 1u ? fuzz_u64(input) : 0;
    if (!cpu.branches.stack) {
        asked = filter.record & 3u ? filter.record : filter.record | 3u;
        kernel_from = filter.kernel_from ? filter.kernel_from : UINT64_C(1) << 63;
    }
    status = upmu_branches_start(&cpu, &filter, &why);
    taken |= filter.record & UPMU_BRANCH_TAKE;
    fuzz_calls++;
    FUZZ_CHECK(status == why.status, "%d, and the reason is of %d", (int)status, (int)why.status);
    FUZZ_CHECK(status == UPMU_OK || status == UPMU_ERR_UNSUPPORTED || status == UPMU_ERR_STATE ||
                   status == UPMU_ERR_NO_PMU,
               "a start: %d, register %x", (int)status, why.address);
    if (status != UPMU_OK && cpu.branches.stack) {
        asked = before;
        kernel_from = from;
    }
}

static void one_call(struct fuzz_bytes *input)
{
    struct upmu_sim_branch branch;

    switch (fuzz_u8(input) % 9u) {
    case 0:
        start(input);
        break;
    case 1:
        FUZZ_CHECK(upmu_branches_stop(&cpu) == UPMU_OK && !cpu.branches.stack, "a stop");
        break;
    case 2:
        check_read(fuzz_u8(input) % ROOM);
        return;
    case 3:
        (void)!upmu_branches_freeze(&cpu);
        break;
    case 4:
        (void)!upmu_branches_resume(&cpu);
        break;
    case 5:
        branch.from = fuzz_u64(input);
        branch = (struct upmu_sim_branch){
            .from = branch.from, .to = fuzz_u64(input), .kind = (enum upmu_sim_branch_kind)(fuzz_u8(input) % 7u)};
        upmu_sim_branch(&sim, &branch);
        return;
    case 6:
        FUZZ_CHECK(upmu_cpu_suspend(&cpu) == UPMU_OK && !cpu.branches.stack && upmu_cpu_resume(&cpu) == UPMU_OK,
                   "sleep");
        break;
    default:
        poke(input);
        return;
    }
    fuzz_calls++;
}

static void run(const uint8_t *bytes, size_t length)
{
    struct fuzz_bytes input = {bytes, bytes + length};
    uint64_t found[CONTROLS];

    check_decoder(&input);
    memset(&machine, 0, sizeof machine);
    memset(&cpu, 0, sizeof cpu);
    upmu_sim_init(&sim, upmu_sim_profile(profiles[fuzz_u8(&input) % PROFILES]), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    upmu_sim_irqs(&sim, false);
    sim.rule[UPMU_SIM_RULE_LBR_FILTERS] = fuzz_u8(&input) & 1u;
    if (fuzz_u8(&input) & 1u) {
        uint32_t control = controls[fuzz_u8(&input) % CONTROLS];

        /* What other software may have left: DEBUGCTL 2 is reserved, LBR_CTL 6, too. */
        upmu_sim_poke(&sim, 0, control, fuzz_u8(&input) & (control == 0x1d9 ? 3u : control == 0x14ce ? 7u : 0x47u));
    }
    /* (A depth that CPUID does not show.) */
    upmu_sim_poke(&sim, 0, 0x14cf, 32);
    for (unsigned i = 0; i < CONTROLS; i++)
        found[i] = upmu_sim_peek(&sim, 0, controls[i]);
    asked = 3;
    taken = false;
    kernel_from = UINT64_C(1) << 63;
    nmi = (struct fuzz_bytes){bytes, bytes + (length & 63u)};
    FUZZ_CHECK(upmu_machine_init(&machine, &sim.port) == UPMU_OK, "the machine");
    if (upmu_cpu_init(&cpu, &machine, NULL) != UPMU_OK)
        return;
    sim.before_access = between;
    while (fuzz_more(&input)) {
        one_call(&input);
        if (cpu.branches.stack)
            FUZZ_CHECK(is_recording() == !cpu.branches.frozen, "it records: %d, %s", is_recording(),
                       cpu.meter.pmu->name);
    }
    sim.before_access = NULL;
    FUZZ_CHECK(upmu_cpu_fini(&cpu) == UPMU_OK, "the end: register %x", cpu.meter.bank.faulted);
    for (unsigned i = 0; i < CONTROLS; i++)
        if (controls[i] != 0x1c8 || !taken) /* (A shared filter that was taken stays off.) */
            FUZZ_CHECK(upmu_sim_peek(&sim, 0, controls[i]) == found[i], "%x: %llx becomes %llx", controls[i],
                       (unsigned long long)found[i], (unsigned long long)upmu_sim_peek(&sim, 0, controls[i]));
    FUZZ_CHECK(!sim.violation_count, "%s (%x)", sim.first_violation.text, sim.first_violation.address);
}

static void make(uint64_t *random, struct fuzz_draft *draft)
{
    fuzz_put(draft, fuzz_random(random), 1);
    for (unsigned i = 0; i < 3; i++)
        fuzz_put(draft, fuzz_word(random), 8);
    fuzz_put(draft, fuzz_random(random), 5);
    for (unsigned steps = fuzz_below(random, 40); steps; steps--) {
        unsigned what = fuzz_below(random, 9);

        fuzz_put(draft, what, 1);
        if (what == 0) {
            fuzz_put(draft, fuzz_below(random, 2) ? 7 : fuzz_random(random), 1);
            fuzz_put(draft, fuzz_random(random), 2);
        } else if (what > 6 || what == 2) {
            fuzz_put(draft, fuzz_random(random), 2);
        }
        if (what > 4)
            fuzz_put(draft, fuzz_word(random), 8);
        if (what == 5)
            fuzz_put(draft, fuzz_word(random), 9);
    }
}

const struct fuzz_target fuzz_target = {
    "branches", "any_entries_and_calls_show_what_was_asked_for", 20000, 2000000, run, make, 0};
