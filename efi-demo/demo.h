/* SPDX-License-Identifier: MIT */
/*
 * The UEFI demo's console, screen, files and program flow.
 */
#ifndef UPMU_DEMO_H
#define UPMU_DEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <efi.h>
#include <efilib.h>
#include <examples/common/common.h>
#include <tools/cmd/cmd_args.h>

/* ---- demo_console.c ---- */

/* Text that was shown, up to `size` bytes. */
struct demo_log {
    char *text;
    size_t size, used;
};

/* Text to the screen and the logs; "\n" becomes CR LF on the screen. */
void demo_write(void *context, const char *text, size_t length);
void demo_text(const char *text);

/* A sink's function. */
void demo_progress(void *context, const char *text);

/* Keep all text that is written from now on in `log`, too; NULL: in none. */
void demo_log_all(struct demo_log *log);
void demo_log_page(struct demo_log *log);

/* A key within so many milliseconds, or -1. */
int demo_key(void *context, unsigned wait_ms);

/* A line with echo; false when the console is gone.  The space bar alone stands for the line "page". */
bool demo_line(char *line, size_t size);

/* ---- demo_screen.c ---- */

/* Choose a text mode, clear the screen, show the title. */
void demo_screen_open(const char *title);

/* Leave the colours as they were found. */
void demo_screen_close(void);

/* A sink's functions. */
void demo_colour(void *context, enum cmd_colour colour);
void demo_clear(void *context);

/* ---- demo_volume.c ---- */

/* Find the volume that `image` came from, or any that can be written to. */
void demo_volume_open(EFI_HANDLE image);

/* A whole file in memory (NUL behind it), or NULL; free with FreePool(). */
char *demo_volume_read(const char *name, size_t *out_bytes);

bool demo_volume_has(const char *name);
bool demo_volume_write(void *context, const char *name, const void *bytes, size_t length);

/* ---- demo_page.c ---- */

/* `shown`, what was shown when the machine was brought up, begins each page. */
void demo_page_open(const struct demo_log *shown);

/* The command "page": all that is to be sent in, shown and stored in the first free one of upmu-01.txt, ... */
int demo_page(struct shell *shell, const char *rest);

/* ---- demo_x86.c, demo_arm64.c: the one for the executing CPU ---- */

/* Install the port and say how it does; fills in what `live` has of interrupts. */
const struct upmu_port *demo_port_open(struct shell *shell, struct cmd_live *live, struct upmu_cpu *cpu);

/* Try the port on the CPU, which is brought up and has a PMU: on an emulator without interrupts `live` has a remedy. */
void demo_port_try(struct shell *shell, struct cmd_live *live);

/* After upmu_cpu_fini(). */
void demo_port_close(void);

/* ---- demo_main.c ---- */

/* The port's hook `log`. */
void demo_hook_log(void *context, const char *line);

/* ---- demo_pci.c ---- */

/* Aligned 32 bits of configuration space through the firmware (upmu_efi_units()). */
bool demo_pci_access(void *context, uint32_t where, uint32_t offset, bool write, uint32_t *value);

/* ---- demo_options.c ---- */

/* The load options of `image` as text; false: none. */
bool demo_options_line(EFI_HANDLE image, char *line, size_t size);

#endif
