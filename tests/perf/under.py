# SPDX-License-Identifier: MIT
"""Run a program under tests/perf/supervisor.c."""
import functools
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build"))
from checklib import Skip  # noqa: E402

HERE = os.path.abspath("build/gcc-64/tests/perf")
WORK = os.path.abspath("build/tests/perf")


@functools.lru_cache
def cpuid_places():
    """The file that tells the supervisor where perf executes CPUID (tests/perf/supervisor_cpuid.h).

    Bytes within other instructions can be those of CPUID: a disassembler tells them apart.
    """
    path = os.path.realpath(shutil.which("perf"))
    state = os.stat(path)
    places_of = f"{WORK}/cpuid-{state.st_dev}-{state.st_ino}-{state.st_mtime_ns}"
    if os.path.exists(places_of):
        return places_of
    text = subprocess.run(["objdump", "-f", "-d", "--no-show-raw-insn", path], stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, LC_ALL="C")).stdout.decode("utf-8", "replace")
    entry = re.search(r"^start address 0x([0-9a-f]+)$", text, re.M).group(1)
    places = re.findall(r"^ *([0-9a-f]+):\tcpuid", text, re.M)
    assert places, f"no CPUID instruction in {path}"
    os.makedirs(WORK, exist_ok=True)
    with open(f"{places_of}.{os.getpid()}", "w", encoding="utf-8") as file:
        file.write("\n".join([path, entry, *places]) + "\n")
    os.replace(file.name, places_of)  # (other tests may look for it now)
    return places_of


def environment(log, **more):
    """Variables of a run, with those of the check."""
    variables = dict(os.environ, SUPERVISOR_LOG=log, LC_ALL="C")
    if shutil.which("perf"):
        variables["SUPERVISOR_CPUID"] = cpuid_places()
    return dict(variables, **more)


def supervised(name, model, *words, files=False, fast=False, limit=300, folder=None, **more):
    """Output, exit code and log of a program on a model.

    `name` is that of this run's files; `files`: the program sees the files of upmu_perf_files(); `fast`: it runs
    freely; `folder`: where it runs; `more`: variables of its environment.
    """
    os.makedirs(WORK, exist_ok=True)
    variables = environment(f"{WORK}/{name}.log", **more)
    if files:
        variables["SUPERVISOR_FILES"] = f"{WORK}/files-of-{name}"
        shutil.rmtree(variables["SUPERVISOR_FILES"], ignore_errors=True)
        os.makedirs(variables["SUPERVISOR_FILES"])
    if fast:
        variables["SUPERVISOR_FAST"] = "1"
    try:
        done = subprocess.run([f"{HERE}/supervisor", model, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, cwd=folder, env=variables, timeout=limit)
    except subprocess.TimeoutExpired as late:
        with open(f"{WORK}/{name}.log", encoding="utf-8", errors="replace") as file:
            calls = "".join(file.readlines()[-10:])
        said = (late.stdout or b"").decode("utf-8", "replace")[-500:]
        raise SystemExit(f"{name} has not ended after {limit} s.\nIts last output: {said}\nIts last calls:\n{calls}") from late
    output = done.stdout.decode("utf-8", "replace")
    for reason in "programs cannot be traced here", "files cannot be mounted here":
        if f"supervisor: {reason}" in output:
            raise Skip(output.strip())
    with open(f"{WORK}/{name}.log", encoding="utf-8") as file:
        return output, done.returncode, file.read()
