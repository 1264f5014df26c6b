/* SPDX-License-Identifier: MIT */
/*
 * pack: in how few sets a list of events can be counted.
 */
#include <tools/cmd/cmd_args.h>
#include <tools/cmd/cmd_packing.h>

#define PACK_EVENTS CMD_PACK_REQUESTS
#define PACK_STEPS 20000u

/* In the memory of the sample ring. */
struct pack_area {
    struct upmu_event event[PACK_EVENTS];
    uint16_t set_of[PACK_EVENTS];
    unsigned count;
    struct upmu_pack_result result;
    struct cmd_pack_work work;
};

_Static_assert(sizeof(struct pack_area) <= CMD_RING_WORDS * sizeof(uint64_t), "the area is in the ring");

/* Events of one operand, which may be a list. */
static int read_events(struct cmd *cmd, struct pack_area *area, const char *list)
{
    size_t cursor = 0;
    struct upmu_spec spec;
    struct upmu_why why;
    enum upmu_status status;

    while ((status = upmu_spec_next(list, &cursor, &spec, &why)) != UPMU_ERR_END) {
        if (status == UPMU_OK && area->count == PACK_EVENTS)
            status = UPMU_ERR_NO_SPACE;
        if (status == UPMU_OK)
            status = upmu_event_encode(cmd->pmu, &spec, &area->event[area->count], &why);
        if (status != UPMU_OK)
            return cmd_refusal(cmd, status, &why);
        area->count++;
    }
    return CMD_OK;
}

static void print_event(struct cmd *cmd, const struct upmu_event *event, bool json, bool first)
{
    char text[200];

    (void)upmu_event_format(cmd->pmu, event, text, sizeof text);
    if (!json) {
        cmd_print(cmd, " %s", text);
        return;
    }
    cmd_print(cmd, first ? "" : ",");
    cmd_json_text(cmd, text);
}

static void print_sets(struct cmd *cmd, const struct pack_area *area, bool json)
{
    for (unsigned set = 0; set < area->result.sets; set++) {
        bool first = true;

        if (json)
            cmd_print(cmd, set ? ",[" : "[");
        else
            cmd_print(cmd, "set %u:", set);
        for (unsigned i = 0; i < area->count; i++)
            if (area->set_of[i] == set) {
                print_event(cmd, &area->event[i], json, first);
                first = false;
            }
        cmd_print(cmd, json ? "]" : "\n");
    }
}

int cmd_pack(struct cmd *cmd, const struct cmd_args *args)
{
    struct pack_area *area = (struct pack_area *)(void *)cmd->ring;
    int result = cmd_target_pmu(cmd, args);
    enum upmu_status status;

    area->count = 0;
    for (unsigned i = 0; i < args->count && result == CMD_OK; i++)
        result = read_events(cmd, area, args->operand[i]);
    if (result != CMD_OK)
        return result;
    status = cmd_pack_exact_events(cmd->pmu, area->event, area->count, PACK_STEPS, &area->work, area->set_of,
                                   &area->result);
    if (status != UPMU_OK) {
        cmd->to_errors = true;
        cmd_print(cmd, "%s", upmu_status_text(status));
        if (status == UPMU_ERR_DOES_NOT_FIT) {
            cmd_print(cmd, ", not even alone:");
            print_event(cmd, &area->event[area->result.culprit], false, true);
        }
        cmd_print(cmd, "\n");
        cmd->to_errors = false;
        return CMD_REFUSED;
    }
    if (args->json) {
        cmd_print(cmd, "{\"pmu\":\"%s\",\"bound\":%u,\"sets\":[", cmd->pmu->name, area->result.bound);
        print_sets(cmd, area, true);
        cmd_print(cmd, "]}\n");
        return CMD_OK;
    }
    print_sets(cmd, area, false);
    cmd_print(cmd, "%u sets, ", area->result.sets);
    if (area->result.optimal)
        cmd_print(cmd, "no fewer are possible\n");
    else
        cmd_print(cmd, "at least %u are needed\n", area->result.bound);
    return CMD_OK;
}
