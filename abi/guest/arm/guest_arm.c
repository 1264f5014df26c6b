/* SPDX-License-Identifier: MIT */
/*
 * The table of functions for the Arm door: which counters are open, what each counts, when the interrupt is requested,
 * what a saved vCPU has of registers. Accesses: guest_arm_registers.c; shapes and policies: guest_arm_shape.c.
 */
#include <upmu/event.h>
#include <upmu/pmu.h>
#include <abi/guest/arm/guest_arm.h>

/* ---- Answers from the registers ---- */

/*
 * Return the mask of the counters that are enabled and count at some level. A counter with the event SW_INCR is not
 * among them: PMSWINC_EL0 alone increments it, so no session counts for it.
 */
static uint32_t arm_open(const struct upmu_guest *guest)
{
    uint32_t open = 0;

    if (!(guest->arm.control & GUEST_ARM_E))
        return 0;
    for (uint32_t rest = guest->arm.enabled; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        uint64_t select = guest->counter[counter].select;

        if ((select & GUEST_ARM_NOWHERE) != GUEST_ARM_NOWHERE &&
            (counter == GUEST_ARM_CYCLE || (uint16_t)select != GUEST_ARM_SW_INCR))
            open |= UPMU_BIT32(counter);
    }
    return open;
}

static bool arm_interrupts(const struct upmu_guest *guest, unsigned counter)
{
    return guest->arm.interrupts >> counter & 1u;
}

static uint32_t arm_word(const struct upmu_guest *guest, unsigned counter)
{
    return (uint32_t)guest->counter[counter].select;
}

/* Is the event of a select one that only CPUs of one model have? Yes if its number is none of the common ones. */
static bool arm_needs_model(const struct upmu_guest_shape *shape, unsigned counter, uint64_t select)
{
    (void)shape;
    return counter != GUEST_ARM_CYCLE && !upmu_guest_arm_is_common((uint16_t)select);
}

static bool arm_model_is_here(const struct upmu_guest *guest)
{
    const struct upmu_pmu *pmu = upmu_guest_pmu(guest);

    return guest->shape.family == pmu->family && guest->shape.model == pmu->model;
}

/*
 * The host's event has the guest's number and levels, and never EL2, where the hypervisor executes. Where the host does
 * not know the event, upmu_event_raw() refuses it.
 */
static enum upmu_status arm_event(const struct upmu_guest *guest, unsigned counter, struct upmu_event *out_event)
{
    unsigned code = upmu_guest_arm_code(guest, counter);
    enum upmu_status status = upmu_guest_arm_may_count(&guest->shape, guest->policy, code);

    if (status == UPMU_OK && !upmu_guest_arm_is_common(code) && !arm_model_is_here(guest))
        status = UPMU_ERR_UNSUPPORTED;
    if (status == UPMU_OK)
        status = upmu_event_raw(upmu_guest_pmu(guest), code | (guest->counter[counter].select & GUEST_ARM_NOWHERE), 0,
                                0, out_event);
    if (status == UPMU_OK)
        out_event->config &= ~GUEST_ARM_NSH;
    return status;
}

static uint64_t arm_retires(const struct upmu_guest *guest, unsigned counter, uint64_t instructions, uint64_t branches,
                            bool user)
{
    unsigned code = upmu_guest_arm_code(guest, counter);
    uint64_t more = code == GUEST_ARM_INST_RETIRED ? instructions : code == GUEST_ARM_BR_RETIRED ? branches : 0;

    if (guest->counter[counter].select & (user ? GUEST_ARM_NOT_EL0 : GUEST_ARM_NOT_EL1) ||
        upmu_guest_arm_may_count(&guest->shape, guest->policy, code) != UPMU_OK)
        return 0;
    return more;
}

/* No counter of the host is lent: upmu_guest_arm_can_show() refuses UPMU_GUEST_PASSES. */
static bool arm_has_register(const struct upmu_guest *guest, unsigned counter)
{
    (void)guest, (void)counter;
    return false;
}

static bool arm_all_pass(const struct upmu_guest *guest)
{
    (void)guest;
    return false;
}

/* ---- The interrupt ---- */

/* PMUIRQ is requested while a counter's overflow flag and interrupt enable bit are both set, and PMCR_EL0.E is set. */
bool upmu_guest_irq_level(const struct upmu_guest *guest)
{
    return guest->arm.control & GUEST_ARM_E && guest->raised & guest->arm.interrupts;
}

/* An overflow has no consequence besides its flag, from which upmu_guest_irq_level() makes the level. */
static void arm_inject(struct upmu_guest *guest, struct upmu_guest_entry *entry)
{
    (void)guest, (void)entry;
}

/* ---- Life ---- */

static void arm_reset(struct upmu_guest *guest)
{
    upmu_guest_arm_set_control(guest, 0);
    guest->arm = (struct upmu_guest_arm){0};
    guest->dirty |= guest->counters;
}

/* word[0]: PMCR, PMSELR; word[1]: PMCNTEN, PMINTEN; word[2]: PMOVS, PMUSERENR. Masks have virtual counters. */
static void arm_save(const struct upmu_guest *guest, struct upmu_guest_registers *out_registers)
{
    const struct upmu_guest_arm *from = &guest->arm;

    __builtin_memset(out_registers, 0, sizeof *out_registers);
    out_registers->word[0] = from->control | (uint64_t)from->selected << 32;
    out_registers->word[1] = from->enabled | (uint64_t)from->interrupts << 32;
    out_registers->word[2] = guest->raised | (uint64_t)from->users << 32;
}

static bool arm_could_be(const struct upmu_guest *guest, const struct upmu_guest_registers *registers)
{
    const uint64_t *word = registers->word;
    uint32_t counters = (uint32_t)(word[1] | word[1] >> 32 | word[2]) & ~guest->counters;
    uint32_t control = (uint32_t)word[0] & ~upmu_guest_arm_control_bits(&guest->shape);

    /* Above the masks and PMCR, PMSELR has 5 bits and PMUSERENR 4. */
    return !(counters | control | word[0] >> 37 | word[2] >> 36 | word[3] | word[4] | registers->interrupt);
}

static bool arm_could_select(const struct upmu_guest *guest, unsigned counter, uint64_t select)
{
    return !(select & ~(uint64_t)upmu_guest_arm_select_bits(&guest->shape, counter));
}

static void arm_restore(struct upmu_guest *guest, const struct upmu_guest_registers *registers)
{
    upmu_guest_arm_set_control(guest, (uint32_t)registers->word[0]);
    guest->arm.selected = (uint8_t)(registers->word[0] >> 32);
    guest->arm.enabled = (uint32_t)registers->word[1];
    guest->arm.interrupts = (uint32_t)(registers->word[1] >> 32);
    guest->raised = (uint32_t)registers->word[2];
    guest->arm.users = (uint8_t)(registers->word[2] >> 32);
}

static const struct upmu_guest_door_table arm_door = {
    .can_show = upmu_guest_arm_can_show,
    .open = arm_open,
    .interrupts = arm_interrupts,
    .word = arm_word,
    .event = arm_event,
    .retires = arm_retires,
    .has_register = arm_has_register,
    .all_pass = arm_all_pass,
    .inject = arm_inject,
    .irq_level = upmu_guest_irq_level,
    .reset = arm_reset,
    .limit = upmu_guest_arm_shape_limit,
    .is_shape = upmu_guest_arm_shape_is_valid,
    .needs_model = arm_needs_model,
    .model_is_here = arm_model_is_here,
    .save = arm_save,
    .could_be = arm_could_be,
    .could_select = arm_could_select,
    .restore = arm_restore,
};

const struct upmu_guest_door_table *upmu_guest_door_of(const struct upmu_guest_shape *shape)
{
    return shape->door == UPMU_GUEST_ARM ? &arm_door : NULL;
}
