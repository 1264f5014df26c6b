/* SPDX-License-Identifier: MIT */
/*
 * Fuzzing: events by register words, on every PMU.  What is accepted has no bit that
 * the register table does not let a session set, and a start would write nothing
 * but what selects, payloads, counters and gates may hold.
 */
#include <string.h>

#include <upmu/event.h>
#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/upmu.h>

#include "tests/fuzz/fuzz.h"

#define EVENTS 8u
#define WRITES 96u

#define SELECT_INT (UINT64_C(1) << 20)
#define SELECT_EN (UINT64_C(1) << 22)
#define SELECT_WORLDS (UINT64_C(3) << 40)

/* NetBurst: an event is a CCCR (upper half) and an ESCR. */
#define CCCR_ENABLE (UINT64_C(1) << 12)
#define CCCR_COMPARE (UINT64_C(1) << 18)
#define CCCR_PMI (UINT64_C(3) << 26)
#define CCCR_OVF (UINT64_C(1) << 31)
#define CCCR_THREAD (UINT64_C(3) << 16)
#define ESCR_PRIVILEGES UINT64_C(0xf)
/* PEBS_MATRIX_VERT (upper half) and PEBS_ENABLE without the bits that make records (25, 26). */
#define REPLAY_TAGS UINT64_C(0x00001fff01ffffff)

static bool has_row(const struct upmu_pmu *pmu, unsigned row)
{
    return pmu->present[row / 32u] >> (row % 32u) & 1u;
}

static const struct upmu_register_class *class_of(const struct upmu_pmu *pmu, unsigned row)
{
    return &pmu->table->classes[pmu->table->rows[row].class_index];
}

/* Bits that exist in a row. */
static uint64_t bits_of(const struct upmu_pmu *pmu, unsigned row)
{
    uint64_t bits = pmu->limit[pmu->table->rows[row].class_index];

    return pmu->table->row_bits ? bits & (pmu->table->row_bits[row] | ~UINT64_C(0xffffffff)) : bits;
}

/* What raw words may have in the rows of a kind, at a session's level or the administrator's. */
static uint64_t settable(const struct upmu_pmu *pmu, unsigned kind, bool privileged)
{
    uint64_t bits = 0;

    for (unsigned row = 0; row < pmu->table->row_count; row++)
        if (has_row(pmu, row) && class_of(pmu, row)->kind == kind)
            bits |=
                (class_of(pmu, row)->session | (privileged ? class_of(pmu, row)->privileged : 0)) & bits_of(pmu, row);
    return bits;
}

static bool is_netburst(const struct upmu_pmu *pmu)
{
    return pmu->name[0] == 'n' && pmu->name[1] == 'e' && pmu->name[2] == 't';
}

static void check_select(const struct upmu_pmu *pmu, const struct upmu_event *event, uint64_t config)
{
    uint64_t select = settable(pmu, UPMU_KIND_SELECT, false) & ~SELECT_EN;
    uint64_t payload = settable(pmu, UPMU_KIND_PAYLOAD, true);

    FUZZ_CHECK(!(event->config & ~select), "%s: config %llx has bits that no session may set", pmu->name,
               (unsigned long long)event->config);
    /* AMD: guest and host together are everything. */
    if ((!strncmp(pmu->name, "amd64", 5) || !strncmp(pmu->name, "hygon", 5)) &&
        (config & SELECT_WORLDS) == SELECT_WORLDS)
        config &= ~SELECT_WORLDS;
    FUZZ_CHECK(!((event->config ^ config) & ~(SELECT_EN | SELECT_INT | UINT64_C(3) << 16)),
               "%s: config %llx became %llx", pmu->name, (unsigned long long)config, (unsigned long long)event->config);
    FUZZ_CHECK(event->config & UINT64_C(3) << 16, "%s: config %llx counts in no ring", pmu->name,
               (unsigned long long)event->config);
    FUZZ_CHECK(!(event->config1 & ~payload) && (!event->config1 || event->payload),
               "%s: config1 %llx is not one of its payload registers'", pmu->name, (unsigned long long)event->config1);
    FUZZ_CHECK(!event->config2, "%s: config2 %llx", pmu->name, (unsigned long long)event->config2);
}

static void check_escr(const struct upmu_pmu *pmu, const struct upmu_event *event, uint64_t config)
{
    uint64_t words = settable(pmu, UPMU_KIND_CONTROL, false) | (settable(pmu, UPMU_KIND_SELECT, false) & ~CCCR_ENABLE)
                                                                   << 32;
    uint64_t run = (CCCR_ENABLE | CCCR_PMI | CCCR_OVF) << 32;
    uint64_t added = ESCR_PRIVILEGES | (CCCR_COMPARE | CCCR_THREAD) << 32;

    FUZZ_CHECK(!((event->config | event->config1) & ~words), "%s: words %llx, %llx have bits that no session may set",
               pmu->name, (unsigned long long)event->config, (unsigned long long)event->config1);
    FUZZ_CHECK(!((event->config ^ config) & ~(run | added)), "%s: config %llx became %llx", pmu->name,
               (unsigned long long)config, (unsigned long long)event->config);
    FUZZ_CHECK(event->config & ESCR_PRIVILEGES, "%s: config %llx counts in no ring", pmu->name,
               (unsigned long long)event->config);
    FUZZ_CHECK(!(event->config2 & ~REPLAY_TAGS) ||
                   ((event->config2 & UPMU_EVENT_AFTER) && (event->attributes & UPMU_ATTR_CASCADE)),
               "%s: config2 %llx", pmu->name, (unsigned long long)event->config2);
}

static void check_accepted(const struct upmu_pmu *pmu, const struct upmu_event *event, uint64_t config)
{
    struct upmu_event again;
    char text[200];

    if (is_netburst(pmu))
        check_escr(pmu, event, config);
    else
        check_select(pmu, event, config);
    FUZZ_CHECK(event->counters && !(event->counters & ~pmu->counters), "%s: on counters %x", pmu->name,
               (unsigned)event->counters);
    FUZZ_CHECK(upmu_event_format(pmu, event, text, sizeof text) < sizeof text, "%s: long text", pmu->name);
    memset(&again, 0, sizeof again);
    FUZZ_CHECK(upmu_event_parse(pmu, text, &again, NULL) == UPMU_OK && !memcmp(&again, event, sizeof again),
               "%s: \"%s\" is not what it stands for", pmu->name, text);
}

/* A word that the table allows is refused for a reason other than permission. */
static void check_refused(const struct upmu_pmu *pmu, enum upmu_status status, uint64_t config, uint64_t config1,
                          uint64_t config2)
{
    uint64_t select = settable(pmu, UPMU_KIND_SELECT, false) | SELECT_EN | SELECT_INT;

    FUZZ_CHECK(status == UPMU_ERR_NOT_PERMITTED || status == UPMU_ERR_DOES_NOT_FIT, "%s: %llx gives status %d",
               pmu->name, (unsigned long long)config, status);
    /* On NetBurst each ESCR has bits of its own, and not every CCCR select leads to one. */
    FUZZ_CHECK(is_netburst(pmu) || (config & ~select) || config1 || config2 || status != UPMU_ERR_NOT_PERMITTED,
               "%s: config %llx is not permitted", pmu->name, (unsigned long long)config);
}

/* Top-down metrics: fixed counter 3 is zeroed, then PERF_METRICS (329H), and nothing else is loaded. */
static bool zeroes_metrics(const struct upmu_pmu *pmu, const struct upmu_session *session,
                           const struct upmu_write *write)
{
    bool metrics = false;

    for (unsigned i = 0; i < session->set.count && !is_netburst(pmu); i++)
        metrics |= session->set.tally[i].counter >= 24;
    if (!metrics || write->value)
        return false;
    return (write->address == 0x329 && (write[-1].address == 0x30c || write[-1].address == 0x198c)) ||
           ((write->address == 0x30c || write->address == 0x198c) && write[1].address == 0x329);
}

static void check_write(const struct upmu_pmu *pmu, const struct upmu_session *session, const struct upmu_write *write,
                        bool sampling)
{
    unsigned row = 0;
    uint64_t allowed;

    while (row < pmu->table->row_count && !(has_row(pmu, row) && pmu->table->rows[row].address == write->address))
        row++;
    FUZZ_CHECK(row < pmu->table->row_count, "%s: writes %x, which it has not", pmu->name, (unsigned)write->address);
    allowed = class_of(pmu, row)->session | class_of(pmu, row)->privileged | class_of(pmu, row)->gates;
    if ((pmu->capabilities & UPMU_PMU_PAGE) && class_of(pmu, row)->kind == UPMU_KIND_SELECT) /* raw, rings, in use */
        allowed |= UINT64_C(0x8f) << 56;
    FUZZ_CHECK(class_of(pmu, row)->access == UPMU_ACCESS_RW, "%s: writes %s", pmu->name, write->name);
    FUZZ_CHECK(!(write->value & ~(allowed & bits_of(pmu, row))), "%s: writes %llx to %s", pmu->name,
               (unsigned long long)write->value, write->name);
    /* With a status register the library itself asks for interrupts, to count beyond the counter's width. */
    if (!sampling && !(pmu->capabilities & UPMU_PMU_STATUS) && class_of(pmu, row)->kind == UPMU_KIND_SELECT)
        FUZZ_CHECK(!(write->value & (is_netburst(pmu) ? CCCR_PMI : SELECT_INT)), "%s: %s asks for interrupts",
                   pmu->name, write->name);
    if (!sampling)
        FUZZ_CHECK(class_of(pmu, row)->kind != UPMU_KIND_COUNTER || zeroes_metrics(pmu, session, write), "%s: loads %s",
                   pmu->name, write->name);
}

/*
 * What Nehalem and Westmere want before a new event of a general counter (errata AAK100,
 * AAP53, BD53; Linux arch/x86/events/intel/core.c): exactly this, and first.  How many.
 */
static size_t check_prelude(const struct upmu_pmu *pmu, const struct upmu_session *session,
                            const struct upmu_dry_run *dry)
{
    static const struct {
        uint32_t address;
        uint64_t value;
    } steps[] = {{0x186, 0x4300b5}, {0x187, 0x4300d2}, {0x188, 0x4300b1}, {0x189, 0x4300b1}, {0xc1, 0},
                 {0xc2, 0},         {0xc3, 0},         {0xc4, 0},         {0x38f, 0xf},      {0x38f, 0},
                 {0x186, 0},        {0x187, 0},        {0x188, 0},        {0x189, 0}};
    const size_t count = sizeof steps / sizeof steps[0];
    bool wanted = false;

    for (unsigned i = 0; i < session->set.count; i++)
        wanted |= session->set.tally[i].counter < 16;
    if (!wanted || (strncmp(pmu->name, "nhm", 3) != 0 && strncmp(pmu->name, "wsm", 3) != 0))
        return 0;
    FUZZ_CHECK(dry->count > count, "%s: no prelude", pmu->name);
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(dry->writes[i].address == steps[i].address && dry->writes[i].value == steps[i].value,
                   "%s: the prelude writes %llx to %s", pmu->name, (unsigned long long)dry->writes[i].value,
                   dry->writes[i].name);
    return count;
}

static void run_dry(const struct upmu_pmu *pmu, const struct upmu_event *events, unsigned count, uint64_t period)
{
    static struct upmu_machine machine;
    static struct upmu_session session;
    const struct upmu_port port = {.pmi_rearm = (void (*)(void *))1};
    struct upmu_sampling sampling = {.period = period};
    struct upmu_write room[WRITES + 2] = {{0}}; /* one before and one behind, to look at */
    struct upmu_dry_run dry = {room + 1, WRITES, 0};
    unsigned added = 0;
    enum upmu_status status;

    memset(&machine, 0, sizeof machine);
    machine.port = &port;
    machine.pmu[0] = *pmu;
    machine.pmu_count = 1;
    FUZZ_CHECK(upmu_session_init(&session, &machine) == UPMU_OK, "session_init");
    for (unsigned i = 0; i < count; i++)
        if (upmu_set_add_event(&session.set, &events[i], &sampling) == UPMU_OK)
            added++;
    status = upmu_session_dry_run(&session, &machine.pmu[0], &dry);
    FUZZ_CHECK(added || status == UPMU_ERR_STATE, "a dry run of nothing gives %d", status);
    if (status != UPMU_OK)
        return;
    FUZZ_CHECK(dry.count && dry.count <= WRITES, "%u writes", (unsigned)dry.count);
    for (size_t i = check_prelude(pmu, &session, &dry); i < dry.count; i++)
        check_write(pmu, &session, &dry.writes[i], period != 0);
    for (unsigned i = 0; i < session.set.count; i++)
        FUZZ_CHECK(session.set.event[i].counters >> session.set.tally[i].counter & 1u, "%s: event %u on counter %u",
                   pmu->name, i, session.set.tally[i].counter);
}

/* Byte: which PMU; byte: how many events; word: period; of each: three words. */
static void run(const uint8_t *bytes, size_t length)
{
    static struct upmu_pmu pmu;
    struct fuzz_bytes input = {bytes, bytes + length};
    struct upmu_event events[EVENTS];
    unsigned known = 0, count = 0, which = fuzz_u8(&input), wanted = 1u + fuzz_u8(&input) % EVENTS;
    uint64_t period = fuzz_u64(&input);

    while (upmu_pmu_known(known))
        known++;
    FUZZ_CHECK(upmu_pmu_by_name(&pmu, upmu_pmu_known(which % known)) == UPMU_OK, "%s", upmu_pmu_known(which % known));
    for (unsigned i = 0; i < wanted; i++) {
        uint64_t config = fuzz_u64(&input), config1 = fuzz_u64(&input), config2 = fuzz_u64(&input);
        struct upmu_event before;
        enum upmu_status status;

        memset(&events[count], 0xA5, sizeof events[count]);
        before = events[count];
        status = upmu_event_raw(&pmu, config, config1, config2, &events[count]);
        if (status == UPMU_OK) {
            check_accepted(&pmu, &events[count], config);
            count++;
        } else {
            check_refused(&pmu, status, config, config1, config2);
            FUZZ_CHECK(!memcmp(&events[count], &before, sizeof before), "%s: refused, but the event is written",
                       pmu.name);
        }
    }
    run_dry(&pmu, events, count, period);
}

/* Words that exist, with changed bits, and any. */
static void make(uint64_t *random, struct fuzz_draft *draft)
{
    static const uint64_t codes[] = {0xc0,
                                     0x3c,
                                     0x13c,
                                     0x300,
                                     0xc4,
                                     0xc5,
                                     0x4f2e,
                                     0x412e,
                                     0x1b7,
                                     0x1bb,
                                     0x1cd,
                                     0x1c6,
                                     0x100b,
                                     0x8a3,
                                     0x1d1,
                                     0x2cb,
                                     0x148,
                                     0x14,
                                     0x400,
                                     0x1a4,
                                     0x8000,
                                     0x0003a0000c00140c,
                                     0x0003800004000208,
                                     0x0003c00026000200,
                                     0x0003200010000210};
    unsigned count = 1 + fuzz_below(random, EVENTS);

    fuzz_put(draft, fuzz_random(random), 1);
    fuzz_put(draft, count - 1, 1);
    fuzz_put(draft, fuzz_below(random, 2) ? 0 : fuzz_word(random), 8);
    for (; count; count--) {
        uint64_t config = codes[fuzz_below(random, sizeof codes / sizeof codes[0])];

        if (!fuzz_below(random, 3))
            config = fuzz_word(random);
        if (fuzz_below(random, 2))
            config ^= UINT64_C(1) << fuzz_below(random, 36);
        if (fuzz_below(random, 2))
            config |= (uint64_t)fuzz_below(random, 8) << 16;
        fuzz_put(draft, config, 8);
        fuzz_put(draft, fuzz_below(random, 3) ? 0 : fuzz_word(random), 8);
        fuzz_put(draft, fuzz_below(random, 8) ? 0 : fuzz_word(random), 8);
    }
}

const struct fuzz_target fuzz_target = {
    "raw", "any_words_set_only_what_a_session_may_set", 20000, 2000000, run, make, 0};
