/* SPDX-License-Identifier: MIT */
/*
 * Text output and plain arithmetic for the commands, without a C library.
 */
#ifndef UPMU_CMD_PRINT_H
#define UPMU_CMD_PRINT_H

#include <tools/cmd/cmd.h>

/*
 * A small printf.  %s text, %c character, %u unsigned, %x unsigned in hex, %U
 * uint64_t, %G uint64_t with thousands separators, %X uint64_t in hex, %%; '-' and
 * a width (or '*') before the letter pad with blanks, '0' with zeros.
 */
void cmd_print(struct cmd *cmd, const char *format, ...);

/* Text that follows is of this kind; without effect on consoles without colours. */
void cmd_colour(const struct cmd *cmd, enum cmd_colour colour);

/* cmd_print() in a colour; plain text follows. */
void cmd_coloured(struct cmd *cmd, enum cmd_colour colour, const char *format, ...);

/* A bar of '#' for `part` of `whole`, which has `width`; at least one if `part` is not 0. */
void cmd_bar(struct cmd *cmd, uint64_t part, uint64_t whole, unsigned width);

/* cmd_print() to the error sink, behind "PROGRAM: "; ends the line. */
void cmd_error(struct cmd *cmd, const char *format, ...);

/* cmd_print() into the file buffer; false when it is full. */
bool cmd_file_print(struct cmd *cmd, const char *format, ...);

/* Blanks up to this column (from 0). */
void cmd_column(struct cmd *cmd, unsigned column);

/* A value given in thousandths: "1.234", with 0 to 3 decimals. */
void cmd_milli(struct cmd *cmd, uint64_t thousandths, unsigned decimals);

/* Text as a JSON string, with its quotes. */
void cmd_json_text(struct cmd *cmd, const char *text);

/* Quotient, rounded down; 0 for a division by 0. */
uint64_t cmd_divide(uint64_t value, uint64_t by);

/* value * factor / by; saturates, and does not overflow in between. */
uint64_t cmd_scale(uint64_t value, uint64_t factor, uint64_t by);

/* Integer square root. */
uint64_t cmd_root(uint64_t value);

size_t cmd_length(const char *text);
bool cmd_equal(const char *a, const char *b);

/* Do these bytes begin with the other text? */
bool cmd_begins(const char *bytes, size_t length, const char *text);

/* Is the other text a part of it? */
bool cmd_contains(const char *text, const char *part);

/* A number in decimal or 0x hex with k, m, g behind it for thousands; false if not. */
bool cmd_number(const char *text, uint64_t *out_value);

#endif
