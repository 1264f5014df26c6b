/* SPDX-License-Identifier: MIT */
/*
 * The PMU of the hart: which counters there are, what S-mode may count, and how its memory is reached. These lines are
 * what a firmware needs for the PMU extension, besides the call in firmware_call.c.
 */
#include <examples/sbi_firmware/firmware.h>

#if defined(__riscv)

#include <port/riscv_native/riscv_csr.h>
#include <port/riscv_native/riscv_native.h>

#define MHPMCOUNTER(n) (0xb00u + (n))
#define FIRST 3u
#define ANY_COUNTER 0xfffffff8u

/*
 * QEMU counts cycles, instructions and three events of TLBs, and its numbers of events are the SBI's. On a board: rows
 * from the CPU's manual, by which the SBI's numbers become values of mhpmevent.
 */
static const struct upmu_sbi_event events[] = {
    {.first = 0x1, .last = 0x2, .counters = ANY_COUNTER, .select = 0x1},
    {.first = 0x10019, .last = 0x10019, .counters = ANY_COUNTER, .select = 0x10019},
    {.first = 0x1001b, .last = 0x1001b, .counters = ANY_COUNTER, .select = 0x1001b},
    {.first = 0x10021, .last = 0x10021, .counters = ANY_COUNTER, .select = 0x10021},
};

/* Copy between the firmware and S-mode's memory, which lies between the firmware and the end of RAM. */
static bool copy_memory(void *context, uint64_t address, void *bytes, uint32_t size, bool write)
{
    const struct firmware_hart *hart = (const struct firmware_hart *)context;
    unsigned char *local = (unsigned char *)bytes;
    volatile unsigned char *other = (volatile unsigned char *)(uintptr_t)address;

    if (address < FIRMWARE_BASE + FIRMWARE_SIZE || address > hart->ram_end || size > hart->ram_end - address)
        return false;
    for (uint32_t i = 0; i < size && local; i++)
        if (write)
            other[i] = local[i];
        else
            local[i] = other[i];
    return true;
}

static struct upmu_port port;
static struct upmu_sbi_config config = {
    .port = &port,
    .copy = copy_memory,
    .context = &firmware_hart,
    .events = events,
    .event_count = sizeof events / sizeof events[0],
    .counters = 5,
    .width = 64,
    .firmware_counters = UPMU_SBI_FIRMWARE,
};

/* No instruction tells which counters there are: those that keep what is written. */
static void find_counters(const volatile unsigned *skips)
{
    for (uint32_t n = FIRST; n < 32; n++) {
        unsigned before = *skips;
        uint64_t value = 0;

        (void)upmu_riscv_csr_write(MHPMCOUNTER(n), 0x5a5a);
        (void)upmu_riscv_csr_read(MHPMCOUNTER(n), &value);
        if (*skips == before && value >= 0x5a5a && value < 0x10000)
            config.counters |= UINT32_C(1) << n;
    }
}

void firmware_open_pmu(const volatile unsigned *skips)
{
    unsigned before = *skips;

    (void)UPMU_RV_GET("0xda0"); /* scountovf */
    config.sscofpmf = *skips == before;
    if (config.sscofpmf)
        upmu_riscv_port(&port);
    else
        upmu_riscv_port_without_sscofpmf(&port);
    find_counters(skips);
    firmware_hart.has_pmu = upmu_sbi_pmu_init(&firmware_hart.pmu, &config) == UPMU_OK;
}

#endif
