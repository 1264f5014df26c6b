/* SPDX-License-Identifier: MIT */
/*
 * The page that a vCPU shares with the host: slot n of the page is general counter n of the vCPU's struct upmu_guest.
 */
#include <abi/paravirt/pv_core.h>

#define PV_WISH_FLAGS                                                                                                  \
    (UPMU_PV_WISH_RAW | UPMU_PV_WISH_USER | UPMU_PV_WISH_KERNEL | UPMU_PV_WISH_INTERRUPT | UPMU_PV_WISH_USED)

static uint32_t slots_of(const struct upmu_pv_vcpu *vcpu)
{
    return UPMU_BIT32(vcpu->guest->shape.general) - 1u;
}

void upmu_pv_page_publish(struct upmu_pv_vcpu *vcpu, uint32_t slots, uint32_t overflowed)
{
    for (uint32_t rest = slots & slots_of(vcpu); rest; rest &= rest - 1u) {
        unsigned n = upmu_bits_lowest(rest);
        struct upmu_pv_slot *slot = &vcpu->page->slot[n];
        uint64_t value = upmu_guest_value(vcpu->guest, n);
        uint32_t status = vcpu->taken[n], sequence = pv_load32(&slot->sequence) | 1u;

        if (vcpu->refused >> n & 1u)
            status |= UPMU_PV_SLOT_REFUSED;
        if ((vcpu->guest->waiting & vcpu->gate) >> n & 1u)
            status |= UPMU_PV_SLOT_WAITS;
        /*
         * The vCPU does not execute the guest now, so it never sees an odd sequence; a read of the slot that its exit
         * interrupted sees another sequence at its end. Other CPUs of the guest see an odd sequence meanwhile.
         */
        pv_store32(&slot->sequence, sequence);
        pv_store64(&slot->value, value);
        pv_store64(&slot->count, vcpu->guest->counter[n].total - vcpu->begun[n]);
        pv_store32(&slot->status, status);
        upmu_pv_add(&slot->overflows, overflowed >> n & 1u);
        pv_store32(&slot->sequence, sequence + 1u);
    }
    if (overflowed)
        (void)__atomic_fetch_or(&vcpu->page->overflowed, overflowed & slots_of(vcpu), __ATOMIC_RELEASE);
}

static uint32_t pin_page(struct upmu_pv_vcpu *vcpu, uint64_t address)
{
    const struct upmu_pv_hooks *hooks = vcpu->pv->hooks;
    struct upmu_pv_page *page;

    if (vcpu->page)
        return UPMU_PV_BAD_STATE;
    page = pv_is_range(address, UPMU_PV_PAGE_BYTES, UPMU_PV_PAGE_BYTES)
               ? hooks->pin(hooks->context, address, UPMU_PV_PAGE_BYTES)
               : NULL;
    if (!page)
        return UPMU_PV_BAD_ADDRESS;
    vcpu->page = page;
    vcpu->gate = vcpu->refused = 0;
    __builtin_memset(vcpu->taken, 0, sizeof vcpu->taken);
    for (unsigned n = 0; n < vcpu->guest->shape.general; n++) {
        vcpu->begun[n] = upmu_guest_total(vcpu->guest, n);
        upmu_guest_set_select(vcpu->guest, n, 0);
        upmu_guest_set_value(vcpu->guest, n, 0);
    }
    pv_store32(&page->magic, UPMU_PV_MAGIC);
    *(volatile uint16_t *)&page->version = (uint16_t)UPMU_PV_VERSION;
    *(volatile uint16_t *)&page->slots = vcpu->guest->shape.general;
    pv_store32(&page->gate, 0);
    upmu_pv_page_publish(vcpu, slots_of(vcpu), 0);
    return UPMU_PV_OK;
}

/*
 * Set the counter of slot n as the slot's wish says now: its event, and its value if the wish has another sequence than
 * the last load. False: the slot is used, and the wish has unknown bits or an event that is not known or not permitted.
 */
static bool begin_slot(struct upmu_pv_vcpu *vcpu, unsigned n)
{
    const struct upmu_pv_wish *wish = &vcpu->page->wish[n];
    uint64_t config = pv_load64(&wish->config), load = pv_load64(&wish->load);
    uint64_t select = upmu_pv_select(vcpu->guest, config & UPMU_PV_EVENT_BITS, config & UPMU_PV_WISH_RAW);
    bool used = config & UPMU_PV_WISH_USED;
    bool known = select && !(config & ~(PV_WISH_FLAGS | UPMU_PV_EVENT_BITS)) && !pv_load64(&wish->config1);

    if ((load >> UPMU_PV_WIDTH) != vcpu->taken[n]) {
        vcpu->taken[n] = (uint16_t)(load >> UPMU_PV_WIDTH);
        upmu_guest_set_value(vcpu->guest, n, load & PV_VALUE_MASK);
    }
    if (config & UPMU_PV_WISH_USER)
        select |= GUEST_SELECT_USR;
    if (config & UPMU_PV_WISH_KERNEL)
        select |= GUEST_SELECT_OS;
    if (config & UPMU_PV_WISH_INTERRUPT)
        select |= GUEST_SELECT_INT;
    upmu_guest_set_select(vcpu->guest, n, used ? select | GUEST_SELECT_EN : 0);
    return !used || (known && upmu_pv_permits(vcpu, n));
}

static uint32_t gate_slots(struct upmu_pv_vcpu *vcpu, uint32_t slots)
{
    uint32_t overflowed, begun = slots & ~vcpu->gate, changed = slots ^ vcpu->gate;

    if (slots & ~slots_of(vcpu))
        return UPMU_PV_BAD_STATE;
    /* Overflows that were not reported before belong to the time before this call. */
    overflowed = upmu_guest_lower(vcpu->guest, UINT32_MAX) & slots_of(vcpu);
    upmu_pv_page_publish(vcpu, overflowed | (changed & ~begun), overflowed);
    for (uint32_t rest = begun; rest; rest &= rest - 1u) {
        unsigned n = upmu_bits_lowest(rest);

        vcpu->refused &= ~UPMU_BIT32(n);
        if (!begin_slot(vcpu, n)) {
            vcpu->refused |= UPMU_BIT32(n);
            upmu_guest_set_select(vcpu->guest, n, 0);
        }
    }
    vcpu->gate = slots;
    upmu_guest_x86_set_global(vcpu->guest, slots);
    pv_store32(&vcpu->page->gate, slots);
    upmu_pv_page_publish(vcpu, begun, 0);
    return begun & vcpu->refused ? UPMU_PV_BAD_EVENT : UPMU_PV_OK;
}

void upmu_pv_page_end(struct upmu_pv_vcpu *vcpu)
{
    const struct upmu_pv_hooks *hooks = vcpu->pv->hooks;

    if (!vcpu->page)
        return;
    /* Discard overflows that were not reported: another page begins without any. */
    (void)upmu_guest_lower(vcpu->guest, UINT32_MAX);
    vcpu->guest->pending = 0;
    upmu_guest_x86_set_global(vcpu->guest, 0);
    hooks->unpin(hooks->context, vcpu->page, UPMU_PV_PAGE_BYTES);
    vcpu->page = NULL;
    vcpu->gate = 0;
}

uint32_t upmu_pv_page_call(struct upmu_pv_vcpu *vcpu, uint32_t operation, uint32_t first, uint32_t second)
{
    if (operation == UPMU_PV_MAP)
        return pin_page(vcpu, first | (uint64_t)second << 32);
    if (!vcpu->page)
        return UPMU_PV_BAD_STATE;
    if (operation == UPMU_PV_GATE)
        return gate_slots(vcpu, first);
    if (operation == UPMU_PV_READ_ALL)
        upmu_pv_page_publish(vcpu, first & vcpu->gate, 0);
    else
        upmu_pv_page_end(vcpu);
    return UPMU_PV_OK;
}
