/* SPDX-License-Identifier: MIT */
/*
 * Two harts as threads that share a configuration and S-mode's memory, which a third thread changes at any moment: a
 * program for ThreadSanitizer, without suppressions. Each hart makes random calls, and each answer and counter is the
 * model's. GUEST_OPERATIONS=N: so many calls of each hart.
 */
#define HART_STORAGE _Thread_local

#include <pthread.h>

#include "tests/guest/operations.h"
#include "tests/guest/sbi_pair.h"

#define HARTS 2u
#define LIFE 3000u

static uint8_t ram[HART_RAM_SIZE];
static struct upmu_sbi_config config;
static unsigned long long calls;
static bool over;
static pthread_barrier_t all;

/* Memory of S-mode is accessed byte by byte, as a hart may do that has no other order. */
static bool copy(void *context, uint64_t address, void *bytes, uint32_t size, bool write)
{
    uint8_t *to = bytes, *at = ram + (address - HART_RAM);

    if (context || address < HART_RAM || size > HART_RAM_SIZE || address - HART_RAM > HART_RAM_SIZE - size)
        return false;
    for (uint32_t i = 0; to && i < size; i++) {
        if (write)
            __atomic_store_n(&at[i], to[i], __ATOMIC_RELAXED);
        else
            to[i] = __atomic_load_n(&at[i], __ATOMIC_RELAXED);
    }
    return true;
}

static const struct upmu_port port = {.rdmsr = hart_read, .wrmsr = hart_write};

static void *change_memory(void *argument)
{
    uint64_t seed = 77;

    (void)argument;
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        __atomic_store_n(&ram[seed % sizeof ram], (uint8_t)(seed >> 40), __ATOMIC_RELAXED);
        __atomic_store_n(&ram[(seed >> 20) % 256], (uint8_t)(seed >> 48 & 0x0f), __ATOMIC_RELAXED);
    }
    return NULL;
}

/* All harts have stopped: one of them decides what they have next. */
static void next_life(struct sbi_pair *pair)
{
    if (pthread_barrier_wait(&all) == PTHREAD_BARRIER_SERIAL_THREAD) {
        sbi_pair_config(pair, &config);
        config.port = &port;
        config.copy = copy;
    }
    (void)pthread_barrier_wait(&all);
    if (!sbi_pair_begin(pair, &config))
        (void)snprintf(pair->wrong, sizeof pair->wrong, "upmu_sbi_pmu_init() fails");
}

static void *run_hart(void *argument)
{
    struct sbi_pair *pair = argument;

    for (unsigned long long step = 0; step < calls; step++) {
        if (step % LIFE == 0)
            next_life(pair);
        if (pair->wrong[0])
            continue; /* (The other one waits for this one at each life.) */
        if (sbi_pair_below(pair, 3) == 0)
            sbi_pair_pass_time(pair);
        (void)sbi_pair_call(pair);
        if (step % 4 == 0)
            sbi_pair_compare(pair);
    }
    return NULL;
}

int main(void)
{
    static struct sbi_pair pair[HARTS];
    pthread_t hart_thread[HARTS], changes;
    bool fine = true;

    calls = guest_operations(20000, 3000000);
    (void)pthread_barrier_init(&all, NULL, HARTS);
    if (pthread_create(&changes, NULL, change_memory, NULL))
        return 2;
    for (unsigned i = 0; i < HARTS; i++) {
        pair[i].seed = 1 + i;
        pair[i].memory_changes = true;
        if (pthread_create(&hart_thread[i], NULL, run_hart, &pair[i]))
            return 2;
    }
    for (unsigned i = 0; i < HARTS; i++) {
        (void)pthread_join(hart_thread[i], NULL);
        if (pair[i].wrong[0])
            printf("hart %u: %s\n", i, pair[i].wrong);
        fine &= !pair[i].wrong[0];
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    (void)pthread_join(changes, NULL);
    guest_operations_made("of the SBI, by two threads", HARTS * calls);
    printf("[  %s ] harts_that_are_threads_share_nothing_but_memory\n", fine ? "     OK" : "FAILED");
    return !fine;
}
