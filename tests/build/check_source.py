#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules that the text of the sources must keep (docs/DESIGN.md tells why)."""
import os
import re
import shutil
import subprocess
import sys

from checklib import CORE_FOLDERS, check, code_of, files, grep, main, read, run, Skip
import links
import owners
import programs
import prose

HOOKS = "rdmsr|wrmsr|cpuid|this_cpu|irq_save|irq_restore|rdpmc|pmi_rearm|clock_ns|allow_rdpmc|run_on_cpu|log"
# Headers of the core that a backend may use: no bank, no hooks, no sessions.
BACKEND_MAY_USE = {"core/util/apart.h", "core/hw/backend.h", "core/hw/unit_backend.h", "core/util/bits.h", "core/util/mem.h", "core/hw/register.h", "core/hw/page_registers.h", "core/util/text.h", "core/catalog/catalog.h"}


def tracked(*suffixes):
    code, output = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"])
    if code != 0:
        raise Skip("not a git checkout")
    return [path for path in output.split("\n") if path.endswith(suffixes) and os.path.exists(path)]


def library():
    return files("core/*/*.[ch]", "backends/**/*.[ch]", "events/*.[ch]")


def freestanding():
    return library() + files("port/**/*.[ch]", "models/**/*.[ch]", "tools/cmd/*.[ch]", "efi-demo/*.[ch]", "examples/**/*.[ch]",
                             "include/upmu/**/*.h")


@check
def every_file_begins_with_its_licence_and_its_purpose():
    complaints = []
    for path in tracked(".c", ".h", ".S", ".py", ".sh", ".mk"):
        lines = read(path).split("\n")
        first = 1 if lines[0].startswith("#!") else 0
        generated = "enerated by" in lines[0]
        if not any("SPDX-License-Identifier:" in line for line in lines[first:first + 1 + 2 * generated]):
            complaints.append(f"{path}: no SPDX line at the top")
        elif path.endswith((".c", ".h")) and not any("/*" in line or line.startswith(" *") for line in lines[1:4]):
            complaints.append(f"{path}: no comment that says what it is for")
    return complaints


@check
def file_names_are_lower_case_and_unique():
    """A host may put all objects into one folder.  (The programs of examples are no part of one, and a header in
    include/upmu/private has the name of the public one that it completes.)"""
    complaints, seen = [], {}
    for path in tracked(".c", ".h", ".S"):
        if os.path.dirname(path) in ("examples", "include/upmu/private", "tests/build/upgrade"):
            continue
        name = os.path.basename(path)
        stem = os.path.splitext(name)[0]  # .S is preprocessed, .s is not
        if stem != stem.lower():
            complaints.append(f"{path}: not lower case")
        if name in seen:
            complaints.append(f"{path}: {seen[name]} has the same name")
        seen[name] = path
    return complaints


@check
def static_function_names_are_unique():
    definition = re.compile(r"^static\s+(?:inline\s+)?(?:const\s+)?[\w\s]*?[\w*]\s*\**\b(\w+)\(", re.M)
    complaints, seen = [], {}
    for path in library() + files("models/sim/*.[ch]"):
        for name in set(definition.findall(code_of(path))) - {"__attribute__"}:
            if seen.setdefault(name, path) != path:
                complaints.append(f"{path}: {name}() is in {seen[name]}, too")
    return complaints


ONE_WORD = re.compile(r"^static\b[^;={}]*?\b([a-z0-9]+)\(", re.M)


@check
def static_functions_name_what_they_act_on():
    """Finds a name of one word: take() does not say of what."""
    complaints = [f"{path}: {name}(): name what it acts on, too" for path in library() + files("abi/**/*.[ch]")
                  for name in ONE_WORD.findall(code_of(path))]
    seen = ONE_WORD.findall("static void take(void)\n{\n    end();\n}\n\nstatic APART const char *\nskip2(int at);\nstatic int x = y(1);\n"
                            "static bool take_unit(bool (*shares)(int at))\n{\n}\n")
    return complaints if seen == ["take", "skip2"] else complaints + [f"found in an example: {seen}"]


@check
def static_objects_of_the_library_have_names_of_their_own():
    """An embedder may compile the library as one file; some of its files stand side by side for other processors alone."""
    definition = re.compile(r"^static\s+[^(;={}]*?\b(\w+)\s*(?:\[[^;={}]*)?(?:=|;)", re.M)
    complaints, seen = [], {}
    for path in library():
        for name in set(definition.findall(code_of(path))):
            if seen.setdefault(name, path) != path:
                complaints.append(f"{path}: {name} is in {seen[name]}, too")
    return complaints if "model_files" in seen and "rv_rows" in seen else complaints + ["objects are not found"]


MACRO = re.compile(r"^#\s*define (\w+)(\([^)]*\))?((?:.*\\\n)*.*)", re.M)


def macros_with_two_texts(sources):
    """What a compiler would complain about if all sources were one file; `sources`: (path, text)."""
    complaints, seen = [], {}
    for path, text in sources:
        for name, parameters, rest in set(MACRO.findall(text)):
            if re.search(rf"^#\s*undef {name}\b", text, re.M):
                continue
            words = f"{parameters} {' '.join(rest.replace(chr(92), ' ').split())}"
            where, other = seen.setdefault(name, (path, words))
            if where != path and other != words:
                complaints.append(f"{path}: {name} is defined otherwise in {where}")
    return complaints


@check
def macros_of_the_library_and_of_the_model_have_one_text():
    complaints = []
    for paths in library(), files("models/sim/*.[ch]"):
        complaints += macros_with_two_texts((path, read(path)) for path in paths)
    example = [("a", "#define ONE 1\n#define TWO(x) \\\n    (x)\n#define SIX 6\n#undef SIX\n"), ("b", "#define ONE 2\n#define SIX 7\n"),
               ("c", "#define TWO(x)   (x)\n")]
    seen = macros_with_two_texts(example)
    return complaints if seen == ["b: ONE is defined otherwise in a"] else complaints + [f"found in an example: {seen}"]


@check
def options_are_tested_by_value():
    # A port's header and that of user programs may ask whether there is a function of their own.
    sources = [path for path in freestanding() if not path.startswith(("port/", "models/"))]
    allowed = re.compile(r"#\s*ifndef\s+UPMU_\w+_H\b")
    return [line for line in grep(r"#\s*(ifdef|ifndef|if.*\bdefined)\b.*\bUPMU_", sources)
            if not allowed.search(line) and not line.startswith(("include/upmu/config.h:", "events/catalog_models.c:",
                                                                   "events/metric_data.c:", "include/upmu/user.h:",
                                                                   "include/upmu/private/target.h:", "core/hw/port_static.h:"))]


@check
def include_lines_follow_the_direction_of_dependency():
    complaints = []
    for path in tracked(".c", ".h"):
        folder = path.split("/")[0]
        for number, line in enumerate(read(path).split("\n"), 1):
            found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not found:
                continue
            what, where = found.group(2), f"{path}:{number}: {line.strip()}"
            system = found.group(1) == "<" and not what.startswith("upmu/")
            root = what.split("/")[0]
            if folder in ("include", "core", "backends", "events") and system:
                if what not in ("stdbool.h", "stddef.h", "stdint.h"):
                    complaints.append(where + " is not freestanding")
            elif what.startswith("upmu/private/") and folder in ("abi", "port", "models", "examples"):
                complaints.append(where)
            elif system or what.startswith("upmu/"):
                continue
            elif folder == "include":
                complaints.append(where)
            elif folder == "core" and root not in ("core", "upmu") and path != "core/event/backends.c":
                complaints.append(where)
            elif folder == "abi" and not (what.startswith("/".join(path.split("/")[:2]) + "/") or
                                          (path.startswith("abi/paravirt/") and what.startswith("abi/guest/"))):
                complaints.append(where)
            elif folder == "backends":
                own = "/".join(path.split("/")[:2]) + "/"
                if not (what in BACKEND_MAY_USE or what.startswith((own, "backends/x86_common/"))):
                    complaints.append(where)
            elif folder == "events" and root not in ("core", "events"):
                complaints.append(where)
            elif folder in ("port", "models", "efi-demo", "examples") and root in ("core", "backends", "abi", "tests"):
                complaints.append(where)
            elif folder in ("port", "models") and "/" in what and not what.startswith("/".join(path.split("/")[:2]) + "/"):
                complaints.append(where)
    return complaints


REGISTER_OF_A_DOOR = r"GUEST_(SELECT|FIXED|STATUS|DEBUGCTL|LVTPC|ARCH|AMD)\w*|\w*(MSR|CPUID|DEBUGCTL|LVTPC|x86)\w*|UPMU_GUEST_(INTEL|AMD)"


@check
def the_core_of_guests_knows_no_register():
    """Doors are tables."""
    core = ["abi/guest/guest_core.h", "abi/guest/guest_door.h", *files("abi/guest/*.c")]
    complaints = grep(r"\b(" + REGISTER_OF_A_DOOR + r")\b", core)
    return complaints + [f"{path}: includes a door" for path in core if re.search(r"#include .*abi/guest/\w+/", read(path))]


# The engine calls what is optional by core/engine/features.h.  By name: what an overflow produces, the ring of a session, and the
# right of a thread's program to read, which a switch changes.
CALLED_BY_NAME = {("features", "batch"), ("features", "branch_samples"), ("features", "branches_core"), ("features", "drain"), ("features", "format_core"), ("features", "ibs_core"), ("features", "message_core"), ("features", "record_branches"), ("features", "traces_core"), ("features", "user_page"),
                  ("report", "format_core"), ("session", "ring"), ("thread", "user_page")}


@check
def folders_of_core_include_downward():
    complaints, used = [], set()
    for path in files("core/*/*.[ch]"):
        folder, name = path.split("/")[1], os.path.splitext(os.path.basename(path))[0]
        for other, what in re.findall(r'#include "core/(\w+)/(\w+)\.h"', read(path)):
            if CORE_FOLDERS.index(other) <= CORE_FOLDERS.index(folder):
                continue
            if (name, what) in CALLED_BY_NAME:
                used.add((name, what))
            else:
                complaints.append(f"{path}: includes core/{other}/{what}.h, of a folder above its own")
    complaints += [f"{path}: stands in none of core's folders" for path in files("core/*.[ch]")]
    return complaints + [f"{name} does not include {what} any more: take it off the list" for name, what in CALLED_BY_NAME - used]


@check
def no_file_uses_one_that_uses_it():
    """No circle, over core, backends, abi, port and models together; one that is planted is found."""
    code = links.texts()
    complaints = ["files use one another in a circle: " + ", ".join(sorted(circle))
                  for circle in links.circles(links.links(code))]
    code["core/hw/backend.c"] += "\nvoid upmu_planted(void) { upmu_backend(0); }\n"
    if not any({"core/hw/backend.c", "core/event/backends.c", "backends/amd_k8/amd_detect.c"} <= circle
               for circle in links.circles(links.links(code))):
        complaints.append("a helper of backends that uses the registry of backends is no circle")
    return complaints


# Parts of a format or of an interface that one file has; other functions bear the noun of their file.
NOUNS = {"catalog": "catalog masks", "catalog_table": "catalog same section codes item name member payload row masks mask",
         **dict.fromkeys(("place", "place_read", "place_search", "place_why"), "place placement"),
         "backends": "backend pmu", "backend": "detection pmu", "muldiv": "muldiv divide", "port_call": "machine"}


@check
def functions_stand_in_the_file_and_header_of_their_noun():
    complaints, declared = [], {}
    for path in files("core/*/*.h", "include/upmu/**/*.h"):
        for name in re.findall(r"^[a-zA-Z][\w \*]*?\b(upmu_\w+)\([^;{]*\);", code_of(path), re.M):
            declared.setdefault(name, path)
    for path in files("core/*/*.c"):
        stem = os.path.splitext(os.path.basename(path))[0]
        noun = stem.split("_")[0]
        for name in set(re.findall(r"^(?!static)[a-zA-Z][\w \*]*?\bupmu_(\w+)\([^;{}]*\)\n\{", code_of(path), re.M)):
            header = declared.get("upmu_" + name, "none")
            if header.startswith("include/"):
                continue
            nouns = NOUNS.get(stem, f"{noun} {noun.rstrip('s')}").split()
            if not any(name == one or name.startswith((one + "_", one + "s_")) for one in nouns):
                complaints.append(f"{path}: upmu_{name}() bears the noun of another file")
            place = os.path.basename(header)[:-2].replace("_core", "")
            if not (place == stem or place.startswith(noun) or stem in NOUNS or place in ("placement", "backend")):
                complaints.append(f"{path}: upmu_{name}() is declared in {header}")
    return complaints


@check
def core_names_backends_in_one_file():
    # (What the core needs of units is in core/hw/unit_backend.h.)
    folders = {os.path.basename(path.rstrip("/")) for path in files("backends/*/")} - {"uncore"}
    names = "|".join(sorted(folders)) or "x86_core"
    return [line for line in grep(rf"\bupmu_({names})_", files("core/*/*.[ch]"))
            if not line.startswith("core/event/backends.c:")]


@check
def hooks_are_called_in_one_header():
    # A backend's detection calls functions of the same names that the core lends it.
    calls = rf"(\bport\b|\.|->)\s*(->|\.)?\s*({HOOKS})\s*\("
    return [line for line in grep(calls, library())
            if not line.startswith("core/hw/port_call.h:") and not re.search(rf"\b(detection|seen)(->|\.)({HOOKS})\(", line)]


@check
def registers_are_written_in_one_file():
    return [line for line in grep(r"\bport_wrmsr\s*\(", library())
            if not line.startswith(("core/hw/bank.c:", "core/hw/bank_inline.h:", "core/hw/port_call.h:", "core/hw/space.c:"))]


# Fields of docs/ENGINE.md, "Fields that CPUs share", by what points to them.
SHARED_FIELDS = {
    "session": "state|full|error|sequence|enabled_ns|started_ns|running_ns|active|thread",
    "set": "duration_ns|turn_ns|turns|turn_squares|scale",
    "tally": "total|base|due|reset|gap_ns|ran|hole|counter|period",
    "sums": "turn_total|squares|products",
    "meter": "live|busy|seen_counting|machine|pmu",
    "bank": "by_rdpmc|box_rdpmc|fresh",
}


@check
def fields_that_cpus_share_are_stored_through_their_accessor():
    # A load that another CPU's store may meet is ThreadSanitizer's to find: make test-host-threads.
    engine = [path for path in library() if path.startswith(("core/engine/", "core/hw/"))]
    return [line for owner, fields in SHARED_FIELDS.items()
            for line in grep(rf"\b{owner}->({fields})\s*(([-+|&^]|<<|>>)?=[^=]|\+\+|--)|(\+\+|--){owner}->({fields})\b", engine)]


@check
def fields_are_assigned_by_their_owners():
    # A ceiling says how many assignments stand elsewhere; a lower number has to be written down.
    return owners.complaints()


@check
def each_form_of_an_assignment_is_counted():
    # Forms that a search for `->field =` alone passes over.
    counted = ["meter->used = 1;", "meter->used |= bits;", "meter->used <<= 1;", "meter->used++;", "--call->meter->used;",
               "meter->used[i] = 2;", "meter->used.ip = 3;", "cpu->meter.used &= ~bits;", "UPMU_STORE(meter->used, 4);",
               "UPMU_STORE(session->meter->used[3], 4);", "meters[2].meter->used\n = 5;", "(void)read(&meter->used);",
               "__atomic_store_n(&cpu->meter.used, 0, order);", "link = &meter->used;",
               "memset(meter->used, 0, sizeof meter->used);", "upmu_byte_or(&meter->used, 2)"]
    passed = ["if (meter->used == 1)", "used = meter->used;", "meter->used_by = 1;", "meter->unused = 1;",
              "a = b & meter->used;", "a && meter->used", "__atomic_load_n(&meter->used, order)", "UPMU_LOAD(meter->used)",
              "memcpy(to, meter->used, 4);", "session->used = 1;", "meter->used <= 2", "f(&meter->used->next, 1)"]
    return [f"{text!r}: {found} found" for texts, wanted in ((counted, 1), (passed, 0)) for text in texts
            for found in [len(owners.assignments("meter", "used", {"x.c": text}).get("x.c", []))] if found != wanted]


@check
def tests_look_at_private_state_in_one_file():
    # tests/common/state.h has names for these: a change of the engine's fields changes one file of the tests.
    return grep(r"\bmeter(\.|->)(slot|running|sampling|halted|stopped|failed|wrong|unowned|work_due|plan)\b|"
                r"\bcpu(\.|->)mail\b|\bsession(\.|->)sequence\b",
                [path for path in files("tests/**/*.[ch]") if path != "tests/common/state.c"])


@check
def nothing_needs_the_compilers_runtime_library():
    return grep(r"__builtin_(popcount|ctzll|clzll|ffsll|parity)|\b(float|double|long double|__int128)\b|"
                r"__atomic_\w+_8|\b(malloc|calloc|realloc|alloca)\s*\(", library() + files("models/sim/*.[ch]"))


@check
def lines_are_tidy_and_no_longer_than_120_columns():
    complaints = []
    for path in tracked(".c", ".h", ".S"):
        text = read(path)
        generated = "enerated by" in text[:400]
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > 120 and not generated:
                complaints.append(f"{path}:{number}: {len(line)} columns")
            if "\t" in line and not path.endswith(".S"):
                complaints.append(f"{path}:{number}: tab")
            if line.rstrip() != line:
                complaints.append(f"{path}:{number}: blanks at the end")
        if text and not text.endswith("\n"):
            complaints.append(f"{path}: no newline at the end")
    return complaints


def table_rows(path):
    """Rows of constants, as tables have them: at least four numbers in braces; addresses alone are the manual's."""
    rows = re.findall(r"\{([^{}]*)\}", code_of(path))
    numbers = [tuple(int(n.rstrip("uUlL"), 0) for n in re.findall(r"\b(?:0[xX][0-9a-fA-F]+|[1-9]\d*)[uUlL]*\b", row))
               for row in rows]
    return {row for row in numbers if len(row) >= 4 and len(set(row)) >= 3 and
            any(n > 255 for n in row) and not all(0x100 <= n < 0x400 for n in row)}


@check
def fakes_of_the_host_share_nothing_with_model_or_library():
    complaints, others = [], {}
    for path in library() + files("models/sim/*.[ch]"):
        others.update((row, path) for row in table_rows(path))
    for path in files("tests/host/hardware*.[ch]"):
        for number, line in enumerate(read(path).split("\n"), 1):
            found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if found and "/" in found.group(1) and not found.group(1).startswith("tests/host/hardware"):
                complaints.append(f"{path}:{number}: {line.strip()}")
            if re.search(r"\bupmu_\w+|\bUPMU_(?!TESTS_HOST_)\w+", line):
                complaints.append(f"{path}:{number}: a name of the library: {line.strip()}")
        complaints += [f"{path}: a row of {others[row]}: {row}" for row in table_rows(path) if row in others]
    return complaints


@check
def names_of_tests_have_at_most_60_characters():
    """Finds a name that a list of failures breaks in two: what it leaves out belongs into the test's comment."""
    names = [(path, name) for path in tracked(".c", ".py") if path.startswith("tests/") for name in
             re.findall(r"\bcmocka_unit_test\w*\((\w+)|^@check\ndef (\w+)", read(path), re.M)]
    return [f"{path}: {''.join(name)}" for path, name in names if len("".join(name)) > 60] + ([] if len(names) > 1000 else ["few names"])


# A comparison of numbers whose sides are names, numbers, fields and calls without other comparisons inside of them.
SIDE = r"(?:[\w.\[\] +*-]|->|\((?:[^()&|?]|\([^()]*\))*\))+"
UNSAID = re.compile(rf"\bassert_(?:true|false)\((?!{SIDE} [=!]= NULL)({SIDE} (?:[=!<>]=|[<>]) {SIDE})(?:, \w+)*\);")
POINTERS = {"room != MAP_FAILED", "fake != MAP_FAILED", "memory != MAP_FAILED", "line > name"}


@check
def assertions_say_what_they_measured():
    """Finds `assert_true(n > 2)`, which does not say what n is, and cmocka's own assertions, which name no side."""
    complaints = []
    for path in files("tests/**/*.[ch]"):
        text = code_of(path)
        complaints += [f"{path}: {found}: use assert_int_equal(), assert_int_not_equal() or assert_compare()" for found in
                       UNSAID.findall(text) if found not in POINTERS]
        if "#include <cmocka.h>" in text and path != "tests/common/assertions.h":
            complaints.append(f"{path}: include tests/common/assertions.h in place of cmocka.h")
    seen = UNSAID.findall("assert_true(n > 2); assert_false(a->b[i] == f(x, 3), i); assert_true(a && b == 2); assert_true(p == NULL);")
    return complaints if seen == ["n > 2", "a->b[i] == f(x, 3)"] else complaints + [f"found in an example: {seen}"]


@check
def test_programs_stand_in_their_table():
    """Finds a program that was added or moved, or proves something else, and whose row was forgotten."""
    return programs.complaints()


@check
def sources_speak_of_upmu_alone():
    pattern = re.compile("/" + r"work/|\b" + "shared" + r"/|\bTODO\b|\bFIXME\b|\bXXX\b")
    complaints = []
    for path in tracked(".c", ".h", ".S", ".py", ".sh", ".mk", ".md", ".tsv", "Makefile"):
        for number, line in enumerate(read(path).split("\n"), 1):
            if pattern.search(line) and "pattern = re.compile" not in line:
                complaints.append(f"{path}:{number}: {line.strip()[:100]}")
    return complaints


@check
def things_are_named_and_not_spoken_of_as_people():
    left, complaints = prose.allowed(), []
    for path in tracked(""):
        found = prose.uses(path) if os.path.isfile(path) else []
        if len(found) > left.get(prose.key(path), 0):
            complaints += [f"{path}:{line}: \"{word}\": see docs/DESIGN.md, Plain English" for line, word in found]
    return complaints


# Folders and files whose readers have no list of rulings: the reason stands in place of a number.
WITHOUT_RULINGS = ("docs/", "README.md", "CONTRIBUTING.md", "SECURITY.md")
CORES_OF_ARM = r"Cortex-[AMR]\d+(?:(?:,| and| or) [AMR]\d+)*|\bR_\w+"


@check
def reasons_stand_in_place_of_numbers_of_rulings():
    """Finds `R24` in a page.  Names of Arm's cores are none."""
    return [f"{path}:{number}: {found}: say the reason" for path in tracked("") if path.startswith(WITHOUT_RULINGS) and not path.endswith(".png")
            for number, line in enumerate(read(path).split("\n"), 1)
            for found in re.findall(r"\bR[1-9]\d?\b", re.sub(CORES_OF_ARM, "", line))]


def headings(path):
    """Also words in bold at the begin of a paragraph."""
    return {re.sub(r"[*`]", "", heading) for found in re.findall(r"^#+ (.*)$|^\*\*(.*?)\.?\*\*", read(path), re.M) for heading in found}


@check
def what_is_said_of_a_page_is_there():
    """Finds a link to no file, and a section in quotes behind the name of a page that has no such heading."""
    complaints = []
    for path in tracked(".md"):
        text, folder = read(path), os.path.dirname(path)
        complaints += [f"{path}: links to no file: {link}" for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
                       if not os.path.exists(os.path.join(folder, link))]
        complaints += [f"{path}: {link} has no section \"{title}\"" for link, title in
                       re.findall(r"\]\(([\w./]+\.md)\),\s+\"([^\"]+)\"", text) if os.path.exists(os.path.join(folder, link)) and
                       " ".join(title.split()) not in headings(os.path.join(folder, link))]
    for path in tracked(".c", ".h", ".S", ".py", ".mk", ".md", ".rs", "Makefile"):
        text = re.sub(r"\n(?: \*|#|//)* *", " ", read(path))
        complaints += [f"{path}: {page} has no section \"{title}\"" for page, title in
                       re.findall(r"\b((?:docs|tests)/[\w/]+\.md), \"([^\"{}]+)\"", text) if not os.path.exists(page) or title not in headings(page)]
    return complaints


def comments_in(folders):
    for path in tracked(".c", ".h", ".S"):
        if path.startswith(folders):
            for line, words in prose.comments_of(read(path)):
                yield f"{path}:{line}: {words[:90]}", words


@check
def comments_name_their_subject():
    """At most one in a hundred, of the library and of programs, begins with a pronoun or a relative clause."""
    complaints = []
    for folders in prose.LIBRARY, prose.PROGRAMS:
        counted = [(place, words) for place, words in comments_in(folders) if len(words) >= prose.LABEL]
        found = [place for place, words in counted if prose.lacks_subject(words)]
        print(f"{folders}: {len(found)} of {len(counted)} comments name no subject")
        complaints += found if len(found) * 100 > len(counted) else []
        complaints += [f"{folders}: only {len(counted)} comments"] if len(counted) < 500 else []
    return complaints


@check
def no_comment_stands_in_parentheses():
    return [place for place, words in comments_in(prose.LIBRARY + prose.PROGRAMS) if prose.is_in_parentheses(words)]


@check
def comments_say_reasons_and_no_numbers_of_rulings():
    return [place for place, words in comments_in(prose.LIBRARY + prose.PROGRAMS) if prose.RULING.search(words)]


@check
def each_form_of_a_comment_is_counted():
    texts = ["x = '\"'; /* It is a comment without a subject. */", "/*\n * What a\n * long comment has to say\n */", "// Those of a C++ comment, too",
             "/* (A remark in parentheses.) */", "x; /* ((a) and b) */", "/* Item of a list that is long enough */",
             "/* (a + b) / (c + d) */", "/* It is short */", "\"/* What a string has is no comment */\"", "/* A counter (R13) */"]
    seen = [[words for _, words in prose.comments_of(text)] for text in texts]
    answers = [(bool(seen[i]), any(map(prose.lacks_subject, seen[i])), any(map(prose.is_in_parentheses, seen[i])),
                any(map(prose.RULING.search, seen[i]))) for i in range(len(texts))]
    wanted = [(True, i < 3, i in (3, 4), i == 9) if i != 8 else (False, False, False, False) for i in range(len(texts))]
    return [f"{text!r}: {answer}" for text, answer, want in zip(texts, answers, wanted) if answer != want]


@check
def files_that_state_the_version_agree():
    """Finds a version that was raised in one file alone: a copy in which a file states another one, or none, is refused by its name."""
    code, output = run([sys.executable, "tools/version.py"])
    if code:
        return output.splitlines()
    sys.path.insert(0, "tools")
    import version
    tree, number, crates = "build/tests/versions", version.sources.version(), ["bindings/rust/made-up/Cargo.toml", "bindings/rust/Cargo.lock"]
    texts = {path: read(path) for path in ("include/upmu/config.h", *(path for path, _, _ in version.PLACES))}
    texts[crates[0]] = f'[package]\nversion = "{number}"\n\n[dependencies]\nupmu = {{ path = "..", version = "={number}" }}\n'
    texts[crates[1]] = f'version = 3\n\n[[package]]\nname = "made-up"\nversion = "{number}"\n'
    places = [(path, re.search(pattern, texts[path], re.M)) for path, pattern, _ in version.PLACES]
    places += [(crate, found) for crate in crates for found in re.finditer(r'"=?(\d[\d.]*)"', texts[crate])]
    changes = [(path, text[:found.start(1)] + "9.8.7" + text[found.end(1):]) for path, found in places for text in [texts[path]]]
    changes += [(path, texts[path].replace(found[0], "")) for path, found in places if path not in crates]
    shutil.rmtree(tree, ignore_errors=True)
    complaints = []
    for path, text in [("", "")] + changes:
        for name in texts:
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(text if name == path else texts[name])
        code, output = run([sys.executable, "tools/version.py", tree])
        if code != bool(path) or not re.fullmatch(re.escape(path) + ": .*\n" if path else re.escape(number) + "\n", output):
            complaints.append(f"{path}, changed: exit {code}: {output[-300:]}")
    shutil.rmtree(tree)
    return complaints


# Changes of single files of a copy of the tree, and what tools/options.py says of each beside the file's name.
OPTION_CHANGES = [
    ("include/upmu/config.h", "#ifndef UPMU_PERMIT\n", "/* New. */\n#ifndef UPMU_NEW\n#define UPMU_NEW 1\n#endif\n\n/* Old. */\n#ifndef UPMU_PERMIT\n",
     "tools/options.tsv: no row of UPMU_NEW"),
    ("include/upmu/config.h", "#define UPMU_PERMIT UPMU_IS_FULL", "#define UPMU_PERMIT 0", "UPMU_PERMIT: include/upmu/config.h has the default \"0\""),
    ("include/upmu/config.h", "#if UPMU_PROFILE == UPMU_PROFILE_TINY\n#define UPMU_SET_EVENTS 4", "#if UPMU_PROFILE == UPMU_PROFILE_TINY\n#define UPMU_SET_EVENTS 6",
     "UPMU_SET_EVENTS: include/upmu/config.h has the default \"6 if"),
    ("include/upmu/config.h", "\n/* Explanations as text, upmu_why_text().  0: it writes the name of the status only. */", "\n", "UPMU_WHY_TEXT has no comment"),
    ("include/upmu/private/options.h", '#error "UPMU_SETS needs UPMU_THREADS"', '#error "no threads"', "UPMU_SETS needs \"UPMU_THREADS\""),
    ("include/upmu/private/options.h", '"UPMU_SET_EVENTS is 1 to 32"', '"UPMU_SET_EVENTS is 1 to 64"', "UPMU_SET_EVENTS: no #error says"),
    ("tools/options.tsv", "UPMU_PERMIT\t", "UPMU_OLD\t", "include/upmu/config.h has no option UPMU_OLD"),
    ("tools/options.tsv", "UPMU_PERMIT\tUPMU_IS_FULL\t0 1\t0", "UPMU_PERMIT\tUPMU_IS_FULL\t0 1\t2", "UPMU_PERMIT: the other value 2"),
    ("tools/options.tsv", "1 to 32\t4\t-\t-\t4\talone", "1 to 32\t4\t-\t-\t4\tnowhere", "UPMU_SET_EVENTS: no check nowhere"),
    ("tools/options.tsv", "1 to 32\t4\t-\t-\t4\talone", "1 to 32\t4\t-\t-\t4\tpairs", "UPMU_SET_EVENTS: an option with other values"),
    ("tools/options.tsv", "UPMU_EVENTS_ARM\tUPMU_BACKEND_ARM_PMUV3\t0 1\t0\tUPMU_BACKEND_ARM_PMUV3=1", "UPMU_EVENTS_ARM\tUPMU_BACKEND_ARM_PMUV3\t0 1\t0\tUPMU_OLD=1",
     "UPMU_EVENTS_ARM: UPMU_OLD beside it"),
    ("docs/SIZE.md", "| `UPMU_TRACE`", "| `UPMU_OLD`", "UPMU_TRACE is not there"),
    ("docs/SIZE.md", "| events in one set |", "| events |", "UPMU_SET_EVENTS is not there"),
    ("zephyr/Kconfig", " UPMU_PACK=0", "", "the default of UPMU_OPTIONS has UPMU_PACK="),
    ("zephyr/Kconfig", " UPMU_PACK=0", " UPMU_PACK=0 UPMU_PROBES=0", "no option of include/upmu/config.h has this name"),
    ("zephyr/Kconfig", "config UPMU_SIM\n", "config UPMU_MODEL\n", "CONFIG_UPMU_SIM does not set UPMU_FOR_X86"),
    ("meson.build", "get_option('options')", "[]", "by which it passes on any option"),
    ("docs/PMC.md", "UPMU_EVENTS_ALL=0", "UPMU_EVENTS_ALL=2", "UPMU_EVENTS_ALL=2 is none of its values"),
    ("docs/PMC.md", "UPMU_EVENTS_ALL=0", "UPMU_EVENTS_skylate=1", "no option of include/upmu/config.h has this name")]


@check
def options_stand_in_one_table_and_every_list_of_them_agrees():
    """Finds an option without a row, a row without an option, a builder or a page that differs: a copy in which one does is refused."""
    code, output = run([sys.executable, "tools/options.py"])
    if code:
        return output.splitlines()
    sys.path.insert(0, "tools")
    import options
    tree, complaints = "build/tests/options", []
    texts = {path: read(path) for path in (options.CONFIG, options.TARGET, options.TABLE, options.PAGE, options.KCONFIG, options.MODELS, *options.BUILDERS,
                                           *files("tests/build/check_*.py"), *(path for path, _, _, _ in OPTION_CHANGES))}

    def write(path, text):
        os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
        with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
            file.write(text)
    shutil.rmtree(tree, ignore_errors=True)
    for path, text in texts.items():
        write(path, text)
    complaints += options.complaints(tree)
    for path, old, new, said in OPTION_CHANGES:
        write(path, texts[path].replace(old, new))
        found = options.complaints(tree)
        write(path, texts[path])
        if texts[path].count(old) != 1 or not any(said in text for text in found):
            complaints.append(f"{path}, {old[:60]!r} changed: {found}")
    shutil.rmtree(tree)
    return complaints


@check
def the_list_for_edk_ii_is_that_of_upmu_mk():
    """Finds a source that UpmuLib.inf would lack: it has the patterns of upmu.mk, as make understands them, and one file more."""
    sys.path.insert(0, "tools")
    import edk2
    found = re.search(r"^\[Sources\]\n((?:  .*\n)*)", edk2.inf(), re.M)[1].split()
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    code, output = run(["make", "-s", "-f", "upmu.mk", "--eval", "print: ; @echo $(UPMU_SOURCES)", "print"], env=environment)
    wanted = {os.path.normpath(f"upmu/{path}") for path in (*output.split(), edk2.MEMORY)}
    return [output] if code or len(found) < 100 else [f"only one of UpmuLib.inf and upmu.mk has {path}" for path in sorted(wanted ^ set(found))]


@check
def generated_tables_are_what_their_generator_makes():
    complaints = []
    for packer in "tools/catalog_pack.py", "tools/uncore_tables.py":
        if not os.path.exists(packer):
            return [f"{packer} is missing"]
        done = subprocess.run([sys.executable, packer, "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        complaints += [] if done.returncode == 0 else done.stdout.decode("utf-8", "replace").split("\n")
    return complaints


@check
def tests_of_many_requirements_say_what_shows_which():
    carried = {}
    for line in read("tests/requirements.tsv").split("\n"):
        if line and not line.startswith("#"):
            identifier, test, path = line.split("\t")
            carried.setdefault((path, test), []).append(identifier)
    complaints = []
    for (path, test), identifiers in carried.items():
        if len(identifiers) <= 4:
            continue
        # The comment above it, and its body.
        body = rf"(/\*(?:(?!\*/)[\s\S])*\*/\n)?static void {test}\(void \*\*state\)[\s\S]*?\n}}"
        found = re.search(rf"def {test}\(\):[\s\S]*?\n\n" if path.endswith(".py") else body, read(path))
        missing = [i for i in identifiers if not found or i not in found.group()]
        complaints += [f"{path}: {test}: says nothing of {' '.join(missing)}"] if missing else []
    return complaints


@check
def mutants_still_have_their_lines():
    sys.path.insert(0, "tests/mutants")
    import mutants
    changed, stale = mutants.line_mutants()
    import rows
    of_requirements, _, misfits = rows.read_table()
    names = {mutant.name for mutant in changed} | {row.name for row in of_requirements}
    return stale + misfits + [f"{mutants.SURVIVORS}: no mutant {name}" for name in mutants.known_survivors() if name not in names]


@check
def mutants_of_foreign_machines_still_have_their_lines():
    """The rows of tests/foreign are text that stands once in an ASCII file."""
    wrong = []
    for table in "tests/foreign/mutants.tsv", "tests/foreign/hosts_mutants.tsv":
        for row in (line.split("\t") for line in read(table).splitlines() if not line.startswith("#")):
            source = read(row[0])
            if source.count(row[1]) != 1 or not source.isascii():
                wrong.append(f"{table}: {row[3]}: {row[0]} has the text {source.count(row[1])} times, or is no ASCII")
    return wrong


if __name__ == "__main__":
    main()
