/* SPDX-License-Identifier: MIT */
/*
 * The unprivileged half: the whole library as a process of user mode.  Three hooks are enough to count; a fault is an
 * answer.
 */
#include <examples/split/split_driver.h>

static bool ask(struct split_driver *driver, uint32_t operation, uint32_t number, uint64_t *value)
{
    struct split_message message = {.operation = operation, .number = number, .value = *value};

    driver->messages++;
    if (!driver->exchange(driver->context, &message))
        return false;
    /* To the library a counter of another client is in use by other software, which it leaves alone. */
    if (operation == SPLIT_RDMSR && message.answer == SPLIT_OTHERS)
        message.value = ~UINT64_C(0);
    else if (message.answer != SPLIT_OK)
        return false;
    *value = message.value;
    return true;
}

static bool driver_rdmsr(void *context, uint32_t msr, uint64_t *out_value)
{
    *out_value = 0;
    return ask(context, SPLIT_RDMSR, msr, out_value);
}

static bool driver_wrmsr(void *context, uint32_t msr, uint64_t value)
{
    return ask(context, SPLIT_WRMSR, msr, &value);
}

static void driver_allow_rdpmc(void *context, bool allow)
{
    uint64_t value = allow;

    (void)ask(context, SPLIT_SETPCE, 0, &value);
}

bool split_level0(struct split_driver *driver, enum split_function function, uint64_t *value)
{
    return ask(driver, SPLIT_LEVEL0, function, value);
}

void split_driver_init(struct split_driver *driver, bool (*exchange)(void *context, struct split_message *message),
                       void *context, void (*cpuid)(void *, uint32_t, uint32_t, uint32_t[4]),
                       bool (*rdpmc)(void *, uint32_t, uint64_t *))
{
    *driver = (struct split_driver){.exchange = exchange,
                                    .context = context,
                                    .port = {.context = driver,
                                             .rdmsr = driver_rdmsr,
                                             .wrmsr = driver_wrmsr,
                                             .cpuid = cpuid,
                                             .rdpmc = rdpmc,
                                             .allow_rdpmc = driver_allow_rdpmc,
                                             .msr_faults_are_safe = true}};
}
