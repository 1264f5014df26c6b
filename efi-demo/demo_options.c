/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo's load options.
 */
#include <efi-demo/demo.h>

/* Some firmware leaves bytes there that are no text. */
bool demo_options_line(EFI_HANDLE image, char *line, size_t size)
{
    EFI_GUID guid = LOADED_IMAGE_PROTOCOL;
    EFI_LOADED_IMAGE *loaded = NULL;
    const CHAR16 *options;
    size_t i, count;

    if (uefi_call_wrapper(BS->HandleProtocol, 3, image, &guid, (void **)&loaded) != EFI_SUCCESS ||
        loaded->LoadOptions == NULL)
        return false;
    options = loaded->LoadOptions;
    count = loaded->LoadOptionsSize / sizeof *options;
    for (i = 0; i < count && i + 1 < size && options[i] != 0; i++) {
        if (options[i] < 32 || options[i] > 126)
            return false;
        line[i] = (char)options[i];
    }
    line[i] = '\0';
    return i != 0;
}
