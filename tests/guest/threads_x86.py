#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Guests of Intel's and AMD's doors on CPUs that are threads, under ThreadSanitizer without suppressions.

The simulated host (tests/host) has them: its vCPUs move between CPUs, write any register, and half of Intel's have a page
whose memory another CPU of the guest changes at any moment.  On a host of a vendor three of four vCPUs have that vendor's
door.  With GUEST_SEEDS=N each vendor has N seeds.
"""
import os
import re
import subprocess
import sys

PROGRAM = "build/tsan/tests/host/host"
GUESTS = 1 << 8  # THEME_GUESTS of tests/host/simulated.h
SEEDS = int(os.environ.get("GUEST_SEEDS", 3))
STEPS = 300
LEAST = {"vCPUs made": 2, "entries": 10, "calls of theirs": 100, "values read": 5}  # of a seed


def run(vendor):
    """What is wrong with a run, or None."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HOST_")}
    done = subprocess.run([PROGRAM, f"family={vendor}", f"themes={GUESTS}", f"seeds={SEEDS}", f"steps={STEPS}", "threads"],
                          capture_output=True, text=True, env=environment)
    output = done.stdout + done.stderr
    if done.returncode or "WARNING: ThreadSanitizer" in output or "[       OK ]" not in output:
        return output
    for what, least in LEAST.items():
        found = re.search(rf"(\d+) {what}", output)
        if not found or int(found[1]) < least * SEEDS:
            return f"{found[1] if found else 'no'} {what}, not {least * SEEDS}\n{output}"
    print("    " + next(line.strip() for line in output.splitlines() if "vCPUs made" in line))
    return None


def report(name, wrong):
    if wrong:
        print(wrong)
    print(f"[  FAILED  ] {name}" if wrong else f"[       OK ] {name}")
    return bool(wrong)


def main():
    failed = 0
    wrong = run("intel")
    failed += report("guests_of_intel_are_threads", wrong)
    wrong = run("amd")
    failed += report("guests_of_amd_are_threads", wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main())
