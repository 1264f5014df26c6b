/* SPDX-License-Identifier: MIT */
/*
 * upmu in Zephyr: the port, the take-over of each CPU, calls on other CPUs, and the tick.  Overflows do not interrupt:
 * the tick reads the counters before they go round.
 *
 * Facts about Zephyr are those of its sources of 2026: kernel/smp/ipi.c, kernel/Kconfig, kernel/Kconfig.smp.
 */
#include <zephyr/kernel.h>
#include <upmu/cpu.h>
#include <upmu/place.h>
#include "upmu_zephyr.h"

#define STACK_NEEDED 4096 /* upmu_cpu_tick() takes up to 3 KiB (docs/PORTING.md, "Stack") */
#ifndef CONFIG_ARCH_POSIX
_Static_assert(CONFIG_ISR_STACK_SIZE >= STACK_NEEDED, "upmu: set CONFIG_ISR_STACK_SIZE=4096 or more");
#endif

/* ---- The port of this architecture ---- */

#if defined CONFIG_UPMU_SIM
#include <models/sim/sim.h>

struct upmu_sim upmu_zephyr_sim;

static struct upmu_port *native_port(void)
{
    upmu_sim_init(&upmu_zephyr_sim, upmu_sim_profile(CONFIG_UPMU_SIM_CPU), 1); /* zephyr/CMakeLists.txt knows it */
    return &upmu_zephyr_sim.port;
}
#elif defined CONFIG_X86
#include <port/x86_native/x86_native.h>

static struct upmu_port *native_port(void)
{
    static struct upmu_x86_native native;

    upmu_x86_native_port(&native, NULL, 0, 0);
    return &native.port;
}
#elif defined CONFIG_ARM64
#include <port/arm64_native/arm64_native.h>

static struct upmu_port *native_port(void)
{
    static struct upmu_port port;

    upmu_arm64_port(&port);
    return &port;
}
#elif defined CONFIG_RISCV
#include <port/riscv_native/riscv_native.h>

static void cpuid(void *context, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    static const struct upmu_riscv_identity identity = {.counters = CONFIG_UPMU_RISCV_COUNTERS,
                                                        .width = CONFIG_UPMU_RISCV_COUNTER_BITS,
                                                        .sscofpmf = IS_ENABLED(CONFIG_UPMU_RISCV_SSCOFPMF),
                                                        .sbi_events = IS_ENABLED(CONFIG_UPMU_RISCV_SBI_EVENTS)};

    (void)context;
    upmu_riscv_cpuid(&identity, leaf, subleaf, out);
}

static struct upmu_port *native_port(void)
{
    static struct upmu_port port;

    if (IS_ENABLED(CONFIG_UPMU_RISCV_SSCOFPMF))
        upmu_riscv_port(&port);
    else
        upmu_riscv_port_without_sscofpmf(&port);
    port.cpuid = cpuid;
    return &port;
}
#endif

/* ---- CPUs ---- */

enum take_over { NOT_TRIED, TAKEN, REFUSED };

static struct upmu_machine machine;
static struct upmu_cpu cpus[CONFIG_MP_MAX_NUM_CPUS];
static struct upmu_place_work work[CONFIG_MP_MAX_NUM_CPUS];
static volatile uint8_t taken[CONFIG_MP_MAX_NUM_CPUS]; /* enum take_over; each CPU stores its own */

unsigned upmu_zephyr_number(void)
{
#ifdef CONFIG_SMP
    return arch_curr_cpu()->id;
#else
    return 0;
#endif
}

struct upmu_cpu *upmu_zephyr_cpu(unsigned number)
{
    return number < CONFIG_MP_MAX_NUM_CPUS && taken[number] == TAKEN ? &cpus[number] : NULL;
}

/* ---- Hooks ---- */

static struct upmu_cpu *this_cpu(void *context)
{
    (void)context;
    return upmu_zephyr_cpu(upmu_zephyr_number());
}

#ifdef CONFIG_TIMER_HAS_64BIT_CYCLE_COUNTER
static uint64_t clock_ns(void *context)
{
    (void)context;
    return k_cyc_to_ns_floor64(k_cycle_get_64());
}
#endif

#ifdef CONFIG_SMP
/*
 * The one call on another CPU.  The item is static: that CPU still looks at it when the thread that waited for it runs
 * again, and the next k_ipi_work_add() waits until it does not.
 */
static struct {
    struct k_ipi_work item;
    void (*function)(void *argument);
    void *argument;
} remote;
static K_MUTEX_DEFINE(remote_lock);

static void called(struct k_ipi_work *item)
{
    unsigned key = arch_irq_lock();

    (void)item;
    remote.function(remote.argument);
    arch_irq_unlock(key);
}

/* A thread that held interrupts off would wait for a CPU that may wait for this one. */
static bool may_wait(void)
{
    unsigned key = arch_irq_lock();
    bool on = arch_irq_unlocked(key);

    arch_irq_unlock(key);
    return on && !k_is_in_isr();
}

/* Run function(argument) on CPU `number` with interrupts off; false: it was not run. */
static bool call_on(unsigned number, void (*function)(void *argument), void *argument)
{
    bool done = true, sent = false;
    unsigned key;

    if (!may_wait())
        return false;
    (void)k_mutex_lock(&remote_lock, K_FOREVER);
    /* The thread stays on its CPU until the item is sent: an item for the sender's CPU is dropped. */
    key = arch_irq_lock();
    if (upmu_zephyr_number() == number) {
        function(argument);
    } else {
        remote.function = function;
        remote.argument = argument;
        sent = done = k_ipi_work_add(&remote.item, BIT(number), called) == 0;
        if (sent)
            k_ipi_work_signal();
    }
    arch_irq_unlock(key);
    if (sent)
        (void)k_ipi_work_wait(&remote.item, K_FOREVER);
    (void)k_mutex_unlock(&remote_lock);
    return done;
}

static bool run_on_cpu(void *context, struct upmu_cpu *cpu, void (*function)(void *argument), void *argument)
{
    (void)context;
    return call_on((unsigned)(cpu - cpus), function, argument);
}
#else
static bool call_on(unsigned number, void (*function)(void *argument), void *argument)
{
    unsigned key = arch_irq_lock();

    (void)number;
    function(argument);
    arch_irq_unlock(key);
    return true;
}
#endif

/* ---- The tick ---- */

static void tick_here(void)
{
    struct upmu_cpu *cpu = upmu_zephyr_cpu(upmu_zephyr_number());

    if (cpu)
        (void)!upmu_cpu_tick(cpu); /* a session that a fault stopped has `error` set */
}

#ifdef CONFIG_SMP
static struct k_ipi_work tick_item;

static void tick_sent(struct k_ipi_work *item)
{
    (void)item;
    tick_here();
}
#endif

static void tick(struct k_timer *timer)
{
    (void)timer;
    tick_here();
#ifdef CONFIG_SMP
    /* A CPU that has not yet done the former one does both at once. */
    if (k_ipi_work_add(&tick_item, BIT_MASK(arch_num_cpus()), tick_sent) == 0)
        k_ipi_work_signal();
#endif
}

static K_TIMER_DEFINE(tick_timer, tick, NULL);

/* ---- Take-over ---- */

static enum upmu_status begin_machine(void)
{
    struct upmu_port *port = native_port();

    port->this_cpu = this_cpu;
    port->pmi_rearm = NULL;
    port->log = NULL; /* it would print in switches, where a console may wake a thread */
    port->tick_ns = CONFIG_UPMU_TICK_MS * UINT64_C(1000000);
#ifdef CONFIG_TIMER_HAS_64BIT_CYCLE_COUNTER
    if (!port->clock_ns)
        port->clock_ns = clock_ns;
#endif
#ifdef CONFIG_SMP
    port->run_on_cpu = run_on_cpu;
    k_ipi_work_init(&remote.item);
    k_ipi_work_init(&tick_item);
#endif
    return upmu_machine_init(&machine, port);
}

/* On the CPU that is taken over, with interrupts off.  Without sessions nothing is placed, and 3 KiB of stack do. */
static void take_over(void *out_status)
{
    enum upmu_status *status = out_status;
    unsigned number = upmu_zephyr_number();

    *status = upmu_cpu_init(&cpus[number], &machine, NULL);
    taken[number] = *status == UPMU_OK ? TAKEN : REFUSED;
    if (*status == UPMU_OK)
        *status = upmu_cpu_use_work(&cpus[number], &work[number]);
}

static void complain(unsigned number, enum upmu_status status)
{
    char text[160];

    if (machine.why.status == status)
        upmu_why_text(&machine.why, text, sizeof text);
    printk("upmu: CPU %u is not counted: %s\n", number, machine.why.status == status ? text : upmu_status_text(status));
}

struct upmu_machine *upmu_zephyr_machine(void)
{
    static K_MUTEX_DEFINE(lock);
    static bool tried, found;

    (void)k_mutex_lock(&lock, K_FOREVER);
    if (!tried) {
        const unsigned count = IS_ENABLED(CONFIG_SMP) ? arch_num_cpus() : 1;
        enum upmu_status status = begin_machine();

        tried = true;
        if (status != UPMU_OK)
            complain(0, status);
        for (unsigned number = 0; number < count && machine.port; number++) {
            if (!call_on(number, take_over, &status))
                status = UPMU_ERR_WRONG_CPU;
            if (status == UPMU_OK)
                found = true;
            else
                complain(number, status);
        }
        if (found)
            k_timer_start(&tick_timer, K_MSEC(CONFIG_UPMU_TICK_MS), K_MSEC(CONFIG_UPMU_TICK_MS));
    }
    (void)k_mutex_unlock(&lock);
    return found ? &machine : NULL;
}

#ifndef CONFIG_UPMU_FOLLOW_THREADS
enum upmu_status upmu_zephyr_attach(struct upmu_session *session, struct k_thread *thread)
{
    (void)session;
    (void)thread;
    return UPMU_ERR_COMPILED_OUT;
}

enum upmu_status upmu_zephyr_leave(struct k_thread *thread)
{
    (void)thread;
    return UPMU_ERR_COMPILED_OUT;
}
#endif
