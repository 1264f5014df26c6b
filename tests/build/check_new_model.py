#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model of Intel's with a set of constraints and an erratum of its own: the files that "Where to change what" in
docs/DESIGN.md names are enough, and no table is too narrow for one more entry.

Class of mistake: a number that is stored in fewer bits than its table has entries.  The new set of constraints was
number 32 in five bits and became number 0, P6's; the new erratum was bit 8 of a byte and was lost.
"""
import os
import shutil

from checklib import COMPILERS, FREESTANDING, WARNINGS, check, main, parallel, read, run

FOLDER = "build/tests/new_model"
BACKEND = "backends/x86_core"

# File, the text before which a line is put, the line.  The event 13h/00h has P6's constraint (counter 1), and none here;
# the event D7h/00h has one here alone.
EDITS = [
    ("x86_core_models.h", "M_HYBRID, M_ADL_GLC = M_HYBRID", "M_MADE_UP, "),
    ("x86_core_models.h", "    [M_UNKNOWN] = MODEL(",
     '    [M_MADE_UP] = MODEL("madeup", "Made-up model", UPMU_X86_RULES_MUP, 5, 8, 0xf, 0xff, WITH_FULL,\n'
     '                        QUIRK(MADE_UP), 2),\n'),
    ("x86_core_models.h", "{ 18, 0x03, M_CYC }", "{ 18, 0x77, M_MADE_UP }, "),
    ("x86_core.h", "    UPMU_X86_RULE_SETS\n", "    UPMU_X86_RULES_MUP,\n"),
    ("x86_core.h", "#define UPMU_X86_QUIRK_PRELUDE", "#define UPMU_X86_QUIRK_MADE_UP 0x10000u\n"),
    ("x86_core_rules.h", "    S(P6_COR, ", "    S(MUP, ON(MUP)) \\\n"),
    ("x86_core_rules.h", "};\n\nstatic const struct constraint wide_rules",
     "    RULE(MUP, PLAIN, ANYTHING, 0xE7, 0xE7, ANY, 0x00, GP_C2),\n"),
    ("x86_core_encode.c", "    if ((event->config & UPMU_X86_CODE) != 0x01c0 ||",
     "    if ((pmu->quirks & UPMU_X86_QUIRK_MADE_UP) && (event->config & UPMU_X86_CODE) == 0x00e7)\n"
     "        event->least_log2 = 5;\n"),
]
PROGRAM = r"""
#include <stdio.h>
#include <upmu/event.h>
#include <upmu/upmu.h>
#include "core/hw/backend.h"
#include "backends/x86_core/x86_core.h"
static void show(const struct upmu_pmu *pmu, unsigned code)
{
    struct upmu_event event;
    enum upmu_status status = upmu_event_raw(pmu, code | 0x30000u, 0, 0, &event);

    printf(" %x:%d:%x:%u", code, (int)status, (unsigned)event.counters, 1u << event.least_log2);
}
int main(void)
{
    static const char names[][8] = {"madeup", "p6", "skl"};

    for (unsigned i = 0; i < 3; i++) {
        struct upmu_pmu pmu;

        if (!upmu_x86_core_describe(names[i], &pmu))
            return 1;
        pmu.backend = &upmu_x86_core_backend;
        printf("%s", pmu.name);
        show(&pmu, 0x13);
        show(&pmu, 0xe7);
        printf("\n");
    }
    return 0;
}
"""
EXPECTED = """madeup 13:0:ff:1 e7:0:4:32
p6 13:0:2:1 e7:0:3:1
skl 13:0:f:1 e7:0:f:1
"""


def edit():
    """The backend with the edits, in a tree of its own; complaints."""
    found = []
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER + "/backends")
    shutil.copytree(BACKEND, f"{FOLDER}/{BACKEND}")
    for name, before, line in EDITS:
        path = f"{FOLDER}/{BACKEND}/{name}"
        text = read(path)
        if text.count(before) != 1:
            found.append(f"{name}: '{before.strip()}' stands there {text.count(before)} times")
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(before, line + before))
    return found


def compile_for(name):
    """The edited files in one build, beside the library's others; complaints."""
    compiler, made = COMPILERS[name], []
    options = [f"-I{FOLDER}"] + FREESTANDING + WARNINGS
    for file in sorted(os.listdir(f"{FOLDER}/{BACKEND}")):
        if file.endswith(".c"):
            made.append(f"{FOLDER}/{name}-{file[:-2]}.o")
            code, output = run(compiler + options + ["-O1", "-c", "-o", made[-1], f"{FOLDER}/{BACKEND}/{file}"])
            if code:
                return [output]
    if name != "gcc-64":
        return []
    code, output = run(compiler + [f"-I{FOLDER}", "-Iinclude", "-I.", "-no-pie", "-w", "-o", f"{FOLDER}/show", f"{FOLDER}/show.c"] +
                       made + [f"build/{name}/libupmu.a"])
    if code:
        return [output]
    _, output = run([f"{FOLDER}/show"])
    return [] if output == EXPECTED else [f"shown:\n{output}expected:\n{EXPECTED}"]


@check
def a_new_model_with_errata_takes_the_files_that_design_names():
    found = edit()
    if found:
        return found
    with open(FOLDER + "/show.c", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    return parallel(compile_for, sorted(COMPILERS))


@check
def design_names_these_files():
    rows = [line for line in read("docs/DESIGN.md").split("\n")
            if line.startswith(("| a CPU model", "| an erratum", "| a set of constraints"))]
    # An erratum's workaround stands where its effect is; the table cannot name that file.
    return [f"{name} is not named" for name in sorted({name for name, _, _ in EDITS} - {"x86_core_encode.c"})
            if name not in " ".join(rows)]


if __name__ == "__main__":
    main()
