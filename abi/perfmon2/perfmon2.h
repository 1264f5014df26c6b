/* SPDX-License-Identifier: MIT */
/*
 * perfmon2's calls on upmu's sessions: a kernel calls them from its system calls. The host keeps the table of
 * descriptors, gives memory, and copies from and to its programs.
 *
 * Rights: a context has the rights of its owner, the user for which it was created, whichever program uses its
 * descriptor later. A right that no hook gives is refused: without may_create and may_use a program counts the user
 * mode of threads that find_thread returns, with events that need no privilege, and sees no address of the kernel.
 *
 * Each byte of a program's memory is read at most once. A refused call leaves the registers of the context as they
 * were; but a context whose session cannot be loaded again is unloaded, pfm_start() may have switched the set, and of
 * several sets some may have been created or deleted. Register numbers are rows of the PMU's register table
 * (machine->pmu[0]): PMDs are the rows of counters, PMCs those of selects, fixed control, ESCRs and payloads.
 */
#ifndef UPMU_ABI_PERFMON2_H
#define UPMU_ABI_PERFMON2_H

#include <abi/perfmon2/pfm.h>
#include <upmu/abi.h>
#include <upmu/format.h>
#include <upmu/message.h>
#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A user of the host: the limits of this user's contexts, and what they use. The structure must stay in memory until
 * the user's last context has ended.
 */
struct upmu_pfm_owner {
    void *host;             /* for the host's use */
    uint32_t most_contexts; /* at a time; 0: any number */
    /* bytes of sets, vectors, messages and samples of all its contexts together; 0: any number */
    size_t most_bytes;
    /* private */
    uint32_t contexts;
    size_t bytes;
};

/* Rights that an event can need: other names for those of upmu/abi.h. */
#define UPMU_PFM_KERNEL UPMU_RIGHT_KERNEL
#define UPMU_PFM_BEYOND UPMU_RIGHT_BEYOND
#define UPMU_PFM_PRIVILEGED UPMU_RIGHT_PRIVILEGED
#define UPMU_PFM_ADDRESSES UPMU_RIGHT_ADDRESSES

/* Functions and limits of the host, for all contexts. A hook that is NULL has a default. */
struct upmu_pfm {
    struct upmu_machine *machine; /* the machine on whose CPUs the contexts count */
    void *context;                /* first argument of each hook */
    /*
     * copy_in reads `bytes` bytes of the calling program's memory at `user`, copy_out writes them. False: the program
     * has no such memory, or may not access it. Both hooks are mandatory.
     */
    bool (*copy_in)(void *context, void *to, const void *user, size_t bytes);
    bool (*copy_out)(void *context, void *user, const void *from, size_t bytes);
    /* `owner` of the hooks below: the owner with which the context was created; it may be NULL. */
    /*
     * May the owner create a context with these flags (PFM_FL_)? Hook NULL: any context except one of a CPU, which
     * counts all threads there.
     */
    bool (*may_create)(void *context, struct upmu_pfm_owner *owner, uint32_t flags);
    /*
     * May the owner use an event that needs the rights `rights`: UPMU_PFM_ bits, or 0? Called for each event when a
     * context is loaded, or loaded anew after a write of registers. With `event` NULL and UPMU_PFM_ADDRESSES: if the
     * answer is false, samples and messages hide the kernel's addresses; called when a context is created and when it
     * is loaded. Hook NULL: the owner may only use events that need no right.
     */
    bool (*may_use)(void *context, struct upmu_pfm_owner *owner, const struct upmu_event *event, uint32_t rights);
    /*
     * Return the thread that has the number `number`; NULL: there is none, or the owner may not monitor it. *out_cpu
     * becomes the CPU that runs the thread; it is NULL at the call, and stays NULL if the thread does not run. Hook
     * NULL: no context can be loaded to a thread.
     */
    struct upmu_thread *(*find_thread)(void *context, struct upmu_pfm_owner *owner, uint32_t number,
                                       struct upmu_cpu **out_cpu);
    /*
     * Return the CPU that has the number `number`; NULL: there is none, or the owner may not monitor it. Hook NULL: no
     * context can be loaded to a CPU.
     */
    struct upmu_cpu *(*find_cpu)(void *context, struct upmu_pfm_owner *owner, uint32_t number);
    /* sampling formats that programs may choose by upmu_format.name, besides "default"; ends with NULL; may be NULL */
    const struct upmu_format *const *formats;
    const struct upmu_notify *notify;
    uint32_t most_contexts; /* the most contexts that all owners together may have at a time; 0: any number */
    /* private */
    uint32_t contexts;
};

/*
 * One event set of a context: the registers as the program wrote them, and the set of the session that counts for them.
 * All fields are private.
 */
struct upmu_pfm_set {
    bool used;
    uint16_t number;
    uint32_t pmds;                      /* mask of counters whose PMD the program has written */
    uint32_t narrow;                    /* mask of counters whose PMC was written with PFM_PMCFL_NO_EMUL64 */
    uint32_t pmcs[UPMU_REGISTERS / 32]; /* bit n: the program has written the PMC of row n */
    uint8_t event_of[UPMU_COUNTERS];    /* index of a counter's event in the session's set; 0xff: no event */
    uint32_t to_switch[UPMU_COUNTERS];  /* overflows of the PMD that are left until the switch to the next set */
    /* by counter: value that the PMD has when the count of its event is 0; not used for a PMD that samples */
    uint64_t origin[UPMU_COUNTERS];
    uint64_t pmc[UPMU_REGISTERS];
    struct pfarg_pmd pmd[UPMU_COUNTERS];
    /* the session's set that counts for this one; not used by set 0, for which upmu_session.set counts */
    struct upmu_set own;
};

/* The memory of one context, given by the host; it must stay until upmu_pfm_close() has set *out_last. */
struct upmu_pfm_memory {
    struct upmu_pfm_set *sets; /* the first is set 0 */
    unsigned set_count;        /* entries of `sets` */
    /* memory for a vector that a call copies from the program, aligned as uint64_t; longer vectors are refused */
    void *vector;
    size_t vector_bytes;       /* of `vector` */
    struct upmu_message *messages; /* queue of the context */
    uint32_t message_count;    /* a power of two; 0: no messages are stored */
    void *ring;                /* memory for the session's ring of samples; NULL: no samples are stored */
    size_t ring_bytes;         /* of `ring` */
};

/* A context: the object behind a descriptor of perfmon2. */
struct upmu_pfm_context {
    struct upmu_session session; /* the session that counts for the context */
    /* private */
    struct upmu_pfm *pfm;
    struct upmu_pfm_owner *owner;
    struct upmu_pfm_memory memory;
    struct upmu_queue queue;
    uint32_t flags;
    uint32_t references;
    bool loaded;
};

/*
 * pfm_create_context(): create a context for `owner` (NULL: a user without a record, with the rights that the hooks
 * give to NULL). Without PFM_FL_SMPL_FMT name, argument and size must be 0. `name` is the host's copy. A context whose
 * owner may not have UPMU_PFM_ADDRESSES hides the kernel's addresses (upmu_session_hide_kernel()).
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (flags, arguments that do not agree with them, an unknown format, a CPU's context
 * that blocks, or memory for samples or messages that upmu_session_ring() or upmu_session_messages() refuses);
 * UPMU_ERR_NOT_PERMITTED (may_create); UPMU_ERR_NO_SPACE (most_contexts, of all or of the owner, its most_bytes, or no
 * set); UPMU_ERR_NO_PMU; UPMU_ERR_COMPILED_OUT (no messages in this build); the status that the format returns.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_create_context(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner,
                                         struct upmu_pfm_context *context, const struct upmu_pfm_memory *memory,
                                         uint32_t flags, const char *name, const void *argument, size_t argument_bytes);

/*
 * Add a reference to a context, because a descriptor of it was duplicated: upmu_pfm_close() is called once more then.
 * Context: any.
 */
void upmu_pfm_share(struct upmu_pfm_context *context);

/*
 * close(): give up a reference to a context. Giving up the last one closes the session, and *out_last is true: the
 * context's memory may be freed. So it is also after UPMU_ERR_PORT (a register faulted). With any other status of
 * upmu_session_close() than these two, the session could not be stopped here, and the reference stays.
 *
 * Context: as upmu_session_close().
 */
enum upmu_status upmu_pfm_close(struct upmu_pfm_context *context, bool *out_last);

/*
 * pfm_write_pmcs(), pfm_write_pmds(), pfm_read_pmds(): write or read the registers that a vector names. `user` is the
 * program's vector of `bytes` bytes, with elements pfarg_pmc or pfarg_pmd; a read stores its values there.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (size, register, set, flag or reserved field); UPMU_ERR_NO_SPACE (longer than
 * memory.vector_bytes; if the context is loaded, more than UPMU_SET_EVENTS events in a set); UPMU_ERR_NOT_PERMITTED (a
 * bit that no program may set; if the context is loaded, an event that its owner may not use); UPMU_ERR_PORT (copying
 * failed); if a loaded session has to be loaded anew, a failure of upmu_session_detach(), upmu_event_raw(),
 * upmu_set_add_event(), an attach or upmu_session_start(); otherwise one of upmu_set_read().
 * Context: local; any while the context is not loaded.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_write_pmcs(struct upmu_pfm_context *context, const void *user, size_t bytes);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_write_pmds(struct upmu_pfm_context *context, const void *user, size_t bytes);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_read_pmds(struct upmu_pfm_context *context, void *user, size_t bytes);

/*
 * pfm_load_context(), pfm_unload_context(): attach a context to a thread or CPU, and detach it. `target` is a thread's
 * number; for a context of a CPU it is the number of the executing CPU. Unloading a context that is not loaded does
 * nothing.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (flags, no such target; NetBurst: no ESCR for an event); UPMU_ERR_STATE (loaded);
 * UPMU_ERR_NOT_PERMITTED (an event that its owner may not use: may_use); UPMU_ERR_NO_SPACE (more than UPMU_SET_EVENTS
 * events in a set); UPMU_ERR_DOES_NOT_FIT (also: a counter cannot count its event); UPMU_ERR_WRONG_CPU; a failure of
 * upmu_event_raw(), upmu_set_add_event(), upmu_session_attach_cpu(), upmu_session_attach_thread() or
 * upmu_session_detach().
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_load_context(struct upmu_pfm_context *context, uint32_t flags, uint32_t target);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_unload_context(struct upmu_pfm_context *context, uint32_t flags);

/*
 * pfm_start(), pfm_stop(): start and stop a context. `set` is used with PFM_STARTFL_SET, and must be 0 without it.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (flags, no such set); UPMU_ERR_STATE (not loaded; PFM_STARTFL_RESTART: neither
 * masked nor started); a failure of upmu_session_start(), upmu_session_stop(), upmu_session_switch() or
 * upmu_session_restart().
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_start(struct upmu_pfm_context *context, uint32_t flags, uint16_t set);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_stop(struct upmu_pfm_context *context, uint32_t flags);

/*
 * pfm_create_evtsets(), pfm_delete_evtsets(), pfm_getinfo_evtsets(): create, delete and describe sets. Creating a set
 * that exists changes its flags and timeout.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (size, flag, reserved field, no such set); UPMU_ERR_NO_SPACE (vector,
 * memory.set_count); UPMU_ERR_STATE (creating or deleting while loaded); UPMU_ERR_HOOK_MISSING (PFM_SETFL_TIME_SWITCH,
 * and the port has no clock); UPMU_ERR_PORT (copying failed); a failure of upmu_session_add_set() or
 * upmu_session_remove_set().
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_create_evtsets(struct upmu_pfm_context *context, const void *user, size_t bytes);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_delete_evtsets(struct upmu_pfm_context *context, const void *user, size_t bytes);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_getinfo_evtsets(struct upmu_pfm_context *context, void *user, size_t bytes);

/*
 * read(): copy messages to the program, only whole ones, and no more than the queue holds. The cost of a call depends
 * on the number of messages in the queue, not on `bytes`.
 *
 * Returns UPMU_OK, with the bytes that were copied in *out_bytes; UPMU_ERR_INVALID (`bytes` is 0 or no multiple of a
 * message's size); UPMU_ERR_END (there is no message); UPMU_ERR_PORT (a message could not be copied and is lost;
 * *out_bytes are those of the messages before it).
 * Context: any; one reader at a time.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pfm_read(struct upmu_pfm_context *context, void *user, size_t bytes, size_t *out_bytes);

/*
 * The calls of section 9 of the rationale, each as the call of section 10 above with the like name, but with structures
 * of their own (pfm.h); `count` elements, at least 1. Returns and context: as those calls; UPMU_ERR_PORT, too, where a
 * structure cannot be copied.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pfm9_create_session(struct upmu_pfm *pfm, struct upmu_pfm_owner *owner,
                                          struct upmu_pfm_context *context, const struct upmu_pfm_memory *memory,
                                          const void *user, const char *name, const void *argument,
                                          size_t argument_bytes);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm9_write_pmcs(struct upmu_pfm_context *context, const void *user, unsigned count);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm9_write_pmds(struct upmu_pfm_context *context, const void *user, unsigned count);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm9_read_pmds(struct upmu_pfm_context *context, void *user, unsigned count);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm9_load_context(struct upmu_pfm_context *context, const void *user);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm9_unload_context(struct upmu_pfm_context *context);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm9_start(struct upmu_pfm_context *context);
UPMU_MUST_CHECK
enum upmu_status upmu_pfm9_stop(struct upmu_pfm_context *context);

#ifdef __cplusplus
}
#endif

#endif
