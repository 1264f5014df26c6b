/* SPDX-License-Identifier: MIT */
/* A guest on a host on the silicon model: nest.h.  Tests include it, and with it the guest engine. */
#include "tests/common/garbage.h"
#include "tests/guest/nest.h"

#include "tests/guest/guest_sources.h"

#define LVTPC_NMI 0x400u

/* ---- The guest's interrupt ---- */

static void inject_nmi(struct nest *nest)
{
    if (nest->in_nmi) {
        nest->pending = true;
        return;
    }
    nest->in_nmi = true;
    do {
        nest->pending = false;
        nest->handler(nest, &nest->frame);
    } while (nest->pending);
    nest->in_nmi = false;
}

static void library_handler(struct nest *nest, const struct upmu_frame *frame)
{
    enum upmu_pmi answer = upmu_pmi_handle(&nest->cpu, frame);

    nest->handled += answer == UPMU_PMI_HANDLED;
    nest->stale += answer == UPMU_PMI_STALE;
    assert_int_not_equal(answer, UPMU_PMI_NOT_OURS);
}

static enum upmu_status enter_guest(struct nest *nest, struct upmu_guest_entry *entry)
{
    return upmu_guest_enter(&nest->vcpu, entry);
}

void nest_enter(struct nest *nest)
{
    struct upmu_guest_entry entry;
    enum upmu_status status;

    if (nest->inside)
        return;
    status = nest->enter(nest, &entry);
    nest->refused += status == UPMU_ERR_DOES_NOT_FIT;
    if (status != UPMU_ERR_DOES_NOT_FIT)
        assert_int_equal(status, UPMU_OK);
    nest->inside = true;
    if (entry.inject == UPMU_GUEST_INJECT_NONE)
        return;
    nest->injected++;
    inject_nmi(nest);
}

void nest_exit(struct nest *nest)
{
    if (!nest->inside)
        return;
    assert_int_equal(upmu_guest_exit(&nest->vcpu), UPMU_OK);
    nest->inside = false;
    nest->exits++;
}

/* The host's NMI: its handler, and if it came in the guest an exit and an entry. */
static void deliver(struct upmu_sim *sim, unsigned cpu, const struct upmu_sim_interrupt *interrupt)
{
    struct nest *nest = sim->test;
    bool inside = nest->inside;

    sim->test = &nest->host;
    host_deliver(sim, cpu, interrupt);
    sim->test = nest;
    if (!inside)
        return;
    nest->frame = (struct upmu_frame){.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};
    nest_exit(nest);
    nest_enter(nest);
}

/* ---- The guest's port ---- */

/* Registers that are not the engine's. */
static bool other_register(const struct nest *nest, uint32_t msr, uint64_t *out_value)
{
    bool intel = nest->shape.door == UPMU_GUEST_INTEL;

    *out_value = msr == 0x1a0 ? 0x1881 : msr == 0x10 ? nest->host.sim.now_ns : 0;
    return garbage_unless(msr == 0x10 || (intel ? msr == 0x1a0 : msr == 0xc0000080u || msr == 0xc0010015u), out_value);
}

enum trap { TRAP_RDMSR, TRAP_WRMSR, TRAP_RDPMC, TRAP_CPUID, TRAP_LVTPC };

/*
 * An exit as every hypervisor handles it: the access takes effect, the instruction pointer moves on, then the
 * instruction counts, and the guest goes on.  An instruction that faults is not counted.
 */
static enum upmu_guest_access trap(struct nest *nest, enum trap kind, uint32_t number, uint64_t *inout,
                                   uint32_t words[4])
{
    enum upmu_guest_access access = UPMU_GUEST_DONE;
    bool inside = nest->inside;

    nest_exit(nest);
    if (kind == TRAP_RDMSR)
        access = upmu_guest_rdmsr(&nest->vcpu, number, inout);
    else if (kind == TRAP_WRMSR)
        access = upmu_guest_wrmsr(&nest->vcpu, number, *inout);
    else if (kind == TRAP_RDPMC)
        access = upmu_guest_rdpmc(&nest->vcpu, number, inout);
    else if (kind == TRAP_CPUID)
        (void)upmu_guest_cpuid(&nest->vcpu, number, (uint32_t)*inout, words);
    else
        upmu_guest_lvtpc(&nest->vcpu, number);
    if (access != UPMU_GUEST_FAULT && nest->traps_count)
        upmu_guest_retired(&nest->vcpu, 1, 0, false);
    if (inside)
        nest_enter(nest);
    nest->faults += access == UPMU_GUEST_FAULT;
    return access;
}

static bool guest_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    struct nest *nest = context;
    enum upmu_guest_access access = trap(nest, TRAP_RDMSR, msr, out_value, NULL);

    if (access == UPMU_GUEST_SHARED)
        *out_value |= nest->debugctl;
    if (access == UPMU_GUEST_NOT_OURS)
        return other_register(nest, msr, out_value);
    return garbage_unless(access != UPMU_GUEST_FAULT, out_value);
}

static bool guest_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    const uint64_t others = UINT64_C(0x47c3);
    struct nest *nest = context;
    enum upmu_guest_access access = trap(nest, TRAP_WRMSR, msr, &value, NULL);
    uint64_t ignored;

    if (access == UPMU_GUEST_SHARED) {
        nest->debugctl = value & others;
        return !(value & ~(others | 0x1800u));
    }
    if (access == UPMU_GUEST_NOT_OURS)
        return other_register(nest, msr, &ignored);
    return access != UPMU_GUEST_FAULT;
}

static bool guest_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    return garbage_unless(trap(context, TRAP_RDPMC, index, out_value, NULL) == UPMU_GUEST_DONE, out_value);
}

void nest_lvtpc(struct nest *nest, uint32_t value)
{
    (void)trap(nest, TRAP_LVTPC, value, NULL, NULL);
}

static void guest_rearm(void *context)
{
    nest_lvtpc(context, LVTPC_NMI);
}

static void guest_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    struct nest *nest = context;
    bool inside = nest->inside;
    uint64_t number = subleaf;
    uintptr_t irqs;

    nest_exit(nest);
    irqs = nest->face.port.irq_save(nest->face.port.context);
    nest->face.port.cpuid(nest->face.port.context, leaf, subleaf, out);
    nest->face.port.irq_restore(nest->face.port.context, irqs);
    (void)trap(nest, TRAP_CPUID, leaf, &number, out);
    if (inside)
        nest_enter(nest);
}

static uint64_t guest_clock(void *context)
{
    struct nest *nest = context;

    return nest->host.sim.now_ns;
}

/* ---- Life ---- */

void nest_prepare(struct nest *nest, const char *profile, const char *face)
{
    memset(nest, 0, sizeof *nest);
    host_set_up(&nest->host, profile);
    host_threads(&nest->host, 2);
    nest->host.running[0] = 0;
    nest->host.sim.test = nest;
    nest->host.sim.deliver = deliver;
    upmu_sim_init(&nest->face, upmu_sim_profile(face ? face : profile), 1);
    nest->handler = library_handler;
    nest->enter = enter_guest;
    nest->policy =
        (struct upmu_guest_policy){.level = UPMU_GUEST_ALL, .flags = UPMU_GUEST_BESIDE_STRANGERS, .min_period = 1};
    nest->port = (struct upmu_port){.context = nest,
                                    .rdmsr = guest_rdmsr,
                                    .wrmsr = guest_wrmsr,
                                    .rdpmc = guest_rdpmc,
                                    .cpuid = guest_cpuid,
                                    .pmi_rearm = guest_rearm,
                                    .clock_ns = guest_clock,
                                    .msr_faults_are_safe = true};
}

void nest_shape(struct nest *nest, enum upmu_guest_door door)
{
    assert_int_equal(upmu_guest_shape_default(&nest->host.machine, door, &nest->policy, &nest->shape), UPMU_OK);
}

void nest_begin(struct nest *nest)
{
    assert_int_equal(
        upmu_guest_init(&nest->vcpu, &nest->host.machine, &nest->shape, &nest->policy,
                        &(struct upmu_guest_memory){nest->sessions, NEST_SESSIONS, &nest->host.threads[1]}),
        UPMU_OK);
    host_thread_switch(&nest->host, 0, 1);
}

void nest_set_up(struct nest *nest, const char *profile, enum upmu_guest_door door)
{
    const struct upmu_sim_profile *host = upmu_sim_profile(profile);
    const char *face = NULL;

    if (door == UPMU_GUEST_INTEL)
        face = host->amd || host->version == 0 || host->flags & UPMU_SIM_P4 ? "skylake" : NULL;
    else
        face = host->amd ? NULL : "zen2";
    nest_prepare(nest, profile, face);
    nest_shape(nest, door);
    nest_begin(nest);
}

void nest_library(struct nest *nest)
{
    nest_enter(nest);
    assert_int_equal(upmu_machine_init(&nest->machine, &nest->port), UPMU_OK);
    if (upmu_cpu_init(&nest->cpu, &nest->machine, NULL) != UPMU_OK)
        fail_msg("%s: register %x", nest->host.sim.profile->name, (unsigned)nest->machine.why.address);
}

void nest_run(struct nest *nest, const struct upmu_sim_burst *burst)
{
    nest_enter(nest);
    upmu_sim_events(&nest->host.sim, burst);
}

void nest_run_host(struct nest *nest, const struct upmu_sim_burst *burst)
{
    nest_exit(nest);
    upmu_sim_events(&nest->host.sim, burst);
}

uint64_t nest_read(struct nest *nest, uint32_t msr)
{
    uint64_t value = 0;

    if (!nest->port.rdmsr(nest, msr, &value))
        fail_msg("RDMSR %x faults", msr);
    return value;
}

void nest_write(struct nest *nest, uint32_t msr, uint64_t value)
{
    if (!nest->port.wrmsr(nest, msr, value))
        fail_msg("WRMSR %x, %llx faults", msr, (unsigned long long)value);
}

void nest_end(struct nest *nest)
{
    nest_exit(nest);
    host_thread_switch(&nest->host, 0, 0);
    assert_int_equal(upmu_guest_fini(&nest->vcpu), UPMU_OK);
    nest->host.sim.test = &nest->host;
    host_end_idle(&nest->host);
}
