/* SPDX-License-Identifier: MIT */
/*
 * Precise samples (PEBS) of the silicon model: a counter with PEBS stores a record into memory where another one
 * requests an interrupt. The memory is the test's (upmu_sim.memory).
 *
 * An overflow arms the counter, and the record is that of the next event. It is written when the burst has reached that
 * event, at the end of a piece of the burst: only then the address of the instruction is known.
 *
 * Layouts, the debug store area and registers: Linux 6.12 arch/x86/events/intel/ds.c, asm/perf_event.h, asm/intel_ds.h,
 * asm/msr-index.h; architectural PEBS: Linux patches "arch-PEBS enabling" (2025). Overflow, threshold and a full
 * buffer: SDM vol 3 18.4.4.
 */
#include "models/sim/sim_intern.h"

/* Fields of the debug store area, and the first reset value. */
#define AREA_BASE 32u
#define AREA_INDEX 40u
#define AREA_MAXIMUM 48u
#define AREA_THRESHOLD 56u
#define AREA_RESET 64u

/* Groups of an adaptive record, by their bits in PEBS_DATA_CFG and in the record's first word. */
#define GROUP_MEMORY SIM_BIT(0)
#define GROUP_REGISTERS SIM_BIT(1)
#define GROUP_XMM SIM_BIT(2)
#define GROUP_BRANCHES SIM_BIT(3)
#define GROUP_COUNTERS (SIM_BIT(4) | SIM_BIT(5))
#define GROUP_METRICS SIM_BIT(5)

/* Bits of CFG_C and of the header of an architectural record. */
#define ARCH_PRECISE SIM_BIT(63)
#define ARCH_MEMORY SIM_BIT(62)
#define ARCH_REGISTERS SIM_BIT(61)
#define ARCH_XMM SIM_BIT(49)
#define ARCH_BRANCHES(config) ((unsigned)((config) >> 40) & 3u)
#define ARCH_SNAPSHOT SIM_BIT(35) /* CFG_C alone: the counter is in records that have counters */
#define ARCH_GENERAL SIM_BIT(36)
#define ARCH_FIXED SIM_BIT(37)
#define ARCH_METRICS SIM_BIT(38)
#define ARCH_COUNTERS (ARCH_GENERAL | ARCH_FIXED | ARCH_METRICS)

/* PEBS_INDEX, and the offsets in it in bytes: bits 26:4, and the threshold in bits 58:36. */
#define INDEX_OFFSET UINT64_C(0x7fffff0)
#define INDEX_FULL SIM_BIT(31)
#define INDEX_ENABLE SIM_BIT(32)

#define REGISTERS 18u
#define NARROW_REGISTERS 10u

/* The 16 bits of an adaptive record that hold the retirement latency; reserved without PERF_CAPABILITIES[17]. */
#define RESERVED_WORD UINT64_C(0x5a5a)

enum { REGISTER_IP = 1, REGISTER_SP = 6 };

/* States of upmu_sim_counter.pebs. */
enum { PEBS_NONE, PEBS_ARMED, PEBS_DUE };

static unsigned format_of_records(const struct upmu_sim_profile *profile)
{
    return profile->flags & UPMU_SIM_PDCM ? SIM_CAP_PEBS_FORMAT(profile->capabilities) : 0;
}

static bool is_architectural(const struct upmu_sim *sim, unsigned index)
{
    return format_of_records(sim_is(sim, index)) == 15;
}

bool upmu_sim_debug_narrow(const struct upmu_sim *sim, unsigned index)
{
    return sim_is(sim, index)->flags & UPMU_SIM_NARROW_DS && sim_on(sim, UPMU_SIM_RULE_PEBS_NARROW);
}

/* ---- Memory ---- */

bool upmu_sim_debug_store(struct upmu_sim *sim, unsigned index, enum upmu_sim_memory_kind kind, uint64_t address,
                          uint64_t *word, unsigned length)
{
    uint8_t bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(kind & UPMU_SIM_MEMORY_WRITE ? *word >> 8u * i : 0);
    if (sim->memory == NULL || !sim->memory(sim, index, kind, address, bytes, length)) {
        if (sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_MEMORY))
            upmu_sim_violate(sim, "a record, or the debug store area, is in memory that is not mapped", SIM_MSR_DS_AREA,
                             address);
        return false;
    }
    *word = 0;
    for (unsigned i = 0; i < length; i++)
        *word |= (uint64_t)bytes[i] << 8u * i;
    return true;
}

/* Reset values always have 64 bits. */
bool upmu_sim_debug_area(struct upmu_sim *sim, unsigned index, bool writes, unsigned offset, uint64_t *word)
{
    bool narrow = upmu_sim_debug_narrow(sim, index);

    return upmu_sim_debug_store(sim, index, writes ? UPMU_SIM_MEMORY_WRITE : UPMU_SIM_MEMORY_READ,
                                sim->cpu[index].ds_area + (narrow ? offset / 2u : offset), word,
                                narrow && offset < AREA_RESET ? 4 : 8);
}

static bool read_area(struct upmu_sim *sim, unsigned index, unsigned offset, uint64_t *out_value)
{
    return upmu_sim_debug_area(sim, index, false, offset, out_value);
}

/* Where the next words of a record go; after an access that failed nothing more is stored. */
struct pebs_store {
    struct upmu_sim *sim;
    unsigned cpu;
    uint64_t at;
    bool fine;
};

static void put_word(struct pebs_store *store, uint64_t word)
{
    enum upmu_sim_memory_kind kind = UPMU_SIM_MEMORY_WRITE;
    unsigned length = upmu_sim_debug_narrow(store->sim, store->cpu) ? 4 : 8;

    if (is_architectural(store->sim, store->cpu))
        kind |= UPMU_SIM_MEMORY_PHYSICAL;
    store->fine = store->fine && upmu_sim_debug_store(store->sim, store->cpu, kind, store->at, &word, length);
    store->at += length;
}

static void put_zeros(struct pebs_store *store, unsigned words)
{
    while (words-- != 0)
        put_word(store, 0);
}

/* ---- Contents of a record ---- */

/* The event whose record is stored. */
struct pebs_event {
    const struct upmu_sim_burst *burst;
    uint64_t number; /* of the instruction, in its burst */
    uint64_t ip, next_ip;
    uint64_t counters; /* counters whose record it is, as bits of GLOBAL_STATUS */
};

static uint64_t register_value(const struct pebs_event *event, unsigned number)
{
    if (number == REGISTER_IP)
        return event->next_ip;
    if (number == REGISTER_SP)
        return event->burst->sp;
    return event->burst->registers != NULL ? event->burst->registers[number] : 0;
}

static uint64_t data_address(const struct pebs_event *event)
{
    return event->burst->data + event->burst->data_step * event->number;
}

/* Formats 0 to 3. Their registers: flags, ip, ax, bx, cx, dx, si, di, bp, sp, r8 to r15. */
static void put_fixed(struct pebs_store *store, unsigned format, const struct pebs_event *event, uint64_t now)
{
    static const uint8_t order[REGISTERS] = {0, 1, 2, 5, 3, 4, 8, 9, 7, 6, 10, 11, 12, 13, 14, 15, 16, 17};

    if (upmu_sim_debug_narrow(store->sim, store->cpu)) {
        for (unsigned i = 0; i < NARROW_REGISTERS; i++)
            put_word(store, register_value(event, order[i]));
        return;
    }
    for (unsigned i = 0; i < REGISTERS; i++)
        put_word(store, register_value(event, order[i]));
    if (format >= 1) {
        put_word(store, event->counters);
        put_word(store, data_address(event));
        put_word(store, event->burst->data_source);
        put_word(store, event->burst->latency);
    }
    if (format >= 2) {
        put_word(store, event->ip);
        put_word(store, event->burst->transaction);
    }
    if (format >= 3)
        put_word(store, now);
}

static void put_registers(struct pebs_store *store, const struct pebs_event *event)
{
    for (unsigned i = 0; i < REGISTERS; i++)
        put_word(store, register_value(event, i));
}

static void put_branches(struct pebs_store *store, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint64_t entry[3];

        upmu_sim_branches_entry(store->sim, store->cpu, i, entry);
        for (unsigned k = 0; k < 3; k++)
            put_word(store, entry[k]);
    }
}

/* The masks of counters in a group of counters, and whether slots and PERF_METRICS are there, too. */
struct pebs_counters {
    uint32_t general, fixed;
    bool metrics;
};

static unsigned counters_bytes(const struct pebs_counters *counters)
{
    unsigned words = counters->metrics ? 4 : 2;

    for (unsigned i = 0; i < 32; i++)
        words += (counters->general >> i & 1u) + (counters->fixed >> i & 1u);
    return 8u * words;
}

static void put_counters(struct pebs_store *store, const struct pebs_counters *counters)
{
    const struct upmu_sim_cpu *cpu = &store->sim->cpu[store->cpu];

    put_word(store, counters->general | (uint64_t)counters->fixed << 32);
    put_word(store, counters->metrics ? 3 : 0);
    for (unsigned i = 0; i < 32; i++)
        if (counters->general >> i & 1u)
            put_word(store, i < UPMU_SIM_GENERAL ? cpu->counter[i].value : 0);
    for (unsigned i = 0; i < 32; i++)
        if (counters->fixed >> i & 1u)
            put_word(store, UPMU_SIM_FIXED + i < UPMU_SIM_COUNTERS ? cpu->counter[UPMU_SIM_FIXED + i].value : 0);
    if (counters->metrics) {
        put_word(store, cpu->counter[UPMU_SIM_FIXED + 3].value);
        put_word(store, cpu->metrics);
    }
}

/* ---- Formats 4 to 6 ---- */

/* Return the groups of an adaptive record of a counter: none if the counter's adaptive bit is 0. */
static uint64_t adaptive_groups(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];
    bool adaptive = sim_is_fixed(counter) ? cpu->fixed_ctrl >> (32u + 4u * (counter - UPMU_SIM_FIXED)) & 1u
                                          : cpu->select[counter] & SIM_SELECT_ADAPTIVE;

    return adaptive ? cpu->pebs_data_cfg : 0;
}

static struct pebs_counters adaptive_counters(uint64_t groups)
{
    return (struct pebs_counters){(uint32_t)(groups & SIM_BIT(4) ? groups >> 32 & 0xffffu : 0),
                                  (uint32_t)(groups & SIM_BIT(4) ? groups >> 48 & 0xffu : 0),
                                  (groups & GROUP_METRICS) != 0};
}

static unsigned branches_of(uint64_t groups)
{
    return groups & GROUP_BRANCHES ? (unsigned)(groups >> 24 & 0xffu) + 1u : 0;
}

static unsigned adaptive_bytes(uint64_t groups)
{
    struct pebs_counters counters = adaptive_counters(groups);

    return 32u + (groups & GROUP_MEMORY ? 32u : 0) + (groups & GROUP_REGISTERS ? 8u * REGISTERS : 0) +
           (groups & GROUP_XMM ? 256u : 0) + 24u * branches_of(groups) +
           (groups & GROUP_COUNTERS ? counters_bytes(&counters) : 0);
}

/* Is the latency of the retirement measured for a record of these counters? */
static bool is_timed(const struct upmu_sim *sim, unsigned index, uint64_t counters)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);

    if (profile->flags & UPMU_SIM_UNTIMED && counters & SIM_BIT(32) && sim_on(sim, UPMU_SIM_RULE_PEBS_UNTIMED))
        return false;
    return profile->capabilities & SIM_CAP_TIMING;
}

static void put_adaptive(struct pebs_store *store, uint64_t groups, const struct pebs_event *event, uint64_t now)
{
    struct pebs_counters counters = adaptive_counters(groups);
    bool timed = is_timed(store->sim, store->cpu, event->counters);

    put_word(store, (groups & UINT32_MAX) | (timed ? event->burst->retire & UINT64_C(0xffff) : RESERVED_WORD) << 32 |
                        (uint64_t)adaptive_bytes(groups) << 48);
    put_word(store, event->ip);
    put_word(store, event->counters);
    put_word(store, now);
    if (groups & GROUP_MEMORY) {
        put_word(store, data_address(event));
        put_word(store, event->burst->data_source);
        put_word(store, event->burst->latency);
        put_word(store, event->burst->transaction);
    }
    if (groups & GROUP_REGISTERS)
        put_registers(store, event);
    if (groups & GROUP_XMM)
        put_zeros(store, 32);
    put_branches(store, branches_of(groups));
    if (groups & GROUP_COUNTERS)
        put_counters(store, &counters);
}

/* ---- Format 15 ---- */

static struct pebs_counters arch_counters(const struct upmu_sim *sim, unsigned index, uint64_t config)
{
    struct pebs_counters counters = {0, 0, (config & ARCH_METRICS) != 0};

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        if (!(sim->cpu[index].reload[i][1] & ARCH_SNAPSHOT))
            continue;
        if (sim_is_fixed(i))
            counters.fixed |= config & ARCH_FIXED ? 1u << (i - UPMU_SIM_FIXED) : 0;
        else
            counters.general |= config & ARCH_GENERAL ? 1u << i : 0;
    }
    return counters;
}

static unsigned arch_branches(uint64_t config)
{
    unsigned code = ARCH_BRANCHES(config);

    return code == 3 ? UPMU_SIM_LBR : 8u * code;
}

/* Return the bytes of an architectural record, which is one fragment; a record ends at a multiple of 16. */
static unsigned arch_bytes(const struct upmu_sim *sim, unsigned index, uint64_t config)
{
    struct pebs_counters counters = arch_counters(sim, index, config);
    unsigned bytes = 16u + 48u;

    bytes += (config & ARCH_MEMORY ? 64u : 0) + (config & ARCH_REGISTERS ? 8u * REGISTERS + 16u : 0);
    bytes += config & ARCH_XMM ? 16u + 256u : 0;
    bytes += ARCH_BRANCHES(config) != 0 ? 48u + 24u * arch_branches(config) : 0;
    bytes += config & ARCH_COUNTERS ? counters_bytes(&counters) : 0;
    return (bytes + 15u) & ~15u;
}

static void put_arch(struct pebs_store *store, uint64_t config, const struct pebs_event *event, uint64_t now)
{
    const uint64_t groups = ARCH_PRECISE | ARCH_MEMORY | ARCH_REGISTERS | ARCH_XMM | UINT64_C(3) << 40 | ARCH_COUNTERS;
    struct pebs_counters counters = arch_counters(store->sim, store->cpu, config);

    put_word(store, (config & groups) | SIM_BIT(30) | arch_bytes(store->sim, store->cpu, config));
    put_word(store, 0);
    put_word(store, event->ip);
    put_word(store, event->counters);
    put_word(store, now);
    put_word(store, SIM_BIT(16) | (event->burst->retire & UINT64_C(0xffff)));
    put_zeros(store, 2);
    if (config & ARCH_MEMORY) {
        put_word(store, data_address(event));
        put_zeros(store, 4);
        put_word(store, event->burst->data_source);
        put_word(store, event->burst->latency);
        put_word(store, event->burst->transaction);
    }
    if (config & ARCH_REGISTERS) {
        put_registers(store, event);
        put_zeros(store, 2); /* the pointer of the shadow stack, and a reserved word */
    }
    if (config & ARCH_XMM) {
        put_word(store, SIM_BIT(1));
        put_zeros(store, 33);
    }
    if (ARCH_BRANCHES(config) != 0) {
        put_word(store, 0);
        put_word(store, store->sim->cpu[store->cpu].lbr.ctl);
        put_word(store, UPMU_SIM_LBR);
        put_zeros(store, 3);
        put_branches(store, arch_branches(config));
    }
    if (config & ARCH_COUNTERS)
        put_counters(store, &counters);
}

/* ---- When a record is stored ---- */

bool upmu_sim_pebs_stores(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (!sim_on(sim, UPMU_SIM_RULE_PEBS_RECORDS))
        return false;
    if (is_architectural(sim, index))
        return cpu->reload[counter][1] & ARCH_PRECISE && cpu->pebs_base[1] & INDEX_ENABLE;
    return cpu->pebs_enable & upmu_sim_pebs_counters(sim_is(sim, index)) & sim_global_bit(counter);
}

/*
 * Fixed counters have PEBS with the baseline: without it bit 32 + i of PEBS_ENABLE is for load latency, except on
 * Goldmont Plus, which has no load latency.
 */
uint64_t upmu_sim_pebs_counters(const struct upmu_sim_profile *profile)
{
    uint64_t general = profile->pebs != 0 ? profile->pebs : 0xfu;

    if (!sim_has_pebs_enable(profile))
        return 0;
    if (profile->capabilities & SIM_CAP_BASELINE)
        return upmu_sim_intel_counter_bits(profile);
    return (general & (SIM_BIT(profile->general) - 1u)) | (profile->flags & UPMU_SIM_PEBS_FIXED ? SIM_BIT(32) : 0);
}

/*
 * Does the counter store the record of the event that overflows it, and not of the next one? Fixed counter 0 does, and
 * general counters as the profile says: counter 1 without the baseline, from Sandy Bridge to Skylake, only with
 * C0H/01H. With format 15 leaf 23H subleaf 5 says which counters do (EBX, EDX).
 */
static bool is_reduced(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);

    if (!sim_on(sim, UPMU_SIM_RULE_PEBS_REDUCED))
        return false;
    if (is_architectural(sim, index))
        return sim_is_fixed(counter) ? sim_extended(profile, 5, 3) >> (counter - UPMU_SIM_FIXED) & 1u
                                     : sim_extended(profile, 5, 1) >> counter & 1u;
    if (sim_is_fixed(counter))
        return counter == UPMU_SIM_FIXED;
    if (counter >= 8 || !((unsigned)profile->reduced >> counter & 1u))
        return false;
    return counter != 1 || profile->capabilities & SIM_CAP_BASELINE ||
           (sim->cpu[index].select[counter] & 0xffffu) == 0x01c0;
}

bool upmu_sim_pebs_has_latency(const struct upmu_sim_profile *profile)
{
    for (unsigned i = 0; i < UPMU_SIM_PAYLOADS; i++)
        if (profile->payload[i].address == SIM_MSR_LOAD_LATENCY)
            return true;
    return false;
}

/* Does a general counter count 03H/82H, beside which alone some CPUs measure loads (UPMU_SIM_LOADS_AUX)? */
static bool helps_loads(const struct upmu_sim *sim, unsigned index)
{
    for (unsigned i = 0; i < sim_is(sim, index)->general; i++)
        if ((sim->cpu[index].select[i] & 0xffffu) == 0x8203 && upmu_sim_intel_runs(sim, index, i))
            return true;
    return false;
}

/*
 * Does a counter with PEBS measure loads or stores without what lets it? Before the baseline load latency of general
 * counter n needs bit 32 + n of PEBS_ENABLE, and stores with their data on counter 3 need bit 63. Later, on some CPUs,
 * load latency needs the event 03H/82H.
 */
static bool lacks_measure(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    uint64_t code, wanted = 0;

    if (sim_is_fixed(counter))
        return false;
    code = sim->cpu[index].select[counter] & 0xffffu;
    if (profile->capabilities & SIM_CAP_BASELINE)
        return profile->flags & UPMU_SIM_LOADS_AUX && code == 0x01cd && !helps_loads(sim, index);
    if (upmu_sim_pebs_has_latency(profile) && code == (profile->flags & UPMU_SIM_AAK100 ? 0x100bu : 0x01cdu))
        wanted = SIM_BIT(32u + counter);
    if (profile->flags & UPMU_SIM_PRECISE_STORE && counter == 3 && code == 0x02cd)
        wanted = SIM_BIT(63);
    return wanted & ~sim->cpu[index].pebs_enable;
}

/*
 * Has a counter overflowed after fewer events than its records need? From Golden Cove and Gracemont on (format 5), a
 * counter without a shadow needs 128 from its load on (Linux core.c glc_limit_period).
 */
static bool is_short(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_profile *profile = sim_is(sim, index);
    uint64_t mask = sim_width_mask(profile, counter), loaded = sim->cpu[index].counter[counter].loaded;

    return format_of_records(profile) >= 5 && is_reduced(sim, index, counter) && loaded > mask >> 1 &&
           ((0 - loaded) & mask) < 128;
}

bool upmu_sim_pebs_overflow(struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const uint64_t wrong = SIM_SELECT_INT | SIM_SELECT_ANY | SIM_SELECT_EDGE;
    struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (!upmu_sim_pebs_stores(sim, index, counter))
        return false;
    if (upmu_sim_intel_config(sim, index, counter) & wrong && sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_SELECT))
        upmu_sim_violate(sim, "a counter with PEBS has INT, ANY or EDGE set", SIM_MSR_PEBS_ENABLE, counter);
    if (lacks_measure(sim, index, counter) && sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_LATENCY))
        upmu_sim_violate(sim, "loads or stores are measured without their bit of PEBS_ENABLE, or 03H/82H",
                         SIM_MSR_PEBS_ENABLE, counter);
    if (is_short(sim, index, counter) && sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_PERIOD))
        upmu_sim_violate(sim, "a counter without a shadow stores records at a period below 128", SIM_MSR_PEBS_ENABLE,
                         counter);
    cpu->counter[counter].pebs = PEBS_ARMED;
    if (sim_on(sim, UPMU_SIM_RULE_PEBS_SHOWS))
        cpu->status |= sim_global_bit(counter);
    if (is_reduced(sim, index, counter) || !sim_on(sim, UPMU_SIM_RULE_PEBS_ARMS))
        upmu_sim_pebs_count(sim, index, counter);
    return true;
}

bool upmu_sim_pebs_waits(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    return sim->cpu[index].counter[counter].pebs == PEBS_ARMED;
}

void upmu_sim_pebs_count(struct upmu_sim *sim, unsigned index, unsigned counter)
{
    if (sim->cpu[index].counter[counter].pebs != PEBS_ARMED)
        return;
    sim->cpu[index].counter[counter].pebs = PEBS_DUE;
    sim->cpu[index].pebs_due = true;
}

/* Return the counters that wait for their record, as bits of GLOBAL_STATUS; the others have not overflowed. */
static uint64_t waiting_counters(const struct upmu_sim *sim, unsigned index)
{
    uint64_t waiting = 0;

    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (sim->cpu[index].counter[i].pebs != PEBS_NONE)
            waiting |= sim_global_bit(i);
    return waiting;
}

/*
 * Return the counters that a record names. Before format 3 these are all that had overflowed: with several, it cannot
 * be known whose record it is, and it is the only one of them all.
 */
static uint64_t named_counters(const struct upmu_sim *sim, unsigned index, unsigned counter)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];

    if (format_of_records(sim_is(sim, index)) >= 3 || !sim_on(sim, UPMU_SIM_RULE_PEBS_COLLIDES))
        return sim_global_bit(counter);
    if (sim_on(sim, UPMU_SIM_RULE_HAZARD_PEBS_NO_STATUS))
        return 0;
    return waiting_counters(sim, index) | (cpu->status & upmu_sim_intel_counter_bits(sim_is(sim, index)));
}

/* Return the offset of a counter's reset value in the debug store area. */
static unsigned reset_offset(const struct upmu_sim_profile *profile, unsigned counter)
{
    unsigned general = format_of_records(profile) >= 5 ? 32 : 8;

    return AREA_RESET + 8u * (sim_is_fixed(counter) ? general + counter - UPMU_SIM_FIXED : counter);
}

static void reload_after_record(struct upmu_sim *sim, unsigned index, unsigned counter)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t value;

    cpu->counter[counter].pebs = PEBS_NONE;
    if (!sim_on(sim, UPMU_SIM_RULE_PEBS_RELOADS))
        return;
    if (is_architectural(sim, index))
        value = (uint64_t)(int64_t)(int32_t)(uint32_t)cpu->reload[counter][1];
    else if (!read_area(sim, index, reset_offset(sim_is(sim, index), counter), &value))
        return;
    value &= sim_width_mask(sim_is(sim, index), counter);
    cpu->counter[counter].value = upmu_sim_intel_period(sim, index, counter, SIM_MSR_DS_AREA, value);
    cpu->counter[counter].loaded = cpu->counter[counter].value;
}

static void set_status(struct upmu_sim *sim, unsigned index, uint64_t bit)
{
    sim->cpu[index].status |= bit;
    upmu_sim_intel_freeze(sim, index);
    upmu_sim_request_pmi(sim, index);
}

void upmu_sim_debug_full(struct upmu_sim *sim, unsigned index)
{
    set_status(sim, index, SIM_STATUS_DS);
}

/* The buffer has as many bytes as its threshold, or more: show it in the status, freeze, and request an interrupt. */
static void reach_threshold(struct upmu_sim *sim, unsigned index, unsigned counter)
{
    uint64_t bit = is_architectural(sim, index) ? SIM_STATUS_ARCH_PEBS : SIM_STATUS_DS;

    if (sim_on(sim, UPMU_SIM_RULE_HAZARD_PEBS_HIDDEN))
        bit = sim_global_bit(counter);
    set_status(sim, index, bit);
}

/* Store a record into the buffer of the debug store area. Returns false if the buffer has no room. */
static bool store_in_area(struct upmu_sim *sim, unsigned index, unsigned counter, const struct pebs_event *event)
{
    static const uint8_t words[] = {18, 22, 24, 25};
    const unsigned format = format_of_records(sim_is(sim, index));
    const uint64_t groups = adaptive_groups(sim, index, counter);
    const unsigned bytes = upmu_sim_debug_narrow(sim, index) ? 4u * NARROW_REGISTERS
                           : format < 4                      ? 8u * words[format]
                                                             : adaptive_bytes(groups);
    const uint64_t now = sim->now_ns + sim->cpu[index].tsc_offset;
    struct pebs_store store = {sim, index, 0, true};
    uint64_t base, next, maximum, threshold;

    if (!read_area(sim, index, AREA_BASE, &base) || !read_area(sim, index, AREA_INDEX, &next) ||
        !read_area(sim, index, AREA_MAXIMUM, &maximum) || !read_area(sim, index, AREA_THRESHOLD, &threshold))
        return false;
    if ((next < base || threshold <= base || (format < 4 && (uint32_t)(next - base) % bytes != 0)) &&
        sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_AREA))
        upmu_sim_violate(sim, "the debug store area is not set up for records", SIM_MSR_DS_AREA, next);
    if ((next > maximum || bytes > maximum - next) && sim_on(sim, UPMU_SIM_RULE_PEBS_FULL))
        return false;
    store.at = next;
    if (format < 4)
        put_fixed(&store, format, event, now);
    else
        put_adaptive(&store, groups, event, now);
    next += bytes;
    if (!store.fine || !upmu_sim_debug_area(sim, index, true, AREA_INDEX, &next))
        return false;
    if (next >= threshold)
        reach_threshold(sim, index, counter);
    return true;
}

/*
 * Store an architectural record. Returns false if the buffer has no room; PEBS_INDEX then says so, and until software
 * clears that bit no record is stored.
 */
static bool store_by_index(struct upmu_sim *sim, unsigned index, unsigned counter, const struct pebs_event *event)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    const uint64_t config = cpu->reload[counter][1], now = sim->now_ns + cpu->tsc_offset;
    const unsigned bytes = arch_bytes(sim, index, config);
    const uint64_t size = UINT64_C(4096) << (cpu->pebs_base[0] & 0x1fu);
    uint64_t offset = cpu->pebs_base[1] & INDEX_OFFSET;
    struct pebs_store store = {sim, index, (cpu->pebs_base[0] & ~UINT64_C(0xfff)) + offset, true};

    if ((offset + bytes > size || cpu->pebs_base[1] & INDEX_FULL) && sim_on(sim, UPMU_SIM_RULE_PEBS_FULL)) {
        cpu->pebs_base[1] |= INDEX_FULL;
        return false;
    }
    put_arch(&store, config, event, now);
    if (!store.fine)
        return false;
    offset += bytes;
    cpu->pebs_base[1] = (cpu->pebs_base[1] & ~INDEX_OFFSET) | (offset & INDEX_OFFSET);
    if (offset >= (cpu->pebs_base[1] >> 32 & INDEX_OFFSET))
        reach_threshold(sim, index, counter);
    return true;
}

/*
 * Store the record of a counter that has had its event, and clear the counter's status bit. A record that is not stored
 * reloads no counter and clears no bit: the hardware skips such a record entirely (SDM vol 3 18.4.2).
 */
static void store_record(struct upmu_sim *sim, unsigned index, unsigned counter, struct pebs_event *event)
{
    uint64_t shared = sim_global_bit(counter), shown;
    bool stored;

    event->counters = named_counters(sim, index, counter);
    if (format_of_records(sim_is(sim, index)) < 3 && sim_on(sim, UPMU_SIM_RULE_PEBS_COLLIDES))
        shared = waiting_counters(sim, index);
    if (sim->cpu[index].guest && !is_architectural(sim, index) && sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_GUEST))
        upmu_sim_violate(sim, "a record is stored by a linear address while a guest runs", SIM_MSR_DS_AREA, counter);
    shown = sim_on(sim, UPMU_SIM_RULE_PEBS_SHOWS) ? sim->cpu[index].status & shared : 0;
    sim->cpu[index].status &= ~shown;
    stored = is_architectural(sim, index) ? store_by_index(sim, index, counter, event)
                                          : store_in_area(sim, index, counter, event);
    sim->cpu[index].status |= stored ? 0 : shown;
    sim->cpu[index].pebs_records += stored ? 1u : 0u;
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        if (!(shared & sim_global_bit(i)))
            continue;
        if (stored)
            reload_after_record(sim, index, i);
        sim->cpu[index].counter[i].pebs = PEBS_NONE;
    }
}

void upmu_sim_pebs_store(struct upmu_sim *sim, unsigned index, const struct upmu_sim_burst *burst, uint64_t number,
                         uint64_t ip, uint64_t next_ip)
{
    struct pebs_event event = {burst, number, ip, next_ip, 0};

    sim->cpu[index].pebs_due = false;
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (sim->cpu[index].counter[i].pebs == PEBS_DUE)
            store_record(sim, index, i, &event);
}

/* ---- Writes of registers ---- */

void upmu_sim_pebs_enable(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t cleared = cpu->pebs_enable & ~value & upmu_sim_pebs_counters(sim_is(sim, index));

    cpu->pebs_enable = value;
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++) {
        if (!(cleared & sim_global_bit(i)))
            continue;
        cpu->counter[i].pebs = PEBS_NONE;
        /* Linux core.c intel_pmu_disable_event: an interrupt without a record comes if the counter still runs. */
        if (upmu_sim_intel_runs(sim, index, i) && sim_on(sim, UPMU_SIM_RULE_PEBS_STRAY)) {
            cpu->status |= sim_global_bit(i);
            upmu_sim_request_pmi(sim, index);
        }
    }
}

void upmu_sim_pebs_data_config(struct upmu_sim *sim, unsigned index, uint64_t value)
{
    struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t base, next;

    if (value != cpu->pebs_data_cfg && cpu->pebs_enable != 0 && cpu->ds_area != 0 && sim->memory != NULL &&
        sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_SIZE) && read_area(sim, index, AREA_BASE, &base) &&
        read_area(sim, index, AREA_INDEX, &next) && next != base)
        upmu_sim_violate(sim, "PEBS_DATA_CFG changes the size of records while the buffer has some",
                         SIM_MSR_PEBS_DATA_CFG, value);
    cpu->pebs_data_cfg = value;
}

void upmu_sim_pebs_start(struct upmu_sim *sim, unsigned index)
{
    const struct upmu_sim_cpu *cpu = &sim->cpu[index];
    uint64_t base, maximum;

    /* Core 2: a write of GLOBAL_CTRL hangs if the buffer is above a page (Linux 6.12 ds.c). */
    if (format_of_records(sim_is(sim, index)) == 0 && cpu->pebs_enable & cpu->global_ctrl && cpu->ds_area != 0 &&
        sim->memory != NULL && sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_PAGE) && read_area(sim, index, AREA_BASE, &base) &&
        read_area(sim, index, AREA_MAXIMUM, &maximum) && maximum - base > 4096)
        upmu_sim_violate(sim, "GLOBAL_CTRL hangs: the buffer of records is above a page", SIM_MSR_GLOBAL_CTRL, maximum);
}

/*
 * The record of an overflow before the entry can land in the guest, though GLOBAL_CTRL has stopped the counter: until
 * microcode isolates records, PEBS_ENABLE has to be 0 at the entry. Formats to 3 had no such microcode at first.
 */
void upmu_sim_pebs_cross(struct upmu_sim *sim, unsigned index)
{
    if (sim_is_p4(sim) || sim_is(sim, index)->amd != NULL || format_of_records(sim_is(sim, index)) > 3)
        return;
    for (unsigned i = 0; i < UPMU_SIM_COUNTERS; i++)
        if (sim->cpu[index].counter[i].pebs != PEBS_NONE && upmu_sim_pebs_stores(sim, index, i) &&
            sim_on(sim, UPMU_SIM_RULE_CHECK_PEBS_FLIGHT))
            upmu_sim_violate(sim, "a record in flight can land in the guest that is entered", SIM_MSR_PEBS_ENABLE, i);
}
