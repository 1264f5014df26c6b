/* SPDX-License-Identifier: MIT */
/*
 * The hypervisor's half of the paravirtual PMU (docs/PARAVIRT.md, upmu/paravirt.h).
 *
 * The guest reaches the virtual counters of abi/guest by a second door: a slot of the page, or an event that the guest
 * has enabled, is a general counter of the vCPU's struct upmu_guest, whose registers the guest does not see. Policy,
 * filter, worlds and injection are the same.
 *
 *     if (upmu_pv_init(&vm->pv, &hooks, vm->events, 64) != UPMU_OK ||
 *         upmu_guest_shape_default(&machine, UPMU_GUEST_INTEL, &policy, &shape) != UPMU_OK ||           for each vCPU
 *         upmu_guest_init(&vcpu->pmu, &machine, &shape, &policy, &memory) != UPMU_OK ||
 *         upmu_pv_vcpu_init(&vcpu->pv, &vm->pv, &vcpu->pmu) != UPMU_OK)
 *         return false;
 *     for (;;) {
 *         if (upmu_pv_enter(&vcpu->pv, &entry) != UPMU_OK)                         in the place of upmu_guest_enter()
 *             note(vcpu);
 *         inject(vcpu, &entry);
 *         reason = run(vcpu);
 *         if (upmu_guest_exit(&vcpu->pmu) != UPMU_OK)
 *             note(vcpu);
 *         if (reason == HYPERCALL && number == MY_PMU_CALL)
 *             answer = upmu_pv_call(&vcpu->pv, argument[0], argument[1], argument[2]);
 *     }
 *
 * The contexts are those of upmu/port.h. Calls on one vCPU are never made at the same time.
 */
#ifndef UPMU_ABI_PARAVIRT_PV_HOST_H
#define UPMU_ABI_PARAVIRT_PV_HOST_H

#include <abi/guest/guest.h>
#include <upmu/paravirt.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Access to the memory of one guest. Addresses are guest-physical, and address + bytes is below 2^64. If a hook refuses
 * an address, the call of the guest is answered UPMU_PV_BAD_ADDRESS.
 */
struct upmu_pv_hooks {
    void *context; /* first argument of each hook */

    /*
     * Copy `bytes` bytes from the guest's RAM at `address` to `to`. False: some of them are not RAM of this guest.
     * Context: local.
     */
    bool (*copy_in)(void *context, void *to, uint64_t address, size_t bytes);

    /*
     * pin: return a pointer to `bytes` bytes of the guest's RAM at `address`, which do not cross a page. The RAM stays
     * at the pointer, and can be written, until unpin() with the same pointer and bytes. NULL: the address is not RAM
     * of this guest.
     * Context: local; unpin also any.
     */
    void *(*pin)(void *context, uint64_t address, size_t bytes);
    void (*unpin)(void *context, void *memory, size_t bytes);
};

struct upmu_pv_vcpu;

/*
 * States of a upmu_pv_event: it is free; a vCPU has given it an id; it is open. Two events may have the same id, but at
 * most one of these is open.
 */
enum upmu_pv_event_state { UPMU_PV_EVENT_FREE, UPMU_PV_EVENT_NAMED, UPMU_PV_EVENT_OPEN };

/* An event that a guest has opened, or free memory for one. All fields are private. */
struct upmu_pv_event {
    struct upmu_pv_vcpu *vcpu; /* the vCPU that opened the event; NULL: this entry is free */
    struct upmu_pv_area *area; /* the upmu_pv_area in the guest's memory, pinned */
    uint64_t select;           /* select that the event's counter gets */
    uint64_t period;           /* 0: the event only counts */
    uint64_t count;            /* events counted until the counter's total was `total` */
    uint64_t total;            /* upmu_guest_counter.total when `count` was last updated */
    uint32_t id;
    uint8_t counter;           /* counter of the vCPU that counts the event; UPMU_NO_COUNTER: the event is disabled */
    uint8_t state;             /* enum upmu_pv_event_state */
};

/* The paravirtual PMU of one guest: what its vCPUs have in common. */
struct upmu_pv {
    const struct upmu_pv_hooks *hooks; /* the host's functions */
    struct upmu_pv_event *events; /* the host's memory */
    uint32_t event_count;         /* entries of `events` */
};

/* The paravirtual PMU of one virtual CPU. All fields are private. */
struct upmu_pv_vcpu {
    struct upmu_pv *pv;
    struct upmu_guest *guest;
    struct upmu_pv_page *page; /* the guest's page, from MAP to UNMAP or fini, pinned; NULL: no page is mapped */
    uint32_t gate;             /* mask of the slots that count, as of the last GATE */
    uint32_t refused;          /* mask of slots whose event, as the guest asked for it, was refused */
    uint32_t used;             /* mask of the counters that enabled events use */
    uint16_t taken[UPMU_GUEST_GENERAL]; /* the sequence (bits 63:48) of the upmu_pv_wish.load last taken */
    uint64_t begun[UPMU_GUEST_GENERAL]; /* upmu_guest_counter.total of each slot's counter at MAP */
};

/*
 * Begin a guest that has no open events. `events`: memory for as many events as the guest may have open at a time; NULL
 * with `event_count` 0: the guest cannot open events. The memory must stay until the last vCPU has ended.
 *
 * Returns UPMU_OK or UPMU_ERR_INVALID (a hook is NULL, more than 65,535 events, or no memory for them).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pv_init(struct upmu_pv *pv, const struct upmu_pv_hooks *hooks, struct upmu_pv_event *events,
                              uint32_t event_count);

/*
 * Begin a vCPU of a guest, without a page and without open events; counters are closed. `guest` was initialised with
 * UPMU_GUEST_INTEL, version 2 at least, width 48 and full_write. Its registers belong to the paravirtual PMU from now
 * on, so its MSRs must not be passed to the guest.
 *
 * Returns UPMU_OK or UPMU_ERR_INVALID (another shape).
 * Context: any.
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pv_vcpu_init(struct upmu_pv_vcpu *vcpu, struct upmu_pv *pv, struct upmu_guest *guest);

/*
 * Close all events of a vCPU, and unpin its page and the areas of its events: no memory of the guest is written
 * afterwards. Call this function also at a reset of the vCPU; at its end call upmu_guest_fini() after it.
 *
 * Context: any, outside guest mode, while no call of this vCPU is in progress.
 */
void upmu_pv_vcpu_fini(struct upmu_pv_vcpu *vcpu);

/*
 * Fill in `out` (EAX to EDX) for a leaf of CPUID that the PMU has: leaf L = `first` and the two after it. `first` is
 * 40000000H, or a later multiple of 100H if another interface has that. `call`: the number of the hypercall by which
 * the guest calls upmu_pv_call(). False: `leaf` is no leaf of the PMU, and `out` is unchanged.
 *
 * Context: any.
 */
bool upmu_pv_cpuid(const struct upmu_pv_vcpu *vcpu, uint32_t first, uint32_t call, uint32_t leaf, uint32_t out[4]);

/*
 * Carry out a hypercall of the guest: its operation and its two arguments, of any values. Returns the answer for the
 * guest: UPMU_PV_OK or another UPMU_PV_ code. The call is an instruction of the guest: upmu_guest_retired() comes after
 * it, as after every instruction that the hypervisor executes.
 *
 * Context: local, outside guest mode.
 */
uint32_t upmu_pv_call(struct upmu_pv_vcpu *vcpu, uint32_t operation, uint32_t first, uint32_t second);

/*
 * Call this in the place of upmu_guest_enter(): it does the same. In addition it stores overflows in the guest's
 * memory, before the counters are opened. Overflows are injected as NMI, or with UPMU_GUEST_OWN_LAPIC as *out_entry
 * says.
 *
 * Returns and context: as upmu_guest_enter().
 */
UPMU_MUST_CHECK
enum upmu_status upmu_pv_enter(struct upmu_pv_vcpu *vcpu, struct upmu_guest_entry *out_entry);

#ifdef __cplusplus
}
#endif

#endif
