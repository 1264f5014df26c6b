#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the shipped objects need and hold; how headers and options compile.

`make objects` has built build/{gcc,clang}-{32,64} with the whole warning set.
"""
import itertools
import os
import random
import re
import sys

from checklib import COMPILERS, CORE_FOLDERS, FREESTANDING, IN_ONE, SOAK, WARNINGS, check, code_of, files, library_sources, main, parallel, read, run

sys.path.insert(0, "tools")
import options  # noqa: E402

MEMORY_FUNCTIONS = {"memcpy", "memmove", "memset", "memcmp"}
# What a backend may call: the core's pure helpers.
BACKEND_MAY_CALL = re.compile(r"^(mem(cpy|move|set|cmp)|upmu_(image|register|text|catalog|bits|pmu|event_raw|detection|x86)_?\w*)$")
PAIRS = [option for option in options.rows() if option.built == "pairs"]
ALONE = [option for option in options.rows() if option.built == "alone"]
OPTIONS = [option.name for option in PAIRS]
NEEDS = {option.name: option.needs for option in PAIRS if option.needs}  # what is refused without another
# The same, with all options of which the default of such an option is made.
NEEDS_ALL = {option.name: {option.needs, *re.findall(r"UPMU_\w+", option.default)} & set(OPTIONS) for option in PAIRS if option.needs}


def objects(build, folder=""):
    """The objects of a build; of one that is made of one source the only one."""
    if build in IN_ONE:
        return [f"build/{build}/library.o"]
    return [f"build/{build}/{source[:-2]}.o" for source in library_sources() if source.startswith(folder)]


def symbols(path_list, *kinds):
    """{name: object} of the symbols that nm lists ("-u" undefined, "-g", "--defined-only" defined for others)."""
    found = {}
    for line in run(["nm", "-A", *kinds, *path_list])[1].splitlines() if path_list else []:
        path, fields = line.partition(":")[0], line.partition(":")[2].split()
        found[fields[-1]] = (path, fields[-2] if len(fields) > 1 else "")
    return found


def undefined_of(path_list):
    """{object: names that it needs}, of all objects at once."""
    found = {path: set() for path in path_list}
    for line in run(["nm", "-A", "-u", *path_list])[1].splitlines() if path_list else []:
        found[line.partition(":")[0]].add(line.split()[-1])
    return found


@check
def library_needs_only_the_four_memory_functions():
    os.makedirs("build/tests", exist_ok=True)
    complaints = []
    if IN_ONE:
        print(f"of one source: {' and '.join(IN_ONE)}; file by file in make soak (FUZZ_RUNS=soak)")
    for build in COMPILERS:
        whole = f"build/tests/whole-{build}.o"
        emulation = "elf_i386" if build.endswith("32") else "elf_x86_64"
        code, output = run(["ld", "-r", "-m", emulation, "-o", whole] + objects(build))
        if code != 0:
            complaints.append(f"{build}: {output}")
            continue
        undefined = set(symbols([whole], "-u")) - MEMORY_FUNCTIONS
        complaints += [f"{build}: undefined: {name}" for name in sorted(undefined)]
    return complaints


@check
def silicon_model_needs_only_library_and_memory_functions():
    sim = [f"build/gcc-64/{source[:-2]}.o" for source in files("models/sim/*.c")]
    defined = set(symbols(objects("gcc-64") + sim, "-g", "--defined-only"))
    missing = set(symbols(sim, "-u")) - MEMORY_FUNCTIONS
    return [f"undefined: {name}" for name in sorted(missing - defined)]


def calls_in_core():
    """{object: the objects that define what it calls}"""
    paths = objects("gcc-64", "core/")
    where = {name: path for name, (path, _) in symbols(paths, "-g", "--defined-only").items()}
    return {path: {where[name] for name in names if name in where} for path, names in undefined_of(paths).items()}


# What the engine calls of what is optional (core/engine/features.h).
OPTIONAL = {"core/sample/" + name for name in ("batch", "branch_samples", "branches", "format", "ibs", "ibs_handle", "message", "record_branches", "records_handle", "ring", "traces",
                                               "user_page")}


@check
def calls_in_core_go_downward():
    complaints, used = [], set()
    for path, called in calls_in_core().items():
        caller = path.split("gcc-64/")[1][:-2]
        for other in (path.split("gcc-64/")[1][:-2] for path in called):
            if CORE_FOLDERS.index(other.split("/")[1]) <= CORE_FOLDERS.index(caller.split("/")[1]):
                continue
            if caller.startswith("core/engine/") and other in OPTIONAL:
                used.add(other)
            else:
                complaints.append(f"{caller}.c calls {other}.c, of a folder above its own")
    return complaints + [f"the engine does not call {other}.c any more: take it off the list" for other in sorted(OPTIONAL - used)]


@check
def library_has_no_mutable_statics():
    complaints = []
    for build in COMPILERS:
        path = ""
        for line in run(["size", "-A", *objects(build)])[1].split("\n"):
            path = line.split()[0] if re.match(r"\S+\s+:$", line) else path
            found = re.match(r"(\.(?:data|bss|tdata|tbss)\S*)\s+(\d+)", line)
            if found and int(found.group(2)) > 0 and not found.group(1).startswith(".data.rel.ro"):
                complaints.append(f"{path}: {found.group(1)} has {found.group(2)} bytes")
    return complaints


@check
def external_names_have_the_prefix():
    return [f"{path}: {name}" for name, (path, _) in sorted(symbols(objects("gcc-64"), "-g", "--defined-only").items())
            if not name.startswith("upmu_")]


@check
def backends_call_only_pure_helpers():
    complaints = []
    for path, names in undefined_of(objects("gcc-64", "backends/")).items():
        own = ("upmu_" + path.split("/")[3] + "_", "upmu_p4_", "upmu_amd_")
        for name in names:
            if not BACKEND_MAY_CALL.match(name) and not name.startswith(own):
                complaints.append(f"{path}: {name}")
    return complaints


@check
def every_header_compiles_alone():
    public = files("include/upmu/**/*.h", "port/x86_native/*.h", "port/template/*.h", "abi/perfmon2/perfmon2.h",
                   "abi/guest/guest.h", "abi/guest/arm/arm.h", "models/sim/sim.h")
    private = files("core/*/*.h", "backends/*/*.h", "models/sim/*.h")
    languages = [["gcc", "-m32", "-x", "c", "-std=c11"], ["clang", "-x", "c++", "-std=c++17"]]
    # (Strict C99 of both compilers and C++11 of gcc are read by checks below.)
    languages += [["gcc", "-x", "c", "-std=c99"], ["clang", "-x", "c", "-std=c11"], ["gcc", "-x", "c++", "-std=c++11"]] if SOAK else []
    jobs = [(header, language) for header in public for language in languages]
    jobs += [(header, ["gcc", "-x", "c", "-std=c11"]) for header in private]
    # (clang reads assembly text of functions without a caller, gcc does not.)
    jobs += [("include/upmu/upmu.h", ["clang", f"--target={cpu}-none-elf", "-x", "c", "-std=c11"])
             for cpu in ("aarch64", "riscv64", "riscv32")]

    def compile_alone(job):
        header, language = job
        warnings = "-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Wsign-conversion -Wcast-qual -Werror".split()
        if header == "models/sim/sim.h":
            warnings.remove("-Wshadow")  # (a function of a struct's name hides its constructor)
        text = f'#include "{header}"\n#include "{header}"\nint upmu_header_alone;\n'.encode()
        code, output = run(language + warnings + ["-ffreestanding", "-fsyntax-only", "-Iinclude", "-I.", "-"], input=text)
        return [f"{header}: {' '.join(language)}: {output.strip()[:400]}"] if code else []
    return parallel(compile_alone, jobs)


@check
def packed_addresses_of_units_are_constants_in_c_and_cpp():
    """A tool includes one header, and makes tables of addresses."""
    text = ("#include <upmu/unit_addr.h>\nextern const unsigned upmu_tool[];\n"
            "const unsigned upmu_tool[UPMU_UNIT_ADDRESS(0, 0, 0, 0, 0, 16) == UPMU_UNIT_NO_ADDRESS ? 2 : -1] = "
            "{UPMU_UNIT_ADDRESS(127, 31, 7, 1, 15, 15), UPMU_UNIT_RACK(0xfe0000)};\n").encode()
    complaints = []
    for language in (["-x", "c", "-std=c99"], ["-x", "c++", "-std=c++11"], ["-x", "c++", "-std=c++17"]):
        code, output = run(["gcc", *language, "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-Werror",
                            "-fsyntax-only", "-Iinclude", "-"], input=text)
        complaints += [f"{' '.join(language)}: {output.strip()[:400]}"] if code else []
    return complaints


@check
def functions_of_every_public_header_have_c_names_in_cpp():
    """Included alone: what a header declares is found in a library that C compiled."""
    def names_of(header):
        text = re.sub(r"^#define(?:.*\\\n)*.*$", "", code_of(header), flags=re.M)
        declared = re.findall(r"^(?!static|typedef)[a-z][\w \*]*?\b(\w+)\([^;{]*\);", text, re.M)
        if not declared:
            return []
        uses = ", ".join(f"(const void *)&{name}" for name in declared)
        program = f'#include "{header}"\nextern const void *const upmu_uses[];\nconst void *const upmu_uses[] = {{{uses}}};\n'
        built = f"build/tests/cpp-{header.replace('/', '-')}.o"
        code, output = run(["g++", "-std=c++11", "-Iinclude", "-I.", "-x", "c++", "-c", "-o", built, "-"],
                           input=program.encode())
        if code:
            return [f"{header}: {output.strip()[:400]}"]
        return [f"{header}: {name} has a C++ name" for name in symbols([built], "-u") if name.startswith("_Z")]
    os.makedirs("build/tests", exist_ok=True)
    return parallel(names_of, files("include/upmu/**/*.h", "port/x86_native/x86_native.h", "port/template/*.h",
                                    "models/sim/sim.h", "abi/perfmon2/perfmon2.h", "abi/guest/guest.h", "abi/guest/arm/arm.h"))


# What the check below must refuse: constructs that a compiler of the stated level may lack.
BEYOND = {"an array of variable length": "int f(int n); int f(int n) { int a[n]; a[0] = n; return a[0]; }",
          "a flexible array member": "struct s { int n; int a[]; };",
          "a variadic macro": "#define LOG(...) (void)0\nint upmu_log;",
          "a statement expression of GNU's": "int f(void); int f(void) { return ({ int a = 1; a; }); }",
          "a range of cases of GNU's": "int f(int n); int f(int n) { switch (n) { case 1 ... 3: return 1; } return 0; }",
          "typeof": "int f(int n); int f(int n) { typeof(n) a = n; return a; }",
          "an array of no elements": "struct s { int n; int a[0]; };",
          "a binary constant": "int upmu_b = 0b11;"}


def level_complaints(path, text, standard, variadic):
    """What is beyond a level: strict C of that standard, no variable lengths, no flexible members."""
    complaints = []
    # (Sources were compiled by gcc and clang, pedantically, when the objects were made.)
    for compiler in ("gcc", "clang") if standard == "c99" else ():
        code, output = run([compiler, f"-std={standard}", "-pedantic-errors", "-Werror=vla", "-ffreestanding", "-fsyntax-only",
                            "-Iinclude", "-I.", "-x", "c", "-"], input=f"{text}\nextern int upmu_end;\n".encode())
        complaints += [f"{path}: {compiler} -std={standard}: {output.strip()[:300]}"] if code else []
    code = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    if re.search(r"^(?!extern)[^\n=]*\w\[\]\s*;", code, re.M):
        complaints.append(f"{path}: a flexible array member")
    if not variadic and re.search(r"#\s*define \w+\([^)]*\.\.\.\)", code):
        complaints.append(f"{path}: a variadic macro")
    return complaints


@check
def public_headers_are_strict_c99_and_sources_strict_c11():
    """The level that docs/PORTING.md states; and that the check sees what is beyond it."""
    public = files("include/upmu/**/*.h", "port/x86_native/*.h", "port/template/*.h", "abi/*/*.h")
    sources = [path for path in library_sources() if not path.startswith("events/")]
    jobs = [(path, read(path), "c99", False) for path in public]
    jobs += [(path, read(path), "c11", True) for path in files("core/*/*.h", "backends/*/*.h") + sources]
    complaints = parallel(lambda job: level_complaints(*job), jobs)
    complaints += [f"not seen: {what}" for what, text in BEYOND.items() if not level_complaints(what, text, "c99", False)]
    if "strict C99" not in read("docs/PORTING.md"):
        complaints.append("docs/PORTING.md does not state the level")
    return complaints


def amalgamation(tables=True):
    """One source that is the whole library; or, so that it is read quickly, all but the catalogues."""
    os.makedirs("build/tests", exist_ok=True)
    path = f"build/tests/upmu_{'whole' if tables else 'code'}.c"
    with open(path, "w") as file:
        file.writelines(f'#include "{source}"\n' for source in library_sources()
                        if tables or not source.startswith("events/"))
    return path


@check
def library_compiles_as_one_file():
    """All compilers read it; in a soak they make objects of it, one optimised, for the warnings that this adds."""
    source = amalgamation()
    if not SOAK:
        print("as one file the library is read by clang in 32 bits alone (the others are the builds of one source, and a check "
              "below); all of it, and objects, in make soak (FUZZ_RUNS=soak)")

    def compile_whole(build):
        made = ["-O1" if build == "gcc-64" else "-O0", "-c", "-o", f"build/tests/one-{build}.o"] if SOAK else ["-fsyntax-only"]
        code, output = run(COMPILERS[build] + FREESTANDING + WARNINGS + [*made, source])
        return [f"{build}: {output.strip()[:400]}"] if code else []
    return parallel(compile_whole, [build for build in COMPILERS if SOAK or build == "clang-32"])


def read_by_gcc(flags, source):
    """What gcc says of a source, which it only reads, for its warnings."""
    code, output = run(["gcc", *FREESTANDING, *WARNINGS, *flags, "-fsyntax-only", source])
    return output.strip()[:600] if code else ""


def made_by_clang(flags, source, name, others=frozenset()):
    """What clang says of a source, or what its object needs beside memory functions and others; clang takes half of gcc's time."""
    built = f"build/tests/{name}.o"
    code, output = run(["clang", *FREESTANDING, *WARNINGS, *flags, "-O0", "-c", "-o", built, source])
    if code:
        return output.strip()[:600]
    undefined = set(symbols([built], "-u")) - MEMORY_FUNCTIONS - others
    os.unlink(built)
    return f"undefined: {' '.join(sorted(undefined))}" if undefined else ""


def possible(values):
    """The same, with each option off that needs one that is off."""
    value_of = dict(zip(OPTIONS, values))
    return [int(value and all(value_of[needed] for needed in NEEDS_ALL.get(name, ()))) for name, value in value_of.items()]


def chosen(values):
    return [f"-D{name}={value}" for name, value in zip(OPTIONS, possible(values))]


def in_every_way(together):
    """
    Choices in which any so many options have all values that they can have.  Begins with nine, in which two options have
    all of them: each is on in a set of the first eight choices, no set is a part of another, and any two have a choice in
    common.  An option that others need is on in five choices, theirs are four of these.  What is missing then is added by
    lot, the best of sixty each time.
    """
    sets = {name: {0, 1, 2, 3, 4 + i % 3} for i, name in enumerate(NEEDS.values())}
    sets.update({name: {0, 1, 2, 4 + i % 3} for i, name in enumerate(NEEDS)})
    fours = []
    for four in itertools.combinations(range(8), 4):
        if four[2] > 3 and all(set(four) & set(other) for other in [*fours, *sets.values()]):
            fours.append(four)
    further = itertools.cycle(fours)
    columns = [sets.get(name) or next(further) for name in OPTIONS]
    choices = [possible([int(row in column) for column in columns]) for row in range(9)]
    off = {(OPTIONS.index(name), OPTIONS.index(needed)) for name, all_needed in NEEDS_ALL.items() for needed in all_needed}
    missing = {(group, values) for group in itertools.combinations(range(len(OPTIONS)), together)
               for values in itertools.product((0, 1), repeat=together)
               if not any((one, other) in off for one, on in zip(group, values) if on
                          for other, there in zip(group, values) if not there)}
    draw = random.Random(1)

    def added_by(choice):
        return {(group, values) for group, values in missing if tuple(choice[i] for i in group) == values}
    for choice in choices:
        missing -= added_by(choice)
    while missing:
        choices.append(max((possible([draw.randint(0, 1) for _ in OPTIONS]) for _ in range(60)), key=lambda one: len(added_by(one))))
        missing -= added_by(choices[-1])
    return choices


@check
def options_combine_in_every_way_and_need_nothing_more():
    """Each two options in every way; each three in a soak."""
    together = 3 if SOAK else 2
    source = amalgamation(tables=False)
    tables = set(symbols(objects("tool", "events/"), "-g"))  # (which has those of Arm and RISC-V, too)

    def link_with(values):
        """gcc reads every second choice."""
        flags, index = chosen(values), choices.index(values)
        output = (read_by_gcc(flags, source) if index % 2 else "") or \
            made_by_clang(flags, source, f"options-{index}", tables if values[OPTIONS.index("UPMU_NAMES")] else set())
        return [f"{' '.join(flags)}: {output}"] if output else []
    choices = in_every_way(together)
    print(f"{len(choices)} choices: every {together} of {len(OPTIONS)} options in every way" +
          ("" if SOAK else " (every 3 in make soak, FUZZ_RUNS=soak)"))
    return parallel(link_with, choices)


def static_port_of(hooks):
    """The header of a static port that says of these hooks that they are absent, each with a function, and has the
    mandatory ones: as ports of 0.2.0 did."""
    text = "#include <upmu/unit.h>\n"
    for result, hook, arguments in re.findall(r"^    ([\w ]+[ *]\**)\(\*(\w+)\)\(([^;]*)\);", read("include/upmu/port.h"), re.M):
        if hook in hooks or hook in ("rdmsr", "wrmsr", "cpuid"):
            unused = "".join(f"    (void){name};\n" for name in re.findall(r"(\w+)(?:\[\d+\])?(?:,|$)", re.sub(r"void \(\*(\w+)\)\(void \*argument\)", r"int \1", arguments)))
            text += f"static inline {result}upmu_static_{hook}({arguments})\n{{\n{unused}" + \
                ("" if result.strip() == "void" else "    return 0;\n") + "}\n"
            text += f"#define UPMU_STATIC_{hook} 0\n" if hook in hooks else ""
    return text


@check
def static_ports_compile_and_need_nothing_more():
    """The ready-made one; the least, whose hooks are the three mandatory ones; one that knows each hook but the last."""
    optional = re.findall(r"\(\*(\w+)\)\(void \*context", read("include/upmu/port.h"))[3:]
    complaints = [] if len(optional) > 20 else [f"port.h: {optional}"]
    headers = {"ready-made": "port/x86_native/x86_native_static.h"}
    os.makedirs("build/tests", exist_ok=True)
    for name, hooks in ("least", []), ("former", optional[:-1]):
        headers[name] = f"build/tests/static_port_{name}.h"
        with open(headers[name], "w", encoding="ascii") as file:
            file.write(static_port_of(hooks))
    for name, header in headers.items():
        output = made_by_clang(["-DUPMU_PORT_STATIC=1", f'-DUPMU_PORT_HEADER="{header}"'], amalgamation(), f"static-port-{name}")
        complaints += [f"{name}: {output}"] if output else []
    return complaints


@check
def static_ports_with_half_of_a_pair_are_refused():
    """One of irq_save and irq_restore alone: what a call has disabled would stay so."""
    pair, complaints = ("irq_save", "irq_restore"), []
    os.makedirs("build/tests", exist_ok=True)
    for half in ("",) + pair:
        header = f"build/tests/static_port_half_{half or 'none'}.h"
        with open(header, "w", encoding="ascii") as file:
            file.write(static_port_of(pair).replace(f"UPMU_STATIC_{half} 0", f"UPMU_STATIC_{half} 1"))
        code, output = run(["gcc"] + FREESTANDING + ["-w", "-fsyntax-only", "-DUPMU_PORT_STATIC=1",
                                                     f'-DUPMU_PORT_HEADER="{header}"', "core/engine/machine.c"])
        if half and "irq_restore, or neither" not in output or not half and code:
            complaints.append(f"{half}: {output[-600:]}")
    return complaints


@check
def headers_with_types_of_wrong_sizes_are_refused():
    """A kernel's own stdint.h, whose uint64_t has 32 bits; a bool that is a char; and headers that are right."""
    right = {"stdint.h": "".join(f"typedef __{name.upper()}_TYPE__ {name}_t;\n" for name in
                                 ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intptr", "uintptr")) +
             "#define UINT64_C(n) n##ULL\n#define UINT32_MAX 0xffffffffu\n#define UINT64_MAX UINT64_C(0xffffffffffffffff)\n",
             "stddef.h": "typedef __SIZE_TYPE__ size_t;\n#define NULL ((void *)0)\n#define offsetof __builtin_offsetof\n",
             "stdbool.h": "#define bool _Bool\n#define true 1\n#define false 0\n"}
    wrong = {"stdint.h": right["stdint.h"].replace("__UINT64_TYPE__", "unsigned int"),
             "stdbool.h": "typedef unsigned char bool;\n#define true 1\n#define false 0\n"}
    complaints = []
    for header in (None, *wrong):
        folder = f"build/tests/headers_{header or 'right'}"
        os.makedirs(folder, exist_ok=True)
        for name, text in right.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(wrong[name] if name == header else text)
        code, output = run(["gcc"] + FREESTANDING + ["-nostdinc", "-w", "-fsyntax-only", f"-I{folder}", "core/engine/machine.c"])
        if header and "types of wrong sizes (docs/PORTING.md)" not in output or not header and code:
            complaints.append(f"{header}: {output[-600:]}")
    return complaints


@check
def options_that_do_not_combine_compile_away_from_their_defaults():
    """Each alone; numbers together, at their lowest values, others than the default, and highest."""
    numbers = [option for option in ALONE if " to " in option.values]
    builds = [[*option.beside.split(), f"{option.name}={option.other}"] for option in ALONE if option not in numbers]
    builds += [[f"{option.name}={value}" for option, value in zip(numbers, values)]
               for values in zip(*((options.values_of(option)[0], option.other, options.values_of(option)[-1]) for option in numbers))]
    source = amalgamation()
    print(f"{len(ALONE)} options in {len(builds)} builds" + ("" if SOAK else ", which gcc reads; objects in make soak (FUZZ_RUNS=soak)"))

    def compile_with(words):
        flags = [f"-D{word}" for word in words]
        output = read_by_gcc(flags, source)
        if SOAK and not output:
            output = made_by_clang(flags, source, f"alone-{words[-1]}", {"upmu_trace_write"} if "UPMU_TRACE=1" in words else set())
        return [f"{' '.join(words)}: {output}"] if output else []
    return parallel(compile_with, builds)


@check
def numbers_that_the_library_cannot_hold_are_refused():
    """Finds 20 registers of a unit: those of some units were written behind their array."""
    complaints = []
    for option in options.rows():
        low, _, high = option.values.partition(" to ")
        for value, refused in ((low, False), (int(low) - 1, True), (int(high) + 1, True), (high, False)) if high else ():
            code, output = run(["gcc", "-fsyntax-only", f"-D{option.name}={value}", "-Iinclude", "-x", "c", "include/upmu/config.h"])
            if bool(code) != refused or refused and f"{option.name} is " not in output:
                complaints.append(f"{option.name}={value}: code {code}: {output[:200]}")
    return complaints


if __name__ == "__main__":
    main()
