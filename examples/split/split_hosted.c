/* SPDX-License-Identifier: MIT */
/*
 * Program, driver and server as three processes of Linux; the silicon model is the server's CPU.
 *
 *     L=build/gcc-64 && make $L/libupmu.a $L/libsim.a
 *     A="examples/split/[a-z]*.c abi/pmc/[a-z]*.c"
 *     cc -Iinclude -I. -no-pie -o split $A $L/libsim.a $L/libupmu.a && ./split core2 core
 *
 * The arguments are the model's CPU and upmu's name of its PMU.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <abi/pmc/upmu_pmc.h>
#include <examples/split/split_driver.h>
#include <examples/split/split_server.h>
#include <models/sim/sim.h>
#include <upmu/cpu.h>

/* A system call as it goes from program to driver. */
struct call {
    uint32_t operation, bytes;
    int32_t answer;
    uint32_t unused;
    uint8_t argument[sizeof(struct pmc_op_allocate)];
};

static int to_driver[2], to_server[2]; /* [0]: the side that asks */
static struct upmu_sim sim;

static bool transfer(int file, void *bytes, size_t length, bool send_it)
{
    ssize_t done = send_it ? send(file, bytes, length, MSG_NOSIGNAL) : recv(file, bytes, length, MSG_WAITALL);

    return done == (ssize_t)length;
}

/* ---- The server; a message that is none of the driver's is work for the CPU ---- */

static void set_pce(void *context, bool on)
{
    ((struct upmu_sim *)context)->cpu[0].cr4_pce = on;
}

static int serve(const char *pmu_name)
{
    static struct upmu_permit rows[UPMU_PERMITS];
    const struct upmu_port *port = upmu_sim_port(&sim);
    struct split_server server = {
        .rows = rows, .rdmsr = port->rdmsr, .wrmsr = port->wrmsr, .set_pce = set_pce, .context = port->context};
    struct split_message message;
    struct upmu_pmu pmu;

    if (upmu_pmu_by_name(&pmu, pmu_name) != UPMU_OK)
        return 1;
    server.count = upmu_permit_list(&pmu, rows, UPMU_PERMITS);
    server.mine[0] = pmu.counters;
    split_begin(&server);
    while (transfer(to_server[1], &message, sizeof message, false)) {
        if (message.unused)
            upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = message.value, .cycles = 2 * message.value});
        else
            split_serve(&server, 0, &message);
        if (!transfer(to_server[1], &message, sizeof message, true))
            return 1;
    }
    return 0;
}

/* ---- The driver ---- */

static bool exchange(void *context, struct split_message *message)
{
    (void)context;
    return transfer(to_server[0], message, sizeof *message, true) &&
           transfer(to_server[0], message, sizeof *message, false);
}

static void own_cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct upmu_port *port = upmu_sim_port(&sim);

    (void)context;
    port->cpuid(port->context, leaf, subleaf, out);
}

static struct upmu_cpu cpu;

static struct upmu_cpu *find_cpu(void *context, unsigned number)
{
    (void)context;
    return number == 0 ? &cpu : NULL;
}

static bool copy_in(void *context, void *to, const void *argument, size_t bytes)
{
    (void)context;
    memcpy(to, argument, bytes);
    return true;
}

static bool copy_out(void *context, void *argument, const void *from, size_t bytes)
{
    return copy_in(context, argument, from, bytes);
}

static int drive(void)
{
    static struct upmu_pmc memory[4];
    static struct upmu_machine machine;
    static struct split_driver driver;
    static struct upmu_pmcs pmcs = {.machine = &machine,
                                    .pmcs = memory,
                                    .capacity = 4,
                                    .find_cpu = find_cpu,
                                    .copy_in = copy_in,
                                    .copy_out = copy_out};
    struct call call;

    split_driver_init(&driver, exchange, NULL, own_cpuid, NULL);
    if (upmu_machine_init(&machine, &driver.port) != UPMU_OK || upmu_cpu_init(&cpu, &machine, NULL) != UPMU_OK)
        return 1;
    while (transfer(to_driver[1], &call, sizeof call, false)) {
        call.answer = upmu_pmc_syscall(&pmcs, 1, call.operation, call.argument, call.bytes);
        if (!transfer(to_driver[1], &call, sizeof call, true))
            return 1;
    }
    upmu_pmc_exit(&pmcs, 1);
    return upmu_cpu_fini(&cpu) == UPMU_OK ? 0 : 1;
}

/* ---- The program ---- */

int pmc_syscall(unsigned operation, void *argument, uint32_t bytes)
{
    struct call call = {.operation = operation, .bytes = bytes};

    memcpy(call.argument, argument, bytes);
    if (!transfer(to_driver[0], &call, sizeof call, true) || !transfer(to_driver[0], &call, sizeof call, false))
        return 5;
    memcpy(argument, call.argument, bytes);
    return call.answer;
}

static bool work(uint64_t instructions)
{
    struct split_message message = {.value = instructions, .unused = 1};

    return exchange(NULL, &message);
}

static int count(void)
{
    pmc_value_t value = 0;
    pmc_id_t id;

    if (pmc_init() < 0 || pmc_allocate("instructions", PMC_MODE_SC, 0, 0, &id, 0) < 0 || pmc_start(id) < 0 ||
        !work(75000) || pmc_stop(id) < 0 || !work(1000) || pmc_read(id, &value) < 0 || pmc_release(id) < 0) {
        fprintf(stderr, "split: error %d\n", pmc_errno);
        return 1;
    }
    printf("%llu instructions\n", (unsigned long long)value);
    return 0;
}

static pid_t run(int (*side)(void), const char *pmu_name)
{
    pid_t child = fork();

    if (child)
        return child;
    /* Each end of a pipe is open in one process alone: when that ends, a process that waits for it ends, too. */
    close(to_driver[0]);
    close(side ? to_server[1] : to_server[0]);
    if (!side)
        close(to_driver[1]);
    _exit(side ? side() : serve(pmu_name));
}

int main(int argc, char **argv)
{
    pid_t server, driver;
    int status[2] = {1, 1}, result;

    if (argc != 3 || !upmu_sim_profile(argv[1]) || socketpair(AF_UNIX, SOCK_STREAM, 0, to_driver) ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, to_server)) {
        fprintf(stderr, "usage: split CPU PMU, as in split core2 core\n");
        return 2;
    }
    upmu_sim_init(&sim, upmu_sim_profile(argv[1]), 1);
    upmu_sim_irqs(&sim, false);
    server = run(NULL, argv[2]);
    driver = run(drive, NULL);
    close(to_driver[1]);
    close(to_server[1]);
    result = count();
    close(to_driver[0]);
    (void)waitpid(driver, &status[0], 0);
    close(to_server[0]);
    (void)waitpid(server, &status[1], 0);
    return result || status[0] || status[1];
}
