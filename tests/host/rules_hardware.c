/* SPDX-License-Identifier: MIT */
/*
 * What must hold of registers: only what is ours is written, and all is restored.
 */
#include <string.h>

#include "tests/host/simulated.h"

#define NO_SLOT 255u

static unsigned hash_of(uint32_t msr)
{
    return (msr * UINT32_C(0x9e3779b1)) >> 23;
}

/* Index of a register of the CPU; NO_SLOT: it is no register of counters. */
static unsigned find_register(const struct host_cpu *cpu, uint32_t msr)
{
    for (unsigned i = hash_of(msr);; i = (i + 1u) & 511u)
        if (cpu->slot[i] == NO_SLOT || cpu->registers[cpu->slot[i]].msr == msr)
            return cpu->slot[i];
}

/* Do two CPUs see the same shared registers?  (Those of AMD are a node's, the others' a core's.) */
bool rules_share(unsigned one, unsigned other)
{
    const struct hardware_model *model = &host.setting.family->models[host.setting.model];

    return host.setting.family == &hardware_amd ? model->node[one] == model->node[other]
                                                : model->core[one] == model->core[other];
}

/* A CPU at work that sees the same shared registers; HOST_NONE: there is none. */
static unsigned find_mate(unsigned number)
{
    for (unsigned i = 0; i < host.setting.cpus; i++)
        if (i != number && host.cpu[i].power == CPU_LIVE && rules_share(i, number))
            return i;
    return HOST_NONE;
}

void rules_snapshot(unsigned number)
{
    unsigned mate = find_mate(number);
    struct host_cpu *cpu = &host.cpu[number];
    const struct hardware_family *family = host.setting.family;

    cpu->register_count = family->registers(host.hardware, number, cpu->registers, NO_SLOT);
    if (cpu->register_count > NO_SLOT)
        rules_fail(RULE_CRASH, "too many registers");
    memset(cpu->slot, NO_SLOT, sizeof cpu->slot);
    memset(cpu->lent, 0, sizeof cpu->lent);
    cpu->stale = mate != HOST_NONE && host.cpu[mate].stale;
    cpu->faulted = cpu->stale;
    for (unsigned i = 0; i < cpu->register_count; i++) {
        unsigned at = hash_of(cpu->registers[i].msr);

        while (cpu->slot[at] != NO_SLOT)
            at = (at + 1u) & 511u;
        cpu->slot[at] = (uint8_t)i;
        if (!family->rdmsr(host.hardware, number, cpu->registers[i].msr, &cpu->found[i]))
            cpu->found[i] = 0;
        /* What is shared was found by the first that came. */
        if (cpu->registers[i].shared && mate != HOST_NONE) {
            cpu->found[i] = host.cpu[mate].found[i];
            cpu->lent[i] = host.cpu[mate].lent[i];
        }
    }
}

uint64_t rules_found(unsigned number, uint32_t msr)
{
    unsigned at = find_register(&host.cpu[number], msr);

    return at == NO_SLOT ? 0 : host.cpu[number].found[at];
}

void rules_write(unsigned number, uint32_t msr, uint64_t value)
{
    const struct host_cpu *cpu = &host.cpu[number];
    unsigned at = find_register(cpu, msr);
    uint64_t before = 0, owned;

    if (!rules_on(RULE_WRITE))
        return;
    if (at == NO_SLOT)
        rules_fail(RULE_WRITE, "CPU %u: a write of %llx to register %x, which is none of counters", number,
                   (unsigned long long)value, (unsigned)msr);
    owned = cpu->registers[at].owned;
    /* (A watchdog of NetBurst needs an ESCR, which no call reserves; one on counter 1 of P6 bit 22 of select 0.) */
    if (host.setting.family == &hardware_p6 && msr == 0x186 && !cpu->watchdog[0].on)
        owned &= ~(cpu->kept[at] & UINT64_C(1) << 22);
    else if (host.setting.family != &hardware_netburst || msr < 0x3a0 || msr > 0x3e1)
        owned &= ~cpu->kept[at];
    if (!~owned || cpu->registers[at].counter || !host.setting.family->rdmsr(host.hardware, number, msr, &before))
        return;
    /* (What goes back to what was found does no harm.) */
    if ((before ^ value) & ~owned & (cpu->kept[at] | (value ^ cpu->found[at])))
        rules_fail(RULE_WRITE, "CPU %u: a write of %llx to register %x, which held %llx: bits %llx are not ours",
                   number, (unsigned long long)value, (unsigned)msr, (unsigned long long)before,
                   (unsigned long long)((before ^ value) & ~owned));
}

/*
 * Bits of counters that are the host's now: in PEBS_ENABLE (of counter n also n + 32 or 63), in the control of fixed
 * ones, and what reloads them (four registers for each from 1900h on, fixed ones from 1980h).
 */
static uint64_t watchdog_bits(const struct host_cpu *cpu, uint32_t msr)
{
    unsigned counter = msr < 0x1980 ? (msr - 0x1900) / 4 : 16 + (msr - 0x1980) / 4;
    uint64_t bits = 0;

    if (msr >= 0x1900)
        return counter < HOST_WATCHDOGS && cpu->watchdog[counter].on ? ~UINT64_C(0) : 0;
    for (unsigned i = 0; msr == 0x3f1 && i < HOST_WATCHDOGS; i++)
        if (cpu->watchdog[i].on)
            bits |= UINT64_C(1) << (i < 16 ? i : i + 16) | UINT64_C(1) << (i < 16 ? i + 32 : i + 16) |
                    (i == 3 ? UINT64_C(1) << 63 : 0);
    for (unsigned i = 16; msr == 0x38d && i < HOST_WATCHDOGS; i++)
        if (cpu->watchdog[i].on)
            bits |= UINT64_C(0xf0000000f) << 4 * (i - 16);
    return bits;
}

/*
 * Bits that need not be as they were found: OVF of a CCCR, which the hardware sets; the common enable of P6, on which
 * the host's counter 1 relies.
 */
static uint64_t other_bits(const struct host_cpu *cpu, uint32_t msr)
{
    if (host.setting.family == &hardware_intel)
        return watchdog_bits(cpu, msr) | (traces_excuse((unsigned)(cpu - host.cpu), msr) ? 0x1c0 : 0);
    if (host.setting.family == &hardware_p6 && msr == 0x186 && cpu->watchdog[1].on)
        return UINT64_C(1) << 22;
    return host.setting.family == &hardware_netburst && msr >= 0x360 && msr <= 0x371 ? UINT64_C(1) << 31 : 0;
}

void rules_restored(unsigned number)
{
    const struct host_cpu *cpu = &host.cpu[number];

    if (cpu->faulted)
        return;
    for (unsigned i = 0; i < cpu->register_count; i++) {
        const struct hardware_register *at = &cpu->registers[i];
        uint64_t value;

        if (at->counter || (at->shared && find_mate(number) != HOST_NONE) ||
            !host.setting.family->rdmsr(host.hardware, number, at->msr, &value))
            continue;
        if ((value ^ cpu->found[i]) & ~cpu->lent[i] & ~other_bits(cpu, at->msr))
            rules_fail(RULE_RESTORE, "CPU %u: register %x holds %llx; it was found with %llx", number,
                       (unsigned)at->msr, (unsigned long long)value, (unsigned long long)cpu->found[i]);
    }
}

/* Can a session have a counter open here? */
static bool may_count(unsigned number)
{
    if (guests_may_count(number))
        return true;
    for (unsigned i = 0; i < HOST_SESSIONS; i++)
        if (host.session[i].session &&
            host.session[i].target != TARGET_UNIT &&
            (host.session[i].zombie || (host.session[i].started && rules_place(&host.session[i]) == number)))
            return true;
    return false;
}

void rules_gates(unsigned number)
{
    const struct host_cpu *cpu = &host.cpu[number];
    unsigned at = find_register(cpu, host.setting.family == &hardware_amd ? 0xc0000301 : 0x38f);
    uint64_t value;

    if (at == NO_SLOT || cpu->power != CPU_LIVE || cpu->faulted || setting_has(&host.setting, THEME_STATIC) ||
        may_count(number) || !host.setting.family->rdmsr(host.hardware, number, cpu->registers[at].msr, &value))
        return;
    value &= cpu->registers[at].owned & ~cpu->found[at] & ~cpu->kept[at];
    if (value)
        rules_fail(RULE_RESTORE, "CPU %u: counters %llx are open, and no session runs there", number,
                   (unsigned long long)value);
}

void rules_watchdogs(unsigned number)
{
    const struct host_cpu *cpu = &host.cpu[number];

    /* (The ESCR again.) */
    if (host.setting.family == &hardware_netburst)
        return;
    for (unsigned counter = 0; counter < HOST_WATCHDOGS && cpu->reserved; counter++) {
        uint64_t cycles;

        if (!cpu->watchdog[counter].on)
            continue;
        cycles = host.setting.family->watchdog_cycles(host.hardware, number, counter);
        if (cycles != cpu->watchdog[counter].cycles)
            rules_fail(RULE_WATCHDOG, "CPU %u: the host's own counter %u counted %llu cycles of %llu", number, counter,
                       (unsigned long long)cycles, (unsigned long long)cpu->watchdog[counter].cycles);
    }
}
