#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The short examples: made as their comments say, by both compilers, they print what the work that they tell the model of
comes to.  The library as two files (make pair): every compiler and width takes them, and the examples made with them print
the same.
"""
import os
import re

from checklib import COMPILERS, SOAK, WARNINGS, check, code_of, main, parallel, read, run

LIMIT = 60
EXPECTED = {
    # 70,000 instructions in ring 3 and 5,000 in ring 0, 12 branches that were not foreseen
    "count": "   75000 instructions\n    5000 instructions:k\n      12 BR_MISP_RETIRED.ALL_BRANCHES\nno error\n",
    # 1,000 and 200 instructions of the thread; 500,000 of another and 30 of none
    "threads": f"{1000 + 200} no error\n",
    # each 1,000th of 5,500 instructions of 4 bytes; the next one is interrupted
    "sample": "".join(f"{0x400000 + 4 * 1000 * i:#x}\n" for i in range(1, 6)) + "no error\n",
    # the way into the freeze: a hook is called, returns and another one is called; three branches; the start's last return
    "panic": "no code at 0x1000\n" + "".join(
        f"{origin:#x} -> {target:#x} {rest}\n" for origin, target, rest in (
            (0xffffffff81008000, 0xffffffff81004000, "1 cycles"), (0xffffffff81004000, 0xffffffff81008000, "1 cycles"),
            (0xffffffff81008000, 0xffffffff81004000, "1 cycles"), (0xffffffff81002068, 0x1000, "9 cycles"),
            (0xffffffff81002044, 0xffffffff81002060, "310 cycles, mispredicted"),
            (0xffffffff81000010, 0xffffffff81002000, "40 cycles"),
            (0xffffffff81004000, 0xffffffff81008000, "1 cycles"))) + "no error\n",
}

PAIR = "build/tests/the pair"
SOURCE = f"{PAIR}/upmu_all.c"
PLAIN = ["-std=c11", "-ffreestanding", "-Wall", "-Wextra", "-Werror"]
WITHOUT = [f"-DUPMU_{option}=0" for option in
           "BACKEND_X86_P4 BACKEND_AMD BACKEND_PARAVIRT SAMPLING FORMATS MESSAGES USER_PAGES PACK THREADS SETS IBS UNCORE "
           "PROBE WHY_TEXT EVENTS_ALL".split()]


def command(name):
    """(options, files) of the comment's compilation, for the libraries of gcc-64"""
    found = re.search(rf"cc (-I.*?) -o {name} (.*?) && ", read(f"examples/{name}.c"))
    return found[1].split(), found[2].replace("$L", "build/gcc-64").split()


@check
def short_examples_print_what_their_work_comes_to():
    os.makedirs("build/tests", exist_ok=True)
    complaints = []
    for name, expected in EXPECTED.items():
        options, sources = command(name)
        for compiler in "gcc", "clang":
            program = f"build/tests/{name}-{compiler}"
            code, output = run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", *options, "-o", program, *sources])
            if code == 0:
                code, output = run([program])
            if (code, output) != (0, expected):
                complaints.append(f"{name} {compiler}: exit {code}: {output[:600]!r}")
    return complaints


@check
def short_examples_are_short():
    lines = {name: len(read(f"examples/{name}.c").splitlines()) for name in EXPECTED}
    return [f"examples/{name}.c: {count} lines" for name, count in lines.items() if count > LIMIT]


@check
def the_hypervisor_has_the_calls_that_its_page_names():
    """docs/GUESTS.md counts them, names each in a table, and so does the example's first comment."""
    words = "no one two three four five six seven eight nine ten eleven twelve".split()
    used = set(re.findall(r"\bupmu_guest_\w+(?=\()", code_of("examples/hypervisor/hypervisor.c")))
    page = read("docs/GUESTS.md").split("## What the hypervisor does")[1].split("With `UPMU_GUEST_OWN_LAPIC`")[0]
    named = {name for line in page.splitlines() if line.startswith("| `") for name in re.findall(r"`(upmu_guest_\w+)\(\)`", line)}
    complaints = [f"docs/GUESTS.md and the example: only one has {name}()" for name in sorted(used ^ named)]
    if len(used) >= len(words) or f"has these {words[len(used)]} calls" not in page:
        complaints.append(f"docs/GUESTS.md: the example has {len(used)} calls")
    elif f"a PMU: {words[len(used)]} calls" not in read("examples/hypervisor/hypervisor.c"):
        complaints.append(f"examples/hypervisor/hypervisor.c: it has {len(used)} calls")
    return complaints


@check
def the_pair_compiles_without_a_warning_everywhere():
    """clang-64, the quickest, makes an object, which the next check runs; the others in the long run, and optimised."""
    code, output = run(["python3", "tools/pair.py", PAIR])
    if code:
        return [output]

    def compile_one(job):
        build, options = job
        made = ["-O2" if SOAK else "-O0", "-c", "-o", f"{PAIR}/{build}.o"] if job in whole else ["-fsyntax-only"]
        code, output = run(COMPILERS[build] + PLAIN + WARNINGS + options + made + [SOURCE])
        return [f"{build} {' '.join(options)}: {output[:1000]}"] if code else []
    jobs = [(build, []) for build in COMPILERS]
    whole = jobs if SOAK else [("clang-64", [])]
    return parallel(compile_one, jobs + [("clang-32", WITHOUT)] + ([("gcc-64", WITHOUT)] if SOAK else []))


@check
def programs_made_with_the_pair_count_the_same():
    """The examples with upmu_all.h for upmu's headers; the silicon model alone comes from elsewhere."""
    complaints = []
    for name, expected in EXPECTED.items():
        program = f"{PAIR}/{name}"
        with open(program + ".c", "w") as file:
            file.write(re.sub(r"(?:#include <upmu/.*\n)+", '#include "upmu_all.h"\n', read(f"examples/{name}.c")))
        options, sources = command(name)
        code, output = run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", *options, "-o", program, program + ".c",
                            f"{PAIR}/clang-64.o", *[path for path in sources if path.endswith("libsim.a")]])
        if code == 0:
            code, output = run([os.path.join(".", program)])
        if (code, output) != (0, expected):
            complaints.append(f"{name}: exit {code}: {output[:600]!r}")
    return complaints


@check
def the_pair_needs_no_other_file_and_says_its_licence():
    complaints = []
    for name in "upmu_all.h", "upmu_all.c":
        text = read(f"{PAIR}/{name}")
        includes = {line.split()[1] for line in text.splitlines() if line.startswith("#include")}
        others = includes - {"<stdint.h>", "<stddef.h>", "<stdbool.h>", '"upmu_all.h"', "UPMU_PORT_HEADER"}
        complaints += [f"{name} includes {other}" for other in sorted(others)]
        if "Permission is hereby granted, free of charge" not in text:
            complaints.append(f"{name}: no licence")
    return complaints


if __name__ == "__main__":
    main()
