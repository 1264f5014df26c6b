/* SPDX-License-Identifier: MIT */
/*
 * The sessions that count for virtual counters (guest_counter.c), entries and exits, and a vCPU's life.
 *
 * A trapped access changes virtual registers alone.  Sessions change in settle_counters(), at an entry, and are closed
 * by upmu_guest_fini().  Between an exit and the next entry no event of the guest occurs, so the session of a counter
 * may be read at any moment of that time, or not at all.
 */
#include <upmu/format.h>
#include <upmu/pmu.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include <upmu/world.h>
#include <abi/guest/guest_core.h>

#define DEFAULT_MIN_PERIOD 1000u
/*
 * Flags that upmu_guest_policy_change() does not let change: they decide which registers the guest has, and what these
 * contain.
 */
#define KEPT_FLAGS (UPMU_GUEST_OWN_LAPIC | UPMU_GUEST_PASSES | UPMU_GUEST_NESTED_SVM)

_Static_assert(sizeof(struct upmu_guest_shape) == 32, "the shape is part of the saved state");
_Static_assert(sizeof(struct upmu_guest) <= 1856, "struct upmu_guest is to be small");
_Static_assert(sizeof(struct upmu_guest_statistics) == 80, "the header says how large the statistics are");

static bool may_pass(const struct upmu_guest *guest)
{
    return UPMU_LOANS && guest->policy->flags & UPMU_GUEST_PASSES;
}

/* ---- Sessions ---- */

/*
 * Note in guest->overflowed that a counter has overflowed; called in the handler, or at the end of a bracket that does
 * the handler's work. The next entry reports the overflow to the guest.
 */
static unsigned note_overflow(void *state, const struct upmu_overflow *overflow, bool notify)
{
    struct upmu_guest *guest = state;

    (void)notify;
    (void)__atomic_fetch_or(&guest->overflowed, (uint32_t)upmu_overflow_event_id(overflow), __ATOMIC_RELAXED);
    GUEST_ADD_ONE(guest, host_interrupts);
    return 0;
}

static enum upmu_status begin_notes(struct upmu_session *session, const void *argument, size_t bytes, void **out_state)
{
    (void)session;
    (void)bytes;
    __builtin_memcpy(out_state, argument, sizeof *out_state);
    return UPMU_OK;
}

static const struct upmu_format guest_notes = {.name = "guest", .begin = begin_notes, .overflow = note_overflow};

/*
 * Return the sampling of a counter's session. Only a counter that interrupts the guest samples, and none with POLLED.
 * The period is one full round of the counter; load_counter() says by upmu_set_wait() when the first one ends.
 */
static struct upmu_sampling sampling_of(const struct upmu_guest *guest, unsigned counter)
{
    struct upmu_sampling sampling;

    __builtin_memset(&sampling, 0, sizeof sampling);
    if (guest->door->interrupts(guest, counter) && !(guest->policy->flags & UPMU_GUEST_POLLED)) {
        sampling.period = upmu_guest_left(guest, counter, 0);
        sampling.event_id = UPMU_BIT32(counter);
    }
    return sampling;
}

/*
 * Find a session for a counter: the one that it has, one that no counter has, or that of a counter that is not started.
 * False: there is none.
 */
static bool take_session(struct upmu_guest *guest, unsigned counter)
{
    struct upmu_guest_counter *virtual = &guest->counter[counter];
    uint32_t held = 0;

    if (virtual->session)
        return true;
    /* All 32: a counter that a reset took out of the shape may still have a session. */
    for (unsigned i = 0; i < UPMU_GUEST_COUNTERS; i++)
        if (guest->counter[i].session)
            held |= UPMU_BIT32(guest->counter[i].session - 1u);
    virtual->flags &= (uint8_t)~GUEST_COUNTER_EVENT;
    for (unsigned i = 0; i < guest->memory.count && !virtual->session; i++)
        if (!(held >> i & 1u))
            virtual->session = (uint8_t)(i + 1u);
    for (uint32_t rest = ~guest->started; rest && !virtual->session; rest &= rest - 1u) {
        struct upmu_guest_counter *idle = &guest->counter[upmu_bits_lowest(rest)];

        virtual->session = idle->session;
        idle->session = 0;
    }
    return virtual->session;
}

/*
 * Make a session with this event, of world GUEST, whose overflows are noted for the next entry (guest_notes), and
 * attach it to the thread of the vCPU. The session has not been attached before, or its last attachment failed.
 */
static enum upmu_status attach_session(struct upmu_guest *guest, struct upmu_session *session,
                                       const struct upmu_event *event, const struct upmu_sampling *sampling,
                                       struct upmu_cpu *cpu)
{
    struct upmu_thread *thread = guest->memory.thread ? guest->memory.thread : &guest->own;
    const void *state = guest;
    /* A session of a counter has one event: clearing the room of all others is the dearest step of a first entry. */
    enum upmu_status status = upmu_session_init_sized(session, UPMU_SESSION_BYTES(1), guest->machine, &session);

    if (status == UPMU_OK)
        status = upmu_set_add_event(&session->set, event, sampling);
    if (status == UPMU_OK)
        status = upmu_session_format(session, &guest_notes, &state, sizeof state);
    if (status == UPMU_OK)
        status = upmu_session_world(session, UPMU_WORLD_GUEST);
    if (status == UPMU_OK)
        status = upmu_session_attach_thread(session, thread, cpu);
    return status;
}

/*
 * May the host's counter with this number hold the guest's value? Only if the policy has PASSES, the event can run
 * there, no session of the host has taken the counter (GUEST_COUNTER_AWAY), and the guest reads the counter by a
 * register that the host has, too. The host's counter must be as wide as the guest's, and every bit must be writable.
 */
static bool may_lend(const struct upmu_guest *guest, unsigned counter, const struct upmu_event *event)
{
    const struct upmu_pmu *pmu = upmu_guest_pmu(guest);

    return may_pass(guest) && !(guest->counter[counter].flags & GUEST_COUNTER_AWAY) &&
           event->counters >> counter & 1u && guest->door->has_register(guest, counter) &&
           pmu->counter[counter].width == guest->shape.width && pmu->counter[counter].write_bits >= guest->shape.width;
}

/* Add 1 to `denied` of a counter whose select has an event that is refused, but only once for each select. */
static void note_denial(struct upmu_guest *guest, struct upmu_guest_counter *virtual)
{
    if (virtual->flags & GUEST_COUNTER_DENIED)
        return;
    virtual->flags |= GUEST_COUNTER_DENIED;
    GUEST_ADD_ONE(guest, denied);
    if (virtual->denied != UINT16_MAX)
        virtual->denied++;
}

/*
 * Give the session of a counter that is not started the event that the guest selected. False: the event is refused, or
 * the session cannot count it (guest->waiting has the counter then).
 */
static bool give_event(struct upmu_guest *guest, unsigned counter, struct upmu_cpu *cpu)
{
    struct upmu_guest_counter *virtual = &guest->counter[counter];
    struct upmu_session *session = &guest->memory.sessions[virtual->session - 1u];
    uint32_t bit = UPMU_BIT32(virtual->session - 1u);
    struct upmu_sampling sampling = sampling_of(guest, counter);
    struct upmu_event event;
    enum upmu_status status = guest->door->event(guest, counter, &event);

    if (status != UPMU_OK) {
        note_denial(guest, virtual);
        return false;
    }
    virtual->flags &= (uint8_t)~GUEST_COUNTER_OWN;
    if (may_lend(guest, counter, &event)) {
        event.counters = UPMU_BIT32(counter);
        virtual->flags |= GUEST_COUNTER_OWN;
    }
    if (guest->attached & bit) {
        status = upmu_set_replace_event(&session->set, 0, &event, &sampling);
    } else {
        status = attach_session(guest, session, &event, &sampling, cpu);
        if (status == UPMU_OK)
            guest->attached |= bit;
        else
            (void)!upmu_session_close(session);
    }
    virtual->applied = guest->door->word(guest, counter);
    virtual->origin = 0;
    virtual->flags &= (uint8_t) ~(GUEST_COUNTER_EVENT | GUEST_COUNTER_INT | GUEST_COUNTER_LATE);
    virtual->flags |= GUEST_COUNTER_LOAD;
    if (guest->door->interrupts(guest, counter))
        virtual->flags |= GUEST_COUNTER_INT;
    if (status == UPMU_OK)
        virtual->flags |= GUEST_COUNTER_EVENT;
    else
        guest->waiting |= UPMU_BIT32(counter);
    return status == UPMU_OK;
}

/*
 * Tell a counter's session when to interrupt: at the overflow, but after min_period events at the earliest. If a
 * session only counts, and its counter may hold the guest's value, load that value, unless an overflow is near, which
 * would interrupt the host.
 */
static void load_counter(struct upmu_guest *guest, unsigned counter)
{
    struct upmu_guest_counter *virtual = &guest->counter[counter];
    struct upmu_session *session = &guest->memory.sessions[virtual->session - 1u];
    struct upmu_progress progress;
    uint64_t left = upmu_guest_left(guest, counter, virtual->value);
    bool samples;

    if (!(virtual->flags & GUEST_COUNTER_LOAD))
        return;
    upmu_set_progress(&session->set, 0, &progress);
    samples = progress.reset;
    if (virtual->flags & GUEST_COUNTER_OWN && !(samples && progress.lent))
        (void)!upmu_set_lend(&session->set, 0, samples || left < guest->min_period ? 0 : virtual->value);
    virtual->flags &= (uint8_t) ~(GUEST_COUNTER_LOAD | GUEST_COUNTER_LATE);
    if (!samples)
        return;
    if (left < guest->min_period) {
        left = guest->min_period;
        virtual->flags |= GUEST_COUNTER_LATE;
        GUEST_ADD_ONE(guest, late);
    }
    (void)!upmu_set_wait(&session->set, 0, left, upmu_guest_left(guest, counter, 0));
}

/*
 * Has the session of a counter the event of the guest's present select, for a counter that interrupts or not as the
 * select says? False also if it was limited to a counter that the host uses now.
 */
static bool session_fits(const struct upmu_guest *guest, unsigned counter)
{
    const struct upmu_guest_counter *virtual = &guest->counter[counter];

    return virtual->flags & GUEST_COUNTER_EVENT &&
           !(virtual->flags & GUEST_COUNTER_OWN && virtual->flags & GUEST_COUNTER_AWAY) &&
           virtual->applied == guest->door->word(guest, counter) &&
           guest->door->interrupts(guest, counter) == !!(virtual->flags & GUEST_COUNTER_INT);
}

static void stop_counters(struct upmu_guest *guest, uint32_t counters)
{
    for (uint32_t rest = counters & guest->started; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        (void)!upmu_session_stop(&guest->memory.sessions[guest->counter[counter].session - 1u]);
        (void)upmu_guest_fold_one(guest, counter);
        guest->started &= ~UPMU_BIT32(counter);
        guest->waiting &= ~UPMU_BIT32(counter);
    }
}

static void try_to_start(struct upmu_guest *guest, unsigned counter, struct upmu_cpu *cpu)
{
    struct upmu_session *session;

    /* If another session runs on the counter with the same number, let any other counter serve. */
    if (may_pass(guest) && upmu_counter_runs(cpu, counter))
        guest->counter[counter].flags |= GUEST_COUNTER_AWAY;
    guest->waiting &= ~UPMU_BIT32(counter);
    if (!take_session(guest, counter)) {
        guest->waiting |= UPMU_BIT32(counter);
        return;
    }
    if (!session_fits(guest, counter) && !give_event(guest, counter, cpu))
        return;
    load_counter(guest, counter);
    session = &guest->memory.sessions[guest->counter[counter].session - 1u];
    if (upmu_session_start(session) == UPMU_OK)
        guest->started |= UPMU_BIT32(counter);
    if (session->state != UPMU_SESSION_RUNNING)
        guest->waiting |= UPMU_BIT32(counter);
}

/* Are as many counters started as the policy's max_counters permits? */
static bool is_at_quota(const struct upmu_guest *guest)
{
    return guest->policy->max_counters && upmu_bits_count(guest->started) >= guest->policy->max_counters;
}

/*
 * Start the session of a counter, unless max_counters sessions are started: then the counter waits. If the session was
 * limited to the host's counter with the same number and got none, start it again for any other counter.
 */
static void start_counter(struct upmu_guest *guest, unsigned counter, struct upmu_cpu *cpu)
{
    struct upmu_guest_counter *virtual = &guest->counter[counter];

    if (is_at_quota(guest)) {
        guest->waiting |= UPMU_BIT32(counter);
        return;
    }
    try_to_start(guest, counter, cpu);
    if (!(guest->waiting >> counter & 1u) || !(virtual->flags & GUEST_COUNTER_OWN))
        return;
    stop_counters(guest, UPMU_BIT32(counter));
    virtual->flags |= GUEST_COUNTER_AWAY;
    try_to_start(guest, counter, cpu);
}

/* Start, stop or change the sessions of dirty counters as the guest's registers say. Afterwards no counter is dirty. */
static void settle_counters(struct upmu_guest *guest, struct upmu_cpu *cpu)
{
    uint32_t open = guest->door->open(guest), misfit = 0;

    for (uint32_t rest = guest->dirty & open; rest; rest &= rest - 1u)
        if (!session_fits(guest, upmu_bits_lowest(rest)))
            misfit |= rest & (0u - rest);
    stop_counters(guest, guest->dirty & (~open | misfit));
    for (uint32_t rest = guest->dirty & open; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest);

        if (!(guest->started & UPMU_BIT32(counter))) {
            start_counter(guest, counter, cpu);
            continue;
        }
        /*
         * Events until now were counted from the value before the guest's write; later ones count from the written
         * value.
         */
        if (guest->counter[counter].flags & GUEST_COUNTER_WRITTEN)
            (void)upmu_guest_fold_one(guest, counter);
        load_counter(guest, counter);
    }
    guest->waiting &= open;
    guest->dirty = 0;
}

/*
 * Put each started counter whose session has no counter of the host into guest->waiting, and remove the others. The
 * host's own sessions come first, and may have taken or released counters since the last entry.
 */
static void find_waiting(struct upmu_guest *guest)
{
    const struct upmu_session *sessions = guest->memory.sessions;
    uint32_t waiting = guest->waiting & ~guest->started;

    for (uint32_t rest = guest->started; rest; rest &= rest - 1u)
        if (sessions[guest->counter[upmu_bits_lowest(rest)].session - 1u].state != UPMU_SESSION_RUNNING)
            waiting |= rest & (0u - rest);
    guest->waiting = waiting;
}

/* ---- Counters whose registers the guest may read without a trap (UPMU_GUEST_PASSES) ---- */

/*
 * Find started counters that were to use the host's counter with the same number, but whose session does not run. Let
 * the next settle_counters() give them any other counter.
 */
static void leave_taken(struct upmu_guest *guest)
{
    for (uint32_t rest = guest->started; rest; rest &= rest - 1u) {
        struct upmu_guest_counter *virtual = &guest->counter[upmu_bits_lowest(rest)];

        if (virtual->flags & GUEST_COUNTER_OWN &&
            guest->memory.sessions[virtual->session - 1u].state != UPMU_SESSION_RUNNING) {
            virtual->flags |= GUEST_COUNTER_AWAY;
            guest->dirty |= rest & (0u - rest);
        }
    }
}

/*
 * Return the mask of the virtual counters that run on the host's counter with the same number, whose register holds the
 * guest's value.
 */
static uint32_t find_passes(const struct upmu_guest *guest)
{
    uint32_t passes = 0;

    for (uint32_t rest = guest->started; rest; rest &= rest - 1u) {
        unsigned counter = upmu_bits_lowest(rest), where;
        const struct upmu_guest_counter *virtual = &guest->counter[counter];
        const struct upmu_session *session = &guest->memory.sessions[virtual->session - 1u];
        uint64_t ahead;

        if ((virtual->flags & (GUEST_COUNTER_OWN | GUEST_COUNTER_WRITTEN)) == GUEST_COUNTER_OWN &&
            upmu_set_where(&session->set, 0, &where, &ahead) && where == counter &&
            !((ahead - (virtual->value - virtual->origin)) & guest->mask))
            passes |= rest & (0u - rest);
    }
    return passes;
}

/* ---- Entry and exit ---- */

/* Return the CPU that the vCPU is on, which executes this; NULL: the vCPU is on no CPU. */
static struct upmu_cpu *present_cpu(const struct upmu_guest *guest)
{
    return guest->memory.thread ? upmu_machine_this_cpu(guest->machine) : guest->cpu;
}

struct upmu_cpu *upmu_guest_prepare(struct upmu_guest *guest, struct upmu_guest_entry *out_entry)
{
    struct upmu_cpu *cpu = present_cpu(guest);
    uint32_t noted = 0;

    __builtin_memset(out_entry, 0, sizeof *out_entry);
    guest->passes = 0;
    if (!cpu)
        return NULL;
    if (guest->overflowed)
        noted = __atomic_exchange_n(&guest->overflowed, 0, __ATOMIC_RELAXED);
    if (guest->policy->flags & UPMU_GUEST_POLLED)
        noted = guest->started;
    upmu_guest_fold(guest, noted);
    for (uint32_t rest = noted & guest->started; rest; rest &= rest - 1u) {
        struct upmu_guest_counter *virtual = &guest->counter[upmu_bits_lowest(rest)];

        if (virtual->flags & GUEST_COUNTER_LATE) {
            virtual->flags |= GUEST_COUNTER_LOAD;
            guest->dirty |= rest & (0u - rest);
        }
    }
    if (may_pass(guest))
        leave_taken(guest);
    guest->dirty |= guest->waiting & ~guest->started;
    /*
     * settle_counters() may find that a counter has overflowed, and this overflow may freeze all counters: settle
     * again.
     */
    do {
        /* All overflows found so far share one interrupt. */
        if (guest->pending) {
            guest->pending = 0;
            guest->door->inject(guest, out_entry);
        }
        if (guest->dirty)
            settle_counters(guest, cpu);
    } while (guest->pending);
    return cpu;
}

/* Add an entry to the vCPU's statistics, after all counters are settled. */
static void note_entry(const struct upmu_guest *guest, const struct upmu_guest_entry *entry)
{
    struct upmu_guest_statistics *statistics = guest->statistics;

    if (!statistics)
        return;
    statistics->entries++;
    statistics->entries_counting += (guest->started & ~guest->waiting) != 0;
    statistics->waited += guest->waiting != 0;
    statistics->injected += entry->inject != UPMU_GUEST_INJECT_NONE;
}

enum upmu_status upmu_guest_enter_prepared(struct upmu_guest *guest, struct upmu_cpu *cpu,
                                           struct upmu_guest_entry *out_entry)
{
    enum upmu_status status;

    if (guest->dirty)
        settle_counters(guest, cpu);
    find_waiting(guest);
    note_entry(guest, out_entry);
    out_entry->irq_level = guest->door->irq_level(guest);
    if (may_pass(guest)) {
        out_entry->passes = guest->passes = find_passes(guest);
        out_entry->rdpmc_passes = guest->passes && guest->door->all_pass(guest);
    }
    status = upmu_cpu_enter_guest(cpu);
    out_entry->gate = upmu_cpu_guest_gate(cpu);
    if (status == UPMU_OK && guest->waiting && guest->policy->flags & UPMU_GUEST_STRICT)
        status = UPMU_ERR_DOES_NOT_FIT;
    return status;
}

enum upmu_status upmu_guest_enter(struct upmu_guest *guest, struct upmu_guest_entry *out_entry)
{
    struct upmu_cpu *cpu = upmu_guest_prepare(guest, out_entry);

    return cpu ? upmu_guest_enter_prepared(guest, cpu, out_entry) : UPMU_ERR_STATE;
}

enum upmu_status upmu_guest_exit(struct upmu_guest *guest)
{
    struct upmu_cpu *cpu = present_cpu(guest);

    return cpu ? upmu_cpu_leave_guest(cpu) : UPMU_ERR_STATE;
}

/* Return the shape that a reset makes: guest->shown without what the present policy denies. */
static struct upmu_guest_shape renewed_shape(const struct upmu_guest *guest)
{
    struct upmu_guest_shape shape = guest->shown;

    guest->door->limit(&shape, guest->policy);
    return shape;
}

bool upmu_guest_shape_is_stale(const struct upmu_guest *guest)
{
    struct upmu_guest_shape shape = renewed_shape(guest);

    return __builtin_memcmp(&shape, &guest->shape, sizeof shape) != 0;
}

/* ---- Life ---- */

void upmu_guest_reset(struct upmu_guest *guest)
{
    upmu_guest_reset_registers(guest);
    guest->shape = renewed_shape(guest);
    upmu_guest_count_shape(guest);
}

/*
 * May a guest of this shape have this policy? Returns UPMU_OK, or the refusals of upmu_guest_init(). Of these
 * UPMU_ERR_UNSUPPORTED is returned last: all is valid, but the shape shows more than the policy counts.
 */
static enum upmu_status judge_policy(const struct upmu_machine *machine, const struct upmu_guest_shape *shape,
                                     const struct upmu_guest_policy *policy)
{
    const struct upmu_guest_door_table *door = upmu_guest_door_of(shape);
    enum upmu_status status;

    if (!door || !upmu_guest_policy_is_valid(policy))
        return UPMU_ERR_INVALID;
    status = door->can_show(machine, shape, policy);
    if (status == UPMU_ERR_INVALID)
        return status;
    if (policy->level != UPMU_GUEST_IPC && policy->level != UPMU_GUEST_OFF &&
        !(policy->flags & UPMU_GUEST_BESIDE_STRANGERS))
        return UPMU_ERR_NOT_PERMITTED;
    if (!upmu_machine_has_pmi(machine) && !(policy->flags & UPMU_GUEST_POLLED))
        return UPMU_ERR_HOOK_MISSING;
    return status;
}

static void take_policy(struct upmu_guest *guest, const struct upmu_guest_policy *policy)
{
    guest->policy = policy;
    guest->min_period = policy->min_period ? policy->min_period : DEFAULT_MIN_PERIOD;
    if (guest->min_period < upmu_guest_pmu(guest)->min_period)
        guest->min_period = upmu_guest_pmu(guest)->min_period;
}

void upmu_guest_set_statistics(struct upmu_guest *guest, struct upmu_guest_statistics *statistics)
{
    guest->statistics = statistics;
}

enum upmu_status upmu_guest_policy_change(struct upmu_guest *guest, const struct upmu_guest_policy *policy)
{
    enum upmu_status status;

    policy = upmu_guest_policy(policy);
    status = judge_policy(guest->machine, &guest->shape, policy);
    if (status != UPMU_OK && status != UPMU_ERR_UNSUPPORTED)
        return status;
    if ((policy->flags ^ guest->policy->flags) & KEPT_FLAGS)
        return UPMU_ERR_STATE;
    take_policy(guest, policy);
    /* Let the next entry ask the new policy for each counter's event, and set its interrupts and period anew. */
    for (unsigned i = 0; i < UPMU_GUEST_COUNTERS; i++)
        guest->counter[i].flags &= (uint8_t) ~(GUEST_COUNTER_EVENT | GUEST_COUNTER_DENIED);
    guest->dirty = UINT32_MAX;
    return UPMU_OK;
}

enum upmu_status upmu_guest_init(struct upmu_guest *guest, struct upmu_machine *machine,
                                 const struct upmu_guest_shape *shape, const struct upmu_guest_policy *policy,
                                 const struct upmu_guest_memory *memory)
{
    enum upmu_status status;

    policy = upmu_guest_policy(policy);
    if (!UPMU_WORLDS || !UPMU_THREADS || !UPMU_SAMPLING || !UPMU_FORMATS ||
        (!UPMU_LOANS && policy->flags & UPMU_GUEST_PASSES))
        return UPMU_ERR_COMPILED_OUT;
    if (!upmu_machine_pmu(machine, 0))
        return UPMU_ERR_NO_PMU;
    if (!memory->sessions || !memory->count || memory->count > UPMU_GUEST_COUNTERS)
        return UPMU_ERR_INVALID;
    status = judge_policy(machine, shape, policy);
    if (status != UPMU_OK)
        return status;
    __builtin_memset(guest, 0, sizeof *guest);
    guest->shape = *shape;
    guest->shown = *shape;
    guest->door = upmu_guest_door_of(shape);
    guest->memory = *memory;
    guest->machine = machine;
    guest->mask = upmu_bits_ones(shape->width);
    take_policy(guest, policy);
    upmu_guest_count_shape(guest);
    upmu_thread_init(&guest->own, 0, 0, guest);
    upmu_guest_reset_registers(guest);
    return UPMU_OK;
}

enum upmu_status upmu_guest_fini(struct upmu_guest *guest)
{
    enum upmu_status worst = UPMU_OK;

    for (uint32_t rest = guest->attached; rest; rest &= rest - 1u) {
        enum upmu_status status = upmu_session_close(&guest->memory.sessions[upmu_bits_lowest(rest)]);

        if (status == UPMU_OK || status == UPMU_ERR_PORT)
            guest->attached &= ~(rest & (0u - rest));
        /* A session that is still open matters more than a register that faulted. */
        if (status != UPMU_OK && (worst == UPMU_OK || worst == UPMU_ERR_PORT))
            worst = status;
    }
    guest->counters = guest->started = guest->dirty = guest->passes = 0;
    return worst;
}

/*
 * Switch a vCPU to a CPU, or from its CPU (`cpu` NULL). The library does not know which thread the host runs there
 * before or after the vCPU: an empty thread stands for it.
 */
static enum upmu_status move_to(struct upmu_guest *guest, struct upmu_cpu *cpu)
{
    struct upmu_thread none;
    enum upmu_status status;

    upmu_thread_init(&none, 0, 0, NULL);
    status = upmu_thread_switch(cpu ? cpu : guest->cpu, cpu ? &none : &guest->own, cpu ? &guest->own : &none);
    if (status == UPMU_OK)
        guest->cpu = cpu;
    return status;
}

enum upmu_status upmu_guest_load(struct upmu_guest *guest, struct upmu_cpu *cpu)
{
    return guest->memory.thread || guest->cpu ? UPMU_ERR_STATE : move_to(guest, cpu);
}

enum upmu_status upmu_guest_put(struct upmu_guest *guest)
{
    if (guest->memory.thread)
        return UPMU_ERR_STATE;
    guest->passes = 0;
    return guest->cpu ? move_to(guest, NULL) : UPMU_OK;
}
