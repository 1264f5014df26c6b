/* SPDX-License-Identifier: MIT */
/*
 * Steps of precise samples: memory for records is lent and taken back, and the hardware sees it at linear addresses of
 * its own.  What is no longer lent is unmapped for the library, and any store of the hardware there breaks a rule.
 */
#include <stdio.h>
#include <string.h>

#include <upmu/session.h>

#include "tests/host/simulated.h"

#define LINEAR UINT64_C(0xfffffe0000000000)
#define STEP_OF_LINEAR UINT64_C(0x100000)
#define RECORDS_AT 0x10000u

static uint64_t lendings; /* each has linear addresses of its own */

bool precise_is_on(void)
{
    return setting_has(&host.setting, THEME_PRECISE);
}

/* The host's memory behind linear addresses; NULL: none is lent there. */
static uint8_t *behind(const struct precise_memory *at, uint64_t linear, size_t size)
{
    uint64_t offset = linear - at->linear;

    if (!at->lent)
        return NULL;
    if (offset < UPMU_RECORD_AREA_BYTES && offset + size <= UPMU_RECORD_AREA_BYTES)
        return (uint8_t *)at->area + offset;
    offset -= RECORDS_AT;
    return offset < at->bytes && offset + size <= at->bytes ? (uint8_t *)at->records + offset : NULL;
}

/* Memory that a register may still name though the host was told so (UPMU_ERR_PORT): it is never freed. */
static bool is_kept(const struct precise_memory *at, uint64_t linear)
{
    return at->unsafe && linear - LINEAR < (lendings + 1u) * STEP_OF_LINEAR;
}

void precise_copy(void *memory, void *bytes, size_t size, bool is_write)
{
    if (!memory && !is_write)
        memset(bytes, 0, size);
    else if (memory && !is_write)
        memcpy(bytes, memory, size);
    else if (memory && !host.looking)
        memcpy(memory, bytes, size);
}

static bool hardware_access(unsigned number, uint64_t linear, void *bytes, size_t size, bool is_write)
{
    struct precise_memory *at = &host.cpu[number].precise;
    uint8_t *memory = behind(at, linear, size);

    if (!memory && !is_kept(at, linear))
        return false;
    if (is_write && host.cpu[number].world == CPU_IN_GUEST && !host.cpu[number].faulted)
        rules_fail(RULE_DAMAGE, "CPU %u stores a precise record in a guest", number);
    precise_copy(memory, bytes, size, is_write);
    return true;
}

const struct hardware_memory precise_hardware = {hardware_access, precise_recorded};

/* ---- Memory is lent and taken back ---- */

/* Has this CPU no records, or wrong ones (AJ67 to AJ69, AJ106)? */
static bool may_refuse(void)
{
    const char *name = host.setting.family->models[host.setting.model].name;

    return host.setting.family != &hardware_intel || !strcmp(name, "version 1") || !strcmp(name, "merom");
}

static void give_back(struct precise_memory *at, bool keep)
{
    if (keep)
        at->unsafe = true; /* (Its blocks are the run's: host.kept.) */
    for (unsigned i = 0; i < 2; i++) {
        void *block = i ? at->records : at->area;

        if (!keep)
            arena_give(block);
        else if (host.kept_blocks < sizeof host.kept / sizeof host.kept[0])
            host.kept[host.kept_blocks++] = block;
    }
    at->area = at->records = NULL;
    at->lent = false;
    arena_forgotten();
}

static void give_wrong(struct upmu_record_memory *memory, struct lots *lots)
{
    switch (lots_below(lots, 5)) {
    case 0:
        memory->area_linear += 8;
        break;
    case 1:
        memory->records_linear = UINT64_C(1) << 60;
        break;
    case 2:
        memory->record_bytes = 4000;
        break;
    case 3:
        memory->records = memory->area;
        memory->records_linear = memory->area_linear;
        break;
    default:
        memory->area = NULL;
        break;
    }
}

static void lend(struct lots *lots)
{
    struct precise_memory *at = &here()->precise;
    bool wrong = lots_one_in(lots, 8);
    struct upmu_record_memory memory;
    struct upmu_why why;
    enum upmu_status status;

    at->bytes = 4096u * (lots_below(lots, 2) ? 1u : 1u + lots_below(lots, 4));
    if (branches_are_on() && lendings % 4u) /* (So much is needed for records with branches.) */
        at->bytes = 16384;
    at->area = arena_take(UPMU_RECORD_AREA_BYTES, "area");
    at->records = arena_take(at->bytes, "records");
    at->linear = LINEAR + ++lendings * STEP_OF_LINEAR;
    at->lent = true;
    at->owed = 0;
    at->doubtful = at->unsafe;
    memory = (struct upmu_record_memory){.area = at->area,
                                         .area_linear = at->linear,
                                         .records = at->records,
                                         .records_linear = at->linear + RECORDS_AT,
                                         .record_bytes = at->bytes};
    if (wrong)
        give_wrong(&memory, lots);
    self->stay++;
    at->giving = true;
    status = HOST_CALL(upmu_cpu_use_records(here()->cpu, &memory, &why));
    at->giving = false;
    self->stay--;
    TRACE("memory for records is lent: %u %s", (unsigned)status, status == UPMU_OK ? "" : why.word);
    rules_status("upmu_cpu_use_records", status,
                 wrong || at->bytes > 4096 ? "INVALID UNSUPPORTED STATE PORT BUSY" : "UNSUPPORTED STATE PORT BUSY");
    if (status == UPMU_ERR_UNSUPPORTED && !may_refuse() && !host.verdict->figures.faults)
        rules_fail(RULE_STATUS, "upmu_cpu_use_records: refused on %s",
                   host.setting.family->models[host.setting.model].name);
    if (status == UPMU_OK && wrong)
        rules_fail(RULE_STATUS, "upmu_cpu_use_records: OK with memory that cannot be used");
    if (status != UPMU_OK)
        give_back(at, status == UPMU_ERR_PORT);
}

static void take_back(void)
{
    struct precise_memory *at = &here()->precise;
    uint64_t interrupts = host.verdict->figures.interrupts;
    struct upmu_record_counts counts;
    enum upmu_status status;

    self->stay++;
    counts = upmu_cpu_records(here()->cpu);
    status = HOST_CALL(upmu_cpu_use_records(here()->cpu, NULL, NULL));
    self->stay--;
    rules_status("upmu_cpu_use_records (none)", status, "STATE PORT BUSY");
    if (status == UPMU_OK && traces_use_records(self->cpu))
        rules_fail(RULE_STATUS, "upmu_cpu_use_records (none): OK while a trace uses the area");
    if (status == UPMU_OK) /* (An interrupt at its begin may have read the last record.) */
        precise_check_counts(self->cpu, counts, interrupts == host.verdict->figures.interrupts);
    if (status == UPMU_OK || status == UPMU_ERR_PORT)
        give_back(at, status == UPMU_ERR_PORT);
}

void act_precise(struct lots *lots)
{
    struct host_cpu *cpu = here();

    if (cpu->power != CPU_LIVE || cpu->useless || cpu->precise.giving)
        return;
    if (!cpu->precise.area)
        lend(lots);
    else if (lots_below(lots, 2))
        take_back();
    else
        precise_check_counts(self->cpu, upmu_cpu_records(cpu->cpu), false);
}

void act_precise_come(struct lots *lots)
{
    if (precise_is_on() && lots_below(lots, 4))
        lend(lots);
}

void act_precise_over(unsigned number, bool faulted)
{
    struct precise_memory *at = &host.cpu[number].precise;

    if (at->area)
        give_back(at, faulted);
}

void act_precise_sleeps(unsigned number, bool faulted)
{
    struct precise_memory *at = &host.cpu[number].precise;

    at->lent &= faulted;
    at->doubtful |= faulted;
}

void act_precise_wakes(unsigned number)
{
    struct precise_memory *at = &host.cpu[number].precise;

    at->lent = at->area != NULL;
}

/* ---- Events ---- */

/*
 * Codes of events that retire (facts: perfmon_precise.tsv).  Level 3 needs instructions: before the baseline by the
 * code of INST_RETIRED.PREC_DIST, from then on by that of any.
 */
static const struct {
    enum hardware_event kind;
    const char *text;
} codes[] = {
    {HARDWARE_INSTRUCTIONS, "raw:config=0xc0"},  {HARDWARE_BRANCHES, "raw:config=0xc4"},
    {HARDWARE_BRANCH_MISSES, "raw:config=0xc5"}, {HARDWARE_INSTRUCTIONS, "raw:config=0x1c0"},
    {HARDWARE_INSTRUCTIONS, "raw:config=0x100"}, {HARDWARE_INSTRUCTIONS, "instructions"},
    {HARDWARE_BRANCHES, "branches"},
};
enum { PRECISE_DISTRIBUTION = 3, FIXED_INSTRUCTIONS };

void act_precise_begin(struct host_session *session)
{
    struct lots lots = {(host.setting.seed + 1u) * UINT64_C(0xda942042e4dd58b5) ^ session->serial};

    session->batches = precise_is_on() && host.setting.batches && lots_below(&lots, 3);
}

bool act_precise_samples_alone(const struct host_session *session)
{
    return session->batches && host.setting.no_rearm;
}

static void draw_level(struct host_event *event, struct lots *lots, char *text, size_t size)
{
    const char *rings = event->user ? event->kernel ? "" : ":u" : ":k";
    unsigned at = lots_below(lots, 3), level = 1u + lots_below(lots, 3), format = precise_format();

    if (level == 3)
        at = format >= 4 ? lots_below(lots, 2) * FIXED_INSTRUCTIONS : PRECISE_DISTRIBUTION;
    else if (format < 2)
        level = 1;
    if (lots_one_in(lots, 10)) { /* (Now and then whatever may be refused.) */
        at = lots_below(lots, sizeof codes / sizeof codes[0]);
        level = 1u + lots_below(lots, 3);
    }
    /* (A raw code is believed, and counts nothing where the CPU has no such event.) */
    if ((at == FIXED_INSTRUCTIONS && format < 4) || (at == PRECISE_DISTRIBUTION && !format))
        at = 0;
    event->kind = codes[at].kind;
    event->level = (uint8_t)level;
    if (lots_below(lots, 2))
        event->sampling.flags |= UPMU_SAMPLING_PARTS((uint32_t)lots_draw(lots) & UPMU_RECORD_PARTS);
    (void)snprintf(text, size, "%s:precise=%u%s", codes[at].text, level, rings);
}

/* Is an event of its set precise already?  A batch is the only one. */
static bool set_is_precise(const struct host_session *session, const struct host_event *event)
{
    bool found = false;

    for (unsigned k = 0; k < session->sets; k++)
        for (unsigned i = 0; i < session->set[k].events && event == &session->set[k].event[session->set[k].events]; i++)
            found |= session->set[k].event[i].level != 0;
    return found;
}

/* What a batch may not have (precise.h, UPMU_SAMPLING_BATCH) is left out, but now and then. */
static void make_batch(const struct host_session *session, struct host_event *event)
{
    struct upmu_sampling *sampling = &event->sampling;
    struct lots lots = {(host.setting.seed + 2u) * UINT64_C(0xda942042e4dd58b5) ^ sampling->period << 8 ^
                        session->serial};

    event->batch = true;
    sampling->flags |= UPMU_SAMPLING_BATCH;
    if (lots_below(&lots, 2))
        sampling->period = 2u + lots_below(&lots, 300);
    if (lots_one_in(&lots, 20))
        return;
    sampling->flags &= ~(uint32_t)UPMU_SAMPLING_NOTIFY;
    sampling->random_mask = sampling->frequency = sampling->switch_after = 0;
    sampling->long_period = 0;
    event->regular = true;
}

void act_precise_draw(struct host_session *session, struct host_event *event, struct lots *lots, char *text,
                      size_t size)
{
    bool precise = precise_is_on() && !session->type && session->sampling && event->sampling.period &&
                   !lots_one_in(lots, 4) && !(session->batches && set_is_precise(session, event));

    if (precise)
        draw_level(event, lots, text, size);
    if (session->batches)
        event->sampling.values = 0;
    if (session->batches && event->level)
        make_batch(session, event);
    if (act_precise_samples_alone(session) && !event->batch) { /* (Without interrupts nothing else samples.) */
        memset(&event->sampling, 0, sizeof event->sampling);
        event->regular = false;
        event->level = 0;
    }
}
