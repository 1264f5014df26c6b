/* SPDX-License-Identifier: MIT */
/*
 * Steps of branch traces in memory: a CPU is traced into memory of the host, at linear addresses of its own; the trace
 * ends by a call or with the CPU, and its branches are taken at any time after that.  Then the memory is unmapped.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <upmu/branches.h>

#include "tests/host/real.h"
#include "tests/host/simulated.h"

#define LINEAR UINT64_C(0xffffc00000000000) /* no memory of precise records is near */
#define STEP_OF_LINEAR UINT64_C(0x100000)
#define AREA_AT 0x10000u
#define AREA_BYTES 4096u
#define KERNEL UINT64_C(0xffff800000000000) /* the fakes' */

static uint64_t lendings; /* each has linear addresses of its own */

bool traces_are_on(void)
{
    return setting_has(&host.setting, THEME_TRACES);
}

/* ---- Memory, as the hardware accesses it ---- */

bool traces_lent(unsigned number)
{
    enum trace_state state = host.cpu[number].traces.state;

    return state != TRACE_NONE && state != TRACE_ENDED;
}

bool traces_use_records(unsigned number)
{
    return traces_lent(number) && !host.cpu[number].traces.area;
}

static uint8_t *behind(const struct host_traces *at, uint64_t linear, size_t size)
{
    uint64_t offset = linear - at->linear;

    if (offset < at->bytes && offset + size <= at->bytes)
        return (uint8_t *)at->entries + offset;
    offset -= AREA_AT;
    return at->area && offset < AREA_BYTES && offset + size <= AREA_BYTES ? (uint8_t *)at->area + offset : NULL;
}

static bool hardware_access(unsigned number, uint64_t linear, void *bytes, size_t size, bool is_write)
{
    const struct host_traces *at = &host.cpu[number].traces;
    uint8_t *memory = traces_lent(number) ? behind(at, linear, size) : NULL;
    bool kept = at->unsafe && linear - LINEAR < (lendings + 1u) * STEP_OF_LINEAR;

    if (!memory && !kept)
        return precise_hardware.access(number, linear, bytes, size, is_write);
    precise_copy(memory, bytes, size, is_write);
    return true;
}

const struct hardware_traces traces_hardware = {hardware_access, traces_taken, traces_lost};

/* ---- Memory is lent and given back ---- */

static void give_back(struct host_traces *at, bool keep)
{
    void *blocks[] = {at->bts, at->entries, at->area};

    at->unsafe |= keep;
    for (unsigned i = 0; i < 3; i++)
        if (blocks[i] && !keep)
            arena_give(blocks[i]);
        else if (blocks[i] && host.kept_blocks < sizeof host.kept / sizeof host.kept[0])
            host.kept[host.kept_blocks++] = blocks[i];
    at->bts = NULL;
    at->entries = at->area = NULL;
    at->state = TRACE_NONE;
    arena_forgotten();
}

/* What bts.h refuses. */
static void give_wrong(struct upmu_bts *bts, struct lots *lots)
{
    static const size_t sizes[] = {0, 24, 4000, 4100, UPMU_BTS_MOST_BYTES + 4096u};

    switch (lots_below(lots, rules_strict ? 8 : 7)) {
    case 0:
        bts->entries_linear += 8;
        break;
    case 1:
        bts->entries_linear = UINT64_C(1) << 60;
        break;
    case 2:
        bts->entry_bytes = sizes[lots_below(lots, 5)];
        break;
    case 3:
        bts->record |= lots_below(lots, 2) ? UPMU_BRANCH_CALL : UINT32_C(1) << 31;
        break;
    case 4:
        bts->entries = (uint8_t *)bts->entries + 8;
        break;
    case 5:
        bts->area_linear = bts->area ? bts->entries_linear : 0;
        bts->area = bts->area ? bts->area : bts->entries;
        break;
    case 6:
        bts->area = bts->area ? NULL : bts->entries;
        break;
    default: /* (README.md, "Open": the last bytes are beyond the lower half.) */
        bts->entries_linear = bts->entry_bytes > 4096u ? (UINT64_C(1) << 56) - 4096u : 4095;
        break;
    }
}

static void lend(struct host_traces *at, struct lots *lots)
{
    static const uint64_t kernel[] = {0, UINT64_C(1) << 63, KERNEL, KERNEL - 4096u};
    bool own = !here()->precise.area;

    at->bytes = 4096u * (lots_below(lots, 2) ? 1u : 1u + lots_below(lots, TRACES_PAGES));
    at->bts = arena_take(sizeof *at->bts, "trace");
    at->entries = arena_take(at->bytes, "entries");
    at->area = own ? arena_take(AREA_BYTES, "area") : NULL;
    at->linear = LINEAR + ++lendings * STEP_OF_LINEAR;
    at->record = lots_below(lots, 4); /* neither, user, kernel, both */
    memset(at->bts, 0, sizeof *at->bts);
    at->bts->entries = at->entries;
    at->bts->entries_linear = at->linear;
    at->bts->entry_bytes = at->bytes;
    at->bts->area = at->area;
    at->bts->area_linear = own ? at->linear + AREA_AT : 0;
    at->bts->record = at->record;
    at->bts->kernel_from = kernel[lots_below(lots, 4)];
    at->stored = at->shown = 0;
    at->damaged = false;
}

static void begin(struct lots *lots)
{
    struct host_traces *at = &here()->traces;
    bool wrong = lots_one_in(lots, 8);
    struct upmu_why why;
    enum upmu_status status;

    lend(at, lots);
    if (wrong)
        give_wrong(at->bts, lots);
    (void)host.setting.family->rdmsr(host.hardware, self->cpu, 0x1d9, &at->control);
    (void)host.setting.family->rdmsr(host.hardware, self->cpu, 0x600, &at->ds);
    at->faults = host.verdict->figures.faults;
    at->state = TRACE_STARTING;
    self->stay++;
    status = HOST_CALL(upmu_bts_start(here()->cpu, at->bts, &why));
    self->stay--;
    TRACE("a trace begins: %u %s", (unsigned)status,
          status == UPMU_ERR_STATE || status == UPMU_ERR_UNSUPPORTED ? why.word : "");
    at->state = status == UPMU_OK ? TRACE_RUNS : status == UPMU_ERR_PORT ? TRACE_UNSURE : TRACE_ENDED;
    traces_started(self->cpu, status,
                   status == UPMU_ERR_STATE || status == UPMU_ERR_UNSUPPORTED ? why.word : upmu_status_text(status),
                   wrong);
    if (at->state == TRACE_ENDED) {
        traces_ended(self->cpu, "upmu_bts_start");
        give_back(at, false);
    }
}

/* A second one, with memory that is given back at once. */
static void begin_again(void)
{
    struct host_traces *at = &here()->traces;
    struct upmu_bts *bts = arena_take(sizeof *bts, "trace");
    enum upmu_status status;

    memcpy(bts, at->bts, sizeof *bts);
    memset(&bts->state, 0, sizeof bts->state);
    self->stay++;
    status = HOST_CALL(upmu_bts_start(here()->cpu, bts, NULL));
    self->stay--;
    if (status == UPMU_OK)
        rules_fail(RULE_STATUS, "upmu_bts_start: OK while a trace runs");
    rules_status("upmu_bts_start (again)", status, "STATE PORT BUSY NO_PMU INVALID");
    arena_give(bts);
    arena_forgotten();
}

/* What it points to besides is the host's, which may take it back before it has taken all branches. */
static void note_end(unsigned number, const char *call)
{
    struct host_traces *at = &host.cpu[number].traces;

    traces_ended(number, call);
    arena_rename(at->bts, "ended trace");
    at->state = TRACE_ENDED;
}

/* ---- Branches are taken ---- */

/* So many of a CPU's trace, by any CPU; all the rest if 0. */
static void read_trace(unsigned number, unsigned most)
{
    struct host_traces *at = &host.cpu[number].traces;
    bool more = true;

    if (!at->bts || at->reading || at->state == TRACE_STARTING || at->state == TRACE_UNSURE)
        return;
    at->reading = true;
    for (unsigned i = 0; more && (!most || i < most); i++) {
        struct upmu_branch branch;

        more = HOST_CALL(upmu_bts_next(at->bts, &branch));
        traces_read(number, more ? &branch : NULL);
    }
    at->reading = false;
}

/* ---- A panic ---- */

/* In the process that ends with it: nothing else happens there, in a handler and without faults. */
static void panic(void)
{
    struct host_cpu *cpu = here();
    bool ends;

    host.alone = true;
    host.zombies = 0;
    host.setting.faults = host.setting.handler_faults = 0;
    rules_off |= UINT32_C(1) << RULE_WRITE; /* (Bits of other software are cleared.) */
    cpu->in_nmi = cpu->irq_off = true;
    cpu->traces.reading = false;
    ends = !cpu->cpu->bts;
    HOST_DO(upmu_records_emergency(cpu->cpu));
    cpu->traces.state = TRACE_ENDED;
    traces_panicked(self->cpu);
    if (rules_strict || !ends) /* (README.md, "Open".) */
        read_trace(self->cpu, 0);
}

/* After it no call is allowed but one that begins anew: so another process goes on as if it had not been. */
static void panic_apart(void)
{
    int status = 0;
    pid_t child;

    if (host.real || host.looking)
        return;
    (void)fflush(stdout);
    TRACE("panic ...");
    child = fork();
    if (child == 0) {
        panic();
        (void)fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        rules_fail(RULE_CRASH, "fork");
    if (status) /* (Its verdict is this one's.) */
        _exit(1);
    host.verdict->figures.panics++;
}

/* Within a call that ends a trace, too. */
void act_traces_point(void)
{
    struct host_traces *at = &here()->traces;

    if (!at->panics || !at->busy || !here()->cpu)
        return;
    at->panics = false;
    panic_apart();
}

/* ---- One of these by lot ---- */

static void end(struct lots *lots)
{
    struct host_traces *at = &here()->traces;
    enum upmu_status status;

    self->stay++;
    at->busy = true;
    at->panics = lots_one_in(lots, 6);
    if (at->panics)
        hooks_block_in(1u + lots_below(lots, 150));
    status = HOST_CALL(upmu_bts_stop(here()->cpu, at->bts));
    at->busy = at->panics = false;
    self->stay--;
    TRACE("the trace ends: %u, %llu branches", (unsigned)status, (unsigned long long)at->stored);
    rules_status("upmu_bts_stop", status, "PORT BUSY");
    if (status == UPMU_ERR_PORT)
        at->state = TRACE_UNSURE;
    if (status != UPMU_OK)
        return;
    if (at->state != TRACE_ENDED)
        note_end(self->cpu, "upmu_bts_stop");
}

/* A bug of the host writes over the index: what is shown then is not known, but nothing else may come of it. */
static void damage(struct host_traces *at, struct lots *lots)
{
    uint64_t *area = at->area ? at->area : here()->precise.area;
    uint64_t wild = lots_draw(lots) >> lots_below(lots, 64);

    at->damaged = true;
    area[1] = lots_below(lots, 2) ? wild : at->linear + lots_below(lots, (uint32_t)at->bytes + 64u);
}

/* A debugger's single steps go from branch to branch (BTF): that bit is its own. */
static void debug(void)
{
    struct host_cpu *cpu = here();
    uint64_t value;

    if (cpu->calls || cpu->power != CPU_LIVE || cpu->world != CPU_IN_HOST ||
        !host.setting.family->rdmsr(host.hardware, self->cpu, 0x1d9, &value))
        return;
    (void)host.setting.family->wrmsr(host.hardware, self->cpu, 0x1d9, value ^ 2u);
    for (unsigned i = 0; i < cpu->register_count; i++)
        if (cpu->registers[i].msr == 0x1d9)
            cpu->lent[i] |= 2;
}

static void work_on(struct host_traces *at, struct lots *lots)
{
    unsigned lot = lots_below(lots, 12);

    if (at->state == TRACE_ENDED && lot < 6 && !at->reading) {
        if (lots_below(lots, 4))
            read_trace(self->cpu, 0);
        give_back(at, false);
    } else if (at->state == TRACE_ENDED && lot < 9) {
        read_trace(self->cpu, 1u + lots_below(lots, 200));
    } else if (here()->power != CPU_LIVE && here()->power != CPU_ASLEEP) {
        return;
    } else if (lot == 9 && at->state == TRACE_RUNS) {
        begin_again();
    } else if (lot == 10) {
        read_trace(self->cpu, 1);
    } else if (lot == 11 && lots_one_in(lots, 3)) {
        panic_apart();
    } else if (lot < 4 || at->state != TRACE_RUNS) {
        if (lots_one_in(lots, 12) && at->state == TRACE_RUNS)
            damage(at, lots);
        end(lots);
        if ((at->damaged || lots_below(lots, 2)) && at->state == TRACE_ENDED)
            read_trace(self->cpu, at->damaged ? 0 : lots_below(lots, 3));
    }
}

void act_traces(const struct step *step, struct lots *lots)
{
    unsigned other = step->where % host.setting.cpus;
    struct host_cpu *cpu = here();

    if (lots_one_in(lots, 6))
        debug();
    if (cpu->traces.busy || cpu->traces.state == TRACE_STARTING || host.setting.family != &hardware_intel)
        return;
    if (lots_one_in(lots, 6) && !host.real && host.cpu[other].traces.state == TRACE_ENDED)
        read_trace(other, 1u + lots_below(lots, 20));
    else if (cpu->traces.bts)
        work_on(&cpu->traces, lots);
    else if (cpu->power != CPU_OFF && !cpu->useless && !cpu->precise.giving)
        begin(lots);
}

void act_traces_come(struct lots *lots)
{
    here()->traces.mixed = false;
    if (traces_are_on() && !here()->traces.bts && lots_below(lots, 4))
        begin(lots);
}

/* Now and then the host's own handler looks whether a trace has ended. */
void act_traces_handler(void)
{
    const struct host_cpu *cpu = here();
    struct lots lots = {self->noise.state ^ UINT64_C(0xc2b2ae3d27d4eb4f)};

    if (!traces_are_on() || !lots_one_in(&lots, 12))
        return;
    if (cpu->calls && lots_one_in(&lots, 8) && traces_lent(self->cpu) && cpu->cpu)
        panic_apart();
    else
        read_trace(self->cpu, 1u + lots_below(&lots, 8));
}

/* ---- Its CPU leaves ---- */

void act_traces_ends(unsigned number, enum upmu_status status)
{
    struct host_traces *at = &host.cpu[number].traces;

    if (!traces_lent(number) || at->state == TRACE_STARTING)
        return;
    if (status == UPMU_OK)
        note_end(number, "the end of its CPU");
    else if (status == UPMU_ERR_PORT)
        at->state = TRACE_UNSURE;
}

void act_traces_over(struct upmu_cpu *upmu, enum upmu_status status)
{
    struct host_traces *at = &here()->traces;

    act_traces_ends(self->cpu, status);
    for (unsigned i = 0; i < 4 && at->state == TRACE_UNSURE; i++) {
        status = HOST_CALL(upmu_bts_stop(upmu, at->bts));
        rules_status("upmu_bts_stop", status, "NO_PMU PORT BUSY");
        act_traces_ends(self->cpu, status);
    }
    if (at->state == TRACE_UNSURE)
        give_back(at, true);
}

void act_traces_end(void)
{
    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (host.cpu[i].traces.bts) {
            read_trace(i, 0);
            give_back(&host.cpu[i].traces, false);
        }
}
