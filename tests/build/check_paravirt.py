#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/PARAVIRT.md has the numbers and layouts of upmu/paravirt.h, for 32 and 64 bits."""
import re
import subprocess

from checklib import check, main, read

STRUCTURES = {"## The page": "upmu_pv_page", "A slot:": "upmu_pv_slot", "A wish:": "upmu_pv_wish",
              "`upmu_pv_attr`, 72 bytes:": "upmu_pv_attr"}
# What the document has in words, not in a table.
IN_WORDS = re.compile(r"UPMU_PV_(LEAF|SIGNATURE|ATTR|TYPE|SLOT|VERSION|MAGIC|WIDTH|PAGE_BYTES|EVENT_BITS|GENERIC)")


def facts(text):
    """What the document says, as expressions in C."""
    said, structure = [], None
    for line in text.split("\n"):
        structure = next((name for mark, name in STRUCTURES.items() if line.startswith(mark)), structure)
        number = re.match(r"\| `(UPMU_PV_\w+)` \| (\d+) \|", line)
        field = re.match(r"\| (\d+)(?: \+ (\d+) n)? \| (\d+) \| `(\w+)(?:\[n\])?`", line)
        whole = re.match(r"`(upmu_pv_\w+)`, (\d+) bytes(.*)", line)
        if number:
            value = f"UINT64_C(1) << {number[2]}" if "WISH" in number[1] else number[2]
            said.append(f"{number[1]} == {value}")
        if field and structure:
            offset, step, size, name = field.groups()
            said.append(f"offsetof(struct {structure}, {name}) == {offset}")
            said.append(f"sizeof ((struct {structure} *)0)->{name}{'[0]' if step else ''} == {size}")
            if step:
                said.append(f"offsetof(struct {structure}, {name}[1]) == {offset} + {step}")
        if whole:
            said.append(f"sizeof(struct {whole[1]}) == {whole[2]}")
            for name, offset, size in re.findall(r"`(\w+)` (\d+) \((\d+)", whole[3]):
                said.append(f"offsetof(struct {whole[1]}, {name}) == {offset}")
                said.append(f"sizeof ((struct {whole[1]} *)0)->{name} == {size}")
    return said


def complaints(said, width):
    """The compiler's, one line for each expression that does not hold."""
    source = "#include <stddef.h>\n#include <upmu/paravirt.h>\n"
    source += "".join(f'_Static_assert({fact}, "{fact}");\n' for fact in said)
    done = subprocess.run(["gcc", "-std=c11", "-ffreestanding", width, "-Iinclude", "-fsyntax-only", "-x", "c", "-"],
                          input=source.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return [line for line in done.stdout.decode().split("\n") if "error:" in line]


@check
def the_document_has_the_numbers_and_layouts_of_the_header():
    # PV-013: the document.  Of the attribute, equal for 32 and 64 bits: PV-025 type, PV-026 config,
    # PV-027 sample_period, PV-028 sample_type, PV-029 read_format, PV-032 bp_addr, PV-033 bp_len;
    # PV-034: no other fields (72 bytes).  PV-039: upmu_pv_param.
    said = facts(read("docs/PARAVIRT.md"))
    wrong = [f"{fact} + 1" for fact in said]
    return ([] if len(said) > 80 else [f"only {len(said)} facts are read"]) + \
        [line for width in ("-m32", "-m64") for line in complaints(said, width)] + \
        ([] if len(complaints(wrong, "-m64")) == len(wrong) else ["a wrong number is not noticed"])


@check
def no_number_of_the_header_is_missing_in_the_document():
    text = read("docs/PARAVIRT.md")
    return [f"{name} is missing" for name in re.findall(r"#define (UPMU_PV_\w+)", read("include/upmu/paravirt.h"))
            if not IN_WORDS.match(name) and f"`{name}`" not in text]


if __name__ == "__main__":
    main()
