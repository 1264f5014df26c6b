# SPDX-License-Identifier: MIT
"""Make an assembler file count the instructions that it executes.

Rewrites gcc's output for x86-64: at the start of each basic block, one instruction that
changes no flag adds the block's length to %xmm15 (the library is compiled with
-mgeneral-regs-only, and never uses it).  The sum is callgrind's, but for the padding in
front of aligned loops, and thousands of times sooner had.
"""
import re

COUNT, TURNS = "%xmm15", "%xmm14"
LABEL = re.compile(r"^\s*[.\w$]+:")
JUMP = re.compile(r"^\s*(?:notrack\s+)?(?:j\w+|ret\w*|loop\w*)\b")
REPEATED = re.compile(r"^\s*rep\w*\s+(?:stos|movs|cmps|scas)")


def is_instruction(line):
    text = line.strip()
    return text != "" and text[0] not in ".#/" and not LABEL.match(line)


def counting(block, lengths):
    """A block that counts itself; one that repeats an instruction counts its turns, too."""
    length = sum(map(is_instruction, block))
    if length == 0:
        return block
    lengths.add(length)
    first = next(i for i, line in enumerate(block) if is_instruction(line))
    counted = block[:first] + [f"\tpaddq\t.Lexecuted{length}(%rip), {COUNT}"]
    for line in block[first:]:
        if REPEATED.match(line):
            counted += [f"\tmovq\t%rcx, {TURNS}", f"\tpaddq\t{TURNS}, {COUNT}"]
        counted.append(line)
    return counted


def count_blocks(text):
    """The rewritten text."""
    out, block, lengths, code = [], [], set(), False
    compiled = re.sub(r"#APP\n.*?#NO_APP", "", text, flags=re.S)  # the program itself reads the sum
    if COUNT in compiled or TURNS in compiled:
        raise ValueError(f"{COUNT} or {TURNS} is in use")
    for line in text.split("\n"):
        section = re.match(r"\s*\.(text|section|data|bss)\b", line)
        if section or LABEL.match(line):
            out += counting(block, lengths)
            block = []
        if section:
            code = ".text" in line
        (block if code else out).append(line)
        if code and JUMP.match(line):
            out += counting(block, lengths)
            block = []
    out += counting(block, lengths)
    out += ["\t.section\t.rodata", "\t.balign\t16"]
    out += [f".Lexecuted{length}:\n\t.quad\t{length}, 0" for length in sorted(lengths)]
    return "\n".join(out) + "\n"
