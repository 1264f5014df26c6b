/* SPDX-License-Identifier: MIT */
/*
 * pmus and list: what there is by name.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/catalogs.h>

static unsigned ones(uint32_t mask)
{
    unsigned count = 0;

    for (; mask != 0; mask &= mask - 1)
        count++;
    return count;
}

static void pmus_line(struct cmd *cmd, const char *name, const struct upmu_pmu *pmu)
{
    uint32_t fixed = pmu->counters & ~pmu->general;

    cmd_print(cmd, "%-10s %-30s %u general", name, pmu->title, ones(pmu->general));
    if (fixed != 0)
        cmd_print(cmd, " + %u fixed", ones(fixed));
    cmd_print(cmd, " counters");
    if (pmu->catalog != NULL)
        cmd_print(cmd, ", %u event rows", upmu_catalog_rows(pmu->catalog));
    cmd_print(cmd, "\n");
}

int cmd_pmus(struct cmd *cmd, const struct cmd_args *args)
{
    const struct upmu_sim_profile *profile;
    const struct upmu_sim_machine *machine;
    const char *name;
    unsigned i;

    (void)args;
    cmd_print(cmd, "PMUs (--pmu):\n");
    for (i = 0; (name = upmu_pmu_known(i)) != NULL; i++) {
        if (upmu_pmu_by_name(&cmd->own_machine.pmu[0], name) == UPMU_OK)
            pmus_line(cmd, name, &cmd->own_machine.pmu[0]);
    }
    cmd_print(cmd, "Simulated CPUs (--sim):\n");
    for (i = 0; (profile = upmu_sim_profile_at(i)) != NULL; i++)
        cmd_print(cmd, "%-22s %-5s %s\n", profile->name, profile->alias != NULL ? profile->alias : "", profile->about);
    for (i = 0; cmd->room != NULL && (machine = upmu_sim_machine_at(i)) != NULL; i++) {
        if (upmu_sim_profile(machine->name) == NULL)
            cmd_print(cmd, "%-22s %-5s %s\n", machine->name, "", machine->about);
    }
    return CMD_OK;
}

/* Is a line of descriptions for a smaller name (below 0), for this one, or for a larger one? */
static int compare_about(const char *line, const char *end, const char *catalogue, const char *name)
{
    const char *const parts[] = {catalogue, "\t", name, "\t"};

    for (unsigned i = 0; i < 4; i++)
        for (const char *part = parts[i]; *part != '\0'; part++, line++)
            if (line == end || *line != *part)
                return line == end || *line < *part ? -1 : 1;
    return 0;
}

/* The description of an event, below its name. */
static void print_about(struct cmd *cmd, const struct upmu_catalog *catalog, const char *name)
{
    const char *low = cmd->about, *end = low + cmd->about_bytes, *high = end;
    const char *catalogue = upmu_catalog_name(catalog), *line, *next;

    while (low < high) {
        int order;

        for (line = low + (high - low) / 2; line > low && line[-1] != '\n'; line--)
            ;
        for (next = line; next < end && *next != '\n'; next++)
            ;
        order = compare_about(line, next, catalogue, name);
        if (order == 0) {
            cmd_print(cmd, "        ");
            for (line += cmd_length(catalogue) + cmd_length(name) + 2; line < next; line++)
                cmd_print(cmd, "%c", *line >= ' ' && *line < 127 ? *line : '?');
            cmd_print(cmd, "\n");
            return;
        }
        if (order < 0)
            low = next < end ? next + 1 : end;
        else
            high = line;
    }
}

#if UPMU_UNCORE
/* Names of the events of one kind of unit, of the file of catalogues if there is one; how many there are. */
static unsigned unit_events(struct cmd *cmd, const struct upmu_unit_type *type, const char *glob)
{
    const struct upmu_catalog *catalog = cmd->pmu->imported != NULL ? cmd->pmu->imported : cmd->pmu->catalog;
    uint32_t cursor = 0;
    struct upmu_event_id id;
    struct upmu_event event;
    unsigned names = 0;
    bool alias = false;
    char name[160];

    while (catalog != NULL &&
           upmu_catalog_next(catalog, glob, &cursor, &id, name, sizeof name, &alias) == UPMU_OK) {
        /* Rows of other units, and of a processor that shares the list. */
        if (upmu_catalog_row_unit(catalog, id.row) != type->number ||
            upmu_event_parse(cmd->pmu, name, &event, NULL) == UPMU_ERR_UNSUPPORTED)
            continue;
        cmd_print(cmd, "%s\n", name);
        names++;
    }
    return names;
}

/* PMUs outside the cores, one line each. */
static int list_units(struct cmd *cmd)
{
    static struct upmu_uncore_pmu unit;

    for (unsigned i = 0; upmu_uncore_pmu_at(i, &unit); i++) {
        cmd_print(cmd, "%-28s %-32s %u counters", unit.pmu.name, unit.pmu.title, ones(unit.pmu.counters));
        cmd_print(cmd, " of %u bits\n", unit.type->counters != 0 ? unit.type->width : unit.type->fixed_width);
    }
    return CMD_OK;
}

/* The events of one PMU outside the cores. */
static int list_unit(struct cmd *cmd, const struct cmd_args *args, const char *glob)
{
    const struct upmu_unit_type *type;
    int result = cmd_target_pmu(cmd, args);

    if (result != CMD_OK)
        return result;
    type = cmd_target_unit(cmd);
    if (type == NULL)
        cmd_error(cmd, "no PMU '%s' outside the cores; '%s list --unit' lists them", args->pmu, cmd->program);
    else if (unit_events(cmd, type, glob) != 0)
        return CMD_OK;
    else
        cmd_error(cmd, "no event of %s matches '%s'; raw events work", args->pmu, glob != NULL ? glob : "*");
    return CMD_REFUSED;
}
#endif

int cmd_list(struct cmd *cmd, const struct cmd_args *args)
{
    const char *glob = args->count > 0 ? args->operand[0] : NULL;
    uint32_t cursor = 0;
    struct upmu_event_id id;
    struct upmu_event event;
    unsigned names = 0;
    bool alias = false;
    char name[160], canonical[160];
    const struct upmu_catalog *catalog;
    int result;

#if UPMU_UNCORE
    if (args->unit && args->sim != NULL)
        return cmd_uncore(cmd, args);
    if (args->unit)
        return args->pmu != NULL ? list_unit(cmd, args, glob) : list_units(cmd);
#endif
    result = cmd_target_pmu(cmd, args);
    if (result != CMD_OK)
        return result;
    catalog = args->blob != NULL ? cmd->pmu->imported : cmd->pmu->catalog;
    if (catalog == NULL) {
        cmd_error(cmd, "no event names for %s; raw events work", cmd->pmu->name);
        return CMD_REFUSED;
    }
    while (upmu_catalog_next(catalog, glob, &cursor, &id, name, sizeof name, &alias) == UPMU_OK) {
        /* A row of all models that this one does not have. */
        if (upmu_event_parse(cmd->pmu, name, &event, NULL) == UPMU_ERR_UNSUPPORTED)
            continue;
        cmd_print(cmd, "%s", name);
        if (alias) {
            (void)upmu_event_name(cmd->pmu, id, canonical, sizeof canonical);
            cmd_column(cmd, 40);
            cmd_print(cmd, " = %s", canonical);
        }
        cmd_print(cmd, "\n");
        if (__STDC_HOSTED__ && cmd->about != NULL && !alias)
            print_about(cmd, catalog, name);
        names++;
    }
    if (names == 0) {
        cmd_error(cmd, "no event of %s matches '%s'", args->pmu != NULL ? args->pmu : cmd->pmu->name,
                  glob != NULL ? glob : "*");
        return CMD_REFUSED;
    }
    return CMD_OK;
}
