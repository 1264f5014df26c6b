/* SPDX-License-Identifier: MIT */
/*
 * Where commands come from: a line that the loader passed, a script, a person.
 */
#include <examples/common/common.h>

void shell_text(const struct shell *shell, const char *text)
{
    const struct cmd_sink *sink = shell->cmd->sink;
    size_t length = 0;

    while (text[length] != '\0')
        length++;
    sink->write(sink->context, text, length);
}

void shell_coloured(const struct shell *shell, enum cmd_colour colour, const char *text)
{
    const struct cmd_sink *sink = shell->cmd->sink;

    if (sink->colour != NULL)
        sink->colour(sink->context, colour);
    shell_text(shell, text);
    if (sink->colour != NULL)
        sink->colour(sink->context, CMD_PLAIN);
}

/* Powers of ten by subtraction: no 64-bit division on i386. */
void shell_number(const struct shell *shell, uint64_t value)
{
    char digits[21];
    unsigned used = 0;
    uint64_t power = 1;

    while (power <= UINT64_C(1000000000000000000) && power * 10 <= value)
        power *= 10;
    for (;;) {
        uint64_t next = 1;
        char digit = '0';

        for (; value >= power; value -= power)
            digit++;
        digits[used++] = digit;
        if (power == 1)
            break;
        while (next * 10 != power)
            next *= 10;
        power = next;
    }
    digits[used] = '\0';
    shell_text(shell, digits);
}

void shell_hex(const struct shell *shell, uint64_t value)
{
    char digits[19];
    unsigned i = sizeof digits - 1;

    digits[i] = '\0';
    do {
        digits[--i] = "0123456789abcdef"[value & 15u];
        value >>= 4;
    } while (value != 0);
    digits[--i] = 'x';
    digits[--i] = '0';
    shell_text(shell, &digits[i]);
}

static bool same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return *a == *b;
}

/* Is `name` the first word of the line?  Returns what is behind it. */
static const char *behind_word(const char *line, const char *name)
{
    while (*name != '\0' && *name == *line)
        name++, line++;
    return *name == '\0' && (*line == ' ' || *line == ';' || *line == '\0') ? line : NULL;
}

static int run_one(struct shell *shell, const char *line)
{
    const struct shell_command *own;

    for (own = shell->own; own != NULL && own->name != NULL; own++) {
        const char *rest = behind_word(line, own->name);

        if (rest != NULL) {
            while (*rest == ' ')
                rest++;
            return own->run(shell, rest);
        }
    }
    return cmd_run_line(shell->cmd, line);
}

unsigned shell_script(struct shell *shell, char *text)
{
    unsigned wrong = 0, lines = 0;

    while (*text != '\0') {
        char *line = text;
        bool refused = false, as_expected;

        while (*text != '\0' && *text != '\n' && *text != '\r')
            text++;
        while (*text == '\n' || *text == '\r')
            *text++ = '\0';
        if (line[0] == '\0' || line[0] == '#')
            continue;
        shell_coloured(shell, CMD_PROMPT, "\nupmu> ");
        shell_text(shell, line);
        shell_text(shell, "\n");
        if (line[0] == '!') {
            refused = true;
            line++;
        }
        as_expected = (run_one(shell, line) == CMD_OK) != refused;
        if (!as_expected)
            shell_coloured(shell, CMD_BAD, "^ not as expected\n");
        wrong += as_expected ? 0 : 1;
        lines++;
    }
    shell_text(shell, "\nscript: ");
    shell_number(shell, lines);
    shell_text(shell, " commands, ");
    shell_number(shell, wrong);
    shell_text(shell, " not as expected\n");
    return wrong;
}

static const char *const menu[] = {
    "info", "stat -r 5", "record -o upmu.txt", "top", "selftest", "list *miss*",
};
#define SHELL_MENU (sizeof menu / sizeof menu[0])

static void show_menu(const struct shell *shell)
{
    unsigned i;

    for (i = 0; i < SHELL_MENU; i++) {
        shell_text(shell, "  ");
        shell_number(shell, i + 1);
        shell_text(shell, "  ");
        shell_coloured(shell, CMD_NAME, menu[i]);
        shell_text(shell, "\n");
    }
    shell_text(shell, "A number, or a command ('help' lists them); 'quit' leaves, 'off' switches off.\n");
    if (shell->hint != NULL)
        shell_text(shell, shell->hint);
}

bool shell_converse(struct shell *shell)
{
    char line[SHELL_LINE];

    show_menu(shell);
    for (;;) {
        shell_coloured(shell, CMD_PROMPT, "\nupmu> ");
        if (!shell->read_line(line, sizeof line) || same(line, "quit") || same(line, "exit"))
            return false;
        if (same(line, "off"))
            return true;
        if (same(line, "menu"))
            show_menu(shell);
        else if (line[0] >= '1' && line[0] < '1' + (int)SHELL_MENU && line[1] == '\0')
            (void)run_one(shell, menu[line[0] - '1']);
        else
            (void)run_one(shell, line);
    }
}

static bool is_command(const struct shell *shell, const char *line)
{
    const struct shell_command *own;
    const char *name;
    unsigned i;

    for (own = shell->own; own != NULL && own->name != NULL; own++)
        if (behind_word(line, own->name) != NULL)
            return true;
    for (i = 0; (name = cmd_name(i)) != NULL; i++)
        if (behind_word(line, name) != NULL)
            return true;
    return behind_word(line, "help") != NULL || behind_word(line, "off") != NULL;
}

char *shell_find_command(const struct shell *shell, char *line)
{
    unsigned pass;

    for (pass = 0; pass < 2; pass++) {
        while (*line == ' ')
            line++;
        if (is_command(shell, line))
            return line;
        while (*line != ' ' && *line != '\0')
            line++;
    }
    return NULL;
}

bool shell_line(struct shell *shell, char *line)
{
    while (*line != '\0') {
        char *command, *end;

        while (*line == ' ' || *line == ';')
            line++;
        command = line;
        while (*line != ';' && *line != '\0')
            line++;
        end = line;
        if (*line == ';')
            line++;
        while (end > command && end[-1] == ' ')
            end--;
        *end = '\0';
        if (same(command, "off"))
            return true;
        (void)run_one(shell, command);
    }
    return false;
}
