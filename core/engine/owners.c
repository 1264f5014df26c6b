/* SPDX-License-Identifier: MIT */
/*
 * The owners of counters: find them at take-over and later; reservations of the host; taking counters from the
 * firmware.
 */
#include "core/engine/owners.h"
#include "core/util/bits.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/hw/register.h"
#include "core/engine/claims.h"
#include "core/engine/joint.h"
#include "core/engine/bracket.h"
#include "core/engine/meter.h"
#include "core/engine/count.h"
#include "core/engine/placing.h"

#if UPMU_FIRMWARE

/*
 * Returns the counters whose overflow would write a record to memory (PEBS) or reload them, as a former kernel has set
 * it up.  `image` gets the steps that end this, and a trace of branches to memory.
 */
static uint32_t records_of(const struct upmu_meter *meter, struct upmu_image *image)
{
    const struct upmu_pmu *pmu = meter->pmu;

    return pmu->backend->records ? pmu->backend->records(pmu, meter->bank.found, image) : 0;
}

void upmu_owners_find(struct upmu_meter *meter)
{
    const struct upmu_pmu *pmu = meter->pmu;
    struct upmu_step step[1]; /* room for one step: enough to see that there are any */
    struct upmu_image image = upmu_image_on(pmu, step, 1);
    uint32_t records = records_of(meter, &image);

    meter->foreign = 0;
    upmu_bank_others(&meter->bank, meter->watchdog);
    meter->firmware = upmu_register_claims(pmu, meter->bank.found) | records;
    if (records)
        upmu_meter_log(meter, "upmu: counters would write records to memory (PEBS) or reload; they are left alone");
    else if (meter->firmware)
        upmu_meter_log(meter, "upmu: counters are in use by the firmware; they are left alone");
    if (image.count && !records)
        upmu_meter_log(meter, "upmu: a former kernel's branch trace (BTS) writes to memory; it is left alone");
}

void upmu_owners_yield(struct upmu_meter *meter, uint32_t counters)
{
    meter->foreign |= counters;
    meter->used &= ~counters;
    upmu_bank_others(&meter->bank, meter->watchdog | meter->foreign);
}

void upmu_owners_free(struct upmu_meter *meter, uint32_t counters)
{
    meter->firmware &= ~counters;
    meter->foreign &= ~counters;
    upmu_bank_others(&meter->bank, meter->watchdog | meter->foreign);
}

/*
 * Find counters that the hardware reports as in use, though upmu left them idle, and make them foreign: other software
 * began to use them.
 */
void upmu_owners_notice(struct upmu_meter *meter)
{
    const struct upmu_pmu *pmu = meter->pmu;
    uint64_t in_use;
    uint32_t found;

    if (pmu->inuse_row == UPMU_NO_ROW || !upmu_bank_read_row(&meter->bank, pmu->inuse_row, &in_use))
        return;
    found = pmu->backend->overflowed(pmu, in_use) & ~upmu_meter_blocked(meter);
    for (uint32_t rest = found; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        if (upmu_bank_agrees(&meter->bank, counter))
            continue;
        upmu_owners_yield(meter, UPMU_BIT32(counter));
        upmu_meter_log(meter, "upmu: a counter is in use by other software now");
    }
}

#endif

static uint32_t attached_counters(const struct upmu_meter *meter)
{
    uint32_t counters = 0;

    for (const struct upmu_session *session = meter->sessions; session; session = session->next)
        counters |= session->counters;
    return counters;
}

enum upmu_owner upmu_cpu_owner(const struct upmu_cpu *cpu, unsigned counter)
{
    uint32_t bit = counter < UPMU_COUNTERS ? UPMU_BIT32(counter) : 0;

    if (!cpu->meter.pmu || !(cpu->meter.pmu->counters & bit))
        return UPMU_OWNER_ABSENT;
    if (cpu->meter.watchdog & bit)
        return UPMU_OWNER_WATCHDOG;
    if (cpu->meter.firmware & bit)
        return UPMU_OWNER_FIRMWARE;
    if (cpu->meter.foreign & bit)
        return UPMU_OWNER_FOREIGN;
    return attached_counters(&cpu->meter) & bit ? UPMU_OWNER_OURS : UPMU_OWNER_FREE;
}

#if UPMU_FIRMWARE

/*
 * Before the host gets shared counters: make those idle that upmu has used, on this CPU or on one that has left.  Else
 * a value of upmu's, in a counter that the host never programs, would be taken for the host's at the end.  A counter is
 * left as it is if it runs, if another CPU has claimed it, or if no CPU that used it has left and its select is not
 * what this CPU wrote last: the host, or another CPU, has programmed it.  Returns false where a register faulted.
 */
static bool empty_shared(struct upmu_meter *meter, uint32_t counters)
{
    struct upmu_step step[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(meter->pmu, step, UPMU_IMAGE_STEPS);
    uint32_t gone = __atomic_load_n(&meter->domain->used, __ATOMIC_RELAXED), mine = 0;

    counters &= (meter->used | gone) & meter->pmu->shared_counters & ~meter->firmware;
    counters = upmu_claims_counters(meter, counters);
    for (uint32_t rest = counters; rest; rest &= rest - 1u) {
        const struct upmu_counter *counter = &meter->pmu->counter[upmu_bits_lowest(rest)];
        uint64_t value;

        if (!upmu_bank_read_row(&meter->bank, counter->select_row, &value) || (value & UPMU_BIT64(counter->gate_bit)))
            continue;
        if ((gone & rest & (~rest + 1u)) || (upmu_bank_knows(&meter->bank, counter->select_row) &&
                                             value == meter->bank.shadow[counter->select_row]))
            mine |= rest & (~rest + 1u);
    }
    image.released = true;
    meter->pmu->backend->release(meter->pmu, mine, &image);
    upmu_meter_tag(meter, mine, 0);
    return upmu_bank_load(&meter->bank, step, image.count, 0, 0);
}

static enum upmu_status reserve_idle(struct upmu_meter *meter, void *argument)
{
    uint32_t counters = *(const uint32_t *)argument & meter->pmu->counters;
    uint32_t firmware = counters & meter->firmware, used = meter->used;

    if (meter->running & counters)
        return UPMU_ERR_STATE;
    /*
     * Make the counters idle: what stopped sessions left in their registers, and counters that static sessions left
     * running, would disturb the host.
     */
    if (meter->live) {
        upmu_count_expect(meter, counters & meter->used);
        if (!upmu_placing_idle(meter, counters & meter->used) ||
            (upmu_meter_domain(meter) && !empty_shared(meter, counters)))
            return UPMU_ERR_PORT;
        upmu_claims_review(meter);
    }
    meter->used &= ~counters;
    if (upmu_meter_domain(meter))
        used |= __atomic_load_n(&meter->domain->used, __ATOMIC_RELAXED) & meter->pmu->shared_counters;
    meter->lent |= used & counters;
    /*
     * A counter that take-over found in use may be the host's watchdog, which ran while upmu was away: as the host
     * reserves it now, the value found in it is not restored at the end.  Not so for a counter that another CPU of the
     * domain has taken from the firmware: no watchdog was there, and that CPU may be about to refuse the reservation.
     */
    if (upmu_meter_domain(meter))
        firmware &= ~__atomic_load_n(&meter->domain->used, __ATOMIC_RELAXED);
    for (uint32_t rest = firmware; rest; rest &= rest - 1u)
        upmu_bank_disown(&meter->bank, upmu_bits_lowest(rest));
    /*
     * A CPU that left may have failed to close such a counter.  From now on the counter is the host's, and no CPU of
     * the domain is to close it.
     */
    if (upmu_meter_domain(meter))
        __atomic_fetch_and(&meter->domain->used, ~(counters & meter->pmu->shared_counters), __ATOMIC_RELAXED);
    meter->watchdog |= counters;
    upmu_bank_others(&meter->bank, meter->watchdog | meter->foreign);
    return UPMU_OK;
}

enum upmu_status upmu_cpu_reserve(struct upmu_cpu *cpu, uint32_t counters)
{
    return cpu->meter.pmu ? upmu_bracket_run(&cpu->meter, reserve_idle, &counters) : UPMU_ERR_NO_PMU;
}

static enum upmu_status give_back(struct upmu_meter *meter, void *argument)
{
    uint32_t counters = *(const uint32_t *)argument & meter->watchdog;

    for (uint32_t rest = meter->firmware & counters; rest; rest &= rest - 1u)
        if (upmu_register_class_of(meter->pmu, meter->pmu->counter[upmu_bits_lowest(rest)].select_row)->by_counter)
            upmu_bank_disown(&meter->bank, upmu_bits_lowest(rest));
    upmu_bank_regain(&meter->bank, counters);
    upmu_count_flag(meter, counters);
    /* An interrupt of a counter that the host gives back may be on its way. */
    if (meter->live && counters)
        upmu_meter_expect(meter, upmu_bits_count(counters), upmu_meter_now(meter));
    meter->watchdog &= ~counters;
    /*
     * If another CPU of the domain has refused the reservation, the host gives the counters back unused.  The values
     * that take-over found in them are still to be restored: they count as used again.
     */
    meter->used |= meter->lent & counters;
    meter->lent &= ~counters;
    upmu_bank_others(&meter->bank, meter->watchdog | meter->foreign);
    return UPMU_OK;
}

void upmu_cpu_unreserve(struct upmu_cpu *cpu, uint32_t counters)
{
    if (cpu->meter.pmu)
        (void)upmu_bracket_run(&cpu->meter, give_back, &counters);
}

static enum upmu_status take_firmware(struct upmu_meter *meter, void *unused)
{
    struct upmu_step step[UPMU_IMAGE_STEPS];
    struct upmu_image image = upmu_image_on(meter->pmu, step, UPMU_IMAGE_STEPS);
    uint32_t records, taken = upmu_claims_counters(meter, meter->firmware & ~meter->watchdog);

    (void)unused;
    records = records_of(meter, &image);
    /* If an earlier call has taken these counters, the registers of their records may hold the library's bits. */
    if (records && !(records & meter->firmware))
        return UPMU_OK;
    /*
     * Counters that the host has reserved are its own, also where take-over found its watchdog running and took it for
     * the firmware's.  A counter is closed before the steps of `image` end its records: else an unexpected interrupt
     * may come.
     */
    (void)upmu_bank_gate(&meter->bank, 0, taken);
    if (upmu_meter_domain(meter)) /* any CPU of the domain may leave last, and restores them then */
        __atomic_fetch_or(&meter->domain->used, taken & meter->pmu->shared_counters, __ATOMIC_RELAXED);
    if (!(records & meter->watchdog) && image.count && !image.overfull &&
        upmu_bank_load(&meter->bank, step, image.count, 0, 0))
        records = 0;
    meter->firmware &= records;
    upmu_count_flag(meter, taken);
    upmu_claims_review(meter);
    return UPMU_OK;
}

void upmu_cpu_take_firmware(struct upmu_cpu *cpu)
{
    if (cpu->meter.live)
        (void)upmu_bracket_run(&cpu->meter, take_firmware, NULL);
}

#else

enum upmu_status upmu_cpu_reserve(struct upmu_cpu *cpu, uint32_t counters)
{
    (void)cpu;
    (void)counters;
    return UPMU_ERR_COMPILED_OUT;
}

void upmu_cpu_unreserve(struct upmu_cpu *cpu, uint32_t counters)
{
    (void)cpu;
    (void)counters;
}

void upmu_cpu_take_firmware(struct upmu_cpu *cpu)
{
    (void)cpu;
}

#endif

const char *upmu_owner_text(enum upmu_owner owner)
{
    static const char *const names[] = { "free", "ours", "firmware", "watchdog", "foreign", "absent" };

    return (unsigned)owner < sizeof names / sizeof names[0] ? names[owner] : "unknown";
}
