/* SPDX-License-Identifier: MIT */
/*
 * The calls of a guest, each passed on to the page (pv_page.c) or to single events (pv_events.c); the leaves of CPUID;
 * entries.
 */
#include <abi/paravirt/pv_core.h>

#define PV_LVTPC_NMI 0x400u

enum upmu_status upmu_pv_init(struct upmu_pv *pv, const struct upmu_pv_hooks *hooks, struct upmu_pv_event *events,
                              uint32_t event_count)
{
    if (!hooks->copy_in || !hooks->pin || !hooks->unpin || event_count > UINT16_MAX || (event_count && !events))
        return UPMU_ERR_INVALID;
    pv->hooks = hooks;
    pv->events = events;
    pv->event_count = event_count;
    if (event_count)
        __builtin_memset(events, 0, event_count * sizeof *events);
    return UPMU_OK;
}

enum upmu_status upmu_pv_vcpu_init(struct upmu_pv_vcpu *vcpu, struct upmu_pv *pv, struct upmu_guest *guest)
{
    const struct upmu_guest_shape *shape = &guest->shape;

    if (shape->door != UPMU_GUEST_INTEL || shape->version < 2 || shape->width != UPMU_PV_WIDTH || !shape->full_write)
        return UPMU_ERR_INVALID;
    __builtin_memset(vcpu, 0, sizeof *vcpu);
    vcpu->pv = pv;
    vcpu->guest = guest;
    upmu_guest_x86_set_global(guest, 0);
    return UPMU_OK;
}

void upmu_pv_vcpu_fini(struct upmu_pv_vcpu *vcpu)
{
    upmu_pv_page_end(vcpu);
    upmu_pv_events_end(vcpu);
}

bool upmu_pv_cpuid(const struct upmu_pv_vcpu *vcpu, uint32_t first, uint32_t call, uint32_t leaf, uint32_t out[4])
{
    const struct upmu_guest *guest = vcpu->guest;
    bool raw = guest->policy->level >= UPMU_GUEST_LIST && guest->policy->level <= UPMU_GUEST_ALL &&
               upmu_guest_event_raw_here(&guest->shape, upmu_guest_pmu(guest));
    uint32_t family = guest->shape.family, model = guest->shape.model;

    if (leaf - first > 2u)
        return false;
    __builtin_memset(out, 0, 4 * sizeof *out);
    if (leaf == first) {
        out[0] = first + 2u;
        out[1] = UPMU_PV_SIGNATURE_EBX;
        out[2] = UPMU_PV_SIGNATURE_ECX;
        out[3] = UPMU_PV_SIGNATURE_EDX;
    } else if (leaf == first + 1u) {
        out[0] = UPMU_PV_HAS_PAGE | (vcpu->pv->event_count ? UPMU_PV_HAS_EVENTS : 0) | (raw ? UPMU_PV_HAS_RAW : 0);
        out[1] = call;
        out[2] = UPMU_PV_VERSION;
        out[3] = guest->shape.general;
    } else {
        /*
         * EAX of CPUID leaf 1 has 4 bits for the family: of a family from 15 on they are 15, and bits 27:20 the rest.
         * Bits 19:16 are bits 7:4 of the model.
         */
        out[0] = !raw ? 0
                      : (family < 15u ? family << 8 : 0xf00u | (family - 15u) << 20) | (model & 0xfu) << 4 |
                            (model >> 4 & 0xfu) << 16 | guest->shape.stepping;
        out[1] = upmu_pv_generic_events(guest);
        out[2] = (uint32_t)guest->min_period;
    }
    return true;
}

uint32_t upmu_pv_call(struct upmu_pv_vcpu *vcpu, uint32_t operation, uint32_t first, uint32_t second)
{
    if (operation >= UPMU_PV_OPEN && operation <= UPMU_PV_READ && vcpu->pv->event_count)
        return vcpu->page ? UPMU_PV_BAD_STATE : upmu_pv_events_call(vcpu, operation, first, second);
    if (operation >= UPMU_PV_MAP && operation <= UPMU_PV_READ_ALL)
        return vcpu->used ? UPMU_PV_BAD_STATE : upmu_pv_page_call(vcpu, operation, first, second);
    return UPMU_PV_BAD_OP;
}

enum upmu_status upmu_pv_enter(struct upmu_pv_vcpu *vcpu, struct upmu_guest_entry *out_entry)
{
    struct upmu_guest *guest = vcpu->guest;
    struct upmu_cpu *cpu;

    upmu_guest_lvtpc(guest, PV_LVTPC_NMI);
    cpu = upmu_guest_prepare(guest, out_entry);
    if (!cpu)
        return UPMU_ERR_STATE;
    /*
     * Report the overflows that the handler has noted (guest->raised) in the guest's memory. No counter is read to find
     * more: an overflow that is not noted yet has an interrupt of its own, and is reported at a later entry.
     */
    if (guest->raised) {
        uint32_t overflowed = guest->raised;

        guest->raised = 0;
        if (vcpu->page)
            upmu_pv_page_publish(vcpu, overflowed, overflowed);
        upmu_pv_events_publish(vcpu, overflowed);
    }
    return upmu_guest_enter_prepared(guest, cpu, out_entry);
}
