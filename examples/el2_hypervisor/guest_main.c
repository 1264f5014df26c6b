/* SPDX-License-Identifier: MIT */
/*
 * A guest at EL1 that knows nothing of its hypervisor: it counts a loop, takes the interrupt of an overflow, and looks
 * what EL0 may read. It writes PMUv3's registers itself.
 */
#include <stdint.h>

#define UART (*(volatile uint32_t *)0x09000000)
#define GICD_CTLR (*(volatile uint32_t *)0x08000000)
#define GICR_WAKER (*(volatile uint32_t *)0x080a0014)
#define GICR_IGROUPR0 (*(volatile uint32_t *)0x080b0080)
#define GICR_ISENABLER0 (*(volatile uint32_t *)0x080b0100)
#define PMU_INTERRUPT 23u
#define PSCI_SYSTEM_OFF 0x84000008u

#define READ(name)                                                                                                     \
    __extension__({                                                                                                    \
        uint64_t guest_value;                                                                                          \
        __asm__ volatile("mrs %0, " name : "=r"(guest_value) : : "memory");                                            \
        guest_value;                                                                                                   \
    })
#define WRITE(name, value) __asm__ volatile("msr " name ", %0\n\tisb" : : "r"((uint64_t)(value)) : "memory")

uint64_t guest_undefined; /* exceptions of undefined instructions */
static volatile unsigned interrupts, strange;

void guest_loop(uint64_t turns, uint64_t pmcr, uint64_t pmcntenclr);
uint64_t guest_user(void);
void guest_interrupt(void);
_Noreturn void guest_main(void);

static void print(const char *text)
{
    while (*text)
        UART = (unsigned char)*text++;
}

static void print_number(const char *name, uint64_t number)
{
    char digits[21];
    unsigned at = 20;

    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    print("guest: ");
    print(name);
    print(digits + at);
    print("\n");
}

/* The overflow flag is cleared, and the counter is set so far before the next overflow. */
#define PERIOD 20000u

void guest_interrupt(void)
{
    uint64_t which = READ("icc_iar1_el1");

    if (which == PMU_INTERRUPT && READ("pmovsclr_el0") == 2) {
        interrupts++;
        WRITE("pmevcntr1_el0", UINT32_MAX - PERIOD + 1);
        WRITE("pmovsclr_el0", 2);
    } else {
        strange++;
    }
    WRITE("icc_eoir1_el1", which);
}

static void open_interrupts(void)
{
    GICR_WAKER &= ~2u;
    while (GICR_WAKER & 4u)
        ;
    GICD_CTLR = 0x12; /* affinity routing, group 1 */
    GICR_IGROUPR0 = UINT32_MAX;
    GICR_ISENABLER0 = 1u << PMU_INTERRUPT;
    WRITE("icc_sre_el1", 7);
    WRITE("icc_pmr_el1", 0xff);
    WRITE("icc_igrpen1_el1", 1);
}

/* Count one loop by event counter 0 with this type. */
static uint64_t count(uint64_t type, uint64_t turns)
{
    WRITE("pmcr_el0", 0x42);
    WRITE("pmevtyper0_el0", type);
    WRITE("pmcntenset_el0", 1);
    guest_loop(turns, 0x41, 1);
    return READ("pmevcntr0_el0");
}

void guest_main(void)
{
    uint64_t flags = 0;

    print_number("version ", READ("id_aa64dfr0_el1") >> 8 & 15);
    print_number("event counters ", READ("pmcr_el0") >> 11 & 31);
    print_number("instructions of 1000 turns ", count(0x08, 1000));
    print_number("instructions of 101000 turns ", count(0x08, 101000));
    print_number("cycles of 1000 turns ", count(0x11, 1000));
    print_number("cycles of 101000 turns ", count(0x11, 101000));
    print_number("instructions at EL0 ", count(0x80000008, 1000));

    open_interrupts();
    WRITE("pmevtyper1_el0", 0x08);
    WRITE("pmevcntr1_el0", UINT32_MAX - PERIOD + 1);
    WRITE("pmintenset_el1", 2);
    WRITE("pmcntenset_el0", 2);
    __asm__ volatile("msr daifclr, #2" : : : "memory");
    for (unsigned i = 0; i < 100; i++) {
        guest_loop(1000, 0x41, 0);
        flags |= READ("pmovsset_el0");
    }
    WRITE("pmcr_el0", 0);
    __asm__ volatile("msr daifset, #2" : : : "memory");
    print_number("interrupts ", interrupts);
    print_number("other interrupts ", strange);
    print_number("flags that no interrupt cleared ", flags);

    (void)READ("pmevcntr30_el0");
    print_number("undefined accesses ", guest_undefined);
    WRITE("pmevcntr0_el0", 1234);
    print_number("EL0 is trapped ", guest_user() == UINT64_MAX);
    WRITE("pmuserenr_el0", 8);
    print_number("EL0 reads ", guest_user());
    {
        register uint64_t call __asm__("x0") = PSCI_SYSTEM_OFF;

        __asm__ volatile("hvc #0" : "+r"(call) : : "memory");
    }
    for (;;)
        ;
}
