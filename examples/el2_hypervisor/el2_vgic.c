/* SPDX-License-Identifier: MIT */
/*
 * Interrupts: the guest has the distributor and the redistributor of the GICv3 itself, and the virtual CPU interface of
 * the hardware. EL2 takes each interrupt and puts it into a list register. The guest ends it there, which ends it in
 * the hardware as well, but for SGIs and the PMU's.
 */
#include <examples/el2_hypervisor/el2.h>

#define REDISTRIBUTOR_ENABLED (*(volatile uint32_t *)(0x080a0000 + 0x10000 + 0x100)) /* GICR_ISENABLER0 */
#define SPURIOUS 1020u                                                               /* this and all above */
#define SGIS 16u
#define INTERRUPTS 512u
#define LR_PENDING (UINT64_C(1) << 62)
#define LR_STATE (UINT64_C(3) << 62)
#define LR_HARDWARE (UINT64_C(1) << 61)
#define LR_GROUP1 (UINT64_C(1) << 60)
#define LR_PRIORITY (UINT64_C(0xa0) << 48)
#define LRS 4u

static uint64_t pending[INTERRUPTS / 64]; /* taken, and not yet in a list register */

static uint64_t read_lr(unsigned i)
{
    switch (i) {
    case 0:
        return EL2_READ("ich_lr0_el2");
    case 1:
        return EL2_READ("ich_lr1_el2");
    case 2:
        return EL2_READ("ich_lr2_el2");
    default:
        return EL2_READ("ich_lr3_el2");
    }
}

static void write_lr(unsigned i, uint64_t value)
{
    switch (i) {
    case 0:
        EL2_WRITE("ich_lr0_el2", value);
        break;
    case 1:
        EL2_WRITE("ich_lr1_el2", value);
        break;
    case 2:
        EL2_WRITE("ich_lr2_el2", value);
        break;
    default:
        EL2_WRITE("ich_lr3_el2", value);
        break;
    }
}

void el2_vgic_open(void)
{
    EL2_WRITE("icc_sre_el2", 0xf);
    __asm__ volatile("isb");
    EL2_WRITE("icc_pmr_el1", 0xff);
    EL2_WRITE("icc_ctlr_el1", 2); /* EOImode: a write of EOIR drops the priority alone */
    EL2_WRITE("icc_igrpen1_el1", 1);
    for (unsigned i = 0; i < LRS; i++)
        write_lr(i, 0);
    EL2_WRITE("ich_hcr_el2", 1);
    __asm__ volatile("isb");
}

bool el2_vgic_take(void)
{
    unsigned intid = (unsigned)EL2_READ("icc_iar1_el1") & 0xffffffu;

    if (intid >= SPURIOUS)
        return true;
    EL2_WRITE("icc_eoir1_el1", intid);
    if (intid == EL2_PMU_INTERRUPT)
        return false;
    if (intid < SGIS)
        el2_vgic_end(intid);
    if (intid < INTERRUPTS)
        pending[intid / 64] |= UINT64_C(1) << intid % 64;
    return true;
}

void el2_vgic_end(unsigned intid)
{
    EL2_WRITE("icc_dir_el1", intid);
    __asm__ volatile("isb");
}

/* Return the list register that has an interrupt of the guest, or LRS. */
static unsigned find_lr(unsigned intid)
{
    unsigned i = 0;

    while (i < LRS && !(read_lr(i) & LR_STATE && (uint32_t)read_lr(i) == intid))
        i++;
    return i;
}

/* Put an interrupt into a free list register; false: there is none, or the interrupt is in one already. */
static bool insert(unsigned intid)
{
    bool hardware = intid >= SGIS && intid != EL2_PMU_INTERRUPT;
    unsigned i = 0;

    if (find_lr(intid) < LRS)
        return false;
    while (i < LRS && read_lr(i) & LR_STATE)
        i++;
    if (i == LRS)
        return false;
    write_lr(i, LR_PENDING | LR_GROUP1 | LR_PRIORITY | (hardware ? LR_HARDWARE | (uint64_t)intid << 32 : 0) | intid);
    return true;
}

/*
 * The PMU's interrupt is a level that the hypervisor computes. While the level is high it is pending once more after
 * the guest has ended it, from the next entry on; when the level falls it is pending no longer.
 */
void el2_vgic_fill(bool level)
{
    unsigned at = find_lr(EL2_PMU_INTERRUPT);

    if (!level && at < LRS)
        write_lr(at, read_lr(at) & ~LR_PENDING);
    if (level && REDISTRIBUTOR_ENABLED >> EL2_PMU_INTERRUPT & 1u)
        (void)insert(EL2_PMU_INTERRUPT);
    for (unsigned word = 0; word < INTERRUPTS / 64; word++)
        for (uint64_t rest = pending[word]; rest; rest &= rest - 1u)
            if (insert(word * 64 + (unsigned)__builtin_ctzll(rest)))
                pending[word] &= ~(rest & (0 - rest));
}
