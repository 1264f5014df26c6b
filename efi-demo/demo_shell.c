/* SPDX-License-Identifier: MIT */
/*
 * Where the UEFI demo's commands come from: the load options, a script, a person.
 */
#include <efi-demo/demo.h>

/*
 * Script lines; a line that begins with '!' is expected to be refused.  Returns
 * how many did not do as expected.
 */
unsigned demo_run_script(struct cmd *cmd, char *text)
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
        demo_text("\nupmu> ");
        demo_text(line);
        demo_text("\n");
        if (line[0] == '!') {
            refused = true;
            line++;
        }
        as_expected = (cmd_run_line(cmd, line) == CMD_OK) != refused;
        if (!as_expected)
            demo_text("^ not as expected\n");
        wrong += as_expected ? 0 : 1;
        lines++;
    }
    demo_text("\nscript: ");
    demo_number(lines);
    demo_text(" commands, ");
    demo_number(wrong);
    demo_text(" not as expected\n");
    return wrong;
}

static const char *const menu[] = {
    "info", "stat -r 5", "record -o upmu.txt", "top", "selftest", "list *miss*",
};
#define DEMO_MENU (sizeof menu / sizeof menu[0])

static void show_menu(void)
{
    unsigned i;

    for (i = 0; i < DEMO_MENU; i++) {
        demo_text("  ");
        demo_number(i + 1);
        demo_text("  ");
        demo_text(menu[i]);
        demo_text("\n");
    }
    demo_text("A number, or a command ('help' lists them); 'quit' leaves, 'off' switches off.\n");
}

static bool same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return *a == *b;
}

/* Ask for commands.  True: switch the machine off. */
bool demo_converse(struct cmd *cmd)
{
    char line[DEMO_LINE];

    show_menu();
    for (;;) {
        demo_text("\nupmu> ");
        if (!demo_line(line, sizeof line) || same(line, "quit") || same(line, "exit"))
            return false;
        if (same(line, "off"))
            return true;
        if (same(line, "menu"))
            show_menu();
        else if (line[0] >= '1' && line[0] < '1' + (int)DEMO_MENU && line[1] == '\0')
            (void)cmd_run_line(cmd, menu[line[0] - '1']);
        else
            (void)cmd_run_line(cmd, line);
    }
}

/* Is the first word of this a command? */
static bool is_command(const char *line)
{
    const char *name;
    unsigned i;

    for (i = 0; (name = cmd_name(i)) != NULL; i++) {
        size_t at = 0;

        while (name[at] != '\0' && name[at] == line[at])
            at++;
        if (name[at] == '\0' && (line[at] == ' ' || line[at] == '\0'))
            return true;
    }
    return false;
}

/*
 * The command in the load options, without a program name: a shell puts that
 * first, a boot entry or an emulator does not, and some firmware leaves bytes that
 * are no text.
 */
bool demo_options_line(EFI_HANDLE image, char *line, size_t size)
{
    EFI_GUID guid = LOADED_IMAGE_PROTOCOL;
    EFI_LOADED_IMAGE *loaded = NULL;
    const CHAR16 *options;
    size_t i, count, start = 0, pass;

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
    for (pass = 0; pass < 2; pass++) {
        while (line[start] == ' ')
            start++;
        if (is_command(&line[start])) {
            for (i = 0; (line[i] = line[start + i]) != '\0'; i++)
                ;
            return true;
        }
        while (line[start] != ' ' && line[start] != '\0')
            start++;
    }
    return false;
}

bool demo_run_options(struct cmd *cmd, char *line)
{
    while (*line != '\0') {
        char *command;

        while (*line == ' ' || *line == ';')
            line++;
        command = line;
        while (*line != ';' && *line != '\0')
            line++;
        if (*line == ';')
            *line++ = '\0';
        if (same(command, "off"))
            return true;
        (void)cmd_run_line(cmd, command);
    }
    return false;
}
