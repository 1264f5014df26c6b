/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo's files.  An application that the firmware started from a kernel
 * image in memory has a volume that cannot be written, and disks are not
 * connected: then the first volume that takes a file is used.  One that came from
 * a disk writes to no other: a stick may be write-protected.
 */
#include <efi-demo/demo.h>

#define DEMO_NAME 96

static EFI_FILE_HANDLE volume;

static void wide_name(CHAR16 *wide, const char *name)
{
    unsigned i, used = 0;

    if (name[0] != '\\' && name[0] != '/')
        wide[used++] = L'\\';
    for (i = 0; name[i] != '\0' && used < DEMO_NAME - 1; i++)
        wide[used++] = name[i] == '/' ? L'\\' : (CHAR16)(unsigned char)name[i];
    wide[used] = 0;
}

static EFI_FILE_HANDLE open_in(EFI_FILE_HANDLE root, const char *name, UINT64 mode)
{
    CHAR16 wide[DEMO_NAME];
    EFI_FILE_HANDLE file = NULL;

    wide_name(wide, name);
    if (root == NULL || uefi_call_wrapper(root->Open, 5, root, &file, wide, mode, (UINT64)0) != EFI_SUCCESS)
        return NULL;
    return file;
}

static EFI_FILE_HANDLE root_of(EFI_HANDLE device)
{
    EFI_GUID guid = SIMPLE_FILE_SYSTEM_PROTOCOL;
    EFI_FILE_IO_INTERFACE *interface = NULL;
    EFI_FILE_HANDLE root = NULL;

    if (device == NULL ||
        uefi_call_wrapper(BS->HandleProtocol, 3, device, &guid, (void **)&interface) != EFI_SUCCESS ||
        uefi_call_wrapper(interface->OpenVolume, 2, interface, &root) != EFI_SUCCESS)
        return NULL;
    return root;
}

static bool takes_files(EFI_FILE_HANDLE root)
{
    EFI_FILE_HANDLE file =
        open_in(root, "upmu.tmp", EFI_FILE_MODE_CREATE | EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE);

    if (file != NULL)
        uefi_call_wrapper(file->Delete, 1, file);
    return file != NULL;
}

static void connect_all(void)
{
    EFI_HANDLE *handles = NULL;
    UINTN count = 0, i;

    if (uefi_call_wrapper(BS->LocateHandleBuffer, 5, AllHandles, NULL, NULL, &count, &handles) != EFI_SUCCESS)
        return;
    for (i = 0; i < count; i++)
        uefi_call_wrapper(BS->ConnectController, 4, handles[i], NULL, NULL, TRUE);
    FreePool(handles);
}

static EFI_FILE_HANDLE any_writable(void)
{
    EFI_GUID guid = SIMPLE_FILE_SYSTEM_PROTOCOL;
    EFI_HANDLE *handles = NULL;
    EFI_FILE_HANDLE found = NULL;
    UINTN count = 0, i;

    if (uefi_call_wrapper(BS->LocateHandleBuffer, 5, ByProtocol, &guid, NULL, &count, &handles) != EFI_SUCCESS)
        return NULL;
    for (i = 0; i < count && found == NULL; i++) {
        EFI_FILE_HANDLE root = root_of(handles[i]);

        if (root != NULL && takes_files(root))
            found = root;
    }
    FreePool(handles);
    return found;
}

static bool is_on_a_disk(EFI_HANDLE device)
{
    EFI_GUID guid = BLOCK_IO_PROTOCOL;
    void *interface;

    return device != NULL && uefi_call_wrapper(BS->HandleProtocol, 3, device, &guid, &interface) == EFI_SUCCESS;
}

void demo_volume_open(EFI_HANDLE image)
{
    EFI_GUID guid = LOADED_IMAGE_PROTOCOL;
    EFI_LOADED_IMAGE *loaded = NULL;

    if (uefi_call_wrapper(BS->HandleProtocol, 3, image, &guid, (void **)&loaded) == EFI_SUCCESS)
        volume = root_of(loaded->DeviceHandle);
    if ((volume == NULL || !takes_files(volume)) && (loaded == NULL || !is_on_a_disk(loaded->DeviceHandle))) {
        EFI_FILE_HANDLE other;

        connect_all();
        other = any_writable();
        if (other != NULL)
            volume = other;
    }
}

char *demo_volume_read(const char *name, size_t *out_bytes)
{
    EFI_FILE_HANDLE file = open_in(volume, name, EFI_FILE_MODE_READ);
    EFI_FILE_INFO *info;
    char *text = NULL;
    UINTN bytes;

    if (file == NULL)
        return NULL;
    info = LibFileInfo(file);
    bytes = info != NULL ? (UINTN)info->FileSize : 0;
    if (info != NULL && (text = AllocatePool(bytes + 1)) != NULL) {
        if (uefi_call_wrapper(file->Read, 3, file, &bytes, text) != EFI_SUCCESS)
            bytes = 0;
        text[bytes] = '\0';
        *out_bytes = bytes;
    }
    if (info != NULL)
        FreePool(info);
    uefi_call_wrapper(file->Close, 1, file);
    return text;
}

bool demo_volume_has(const char *name)
{
    EFI_FILE_HANDLE file = open_in(volume, name, EFI_FILE_MODE_READ);

    if (file != NULL)
        uefi_call_wrapper(file->Close, 1, file);
    return file != NULL;
}

bool demo_volume_write(void *context, const char *name, const void *bytes, size_t length)
{
    EFI_FILE_HANDLE file = open_in(volume, name, EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE);
    UINTN written = length;
    bool good;

    (void)context;
    if (file != NULL) /* an older one may be longer */
        uefi_call_wrapper(file->Delete, 1, file);
    file = open_in(volume, name, EFI_FILE_MODE_CREATE | EFI_FILE_MODE_READ | EFI_FILE_MODE_WRITE);
    if (file == NULL)
        return false;
    good = uefi_call_wrapper(file->Write, 3, file, &written, (void *)(UINTN)bytes) == EFI_SUCCESS &&
           written == length;
    good = uefi_call_wrapper(file->Close, 1, file) == EFI_SUCCESS && good;
    return good;
}
