/* SPDX-License-Identifier: MIT */
/*
 * UpmuStat, an application of EDK II: counts the events of a list in work(), or says why it cannot.  tools/edk2.py
 * copies this file into UpmuPkg.
 */
#include <Uefi.h>
#include <Library/UefiBootServicesTableLib.h>
#include <Library/UefiLib.h>

#include <upmu/cpu.h>
#include <upmu/event.h>
#ifdef __aarch64__
#include <port/efi_arm64/efi_arm64.h>
#else
#include <port/efi/efi_port.h>
#endif

EFI_STATUS EFIAPI UefiMain(IN EFI_HANDLE ImageHandle, IN EFI_SYSTEM_TABLE *SystemTable);

static struct upmu_machine machine;
static struct upmu_cpu cpu;
static struct upmu_region region;

#ifdef __aarch64__
static struct upmu_efi_arm64 efi;

static enum upmu_status open_port(void)
{
    return upmu_efi_arm64_open(&efi, NULL, UPMU_EFI_ARM64_SOURCE);
}

static void close_port(void)
{
    upmu_efi_arm64_close(&efi);
}
#else
static struct upmu_efi efi;

static void stall(void *context, unsigned microseconds)
{
    (void)context;
    gBS->Stall(microseconds);
}

static enum upmu_status open_port(void)
{
    return upmu_efi_open(&efi, stall, NULL, 0);
}

static void close_port(void)
{
    upmu_efi_close(&efi);
}
#endif

/* The events to count: docs/EVENTS.md. */
static const char events[] = "instructions,cycles";

/* The code to measure. */
static void work(void)
{
    for (volatile unsigned i = 0; i < 100000; i++)
        ;
}

/* Print the count of each event, and the quality of a count that is not exact. */
static void print_counts(void)
{
    static const char *const quality[] = {"", " (scaled)", " (partial)", " (never ran)", " (unproven)"};
    struct upmu_spec spec;
    size_t cursor = 0;
    char name[64];

    for (unsigned i = 0; i < region.events && upmu_spec_next(events, &cursor, &spec, NULL) == UPMU_OK; i++) {
        (void)upmu_spec_format(&spec, name, sizeof name);
        Print(L"%lu %a%a\n", region.count[i].value, name, quality[region.count[i].quality]);
    }
}

static enum upmu_status measure(void)
{
    enum upmu_status status = upmu_region_open(&region, &cpu, events);

    if (status == UPMU_OK)
        status = upmu_region_begin(&region);
    work();
    if (status == UPMU_OK)
        status = upmu_region_end(&region);
    if (status == UPMU_OK)
        print_counts();
    (void)upmu_region_close(&region);
    return status;
}

EFI_STATUS EFIAPI UefiMain(IN EFI_HANDLE ImageHandle, IN EFI_SYSTEM_TABLE *SystemTable)
{
    enum upmu_status status = open_port();
    char why[200];

    (void)ImageHandle;
    (void)SystemTable;
    if (status != UPMU_OK) {
        Print(L"upmu: %a\n", upmu_status_text(status));
        return EFI_DEVICE_ERROR;
    }
    efi.cpu = &cpu;
    if ((status = upmu_machine_init(&machine, &efi.port)) == UPMU_OK &&
        (status = upmu_cpu_init(&cpu, &machine, NULL)) == UPMU_OK) {
        status = measure();
        (void)!upmu_cpu_fini(&cpu);
    }
    close_port();
    if (status == UPMU_OK)
        return EFI_SUCCESS;
    if (machine.why.status || region.session.why.status)
        upmu_why_text(machine.why.status ? &machine.why : &region.session.why, why, sizeof why);
    Print(L"upmu: %a\n", machine.why.status || region.session.why.status ? why : upmu_status_text(status));
    return EFI_UNSUPPORTED;
}
