/* SPDX-License-Identifier: MIT */
/* The host of the tests: host.h. */
#include "tests/common/host.h"
#include "tests/common/state.h"
#include <upmu/session.h>

const struct host_between *host_between;

static struct host_cost cost_of(const struct upmu_accesses *before, const struct upmu_accesses *after)
{
    return (struct host_cost){after->writes - before->writes, after->reads - before->reads,
                              after->rdpmcs - before->rdpmcs, after->rearms - before->rearms};
}

void host_deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct host *host = sim->test;
    struct upmu_frame frame = {.ip = interrupt->ip,
                               .sp = interrupt->sp,
                               .user = interrupt->user,
                               .process = host->process,
                               .thread = host->thread,
                               .fp = host->fp,
                               .registers = host->registers,
                               .register_mask = host->register_mask};
    struct upmu_accesses before = host->cpu[cpu].meter.bank.handler_accesses;
    enum upmu_pmi answer = upmu_pmi_handle(&host->cpu[cpu], host->no_frame ? NULL : &frame);

    host->handler = cost_of(&before, &host->cpu[cpu].meter.bank.handler_accesses);
    if (host->answers < HOST_ANSWERS) {
        host->answer[host->answers] = answer;
        host->was_foreign[host->answers] = interrupt->foreign;
    }
    host->answers++;
    host->answered[answer]++;
}

void host_ask_tick(void *context)
{
    struct upmu_sim *sim = context;

    ((struct host *)sim->test)->ticks_asked++;
}

void host_prepare_cpus(struct host *host, const char *profile, unsigned cpus)
{
    const struct upmu_sim_profile *model = upmu_sim_profile(profile);

    if (!model)
        fail_msg("no profile %s", profile);
    memset(host, 0, sizeof *host);
    upmu_sim_init(&host->sim, model, cpus);
    host->sim.test = host;
    host->sim.deliver = host_deliver;
    for (unsigned i = 0; i < cpus; i++)
        upmu_sim_bind_cpu(&host->sim, i, &host->cpu[i]);
    for (unsigned i = 0; i < UPMU_SIM_CPUS / 2; i++)
        upmu_domain_init(&host->domain[i], UPMU_SCOPE_CORE);
}

void host_prepare(struct host *host, const char *profile)
{
    host_prepare_cpus(host, profile, 2);
}

void host_machine(struct host *host)
{
    if (host_between)
        host_between->open(host);
    assert_int_equal(upmu_machine_init(&host->machine, upmu_sim_port(&host->sim)), UPMU_OK);
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        assert_int_equal(upmu_session_init(&host->sessions[i], &host->machine), UPMU_OK, i);
}

void host_take_over_one(struct host *host, unsigned cpu, bool cores)
{
    host->domains[cpu / 2][0] = cores ? &host->domain[cpu / 2] : NULL;
    upmu_sim_switch_cpu(&host->sim, cpu);
    assert_int_equal(upmu_cpu_init(&host->cpu[cpu], &host->machine, host->domains[cpu / 2]), UPMU_OK, cpu);
}

void host_take_over(struct host *host, unsigned n, bool cores)
{
    for (unsigned i = 0; i < n; i++)
        host_take_over_one(host, i, cores);
    upmu_sim_switch_cpu(&host->sim, 0);
}

void host_threads(struct host *host, unsigned n)
{
    unsigned cpus = 0;

    for (unsigned i = 0; i < n; i++)
        upmu_thread_init(&host->threads[i], 100 + i, 200 + i, NULL);
    while (cpus < UPMU_SIM_CPUS && host->cpu[cpus].meter.live)
        cpus++;
    for (unsigned i = 0; i < cpus; i++)
        host->running[i] = n - cpus + i;
}

void host_start(struct host *host)
{
    host_machine(host);
    host_take_over(host, 1, false);
}

void host_set_up(struct host *host, const char *profile)
{
    host_prepare(host, profile);
    host_start(host);
}

void host_set_up_two(struct host *host, const char *profile)
{
    host_prepare(host, profile);
    host_machine(host);
    host_take_over(host, 2, false);
}

void host_run(struct host *host, uint64_t instructions)
{
    upmu_sim_events(&host->sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                         .cycles = 2 * instructions,
                                                         .branches = instructions / 2,
                                                         .ip = 0x1000,
                                                         .ip_step = 1,
                                                         .sp = 0x8000});
}

void host_work(struct host *host, unsigned cpu, uint64_t instructions)
{
    upmu_sim_switch_cpu(&host->sim, cpu);
    upmu_sim_events(&host->sim, &(struct upmu_sim_burst){.instructions = instructions,
                                                         .cycles = 2 * instructions,
                                                         .ref_cycles = 2 * instructions,
                                                         .bus_cycles = instructions / 4,
                                                         .uops = instructions + instructions / 2,
                                                         .branches = instructions / 5,
                                                         .mispredicts = instructions / 50,
                                                         .loads = instructions / 4,
                                                         .stores = instructions / 8,
                                                         .llc_references = instructions / 10,
                                                         .llc_misses = instructions / 100,
                                                         .user = true,
                                                         .ip = 0x1000,
                                                         .ip_step = 1});
}

void host_thread_switch(struct host *host, unsigned cpu, unsigned next)
{
    upmu_sim_switch_cpu(&host->sim, cpu);
    assert_int_equal(upmu_thread_switch(&host->cpu[cpu], &host->threads[host->running[cpu]], &host->threads[next]),
                     UPMU_OK, cpu, next);
    host->running[cpu] = next;
}

struct upmu_count host_count(struct upmu_session *session, unsigned i)
{
    struct upmu_count count;

    assert_int_equal(upmu_set_read(&session->set, i, 1, &count), UPMU_OK, i);
    return count;
}

uint64_t host_value(struct upmu_session *session, unsigned i)
{
    return host_count(session, i).raw;
}

void host_add(struct host *host, unsigned i, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_set_add(&host->sessions[i].set, list, period ? &sampling : NULL), UPMU_OK, i);
    if (period)
        assert_int_equal(upmu_session_ring(&host->sessions[i], host->rings[i], sizeof host->rings[i]), UPMU_OK, i);
}

void host_attach(struct host *host, unsigned i, unsigned cpu)
{
    upmu_sim_switch_cpu(&host->sim, cpu);
    assert_int_equal(upmu_session_attach_cpu(&host->sessions[i], &host->cpu[cpu]), UPMU_OK, i, cpu);
}

void host_share(struct host *host, unsigned i, unsigned cpu, const char *list)
{
    host_add(host, i, list, 0);
    assert_int_equal(upmu_session_share(&host->sessions[i], true), UPMU_OK, i);
    host_attach(host, i, cpu);
    assert_int_equal(upmu_session_start(&host->sessions[i]), UPMU_OK, i);
}

void host_begin(struct host *host, struct upmu_session *session)
{
    assert_int_equal(upmu_session_attach_cpu(session, &host->cpu[0]), UPMU_OK);
    assert_int_equal(upmu_session_start(session), UPMU_OK);
}

void host_sample(struct host *host, const char *list, uint64_t period)
{
    struct upmu_sampling sampling = {.period = period};

    assert_int_equal(upmu_set_add(&host->session.set, list, &sampling), UPMU_OK);
    assert_int_equal(upmu_session_ring(&host->session, host->ring, sizeof host->ring), UPMU_OK);
    host_begin(host, &host->session);
}

unsigned host_drain(struct host *host, struct upmu_sample *out_last)
{
    struct upmu_sample sample;
    unsigned samples = 0;

    while (upmu_ring_next(&host->session.ring, &sample)) {
        if (out_last)
            *out_last = sample;
        samples++;
    }
    return samples;
}

void host_forget_cost(struct host *host)
{
    memset(host->sim.access_count, 0, sizeof host->sim.access_count);
}

void host_costs(struct host *host, const char *what, unsigned writes, unsigned reads)
{
    unsigned w = host->sim.access_count[UPMU_SIM_WRMSR];
    unsigned p = host->sim.access_count[UPMU_SIM_RDPMC] + host->sim.access_count[UPMU_SIM_RDMSR];

    if (w != writes || p != reads || host->sim.access_count[UPMU_SIM_REARM])
        fail_msg("%s, %s: %u W %u P instead of %u W %u P", host->sim.profile->name, what, w, p, writes, reads);
    host_forget_cost(host);
}

void host_no_violation(const struct host *host)
{
    if (host->sim.violation_count)
        fail_msg("%s: %s (register %x)", host->sim.profile->name, host->sim.first_violation.text,
                 (unsigned)host->sim.first_violation.address);
}

void host_end(struct host *host)
{
    for (unsigned i = 0; i < UPMU_SIM_CPUS; i++) {
        if (!host->cpu[i].meter.live)
            continue;
        upmu_sim_switch_cpu(&host->sim, i);
        assert_null(upmu_test_stranded(&host->cpu[i]));
        assert_int_equal(upmu_cpu_fini(&host->cpu[i]), UPMU_OK, i);
    }
    if (host_between)
        host_between->close(host);
    host_no_violation(host);
}

void host_end_idle(struct host *host)
{
    host_end(host);
    for (unsigned i = 0; i < host->sim.cpus; i++)
        for (unsigned n = 0; n < UPMU_SIM_COUNTERS; n++)
            assert_false(upmu_sim_runs(&host->sim, i, n), i, n);
}
