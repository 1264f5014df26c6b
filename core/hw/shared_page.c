/* SPDX-License-Identifier: MIT */
/*
 * The registers of a paravirtual PMU: loads and stores of the page that guest and hypervisor share, and calls of the
 * hypervisor.
 */
#include "core/hw/shared_page.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/page_registers.h"
#include "core/hw/port_call.h"

#if UPMU_BACKEND_PARAVIRT

#define PAGE_VALUE_MASK ((UINT64_C(1) << UPMU_PV_WIDTH) - 1u)

/* How often a value is looked at, as long as the hypervisor stores it at the same time, before the read fails. */
#define PAGE_LOOKS 16u

/*
 * Load or store a field once, in 32-bit code one of 64 bits in two halves: the hypervisor may access the page at any
 * time.
 */
static uint32_t load_field32(const uint32_t *field)
{
    return *(const volatile uint32_t *)field;
}

static uint64_t load_field64(const uint64_t *field)
{
    return *(const volatile uint64_t *)field;
}

static void store_field64(uint64_t *field, uint64_t value)
{
    *(volatile uint64_t *)field = value;
}

/* Call the hypervisor; false: the call was not made.  Inlined, as demand_of_host() is: the handler's stack is short. */
static UPMU_INSIDE bool call_host(struct upmu_bank *bank, uint32_t op, uint32_t first, uint32_t second,
                                  uint32_t *out_answer)
{
    const uint32_t argument[3] = {op, first, second};

    upmu_bank_counted(bank)->calls++;
    return port_hypercall(bank->port, bank->pmu->call, argument, out_answer);
}

/* Call the hypervisor; true: the call was made, and answered UPMU_PV_OK. */
static UPMU_INSIDE bool demand_of_host(struct upmu_bank *bank, uint32_t op, uint32_t first, uint32_t second)
{
    uint32_t answer;

    return call_host(bank, op, first, second, &answer) && answer == UPMU_PV_OK;
}

/*
 * Give a page to the hypervisor.  If it has a page already, which an earlier kernel gave, that one is taken back first.
 * Returns false if the host has no page, the hypervisor refuses, or it does not store the magic number and version of
 * this interface; bank->faulted is UPMU_PV_MAP then.
 */
bool upmu_shared_page_map(struct upmu_bank *bank)
{
    uint64_t physical = 0;
    uint32_t answer = UPMU_PV_BAD_STATE;
    struct upmu_pv_page *page;

    if (!upmu_shared_page_is(bank))
        return true;
    page = port_shared_page(bank->port, &physical);
    (void)upmu_bank_note_fault(bank, UPMU_PV_MAP); /* what each refusal below names */
    UPMU_STORE(bank->fresh, 0);
    if (page)
        memset(page, 0, sizeof *page);
    if (!page || !call_host(bank, UPMU_PV_MAP, (uint32_t)physical, (uint32_t)(physical >> 32), &answer))
        return false;
    if (answer == UPMU_PV_BAD_STATE &&
        (!demand_of_host(bank, UPMU_PV_UNMAP, 0, 0) ||
         !call_host(bank, UPMU_PV_MAP, (uint32_t)physical, (uint32_t)(physical >> 32), &answer)))
        return false;
    if (answer != UPMU_PV_OK)
        return false;
    bank->of.page = page;
    if (load_field32(&page->magic) == UPMU_PV_MAGIC && page->version == UPMU_PV_VERSION)
        return true;
    (void)upmu_shared_page_unmap(bank);
    return false;
}

bool upmu_shared_page_unmap(struct upmu_bank *bank)
{
    bool fine;

    if (!upmu_shared_page_is(bank) || !bank->of.page)
        return true;
    fine = demand_of_host(bank, UPMU_PV_UNMAP, 0, 0);
    bank->of.page = NULL;
    return fine;
}

/* Read the value that the hypervisor stored last, as a whole; false: each look met a store. */
static bool stored_value(const struct upmu_pv_slot *slot, uint64_t *out_value)
{
    for (unsigned looks = 0; looks < PAGE_LOOKS; looks++) {
        uint32_t sequence = load_field32(&slot->sequence);

        UPMU_BARRIER();
        *out_value = load_field64(&slot->value);
        UPMU_BARRIER();
        if (!(sequence & 1u) && load_field32(&slot->sequence) == sequence)
            return true;
    }
    return false;
}

/*
 * Read the value of a slot.  If the slot counts, and no earlier call has stored a value for this read, a call lets the
 * hypervisor store the values of all slots that count; the next read of each of the others takes its stored value
 * without a call.  A stopped slot has the value that was loaded, until the hypervisor has taken that over; then the
 * stored one.
 */
static bool read_value(struct upmu_bank *bank, unsigned index, uint64_t *out_value)
{
    const struct upmu_pv_slot *slot = &bank->of.page->slot[index];
    uint64_t load = load_field64(&bank->of.page->wish[index].load);
    uint32_t bit = UPMU_BIT32(index), gate = load_field32(&bank->of.page->gate);

    if (gate & bit) {
        if (!(bank->fresh & bit)) {
            if (!demand_of_host(bank, UPMU_PV_READ_ALL, gate, 0))
                return false;
            UPMU_STORE(bank->fresh, gate);
        }
        UPMU_STORE(bank->fresh, bank->fresh & ~bit);
    } else if ((load_field32(&slot->status) & UPMU_PV_SLOT_TAKEN) != load >> UPMU_PV_WIDTH) {
        *out_value = load & PAGE_VALUE_MASK;
        return true;
    }
    return stored_value(slot, out_value);
}

static bool read_field(struct upmu_bank *bank, const struct upmu_register *is, uint64_t *out_value)
{
    if (!bank->of.page)
        return false;
    if (is->address == UPMU_PAGE_GATE)
        *out_value = load_field32(&bank->of.page->gate);
    else if (is->address == UPMU_PAGE_STATUS)
        *out_value = load_field32(&bank->of.page->overflowed);
    else if (is->address == UPMU_PAGE_VALUE(is->counter))
        return read_value(bank, is->counter, out_value);
    else
        *out_value = load_field64(&bank->of.page->wish[is->counter].config);
    return true;
}

static bool write_field_of(struct upmu_bank *bank, const struct upmu_register *is, uint64_t value)
{
    struct upmu_pv_wish *wish;

    if (!bank->of.page)
        return false;
    if (is->address == UPMU_PAGE_GATE) {
        UPMU_STORE(bank->fresh, 0);
        return demand_of_host(bank, UPMU_PV_GATE, (uint32_t)value, 0);
    }
    if (is->address == UPMU_PAGE_ACK) {
        __atomic_fetch_and(&bank->of.page->overflowed, ~(uint32_t)value, __ATOMIC_RELAXED);
        return true;
    }
    wish = &bank->of.page->wish[is->counter];
    if (is->address == UPMU_PAGE_VALUE(is->counter))
        store_field64(&wish->load, (load_field64(&wish->load) & ~PAGE_VALUE_MASK) + PAGE_VALUE_MASK + 1u +
                                       (value & PAGE_VALUE_MASK));
    else
        store_field64(&wish->config, value);
    return true;
}

bool upmu_shared_page_read(struct upmu_bank *bank, unsigned row, uint64_t *out_value)
{
    if (read_field(bank, &bank->rows[row], out_value))
        return true;
    return upmu_bank_note_fault(bank, bank->rows[row].address);
}

bool upmu_shared_page_write(struct upmu_bank *bank, unsigned row, uint64_t value)
{
    if (write_field_of(bank, &bank->rows[row], value))
        return true;
    return upmu_bank_note_fault(bank, bank->rows[row].address);
}

#endif
