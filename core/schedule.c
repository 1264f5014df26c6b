/* SPDX-License-Identifier: MIT */
/*
 * Which sessions run on a CPU now: joint placement, loading, opening, closing.
 *
 * Order (R4): configuration, then shadow of the gate, then the gate; a tally is
 * visible to handlers before its gate opens and is marked as being changed while
 * the local side works on it.
 */
#include "core/schedule.h"
#include "core/backend.h"
#include "core/bank.h"
#include "core/bits.h"
#include "core/count.h"
#include "core/domain.h"
#include "core/local.h"
#include "core/mem.h"
#include "core/pmi.h"

/* Counters that sessions may not have. */
static uint32_t blocked(const struct upmu_cpu *cpu)
{
    return cpu->firmware | cpu->watchdog | cpu->foreign;
}

/* ---- Placement: what runs, and the new session, together ---- */

#define JOINT_HELD 48

struct joint {
    const struct upmu_pmu *pmu;
    struct upmu_session *session[UPMU_REQUESTS];
    uint8_t index[UPMU_REQUESTS];
    unsigned count;
    uint8_t stay[UPMU_REQUESTS][UPMU_SLOTS];
    uint8_t stay_alternative[UPMU_REQUESTS];
    struct upmu_place_result result[UPMU_REQUESTS];
    struct upmu_held held[JOINT_HELD];
};

static const struct upmu_event *joint_event(const struct joint *joint, unsigned i)
{
    return &joint->session[i]->set.event[joint->index[i]];
}

static struct upmu_tally *joint_tally(const struct joint *joint, unsigned i)
{
    return &joint->session[i]->set.tally[joint->index[i]];
}

static bool joint_alternative(const void *context, unsigned request, unsigned i, struct upmu_alternative *out)
{
    const struct joint *joint = context;

    return joint->pmu->backend->alternative(joint->pmu, joint_event(joint, request), i, out);
}

static bool joint_add(struct joint *joint, struct upmu_session *session, bool stays)
{
    for (unsigned i = 0; i < session->set.count; i++) {
        const struct upmu_tally *tally = &session->set.tally[i];
        unsigned k = joint->count;

        if (k == UPMU_REQUESTS)
            return false;
        joint->session[k] = session;
        joint->index[k] = (uint8_t)i;
        joint->stay[k][0] = stays ? tally->counter : UPMU_NO_COUNTER;
        for (unsigned slot = 1; slot < UPMU_SLOTS; slot++)
            joint->stay[k][slot] = stays ? tally->extra[slot - 1] : UPMU_NO_COUNTER;
        joint->stay_alternative[k] = stays ? tally->alternative : 0xff;
        joint->count++;
    }
    return true;
}

/* Sessions that hold their counters now. */
static bool holds(const struct upmu_session *session)
{
    return session->state == UPMU_SESSION_RUNNING;
}

/* Name the culprits: the solver knows them by number only. */
static void name_culprits(const struct joint *joint, struct upmu_why *why)
{
    why->pmu = joint->pmu;
    why->culprit_count = 0;
    for (unsigned i = 0; i < joint->count && why->culprit_count < UPMU_WHY_CULPRITS; i++)
        if (why->culprits >> i & 1u)
            why->culprit[why->culprit_count++] = joint_event(joint, i)->id;
}

static enum upmu_status solve(const struct upmu_cpu *cpu, struct joint *joint, bool alone, struct upmu_why *why)
{
    struct upmu_place_work work;
    struct upmu_place_input input;
    enum upmu_status status;

    memset(&input, 0, sizeof input);
    input.alternative = joint_alternative;
    input.context = joint;
    input.request_count = joint->count;
    input.counters = joint->pmu->counters;
    input.preference = joint->pmu->preference;
    input.preference_count = joint->pmu->preference_count;
    if (cpu) {
        input.taken = blocked(cpu);
        if (cpu->domain && !alone) {
            input.taken |= upmu_domain_taken(cpu->domain, cpu->domain_slot);
            input.held = joint->held;
            input.held_count = upmu_domain_held(cpu->domain, cpu->domain_slot, joint->held, JOINT_HELD);
        }
        input.stay = (const uint8_t(*)[UPMU_SLOTS])joint->stay;
        input.stay_alternative = joint->stay_alternative;
    }
    status = upmu_place(&input, &work, joint->result, why);
    if (status != UPMU_OK)
        name_culprits(joint, why);
    return status;
}

static void joint_begin(struct joint *joint, const struct upmu_pmu *pmu)
{
    memset(joint, 0, sizeof *joint);
    joint->pmu = pmu;
}

static void set_place(struct upmu_tally *tally, const struct upmu_place_result *result)
{
    tally->counter = result->counter[0];
    for (unsigned slot = 1; slot < UPMU_SLOTS; slot++)
        tally->extra[slot - 1] = result->counter[slot];
    tally->alternative = result->alternative;
}

static uint32_t counters_of(const struct upmu_tally *tally)
{
    uint32_t counters = UPMU_BIT32(tally->counter);

    for (unsigned slot = 0; slot < UPMU_SLOTS - 1; slot++)
        if (tally->extra[slot] != UPMU_NO_COUNTER)
            counters |= UPMU_BIT32(tally->extra[slot]);
    return counters;
}

static void sum_counters(struct upmu_session *session)
{
    session->counters = 0;
    for (unsigned i = 0; i < session->set.count; i++)
        session->counters |= counters_of(&session->set.tally[i]);
}

/* ---- Registers of placed events ---- */

static void render_tally(const struct upmu_cpu *cpu, const struct upmu_session *session, unsigned i,
                         struct upmu_image *image)
{
    const struct upmu_pmu *pmu = cpu->pmu;
    const struct upmu_tally *tally = &session->set.tally[i];
    uint8_t counters[UPMU_SLOTS] = { tally->counter };
    unsigned flags = 0;

    for (unsigned slot = 1; slot < UPMU_SLOTS; slot++)
        counters[slot] = tally->extra[slot - 1];
    if (port_has_pmi(cpu->machine->port) && (tally->period || (pmu->capabilities & UPMU_PMU_STATUS)))
        flags |= UPMU_RENDER_INTERRUPT;
    pmu->backend->render(pmu, &session->set.event[i], tally->alternative, counters, flags, image);
}

/* Give a counter that ran for somebody else, or has a new event, its start value. */
static bool prime(struct upmu_cpu *cpu, struct upmu_tally *tally)
{
    unsigned counter = tally->counter;

    if (tally->period) {
        tally->base = upmu_count_load(cpu->pmu, tally, counter);
        cpu->used |= UPMU_BIT32(counter);
        if (!upmu_bank_write(&cpu->bank, counter, tally->base))
            return false;
    } else if (!upmu_bank_read(&cpu->bank, counter, &tally->base)) {
        return false;
    }
    cpu->used |= UPMU_BIT32(counter);
    cpu->last_tag[counter] = tally->tag;
    return true;
}

/* `opening`: counters that the caller opens or, if this fails, closes next. */
static enum upmu_status load_registers(struct upmu_cpu *cpu, struct upmu_session *session, uint32_t opening)
{
    struct upmu_image image;
    uint32_t changed;

    image.count = 0;
    image.overfull = false;
    image.prelude = NULL;
    for (unsigned i = 0; i < session->set.count; i++)
        render_tally(cpu, session, i, &image);
    if (image.overfull)
        return UPMU_ERR_UNSUPPORTED;
    if (!upmu_bank_load(&cpu->bank, &image, opening, &changed))
        return UPMU_ERR_PORT;
    for (unsigned i = 0; i < session->set.count; i++) {
        struct upmu_tally *tally = &session->set.tally[i];

        if (((changed >> tally->counter & 1u) || cpu->last_tag[tally->counter] != tally->tag) && !prime(cpu, tally))
            return UPMU_ERR_PORT;
    }
    return UPMU_OK;
}

/* ---- What runs ---- */

void upmu_schedule_publish(struct upmu_cpu *cpu)
{
    uint32_t running = 0, sampling = 0, quiet = 0;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        uint32_t mine = 0;

        if (!holds(session))
            continue;
        for (unsigned i = 0; i < session->set.count; i++)
            if (session->set.tally[i].period)
                mine |= UPMU_BIT32(session->set.tally[i].counter);
        running |= session->counters;
        sampling |= mine;
        if (mine)
            quiet |= session->counters;
    }
    cpu->sampling = sampling;
    cpu->quiet = quiet;
    UPMU_BARRIER();
    cpu->running = running;
    UPMU_BARRIER();
}

static void take_counter(struct upmu_cpu *cpu, struct upmu_session *session, struct upmu_tally *tally)
{
    cpu->of_tally[tally->counter] = session;
    cpu->tally[tally->counter] = tally;
}

/* An overflow found without its interrupt: the interrupt may still come. */
static void expect_stale(struct upmu_cpu *cpu, unsigned interrupts)
{
    cpu->stale_credit += interrupts;
    cpu->stale_since_ns = port_clock_ns(cpu->machine->port);
}

/*
 * Take the value of a closed counter into its tally; true: a sample is due.  A
 * sampling counter that passed zero must be loaded again before it runs.
 */
static bool settle(struct upmu_cpu *cpu, struct upmu_session *session, struct upmu_tally *tally, unsigned counter,
                   uint64_t value)
{
    const struct upmu_event *event = &session->set.event[upmu_tally_index(session, tally)];

    if (upmu_count_fold(cpu->pmu, event, tally, counter, value))
        cpu->seen_counting = 1;
    if (tally->throttled) {
        tally->throttled = false;
        cpu->last_tag[counter] = 0;
        return upmu_count_due(tally);
    }
    if (!tally->period || !upmu_count_overflowed(cpu->pmu, counter, value))
        return false;
    cpu->last_tag[counter] = 0;
    if (cpu->deferred >> counter & 1u)
        __atomic_fetch_and(&cpu->deferred, ~UPMU_BIT32(counter), __ATOMIC_RELAXED);
    else
        expect_stale(cpu, 1);
    return upmu_count_due(tally);
}

/* Read the closed counters of a session into its tallies. */
static enum upmu_status take_counts(struct upmu_cpu *cpu, struct upmu_session *session)
{
    bool deferred = cpu->deferred & session->counters;
    uint32_t due = 0;
    enum upmu_status status = UPMU_OK;

    for (unsigned i = 0; i < session->set.count; i++) {
        struct upmu_tally *tally = &session->set.tally[i];
        uint64_t value;

        if (!upmu_bank_read(&cpu->bank, tally->counter, &value)) {
            status = UPMU_ERR_PORT;
            tally->hole = true;
            cpu->last_tag[tally->counter] = 0;
        } else if (settle(cpu, session, tally, tally->counter, value)) {
            due |= UPMU_BIT32(i);
        }
    }
    if (due)
        upmu_pmi_emit(cpu, session, due, deferred);
    return status;
}

static void begin_all(struct upmu_session *session)
{
    for (unsigned i = 0; i < session->set.count; i++)
        upmu_tally_begin(&session->set.tally[i]);
}

static void end_all(struct upmu_session *session)
{
    for (unsigned i = 0; i < session->set.count; i++)
        upmu_tally_end(&session->set.tally[i]);
}

/* ---- Claims on what other CPUs share ---- */

static uint32_t shared_of(const struct upmu_cpu *cpu, const struct upmu_session *session)
{
    return cpu->domain ? session->counters & cpu->pmu->shared_counters : 0;
}

/* Shared resources that an event uses in its alternative: claim them; or name them in *needed. */
static bool event_resources(struct upmu_cpu *cpu, const struct upmu_session *session, unsigned i, bool claim,
                            uint64_t *needed)
{
    const struct upmu_pmu *pmu = cpu->pmu;
    struct upmu_alternative how;

    if (!pmu->backend->alternative(pmu, &session->set.event[i], session->set.tally[i].alternative, &how))
        return true;
    for (unsigned slot = 0; slot < how.slot_count; slot++)
        for (unsigned k = 0; k < how.slot[slot].resource_count; k++) {
            unsigned resource = how.slot[slot].resource[k];

            if (!(pmu->shared >> resource & 1u))
                continue;
            *needed |= UPMU_BIT64(resource);
            if (claim && !upmu_domain_claim_resource(cpu->domain, cpu->domain_slot, resource, how.slot[slot].value[k]))
                return false;
        }
    return true;
}

/*
 * Give shared parts back that no running session needs; others may change their
 * registers from now on.
 */
static void release_claims(struct upmu_cpu *cpu, struct upmu_session *session)
{
    uint64_t needed = 0;

    for (uint32_t rest = shared_of(cpu, session); rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        cpu->last_tag[counter] = 0;
        upmu_bank_forget_row(&cpu->bank, cpu->pmu->counter[counter].select_row);
        upmu_domain_release_counter(cpu->domain, cpu->domain_slot, counter);
    }
    for (struct upmu_session *other = cpu->sessions; other; other = other->next)
        for (unsigned i = 0; other != session && holds(other) && i < other->set.count; i++)
            (void)event_resources(cpu, other, i, false, &needed);
    for (unsigned i = 0; i < UPMU_RESOURCES; i++)
        if ((cpu->pmu->shared & ~needed) >> i & 1u) {
            upmu_bank_forget_row(&cpu->bank, cpu->pmu->backend->resource_row(cpu->pmu, i));
            upmu_domain_release_resource(cpu->domain, cpu->domain_slot, i);
        }
}

static bool take_claims(struct upmu_cpu *cpu, struct upmu_session *session)
{
    uint64_t needed = 0;
    bool fine = true;

    for (uint32_t rest = shared_of(cpu, session); fine && rest; rest &= rest - 1u)
        fine = upmu_domain_claim_counter(cpu->domain, cpu->domain_slot, upmu_bits_lowest(rest));
    for (unsigned i = 0; fine && i < session->set.count; i++)
        fine = event_resources(cpu, session, i, true, &needed);
    if (!fine)
        release_claims(cpu, session);
    return fine;
}

/* ---- Start and failure of a placed session ---- */

/* A register faulted: the session stops, the others run on. */
static enum upmu_status fail(struct upmu_cpu *cpu, struct upmu_session *session)
{
    uint32_t counters = session->counters;

    (void)upmu_bank_gate(&cpu->bank, 0, counters);
    session->why.status = UPMU_ERR_PORT;
    session->why.pmu = cpu->pmu;
    session->why.address = cpu->bank.faulted;
    session->error = UPMU_ERR_PORT;
    session->state = UPMU_SESSION_STOPPED;
    for (uint32_t rest = counters; rest; rest &= rest - 1u)
        cpu->last_tag[upmu_bits_lowest(rest)] = 0;
    upmu_schedule_publish(cpu);
    if (cpu->domain)
        release_claims(cpu, session);
    port_log(cpu->machine->port, "upmu: a register faulted; a session was stopped");
    return UPMU_ERR_PORT;
}

/* Load a placed session and open its gates. */
static enum upmu_status run(struct upmu_cpu *cpu, struct upmu_session *session)
{
    enum upmu_status status = load_registers(cpu, session, session->counters);

    if (status != UPMU_OK)
        return status == UPMU_ERR_PORT ? fail(cpu, session) : status;
    begin_all(session);
    for (unsigned i = 0; i < session->set.count; i++) {
        take_counter(cpu, session, &session->set.tally[i]);
        session->set.tally[i].ran = true;
    }
    session->error = UPMU_OK;
    session->full = 0;
    session->state = UPMU_SESSION_RUNNING;
    upmu_schedule_publish(cpu);
    end_all(session);
    session->started_ns = port_clock_ns(cpu->machine->port);
    if (upmu_bank_gate(&cpu->bank, session->counters, 0))
        return UPMU_OK;
    for (unsigned i = 0; i < session->set.count; i++)
        session->set.tally[i].hole = true;
    return fail(cpu, session);
}

/* ---- Moving a running event (R12) ---- */

/*
 * Without a gap: the new counter is loaded while its gate is closed, then one
 * write closes the old gate and opens the new one.
 */
static bool move_one(struct upmu_cpu *cpu, struct upmu_session *session, unsigned i,
                     const struct upmu_place_result *result)
{
    struct upmu_tally *tally = &session->set.tally[i];
    struct upmu_tally moved = *tally;
    unsigned old = tally->counter, counter = result->counter[0];
    struct upmu_image image = { .count = 0 };
    uint32_t changed;
    uint64_t value;
    bool fine;

    begin_all(session);
    set_place(tally, result);
    render_tally(cpu, session, i, &image);
    fine = upmu_bank_load(&cpu->bank, &image, 0, &changed) && prime(cpu, tally);
    take_counter(cpu, session, tally);
    cpu->running |= UPMU_BIT32(counter);
    if (tally->period) {
        cpu->quiet |= UPMU_BIT32(counter);
        cpu->sampling |= UPMU_BIT32(counter);
    }
    fine = fine && upmu_bank_gate(&cpu->bank, UPMU_BIT32(counter), UPMU_BIT32(old)) &&
           upmu_bank_read(&cpu->bank, old, &value);
    if (fine) {
        uint64_t base = tally->base;

        tally->base = moved.base;
        if (settle(cpu, session, tally, old, value))
            upmu_pmi_emit(cpu, session, UPMU_BIT32(i), false);
        tally->base = base;
    } else {
        tally->hole = true;
    }
    cpu->last_tag[old] = 0;
    end_all(session);
    return fine;
}

static bool must_move(const struct joint *joint, unsigned i)
{
    const struct upmu_tally *tally = joint_tally(joint, i);
    const struct upmu_place_result *result = &joint->result[i];

    return holds(joint->session[i]) &&
           (tally->counter != result->counter[0] || tally->alternative != result->alternative);
}

/* One counter, no payload register, on a PMU whose gates share a register: the move leaves no gap. */
static bool moves_alone(const struct upmu_cpu *cpu, const struct joint *joint, unsigned i)
{
    const struct upmu_event *event = joint_event(joint, i);

    return (cpu->pmu->capabilities & UPMU_PMU_GLOBAL_CTRL) && !event->payload &&
           joint_tally(joint, i)->extra[0] == UPMU_NO_COUNTER &&
           !(cpu->running >> joint->result[i].counter[0] & 1u);
}

/* Those that block one another stop, move, and go on: their counts have a hole. */
static enum upmu_status move_with_hole(struct upmu_cpu *cpu, struct joint *joint)
{
    const struct upmu_port *port = cpu->machine->port;
    uint64_t began_ns = port_clock_ns(port), gap_ns;
    enum upmu_status status = UPMU_OK;
    uint32_t moved = 0;

    for (unsigned i = 0; i < joint->count; i++) {
        struct upmu_session *session = joint->session[i];

        if (!must_move(joint, i))
            continue;
        if (upmu_schedule_stop(cpu, session) != UPMU_OK)
            status = UPMU_ERR_PORT;
        session->state = UPMU_SESSION_SUSPENDED;
    }
    for (unsigned i = 0; i < joint->count; i++)
        if (joint->session[i]->state == UPMU_SESSION_SUSPENDED) {
            set_place(joint_tally(joint, i), &joint->result[i]);
            joint_tally(joint, i)->hole |= !port_has_clock(port);
            moved |= UPMU_BIT32(i);
        }
    for (unsigned i = 0; i < joint->count; i++) {
        struct upmu_session *session = joint->session[i];

        if (session->state != UPMU_SESSION_SUSPENDED)
            continue;
        sum_counters(session);
        session->state = UPMU_SESSION_STOPPED;
        if (run(cpu, session) != UPMU_OK)
            status = UPMU_ERR_PORT;
    }
    gap_ns = port_clock_ns(port) - began_ns;
    for (uint32_t rest = moved; rest; rest &= rest - 1u) {
        joint_tally(joint, upmu_bits_lowest(rest))->gap_ns += gap_ns;
        if (!joint->index[upmu_bits_lowest(rest)])
            joint->session[upmu_bits_lowest(rest)]->enabled_ns += gap_ns;
    }
    return status;
}

static enum upmu_status move_all(struct upmu_cpu *cpu, struct joint *joint)
{
    bool moved, waiting;

    do {
        moved = false;
        waiting = false;
        for (unsigned i = 0; i < joint->count; i++) {
            if (!must_move(joint, i))
                continue;
            if (!moves_alone(cpu, joint, i)) {
                waiting = true;
                continue;
            }
            if (!move_one(cpu, joint->session[i], joint->index[i], &joint->result[i]))
                return UPMU_ERR_PORT;
            sum_counters(joint->session[i]);
            upmu_schedule_publish(cpu);
            moved = true;
        }
    } while (moved && waiting);
    return waiting ? move_with_hole(cpu, joint) : UPMU_OK;
}

/* ---- Entry points ---- */

enum place_mode {
    PLACE_ALONE, /* could it run on an idle PMU? */
    PLACE_STILL, /* only where nothing that runs must move */
    PLACE_MOVE   /* wherever it fits */
};

static enum upmu_status place(struct upmu_cpu *cpu, struct upmu_session *session, enum place_mode mode)
{
    struct joint joint;
    enum upmu_status status;
    unsigned first;

    joint_begin(&joint, cpu->pmu);
    for (struct upmu_session *other = cpu->sessions; other && mode != PLACE_ALONE; other = other->next)
        if (other != session && holds(other) && !joint_add(&joint, other, true))
            return UPMU_ERR_NO_SPACE;
    first = joint.count;
    if (!joint_add(&joint, session, false))
        return UPMU_ERR_NO_SPACE;
    status = solve(cpu, &joint, mode == PLACE_ALONE, &session->why);
    if (status != UPMU_OK || mode == PLACE_ALONE)
        return status;
    for (unsigned i = 0; mode == PLACE_STILL && i < first; i++)
        if (must_move(&joint, i))
            return UPMU_ERR_DOES_NOT_FIT;
    status = move_all(cpu, &joint);
    for (unsigned i = 0; i < session->set.count; i++)
        set_place(&session->set.tally[i], &joint.result[first + i]);
    sum_counters(session);
    return status;
}

enum upmu_status upmu_schedule_fits(struct upmu_cpu *cpu, struct upmu_session *session)
{
    return place(cpu, session, PLACE_ALONE);
}

/* Is the placement that the session has still free? */
static bool still_placed(const struct upmu_cpu *cpu, const struct upmu_session *session)
{
    if (!session->counters || (session->counters & (cpu->running | blocked(cpu))))
        return false;
    if (!cpu->running && !cpu->domain)
        return true;
    if (cpu->domain && (cpu->pmu->shared || cpu->pmu->shared_counters))
        return false;
    for (unsigned i = 0; i < session->set.count; i++)
        if (session->set.event[i].payload)
            return false;
    return true;
}

/* Placed beside what runs, and what is shared is claimed. */
static enum upmu_status reserve(struct upmu_cpu *cpu, struct upmu_session *session)
{
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        if (attempt || !still_placed(cpu, session)) {
            enum upmu_status status = place(cpu, session, PLACE_MOVE);

            if (status != UPMU_OK)
                return status;
        }
        if (!cpu->domain || take_claims(cpu, session))
            return UPMU_OK;
    }
    return UPMU_ERR_LOST_CLAIM;
}

enum upmu_status upmu_schedule_preload(struct upmu_cpu *cpu, struct upmu_session *session)
{
    enum upmu_status status = place(cpu, session, PLACE_STILL);

    if (status == UPMU_OK)
        status = load_registers(cpu, session, 0);
    return status == UPMU_ERR_PORT ? fail(cpu, session) : status;
}

enum upmu_status upmu_schedule_start(struct upmu_cpu *cpu, struct upmu_session *session)
{
    enum upmu_status status = reserve(cpu, session);

    return status == UPMU_OK ? run(cpu, session) : status;
}

enum upmu_status upmu_schedule_stop(struct upmu_cpu *cpu, struct upmu_session *session)
{
    enum upmu_status status = UPMU_OK;

    begin_all(session);
    if (!upmu_bank_gate(&cpu->bank, 0, session->counters))
        status = UPMU_ERR_PORT;
    session->enabled_ns += port_clock_ns(cpu->machine->port) - session->started_ns;
    if (take_counts(cpu, session) != UPMU_OK)
        status = UPMU_ERR_PORT;
    session->state = UPMU_SESSION_STOPPED;
    upmu_schedule_publish(cpu);
    end_all(session);
    if (cpu->domain)
        release_claims(cpu, session);
    if (status == UPMU_ERR_PORT) {
        session->error = UPMU_ERR_PORT;
        session->why.status = UPMU_ERR_PORT;
        session->why.pmu = cpu->pmu;
        session->why.address = cpu->bank.faulted;
    }
    return status;
}

enum upmu_status upmu_schedule_release(struct upmu_cpu *cpu, struct upmu_session *session)
{
    struct upmu_image image = { .count = 0 };
    uint32_t mine = 0, changed;

    for (unsigned i = 0; session->counters && i < session->set.count; i++)
        if (cpu->last_tag[session->set.tally[i].counter] == session->set.tally[i].tag)
            mine |= counters_of(&session->set.tally[i]);
    mine &= ~cpu->running;
    cpu->pmu->backend->release(cpu->pmu, mine, &image);
    for (unsigned i = 0; i < image.count; i++)
        image.entry[i].release = true;
    for (uint32_t rest = mine; rest; rest &= rest - 1u)
        cpu->last_tag[upmu_bits_lowest(rest)] = 0;
    session->counters = 0;
    return upmu_bank_load(&cpu->bank, &image, 0, &changed) ? UPMU_OK : UPMU_ERR_PORT;
}

enum upmu_status upmu_schedule_fold(struct upmu_cpu *cpu)
{
    enum upmu_status status = UPMU_OK;

    for (uint32_t rest = cpu->running; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);
        struct upmu_tally *tally = cpu->tally[counter];
        struct upmu_session *session = cpu->of_tally[counter];
        uint64_t value;

        if (!tally || tally->counter != counter || (tally->period && !tally->throttled))
            continue;
        upmu_tally_begin(tally);
        tally->storm = 0;
        if (!upmu_bank_read(&cpu->bank, counter, &value))
            status = UPMU_ERR_PORT;
        else if (upmu_count_fold(cpu->pmu, &session->set.event[upmu_tally_index(session, tally)], tally, counter,
                                 value))
            cpu->seen_counting = 1;
        if (tally->throttled)
            __atomic_fetch_or(&cpu->deferred, UPMU_BIT32(counter), __ATOMIC_RELAXED);
        upmu_tally_end(tally);
    }
    return status;
}

static void forget_deferred(struct upmu_cpu *cpu, unsigned counter)
{
    __atomic_fetch_and(&cpu->deferred, ~UPMU_BIT32(counter), __ATOMIC_RELAXED);
}

/* Take the value of a running counter, emit what is due, load it again. */
static bool replay_counter(struct upmu_cpu *cpu, struct upmu_session *session, struct upmu_tally *tally,
                           unsigned counter)
{
    uint64_t value;

    if (!upmu_bank_gate(&cpu->bank, 0, UPMU_BIT32(counter)) || !upmu_bank_read(&cpu->bank, counter, &value))
        return false;
    if (settle(cpu, session, tally, counter, value))
        upmu_pmi_emit(cpu, session, UPMU_BIT32(upmu_tally_index(session, tally)), true);
    forget_deferred(cpu, counter);
    if (cpu->last_tag[counter] != tally->tag && !prime(cpu, tally))
        return false;
    return upmu_bank_gate(&cpu->bank, UPMU_BIT32(counter), 0);
}

/*
 * An overflow that a handler found while its tally was being changed, or a
 * throttled counter that may sample again.  All tallies of the session are held:
 * its ring has one writer at a time.
 */
static void replay_one(struct upmu_cpu *cpu, unsigned counter)
{
    struct upmu_tally *tally = cpu->tally[counter];
    struct upmu_session *session = cpu->of_tally[counter];
    bool fine;

    if (!(cpu->running >> counter & 1u) || tally->counter != counter) {
        forget_deferred(cpu, counter);
        return;
    }
    begin_all(session);
    fine = replay_counter(cpu, session, tally, counter);
    if (!fine) {
        forget_deferred(cpu, counter);
        tally->hole = true;
    }
    end_all(session);
    if (!fine)
        (void)fail(cpu, session);
}

void upmu_schedule_replay(struct upmu_cpu *cpu)
{
    while (cpu->deferred)
        replay_one(cpu, upmu_bits_lowest(cpu->deferred));
    if (!cpu->mask_due)
        return;
    cpu->mask_due = 0;
    for (struct upmu_session *session = cpu->sessions; session; session = session->next)
        if (session->state == UPMU_SESSION_RUNNING && session->full) {
            (void)upmu_schedule_stop(cpu, session);
            session->state = UPMU_SESSION_MASKED;
        }
}

enum upmu_status upmu_schedule_reload(struct upmu_cpu *cpu)
{
    enum upmu_status status = UPMU_OK;

    for (struct upmu_session *session = cpu->sessions; session; session = session->next) {
        if (session->state != UPMU_SESSION_SUSPENDED)
            continue;
        session->state = UPMU_SESSION_STOPPED;
        session->error = upmu_schedule_start(cpu, session);
        if (session->error != UPMU_OK)
            status = session->error;
    }
    return status;
}

enum upmu_status upmu_session_dry_run(struct upmu_session *session, const struct upmu_pmu *pmu,
                                      struct upmu_dry_run *dry_run)
{
    struct joint joint;
    struct upmu_image image = { .count = 0 };
    struct upmu_bank bank;
    enum upmu_status status;
    uint32_t counters = 0, changed;

    if (!session->set.count)
        return UPMU_ERR_STATE;
    joint_begin(&joint, pmu);
    (void)joint_add(&joint, session, false);
    status = solve(NULL, &joint, true, &session->why);
    if (status != UPMU_OK)
        return status;
    upmu_bank_init(&bank, pmu, session->machine->port, true);
    bank.dry = dry_run;
    dry_run->count = 0;
    memset(bank.known, 0xff, sizeof bank.known);
    for (unsigned i = 0; i < joint.count; i++) {
        bool sampling = session->set.sampling[i].period;

        pmu->backend->render(pmu, &session->set.event[i], joint.result[i].alternative, joint.result[i].counter,
                             sampling ? UPMU_RENDER_INTERRUPT : 0, &image);
        counters |= UPMU_BIT32(joint.result[i].counter[0]);
        if (session->state == UPMU_SESSION_DETACHED)
            set_place(&session->set.tally[i], &joint.result[i]);
    }
    (void)upmu_bank_load(&bank, &image, 0, &changed);
    for (unsigned i = 0; i < joint.count; i++) {
        struct upmu_tally tally = { .period = session->set.sampling[i].period };

        tally.due = tally.period;
        if (tally.period)
            (void)upmu_bank_write(&bank, joint.result[i].counter[0],
                                  upmu_count_load(pmu, &tally, joint.result[i].counter[0]));
    }
    (void)upmu_bank_gate(&bank, counters, 0);
    return UPMU_OK;
}
