/* SPDX-License-Identifier: MIT */
/*
 * info and rdpmc: what this CPU is and what its counters hold.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/catalogs.h>
#include <upmu/cpu.h>

static void copy_words(char *to, const uint32_t *words, unsigned count)
{
    unsigned i;

    for (i = 0; i < count * 4; i++) {
        char c = (char)(words[i / 4] >> (i % 4 * 8) & 0x7fu);

        to[i] = c >= ' ' || c == '\0' ? c : '?';
    }
    for (i = count * 4; i > 0 && (to[i - 1] == ' ' || to[i - 1] == '\0'); i--)
        ;
    to[i] = '\0';
}

/* The cpuid hook is made for local calls. */
static void ask_cpuid(const struct upmu_port *port, uint32_t leaf, uint32_t out[4])
{
    uintptr_t flags = port->irq_save != NULL ? port->irq_save(port->context) : 0;

    port->cpuid(port->context, leaf, 0, out);
    if (port->irq_restore != NULL)
        port->irq_restore(port->context, flags);
}

/* The label that begins a line of facts. */
static void print_label(struct cmd *cmd, const char *label)
{
    cmd_coloured(cmd, CMD_TITLE, "%-12s ", label);
}

/* Family and model as CPUID.1:EAX spells them (Intel SDM vol 2 CPUID). */
static void print_identity(struct cmd *cmd, const struct upmu_port *port, const char *title)
{
    uint32_t leaf[4], name[12];
    uint32_t vendor[3];
    unsigned family, model;
    char text[49];
    unsigned i;

    ask_cpuid(port, 0, leaf);
    vendor[0] = leaf[1], vendor[1] = leaf[3], vendor[2] = leaf[2];
    copy_words(text, vendor, 3);
    print_label(cmd, title);
    cmd_print(cmd, "%s", text);
    ask_cpuid(port, 0x80000000u, leaf);
    if (leaf[0] >= 0x80000004u) {
        for (i = 0; i < 3; i++)
            ask_cpuid(port, 0x80000002u + i, &name[i * 4]);
        copy_words(text, name, 12);
        cmd_print(cmd, ", %s", text);
    }
    ask_cpuid(port, 1, leaf);
    family = leaf[0] >> 8 & 15u;
    model = leaf[0] >> 4 & 15u;
    if (family == 6 || family == 15)
        model |= leaf[0] >> 12 & 0xf0u;
    if (family == 15)
        family += leaf[0] >> 20 & 0xffu;
    cmd_print(cmd, "\n             family %02xH model %02xH stepping %x%s\n", family, model, (unsigned)(leaf[0] & 15u),
              leaf[2] >> 31 ? ", under a hypervisor" : "");
    ask_cpuid(port, 0, leaf);
    if (leaf[0] < 0xa) {
        cmd_print(cmd, "             no CPUID leaf 0AH\n");
        return;
    }
    ask_cpuid(port, 0xa, leaf);
    cmd_print(cmd, "             CPUID 0AH: EAX %08x EBX %08x ECX %08x EDX %08x\n", (unsigned)leaf[0],
              (unsigned)leaf[1], (unsigned)leaf[2], (unsigned)leaf[3]);
}

void cmd_identity(struct cmd *cmd)
{
    if (cmd->live != NULL && cmd->live->identify != NULL)
        cmd->live->identify(cmd);
    else if (cmd->simulated && cmd->live != NULL)
        print_identity(cmd, cmd->live->port, "This machine");
    if (cmd->simulated || cmd->live->identify == NULL)
        print_identity(cmd, cmd->port, cmd->simulated ? "Simulated" : "CPU");
}

static void print_pmu(struct cmd *cmd)
{
    static const struct {
        uint32_t bit;
        const char *text;
    } facts[] = {
        {UPMU_PMU_GLOBAL_CTRL, "global control"},  {UPMU_PMU_STATUS, "overflow status"},
        {UPMU_PMU_FULL_WRITE, "full-width writes"}, {UPMU_PMU_INUSE, "in-use register"},
        {UPMU_PMU_ANYTHREAD, "any-thread counting"}, {UPMU_PMU_TSX, "transactions"},
        {UPMU_PMU_FIXED_FLOORED, "fixed counters understated by CPUID"},
    };
    const struct upmu_pmu *pmu = cmd->pmu;
    bool first = true;
    unsigned i;

    print_label(cmd, "PMU");
    cmd_print(cmd, "%s (%s), architectural version %u\n             ", pmu->name, pmu->title, (unsigned)pmu->version);
    for (i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (pmu->capabilities & facts[i].bit) {
            cmd_print(cmd, "%s%s", first ? "" : ", ", facts[i].text);
            first = false;
        }
    }
    cmd_print(cmd, "\n");
    print_label(cmd, "Events");
    if (pmu->catalog != NULL)
        cmd_print(cmd, "catalogue '%s', %u rows\n", upmu_catalog_name(pmu->catalog), upmu_catalog_rows(pmu->catalog));
    else
        cmd_print(cmd, "architectural and raw only\n");
}

static void print_counters(struct cmd *cmd)
{
    const struct upmu_pmu *pmu = cmd->pmu;
    char name[24];
    unsigned i;

    print_label(cmd, "Counters");
    cmd_print(cmd, "name            bits  RDPMC       used by\n");
    for (i = 0; i < UPMU_COUNTERS; i++) {
        if ((pmu->counters >> i & 1u) == 0)
            continue;
        (void)upmu_counter_text(pmu, i, name, sizeof name);
        cmd_coloured(cmd, CMD_NAME, "             %-14s", name);
        cmd_print(cmd, "  %4u  ", (unsigned)pmu->counter[i].width);
        if (pmu->counter[i].rdpmc != UPMU_NO_RDPMC)
            cmd_print(cmd, "0x%08x  ", (unsigned)pmu->counter[i].rdpmc);
        else
            cmd_print(cmd, "%-10s  ", "-");
        cmd_print(cmd, "%s\n", upmu_owner_text(upmu_cpu_owner(cmd->cpu, i)));
    }
}

static void print_hooks(struct cmd *cmd)
{
    const struct upmu_port *port = cmd->port;

    print_label(cmd, "Port");
    cmd_print(cmd, "%s%s%s%s%s%s\n", port->rdpmc != NULL ? "rdpmc " : "",
              port->irq_save != NULL ? "irq_save " : "", port->pmi_rearm != NULL ? "pmi_rearm " : "",
              port->clock_ns != NULL ? "clock_ns " : "", port->this_cpu != NULL ? "this_cpu " : "",
              port->msr_faults_are_safe ? "(survives faults)" : "(dies of faults)");
}

static void print_probe(struct cmd *cmd)
{
    const struct upmu_probe nothing = {0};
    struct upmu_probe probe = nothing;
    char name[24];
    enum upmu_status status;

    print_label(cmd, "Probe");
    if (!cmd->simulated && cmd->live->read_only) {
        cmd_print(cmd, "not done: registers are only read\n");
        return;
    }
    cmd_target_probe(cmd, &probe);
    status = upmu_cpu_probe(cmd->cpu, &probe);
    if (status != UPMU_OK) {
        cmd_print(cmd, "not done: %s\n", upmu_status_text(status));
        return;
    }
    cmd_print(cmd, "%s", upmu_verdict_text(probe.verdict));
    if (probe.verdict >= UPMU_VERDICT_COUNTS) {
        (void)upmu_counter_text(cmd->pmu, probe.counter, name, sizeof name);
        cmd_print(cmd, " (%s counted a loop as %G instructions)", name, probe.counted);
    }
    cmd_print(cmd, "\n");
}

int cmd_info(struct cmd *cmd, const struct cmd_args *args)
{
    int result = cmd_target_open(cmd, args);

    if (result != CMD_OK)
        return result;
    cmd_identity(cmd);
    if (cmd->pmu == NULL) {
        print_label(cmd, "PMU");
        cmd_print(cmd, "none that can be used\n");
        print_probe(cmd);
        cmd_target_close(cmd);
        return CMD_OK;
    }
    print_pmu(cmd);
    print_counters(cmd);
    print_hooks(cmd);
    print_probe(cmd);
    if (cmd->simulated || !cmd->live->read_only) {
        print_label(cmd, "Accesses");
        cmd_print(cmd, "%u writes, %u reads, %u RDPMC, %u re-arms so far\n",
                  (unsigned)cmd->cpu->meter.bank.accesses.writes, (unsigned)cmd->cpu->meter.bank.accesses.reads,
                  (unsigned)cmd->cpu->meter.bank.accesses.rdpmcs, (unsigned)cmd->cpu->meter.bank.accesses.rearms);
    }
    cmd_target_close(cmd);
    return CMD_OK;
}

int cmd_rdpmc(struct cmd *cmd, const struct cmd_args *args)
{
    uint64_t index, value = 0;
    uintptr_t flags = 0;
    bool done;
    int result;

    if (!cmd_number(args->operand[0], &index) || index > 0xffffffffu) {
        cmd_error(cmd, "'%s' is not a counter index", args->operand[0]);
        return CMD_USAGE;
    }
    result = cmd_target_open(cmd, args);
    if (result != CMD_OK)
        return result;
    if (cmd->port->rdpmc == NULL) {
        cmd_error(cmd, "this port has no RDPMC");
        cmd_target_close(cmd);
        return CMD_REFUSED;
    }
    if (cmd->port->irq_save != NULL)
        flags = cmd->port->irq_save(cmd->port->context);
    done = cmd->port->rdpmc(cmd->port->context, (uint32_t)index, &value);
    if (cmd->port->irq_restore != NULL)
        cmd->port->irq_restore(cmd->port->context, flags);
    if (done)
        cmd_print(cmd, "0x%X %U\n", value, value);
    else
        cmd_error(cmd, "RDPMC 0x%x faults: no such counter", (unsigned)index);
    cmd_target_close(cmd);
    return done ? CMD_OK : CMD_REFUSED;
}
