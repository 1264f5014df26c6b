/* SPDX-License-Identifier: MIT */
/* Look for stray counters of NetBurst, and close them. */
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/domain.h"
#include "core/engine/claims.h"
#include "core/engine/meter.h"
#include "core/engine/strays.h"

#if UPMU_SAMPLING

/*
 * Is a counter a stray?  Its register requests interrupts, and its overflow flag is set, which keeps the interrupt
 * asserted, or it runs though the shadow does not say so.  A counter whose register cannot be read counts as a stray.
 */
static bool is_stray(struct upmu_cpu *cpu, unsigned counter)
{
    const struct upmu_counter *where = &cpu->meter.pmu->counter[counter];
    const struct upmu_register_class *class = upmu_register_class_of(cpu->meter.pmu, where->gate_row);
    bool left_open =
        upmu_bank_knows(&cpu->meter.bank, where->gate_row) && upmu_bank_open(&cpu->meter.bank, UPMU_BIT32(counter));
    uint64_t value;

    return !upmu_bank_look(&cpu->meter.bank, where->gate_row, &value) ||
           ((value & class->interrupt) &&
            ((value & class->hardware) || (!left_open && (value >> where->gate_bit & 1u))));
}

/*
 * Close a stray counter and clear its overflow flag, so that it interrupts no more.  Returns false where another CPU
 * has claimed the counter: then nothing is done.
 */
static bool close_stray(struct upmu_cpu *cpu, unsigned counter)
{
    struct upmu_domain *domain = upmu_meter_domain(&cpu->meter);
    bool claim = domain && !upmu_domain_holds(&domain->claim[UPMU_DOMAIN_COUNTER(counter)], cpu->meter.domain_number);

    if (claim &&
        upmu_domain_claim(domain, cpu->meter.domain_number, UPMU_DOMAIN_COUNTER(counter), 0) == UPMU_CLAIM_LOST)
        return false;
    /*
     * Write the shadow's value: it clears the overflow flag, and closes the counter unless a call is starting it.  An
     * unknown select gets its idle value.  Local calls need no note of this write: they write an unknown register anew,
     * and after the release below this CPU's next claim makes the register unknown.
     */
    (void)upmu_bank_handler_open(&cpu->meter.bank, UPMU_BIT32(counter), 0);
    if (claim)
        upmu_domain_release(domain, cpu->meter.domain_number, UPMU_DOMAIN_COUNTER(counter));
    return true;
}

UPMU_APART bool upmu_strays_close(struct upmu_cpu *cpu, uint64_t now_ns)
{
    struct upmu_domain *domain = upmu_meter_domain(&cpu->meter);
    uint32_t strays = cpu->meter.used;
    bool closed = false;

    /*
     * Add the shared counters of CPUs that have left or sleep (domain->used): such a CPU may have failed to close one.
     */
    if (domain)
        strays |= __atomic_load_n(&domain->used, __ATOMIC_RELAXED);
    strays &= ~(cpu->meter.running | cpu->meter.firmware | cpu->meter.watchdog | cpu->meter.foreign);
    for (uint32_t rest = strays; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        /*
         * Only in these cases may a register differ from what the shadow says, so that the counter is a stray: during a
         * local call, which stores the shadow before it writes; where the register is unknown; and where another CPU
         * may have had the counter.
         */
        if ((cpu->meter.busy || !upmu_bank_knows(&cpu->meter.bank, cpu->meter.pmu->counter[counter].select_row) ||
             (domain && !upmu_domain_keeps(&domain->claim[UPMU_DOMAIN_COUNTER(counter)], cpu->meter.domain_number))) &&
            is_stray(cpu, counter) && close_stray(cpu, counter)) {
            upmu_meter_expect(&cpu->meter, 1, now_ns);
            closed = true;
        }
    }
    return closed;
}

#endif
