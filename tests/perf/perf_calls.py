# SPDX-License-Identifier: MIT
"""The demands of perf, as text: what the supervisor noted (supervisor_calls.h) becomes lines that do not change from run
to run, and they are compared with those that were recorded (tests/golden/perf_calls_VERSION.txt).

A demand is one line, however often perf makes it.  `@calls_as_recorded` is the decorator of a check: each perf that it
runs has to make the demands that were recorded under the name of the check.
"""
import difflib
import errno
import functools
import glob
import itertools
import os
import re
import shutil
import struct
import subprocess
import sys

WORK = os.path.abspath("build/tests/perf")
PROGRAMS = os.path.abspath("build/gcc-64/tests/perf")
AGAIN = "make perf-calls"  # records

HEAD = """\
# What perf {version} asks of perf_event_open, by the checks of tests/perf/test_perf.py that run it, and what abi/perf answers.
# Written by `make perf-calls`, for the perf of `make deps-perf-newer` too.
# recorded with: perf version {version}
#
# A command is "$", and in brackets the models that it runs on; commands that make the same demands stand together.  A
# demand is one line: of equal ones at the place of the first, with "xN" for N of them.  "cpu 0 1": for each of these.
# An event is its name of a hardware event (type 0) or software event (type 1), or "typeN:CONFIG"; "@typeN" stands for the
# type in the high half of config.  Fields of attributes that are 0 are left out; "group of E": a member of the group whose
# leader counts E.  Processes, descriptors, addresses and values are left out, and so are close(2) and munmap(2).
# Lines of perf's other threads, and of processes that perf starts, say so.
# "cpu any": perf asks on the CPU where it runs.  Of read and PAUSE_OUTPUT the time decides how many there are, so that they
# have no "xN".  Of lines with "~" the time (poll), or the rights of the user (perf_event_paranoid) decide whether there is any:
# they may be absent, and stand behind the others.  Files of upmu_perf_files() that are opened stand last; "*": all that the
# folder has.  Where perf reads them, it finds PMUs in the order of the file system: lines of one call that follow one another
# are sorted there.
"""

# ---- Names (include/uapi/linux/perf_event.h) ----

SAMPLE = ("IP TID TIME ADDR READ CALLCHAIN ID CPU PERIOD STREAM_ID RAW BRANCH_STACK REGS_USER STACK_USER WEIGHT DATA_SRC "
          "IDENTIFIER TRANSACTION REGS_INTR PHYS_ADDR AUX CGROUP DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT_STRUCT").split()
READ = "TIME_ENABLED TIME_RUNNING ID GROUP LOST".split()
BRANCH = ("USER KERNEL HV ANY ANY_CALL ANY_RETURN IND_CALL ABORT_TX IN_TX NO_TX COND CALL_STACK IND_JUMP CALL NO_FLAGS "
          "NO_CYCLES TYPE_SAVE HW_INDEX PRIV_SAVE COUNTERS").split()
FLAGS = ("disabled inherit pinned exclusive exclude_user exclude_kernel exclude_hv exclude_idle mmap comm freq "
         "inherit_stat enable_on_exec task watermark precise_ip precise_ip mmap_data sample_id_all exclude_host "
         "exclude_guest exclude_callchain_kernel exclude_callchain_user mmap2 comm_exec use_clockid context_switch "
         "write_backward namespaces ksymbol bpf_event aux_output cgroup text_poke build_id inherit_thread "
         "remove_on_exec sigtrap").split()
PRECISE = 15  # first bit of precise_ip, which has two
OPEN_FLAGS = "FD_NO_GROUP FD_OUTPUT PID_CGROUP FD_CLOEXEC".split()
POLL = "POLLIN POLLPRI POLLOUT POLLERR POLLHUP".split()
HARDWARE = ("cycles instructions cache-references cache-misses branches branch-misses bus-cycles "
            "stalled-cycles-frontend stalled-cycles-backend ref-cycles").split()
SOFTWARE = ("cpu-clock task-clock page-faults context-switches cpu-migrations minor-faults major-faults "
            "alignment-faults emulation-faults dummy bpf-output cgroup-switches").split()
# Offset, letter of struct, name of each field behind the flags.
FIELDS = ((48, "I", "wakeup"), (52, "I", "bp_type"), (56, "Q", "config1"), (64, "Q", "config2"),
          (80, "Q", "sample_regs_user"), (88, "I", "sample_stack_user"), (92, "i", "clockid"),
          (96, "Q", "sample_regs_intr"), (104, "I", "aux_watermark"), (108, "H", "sample_max_stack"),
          (110, "H", "reserved_2"), (112, "I", "aux_sample_size"), (116, "I", "aux_action"), (120, "Q", "sig_data"))
KNOWN_BYTES = 128
COMMANDS = ("ENABLE DISABLE REFRESH RESET PERIOD SET_OUTPUT SET_FILTER ID SET_BPF PAUSE_OUTPUT QUERY_BPF "
            "MODIFY_ATTRIBUTES").split()
FCNTL = {1: "F_GETFD", 2: "F_SETFD", 3: "F_GETFL", 4: "F_SETFL", 10: "F_SETSIG", 8: "F_SETOWN", 15: "F_SETOWN_EX"}
F_SETFL, O_FLAGS = 4, ((0o4000, "O_NONBLOCK"), (0o20000, "O_ASYNC"), (0o2, "O_RDWR"), (0o2000000, "O_CLOEXEC"))
MOST_LINES = 12  # of a command, in a complaint
PAGE = 4096
PROBED = "any"  # in the place of a CPU
UNCOUNTED = "read", "ioctl PAUSE_OUTPUT"  # the time decides how many of these there are


def bits(word, names, between="|"):
    """The names of the bits of a word; of one without a name, its number."""
    found = [names[bit] if bit < len(names) else f"bit{bit}" for bit in range(64) if word >> bit & 1]
    return between.join(found)


def answer(result):
    if result == -errno.EOPNOTSUPP:
        return "EOPNOTSUPP"  # Python's name of this number is ENOTSUP
    return "ok" if result >= 0 else errno.errorcode.get(-result, str(result))


def name_of(kind, config):
    """The name of an event."""
    core, low = config >> 32, config & 0xffffffff
    names = {0: HARDWARE, 1: SOFTWARE}.get(kind)
    if names and low < len(names):
        return names[low] + (f"@type{core}" if core else "")
    return f"type{kind}:{config:#x}"


def attributes(attr):
    """The fields of an attribute that are not 0, and the event's name."""
    whole = attr.ljust(max(KNOWN_BYTES, len(attr)), b"\0")
    kind, size, config, period, sample, read, flags = struct.unpack_from("<IIQQQQQ", whole)
    said = [f"size {size}"]
    if period:
        said.append(f"{'freq' if flags >> FLAGS.index('freq') & 1 else 'period'} {period}")
    if sample:
        said.append(f"sample {bits(sample, SAMPLE)}")
    if read:
        said.append(f"read {bits(read, READ)}")
    precise = flags >> PRECISE & 3
    if flags:
        said.append(bits(flags & ~(3 << PRECISE), FLAGS, " ") + (f" precise_ip={precise}" if precise else ""))
    for offset, letter, name in FIELDS:
        value = struct.unpack_from("<" + letter, whole, offset)[0]
        if value:
            said.append(f"{name} {value:#x}" if letter == "Q" else f"{name} {value}")
    branches = struct.unpack_from("<Q", whole, 72)[0]
    if branches:
        said.append(f"branches {bits(branches, BRANCH)}")
    said += [f"byte{offset} {whole[offset]:#x}" for offset in range(KNOWN_BYTES, len(whole)) if whole[offset]]
    return name_of(kind, config), ", ".join(said)


# ---- What the supervisor noted, as lines ----

class Lines:
    """Demands of one command: each is a line, in the order in which they first come."""

    def __init__(self):
        self.events = {}  # (process, descriptor): (name, CPU)
        self.opening = {}  # of a thread: (name, CPU)
        self.lines = {}  # text before and behind the CPUs: {CPU: how many}
        self.maybe, self.files = set(), set()
        self.main = None

    def add(self, thread, process, text, cpu=None, rest=""):
        """Count a demand; `cpu`: the one that stands between `text` and `rest`."""
        self.main = self.main or process
        if process != self.main:
            text = "started process: " + text
        elif thread != process:
            text = "other thread: " + text
        counts = self.lines.setdefault((text, rest), {})
        counts[cpu] = counts.get(cpu, 0) + 1

    def event(self, process, number):
        return self.events.get((process, number)) or self.events.get((self.main, number)) or ("?", None)

    def open(self, thread, process, task, cpu, group, flags, result, attr):
        name, said = attributes(bytes.fromhex(attr))
        leader = f", group of {self.event(process, int(group))[0]}" if int(group) != -1 else ""
        self.opening[thread] = name, int(cpu)
        more = f" {bits(int(flags, 0), OPEN_FLAGS)}" if int(flags, 0) else ""
        # Before all others perf tries FD_CLOEXEC, with an attribute of no size, on the CPU on which it happens to run.
        where = PROBED if attr[8:16] == "00000000" and int(cpu) >= 0 else int(cpu)
        self.add(thread, process, f"open {name} pid {task}", where, f"{leader}{more}: {said} = {answer(int(result))}")

    def descriptor(self, thread, process, number):
        self.events[process, int(number)] = self.opening[thread]

    def read(self, thread, process, number, size, result):
        name, cpu = self.event(process, int(number))
        done = "ok" if size == result else f"{result} bytes" if int(result) >= 0 else answer(int(result))
        self.add(thread, process, f"read {name}", cpu, f" {size} bytes = {done}")

    def ioctl(self, thread, process, number, command, argument, value, result):
        name, cpu = self.event(process, int(number))
        command, argument = int(command, 0), int(argument, 0)
        place = command & 0xff
        known = command >> 8 & 0xff == ord("$") and place < len(COMMANDS)
        what = COMMANDS[place] if known else f"{command:#x}"
        if what in ("SET_OUTPUT", "SET_BPF") and 0 <= argument < 1 << 31:
            of = self.event(process, argument)
            said = " to " + of[0] + ("" if of[1] == cpu else f" of cpu {of[1]}")
        elif what == "PERIOD":
            said = f" {value}"
        else:
            said = "" if not argument else " address" if argument > 1 << 16 else f" {argument}"
        self.add(thread, process, f"ioctl {what} {name}", cpu, f"{said} = {answer(int(result))}")

    def mmap(self, thread, process, number, size, protection, flags, offset, result):
        name, cpu = self.event(process, int(number))
        pages, odd = divmod(int(size), PAGE)
        length = f"{size} bytes" if odd or not pages else f"1+{pages - 1} pages" if pages > 1 else "1 page"
        rights = "".join(letter for bit, letter in enumerate("rwx") if int(protection) >> bit & 1)
        kind = {1: "shared", 2: "private"}.get(int(flags), f"flags {int(flags):#x}")
        at = f" at {int(offset)}" if int(offset) else ""
        self.add(thread, process, f"mmap {name}", cpu, f" {length} {rights} {kind}{at} = {answer(int(result))}")

    def fcntl(self, thread, process, number, command, argument):
        name, cpu = self.event(process, int(number))
        command, argument = int(command), int(argument)
        said = f" {argument}"
        if command == F_SETFL:
            said = "|".join([text for bit, text in O_FLAGS if argument & bit])
            said = f" {said or argument}"
        self.add(thread, process, f"fcntl {FCNTL.get(command, command)} {name}", cpu, said)

    def poll(self, thread, process, _count, events, wait):  # how many are polled depends on how many have ended
        self.maybe.add(f"~ {'' if thread == process else 'other thread: '}poll {bits(int(events, 0), POLL)}, {wait}")

    def file(self, _thread, _process, path):
        if path.endswith("_paranoid"):
            self.maybe.add(f"~ file {path}")
        else:
            self.files.add(path)

    def text(self, folder):
        """All lines."""
        found = []
        for (text, rest), counts in self.lines.items():
            cpus = sorted((cpu for cpu in counts if cpu is not None), key=str)
            many = set(counts.values())
            if text.replace("other thread: ", "").startswith(UNCOUNTED):
                many = {1}
            if len(many) == 1:
                where = f" cpu {' '.join(map(str, cpus))}" if cpus else ""
                times = many.pop()
            else:
                where, times = " cpu " + " ".join(f"{cpu}(x{counts[cpu]})" for cpu in cpus), 1
            found.append(text + where + rest + (f" x{times}" if times > 1 else ""))
        if folder:
            found = [line for _, lines in itertools.groupby(found, call_of) for line in sorted(lines)]
        return found + sorted(self.maybe) + sorted(files_in_short(self.files, folder))


def call_of(line):
    return re.match(r"(?:[a-z ]+: )?(ioctl \S+|\S+)", line).group(1)


def files_in_short(paths, folder):
    """One line for each PMU and limit; PMUs of which the same is read have one."""
    devices = "/sys/bus/event_source/devices/"
    read = {}
    for path in paths:
        if path.startswith(devices):
            pmu, _, rest = path[len(devices):].strip("/").partition("/")
            if pmu:
                read.setdefault(pmu, set()).add(rest)
        else:
            yield f"file {path}"
    same = {}
    for pmu, names in read.items():
        short = set()
        for name in names:
            top, inner, _ = name.partition("/")
            all_there = {os.path.relpath(found, f"{folder}/{pmu}") for found in glob.glob(f"{folder}/{pmu}/{top}/*")}
            if all_there and all_there <= names:
                short.add(f"{top}/*")
            elif name and (inner or not all_there):  # a folder that is listed is no demand
                short.add(name)
        same.setdefault(" ".join(sorted(short)) or "(folder)", []).append(pmu)
    for text, pmus in same.items():
        yield f"file {','.join(sorted(pmus))}: {text}"


def lines_of(path, folder):
    """The lines of a command, and whether perf saw files of the machine."""
    lines, sees = Lines(), "host"
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            word, *rest = line.split()
            if word == "sees":
                sees = rest[0]
            else:
                getattr(lines, word)(*rest)
    return lines.text(folder), sees


# ---- Recorded, and compared ----

found_here = {}  # {check: {command: {model: lines}}}
recording = False
_now = None  # name of the check that runs
_sees_host = False
_said = set()


@functools.lru_cache(None)
def version():
    """Perf's version, "6.1.192"."""
    done = subprocess.run(["perf", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode("utf-8", "replace").replace("perf version", "").strip()


def golden_path():
    return f"tests/golden/perf_calls_{'.'.join(version().split('.')[:2])}.txt"


def variables(name):
    """What the supervisor and perf need in their environment, so that the demands do not depend on the machine."""
    shutil.rmtree(f"{WORK}/sees", ignore_errors=True)
    os.makedirs(f"{WORK}/sees")
    if os.path.exists(f"{WORK}/{name}"):
        os.unlink(f"{WORK}/{name}")
    return dict(SUPERVISOR_CALLS=f"{WORK}/{name}", SUPERVISOR_SEES=f"{WORK}/sees", PERF_CONFIG="/dev/null")


def note(words, model, name, folder):
    """A perf has run, with these variables(): keep its demands."""
    global _sees_host
    if not _now:
        return
    try:
        lines, sees = lines_of(f"{WORK}/{name}", folder)
    except FileNotFoundError:  # nothing has run, and the caller says why
        return
    _sees_host = _sees_host or sees != "own"
    command = " ".join(words).replace(f"{PROGRAMS}/", "").replace(f"{WORK}/", "")
    models = found_here.setdefault(_now, {}).setdefault(command, {})
    while model in models:
        model += ",again"
    models[model] = lines


def contents(path, default=""):
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return default


def why_not():
    """Why this machine's perf cannot be compared with what was recorded; or ""."""
    if not os.path.exists(golden_path()):
        recorded = ", ".join(sorted(re.sub(r".*_|\.txt$", "", path) for path in glob.glob("tests/golden/perf_calls_*")))
        return f"perf {version()} here, recorded with {recorded} (to record: {AGAIN})"
    if not _sees_host:
        return ""
    pmus = [os.path.basename(path) for path in glob.glob("/sys/bus/event_source/devices/cpu*")]
    cpus = contents("/sys/devices/system/cpu/online")
    if pmus or cpus != "0-1" or contents("/proc/sys/kernel/perf_event_mlock_kb", "516") != "516":
        return f"perf sees this machine's files (needs root): CPUs {cpus}, {', '.join(pmus) or 'no PMU'}"
    return ""


def sections(path):
    """{check: [(commands, lines)]} of a recorded file."""
    found, commands = {}, None
    with open(path, encoding="ascii") as file:
        for line in file.read().splitlines():
            if line.startswith("== "):
                blocks = found[line[3:]] = []
                commands = None
            elif line.startswith("$ "):
                if not commands or blocks[-1][1]:
                    commands = []
                    blocks.append((commands, []))
                commands.append(line[2:])
            elif line.startswith("  "):
                blocks[-1][1].append(line[2:])
    return found


def blocks_of(commands):
    """[(commands with their models, lines)] of a check, as they are written: equal ones once."""
    blocks = {}
    for command, models in commands.items():
        by_lines = {}
        for model, lines in models.items():
            by_lines.setdefault(tuple(lines), []).append(model)
        for lines, names in by_lines.items():
            blocks.setdefault(lines, []).append(f"{command} [{' '.join(names)}]")
    return [(names, list(lines)) for lines, names in blocks.items()]


@functools.lru_cache(None)
def everything_recorded():
    return {line for blocks in sections(golden_path()).values() for _, lines in blocks for line in lines}


def recorded_lines(check):
    """{(command, model): lines} of a recorded check."""
    found = {}
    for commands, lines in sections(golden_path()).get(check, []):
        for text in commands:
            command, _, models = text.rpartition(" [")
            for model in models.rstrip("]").split():
                found[command, model] = lines
    return found


def differing(recorded, lines):
    """The lines in which a command differs, "-" and "+" before them; new errors stand first."""
    anywhere = everything_recorded()
    recorded = [line for line in recorded if not line.startswith("~") or line in lines]
    lines = [line for line in lines if not line.startswith("~") or line in recorded or line not in anywhere]
    found = [line for line in difflib.ndiff(recorded, lines) if line[0] in "-+"]
    if len(found) > MOST_LINES:
        found.sort(key=lambda line: not re.match(r"\+.* = E[A-Z]+", line))
        found[MOST_LINES - 1:] = [f"... {len(found) - MOST_LINES + 1} more"]
    return found


def compare(check, ended):
    """Complaints: where the demands of a check's commands are others than recorded.  `ended`: it has run all of them."""
    reason = why_not()
    if reason:
        if reason not in _said:
            print(f"not compared: calls: {reason}")
        _said.add(reason)
        return []
    here = {(command, model): lines for command, models in found_here.get(check, {}).items()
            for model, lines in models.items()}
    recorded = recorded_lines(check)
    complaints = []
    for command, model in dict.fromkeys([*recorded, *here]):
        if (command, model) not in recorded or (command, model) not in here:
            if (command, model) in here:
                complaints.append(f"{command} [{model}] was not recorded")
            elif ended:
                complaints.append(f"{command} [{model}] was recorded and does not run")
            continue
        lines = differing(recorded[command, model], here[command, model])
        complaints += ["\n      ".join([f"{command} [{model}]:", *lines])] if lines else []
    if complaints:
        with open(golden_path(), encoding="ascii") as file:
            then = re.search(r"recorded with: (.*)", file.read()).group(1)
        complaints.insert(0, f"the demands of perf {version()} are not those of {golden_path()} ({then}); if that is "
                             f"meant: {AGAIN}")
    return complaints


def calls_as_recorded(function):
    """A check whose commands make the demands that were recorded."""
    @functools.wraps(function)
    def checked():
        global _now
        _now = function.__name__
        found_here.pop(_now, None)
        complaints, ended = [], False
        try:
            complaints = function()
            ended = True
        except (AssertionError, subprocess.TimeoutExpired) as error:  # the demands may say why
            complaints = [str(error)]
        finally:
            _now = None
        return complaints if recording else complaints + compare(function.__name__, ended)
    checked.has_calls = True
    return checked


def write(checks):
    """Write what all checks have found; an error text, or ""."""
    missing = [check for check in checks if check not in found_here]
    if missing or _sees_host:
        return f"not recorded: {', '.join(missing) or 'perf sees files of this machine'}: needs root, and all checks"
    text = HEAD.format(version=version())
    for check in checks:
        text += f"\n== {check}\n"
        for commands, lines in blocks_of(found_here[check]):
            text += "".join(f"$ {command}\n" for command in commands) + "".join(f"  {line}\n" for line in lines)
    with open(golden_path(), "w", encoding="ascii") as file:
        file.write(text)
    print(f"{golden_path()} is written")
    return ""


if __name__ == "__main__":
    # The checks run perf: they record.
    test = os.path.join(os.path.dirname(os.path.abspath(__file__)), "test_perf.py")
    sys.exit(subprocess.run([sys.executable, test, "--record"], check=False).returncode)
