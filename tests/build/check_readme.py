#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""README.md: its example compiles and counts (check_pages.py: its names; check_size.py: its figures); and pages that stay short."""
import os
import re

from checklib import SOAK, check, files, library_sources, main, read, run


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", read("README.md"), re.S)


@check
def readme_example_compiles_and_prints_counts():
    os.makedirs("build/tests", exist_ok=True)
    programs = [block for block in blocks("c") if "int main(void)" in block]
    if len(programs) != 1:
        return [f"README.md has {len(programs)} complete programs, not 1"]
    with open("build/tests/readme_example.c", "w") as file:
        file.write(programs[0])
    command = re.search(r"^\s*(cc .*)$", read("README.md"), re.M)
    if not command:
        return ["README.md does not say how to compile the example"]
    line = command.group(1).replace("cc ", "gcc -Wall -Wextra -Werror ", 1).replace("example.c", "build/tests/readme_example.c")
    line = re.sub(r" && \./example$", "", line)
    line = re.sub(r"-o (\S+)", "-o build/tests/readme_example", line)
    sources = [path for word in line.split() if "*" in word for path in files(word)]
    if sorted(sources) != sorted(library_sources() + files("models/sim/*.c")):
        return [f"{line}: not all of the library and the model"]
    if SOAK:
        code, output = run(["bash", "-c", line])
    else:
        print("the example's command reads all sources, the library's as one; it makes objects of them in make soak (FUZZ_RUNS=soak)")
        with open("build/tests/readme_library.c", "w") as file:
            file.writelines(f'#include "{source}"\n' for source in library_sources())
        reading = [word for word in line.split() if not re.match(r"(core|backends|events)/.*\*", word)]
        code, output = run(["bash", "-c", " ".join(["gcc -fsyntax-only", *reading[1:], "build/tests/readme_library.c"])])
        line = " ".join(word for word in line.split() if "*" not in word) + " -no-pie build/gcc-64/libsim.a build/gcc-64/libupmu.a"
        if code == 0:
            code, output = run(["bash", "-c", line])
    if code:
        return [line, output[:3000]]
    code, output = run(["build/tests/readme_example"])
    shown = "".join(re.findall(r"prints\n*```\n(.*?)```", read("README.md"), re.S))
    complaints = [f"exit code {code}"] if code else []
    if not re.search(r"\d", output):
        complaints.append("no counts")
    if shown != output:
        complaints.append(f"README.md shows {shown!r}, the program prints {output!r}")
    return complaints


@check
def readme_example_says_why_where_there_is_no_pmu():
    """Where upmu_cpu_init() fails, not the session knows why but the machine."""
    program = next(block for block in blocks("c") if "int main(void)" in block)
    program = program.replace("    upmu_sim_bind_cpu", """    sim.port.cpuid = no_pmu;
    upmu_sim_bind_cpu""").replace("static enum upmu_status measure", """static void no_pmu(void *context, uint32_t leaf,
    uint32_t subleaf, uint32_t out[4])
{
    (void)context, (void)subleaf, (void)leaf;
    out[0] = 0x16, out[1] = 0x756e6547, out[2] = 0, out[3] = 0;
    if (leaf == 10)
        out[0] = 0;
}

static enum upmu_status measure""")
    os.makedirs("build/tests", exist_ok=True)
    with open("build/tests/readme_no_pmu.c", "w") as file:
        file.write(program)
    code, output = run(["gcc", "-Iinclude", "-I.", "-no-pie", "-o", "build/tests/readme_no_pmu", "build/tests/readme_no_pmu.c",
                        "build/gcc-64/libsim.a", "build/gcc-64/libupmu.a"])
    if code:
        return [output[:2000]]
    code, output = run(["build/tests/readme_no_pmu"])
    return [] if (code, output) == (1, "no usable PMU: leaf 0AH is 0\n") else [f"exit {code}: {output!r}"]


# Pages that a reader takes whole, and their lines; the words of the glossary.
LINES = {"README.md": 150, "docs/DESIGN.md": 350}
WORDS = 30


@check
def pages_stay_short():
    complaints = [f"{page}: {read(page).count(chr(10))} lines, at most {most}" for page, most in LINES.items()
                  if read(page).count("\n") > most]
    glossary = re.search(r"^## Glossary\n(.*?)^## ", read("docs/DESIGN.md"), re.M | re.S)
    rows = re.findall(r"^\| ([^|]+) \|", glossary.group(1), re.M)[1:] if glossary else []
    words = [word for row in rows for word in row.split(", ")]
    return complaints + ([] if 10 < len(words) <= WORDS else [f"docs/DESIGN.md: {len(words)} words in the glossary, at most {WORDS}"])


if __name__ == "__main__":
    main()
