/* SPDX-License-Identifier: MIT */
/* Memory for precise records (upmu/precise.h): check it, give it to a CPU, and take it back. */
#include <upmu/precise.h>

#include "core/event/why.h"
#include "core/engine/bracket.h"
#include "core/engine/meter.h"
#include "core/sample/batch.h"
#include "core/sample/records_core.h"
#include "core/sample/traces_core.h"

#if UPMU_PRECISE

struct records_use {
    const struct upmu_record_memory *memory;
    struct upmu_why *why;
};

static enum upmu_status refuse_records(const struct records_use *use, const struct upmu_pmu *pmu,
                                       enum upmu_status status, const char *reason)
{
    (void)upmu_why_refuse(use->why, status, pmu, NULL, 0, 0);
    if (UPMU_WHY_TEXT && use->why && reason)
        for (unsigned i = 0; i < UPMU_WHY_WORD - 1u && reason[i]; i++)
            use->why->word[i] = reason[i];
    return status;
}

/* Do two ranges of addresses overlap, or does one of them go beyond the last address? */
static bool is_overlap(uint64_t one, uint64_t one_bytes, uint64_t other, uint64_t other_bytes)
{
    return one + (one_bytes - 1u) < one || other + (other_bytes - 1u) < other ||
           (one <= other + (other_bytes - 1u) && other <= one + (one_bytes - 1u));
}

static bool is_usable(const struct upmu_record_memory *memory)
{
    uintptr_t area = (uintptr_t)memory->area, records = (uintptr_t)memory->records;

    return area && records && !((area | records) & 4095u) && upmu_records_is_page(memory->area_linear) &&
           upmu_records_is_page(memory->records_linear) && memory->record_bytes >= UPMU_RECORD_LEAST_BYTES &&
           memory->record_bytes <= UPMU_RECORD_MOST_BYTES && !(memory->record_bytes & 4095u) &&
           !is_overlap(area, UPMU_RECORD_AREA_BYTES, records, memory->record_bytes) &&
           !is_overlap(memory->area_linear, UPMU_RECORD_AREA_BYTES, memory->records_linear, memory->record_bytes);
}

static enum upmu_status take_back(struct upmu_meter *meter, const struct records_use *use)
{
    if (meter->cpu->records.storing)
        return refuse_records(use, meter->pmu, UPMU_ERR_STATE, "precise events run");
    if (!upmu_records_end(meter))
        return refuse_records(use, meter->pmu, UPMU_ERR_PORT, NULL);
    upmu_records_forget(meter->cpu);
    return UPMU_OK;
}

static enum upmu_status use_memory(struct upmu_meter *meter, void *argument)
{
    const struct records_use *use = argument;
    const struct upmu_record_memory *memory = use->memory;
    struct upmu_records *records = &meter->cpu->records;
    const char *reason = NULL;
    enum upmu_status status;

    if (upmu_traces_run(meter->cpu)) /* by the same area, or by one of its own */
        return refuse_records(use, meter->pmu, UPMU_ERR_STATE, "a trace of branches runs");
    if (!memory)
        return take_back(meter, use);
    if (records->area)
        return refuse_records(use, meter->pmu, UPMU_ERR_STATE, "it has memory already");
    if (upmu_meter_by_hardware(meter))
        return refuse_records(use, meter->pmu, UPMU_ERR_STATE, "the hardware changes worlds");
    records->area = memory->area;
    records->buffer = memory->records;
    records->area_linear = memory->area_linear;
    records->buffer_linear = memory->records_linear;
    /* The end of the buffer has no room for a part of a record.  All records have one size. */
    records->bytes = (uint32_t)memory->record_bytes;
    /* With format 0 a write of GLOBAL_CTRL hangs if the buffer is above a page (Linux 6.12 events/intel/ds.c). */
    if (!(meter->pmu->record_capabilities >> 8 & 0xfu))
        records->bytes = UPMU_RECORD_LEAST_BYTES;
    records->bytes -= records->bytes % meter->pmu->record_bytes;
    records->kernel_from = memory->kernel_from ? memory->kernel_from : UINT64_C(1) << 63;
    records->taken = records->shared = records->strange = 0;
    upmu_batch_budget(records, meter->pmu);
    status = upmu_records_begin(meter, &reason);
    /* After faults the hardware may have the address: then the CPU has the memory until it is taken back. */
    if (status == UPMU_OK || records->ours) {
        __atomic_fetch_add(&meter->machine->record_cpus, 1, __ATOMIC_RELAXED);
    } else {
        records->area = NULL;
        records->buffer = NULL;
    }
    return status == UPMU_OK ? UPMU_OK : refuse_records(use, meter->pmu, status, reason);
}

enum upmu_status upmu_cpu_use_records(struct upmu_cpu *cpu, const struct upmu_record_memory *memory,
                                      struct upmu_why *why)
{
    const struct upmu_pmu *pmu = cpu->meter.pmu;
    struct records_use use = {memory, why};
    enum upmu_status status;

    upmu_why_clear(why);
    if (!cpu->meter.live || !pmu)
        return refuse_records(&use, NULL, UPMU_ERR_NO_PMU, NULL);
    if (memory && !pmu->record_counters)
        return refuse_records(&use, pmu, UPMU_ERR_UNSUPPORTED,
                              pmu->record_capabilities == UPMU_RECORDS_UNREAD ? "PERF_CAPABILITIES cannot be read"
                                                                              : "no precise records that upmu drives");
    if (memory && (pmu->capabilities & UPMU_PMU_HYPERVISOR) && !cpu->meter.bank.port->msr_faults_are_safe)
        return refuse_records(&use, pmu, UPMU_ERR_UNSUPPORTED, "a hypervisor, and faults are not safe");
    if (memory && !is_usable(memory))
        return refuse_records(&use, pmu, UPMU_ERR_INVALID, NULL);
    status = upmu_bracket_run(&cpu->meter, use_memory, &use);
    if (why && status != why->status)
        (void)refuse_records(&use, pmu, status, NULL);
    return status;
}

unsigned upmu_machine_precise(const struct upmu_machine *machine, const struct upmu_pmu *pmu)
{
    static const char *const exact[] = {"instructions:ppp", "cycles:ppp", "INST_RETIRED.PREC_DIST:ppp"};
    struct upmu_event event;

    if (!upmu_records_given(machine) || !pmu->record_counters)
        return 0;
    for (unsigned i = 0; i < sizeof exact / sizeof exact[0]; i++)
        if (upmu_event_parse(pmu, exact[i], &event, NULL) == UPMU_OK)
            return 3;
    return (pmu->record_capabilities >> 8 & 0xfu) >= 2 ? 2 : 1;
}

struct upmu_record_counts upmu_cpu_records(const struct upmu_cpu *cpu)
{
    const struct upmu_records *records = &cpu->records;

    return (struct upmu_record_counts){records->taken, records->shared, records->strange};
}

#else

enum upmu_status upmu_cpu_use_records(struct upmu_cpu *cpu, const struct upmu_record_memory *memory,
                                      struct upmu_why *why)
{
    (void)cpu, (void)memory;
    return upmu_why_refuse(why, UPMU_ERR_COMPILED_OUT, NULL, NULL, 0, 0);
}

struct upmu_record_counts upmu_cpu_records(const struct upmu_cpu *cpu)
{
    (void)cpu;
    return (struct upmu_record_counts){0, 0, 0};
}

#endif
