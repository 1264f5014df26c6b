/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo's console: simple text output and input, and a log of it all.
 */
#include <efi-demo/demo.h>

#define DEMO_CHUNK 120

static struct demo_log *log_all, *log_page;

void demo_log_all(struct demo_log *log)
{
    log_all = log;
}

void demo_log_page(struct demo_log *log)
{
    log_page = log;
}

static void keep(struct demo_log *log, char c)
{
    if (log != NULL && log->used < log->size)
        log->text[log->used++] = c;
}

void demo_write(void *context, const char *text, size_t length)
{
    CHAR16 chunk[DEMO_CHUNK + 3];
    size_t i, used = 0;

    (void)context;
    for (i = 0; i < length; i++) {
        keep(log_all, text[i]);
        keep(log_page, text[i]);
        if (text[i] == '\n')
            chunk[used++] = L'\r';
        chunk[used++] = (CHAR16)(unsigned char)text[i];
        if (used >= DEMO_CHUNK || i + 1 == length) {
            chunk[used] = 0;
            uefi_call_wrapper(ST->ConOut->OutputString, 2, ST->ConOut, chunk);
            used = 0;
        }
    }
}

/* No part of the logs: a line that other text replaces. */
void demo_progress(void *context, const char *text)
{
    static size_t shown;
    struct demo_log *const all = log_all, *const of_page = log_page;
    const size_t length = cmd_length(text);

    (void)context;
    log_all = log_page = NULL;
    demo_text("\r");
    demo_text(text);
    for (size_t i = length; i < shown; i++)
        demo_text(" ");
    if (length == 0)
        demo_text("\r");
    shown = length;
    log_all = all;
    log_page = of_page;
}

void demo_text(const char *text)
{
    demo_write(NULL, text, cmd_length(text));
}

int demo_key(void *context, unsigned wait_ms)
{
    EFI_INPUT_KEY key;
    unsigned waited;

    (void)context;
    for (waited = 0;; waited += 10) {
        if (uefi_call_wrapper(ST->ConIn->ReadKeyStroke, 2, ST->ConIn, &key) == EFI_SUCCESS)
            return key.UnicodeChar != 0 ? key.UnicodeChar : key.ScanCode == SCAN_ESC ? 27 : 0;
        if (waited >= wait_ms)
            return -1;
        uefi_call_wrapper(BS->Stall, 1, 10000);
    }
}

bool demo_line(char *line, size_t size)
{
    static const char bar[] = "page";
    size_t used = 0;
    EFI_INPUT_KEY key;
    UINTN index;

    for (;;) {
        if (uefi_call_wrapper(BS->WaitForEvent, 3, 1, &ST->ConIn->WaitForKey, &index) != EFI_SUCCESS)
            return false;
        if (uefi_call_wrapper(ST->ConIn->ReadKeyStroke, 2, ST->ConIn, &key) != EFI_SUCCESS)
            continue;
        if (key.UnicodeChar == L'\r' || key.UnicodeChar == L'\n')
            break;
        if (key.UnicodeChar == L' ' && used == 0) {
            for (; bar[used] != '\0'; used++)
                line[used] = bar[used];
            demo_write(NULL, line, used);
            break;
        }
        if (key.UnicodeChar == 8 && used > 0) {
            used--;
            demo_text("\b \b");
        } else if (key.UnicodeChar >= ' ' && key.UnicodeChar < 127 && used + 1 < size) {
            line[used++] = (char)key.UnicodeChar;
            demo_write(NULL, &line[used - 1], 1);
        }
    }
    line[used] = '\0';
    demo_text("\n");
    return true;
}
