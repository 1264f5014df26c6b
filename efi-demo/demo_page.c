/* SPDX-License-Identifier: MIT */
/*
 * The page that a person sends in: what the machine is, and whether its PMU does what upmu believes
 * of it.  It is stored before each command, too: if the machine hangs in one, the file says in which.
 */
#include <efi-demo/demo.h>

#define DEMO_PAGE_BYTES (128u * 1024u)

static const char *const commands[] = {"info", "uncore", "selftest"};
static struct demo_log page;
static size_t greeting;

void demo_page_open(const struct demo_log *shown)
{
    page.text = AllocatePool(DEMO_PAGE_BYTES);
    if (page.text == NULL)
        return;
    page.size = DEMO_PAGE_BYTES;
    greeting = shown->used < page.size ? shown->used : page.size;
    CopyMem(page.text, shown->text, greeting);
}

/* A page for each machine; the last of 99 is written over. */
static void find_name(char *name, unsigned digit)
{
    unsigned number;

    for (number = 1; number <= 99; number++) {
        name[digit] = (char)('0' + number / 10);
        name[digit + 1] = (char)('0' + number % 10);
        if (!demo_volume_has(name))
            return;
    }
}

static bool store(const char *name)
{
    return page.text != NULL && demo_volume_write(NULL, name, page.text, page.used);
}

/* The counters of a machine may be the firmware's. */
static void say_firmware(const struct shell *shell)
{
    const CHAR16 *vendor = ST->FirmwareVendor;
    char text[64];
    unsigned i = 0;

    for (; vendor != NULL && vendor[i] != 0 && i + 1 < sizeof text; i++)
        text[i] = vendor[i] >= 32 && vendor[i] < 127 ? (char)vendor[i] : '?';
    text[i] = '\0';
    shell_text(shell, "Firmware: ");
    shell_text(shell, text);
    shell_text(shell, ", revision ");
    shell_hex(shell, ST->FirmwareRevision);
    shell_text(shell, ", UEFI ");
    shell_hex(shell, ST->Hdr.Revision);
    shell_text(shell, "\n");
}

int demo_page(struct shell *shell, const char *rest)
{
    char name[] = "upmu-00.txt";
    bool stored;
    unsigned i;

    (void)rest;
    find_name(name, 5);
    page.used = greeting;
    demo_log_page(&page);
    say_firmware(shell);
    for (i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        shell_coloured(shell, CMD_PROMPT, "\nupmu> ");
        shell_text(shell, commands[i]);
        shell_text(shell, "\n");
        (void)store(name);
        (void)cmd_run_line(shell->cmd, commands[i]);
    }
    shell_text(shell, "\nend of the page\n");
    demo_log_page(NULL);
    stored = store(name);
    shell_text(shell,
               stored ? "Stored on this volume, please send it: " : "Send a photograph, this could not be stored: ");
    shell_text(shell, name);
    shell_text(shell, "\n");
    return stored ? CMD_OK : CMD_REFUSED;
}
