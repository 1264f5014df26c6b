/* SPDX-License-Identifier: MIT */
/*
 * The owners of counters.
 */
#include "core/backend.h"
#include "core/bank.h"
#include "core/bits.h"
#include "core/claims.h"
#include "core/cpu.h"
#include "core/joint.h"
#include "core/local.h"
#include "core/register.h"
#include "core/schedule.h"

void upmu_cpu_log(const struct upmu_cpu *cpu, const char *line)
{
    port_log(cpu->machine->port, line);
}

/* Counters whose overflow the hardware answers with a record, or that reload, as a former kernel left them. */
static uint32_t records_of(const struct upmu_cpu *cpu, struct upmu_image *image)
{
    const struct upmu_pmu *pmu = cpu->pmu;

    return pmu->backend->records ? pmu->backend->records(pmu, cpu->bank.found, image) : 0;
}

void upmu_cpu_find_owners(struct upmu_cpu *cpu)
{
    const struct upmu_pmu *pmu = cpu->pmu;
    uint32_t records = records_of(cpu, NULL);

    cpu->foreign = 0;
    cpu->bank.others = cpu->watchdog;
    cpu->firmware = pmu->backend->claims(pmu, cpu->bank.found) | records;
    if (records)
        upmu_cpu_log(cpu, "upmu: counters would write records to memory (PEBS) or reload; they are left alone");
    else if (cpu->firmware)
        upmu_cpu_log(cpu, "upmu: counters are in use by the firmware; they are left alone");
}

static uint32_t attached_counters(const struct upmu_cpu *cpu)
{
    uint32_t counters = 0;

    for (const struct upmu_session *session = cpu->sessions; session; session = session->next)
        counters |= session->counters;
    return counters;
}

void upmu_cpu_yield(struct upmu_cpu *cpu, uint32_t counters)
{
    cpu->foreign |= counters;
    cpu->used &= ~counters;
    cpu->bank.others = cpu->watchdog | cpu->foreign;
}

/* The hardware reports counters in use that upmu left idle: other software began to use them. */
void upmu_cpu_notice_foreign(struct upmu_cpu *cpu)
{
    const struct upmu_pmu *pmu = cpu->pmu;
    uint64_t in_use;
    uint32_t found;

    if (pmu->inuse_row == UPMU_NO_ROW || !upmu_bank_read_row(&cpu->bank, pmu->inuse_row, &in_use))
        return;
    found = pmu->backend->overflowed(pmu, in_use) & ~upmu_cpu_blocked(cpu);
    for (uint32_t rest = found; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        if (upmu_bank_agrees(&cpu->bank, counter))
            continue;
        upmu_cpu_yield(cpu, UPMU_BIT32(counter));
        upmu_cpu_log(cpu, "upmu: a counter is in use by other software now");
    }
}

enum upmu_owner upmu_cpu_owner(const struct upmu_cpu *cpu, unsigned counter)
{
    uint32_t bit = counter < UPMU_COUNTERS ? UPMU_BIT32(counter) : 0;

    if (!cpu->pmu || !(cpu->pmu->counters & bit))
        return UPMU_OWNER_ABSENT;
    if (cpu->watchdog & bit)
        return UPMU_OWNER_WATCHDOG;
    if (cpu->firmware & bit)
        return UPMU_OWNER_FIRMWARE;
    if (cpu->foreign & bit)
        return UPMU_OWNER_FOREIGN;
    return attached_counters(cpu) & bit ? UPMU_OWNER_OURS : UPMU_OWNER_FREE;
}

static enum upmu_status reserve_idle(struct upmu_cpu *cpu, void *argument)
{
    uint32_t counters = *(const uint32_t *)argument & cpu->pmu->counters;

    if (cpu->running & counters)
        return UPMU_ERR_STATE;
    /* What stopped sessions have loaded there, or static ones left running, is in the host's way. */
    if (cpu->live && !upmu_schedule_idle(cpu, counters & cpu->used))
        return UPMU_ERR_PORT;
    cpu->used &= ~counters;
    /* A watchdog that ran while upmu was away was taken for the firmware's: it is not started again at the end. */
    for (uint32_t rest = counters & cpu->firmware; rest; rest &= rest - 1u)
        upmu_bank_disown(&cpu->bank, upmu_bits_lowest(rest));
    /* What a CPU that left could not close is the host's now: a sibling that comes does not see to it. */
    if (upmu_cpu_domain(cpu))
        __atomic_fetch_and(&cpu->domain->used, ~(counters & cpu->pmu->shared_counters), __ATOMIC_RELAXED);
    cpu->watchdog |= counters;
    cpu->bank.others = cpu->watchdog | cpu->foreign;
    return UPMU_OK;
}

enum upmu_status upmu_cpu_reserve(struct upmu_cpu *cpu, uint32_t counters)
{
    return cpu->pmu ? upmu_local_run(cpu, reserve_idle, &counters) : UPMU_ERR_NO_PMU;
}

void upmu_cpu_unreserve(struct upmu_cpu *cpu, uint32_t counters)
{
    uintptr_t irq;

    counters &= cpu->watchdog;
    if (!counters)
        return;
    irq = port_irq_save(cpu->bank.port);
    /* (Handlers follow the shadow as soon as it is no more the host's.) */
    upmu_bank_regain(&cpu->bank, counters);
    for (uint32_t rest = cpu->firmware & counters; rest; rest &= rest - 1u)
        if (upmu_register_class_of(cpu->pmu, cpu->pmu->counter[upmu_bits_lowest(rest)].select_row)->by_counter)
            upmu_bank_disown(&cpu->bank, upmu_bits_lowest(rest));
    cpu->flagged |= counters;
    /* (An interrupt of the host's own may be on its way.) */
    if (cpu->live)
        upmu_cpu_expect(cpu, upmu_bits_count(counters), upmu_cpu_now(cpu));
    cpu->watchdog &= ~counters;
    cpu->bank.others = cpu->watchdog | cpu->foreign;
    port_irq_restore(cpu->bank.port, irq);
}

static enum upmu_status take_firmware(struct upmu_cpu *cpu, void *unused)
{
    struct upmu_image image;
    uint32_t records, changed, taken = upmu_claims_counters(cpu, cpu->firmware & ~cpu->watchdog);

    (void)unused;
    upmu_image_clear(&image);
    records = records_of(cpu, &image);
    /*
     * What the host reserved meanwhile is its own: a watchdog that ran on while upmu was away was found running.
     * (The counter first, then its record: else a stray interrupt may come.)
     */
    (void)upmu_bank_gate(&cpu->bank, 0, taken);
    if (upmu_cpu_domain(cpu)) /* which of its CPUs leaves last is not known */
        __atomic_fetch_or(&cpu->domain->used, taken & cpu->pmu->shared_counters, __ATOMIC_RELAXED);
    if (!(records & cpu->watchdog) && image.count && upmu_bank_load(&cpu->bank, &image, 0, &changed))
        records = 0;
    cpu->firmware &= records;
    cpu->flagged |= taken;
    upmu_claims_trim(cpu, false);
    return UPMU_OK;
}

void upmu_cpu_take_firmware(struct upmu_cpu *cpu)
{
    if (cpu->live)
        (void)upmu_local_run(cpu, take_firmware, NULL);
}

const char *upmu_owner_text(enum upmu_owner owner)
{
    static const char *const names[] = { "free", "ours", "firmware", "watchdog", "foreign", "absent" };

    return (unsigned)owner < sizeof names / sizeof names[0] ? names[owner] : "unknown";
}
