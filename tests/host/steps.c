/* SPDX-License-Identifier: MIT */
/*
 * What a seed decides: the setting, the list of steps, and both in words.
 */
#include <stdio.h>
#include <string.h>

#include "tests/host/simulated.h"

static uint32_t one_of(struct lots *lots, const uint32_t *choices, uint32_t count)
{
    return choices[lots_below(lots, count)];
}
#define ONE_OF(lots, ...)                                                                                              \
    one_of((lots), (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

void steps_setting(uint64_t seed, const struct hardware_family *family, unsigned model, struct setting *out_setting)
{
    struct lots lots = {seed * UINT64_C(0x2545f4914f6cdd1d)};
    struct setting *s = out_setting;

    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->family = family;
    s->model = model;
    s->cpus = 1u + lots_below(&lots, family->models[model].cpus);
    s->options.garbage = lots_one_in(&lots, 2);
    s->options.late = (uint8_t)ONE_OF(&lots, 0, 0, 3, 12, 60);
    s->options.lost_flags = lots_one_in(&lots, 4);
    s->options.hypervisor = lots_one_in(&lots, 8);
    s->yields = ONE_OF(&lots, 3, 12, 60);
    s->blocks = ONE_OF(&lots, 0, 30, 100, 1000);
    s->strangers = ONE_OF(&lots, 0, 40, 400, 4000);
    s->ticks = ONE_OF(&lots, 0, 40, 400);
    s->preempts = ONE_OF(&lots, 0, 50, 400);
    s->noise = ONE_OF(&lots, 0, 0, 20, 200);
    s->faults = ONE_OF(&lots, 0, 0, 0, 0, 300, 5000);
    s->leavings = ONE_OF(&lots, 0, 0, 2);
    s->vector = lots_one_in(&lots, 4);
    s->no_irq = lots_one_in(&lots, 8);
    s->no_rdpmc = lots_one_in(&lots, 6);
    s->no_clock = lots_one_in(&lots, 10);
    s->no_remote = lots_one_in(&lots, 10);
    s->no_allow = lots_one_in(&lots, 4);
    s->no_request = lots_one_in(&lots, 4);
    s->no_rearm = lots_one_in(&lots, 16);
    s->options.own_interrupts = !s->no_rearm;
    s->kernel_mode = !lots_one_in(&lots, 4);
    s->tick_ns = lots_one_in(&lots, 2) ? 1000000 : 0;
    s->quiet_sessions = s->no_rearm || lots_one_in(&lots, 8);
    s->handler_faults = ONE_OF(&lots, 0, 0, 0, 0, 0, 0, 0, 30);
    s->no_units = lots_one_in(&lots, 8);
    s->no_nearest = lots_below(&lots, 2);
    s->force = lots_below(&lots, 4);
    s->no_place = lots_below(&lots, 2);
    for (unsigned theme = 0; theme < THEMES; theme++)
        if (theme < THEME_PRECISE)
            s->themes |= (uint32_t)lots_one_in(&lots, theme == THEME_STATIC ? 3 : 4) << theme;
    /* (Drawn by itself: a run without it is what it was before there was such a theme.) */
    lots.state = seed * UINT64_C(0xd1342543de82ef95);
    if (family == &hardware_intel && lots_one_in(&lots, 8))
        s->themes |= 1u << THEME_PRECISE;
    s->options.no_snapshots = lots_below(&lots, 2);
    s->batches = lots_below(&lots, 4) != 0;
    lots.state = seed * UINT64_C(0xaef17502108ef2d9);
    if ((family == &hardware_intel || family == &hardware_amd) && lots_one_in(&lots, 8))
        s->themes |= 1u << THEME_BRANCHES;
    s->options.no_freeze = lots_one_in(&lots, 3);
    lots.state = seed * UINT64_C(0xd6e8feb86659fd93);
    if (family == &hardware_intel && lots_one_in(&lots, 8))
        s->themes |= 1u << THEME_TRACES;
    s->options.trace_ways = (uint16_t)(4u * lots_below(&lots, HARDWARE_TRACES_WAYS / 4));
    if (lots_one_in(&lots, 10))
        s->options.trace_ways |= (uint16_t)ONE_OF(&lots, HARDWARE_TRACES_DENIED, HARDWARE_TRACES_NARROW,
                                                  HARDWARE_TRACES_DROPS, HARDWARE_TRACES_NO_AREA);
    if (setting_has(s, THEME_LONG) && s->strangers < 4000)
        s->strangers = 0;
}

/* How often each kind is drawn, and its word. */
static const struct {
    uint8_t weight;
    const char *word;
} kinds[STEP_KINDS] = {
    [STEP_WORK] = {60, "work"},
    [STEP_SWITCH] = {40, "switch to thread"},
    [STEP_CREATE] = {40, "create session"},
    [STEP_ATTACH] = {12, "attach session"},
    [STEP_START] = {30, "start session"},
    [STEP_STOP] = {14, "stop session"},
    [STEP_READ] = {20, "read session"},
    [STEP_WRITE] = {8, "write session"},
    [STEP_RESTART] = {14, "restart session"},
    [STEP_DETACH] = {8, "detach session"},
    [STEP_CLOSE] = {18, "close session"},
    [STEP_DROP] = {5, "drop session"},
    [STEP_REPLACE] = {4, "replace an event of session"},
    [STEP_NEXT_SET] = {6, "switch the set of session"},
    [STEP_TICK] = {20, "tick"},
    [STEP_POLL] = {8, "poll"},
    [STEP_VERIFY] = {4, "verify"},
    [STEP_CHANGED] = {2, "changed"},
    [STEP_SLEEP] = {3, "suspend"},
    [STEP_WAKE] = {6, "resume"},
    [STEP_LEAVE] = {2, "fini"},
    [STEP_COME] = {10, "init"},
    [STEP_RESERVE] = {5, "reserve"},
    [STEP_UNRESERVE] = {6, "unreserve"},
    [STEP_TAKE_FIRMWARE] = {2, "take firmware's counters"},
    [STEP_EXIT] = {5, "exit of thread"},
    [STEP_TIME] = {8, "time passes"},
    [STEP_FOREIGN] = {4, "another source's NMI"},
    [STEP_PROBE] = {1, "probe"},
    [STEP_USER_READ] = {14, "a program reads the page of session"},
    [STEP_REGION] = {4, "region"},
    [STEP_DRAIN] = {12, "take samples of session"},
    [STEP_IBS] = {5, "sample instructions"},
    [STEP_UNIT_OPEN] = {10, "open unit"},
    [STEP_UNIT_CLOSE] = {3, "close unit"},
    [STEP_UNIT_MANAGE] = {5, "hand over unit"},
    [STEP_UNIT_POLL] = {4, "poll unit"},
    [STEP_UNIT_WORK] = {14, "events on units"},
    [STEP_UNIT_REGION] = {3, "region of units"},
    [STEP_WORLD] = {6, "a guest without a PMU"},
    [STEP_GUEST_MAKE] = {12, "make vCPU"},
    [STEP_GUEST_RUN] = {150, "run vCPU"},
    [STEP_GUEST_PUT] = {12, "put vCPU"},
    [STEP_GUEST_RESET] = {4, "reset vCPU"},
    [STEP_GUEST_SAVE] = {16, "save vCPU"},
    [STEP_RECORDS] = {24, "memory for precise records"},
    [STEP_BRANCHES] = {50, "branch stack"},
    [STEP_TRACES] = {50, "trace in memory"},
};

/* In half of the runs some kinds of step come more often than usual, and some not at all. */
static unsigned draw_weights(const struct setting *setting, struct lots *lots, unsigned *weights)
{
    bool even = lots_below(lots, 2), is_long = setting_has(setting, THEME_LONG);
    unsigned sum = 0;

    for (unsigned kind = 0; kind < STEP_KINDS; kind++) {
        unsigned lot;

        if (kind >= STEP_WORLD && !setting_has(setting, kind == STEP_RECORDS    ? THEME_PRECISE
                                                        : kind == STEP_BRANCHES ? THEME_BRANCHES
                                                        : kind == STEP_TRACES   ? THEME_TRACES
                                                                                : THEME_GUESTS)) {
            weights[kind] = 0;
            continue;
        }
        lot = lots_below(lots, 8);

        weights[kind] = kinds[kind].weight;
        if (!even && lot < 2)
            weights[kind] *= lot ? 5 : kind > STEP_STOP && kind != STEP_COME && kind != STEP_WAKE ? 0 : 1;
        /* (Flags that wait for hours, registers that fault beside the host's.) */
        if ((is_long && (kind == STEP_TIME || kind == STEP_FOREIGN)) ||
            ((is_long || setting->handler_faults) && (kind == STEP_RESERVE || kind == STEP_UNRESERVE)))
            weights[kind] *= 4;
        if (setting_has(setting, THEME_CHANGES) && (kind == STEP_CHANGED || kind == STEP_LEAVE))
            weights[kind] = kind == STEP_CHANGED ? 25 : 6;
        if (setting_has(setting, THEME_UNITS) && kind >= STEP_UNIT_OPEN)
            weights[kind] = kinds[kind].weight * 3u;
        if (setting_has(setting, THEME_UNITS) && (kind == STEP_LEAVE || kind == STEP_SLEEP))
            weights[kind] = 5;
        if (setting_has(setting, THEME_PRECISE) && (kind == STEP_CREATE || kind == STEP_START || kind == STEP_DRAIN))
            weights[kind] *= 3;
        if (setting_has(setting, THEME_PRECISE) && !setting_has(setting, THEME_UNITS) && kind >= STEP_UNIT_OPEN &&
            kind <= STEP_UNIT_REGION)
            weights[kind] = 0;
        sum += weights[kind];
    }
    return sum;
}

void steps_make(const struct setting *setting, struct step *steps, unsigned count)
{
    struct lots lots = {setting->seed};
    unsigned sum, weights[STEP_KINDS];

    /* (A drawn state: else neighbouring seeds have the same steps, one draw later.) */
    lots.state = lots_draw(&lots);
    sum = draw_weights(setting, &lots, weights);
    for (unsigned i = 0; i < count; i++) {
        struct step *step = &steps[i];
        unsigned at = lots_below(&lots, sum), kind = 0;

        while (at >= weights[kind])
            at -= weights[kind++];
        step->kind = (uint8_t)kind;
        step->cpu = (uint8_t)lots_below(&lots, setting->cpus);
        step->what = (uint8_t)lots_draw(&lots);
        step->where = (uint8_t)lots_draw(&lots);
        step->together = lots_below(&lots, 2);
        step->number = (uint16_t)i;
        step->lots = lots_draw(&lots);
        step->noise = lots_draw(&lots);
    }
}

void steps_tell(const struct setting *setting, const struct step *step, char *buffer, size_t size)
{
    int at = snprintf(buffer, size, "%5u%s CPU %u: %s", step->number, step->together ? "+" : ":", step->cpu,
                      kinds[step->kind].word);
    size_t left = at < 0 || (size_t)at >= size ? 0 : size - (size_t)at;

    switch (step->kind) {
    case STEP_SWITCH:
    case STEP_EXIT:
        (void)snprintf(buffer + at, left, " %u", step->what % HOST_PROGRAMS);
        break;
    case STEP_CREATE:
    case STEP_ATTACH:
        (void)snprintf(buffer + at, left, " %u to CPU %u or thread %u", step->what % HOST_SESSIONS,
                       step->where % setting->cpus, step->where % HOST_PROGRAMS);
        break;
    case STEP_UNIT_OPEN:
    case STEP_UNIT_CLOSE:
    case STEP_UNIT_MANAGE:
    case STEP_UNIT_POLL:
        (void)snprintf(buffer + at, left, " %u", step->what % HOST_UNITS);
        break;
    case STEP_GUEST_MAKE:
    case STEP_GUEST_RUN:
    case STEP_GUEST_PUT:
    case STEP_GUEST_RESET:
    case STEP_GUEST_SAVE:
        (void)snprintf(buffer + at, left, " %u", step->what % HOST_GUESTS);
        break;
    case STEP_START:
    case STEP_STOP:
    case STEP_READ:
    case STEP_WRITE:
    case STEP_RESTART:
    case STEP_DETACH:
    case STEP_CLOSE:
    case STEP_DROP:
    case STEP_REPLACE:
    case STEP_NEXT_SET:
    case STEP_USER_READ:
    case STEP_DRAIN:
        (void)snprintf(buffer + at, left, " %u", step->what % HOST_SESSIONS);
        break;
    default:
        break;
    }
}

void steps_tell_setting(const struct setting *s, char *buffer, size_t size)
{
    (void)snprintf(
        buffer, size,
        "%s, %s, %u CPUs%s%s%s; interrupts %s, %u calls late%s; yields %u, blocks %u, strangers %u, ticks %u, "
        "preempts %u, noise %u, faults %u (in handlers %u), leavings %u, themes %x%s%s%s%s%s%s%s%s",
        s->family->name, s->family->models[s->model].name, s->cpus, s->options.garbage ? ", garbage" : "",
        s->options.hypervisor ? ", hypervisor" : "", s->options.lost_flags ? ", flags lost" : "",
        s->vector ? "on a vector" : "as NMIs", s->options.late, s->kernel_mode ? "" : ", not in ring 0", s->yields,
        s->blocks, s->strangers, s->ticks, s->preempts, s->noise, s->faults, s->handler_faults, s->leavings,
        (unsigned)s->themes, s->no_irq ? ", no irq_save" : "", s->no_rdpmc ? ", no rdpmc" : "",
        s->no_clock ? ", no clock" : "", s->no_remote ? ", no run_on_cpu" : "", s->no_allow ? ", no allow_rdpmc" : "",
        s->no_request ? ", no request_tick" : "", s->no_rearm ? ", no pmi_rearm" : "",
        s->quiet_sessions ? ", no sampling" : "");
}
