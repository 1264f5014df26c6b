/* SPDX-License-Identifier: MIT */
/*
 * hwpmc's side: what a kernel embeds to answer the calls of pmc.h.  One PMC is one session with one event.
 *
 * Calls on one struct upmu_pmcs are made one at a time.  Those that start, stop, read or attach are local to the CPU
 * concerned, or the port has run_on_cpu (upmu/port.h).
 */
#ifndef UPMU_ABI_PMC_UPMU_PMC_H
#define UPMU_ABI_PMC_UPMU_PMC_H

#include <upmu/upmu.h>
#include "abi/pmc/pmc.h"
#include <upmu/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UPMU_PMC_RING_WORDS 128u /* of samples, for each PMC */
#define UPMU_PMC_MOST 1024u      /* PMCs: the index in an id has 10 bits */

/* A PMC.  Zeroed memory of the caller. */
struct upmu_pmc {
    struct upmu_session session;
    struct upmu_event event;
    uint64_t ring[UPMU_PMC_RING_WORDS];
    uint64_t count; /* period, or what counting begins at */
    uint32_t owner; /* process; 0: free */
    uint32_t user;  /* of the owner when it was allocated */
    uint32_t generation;
    uint32_t flags, caps;
    int32_t pid; /* attached to; 0: to none */
    uint16_t cpu;
    uint8_t mode, state;
};

/* The log of one owner.  Fill in its memory, zero the rest. */
struct upmu_pmc_log {
    uint8_t *bytes; /* records that wait for log_write */
    size_t size;    /* of `bytes`, at least 128 */
    /* private */
    uint32_t owner; /* 0: free */
    uint32_t user;
    int32_t file;
    size_t used;
    uint32_t sequence, dropped;
};

/* Zero it, fill in the first part. */
struct upmu_pmcs {
    struct upmu_machine *machine;
    struct upmu_pmc *pmcs;
    unsigned capacity;
    struct upmu_pmc_log *logs; /* one for each owner that logs at a time; or NULL */
    unsigned log_count;        /* entries of `logs` */
    /*
     * PMCs that the owners of one user, without may_system(), may hold together; 0: a quarter of `capacity`.  The last
     * quarter of `capacity` is for owners with it in any case.  Of `logs` such a user has at most a quarter, but at
     * least one.
     */
    unsigned most_pmcs;
    void *context; /* of the hooks */
    /* A CPU by number; NULL: there is none. */
    struct upmu_cpu *(*find_cpu)(void *context, unsigned cpu);
    /* A thread that `owner` may count (pid 0: itself), and the CPU where it runs or NULL.  NULL: none that it may. */
    struct upmu_thread *(*find_thread)(void *context, uint32_t owner, int32_t pid, struct upmu_cpu **out_cpu);
    /* The number of an owner's user, whose processes share what one user may hold.  NULL: each owner is a user. */
    uint32_t (*user_of)(void *context, uint32_t owner);
    /* May it count whole CPUs, take counters out of use, see sums of all owners?  NULL: owner 1 alone may. */
    bool (*may_system)(void *context, uint32_t owner);
    /*
     * May it use an event that needs these UPMU_RIGHT_ rights (perhaps none)?  Called at each allocation.  `event`
     * NULL: may it have UPMU_RIGHT_ADDRESSES?  NULL: all rights with may_system(), without it events that need none.
     */
    bool (*may_use)(void *context, uint32_t owner, const struct upmu_event *event, uint32_t rights);
    /* Copy the argument of a call; false: its memory is not the program's. */
    bool (*copy_in)(void *context, void *to, const void *argument, size_t bytes);
    bool (*copy_out)(void *context, void *argument, const void *from, size_t bytes);
    /* Append to a log file of `owner`, which need not be the caller; NULL: there are none. */
    bool (*log_write)(void *context, uint32_t owner, int32_t file, const void *bytes, size_t length);
    /* private */
    struct pmc_driverstats stats;
};

/*
 * A system call of a program: `argument` is its pointer, `bytes` what it says the structure has.  Returns 0 or a number
 * of errno, as in docs/PMC.md.
 */
int upmu_pmc_syscall(struct upmu_pmcs *pmcs, uint32_t owner, unsigned operation, void *argument, uint32_t bytes);

/*
 * The one entry of allocation: parse, encode, a session.  `*request` gets capabilities and id.  `why` (may be NULL) has
 * the reason of a refusal.
 */
enum upmu_status upmu_pmc_allocate(struct upmu_pmcs *pmcs, uint32_t owner, const char *spec,
                                   struct pmc_op_pmcallocate *request, struct upmu_why *why);

/*
 * The founding form: counter `row`, an enumerator's name ("PMC_EV_P4_BRANCH_RETIRED"), its qualifiers
 * ("mask=mmtm+mmnm,usr"; may be empty), and the rest of the request.
 */
enum upmu_status upmu_pmc_allocate_row(struct upmu_pmcs *pmcs, uint32_t owner, int row, const char *name,
                                       const char *qualifiers, struct pmc_op_pmcallocate *request);

/* Calls for one PMC. */
enum upmu_status upmu_pmc_attach(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id, int32_t pid);
enum upmu_status upmu_pmc_detach(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);
enum upmu_status upmu_pmc_start(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);
enum upmu_status upmu_pmc_stop(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);
enum upmu_status upmu_pmc_rw(struct upmu_pmcs *pmcs, uint32_t owner, struct pmc_op_rw *request);
enum upmu_status upmu_pmc_set(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id, pmc_value_t period);
enum upmu_status upmu_pmc_release(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);

/*
 * A process ends: its PMCs are released, its log is closed.  Not UPMU_OK: the first reason why that failed.  A PMC that
 * is on a CPU out of reach (UPMU_ERR_WRONG_CPU) is still the owner's, and the number must not be another's: call it
 * again on that CPU.
 */
enum upmu_status upmu_pmc_exit(struct upmu_pmcs *pmcs, uint32_t owner);

/* The user of an owner, and how many of `count` things a user may hold without a limit of the host's. */
uint32_t upmu_pmc_user_of(const struct upmu_pmcs *pmcs, uint32_t owner);
unsigned upmu_pmc_share(unsigned count);

/* The PMC of an id and an owner, or NULL. */
struct upmu_pmc *upmu_pmc_find(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id);

/* The class that the id of a PMC on this counter names. */
enum pmc_class upmu_pmc_class_of(const struct upmu_pmu *pmu, unsigned counter);

/* May an owner do what concerns the whole machine? */
bool upmu_pmc_may_system(const struct upmu_pmcs *pmcs, uint32_t owner);

/* Facts (pmc_info.c).  Where the machine has no PMU cpuinfo says 0 counters. */
void upmu_pmc_cpuinfo(const struct upmu_pmcs *pmcs, struct pmc_cpuinfo *out_info);
/* The facts of one row of a CPU; PMCs of others are in them only if the asking owner has may_system(). */
enum upmu_status upmu_pmc_pmcinfo(struct upmu_pmcs *pmcs, uint32_t owner, unsigned cpu, struct pmc_pmcinfo *info);
enum upmu_status upmu_pmc_facts(struct upmu_pmcs *pmcs, uint32_t owner, struct pmc_op_facts *facts);
enum upmu_status upmu_pmc_event_name(const struct upmu_pmcs *pmcs, struct pmc_op_name *name);
uint32_t upmu_pmc_caps_of(const struct upmu_pmu *pmu, const struct upmu_event *event);
/* The counter with an index among those of the event's kind, or UPMU_NO_COUNTER. */
unsigned upmu_pmc_row_counter(const struct upmu_pmu *pmu, const struct upmu_event *event, int32_t row);
int upmu_pmc_errno(enum upmu_status status);

/*
 * The log of an owner (pmc_log.c); a file below 0 closes it.  Where all logs are in use, an owner with may_system()
 * gets that of an owner without: UPMU_ERR_BUSY if there is none.
 */
enum upmu_status upmu_pmc_log_configure(struct upmu_pmcs *pmcs, uint32_t owner, int32_t file);
/* Write all that waits in the owner's log and in the rings of its PMCs into the file of the log. */
enum upmu_status upmu_pmc_log_flush(struct upmu_pmcs *pmcs, uint32_t owner);
/* A record of two words, if the owner has a log; false: it has none. */
bool upmu_pmc_log_words(struct upmu_pmcs *pmcs, uint32_t owner, unsigned type, uint32_t first, uint32_t second);
void upmu_pmc_log_allocate(struct upmu_pmcs *pmcs, pmc_id_t id, const struct upmu_pmc *pmc);
/*
 * Samples of all PMCs, each into its owner's log, as long as there is room; all others stay in the rings.  Call it from
 * the clock's tick.
 */
void upmu_pmc_log_samples(struct upmu_pmcs *pmcs);
/* A thread was switched away: counts of its PMCs with PMC_F_LOG_PROCCSW. */
void upmu_pmc_log_switch(struct upmu_pmcs *pmcs, int32_t pid);
/* The id of a PMC. */
pmc_id_t upmu_pmc_id(const struct upmu_pmcs *pmcs, const struct upmu_pmc *pmc);

#ifdef __cplusplus
}
#endif

#endif
