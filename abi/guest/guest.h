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

/*
 * Numbers of virtual counters, as upmu numbers those of hardware: general counter n has number n, fixed counter i 16 +
 * i.
 */
#define UPMU_GUEST_COUNTERS 32
#define UPMU_GUEST_GENERAL 8 /* the most general counters of a guest */
#define UPMU_GUEST_FIXED 3   /* the most fixed counters of a guest */

/* Doors: a door is the set of registers by which a guest sees its PMU. */
enum upmu_guest_door {
    UPMU_GUEST_INTEL = 1,    /* architectural perfmon */
    UPMU_GUEST_AMD_K7 = 2,   /* C0010000h to C0010007h */
    UPMU_GUEST_AMD_CORE = 3, /* K7's registers, and PerfCtrExtCore: C0010200h to C001020Bh */
    UPMU_GUEST_AMD_V2 = 4,   /* registers of AMD_CORE, and PerfMonV2: C0000300h to C0000303h */
    UPMU_GUEST_ARM = 8       /* PMUv3 of AArch64, for guests at EL1: abi/guest/arm/arm.h */
};

/*
 * A shape: the PMU that the guest's CPUID shows. A shape is constant from one reset of the guest to the next. It is
 * part of the guest's saved state: a host to which the guest is moved must be able to show the same shape. The
 * structure has 32 bytes.
 */
struct upmu_guest_shape {
    uint8_t door;         /* enum upmu_guest_door */
    uint8_t version;      /* Intel: 1 to 5; AMD: 0; Arm: ID_AA64DFR0_EL1.PMUVer, 1, 4, 5 or 6 */
    uint8_t general;      /* number of general counters: Intel 1 to 8; AMD K7 4, CORE 6, V2 1 to 6; Arm 0 to 8 */
    /* number of fixed counters: Intel from version 2 on 0 to 3; Arm 1, the cycle counter; all others 0 */
    uint8_t fixed;
    /* bits of each counter's value: Intel 32 to 48, AMD 48; Arm 64, of which event counters show 32 below version 6 */
    uint8_t width;
    uint8_t full_write;   /* Intel: 1: PERF_CAPABILITIES exists and has bit 13 (writes of full width); else 0 */
    uint16_t arch_events; /* mask, Intel: bit n, 0 to 6, is set if architectural event n is available; else 0 */
    /* family (as upmu_pmu.family) of the CPU whose model-specific events the guest may select; 0: none */
    uint16_t family;
    uint16_t model;       /* model of the CPU that `family` is of, as upmu_pmu.model */
    uint8_t stepping;     /* stepping of that CPU */
    uint8_t reserved[3];  /* 0 */
    /*
     * Arm: masks of the common events that PMCEID0_EL0 and PMCEID1_EL0 show: bit n of [0] is event n, bit n of [1] is
     * event 4000h + n; CHAIN (1Eh) is never shown. All others: 0.
     */
    uint64_t events[2];
};

/* Levels of a policy: which events a guest may count. A policy that is all zero has level IPC. */
enum upmu_guest_level {
    /* cycles, instructions, reference cycles; without edge, invert and counter mask; Arm: and increments by software */
    UPMU_GUEST_IPC = 0,
    /* the architectural events, also with edge, invert and counter mask; Arm: the common events */
    UPMU_GUEST_ARCH = 1,
    UPMU_GUEST_LIST = 2, /* the events that the policy's filter allows, also of one CPU model */
    UPMU_GUEST_ALL = 3,
    UPMU_GUEST_OFF = 4 /* no event at all: the guest's registers keep what it writes, but no counter counts */
};

/* Bits of upmu_guest_policy.flags, ORed. Arm's door has STRICT, POLLED and BESIDE_STRANGERS alone. */
/* the hypervisor's own virtual APIC has LVTPC: an entry injects UPMU_GUEST_INJECT_PMI or nothing */
#define UPMU_GUEST_OWN_LAPIC (1u << 0)
#define UPMU_GUEST_STRICT (1u << 1)    /* upmu_guest_enter() returns DOES_NOT_FIT while `waiting` is not 0 */
#define UPMU_GUEST_POLLED (1u << 2)    /* no interrupts of the host's PMU: each entry reads all counters */
/*
 * Levels ARCH, LIST and ALL let a guest observe what runs on the other hyper-thread of its core. They need this flag,
 * by which the host accepts that, or states that no other guest runs on that hyper-thread.
 */
#define UPMU_GUEST_BESIDE_STRANGERS (1u << 3)
/*
 * A virtual counter uses the host's counter with the same number, if that counter is free and of the same width. The
 * host's register then holds the guest's own value, so the hypervisor may let the guest read it (upmu_guest_passes()).
 */
#define UPMU_GUEST_PASSES (1u << 4)
/*
 * upmu_guest_cpuid() leaves the bit that shows a hypervisor (leaf 1, ECX bit 31) as the hypervisor answers it. Without
 * the flag it sets this bit.
 */
#define UPMU_GUEST_NO_HYPERVISOR_BIT (1u << 5)
/*
 * AMD's doors: the guest can use SVM. The guest can set the bits guest-only and host-only (40 and 41) of its selects,
 * and the host says by upmu_guest_mode() where the guest executes. Without the flag both bits are dropped from a write.
 */
#define UPMU_GUEST_NESTED_SVM (1u << 6)

/* The most entries that upmu_guest_filter.entry may have. */
#define UPMU_GUEST_FILTER_ENTRIES 300

/*
 * The filter of level LIST. Entries are coded as those of Linux KVM (KVM_SET_PMU_EVENT_FILTER). An entry has the event
 * number in bits 7:0 and the unit mask in bits 15:8. AMD's event numbers have four more bits, 11:8, which an entry has
 * in bits 35:32; for Intel these are 0. With UPMU_GUEST_FILTER_MASKED bits 63:56 of an entry are a mask, and the entry
 * matches if the event's unit mask ANDed with this mask is the value of bits 15:8; bit 55 makes the entry an exclusion.
 * An event matches the filter if an entry matches it and no exclusion does.
 *
 * Arm's door: an entry is an event number in bits 15:0, and all other bits, `flags` and `fixed_bitmap` are 0. The cycle
 * counter's event is CPU_CYCLES (11h). Increments by software (event 0) are always permitted.
 */
struct upmu_guest_filter {
    uint8_t action; /* UPMU_GUEST_FILTER_ALLOW: events that match may be counted; ..._DENY: events that do not match */
    uint8_t flags;  /* UPMU_GUEST_FILTER_MASKED: bits 63:55 of entries are used; or 0 */
    uint16_t count; /* number of entries in `entry` */
    uint32_t fixed_bitmap; /* mask: fixed counter i matches if bit i is set; entries do not apply to fixed counters */
    const uint64_t *entry; /* array of entries, which must stay in memory while a policy with the filter is used */
};
/* Values of upmu_guest_filter.action (ALLOW, DENY), and the one bit of upmu_guest_filter.flags (MASKED). */
#define UPMU_GUEST_FILTER_ALLOW 0
#define UPMU_GUEST_FILTER_DENY 1
#define UPMU_GUEST_FILTER_MASKED 1

/*
 * A policy: what the host permits a guest.  The structure must not change: upmu_guest_policy_change() gives a vCPU
 * another policy.  All vCPUs of a guest may share a policy, which must stay in memory until upmu_guest_fini().
 */
struct upmu_guest_policy {
    uint8_t level;                          /* enum upmu_guest_level */
    uint8_t flags;                          /* UPMU_GUEST_… */
    uint8_t max_counters; /* the most counters of a vCPU that count at the same time; further ones wait; 0: no limit */
    const struct upmu_guest_filter *filter; /* the filter of level LIST; other levels do not use it */
    uint64_t min_period; /* a counter interrupts the host once in so many events at most; below 2^32; 0: 1000 */
    /* Intel: bits that the guest may set in OFFCORE_RSP_0 and _1; 0: an access to that register faults. Arm: 0 */
    uint64_t payload[2];
};

/*
 * Memory of the host for one vCPU. `sessions`: an array with one session for each virtual counter that is to count at
 * the same time, at most UPMU_GUEST_COUNTERS; a counter without a session waits. `thread`: the thread of the host that
 * runs the vCPU, if the host calls upmu_thread_switch(). NULL: the host calls upmu_guest_load() when it brings the vCPU
 * to a CPU, and upmu_guest_put() when it takes the vCPU away, not at each entry and exit.
 */
struct upmu_guest_memory {
    struct upmu_session *sessions;
    uint32_t count; /* number of sessions in `sessions` */
    struct upmu_thread *thread;
};

/* A virtual counter of a vCPU. All fields are private, except `denied`. */
struct upmu_guest_counter {
    uint64_t value;   /* the guest's value of the counter when the session's count was `origin` */
    uint64_t before;  /* while `flags` has GUEST_COUNTER_WRITTEN: the value at `origin`; `value` was written later */
    uint64_t origin;  /* the session's count at which the counter has `value` */
    uint64_t total;   /* all events counted so far: writes and wraps do not change this sum */
    uint64_t select;  /* the select as the guest wrote it; of a fixed counter: its 4 bits of the control register */
    uint32_t applied; /* the word() of its door, as of the event that the session was given */
    uint16_t denied;  /* how many selects had an event that the policy or host refused; at most 65535 */
    uint8_t session;  /* 1 + index into upmu_guest_memory.sessions; 0: the counter has no session */
    uint8_t flags;
};

/* Registers of a vCPU of x86, besides those of single counters. All fields are private, except `lvtpc`. */
struct upmu_guest_x86 {
    uint64_t global_ctrl;
    uint64_t status;   /* global status without the overflow bits of counters, which are in `raised` */
    uint64_t debugctl; /* DEBUGCTL, of which only bits 11 and 12 are kept */
    uint64_t offcore[2];
    uint32_t lvtpc; /* the performance-counter entry of the vCPU's local APIC: vector, mode, mask bit */
    bool lapic_off; /* the vCPU's local APIC is disabled by software, so the mask bit of lvtpc stays set */
    bool svme;      /* EFER.SVME */
    bool nested;    /* a guest of this guest (SVM) executes now */
};

/* Registers of a vCPU of Arm, besides those of single counters. Masks have virtual counters. All fields are private. */
struct upmu_guest_arm {
    uint32_t enabled;    /* PMCNTEN: mask of counters */
    uint32_t interrupts; /* PMINTEN: mask of counters */
    uint8_t control;     /* PMCR: the bits that the guest has set */
    uint8_t selected;    /* PMSELR.SEL */
    uint8_t users;       /* PMUSERENR: bits 3:0 */
};

/*
 * Sums for a hypervisor that watches its guests: a vCPU adds to them from upmu_guest_set_statistics() on, and no reset
 * of the vCPU clears them. The structure has 80 bytes.
 */
struct upmu_guest_statistics {
    uint64_t traps_read;       /* trapped RDMSR, RDPMC, MRS, except those answered NOT_OURS; faults are included */
    uint64_t traps_write;      /* trapped WRMSR and MSR, counted in the same way */
    uint64_t entries;          /* entries, except those that returned UPMU_ERR_STATE, as the vCPU was on no CPU */
    uint64_t entries_counting; /* entries after which at least one virtual counter counts */
    /* selects whose event was refused: the sum of `denied` of all counters, without its limit of 65535 */
    uint64_t denied;
    uint64_t waited;           /* entries at which upmu_guest.waiting is not 0 */
    uint64_t host_interrupts;  /* overflows that the host's handler reported, one for each counter that overflowed */
    uint64_t injected;         /* entries whose `inject` is not NONE; Arm: 0 */
    /* times that a counter was fewer than min_period events before its overflow: interrupt late */
    uint64_t late;
    /* trapped accesses that were answered FAULT or TRAP_EL1; they are in traps_read or traps_write, too */
    uint64_t faults;
};

struct upmu_guest_door_table;

/*
 * A virtual CPU. The memory must stay until upmu_guest_fini(). In masks of counters bit n is virtual counter n. All
 * fields are private, except `shape`, `waiting`, `x86.lvtpc`, and a counter's `denied`.
 */
struct upmu_guest {
    struct upmu_guest_shape shape;
    /* the shape as upmu_guest_init() was given it; `shape` can have less after a reset */
    struct upmu_guest_shape shown;
    const struct upmu_guest_door_table *door; /* the functions for the registers of shape.door */
    const struct upmu_guest_policy *policy;
    struct upmu_guest_statistics *statistics; /* as upmu_guest_set_statistics() was told, or NULL */
    struct upmu_guest_memory memory;
    struct upmu_machine *machine;
    /* the CPU to which upmu_guest_load() has brought the vCPU; NULL: none, or memory.thread is used */
    struct upmu_cpu *cpu;
    uint64_t mask;        /* 2^width - 1: the bits of a virtual counter's value */
    uint64_t min_period;
    __extension__ union { /* the member of the shape's door */
        struct upmu_guest_x86 x86;
        struct upmu_guest_arm arm;
    };
    volatile uint32_t overflowed; /* mask of counters: overflow noted by the handler since the last entry */
    uint32_t counters;            /* mask of the counters that the shape has */
    /* mask of counters at whose sessions the next entry looks, because registers of the guest have changed */
    uint32_t dirty;
    uint32_t started;             /* mask of counters whose session is started */
    uint32_t halves;              /* mask of counters that overflow at 32 bits, whatever `mask` is */
    uint32_t raised;              /* mask of counters with an overflow that the guest has not cleared */
    uint32_t pending;             /* mask of counters whose overflow the next entry injects */
    /* mask of counters that the guest has opened, but that do not count: no host counter, no session, max_counters */
    uint32_t waiting;
    uint32_t attached; /* mask of sessions: bit n is set if memory.sessions[n] is attached to the vCPU's thread */
    uint32_t passes;              /* mask of counters that the guest may read itself, as of the last entry */
    struct upmu_thread own; /* the thread of the vCPU, where memory.thread is NULL */
    struct upmu_guest_counter counter[UPMU_GUEST_COUNTERS];
};

/* The answer to a trapped access: what the hypervisor does next. */
enum upmu_guest_access {
    UPMU_GUEST_DONE = 0,
    UPMU_GUEST_FAULT = 1,    /* inject #GP; Arm: an Undefined Instruction exception, to EL1 */
    UPMU_GUEST_NOT_OURS = 2, /* the register is none of this PMU: let the hypervisor's other handlers decide */
    /*
     * DEBUGCTL (1D9h): bits 11 and 12 belong to upmu, all others to the hypervisor.  A read has stored these two bits
     * alone; a write has taken these two bits.
     */
    UPMU_GUEST_SHARED = 3,
    UPMU_GUEST_TRAP_EL1 = 4 /* Arm: the guest's own registers trap this access of EL0: inject that trap, to EL1 */
};

/* upmu_guest_entry.inject: the interrupt that the hypervisor is to inject at this entry. */
enum upmu_guest_inject {
    UPMU_GUEST_INJECT_NONE = 0,
    UPMU_GUEST_INJECT_NMI = 1,
    UPMU_GUEST_INJECT_VECTOR = 2,
    /* policy OWN_LAPIC: signal an overflow to the performance-counter entry of the hypervisor's virtual APIC */
    UPMU_GUEST_INJECT_PMI = 3
};

/* Results of upmu_guest_enter(): what the hypervisor does at this entry. */
struct upmu_guest_entry {
    /* enum upmu_guest_inject; told at one entry only: remember it until the guest can take the interrupt */
    uint8_t inject;
    /* with INJECT_VECTOR: the vector, 16 to 255 (lower ones are exceptions, and never injected); else 0 */
    uint8_t vector;
    /*
     * With upmu_cpu_world_by_hardware(): the value of IA32_PERF_GLOBAL_CTRL that the VMCS is to load at the entry; else
     * 0. The value to load at the exit is upmu_cpu_gate_value() of UPMU_WORLD_HOST.
     */
    uint64_t gate;
    /*
     * With UPMU_GUEST_PASSES: mask of the counters whose value registers the guest may read itself until the next exit.
     */
    uint32_t passes;
    /* Arm: the level of the PMU's interrupt (PPI 23, if the guest is not told otherwise) until the next exit */
    bool irq_level;
    bool rdpmc_passes; /* RDPMC need not trap: each counter of the host that RDPMC can read holds the guest's value */
};

/*
 * Make the widest shape that is honest: each event and each fixed counter that its CPUID shows can count on this
 * machine, under this policy (NULL: the default). It has the machine's general counters, its fixed ones (Intel's door
 * on a machine of Intel's), and the architectural events that the machine counts in the same meaning. If the vendor is
 * the same, the shape also names the machine's CPU, for events of that model. AMD's CPUID names no event: an event of
 * its doors that the policy denies counts nothing, and only `denied` tells. A shape has no more counters than
 * max_counters, general ones first (Arm: the cycle counter first), except AMD's doors with a fixed number of counters.
 *
 * To leave counters to the host (a watchdog), subtract them from out_shape->general. Then no virtual counter ever
 * waits, except those of AMD's doors with a fixed number of counters, and those with events of one CPU model, which may
 * have few counters. On NetBurst the shape has two general counters, because an event of NetBurst has few counters;
 * more may be shown, and may wait.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (no such door; a policy that upmu_guest_init() refuses as invalid); UPMU_ERR_NO_PMU
 * (no PMU is known yet; Arm's door: the machine has no PMUv3).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_shape_default(const struct upmu_machine *machine, enum upmu_guest_door door,
                                          const struct upmu_guest_policy *policy, struct upmu_guest_shape *out_shape);

/* A bit of upmu_guest_shape_denied(): the shape has more counters than the policy's max_counters. */
#define UPMU_GUEST_DENIED_COUNTERS (1u << 31)

/*
 * Return what a shape shows though a policy (NULL: the default) never counts it: bit n, 0 to 6: architectural event n;
 * bit 16 + i: fixed counter i; Arm: bits 0 and 1: an event of shape.events[0] and [1]; UPMU_GUEST_DENIED_COUNTERS:
 * there are more counters than max_counters, and the door could show fewer. 0: the policy permits all that the shape
 * shows. The policy must be valid.
 * Context: any.
 */
uint32_t upmu_guest_shape_denied(const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy);

/*
 * Check a filter. Returns UPMU_OK; or UPMU_ERR_INVALID: an action, flag or bit of an entry is unknown, there are more
 * than UPMU_GUEST_FILTER_ENTRIES entries, or `entry` is NULL and `count` is not 0.
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_filter_check(const struct upmu_guest_filter *filter);

/*
 * Make a vCPU whose registers have their values after a reset.  No register of the hardware is accessed.  `policy`
 * NULL: the default.
 *
 * Returns UPMU_OK; UPMU_ERR_INVALID (a shape, level, flag or filter beyond the limits above; the shape has events that
 * this machine does not count; a filter of Intel's door has an entry with bits 35:32; memory->sessions is NULL, or
 * memory->count is 0 or above UPMU_GUEST_COUNTERS); UPMU_ERR_UNSUPPORTED (the shape shows what the policy never counts:
 * upmu_guest_shape_denied() says what); UPMU_ERR_NOT_PERMITTED (level ARCH, LIST or ALL without BESIDE_STRANGERS);
 * UPMU_ERR_HOOK_MISSING (no pmi_rearm, and not POLLED); UPMU_ERR_NO_PMU (no PMU is known yet); UPMU_ERR_COMPILED_OUT
 * (the library lacks UPMU_WORLDS, UPMU_THREADS, UPMU_SAMPLING or UPMU_FORMATS, or it lacks UPMU_LOANS and the policy
 * has PASSES).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_init(struct upmu_guest *guest, struct upmu_machine *machine,
                                 const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy,
                                 const struct upmu_guest_memory *memory);

/*
 * Close all sessions of a vCPU. Afterwards the memory may be freed.
 *
 * Returns UPMU_OK, or a failure of upmu_session_close(). After UPMU_ERR_PORT (a register faulted) the session concerned
 * is closed. After any other failure not all sessions are closed, and the call has to be repeated.
 * Context: any, after upmu_guest_put(), or while the thread of the vCPU does not run; else local.
 */
enum upmu_status upmu_guest_fini(struct upmu_guest *guest);

/*
 * Reset a vCPU, as RESET does; INIT changes nothing and needs no call. After a change of the policy the reset also
 * makes the shape anew: it has that part of upmu_guest_init()'s shape which the present policy counts.
 * Context: local, outside guest mode; any while the vCPU is on no CPU.
 */
void upmu_guest_reset(struct upmu_guest *guest);

/*
 * Give a vCPU another policy (NULL: the default), which must stay in memory like that of upmu_guest_init(). Call it for
 * each vCPU of a guest, each on its CPU. The next entry stops events that are denied now, which `denied` counts once
 * more, and starts events that are permitted again; values stay. The shape stays until the guest's reset, because the
 * guest has read it: until then an event that the shape shows may count nothing.
 *
 * Returns UPMU_OK; UPMU_ERR_STATE (OWN_LAPIC, PASSES or NESTED_SVM differ); and UPMU_ERR_INVALID,
 * UPMU_ERR_NOT_PERMITTED, UPMU_ERR_HOOK_MISSING as upmu_guest_init(): nothing has changed then.
 * Context: local, outside guest mode.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_policy_change(struct upmu_guest *guest, const struct upmu_guest_policy *policy);

/*
 * Let a vCPU add to these sums from now on (NULL: to none, as after upmu_guest_init()). The sums go on from the values
 * that the structure has, and no reset changes them. The memory must stay until the next call or upmu_guest_fini().
 * Each vCPU needs a structure of its own: the sums are written by its thread, and `host_interrupts` by the host's
 * handler on its CPU. Another thread may read the sums meanwhile, and may find one that is not yet up to date; on hosts
 * of 32 bits it may also find the two halves of a sum from different moments.
 * Context: local, outside guest mode; any while the vCPU is on no CPU.
 */
void upmu_guest_set_statistics(struct upmu_guest *guest, struct upmu_guest_statistics *statistics);

/* Would upmu_guest_reset() change guest->shape, because the policy has changed? Context: any. */
bool upmu_guest_shape_is_stale(const struct upmu_guest *guest);

/*
 * Put the PMU of the shape into an answer of CPUID. `inout`: EAX, EBX, ECX, EDX as the hypervisor would answer. Returns
 * true if they were changed. Nothing is shown that a register then refuses. Leaf 1 shows that there is a hypervisor,
 * because without this bit Linux expects registers that no shape has; a policy with NO_HYPERVISOR_BIT leaves it as it
 * is.
 * Context: any.
 */
bool upmu_guest_cpuid(const struct upmu_guest *guest, uint32_t leaf, uint32_t subleaf, uint32_t inout[4]);

/*
 * Answer a trapped RDMSR, WRMSR or RDPMC. A read of a counter that counts reads its session; a read of the status, and
 * a write that acknowledges overflows, reads the sessions of the counters concerned. No other access reaches the
 * hardware: writes take effect at the next entry. Without OWN_LAPIC the performance-counter entry of an x2APIC (834h)
 * is one of the registers that are answered; while the guest's APIC is not in that mode, the caller refuses 834h
 * itself. The caller has checked privilege (RDPMC: CPL and CR4.PCE). *out_value is written with DONE and SHARED alone.
 * Context: local, outside guest mode.
 */
enum upmu_guest_access upmu_guest_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value);
enum upmu_guest_access upmu_guest_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value);
enum upmu_guest_access upmu_guest_rdpmc(struct upmu_guest *guest, uint32_t ecx, uint64_t *out_value);

/* The most ranges that upmu_guest_msr_range() has for any shape. */
#define UPMU_GUEST_RANGES 28

/* A range of MSRs that upmu_guest_rdmsr() and upmu_guest_wrmsr() answer. */
struct upmu_guest_range {
    uint32_t first, last; /* addresses */
    bool absent;          /* true: no guest has these MSRs, so each access is answered UPMU_GUEST_FAULT */
};

/*
 * Store a range of the MSRs that the hypervisor has to trap, and pass to upmu_guest_rdmsr() and upmu_guest_wrmsr(): the
 * range number `index`, from 0 on, in the order of addresses. False: there are no more. All other MSRs are "not ours".
 * The list is constant while the vCPU lives.
 * Context: any.
 */
bool upmu_guest_msr_range(const struct upmu_guest *guest, unsigned index, struct upmu_guest_range *out_range);

/*
 * Mark the MSRs of upmu_guest_msr_range() in the hardware's bitmap of MSRs: of a VMCS (vmx, 4,096 bytes) or of a VMCB
 * (svm, 8,192 bytes). All writes trap, and all reads except those of counters that the guest may read itself now
 * (upmu_guest_passes()). Bits of other MSRs are left as they are.
 * Context: any.
 */
void upmu_guest_msr_bitmap_vmx(const struct upmu_guest *guest, void *page);
void upmu_guest_msr_bitmap_svm(const struct upmu_guest *guest, void *pages);

/*
 * Bring a vCPU to a CPU (load), and take it from that CPU (put), where upmu_guest_memory.thread is NULL. Each is one
 * thread switch, without an access to the hardware if nothing counts; put does nothing if the vCPU is on no CPU. For a
 * vCPU with a thread of the host, the host's upmu_thread_switch() does this.
 *
 * Returns what upmu_thread_switch() returns; UPMU_ERR_STATE (the vCPU has a thread of the host; load: the vCPU is on a
 * CPU).
 * Context: local, outside guest mode.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_load(struct upmu_guest *guest, struct upmu_cpu *cpu);
UPMU_MUST_CHECK
enum upmu_status upmu_guest_put(struct upmu_guest *guest);

/*
 * Enter the guest: the last call before it runs. Starts, stops and changes the sessions as the guest's registers say,
 * says what to inject, and opens the counters.
 *
 * *out_entry is always written. Whatever is returned, the guest may run. Returns UPMU_OK; UPMU_ERR_DOES_NOT_FIT
 * (STRICT: guest->waiting names the counters that do not count); UPMU_ERR_STATE (not loaded); or a failure of
 * upmu_cpu_enter_guest().
 * Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_enter(struct upmu_guest *guest, struct upmu_guest_entry *out_entry);

/*
 * May the guest read this MSR itself until the next exit, so that RDMSR of it need not trap? Writes always trap, and so
 * does everything of a vCPU without UPMU_GUEST_PASSES. The answer changes at an entry, when entry->passes does; after
 * upmu_guest_put(), upmu_guest_reset() and upmu_guest_fini() it is no. C1h + n, 4C1h + n (C0010004h + n, C0010201h +
 * 2n) have bit n of entry->passes, 309h + n has bit 16 + n.
 * Context: any.
 */
bool upmu_guest_passes(const struct upmu_guest *guest, uint32_t msr);

/*
 * Leave the guest, as the first call after it ran: upmu_cpu_leave_guest() of the CPU. Sessions do not change. Returns
 * as upmu_cpu_leave_guest(); UPMU_ERR_STATE (the vCPU is on no CPU).  Context: local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_exit(struct upmu_guest *guest);

/*
 * Take what the guest wrote to the performance-counter entry of its local APIC (offset 340h), which is masked after a
 * reset. Not needed with OWN_LAPIC. On Intel's doors the delivery of an interrupt masks the entry. A read of the entry
 * is guest->x86.lvtpc: vector, delivery mode and mask; all other bits are 0.
 * Context: local, outside guest mode.
 */
void upmu_guest_lvtpc(struct upmu_guest *guest, uint32_t value);

/*
 * Take what the guest wrote to the spurious-interrupt vector register of its local APIC (offset 0F0h or MSR 80Fh):
 * `enabled` is bit 8. While the bit is 0 the performance-counter entry is masked, and no write unmasks it.
 * upmu_guest_reset() and upmu_guest_restore() leave the APIC enabled: if it is not, call this function after them. Not
 * needed with OWN_LAPIC.
 * Context: local, outside guest mode.
 */
void upmu_guest_lapic(struct upmu_guest *guest, bool enabled);

/*
 * Say where a guest of AMD's doors executes: `svme`: its EFER.SVME is set; `nested`: its own guest executes, from an
 * emulated VMRUN to the #VMEXIT. Call it when one of them has changed, before upmu_guest_retired() for the instruction
 * that did so. A counter with guest-only or host-only counts nothing without SVME, and with SVME in the modes that its
 * bits name. After upmu_guest_init(), upmu_guest_reset() and upmu_guest_restore() both are false. Without
 * UPMU_GUEST_NESTED_SVM there is no effect.
 * Context: local, outside guest mode.
 */
void upmu_guest_mode(struct upmu_guest *guest, bool svme, bool nested);

/*
 * Count instructions that the hypervisor executed in the place of the guest: they count like the guest's own. `user`:
 * the guest was in user mode. Call it after the access of the instruction and after the instruction pointer has moved
 * on, and not for an instruction that faults: it counts on the counters that the registers open now. So a write that
 * opens a counter, or selects its event, counts itself, and a write that closes a counter does not. Counters whose
 * event the policy denies, or has edge, invert or counter mask, count nothing here, nor do counters that are named in
 * `waiting`.
 * Context: local, outside guest mode.
 */
void upmu_guest_retired(struct upmu_guest *guest, uint64_t instructions, uint64_t branches, bool user);

/* The most bytes that upmu_guest_save() stores. */
#define UPMU_GUEST_STATE_BYTES 320

/*
 * Save a vCPU, so that it can continue on another host.  The bytes are the same from hosts of 32 and
 * of 64 bits; they hold nothing of the host: no counter's number, no address, no time.
 *
 * *out_used is the number of bytes needed, with NO_SPACE, too.
 * Returns UPMU_OK, UPMU_ERR_NO_SPACE (nothing was stored), or a failure of upmu_set_read().
 * Context: any, after upmu_guest_put() or while the thread of the vCPU does not run; else local.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_save(struct upmu_guest *guest, void *state, size_t size, size_t *out_used);

/*
 * Continue a saved vCPU in one of the same shape, which upmu_guest_init() has made. The bytes may be anything: all of
 * them are checked before anything is stored. The policy of the new host decides what is counted.
 *
 * Returns UPMU_OK; UPMU_ERR_VERSION (saved by another version); UPMU_ERR_INVALID (damaged, another shape, a register
 * that this vCPU could not hold); UPMU_ERR_WRONG_PMU (the saved vCPU counts events of a CPU that is not the host's:
 * upmu_guest_state_needs()).
 * Context: as upmu_guest_save().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_restore(struct upmu_guest *guest, const void *state, size_t size);

/*
 * Find out which CPU a saved vCPU needs: family and model as in struct upmu_pmu. Family 0: any CPU that can show its
 * shape.
 *
 * Returns UPMU_OK, UPMU_ERR_VERSION or UPMU_ERR_INVALID (damaged).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_guest_state_needs(const void *state, size_t size, unsigned *out_family, unsigned *out_model);

/*
 * Get and set the state of a vCPU as MSRs, for a hypervisor that moves a guest in this way. The MSRs are those of
 * upmu_guest_msr_range() that are not absent. The value of each is what a read by the guest gives, and the MSR takes it
 * again, in any order: nothing overflows, nothing is injected, a status is stored as it is, an acknowledgement does
 * nothing. A counter takes its whole width at each of its addresses. DEBUGCTL: bits 11 and 12. Not among the MSRs are
 * an interrupt that is still to be injected (upmu_guest_pending()), upmu_guest_lapic(), and overflow flags of shapes
 * without a status register.
 *
 * Return false: the shape has no such MSR, or (set) the MSR cannot hold this value.
 * Context: as upmu_guest_save().
 */
bool upmu_guest_state_get(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value);
bool upmu_guest_state_set(struct upmu_guest *guest, uint32_t msr, uint64_t value);

/*
 * upmu_guest_pending(): will the next entry inject an interrupt for an overflow, as far as is known now?
 * upmu_guest_set_pending() sets whether it will.
 * Context: as upmu_guest_save().
 */
bool upmu_guest_pending(const struct upmu_guest *guest);
void upmu_guest_set_pending(struct upmu_guest *guest, bool pending);

#ifdef __cplusplus
}
#endif

#endif
