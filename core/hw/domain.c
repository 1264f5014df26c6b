/* SPDX-License-Identifier: MIT */
/*
 * Claims on what several CPUs share (docs/ENGINE.md, "Domains").
 *
 * A claim word: bits 15:0 the CPUs that hold it, bit 16 set while its only holder is about to
 * change the value, bit 17 (parked) if its only holder no longer needs it, bits 31:18 a generation,
 * which differs after each store of a value.  The value is written only under bit 16.  So a CPU
 * that sees holders, and bits 16 and 17 clear, may read it, and joins by a compare-and-swap that
 * fails if the word has changed since.  A parked word is free; it only tells its former holder that
 * no other CPU has had the register since.
 */
#include "core/hw/domain.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"

#define HOLDERS UINT32_C(0xffff)
#define STORING UPMU_BIT32(16)
#define GENERATION UPMU_BIT32(18)

void upmu_domain_init(struct upmu_domain *domain, enum upmu_scope scope)
{
    memset(domain, 0, sizeof *domain);
    domain->scope = scope;
}

static UPMU_INSIDE uint32_t load_word(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool swap_word(uint32_t *word, uint32_t before, uint32_t after)
{
    return __atomic_compare_exchange_n(word, &before, after, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/*
 * Load the value of a resource, perhaps while another CPU stores it: then the compare-and-swap of the claim word that
 * follows fails.  Two halves, because 64-bit atomics need a library on i386.
 */
static uint64_t load_value(const struct upmu_domain *domain, unsigned resource)
{
    uint64_t high = __atomic_load_n(&domain->value[resource][1], __ATOMIC_RELAXED);

    return high << 32 | __atomic_load_n(&domain->value[resource][0], __ATOMIC_RELAXED);
}

static void store_value(struct upmu_domain *domain, unsigned resource, uint64_t value)
{
    __atomic_store_n(&domain->value[resource][0], (uint32_t)value, __ATOMIC_RELAXED);
    __atomic_store_n(&domain->value[resource][1], (uint32_t)(value >> 32), __ATOMIC_RELAXED);
}

bool upmu_domain_join(struct upmu_domain *domain, uint8_t *out_number)
{
    uint32_t cpus, room;

    do {
        cpus = load_word(&domain->cpus);
        room = ~cpus & HOLDERS;
        if (!room)
            return false;
    } while (!swap_word(&domain->cpus, cpus, cpus | (room & (~room + 1u))));
    *out_number = (uint8_t)upmu_bits_lowest(room);
    return true;
}

void upmu_domain_leave(struct upmu_domain *domain, uint8_t number)
{
    uint32_t cpus;

    do
        cpus = load_word(&domain->cpus);
    while (!swap_word(&domain->cpus, cpus, cpus & ~UPMU_BIT32(number)));
}

void upmu_domain_begin(struct upmu_domain *domain, uint8_t number)
{
    __atomic_fetch_or(&domain->live, UPMU_BIT32(number), __ATOMIC_ACQ_REL);
}

bool upmu_domain_end(struct upmu_domain *domain, uint8_t number)
{
    return !(__atomic_and_fetch(&domain->live, ~UPMU_BIT32(number), __ATOMIC_ACQ_REL));
}

bool upmu_domain_others(const struct upmu_domain *domain, uint8_t number)
{
    return load_word(&domain->live) & ~UPMU_BIT32(number);
}

bool upmu_domain_recall(const struct upmu_domain *domain, unsigned row, uint64_t *out_value)
{
    if (!(load_word(&domain->known[row / 32]) >> (row & 31u) & 1u))
        return false;
    *out_value = domain->found[row];
    return true;
}

/* Called by the CPU that may write the register.  The bit in `known` is set last: other CPUs read a complete value. */
void upmu_domain_remember(struct upmu_domain *domain, unsigned row, uint64_t value)
{
    domain->found[row] = value;
    __atomic_fetch_or(&domain->known[row / 32], UPMU_BIT32(row & 31u), __ATOMIC_RELEASE);
}

void upmu_domain_disown(struct upmu_domain *domain, unsigned row)
{
    __atomic_fetch_and(&domain->known[row / 32], ~UPMU_BIT32(row & 31u), __ATOMIC_RELAXED);
}

void upmu_domain_forget(struct upmu_domain *domain)
{
    __atomic_store_n(&domain->used, 0, __ATOMIC_RELAXED);
    memset(domain->known, 0, sizeof domain->known);
}

/* Returns the CPUs other than `number` that hold a claim (bit: number of the CPU); a parked claim is held by none. */
static UPMU_APART uint32_t others_in(uint32_t word, uint8_t number)
{
    return word & UPMU_CLAIM_PARKED ? 0 : word & HOLDERS & ~UPMU_BIT32(number);
}

static uint32_t without_holders(uint32_t word)
{
    return word & ~(HOLDERS | UPMU_CLAIM_PARKED);
}

/*
 * Give up a claim of CPU `number`.  With `parked` UPMU_CLAIM_PARKED the last holder keeps its bit in the word, beside
 * the bit "parked"; with 0 the CPU's bit is cleared in every case.
 */
static void give_up_word(struct upmu_domain *domain, uint8_t number, unsigned what, uint32_t parked)
{
    uint32_t *word = &domain->claim[what], before, after;

    do {
        before = load_word(word);
        if (!(before >> number & 1u) || (before & parked))
            return;
        after = before & ~(UPMU_BIT32(number) | UPMU_CLAIM_PARKED);
        if (parked && !(after & HOLDERS))
            after = (before & ~STORING) | parked;
    } while (!swap_word(word, before, after));
    __atomic_fetch_add(&domain->generation, 1, __ATOMIC_RELAXED);
}

/*
 * The claim of a counter is complete after one compare-and-swap, because a handler may come at any moment.  A resource
 * gets its value after that, by upmu_domain_settle(); a counter has none, as no two CPUs share a counter.
 */
enum upmu_claim upmu_domain_claim(struct upmu_domain *domain, uint8_t number, unsigned what, uint64_t value)
{
    uint32_t *word = &domain->claim[what];
    uint32_t before = load_word(word), after = without_holders(before) | UPMU_BIT32(number);
    bool counter = what >= UPMU_RESOURCES, others = others_in(before, number);
    bool holds = !counter && upmu_domain_holds(&before, number), used = holds && !others;

    /* No other CPU changes the value of what this one holds.  So no swap can fail, when another joins or leaves now. */
    if (holds && load_value(domain, what) == value)
        return UPMU_CLAIM_KEPT;
    if (((before & STORING) && !used) || (others && (counter || load_value(domain, what) != value)) ||
        !swap_word(word, before,
                   others    ? before | UPMU_BIT32(number)
                   : counter ? after
                             : after | STORING))
        return UPMU_CLAIM_LOST;
    if (!others && !counter && !used)
        upmu_domain_settle(domain, number, what, value);
    return before >> number & 1u ? UPMU_CLAIM_KEPT : UPMU_CLAIM_NEW;
}

/* While a claim word has bit 16 (STORING), only its holder writes the word: a plain store is enough. */
void upmu_domain_settle(struct upmu_domain *domain, uint8_t number, unsigned what, uint64_t value)
{
    uint32_t *word = &domain->claim[what], before = load_word(word);

    if (!(before & STORING) || !(before >> number & 1u))
        return;
    store_value(domain, what, value);
    __atomic_store_n(word, (before & ~STORING) + GENERATION, __ATOMIC_RELEASE);
}

void upmu_domain_park(struct upmu_domain *domain, uint8_t number, unsigned what)
{
    give_up_word(domain, number, what, UPMU_CLAIM_PARKED);
}

void upmu_domain_release(struct upmu_domain *domain, uint8_t number, unsigned what)
{
    give_up_word(domain, number, what, 0);
}

#if UPMU_BRANCHES

/*
 * The word of a filter register: bits 15:0 the CPUs that record, bits 25:16 the value that was found (LBR_SELECT has no
 * more bits), bits 31:26 a generation, so that a word that was read before another CPU came and went is not taken for
 * the present one.
 */
#define FOUND_SHIFT 16u
#define FOUND UINT32_C(0x3ff)
#define FILTER_GENERATION UPMU_BIT32(26)

uint32_t upmu_domain_filter(const struct upmu_domain *domain)
{
    return load_word(&domain->filter);
}

bool upmu_domain_filter_join(struct upmu_domain *domain, uint8_t number, uint32_t word, uint64_t found)
{
    uint32_t after = word;

    if (!(word & HOLDERS))
        after = (word & ~(FOUND << FOUND_SHIFT)) | ((uint32_t)found & FOUND) << FOUND_SHIFT;
    return swap_word(&domain->filter, word, (after | UPMU_BIT32(number)) + FILTER_GENERATION);
}

bool upmu_domain_filter_leave(struct upmu_domain *domain, uint8_t number, uint32_t word)
{
    return swap_word(&domain->filter, word, (word & ~UPMU_BIT32(number)) + FILTER_GENERATION);
}

bool upmu_domain_filter_after(uint32_t word, uint8_t number, uint64_t *out_value)
{
    uint32_t found = word >> FOUND_SHIFT & FOUND;

    *out_value = word & HOLDERS & ~UPMU_BIT32(number) ? 0 : found;
    return found;
}

#endif

uint32_t upmu_domain_taken(const struct upmu_domain *domain, uint8_t number)
{
    uint32_t taken = 0;

    for (unsigned i = 0; i < UPMU_COUNTERS; i++)
        if (others_in(load_word(&domain->claim[UPMU_DOMAIN_COUNTER(i)]), number))
            taken |= UPMU_BIT32(i);
    return taken;
}

unsigned upmu_domain_held(const struct upmu_domain *domain, uint8_t number, struct upmu_held *held, unsigned capacity)
{
    unsigned count = 0;

    for (unsigned i = 0; i < UPMU_RESOURCES && count < capacity; i++) {
        uint32_t word = load_word(&domain->claim[i]);

        if (!others_in(word, number))
            continue;
        held[count++] =
            (struct upmu_held){.resource = (uint8_t)i, .shareable = !(word & STORING), .value = load_value(domain, i)};
    }
    return count;
}
