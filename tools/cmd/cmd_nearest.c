/* SPDX-License-Identifier: MIT */
/*
 * The name that a mistyped word was meant for: of a command, an option, a workload, a PMU, a simulated CPU.
 */
#include <tools/cmd/cmd_args.h>

#define NEAREST_LETTERS 32u

static unsigned char least(unsigned char a, unsigned char b)
{
    return a < b ? a : b;
}

/* Move the rows of the table of distances up by one. */
static void next_row(unsigned char row[3][NEAREST_LETTERS + 1])
{
    for (unsigned i = 0; i <= NEAREST_LETTERS; i++) {
        row[0][i] = row[1][i];
        row[1][i] = row[2][i];
    }
}

/*
 * Letters to insert, to leave out, to change or to exchange with the next one (optimal string alignment).  Both have
 * NEAREST_LETTERS at most.
 */
static unsigned distance(const char *word, const char *name)
{
    unsigned char row[3][NEAREST_LETTERS + 1] = {{0}};
    const unsigned length = (unsigned)cmd_length(name);

    for (unsigned j = 0; j <= length; j++)
        row[1][j] = (unsigned char)j;
    for (unsigned i = 1; word[i - 1] != '\0'; i++) {
        row[2][0] = (unsigned char)i;
        for (unsigned j = 1; j <= length; j++) {
            const bool same = word[i - 1] == name[j - 1];

            row[2][j] =
                least((unsigned char)(least(row[1][j], row[2][j - 1]) + 1), (unsigned char)(row[1][j - 1] + !same));
            if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1])
                row[2][j] = least(row[2][j], (unsigned char)(row[0][j - 2] + 1));
        }
        next_row(row);
    }
    return row[1][length];
}

static bool begins(const char *name, const char *word)
{
    while (*word != '\0' && *name == *word)
        name++, word++;
    return *word == '\0';
}

const char *cmd_nearest(const char *word, const char *(*name_at)(const void *context, unsigned index),
                        const void *context)
{
    const size_t length = cmd_length(word);
    unsigned best = (unsigned)length / 3 + 1; /* one more than the changes that a word of this length may have */
    const char *nearest = NULL, *name;

    for (unsigned i = 0; length <= NEAREST_LETTERS && (name = name_at(context, i)) != NULL; i++) {
        unsigned far = cmd_length(name) > NEAREST_LETTERS ? best : distance(word, name);

        if (far > 1 && begins(name, word))
            far = 1;
        if (far < best) {
            best = far;
            nearest = name;
        }
    }
    return nearest;
}

void cmd_unknown(struct cmd *cmd, const char *what, const char *word, const char *nearest, const char *lister)
{
    if (nearest != NULL)
        cmd_error(cmd, "no %s '%s', but %s; '%s %s' lists all", what, word, nearest, cmd->program, lister);
    else
        cmd_error(cmd, "no %s '%s'; '%s %s' lists them", what, word, cmd->program, lister);
}
