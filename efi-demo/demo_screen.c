/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo's screen: its text mode, its colours and its first line (UEFI Specification 2.10, 12.4:
 * EFI_SIMPLE_TEXT_OUTPUT_PROTOCOL).
 *
 * On a serial line the firmware makes terminal control of modes and colours; text stays text.
 */
#include <efi-demo/demo.h>

/* Room for the widest table and the longest page.  UEFI's modes are 80 x 25, 80 x 50 and the firmware's own. */
#define SCREEN_COLUMNS 100u
#define SCREEN_ROWS 30u
#define SCREEN_TITLE (EFI_WHITE | EFI_BACKGROUND_BLUE)

static const uint8_t attributes[CMD_COLOURS] = {
    [CMD_PLAIN] = EFI_LIGHTGRAY, [CMD_TITLE] = EFI_WHITE,      [CMD_PROMPT] = EFI_LIGHTGREEN,
    [CMD_NAME] = EFI_LIGHTCYAN,  [CMD_ASIDE] = EFI_CYAN,       [CMD_GOOD] = EFI_LIGHTGREEN,
    [CMD_BAD] = EFI_LIGHTRED,    [CMD_SIMULATED] = EFI_YELLOW, [CMD_BAR] = EFI_GREEN | EFI_BACKGROUND_GREEN,
};

/* The colours that were found.  The mode stays: to change it back would clear what was shown. */
static UINTN found_attribute;

void demo_colour(void *context, enum cmd_colour colour)
{
    (void)context;
    uefi_call_wrapper(ST->ConOut->SetAttribute, 2, ST->ConOut, (UINTN)attributes[colour]);
}

void demo_clear(void *context)
{
    (void)context;
    uefi_call_wrapper(ST->ConOut->ClearScreen, 1, ST->ConOut);
}

/* A mode, and how many characters it has. */
struct screen_mode {
    UINTN number, columns, rows;
};

static bool is_enough(const struct screen_mode *mode)
{
    return mode->columns >= SCREEN_COLUMNS && mode->rows >= SCREEN_ROWS;
}

/* The smallest mode that is enough: firmware may change the video mode with it, to larger letters. */
static bool is_better(const struct screen_mode *mode, const struct screen_mode *than)
{
    const UINTN cells = mode->columns * mode->rows, others = than->columns * than->rows;

    if (is_enough(mode) != is_enough(than))
        return is_enough(mode);
    return is_enough(mode) ? cells < others : cells > others;
}

/* False: the firmware tells of no mode. */
static bool choose_mode(struct screen_mode *best)
{
    struct screen_mode mode = {0, 0, 0};
    bool any = false;

    for (; mode.number < (UINTN)ST->ConOut->Mode->MaxMode; mode.number++) {
        if (uefi_call_wrapper(ST->ConOut->QueryMode, 4, ST->ConOut, mode.number, &mode.columns, &mode.rows) !=
            EFI_SUCCESS)
            continue;
        if (!any || is_better(&mode, best))
            *best = mode;
        any = true;
    }
    return any;
}

/* The title, and blanks in its colours up to the end of the line, which are no part of logs. */
static void show_title(const char *title, UINTN columns)
{
    static CHAR16 blank[] = L" ";

    uefi_call_wrapper(ST->ConOut->SetAttribute, 2, ST->ConOut, (UINTN)SCREEN_TITLE);
    demo_text(title);
    for (UINTN used = cmd_length(title); used + 1 < columns; used++)
        uefi_call_wrapper(ST->ConOut->OutputString, 2, ST->ConOut, blank);
    demo_colour(NULL, CMD_PLAIN);
    demo_text("\n");
}

void demo_screen_open(const char *title)
{
    struct screen_mode mode = {0, 80, 25};

    found_attribute = (UINTN)ST->ConOut->Mode->Attribute;
    demo_colour(NULL, CMD_PLAIN);
    if (!choose_mode(&mode) || uefi_call_wrapper(ST->ConOut->SetMode, 2, ST->ConOut, mode.number) != EFI_SUCCESS) {
        mode.columns = 80;
        demo_clear(NULL);
    }
    uefi_call_wrapper(ST->ConOut->EnableCursor, 2, ST->ConOut, (BOOLEAN)TRUE);
    demo_text("\n");
    show_title(title, mode.columns);
}

void demo_screen_close(void)
{
    uefi_call_wrapper(ST->ConOut->SetAttribute, 2, ST->ConOut, found_attribute);
}
