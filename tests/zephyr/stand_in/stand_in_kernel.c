/* SPDX-License-Identifier: MIT */
/*
 * A kernel that stands for Zephyr, in a program of the host: one processor executes for all CPUs, in the order that the
 * test chooses.  It calls the hooks of switches as Zephyr does, and ends the program at what Zephyr forbids.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "stand_in.h"

#define CPUS CONFIG_MP_MAX_NUM_CPUS
#define THREADS 4

/* Zephyr has empty ones. */
#pragma weak sys_trace_thread_switched_in_user
#pragma weak sys_trace_thread_switched_out_user
#pragma weak thread_abort_hook
void sys_trace_thread_switched_in_user(void);
void sys_trace_thread_switched_out_user(void);
void thread_abort_hook(struct k_thread *thread);

void (*stand_in_moved)(unsigned cpu);
bool stand_in_signals_wait;
unsigned stand_in_work_done, stand_in_locks_taken;

static _cpu_t numbers[CPUS];
static unsigned now; /* the executing CPU */
static struct {
    bool off; /* interrupts */
    bool in_isr;
    struct k_thread *runs;
} cpus[CPUS];
static struct k_thread idle[CPUS], main_thread;
static bool signalled; /* an interrupt for other CPUs is on its way */
static void deliver(void);
static char printed[4096];

static _Noreturn void forbidden(const char *what)
{
    printf("forbidden: %s\n", what);
    exit(2);
}

static void allow(bool condition, const char *what)
{
    if (!condition)
        forbidden(what);
}

void printk(const char *format, ...)
{
    size_t length = strlen(printed);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(printed + length, sizeof printed - length, format, arguments);
    va_end(arguments);
    fputs(printed + length, stdout);
}

const char *stand_in_printed(void)
{
    return printed;
}

/* ---- CPUs and interrupts ---- */

_cpu_t *arch_curr_cpu(void)
{
    allow(cpus[now].off || cpus[now].in_isr, "to ask for the CPU in a thread that may move");
    numbers[now].id = (uint8_t)now;
    return &numbers[now];
}

unsigned arch_num_cpus(void)
{
    return CPUS;
}

unsigned arch_irq_lock(void)
{
    unsigned key = !cpus[now].off;

    cpus[now].off = true;
    return key;
}

void arch_irq_unlock(unsigned key)
{
    if (key)
        cpus[now].off = false;
}

bool arch_irq_unlocked(unsigned key)
{
    return key != 0;
}

bool k_is_in_isr(void)
{
    return cpus[now].in_isr;
}

void stand_in_move(unsigned cpu)
{
    now = cpu;
    if (stand_in_moved)
        stand_in_moved(cpu);
}

void stand_in_interrupt(void (*function)(void *argument), void *argument)
{
    bool nested = cpus[now].in_isr;

    allow(!cpus[now].off, "the test interrupts a CPU whose interrupts are off");
    cpus[now].in_isr = true;
    function(argument);
    cpus[now].in_isr = nested;
    if (!nested)
        deliver();
}

k_spinlock_key_t k_spin_lock(struct k_spinlock *lock)
{
    k_spinlock_key_t key = {arch_irq_lock()};

    allow(!lock->taken, "to take a spin lock twice");
    lock->taken = true;
    stand_in_locks_taken++;
    return key;
}

void k_spin_unlock(struct k_spinlock *lock, k_spinlock_key_t key)
{
    allow(lock->taken, "to give a spin lock back twice");
    lock->taken = false;
    arch_irq_unlock(key.key);
}

/* ---- Time ---- */

static int64_t now_ms;
static struct k_timer *timers;

void k_timer_start(struct k_timer *timer, k_timeout_t duration, k_timeout_t period)
{
    timer->period_ms = period.ms;
    timer->due_ms = now_ms + duration.ms;
    timer->next = timers;
    timers = timer;
}

static void expire(void *argument)
{
    struct k_timer *timer = argument;

    timer->expiry(timer);
}

void stand_in_advance_ms(int64_t ms)
{
    unsigned former = now;

    for (; ms > 0; ms--) {
        now_ms++;
        for (struct k_timer *timer = timers; timer; timer = timer->next)
            if (timer->due_ms == now_ms) {
                stand_in_move(0);
                stand_in_interrupt(expire, timer);
                stand_in_move(former);
                timer->due_ms += timer->period_ms;
            }
    }
}

uint64_t k_cycle_get_64(void)
{
    return (uint64_t)now_ms * 1000;
}

uint64_t k_cyc_to_ns_floor64(uint64_t cycles)
{
    return cycles * 1000;
}

/* ---- Threads ---- */

static struct stand_in_thread {
    ucontext_t context;
    struct k_thread *of;
    k_thread_entry_t entry;
    void *arguments[3];
    bool ready;
} threads[THREADS]; /* the first is the main thread's */
static unsigned thread_count;

k_tid_t k_sched_current_thread_query(void)
{
    if (thread_count == 0) {
        threads[0] = (struct stand_in_thread){.of = &main_thread, .ready = true};
        main_thread.own = &threads[0];
        thread_count = 1;
    }
    if (!cpus[now].runs)
        cpus[now].runs = now == 0 ? &main_thread : &idle[now];
    return cpus[now].runs;
}

k_tid_t k_current_get(void)
{
    return k_sched_current_thread_query();
}

void stand_in_switch_out(void)
{
    (void)arch_irq_lock();
    if (sys_trace_thread_switched_out_user)
        sys_trace_thread_switched_out_user();
}

void stand_in_switch_in(struct k_thread *to)
{
    cpus[now].runs = to ? to : &idle[now];
    if (sys_trace_thread_switched_in_user)
        sys_trace_thread_switched_in_user();
    arch_irq_unlock(1);
}

void stand_in_switch(struct k_thread *to)
{
    stand_in_switch_out();
    stand_in_switch_in(to);
}

/* (Zephyr calls the hook with the scheduler's lock held, so that interrupts are off.) */
void stand_in_end(struct k_thread *thread)
{
    unsigned key = arch_irq_lock();

    if (thread_abort_hook)
        thread_abort_hook(thread);
    arch_irq_unlock(key);
    if (cpus[now].runs == thread)
        stand_in_switch(NULL);
}

static void begin(void)
{
    struct stand_in_thread *self = cpus[now].runs->own;

    self->entry(self->arguments[0], self->arguments[1], self->arguments[2]);
    self->ready = false;
    (void)arch_irq_lock();
    if (thread_abort_hook)
        thread_abort_hook(self->of);
    arch_irq_unlock(1);
    k_yield();
    forbidden("a thread runs after its end");
}

k_tid_t k_thread_create(struct k_thread *thread, k_thread_stack_t *stack, size_t bytes, k_thread_entry_t entry,
                        void *first, void *second, void *third, int priority, uint32_t options, k_timeout_t delay)
{
    struct stand_in_thread *own;

    (void)k_sched_current_thread_query();
    allow(thread_count < THREADS && priority == 0 && options == 0 && delay.ms == -1,
          "the stand-in has few threads, all of one priority, which are started by k_thread_start()");
    own = &threads[thread_count++];
    *own = (struct stand_in_thread){.of = thread, .entry = entry, .arguments = {first, second, third}};
    thread->own = own;
    getcontext(&own->context);
    own->context.uc_stack.ss_sp = stack;
    own->context.uc_stack.ss_size = bytes;
    makecontext(&own->context, begin, 0);
    return thread;
}

void k_thread_start(k_tid_t thread)
{
    thread->own->ready = true;
}

int k_thread_priority_get(k_tid_t thread)
{
    (void)thread;
    return 0;
}

void k_yield(void)
{
    struct stand_in_thread *self = k_current_get()->own, *next = self;

    do
        next = next + 1 == threads + thread_count ? threads : next + 1;
    while (!next->ready && next != self);
    if (next == self)
        return;
    stand_in_switch_out();
    cpus[now].runs = next->of;
    stand_in_switch_in(next->of);
    swapcontext(&self->context, &next->context);
}

int k_thread_join(k_tid_t thread, k_timeout_t timeout)
{
    (void)timeout;
    while (thread->own->ready)
        k_yield();
    return 0;
}

int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout)
{
    (void)timeout;
    allow(!cpus[now].in_isr && !cpus[now].off, "to wait for a mutex in an interrupt, or with interrupts off");
    allow(!mutex->taken, "to wait for a mutex that nothing gives back");
    mutex->taken = true;
    return 0;
}

int k_mutex_unlock(struct k_mutex *mutex)
{
    mutex->taken = false;
    return 0;
}

/* ---- Work on other CPUs ---- */

static struct k_ipi_work *items;

void k_ipi_work_init(struct k_ipi_work *work)
{
    *work = (struct k_ipi_work){.initialised = true, .next = items};
    items = work;
}

int k_ipi_work_add(struct k_ipi_work *work, uint32_t mask, void (*function)(struct k_ipi_work *work))
{
    allow(work->initialised, "to add work that was not initialised");
    allow(cpus[now].off || cpus[now].in_isr, "to add work in a thread that may move before it signals");
    if (work->due)
        return -EBUSY;
    work->due = mask & BIT_MASK(CPUS) & ~BIT(now); /* not for the CPU itself, as in Zephyr */
    work->function = function;
    return 0;
}

static void do_work(void *argument)
{
    struct k_ipi_work *work = argument;

    work->function(work);
    work->due &= ~BIT(now);
    stand_in_work_done++;
}

void k_ipi_work_signal(void)
{
    signalled = true;
}

/* Other CPUs take the interrupt, as late as they can: where this one waits for them, or goes on after an interrupt. */
static void deliver(void)
{
    unsigned former = now;

    if (!signalled || stand_in_signals_wait)
        return;
    signalled = false;
    for (unsigned cpu = 0; cpu < CPUS; cpu++)
        for (struct k_ipi_work *work = items; work; work = work->next)
            if (work->due & BIT(cpu)) {
                stand_in_move(cpu);
                stand_in_interrupt(do_work, work);
                stand_in_move(former);
            }
}

int k_ipi_work_wait(struct k_ipi_work *work, k_timeout_t timeout)
{
    allow(timeout.ms == 0 || (!cpus[now].in_isr && !cpus[now].off), "to wait in an interrupt, or with interrupts off");
    if (timeout.ms != 0)
        deliver();
    allow(timeout.ms == 0 || !work->due, "to wait for ever");
    return work->due ? -EAGAIN : 0;
}
