/* SPDX-License-Identifier: MIT */
/*
 * Single events: a guest opens, enables, reads, disables and closes them, and their counts go to areas in its memory.
 */
#include <abi/paravirt/pv_core.h>

#define PV_ATTR_FLAGS                                                                                                  \
    (UPMU_PV_ATTR_DISABLED | UPMU_PV_ATTR_EXCLUDE_USER | UPMU_PV_ATTR_EXCLUDE_KERNEL | UPMU_PV_ATTR_EXCLUDE_HV |       \
     UPMU_PV_ATTR_EXCLUDE_HOST | UPMU_PV_ATTR_EXCLUDE_GUEST)

static struct upmu_pv_vcpu *owner_of(const struct upmu_pv_event *event)
{
    return __atomic_load_n(&event->vcpu, __ATOMIC_ACQUIRE);
}

/*
 * Find the event with an id, on any vCPU, whose state is `state` or a later one of enum upmu_pv_event_state. The event
 * `except` is not looked at. NULL: there is no such event.
 */
static struct upmu_pv_event *find_event(const struct upmu_pv *pv, uint32_t id, unsigned state,
                                        const struct upmu_pv_event *except)
{
    for (uint32_t i = 0; i < pv->event_count; i++) {
        struct upmu_pv_event *event = &pv->events[i];

        if (event != except && __atomic_load_n(&event->state, __ATOMIC_SEQ_CST) >= state &&
            __atomic_load_n(&event->id, __ATOMIC_RELAXED) == id)
            return event;
    }
    return NULL;
}

/*
 * Give a vCPU a free event of its guest, with an id; NULL: no event is free. If two vCPUs use the same id at the same
 * time, at least one of them sees both events.
 */
static struct upmu_pv_event *claim_event(struct upmu_pv_vcpu *vcpu, uint32_t id)
{
    struct upmu_pv *pv = vcpu->pv;

    for (uint32_t i = 0; i < pv->event_count; i++) {
        struct upmu_pv_event *event = &pv->events[i];
        struct upmu_pv_vcpu *none = NULL;

        if (!owner_of(event) && __atomic_compare_exchange_n(&event->vcpu, &none, vcpu, false, __ATOMIC_ACQUIRE,
                                                            __ATOMIC_RELAXED)) {
            event->counter = UPMU_NO_COUNTER;
            __atomic_store_n(&event->id, id, __ATOMIC_RELAXED);
            __atomic_store_n(&event->state, UPMU_PV_EVENT_NAMED, __ATOMIC_SEQ_CST);
            return event;
        }
    }
    return NULL;
}

static void give_back(struct upmu_pv_event *event)
{
    __atomic_store_n(&event->state, UPMU_PV_EVENT_FREE, __ATOMIC_RELEASE);
    __atomic_store_n(&event->vcpu, NULL, __ATOMIC_RELEASE);
}

/*
 * Store the select for the event that the guest describes in `attr`. Returns UPMU_PV_OK, or the reason why there is
 * none.
 */
static uint32_t select_of(const struct upmu_pv_vcpu *vcpu, const struct upmu_pv_attr *attr, uint64_t *out_select)
{
    uint64_t select;

    if (attr->reserved || attr->bp_type || attr->reserved2 || attr->bp_addr || attr->bp_len ||
        (attr->flags & ~PV_ATTR_FLAGS))
        return UPMU_PV_BAD_ATTR;
    if (attr->type != UPMU_PV_TYPE_GENERIC && attr->type != UPMU_PV_TYPE_RAW)
        return UPMU_PV_BAD_EVENT;
    select = upmu_pv_select(vcpu->guest, attr->config, attr->type == UPMU_PV_TYPE_RAW);
    if (!select)
        return UPMU_PV_BAD_EVENT;
    if (attr->sample_period && (attr->sample_period < vcpu->guest->min_period ||
                                attr->sample_period >> (UPMU_PV_WIDTH - 1u)))
        return UPMU_PV_BAD_PERIOD;
    if (!(attr->flags & UPMU_PV_ATTR_EXCLUDE_USER))
        select |= GUEST_SELECT_USR;
    if (!(attr->flags & UPMU_PV_ATTR_EXCLUDE_KERNEL))
        select |= GUEST_SELECT_OS;
    if (attr->sample_period)
        select |= GUEST_SELECT_INT;
    *out_select = select | GUEST_SELECT_EN;
    return UPMU_PV_OK;
}

/*
 * Does the policy permit the event of a select, and has the host that event? The select is put for a moment into a
 * counter that no event uses (counter 0, if all are used), whose own select is restored.
 */
static bool permits_select(struct upmu_pv_vcpu *vcpu, uint64_t select)
{
    uint32_t unused = ~vcpu->used & (UPMU_BIT32(vcpu->guest->shape.general) - 1u);
    unsigned counter = unused ? upmu_bits_lowest(unused) : 0;
    uint64_t before = vcpu->guest->counter[counter].select;
    bool fine;

    vcpu->guest->counter[counter].select = select;
    fine = upmu_pv_permits(vcpu, counter);
    vcpu->guest->counter[counter].select = before;
    return fine;
}

static bool copy_structure(const struct upmu_pv_hooks *hooks, void *to, uint64_t address, size_t bytes)
{
    return pv_is_range(address, bytes, PV_ALIGNMENT) && hooks->copy_in(hooks->context, to, address, bytes);
}

static uint32_t open_event(struct upmu_pv_vcpu *vcpu, uint64_t address)
{
    const struct upmu_pv_hooks *hooks = vcpu->pv->hooks;
    struct upmu_pv_param param;
    struct upmu_pv_attr attr;
    struct upmu_pv_event *event;
    uint64_t select;
    uint32_t answer;

    if (!copy_structure(hooks, &param, address, sizeof param) ||
        !pv_is_range(param.area_addr, sizeof *event->area, PV_ALIGNMENT) ||
        param.area_addr % UPMU_PV_PAGE_BYTES > UPMU_PV_PAGE_BYTES - sizeof *event->area)
        return UPMU_PV_BAD_ADDRESS;
    if (param.reserved)
        return UPMU_PV_BAD_ATTR;
    if (!copy_structure(hooks, &attr, param.attr_addr, sizeof attr))
        return UPMU_PV_BAD_ADDRESS;
    answer = select_of(vcpu, &attr, &select);
    if (answer != UPMU_PV_OK)
        return answer;
    if (!permits_select(vcpu, select))
        return UPMU_PV_BAD_EVENT;
    if (find_event(vcpu->pv, param.id, UPMU_PV_EVENT_OPEN, NULL))
        return UPMU_PV_DUPLICATE;
    event = claim_event(vcpu, param.id);
    if (!event)
        return UPMU_PV_LIMIT;
    /*
     * Another vCPU may be opening the same id: both have named their events before they look, so not both succeed; both
     * may be refused.
     */
    if (find_event(vcpu->pv, param.id, UPMU_PV_EVENT_NAMED, event)) {
        give_back(event);
        return UPMU_PV_BUSY;
    }
    event->area = hooks->pin(hooks->context, param.area_addr, sizeof *event->area);
    if (!event->area) {
        give_back(event);
        return UPMU_PV_BAD_ADDRESS;
    }
    event->select = select;
    event->period = attr.sample_period;
    event->count = 0;
    __atomic_store_n(&event->state, UPMU_PV_EVENT_OPEN, __ATOMIC_RELEASE);
    return UPMU_PV_OK;
}

/*
 * Add what the event's counter has counted since the last such call to the event's count. Store the whole count in the
 * guest's area, and add `overflows` to the area's.
 */
static void publish_count(struct upmu_pv_event *event, uint32_t overflows)
{
    if (event->counter != UPMU_NO_COUNTER) {
        uint64_t total = upmu_guest_total(event->vcpu->guest, event->counter);

        event->count += total - event->total;
        event->total = total;
    }
    pv_store64(&event->area->count, event->count);
    upmu_pv_add(&event->area->overflows, overflows);
}

/*
 * Load the counter of an enabled event so that it overflows when the event's count reaches the next multiple of its
 * period. Without a period load 0.
 */
static void load_period(struct upmu_pv_event *event)
{
    uint64_t over = 0;

    if (event->period)
        (void)upmu_divide(event->count, event->period, &over);
    upmu_guest_set_value(event->vcpu->guest, event->counter, (over - event->period) & PV_VALUE_MASK);
}

static uint32_t enable_event(struct upmu_pv_vcpu *vcpu, struct upmu_pv_event *event)
{
    uint32_t unused = ~vcpu->used & (UPMU_BIT32(vcpu->guest->shape.general) - 1u);

    if (event->counter != UPMU_NO_COUNTER)
        return UPMU_PV_OK;
    if (!unused)
        return UPMU_PV_LIMIT;
    event->counter = (uint8_t)upmu_bits_lowest(unused);
    event->total = upmu_guest_total(vcpu->guest, event->counter);
    vcpu->used |= UPMU_BIT32(event->counter);
    upmu_guest_set_select(vcpu->guest, event->counter, event->select);
    load_period(event);
    upmu_guest_x86_set_global(vcpu->guest, vcpu->used);
    return UPMU_PV_OK;
}

/*
 * Disable an event, whose counter is then free. The counter is read a last time: an overflow that was not reported
 * before is reported in the area.
 */
static void disable_event(struct upmu_pv_vcpu *vcpu, struct upmu_pv_event *event)
{
    uint32_t bit, overflowed;

    if (event->counter == UPMU_NO_COUNTER)
        return;
    bit = UPMU_BIT32(event->counter);
    overflowed = upmu_guest_lower(vcpu->guest, bit);
    publish_count(event, overflowed ? 1 : 0);
    vcpu->used &= ~bit;
    event->counter = UPMU_NO_COUNTER;
    upmu_guest_x86_set_global(vcpu->guest, vcpu->used);
}

static void close_event(struct upmu_pv_vcpu *vcpu, struct upmu_pv_event *event)
{
    const struct upmu_pv_hooks *hooks = vcpu->pv->hooks;

    disable_event(vcpu, event);
    hooks->unpin(hooks->context, event->area, sizeof *event->area);
    event->area = NULL;
    give_back(event);
}

void upmu_pv_events_publish(struct upmu_pv_vcpu *vcpu, uint32_t overflowed)
{
    if (!(overflowed & vcpu->used))
        return;
    for (uint32_t i = 0; i < vcpu->pv->event_count; i++) {
        struct upmu_pv_event *event = &vcpu->pv->events[i];

        if (owner_of(event) != vcpu || event->counter == UPMU_NO_COUNTER || !(overflowed >> event->counter & 1u))
            continue;
        publish_count(event, 1);
        load_period(event);
    }
}

void upmu_pv_events_end(struct upmu_pv_vcpu *vcpu)
{
    for (uint32_t i = 0; i < vcpu->pv->event_count; i++)
        if (owner_of(&vcpu->pv->events[i]) == vcpu)
            close_event(vcpu, &vcpu->pv->events[i]);
}

uint32_t upmu_pv_events_call(struct upmu_pv_vcpu *vcpu, uint32_t operation, uint32_t first, uint32_t second)
{
    struct upmu_pv_event *event;

    if (operation == UPMU_PV_OPEN)
        return open_event(vcpu, first | (uint64_t)second << 32);
    event = find_event(vcpu->pv, first, UPMU_PV_EVENT_OPEN, NULL);
    if (!event)
        return UPMU_PV_BAD_ID;
    if (owner_of(event) != vcpu)
        return UPMU_PV_BAD_VCPU;
    if (operation == UPMU_PV_ENABLE)
        return enable_event(vcpu, event);
    if (operation == UPMU_PV_DISABLE)
        disable_event(vcpu, event);
    else if (operation == UPMU_PV_CLOSE)
        close_event(vcpu, event);
    else
        publish_count(event, 0);
    return UPMU_PV_OK;
}
