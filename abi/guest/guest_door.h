/* SPDX-License-Identifier: MIT */
/*
 * A door: the registers by which a guest sees its virtual counters, as a table of functions.
 *
 * The engine knows no register: it asks the door what the registers say. The door changes a virtual counter by the
 * functions of guest_core.h, and sets `dirty` for counters that it opens, closes or gives another event.
 */
#ifndef UPMU_ABI_GUEST_DOOR_H
#define UPMU_ABI_GUEST_DOOR_H

#include <abi/guest/guest.h>

/* Registers of a saved vCPU, beside its counters. */
struct upmu_guest_registers {
    uint64_t word[5];
    uint32_t interrupt; /* how the guest is interrupted */
};

struct upmu_guest_door_table {
    /*
     * Can this machine show the shape, honestly under this policy? Returns UPMU_OK; UPMU_ERR_INVALID (the shape is
     * beyond the limits, or has what the machine lacks); UPMU_ERR_UNSUPPORTED (the shape shows what the policy never
     * counts).
     */
    enum upmu_status (*can_show)(const struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                                 const struct upmu_guest_policy *policy);
    /* Return the counters that all registers together enable. */
    uint32_t (*open)(const struct upmu_guest *guest);
    /*
     * interrupts(): does an overflow of the counter interrupt? word(): return a word that changes whenever the
     * counter's session has to count something else.
     */
    bool (*interrupts)(const struct upmu_guest *guest, unsigned counter);
    uint32_t (*word)(const struct upmu_guest *guest, unsigned counter);
    /* Find the host's event for what the counter counts, if the policy permits that event. */
    enum upmu_status (*event)(const struct upmu_guest *guest, unsigned counter, struct upmu_event *out_event);
    /*
     * Return how many of these instructions and branches, executed by the hypervisor, the counter counts; 0: also if
     * the policy denies its event.
     */
    uint64_t (*retires)(const struct upmu_guest *guest, unsigned counter, uint64_t instructions, uint64_t branches,
                        bool user);
    /*
     * has_register(): is the guest's name for the counter the host's name for its counter with the same number?
     * all_pass(): may RDPMC pass, because the guest has all counters of the host?
     */
    bool (*has_register)(const struct upmu_guest *guest, unsigned counter);
    bool (*all_pass)(const struct upmu_guest *guest);
    /* Act on overflows that interrupt: freeze counters if the guest asked for that, and store what to inject. */
    void (*inject)(struct upmu_guest *guest, struct upmu_guest_entry *entry);
    void (*reset)(struct upmu_guest *guest);
    /* Make the shape anew: that part of guest->shown which the policy counts now. */
    void (*renew)(struct upmu_guest *guest);
    /*
     * For a saved state. is_shape(): is a shape within its limits? needs_model(): does a select need a CPU of the
     * shape's model? model_is_here(): is the host such a CPU?
     */
    bool (*is_shape)(const struct upmu_guest_shape *shape);
    bool (*needs_model)(const struct upmu_guest_shape *shape, unsigned counter, uint64_t select);
    bool (*model_is_here)(const struct upmu_guest *guest);
    /*
     * save() stores the registers, restore() sets them. could_be(): could the guest have written these registers?
     * could_select(): could the guest have written this select?
     */
    void (*save)(const struct upmu_guest *guest, struct upmu_guest_registers *out_registers);
    bool (*could_be)(const struct upmu_guest *guest, const struct upmu_guest_registers *registers);
    bool (*could_select)(const struct upmu_guest *guest, unsigned counter, uint64_t select);
    void (*restore)(struct upmu_guest *guest, const struct upmu_guest_registers *registers);
};

/* Return the door of a shape, from the folder of this architecture; NULL: the shape has none. */
const struct upmu_guest_door_table *upmu_guest_door_of(const struct upmu_guest_shape *shape);

#endif
