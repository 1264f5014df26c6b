/* SPDX-License-Identifier: MIT */
/*
 * The life of a CPU (R5): take-over, sleep, changes behind our back, leaving.
 */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/domain.h"
#include "core/hw/port_call.h"
#include "core/event/why.h"
#include "core/engine/claims.h"
#include "core/engine/deferred.h"
#include "core/engine/features.h"
#include "core/engine/local.h"
#include "core/engine/machine.h"
#include "core/engine/meter.h"
#include "core/engine/multiplex.h"
#include "core/engine/owners.h"
#include "core/engine/placed.h"
#include "core/engine/run.h"
#include "core/engine/schedule.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/transition.h"
#include <upmu/thread.h>

/* Counters that are neither in use by the firmware nor by the host. */
static UPMU_APART uint32_t ours(const struct upmu_meter *meter)
{
    return meter->pmu->counters & ~upmu_meter_blocked(meter);
}

/*
 * Does a counter keep what is written to it?  The low 16 bits are flipped, as
 * every width and every sign extension keeps those, and put back.  An RDPMC that reads
 * something else (emulators answer 0) is not used.  UPMU_OK, UPMU_ERR_NO_PMU,
 * UPMU_ERR_PORT.
 */
static enum upmu_status try_write(struct upmu_meter *meter, unsigned counter)
{
    struct upmu_bank *bank = &meter->bank;
    unsigned row = meter->pmu->counter[counter].value_row;
    uint64_t before, after, quick;

    if (!upmu_bank_read_row(bank, row, &before) || !upmu_bank_write(bank, counter, before ^ 0xffffu))
        return UPMU_ERR_PORT;
    meter->used |= UPMU_BIT32(counter);
    if (!upmu_bank_read_row(bank, row, &after) || !upmu_bank_read(bank, counter, &quick) ||
        !upmu_bank_write(bank, counter, before))
        return UPMU_ERR_PORT;
    bank->no_rdpmc |= ((quick ^ after) & 0xffffu) != 0;
    return ((before ^ after) & 0xffffu) == 0xffffu ? UPMU_OK : UPMU_ERR_NO_PMU;
}

/* Drop what concerns other counters than `mine` and, if not `alone`, what is shared. */
static void keep_own(const struct upmu_meter *meter, struct upmu_image *image, uint32_t mine, bool alone)
{
    unsigned count = 0;

    for (unsigned i = 0; i < image->count; i++)
        if (!(image->step[i].guard & ~mine) && (alone || !(meter->bank.state[image->step[i].row] & UPMU_ROW_SHARED)))
            image->step[count++] = image->step[i];
    image->count = (uint8_t)count;
}

/* Gates of what is ours closed, freezing off, stale status acknowledged, interrupt re-armed. */
static bool quieten(struct upmu_meter *meter, uint32_t mine, bool alone)
{
    const struct upmu_pmu *pmu = meter->pmu;
    struct upmu_step step[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(pmu, step, UPMU_IMAGE_STEPS);
    uint64_t status;
    uint32_t changed;

    pmu->backend->take_over(pmu, &image);
    keep_own(meter, &image, mine, alone);
    if (!upmu_bank_gate(&meter->bank, 0, mine) || !upmu_bank_load(&meter->bank, step, image.count, 0, &changed))
        return false;
    if (pmu->status_row != UPMU_NO_ROW) {
        uint32_t flagged;

        if (!upmu_bank_read_row(&meter->bank, pmu->status_row, &status))
            return false;
        flagged = pmu->backend->overflowed(pmu, status) & mine;
        if (flagged) /* (Whatever it is of: an interrupt may have been asked for already.) */
            upmu_meter_expect(meter, upmu_bits_count(flagged), upmu_meter_now(meter));
        if (flagged && !upmu_bank_command(&meter->bank, pmu->ack_row, pmu->backend->acknowledge(pmu, flagged)))
            return false;
    }
    upmu_meter_rearm(meter);
    return true;
}

/* The registers are unknown, and the counters hold values of no session. */
static void forget(struct upmu_meter *meter)
{
    meter->deferred = 0;
    upmu_bank_forget(&meter->bank);
    memset(meter->last_tag, 0, sizeof meter->last_tag);
}

/* What init and resume have in common.  What is shared is unknown afterwards: others may claim it. */
static enum upmu_status take_over(struct upmu_meter *meter)
{
    bool alone = !upmu_claims_others(meter);
    enum upmu_status status;
    uint32_t writable;

    forget(meter);
    if (!upmu_bank_find(&meter->bank))
        return UPMU_ERR_PORT;
    upmu_owners_find(meter);
    writable = ours(meter);
    if (!alone) {
        upmu_bank_inherit(&meter->bank, true);
        writable &= ~meter->pmu->shared_counters;
    }
    if (!quieten(meter, writable, alone))
        return UPMU_ERR_PORT;
    status = writable ? try_write(meter, upmu_bits_lowest(writable)) : UPMU_OK;
    upmu_bank_inherit(&meter->bank, true);
    meter->ignores_writes = status == UPMU_ERR_NO_PMU;
    if (meter->ignores_writes)
        upmu_meter_log(meter, "upmu: writes to the PMU are ignored: none is usable here");
    else if (status == UPMU_OK && upmu_meter_domain(meter))
        upmu_domain_begin(meter->domain, meter->domain_slot);
    return status;
}

/* Find the domain where this PMU's shared parts are claimed. */
static enum upmu_status join(struct upmu_meter *meter, struct upmu_domain *const *domains)
{
    if (!UPMU_DOMAINS || !domains || !(meter->pmu->shared || meter->pmu->shared_counters))
        return UPMU_OK;
    for (; *domains; domains++) {
        if ((uint8_t)(*domains)->scope != meter->pmu->shared_scope)
            continue;
        if (!upmu_domain_join(*domains, &meter->domain_slot))
            return UPMU_ERR_NO_SPACE;
        meter->domain = *domains;
        upmu_claims_share(meter);
        break;
    }
    return UPMU_OK;
}

static void leave_domain(struct upmu_meter *meter)
{
    if (upmu_meter_domain(meter)) {
        if (upmu_domain_end(meter->domain, meter->domain_slot))
            upmu_domain_forget(meter->domain);
        upmu_domain_leave(meter->domain, meter->domain_slot);
    }
    meter->domain = NULL;
    meter->bank.domain = NULL;
}

/* Does one register enable all counters, which are alike, without anything to be done beside, or shared? */
static bool is_straight(const struct upmu_meter *meter)
{
    const uint32_t odd = UPMU_PMU_PRELUDE | UPMU_PMU_PAIRED | UPMU_PMU_REARM_LAST | UPMU_PMU_CARRY_LOST;
    const struct upmu_counter *first = &meter->pmu->counter[0];

    if ((meter->pmu->capabilities & (UPMU_PMU_GLOBAL_CTRL | odd)) != UPMU_PMU_GLOBAL_CTRL || meter->domain ||
        meter->bank.own_gate)
        return false;
    for (uint32_t rest = meter->pmu->counters & ~UPMU_METRIC_COUNTERS; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = &meter->pmu->counter[upmu_bits_lowest(rest)];

        if (upmu_enable_bits(rest & (~rest + 1u)) != UPMU_BIT64(counter->gate_bit) ||
            counter->gate_row != first->gate_row || counter->rdpmc == UPMU_NO_RDPMC || counter->width != first->width)
            return false;
    }
    return true;
}

/* Does each select enable its own counter, and are all alike, without anything to be done beside, or shared? */
static bool is_apart(const struct upmu_meter *meter)
{
    const struct upmu_counter *first = &meter->pmu->counter[0];

    if ((meter->pmu->capabilities & (UPMU_PMU_GLOBAL_CTRL | UPMU_PMU_PRELUDE | UPMU_PMU_PAIRED)) || meter->domain ||
        meter->bank.own_gate)
        return false;
    for (uint32_t rest = meter->pmu->counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = &meter->pmu->counter[upmu_bits_lowest(rest)];

        if (counter->gate_row != counter->select_row || counter->rdpmc == UPMU_NO_RDPMC ||
            counter->width != first->width)
            return false;
    }
    return true;
}

enum upmu_status upmu_cpu_init(struct upmu_cpu *cpu, struct upmu_machine *machine, struct upmu_domain *const *domains)
{
    const struct upmu_port *port = machine->port;
    uint8_t pmus = machine->pmu_count;
    uintptr_t state;
    enum upmu_status status;

    upmu_why_clear(&machine->why);
    if (machine->only_cpu && machine->only_cpu != cpu && !port_has_this_cpu(port))
        return upmu_why_hook_of(machine, "this_cpu");
    memset(cpu, 0, sizeof *cpu);
    cpu->meter.machine = machine;
    cpu->meter.cpu = cpu;
    state = port_irq_save(port);
    status = upmu_machine_detect(machine, &cpu->meter);
    if (status == UPMU_OK) {
        upmu_bank_init(&cpu->meter.bank, cpu->meter.pmu, port, port->msr_faults_are_safe,
                       cpu->registers);
        status = join(&cpu->meter, domains);
        if (status == UPMU_OK)
            status = take_over(&cpu->meter);
    }
    if (status == UPMU_OK) {
        cpu->meter.straight = (UPMU_THREADS || UPMU_SAMPLING) && is_straight(&cpu->meter);
        cpu->meter.apart = UPMU_THREADS && is_apart(&cpu->meter);
        cpu->meter.kind = upmu_placed_class(&cpu->meter);
        cpu->meter.counter_mask = upmu_bits_ones(cpu->meter.pmu->counter[0].width);
        machine->only_cpu = cpu;
        cpu->meter.number = machine->cpu_count++;
        if (!++machine->lives)
            machine->lives = 1;
        cpu->meter.life = machine->lives;
        upmu_features_begin(cpu);
        UPMU_BARRIER();
        cpu->meter.live = 1;
    } else if (cpu->meter.pmu) {
        if (status != UPMU_ERR_NO_PMU) {
            (void)upmu_claims_restore(&cpu->meter);
            cpu->meter.pmu = NULL;
            if (machine->pmu_count != pmus)
                __atomic_store_n(&machine->pmu_count, pmus, __ATOMIC_RELAXED);
        }
        leave_domain(&cpu->meter);
    }
    port_irq_restore(port, state);
    if (UPMU_WHY_TEXT && cpu->meter.ignores_writes)
        memcpy(machine->why.word, "it ignores writes", sizeof "it ignores writes");
    machine->why.status = status;
    machine->why.pmu = cpu->meter.pmu;
    machine->why.address = cpu->meter.bank.faulted;
    return status;
}

/* Handlers act no more, nor do they see what a static session left running. */
static void go_dead(struct upmu_meter *meter)
{
    upmu_run_expect(meter, meter->used);
    meter->live = 0;
    UPMU_BARRIER();
}

static enum upmu_status suspend(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = UPMU_OK;

    (void)unused;
    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (upmu_session_waits(session))
            upmu_session_enabled(session, upmu_meter_now(meter));
        if (!upmu_session_holds(session))
            continue;
        if (upmu_transition_take_off(meter, session) != UPMU_OK)
            status = UPMU_ERR_PORT;
        if (session->state == UPMU_SESSION_STOPPED)
            session->state = UPMU_SESSION_SUSPENDED;
    }
    if (!upmu_features_stop(meter->cpu))
        status = UPMU_ERR_PORT;
    go_dead(meter);
    /* Should registers outlive the sleep, resume must not find ours and call them the firmware's. */
    if (upmu_claims_restore(meter))
        meter->used = 0;
    else
        status = UPMU_ERR_PORT;
    forget(meter);
    return status;
}

enum upmu_status upmu_cpu_suspend(struct upmu_cpu *cpu)
{
    return cpu->meter.live ? upmu_local_run(&cpu->meter, suspend, NULL) : UPMU_OK;
}

static enum upmu_status resume(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = take_over(meter);

    (void)unused;
    if (status != UPMU_OK)
        return status;
    upmu_features_wake(meter->cpu);
    meter->live = 1;
    UPMU_BARRIER();
    return upmu_multiplex_reload(meter);
}

enum upmu_status upmu_cpu_resume(struct upmu_cpu *cpu)
{
    if (!cpu->meter.pmu)
        return UPMU_ERR_NO_PMU;
    /* A take-over now would find our own sessions and call them the firmware's. */
    return cpu->meter.live ? UPMU_OK : upmu_local_run(&cpu->meter, resume, NULL);
}

/*
 * Registers are not what the shadow says: forget, close, and load what runs again.  Of what other CPUs of the domain
 * could take, even one that is about to take over, this CPU closes what its own sessions hold.
 */
static enum upmu_status start_over(struct upmu_meter *meter, void *unused)
{
    bool alone = !upmu_meter_domain(meter);
    uint32_t mine = ours(meter);
    bool fine;

    (void)unused;
    if (!alone)
        mine &= ~meter->pmu->shared_counters | meter->running;
    meter->keep_claims = 1;
    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (upmu_session_waits(session))
            upmu_session_enabled(session, upmu_meter_now(meter));
        if (!upmu_session_holds(session))
            continue;
        upmu_run_mar(session);
        upmu_session_ran(session, upmu_meter_now(meter));
        /* (An interrupt may have masked it just now.) */
        session->state = session->full ? UPMU_SESSION_MASKED : UPMU_SESSION_SUSPENDED;
        session->full = 0;
    }
    /* What has overflowed is thrown away. */
    upmu_run_expect(meter, meter->running | meter->used);
    upmu_run_publish(meter);
    forget(meter);
    fine = quieten(meter, mine, alone);
    fine &= upmu_multiplex_reload(meter) == UPMU_OK;
    meter->keep_claims = 0;
    upmu_claims_trim(meter, false);
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_cpu_changed(struct upmu_cpu *cpu)
{
    return cpu->meter.live ? upmu_local_run(&cpu->meter, start_over, NULL) : UPMU_ERR_NO_PMU;
}

static enum upmu_status leave(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = UPMU_OK;
    struct upmu_thread *thread;

    (void)unused;
    while (meter->sessions)
        if ((UPMU_THREADS && meter->sessions->thread ? upmu_thread_put(meter, meter->sessions)
                                                   : upmu_session_leave(meter, meter->sessions, false)) != UPMU_OK)
            status = UPMU_ERR_PORT;
    thread = UPMU_THREADS ? __atomic_exchange_n(&meter->cpu->current, NULL, __ATOMIC_RELAXED) : NULL;
    if (thread)
        thread->cpu = NULL;
    if (!upmu_features_stop(meter->cpu))
        status = UPMU_ERR_PORT;
    go_dead(meter);
    if (!upmu_claims_restore(meter))
        status = UPMU_ERR_PORT;
    leave_domain(meter);
    if (meter->machine->only_cpu == meter->cpu)
        meter->machine->only_cpu = NULL;
    upmu_features_end(meter->cpu);
    /* Nothing is ours any more: a second fini finds nothing to do. */
    meter->pmu = NULL;
    meter->work = NULL;
    return status;
}

enum upmu_status upmu_cpu_fini(struct upmu_cpu *cpu)
{
    return cpu->meter.pmu ? upmu_local_run(&cpu->meter, leave, NULL) : UPMU_OK;
}

static enum upmu_status use_work(struct upmu_meter *meter, void *work)
{
    meter->work = work;
    return UPMU_OK;
}

enum upmu_status upmu_cpu_use_work(struct upmu_cpu *cpu, struct upmu_place_work *work)
{
    return cpu->meter.pmu ? upmu_local_run(&cpu->meter, use_work, work) : UPMU_ERR_NO_PMU;
}

static enum upmu_status tick(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = UPMU_OK;

    (void)unused;
    if (!(++meter->ticks & 15u))
        status = upmu_schedule_fold(meter);
    upmu_multiplex_tick(meter);
    return status;
}

enum upmu_status upmu_cpu_tick(struct upmu_cpu *cpu)
{
    return cpu->meter.live ? upmu_local_run(&cpu->meter, tick, NULL) : UPMU_OK;
}

static enum upmu_status poll(struct upmu_meter *meter, void *unused)
{
    (void)unused;
    return upmu_schedule_fold(meter);
}

enum upmu_status upmu_cpu_poll(struct upmu_cpu *cpu)
{
    return cpu->meter.live ? upmu_local_run(&cpu->meter, poll, NULL) : UPMU_OK;
}

/* Handlers do not come faster than this many in one look. */
#define VERIFY_ATTEMPTS 16u

/* A counter whose own register differs is foreign from now on. */
static enum upmu_status verify(struct upmu_meter *meter, void *unused)
{
    bool fault;
    unsigned row, counter, attempt = 0;
    uint32_t interrupts;

    (void)unused;
    upmu_claims_trim(meter, true);
    do { /* a handler may have closed a session since: its counts are taken, and it is looked again */
        interrupts = meter->cpu->interrupts;
        upmu_deferred_run(meter);
        row = upmu_bank_verify(&meter->bank, &fault);
        if (row == UPMU_NO_ROW || fault || interrupts == meter->cpu->interrupts)
            break;
    } while (++attempt < VERIFY_ATTEMPTS);
    if (row == UPMU_NO_ROW)
        return UPMU_OK;
    if (fault) /* nothing was learned of it: what runs by it goes on */
        return UPMU_ERR_PORT;
    counter = meter->pmu->table->rows[row].counter;
    if (counter < UPMU_COUNTERS)
        upmu_owners_yield(meter, UPMU_BIT32(counter) & meter->pmu->counters & ~meter->running);
    upmu_bank_forget_row(&meter->bank, row);
    return UPMU_ERR_CHANGED;
}

enum upmu_status upmu_cpu_verify(struct upmu_cpu *cpu, struct upmu_why *why)
{
    enum upmu_status status = cpu->meter.live ? upmu_local_run(&cpu->meter, verify, NULL) : UPMU_OK;

    (void)upmu_why_refuse(why, status, cpu->meter.pmu, NULL, 0, 0);
    if (why && (status == UPMU_ERR_PORT || status == UPMU_ERR_CHANGED))
        why->address = cpu->meter.bank.faulted;
    return status;
}
