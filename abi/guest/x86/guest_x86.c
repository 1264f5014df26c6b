/* SPDX-License-Identifier: MIT */
/*
 * The table of functions for the doors of x86: which counters are open, how an overflow interrupts, what it freezes;
 * the accesses that trap, which are passed on to the registers of one vendor.  Registers that both vendors have:
 * guest_x86_registers.c.
 */
#include <upmu/pmu.h>
#include <abi/guest/x86/guest_x86.h>

#define LVTPC_MODE(lvtpc) ((lvtpc) >> 8 & 7u)
#define LVTPC_MODE_FIXED 0u
#define LVTPC_MODE_NMI 4u
#define LVTPC_FIRST_VECTOR 16u /* the lowest vector of an interrupt; an APIC accepts none below */
#define X2APIC_LVTPC 0x834u

/* ---- Answers from the registers: which counters are open, which of them interrupt, what they count ---- */

/*
 * Does an overflow of a counter interrupt the guest? With IN_TXCP an overflow must not interrupt: aborted transactions
 * would repeat the overflow without end.
 */
static bool x86_interrupts(const struct upmu_guest *guest, unsigned counter)
{
    uint64_t select = guest->counter[counter].select;

    if (counter >= UPMU_FIXED_COUNTER(0))
        return select & GUEST_FIXED_INT;
    return select & GUEST_SELECT_INT && !(guest->shape.door == UPMU_GUEST_INTEL && select & GUEST_SELECT_IN_TXCP);
}

/*
 * Does a select of AMD count where the guest executes now? Of its two mode bits the lower one is guest-only, the upper
 * one host-only. Without both it always counts; with either it counts nothing while EFER.SVME is 0 (AMD APM vol 2 table
 * 13-4).
 */
static bool counts_in_mode(const struct upmu_guest *guest, uint64_t select)
{
    unsigned modes = (unsigned)((select & GUEST_SELECT_MODES) >> 40);

    return !modes || (guest->x86.svme && (guest->x86.nested ? modes : modes >> 1) & 1u);
}

static bool is_enabled(const struct upmu_guest *guest, unsigned counter)
{
    uint64_t select = guest->counter[counter].select;

    if (counter >= UPMU_FIXED_COUNTER(0))
        return select & GUEST_FIXED_RINGS;
    return select & GUEST_SELECT_EN && select & GUEST_SELECT_RINGS && counts_in_mode(guest, select);
}

/*
 * Return the mask of the counters that the guest's registers enable: by their selects, and by the global control if the
 * shape has it. 0 while the global status has FROZEN.
 */
static uint32_t x86_open(const struct upmu_guest *guest)
{
    uint32_t open = 0;

    if (guest->x86.status & GUEST_STATUS_FROZEN)
        return 0;
    for (uint32_t rest = guest->counters; rest; rest &= rest - 1u)
        if (is_enabled(guest, upmu_bits_lowest(rest)))
            open |= rest & (0u - rest);
    return upmu_guest_has_global(guest) ? open & upmu_guest_of_bits(guest->x86.global_ctrl) : open;
}

/*
 * Return a word for what a session counts: the low half of the select, in which bits 35:32 stand in the place of bits
 * 22:19 (these four do not change what is counted).
 */
static uint32_t x86_word(const struct upmu_guest *guest, unsigned counter)
{
    uint64_t select = guest->counter[counter].select;

    if (counter >= UPMU_FIXED_COUNTER(0))
        return (uint32_t)select & GUEST_FIXED_RINGS;
    return ((uint32_t)select & 0xff87ffffu) | ((uint32_t)(select >> 32) & 0xfu) << 19;
}

static uint64_t x86_retires(const struct upmu_guest *guest, unsigned counter, uint64_t instructions, uint64_t branches,
                            bool user)
{
    uint64_t select = guest->counter[counter].select;
    bool fixed = counter >= UPMU_FIXED_COUNTER(0);
    enum guest_arch arch = upmu_guest_event_arch(&guest->shape, counter, select);
    uint64_t more = arch == GUEST_ARCH_INSTRUCTIONS ? instructions : arch == GUEST_ARCH_BRANCHES ? branches : 0;
    uint64_t ring = fixed ? (user ? 2u : 1u) : user ? GUEST_SELECT_USR : GUEST_SELECT_OS;

    if (!(select & ring) || (!fixed && select & GUEST_SELECT_MODIFIERS) ||
        !upmu_guest_event_is_allowed(guest, counter, arch))
        return 0;
    return more;
}

/*
 * Does the host have a counter register with the address that the guest uses for this counter? NetBurst has other
 * addresses, P6 takes 32 bits of a value at them, and a CPU before PerfCtrExtCore lacks those of AMD_CORE and AMD_V2.
 */
static bool x86_has_register(const struct upmu_guest *guest, unsigned counter)
{
    const struct upmu_pmu *pmu = upmu_guest_pmu(guest);

    return upmu_guest_event_same_vendor(pmu, guest->shape.door) &&
           (pmu->version || guest->shape.door != UPMU_GUEST_INTEL) &&
           (guest->shape.door < UPMU_GUEST_AMD_CORE ||
            upmu_register_address(pmu, pmu->counter[counter].value_row) >= GUEST_AMD_CORE);
}

/*
 * May the guest execute RDPMC without a trap? RDPMC reads every counter of the host, on AMD also those of units outside
 * the core.
 */
static bool x86_all_pass(const struct upmu_guest *guest)
{
    return guest->passes == guest->counters && guest->counters == upmu_guest_pmu(guest)->counters &&
           guest->shape.door == UPMU_GUEST_INTEL;
}

/* ---- Interrupts ---- */

/* Freeze the guest's counters (and its branch records) after overflows that interrupt, if DEBUGCTL asks for that. */
static void freeze_counters(struct upmu_guest *guest)
{
    bool streamlined = guest->shape.door != UPMU_GUEST_INTEL || guest->shape.version >= 4;

    if (guest->x86.debugctl & GUEST_DEBUGCTL_FREEZE) {
        if (streamlined)
            upmu_guest_x86_set_status(guest, upmu_guest_status_bits(guest) | GUEST_STATUS_FROZEN);
        else
            upmu_guest_x86_set_global(guest, 0);
    }
    if (streamlined && guest->x86.debugctl & GUEST_DEBUGCTL_FREEZE_LBR)
        guest->x86.status |= GUEST_STATUS_LBR_FROZEN;
}

static void x86_inject(struct upmu_guest *guest, struct upmu_guest_entry *entry)
{
    unsigned mode = LVTPC_MODE(guest->x86.lvtpc);

    freeze_counters(guest);
    if (guest->policy->flags & UPMU_GUEST_OWN_LAPIC) {
        entry->inject = UPMU_GUEST_INJECT_PMI;
        return;
    }
    if (guest->x86.lvtpc & GUEST_LVTPC_MASKED)
        return;
    if (mode == LVTPC_MODE_NMI)
        entry->inject = UPMU_GUEST_INJECT_NMI;
    else if (mode == LVTPC_MODE_FIXED && (uint8_t)guest->x86.lvtpc >= LVTPC_FIRST_VECTOR)
        entry->inject = UPMU_GUEST_INJECT_VECTOR;
    entry->vector = entry->inject == UPMU_GUEST_INJECT_VECTOR ? (uint8_t)guest->x86.lvtpc : 0;
    if (guest->shape.door == UPMU_GUEST_INTEL)
        guest->x86.lvtpc |= GUEST_LVTPC_MASKED;
}

/* Interrupts of x86 are injected once, and have no level. */
static bool x86_irq_level(const struct upmu_guest *guest)
{
    (void)guest;
    return false;
}

/* ---- Accesses ---- */

enum upmu_guest_access upmu_guest_x86_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value)
{
    if (!upmu_guest_range_has(guest, msr))
        return UPMU_GUEST_NOT_OURS;
    if (msr == X2APIC_LVTPC) {
        *out_value = guest->x86.lvtpc;
        return UPMU_GUEST_DONE;
    }
    return guest->shape.door == UPMU_GUEST_INTEL ? upmu_guest_intel_rdmsr(guest, msr, out_value)
                                                 : upmu_guest_amd_rdmsr(guest, msr, out_value);
}

enum upmu_guest_access upmu_guest_x86_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value)
{
    if (!upmu_guest_range_has(guest, msr))
        return UPMU_GUEST_NOT_OURS;
    if (msr == X2APIC_LVTPC) {
        if (value >> 32)
            return UPMU_GUEST_FAULT;
        upmu_guest_lvtpc(guest, (uint32_t)value);
        return UPMU_GUEST_DONE;
    }
    return guest->shape.door == UPMU_GUEST_INTEL ? upmu_guest_intel_wrmsr(guest, msr, value)
                                                 : upmu_guest_amd_wrmsr(guest, msr, value);
}

/*
 * Read a counter by RDPMC. ECX is the number of a general counter, or bit 30 with the number of a fixed one. All other
 * values fault, and AMD's doors have no fixed counters.
 */
static enum upmu_guest_access read_by_rdpmc(struct upmu_guest *guest, uint32_t ecx, uint64_t *out_value)
{
    unsigned counter = UPMU_NO_COUNTER;

    if (ecx < guest->shape.general)
        counter = ecx;
    else if (ecx - UPMU_BIT32(30) < guest->shape.fixed)
        counter = UPMU_FIXED_COUNTER(ecx - UPMU_BIT32(30));
    if (counter == UPMU_NO_COUNTER)
        return UPMU_GUEST_FAULT;
    *out_value = upmu_guest_value(guest, counter);
    return UPMU_GUEST_DONE;
}

enum upmu_guest_access upmu_guest_rdmsr(struct upmu_guest *guest, uint32_t msr, uint64_t *out_value)
{
    return upmu_guest_note_trap(guest, upmu_guest_x86_rdmsr(guest, msr, out_value), false);
}

enum upmu_guest_access upmu_guest_wrmsr(struct upmu_guest *guest, uint32_t msr, uint64_t value)
{
    return upmu_guest_note_trap(guest, upmu_guest_x86_wrmsr(guest, msr, value), true);
}

enum upmu_guest_access upmu_guest_rdpmc(struct upmu_guest *guest, uint32_t ecx, uint64_t *out_value)
{
    return upmu_guest_note_trap(guest, read_by_rdpmc(guest, ecx, out_value), false);
}

void upmu_guest_lvtpc(struct upmu_guest *guest, uint32_t value)
{
    guest->x86.lvtpc = (value & GUEST_LVTPC_BITS) | (guest->x86.lapic_off ? GUEST_LVTPC_MASKED : 0);
}

void upmu_guest_mode(struct upmu_guest *guest, bool svme, bool nested)
{
    if (guest->x86.svme == svme && guest->x86.nested == nested)
        return;
    guest->x86.svme = svme;
    guest->x86.nested = nested;
    for (unsigned i = 0; i < guest->shape.general; i++)
        if (guest->counter[i].select & GUEST_SELECT_MODES)
            guest->dirty |= UPMU_BIT32(i);
}

void upmu_guest_lapic(struct upmu_guest *guest, bool enabled)
{
    guest->x86.lapic_off = !enabled;
    upmu_guest_lvtpc(guest, guest->x86.lvtpc);
}

/* ---- Life ---- */

static void x86_reset(struct upmu_guest *guest)
{
    uint64_t general = UPMU_BIT64(guest->shape.general) - 1u;

    upmu_guest_x86_set_global(guest, upmu_guest_has_global(guest) ? general : 0);
    upmu_guest_x86_set_status(guest, 0);
    upmu_guest_x86_set_offcore(guest, 0, 0);
    upmu_guest_x86_set_offcore(guest, 1, 0);
    guest->x86.debugctl = 0;
    guest->x86.lvtpc = GUEST_LVTPC_MASKED;
    guest->x86.lapic_off = false;
    upmu_guest_mode(guest, false, false);
}

static void x86_save(const struct upmu_guest *guest, struct upmu_guest_registers *out_registers)
{
    const struct upmu_guest_x86 *from = &guest->x86;

    *out_registers = (struct upmu_guest_registers){
        {from->global_ctrl, upmu_guest_status_bits(guest), from->debugctl, from->offcore[0], from->offcore[1]},
        from->lvtpc};
}

static bool x86_could_be(const struct upmu_guest *guest, const struct upmu_guest_registers *registers)
{
    bool intel = guest->shape.door == UPMU_GUEST_INTEL, global = upmu_guest_has_global(guest);
    uint64_t wrong = registers->word[1] & ~(!global ? upmu_guest_bits(guest->counters)
                                            : intel ? upmu_guest_intel_status_bits(guest)
                                                    : upmu_guest_amd_status_bits(guest));

    wrong |= registers->word[0] & ~(global ? upmu_guest_bits(guest->counters) : 0);
    wrong |= registers->word[2] & ~(global ? GUEST_DEBUGCTL_FREEZE | GUEST_DEBUGCTL_FREEZE_LBR : 0);
    wrong |= registers->word[3] & ~guest->policy->payload[0];
    wrong |= registers->word[4] & ~guest->policy->payload[1];
    wrong |= registers->interrupt & ~GUEST_LVTPC_BITS;
    return !wrong;
}

static bool x86_could_select(const struct upmu_guest *guest, unsigned counter, uint64_t select)
{
    uint64_t bits = counter >= UPMU_FIXED_COUNTER(0)            ? GUEST_FIXED_RINGS | GUEST_FIXED_INT
                    : guest->shape.door == UPMU_GUEST_INTEL ? upmu_guest_intel_select_bits(guest, counter)
                                                            : upmu_guest_amd_select_bits(guest);

    return !(select & ~bits);
}

static void x86_restore(struct upmu_guest *guest, const struct upmu_guest_registers *registers)
{
    upmu_guest_x86_set_global(guest, registers->word[0]);
    upmu_guest_x86_set_status(guest, registers->word[1]);
    guest->x86.debugctl = registers->word[2];
    upmu_guest_x86_set_offcore(guest, 0, registers->word[3]);
    upmu_guest_x86_set_offcore(guest, 1, registers->word[4]);
    guest->x86.lvtpc = registers->interrupt;
}

/*
 * Does the select of a general counter enable an event that is not architectural, so that the shape's model must count
 * it?
 */
static bool x86_needs_model(const struct upmu_guest_shape *shape, unsigned counter, uint64_t select)
{
    return counter < UPMU_FIXED_COUNTER(0) && shape->family && select & GUEST_SELECT_EN &&
           upmu_guest_event_arch(shape, counter, select) == GUEST_ARCH_NONE;
}

static bool x86_model_is_here(const struct upmu_guest *guest)
{
    return upmu_guest_event_raw_here(&guest->shape, upmu_guest_pmu(guest));
}

static const struct upmu_guest_door_table x86_door = {
    .can_show = upmu_guest_shape_can_show,
    .open = x86_open,
    .interrupts = x86_interrupts,
    .word = x86_word,
    .event = upmu_guest_event,
    .retires = x86_retires,
    .has_register = x86_has_register,
    .all_pass = x86_all_pass,
    .inject = x86_inject,
    .irq_level = x86_irq_level,
    .reset = x86_reset,
    .limit = upmu_guest_shape_limit,
    .is_shape = upmu_guest_shape_is_valid,
    .needs_model = x86_needs_model,
    .model_is_here = x86_model_is_here,
    .save = x86_save,
    .could_be = x86_could_be,
    .could_select = x86_could_select,
    .restore = x86_restore,
};

const struct upmu_guest_door_table *upmu_guest_door_of(const struct upmu_guest_shape *shape)
{
    return shape->door >= UPMU_GUEST_INTEL && shape->door <= UPMU_GUEST_AMD_V2 ? &x86_door : NULL;
}
