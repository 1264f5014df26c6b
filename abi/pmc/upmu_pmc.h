/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of libpmc (hwpmc): a kernel embeds it to answer the calls of pmc.h. A PMC is one session with one
 * event.
 *
 * Calls on one struct upmu_pmcs are made one at a time. A call that starts, stops, reads or attaches is made on the CPU
 * concerned, or the port has run_on_cpu (upmu/port.h).
 */
#ifndef UPMU_ABI_PMC_UPMU_PMC_H
#define UPMU_ABI_PMC_UPMU_PMC_H

#include <upmu/abi.h>
#include <upmu/upmu.h>
#include "abi/pmc/pmc.h"

#ifdef __cplusplus
extern "C" {
#endif

#define UPMU_PMC_RING_WORDS 128u /* words of the ring with a PMC's samples */
#define UPMU_PMC_MOST 1024u      /* the most PMCs: the index in an id has 10 bits */

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
    int32_t pid; /* thread that the PMC is attached to; 0: none */
    uint16_t cpu;
    uint8_t mode, state;
};

/* The log of one owner. The host sets `bytes` and `size`, and all other fields to 0. */
struct upmu_pmc_log {
    uint8_t *bytes; /* records that wait for log_write */
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
    struct upmu_pmc_log *logs; /* a log for each owner that logs at the same time; or NULL */
    unsigned log_count;        /* entries of `logs` */
    /*
     * The most PMCs that the owners of one user, without may_system(), may hold together; 0: a quarter of `capacity`.
     * The last quarter of `capacity` is always for owners with may_system(). A user without it has at most a quarter of
     * `logs`, but at least one.
     */
    unsigned most_pmcs;
    void *context; /* first argument of the hooks */
    /* Return the CPU with a number; NULL: there is none. */
    struct upmu_cpu *(*find_cpu)(void *context, unsigned cpu);
    /*
     * Return the thread that `owner` may count (pid 0: the owner's own); NULL: the owner may not. *out_cpu: the CPU
     * that runs the thread, or NULL.
     */
    struct upmu_thread *(*find_thread)(void *context, uint32_t owner, int32_t pid, struct upmu_cpu **out_cpu);
    /*
     * Return the number of an owner's user. All processes of a user share its limits. Hook NULL: each owner is a user.
     */
    uint32_t (*user_of)(void *context, uint32_t owner);
    /* May an owner count whole CPUs, take counters out of use, see sums of all owners? Hook NULL: only owner 1 may. */
    bool (*may_system)(void *context, uint32_t owner);
    /*
     * May an owner use an event that needs these UPMU_RIGHT_ rights (perhaps none)? Called at each allocation. `event`
     * NULL: may the owner have UPMU_RIGHT_ADDRESSES? Hook NULL: an owner with may_system() has all rights, any other
     * owner may use events that need none.
     */
    bool (*may_use)(void *context, uint32_t owner, const struct upmu_event *event, uint32_t rights);
    /*
     * Copy the argument of a system call from the program (in) and to it (out); false: the program may not access this
     * memory.
     */
    bool (*copy_in)(void *context, void *to, const void *argument, size_t bytes);
    bool (*copy_out)(void *context, void *argument, const void *from, size_t bytes);
    /* Append to a log file of `owner`, which need not be the caller. Hook NULL: there are no log files. */
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
 * function. *request gets capabilities, flags and id. `why` (may be NULL) gets the reason of a refusal.
 */
enum upmu_status upmu_pmc_allocate(struct upmu_pmcs *pmcs, uint32_t owner, const char *spec,
                                   struct pmc_op_pmcallocate *request, struct upmu_why *why);

/*
 * Allocate a PMC in the oldest form of the interface: counter `row`, an enumerator's name ("PMC_EV_P4_BRANCH_RETIRED"),
 * its qualifiers ("mask=mmtm+mmnm,usr"; may be empty), and the rest of the request.
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
 * End a process: release its PMCs and close its log. If the status is not UPMU_OK, it is the first reason why that
 * failed. A PMC on a CPU out of reach (UPMU_ERR_WRONG_CPU) still belongs to the owner, and no other process may have
 * its number yet: call the function again on that CPU.
 */
enum upmu_status upmu_pmc_exit(struct upmu_pmcs *pmcs, uint32_t owner);

/*
 * user_of(): return the user of an owner. share(): return how many of `count` PMCs or logs a user may hold, if the host
 * sets no limit: a quarter, at least one.
 */
uint32_t upmu_pmc_user_of(const struct upmu_pmcs *pmcs, uint32_t owner);
unsigned upmu_pmc_share(unsigned count);

/* Return the PMC with an id if it belongs to the owner; else NULL. */
struct upmu_pmc *upmu_pmc_find(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);

/* Return the class that the id of a PMC on this counter contains. */
enum pmc_class upmu_pmc_class_of(const struct upmu_pmu *pmu, unsigned counter);

/* Does the hook may_system() say yes for an owner? Without the hook: is it owner 1? */
bool upmu_pmc_may_system(const struct upmu_pmcs *pmcs, uint32_t owner);

/* Store the facts of the machine (pmc_info.c). If the machine has no PMU, cpuinfo says 0 counters. */
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
 * UPMU_ERR_STATE: the log is open already, or there is none to close.
 */
enum upmu_status upmu_pmc_log_configure(struct upmu_pmcs *pmcs, uint32_t owner, int32_t file);
/* Write all waiting records of the owner's log, and samples in the rings of its PMCs, to the file of the log. */
enum upmu_status upmu_pmc_log_flush(struct upmu_pmcs *pmcs, uint32_t owner);
/* Add a record of two words to the owner's log; false: the owner has no log. */
bool upmu_pmc_log_words(struct upmu_pmcs *pmcs, uint32_t owner, unsigned type, uint32_t first, uint32_t second);
void upmu_pmc_log_allocate(struct upmu_pmcs *pmcs, pmc_id_t id, const struct upmu_pmc *pmc);
/*
 * Move samples of all PMCs to their owners' logs, as long as there is room; others stay in the rings. Call this
 * function from the clock's tick.
 */
void upmu_pmc_log_samples(struct upmu_pmcs *pmcs);
/*
 * Add a record to the log for each PMC with PMC_F_LOG_PROCCSW of a thread, with its count. Call this when the thread
 * has been switched away.
 */
void upmu_pmc_log_switch(struct upmu_pmcs *pmcs, int32_t pid);
/* Return the id of a PMC. */
pmc_id_t upmu_pmc_id(const struct upmu_pmcs *pmcs, const struct upmu_pmc *pmc);

#ifdef __cplusplus
}
#endif

#endif
