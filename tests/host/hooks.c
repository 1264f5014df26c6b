/* SPDX-License-Identifier: MIT */
/*
 * The hooks that the library calls, and what may come between any two of them: other
 * CPUs, interrupts, remote calls, a thread switch.
 */
#include <string.h>
#include <upmu/world.h>

#include "tests/common/garbage.h"
#include "tests/host/simulated.h"
#include "tests/host/real.h"

_Thread_local struct worker *self;

/*
 * The library awaits an interrupt for a tenth of a second: so long after the last event, and the last call that may
 * have found one, none of ours is on its way.  Hardware is late by calls and not by time, and waits until interrupts
 * are on: what may be later than half of that is not looked at.
 */
#define WINDOW_NS UINT64_C(105000000)
#define LATE_NS UINT64_C(50000000)
/* So many looks after the last one everything that was late has come. */
#define LATE_LOOKS 20u

/* A step that makes more hook calls than this does not end. */
#define HOOKS_OF_A_STEP 3000000u

static const struct hardware_family *family(void)
{
    return host.setting.family;
}

/* ---- Interrupts ---- */

static bool watchdog_claims(struct host_cpu *cpu)
{
    bool claimed = false;

    for (unsigned counter = 0; counter < HOST_WATCHDOGS && cpu->reserved; counter++)
        if (cpu->watchdog[counter].on && cpu->watchdog[counter].interrupts)
            claimed |= family()->watchdog_interrupt(host.hardware, self->cpu, counter);
    return claimed;
}

/* Did firmware leave something on its core?  (NetBurst's threads share what can interrupt.) */
static bool core_is_left(const struct host_cpu *cpu)
{
    const uint8_t *core = family()->models[host.setting.model].core;
    bool left = false;

    for (unsigned i = 0; i < host.setting.cpus; i++)
        left |= host.cpu[i].left && core[i] == core[cpu - host.cpu];
    return left;
}

/*
 * A counter's, and no watchdog claims it.  (A late one of a watchdog's may be its second, whose first found both.  What
 * a static session left running has no count that shows its wrap, if its flag is hidden.)
 */
static void check_own(const struct host_cpu *cpu, uint64_t time_ns)
{
    if (rules_on(RULE_INTERRUPT) && !core_is_left(cpu) && !(host.setting.options.late && cpu->reserved) &&
        !cpu->overdue && host.now_ns - time_ns < LATE_NS && cpu->cpu && !cpu->useless &&
        !(host.setting.options.lost_flags && cpu->had_static))
        rules_fail(RULE_INTERRUPT, "an own interrupt on CPU %u was answered NOT_OURS, and no watchdog claims it",
                   self->cpu);
}

/* (What a fault left running on its core interrupts, too.) */
static bool core_has_faulted(const struct host_cpu *cpu)
{
    bool faulted = false;

    for (unsigned i = 0; i < host.setting.cpus; i++)
        faulted |= host.cpu[i].faulted && rules_share(i, (unsigned)(cpu - host.cpu));
    return faulted;
}

/*
 * Another source's, come at a time and answered so: long after all that could overflow it is not taken, nor is one of
 * ours awaited.  (Where no interrupts come at all, K7 model 1, it finds what overflowed long ago; a write that
 * faulted, or a counter of the host's that was stopped, may have left a flag.  `untold`: an overflow of which no
 * interrupt has told is found by any handler.)
 */
static void check_foreign(struct host_cpu *cpu, uint64_t time_ns, enum upmu_pmi answer, bool untold)
{
    if (host.setting.no_clock || cpu->overdue || cpu->flagged || cpu->calls || core_is_left(cpu) || !cpu->cpu ||
        core_has_faulted(cpu) || !host.verdict->figures.own || time_ns <= cpu->last_own_ns + WINDOW_NS ||
        time_ns > cpu->looked_ns + LATE_NS || (answer == UPMU_PMI_HANDLED && untold))
        return;
    host.verdict->figures.strange++;
    if (rules_on(RULE_INTERRUPT) && answer != UPMU_PMI_NOT_OURS)
        rules_fail(RULE_INTERRUPT, "another source's NMI on CPU %u was answered %u; none of ours was possible",
                   self->cpu, (unsigned)answer);
}

bool hooks_interrupt_is_coming(unsigned number)
{
    const struct hardware_family *family = host.setting.family;
    bool coming = false;

    if (host.real) /* (A race detector would see the others at work on it.) */
        return false;
    memcpy(host.copy, host.hardware, family->bytes);
    host.looking = true;
    for (unsigned calls = 0; !coming && calls < host.setting.options.late + LATE_LOOKS; calls++)
        coming = family->interrupt(host.copy, number);
    host.looking = false;
    return coming;
}

/*
 * Where the hardware moves the register of all gates, it does so at each entry and exit; the host has put both values
 * into its fields before the entry, after its last other call (world.h).
 */
void hooks_hardware_world(struct host_cpu *cpu, bool in_guest)
{
    uint64_t value = cpu->exit_gate;
    uint32_t faults = host.setting.faults;

    /* (A look that faults would not see what the host's own counters need.) */
    host.setting.faults = 0;
    if (in_guest) {
        cpu->exit_gate = HOST_CALL(upmu_cpu_gate_value(cpu->cpu, UPMU_WORLD_HOST));
        value = HOST_CALL(upmu_cpu_gate_value(cpu->cpu, UPMU_WORLD_GUEST));
    }
    host.setting.faults = faults;
    TRACE("the hardware opens %llx", (unsigned long long)value);
    (void)family()->wrmsr(host.hardware, self->cpu, 0x38f, value);
    cpu->world = in_guest ? CPU_IN_GUEST : CPU_IN_HOST;
}

/* What is no part of the call under way; a guest that it interrupts is left for it, and entered again after it. */
static void begin_apart(struct host_cpu *cpu)
{
    self->apart++;
    self->apart_times++;
    if (!cpu->by_hardware || cpu->world != CPU_IN_GUEST)
        return;
    cpu->left_guest = true;
    hooks_hardware_world(cpu, false);
}

static void enter_again(struct host_cpu *cpu)
{
    while (cpu->left_guest) {
        cpu->left_guest = false;
        rules_status("upmu_cpu_enter_guest", HOST_CALL(upmu_cpu_enter_guest(cpu->cpu)), "PORT");
        cpu->irq_off = true;
        hooks_hardware_world(cpu, true);
        cpu->irq_off = false;
    }
}

/* The host's entry: `own` came from a counter, else from somewhere else. */
static void enter_interrupt(struct host_cpu *cpu, bool own)
{
    struct upmu_frame frame = {.ip = lots_draw(&self->noise), .process = cpu->thread, .thread = cpu->thread};
    bool irq_off = cpu->irq_off, served = cpu->served, claimed;
    bool possible = !own && hooks_interrupt_is_coming(self->cpu);
    bool untold = !own && family()->untold && family()->untold(host.hardware, self->cpu);
    uint64_t time_ns = host.now_ns;
    enum upmu_pmi answer;

    frame.user = frame.ip & 1u;
    cpu->in_nmi = !host.setting.vector;
    cpu->in_vector = host.setting.vector;
    cpu->irq_off = true;
    begin_apart(cpu);
    host.verdict->figures.interrupts++;
    TRACE("NMI: %s ...", own ? "own" : "another's");
    act_branches_handler();
    act_traces_handler();
    answer = HOST_CALL(upmu_pmi_handle(cpu->cpu, (frame.ip & 14u) ? &frame : NULL));
    host.verdict->figures.answers[answer]++;
    TRACE("NMI: %s, answered %u", own ? "own" : "another's", (unsigned)answer);
    claimed = watchdog_claims(cpu);
    /*
     * An interrupt that has been requested is not taken back when the watchdog serves its counter in the handler of
     * another source's, nor one without a flag in any: the next look finds it.
     */
    cpu->served = (!own || host.setting.options.lost_flags) && claimed;
    cpu->served |= served && !own;
    if (own) {
        host.verdict->figures.own++;
        if (answer == UPMU_PMI_NOT_OURS && cpu->used_up)
            cpu->used_up--;
        else if (answer == UPMU_PMI_NOT_OURS && !claimed && !served)
            check_own(cpu, time_ns);
    } else {
        host.verdict->figures.foreign++;
        if (!possible)
            check_foreign(cpu, time_ns, answer, untold);
    }
    /* (An overflow that another source's found may have its own on the way.) */
    if (own || answer == UPMU_PMI_HANDLED)
        cpu->last_own_ns = host.now_ns;
    /* Without a clock another source's NMI that is answered STALE uses up the answer: session.h, UPMU_PMI_STALE. */
    cpu->used_up += host.setting.no_clock && answer == UPMU_PMI_STALE && (claimed || !own);
    cpu->flagged &= answer != UPMU_PMI_HANDLED;
    self->apart--;
    cpu->irq_off = irq_off;
    cpu->in_nmi = cpu->in_vector = false;
}

void hooks_stranger(void)
{
    struct host_cpu *cpu = here();

    if (!cpu->in_nmi && !host.setting.vector)
        enter_interrupt(cpu, false);
}

static void take_interrupts(struct host_cpu *cpu)
{
    if (cpu->in_nmi || cpu->in_vector || (host.setting.vector && cpu->irq_off))
        return;
    if (host.now_ns - cpu->looked_ns > LATE_NS)
        cpu->overdue = host.setting.options.late + LATE_LOOKS;
    cpu->looked_ns = host.now_ns;
    cpu->overdue -= cpu->overdue != 0;
    if (family()->interrupt(host.hardware, self->cpu)) {
        enter_interrupt(cpu, true);
        return;
    }
    cpu->served = false;
    if (lots_one_in(&self->noise, host.setting.strangers))
        hooks_stranger();
}

void hooks_drain_interrupts(void)
{
    for (unsigned i = 0; i < 300; i++)
        take_interrupts(here());
}

/* ---- Remote calls ---- */

void hooks_serve(void)
{
    struct host_cpu *cpu = here();

    while (cpu->remotes && !self->serving) {
        struct remote *remote = cpu->remotes;
        bool irq_off = cpu->irq_off;

        cpu->remotes = remote->next;
        self->serving = cpu->irq_off = true;
        self->stay++;
        begin_apart(cpu);
        real_accept(remote);
        HOST_DO(remote->function(remote->argument));
        real_offer(remote);
        self->apart--;
        self->stay--;
        cpu->irq_off = irq_off;
        self->serving = false;
        remote->done = true;
    }
}

void hooks_remote(unsigned target, void (*function)(void *argument), void *argument)
{
    struct remote remote = {.function = function, .argument = argument};
    struct host_cpu *cpu = &host.cpu[target];
    struct remote **end = &cpu->remotes;

    host.verdict->figures.remote++;
    if (host.alone) {
        uint8_t mine = self->cpu;

        self->cpu = (uint8_t)target;
        HOST_DO(function(argument));
        self->cpu = mine;
        return;
    }
    while (*end)
        end = &(*end)->next;
    *end = &remote;
    real_offer(&remote);
    self->stay++;
    /* (It serves calls of others while it waits, or two would wait for each other.) */
    while (!remote.done) {
        if (!self->serving)
            hooks_serve();
        run_yield();
    }
    self->stay--;
    real_accept(&remote);
}

/* ---- Threads ---- */

void hooks_switch(unsigned next)
{
    struct host_cpu *cpu = here();
    unsigned prev = cpu->thread;
    bool irq_off = cpu->irq_off;
    struct upmu_cpu *upmu = cpu->cpu ? cpu->cpu : cpu->ended;
    struct rules_user rights = {0};
    enum upmu_status status = UPMU_OK;

    if (next == prev || host.thread[next].cpu != HOST_NONE || host.thread[next].pins || host.thread[prev].pins ||
        !host.thread[next].thread || cpu->coming != HOST_NONE)
        return;
    TRACE("thread %u to %u", prev, next);
    host.thread[next].cpu = self->cpu;
    cpu->coming = (uint8_t)next;
    self->stay++;
    cpu->irq_off = true;
    real_accept(&host.thread[next]);
    if (upmu && !cpu->useless) {
        rights = rules_user_begin();
        for (unsigned i = 0; i < HOST_SESSIONS; i++)
            cpu->had_static |= host.session[i].target == TARGET_THREAD && host.session[i].is_static;
        host.verdict->figures.switches++;
        status = HOST_CALL(upmu_thread_switch(upmu, host.thread[prev].thread, host.thread[next].thread));
    }
    real_offer(&host.thread[prev]);
    cpu->irq_off = irq_off;
    self->stay--;
    cpu->thread = (uint8_t)next;
    cpu->coming = HOST_NONE;
    host.thread[prev].cpu = HOST_NONE;
    if (status != UPMU_OK)
        rules_fail(RULE_STATUS, "upmu_thread_switch: %s", upmu_status_text(status));
    if (upmu && !cpu->useless)
        rules_user_end("upmu_thread_switch", rights, true);
}

/* The CPU of an idle worker, where the running thread could go on; HOST_NONE: none. */
static unsigned find_other_cpu(void)
{
    unsigned first = lots_below(&self->noise, host.setting.cpus);

    for (unsigned i = 0; i < host.setting.cpus; i++) {
        unsigned other = (first + i) % host.setting.cpus;
        const struct host_cpu *cpu = &host.cpu[other];

        if (other != self->cpu && !cpu->worker->busy && cpu->power == CPU_LIVE && !cpu->remotes &&
            !host.thread[cpu->thread].pins)
            return other;
    }
    return HOST_NONE;
}

/* In the middle of a call its thread is switched away, and goes on elsewhere. */
static void migrate(unsigned thread, unsigned other)
{
    struct worker *idle = host.cpu[other].worker;
    uint8_t mine = self->cpu;
    bool irq_off = here()->irq_off;

    host.verdict->figures.migrations++;
    here()->worker = idle;
    idle->cpu = mine;
    self->cpu = (uint8_t)other;
    here()->worker = self;
    host.cpu[mine].calls--;
    here()->calls++;
    here()->irq_off = irq_off;
    hooks_switch(thread);
}

static void preempt(void)
{
    struct host_cpu *cpu = here();
    unsigned thread = cpu->thread, other = host.real ? HOST_NONE : find_other_cpu(), next;

    self->nested = true;
    next = thread < HOST_PROGRAMS ? HOST_PROGRAMS + (unsigned)self->cpu : lots_below(&self->noise, HOST_PROGRAMS);
    hooks_switch(next);
    if (cpu->thread == next) {
        hooks_work_drawn(&self->noise, 12, 12);
        /* (One whose thread does not run again at once is the next call's: a kernel thread goes on.) */
        self->nested = false;
        if (!host.real && !self->stay && self->cpu < HOST_CPUS && cpu->calls == 1 && other != HOST_NONE &&
            thread < HOST_PROGRAMS && lots_one_in(&self->noise, 2) && !host.cpu[other].worker->busy)
            migrate(thread, other);
        else
            hooks_switch(thread);
    }
    self->nested = false;
}

void hooks_program(void)
{
    struct host_cpu *cpu = here();
    unsigned thread = cpu->thread;

    for (unsigned i = lots_below(&self->noise, 6); i && !host.real; i--) {
        run_yield();
        hooks_point();
    }
    if (cpu->coming != HOST_NONE || cpu->irq_off || !lots_one_in(&self->noise, 4))
        return;
    self->nested = true;
    hooks_switch(thread < HOST_PROGRAMS ? HOST_PROGRAMS + (unsigned)self->cpu
                                        : lots_below(&self->noise, HOST_PROGRAMS));
    hooks_switch(thread);
    self->nested = false;
}

static void clock_interrupt(struct host_cpu *cpu)
{
    bool irq_off = cpu->irq_off;
    struct rules_user rights;
    enum upmu_status status;

    if (cpu->power != CPU_LIVE || !cpu->cpu || cpu->unreachable)
        return;
    rights = rules_user_begin();
    cpu->tick_wanted = false;
    cpu->irq_off = true;
    cpu->turning++;
    self->stay++;
    begin_apart(cpu);
    status = HOST_CALL(upmu_cpu_tick(cpu->cpu));
    rules_status("upmu_cpu_tick", status, "PORT BUSY");
    self->apart--;
    self->stay--;
    cpu->turning--;
    cpu->irq_off = irq_off;
    if (status == UPMU_OK)
        rules_user_end("upmu_cpu_tick", rights, false);
}

/* What interrupts that can be off bring. */
static void take_others(struct host_cpu *cpu)
{
    if (cpu->irq_off || cpu->in_nmi || self->nested || self->serving || cpu->coming != HOST_NONE)
        return;
    hooks_serve();
    if (cpu->tick_wanted || lots_one_in(&self->noise, host.setting.ticks))
        clock_interrupt(cpu);
    if (!self->stay && lots_one_in(&self->noise, host.setting.preempts))
        preempt();
}

void hooks_point(void)
{
    const struct host_cpu *cpu;

    if (host.zombies && lots_one_in(&self->noise, 8))
        act_reap();
    take_interrupts(here());
    take_others(here());
    cpu = here(); /* (It may be another one now.) */
    if (cpu->calls && lots_one_in(&self->noise, cpu->noisy ? 3 : host.setting.noise) && !cpu->unreachable &&
        cpu->power == CPU_LIVE) {
        uint64_t amount = lots_size(&self->noise, 10);

        rules_deliver(self->cpu, lots_below(&self->noise, HARDWARE_EVENTS), false, amount, false);
    }
    if (cpu->calls && lots_one_in(&self->noise, 8))
        units_work(&self->noise, true);
    if (host.vm.pv && lots_one_in(&self->noise, 8))
        pages_stir(&self->noise);
    if (lots_one_in(&self->noise, host.setting.yields))
        run_yield();
}

void hooks_enter(void)
{
    struct host_cpu *cpu = here();

    host.verdict->figures.calls++;
    if (!cpu->calls++)
        cpu->irq_before = cpu->irq_off;
    cpu->irq_off |= host.setting.no_irq;
    branches_code(1);
    real_unlock();
}

void hooks_leave(void)
{
    struct host_cpu *cpu;

    real_lock();
    cpu = here();
    if (!cpu->in_nmi)
        cpu->last_own_ns = host.now_ns;
    real_offer(&host.cpu); /* (A CPU that leaves waits for it.) */
    if (!--cpu->calls && host.setting.no_irq)
        cpu->irq_off = cpu->irq_before;
}

/* ---- The library's code: instrumented, so that something may happen at each block ---- */

static uint32_t blocks_left = UINT32_MAX; /* until the next point */

/* Do points come at blocks of code?  (These are the compiler's: another one's run differs.) */
static bool in_blocks(void)
{
    return host.setting.blocks && !host.setting.atomic && !host.real;
}

void hooks_set_blocks(struct worker *worker)
{
    blocks_left =
        in_blocks() ? 1u + lots_below(&worker->noise, 2 * host.setting.blocks) : UINT32_MAX;
}

void hooks_block_in(uint32_t blocks)
{
    blocks_left = in_blocks() ? blocks : blocks_left;
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    if (--blocks_left)
        return;
    blocks_left = UINT32_MAX;
    if (!self || !in_blocks())
        return;
    hooks_set_blocks(self);
    host.verdict->figures.blocks++;
    act_traces_point();
    hooks_point();
}

/* Before each atomic access (tests/host/interleave.h). */
void host_interleave(void);
void host_interleave(void)
{
    if (!self || host.real || !host.setting.blocks)
        return;
    host.verdict->figures.blocks++;
    hooks_point();
}

/* ---- Hooks ---- */

void hooks_begin(void)
{
    real_lock();
    host.verdict->figures.hooks++;
    host.verdict->figures.guest_hooks += setting_has(&host.setting, THEME_GUESTS);
    if (++self->hooks > HOOKS_OF_A_STEP)
        rules_fail(RULE_HANG, "more than %u hook calls", HOOKS_OF_A_STEP);
    host.now_ns += 20;
    hooks_point();
    branches_code(1);
}

void hooks_end(void)
{
    branches_code(1);
    real_unlock();
}

/* An access that belongs to a CPU comes with interrupts off, or in a handler. */
void hooks_check_context(const char *hook)
{
    const struct host_cpu *cpu = here();

    if (!cpu->irq_off && !cpu->in_nmi)
        rules_fail(RULE_CONTEXT, "%s with interrupts on", hook);
}

bool hooks_fault(void)
{
    if (!lots_one_in(&self->noise, host.setting.faults) &&
        !((here()->in_nmi || here()->in_vector) && lots_one_in(&self->noise, host.setting.handler_faults)))
        return false;
    host.verdict->figures.faults++;
    here()->faulted = true;
    guests_spoil(HOST_NONE);
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        host.session[i].spoiled = true;
    units_spoil();
    return true;
}

static bool hook_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    bool fine = false;

    (void)context;
    hooks_begin();
    hooks_check_context("rdmsr");
    self->accesses += !self->apart;
    if (!hooks_fault() && !hooks_unit_msr(msr, false, out_value, &fine))
        fine = family()->rdmsr(host.hardware, self->cpu, msr, out_value);
    (void)garbage_unless(fine, out_value);
    TRACE("rdmsr %x: %llx%s", (unsigned)msr, (unsigned long long)(fine ? *out_value : 0), fine ? "" : " faults");
    hooks_end();
    return fine;
}

static bool hook_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    bool fine = false;

    (void)context;
    hooks_begin();
    hooks_check_context("wrmsr");
    self->accesses += !self->apart;
    if (!hooks_fault() && !hooks_unit_msr(msr, true, &value, &fine)) {
        const char *damage;

        rules_write(self->cpu, msr, value);
        branches_write(self->cpu, msr, value);
        precise_write(self->cpu, msr, value);
        traces_write(self->cpu, msr, value);
        fine = family()->wrmsr(host.hardware, self->cpu, msr, value);
        damage = family()->damage(host.hardware);
        if (damage)
            rules_fail(RULE_DAMAGE, "%s", damage);
    }
    TRACE("wrmsr %x: %llx%s", (unsigned)msr, (unsigned long long)(value), fine ? "" : " faults");
    hooks_end();
    return fine;
}

static bool hook_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    bool fine;

    (void)context;
    hooks_begin();
    hooks_check_context("rdpmc");
    self->accesses += !self->apart;
    fine = !hooks_fault() && family()->rdpmc(host.hardware, self->cpu, index, out_value);
    (void)garbage_unless(fine, out_value);
    TRACE("rdpmc %x: %llx%s", (unsigned)index, (unsigned long long)(fine ? *out_value : 0), fine ? "" : " faults");
    hooks_end();
    return fine;
}

static void hook_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    (void)context;
    hooks_begin();
    family()->cpuid(host.hardware, self->cpu, leaf, subleaf, out);
    hooks_end();
}

static struct upmu_cpu *hook_this_cpu(void *context)
{
    struct upmu_cpu *cpu;

    (void)context;
    hooks_begin();
    cpu = here()->useless ? NULL : here()->cpu ? here()->cpu : here()->ended;
    hooks_end();
    return cpu;
}

static uintptr_t hook_irq_save(void *context)
{
    uintptr_t state;

    (void)context;
    hooks_begin();
    state = here()->irq_off;
    here()->irq_off = true;
    hooks_end();
    return state;
}

static void hook_irq_restore(void *context, uintptr_t state)
{
    (void)context;
    hooks_begin();
    here()->irq_off = state != 0;
    hooks_point();
    hooks_end();
}

static void hook_pmi_rearm(void *context)
{
    (void)context;
    hooks_begin();
    TRACE("rearm");
    family()->rearm(host.hardware, self->cpu);
    hooks_end();
}

static uint64_t hook_clock_ns(void *context)
{
    uint64_t now_ns;

    (void)context;
    hooks_begin();
    now_ns = host.now_ns;
    hooks_end();
    return now_ns;
}

static void hook_allow_rdpmc(void *context, bool allow)
{
    (void)context;
    hooks_begin();
    hooks_check_context("allow_rdpmc");
    here()->user_rdpmc = allow;
    hooks_end();
}

static bool hook_run_on_cpu(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    unsigned target = 0;
    bool reached;

    (void)context;
    hooks_begin();
    while (target < host.setting.cpus && host.cpu[target].cpu != cpu)
        target++;
    reached = target < host.setting.cpus && target != self->cpu && !host.cpu[target].unreachable && !here()->in_nmi &&
              !lots_one_in(&self->noise, 50);
    if (reached)
        hooks_remote(target, function, argument);
    hooks_end();
    return reached;
}

static void hook_request_tick(void *context)
{
    (void)context;
    hooks_begin();
    here()->tick_wanted = true;
    hooks_end();
}

static void hook_log(void *context, const char *line)
{
    (void)context;
    (void)line;
    hooks_begin();
    hooks_end();
}

void hooks_port(const struct setting *setting, struct upmu_port *out_port)
{
    memset(out_port, 0, sizeof *out_port);
    out_port->rdmsr = hook_rdmsr;
    out_port->wrmsr = hook_wrmsr;
    out_port->cpuid = hook_cpuid;
    out_port->this_cpu = hook_this_cpu;
    out_port->irq_save = setting->no_irq ? NULL : hook_irq_save;
    out_port->irq_restore = setting->no_irq ? NULL : hook_irq_restore;
    out_port->rdpmc = setting->no_rdpmc ? NULL : hook_rdpmc;
    out_port->pmi_rearm = setting->no_rearm ? NULL : hook_pmi_rearm;
    out_port->clock_ns = setting->no_clock ? NULL : hook_clock_ns;
    out_port->allow_rdpmc = setting->no_allow ? NULL : hook_allow_rdpmc;
    out_port->run_on_cpu = setting->no_remote ? NULL : hook_run_on_cpu;
    out_port->request_tick = setting->no_request ? NULL : hook_request_tick;
    out_port->log = hook_log;
    hooks_units_port(setting, out_port);
    out_port->tick_ns = setting->tick_ns;
    out_port->msr_faults_are_safe = true;
    out_port->in_kernel_mode = setting->kernel_mode;
}

/* ---- Work ---- */

/* Something runs outside the library: for each piece every kind of event happens, then interrupts. */
void hooks_work(uint64_t amount, bool user)
{
    static const uint8_t parts[HARDWARE_EVENTS] = {32, 16, 4, 1, 2, 1, 24};
    unsigned pieces = 1u + lots_below(&self->noise, 3);

    if (here()->power != CPU_LIVE || !here()->cpu)
        return;
    for (unsigned piece = 0; piece < pieces; piece++) {
        unsigned skipped = lots_below(&self->noise, 3 * HARDWARE_EVENTS);

        for (unsigned kind = 0; kind < HARDWARE_EVENTS; kind++)
            if (kind != skipped)
                rules_deliver(self->cpu, kind, user, (amount * parts[kind] >> 4) + (amount & 3u), true);
        host.now_ns += amount >> 1;
        /*
         * (Late are so many calls, and not milliseconds.  A counter of NetBurst may lose a carry when it is stopped, so
         * that 2^32 events, which take a second, may not pass unseen: errata N17 and O9.)
         */
        if (amount >> 24 && host.setting.family == &hardware_netburst)
            hooks_drain_interrupts();
        hooks_point();
        enter_again(here());
        if (here()->power != CPU_LIVE || !here()->cpu)
            break;
        units_work(&self->noise, false);
    }
}

/* So many bits of it, one time in 50 as many as rarely. */
void hooks_work_drawn(struct lots *lots, unsigned bits, unsigned rarely)
{
    bool user = lots_below(lots, 2);

    if (rarely != bits && lots_one_in(lots, 50))
        bits = rarely;
    hooks_work(lots_size(lots, bits), user);
}
