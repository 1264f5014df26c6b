/* SPDX-License-Identifier: MIT */
/*
 * libpmc's operations on sessions. A program's argument is copied once, and each call checks anew that the PMC is the
 * owner's.
 */
#include <stddef.h>
#include <string.h>
#include <upmu/cpu.h>
#include <upmu/event.h>
#include <upmu/session.h>
#include <upmu/set.h>
#include "abi/pmc/upmu_pmc.h"

#if UPMU_NAMES

_Static_assert(sizeof(struct pmc_op_pmcallocate) == 32 && sizeof(struct pmc_op_allocate) == 288 &&
                   sizeof(struct pmc_pmcinfo) == 48 && sizeof(struct pmc_cpuinfo) == 40 &&
                   sizeof(struct pmc_op_rw) == 16,
               "layouts are the same for 32 and 64 bits");

#define NOT_MAPPED 14 /* EFAULT */

static bool is_sampling(const struct upmu_pmc *pmc)
{
    return pmc->mode == PMC_MODE_SS || pmc->mode == PMC_MODE_TS;
}

static bool is_system(uint32_t mode)
{
    return mode == PMC_MODE_SS || mode == PMC_MODE_SC;
}

/* ---- Allocation ---- */

/*
 * Return a free entry of pmcs->pmcs; NULL: there is none for this user. Without may_system() (`may` false) a user has a
 * share of the entries, and cannot use the last quarter of them.
 */
static struct upmu_pmc *free_one(struct upmu_pmcs *pmcs, uint32_t user, bool may)
{
    unsigned places = pmcs->capacity < UPMU_PMC_MOST ? pmcs->capacity : UPMU_PMC_MOST;
    unsigned left = pmcs->most_pmcs ? pmcs->most_pmcs : upmu_pmc_share(places);
    struct upmu_pmc *pmc = NULL;

    for (unsigned i = 0; i < places; i++) {
        if (pmcs->pmcs[i].owner && pmcs->pmcs[i].user == user && !may && !--left)
            return NULL;
        if (!pmcs->pmcs[i].owner && !pmc && (may || i < places - places / 4u))
            pmc = &pmcs->pmcs[i];
    }
    return pmc;
}

static bool may_use(const struct upmu_pmcs *pmcs, uint32_t owner, const struct upmu_event *event, uint32_t rights)
{
    if (pmcs->may_use)
        return pmcs->may_use(pmcs->context, owner, event, rights);
    return !rights || upmu_pmc_may_system(pmcs, owner);
}

/*
 * Parse and encode the event `spec` for a PMU. If `row` is not PMC_ROW_ANY, pin the event to the counter with this
 * index among the counters of its kind. UPMU_ERR_BAD_VALUE: no counter has the index; UPMU_ERR_DOES_NOT_FIT: the event
 * cannot be counted there.
 */
static enum upmu_status encode_spec(const struct upmu_pmu *pmu, const char *spec, int32_t row, struct upmu_event *event,
                                    struct upmu_why *why)
{
    enum upmu_status status = upmu_event_parse(pmu, spec, event, why);
    unsigned counter;

    if (status != UPMU_OK || row == PMC_ROW_ANY)
        return status;
    counter = upmu_pmc_row_counter(pmu, event, row);
    if (counter == UPMU_NO_COUNTER)
        return UPMU_ERR_BAD_VALUE;
    event->counters &= UINT32_C(1) << counter;
    event->attributes |= UPMU_ATTR_PIN;
    event->pin = counter & 31u;
    return event->counters ? UPMU_OK : UPMU_ERR_DOES_NOT_FIT;
}

/*
 * Make a session for the event of a PMC, and attach it to `cpu` if that is not NULL. `hide`: samples hide the kernel's
 * addresses.
 */
static enum upmu_status make_session(struct upmu_pmcs *pmcs, struct upmu_pmc *pmc, struct upmu_cpu *cpu, bool hide)
{
    struct upmu_sampling sampling = {.period = is_sampling(pmc) ? pmc->count : 0};
    enum upmu_status status = upmu_session_init(&pmc->session, pmcs->machine);

    if (status == UPMU_OK)
        status = upmu_set_add_event(&pmc->session.set, &pmc->event, is_sampling(pmc) ? &sampling : NULL);
    if (status == UPMU_OK && is_sampling(pmc))
        status = upmu_session_ring(&pmc->session, pmc->ring, sizeof pmc->ring);
    if (status == UPMU_OK) {
        upmu_session_hide_kernel(&pmc->session, hide);
        if (!is_sampling(pmc) && pmc->count)
            status = upmu_set_write(&pmc->session.set, 0, pmc->count);
    }
    if (status == UPMU_OK && cpu)
        status = upmu_session_attach_cpu(&pmc->session, cpu);
    return status;
}

static enum upmu_status allocate_pmc(struct upmu_pmcs *pmcs, uint32_t owner, const char *spec,
                                     struct pmc_op_pmcallocate *request, struct upmu_why *why)
{
    bool whole = is_system(request->pm_mode), may = upmu_pmc_may_system(pmcs, owner);
    struct upmu_cpu *cpu =
        whole && request->pm_cpu >= 0 ? pmcs->find_cpu(pmcs->context, (unsigned)request->pm_cpu) : NULL;
    const struct upmu_pmu *pmu = cpu ? cpu->meter.pmu : upmu_machine_pmu(pmcs->machine, 0);
    uint32_t user = upmu_pmc_user_of(pmcs, owner);
    struct upmu_pmc *pmc = free_one(pmcs, user, may);
    struct upmu_event event;
    enum upmu_status status;

    if (!owner || request->pm_mode > PMC_MODE_TC || request->pm_flags & ~(PMC_F_LOG_PROCCSW | PMC_F_EV_PMU) ||
        (whole && !cpu))
        return UPMU_ERR_INVALID;
    if (whole && !may)
        return UPMU_ERR_NOT_PERMITTED;
    if (!pmc)
        return UPMU_ERR_NO_SPACE;
    if (!pmu)
        return UPMU_ERR_NO_PMU;
    status = encode_spec(pmu, spec, request->pm_row, &event, why);
    if (status == UPMU_OK && !may_use(pmcs, owner, &event, upmu_rights_of(pmu, &event)))
        status = UPMU_ERR_NOT_PERMITTED;
    if (status != UPMU_OK)
        return status;
    pmc->event = event;
    pmc->mode = (uint8_t)request->pm_mode;
    pmc->count = request->pm_count;
    pmc->cpu = (uint16_t)(whole ? request->pm_cpu : 0);
    status = make_session(pmcs, pmc, cpu, !may_use(pmcs, owner, NULL, UPMU_RIGHT_ADDRESSES));
    if (status != UPMU_OK) {
        *why = pmc->session.why;
        return status;
    }
    pmc->owner = owner;
    pmc->user = user;
    pmc->generation++;
    pmc->flags = (request->pm_flags & PMC_F_LOG_PROCCSW) | (event.id.catalogue ? PMC_F_EV_PMU : 0);
    pmc->caps = upmu_pmc_caps_of(pmu, &event);
    pmc->pid = 0;
    pmc->state = PMC_STATE_ALLOCATED;
    request->pm_caps = pmc->caps;
    request->pm_flags = pmc->flags;
    request->pm_pmcid = upmu_pmc_id(pmcs, pmc);
    upmu_pmc_log_allocate(pmcs, request->pm_pmcid, pmc);
    return UPMU_OK;
}

enum upmu_status upmu_pmc_allocate(struct upmu_pmcs *pmcs, uint32_t owner, const char *spec,
                                   struct pmc_op_pmcallocate *request, struct upmu_why *why)
{
    struct upmu_why own;
    enum upmu_status status = allocate_pmc(pmcs, owner, spec, request, why ? why : &own);

    if (status == UPMU_OK) {
        pmcs->stats.pm_allocated++;
        return UPMU_OK;
    }
    pmcs->stats.pm_refused++;
    request->pm_pmcid = PMC_ID_INVALID;
    return status;
}

enum upmu_status upmu_pmc_allocate_row(struct upmu_pmcs *pmcs, uint32_t owner, int row, const char *name,
                                       const char *qualifiers, struct pmc_op_pmcallocate *request)
{
    const char *const parts[] = {name, qualifiers && *qualifiers ? "," : "", qualifiers ? qualifiers : ""};
    char spec[PMC_SPEC_BYTES];
    size_t used = 0;

    for (unsigned i = 0; i < 3; i++)
        for (const char *text = parts[i]; *text; text++) {
            if (used + 1 >= sizeof spec)
                return UPMU_ERR_NO_SPACE;
            spec[used++] = *text;
        }
    spec[used] = 0;
    request->pm_row = row;
    return upmu_pmc_allocate(pmcs, owner, spec, request, NULL);
}

enum upmu_status upmu_pmc_release(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id)
{
    struct upmu_pmc *pmc = upmu_pmc_find(pmcs, owner, id);
    enum upmu_status status;

    if (!pmc)
        return UPMU_ERR_INVALID;
    status = upmu_session_close(&pmc->session);
    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return status;
    pmc->owner = 0;
    pmc->state = PMC_STATE_FREE;
    return status;
}

enum upmu_status upmu_pmc_exit(struct upmu_pmcs *pmcs, uint32_t owner)
{
    enum upmu_status result = UPMU_OK, status = UPMU_OK;

    for (unsigned i = 0; owner && i < pmcs->capacity; i++) {
        if (pmcs->pmcs[i].owner == owner)
            status = upmu_pmc_release(pmcs, owner, upmu_pmc_id(pmcs, &pmcs->pmcs[i]));
        if (result == UPMU_OK)
            result = status;
    }
    status = upmu_pmc_log_configure(pmcs, owner, -1);
    /* UPMU_ERR_STATE of the log: the owner had none */
    return result == UPMU_OK && status != UPMU_ERR_STATE ? status : result;
}

/* ---- One PMC ---- */

static enum upmu_status attach_pmc(struct upmu_pmcs *pmcs, struct upmu_pmc *pmc, int32_t pid)
{
    struct upmu_cpu *cpu = NULL;
    struct upmu_thread *thread;
    enum upmu_status status;

    if (is_system(pmc->mode))
        return UPMU_ERR_INVALID;
    if (pmc->session.state != UPMU_SESSION_DETACHED)
        return UPMU_ERR_STATE;
    thread = pmcs->find_thread ? pmcs->find_thread(pmcs->context, pmc->owner, pid, &cpu) : NULL;
    if (!thread)
        return UPMU_ERR_NOT_PERMITTED;
    status = upmu_session_attach_thread(&pmc->session, thread, cpu);
    if (status != UPMU_OK)
        return status;
    pmc->pid = pid ? pid : (int32_t)pmc->owner;
    pmc->state = PMC_STATE_STOPPED;
    (void)upmu_pmc_log_words(pmcs, pmc->owner, PMCLOG_TYPE_PMCATTACH, upmu_pmc_id(pmcs, pmc), (uint32_t)pmc->pid);
    return UPMU_OK;
}

enum upmu_status upmu_pmc_attach(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id, int32_t pid)
{
    struct upmu_pmc *pmc = upmu_pmc_find(pmcs, owner, id);

    return pmc ? attach_pmc(pmcs, pmc, pid) : UPMU_ERR_INVALID;
}

enum upmu_status upmu_pmc_detach(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id)
{
    struct upmu_pmc *pmc = upmu_pmc_find(pmcs, owner, id);
    enum upmu_status status;

    if (!pmc || is_system(pmc->mode) || pmc->session.state == UPMU_SESSION_DETACHED)
        return UPMU_ERR_INVALID;
    status = upmu_session_detach(&pmc->session);
    if (status != UPMU_OK && status != UPMU_ERR_PORT)
        return status;
    pmc->pid = 0;
    pmc->state = PMC_STATE_ALLOCATED;
    return status;
}

/* Start a PMC. A PMC in a thread mode that is attached to no thread is first attached to the owner's own thread. */
enum upmu_status upmu_pmc_start(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id)
{
    struct upmu_pmc *pmc = upmu_pmc_find(pmcs, owner, id);
    enum upmu_status status = pmc ? UPMU_OK : UPMU_ERR_INVALID;

    if (pmc && !is_system(pmc->mode) && pmc->session.state == UPMU_SESSION_DETACHED)
        status = attach_pmc(pmcs, pmc, 0);
    if (status == UPMU_OK)
        status = upmu_session_start(&pmc->session);
    if (status == UPMU_OK)
        pmc->state = PMC_STATE_RUNNING;
    return status;
}

enum upmu_status upmu_pmc_stop(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id)
{
    struct upmu_pmc *pmc = upmu_pmc_find(pmcs, owner, id);
    enum upmu_status status = pmc ? upmu_session_stop(&pmc->session) : UPMU_ERR_INVALID;

    if (status == UPMU_OK)
        pmc->state = PMC_STATE_STOPPED;
    return status;
}

enum upmu_status upmu_pmc_rw(struct upmu_pmcs *pmcs, uint32_t owner, struct pmc_op_rw *request)
{
    struct upmu_pmc *pmc = upmu_pmc_find(pmcs, owner, request->pm_pmcid);
    pmc_value_t value = request->pm_value;
    struct upmu_count count;
    enum upmu_status status;

    if (!pmc || !request->pm_flags || request->pm_flags > 3)
        return UPMU_ERR_INVALID;
    status = upmu_set_read(&pmc->session.set, 0, 1, &count);
    if (status != UPMU_OK)
        return status;
    if (request->pm_flags & 1u)
        request->pm_value = is_sampling(pmc) ? count.left : count.value;
    if (!(request->pm_flags & 2u))
        return UPMU_OK;
    return is_sampling(pmc) ? upmu_set_wait(&pmc->session.set, 0, value, pmc->count)
                            : upmu_set_write(&pmc->session.set, 0, value);
}

enum upmu_status upmu_pmc_set(struct upmu_pmcs *pmcs, uint32_t owner, pmc_id_t id, pmc_value_t period)
{
    struct upmu_pmc *pmc = upmu_pmc_find(pmcs, owner, id);
    enum upmu_status status;

    if (!pmc || !is_sampling(pmc))
        return UPMU_ERR_INVALID;
    if (pmc->state == PMC_STATE_RUNNING)
        return UPMU_ERR_STATE;
    status = upmu_set_wait(&pmc->session.set, 0, period, period);
    if (status == UPMU_OK)
        pmc->count = period;
    return status;
}

/* ---- The system call: copy the argument, carry out the operation, copy the answer ---- */

union argument {
    struct pmc_op_info info;
    struct pmc_cpuinfo cpuinfo;
    struct pmc_pmcinfo pmcinfo;
    struct pmc_driverstats stats;
    struct pmc_op_facts facts;
    struct pmc_op_allocate allocate;
    struct pmc_op_simple simple;
    struct pmc_op_rw rw;
    struct pmc_op_name name;
};

#define SIMPLE sizeof(struct pmc_op_simple)
static const uint16_t argument_bytes[PMC_OPS] = {sizeof(struct pmc_op_info),
                                                 sizeof(struct pmc_cpuinfo),
                                                 sizeof(struct pmc_pmcinfo),
                                                 sizeof(struct pmc_driverstats),
                                                 sizeof(struct pmc_op_facts),
                                                 sizeof(struct pmc_op_allocate),
                                                 SIMPLE,
                                                 SIMPLE,
                                                 SIMPLE,
                                                 SIMPLE,
                                                 SIMPLE,
                                                 sizeof(struct pmc_op_rw),
                                                 sizeof(struct pmc_op_rw),
                                                 SIMPLE,
                                                 SIMPLE,
                                                 SIMPLE,
                                                 SIMPLE,
                                                 SIMPLE,
                                                 sizeof(struct pmc_op_name)};

/* Bit n: operation n returns a structure, which is copied to the program. */
#define ANSWERS                                                                                                        \
    (1u << PMC_OP_INIT | 1u << PMC_OP_CPUINFO | 1u << PMC_OP_PMCINFO | 1u << PMC_OP_STATS | 1u << PMC_OP_FACTS |       \
     1u << PMC_OP_ALLOCATE | 1u << PMC_OP_RW | 1u << PMC_OP_EVENTNAME)

/*
 * Take a counter out of use (upmu_cpu_reserve()), or put it into use again. asked->pm_pmcid is the number of the CPU,
 * pm_value the counter's index among all counters of that CPU.
 */
static enum upmu_status switch_counter(struct upmu_pmcs *pmcs, uint32_t owner, const struct pmc_op_simple *asked,
                                       bool enable)
{
    struct upmu_cpu *cpu = pmcs->find_cpu(pmcs->context, asked->pm_pmcid);
    const struct upmu_pmu *pmu = cpu ? cpu->meter.pmu : NULL;
    uint32_t rest = pmu ? pmu->counters : 0;

    if (!upmu_pmc_may_system(pmcs, owner))
        return UPMU_ERR_NOT_PERMITTED;
    for (int32_t row = asked->pm_value; rest && row > 0; row--)
        rest &= rest - 1u;
    if (!rest || asked->pm_value < 0)
        return UPMU_ERR_INVALID;
    rest &= 0u - rest;
    if (!enable)
        return upmu_cpu_reserve(cpu, rest);
    upmu_cpu_unreserve(cpu, rest);
    return UPMU_OK;
}

static enum upmu_status answer_init(struct upmu_pmcs *pmcs, struct pmc_op_info *info)
{
    struct pmc_cpuinfo cpus;

    if (info->pm_version >> 24 != PMC_VERSION >> 24)
        return UPMU_ERR_VERSION;
    upmu_pmc_cpuinfo(pmcs, &cpus);
    if (!cpus.pm_npmc)
        return UPMU_ERR_NO_PMU;
    info->pm_version = PMC_VERSION;
    info->pm_ncpu = cpus.pm_ncpu;
    return UPMU_OK;
}

static enum upmu_status allocate_by_call(struct upmu_pmcs *pmcs, uint32_t owner, struct pmc_op_allocate *asked)
{
    for (unsigned i = 0; i < PMC_SPEC_BYTES; i++)
        if (!asked->pm_spec[i])
            return upmu_pmc_allocate(pmcs, owner, asked->pm_spec, &asked->pm, NULL);
    return UPMU_ERR_SYNTAX;
}

static enum upmu_status answer_call(struct upmu_pmcs *pmcs, uint32_t owner, unsigned operation,
                                    union argument *argument)
{
    const struct pmc_op_simple *simple = &argument->simple;

    switch (operation) {
    case PMC_OP_INIT:
        return answer_init(pmcs, &argument->info);
    case PMC_OP_CPUINFO:
        upmu_pmc_cpuinfo(pmcs, &argument->cpuinfo);
        return UPMU_OK;
    case PMC_OP_PMCINFO:
        return upmu_pmc_pmcinfo(pmcs, owner, argument->pmcinfo.pm_owner, &argument->pmcinfo);
    case PMC_OP_STATS: /* sums of all owners */
        argument->stats = pmcs->stats;
        return upmu_pmc_may_system(pmcs, owner) ? UPMU_OK : UPMU_ERR_NOT_PERMITTED;
    case PMC_OP_FACTS:
        return upmu_pmc_facts(pmcs, owner, &argument->facts);
    case PMC_OP_ALLOCATE:
        return allocate_by_call(pmcs, owner, &argument->allocate);
    case PMC_OP_RELEASE:
        return upmu_pmc_release(pmcs, owner, simple->pm_pmcid);
    case PMC_OP_ATTACH:
        return upmu_pmc_attach(pmcs, owner, simple->pm_pmcid, simple->pm_value);
    case PMC_OP_DETACH:
        return upmu_pmc_detach(pmcs, owner, simple->pm_pmcid);
    case PMC_OP_START:
        return upmu_pmc_start(pmcs, owner, simple->pm_pmcid);
    case PMC_OP_STOP:
        return upmu_pmc_stop(pmcs, owner, simple->pm_pmcid);
    case PMC_OP_RW:
        return upmu_pmc_rw(pmcs, owner, &argument->rw);
    case PMC_OP_SET:
        return upmu_pmc_set(pmcs, owner, argument->rw.pm_pmcid, argument->rw.pm_value);
    case PMC_OP_ENABLE:
    case PMC_OP_DISABLE:
        return switch_counter(pmcs, owner, simple, operation == PMC_OP_ENABLE);
    case PMC_OP_CONFIGURELOG:
        return upmu_pmc_log_configure(pmcs, owner, simple->pm_value);
    case PMC_OP_FLUSHLOG:
        return upmu_pmc_log_flush(pmcs, owner);
    case PMC_OP_WRITELOG:
        return upmu_pmc_log_words(pmcs, owner, PMCLOG_TYPE_USERDATA, (uint32_t)simple->pm_value, 0) ? UPMU_OK
                                                                                                    : UPMU_ERR_STATE;
    default:
        return upmu_pmc_event_name(pmcs, &argument->name);
    }
}

int upmu_pmc_syscall(struct upmu_pmcs *pmcs, uint32_t owner, unsigned operation, void *argument, uint32_t bytes)
{
    union argument copy;
    enum upmu_status status;

    if (operation >= PMC_OPS || bytes != argument_bytes[operation])
        return upmu_pmc_errno(UPMU_ERR_INVALID);
    if (!pmcs->copy_in(pmcs->context, &copy, argument, bytes))
        return NOT_MAPPED;
    status = answer_call(pmcs, owner, operation, &copy);
    if (status != UPMU_OK || !(ANSWERS >> operation & 1u))
        return upmu_pmc_errno(status);
    if (pmcs->copy_out(pmcs->context, argument, &copy, bytes))
        return 0;
    if (operation == PMC_OP_ALLOCATE)
        (void)!upmu_pmc_release(pmcs, owner, copy.allocate.pm.pm_pmcid);
    return NOT_MAPPED;
}

#endif
