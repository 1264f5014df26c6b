/* SPDX-License-Identifier: MIT */
/*
 * The rig: calls with their bookkeeping, injection, and what must hold.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <upmu/branches.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>

#include "models/sim/sim_p4.h"
#include "tests/common/state.h"
#include "tests/inject/rig.h"

#define FAULT_RETRIES 12

void rig_fail(struct rig *rig, const char *format, ...)
{
    va_list list;

    if ((rig->failed && !rig->order.trace) || rig->over)
        return;
    va_start(list, format);
    vsnprintf(rig->failure, sizeof rig->failure, format, list);
    va_end(list);
    if (rig->order.trace)
        printf("    FAILS at access %u: %s\n", (unsigned)rig->sim.accesses, rig->failure);
    rig->failed = true;
}

uint64_t rig_amount(enum rig_kind kind, uint64_t instructions)
{
    switch (kind) {
    case RIG_INSTRUCTIONS:
        return instructions;
    case RIG_CYCLES:
        return 2 * instructions;
    case RIG_BRANCHES:
        return instructions / 2;
    case RIG_TAGGED:
        return instructions / 5;
    case RIG_REPLAYED:
        return instructions / 10;
    default:
        return instructions / 4;
    }
}

/* ---- Truth ---- */

static int kind_of_amd(uint64_t select)
{
    switch ((select & 0xffffu) | (select >> 16 & 0xf0000u)) {
    case 0x00c0:
        return RIG_INSTRUCTIONS;
    case 0x0076:
        return RIG_CYCLES;
    case 0x00c2:
        return RIG_BRANCHES;
    case 0x077d:
    case 0xff60: /* Zen */
        return RIG_REFERENCES;
    default:
        return -1;
    }
}

static int kind_of_select(uint64_t select)
{
    switch (select & 0xffffu) {
    case 0x00c0:
        return RIG_INSTRUCTIONS;
    case 0x003c:
    case 0x0079: /* P6 */
        return RIG_CYCLES;
    case 0x00c4:
        return RIG_BRANCHES;
    case 0x4f2e:
    case 0x0f2e: /* P6 */
        return RIG_REFERENCES;
    default:
        return -1;
    }
}

bool rig_is_p4(const struct rig *rig)
{
    return rig->sim.profile->flags & UPMU_SIM_P4;
}

bool rig_is_amd(const struct rig *rig)
{
    return rig->sim.profile->flags & UPMU_SIM_AMD;
}

static bool amd_extended(const struct rig *rig)
{
    return rig->sim.profile->amd->features & UPMU_SIM_AMD_CORE;
}

uint32_t rig_value_msr(const struct rig *rig, unsigned i)
{
    if (rig_is_amd(rig))
        return amd_extended(rig) ? 0xc0010201u + 2u * i : 0xc0010004u + i;
    return (rig_is_p4(rig) ? 0x300u : 0xc1u) + i;
}

uint32_t rig_select_msr(const struct rig *rig, unsigned i)
{
    if (rig_is_amd(rig))
        return amd_extended(rig) ? 0xc0010200u + 2u * i : 0xc0010000u + i;
    return (rig_is_p4(rig) ? 0x360u : 0x186u) + i;
}

/* Which ESCR a counter of the Pentium 4 sees, and its value. */
static uint64_t p4_select(const struct rig *rig, unsigned cpu, unsigned counter)
{
    uint64_t cccr = rig->sim.cpu[cpu].p4.cccr[counter];
    uint32_t address = upmu_sim_p4_wired(&rig->sim, counter, cccr);

    return address ? (uint64_t)address << 32 | upmu_sim_peek((struct upmu_sim *)&rig->sim, cpu, address) : 0;
}

static int kind_of_p4(uint64_t select)
{
    switch ((uint32_t)(select >> 32 & ~1u) << 8 | P4_ESCR_EVENT(select)) {
    case P4_CRU0 << 8 | 0x02:
        return RIG_INSTRUCTIONS;
    case P4_FSB << 8 | 0x13:
        return RIG_CYCLES;
    case P4_CRU2 << 8 | 0x06:
        return RIG_BRANCHES;
    case P4_BSU << 8 | 0x0c:
        return RIG_REFERENCES;
    case P4_CRU2 << 8 | P4_EXECUTION_EVENT:
        return RIG_TAGGED;
    case P4_CRU2 << 8 | P4_REPLAY_EVENT:
        return RIG_REPLAYED;
    default:
        return -1;
    }
}

static int kind_on(const struct rig *rig, unsigned cpu, unsigned counter)
{
    if (rig_is_p4(rig))
        return counter < UPMU_SIM_P4_COUNTERS ? kind_of_p4(rig->select[cpu][counter]) : -1;
    if (rig_is_amd(rig))
        return counter < rig->sim.profile->general ? kind_of_amd(rig->select[cpu][counter]) : -1;
    if (counter == UPMU_SIM_FIXED)
        return RIG_INSTRUCTIONS;
    if (counter == UPMU_SIM_FIXED + 1)
        return RIG_CYCLES;
    return counter < UPMU_SIM_GENERAL ? kind_of_select(rig->select[cpu][counter]) : -1;
}

/* What the counters counted since the last time, by the events that they have had since. */
static void account_counts(struct rig *rig)
{
    for (unsigned cpu = 0; cpu < 2; cpu++)
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
            uint64_t counted = rig->sim.cpu[cpu].counter[i].counted;
            uint64_t more = counted - rig->counted[cpu][i];
            int kind = more ? kind_on(rig, cpu, i) : -1;

            /* Shared counters: the bits of thread 1 say whose events those are. */
            bool second = rig->user ? rig->thread_on == RIG_THREADS - 1
                                    : rig_is_p4(rig) && rig->select[cpu][i] & P4_ESCR_T1;

            rig->counted[cpu][i] = counted;
            if (kind >= 0 && !(rig->not_ours[cpu] >> i & 1u))
                rig->truth[cpu || second][kind] += more;
        }
}

void rig_account(struct rig *rig)
{
    account_counts(rig);
    for (unsigned cpu = 0; cpu < 2; cpu++)
        if (rig_is_p4(rig))
            for (unsigned i = 0; i < UPMU_SIM_P4_COUNTERS; i++)
                rig->select[cpu][i] = p4_select(rig, cpu, i);
        else
            memcpy(rig->select[cpu], rig->sim.cpu[cpu].select, UPMU_SIM_GENERAL * sizeof(rig->select[cpu][0]));
}

uint64_t rig_truth(const struct rig *rig, const struct rig_duty *duty, unsigned event)
{
    unsigned kind = duty->kind[event];

    /* Programs may count the same: what counters counted is the one's that runs. */
    if (rig->user)
        return rig->truth[duty->thread == RIG_THREADS][kind];
    return rig->apart ? rig->truth[duty->cpu][kind] : rig->truth[0][kind] + rig->truth[1][kind];
}

static uint64_t happened_on(const struct rig *rig, unsigned cpu, enum rig_kind kind)
{
    const struct upmu_sim_totals *truth = &rig->sim.cpu[cpu].truth[rig->user];

    switch (kind) {
    case RIG_INSTRUCTIONS:
        return truth->instructions;
    case RIG_CYCLES:
        return truth->cycles;
    case RIG_BRANCHES:
        return truth->branches;
    case RIG_REFERENCES:
        return truth->llc_references;
    default:
        return rig->tags[cpu][kind - RIG_TAGGED];
    }
}

static uint64_t wraps(const struct rig *rig)
{
    uint64_t sum = 0;

    for (unsigned cpu = 0; cpu < 2; cpu++)
        for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
            sum += rig->sim.cpu[cpu].counter[i].wraps;
    return sum;
}

const struct upmu_tally *rig_tally(const struct rig_duty *duty, unsigned event)
{
    return event && duty->second ? &duty->second->tally[1] : &duty->session.set.tally[event];
}

bool rig_is_active(const struct rig_duty *duty, unsigned event)
{
    return !duty->second || (duty->session.active == duty->second) == (event != 0);
}

enum upmu_status rig_counts(struct rig_duty *duty, struct upmu_count *out_counts)
{
    enum upmu_status status;

    if (!duty->second)
        return upmu_set_read(&duty->session.set, 0, duty->events, out_counts);
    status = upmu_set_read(&duty->session.set, 0, 1, out_counts);
    return status == UPMU_OK ? upmu_set_read(duty->second, 1, 1, out_counts + 1) : status;
}

/* ---- Execution, interrupts, injection ---- */

/*
 * A session that a call on another moves, or that a poll replays an overflow of: without a gap only if it
 * counts and the gates are one register.
 */
static bool may_miss(const struct rig *rig, const struct rig_duty *duty)
{
    struct upmu_test_state state;

    /* An interrupt in a local call leaves what samples stopped until the end of the call. */
    upmu_test_state(&rig->cpu[duty->cpu], &state);
    for (unsigned k = 0; state.busy && k < duty->events; k++)
        if (duty->period[k])
            return true;
    /* An erratum's sequence before the other's new events stops everything. */
    if (rig->calling && rig->calling != duty && rig->cpu[0].meter.pmu &&
        (rig->cpu[0].meter.pmu->capabilities & UPMU_PMU_PRELUDE))
        return true;
    if (!rig->others_concerned || !(rig->calling || rig->in_cpu_call))
        return false;
    return duty->period[0] || !rig->cpu[0].meter.pmu || !(rig->cpu[0].meter.pmu->capabilities & UPMU_PMU_GLOBAL_CTRL);
}

/* Does the session's world run?  On the way it may. */
static bool may_be_there(const struct rig *rig, const struct rig_duty *duty)
{
    return !duty->world || rig->crossing || (duty->world == UPMU_WORLD_GUEST) == rig->in_guest;
}

static bool is_there(const struct rig *rig, const struct rig_duty *duty)
{
    return may_be_there(rig, duty) && !(duty->world && rig->crossing);
}

/* A register that faulted in an interrupt has stopped the session: it runs no more, and says so. */
static bool ends_by_fault(struct rig *rig, struct rig_duty *duty)
{
    if (!rig->fault_hit || !duty->running || duty->session.state != UPMU_SESSION_STOPPED ||
        duty->session.error != UPMU_ERR_PORT)
        return false;
    duty->running = false;
    return true;
}

/* A session that a fault has stopped in this burst, perhaps in the middle, is certain of nothing that it did. */
static void take_back(struct rig *rig, uint64_t instructions)
{
    for (unsigned i = 0; i < RIG_DUTIES; i++) {
        struct rig_duty *duty = &rig->duty[i];

        if (!ends_by_fault(rig, duty))
            continue;
        for (unsigned k = 0; k < duty->events; k++) {
            uint64_t amount = rig_amount(duty->kind[k], instructions);

            duty->certain[k] -= duty->certain[k] < amount ? duty->certain[k] : amount;
        }
    }
}

static void burst(struct rig *rig, uint64_t instructions)
{
    bool counts = !rig->user || !(rig->inside || rig->in_handler);
    struct upmu_sim_burst work = {
        .user = rig->user && counts,
        .instructions = instructions,
        .cycles = rig_amount(RIG_CYCLES, instructions),
        .branches = rig_amount(RIG_BRANCHES, instructions),
        .llc_references = rig_amount(RIG_REFERENCES, instructions),
        .uops = instructions,
        .ip = 0x1000,
        .ip_step = 1,
        .sp = 0x8000,
    };
    unsigned cpu = rig->sim.current;

    if (rig_is_p4(rig)) {
        work.other[0] = (struct upmu_sim_other){
            .count = rig_amount(RIG_TAGGED, instructions), .escr = P4_FIRM, .event = 0x08, .mask = 0x8000};
        work.other[1] = (struct upmu_sim_other){.count = rig_amount(RIG_REPLAYED, instructions),
                                                .escr = P4_CRU2,
                                                .event = P4_REPLAY_EVENT,
                                                .mask = 1,
                                                .payload = 1,
                                                .matrix = 1};
    }

    for (unsigned i = 0; i < RIG_DUTIES; i++) {
        struct rig_duty *duty = &rig->duty[i];

        ends_by_fault(rig, duty);
        if (counts && duty->running && duty->cpu == rig->sim.current && !rig->in_handler && !may_miss(rig, duty) &&
            !duty->late && is_there(rig, duty))
            for (unsigned k = 0; k < duty->events; k++)
                if (rig_is_active(duty, k))
                    duty->certain[k] += rig_amount(duty->kind[k], instructions);
        if (duty->entitled && duty->cpu == rig->sim.current && !may_be_there(rig, duty))
            for (unsigned k = 0; k < duty->events; k++)
                duty->elsewhere[k] += rig_amount(duty->kind[k], instructions);
    }
    rig_account(rig);
    upmu_sim_events(&rig->sim, &work);
    take_back(rig, instructions);
    rig->tags[cpu][0] += rig_amount(RIG_TAGGED, instructions);
    rig->tags[cpu][1] += rig_amount(RIG_REPLAYED, instructions);
    account_counts(rig);
}

void rig_run(struct rig *rig, uint64_t instructions)
{
    if (rig->order.trace)
        printf("  %u instructions on CPU %u, access %u\n", (unsigned)instructions, rig->sim.current,
               (unsigned)rig->sim.accesses);
    burst(rig, instructions);
}

/* A local call inside a local call is refused, and does no damage. */
static void call_inside(struct rig *rig, unsigned cpu)
{
    enum upmu_status status;

    if (!rig->cpu[cpu].meter.busy || !rig->cpu[cpu].meter.live)
        return;
    status = upmu_cpu_poll(&rig->cpu[cpu]);
    RIG_CHECK(rig, status == UPMU_ERR_BUSY, "poll inside a call answered %s", upmu_status_text(status));
    if (!rig->duty[0].attached)
        return;
    status = upmu_session_stop(&rig->duty[0].session);
    RIG_CHECK(rig, status == UPMU_ERR_BUSY, "stop inside a call answered %s", upmu_status_text(status));
    rig->refused++;
}

static void rig_deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct rig *rig = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    enum upmu_pmi answer;
    bool live = rig->cpu[cpu].meter.live;
    uint64_t wrapped = wraps(rig);

    /* Inside an injection accesses are not told, but it may change events: whose a count is is to be seen. */
    rig->nested = sim->in_callback;
    sim->in_callback = false;
    rig_account(rig);
    rig->in_handler++;
    answer = upmu_pmi_handle(&rig->cpu[cpu], &frame);
    sim->in_callback = rig->nested;
    rig->nested = false;
    if (rig->nests)
        call_inside(rig, cpu);
    rig->in_handler--;
    if (rig->order.trace)
        printf("    %s%s answered %u at access %u\n", interrupt->foreign ? "foreign " : "",
               interrupt->nmi ? "NMI" : "vector", (unsigned)answer, (unsigned)sim->accesses);
    rig->swaps += interrupt->foreign && answer != UPMU_PMI_NOT_OURS;
    if (answer == UPMU_PMI_HANDLED) {
        /* Two threads: the other one's answer may have claimed this one's overflow. */
        if (interrupt->foreign && wraps(rig) == rig->wraps_claimed && !rig->order.variant->status_lag && !rig->apart)
            rig_fail(rig, "a foreign NMI was claimed though nothing had overflowed");
        /* What wrapped by events of the handler's own, after it had looked, is the next one's. */
        rig->wraps_claimed = rig->order.variant->events_per_access ? wrapped : wraps(rig);
    } else if (answer == UPMU_PMI_NOT_OURS && !interrupt->foreign && live && !rig->not_ours[cpu] &&
               !rig->order.variant->status_lag && rig->order.injection != RIG_FAULT) {
        /* A foreign NMI that came before it took its overflow: they are swapped. */
        RIG_CHECK(rig, rig->swaps || rig->strangers, "an interrupt of ours was answered NOT_OURS");
        rig->swaps -= rig->swaps != 0;
    }
}

/*
 * A program's overflow happens before the call, and its interrupt at the access, if the call
 * gets there.
 */
#define FARTHEST 60u

static void inject_late(struct rig *rig)
{
    uint32_t away = rig->order.at - rig->sim.accesses - !rig->order.after;

    if (!rig->user || rig->injected || rig->order.injection != RIG_OVERFLOW || away >= FARTHEST ||
        rig->order.at <= rig->sim.accesses)
        return;
    rig->injected++;
    rig->may_lose += away != 0;
    rig->sim.skid = away;
    if (rig->order.trace)
        printf("    an overflow, its interrupt %u accesses later\n", (unsigned)away);
    burst(rig, RIG_UNIT);
    rig->sim.skid = rig->order.variant->skid;
}

void rig_inject(struct rig *rig)
{
    if (rig->user && rig->order.injection == RIG_OVERFLOW)
        return;
    rig->injected++;
    if (rig->order.trace)
        printf("    injected at access %u%s\n", (unsigned)rig->sim.accesses, rig->in_handler ? ", in the handler" : "");
    if (rig->order.injection == RIG_FOREIGN) {
        upmu_sim_foreign_nmi(&rig->sim);
        return;
    }
    /* Where an overflow waits for its interrupt, the next one is too early. */
    if (rig->in_handler || rig->order.variant->skid || rig->order.variant->vector)
        rig->may_lose++;
    /*
     * Its interrupt comes while LVTPC is masked and, without the flag, is not raised again (docs/pentium4.md): the
     * next one or a poll finds the overflow, up to a scenario's longest quiet stretch of 8 periods later.
     */
    if (rig->in_handler && rig->order.variant->unflagged)
        rig->may_lose += 8;
    burst(rig, RIG_UNIT);
}

static void note_fault(struct rig *rig, uint32_t number)
{
    if (rig->order.injection != RIG_FAULT || number < rig->order.at || number >= rig->order.at + rig->order.width)
        return;
    if (number == rig->order.at) {
        rig->injected++;
        rig->fault_calling = rig->switching ? NULL : rig->calling;
        rig->fault_in_handler = rig->in_handler;
    }
    rig->fault_in_handler |= rig->in_handler != 0;
    rig->may_lose += rig->in_handler != 0 ? 2u : 0u; /* until a local call repairs it */
    rig->fault_hit = true;
    /* What no write could close is closed by the next claim. */
    rig->sim.rule[UPMU_SIM_RULE_CHECK_P4_SIBLING] = rig->order.width == 1;
}

/* The overflow before a fault; the accesses of its handler are numbered, but not told. */
static void inject_early(struct rig *rig)
{
    rig->may_lose += 2u;
    if (rig->order.trace)
        printf("    overflow after access %u%s\n", (unsigned)rig->sim.accesses, rig->in_handler ? " (handler)" : "");
    burst(rig, RIG_UNIT);
    if (rig->sim.accesses < rig->order.at || rig->fault_hit)
        return;
    rig->in_handler++;
    note_fault(rig, rig->order.at);
    take_back(rig, RIG_UNIT);
    rig->in_handler--;
}

static void before(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    struct rig *rig = sim->test;

    (void)cpu;
    /* A handler may have begun behind a write that has not been looked at yet. */
    if (rig->writing)
        rig_account(rig);
    rig->writing = kind == UPMU_SIM_WRMSR;
    if (rig->nested)
        return;
    if (rig->order.trace)
        printf("    %3u CPU %u %s %x%s\n", (unsigned)number, cpu,
               kind == UPMU_SIM_RDMSR   ? "rdmsr"
               : kind == UPMU_SIM_WRMSR ? "wrmsr"
               : kind == UPMU_SIM_RDPMC ? "rdpmc"
                                        : "rearm",
               (unsigned)address, rig->in_handler ? " (handler)" : "");
    note_fault(rig, number);
    if (rig->order.early && number + rig->order.early == rig->order.at)
        inject_early(rig);
    if (number == rig->order.at && !rig->order.after &&
        (rig->order.injection == RIG_OVERFLOW || rig->order.injection == RIG_FOREIGN))
        rig_inject(rig);
}

static void after(struct upmu_sim *sim, unsigned cpu, uint32_t number, enum upmu_sim_kind kind, uint32_t address)
{
    struct rig *rig = sim->test;

    (void)cpu;
    (void)address;
    if (kind == UPMU_SIM_WRMSR)
        rig_account(rig);
    rig->writing = false;
    if (!rig->nested && number == rig->order.at && rig->order.after &&
        (rig->order.injection == RIG_OVERFLOW || rig->order.injection == RIG_FOREIGN))
        rig_inject(rig);
}

/* ---- The machine ---- */

static const uint32_t registers[] = {0xc1,  0xc2,  0xc3,  0xc4,  0xc5,  0xc6,  0xc7,  0xc8,  0x186, 0x187, 0x188,
                                     0x189, 0x18a, 0x18b, 0x18c, 0x18d, 0x1a0, 0x1a6, 0x1a7, 0x1d9, 0x309, 0x30a,
                                     0x30b, 0x30c, 0x329, 0x38d, 0x38f, 0x3f1, 0x3f6, 0x3f7, 0x600, 0x1c8, 0x14ce};

/* AMD: selects and counters, then what they depend on. */
static uint32_t amd_register_at(const struct rig *rig, unsigned i)
{
    static const uint32_t others[] = {0x1d9,      0xc0000301, 0xc0010015, 0xc0011030,
                                      0xc0011033, 0xc001103a, 0xc000010e, 0xc000010f};
    unsigned general = rig->sim.profile->general;

    if (i < 2 * general)
        return i < general ? rig_value_msr(rig, i) : rig_select_msr(rig, i - general);
    i -= 2 * general;
    return i < sizeof others / sizeof others[0] ? others[i] : 0;
}

/* The i-th register to look after, 0 behind the last. */
static uint32_t register_at(const struct rig *rig, unsigned i)
{
    if (rig_is_amd(rig))
        return amd_register_at(rig, i);
    if (!rig_is_p4(rig))
        return i < sizeof registers / sizeof registers[0] ? registers[i] : 0;
    if (i < 2 * UPMU_SIM_P4_COUNTERS)
        return i < UPMU_SIM_P4_COUNTERS ? 0x300 + i : 0x360 + i - UPMU_SIM_P4_COUNTERS;
    i -= 2 * UPMU_SIM_P4_COUNTERS;
    if (i < 0x42)
        return 0x3a0 + i;
    return i < 0x45 ? 0x3f0 + i - 0x42 : 0;
}

static void snapshot(struct rig *rig, unsigned cpu, uint64_t *out)
{
    for (unsigned i = 0; register_at(rig, i); i++)
        out[i] = upmu_sim_peek(&rig->sim, cpu, register_at(rig, i));
}

/* Has the other thread of this CPU's core taken over? */
static bool sibling_is_up(const struct rig *rig, unsigned cpu)
{
    return rig_is_p4(rig) && rig->sim.profile->flags & UPMU_SIM_SMT && rig->cpu_up[!cpu];
}

static void amd_hostile_registers(struct rig *rig, unsigned cpu)
{
    for (unsigned i = 0; i < rig->sim.profile->general; i++) {
        upmu_sim_poke(&rig->sim, cpu, rig_value_msr(rig, i), UINT64_C(0x5a3c3c3c96) + i);
        upmu_sim_poke(&rig->sim, cpu, rig_select_msr(rig, i), 0x300c2u + i);
    }
    upmu_sim_poke(&rig->sim, cpu, rig_value_msr(rig, 0), (UINT64_C(1) << 48) - 700u);
    if (rig->sim.profile->version < 2)
        return;
    upmu_sim_poke(&rig->sim, cpu, 0x1d9, 0x1801);
    upmu_sim_poke(&rig->sim, cpu, 0xc0000300,
                  (rig->sim.profile->amd->perfmon[0] & 4u ? UINT64_C(0xc00000000000000) : 0) |
                      ((1u << rig->sim.profile->general) - 1u));
}

/*
 * What a firmware or another system may leave without owning a counter: any
 * contents, one about to wrap, event codes, freezing armed and its bits set, stale
 * overflows, branch records on.
 */
static void hostile_registers(struct rig *rig, unsigned cpu)
{
    const struct upmu_sim_profile *profile = rig->sim.profile;
    uint64_t fixed = ((UINT64_C(1) << profile->fixed) - 1u) & ~(uint64_t)profile->fixed_holes;

    if (rig_is_amd(rig)) {
        amd_hostile_registers(rig, cpu);
        return;
    }
    /* What a write of 32 bits can put back. */
    for (unsigned i = 0; i < profile->general; i++)
        upmu_sim_poke(&rig->sim, cpu, 0xc1 + i, 0x5a3c3c96u + i);
    for (unsigned i = 0; i < profile->fixed; i++)
        upmu_sim_poke(&rig->sim, cpu, 0x309 + i, fixed >> i & 1u ? UINT64_C(0x7ffffffffd) + i : 0);
    upmu_sim_poke(&rig->sim, cpu, 0xc1, (UINT64_C(1) << profile->general_width) - 700u);
    for (unsigned i = 0; i < profile->general; i++)
        upmu_sim_poke(&rig->sim, cpu, 0x186 + i, 0x300c4u + i);
    if (profile->version < 2)
        return;
    upmu_sim_poke(&rig->sim, cpu, 0x1d9, 0x1801);
    upmu_sim_poke(&rig->sim, cpu, 0x38e,
                  ((UINT64_C(1) << profile->general) - 1u) | fixed << 32 | UINT64_C(0xc000000000000000) |
                      (profile->version >= 4 ? UINT64_C(0xc00000000000000) : 0));
}

void rig_power_on(struct rig *rig, unsigned cpu)
{
    upmu_sim_reset_cpu(&rig->sim, cpu);
    if (rig->order.variant->hostile)
        hostile_registers(rig, cpu);
    upmu_sim_set_delivery(&rig->sim, cpu, rig->order.variant->vector ? 0x40 : UPMU_SIM_LVTPC_NMI);
}

void rig_begin(struct rig *rig, const struct rig_order *order)
{
    const struct rig_variant *variant = order->variant;

    memset(rig, 0, sizeof *rig);
    rig->order = *order;
    upmu_sim_init(&rig->sim, upmu_sim_profile(order->profile), 2);
    rig->sim.test = rig;
    rig->sim.deliver = rig_deliver;
    rig->sim.before_access = before;
    rig->sim.after_access = after;
    rig->sim.events_per_access = variant->events_per_access;
    rig->sim.status_lag = variant->status_lag;
    rig->sim.skid = variant->skid;
    rig->sim.ns_per_access = 10;
    rig->sim.rule[UPMU_SIM_RULE_LVTPC_DROPS] = !variant->latch;
    rig->sim.rule[UPMU_SIM_RULE_HAZARD_AAK100] = 1;
    rig->sim.rule[UPMU_SIM_RULE_HAZARD_P4_CARRY] = variant->carry;
    rig->sim.rule[UPMU_SIM_RULE_HAZARD_P4_UNFLAGGED] = variant->unflagged;
    if (order->injection == RIG_FAULT) {
        rig->sim.fault_at = order->at;
        rig->sim.fault_until = order->at + order->width - 1u;
    }
    if (variant->no_rdpmc)
        rig->sim.port.rdpmc = NULL;
    if (variant->no_clock)
        rig->sim.port.clock_ns = NULL;
    if (variant->no_pmi)
        rig->sim.port.pmi_rearm = NULL;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        upmu_sim_bind_cpu(&rig->sim, cpu, &rig->cpu[cpu]);
        if (variant->hostile)
            hostile_registers(rig, cpu);
        if (variant->vector)
            upmu_sim_set_delivery(&rig->sim, cpu, 0x40);
    }
    upmu_domain_init(&rig->domain, UPMU_SCOPE_CORE);
    /* Hyper-threads of a Pentium 4 cannot do without, and its cores share nothing. */
    if (rig_is_p4(rig) ? (rig->sim.profile->flags & UPMU_SIM_SMT) != 0 : variant->domain)
        rig->domains[0] = &rig->domain;
    if (upmu_machine_init(&rig->machine, upmu_sim_port(&rig->sim)) != UPMU_OK)
        rig_fail(rig, "upmu_machine_init");
}

/* Was this answer the injected fault's? */
static bool excused(struct rig *rig, enum upmu_status status, const char *call)
{
    if (status == UPMU_OK)
        return false;
    if (status == UPMU_ERR_PORT && rig->fault_hit)
        return true;
    rig_fail(rig, "%s answered %s", call, upmu_status_text(status));
    return false;
}

void rig_tell(const struct rig *rig, const char *call, unsigned which)
{
    if (rig->order.trace)
        printf("  %s(%u) from access %u\n", call, which, (unsigned)rig->sim.accesses);
}

void rig_cpu_init(struct rig *rig, unsigned cpu)
{
    rig_tell(rig, "cpu_init", cpu);
    upmu_sim_switch_cpu(&rig->sim, cpu);
    snapshot(rig, cpu, rig->found[cpu]);
    if (sibling_is_up(rig, cpu))
        memcpy(rig->found[cpu], rig->found[!cpu], sizeof rig->found[cpu]);
    rig_account(rig);
    for (unsigned attempt = 0; attempt < FAULT_RETRIES; attempt++) {
        enum upmu_status status = upmu_cpu_init(&rig->cpu[cpu], &rig->machine, rig->domains);

        /* A fault in the trial write makes the PMU look as if it ignored writes: once more from the start. */
        if (status == UPMU_ERR_NO_PMU && rig->fault_hit)
            status = upmu_machine_init(&rig->machine, upmu_sim_port(&rig->sim)) == UPMU_OK ? UPMU_ERR_PORT : status;
        if (!excused(rig, status, "cpu_init"))
            break;
    }
    rig->cpu_up[cpu] = true;
    upmu_sim_switch_cpu(&rig->sim, 0);
}

static bool counts_for_others(const struct rig *rig, unsigned cpu, uint32_t msr)
{
    if (rig_is_amd(rig)) {
        for (unsigned i = 0; i < rig->sim.profile->general; i++)
            if (msr == rig_value_msr(rig, i))
                return rig->not_ours[cpu] >> i & 1u;
        return false;
    }
    if (rig_is_p4(rig))
        return msr - 0x300u < UPMU_SIM_P4_COUNTERS && rig->not_ours[cpu] >> (msr - 0x300u) & 1u;
    return (msr >= 0xc1 && msr <= 0xc8 && rig->not_ours[cpu] >> (msr - 0xc1u) & 1u) ||
           (msr >= 0x309 && msr <= 0x30c && rig->not_ours[cpu] >> (UPMU_SIM_FIXED + msr - 0x309u) & 1u);
}

static void compare_found(struct rig *rig, unsigned cpu)
{
    uint64_t now[RIG_REGISTERS];

    snapshot(rig, cpu, now);
    for (unsigned i = 0; register_at(rig, i); i++)
        if (now[i] != rig->found[cpu][i] && !counts_for_others(rig, cpu, register_at(rig, i)))
            rig_fail(rig, "register %x of CPU %u holds %llx after cpu_fini, was %llx", (unsigned)register_at(rig, i),
                     cpu, (unsigned long long)now[i], (unsigned long long)rig->found[cpu][i]);
}

/* ---- Bookkeeping around calls ---- */

static void enter(struct rig *rig, struct rig_duty *duty)
{
    rig_account(rig);
    rig->calling = duty;
    if (!duty->entitled)
        for (unsigned k = 0; k < duty->events; k++)
            duty->entered[k] = happened_on(rig, duty->cpu, duty->kind[k]);
    duty->running = false;
}

static void take_possible(struct rig *rig, struct rig_duty *duty)
{
    for (unsigned k = 0; k < duty->events; k++) {
        uint64_t now = happened_on(rig, duty->cpu, duty->kind[k]);

        duty->possible[k] += now - duty->entered[k];
        duty->entered[k] = now;
    }
}

/* Sessions that a fault has stopped. */
static void notice_faults(struct rig *rig)
{
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        if (rig->duty[i].session.error != UPMU_OK && rig->fault_hit) {
            rig->duty[i].marred = true;
            rig->duty[i].running &= rig->duty[i].session.state == UPMU_SESSION_RUNNING;
        }
}

static void leave(struct rig *rig, struct rig_duty *duty)
{
    rig_account(rig);
    rig->calling = NULL;
    if (duty->entitled)
        take_possible(rig, duty);
    notice_faults(rig);
}

static const char *const kind_names[] = {"instructions", "cycles", "branches", "cache-references"};

/* Add an event.  K7 has none of the last name: there the model counts those of the word that K8 has for it. */
static enum upmu_status add_event(struct upmu_set *set, const char *text, const struct upmu_sampling *sampling)
{
    const char *references = kind_names[RIG_REFERENCES];
    enum upmu_status status = upmu_set_add(set, text, sampling);
    char word[80];

    if (status != UPMU_ERR_NO_SUCH_EVENT || strncmp(text, references, strlen(references)))
        return status;
    snprintf(word, sizeof word, "r77d%s", text + strlen(references));
    return upmu_set_add(set, word, sampling);
}

void rig_session(struct rig *rig, unsigned index, const char *list, unsigned sampled)
{
    struct rig_duty *duty = &rig->duty[index];
    size_t cursor = 0;
    struct upmu_spec spec;

    if (upmu_session_init(&duty->session, &rig->machine) != UPMU_OK)
        rig_fail(rig, "session_init");
    while (upmu_spec_next(list, &cursor, &spec, NULL) == UPMU_OK) {
        unsigned k = duty->events;
        char text[80];
        struct upmu_sampling sampling = {.switch_after = index ? 0 : rig->switch_after};

        upmu_spec_format(&spec, text, sizeof text);
        for (unsigned kind = 0; kind < RIG_TAGGED; kind++)
            if (!strncmp(text, kind_names[kind], strlen(kind_names[kind])))
                duty->kind[k] = (enum rig_kind)kind;
        if (sampled >> k & 1u)
            sampling.period = rig_amount(duty->kind[k], RIG_UNIT);
        duty->period[k] = sampling.period;
        if (add_event(&duty->session.set, text, &sampling) != UPMU_OK)
            rig_fail(rig, "session_add(%s): %s", text, upmu_status_text(duty->session.why.status));
        duty->events++;
    }
    if (sampled && upmu_session_ring(&duty->session, duty->buffer, sizeof duty->buffer) != UPMU_OK)
        rig_fail(rig, "session_ring");
}

void rig_p4_event(struct rig *rig, unsigned index, const char *text, enum rig_kind kind, bool sampled, uint64_t cascade)
{
    struct rig_duty *duty = &rig->duty[index];
    unsigned k = duty->events++;
    struct upmu_sampling sampling = {.period = cascade};

    if (!k && upmu_session_init(&duty->session, &rig->machine) != UPMU_OK)
        rig_fail(rig, "session_init");
    duty->kind[k] = kind;
    duty->late |= cascade != 0;
    if (sampled)
        sampling.period = duty->period[k] = rig_amount(kind, RIG_UNIT);
    if (upmu_set_add(&duty->session.set, text, &sampling) != UPMU_OK)
        rig_fail(rig, "session_add(%s): %s", text, upmu_status_text(duty->session.why.status));
    if (sampled && upmu_session_ring(&duty->session, duty->buffer, sizeof duty->buffer) != UPMU_OK)
        rig_fail(rig, "session_ring");
}

static void inside(struct rig *rig, bool begins)
{
    if (begins)
        inject_late(rig);
    rig->inside = begins;
    if (rig->on_inside)
        rig->on_inside(begins);
}

/* Make a call, again while it meets the injected fault. */
static void call(struct rig *rig, struct rig_duty *duty, enum upmu_status (*function)(struct upmu_session *),
                 const char *name)
{
    for (unsigned attempt = 0; attempt < FAULT_RETRIES; attempt++) {
        enum upmu_status status;

        inside(rig, true);
        status = function(&duty->session);
        inside(rig, false);
        if (!excused(rig, status, name))
            break;
        duty->marred = true;
        if (function == upmu_session_stop || function == upmu_session_detach)
            break;
        RIG_CHECK(rig, duty->session.state != UPMU_SESSION_RUNNING, "%s faulted, and the session runs", name);
    }
}

void rig_attach(struct rig *rig, unsigned index, unsigned cpu)
{
    struct rig_duty *duty = &rig->duty[index];

    rig_tell(rig, "attach", index);
    duty->cpu = cpu;
    enter(rig, duty);
    for (unsigned attempt = 0; attempt < FAULT_RETRIES; attempt++) {
        enum upmu_status status = upmu_session_attach_cpu(&duty->session, &rig->cpu[cpu]);

        /* A fault in detection may have made two CPUs look different. */
        rig->over |= status == UPMU_ERR_WRONG_PMU && rig->fault_hit;
        if (rig->over || !excused(rig, status, "attach"))
            break;
        RIG_CHECK(rig, duty->session.state == UPMU_SESSION_DETACHED, "attach faulted, and the session is attached");
    }
    leave(rig, duty);
    duty->attached = true;
}

void rig_start(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];

    rig_tell(rig, "start", index);
    enter(rig, duty);
    duty->entitled = true;
    call(rig, duty, upmu_session_start, "start");
    leave(rig, duty);
    duty->running = duty->session.state == UPMU_SESSION_RUNNING && !duty->masks;
    /* A handler that came at the end has switched its set: one without a place yet, or without its claims, waits. */
    RIG_CHECK(rig, duty->running || duty->masks || duty->session.shares ||
                       (rig->switch_after && duty->session.state == UPMU_SESSION_WAITING),
              "session %u does not run after start", index);
}

static void ended(struct rig *rig, struct rig_duty *duty)
{
    leave(rig, duty);
    duty->entitled = false;
    RIG_CHECK(rig, duty->session.state != UPMU_SESSION_RUNNING, "a session runs after stop");
    rig_drain(rig, (unsigned)(duty - rig->duty));
}

void rig_stop(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];

    rig_tell(rig, "stop", index);
    enter(rig, duty);
    call(rig, duty, upmu_session_stop, "stop");
    ended(rig, duty);
}

void rig_restart(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];

    rig_tell(rig, "restart", index);
    enter(rig, duty);
    duty->entitled = true;
    call(rig, duty, upmu_session_restart, "restart");
    leave(rig, duty);
    duty->running = duty->session.state == UPMU_SESSION_RUNNING && !duty->masks;
}

void rig_detach(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];

    rig_tell(rig, "detach", index);
    enter(rig, duty);
    call(rig, duty, upmu_session_detach, "detach");
    ended(rig, duty);
    duty->attached = false;
    RIG_CHECK(rig, duty->session.state == UPMU_SESSION_DETACHED, "a session is attached after detach");
}

void rig_read(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];
    struct upmu_count counts[RIG_EVENTS];
    uint64_t floor[RIG_EVENTS], floor_truth[RIG_EVENTS];
    enum upmu_status status = UPMU_OK;
    bool running = duty->running;

    rig_tell(rig, "read", index);
    rig_account(rig);
    for (unsigned k = 0; k < duty->events; k++) {
        floor[k] = duty->certain[k];
        floor_truth[k] = rig_truth(rig, duty, k);
    }
    rig->calling = duty;
    for (unsigned attempt = 0; attempt < FAULT_RETRIES; attempt++) {
        inside(rig, true);
        status = rig_counts(duty, counts);
        inside(rig, false);
        if (!excused(rig, status, "read"))
            break;
    }
    rig->calling = NULL;
    rig_account(rig);
    if (duty->entitled)
        take_possible(rig, duty);
    for (unsigned k = 0; status == UPMU_OK && k < duty->events; k++)
        duty->marred |= counts[k].quality == UPMU_QUALITY_PARTIAL && rig->fault_hit;
    for (unsigned k = 0; status == UPMU_OK && k < duty->events; k++) {
        unsigned long long value = counts[k].raw;

        RIG_CHECK(rig, value >= duty->last_read[k] || duty->marred, "event %u went back from %llu to %llu", k,
                  (unsigned long long)duty->last_read[k], value);
        RIG_CHECK(rig, value <= rig_possible(duty, k), "event %u reads %llu, possible are %llu", k, value,
                  (unsigned long long)rig_possible(duty, k));
        if (running && !duty->marred)
            RIG_CHECK(rig, value >= floor[k] && value >= floor_truth[k] && value <= rig_truth(rig, duty, k),
                      "event %u reads %llu, certain %llu, counted %llu to %llu", k, value, (unsigned long long)floor[k],
                      (unsigned long long)floor_truth[k], (unsigned long long)rig_truth(rig, duty, k));
        duty->last_read[k] = value;
    }
}

/* ---- Calls on a CPU ---- */

static void cpu_call(struct rig *rig, unsigned cpu, enum upmu_status (*function)(struct upmu_cpu *), const char *name,
                     bool again)
{
    unsigned before_cpu = rig->sim.current;

    rig_tell(rig, name, cpu);
    rig_account(rig);
    upmu_sim_switch_cpu(&rig->sim, cpu);
    for (unsigned attempt = 0; attempt < FAULT_RETRIES; attempt++) {
        enum upmu_status status;

        inside(rig, true);
        rig->in_cpu_call = true;
        status = function(&rig->cpu[cpu]);
        rig->in_cpu_call = false;
        inside(rig, false);
        if (!excused(rig, status, name) || !again)
            break;
    }
    upmu_sim_switch_cpu(&rig->sim, before_cpu);
    rig_account(rig);
    notice_faults(rig);
}

static void enter_all(struct rig *rig, unsigned cpu, bool running)
{
    for (unsigned i = 0; i < RIG_DUTIES; i++) {
        struct rig_duty *duty = &rig->duty[i];

        if (duty->cpu == cpu && duty->entitled)
            duty->running = running && duty->session.state == UPMU_SESSION_RUNNING && !duty->masks;
    }
}

void rig_poll(struct rig *rig, unsigned cpu)
{
    cpu_call(rig, cpu, upmu_cpu_poll, "poll", true);
}

/* What other software left is taken; a CPU without branch records counts as one that has them. */
static enum upmu_status start_records(struct upmu_cpu *cpu)
{
    const struct upmu_branch_filter all = {.record = UPMU_BRANCH_TAKE};
    enum upmu_status status = upmu_branches_start(cpu, &all, NULL);

    return status == UPMU_ERR_UNSUPPORTED ? UPMU_OK : status;
}

/* Freeze, read, continue: with interrupts off, as a local call. */
static enum upmu_status read_records(struct upmu_cpu *cpu)
{
    const struct upmu_port *port = cpu->meter.machine->port;
    uintptr_t irq = port->irq_save(port->context);
    struct upmu_branch branches[UPMU_BRANCHES_MOST];
    unsigned count;
    enum upmu_status frozen = upmu_branches_freeze(cpu);
    enum upmu_status status = upmu_branches_read(cpu, branches, UPMU_BRANCHES_MOST, &count);
    enum upmu_status resumed = upmu_branches_resume(cpu);

    port->irq_restore(port->context, irq);
    status = frozen != UPMU_OK ? frozen : status != UPMU_OK ? status : resumed;
    return status == UPMU_ERR_STATE && !upmu_branches_facts(cpu->meter.pmu).depth ? UPMU_OK : status;
}

void rig_record(struct rig *rig, unsigned cpu)
{
    cpu_call(rig, cpu, start_records, "record", true);
}

void rig_branches(struct rig *rig, unsigned cpu)
{
    cpu_call(rig, cpu, read_records, "branches", true);
}

void rig_suspend(struct rig *rig, unsigned cpu)
{
    enter_all(rig, cpu, false);
    cpu_call(rig, cpu, upmu_cpu_suspend, "suspend", false);
}

static void mar_all(struct rig *rig, unsigned cpu)
{
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        rig->duty[i].marred |= rig->duty[i].cpu == cpu && rig->duty[i].entitled;
}

/* A fault may leave sessions suspended or stopped: started again here. */
static void start_again(struct rig *rig, unsigned cpu)
{
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        if (rig->duty[i].entitled && rig->duty[i].cpu == cpu && rig->duty[i].session.state != UPMU_SESSION_RUNNING) {
            RIG_CHECK(rig, rig->fault_hit, "session %u does not run again", i);
            rig->duty[i].marred = true;
            rig_start(rig, i);
        }
}

void rig_resume(struct rig *rig, unsigned cpu)
{
    cpu_call(rig, cpu, upmu_cpu_resume, "resume", true);
    start_again(rig, cpu);
    enter_all(rig, cpu, true);
}

void rig_changed(struct rig *rig, unsigned cpu)
{
    mar_all(rig, cpu);
    enter_all(rig, cpu, false);
    cpu_call(rig, cpu, upmu_cpu_changed, "changed", true);
    start_again(rig, cpu);
    enter_all(rig, cpu, true);
}

void rig_reserve(struct rig *rig, unsigned cpu, uint32_t counters)
{
    rig_tell(rig, "reserve", cpu);
    for (unsigned attempt = 0; attempt < FAULT_RETRIES; attempt++)
        if (!excused(rig, upmu_cpu_reserve(&rig->cpu[cpu], counters), "reserve"))
            break;
}

void rig_cpu_fini(struct rig *rig, unsigned cpu)
{
    enter_all(rig, cpu, false);
    cpu_call(rig, cpu, upmu_cpu_fini, "cpu_fini", false);
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        if (rig->duty[i].attached && rig->duty[i].cpu == cpu) {
            ended(rig, &rig->duty[i]);
            rig->duty[i].attached = false;
            RIG_CHECK(rig, rig->duty[i].session.state == UPMU_SESSION_DETACHED, "a session is attached after cpu_fini");
        }
    rig->cpu_up[cpu] = false;
    if (!rig->fault_hit && !sibling_is_up(rig, cpu))
        compare_found(rig, cpu);
}

/* ---- Threads and turns ---- */

void rig_follow(struct rig *rig, unsigned index, unsigned thread)
{
    struct rig_duty *duty = &rig->duty[index];

    rig_tell(rig, "follow", index);
    if (!rig->thread[thread].tid)
        upmu_thread_init(&rig->thread[thread], 1, thread + 1, NULL);
    inside(rig, true);
    if (upmu_session_attach_thread(&duty->session, &rig->thread[thread], NULL) != UPMU_OK ||
        upmu_session_start(&duty->session) != UPMU_OK)
        rig_fail(rig, "follow: %s", upmu_status_text(duty->session.why.status));
    inside(rig, false);
    duty->attached = true;
    duty->thread = thread + 1;
}

void rig_share(struct rig *rig, unsigned index)
{
    if (upmu_session_share(&rig->duty[index].session, true) != UPMU_OK)
        rig_fail(rig, "share");
}

/* A fault stops a session; it goes on from here. */
static void go_on(struct rig *rig, struct rig_duty *duty, bool here)
{
    if (duty->session.state == UPMU_SESSION_STOPPED) {
        RIG_CHECK(rig, rig->fault_hit, "a session does not run after a switch");
        duty->marred = true;
        if (here) {
            rig_start(rig, (unsigned)(duty - rig->duty));
            return;
        }
        call(rig, duty, upmu_session_start, "start");
    }
    duty->running = here && duty->session.state == UPMU_SESSION_RUNNING;
}

void rig_switch(struct rig *rig, unsigned next)
{
    unsigned prev = rig->thread_on;
    enum upmu_status status;

    rig_tell(rig, "switch", next);
    for (unsigned i = 0; i < RIG_DUTIES; i++) {
        struct rig_duty *duty = &rig->duty[i];

        if (!duty->thread || (duty->thread != prev + 1 && duty->thread != next + 1))
            continue;
        enter(rig, duty);
        duty->entitled = true;
    }
    rig->switching = true;
    inside(rig, true);
    status = upmu_thread_switch(&rig->cpu[0], &rig->thread[prev], &rig->thread[next]);
    inside(rig, false);
    RIG_CHECK(rig, status == UPMU_OK, "switch answered %s", upmu_status_text(status));
    for (unsigned i = 0; i < RIG_DUTIES; i++) {
        struct rig_duty *duty = &rig->duty[i];

        /* What could not be closed counts on in no count what both programs count. */
        duty->marred |= rig->user && rig->fault_hit && rig->order.width > 1;
        if (!duty->thread || (duty->thread != prev + 1 && duty->thread != next + 1))
            continue;
        leave(rig, duty);
        duty->entitled = duty->thread == next + 1;
        go_on(rig, duty, duty->entitled);
        RIG_CHECK(rig, duty->running == duty->entitled, "session %u: %s after a switch", i,
                  duty->running ? "runs" : "does not run");
    }
    rig->switching = false;
    rig->thread_on = next;
}

void rig_second_set(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];
    struct upmu_sampling sampling = {.period = rig_amount(RIG_REFERENCES, RIG_UNIT), .switch_after = rig->switch_after};
    unsigned flags = rig->switch_after ? UPMU_SET_OVERFLOW_SWITCH : 0;

    /* In the middle of what it is given to do: what is certain is in no count. */
    duty->late |= flags != 0;
    duty->second = &rig->set;
    duty->kind[1] = RIG_REFERENCES;
    duty->period[1] = sampling.period;
    duty->events = 2;
    if (upmu_session_shuffle(&duty->session, false, 0) != UPMU_OK ||
        upmu_session_add_set(&duty->session, NULL, 0, flags, 0) != UPMU_OK ||
        upmu_session_add_set(&duty->session, &rig->set, 1, flags, 0) != UPMU_OK ||
        upmu_set_add(&rig->set, "instructions", NULL) != UPMU_OK ||
        add_event(&rig->set, kind_names[RIG_REFERENCES], &sampling) != UPMU_OK)
        rig_fail(rig, "a second set: %s", upmu_status_text(duty->session.why.status));
}

void rig_switch_set(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];
    enum upmu_status status;

    rig_tell(rig, "switch_set", index);
    enter(rig, duty);
    rig->switching = true;
    inside(rig, true);
    status = upmu_session_switch(&duty->session, NULL);
    inside(rig, false);
    RIG_CHECK(rig, status == UPMU_OK, "switch_set answered %s", upmu_status_text(status));
    leave(rig, duty);
    rig->switching = false;
    go_on(rig, duty, true);
}

void rig_tick(struct rig *rig, unsigned cpu)
{
    rig->switching = true;
    enter_all(rig, cpu, false);
    cpu_call(rig, cpu, upmu_cpu_tick, "tick", true);
    for (unsigned i = 0; i < RIG_DUTIES; i++)
        if (rig->duty[i].entitled && rig->duty[i].cpu == cpu && rig->duty[i].attached) {
            if (rig->duty[i].session.state == UPMU_SESSION_STOPPED) {
                RIG_CHECK(rig, rig->fault_hit, "session %u does not run after a tick", i);
                rig->duty[i].marred = true;
                rig_start(rig, i);
            }
            rig->duty[i].running = rig->duty[i].session.state == UPMU_SESSION_RUNNING;
        }
    rig->switching = false;
}

/* ---- Worlds ---- */

void rig_world(struct rig *rig, unsigned index, unsigned world)
{
    rig->duty[index].world = (uint8_t)world;
    if (upmu_session_world(&rig->duty[index].session, (enum upmu_world)world) != UPMU_OK)
        rig_fail(rig, "world");
}

static void cross(struct rig *rig, unsigned cpu, bool guest)
{
    rig->crossing = true;
    cpu_call(rig, cpu, guest ? upmu_cpu_enter_guest : upmu_cpu_leave_guest, guest ? "enter" : "exit", false);
    rig->crossing = false;
    rig->in_guest = guest;
    start_again(rig, cpu);
    enter_all(rig, cpu, true);
}

void rig_enter(struct rig *rig, unsigned cpu)
{
    cross(rig, cpu, true);
}

void rig_exit(struct rig *rig, unsigned cpu)
{
    cross(rig, cpu, false);
}

void rig_visit(struct rig *rig, const struct rig_duty *duty)
{
    if (rig->in_guest != (duty && duty->world == UPMU_WORLD_GUEST))
        cross(rig, 0, !rig->in_guest);
}

uint64_t rig_possible(const struct rig_duty *duty, unsigned event)
{
    return duty->possible[event] - duty->elsewhere[event];
}

/* ---- Results ---- */

static bool next_sample(struct rig *rig, struct rig_duty *duty, struct upmu_sample *out_sample)
{
    bool got;

    inside(rig, true);
    got = upmu_ring_next(&duty->session.ring, out_sample);
    inside(rig, false);
    return got;
}

void rig_drain(struct rig *rig, unsigned index)
{
    struct rig_duty *duty = &rig->duty[index];
    struct upmu_sample sample;

    while (next_sample(rig, duty, &sample)) {
        duty->lost_in_ring += sample.lost;
        RIG_CHECK(rig, sample.events && !(sample.events >> duty->events), "a sample of events %x",
                  (unsigned)sample.events);
        for (unsigned k = 0; k < duty->events; k++)
            duty->samples[k] += sample.events >> k & 1u;
    }
}
