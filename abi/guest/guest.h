/* SPDX-License-Identifier: MIT */
/*
 * The PMU that a hypervisor shows one virtual CPU.
 *
 * The hypervisor traps the guest's RDMSR, WRMSR, RDPMC and CPUID and passes them on.  A trapped
 * access changes virtual registers in memory only.  Before each entry upmu_guest_enter() brings
 * the hardware to what these registers say.  Each virtual counter that counts is one session of the
 * host, of world UPMU_WORLD_GUEST (upmu/world.h), so the host's own sessions run beside it.
 *
 *     if (upmu_guest_shape_default(&machine, UPMU_GUEST_INTEL, &policy, &shape) != UPMU_OK ||
 *         upmu_guest_init(&vcpu->pmu, &machine, &shape, &policy,
 *                         &(struct upmu_guest_memory){vcpu->sessions, 12, &vcpu->thread}) != UPMU_OK)
 *         return false;
 *     for (;;) {
 *         if (upmu_guest_enter(&vcpu->pmu, &entry) != UPMU_OK)
 *             note(vcpu);  (the guest may run all the same)
 *         inject(vcpu, &entry);
 *         reason = run(vcpu);
 *         if (upmu_guest_exit(&vcpu->pmu) != UPMU_OK)
 *             note(vcpu);
 *         if (reason == RDMSR && upmu_guest_rdmsr(&vcpu->pmu, msr, &value) == UPMU_GUEST_FAULT)
 *             inject_gp(vcpu);
 *     }
 *
 * The contexts any, local and nmi are those of upmu/port.h.  Calls on one vCPU are never made at the
 * same time.  Values that come from the guest are checked; all other arguments are the host's.
 */
#ifndef UPMU_ABI_GUEST_GUEST_H
#define UPMU_ABI_GUEST_GUEST_H

#include <upmu/upmu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Virtual counters are numbered as upmu numbers them: general n is n, fixed i is 16 + i. */
#define UPMU_GUEST_COUNTERS 32
#define UPMU_GUEST_GENERAL 8 /* at most, and as many fixed ones: */
#define UPMU_GUEST_FIXED 3

/* Which registers the guest sees. */
enum upmu_guest_door {
    UPMU_GUEST_INTEL = 1,    /* architectural perfmon */
    UPMU_GUEST_AMD_K7 = 2,   /* C0010000h to C0010007h */
    UPMU_GUEST_AMD_CORE = 3, /* also PerfCtrExtCore: C0010200h to C001020Bh */
    UPMU_GUEST_AMD_V2 = 4    /* also PerfMonV2: C0000300h to C0000303h */
};

/*
 * The PMU that the guest's CPUID shows.  A shape is constant from one reset of the guest to the next, and part of the
 * guest's saved state: a host that is to take the guest over must be able to show the same.  32 bytes.
 */
struct upmu_guest_shape {
    uint8_t door;         /* enum upmu_guest_door */
    uint8_t version;      /* Intel: 1 to 4; AMD: 0 */
    uint8_t general;      /* Intel: 1 to 8; AMD K7: 4, CORE: 6, V2: 1 to 6 */
    uint8_t fixed;        /* Intel from version 2 on: 0 to 3; else 0 */
    uint8_t width;        /* of all counters: Intel 32 to 48, AMD 48 */
    uint8_t full_write;   /* Intel: 1: PERF_CAPABILITIES[13], and PERF_CAPABILITIES exists; else 0 */
    uint16_t arch_events; /* Intel: bit n, 0 to 6: architectural event n is available; AMD: 0 */
    uint16_t family;      /* the CPU whose other events the guest names, as in struct upmu_pmu; 0: none */
    uint16_t model;       /* of this CPU */
    uint8_t stepping;     /* of this CPU */
    uint8_t reserved[19]; /* 0 */
};

/* Which events a guest may count.  The numbers of a policy that is all zero are the default. */
enum upmu_guest_level {
    UPMU_GUEST_IPC = 0,  /* cycles, instructions, reference cycles; no edge, invert or counter mask */
    UPMU_GUEST_ARCH = 1, /* the events that each CPU of its vendor has */
    UPMU_GUEST_LIST = 2, /* those that the filter allows */
    UPMU_GUEST_ALL = 3,
    UPMU_GUEST_OFF = 4 /* none: registers are memory */
};

/* Bits of upmu_guest_policy.flags. */
#define UPMU_GUEST_OWN_LAPIC (1u << 0) /* an entry reports the bare interrupt; the hypervisor's APIC decides */
#define UPMU_GUEST_STRICT (1u << 1)    /* upmu_guest_enter() says when a counter stands still for want of one */
#define UPMU_GUEST_POLLED (1u << 2)    /* a port without interrupts will do: overflows are found at exits */
/*
 * Levels above IPC show a guest what the hyper-thread beside it does.  The host accepts that, or no
 * other guest runs there.
 */
#define UPMU_GUEST_BESIDE_STRANGERS (1u << 3)
/*
 * A virtual counter is served by the host's counter of its number, if that is free, and the register holds the guest's
 * own value: the hypervisor may let the guest read it (upmu_guest_passes()).
 */
#define UPMU_GUEST_PASSES (1u << 4)
/* CPUID does not say that there is a hypervisor (leaf 1, ECX bit 31): the bit stays what the hypervisor answers. */
#define UPMU_GUEST_NO_HYPERVISOR_BIT (1u << 5)

/* How many entries a filter has at most. */
#define UPMU_GUEST_FILTER_ENTRIES 300

/*
 * The filter of level LIST.  Entries are coded as those of Linux KVM (KVM_SET_PMU_EVENT_FILTER).
 * Without UPMU_GUEST_FILTER_MASKED an entry is an event (bits 7:0; AMD: 11:8 in 35:32; Intel: 0) and its unit
 * mask (15:8).  With it, bits 15:8 are to be found in the unit mask under the mask of bits 63:56, and
 * bit 55 makes an exclusion.  An event matches if an entry matches it and no exclusion does.
 */
struct upmu_guest_filter {
    uint8_t action; /* UPMU_GUEST_FILTER_ALLOW: what matches is counted; ..._DENY: what does not */
    uint8_t flags;  /* UPMU_GUEST_FILTER_MASKED or 0 */
    uint16_t count; /* entries of `entry` */
    uint32_t fixed_bitmap; /* bit i: fixed counter i matches */
    const uint64_t *entry; /* in memory that stays while the filter is used */
};
/* Values of `action` and `flags`. */
#define UPMU_GUEST_FILTER_ALLOW 0
#define UPMU_GUEST_FILTER_DENY 1
#define UPMU_GUEST_FILTER_MASKED 1

/*
 * A policy: what the host grants a guest.  Constant: upmu_guest_policy_change() gives a vCPU another policy.  All vCPUs
 * of a guest may share a policy, which must stay until upmu_guest_fini().
 */
struct upmu_guest_policy {
    uint8_t level;                          /* enum upmu_guest_level */
    uint8_t flags;                          /* UPMU_GUEST_… */
    const struct upmu_guest_filter *filter; /* with level LIST */
    uint64_t min_period; /* events between two interrupts of the host by a counter, at least; below 2^32; 0: 1000 */
    uint64_t payload[2]; /* bits of OFFCORE_RSP 0 and 1 that the guest may set; 0: the register faults */
};

/*
 * Memory of the host for one vCPU.  `sessions`: one for each virtual counter that is to count at the
 * same time as others, at most UPMU_GUEST_COUNTERS.  `thread`: that of the vCPU's own thread, if the
 * host calls upmu_thread_switch(); NULL: the host calls upmu_guest_load() and upmu_guest_put().
 */
struct upmu_guest_memory {
    struct upmu_session *sessions;
    uint32_t count; /* entries of `sessions` */
    struct upmu_thread *thread;
};

/* A virtual counter.  All private but `denied`. */
struct upmu_guest_counter {
    uint64_t value;   /* as of `origin` */
    uint64_t before;  /* the value that a write replaced while its session ran */
    uint64_t origin;  /* its session's count that `value` belongs to */
    uint64_t total;   /* events so far, whatever was written and however often it went round */
    uint64_t select;  /* as the guest wrote it; of a fixed counter: its control */
    uint32_t applied; /* what its session counts: event, unit mask and modifiers */
    uint16_t denied;  /* selects whose event it was refused, each counted once, saturates */
    uint8_t session;  /* 1 + index into the host's sessions, 0: none */
    uint8_t flags;
};

/* Registers of a vCPU of x86.  All private but `lvtpc`. */
struct upmu_guest_x86 {
    uint64_t global_ctrl;
    uint64_t status;   /* without bits of counters */
    uint64_t debugctl; /* bits 11 and 12 alone */
    uint64_t offcore[2];
    uint32_t lvtpc; /* the performance-counter entry of its local APIC */
    bool lapic_off; /* its local APIC is disabled by software: lvtpc stays masked */
};

struct upmu_guest_door_table;

/*
 * A virtual CPU.  The memory must stay until upmu_guest_fini().  All private but `shape`, `waiting`, `x86.lvtpc` and of
 * a counter `denied`.
 */
struct upmu_guest {
    struct upmu_guest_shape shape;
    struct upmu_guest_shape shown;            /* of upmu_guest_init() */
    const struct upmu_guest_door_table *door; /* what its registers say */
    const struct upmu_guest_policy *policy;
    struct upmu_guest_memory memory;
    struct upmu_machine *machine;
    struct upmu_cpu *cpu; /* of upmu_guest_load(), or NULL */
    uint64_t mask;        /* of a counter's value */
    uint64_t min_period;
    struct upmu_guest_x86 x86;
    volatile uint32_t overflowed; /* by the handler: counters */
    uint32_t counters;            /* that exist */
    uint32_t dirty;               /* counters whose registers changed since the last entry */
    uint32_t started;             /* counters whose session is started */
    uint32_t raised;              /* counters whose overflow the guest sees */
    uint32_t pending;             /* counters whose overflow is to be injected */
    uint32_t waiting;             /* counters that are to count and have no counter of the host */
    uint32_t attached;            /* sessions */
    uint32_t passes;              /* counters that the guest may read itself, since the last entry */
    struct upmu_thread own;
    struct upmu_guest_counter counter[UPMU_GUEST_COUNTERS];
};

/* The answer to a trapped access. */
enum upmu_guest_access {
    UPMU_GUEST_DONE = 0,
    UPMU_GUEST_FAULT = 1,    /* inject #GP */
    UPMU_GUEST_NOT_OURS = 2, /* no register of the PMU: the hypervisor's other handlers decide */
    /*
     * DEBUGCTL (1D9h): bits 11 and 12 are the engine's, all others the hypervisor's.  A read has stored
     * these two bits alone; a write has taken them.
     */
    UPMU_GUEST_SHARED = 3
};

/* The interrupt to inject at an entry. */
enum upmu_guest_inject {
    UPMU_GUEST_INJECT_NONE = 0,
    UPMU_GUEST_INJECT_NMI = 1,
    UPMU_GUEST_INJECT_VECTOR = 2,
    UPMU_GUEST_INJECT_PMI = 3 /* with OWN_LAPIC: raise the performance-counter entry of the virtual APIC */
};

/* The host's work at the entry that follows. */
struct upmu_guest_entry {
    uint8_t inject; /* enum upmu_guest_inject; never reported again: keep it until the guest can take it */
    uint8_t vector; /* of UPMU_GUEST_INJECT_VECTOR: 16 at least; below it are exceptions, and nothing is injected */
    /*
     * With upmu_cpu_world_by_hardware(): IA32_PERF_GLOBAL_CTRL in the guest, for the VMCS (in the host, for the exit:
     * upmu_cpu_gate_value()); else 0.
     */
    uint64_t gate;
    /* With UPMU_GUEST_PASSES: counters whose registers the guest may read itself, until the next exit. */
    uint32_t passes;
    bool rdpmc_passes; /* RDPMC, too: there is no other counter that it could read */
};

/*
 * The widest PMU that this machine can show honestly to a guest of this policy (NULL: the default): its general
 * counters, its fixed ones (Intel on Intel), the architectural events that it can count in the same meaning, both
 * without those that the policy denies; its own CPU for other events where the vendor is the same.  AMD's CPUID names
 * no event: an event of its doors that the policy denies counts nothing, and only `denied` tells.
 * Counters that the host wants for itself (a watchdog) are to be subtracted from `general`; then no virtual counter
 * ever waits (but of AMD's doors with a fixed number of counters, and of events of one CPU model, which may have few
 * counters).  On NetBurst it has two general
 * ones, because an event of NetBurst has few counters; more may be shown, and may wait.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such door; a policy that upmu_guest_init() refuses as invalid);
 * UPMU_ERR_NO_PMU (no CPU is initialised).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_shape_default(const struct upmu_machine *machine, enum upmu_guest_door door,
                                          const struct upmu_guest_policy *policy, struct upmu_guest_shape *out_shape);

/*
 * Events that a shape shows and a policy (NULL: the default) never counts: bit n, 0 to 6: architectural event n; bit 16
 * + i: fixed counter i.  0: the shape is honest under this policy.  The policy is a valid one.
 * Context: any.
 */
uint32_t upmu_guest_shape_denied(const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy);

/*
 * Is a filter well formed?  UPMU_OK or UPMU_ERR_INVALID: an unknown action, flag or bit of an entry,
 * too many entries, none where there should be.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_filter_check(const struct upmu_guest_filter *filter);

/*
 * Make a vCPU with the registers of a reset.  Touches no register.  `policy` NULL: the default.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (a shape, level, flag or filter beyond the limits above, events that
 * this machine does not count, a filter of Intel's door with bits 35:32, no memory for sessions);
 * UPMU_ERR_UNSUPPORTED (the shape shows what the policy never counts: upmu_guest_shape_denied() says what);
 * UPMU_ERR_NOT_PERMITTED (a level above IPC without BESIDE_STRANGERS);
 * UPMU_ERR_HOOK_MISSING (no pmi_rearm, and not POLLED); UPMU_ERR_NO_PMU (no CPU is initialised);
 * UPMU_ERR_COMPILED_OUT (the library lacks UPMU_WORLDS, UPMU_THREADS, UPMU_SAMPLING or UPMU_FORMATS, or UPMU_LOANS that
 * the policy needs).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_init(struct upmu_guest *guest, struct upmu_machine *machine,
                                 const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy,
                                 const struct upmu_guest_memory *memory);

/*
 * Give back all sessions.  The memory may be freed.
 *
 * Returns UPMU_OK, or as upmu_session_close(): not all sessions are closed then, call it again.
 * Context: any, after upmu_guest_put(), or while the thread of the vCPU does not run; else local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_fini(struct upmu_guest *guest);

/*
 * RESET of the vCPU; INIT changes nothing and needs no call.  After a change of the policy the reset makes the shape
 * anew: it shows of the shape of upmu_guest_init() what the present policy counts.
 * Context: local or any, outside guest mode.
 */
void upmu_guest_reset(struct upmu_guest *guest);

/*
 * The vCPU has another policy from now on (NULL: the default), which must stay as that of upmu_guest_init().  For each
 * vCPU of a guest, each on its CPU.  The next entry stops what is denied now, which is counted in `denied` once more,
 * and starts what is permitted again; values stay.  The shape stands until the guest's reset, because the guest has
 * read it: until then an event that it shows may count nothing.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (OWN_LAPIC or PASSES differ); and UPMU_ERR_INVALID, UPMU_ERR_NOT_PERMITTED,
 * UPMU_ERR_HOOK_MISSING as upmu_guest_init(): nothing has changed then.
 * Context: local, outside guest mode.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_policy_change(struct upmu_guest *guest, const struct upmu_guest_policy *policy);

/* Would a reset show something else, because the policy has changed?  Context: any. */
bool upmu_guest_shape_is_stale(const struct upmu_guest *guest);

/*
 * Put the PMU of the shape into the answer of CPUID.  `inout`: EAX, EBX, ECX, EDX as the hypervisor
 * would answer.  True: changed.  Nothing is shown that a register then refuses.  Leaf 1 says that there is a
 * hypervisor: without this bit Linux takes registers for granted that no shape has.
 * Context: any.
 */
bool upmu_guest_cpuid(const struct upmu_guest *guest, uint32_t leaf, uint32_t subleaf, uint32_t inout[4]);

/*
 * A trapped RDMSR, WRMSR or RDPMC.  Writes make no access to the hardware, except that an
 * acknowledgement of overflows reads the counters concerned; reads of a counter that counts read it.
 * Without OWN_LAPIC the performance-counter entry of an x2APIC (834h) is one of the engine's registers; while the
 * guest's APIC is not in that mode, the caller refuses 834h itself.
 * The caller has checked privilege (RDPMC: CPL and CR4.PCE).  *out_value is written with DONE and
 * SHARED alone.
 * Context: local, outside guest mode.
 */
enum upmu_guest_access upmu_guest_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value);
enum upmu_guest_access upmu_guest_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value);
enum upmu_guest_access upmu_guest_rdpmc(struct upmu_guest *guest, uint32_t ecx, uint64_t *out_value);

/* How many ranges of addresses a shape has at most. */
#define UPMU_GUEST_RANGES 28

/* MSRs that the engine answers. */
struct upmu_guest_range {
    uint32_t first, last; /* addresses */
    bool absent;          /* no guest has them: each access faults */
};

/*
 * The MSRs that the hypervisor has to trap, and pass to upmu_guest_rdmsr() and upmu_guest_wrmsr(), in the order of
 * their addresses: the range number `index`, from 0 on.  False: there are no more.  All others are "not ours".  The
 * list is constant while the vCPU lives.
 * Context: any.
 */
bool upmu_guest_msr_range(const struct upmu_guest *guest, unsigned index, struct upmu_guest_range *out_range);

/*
 * Mark the MSRs of these ranges in the bitmaps of the hardware: of a VMCS (4,096 bytes), of a VMCB (8,192 bytes).
 * Writes trap, and reads but of counters that the guest may read itself now (upmu_guest_passes()).  Bits of other MSRs
 * are left as they are.
 * Context: any.
 */
void upmu_guest_msr_bitmap_vmx(const struct upmu_guest *guest, void *page);
void upmu_guest_msr_bitmap_svm(const struct upmu_guest *guest, void *pages);

/*
 * Without a thread of the host: the vCPU comes to a CPU, and leaves it.  Both are one thread switch;
 * no access if nothing counts.  With one the host's upmu_thread_switch() does it.
 *
 * Returns as upmu_thread_switch(); UPMU_ERR_STATE (it has a thread of the host; load: it is on a CPU).
 * Context: local, outside guest mode.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_load(struct upmu_guest *guest, struct upmu_cpu *cpu);
UPMU_MUST_CHECK
enum upmu_status upmu_guest_put(struct upmu_guest *guest);

/*
 * The guest runs from now on: the last call before it.  Brings its sessions to what its registers
 * say, says what to inject, opens its counters.
 *
 * *out_entry is always written.  Whatever is returned, the guest may run.
 * Returns UPMU_OK; UPMU_ERR_DOES_NOT_FIT (STRICT: guest->waiting names the counters that stand still);
 * UPMU_ERR_STATE (not loaded); and as upmu_cpu_enter_guest().
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_enter(struct upmu_guest *guest, struct upmu_guest_entry *out_entry);

/*
 * May the guest read this MSR itself until the next exit: need RDMSR of it not trap?  Writes always do, as does
 * everything of a vCPU without UPMU_GUEST_PASSES.  The answer changes at an entry, when entry->passes does, and is no
 * after upmu_guest_put(), upmu_guest_reset() and upmu_guest_fini():
 * C1h + n, 4C1h + n (C0010004h + n, C0010201h + 2n) for its bit n, 309h + n for its bit 16 + n.
 * Context: any.
 */
bool upmu_guest_passes(const struct upmu_guest *guest, uint32_t msr);

/* The guest runs no more: the first call after it.  Returns as upmu_cpu_leave_guest().  Context: local. */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_exit(struct upmu_guest *guest);

/*
 * The guest wrote the performance-counter entry of its local APIC (offset 340h), which is masked
 * after a reset.  Not needed with OWN_LAPIC.  On Intel's doors a delivery masks it.  A read shows
 * guest->x86.lvtpc: vector, delivery mode and mask, all other bits are 0.
 * Context: local, outside guest mode.
 */
void upmu_guest_lvtpc(struct upmu_guest *guest, uint32_t value);

/*
 * The guest wrote the spurious-interrupt vector register of its local APIC (offset 0F0h or MSR 80Fh): `enabled` is its
 * bit 8.  While it is 0 the entry is masked, and no write unmasks it.  upmu_guest_reset() and upmu_guest_restore()
 * leave the APIC enabled: call it after them, if it is not.  Not needed with OWN_LAPIC.
 * Context: local, outside guest mode.
 */
void upmu_guest_lapic(struct upmu_guest *guest, bool enabled);

/*
 * The hypervisor executed instructions in the place of the guest: they count like the guest's own.
 * `user`: the guest was in user mode.  Call it after the access of the instruction and after the
 * instruction pointer has moved on, not for an instruction that faults: counters that the registers
 * open now take it.  So a write that opens a counter, or selects its event, counts itself, and a write
 * that closes it does not.  Events that the policy denies, or that have edge, invert or counter mask,
 * take nothing, nor do counters that are named in `waiting`.
 * Context: local, outside guest mode.
 */
void upmu_guest_retired(struct upmu_guest *guest, uint64_t instructions, uint64_t branches, bool user);

/* Bytes of a saved vCPU, at most. */
#define UPMU_GUEST_STATE_BYTES 320

/*
 * Save a vCPU, so that it can continue on another host.  The bytes are the same from hosts of 32 and
 * of 64 bits; they hold nothing of the host: no counter's number, no address, no time.
 *
 * *out_used is the number of bytes needed, with NO_SPACE, too.
 * Returns UPMU_OK, UPMU_ERR_NO_SPACE (nothing was stored), or as upmu_set_read().
 * Context: any, after upmu_guest_put() or while the thread of the vCPU does not run; else local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_save(struct upmu_guest *guest, void *state, size_t size, size_t *out_used);

/*
 * Continue a saved vCPU in one of the same shape, from upmu_guest_init().  The bytes may be anything:
 * all of them are checked before anything is stored.  The policy of the new host decides what is
 * counted.
 *
 * Returns UPMU_OK; UPMU_ERR_VERSION (saved by a later version); UPMU_ERR_INVALID (damaged, another
 * shape, a register that this vCPU could not hold); UPMU_ERR_WRONG_PMU (it counts events of a CPU
 * that is not the host's: upmu_guest_state_needs()).
 * Context: as upmu_guest_save().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_restore(struct upmu_guest *guest, const void *state, size_t size);

/*
 * Which CPU a saved vCPU needs (as in struct upmu_pmu); family 0: any that can show its shape.
 *
 * Returns UPMU_OK, UPMU_ERR_VERSION or UPMU_ERR_INVALID (damaged).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_state_needs(const void *state, size_t size, unsigned *out_family, unsigned *out_model);

/*
 * The state of a vCPU as MSRs, for a hypervisor that moves a guest so.  The MSRs are those of upmu_guest_msr_range()
 * that are not absent; each has what a read by the guest gives, and takes it again, in any order: nothing overflows,
 * nothing is injected, a status is stored as it is, an acknowledgement does nothing.  A counter takes its whole width
 * at each of its addresses.  DEBUGCTL: bits 11 and 12.  Not among them are an interrupt that is still to be injected
 * (upmu_guest_pending()), upmu_guest_lapic(), and overflow flags of shapes without a status register.
 *
 * Return false: the shape has no such MSR (get), or it cannot hold this value (set).
 * Context: as upmu_guest_save().
 */
bool upmu_guest_state_get(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value);
bool upmu_guest_state_set(struct upmu_guest *guest, uint32_t msr, uint64_t value);

/* Is an interrupt to be injected by the next entry?  Context: as upmu_guest_save(). */
bool upmu_guest_pending(const struct upmu_guest *guest);
void upmu_guest_set_pending(struct upmu_guest *guest, bool pending);

#ifdef __cplusplus
}
#endif

#endif
