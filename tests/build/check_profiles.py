#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds of the profiles of include/upmu/config.h: they compile everywhere, count, and change defaults only."""
import os
import re
import sys

from checklib import COMPILERS, FREESTANDING, WARNINGS, check, files, library_sources, main, parallel, read, run

sys.path.insert(0, "tools")
import prices  # noqa: E402

PROFILES = ("tiny", "count")  # the third one is what all other tests run
EXPECTED = {"tiny": ["basic"], "count": ["basic", "instructions,cycles"]}


def option(profile):
    return f"-DUPMU_PROFILE=UPMU_PROFILE_{profile.upper()}"


def amalgamation():
    os.makedirs("build/tests", exist_ok=True)
    path = "build/tests/profile_code.c"
    with open(path, "w") as file:
        file.writelines(f'#include "{source}"\n' for source in library_sources())
    return path


@check
def profiles_compile_with_each_compiler_and_width():
    source = amalgamation()

    def compile_one(job):
        profile, build = job
        code, output = run(COMPILERS[build] + FREESTANDING + WARNINGS + [option(profile), "-fsyntax-only", source])
        return [f"{profile}, {build}: {output.strip()[:600]}"] if code else []
    return parallel(compile_one, [(profile, build) for profile in PROFILES for build in COMPILERS])


@check
def profiles_count_threads_on_intel_and_amd():
    """Without names; where there are names, by these, too."""
    source = amalgamation()

    def count_with(profile):
        program = f"build/tests/profile-{profile}"
        code, output = run(["gcc", "-std=c11", "-O0", "-Iinclude", "-I.", option(profile), "-o", program,
                            "tests/build/profile_program.c", source, *files("port/sim/*.c")])
        if code:
            return [f"{profile}: {output[:800]}"]
        code, output = run([program])
        expected = [f"{model} {how} 12000 24000" for model in ("skl", "p6", "zen3") for how in EXPECTED[profile]]
        return [] if code == 0 and output.split("\n")[:-1] == expected else [f"{profile}: code {code}: {output}, expected {expected}"]
    return parallel(count_with, PROFILES)


@check
def profiles_change_defaults_only():
    """Each option that a profile turns off can be set beside it, and has that value then."""
    complaints = []
    full = prices.option_values("gcc", [])
    for profile in PROFILES:
        values = prices.option_values("gcc", [option(profile)])
        changed = [name for name in full if name != "UPMU_PROFILE" and values[name] != full[name]]
        complaints += [] if len(changed) > 10 else [f"{profile} changes {changed} alone"]
        needs = {option.name: [f"-D{option.needs}=1"] for option in prices.table.rows() if option.needs}
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


if __name__ == "__main__":
    main()
