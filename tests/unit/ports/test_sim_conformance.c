/* SPDX-License-Identifier: MIT */
/*
 * The silicon model against what is known about the hardware: runs the cases of
 * tests/conformance/intel_msrs.tsv, p4_cases.tsv and amd_msrs.tsv on the model, through
 * the hooks and without the library; then switches each of the model's rules to its other side, which
 * some case has to notice.
 *
 * The cases are the guest engine's, too: in a guest of the same shape they see the same registers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include "tests/common/assertions.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/sim/sim.h"
#include "tests/guest/nest.c"

#define MAX_LINES 4000
#define MAX_FIELDS 7

enum field { FIELD_CASE, FIELD_PROFILES, FIELD_STEP, FIELD_WHAT, FIELD_VALUE, FIELD_EXPECT, FIELD_SOURCE };

struct line {
    const char *file;
    unsigned number;
    const char *field[MAX_FIELDS];
};

/* Memory for PEBS: linear addresses from MEMORY_LINEAR on, and physical ones from MEMORY_PHYSICAL on. */
#define MEMORY_BYTES 0x6000u
#define MEMORY_LINEAR 0x100000u
#define MEMORY_PHYSICAL 0x200000u

struct machine {
    struct upmu_sim sim;
    uint8_t memory[MEMORY_BYTES];
    struct upmu_sim_profile profile;
    const char *handler; /* what the interrupt handler does */
    unsigned interrupts;
    uint64_t ip;
    char failure[400];
    struct nest *guest; /* NULL: the model itself */
};

static const char *const cases_files[] = {"tests/conformance/intel_msrs.tsv", "tests/conformance/p4_cases.tsv",
                                          "tests/conformance/amd_msrs.tsv"};
#define CASES_FILES (sizeof cases_files / sizeof cases_files[0])

static char *cases_text[CASES_FILES];
static struct line cases[MAX_LINES];
static unsigned case_lines;

static int load_file(const char *name, char **text)
{
    FILE *file = fopen(name, "r");
    unsigned number = 0;
    char *next;

    if (file == NULL) {
        printf("%s not found: run this from the top of the source tree\n", name);
        return -1;
    }
    *text = calloc(1, 1 << 18);
    if (fread(*text, 1, (1 << 18) - 1, file) == 0)
        return -1;
    fclose(file);
    for (char *at = *text; *at != '\0'; at = next) {
        struct line *line = &cases[case_lines];

        next = at + strcspn(at, "\n");
        if (*next == '\n')
            *next++ = '\0';
        number++;
        if (*at == '#' || *at == '\0')
            continue;
        line->file = name;
        line->number = number;
        for (unsigned i = 0; i < MAX_FIELDS; i++) {
            line->field[i] = at;
            at += strcspn(at, "\t");
            if (*at == '\t')
                *at++ = '\0';
        }
        case_lines++;
        if (case_lines == MAX_LINES)
            return -1;
    }
    return 0;
}

static int load_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES_FILES; i++) {
        if (load_file(cases_files[i], &cases_text[i]) != 0)
            return -1;
    }
    return 0;
}

static int free_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES_FILES; i++)
        free(cases_text[i]);
    return 0;
}

/* ---- One step ---- */

static uint64_t number_of(const struct machine *machine, const char *text, unsigned width)
{
    uint64_t value;

    (void)machine;
    if (*text == '~') {
        value = strtoull(text + 1, NULL, 16);
        value = (value ^ 0x80000000u) - 0x80000000u;
        return value & ((UINT64_C(1) << width) - 1);
    }
    if (*text == '-')
        return (0 - strtoull(text + 1, NULL, 16)) & ((UINT64_C(1) << width) - 1);
    if (strcmp(text, "=cap") == 0)
        return machine->profile.capabilities;
    return strtoull(text, NULL, 16);
}

static bool failed(struct machine *machine, const struct line *line, const char *what, uint64_t got)
{
    snprintf(machine->failure, sizeof machine->failure, "%s:%u (%s) %s: got 0x%llx", line->file, line->number,
             machine->profile.name, what, (unsigned long long)got);
    return false;
}

static void handle_interrupt(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct machine *machine = sim->test;

    machine->ip = interrupt->ip;
    if (machine->interrupts++ != 0)
        return;
    if (strcmp(machine->handler, "overflow") == 0) {
        sim->port.pmi_rearm(sim->port.context);
        upmu_sim_poke(sim, cpu, 0xc1, (UINT64_C(1) << machine->profile.general_width) - 1);
        upmu_sim_events(sim, &(struct upmu_sim_burst){.instructions = 1});
    } else if (strcmp(machine->handler, "foreign") == 0) {
        upmu_sim_foreign_nmi(sim);
        upmu_sim_foreign_nmi(sim);
    }
}

/* The bytes at an address; NULL: there is no memory. */
static uint8_t *memory_at(struct machine *machine, bool physical, uint64_t address)
{
    uint64_t offset = address - (physical ? MEMORY_PHYSICAL : MEMORY_LINEAR);

    return offset < MEMORY_BYTES - 7u ? machine->memory + offset : NULL;
}

static bool access_memory(struct upmu_sim *sim, unsigned cpu, enum upmu_sim_memory_kind kind, uint64_t address,
                          uint8_t *bytes, uint32_t length)
{
    uint8_t *at = memory_at(sim->test, kind & UPMU_SIM_MEMORY_PHYSICAL, address);

    (void)cpu;
    if (at != NULL)
        memcpy(kind & UPMU_SIM_MEMORY_WRITE ? at : bytes, kind & UPMU_SIM_MEMORY_WRITE ? bytes : at, length);
    return at != NULL;
}

/* A word of the memory, by its linear address. */
static uint64_t memory_word(struct machine *machine, const char *address)
{
    const uint8_t *at = memory_at(machine, false, strtoull(address, NULL, 16));
    uint64_t word;

    if (at == NULL)
        fail_msg("no memory at %s", address);
    memcpy(&word, at, sizeof word);
    return word;
}

static bool step_access(struct machine *machine, const struct line *line)
{
    const struct upmu_port *port = machine->guest ? &machine->guest->port : &machine->sim.port;
    uint32_t address = (uint32_t)strtoul(line->field[FIELD_WHAT], NULL, 16);
    const char *expect = line->field[FIELD_EXPECT];
    bool p4 = machine->profile.flags & UPMU_SIM_P4;
    bool fixed = !p4 && ((address >= 0x309 && address < 0x320) || address >> 30 == 1);
    unsigned width = fixed ? machine->profile.fixed_width : machine->profile.general_width;
    uint64_t value = 0;
    bool done;

    if (line->field[FIELD_STEP][0] == 'w') {
        value = number_of(machine, line->field[FIELD_VALUE], width);
        done = port->wrmsr(port->context, address, value);
        return done == (strcmp(expect, "ok") == 0) || failed(machine, line, done ? "accepted" : "#GP", value);
    }
    if (line->field[FIELD_STEP][0] == 'r')
        done = port->rdmsr(port->context, address, &value);
    else
        done = port->rdpmc(port->context, address, &value);
    if (strcmp(expect, "gp") == 0)
        return !done || failed(machine, line, "no #GP", value);
    if (!done)
        return failed(machine, line, "#GP", 0);
    return value == number_of(machine, expect, width) || failed(machine, line, "value", value);
}

static void set_burst(struct upmu_sim_burst *burst, const char *key, uint64_t value)
{
    static const struct {
        const char *key;
        size_t offset;
    } streams[] = {
        {"instructions", offsetof(struct upmu_sim_burst, instructions)},
        {"cycles", offsetof(struct upmu_sim_burst, cycles)},
        {"ref", offsetof(struct upmu_sim_burst, ref_cycles)},
        {"bus", offsetof(struct upmu_sim_burst, bus_cycles)},
        {"branches", offsetof(struct upmu_sim_burst, branches)},
        {"mispredicts", offsetof(struct upmu_sim_burst, mispredicts)},
        {"llcref", offsetof(struct upmu_sim_burst, llc_references)},
        {"llcmiss", offsetof(struct upmu_sim_burst, llc_misses)},
        {"slots", offsetof(struct upmu_sim_burst, slots)},
        {"bad", offsetof(struct upmu_sim_burst, bad_slots)},
        {"frontend", offsetof(struct upmu_sim_burst, frontend_slots)},
        {"retiring", offsetof(struct upmu_sim_burst, retiring_slots)},
        {"metrics", offsetof(struct upmu_sim_burst, metrics)},
        {"payload", offsetof(struct upmu_sim_burst, other[0].payload)},
        {"uops", offsetof(struct upmu_sim_burst, uops)},
        {"loads", offsetof(struct upmu_sim_burst, loads)},
        {"stores", offsetof(struct upmu_sim_burst, stores)},
    };

    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        if (strcmp(streams[i].key, key) == 0) {
            memcpy((char *)burst + streams[i].offset, &value, sizeof value);
            return;
        }
    }
    if (strcmp(key, "ip") == 0)
        burst->ip = value;
    else if (strcmp(key, "data") == 0)
        burst->data = value;
    else if (strcmp(key, "per_cycle") == 0)
        burst->per_cycle = (uint32_t)value;
    else if (strcmp(key, "runs") == 0)
        burst->runs = (uint32_t)value;
    else if (strcmp(key, "umask2") == 0)
        burst->other[0].umask2 = (uint8_t)value;
    else if (strcmp(key, "counters") == 0)
        burst->other[0].counters = (uint32_t)value;
    else if (strcmp(key, "high") == 0)
        burst->other[0].high = (uint8_t)value;
    else if (strcmp(key, "unit") == 0)
        burst->other[0].unit = (uint8_t)value;
    else if (strcmp(key, "user") == 0)
        burst->user = value != 0;
    else if (strcmp(key, "smm") == 0)
        burst->smm = value != 0;
    else if (strcmp(key, "in_tx") == 0)
        burst->in_tx = value != 0;
    else if (strcmp(key, "abort") == 0)
        burst->tx_abort = value != 0;
    else if (strcmp(key, "xmask") == 0)
        burst->other[0].mask = (uint16_t)value;
    else if (strcmp(key, "xmatrix") == 0)
        burst->other[0].matrix = (uint16_t)value;
    else if (key[0] == 'x' && strlen(key) == 6) {
        uint32_t code = (uint32_t)strtoul(key + 1, NULL, 16); /* ESCR, class */

        burst->other[0].escr = (uint16_t)(code >> 8);
        burst->other[0].event = (uint8_t)code;
        burst->other[0].count = value;
    } else if (key[0] == 'e' && strlen(key) == 5) {
        uint32_t code = (uint32_t)strtoul(key + 1, NULL, 16); /* event, umask */

        burst->other[0].event = (uint8_t)(code >> 8);
        burst->other[0].umask = (uint8_t)code;
        burst->other[0].count = value;
    } else {
        fail_msg("no such key in a burst: %s", key);
    }
}

static void step_run(struct machine *machine, const char *text)
{
    struct upmu_sim_burst burst = {.ip_step = 1};
    char copy[200];
    char *at = copy;

    snprintf(copy, sizeof copy, "%s", text);
    while (*at != '\0') {
        char *key = at;
        char *end;

        at += strcspn(at, "=");
        *at++ = '\0';
        set_burst(&burst, key, strtoull(at, &end, 16));
        at = *end == ',' ? end + 1 : end;
    }
    if (machine->guest)
        nest_run(machine->guest, &burst);
    else
        upmu_sim_events(&machine->sim, &burst);
}

/* "from=...,to=...,kind=...": kind by its number, flags by their names. */
static void step_branch(struct machine *machine, const char *text)
{
    struct upmu_sim_branch branch = {.from = 0};
    const char *at = text;

    while (*at != '\0') {
        size_t length = strcspn(at, "=");
        char *end;
        uint64_t value = strtoull(at + length + 1, &end, 16);

        if (strncmp(at, "from", length) == 0)
            branch.from = value;
        else if (strncmp(at, "to", length) == 0)
            branch.to = value;
        else if (strncmp(at, "kind", length) == 0)
            branch.kind = (enum upmu_sim_branch_kind)value;
        else if (strncmp(at, "cycles", length) == 0)
            branch.cycles = (uint16_t)value;
        else if (strncmp(at, "flags", length) == 0) {
            branch.mispredicted = value & 4;
            branch.in_tx = value & 2;
            branch.abort = value & 1;
        } else if (strncmp(at, "amd", length) == 0) {
            branch.wrong_path = value & 4;
            branch.speculative = value & 2;
            branch.reserved = value & 1;
        } else {
            fail_msg("no such key of a branch: %s", at);
        }
        at = *end == ',' ? end + 1 : end;
    }
    upmu_sim_branch(&machine->sim, &branch);
}

/* The word of a leaf of CPUID, by its number from EAX to EDX. */
static uint32_t cpuid_word(struct machine *machine, const char *leaf, const char *word)
{
    uint32_t out[4];

    machine->sim.port.cpuid(machine->sim.port.context, (uint32_t)strtoul(leaf, NULL, 16), 0, out);
    return out[strtoul(word, NULL, 16) & 3u];
}

/* Bit flips of PERF_CAPABILITIES, the value itself and 0 (KST vmx_pmu_caps_test.c). */
static bool step_capwrites(struct machine *machine, const struct line *line)
{
    const struct upmu_port *port = machine->guest ? &machine->guest->port : &machine->sim.port;
    uint64_t present = machine->profile.capabilities;

    if (port->wrmsr(port->context, 0x345, present) || port->wrmsr(port->context, 0x345, 0))
        return failed(machine, line, "accepted", present);
    for (unsigned bit = 0; bit < 64; bit++) {
        if (port->wrmsr(port->context, 0x345, present ^ UINT64_C(1) << bit))
            return failed(machine, line, "accepted", UINT64_C(1) << bit);
    }
    return true;
}

static bool check_equal(struct machine *machine, const struct line *line, uint64_t got)
{
    return got == strtoull(line->field[FIELD_EXPECT], NULL, 16) || failed(machine, line, line->field[FIELD_STEP], got);
}

static bool step_check(struct machine *machine, const struct line *line, bool *out_known)
{
    struct upmu_sim *sim = &machine->sim;
    const struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];
    const char *step = line->field[FIELD_STEP];
    uint32_t violations = sim->violation_count;

    *out_known = true;
    if (strcmp(step, "pmis") == 0)
        return check_equal(machine, line, machine->interrupts);
    if (strcmp(step, "load") == 0)
        return check_equal(machine, line, memory_word(machine, line->field[FIELD_WHAT]));
    if (strcmp(step, "cpuid") == 0)
        return check_equal(machine, line, cpuid_word(machine, line->field[FIELD_WHAT], line->field[FIELD_VALUE]));
    if (strcmp(step, "records") == 0)
        return check_equal(machine, line, cpu->pebs_records);
    if (strcmp(step, "requests") == 0)
        return check_equal(machine, line, cpu->pmi_requests);
    if (strcmp(step, "lvt") == 0)
        return check_equal(machine, line, cpu->lvtpc);
    if (strcmp(step, "ip") == 0)
        return check_equal(machine, line, machine->ip);
    if (strcmp(step, "capwrites") == 0)
        return step_capwrites(machine, line);
    if (strcmp(step, "violations") == 0) {
        upmu_sim_forget(sim);
        return check_equal(machine, line, violations);
    }
    *out_known = false;
    return true;
}

static void step_set(struct machine *machine, const struct line *line)
{
    struct upmu_sim *sim = &machine->sim;
    struct upmu_sim_cpu *cpu = &sim->cpu[sim->current];
    const char *step = line->field[FIELD_STEP];
    const char *what = line->field[FIELD_WHAT];
    uint64_t value = strtoull(what, NULL, 16);

    if (strcmp(step, "run") == 0)
        step_run(machine, what);
    else if (strcmp(step, "branch") == 0)
        step_branch(machine, what);
    else if (strcmp(step, "rearm") == 0)
        sim->port.pmi_rearm(sim->port.context);
    else if (strcmp(step, "cpu") == 0)
        upmu_sim_switch_cpu(sim, (unsigned)value);
    else if (strcmp(step, "irqs") == 0)
        upmu_sim_irqs(sim, value != 0);
    else if (strcmp(step, "user") == 0)
        cpu->user = value != 0;
    else if (strcmp(step, "halt") == 0)
        cpu->halted = value != 0;
    else if (strcmp(step, "guest") == 0)
        cpu->guest = value != 0;
    else if (strcmp(step, "poke") == 0)
        upmu_sim_poke(sim, sim->current, (uint32_t)value, strtoull(line->field[FIELD_VALUE], NULL, 16));
    else if (strcmp(step, "pce") == 0)
        cpu->cr4_pce = value != 0;
    else if (strcmp(step, "handler") == 0)
        machine->handler = what;
    else if (strcmp(step, "lag") == 0)
        sim->status_lag = (uint32_t)value;
    else if (strcmp(step, "skid") == 0)
        sim->skid = (uint32_t)value;
    else if (strcmp(step, "cap") == 0)
        machine->profile.capabilities = (uint32_t)value;
    else if (strcmp(step, "narrow") == 0)
        machine->profile.flags |= UPMU_SIM_NARROW_DS;
    else if (strcmp(step, "enter") == 0)
        upmu_sim_enter_guest(sim);
    else if (strcmp(step, "leave") == 0)
        upmu_sim_leave_guest(sim);
    else if (strcmp(step, "signature") == 0)
        machine->profile.signature = (uint32_t)value;
    else if (strcmp(step, "expect") == 0)
        sim->expect_faults = value != 0;
    else if (strcmp(step, "safe") == 0)
        sim->port.msr_faults_are_safe = value != 0;
    else if (strcmp(step, "forced") == 0)
        sim->forced = value != 0;
    else if (strcmp(step, "delivery") == 0)
        upmu_sim_set_delivery(sim, sim->current, (uint32_t)value);
    else if (strcmp(step, "reset") == 0)
        upmu_sim_reset_cpu(sim, sim->current);
    else if (strcmp(step, "init") == 0)
        upmu_sim_init_signal(sim, sim->current);
    else if (strcmp(step, "firmware") == 0)
        upmu_sim_firmware(sim, sim->current);
    else if (strcmp(step, "store") == 0) {
        uint64_t word = strtoull(line->field[FIELD_VALUE], NULL, 16);

        if (memory_at(machine, false, value) == NULL)
            fail_msg("%s:%u: no memory there", line->file, line->number);
        memcpy(memory_at(machine, false, value), &word, sizeof word);
    } else {
        fail_msg("%s:%u: no such step: %s", line->file, line->number, step);
    }
}

/* Rules that a case sets itself stay as it sets them. */
static void step_rule(struct machine *machine, const struct line *line)
{
    const struct upmu_sim_rule *rule;

    for (unsigned i = 0; (rule = upmu_sim_rule(i)) != NULL; i++) {
        if (strcmp(rule->name, line->field[FIELD_WHAT]) == 0) {
            machine->sim.rule[i] = line->field[FIELD_VALUE][0] == '1';
            return;
        }
    }
    fail_msg("%s:%u: no such rule", line->file, line->number);
}

/* In a guest.  A step that it has no part in makes the case one of the model alone. */
static bool step_in_guest(struct machine *machine, const struct line *line)
{
    struct nest *nest = machine->guest;
    const char *step = line->field[FIELD_STEP];

    if (strcmp(step, "pmis") == 0)
        return check_equal(machine, line, nest->injected);
    if (strcmp(step, "lvt") == 0)
        return check_equal(machine, line, nest->vcpu.x86.lvtpc);
    if (strcmp(step, "capwrites") == 0)
        return step_capwrites(machine, line);
    nest_exit(nest);
    if (strcmp(step, "rearm") == 0)
        nest->port.pmi_rearm(nest);
    else if (strcmp(step, "reset") == 0)
        upmu_guest_reset(&nest->vcpu), nest->debugctl = 0;
    else if (strcmp(step, "run") == 0)
        step_run(machine, line->field[FIELD_WHAT]);
    return true;
}

static bool run_step(struct machine *machine, const struct line *line)
{
    const char *step = line->field[FIELD_STEP];
    bool known;
    bool right;

    if (step[1] == '\0')
        return step_access(machine, line);
    if (machine->guest)
        return step_in_guest(machine, line);
    right = step_check(machine, line, &known);
    if (known)
        return right;
    if (strcmp(step, "rule") == 0)
        step_rule(machine, line);
    else
        step_set(machine, line);
    return true;
}

/* ---- Cases ---- */

#define NO_RULE UPMU_SIM_RULE_COUNT

/* Run the case that begins at `first` on one profile with one rule switched round. */
static bool run_case(struct machine *machine, unsigned first, const char *profile, unsigned switched)
{
    const struct upmu_sim_profile *found = upmu_sim_profile(profile);

    memset(machine, 0, sizeof *machine);
    if (found == NULL)
        fail_msg("%s:%u: no such profile: %s", cases[first].file, cases[first].number, profile);
    machine->profile = *found;
    machine->handler = "";
    upmu_sim_init(&machine->sim, &machine->profile, 2);
    machine->sim.test = machine;
    machine->sim.deliver = handle_interrupt;
    machine->sim.memory = access_memory;
    machine->sim.expect_faults = true;
    if (switched != NO_RULE)
        machine->sim.rule[switched] = !machine->sim.rule[switched];
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        upmu_sim_reset_cpu(&machine->sim, cpu);
        upmu_sim_set_delivery(&machine->sim, cpu, UPMU_SIM_LVTPC_NMI);
        machine->sim.cpu[cpu].irqs_on = false;
    }
    for (unsigned i = first; i < case_lines && (i == first || cases[i].field[FIELD_CASE][0] == '\0'); i++) {
        if (!run_step(machine, &cases[i]))
            return false;
    }
    if (machine->sim.violation_count != 0)
        return failed(machine, &cases[first], machine->sim.violation, machine->sim.violation_count);
    return true;
}

/* Runs every case on each of its profiles; counts them, stops at the first that fails if `stop`. */
static unsigned run_cases(struct machine *machine, unsigned switched, bool stop, unsigned *out_failed)
{
    unsigned ran = 0;

    *out_failed = 0;
    for (unsigned i = 0; i < case_lines; i++) {
        const char *at = cases[i].field[FIELD_PROFILES];

        if (cases[i].field[FIELD_CASE][0] == '\0')
            continue;
        while (*at != '\0') {
            char profile[40];
            size_t length = strcspn(at, ",");

            snprintf(profile, sizeof profile, "%.*s", (int)length, at);
            at += length + (at[length] == ',');
            ran++;
            if (run_case(machine, i, profile, switched))
                continue;
            ++*out_failed;
            if (stop)
                return ran;
            print_error("%s: %s\n", cases[i].field[FIELD_CASE], machine->failure);
        }
    }
    return ran;
}

/* ---- The same in a guest ---- */

/* Cases that no shape has, with the reason; an asterisk stands for the rest of a name. */
static const struct {
    const char *name;
    const char *reason;
} not_in_guests[] = {
    {"reset values", "PEBS_ENABLE is absent"},
    {"acknowledge: reserved bits, version 4", "no trace of the processor, no enclaves: bits 55 and 60"},
    {"capabilities exist with PDCM", "the capabilities of a shape are its own"},
    {"AnyThread exists in versions 3 and 4", "CPUID says that it is deprecated"},
    {"debug control with transactions", "the hypervisor's bit"},
    {"debug control: *", "the hypervisor's bits"},
    {"feature bits of MISC_ENABLE", "the hypervisor's register"},
    {"debug store", "absent"},
    {"PEBS enable", "absent"},
    {"PEBS enable: *", "absent"},
    {"PEBS enable, version 2", "absent"},
    {"precise stores", "absent"},
    {"payload registers, Skylake", "load latency and front end are absent"},
    {"frozen in SMM", "the hypervisor's bit"},
    {"freeze, versions 2 and 3", "branch records stop, too: the hypervisor's bit"},
    {"LVTPC is masked by delivery", "an interrupt after one event: the host's shortest period is 2"},
    {"fixed 2 sets its status twice on big cores from Broadwell on", "an erratum that guests are spared"},
    {"low 6 bits of INST_RETIRED's period on Broadwell", "an erratum that guests are spared"},
    {"BDM55 of *", "an erratum that guests are spared"},
    {"a transaction takes counter 3", "FORCE_ABORT is absent"},
    {"a merged pair interrupts out of its odd half", "a virtual counter takes any number of events in a cycle"},
    {"data fabric and memory controllers as CPUID counts them", "units outside the cores"},
    {"L2I counters of family 16H", "a unit outside the cores"},
    {"L3 counters", "a unit outside the cores"},
    {"IRPERF", "the hypervisor's register"},
    {"branch records as CPUID counts them", "absent"},
    {"branch records", "absent"},
    {"a hook is a call and a return", "branch records are absent"},
    {"LBR select", "absent"},
    {"IBS registers by capability", "IBS is absent"},
    {"IBS registers of Zen", "IBS is absent"},
    {"all IBS registers", "IBS is absent"},
    {"a fetch sample", "IBS is absent"},
    {"a unit waits for its VAL", "IBS is absent"},
    {"fetch starts over with a rising enable bit", "IBS is absent"},
    {"a fetch count goes on when its control is written", "IBS is absent"},
    {"fetch starts over with a write", "IBS is absent"},
    {"an op sample", "IBS is absent"},
    {"ops instead of cycles", "IBS is absent"},
    {"the op count is random after a sample", "IBS is absent"},
    {"the op count can be given", "IBS is absent"},
    {"extended op counts", "IBS is absent"},
        {"family 10H: no*", "IBS is absent"},
    {"capability 13 stops by another bit", "IBS is absent"},
    {"IBS read-only registers", "IBS is absent"},
};

#define EXCEPTED (sizeof not_in_guests / sizeof not_in_guests[0])

/* Steps of the machine around the registers, which a guest does not see. */
static const char *const guest_steps[] = {"r", "w", "p", "run", "rearm", "reset", "init", "pmis", "lvt", "capwrites"};

static bool has_guest_steps_alone(unsigned first)
{
    for (unsigned i = first; i < case_lines && (i == first || cases[i].field[FIELD_CASE][0] == '\0'); i++) {
        bool known = false;

        for (unsigned k = 0; k < sizeof guest_steps / sizeof guest_steps[0]; k++)
            known = known || strcmp(cases[i].field[FIELD_STEP], guest_steps[k]) == 0;
        if (!known)
            return false;
    }
    return true;
}

static bool is_named(const char *pattern, const char *name)
{
    size_t length = strlen(pattern);

    return pattern[length - 1] == '*' ? strncmp(pattern, name, length - 1) == 0 : strcmp(pattern, name) == 0;
}

static bool is_excepted(const char *name)
{
    for (unsigned i = 0; i < EXCEPTED; i++)
        if (is_named(not_in_guests[i].name, name))
            return true;
    return false;
}

static void each_exception_is_a_case_and_has_a_reason(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EXCEPTED; i++) {
        bool found = false;

        for (unsigned k = 0; k < case_lines; k++)
            found = found || is_named(not_in_guests[i].name, cases[k].field[FIELD_CASE]);
        if (!found || not_in_guests[i].reason[0] == '\0')
            fail_msg("no case, or no reason: %s", not_in_guests[i].name);
    }
}

/* The shape of a profile; false: no shape is like it. */
static bool shape_of(const struct upmu_sim_profile *profile, struct upmu_guest_shape *shape)
{
    const uint32_t odd = UPMU_SIM_P4 | UPMU_SIM_P6 | UPMU_SIM_IGNORES_WRITES | UPMU_SIM_COUNTS_NOTHING |
                         UPMU_SIM_FEATURES_FAULT | UPMU_SIM_ONE_ENABLE | UPMU_SIM_HYBRID | UPMU_SIM_AAJ80;

    memset(shape, 0, sizeof *shape);
    if (profile->flags & odd)
        return false;
    shape->family = (uint16_t)((profile->signature >> 8 & 0xf) + (profile->signature >> 20 & 0xff));
    if ((profile->signature >> 8 & 0xf) != 0xf)
        shape->family = profile->signature >> 8 & 0xf;
    shape->model = (uint16_t)((profile->signature >> 4 & 0xf) | (profile->signature >> 12 & 0xf0));
    shape->general = profile->general;
    shape->width = profile->general_width;
    if (profile->amd) {
        shape->door = profile->amd->perfmon[0] & 1u                ? UPMU_GUEST_AMD_V2
                      : profile->amd->features & UPMU_SIM_AMD_CORE ? UPMU_GUEST_AMD_CORE
                                                                   : UPMU_GUEST_AMD_K7;
        return shape->general == (shape->door == UPMU_GUEST_AMD_K7 ? 4 : 6);
    }
    if (profile->version < 1 || profile->version > 4 || profile->fixed > 3 || profile->fixed_holes ||
        profile->general > 8 || (profile->fixed && profile->fixed_width != profile->general_width))
        return false;
    shape->door = UPMU_GUEST_INTEL;
    shape->version = profile->version;
    shape->fixed = profile->fixed;
    shape->full_write = profile->capabilities >> 13 & 1u;
    shape->arch_events = (uint16_t)(~profile->events_unavailable & 0x7fu);
    return true;
}

static void count_alone(struct nest *nest, const struct upmu_frame *frame)
{
    (void)nest;
    (void)frame;
}

static bool run_case_in_guest(struct machine *machine, unsigned first, const struct upmu_sim_profile *profile,
                              const struct upmu_guest_shape *shape)
{
    static struct nest nest;

    memset(machine, 0, sizeof *machine);
    machine->profile = *profile;
    machine->guest = &nest;
    nest_prepare(&nest, profile->name, NULL);
    nest.shape = *shape;
    for (unsigned i = 0; i < UPMU_SIM_PAYLOADS; i++)
        if (profile->payload[i].address - 0x1a6 < 2)
            nest.policy.payload[profile->payload[i].address - 0x1a6] |= profile->payload[i].valid;
    nest.handler = count_alone;
    nest_begin(&nest);
    upmu_guest_lvtpc(&nest.vcpu, 0x10400);
    for (unsigned i = first; i < case_lines && (i == first || cases[i].field[FIELD_CASE][0] == '\0'); i++)
        if (!run_step(machine, &cases[i]))
            return false;
    nest_end(&nest);
    return true;
}

static void guests_agree_with_every_case_that_their_shape_has(void **state)
{
    static struct machine machine;
    unsigned ran = 0, failures = 0, others = 0;

    (void)state;
    for (unsigned i = 0; i < case_lines; i++) {
        const char *at = cases[i].field[FIELD_PROFILES];

        if (cases[i].field[FIELD_CASE][0] == '\0' || is_excepted(cases[i].field[FIELD_CASE]))
            continue;
        while (*at != '\0') {
            struct upmu_guest_shape shape;
            char name[40];
            size_t length = strcspn(at, ",");

            snprintf(name, sizeof name, "%.*s", (int)length, at);
            at += length + (at[length] == ',');
            if (!has_guest_steps_alone(i) || !shape_of(upmu_sim_profile(name), &shape)) {
                others++;
                continue;
            }
            ran++;
            if (run_case_in_guest(&machine, i, upmu_sim_profile(name), &shape))
                continue;
            failures++;
            print_error("%s: %s\n", cases[i].field[FIELD_CASE], machine.failure);
        }
    }
    print_message("%u cases ran in guests, %u are the model's alone\n", ran, others);
    assert_compare(ran, >, 150);
    assert_int_equal(failures, 0);
}

static void model_agrees_with_every_case(void **state)
{
    static struct machine machine;
    unsigned failures;
    unsigned ran = run_cases(&machine, NO_RULE, false, &failures);

    (void)state;
    print_message("%u cases ran\n", ran);
    assert_compare(ran, >, 150);
    assert_int_equal(failures, 0);
}

static void every_rule_switched_round_fails_some_case(void **state)
{
    static struct machine machine;
    unsigned unnoticed = 0;

    (void)state;
    /* (those of units outside the cores: test_sim_uncore) */
    for (unsigned i = 0; i < UPMU_SIM_RULE_U_DIE; i++) {
        unsigned failures;

        (void)run_cases(&machine, i, true, &failures);
        if (failures == 0) {
            print_error("rule %s: no case notices\n", upmu_sim_rule(i)->name);
            unnoticed++;
        }
    }
    assert_int_equal(unnoticed, 0);
}

static void every_case_has_a_source(void **state)
{
    (void)state;
    for (unsigned i = 0; i < case_lines; i++) {
        if (cases[i].field[FIELD_CASE][0] != '\0' && cases[i].field[FIELD_SOURCE][0] == '\0')
            fail_msg("%s:%u has no source", cases[i].file, cases[i].number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_has_a_source),
        cmocka_unit_test(model_agrees_with_every_case),
        cmocka_unit_test(every_rule_switched_round_fails_some_case),
        cmocka_unit_test(each_exception_is_a_case_and_has_a_reason),
        cmocka_unit_test(guests_agree_with_every_case_that_their_shape_has),
    };

    return cmocka_run_group_tests_name("sim_conformance", tests, load_cases, free_cases);
}
