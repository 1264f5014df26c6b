/* SPDX-License-Identifier: MIT */
/*
 * Counts of a piece of code, and of a thread that gives its CPU to another one and gets it again.  docs/ZEPHYR.md says
 * how to build it; with CONFIG_UPMU_SIM the counts are a model's, and known.
 */
#include <zephyr/kernel.h>
#include <upmu_zephyr.h>

#define EVENTS "instructions,cycles,branch-misses"
#define TURNS 3
#define STACK_BYTES 8192

#ifdef CONFIG_UPMU_SIM
#include <models/sim/sim.h>

static void work(void)
{
    const struct upmu_sim_burst burst = {.instructions = 12000, .cycles = 9000, .branches = 2000, .mispredicts = 31};

    upmu_sim_events(&upmu_zephyr_sim, &burst);
}
#else
static void work(void)
{
    for (volatile unsigned i = 0; i < 3000; i++)
        ;
}
#endif

static void show(const char *what, const struct upmu_count count[3])
{
    printk("%s: %llu instructions, %llu cycles, %llu mispredicted branches\n", what, (unsigned long long)count[0].value,
           (unsigned long long)count[1].value, (unsigned long long)count[2].value);
}

static void refused(const char *what, enum upmu_status status, const struct upmu_why *why)
{
    char text[160];

    upmu_why_text(why, text, sizeof text);
    printk("%s: %s\n", what, why->status == status ? text : upmu_status_text(status));
}

/* Of several CPUs that which runs this; the thread may be moved later, and the counts are this CPU's. */
static struct upmu_cpu *cpu_here(void)
{
    unsigned key = arch_irq_lock();
    struct upmu_cpu *cpu = upmu_zephyr_cpu(upmu_zephyr_number());

    arch_irq_unlock(key);
    return cpu;
}

static void count_code(void)
{
    static struct upmu_region region;
    struct upmu_cpu *cpu = cpu_here();
    enum upmu_status status;

    if (!cpu)
        return;
    status = upmu_region_open(&region, cpu, EVENTS);
    if (status == UPMU_OK)
        status = upmu_region_begin(&region);
    if (status == UPMU_OK) {
        work();
        status = upmu_region_end(&region);
    }
    if (status == UPMU_OK) {
        show("code", region.count);
        status = upmu_region_close(&region);
    }
    if (status != UPMU_OK)
        refused("code", status, &region.session.why);
}

#ifdef CONFIG_UPMU_FOLLOW_THREADS
static K_THREAD_STACK_DEFINE(stack, STACK_BYTES);
static struct k_thread worker;

static void worker_main(void *first, void *second, void *third)
{
    ARG_UNUSED(first);
    ARG_UNUSED(second);
    ARG_UNUSED(third);
    for (int i = 0; i < TURNS; i++) {
        work();
        k_yield();
    }
}

/* The main thread works in between, and that is not in the counts. */
static void count_thread(void)
{
    static struct upmu_session session;
    struct upmu_count count[3];
    enum upmu_status status = upmu_session_init(&session, upmu_zephyr_machine());

    (void)k_thread_create(&worker, stack, K_THREAD_STACK_SIZEOF(stack), worker_main, NULL, NULL, NULL,
                          k_thread_priority_get(k_current_get()), 0, K_FOREVER);
    if (status == UPMU_OK)
        status = upmu_set_add(&session.set, EVENTS, NULL);
    if (status == UPMU_OK)
        status = upmu_zephyr_attach(&session, &worker);
    if (status == UPMU_OK)
        status = upmu_session_start(&session);
    k_thread_start(&worker);
    for (int i = 0; i < TURNS; i++) {
        work();
        k_yield();
    }
    (void)k_thread_join(&worker, K_FOREVER);
    if (status == UPMU_OK)
        status = upmu_set_read(&session.set, 0, 3, count);
    if (status == UPMU_OK) {
        show("thread", count);
        status = upmu_session_close(&session);
    }
    if (status != UPMU_OK)
        refused("thread", status, &session.why);
}
#endif

int main(void)
{
    if (!upmu_zephyr_machine())
        return 0;
    if (IS_ENABLED(CONFIG_UPMU_SIM))
        printk("simulated: these are counts of a model\n");
    count_code();
#ifdef CONFIG_UPMU_FOLLOW_THREADS
    count_thread();
#endif
    return 0;
}
