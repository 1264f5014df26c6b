# SPDX-License-Identifier: MIT
"""What `precise` of the example kernel must find: the loads of examples/kernel/kernel_misses.S, in a cache of two levels.

The addresses are those of the symbols in the kernel's file; which loads miss is computed here once more.
"""
import collections
import re
import subprocess

PERIOD = 61
PASSES = 2
LINE = 64
LEVELS = ((5, 0x1), (14, 0x3), (220, 0xa))  # latency and source of the first level, the second, and memory
Sample = collections.namedtuple("Sample", "ip name data latency source")


def symbols(path):
    output = subprocess.run(["nm", path], check=True, stdout=subprocess.PIPE).stdout.decode()
    return {name: int(at, 16) for at, name in re.findall(r"^([0-9a-f]+) \w (\w+)$", output, re.M)}


def loads(at):
    """(label of the instruction, address of the data), in order."""
    for _ in range(PASSES):
        node = 0
        for _ in range(2048):
            yield "walk", at["misses_list"] + LINE * node
            node = (1029 * node + 7) % 2048
        for i in range(1024):
            yield "table", at["misses_words"] + 4 * i


def misses(path):
    """The loads that do not find their data in the first level."""
    at, caches, found = symbols(path), ({}, {}), []
    for name, data in loads(at):
        line, level = data // LINE, 2
        for i, (cache, places) in reversed(list(enumerate(zip(caches, (512, 8192))))):
            level = i if cache.get(line % places) == line else level
            cache[line % places] = line
        if level:
            found.append(Sample(at["misses_" + name], name, data, *LEVELS[level]))
    return found


def samples(path):
    """A record at level 2 is of the event behind the overflow (docs/PRECISE.md)."""
    return misses(path)[PERIOD::PERIOD]


def printed(text):
    return [Sample(int(ip, 16), name, int(data, 16), int(latency), int(source, 16)) for ip, name, data, latency, source in
            re.findall(r"^precise.sample (0x\w+) (\S+) data (0x\w+) latency (\d+) source (0x\w+)$", text, re.M)]
