/* SPDX-License-Identifier: MIT */
/*
 * Which programs may execute RDPMC: written from upmu/page.h and upmu/upmu.h.
 *
 * When the right may be there is wider than when it must.  It may be there from the call that attaches a published
 * session on, which another CPU may be in the middle of, until the thread or the CPU has ended, or until there was no
 * page while the thread came, or while the CPU had a tick.  It must be there from the first switch or tick that no call
 * for a session met until the last page is withdrawn, or the end of the thread begins.
 */
#include "tests/host/simulated.h"

/* Are sessions with pages attached to a thread or a CPU, or just being attached? */
static bool has_page(enum host_target target, unsigned where)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].session && host.session[i].page && host.session[i].target == target &&
            host.session[i].where == where)
            return true;
    return false;
}

static bool any_page(void)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].session && host.session[i].page)
            return true;
    return false;
}

/* Certainly published, and attached. */
static bool has_published(enum host_target target, unsigned where)
{
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].published && host.session[i].target == target && host.session[i].where == where)
            return true;
    return false;
}

void rules_user_attached(const struct host_session *session)
{
    if (session->page && session->target == TARGET_THREAD)
        host.thread[session->where].had_page = true;
    else if (session->page && session->target == TARGET_CPU)
        host.cpu[session->where].had_page = true;
}

static bool is_any_published(void)
{
    bool published = false;

    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        published |= host.session[i].published;
    return published;
}

void rules_user_withdrawn(struct host_session *session)
{
    session->published = false;
    if (is_any_published())
        return;
    for (unsigned i = 0; i < HOST_THREADS; i++)
        host.thread[i].reads = false;
    for (unsigned i = 0; i < HOST_CPUS; i++)
        host.cpu[i].reads = false;
}

struct rules_user rules_user_begin(void)
{
    struct rules_user before = {.uses = host.uses, .given = host.pages, .calm = true, .pages = any_page()};

    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        before.calm &= !host.session[i].users;
    return before;
}

void rules_user_now(const char *call)
{
    const struct host_cpu *cpu = here();
    const struct host_thread *thread = &host.thread[cpu->thread];

    if (host.setting.no_allow || cpu->coming != HOST_NONE)
        return;
    if (cpu->user_rdpmc && !cpu->had_page && !thread->had_page && !has_page(TARGET_CPU, self->cpu) &&
        !has_page(TARGET_THREAD, cpu->thread))
        rules_fail(RULE_USER, "after %s CPU %u lets thread %u execute RDPMC, and neither of them ever had a page", call,
                   self->cpu, cpu->thread);
    /* (A CPU that has just come gives it with the next switch; asleep it may have lost it, until it wakes up.) */
    if (((thread->reads && !thread->ending) || cpu->reads) && !cpu->came && cpu->power != CPU_ASLEEP &&
        !cpu->user_rdpmc)
        rules_fail(RULE_USER, "after %s CPU %u refuses RDPMC to thread %u, and %s has had a page", call, self->cpu,
                   cpu->thread, cpu->reads ? "the CPU" : "that");
}

void rules_user_end(const char *call, struct rules_user before, bool is_switch)
{
    struct host_cpu *cpu = here();
    struct host_thread *thread = &host.thread[cpu->thread];
    struct rules_user now = rules_user_begin();
    bool calm = before.calm && now.calm && before.uses == now.uses;

    if (host.setting.no_allow || cpu->coming != HOST_NONE)
        return;
    /*
     * (A switch of two threads that never had a page executes nothing: upmu/upmu.h.  The right ends with a call that
     * finds no page: in the middle of a tick another CPU may give a session a page, and close that session again.)
     */
    if (!is_switch && cpu->power == CPU_LIVE && cpu->user_rdpmc && !before.pages && before.given == now.given)
        rules_fail(RULE_USER, "CPU %u: any program may execute RDPMC, and there is no page", self->cpu);
    cpu->came &= !is_switch;
    if (calm && cpu->power == CPU_LIVE && !cpu->came) {
        thread->reads |= !thread->ending && has_published(TARGET_THREAD, cpu->thread);
        cpu->reads |= has_published(TARGET_CPU, self->cpu);
    }
    rules_user_now(call);
    /* With no page anywhere a tick ends the right of its CPU, and a switch that of the thread that comes. */
    if (calm && !before.pages && !now.pages && cpu->power == CPU_LIVE)
        *(is_switch ? &thread->had_page : &cpu->had_page) = false;
}
