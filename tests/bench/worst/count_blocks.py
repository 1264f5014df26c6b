# SPDX-License-Identifier: MIT
"""Make an assembler file count the instructions that it executes.

Rewrites gcc's output for x86-64: at the start of each basic block, one instruction that
changes no flag adds the block's length to %xmm15 (the library is compiled with
-mgeneral-regs-only, and never uses it).  The sum is callgrind's, but for the padding in
front of aligned loops, and thousands of times sooner had.
"""
import glob
import os
import re
import subprocess

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


# ---- Objects that count, in WORK ----

WORK = "build/counted"
LIBRARY = "-std=c11 -ffreestanding -mgeneral-regs-only -fno-stack-protector".split()
FLAGS = "-m64 -O2 -fno-pie -fno-pic -fcf-protection=none -Iinclude -I.".split()


def library_texts():
    """The library's code as `make build/gcc-64/libupmu.a` keeps it, by source."""
    sources = sorted(glob.glob("core/*/*.c") + glob.glob("backends/*/*.c"))
    return {source: f"build/gcc-64/{source[:-2]}.s" for source in sources}


def counting_object(source, text_path=None):
    """The object of a source; its assembly text is compiled here unless text_path has it."""
    made = os.path.join(WORK, source.replace("/", "-")[:-2])
    os.makedirs(WORK, exist_ok=True)
    if text_path:
        if os.path.exists(made + ".o") and os.path.getmtime(made + ".o") > max(map(os.path.getmtime, (text_path, __file__))):
            return made + ".o"
        with open(text_path, encoding="utf-8") as file:
            text = file.read()
    else:
        flags = FLAGS + (["-std=gnu11", *LIBRARY[2:]] if source.startswith("tests/") else LIBRARY)
        text = subprocess.run(["gcc", *flags, "-S", "-o", "-", source], check=True, stdout=subprocess.PIPE).stdout.decode()
    with open(made + ".s", "w", encoding="utf-8") as file:
        file.write(count_blocks(text))
    subprocess.run(["as", "--64", "-o", made + ".o", made + ".s"], check=True)
    return made + ".o"


def counting_program(name, sources, libraries=(), link=(), library=True):
    """A program of these sources, which count, as the library does; its catalogues are those that ship.

    Without `library` the library is among the sources.
    """
    objects = [counting_object(source) for source in sources] + \
        [counting_object(*pair) for pair in (library_texts().items() if library else ())]
    program = os.path.join(WORK, name)
    subprocess.run(["gcc", "-m64", "-no-pie", "-o", program, *objects, *libraries, "build/gcc-64/libupmu.a", *link], check=True)
    return program
