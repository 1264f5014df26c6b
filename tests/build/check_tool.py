#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tool of a host, build/upmu, on a terminal: colours.  What its commands print: tests/unit/tools."""
import os
import pty
import re

from checklib import check, main

TOOL = os.path.abspath("build/upmu")
SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(command, **more):
    """What the command shows on a terminal, and its errors, which go there, too."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment.update({"TERM": "xterm", **more})
    child, terminal = pty.fork()
    if child == 0:
        os.execve(command[0], command, environment)
    shown = b""
    while True:
        try:
            more_bytes = os.read(terminal, 65536)
        except OSError:  # (the end, on Linux)
            break
        if not more_bytes:
            break
        shown += more_bytes
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n")


def into_pipe(command):
    with os.popen(f"'{command[0]}' {' '.join(command[1:])}") as pipe:
        return pipe.read()


@check
def colours_are_on_terminals_of_people_who_want_them():
    stat = [TOOL, "stat", "--sim", "skl", "-r", "2"]
    text, complaints = into_pipe(stat), []
    shown = on_terminal(stat)
    if "\x1b" in text or SEQUENCE.sub("", shown) != text:
        complaints.append("a pipe and a terminal get other text")
    if not re.search(r"\x1b\[33m\*\*\* SIMULATED .*\x1b\[0m", shown) or "\x1b[36minstructions" not in shown:
        complaints.append(f"no colours on a terminal: {shown!r}")
    for name, value in ("NO_COLOR", "1"), ("TERM", "dumb"):
        complaints += [f"colours with {name}={value}"] if on_terminal(stat, **{name: value}) != text else []
    complaints += [] if on_terminal(stat, NO_COLOR="") == shown else ["NO_COLOR without a value is not unset"]
    for option in (["--json"], ["-M", "ipc", "--json"]):
        complaints += [f"{option} has colours"] if "\x1b" in on_terminal([TOOL, "stat", "--sim", "skl", *option]) else []
    return complaints + ([] if shown.endswith("\n") and SEQUENCE.findall(shown)[-1] == "\x1b[0m" else ["a colour stays"])


main()
