/* SPDX-License-Identifier: MIT */
/*
 * Precise samples: the hardware itself stores a record with the address of the sampled instruction into memory (Intel's
 * PEBS), where an interrupt would find an instruction that is executed some time later.
 *
 * The host gives each CPU memory for the records.  Then an event with the attribute precise= (`:p`, `:pp`, `:ppp`;
 * docs/EVENTS.md) can be sampled as any other event.  Its samples have UPMU_SAMPLE_PRECISE.  docs/PRECISE.md has the
 * CPUs, the rules and the costs.
 *
 * THE HARDWARE WRITES TO THE MEMORY THAT A REGISTER NAMES.  Until the memory is given back, it must be mapped at the
 * same linear addresses whatever the CPU executes, user mode included: also in page tables that hide the kernel from
 * programs.  It must not be paged out, protected against writes, or freed.
 */
#ifndef UPMU_PRECISE_H
#define UPMU_PRECISE_H

#include <stddef.h>
#include <stdint.h>
#include <upmu/cpu.h>
#include <upmu/format.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of upmu_sample.flags, besides those of upmu/upmu.h. */
#define UPMU_SAMPLE_PRECISE (1u << 4) /* `ip` and `sp` are of a record of the hardware, also with UPMU_SAMPLE_NO_FRAME;
                                         sp is 0 if the record lacks it */
#define UPMU_SAMPLE_EXACT (1u << 5)   /* `ip` is the sampled instruction itself; without: the instruction after it */
#define UPMU_SAMPLE_LATE (1u << 6)    /* of a batch: `time_ns` is when its record was read, not when it was stored */

/*
 * Bit of upmu_sampling.flags, besides those of upmu/session.h: the hardware stores many records of the event, with one
 * interrupt for all of them.  Its samples have UPMU_SAMPLE_LATE and UPMU_SAMPLE_NO_FRAME, and no callers.  A port needs
 * no interrupt for them (upmu_port.pmi_rearm NULL): then ticks, polls, reads, stops and switches take the records.  For
 * a precise event with a constant period from 2 on, the only precise one of its set; without values, resets, switches
 * of sets, messages and branches.  docs/PRECISE.md, "Batches", has more.
 */
#define UPMU_SAMPLING_BATCH (1u << 2)

/*
 * Bits of upmu_sampling.flags, besides those of upmu/session.h: the parts (UPMU_PART_… of upmu/format.h) that samples
 * of a precise event are to have.  A sample has those of them that its record has: upmu_record.parts,
 * upmu_overflow.parts.  For events that do not sample precisely, they have no effect.  Without UPMU_FORMATS these bits
 * are unknown ones.
 */
#define UPMU_SAMPLING_PARTS_SHIFT 16
#define UPMU_SAMPLING_PARTS(parts) ((uint32_t)(parts) << UPMU_SAMPLING_PARTS_SHIFT)

/* The parts of records that an event can ask for.  Branches are of the session (upmu_session_branches()), and not read
   from records; counters of records are not read yet. */
#define UPMU_RECORD_PARTS                                                                                              \
    (UPMU_PART_ADDRESS | UPMU_PART_SOURCE | UPMU_PART_WEIGHT | UPMU_PART_TRANSACTION | UPMU_PART_REGISTERS |           \
     UPMU_PART_RETIRE)

#if UPMU_PRECISE /* as the parts of struct upmu_overflow are */
/*
 * For upmu_format.overflow: return a register of a precise sample by its number in upmu_record.registers (0: flags).
 * 0: the overflow has no UPMU_PART_REGISTERS, or there is no such number.
 * Context: nmi.
 */
uint64_t upmu_overflow_register(const struct upmu_overflow *overflow, unsigned number);

/*
 * For upmu_format.overflow: return the source of a precise sample's data as Linux's perf_mem_data_src.  It says "not
 * available" where the overflow has no UPMU_PART_SOURCE, and where the codes of this CPU are not known.
 * Context: nmi.
 */
uint64_t upmu_overflow_data_src(const struct upmu_overflow *overflow);

/*
 * For upmu_format.overflow: return the latencies of a precise sample in cycles, as they are in Linux's
 * PERF_SAMPLE_WEIGHT_STRUCT: bits 31:0 of the access, 47:32 of the instruction, 63:48 of the retirement (0: not known).
 * Context: nmi.
 */
uint64_t upmu_overflow_latencies(const struct upmu_overflow *overflow);

/*
 * Return the highest level of precise events that a PMU of a machine samples.  0: none, or no CPU of the machine has
 * memory for records.  Context: any.
 */
unsigned upmu_machine_precise(const struct upmu_machine *machine, const struct upmu_pmu *pmu);
#endif

/* Sizes of the memory: of the debug store area; the least and the most of records. */
#define UPMU_RECORD_AREA_BYTES 4096u
#define UPMU_RECORD_LEAST_BYTES 4096u
#define UPMU_RECORD_MOST_BYTES 65536u

/* Memory of one CPU for records.  Each part begins at a multiple of 4096, and belongs to this CPU alone. */
struct upmu_record_memory {
    void *area;              /* UPMU_RECORD_AREA_BYTES for the debug store area, as the library accesses it */
    uint64_t area_linear;    /* its linear address, as the hardware accesses it */
    void *records;           /* records, as the library accesses them */
    uint64_t records_linear; /* their linear address */
    size_t record_bytes;     /* of `records`: a multiple of 4096 up to UPMU_RECORD_MOST_BYTES; 16384: with branches */
    uint64_t kernel_from;    /* a record is of the kernel if its address is not below; 0: 2^63, the upper half */
};

/*
 * Give the executing CPU memory for precise records; `memory` NULL: take the memory back.  upmu_cpu_fini() takes it
 * back, too.  In a sleep (upmu_cpu_suspend()) the hardware has no address of it, and the wake-up gives it again.
 * `*memory` is copied.
 *
 * Accesses: 7 W + 7 R at most; to take the memory back 1 W.  If upmu_cpu_changed() or a wake-up has lost the memory to
 * other software, 1 R more: then that software's address stays in the register.
 * `why` may be NULL.
 * Returns UPMU_OK; UPMU_ERR_INVALID (an address that is not aligned or not canonical, parts that overlap, the size);
 * UPMU_ERR_UNSUPPORTED (no precise records that upmu drives, or a hypervisor drops the registers; why->word has the
 * reason); UPMU_ERR_STATE (there is memory already, precise events run, the hardware changes worlds by itself, or other
 * software has the debug store: see upmu_cpu_take_firmware()); UPMU_ERR_NO_PMU (not initialised, or suspended);
 * UPMU_ERR_PORT (a register faulted: the hardware may have the memory's address, so do not free it before a call that
 * takes it back returns UPMU_OK); UPMU_ERR_BUSY; UPMU_ERR_WRONG_CPU; UPMU_ERR_COMPILED_OUT.
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_cpu_use_records(struct upmu_cpu *cpu, const struct upmu_record_memory *memory,
                                      struct upmu_why *why);

/* Numbers of records since the memory was given.  Each may wrap. */
struct upmu_record_counts {
    uint32_t taken;   /* records that were read and belonged to one running event */
    uint32_t shared;  /* records of which it cannot be known whose they are: of no event (formats 1 and 2) */
    uint32_t strange; /* records that were damaged or of no event; after a damaged one no further record is read */
};

/* Return the numbers of a CPU's records; all 0 without memory.  Context: any. */
struct upmu_record_counts upmu_cpu_records(const struct upmu_cpu *cpu);

#ifdef __cplusplus
}
#endif

#endif
