/* SPDX-License-Identifier: MIT */
/*
 * The PMU of a virtual CPU (abi/sbi) in S-mode, on counters that the port gets from the firmware. The "guest" is a loop
 * of this program between an entry and an exit.
 *
 * QEMU 7.2 counts in each mode, whatever an event says. A QEMU that excludes modes counts nothing of the loop, because
 * it runs in the mode of a hypervisor. Values are above half of a counter's range, as QEMU wants them.
 */
#include <stdio.h>
#include "abi/sbi/sbi.h"
#include "port/riscv_native/riscv_csr.h"
#include "tests/foreign/foreign_machine.h"

#define COUNTER 6u
#define INSTRUCTIONS 2u
#define BRANCHES 5u       /* no row has it */
#define L1D_READ 0x10000u /* no event of QEMU's */
#define SCOUNTOVF 0xda0u
#define SLACK 6000u /* instructions of an entry and an exit */
#define ARGUMENTS 6

static struct upmu_sbi_pmu vcpu, second;
static unsigned long top; /* the upper bits of a value that is above half */

static const struct upmu_sbi_event events[] = {
    {.first = 1, .last = 2, .counters = ~UINT32_C(0), .select = 1},
    {.first = L1D_READ, .last = L1D_READ, .counters = ~UINT32_C(0), .select = L1D_READ}};
static struct upmu_sbi_config config = {.events = events, .event_count = 2, .firmware_counters = 2, .guest = true};

static void tell(const char *test, bool good)
{
    printf("[%s] %s\n", good ? "       OK " : "  FAILED  ", test);
}

static long call(struct upmu_sbi_pmu *pmu, unsigned long function, unsigned long flags, unsigned long fourth,
                 unsigned long fifth)
{
    const unsigned long a[ARGUMENTS] = {COUNTER, 1, flags, fourth, fifth};

    return upmu_sbi_pmu_call(pmu, function, a).error;
}

static bool start_at(struct upmu_sbi_pmu *pmu, unsigned long low)
{
    return __riscv_xlen == 32 ? !call(pmu, UPMU_SBI_PMU_START, 1, low, ~0ul)
                              : !call(pmu, UPMU_SBI_PMU_START, 1, top | low, 0);
}

/* The counter as the guest reads it, less the upper bits. */
static unsigned long value_of(const struct upmu_sbi_pmu *pmu)
{
    unsigned long value = 0;

    (void)upmu_sbi_pmu_csr(pmu, 0xc00 + COUNTER, &value);
    return value - top;
}

/* What the vCPU counts of a loop. *out_overflow: what the exit tells. */
__attribute__((noinline, noipa)) static unsigned long run_guest(struct upmu_sbi_pmu *pmu, uint64_t turns,
                                                                bool *out_overflow)
{
    unsigned long before = value_of(pmu);
    bool good = upmu_sbi_pmu_enter(pmu) == UPMU_OK;

    machine_loop(turns);
    good &= upmu_sbi_pmu_exit(pmu, out_overflow) == UPMU_OK;
    return good ? value_of(pmu) - before : ~0ul;
}

static void a_guest_counts_between_entry_and_exit(void)
{
    bool good = upmu_sbi_pmu_load(&vcpu) == UPMU_OK, overflow = true;
    unsigned long one, two;

    good &= !call(&vcpu, UPMU_SBI_PMU_CONFIG_MATCHING, 0, INSTRUCTIONS, 0) && start_at(&vcpu, 0);
    one = run_guest(&vcpu, 1000, &overflow);
    machine_loop(100000); /* the hypervisor's */
    two = run_guest(&vcpu, 51000, &overflow);
    good &= !overflow && (machine_does.tell_modes ? !one && !two : one >= 2000 && one < SLACK && two - one == 100000);
    if (!good)
        printf("    %lu and %lu counted\n", one, two);
    good &= !call(&vcpu, UPMU_SBI_PMU_STOP, 0, 0, 0);
    one = run_guest(&vcpu, 1000, &overflow);
    good &= one == 0;
    tell("a_guest_counts_between_entry_and_exit", good);
}

/* The first vCPU has a count; while the second one has the counter, it stays. */
static void two_guests_have_counts_of_their_own(void)
{
    unsigned long mine = value_of(&vcpu), other;
    bool good = upmu_sbi_pmu_put(&vcpu) == UPMU_OK && upmu_sbi_pmu_load(&second) == UPMU_OK, overflow;

    good &= !call(&second, UPMU_SBI_PMU_CONFIG_MATCHING, 0, INSTRUCTIONS, 0) && start_at(&second, 7);
    other = run_guest(&second, 5000, &overflow);
    good &= machine_does.tell_modes ? !other : other >= 10000 && other < 10000 + SLACK;
    good &= value_of(&vcpu) == mine && upmu_sbi_pmu_put(&second) == UPMU_OK && value_of(&second) == 7 + other;
    good &= upmu_sbi_pmu_load(&vcpu) == UPMU_OK && value_of(&vcpu) == mine;
    good &= call(&vcpu, UPMU_SBI_PMU_STOP, 1, 0, 0) == UPMU_SBI_ALREADY_STOPPED;
    tell("two_guests_have_counts_of_their_own", good);
}

static void what_the_firmware_has_not_a_guest_has_not(void)
{
    bool good = call(&vcpu, UPMU_SBI_PMU_CONFIG_MATCHING, 0, L1D_READ, 0) == UPMU_SBI_NOT_SUPPORTED;
    unsigned long value;

    good &= !upmu_sbi_pmu_csr(&vcpu, 0xc00 + COUNTER, &value);
    tell("what_the_firmware_has_not_a_guest_has_not", good);
}

static void an_overflow_is_told_at_the_exit(void)
{
    bool good = !call(&vcpu, UPMU_SBI_PMU_CONFIG_MATCHING, 0, INSTRUCTIONS, 0), first, second_time;
    unsigned long flags = 0;

    good &= start_at(&vcpu, 0 - 20000ul - top);
    (void)run_guest(&vcpu, 40000, &first);
    good &= upmu_sbi_pmu_csr(&vcpu, SCOUNTOVF, &flags) && flags == 1ul << COUNTER;
    (void)run_guest(&vcpu, 1000, &second_time);
    good &= first && !second_time;
    good &= !call(&vcpu, UPMU_SBI_PMU_STOP, 0, 0, 0) && start_at(&vcpu, 0);
    good &= upmu_sbi_pmu_csr(&vcpu, SCOUNTOVF, &flags) && !flags;
    good &= !call(&vcpu, UPMU_SBI_PMU_STOP, 1, 0, 0);
    tell("an_overflow_is_told_at_the_exit", good);
}

/* Instructions of all modes, the firmware's included. */
static void a_guest_costs_few_instructions(void)
{
    unsigned long at[4];
    bool good = !call(&vcpu, UPMU_SBI_PMU_CONFIG_MATCHING, 0, INSTRUCTIONS, 0) && start_at(&vcpu, 0), overflow;

    at[0] = UPMU_RV_GET("instret");
    good &= call(&vcpu, UPMU_SBI_PMU_CONFIG_MATCHING, 0, BRANCHES, 0) == UPMU_SBI_NOT_SUPPORTED;
    at[1] = UPMU_RV_GET("instret");
    good &= upmu_sbi_pmu_enter(&vcpu) == UPMU_OK;
    at[2] = UPMU_RV_GET("instret");
    good &= upmu_sbi_pmu_exit(&vcpu, &overflow) == UPMU_OK;
    at[3] = UPMU_RV_GET("instret");
    printf("    a refused match of a guest takes %lu instructions, an entry with one counter %lu, an exit %lu\n",
           at[1] - at[0], at[2] - at[1], at[3] - at[2]);
    good &= at[1] - at[0] <= 1500 && !call(&vcpu, UPMU_SBI_PMU_STOP, 1, 0, 0);
    tell("a_guest_costs_few_instructions", good);
}

void guest_tests(const struct upmu_port *port, unsigned width, bool overflows)
{
    config.port = port;
    config.counters = 1u << COUNTER;
    config.width = (uint8_t)width;
    config.sscofpmf = config.hypervisor = overflows;
    top = __riscv_xlen == 32 ? 0 : 3ul << (__riscv_xlen - 2);
    if (upmu_sbi_pmu_init(&vcpu, &config) != UPMU_OK || upmu_sbi_pmu_init(&second, &config) != UPMU_OK) {
        tell("a_guest_has_a_pmu", false);
        return;
    }
    a_guest_counts_between_entry_and_exit();
    two_guests_have_counts_of_their_own();
    what_the_firmware_has_not_a_guest_has_not();
    a_guest_costs_few_instructions();
    if (overflows && !machine_does.tell_modes)
        an_overflow_is_told_at_the_exit();
    if (upmu_sbi_pmu_put(&vcpu) != UPMU_OK)
        tell("a_guest_goes", false);
}
