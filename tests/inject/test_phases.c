/* SPDX-License-Identifier: MIT */
/*
 * The phase sweep: an overflow with its interrupt at each single instruction of every public call that works beside
 * running sessions.  The call is stepped through with the processor's trap flag (phase_step.h); at an instruction of
 * the library the model executes a burst in which one or two counters overflow, and the host's handler runs there.
 *
 * Judged after each point, from the model's registers and the public headers:
 * - counts: each event's count is what the model's counters counted, to the last event; what a read in the call gave
 * is the count at one of the moments between which the bursts were;
 * - records: one for each period that is full, in order, with the address of the very interrupt that ended the period;
 * - the handler's answers: never NOT_OURS;
 * - gates after the call: as many counters run as running sessions have events, and what executes then is counted for
 * those and for no other; after upmu_cpu_fini() nothing runs;
 * - states: what the call and the handler together have made of each session.
 *
 * The class of mistake: a handler between two instructions of a call, where no register access stands.
 *
 *     test_phases [call=NAME] [profile=NAME] [variant=NAME] [at=INSTRUCTION] [every=N]
 *
 * x86 with Linux only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/common/assertions.h"

#include "tests/common/share.h"
#include "tests/inject/phase_step.h"
#include "tests/inject/rig.h"
#include <upmu/branches.h>
#include <upmu/format.h>
#include <upmu/ibs.h>
#include <upmu/page.h>
#include <upmu/place.h>
#include <upmu/probe.h>
#include <upmu/results.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>

#define SESSIONS RIG_DUTIES
#define INTERRUPTS 64u
#define RECORDS 64u
#define MOMENTS 8u
#define WATCHED 6u

/* Where what executes begins: each interrupt has an address of its own. */
#define BEFORE 0x100000u
#define BETWEEN 0x200000u
#define BEHIND 0x400000u

/* In `make test` one of so many sweeps, in slow builds; and there one instruction of so many.  Else one of a few. */
#define QUICK 59u
#define QUICKER 97u
#define SLOW 409u
#define PACE 61u
#define SOAK_PACE 7u

/* Points that are told, of each call on each model. */
#define TOLD 2u

/* ---- What a run is ---- */

enum variant {
    PLAIN,  /* two sessions sample; one burst, in which both overflow, one after the other */
    TWICE,  /* one overflows, some instructions later the other one */
    MASKS,  /* their format masks them at once */
    FULL,   /* the first one's ring is full with this record, which masks it */
    COUNTS, /* none samples: counters that wrap */
    BLIND,  /* no clock */
    VARIANTS
};

static const char *const variant_names[VARIANTS] = {"plain", "twice", "masks", "full", "counts", "blind"};

/* Bits of call_row.needs. */
#define FOUR (1u << 0)    /* room for four events at once */
#define THREADS (1u << 1) /* sessions 0 and 1 follow threads 1 and 2 */
#define SAME (1u << 2)    /* sessions 0 and 1 follow thread 1 */
#define SETS (1u << 3)    /* session 0 has a second set; session 3 is not there */
#define WORLDS (1u << 4)  /* session 0 is the host's, session 1 the guests' */
#define ALIKE (1u << 5)   /* session 1 has the event of session 0 */
#define LOSES (1u << 6)   /* events may be lost, as the header says */
#define REBASES (1u << 7) /* begins a period or a count of session 0 anew */
#define MASKED (1u << 8)  /* session 0 is masked before: variant MASKS alone */
#define IDLE (1u << 9)    /* no thread runs before */
#define FREE (1u << 10)   /* session 3 is detached before */
#define STATIC (1u << 11) /* session 0 is static, counts, and may count on */
#define AMD (1u << 12)    /* has IBS, which may run beside */
#define TURNS (1u << 13)  /* the second set follows on the first overflow */
#define TIMED (1u << 14)  /* the second set is due */
#define SLEEPS (1u << 15) /* the CPU is suspended before */
#define PAGES (1u << 16)  /* sessions 0 and 1 are published */
#define REGION (1u << 17) /* a region is open */
#define BRANCHES (1u << 18) /* has branch records */

struct call_row {
    const char *name;
    void (*call)(void);
    const char *states; /* of the sessions afterwards: D, S, R, M, U, C, W; M for R, W, U where a
                           handler masked it, or for r: the call may come later */
    unsigned needs;
    void (*up)(void);
};

/* An event that is judged. */
struct watched {
    struct upmu_session *session;
    struct upmu_set *set;
    unsigned index;
    enum rig_kind kind;
    uint64_t period; /* 0: counts */
};

struct interrupt {
    uint64_t ip;
    uint64_t truth[RIG_KINDS]; /* when it came */
};

struct record {
    uint64_t ip;
    uint32_t flags;
};

/* Everything that changes. */
static struct scene {
    struct rig rig;
    struct upmu_thread thread[RIG_THREADS];
    struct upmu_set set;
    struct upmu_region region;
    struct upmu_probe probe;
    struct upmu_session fresh;
    struct upmu_user_page page[2];
    struct upmu_ibs ibs;
    struct upmu_ibs_sample ibs_samples[8];
    uint64_t ring[SESSIONS][512];
    struct watched watched[WATCHED];
    unsigned watches;
    struct interrupt interrupt[INTERRUPTS];
    unsigned interrupts, not_ours, unknown;
    struct record record[SESSIONS][RECORDS];
    unsigned records[SESSIONS];
    unsigned masked[SESSIONS];               /* in the call */
    uint64_t truth_then[MOMENTS][RIG_KINDS]; /* when the call began, and behind each burst in it */
    unsigned moments;
    unsigned thread_on, reserved; /* thread, counter */
    bool in_guest;
    enum upmu_status status;
    struct upmu_count got[2]; /* by the call, of session `got_of` or of a region */
    unsigned gots;
    enum rig_kind got_kind;
} scene, scene_copy;

static const struct call_row *row;
static enum variant variant;
static const char *profile;
static struct upmu_port hooks; /* the model's own */
static uint64_t bad, late;
static unsigned told;
static bool failed;

static struct upmu_session *session(unsigned i)
{
    return &scene.rig.duty[i].session;
}

static void look(bool condition, const char *format, ...)
{
    va_list list;

    if (condition || failed)
        return;
    failed = true;
    bad++;
    if (told++ >= TOLD)
        return;
    va_start(list, format);
    printf("    call=%s profile=%s variant=%s at=%u: ", row->name, profile, variant_names[variant],
           (unsigned)phase_step.instruction);
    vprintf(format, list);
    printf("\n");
    va_end(list);
    fflush(stdout);
}

/* ---- Hooks are not stepped through ---- */

#define HIDDEN(type, expression)      \
    do {                              \
        type result;                  \
        phase_step_hide();            \
        result = expression;          \
        phase_step_show();            \
        return result;                \
    } while (0)

static PHASE_OWN bool own_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    HIDDEN(bool, hooks.rdmsr(context, msr, out_value));
}

static PHASE_OWN bool own_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    HIDDEN(bool, hooks.wrmsr(context, msr, value));
}

static PHASE_OWN bool own_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    HIDDEN(bool, hooks.rdpmc(context, index, out_value));
}

static PHASE_OWN void own_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out_registers[4])
{
    phase_step_hide();
    hooks.cpuid(context, leaf, subleaf, out_registers);
    phase_step_show();
}

static PHASE_OWN struct upmu_cpu *own_this_cpu(void *context)
{
    HIDDEN(struct upmu_cpu *, hooks.this_cpu(context));
}

static PHASE_OWN uintptr_t own_irq_save(void *context)
{
    HIDDEN(uintptr_t, hooks.irq_save(context));
}

static PHASE_OWN void own_irq_restore(void *context, uintptr_t state)
{
    phase_step_hide();
    hooks.irq_restore(context, state);
    phase_step_show();
}

static PHASE_OWN void own_pmi_rearm(void *context)
{
    phase_step_hide();
    hooks.pmi_rearm(context);
    phase_step_show();
}

static PHASE_OWN uint64_t own_clock_ns(void *context)
{
    HIDDEN(uint64_t, hooks.clock_ns(context));
}

static PHASE_OWN void own_log(void *context, const char *line)
{
    phase_step_hide();
    hooks.log(context, line);
    phase_step_show();
}

static PHASE_OWN void own_allow_rdpmc(void *context, bool allow)
{
    phase_step_hide();
    hooks.allow_rdpmc(context, allow);
    phase_step_show();
}

static void wrap_hooks(struct upmu_port *port)
{
    hooks = *port;
    port->rdmsr = own_rdmsr;
    port->wrmsr = own_wrmsr;
    port->cpuid = own_cpuid;
    port->rdpmc = port->rdpmc ? own_rdpmc : NULL;
    port->this_cpu = own_this_cpu;
    port->irq_save = own_irq_save;
    port->irq_restore = own_irq_restore;
    port->pmi_rearm = own_pmi_rearm;
    port->clock_ns = variant == BLIND ? NULL : own_clock_ns;
    port->log = own_log;
    port->allow_rdpmc = port->allow_rdpmc ? own_allow_rdpmc : NULL;
    port->run_on_cpu = NULL;
}

/* ---- What executes, and its interrupts ---- */

static void run(uint64_t instructions, uint64_t ip)
{
    struct upmu_sim_burst work = {
        .instructions = instructions,
        .cycles = rig_amount(RIG_CYCLES, instructions),
        .branches = rig_amount(RIG_BRANCHES, instructions),
        .llc_references = rig_amount(RIG_REFERENCES, instructions),
        .uops = instructions,
        .ip = ip,
        .ip_step = 1,
        .sp = 0x8000,
    };

    rig_account(&scene.rig);
    upmu_sim_events(&scene.rig.sim, &work);
    rig_account(&scene.rig);
}

static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp};

    rig_account(&scene.rig);
    if (scene.interrupts < INTERRUPTS) {
        struct interrupt *entry = &scene.interrupt[scene.interrupts++];

        entry->ip = interrupt->ip;
        memcpy(entry->truth, scene.rig.truth[cpu], sizeof entry->truth);
    }
    sim->in_callback = false;
    scene.not_ours += upmu_pmi_handle(&scene.rig.cpu[cpu], &frame) == UPMU_PMI_NOT_OURS;
}

static void remember(unsigned i, uint64_t ip, uint32_t flags)
{
    if (scene.records[i] < RECORDS)
        scene.record[i][scene.records[i]++] = (struct record){ip, flags};
}

static unsigned mask_at_once(void *state, const struct upmu_overflow *overflow, bool notify)
{
    (void)state, (void)notify;
    for (unsigned i = 0; i < SESSIONS; i++)
        if (overflow->session == session(i)) {
            scene.masked[i]++;
            remember(i, overflow->ip, overflow->flags);
        }
    return UPMU_OVERFLOW_MASK;
}

static void take_moment(void)
{
    if (scene.moments < MOMENTS)
        memcpy(scene.truth_then[scene.moments++], scene.rig.truth[0], sizeof scene.truth_then[0]);
}

static unsigned overflow(unsigned n)
{
    if (variant != TWICE) {
        run(200, BETWEEN);
        take_moment();
        return PHASE_LAST;
    }
    run(100, BETWEEN + n * 0x10000u);
    take_moment();
    return n ? PHASE_LAST : 1 + phase_step.instruction * 7u % 61u;
}

/* ---- Before the call ---- */

#define CHECK_OK(call) look((call) == UPMU_OK, "before the call: %s", #call)

static bool is_few(void)
{
    const struct upmu_pmu *pmu = scene.rig.cpu[0].meter.pmu;
    unsigned counters = 0;

    for (unsigned i = 0; pmu && i < UPMU_COUNTERS; i++)
        counters += pmu->counters >> i & 1u;
    return counters < 4;
}

static void watch(struct upmu_session *of, struct upmu_set *set, unsigned index, enum rig_kind kind, uint64_t period)
{
    scene.watched[scene.watches++] = (struct watched){of, set, index, kind, period};
}

/* An interrupt wraps in the burst whatever counter only counts. */
static void wind_up(void)
{
    const struct upmu_sim_profile *profile_of = scene.rig.sim.profile;
    unsigned n = rig_is_p4(&scene.rig) ? UPMU_SIM_P4_COUNTERS : profile_of->general;

    for (unsigned i = 0; i < n; i++)
        upmu_sim_poke(&scene.rig.sim, 0, rig_value_msr(&scene.rig, i),
                      (UINT64_C(1) << profile_of->general_width) - 1000u + 7u * i);
    for (unsigned i = 0; i < 2 && i < profile_of->fixed && !rig_is_amd(&scene.rig); i++)
        upmu_sim_poke(&scene.rig.sim, 0, 0x309 + i, (UINT64_C(1) << profile_of->fixed_width) - 1000u + 7u * i);
}

static const enum rig_kind kinds[SESSIONS] = {RIG_INSTRUCTIONS, RIG_BRANCHES, RIG_CYCLES, RIG_REFERENCES};

static void make_session(unsigned i)
{
    static const char *const names[SESSIONS] = {"instructions", "branches", "cycles", "cache-references"};
    static const struct upmu_format masks = {.name = "masks", .overflow = mask_at_once};
    bool alike = i == 1 && row->needs & ALIKE;
    bool samples = variant != COUNTS && i != 2 && !(row->needs & STATIC && i == 0);
    enum rig_kind kind = alike ? RIG_INSTRUCTIONS : kinds[i];

    rig_session(&scene.rig, i, alike ? names[0] : names[i], samples);
    if (samples)
        CHECK_OK(upmu_session_ring(session(i), scene.ring[i], variant == FULL && !i ? 256 : sizeof scene.ring[i]));
    if (variant == FULL && !i)
        upmu_session_mask_on_full(session(i), true);
    if (variant == MASKS && i < 2)
        CHECK_OK(upmu_session_format(session(i), &masks, NULL, 0));
    if (row->needs & WORLDS && i < 2)
        CHECK_OK(upmu_session_world(session(i), i ? UPMU_WORLD_GUEST : UPMU_WORLD_HOST));
    if (row->needs & STATIC && !i)
        CHECK_OK(upmu_session_static(session(i), true));
    if (row->needs & PAGES && i < 2)
        CHECK_OK(upmu_session_publish(session(i), &scene.page[i]));
    watch(session(i), &session(i)->set, 0, kind, samples ? rig_amount(kind, RIG_UNIT) : 0);
}

static void add_second_set(void)
{
    unsigned flags = row->needs & TURNS ? UPMU_SET_OVERFLOW_SWITCH : row->needs & TIMED ? UPMU_SET_TIME_SWITCH : 0;
    uint64_t timeout = flags == UPMU_SET_TIME_SWITCH ? 1000000 : 0;
    uint64_t period = variant == COUNTS ? 0 : rig_amount(RIG_REFERENCES, RIG_UNIT);
    struct upmu_sampling sampling = {.period = period, .switch_after = 0};

    CHECK_OK(upmu_session_shuffle(session(0), false, 0));
    CHECK_OK(upmu_session_add_set(session(0), NULL, 0, flags, timeout));
    CHECK_OK(upmu_session_add_set(session(0), &scene.set, 1, flags, timeout));
    CHECK_OK(upmu_set_add(&scene.set, "cache-references", &sampling));
    watch(session(0), &scene.set, 0, RIG_REFERENCES, period);
}

/* The CPU goes over to this thread. */
static void switch_to(unsigned next)
{
    if (scene.thread_on != next)
        scene.status = upmu_thread_switch(&scene.rig.cpu[0], &scene.thread[scene.thread_on], &scene.thread[next]);
    scene.thread_on = next;
}

static void attach(unsigned i)
{
    if (row->needs & (THREADS | SAME) && i < 2) {
        CHECK_OK(upmu_session_attach_thread(session(i), &scene.thread[row->needs & SAME ? 1 : 1 + i], NULL));
        CHECK_OK(upmu_session_start(session(i)));
        return;
    }
    CHECK_OK(upmu_session_attach_cpu(session(i), &scene.rig.cpu[0]));
}

/* So many periods before the last one are full; the first session's next one is nearly, then the second's. */
static void run_up(unsigned periods)
{
    bool threads = row->needs & (THREADS | SAME);

    if (row->needs & THREADS) {
        switch_to(2);
        run(830, BEFORE);
        switch_to(1);
        run(periods * 1000u + 930u, BEFORE + 0x1000);
    } else if (row->needs & SAME) {
        switch_to(1);
        run(periods * 1000u + 830u, BEFORE);
        run(100, BEFORE + 0x8000);
    } else {
        CHECK_OK(upmu_session_start(session(0)));
        run(periods * 1000u + 100u, BEFORE);
        CHECK_OK(upmu_session_start(session(1)));
        if (row->needs & WORLDS)
            CHECK_OK(upmu_cpu_enter_guest(&scene.rig.cpu[0]));
        run(830, BEFORE + 0x8000);
        if (row->needs & WORLDS) {
            CHECK_OK(upmu_cpu_leave_guest(&scene.rig.cpu[0]));
            run(830, BEFORE + 0xc000);
        }
    }
    if (threads && row->needs & IDLE)
        switch_to(0);
}

static void start_beside(void)
{
    bool few = is_few();

    if (!few) {
        make_session(2);
        attach(2);
        CHECK_OK(upmu_session_start(session(2)));
    }
    if (!few && !(row->needs & (SETS | REGION))) {
        make_session(3);
        if (!(row->needs & FREE))
            attach(3);
    }
}

static bool set_up(unsigned periods)
{
    static const struct rig_variant plain = {.name = "plain"};
    struct rig_order order = {.scenario = "phases", .profile = profile, .variant = &plain};

    memset(&scene, 0, sizeof scene);
    failed = false;
    phase_step.instruction = 0;
    rig_begin(&scene.rig, &order);
    scene.rig.sim.deliver = deliver;
    wrap_hooks(&scene.rig.sim.port);
    if (variant == COUNTS)
        wind_up();
    rig_cpu_init(&scene.rig, 0);
    if ((is_few() && row->needs & (FOUR | SETS | REGION)) ||
        (row->needs & AMD && !upmu_ibs_capabilities(scene.rig.cpu[0].meter.pmu)) ||
        (row->needs & BRANCHES && !upmu_branches_facts(scene.rig.cpu[0].meter.pmu).depth))
        return false;
    for (unsigned i = 0; i < RIG_THREADS; i++)
        upmu_thread_init(&scene.thread[i], 1 + i, 10 + i, NULL);
    for (unsigned i = 0; i < 2; i++)
        make_session(i);
    if (row->needs & SETS)
        add_second_set();
    for (unsigned i = 0; i < 2; i++)
        attach(i);
    start_beside();
    run_up(periods);
    if (row->up)
        row->up();
    if (scene.rig.failed)
        look(false, "%s", scene.rig.failure);
    memset(scene.masked, 0, sizeof scene.masked);
    scene.status = UPMU_OK;
    take_moment();
    return !failed;
}

/* ---- The calls ---- */

#define CPU (&scene.rig.cpu[0])
#define CALL(name, expression)         \
    static void call_##name(void)      \
    {                                  \
        scene.status = (expression);   \
    }

CALL(start, upmu_session_start(session(3)))
CALL(start_running, upmu_session_start(session(0)))
CALL(stop, upmu_session_stop(session(0)))
CALL(stop_second, upmu_session_stop(session(1)))
CALL(stop_counting, upmu_session_stop(session(2)))
CALL(restart, upmu_session_restart(session(0)))
CALL(detach, upmu_session_detach(session(0)))
CALL(close, upmu_session_close(session(0)))
CALL(drop, upmu_session_drop(session(0)))
CALL(write, upmu_set_write(&session(0)->set, 0, 5000))
CALL(write_stopped, upmu_set_write(&session(3)->set, 0, 0))
CALL(wait, upmu_set_wait(&session(0)->set, 0, 1000, 1000))
CALL(replace, upmu_set_replace(&session(3)->set, 0, "cache-references", NULL))
CALL(attach, upmu_session_attach_cpu(session(3), CPU))
CALL(attach_thread, upmu_session_attach_thread(session(3), &scene.thread[scene.thread_on], CPU))
CALL(add, upmu_set_add(&scene.fresh.set, "cycles,instructions", NULL))
CALL(poll, upmu_cpu_poll(CPU))
CALL(tick, upmu_cpu_tick(CPU))
CALL(suspend, upmu_cpu_suspend(CPU))
CALL(resume, upmu_cpu_resume(CPU))
CALL(changed, upmu_cpu_changed(CPU))
CALL(verify, upmu_cpu_verify(CPU, NULL))
CALL(fini, upmu_cpu_fini(CPU))
CALL(probe, upmu_cpu_probe(CPU, &scene.probe))
CALL(exit, upmu_thread_exit(&scene.thread[1]))
CALL(switch_set, upmu_session_switch(session(0), NULL))
CALL(write_idle_set, upmu_set_write(&scene.set, 0, 0))
CALL(region_open, upmu_region_open(&scene.region, CPU, "cache-references"))
CALL(region_begin, upmu_region_begin(&scene.region))
CALL(region_close, upmu_region_close(&scene.region))
CALL(session_init, upmu_session_init(&scene.fresh, &scene.rig.machine))
CALL(ibs_start, upmu_ibs_start(CPU, &scene.ibs))
CALL(ibs_stop, upmu_ibs_stop(CPU, &scene.ibs))
CALL(branches_start, upmu_branches_start(CPU, &(struct upmu_branch_filter){.record = 0}, NULL))
CALL(branches_stop, upmu_branches_stop(CPU))

/* Where a caller has interrupts off. */
static void call_branches_read(void)
{
    const struct upmu_port *port = &scene.rig.sim.port;
    uintptr_t irq = port->irq_save(port->context);
    struct upmu_branch branches[UPMU_BRANCHES_MOST];
    unsigned count;

    scene.status = upmu_branches_read(CPU, branches, UPMU_BRANCHES_MOST, &count);
    port->irq_restore(port->context, irq);
}

static void call_change_these(void)
{
    struct upmu_session *start[] = {session(3)}, *stop[] = {session(0)};

    scene.status = upmu_sessions_change(CPU, start, 1, stop, 1);
}

static void call_change_beside(void)
{
    struct upmu_session *start[] = {session(3)}, *stop[] = {session(2)};

    scene.status = upmu_sessions_change(CPU, start, 1, stop, 1);
}

static void call_read(void)
{
    scene.gots = 1;
    scene.got_kind = RIG_INSTRUCTIONS;
    scene.status = upmu_set_read(&session(0)->set, 0, 1, scene.got);
}

static void call_read_second(void)
{
    scene.gots = 1;
    scene.got_kind = RIG_BRANCHES;
    scene.status = upmu_set_read(&session(1)->set, 0, 1, scene.got);
}

static void call_read_counting(void)
{
    scene.gots = 1;
    scene.got_kind = RIG_CYCLES;
    scene.status = upmu_set_read(&session(2)->set, 0, 1, scene.got);
}

static void call_read_set(void)
{
    scene.gots = 1;
    scene.got_kind = RIG_REFERENCES;
    scene.status = upmu_set_read(&scene.set, 0, 1, scene.got);
}

static void call_read_active_set(void)
{
    scene.gots = 1;
    scene.got_kind = RIG_INSTRUCTIONS;
    scene.status = upmu_set_read(&session(0)->set, 0, 1, scene.got);
}

static void call_dry_run(void)
{
    struct upmu_write writes[40];
    struct upmu_dry_run dry = {.writes = writes, .capacity = 40};

    scene.status = upmu_session_dry_run(session(3), CPU->meter.pmu, &dry);
}

static void call_enter(void)
{
    scene.status = upmu_cpu_enter_guest(CPU);
    scene.in_guest = true;
}

static void call_leave(void)
{
    scene.status = upmu_cpu_leave_guest(CPU);
    scene.in_guest = false;
}

static void call_reserve(void)
{
    scene.status = upmu_cpu_reserve(CPU, UINT32_C(1) << scene.reserved);
}

static void call_unreserve(void)
{
    upmu_cpu_unreserve(CPU, UINT32_C(1) << scene.reserved);
}

static void call_take_firmware(void)
{
    upmu_cpu_take_firmware(CPU);
}

static void call_gate_value(void)
{
    (void)upmu_cpu_gate_value(CPU, UPMU_WORLD_HOST);
    (void)upmu_cpu_gate_value(CPU, UPMU_WORLD_GUEST);
}

/* All that only changes a detached session, or asks. */
static void call_settings(void)
{
    struct upmu_set_info info;
    unsigned counter;
    uint64_t ahead;

    upmu_session_mask_on_full(session(1), false);
    upmu_session_hide_kernel(session(1), false);
    upmu_session_hold(session(1));
    upmu_set_ask(&session(0)->set, &info);
    (void)upmu_set_where(&session(0)->set, 0, &counter, &ahead);
    (void)upmu_ring_lost(&session(0)->ring);
    (void)upmu_cpu_owner(CPU, 0);
    scene.status = upmu_session_share(session(3), true);
    if (scene.status == UPMU_OK)
        scene.status = upmu_session_static(session(3), true);
    if (scene.status == UPMU_OK)
        scene.status = upmu_session_publish(session(3), NULL);
}

static void call_switch_in(void)
{
    switch_to(1);
}

static void call_switch_between(void)
{
    switch_to(2);
}

static void call_switch_out(void)
{
    switch_to(0);
}

/* A consumer takes one record by copy and one in place, while the handler adds others. */
static void call_take_records(void)
{
    struct upmu_sample sample;
    struct upmu_record record;

    if (upmu_ring_next(&session(0)->ring, &sample))
        remember(0, sample.ip, sample.flags);
    if (upmu_ring_view(&session(0)->ring, &record)) {
        remember(0, record.sample->ip, record.sample->flags);
        upmu_ring_drop(&session(0)->ring);
    }
}

static void call_log(void)
{
    static unsigned char buffer[4096];
    struct upmu_output output = {.buffer = buffer, .size = sizeof buffer};
    struct upmu_log log;

    scene.status = upmu_log_begin(&log, &output, "", 0);
    if (scene.status == UPMU_OK)
        scene.status = upmu_log_session(&log, session(0), 0);
    if (scene.status == UPMU_OK)
        scene.status = upmu_log_end(&log, NULL, 0, 0);
}

static void call_region_measure(void)
{
    scene.status = upmu_region_begin(&scene.region);
    if (scene.status == UPMU_OK)
        scene.status = upmu_region_end(&scene.region);
}

static void call_use_work(void)
{
    static struct upmu_place_work work;

    scene.status = upmu_cpu_use_work(CPU, &work);
    if (scene.status == UPMU_OK)
        scene.status = upmu_cpu_use_work(CPU, NULL);
}

/* ---- What stands before some of them ---- */

static void up_free_counter(void)
{
    const struct upmu_pmu *pmu = CPU->meter.pmu;

    for (unsigned i = 0; i < UPMU_COUNTERS; i++)
        if (pmu->general >> i & 1u && upmu_cpu_owner(CPU, i) == UPMU_OWNER_FREE)
            scene.reserved = i;
}

static void up_reserved(void)
{
    up_free_counter();
    CHECK_OK(upmu_cpu_reserve(CPU, UINT32_C(1) << scene.reserved));
}

static void up_masked(void)
{
    run(100, BEFORE + 0x10000);
    look(session(0)->state == UPMU_SESSION_MASKED, "before the call: not masked");
}

static void up_15_ticks(void)
{
    for (unsigned i = 0; i < 15; i++)
        CHECK_OK(upmu_cpu_tick(CPU));
}

static void up_time(void)
{
    upmu_sim_advance_ns(&scene.rig.sim, 3000000);
}

static void up_suspended(void)
{
    CHECK_OK(upmu_cpu_suspend(CPU));
}

static void up_in_guest(void)
{
    CHECK_OK(upmu_cpu_enter_guest(CPU));
    scene.in_guest = true;
}

static void up_region(void)
{
    CHECK_OK(upmu_region_open(&scene.region, CPU, "cache-references"));
    watch(&scene.region.session, &scene.region.session.set, 0, RIG_REFERENCES, 0);
}

static void up_no_region(void)
{
    watch(&scene.region.session, &scene.region.session.set, 0, RIG_REFERENCES, 0);
}

static void up_fresh(void)
{
    CHECK_OK(upmu_session_init(&scene.fresh, &scene.rig.machine));
}

static void up_branches(void)
{
    CHECK_OK(upmu_branches_start(CPU, &(struct upmu_branch_filter){.record = 0}, NULL));
}

static void up_ibs(void)
{
    scene.ibs = (struct upmu_ibs){
        .kind = UPMU_IBS_OP, .period = 0x10000, .samples = scene.ibs_samples, .capacity = 8};
}

static void up_ibs_runs(void)
{
    up_ibs();
    CHECK_OK(upmu_ibs_start(CPU, &scene.ibs));
}

/* Placed once: the quick way. */
static void up_placed(void)
{
    CHECK_OK(upmu_session_start(session(3)));
    CHECK_OK(upmu_session_stop(session(3)));
}

/* ---- Behind the call ---- */

static char letter(const struct upmu_session *of)
{
    static const char letters[] = "DSRMUCW";

    return of->state < sizeof letters - 1 ? letters[of->state] : '?';
}

static bool exists(const struct upmu_session *of)
{
    return of->machine && of->state != UPMU_SESSION_CLOSED;
}

/* Does it run in the world that runs? */
static bool is_open(const struct upmu_session *of)
{
    if (of->state != UPMU_SESSION_RUNNING)
        return false;
    return !(row->needs & WORLDS) || (of != session(0) && of != session(1)) || (of == session(1)) == scene.in_guest;
}

static bool is_active(const struct watched *w)
{
    struct upmu_set_info info;

    upmu_set_ask(w->set, &info);
    return info.active;
}

static void judge_states(void)
{
    for (unsigned i = 0; i < SESSIONS && row->states[i]; i++) {
        char is = letter(session(i)), want = row->states[i];
        bool either = want == 'r', can = either || want == 'R' || want == 'W' || want == 'U';

        if (!session(i)->machine || want == '-')
            continue;
        if (variant == FULL && !i && can && is == 'M')
            continue;
        if (either)
            want = 'R';
        if (scene.masked[i] && can && !(either && is == 'R'))
            want = 'M';
        look(is == want, "session %u is %c, not %c", i, is, want);
    }
}

static void judge_gates(const char *when)
{
    unsigned wanted = 0, open = 0;

    for (unsigned i = 0; i < scene.watches; i++)
        wanted += exists(scene.watched[i].session) && is_open(scene.watched[i].session) && is_active(&scene.watched[i]);
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        open += upmu_sim_runs(&scene.rig.sim, 0, i);
    look(open == wanted || (row->needs & (STATIC | AMD) && open == wanted + 1u), "%s %u counters run for %u events",
         when, open,
         wanted);
}

static bool is_moment(uint64_t value, enum rig_kind kind)
{
    for (unsigned i = 0; i < scene.moments; i++)
        if (scene.truth_then[i][kind] == value)
            return true;
    return false;
}

static void judge_reads(void)
{
    if (scene.gots)
        look(is_moment(scene.got[0].raw, scene.got_kind), "a read gave %llu", (unsigned long long)scene.got[0].raw);
    if (row->call == call_region_measure)
        for (unsigned i = 0; i < scene.moments; i++)
            if (is_moment(scene.truth_then[i][RIG_REFERENCES] + scene.region.count[0].raw, RIG_REFERENCES))
                return;
    if (row->call == call_region_measure)
        look(false, "the region counted %llu", (unsigned long long)scene.region.count[0].raw);
}

/* What executes now is counted for those that run. */
static void judge_tail(void)
{
    bool runs[RIG_KINDS] = {false};
    uint64_t then[RIG_KINDS];

    for (unsigned i = 0; i < scene.watches; i++)
        if (exists(scene.watched[i].session) && is_open(scene.watched[i].session) && is_active(&scene.watched[i]))
            runs[scene.watched[i].kind] = true;
    memcpy(then, scene.rig.truth[0], sizeof then);
    run(1100, BEHIND);
    for (unsigned k = 0; k < RIG_TAGGED; k++) {
        uint64_t more = scene.rig.truth[0][k] - then[k], all = rig_amount((enum rig_kind)k, 1100);
        bool may_stop = variant == MASKS || variant == FULL || row->needs & TURNS;

        look(runs[k] ? more == all || (may_stop && more) : !more || row->needs & STATIC || may_stop,
             "kind %u: %llu counted of %llu afterwards", k, (unsigned long long)more, (unsigned long long)all);
    }
}

static uint64_t raw_of(const struct watched *w)
{
    struct upmu_count count = {.raw = 0};

    look(upmu_set_read(w->set, w->index, 1, &count) == UPMU_OK, "the last read");
    look(count.quality != UPMU_QUALITY_PARTIAL || row->needs & LOSES || variant == BLIND, "a count has a hole");
    return count.raw;
}

/* REBASES: when the call did its work. */
static bool rebased(uint64_t raw, uint64_t truth, const struct watched *w, uint64_t records)
{
    for (unsigned i = 0; i < scene.moments; i++) {
        uint64_t then = scene.truth_then[i][w->kind];

        if (raw == (row->call == call_write ? 5000 + truth - then : truth) &&
            (!w->period || records == then / w->period + (truth - then) / w->period))
            return true;
    }
    return false;
}

/* The address of the interrupt in which the n-th period ended. */
static uint64_t ip_of(const struct watched *w, uint64_t n)
{
    for (unsigned i = 0; i < scene.interrupts; i++)
        if (scene.interrupt[i].truth[w->kind] >= n * w->period)
            return scene.interrupt[i].ip;
    return 0;
}

static unsigned number_of(const struct upmu_session *of)
{
    for (unsigned i = 0; i < SESSIONS; i++)
        if (of == session(i))
            return i;
    return SESSIONS;
}

/* One frame is kept for what handlers leave to a call: the address of a second overflow in it may not be known. */
static bool may_be_unknown(const struct record *record)
{
    unsigned between = 0;

    for (unsigned i = 0; i < scene.interrupts; i++)
        between += scene.interrupt[i].ip >= BETWEEN && scene.interrupt[i].ip < BEHIND;
    return between > 1 && !record->ip && record->flags == UPMU_SAMPLE_NO_FRAME;
}

/*
 * At a few instructions of a stop, between two steps of its settling, a second interrupt finds the first one's overflow
 * once more, and its sample gets the second address.  Such points are counted, and must stay few.
 */
static bool is_late(const struct record *record, uint64_t ip)
{
    return ip >= BETWEEN && record->ip > ip && record->ip < BEHIND;
}

static void judge_records(const struct watched *w, bool exact)
{
    unsigned i = number_of(w->session), last = 0;

    for (unsigned n = 0; n < scene.records[i]; n++) {
        const struct record *record = &scene.record[i][n];
        unsigned at = 0;

        if (may_be_unknown(record)) {
            look(scene.unknown++ == 0, "more than one record without an address");
            continue;
        }
        while (at < scene.interrupts && scene.interrupt[at].ip != record->ip)
            at++;
        look(at < scene.interrupts, "record %u of session %u has address %llx, flags %x: of no interrupt", n, i,
             (unsigned long long)record->ip, (unsigned)record->flags);
        look(at >= last, "record %u of session %u has an address from before", n, i);
        last = at + 1;
        if (exact && is_late(record, ip_of(w, n + 1u)))
            late++;
        else if (exact)
            look(record->ip == ip_of(w, n + 1u),
                 "record %u of session %u has address %llx, its period ended at %llx", n,
                 i, (unsigned long long)record->ip, (unsigned long long)ip_of(w, n + 1u));
    }
}

static uint64_t truth_of(enum rig_kind kind)
{
    return scene.rig.truth[0][kind];
}

static void judge_session(const struct watched *w, uint64_t raw)
{
    unsigned i = number_of(w->session);
    uint64_t truth = truth_of(w->kind), records = i < SESSIONS ? scene.records[i] : 0;
    bool alike = w->kind == RIG_INSTRUCTIONS && (row->needs & ALIKE || row->call == call_probe),
        first = w->session == session(0);
    uint64_t lost = i < SESSIONS ? upmu_ring_lost(&w->session->ring) : 0;

    if (row->needs & REBASES && first)
        look(rebased(raw, truth, w, records + lost), "session 0: %llu, %llu counted, %u records",
             (unsigned long long)raw,
             (unsigned long long)truth, (unsigned)records);
    else if (row->needs & STATIC && first)
        look(is_moment(raw, w->kind) || raw == truth, "the static session has %llu", (unsigned long long)raw);
    else
        look(raw == truth || alike || (row->needs & LOSES && raw <= truth), "session %u: %llu of %llu of kind %u", i,
             (unsigned long long)raw, (unsigned long long)truth, w->kind);
    if (!w->period || i >= SESSIONS)
        return;
    if (!(row->needs & (LOSES | REBASES | SETS)))
        look(records + lost == raw / w->period, "session %u: %u records of %llu events", i,
             (unsigned)records,
             (unsigned long long)raw);
    judge_records(w, !alike && !(row->needs & (LOSES | REBASES | SETS)));
}

static void drain(void)
{
    struct upmu_sample sample;

    for (unsigned i = 0; i < SESSIONS; i++)
        while (session(i)->machine && session(i)->ring.buffer && upmu_ring_next(&session(i)->ring, &sample)) {
            remember(i, sample.ip, sample.flags);
        }
}

static void judge_counts(void)
{
    uint64_t sum = 0;

    drain();
    for (unsigned i = 0; i < SESSIONS; i++)
        look(!session(i)->machine || upmu_ring_lost(&session(i)->ring) <= (variant == FULL && !i ? 2u : 0u),
             "session %u lost records", i);
    for (unsigned i = 0; i < scene.watches; i++) {
        const struct watched *w = &scene.watched[i];
        uint64_t raw;

        if (!exists(w->session))
            continue;
        raw = raw_of(w);
        sum += w->kind == RIG_INSTRUCTIONS ? raw : 0;
        judge_session(w, raw);
    }
    if (row->needs & ALIKE)
        look(sum == truth_of(RIG_INSTRUCTIONS), "both: %llu of %llu", (unsigned long long)sum,
             (unsigned long long)truth_of(RIG_INSTRUCTIONS));
}

/* Nothing is left. */
static void judge_end(void)
{
    uint64_t then[RIG_KINDS];

    if (scene.ibs.period)
        look(upmu_ibs_stop(CPU, &scene.ibs) == UPMU_OK, "the last stop of IBS");
    look(upmu_cpu_fini(CPU) == UPMU_OK, "the last fini");
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        look(!upmu_sim_runs(&scene.rig.sim, 0, i), "counter %u runs in the end", i);
    memcpy(then, scene.rig.truth[0], sizeof then);
    run(500, BEHIND + 0x10000);
    look(!memcmp(then, scene.rig.truth[0], sizeof then), "events are counted in the end");
    look(!scene.not_ours, "an interrupt was answered NOT_OURS");
    look(!scene.rig.sim.violation_count, "the model: %s",
         scene.rig.sim.violation_count ? scene.rig.sim.first_violation.text : "");
}

static void judge(void)
{
    failed = false;
    look(scene.status == UPMU_OK, "%s", upmu_status_text(scene.status));
    judge_states();
    judge_gates("behind the call");
    judge_reads();
    if (row->call == call_suspend)
        look(upmu_cpu_resume(CPU) == UPMU_OK, "resume");
    judge_tail();
    judge_gates("in the end");
    judge_counts();
    judge_end();
}

/* ---- All of them ---- */

static const struct call_row rows[] = {
    {"start", call_start, "RRRR", FOUR, NULL},
    {"start_quick", call_start, "RRRR", FOUR, up_placed},
    {"start_running", call_start_running, "rRRS", 0, NULL},
    {"stop", call_stop, "SRRS", 0, NULL},
    {"stop_second", call_stop_second, "RSRS", 0, NULL},
    {"stop_counting", call_stop_counting, "RRSS", FOUR, NULL},
    {"restart", call_restart, "RRRS", MASKED, up_masked},
    {"restart_running", call_restart, "rRRS", 0, NULL},
    {"change_these", call_change_these, "SRRR", FOUR, NULL},
    {"change_these_quick", call_change_these, "SRRR", FOUR, up_placed},
    {"change_beside", call_change_beside, "RRSR", FOUR, up_placed},
    {"detach", call_detach, "DRRS", 0, NULL},
    {"close", call_close, "CRRS", 0, NULL},
    {"drop", call_drop, "CRRS", 0, NULL},
    {"read", call_read, "RRRS", 0, NULL},
    {"read_second", call_read_second, "RRRS", 0, NULL},
    {"read_counting", call_read_counting, "RRRS", FOUR, NULL},
    {"write", call_write, "RRRS", REBASES, NULL},
    {"write_stopped", call_write_stopped, "RRRS", FOUR, NULL},
    {"wait", call_wait, "RRRS", REBASES, NULL},
    {"replace", call_replace, "RRRS", FOUR, NULL},
    {"attach", call_attach, "RRRS", FOUR | FREE, NULL},
    {"add", call_add, "RRRS", 0, up_fresh},
    {"session_init", call_session_init, "RRRS", 0, NULL},
    {"settings", call_settings, "RRRD", FOUR | FREE, NULL},
    {"dry_run", call_dry_run, "RRRD", FOUR | FREE, NULL},
    {"take_records", call_take_records, "RRRS", 0, NULL},
    {"log", call_log, "RRRS", 0, NULL},
    {"poll", call_poll, "RRRS", 0, NULL},
    {"tick", call_tick, "RRRS", 0, NULL},
    {"tick_16", call_tick, "RRRS", 0, up_15_ticks},
    {"suspend", call_suspend, "UUUS", 0, NULL},
    {"resume", call_resume, "RRRS", SLEEPS, up_suspended},
    {"changed", call_changed, "RRRS", LOSES, NULL},
    {"verify", call_verify, "RRRS", 0, NULL},
    {"reserve", call_reserve, "RRRS", FOUR, up_free_counter},
    {"unreserve", call_unreserve, "RRRS", FOUR, up_reserved},
    {"take_firmware", call_take_firmware, "RRRS", 0, NULL},
    {"use_work", call_use_work, "RRRS", 0, NULL},
    {"probe", call_probe, "RRRS", FOUR, NULL},
    {"fini", call_fini, "DDDD", 0, NULL},
    {"enter_guest", call_enter, "RRRS", WORLDS, NULL},
    {"leave_guest", call_leave, "RRRS", WORLDS, up_in_guest},
    {"gate_value", call_gate_value, "RRRS", WORLDS, NULL},
    {"region_open", call_region_open, "RRR", REGION, up_no_region},
    {"region_measure", call_region_measure, "RRR", REGION, up_region},
    {"region_begin", call_region_begin, "RRR", REGION, up_region},
    {"region_close", call_region_close, "RRR", REGION, up_region},
    {"switch_in", call_switch_in, "RRRS", SAME | IDLE, NULL},
    {"switch_between", call_switch_between, "WRRS", THREADS, NULL},
    {"switch_alike", call_switch_between, "WRRS", THREADS | ALIKE, NULL},
    {"switch_out", call_switch_out, "WWRS", SAME, NULL},
    {"switch_static", call_switch_out, "WWRS", SAME | STATIC, NULL},
    {"switch_published", call_switch_out, "WWRS", SAME | PAGES, NULL},
    {"switch_in_published", call_switch_in, "RRRS", SAME | IDLE | PAGES, NULL},
    {"read_published", call_read, "RRRS", PAGES, NULL},
    {"stop_published", call_stop, "SRRS", PAGES, NULL},
    {"attach_thread", call_attach_thread, "RRRS", FOUR | SAME | FREE, NULL},
    {"thread_exit", call_exit, "DDRS", SAME, NULL},
    {"thread_stop", call_stop, "SRRS", SAME, NULL},
    {"thread_detach", call_detach, "DRRS", SAME, NULL},
    {"thread_read", call_read, "RRRS", SAME, NULL},
    {"thread_write", call_write, "RRRS", SAME | REBASES, NULL},
    {"thread_start", call_start, "RRRR", FOUR | SAME, NULL},
    {"thread_tick", call_tick, "RRRS", SAME, up_15_ticks},
    {"thread_suspend", call_suspend, "UUUS", SAME, NULL},
    {"switch_set", call_switch_set, "RRR", SETS, NULL},
    {"set_read", call_read_active_set, "RRR", SETS, NULL},
    {"idle_set_read", call_read_set, "RRR", SETS, NULL},
    {"idle_set_write", call_write_idle_set, "RRR", SETS, NULL},
    {"set_stop", call_stop, "SRR", SETS, NULL},
    {"set_tick", call_tick, "RRR", SETS | TIMED, up_time},
    {"set_turns_read", call_read_active_set, "RRR", SETS | TURNS, NULL},
    {"set_turns_poll", call_poll, "RRR", SETS | TURNS, NULL},
    {"set_turns_switch", call_switch_set, "RRR", SETS | TURNS, NULL},
    {"ibs_start", call_ibs_start, "RRRS", AMD, up_ibs},
    {"ibs_stop", call_ibs_stop, "RRRS", AMD, up_ibs_runs},
    {"branches_start", call_branches_start, "RRRS", BRANCHES, NULL},
    {"branches_read", call_branches_read, "RRRS", BRANCHES, up_branches},
    {"branches_stop", call_branches_stop, "RRRS", BRANCHES, up_branches},
};
#define ROWS (sizeof rows / sizeof rows[0])

static const char *const profiles[] = {"skylake", "core2", "nehalem", "icelake", "sapphirerapids", "lnl_p", "yonah",
                                       "p6", "prescott", "northwood_smtoff", "k8_revc", "bulldozer", "zen2", "zen4"};
#define PROFILES (sizeof profiles / sizeof profiles[0])

#define RING_HOLDS 5u /* records in 256 bytes: the next one finds no room, and masks it */

static bool is_meant(const struct call_row *of, enum variant v)
{
    if (of->needs & MASKED)
        return v == MASKS;
    if (v == BLIND && of->needs & TIMED)
        return false;
    return v != COUNTS || !(of->needs & TURNS || of->call == call_wait);
}

static void sweep(void)
{
    if (!is_meant(row, variant) || !set_up(variant == FULL ? RING_HOLDS : variant == MASKS ? 0 : 2))
        return;
    told = 0;
    phase_step.memory = &scene;
    phase_step.copy = &scene_copy;
    phase_step.bytes = sizeof scene;
    phase_step_run(row->call, overflow, judge);
    if (getenv("PHASES_TELL"))
        printf("%s %s %s: %u instructions\n", row->name, profile, variant_names[variant],
               (unsigned)phase_step.instructions);
}

static const char *asked(int count, char **arguments, const char *key)
{
    for (int i = 1; i < count; i++)
        if (!strncmp(arguments[i], key, strlen(key)))
            return arguments[i] + strlen(key);
    return NULL;
}

static int argument_count;
static char **argument_list;

static bool is_asked(const char *key, const char *name)
{
    const char *wanted = asked(argument_count, argument_list, key);

    return !wanted || !strcmp(wanted, name);
}

/* Stops in which two counters overflow, and a start over where an overflow interrupts until it is cleared. */
static bool is_always(void)
{
    if (!strcmp(profile, "prescott"))
        return row->call == call_changed && variant == PLAIN;
    return profile == profiles[0] && variant <= TWICE && (row->call == call_stop || row->call == call_change_these);
}

static void every_public_call_survives_an_overflow_at_every_instruction(void **state)
{
    const char *at = asked(argument_count, argument_list, "at=");
    const char *every = asked(argument_count, argument_list, "every=");
    unsigned n = 0, pace, part = argument_count > 1 ? 1 : share_step(share_few(QUICK, QUICKER), SLOW);

    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    printf("skipped: a stack that is gone back to is no stack for AddressSanitizer\n");
    skip();
#endif
    pace = every                ? (uint32_t)strtoul(every, NULL, 10)
           : argument_count > 1 ? 1
           : part > 1           ? PACE
                                : SOAK_PACE;
    phase_step.only = at ? (uint32_t)strtoul(at, NULL, 10) : 0;
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned p = 0; p < PROFILES; p++)
            for (unsigned v = 0; v < VARIANTS; v++) {
                row = &rows[r];
                profile = profiles[p];
                variant = (enum variant)v;
                phase_step.stride = part > 1 && is_always() ? SOAK_PACE : pace;
                phase_step.first = 1 + n++ % phase_step.stride;
                if ((n % part == 0 || is_always()) && is_asked("call=", row->name) &&
                    is_asked("profile=", profile) && is_asked("variant=", variant_names[v]))
                    sweep();
            }
    printf("%u calls, %u models, %u variants: one of %u, one instruction in %u%s\n", (unsigned)ROWS, (unsigned)PROFILES,
           (unsigned)VARIANTS, part, pace,
           part > 1 ? "; all, one in 7, in make soak (FUZZ_RUNS=soak)" : "");
    printf("points: %llu, bad: %llu, with a second address: %llu\n", (unsigned long long)phase_step.points,
           (unsigned long long)bad, (unsigned long long)late);
    assert_compare(phase_step.points, >, 0);
    assert_true(argument_count > 1 || late <= 1 + phase_step.points / 2000);
    assert_true(!bad);
}

int main(int count, char **arguments)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_public_call_survives_an_overflow_at_every_instruction),
    };

    argument_count = count;
    argument_list = arguments;
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests_name("phases", tests, NULL, NULL);
}
