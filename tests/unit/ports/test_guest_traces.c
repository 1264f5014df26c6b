/* SPDX-License-Identifier: MIT */
/*
 * Drivers of other systems in a guest: each trace of tests/conformance/guest_traces.tsv on the model of a CPU and in a
 * guest of that shape, on every host with room for it.  Each value that is read, the registers at the end and the
 * number of interrupts are equal.  The count of exits is that of the file.
 */
#include "tests/guest/nest.c"
#include "tests/guest/shapes.h"

#include <stdio.h>
#include <stdlib.h>

#define TRACES "tests/conformance/guest_traces.tsv"
#define MOST_LINES 400
#define MOST_FIELDS 5
#define MOST_READS 600

enum { FIELD_NAME, FIELD_STEP, FIELD_WHAT, FIELD_VALUE };
enum { FIELD_MODEL = 1, FIELD_EXITS, FIELD_INTERRUPTS, FIELD_SOURCE }; /* of a line with a name */

static char text[1 << 16];
static struct line {
    unsigned number;
    const char *field[MOST_FIELDS];
} lines[MOST_LINES];
static unsigned line_count;

static struct nest nest;
static struct upmu_sim model;
static const struct shape *traced;
static const struct upmu_guest_shape *shape; /* of it */

/* What one side of the comparison does. */
static struct side {
    const char *name;
    const struct upmu_port *port;
    const struct line *handler, *end;
    uint64_t last; /* RDMSR */
    uint64_t value[MOST_READS];
    unsigned line[MOST_READS];
    unsigned reads, accesses, interrupts;
} native = {.name = "model"}, guest = {.name = "guest"};

/* ---- The file ---- */

static int load_traces(void **state)
{
    FILE *file = fopen(TRACES, "r");
    unsigned number = 0;
    size_t size;

    (void)state;
    if (file == NULL) {
        printf(TRACES " not found: run this from the top of the source tree\n");
        return -1;
    }
    size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    for (char *at = text, *next; *at != '\0'; at = next) {
        struct line *line = &lines[line_count];

        next = at + strcspn(at, "\n");
        if (*next == '\n')
            *next++ = '\0';
        number++;
        if (*at == '#' || *at == '\0')
            continue;
        line->number = number;
        for (unsigned i = 0; i < MOST_FIELDS; i++) {
            line->field[i] = at;
            at += strcspn(at, "\t");
            if (*at == '\t')
                *at++ = '\0';
        }
        if (++line_count == MOST_LINES)
            return -1;
    }
    return size == sizeof text - 1 ? -1 : 0;
}

static uint64_t number_of(const char *what, uint64_t last)
{
    if (*what == '-')
        return (0 - strtoull(what + 1, NULL, 16)) & ((UINT64_C(1) << shape->width) - 1);
    if (*what != '@')
        return strtoull(what, NULL, 16);
    switch (what[1]) {
    case '|':
        return last | strtoull(what + 2, NULL, 16);
    case '^':
        return last ^ strtoull(what + 2, NULL, 16);
    case '~':
        return last & ~strtoull(what + 2, NULL, 16);
    default:
        return last;
    }
}

/* ---- One side ---- */

static void note(struct side *side, const struct line *line, uint64_t value)
{
    assert_compare(side->reads, <, MOST_READS);
    side->line[side->reads] = line->number;
    side->value[side->reads++] = value;
}

static void access_one(struct side *side, const struct line *line)
{
    uint32_t address = (uint32_t)strtoul(line->field[FIELD_WHAT], NULL, 16);
    uint64_t value = 0;
    bool done = true;

    side->accesses++;
    switch (line->field[FIELD_STEP][0]) {
    case 'r':
        done = side->port->rdmsr(side->port->context, address, &value);
        side->last = value;
        note(side, line, value);
        break;
    case 'p':
        done = side->port->rdpmc(side->port->context, address, &value);
        note(side, line, value);
        break;
    case 'w':
        value = number_of(line->field[FIELD_VALUE], side->last);
        done = side->port->wrmsr(side->port->context, address, value);
        break;
    case 'x': /* A register that the CPU may have, and no guest. */
        done = side == &native || !side->port->rdmsr(side->port->context, address, &value);
        break;
    case 'a': /* The same by MSR 834h, which the model of a CPU does not have. */
        done = side == &native || side->port->wrmsr(side->port->context, 0x834, 0x400);
        if (side == &guest)
            break;
        /* fall through */
    case 'l':
        side->port->pmi_rearm(side->port->context);
        break;
    default:
        fail_msg(TRACES ":%u: no such step", line->number);
    }
    if (!done)
        fail_msg(TRACES ":%u: %s: #GP, value %llx", line->number, side->name, (unsigned long long)value);
    /* The access is an instruction: of the guest's its hypervisor says so. */
    if (side == &native && line->field[FIELD_STEP][0] != 'x')
        upmu_sim_events(&model, &(struct upmu_sim_burst){.instructions = 1});
}

static void handle(struct side *side)
{
    uint64_t last = side->last;

    side->interrupts++;
    for (const struct line *line = side->handler; line < side->end; line++)
        access_one(side, line);
    side->last = last;
}

static void model_deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    (void)sim;
    (void)cpu;
    (void)interrupt;
    handle(&native);
}

static void guest_handler(struct nest *in, const struct upmu_frame *frame)
{
    (void)in;
    (void)frame;
    handle(&guest);
}

/* The host works in between, which no counter of the guest sees and no driver causes. */
static void run(struct side *side, unsigned instructions)
{
    const struct upmu_sim_burst burst = shape_burst(instructions, instructions & 1u);
    unsigned exits;

    if (side == &native) {
        upmu_sim_events(&model, &burst);
        return;
    }
    nest_run(&nest, &burst);
    exits = nest.exits;
    shape_host_works(&nest);
    nest_enter(&nest);
    nest.exits = exits;
}

static void replay(struct side *side, const struct line *line)
{
    side->reads = side->accesses = side->interrupts = 0;
    side->last = 0;
    for (; line < side->handler && strcmp(line->field[FIELD_STEP], "handler") != 0; line++)
        if (strcmp(line->field[FIELD_STEP], "run") == 0)
            run(side, (unsigned)strtoul(line->field[FIELD_WHAT], NULL, 10));
        else
            access_one(side, line);
}

/* Every register of the PMU, after the count of exits is taken. */
static void note_end(struct side *side, const struct line *name)
{
    static const uint32_t version2[] = {0x309, 0x30a, 0x30b, 0x38d, 0x38e, 0x38f, 0x1d9};
    static const uint32_t v2[] = {0xc0000300u, 0xc0000301u};
    bool intel = shape->door == UPMU_GUEST_INTEL, k7 = shape->door == UPMU_GUEST_AMD_K7;
    uint32_t select = intel ? 0x186 : k7 ? 0xc0010000u : 0xc0010200u;
    uint32_t counter = intel ? 0xc1 : k7 ? 0xc0010004u : 0xc0010201u;
    uint32_t step = intel || k7 ? 1 : 2;
    uint32_t address[2 * 8 + 7];
    unsigned n = 0;

    for (unsigned i = 0; i < shape->general; i++) {
        address[n++] = select + i * step;
        address[n++] = counter + i * step;
    }
    for (unsigned i = 0; i < 7 && intel && shape->version >= 2; i++)
        address[n++] = version2[i];
    for (unsigned i = 0; i < 2 && shape->door == UPMU_GUEST_AMD_V2; i++)
        address[n++] = v2[i];
    for (unsigned i = 0; i < n; i++) {
        uint64_t value = 0;

        if (!side->port->rdmsr(side->port->context, address[i], &value))
            fail_msg("%s: RDMSR %x faults", side->name, (unsigned)address[i]);
        note(side, name, value);
    }
}

/* ---- A trace ---- */

static unsigned differences(const char *host, const struct line *name)
{
    unsigned exits = (unsigned)strtoul(name->field[FIELD_EXITS], NULL, 10);
    unsigned interrupts = (unsigned)strtoul(name->field[FIELD_INTERRUPTS], NULL, 10), found = 0;

    for (unsigned i = 0; i < native.reads && i < guest.reads && !found; i++)
        if (native.line[i] != guest.line[i] || native.value[i] != guest.value[i]) {
            print_error("%s, read %u: the guest at line %u %llx, the model at line %u %llx\n", host, i, guest.line[i],
                        (unsigned long long)guest.value[i], native.line[i], (unsigned long long)native.value[i]);
            found++;
        }
    if (native.reads != guest.reads || native.interrupts != interrupts || guest.interrupts != interrupts ||
        nest.injected != interrupts) {
        print_error("%s: %u reads and %u interrupts, %u injected; the model: %u and %u; the file: %u interrupts\n",
                    host, guest.reads, guest.interrupts, nest.injected, native.reads, native.interrupts, interrupts);
        found++;
    }
    /* An exit for each access, and one for each interrupt of the host's. */
    if (nest.exits != exits || exits != guest.accesses + interrupts) {
        print_error("%s: %u exits, the file: %u; %u accesses\n", host, nest.exits, exits, guest.accesses);
        found++;
    }
    return found;
}

static unsigned compare(const struct line *name, const char *profile)
{
    unsigned found, exits;

    shape_model(&model, traced);
    model.deliver = model_deliver;
    native.port = &model.port;
    replay(&native, name + 1);
    note_end(&native, name);

    nest.handler = guest_handler;
    nest.traps_count = true;
    nest_begin(&nest);
    nest_enter(&nest);
    guest.port = &nest.port;
    replay(&guest, name + 1);
    exits = nest.exits;
    nest.traps_count = false;
    note_end(&guest, name);
    nest.exits = exits;
    found = differences(profile, name);
    nest_end(&nest);
    return found;
}

static void find_shape(const struct line *name)
{
    traced = NULL;
    for (unsigned i = 0; i < SHAPES; i++)
        if (strcmp(shapes[i].model, name->field[FIELD_MODEL]) == 0)
            traced = &shapes[i];
    if (traced == NULL)
        fail_msg(TRACES ":%u: no such shape", name->number);
    shape = &traced->shape;
}

static void find_handler(const struct line *name)
{
    const struct line *end = &lines[line_count], *line = name + 1;

    while (line < end && *line->field[FIELD_NAME] == '\0')
        line++;
    native.end = guest.end = line;
    while (line > name && strcmp(line[-1].field[FIELD_STEP], "handler") != 0)
        line--;
    assert_true(line > name);
    native.handler = guest.handler = line;
}

static void drivers_of_other_systems_find_the_same_in_a_guest(void **state)
{
    unsigned failures = 0, traces = 0, runs = 0;

    (void)state;
    for (const struct line *name = lines; name < &lines[line_count]; name++) {
        unsigned on = 0;

        if (*name->field[FIELD_NAME] == '\0')
            continue;
        find_shape(name);
        find_handler(name);
        for (unsigned host = 0; host < SHAPE_HOSTS; host++) {
            nest_prepare(&nest, shape_hosts[host], NULL);
            nest.shape = *shape;
            if (!shape_has_room(shape, &nest.host.machine.pmu[0]))
                continue;
            on++;
            failures += compare(name, shape_hosts[host]);
        }
        print_message("%s, %s: %s exits, %s interrupts, on %u hosts\n", name->field[FIELD_NAME],
                      name->field[FIELD_MODEL], name->field[FIELD_EXITS], name->field[FIELD_INTERRUPTS], on);
        assert_compare(on, >, 0);
        assert_int_not_equal(*name->field[FIELD_SOURCE], '\0');
        traces++;
        runs += on;
    }
    print_message("%u traces, %u runs\n", traces, runs);
    assert_compare(traces, >=, 12);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_of_other_systems_find_the_same_in_a_guest),
    };

    return cmocka_run_group_tests_name("guest_traces", tests, load_traces, NULL);
}
