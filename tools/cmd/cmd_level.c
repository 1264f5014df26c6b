/* SPDX-License-Identifier: MIT */
/*
 * Levels: registers of units that show a value of the moment.  A list of `stat` that names one names levels alone, and
 * is answered without a workload.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/event.h>

/* Copy a part of a list; an empty text if it does not fit. */
static void copy_part(const char *list, const struct upmu_spec_part *part, char *text, size_t size)
{
    size_t length = part->length < size ? part->length : 0;

    for (size_t i = 0; i < length; i++)
        text[i] = list[part->position + i];
    text[length] = '\0';
}

static void print_level(struct cmd *cmd, const char *path, const char *name, const struct upmu_unit_level *level,
                        bool first)
{
    const char *separator = cmd->args->separator;

    if (cmd->args->json) {
        cmd_print(cmd, "%s{\"unit\":", first ? "[" : ",\n");
        cmd_json_text(cmd, path);
        cmd_print(cmd, ",\"level\":");
        cmd_json_text(cmd, name);
        cmd_print(cmd, ",\"value\":%U,\"measure\":\"%s\"}", level->value, level->measure);
    } else if (separator != NULL) {
        cmd_print(cmd, "%U%s%s%s%s%s%s\n", level->value, separator, level->measure, separator, name, separator, path);
    } else {
        cmd_print(cmd, "%18U  %-14s%s  (%s)\n", level->value, level->measure, name, path);
    }
}

/* Read a level of one box: opened, read and closed.  UPMU_ERR_NO_SUCH_NAME: the box has no such level. */
static enum upmu_status read_box(struct cmd *cmd, const struct upmu_unit_info *box, const char *name,
                                 struct upmu_unit_level *out_level)
{
    struct upmu_unit *unit = &cmd->dies->unit;
    enum upmu_status status = upmu_unit_open(unit, cmd->machine, box, 1), closed;

    if (status != UPMU_OK)
        return status;
    status = upmu_unit_level(unit, name, out_level);
    closed = upmu_unit_close(unit);
    return status != UPMU_OK ? status : closed;
}

/* Show a level of each box that a text names; *shown counts the lines. */
static enum upmu_status show_boxes(struct cmd *cmd, const char *text, const char *name, unsigned *shown)
{
    struct upmu_unit_found found;
    struct upmu_unit_level level;
    enum upmu_status status = upmu_unit_find(&cmd->units, UPMU_UNIT_PATH, 0, text, &found);
    bool one = status == UPMU_OK;
    char path[80];

    if (found.unit == NULL)
        return UPMU_ERR_NO_SUCH_NAME;
    for (const struct upmu_unit_info *box = found.unit; box < cmd->units.unit + cmd->units.unit_count; box++) {
        if (box->type != found.unit->type)
            continue;
        status = read_box(cmd, box, name, &level);
        if (status != UPMU_OK)
            return status;
        (void)upmu_unit_path(&cmd->units, box, path, sizeof path);
        print_level(cmd, path, name, &level, (*shown)++ == 0);
        if (one)
            break;
    }
    return UPMU_OK;
}

bool cmd_levels(struct cmd *cmd, const char *list, enum upmu_status *out_status)
{
    struct upmu_spec spec;
    char text[80], name[80];
    size_t cursor = 0;
    unsigned shown = 0;

    *out_status = cmd_target_units(cmd, UPMU_UNITS_EACH_CPU);
    if (*out_status != UPMU_OK && *out_status != UPMU_ERR_NO_SPACE)
        return false;
    while ((*out_status = upmu_spec_next(list, &cursor, &spec, NULL)) == UPMU_OK) {
        copy_part(list, spec.unit.length != 0 ? &spec.unit : &spec.pmu, text, sizeof text);
        copy_part(list, &spec.name, name, sizeof name);
        *out_status = text[0] != '\0' ? show_boxes(cmd, text, name, &shown) : UPMU_ERR_NO_SUCH_NAME;
        if (*out_status != UPMU_OK)
            break;
    }
    if (*out_status == UPMU_ERR_END)
        *out_status = UPMU_OK;
    if (shown != 0 && cmd->args->json)
        cmd_print(cmd, "]\n");
    return shown != 0 || *out_status == UPMU_ERR_NOT_COUNTED;
}
