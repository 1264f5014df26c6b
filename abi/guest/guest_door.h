/* SPDX-License-Identifier: MIT */
/*
 * A door: the registers by which a guest sees its virtual counters, as a table of functions.
 *
 * The engine asks what the registers say; it knows none of them.  The registers change a virtual counter by the
 * functions of guest_core.h, and set `dirty` of the counters that they open, close or give another event.
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
     * Can this machine show the shape, honestly under this policy?  UPMU_OK; UPMU_ERR_INVALID (beyond the limits, or
     * the machine lacks it); UPMU_ERR_UNSUPPORTED (the policy never counts it).
     */
    enum upmu_status (*can_show)(const struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                                 const struct upmu_guest_policy *policy);
    /* Counters that count by what all registers say. */
    uint32_t (*open)(const struct upmu_guest *guest);
    /* Of one counter: does an overflow interrupt; what its session counts, as a word that changes with it. */
    bool (*interrupts)(const struct upmu_guest *guest, unsigned counter);
    uint32_t (*word)(const struct upmu_guest *guest, unsigned counter);
    /* The host's event for it, if the policy permits that. */
    enum upmu_status (*event)(const struct upmu_guest *guest, unsigned counter, struct upmu_event *out_event);
    /* How many events it counts of instructions that the hypervisor executes; 0: also if the policy denies them. */
    uint64_t (*retires)(const struct upmu_guest *guest, unsigned counter, uint64_t instructions, uint64_t branches,
                        bool user);
    /* May the guest read the host's counter of its number by the name that it uses?  All counters of the host? */
    bool (*has_register)(const struct upmu_guest *guest, unsigned counter);
    bool (*all_pass)(const struct upmu_guest *guest);
    /* Counters that interrupt have overflowed: freeze them if the guest asked for that, and say what is injected. */
    void (*inject)(struct upmu_guest *guest, struct upmu_guest_entry *entry);
    void (*reset)(struct upmu_guest *guest);
    /* Show what the policy counts now of what guest->shown has. */
    void (*renew)(struct upmu_guest *guest);
    /* A saved state: the shape alone is in its limits; a select needs a CPU of the shape's model; that CPU is here. */
    bool (*is_shape)(const struct upmu_guest_shape *shape);
    bool (*needs_model)(const struct upmu_guest_shape *shape, unsigned counter, uint64_t select);
    bool (*model_is_here)(const struct upmu_guest *guest);
    /* Save the registers; could the guest have written these registers, and this select? */
    void (*save)(const struct upmu_guest *guest, struct upmu_guest_registers *out_registers);
    bool (*could_be)(const struct upmu_guest *guest, const struct upmu_guest_registers *registers);
    bool (*could_select)(const struct upmu_guest *guest, unsigned counter, uint64_t select);
    void (*restore)(struct upmu_guest *guest, const struct upmu_guest_registers *registers);
};

/* The door of a shape, from the folder of this architecture; NULL: it has none. */
const struct upmu_guest_door_table *upmu_guest_door_of(const struct upmu_guest_shape *shape);

#endif
