/* SPDX-License-Identifier: MIT */
/*
 * A door: the registers by which a guest sees its virtual counters, as a table of functions.
 *
 * The engine (guest_engine.c) knows no register: it asks the door what the registers say. The door changes a virtual
 * counter by the functions of guest_core.h, and sets guest->dirty for counters that it opens, closes or gives another
 * event.
 */
#ifndef UPMU_ABI_GUEST_DOOR_H
#define UPMU_ABI_GUEST_DOOR_H

#include <abi/guest/guest.h>

/* Registers of a saved vCPU other than the values and selects of its counters; `word` is in an order of the door's. */
struct upmu_guest_registers {
    uint64_t word[5];
    uint32_t interrupt; /* in the door's code: how an overflow interrupts the guest */
};

struct upmu_guest_door_table {
    /*
     * May this machine show the shape under this policy? Returns UPMU_OK; UPMU_ERR_INVALID (the shape is beyond the
     * limits, or has events that the machine cannot count; or the filter is not valid); UPMU_ERR_UNSUPPORTED (the shape
     * shows what the policy never counts).
     */
    enum upmu_status (*can_show)(const struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                                 const struct upmu_guest_policy *policy);
    /* Return the mask of the counters that all registers of the guest together enable. */
    uint32_t (*open)(const struct upmu_guest *guest);
    /*
     * interrupts(): does an overflow of the counter interrupt the guest? word(): return a word made from the counter's
     * select: two words are equal if the counter's session has to count the same.
     */
    bool (*interrupts)(const struct upmu_guest *guest, unsigned counter);
    uint32_t (*word)(const struct upmu_guest *guest, unsigned counter);
    /*
     * Find the host's event for what the counter counts. UPMU_ERR_NOT_PERMITTED: the policy does not permit it; any
     * other failure: the host has no such event.
     */
    enum upmu_status (*event)(const struct upmu_guest *guest, unsigned counter, struct upmu_event *out_event);
    /*
     * Return how much the counter counts for `instructions` instructions, of which `branches` are branches, that the
     * hypervisor has executed, in user mode if `user`. 0: the event is neither of the two, its privileges differ, it
     * has edge, invert or counter mask, or the policy denies it.
     */
    uint64_t (*retires)(const struct upmu_guest *guest, unsigned counter, uint64_t instructions, uint64_t branches,
                        bool user);
    /*
     * has_register(): does the guest read the counter by the address that the host has for its counter with the same
     * number? all_pass(): may the guest execute RDPMC without a trap, because each counter that RDPMC reads holds the
     * guest's value?
     */
    bool (*has_register)(const struct upmu_guest *guest, unsigned counter);
    bool (*all_pass)(const struct upmu_guest *guest);
    /*
     * Act on overflows that interrupt the guest: freeze its counters if the guest asked for that, and store what to
     * inject.
     */
    void (*inject)(struct upmu_guest *guest, struct upmu_guest_entry *entry);
    /* Is an interrupt requested, until the guest clears its cause? x86: false, as interrupts have no level. */
    bool (*irq_level)(const struct upmu_guest *guest);
    void (*reset)(struct upmu_guest *guest);
    /* Take from a shape what the policy does not count. */
    void (*limit)(struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy);
    /*
     * Functions for a saved state. is_shape(): is a shape within the limits of guest.h? needs_model(): is the event of
     * a select one that only CPUs of the shape's family and model have? model_is_here(): is the host such a CPU?
     */
    bool (*is_shape)(const struct upmu_guest_shape *shape);
    bool (*needs_model)(const struct upmu_guest_shape *shape, unsigned counter, uint64_t select);
    bool (*model_is_here)(const struct upmu_guest *guest);
    /*
     * save() copies the guest's registers to *out_registers, restore() sets them. could_be(): has each register only
     * bits that the guest could have set, under the present policy? could_select(): the same for the select of a
     * counter.
     */
    void (*save)(const struct upmu_guest *guest, struct upmu_guest_registers *out_registers);
    bool (*could_be)(const struct upmu_guest *guest, const struct upmu_guest_registers *registers);
    bool (*could_select)(const struct upmu_guest *guest, unsigned counter, uint64_t select);
    void (*restore)(struct upmu_guest *guest, const struct upmu_guest_registers *registers);
};

/* Return the table of a shape's door, from the folder of this architecture; NULL: there is no such door. */
const struct upmu_guest_door_table *upmu_guest_door_of(const struct upmu_guest_shape *shape);

#endif
