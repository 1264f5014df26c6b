/* SPDX-License-Identifier: MIT */
/*
 * The CPU or PMU that a command works on: the executing one or a simulated one.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/catalogs.h>
#include <upmu/cpu.h>

static void sim_deliver(struct upmu_sim *sim, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    struct cmd *cmd = sim->test;
    /* The stack of a simulated function has its frame and nothing else, so the frame begins at the top. */
    const struct upmu_frame frame = {
        .ip = interrupt->ip, .sp = interrupt->sp, .fp = interrupt->sp, .user = interrupt->user};

    switch (upmu_pmi_handle(sim->cpu[number].bound, &frame)) {
    case UPMU_PMI_HANDLED:
        cmd->sim_interrupts.handled++;
        break;
    case UPMU_PMI_STALE:
        cmd->sim_interrupts.stale++;
        break;
    case UPMU_PMI_NOT_OURS:
    default:
        cmd->sim_interrupts.not_ours++;
        break;
    }
}

void cmd_target_label(struct cmd *cmd)
{
    if (!cmd->simulated)
        return;
    cmd_coloured(cmd, CMD_SIMULATED, "%s*** SIMULATED CPU: %s (%s) ***", cmd->args->separator != NULL ? "# " : "",
                 cmd->sim.profile->name, cmd->sim.profile->about);
    cmd_print(cmd, "\n");
}

int cmd_refusal(struct cmd *cmd, enum upmu_status status, const struct upmu_why *why)
{
    char text[300];

    if (why != NULL && why->status == status)
        (void)upmu_why_text(why, text, sizeof text);
    cmd_error(cmd, "%s", why != NULL && why->status == status ? text : upmu_status_text(status));
    return CMD_REFUSED;
}

/* Names of single CPUs, both of each, then of machines. */
const char *cmd_model_at(const void *context, unsigned index)
{
    const struct upmu_sim_profile *profile;
    const struct upmu_sim_machine *machine;

    (void)context;
    for (unsigned i = 0; (profile = upmu_sim_profile_at(i)) != NULL; i++) {
        if (index-- == 0)
            return profile->name;
        if (profile->alias != NULL && index-- == 0)
            return profile->alias;
    }
    machine = upmu_sim_machine_at(index);
    return machine != NULL ? machine->name : NULL;
}

/* The model: a single CPU, or a machine with units.  False: there is none of this name. */
static bool make_model(struct cmd *cmd, const char *name)
{
    const struct upmu_sim_profile *profile = upmu_sim_profile(name);
    const struct upmu_sim_machine *machine = cmd->room != NULL ? upmu_sim_machine(name) : NULL;

    if (profile != NULL)
        upmu_sim_init(&cmd->sim, profile, 1);
    else if (machine != NULL)
        upmu_sim_uncore_init(&cmd->room->uncore, &cmd->sim, machine);
    return profile != NULL || machine != NULL;
}

static enum upmu_status take_over_all(struct cmd *cmd)
{
    enum upmu_status status = UPMU_OK;

    for (unsigned i = cmd->sim.cpus; i-- > 0 && status == UPMU_OK;) {
        struct upmu_cpu *cpu = i == 0 ? cmd->cpu : &cmd->room->cpu[i];

        upmu_sim_switch_cpu(&cmd->sim, i);
        upmu_sim_bind_cpu(&cmd->sim, i, cpu);
        status = upmu_cpu_init(cpu, cmd->machine, NULL);
    }
    upmu_sim_switch_cpu(&cmd->sim, 0);
    return status;
}

static int open_simulated(struct cmd *cmd, const char *name)
{
    const struct cmd_interrupts none = {0};
    enum upmu_status status;

    if (!make_model(cmd, name)) {
        cmd_unknown(cmd, "simulated CPU", name, cmd_nearest(name, cmd_model_at, NULL), "pmus");
        return CMD_REFUSED;
    }
    cmd->sim.test = cmd;
    cmd->sim.deliver = sim_deliver;
    cmd->sim_interrupts = none;
    cmd->units.machine = NULL;
    cmd->simulated = true;
    cmd->machine = &cmd->own_machine;
    cmd->cpu = &cmd->own_cpu;
    cmd->port = upmu_sim_port(&cmd->sim);
    if (cmd_child(cmd) != NULL)
        cmd->sim.port.clock_ns = cmd_child(cmd)->clock_ns;
    if (!cmd->args->json)
        cmd_target_label(cmd);
    status = upmu_machine_init(cmd->machine, cmd->port);
    if (status == UPMU_OK)
        status = take_over_all(cmd);
    cmd->pmu = status == UPMU_OK ? cmd->cpu->meter.pmu : NULL;
    if (status != UPMU_OK && !cmd_equal(cmd->args->name, "info") && !cmd_equal(cmd->args->name, "selftest")) {
        cmd_error(cmd, "the simulated CPU did not come up: %s", upmu_status_text(status));
        return CMD_REFUSED;
    }
    return CMD_OK;
}

int cmd_target_open(struct cmd *cmd, const struct cmd_args *args)
{
    const struct cmd_live *live = cmd->live;

    cmd->simulated = false;
    if (args->sim != NULL)
        return open_simulated(cmd, args->sim);
    if (live != NULL && live->cpu->meter.pmu != NULL) {
        cmd->machine = live->machine;
        cmd->cpu = live->cpu;
        cmd->port = live->port;
        cmd->pmu = live->cpu->meter.pmu;
        return CMD_OK;
    }
    if (cmd->default_sim != NULL)
        return open_simulated(cmd, cmd->default_sim);
    cmd_error(cmd, "this needs a CPU in ring 0; simulate one with --sim, for example --sim skl");
    return CMD_REFUSED;
}

enum upmu_status cmd_target_units(struct cmd *cmd, unsigned flags)
{
    enum upmu_status status = UPMU_OK;

    if (cmd->units.machine != cmd->machine)
        cmd->units = (struct upmu_unit_list){.unit = cmd->boxes,
                                             .pmu = cmd->types,
                                             .unit_capacity = CMD_BOXES,
                                             .pmu_capacity = CMD_TYPES};
    if (!cmd->simulated)
        return upmu_units_find(cmd->cpu, &cmd->units, flags);
    for (unsigned i = cmd->sim.cpus; i-- > 0 && status == UPMU_OK;) {
        upmu_sim_switch_cpu(&cmd->sim, i);
        status = upmu_units_find(i == 0 ? cmd->cpu : &cmd->room->cpu[i], &cmd->units, flags);
    }
    upmu_sim_switch_cpu(&cmd->sim, 0);
    return status;
}

void cmd_target_close(struct cmd *cmd)
{
    for (unsigned i = cmd->simulated && cmd->pmu != NULL ? cmd->sim.cpus : 0; i-- > 0;) {
        upmu_sim_switch_cpu(&cmd->sim, i);
        (void)!upmu_cpu_fini(i == 0 ? cmd->cpu : &cmd->room->cpu[i]);
    }
    cmd->pmu = NULL;
    cmd->cpu = NULL;
}

/* Interrupts are off around the hook, which is a local call. */
uint64_t cmd_port_time(const struct upmu_port *port)
{
    uintptr_t saved = 0;
    uint64_t now_ns;

    if (port->clock_ns == NULL)
        return 0;
    if (port->irq_save != NULL)
        saved = port->irq_save(port->context);
    now_ns = port->clock_ns(port->context);
    if (port->irq_restore != NULL)
        port->irq_restore(port->context, saved);
    return now_ns;
}

uint64_t cmd_target_time(const struct cmd *cmd)
{
    return cmd_port_time(cmd->port);
}

struct cmd_interrupts cmd_target_interrupts(const struct cmd *cmd)
{
    const struct cmd_interrupts none = {0};

    if (cmd->simulated)
        return cmd->sim_interrupts;
    return cmd->live->interrupts != NULL ? cmd->live->interrupts(cmd->live->interrupts_context) : none;
}

bool cmd_target_undisturbed(struct cmd *cmd)
{
    return cmd->simulated || cmd->live->undisturbed == NULL || cmd->live->undisturbed(cmd->live->program, cmd);
}

static void probe_loop(void *context)
{
    cmd_workload_run(context, cmd_workload_find("spin"), 1000);
}

void cmd_target_probe(struct cmd *cmd, struct upmu_probe *probe)
{
    if (cmd->simulated) {
        probe->loop = upmu_sim_work;
        probe->loop_context = &cmd->sim;
    } else if (cmd->live->run != NULL) {
        probe->loop = probe_loop;
        probe->loop_context = cmd;
    }
}

/* The bytes of the file itself, before the descriptions that may follow it (tools/catalog_about.py). */
static size_t without_about(struct cmd *cmd, const uint8_t *file, size_t length)
{
    static const char begin[] = "upmu about 1\n";
    size_t own = length;

    if (length >= 8)
        own = (size_t)file[4] | (size_t)file[5] << 8 | (size_t)file[6] << 16 | (size_t)file[7] << 24;
    if (own >= length || !cmd_begins((const char *)file + own, length - own, begin))
        return length;
    cmd->about = (const char *)file + own + sizeof begin - 1;
    cmd->about_bytes = length - own - (sizeof begin - 1);
    return own;
}

/* Events from a file, for a PMU on paper. */
static int import(struct cmd *cmd, struct upmu_pmu *pmu, const char *name)
{
    size_t length = 0;
    const void *file = cmd->sink->read_file != NULL ? cmd->sink->read_file(cmd->sink->context, name, &length) : NULL;
    enum upmu_status status;

    if (__STDC_HOSTED__ && file != NULL)
        length = without_about(cmd, file, length);
    status = file != NULL ? upmu_catalog_load(file, length) : UPMU_ERR_INVALID;
    if (status == UPMU_OK)
        status = upmu_pmu_import(pmu, file);
    if (status == UPMU_OK)
        return CMD_OK;
    if (file == NULL)
        cmd_error(cmd, "cannot read %s", name);
    else if (status == UPMU_ERR_INVALID)
        cmd_error(cmd, "%s is no file of catalogues (catalog_pack.py --blob), or is damaged", name);
    else if (status == UPMU_ERR_NO_SUCH_PMU)
        cmd_error(cmd, "%s has no catalogues for %s; name the PMU that its source says ('# pmu:')", name,
                  pmu->name);
    else
        cmd_error(cmd, "%s: no catalogues for %s: %s", name, pmu->name, upmu_status_text(status));
    return CMD_REFUSED;
}

static const char *pmu_at(const void *context, unsigned index)
{
    (void)context;
    return upmu_pmu_known(index);
}

#if UPMU_UNCORE
/* A machine on paper, with one unit outside the cores; false: no unit has this PMU. */
static bool unit_on_paper(struct cmd *cmd, const char *name)
{
    struct upmu_uncore_pmu *unit = &cmd->types[0];
    unsigned i = 0;

    while (upmu_uncore_pmu_at(i, unit) && !cmd_equal(unit->pmu.name, name))
        i++;
    if (unit->type == NULL || !cmd_equal(unit->pmu.name, name) ||
        upmu_pmu_by_name(&cmd->own_machine.pmu[0], "ix86arch") != UPMU_OK)
        return false;
    cmd->units = (struct upmu_unit_list){.unit = cmd->boxes,
                                         .pmu = cmd->types,
                                         .unit_capacity = CMD_BOXES,
                                         .pmu_capacity = CMD_TYPES,
                                         .pmu_count = 1,
                                         .machine = &cmd->own_machine};
    cmd->own_machine.units = &cmd->units;
    return true;
}
#endif

/* A machine on paper, with this PMU alone. */
static int open_on_paper(struct cmd *cmd, const char *name)
{
    enum upmu_status status = upmu_pmu_by_name(&cmd->own_machine.pmu[0], name);
    struct upmu_pmu *pmu = &cmd->own_machine.pmu[0];

    cmd->own_machine.units = NULL;
    cmd->units.machine = NULL;
    cmd->about = NULL;
#if UPMU_UNCORE
    if (status != UPMU_OK && unit_on_paper(cmd, name)) {
        status = UPMU_OK;
        pmu = &cmd->types[0].pmu;
    }
#endif
    if (status != UPMU_OK) {
        cmd_unknown(cmd, "PMU", name, cmd_nearest(name, pmu_at, NULL), "pmus");
        return CMD_REFUSED;
    }
    cmd->own_machine.pmu_count = 1;
    cmd->machine = &cmd->own_machine;
    cmd->pmu = pmu;
    cmd->cpu = NULL;
    cmd->simulated = false;
    return cmd->args->blob != NULL ? import(cmd, pmu, cmd->args->blob) : CMD_OK;
}

/* The PMU that a simulated CPU is found to have; none: the name itself, which may be a PMU's. */
static const char *pmu_of_model(struct cmd *cmd, const char *model)
{
    const char *name = model;

    if (!make_model(cmd, model))
        return name;
    upmu_sim_bind_cpu(&cmd->sim, 0, &cmd->own_cpu);
    if (upmu_machine_init(&cmd->own_machine, upmu_sim_port(&cmd->sim)) == UPMU_OK &&
        upmu_cpu_init(&cmd->own_cpu, &cmd->own_machine, NULL) == UPMU_OK) {
        name = cmd->own_cpu.meter.pmu->name;
        (void)!upmu_cpu_fini(&cmd->own_cpu);
    }
    return name;
}

const struct upmu_unit_type *cmd_target_unit(const struct cmd *cmd)
{
    return cmd->pmu->index >= UPMU_UNIT_PMU ? cmd->types[cmd->pmu->index - UPMU_UNIT_PMU].type : NULL;
}

int cmd_target_pmu(struct cmd *cmd, const struct cmd_args *args)
{
    const char *name = args->pmu;

    if (name == NULL && args->sim != NULL)
        name = pmu_of_model(cmd, args->sim);
    if (name == NULL && args->blob == NULL && cmd->live != NULL && cmd->live->cpu->meter.pmu != NULL) {
        cmd->machine = cmd->live->machine;
        cmd->pmu = cmd->live->cpu->meter.pmu;
        cmd->cpu = NULL;
        cmd->simulated = false;
        return CMD_OK;
    }
    if (name == NULL)
        name = cmd->default_sim;
    if (name == NULL) {
        cmd_error(cmd, "which PMU? say --pmu NAME; '%s pmus' lists them", cmd->program);
        return CMD_USAGE;
    }
    return open_on_paper(cmd, name);
}
