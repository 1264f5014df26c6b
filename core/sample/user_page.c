/* SPDX-License-Identifier: MIT */
/*
 * Pages in which user mode reads the counts of a session (include/upmu/page.h, include/upmu/user.h).
 *
 * The page of a session that runs is written by the CPU where it runs: by local calls before they restore interrupts,
 * and by handlers; without a CPU it is written by the call that publishes it or ends it. If a handler finds that the
 * interrupted call is writing the page, it does not write. The call then sees in cpu->interrupts that an interrupt was
 * handled, and writes the page again.
 */
#include "core/sample/user_page.h"
#include "core/util/apart.h"
#include "core/util/bits.h"
#include "core/util/mem.h"
#include "core/hw/bank.h"
#include "core/hw/domain.h"
#include "core/hw/port_call.h"
#include "core/engine/claims.h"
#include "core/engine/count.h"
#include "core/engine/joint.h"
#include "core/engine/meter.h"
#include "core/engine/session_core.h"

#if UPMU_USER_PAGES

_Static_assert(sizeof(struct upmu_user_event) == 24 && sizeof(struct upmu_user_page) == 48 + 24 * UPMU_USER_EVENTS,
               "the layout is the same everywhere");
_Static_assert(UPMU_SET_EVENTS <= UPMU_USER_EVENTS, "a page holds a set");

/* Return 1 + the RDPMC index of the counter that an event runs on; 0: not running, or user mode cannot read it. */
static UPMU_APART uint32_t index_of(const struct upmu_cpu *cpu, const struct upmu_tally *tally)
{
    unsigned counter = tally->counter;

    if (counter >= UPMU_COUNTERS || !(cpu->meter.bank.by_rdpmc >> counter & 1u) ||
        cpu->meter.slot[counter].tally != tally ||
        !(cpu->meter.running >> counter & 1u) || (UPMU_METRIC_COUNTERS(cpu->meter.pmu) >> counter & 1u))
        return 0;
    return cpu->meter.pmu->counter[counter].rdpmc + 1u; /* UPMU_NO_RDPMC + 1 is 0 */
}

static void publish_event(const struct upmu_cpu *cpu, const struct upmu_session *session, unsigned i,
                          struct upmu_user_page *page, bool open)
{
    const struct upmu_set *set = upmu_active(session);
    const struct upmu_tally *tally = &set->tally[i];
    struct upmu_user_event *event = &page->event[i];
    /*
     * Only the kernel reads the counter if aborted transactions can reduce the count (IN_TXCP), if the count wraps, or
     * if records of a batch, which are in no count yet, have each loaded the counter with a period.
     */
    bool wraps = upmu_count_wraps(set, i), loads = upmu_tally_is_batch(tally);
    uint32_t index =
        open && !wraps && !loads && !(set->event[i].attributes & UPMU_ATTR_IN_TXCP) ? index_of(cpu, tally) : 0;

    page->generation += event->index != index;
    event->index = index;
    event->width = index ? cpu->meter.pmu->counter[tally->counter].width : 0;
    event->total = wraps ? upmu_count_wrapped(session, set, i, tally->total) : tally->total;
    event->base = index ? tally->base : 0; /* without an index not shown: it may tell what another thread counted */
}

/*
 * Write the page of a session, whose events are those of its active set. `cpu`: the CPU where the session runs; NULL:
 * on none, so that no event in the page has a counter. `now_ns`: the time that the page states.
 */
static void write_page(const struct upmu_cpu *cpu, struct upmu_session *session, uint64_t now_ns)
{
    struct upmu_user_page *page = session->page;
    const struct upmu_set *set = upmu_active(session);
    uint64_t missed_ns, enabled_ns;
    unsigned i;

    /* If all sets were removed, the session has none, and its page stays as it is. */
    if (!set)
        return;
    missed_ns = upmu_session_missed(session, set, now_ns, &enabled_ns);
    page->sequence++;
    UPMU_BARRIER();
    page->set = set->number;
    page->flags = cpu ? UPMU_USER_RUNNING : 0;
    page->time_ns = now_ns;
    page->enabled_ns = enabled_ns;
    page->running_ns = enabled_ns > missed_ns ? enabled_ns - missed_ns : 0;
    for (i = 0; i < set->count; i++)
        publish_event(cpu, session, i, page, cpu != NULL);
    /* If the set that was active before had more events, clear the others: their counters count something else now. */
    for (; i < page->count && i < UPMU_SET_EVENTS; i++) {
        page->generation += page->event[i].index != 0;
        memset(&page->event[i], 0, sizeof page->event[i]);
    }
    page->count = set->count;
    /* The page may be memory that a program can write: the session says whether a function is to be called. */
    if (session->page_watched) {
        struct upmu_watched_page *watched = (struct upmu_watched_page *)(void *)page;

        watched->written(watched);
    }
    UPMU_BARRIER();
    page->sequence++;
}

static void write_settled(const struct upmu_cpu *cpu, struct upmu_session *session)
{
    uint32_t interrupts;

    do {
        interrupts = cpu->interrupts;
        UPMU_BARRIER();
        write_page(session->page_open ? cpu : NULL, session, upmu_machine_clock_ns(cpu->meter.machine));
        UPMU_BARRIER();
    } while (interrupts != cpu->interrupts);
}

/*
 * Close a counter that no session runs on, set it to 0 and remove its tag; false: a register faulted. A counter that
 * another CPU of the domain has claimed is left alone, with the result true.
 */
static bool clear_one(struct upmu_cpu *cpu, unsigned counter)
{
    struct upmu_domain *domain = upmu_meter_domain(&cpu->meter);
    bool claim = domain && !upmu_domain_holds(&domain->claim[UPMU_DOMAIN_COUNTER(counter)], cpu->meter.domain_number);
    bool fine;

    if (claim &&
        upmu_domain_claim(domain, cpu->meter.domain_number, UPMU_DOMAIN_COUNTER(counter), 0) == UPMU_CLAIM_LOST)
        return true;
    /* The counter is closed first, because a static session may have left it running. */
    fine = upmu_bank_close(&cpu->meter.bank, UPMU_BIT32(counter)) && upmu_bank_write(&cpu->meter.bank, counter, 0);
    if (claim)
        upmu_domain_release(domain, cpu->meter.domain_number, UPMU_DOMAIN_COUNTER(counter));
    upmu_meter_forget_value(&cpu->meter, counter);
    return fine;
}

/*
 * Clear the counters that sessions have left (meter->left): they can hold counts of other threads, and user mode will
 * be able to read all counters. Counters with an event of a session of the present thread are kept, because the
 * session's next start continues with them.
 */
static UPMU_APART void clear_left(struct upmu_cpu *cpu)
{
    uint32_t others = cpu->meter.running | cpu->meter.firmware | cpu->meter.watchdog | cpu->meter.foreign |
                      UPMU_METRIC_COUNTERS(cpu->meter.pmu);

    for (struct upmu_session *session = cpu->meter.sessions; UPMU_THREADS && session; session = session->next)
        if (session->thread)
            for UPMU_TALLIES(tally, upmu_active(session))
                others |= upmu_meter_tagged(&cpu->meter, tally);
    for (uint32_t rest = cpu->meter.left & ~others; rest; rest &= rest - 1u)
        if (clear_one(cpu, upmu_bits_lowest(rest)))
            upmu_meter_cleared(&cpu->meter, rest & (0u - rest));
}

/* Is there a counter that RDPMC can read? */
static bool has_rdpmc(const struct upmu_pmu *pmu)
{
    for (uint32_t rest = pmu->counters; rest; rest &= rest - 1u)
        if (pmu->counter[upmu_bits_lowest(rest)].rdpmc != UPMU_NO_RDPMC)
            return true;
    return false;
}

/*
 * Note which sessions with a page run on this CPU (cpu->readers, thread->reads), and give user mode here the right to
 * execute RDPMC (by the port's hook), or withdraw it. Before the right is of use, counters with counts of other threads
 * are cleared. A program that has read an index in a page may execute RDPMC later, even after the session has ended. So
 * a program that has had a page keeps the right until no session of the machine has a page.
 */
static void allow_readers(struct upmu_cpu *cpu)
{
    bool any;

    for (struct upmu_session *session = cpu->meter.sessions; session; session = session->next)
        if (session->page && UPMU_THREADS && session->thread) {
            session->thread->reads = upmu_user_pages_right(cpu->meter.machine);
            cpu->readers |= UPMU_READS_THREAD;
        } else if (session->page) {
            cpu->readers |= UPMU_READS_CPU;
        }
    if (!upmu_user_pages_any(cpu->meter.machine))
        cpu->readers = 0;
    any = cpu->readers != 0 && (!cpu->meter.pmu || has_rdpmc(cpu->meter.pmu));
    if (any && cpu->meter.live)
        clear_left(cpu);
    if (any != cpu->user_reads && port_has_allow_rdpmc(cpu->meter.machine->port)) {
        cpu->user_reads = any;
        port_allow_rdpmc(cpu->meter.machine->port, any);
    }
}

void upmu_user_pages_write(struct upmu_cpu *cpu)
{
    /*
     * Write each page in the CPU's list, and remove sessions that no longer run here. Then add sessions that now run.
     */
    for (struct upmu_session **link = &cpu->pages; *link;) {
        struct upmu_session *session = *link;

        session->page_open = session->meter == &cpu->meter && session->page && upmu_session_occupies(session);
        if (session->page)
            write_settled(cpu, session);
        if (session->page_open) {
            link = &session->next_page;
        } else {
            *link = session->next_page;
            session->next_page = NULL;
        }
    }
    for (struct upmu_session *session = cpu->meter.sessions; session; session = session->next)
        if (session->page && !session->page_open && upmu_session_occupies(session)) {
            session->page_open = 1;
            session->next_page = cpu->pages;
            UPMU_BARRIER();
            cpu->pages = session;
            write_settled(cpu, session);
        }
    allow_readers(cpu);
}

void upmu_user_pages_loaded(struct upmu_cpu *cpu)
{
    for (struct upmu_session *session = cpu->pages; session; session = session->next_page)
        if (session->page && !(session->page->sequence & 1u))
            write_page(upmu_session_occupies(session) ? cpu : NULL, session,
                       upmu_machine_clock_ns(cpu->meter.machine));
}

/* Publish a session in a page (NULL: in none).  `watched`: it is the page of a struct upmu_watched_page. */
static enum upmu_status publish_as(struct upmu_session *session, struct upmu_user_page *page, bool watched)
{
    if (session->state != UPMU_SESSION_DETACHED)
        return upmu_session_refuse(session, UPMU_ERR_STATE);
    upmu_user_page_end(session);
    session->page = page;
    session->page_watched = watched;
    if (!page)
        return UPMU_OK;
    memset(page, 0, sizeof *page);
    page->version = UPMU_USER_VERSION;
    __atomic_fetch_add(&session->machine->pages, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&session->machine->user_reads, 2, __ATOMIC_RELAXED);
    write_page(NULL, session, 0);
    return UPMU_OK;
}

enum upmu_status upmu_session_publish(struct upmu_session *session, struct upmu_user_page *page)
{
    return publish_as(session, page, false);
}

enum upmu_status upmu_session_publish_watched(struct upmu_session *session, struct upmu_watched_page *watched)
{
    if (!port_has_allow_rdpmc(session->machine->port))
        return upmu_session_refuse(session, UPMU_ERR_HOOK_MISSING);
    return publish_as(session, &watched->page, true);
}

void upmu_user_page_leave(struct upmu_cpu *cpu, struct upmu_session *session)
{
    struct upmu_session **link = &cpu->pages;

    while (*link != session)
        link = &(*link)->next_page;
    *link = session->next_page;
    UPMU_BARRIER();
    session->next_page = NULL;
    session->page_open = 0;
    /* When the session stopped, started_ns was set to the time of that moment: so the page states that time. */
    write_page(NULL, session, session->started_ns);
}

/*
 * Count one published page less in machine->pages. If none is left, change the value that upmu_user_pages_right()
 * gives, which ends the right of every thread to RDPMC.
 */
static void withdraw_page(struct upmu_machine *machine)
{
    uint32_t before = __atomic_load_n(&machine->pages, __ATOMIC_RELAXED), after;

    do {
        after = before - 1u;
        if (!(after & UPMU_PAGES))
            after += UPMU_PAGES + 1u;
    } while (!__atomic_compare_exchange_n(&machine->pages, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

void upmu_user_page_end(struct upmu_session *session)
{
    if (!session->page)
        return;
    withdraw_page(session->machine);
    write_page(NULL, session, 0);
    session->page->flags = UPMU_USER_CLOSED;
    session->page = NULL;
}

#else

enum upmu_status upmu_session_publish(struct upmu_session *session, struct upmu_user_page *page)
{
    (void)page;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

enum upmu_status upmu_session_publish_watched(struct upmu_session *session, struct upmu_watched_page *watched)
{
    (void)watched;
    return upmu_session_refuse(session, UPMU_ERR_COMPILED_OUT);
}

void upmu_user_pages_write(struct upmu_cpu *cpu)
{
    (void)cpu;
}

void upmu_user_pages_loaded(struct upmu_cpu *cpu)
{
    (void)cpu;
}

void upmu_user_page_leave(struct upmu_cpu *cpu, struct upmu_session *session)
{
    (void)cpu;
    (void)session;
}

void upmu_user_page_end(struct upmu_session *session)
{
    (void)session;
}

#endif
