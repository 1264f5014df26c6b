#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The face: what <upmu/upmu.h> and the other public headers are, and how sources of users come to them from 0.2.0."""
import glob
import os
import re
import shutil
import sys

import private_fields
from checklib import check, files, main, parallel, read, run

sys.path.insert(0, "tools")
import upgrade  # noqa: E402

FACE, FACE_LINES, REACHED_LINES = "include/upmu/upmu.h", 250, 906
OLD = "tests/build/upgrade"  # sources and names of 0.2.0


@check
def the_face_is_short_and_includes_little():
    reached = [f"include/{header}" for header in upgrade.included("upmu/upmu.h") if not header.startswith("upmu/private/")]
    wanted = {f"include/upmu/{name}.h" for name in ("upmu", "config", "status", "port")}
    complaints = [] if set(reached) == wanted else [f"{FACE} reaches {sorted(reached)}"]
    lines = {path: len(read(path).splitlines()) for path in reached}
    print(f"{FACE}: {lines[FACE]} lines; with what it includes, but for private/: {sum(lines.values())}")
    complaints += [] if lines[FACE] <= FACE_LINES else [f"{FACE}: {lines[FACE]} lines, {FACE_LINES} at most"]
    complaints += [] if sum(lines.values()) <= REACHED_LINES else [f"{sum(lines.values())} lines, {REACHED_LINES} at most"]
    return complaints


@check
def public_headers_have_no_private_fields():
    """They stand in include/upmu/private; what a structure of a public header has, users read or fill in."""
    found = [f"{path}:{number}: {line.strip()}" for path in files("include/upmu/*.h")
             for number, line in enumerate(read(path).splitlines(), 1) if re.search(r"/\*\s*private\b", line, re.I)]
    return found + ([] if re.search(r"/\*\s*private\b", read("include/upmu/private/session.h")) else ["the pattern finds nothing"])


@check
def examples_include_neither_core_nor_private_headers():
    sources = files("examples/**/*.[ch]", "efi-demo/*.[ch]")
    return [f"{path}: {line}" for path in sources for line in re.findall(r'^#include ["<](?:core/|upmu/private/)[^">]*', read(path), re.M)] + \
        ([] if len(sources) > 20 else [f"{len(sources)} sources"])


OUTSIDE = ("abi/**/*.c", "examples/**/*.c", "examples/processes/*.c", "zephyr/**/*.c", "bindings/**/*.c", "port/**/*.c",
           "models/**/*.c", "tools/**/*.c")
PLANTED = """#include <upmu/message.h>
uint32_t planted(struct upmu_tally *one, struct upmu_session *two, struct upmu_queue *three);
uint32_t planted(struct upmu_tally *one, struct upmu_session *two, struct upmu_queue *three)
{{
    {}
    return one->counter + two->set.count + three->dropped;
}}
"""
PRIVATE_USES = ("one->total++;", "two->set.event[0].pin = 0;", "two->ring.head = 1;", "three->capacity = 0;")  # each is the one complaint
# What no public call does.  Names of events without hardware need a machine on paper: its PMU, and the list of its units.
LACKED = {("tools/cmd/cmd_target.c", "'units' is private"), ("tools/cmd/cmd_target.c", "'pmu_count' is written")}
PUBLIC_WRITES = ("two->state = 0;", "two->set.count = 0;")


@check
def layers_tools_and_examples_name_no_private_field():
    """A compiler reports them, and writes of fields that may only be read."""
    # (EDK II's headers are not here; GNU-EFI's may be.  The hypervisor names registers of Arm.)
    sources = [path for path in files(*OUTSIDE) if not path.startswith(("examples/edk2/", "examples/el2_hypervisor/"))]
    sources += [path for path in files("efi-demo/*.c") if "arm64" not in path and os.path.exists(f"{private_fields.EFI}/efi.h")]
    count = private_fields.marked()
    print(f"{count} private declarations, {len(sources)} sources")
    complaints = [] if count > 300 and len(sources) > 100 else ["the fields or the sources are not found"]
    for line in ("", *PRIVATE_USES, *PUBLIC_WRITES):
        path = "build/tests/planted_field.c"
        with open(path, "w", encoding="ascii") as file:
            file.write(PLANTED.format(line))
        found = private_fields.uses(path)
        wanted = "" if not line else "is private" if line in PRIVATE_USES else "is written"
        if len(found) != bool(line) or wanted not in "".join(found):
            complaints.append(f"'{line}' planted: {found}")
    found = {complaint: (complaint.split(":")[0], complaint.split(": ")[-1]) for complaint in parallel(private_fields.uses, sources)}
    complaints += [f"{path}: {what} no more: LACKED in check_face.py" for path, what in LACKED - set(found.values())]
    return complaints + [complaint for complaint, what in found.items() if what not in LACKED]


EXAMPLE = """#include <stdio.h>
#include <upmu/upmu.h>
#include <models/sim/sim.h>
{code}
static void entry(struct upmu_sim *model, unsigned number, const struct upmu_sim_interrupt *interrupt)
{{
    const struct upmu_frame frame = {{.ip = interrupt->ip, .user = interrupt->user}};
    (void)model, (void)number;
    (void)upmu_pmi_handle(&cpu, &frame);
}}
int main(void)
{{
    static struct upmu_sim sim;
    static struct upmu_thread thread;
    struct upmu_sim_burst work = {{.instructions = 250000, .cycles = 250000, .user = true}};
    struct upmu_sample sample;
    struct upmu_count count;
    upmu_sim_init(&sim, upmu_sim_profile("skl"), 1);
    upmu_sim_bind_cpu(&sim, 0, &cpu);
    sim.deliver = entry;
    upmu_thread_init(&thread, 1, 1, NULL);
    if (profile(upmu_sim_port(&sim), &thread) != UPMU_OK)
        return 1;
    upmu_sim_events(&sim, &work);
    while (upmu_ring_next(&session.ring, &sample))
        printf("sample\\n");
    if (upmu_session_stop(&session) == UPMU_OK && upmu_set_read(&session.set, 0, 1, &count) == UPMU_OK)
        printf("%llu\\n", (unsigned long long)count.value);
    return 0;
}}
"""


@check
def the_worked_example_of_the_face_samples_a_thread():
    code = re.search(r"\n \*\n((?: \*     .*\n| \*\n)+)", read(FACE))[1]
    code = re.sub(r"^ \* ?(?:    )?", "", code, flags=re.M)
    source, complaints = "build/tests/face_example.c", []
    os.makedirs("build/tests", exist_ok=True)
    with open(source, "w", encoding="ascii") as file:
        file.write(EXAMPLE.format(code=code))
    for compiler in "gcc", "clang":
        done, output = run([compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-no-pie", "-Iinclude", "-I.", "-o", f"{source}.{compiler}", source,
                            "build/gcc-64/libsim.a", "build/gcc-64/libupmu.a"])
        done, output = (done, output) if done else run([f"{source}.{compiler}"])
        if done or output != "sample\nsample\n250000\n":
            complaints.append(f"{compiler}: exit {done}: {output[-800:]}")
    return complaints


@check
def every_old_name_is_there_or_has_a_new_one():
    """Of 0.2.0's names: macros, structures, enumerators, functions; and CHANGELOG.md has the table that the tool reads."""
    table, now = upgrade.renames(), upgrade.header_of()
    renamed = {old for old, _, _, _ in table}
    complaints = [f"{name} of 0.2.0: no public header has it, and tools/renames.tsv has no row of it"
                  for name in read(f"{OLD}/names_0_2_0.txt").split() if name not in now and name not in renamed]
    complaints += [f"tools/renames.tsv: no public header has {new}" for _, _, _, new in table if new not in now]
    complaints += [f"tools/renames.tsv: no folder {new}, or still a folder {old}" for old, new in upgrade.paths()
                   if not os.path.isdir(new) or os.path.isdir(old)]
    log = read("CHANGELOG.md")
    complaints += [f"CHANGELOG.md: the table of names has no row of {old}" for old, new in upgrade.paths()
                   if f"| `#include <{old}…>` | `#include <{new}…>` |" not in log]
    complaints += [f"CHANGELOG.md: the table of names has no row of {old}" for old, _, first, new in table
                   if not re.search(rf"^\| `{old}\b[^|]*\| `{new}\b", log, re.M)]
    return complaints


@check
def includes_of_folders_that_moved_are_converted():
    """Whatever stands before the folder; a header of the host's in a folder of the same name stays."""
    complaints = []
    for old, new in upgrade.paths():
        header = os.path.basename(files(f"{new}*.h")[0])
        for text, wanted in ((f"<{old}{header}>", f"<{new}{header}>"), (f'"lib/{old}{header}"', f'"lib/{new}{header}"'),
                             (f'"{old}mine.h"', f'"{old}mine.h"'), (f"<sup{old}{header}>", f"<sup{old}{header}>")):
            found = upgrade.convert(f"#include {text}\n")
            complaints += [] if found == f"#include {wanted}\n" else [f"{text}: {found}"]
    return complaints


@check
def what_is_not_converted_stays_as_it_is():
    """Ends of lines, and bytes that are no UTF-8; a file that cannot be read does not keep others from it."""
    folder, complaints = "build/tests/upgraded_bytes", []
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    old = b"#include <upmu/upmu.h>\n/* caf\xe9, \xc3\xa9 */\nint a = upmu_pack(p, q, r, s, upmu_handle_pmi(0, 0));\n"
    new = b"#include <upmu/pack.h>\n#include <upmu/upmu.h>\n/* caf\xe9, \xc3\xa9 */\nint a = upmu_requests_pack(p, q, r, s, upmu_pmi_handle(0, 0));\n"
    ends = {"unix": b"\n", "dos": b"\r\n"}
    for name, end in ends.items():
        with open(f"{folder}/{name}.c", "wb") as file:
            file.write(old.replace(b"\n", end))
    code, output = run([sys.executable, "tools/upgrade.py", f"{folder}/absent.c", *(f"{folder}/{name}.c" for name in ends)])
    complaints += [] if code == 1 and "absent.c: No such file" in output else [f"exit {code}: {output}"]
    for name, end in ends.items():
        with open(f"{folder}/{name}.c", "rb") as file:
            found = file.read()
        complaints += [] if found == new.replace(b"\n", end) else [f"{name}: {found}"]
    return complaints


@check
def sources_of_0_2_0_are_converted_to_code_that_compiles():
    """Once; and a second time nothing is changed."""
    folder, complaints = "build/tests/upgraded", []
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(OLD, folder)
    sources = sorted(glob.glob(f"{folder}/*.c"))
    words = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-Iinclude", "-I."]
    before = [path for path in sources if run([*words, path])[0]]
    code, output = run([sys.executable, "tools/upgrade.py", *sources])
    complaints += [] if code == 0 and set(output.split()) >= set(before) and len(before) > 2 else [f"exit {code}: {output}, of {before}"]
    complaints += parallel(lambda path: [output for code, output in [run([*words, path])] if code], sources)
    code, output = run([sys.executable, "tools/upgrade.py", *sources])
    return complaints + ([f"changed again: {output}"] if code or output else [])


if __name__ == "__main__":
    main()
