/* SPDX-License-Identifier: MIT */
/*
 * PMUs: data that describe the hardware.  Fields of struct upmu_pmu (upmu/private/pmu.h) may be read; they are constant
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

/* The space of a register: how the library accesses the register. */
enum upmu_register_space {
    UPMU_SPACE_MSR = 0,
    UPMU_SPACE_PCI = 1,  /* configuration space of a PCI function */
    UPMU_SPACE_MMIO = 2, /* device memory */
    UPMU_SPACE_PAGE = 3  /* the page of a paravirtual PMU (upmu/paravirt.h) */
};

/* The CPUs that share a register or a unit outside the cores. */
enum upmu_scope {
    UPMU_SCOPE_THREAD = 0, /* one CPU; here a hyper-thread, not a thread of the host */
    UPMU_SCOPE_CORE = 1,
    UPMU_SCOPE_MODULE = 2,
    UPMU_SCOPE_DIE = 3,
    UPMU_SCOPE_NODE = 4,
    UPMU_SCOPE_LLC = 5 /* the CPUs that use the same last-level cache */
};

/* How a register reacts to reads and writes. */
enum upmu_register_access {
    UPMU_ACCESS_RW = 0,
    UPMU_ACCESS_RO = 1,
    UPMU_ACCESS_WO = 2,
    UPMU_ACCESS_W1C = 3,    /* a bit is cleared by writing 1; a read gives something else or 0 */
    UPMU_ACCESS_COMMAND = 4,  /* every write has an effect, also one of the value that the register has */
    UPMU_ACCESS_SET_CLEAR = 5 /* two addresses (Arm): the row's is for reads and sets the bits that are written as 1,
                                 the next one clears the bits that are written as 1 */
};

/* What a register of a register table is for. */
enum upmu_register_kind {
    UPMU_KIND_COUNTER = 0, /* the value of a counter; has no shadow */
    UPMU_KIND_SELECT = 1,  /* chooses what one counter counts (the select) */
    UPMU_KIND_CONTROL = 2, /* has bits for several counters, such as their enable bits; an ESCR of NetBurst */
    UPMU_KIND_STATUS = 3,  /* is only read: shows overflows, counters in use, or a sample (IBS) */
    UPMU_KIND_ACK = 4,     /* acknowledges overflows */
    UPMU_KIND_PAYLOAD = 5, /* has a further value that an event needs; an exclusive resource */
    /* switches a further feature (freezing, records, IBS, a PMU as a whole), without being a select or a control */
    UPMU_KIND_AUX = 6
};

/* The level of privilege that may set bits of a register: with some registers (DS_AREA) hardware can be made to write
   any memory. */
enum upmu_level {
    UPMU_LEVEL_SESSION = 0,    /* any program that has the right to count */
    UPMU_LEVEL_PRIVILEGED = 1, /* the host's administrator */
    UPMU_LEVEL_LIBRARY = 2     /* upmu alone */
};

/*
 * A class of registers: the properties that rows of a register table have in common.  The members of 64 bits are masks
 * of register bits.
 * - `owned`: upmu writes these bits and preserves all others.
 * - `gates`: enable bits of counters.
 * - `in_use`: of a select: a counter whose select was found with one of these bits is in use by other software (but
 *   Arm and RISC-V look at enable bits, too).  Of an auxiliary register: upmu owns these bits only if they were found
 *   set.
 * - `enables_all`: bits of the first select that all counters need in order to count (P6).
 * - `hardware`: the hardware changes these bits; they have no shadow.
 * - `interrupt`: with one of these bits set an overflow requests an interrupt.
 * - `session`, `privileged`: raw words may set these bits at this level (enum upmu_level).
 * - `kernel`, `beyond`: of `session` and `privileged`, the bits by which the kernel's mode is counted, and those by
 *   which other threads or guests are counted while the counter's own thread runs.
 */
struct upmu_register_class {
    uint8_t kind;         /* enum upmu_register_kind */
    uint8_t space;        /* enum upmu_register_space */
    uint8_t scope;        /* enum upmu_scope: which CPUs share the register */
    uint8_t access;       /* enum upmu_register_access: how the register reacts to reads and writes */
    uint8_t load_rank;    /* registers of low rank are written first when events are loaded, and at restores; below 8 */
    uint8_t release_rank; /* registers of low rank are written first when counters are made idle or cleared; below 8 */
    uint8_t found;        /* 1: the found value is read at take-over; 0: before the first write of the register */
    uint8_t promised;     /* 1: CPUID (or the family) promises the register: an access never faults */
    /* 1: the register has bits for single counters, as IA32_PEBS_ENABLE; upmu_backend.bits_of says which */
    uint8_t by_counter;
    uint8_t second;       /* 1: addresses are offsets from upmu_unit_info.second */
    uint16_t source;      /* where upmu_register_table.text has the section of the manual: byte offset */
    uint8_t bits;         /* size of a register that is no MSR: 32 bits; 0: 64 bits */
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
    uint64_t idle_keep;  /* idle value of a register = (present value & idle_keep) | idle_value */
    uint64_t idle_value; /* bits that are set in an idle register */
#if UPMU_FOREIGN
    uint64_t inverted;   /* bits that are 1 in the register and 0 in its shadow: gates that close (RISC-V) */
    /* bits that are all set in a register while the counter does not count the kernel's mode (Arm, RISC-V) */
    uint64_t kernel_off;
#endif
};

/* A row of a register table: one register. */
struct upmu_register {
    uint32_t address;    /* number of an MSR, or offset in the register's space */
    uint8_t class_index; /* index in upmu_register_table.classes, and in upmu_pmu.limit */
    uint8_t counter;     /* the counter to which the register belongs, or UPMU_NO_COUNTER */
    uint16_t name;       /* offset of the register's name in the table's text */
};

/* The register table of one kind of PMU: constant data of its backend. */
struct upmu_register_table {
    const struct upmu_register *rows; /* by number of the row */
    const struct upmu_register_class *classes; /* by upmu_register.class_index */
    const char *text;         /* names of registers and sources of classes, each NUL-terminated */
    uint8_t row_count;        /* entries of `rows` */
    uint8_t class_count;      /* entries of `classes` */
    const uint32_t *row_bits; /* by row: mask of the bits 31:0 that exist; NULL: upmu_pmu.limit of the class */
};

/* Facts about a PMU: bits of upmu_pmu.capabilities, for callers, tools and tests. */
#define UPMU_PMU_GLOBAL_CTRL (1u << 0)  /* one register has the enable bits of all counters */
#define UPMU_PMU_STATUS (1u << 1) /* a register shows which counters have overflowed, and a register acknowledges it */
/* a write sets all bits of a counter; else fewer bits, from which the rest is sign-extended */
#define UPMU_PMU_FULL_WRITE (1u << 2)
#define UPMU_PMU_INUSE (1u << 3)        /* IA32_PERF_GLOBAL_INUSE exists: it shows which counters other software uses */
#define UPMU_PMU_ANYTHREAD (1u << 4) /* events can have the attribute any: both hyper-threads of the core are counted */
#define UPMU_PMU_TSX (1u << 5)          /* events can have the attributes in_tx and in_txcp */
#define UPMU_PMU_HYPERVISOR (1u << 6)   /* CPUID reports a hypervisor: the PMU may be virtual */
/* CPUID reported fewer than 3 fixed counters, without a hypervisor; upmu assumes 3 */
#define UPMU_PMU_FIXED_FLOORED (1u << 7)
#define UPMU_PMU_DEBUGCTL (1u << 8)     /* freeze bits of IA32_DEBUGCTL exist; upmu clears that of counters */
/* NetBurst: the handler unmasks its interrupt last, after all overflows are acknowledged */
#define UPMU_PMU_REARM_LAST (1u << 9)
/* NetBurst erratum: a stop of a counter can lose the carry from its bit 31 into bit 32 */
#define UPMU_PMU_CARRY_LOST (1u << 10)
/* an erratum: a sequence of writes, which overwrites counters, precedes the load of each new event */
#define UPMU_PMU_PRELUDE (1u << 11)
#define UPMU_PMU_PAIRED (1u << 12)      /* events can have UPMU_ATTR_EXCLUSIVE: see UPMU_PAIR_RESOURCE */
#define UPMU_PMU_NO_PMI (1u << 13)      /* an overflow causes no interrupt, so events of this PMU cannot be sampled */
#define UPMU_PMU_KEEPS (1u << 14)       /* units: a counter keeps its value when its select gets another event */
/* units: the counters always count and are never written; several sessions can use one counter at a time */
#define UPMU_PMU_FREE (1u << 15)
#define UPMU_PMU_PAGE (1u << 16)        /* a paravirtual PMU: its registers are a page of memory and hypercalls */
#define UPMU_PMU_SATURATES (1u << 17)   /* a counter stops at its highest value; so upmu begins it at 0 */

/*
 * Return the PMU of a machine that has a number.  Numbers 0 to 3 are the core types, UPMU_UNIT_PMU + i is
 * upmu_unit_list.pmu[i] (upmu/unit.h); upmu_event.pmu is such a number.  NULL: the machine has no PMU with this number.
 *
 * Context: any.
 */
const struct upmu_pmu *upmu_machine_pmu(const struct upmu_machine *machine, unsigned index);

/*
 * Write the name of a counter: "PMC3", "FIXED1".
 *
 * Returns the length of the whole text without the NUL; at most `size` bytes including the NUL are written.
 * Context: any.
 */
size_t upmu_counter_text(const struct upmu_pmu *pmu, unsigned counter, char *buffer, size_t size);

/*
 * Return the name of the register in row `row` of a PMU's register table; NULL: the PMU has no such row.  The text is
 * constant, and empty in a build without UPMU_NAMES and UPMU_WHY_TEXT.
 *
 * Context: any.
 */
const char *upmu_register_name(const struct upmu_pmu *pmu, unsigned row);

/* Return the address of a row of a PMU's register table, in the row's space; 0: the table has no such row.  Context:
   any. */
uint32_t upmu_register_address(const struct upmu_pmu *pmu, unsigned row);

/*
 * Fill in the PMU of a model that the library knows, without hardware: for tools and tests.  `name` is upmu_pmu.name of
 * the model ("skl", "core", "nhm", "icl"), or the name of a catalogue for some CPUs of a model: then *pmu has that
 * catalogue, and the first CPU that it names.  upmu_pmu_known() lists the names.
 *
 * Returns UPMU_OK, UPMU_ERR_NO_SUCH_PMU, or UPMU_ERR_COMPILED_OUT without UPMU_NAMES.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pmu_by_name(struct upmu_pmu *pmu, const char *name);

/*
 * Return name number `index`, from 0 on, of the names that upmu_pmu_by_name() accepts; NULL: there are no more names.
 * Context: any.
 */
const char *upmu_pmu_known(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
