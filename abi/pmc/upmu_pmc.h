/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of libpmc (hwpmc): a kernel embeds it to answer the calls of pmc.h. A PMC is one session with one
 * event.
 *
 * Calls on one struct upmu_pmcs are made one at a time. Allocation in a system mode and calls for one PMC are made on
 * the CPU where its session is, or the port has run_on_cpu (upmu/port.h).
 */
#ifndef UPMU_ABI_PMC_UPMU_PMC_H
#define UPMU_ABI_PMC_UPMU_PMC_H

#include <upmu/abi.h>
#include <upmu/upmu.h>
#include "abi/pmc/pmc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UPMU_PMC_RING_WORDS 128u /* size of a PMC's ring of samples, in words of 64 bits */
/* the most PMCs of a machine: an id has 10 bits for the index; more of `capacity` is not used */
#define UPMU_PMC_MOST 1024u

/* A PMC. Its memory is the host's, set to 0 before the first call. */
struct upmu_pmc {
    struct upmu_session session;
    struct upmu_event event;
    uint64_t ring[UPMU_PMC_RING_WORDS];
    uint64_t count; /* in a sampling mode the period, else the count to begin at */
    uint32_t owner; /* number of the process that owns the PMC; 0: free */
    uint32_t user;  /* user (user_of()) of the owner when the PMC was allocated */
    uint32_t generation;
    uint32_t flags, caps;
    int32_t pid; /* number of the thread to which the PMC is attached, or was when the thread ended; 0: none */
    uint16_t cpu;
    uint8_t mode, state;
};

/* The log of one owner. The host sets `bytes` and `size`, and all other fields to 0. */
struct upmu_pmc_log {
    uint8_t *bytes; /* memory of the host, for the records that log_write has not been given yet */
    size_t size;    /* size of the memory `bytes`, at least 128 */
    /* private */
    uint32_t owner; /* 0: free */
    uint32_t user;
    int32_t file;
    size_t used;
    uint32_t sequence, dropped;
};

/* All PMCs of a machine. Set all fields to 0, then fill in those before the private ones. */
struct upmu_pmcs {
    struct upmu_machine *machine;
    struct upmu_pmc *pmcs;
    unsigned capacity;
    /* array of logs, one for each owner that may have a log open at the same time; NULL: no owner can */
    struct upmu_pmc_log *logs;
    unsigned log_count;        /* entries of `logs` */
    /*
     * The most PMCs that all owners of one user may have together, for owners without may_system(); 0: a quarter of
     * `capacity`. The last quarter of `capacity` is for owners with may_system() alone. Of the logs a user without
     * may_system() can have a quarter, but at least one.
     */
    unsigned most_pmcs;
    void *context; /* first argument of each hook */
    /* Return the CPU with number `cpu`, from 0 on without a gap; NULL: there is no such CPU. */
    struct upmu_cpu *(*find_cpu)(void *context, unsigned cpu);
    /*
     * Return the thread number `pid` (0: the owner's own) if `owner` may count it; NULL: there is none, or the owner
     * may not. *out_cpu becomes the CPU that runs the thread; it is NULL at the call, and stays NULL if the thread does
     * not run. Hook NULL: no PMC can be attached to a thread.
     */
    struct upmu_thread *(*find_thread)(void *context, uint32_t owner, int32_t pid, struct upmu_cpu **out_cpu);
    /*
     * Return the number of the user of the process `owner`. All processes of a user share its limits
     * (most_pmcs). Hook NULL: each owner is a user of its own.
     */
    uint32_t (*user_of)(void *context, uint32_t owner);
    /*
     * May `owner` count whole CPUs, take counters out of use, see sums and PMCs of all owners, and have more than a
     * user's share of PMCs and logs? Hook NULL: only owner 1 may.
     */
    bool (*may_system)(void *context, uint32_t owner);
    /*
     * May `owner` use an event that needs the rights `rights`: UPMU_RIGHT_ bits, or 0? Called at each allocation; and
     * once more with `event` NULL and UPMU_RIGHT_ADDRESSES: if the answer is false, samples hide the kernel's
     * addresses. Hook NULL: an owner with may_system() has all rights, any other owner may use events that need none.
     */
    bool (*may_use)(void *context, uint32_t owner, const struct upmu_event *event, uint32_t rights);
    /*
     * Copy the argument of a system call from the program (in) and to it (out); false: the program may not access this
     * memory.
     */
    bool (*copy_in)(void *context, void *to, const void *argument, size_t bytes);
    bool (*copy_out)(void *context, void *argument, const void *from, size_t bytes);
    /*
     * Append bytes to the log file number `file` of `owner`, which need not be the process that calls. False: the file
     * took nothing, and the bytes are lost. Hook NULL: there are no log files.
     */
    bool (*log_write)(void *context, uint32_t owner, int32_t file, const void *bytes, size_t length);
    /* private */
    struct pmc_driverstats stats;
};

/*
 * Answer a system call of a program. `owner` is the number of the program's process, `argument` the program's pointer,
 * `bytes` the size of the structure that the program states. Returns 0 or a number of errno, as in docs/PMC.md.
 */
int upmu_pmc_syscall(struct upmu_pmcs *pmcs, uint32_t owner, unsigned operation, void *argument, uint32_t bytes);

/*
 * Allocate a PMC: parse and encode its event, make its session. The system call and upmu_pmc_allocate_row() use this
 * function. *request gets capabilities, flags and id; at a refusal the id is PMC_ID_INVALID. `why` (may be NULL) gets
 * the reason if the event or its session is refused; other refusals do not change it.
 */
enum upmu_status upmu_pmc_allocate(struct upmu_pmcs *pmcs, uint32_t owner, const char *spec,
                                   struct pmc_op_pmcallocate *request, struct upmu_why *why);

/*
 * Allocate a PMC in the oldest form of the interface: `row` is the index of the counter (request->pm_row gets it),
 * `name` an enumerator's name ("PMC_EV_P4_BRANCH_RETIRED"), `qualifiers` its qualifiers ("mask=mmtm+mmnm,usr"; may be
 * empty or NULL). *request has the rest, and gets what upmu_pmc_allocate() stores. UPMU_ERR_NO_SPACE: no PMC is free,
 * or name and qualifiers, with the comma between them, are longer than PMC_SPEC_BYTES - 1.
 */
enum upmu_status upmu_pmc_allocate_row(struct upmu_pmcs *pmcs, uint32_t owner, int row, const char *name,
                                       const char *qualifiers, struct pmc_op_pmcallocate *request);

/* Calls for one PMC, by its id. UPMU_ERR_INVALID: the owner has no such PMC, or its mode does not allow the call. */
enum upmu_status upmu_pmc_attach(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id, int32_t pid);
enum upmu_status upmu_pmc_detach(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);
enum upmu_status upmu_pmc_start(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);
enum upmu_status upmu_pmc_stop(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);
enum upmu_status upmu_pmc_rw(struct upmu_pmcs *pmcs, uint32_t owner, struct pmc_op_rw *request);
enum upmu_status upmu_pmc_set(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id, pmc_value_t period);
enum upmu_status upmu_pmc_release(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);

/*
 * End a process: release its PMCs and close its log. Every PMC is tried; the status is that of a failure, or UPMU_OK. A
 * PMC on a CPU out of reach (UPMU_ERR_WRONG_CPU) still belongs to the owner, and no other process may have its number
 * yet: call the function again on that CPU.
 */
enum upmu_status upmu_pmc_exit(struct upmu_pmcs *pmcs, uint32_t owner);

/*
 * user_of(): return the user of an owner. share(): return how many of `count` PMCs or logs a user may hold, if the host
 * sets no limit: a quarter, at least one.
 */
uint32_t upmu_pmc_user_of(const struct upmu_pmcs *pmcs, uint32_t owner);
unsigned upmu_pmc_share(unsigned count);

/* Return the PMC that has an id; NULL: no PMC has it now, or the PMC belongs to another owner. */
struct upmu_pmc *upmu_pmc_find(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);

/* Return the class that the id of a PMC on this counter contains. */
enum pmc_class upmu_pmc_class_of(const struct upmu_pmu *pmu, unsigned counter);

/* Does the hook may_system() say yes for an owner? Without the hook: is it owner 1? */
bool upmu_pmc_may_system(const struct upmu_pmcs *pmcs, uint32_t owner);

/*
 * Store the number of CPUs and the facts of the PMU of the first core type (pmc_info.c): counters, classes, name. If
 * the machine has no PMU, all but the number of CPUs is 0.
 */
void upmu_pmc_cpuinfo(const struct upmu_pmcs *pmcs, struct pmc_cpuinfo *out_info);
/*
 * Store the facts of one row of a CPU: info->pm_row is the index among all its counters. The PMC of another owner is
 * shown only if the asking owner has may_system().
 */
enum upmu_status upmu_pmc_pmcinfo(struct upmu_pmcs *pmcs, uint32_t owner, unsigned cpu, struct pmc_pmcinfo *info);
enum upmu_status upmu_pmc_facts(struct upmu_pmcs *pmcs, uint32_t owner, struct pmc_op_facts *facts);
enum upmu_status upmu_pmc_event_name(const struct upmu_pmcs *pmcs, struct pmc_op_name *name);
uint32_t upmu_pmc_caps_of(const struct upmu_pmu *pmu, const struct upmu_event *event);
/*
 * Return the counter with index `row` among the counters of the event's kind (general, or fixed), or UPMU_NO_COUNTER.
 */
unsigned upmu_pmc_row_counter(const struct upmu_pmu *pmu, const struct upmu_event *event, int32_t row);
int upmu_pmc_errno(enum upmu_status status);

/*
 * Open the log of an owner (pmc_log.c); with a file below 0 close it. If all logs are in use, an owner with
 * may_system() gets the log of an owner without that right, which is closed. UPMU_ERR_BUSY: no log can be given;
 * UPMU_ERR_STATE: the log is open already, or there is none to close; UPMU_ERR_HOOK_MISSING: the host has no logs or no
 * log_write; UPMU_ERR_PORT: the log is closed, but the file did not take the last records.
 */
enum upmu_status upmu_pmc_log_configure(struct upmu_pmcs *pmcs, uint32_t owner, int32_t file);
/*
 * Move the samples of the owner's PMCs into its log, and write all waiting records to the file of the log.
 * UPMU_ERR_STATE: the owner has no log; UPMU_ERR_PORT: the file did not take the records, which are lost.
 */
enum upmu_status upmu_pmc_log_flush(struct upmu_pmcs *pmcs, uint32_t owner);
/*
 * Add a record of a type with two words to the owner's log. False: the owner has no log. A log without room drops the
 * record and counts it.
 */
bool upmu_pmc_log_words(struct upmu_pmcs *pmcs, uint32_t owner, unsigned type, uint32_t first, uint32_t second);
void upmu_pmc_log_allocate(struct upmu_pmcs *pmcs, pmc_id_t id, const struct upmu_pmc *pmc);
/*
 * Move the samples in the rings of all PMCs to the logs of their owners. Samples for which a log has no room, and those
 * of owners without a log, stay in the rings. Call this function from the clock's tick.
 */
void upmu_pmc_log_samples(struct upmu_pmcs *pmcs);
/*
 * For each PMC with PMC_F_LOG_PROCCSW that is attached to the thread number `pid`, add a record with its count to the
 * log of the PMC's owner. To be called when the thread has been switched away.
 */
void upmu_pmc_log_switch(struct upmu_pmcs *pmcs, int32_t pid);
/* Return the id of a PMC. */
pmc_id_t upmu_pmc_id(const struct upmu_pmcs *pmcs, const struct upmu_pmc *pmc);

#ifdef __cplusplus
}
#endif

#endif
