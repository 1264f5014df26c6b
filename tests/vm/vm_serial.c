/* SPDX-License-Identifier: MIT */
/*
 * What the guest said on its serial port, and what it did between two POST codes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/vm.h"

static const char *find_line(const struct vm *vm, const char *key, unsigned *out_number)
{
    const char *line = vm->serial;
    size_t length = strlen(key);

    for (*out_number = 0; *line; ++*out_number) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            return line + length + 1;
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NULL;
}

bool vm_text(const struct vm *vm, const char *key, char *buffer, size_t size)
{
    unsigned number;
    const char *text = find_line(vm, key, &number);

    if (!text)
        return false;
    snprintf(buffer, size, "%.*s", (int)strcspn(text, "\r\n"), text);
    return true;
}

bool vm_value(const struct vm *vm, const char *key, uint64_t *out_value)
{
    char text[64];

    if (!vm_text(vm, key, text, sizeof text))
        return false;
    *out_value = strtoull(text, NULL, 0);
    return true;
}

bool vm_spans_of(const struct vm *vm, const char *key, unsigned *out_first, unsigned *out_behind)
{
    unsigned number;

    if (!find_line(vm, key, &number) || number >= vm->lines || number == 0)
        return false;
    *out_first = vm->spans_at[number - 1];
    *out_behind = vm->spans_at[number];
    return *out_behind <= VM_SPANS;
}

bool vm_accesses_of(const struct vm *vm, uint8_t code, unsigned n, struct vm_accesses *out_accesses)
{
    for (unsigned i = 0; i + 1 < vm->marks; i++) {
        const struct vm_accesses *at = &vm->accesses_at[i];

        if (vm->mark[i] != code || n--)
            continue;
        out_accesses->reads = at[1].reads - at->reads;
        out_accesses->writes = at[1].writes - at->writes;
        out_accesses->rearms = at[1].rearms - at->rearms;
        return true;
    }
    return false;
}
