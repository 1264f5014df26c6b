/* SPDX-License-Identifier: MIT */
/* The life of a meter: take-over, sleep, and changes of its registers by other software. */
#include "core/engine/life.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/domain.h"
#include "core/hw/shared_page.h"
#include "core/hw/port_call.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/meter.h"
#include "core/engine/owners.h"
#include "core/engine/reconcile.h"
#include "core/engine/session_core.h"
#include "core/engine/thread_core.h"
#include "core/engine/waiting.h"

/*
 * Return the mask of the counters that the library may close and write here: those that no other software uses; none on
 * a PMU whose counters never stop.
 */
static UPMU_APART uint32_t own_counters(const struct upmu_meter *meter)
{
    return upmu_meter_is_free(meter) ? 0 : meter->pmu->counters & ~upmu_meter_blocked(meter);
}

/*
 * Does a counter keep what is written to it?  Flip its low 16 bits, which a counter of any width keeps, read it, and
 * write the old value back.  If RDPMC reads another value than the register has (emulators answer 0), by_rdpmc is
 * cleared: RDPMC is not used.  Returns UPMU_OK, UPMU_ERR_NO_PMU (the bits did not flip) or UPMU_ERR_PORT.
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
    if ((quick ^ after) & 0xffffu)
        UPMU_STORE(bank->by_rdpmc, 0);
    return ((before ^ after) & 0xffffu) == 0xffffu ? UPMU_OK : UPMU_ERR_NO_PMU;
}

#if UPMU_UNCORE

/*
 * Does the select of a unit's closed counter keep a write?  Set the lowest bit that an event may set, read it, and
 * clear it.  Returns UPMU_OK, UPMU_ERR_NO_PMU (it did not stay) or UPMU_ERR_PORT.
 */
static enum upmu_status try_select(struct upmu_meter *meter, unsigned counter)
{
    struct upmu_bank *bank = &meter->bank;
    uint64_t mask = bank->type->select_mask, bit = mask & (~mask + 1u), now;
    unsigned row = meter->pmu->counter[counter].select_row;

    if (!upmu_bank_merge(bank, row, bit, bit, 0) || !upmu_bank_read_row(bank, row, &now) ||
        !upmu_bank_merge(bank, row, bit, 0, 0))
        return UPMU_ERR_PORT;
    return now & bit ? UPMU_OK : UPMU_ERR_NO_PMU;
}

#endif

/*
 * Drop from an image the steps that concern other counters than `mine`, and, if not `alone`, those of shared registers.
 */
static void keep_own(const struct upmu_meter *meter, struct upmu_image *image, uint32_t mine, bool alone)
{
    unsigned count = 0;

    for (unsigned i = 0; i < image->count; i++)
        if (!(image->step[i].guard & ~mine) && (alone || !(meter->bank.state[image->step[i].row] & UPMU_ROW_SHARED)))
            image->step[count++] = image->step[i];
    image->count = (uint8_t)count;
}

/*
 * Make the counters `mine` quiet: close their gates, end freezing, acknowledge old status bits, and re-arm the
 * interrupt of a CPU.  `alone`: no other CPU uses registers that it shares with this one; else these are left out.
 * Returns false where a register faulted.
 */
static bool quieten_pmu(struct upmu_meter *meter, uint32_t mine, bool alone)
{
    const struct upmu_pmu *pmu = meter->pmu;
    struct upmu_step step[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(pmu, step, UPMU_IMAGE_STEPS);
    uint64_t status;

    if (pmu->backend->take_over)
        pmu->backend->take_over(pmu, &image);
    if (!UPMU_FIRMWARE && pmu->backend->records) /* end their records, which a former kernel sends to its memory */
        (void)pmu->backend->records(pmu, meter->bank.found, &image);
    keep_own(meter, &image, mine, alone);
    if (!upmu_bank_gate(&meter->bank, 0, mine) || !upmu_bank_load(&meter->bank, step, image.count, 0, 0))
        return false;
    if (pmu->status_row != UPMU_NO_ROW) {
        uint32_t flagged;

        if (!upmu_bank_read_row(&meter->bank, pmu->status_row, &status))
            return false;
        flagged = pmu->backend->overflowed(pmu, status) & mine;
        if (flagged) /* an interrupt of these overflows may be on its way */
            upmu_meter_expect(meter, upmu_bits_count(flagged), upmu_meter_now(meter));
        if (flagged && !upmu_bank_acknowledge(&meter->bank, flagged))
            return false;
    }
    if (!upmu_meter_is_unit(meter))
        upmu_meter_rearm(meter);
    return true;
}

enum upmu_status upmu_life_take_over(struct upmu_meter *meter)
{
    bool alone = !upmu_claims_others(meter);
    enum upmu_status status;
    uint32_t writable;

    upmu_reconcile_forget(meter);
    if (!upmu_shared_page_map(&meter->bank) || !upmu_bank_find(&meter->bank))
        return UPMU_ERR_PORT;
    upmu_owners_find(meter);
    writable = own_counters(meter);
    if (!alone) {
        upmu_bank_inherit(&meter->bank, true);
        writable &= ~meter->pmu->shared_counters;
    }
#if UPMU_UNCORE
    if (upmu_meter_is_unit(meter)) { /* a take-over writes no counter of a unit */
        if (!upmu_bank_settle(&meter->bank, meter->firmware) || !quieten_pmu(meter, writable, true))
            return UPMU_ERR_PORT;
        return meter->machine->units->search.guest && writable && !meter->firmware
                   ? try_select(meter, upmu_bits_lowest(writable))
                   : UPMU_OK;
    }
#endif
    if (!quieten_pmu(meter, writable, alone))
        return UPMU_ERR_PORT;
    status = writable ? try_write(meter, upmu_bits_lowest(writable)) : UPMU_OK;
    upmu_bank_inherit(&meter->bank, true);
    meter->ignores_writes = status == UPMU_ERR_NO_PMU;
    if (meter->ignores_writes)
        upmu_meter_log(meter, "upmu: writes to the PMU are ignored: none is usable here");
    else if (status == UPMU_OK && upmu_meter_domain(meter))
        upmu_domain_begin(meter->domain, meter->domain_number);
    return status;
}

#if UPMU_SUSPEND || UPMU_UNCORE

/*
 * Start or stop the clock of the thread that runs on a CPU, if sessions need it.  Sessions with a limit have no time by
 * this clock.  So before a start the sessions are linked that came while the CPU slept; if the thread's lists are held
 * elsewhere, those with a limit are noted as passed over.  Before a stop the time of the sessions that are not linked
 * becomes unknown if they have a limit, because sleep is no enabled time.
 */
static void turn_clock(struct upmu_meter *meter, bool runs)
{
    struct upmu_thread *thread = UPMU_THREADS && !upmu_meter_is_unit(meter) ? meter->cpu->current : NULL;

    if (!thread || (runs && !UPMU_LOAD(thread->unjoined)))
        return;
#if UPMU_THREADS
    if (!runs && UPMU_LOAD(thread->unjoined))
        upmu_thread_pass_now(thread, meter->cpu);
    if (runs && !upmu_thread_fill(meter, thread))
        upmu_thread_pass(thread, meter->cpu);
#endif
    if (!runs || UPMU_LOAD(thread->unjoined))
        upmu_thread_clock_turn(thread, runs, upmu_meter_now(meter));
}

#endif

/*
 * Let handlers do nothing from now on.  Interrupts are expected of used counters that still run, as static sessions
 * leave them.
 */
void upmu_life_end(struct upmu_meter *meter)
{
    upmu_count_expect(meter, meter->used);
    UPMU_STORE(meter->live, 0);
    UPMU_BARRIER();
}

#if UPMU_SUSPEND || UPMU_UNCORE

/* If a register kept a value of upmu's during the sleep, resume would take that for the firmware's. */
bool upmu_life_return(struct upmu_meter *meter)
{
    bool fine = upmu_claims_restore(meter);

    if (fine)
        meter->used = meter->lent = 0;
    fine = upmu_shared_page_unmap(&meter->bank) && fine;
    upmu_reconcile_forget(meter);
    return fine;
}

enum upmu_status upmu_life_suspend(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = UPMU_OK;

    (void)unused;
    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (upmu_session_waits(session))
            upmu_session_enabled(session, upmu_meter_now(meter));
        if (!upmu_session_occupies(session))
            continue;
        upmu_plan_begin(meter, UPMU_SESSION_SUSPENDED);
        (void)upmu_plan_out(meter, session);
        upmu_reconcile(meter);
        upmu_waiting_take(meter, session);
        if (session->error != UPMU_OK)
            status = UPMU_ERR_PORT;
    }
    upmu_bracket_settle(meter);
    if (!upmu_meter_is_unit(meter) && !upmu_features_stop(meter->cpu))
        status = UPMU_ERR_PORT;
    turn_clock(meter, false);
    upmu_life_end(meter);
    return upmu_life_return(meter) ? status : UPMU_ERR_PORT;
}

enum upmu_status upmu_life_wake(struct upmu_meter *meter)
{
    if (!upmu_meter_is_unit(meter))
        upmu_features_wake(meter->cpu);
    UPMU_STORE(meter->live, 1);
    UPMU_BARRIER();
    turn_clock(meter, true);
    return upmu_waiting_reload(meter, false);
}

#endif

#if UPMU_SUSPEND

enum upmu_status upmu_life_resume(struct upmu_meter *meter, void *unused)
{
    enum upmu_status status = upmu_life_take_over(meter);

    (void)unused;
    if (status != UPMU_OK) {
        (void)upmu_life_return(meter);
        return status;
    }
    return upmu_life_wake(meter);
}

/*
 * Registers are not what the shadow says: make them unknown, close our counters, and load what runs again.  Counters
 * that other CPUs of the domain could claim, even a CPU that is about to take over, are closed only if our sessions run
 * on them.
 */
enum upmu_status upmu_life_start_over(struct upmu_meter *meter, void *unused)
{
    bool alone = !upmu_meter_domain(meter);
    uint32_t mine = own_counters(meter);
    bool fine;

    (void)unused;
    if (!alone)
        mine &= ~meter->pmu->shared_counters | meter->running;
    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (upmu_session_waits(session))
            upmu_session_enabled(session, upmu_meter_now(meter));
        if (!upmu_session_occupies(session) || session->counters)
            continue;
        upmu_count_mar(session);
        upmu_session_ran(session, upmu_meter_now(meter));
        upmu_waiting_end(session, UPMU_SESSION_SUSPENDED);
    }
    /* The counts since the last read are lost, but interrupts of overflows until now may still come. */
    upmu_count_expect(meter, meter->running | meter->used);
    upmu_reconcile_lose(meter);
    upmu_reconcile_forget(meter);
    fine = quieten_pmu(meter, mine, alone) || quieten_pmu(meter, mine, alone); /* after a fault once more */
    upmu_features_again(meter);
    fine &= upmu_waiting_reload(meter, true) == UPMU_OK;
    upmu_claims_review(meter);
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

#endif

#if UPMU_CLEAR

enum upmu_status upmu_life_clear(struct upmu_meter *meter, void *unused)
{
    bool alone = !upmu_claims_others(meter), fine;
    uint32_t mine = meter->pmu->counters & ~meter->watchdog & ~(alone ? 0 : meter->pmu->shared_counters);

    (void)unused;
    if (meter->running || upmu_features_run(meter->cpu))
        return UPMU_ERR_STATE;
    upmu_owners_free(meter, mine);
    upmu_count_expect(meter, mine); /* interrupts of counters that the firmware used may be on their way, too */
    fine = upmu_bank_clear(&meter->bank, alone);
    meter->used &= ~mine;
    upmu_reconcile_forget(meter);
    return fine ? UPMU_OK : UPMU_ERR_PORT;
}

#endif

/* How often upmu_life_verify() compares the registers, if a handler interrupts each time, before UPMU_ERR_BUSY. */
#define VERIFY_ATTEMPTS 16u

/*
 * Compare each known register with the shadow, up to the first that differs.  If that belongs to a single counter on
 * which no session runs, the counter is foreign from now on.
 */
enum upmu_status upmu_life_verify(struct upmu_meter *meter, void *unused)
{
    bool fault;
    unsigned row, counter, attempt = 0;
    uint32_t interrupts;

    (void)unused;
    upmu_claims_trim(meter, true);
    do { /* a handler may have stopped counters and left mail: do its work, and compare again */
        if (attempt++ == VERIFY_ATTEMPTS)
            return UPMU_ERR_BUSY;
        interrupts = meter->cpu->interrupts;
        if (upmu_interrupt_mail(meter))
            (void)upmu_interrupt_read_mail(meter);
        upmu_bracket_settle(meter);
        upmu_interrupt_end(meter);
        row = upmu_bank_verify(&meter->bank, &fault);
    } while (row != UPMU_NO_ROW && !fault && (interrupts != meter->cpu->interrupts || upmu_interrupt_mail(meter)));
    if (row == UPMU_NO_ROW)
        return UPMU_OK;
    if (fault) /* an unreadable register proves no change: no counter becomes foreign */
        return UPMU_ERR_PORT;
    counter = meter->pmu->table->rows[row].counter;
    if (counter < UPMU_COUNTERS)
        upmu_owners_yield(meter, UPMU_BIT32(counter) & meter->pmu->counters & ~meter->running);
    upmu_bank_forget_row(&meter->bank, row);
    return UPMU_ERR_CHANGED;
}
