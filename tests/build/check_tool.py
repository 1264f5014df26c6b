#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tool of a host, build/upmu, on a terminal: colours, completion by shells; programs that it counts.  What its commands
print: tests/unit/tools."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

from checklib import check, main, needs, read, run, Skip

TOOL = os.path.abspath("build/upmu")
SEQUENCE = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(command, pause_s=0, **more):
    """What the command shows on a terminal, and its errors, which go there, too.  With a pause it is stopped for so long, a
    moment after it has begun."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment.update({"TERM": "xterm", **more})
    child, terminal = pty.fork()
    if child == 0:
        os.execve(command[0], command, environment)
    shown = b""
    if pause_s:
        shown = os.read(terminal, 65536)
        time.sleep(0.1)
        os.kill(child, signal.SIGSTOP)
        time.sleep(pause_s)
        os.kill(child, signal.SIGCONT)
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


def as_parts(shown):
    """Lines that were replaced on a terminal, and what remained."""
    parts = re.split(r"\r(.*?)\x1b\[K", shown)
    return parts[1::2], "".join(parts[0::2])


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


@check
def progress_is_for_terminals_and_leaves_no_trace():
    """(So many samples last 0.8 s on an idle machine.)"""
    events = "instructions,cycles,branches,branch-misses,cache-references"
    record = [TOOL, "record", "--sim", "skl", "-e", events, "-c", "50", "-n", "400000000", "mix"]
    lines, rest = as_parts(on_terminal(record, pause_s=2.2))
    text, complaints = into_pipe(record + ["2>&1"]), []
    if "\x1b" in text or "\r" in text:
        complaints.append("progress in a pipe")
    if SEQUENCE.sub("", rest) != text:
        complaints.append("a terminal and a pipe get other text")
    if not lines or lines[-1] != "" or not all(re.fullmatch(r"\[#*\.*\] [ 1][ \d]\d%", line) for line in lines[:-1] if line):
        complaints.append(f"lines of progress: {lines}")
    return complaints


# ---- Completion ----

ROOM = os.path.abspath("build/tests/completion")
WAIT_S = 20
# What is typed before TAB, and what the line is then.
TYPED = (("upmu sel", "upmu selftest "), ("upmu stat --js", "upmu stat --json "), ("upmu stat --sim skx", "upmu stat --sim skx2 "),
         ("upmu stat --sim skl mems", "upmu stat --sim skl memset "), ("upmu pmcstat --class ia", "upmu pmcstat --class ia"),
         ("upmu encode --pmu skl INST_RETIRED.PREC", "upmu encode --pmu skl INST_RETIRED.PREC_DIST "),
         ("upmu stat --sim skl -e cycles,INST_RETIRED.PREC", "upmu stat --sim skl -e cycles,INST_RETIRED.PREC_DIST "),
         ("upmu convert a\\ lo", "upmu convert a\\ log "), ("upmu record -o a\\ l", "upmu record -o a\\ log "),
         ("upmu setpce of", "upmu setpce off "), ("upmu completion z", "upmu completion zsh "), ("upmu rest", "upmu restore "),
         ("upmu stat --sim skl -- /bin/fals", "upmu stat --sim skl -- /bin/false "),
         ("upmu selftest --rep", "upmu selftest --report "), ("upmu wrmsr li", "upmu wrmsr list "))


def script(shell):
    """What the tool says for this shell, in a file."""
    os.makedirs(ROOM, exist_ok=True)
    path = os.path.join(ROOM, shell)
    with open(path, "w", encoding="ascii") as file:
        file.write(run([TOOL, "completion", shell])[1])
    return path


class Bash:
    """A bash for a person, on a terminal, which has read the script."""

    def __init__(self):
        with open(os.path.join(ROOM, "a log"), "w", encoding="ascii"):
            pass
        child, self.terminal = pty.fork()
        if child == 0:
            os.chdir(ROOM)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {
                "PATH": f"{os.path.dirname(TOOL)}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb", "HOME": ROOM, "INPUTRC": "/dev/null"})
        self.child = child
        self.type(f". '{script('bash')}'; echo re''ady\n", "ready\r\n")

    def type(self, text, wanted):
        """Is this shown then?"""
        os.write(self.terminal, text.encode())
        shown, end = "", time.monotonic() + WAIT_S
        while wanted not in shown and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                shown += os.read(self.terminal, 4096).decode().replace("\a", "")
        return wanted in shown, shown

    def end(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


@check
def bash_completes_what_a_person_types():
    needs("bash")
    os.makedirs(ROOM, exist_ok=True)
    bash, complaints = Bash(), []
    for typed, wanted in TYPED:
        good, shown = bash.type(typed + "\t", wanted)
        complaints += [] if good else [f"'{typed}' and TAB: {shown!r}, not {wanted!r}"]
        bash.type("\x15\x0b echo no''ne\n", "none\r\n")  # (the line is removed)
    bash.end()
    return complaints


def replies(*words):
    """What bash offers for the last of these words."""
    text = f". '{script('bash')}'; COMP_WORDS=(\"$@\") COMP_CWORD=$(($# - 1)); _upmu; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    return set(run(["bash", "--norc", "-c", text, "bash", TOOL, *words])[1].split())


@check
def bash_offers_all_commands_and_all_their_options():
    """As the help of each has them, which people read."""
    needs("bash")
    help_text = run([TOOL, "help"])[1]
    commands = set(re.findall(r"^  (\w+) ", help_text[help_text.index("Commands"):help_text.index("Workloads")], re.M))
    offered = replies("")
    complaints = [] if offered == commands | {"help", "--version", "restore"} else [f"commands: {sorted(offered ^ commands)}"]
    msr = set(re.findall(r"^  (--?\w[\w-]*)", help_text[help_text.index("as root"):], re.M)) | {"--msr", "--report"}
    for command in sorted(commands):
        text = run([TOOL, command, "--help"])[1]
        lines = re.findall(r"^  (--?\w.*?)(?:  |$)", text, re.M)
        wanted = {word for line in lines for word in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", line)} - {"--FORM"}
        wanted |= {"--folded", "--pprof", "--perf", "--kallsyms"} if "--FORM" in text else set()
        wanted |= msr if command in ("pmus", "stat", "selftest") else set()
        found = replies(command, "-")
        complaints += [] if found == wanted | {"--help"} else [f"{command}: {sorted(found ^ wanted)}"]
    return complaints


@check
def each_word_that_is_offered_is_taken():
    needs("bash")
    complaints = [f"--sim {name}" for name in replies("stat", "--sim", "") if run([TOOL, "encode", "--sim", name, "r01c2"])[0] not in (0, 1)]
    complaints += [f"--sim {name}: unknown" for name in replies("stat", "--sim", "") if "no simulated" in run([TOOL, "info", "--sim", name])[1]]
    complaints += [f"--pmu {name}" for name in replies("list", "--pmu", "") if "no PMU" in run([TOOL, "list", "--pmu", name])[1]]
    complaints += [f"-M {name}" for name in replies("stat", "-M", "") if "no metric" in run([TOOL, "stat", "--sim", "skx2", "-M", name])[1]]
    complaints += [f"--class {name}" for name in replies("pmcstat", "--class", "") if "no class" in run([TOOL, "pmcstat", "--class", name, "x"])[1]]
    complaints += [f"workload {name}" for name in replies("stat", "--sim", "skl", "") if run([TOOL, "stat", "--sim", "skl", name])[0]]
    least = {("stat", "--sim", ""): 20, ("list", "--pmu", ""): 60, ("stat", "-M", ""): 4, ("pmcstat", "--class", ""): 5}
    return complaints + [f"{words}: {len(replies(*words))} words" for words, count in least.items() if len(replies(*words)) < count]


def function(text, name):
    return re.search(rf"^{name}\(\)\n.*?^}}$", text, re.M | re.S)[0]


@check
def scripts_of_all_shells_say_the_same():
    """zsh has two of bash's functions; fish has lines.  (These shells read their scripts where they are installed.)"""
    text = {shell: open(script(shell), encoding="ascii").read() for shell in ("bash", "zsh", "fish")}
    complaints = [f"zsh: another {name}()" for name in ("_upmu_behind", "_upmu_takes")
                  if function(text["bash"], name) != function(text["zsh"], name)]
    of_bash = {command: set(options.split()) - {"--help"} for command, options
               in re.findall(r"^    (\w+)\) kind=\w+ list='.*?' takes='(.*?)' ;;$", text["bash"], re.M)}
    of_fish = {command: set() for command in re.findall(r"^complete -c upmu -n __fish_use_subcommand -a (\w+) -d", text["fish"], re.M)}
    for command, kind, name in re.findall(r"^complete -c upmu -n '__fish_seen_subcommand_from (\w+)' -([ls]) (\S+)", text["fish"], re.M):
        of_fish[command].add(("-" if kind == "s" else "--") + name)
    complaints += [] if of_bash == of_fish and len(of_fish) > 15 else [f"fish: {of_fish}, bash: {of_bash}"]
    return complaints + read_by("zsh", "true", "^$") + \
        read_by("fish", "complete -C 'upmu sel'; complete -C 'upmu stat --js'; complete -C 'upmu stat --sim skx'; "
                "complete -C 'upmu encode --pmu skl INST_RETIRED.PREC'",
                r"^selftest\t.*\n--json\t.*\n(skx.*\n)+INST_RETIRED.PREC_DIST$")


def read_by(shell, commands, wanted):
    """Complaints of a shell about its script, and about what these commands print then."""
    if not shutil.which(shell):
        print(f"    left out: {shell} is not installed")
        return []
    path = f"{os.path.dirname(TOOL)}:{os.environ['PATH']}"
    code, output = run([shell, "-n", script(shell)])
    if code == 0 and commands != "true":
        code, output = run([shell, "-c", f"source '{script(shell)}'; {commands}"], env=dict(os.environ, PATH=path, HOME=ROOM))
    return [] if code == 0 and re.search(wanted, output.strip()) else [f"{shell}: exit {code}: {output}"]


# ---- Programs ----

PROGRAM = r"""
static long system_call(long number, long a, const char *b, long c)
{
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return number;
}

__attribute__((noinline)) static void hot(unsigned long times)
{
    __asm__ volatile("1: dec %0; jnz 1b" : "+r"(times));
}

__attribute__((noinline)) static void cold(unsigned long times)
{
    __asm__ volatile("1: dec %0; jnz 1b" : "+r"(times));
}

void begin(const char *const *stack)
{
    unsigned long times = 0;

    for (const char *word = stack[2]; *word; word++)
        times = times * 10 + (unsigned long)(*word - '0');
    hot(3 * times);
    cold(times);
    system_call(1, 1, "done\n", 5);
    system_call(60, 7, 0, 0);
}

__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
"""


def program(how):
    """The path of that program, without a C library, whose start takes a hundred thousand steps; its symbols are in it."""
    needs("gcc")
    if os.uname().machine != "x86_64":
        raise Skip("the program is one of x86-64")
    path = os.path.join(ROOM, "program" + how)
    os.makedirs(ROOM, exist_ok=True)
    with open(path + ".c", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    code, output = run(["gcc", "-O1", "-fno-stack-protector", "-nostdlib", how, "-o", path, path + ".c"])
    if code:
        raise Skip(f"gcc makes no program: {output}")
    return path


def counted(*words):
    """(exit status, standard output, standard error) of the tool."""
    done = subprocess.run([TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if b"programs cannot be traced here" in done.stderr:
        raise Skip("ptrace is not permitted here")
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@check
def a_program_is_counted_beside_its_output():
    """Of two lengths of its loops the difference is known: 4 * 500 times 2 instructions, of which one is a branch."""
    path, counts, complaints = program("-static"), [], []
    for times, words in ("1000", ("--sim", "skl", "-x", ",")), ("1500", ("--sim=skl", "-x,")), ("2000", ("--sim=skl", "-x,", "--limit=9000000")):
        code, output, said = counted("stat", *words, "--", path, times)
        complaints += [] if (code, output) == (7, "done\n") else [f"exit {code}: {output!r}, {said!r}"]
        counts.append({event: int(value) for value, event in re.findall(r"^(\d+),,(\w+),", said, re.M)})
    for event, wanted in ("instructions", 4000), ("branches", 2000):
        found = [after[event] - before[event] for before, after in zip(counts, counts[1:])] if all(counts) else counts
        complaints += [] if found == [wanted, wanted] else [f"{event}: {found}, not {wanted} twice"]
    return complaints


@check
def the_hottest_functions_of_a_program_have_names():
    """Also where the kernel chooses its addresses; and in what is made of the samples for other programs."""
    folded = os.path.join(ROOM, "folded")
    code, output, said = counted("record", "--sim", "skl", "-c", "100", "--folded", folded, "--", program("-static-pie"), "3000")
    shares = {name: float(share) for share, name in re.findall(r"^ *([\d.]+)% +[\d,]+  (\w+) +#+$", said, re.M)}
    complaints = [] if (code, output) == (7, "done\n") else [f"exit {code}: {output!r}"]
    complaints += [] if 2.9 < shares.get("hot", 0) / shares.get("cold", 1) < 3.1 else [f"shares {shares}: {said}"]
    stacks = dict(line.rsplit(" ", 1) for line in read(folded).splitlines())
    complaints += [] if 2.9 < int(stacks.get("hot", 0)) / int(stacks.get("cold", 1)) < 3.1 else [f"--folded: {stacks}"]
    return complaints + ([] if re.search(r" 0x[0-9a-f]+  hot\+0x[0-9a-f]+$", said, re.M) else [f"no address has a name: {said}"])


main()
