/* SPDX-License-Identifier: MIT */
/*
 * Bringing up the executing CPU, and a word about how the port does.
 */
#include <examples/common/common.h>

/* What is simulated instead: a Pentium 4 on one, else Skylake. */
static const char *const stand_ins[][2] = {
    {"skl", "a model of Skylake"},
    {"netburst", "a model of a Pentium 4 (Northwood)"},
    {"netburst_p", "a model of a Pentium 4 (Prescott)"},
};

static unsigned stand_in(void)
{
    uint32_t leaf[4];

    upmu_x86_cpuid(0, 0, leaf);
    if (leaf[1] != 0x756e6547u || leaf[3] != 0x49656e69u || leaf[2] != 0x6c65746eu) /* GenuineIntel */
        return 0;
    upmu_x86_cpuid(1, 0, leaf);
    if ((leaf[0] & 0x0ff00f00u) != 0xf00u)
        return 0;
    return (leaf[0] & 0xf00f0u) < 0x30u ? 1 : 2; /* Prescott is model 3 */
}

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

void common_bring_up(const struct shell *shell, struct cmd_live *live, struct upmu_machine *machine,
                     struct upmu_cpu *cpu, const struct upmu_port *port)
{
    enum upmu_status status = upmu_machine_init(machine, port);

    if (status == UPMU_OK)
        status = upmu_cpu_init(cpu, machine, NULL);
    live->port = port;
    live->machine = machine;
    live->cpu = cpu;
    live->why_not = upmu_status_text(status);
    shell->cmd->default_sim = stand_ins[stand_in()][0];
    if (status != UPMU_OK) {
        cpu->meter.pmu = NULL;
        shell_text(shell, "This machine has no PMU that can be used (");
        shell_text(shell, live->why_not);
        shell_text(shell, ").\nGoing on with a SIMULATED CPU, ");
        shell_text(shell, stand_ins[stand_in()][1]);
        shell_text(shell, ": no figure below is this machine's.\n");
    } else {
        shell_text(shell, "PMU: ");
        shell_text(shell, cpu->meter.pmu->title);
        shell_text(shell, "\n");
    }
}
