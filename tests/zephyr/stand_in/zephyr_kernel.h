/* SPDX-License-Identifier: MIT */
/*
 * What upmu's module and its sample need of Zephyr's kernel, as a program of the host (stand_in_kernel.c).  Names and
 * arguments are Zephyr's; everything else is our own.  A use that Zephyr forbids ends the program.
 */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIT(n) (1u << (n))
#define BIT_MASK(n) (BIT(n) - 1u)
#define ARG_UNUSED(x) (void)(x)

/* IS_ENABLED(CONFIG_X): 1 if it is defined as 1. */
#define STAND_IN_ONE_1 unused,
#define STAND_IN_SECOND(first, second, ...) second
#define STAND_IN_LOOK(junk) STAND_IN_SECOND(junk 1, 0, unused)
#define STAND_IN_PASTE(value) STAND_IN_LOOK(STAND_IN_ONE_##value)
#define IS_ENABLED(option) STAND_IN_PASTE(option)

/* LISTIFY(n, F, (;)): F(0, unused); ...  Here up to 2. */
#define STAND_IN_LIST_1(function) function(0, unused)
#define STAND_IN_LIST_2(function)                                                                                      \
    function(0, unused);                                                                                               \
    function(1, unused)
#define STAND_IN_LIST(count, function) STAND_IN_LIST_##count(function)
#define LISTIFY(count, function, separator) STAND_IN_LIST(count, function)

void printk(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- CPUs and interrupts ---- */

typedef struct {
    uint8_t id;
} _cpu_t;

_cpu_t *arch_curr_cpu(void);
unsigned arch_num_cpus(void);
unsigned arch_irq_lock(void);
void arch_irq_unlock(unsigned key);
bool arch_irq_unlocked(unsigned key);
bool k_is_in_isr(void);

struct k_spinlock {
    bool taken;
};
typedef struct {
    unsigned key;
} k_spinlock_key_t;

k_spinlock_key_t k_spin_lock(struct k_spinlock *lock);
void k_spin_unlock(struct k_spinlock *lock, k_spinlock_key_t key);

/* ---- Time ---- */

typedef struct {
    int64_t ms; /* -1: for ever */
} k_timeout_t;

#define K_MSEC(n) ((k_timeout_t){(n)})
#define K_NO_WAIT ((k_timeout_t){0})
#define K_FOREVER ((k_timeout_t){-1})

struct k_timer {
    void (*expiry)(struct k_timer *timer);
    void (*stop)(struct k_timer *timer);
    int64_t period_ms, due_ms;
    struct k_timer *next;
};

#define K_TIMER_DEFINE(name, expiry_function, stop_function)                                                           \
    struct k_timer name = {.expiry = (expiry_function), .stop = (stop_function)}

void k_timer_start(struct k_timer *timer, k_timeout_t duration, k_timeout_t period);
uint64_t k_cycle_get_64(void);
uint64_t k_cyc_to_ns_floor64(uint64_t cycles);

/* ---- Threads ---- */

struct k_thread {
    struct stand_in_thread *own; /* NULL: it has no stack; the test says when it runs */
};
typedef struct k_thread *k_tid_t;
typedef char k_thread_stack_t;
typedef void (*k_thread_entry_t)(void *first, void *second, void *third);

#define K_THREAD_STACK_DEFINE(name, bytes) k_thread_stack_t name[bytes]
#define K_THREAD_STACK_SIZEOF(name) sizeof(name)

k_tid_t k_thread_create(struct k_thread *thread, k_thread_stack_t *stack, size_t bytes, k_thread_entry_t entry,
                        void *first, void *second, void *third, int priority, uint32_t options, k_timeout_t delay);
void k_thread_start(k_tid_t thread);
int k_thread_join(k_tid_t thread, k_timeout_t timeout);
int k_thread_priority_get(k_tid_t thread);
void k_yield(void);
k_tid_t k_current_get(void);
k_tid_t k_sched_current_thread_query(void);

struct k_mutex {
    bool taken;
};

#define K_MUTEX_DEFINE(name) struct k_mutex name = {.taken = false}

int k_mutex_lock(struct k_mutex *mutex, k_timeout_t timeout);
int k_mutex_unlock(struct k_mutex *mutex);

/* ---- Work on other CPUs ---- */

struct k_ipi_work {
    bool initialised;
    uint32_t due; /* bit n: CPU n has not done it */
    void (*function)(struct k_ipi_work *work);
    struct k_ipi_work *next;
};

void k_ipi_work_init(struct k_ipi_work *work);
int k_ipi_work_add(struct k_ipi_work *work, uint32_t cpus, void (*function)(struct k_ipi_work *work));
void k_ipi_work_signal(void);
int k_ipi_work_wait(struct k_ipi_work *work, k_timeout_t timeout);

#endif
