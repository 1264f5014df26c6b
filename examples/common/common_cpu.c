/* SPDX-License-Identifier: MIT */
/*
 * Bringing up the executing CPU.
 */
#include <examples/common/common.h>

/* The CPU that is simulated on a CPU without a PMU: a Pentium 4 on a Pentium 4, else Skylake. */
static const char *const stand_ins[][2] = {
    {"skl", "a model of Skylake"},
    {"netburst", "a model of a Pentium 4 (Northwood)"},
    {"netburst_p", "a model of a Pentium 4 (Prescott)"},
};

static unsigned stand_in(const struct upmu_port *port)
{
    uint32_t leaf[4];

    port->cpuid(port->context, 0, 0, leaf);
    if (leaf[1] != 0x756e6547u || leaf[3] != 0x49656e69u || leaf[2] != 0x6c65746eu) /* GenuineIntel */
        return 0;
    port->cpuid(port->context, 1, 0, leaf);
    if ((leaf[0] & 0x0ff00f00u) != 0xf00u)
        return 0;
    return (leaf[0] & 0xf00f0u) < 0x30u ? 1 : 2; /* Prescott is model 3 */
}

void common_bring_up(const struct shell *shell, struct cmd_live *live, struct upmu_machine *machine,
                     struct upmu_cpu *cpu, const struct upmu_port *port)
{
    static char why_not[160];
    const unsigned instead = stand_in(port);
    enum upmu_status status = upmu_machine_init(machine, port);

    if (status == UPMU_OK)
        status = upmu_cpu_init(cpu, machine, NULL);
    live->port = port;
    live->machine = machine;
    live->cpu = cpu;
    (void)upmu_why_text(&machine->why, why_not, sizeof why_not);
    live->why_not = machine->why.status == status ? why_not : upmu_status_text(status);
    shell->cmd->default_sim = stand_ins[instead][0];
    if (status != UPMU_OK) {
        cpu->meter.pmu = NULL;
        shell_text(shell, "This machine has no PMU that can be used (");
        shell_text(shell, live->why_not);
        shell_text(shell, ").\n");
        shell_coloured(shell, CMD_SIMULATED, "Going on with a SIMULATED CPU, ");
        shell_coloured(shell, CMD_SIMULATED, stand_ins[instead][1]);
        shell_coloured(shell, CMD_SIMULATED, ": no figure below is this machine's.\n");
    } else {
        shell_text(shell, "PMU: ");
        shell_text(shell, cpu->meter.pmu->title);
        shell_text(shell, "\n");
    }
}
