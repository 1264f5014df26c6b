/* SPDX-License-Identifier: MIT */
/*
 * Precise samples: what the engine calls in plans and interrupts (core/sample/records_core.h).
 *
 * A counter that stores a record gets from the hardware the value with which it counts on as if nothing had happened: 1
 * or 0 (upmu_backend.value_after_record).  So its value passes zero as that of any sampling counter, its count needs no
 * correction, and an overflow is taken as any other.  But the record decides, and not the value: an overflow whose
 * record has not come yet is left alone.
 *
 * The buffer is read from its begin at each look, and only begins anew when no counter can store a record.  A plan may
 * look while other counters run: it takes the records of those that leave.  The place from which on records of a
 * counter belong to its event (`since`) keeps events apart that have the counter one after the other.
 *
 * The bytes that the hardware has written are input: core/sample/precise.c compares each size, the number of records is
 * limited, and after a record that cannot be read all events whose records may be lost go on without a sample.
 */
#include "core/sample/records_core.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/backend.h"
#include "core/hw/bank.h"
#include "core/engine/count.h"
#include "core/engine/meter.h"
#include "core/engine/plan.h"
#include "core/sample/batch.h"
#include "core/sample/precise_core.h"
#include "core/sample/record_branches.h"
#include <upmu/precise.h>

#if UPMU_PRECISE

/*
 * The most records of one look.  Each counter stores one, and then none before it was loaded; in plans between two
 * interrupts it may have been loaded for several events.
 */
#define RECORDS_MOST 64u

/* upmu_records.looked of a damaged buffer, which is counted once: more words than a buffer has. */
#define LOOKED_DAMAGED 0xffffu

/*
 * Return the bits of counters in the register that makes them store records: those of their present events, or, with
 * `every`, those of any event.
 */
static uint64_t bits_of_counters(const struct upmu_meter *meter, uint32_t counters, bool every)
{
    uint64_t bits = 0;

    for (; counters; counters &= counters - 1u) {
        unsigned counter = upmu_bits_lowest(counters);
        const struct upmu_tally *tally = upmu_meter_on(meter, counter);
        const struct upmu_event *event =
            tally && !every ? &upmu_active(meter->slot[counter].session)->event[tally->index] : NULL;

        if (event || every)
            bits |= meter->pmu->backend->record_bits(meter->pmu, event, counter);
    }
    return bits;
}

/*
 * Let these counters store records, and clear the bits of all others in meter->precise.  While a guest runs no counter
 * stores any: the hardware would store by an address of the guest.  After a fault try once more.  Returns false after
 * two: then meter->precise has all counters that may still store records.
 */
static bool write_enable(struct upmu_meter *meter, uint32_t counters)
{
    const struct upmu_pmu *pmu = meter->pmu;
    uint64_t mask, value = bits_of_counters(meter, counters, false);

#if UPMU_WORLDS
    value = meter->in_guest ? 0 : value;
#endif
    meter->precise |= counters;
    mask = bits_of_counters(meter, meter->precise, true);
    if (!upmu_bank_merge(&meter->bank, pmu->record_row, mask, value, 0) &&
        !upmu_bank_merge(&meter->bank, pmu->record_row, mask, value, 0))
        return false;
    meter->precise = counters;
    return true;
}

/* Return the bytes of the buffer that have records; above the buffer's size where the index is nowhere in it. */
static uint64_t filled_bytes(const struct upmu_records *records)
{
    return records->area[UPMU_AREA_INDEX] - records->buffer_linear;
}

/*
 * Clear the status bit of the buffer's threshold, and let the buffer begin anew.  No counter can store a record now.
 * Returns false after two faults: then the buffer stays as it is, so that the next call tries once more.
 */
static bool empty_buffer(struct upmu_meter *meter, uint32_t stays)
{
    struct upmu_records *records = &meter->cpu->records;
    const struct upmu_pmu *pmu = meter->pmu;

    if (filled_bytes(records) && !upmu_bank_command(&meter->bank, pmu->ack_row, UPMU_STATUS_RECORDS) &&
        !upmu_bank_command(&meter->bank, pmu->ack_row, UPMU_STATUS_RECORDS))
        return false;
    records->area[UPMU_AREA_INDEX] = records->buffer_linear;
    records->seen = stays;
    records->looked = 0;
#if UPMU_BRANCH_SAMPLES
    records->restarted = 0;
#endif
    for (unsigned i = 0; i < UPMU_RECORD_COUNTERS; i++)
        records->since[i] = 0;
    return true;
}

/*
 * Let the counters of these events store records, and no others; if there are none, let the buffer begin anew.  After
 * two faults return false: then meter->precise has counters still, so that the next plan, of whatever sessions, tries
 * once more before it opens a counter.
 */
static bool change_records(struct upmu_meter *meter, uint32_t counters)
{
    uint32_t before = meter->precise | counters;

    meter->cpu->records.storing = counters;
    if (!write_enable(meter, counters))
        return false;
    if (counters || empty_buffer(meter, 0))
        return true;
    meter->precise = before;
    return false;
}

/* As change_records(); where that fails, the counters concerned are failed. */
static void enable_records(struct upmu_meter *meter, uint32_t counters)
{
    if (!change_records(meter, counters))
        upmu_meter_fails(meter, meter->precise);
}

/* ---- Whose a record is ---- */

/* Return those of `counters` whose present event has the records from place `at` on. */
static uint32_t counters_since(const struct upmu_records *records, uint32_t counters, unsigned at)
{
    uint32_t found = 0;

    for (; counters; counters &= counters - 1u)
        if (records->since[upmu_bits_lowest(counters)] <= at)
            found |= counters & ~(counters - 1u);
    return found;
}

static void mark_recorded(struct upmu_meter *meter, uint32_t counters)
{
    for (; counters; counters &= counters - 1u) {
        struct upmu_tally *tally = upmu_meter_on(meter, upmu_bits_lowest(counters));

        if (tally)
            upmu_tally_record(tally, tally->precise && !tally->batch);
    }
}

/*
 * Give a record at place `at` to the events of the counters that it names.  Formats 1 and 2 name all counters that had
 * overflowed, or none; several of them may share the record: their events go on without a sample (Linux 6.12
 * events/intel/ds.c).  A counter that is named and still armed stores a record of its own: upmu_records_is_armed().
 */
static void give_record(struct upmu_meter *meter, uint32_t wanted, uint64_t bits, unsigned at)
{
    struct upmu_records *records = &meter->cpu->records;
    uint32_t named = upmu_batch_named(meter, records->seen, bits);
    uint32_t mine = counters_since(records, named & wanted, at);

    upmu_batch_give(records, mine & records->batches, at);
    if (upmu_batch_is_shared(meter, named)) {
        records->shared += at >= records->looked;
        mark_recorded(meter, mine);
        return;
    }
    records->taken += upmu_bits_count(mine & records->batches);
    mine &= ~records->batches;
    mark_recorded(meter, mine);
    records->has |= mine;
#if UPMU_BRANCH_SAMPLES
    upmu_record_branches_found(records, mine, at);
#endif
    for (; mine; mine &= mine - 1u)
        records->at[upmu_bits_lowest(mine)] = (uint16_t)at;
    if (named)
        return;
    mark_recorded(meter, counters_since(records, wanted, at)); /* one of them has lost its record */
    records->strange += at >= records->looked;
}

/* Read the records of the buffer, and set records->looked.  Returns false where not all could be read. */
static bool read_buffer(struct upmu_meter *meter, uint32_t wanted)
{
    struct upmu_records *records = &meter->cpu->records;
    uint64_t filled = filled_bytes(records);
    struct upmu_precise record;
    unsigned number = 0;
    uint32_t at = 0;

    if (filled > records->bytes)
        return false;
    while (at < filled) {
        if ((number++ == RECORDS_MOST && !records->batches) || (at & 7u) ||
            upmu_precise_decode(meter->pmu->record_capabilities, records->buffer + at, (size_t)filled - at, &record) !=
                UPMU_PRECISE_FINE)
            return false;
        give_record(meter, wanted, record.counters, at / 8u);
        at += record.bytes;
    }
    records->looked = (uint16_t)(at / 8u);
    return true;
}

/*
 * May the buffer lack room for one more record?  The hardware drops such a record, and its counter counts on.  Batches
 * that are alone have the maximum nearer, and count what they lose by themselves.
 */
static bool is_full(const struct upmu_meter *meter)
{
    const struct upmu_records *records = &meter->cpu->records;
    uint64_t room = records->area[UPMU_AREA_MAXIMUM] - records->buffer_linear;

    return filled_bytes(records) + meter->pmu->record_bytes + records->more > room;
}

/* Find the records of the counters in `wanted`: upmu_tally.recorded of their events, and records->has. */
static void look_for_records(struct upmu_meter *meter, uint32_t wanted)
{
    struct upmu_records *records = &meter->cpu->records;

    for (uint32_t rest = meter->precise; rest; rest &= rest - 1u) {
        struct upmu_tally *tally = upmu_meter_on(meter, upmu_bits_lowest(rest));

        if (tally)
            upmu_tally_record(tally, false);
    }
    records->has = 0;
    records->looked_for = records->seen;
    memset(records->left, 0, sizeof records->left);
    if (!read_buffer(meter, wanted)) {
        records->strange += records->looked != LOOKED_DAMAGED;
        records->looked = LOOKED_DAMAGED;
        upmu_batch_lose(meter, wanted & records->batches);
    } else if (!is_full(meter)) {
        return;
    }
    mark_recorded(meter, wanted & ~records->has);
}

static void take_records(struct upmu_meter *meter, uint32_t wanted)
{
    struct upmu_records *records = &meter->cpu->records;

    look_for_records(meter, wanted);
    records->taken += upmu_bits_count(records->has & ~records->batches);
    upmu_batch_fold(meter, wanted & records->batches);
    /* Records of batches are counted now: a buffer that cannot be emptied is read again. */
    for (wanted &= records->batches; wanted; wanted &= wanted - 1u)
        records->since[upmu_bits_lowest(wanted)] = records->looked;
}

void upmu_records_interrupt(struct upmu_meter *meter)
{
    take_records(meter, meter->cpu->records.storing);
    if (!empty_buffer(meter, meter->precise))
        upmu_meter_fails(meter, meter->precise);
}

bool upmu_records_wait(const struct upmu_meter *meter)
{
    return filled_bytes(&meter->cpu->records);
}

/* ---- Plans ---- */

/*
 * A prelude (an erratum's sequence of writes) runs events of its own: a plan with one has all running counters in
 * plan.leave, so no record of these events is stored.
 */
void upmu_records_leave(struct upmu_meter *meter)
{
    uint32_t leaving = meter->precise & meter->plan.leave, stays = meter->precise & ~leaving;

    if (!leaving)
        return;
    /* The interrupt of a full batch may still come: its status bit is cleared here. */
    if (upmu_batch_interrupts(meter))
        upmu_meter_expect(meter, 1, upmu_meter_now(meter));
    take_records(meter, leaving & meter->cpu->records.storing);
    enable_records(meter, stays & meter->cpu->records.storing);
}

bool upmu_records_is_armed(const struct upmu_meter *meter, unsigned counter, uint64_t value)
{
    return !(value & upmu_bits_ones(meter->pmu->counter[counter].width)) &&
           meter->cpu->records.area[upmu_batch_reload_at(meter, counter)];
}

/* Begin the records of a counter's event: set the value that the counter gets after a record. */
static void begin_records(struct upmu_meter *meter, unsigned counter)
{
    struct upmu_records *records = &meter->cpu->records;
    struct upmu_tally *tally = upmu_meter_on(meter, counter);
    const struct upmu_event *event = &upmu_active(meter->slot[counter].session)->event[tally->index];
    uint64_t filled = filled_bytes(records);

    records->area[upmu_batch_reload_at(meter, counter)] =
        meter->pmu->backend->value_after_record(meter->pmu, event, counter) - (tally->batch ? tally->period : 0);
    if (tally->batch)
        upmu_tally_record(tally, false);
    records->unstored &= ~UPMU_BIT32(counter);
    records->since[counter] = (uint16_t)((filled < records->bytes ? filled : records->bytes) / 8u);
}

void upmu_records_come(struct upmu_meter *meter)
{
    struct upmu_records *records = &meter->cpu->records;
    uint32_t counters = 0;

    if (!meter->takes_records && !meter->precise)
        return;
    for (uint32_t rest = meter->sampling; rest; rest &= rest - 1u) {
        const struct upmu_tally *tally = upmu_meter_on(meter, upmu_bits_lowest(rest));

        if (tally && tally->precise)
            counters |= rest & ~(rest - 1u);
    }
    upmu_batch_come(meter, counters); /* also where events have only left */
    if (counters == meter->precise && counters == records->storing)
        return;
    if (!records->storing && meter->precise) /* what faults have left, before other events begin */
        enable_records(meter, 0);
#if UPMU_BRANCH_SAMPLES
    if (counters && !meter->precise)
        upmu_record_branches_come(meter);
#endif
    for (uint32_t rest = counters & ~records->storing; rest; rest &= rest - 1u)
        begin_records(meter, upmu_bits_lowest(rest));
    records->seen |= counters;
    if (counters | records->storing)
        enable_records(meter, counters);
}

#if UPMU_WORLDS

/*
 * The register was 0 while a guest ran.  A counter that an overflow had armed before stores no record of it any more.
 * Load it anew.
 */
static void load_disarmed(struct upmu_meter *meter)
{
    uint32_t counters = meter->cpu->records.storing;

    look_for_records(meter, counters);
    for (uint32_t rest = counters; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        struct upmu_tally *tally = upmu_meter_on(meter, counter);
        struct upmu_session *session = meter->slot[counter].session;
        uint64_t value;

        if (!tally || tally->recorded || meter->cpu->records.left[counter])
            continue;
        upmu_session_begin_change(session);
        if (!upmu_bank_read(&meter->bank, counter, &value)) {
            upmu_meter_fails(meter, tally->counters);
        } else if (upmu_count_overflowed(meter->pmu, counter, value)) {
            upmu_count_fold(meter, tally, counter, value);
            if (!upmu_count_write_at(meter, tally))
                upmu_meter_loses(meter, tally);
        }
        upmu_session_end_change(session);
    }
}

void upmu_records_cross(struct upmu_meter *meter)
{
    if (!meter->in_guest)
        load_disarmed(meter);
    enable_records(meter, meter->cpu->records.storing);
}

#endif

/* ---- Samples ---- */

/*
 * Let an overflow have those parts of its record that its event asks for.  A session that hides the kernel gets no
 * address of kernel data; nor registers where the next instruction is the kernel's, as after a system call.
 */
static void sample_parts(struct upmu_overflow *overflow, const struct upmu_precise *record, unsigned wanted)
{
    const struct upmu_records *records = &overflow->cpu->records;

    wanted &= record->parts;
    if (overflow->session->hides_kernel && record->address >= records->kernel_from)
        wanted &= ~UPMU_PART_ADDRESS;
    if (overflow->session->hides_kernel && upmu_precise_register(record, UPMU_PRECISE_IP) >= records->kernel_from)
        wanted &= ~UPMU_PART_REGISTERS;
    overflow->parts = (uint16_t)wanted;
    overflow->retire = record->retire;
    overflow->address = record->address;
    overflow->source = record->source;
    overflow->weight = record->weight;
    overflow->transaction = record->transaction;
    overflow->registers = record->registers;
    overflow->old_order = record->old_order;
}

uint64_t upmu_overflow_register(const struct upmu_overflow *overflow, unsigned number)
{
    const struct upmu_precise record = {.registers = overflow->registers, .old_order = overflow->old_order};

    if (!(overflow->flags & UPMU_SAMPLE_PRECISE) || !(overflow->parts & UPMU_PART_REGISTERS))
        return 0;
    return upmu_precise_register(&record, number);
}

/*
 * Read the next record of a counter, which has one.  Returns false where its sample is lost.  Afterwards the counter
 * has none any more, but for those that are left of a batch: a throttled event, which has no record, may be due before
 * the next look.
 */
static bool find_record_of(struct upmu_cpu *cpu, unsigned counter, struct upmu_precise *out)
{
    struct upmu_records *records = &cpu->records;
    unsigned at = records->at[counter] * 8u;

    if (records->left[counter])
        return upmu_batch_next(&cpu->meter, counter, out);
    records->has &= ~UPMU_BIT32(counter);
    return upmu_precise_decode(cpu->meter.pmu->record_capabilities, records->buffer + at, records->bytes - at, out) ==
           UPMU_PRECISE_FINE;
}

bool upmu_records_sample(struct upmu_overflow *overflow, const struct upmu_meter *meter)
{
    struct upmu_records *records = &meter->cpu->records;
    unsigned event = upmu_bits_lowest(overflow->events);
    unsigned counter = upmu_tally_runs_on(&overflow->set->tally[event]);
    struct upmu_precise record;

    if (!(records->has >> counter & 1u) || !find_record_of(overflow->cpu, counter, &record))
        return false;
    overflow->ip = record.ip;
    overflow->sp = upmu_precise_register(&record, UPMU_PRECISE_SP);
    overflow->flags = (uint16_t)((overflow->flags & UPMU_SAMPLE_NO_FRAME) | UPMU_SAMPLE_PRECISE |
                                 (record.exact ? UPMU_SAMPLE_EXACT : 0) |
                                 (overflow->set->tally[event].batch ? UPMU_SAMPLE_LATE : 0));
    overflow->parts = 0;
    if (meter->pmu->record_untimed && counter == UPMU_FIXED_COUNTER(0))
        record.parts &= (uint16_t)~UPMU_PART_RETIRE;
    if (UPMU_FORMATS && overflow->set->sampling[event].parts)
        sample_parts(overflow, &record, overflow->set->sampling[event].parts);
    /* The interrupt may have come in the other mode: then its stack is not that of the sample. */
    if (overflow->frame && overflow->frame->user != (record.ip < records->kernel_from))
        overflow->frame = NULL;
    if (record.ip < records->kernel_from) {
        overflow->flags |= UPMU_SAMPLE_USER;
    } else if (overflow->session->hides_kernel) {
        overflow->flags |= UPMU_SAMPLE_HIDDEN;
        overflow->ip = overflow->sp = 0;
        overflow->parts = 0;
        overflow->frame = NULL;
    }
#if UPMU_BRANCH_SAMPLES
    upmu_record_branches_take(overflow, &record, counter);
#endif
    return true;
}

/* ---- Begin and end ---- */

/* Have records the groups that are asked for, of all that there are? */
static bool has_groups(const struct upmu_pmu *pmu)
{
    return pmu->record_capabilities & UPMU_RECORDS_ADAPTIVE;
}

/*
 * Fill the whole area: the hardware reads it, and former contents may be of other software.
 */
static void set_up_area(struct upmu_meter *meter)
{
    struct upmu_records *records = &meter->cpu->records;

    records->more = has_groups(meter->pmu) ? UPMU_RECORD_GROUP_BYTES : 0;
#if UPMU_BRANCH_SAMPLES
    records->more = (uint16_t)(records->more + upmu_record_branches_bytes(meter));
#endif
    for (unsigned i = 0; i < UPMU_RECORD_AREA_BYTES / 8u; i++)
        records->area[i] = 0;
    records->area[UPMU_AREA_BASE] = records->area[UPMU_AREA_INDEX] = records->buffer_linear;
    records->area[UPMU_AREA_MAXIMUM] = upmu_batch_maximum(meter);
}

/* Find the bits of other software: a counter that stores records, or a trace of branches (DEBUGCTL, SDM 17.4.1). */
static enum upmu_status look_at_others(struct upmu_meter *meter, const char **out_reason)
{
    struct upmu_bank *bank = &meter->bank;
    uint64_t enabled, control = 0, area, groups = 0;

    if (!upmu_bank_look(bank, meter->pmu->record_row, &enabled) ||
        !upmu_bank_read_address(bank, UPMU_DEBUGCTL, &control) || !upmu_bank_read_address(bank, UPMU_DS_AREA, &area))
        return UPMU_ERR_PORT;
    if (enabled || (control & UPMU_DEBUGCTL_TRACES)) {
        *out_reason = "other software has the debug store";
        return UPMU_ERR_STATE;
    }
    if (has_groups(meter->pmu) && !upmu_bank_read_address(bank, UPMU_RECORD_GROUPS, &groups))
        return UPMU_ERR_PORT;
    if (area != meter->cpu->records.area_linear) {
        meter->cpu->records.found = area;
        meter->cpu->records.found_groups = groups;
    }
    return UPMU_OK;
}

/*
 * Let adaptive records have these groups.  The register is written while no counter stores records, so all records with
 * groups have one size.  Without adaptive records there is no such register.
 */
static bool set_groups(struct upmu_meter *meter, uint64_t groups)
{
    return !has_groups(meter->bank.pmu) || upmu_bank_write_address(&meter->bank, UPMU_RECORD_GROUPS, groups);
}

enum upmu_status upmu_records_begin(struct upmu_meter *meter, const char **out_reason)
{
    struct upmu_records *records = &meter->cpu->records;
    struct upmu_bank *bank = &meter->bank;
    enum upmu_status status;
    uint64_t area = 0;

    if (!records->area)
        return UPMU_OK;
    status = look_at_others(meter, out_reason);
    if (status != UPMU_OK)
        return status;
    /*
     * The status bit may be set for records of before, which are not read: of other software, or of a CPU that starts
     * over.  Each interrupt would be answered HANDLED.
     */
    if (!upmu_bank_command(bank, meter->pmu->ack_row, UPMU_STATUS_RECORDS))
        return UPMU_ERR_PORT;
    set_up_area(meter);
#if UPMU_BRANCH_SAMPLES
    upmu_record_branches_begin(records);
#endif
    records->area[UPMU_AREA_THRESHOLD] = records->buffer_linear + meter->pmu->record_bytes;
    records->has = records->seen = records->looked = 0;
    records->batches = records->unstored = 0;
    memset(records->left, 0, sizeof records->left);
    records->ours = 1;
    UPMU_BARRIER();
    if (!set_groups(meter, UPMU_RECORD_GROUP_BITS) ||
        !upmu_bank_write_address(bank, UPMU_DS_AREA, records->area_linear) ||
        !upmu_bank_read_address(bank, UPMU_DS_AREA, &area))
        status = UPMU_ERR_PORT;
    if (status == UPMU_OK && area == records->area_linear) {
        meter->takes_records = 1;
        return UPMU_OK;
    }
    if (status == UPMU_OK) {
        *out_reason = "the register of the debug store drops what is written";
        status = UPMU_ERR_UNSUPPORTED;
    }
    meter->takes_records = 1; /* no other software has the registers: restore them */
    return upmu_records_end(meter) ? status : UPMU_ERR_PORT;
}

/*
 * Restore the register of the area's address, and that of the groups.  `lost`: other software may have the registers
 * since; then they are left alone unless the address is ours, or the found one.
 */
static bool give_back_area(struct upmu_meter *meter, bool lost)
{
    const struct upmu_records *records = &meter->cpu->records;
    struct upmu_bank *bank = &meter->bank;
    uint64_t area = 0;
    bool fine;

    if (lost && !upmu_bank_read_address(bank, UPMU_DS_AREA, &area) &&
        !upmu_bank_read_address(bank, UPMU_DS_AREA, &area))
        return false;
    if (lost && area != records->area_linear && area != records->found)
        return true;
    fine = upmu_bank_write_address(bank, UPMU_DS_AREA, records->found) ||
           upmu_bank_write_address(bank, UPMU_DS_AREA, records->found);
    (void)(set_groups(meter, records->found_groups) || set_groups(meter, records->found_groups));
    return fine;
}

bool upmu_records_end(struct upmu_meter *meter)
{
    struct upmu_records *records = &meter->cpu->records;
    bool lost = !meter->takes_records, fine;

    meter->takes_records = 0;
    fine = !meter->precise || change_records(meter, 0);
    if (!records->ours)
        return fine;
    fine = fine && give_back_area(meter, lost);
    UPMU_BARRIER();
    records->ours = !fine;
    return fine;
}

bool upmu_records_return(struct upmu_cpu *cpu)
{
    struct upmu_bank *bank = &cpu->meter.bank; /* its PMU stays known */
    uint32_t enable = bank->pmu->table->rows[bank->pmu->record_row].address;
    uint64_t area;

    if (!upmu_bank_read_address(bank, UPMU_DS_AREA, &area) && !upmu_bank_read_address(bank, UPMU_DS_AREA, &area))
        return false;
    if (area == cpu->records.area_linear && !upmu_bank_write_address(bank, enable, 0) &&
        !upmu_bank_write_address(bank, enable, 0))
        return false;
    if (!give_back_area(&cpu->meter, true))
        return false;
    cpu->records.ours = 0;
    return true;
}

void upmu_records_again(struct upmu_meter *meter)
{
    uint32_t counters = meter->pmu->record_counters & ~upmu_meter_blocked(meter);
    const char *reason = NULL;
    enum upmu_status status = UPMU_ERR_PORT;

    if (!meter->cpu->records.area)
        return;
    meter->precise = counters;
    meter->cpu->records.storing = 0;
    meter->takes_records = 0;
    if (write_enable(meter, 0))
        status = upmu_records_begin(meter, &reason);
    if (status == UPMU_ERR_PORT) /* the next plan clears what may be left in registers */
        meter->precise = counters;
    if (status != UPMU_OK)
        upmu_meter_log(meter, "upmu: precise records cannot go on: other software has the debug store, or a fault");
}

void upmu_records_forget(struct upmu_cpu *cpu)
{
    if (!cpu->records.area)
        return;
    cpu->records.area = NULL;
    cpu->records.buffer = NULL;
#if UPMU_SAMPLING
    cpu->overflow.registers = NULL; /* of the last sample, in the buffer */
#endif
    __atomic_fetch_sub(&cpu->meter.machine->record_cpus, 1, __ATOMIC_RELAXED);
}

void upmu_records_off(struct upmu_cpu *cpu)
{
    struct upmu_meter *meter = &cpu->meter;
    struct upmu_bank *bank = &meter->bank; /* its PMU stays known where the end of the CPU has failed */

    if (!cpu->records.ours)
        return;
    cpu->records.ours = 0;
    (void)upmu_bank_handler_close(bank, meter->precise);
    (void)upmu_bank_write_address(bank, bank->pmu->table->rows[bank->pmu->record_row].address, 0);
    if (meter->takes_records) /* else other software may have the register */
        (void)upmu_bank_write_address(bank, UPMU_DS_AREA, 0);
}

#endif
