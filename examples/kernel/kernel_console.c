/* SPDX-License-Identifier: MIT */
/*
 * The example kernel's console: what it says goes to COM1 (16550, 115200 8n1) and to the
 * VGA text screen; what it hears comes from COM1 and from a PS/2 keyboard, polled.
 */
#include <examples/kernel/kernel.h>

#define COM1 0x3f8u
#define COM_LINE_STATUS (COM1 + 5)
#define COM_RECEIVED 0x01u
#define COM_CAN_SEND 0x20u
#define COM_ALL_SENT 0x40u
#define COM_PATIENCE 100000u

#define SCREEN_COLUMNS 80u
#define SCREEN_ROWS 25u
#define SCREEN_CELLS (SCREEN_COLUMNS * SCREEN_ROWS)
#define SCREEN_BLANK 0x0720u /* light grey on black */

#define KEYBOARD 0x60u
#define KEYBOARD_STATUS 0x64u

static volatile uint16_t *const screen = (volatile uint16_t *)(uintptr_t)0xb8000;
static unsigned screen_at;
static bool shifted;
static bool serial_gone;

/* US layout, scan code set 1; first plain, then shifted. */
static const char keys[2][0x3a] = {
    "\0\0331234567890-=\b\tqwertyuiop[]\n\0asdfghjkl;'`\0\\zxcvbnm,./\0*\0 ",
    "\0\033!@#$%^&*()_+\b\tQWERTYUIOP{}\n\0ASDFGHJKL:\"~\0|ZXCVBNM<>?\0*\0 ",
};

static void screen_scroll(void)
{
    unsigned i;

    for (i = 0; i < SCREEN_CELLS - SCREEN_COLUMNS; i++)
        screen[i] = screen[i + SCREEN_COLUMNS];
    for (; i < SCREEN_CELLS; i++)
        screen[i] = SCREEN_BLANK;
    screen_at -= SCREEN_COLUMNS;
}

static void screen_cursor(void)
{
    kernel_out8(0x3d4, 0x0e);
    kernel_out8(0x3d5, (uint8_t)(screen_at >> 8));
    kernel_out8(0x3d4, 0x0f);
    kernel_out8(0x3d5, (uint8_t)screen_at);
}

static void screen_put(char c)
{
    if (c == '\n')
        screen_at += SCREEN_COLUMNS - screen_at % SCREEN_COLUMNS;
    else if (c == '\b')
        screen_at -= screen_at % SCREEN_COLUMNS != 0 ? 1 : 0;
    else if ((unsigned char)c >= ' ')
        screen[screen_at++] = (uint16_t)(0x0700u | (unsigned char)c);
    if (screen_at >= SCREEN_CELLS)
        screen_scroll();
}

/* Waits, but not for a port that was never ready: there may be none. */
static void serial_wait(uint8_t wanted)
{
    unsigned i;

    for (i = 0; !serial_gone && !(kernel_in8(COM_LINE_STATUS) & wanted); i++)
        serial_gone = i == COM_PATIENCE;
}

static void serial_put(char c)
{
    serial_wait(COM_CAN_SEND);
    kernel_out8(COM1, (uint8_t)c);
}

void kernel_console_open(void)
{
    kernel_out8(COM1 + 1, 0);    /* no interrupts */
    kernel_out8(COM1 + 3, 0x80); /* divisor: 115200 / 1 */
    kernel_out8(COM1, 1);
    kernel_out8(COM1 + 1, 0);
    kernel_out8(COM1 + 3, 0x03); /* 8n1 */
    kernel_out8(COM1 + 2, 0x07); /* FIFOs on, emptied */
    kernel_out8(COM1 + 4, 0x03); /* DTR, RTS */
    kernel_clear(NULL);
}

void kernel_write(void *context, const char *text, size_t length)
{
    size_t i;

    (void)context;
    for (i = 0; i < length; i++) {
        if (text[i] == '\n')
            serial_put('\r');
        serial_put(text[i]);
        screen_put(text[i]);
    }
    screen_cursor();
}

void kernel_clear(void *context)
{
    unsigned i;

    (void)context;
    for (i = 0; i < SCREEN_CELLS; i++)
        screen[i] = SCREEN_BLANK;
    screen_at = 0;
    screen_cursor();
}

void kernel_flush(void)
{
    serial_wait(COM_ALL_SENT);
}

/* -1: nothing.  A status of all ones means that there is no device. */
static int serial_get(void)
{
    uint8_t status = kernel_in8(COM_LINE_STATUS);

    if (status == 0xff || !(status & COM_RECEIVED))
        return -1;
    status = kernel_in8(COM1);
    return status == '\r' ? '\n' : status == 0x7f ? '\b' : status;
}

static int keyboard_get(void)
{
    uint8_t status = kernel_in8(KEYBOARD_STATUS), code;

    if (status == 0xff || (status & 0x21u) != 0x01u) /* bit 5: the mouse's */
        return -1;
    code = kernel_in8(KEYBOARD);
    if ((code & 0x7fu) == 0x2a || (code & 0x7fu) == 0x36)
        shifted = code < 0x80;
    else if (code < sizeof keys[0] && keys[0][code] != '\0')
        return keys[shifted ? 1 : 0][code];
    return -1;
}

static int get(void)
{
    int c = serial_get();

    return c >= 0 ? c : keyboard_get();
}

int kernel_key(void *context, unsigned wait_ms)
{
    unsigned i;
    int c;

    (void)context;
    for (;;) {
        c = get();
        if (c >= 0 || wait_ms == 0)
            return c;
        for (i = 0; i < 1000; i++) /* about a microsecond each */
            kernel_out8(0x80, 0);
        wait_ms--;
    }
}

bool kernel_read_line(char *line, size_t size)
{
    size_t used = 0;

    for (;;) {
        int c = get();

        if (c < 0) {
            __asm__ volatile("pause");
            continue;
        }
        if (c == '\n')
            break;
        if (c == '\b' && used > 0) {
            used--;
            kernel_write(NULL, "\b \b", 3);
        } else if (c >= ' ' && c < 127 && used + 1 < size) {
            line[used++] = (char)c;
            kernel_write(NULL, &line[used - 1], 1);
        }
    }
    line[used] = '\0';
    kernel_write(NULL, "\n", 1);
    return true;
}
