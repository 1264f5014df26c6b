/* SPDX-License-Identifier: MIT */
/*
 * Steps of branch stacks: the host starts them, reads them at any moment, or lends them to sessions.
 */
#include <string.h>
#include <upmu/session.h>
#include <upmu/world.h>

#include "tests/host/simulated.h"

static uint32_t draw_record(struct lots *lots, uint32_t can)
{
    static const uint32_t rings[] = {0, UPMU_BRANCH_USER, UPMU_BRANCH_KERNEL, UPMU_BRANCH_USER | UPMU_BRANCH_KERNEL};
    uint32_t record = rings[lots_below(lots, 4)];

    if (lots_one_in(lots, 3))
        record |= (uint32_t)lots_draw(lots) & can &
                  (UPMU_BRANCH_ANY | UPMU_BRANCH_CALL | UPMU_BRANCH_IND_CALL | UPMU_BRANCH_RETURN | UPMU_BRANCH_COND |
                   UPMU_BRANCH_IND_JUMP);
    if (lots_one_in(lots, 5))
        record |= UPMU_BRANCH_NO_INFO;
    return record;
}

/* What a CPU of this kind can record; depth 0: nothing. */
static struct upmu_branch_facts facts_here(void)
{
    return upmu_branches_facts(here()->cpu->meter.pmu);
}

static void check_facts(struct upmu_branch_facts facts)
{
    unsigned depth = host.setting.family->depth(host.hardware);

    if (facts.depth != depth && !host.setting.options.hypervisor && !host.verdict->figures.faults)
        rules_fail(RULE_STATUS, "upmu_branches_facts: %u entries of %u", facts.depth, depth);
}

/* Did firmware, or an earlier owner, leave bits that a start must respect? */
static bool may_be_taken(void)
{
    return here()->left || host.setting.leavings || host.verdict->figures.faults;
}

static void begin(struct lots *lots, bool lends)
{
    struct host_branches *branches = &here()->branches;
    struct upmu_branch_facts facts = facts_here();
    struct upmu_branch_filter filter = {.record = lends ? 0 : draw_record(lots, facts.record)};
    bool owned = branches->owner != BRANCHES_FREE;
    uint64_t taken = branches->taken;
    struct upmu_why why;
    enum upmu_status status;

    check_facts(facts);
    filter.record |= lots_below(lots, 2) ? UPMU_BRANCH_TAKE : 0;
    self->stay++;
    branches->busy = true;
    branches->frozen &= owned; /* (A handler may freeze what this call has started.) */
    status = lends ? HOST_CALL(upmu_cpu_use_branches(here()->cpu, &filter, &why))
                   : HOST_CALL(upmu_branches_start(here()->cpu, &filter, &why));
    TRACE("branches are %s: %u %s", lends ? "lent" : "started", (unsigned)status,
          status == UPMU_OK ? "" : why.word); /* (A text by the library would be points inside code.) */
    if (status == UPMU_OK) {
        branches->owner = lends ? BRANCHES_LENT : BRANCHES_STARTED;
        branches->record = filter.record;
        branches->held = false;
        branches->since = taken;
        branches->faults = host.verdict->figures.faults;
    }
    branches->busy = false;
    self->stay--;
    rules_status(lends ? "upmu_cpu_use_branches" : "upmu_branches_start", status, "UNSUPPORTED STATE PORT BUSY");
    if ((owned || traces_lent(self->cpu)) && status == UPMU_OK)
        rules_fail(RULE_STATUS, "a stack is started or lent that is so already, or while a trace runs");
    if (status == UPMU_ERR_UNSUPPORTED && facts.depth && !host.setting.options.hypervisor && !may_be_taken())
        rules_fail(RULE_STATUS, "a start of branches with filter %x is refused: %s", (unsigned)filter.record, why.word);
    if (status == UPMU_ERR_STATE && !owned && !may_be_taken() && !here()->by_hardware && !traces_lent(self->cpu))
        rules_fail(RULE_STATUS, "a start of branches is refused: %s", why.word);
}

static void end(void)
{
    struct host_branches *branches = &here()->branches;
    bool lent = branches->owner == BRANCHES_LENT;
    enum upmu_status status;

    self->stay++;
    branches->busy = true;
    status =
        lent ? HOST_CALL(upmu_cpu_use_branches(here()->cpu, NULL, NULL)) : HOST_CALL(upmu_branches_stop(here()->cpu));
    if (status == UPMU_OK || status == UPMU_ERR_PORT)
        branches->owner = BRANCHES_FREE, branches->frozen = false;
    branches->busy = false;
    self->stay--;
    rules_status(lent ? "upmu_cpu_use_branches (none)" : "upmu_branches_stop", status,
                 lent ? "STATE PORT BUSY" : "PORT BUSY");
}

static void read_stack(unsigned room)
{
    struct host_branches *branches = &here()->branches;
    struct upmu_branch out[UPMU_BRANCHES_MOST];
    uint64_t stops = branches->stops;
    bool irq_off = here()->irq_off;
    unsigned count = 0;
    enum upmu_status status;

    self->stay++;
    branches->reads++;
    here()->irq_off = true; /* (These calls switch no interrupts off: they call no hook but those of registers.) */
    status = HOST_CALL(upmu_branches_read(here()->cpu, out, room, &count));
    here()->irq_off = irq_off;
    branches->reads--;
    self->stay--;
    rules_status("upmu_branches_read", status, "STATE PORT");
    if ((branches->owner == BRANCHES_FREE && status == UPMU_OK && !branches->busy) ||
        (branches->owner == BRANCHES_STARTED && status == UPMU_ERR_STATE && !branches->busy && !here()->unreachable))
        rules_fail(RULE_STATUS, "upmu_branches_read: %s", upmu_status_text(status));
    if (count > room)
        rules_fail(RULE_BRANCHES, "a read of %u branches shows %u", room, count);
    if (status != UPMU_OK || branches->busy)
        return;
    if (branches->owner == BRANCHES_STARTED)
        branches_read(out, count, room, stops, branches->record);
    else if (!branches->frozen && !here()->calls && branches_filter(self->cpu))
        branches_read(out, count, room, stops, branches_filter(self->cpu));
}

static void freeze(bool freezes)
{
    struct host_branches *branches = &here()->branches;
    enum upmu_status status;
    bool busy = branches->busy, irq_off = here()->irq_off;
    unsigned before = branches->freezes;

    self->stay++;
    branches->busy = true;
    here()->irq_off = true;
    status = freezes ? HOST_CALL(upmu_branches_freeze(here()->cpu)) : HOST_CALL(upmu_branches_resume(here()->cpu));
    here()->irq_off = irq_off;
    branches->freezes += freezes && status == UPMU_OK;
    branches->frozen_ns = host.now_ns;
    if (freezes ? status == UPMU_OK : status != UPMU_ERR_PORT)
        branches->frozen = freezes || before != branches->freezes;
    branches->busy = busy;
    self->stay--;
    rules_status(freezes ? "upmu_branches_freeze" : "upmu_branches_resume", status, "STATE PORT");
    if (branches->owner == BRANCHES_STARTED && status == UPMU_ERR_STATE && !busy && !here()->unreachable)
        rules_fail(RULE_STATUS, "%s: the stack is started", freezes ? "upmu_branches_freeze" : "upmu_branches_resume");
}

static unsigned draw_room(struct lots *lots)
{
    return lots_below(lots, 2) ? UPMU_BRANCHES_MOST : 1u + lots_below(lots, UPMU_BRANCHES_MOST);
}

void act_branches_come(struct lots *lots)
{
    if (branches_are_on() && host.setting.family->depth && lots_below(lots, 4))
        begin(lots, lots_below(lots, 6));
}

void act_branches(struct lots *lots)
{
    struct host_cpu *cpu = here();

    if (cpu->power != CPU_LIVE || cpu->useless || cpu->branches.busy || !host.setting.family->depth)
        return;
    switch (lots_below(lots, cpu->branches.owner == BRANCHES_FREE ? 3 : 10)) {
    case 0:
    case 1:
        begin(lots, lots_below(lots, 6));
        break;
    case 2:
    case 3:
        if (cpu->branches.owner != BRANCHES_FREE && lots_one_in(lots, 4))
            end();
        break;
    case 4:
        freeze(true);
        break;
    case 5:
    case 6:
        freeze(false);
        break;
    default:
        read_stack(draw_room(lots));
        break;
    }
}

/* Now and then the host's own handler looks at the stack, or keeps it, before it calls the library. */
void act_branches_handler(void)
{
    struct host_cpu *cpu = here();
    struct lots lots = {self->noise.state ^ UINT64_C(0x9fb21c651e98df25)};

    if (!branches_are_on() || !host.setting.family->depth || cpu->power != CPU_LIVE || !cpu->cpu || cpu->useless ||
        !lots_one_in(&lots, 12))
        return;
    if (lots_below(&lots, 3))
        read_stack(draw_room(&lots));
    else if (lots_one_in(&lots, 3))
        freeze(true);
    else if (!cpu->branches.reads)
        freeze(false);
}

void act_branches_over(unsigned number, bool asleep)
{
    struct host_branches *branches = &host.cpu[number].branches;

    branches->frozen = branches->held = false;
    if (!asleep || branches->owner == BRANCHES_STARTED)
        branches->owner = BRANCHES_FREE;
}

void act_branches_session(struct host_session *session)
{
    struct lots lots = {(host.setting.seed + 3u) * UINT64_C(0xda942042e4dd58b5) ^ session->serial};
    uint32_t record, can = here()->cpu && !here()->useless ? facts_here().record : 0;
    enum upmu_status status;

    if (!branches_are_on() || session->type || !session->sampling || !lots_below(&lots, 3))
        return;
    record = draw_record(&lots, can);
    record |= record ? 0 : UPMU_BRANCH_ANY;
    status = HOST_CALL(upmu_session_branches(session->session, record));
    rules_status("upmu_session_branches", status, "NO_PMU HOOK_MISSING UNSUPPORTED");
    TRACE("session %u is to have branches %x: %u", (unsigned)(session - host.session), (unsigned)record,
          (unsigned)status);
    if (status != UPMU_OK)
        return;
    session->branches = record;
    session->world = UPMU_WORLD_HOST; /* branches.h: it counts in the host alone. */
}
