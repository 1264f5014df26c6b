/* SPDX-License-Identifier: MIT */
/*
 * The tools of PMCTools: pmcstat, setevent, setpce, keepawake.  pmcstat is one program for all families; called as
 * pmcstat_p4 it is for a Pentium 4 alone.
 */
#include <tools/cmd/cmd_args.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/permit.h>
#include <upmu/session.h>
#include <upmu/set.h>

#define PMC_WRITES 64

/* A class of counters, and the CPU that is simulated where there is no PMU. */
struct pmc_class {
    const char *name;
    const char *pmus; /* begins the names of its PMUs; "": Intel's with architectural counters */
    const char *about;
    const char *sim;
};

static const struct pmc_class pmc_classes[] = {{"p4", "netburst", "a Pentium 4", "northwood"},
                                               {"k7", "amd64_k7", "an Athlon", "k7"},
                                               {"k8", "amd64_k8", "an Athlon 64 or Opteron", "k8_revf"},
                                               {"iaf", "", "Intel Core and later", "core2"},
                                               {"iap", "", "Intel Core and later", "core2"}};

static bool pmc_begins(const char *text, const char *begin)
{
    while (*begin != '\0' && *text == *begin)
        text++, begin++;
    return *begin == '\0';
}

static const struct pmc_class *pmc_class_find(const char *name)
{
    for (unsigned i = 0; i < sizeof pmc_classes / sizeof pmc_classes[0]; i++)
        if (cmd_equal(pmc_classes[i].name, name))
            return &pmc_classes[i];
    return NULL;
}

static bool pmc_class_has(const struct pmc_class *class, const struct upmu_pmu *pmu)
{
    return class->pmus[0] != '\0' ? pmc_begins(pmu->name, class->pmus)
                                  : pmu->version != 0 && !pmc_begins(pmu->name, "amd64_");
}

const char *cmd_pmc_class_at(unsigned index)
{
    return index < sizeof pmc_classes / sizeof pmc_classes[0] ? pmc_classes[index].name : NULL;
}

const char *cmd_pmc_class(const char *program)
{
    const char *name = program;

    for (; *program != '\0'; program++)
        if (*program == '/')
            name = program + 1;
    if (!pmc_begins(name, "pmcstat"))
        return NULL;
    if (name[7] == '\0')
        return "";
    return name[7] == '_' && pmc_class_find(name + 8) != NULL ? name + 8 : NULL;
}

/* Is the word the index of a row? */
static bool pmc_is_index(const char *word)
{
    uint64_t number;

    return cmd_number(word, &number) && word[0] >= '0' && word[0] <= '9';
}

/* The words as cmd->list, what was typed, for messages and titles. */
static void pmc_name(struct cmd *cmd, const struct cmd_args *args, unsigned words)
{
    size_t used = 0;

    for (unsigned i = 0; i < words; i++) {
        const char *text = args->operand[i];

        if (i != 0 && used + 1 < sizeof cmd->list)
            cmd->list[used++] = ' ';
        for (; *text != '\0' && used + 1 < sizeof cmd->list; text++)
            cmd->list[used++] = *text;
    }
    cmd->list[used] = '\0';
}

/* Rows of fixed counters are asked for by the class, or by the name of FreeBSD's enumerator. */
static bool pmc_is_fixed(const struct pmc_class *class, const struct upmu_event *event, uint32_t general,
                         const char *spec)
{
    return (class != NULL && cmd_equal(class->name, "iaf")) || pmc_begins(spec, "PMC_EV_IAF_") ||
           (event->counters & general) == 0;
}

/* The event of the operands `[INDEX] SPEC`, on the counter with this index; `*out_used` operands were taken. */
static int pmc_event(struct cmd *cmd, const struct cmd_args *args, const struct pmc_class *class,
                     struct upmu_event *event, unsigned *out_used)
{
    bool indexed = args->count > 1 && pmc_is_index(args->operand[0]), fixed;
    const char *text = args->operand[indexed];
    struct upmu_why why;
    uint64_t index = 0;
    uint32_t kind;
    unsigned rows = 0;
    enum upmu_status status = upmu_event_parse(cmd->pmu, text, event, &why);

    *out_used = 1u + indexed;
    pmc_name(cmd, args, *out_used);
    if (status != UPMU_OK)
        return cmd_refusal(cmd, status, &why);
    fixed = pmc_is_fixed(class, event, cmd->pmu->general, text);
    kind = fixed ? cmd->pmu->counters & ~cmd->pmu->general & ~UPMU_METRIC_COUNTERS(cmd->pmu) : cmd->pmu->general;
    if ((event->counters & kind) == 0) {
        cmd_error(cmd, "'%s' has no fixed counter", text);
        return CMD_REFUSED;
    }
    event->counters &= kind;
    if (!indexed)
        return CMD_OK;
    for (uint32_t rest = fixed ? kind >> UPMU_FIXED_COUNTER(0) : kind; rest != 0; rest >>= 1)
        rows++; /* a number between may have no counter */
    if (!cmd_number(args->operand[0], &index) || index >= rows) {
        cmd_error(cmd, "row %U: %s has 0 to %u", index, cmd->pmu->title, rows - 1);
        return CMD_REFUSED;
    }
    event->pin = (fixed ? UPMU_FIXED_COUNTER(index) : index) & 31u;
    event->attributes |= UPMU_ATTR_PIN;
    event->counters &= UINT32_C(1) << event->pin;
    if (event->counters != 0)
        return CMD_OK;
    cmd_error(cmd, "row %U cannot count '%s'", index, text);
    return CMD_REFUSED;
}

/* ---- pmcstat ---- */

/* To the file, if one is asked for, else to the screen. */
static void pmcstat_line(struct cmd *cmd, struct cmd_watch *watch, uint64_t microseconds)
{
    uint64_t now = cmd->counts[0].value;

    if (watch->to_file)
        watch->full |= !cmd_file_print(cmd, "%U\t%U\t%U\n", microseconds, now - watch->last[0], now);
    else
        cmd_print(cmd, "%12U us %18G %18G\n", microseconds, now - watch->last[0], now);
}

/* The workload's thread is preempted: what runs instead is not its events. */
static enum upmu_status pmcstat_between(struct cmd *cmd, struct cmd_watch *watch)
{
    enum upmu_status status = upmu_thread_switch(cmd->cpu, &cmd->thread[0], &cmd->thread[1]);

    (void)watch;
    if (status == UPMU_OK) {
        cmd_workload_run(cmd, cmd_workload_find("spin"), 100);
        status = upmu_thread_switch(cmd->cpu, &cmd->thread[1], &cmd->thread[0]);
    }
    return status;
}

static enum upmu_status pmcstat_count(struct cmd *cmd, const struct cmd_args *args, struct cmd_watch *watch,
                                      const struct cmd_workload *workload)
{
    enum upmu_status status, ended;

    status = args->process ? upmu_session_attach_thread(&cmd->session, &cmd->thread[0], cmd->cpu)
                           : upmu_session_attach_cpu(&cmd->session, cmd->cpu);
    if (status != UPMU_OK)
        return status;
    cmd_workload_prepare(cmd);
    status = upmu_session_start(&cmd->session);
    if (status == UPMU_OK)
        status = cmd_watch_run(cmd, watch, workload, args->iterations != 0 ? args->iterations : workload->iterations);
    ended = upmu_session_stop(&cmd->session);
    if (status == UPMU_OK)
        status = ended;
    if (status == UPMU_OK)
        status = upmu_set_read(&cmd->session.set, 0, 1, cmd->counts);
    ended = upmu_session_detach(&cmd->session);
    return status == UPMU_OK ? ended : status;
}

static int pmcstat_store(struct cmd *cmd, const struct cmd_watch *watch, const char *name)
{
    if (watch->full)
        cmd_error(cmd, "%s holds the first lines only", name);
    if (cmd->sink->write_file != NULL && cmd->sink->write_file(cmd->sink->context, name, cmd->file, cmd->file_bytes))
        return CMD_OK;
    cmd_error(cmd, "cannot write %s", name);
    return CMD_REFUSED;
}

static int pmcstat_on_target(struct cmd *cmd, const struct cmd_args *args, const struct pmc_class *class)
{
    struct cmd_watch watch = {.ms = args->interval != 0 ? args->interval : 1000,
                              .line = pmcstat_line,
                              .between = args->process ? pmcstat_between : NULL,
                              .to_file = args->out != NULL};
    const struct cmd_workload *workload;
    struct upmu_event event;
    enum upmu_status status;
    unsigned used = 0;
    int result;

    if (class != NULL && !pmc_class_has(class, cmd->pmu)) {
        cmd_error(cmd, "class %s is %s; this is %s", class->name, class->about, cmd->pmu->title);
        return CMD_REFUSED;
    }
    result = pmc_event(cmd, args, class, &event, &used);
    if (result != CMD_OK)
        return result;
    workload = cmd_workload_find(used < args->count ? args->operand[used] : "mix");
    if (workload == NULL || used + 1 < args->count) {
        cmd_error(cmd, "no workload '%s'", args->operand[args->count - 1]);
        return CMD_USAGE;
    }
    if (!cmd_watch_ready(cmd))
        return CMD_REFUSED;
    upmu_thread_init(&cmd->thread[0], 1, 1, NULL);
    upmu_thread_init(&cmd->thread[1], 2, 2, NULL);
    cmd->file_bytes = 0;
    if (watch.to_file)
        watch.full = !cmd_file_print(cmd, "# %s: microseconds, events of the interval, of all\n", cmd->list);
    status = upmu_session_init(&cmd->session, cmd->machine);
    if (status == UPMU_OK)
        status = upmu_set_add_event(&cmd->session.set, &event, NULL);
    if (status == UPMU_OK)
        status = pmcstat_count(cmd, args, &watch, workload);
    if (status != UPMU_OK)
        return cmd_refusal(cmd, status, &cmd->session.why);
    cmd_print(cmd, "%U %s\n", cmd->counts[0].value, cmd->list);
    return watch.to_file ? pmcstat_store(cmd, &watch, args->out) : CMD_OK;
}

int cmd_pmcstat(struct cmd *cmd, const struct cmd_args *args)
{
    const struct pmc_class *class = args->class != NULL ? pmc_class_find(args->class) : NULL;
    const char *otherwise = cmd->default_sim;
    int result;

    if (args->class != NULL && class == NULL) {
        cmd_error(cmd, "no class '%s': p4, k7, k8, iaf, iap", args->class);
        return CMD_USAGE;
    }
    if (class != NULL)
        cmd->default_sim = class->sim;
    result = cmd_target_open(cmd, args);
    cmd->default_sim = otherwise;
    if (result != CMD_OK)
        return result;
    result = pmcstat_on_target(cmd, args, class);
    cmd_target_close(cmd);
    return result;
}

/* ---- setevent ---- */

/* The write through the allow-list; bits of a shared register beside those of others. */
static bool setevent_write(struct cmd *cmd, uint32_t mine, uint32_t msr, uint64_t value, bool dry)
{
    const struct upmu_port *port = cmd->port;
    size_t count = upmu_permit_list(cmd->pmu, cmd->permits, UPMU_PERMITS);
    uint64_t present = 0;
    bool shared = upmu_permit_merge(cmd->permits, count, mine, UPMU_LEVEL_SESSION, msr, 0, &(uint64_t){0});

    if (shared && !dry && !port->rdmsr(port->context, msr, &present))
        present = 0;
    /* A register that belongs to no counter, as an ESCR, is the tool's, which has the machine to itself. */
    if (shared ? !upmu_permit_merge(cmd->permits, count, mine, UPMU_LEVEL_SESSION, msr, present, &value)
               : !upmu_permit_check(cmd->permits, count, cmd->pmu->counters, UPMU_LEVEL_SESSION, msr, &value)) {
        cmd_error(cmd, "0x%x = 0x%X is not permitted", (unsigned)msr, value);
        return false;
    }
    cmd_print(cmd, "wrmsr 0x%x 0x%X\n", (unsigned)msr, value);
    if (dry || port->wrmsr(port->context, msr, value))
        return true;
    cmd_error(cmd, "WRMSR 0x%x faults", (unsigned)msr);
    return false;
}

/* The counter at 0, then what the event needs, its gate last, as a dry run lists them. */
static int setevent_event(struct cmd *cmd, const struct upmu_event *event, bool dry)
{
    struct upmu_write writes[PMC_WRITES];
    struct upmu_dry_run run = {writes, PMC_WRITES, 0};
    const struct upmu_sampling counts_only = {.flags = UPMU_SAMPLING_WRAP}; /* no handler would serve it */
    enum upmu_status status = upmu_session_init(&cmd->session, cmd->machine);
    uint32_t mine;
    unsigned counter;

    if (status == UPMU_OK)
        status = upmu_set_add_event(&cmd->session.set, event, &counts_only);
    if (status == UPMU_OK)
        status = upmu_session_dry_run(&cmd->session, cmd->pmu, &run);
    if (status != UPMU_OK)
        return cmd_refusal(cmd, status, &cmd->session.why);
    counter = cmd->session.set.tally[0].counter;
    mine = UINT32_C(1) << counter;
    if (!dry) {
        status = upmu_cpu_reserve(cmd->cpu, mine);
        if (status != UPMU_OK)
            return cmd_refusal(cmd, status, NULL);
    }
    if (!setevent_write(cmd, mine, upmu_register_address(cmd->pmu, cmd->pmu->counter[counter].write_row), 0, dry))
        return CMD_REFUSED;
    for (size_t i = 0; i < run.count && i < PMC_WRITES; i++)
        if (writes[i].address != upmu_register_address(cmd->pmu, cmd->pmu->ack_row) &&
            !setevent_write(cmd, mine, writes[i].address, writes[i].value, dry))
            return CMD_REFUSED;
    cmd_print(cmd, "rdpmc 0x%x\n", (unsigned)cmd->pmu->counter[counter].rdpmc);
    return CMD_OK;
}

int cmd_setevent(struct cmd *cmd, const struct cmd_args *args)
{
    struct upmu_event event;
    unsigned used;
    int result = args->dry ? cmd_target_pmu(cmd, args) : cmd_target_open(cmd, args);

    if (result != CMD_OK)
        return result;
    result = pmc_event(cmd, args, NULL, &event, &used);
    if (result == CMD_OK && (used != args->count || used != 2)) {
        cmd_error(cmd, "usage: setevent INDEX SPEC");
        result = CMD_USAGE;
    }
    if (result == CMD_OK)
        result = setevent_event(cmd, &event, args->dry);
    if (!args->dry)
        cmd_target_close(cmd);
    return result;
}

int cmd_permits(struct cmd *cmd, const struct cmd_args *args)
{
    int result = cmd_target_pmu(cmd, args);
    size_t count;

    if (result != CMD_OK)
        return result;
    count = upmu_permit_list(cmd->pmu, cmd->permits, UPMU_PERMITS);
    cmd_print(cmd, "/* What a program may write: %s.  Made by 'upmu permits --pmu %s'. */\n", cmd->pmu->title,
              cmd->pmu->name);
    cmd_print(cmd, "#include <upmu/permit.h>\n\nconst struct upmu_permit permit_rows[] = {\n");
    for (size_t i = 0; i < count; i++) {
        const struct upmu_permit *row = &cmd->permits[i];

        cmd_print(cmd, "    {0x%x, 0x%x, %u, 0x%x, 0x%X, 0x%X},\n", (unsigned)row->address, (unsigned)row->counters,
                  (unsigned)row->flags, (unsigned)row->beyond, row->session, row->privileged);
    }
    cmd_print(cmd, "};\nconst size_t permit_count = sizeof permit_rows / sizeof permit_rows[0];\n");
    return CMD_OK;
}

/* ---- setpce ---- */

/* RDPMC of counter 0 as a program would execute it. */
static bool setpce_try(struct cmd *cmd, bool *out_allowed)
{
    uint64_t value;

    if (cmd->simulated) {
        cmd->sim.cpu[0].user = true;
        *out_allowed = cmd->port->rdpmc(cmd->port->context, 0, &value);
        cmd->sim.cpu[0].user = false;
        return true;
    }
    if (cmd->live->rdpmc_of_user == NULL)
        return false;
    *out_allowed = cmd->live->rdpmc_of_user(cmd->live->program, 0, &value);
    return true;
}

int cmd_setpce(struct cmd *cmd, const struct cmd_args *args)
{
    bool on = cmd_equal(args->operand[0], "on"), allowed = false;
    int result;

    if (!on && !cmd_equal(args->operand[0], "off")) {
        cmd_error(cmd, "usage: setpce on|off");
        return CMD_USAGE;
    }
    result = cmd_target_open(cmd, args);
    if (result != CMD_OK)
        return result;
    if (cmd->simulated) {
        cmd->sim.cpu[0].cr4_pce = on;
    } else if (cmd->port->allow_rdpmc == NULL) {
        cmd_error(cmd, "this port cannot write CR4");
        result = CMD_REFUSED;
    } else {
        cmd->port->allow_rdpmc(cmd->port->context, on);
    }
    if (result == CMD_OK && setpce_try(cmd, &allowed)) {
        cmd_print(cmd, "RDPMC in user mode %s\n", allowed ? "reads counters" : "faults");
        if (allowed != on) {
            cmd_error(cmd, "CR4.PCE does not do what was asked");
            result = CMD_REFUSED;
        }
    } else if (result == CMD_OK) {
        cmd_print(cmd, "CR4.PCE is %s; nothing here runs in user mode to try it\n", on ? "set" : "clear");
    }
    cmd_target_close(cmd);
    return result;
}

/* ---- keepawake ---- */

#define AWAKE_EVENTS UINT64_C(100000)

/* Traffic of a device through the northbridge while the core is asleep or awake; of the model only. */
static void awake_traffic(struct cmd *cmd, const struct upmu_event *event, bool asleep)
{
    struct upmu_sim_burst burst = {0};

    burst.other[0] = (struct upmu_sim_other){.event = (uint8_t)event->config,
                                             .high = (uint8_t)(event->config >> 32 & 0xfu),
                                             .umask = (uint8_t)(event->config >> 8),
                                             .unit = UPMU_SIM_UNIT_NB,
                                             .count = AWAKE_EVENTS};
    cmd->sim.cpu[0].halted = asleep;
    upmu_sim_events(&cmd->sim, &burst);
    cmd->sim.cpu[0].halted = false;
}

static enum upmu_status awake_count(struct cmd *cmd, const struct upmu_event *event, bool asleep, uint64_t *out_value)
{
    enum upmu_status status = upmu_session_init(&cmd->session, cmd->machine), ended;

    if (status == UPMU_OK)
        status = upmu_set_add_event(&cmd->session.set, event, NULL);
    if (status == UPMU_OK)
        status = upmu_session_attach_cpu(&cmd->session, cmd->cpu);
    if (status != UPMU_OK)
        return status;
    status = upmu_session_start(&cmd->session);
    if (status == UPMU_OK) {
        awake_traffic(cmd, event, asleep);
        status = upmu_session_stop(&cmd->session);
    }
    if (status == UPMU_OK)
        status = upmu_set_read(&cmd->session.set, 0, 1, cmd->counts);
    *out_value = cmd->counts[0].value;
    ended = upmu_session_detach(&cmd->session);
    return status == UPMU_OK ? ended : status;
}

int cmd_keepawake(struct cmd *cmd, const struct cmd_args *args)
{
    uint64_t asleep = 0, awake = 0;
    struct upmu_event event;
    enum upmu_status status;
    unsigned used;
    int result = cmd_target_open(cmd, args);

    if (result != CMD_OK)
        return result;
    result = pmc_event(cmd, args, NULL, &event, &used);
    if (result == CMD_OK && !cmd->simulated) {
        cmd_error(cmd, "this program never halts the CPU; simulate one with --sim, for example --sim k8_revf");
        result = CMD_REFUSED;
    }
    if (result == CMD_OK) {
        status = awake_count(cmd, &event, true, &asleep);
        if (status == UPMU_OK)
            status = awake_count(cmd, &event, false, &awake);
        if (status != UPMU_OK)
            result = cmd_refusal(cmd, status, &cmd->session.why);
        else
            cmd_print(cmd, "%18G  while the core halts\n%18G  while it is kept awake\n", asleep, awake);
    }
    cmd_target_close(cmd);
    return result;
}
