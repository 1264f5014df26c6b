/* SPDX-License-Identifier: MIT */
/*
 * encode, place, wrmsr list: what the library would write, without writing it.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/abi.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>

#define CMD_WRITES 64

/* The operands as one list, blanks between them. */
static int join_operands(struct cmd *cmd, const struct cmd_args *args, unsigned first)
{
    size_t used = 0;
    unsigned i;

    for (i = first; i < args->count; i++) {
        const char *text = args->operand[i];

        if (used != 0)
            cmd->list[used++] = ' ';
        for (; *text != '\0'; text++) {
            if (used + 2 >= sizeof cmd->list) {
                cmd_error(cmd, "the list is too long");
                return CMD_USAGE;
            }
            cmd->list[used++] = *text;
        }
    }
    cmd->list[used] = '\0';
    return CMD_OK;
}

/* Events without interrupt: no handler serves what these commands print. */
static const struct upmu_sampling no_interrupt = {.flags = UPMU_SAMPLING_WRAP};

/* Final value of each register that a dry run of `session` writes. */
static enum upmu_status dry_writes(struct cmd *cmd, struct upmu_session *session, struct upmu_write *writes,
                                   size_t *out_count)
{
    struct upmu_dry_run dry = {writes, CMD_WRITES, 0};
    enum upmu_status status = upmu_session_dry_run(session, cmd->pmu, &dry);

    *out_count = dry.count < CMD_WRITES ? dry.count : CMD_WRITES;
    return status;
}

/* Payload registers, and controls that neither select nor open a counter (NetBurst's ESCRs). */
static bool is_payload(const struct upmu_pmu *pmu, uint32_t address)
{
    unsigned row, counter, kind = UPMU_KIND_AUX;

    for (row = 0; row < pmu->table->row_count; row++)
        if (pmu->table->rows[row].address == address)
            break;
    if (row < pmu->table->row_count)
        kind = pmu->table->classes[pmu->table->rows[row].class_index].kind;
    for (counter = 0; counter < UPMU_COUNTERS; counter++)
        if ((pmu->counters >> counter & 1u) != 0 &&
            (pmu->counter[counter].select_row == row || pmu->counter[counter].gate_row == row))
            return false;
    return kind == UPMU_KIND_PAYLOAD || kind == UPMU_KIND_CONTROL;
}

/* Where each counter has a gate of its own, an event may have more counters than one. */
static bool is_select_of(const struct upmu_pmu *pmu, unsigned counter, uint32_t address)
{
    const struct upmu_counter *of = &pmu->counter[counter];

    return (pmu->family == 15 && of->gate_row == of->select_row) ||
           upmu_register_address(pmu, of->select_row) == address;
}

static void print_register(struct cmd *cmd, const struct upmu_write *write, bool json, bool first)
{
    if (json)
        cmd_print(cmd, "%s{\"name\":\"%s\",\"address\":\"0x%x\",\"value\":\"0x%X\"}", first ? "" : ",", write->name,
                  (unsigned)write->address, write->value);
    else
        cmd_print(cmd, "%s 0x%x 0x%X\n", write->name, (unsigned)write->address, write->value);
}

/* Each register once, with the last value written: selects and controls, then payloads. */
static void print_event_registers(struct cmd *cmd, const struct upmu_write *writes, size_t count, unsigned counter,
                                  bool json)
{
    bool first = true;
    unsigned pass;
    size_t i, later;

    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < count; i++) {
            bool payload = is_payload(cmd->pmu, writes[i].address);
            bool shown = counter == UPMU_NO_COUNTER || is_select_of(cmd->pmu, counter, writes[i].address);
            bool wanted = pass == 0 ? shown && !payload : payload;

            for (later = i + 1; later < count; later++)
                wanted = wanted && writes[later].address != writes[i].address;
            if (wanted) {
                print_register(cmd, &writes[i], json, first);
                first = false;
            }
        }
    }
}

/* Where and how an event of a unit is counted: what its registers, whose addresses are offsets there, do not say. */
static void print_unit(struct cmd *cmd, const struct upmu_event *event, bool json)
{
    static const char *const styles[] = {[UPMU_UNIT_GLOBAL] = "global",         [UPMU_UNIT_SELECT] = "select",
                                         [UPMU_UNIT_BOX] = "box",               [UPMU_UNIT_DISCOVERED] = "discovered",
                                         [UPMU_UNIT_CLIENT_IMC] = "client-imc", [UPMU_UNIT_FREE] = "free-running"};
    const struct upmu_unit_type *type = cmd_target_unit(cmd);
    const char *between = "";
    char name[24];

    if (type == NULL)
        return;
    cmd_print(cmd, json ? ",\"unit\":\"%s\",\"style\":\"%s\",\"counters\":[" : "unit %s, %s, counters ", type->name,
              styles[type->style]);
    for (unsigned i = 0; i < UPMU_COUNTERS; i++) {
        if ((event->counters >> i & 1u) == 0)
            continue;
        (void)upmu_counter_text(cmd->pmu, i, name, sizeof name);
        cmd_print(cmd, json ? "%s\"%s\"" : "%s%s", between, name);
        between = json ? "," : " ";
    }
    cmd_print(cmd, json ? "]" : "\n");
}

/*
 * The event alone, pinned to the counter whose form is shown: the lowest general
 * one that may count it, else the lowest at all.  An event without a general form
 * has the control of its fixed counter for an encoding.
 */
static int encode_alone(struct cmd *cmd, const struct upmu_event *event, const char *text, bool json)
{
    struct upmu_write writes[CMD_WRITES];
    struct upmu_event pinned = *event;
    uint32_t candidates = event->counters & cmd->pmu->general;
    unsigned counter = 0;
    enum upmu_status status;
    size_t count = 0;

    if (candidates == 0)
        candidates = event->counters;
    while (counter < UPMU_COUNTERS - 1 && (candidates >> counter & 1u) == 0)
        counter++;
    pinned.counters = UINT32_C(1) << counter;
    pinned.attributes |= UPMU_ATTR_PIN;
    pinned.pin = counter & 31u;
    status = upmu_session_init(&cmd->session, cmd->machine);
    if (status == UPMU_OK)
        status = upmu_set_add_event(&cmd->session.set, &pinned, &no_interrupt);
    if (status == UPMU_OK)
        status = dry_writes(cmd, &cmd->session, writes, &count);
    if (status != UPMU_OK)
        return cmd_refusal(cmd, status, &cmd->session.why);
    if (json) {
        cmd_print(cmd, "{\"event\":");
        cmd_json_text(cmd, text);
    }
    print_unit(cmd, event, json);
    if (json)
        cmd_print(cmd, ",\"registers\":[");
    /* A free-running counter is never written. */
    if ((cmd->pmu->capabilities & UPMU_PMU_FREE) == 0)
        print_event_registers(cmd, writes, count, counter, json);
    if (json)
        cmd_print(cmd, "]}");
    return CMD_OK;
}

static int encode_each(struct cmd *cmd, const struct cmd_args *args)
{
    struct upmu_spec spec;
    struct upmu_event event;
    struct upmu_why why;
    enum upmu_status status;
    char text[200];
    size_t cursor = 0;
    unsigned events = 0;
    int result = CMD_OK;

    while (result == CMD_OK) {
        status = upmu_spec_next(cmd->list, &cursor, &spec, &why);
        if (status == UPMU_ERR_END)
            break;
        if (status == UPMU_OK)
            status = upmu_event_encode(cmd->pmu, &spec, &event, &why);
        if (status != UPMU_OK)
            return cmd_refusal(cmd, status, &why);
        (void)upmu_event_format(cmd->pmu, &event, text, sizeof text);
        if (args->json)
            cmd_print(cmd, events == 0 ? "" : ",\n");
        result = encode_alone(cmd, &event, text, args->json);
        events++;
    }
    return result;
}

/* The whole list in cmd->session, and the writes that starting it takes. */
static int dry_list(struct cmd *cmd, struct upmu_write *writes, size_t *out_count)
{
    enum upmu_status status = upmu_session_init(&cmd->session, cmd->machine);

    if (status == UPMU_OK)
        status = upmu_set_add(&cmd->session.set, cmd->list, &no_interrupt);
    if (status == UPMU_OK)
        status = dry_writes(cmd, &cmd->session, writes, out_count);
    return status == UPMU_OK ? CMD_OK : cmd_refusal(cmd, status, &cmd->session.why);
}

static int encode_placed(struct cmd *cmd, const struct cmd_args *args)
{
    struct upmu_write writes[CMD_WRITES];
    size_t count = 0;
    int result = dry_list(cmd, writes, &count);

    if (result == CMD_OK) {
        if (args->json)
            cmd_print(cmd, "{\"registers\":[");
        print_event_registers(cmd, writes, count, UPMU_NO_COUNTER, args->json);
        if (args->json)
            cmd_print(cmd, "]}");
    }
    return result;
}

int cmd_encode(struct cmd *cmd, const struct cmd_args *args)
{
    int result = cmd_target_pmu(cmd, args);

    if (result == CMD_OK)
        result = join_operands(cmd, args, 0);
    if (result != CMD_OK)
        return result;
    if (args->json) {
        cmd_print(cmd, "{\"pmu\":\"%s\",\"events\":[", cmd->pmu->name);
    }
    result = args->placed ? encode_placed(cmd, args) : encode_each(cmd, args);
    if (args->json)
        cmd_print(cmd, "]}\n");
    return result;
}

/* The ESCR of NetBurst's counters: even ones are seen by the lower half of a group. */
static bool escr_is_of(unsigned counter, uint32_t address)
{
    bool odd = counter < 12 ? (counter & 2u) != 0 : counter == 14 || counter == 15 || counter == 17;

    return odd == ((address & 1u) != 0);
}

/* Payload registers of this event: written with its value by the whole list's run. */
static void place_resources(struct cmd *cmd, const struct upmu_event *event, unsigned counter,
                            const struct upmu_write *writes, size_t count, bool json)
{
    size_t i;

    for (i = 0; event->payload != 0 && i < count; i++) {
        /* NetBurst: the ESCR on the counter's side that holds the event's select; tagging may have moved its mask. */
        bool escr = cmd->pmu->family == 15;
        uint64_t differs = escr ? (writes[i].value ^ event->config) & 0x7e000000u : writes[i].value ^ event->config1;

        if (!is_payload(cmd->pmu, writes[i].address) || differs != 0 ||
            (escr && !escr_is_of(counter, writes[i].address)))
            continue;
        if (json)
            cmd_print(cmd, "{\"name\":\"%s\",\"value\":\"0x%X\"}", writes[i].name, writes[i].value);
        else
            cmd_print(cmd, "  %s=0x%X", writes[i].name, writes[i].value);
        return;
    }
}

static void place_line(struct cmd *cmd, unsigned index, const struct upmu_write *writes, size_t count, bool json)
{
    const struct upmu_event *event = upmu_set_event(&cmd->session.set, index);
    unsigned counter = cmd->session.set.tally[index].counter;
    char text[200], name[24];

    (void)upmu_event_format(cmd->pmu, event, text, sizeof text);
    (void)upmu_counter_text(cmd->pmu, counter, name, sizeof name);
    if (json) {
        cmd_print(cmd, "%s{\"event\":", index == 0 ? "" : ",");
        cmd_json_text(cmd, text);
        cmd_print(cmd, ",\"counter\":\"%s\",\"resources\":[", name);
        place_resources(cmd, event, counter, writes, count, true);
        cmd_print(cmd, "]}");
        return;
    }
    cmd_print(cmd, "%s", text);
    cmd_column(cmd, 40);
    cmd_print(cmd, " %s", name);
    place_resources(cmd, event, counter, writes, count, false);
    cmd_print(cmd, "\n");
}

static void place_conflict(struct cmd *cmd, const struct upmu_why *why)
{
    char text[300];

    (void)upmu_why_text(why, text, sizeof text);
    cmd_print(cmd, "{\"pmu\":\"%s\",\"conflict\":", cmd->pmu->name);
    cmd_json_text(cmd, text);
    cmd_print(cmd, "}\n");
}

int cmd_place(struct cmd *cmd, const struct cmd_args *args)
{
    struct upmu_write writes[CMD_WRITES];
    struct upmu_dry_run dry = {writes, CMD_WRITES, 0};
    enum upmu_status status;
    unsigned i;
    int result = cmd_target_pmu(cmd, args);

    if (result == CMD_OK)
        result = join_operands(cmd, args, 0);
    if (result != CMD_OK)
        return result;
    status = upmu_session_init(&cmd->session, cmd->machine);
    if (status == UPMU_OK)
        status = upmu_set_add(&cmd->session.set, cmd->list, &no_interrupt);
    if (status == UPMU_OK)
        status = upmu_session_dry_run(&cmd->session, cmd->pmu, &dry);
    if (status != UPMU_OK) {
        if (!args->json)
            return cmd_refusal(cmd, status, &cmd->session.why);
        place_conflict(cmd, &cmd->session.why);
        return CMD_REFUSED;
    }
    if (args->json)
        cmd_print(cmd, "{\"pmu\":\"%s\",\"events\":[", cmd->pmu->name);
    for (i = 0; i < cmd->session.set.count; i++)
        place_line(cmd, i, writes, dry.count < CMD_WRITES ? dry.count : CMD_WRITES, args->json);
    if (args->json)
        cmd_print(cmd, "]}\n");
    return CMD_OK;
}

int cmd_wrmsr(struct cmd *cmd, const struct cmd_args *args)
{
    struct upmu_write writes[CMD_WRITES];
    size_t count = 0, i;
    int result;

    if (!cmd_equal(args->operand[0], "list")) {
        cmd_error(cmd, "wrmsr only lists: '%s wrmsr list SPEC...'", cmd->program);
        return CMD_USAGE;
    }
    result = cmd_target_pmu(cmd, args);
    if (result == CMD_OK)
        result = join_operands(cmd, args, 1);
    if (result == CMD_OK)
        result = dry_list(cmd, writes, &count);
    for (i = 0; result == CMD_OK && i < count; i++)
        cmd_print(cmd, "wrmsr 0x%x 0x%X # %s\n", (unsigned)writes[i].address, writes[i].value, writes[i].name);
    return result;
}
