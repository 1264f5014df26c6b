/* SPDX-License-Identifier: MIT */
/*
 * Functions in an ELF file of little-endian machines (System V ABI, "Object Files"; 64 bits: the AMD64 supplement).
 * Nothing of the file is believed: a number outside of it is 0.
 */
#include <tools/cmd/cmd_args.h>

#define ELF_SYMBOLS 2u          /* section types */
#define ELF_DYNAMIC_SYMBOLS 11u
#define ELF_EXECUTABLE 4u       /* section flag */
#define ELF_UNTYPED 0u          /* symbol types: labels of assembler code */
#define ELF_FUNCTION 2u
#define ELF_INDIRECT 10u
#define ELF_RESERVED 0xff00u    /* section numbers with a meaning of their own */

/* Where a field is, and its bytes: with 32 bits, with 64. */
struct elf_field {
    uint8_t at, bytes, wide_at, wide_bytes;
};

static const struct elf_field file_entry = {24, 4, 24, 8}, file_sections = {32, 4, 40, 8},
                              file_section_bytes = {46, 2, 58, 2}, file_section_count = {48, 2, 60, 2};
static const struct elf_field section_type = {4, 4, 4, 4}, section_flags = {8, 4, 8, 8}, section_at = {16, 4, 24, 8},
                              section_bytes = {20, 4, 32, 8}, section_link = {24, 4, 40, 4},
                              section_entry = {36, 4, 56, 8};
static const struct elf_field symbol_name = {0, 4, 0, 4}, symbol_value = {4, 4, 8, 8}, symbol_bytes = {8, 4, 16, 8},
                              symbol_kind = {12, 1, 4, 1}, symbol_section = {14, 2, 6, 2};

static uint64_t elf_number(const struct cmd_elf *elf, uint64_t at, const struct elf_field *field)
{
    unsigned bytes = elf->wide ? field->wide_bytes : field->bytes;
    uint64_t value = 0;

    if (at > elf->length)
        return 0;
    at += elf->wide ? field->wide_at : field->at;
    if (at > elf->length || elf->length - at < bytes)
        return 0;
    while (bytes-- > 0)
        value = value << 8 | elf->bytes[at + bytes];
    return value;
}

/* The header of a section; behind the file: there is none of this number. */
static uint64_t elf_section(const struct cmd_elf *elf, uint64_t i)
{
    return i < elf->section_count ? elf->sections + i * elf->section_bytes : elf->length;
}

static void elf_take_symbols(struct cmd_elf *elf, uint64_t section)
{
    uint64_t strings = elf_section(elf, elf_number(elf, section, &section_link));

    elf->symbols = elf_number(elf, section, &section_at);
    elf->symbol_bytes = elf_number(elf, section, &section_entry);
    elf->symbol_count = cmd_divide(elf_number(elf, section, &section_bytes), elf->symbol_bytes);
    elf->strings = elf_number(elf, strings, &section_at);
    elf->string_bytes = elf_number(elf, strings, &section_bytes);
    if (elf->strings > elf->length || elf->length - elf->strings < elf->string_bytes)
        elf->string_bytes = 0;
    if (elf->symbols > elf->length || cmd_divide(elf->length - elf->symbols, elf->symbol_bytes) < elf->symbol_count)
        elf->symbol_count = 0;
}

bool cmd_elf_open(struct cmd_elf *elf, const void *bytes, size_t length)
{
    const uint8_t *begin = bytes;

    *elf = (struct cmd_elf){.bytes = begin, .length = length};
    if (length < 52 || begin[0] != 0x7f || begin[1] != 'E' || begin[2] != 'L' || begin[3] != 'F' || begin[5] != 1)
        return false;
    elf->wide = begin[4] == 2;
    elf->entry = elf_number(elf, 0, &file_entry);
    elf->sections = elf_number(elf, 0, &file_sections);
    elf->section_bytes = elf_number(elf, 0, &file_section_bytes);
    elf->section_count = elf_number(elf, 0, &file_section_count);
    for (uint64_t i = 0; i < elf->section_count && elf->symbol_count == 0; i++)
        if (elf_number(elf, elf_section(elf, i), &section_type) == ELF_SYMBOLS)
            elf_take_symbols(elf, elf_section(elf, i));
    for (uint64_t i = 0; i < elf->section_count && elf->symbol_count == 0; i++) /* of a file that was stripped */
        if (elf_number(elf, elf_section(elf, i), &section_type) == ELF_DYNAMIC_SYMBOLS)
            elf_take_symbols(elf, elf_section(elf, i));
    return elf->symbol_count != 0;
}

/* Text that ends in its table, without blanks; NULL: none. */
static const char *elf_name(const struct cmd_elf *elf, uint64_t at)
{
    for (uint64_t i = at; i < elf->string_bytes && elf->bytes[elf->strings + i] > ' '; i++)
        if (i + 1 < elf->string_bytes && elf->bytes[elf->strings + i + 1] == '\0')
            return (const char *)&elf->bytes[elf->strings + at];
    return NULL;
}

bool cmd_elf_function(const struct cmd_elf *elf, uint64_t i, struct cmd_symbol *out_symbol)
{
    const uint64_t at = elf->symbols + i * elf->symbol_bytes;
    const unsigned kind = elf_number(elf, at, &symbol_kind) & 15u;
    const uint64_t section = elf_number(elf, at, &symbol_section);

    if ((kind != ELF_FUNCTION && kind != ELF_INDIRECT && kind != ELF_UNTYPED) || section >= ELF_RESERVED ||
        !(elf_number(elf, elf_section(elf, section), &section_flags) & ELF_EXECUTABLE))
        return false;
    out_symbol->name = elf_name(elf, elf_number(elf, at, &symbol_name));
    out_symbol->start = elf_number(elf, at, &symbol_value);
    out_symbol->end = out_symbol->start + elf_number(elf, at, &symbol_bytes);
    return out_symbol->name != NULL && out_symbol->name[0] != '$'; /* Arm's marks of code and data */
}
