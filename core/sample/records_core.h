/* SPDX-License-Identifier: MIT */
/*
 * Precise samples at work: which counters store records, whose a record is, and the sample that is made of it.  Called
 * by the engine; upmu/precise.h has the public calls.  Context: a bracket, or a handler that interrupted none; any for
 * upmu_records_counters(), upmu_records_given(), upmu_records_ready() and upmu_records_off().
 */
#ifndef UPMU_CORE_RECORDS_CORE_H
#define UPMU_CORE_RECORDS_CORE_H

#include "core/engine/session_core.h"

/* The debug store area in memory, in words of 64 bits: Linux 6.12 arch/x86/include/asm/intel_ds.h. */
enum {
    UPMU_AREA_BASE = 4,  /* address of the first record */
    UPMU_AREA_INDEX,     /* address of the next record: the hardware moves it on */
    UPMU_AREA_MAXIMUM,   /* address behind the last place for a record */
    UPMU_AREA_THRESHOLD, /* the hardware interrupts when the index has reached this address */
    UPMU_AREA_RESET      /* values that counters get after a record: first those of general counters */
};

/* The register with the address of the debug store area: Linux 6.12 asm/msr-index.h. */
#define UPMU_DS_AREA UINT32_C(0x600)

/*
 * The register with the groups of adaptive records (MSR_PEBS_DATA_CFG), the groups that the library asks for (memory
 * and registers), and their bytes: Linux 6.12 asm/perf_event.h.
 */
#define UPMU_RECORD_GROUPS UINT32_C(0x3f2)
#define UPMU_RECORD_GROUP_BITS UINT64_C(3)
#define UPMU_RECORD_GROUP_BYTES (32u + 8u * 18u)

/* DEBUGCTL and its bits TR and BTS, with which branches are stored into the debug store: SDM 17.4.1. */
#define UPMU_DEBUGCTL UINT32_C(0x1d9)
#define UPMU_DEBUGCTL_TRACES UINT64_C(0xc0)

/* Bit of the status register: the index has reached the threshold. */
#define UPMU_STATUS_RECORDS UPMU_BIT64(62)

#if UPMU_PRECISE

/* Is a linear address that of a page, and canonical with 57 bits at most? */
static inline bool upmu_records_is_page(uint64_t linear)
{
    uint64_t high = linear >> 56;

    return !(linear & 4095u) && (high == 0 || high == 0xff);
}

/*
 * May precise events be sampled on the PMU: does the library drive its records?  Returns the counters that an event may
 * have for them, of `counters`; 0: none.
 */
static inline uint32_t upmu_records_counters(const struct upmu_pmu *pmu, uint32_t counters)
{
    return pmu->record_counters & counters;
}

/* Return log2 of the fewest events that a precise event on one of `counters` may be loaded with; 0: no limit. */
static inline uint8_t upmu_records_least_log2(const struct upmu_pmu *pmu, uint32_t counters)
{
    return pmu->record_long & counters ? pmu->record_least_log2 : 0;
}

/* Has any CPU of a machine memory for records? */
static inline bool upmu_records_given(const struct upmu_machine *machine)
{
    return __atomic_load_n(&machine->record_cpus, __ATOMIC_RELAXED);
}

/* Has this CPU memory for records?  Without, no precise event runs there. */
static inline bool upmu_records_ready(const struct upmu_meter *meter)
{
    return meter->takes_records;
}

/*
 * Is a counter with this value between an overflow and its record?  Then the hardware loads it with the next event, and
 * a load before that would be lost: it has counted since neither the overflow nor a load.  A counter whose record is of
 * the overflow itself is never in between.
 */
bool upmu_records_is_armed(const struct upmu_meter *meter, unsigned counter, uint64_t value);

/* An interrupt has closed all precise counters: find which of them have a record, and let the buffer begin anew. */
void upmu_records_interrupt(struct upmu_meter *meter);

/* Does the buffer of a CPU with precise events have records, of which the interrupt may still come? */
bool upmu_records_wait(const struct upmu_meter *meter);

/* A plan has closed the precise counters that leave: take their records, and let them store none any more. */
void upmu_records_leave(struct upmu_meter *meter);

/*
 * A plan or a repair has published what runs, and the counters that come are still closed: let those of precise events
 * store records, and no others.
 */
void upmu_records_come(struct upmu_meter *meter);

/* The world has changed, and the counters of host sessions are closed: let them store records in the host alone. */
void upmu_records_cross(struct upmu_meter *meter);

/*
 * Change an overflow of one precise event to what its record says: address, stack pointer, flags.  Returns false if the
 * event has no record, because the record was damaged or shared: then the overflow has no sample.
 */
bool upmu_records_sample(struct upmu_overflow *overflow, const struct upmu_meter *meter);

/*
 * Set up the area of a CPU that has memory, and give the hardware its address.  Returns UPMU_OK, also without memory;
 * UPMU_ERR_STATE or UPMU_ERR_UNSUPPORTED, with *out_reason; UPMU_ERR_PORT.
 */
enum upmu_status upmu_records_begin(struct upmu_meter *meter, const char **out_reason);

/* As upmu_records_begin(), where registers were lost, or other software may have changed them. */
void upmu_records_again(struct upmu_meter *meter);

/*
 * A CPU leaves or sleeps, or gives its memory back: let no counter store records, and restore the register of the
 * area's address.  Returns false where a register faulted.
 */
bool upmu_records_end(struct upmu_meter *meter);

/*
 * The end of a CPU has failed, and the hardware may know the memory (cpu->records.ours): if it does, let no counter
 * store records, and restore the register of the area's address.  Returns false where a register faulted again.
 */
bool upmu_records_return(struct upmu_cpu *cpu);

/* A CPU has left: forget the memory. */
void upmu_records_forget(struct upmu_cpu *cpu);

/* In any context: let the hardware store no record any more (upmu_records_emergency()). */
void upmu_records_off(struct upmu_cpu *cpu);

#else

static inline uint32_t upmu_records_counters(const struct upmu_pmu *pmu, uint32_t counters)
{
    (void)pmu;
    (void)counters;
    return 0;
}

static inline uint8_t upmu_records_least_log2(const struct upmu_pmu *pmu, uint32_t counters)
{
    (void)pmu;
    (void)counters;
    return 0;
}

static inline bool upmu_records_given(const struct upmu_machine *machine)
{
    (void)machine;
    return false;
}

static inline bool upmu_records_ready(const struct upmu_meter *meter)
{
    (void)meter;
    return false;
}

static inline void upmu_records_come(struct upmu_meter *meter)
{
    (void)meter;
}

static inline bool upmu_records_sample(struct upmu_overflow *overflow, const struct upmu_meter *meter)
{
    (void)overflow;
    (void)meter;
    return true;
}

static inline void upmu_records_again(struct upmu_meter *meter)
{
    (void)meter;
}

static inline bool upmu_records_is_armed(const struct upmu_meter *meter, unsigned counter, uint64_t value)
{
    (void)meter;
    (void)counter;
    (void)value;
    return false;
}

static inline void upmu_records_forget(struct upmu_cpu *cpu)
{
    (void)cpu;
}

static inline void upmu_records_off(struct upmu_cpu *cpu)
{
    (void)cpu;
}

#endif

#endif
