#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds of the profiles of include/upmu/config.h: they compile everywhere, have so many bytes, count, and change defaults only.

check_profiles.py --write puts the bytes of today into tests/build/profiles.tsv.
"""
import functools
import itertools
import math
import os
import random
import re
import shutil
import sys
import threading

from checklib import COMPILERS, FREESTANDING, ROOT, SOAK, WARNINGS, check, files, library_sources, main, parallel, read, run

sys.path.insert(0, "tools")
import prices  # noqa: E402
import size  # noqa: E402

PROFILES = ("tiny", "count")  # the third one is what all other tests run
TABLE, ROOM = "tests/build/profiles.tsv", "build/tests/profiles"
EMULATIONS = {"64": "elf_x86_64", "32": "elf_i386"}
EXPECTED = {"tiny": ["basic"], "count": ["basic", "instructions,cycles"]}


def option(profile):
    return f"-DUPMU_PROFILE=UPMU_PROFILE_{profile.upper()}"


@functools.lru_cache
def amalgamation():
    os.makedirs("build/tests", exist_ok=True)
    path = "build/tests/profile_code.c"
    # Threads may meet here, and one may compile the file already: it is replaced as a whole.
    own = f"{path}.{threading.get_ident()}"
    with open(own, "w") as file:
        file.writelines(f'#include "{source}"\n' for source in library_sources())
    os.replace(own, path)
    return path


def measured(profile, build):
    """(text, read-only data) of a profile, compiled with all warnings, and linked with tests/build/minimum_program.c; or the complaint.

    As one source: sooner than file by file, of which tools/size.py has the bytes for gcc and 64 bits."""
    os.makedirs(ROOM, exist_ok=True)
    made, objects = f"{ROOM}/{profile}-{build}", []
    for source in amalgamation(), "tests/build/minimum_program.c":
        objects.append(f"{made}-{os.path.basename(source)[:-2]}.o")
        code, output = run([*COMPILERS[build], *FREESTANDING, *WARNINGS, option(profile), "-Os", "-ffunction-sections", "-fdata-sections",
                            "-c", "-o", objects[-1], source])
        if code:
            return output
    code, output = run(["ld", "-m", EMULATIONS[build[-2:]], "--gc-sections", "-e", "minimum_program", "-o", made, *reversed(objects)])
    return output if code else (size.sections(made, ".text") - size.sections(objects[1], ".text"), size.sections(made, ".rodata"))


def rows():
    """{(profile, build): (text, read-only data)}"""
    return {(row[0], row[1]): (int(row[2]), int(row[3])) for row in (line.split("\t") for line in read(TABLE).splitlines()
                                                                    if not line.startswith("#"))}


@check
def profiles_compile_and_stay_below_their_ceilings_everywhere():
    """Finds a warning of one compiler, a function that only a library of the compiler has, and bytes: 1 % more are allowed."""
    wanted, found = rows(), {}

    def measure(job):
        found[job] = measured(*job)
        if isinstance(found[job], str):
            return [f"{job}: {found[job].strip()[:600]}"]
        return [f"{' '.join(job)}: {bytes_now} bytes of {kind}, and {TABLE} has {bytes_then}" for kind, bytes_now, bytes_then in
                zip(("text", "read-only data"), found[job], wanted[job]) if bytes_now > 1.01 * bytes_then]
    jobs = [(profile, build) for profile in (*PROFILES, "full") for build in COMPILERS]
    everywhere = SOAK or os.environ.get("PROFILES") == "everywhere"
    tried = jobs if everywhere else [job for job in jobs if job[0] != "full" and job[1] != "gcc-64"]
    complaints = [f"{TABLE} has not each profile and build"] if sorted(wanted) != sorted(jobs) else parallel(measure, tried)
    if tried != jobs:
        print("not by gcc for 64 bits, for which check_size has the bytes of each, and not the full one, of which all other tests are made; "
              "all in make check and make soak")
    for job in sorted(found):
        print(*job, *found[job] if isinstance(found[job], tuple) else ())
    return complaints


@check
def profiles_count_threads_on_intel_and_amd():
    """Without names; where there are names, by these, too."""
    source = amalgamation()

    def count_with(profile):
        program = f"build/tests/profile-{profile}"
        code, output = run(["gcc", "-std=c11", "-O0", "-Iinclude", "-I.", option(profile), "-o", program,
                            "tests/build/profile_program.c", source, *files("models/sim/*.c")])
        if code:
            return [f"{profile}: {output[:800]}"]
        code, output = run([program])
        expected = [f"{model} {how} 12000 24000" for model in ("skl", "p6", "zen3") for how in EXPECTED[profile]]
        return [] if code == 0 and output.split("\n")[:-1] == expected else [f"{profile}: code {code}: {output}, expected {expected}"]
    return parallel(count_with, PROFILES)


LISTS = 4000 if SOAK else 300  # of each simulated CPU, at most


def statuses():
    """Numbers of statuses, by name."""
    return {name: int(number) for name, number in re.findall(r"^    UPMU_(?:ERR_)?(\w+) = (\d+)", read("include/upmu/status.h"), re.M)}


def answers(profile, lists):
    """(status, counters or culprits) of each list, by a build of this profile; without lists the events of all simulated CPUs."""
    program = f"{ROOM}/places-{profile}"
    if not os.path.exists(program):
        os.makedirs(ROOM, exist_ok=True)
        code, output = run(["gcc", "-std=c11", "-O0", "-Iinclude", "-I.", option(profile), "-o", program,
                            "tests/build/profile_places.c", amalgamation(), *files("models/sim/*.c")])
        assert code == 0, output
    code, output = run([program, *([] if lists else ["events"])], input="".join(line + "\n" for line in lists).encode())
    assert code == 0, output
    return [line.split() for line in output.splitlines()]


@check
def what_tiny_places_is_what_full_places():
    """Finds a place in tiny that full does not give, and a list that tiny refuses without a reason: one to four of a CPU's events,
    each of which stands for those that may be counted at the same places."""
    shutil.rmtree(ROOM, ignore_errors=True)
    number, events, lists, sampled = statuses(), {}, [], 0
    for cpu, config, config1 in answers("full", []):
        events.setdefault(cpu, []).append(f"{config},{config1},0")
    for cpu, words in events.items():
        lots, number_of = random.Random(cpu), sum(math.comb(len(words) + count - 1, count) for count in range(1, 5))
        sampled += number_of > LISTS
        every = {found for count in range(1, 5) for found in itertools.combinations_with_replacement(words, count)} \
            if number_of <= LISTS else {tuple(sorted(lots.choices(words, k=lots.choice((1, 2, 3, 4, 4))))) for _ in range(LISTS)}
        lists += [f"{cpu} {' '.join(found)}" for found in sorted(every)]
    full, tiny = answers("full", lists), answers("tiny", lists)
    complaints, asked, refused, left_out, without = [], [], [], 0, set()
    for line, (wanted, _), (status, found) in zip(lists, full, tiny):
        wanted, status = int(wanted), int(status)
        if status == number["NO_PMU"]:
            without.add(line.split()[0])
        elif status == number["OK"]:
            cpu, *words = line.split()
            asked.append((found, " ".join([cpu, *(word[:-1] + counter for word, counter in zip(words, found.split(".")))])))
        elif wanted == number["OK"]:
            refused += [line] if status == number["DOES_NOT_FIT"] else []
            left_out += status == number["COMPILED_OUT"]
            complaints += [] if status == number["COMPILED_OUT"] or (status == number["DOES_NOT_FIT"] and int(found, 16)) else \
                [f"{line}: full places it, and tiny says {status}"]
    complaints += [f"{line}: tiny's counters, and full says {' '.join(answer)}" for (place, line), answer in
                   zip(asked, answers("full", [line for _, line in asked])) if answer != [str(number["OK"]), place]]
    placed = len(asked)
    print(f"{len(lists)} lists on {len(events)} simulated CPUs, of {sampled} a sample: {placed} have the places that tiny gives, {len(refused)} have none in tiny alone ({'; '.join(refused[:3])}), "
          f"{left_out} have an event that tiny leaves out; without a PMU in tiny: {' '.join(sorted(without))}")
    return complaints + ([] if len(tiny) == len(lists) and placed > len(lists) / 4 else [f"{len(tiny)} answers, {placed} placed"])


@check
def profiles_change_defaults_only():
    """Each option that a profile turns off can be set beside it, and has that value then."""
    complaints = []
    full = prices.option_values("gcc", [])
    for profile in PROFILES:
        values = prices.option_values("gcc", [option(profile)])
        changed = [name for name in full if name != "UPMU_PROFILE" and values[name] != full[name]]
        complaints += [] if len(changed) > 10 else [f"{profile} changes {changed} alone"]
        # An option is refused without that which it needs, and without those of which its default is made.
        names = {option.name for option in prices.table.rows()} - {"UPMU_PROFILE"}
        needs = {option.name: [f"-D{name}=1" for name in re.findall(r"UPMU_\w+", option.default) if name in names]
                 for option in prices.table.rows() if option.needs}
        for name in changed:
            set_to = prices.option_values("gcc", [option(profile), f"-D{name}={full[name]}", *needs.get(name, [])])
            complaints += [] if set_to[name] == full[name] else [f"{profile}: -D{name}={full[name]} has no effect"]
    return complaints


@check
def a_profile_that_is_none_is_refused():
    complaints = []
    for value in ("tiny", "0", "4"):
        code, output = run(["gcc", "-fsyntax-only", f"-DUPMU_PROFILE={value}", "-Iinclude", "-x", "c", "include/upmu/config.h"])
        if code == 0 or "UPMU_PROFILE is UPMU_PROFILE_TINY" not in output:
            complaints.append(f"-DUPMU_PROFILE={value}: code {code}: {output[:200]}")
    return complaints


@check
def size_page_names_each_profile():
    page = read(prices.PAGE)
    return [f"{prices.PAGE} has no row of {profile}" for profile in (*PROFILES, "full")
            if not re.search(rf"^\| profile {profile} \|", page, re.M)]


def write():
    os.chdir(ROOT)
    jobs = [(profile, build) for profile in (*PROFILES, "full") for build in COMPILERS]
    with open(TABLE, "w", encoding="ascii") as file:
        file.write("# SPDX-License-Identifier: MIT\n# What builds of the profiles have: tests/build/check_profiles.py --write.\n"
                   "# profile\tbuild\tbytes of text\tbytes of read-only data\n")
        for job in jobs:
            file.write("\t".join([*job, *map(str, measured(*job))]) + "\n")


if __name__ == "__main__":
    write() if sys.argv[1:] == ["--write"] else main()
