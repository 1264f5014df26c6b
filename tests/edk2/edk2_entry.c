/* SPDX-License-Identifier: MIT */
/*
 * The entry that GNU-EFI's start-up code calls, in the place of EDK II's UefiApplicationEntryPoint.
 */
#include <efi.h>
#include <efilib.h>

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);
EFI_STATUS EFIAPI UefiMain(EFI_HANDLE image, EFI_SYSTEM_TABLE *table);

EFI_STATUS efi_main(EFI_HANDLE image, EFI_SYSTEM_TABLE *table)
{
    InitializeLib(image, table);
    return UefiMain(image, table);
}
