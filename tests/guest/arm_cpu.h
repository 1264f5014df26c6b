/* SPDX-License-Identifier: MIT */
/*
 * A CPU of AArch64 with PMUv3, as Arm ARM (DDI 0487 M.c) D13 and D24.5 describe it, without the rest of the CPU: its
 * registers at EL0, EL1 and EL2, and instructions that count one after the other.  It shares nothing with the backend
 * or with the door of guests.
 *
 * An access is an instruction that counts, once it has taken effect, if `accesses_count` is set.  Each instruction
 * takes two cycles; every fifth is a branch.
 */
#ifndef UPMU_TESTS_ARM_CPU_H
#define UPMU_TESTS_ARM_CPU_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ARM_CYCLE 31u
#define ARM_REG(op0, op1, crn, crm, op2) ((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

enum arm_outcome { ARM_DONE, ARM_UNDEFINED, ARM_TRAP_EL1 };

struct arm_cpu {
    unsigned counters; /* event counters */
    unsigned version;  /* ID_AA64DFR0_EL1.PMUVer */
    uint64_t ceid[2];  /* common events; those from 4000h on */
    unsigned level;    /* that executes: 0, 1, 2 */
    bool accesses_count;
    bool irqs_off; /* EL2 masks the interrupt */
    bool in_handler;
    void (*deliver)(void *context); /* the interrupt, at EL2; NULL: it stays requested */
    void *context;
    uint32_t pmcr, enabled, interrupts, overflowed, users, selected;
    uint64_t type[32], value[32]; /* [31]: PMCCFILTR, PMCCNTR */
    uint64_t executed;            /* instructions */
    unsigned reads, writes;       /* by EL2 */
};

static inline void arm_cpu_init(struct arm_cpu *cpu, unsigned version, unsigned counters)
{
    memset(cpu, 0, sizeof *cpu);
    cpu->version = version;
    cpu->counters = counters;
    cpu->level = 2;
    /* Events 0 to 3Fh without 20h and 38h, and from 4000h on 4004h, 4005h and 4020h. */
    cpu->ceid[0] = ~(UINT64_C(1) << 0x20 | UINT64_C(1) << 0x38);
    cpu->ceid[1] = version >= 4 ? UINT64_C(0x100000030) : 0;
}

/* D13.3: bits of a counter whose carry sets its overflow flag. */
static inline uint64_t arm_cpu_round(const struct arm_cpu *cpu, unsigned counter)
{
    bool full = counter == ARM_CYCLE ? cpu->pmcr >> 6 & 1u : cpu->version >= 6 && cpu->pmcr >> 7 & 1u;

    return full ? UINT64_MAX : UINT32_MAX;
}

static inline void arm_cpu_add(struct arm_cpu *cpu, unsigned counter, uint64_t more)
{
    uint64_t round = arm_cpu_round(cpu, counter), old = cpu->value[counter];

    cpu->value[counter] = old + more;
    if (counter != ARM_CYCLE && cpu->version < 6)
        cpu->value[counter] &= UINT32_MAX;
    if (more > round - (old & round))
        cpu->overflowed |= 1u << counter;
}

/* Is this counter enabled, and not filtered at the level that executes? */
static inline bool arm_cpu_counts(const struct arm_cpu *cpu, unsigned counter)
{
    uint64_t type = cpu->type[counter];

    if (!(cpu->pmcr & 1u) || !(cpu->enabled >> counter & 1u))
        return false;
    return cpu->level == 0 ? !(type >> 30 & 1u) : cpu->level == 1 ? !(type >> 31 & 1u) : type >> 27 & 1u;
}

/* How often the event with this number happens in one instruction. */
static inline unsigned arm_cpu_happens(const struct arm_cpu *cpu, unsigned event)
{
    if (event == 0x11)
        return 2;
    if (event == 0x08 || event == 0x1b || event == 0x4004)
        return 1;
    if (event == 0x21 || event == 0x0c)
        return cpu->executed % 5 == 0;
    if (event == 0xc1) /* of one model */
        return 3;
    return event && event != 0x1e && event < 0x40 && event != 0x20 && event != 0x38 ? cpu->executed % 7 == event % 7
                                                                                    : 0;
}

static inline bool arm_cpu_requests(const struct arm_cpu *cpu)
{
    return (cpu->pmcr & 1u) && (cpu->overflowed & cpu->interrupts);
}

static inline void arm_cpu_look(struct arm_cpu *cpu)
{
    while (arm_cpu_requests(cpu) && cpu->deliver && !cpu->in_handler && !(cpu->level == 2 && cpu->irqs_off)) {
        cpu->in_handler = true;
        cpu->deliver(cpu->context);
        cpu->in_handler = false;
    }
}

/* Instructions at the present level; what interrupts comes behind the one that made it overflow. */
static inline void arm_cpu_run(struct arm_cpu *cpu, unsigned instructions)
{
    while (instructions--) {
        cpu->executed++;
        for (unsigned i = 0; i < 32; i++)
            if ((i < cpu->counters || i == ARM_CYCLE) && arm_cpu_counts(cpu, i)) {
                unsigned more = arm_cpu_happens(cpu, i == ARM_CYCLE ? 0x11 : cpu->type[i] & 0xffffu);

                if (more)
                    arm_cpu_add(cpu, i, more);
            }
        arm_cpu_look(cpu);
    }
}

/* ---- Registers ---- */

/* What the counters of a register's bits are. */
static inline uint32_t arm_cpu_bits(const struct arm_cpu *cpu, uint64_t value)
{
    return (uint32_t)value & (1u << ARM_CYCLE | (cpu->counters ? UINT32_MAX >> (32u - cpu->counters) : 0));
}

static inline uint64_t arm_cpu_type_bits(const struct arm_cpu *cpu, unsigned counter)
{
    uint64_t modes = UINT64_C(3) << 30 | (cpu->level == 2 ? UINT64_C(1) << 27 : 0); /* (NSH is EL2's.) */

    return counter == ARM_CYCLE ? modes : modes | (cpu->version >= 4 ? 0xffffu : 0x3ffu);
}

/* Which bits of PMUSERENR let EL0 make this access?  0: none, 16: always. */
static inline unsigned arm_cpu_user_bits(uint32_t reg, bool write)
{
    switch (reg) {
    case ARM_REG(3, 3, 9, 12, 4):
        return 3;
    case ARM_REG(3, 3, 9, 12, 5):
        return 9;
    case ARM_REG(3, 3, 9, 13, 0):
        return write ? 1 : 5;
    case ARM_REG(3, 3, 9, 13, 2):
        return write ? 1 : 9;
    case ARM_REG(3, 3, 9, 14, 0):
        return write ? 0 : 16;
    default:
        if (reg >> 3 >= ARM_REG(3, 3, 14, 8, 0) >> 3 && reg >> 3 < ARM_REG(3, 3, 14, 12, 0) >> 3)
            return write ? 1 : 9;
        return reg >> 11 == (3 << 3 | 3) ? 1 : 0;
    }
}

/* The counter of a register that has one; *out_type: it is its type.  32: no counter's; 33: it does not exist. */
static inline unsigned arm_cpu_counter(const struct arm_cpu *cpu, uint32_t reg, bool *out_type)
{
    unsigned counter = 32;

    *out_type = false;
    if (reg == ARM_REG(3, 3, 9, 13, 0))
        return ARM_CYCLE;
    if (reg == ARM_REG(3, 3, 9, 13, 1) || reg == ARM_REG(3, 3, 9, 13, 2)) {
        counter = cpu->selected;
        *out_type = reg & 1u;
    } else if (reg >= ARM_REG(3, 3, 14, 8, 0) && reg <= ARM_REG(3, 3, 14, 15, 7)) {
        counter = reg & 31u;
        *out_type = reg >= ARM_REG(3, 3, 14, 12, 0);
    } else {
        return 32;
    }
    return counter < cpu->counters || (counter == ARM_CYCLE && *out_type) ? counter : 33;
}

static inline bool arm_cpu_read_control(struct arm_cpu *cpu, uint32_t reg, uint64_t *out)
{
    switch (reg) {
    case ARM_REG(3, 3, 9, 12, 0):
        *out = cpu->pmcr | cpu->counters << 11;
        return true;
    case ARM_REG(3, 3, 9, 12, 1):
    case ARM_REG(3, 3, 9, 12, 2):
        *out = cpu->enabled;
        return true;
    case ARM_REG(3, 3, 9, 12, 3):
    case ARM_REG(3, 3, 9, 14, 3):
        *out = cpu->overflowed;
        return true;
    case ARM_REG(3, 3, 9, 12, 5):
        *out = cpu->selected;
        return true;
    case ARM_REG(3, 3, 9, 12, 6):
        *out = (uint32_t)cpu->ceid[0] | cpu->ceid[1] << 32;
        return true;
    case ARM_REG(3, 3, 9, 12, 7):
        *out = cpu->ceid[0] >> 32 | cpu->ceid[1] >> 32 << 32;
        return true;
    case ARM_REG(3, 3, 9, 14, 0):
        *out = cpu->users;
        return true;
    case ARM_REG(3, 0, 9, 14, 1):
    case ARM_REG(3, 0, 9, 14, 2):
        *out = cpu->interrupts;
        return true;
    case ARM_REG(3, 0, 9, 14, 6):
        *out = 0;
        return cpu->version >= 5;
    default:
        return false;
    }
}

static inline void arm_cpu_write_pmcr(struct arm_cpu *cpu, uint64_t value)
{
    cpu->pmcr = (uint32_t)value & (0x61u | (cpu->version >= 6 ? 0x80u : 0)); /* (D is RES0 here.) */
    for (unsigned i = 0; value & 2 && i < cpu->counters; i++)
        cpu->value[i] = 0;
    if (value & 4)
        cpu->value[ARM_CYCLE] = 0;
}

static inline bool arm_cpu_write_control(struct arm_cpu *cpu, uint32_t reg, uint64_t value)
{
    uint32_t bits = arm_cpu_bits(cpu, value);

    switch (reg) {
    case ARM_REG(3, 3, 9, 12, 0):
        arm_cpu_write_pmcr(cpu, value);
        return true;
    case ARM_REG(3, 3, 9, 12, 1):
        cpu->enabled |= bits;
        return true;
    case ARM_REG(3, 3, 9, 12, 2):
        cpu->enabled &= ~bits;
        return true;
    case ARM_REG(3, 3, 9, 12, 3):
        cpu->overflowed &= ~bits;
        return true;
    case ARM_REG(3, 3, 9, 12, 4):
        for (unsigned i = 0; i < cpu->counters; i++)
            if (bits >> i & 1u && !(cpu->type[i] & 0xffffu) && arm_cpu_counts(cpu, i))
                arm_cpu_add(cpu, i, 1);
        return true;
    case ARM_REG(3, 3, 9, 12, 5):
        cpu->selected = value & 31u;
        return true;
    case ARM_REG(3, 3, 9, 14, 0):
        cpu->users = value & 15u;
        return true;
    case ARM_REG(3, 0, 9, 14, 1):
        cpu->interrupts |= bits;
        return true;
    case ARM_REG(3, 0, 9, 14, 2):
        cpu->interrupts &= ~bits;
        return true;
    case ARM_REG(3, 3, 9, 14, 3):
        cpu->overflowed |= bits;
        return true;
    default:
        return false;
    }
}

/* An MRS or MSR at the present level. */
static inline enum arm_outcome arm_cpu_access(struct arm_cpu *cpu, uint32_t reg, bool write, uint64_t *inout)
{
    bool type;
    unsigned counter = arm_cpu_counter(cpu, reg, &type), user = arm_cpu_user_bits(reg, write);
    struct arm_cpu before = *cpu;
    uint64_t value = *inout;
    bool exists = counter < 32;

    if (counter == 33)
        return ARM_UNDEFINED;
    if (exists && write && type)
        cpu->type[counter] = value & arm_cpu_type_bits(cpu, counter);
    else if (exists && write)
        cpu->value[counter] = counter != ARM_CYCLE && cpu->version < 6 ? (uint32_t)value : value;
    else if (exists)
        value = type ? cpu->type[counter] : cpu->value[counter];
    else
        exists = write ? arm_cpu_write_control(cpu, reg, value) : arm_cpu_read_control(cpu, reg, &value);
    if (!exists || (cpu->level == 0 && (!user || !(user & (cpu->users | 16u))))) {
        before.context = cpu->context;
        if (exists)
            *cpu = before;
        /* (A trap by PMUSERENR is one of an access that exists for EL1.) */
        return exists && user && cpu->level == 0 ? ARM_TRAP_EL1 : ARM_UNDEFINED;
    }
    *inout = write ? *inout : value;
    if (cpu->accesses_count)
        arm_cpu_run(cpu, 1);
    arm_cpu_look(cpu);
    return ARM_DONE;
}

#endif
