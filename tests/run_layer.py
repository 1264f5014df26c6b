#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the test programs of one layer, keep what ran, end with "N passed, N failed".

A test program is a cmocka program or a Python script that prints cmocka's lines
("[       OK ] name", "[  FAILED  ] name", "[  SKIPPED ] name").  Every other line it
prints on its own account is shown.  Results: build/tests/LAYER.tsv with the columns
build, program, test, result; build/tests/LAYER.times: what each program took, in
seconds of all processors and of the clock (--times shows it).
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
import tokens  # noqa: E402

TEST_LINE = re.compile(r"^\[\s*(OK|FAILED|SKIPPED)\s*\] (\S.*)$")
CMOCKA_LINE = re.compile(r"^\[\s*(=+|-+|RUN|OK|PASSED|FAILED|SKIPPED|ERROR|LINE)\s*\]|^\s*$|^ \d+ (FAILED|SKIPPED)")
OWN_LINES_SHOWN = 40
SLOW_S = 5
# What takes longest begins first, so that no processor waits for it at the end.
LONGEST = ["test_vm_kernels", "test_vm_guest", "test_vm_models",
           "test_trap_sample", "test_trap_count", "test_step", "test_inject_p4", "test_inject", "test_fuzz_leaves",
           "check_size", "check_profiles", "check_porting", "check_objects", "check_hosts", "check_embed", "check_left_out", "check_bench",
           "check_stack", "check_events"]
TIME_LIMIT_S = int(os.environ.get("TEST_LIMIT_S", 900))


def run_limited(command, environment):
    """(output, exit code or text, CPU seconds of the program and what it started)"""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                               stdin=subprocess.DEVNULL)
    late = []
    timer = threading.Timer(TIME_LIMIT_S, lambda: (late.append(True), process.kill()))
    timer.start()
    with process.stdout:
        output = process.stdout.read().decode("utf-8", "replace")
    _, status, used = os.wait4(process.pid, 0)
    timer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return output, f"over {TIME_LIMIT_S} s" if late else process.returncode, used.ru_utime + used.ru_stime


def run_program(path):
    """(path, {test: result}, own lines, whole output, exit code or text, seconds, CPU seconds)"""
    command = [sys.executable, path] if path.endswith(".py") else [os.path.join(".", path)]
    environment = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="STDOUT", PYTHONDONTWRITEBYTECODE="1", **tokens.for_program())
    with tokens.token():
        begun = time.monotonic()
        output, code, used = run_limited(command, environment)
        seconds = time.monotonic() - begun
    results, own = {}, []
    rank = {"OK": 0, "SKIPPED": 1, "FAILED": 2}
    for line in output.splitlines():
        found = TEST_LINE.match(line)
        if found and " test(s)" not in line:
            result, name = found.group(1), found.group(2).strip()
            if rank[result] >= rank.get(results.get(name), -1):
                results[name] = result
        elif not CMOCKA_LINE.match(line):
            own.append(line)
    return path, results, own, output, code, seconds, used


def place_of(path):
    """build/asan/tests/unit/place/test_x -> (asan, test_x)"""
    parts = path.split("/")
    return (parts[1], parts[-1]) if parts[0] == "build" else ("source", os.path.splitext(parts[-1])[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("layer")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--times", action="store_true", help="show what each program took")
    parser.add_argument("--skipped", action="append", default=[])
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_intermixed_args()
    passed = failed = skipped = 0
    rows, times = [], []
    programs = sorted(arguments.programs, key=lambda path: (LONGEST + [place_of(path)[1]]).index(place_of(path)[1]))
    with concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        for path, results, own, output, code, seconds, used in pool.map(run_program, programs):
            build, program = place_of(path)
            bad = [name for name, result in results.items() if result == "FAILED"]
            good = [name for name, result in results.items() if result == "OK"]
            crashed = code != 0 and not bad
            silent = not results
            if crashed or silent:
                bad.append(f"{program} " + ("ran no test" if silent and code == 0 else f"ended with {code}"))
            passed, failed = passed + len(good), failed + len(bad)
            skipped += len(results) - len([r for r in results.values() if r != "SKIPPED"])
            times.append((used, seconds, f"{build} {program}"))
            rows += [(build, program, name, result) for name, result in results.items()]
            slow = f" ({seconds:.0f} s)" if seconds >= SLOW_S else ""
            print(f"{arguments.layer} {build} {program}: {len(good)} passed, {len(bad)} failed{slow}.")
            for line in own[:OWN_LINES_SHOWN] if not bad else []:
                print("    " + line)
            for name in (name for name, result in results.items() if result == "SKIPPED"):
                print(f"    skipped: {name}")
            if bad:
                print("\n".join("    | " + line for line in output.splitlines()[-120:]))
                print("\n".join(f"    FAILED {arguments.layer} {build} {program}: {name}" for name in bad))
                print(f"    again: make {path} && {path}" if build != "source" else f"    again: python3 {path}")
            sys.stdout.flush()
    os.makedirs("build/tests", exist_ok=True)
    with open(f"build/tests/{arguments.layer}.tsv", "w") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)
    with open(f"build/tests/{arguments.layer}.times", "w") as file:
        file.writelines(f"{used:.2f}\t{seconds:.2f}\t{name}\n" for used, seconds, name in sorted(times, reverse=True))
    if arguments.times:
        print("".join(f"    {used:7.2f} s of CPU, {seconds:7.2f} s: {name}\n" for used, seconds, name in
                      sorted(times, reverse=True)) + f"    {sum(row[0] for row in times):7.2f} s of CPU in all")
    for reason in arguments.skipped:
        print(f"SKIPPED in {arguments.layer}: {reason}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
