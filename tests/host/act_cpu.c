/* SPDX-License-Identifier: MIT */
/*
 * Steps that work on a CPU or a thread.
 */
#include <string.h>
#include <upmu/probe.h>
#include <upmu/world.h>

#include "tests/host/simulated.h"
#include "tests/host/real.h"

static const struct hardware_model *model(void)
{
    return &host.setting.family->models[host.setting.model];
}

/* ---- The host's own counters ---- */

/* The registers of a CPU of a machine. */
static void read_registers(void *hardware, unsigned number, uint64_t *values)
{
    const struct host_cpu *cpu = &host.cpu[number];

    for (unsigned i = 0; i < cpu->register_count; i++) {
        values[i] = 0;
        (void)host.setting.family->rdmsr(hardware, number, cpu->registers[i].msr, &values[i]);
    }
}

enum use { USE_BEGINS, USE_ENDS, USE_ENDED };

/*
 * Bits that differ are the host's from now on (of a register that is changed as a whole all of it is), or were (those
 * with which its use has ended are no others than it had changed: they are not lent for it).
 */
static void lend_bits(unsigned number, const uint64_t *before, const uint64_t *after, enum use use)
{
    const struct host_cpu *from = &host.cpu[number];

    for (unsigned i = 0; i < from->register_count; i++) {
        uint64_t bits = before[i] ^ after[i];

        for (unsigned other = 0; bits && other < host.setting.cpus; other++)
            if (other == number || (from->registers[i].shared && rules_share(other, number))) {
                if (use != USE_ENDED)
                    host.cpu[other].lent[i] |= __builtin_popcountll(bits) > 3 ? ~UINT64_C(0) : bits;
                if (use == USE_BEGINS)
                    host.cpu[other].kept[i] |= bits;
                else
                    host.cpu[other].kept[i] &= __builtin_popcountll(bits) > 3 ? 0 : ~bits;
            }
    }
}

/* Without a counter of the host's own no bit is its own. */
static void take_bits_back(unsigned number)
{
    for (unsigned i = 0; i < host.setting.cpus; i++)
        for (unsigned counter = 0; rules_share(i, number) && counter < HOST_WATCHDOGS; counter++)
            if (host.cpu[i].watchdog[counter].on)
                return;
    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (rules_share(i, number))
            memset(host.cpu[i].kept, 0, sizeof host.cpu[i].kept);
}

static void set_watchdog(unsigned number, unsigned counter, bool on, bool interrupts, uint64_t period)
{
    struct watchdog *watchdog = &host.cpu[number].watchdog[counter];
    const struct hardware_family *family = host.setting.family;
    uint64_t before[256], after[256], interrupting[256];

    read_registers(host.hardware, number, before);
    if (!on) { /* (All its bits, although some may stay as they are.) */
        memcpy(host.copy, host.hardware, family->bytes);
        (void)family->watchdog(host.copy, number, counter, false, false, 0);
        read_registers(host.copy, number, after);
        lend_bits(number, before, after, USE_ENDS);
        /* (A watchdog without interrupts may have cleared what one with them had left.) */
        (void)family->watchdog(host.copy, number, counter, true, true, 1);
        read_registers(host.copy, number, interrupting);
        lend_bits(number, interrupting, after, USE_ENDED);
    }
    if (!family->watchdog(host.hardware, number, counter, on, interrupts, period))
        on = false;
    read_registers(host.hardware, number, after);
    lend_bits(number, before, after, on ? USE_BEGINS : USE_ENDS);
    /* (And those that only happened to have its values.) */
    memcpy(host.copy, host.hardware, family->bytes);
    (void)family->watchdog(host.copy, number, counter, false, false, 0);
    read_registers(host.copy, number, before);
    if (on)
        lend_bits(number, before, after, USE_BEGINS);
    *watchdog = (struct watchdog){.on = on, .interrupts = interrupts};
    if (!on)
        take_bits_back(number);
}

struct reservation {
    uint32_t counters;
    bool reserve;
    enum upmu_status status;
};

static void reserve_here(void *argument)
{
    struct reservation *reservation = argument;

    reservation->status = UPMU_OK;
    if (!here()->cpu)
        return;
    if (reservation->reserve)
        reservation->status = upmu_cpu_reserve(here()->cpu, reservation->counters);
    else
        upmu_cpu_unreserve(here()->cpu, reservation->counters);
}

#define NETBURST_ENABLE 0x1000u /* of a CCCR */

/* On this CPU and, for counters that they share, on the others of its core. */
static enum upmu_status reserve_all(uint32_t counters, bool reserve, bool shared)
{
    struct reservation reservation = {counters, reserve, UPMU_OK}, other = {counters, reserve, UPMU_OK};

    HOST_DO(reserve_here(&reservation));
    for (unsigned i = 0; shared && reservation.status == UPMU_OK && i < host.setting.cpus; i++)
        if (i != self->cpu && rules_share(i, self->cpu) && host.cpu[i].power != CPU_OFF) {
            other.status = UPMU_ERR_BUSY;
            if (!host.cpu[i].unreachable)
                hooks_remote(i, reserve_here, &other);
            if (other.status != UPMU_OK)
                reservation.status = other.status;
        }
    if (reserve && reservation.status != UPMU_OK)
        (void)reserve_all(counters, false, shared);
    return reservation.status;
}

/* What the host keeps on this CPU and, where others see it, on those of its core. */
static uint32_t reserved_here(unsigned number, const struct upmu_cpu *upmu)
{
    uint32_t counters = host.cpu[number].reserved;

    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (rules_share(i, number))
            counters |= host.cpu[i].reserved & upmu->meter.pmu->shared_counters;
    return counters;
}

/* One that a sibling took from the firmware, and that was the firmware's still for this CPU, is as the host left it. */
static void forget_select(unsigned number, unsigned counter)
{
    for (unsigned i = 0; i < host.cpu[number].register_count; i++) {
        uint32_t msr = host.cpu[number].registers[i].msr;

        if (host.setting.family == &hardware_netburst && msr == 0x360 + counter)
            for (unsigned other = 0; other < host.setting.cpus; other++)
                if (rules_share(other, number))
                    host.cpu[other].lent[i] = ~UINT64_C(0);
        /* (Disabled, with an event in its select, it stays disabled at the end: pmu.h, upmu_cpu_unreserve.) */
        if (host.setting.family == &hardware_intel && msr == 0x38f)
            host.cpu[number].lent[i] |= UINT64_C(1) << (counter < 16 ? counter : counter + 16);
        if ((host.setting.family == &hardware_amd &&
             (msr == 0xc0010000 + counter || msr == 0xc0010200 + 2 * counter)) ||
            (host.setting.family == &hardware_p6 && msr == 0x186 + counter))
            host.cpu[number].lent[i] |= UINT64_C(1) << 22;
    }
}

/*
 * A sibling has refused what this CPU had granted: the counter returns, and does not run at the end if it does not run
 * now (pmu.h, upmu_cpu_unreserve).
 */
static void forget_enable(unsigned number, unsigned counter)
{
    for (unsigned i = 0; i < host.cpu[number].register_count; i++) {
        uint32_t msr = host.cpu[number].registers[i].msr;
        uint64_t value;

        if (host.setting.family != &hardware_netburst || msr != 0x360 + counter ||
            !host.setting.family->rdmsr(host.hardware, number, msr, &value) || value & NETBURST_ENABLE)
            continue;
        for (unsigned other = 0; other < host.setting.cpus; other++)
            if (rules_share(other, number))
                host.cpu[other].lent[i] |= NETBURST_ENABLE;
    }
}

static void reserve(struct lots *lots)
{
    struct host_cpu *cpu = here();
    unsigned counter = lots_below(lots, HOST_WATCHDOGS);
    uint32_t bit = UINT32_C(1) << counter, period;
    enum upmu_status status;

    if (cpu->power != CPU_LIVE || cpu->useless || !(cpu->cpu->meter.pmu->counters & bit) ||
        (reserved_here(self->cpu, cpu->cpu) & bit) || host.hotplug)
        return;
    host.hotplug = true;
    real_accept(&host.hotplug);
    self->stay++;
    status = reserve_all(bit, true, cpu->cpu->meter.pmu->shared_counters & bit);
    rules_status("upmu_cpu_reserve", status, "STATE PORT BUSY WRONG_CPU");
    if (status != UPMU_OK)
        forget_enable(self->cpu, counter);
    if (status == UPMU_OK) {
        cpu->reserved |= bit;
        period = 1000u + lots_below(lots, 1000000);
        set_watchdog(self->cpu, counter, true, !host.setting.no_rearm && lots_below(lots, 2), period);
        if (!cpu->watchdog[counter].on) { /* the hardware cannot count cycles there */
            (void)reserve_all(bit, false, cpu->cpu->meter.pmu->shared_counters & bit);
            cpu->reserved &= ~bit;
            forget_select(self->cpu, counter);
        }
    }
    self->stay--;
    real_offer(&host.hotplug);
    host.hotplug = false;
}

/* Counters that the others of this CPU's core see, too. */
static uint32_t shared_here(void)
{
    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (rules_share(i, self->cpu) && host.cpu[i].cpu && !host.cpu[i].useless)
            return host.cpu[i].cpu->meter.pmu->shared_counters;
    return 0;
}

/* On P6 select 0 enables counter 1, too, whose session may run in another world now: pmu.h, upmu_cpu_reserve(). */
static bool needs_enable(const struct host_cpu *cpu, unsigned counter)
{
    return host.setting.family == &hardware_p6 && setting_has(&host.setting, THEME_GUESTS) && counter == 0 &&
           cpu->power == CPU_LIVE;
}

static void unreserve(struct lots *lots)
{
    struct host_cpu *cpu = here();
    uint64_t faults;

    if (host.hotplug || cpu->power == CPU_ASLEEP)
        return;
    host.hotplug = true;
    real_accept(&host.hotplug);
    self->stay++;
    for (unsigned counter = 0; counter < HOST_WATCHDOGS; counter++) {
        uint32_t bit = UINT32_C(1) << counter;

        if (!(cpu->reserved & bit) || needs_enable(cpu, counter))
            continue;
        hooks_drain_interrupts();
        set_watchdog(self->cpu, counter, false, false, lots_below(lots, 2));
        cpu->flagged = true;
        faults = host.verdict->figures.faults;
        /* (What a fault hid stays what was found before: the watchdog may run again after the end.) */
        (void)reserve_all(bit, false, shared_here() & bit);
        cpu->left |= host.verdict->figures.faults != faults;
        cpu->reserved &= ~bit;
    }
    self->stay--;
    real_offer(&host.hotplug);
    host.hotplug = false;
}

/* ---- CPUs come and go ---- */

static bool core_is_off(unsigned number, bool asleep_too)
{
    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (i != number && rules_share(i, number) &&
            (host.cpu[i].power == CPU_LIVE || host.cpu[i].reserved || (!asleep_too && host.cpu[i].power == CPU_ASLEEP)))
            return false;
    return true;
}

/* Firmware's leavings; an interrupt that nothing acknowledges is not among them. */
static void leave_something(unsigned number, struct lots *lots)
{
    const struct hardware_family *family = host.setting.family;
    bool storm = false;

    family->leave(host.hardware, number, lots_draw(lots));
    memcpy(host.copy, host.hardware, family->bytes);
    for (unsigned i = 0; i < host.setting.cpus; i++) {
        family->rearm(host.copy, i);
        for (unsigned calls = 0; calls < 300; calls++)
            storm |= family->interrupt(host.copy, i);
    }
    if (storm)
        family->reset(host.hardware, number, true);
    else
        host.cpu[number].left = true;
}

/* Entries and exits move the register of all gates. */
static bool family_moves_gates(struct upmu_cpu *upmu)
{
    enum upmu_status status = HOST_CALL(upmu_cpu_world_by_hardware(upmu, true));

    rules_status("upmu_cpu_world_by_hardware", status, "UNSUPPORTED STATE");
    return status == UPMU_OK;
}

/* Room for it: of its former life, or new, with nothing left of that. */
static struct upmu_cpu *take_room(struct host_cpu *cpu, struct lots *lots)
{
    struct upmu_cpu *upmu = cpu->ended;

    cpu->ended = NULL;
    if (upmu && lots_below(lots, 2)) {
        arena_rename(upmu, "CPU");
        return upmu;
    }
    if (upmu)
        arena_give(upmu);
    upmu = arena_take(sizeof *upmu, "CPU");
    memset(upmu, 0, sizeof *upmu);
    return upmu;
}

void act_come(unsigned number, struct lots *lots)
{
    struct host_cpu *cpu = &host.cpu[number];
    struct upmu_domain *domains[3] = {host.core[model()->core[number]], host.node[model()->node[number]], NULL};
    struct upmu_cpu *upmu;
    enum upmu_status status;
    uint64_t faults;

    if (cpu->power != CPU_OFF || host.hotplug || !units_may_wake())
        return;
    host.hotplug = true;
    real_accept(&host.hotplug);
    self->stay++;
    /* (Each value of the host's own counters stays what it is.) */
    if (!cpu->reserved && core_is_off(number, false) && lots_below(lots, 2)) {
        host.setting.family->reset(host.hardware, number, true);
        cpu->left = false;
        if (host.setting.leavings && lots_one_in(lots, host.setting.leavings))
            leave_something(number, lots);
    }
    rules_snapshot(number);
    units_wake();
    cpu->half_awake = cpu->had_static = false;
    upmu = take_room(cpu, lots);
    cpu->cpu = upmu;
    cpu->irq_off = cpu->unreachable = true;
    cpu->last_own_ns = host.now_ns | 1u;
    faults = host.verdict->figures.faults;
    status = HOST_CALL(upmu_cpu_init(upmu, host.machine, domains));
    cpu->branches.blind = host.verdict->figures.faults != faults;
    /* (What it keeps for itself it says again.) */
    if (status == UPMU_OK && reserved_here(number, upmu))
        rules_status("upmu_cpu_reserve", HOST_CALL(upmu_cpu_reserve(upmu, reserved_here(number, upmu))), "PORT");
    cpu->by_hardware = status == UPMU_OK && setting_has(&host.setting, THEME_GUESTS) && lots_below(lots, 2) &&
                       host.setting.family == &hardware_intel && family_moves_gates(upmu);
    cpu->irq_off = cpu->unreachable = false;
    units_awake();
    rules_status("upmu_cpu_init", status, "NO_PMU PORT");
    if (status == UPMU_OK) {
        cpu->power = CPU_LIVE;
        cpu->came = true;
        act_precise_come(lots);
        act_branches_come(lots);
        act_traces_come(lots);
    } else {
        hooks_drain_interrupts();
        rules_restored(number);
        cpu->cpu = NULL;
        cpu->user_rdpmc = false;
        arena_give(upmu);
    }
    self->stay--;
    real_offer(&host.hotplug);
    host.hotplug = false;
}

static bool others_are_in_calls(void)
{
    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (i != self->cpu && host.cpu[i].calls)
            return true;
    return false;
}

/* Nothing on its way finds this CPU any more. */
static void wait_for_others(void)
{
    while (others_are_in_calls()) {
        hooks_serve();
        run_yield();
    }
    real_accept(&host.cpu);
}

void act_leave(struct lots *lots)
{
    struct host_cpu *cpu = here();
    struct upmu_cpu *upmu = cpu->cpu;
    enum upmu_status status;
    bool asleep = cpu->power == CPU_ASLEEP;

    if (cpu->power == CPU_OFF || host.hotplug || cpu->coming != HOST_NONE)
        return;
    host.hotplug = true;
    real_accept(&host.hotplug);
    self->stay++;
    cpu->unreachable = true;
    wait_for_others();
    act_guests_leave(self->cpu);
    cpu->irq_off = true;
    units_go(self->cpu);
    status = HOST_CALL(upmu_cpu_fini(upmu));
    rules_status("upmu_cpu_fini", status, "PORT BUSY");
    /* What it could not stop runs on until a reset, and interrupts the next life, which knows nothing of it. */
    cpu->left |= status == UPMU_ERR_PORT;
    act_traces_over(upmu, status);
    act_precise_over(self->cpu, status == UPMU_ERR_PORT);
    act_branches_over(self->cpu, false);
    cpu->irq_off = false;
    cpu->power = CPU_OFF;
    cpu->had_page = cpu->reads = false;
    units_gone(self->cpu);
    act_ibs_over(self->cpu);
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].target == TARGET_CPU && host.session[i].where == self->cpu) {
            host.session[i].target = TARGET_NONE;
            host.session[i].started = false;
        }
    if (cpu->reserved) {
        rules_deliver(self->cpu, HARDWARE_CYCLES, false, 100, true);
        rules_watchdogs(self->cpu);
    }
    hooks_drain_interrupts();
    rules_restored(self->cpu);
    wait_for_others();
    if (!asleep)
        rules_user_now("upmu_cpu_fini");
    cpu->cpu = NULL;
    /* (Its scheduler may go on, and say so; one that ends asleep executes nothing before its next life.) */
    if (!asleep && lots_below(lots, 2)) {
        cpu->ended = upmu;
        arena_rename(upmu, "ended CPU");
    } else {
        cpu->user_rdpmc = false;
        arena_give(upmu);
    }
    arena_forgotten();
    if (!cpu->ended && cpu->thread < HOST_PROGRAMS)
        hooks_switch(HOST_PROGRAMS + self->cpu);
    cpu->unreachable = false;
    self->stay--;
    real_offer(&host.hotplug);
    host.hotplug = false;
}

static void sleep_cpu(struct lots *lots)
{
    struct host_cpu *cpu = here();
    enum upmu_status status;

    if (cpu->power != CPU_LIVE || cpu->useless || host.hotplug || cpu->reserved || cpu->coming != HOST_NONE)
        return;
    host.hotplug = true;
    real_accept(&host.hotplug);
    self->stay++;
    cpu->unreachable = cpu->irq_off = true;
    units_go(self->cpu);
    status = HOST_CALL(upmu_cpu_suspend(cpu->cpu));
    rules_status("upmu_cpu_suspend", status, "PORT BUSY");
    if (status != UPMU_ERR_BUSY)
        cpu->power = CPU_ASLEEP;
    units_gone(self->cpu);
    if (cpu->power == CPU_ASLEEP)
        act_precise_sleeps(self->cpu, status == UPMU_ERR_PORT);
    if (cpu->power == CPU_ASLEEP)
        act_branches_over(self->cpu, true);
    act_traces_ends(self->cpu, status);
    cpu->half_awake = status == UPMU_ERR_PORT; /* (What could not be restored is restored after the next life.) */
    if (cpu->power == CPU_ASLEEP)
        act_ibs_over(self->cpu);
    cpu->irq_off = false;
    hooks_drain_interrupts();
    rules_restored(self->cpu);
    if (lots_below(lots, 4)) {
        bool shared = core_is_off(self->cpu, true);

        host.setting.family->reset(host.hardware, self->cpu, shared);
        cpu->user_rdpmc = false;
        cpu->left = cpu->left && !shared; /* (What the core's threads share stays.) */
        for (unsigned i = 0; i < host.setting.cpus; i++) /* (What was found is gone.) */
            if (i == self->cpu || (shared && rules_share(i, self->cpu))) {
                host.cpu[i].faulted = true;
                host.cpu[i].stale |= host.cpu[i].half_awake;
            }
    }
    cpu->unreachable = false;
    self->stay--;
    real_offer(&host.hotplug);
    host.hotplug = false;
}

static void wake_cpu(void)
{
    uint64_t faults = host.verdict->figures.faults;
    struct host_cpu *cpu = here();
    enum upmu_status status;

    if (cpu->power != CPU_ASLEEP || host.hotplug || cpu->coming != HOST_NONE || !units_may_wake())
        return;
    host.hotplug = true;
    real_accept(&host.hotplug);
    self->stay++;
    if (!cpu->half_awake)
        rules_snapshot(self->cpu);
    cpu->irq_off = true;
    units_wake();
    act_precise_wakes(self->cpu);
    status = HOST_CALL(upmu_cpu_resume(cpu->cpu));
    units_awake();
    cpu->irq_off = false;
    rules_status("upmu_cpu_resume", status, /* (Memory is not used again where the firmware's bits of records are.) */
                 precise_is_on() || branches_are_on() ? "NO_PMU PORT DOES_NOT_FIT BUSY HOOK_MISSING"
                                                      : "NO_PMU PORT DOES_NOT_FIT BUSY");
    if (cpu->cpu->meter.live)
        cpu->power = CPU_LIVE;
    cpu->half_awake = !cpu->cpu->meter.live;
    if (cpu->half_awake && host.verdict->figures.faults == faults + 1u) { /* (None hid what is to be restored.) */
        rules_restored(self->cpu);
        cpu->half_awake = false;
    }
    if (status != UPMU_OK)
        guests_spoil(HOST_NONE);
    if (status != UPMU_OK)
        for (unsigned i = 0; i < HOST_SESSIONS; i++)
            host.session[i].spoiled |= rules_is_here(&host.session[i], self->cpu) ||
                                       host.session[i].target == TARGET_UNIT;
    self->stay--;
    real_offer(&host.hotplug);
    host.hotplug = false;
}

/* (What comes to a CPU that starts over is marked afterwards, and what leaves it meanwhile when it leaves.) */
static void mark_changed(void)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        host.session[i].changed |= rules_starts_over(&host.session[i]);
}

static void change_cpu(void)
{
    struct host_cpu *cpu = here();
    uint64_t faults = host.verdict->figures.faults;
    enum upmu_status status;

    if (cpu->power != CPU_LIVE)
        return;
    cpu->starts_over = true;
    host.restarts++;
    mark_changed();
    guests_spoil(self->cpu);
    cpu->precise.doubtful = true; /* (Records of before are not read.) */
    cpu->traces.mixed |= traces_lent(self->cpu);
    self->stay++;
    cpu->turning++;
    status = HOST_CALL(upmu_cpu_changed(cpu->cpu));
    rules_status("upmu_cpu_changed", status, "PORT BUSY");
    /* (bts.h: it ends a trace, and other calls say that its memory may be freed.) */
    act_traces_ends(self->cpu, faults == host.verdict->figures.faults ? status : UPMU_ERR_PORT);
    cpu->turning--;
    self->stay--;
    mark_changed();
    cpu->starts_over = false;
}

/* ---- Threads ---- */

void act_thread_make(unsigned number)
{
    struct host_thread *thread = &host.thread[number];
    struct upmu_thread *upmu = arena_take(sizeof *upmu, "thread");

    HOST_DO(upmu_thread_init(upmu, number + 1u, number + 1u, NULL));
    if (thread->thread) { /* (Another CPU was faster.) */
        arena_give(upmu);
        return;
    }
    real_offer(thread);
    *thread = (struct host_thread){.thread = upmu, .cpu = HOST_NONE};
}

/* All its sessions, for this step alone; false: some are in use. */
static bool hold_sessions(unsigned number, bool hold)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        struct host_session *session = &host.session[i];

        if (session->target != TARGET_THREAD || session->where != number || session->zombie || !session->session)
            continue;
        if (!hold) {
            session->exclusive = false;
            session->users--;
            session->target = TARGET_NONE;
            session->started = false;
        } else if (session->users) {
            return false;
        }
    }
    for (unsigned i = 0; hold && i < HOST_SESSIONS; i++)
        if (host.session[i].target == TARGET_THREAD && host.session[i].where == number && !host.session[i].zombie)
            (void)act_begin(&host.session[i], true);
    return true;
}

static void exit_thread(unsigned number)
{
    struct host_thread *thread = &host.thread[number];
    bool runs = thread->cpu == self->cpu;
    enum upmu_status status;

    if (!thread->thread) {
        act_thread_make(number);
        return;
    }
    if ((!runs && thread->cpu != HOST_NONE) || thread->pins || thread->guests ||
        here()->coming != HOST_NONE || host.hotplug || !hold_sessions(number, true))
        return;
    host.hotplug = true;
    real_accept(&host.hotplug);
    real_accept(thread);
    thread->ending = true;
    thread->pins++;
    self->stay++;
    do {
        status = HOST_CALL(upmu_thread_exit(thread->thread));
        rules_status("upmu_thread_exit", status, "WRONG_CPU BUSY PORT");
        if (status == UPMU_ERR_BUSY)
            run_yield(); /* (The holder of the list goes on.) */
    } while (thread->thread->sessions);
    (void)hold_sessions(number, false);
    thread->pins--;
    thread->reads = false;
    if (runs)
        hooks_switch(HOST_PROGRAMS + self->cpu);
    self->stay--;
    real_offer(&host.hotplug);
    host.hotplug = false;
    thread->ending = false;
    if (thread->cpu != HOST_NONE)
        return;
    arena_give(thread->thread);
    arena_forgotten();
    thread->thread = NULL;
}

/* ---- Time ---- */

static void add_enabled(struct host_session *session, uint64_t span_ns)
{
    for (unsigned k = 0; k < session->sets; k++)
        for (unsigned i = 0; i < session->set[k].events; i++)
            session->set[k].event[i].enabled_ns += span_ns;
}

/* Will an interrupt come to another CPU without further events?  (It is late by so many calls, not by hours.) */
static bool interrupts_are_coming(void)
{
    bool coming = false;

    for (unsigned cpu = 0; cpu < host.setting.cpus; cpu++)
        coming |= cpu != self->cpu && hooks_interrupt_is_coming(cpu);
    return coming;
}

static void pass_time(struct lots *lots)
{
    uint64_t span_ns = lots_size(lots, lots_one_in(lots, 8) ? 44 : 30), events = host.verdict->figures.events;

    if (setting_has(&host.setting, THEME_LONG))
        span_ns = UINT64_C(1) << (34 + lots_below(lots, 10));

    hooks_drain_interrupts();
    if (interrupts_are_coming())
        return;
    for (unsigned i = 0; i < HOST_SESSIONS; i++) {
        struct host_session *session = &host.session[i];
        unsigned place = session->session ? rules_place(session) : HOST_NONE;

        /* (The call that starts or stops it may be under way.) */
        if (place != HOST_NONE && session->started && !session->users && host.cpu[place].power == CPU_LIVE &&
            !host.cpu[place].calls && host.cpu[place].coming == HOST_NONE && !session->spoiled &&
            rules_is_enabled(session))
            add_enabled(session, span_ns);
    }
    host.now_ns += span_ns;
    units_look_late();
    /* (What was late here has come, if interrupts are on and nothing more has happened: none is of long ago.) */
    if (!here()->irq_off && events == host.verdict->figures.events)
        here()->looked_ns = host.now_ns;
    if (lots_below(lots, 2))
        hooks_stranger();
}

/* ---- Others ---- */

static void probe_loop(void *context)
{
    (void)context;
    real_lock();
    for (unsigned kind = 0; kind < HARDWARE_EVENTS; kind++)
        rules_deliver(self->cpu, kind, false, 4096, true);
    here()->last_own_ns = host.now_ns | 1u; /* (A probe samples, too.) */
    hooks_drain_interrupts();
    real_unlock();
}

static void probe(void)
{
    struct upmu_probe probe = {.loop = probe_loop};
    enum upmu_status status;

    if (here()->power != CPU_LIVE)
        return;
    self->stay++;
    status = HOST_CALL(upmu_cpu_probe(here()->cpu, &probe));
    self->stay--;
    rules_status("upmu_cpu_probe", status, "DOES_NOT_FIT UNSUPPORTED BUSY PORT LOST_CLAIM");
    if (status == UPMU_OK && probe.verdict < UPMU_VERDICT_COUNTS && !host.verdict->figures.faults)
        rules_fail(RULE_STATUS, "upmu_cpu_probe: verdict \"%s\"", upmu_verdict_text(probe.verdict));
}

static void verify(void)
{
    struct upmu_why why;
    enum upmu_status status;

    if (here()->power != CPU_LIVE)
        return;
    self->stay++;
    status = HOST_CALL(upmu_cpu_verify(here()->cpu, &why));
    self->stay--;
    if (status == UPMU_ERR_CHANGED && !host.verdict->figures.faults && !traces_excuse(self->cpu, why.address))
        rules_fail(RULE_VERIFY, "upmu_cpu_verify finds a difference in register %x", (unsigned)why.address);
    rules_status("upmu_cpu_verify", status, "CHANGED PORT BUSY");
}

/* So that a thread's sessions cannot leave with it. */
static void region(struct lots *lots)
{
    struct host_cpu *cpu = here();
    enum hardware_event kind = lots_below(lots, HARDWARE_EVENTS);
    const char *text = host.setting.family->specification(host.hardware, kind);
    uint64_t certain, happened, least, most;
    struct upmu_region *region;

    if (cpu->power != CPU_LIVE || !text)
        return;
    region = arena_take(sizeof *region, "region");
    self->stay++;
    if (HOST_CALL(upmu_region_open(region, cpu->cpu, text)) == UPMU_OK) {
        happened = cpu->happened[kind][0] + cpu->happened[kind][1];
        if (HOST_CALL(upmu_region_begin(region)) == UPMU_OK) {
            certain = cpu->certain[kind][0] + cpu->certain[kind][1];
            hooks_work_drawn(lots, 14, 14);
            least = cpu->certain[kind][0] + cpu->certain[kind][1] - certain;
            if (HOST_CALL(upmu_region_end(region)) == UPMU_OK) {
                most = cpu->happened[kind][0] + cpu->happened[kind][1] - happened;
                if ((region->count[0].raw < least || region->count[0].raw > most) && !host.verdict->figures.faults)
                    rules_fail(RULE_COUNT, "region: %llu, not %llu to %llu", (unsigned long long)region->count[0].raw,
                               (unsigned long long)least, (unsigned long long)most);
            }
        }
        rules_status("upmu_region_close", HOST_CALL(upmu_region_close(region)), "PORT");
    }
    self->stay--;
    arena_give(region);
    arena_forgotten();
}

static void tick(bool poll)
{
    struct host_cpu *cpu = here();
    struct rules_user rights = rules_user_begin();
    enum upmu_status status;

    if (cpu->power == CPU_OFF)
        return;
    self->stay++;
    cpu->turning++;
    status = poll ? HOST_CALL(upmu_cpu_poll(cpu->cpu)) : HOST_CALL(upmu_cpu_tick(cpu->cpu));
    cpu->turning--;
    self->stay--;
    rules_status(poll ? "upmu_cpu_poll" : "upmu_cpu_tick", status, "PORT BUSY");
    if (!poll && status == UPMU_OK)
        rules_user_end("upmu_cpu_tick", rights, false);
}

/* One switch, or some turns of a scheduler. */
static void run_threads(const struct step *step, struct lots *lots)
{
    hooks_switch(lots_one_in(lots, 4) ? HOST_PROGRAMS + self->cpu : step->what % HOST_PROGRAMS);
    for (unsigned turns = lots_below(lots, 2) * lots_below(lots, 24); turns; turns--) {
        hooks_work_drawn(lots, 14, 14);
        hooks_switch(lots_one_in(lots, 4) ? HOST_PROGRAMS + (unsigned)self->cpu : lots_below(lots, HOST_PROGRAMS));
        if (lots_one_in(lots, 4))
            tick(false);
    }
}

void act_cpu(const struct step *step, struct lots *lots)
{
    switch (step->kind) {
    case STEP_WORK:
        hooks_work_drawn(lots, 15, 30);
        break;
    case STEP_SWITCH:
        run_threads(step, lots);
        break;
    case STEP_TICK:
    case STEP_POLL:
        tick(step->kind == STEP_POLL);
        break;
    case STEP_VERIFY:
        verify();
        break;
    case STEP_CHANGED:
        change_cpu();
        break;
    case STEP_SLEEP:
        sleep_cpu(lots);
        break;
    case STEP_WAKE:
        wake_cpu();
        break;
    case STEP_LEAVE:
        act_leave(lots);
        break;
    case STEP_COME:
        act_come(self->cpu, lots);
        break;
    case STEP_RESERVE:
        reserve(lots);
        break;
    case STEP_UNRESERVE:
        unreserve(lots);
        break;
    case STEP_TAKE_FIRMWARE:
        self->stay++;
        if (here()->power == CPU_LIVE)
            HOST_DO(upmu_cpu_take_firmware(here()->cpu));
        here()->flagged = true; /* (The status may still have flags of its counters.) */
        self->stay--;
        break;
    case STEP_EXIT:
        exit_thread(step->what % HOST_PROGRAMS);
        break;
    case STEP_TIME:
        pass_time(lots);
        break;
    case STEP_FOREIGN:
        hooks_stranger();
        break;
    case STEP_PROBE:
        probe();
        break;
    case STEP_IBS:
        act_ibs(lots);
        break;
    case STEP_RECORDS:
        act_precise(lots);
        break;
    case STEP_BRANCHES:
        act_branches(lots);
        break;
    case STEP_TRACES:
        act_traces(step, lots);
        break;
    case STEP_REGION:
        region(lots);
        break;
    default:
        break;
    }
}
