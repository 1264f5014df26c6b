/* SPDX-License-Identifier: MIT */
/*
 * Text output and plain arithmetic for the commands.
 */
#include <stdarg.h>
#include <tools/cmd/cmd_args.h>

/* Where formatted text goes: the console's sink or the file buffer. */
struct cmd_out {
    struct cmd *cmd;
    bool to_file;
    bool full;
};

static void out_bytes(struct cmd_out *out, const char *text, size_t length)
{
    struct cmd *cmd = out->cmd;
    size_t i;

    if (out->to_file) {
        for (i = 0; i < length; i++) {
            if (cmd->file_bytes >= sizeof cmd->file) {
                out->full = true;
                return;
            }
            cmd->file[cmd->file_bytes++] = text[i];
        }
        return;
    }
    cmd_progress_hide(cmd);
    if (cmd->to_errors && cmd->sink->write_error != NULL)
        cmd->sink->write_error(cmd->sink->context, text, length);
    else
        cmd->sink->write(cmd->sink->context, text, length);
    for (i = 0; i < length; i++)
        cmd->column = text[i] == '\n' ? 0 : cmd->column + 1;
}

static void out_padded(struct cmd_out *out, const char *text, size_t length, int width, bool left, char fill)
{
    size_t pad = width > 0 && (size_t)width > length ? (size_t)width - length : 0;
    size_t i;

    if (left)
        out_bytes(out, text, length);
    for (i = 0; i < pad; i++)
        out_bytes(out, &fill, 1);
    if (!left)
        out_bytes(out, text, length);
}

/* Decimal digits from the end of buffer[28]; returns the first. */
static char *decimal_digits(char *buffer, uint64_t value, bool grouped)
{
    char *p = buffer + 28;
    unsigned digits = 0;

    do {
        uint64_t tenth = cmd_divide(value, 10);

        if (grouped && digits != 0 && digits % 3 == 0)
            *--p = ',';
        *--p = (char)('0' + (unsigned)(value - tenth * 10));
        value = tenth;
        digits++;
    } while (value != 0);
    return p;
}

static char *hex_digits(char *buffer, uint64_t value)
{
    char *p = buffer + 28;

    do {
        *--p = "0123456789abcdef"[value & 15u];
        value >>= 4;
    } while (value != 0);
    return p;
}

/* Print the directive behind '%'; returns the position after it. */
static const char *out_directive(struct cmd_out *out, const char *format, va_list *list)
{
    char buffer[28];
    const char *text = buffer;
    bool left = *format == '-';
    char fill = ' ';
    int width = 0;

    if (left)
        format++;
    if (*format == '0')
        fill = '0';
    if (*format == '*') {
        width = va_arg(*list, int);
        format++;
    }
    while (*format >= '0' && *format <= '9')
        width = width * 10 + (*format++ - '0');
    switch (*format) {
    case 's':
        text = va_arg(*list, const char *);
        out_padded(out, text, cmd_length(text), width, left, fill);
        return format + 1;
    case 'c':
        buffer[0] = (char)va_arg(*list, int);
        out_padded(out, buffer, 1, width, left, fill);
        return format + 1;
    case 'u':
        text = decimal_digits(buffer, va_arg(*list, unsigned), false);
        break;
    case 'U':
        text = decimal_digits(buffer, va_arg(*list, uint64_t), false);
        break;
    case 'G':
        text = decimal_digits(buffer, va_arg(*list, uint64_t), true);
        break;
    case 'x':
        text = hex_digits(buffer, va_arg(*list, unsigned));
        break;
    case 'X':
        text = hex_digits(buffer, va_arg(*list, uint64_t));
        break;
    default:
        out_bytes(out, format, 1);
        return format + 1;
    }
    out_padded(out, text, (size_t)(buffer + 28 - text), width, left, fill);
    return format + 1;
}

static void out_format(struct cmd_out *out, const char *format, va_list *list)
{
    while (*format != '\0') {
        const char *start = format;

        while (*format != '\0' && *format != '%')
            format++;
        if (format != start)
            out_bytes(out, start, (size_t)(format - start));
        if (*format == '%')
            format = out_directive(out, format + 1, list);
    }
}

void cmd_print(struct cmd *cmd, const char *format, ...)
{
    struct cmd_out out = {cmd, false, false};
    va_list list;

    va_start(list, format);
    out_format(&out, format, &list);
    va_end(list);
}

void cmd_colour(const struct cmd *cmd, enum cmd_colour colour)
{
    if (cmd->sink->colour != NULL)
        cmd->sink->colour(cmd->sink->context, colour);
}

void cmd_coloured(struct cmd *cmd, enum cmd_colour colour, const char *format, ...)
{
    struct cmd_out out = {cmd, false, false};
    va_list list;

    cmd_colour(cmd, colour);
    va_start(list, format);
    out_format(&out, format, &list);
    va_end(list);
    cmd_colour(cmd, CMD_PLAIN);
}

void cmd_bar(struct cmd *cmd, uint64_t part, uint64_t whole, unsigned width)
{
    static const char marks[] = "##################################################";
    const unsigned most = sizeof marks - 1;
    uint64_t length = cmd_scale(part, width, whole);

    if (length == 0 && part != 0)
        length = 1;
    if (length > width)
        length = width;
    if (length > most)
        length = most;
    cmd_coloured(cmd, CMD_BAR, "%s", &marks[most - length]);
}

/* On a console without a second stream, errors are seen by their colour. */
void cmd_error(struct cmd *cmd, const char *format, ...)
{
    const bool marked = cmd->sink->write_error == NULL;
    struct cmd_out out = {cmd, false, false};
    va_list list;

    cmd->to_errors = true;
    if (marked)
        cmd_colour(cmd, CMD_BAD);
    cmd_print(cmd, "%s: ", cmd->program);
    va_start(list, format);
    out_format(&out, format, &list);
    va_end(list);
    if (marked)
        cmd_colour(cmd, CMD_PLAIN);
    cmd_print(cmd, "\n");
    cmd->to_errors = false;
}

bool cmd_file_print(struct cmd *cmd, const char *format, ...)
{
    struct cmd_out out = {cmd, true, false};
    size_t before = cmd->file_bytes;
    va_list list;

    va_start(list, format);
    out_format(&out, format, &list);
    va_end(list);
    if (out.full)
        cmd->file_bytes = before;
    return !out.full;
}

void cmd_column(struct cmd *cmd, unsigned column)
{
    while (cmd->column < column)
        cmd_print(cmd, " ");
}

void cmd_milli(struct cmd *cmd, uint64_t thousandths, unsigned decimals)
{
    uint64_t whole = cmd_divide(thousandths, 1000);
    unsigned part = (unsigned)(thousandths - whole * 1000);
    unsigned drop;

    for (drop = 3; drop > decimals; drop--)
        part /= 10;
    cmd_print(cmd, "%U", whole);
    if (decimals != 0)
        cmd_print(cmd, decimals == 1 ? ".%01u" : decimals == 2 ? ".%02u" : ".%03u", part);
}

void cmd_json_text(struct cmd *cmd, const char *text)
{
    cmd_print(cmd, "\"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            cmd_print(cmd, "\\%c", c);
        else if (c < 32)
            cmd_print(cmd, "\\u%04x", (unsigned)c);
        else
            cmd_print(cmd, "%c", c);
    }
    cmd_print(cmd, "\"");
}

uint64_t cmd_divide(uint64_t value, uint64_t by)
{
    uint64_t rest = 0, quotient = 0;
    unsigned bit;

    if (by == 0)
        return 0;
    if ((value | by) >> 32 == 0)
        return (uint32_t)value / (uint32_t)by;
    for (bit = 64; bit-- > 0;) {
        bool carry = rest >> 63 != 0;

        rest = rest << 1 | (value >> bit & 1u);
        if (carry || rest >= by) {
            rest -= by;
            quotient |= UINT64_C(1) << bit;
        }
    }
    return quotient;
}

/* By parts: q * factor + r * factor / by, with both reduced until it fits. */
uint64_t cmd_scale(uint64_t value, uint64_t factor, uint64_t by)
{
    uint64_t quotient = cmd_divide(value, by);
    uint64_t rest = value - quotient * by;

    if (by == 0)
        return 0;
    if (factor != 0 && quotient > cmd_divide(UINT64_MAX, factor))
        return UINT64_MAX;
    while (factor != 0 && rest > cmd_divide(UINT64_MAX, factor)) {
        rest >>= 1;
        by >>= 1;
    }
    return quotient * factor + cmd_divide(rest * factor, by);
}

uint64_t cmd_root(uint64_t value)
{
    uint64_t root = 0;
    unsigned bit;

    for (bit = 32; bit-- > 0;) {
        uint64_t candidate = root | UINT64_C(1) << bit;

        if (candidate * candidate <= value)
            root = candidate;
    }
    return root;
}

size_t cmd_length(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0')
        length++;
    return length;
}

bool cmd_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return *a == *b;
}

bool cmd_begins(const char *bytes, size_t length, const char *text)
{
    for (; *text != '\0' && length > 0; text++, bytes++, length--)
        if (*text != *bytes)
            return false;
    return *text == '\0';
}

bool cmd_contains(const char *text, const char *part)
{
    for (; *text != '\0'; text++) {
        size_t same = 0;

        while (part[same] != '\0' && text[same] == part[same])
            same++;
        if (part[same] == '\0')
            return true;
    }
    return false;
}

static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10u : 99u;
}

bool cmd_number(const char *text, uint64_t *out_value)
{
    bool hex = text[0] == '0' && (text[1] | 0x20) == 'x';
    unsigned base = hex ? 16 : 10;
    uint64_t value = 0;

    text += hex ? 2 : 0;
    if (digit_of(*text) >= base)
        return false;
    for (; digit_of(*text) < base; text++) {
        if (value > UINT64_MAX / 16 - 1)
            return false;
        value = value * base + digit_of(*text);
    }
    for (; *text != '\0'; text++) {
        char unit = (char)(*text | 0x20);

        if ((unit != 'k' && unit != 'm' && unit != 'g') || value > UINT64_MAX / 1000)
            return false;
        value *= unit == 'k' ? 1000u : 1000000u;
        if (unit == 'g' && value > UINT64_MAX / 1000)
            return false;
        value *= unit == 'g' ? 1000u : 1u;
    }
    *out_value = value;
    return true;
}
