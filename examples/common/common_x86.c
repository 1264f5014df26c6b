/* SPDX-License-Identifier: MIT */
/*
 * A word about how a port of x86 does.
 */
#include <examples/common/common.h>

#if defined(__x86_64__) || defined(__i386__)

#include <port/x86_native/x86_apic.h>

/*
 * CR4.PCE lets programs use RDPMC: does it take both values?  Left as found.  Before
 * family 6 there may be no such bit, and setting it would fault.
 */
static bool user_rdpmc_switches(void)
{
    bool found = upmu_x86_user_rdpmc_allowed(), on, off;
    uint32_t leaf[4];

    upmu_x86_cpuid(1, 0, leaf);
    if ((leaf[0] >> 8 & 15u) < 6)
        return false;
    upmu_x86_user_rdpmc(true);
    on = upmu_x86_user_rdpmc_allowed();
    upmu_x86_user_rdpmc(false);
    off = !upmu_x86_user_rdpmc_allowed();
    upmu_x86_user_rdpmc(found);
    return on && off && upmu_x86_user_rdpmc_allowed() == found;
}

void common_stay_awake(const volatile uint32_t *word, uint32_t value, uint32_t rounds)
{
    for (uint32_t i = 0; *word == value && (rounds == 0 || i < rounds); i++)
        __asm__ volatile("pause");
}

void common_check_port(const struct shell *shell, const struct upmu_port *port, const struct upmu_apic *apic,
                       const struct common_traps *traps, uint32_t tsc_khz)
{
    uint32_t nmis = *traps->nmis, faults = *traps->faults;
    uint64_t value;

    if (traps->swallow_foreign != NULL)
        *traps->swallow_foreign = true;
    if (upmu_apic_self_nmi(apic))
        common_stay_awake(traps->nmis, nmis, 100000);
    if (traps->swallow_foreign != NULL)
        *traps->swallow_foreign = false;
    shell_text(shell, "Port: ");
    shell_text(shell, apic->mode == UPMU_APIC_X2 ? "x2APIC" : apic->mode == UPMU_APIC_PAGE ? "xAPIC" : "no APIC");
    if (apic->mode != UPMU_APIC_NONE)
        shell_text(shell, *traps->nmis != nmis ? ", NMI arrives" : ", NMI DOES NOT ARRIVE");
    if (port->rdpmc != NULL)
        shell_text(shell, !port->rdpmc(port->context, 0x7fffffff, &value) && *traps->faults != faults
                              ? ", faults are survived"
                              : ", FAULTS ARE NOT SEEN");
    if (user_rdpmc_switches())
        shell_text(shell, ", user RDPMC switches");
    shell_text(shell, ", TSC ");
    shell_number(shell, tsc_khz / 1000);
    shell_text(shell, " MHz\n");
}

#endif
