/* SPDX-License-Identifier: MIT */
/*
 * Try: counts by name, a session that follows a thread, and samples.  `make try` compiles and runs it.
 *
 * The CPU is the silicon model's Skylake.  In a kernel, its port, scheduler and NMI entry take the model's place.
 */
#include <stdio.h>
#include <models/sim/sim.h>
#include <upmu/cpu.h>
#include <upmu/upmu.h>

#define EVENTS 3
#define BURSTS 300
#define INSTRUCTIONS (UINT64_C(1) << 40) /* of one burst; a counter of Skylake goes round after 2^48 */

static struct upmu_sim sim; /* stands for the CPU */
static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_session session;
static struct upmu_thread worker, other;
static uint64_t ring[1024];

/* The NMI entry. */
static void entry(struct upmu_sim *model, unsigned number, const struct upmu_sim_interrupt *interrupt)
{
    const struct upmu_frame frame = {.ip = interrupt->ip, .sp = interrupt->sp, .user = interrupt->user};

    (void)model, (void)number;
    (void)upmu_pmi_handle(&cpu, &frame);
}

static enum upmu_status take_over(void)
{
    enum upmu_status status;

    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    sim.deliver = entry;
    status = upmu_machine_init(&machine, upmu_sim_port(&sim));
    return status != UPMU_OK ? status : upmu_cpu_init(&cpu, &machine, NULL);
}

static enum upmu_status count_by_name(void)
{
    struct upmu_count counts[EVENTS];
    enum upmu_status status;

    if ((status = upmu_session_init(&session, &machine)) != UPMU_OK ||
        (status = upmu_set_add(&session.set, "instructions,cycles,BR_MISP_RETIRED.ALL_BRANCHES", NULL)) != UPMU_OK ||
        (status = upmu_session_attach_cpu(&session, &cpu)) != UPMU_OK ||
        (status = upmu_session_start(&session)) != UPMU_OK)
        return status;
    for (unsigned i = 0; i < BURSTS; i++)
        upmu_sim_events(&sim, &(struct upmu_sim_burst){
                                  .instructions = INSTRUCTIONS, .cycles = INSTRUCTIONS / 2, .mispredicts = 31});
    if ((status = upmu_session_stop(&session)) != UPMU_OK ||
        (status = upmu_set_read(&session.set, 0, EVENTS, counts)) != UPMU_OK)
        return status;
    printf("events by name, counts of 64 bits (2^48, where a counter begins again, is %llu):\n", 1ull << 48);
    printf("%18llu instructions\n", (unsigned long long)counts[0].value);
    printf("%18llu cycles\n", (unsigned long long)counts[1].value);
    printf("%18llu BR_MISP_RETIRED.ALL_BRANCHES\n", (unsigned long long)counts[2].value);
    return upmu_session_close(&session);
}

/* A thread runs until the next one; the model is told what it does. */
static void run(struct upmu_thread *from, struct upmu_thread *to, uint64_t instructions)
{
    (void)upmu_thread_switch(&cpu, from, to); /* an error of a session is in the session */
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = instructions, .cycles = 9000});
}

static enum upmu_status follow_a_thread(void)
{
    struct upmu_count count;
    enum upmu_status status;

    upmu_thread_init(&worker, 1, 1, NULL);
    upmu_thread_init(&other, 1, 2, NULL);
    if ((status = upmu_session_init(&session, &machine)) != UPMU_OK ||
        (status = upmu_set_add(&session.set, "instructions", NULL)) != UPMU_OK ||
        (status = upmu_session_attach_thread(&session, &worker, NULL)) != UPMU_OK ||
        (status = upmu_session_start(&session)) != UPMU_OK)
        return status;
    run(&other, &worker, 1000);
    run(&worker, &other, 500000);
    run(&other, &worker, 200);
    run(&worker, &other, 30);
    if ((status = upmu_set_read(&session.set, 0, 1, &count)) != UPMU_OK)
        return status;
    printf("thread switches, a session of one thread:\n");
    printf("%18llu instructions (another thread's 500030 are not in it)\n", (unsigned long long)count.value);
    return upmu_thread_exit(&worker) == UPMU_OK ? upmu_session_close(&session) : UPMU_ERR_STATE;
}

static enum upmu_status sample(void)
{
    const struct upmu_sampling every = {.period = 1000};
    struct upmu_sample found;
    enum upmu_status status;

    if ((status = upmu_session_init(&session, &machine)) != UPMU_OK ||
        (status = upmu_set_add(&session.set, "instructions", &every)) != UPMU_OK ||
        (status = upmu_session_ring(&session, ring, sizeof ring)) != UPMU_OK ||
        (status = upmu_session_attach_cpu(&session, &cpu)) != UPMU_OK ||
        (status = upmu_session_start(&session)) != UPMU_OK)
        return status;
    upmu_sim_events(&sim, &(struct upmu_sim_burst){.instructions = 3500, .cycles = 9000, .ip = 0x400000, .ip_step = 4});
    if ((status = upmu_session_stop(&session)) != UPMU_OK)
        return status;
    printf("samples, each 1000th instruction by an interrupt:\n");
    while (upmu_ring_next(&session.ring, &found))
        printf("%#18llx instruction pointer\n", (unsigned long long)found.ip);
    return upmu_session_close(&session);
}

int main(void)
{
    enum upmu_status status;

    printf("simulated: these are counts of a model of Intel's Skylake, not of this machine\n");
    if ((status = take_over()) == UPMU_OK && (status = count_by_name()) == UPMU_OK &&
        (status = follow_a_thread()) == UPMU_OK && (status = sample()) == UPMU_OK)
        status = upmu_cpu_fini(&cpu);
    printf("%s\n", upmu_status_text(status)); /* upmu_why_text() of machine.why or session.why says more */
    return status != UPMU_OK;
}
