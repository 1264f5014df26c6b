#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Six programs made by others read what `upmu record -b` and `-d` and the example kernel write, and report the branches that were
executed.

Class of mistake: perf.data that our own reader accepts, and that a program which is made for it reads otherwise.  The
truth is known apart from upmu: this program executes tests/judges/judged.c itself, step by step, and objdump says which of
its instructions are branches.

The example kernel gets the same program from its loader, executes it in ring 3 under QEMU, and writes perf.data to COM1.
"""
import bisect
import collections
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", layer) for layer in ("build", "kernel")]
import machine  # noqa: E402
import misses  # noqa: E402
from checklib import Skip, check, main  # noqa: E402

WORK = os.path.abspath("build/tests/judges")
TOOL = os.path.abspath("build/upmu")
# perf lists the paths of programs without quotes, and perf2bolt cuts them at blanks: the tree's own path may have one.
FOLDER = tempfile.TemporaryDirectory(prefix="upmu-judged-")
PROGRAM, PROGRAM_32 = (shutil.copy(f"build/judges/{name}", FOLDER.name) for name in ("judged", "judged32"))
PERIOD = 131  # the least that all CPUs here have for precise events is 128
KEEP = {}  # what was made once
ENVIRONMENT = dict(os.environ, HOME=WORK, PERF_CONFIG="/dev/null", PAGER="cat", LC_ALL="C")


def run(*words):
    """Output and messages of a program that must not fail."""
    done = subprocess.run(words, cwd=WORK, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=ENVIRONMENT)
    messages = done.stderr.decode()
    if done.returncode and "WARNING: perf not found for kernel" in messages:
        raise Skip("the perf that is installed does not start")
    assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}: {messages}"
    return done.stdout.decode(), messages


def judge(name, *paths):
    """Where the first of these names or paths is; without one the test is skipped."""
    for path in paths or (name,):
        found = shutil.which(path) or next(iter(sorted(glob.glob(path))), None)
        if found:
            return found
    raise Skip(f"{name} is not installed (make deps-judges)")


def content(name):
    with open(os.path.join(WORK, name), encoding="utf-8") as file:
        return file.read()


def expect(what, found, wanted):
    """Complaints about two counters, or two values, that differ."""
    if found == wanted:
        return []
    if not isinstance(wanted, collections.Counter):
        return [f"{what}: {found}, not {wanted}"]
    return [f"{what}: {key}: {found[key]}, not {wanted[key]}" for key in sorted(set(found) | set(wanted), key=str)
            if found[key] != wanted[key]]


# ---- The truth ----

def code_of(program=PROGRAM):
    """{address: (the next address, kind)}: a kind is "always", "if" or None, which is no branch; [(address, function)]"""
    rows, functions = [], []
    for line in run("objdump", "-dw", "--no-show-raw-insn", program)[0].split("\n"):
        function = re.match(r"([0-9a-f]+) <(\w+)>:", line)
        row = re.match(r"\s*([0-9a-f]+):\s+(?:(?:bnd|notrack|repz) )?(\w+)", line)
        if function:
            functions.append((int(function[1], 16), function[2]))
        elif row:
            rows.append((int(row[1], 16), row[2]))
    kinds = [(at, "always" if re.match("jmp|call|ret", name) else "if" if re.match("j|loop", name) else None) for at, name in rows]
    return {at: (after, kind) for (at, kind), (after, _) in zip(kinds, kinds[1:] + [(None, None)])}, functions


def stepped(code):
    """The addresses in the file of all instructions that the program executes."""
    libc, status, steps = ctypes.CDLL(None, use_errno=True), ctypes.c_int(), []
    ptrace = libc.ptrace
    ptrace.argtypes, ptrace.restype = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p], ctypes.c_long
    child = os.fork()
    if child == 0:
        if ptrace(0, 0, None, None) == 0:  # PTRACE_TRACEME
            os.execv(PROGRAM, [PROGRAM])
        os._exit(127)
    libc.waitpid(child, ctypes.byref(status), 0)
    if not os.WIFSTOPPED(status.value):
        raise Skip("programs cannot be traced here (ptrace)")
    while os.WIFSTOPPED(status.value):
        steps.append(ptrace(3, child, 16 * 8, None))  # PTRACE_PEEKUSER, rip of struct user
        ptrace(9, child, None, None)  # PTRACE_SINGLESTEP
        libc.waitpid(child, ctypes.byref(status), 0)
    assert os.WIFEXITED(status.value) and os.WEXITSTATUS(status.value) == 0, status.value
    base = steps[0] - entry()
    assert all(at - base in code for at in steps), "an instruction that objdump does not know"
    return [at - base for at in steps]


def entry():
    with open(PROGRAM, "rb") as file:
        return int.from_bytes(file.read(32)[24:32], "little")


class Truth:
    """What the program executes, and what samples of it must have."""

    def __init__(self):
        self.code, self.functions = code_of()
        self.steps = stepped(self.code)
        self.taken = []  # (number of instructions before it, its address, its target)
        for i, (at, to) in enumerate(zip(self.steps, self.steps[1:])):
            after, kind = self.code[at]
            if kind and (kind == "always" or to != after):
                self.taken.append((i, at, to))
        self.stacks = self.samples(32)

    def samples(self, depth, precise=False):
        """Of each sample, one after each PERIOD instructions: the address that comes next, or if precise that of the last
        instruction; its branches, the newest first."""
        numbers, found = [i for i, _, _ in self.taken], []
        for number in range(PERIOD, len(self.steps), PERIOD):
            last = bisect.bisect_left(numbers, number)
            found.append((self.steps[number - precise], [(at, to) for _, at, to in reversed(self.taken[max(0, last - depth):last])]))
        return found

    def edges(self):
        return collections.Counter(edge for _, stack in self.stacks for edge in stack)

    def ranges(self):
        """Code that is executed from a branch's target to the next branch."""
        return collections.Counter((to, newer) for _, stack in self.stacks for (newer, _), (_, to) in zip(stack, stack[1:]))

    def function(self, at):
        return self.functions[bisect.bisect_right([start for start, _ in self.functions], at) - 1][1]

    def between(self, edges):
        """{(function, function): count} of edges."""
        found = collections.Counter()
        for (at, to), count in edges.items():
            found[self.function(at), self.function(to)] += count
        return found


def truth():
    if not KEEP:
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        KEEP["truth"] = Truth()
    return KEEP["truth"]


def recorded(cpu="skl", event="instructions"):
    """The name of a perf.data of the program on a CPU; where the program began in this run."""
    kept, known = f"{cpu}-precise" if ":p" in event else cpu, truth()
    name, wanted = f"{kept}.data", [at for at, _ in known.samples(32, ":p" in event)]
    if kept not in KEEP:
        run(TOOL, "record", "--sim", cpu, "-e", event, "-c", str(PERIOD), "-b", "--perf", name, "-o", kept, "--", PROGRAM)
        samples = [line.split("\t") for line in content(kept).split("\n")[:-1] if not line.startswith("#")]
        begin = int(samples[0][0], 16) - wanted[0]
        assert begin % 4096 == 0, f"the first sample is at {samples[0]}"
        assert [int(row[0], 16) - begin for row in samples] == wanted, "other addresses of samples"
        KEEP[kept] = begin
    return name, KEEP[kept]


def from_kernel(command, name, image="programs64.elf", program=PROGRAM):
    """What the example kernel says when it executes a command, but for a perf.data in it: that is the file `name`."""
    status, text = machine.run(machine.kernel(image, f"debug-exit {command}; off") + ["-initrd", program])
    lines, file = re.fullmatch(r"(.*\n\w+\.begin\n)([0-9a-f\n]*)\w+\.end no error\n.*", text, re.S).groups()
    assert status == machine.LEFT_WELL, f"QEMU ended with {status}: {lines}"
    with open(os.path.join(WORK, name), "wb") as output:
        output.write(bytes.fromhex(file))
    return lines


def booted(cpu="skl", event="instructions:u"):
    """As recorded(), of a run in ring 3 of the example kernel; its step loop has counted what was executed."""
    kept, known = f"kernel-{cpu}", truth()
    if kept not in KEEP:
        lines = from_kernel(f"module --sim {cpu} -e {event} {PROGRAM}", kept + ".data")
        said = {key: int(value, 0) for key, value in re.findall(r"^module\.(\w+) (\w+)$", lines, re.M)}
        wanted = {"period": PERIOD, "samples": len(known.stacks), "lost": 0, "violations": 0, "branches": len(known.taken),
                  "instructions": len(known.steps) - 1, "memory": said["memory"]}  # the last one is SYSCALL
        assert said == wanted, f"{said}, not {wanted}"
        KEEP[kept] = said["memory"]
    return kept + ".data", KEEP[kept]


def of_both():
    """The names of perf.data of the simulated Skylake, by the tool and by the kernel."""
    return recorded()[0], booted()[0]


# ---- perf ----

@check
def perf_script_prints_each_branch_that_was_executed():
    """Of stacks at the interrupt, and of precise records that have the branches themselves."""
    perf, known, complaints = judge("perf"), truth(), []
    exact = "instructions:ppp"
    for maker, cpu, depth, event in ((recorded, "skl", 32, "instructions"), (recorded, "sapphirerapids", 32, "instructions"),
                                     (recorded, "haswell_smt", 16, "instructions"), (recorded, "zen4", 16, "instructions"),
                                     (recorded, "icl", 32, exact), (recorded, "sapphirerapids", 32, exact),
                                     (booted, "skl", 32, "instructions:u"), (booted, "icl", 32, "instructions:u:ppp")):
        name, begin = maker(cpu, event)
        found = []
        for line in run(perf, "script", "-F", "ip,sym,brstack", "-i", name)[0].split("\n")[:-1]:
            at, symbol, stack = re.match(r"\s*([0-9a-f]+) (\S+)\s*(.*)", line).groups()
            at = int(at, 16) - begin
            complaints += expect("the function", symbol, known.function(at))
            found.append((at, [(int(a, 16) - begin, int(b, 16) - begin) for a, b in
                               re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/P/-/-/0", stack)]))
        wanted = known.samples(depth, event.endswith(":ppp"))
        complaints += expect(f"{name}: samples", len(found), len(wanted))
        complaints += [f"{name}: sample {i}: {is_}, not {should}" for i, (is_, should) in enumerate(zip(found, wanted)) if is_ != should]
    full = sum(len(stack) == 32 for _, stack in known.stacks)
    return complaints + ([] if full > 200 else [f"{full} full stacks are too few to say anything"])


@check
def branches_of_a_program_with_32_bits_are_ways_through_it():
    """Of the example kernel: not each host executes such a program, so there is no truth; but each branch of a stack is where code
    runs to from the branch before, and the last one leads to the sample."""
    perf, complaints, branches = judge("perf"), [], 0
    truth()
    code, _ = code_of(PROGRAM_32)
    lines = from_kernel(f"module {PROGRAM_32}", "kernel32.data", "programs32.elf", PROGRAM_32)
    said = {key: int(value, 0) for key, value in re.findall(r"^module\.(\w+) (\w+)$", lines, re.M)}

    def leads(start, end):
        while start != end and start in code and code[start][1] != "always":
            start = code[start][0]
        return start == end

    rows = run(perf, "script", "-F", "ip,brstack", "-i", "kernel32.data")[0].split("\n")[:-1]
    for row in rows:
        at, *stack = [int(word, 16) - said["memory"] for word in re.findall(r"(?:^ *|0x|/0x)([0-9a-f]+)(?=\s|/)", row)]
        sources, targets = stack[::2], stack[1::2]
        branches += len(sources)
        complaints += [f"{source:#x} is no branch" for source in sources if not code[source][1]]
        complaints += [f"no way from {start:#x} to {end:#x}" for start, end in zip(targets, [at] + sources) if not leads(start, end)]
    wanted = {"samples": len(rows), "lost": 0, "violations": 0, "samples of instructions": said["instructions"] // PERIOD}
    complaints += [f"{key}: {said.get(key, said['samples'])}, not {wanted[key]}" for key in wanted if said.get(key, said["samples"]) != wanted[key]]
    return complaints + ([] if branches > 30 * len(rows) > 10000 else [f"{branches} branches of {len(rows)} samples are too few"])


@check
def perf_script_prints_branches_beside_data_sources():
    """The model's loops of loads: where the data was, in how many cycles, and the rounds of the loop before."""
    perf, complaints, found = judge("perf"), [], collections.Counter()
    truth()
    for line in run(perf, "script", "-F", "ip,addr,weight,data_src,brstack", "-i", loads("-b"))[0].split("\n")[:-1]:
        row = re.match(r"\s*([0-9a-f]+)\s+[0-9a-f]+ \|OP LOAD\|LVL (.*?) or .*\|BLK +N/A\s+(\d+)\s+([0-9a-f]+) +(0x.*)", line)
        if not row:
            return [line]
        address, level, weight, at = int(row[1], 16), row[2], int(row[3]), int(row[4], 16)
        loop = LOOPS.get(at & ~0x3ff)
        complaints += expect(f"{at:#x}", (level, weight, address >> 24), loop[1:4] if loop else None)
        stack = [(int(a, 16), int(b, 16)) for a, b in re.findall(r"0x([0-9a-f]+)/0x([0-9a-f]+)/", row[5])]
        round_ = (loop[4], at & ~0x3ff)
        complaints += expect(f"{at:#x}: branches", (stack[0], len(stack) > 30 or stack.count(round_) > len(stack) - 3), (round_, True))
        found[loop[0]] += 1
    return complaints + expect("samples", found, sampled_loops())


@check
def perf_report_counts_branches_by_their_functions():
    perf, known, complaints = judge("perf"), truth(), []
    for name in of_both():
        found = collections.Counter()
        output = run(perf, "report", "-b", "--stdio", "-n", "--percent-limit", "0", "-s", "dso_from,symbol_from,symbol_to", "-i", name)[0]
        for count, source, target in re.findall(r"^ *[\d.]+% +(\d+) +judged +\[\.\] (\w+) +\[\.\] (\w+)", output, re.M):
            found[source, target] += int(count)
        complaints += expect(f"{name}: perf report -b", found, known.between(known.edges()))
    return complaints


@check
def perf_report_shows_the_history_of_branches():
    """Each line is a stack: its last function is the sample's, and it goes from function to function as the program did.
    (perf leaves out what it takes for repetitions.)"""
    perf, known, complaints = judge("perf"), truth(), []
    ways = set(known.between(known.edges())) | {(function, function) for _, function in known.functions}
    wanted = collections.Counter(known.function(at) for at, _ in known.stacks)
    for name in of_both():
        found, function = collections.Counter(), None
        output = run(perf, "report", "--branch-history", "--stdio", "-n", "--percent-limit", "0", "-s", "sym", "-i", name,
                     "-g", "folded,0,callee,function,count")[0]
        for line in output.split("\n"):
            head, stack = re.match(r" *[\d.]+% +\d+ +\[\.\] (\w+)", line), re.match(r"(\d+) (\w+ .*)", line)
            function = head[1] if head else function
            if stack:
                path = [part.split(" ")[0] for part in stack[2].split(";")]
                found[function] += int(stack[1])
                complaints += expect("the sample's function", path[0], function)
                complaints += [f"no way from {source} to {target}" for target, source in zip(path, path[1:]) if (source, target) not in ways]
        complaints += expect(f"{name}: perf report --branch-history", found, wanted)
    return complaints


# ---- Sources of data: loops of the model's workload (tools/cmd/cmd_work_sim.c), by their address ----

LOOPS = {0x1d0400: ("memcpy", "L2", 14, 0x11, 0x1d0414), 0x1d0c00: ("chase", "Local RAM", 220, 0x13, 0x1d0c08)}


def loads(*options):
    """The name of a perf.data of load latency."""
    run(TOOL, "record", "--sim", "skl", "-e", "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4:pp", "-c", "977", "-n", "100000", "-d", *options,
        "--perf", "loads.data", "--kallsyms", "kallsyms", "-o", "loads")
    return "loads.data"


def sampled_loops():
    """Samples by function, from the text that record wrote."""
    found = collections.Counter(re.findall(r"^0x\w+\t(\w+)\+", content("loads"), re.M))
    assert min(found[name] for name, *_ in LOOPS.values()) > 50, found
    return found


@check
def perf_mem_report_shows_the_sources_of_data():
    perf, found = judge("perf"), collections.Counter()
    truth()
    output = run(perf, "mem", "report", "--stdio", "--kallsyms", "kallsyms", "-i", loads())[0]
    for count, weight, level, name in re.findall(r"^ *[\d.]+% +(\d+) +(\d+) +(.+?) hit +\[k\] (\w+)", output, re.M):
        found[name, level.split(" or ")[0], int(weight)] += int(count)
    wanted = collections.Counter({loop[:3]: sampled_loops()[loop[0]] for loop in LOOPS.values()})
    return expect("perf mem report", found, wanted)


@check
def perf_shows_the_misses_of_the_example_kernel():
    """Each of its precise samples, which no interrupt took, and their sums by source."""
    perf, found = judge("perf"), []
    truth()
    lines = from_kernel("precise perf", "misses.data")
    for line in run(perf, "script", "-F", "ip,addr,weight,data_src", "-i", "misses.data")[0].split("\n")[:-1]:
        row = re.match(r"\s*([0-9a-f]+)\s+[0-9a-f]+ \|OP LOAD\|LVL (.*?) or .*\|BLK +N/A\s+(\d+)\s+([0-9a-f]+)", line)
        if not row:
            return [line]
        found.append((int(row[4], 16), int(row[1], 16), int(row[3]), row[2]))
    levels = {0x3: "L2", 0xa: "Local RAM"}
    wanted = [(sample.ip, sample.data, sample.latency, levels[sample.source]) for sample in misses.samples(machine.path("programs64.elf"))]
    complaints = [f"sample {i}: {is_}, not {should}" for i, (is_, should) in enumerate(zip(found, wanted)) if is_ != should]
    complaints += expect("samples", len(found), len(wanted)) + expect("the kernel's samples", len(misses.printed(lines)), len(wanted))
    output = run(perf, "mem", "report", "--stdio", "-s", "mem,local_weight", "-i", "misses.data")[0]
    sums = collections.Counter()
    for count, level, weight in re.findall(r"^ *[\d.]+% +(\d+) +(.+?) or .*? +(\d+) *$", output, re.M):
        sums[level, int(weight)] += int(count)
    return complaints + expect("perf mem report", sums, collections.Counter((level, latency) for _, _, latency, level in wanted))


# ---- Profiles for compilers ----

def profiled(name, *options):
    """What llvm-profgen makes of a file."""
    profgen = judge("llvm-profgen", "llvm-profgen-14", "llvm-profgen")
    judge("perf")
    run(profgen, "--binary=" + PROGRAM, "--perfdata=" + name, "--output=profile", *options)
    return content("profile")


def lines_of(profile):
    """{(function, line): count}, {(function, called function): count}, {function: count of its begin} of a text profile"""
    lines, calls, begins, function = collections.Counter(), collections.Counter(), collections.Counter(), None
    for row in profile.split("\n")[:-1]:
        head = re.match(r"(\w+):\d+:(\d+)$", row)
        if head:
            function = head[1]
            begins[function] = int(head[2])
            continue
        line, count, called = re.match(r" ([\d.]+): (\d+)((?: \w+:\d+)*)$", row).groups()
        lines[function, line] = int(count)
        for name, times in re.findall(r"(\w+):(\d+)", called):
            calls[function, name] += int(times)
    return lines, calls, begins


def calls_and_begins(known):
    """The edges that lead to the begin of a function; by their target alone."""
    starts = {start for start, _ in known.functions}
    calls = known.between({edge: count for edge, count in known.edges().items() if edge[1] in starts})
    begins = collections.Counter({name: sum(count for (_, to), count in calls.items() if to == name) for _, name in known.functions})
    return calls, begins


def start_of_code():
    """The address from which llvm-profgen counts addresses: that of the segment of code."""
    output = run("readelf", "-lW", PROGRAM)[0]
    return int(re.search(r"LOAD +0x\w+ (0x\w+) 0x\w+ 0x\w+ 0x\w+ R E", output)[1], 16)


@check
def llvm_profgen_counts_each_branch():
    known, complaints, base = truth(), [], start_of_code()
    for name in of_both():
        tables, rows = [], profiled(name, "--skip-symbolization").split("\n")[:-1]
        while rows:
            count = int(rows.pop(0))
            tables.append(collections.Counter({tuple(int(part, 16) + base for part in re.split("->|-", place)): int(times) for place, times in
                                               (row.split(":") for row in rows[:count])}))
            del rows[:count]
        complaints += expect(f"{name}: tables", len(tables), 2)
        complaints += expect(f"{name}: llvm-profgen: ranges", tables[0], known.ranges())
        complaints += expect(f"{name}: llvm-profgen: branches", tables[1], known.edges())
        _, calls, begins = lines_of(profiled(name, "--format=text"))
        wanted = calls_and_begins(known)
        complaints += expect(f"{name}: llvm-profgen: calls", calls, wanted[0]) + expect(f"{name}: llvm-profgen: begins", begins, wanted[1])
    return complaints


def edges_of_bolt(bolt, name, known):
    """What perf2bolt says; its counts of branches; how often code was passed through, which are rows that lead to the next
    instruction."""
    output = run(bolt, "-p", name, "-o", "fdata", PROGRAM)
    starts, found, passed = {function: start for start, function in known.functions}, collections.Counter(), 0
    for row in content("fdata").split("\n")[:-1]:
        source, part, target, behind, misses_, count = re.match(r"1 (\w+) (\w+) 1 (\w+) (\w+) (\d+) (\d+)$", row).groups()
        edge = starts[source] + int(part, 16), starts[target] + int(behind, 16)
        if misses_ == "0" and known.code[edge[0]][0] == edge[1]:
            passed += int(count)
        else:
            found[edge] += int(count)
    return output[0] + output[1], found, passed


@check
def perf2bolt_counts_each_branch():
    bolt, known, complaints = judge("perf2bolt", "perf2bolt", "/usr/lib/llvm-*/bin/perf2bolt"), truth(), []
    judge("perf")
    for name in of_both():
        text, found, passed = edges_of_bolt(bolt, name, known)
        complaints += expect(f"{name}: perf2bolt", found, known.edges())
        complaints += [] if passed > 1000 else [f"{name}: {passed} ways without a branch"]
        for line in (f"read {len(known.stacks)} samples and {sum(known.edges().values())} LBR entries", "0 samples (0.0%) were ignored",
                     "traces mismatching disassembled function contents: 0", "out of range traces involving unknown regions: 0"):
            complaints += [] if line in text else [f"{name}: perf2bolt does not say: {line}", *re.findall("PERF2BOLT: .*", text)]
    return complaints


@check
def create_llvm_prof_counts_calls_and_lines():
    """Calls are those that were executed, and the counts of lines are those of llvm-profgen."""
    autofdo, known, complaints = judge("create_llvm_prof"), truth(), []
    for name in of_both():
        run(autofdo, "--binary=" + PROGRAM, "--profile=" + name, "--out=autofdo", "--format=text")
        lines, calls, begins = lines_of(content("autofdo"))
        wanted = calls_and_begins(known)
        complaints += expect(f"{name}: create_llvm_prof: calls", calls, wanted[0])
        complaints += expect(f"{name}: create_llvm_prof: begins", begins, wanted[1])
        complaints += expect(f"{name}: create_llvm_prof: lines", lines, lines_of(profiled(name, "--format=text"))[0])
    return complaints


if __name__ == "__main__":
    main()
