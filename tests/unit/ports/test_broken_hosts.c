/* SPDX-License-Identifier: MIT */
/*
 * Hosts where something that the library takes for granted is missing.  Class of mistake: a
 * cause of the host's that looks like a CPU without counters, or kills.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/hw/backend.h"
#include "port/x86_native/x86_guard.h"
#include "port/x86_native/x86_native.c"
#include "tests/common/garbage.h"
#include "tests/common/host.h"

static struct host host;

/* As .bss is where .data.rel.ro should have been: the library's own objects, their tables zeroed. */
static void tables_that_were_lost_in_linking_have_a_status(void **state)
{
    static struct upmu_backend kept;
    struct upmu_backend *lost = (struct upmu_backend *)(uintptr_t)upmu_backend(0);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)lost & ~(page - 1u);
    size_t bytes = ((uintptr_t)(lost + 1) - start + page - 1u) & ~(page - 1u);
    enum upmu_status status;

    (void)state;
    host_prepare(&host, "skl");
    assert_int_equal(mprotect((void *)start, bytes, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
    memcpy(&kept, lost, sizeof kept);
    memset(lost, 0, sizeof *lost);
    status = upmu_machine_init(&host.machine, upmu_sim_port(&host.sim));
    memcpy(lost, &kept, sizeof kept);
    assert_int_equal(mprotect((void *)start, bytes, PROT_READ | PROT_EXEC), 0);
    assert_int_equal(status, UPMU_ERR_NOT_LINKED);
    assert_string_equal(upmu_status_text(status), "constant tables are not linked");
    assert_int_equal(upmu_machine_init(&host.machine, upmu_sim_port(&host.sim)), UPMU_OK);
}

static unsigned faults;

#ifdef __x86_64__
#define IP REG_RIP
#else
#define IP REG_EIP
#endif

static void land(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    uintptr_t landing = upmu_x86_guard_landing((uintptr_t)at->uc_mcontext.gregs[IP]);

    (void)info;
    faults++;
    if (!landing)
        signal(number, SIG_DFL);
    else
        at->uc_mcontext.gregs[IP] = (greg_t)landing;
}

/* The instruction faults here as it does in such an emulator. */
static void rdpmc_of_the_native_port_survives_a_fault(void **state)
{
    struct sigaction action = {.sa_sigaction = land, .sa_flags = SA_SIGINFO};
    struct sigaction before[2];
    uint64_t value;
    bool fine;

    (void)state;
    sigaction(SIGSEGV, &action, &before[0]);
    sigaction(SIGILL, &action, &before[1]);
    fine = native_rdpmc(NULL, 0x3ffffff0u, &value);
    sigaction(SIGSEGV, &before[0], NULL);
    sigaction(SIGILL, &before[1], NULL);
    assert_int_equal(faults, 1);
    assert_false(fine);
}

/* And what a hook says that failed once is not asked again: RDMSR reads the counters. */
static bool no_rdpmc(void *context, uint32_t index, uint64_t *out_value)
{
    (void)context;
    (void)index;
    faults++;
    return garbage(out_value);
}

static void counters_are_read_by_rdmsr_where_rdpmc_faults(void **state)
{
    (void)state;
    host_prepare(&host, "skl");
    host.sim.port.rdpmc = no_rdpmc;
    host_start(&host);
    faults = 0;
    assert_int_equal(upmu_set_add(&host.session.set, "instructions", NULL), UPMU_OK);
    host_begin(&host, &host.session);
    host_run(&host, 1000);
    assert_int_equal(host_value(&host.session, 0), 1000);
    assert_int_equal(faults, 0);
    host_end(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_were_lost_in_linking_have_a_status),
        cmocka_unit_test(rdpmc_of_the_native_port_survives_a_fault),
        cmocka_unit_test(counters_are_read_by_rdmsr_where_rdpmc_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
