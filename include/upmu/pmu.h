/* SPDX-License-Identifier: MIT */
/*
 * PMUs: the hardware, described by data.  Fields of struct upmu_pmu (upmu/private/pmu.h) may be read; they are constant
 * once a PMU is detected.
 */
#ifndef UPMU_PMU_H
#define UPMU_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a register is. */
enum upmu_register_space {
    UPMU_SPACE_MSR = 0,
    UPMU_SPACE_PCI = 1,
    UPMU_SPACE_MMIO = 2,
    UPMU_SPACE_PAGE = 3 /* of a paravirtual PMU (upmu/paravirt.h) */
};

/* The CPUs that share a register or a unit. */
enum upmu_scope {
    UPMU_SCOPE_THREAD = 0,
    UPMU_SCOPE_CORE = 1,
    UPMU_SCOPE_MODULE = 2,
    UPMU_SCOPE_DIE = 3,
    UPMU_SCOPE_NODE = 4,
    UPMU_SCOPE_LLC = 5 /* the CPUs of one last-level cache */
};

/* The effect of reads and writes of a register. */
enum upmu_register_access {
    UPMU_ACCESS_RW = 0,
    UPMU_ACCESS_RO = 1,
    UPMU_ACCESS_WO = 2,
    UPMU_ACCESS_W1C = 3,    /* write 1 to clear; reads something else or 0 */
    UPMU_ACCESS_COMMAND = 4,  /* every write acts */
    UPMU_ACCESS_SET_CLEAR = 5 /* its address reads, and sets bits; the next address clears them (Arm) */
};

/* The purpose of a register. */
enum upmu_register_kind {
    UPMU_KIND_COUNTER = 0, /* counts; no shadow */
    UPMU_KIND_SELECT = 1,  /* chooses the event of one counter */
    UPMU_KIND_CONTROL = 2, /* concerns several counters */
    UPMU_KIND_STATUS = 3,  /* overflow status */
    UPMU_KIND_ACK = 4,     /* acknowledges it */
    UPMU_KIND_PAYLOAD = 5, /* further value of an event, an exclusive resource */
    UPMU_KIND_AUX = 6      /* switches something that counting depends on */
};

/* The level that may set a register: with some of them (DS_AREA) hardware can be made to write any memory. */
enum upmu_level {
    UPMU_LEVEL_SESSION = 0,    /* any program that may count */
    UPMU_LEVEL_PRIVILEGED = 1, /* the host's administrator */
    UPMU_LEVEL_LIBRARY = 2     /* upmu alone */
};

/*
 * Properties that all rows of one kind of register have.  Masks of bits: upmu writes `owned` bits and preserves all
 * others.  `gates` let counters count.  A select that has one of the `in_use` bits is in use, where its counter's gate
 * is set, too; in an auxiliary register, `in_use` bits are owned where they were found set.  `enables_all` bits of the
 * first select (P6) are needed by all counters.  The hardware changes `hardware` bits; they have no shadow.  With one
 * of the `interrupt` bits an overflow requests an interrupt.  Raw words may set `session` and `privileged` bits at that
 * level.  Of these, `kernel` bits count what the kernel does, and `beyond` bits count what other threads or guests do
 * while the counter's own thread runs.
 */
struct upmu_register_class {
    uint8_t kind;         /* enum upmu_register_kind */
    uint8_t space;        /* enum upmu_register_space */
    uint8_t scope;        /* enum upmu_scope */
    uint8_t access;       /* enum upmu_register_access */
    uint8_t load_rank;    /* order of loading, low first, below 8 */
    uint8_t release_rank; /* order of release, low first, below 8 */
    uint8_t found;        /* 1: read at take-over; 0: before its first write */
    uint8_t promised;     /* 1: CPUID (or the family) promises it: never faults */
    uint8_t by_counter;   /* 1: each bit belongs to a counter, as in IA32_PEBS_ENABLE: see upmu_backend.bits_of */
    uint8_t second;       /* 1: the address counts from upmu_unit_info.second */
    uint16_t source;      /* offset of the manual's section in the table's text */
    uint8_t bits;         /* of one register outside MSRs: 32, or 0 for 64 */
    uint64_t owned;
    uint64_t gates;
    uint64_t hardware;
    uint64_t interrupt;
    uint64_t in_use;
    uint64_t enables_all;
    uint64_t session;
    uint64_t privileged;
    uint64_t kernel;
    uint64_t beyond;
    uint64_t idle_keep;  /* idle value = (present value & idle_keep) | idle_value */
    uint64_t idle_value; /* bits set where the class is idle */
#if UPMU_FOREIGN
    uint64_t inverted;   /* bits that the register holds the other way round: gates that close (RISC-V) */
    uint64_t kernel_off; /* bits that are all set if the kernel's mode is not counted (Arm, RISC-V) */
#endif
};

/* A register. */
struct upmu_register {
    uint32_t address;    /* number of an MSR, or offset in its space */
    uint8_t class_index; /* into the table's classes, and into upmu_pmu.limit */
    uint8_t counter;     /* counter it belongs to, or UPMU_NO_COUNTER */
    uint16_t name;       /* offset of its name in the table's text */
};

/* The registers of one kind of PMU: constant data of its backend. */
struct upmu_register_table {
    const struct upmu_register *rows; /* in the order of their numbers */
    const struct upmu_register_class *classes; /* that rows have by index */
    const char *text;         /* names and sources, each NUL-terminated */
    uint8_t row_count;        /* entries of `rows` */
    uint8_t class_count;      /* entries of `classes` */
    const uint32_t *row_bits; /* per row, the bits 31:0 that exist; NULL: those of the class */
};

/* Facts about a PMU, for calls and tests: bits of upmu_pmu.capabilities. */
#define UPMU_PMU_GLOBAL_CTRL (1u << 0)  /* one register gates all counters */
#define UPMU_PMU_STATUS (1u << 1)       /* overflow status and acknowledgement exist */
#define UPMU_PMU_FULL_WRITE (1u << 2)   /* counters can be written at full width */
#define UPMU_PMU_INUSE (1u << 3)        /* a register says which counters are in use */
#define UPMU_PMU_ANYTHREAD (1u << 4)    /* events can count both hyper-threads */
#define UPMU_PMU_TSX (1u << 5)          /* in_tx, in_txcp */
#define UPMU_PMU_HYPERVISOR (1u << 6)   /* CPUID reports a hypervisor */
#define UPMU_PMU_FIXED_FLOORED (1u << 7) /* CPUID reported too few fixed counters */
#define UPMU_PMU_DEBUGCTL (1u << 8)     /* freeze bits exist and are kept clear */
#define UPMU_PMU_REARM_LAST (1u << 9)   /* the interrupt is re-armed after all overflows are acknowledged */
#define UPMU_PMU_CARRY_LOST (1u << 10)  /* a stop can lose the carry from bit 31 into bit 32 of a counter */
#define UPMU_PMU_PRELUDE (1u << 11)     /* a sequence that clobbers counters precedes every new event */
#define UPMU_PMU_PAIRED (1u << 12)      /* UPMU_ATTR_EXCLUSIVE: see UPMU_PAIR_RESOURCE */
#define UPMU_PMU_NO_PMI (1u << 13)      /* an overflow causes no interrupt */
#define UPMU_PMU_KEEPS (1u << 14)       /* a counter keeps its value when it gets another event */
#define UPMU_PMU_FREE (1u << 15)        /* counters are never stopped or written; sessions share them */
#define UPMU_PMU_PAGE (1u << 16)        /* its registers are a page of memory and a hypervisor's calls */
#define UPMU_PMU_SATURATES (1u << 17)   /* counters stop at their end: they begin at 0 */

/*
 * A PMU by its number, which events have, too (upmu_event.pmu): of core type 0 to 3, or number i of the units' PMUs
 * with UPMU_UNIT_PMU + i (upmu/unit.h).  NULL: there is none.
 *
 * Context: any.
 */
const struct upmu_pmu *upmu_machine_pmu(const struct upmu_machine *machine, unsigned index);

/*
 * The name of a counter: "PMC3", "FIXED1".
 *
 * Writes at most `size` bytes including the NUL; returns the whole length.
 * Context: any.
 */
size_t upmu_counter_text(const struct upmu_pmu *pmu, unsigned counter, char *buffer, size_t size);

/*
 * The name of a row of a PMU's register table, or NULL if the PMU has no such row.  Constant text; empty in a build
 * without UPMU_NAMES and UPMU_WHY_TEXT.
 *
 * Context: any.
 */
const char *upmu_register_name(const struct upmu_pmu *pmu, unsigned row);

/* The address of a row in its space, or 0 beyond the table.  Context: any. */
uint32_t upmu_register_address(const struct upmu_pmu *pmu, unsigned row);

/*
 * Fill in a PMU of a known model, without hardware: for tools and tests.  `name` as in
 * upmu_pmu.name ("skl", "core", "nhm", "icl").
 *
 * Returns UPMU_OK, UPMU_ERR_NO_SUCH_PMU, or UPMU_ERR_COMPILED_OUT without UPMU_NAMES.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pmu_by_name(struct upmu_pmu *pmu, const char *name);

/* The names that upmu_pmu_by_name() accepts, from index 0 on; NULL after the last.  Context: any. */
const char *upmu_pmu_known(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
