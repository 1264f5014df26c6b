/* SPDX-License-Identifier: MIT */
/*
 * Transitions of compiled placements: what leaves and what comes, in one go.
 *
 * Order (R4): hold the counters of both sides, stop, read what leaves, write what differs, give what comes its
 * start values, publish, release, enable.
 */
#include "core/engine/transition.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/hw/bank.h"
#include "core/hw/bank_inline.h"
#include "core/hw/port_call.h"
#include "core/hw/register.h"
#include "core/place/placement.h"
#include "core/engine/absent.h"
#include "core/engine/chain.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/features.h"
#include "core/engine/joint.h"
#include "core/engine/meter.h"
#include "core/engine/placed.h"
#include "core/engine/program.h"
#include "core/engine/queue.h"
#include "core/engine/run.h"
#include "core/engine/session_core.h"

/* ---- The plan ---- */

/* (Without threads nothing is compiled.) */
static inline bool is_careful(const struct upmu_transition *plan)
{
    return !UPMU_THREADS || plan->careful;
}

static inline bool is_compiled(const struct upmu_set *set)
{
    return UPMU_THREADS && set->program.placement;
}

void upmu_transition_begin(struct upmu_transition *plan, struct upmu_meter *meter)
{
    plan->meter = meter;
    plan->leaving = plan->coming = plan->changed = plan->carried = plan->closed = 0;
    plan->counting_out = plan->counting_in = plan->quiet_in = 0;
    plan->corunners = 0;
    plan->outs = plan->ins = plan->slow = 0;
    plan->written = plan->write;
    plan->general = plan->displaced = plan->alone = plan->walks = plan->failed = plan->hides = false;
    plan->status = UPMU_OK;
    plan->careful = UPMU_THREADS && (!(meter->straight | meter->apart) || meter->bank.others ||
                    upmu_absent_any(meter) || meter->bank.no_rdpmc || !port_has_rdpmc(meter->bank.port));
}

/* One of a chain, static, masked, or of a set that is not compiled. */
static UPMU_APART bool out_carefully(struct upmu_transition *plan, struct upmu_session *session)
{
    const struct upmu_set *set = upmu_active(session);

    plan->leaving |= session->counters;
#if UPMU_THREADS
    plan->careful = plan->walks = true;
    if (is_compiled(set))
        plan->counting_out |= set->program.counting;
    if (session->counters)
        plan->corunners -= upmu_placed_stamp(set);
#else
    (void)set;
#endif
    return true;
}

bool upmu_transition_out(struct upmu_transition *plan, struct upmu_session *session)
{
    const struct upmu_program *program = &upmu_active(session)->program;
    bool just = upmu_session_is_just(session, UPMU_SESSION_RUNNING) && is_compiled(upmu_active(session));

    if (UPMU_THREADS && (plan->outs == UPMU_PARTS || !(just | plan->general)))
        return false;
    plan->out[plan->outs++] = session;
    if (!just)
        return out_carefully(plan, session);
    plan->leaving |= session->counters;
    plan->counting_out |= program->counting;
    plan->corunners -= program->placement;
    return true;
}

/* One that starts, and needs more than writes of registers. */
static UPMU_APART bool in_slowly(struct upmu_transition *plan, struct upmu_session *session)
{
    if (UPMU_THREADS && (!plan->alone || plan->ins == UPMU_PARTS))
        return false;
    if (UPMU_THREADS) {
        plan->careful = plan->walks = true;
        plan->slow |= (uint8_t)(1u << plan->ins);
        plan->set[plan->ins] = upmu_active(session);
    }
    plan->in[plan->ins++] = session;
    plan->coming |= session->counters & ~upmu_session_dormant(session);
    plan->changed |= session->counters;
    return true;
}

/* What a program finds other than it wants, and the counters concerned; false: no room. */
static inline bool find_writes(struct upmu_transition *plan, struct upmu_program *program)
{
    const struct upmu_bank *bank = &plan->meter->bank;
    const struct upmu_step *step = program->step, *end = step + program->steps;
    struct upmu_masked_write *write = plan->written;
    uint32_t changed = 0;
    unsigned last = UPMU_NO_ROW;

    for (; step < end; step++) {
        unsigned row = step->row;
        bool same = !upmu_step_differs(step, bank->shadow[row]);

        if (__builtin_expect(!upmu_bank_is_plain(bank, row), 0)) {
            plan->careful = true;
            same = same && upmu_bank_knows(bank, row);
        }
        if (same)
            continue;
        changed |= step->guard;
        if (row == last) {
            write[-1].mask |= upmu_step_mask(step);
            write[-1].value |= upmu_step_value(step);
            continue;
        }
        if (write == plan->write + UPMU_WRITES)
            return false;
        write->mask = upmu_step_mask(step);
        write->value = upmu_step_value(step);
        write->row = last = row;
        write->enables = step->enables;
        write++;
    }
    if (last == UPMU_NO_ROW && !plan->careful)
        program->seen = bank->version;
    plan->written = write;
    plan->changed |= changed;
    return true;
}

static inline bool add_part(struct upmu_transition *plan, struct upmu_session *session, struct upmu_set *set,
                            struct upmu_masked_write *first)
{
    const struct upmu_program *program = &set->program;
    unsigned part = plan->ins;

    plan->set[part] = set;
    plan->in[part] = session;
    plan->first_write[part] = first;
    plan->first_write[part + 1u] = plan->written;
    plan->ins = (uint8_t)(part + 1u);
    plan->coming |= set->counters;
    plan->counting_in |= program->counting;
    if (program->sampling)
        plan->quiet_in |= set->counters;
    plan->corunners += program->placement;
    return true;
}

/* One that does not find all that it wants. */
static UPMU_APART bool in_with_writes(struct upmu_transition *plan, struct upmu_session *session, struct upmu_set *set)
{
    struct upmu_masked_write *first = plan->written;
    struct upmu_program *program = &set->program;

    if (UPMU_PRELUDES && (program->flags & UPMU_PROGRAM_PRELUDE) &&
        upmu_bank_changes(&plan->meter->bank, program->step, program->steps))
        return in_slowly(plan, session);
    return find_writes(plan, program) && add_part(plan, session, set, first);
}

bool upmu_transition_in(struct upmu_transition *plan, struct upmu_session *session, struct upmu_set *set)
{
    if (upmu_features_hide(plan->meter))
        plan->hides = plan->careful = true;
    if (!is_compiled(set))
        return in_slowly(plan, session);
    if (plan->ins == UPMU_PARTS)
        return false;
    /* (Mostly all is there since it was looked at last.) */
    return set->program.seen == plan->meter->bank.version ? add_part(plan, session, set, plan->written)
                                                          : in_with_writes(plan, session, set);
}

/* The enable bit of selects, where these have one. */
static inline uint64_t enables(const struct upmu_bank *bank)
{
    return UPMU_BIT64(bank->pmu->counter[0].gate_bit);
}

/* ---- What leaves ---- */

/* RDPMC has faulted, and is not used any more; false: so has the register. */
static UPMU_APART bool read_slowly(struct upmu_bank *bank, unsigned counter, uint64_t *out_value)
{
    UPMU_STORE(bank->no_rdpmc, true);
    return upmu_bank_read(bank, counter, out_value);
}

/* The counts of a set whose events only count, and whose counters are alike.  False: not `fine`, or one faulted. */
static inline bool take_quickly(struct upmu_meter *meter, struct upmu_set *set, bool fine)
{
    const struct upmu_port *port = meter->bank.port;
    const struct upmu_counter *where = meter->pmu->counter;
    uint64_t seen = 0;

    meter->bank.accesses.rdpmcs += set->count;
    for UPMU_TALLIES(tally, set) {
        uint64_t value, now, counted;

        if (__builtin_expect(!port_rdpmc(port, where[tally->counter].rdpmc, &value), 0) &&
            !read_slowly(&meter->bank, tally->counter, &value)) {
            upmu_run_unread(meter, tally);
            fine = false;
            continue;
        }
        now = value & meter->counter_mask;
        counted = (now - tally->base) & meter->count_mask;
        if (__builtin_expect(now < counted, 0))
            upmu_run_turned(meter, tally, upmu_meter_now(meter), false);
        UPMU_STORE(tally->base, now);
        seen |= counted;
        UPMU_STORE(tally->total, tally->total + counted);
    }
    if (seen)
        UPMU_STORE(meter->seen_counting, 1);
    return fine;
}

/* Do the events of a set that leaves only count, and can they be taken quickly? */
static inline bool counts_alike(const struct upmu_transition *plan, const struct upmu_set *set)
{
    return !is_careful(plan) && !set->program.sampling && !(set->program.flags & UPMU_PROGRAM_FALLS);
}

/* A register faulted: what it left is loaded anew by the next that comes. */
static UPMU_APART void fail_leaving(struct upmu_transition *plan, struct upmu_session *session)
{
    upmu_run_tag(plan->meter, session->counters, 0);
    UPMU_STORE(session->state, UPMU_SESSION_STOPPED);
    plan->status = (uint8_t)upmu_session_fault(plan->meter, session);
    plan->careful = true;
}

/* The time of one of a chain, and of one that was masked. */
static void end_run(struct upmu_session *session, uint64_t now_ns)
{
    upmu_session_ran(session, now_ns);
    if (UPMU_SETS && (session->change & UPMU_CHANGE_COMES_OR_LATER))
        upmu_chain_switched(session, upmu_active(session));
}

static inline void take_out(struct upmu_transition *plan, struct upmu_meter *meter, struct upmu_session *session,
                            bool closed, uint64_t now_ns)
{
    struct upmu_set *set = upmu_active(session);
    bool fine;

    UPMU_STORE(session->sequence, session->sequence + 1u);
    UPMU_BARRIER();
    if (__builtin_expect(counts_alike(plan, set), 1))
        fine = take_quickly(meter, set, closed);
    else
        fine = upmu_run_counts(meter, session) == UPMU_OK && closed;
    if (!UPMU_THREADS || plan->walks) {
        end_run(session, now_ns);
    } else {
        /* (It is not of a chain, and no set waits for its time to be over.) */
        UPMU_STORE(set->duration_ns, set->duration_ns + (now_ns - session->running_ns));
        UPMU_STORE(session->enabled_ns, session->enabled_ns + (now_ns - session->started_ns));
        UPMU_STORE(session->started_ns, now_ns);
    }
    /* (The sample may have filled the ring.) */
    UPMU_STORE(session->state, session->full ? UPMU_SESSION_MASKED : plan->state);
    UPMU_STORE(session->full, 0);
    if (__builtin_expect(!fine, 0))
        fail_leaving(plan, session);
    UPMU_BARRIER();
    UPMU_STORE(session->sequence, session->sequence + 1u);
}

/* ---- What comes ---- */

/* Where both sides count the same, or stand still, the value at which one left is the other's base. */
static void carry(struct upmu_transition *plan, struct upmu_tally *tally, uint64_t now_ns)
{
    struct upmu_meter *meter = plan->meter;
    const struct upmu_tally *left = plan->leaving & tally->counters ? meter->tally[tally->counter] : NULL;

    tally->turned = upmu_count_stamp(now_ns);
    /* (Where another one has failed meanwhile, those that leave are forgotten.) */
    if (left)
        UPMU_STORE(tally->base, left->base);
    else if (!upmu_bank_read(&meter->bank, tally->counter, &tally->base))
        meter->last_tag[tally->counter] = 0;
    /* A read that faulted left no base. */
    if (meter->last_tag[tally->counter])
        upmu_run_tag(meter, tally->counters, tally->tag);
    else
        plan->carried &= ~tally->counters;
}

/* Does a counter keep its value when it gets another event, as a unit's does? */
static bool keeps(const struct upmu_meter *meter)
{
    return UPMU_UNCORE && (meter->pmu->capabilities & UPMU_PMU_KEEPS);
}

/* Then that at which another one left is the base.  (Where one has failed meanwhile, none is left.) */
static bool keep_base(struct upmu_transition *plan, struct upmu_tally *tally, uint64_t now_ns)
{
    struct upmu_meter *meter = plan->meter;
    const struct upmu_tally *left = plan->leaving & tally->counters ? meter->tally[tally->counter] : NULL;

    if (!keeps(meter) || !left || !meter->last_tag[tally->counter])
        return false;
    UPMU_STORE(tally->base, left->base);
    tally->turned = upmu_count_stamp(now_ns);
    upmu_run_tag(meter, tally->counters, tally->tag);
    return true;
}

/* An event's counter has what it is to begin with. */
static bool start_event(struct upmu_transition *plan, struct upmu_tally *tally, uint64_t now_ns)
{
    struct upmu_meter *meter = plan->meter;
    uint32_t still = upmu_bank_kept_open(&meter->bank);

    if (upmu_meter_is_free(meter))
        return upmu_run_begin_at(meter, tally, now_ns);
    if ((tally->counters & (plan->carried | still)) && !upmu_tally_samples(tally) && !upmu_tally_is_lent(tally) &&
        !plan->hides)
        carry(plan, tally, now_ns);
    else if (keep_base(plan, tally, now_ns))
        return true;
    return (plan->carried & tally->counters) ||
           upmu_run_ready(meter, tally, keeps(meter) ? 0 : plan->changed & ~still, tally->counters);
}

/* The same of a set whose events only count, and whose counters are alike and not carried. */
static inline bool start_alike(struct upmu_transition *plan, struct upmu_meter *meter, struct upmu_session *session,
                               uint64_t now_ns)
{
    const struct upmu_port *port = meter->bank.port;
    const struct upmu_counter *where = meter->pmu->counter;
    uint32_t changed = plan->changed;

    for UPMU_TALLIES(tally, session->active) {
        unsigned counter = tally->counter;
        uint64_t value;

        if ((changed >> counter & 1u) || meter->last_tag[counter] != tally->tag) {
            meter->bank.accesses.rdpmcs++;
            if (__builtin_expect(!port_rdpmc(port, where[counter].rdpmc, &value), 0) &&
                !read_slowly(&meter->bank, counter, &value))
                return false;
            UPMU_STORE(tally->base, value & meter->counter_mask);
            tally->turned = upmu_count_stamp(now_ns);
            meter->last_tag[counter] = tally->tag;
        }
        meter->tally[counter] = tally;
        meter->of_tally[counter] = session;
        UPMU_STORE(tally->ran, true);
    }
    return true;
}

/* The same of one that is carried. */
static inline void carry_quickly(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    uint32_t stamp = upmu_count_stamp(now_ns);

    for UPMU_TALLIES(tally, session->active) {
        unsigned counter = tally->counter;

        UPMU_STORE(tally->base, meter->tally[counter]->base);
        tally->turned = stamp;
        UPMU_STORE(tally->ran, true);
        meter->last_tag[counter] = tally->tag;
        meter->tally[counter] = tally;
        meter->of_tally[counter] = session;
    }
}

/* Registers of one that comes; what differs now is stopped, but for what stands still. */
static UPMU_APART bool load_carefully(struct upmu_transition *plan, unsigned part)
{
    const struct upmu_program *program = &plan->set[part]->program;
    uint32_t stopped;
    bool fine = upmu_bank_load(&plan->meter->bank, program->step, program->steps, plan->coming & ~plan->carried,
                               &stopped);

    plan->changed |= stopped;
    return fine;
}

static UPMU_APART bool load_quickly(struct upmu_bank *bank, const struct upmu_masked_write *write,
                                    const struct upmu_masked_write *end)
{
    bank->version++;
    do {
        /* (A select that enables its counter is written when it does.) */
        if (!write->enables &&
            !upmu_bank_put_gate(bank, write->row, (bank->shadow[write->row] & ~write->mask) | write->value))
            return false;
    } while (++write < end);
    return true;
}

static inline bool load(struct upmu_transition *plan, struct upmu_meter *meter, unsigned part)
{
    const struct upmu_masked_write *write = plan->first_write[part], *end = plan->first_write[part + 1];

    if (__builtin_expect(is_careful(plan), 0))
        return load_carefully(plan, part);
    return write == end || load_quickly(&meter->bank, write, end);
}

static bool start_events(struct upmu_transition *plan, struct upmu_meter *meter, struct upmu_session *session,
                         uint64_t now_ns)
{
    const struct upmu_program *program = &session->active->program;

    if (!is_careful(plan) && !program->sampling &&
        !(program->counting & (meter->flagged | upmu_bank_kept_open(&meter->bank)))) {
        if (plan->carried == program->counting) {
            carry_quickly(meter, session, now_ns);
            return true;
        }
        if (!(plan->carried & program->counting))
            return start_alike(plan, meter, session, now_ns);
    }
    for UPMU_TALLIES(tally, session->active) {
        if (!start_event(plan, tally, now_ns))
            return false;
        upmu_run_take(meter, session, tally);
        UPMU_STORE(tally->ran, true);
    }
    return true;
}

static UPMU_APART void fail_coming(struct upmu_transition *plan, struct upmu_session *session, uint64_t now_ns)
{
    struct upmu_meter *meter = plan->meter;

    /* (One that did not wait here was not enabled, either.) */
    if (!session->queued)
        UPMU_STORE(session->started_ns, now_ns);
    if (UPMU_THREADS) {
        session->counters = upmu_active(session)->counters;
        (void)upmu_run_close(meter, session->counters & upmu_bank_kept_open(&meter->bank));
    }
    plan->coming &= ~session->counters;
    plan->status = (uint8_t)upmu_run_fail(meter, session);
    plan->failed = plan->careful = true;
}

/* Registers and start values of one that needs more; false: it cannot come, or a register faulted. */
static bool load_slowly(struct upmu_transition *plan, struct upmu_session *session)
{
    plan->status = (uint8_t)upmu_run_load(plan->meter, session, plan->coming & ~plan->carried);
    if (plan->status != UPMU_OK)
        return false;
    for UPMU_TALLIES(tally, upmu_active(session)) {
        upmu_run_take(plan->meter, session, tally);
        UPMU_STORE(tally->ran, tally->ran || (!upmu_tally_cascades(tally)));
    }
    return true;
}

/* It takes the place of another set; false: it left, and was masked or has failed. */
static UPMU_APART bool begin_carefully(struct upmu_transition *plan, struct upmu_session *session, unsigned part)
{
    if (plan->alone)
        return true;
    UPMU_STORE(session->active, plan->set[part]);
    session->counters = session->active->counters;
    if (session->state == UPMU_SESSION_WAITING)
        return true;
    plan->coming &= ~plan->set[part]->counters;
    plan->failed = true;
    return false;
}

/* The stop before found an overflow that wants the next set: as soon as the call is done. */
static UPMU_APART void note_switch(struct upmu_meter *meter, struct upmu_session *session, uint64_t now_ns)
{
    session->closed_ns = now_ns;
    meter->mask_due = 1;
}

static inline void bring_in(struct upmu_transition *plan, struct upmu_meter *meter, unsigned part, uint64_t now_ns)
{
    struct upmu_session *session = plan->in[part];
    bool slow = !UPMU_THREADS || (__builtin_expect(plan->slow, 0) && ((unsigned)plan->slow >> part & 1u)), fine;

    if (UPMU_THREADS && plan->walks && !begin_carefully(plan, session, part))
        return;
    UPMU_STORE(session->sequence, session->sequence + 1u);
    UPMU_BARRIER();
    fine = slow ? load_slowly(plan, session) : load(plan, meter, part) && start_events(plan, meter, session, now_ns);
    /* (Time spent loading it counts as no session's.) */
    if (slow)
        now_ns = upmu_meter_now(meter);
    if (__builtin_expect(fine, 1)) {
        if (session->queued) {
            if (!(session->change & UPMU_CHANGE_FRESH))
                UPMU_STORE(session->enabled_ns, session->enabled_ns + (now_ns - session->started_ns));
            session->change &= (uint8_t)~UPMU_CHANGE_FRESH;
            upmu_queue_take(meter, session);
        }
        UPMU_STORE(session->error, UPMU_OK);
        UPMU_STORE(session->full, 0);
        UPMU_STORE(session->started_ns, now_ns);
        UPMU_STORE(session->running_ns, now_ns);
        if (!slow)
            session->counters = session->active->counters;
        UPMU_STORE(session->state, UPMU_SESSION_RUNNING);
        if (UPMU_SETS && plan->walks && session->switch_due)
            note_switch(meter, session, now_ns);
    } else if (!slow || plan->status == UPMU_ERR_PORT) {
        fail_coming(plan, session, now_ns);
    } else {
        plan->coming &= ~session->counters;
        plan->failed = true;
    }
    UPMU_BARRIER();
    UPMU_STORE(session->sequence, session->sequence + 1u);
}

/* ---- The executor ---- */

/* Counters that a static session has left running: what counts the same there goes on. */
static uint32_t find_unowned(const struct upmu_transition *plan)
{
    const struct upmu_meter *meter = plan->meter;
    const struct upmu_bank *bank = &meter->bank;
    uint32_t unowned = 0;

    for (unsigned part = 0; part < plan->ins; part++)
        for UPMU_TALLIES(tally, plan->set[part])
            if (!upmu_tally_samples(tally) && !(tally->counters & (plan->changed | meter->running)) &&
                upmu_bank_open(bank, tally->counters) == tally->counters &&
                upmu_bank_knows(bank, meter->pmu->counter[tally->counter].gate_row))
                unowned |= tally->counters;
    return unowned;
}

/* Counters of user mode alone stand still while the library works, and are changed as they are. */
static uint32_t find_still(const struct upmu_transition *plan)
{
    const struct upmu_meter *meter = plan->meter;
    uint32_t running = plan->leaving & ~(plan->carried | plan->closed | upmu_bank_absent(&meter->bank)), still = 0;

    for (unsigned part = 0; UPMU_BACKEND_AMD && meter->pmu->kernel_select && part < plan->ins; part++) {
        const struct upmu_program *program = &plan->set[part]->program;
        uint32_t both = program->placement ? program->user & running : 0;

        if (!both)
            continue;
        for UPMU_TALLIES(tally, plan->set[part]) {
            const struct upmu_tally *left = upmu_run_on(meter, tally->counter);

            if ((tally->counters & both) && !tally->shared && left && upmu_run_still(meter, left))
                still |= tally->counters;
        }
    }
    return still;
}

/* Where closing a counter loses a carry, what leaves is folded before. */
static bool fold_leaving(struct upmu_transition *plan)
{
    struct upmu_meter *meter = plan->meter;
    bool fine = true;

    meter->count_mask = meter->counter_mask;
    for (unsigned part = 0; part < plan->outs; part++) {
        struct upmu_set *set = upmu_active(plan->out[part]);

        if (counts_alike(plan, set)) {
            fine = take_quickly(meter, set, fine);
            continue;
        }
        for UPMU_TALLIES(tally, set)
            fine &= upmu_run_fold(meter, tally);
    }
    /* (What is counted from here on is little.) */
    meter->count_mask = UINT32_MAX;
    return fine;
}

/* Where each select enables its own counter: those that are open become idle.  False: one faulted. */
static inline bool make_idle(struct upmu_bank *bank, uint32_t counters)
{
    const struct upmu_register_class *class = upmu_register_class_of(bank->pmu, bank->pmu->counter[0].gate_row);

    for (; counters; counters &= counters - 1u) {
        unsigned row = bank->pmu->counter[upmu_bits_lowest(counters)].gate_row;
        uint64_t value = bank->shadow[row];

        if ((value & class->gates) && !upmu_bank_put(bank, row, (value & class->idle_keep) | class->idle_value))
            return false;
    }
    return true;
}

/* Counters of static sessions run on, in no session's count, unless what comes wants them. */
static uint32_t find_kept(const struct upmu_transition *plan)
{
    uint32_t kept = 0;

    for (unsigned part = 0; !plan->alone && part < plan->outs; part++)
        for UPMU_TALLIES(tally, upmu_active(plan->out[part]))
            if (plan->out[part]->is_static && !upmu_tally_samples(tally))
                kept |= tally->counters & ~(plan->changed | plan->closed | plan->coming);
    return kept;
}

/* Targets of cascades are closed first. */
static uint32_t find_dormant(const struct upmu_transition *plan)
{
    uint32_t dormant = 0;

    for (unsigned part = 0; UPMU_BACKEND_X86_P4 && part < plan->outs; part++)
        dormant |= upmu_session_dormant(plan->out[part]) & plan->out[part]->counters;
    return dormant;
}

/* Stop what leaves and is not carried; false: a register faulted twice. */
static UPMU_APART bool disable_apart(struct upmu_transition *plan)
{
    struct upmu_meter *meter = plan->meter;
    bool fine;

    if (UPMU_THREADS) {
        meter->bank.still = find_still(plan);
        meter->staying |= meter->bank.still | (plan->walks ? find_kept(plan) : 0);
    }
    fine = !upmu_run_folds_first(meter) || fold_leaving(plan);
    if (!is_careful(plan) && make_idle(&meter->bank, (plan->leaving | plan->changed) & ~meter->staying))
        return fine;
    plan->careful = true;
    return upmu_run_close_all(meter, plan->leaving & ~meter->staying, find_dormant(plan)) && fine;
}

static inline bool disable_leaving(struct upmu_transition *plan, struct upmu_meter *meter)
{
    struct upmu_bank *bank = &meter->bank;
    uint32_t stopping;
    uint64_t close;
    unsigned row;

    meter->staying = plan->carried;
    UPMU_BARRIER();
    if (__builtin_expect(is_careful(plan) | meter->apart, 0))
        return disable_apart(plan);
    stopping = (plan->leaving & ~plan->carried) | plan->changed;
    if (!stopping)
        return true;
    row = bank->pmu->counter[0].gate_row;
    close = bank->shadow[row] & upmu_enable_bits(stopping);
    if (__builtin_expect(!close || upmu_bank_put_gate(bank, row, bank->shadow[row] & ~close), 1))
        return true;
    /* The register is read now: it may have been changed. */
    plan->careful = true;
    return upmu_run_close(meter, plan->leaving & ~plan->carried);
}

/* A session that does not run any more may be freed. */
static inline void forget_left(struct upmu_meter *meter, uint32_t counters)
{
    for (; counters; counters &= counters - 1u) {
        meter->tally[upmu_bits_lowest(counters)] = NULL;
        meter->of_tally[upmu_bits_lowest(counters)] = NULL;
    }
}

static inline void publish(struct upmu_transition *plan, struct upmu_meter *meter)
{
    uint32_t leaving = plan->leaving, coming = plan->coming;

    if (UPMU_THREADS)
        meter->used |= coming;
    if (__builtin_expect(!UPMU_THREADS || plan->failed | plan->walks, 0)) {
        upmu_run_publish(meter);
        return;
    }
    meter->corunners += plan->corunners;
    meter->left |= coming;
    if ((meter->quiet & leaving) | plan->quiet_in) {
        meter->sampling = (meter->sampling & ~leaving) | (coming & ~plan->counting_in);
        meter->quiet = (meter->quiet & ~leaving) | plan->quiet_in;
        meter->stop_bits = upmu_stop_bits(meter->pmu, meter->quiet);
    }
    UPMU_BARRIER();
    meter->running = (meter->running & ~leaving) | coming;
    UPMU_BARRIER();
    forget_left(meter, leaving & ~coming);
}

/* What was written where a plan turned careful late, or at the end, is written once more. */
static UPMU_APART void enable_carefully(struct upmu_transition *plan, bool loaded)
{
    bool fine = true;

    for (unsigned i = 0; i < plan->ins && !loaded; i++)
        if (plan->in[i]->state == UPMU_SESSION_RUNNING)
            fine &= load_carefully(plan, i);
    if (fine && upmu_run_open(plan->meter, plan->coming & ~plan->carried))
        return;
    for (unsigned i = 0; i < plan->ins; i++)
        if (plan->in[i]->state == UPMU_SESSION_RUNNING) {
            upmu_run_mar(plan->in[i]);
            plan->status = (uint8_t)upmu_run_fail(plan->meter, plan->in[i]);
        }
}

/* Each counter by its select, whose other bits are written with that; false: one faulted. */
static UPMU_APART bool enable_apart(struct upmu_transition *plan)
{
    struct upmu_bank *bank = &plan->meter->bank;
    const struct upmu_masked_write *write = plan->write, *end = plan->written;
    uint32_t counters = plan->coming & ~plan->carried;
    uint64_t enable = enables(bank);

    for (; write < end; write++) {
        if (!write->enables || !(counters >> (write->enables - 1u) & 1u))
            continue;
        counters &= ~UPMU_BIT32(write->enables - 1u);
        if (!upmu_bank_put(bank, write->row, (bank->shadow[write->row] & ~write->mask) | write->value | enable))
            return false;
    }
    for (; counters; counters &= counters - 1u) {
        unsigned row = bank->pmu->counter[upmu_bits_lowest(counters)].gate_row;

        if (!(bank->shadow[row] & enable) &&
            (!upmu_bank_is_plain(bank, row) || !upmu_bank_put(bank, row, bank->shadow[row] | enable)))
            return false;
    }
    return true;
}

static inline void enable_coming(struct upmu_transition *plan, struct upmu_meter *meter)
{
    struct upmu_bank *bank = &meter->bank;
    uint64_t open;
    unsigned row;

    if (!is_careful(plan) && plan->coming == plan->carried)
        return;
    if (meter->apart && !is_careful(plan)) {
        if (__builtin_expect(!enable_apart(plan), 0))
            enable_carefully(plan, false);
        return;
    }
    row = bank->pmu->counter[0].gate_row;
    if (__builtin_expect(is_careful(plan) || !upmu_bank_is_plain(bank, row), 0)) {
        enable_carefully(plan, true);
        return;
    }
    open = upmu_enable_bits(plan->coming & ~plan->carried) & ~bank->shadow[row];
    if (__builtin_expect(open && !upmu_bank_put_gate(bank, row, bank->shadow[row] | open), 0))
        enable_carefully(plan, true);
}

/* Are all enable bits known and ours, and those of what comes and did not run before clear?  (Selects were seen.) */
static inline bool is_plain(const struct upmu_transition *plan, const struct upmu_meter *meter)
{
    const struct upmu_bank *bank = &meter->bank;
    uint32_t coming = plan->coming & ~plan->leaving;
    unsigned row = bank->pmu->counter[0].gate_row;

    if (!meter->apart)
        return upmu_bank_is_plain(bank, row) && !(coming && (bank->shadow[row] & upmu_enable_bits(coming)));
    for (uint32_t rest = plan->leaving ^ plan->coming; rest; rest &= rest - 1u) {
        row = bank->pmu->counter[upmu_bits_lowest(rest)].gate_row;
        if (!upmu_bank_is_plain(bank, row) ||
            ((coming & rest & (~rest + 1u)) && (bank->shadow[row] & enables(bank))))
            return false;
    }
    return true;
}

/* Counters of what leaves that handlers may have closed: none does from here on. */
static UPMU_APART void find_closed(struct upmu_transition *plan)
{
    const struct upmu_meter *meter = plan->meter;

    plan->closed = meter->deferred & plan->leaving;
    for (unsigned i = 0; i < plan->outs; i++)
        if (plan->out[i]->full || plan->out[i]->switch_due)
            plan->closed |= plan->out[i]->counters;
    plan->careful = plan->walks = true;
}

/* What comes runs in its world only, and is carried only if both sides run. */
static UPMU_APART void find_worlds(struct upmu_transition *plan)
{
    struct upmu_meter *meter = plan->meter;
    uint32_t absent = upmu_bank_absent(&meter->bank);

    upmu_absent_give(meter, NULL, plan->leaving);
    for (unsigned i = 0; i < plan->ins; i++)
        upmu_absent_give(meter, plan->in[i], UPMU_THREADS ? plan->set[i]->counters : plan->in[i]->counters);
    plan->carried &= ~(absent ^ upmu_bank_absent(&meter->bank));
    for (unsigned i = 0; UPMU_LOANS && plan->carried && i < plan->ins; i++)
        for UPMU_TALLIES(tally, UPMU_THREADS ? plan->set[i] : upmu_active(plan->in[i]))
            if (upmu_tally_is_lent(tally)) /* what another one left there is not its value */
                plan->carried &= ~tally->counters;
}

/* Handlers leave the counters alone from here on.  False: what one has left to do, or left open, comes first. */
static inline bool hold_both(struct upmu_transition *plan, struct upmu_meter *meter)
{
    uint32_t both = plan->leaving | plan->coming;

    meter->held = both;
    UPMU_BARRIER();
    if (!UPMU_THREADS || __builtin_expect(plan->general, 0)) {
        if (UPMU_THREADS)
            find_closed(plan);
    } else if (__builtin_expect(meter->mask_due || (meter->deferred & both), 0)) {
        meter->held = 0;
        return false;
    }
    if (!is_careful(plan) && !is_plain(plan, meter))
        plan->careful = true;
    if (UPMU_THREADS) {
        plan->carried = plan->counting_out & plan->counting_in & ~plan->changed;
        if (is_careful(plan))
            plan->carried = plan->hides ? 0 : (plan->carried & ~plan->closed) | find_unowned(plan);
    }
    if (is_careful(plan) && upmu_absent_any(meter)) /* (Then every plan is.) */
        find_worlds(plan);
    return true;
}

/*
 * A handler may have closed the counters of a session that is full or waits for its next set, after the counters of
 * this transition were held.  The shadow still has them open, and a write of it would open them: close them there.
 */
static UPMU_APART void close_full(struct upmu_meter *meter)
{
    for (const struct upmu_session *session = meter->sessions; session; session = session->next)
        if (session->full || (UPMU_SETS && session->switch_due && session->state == UPMU_SESSION_RUNNING))
            (void)upmu_run_close(meter, session->counters & meter->running);
}

static inline void stop_masked(struct upmu_meter *meter)
{
    if (UPMU_SAMPLING && __builtin_expect(meter->mask_due, 0))
        close_full(meter);
}

bool upmu_transition_run(struct upmu_transition *plan, uint8_t state)
{
    struct upmu_meter *meter = plan->meter;
    uint8_t keep_claims = meter->keep_claims;
    uint64_t now_ns;
    bool closed;

    plan->state = state;
    if (!hold_both(plan, meter))
        return false;
    meter->keep_claims = 1;
    closed = disable_leaving(plan, meter);
    stop_masked(meter);
    now_ns = port_clock_ns(meter->bank.port);
    for (unsigned i = 0; i < plan->outs; i++)
        take_out(plan, meter, plan->out[i], closed, now_ns);
    UPMU_BARRIER();
    meter->staying = 0;
    for (unsigned i = 0; i < plan->ins; i++)
        bring_in(plan, meter, i, now_ns);
    meter->bank.still = 0;
    publish(plan, meter);
    meter->held = 0;
    UPMU_BARRIER();
    stop_masked(meter);
    enable_coming(plan, meter);
    /* A handler may have come between the look above and the write. */
    stop_masked(meter);
    meter->keep_claims = keep_claims;
    if (upmu_meter_domain(meter))
        upmu_claims_trim(meter, false);
    return true;
}

/* ---- One session ---- */

#if UPMU_THREADS

static inline bool run_alone(struct upmu_transition *plan, struct upmu_meter *meter, struct upmu_session *session,
                             bool start)
{
    upmu_transition_begin(plan, meter);
    return (start ? upmu_transition_in(plan, session, session->active) : upmu_transition_out(plan, session)) &&
           upmu_transition_run(plan, UPMU_SESSION_STOPPED);
}

static UPMU_APART bool run_alone_on_stack(struct upmu_meter *meter, struct upmu_session *session, bool start)
{
    struct upmu_transition plan;

    return run_alone(&plan, meter, session, start);
}

bool upmu_transition_start(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_set *set = session->active;

    if (!upmu_session_is_just(session, session->state) ||
        session->counters != set->counters || !set->counters ||
        !(set->program.placement || (upmu_program_ready(meter, set) && set->program.placement)))
        return false;
    return meter->work ? run_alone(upmu_meter_plan(meter), meter, session, true)
                       : run_alone_on_stack(meter, session, true);
}

bool upmu_transition_stop(struct upmu_meter *meter, struct upmu_session *session)
{
    return meter->work ? run_alone(upmu_meter_plan(meter), meter, session, false)
                       : run_alone_on_stack(meter, session, false);
}

#endif

/* Whatever it is. */
static enum upmu_status run_anyone(struct upmu_transition *plan, struct upmu_meter *meter,
                                   struct upmu_session *session, bool start)
{
    upmu_transition_begin(plan, meter);
    plan->general = plan->alone = true;
    (void)(start ? upmu_transition_in(plan, session, upmu_active(session)) : upmu_transition_out(plan, session));
    (void)upmu_transition_run(plan, UPMU_SESSION_STOPPED);
    if (UPMU_THREADS)
        upmu_session_become(session, session->state);
    return (enum upmu_status)plan->status;
}

static UPMU_APART enum upmu_status run_anyone_on_stack(struct upmu_meter *meter, struct upmu_session *session,
                                                       bool start)
{
    struct upmu_transition plan;

    return run_anyone(&plan, meter, session, start);
}

static enum upmu_status run_one(struct upmu_meter *meter, struct upmu_session *session, bool start)
{
    return UPMU_THREADS && meter->work ? run_anyone(upmu_meter_plan(meter), meter, session, start)
                                       : run_anyone_on_stack(meter, session, start);
}

enum upmu_status upmu_transition_bring(struct upmu_meter *meter, struct upmu_session *session)
{
    (void)upmu_program_ready(meter, upmu_active(session));
    return run_one(meter, session, true);
}

enum upmu_status upmu_transition_take_off(struct upmu_meter *meter, struct upmu_session *session)
{
    return run_one(meter, session, false);
}

#if UPMU_THREADS

/* ---- Those that are marked ---- */

/* What other CPUs see is claimed as it was for the last placement; false: another CPU has it. */
static UPMU_APART bool claim(struct upmu_meter *meter, struct upmu_session *session)
{
    struct upmu_joint joint;

    upmu_joint_begin(&joint, meter->pmu);
    return upmu_joint_add(&joint, session, true) && upmu_claims_take(meter, &joint);
}

/* Is the last placement of a set valid beside the sessions that run, and are its counters free? */
static bool is_placed(const struct upmu_transition *plan, struct upmu_session *session)
{
    struct upmu_meter *meter = plan->meter;
    struct upmu_set *set = session->coming;

    return set->counters && upmu_placed_was_tried(meter, set, upmu_transition_corunners(plan)) &&
           !(set->counters & ((meter->running & ~plan->leaving) | plan->coming)) &&
           (!upmu_claims_share_set(meter, set) || (set == upmu_active(session) && claim(meter, session))) &&
           is_compiled(set);
}

/* Those that have a placement come, the others later: one may be good only beside another. */
static void choose(struct upmu_transition *plan)
{
    bool found = true;

    while (found) {
        found = false;
        for (struct upmu_session *session = plan->meter->sessions; session; session = session->next)
            if ((session->change & UPMU_CHANGE_LATER) && is_placed(plan, session) &&
                upmu_transition_in(plan, session, session->coming)) {
                session->change ^= UPMU_CHANGE_COMES | UPMU_CHANGE_LATER;
                found = true;
            }
    }
}

static void begin_marked(struct upmu_transition *plan, struct upmu_meter *meter)
{
    upmu_transition_begin(plan, meter);
    plan->general = true;
}

/* Where it did not come, its set is another all the same. */
static void finish(struct upmu_meter *meter, struct upmu_session *session)
{
    if (UPMU_SETS && (session->change & UPMU_CHANGE_LEAVES) && !(session->change & UPMU_CHANGE_COMES) &&
        session->active != session->coming) {
        UPMU_STORE(session->active, session->coming);
        session->counters = 0;
    }
    if (session->change & UPMU_CHANGE_LEAVES)
        upmu_session_become(session, session->state);
    if (session->change & UPMU_CHANGE_LATER)
        session->change |= UPMU_CHANGE_FRESH;
    session->change &= UPMU_CHANGE_FRESH;
    meter->fresh |= session->change != 0;
}

static void run_marked(struct upmu_transition *plan, struct upmu_meter *meter)
{
    uint8_t keep_claims = meter->keep_claims;

    meter->keep_claims = 1;
    begin_marked(plan, meter);
    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        if (session->change & UPMU_CHANGE_COMES)
            session->change ^= UPMU_CHANGE_COMES | UPMU_CHANGE_LATER;
        if (!(session->change & UPMU_CHANGE_LEAVES) || upmu_transition_out(plan, session))
            continue;
        (void)upmu_transition_run(plan, UPMU_SESSION_WAITING);
        begin_marked(plan, meter);
        (void)upmu_transition_out(plan, session);
    }
    choose(plan);
    (void)upmu_transition_run(plan, UPMU_SESSION_WAITING);
    for (struct upmu_session *session = meter->sessions; session; session = session->next)
        finish(meter, session);
    meter->keep_claims = keep_claims;
    upmu_claims_trim(meter, false);
}

static UPMU_APART void run_marked_on_stack(struct upmu_meter *meter)
{
    struct upmu_transition plan;

    run_marked(&plan, meter);
}

static UPMU_APART bool compile_marked(struct upmu_meter *meter)
{
    bool any = false;

    for (struct upmu_session *session = meter->sessions; session; session = session->next) {
        any |= session->change != 0;
        if ((session->change & UPMU_CHANGE_COMES) && session->coming->counters)
            (void)upmu_program_ready(meter, session->coming);
    }
    return any;
}

void upmu_transition_all(struct upmu_meter *meter)
{
    if (!compile_marked(meter))
        return;
    if (meter->work)
        run_marked(upmu_meter_plan(meter), meter);
    else
        run_marked_on_stack(meter);
}

#endif
