/* SPDX-License-Identifier: MIT */
/*
 * The command uncore, on modelled machines that take the place of the executing one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "tests/common/assertions.h"

#include "models/sim/sim_uncore.h"
#include "tests/common/commands.h"

static char printed[65536];
static size_t printed_bytes;

static void take(void *context, const char *text, size_t length)
{
    (void)context;
    assert_compare(printed_bytes + length, <, sizeof printed);
    memcpy(printed + printed_bytes, text, length);
    printed_bytes += length;
    printed[printed_bytes] = '\0';
}

static const struct cmd_sink sink = {.write = take};
static struct upmu_sim sim;
static struct upmu_sim_uncore uncore;
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct cmd cmd;
static _Alignas(64) unsigned char buffer[1 << 20];

static void run(const char *name)
{
    const struct cmd_live live = {
        .port = &sim.port, .machine = &machine, .cpu = &cpu, .buffer = buffer, .buffer_bytes = sizeof buffer};

    upmu_sim_uncore_init(&uncore, &sim, upmu_sim_machine(name));
    sim.port.cpu_place = upmu_sim_uncore_port_place;
    memset(&machine, 0, sizeof machine);
    assert_int_equal(upmu_machine_init(&machine, upmu_sim_port(&sim)), UPMU_OK);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    upmu_sim_switch_cpu(&sim, 0);
    assert_int_equal(upmu_cpu_init(&cpu, &machine, NULL), UPMU_OK);
    memset(&cmd, 0, sizeof cmd);
    cmd.sink = &sink;
    cmd.program = "upmu";
    cmd.live = &live;
    printed_bytes = 0;
    memset(buffer, 0x33, sizeof buffer / 2);
    memset(buffer + sizeof buffer / 2, 0x55, sizeof buffer / 2);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(cmd_run_line(&cmd, "uncore"), CMD_OK);
    assert_int_equal(upmu_cpu_fini(&cpu), UPMU_OK);
    assert_int_equal(sim.violation_count, 0);
}

static void shows(const char *text)
{
    if (strstr(printed, text) == NULL)
        fail_msg("no '%s' in:\n%s", text, printed);
}

static void units_of_a_server_are_listed_and_a_copy_is_counted(void **state)
{
    (void)state;
    run("skx2");
    shows("\npackage0/die0/imc0              skx_unc_imc                    4    48\n");
    shows("\npackage1/die0/imc5              skx_unc_imc                    4    48\n");
    shows("\npackage0/die0/cha0              skx_unc_cha                    4    48\n");
    shows("\ncopied   256 MiB in steps of 512 KiB: imc/CAS_COUNT.RD,imc/CAS_COUNT.WR\n"
          "read     0 MiB\nwritten  0 MiB\n");
    assert_int_equal(buffer[0], 0x55);
    assert_int_equal(buffer[sizeof buffer / 2 - 1], 0x55);
}

static void a_client_has_events_of_its_own(void **state)
{
    (void)state;
    run("snb");
    shows("copied   256 MiB in steps of 512 KiB: imc/data_reads,imc/data_writes\n");
}

static void a_simulated_cpu_copies_nothing(void **state)
{
    (void)state;
    memset(&cmd, 0, sizeof cmd);
    cmd.sink = &sink;
    cmd.program = "upmu";
    printed_bytes = 0;
    assert_int_equal(cmd_run_line(&cmd, "uncore --sim skl"), CMD_OK);
    shows("no units outside the cores were found\n");
    assert_int_equal(cmd_run_line(&cmd, "uncore --sim zen2"), CMD_OK);
    shows("(A simulated CPU copies nothing.)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_of_a_server_are_listed_and_a_copy_is_counted),
        cmocka_unit_test(a_client_has_events_of_its_own),
        cmocka_unit_test(a_simulated_cpu_copies_nothing),
    };

    return cmocka_run_group_tests_name("cmd_uncore", tests, NULL, NULL);
}
