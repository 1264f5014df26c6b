/* SPDX-License-Identifier: MIT */
/*
 * libpmc's interface for programs, as pmc(3) of FreeBSD describes it: the same names, but other numbers (docs/PMC.md).
 * No structure has a pointer, and each has the same bytes for 32 and 64 bits.
 */
#ifndef UPMU_ABI_PMC_PMC_H
#define UPMU_ABI_PMC_PMC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* version of the interface; bits 31:24, the major number, change with the layouts of the structures below */
#define PMC_VERSION 0x01000000u

/*
 * An id: bits 9:0 index, 21:10 generation, 25:22 mode, 31:26 class. A released id can be given again after 4,095 other
 * allocations with the same index.
 */
typedef uint32_t pmc_id_t;
typedef uint64_t pmc_value_t;
#define PMC_ID_INVALID 0xffffffffu

/* two letters: what is counted, S the whole CPU (system), T one thread; and how, S sampling, C counting */
enum pmc_mode { PMC_MODE_SS, PMC_MODE_SC, PMC_MODE_TS, PMC_MODE_TC };
enum pmc_class {
    PMC_CLASS_TSC,
    PMC_CLASS_SOFT,
    PMC_CLASS_P4,
    PMC_CLASS_K7,
    PMC_CLASS_K8,
    PMC_CLASS_IAF,
    PMC_CLASS_IAP,
    PMC_CLASS_UC
};
enum pmc_state { PMC_STATE_FREE, PMC_STATE_ALLOCATED, PMC_STATE_STOPPED, PMC_STATE_RUNNING };
enum pmc_disp { PMC_DISP_STANDALONE, PMC_DISP_FREE, PMC_DISP_THREAD, PMC_DISP_UNKNOWN };

#define PMC_CPU_ANY (-1)
#define PMC_ROW_ANY (-1)

/* Flags of an allocation. */
/* the log gets a record at each switch away from the thread that the PMC is attached to */
#define PMC_F_LOG_PROCCSW (1u << 0)
#define PMC_F_EV_PMU (1u << 1)      /* answer: the event has a name in a catalogue (upmu_event_name()) */

/* Capabilities: what a counter can do. Calls return them; what the caller sets in pm_caps is ignored. */
#define PMC_CAP_INTERRUPT (1u << 0)
#define PMC_CAP_USER (1u << 1)
#define PMC_CAP_SYSTEM (1u << 2)
#define PMC_CAP_EDGE (1u << 3)
#define PMC_CAP_THRESHOLD (1u << 4)
#define PMC_CAP_READ (1u << 5)
#define PMC_CAP_WRITE (1u << 6)
#define PMC_CAP_INVERT (1u << 7)
#define PMC_CAP_QUALIFIER (1u << 8)
#define PMC_CAP_PRECISE (1u << 9)
#define PMC_CAP_TAGGING (1u << 10)
#define PMC_CAP_CASCADE (1u << 11)

struct pmc_cpuinfo {
    uint32_t pm_ncpu, pm_npmc, pm_nclass;
    uint32_t pm_class[2];
    char pm_cputype[20]; /* upmu's name of the PMU */
};

struct pmc_pmcinfo {
    uint32_t pm_row, pm_class;
    uint32_t pm_width, pm_caps;
    uint32_t pm_enabled, pm_mode;
    uint32_t pm_owner; /* owner of the PMC on the row; 0: there is none that the program may see */
    uint32_t pm_disp;
    char pm_name[16];
};

struct pmc_driverstats {
    uint64_t pm_allocated, pm_refused, pm_samples, pm_lost, pm_log_records, pm_log_dropped;
};

/*
 * ---- libpmc: the calls of a program ----
 *
 * A call returns 0, or -1 with the reason in pmc_errno. But pmc_ncpu() and pmc_npmc() return a number, and the calls
 * that return a name NULL if there is none; their refusals leave pmc_errno as it is, and so does a `size` of 0.
 */

/* To use your C library's errno, compile pmc_client.c and the program with -include errno.h -Dpmc_errno=errno. */
#ifndef pmc_errno
extern int pmc_errno;
#endif

int pmc_init(void);
int pmc_ncpu(void);
int pmc_npmc(int cpu); /* -1: no such CPU */
int pmc_cpuinfo(const struct pmc_cpuinfo **out_info);
int pmc_pmcinfo(int cpu, int row, struct pmc_pmcinfo *out_info);
int pmc_get_driver_stats(struct pmc_driverstats *out_stats);
int pmc_width(pmc_id_t id, uint32_t *out_width);
int pmc_capabilities(pmc_id_t id, uint32_t *out_caps);
/* *out_index: the value of ECX for RDPMC; UPMU_NO_RDPMC (upmu/pmu.h): RDPMC cannot read it, or there is none */
int pmc_get_msr(pmc_id_t id, uint32_t *out_index);

/*
 * Allocate a PMC; its id becomes *out_id. `spec` is an event in the syntax of docs/EVENTS.md: an optional index of the
 * counter, the name, qualifiers: "instructions,usr", "12 p4-branch-retired,mask=mmtm". `count`: in a sampling mode the
 * period, else the count to begin at. `cpu`: the CPU in a system mode; not used in a thread mode.
 */
int pmc_allocate(const char *spec, enum pmc_mode mode, uint32_t flags, int cpu, pmc_id_t *out_id, uint64_t count);
int pmc_release(pmc_id_t id);
/* attach a PMC in a thread mode to the thread that the host finds for `pid`; 0: the program itself */
int pmc_attach(pmc_id_t id, int32_t pid);
int pmc_detach(pmc_id_t id, int32_t pid); /* `pid` is not used */
int pmc_start(pmc_id_t id);
int pmc_stop(pmc_id_t id);
/* the count; in a sampling mode the number of events until the next sample */
int pmc_read(pmc_id_t id, pmc_value_t *out_value);
int pmc_write(pmc_id_t id, pmc_value_t value);
int pmc_rw(pmc_id_t id, pmc_value_t value, pmc_value_t *out_old);
int pmc_set(pmc_id_t id, pmc_value_t period); /* set the period of a PMC in a sampling mode that does not run */
int pmc_enable(int cpu, int row);
int pmc_disable(int cpu, int row);

int pmc_configure_logfile(int file);
int pmc_flush_logfile(void);
int pmc_close_logfile(void);
int pmc_writelog(uint32_t data);

/* Store the name of the event number `index` of a class, from 0 on; -1: there is no event with this number. */
int pmc_event_name_of_class(enum pmc_class class_of, uint32_t index, char *out_name, uint32_t size);
const char *pmc_name_of_class(enum pmc_class class_of);
const char *pmc_name_of_mode(enum pmc_mode mode);
const char *pmc_name_of_state(enum pmc_state state);
const char *pmc_name_of_disposition(enum pmc_disp disposition);
const char *pmc_name_of_capability(uint32_t capability); /* name of the lowest bit that is set */

/*
 * Pass an operation and its argument, a structure of `bytes` bytes, to the kernel (upmu_pmc_syscall()). The program's
 * system defines this function. Returns 0, or a number of errno.
 */
int pmc_syscall(unsigned operation, void *argument, uint32_t bytes);

/* ---- Between program and kernel: the operations, and the structures that are their arguments ---- */

enum pmc_op {
    PMC_OP_INIT,     /* struct pmc_op_info */
    PMC_OP_CPUINFO,  /* struct pmc_cpuinfo */
    PMC_OP_PMCINFO,  /* struct pmc_pmcinfo: the program asks for row pm_row of CPU number pm_owner */
    PMC_OP_STATS,    /* struct pmc_driverstats */
    PMC_OP_FACTS,    /* struct pmc_op_facts */
    PMC_OP_ALLOCATE, /* struct pmc_op_allocate */
    PMC_OP_RELEASE,  /* struct pmc_op_simple, as for the four operations below */
    PMC_OP_ATTACH,
    PMC_OP_DETACH,
    PMC_OP_START,
    PMC_OP_STOP,
    PMC_OP_RW,     /* struct pmc_op_rw */
    PMC_OP_SET,    /* struct pmc_op_rw */
    /* struct pmc_op_simple: CPU in pm_pmcid, row (index among all counters) in pm_value; also for DISABLE */
    PMC_OP_ENABLE,
    PMC_OP_DISABLE,
    PMC_OP_CONFIGURELOG, /* struct pmc_op_simple: pm_value is the file; -1 closes the log */
    PMC_OP_FLUSHLOG,     /* struct pmc_op_simple, of which nothing is used */
    PMC_OP_WRITELOG,  /* struct pmc_op_simple: the data in pm_value */
    PMC_OP_EVENTNAME, /* struct pmc_op_name */
    PMC_OPS
};

#define PMC_SPEC_BYTES 256

struct pmc_op_pmcallocate {
    uint32_t pm_caps; /* answer */
    int32_t pm_cpu;
    uint32_t pm_flags, pm_mode;
    pmc_value_t pm_count; /* in a sampling mode the period in events, else the count at which the PMC begins */
    int32_t pm_row;       /* index of the counter among those of the event's kind (general or fixed), or PMC_ROW_ANY */
    pmc_id_t pm_pmcid;    /* answer */
};

struct pmc_op_allocate {
    struct pmc_op_pmcallocate pm;
    char pm_spec[PMC_SPEC_BYTES];
};

struct pmc_op_simple {
    uint32_t pm_pmcid;
    int32_t pm_value;
};

struct pmc_op_rw {
    uint32_t pm_pmcid;
    uint32_t pm_flags; /* 1: read, 2: write, 3: read, then write; PMC_OP_SET does not use it */
    pmc_value_t pm_value;
};

struct pmc_op_facts {
    uint32_t pm_pmcid;
    uint32_t pm_width, pm_caps, pm_msr;
};

struct pmc_op_info {
    uint32_t pm_version, pm_ncpu;
};

struct pmc_op_name {
    uint32_t pm_class, pm_index;
    char pm_name[64];
};

/* ---- The log: its records, each of a multiple of 8 bytes ---- */

enum pmclog_type {
    PMCLOG_TYPE_INITIALIZE = 1, /* struct pmclog_words: PMC_VERSION, 0; the first record */
    PMCLOG_TYPE_PMCALLOCATE,    /* struct pmclog_allocate */
    PMCLOG_TYPE_PMCATTACH,      /* struct pmclog_words: id of the PMC, thread to which it was attached (its pid) */
    /*
     * struct pmclog_value: id of the PMC, thread that was switched away (its pid), the PMC's total count so far, which
     * includes earlier runs of the thread
     */
    PMCLOG_TYPE_PROCCSW,
    /* struct pmclog_value: id of the PMC, 1 in user mode or else 0, address of the interrupted instruction */
    PMCLOG_TYPE_PCSAMPLE,
    PMCLOG_TYPE_USERDATA,       /* struct pmclog_words: the data of pmc_writelog(), 0 */
    PMCLOG_TYPE_DROPNOTIFY,     /* struct pmclog_words: how many records before this one found no room */
    PMCLOG_TYPE_CLOSELOG        /* struct pmclog_words: 0, 0; the last record */
};

struct pmclog_header {
    uint16_t pl_length, pl_type;
    uint32_t pl_sequence; /* number of records of this log before this one, with those that were dropped */
};

struct pmclog_words {
    struct pmclog_header pl_header;
    uint32_t pl_word[2];
};

struct pmclog_value {
    struct pmclog_header pl_header;
    uint32_t pl_pmcid, pl_word;
    uint64_t pl_value;
};

/*
 * The event of a PMC. Catalogue, row in it and masks are those of upmu_event_name(); all are 0 for an event without a
 * name. pl_config has the first word of the event (upmu_event.config).
 */
struct pmclog_allocate {
    struct pmclog_header pl_header;
    uint32_t pl_pmcid, pl_flags;
    uint16_t pl_catalogue, pl_row;
    uint32_t pl_masks;
    uint64_t pl_config;
};

#ifdef __cplusplus
}
#endif

#endif
