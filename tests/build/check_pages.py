#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pages (README.md, docs and the others): functions, files, targets, options and sections that they name are there, their
lines of C compile, and the bytes that they state are those of the compiler.

Class of mistake: a page that was true once.  A function is renamed, a folder moves, a structure grows by a word, and a sentence
keeps the former name or figure.
"""
import collections
import glob
import os
import re
import sys

from checklib import FREESTANDING, ROOT, check, main, parallel, read, run

WORK = "build/tests/pages"
# The names in its older sections are those of their time.
HISTORY = "CHANGELOG.md"
# Names of other systems, of FreeBSD's libpmc as it was, and a name in an example of a test.
OTHERS = {"k_thread_cpu_pin", "p4_allocate_pmc", "name_says_what_holds"}
# Folders of other trees with a name that one of this tree has, too.
OTHER_TREES = ("tools/perf/", "tools/power/", "include/uapi/", "arch/")
FOLDERS = "abi|backends|bindings|core|docs|efi-demo|events|examples|include|models|port|tests|tools|upmu|zephyr"
PATH = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./*\[\]-]*[\w*/\]])")


def tracked():
    code, output = run(["git", "ls-files", "--cached", "--others", "--exclude-standard"])
    return [path for path in output.split("\n") if os.path.isfile(path)] if code == 0 else []


def pages():
    return [path for path in tracked() if path.endswith(".md") and path != HISTORY]


def words_of_sources():
    """Every word of the tree but those of pages: a page is no witness for another."""
    found = set()
    for path in tracked():
        if not path.endswith((".md", ".png", ".bin", ".blob")) and path != "tests/build/check_pages.py":
            with open(path, encoding="utf-8", errors="replace") as file:
                found.update(re.findall(r"\w+", file.read()))
    return found


def spans(line):
    return re.findall(r"`([^`]+)`", line)


def unknown_names(line, known, begins):
    """Names of the library, and calls, that no source has.  A name that ends in _ stands for those that begin so."""
    names = re.findall(r"\b((?:upmu|UPMU|CONFIG_UPMU)_\w+)", line)
    names += [name for span in spans(line) for name in re.findall(r"\b([a-zA-Z]\w{2,})\(", span)]
    return [name for name in names if name not in known and name not in OTHERS and
            not (name.endswith("_") and any(word.startswith(name) for word in begins))]


@check
def pages_name_functions_and_options_that_there_are():
    known = words_of_sources()
    begins = [word for word in known if word.startswith(("upmu_", "UPMU_", "CONFIG_UPMU_"))]
    complaints = [f"{page}:{number}: no source has {name}" for page in pages()
                  for number, line in enumerate(read(page).split("\n"), 1) for name in unknown_names(line, known, begins)]
    seen = unknown_names("`upmu_sown()`, `sown_call(x)`, `upmu_session_…`, `UPMU_SOWN`, `memcpy()`", known, begins)
    return complaints + ([] if seen == ["upmu_sown", "UPMU_SOWN", "upmu_sown", "sown_call"] else [f"in an example: {seen}"])


def missing_paths(line, folder):
    missing = []
    for path in PATH.findall(line.replace("\\*", "*")):
        tail = path.split("/", 1)[1]
        places = [path, os.path.join(folder, path), "include/" + path, "tests/" + path]
        named = re.search(r"[A-Z]{2,}|^x/", tail) and not re.search(r"README|LICENSE|Makefile|Kconfig|CMake", tail)
        if not (named or path.startswith(OTHER_TREES) or any(glob.glob(re.sub(r"\[ch\]", "[ch]", place)) for place in places)):
            missing.append(path)
    return missing


@check
def pages_name_files_and_folders_that_there_are():
    """Finds `abi/rights`, which was a folder once.  Words in capitals stand for names (`events/NAME.tsv`)."""
    complaints = []
    for page in pages():
        for number, line in enumerate(read(page).split("\n"), 1):
            line = re.sub(r"\[[^]]*\]\([^)]*\)|<zephyr/[^>]*>|https?://\S+|[\w.]+\.(?:com|org)/\S+", "", line)
            complaints += [f"{page}:{number}: there is no {path}" for path in missing_paths(line, os.path.dirname(page))
                           if path.endswith("/") or "." in path or path.split("/")[0] in ("abi", "backends", "core", "port", "models")]
    seen = missing_paths("`core/planted.c`, `core/hw/bank.c`, port/x86_native, `upmu/planted.h`, events/NAME.tsv", "docs")
    return complaints + ([] if seen == ["core/planted.c", "upmu/planted.h"] else [f"in an example: {seen}"])


def slug(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@check
def links_to_sections_lead_to_a_heading():
    complaints = []
    for page in pages():
        for path, anchor in re.findall(r"\]\(([\w./-]*)#([^)]+)\)", read(page)):
            there = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            headings = re.findall(r"^#+ (.*)$", read(there), re.M) if os.path.exists(there) else []
            if anchor not in map(slug, headings):
                complaints.append(f"{page}: {there} has no section #{anchor}")
    return complaints


@check
def the_overview_has_a_line_for_each_page():
    page = read("docs/OVERVIEW.md").split("## Pages")[1]
    return [f"docs/OVERVIEW.md lacks {path}" for path in sorted(glob.glob("docs/*.md"))
            if path != "docs/OVERVIEW.md" and f"]({os.path.basename(path)})" not in page]


def make_data():
    """(targets, variables) of the makefiles."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    _, output = run(["make", "-pqrR", "--no-print-directory"], env=environment)
    return set(re.findall(r"^([a-z][\w-]*):(?!=)", output, re.M)), set(re.findall(r"^([A-Z]\w*) (?:[:?+])?=", output, re.M))


MAKE = re.compile(r"\bmake((?: +[A-Z]\w*=\S*)*) +([a-z][\w-]+)((?: +[A-Z]\w*=[^\s`]*)*)")


def commands(page):
    """Lines of blocks without a language, and spans, as (line number, text)."""
    inside = False
    for number, line in enumerate(read(page).split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif inside:
            yield number, re.sub(r"\s#.*", "", line)
        else:
            yield from ((number, span) for span in spans(line))


@check
def pages_name_targets_of_make_that_there_are():
    targets, variables = make_data()
    known, complaints, count = words_of_sources(), [], 0
    for page in pages():
        own = "".join(read(path) for path in glob.glob(os.path.join(os.path.dirname(page), "Makefile")) if os.path.dirname(page))
        for number, text in commands(page):
            for before, target, behind in MAKE.findall(text) if re.match(r"(sudo |\w+=\S* )*make\b", text) else []:
                count += 1
                if target not in targets and not re.search(rf"^[\w .-]*\b{target}\b[\w .-]*:", own, re.M) and target != "test-LAYER":
                    complaints.append(f"{page}:{number}: make has no target {target}")
                complaints += [f"{page}:{number}: no makefile reads {name}" for name in re.findall(r"([A-Z]\w*)=", before + behind)
                               if name not in variables and name not in known]
    return complaints + ([] if count > 100 and {"test", "demo"} <= targets else [f"{count} commands, {len(targets)} targets"])


@check
def pages_name_commands_and_options_of_the_tool():
    sources = "".join(read(path) for path in glob.glob("tools/*/*.[ch]") + ["tools/upmu_main.c"])
    names = set(re.findall(r'^ +\{"(\w+)",(?: |$)', sources, re.M)) | {"help"}
    complaints, count = [], 0
    for page in pages():
        for number, text in commands(page):
            found = re.match(r"(?:\$ )?(?:sudo )?(?:build/)?upmu ([a-z]\w*)((?: .*)?)$", text)
            if not found:
                continue
            count += 1
            complaints += [] if found[1] in names else [f"{page}:{number}: the tool has no command {found[1]}"]
            own = re.split(r" -- |[|>;]", found[2])[0]
            complaints += [f"{page}:{number}: the tool has no option {option}" for option in re.findall(r"(?<=\s)(--[a-z][\w-]*)", own)
                           if not re.search(rf'"{option}\b', sources)]
    return complaints + ([] if count > 25 and len(names) > 15 else [f"{count} commands, of {len(names)}"])


# What lines of C stand in: "file" for functions of their own, "body" for statements; and what is declared before them.
BEGIN = """#include <upmu/upmu.h>
#include <upmu/branches.h>
#include <upmu/bts.h>
#include <upmu/format.h>
#include <upmu/hybrid.h>
#include <upmu/precise.h>
#include <upmu/results.h>
static struct upmu_cpu cpu;
static struct upmu_frame frame;
static struct upmu_session session;
static struct upmu_why why;
static struct upmu_branch last[UPMU_BRANCHES_MOST];
static struct upmu_log log;
static struct upmu_count counts[UPMU_SET_EVENTS];
static struct upmu_session *const *sessions;
static unsigned count, cpu_number, session_count;
static enum upmu_status status;
uint64_t clock(void);
bool serial_write(void *context, const void *bytes, size_t length);
bool on_this_stack(uint64_t address, unsigned bytes);
"""
SAMPLES = {
    "docs/BRANCHES.md": ["body", "body", "body"],
    "docs/EVENTS.md": ["file"],
    "docs/PRECISE.md": ["pointers", "expression", "expression"],
    "docs/RESULTS.md": ["body", "file"],
}
# Pages whose lines of C others compile or compare, and the text in these by which they do.
ELSEWHERE = {
    "README.md": ["tests/build/check_readme.py", "tests/build/check_units.py"],
    "docs/PORTING.md": ["tests/build/check_porting.py", "tests/foreign/test_demos.py"],
    "docs/PERF.md": ["tests/kernel/test_kernel.py"],
    "docs/ZEPHYR.md": ["tests/zephyr/check_zephyr.py"],
    "docs/uncore.md": ["tests/build/check_units.py"],
}


def sample(kind, text):
    """A source that has the lines."""
    if kind == "file":
        return BEGIN + text
    if kind == "expression":
        text = f"const struct upmu_sampling *each = {text.strip()};\n(void)each;\n"
    text = "".join(f"    {line}\n" if line else "\n" for line in text.split("\n") if not line.startswith("#include"))
    body = text.replace("cpu, &memory", "&cpu, &memory").replace("&session->set", "&session.set") if kind == "pointers" else text
    return f"{BEGIN}void lines(void);\nvoid lines(void)\n{{\n{body}}}\n"


@check
def lines_of_c_in_pages_compile():
    """Also finds a page with lines that no check reads."""
    os.makedirs(WORK, exist_ok=True)
    complaints, jobs = [], []
    for page in pages():
        blocks = re.findall(r"^```c\n(.*?)^```", read(page), re.M | re.S)
        if page in ELSEWHERE:
            complaints += [f"{other} does not read {page}" for other in ELSEWHERE[page] if os.path.basename(page) not in read(other)]
        elif len(blocks) != len(SAMPLES.get(page, [])):
            complaints.append(f"{page}: {len(blocks)} blocks of C, and SAMPLES has {len(SAMPLES.get(page, []))}")
        else:
            jobs += [(page, i, kind, blocks[i]) for i, kind in enumerate(SAMPLES.get(page, []))]

    def compile_one(job):
        page, i, kind, text = job
        path = f"{WORK}/{os.path.basename(page)}.{i}.c"
        with open(path, "w", encoding="utf-8") as file:
            file.write(sample(kind, text))
        found = []
        for options in (["-m64"], ["-m32"]):
            code, output = run(["gcc", *options, *FREESTANDING, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-result",
                                "-Wno-unused", "-Wno-missing-prototypes", "-Wno-int-to-pointer-cast", path])
            found += [f"{page}, block {i + 1}: {output[:1200]}"] if code else []
        return found
    return complaints + parallel(compile_one, jobs)


# Bytes that a page states: (page, pattern, an expression for each group); in patterns blanks are any, and # is a number.
SIZES = [
    ("docs/ENGINE.md", "sees memory of # bytes and a cast", ["UPMU_SESSION_BYTES(1)"]),
    ("docs/ENGINE.md", "Without NetBurst an event takes # bytes, and a session of two events #",
     ["NO_P4 UPMU_SESSION_BYTES(2) - UPMU_SESSION_BYTES(1)", "NO_P4 UPMU_SESSION_BYTES(2)"]),
    *(("docs/ENGINE.md", f"| {n} | # | # | # |", [f"UPMU_SESSION_BYTES({n})", f"32 UPMU_SESSION_BYTES({n})", f"1024 + 320 * {n}"])
      for n in (1, 2, 4, 12)),
    *(("docs/ENGINE.md", f"| `{name}` | # |", [f"sizeof({struct})"]) for name, struct in
      (("tally", "struct upmu_tally"), ("event", "struct upmu_event"), ("estimate", "struct upmu_estimate"), ("sampling", "struct upmu_kept"))),
    ("docs/SIZE.md", "has # bytes with one event, # with four", ["UPMU_SESSION_BYTES(1)", "UPMU_SESSION_BYTES(4)"]),
    ("docs/SIZE.md", "Each event takes # bytes: # for its words, # for perfmon2's sampling attributes, and # for the state",
     ["UPMU_SESSION_BYTES(12) - UPMU_SESSION_BYTES(11)", "sizeof(struct upmu_event)", "sizeof(struct upmu_kept)",
      "sizeof(struct upmu_tally) + sizeof(struct upmu_estimate)"]),
    ("docs/PERF.md", "| an event | # |", ["sizeof(struct upmu_perf_event)"]),
    ("docs/PERF.md", "| # for one hardware event, # for each more |", ["UPMU_SESSION_BYTES(1)", "UPMU_SESSION_BYTES(2) - UPMU_SESSION_BYTES(1)"]),
    ("docs/PERF.md", "| a ring | #, and", ["sizeof(struct upmu_perf_ring)"]),
    ("docs/PERF.md", "| counts in a page | # |", ["sizeof(struct upmu_perf_counts)"]),
    ("docs/PERF.md", "a leader takes # bytes, a sibling # more, and a software event alone #",
     ["sizeof(struct upmu_perf_event) + UPMU_SESSION_BYTES(1)",
      "sizeof(struct upmu_perf_event) + UPMU_SESSION_BYTES(2) - UPMU_SESSION_BYTES(1)", "sizeof(struct upmu_perf_event)"]),
    ("docs/PERF.md", "would be # bytes more, and a sibling #",
     ["2 * (sizeof(struct upmu_count) - 24)",
      "sizeof(struct upmu_perf_event) + UPMU_SESSION_BYTES(2) - UPMU_SESSION_BYTES(1) + 2 * (sizeof(struct upmu_count) - 24)"]),
    ("docs/GUESTS.md", "for each vCPU (# bytes with 64 bits)", ["sizeof(struct upmu_guest)"]),
    ("docs/GUESTS.md", "of the hypervisor's, # bytes, to which", ["sizeof(struct upmu_guest_statistics)"]),
    ("docs/GUESTS.md", "writes at most # bytes, the same on hosts", ["UPMU_GUEST_STATE_BYTES"]),
    ("docs/GUESTS.md", "at most # ranges in the order", ["UPMU_GUEST_RANGES"]),
]
BUILDS = {"": [], "32": ["-m32"], "NO_P4": ["-DUPMU_BACKEND_X86_P4=0"]}
HEADERS = "abi/guest/guest.h", "abi/perf/perf.h", "abi/perf/perf_core.h", "upmu/session.h", "upmu/set.h"


@check
def bytes_that_pages_state_are_those_of_the_compiler():
    """Finds a structure that has grown.  Ceilings are check_size.py's."""
    os.makedirs(WORK, exist_ok=True)
    values, wanted = {}, collections.defaultdict(list)
    for _, _, expressions in SIZES:
        for text in expressions:
            build = text.split(" ")[0] if text.split(" ")[0] in BUILDS else ""
            wanted[build].append(text)
    for build, texts in wanted.items():
        source, objects = f"{WORK}/bytes{build}.c", f"{WORK}/bytes{build}.o"
        with open(source, "w", encoding="ascii") as file:
            file.write("".join(f"#include <{header}>\n" for header in HEADERS) + "".join(
                f"extern char size_{i}[]; char size_{i}[{text[len(build):]}];\n" for i, text in enumerate(texts)))
        code, output = run(["gcc", *BUILDS[build], *FREESTANDING, "-c", "-o", objects, source])
        if code:
            return [output[:1500]]
        found = re.findall(r"^\S+ (\S+) \S size_(\d+)$", run(["nm", "-S", objects])[1], re.M)
        values.update({texts[int(i)]: int(size, 16) for size, i in found})
    complaints = []
    for page, pattern, expressions in SIZES:
        form = re.sub(r"(?:\\ )+", r"\\s+", re.escape(pattern)).replace(r"\#", "([0-9,]+)")
        found = re.search(form, read(page))
        if not found:
            complaints.append(f"{page} does not say: {pattern}")
            continue
        complaints += [f"{page}: {said} in \"{pattern}\", but {text} is {values[text]:,}" for said, text in zip(found.groups(), expressions)
                       if int(said.replace(",", "")) != values[text]]
    return complaints


@check
def the_page_of_sizes_has_the_bytes_of_the_guests_files():
    """A twentieth and 32 bytes away at most, and a row for each file."""
    os.makedirs(WORK, exist_ok=True)
    shown = {name: int(size.replace(",", "")) for size, name in re.findall(r"^\| ([\d,]+) \|[^|]*\| `(guest_\w+\.c)` \|$", read("docs/SIZE.md"), re.M)}
    paths = glob.glob("abi/guest/*.c") + glob.glob("abi/guest/*/*.c")

    def measure(path):
        name = os.path.basename(path)
        code, output = run(["gcc", "-m64", *FREESTANDING, "-Os", "-ffunction-sections", "-c", "-o", f"{WORK}/{name}.o", path])
        if code:
            return [output[:600]]
        size = sum(int(found) for found in re.findall(r"^\.text\S*\s+(\d+)", run(["size", "-A", f"{WORK}/{name}.o"])[1], re.M))
        near = name in shown and abs(shown[name] - size) <= size // 20 + 32
        return [] if near else [f"docs/SIZE.md: {name} has {size} bytes, the page says {shown.get(name)}"]
    return parallel(measure, sorted(paths)) + [f"docs/SIZE.md: there is no {name}" for name in shown
                                               if name not in map(os.path.basename, paths)]


@check
def figures_of_catalogues_are_the_packers():
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    import catalog_pack as pack
    sources, units = pack.sources()[0], pack.sources(True)[0]
    page = read("docs/CATALOGUES.md")
    rows = {name: [int(cell.replace(",", "")) for cell in cells.split(" | ")[:3]] for name, cells in
            re.findall(r"^\| (`\w+` alone|all together|units outside the cores) \| ([\d,]+ \| [\d,]+ \| [\d,]+) \|", page, re.M)}

    def measured(of, data):
        return [sum(one.events() for one in of), sum(len(one.aliases) for one in of), data]
    by_name = {one.name: one for one in sources}
    made = {name: measured([by_name[name.split("`")[1]]], len(pack.pack([by_name[name.split("`")[1]]])[0])) for name in rows if "alone" in name}
    for one in sources:  # as pack() begins; what it makes of all of them lies in events, which check_source compares
        one.aliases = [alias for alias in one.aliases if not pack.has_keywords(*alias)]
        for row in one.rows:
            pack.complete(row)
    for name, of, path in ("all together", sources, "events/catalog_data.c"), ("units outside the cores", units, "events/catalog_units.c"):
        made[name] = measured(of, sum(map(int, re.findall(r"^(?:static )?const uint8_t \w+\[(\d+)\] =", read(path), re.M))))
    complaints = [f"docs/CATALOGUES.md: {name}: {rows.get(name)}, made {values}" for name, values in made.items() if rows.get(name) != values]
    numbers = re.search(r"All (\d+) catalogues\s+of cores .*?; (\d+) of units", page, re.S)
    return complaints + ([] if numbers and [int(n) for n in numbers.groups()] == [len(sources), len(units)] else
                         [f"docs/CATALOGUES.md does not say {len(sources)} catalogues of cores, {len(units)} of units"])


@check
def rules_of_the_models_that_the_engines_page_names_are_there():
    rules = re.findall(r"^\| ([\w -]+) \| [A-Z]", read("tests/model/README.md").split("## The rules")[1].split("## Which")[0], re.M)
    column = re.search(r"^## Fields that CPUs share\n(.*?)^## ", read("docs/ENGINE.md"), re.M | re.S)[1]
    named = set(re.findall(r"\b([A-Z]\d+)\b|\*(\w+)\*", column))
    return [f"docs/ENGINE.md: the models have no rule {first or second}" for first, second in sorted(named) if (first or second) not in rules]


@check
def the_page_of_metrics_counts_the_models_that_have_them():
    models = collections.defaultdict(set)
    for line in read("events/metrics/intel.tsv").split("\n"):
        if line and not line.startswith("#"):
            name, _, _, keys = line.split("\t")[:4]
            models[name].update(keys.split())
    complaints, count = [], 0
    for cells, number in re.findall(r"^\| (?:`\w+`)? ?\| (`.*?) \|.*\| (\d+) (?:Intel models|of them) \|$", read("docs/METRICS.md"), re.M):
        names = re.findall(r"`(\w+)`", cells)
        count += len(names)
        complaints += [f"docs/METRICS.md: {name}: {number} models, {len(models[name])} are in the table" for name in names
                       if len(models[name]) != int(number)]
    return complaints if count == 10 else complaints + [f"{count} metrics are found"]


@check
def pages_count_the_cpus_of_arm_and_the_pmus_of_intel():
    cpus = {kind: sum(read(path).count("\n# cpu:") for path in glob.glob(f"events/foreign/{kind}_*.tsv")) for kind in ("arm", "a32")}
    names = set(re.findall(r'MODEL\("(\w+)"', read("backends/x86_core/x86_core_models.h"))) - {"ix86arch"}
    rows = [line.split("\t") for line in read("tools/catalog_models.tsv").split("\n") if line and line[0] != "#"]
    names |= {row[2] for row in rows if row[5] in names}
    wanted = [("README.md", f"of {cpus['arm']} and of {cpus['a32']} CPUs of Arm"), ("docs/arm.md", f"of {cpus['arm']} CPUs of Arm"),
              ("README.md", f"| {len(names)} names: `core`")]
    return [f"{page} does not say: {text}" for page, text in wanted if text not in read(page)] + \
        [f"docs/intel.md lacks {name}" for name in sorted(names) if f"`{name}`" not in read("docs/intel.md")]


@check
def functions_that_a_model_is_of_are_in_the_files_named():
    """tests/model/README.md: a function, or the end of its name, behind each file."""
    table = re.search(r"^## Which functions a model is of\n(.*?)^## ", read("tests/model/README.md"), re.M | re.S)[1]
    complaints, count = [], 0
    for model, cell in re.findall(r"^\| `(\w+\.pml)` \| (.*?) \|", table, re.M):
        for file, names in re.findall(r"`(\w+\.c)`: ([^`.]*)", cell):
            text = "".join(read(path) for path in glob.glob(f"core/*/{file}"))
            names = [] if names.startswith("all but") else re.split(r", ", re.sub(r", in a handler", "", names))
            count += len(names)
            complaints += [f"tests/model/README.md: {model}: {file} has no {name}" for name in names
                           if not re.search(rf"\b(?:\w+_)?{name.strip()}\(", text)]
    return complaints if count > 60 else complaints + [f"only {count} functions"]


if __name__ == "__main__":
    main()
